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
from support.deadlines import LONGEST_PROCESS


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


def test_sync_call_waits_for_no_judgement_of_its_blocked_loop():
    model = Model()
    metric = ContextRecall(judge=LLMJudge(model))
    blocked, (score,) = in_a_notebook([metric.ascore(sample())], lambda: metric.score(sample()))
    assert (blocked.value, score.value) == (1.0, 1.0)
    assert ContextPrecision(judge=LLMJudge(model)).score(sample()).usage.reused == 1


def test_sync_call_waits_for_no_slot_of_its_blocked_loop():
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


@pytest.mark.slow
def test_exit_in_judge_model_or_progress_costs_its_own_sample():
    code = """
        import sys
        from ctxmetrics import ContextRecall, LexicalJudge, LLMJudge, NonLLMContextRecall, Sample, evaluate
        from ctxmetrics.errors import RequestError

        class Ending:
            name, identity, warnings = "ending", "ending", ()

            async def attribute(self, request):
                sys.exit(3)

            async def generate(self, prompt, schema):
                sys.exit(3)

            rate = attribute

        fields = {"reference": "In May.", "retrieved_contexts": ["In May."], "reference_contexts": ["In May."]}
        sample = Sample(user_input="When?", **fields)
        (verdict,) = ContextRecall(judge=Ending()).score(sample).verdicts
        print(verdict.code)
        try:
            ContextRecall(judge=LLMJudge(Ending())).score(sample)
        except RequestError as error:
            print("SystemExit: 3" in str(error))
        metrics = [
            ContextRecall(judge=Ending()),
            NonLLMContextRecall(similarity=lambda one, other: sys.exit(3)),
            ContextRecall(top_k=1),
        ]
        (row,) = evaluate([sample], metrics, progress=sys.exit)
        print(*(score.reason_code or score.value for score in row.values()))
        print(ContextRecall(judge=LexicalJudge()).score(sample).value)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "judge_error",
        "True",
        "not_judged metric_error 1.0",
        "1.0",
    ]
