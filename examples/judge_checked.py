"""Is this judge right on my data? Fifty labels of a person say how far, and correct the mean.

``ctxmetrics label FILE --n 50`` asks a person; here the labels of the handbook data set stand in for the answers.

Run it: python examples/judge_checked.py
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from ctxmetrics import LexicalJudge, agree, read_samples

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
JUDGE = LexicalJudge()  # or LLMJudge(OpenAIModel("..."))
LABELS = 50
"""Answers about sentences: is this sentence of the reference in the retrieved text?"""


def partly_labelled():
    """Return all samples, with labels on as many randomly drawn ones as hold fifty answers."""
    samples = list(read_samples(HANDBOOK))
    given = 0
    for place in random.Random(7).sample(range(len(samples)), len(samples)):  # noqa: S311 - a draw, no secret
        answers = samples[place].labels["unit_supported"]
        keep = {"unit_supported": answers} if given < LABELS else {}
        given += len(answers) if keep else 0
        samples[place] = replace(samples[place], labels=keep)
    return samples


def main() -> None:
    report = agree(partly_labelled(), judge=JUDGE, progress=False)
    print(report)
    (units,) = report.agreements
    (recall,) = report.corrections
    low, high = recall.interval
    print(
        f"\n{units.answers} answers; recall corrected by them: {recall.mean:.2f} ({low:.2f} to {high:.2f})"
    )


if __name__ == "__main__":
    main()
