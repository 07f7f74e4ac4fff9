"""What is promised about the house: extras, wheel, arrows, thin adapters."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics.errors import EXTRAS, CtxMetricsError, importing, install_command
from ctxmetrics.metrics.catalog import METRICS
from support.cases import each_case
from support.deadlines import LONGEST_PROCESS
from support.machine import need_index, need_program
from support.trees import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ADAPTERS = sorted(path for path in (ROOT / "adapters").iterdir() if (path / "__init__.py").is_file())
LONGEST_TEXT = 200
"""Characters: a message fits, a prompt does not."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = [*sorted((ROOT / "core").rglob("*.py")), *sorted((ROOT / "adapters").rglob("*.py"))]
FRAMEWORKS = re.compile(
    r"ragas|deepeval|langchain\w*|langgraph|langsmith|openevals|mlflow|pydantic_evals|pydantic_ai|logfire|inspect_ai"
    r"|litellm|instructor|ctxmetrics_\w+"
)
OPENAI_LIVES_IN = {"core/ctxmetrics/models/openai/model.py", "core/ctxmetrics/models/openai/client.py"}

each_adapter = pytest.mark.parametrize("package", ADAPTERS, ids=lambda path: path.name)


@cache
def tree_of(path: Path) -> ast.Module:
    return parse(path.read_text(encoding="utf-8"), str(path))


