"""The README: short, its three drop-ins give a number in at most ten lines, and what it shows is what is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from ctxmetrics.metrics import METRIC_MODULES
from support.benchmarks import load_benchmark

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
DROP_INS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PARIS = "The Eiffel Tower stands in Paris, on the Champ de Mars."


def load(code: str, monkeypatch: pytest.MonkeyPatch, **names: object) -> ModuleType:
    """Run a block as a module of its own."""
    module = ModuleType("drop_in")
    monkeypatch.setitem(sys.modules, "drop_in", module)
    module.__dict__.update(names)
    exec(compile(code, "README.md", "exec"), module.__dict__)  # noqa: S102 - our own page
    return module


def drop_in(adapter: str) -> str:
    (found,) = [code for code in DROP_INS if adapter in code]
    return found


def test_it_has_at_most_750_words() -> None:
    assert len(TEXT.split()) <= 750


@pytest.mark.slow
def test_its_costs_are_those_of_the_benchmark() -> None:
    traffic = load_benchmark("traffic")
    unit, count = traffic.counter(None)
    if unit != "o200k_base":  # litellm brings the file; CI's environment for slow tests has it
        pytest.skip("the file of o200k_base is not here")
    contenders = traffic.OURS | traffic.THEIRS
    found = {name: traffic.measure(contenders[name], 10, 1, count) for name in traffic.IN_README}
    assert traffic.costs(found) in TEXT


def test_each_drop_in_has_at_most_ten_lines() -> None:
    assert len(DROP_INS) == 3
    for code in DROP_INS:
        assert len(code.strip().splitlines()) <= 10, code
        assert len([line for line in code.splitlines() if line.strip()]) + 1 <= 10, (
            "with the line that installs it"
        )


@pytest.mark.slow
def test_a_number_in_ones_own_ragas_evaluate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ragas")
    load(drop_in("ctxmetrics_ragas"), monkeypatch)
    assert "'context_recall': 0.5000" in capsys.readouterr().out  # one of two sentences


@pytest.mark.slow
def test_a_number_in_ones_own_deepeval_test(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deepeval")
    code = drop_in("ctxmetrics_deepeval")
    load(code, monkeypatch).test_retriever()
    missed = load(code.replace("The tower is in Paris, France.", "Berlin is rainy."), monkeypatch)
    with pytest.raises(AssertionError, match=r"context_recall \(score: 0.0, threshold: 0.8"):
        missed.test_retriever()


@pytest.mark.slow
def test_a_number_in_ones_own_langsmith_evaluate(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a data set of this machine in place of one by name, which would be fetched from LangSmith."""
    langsmith = pytest.importorskip("langsmith")
    import uuid

    from langsmith.schemas import Example

    real, rows = langsmith.evaluate, []
    offline = langsmith.Client(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)
    examples = [
        Example(
            id=uuid.uuid4(),
            inputs={"question": "Where is the Eiffel Tower?"},
            outputs={"answer": "The Eiffel Tower stands in Paris. It is 330 metres tall."},
        )
    ]

    def evaluate(target, *, data, evaluators):
        assert data == "my dataset"
        rows.extend(
            real(target, data=examples, evaluators=evaluators, client=offline, upload_results=False)
        )

    monkeypatch.setattr(langsmith, "evaluate", evaluate)
    load(
        drop_in("ctxmetrics_langchain"),
        monkeypatch,
        retriever=SimpleNamespace(invoke=lambda _: [PARIS]),
    )
    assert [row["evaluation_results"]["results"][0].score for row in rows] == [0.5]


@pytest.mark.slow
def test_what_it_shows_is_what_is_printed(tmp_path: Path) -> None:
    pictures = load_benchmark("pictures")
    assert pictures.shown_in_readme(pictures.printed("demo", cwd=tmp_path)) in TEXT


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report", "comparison"])
def test_pictures_are_of_the_pages_of_this_code(name: str) -> None:
    from PIL import Image

    pictures = load_benchmark("pictures")
    with Image.open(pictures.PICTURES / f"{name}.png") as picture:
        assert picture.text["page"] == pictures.hash_page(pictures.PAGES[name]())


@pytest.mark.slow
def test_how_many_questions_50_samples_are_is_what_a_draw_asks(tmp_path: Path) -> None:
    file = tmp_path / "handbook.jsonl"
    file.write_bytes((ROOT / "examples" / "handbook.jsonl").read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "ctxmetrics", "label", file, "--n", "36", "--terminal"],
        input="q\n",
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    (questions,) = re.findall(r"^\[1 of (\d+)\]", done.stdout, re.MULTILINE)
    (samples,) = re.findall(r"^=== sample 1 of (\d+)", done.stdout, re.MULTILINE)
    (said,) = re.findall(
        r"about (\d+) questions", (ROOT / "docs" / "labelling.md").read_text(encoding="utf-8")
    )
    assert int(said) == round(int(questions) / int(samples) * 50, -1)


def test_one_table_lists_every_metric_in_16_lines() -> None:
    section = TEXT.partition("## Metrics\n")[2].partition("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    assert len(table) <= 16
    assert re.findall(r"`(\w+)`", "\n".join(table)) == [*METRIC_MODULES]


def test_pictures_are_few_small_shown_and_of_one_script() -> None:
    pictures = load_benchmark("pictures")
    files = sorted(pictures.PICTURES.iterdir())
    assert len(files) <= 10
    assert all(file.stat().st_size < pictures.LARGEST <= 80_000 for file in files)
    assert {file.stem for file in files} == {*pictures.WRITERS} - {"text"}
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    for file in files:
        assert re.search(rf"!\[[^]]{{20,}}\]\(pictures/{re.escape(file.name)}\)", pages), file.name
