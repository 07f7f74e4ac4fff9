"""Sync calls everywhere: in notebooks, threads, other loops, forked children; with one client and nothing patched."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import subprocess
import sys
import textwrap
import threading
from contextvars import ContextVar

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LLMJudge,
    OpenAIModel,
    Sample,
    aevaluate,
    evaluate,
)
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.models.runtime.background import on_background, on_background_loop, run_sync
from support import FakeOpenAIServer, answer_from
from support.deadlines import LONGEST_PROCESS

COUNT = 24
METRICS = [ContextRecall(), ContextPrecision()]
EXPECTED = [1.0 if number % 2 else 0.5 for number in range(COUNT)]


def samples(prefix="number", count=COUNT):
    return [
        Sample(
            reference=f"This is {prefix} {number}. It looks scarlet.",
            retrieved_contexts=[
                f"This is {prefix} {number}. " + ("It looks scarlet." if number % 2 else "Nothing."),
                "Something else.",
            ],
        )
        for number in range(count)
    ]


def judge_at(server):
    return LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url))


def recall(results):
    return [row["context_recall"].value for row in results]


@pytest.fixture
def server():
    pytest.importorskip("openai", reason="the openai extra is not installed")
    with FakeOpenAIServer(answer_from(), latency=0.01) as server:
        yield server


# --- loops ---


@pytest.mark.slow
def test_repeated_calls_share_one_pool_of_connections(server):
    for turn in range(4):
        assert recall(evaluate(samples(f"turn {turn}"), METRICS, judge=judge_at(server))) == EXPECTED
    assert ContextRecall(judge=judge_at(server)).score(samples("single")[1]).value == 1.0
    assert server.count == 4 * COUNT + 1
    assert server.connections <= 16


def test_a_sync_call_inside_a_running_loop(server):
    async def main():
        patched = asyncio.run is original
        first = evaluate(samples("one"), METRICS, judge=judge_at(server))
        second = await aevaluate(samples("two"), METRICS, judge=judge_at(server))
        return patched, recall(first), recall(second)

    original = asyncio.run
    assert asyncio.run(main()) == (True, EXPECTED, EXPECTED)
    assert server.connections <= 16


@pytest.mark.slow
def test_loops_that_come_and_go_share_one_pool_of_connections(server):
    for turn in range(4):
        results = asyncio.run(aevaluate(samples(f"turn {turn}"), METRICS, judge=judge_at(server)))
        assert recall(results) == EXPECTED
    assert server.count == 4 * COUNT
    assert server.connections <= 16


def test_while_a_loop_awaits_a_run_its_other_tasks_go_on(server):
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.create_task(tick())
        results = await aevaluate(samples(), METRICS, judge=judge_at(server), max_concurrency=2)
        ticking.cancel()
        return ticks, recall(results)

    ticks, given = asyncio.run(main())
    assert given == EXPECTED
    assert ticks >= 5


def test_under_uvloop(server):
    uvloop = pytest.importorskip("uvloop", reason="uvloop does not exist for every system")

    async def main():
        assert type(asyncio.get_running_loop()).__module__.startswith("uvloop")
        awaited = await aevaluate(samples("awaited"), METRICS, judge=judge_at(server))
        called = evaluate(samples("called"), METRICS, judge=judge_at(server))
        return recall(awaited), recall(called)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main()) == (EXPECTED, EXPECTED)
    assert server.count == 2 * COUNT


def test_a_cancelled_run_leaves_nothing_running(server):
    async def main():
        task = asyncio.create_task(aevaluate(samples(count=500), METRICS, judge=judge_at(server)))
        while server.count < 10:  # noqa: ASYNC110 - the server counts in a thread of its own
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seen = server.count
        await asyncio.sleep(0.2)
        return seen, server.count

    seen, later = asyncio.run(main())
    assert later <= seen + 16
    assert later < 500


# --- threads ---


@pytest.mark.slow
def test_from_8_threads_at_once(server):
    def run(number):
        return recall(evaluate(samples(f"thread {number}"), METRICS, judge=judge_at(server)))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(8))) == [EXPECTED] * 8
    assert server.count == 8 * COUNT
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("ctxmetrics") == 1


def test_8_threads_with_the_same_samples_pay_once(server):
    def run(_):
        return recall(evaluate(samples(), METRICS, judge=judge_at(server)))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(8))) == [EXPECTED] * 8
    assert server.count == COUNT


@pytest.mark.slow
def test_8_threads_with_a_loop_each(server):
    def run(number):
        return recall(
            asyncio.run(aevaluate(samples(f"loop {number}"), METRICS, judge=judge_at(server)))
        )

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(8))) == [EXPECTED] * 8
    assert server.count == 8 * COUNT


# --- processes ---


# Each fork is made by a process of its own: the worker holds threads and locks of every framework that was tested before.
FORKS = """
import faulthandler, os, sys, threading, time, warnings
warnings.simplefilter("ignore")
from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate

