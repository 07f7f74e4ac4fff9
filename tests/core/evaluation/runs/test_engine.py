"""Many samples: order, isolation, streams, stops, budgets, and what is left when something breaks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LexicalJudge,
    LLMJudge,
    NonLLMContextRecall,
    OpenAIModel,
    Reply,
    Results,
    Sample,
    ScriptedJudge,
    aevaluate,
    evaluate,
)
from ctxmetrics.errors import (
    CannotDecomposeError,
    CtxMetricsError,
    InputFileError,
    JudgeError,
    MissingFieldError,
    ParameterError,
    SampleError,
)
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.runs import sources
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.evaluate import run_in_caller
from ctxmetrics.evaluation.runs.progress import Progress, describe_progress
from ctxmetrics.evaluation.runs.sources import Source
from ctxmetrics.judges.base import Judgement
from ctxmetrics.verdicts import Evidence, Usage, Verdict
from support import FakeOpenAIServer, Fault, answer_from
from support.deadlines import DEADLINE, LONGEST_PROCESS, HeldDeadline
from support.rows import complete_rows, read_rows


class OwnJudge:
    """A judge of somebody's: supported is what the first context says; a function may wait, fail or look around."""

    name = "own"
    warnings = ()

    def __init__(self, before=None):
        self.before = before
        self.seen = []

    async def attribute(self, request):
        self.seen.append(request.answer)
        if self.before is not None:
            await self.before(request)
        context = request.contexts[0]
        return Judgement(
            verdicts=tuple(
                Verdict(
                    id=id_,
                    value=unit in context,
                    evidence=(Evidence(0, context.find(unit), context.find(unit) + len(unit), unit),)
                    if unit in context
                    else (),
                )
                for id_, unit in zip(request.unit_ids, request.units, strict=True)
            )
        )

    async def rate(self, request):
        return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.context_ids))


def sample(number, **fields):
    half = "It looks scarlet." if number % 2 else "Nothing."
    given = {
        "id": number,
        "user_input": f"What about {number}?",
        "reference": f"Number {number} is here. It looks scarlet.",
        "retrieved_contexts": [f"Number {number} is here. {half}", f"Other text {number}."],
        "retrieved_context_ids": ["a", "b"],
        "reference_context_ids": ["a"],
        **fields,
    }
    return Sample(**given)


def expected(number):
    return 1.0 if number % 2 else 0.5


def samples(count):
    return [sample(number) for number in range(count)]


def values(results, name="context_recall"):
    return [row[name].value for row in results]


def codes(results, name="context_recall"):
    return [row[name].reason_code for row in results]


def server_judge(server, **options):
    return LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url), **options)


def honest(**options):
    return FakeOpenAIServer(answer_from(), **options)


# --- rows ---


def test_rows_come_in_input_order_however_long_each_takes():
    async def wait(request):
        await asyncio.sleep(0.03 if int(request.user_input.split()[2][:-1]) % 3 == 0 else 0)

    results = evaluate(samples(50), [ContextRecall(judge=OwnJudge(wait))])
    assert [row.index for row in results] == list(range(50))
    assert [row.sample.id for row in results] == [str(number) for number in range(50)]
    assert values(results) == [expected(number) for number in range(50)]
    assert list(results[7]) == ["context_recall"]
    assert results[7]["context_recall"].sample_id == "7"


def test_a_failing_judge_costs_its_own_sample_only(caplog):
    async def fail(request):
        if "13" in request.user_input:
            raise RuntimeError("api_key=sk-abcdefghij is odd")
        if "17" in request.user_input:
            raise JudgeError("too much", reason_code="rate_limited")

    results = evaluate(samples(20), [ContextRecall(judge=OwnJudge(fail)), IDBasedContextRecall()])
    assert codes(results) == ["not_judged" if number in (13, 17) else None for number in range(20)]
    assert (
        results.trouble
        == "Samples that could not be scored: context_recall: 2 of 20 (judge_error 2, rate_limited 2)"
    )
    assert [record.getMessage() for record in caplog.records] == [results.trouble]
    assert {verdict.code for verdict in results[13]["context_recall"].verdicts} == {"judge_error"}
    assert {verdict.code for verdict in results[17]["context_recall"].verdicts} == {"rate_limited"}
    assert "sk-abcdefghij" not in repr(results[13]["context_recall"])


def test_a_failing_metric_costs_its_own_score_only():
    def odd(one, other):
        if "3" in one:
            raise ZeroDivisionError("not today")
        return 1.0

    given = [Sample(retrieved_contexts=[str(n)], reference_contexts=["x"]) for n in range(5)]
    results = evaluate(given, [NonLLMContextRecall(similarity=odd), NonLLMContextRecall()])
    broken, fine = results.metrics
    assert [row[broken].reason_code for row in results] == [None, None, None, "metric_error", None]
    assert "ZeroDivisionError: not today" in results[3][broken].message
    assert values(results, fine) == [0.0] * 5


def test_what_one_sample_lacks_is_said_in_its_own_score():
    given = [sample(1), sample(2, reference=None), sample(3, retrieved_contexts=None)]
    results = evaluate(given, [ContextRecall(judge=OwnJudge())])
    assert codes(results) == [None, "missing_field", "missing_field"]
    assert "reference" in results[1]["context_recall"].message


@pytest.mark.parametrize("kind", [list, tuple, iter, lambda items: (item for item in items)])
def test_what_every_sample_lacks_raises(kind):
    given = [sample(number, reference=None) for number in range(100)]  # nor has any a response
    judge = OwnJudge()
    with pytest.raises(MissingFieldError, match="No sample has reference, which context_recall needs"):
        evaluate(kind(given), [ContextRecall(judge=judge), ContextUtilization(judge=judge)])
    assert judge.seen == []


def test_one_judgement_serves_all_metrics_and_equal_samples():
    with honest() as server:
        results = evaluate(
            [sample(1, id=None)] * 20, [ContextRecall(), ContextPrecision()], judge=server_judge(server)
        )
        assert server.count == 1
    assert values(results) == [1.0] * 20
    assert (results.usage.calls, results.usage.reused) == (1, 39)


