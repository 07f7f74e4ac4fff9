"""Who judges, and what it costs: the embedded judge, ``llm=``, ``judge=``, and the LLM that ``evaluate()`` hands over."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
import threading
import warnings
from typing import Any

import pytest

from ctxmetrics import LLMJudge, ScriptedJudge
from ctxmetrics.errors import ParameterError
from support import FakeOpenAIServer, Fault, answer_from
from support.later import later

metrics_base = later("ragas.metrics.base")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")


pytestmark = pytest.mark.filterwarnings("ignore:aevaluate:DeprecationWarning")  # Ragas' runner itself
Row = dict[str, Any]


def _judge_of(result: Any, metric: str = "context_recall", row: int = 0) -> str:
    return result.traces[row][metric]["score"]["output"].provenance.judge


# ---- who judges ----


def test_without_an_llm_the_embedded_judge_judges(evaluate: Any, row: Row) -> None:
    metrics = [ours.ContextRecall(), ours.ContextPrecision(), ours.ContextUtilization()]
    assert not any(isinstance(metric, metrics_base.MetricWithLLM) for metric in metrics)
    result = evaluate([row], metrics)
    assert result.scores == [
        {"context_recall": 0.5, "context_precision": 1.0, "context_utilization": 1.0}
    ]
    assert _judge_of(result) == "lexical"


def test_quotes_of_markup_count_as_they_are_read(evaluate: Any, row: Row) -> None:
    """A judge that quotes what it reads, and the embedded judge, over tags and cells."""
    row["reference"] = "The tower is in Paris. It is 330 metres high."
    page = "<p>The <b>tower</b> is in&nbsp;Paris.[1]</p><table><tr><td>It is high</td><td>330 metres</td></tr></table>"
    row["retrieved_contexts"] = [page, "Bananas are yellow."]

    def cell(quote: str) -> dict[str, Any]:
        return {"evidence": [{"context": "c1", "quote": quote, "whole": True}], "supported": True}

    reply = {
        "code": "$code",
        "sentences": {"s1": cell("The tower is in Paris."), "s2": cell("It is high 330 metres")},
        "useful": {"c1": {"useful": True}, "c2": {"useful": False}},
    }
    judge = ScriptedJudge({"joint": [reply]})
    for metric in (ours.ContextRecall(judge=judge), ours.ContextRecall()):
        assert evaluate([row], [metric]).scores == [{"context_recall": 1.0}]


def test_llm_of_any_kind_judges_as_given(
    evaluate: Any, row: Row, server: FakeOpenAIServer, make_llm: Any
) -> None:
    """Instructor LLMs with async and sync clients, a LangChain model, and its wrapper."""
    llm = make_llm(server)
    metric = ours.ContextRecall(llm=llm)
    assert metric.llm is llm
    assert not isinstance(metric, metrics_base.MetricWithLLM)
    result = evaluate([row], [metric, ours.ContextPrecision(llm=llm)])
    assert result.scores == [{"context_recall": 0.5, "context_precision": 1.0}]
    assert server.count == 1
    assert _judge_of(result) == f"llm:{ours.RagasModel(llm).identity}"


def test_llm_of_evaluate_judges_with_judge_framework(
    evaluate: Any, row: Row, server: FakeOpenAIServer, make_llm: Any
) -> None:
    recall, precision = ours.ContextRecall(judge="framework"), ours.ContextPrecision(judge="framework")
    assert isinstance(recall, metrics_base.MetricWithLLM)
    assert isinstance(recall, ours.ContextRecall)
    result = evaluate([row], [recall, precision], llm=make_llm(server))
    assert result.scores == [{"context_recall": 0.5, "context_precision": 1.0}]
    assert server.count == 1
    assert "fake-judge" in _judge_of(result)
    assert recall.llm is None  # Ragas takes its LLM back


def test_llm_of_evaluate_is_not_taken_without_judge_framework(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    result = evaluate([row], [ours.ContextRecall()], llm=llms.langchain(server))
    assert server.count == 0
    assert _judge_of(result) == "lexical"


def test_judge_of_ctxmetrics(evaluate: Any, row: Row, labels: Any) -> None:
    result = evaluate([row], [ours.ContextRecall(judge=ScriptedJudge(labels, name="labels"))])
    assert result["context_recall"] == [0.5]
    assert _judge_of(result) == "labels"


def test_setting_llm_makes_it_the_judge(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    """``metric.llm = llm`` is how Ragas' own metrics are given one; what is set must not be left aside."""
    metric = ours.ContextRecall()
    metric.llm = llms.instructor_async(server)
    assert "fake-judge" in _judge_of(evaluate([row], [metric]))
    metric.llm = None
    assert _judge_of(evaluate([row], [metric])) == "lexical"
    assert server.count == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ours.ContextRecall(judge="framwork"), "judge 'framwork' is unknown"),
        (lambda: ours.ContextRecall(llm="gpt-4o-mini"), "llm=str is no LLM of Ragas"),
        (lambda: ours.ContextRecall(llm=LLMJudge), "a judge of ctxmetrics goes into judge="),
        (
            lambda: ours.ContextRecall(judge=ScriptedJudge({}), llm=object()),
            "give judge= or llm=, not both",
        ),
        (lambda: ours.IDBasedContextRecall(judge="framework"), "has no parameter 'judge'"),
        (lambda: ours.NonLLMContextRecall(llm=object()), "has no parameter 'llm'"),
        (
            lambda: ours.ContextRecall(unit="claim", judge=None).score(
                reference="a", retrieved_contexts=["a"]
            ),
            "claims",
        ),
    ],
)
def test_a_judge_that_is_none_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_framework_judge_without_an_llm_says_so(row: Row) -> None:
    """Outside of ``evaluate()`` nobody hands one over."""
    with pytest.raises(ParameterError, match="context_recall has no LLM yet"):
        ours.ContextRecall(judge="framework").score(**row)


