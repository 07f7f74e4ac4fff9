"""The golden data has a version: no case changes without a new one.

`python test_version.py` writes version.json for the version at the top of CHANGELOG.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
FILE = HERE / "version.json"


def current() -> dict[str, object]:
    """What version.json must hold: the newest version of the change log, and the cases without their comments."""
    version = re.search(
        r"^## (\d+\.\d+)$", (HERE / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert version is not None
    told = ("id", "params", "sample", "judge", "expected", "refused_by")
    cases = [
        [path.stem, *(case.get(key) for key in told)]
        for path in sorted((HERE / "v1").glob("*.json"))
        for case in json.loads(path.read_bytes())["cases"]
    ]
    cases.sort(key=lambda case: case[1])
    text = json.dumps(cases, ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"version": version[1], "cases": len(cases), "sha256": digest}


def test_cases_do_not_change_without_a_new_version() -> None:
    assert json.loads(FILE.read_bytes()) == current(), (
        "the cases changed: add a version to CHANGELOG.md (minor for new cases, major where an expected value moved), "
        "then run: python tests/golden/test_version.py"
    )


def test_versions_go_down_the_change_log() -> None:
    text = (HERE / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = [
        tuple(map(int, found.split("."))) for found in re.findall(r"^## (\S+)$", text, re.MULTILINE)
    ]
    assert versions == sorted(set(versions), reverse=True)


if __name__ == "__main__":
    FILE.write_text(json.dumps(current(), indent=2) + "\n", encoding="utf-8")
