"""The example scripts, each in a process of its own: the core's numbers in every framework, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

import pytest
import sentencex

from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.metrics.catalog import METRICS
from support.deadlines import LONGEST_PROCESS
from support.later import WITHOUT_CLIENTS, skip_without

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SAMPLES = [json.loads(line) for line in (EXAMPLES / "handbook.jsonl").open(encoding="utf-8")]


def printed_by(script: str, folder: Path) -> str:
    """Run a script in an empty folder, without the variables that keep the frameworks quiet in our other tests."""
    here = folder / "here"
    here.mkdir()
    quieting = re.compile("TELEMETRY|TRACK|TRACING|DEEPEVAL_|COVERAGE|PYTEST")
    environment = {name: value for name, value in os.environ.items() if not quieting.search(name)}
    environment |= {
        "PYTHONPATH": os.pathsep.join(str(path) for path in (ROOT / "core", ROOT / "adapters")),
        "PYTHONIOENCODING": "utf-8",
        **WITHOUT_CLIENTS,
    }
    run = subprocess.run(
        [sys.executable, str(EXAMPLES / script)],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert list(here.iterdir()) == [], "something was written to the working directory"
    return run.stdout


def table(text: str) -> dict[str, tuple[str, str]]:
    """Read the lines ``name  mean  n of n``."""
    return {
        name: (mean, scored)
        for name, mean, scored in re.findall(r"(?m)^(\S+) +(\d\.\d{4}) .*?(\d+ of \d+)", text)
    }


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["ragas", "deepeval", "langchain"])
def test_a_framework_gives_the_numbers_of_the_core(framework: str, tmp_path: Path) -> None:
    if find_spec("langsmith" if framework == "langchain" else framework) is None:
        pytest.skip(f"the {framework} extra is not installed")
    text = printed_by(f"{framework}_example.py", tmp_path)
    metrics = [*(kind() for kind in METRICS.values()), ContextRecall(top_k=1)]
    core = evaluate(read_samples(EXAMPLES / "handbook.jsonl"), metrics, judge=LexicalJudge()).summary()
    assert table(text) == {name: (f"{item.mean:.4f}", "36 of 36") for name, item in core.items()}
    assert "hb-04: context_recall 0.3333" in text
    assert "1 of 3 sentences supported." in text
    assert "missing words: close, blue, unscrew" in text


@pytest.mark.slow
def test_document_retriever_and_experiment_give_numbers(tmp_path: Path) -> None:
    skip_without("langchain_core", "ragas")
    (tmp_path / "a").mkdir()
    found = table(printed_by("langchain_retriever.py", tmp_path / "a"))
    assert found.keys() == {"context_recall", "context_precision", "id_based_context_recall"}
    assert {scored for _, scored in found.values()} == {"32 of 32"}
    (tmp_path / "b").mkdir()
    core = evaluate(
        read_samples(EXAMPLES / "handbook.jsonl"),
        [METRICS["context_recall"](), METRICS["context_precision"]()],
    ).summary()
    means = {
        name.removeprefix("context_"): (f"{item.mean:.4f}", "36 of 36") for name, item in core.items()
    }
    assert table(printed_by("ragas_experiment.py", tmp_path / "b")) == means


@pytest.mark.slow
def test_what_a_compressor_of_langchain_lost(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_classic")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import langchain_stages

    langchain_stages.main()
    text = capsys.readouterr().out
    search = langchain_stages.Keywords(documents=langchain_stages.documents())
    compressor = langchain_stages.SharedSentences()
    for stage in ("search", "compress"):  # each scored by itself
        samples = []
        for question in langchain_stages.QUESTIONS:
            found = search.invoke(question["user_input"])
            if stage == "compress":
                found = compressor.compress_documents(found, question["user_input"])
            texts = [each.page_content for each in found]
            samples.append(Sample(reference=question["reference"], retrieved_contexts=texts))
        mean = evaluate(samples, [ContextRecall()], progress=False).summary()["context_recall"].mean
        assert re.search(rf"(?m)^{stage} +{mean:.3f} ", text)
    missed, units, never, dropped = map(
        int,
        re.search(
            r"of (\d+) missed of (\d+): (\d+) never found, (\d+) dropped by compress", text
        ).groups(),
    )
    assert (missed, units) == (never + dropped, 76)
    assert text.count("of search (rank") == 5


@pytest.mark.slow
def test_two_retrievers_are_compared_and_a_judge_is_checked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import judge_checked
    import two_retrievers

    two_retrievers.main()
    text = capsys.readouterr().out
    assert "32 samples in both runs" in text
    assert re.search(
        r"recall [+-]\d\.\d{3}, (better|worse|no difference shown|few changed)$", text.strip()
    )
    judge_checked.main()
    assert re.search(
        r"5\d answers; recall corrected by them: 0\.\d\d \(0\.\d\d to \d\.\d\d\)",
        capsys.readouterr().out,
    )


@pytest.mark.slow
def test_a_judge_of_ones_own(tmp_path: Path) -> None:
    text = printed_by("own_judge.py", tmp_path)
    found = table(text)["context_recall"]
    assert found == (f"{fmean(map(recall_by_hand, SAMPLES)):.4f}", "36 of 36")
    assert "! Entailment judge: never compared with people." in text


def recall_by_hand(sample: dict) -> float:
    """The share of sentences of which at least 70 % of the longer words stand in one chunk."""

    def wanted(text: str) -> set[str]:
        return set(re.findall(r"\w{4,}|\d+", text.casefold()))

    units = [
        unit
        for unit in sentencex.segment(sample["metadata"]["language"], sample["reference"])
        if unit.strip()
    ]
    chunks = [wanted(chunk) for chunk in sample["retrieved_contexts"]]
    return fmean(
        any(len(wanted(unit) & chunk) >= 0.7 * len(wanted(unit)) for chunk in chunks) for unit in units
    )


@pytest.mark.slow
def test_chunkings_have_the_figures_of_the_page(tmp_path: Path) -> None:
    lines = printed_by("two_chunkings.py", tmp_path).splitlines()
    page = (ROOT / "docs" / "reference-contexts.md").read_text(encoding="utf-8")
    assert "\n".join(lines[:4]) in page
    assert any("span_based_context_recall" in line for line in lines[4:])
