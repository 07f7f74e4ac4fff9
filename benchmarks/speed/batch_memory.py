"""Measure the memory that batches need, by the number of their requests: ``batch_memory [REQUESTS ..]``, both forms.

The provider runs in a process of its own and streams. No sample is scored: what is measured is the model that notes requests and answers
from replies, the submission and the collection. Figures are the peaks of each step in MB, above what the process had before.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

SUPPORT = Path(__file__).resolve().parents[2] / "tests" / "support"
REQUESTS = (10_000, 100_000)
# Characters of a prompt.
SYSTEM = "You judge whether a passage states a sentence. " * 40
PASSAGE = "The house was built by a mason and has floors of oak. " * 30


def run(argv: list[str]) -> dict[str, Any]:
    """Measure each number of requests in a process of its own."""
    figures: dict[str, Any] = {}
    for form in ("openai", "anthropic"):
        for requests in map(int, argv or REQUESTS):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, str(SUPPORT / "batch_provider_process.py"), folder]
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as provider:
                    assert provider.stdout is not None
                    port = provider.stdout.readline().strip()
                    command = [sys.executable, __file__, form, port, str(requests)]
                    output = subprocess.run(
                        command, stdout=subprocess.PIPE, check=True, text=True
                    ).stdout
                    provider.terminate()
            figures[f"{form} {requests}"] = json.loads(output)
            print(form, requests, output.strip(), flush=True)
    return figures


def read_peak() -> float:
    """Read the peak of this process's memory in MB since the last call, and begin anew."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(line.split()[1]) / 1024


async def measure(form: str, port: str, requests: int) -> dict[str, float]:
    """Note, submit, collect and replay requests."""
    from pydantic import BaseModel

    from ctxmetrics import Batch, ContextRecall, LLMJudge, OpenAIModel
    from ctxmetrics.errors import JudgeError
    from ctxmetrics.evaluation.batching import rounds
    from ctxmetrics.models.base import Prompt
    from ctxmetrics.models.runtime.run import Run

    class Schema(BaseModel):
        code: str

    async def sleep(seconds: float) -> bool:
        await asyncio.sleep(seconds)
        return True

    async def ask() -> Any:
        raise AssertionError("nothing is sent by itself")

    async def recall_all() -> int:
        answered = 0
        for number in range(requests):
            prompt = Prompt(step="joint", version="1", system=SYSTEM, user=f"{number} {PASSAGE}")
            with suppress(JudgeError):  # the reply is not there yet
                await batches._asking.recall(prompt, Schema, ask)
                answered += 1
        return answered

    model = OpenAIModel(
        "fake-judge", base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-test-0123456789"
    )
    peaks = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(rounds, "get_batch_terms", lambda _: (form, 0.5)),
    ):
        batch = Batch(poll=0.01, folder=f"{folder}/run.batch")
        batches = rounds.BatchRounds(batch, [ContextRecall(judge=LLMJudge(model))], None)
        await batches.open(sleep)
        with batches.journal.writing():
            server = {"refused": [], "smallest_refused": {}, "bounded": True}
            batches.journal.set_fact("server", server)
        await batches.begin(Run())
        before = read_peak()
        assert await recall_all() == 0
        peaks["note"] = read_peak() - before
        await batches.submit(run_is_whole=True)
        assert batches.problem is None, batches.problem
        assert sum(intent.requests for intent in batches.report.unfinished) == requests
        peaks["submit"] = read_peak() - before
        await batches.wait(sleep)
        assert batches.problem is None, batches.problem
        assert batches.journal.get_paid("batched").calls == requests
        peaks["collect"] = read_peak() - before
        await batches.begin(Run())
        assert await recall_all() == requests
        peaks["replay"] = read_peak() - before
        batches.journal.close()
    return {name: round(peak, 1) for name, peak in peaks.items()} | {
        "before": round(before, 1),
        "cpu_seconds": round(time.process_time(), 1),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
