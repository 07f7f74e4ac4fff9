"""Through DeepEval's real runner: every trap of it that touches a metric it did not write."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import LexicalJudge
from ctxmetrics.errors import SampleError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.verdicts import Verdict
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ctxmetrics.judges.base import JudgeRequest

configs = later("deepeval.evaluate.configs")
deepeval = later("deepeval")
ours = later("ctxmetrics_deepeval")


class WaitingJudge:
    """Waits as many seconds as the question says; then says yes about everything."""

    name = "waiting"
    warnings = ()

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def attribute(self, request: JudgeRequest) -> Judgement:
        return await self._answer(request, request.unit_ids)

    async def rate(self, request: JudgeRequest) -> Judgement:
        return await self._answer(request, request.context_ids)

    async def _answer(self, request: JudgeRequest, ids: tuple[str, ...]) -> Judgement:
        self.asked.append(request.user_input)
        await asyncio.sleep(float(request.user_input))
        return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in ids))


def ids(retrieved: list[Any], reference: list[Any], **fields: Any) -> deepeval.test_case.LLMTestCase:
    metadata = {"retrieved_context_ids": retrieved, "reference_context_ids": reference}
    return deepeval.test_case.LLMTestCase(input="q", actual_output="a", metadata=metadata, **fields)


def only(results: list[Any]) -> Any:
    (result,) = results
    (data,) = result.metrics_data
    return data


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE", "2")
    monkeypatch.setenv("DEEPEVAL_TASK_GATHER_BUFFER_SECONDS_OVERRIDE", "3")


# ---- results ----


def test_what_reaches_the_results(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    recall, precision = run([make_case()], [ours.ContextRecallMetric(), ours.ContextPrecisionMetric()])[
        0
    ].metrics_data
    assert (recall.name, recall.score, recall.threshold, recall.success) == (
        "context_recall",
        0.5,
        0.5,
        True,
    )
    assert (precision.name, precision.score, precision.success) == ("context_precision", 1.0, True)
    assert recall.reason.startswith("1 of 2 sentences supported.\ns2 no: ")
    assert recall.error is None
    assert recall.strict_mode is False
    assert recall.evaluation_model.startswith("lexical, ctxmetrics ")
    assert recall.evaluation_cost is None


def test_score_breakdown_is_not_carried_but_verbose_logs_are(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    data = only(run([make_case()], [ours.ContextRecallMetric()]))
    assert (
        '✓ s1 The Eiffel Tower stands in Paris.\n      c1 [0:41] "The Eiffel Tower stands'
        in data.verbose_logs
    )


def test_metadata_reaches_the_results(run: Callable[..., list[Any]]) -> None:
    (result,) = run([ids(["a"], ["a", "b"])], [ours.IDBasedContextRecallMetric()])
    assert result.metadata == {"retrieved_context_ids": ["a"], "reference_context_ids": ["a", "b"]}


def test_results_in_another_order_keep_their_index(run: Callable[..., list[Any]]) -> None:
    """The async runner appends them as they finish: they are matched by index."""
    judge = WaitingJudge()
    cases = [
        deepeval.test_case.LLMTestCase(
            input=wait, actual_output="a", expected_output=f"Answer {wait}.", retrieval_context=["x"]
        )
        for wait in ("0.1", "0.05", "0")
    ]
    results = run(cases, [ours.ContextRecallMetric(judge=judge)])
    assert [result.input for result in results] == ["0.1", "0.05", "0"]
    assert [only([result]).score for result in results] == [1.0, 1.0, 1.0]


def test_each_test_case_has_its_own_score(run: Callable[..., list[Any]]) -> None:
    references = [[str(number) for number in range(size)] for size in range(1, 40)]
    results = run(
        [ids(["0"], reference) for reference in references], [ours.IDBasedContextRecallMetric()]
    )
    assert [only([result]).score for result in results] == [1 / size for size in range(1, 40)]


def test_two_configurations_of_one_metric_keep_their_names(run: Callable[..., list[Any]]) -> None:
    first, second = run(
        [ids(["x", "a"], ["a"])],
        [ours.IDBasedContextRecallMetric(), ours.IDBasedContextRecallMetric(top_k=1)],
    )[0].metrics_data
    assert (first.name, first.score) == ("id_based_context_recall", 1.0)
    assert (second.name, second.score) == ("id_based_context_recall(top_k=1)", 0.0)


def test_settings_survive_the_copy_for_every_test_case(run: Callable[..., list[Any]]) -> None:
    """A setting kept under another name, or behind ``**kwargs``, silently reverts to its default."""
    case = ids(["x", "a"], ["a"])
    data = only(
        run(
            [case],
            [
                ours.IDBasedContextPrecisionMetric(
                    formula="average_precision", convention="aegis", threshold=40.0
                )
            ],
        )
    )
    assert (data.score, data.threshold, data.success) == (50.0, 40.0, True)


def test_measured_once_a_test_case(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    """A metric that refuses the runner's keywords is measured twice."""
    judge = WaitingJudge()
    run([make_case(input="0")], [ours.ContextRecallMetric(judge=judge)])
    assert judge.asked == ["0"]