def files(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def docstrings(tree: ast.AST) -> set[ast.Constant]:
    """The strings that stand alone as a statement: docstrings of modules, classes, functions and attributes."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


# --- what can be installed ------------------------------------------------------------------------------------


def test_every_extra_that_a_page_or_a_message_names_exists() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    named = {
        (path.name, extra.strip())
        for path in [*PAGES, *SOURCES]
        for group in re.findall(r"(?:ctxmetrics|'\.)\[([\w, -]+)\]", path.read_text(encoding="utf-8"))
        for extra in group.split(",")
    }
    assert {extra for _, extra in named} >= {"openai", "ragas"}, "the pattern finds nothing any more"
    assert {item for item in named if item[1] not in extras} == set()


@pytest.mark.slow
def test_every_extra_named_to_people_exists() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    told = {
        node.args[0].value
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in {"importing", "missing_extra", "raise_missing"}
        and isinstance(node.args[0], ast.Constant)
    }
    assert told >= {"openai", "pandas", "pyarrow"}
    assert told == EXTRAS.keys()
    assert set(EXTRAS.values()) <= extras


def needed_by(extra: str) -> set[str]:
    """The packages that an extra names, also by way of other extras of ours."""
    found: set[str] = set()
    for line in PROJECT["project"]["optional-dependencies"][extra]:
        name, _, inner = re.split(r"[<>=;\s]", line)[0].rstrip("]").partition("[")
        found |= (
            {name}
            if name != "ctxmetrics"
            else {item for more in inner.split(",") for item in needed_by(more)}
        )
    return found


@pytest.mark.parametrize("package", EXTRAS)
def test_the_extra_that_a_message_names_brings_the_package(package: str) -> None:
    assert package in needed_by(EXTRAS[package])


@pytest.mark.slow
def test_version_in_a_message_is_the_lowest_of_the_extra() -> None:
    told = {
        (node.args[0].value, node.args[1].value)
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in {"importing", "missing_extra", "raise_missing"}
        and all(isinstance(argument, ast.Constant) for argument in node.args)
        and len(node.args) > 1
    }
    assert len(told) >= 4, "the search finds nothing any more"
    bounds = {
        (package, f"{lowest} or newer")
        for package, _ in told
        for line in PROJECT["project"]["optional-dependencies"][EXTRAS[package]]
        for lowest in re.findall(rf"^{re.escape(package)}>=([\d.]+)", line)
    }
    assert told == bounds


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("pandas", "pandas 3 or newer is not installed. Install it with: "),
        ("pandas.core", "pandas 3 or newer is not installed. Install it with: "),
        ("numpy", "^No module named 'numpy'$"),
    ],
)
def test_package_without_its_own_dependency_is_not_missing(missing: str, message: str) -> None:
    with pytest.raises(ImportError, match=message), importing("pandas", "3 or newer"):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)


@pytest.mark.slow
def test_broken_openai_package_is_not_called_missing(tmp_path: Path) -> None:
    package = tmp_path / "openai"
    package.mkdir()
    (package / "__init__.py").write_text("import a_part_of_openai", encoding="utf-8")
    code = """
        from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample

        model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", api_key="k")
        sample = Sample(reference="It was built.", retrieved_contexts=["It was built."])
        ContextRecall(judge=LLMJudge(model)).score(sample)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert "No module named 'a_part_of_openai'" in ran.stderr.splitlines()[-1]
    assert "not installed" not in ran.stderr


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (None, "pip install 'ctxmetrics[ragas]'"),
        ({"url": "file:///src/it", "dir_info": {}}, "pip install 'ctxmetrics[ragas] @ file:///src/it'"),
        ({"url": "file:///src/it", "dir_info": {"editable": True}}, "pip install -e '/src/it[ragas]'"),
        (
            {"url": "https://git.test/it.git", "vcs_info": {"vcs": "git", "commit_id": "1f9ac03b"}},
            "pip install 'ctxmetrics[ragas] @ git+https://git.test/it.git@1f9ac03b'",
        ),
    ],
    ids=["index", "folder", "editable", "git"],
)
def test_install_command_leads_to_the_librarys_source(
    source: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = None if source is None else json.dumps(source)
    monkeypatch.setattr(
        "importlib.metadata.distribution", lambda _: SimpleNamespace(read_text=lambda _: text)
    )
    assert install_command("ragas") == command


def test_the_oldest_python_is_the_same_wherever_it_is_written() -> None:
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    supported = [
        name.removeprefix("Programming Language :: Python :: ")
        for name in PROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    ]
    made = environments()
    tested = {made.version_of(each) for each in made.LIST["environment"]}
    assert {supported[0], *supported[-2:]} <= tested
    assert supported[0] == oldest
    assert PROJECT["tool"]["pyright"]["pythonVersion"] == oldest
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    for page in ("README.md", "docs/versions.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"Python {oldest} to {supported[-1]}" in text, page
    for workflow in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        named = re.search(
            r"python-version: [^\n]*\n((?: +3\.\d+\n)+)", workflow.read_text(encoding="utf-8")
        )
        assert named, workflow.name
        assert sorted(named[1].split()) == sorted(tested), workflow.name
        assert named[1].split()[-1] == oldest, workflow.name


def environments(name: str = "environments") -> ModuleType:
    spec = spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_versions_page_is_written_from_what_ci_runs() -> None:
    made = environments()
    assert made.page() == made.PAGE.read_text(encoding="utf-8"), "run: python .ci/environments.py page"


def test_newest_versions_are_tried_of_what_each_extra_names(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    newest = environments("newest")
    tried = {
        package
        for environment in newest.list_environments([])
        for package in newest.list_packages(environment)
    }
    assert {"ragas", "deepeval", "langchain-core", "mlflow", "openai", "rapidfuzz"} <= tried
    assert "ctxmetrics" not in tried
    (snippets,) = newest.list_environments(["snippets"])
    assert [path for path in snippets["tests"] if not (ROOT / path).exists()] == []
    assert newest.allow_prereleases(["ragas"]) == ["ragas>=0a0"]


def test_ci_runs_each_extra_at_lowest_and_each_framework() -> None:
    lowest = [
        set(each["extras"])
        for each in environments().LIST["environment"]
        if each["versions"] == "lowest"
    ]
    frameworks = {path.name.removeprefix("ctxmetrics_").replace("_", "-") for path in ADAPTERS}
    assert [name for name in frameworks if {name} not in lowest] == []
    extras = set(PROJECT["project"]["optional-dependencies"]) - {"all", "test", "dev"}
    large = {"ray", "spark"}  # at the newest versions alone, in the README's environment
    pulled_in = {"tables"}  # by pandas
    assert set().union(*lowest) | large | pulled_in == extras


def test_ci_runs_each_framework_at_newest_on_newest_python() -> None:
    made = environments()
    tried = {
        extra
        for each in made.LIST["environment"]
        if each["versions"] == "newest" and each["python"] == made.PYTHONS[-1]
        for extra in each["extras"]
    }
    if "langchain-classic" in tried:
        tried.add("langchain")  # which it pulls in
    frameworks = {path.name.removeprefix("ctxmetrics_").replace("_", "-") for path in ADAPTERS}
    assert sorted(frameworks - tried) == []


def test_ci_says_which_step_takes_longer_than_in_the_last_run(tmp_path: Path) -> None:
    steps = tmp_path / "steps.tsv"

    def compare(written: str, *keep: str) -> list[str]:
        steps.write_text(written, encoding="utf-8")
        command = ["bash", ROOT / ".ci" / "minutes", steps, *keep]
        environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    kept = tmp_path / "cache" / "ctxmetrics" / "minutes.tsv"
    nothing = [f"NOT COMPARED  minutes: no whole run before this one kept them in {kept}"]
    assert compare("mypy\t9.00\t9.00\n") == nothing  # a run that failed
    assert compare("slow tests\t10.00\t20.00\nmypy\t1.00\t1.00\nshape\t.10\t.10\n", "keep") == nothing
    slower = "mypy\t1.10\t1.20\nshape\t.19\t.19\nslow tests\t11.60\t20.00\npyright\t9.00\t9.00\n"
    said = [
        "SLOWER  mypy: 1.2 minutes of CPU, 1.0 in the last run",
        "SLOWER  slow tests: 11.6 minutes, 10.0 in the last run",
    ]
    assert compare(slower) == said  # 15 %, and more than six seconds
    assert compare(slower, "keep") == said
    assert compare(slower, "keep") == []


@pytest.mark.slow  # starts each step of CI as a process that only prints
def test_ci_ends_all_steps_and_fails_where_one_fails(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    for name in ("run", "minutes"):
        shutil.copy(ROOT / ".ci" / name, tmp_path / ".ci")
    (tmp_path / "README.md").write_text(
        "## Run the tests\n```sh\necho tests of the README\n```\n## Next\n"
    )
    tools = tmp_path / ".venv" / "bin"
    tools.mkdir(parents=True)
    failing = "echo 1 error in a file; exit 2"
    names = ("uv", "ruff", "mypy", "pyright", "pytest", "python", "python3")
    for name in (*names, "chromium", "chromedriver", "java", "apt-get"):  # nothing is installed
        program = tools / name
        # The environments print two lines, and all other steps begin between them.
        slow = 'case "$*" in *environments.py*run) echo first line; sleep 1; echo last line;; esac'
        program.write_text(f"#!/bin/sh\n{failing if name == 'mypy' else slow}\n")
        program.chmod(0o755)
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = ["bash", tmp_path / ".ci" / "run"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    printed = done.stdout
    assert "tests of the README" in printed
    assert "1 error in a file\n+ FAILED: types\n" in printed
    assert "first line\nlast line\n" in printed
    minutes = re.findall(r"minutes \(.*?\)  (.*)", printed)
    assert {"README's command", "ruff format", "environments", "all of it"} <= {*minutes}
    assert not {"mypy", "pyright", "shape"} & {*minutes}, "a step that fails ends the steps after it"
    assert not (tmp_path / "cache" / "ctxmetrics" / "minutes.tsv").exists(), (
        "minutes of a whole run alone are kept"
    )


def test_a_python_that_only_has_a_name_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pyenv's names for Pythons that are there, but not chosen."""
    made = environments()
    name = tmp_path / "python9.9"
    name.write_text("#!/bin/sh\necho not chosen >&2; exit 127\n", encoding="utf-8")
    name.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert made.find("9.9") is None
    real = tmp_path / "versions" / "9.9.1" / "bin" / "python9.9"
    real.parent.mkdir(parents=True)
    real.write_text(f"#!/bin/sh\necho 9.9 {real}\n", encoding="utf-8")
    real.chmod(0o755)
    assert made.find("9.9") == str(real)


def test_the_wheel_holds_the_core_and_every_adapter() -> None:
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(packages) == sorted(
        ["core/ctxmetrics", *(f"adapters/{path.name}" for path in ADAPTERS)]
    )
    assert len(ADAPTERS) >= 3


def test_every_package_says_that_it_is_typed() -> None:
    assert [
        path.name
        for path in [ROOT / "core" / "ctxmetrics", *ADAPTERS]
        if not (path / "py.typed").is_file()
    ] == []


def test_the_roots_of_the_packages_are_no_packages() -> None:
    """With an ``__init__.py`` there, type checkers would see ``core.ctxmetrics``."""
    assert [name for name in ("core", "adapters") if (ROOT / name / "__init__.py").exists()] == []


def test_the_version_is_written_once() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "core/ctxmetrics/__init__.py"


# --- arrows ---------------------------------------------------------------------------------------------------


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every module that is imported, with the statement, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node, node.module


def only_for_types(tree: ast.AST) -> set[ast.AST]:
    """What stands under ``if TYPE_CHECKING:``."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }


@pytest.mark.slow
@each_case("path", sorted((ROOT / "core").rglob("*.py")))
def test_the_core_imports_no_framework_and_no_adapter(path: Path) -> None:
    tree = tree_of(path)
    lazy = {
        node
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    for node, module in imports(tree):
        first = module.partition(".")[0]
        assert not FRAMEWORKS.fullmatch(first), f"{path}:{node.lineno} imports {module}"
        if first == "openai":
            assert path.relative_to(ROOT).as_posix() in OPENAI_LIVES_IN, (
                f"{path}:{node.lineno} imports {module}"
            )
            assert node in lazy | only_for_types(tree), (
                f"{path}:{node.lineno} loads openai when it is imported"
            )


@each_adapter
def test_an_adapter_imports_no_other_adapter(package: Path) -> None:
    others = {path.name for path in ADAPTERS} - {package.name}
    found = {
        module.partition(".")[0] for path in files(package) for _, module in imports(tree_of(path))
    }
    assert found & others == set()
    assert "ctxmetrics" in found


# --- thin adapters --------------------------------------------------------------------------------------------


PARAMETERS = {item.name for kind in METRICS.values() for item in dataclasses.fields(kind)}
"""Names that a loop over a metric's fields may ask for: they name no metric."""
SCORES = {"value", "score", "scores", "values", "mean"}


def numbers_of_scores(node: ast.AST) -> bool:
    """Whether an expression holds a score's number: ``x.value``, ``score``, ``values[0]``."""
    return any(
        getattr(inner, "attr", None) in SCORES or (isinstance(inner, ast.Name) and inner.id in SCORES)
        for inner in ast.walk(node)
    )


def is_text(node: ast.AST) -> bool:
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def arithmetic_on_scores(tree: ast.AST) -> list[int]:
    """Lines that add, multiply, negate, round or average a score's number."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitOr):
            touched = not is_text(node.left) and not is_text(node.right) and numbers_of_scores(node)
        elif isinstance(node, ast.AugAssign):
            touched = not is_text(node.value) and (
                numbers_of_scores(node.target) or numbers_of_scores(node.value)
            )
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            touched = numbers_of_scores(node.operand)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            touched = name in {"round", "sum", "mean", "fmean", "median", "nanmean"} and any(
                map(numbers_of_scores, node.args)
            )
        else:
            touched = False
        if touched:
            found.append(node.lineno)
    return found


def switches_on_a_metric(tree: ast.AST) -> list[int]:
    """Lines that know a metric by name: a comparison or match of a name with a literal, or the literal itself."""
    names = set(METRICS) | {kind.__name__ for kind in METRICS.values()}
    free = docstrings(tree)
    exported = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and getattr(node.targets[0], "id", "") in {"__all__", "_MODULES"}
        for inner in ast.walk(node)
    }
    # A class statement names the core's class: ``core="ContextRecall"``.
    exported |= {
        keyword.value
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for keyword in node.keywords
        if keyword.arg == "core"
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in free | exported:
            if isinstance(node.value, str) and node.value in names:
                found.append(node.lineno)
        elif isinstance(node, ast.Compare) and any(map(is_a_name, (node.left, *node.comparators))):
            literals = {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}
            if any(isinstance(literal, str) and literal not in PARAMETERS for literal in literals):
                found.append(node.lineno)
        elif isinstance(node, ast.Match) and is_a_name(node.subject):
            found.append(node.lineno)
    return found


def is_a_name(node: ast.AST) -> bool:
    """Whether it is ``something.name`` or the like; an ImportError's name is a module's."""
    return any(
        isinstance(inner, ast.Attribute)
        and inner.attr in {"name", "base_name", "__name__", "formula_name"}
        and getattr(inner.value, "id", "") not in {"error", "_error"}
        for inner in ast.walk(node)
    )


def long_texts(tree: ast.AST) -> list[int]:
    """Lines of texts as long as a prompt."""
    free = docstrings(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            length = sum(len(str(part.value)) for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in free:
            length = len(node.value)
        else:
            continue
        if length > LONGEST_TEXT:
            found.append(node.lineno)
    return found


@each_adapter
def test_an_adapter_does_no_arithmetic_on_scores(package: Path) -> None:
    assert {
        path.name: lines for path in files(package) if (lines := arithmetic_on_scores(tree_of(path)))
    } == {}


@each_adapter
def test_an_adapter_knows_no_metric_by_name(package: Path) -> None:
    assert {
        path.name: lines for path in files(package) if (lines := switches_on_a_metric(tree_of(path)))
    } == {}


@each_adapter
def test_an_adapter_holds_no_prompt(package: Path) -> None:
    for path in files(package):
        tree = tree_of(path)
        assert [module for _, module in imports(tree) if module.startswith("ctxmetrics.prompts")] == []
        assert long_texts(tree) == [], path


@pytest.mark.parametrize(
    ("code", "finder"),
    [
        ("x = score.value * 100", arithmetic_on_scores),
        ("x = 1 - result.score", arithmetic_on_scores),
        ("x = round(score.value, 2)", arithmetic_on_scores),
        ("total += score.value", arithmetic_on_scores),
        ("x = -score.value", arithmetic_on_scores),
        ("x = sum(values) / len(values)", arithmetic_on_scores),
        ("if metric.name == 'x': pass", switches_on_a_metric),
        ("if self.core.base_name in ('a', 'b'): pass", switches_on_a_metric),
        ("x = {'context_recall': 1}[key]", switches_on_a_metric),
        (
            "if kind.__name__.startswith('ContextRecall') or kind == 'ContextRecall': pass",
            switches_on_a_metric,
        ),
        (f"x = {'Judge this. ' * 20!r}", long_texts),
    ],
)
def test_the_finders_find(code: str, finder: Any) -> None:
    assert finder(parse(code)) != []


@pytest.mark.parametrize(
    "code",
    [
        "x = score.value is None",
        "ok = score.value >= threshold",
        "if error.name == 'ragas': pass",
        "x = f'{metric.name} failed'",
        "x = [item for item in fields(metric) if item.name != 'judge']",
        "x = [*values, 'more']",
        "x: int | None = score.value or None",
    ],
)
def test_the_finders_leave_alone_what_is_allowed(code: str) -> None:
    assert [
        finder(parse(code)) for finder in (arithmetic_on_scores, switches_on_a_metric, long_texts)
    ] == [[], [], []]


# What each package is needed for, in a few lines that run without it up to the message.
NEEDS = {
    "narwhals": "from ctxmetrics import IDBasedContextRecall, score_table\nscore_table([], [IDBasedContextRecall()])",
    "openai": "from ctxmetrics import *\nContextRecall(judge=LLMJudge(OpenAIModel('m', base_url='http://127.0.0.1:9', "
    "api_key='k', timeout=1))).score(Sample(user_input='q', reference='The pump hums.', retrieved_contexts=['It is.']))",
    "pandas": "from ctxmetrics import *\nevaluate([Sample(reference='It is.', retrieved_contexts=['It is.'])], "
    "[ContextRecall()], progress=False).to_pandas()",
    "pyarrow": "from ctxmetrics import read_samples\nlist(read_samples('samples.parquet'))",
}


def install(folder: Path, what: str) -> None:
    """Install a package into the environment of a folder, which is made where it is not there."""
    uv = need_program("uv")
    if not (folder / "pyvenv.cfg").exists():
        made = [uv, "venv", "-q", "--allow-existing", str(folder)]
        subprocess.run(made, check=True, capture_output=True)
    command = [uv, "pip", "install", "-q", "--python", str(folder / "bin" / "python"), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    need_index(done)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the library alone; a test that installs more takes a copy."""
    folder = tmp_path_factory.mktemp("bare")
    install(folder, str(ROOT))
    return folder


@pytest.mark.slow
def test_a_bare_installation_is_small(bare: Path) -> None:
    """Without an extra, and without what Python compiles; the pages' templates are filled in by Jinja2."""
    (site,) = bare.glob("lib/python*/site-packages")
    files = (path for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert (site / "jinja2").is_dir()
    assert sum(path.stat().st_size for path in files) <= 100_000_000


@pytest.mark.slow
@pytest.mark.parametrize("package", NEEDS)
def test_extra_named_by_a_message_is_enough_when_bare(package: str, bare: Path, tmp_path: Path) -> None:
    """The library alone names the extra; once that is installed, the message is gone."""
    arrow = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(arrow.Table.from_pylist([{"user_input": "q"}]), tmp_path / "samples.parquet")

    def told() -> str:
        command = [str(tmp_path / "bin" / "python"), "-c", NEEDS[package]]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stderr

    shutil.copytree(bare, tmp_path, symlinks=True, dirs_exist_ok=True)
    named = re.search(rf"MissingExtraError: {package} is not installed.*\[([\w-]+)\]", told())
    assert named, told()
    install(tmp_path, f"{ROOT}[{named[1]}]")
    assert "is not installed" not in told()


def test_a_package_imported_in_part_is_not_called_missing(monkeypatch):
    """A child that was forked during an import has such a package."""
    module = ModuleType("pandas")
    module.__spec__ = ModuleSpec("pandas", None)
    module.__spec__._initializing = True
    monkeypatch.setitem(sys.modules, "pandas", module)
    with pytest.raises(CtxMetricsError, match="pandas is imported only in part"), importing("pandas"):
        from pandas import DataFrame  # noqa: F401
