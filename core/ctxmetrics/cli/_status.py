"""The exit status, and the line that says why a run was not done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from ctxmetrics.cli._terminal import message
from ctxmetrics.evaluation.engine import INTERRUPTED as BY_USER
from ctxmetrics.evaluation.results import Results
from ctxmetrics.judges.base import Judge

GATE_FAILED = 1
BAD_INPUT = 2
STOPPED = 3
INTERRUPTED = 130

_ADVICE: Mapping[str, str] = {
    "client_error": "Check the key in OPENAI_API_KEY, the model in --judge and the address in --base-url.",
    "connection_error": "Check that the server runs, and its address in --base-url.",
    "timeout": "Check the server, or give it more time with --timeout.",
    "rate_limited": "Wait, or lower --max-concurrency.",
    "overloaded": "Wait, or lower --max-concurrency.",
    "server_error": "Check the server; its log may say more.",
    "budget_exceeded": "Raise --max-calls or --max-tokens.",
    "refused": "Try another model in --judge.",
    "invalid_reply": "Try another model in --judge.",
    "truncated": "Try another model in --judge, or let the server give longer replies.",
}
_WITHOUT_WORDS = "no reply could be used"
_WRITING = "Make room, or choose another file."


def leave(results: Results, judge: Judge, *, out: Path | None, failed_gates: bool = False) -> None:
    """End the command with the status of a run, after one line about why it was not done; return where it was.

    Raises:
        typer.Exit: The status is not 0.
    """
    problem = why_not_done(results, judge, out=out)
    if problem is not None:
        message(f"ctxmetrics: {problem}")
        raise typer.Exit(INTERRUPTED if results.stopped == BY_USER else STOPPED)
    if failed_gates:
        raise typer.Exit(GATE_FAILED)


def why_not_done(results: Results, judge: Judge, *, out: Path | None) -> str | None:
    """Return in one line what stopped a run or left a metric without any verdict, the address, and what to do."""
    if results.stopped is None and not results.unanswered:
        return None
    code, words = results.failure or ("", "")
    if results.stopped == BY_USER:
        parts = ["interrupted: the rest was not scored."]
    elif results.stopped is not None and " cannot be written" in results.stopped:
        parts = [f"{results.stopped}.", _WRITING]
    elif results.stopped is not None:
        parts = [
            f"stopped early: {results.stopped}{_address(judge, code)}.",
            # For what the message names, else for what happened most often.
            _ADVICE.get(next((name for name in _ADVICE if f"{name}:" in results.stopped), code), ""),
        ]
    else:
        names = ", ".join(results.unanswered)
        parts = [
            f"no verdict at all for {names}: {code}: {words or _WITHOUT_WORDS}{_address(judge, code)}.",
            _ADVICE.get(code, ""),
        ]
    if out is not None:
        parts.append("Then run the same command with --resume.")
    return " ".join(" ".join(filter(None, parts)).split())


def _address(judge: Judge, code: str) -> str:
    address = getattr(getattr(judge, "model", None), "base_url", None)
    return f" ({address})" if address and code != "budget_exceeded" else ""
