"""A run whose process is killed at one request after the other to the provider, with every fault at its share.

One form of batches: `test_kills` ends runs of each form at every step, in this process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ctxmetrics import Results
from support import FakeOpenAIServer, answer_from
from support.batch_runs import OPENAI, make_samples, run, values_of
from support.deadlines import LONGEST_PROCESS

PENDING = 4
SAMPLES = 60


class Killer:
    """Kills a process at its n-th request to the provider, before the answer leaves it or after."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.left = 0

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            assert self.process is not None
            self.process.kill()
            self.process.wait()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_run_survives_kills_of_its_process(tmp_path: Path) -> None:
    killer = Killer()
    provider = OPENAI.fake(share=0.1, on_request=killer)
    samples = make_samples(SAMPLES)
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(sample.to_dict()) + "\n" for sample in samples))
    out = tmp_path / "run.jsonl"
    with FakeOpenAIServer(answer_from(), batches=provider) as server:
        ordinary = values_of(run(server, samples))
        online = server.count
        command = [
            sys.executable, "-m", "ctxmetrics", "score", str(file), "--judge", "openai/fake-judge",
            "--base-url", server.base_url, "-m", "context_recall", "-m", "context_precision", "--out", str(out),
            "--batch", "submit",
        ]  # fmt: skip
        environment = {**os.environ, "OPENAI_API_KEY": "sk-test-0123456789"}
        statuses: Counter[int] = Counter()
        for start in range(60):
            killer.left = 1 + start % 8
            killer.process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            _, errors = killer.process.communicate(timeout=LONGEST_PROCESS)
            status = killer.process.returncode
            statuses[status] += 1
            assert status in (0, PENDING, -signal.SIGKILL), errors.decode()
            if status == 0:
                break
        alone = server.count - online
    assert statuses[0] == 1
    assert statuses[-signal.SIGKILL] >= 3
    assert values_of(Results.from_jsonl(out)) == ordinary
    assert set(provider.hit) == {*OPENAI.item_faults}
    assert alone == 1
    # Each answer is paid once.
    assert set(provider.answered.values()) <= {0, 1}
    assert not [name for name, _ in provider.files.values() if name.startswith("ctxmetrics")]
