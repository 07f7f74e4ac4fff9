"""Notes about the retrieval indexes of two runs: other ids, other texts under one id, and labels that match one index only.

These are notes beside a number, never a part of it. Ids that name spans are not compared: spans of two chunkings differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ctxmetrics.samples.documents import are_span_ids
from ctxmetrics.scores.label_notes import Labels
from ctxmetrics.scores.wording import TEXT, clean, plural

# The maximum number of ids that are shown.
_MAX_IDS_SHOWN = 2
# With fewer retrieved ids nothing is said about the index.
_MIN_IDS = 20
# If both runs have a smaller share of their ids, the index is another one.
_MIN_COMMON_SHARE = 0.1


class IndexSketch:
    """Facts about the retrieval index of a run, collected from its samples.

    Attributes:
        labels: The retrieved and the reference ids.
        ids: The retrieved ids, each once. Ids that name spans are left out.
        hashes: The hashes of the texts that were retrieved under an id; nothing if ids and texts are no pairs.
    """

    def __init__(self) -> None:
        self.labels: Labels = Labels()
        self.ids: dict[str, None] = {}
        self.hashes: dict[str, set[str]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the record of a sample: see `ctxmetrics.evaluation.rows.sample_record.build_record`."""
        ids = record.get("retrieved_context_ids") or ()
        reference_ids = record.get("reference_context_ids") or ()
        if not all(isinstance(id_, str) for id_ in (*ids, *reference_ids)):
            return  # a line of a damaged file, whose ids say nothing about an index
        self.labels.add_ids(ids, reference_ids)
        if are_span_ids(ids):
            return
        self.ids |= dict.fromkeys(ids)
        hashes = record.get("context_hashes") or ()
        if len(hashes) == len(ids):
            for id_, hash_ in zip(ids, hashes, strict=True):
                self.hashes.setdefault(id_, set()).add(hash_)


def index_notes(first: IndexSketch, second: IndexSketch) -> tuple[list[str], bool]:
    """Compare the retrieval indexes of two runs. Return sentences about them, and whether ids can be compared.

    Ids cannot be compared where hardly any retrieved id is in both runs, or where the labels of one run
    match none of its ids. A metric of ids may then be lower although the retrieval is not worse.
    """
    notes = _describe_own_labels(first.labels, second.labels)
    common_ids = [id_ for id_ in first.ids if id_ in second.ids]
    smaller_count = min(len(first.ids), len(second.ids))
    has_few_common_ids = len(common_ids) < _MIN_COMMON_SHARE * smaller_count
    if smaller_count >= _MIN_IDS and has_few_common_ids:
        notes.append(
            f"another index, or other ids: of {smaller_count} retrieved ids {len(common_ids)} are in both runs; "
            "a lower value of an id metric may be no loss"
        )
    can_compare_ids = not notes
    changed_ids = _list_changed_ids(common_ids, first, second)
    if changed_ids:
        examples = ", ".join(clean(id_, TEXT) for id_ in changed_ids[:_MAX_IDS_SHOWN])
        ids = plural(len(common_ids), "id")
        notes.append(f"another text under {len(changed_ids)} of {ids} of both runs: {examples}")
    return notes, can_compare_ids


def _list_changed_ids(ids: Iterable[str], first: IndexSketch, second: IndexSketch) -> list[str]:
    """List the ids under which two runs retrieved different texts. An id without a text is left out."""
    changed_ids = []
    for id_ in ids:
        first_hashes = first.hashes.get(id_)
        second_hashes = second.hashes.get(id_)
        if first_hashes and second_hashes and first_hashes.isdisjoint(second_hashes):
            changed_ids.append(id_)
    return changed_ids


def _describe_own_labels(first: Labels, second: Labels) -> list[str]:
    """Return the notes about reference ids that hold for only one of two runs; none if a run has no reference ids at all."""
    if not (first.wanted and second.wanted):
        return []
    first_notes = first.describe_never_retrieved()
    second_notes = second.describe_never_retrieved()
    only_first = [f"first run only: {note}" for note in first_notes if note not in second_notes]
    only_second = [f"second run only: {note}" for note in second_notes if note not in first_notes]
    return only_first + only_second
