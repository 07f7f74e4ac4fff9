"""Every framework's entries inside a running event loop, with every kind of judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from ctxmetrics import LLMJudge  # noqa: F401 - the package is installed
from support import TESTS, FakeOpenAIServer, answer_from, missing
from support.in_a_loop import ENTRIES, EXPECTED, KINDS

pytestmark = pytest.mark.slow
LOOPS = ("asyncio", "uvloop", "nest_asyncio")
EVERY_KIND = dict.fromkeys(KINDS, EXPECTED)
NEEDED = {"ragas": ["ragas", "langchain_openai"], "langsmith": ["langsmith", "langchain_openai"]}
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, (TESTS, os.environ.get("PYTHONPATH")))),
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "RAGAS_DO_NOT_TRACK": "true",
    "LANGSMITH_TRACING": "false",
}


@pytest.fixture
def server():
    with FakeOpenAIServer(answer_from()) as server:
        yield server


def need(entry, *packages):
    framework = entry.partition(".")[0]
    needed = ["openai", *packages, *NEEDED.get(framework, [framework])]
    if absent := missing(*(name for name in needed if name != "core")):
        pytest.skip(f"not installed: {absent}")


def run(entry, loop, server):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "support.in_a_loop", entry, loop, server.base_url],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_inside_a_running_loop(entry, loop, server):
    need(entry, *(() if loop == "asyncio" else [loop]))
    assert run(entry, loop, server) == EVERY_KIND
