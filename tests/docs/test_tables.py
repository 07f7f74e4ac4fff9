"""Figures and tables of the docs are those that the code gives."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.main import get_command

from ctxmetrics import LexicalJudge, LLMJudge, OpenAIModel, check_judge, evaluate
from ctxmetrics.evaluation.agreement.agree import agree
from ctxmetrics.evaluation.cli import app
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.runs.options import DEFAULTS, RunOptions
from ctxmetrics.judges.evidence import denials
from ctxmetrics.judges.lexical.judge import VERSION
from ctxmetrics.judges.lexical.support import find_remembered_contradiction
from ctxmetrics.metrics.catalog import METRICS
from ctxmetrics.samples.field_keys import OPTIONS
from ctxmetrics.scores.score import ReasonCode
from ctxmetrics.verdicts import VerdictCode
from support.benchmarks import load_benchmark

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


EMBEDDED, CHECKING = page("embedded-judge"), page("trust")
MORE = (ROOT / "benchmarks" / "embedded-judge.md").read_text(encoding="utf-8")
PAGES = (ROOT / "benchmarks" / "published-pages.md").read_text(encoding="utf-8")


def between(text: str, marker: str) -> str:
    found = re.search(rf"<!-- {marker}:begin -->\n(.*?)\n<!-- {marker}:end -->", text, re.DOTALL)
    assert found, marker
    return found[1]


def cells(table: str) -> list[list[str]]:
    """Read the rows below the header."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_agreement_that_is_shown_is_the_one_that_is_printed() -> None:
    shown = re.search(r"^```text\n(lexical against people.*?)^```$", CHECKING, re.MULTILINE | re.DOTALL)
    printed = str(agree(read_samples(ROOT / "examples" / "handbook.jsonl"), progress=False))
    bootstrap = r"\([+-]?\d\.\d{3} to [+-]?\d\.\d{3}\)"  # another numpy may draw other samples
    assert shown is not None
    assert re.sub(bootstrap, "", shown[1]).split() == re.sub(bootstrap, "", printed).split()


@pytest.mark.slow
def test_lines_of_the_embedded_check_are_printed() -> None:
    shown = re.search(r"^```text\n(lexical on .*?)\n```$", CHECKING, re.MULTILINE | re.DOTALL)
    printed = str(check_judge(LexicalJudge(), progress=False))
    measured = r"\d\.\d{3} to \d\.\d{3}"  # another numpy may draw other samples
    assert shown is not None
    lines = [re.sub(measured, "", line).split() for line in printed.splitlines()]
    for line in shown[1].splitlines():
        assert re.sub(measured, "", line).split() in lines, line


def test_table_of_page_examples_is_the_scripts() -> None:
    pages = load_benchmark("pages")
    assert between(PAGES, "pages") == pages.table(pages.measure())


def test_ours_from_the_pages_verdicts_is_what_the_page_documents() -> None:
    for example, documented, ours, _ in cells(between(PAGES, "pages")):
        value, digits = (
            documented.split(";")[0].split(" ")[0],
            documented.split(";")[0].split(" ")[0].partition(".")[2],
        )
        assert f"{float(ours):.{len(digits)}f}" == value, example


def skip_without_public_data(agreement: Any) -> None:
    missing = [
        name for name in (agreement.CLAPNQ, agreement.BEGIN) if not (agreement.DATA / name).is_file()
    ]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} here; benchmarks/README.md says how to get them")


def test_embedded_judge_figures_belong_to_its_verdicts() -> None:
    """Where this fails, a verdict has moved: `python benchmarks/run.py embedded --write-docs` writes the figures again."""
    mark = load_benchmark("verdicts").fingerprint()
    assert f"`{mark}`" in between(EMBEDDED, "verdicts")
    assert f"lexical-{mark}" == VERSION
    assert all(between(EMBEDDED, name) for name in ("families", "ordering"))
    assert all(between(MORE, name) for name in ("passages", "flags", "usefulness"))


def test_fingerprint_moves_with_verdicts_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdicts = load_benchmark("verdicts")
    before = verdicts.fingerprint()
    assert verdicts.fingerprint() == before
    monkeypatch.setattr(verdicts, "LexicalJudge", lambda: LexicalJudge(min_coverage=0.9))
    assert verdicts.fingerprint() != before