def test_requests_are_bounded_not_samples():
    with honest(latency=0.01) as server:
        judge = server_judge(server, per_context=True)
        results = evaluate(samples(40), [ContextRecall()], judge=judge, max_concurrency=5)
        assert server.max_in_flight <= 5
        assert server.count == 80
    assert values(results) == [expected(number) for number in range(40)]


def test_the_judge_of_a_metric_comes_before_the_judge_of_the_run():
    own, other = OwnJudge(), OwnJudge()
    evaluate(samples(3), [ContextRecall(judge=own), ContextPrecision()], judge=other)
    assert len(own.seen) == 3
    assert other.seen == []


def test_without_a_judge_the_embedded_one_judges():
    results = evaluate(samples(2), [ContextRecall()])
    assert results[0]["context_recall"].provenance.judge.startswith("lexical")


def test_no_samples_give_no_rows():
    results = evaluate([], [ContextRecall()])
    assert len(results) == 0
    assert results.summary()["context_recall"].mean is None
    assert evaluate(iter([]), [ContextRecall()]).stopped is None


# --- samples ---


@pytest.mark.parametrize("kind", [list, tuple, iter, lambda items: (item for item in items)])
def test_samples_may_be_any_iterable_of_samples_or_dicts(kind):
    given = [sample(number).to_dict() if number % 2 else sample(number) for number in range(200)]
    results = evaluate(kind(given), [ContextRecall(judge=OwnJudge())], max_concurrency=3)
    assert values(results) == [expected(number) for number in range(200)]
    again = asyncio.run(aevaluate(kind(given), [ContextRecall(judge=OwnJudge())]))
    assert values(again) == values(results)


@pytest.mark.slow
def test_generator_is_read_during_the_run_and_not_far_ahead():
    finished, ahead = [], []

    async def note(request):
        await asyncio.sleep(0.001)
        finished.append(request.answer)

    def stream():
        for number in range(3000):
            ahead.append(number - len(finished))
            yield sample(number)

    results = evaluate(stream(), [ContextRecall(judge=OwnJudge(note))], max_concurrency=2)
    assert len(results) == 3000
    assert max(ahead) <= 2 * 4 * 2 + 2  # the samples under way, and as many read for when there is room


def test_hanging_sample_does_not_delay_later_ones():
    late, in_time = threading.Event(), []

    async def wait(request):
        if request.user_input == "What about 0?":
            in_time.append(await asyncio.to_thread(late.wait, 60))
        elif request.user_input == "What about 100?":
            late.set()

    results = evaluate(samples(101), [ContextRecall(judge=OwnJudge(wait))], max_concurrency=2)
    assert in_time == [True]
    assert values(results) == [expected(number) for number in range(101)]


@pytest.mark.slow
def test_memory_is_bounded_while_the_first_sample_hangs():
    late = threading.Event()
    read = []

    async def wait(request):
        if request.user_input == "What about 0?":
            await asyncio.to_thread(late.wait, 60)

    def stream():
        for number in range(1000):
            read.append(number)
            yield sample(number)

    seen = []

    def look():
        while len(read) < 128:
            time.sleep(0.01)
        time.sleep(0.1)  # it would read on
        seen.append(len(read))
        late.set()

    threading.Thread(target=look, daemon=True).start()
    results = evaluate(stream(), [ContextRecall(judge=OwnJudge(wait))], max_concurrency=2)
    assert len(results) == 1000
    assert 128 <= seen[0] <= 128 + 16


def test_a_generator_runs_in_the_calling_thread():
    threads = set()

    def stream():
        for number in range(100):
            threads.add(threading.get_ident())
            yield sample(number)

    evaluate(stream(), [ContextRecall(judge=OwnJudge())])
    assert threads == {threading.get_ident()}


def test_samples_of_a_slow_generator_are_judged_while_it_goes_on():
    judge = OwnJudge()
    seen = []

    def stream():
        for number in range(6):
            until = time.monotonic() + 60
            while len(judge.seen) < number and time.monotonic() < until:
                time.sleep(0.005)
            seen.append(len(judge.seen))
            yield sample(number)

    evaluate(stream(), [ContextRecall(judge=judge)])
    assert seen == [0, 1, 2, 3, 4, 5]


def test_samples_are_judged_between_steps_of_blocking_generators():
    judge = OwnJudge()
    seen = []

    def stream():
        for number in range(6):
            seen.append(len(judge.seen))
            yield sample(number)

    asyncio.run(aevaluate(stream(), [ContextRecall(judge=judge)]))
    assert seen == sorted(seen)
    assert seen[-1] >= 4


def test_rows_without_a_judge_are_handed_on_together(monkeypatch):
    wakes = []
    loop = sources.background_loop()

    class Loop:
        def call_soon_threadsafe(self, function):
            wakes.append(function)
            loop.call_soon_threadsafe(function)

    monkeypatch.setattr(sources, "background_loop", Loop)
    monkeypatch.setattr(sources, "_MAX_WAIT_SECONDS", 60)

    def stream():
        for _ in range(640):
            sum(range(20_000))  # a row takes longer to read than to score
            yield {"retrieved_context_ids": ["a"], "reference_context_ids": ["a", "b"]}

    results = evaluate(stream(), [IDBasedContextRecall()], max_concurrency=16)
    assert [row.scores[0].value for row in results] == [0.5] * 640
    assert len(wakes) <= 1 + 640 / 16


def test_a_generator_may_score_samples_itself():
    def stream():
        for number in range(5):
            assert ContextRecall(judge=OwnJudge()).score(sample(number)).value == expected(number)
            yield sample(number)

    assert len(evaluate(stream(), [ContextRecall(judge=OwnJudge())])) == 5


