"""Untrusted text as HTML, and the frame of a page that holds no script and loads nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ctxmetrics._display import visible_on_page
from ctxmetrics._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --yes: #1a7f37; --no: #cf222e; --open: #9a6700; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
details { border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; } .yes { color: var(--yes); } .no { color: var(--no); } .open { color: var(--open); }
.context { border-left: 3px solid var(--line); padding-left: .8rem; margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.small { font-size: .85em; opacity: .8; } mark { background: #ffd33d66; color: inherit; } ul { padding-left: 1.2rem; } li { margin: .2rem 0; }
"""


def document(title: str, body: Iterable[str], *, language: str = "en") -> Iterator[str]:
    """Yield the pieces of a page around those of its body."""
    yield f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{shown(title)}</title><style>{_STYLE}</style></head><body><h1>{shown(title)}</h1>"
    yield from body
    yield f'<p class="small">ctxmetrics {escape(__version__)}</p></body></html>\n'


def isolated(text: str) -> str:
    """Return an untrusted text as markup: in an element of its own, so that its direction stays its own."""
    return f"<bdi>{shown(text)}</bdi>"


def shown(text: str) -> str:
    """Return an untrusted text as markup."""
    return escape(visible_on_page(text))
