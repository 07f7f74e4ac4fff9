"""Fills in the templates of HTML pages. Untrusted text is escaped, and invisible characters are made visible."""

from __future__ import annotations

from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ctxmetrics._internal.display import replace_invisible_on_page
from ctxmetrics.scores import wording

if TYPE_CHECKING:
    from jinja2 import Environment

    from ctxmetrics.verdicts import Verdict


def render(template: str, **values: Any) -> str:
    """Fill in a template of a score.

    Args:
        template: The name of the template.
        **values: The values that the template shows. All texts are escaped.
    """
    return _build_score_environment().get_template(template).render(values)


@cache
def _build_score_environment() -> Environment:
    """Build Jinja's environment for the templates of this package, once."""
    return build_environment(__name__)


def build_environment(*packages: str) -> Environment:
    """Build Jinja's environment for the templates in packages; if two packages have a template of one name, the first wins."""
    from jinja2 import ChoiceLoader, Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([FunctionLoader(partial(_read_template, package)) for package in packages]),
        autoescape=True,
        finalize=_make_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    style = read_file(__name__, "page.css")
    environment.globals.update(
        style=Markup(style),  # noqa: S704 - a file of the package
        # A rule with an id has a higher priority than the rules of a notebook for lists and tables.
        fragment_style=Markup(style.replace(".ctxmetrics ", ":is(#ctxmetrics, .ctxmetrics) ")),  # noqa: S704 - as above
        say=wording.say,
        plural=wording.plural,
        is_expected=wording.is_expected,
        describe_doubt=wording.describe_doubt,
        format_mark=wording.format_mark,
        list_contexts=wording.list_contexts,
        join_reasons=join_reasons,
    )
    return environment


def read_file(package: str, name: str) -> str:
    """Read a file of a package."""
    return (files(package) / name).read_text(encoding="utf-8")


def _read_template(package: str, name: str) -> str | None:
    """Read a template of a package; None if it has none of this name."""
    return read_file(package, name) if (files(package) / name).is_file() else None


def _make_visible(value: Any) -> Any:
    """Make every character of a text visible. Markup is returned unchanged."""
    return replace_invisible_on_page(value) if type(value) is str else value


def join_reasons(verdict: Verdict, counted: tuple[str, str], language: str) -> str:
    """Join the reasons why a verdict is not yes: what is missing, the code, and the words of the judge."""
    code = None if verdict.value else verdict.code
    parts = (wording.explain_miss(verdict, counted, language), code, verdict.reason)
    return "; ".join(part for part in parts if part)