def test_broken_generator_leaves_the_results_until_then():
    def stream():
        yield from samples(70)
        raise ConnectionError("the database went away")

    for run in (
        lambda: evaluate(stream(), [ContextRecall(judge=OwnJudge())]),
        lambda: asyncio.run(aevaluate(stream(), [ContextRecall(judge=OwnJudge())])),
    ):
        with pytest.raises(
            SampleError, match="broke off after 70: ConnectionError: the database went away"
        ) as caught:
            run()
        assert isinstance(caught.value.__cause__, ConnectionError)
        assert values(caught.value.results) == [expected(number) for number in range(70)]


def test_malformed_sample_in_a_list_raises_before_judging():
    judge = OwnJudge()
    with pytest.raises(SampleError, match="Sample 31") as caught:
        evaluate([*samples(30), {"retrieved_contexts": "one string"}], [ContextRecall(judge=judge)])
    assert judge.seen == []
    assert caught.value.results is None


@pytest.mark.parametrize(("malformed", "kind"), [(7, "int"), (None, "NoneType")])
def test_malformed_sample_in_a_stream_leaves_earlier_results(malformed, kind):
    given = iter([*samples(100), malformed, sample(8)])
    with pytest.raises(
        SampleError, match=rf"Sample 101 must be a Sample or a mapping .*, not {kind}"
    ) as caught:
        evaluate(given, [ContextRecall(judge=OwnJudge())])
    assert values(caught.value.results) == [expected(number) for number in range(100)]


@pytest.mark.parametrize("given", [sample(1), {"reference": "x"}, b"text"])
def test_one_sample_is_not_several(given):
    with pytest.raises(ParameterError, match=r"Write \[sample\]"):
        evaluate(given, [ContextRecall()])


def test_a_table_is_sent_to_score_table():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(ParameterError, match="score_table"):
        evaluate(pd.DataFrame({"reference": ["x"]}), [ContextRecall()])


def test_what_is_no_iterable_is_refused():
    with pytest.raises(ParameterError, match="a list, an iterator or a generator, not int"):
        evaluate(7, [ContextRecall()])


# --- parameters ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_concurrency": 0}, "max_concurrency=0 must be a whole number from 1"),
        ({"max_concurrency": None}, "max_concurrency=None"),
        ({"max_concurrency": True}, "max_concurrency=True"),
        ({"max_calls": -1}, "max_calls=-1 must be a whole number from 0"),
        ({"max_tokens": 1.5}, "max_tokens=1.5"),
        ({"timeout": 0}, "timeout=0 must be a number from 0.001"),
        ({"timeout": None}, "timeout=None"),
        ({"timeout": "5"}, "timeout='5'"),
        ({"deadline": -1}, "deadline=-1"),
        ({"deadline": True}, "deadline=True"),
        ({"on_error": "ignore"}, "Choose from: record, raise"),
        ({"cache": 5}, "cache=int must be a directory"),
        ({"cache": ""}, "cache='' names no directory"),
        ({"judge": 5}, "judge=int is no judge"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    for call in (evaluate, lambda *args, **kwargs: asyncio.run(aevaluate(*args, **kwargs))):
        with pytest.raises(ParameterError, match=message.replace("[", r"\[")):
            call([sample(1)], [ContextRecall()], **options)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (ContextRecall(), "must be a list of metrics"),
        (ContextRecall, "must be a list of metrics"),
        ("context_recall", "must be a list of metrics"),
        ([ContextRecall], r"ContextRecall is a class. Write ContextRecall\(\)"),
        ([len], "is no metric of ctxmetrics"),
        ([], "metrics is empty"),
        ([ContextRecall(), ContextRecall(threshold=0.5)], "two metrics are named 'context_recall'"),
    ],
)
def test_wrong_metrics_are_named(metrics, message):
    with pytest.raises(ParameterError, match=message):
        evaluate([sample(1)], metrics)


def test_claims_need_a_judge_that_can_find_them():
    with pytest.raises(CannotDecomposeError):
        evaluate([sample(1)], [ContextRecall(unit="claim")])


def test_an_unknown_option_is_no_silent_one():
    with pytest.raises(TypeError, match="max_concurency"):
        evaluate([sample(1)], [ContextRecall()], max_concurency=3)
    with pytest.raises(TypeError, match="max_concurency"):
        asyncio.run(aevaluate([sample(1)], [ContextRecall()], max_concurency=3))


def test_misuse_that_only_the_judge_notices_raises_at_once():
    async def wrong(request):
        raise ParameterError("no key for this server")

    with pytest.raises(ParameterError, match="no key") as caught:
        evaluate(samples(30), [ContextRecall(judge=OwnJudge(wrong))])
    assert len(caught.value.results) == 0


# --- failures that raise ---


def test_on_error_raise_stops_at_first_failure_with_scores():
    async def fail(request):
        if request.user_input == "What about 30?":
            raise JudgeError("the disk is full", reason_code="server_error")
        await asyncio.sleep(0.001)

    judge = OwnJudge(fail)
    with pytest.raises(
        JudgeError, match=r"sample '30': context_recall: .*s1, s2: the disk is full"
    ) as caught:
        evaluate(samples(1000), [ContextRecall(judge=judge)], on_error="raise", max_concurrency=4)
    assert caught.value.reason_code == "server_error"
    assert values(caught.value.results) == [expected(number) for number in range(30)] + [None]
    assert len(judge.seen) < 60
    time.sleep(0.05)
    assert len(judge.seen) < 60  # and nothing goes on behind the caller's back


def test_on_error_raise_is_not_about_samples_without_a_number():
    given = [sample(1), sample(2, reference=""), sample(3, reference=None)]
    results = evaluate(given, [ContextRecall(judge=OwnJudge())], on_error="raise")
    assert codes(results) == [None, "no_reference", "missing_field"]


# --- stops ---


