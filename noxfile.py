"""Every supported Python and framework version: ``nox``. The last session writes the table into docs/versions.md.

One session runs alone with ``nox -s NAME``; ``nox -l`` lists them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nox

ROOT = Path(__file__).parent
FOUND = Path(tempfile.gettempdir()) / "ctxmetrics-matrix"
PAGE = ROOT / "docs" / "versions.md"
TOOLS = ("pytest>=8.2", "hypothesis>=6.100", "jsonschema>=4.20", "polars>=1", "pyarrow>=15", "scipy>=1.11", "opentelemetry-sdk", "nbclient", "ipykernel", "uvloop")
NEEDS_ALL = ("tests/core/test_formulas_oracles.py", "tests/core/test_packaging.py")  # they read every framework

nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = False


def _all_pyenv_versions() -> None:
    """Let every Python that pyenv has be found, where pyenv is what keeps them."""
    if shutil.which("pyenv") and "PYENV_VERSION" not in os.environ:
        found = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False)  # noqa: S607 - the user's own
        os.environ["PYENV_VERSION"] = ":".join(reversed(found.stdout.split()))


_all_pyenv_versions()


@dataclass(frozen=True)
class Case:
    """One framework in one version on one Python."""

    framework: str
    python: str
    extra: str
    pins: tuple[str, ...]
    more: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.framework}-{self.pins[0].partition('==')[2] or 'newest'}-py{self.python}"


_RAGAS = ("instructor>=1.15", "langchain-openai>=1")
_CHAIN = ("langchain-openai",)
CASES = (
    Case("ragas", "3.10", "ragas", ("ragas==0.3.9",), _RAGAS),
    Case("ragas", "3.11", "ragas", ("ragas==0.4.3",), _RAGAS),
    Case("ragas", "3.13", "ragas", ("ragas==0.4.3",), _RAGAS),
    Case("deepeval", "3.10", "deepeval", ("deepeval==3.9.9",)),
    Case("deepeval", "3.12", "deepeval", ("deepeval==4.3.1",)),
    Case("deepeval", "3.13", "deepeval", ("deepeval==4.3.1",)),
    Case("langchain", "3.10", "langchain", ("langchain-core==0.3.86",), _CHAIN),
    Case("langchain", "3.12", "langchain-classic", ("langchain-core==1.0.0", "langchain-classic==1.0.0"), _CHAIN),
    Case("langchain", "3.13", "langchain-classic", ("langchain-core",), _CHAIN),
    Case("mlflow", "3.10", "mlflow", ("mlflow",)),
    Case("mlflow", "3.13", "mlflow", ("mlflow",)),
    Case("pydantic_evals", "3.10", "pydantic-evals", ("pydantic-evals",)),
    Case("pydantic_evals", "3.13", "pydantic-evals", ("pydantic-evals",)),
)


@nox.session(python=["3.10", "3.11", "3.12", "3.13"])
@nox.parametrize("dependencies", ["lowest", "newest"])
def core(session: nox.Session, dependencies: str) -> None:
    """Run the core's tests with the lowest and the newest versions of its own dependencies."""
    if dependencies == "lowest" and session.python != "3.10":
        session.skip("the lowest versions are tested on the lowest Python")
    extra = "openai,pandas"
    if dependencies == "lowest":
        session.install("-e", ".[openai,pandas]", "--resolution", "lowest-direct")
        session.install(*TOOLS)
    else:
        session.install("-e", f".[{extra}]", *TOOLS)
    ignored = [f"--ignore={path}" for path in NEEDS_ALL]
    _pytest(session, f"core {dependencies}", "tests/core", "tests/properties", "tests/golden", "tests/conformance/test_core.py", *ignored)


def _framework(case: Case) -> None:
    @nox.session(name=str(case), python=case.python, tags=[case.framework])
    def run(session: nox.Session) -> None:
        session.install("-e", f".[{case.extra},openai]", *case.pins, *case.more, *TOOLS)
        tests = [f"tests/adapters/{case.framework}", "tests/conformance/test_runners.py"]
        _pytest(session, str(case), *tests)

    run.__doc__ = f"Run the {case.framework} adapter's tests, and all golden cases through its runners."


for each in CASES:
    _framework(each)


def _pytest(session: nox.Session, name: str, *arguments: str) -> None:
    """Run pytest and keep how many tests ran."""
    FOUND.mkdir(exist_ok=True)
    report = FOUND / f"{re.sub(r'[^a-z0-9.]+', '-', f'{name}-{session.python}'.lower())}.xml"
    session.run("pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments)
    head = report.read_text(encoding="utf-8")[:2000]
    counts = {key: int(value) for key, value in re.findall(r'\b(tests|failures|errors|skipped)="(\d+)"', head)}
    (report.with_suffix(".json")).write_text(json.dumps({"name": name, "python": session.python, **counts}), encoding="utf-8")


@nox.session(python=False)
def table(session: nox.Session) -> None:
    """Write what ran into docs/versions.md."""
    found = sorted((json.loads(file.read_text(encoding="utf-8")) for file in FOUND.glob("*.json")), key=lambda row: row["name"])
    lines = ["| what | Python | tests | failed | skipped |", "|---|---|---|---|---|"]
    for row in found:
        failed = row["failures"] + row["errors"]
        lines.append(f"| {row['name']} | {row['python']} | {row['tests']} | {failed} | {row['skipped']} |")
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- matrix:begin -->", "<!-- matrix:end -->"
    head, _, rest = page.partition(begin)
    PAGE.write_text(f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.partition(end)[2]}", encoding="utf-8")
    session.log(f"{len(found)} sessions in {PAGE.relative_to(ROOT)}")


nox.options.sessions = ["core", *map(str, CASES), "table"]
