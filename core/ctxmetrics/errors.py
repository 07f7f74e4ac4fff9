"""The errors of the library: one class for each cause, each with a stable code.

A mistake of the caller raises at once. A problem with the data or the judge of one sample does not raise: the sample gets a score
without a value, and its ``reason_code`` says why (`ctxmetrics.scores.score.ReasonCode`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.secrets import mask_secrets
from ctxmetrics.verdicts import Usage

__all__ = [
    "AmbiguousFieldError", "BudgetExceededError", "CannotDecomposeError", "CtxMetricsError", "EmbeddedJudgeWarning",
    "InputFileError", "JudgeError", "MissingExtraError", "MissingFieldError", "NotTextError", "OutputFileError",
    "ParameterError", "RequestError", "SampleError", "UnknownFieldError", "importing", "install_command",
    "missing_extra", "raise_missing",
]  # fmt: skip


class CtxMetricsError(ValueError):
    """The root of every error this library raises.

    Attributes:
        code: A stable, machine-readable name of the cause. The wording of messages may change, codes do not.
        results: The `Results` of an `evaluate` up to the error that it raised, or None.
        place: The place of the fault, such as a line of a file, or None. The message begins with it.
    """

    code: ClassVar[str] = "error"
    results: Any = None
    place: str | None = None

    def at(self, place: str) -> Self:
        """Set the place of the fault."""
        self.place = place
        return self

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.place is None else f"{self.place}: {text}"


class EmbeddedJudgeWarning(UserWarning):
    """The embedded judge answers in a framework because no judge was given. Shown once in each run."""


class ParameterError(CtxMetricsError):
    """A metric, judge or function got a parameter that it cannot use."""

    code = "invalid_parameter"


class RequestError(ParameterError):
    """No request to a judge's model could be built. The fault lies in the model or its options, not in a sample."""

    code = "no_request"