def test_a_deadline_returns_what_is_there(caplog, monkeypatch):
    monkeypatch.setattr(
        "ctxmetrics.evaluation.runs.engine.GRACE_SECONDS", 3600.0
    )  # not needed: judges that let go are not waited for

    deadline = HeldDeadline(monkeypatch)
    waiting = []

    async def wait(request):
        if int(request.user_input.split()[2][:-1]) >= 10:
            waiting.append(request)
            if len(waiting) == 4:  # the ten are judged
                for _ in range(100):
                    await asyncio.sleep(0)  # the others under way have their turns
                deadline.bring()
            await asyncio.sleep(3600)

    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        results = evaluate(
            samples(40),
            [ContextRecall(judge=OwnJudge(wait)), IDBasedContextRecall()],
            deadline=DEADLINE,
            max_concurrency=4,
        )
    assert values(results) == [expected(number) for number in range(10)] + [None] * 30
    assert codes(results)[10:] == ["cancelled"] * 30
    assert results.stopped == "the deadline of 1800 s was reached"
    assert results[10]["context_recall"].message == "not scored: the deadline of 1800 s was reached"
    # what was scored stays: of the ten, and of those that were under way
    assert values(results, "id_based_context_recall")[:18] == [1.0] * 18
    assert [record.getMessage() for record in caplog.records] == [
        "The run was stopped: the deadline of 1800 s was reached (10 of 40 judged, 30 left)"
    ]


def test_a_run_that_is_stopped_twice_says_the_first_reason():
    async def stopped():
        run = Evaluation(samples(2), [IDBasedContextRecall()])
        run.stop("the first reason")
        run.stop("another reason")
        return await run.score_samples()

    results = asyncio.run(stopped())
    assert results.stopped == "the first reason"
    assert codes(results, "id_based_context_recall") == ["cancelled"] * len(results)


def test_after_a_deadline_a_stream_is_read_no_further(monkeypatch):
    """The deadline comes when sample 31 is judged, not at a moment."""
    deadline = HeldDeadline(monkeypatch)

    def stream():
        number = 0
        while True:
            yield sample(number)
            number += 1

    async def wait(request):
        if request.user_input == "What about 31?":
            deadline.bring()
            await asyncio.sleep(60)

    results = evaluate(
        stream(), [ContextRecall(judge=OwnJudge(wait))], deadline=DEADLINE, max_concurrency=4
    )
    assert results.stopped == "the deadline of 1800 s was reached"
    assert len(results) > 30
    assert codes(results)[0] is None
    assert codes(results)[-1] == "cancelled"


def test_deadline_does_not_wait_for_a_stubborn_judge():
    async def stubborn(request):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await asyncio.sleep(3600)

    results = evaluate(samples(2), [ContextRecall(judge=OwnJudge(stubborn))], deadline=0.1)
    assert codes(results) == ["cancelled"] * 2


def test_max_calls_stops_asking_and_goes_on_with_what_is_free(tmp_path):
    with honest() as server:
        judge = server_judge(server)
        evaluate(samples(100)[50:60], [ContextRecall()], judge=judge, cache=tmp_path)
        server.reset()
        from ctxmetrics.judges.llm.judge import forget

        forget()
        results = evaluate(samples(100), [ContextRecall()], judge=judge, cache=tmp_path, max_calls=20)
        assert server.count == 20
    assert results.usage.calls == 20
    assert results.stopped == "max_calls=20 is used up"
    judged = [number for number, value in enumerate(values(results)) if value is not None]
    assert len(judged) == 30
    assert set(range(50, 60)) <= set(judged)
    assert results.summary()["context_recall"].causes == {"budget_exceeded": 140}


def test_max_tokens_stops_asking():
    with honest() as server:
        results = evaluate(
            samples(100),
            [ContextRecall()],
            judge=server_judge(server),
            max_tokens=10_000,
            max_concurrency=4,
        )
        spent = results.usage.total_tokens
        assert 10_000 <= spent < 10_000 + 4 * 1000
        assert results.stopped == "max_tokens=10000 is used up"
    assert set(codes(results)) == {None, "not_judged"}


def test_no_calls_at_all_may_be_allowed():
    with honest() as server:
        results = evaluate(samples(3), [ContextRecall()], judge=server_judge(server), max_calls=0)
        assert server.count == 0
    assert codes(results) == ["not_judged"] * 3


@pytest.mark.slow
def test_a_judge_that_is_down_is_asked_no_more_and_said_so_once(caplog):
    with (
        caplog.at_level(logging.WARNING, "ctxmetrics"),
        FakeOpenAIServer(answer_from(), faults=[Fault("refusal_text")]) as server,
    ):
        results = evaluate(
            samples(200), [ContextRecall(), ContextPrecision()], judge=server_judge(server)
        )
        asked = server.count
    assert asked < 150
    assert codes(results) == ["not_judged"] * 200
    assert codes(results, "context_precision") == ["not_judged"] * 200
    assert "is not asked any more; last: " in results.stopped
    assert len(caplog.records) == 1
    assert "judge_down" in results.summary()["context_recall"].causes
    assert "stopped early: The judge" in str(results.summary())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_server_that_fails_at_random_loses_nothing(seed):
    with honest(faults=[Fault("500", rate=0.1, seed=seed)]) as server:
        results = evaluate(
            samples(60), [ContextRecall(), ContextPrecision()], judge=server_judge(server)
        )
        assert server.count > 60
    assert values(results) == [expected(number) for number in range(60)]
    assert None not in values(results, "context_precision")
    assert results.usage.calls > 60


@pytest.mark.slow
def test_server_of_8_at_once_loses_nothing_and_refuses_little():
    with honest(latency=0.02, max_parallel=8, retry_after=0.05, together=9, together_from=40) as server:
        results = evaluate(samples(120), [ContextRecall()], judge=server_judge(server))
        refused = sum(request.status == 429 for request in server.requests)
        assert 0 < refused <= 0.15 * server.count
    assert values(results) == [expected(number) for number in range(120)]


# --- Ctrl-C, in processes of their own ---

