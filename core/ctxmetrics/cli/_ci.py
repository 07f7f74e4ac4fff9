"""What a CI system reads: gates as JUnit XML, and Markdown for the summary of its step."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ctxmetrics._display import visible
from ctxmetrics.cli._terminal import message

# GitHub's name of the file whose Markdown it shows with a step.
_SUMMARY = "GITHUB_STEP_SUMMARY"


class Outcome(NamedTuple):
    """What became of a gate.

    Attributes:
        gate: The gate as it was written, such as ``--fail-under context_recall=0.8``.
        problem: Why it failed; None where it passed.
        samples: The samples behind the problem, a line each.
    """

    gate: str
    problem: str | None
    samples: tuple[str, ...] = ()


def tell_ci(outcomes: Sequence[Outcome], suite: str, summary: str, junit: Path | None) -> bool:
    """Print what failed, and tell the CI system.

    Args:
        outcomes: Of all gates.
        suite: The name of the test suite in the JUnit file.
        summary: What the run found, as Markdown.
        junit: The JUnit file, or None.

    Returns:
        Whether a gate failed.

    Raises:
        OutputFileError: The JUnit file cannot be written.
    """
    failed = [item for item in outcomes if item.problem is not None]
    for item in failed:
        message("\n    ".join([f"gate: {item.problem}", *item.samples]))
    if junit is not None:
        from ctxmetrics.evaluation.writer import write_whole

        write_whole(junit, [_junit(outcomes, suite)])
    if place := os.environ.get(_SUMMARY):
        _add_to_summary(Path(place), outcomes, summary)
    return bool(failed)


def fenced(text: str) -> str:
    """Return a text as a block of Markdown that shows it as it is."""
    return "\n".join(["```text", text.replace("```", ""), "```"])


def _junit(outcomes: Sequence[Outcome], suite: str) -> str:
    failed = sum(item.problem is not None for item in outcomes)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites><testsuite name={quoteattr(suite)} tests="{len(outcomes)}" failures="{failed}" errors="0" skipped="0">',
    ]
    for item in outcomes:
        lines.append(f"<testcase classname={quoteattr(suite)} name={_attribute(item.gate)}>")
        if item.problem is not None:
            text = escape("\n".join(visible(line) for line in (item.problem, *item.samples)))
            lines.append(f"<failure message={_attribute(item.problem)}>{text}</failure>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])


def _attribute(text: str) -> str:
    return quoteattr(visible(text))


def _add_to_summary(place: Path, outcomes: Sequence[Outcome], summary: str) -> None:
    """Append to the step's summary; where that fails, the run's own result stands."""
    from ctxmetrics.comparison.text import escaped

    lines = [
        f"- {'failed' if item.problem else 'passed'}: {escaped(visible(item.problem or item.gate))}"
        for item in outcomes
    ]
    try:
        with place.open("a", encoding="utf-8") as file:
            file.write("\n".join(["### ctxmetrics", "", summary, *lines, "", ""]))
    except OSError as error:
        message(f"note: {_SUMMARY} {place} cannot be written: {error.strerror or error}")
