"""The examples of the published pages: the documented value, ours from the page's verdicts, the embedded judge's.

``python benchmarks/run.py pages``; the table is that of benchmarks/published-pages.md. Samples and verdicts are the golden cases.
The embedded judge was not tuned to these examples, and cannot break a text into claims: it counts sentences.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from _shared import docs
from _shared.data import read_data

from ctxmetrics import LexicalJudge
from ctxmetrics.testing.golden import load_cases, make_metric, make_sample

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "v1"
EXAMPLES = read_data("published-pages")
"""Golden cases of pages that give an output: each with its title, and the output as the page writes it."""


def measure() -> list[dict]:
    cases = {case.id: case for case in load_cases(GOLDEN)}
    rows = []
    for name, (title, documented) in EXAMPLES.items():
        metric, sample = make_metric(cases[name]), make_sample(cases[name])
        embedded = replace(metric, judge=LexicalJudge(), unit="sentence").score(sample)
        rows.append(
            {
                "case": name,
                "example": title,
                "documented": documented,
                "page_verdicts": metric.score(sample).value,
                "embedded": embedded.value,
                "embedded_verdicts": [verdict.value for verdict in embedded.verdicts],
            }
        )
    return rows


def table(rows: list[dict]) -> str:
    head = "example | documented | ours, from the page's verdicts | embedded judge"
    lines = [
        (row["example"], row["documented"], shown(row["page_verdicts"]), shown(row["embedded"]))
        for row in rows
    ]
    return docs.figures(head, lines)


def shown(value: float) -> str:
    """Write a decimal as it is, and one that never ends to four places."""
    text = repr(value)
    return text if len(text) < len("0.4999999999999") else f"{value:.4f}"


def run(argv: list[str]) -> dict:
    if argv:
        raise SystemExit("usage: python benchmarks/run.py pages")
    rows = measure()
    print(table(rows))
    return {"benchmark": "pages", "rows": rows}
