"""Links into a page lead to a heading that is there, by GitHub's rule for the names of headings."""

from __future__ import annotations

import re
from pathlib import Path

from support.cases import each_case

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *ROOT.glob("*/README.md"),
        ROOT / "tests" / "golden" / "README.md",
    ]
)
_LINK = re.compile(r"\]\(([^)#:\s]*)#([^)\s]+)\)")
_PLACE = re.compile(r"(docs/[\w-]+\.md)#([\w-]+)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_case("page", PAGES)
def test_anchors_exist(page: Path) -> None:
    for target, anchor in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        other = (page.parent / target).resolve() if target else page
        assert other.exists(), target
        assert anchor in anchors(other), f"{target}#{anchor}"


def test_places_that_the_library_names_exist() -> None:
    """A message may send the reader to a heading of a page."""
    files = [
        file
        for folder in ("core", "adapters")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in {".py", ".json"}
    ]
    places = {place for file in files for place in _PLACE.findall(file.read_text(encoding="utf-8"))}
    assert places
    assert [place for place in places if place[1] not in anchors(ROOT / place[0])] == []


def test_headings_are_named_as_github_does(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(
        "## IDBased and `x`, what's new?\n```\n# no heading\n```\n", encoding="utf-8"
    )
    assert anchors(tmp_path / "x.md") == {"idbased-and-x-whats-new"}
