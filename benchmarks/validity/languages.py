"""The embedded judge in ten languages: hand-written sentences that the contexts support or do not support.

``python benchmarks/run.py languages``. The sentences stand in ``data/languages.json`` and were written before the judge
was changed with them in view. Half are supported (plain, reordered, numbers as words); the others are traps (negation,
antonym, exchanged roles, a number, month or currency that is not the context's) and inventions. Balanced accuracy is
printed as the judge is used, and with every flagged yes counted as a no.
"""

from __future__ import annotations

from _shared import docs
from _shared.data import read_data

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from validity.agreement import agreement

LANGUAGES = ("en", "ru", "de", "fr", "es", "tr", "zh", "ja", "ar", "hi")
BEFORE = {language: (10 if language in ("ru", "es") else 11) / 18 for language in LANGUAGES}
"""Balanced accuracy of the first version of the judge, measured before any change was made with these sentences in view."""


def measure(judge: LexicalJudge | None = None) -> dict[str, dict[str, float]]:
    """Judge all sentences: per language the counts, balanced accuracy, and the same with flagged ones as no."""
    judge = judge or LexicalJudge()
    figures = {}
    for language, topics in read_data("languages").items():
        truths, plain, strict = [], [], []
        for topic in topics:
            told = [(text, True) for text in topic["supported"]]
            told += [(item["text"], False) for item in topic["unsupported"]]
            units = tuple(text for text, _ in told)
            request = JudgeRequest(
                units=units,
                contexts=tuple(topic["contexts"]),
                answer=" ".join(units),
                language=language,
            )
            for (_, truth), verdict in zip(told, judge.support(request), strict=True):
                truths.append(truth)
                plain.append(bool(verdict.value))
                strict.append(plain[-1] and not verdict.details.get("contradiction"))
        figures[language] = {
            "supported": sum(truths),
            "unsupported": len(truths) - sum(truths),
            "kept": sum(map(all, zip(truths, plain, strict=True))),
            "balanced_accuracy": agreement(truths, plain)["balanced_accuracy"],
            "flagged_as_no": agreement(truths, strict)["balanced_accuracy"],
        }
    return figures


def table(figures: dict) -> str:
    """Return the figures as a table for the docs."""
    head = "language | supported | not supported | BA, first version | BA | BA, flagged counted as no"
    rows = []
    for language, row in figures.items():
        accuracies = (BEFORE[language], row["balanced_accuracy"], row["flagged_as_no"])
        rows.append((language, row["supported"], row["unsupported"], *accuracies))
    return docs.figures(head, rows)


def run(argv: list[str]) -> dict:
    figures = measure()
    print(table(figures))
    return {"benchmark": "languages", "before": BEFORE, **figures}
