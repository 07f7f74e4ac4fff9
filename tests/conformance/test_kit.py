"""The kit that compares a runner with the golden cases: its cases and batches, and each kind of broken runner that it sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ctxmetrics import Sample
from ctxmetrics.adapting.runners import Runner
from ctxmetrics.evaluation.frameworks.parity import CORE
from ctxmetrics.testing.golden import Case, batches, differences, load_cases, make_sample

CASES = load_cases(Path(__file__).parents[1] / "golden" / "v1")
SCORED = [case for case in CASES if case.error is None]


def test_the_cases_that_come_with_the_library_are_these() -> None:
    assert load_cases() == CASES


@pytest.mark.slow
def test_every_case_is_in_one_batch_with_its_own_sample() -> None:
    found = batches(SCORED)
    assert sorted(case.id for batch in found for case in batch.cases) == sorted(
        case.id for case in SCORED
    )
    assert len(found) < len(SCORED) / 3, "one call for many cases"
    for batch in found:
        assert batch.metric.base_name == batch.cases[0].metric
        for case, sample in zip(batch.cases, batch.samples, strict=True):
            own = make_sample(case).to_dict()
            given = sample.to_dict()
            question = given.pop("user_input", None)
            assert question in (
                own.pop("user_input", None),
                f"{make_sample(case).user_input or ''} ({case.id})",
            )
            assert given == own


def broken(change) -> Runner:
    """The core's runner with its values, or the samples it gets, changed."""

    def score(metric, samples):
        return change(metric, list(samples), CORE.score)

    return Runner("broken.run", score)


def few(*ids: str) -> list[Case]:
    return [case for case in CASES if case.id in ids]


IDS = [case for case in SCORED if case.metric == "id_based_context_recall"][:20]
JUDGED = [case for case in SCORED if case.metric == "context_recall" and not case.params][:40]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "change", "cases"),
    [
        ("the last bit", lambda m, s, run: [v and v * (1 + 2**-52) for v in run(m, s)], IDS),
        ("0 for None", lambda m, s, run: [v or 0.0 for v in run(m, s)], SCORED[::30]),
        (
            "NaN for None",
            lambda m, s, run: [float("nan") if v is None else v for v in run(m, s)],
            SCORED[::30],
        ),
        ("another order", lambda m, s, run: run(m, s)[::-1], IDS),
        ("one too few", lambda m, s, run: run(m, s)[:-1], IDS),
        ("an error", lambda m, s, run: 1 / 0, IDS),
        ("no value", lambda m, s, run: [None for _ in s], JUDGED),
    ],
)
def test_a_broken_runner_is_seen(what: str, change, cases: list[Case]) -> None:
    assert differences(CORE, cases) == []
    assert differences(broken(change), cases) != []


@pytest.mark.parametrize("field", ["user_input", "retrieved_contexts", "reference"])
def test_a_runner_that_changes_or_drops_a_field_is_seen(field: str) -> None:
    def change(metric, samples, run):
        spoilt = {"user_input": None, "retrieved_contexts": ("x",), "reference": "Another answer."}[
            field
        ]
        return run(metric, [replace(sample, **{field: spoilt}) for sample in samples])

    assert differences(broken(change), JUDGED) != []


def test_the_last_bit_is_named_with_the_core_s_value() -> None:
    (case,) = few("recall-axion-page-paris")
    (line,) = differences(broken(lambda m, s, run: [v + 2**-53 for v in run(m, s)]), [case])
    assert line == "recall-axion-page-paris: score is 0.5000000000000001, the core's is 0.5"
    (line,) = differences(broken(lambda m, s, run: [0.0 for _ in s]), [case])
    assert line == "recall-axion-page-paris: score is 0.0, expected 0.5"


def test_a_case_that_the_framework_cannot_take_in_is_not_run() -> None:
    case = replace(JUDGED[0], refused_by=("mine",))
    failing = Runner("mine.evaluate", lambda metric, samples: 1 / 0)
    assert differences(failing, [case]) == []
    assert differences(Runner("yours.evaluate", failing.score), [case]) == [
        f"{case.id} ..: ZeroDivisionError: division by zero"
    ]


def test_a_case_that_expects_an_error_is_the_core_s_alone() -> None:
    failing = Runner("mine.evaluate", lambda metric, samples: 1 / 0)
    assert differences(failing, [case for case in CASES if case.error]) == []


def test_batch_judge_reports_an_unexpected_question() -> None:
    (batch,) = batches(JUDGED[:1])
    score = batch.metric.score(Sample(reference="A b c. D e f.", retrieved_contexts=["g h i"]))
    assert score.reason_code == "not_judged"
    assert "not the one that was given" in (score.message or "")
