"""The environments of ``environments.toml``: install and test them, or write them into docs/versions.md.

python .ci/environments.py find oldest          print the interpreter
python .ci/environments.py run [NAME ...]       install and test; needs uv
python .ci/environments.py absent               print version and name of those whose Python Debian has, and this machine lacks
python .ci/environments.py page                 write docs/versions.md
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "versions.md"
BEGIN, END = "<!-- environments:begin -->", "<!-- environments:end -->"
PLACE = ROOT / ".environments"

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
LIST: dict[str, Any] = tomllib.loads((ROOT / ".ci" / "environments.toml").read_text(encoding="utf-8"))
PYTHONS = [
    name.rpartition(" ")[2]
    for name in PROJECT["classifiers"]
    if name.startswith("Programming Language :: Python :: 3.")
]
"""The supported versions of Python, the oldest first."""


def find(version: str) -> str | None:
    """Return an interpreter of this version of Python, or None.

    A name on the PATH is tried, not believed: pyenv puts one there for each Python, also for those not chosen.
    """
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders += sorted(folder / "bin" for folder in pyenv.glob(f"{version}.*"))
    code = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for path in [folder / f"python{version}" for folder in folders]:
        if path.is_file():
            done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
            found, _, executable = done.stdout.strip().partition(" ")
            if found == version:
                return executable
    return None


def version_of(environment: dict[str, Any]) -> str:
    """Return the version of Python that an environment is for."""
    python: str = environment["python"]
    return PYTHONS[0] if python == "oldest" else python


def run(names: list[str]) -> int:
    """Install and test the environments of these names, or all; return how many failed."""
    lines, failures = [], 0
    beside = {} if names else start_beside()
    for environment in LIST["environment"]:
        name = environment["name"]
        if name in beside or (names and name not in names):
            continue
        python = find(version_of(environment))
        if python is None:
            lines.append(f"NOT RUN  {name}: {no_python(version_of(environment))}")
            continue
        begin = time.monotonic()
        failed = test(environment, install(environment, python))
        lines.append(
            f"{(time.monotonic() - begin) / 60:5.1f} minutes  {name}{', FAILED' if failed else ''}"
        )
        failures += bool(failed)
    for process, log in beside.values():
        failures += bool(process.wait())
        print(log.read_text(encoding="utf-8", errors="replace"))
    print(*lines, sep="\n")
    return failures


def start_beside() -> dict[str, tuple[subprocess.Popen[bytes], Path]]:
    """Start the environments that run beside the others, each in a process with a log of its own."""
    PLACE.mkdir(exist_ok=True)
    started = {}
    for environment in LIST["environment"]:
        if environment.get("beside"):
            name = environment["name"]
            log = PLACE / f"{name}.log"
            with log.open("wb") as out:
                # It has what the others leave: a model that writes would take the cores from their tests.
                command = ["nice", "-n", "5", sys.executable, __file__, "run", name]
                started[name] = (subprocess.Popen(command, stdout=out, stderr=out), log)
    return started


def no_python(version: str) -> str:
    return f"no Python {version} is on this machine"


def absent() -> list[str]:
    """Return version and name of the environments that only a root folder can run on this machine."""
    lacking = [version for version in LIST["debian"] if find(version) is None]
    return [
        f"{each['python']} {each['name']}" for each in LIST["environment"] if each["python"] in lacking
    ]


def install(environment: dict[str, Any], python: str) -> Path:
    """Make the environment anew; return its Python."""
    place = PLACE / environment["name"]
    own = place / "bin" / "python"
    uv("venv", "--clear", "--python", python, place)
    package = extras_of(environment)
    resolution = "lowest-direct" if environment["versions"] == "lowest" else "highest"
    uv("pip", "install", "--python", own, "--resolution", resolution, "-e", package)
    kept = place / "installed.txt"  # the tools come after, and move none of it
    kept.write_text(uv("pip", "freeze", "--python", own, "--exclude-editable"), encoding="utf-8")
    tools = [*LIST["tools"], *environment.get("tools", ())]
    uv("pip", "install", "--python", own, "--constraints", kept, *tools)
    if alone := environment.get("alone"):
        uv("pip", "install", "--python", own, "--no-deps", *alone)
    return own


def extras_of(environment: dict[str, Any]) -> str:
    """Return what is installed of this package, as pip takes it."""
    extras = ",".join(environment["extras"])
    return f".[{extras}]" if extras else "."


def uv(*arguments: str | Path) -> str:
    command = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if command is None:
        sys.exit("uv is not installed: pip install uv")
    print("+ uv", *arguments, flush=True)
    return subprocess.run(
        [command, "--quiet", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def test(environment: dict[str, Any], python: Path) -> int:
    """Run the tests of an environment; return how many runs of pytest failed."""
    marks = ["-m", "not browser and not cluster"]
    options = environment.get("options", ())
    tests = [*environment["tests"], *(LIST["contact"] if environment.get("contact") else ())]
    runs = [[*(marks if environment.get("slow") else ()), *options, *tests]]
    if slow_tests := environment.get("slow_tests"):
        runs.append([*marks, *options, *slow_tests])
    workers = str(environment.get("workers", 0))
    failures = 0
    for arguments in runs:
        command = [python, "-m", "pytest", "-q", "-n", workers, *arguments]
        print("+", *command, flush=True)
        failures += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return failures


def page() -> str:
    """Return docs/versions.md with the tables of what runs, and of what each extra asks for."""
    groups: dict[tuple[str, str], list[str]] = {(PYTHONS[0], "newest"): ["`.[test]`"]}
    for each in LIST["environment"]:
        groups.setdefault((version_of(each), each["versions"]), []).append(f"`{extras_of(each)}`")
    lines = [
        "| Python | versions | each alone |",
        "|---|---|---|",
        *(
            f"| {python} | {versions} | {' '.join(alone)} |"
            for (python, versions), alone in groups.items()
        ),
        "",
        "| extra | bounds |",
        "|---|---|",
        f"| none | {bounds(PROJECT['dependencies'])} |",
        *(
            f"| `{extra}` | {bounds(requirements)} |"
            for extra, requirements in PROJECT["optional-dependencies"].items()
            if extra not in {"all", "test", "dev"}
        ),
    ]
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.partition(END)[2]}"


def bounds(requirements: list[str]) -> str:
    return ", ".join(f"`{each}`" for each in requirements)


def main(argv: list[str]) -> int:
    match argv:
        case ["find", "oldest"]:
            found = find(PYTHONS[0])
            print(found or no_python(PYTHONS[0]))
            return int(found is None)
        case ["absent"]:
            print(*absent(), sep="\n", end="\n" if absent() else "")
            return 0
        case ["run", *names]:
            return min(run(names), 1)
        case ["page"]:
            PAGE.write_text(page(), encoding="utf-8")
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