# ---- what Ragas does to `llm` ----


class _Told:
    """A judge's server that says yes or no to everything, slowly."""

    def __init__(self, *, yes: bool) -> None:
        supported = (lambda unit, contexts: True) if yes else (lambda unit, contexts: False)
        self.server = FakeOpenAIServer(answer_from(supported, lambda text, answer: yes), latency=0.1)


@pytest.mark.slow
def test_metric_mutated_by_evaluate_serves_two_runs_at_once(row: Row, llms: Any) -> None:
    """Ragas sets ``metric.llm`` where it is None and resets it at the end of whichever run ends first."""
    metric = ours.ContextPrecision(judge="framework")
    rows = [{**row, "user_input": f"Question {number}?"} for number in range(6)]
    dataset, short = (
        ragas.EvaluationDataset.from_list(rows),
        ragas.EvaluationDataset.from_list(rows[:1]),
    )
    with _Told(yes=True).server as yes, _Told(yes=False).server as no:

        async def run(server: FakeOpenAIServer, samples: Any, workers: int) -> list[float]:
            config = ragas.RunConfig(max_workers=workers)
            llm = llms.instructor_async(server)
            result = await ragas.aevaluate(
                samples, metrics=[metric], llm=llm, run_config=config, show_progress=False
            )
            return result["context_precision"]

        async def both() -> list[list[float]]:
            return await asyncio.gather(run(yes, dataset, 1), run(no, short, 1), run(no, dataset, 2))

        assert asyncio.run(both()) == [[1.0] * 6, [0.0], [0.0] * 6]
        assert metric.llm is None


