"""What importing the adapter loads, and what it says where Ragas is missing or broken."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ctxmetrics.errors import install_command

if TYPE_CHECKING:
    from pathlib import Path


def _python(code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    lines = [f"import sys; sys.path[:0] = {[str(item) for item in path]!r}", code]
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_broken_import_of_ragas_with_a_newer_langchain_community(tmp_path: Path) -> None:
    """Ragas imports ``langchain_community.chat_models.vertexai``, which newer releases no longer have."""
    package = tmp_path / "langchain_community"
    (package / "chat_models").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "chat_models" / "__init__.py").write_text("")
    done = _python("import ctxmetrics_ragas", tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last == (
        "ctxmetrics.errors.MissingExtraError: The installed Ragas cannot be imported "
        "(No module named 'langchain_community.chat_models.vertexai'); 0.3.9 to 0.4.x is needed, "
        f"with langchain-community<0.4.2: {install_command('ragas')}"
    )
    assert "ModuleNotFoundError" not in done.stderr


def test_without_ragas_the_install_command_is_named() -> None:
    done = _python("sys.modules['ragas'] = None; import ctxmetrics_ragas")
    last = done.stderr.strip().splitlines()[-1]
    assert last == (
        "ctxmetrics.errors.MissingExtraError: ragas is not installed. "
        f"Install it with: {install_command('ragas')}"
    )
    assert "During handling" not in done.stderr


def test_an_older_ragas_is_named(tmp_path: Path) -> None:
    package = tmp_path / "ragas"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '0.1.21'")
    done = _python("import ctxmetrics_ragas", tmp_path)
    assert "0.3.9 to 0.4.x is needed" in done.stderr.strip().splitlines()[-1]


OTHERS = {
    "deepeval", "langchain", "langchain_classic", "langsmith", "ctxmetrics_deepeval", "ctxmetrics_langchain",
}  # fmt: skip
# One process for all: importing Ragas takes most of its time.
SCRIPT = """
import asyncio, json, os, sys
os.environ.pop("OPENAI_API_KEY", None)
import ragas.metrics.collections
from ragas import EvaluationDataset, SingleTurnSample, aevaluate, evaluate
modules, environment = set(sys.modules), dict(os.environ)
from ctxmetrics_ragas import ContextRecall
new = sorted({name.partition(".")[0] for name in set(sys.modules) - modules})
unchanged = dict(os.environ) == environment

fields = {"reference": "It is red.", "retrieved_contexts": ["It is red."]}
dataset = EvaluationDataset.from_list([fields])
metric = ContextRecall()
facts = {"evaluate": evaluate(dataset, metrics=[metric], show_progress=False)["context_recall"]}
facts |= {"new": new, "environment is unchanged": unchanged}

def scores():
    one = SingleTurnSample(**fields)
    return [metric.score(**fields).value, metric.batch_score([fields])[0].value, metric.single_turn_score(one)]

async def notebook():
    facts["in a loop"] = scores() + (await aevaluate(dataset, metrics=[metric], show_progress=False))["context_recall"]
    facts["patched by us"] = hasattr(asyncio, "_nest_patched")
    facts["patched run"] = evaluate(dataset, metrics=[metric], show_progress=False)["context_recall"]
    facts["patched by ragas"] = hasattr(asyncio, "_nest_patched")
    facts["after patching"] = [*scores(), (await metric.ascore(**fields)).value]

asyncio.run(notebook())
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts() -> dict[str, object]:
    done = _python(SCRIPT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_other_frameworks_stay_out_and_environment_unchanged(facts: dict[str, object]) -> None:
    assert "ctxmetrics_ragas" in facts["new"]
    assert not OTHERS & {*facts["new"]}
    assert facts["environment is unchanged"]


@pytest.mark.slow
def test_no_openai_key_is_demanded(facts: dict[str, object]) -> None:
    """Ragas builds ``OpenAI()`` for any ``MetricWithLLM`` without an LLM; ours are none."""
    assert facts["evaluate"] == [1.0]


@pytest.mark.slow
def test_nest_asyncio_is_not_needed(facts: dict[str, object]) -> None:
    """Ragas' own sync methods patch asyncio for the whole process inside a running loop; ours leave it alone."""
    assert facts["in a loop"] == [1.0] * 4
    assert facts["patched by us"] is False


@pytest.mark.slow
def test_works_after_nest_asyncio_has_patched_asyncio(facts: dict[str, object]) -> None:
    """A notebook where Ragas' ``evaluate()`` ran: loop, tasks and ``asyncio.run`` are patched ones from then on."""
    assert facts["patched run"] == [1.0]
    assert facts["patched by ragas"] is True
    assert facts["after patching"] == [1.0] * 4
