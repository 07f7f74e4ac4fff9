"""The embedded judge in ten languages: hand-written sentences that the contexts support or do not support.

``python benchmarks/run.py languages``. The sentences stand in ``data/languages.json`` and were written before the judge
was changed with them in view. Half are supported (plain, reordered, numbers as words); the others are traps (negation,
antonym, exchanged roles, a number, month or currency that is not the context's) and inventions. Balanced accuracy is
printed as the judge is used, and with every flagged yes counted as a no.
"""

from __future__ import annotations

import json
from pathlib import Path

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge

PAIRS = Path(__file__).resolve().parents[1] / "data" / "languages.json"
BEFORE = {
    "en": 11 / 18,
    "ru": 10 / 18,
    "de": 11 / 18,
    "fr": 11 / 18,
    "es": 10 / 18,
    "tr": 11 / 18,
    "zh": 11 / 18,
    "ja": 11 / 18,
    "ar": 11 / 18,
    "hi": 11 / 18,
}
"""Balanced accuracy of the first version of the judge, measured before any change was made with these sentences in view."""


def balanced(answers: list[tuple[bool, bool]]) -> float:
    """Return the mean of sensitivity and specificity of (truth, verdict) pairs."""
    yes = [verdict for truth, verdict in answers if truth]
    no = [not verdict for truth, verdict in answers if not truth]
    return (sum(yes) / len(yes) + sum(no) / len(no)) / 2


def measure(judge: LexicalJudge | None = None) -> dict[str, dict[str, float]]:
    """Judge all sentences: per language the counts, balanced accuracy, and the same with flagged ones as no."""
    judge = judge or LexicalJudge()
    figures = {}
    for language, topics in json.loads(PAIRS.read_text(encoding="utf-8")).items():
        plain, strict = [], []
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
                plain.append((truth, bool(verdict.value)))
                strict.append((truth, bool(verdict.value) and not verdict.details.get("contradiction")))
        figures[language] = {
            "supported": sum(truth for truth, _ in plain),
            "unsupported": sum(not truth for truth, _ in plain),
            "kept": sum(truth and verdict for truth, verdict in plain),
            "balanced_accuracy": balanced(plain),
            "flagged_as_no": balanced(strict),
        }
    return figures


def table(figures: dict) -> str:
    """Return the figures as a table for the docs."""
    lines = [
        "| language | supported | not supported | BA, first version | BA | BA, flagged counted as no |",
        "|---" * 6 + "|",
    ]
    lines += [
        f"| {language} | {row['supported']} | {row['unsupported']} | {BEFORE[language]:.3f} "
        f"| {row['balanced_accuracy']:.3f} | {row['flagged_as_no']:.3f} |"
        for language, row in figures.items()
    ]
    return "\n".join(lines)


def run(argv: list[str]) -> dict:
    figures = measure()
    print(table(figures))
    return {"benchmark": "languages", "before": BEFORE, **figures}
