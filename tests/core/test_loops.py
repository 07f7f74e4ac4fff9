"""Calls from several event loops and threads: none waits for a loop that is blocked."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample
from ctxmetrics.models.base import Reply
from support import answer_from


class Model:
    """Answers after a while."""

    identity = "test/slow"

    def __init__(self):
        self.calls = 0

    async def generate(self, prompt, schema):
        self.calls += 1
        await asyncio.sleep(0.05)
        return Reply(content=answer_from()(prompt))


def sample(number=0):
    return Sample(
        reference=f"Door {number} is green.", retrieved_contexts=[f"Door {number} is green.", "A gate."]
    )


def in_a_notebook(begin, block):
    """Begin tasks in a loop, then block the loop by `block`, as a cell of a notebook does; return both outcomes."""

    async def main():
        tasks = [asyncio.create_task(task) for task in begin]
        await asyncio.sleep(0.01)  # they have begun to ask
        blocked = block()
        return blocked, await asyncio.gather(*tasks)

    return asyncio.run(asyncio.wait_for(main(), 60))


def test_a_sync_call_waits_for_no_judgement_in_flight_in_the_loop_that_it_blocks():
    model = Model()
    metric = ContextRecall(judge=LLMJudge(model))
    blocked, (score,) = in_a_notebook([metric.ascore(sample())], lambda: metric.score(sample()))
    assert (blocked.value, score.value) == (1.0, 1.0)
    assert ContextPrecision(judge=LLMJudge(model)).score(sample()).usage.reused == 1


def test_a_sync_call_waits_for_no_slot_of_the_loop_that_it_blocks():
    metric = ContextRecall(judge=LLMJudge(Model()))
    begin = [metric.ascore(sample(number)) for number in range(1, 40)]  # more than may be in flight
    blocked, scores = in_a_notebook(begin, lambda: metric.score(sample()))
    assert blocked.value == 1.0
    assert [score.value for score in scores] == [1.0] * 39


@pytest.mark.parametrize("ask", ["sync", "own loop"])
def test_a_thread_that_a_blocked_loop_waits_for_gets_its_slot(ask):
    metric = ContextRecall(judge=LLMJudge(Model()))

    def thread():
        found.append(metric.score(sample()) if ask == "sync" else asyncio.run(metric.ascore(sample())))

    def block():
        worker = threading.Thread(target=thread)
        worker.start()
        worker.join()

    found = []
    begin = [metric.ascore(sample(number)) for number in range(40)]
    _, scores = in_a_notebook(begin, block)
    assert [score.value for score in (*found, *scores)] == [1.0] * 41


def test_what_ends_a_program_reaches_the_caller_and_the_loop_goes_on():
    code = """
        from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate

        class Ending:
            name, warnings = "ending", ()

            def __init__(self, error):
                self.error = error

            async def attribute(self, request):
                raise self.error

            rate = attribute

        sample = Sample(user_input="When?", reference="In May.", retrieved_contexts=["In May."])
        for error in (SystemExit(3), KeyboardInterrupt()):
            for call in (evaluate, lambda samples, metrics, **_: metrics[0].score(samples[0])):
                try:
                    call([sample] * 3, [ContextRecall(judge=Ending(error))], progress=False)
                except BaseException as caught:
                    print(type(caught).__name__)
        print(ContextRecall(judge=LexicalJudge()).score(sample).value)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["SystemExit"] * 2 + ["KeyboardInterrupt"] * 2 + ["1.0"]
