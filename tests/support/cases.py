"""Tables of cases: one test tries all of them and lists each one that fails."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics._internal import secrets
from ctxmetrics.adapting import framework_run
from ctxmetrics.judges.llm.judge import forget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Characters of a case in the message of a failure.
_LONGEST_CASE = 200


def start_anew() -> None:
    """Forget what was judged, who was warned and which keys are known, as in a new process."""
    forget()
    framework_run._make_run_once.cache_clear()
    secrets._remembered_keys = {}


def each_case(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Any], Any]:
    """Try each case in one test, where `pytest.mark.parametrize` makes a test of each.

    Each test of pytest costs milliseconds: it is collected by each process, set up and reported. A table of many short cases is
    one test. Its fixtures serve all cases, but each case has a `tmp_path` of its own.

    Args:
        names: The arguments that a case gives: one name, or a tuple of names.
        cases: A value for one name, a tuple of values for several.

    A case that skips hides no other one: all are tried, and the test is skipped only if none fails.

    Raises:
        BaseExceptionGroup: By the test, with the error of each case that failed.
    """
    table = [*cases]
    arguments = (names,) if isinstance(names, str) else names

    def decorate(test: Any) -> Any:
        def try_each(**fixtures: Any) -> None:
            assert table, "there is no case"
            folder = fixtures.get("tmp_path")
            errors: list[BaseException] = []
            skipped: BaseException | None = None
            for number, case in enumerate(table):
                values = (case,) if isinstance(names, str) else case
                given = dict(zip(arguments, values, strict=True))
                if folder is not None:
                    fixtures["tmp_path"] = folder / str(number)
                    fixtures["tmp_path"].mkdir()
                start_anew()
                try:
                    test(**fixtures, **given)
                except pytest.skip.Exception as reason:
                    skipped = reason
                except (Exception, pytest.fail.Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - others are tried too
                    error.add_note(f"The case: {repr(given)[:_LONGEST_CASE]}")
                    errors.append(error)
            if errors:
                message = f"{len(errors)} of {len(table)} cases failed"
                raise BaseExceptionGroup(message, errors)
            if skipped is not None:
                raise skipped

        signature = inspect.signature(test)
        fixtures = [value for name, value in signature.parameters.items() if name not in arguments]
        # pytest finds the fixtures of a test by its signature.
        try_each.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(try_each, name, getattr(test, name))
        return try_each

    return decorate
