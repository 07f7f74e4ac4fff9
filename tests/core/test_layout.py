"""The layout: imports point down, and no circle of them is hidden by a late import or under TYPE_CHECKING."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from support.cases import each_case
from support.trees import parse

ROOT = Path(__file__).parents[2]

# What Python, a framework or a library calls or reads, and keys of results that users read.
CALLED_BY_OTHERS = [
    *("__getattr__", "__dir__", "text_factory", "model_config"),
    *("assessment_questions", "update_run", "_check_evaluation_args", "input_", "_evaluate_strings"),
    *("get_evaluator_version", "output_type", "__signature__"),
    *("_multi_turn_ascore", "_only_required_columns_multi_turn"),  # ragas calls them
    *("list_commands", "format_commands"),  # click and typer call them
    *("so_far", "content_hash"),  # keys of a line of results, which is read as a mapping
    *("daemon_threads", "server_version", "sys_version", "protocol_version"),  # http.server
    *("do_POST", "close_connection", "log_message", "allow_extra_args"),  # http.server, click
    *(
        "statement_breakdown",
        "statement_text",
        "is_supported",
        "recall_score",
        "total_gt_statements",
        "supported_gt_statements",
    ),
    *("library", "cache_info", "*_key", "ctxmetrics_card"),
    *("zero", "addInPlace"),  # an accumulator of Spark calls them
    *("find_spec", "create_module", "exec_module"),  # Python's import calls them
    *("interval_shares", "list_addresses"),  # read by a page
    *("__pydantic_config__", "stage_sizes"),  # read by pydantic, and by its name
    *("default_map", "readable", "format_options", "format_help"),  # typer and io read them
    "splitters",  # the history reads it by its name
    # Names for type checkers, of scorers that the adapter's `__getattr__` returns.
    *("context_utilization", "non_llm_context_recall"),
    *("non_llm_context_precision", "id_based_context_precision"),
    *(
        "on_error",
        "keep_texts",
        "one_context",
        "requests_per_minute",
        "tokens_per_minute",
    ),  # options of a run, read by their names
    *(
        "load_model",
        "get_model_name",
        "a_generate",
        "agenerate_text",
        "is_finished",
        "distance_measure",
        "to_messages",
    ),  # LLMs of frameworks
]


def modules() -> dict[str, Path]:
    """Every module of the core and the adapters by its dotted name."""
    found = {}
    for folder in (ROOT / "core", ROOT / "adapters"):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a file imports anywhere: at its top, in a function, under TYPE_CHECKING."""
    found = set()
    for node in ast.walk(parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in inner}
    return found & known.keys()


@cache
def graph() -> dict[str, set[str]]:
    known = modules()
    # `ctxmetrics` itself loads its public names on first use, from all over the package.
    return {name: imports_of(path, known) - {name, "ctxmetrics"} for name, path in known.items()}


def test_the_graph_sees_late_imports_and_those_for_types(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ctxmetrics.samples.sample import Sample\n"
        "def f():\n    from ctxmetrics.scores import score\n    import ctxmetrics.errors\n"
    )
    assert imports_of(file, modules()) == {
        "ctxmetrics.samples.sample",
        "ctxmetrics.scores.score",
        "ctxmetrics.errors",
    }


def test_no_circle_of_imports():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


# The two gates from the number to the evaluation, opened when they are called.
GATES = {"ctxmetrics.samples.sample", "ctxmetrics.adapting"}