_SCRIPT = """
import asyncio, json, sys, time
from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.judges.base import Judgement
from ctxmetrics.evaluation.runs import sources
from ctxmetrics.verdicts import Verdict

class Judge:
    name, warnings = "slow", ()
    async def attribute(self, request):
        number = int(request.answer.split()[1])
        if number >= 20 and not {reading}:
            if number == {at}:
                print("waiting", flush=True)
            {slow}
        judged.append(number)
        return Judgement(verdicts=tuple(Verdict(id=i, value=False) for i in request.unit_ids))
    async def rate(self, request):
        raise NotImplementedError

judged = []

def stream():
    for number in range(100):
        if {reading} and number == 30:
            while len(judged) < 30:
                time.sleep(0.01)  # the judge runs in another thread
            print("waiting", flush=True)
            time.sleep(60)  # the signal ends it
        yield Sample(id=number, reference=f"Number {{number}} is here.", retrieved_contexts=["x"])

samples = stream() if {reading} else list(stream())
try:
    results = evaluate(samples, [ContextRecall(judge=Judge())], max_concurrency=2)
except KeyboardInterrupt:
    print("ended at once", flush=True)
    sys.exit(7)
print(json.dumps([results.stopped, [row["context_recall"].reason_code for row in results]]), flush=True)
"""


def start(script):
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    return process


def script(slow="await asyncio.sleep(3600)", at=21, *, reading=False):
    """A program that says so when it waits: when both judgements at once are under way, all before them have ended."""
    return _SCRIPT.format(slow=slow, at=at, reading=reading)


def has_output(process, seconds):
    return bool(select.select([process.stdout], [], [], seconds)[0])


def last_line(process):
    return json.loads(process.communicate(timeout=LONGEST_PROCESS)[0].splitlines()[-1])


posix_signals = pytest.mark.skipif(
    os.name == "nt", reason="Windows sends Ctrl-C to a whole console only"
)


@pytest.mark.slow
@posix_signals
def test_ctrl_c_returns_what_is_there():
    process = start(script())
    process.send_signal(signal.SIGINT)
    stopped, given = last_line(process)
    assert process.returncode == 0
    assert stopped == "interrupted"
    assert given == [None] * 20 + ["cancelled"] * 80


@pytest.mark.slow
@posix_signals
def test_ctrl_c_inside_a_generator_returns_what_is_there():
    process = start(script(reading=True))
    process.send_signal(signal.SIGINT)
    stopped, given = last_line(process)
    assert stopped == "interrupted"
    assert given == [None] * 30


@pytest.mark.slow
@posix_signals
def test_a_second_ctrl_c_ends_at_once():
    process = start(script(slow="time.sleep(3600)", at=20))  # a judge that blocks the loop
    process.send_signal(signal.SIGINT)
    assert not has_output(process, seconds=1)
    # The process says nothing when it has seen the first signal, and two that arrive together are one: a busy machine may need a
    # third.
    for seconds in (4, 16, 64):
        process.send_signal(signal.SIGINT)
        if has_output(process, seconds):
            break
    output = process.communicate(timeout=LONGEST_PROCESS)[0]
    assert "ended at once" in output
    assert process.returncode == 7


# --- files ---


def lines(path):
    return read_rows(path)


def test_out_has_every_row_in_order_and_results_keep_values(tmp_path):
    out = tmp_path / "scores.jsonl"
    out.write_text('{"sample_id": "old"}\n')
    results = evaluate(
        (sample(number) for number in range(50)),
        [ContextRecall(judge=OwnJudge()), ContextPrecision(judge=OwnJudge())],
        out=out,
    )
    rows = lines(out)
    assert [(row["sample_id"], row["metric"]) for row in rows] == [
        (str(number), name) for number in range(50) for name in ("context_recall", "context_precision")
    ]
    assert (
        [row["value"] for row in rows[::2]]
        == [expected(number) for number in range(50)]
        == values(results)
    )
    assert rows[0]["verdicts"][0]["evidence"][0]["quote"] == "Number 0 is here."
    assert results[3].sample is None
    assert results[3].sample_id == "3"
    assert results[3]["context_recall"].verdicts == ()
    with pytest.raises(CtxMetricsError, match="out="):
        results.to_jsonl(tmp_path / "again.jsonl")
    whole = evaluate(samples(50), [ContextRecall(judge=OwnJudge()), ContextPrecision(judge=OwnJudge())])
    whole.to_jsonl(tmp_path / "whole.jsonl")
    assert lines(tmp_path / "whole.jsonl") == rows
    assert str(whole.summary()) == str(results.summary())


def test_unwritable_out_raises_before_judging(tmp_path):
    judge = OwnJudge()
    with pytest.raises(InputFileError, match="cannot be written"):
        evaluate(samples(3), [ContextRecall(judge=judge)], out=tmp_path / "no" / "folder.jsonl")
    assert judge.seen == []


def test_out_of_a_run_that_stopped_keeps_what_was_there(tmp_path):
    out, part = tmp_path / "scores.jsonl", tmp_path / "scores.jsonl.part"
    evaluate(samples(3), [ContextRecall(judge=OwnJudge())], out=out)
    before = out.read_bytes()

    async def fail(request):
        raise RuntimeError("no verdict today")

    results = evaluate(samples(3), [ContextRecall(judge=OwnJudge(fail))], out=out)
    assert results.unanswered == ("context_recall",)
    assert results.failure == ("judge_error", "RuntimeError: no verdict today")
    assert out.read_bytes() == before
    assert [row["reason_code"] for row in lines(part)] == ["not_judged"] * 3
    with pytest.raises(SampleError, match="broke off after 1"):
        evaluate(breaks_off(), [ContextRecall(judge=OwnJudge())], out=out)
    assert out.read_bytes() == before
    assert [row["sample_id"] for row in lines(part)] == ["0"]


def breaks_off():
    yield sample(0)
    raise OSError("the disk is gone")


