"""The options of a run: one definition for every function that starts one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.batching.batch import BATCH_MODES, Batch
from ctxmetrics.evaluation.runs.progress import Progress
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.models.runtime.cache import Store
from ctxmetrics.models.runtime.run import DEFAULT_CONCURRENCY, DEFAULT_TIMEOUT


class RunOptions(TypedDict, total=False):
    """The options of `ctxmetrics.evaluate`, which describes them with their defaults."""

    max_concurrency: int
    cache: str | os.PathLike[str] | Store | None
    timeout: float
    on_error: Literal["record", "raise"]
    progress: bool | Callable[[Progress], None] | None
    max_retries: int | None
    max_calls: int | None
    max_tokens: int | None
    requests_per_minute: int | None
    tokens_per_minute: int | None
    deadline: float | None
    out: str | os.PathLike[str] | None
    keep_texts: bool
    # Whether a sample with one context is scored although the context may hold several passages.
    one_context: bool
    # Whether a retrieved document that is the question itself is left out.
    drop_self: bool
    telemetry: Any
    batch: Batch | None
    tags: Sequence[str] | None


# The defaults of the options. An option that is not named here has the default None.
DEFAULTS: Mapping[str, Any] = FrozenDict(
    dict.fromkeys(RunOptions.__annotations__)
    | {
        "max_concurrency": DEFAULT_CONCURRENCY,
        "timeout": DEFAULT_TIMEOUT,
        "on_error": "record",
        "keep_texts": False,
        "one_context": False,
        "drop_self": False,
        "telemetry": False,
    }
)
# The smallest value of each number: of counts, and of seconds.
_SMALLEST_VALUES = {
    "max_concurrency": 1,
    "max_retries": 0,
    "max_calls": 0,
    "max_tokens": 0,
    "requests_per_minute": 1,
    "tokens_per_minute": 1,
    "timeout": 0.001,
    "deadline": 0.001,
}
# The options that are either on or off.
_SWITCHES = ("keep_texts", "one_context", "drop_self")

# The names by which frameworks call the judge.
_JUDGE_NAMES_ELSEWHERE = ("llm", "model")


def check_options(options: RunOptions) -> dict[str, Any]:
    """Return all options of a run. Options that are left out have their defaults. In a terminal, progress is shown.

    Raises:
        ParameterError: A number is out of range, a switch is neither True nor False, or ``on_error`` is unknown.
        TypeError: An option does not exist.
    """
    for name, value in options.items():
        if name not in DEFAULTS:
            hint = (
                " Did you mean 'judge'?" if name in _JUDGE_NAMES_ELSEWHERE else suggest(name, DEFAULTS)
            )
            raise TypeError(f"evaluate() got an unexpected keyword argument {name!r}.{hint}")
        smallest_value = _SMALLEST_VALUES.get(name)
        if smallest_value is not None:
            is_count = isinstance(smallest_value, int)
            optional = DEFAULTS[name] is None
            check_number(f"evaluate: {name}", value, smallest_value, whole=is_count, optional=optional)
    all_options = {**DEFAULTS, **options}
    for name in _SWITCHES:
        if not isinstance(all_options[name], bool):
            raise ParameterError(f"evaluate: {name}={all_options[name]!r} must be True or False.")
    progress = all_options["progress"]
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ParameterError(f"evaluate: progress={progress!r} must be True, False or a function.")
    if progress is None:
        all_options["progress"] = sys.stderr is not None and sys.stderr.isatty()
    if not isinstance(all_options["batch"], Batch | None):
        mode = all_options["batch"] if all_options["batch"] in BATCH_MODES else "submit"
        raise ParameterError(f"evaluate: batch must be a Batch. Write batch=Batch(mode={mode!r}).")
    _check_tags(all_options["tags"])
    check_choice("evaluate: on_error", all_options["on_error"], ("record", "raise"))
    return all_options


def _check_tags(tags: object) -> None:
    """Check that tags are a list of texts: a file of results with anything else could not be read.

    Raises:
        ParameterError: They are something else.
    """
    if isinstance(tags, str):
        raise ParameterError(f"evaluate: tags must be a list. Write tags=[{tags!r}].")
    if tags is None or (isinstance(tags, (list, tuple)) and all(isinstance(tag, str) for tag in tags)):
        return
    raise ParameterError(f"evaluate: tags={tags!r} must be a list of texts, such as ['nightly'].")
