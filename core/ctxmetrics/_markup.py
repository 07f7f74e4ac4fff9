"""Untrusted text as HTML, a score as HTML, and the frame of a page: one file that loads nothing.

Style and script are files of their own (``report/page.css``, ``report/page.js``). The page's content security policy
allows these two by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path

from ctxmetrics._display import visible_on_page
from ctxmetrics._version import __version__
from ctxmetrics._wording import doubt, is_expected, mark_of, say, why_missed
from ctxmetrics.verdicts import Verdict

_ASSETS = Path(__file__).parent / "report"
_KINDS = {True: "yes", False: "no", None: "open"}
# Characters of the text of a verdict that is shown in a list, and verdicts of one list.
_TEXT = 300
_MOST = 100


def document(title: str, body: Iterable[str], *, language: str = "en") -> Iterator[str]:
    """Yield the pieces of a page around those of its body."""
    style, script = asset("page.css"), asset("page.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    yield f'<!doctype html>\n<html lang="{language}"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{shown(title)}</title><style>{style}</style></head>"
    yield f'<body class="ctxmetrics"><main><h1>{shown(title)}</h1>'
    yield from body
    yield f'</main><footer class="small">ctxmetrics {escape(__version__)}</footer><script>{script}</script></body></html>\n'


def fragment(body: Iterable[str]) -> str:
    """Return a piece of a page with its style, for a notebook; it holds no script."""
    return f'<div class="ctxmetrics"><style>{asset("page.css")}</style>{"".join(body)}</div>'


@cache
def asset(name: str) -> str:
    """Return a file of the package."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def isolated(text: str) -> str:
    """Return an untrusted text as markup: in an element of its own, so that its direction stays its own."""
    return f"<bdi>{shown(text)}</bdi>"


def shown(text: str) -> str:
    """Return an untrusted text as markup."""
    return escape(visible_on_page(text))


def bar(share: float | None, interval: tuple[float, float] | None = None) -> str:
    """Return a share from 0 to 1 as a picture of a bar, with its interval as a line; the number stands beside it."""
    if share is None:
        return ""
    line = ""
    if interval is not None:
        low, high = (f"{100 * end:.1f}" for end in interval)
        line = f'<line class="range" x1="{low}" x2="{high}" y1="6" y2="6"/>'
    return (
        '<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="12"/><rect class="fill" width="{100 * share:.1f}" height="12"/>{line}</svg>'
    )


def score_head(name: str, value: str, share: float | None, remarks: Iterable[str | None]) -> str:
    """Return a score's name, value, bar, and what is to be said about it; the remarks may be untrusted."""
    rest = " · ".join(isolated(text) for text in remarks if text)
    rest = f'<p class="small">{rest}</p>' if rest else ""
    return f"<h3>{escape(name)}: {escape(value)} {bar(share)}</h3>{rest}"


def verdict_list(
    verdicts: Sequence[Verdict], counted: tuple[str, str], language: str, prefix: str | None = None
) -> Iterator[str]:
    """Yield verdicts as a list, each with its text, and its evidence or why it is missed.

    Args:
        verdicts: The verdicts.
        counted: See `Score.counted`.
        language: Of the words.
        prefix: Of the ids of the page's elements, where the verdicts are about units and the contexts stand below:
            then each one links to its evidence.
    """
    yield '<ul class="units">'
    for number, verdict in enumerate(verdicts[:_MOST], 1):
        yield _verdict(verdict, counted, language, None if prefix is None else (prefix, unit_key(number)))
    if len(verdicts) > _MOST:
        yield f"<li>+{len(verdicts) - _MOST} {say('more', language)}</li>"
    yield "</ul>"


def unit_key(number: int) -> str:
    """Return how ids of elements name a unit, which may have any id itself."""
    return f"s{number}"


def _verdict(
    verdict: Verdict, counted: tuple[str, str], language: str, place: tuple[str, str] | None
) -> str:
    text = verdict.text if place or len(verdict.text) <= _TEXT else f"{verdict.text[: _TEXT - 1]}…"
    named = "" if place is None else f' id="{"-".join(place)}" data-u="{place[1]}"'
    words = "" if verdict.text == verdict.id else f" {isolated(text)}"
    parts = [
        (
            f'<li class="{_KINDS[verdict.value]}"{named}>'
            f'<span class="{_KINDS[verdict.value]}">{mark_of(verdict)}</span> {isolated(verdict.id)}{words}'
        )
    ]
    missed = why_missed(verdict, counted, language)
    code = verdict.code if verdict.code and not verdict.value else None
    why = "; ".join(filter(None, (missed, code, verdict.reason)))
    if why:
        parts.append(f'<br><span class="small">{isolated(why)}</span>')
    contexts = dict.fromkeys(span.context for span in verdict.evidence) if is_expected(counted) else ()
    told = [f"c{context + 1}" for context in contexts]
    if place is not None:
        told = [f'<a href="#{place[0]}-{name}-{place[1]}">{name}</a>' for name in told]
    if told or (verdict.value and doubt(verdict, language)):
        where = say("evidence in" if verdict.value else "stated in part in", language) if told else ""
        parts.append(
            f'<br><span class="small">{where} {", ".join(told)}{escape(doubt(verdict, language))}</span>'
        )
    return "".join(parts) + "</li>"
