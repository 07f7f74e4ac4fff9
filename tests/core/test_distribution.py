"""What is published: the sdist and the wheel, built and installed where nothing but their requirements is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.test_own_adapter import CODE, PRINTED, proved
from support import missing
from support.deadlines import LONGEST_PROCESS
from support.trees import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).parents[2]
# What the tests of the core need beside the core.
TEST_TOOLS = ("pytest", "hypothesis", "jsonschema", "pytest-randomly", "pytest-xdist")
# The tests that run with the core alone here; nox runs all of the core's.
RUN_ALONE = (
    *("tests/golden", "tests/conformance/test_core.py", "tests/conformance/test_own_adapter.py"),
    *(
        "tests/core/formulas/test_formulas.py",
        "tests/core/samples/test_samples.py",
        "tests/core/evaluation/runs/test_engine.py",
    ),
    *(
        "tests/core/judges/lexical/test_judge.py",
        "tests/core/judges/llm/test_judge.py",
        "tests/core/evaluation/report/test_report.py",
    ),
)
pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path, **env: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_PROCESS,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist and the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    run(
        sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", folder, cwd=ROOT
    )
    return folder


@pytest.fixture(scope="module")
def source(built, tmp_path_factory) -> Path:
    """The unpacked sdist."""
    folder = tmp_path_factory.mktemp("source")
    # Python before 3.11.4 has no filters.
    options = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, **options)  # noqa: S202 - it is the archive that was just built
    (only,) = folder.iterdir()
    return only


def required_by(names: Iterable[str]) -> set[str]:
    """The names of the distributions and of all that they require, without extras."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    open_ = list(names)
    while open_:
        name = re.sub(r"[-_.]+", "-", open_.pop()).lower()
        if name in found:
            continue
        found.add(name)
        for text in metadata.requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                open_.append(requirement.name)
    return found


