"""What `mkdocs build` does besides: words of the glossary are linked, and files of the repository come along.

The pages are read on GitHub as well, so they hold neither: there a link a word would be in the reader's way, and files
beside `docs/` are one click away.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from posixpath import normpath, relpath
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
BESIDE = "repository"
"""The folder of the site that holds files from beside `docs/`."""

_FENCE = re.compile(r"^(```+)(\w*)[^\n]*\n.*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)")
_NOT_TEXT = r"^(?:```+).*?^```+ *$|`(?:[^`\n]|\n(?!\n))+`|!?\[[^\]]*\]\([^)]*\)|<!--.*?-->|<[^>\n]+>|^#+ [^\n]*$"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files beside `docs/` to which pages lead, and those to which these lead."""
    open_ = [(f"docs/{file.src_uri}", Path(file.abs_src_path)) for file in files.documentation_pages()]
    known: set[str] = set()
    while open_:
        here, path = open_.pop()
        for target in _LINK.findall(_text(path)) if path.suffix == ".md" else ():
            wanted = normpath(f"{here}/../{target}")
            if wanted.startswith("docs/") or wanted in known or not (ROOT / wanted).is_file():
                continue
            known.add(wanted)
            files.append(File.generated(config, f"{BESIDE}/{wanted}", abs_src_path=str(ROOT / wanted)))
            open_.append((wanted, ROOT / wanted))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn a page's Markdown into the site's."""
    uri = page.file.src_uri
    here = uri.removeprefix(f"{BESIDE}/") if uri.startswith(f"{BESIDE}/") else f"docs/{uri}"
    text = _LINK.sub(lambda found: _moved(found[0], here, uri), markdown)
    text = re.sub(r"^```(\w+) [^\n]+$", r"```\1", text, flags=re.MULTILINE)  # `no-run` is for the tests
    if (
        uri == "glossary.md"
        or uri.startswith((f"{BESIDE}/", "api/", "metric/"))
        or uri.endswith(".ipynb")
    ):
        return text
    return linked(text, relpath("glossary.md", str(Path(uri).parent)))


def on_post_page(output: str, **_: Any) -> str:
    """Give the second of two equal landmarks a name of its own."""
    return output.replace('aria-label="Table of contents"', 'aria-label="On this page"', 1)


def linked(markdown: str, glossary: str) -> str:
    """Return Markdown with the first use of each word of the glossary as a link to it."""
    seen: set[str] = set()
    words = "|".join(sorted(map(re.escape, terms()), key=len, reverse=True))

    def link(found: re.Match[str]) -> str:
        word = found["word"]
        if word is None or word.lower() in seen:
            return found[0]
        seen.add(word.lower())
        anchor = word.lower().replace(" ", "-")
        return f"[{found[0]}]({glossary}#{anchor})"

    pattern = rf"{_NOT_TEXT}|\b(?P<word>{words})s?\b(?![-.]\w)"
    return re.sub(pattern, link, markdown, flags=re.MULTILINE | re.DOTALL | re.IGNORECASE)


@lru_cache(maxsize=1)
def terms() -> tuple[str, ...]:
    """Return the words of the glossary."""
    return tuple(re.findall(r"^## (.+)$", _text(ROOT / "docs" / "glossary.md"), re.MULTILINE))


def _moved(target: str, here: str, uri: str) -> str:
    """Return a link as it must stand in the site: `here` is the page in the repository, `uri` in the site."""
    wanted = normpath(f"{here}/../{target}")
    if wanted.startswith("docs/"):
        place: Any = wanted.removeprefix("docs/")
    elif (ROOT / wanted).is_file():
        place = f"{BESIDE}/{wanted}"
    else:
        return target
    return relpath(place, str(Path(uri).parent))


def _text(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))