def test_fingerprint_moves_with_words_denied_and_said_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdicts = load_benchmark("verdicts")
    before = verdicts.fingerprint()
    monkeypatch.setattr(denials, "_occurs_undenied", lambda *_: False)
    find_remembered_contradiction.cache_clear()
    moved = verdicts.fingerprint()
    find_remembered_contradiction.cache_clear()
    assert moved != before


@pytest.mark.slow
def test_the_attack_figures_are_those_the_benchmark_measures() -> None:
    attacks, agreement = load_benchmark("attacks"), load_benchmark("agreement")
    skip_without_public_data(agreement)
    assert between(MORE, "attacks") == attacks.table(attacks.measure(agreement.DATA))


@pytest.mark.parametrize("codes", [ReasonCode, VerdictCode], ids=["reason codes", "verdict codes"])
def test_every_code_is_explained(codes: Any) -> None:
    section = page("faults").split("## Reason codes")[1].split("\n## ")[0]
    explained = {
        code
        for line in section.splitlines()
        if line.startswith("| `")
        for code in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert set(get_args(codes)) <= explained
    assert explained <= {*get_args(ReasonCode), *get_args(VerdictCode)}


def test_the_summary_shown_is_that_of_the_example_data() -> None:
    shown = page("running")
    samples = list(read_samples(ROOT / "examples" / "handbook.jsonl"))
    assert str(evaluate(samples, [kind() for kind in METRICS.values()]).summary()) in shown


def test_every_option_and_command_is_explained() -> None:
    text = page("cli")
    command = get_command(app)
    assert {f"ctxmetrics {name}" for name in command.commands} <= set(
        re.findall(r"ctxmetrics [\w-]+", text)
    )
    options = {
        name
        for option in command.commands["score"].params
        for name in option.opts
        if name.startswith("--")
    }
    assert len(options) > 10
    assert {option for option in options if f"`{option}`" not in text} == set()


def test_every_argument_of_evaluate_is_explained() -> None:
    table = page("running").split("\n## Results")[0]
    assert "`samples`" in table
    assert "`metrics`" in table
    assert DEFAULTS.keys() == RunOptions.__annotations__.keys()
    for name, default in {"judge": None, **DEFAULTS}.items():
        given = f"`{name}={default!r}`".replace("'", '"')
        assert given in table, given


@pytest.mark.parametrize("kind", [LLMJudge, OpenAIModel])
def test_every_parameter_of_llm_judge_and_model_is_explained(kind: Any) -> None:
    for name in set(inspect.signature(kind).parameters) - {"warnings"}:
        assert re.search(
            rf"^\| .*`{name}\b", page("llm-judges"), re.MULTILINE
        ) or f"`{kind.__name__}({name})`" in page("llm-judges"), name


MIGRATING = page("migrating")


def test_the_table_of_langchains_keys_is_the_one_in_the_code() -> None:
    documents = pytest.importorskip(
        "ctxmetrics_langchain.documents", reason="the langchain extra is not installed"
    )
    expected = [
        [
            f"`{field}`",
            f"`{place.side}`",
            ", ".join(f"`{key}`" for key in dict.fromkeys((field, *place.keys))),
            f"`{OPTIONS[field]}=`",
        ]
        for field, place in documents.SCHEMA.places.items()
    ]
    assert cells(between(MIGRATING, "places")) == expected


def test_every_name_of_ragas_has_the_class_that_the_table_says() -> None:
    ragas = pytest.importorskip("ctxmetrics_ragas", reason="the ragas extra is not installed")
    from ragas.metrics.base import MetricWithLLM

    section = MIGRATING.split("## From Ragas")[1].split("\n\n")[2]
    rows = cells(section)
    assert len(rows) == 9
    for theirs, here, keys in rows:
        found = [getattr(ragas, name) for name in re.findall(r"`(\w+)`", theirs or here)]
        metrics = [item() if isinstance(item, type) else item for item in found]
        assert [metric.name for metric in metrics] == re.findall(r"`(\w+)`", keys)
        asks = "LLM of `evaluate(llm=...)`" in here
        assert {isinstance(metric, MetricWithLLM) for metric in metrics} == {asks}
