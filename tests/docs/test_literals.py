"""Numbers of the pages that count data of this project: each is counted again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ctxmetrics.evaluation.report import summary
from ctxmetrics.models.openai.client import MOST_BYTES
from ctxmetrics.models.runtime.breaker import COOL_DOWN, MAX_FAILURES, UNREAD_OF_A_JUDGEMENT
from ctxmetrics.models.runtime.breaker import TIMEOUTS_OF_A_JUDGEMENT as TIMEOUTS
from ctxmetrics.samples.refusals import LONGEST

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "ctxmetrics"


def read_page(name: str) -> str:
    """Read a page with single spaces."""
    return " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_hostile_texts() -> None:
    number = len(read_json(ROOT / "tests" / "security" / "payloads.json")["payloads"])
    page = read_page("security")
    assert f"Tests with {number} hostile texts" in page
    assert f"obeyed {number} hostile texts" in page
    assert MOST_BYTES == 2_000_000
    assert "at most two megabytes of a reply" in page


def test_languages_of_refusals() -> None:
    refusals = read_json(CORE / "samples" / "refusals.json")
    languages = set(refusals["phrases"])
    assert languages == set(refusals["words"])
    assert f"in {len(languages)} languages and up to {LONGEST} characters" in read_page("files")


def test_languages_of_negations_and_of_latin_script() -> None:
    words = read_json(CORE / "judges" / "evidence" / "words.json")
    languages = words["negations"].keys() | words["denying_characters"].keys()
    assert f"the negations of {len(languages)} languages" in read_page("embedded-judge")
    assert len(read_json(CORE / "_internal" / "function_words.json")["words"]) == 8
    assert "frequent words of eight languages" in read_page("llm-judges")


def test_controls_are_rarely_failed_by_an_honest_judge() -> None:
    assert (summary._MAX_CHANCE, summary._MAX_CHANCE_OF_HALVES) == (1 / 50_000, 1 / 5_000)
    assert "in at most one of 50,000 runs, for a half in one of 5,000" in read_page("trust")


def test_failures_of_a_judge_that_is_down() -> None:
    attempts, attempts_after_timeouts = 6, 2
    page = read_page("running")
    assert f"{MAX_FAILURES * attempts} server errors or broken connections in a row" in page
    assert attempts_after_timeouts == TIMEOUTS
    assert f"{MAX_FAILURES * TIMEOUTS} timeouts" in page
    assert f"{MAX_FAILURES * UNREAD_OF_A_JUDGEMENT} replies that a client could not read" in page
    assert f"or {MAX_FAILURES} failures that are not tried again" in page
    assert COOL_DOWN == 10
    assert "the judge is asked again after ten seconds" in page


def test_power_of_the_number_that_estimate_names() -> None:
    text = " ".join((ROOT / "benchmarks" / "intervals.md").read_text(encoding="utf-8").split())
    page = read_page("comparing")
    assert "the power of `compare` is .79 to .87" in text
    assert ".79 to .87 of the comparisons show the loss" in page
    assert "of 300, which says less about the lengths of references: .76 to .88" in text
    assert ".76 to .88 if it comes from a run of 300" in page