def test_out_never_is_what_the_samples_come_from(tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(sample(1).to_dict()) + "\n")
    judge = OwnJudge()
    for given in (read_samples(data), list(read_samples(data))):
        with pytest.raises(InputFileError, match=r"data\.jsonl"):
            evaluate(given, [ContextRecall(judge=judge)], out=data)
    results = evaluate(read_samples(data), [ContextRecall(judge=judge)])
    for write in (results.to_jsonl, results.to_html):
        with pytest.raises(InputFileError, match="it holds data that no run wrote"):
            write(data)
    assert Sample.from_dict(json.loads(data.read_text())) == sample(1)
    assert len(judge.seen) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.csv", 'reference,retrieved_contexts\nA door.,"[""A door.""]"\n'),
        ("data.json", '[{"reference": "A door."}]'),
        ("notes.txt", "Notes about ctxmetrics."),
        ("page.html", "<!doctype html><title>My page</title>"),
    ],
)
def test_what_this_library_did_not_write_is_never_replaced(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    metrics = [ContextRecall(judge=OwnJudge())]
    results = evaluate(samples(1), metrics)
    for write in (
        results.to_jsonl,
        results.to_html,
        lambda path: evaluate(samples(1), metrics, out=path),
    ):
        with pytest.raises(InputFileError, match=r"holds data that no run wrote\. Choose another file"):
            write(file)
    assert file.read_text() == text
    file.write_text("")
    for write in (results.to_html, results.to_html, results.to_jsonl, results.to_jsonl):
        write(file)
    file = file.with_suffix(".jsonl")
    evaluate(samples(1), metrics, out=file)
    assert [row["sample_id"] for row in lines(file)] == ["0"]


def test_out_is_written_by_one_run_at_a_time(tmp_path):
    out = tmp_path / "scores.jsonl"

    async def meanwhile(request):
        with pytest.raises(InputFileError, match="another run is writing it"):
            await aevaluate([sample(5)], [ContextRecall(judge=OwnJudge())], out=out)

    results = evaluate(samples(2), [ContextRecall(judge=OwnJudge(meanwhile))], out=out)
    assert values(results) == [0.5, 1.0]
    assert [row["sample_id"] for row in lines(out)] == ["0", "1"]


def test_out_keeps_its_mode_and_its_link(tmp_path):
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    real.touch(mode=0o600)
    link.symlink_to(real)
    evaluate(samples(1), [ContextRecall(judge=OwnJudge())], out=link)
    assert link.is_symlink()
    assert len(lines(real)) == 1
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


_WRITER = """
import os, signal, sys
from ctxmetrics import ContextRecall, Sample, evaluate
samples = [Sample(id=i, reference=f"Number {i} is here.", retrieved_contexts=["Number 1 is here."]) for i in range(6)]
write = os.write
def killed(file, data):
    row, found, _ = bytes(data).partition(b'"sample_id":"3"')
    if not found:
        return write(file, data)
    write(file, row + found)  # the rows before, and the beginning of this one
    os.kill(os.getpid(), signal.SIGKILL)
os.write = killed
evaluate(samples, [ContextRecall()], out=sys.argv[1], progress=False)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
def test_a_kill_9_costs_the_row_that_is_being_written(tmp_path):
    out, part = tmp_path / "scores.jsonl", tmp_path / "scores.jsonl.part"
    done = subprocess.run([sys.executable, "-c", _WRITER, str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    *whole, half = part.read_text(encoding="utf-8").split("\n")
    assert [row["sample_id"] for row in complete_rows(whole)] == ["0", "1", "2"]
    assert half.startswith('{"sample_id":"3"')
    with pytest.raises(InputFileError, match=r"line 6: the line is cut off.*--resume"):
        Results.from_jsonl(part)
    given = [
        Sample(id=i, reference=f"Number {i} is here.", retrieved_contexts=["Number 1 is here."])
        for i in range(6)
    ]
    run_in_caller(Evaluation(given, [ContextRecall()], out=out, resume=True, progress=False))
    evaluate(given, [ContextRecall()], out=tmp_path / "other.jsonl", progress=False)
    assert [(row["sample_id"], row["value"]) for row in lines(out)] == [
        (row["sample_id"], row["value"]) for row in lines(tmp_path / "other.jsonl")
    ]
    assert not part.exists()


# --- what the judges see ---

USER = ContextVar("user", default="nobody")


def test_judges_see_the_callers_context_variables():
    seen = []

    async def look(request):
        seen.append(USER.get())

    token = USER.set("somebody")
    try:
        evaluate(samples(2), [ContextRecall(judge=OwnJudge(look))])
        asyncio.run(aevaluate(samples(2), [ContextRecall(judge=OwnJudge(look))]))
        evaluate(iter(samples(2)), [ContextRecall(judge=OwnJudge(look))])
    finally:
        USER.reset(token)
    assert seen == ["somebody"] * 6


def test_runs_inside_a_run_are_their_own():
    async def nested(request):
        inner = await aevaluate([sample(5)], [ContextRecall(judge=OwnJudge())], max_calls=0)
        assert inner.stopped is None
        assert values(inner) == [1.0]

    assert values(evaluate(samples(4), [ContextRecall(judge=OwnJudge(nested))])) == [0.5, 1.0, 0.5, 1.0]


def test_sync_call_inside_the_loop_raises_instead_of_waiting():
    async def wrong(request):
        evaluate([sample(5)], [ContextRecall(judge=OwnJudge())])

    results = evaluate(samples(1), [ContextRecall(judge=OwnJudge(wrong))])
    assert "Use await" in results[0]["context_recall"].message


# --- progress ---


def test_progress_counts_samples_failures_and_calls():
    seen = []
    with FakeOpenAIServer(
        answer_from(), faults=[Fault("refusal_text", contains="Number 3 ")]
    ) as server:
        evaluate(samples(6), [ContextRecall()], judge=server_judge(server), progress=seen.append)
        calls = server.count
    assert [progress.done for progress in seen] == [1, 2, 3, 4, 5, 6]
    assert {progress.total for progress in seen} == {6}
    assert seen[-1].failed == 1
    assert seen[-1].calls == calls
    assert seen[-1].rate > 0
    assert seen[-1].seconds_left == 0
    assert seen[0].seconds_left > 0


def test_of_a_stream_nobody_knows_the_total():
    seen = []
    evaluate(iter(samples(3)), [ContextRecall(judge=OwnJudge())], progress=seen.append)
    assert [(progress.total, progress.seconds_left) for progress in seen] == [(None, None)] * 3


def test_a_progress_function_that_fails_is_not_called_again(caplog):
    calls = []

    def show(progress):
        calls.append(progress)
        raise OSError("no terminal")

    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        results = evaluate(samples(5), [ContextRecall(judge=OwnJudge())], progress=show)
    assert values(results) == [expected(number) for number in range(5)]
    assert len(calls) == 1
    assert "OSError: no terminal" in caplog.text


def test_a_bar_goes_to_stderr_only(capfd):
    evaluate(samples(5), [ContextRecall(judge=OwnJudge())], progress=True)
    evaluate(samples(5), [ContextRecall(judge=OwnJudge())])
    assert capfd.readouterr().out == ""


_ON_A_TERMINAL = """
from ctxmetrics import ContextRecall, Sample, evaluate
samples = [Sample(reference=f"Number {n}.", retrieved_contexts=[f"Number {n}."]) for n in range(7)]
print(len(evaluate(samples, [ContextRecall()])))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_on_a_terminal_there_is_a_bar():
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_A_TERMINAL],
        stderr=theirs,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    os.close(theirs)
    shown = ""
    with contextlib.suppress(OSError):  # Linux says so when the other side is closed
        while data := os.read(ours, 4096):
            shown += data.decode()
    os.close(ours)
    assert process.communicate(timeout=LONGEST_PROCESS)[0] == "7\n"
    for part in ("7/7, 0 s left, 7 judged, 0 failed",):
        assert part in shown


