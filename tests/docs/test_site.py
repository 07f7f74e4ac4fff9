"""The docs site builds without a warning, loads nothing from elsewhere, and links words of the glossary at first use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ctxmetrics
from ctxmetrics.metrics import METRIC_MODULES
from support.browser import LACKING, Browser

pytest.importorskip("mkdocs", reason="mkdocs is not installed")

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
WORDS = re.findall(r"^## (.+)$", GLOSSARY, re.MULTILINE)


# Pages with tables, code, pictures and long names.
LOOKED_AT = ("", "start", "comparing", "trust", "files", "cli", "glossary", "metrics")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.mark.browser
@pytest.mark.skipif(bool(LACKING), reason=f"not installed: {LACKING}")
def test_eight_pages_have_no_accessibility_issue(site: Path, tmp_path: Path) -> None:
    browser = Browser(tmp_path / "profile")
    try:
        for width in (1200, 390):
            browser.driver.set_window_size(width, 900)
            for name in LOOKED_AT:
                browser.driver.get((site / name / "index.html").as_uri())
                assert browser.violations() == [], (width, name)
    finally:
        browser.driver.quit()


@pytest.mark.slow
def test_site_builds_without_a_warning(site: Path) -> None:
    nothing_is_loaded_from_elsewhere(site)
    the_first_use_of_each_word_of_the_glossary_is_a_link(site)
    lists_and_fences_are_read_as_on_github(site)


def pages(site: Path) -> list[Path]:
    """The pages written for this library, without the API's and the files that come along."""
    found = sorted(site.rglob("index.html"))
    return [path for path in found if not {"repository", "api", "metric", "glossary"} & {*path.parts}]


class Loaded(HTMLParser):
    """What a browser fetches when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        names = {"link": "href", "base": "href", "object": "data"}
        if tag in names and given.get("rel") != "canonical":
            self.addresses.append(given.get(names[tag]) or "")
        self.addresses += [given[name] or "" for name in ("src", "srcset", "poster") if name in given]


class Article(HTMLParser):
    """The words of an article in order: plain text, and links to the glossary."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"br", "img", "hr", "input", "meta", "link", "wbr"}:
            return
        self.open.append(tag)
        target = dict(attrs).get("href") or ""
        if tag == "a" and "glossary/#" in target:
            self.found.append(("link", target.partition("#")[2].replace("-", " ")))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        kept_out = {
            "a",
            "code",
            "pre",
            "h1",
            "h2",
            "h3",
            "h4",
            "script",
            "style",
            "nav",
            "svg",
            "label",
            "button",
        }
        if "article" in self.open and not kept_out & {*self.open}:
            self.found.append(("text", data))


def nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        parser = Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        assert parser.addresses
        assert [item for item in parser.addresses if re.match(r"(https?:)?//", item)] == [], page
    for style in site.rglob("*.css"):
        assert (
            re.findall(r"(?:url\(|@import)[\s\"']*(?:https?:)?//", style.read_text(encoding="utf-8"))
            == []
        )


def the_first_use_of_each_word_of_the_glossary_is_a_link(site: Path) -> None:
    longest_first = sorted(WORDS, key=len, reverse=True)
    pattern = re.compile(rf"\b({'|'.join(longest_first)})s?\b(?![-.]\w)", re.IGNORECASE)
    used = set()
    for page in pages(site):
        parser = Article()
        parser.feed(page.read_text(encoding="utf-8"))
        linked = set()
        for kind, text in parser.found:
            if kind == "link":
                assert text not in linked, f"{page}: {text} is linked twice"
                linked.add(text)
            else:
                plain = {word.lower() for word in pattern.findall(text)} - linked
                assert plain == set(), f"{page}: {plain} in {text!r}"
        used |= linked
    assert used == {word.lower() for word in WORDS}


def lists_and_fences_are_read_as_on_github(site: Path) -> None:
    for page in pages(site):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<p>(?:(?!</p>).)*?\n(?:- |\d\. |```)", text, re.DOTALL) == [], page


def test_every_public_name_has_a_place_in_the_reference() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    described = set(re.findall(r"^::: ctxmetrics\.(\w+)$", text, re.MULTILINE))
    on_pages_of_their_own = {*METRIC_MODULES}
    assert {*ctxmetrics.__all__} - {"__version__"} <= described | on_pages_of_their_own


def test_every_page_is_in_the_navigation() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r": ([\w/-]+\.(?:md|ipynb))$", config, re.MULTILINE))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert named == there
