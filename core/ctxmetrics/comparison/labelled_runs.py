"""Labels files beside two runs: which run an answer is about, by the contexts that the person saw."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics._display import visible
from ctxmetrics.comparison.answers import Question, labels_by_key
from ctxmetrics.comparison.labelled import CONTEXTS, UNITS, label_of
from ctxmetrics.errors import InputFileError
from ctxmetrics.metrics.named import metric_named
from ctxmetrics.report.rows import shown_hash

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Sequence

    from ctxmetrics.comparison.answers import Key
    from ctxmetrics.comparison.entries import Entry

_KINDS = (UNITS, CONTEXTS, "reference_supported", "weight")


def labelled_by(
    paths: Iterable[str | os.PathLike[str]], *runs: Sequence[Entry]
) -> tuple[list[Entry], list[Entry]]:
    """Return two runs with the labels of files, in place of those that their samples have.

    Args:
        paths: The labels files.
        *runs: Both runs.

    Raises:
        InputFileError: A file is no labels file, or an answer is about a sample, or contexts, of neither run.
    """
    places = [_Places(run) for run in runs]
    found: list[dict[int, dict[str, Any]]] = [{} for _ in runs]
    for path in map(Path, paths):

        def asked(key: Key, answers: Collection[Question], path: Path = path) -> Sequence[Question]:
            questions = [place.questions(key, answers) for place in places]
            known = next((item for item in questions if item is not None), None)
            if known is None:
                raise InputFileError(
                    f"{path}: the answers about sample {visible(key[0] or key[1])[:80]!r} are about texts that neither run "
                    "has. Give runs on the samples that were labelled."
                )
            return known

        for key, given in labels_by_key(path, asked).items():
            for place, labels in zip(places, found, strict=True):
                if key in place.of:
                    labels.setdefault(place.of[key], {}).update(given)
    first, second = (
        [
            entry._replace(labels={**_others(entry), **labels.get(place, {})})
            if entry.labels or place in labels
            else entry
            for place, entry in enumerate(run)
        ]
        for run, labels in zip(runs, found, strict=True)
    )
    return first, second


def _others(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in entry.labels.items() if name not in _KINDS}


class _Places:
    """Finds the sample of a run that a person labelled.

    Attributes:
        of: The place of each sample that was found.
    """

    def __init__(self, run: Sequence[Entry]) -> None:
        self._run = run
        self._by_id: dict[str | None, list[int]] = defaultdict(list)
        for place, entry in enumerate(run):
            self._by_id[entry.identifier].append(place)
        recalls = run[0].scores if run else {}
        self._recalls = [
            name
            for name, brief in recalls.items()
            if label_of(metric_named(name, str(brief.origin[2]))) == UNITS
        ]
        self.of: dict[Key, int] = {}

    def questions(self, key: Key, answers: Collection[Question]) -> list[Question] | None:
        """Return what can be asked about a sample; None where the run has none with these texts."""
        for place in self._by_id.get(key[0], ()):
            detail = self._run[place].detail(self._recalls[:1])
            if shown_hash(self._run[place].hash, detail.context_hashes) == key[1]:
                self.of[key] = place
                units = [
                    Question(key, UNITS, unit.id, unit.text)
                    for name in detail.units
                    for unit in detail.units[name].values()
                ]
                # The run has no recall, or nothing was retrieved: its sentences are not known.
                if not units:
                    units = sorted(
                        (question for question in answers if question.label == UNITS),
                        key=lambda question: int(question.item[1:]),
                    )
                numbers = range(1, len(detail.context_hashes) + 1)
                return [*units, *(Question(key, CONTEXTS, f"c{number}") for number in numbers)]
        return None
