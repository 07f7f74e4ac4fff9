"""The examples of the published pages: the documented value, ours from the page's verdicts, the embedded judge's.

``python benchmarks/run.py pages``; the table is that of benchmarks/published-pages.md. Samples and verdicts are the golden cases.
The embedded judge was not tuned to these examples, and cannot break a text into claims: it counts sentences.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ctxmetrics import LexicalJudge
from ctxmetrics.testing.golden import load_cases, make_metric, make_sample

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "v1"
EXAMPLES = {
    "recall-ragas-page": ("Ragas, recall: the Eiffel Tower", "1.0"),
    "recall-axion-page-paris": ("Axion, recall: Paris", "0.5"),
    "recall-axion-page-python": ("Axion, recall: Python", "1.0"),
    "recall-axion-page-great-wall": ("Axion, recall: the Great Wall", "1.0"),
    "recall-axion-page-water": ("Axion, recall: boiling water", "0.33; its heading says 0.5"),
    "recall-axion-page-einstein": ("Axion, recall: Einstein", "0.0"),
    "recall-russian-page": ("Russian page, recall: the Eiffel Tower", "0.67 (67%)"),
    "recall-promptfoo-page": ("promptfoo, recall: Python", "0.5"),
    "recall-ragaai-page": ("RagaAI, recall: water", "0.5"),
    "precision-ragas-page-relevant-first": ("Ragas, precision: useful first", "0.9999999999"),
    "precision-ragas-page-relevant-second": ("Ragas, precision: useful second", "0.49999999995"),
    "precision-axion-page-telephone": ("Axion, precision: the telephone", "0.83"),
    "precision-axion-page-perfect-order": ("Axion, precision: perfect order", "1.0"),
    "precision-axion-page-poor-order": ("Axion, precision: poor order", "0.58"),
    "precision-axion-page-matter": ("Axion, precision: states of matter", "1.0"),
    "precision-axion-page-romeo": ("Axion, precision: Romeo and Juliet", "0.42; its heading says 0.58"),
    "precision-axion-page-light": ("Axion, precision: the speed of light", "0.2"),
}
"""Golden cases of pages that give an output, with the output as the page writes it."""


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
    lines = [
        "| example | documented | ours, from the page's verdicts | embedded judge |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['example']} | {row['documented']} | {shown(row['page_verdicts'])} | {shown(row['embedded'])} |"
        for row in rows
    ]
    return "\n".join(lines)


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