class SampleError(CtxMetricsError):
    """A sample holds a field of the wrong type, or an unknown key.

    The code that finds a fault states the problem. Its callers add the place with `at` and `inside`.

    Args:
        problem: A sentence that says what is wrong. If a field is named with `inside`, the field is its subject.
        fix: The advice how to correct it.
        wrong_kind: Whether the field does not accept this kind of value. Then the caller may have meant another column.
        about_columns: Whether the fault is in the mapping of columns to fields. Then a list of all columns helps.

    Attributes:
        sample: The id of the sample, or None. A sample without one is named by its place.
        field: The field, or None.
        item: The number of the item in the field, from 1, or None.
    """

    code = "invalid_sample"

    def __init__(
        self, problem: str, fix: str = "", *, wrong_kind: bool = False, about_columns: bool = False
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fix = fix
        self.wrong_kind = wrong_kind
        self.about_columns = about_columns
        self.sample: str | None = None
        self.field: str | None = None
        self.item: int | None = None
        self._path = ""

    def inside(self, part: str = "", *, field: str | None = None, item: int | None = None) -> Self:
        """Add a part of the path to the fault. The innermost part is added first.

        Args:
            part: A phrase for a part of a field.
            field: The name of a field.
            item: The number of an item in a list, from 1.
        """
        if field is not None:
            self.field = field
            part = f": field '{field}'"
        elif item is not None:
            self.item = item
            part = f", item {item}"
        self._path = part + self._path
        return self

    @property
    def is_whole_field(self) -> bool:
        """Whether the field itself is at fault, not a part of it."""
        return self.field is not None and self._path == f": field '{self.field}'"

    def __str__(self) -> str:
        owners = []
        if self.place is not None:
            owners.append(self.place)
        if self.sample is not None:
            owners.append(f"Sample {self.sample!r}")
        if self._path:
            path = f"{': '.join(owners)}{self._path}".removeprefix(": ")
            text = f"{path} {self.problem}"
        else:
            text = ": ".join([*owners, self.problem])
        return f"{text} {self.fix}" if self.fix else text


class UnknownFieldError(SampleError):
    """A sample has a key that is no field of the schema."""

    code = "unknown_field"


class AmbiguousFieldError(SampleError):
    """A key means different things in different systems, and no schema was named."""

    code = "ambiguous_field"


class NotTextError(SampleError):
    """A field holds a picture or other content that is no text. Scores have this code as their reason code."""

    code = "not_text"


class MissingFieldError(CtxMetricsError):
    """No sample has a field that the metric needs."""

    code = "missing_field"


class CannotDecomposeError(ParameterError):
    """A metric has ``unit="claim"``, and its judge cannot break a text into claims."""

    code = "cannot_decompose"


class InputFileError(CtxMetricsError):
    """An input file is missing, empty or not of the kind that its ending names."""

    code = "invalid_input"


class OutputFileError(CtxMetricsError):
    """A result could not be written, for example because the disk is full. An older file is unchanged."""

    code = "output_failed"


class MissingExtraError(ParameterError, ImportError):
    """An optional package is not installed; the message holds the install command."""

    code = "missing_extra"


class JudgeError(CtxMetricsError):
    """A judge or its model could not answer.

    Args:
        message: A description of the failure. Keys in it are masked.
        reason_code: The code that the affected verdicts get (see `ctxmetrics.verdicts.VerdictCode`).
        retryable: Whether asking again may help.
        retry_after: The seconds to wait that the server asked for; None if it did not.
        status: The HTTP status of the reply; None if there was no reply.
        usage: The cost of the request; None: only a call is counted.
        limit: The maximum number of tokens of the model, if the server stated it when it refused a longer request.

    Attributes:
        lost: The cost of all requests that were sent before the library gave up on the model.
    """

    code = "judge_error"
    lost: Usage = Usage()

    def __init__(
        self,
        message: str,
        *,
        reason_code: str = "judge_error",
        retryable: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        usage: Usage | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(mask_secrets(message))
        self.reason_code = reason_code
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.usage: Usage = usage or Usage(calls=1)
        self.limit = limit


class BudgetExceededError(CtxMetricsError):
    """The run reached its ``max_calls`` or ``max_tokens``."""

    code = "budget_exceeded"


# The extra that brings each optional package.
EXTRAS: Mapping[str, str] = MappingProxyType(read_data("", "extras.json"))


@contextmanager
def importing(package: str, version: str = "", *, also: str = "") -> Iterator[None]:
    """Import an optional package inside a ``with`` block. If the package is installed, errors of its import are raised unchanged.

    Args:
        package: One of `EXTRAS`.
        version: The required versions, as a phrase.
        also: Another module that comes with the package's extra.

    Raises:
        MissingExtraError: The package is not installed, or its version lacks the imported module.
        CtxMetricsError: Another thread was importing the package when this process was forked.
    """
    try:
        yield
    except ImportError as error:
        raise_missing(package, version, error=error, also=also)


def raise_missing(package: str, version: str = "", *, error: ImportError, also: str = "") -> NoReturn:
    """Raise the error of `importing` after an import failed."""
    name = (error.name or "?").partition(".")[0]
    if name not in (package.replace("-", "_"), also):
        raise error
    specification = getattr(sys.modules.get(name), "__spec__", None)
    # Python sets this attribute while an import has not ended.
    is_initializing = getattr(specification, "_initializing", False)
    if is_initializing:
        raise CtxMetricsError(
            f"{package} is imported only in part: another thread imported it when this process was forked. Import it "
            "before the fork, or start the process by spawn."
        ) from error
    raise missing_extra(package, version) from error


def missing_extra(package: str, version: str = "") -> MissingExtraError:
    """Build the error that names the install command for an optional package: one of `EXTRAS`."""
    requirement = f"{package} {version}".strip()
    return MissingExtraError(
        f"{requirement} is not installed. Install it with: {install_command(EXTRAS[package])}"
    )


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation. The source of the library is the same as at its installation.

    ``direct_url.json`` (PEP 610) names the source of the installation. An installation from a package index has no such file.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        source = json.loads(distribution("ctxmetrics").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        source = {}
    url = source.get("url")
    if url is None:
        return f"pip install 'ctxmetrics[{extra}]'"
    if source.get("dir_info", {}).get("editable"):
        return f"pip install -e '{url2pathname(urlsplit(url).path)}[{extra}]'"
    if version := source.get("vcs_info"):
        url = f"{version['vcs']}+{url}@{version['commit_id']}"
    return f"pip install 'ctxmetrics[{extra}] @ {url}'"
