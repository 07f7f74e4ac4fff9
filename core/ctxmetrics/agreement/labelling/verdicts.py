"""The judge's verdicts for a person who asks for them: those of a run's rows, else the embedded judge's."""

from __future__ import annotations

from collections.abc import Iterable

from ctxmetrics._wording import line
from ctxmetrics.agreement.labels import KINDS
from ctxmetrics.comparison.answers import Question
from ctxmetrics.report.rows import record_of
from ctxmetrics.report.view import Row
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score


class Verdicts:
    """Finds the verdict on a question.

    Args:
        rows: Rows of a run over the same samples; None: the embedded judge judges a sample when it is asked for.
    """

    def __init__(self, rows: Iterable[Row] | None = None) -> None:
        self._rows = None if rows is None else {_place(row): row for row in rows}

    def on(self, question: Question, sample: Sample) -> str:
        """Return the verdict on a question with its evidence, or why there is none."""
        score = self._score(question, sample)
        found = [verdict for verdict in (score.verdicts if score else ()) if verdict.id == question.item]
        if not found or (question.text and found[0].text != question.text):
            return "The judge gave no verdict on this."
        word = {True: "yes", False: "no", None: "no verdict"}[found[0].value]
        why = line(found[0]).partition("\n")[2].strip()
        return f"{word}. {why}" if why else word

    def _score(self, question: Question, sample: Sample) -> Score | None:
        metric = KINDS[question.label][1]
        if self._rows is None:
            return metric().score(sample)
        row = self._rows.get(_place(Row(0, sample, sample.id, ())))
        scores = row.scores if row else ()
        return next(
            (score for score in scores if score.metric.partition("(")[0] == metric.base_name), None
        )


def _place(row: Row) -> tuple[object, ...]:
    """Return what a row of a run and a sample are joined by: id, question and reference, and contexts."""
    record = record_of(row) or {}
    return row.sample_id, record.get("hash"), tuple(record.get("context_hashes") or ())
