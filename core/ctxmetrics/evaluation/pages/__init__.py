"""The pages of runs, comparisons and histories. A page loads nothing.

A page is one file. Its content security policy allows its stylesheet and its script by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics import __version__
from ctxmetrics.evaluation.pages.phrases import say
from ctxmetrics.scores import pages
from ctxmetrics.scores.pages import build_environment, read_file

if TYPE_CHECKING:
    from jinja2 import Environment


# The maximum number of files that a title names. If there are more, it names the first and the last.
_MAX_NAMES = 3


def render(template: str, **values: Any) -> str:
    """Fill in a template: a page, or a piece of one.

    Args:
        template: Name of the template.
        **values: What it shows. Texts are escaped, whoever wrote them.
    """
    return _environment().get_template(template).render(values)


def name_page(path: str | os.PathLike[str], *files: str | os.PathLike[str]) -> str:
    """Name a page after the files that it is about and after its own, so that tabs of several can be told apart.

    Args:
        path: The page.
        *files: What it is about. Files of one name have the name of their folder, too.
    """
    distinct_files = dict.fromkeys(str(file) for file in files)
    paths = [Path(file) for file in distinct_files]
    names = [file_path.name for file_path in paths]
    has_equal_names = len(set(names)) < len(names)
    if has_equal_names:
        names = ["/".join(file_path.parts[-2:]) for file_path in paths]
    if len(names) > _MAX_NAMES:
        names = [names[0], "..", names[-1]]
    page_name = Path(path).stem
    if names and page_name:
        return f"{', '.join(names)}: {page_name}"
    return ", ".join(names) or page_name or "ctxmetrics"


def get_macro(template: str, name: str) -> Any:
    """Return a macro of a template as a function, which returns a piece of a page."""
    return getattr(_environment().get_template(template).module, name)


@cache
def _environment() -> Environment:
    """Build what all pages share: the templates and their functions."""
    from markupsafe import Markup

    environment = build_environment(__name__, pages.__name__)
    environment.globals.update(
        script=Markup(read_file(__name__, "page.js")),  # noqa: S704 - a file of the package
        version=__version__,
        build_policy=build_policy,
        language="en",
        say=say,
    )
    return environment


def build_policy() -> str:
    """Build the content security policy of a page: its stylesheet, its script and nothing else."""
    from markupsafe import Markup

    style = make_csp_hash(read_file(pages.__name__, "page.css"))
    script = make_csp_hash(read_file(__name__, "page.js"))
    policy = (
        f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; "
        "form-action 'none'"
    )
    # Nothing in it comes from outside: it is the words above, and hashes in base64, which has letters, digits, "+", "/" and "=".
    # None of its characters ends the attribute, which stands in double quotes, or begins an element ("<") or an entity ("&").
    # Escaped, each "'" would be "&#39;": the same to a browser, but not to who reads the file of the page.
    return Markup(policy)  # noqa: S704 - the words above and base64


def build_server_policy() -> str:
    """Build the content security policy of a page that a server sends. A page itself cannot state the whole policy."""
    return f"{build_policy()}; img-src data:; frame-ancestors 'none'"


def make_csp_hash(text: str) -> str:
    """Make the hash by which a content security policy names a stylesheet or a script."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
