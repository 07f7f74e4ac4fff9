"""Ctrl-C in a real process, also where `asyncio.run` is around a sync call."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from support.deadlines import LONGEST_PROCESS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")

JUDGE = """
    import asyncio
    from ctxmetrics import ContextRecall, Sample, evaluate

    class Silent:
        name, warnings = "silent", ()

        async def attribute(self, request):
            if "waits" in request.user_input:
                print("asked", flush=True)
                await asyncio.Event().wait()
            raise ValueError("no verdict")

        rate = attribute

    def sample(question):
        return Sample(user_input=question, reference="It was built.", retrieved_contexts=["Built."])

    metric = ContextRecall(judge=Silent())
"""
SYNC_SCORE = """
    async def main():
        metric.score(sample("It waits"))

    asyncio.run(main())
"""
# The thread that called is held up after its work was started and before it waits for it, as on a busy machine.
HELD_UP = """
    import time
    submit = asyncio.run_coroutine_threadsafe

    def held_up(coroutine, loop):
        future = submit(coroutine, loop)
        time.sleep(1)
        return future

    asyncio.run_coroutine_threadsafe = held_up
"""
PLAIN_SCORE = """
    metric.score(sample("It waits"))
"""
EVALUATE_LIST = """
    async def main():
        results = evaluate([sample("At once"), sample("It waits")], [metric], progress=False)
        print([row["context_recall"].reason_code for row in results], results.stopped, flush=True)
        await asyncio.sleep(0)
        print("not reached")

    asyncio.run(main())
"""
EVALUATE_STREAM = EVALUATE_LIST.replace(
    '[sample("At once"), sample("It waits")]', 'map(sample, ("At once", "It waits"))'
)


def interrupt(source: str, number: int) -> tuple[str, str]:
    """Run a program, send it a signal when its judge is asked, and return what it prints."""
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "asked\n"
            process.send_signal(number)
            return process.communicate(timeout=LONGEST_PROCESS)
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param(SYNC_SCORE, "", id="score inside asyncio.run"),
        pytest.param(
            HELD_UP + SYNC_SCORE,
            "",
            id="score inside asyncio.run, at its start",
            marks=pytest.mark.slow,
        ),
        pytest.param(PLAIN_SCORE, "", id="score"),
        pytest.param(
            EVALUATE_LIST, "['not_judged', 'cancelled'] interrupted\n", id="evaluate inside asyncio.run"
        ),
        pytest.param(
            HELD_UP + EVALUATE_LIST,
            "['not_judged', 'cancelled'] interrupted\n",
            id="evaluate inside asyncio.run, at its start",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            EVALUATE_STREAM,
            "['not_judged', 'cancelled'] interrupted\n",
            id="a stream inside asyncio.run",
        ),
    ],
)
def test_the_first_ctrl_c_is_not_swallowed(code: str, printed: str) -> None:
    out, err = interrupt(textwrap.dedent(JUDGE) + textwrap.dedent(code), signal.SIGINT)
    assert out == printed
    assert err.rstrip().endswith("KeyboardInterrupt")


SIGTERM_AS_CTRL_C = """
    import signal
    signal.signal(signal.SIGTERM, signal.default_int_handler)
"""


@pytest.mark.slow
def test_a_program_of_ones_own_may_end_at_sigterm_as_at_ctrl_c():
    source = textwrap.dedent(JUDGE + SIGTERM_AS_CTRL_C + EVALUATE_LIST)
    out, _ = interrupt(source, signal.SIGTERM)
    assert out.startswith("['not_judged', 'cancelled'] interrupted\n")


RAISES = """
    import faulthandler
    from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate

    faulthandler.dump_traceback_later(60, exit=True)

    class Interrupting(LexicalJudge):
        async def attribute(self, request):
            raise KeyboardInterrupt

    samples = [Sample(reference="It was built.", retrieved_contexts=["It was built."])] * 3

    def values(judge):
        rows = evaluate(samples, [ContextRecall(judge=judge)], progress=False)
        return [row["context_recall"].value for row in rows]

    for call in (
        lambda: values(Interrupting()),
        lambda: ContextRecall(judge=Interrupting()).score(samples[0]),
    ):
        try:
            call()
        except KeyboardInterrupt:
            print("raised", values(LexicalJudge()))
"""

PROGRESS_RAISES = """
    import asyncio
    import faulthandler
    from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate

    faulthandler.dump_traceback_later(60, exit=True)

    class Slow(LexicalJudge):
        async def attribute(self, request):
            await asyncio.sleep(0.05)
            return await super().attribute(request)

    def progress(_):
        raise KeyboardInterrupt

    samples = [Sample(reference="It was built.", retrieved_contexts=["It was built."])] * 3
    results = evaluate(samples, [ContextRecall(judge=Slow())], progress=progress, max_concurrency=1)
    print([row["context_recall"].value for row in results])
"""


@pytest.mark.slow
def test_interrupt_by_progress_ends_the_progress_alone():
    code = textwrap.dedent(PROGRESS_RAISES)
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert ran.stdout.splitlines() == ["[1.0, 1.0, 1.0]"], ran.stderr
    assert "The progress is not shown any more: KeyboardInterrupt" in ran.stderr


CTRL_C_IN_PROGRESS = """
    import asyncio
    import faulthandler
    import os
    import signal
    from ctxmetrics import ContextRecall, Sample, aevaluate

    faulthandler.dump_traceback_later(60, exit=True)

    def progress(_):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):  # where Python raises the interrupt
            pass

    samples = [Sample(reference="It was built.", retrieved_contexts=["It was built."])] * 3
    try:
        asyncio.new_event_loop().run_until_complete(aevaluate(samples, [ContextRecall()], progress=progress))
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.slow
def test_ctrl_c_that_arrives_in_a_progress_function_is_not_lost():
    code = textwrap.dedent(CTRL_C_IN_PROGRESS)
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert ran.stdout.splitlines() == ["interrupted"], ran.stderr


@pytest.mark.slow
def test_interrupt_by_a_judge_reaches_caller_and_next_call_works():
    code = textwrap.dedent(RAISES)
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert ran.stdout.splitlines() == ["raised [1.0, 1.0, 1.0]"] * 2, ran.stderr
