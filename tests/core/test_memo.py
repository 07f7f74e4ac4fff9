"""Finished judgements are remembered, those in flight shared: across tasks, threads and loops."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample
from ctxmetrics.judges import loops, memo
from ctxmetrics.judges.base import Reply
from ctxmetrics.judges.memo import Memo, forget_after_fork
from ctxmetrics.testing import answer_from


@pytest.fixture(autouse=True)
def _told_at_once(monkeypatch):
    """Whoever waits must be told, not find out by looking again."""
    patience(monkeypatch, 600)


def patience(monkeypatch, seconds):
    monkeypatch.setattr(memo, "PATIENCE", seconds)
    monkeypatch.setattr(loops, "PATIENCE", seconds)


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


def test_threads_with_loops_of_their_own_share_too():
    store, work = remembering(), Work(seconds=0.3)
    gate = threading.Barrier(6)

    def thread(_):
        gate.wait(30)
        return asyncio.run(store.get("k", work))

    with ThreadPoolExecutor(6) as pool:
        found = sorted(pool.map(thread, range(6)))
    assert found == [("answer", False)] + [("answer", True)] * 5
    assert work.begun == 1


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


@pytest.mark.parametrize("how", ["standing", "left"])
def test_a_loop_that_does_not_turn_keeps_nobody_waiting(how, monkeypatch):
    patience(monkeypatch, 0.1)
    store, stuck = remembering(), Work("late", seconds=0.0)
    go_on = threading.Event()
    finished = []

    async def first():
        async def compute():
            stuck.started.set()
            if how == "standing":
                go_on.wait(30)  # as a sync call in a notebook's loop would
            else:
                await asyncio.sleep(3600)
            return "late"

        finished.append(await store.get("k", compute))

    def thread():
        loop = asyncio.new_event_loop()
        task = loop.create_task(first())
        if how == "standing":
            loop.run_until_complete(task)
        else:
            loop.run_until_complete(asyncio.sleep(0.05))  # and never again
            go_on.wait(30)
            task.cancel()
            loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        loop.close()

    other = threading.Thread(target=thread)
    other.start()
    stuck.started.wait(30)
    assert asyncio.run(asyncio.wait_for(store.get("k", Work("mine")), 10)) == ("mine", False)
    go_on.set()
    other.join(30)
    assert finished == ([("late", False)] if how == "standing" else [])
    assert asyncio.run(store.get("k", Work()))[1] is True


def test_who_lands_late_does_not_end_the_flight_of_who_took_over(monkeypatch):
    patience(monkeypatch, 0.1)
    store, started, go_on = remembering(), threading.Event(), threading.Event()

    async def stuck():
        started.set()
        go_on.wait(30)
        return "poor"  # and so not remembered

    late = threading.Thread(target=lambda: asyncio.run(store.get("k", stuck)))
    late.start()
    started.wait(30)

    async def main():
        gate, begun = asyncio.Event(), asyncio.Event()

        async def compute():
            begun.set()
            await gate.wait()
            return "mine"

        second = asyncio.create_task(store.get("k", compute))
        await asyncio.wait_for(begun.wait(), 10)
        go_on.set()
        await asyncio.to_thread(late.join, 30)
        third = asyncio.create_task(store.get("k", Work("third")))
        await asyncio.sleep(0.01)
        gate.set()
        return await asyncio.gather(second, third)

    assert asyncio.run(main()) == [("mine", False), ("mine", True)]


def test_a_slow_loop_that_turns_is_waited_for(monkeypatch):
    patience(monkeypatch, 0.4)
    store, slow = remembering(), Work("slow", seconds=1.0)
    thread = threading.Thread(target=lambda: asyncio.run(store.get("k", slow)))
    thread.start()
    slow.started.wait(30)
    assert asyncio.run(store.get("k", Work("mine"))) == ("slow", True)
    thread.join(30)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_empty():
    store = remembering()
    forget_after_fork(store)
    asyncio.run(store.get("k", Work()))
    store._lock.acquire()  # as another thread of the parent might, at that moment
    try:
        fork = multiprocessing.get_context("fork")
        results = fork.Queue()
        child = fork.Process(target=lambda: results.put(asyncio.run(store.get("k", Work("child")))))
        child.start()
        assert results.get(timeout=60) == ("child", False)
        child.join(60)
    finally:
        store._lock.release()
    assert asyncio.run(store.get("k", Work())) == ("answer", True)


def test_a_sync_call_in_a_loop_whose_task_judges_the_same_sample_ends(monkeypatch):
    patience(monkeypatch, 0.1)

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
    assert asyncio.run(asyncio.wait_for(notebook(), 30)) == (1.0, 1.0)
    assert ContextPrecision(judge=LLMJudge(model)).score(sample).usage.reused == 1
