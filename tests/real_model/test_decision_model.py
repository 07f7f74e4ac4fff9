"""Real weights answer as a decision model: callo in front of llama.cpp's server. A verdict for each id, whatever it says."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    DecisionAPI,
    DecisionJudge,
    check_model,
    evaluate,
    forget,
)
from support import missing
from support.llama import PACKAGES, LlamaServer, find_weights
from support.short_samples import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

START_SECONDS = 120
ASKED = SAMPLES[:2]
"""Two sentences in one, two contexts in the other: several ids of each kind of question."""


@pytest.fixture(scope="module")
def model() -> Iterator[DecisionAPI]:
    if absent := missing(*PACKAGES, "callo"):
        pytest.skip(f"needs {absent}")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with LlamaServer(find_weights()) as server:
        upstream = server.base_url.removesuffix("/v1")
        command = [sys.executable, "-m", "callo", "serve", "--upstream", upstream, "--port", str(port)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until_loaded(url)
            yield DecisionAPI("smollm2", wire="systemone", base_url=url, timeout=300)
        finally:
            process.terminate()
            process.wait()


def wait_until_loaded(url: str) -> None:
    """Wait until the server lists its models: before, it answers 503."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/v1/models", timeout=5):  # noqa: S310 - our own address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise TimeoutError(f"callo did not start in {START_SECONDS} s")


@pytest.mark.parametrize("layout", ["context", "sample"])
def test_every_id_has_a_verdict(model: DecisionAPI, layout) -> None:
    forget()
    judge = DecisionJudge(model, layout=layout)
    metrics = [ContextRecall(), ContextPrecision()]
    results = evaluate(ASKED, metrics, judge=judge, progress=False, max_concurrency=1)
    scores = [row[metric.name] for row in results for metric in metrics]
    assert [score.reason_code for score in scores] == [None] * 2 * len(ASKED)
    for score in scores:
        assert score.provenance.served_model
        for verdict in score.verdicts:
            assert verdict.value is not None
            assert 0 <= verdict.details["probability"] <= 1
    assert results.usage.prompt_tokens > 0


def test_doctor_reaches_the_model(model: DecisionAPI) -> None:
    check = check_model(DecisionJudge(model, max_questions=8), timeout=300)
    assert check.findings[0].name == "answer"
    assert check.findings[0].cause is None