def read_rows(title: str) -> dict[str, int]:
    """The row of each part in a table of docs/design.md."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = page.partition(f"| {title} | what it does |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {part: row for row, cell in enumerate(cells) for part in re.findall(r"`(\w+)/?`", cell)}


def pairs_of_parts(above: tuple[str, ...]) -> set[tuple[str, str]]:
    """Which part below a package imports which other one."""
    depth = len(above)
    found = set()
    for name, others in graph().items():
        own = name.split(".")
        if (*own[:depth],) != above or len(own) <= depth or name in GATES:
            continue
        for other in others:
            parts = other.split(".")
            if (*parts[:depth],) == above and len(parts) > depth:
                found.add((own[depth], parts[depth]))
    return found


@pytest.mark.parametrize(
    ("title", "package"),
    [("part", ("ctxmetrics",)), ("part of `evaluation/`", ("ctxmetrics", "evaluation"))],
    ids=["number", "evaluation"],
)
def test_imports_point_down_the_table_of_the_docs(title, package):
    """A module imports from its own row of its table in docs/design.md and from those below it; each part has a row."""
    rows = read_rows(title)
    pairs = {pair for pair in pairs_of_parts(package) if pair[0] != "__main__"}
    assert {part for pair in pairs for part in pair} == rows.keys()
    assert not [pair for pair in pairs if rows[pair[1]] < rows[pair[0]]]


def test_shared_judge_parts_import_no_judge():
    refused = {
        "ctxmetrics.judges.evidence.": "ctxmetrics.judges.",
        "ctxmetrics.judges.llm.": "ctxmetrics.judges.lexical",
    }
    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for own, other_judges in refused.items()
        if name.startswith(own)
        for other in others
        if other.startswith(other_judges) and not other.startswith(own)
    ]
    assert not wrong


def test_the_core_imports_no_adapter():
    assert not {
        name
        for name, others in graph().items()
        if name.partition(".")[0] == "ctxmetrics"
        and any(not other.startswith("ctxmetrics.") for other in others)
    }


# Functions on texts and plain data that every layer uses; they hold no model of a result.
HELPERS = {"_internal", "__version__"}
# Parts that the seam of adapters stands below.
ABOVE_ADAPTING = re.compile(r"ctxmetrics\.(evaluation|testing)\b")


def private_names_of(folder: Path) -> set[str]:
    """What the files of a folder take from others that is private: names, attributes, rooms."""
    found = set()
    own = f"ctxmetrics.{folder.name}"
    for path in folder.rglob("*.py"):
        where = path.relative_to(folder.parent)
        for node in ast.walk(parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ctxmetrics"):
                private = [part for part in (node.module or "").split(".")[1:] if part.startswith("_")]
                private += [alias.name for alias in node.names if alias.name.startswith("_")]
                if not (node.module or "").startswith(own) and not set(private) <= HELPERS:
                    found.add(f"{where}: {node.module}")
            if isinstance(node, ast.Attribute) and re.match("_(?!replace)[a-z]", node.attr):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                if owner not in {"self", "cls"} and not ast.unparse(node).startswith("self._"):
                    found.add(f"{where}: {ast.unparse(node)}")
    return found


def test_results_and_agreement_work_on_public_types():
    """The second seam: rows, scores, verdicts and samples are what they take, and nothing private of them."""
    core = ROOT / "core" / "ctxmetrics"
    assert not private_names_of(core / "evaluation")


def test_adapting_imports_no_report_no_comparison_and_no_command():
    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        if name.startswith("ctxmetrics.adapting.")
        for other in others
        if ABOVE_ADAPTING.match(other)
    ]
    assert not wrong


# Beside the names of `ctxmetrics.__all__`: the packages and modules that users may import.
PUBLIC = {
    "ctxmetrics",
    "ctxmetrics.errors",
    "ctxmetrics.formulas",
    "ctxmetrics.prompts",
    "ctxmetrics.adapting",
    "ctxmetrics.testing",
}
SHOWN = [
    *(ROOT / "examples").rglob("*.py"),
    ROOT / "README.md",
    *(ROOT / "examples").glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
]


def python_of(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return (
        text
        if page.suffix == ".py"
        else "\n".join(re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    )


@each_case("page", SHOWN)
def test_docs_and_examples_import_the_public_surface_only(page):
    found = [
        (node.module, alias.name)
        for node in ast.walk(parse(python_of(page)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ctxmetrics"
        for alias in node.names
    ]
    assert {module for module, _ in found} <= PUBLIC
    for module, name in found:
        assert name in importlib.import_module(module).__all__, f"{module}.{name}"


SEAM = ("ctxmetrics", "ctxmetrics.adapting", "ctxmetrics.errors", "ctxmetrics.testing")


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "adapters").rglob("*.py")),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_an_adapter_imports_what_a_strangers_could(path):
    found = set()
    for node in ast.walk(parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ctxmetrics":
            found |= {(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            assert all(
                name.name == "ctxmetrics" or not name.name.startswith("ctxmetrics.")
                for name in node.names
            )
    assert {module for module, _ in found} <= {*SEAM}
    modules_of_packages = {("ctxmetrics", "adapting")}
    for module, name in found - modules_of_packages:
        assert name in importlib.import_module(module).__all__, f"{module}.{name}"


def test_adapter_page_names_exactly_what_adapters_import():
    page = (ROOT / "docs" / "own-adapter.md").read_text(encoding="utf-8")
    section = page.split("## What `ctxmetrics.adapting` holds")[1].split("\n## ")[0]
    named = {
        name
        for row in section.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert named == {*importlib.import_module("ctxmetrics.adapting").__all__}


def test_every_public_name_is_there():
    for module in PUBLIC:
        names = importlib.import_module(module).__all__
        assert names == sorted(set(names), key=names.index)
        assert all(hasattr(importlib.import_module(module), name) for name in names)


@pytest.mark.slow
def test_no_code_is_dead():
    """No function, method, class, attribute or variable of the core and the adapters is without use."""
    vulture = pytest.importorskip("vulture", reason="vulture is not installed")
    finder = vulture.Vulture(ignore_names=CALLED_BY_OTHERS)
    folders = ("core", "adapters", "tests", "examples", "benchmarks")
    finder.scavenge([ROOT / folder for folder in folders])
    ours = (ROOT / "core", ROOT / "adapters")
    unused = [
        item
        for item in finder.get_unused_code()
        if item.filename.is_relative_to(ours[0]) or item.filename.is_relative_to(ours[1])
    ]
    assert [item.get_report() for item in unused] == []


def test_the_core_names_no_adapter() -> None:
    """Adapters say what they are by their entry points."""
    adapters = "|".join(path.name for path in (ROOT / "adapters").iterdir())
    naming = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "core").rglob("*.py")
        if re.search(adapters, path.read_text(encoding="utf-8"))
    ]
    assert naming == []


def test_tests_stand_in_the_layout_of_the_core():
    core, tests = ROOT / "core" / "ctxmetrics", ROOT / "tests" / "core"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert len(folders) > 10
    assert not [folder for folder in folders if not (core / folder / "__init__.py").exists()]


def test_names_of_tests_have_at_most_60_characters():
    names = [
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(
            r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert len(names) > 2000
    assert not [name for name in names if len(name) > 60]