METRICS = [ContextRecall(), ContextPrecision()]

def samples(name, count=24):
    return [
        Sample(
            reference=f"This is {name} {number}. It looks scarlet.",
            retrieved_contexts=[f"This is {name} {number}. It looks scarlet.", "Something else."],
        )
        for number in range(count)
    ]

def values(name, judge, count=24, cache=None):
    results = evaluate(samples(name, count), METRICS, judge=judge, cache=cache)
    return {row["context_recall"].value for row in results}

def fork(function):
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(100, exit=True)
        os._exit(0 if function() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def run_forks(script, *arguments):
    return run_script(FORKS + textwrap.dedent(script), *arguments)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_after_a_fork(server, tmp_path):
    done = run_forks(
        """
        def ask(name):
            judge = LLMJudge(OpenAIModel("fake-judge", base_url=sys.argv[1]))
            return values(name, judge, cache=sys.argv[2]) == {1.0}

        print(ask("parent"), fork(lambda: ask("parent") and ask("child")), ask("after"))
        """,
        server.base_url,
        tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 0 True\n", "")
    assert server.count == 3 * COUNT  # the child found the parent's judgements in the cache


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_in_the_middle_of_a_run(server):
    done = run_forks(
        """
        def ask(name, count=24, cache=None):
            judge = LLMJudge(OpenAIModel("fake-judge", base_url=sys.argv[1]))
            return values(name, judge, count, cache) == {1.0}

        class Store:
            def __init__(self):
                self.keys = []

            def get(self, key):
                return None

            def put(self, key, value):
                self.keys.append(key)

        store = Store()
        running = threading.Thread(target=ask, args=("long", 200, store))
        running.start()
        while len(store.keys) < 20:
            time.sleep(0.001)
        print(running.is_alive(), fork(lambda: ask("child")))
        running.join()
        """,
        server.base_url,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 0\n", "")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_beside_a_thread_that_scores():
    done = run_forks("""
        finished = threading.Event()

        def score(number):
            text = f"This is number {number}. It looks scarlet."
            return ContextRecall().score(Sample(reference=text, retrieved_contexts=[text])).value == 1.0

        def score_on():
            number = 0
            while not finished.is_set():
                number += 1
                score(number)

        score(0)  # a fork waits for imports of this library, not for those of others
        scoring = threading.Thread(target=score_on)
        scoring.start()
        print([fork(lambda: score(-1)) for _ in range(20)])
        finished.set()
        scoring.join()
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{[0] * 20}\n", "")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("importing", ["score", "lambda: __import__('openai')"])
def test_a_fork_waits_for_an_import(server, importing):
    """Else the child would find a part of the package, and say that it is not installed."""
    done = run_script(f"""
        import os, sys, threading, warnings
        warnings.simplefilter("ignore")
        import ctxmetrics.models.openai.client
        from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample
        text = "This is number 1. It looks scarlet."
        sample = Sample(reference=text, retrieved_contexts=[text])
        def score():
            model = OpenAIModel("judge", base_url={server.base_url!r}, api_key="none")
            return ContextRecall(judge=LLMJudge(model)).score(sample)
        thread = threading.Thread(target={importing})
        thread.start()
        while "openai" not in sys.modules:
            pass
        child = os.fork()
        if not child:
            print(score().value, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        thread.join()
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.0\n", "")


def run_script(script, *arguments, timeout=300, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )


@pytest.mark.slow
def test_a_script_that_scored_ends_quietly():
    done = run_script("""
        from ctxmetrics import ContextRecall, Sample
        print(ContextRecall().score(Sample(reference="It is red.", retrieved_contexts=["It is red."])).value)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.0\n", "")


@pytest.mark.slow
def test_a_script_that_leaves_a_run_behind_ends_quietly():
    done = run_script("""
        import asyncio, threading, time
        from ctxmetrics import ContextRecall, Sample, evaluate
        from ctxmetrics.models.runtime.background import background_loop
        async def long():
            await asyncio.sleep(3600)
        async def block():
            time.sleep(3600)
        asyncio.run_coroutine_threadsafe(long(), background_loop())
        time.sleep(0.1)  # it waits
        asyncio.run_coroutine_threadsafe(block(), background_loop())
        time.sleep(0.1)  # the loop is blocked, and can say nothing
        print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


# --- notebooks ---


@pytest.mark.slow
def test_in_a_notebook(server):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    cells = [
        f"""
        import asyncio
        from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample, aevaluate, evaluate
        judge = LLMJudge(OpenAIModel("fake-judge", base_url={server.base_url!r}))
        def samples(word):
            return [Sample(reference=f"The {{word}} {{n}} is scarlet.", retrieved_contexts=[f"The {{word}} {{n}} is scarlet."])
                    for n in range(20)]
        run, get_event_loop = asyncio.run, asyncio.get_event_loop
        """,
        'print(ContextRecall(judge=judge).score(samples("apple")[0]).value)',
        'print([row["context_recall"].value for row in evaluate(samples("pear"), [ContextRecall()], judge=judge)] == [1.0] * 20)',
        'print([row["context_recall"].value for row in await aevaluate(samples("plum"), [ContextRecall()], judge=judge)] == [1.0] * 20)',
        'results = evaluate(iter(samples("fig")), [ContextRecall()], judge=judge); results.summary()',
        'import sys; print(asyncio.run is run, "nest_asyncio" in sys.modules)',
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell).strip()) for cell in cells]
    )
    nbclient.NotebookClient(notebook, timeout=LONGEST_PROCESS, kernel_name="python3").execute()
    texts = [
        "".join(
            output.get("text", "") or output.get("data", {}).get("text/plain", "")
            for output in cell.outputs
        )
        for cell in notebook.cells
    ]
    assert texts[1:4] == ["1.0\n", "True\n", "True\n"]
    assert texts[4].startswith("metric")
    assert "1.0000" in texts[4]
    assert texts[5] == "True False\n"
    assert server.count == 61


# --- the bridge itself ---

NAME = ContextVar("name", default="nobody")


async def name():
    return NAME.get()


def test_context_variables_are_the_callers():
    token = NAME.set("caller")
    try:
        assert run_sync(name) == "caller"
    finally:
        NAME.reset(token)
    assert run_sync(name) == "nobody"


def test_errors_come_through():
    async def fail():
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_sync(fail)


def test_on_the_loop_itself_a_sync_call_is_refused():
    async def inside():
        return run_sync(name)

    with pytest.raises(CtxMetricsError, match="Use await"):
        run_sync(inside)


def test_where_code_runs():
    async def here():
        return on_background_loop(), threading.current_thread().name

    assert run_sync(here) == (True, "ctxmetrics")
    assert not on_background_loop()

    async def elsewhere():
        return on_background_loop(), await on_background(here)

    assert asyncio.run(elsewhere()) == (False, (True, "ctxmetrics"))


def test_cancelling_whoever_waits_cancels_what_runs():
    started, cancelled = threading.Event(), threading.Event()

    async def long():
        try:
            started.set()
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    async def main():
        task = asyncio.create_task(on_background(long))
        await asyncio.to_thread(started.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled.wait(60)


AT_EXIT = """
import atexit
from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.errors import CtxMetricsError

def score():
    samples = [Sample(reference="It is red.", retrieved_contexts=["It is red."])]
    return evaluate(samples, [ContextRecall()], progress=False)[0]["context_recall"].value

def last():
    try:
        print("at exit", score())
    except CtxMetricsError as error:
        print("at exit", error)

atexit.register(last)
print("before", score())
"""


@pytest.mark.slow
def test_exit_handler_registered_before_the_first_call_runs():
    """It runs after the loop was closed; a Python that starts no thread at that time says so in the library's words."""
    run = subprocess.run(
        [sys.executable, "-c", AT_EXIT],
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    before, at_exit = run.stdout.splitlines()
    assert before == "before 1.0"
    assert at_exit == "at exit 1.0" or "Call it before the interpreter ends" in at_exit
    assert "never awaited" not in run.stderr
    assert "Event loop is closed" not in run.stderr