def test_only_the_sync_runner_fills_the_object_that_was_passed(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    metric = ours.ContextRecallMetric()
    run([make_case()], [metric])
    assert metric.score == (None if run.is_async else 0.5)


def test_a_metric_without_a_threshold_next_to_one_with(run: Callable[..., list[Any]]) -> None:
    metrics = [ours.IDBasedContextRecallMetric(threshold=None), ours.IDBasedContextPrecisionMetric()]
    (result,) = run([ids(["a"], ["a", "b", "c"])], metrics)
    assert [(data.threshold, data.success) for data in result.metrics_data] == [
        (None, None),
        (0.5, True),
    ]
    assert result.metrics_data[0].score == 1 / 3
    assert result.success is True
    with pytest.raises(ValueError, match="at least one"):
        run([ids(["a"], ["a"])], metrics[:1])


def test_a_flaky_metric_decides_nothing(run: Callable[..., list[Any]]) -> None:
    metrics = [ours.IDBasedContextRecallMetric(flaky=True), ours.IDBasedContextPrecisionMetric()]
    (result,) = run([ids(["a"], ["a", "b", "c"])], metrics)
    assert [data.success for data in result.metrics_data] == [False, True]
    assert result.success is True


def test_aegis_80_passes_and_less_fails(run: Callable[..., list[Any]]) -> None:
    reference = [str(number) for number in range(1000)]
    cases = [ids(reference[:800], reference), ids(reference[:799], reference)]
    results = run(cases, [ours.IDBasedContextRecallMetric(convention="aegis")])
    assert [(only([result]).score, only([result]).success) for result in results] == [
        (80.0, True),
        (79.9, False),
    ]
    assert [result.success for result in results] == [True, False]


# ---- what cannot be computed ----


def test_a_value_that_cannot_be_computed_does_not_end_the_run(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    cases = [make_case(), make_case(expected_output=""), make_case()]
    results = run(cases, [ours.ContextRecallMetric()])
    scores = [only([result]) for result in results]
    assert [data.score for data in scores] == [0.5, None, 0.5]
    assert [data.success for data in scores] == [True, False, True]
    assert scores[1].error.startswith("no_reference: the reference side is empty")
    assert [result.success for result in results] == [True, False, True]


def test_the_same_with_ignore_errors(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    data = only(run([make_case(expected_output="")], [ours.ContextRecallMetric()], ignore_errors=True))
    assert (data.score, data.success) == (None, False)
    assert data.error.startswith("no_reference: ")


def test_no_type_error_escapes(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    """At a TypeError DeepEval measures again and does not catch the second one, also with ignore_errors."""
    calls: list[str] = []

    def similarity(first: str, second: str) -> float:
        calls.append(first)
        raise TypeError("unsupported operand")

    for errors in ({}, {"ignore_errors": True}):
        calls.clear()
        results = run(
            [make_case(), ids(["a"], ["a"], context=["x"], retrieval_context=["x"])],
            [ours.NonLLMContextRecallMetric(similarity=similarity)],
            **errors,
        )
        assert [only([result]).error for result in results] == [
            "metric_error: TypeError: unsupported operand"
        ] * 2
        assert len(calls) == 2


def test_missing_params_raise_deepevals_own_error(run: Callable[..., list[Any]]) -> None:
    with pytest.raises(
        deepeval.errors.MissingTestCaseParamsError,
        match="'expected_output' and 'retrieval_context' cannot be None",
    ):
        run(
            [deepeval.test_case.LLMTestCase(input="q", actual_output="a")], [ours.ContextRecallMetric()]
        )


def test_missing_params_are_recorded_with_ignore_errors(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    results = run(
        [make_case(), make_case(expected_output=None), make_case()],
        [ours.ContextRecallMetric()],
        ignore_errors=True,
    )
    scores = [only([result]) for result in results]
    assert [data.score for data in scores] == [0.5, None, 0.5]
    assert "'expected_output' cannot be None for the 'context_recall' metric" in scores[1].error
    assert scores[1].success is False


def test_missing_params_are_skipped_when_asked(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    cases = [make_case(), make_case(expected_output=None), make_case()]
    results = run(
        cases,
        [ours.ContextRecallMetric(), ours.IDBasedContextRecallMetric()],
        skip_on_missing_params=True,
    )
    assert [[data.name for data in result.metrics_data] for result in results] == [
        ["context_recall", "id_based_context_recall"],
        ["id_based_context_recall"],
        ["context_recall", "id_based_context_recall"],
    ]


def test_a_wrong_type_is_misuse_and_ends_the_run_unless_ignored(run: Callable[..., list[Any]]) -> None:
    cases = [ids(["a"], ["a"]), ids(["a", 1.5], ["a"])]
    with pytest.raises(
        SampleError, match="'retrieved_context_ids', item 2 must be a string or an integer"
    ):
        run(cases, [ours.IDBasedContextRecallMetric()])
    results = run(cases, [ours.IDBasedContextRecallMetric()], ignore_errors=True)
    assert [only([result]).score for result in results] == [1.0, None]


# ---- time ----


@pytest.mark.usefixtures("short_timeouts")
def test_a_timeout_reports_no_score_of_the_test_case_before(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    """The sync runner shares the object, and its handler skips a metric whose success is still set."""
    metric = ours.ContextRecallMetric(judge=WaitingJudge())
    results = run(
        [make_case(input="0"), make_case(input="5"), make_case(input="0")], [metric], ignore_errors=True
    )
    scores = [only([result]) for result in results]
    assert [data.score for data in scores] == [1.0, None, 1.0]
    assert [data.success for data in scores] == [True, False, True]
    assert "imed out" in scores[1].error


@pytest.mark.usefixtures("short_timeouts")
def test_timeout_of_another_metric_reports_no_earlier_score(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    """The metric's turn never comes in that test case: nothing it does itself could reset it."""
    hang = threading.Event()

    class Hangs(deepeval.metrics.BaseMetric):
        threshold = 0.5

        def measure(
            self, test_case: deepeval.test_case.LLMTestCase, *args: Any, **kwargs: Any
        ) -> float:
            if test_case.input == "hang":
                hang.wait(5)
            self.score = 1.0
            return 1.0

        async def a_measure(
            self, test_case: deepeval.test_case.LLMTestCase, *args: Any, **kwargs: Any
        ) -> float:
            if test_case.input == "hang":
                await asyncio.sleep(5)
            self.score = 1.0
            return 1.0

        def is_successful(self) -> bool:
            self.success = self.error is None and self.score is not None
            return self.success

    results = run(
        [make_case(), make_case(input="hang")],
        [Hangs(), ours.IDBasedContextRecallMetric()],
        ignore_errors=True,
    )
    hang.set()
    assert results[0].metrics_data[1].score == 2 / 3
    if not run.is_async:  # the async runner had already measured it
        assert results[1].metrics_data[1].score is None
        assert results[1].metrics_data[1].success is False


@pytest.mark.parametrize("key", ["reference_facts", "expected_facts"])
def test_facts_in_the_metadata_are_counted(
    run: Callable[..., list[Any]], make_case: Callable[..., deepeval.test_case.LLMTestCase], key: str
) -> None:
    facts = ["The Eiffel Tower stands in Paris.", {"text": "It is red.", "id": "colour"}]
    case = make_case(expected_output=None, metadata={key: facts})
    (result,) = run([case], [ours.ContextRecallMetric(unit="fact", judge=LexicalJudge())])
    assert result.metrics_data[0].score == 0.5
    with pytest.raises(
        deepeval.errors.MissingTestCaseParamsError,
        match=r"'expected_output' .* Count its facts with unit='fact'",
    ):
        run([case], [ours.ContextRecallMetric(judge=LexicalJudge())])
    with pytest.raises(
        deepeval.errors.MissingTestCaseParamsError, match=r"'metadata\.reference_facts' cannot be None"
    ):
        run([make_case()], [ours.ContextRecallMetric(unit="fact", judge=LexicalJudge())])


@pytest.mark.usefixtures("short_timeouts")
def test_timed_out_thread_does_not_write_on_the_next_case(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """It cannot be killed, holds the shared object, and finishes while the next test case is measured."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig

    quick_began, slow_ended = threading.Event(), threading.Event()

    def similarity(first: str, second: str) -> float:
        if first == "slow":
            quick_began.wait(60)
            slow_ended.set()
            return 0.0
        quick_began.set()
        slow_ended.wait(60)
        time.sleep(0.1)  # its thread goes on
        return 1.0

    cases = [make_case(context=["x"], retrieval_context=[text]) for text in ("slow", "quick")]
    found = evaluate(
        cases,
        [ours.NonLLMContextRecallMetric(similarity=similarity)],
        async_config=AsyncConfig(run_async=False),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=configs.ErrorConfig(ignore_errors=True),
    )
    slow, quick = found.test_results
    # When it ends, DeepEval's own thread adds a row to whichever test case is on: it must hold no score of
    # ours.
    assert any("imed out" in (data.error or "") for data in slow.metrics_data)
    assert {data.score for data in (*slow.metrics_data, *quick.metrics_data)} == {None, 1.0}
    assert quick.metrics_data[-1].score == 1.0


def test_the_judge_does_not_block_the_loop(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """One blocking ``a_measure`` would hold up every test case of the async runner."""
    judge = WaitingJudge()
    metric = ours.ContextRecallMetric(judge=judge)

    async def both() -> list[float | None]:
        return await asyncio.gather(*(metric.a_measure(make_case(input=wait)) for wait in ("0.2", "0")))

    assert asyncio.run(both()) == [1.0, 1.0]
    assert judge.asked == ["0.2", "0"]


# ---- the rest of DeepEval ----


INSIDE_A_LOOP = """
import asyncio
from contextlib import redirect_stdout
from io import StringIO

from ctxmetrics_deepeval import ContextRecallMetric
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig
from deepeval.test_case import LLMTestCase

case = LLMTestCase(
    input="Where is it?", expected_output="It stands in Paris. It is red.", retrieval_context=["It stands in Paris."]
)
options = {"async_config": AsyncConfig(run_async=RUN_ASYNC), "cache_config": CacheConfig(write_cache=False)}


async def cell():
    with redirect_stdout(StringIO()):
        found = evaluate([case], [ContextRecallMetric()], **options)
    return found.test_results[0].metrics_data[0].score


# Not asyncio.run: on Python 3.14 its end fails after nest_asyncio was applied.
print("score", asyncio.new_event_loop().run_until_complete(cell()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("run_async", [True, False])
def test_evaluate_inside_a_running_loop(run_async: bool, python: Callable[..., str]) -> None:
    """DeepEval applies nest_asyncio."""
    assert "score 0.5" in python(INSIDE_A_LOOP.replace("RUN_ASYNC", str(run_async))).splitlines()


@pytest.mark.parametrize("mode", ["hybrid", "system_one"])
def test_eval_mode_in_environment_changes_no_judge(
    mode: str,
    run: Callable[..., list[Any]],
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEPEVAL_EVAL_MODE", mode)
    data = run([make_case()], [ours.ContextRecallMetric(), ours.ContextPrecisionMetric()])[
        0
    ].metrics_data
    assert [item.score for item in data] == [0.5, 1.0]


def test_a_chunk_with_console_markup_does_not_break_the_report(
    make_case: Callable[..., deepeval.test_case.LLMTestCase], capsys: pytest.CaptureFixture[str]
) -> None:
    """DeepEval prints reasons as Rich markup, and a closing tag that nobody opened ends the report."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import CacheConfig

    chunk = "The Eiffel Tower stands in Paris [/INST] [/bold]."
    metrics = [ours.ContextPrecisionMetric(), ours.NonLLMContextRecallMetric(min_similarity=0.99)]
    case = make_case(
        retrieval_context=[chunk], expected_output="The Eiffel Tower stands in Paris.", context=["x"]
    )
    try:
        evaluate([case], metrics, cache_config=CacheConfig(write_cache=False))
    except Exception as error:  # noqa: BLE001 - the test case's own text is DeepEval's affair
        pytest.fail(f"the report ended with {type(error).__name__}: {error}")
    assert "context_precision" in capsys.readouterr().out


@pytest.mark.parametrize("run_async", [True, False])
def test_assert_test(run_async: bool, make_case: Callable[..., deepeval.test_case.LLMTestCase]) -> None:
    deepeval.assert_test(
        make_case(),
        [ours.ContextRecallMetric(), ours.IDBasedContextRecallMetric()],
        run_async=run_async,
    )
    with pytest.raises(AssertionError) as caught:
        deepeval.assert_test(
            make_case(), [ours.ContextRecallMetric(threshold=0.6)], run_async=run_async
        )
    message = str(caught.value)
    assert (
        "context_recall (score: 0.5, threshold: 0.6, strict: False, error: None, reason: 1 of 2 sent"
        in message
    )


@pytest.mark.parametrize("run_async", [True, False])
def test_assert_test_of_a_value_that_cannot_be_computed(
    run_async: bool, make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    with pytest.raises(AssertionError, match=r"score: None, .* error: no_reference: "):
        deepeval.assert_test(
            make_case(expected_output=""), [ours.ContextRecallMetric()], run_async=run_async
        )


def test_assert_test_of_a_flaky_test_case_warns(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    with pytest.warns(UserWarning, match="Flaky test case failed"):
        deepeval.assert_test(make_case(flaky=True), [ours.ContextRecallMetric(threshold=0.9)])


def test_goldens_keep_ids_and_sources_through_json(
    run: Callable[..., list[Any]], tmp_path: Path
) -> None:
    """A golden has ``additional_metadata``, a test case ``metadata``."""
    golden = deepeval.dataset.Golden(
        input="q",
        expected_output="The pump is primed.",
        context=["The pump was primed."],
        retrieval_context=["The pump is primed.", "Nothing."],
        additional_metadata={"retrieved_context_ids": ["a", "x"], "reference_context_ids": ["a", "b"]},
    )
    dataset = deepeval.dataset.EvaluationDataset(goldens=[golden])
    dataset.save_as(file_type="json", directory=str(tmp_path), file_name="goldens")
    loaded = deepeval.dataset.EvaluationDataset()
    loaded.add_goldens_from_json_file(str(tmp_path / "goldens.json"))
    for source in loaded.goldens:
        loaded.add_test_case(
            deepeval.test_case.LLMTestCase(
                input=source.input,
                actual_output="Prime it.",
                expected_output=source.expected_output,
                context=source.context,
                retrieval_context=source.retrieval_context,
                metadata=source.additional_metadata,
            )
        )
    metrics = [
        ours.IDBasedContextRecallMetric(),
        ours.ContextRecallMetric(),
        ours.NonLLMContextRecallMetric(min_similarity=0.8),
    ]
    (result,) = run(loaded.test_cases, metrics)
    assert [data.score for data in result.metrics_data] == [0.5, 1.0, 1.0]


def test_retrieved_context_data_through_json(run: Callable[..., list[Any]], tmp_path: Path) -> None:
    items = [deepeval.test_case.RetrievedContextData(context="The pump is primed.", source="a")]
    golden = deepeval.dataset.Golden(
        input="q", retrieval_context=items, additional_metadata={"reference_context_ids": ["a", "b"]}
    )
    dataset = deepeval.dataset.EvaluationDataset(goldens=[golden])
    dataset.save_as(file_type="json", directory=str(tmp_path), file_name="goldens")
    loaded = deepeval.dataset.EvaluationDataset()
    loaded.add_goldens_from_json_file(str(tmp_path / "goldens.json"))
    source = loaded.goldens[0]
    case = deepeval.test_case.LLMTestCase(
        input=source.input,
        retrieval_context=source.retrieval_context,
        metadata=source.additional_metadata,
    )
    assert only(run([case], [ours.IDBasedContextRecallMetric()])).score == 0.5
    assert json.loads((tmp_path / "goldens.json").read_text())


def test_a_metric_on_a_span_of_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """DeepEval makes the test case of a span itself, without metadata: judged and string metrics work
    there."""
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.tracing import observe, update_current_span

    recall, by_id = ours.ContextRecallMetric(), ours.IDBasedContextRecallMetric()

    @observe(type="retriever", metrics=[recall, by_id])
    def retrieve(question: str) -> list[str]:
        expected = "The pump is red. It hums."
        update_current_span(
            input=question, expected_output=expected, retrieval_context=["The pump is red."]
        )
        return ["The pump is red."]

    dataset = deepeval.dataset.EvaluationDataset(goldens=[deepeval.dataset.Golden(input="Which pump?")])
    for golden in dataset.evals_iterator(
        async_config=AsyncConfig(run_async=False),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=configs.ErrorConfig(ignore_errors=True),
    ):
        retrieve(golden.input)
    assert recall.score == 0.5
    assert by_id.score is None
    assert "'metadata.reference_context_ids' cannot be None" in by_id.error


@pytest.mark.parametrize("run_async", [False, True])
def test_a_metric_by_id_on_a_span_gets_the_ids_of_its_own_span(run_async: bool) -> None:
    """One object on the spans of two questions: each is measured with the ids of its own."""
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.tracing import current_span_context, observe, update_current_span

    found = {"Which pump?": ["d1"], "Which hall?": ["d1", "d2"]}
    spans: dict[str, Any] = {}

    @observe(type="retriever", metrics=[ours.ContextRecallMetric(), ours.IDBasedContextRecallMetric()])
    def retrieve(question: str) -> None:
        update_current_span(
            input=question,
            expected_output="The pump is red. It hums.",
            retrieval_context=["The pump is red."],
        )
        ours.update_current_span_ids(reference_context_ids=["d1", "d2"])
        ours.update_current_span_ids(retrieved_context_ids=found[question])
        spans[question] = current_span_context.get()

    dataset = deepeval.dataset.EvaluationDataset(
        goldens=[deepeval.dataset.Golden(input=question) for question in found]
    )
    for golden in dataset.evals_iterator(
        async_config=AsyncConfig(run_async=run_async),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    ):
        retrieve(golden.input)
    scores = {question: [metric.score for metric in span.metrics] for question, span in spans.items()}
    assert scores == {"Which pump?": [0.5, 0.5], "Which hall?": [0.5, 1.0]}


def test_ids_outside_a_span_change_nothing() -> None:
    ours.update_current_span_ids(retrieved_context_ids=["d1"])
