"""Templates filled in: untrusted text is escaped, every character shows as itself, and a page loads nothing.

A page is one file. Its content security policy allows its stylesheet and its script by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ctxmetrics._internal.display import visible_on_page
from ctxmetrics._internal.version import __version__
from ctxmetrics.presentation.wording import (
    doubt,
    is_expected,
    mark_of,
    places_of,
    plural,
    say,
    why_missed,
)

if TYPE_CHECKING:
    from jinja2 import Environment

    from ctxmetrics.verdicts import Verdict


def render(template: str, **values: Any) -> str:
    """Return a page, or a piece of one.

    Args:
        template: Name of the template.
        **values: What it shows. Texts are escaped, whoever wrote them.
    """
    return _environment().get_template(template).render(values)


def macro(template: str, name: str) -> Any:
    """Return a macro of a template as a function, which returns a piece of a page."""
    return getattr(_environment().get_template(template).module, name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    found = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    shown = (say, plural, doubt, mark_of, is_expected, places_of, reason_of, hash_of)
    found.globals.update(
        style=Markup(_file("page.css")),  # noqa: S704 - a file of the package
        script=Markup(_file("page.js")),  # noqa: S704 - a file of the package
        version=__version__,
        **{item.__name__: item for item in shown},
    )
    return found


def _file(name: str) -> str:
    """Return a file of the package."""
    return (files("ctxmetrics.presentation.pages") / name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """Make every character of a text visible; what is markup already is left alone."""
    return visible_on_page(value) if type(value) is str else value


def hash_of(text: str) -> str:
    """Return the hash by which a content security policy names a stylesheet or a script."""
    from markupsafe import Markup

    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(f"'sha256-{digest}'")  # noqa: S704 - digits and letters


def reason_of(verdict: Verdict, counted: tuple[str, str], language: str) -> str:
    """Return why a verdict is no yes, and what the judge said."""
    return "; ".join(
        filter(
            None,
            (
                why_missed(verdict, counted, language),
                None if verdict.value else verdict.code,
                verdict.reason,
            ),
        )
    )
