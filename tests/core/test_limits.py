"""Limits of the structure: what one metric loads, the gates to the evaluation, and how deep one sample goes.

They are goals, set before the work. A commit that breaks one does not raise it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ctxmetrics
from support.trees import parse

CORE = Path(ctxmetrics.__file__).parent
# Modules of ours that one metric may load in `ragas.evaluate`, those of the metrics before it included.
MOST_MODULES = {"IDBasedContextRecall": 60, "ContextRecall": 100}
# Functions of the core that stand on each other while one sample is judged, from the metric's `ascore` on.
DEEPEST = 17
# The functions that lead from the number to the evaluation: `Sample.from_dict`, and what adapting says of a whole run.
GATES = {("samples/sample.py", "from_dict")}
GATES_BY_NAME = {"__init__.py", "adapting/__init__.py"}
# Its former names stand for modules of the evaluation; it imports none.
FORMER_NAMES = {"_internal/moved_modules.py"}

LOADED = """
import sys
from ragas import EvaluationDataset, evaluate
import ctxmetrics_ragas

row = {
    "user_input": "Where is it?", "reference": "It is in Paris.", "retrieved_contexts": ["It is in Paris."],
    "retrieved_context_ids": ["a"], "reference_context_ids": ["a"],
}
for name in sys.argv[1:]:
    metric = getattr(ctxmetrics_ragas, name)()
    evaluate(EvaluationDataset.from_list([row]), metrics=[metric], show_progress=False)
    print("modules:", *(name for name in sys.modules if name.partition(".")[0] == "ctxmetrics"))
"""

# In a process of its own: a thread is looked at from its start.
DEPTH = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import ctxmetrics
from ctxmetrics import ContextRecall, Sample, ScriptedJudge
from support import answer_from

core = ctxmetrics.__file__.removesuffix("__init__.py")
deepest = []

def look(frame, event, arg):
    stack = []
    while event == "call" and frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(core) and "<" not in code.co_name:
            stack.append(code.co_qualname)
        frame = frame.f_back
    if len(stack) > len(deepest):
        deepest[:] = stack

threading.setprofile(look)
sys.setprofile(look)
metric = ContextRecall(judge=ScriptedJudge(answer_from(), name="x"))
sample = Sample(reference="It is in Paris.", retrieved_contexts=["It is in Paris."])
metric.score(sample)  # the words of a text are read once in a process
ctxmetrics.forget()
deepest.clear()
score = metric.score(sample)
sys.setprofile(None)
assert score.value == 1.0
print(*deepest)
"""


@pytest.mark.slow
def test_a_metric_in_ragas_loads_the_number_alone() -> None:
    pytest.importorskip("ragas")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOADED, *MOST_MODULES],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split()[1:] for line in run.stdout.splitlines() if line.startswith("modules: ")]
    for loaded, most in zip(lines, MOST_MODULES.values(), strict=True):
        assert "ctxmetrics.metrics.base" in loaded
        assert [name for name in loaded if name.startswith("ctxmetrics.evaluation")] == []
        assert len(loaded) <= most


def number_files() -> list[Path]:
    """The files of the core that are no part of the evaluation, its command, or the kit for tests."""
    return [
        path
        for path in sorted(CORE.rglob("*.py"))
        if path.relative_to(CORE).parts[0] not in {"evaluation", "testing", "__main__.py"}
    ]


@pytest.mark.slow
def test_two_gates_lead_from_the_number_to_the_evaluation() -> None:
    gates = set()
    naming = set()
    for path in number_files():
        file = path.relative_to(CORE).as_posix()
        tree = parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "ctxmetrics.evaluation"
            ):
                owners = [function.name for function in functions if node in ast.walk(function)]
                gates.add((file, owners[-1] if owners else ""))
            if isinstance(node, ast.Constant) and str(node.value).startswith("ctxmetrics.evaluation"):
                naming.add(file)
    assert gates == GATES
    assert naming == GATES_BY_NAME | FORMER_NAMES


@pytest.mark.slow
def test_one_judged_sample_goes_no_deeper() -> None:
    path = f"{Path(__file__).parents[1]}"
    run = subprocess.run(
        [sys.executable, "-c", DEPTH, path], capture_output=True, text=True, check=True
    )
    stack = run.stdout.split()
    depth = stack.index("JudgedMetric.ascore") + 1
    assert 10 < depth <= DEEPEST, stack
