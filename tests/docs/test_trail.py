"""Twelve questions of new users: the home page leads to the page that answers each, with at most one page between."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
QUESTIONS = {
    "I use Ragas: how do I get recall, and what was missed?": (
        "start.md#ragas",
        [
            "from ctxmetrics_ragas import ContextPrecision, ContextRecall",
            "The `reason` of the result says what was missed",
        ],
    ),
    "I use Ragas: why is its own number higher?": (
        "why-different.md",
        ["their judge said yes without evidence, or left sentences out"],
    ),
    "I use DeepEval: which test fails below 0.8?": (
        "start.md#deepeval",
        [
            "assert_test(case, [ContextRecallMetric(threshold=0.8)",
            "deepeval test run test_retriever.py",
        ],
    ),
    "I use LangSmith: my chain keeps documents under another key": (
        "start.md#langchain-and-langsmith",
        ['ContextRecallEvaluator(contexts_key="hits")'],
    ),
    "I have a CSV whose columns have names of my own": (
        "files.md",
        ["ctxmetrics inspect", "`--map COLUMN=FIELD`"],
    ),
    "I tune a retriever: is B better than A?": (
        "comparing.md",
        ["ctxmetrics compare a.jsonl b.jsonl", "`detectable`"],
    ),
    "I tune a retriever: how many contexts should it return?": (
        "which-metric.md#how-many-contexts-are-enough",
        ["run.smallest_k(keep=0.95)"],
    ),
    "I must trust the judge: how many labels do I need?": (
        "trust.md",
        ["ctxmetrics label FILE.jsonl --n 50", "With fewer than 25 labelled samples"],
    ),
    "How do I gate on recall in CI?": (
        "comparing.md#gates-for-ci",
        [
            "--fail-under context_recall=0.6",
            "--max-drop context_recall=0.02",
            "examples/ci/retrieval.yml",
        ],
    ),
    "My agent searches three times: what counts?": (
        "metrics.md#several-searches",
        ["Recall counts what all searches brought together", "searches.complete_after"],
    ),
    "What will a run cost, before I pay?": (
        "running.md#what-it-will-cost",
        ["ctxmetrics estimate FILE.jsonl --judge openai/gpt-4o-mini"],
    ),
    "How do I use a judge of my own?": (
        "judges.md",
        ["## A judge of your own", "async def attribute(self, request):"],
    ),
}


def section(target: str) -> str:
    """Return the part of a page to which a link leads: from its heading to the next one of its level."""
    page, _, anchor = target.partition("#")
    text = (DOCS / page).read_text(encoding="utf-8")
    if not anchor:
        return text
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        heading = part.split("\n", maxsplit=1)[0].removeprefix("## ").lower()
        if re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") == anchor:
            return part
    raise AssertionError(target)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_home_page_leads_to_the_answer(question: str) -> None:
    target, phrases = QUESTIONS[question]
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    assert f"]({target})" in home
    for phrase in phrases:
        assert phrase in section(target), phrase