# --- resume ---


def test_a_second_run_pays_for_nothing_and_gives_the_same(tmp_path):
    from ctxmetrics.judges.llm.judge import forget

    with honest() as server:
        first = evaluate(
            samples(30),
            [ContextRecall(), ContextPrecision()],
            judge=server_judge(server),
            cache=tmp_path,
        )
        assert server.count == 30
        forget()
        again = evaluate(
            samples(30),
            [ContextRecall(), ContextPrecision()],
            judge=server_judge(server),
            cache=tmp_path,
        )
        assert server.count == 30
    assert [row["context_recall"].verdicts for row in again] == [
        row["context_recall"].verdicts for row in first
    ]
    assert values(again, "context_precision") == values(first, "context_precision")
    assert again.usage == Usage(reused=60)


def test_per_context_asks_about_new_contexts_for_a_larger_k(tmp_path):
    from ctxmetrics.judges.llm.judge import forget

    texts = [f"Number {number} is here." for number in range(10)]
    with honest() as server:
        judge = server_judge(server, per_context=True)
        evaluate(
            [sample(1, retrieved_contexts=texts[:5])], [ContextRecall()], judge=judge, cache=tmp_path
        )
        assert server.count == 5
        forget()
        evaluate([sample(1, retrieved_contexts=texts)], [ContextRecall()], judge=judge, cache=tmp_path)
        assert server.count == 10


def test_another_models_judgements_are_not_reused(tmp_path):
    with honest() as server:
        for model in ("one", "two"):
            judge = LLMJudge(OpenAIModel(model, base_url=server.base_url))
            evaluate(samples(3), [ContextRecall()], judge=judge, cache=tmp_path)
        assert server.count == 6


def test_a_reply_that_was_no_use_is_not_kept(tmp_path):
    from ctxmetrics.judges.llm.judge import forget

    with FakeOpenAIServer(answer_from(), faults=[Fault("prose_only", times=2)]) as server:
        judge = server_judge(server)
        first = evaluate([sample(1)], [ContextRecall()], judge=judge, cache=tmp_path)
        assert codes(first) == ["not_judged"]
        forget()
        assert values(evaluate([sample(1)], [ContextRecall()], judge=judge, cache=tmp_path)) == [1.0]


def test_scripted_replies_are_cached_too(tmp_path):
    reply = {
        "code": "$code",
        "sentences": {"s1": {"supported": False}, "s2": {"supported": False}},
        "useful": {
            "c1": {"quote": "It looks scarlet.", "useful": True},
            "c2": {"quote": "", "useful": False},
        },
    }
    judge = ScriptedJudge({"joint": [reply]})
    results = evaluate(
        [sample(1)],
        [ContextRecall(), ContextPrecision(), IDBasedContextPrecision()],
        judge=judge,
        cache=tmp_path,
    )
    row = results[0]
    assert (row["context_recall"].value, row["context_precision"].value) == (0.0, 1.0)
    assert row["id_based_context_precision"].value == 0.5
    assert results.usage.calls == 1


