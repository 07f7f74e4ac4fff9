"""Every supported Python and framework version: ``nox`` runs all, and writes what ran into docs/versions.md.

``nox -l`` lists the sessions; one runs alone with ``nox -s NAME``, with ``-- ARGUMENTS`` for pytest.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import nox

nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = False

ROOT = Path(__file__).parent
PAGE = ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- matrix:begin -->", "<!-- matrix:end -->"
FOUND = ROOT / ".nox" / "matrix"
"""What each session found, for the table: a JSON file a session."""

TOOLS = (
    "pytest>=8.2", "pytest-timeout>=2.3", "hypothesis>=6.100", "jsonschema>=4.20", "polars>=1", "pyarrow>=15", "scipy>=1.11",
    "opentelemetry-sdk", "nbclient", "ipykernel", "uvloop; sys_platform != 'win32'",
)  # fmt: skip
READS_ALL = ("tests/core/test_formulas_oracles.py", "tests/core/test_packaging.py")
"""Tests of the core that compare with other libraries, or need every adapter's framework."""

RUNNERS = {
    "ragas": ("ragas.",), "deepeval": ("deepeval.",), "langchain": ("langchain.", "langsmith."),
    "mlflow": ("mlflow.",), "pydantic_evals": ("pydantic_evals.",),
}  # fmt: skip
"""How the names of each framework's runners begin."""


@dataclass(frozen=True)
class Environment:
    """One environment of the matrix.

    Attributes:
        tests: A folder below ``tests/adapters``, or ``"core"``.
        label: What the session's name says about the version.
        python: The Python it runs on.
        requires: What it installs: this package with extras, and pins.
        shows: The packages whose versions the table names.
        lowest: Whether to take the lowest versions that our bounds allow.
    """

    tests: str
    label: str
    python: str
    requires: tuple[str, ...]
    shows: tuple[str, ...]
    lowest: bool = False

    @property
    def name(self) -> str:
        return f"{self.tests}-{self.label}-py{self.python}"


_PYDANTIC_EVALS = (".[pydantic-evals,openai]", "pydantic-ai-slim[retries]")
_CORE_SHOWS = ("anyio", "numpy", "pydantic", "rapidfuzz", "sentencex", "typer")
_RAGAS = (".[ragas,openai]", "instructor>=1.15", "langchain-openai>=1")
_RAGAS_SHOWS = ("ragas", "langchain-community", "langchain-core")
_CHAIN, _CLASSIC = (
    (".[langchain,openai]", "langchain-openai"),
    (".[langchain-classic,openai]", "langchain-openai"),
)
_CHAIN_SHOWS = ("langchain-core", "langsmith", "langchain-classic")

MATRIX = (
    Environment("core", "lowest", "3.10", (".[openai,pandas]",), _CORE_SHOWS, lowest=True),
    *(Environment("core", "newest", python, (".[openai,pandas]",), _CORE_SHOWS) for python in ("3.10", "3.11", "3.12", "3.13")),
    Environment("ragas", "0.3.9", "3.10", (*_RAGAS, "ragas==0.3.9"), _RAGAS_SHOWS),
    Environment("ragas", "0.4.3", "3.11", (*_RAGAS, "ragas==0.4.3"), _RAGAS_SHOWS),
    Environment("ragas", "0.4.3", "3.13", (*_RAGAS, "ragas==0.4.3"), _RAGAS_SHOWS),
    Environment("deepeval", "3.9.9", "3.10", (".[deepeval,openai]", "deepeval==3.9.9"), ("deepeval",)),
    Environment("deepeval", "4.3.1", "3.12", (".[deepeval,openai]", "deepeval==4.3.1"), ("deepeval",)),
    Environment("deepeval", "4.3.1", "3.13", (".[deepeval,openai]", "deepeval==4.3.1"), ("deepeval",)),
    Environment("langchain", "0.3.86", "3.10", (*_CHAIN, "langchain-core==0.3.86", "langsmith==0.8.16"), _CHAIN_SHOWS),
    Environment("langchain", "1.0.0", "3.12", (*_CLASSIC, "langchain-core==1.0.0", "langchain-classic==1.0.0"), _CHAIN_SHOWS),
    Environment("langchain", "newest", "3.13", _CLASSIC, _CHAIN_SHOWS),
    Environment("mlflow", "lowest", "3.10", (".[mlflow,openai]", "mlflow==3.9.0"), ("mlflow",)),
    Environment("mlflow", "newest", "3.13", (".[mlflow,openai]",), ("mlflow",)),
    Environment("pydantic_evals", "lowest", "3.10", (*_PYDANTIC_EVALS, "pydantic-evals==1.32.0"), ("pydantic-evals",)),
    Environment("pydantic_evals", "newest", "3.13", _PYDANTIC_EVALS, ("pydantic-evals",)),
)  # fmt: skip


