"""Every framework's entries inside a running event loop, with every kind of judge.

A framework that starts a loop itself may not be able to: uvloop refuses a loop in a loop, and since Python 3.14 asyncio knows
no current task in the tasks of nest_asyncio. There its own metric fails, and ours fails in the same way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from support import TESTS, FakeOpenAIServer, answer_from, missing
from support.deadlines import LONGEST_PROCESS
from support.in_a_loop import ENTRIES, EXPECTED, KINDS

pytestmark = pytest.mark.slow
FRAMEWORKS = tuple(dict.fromkeys(entry.partition(".")[0] for entry in ENTRIES))
NEEDED = {
    "core": [],
    "ragas": ["ragas", "langchain_openai"],
    "langsmith": ["langsmith", "langchain_openai"],
}
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


def need(framework, *packages):
    if absent := missing("openai", *packages, *NEEDED.get(framework, [framework])):
        pytest.skip(f"not installed: {absent}")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_inside_a_running_loop(framework, server, tmp_path):
    need(framework)
    loops = ["asyncio", *(name for name in ("uvloop", "nest_asyncio") if not missing(name))]
    command = [sys.executable, "-W", "ignore", "-m", "support.in_a_loop", framework, server.base_url]
    done = subprocess.run(
        [*command, *loops],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for loop, cells in zip(loops, lines, strict=True):
        check(json.loads(cells), framework, loop)


def check(cells, framework, loop):
    """Check the values of all entries of a framework."""
    for entry in ENTRIES:
        if entry.startswith(f"{framework}."):
            theirs = cells.get(f"{entry}, theirs")
            expected = EXPECTED
            if isinstance(theirs, str) and loop != "asyncio":
                expected = theirs
            ours = {kind: cells[f"{entry}, {kind}"] for kind in KINDS}
            assert ours == dict.fromkeys(KINDS, expected), (loop, entry)


@pytest.mark.parametrize("loop", ["asyncio", "nest_asyncio"])
@pytest.mark.parametrize("framework", ["core", "ragas", "deepeval", "langsmith"])
def test_in_a_notebook(framework, loop, server, tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    need(framework, "ipykernel", *(() if loop == "asyncio" else [loop]))
    cells = [
        f"""
        import json, os, sys
        sys.path.insert(0, {TESTS!r})
        os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", RAGAS_DO_NOT_TRACK="true")
        from support.in_a_loop import all_cells
        """,
        f"cells = await all_cells({framework!r}, {server.base_url!r})",
        "print(json.dumps(cells))",
    ]
    if loop == "nest_asyncio":
        cells.insert(0, "import nest_asyncio; nest_asyncio.apply()")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell).strip()) for cell in cells]
    )
    client = nbclient.NotebookClient(
        notebook,
        timeout=LONGEST_PROCESS,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    (output,) = [each for each in notebook.cells[-1].outputs if each.get("name") == "stdout"]
    check(json.loads(output["text"]), framework, loop)
