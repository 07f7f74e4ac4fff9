"""Finished judgements are remembered across threads and loops; those in flight are shared within a loop."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample
from ctxmetrics.models.base import Reply
from ctxmetrics.models.runtime.memo import Memo
from support import answer_from


class Work:
    """Computes, and counts how often."""

    def __init__(self, answer="answer", seconds=0.0):
        self.answer, self.seconds = answer, seconds
        self.begun = 0
        self.started = threading.Event()

    async def __call__(self):
        self.begun += 1
        self.started.set()
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def remembering(size=10):
    return Memo(size, keep=lambda answer: answer != "poor")


def test_a_finished_answer_is_remembered():
    store, work = remembering(), Work()
    assert asyncio.run(store.get("k", work)) == ("answer", False)
    assert asyncio.run(store.get("k", work)) == ("answer", True)
    assert asyncio.run(store.get("other", work)) == ("answer", False)
    assert work.begun == 2


def test_one_computes_while_the_others_wait():
    async def main():
        return await asyncio.gather(*(store.get("k", work) for _ in range(20)))

    store, work = remembering(), Work(seconds=0.2)
    assert sorted(asyncio.run(main())) == [("answer", False)] + [("answer", True)] * 19
    assert work.begun == 1


def test_a_loop_that_stands_still_keeps_no_other_loop_waiting():
    store, go_on, started = remembering(), threading.Event(), threading.Event()

    async def blocked():
        started.set()
        go_on.wait(60)  # as a sync call in a notebook's loop does
        return "late"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: asyncio.run(store.get("k", blocked)))
        started.wait(60)
        assert asyncio.run(asyncio.wait_for(store.get("k", Work("mine")), 60)) == ("mine", False)
        go_on.set()
        assert first.result(60) == ("late", False)


def test_an_answer_not_worth_keeping_is_shared_in_flight_only():
    async def main():
        return await asyncio.gather(*(store.get("k", work) for _ in range(3)))

    store, work = remembering(), Work("poor", seconds=0.05)
    assert [shared for _, shared in asyncio.run(main())] == [False, True, True]
    assert asyncio.run(store.get("k", work)) == ("poor", False)
    assert work.begun == 2


def test_the_least_recently_used_goes_first():
    store, work = remembering(2), Work()
    for key in "aba":
        asyncio.run(store.get(key, work))
    asyncio.run(store.get("c", work))  # b goes
    assert [asyncio.run(store.get(key, work))[1] for key in "ac"] == [True, True]
    assert asyncio.run(store.get("b", work))[1] is False


def test_clear_forgets():
    store, work = remembering(), Work()
    asyncio.run(store.get("k", work))
    store.clear()
    assert asyncio.run(store.get("k", work)) == ("answer", False)


def test_when_the_first_is_cancelled_another_takes_over():
    async def main():
        first = asyncio.create_task(store.get("k", work))
        others = [asyncio.create_task(store.get("k", work)) for _ in range(3)]
        await asyncio.sleep(0.02)
        first.cancel()
        done = await asyncio.gather(first, *others, return_exceptions=True)
        return isinstance(done[0], asyncio.CancelledError), sorted(done[1:])

    store, work = remembering(), Work(seconds=0.2)
    assert asyncio.run(main()) == (True, [("answer", False), ("answer", True), ("answer", True)])
    assert work.begun == 2


def test_one_who_waits_and_is_cancelled_disturbs_nobody():
    async def main():
        first = asyncio.create_task(store.get("k", work))
        second = asyncio.create_task(store.get("k", work))
        await asyncio.sleep(0.02)
        second.cancel()
        return await asyncio.gather(first, second, return_exceptions=True)

    store, work = remembering(), Work(seconds=0.2)
    first, second = asyncio.run(main())
    assert first == ("answer", False)
    assert isinstance(second, asyncio.CancelledError)
    assert work.begun == 1


def test_an_error_is_the_first_ones_own():
    async def main():
        return await asyncio.gather(*(store.get("k", work) for _ in range(3)), return_exceptions=True)

    store, work = remembering(), Work(KeyError("broken"), seconds=0.02)
    assert [type(item) for item in asyncio.run(main())] == [KeyError] * 3
    assert work.begun == 3
    assert asyncio.run(store.get("k", Work())) == ("answer", False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_waits_for_no_flight_of_its_parent():
    store = remembering()

    def child():
        # Not asyncio.run: where a framework has patched it, it goes on with the loop of the parent.
        loop = asyncio.new_event_loop()
        results.put(loop.run_until_complete(asyncio.wait_for(store.get("k", Work("child")), 60)))

    async def main():
        started, forked = asyncio.Event(), asyncio.Event()

        async def work():
            started.set()
            await forked.wait()
            return "parent"

        flight = asyncio.create_task(store.get("k", work))
        await started.wait()
        process = fork.Process(target=child)
        process.start()  # the flight is not finished
        forked.set()
        return await flight, await asyncio.to_thread(results.get, timeout=300)

    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    assert asyncio.run(main()) == (("parent", False), ("child", False))


def test_sync_call_ends_in_a_loop_that_judges_the_same_sample():

    class Model:
        identity = "test/slow"
        calls = 0

        async def generate(self, prompt, schema):
            self.calls += 1
            await asyncio.sleep(0.05)
            return Reply(content=answer_from()(prompt))

    async def notebook():
        task = asyncio.create_task(metric.ascore(sample))
        await asyncio.sleep(0.01)  # the task has begun to ask
        return metric.score(sample).value, (await task).value

    model = Model()
    metric = ContextRecall(judge=LLMJudge(model))
    sample = Sample(reference="A door is green.", retrieved_contexts=["A door is green."])
    assert asyncio.run(asyncio.wait_for(notebook(), 60)) == (1.0, 1.0)
    assert ContextPrecision(judge=LLMJudge(model)).score(sample).usage.reused == 1
