"""Notes about the ids and labels of a run: reference ids that were never retrieved, labels that repeat retrieved texts.

These are notes beside a number, never a part of it. Ids that name spans are not compared: spans of two chunkings differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import build_record
from ctxmetrics.samples.documents import in_spans
from ctxmetrics.scores.label_notes import Labels
from ctxmetrics.scores.wording import TEXT, clean, plural

# The most ids that are shown.
_MOST_SHOWN = 2
# Retrieved ids below which two runs' are not compared, and the share that both have below which the index is another one.
_IDS = 20
_SHARED = 0.1


class IndexSketch:
    """What the samples of a run say about the index that they were made over.

    Args:
        rows: The first rows of the run.

    Attributes:
        labels: The retrieved and the reference ids.
        hashes: The hashes of the texts that were retrieved under each id; none where ids and texts are no pairs.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.labels: Labels = Labels()
        self.hashes: dict[str, frozenset[str]] = {}
        for row in rows:
            self.add(build_record(row) or EMPTY)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add what a row says about its sample; see `ctxmetrics.evaluation.rows.sample_record.build_record`."""
        ids = record.get("retrieved_context_ids") or ()
        self.labels.add_ids(ids, record.get("reference_context_ids"))
        if in_spans(ids):
            return
        hashes = record.get("context_hashes") or ()
        for place, id_ in enumerate(ids):
            texts = self.hashes.get(id_, frozenset())
            if len(hashes) == len(ids):
                texts |= {hashes[place]}
            self.hashes[id_] = texts


def index_notes(first: IndexSketch, second: IndexSketch) -> tuple[list[str], bool]:
    """Describe what two runs say about the index they were made over, a sentence each, and whether ids can be compared.

    Ids cannot be compared where hardly any retrieved id is in both runs, or where the labels of one run
    match none of its ids.
    """
    least = min(len(first.hashes), len(second.hashes))
    shared = [id_ for id_ in first.hashes if id_ in second.hashes]
    notes = _describe_own_labels(first.labels, second.labels)
    if least >= _IDS and len(shared) < _SHARED * least:
        notes.append(
            f"another index, or other ids: of {least} retrieved ids {len(shared)} are in both runs; "
            "what id metrics lost may be no loss"
        )
    comparable = not notes
    changed = []
    for id_ in shared:
        before, after = first.hashes[id_], second.hashes[id_]
        if before and after and before.isdisjoint(after):
            changed.append(id_)
    if changed:
        notes.append(
            f"another text under {len(changed)} of {plural(len(shared), 'id')} of both runs: "
            f"{', '.join(clean(id_, TEXT) for id_ in changed[:_MOST_SHOWN])}"
        )
    return notes, comparable


def _describe_own_labels(first: Labels, second: Labels) -> list[str]:
    """Return the notes about reference ids that one of two runs has alone; none unless both have such ids."""
    if not (first.wanted and second.wanted):
        return []
    one = first.describe_never_retrieved()
    other = second.describe_never_retrieved()
    notes = [f"first run only: {text}" for text in one if text not in other]
    return notes + [f"second run only: {text}" for text in other if text not in one]