def test_stored_verdicts_share_texts_and_ids():
    given = [
        Sample(reference="It is red.", retrieved_contexts=[f"It is red. {n}", "It is blue."])
        for n in range(2)
    ]
    judge = ScriptedJudge(answer_from(), name="instant")
    rows = evaluate(given, [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    first, second = (row["context_precision"].verdicts for row in rows)
    assert [verdict.id for verdict in first] == ["c1", "c2"]
    assert all(one.id is other.id for one, other in zip(first, second, strict=True))
    assert first[0].text is given[0].retrieved_contexts[0]


def test_metrics_without_waits_let_other_tasks_go_on():
    async def main():
        given = [Sample(retrieved_contexts=[f"a{n}"], reference_contexts=["b"]) for n in range(9)]
        turns, done = 0, asyncio.Event()

        def slow(retrieved, reference):
            time.sleep(0.03)
            return 0.0

        async def count():
            nonlocal turns
            while not done.is_set():
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await aevaluate(given, [NonLLMContextRecall(similarity=slow)])
        done.set()
        await counting
        return turns

    assert asyncio.run(main()) >= 9


def test_no_task_is_made_for_metrics_that_wait_for_nothing(monkeypatch):
    made = []
    whole = asyncio.create_task
    monkeypatch.setattr(asyncio, "create_task", lambda *given: made.append(given) or whole(*given))
    given = [Sample(retrieved_context_ids=["a"], reference_context_ids=["a"])] * 20
    assert len(evaluate(given, [IDBasedContextRecall()], progress=False)) == 20
    assert len(made) == 1  # what reads the samples


def test_run_makes_no_verdicts_of_ids_and_counts_them(monkeypatch):
    made, whole = [], IDBasedContextRecall.build_verdicts
    monkeypatch.setattr(
        IDBasedContextRecall,
        "build_verdicts",
        lambda self, *given: made.append(given) or whole(self, *given),
    )
    given = [Sample(retrieved_context_ids=["a", "c"], reference_context_ids=["a", "b"])] * 3
    results = evaluate(given, [IDBasedContextRecall()], progress=False)
    found = results.summary()["id_based_context_recall"]
    assert (found.mean, found.verdicts, results.unanswered) == (0.5, 6, ())
    assert not made
    verdicts = results[0]["id_based_context_recall"].verdicts
    assert [(verdict.id, verdict.value) for verdict in verdicts] == [("a", True), ("b", False)]
    assert len(made) == 1


# --- how far a run is, in words ---


PROGRESSES = {
    (
        5,
        30,
        1,
        12,
        10.0,
        4567,
        0.25,
    ): "5/30, 50 s left, 4 judged, 1 failed, 12 calls, 4,567 tokens, $0.2500",
    (0, 30, 0, 0, 0.0, 0, None): "0/30, 0 judged, 0 failed",
    (5, None, 0, 1, 10.0, 7, None): "5/?, 5 judged, 0 failed, 1 call, 7 tokens",
}


@pytest.mark.parametrize(("values", "text"), PROGRESSES.items())
def test_progress_says_count_time_failures_and_cost(values, text):
    assert describe_progress(Progress(*values)) == text


def test_progress_has_the_tokens_and_the_cost_of_the_run():
    seen = []

    class Priced:
        identity = "priced/model"

        async def generate(self, prompt, schema):
            del prompt, schema
            return Reply(content="{}", usage=Usage(prompt_tokens=10, completion_tokens=2, cost=0.5))

    judge = LLMJudge(Priced(), max_repairs=0)
    evaluate(samples(3), [ContextRecall()], judge=judge, progress=seen.append)
    assert (seen[-1].tokens, seen[-1].cost, seen[-1].failed) == (36, 1.5, 3)


FILES = {
    "samples.jsonl": lambda rows: "\n\n".join(map(json.dumps, rows)) + "\n",
    "samples.json": json.dumps,
    "samples.csv": lambda rows: (
        "id,reference,retrieved_contexts\n"
        + "".join(f'{row["id"]},"Two\nlines.","[""{row["reference"]}""]"\n' for row in rows)
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_the_samples_of_a_file_are_counted_before(tmp_path, name):
    rows = [
        {"id": f"s{n}", "reference": f"Number {n}.", "retrieved_contexts": [f"Number {n}."]}
        for n in range(5)
    ]
    path = tmp_path / name
    path.write_text(FILES[name](rows), encoding="utf-8")
    seen = []
    results = evaluate(path, [ContextRecall(judge=LexicalJudge())], progress=seen.append)
    assert len(results) == 5
    assert {progress.total for progress in seen} == {5}


def test_rows_that_are_no_samples_are_not_counted(tmp_path):
    path = tmp_path / "passages.jsonl"
    rows = [{"question": f"q{n // 2}", "reference": "A.", "context": f"A {n}."} for n in range(6)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    seen = []
    source = read_samples(path, group_by="question", columns={"context": "retrieved_contexts"})
    evaluate(source, [ContextRecall(judge=LexicalJudge())], progress=seen.append)
    assert [(progress.done, progress.total) for progress in seen] == [(1, None), (2, None), (3, None)]


def stop_after_two(source):
    """Run an evaluation that is stopped when two samples are judged; the others wait."""
    two = asyncio.Event()

    def count(progress):
        if progress.done == 2:
            two.set()

    async def wait(request):
        if int(request.user_input.split()[2][:-1]) > 1:
            await two.wait()
            run.stop("enough")
            await asyncio.Event().wait()

    metrics = [ContextRecall(judge=OwnJudge(wait))]
    run = Evaluation(source, metrics, progress=count, in_caller=True, max_concurrency=2)
    return run_in_caller(run)


def test_an_early_end_says_how_many_are_left(caplog):
    results = stop_after_two(samples(5))
    assert results.describe_rest() == "2 of 5 judged, 3 left"
    assert "The run was stopped: enough (2 of 5 judged, 3 left)" in caplog.text


def test_an_early_end_of_a_file_counts_what_was_not_read(tmp_path):
    path = tmp_path / "samples.jsonl"
    rows = [
        {
            "id": f"s{n}",
            "user_input": f"What about {n}?",
            "reference": f"Number {n} is here.",
            "retrieved_contexts": ["A."],
        }
        for n in range(99)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert stop_after_two(path).describe_rest() == "2 of 99 judged, 97 left"


def test_a_file_that_cannot_be_counted_has_no_total(tmp_path):
    path = tmp_path / "samples.jsonl"
    row = {"user_input": "What?", "reference": "It is here.", "retrieved_contexts": ["A."]}
    lines = [json.dumps({**row, "id": f"s{n}"}) for n in range(20_000)]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe")
    source = Source(read_samples(path), [ContextRecall()])
    assert source.count() is None
    assert source.count() is None  # also when it is asked again


def test_an_early_end_of_a_stream_knows_no_total():
    assert stop_after_two(iter(samples(50))).describe_rest() == "2 of ? judged"


def test_what_failed_is_neither_judged_nor_left():
    async def fail(request):
        if "What about 0?" in request.user_input:
            raise ValueError("no verdict")

    results = evaluate(samples(3), [ContextRecall(judge=OwnJudge(fail))], progress=False)
    results.total = 3
    assert results.describe_rest() == "2 of 3 judged, 1 failed, 0 left"