def test_two_threads_evaluate_with_one_metric_object(evaluate: Any, row: Row, llms: Any) -> None:
    metric = ours.ContextPrecision(judge="framework")
    rows = [{**row, "user_input": f"Question {number}?"} for number in range(4)]
    found: dict[str, list[float]] = {}
    with _Told(yes=True).server as yes, _Told(yes=False).server as no:

        def run(name: str, server: FakeOpenAIServer) -> None:
            llm = llms.langchain(server)
            found[name] = evaluate(rows, [metric], llm=llm, run_config=ragas.RunConfig(max_workers=2))[
                metric.name
            ]

        threads = [threading.Thread(target=run, args=item) for item in (("yes", yes), ("no", no))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {"yes": [1.0] * 4, "no": [0.0] * 4}


def test_an_llm_set_by_hand_is_kept_and_used(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    """Ragas leaves a metric alone that has an LLM: no other LLM, no OpenAI key, and it is still there afterwards."""
    metric = ours.ContextRecall(judge="framework")
    metric.llm = llm = llms.instructor_async(server)
    assert evaluate([row], [metric])["context_recall"] == [0.5]
    assert metric.llm is llm
    assert metric.score(**row).value == 0.5
    assert asyncio.run(metric.single_turn_ascore(ragas.SingleTurnSample(**row))) == 0.5


def test_llm_and_init_by_hand_as_integrations_do(row: Row, server: FakeOpenAIServer, llms: Any) -> None:
    """``metric.llm = ..; metric.init(..); await metric.single_turn_ascore(..)``, each metric with an LLM of its own."""
    with _Told(yes=False).server as other:
        recall, precision = (
            ours.ContextRecall(judge="framework"),
            ours.ContextPrecision(judge="framework"),
        )
        for metric, llm in (
            (recall, llms.instructor_async(server)),
            (precision, llms.instructor_async(other)),
        ):
            metric.llm = llm
            metric.init(ragas.RunConfig())
        sample = ragas.SingleTurnSample(**row)
        assert asyncio.run(recall.single_turn_ascore(sample)) == 0.5
        assert precision.single_turn_score(sample) == 0.0


def test_an_llm_given_by_hand_where_there_was_none_stays(
    row: Row, server: FakeOpenAIServer, llms: Any, score_in_a_thread: Any
) -> None:
    """``if metric.llm is None: metric.llm = llm`` by hand reads and sets as ``evaluate()`` does, and lends nothing."""
    metric = ours.ContextRecall(judge="framework")
    if metric.llm is None:
        metric.llm = llm = llms.instructor_sync(server)
    metric.init(ragas.RunConfig())
    assert score_in_a_thread(metric, row) == 0.5
    assert metric.llm is llm


def test_llm_set_by_hand_replaces_the_one_of_the_last_run(
    row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    with _Told(yes=False).server as other:
        metric = ours.ContextPrecision(judge="framework")
        sample = ragas.SingleTurnSample(**row)

        async def run() -> list[float]:
            metric.llm = llms.instructor_async(server)
            metric.init(ragas.RunConfig())
            first = await metric.single_turn_ascore(sample)
            metric.llm = llms.instructor_async(other)
            return [first, await metric.single_turn_ascore(sample)]

        assert asyncio.run(run()) == [1.0, 0.0]


def test_return_executor_runs_later_in_another_context(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    metric = ours.ContextRecall(judge="framework")
    executor = evaluate([row], [metric], llm=llms.instructor_async(server), return_executor=True)
    assert executor.results() == [0.5]


@pytest.mark.parametrize("kind", ["langchain", "langchain_wrapper", "instructor_async"])
def test_a_second_run_loses_nothing_to_kept_connections(evaluate: Any, llms: Any, kind: str) -> None:
    """Each run has a loop of its own, and the client keeps the connections of the first one."""
    with FakeOpenAIServer(answer_from(), latency=0.05) as server:
        llm = getattr(llms, kind)(server)
        for run in ("first", "second"):
            texts = [f"It is {run} {number}." for number in range(24)]
            rows = [
                {"user_input": "Is it?", "reference": text, "retrieved_contexts": [text]}
                for text in texts
            ]
            result = evaluate(rows, [ours.ContextRecall(llm=llm)])
            assert [score["context_recall"] for score in result.scores] == [1.0] * 24


# ---- requests ----


@pytest.mark.parametrize("workers", [1, 16])
@pytest.mark.parametrize("k", [1, 5, 10, 20])
def test_recall_and_precision_cost_one_request_a_sample(
    evaluate: Any, server: FakeOpenAIServer, llms: Any, k: int, workers: int
) -> None:
    """Ragas' own: one for recall and one a context for precision, one after the other."""
    contexts = [
        "The tower is in Paris, France.",
        *(f"Noise number {number}." for number in range(1, k)),
    ]
    rows = [
        {
            "user_input": f"Question {number}?",
            "reference": "The tower is in Paris. It was built in 1889.",
            "retrieved_contexts": contexts,
        }
        for number in range(3)
    ]
    metrics = [ours.ContextRecall(judge="framework"), ours.ContextPrecision(judge="framework")]
    result = evaluate(
        rows,
        metrics,
        llm=llms.instructor_async(server),
        run_config=ragas.RunConfig(max_workers=workers),
    )
    assert result.scores == [{"context_recall": 0.5, "context_precision": 1.0}] * 3
    assert server.count == 3
    assert server.max_in_flight <= workers


def test_a_wrapper_made_anew_by_every_run_judges_once(
    row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    """``aevaluate()`` wraps a bare LangChain model each time, and the wrapper sets the model's temperature."""
    llm = llms.langchain(server)
    waiting = [ours.ContextRecall(judge="framework"), ours.ContextPrecision(judge="framework")]

    async def run() -> None:
        dataset = ragas.EvaluationDataset.from_list([row])
        for metric in (*waiting, ours.ContextRecall(llm=llm), ours.ContextPrecision(llm=llm)):
            await ragas.aevaluate(dataset, metrics=[metric], llm=llm, show_progress=False)

    asyncio.run(run())
    assert server.count == 2  # wrapped, the temperature is Ragas' own; bare, the model's


def test_two_runs_one_metric_after_the_other_cost_one_request(
    row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    llm = llms.instructor_async(server)
    assert ours.ContextRecall(llm=llm).score(**row).value == 0.5
    assert ours.ContextPrecision(llm=llm).score(**row).value == 1.0
    assert server.count == 1


@pytest.mark.slow
def test_batch_score_is_bounded(row: Row, llms: Any) -> None:
    """Ragas' own sends all requests of a batch at once."""
    rows = [{**row, "user_input": f"Question {number}?"} for number in range(40)]
    with FakeOpenAIServer(answer_from(), latency=0.1) as server:
        results = ours.ContextRecall(llm=llms.instructor_async(server)).batch_score(rows)
        assert [result.value for result in results] == [0.5] * 40
        assert 2 <= server.max_in_flight <= 16
        server.reset()
        other = [{**item, "user_input": item["user_input"] + "!"} for item in rows]
        ours.ContextRecall(llm=llms.instructor_async(server)).batch_score(other, max_concurrency=3)
        assert (server.count, server.max_in_flight) == (40, 3)


def test_rate_limits_are_waited_for(evaluate: Any, row: Row, llms: Any, labels: Any) -> None:
    with FakeOpenAIServer(labels, faults=[Fault("429_retry_after", times=2, param=0.05)]) as server:
        metric = ours.ContextRecall(llm=llms.langchain(server))
        assert evaluate([row], [metric])["context_recall"] == [0.5]


# ---- RunConfig ----


@pytest.mark.slow
def test_run_config_timeout_ends_a_request_that_hangs(
    evaluate: Any, row: Row, llms: Any, labels: Any
) -> None:
    """One sample's judge hangs: that sample is NaN after ``RunConfig.timeout``, and no other one is lost."""
    hanging = Fault("hang", contains="Hanging?")
    rows = [row, {**row, "user_input": "Hanging?"}, row]
    with FakeOpenAIServer(labels, faults=[hanging]) as server:
        metric = ours.ContextRecall(judge="framework")
        config = ragas.RunConfig(
            timeout=6
        )  # two requests have to be answered within it on a busy machine
        result = evaluate(rows, [metric], llm=llms.instructor_async(server), run_config=config)
    first, second, third = result["context_recall"]
    assert (first, third) == (0.5, 0.5)
    assert math.isnan(second)


def test_run_config_longer_than_our_own_timeout_is_waited_for(row: Row, llms: Any, server: Any) -> None:
    """A slow local model under ``RunConfig(timeout=600)`` must not be cut off at our default."""
    from ctxmetrics.models.runtime.run import current_run

    timeouts: list[float] = []

    def note(prompt: Any) -> str:
        timeouts.append(current_run().timeout)
        return '{"code": "$code", "sentences": {"s1": {"supported": false}, "s2": {"supported": false}}, "useful": {}}'

    metric = ours.ContextRecall(judge=ScriptedJudge(note, name="notes timeouts", max_repairs=0))

    async def run() -> None:
        config = ragas.RunConfig(timeout=600)
        dataset = ragas.EvaluationDataset.from_list([row])
        await ragas.aevaluate(dataset, metrics=[metric], run_config=config, show_progress=False)

    asyncio.run(run())
    assert timeouts
    assert set(timeouts) == {600}


def test_run_config_max_retries_is_how_often_an_llm_is_asked(
    row: Row, llms: Any, evaluate: Any
) -> None:
    """Ragas retries a ``BaseRagasLLM`` itself; what it has given up is not tried all over again."""
    with FakeOpenAIServer(answer_from(), faults=[Fault("429")]) as server:
        llm = llms.langchain_wrapper(server, max_retries=0)
        config = ragas.RunConfig(max_retries=3, max_wait=0)
        result = evaluate([row], [ours.ContextRecall(judge="framework")], llm=llm, run_config=config)
        assert math.isnan(result["context_recall"][0])
        assert server.count == 3
    score = result.traces[0]["context_recall"]["score"]["output"]
    assert score.reason_code == "not_judged"
    assert {verdict.code for verdict in score.verdicts} == {"rate_limited"}


@pytest.mark.parametrize("make", ["instructor_async", "langchain"])
@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (1, 1), (3, 3)])
def test_max_retries_holds_for_an_llm_ragas_does_not_retry(
    row: Row, llms: Any, evaluate: Any, make: str, retries: int, requests: int
) -> None:
    with FakeOpenAIServer(answer_from(), faults=[Fault("429_retry_after", param=0.01)]) as server:
        config = ragas.RunConfig(max_retries=retries)
        metric = ours.ContextRecall(llm=getattr(llms, make)(server, max_retries=0))
        assert math.isnan(evaluate([row], [metric], run_config=config)["context_recall"][0])
        assert server.count == requests


@pytest.mark.slow
def test_a_judge_that_is_down_is_not_asked_for_every_sample(evaluate: Any, row: Row, llms: Any) -> None:
    rows = [{**row, "user_input": f"Question {number}?"} for number in range(60)]
    with FakeOpenAIServer(answer_from(), api_key="another") as server:
        config = ragas.RunConfig(max_workers=1)
        result = evaluate(rows, [ours.ContextRecall(llm=llms.langchain(server))], run_config=config)
        assert all(map(math.isnan, result["context_recall"]))
        assert server.count == 0  # refused before they count as requests
    codes = [trace["context_recall"]["score"]["output"].verdicts[0].code for trace in result.traces]
    assert codes[0] == "client_error"
    assert codes[-1] == "judge_down"


# ---- copies ----


def test_metrics_with_an_llm_copy_and_refuse_pickle(server: FakeOpenAIServer, make_llm: Any) -> None:
    llm = make_llm(server)
    metric = ours.ContextRecall(llm=llm, top_k=3)
    twin = copy.deepcopy(metric)
    assert twin == metric
    assert hash(twin) == hash(metric)
    assert copy.copy(metric) == metric
    with pytest.raises(ParameterError, match=r"must not be pickled") as caught:
        pickle.dumps(metric)
    assert "sk-not" not in str(caught.value)


def test_framework_metrics_pickle_and_stay_framework_metrics() -> None:
    metric = ours.ContextRecall(judge="framework", top_k=2, name="recall of the run")
    for twin in (pickle.loads(pickle.dumps(metric)), copy.copy(metric), copy.deepcopy(metric)):  # noqa: S301 - our own
        assert isinstance(twin, metrics_base.MetricWithLLM)
        assert twin == metric
        assert twin.name == "recall of the run"
        assert twin.llm is None
    assert type(metric).__name__ == "ContextRecall"
    assert metric != ours.ContextRecall(top_k=2, name="recall of the run")


def test_a_framework_metric_that_ran_can_be_pickled(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    metric = ours.ContextRecall(judge="framework")
    evaluate([row], [metric], llm=llms.instructor_async(server))
    assert pickle.loads(pickle.dumps(metric)) == metric  # noqa: S301 - our own


def test_keys_never_appear(
    evaluate: Any,
    row: Row,
    server: FakeOpenAIServer,
    make_llm: Any,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Any,
) -> None:
    """In repr, results, traces, logs and saved files, also where the judge fails."""
    caplog.set_level("DEBUG", "ctxmetrics_ragas")
    metric = ours.ContextRecall(llm=make_llm(server), name="recall")
    result = evaluate([row], [metric])
    metric.save(tmp_path)
    with FakeOpenAIServer(answer_from(), api_key="another") as refusing:
        failed = evaluate([row], [ours.ContextRecall(llm=make_llm(refusing))])
    assert math.isnan(failed["context_recall"][0])
    saved = (tmp_path / "recall.json").read_text()
    shown = [
        repr(metric),
        repr(metric.core),
        str(result.traces),
        str(failed.traces),
        caplog.text,
        saved,
    ]
    assert "sk-not-a-key" not in "".join(shown)


def test_no_deprecation_warnings_of_our_own(row: Row, server: FakeOpenAIServer, llms: Any) -> None:
    """A bare LangChain model is not put into Ragas' deprecated wrapper."""
    llm = llms.langchain(server)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        assert ours.ContextRecall(llm=llm).score(**row).value == 0.5
