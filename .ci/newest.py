"""What the newest versions of frameworks and dependencies break: one table, and exit status 1 where something does.

python .ci/newest.py [NAME ...]    the environments of `environments.toml` that have these names; all that install one extra

Each environment is installed anew with the newest versions, with pre-releases of the packages that this project names, and its
tests run. A package that is not the newest one was held back: by a bound of this project, or by another package, which the
resolver names.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from environments import LIST, PLACE, PROJECT, extras_of, find, no_python, uv, version_of

_NAME = re.compile(r"[\w.-]+")
_PLANNED = re.compile(r"^ [+~] ([\w.-]+)==(\S+)", re.MULTILINE)
_REASON = re.compile(r"Because .*", re.DOTALL)
# The documented snippets need all frameworks in one environment.
_SNIPPETS = {
    "name": "snippets",
    "python": "oldest",
    "extras": ["test"],
    "tests": ["tests/golden", "tests/docs/test_pages.py", "tests/docs/test_readme.py"],
}


def list_environments(names: list[str]) -> list[dict[str, Any]]:
    """List the environments of these names; without names, those of one extra, and that of the documented snippets."""
    each_alone = [item for item in LIST["environment"] if item["versions"] == "lowest"]
    environments = [*each_alone, _SNIPPETS]
    return [item for item in environments if not names or item["name"] in names]


def list_packages(environment: dict[str, Any]) -> list[str]:
    """List the packages that this project and the extras of an environment ask for by name."""
    optional = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"]]
    for extra in environment["extras"]:
        asked += optional[extra]
    names = (match[0] for text in asked if (match := _NAME.match(text)))
    return sorted({name.lower() for name in names} - {PROJECT["name"]})


def allow_prereleases(packages: list[str]) -> list[str]:
    """Return requirements that let uv take pre-releases of these packages: a bound that is one allows them."""
    return [f"{package}>=0a0" for package in packages]


def plan(python: Path, *requirements: str) -> tuple[dict[str, str], str]:
    """Return the versions that an installation would have, or none and why the resolver refuses it."""
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--python",
        python,
        "--dry-run",
        "--reinstall",
    ]
    done = subprocess.run(
        [*map(str, command), *requirements], capture_output=True, text=True, check=False
    )
    versions = {name.lower(): version for name, version in _PLANNED.findall(done.stderr)}
    if done.returncode == 0:
        return versions, ""
    reason = _REASON.search(done.stderr)
    return {}, " ".join((reason[0] if reason else done.stderr).split())


def find_newest(python: Path, package: str, requirement: str) -> str:
    """Return the newest version of a package that this Python can have, by a requirement."""
    versions, reason = plan(python, "--no-deps", requirement)
    return versions.get(package) or f"none: {reason[:200]}"


def install(environment: dict[str, Any], python: str) -> Path:
    """Make an environment anew with the newest versions; return its Python."""
    place = PLACE / f"newest-{environment['name']}"
    own = place / "bin" / "python"
    uv("venv", "--clear", "--python", python, place)
    newest = allow_prereleases(list_packages(environment))
    tools = [*LIST["tools"], *environment.get("tools", ())]
    uv("pip", "install", "--python", own, "-e", extras_of(environment), *newest, *tools)
    return own


def list_versions(environment: dict[str, Any], python: Path) -> Iterator[str]:
    """Yield a row for each package: its version here, the newest ones, and why it is not the newest."""
    frozen = uv("pip", "freeze", "--python", python, "--exclude-editable")
    here = {
        name.lower(): version for name, _, version in (line.partition("==") for line in frozen.split())
    }
    for package in list_packages(environment):
        released = find_newest(python, package, package)
        newest = find_newest(python, package, *allow_prereleases([package]))
        refused = ""
        if here.get(package) != newest:
            pinned = f"{package}=={newest}"
            refused = plan(python, "-e", extras_of(environment), pinned)[1]
        cells = [package, here.get(package, "none"), released, newest, refused]
        yield f"| {' | '.join(cells)} |"


def test(environment: dict[str, Any], python: Path) -> str:
    """Run the tests of an environment; return what failed, empty where nothing did."""
    contact = LIST["contact"] if environment.get("contact") else ()
    marks = ["-m", "not browser and not cluster"] if environment.get("slow") else []
    command = [python, "-m", "pytest", "-q", "-n", "2", "-rfE", *marks, *environment["tests"], *contact]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    print(done.stdout[-20_000:], done.stderr[-5_000:], flush=True)
    if done.returncode == 0:
        return ""
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "<br>".join(failures[:20]) or f"pytest ended with {done.returncode}"


def run(names: list[str]) -> int:
    """Print the tables of these environments; return 1 if a test failed or an environment cannot be installed."""
    rows: list[str] = []
    broken: list[str] = []
    for environment in list_environments(names):
        name = environment["name"]
        interpreter = find(version_of(environment))
        if interpreter is None:
            broken.append(f"| {name} | {no_python(version_of(environment))} |")
            continue
        try:
            python = install(environment, interpreter)
        except subprocess.CalledProcessError as error:
            broken.append(f"| {name} | cannot be installed: {error} |")
            continue
        rows += list_versions(environment, python)
        if failures := test(environment, python):
            broken.append(f"| {name} | {failures} |")
    print(
        "| package | here | newest release | newest of all | held back by |",
        "|---|---|---|---|---|",
        sep="\n",
    )
    print(*dict.fromkeys(rows), sep="\n", end="\n\n")
    print("| environment | what broke |", "|---|---|", *(broken or ["| all | nothing |"]), sep="\n")
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
