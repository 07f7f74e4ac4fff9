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
from ctxmetrics.presentation import wording

if TYPE_CHECKING:
    from jinja2 import Environment

    from ctxmetrics.verdicts import Verdict


def render(template: str, **values: Any) -> str:
    """Fill in a template: a page, or a piece of one.

    Args:
        template: Name of the template.
        **values: What it shows. Texts are escaped, whoever wrote them.
    """
    return _environment().get_template(template).render(values)


def get_macro(template: str, name: str) -> Any:
    """Return a macro of a template as a function, which returns a piece of a page."""
    return getattr(_environment().get_template(template).module, name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        finalize=_make_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(
        style=Markup(_read("page.css")),  # noqa: S704 - a file of the package
        script=Markup(_read("page.js")),  # noqa: S704 - a file of the package
        version=__version__,
        say=wording.say,
        plural=wording.plural,
        is_expected=wording.is_expected,
        describe_doubt=wording.describe_doubt,
        format_mark=wording.format_mark,
        list_contexts=wording.list_contexts,
        join_reasons=join_reasons,
        make_csp_hash=make_csp_hash,
    )
    return environment


def _read(name: str) -> str:
    """Read a file of the package."""
    return (files("ctxmetrics.presentation.pages") / name).read_text(encoding="utf-8")


def _make_visible(value: Any) -> Any:
    """Make every character of a text visible; what is markup already is left alone."""
    return visible_on_page(value) if type(value) is str else value


def make_csp_hash(text: str) -> str:
    """Make the hash by which a content security policy names a stylesheet or a script."""
    from markupsafe import Markup

    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(f"'sha256-{digest}'")  # noqa: S704 - digits and letters


def join_reasons(verdict: Verdict, counted: tuple[str, str], language: str) -> str:
    """Join why a verdict is no yes, and what the judge wrote about it."""
    code = None if verdict.value else verdict.code
    parts = (wording.explain_miss(verdict, counted, language), code, verdict.reason)
    return "; ".join(part for part in parts if part)
