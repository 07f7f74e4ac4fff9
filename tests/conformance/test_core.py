"""Every golden case through the core."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ctxmetrics.errors import InputFileError
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.testing.golden import check, load_cases, run

CASES = load_cases(Path(__file__).parents[1] / "golden" / "v1")


@pytest.mark.parametrize("metric", dict.fromkeys(case.metric for case in CASES))
def test_cases(metric: str) -> None:
    """Each line names its case; ``-k`` and the metric run those of one."""
    lines: list[str] = []
    for case in CASES:
        if case.metric == metric:
            forget()
            lines += check(case, run(case))
    assert lines == []


@pytest.mark.parametrize(
    ("expected", "difference"),
    [
        ({"score": 0.5 + 2e-12}, "score is 0.5"),
        ({"score": None}, "score is 0.5, expected None"),
        ({"score": 0.5, "reason_code": "not_judged"}, "reason_code is None"),
        ({"score": 0.5, "verdicts": [True, True]}, "verdicts[1] is False"),
        ({"score": 0.5, "verdicts": [True]}, "verdicts is"),
        ({"score": 0.5, "verdicts": [1, False]}, "verdicts[0] is True"),
        ({"score": 0.5, "codes": [None, "missing_id"]}, "codes[1] is None"),
        ({"score": 0.5, "passed": None}, "passed is True"),
        ({"score": 0.5, "band": "another"}, "band is"),
        ({"score": 0.5, "units": ["Paris is the capital of France", "another"]}, "units[1] is"),
        ({"score": 0.5, "evidence": [[[0, 0, 47]], []]}, "evidence[0][0][2] is 48"),
        ({"score": 0.5, "signals": {"recall_score": 0.5}}, "signals is"),
        ({"score": 0.5, "metadata": {"anything": "x"}}, "metadata anything is None"),
        ({"error": "missing_field"}, "the error missing_field expected"),
    ],
)
def test_a_difference_is_seen(expected: dict, difference: str) -> None:
    case = next(case for case in CASES if case.id == "recall-axion-page-paris")
    (line,) = check(replace(case, expected=expected), run(case))
    assert difference in line


def test_an_error_that_is_not_expected_is_a_difference() -> None:
    case = next(case for case in CASES if case.id == "recall-error-unit")
    (line,) = check(replace(case, expected={"score": 1.0}), run(case))
    assert "a score of 1.0 expected, but invalid_parameter was raised" in line
    assert check(replace(case, expected={"error": "missing_field"}), run(case)) != []


def test_a_judge_that_must_not_be_asked_is_not_asked() -> None:
    """An empty script has no reply to give: a metric that asks all the same gets no score."""
    case = next(case for case in CASES if case.id == "recall-top-k-0")
    assert check(replace(case, params={}), run(replace(case, params={}))) != []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", ", line 1: not valid JSON"),
        (
            '{"metric": "context_recall", "cases": [{"id": NaN}]}',
            " is no file of golden cases",
        ),
        ('{"metric": "x", "metric": "y"}', ", the file: the key 'metric' stands twice"),
        ('{"metric": "context_recall"}', " is no file of golden cases"),
        ('{"metric": "x", "cases": [{"id": "a"}]}', " is no file of golden cases"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "context_recall.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputFileError, match=rf"context_recall\.json{problem}"):
        load_cases(tmp_path)


def test_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"holds no \.json file"):
        load_cases(tmp_path)


def test_a_whole_framework_or_one_runner_may_refuse_a_case() -> None:
    case = replace(CASES[0], refused_by=("ragas", "deepeval.evaluate"))
    assert case.is_refused_by("ragas.collections")
    assert case.is_refused_by("deepeval.evaluate")
    assert not case.is_refused_by("deepeval.assert_test")