def _let_pyenv_find_all() -> None:
    """Let every Python that pyenv has be found, where pyenv is what keeps them."""
    if shutil.which("pyenv") and "PYENV_VERSION" not in os.environ:
        command = ["pyenv", "versions", "--bare"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the user's own
        os.environ["PYENV_VERSION"] = ":".join(reversed(found.stdout.split()))


_let_pyenv_find_all()


def _paths(environment: Environment) -> list[str]:
    if environment.tests == "core":
        return [
            "tests/core",
            "tests/properties",
            "tests/golden",
            "tests/conformance/test_core.py",
            *(f"--ignore={path}" for path in READS_ALL),
        ]
    adapter = f"tests/adapters/{environment.tests}"
    others = [
        runner
        for framework, runners in RUNNERS.items()
        if framework != environment.tests
        for runner in runners
    ]
    return [
        *([adapter] if (ROOT / adapter).exists() else []),
        "tests/conformance/test_runners.py",
        *(
            f"--deselect=tests/conformance/test_runners.py::test_golden_cases[{runner}"
            for runner in others
        ),
    ]


def _add_session(environment: Environment) -> None:
    @nox.session(name=environment.name, python=environment.python, tags=[environment.tests])
    def run(session: nox.Session) -> None:
        kept = FOUND / f"{environment.name}.json"
        kept.unlink(missing_ok=True)
        if environment.lowest:  # first, and alone: the tools would pull newer ones
            session.install("--resolution", "lowest-direct", "-e", *environment.requires)
            session.install(*TOOLS)
        else:
            session.install("-e", *environment.requires, *TOOLS)
        report = Path(session.create_tmp()) / "report.xml"
        report.unlink(missing_ok=True)
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--timeout=600",
            "-m",
            "",
            "-o",
            "junit_family=xunit1",
            f"--junitxml={report}",
        ]
        session.run("pytest", *options, *_paths(environment), *session.posargs, success_codes=[0, 1])
        if not report.exists():
            return  # --install-only
        versions = session.run("python", "-c", _VERSIONS, *environment.shows, silent=True)
        row = {"name": environment.name, "versions": str(versions).strip(), **_counts(report)}
        FOUND.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(row), encoding="utf-8")
        if row["failed"]:
            session.error(f"{row['failed']} failed")

    tests = (
        "core's tests"
        if environment.tests == "core"
        else f"{environment.tests} adapter's tests, and the golden cases through its runners"
    )
    run.__doc__ = f"Run the {tests}."


_VERSIONS = """
import sys
from importlib.metadata import PackageNotFoundError, version

def shown(name):
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"

print(", ".join(map(shown, sys.argv[1:])))
"""


def _counts(report: Path) -> dict[str, object]:
    tests = list(ET.parse(report).getroot().iter("testcase"))  # noqa: S314 - pytest wrote it
    skipped = [found for test in tests if (found := test.find("skipped")) is not None]
    failed = [
        test for test in tests if test.find("failure") is not None or test.find("error") is not None
    ]
    return {
        "tests": len(tests),
        "cases": sum(map(_cases, tests)),
        "failed": len(failed),
        "skipped": len(skipped),
        "reasons": Counter(map(_reason, skipped)),
    }


def _reason(skipped: ET.Element) -> str:
    """Why a test, or a whole file, was skipped."""
    file = re.search(r"Skipped: (.*)['\"]\)$", skipped.text or "")
    return (
        file[1]
        if file and skipped.get("message") == "collection skipped"
        else str(skipped.get("message"))
    )


def _cases(test: ET.Element) -> int:
    """How many golden cases went through a runner here: the core's are a test each, a framework's share one."""
    name = f"{test.get('classname')}::{test.get('name')}"
    if name.startswith("tests.conformance.test_core::test_case["):
        return 1
    if name.startswith("tests.conformance.test_runners::test_golden_cases[core-"):
        return 0
    return sum(
        int(found.get("value", 0)) for found in test.iter("property") if found.get("name") == "cases"
    )


for each in MATRIX:
    _add_session(each)


@nox.session(python=False)
def table(session: nox.Session) -> None:
    """Write what ran into docs/versions.md."""
    lines = [
        "| session | versions | tests | golden cases x runners | failed | skipped |",
        "|---|---|---|---|---|---|",
    ]
    reasons: dict[str, list[str]] = {}
    ran = 0
    for name in [environment.name for environment in MATRIX]:
        file = FOUND / f"{name}.json"
        if not file.exists():
            lines.append(f"| {name} | did not run | | | | |")
            continue
        ran += 1
        row = json.loads(file.read_text(encoding="utf-8"))
        lines.append(
            f"| {name} | {row['versions']} | {row['tests']} | {row['cases']} | {row['failed']} | {row['skipped']} |"
        )
        for reason, count in row["reasons"].items():
            reasons.setdefault(reason, []).append(f"{name} ({count})")
    lines += ["", "What was skipped, and why:", ""]
    lines += [f"- {reason}: {', '.join(where)}" for reason, where in sorted(reasons.items())]
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(
        f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.partition(END)[2]}", encoding="utf-8"
    )
    session.log(f"{ran} of {len(MATRIX)} sessions in {PAGE.relative_to(ROOT)}")


nox.options.sessions = [*(environment.name for environment in MATRIX), "table"]