def environment(folder: Path, wheel: Path, *others: str) -> Path:
    """Make an environment of the wheel, its requirements and some others, from what is installed here; no network."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)  # noqa: S202 - built here
    for name in required_by(["ctxmetrics", *others]) - {"ctxmetrics"}:
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}:
            if top != "__pycache__" and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution.locate_file(top))))
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def alone(built, tmp_path_factory) -> Path:
    """The Python of an environment that holds the wheel, what it requires, and the tools of the tests."""
    return environment(tmp_path_factory.mktemp("alone"), next(built.glob("*.whl")), *TEST_TOOLS)


def test_the_wheel_scores_where_no_framework_is_installed(alone, source, tmp_path):
    frameworks = [
        "ragas",
        "deepeval",
        "langchain_core",
        "langsmith",
        "mlflow",
        "pydantic_evals",
        "inspect_ai",
        "openai",
        "pandas",
    ]
    run(
        alone,
        "-c",
        f"from importlib.util import find_spec; assert not any(map(find_spec, {frameworks}))",
        cwd=source,
    )
    out = run(alone, "-m", "ctxmetrics", "score", "examples/handbook.jsonl", "--show", "1", cwd=source)
    assert "context_recall" in out
    demo = run(alone, "-m", "ctxmetrics", "demo", cwd=tmp_path)
    source_of_data = r"(?ms)^data .*?(?=^judge )"  # a long path stands in several lines
    assert re.sub(source_of_data, "", demo) == re.sub(source_of_data, "", out)


def test_the_page_of_an_own_adapter_needs_the_library_alone(alone, tmp_path):
    """docs/own-adapter.md, followed to the letter where no framework is installed."""
    done = proved(CODE, tmp_path / "own", str(alone))
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr


def test_wheel_is_pure_python_and_needs_no_compiler_or_git(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in archive.namelist() if name.endswith((".so", ".pyd", ".c"))] == []
    nothing, place = tmp_path / "nothing", tmp_path / "place"
    nothing.mkdir()
    install = ("install", "-q", "--no-index", "--no-deps", "--only-binary", ":all:", "--target", place)
    run(sys.executable, "-m", "pip", *install, wheel, cwd=tmp_path, PATH=str(nothing))
    where = "import ctxmetrics; print(ctxmetrics.__file__)"
    out = run(sys.executable, "-c", where, cwd=tmp_path, PATH=str(nothing), PYTHONPATH=str(place))
    assert Path(out.strip()).is_relative_to(place)


def test_the_tests_of_the_sdist_pass_with_the_core_alone(alone, source):
    """Tests of what is not installed are skipped, not failed: all are collected, and a part is run."""
    # In a new folder each file would be rewritten for pytest's messages.
    pytest_ = ("-m", "pytest", "-q", "-n", "0", "--assert=plain")
    run(alone, *pytest_, "--collect-only", "tests", cwd=source, PYTHONPATH="")
    out = run(alone, *pytest_, *RUN_ALONE, cwd=source, PYTHONPATH="")
    # The golden cases of a metric are one test, and so is each table of many cases.
    assert int(re.search(r"(\d+) passed", out)[1]) > 700


def known_types(package: str, prefix: Path, cwd: Path, **variables: str) -> str:
    """What ``pyright --verifytypes`` says of a package that is installed there; what other packages lack is left out."""
    env = {"VIRTUAL_ENV": str(prefix), "PATH": f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "pyright", "--ignoreexternal", "--verifytypes", package]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **env, **variables},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def test_every_public_type_is_known(built, tmp_path):
    pytest.importorskip("pyright")
    environment(tmp_path / "env", next(built.glob("*.whl")))
    told = known_types("ctxmetrics", tmp_path / "env", tmp_path)
    assert "Type completeness score: 100%" in told, told[-4000:]


def test_every_public_type_of_the_adapters_is_known(tmp_path):
    """In one package: pyright reads what the frameworks have in common once, and not for each adapter."""
    pytest.importorskip("pyright")
    # Where a framework is missing, its types are unknown: the environment with all of them checks the adapters.
    if absent := missing("ragas", "deepeval", "langsmith", "mlflow", "pydantic_evals", "inspect_ai"):
        pytest.skip(f"not installed: {absent}")
    adapters = sorted((ROOT / "adapters").glob("ctxmetrics_*"))
    own = re.compile(rf"\b(?:{'|'.join(adapter.name for adapter in adapters)})\b(?=[ .])")
    together = tmp_path / "together"
    for adapter in adapters:
        (together / adapter.name).mkdir(parents=True)
        for file in adapter.glob("*.py"):
            code = own.sub(r"together.\g<0>", file.read_text(encoding="utf-8"))
            (together / adapter.name / file.name).write_text(code, encoding="utf-8")
    (together / "__init__.py").touch()
    (together / "py.typed").touch()
    told = known_types("together", Path(sys.prefix), tmp_path, PYTHONPATH=str(tmp_path))
    assert {f"together.{adapter.name}" for adapter in adapters} <= {*told.split()}
    assert "Type completeness score: 100%" in told, told[-4000:]


def test_type_checkers_know_every_class_of_an_adapter(built: Path, tmp_path: Path) -> None:
    """A checker runs no code: it reads the names in the wheel."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        archive.extractall(tmp_path)  # noqa: S202 - built here
    packages = sorted(path.parent for path in tmp_path.glob("ctxmetrics_*/__init__.py"))
    assert len(packages) == 6
    for package in packages:
        runtime = pytest.importorskip(package.name, exc_type=ImportError)
        stub = parse((package / "__init__.pyi").read_text(encoding="utf-8"))
        exported: list[str] = []
        for node in stub.body:
            if isinstance(node, (ast.Assign, ast.AugAssign)) and "__all__" in ast.unparse(node):
                exported += ast.literal_eval(node.value)
        assert exported == runtime.__all__
    (tmp_path / "user.py").write_text(
        "from ctxmetrics_langchain import IDBasedNDCGEvaluator\n"
        "from ctxmetrics_langchain import IDBasedNDGCEvaluator\n"
        "class Mine(IDBasedNDCGEvaluator): ...\n"
        "Mine(topk=3)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        # The names stand in the wheel: the framework below them would take most of the time.
        [sys.executable, "-m", "mypy", "--no-site-packages", "--ignore-missing-imports", "user.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"^user\.py:.*: error: .*", done.stdout, re.MULTILINE)
    assert len(errors) == 2, done.stdout + done.stderr
    assert 'no attribute "IDBasedNDGCEvaluator"; maybe "IDBasedNDCGEvaluator"?' in errors[0]
    assert 'Unexpected keyword argument "topk" for "Mine"' in errors[1]
