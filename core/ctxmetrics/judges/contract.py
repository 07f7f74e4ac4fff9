"""What a judge must return. A judge may be a user's code: what it returns is checked before it is used."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.base import Claims, Judgement
from ctxmetrics.verdicts import Evidence, Usage, Verdict

Answer = TypeVar("Answer", Judgement, Claims)
_NONE = type(None)
# What each field of an answer must be: in words, its types, and those of its items.
_FIELDS: Mapping[str, tuple[str, tuple[type, ...], type]] = {
    "verdicts": ("a tuple of ctxmetrics.Verdict", (tuple, list), Verdict),
    "claims": ("a tuple of strings", (tuple, list), str),
    "raw": ("a tuple of strings", (tuple, list), str),
    "usage": ("a ctxmetrics.Usage", (Usage,), object),
    "prompt": ("a string or None", (str, _NONE), object),
    "code": ("a string or None", (str, _NONE), object),
    "served_model": ("a string or None", (str, _NONE), object),
    "stability": ("a number or None", (int, float, _NONE), object),
}


def checked_answer(answer: object, kind: type[Answer]) -> Answer:
    """Return what a judge returned, if it is a judgement, or claims. See `checked_verdict` for the rest.

    Raises:
        JudgeError: It is none, or a part of it has the wrong type; the reason code is ``judge_error``.
    """
    if not isinstance(answer, kind):
        raise _wrong("it", f"a ctxmetrics.{kind.__name__}", answer)
    for field in fields(answer):
        wanted, kinds, items = _FIELDS[field.name]
        value = getattr(answer, field.name)
        if not isinstance(value, kinds):
            raise _wrong(field.name, wanted, value)
        for item in value if isinstance(value, (tuple, list)) else ():
            if not isinstance(item, items):
                raise _wrong(field.name, wanted, item)
            if isinstance(item, Verdict) and not isinstance(item.id, str):
                raise _wrong("a verdict's id", "a string such as 's1'", item.id)
    return answer


def checked_verdict(verdict: Verdict, contexts: Sequence[str]) -> Verdict:
    """Return the verdict with a real yes or no, fields of the right types, and spans that really are in the contexts."""
    value: object = verdict.value
    spans: object = verdict.evidence
    problem = None
    # NumPy's booleans are a yes or no; the numbers 0 and 1 are not.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number or not isinstance(value, Hashable) or value not in {True, False, None}:
        problem = "the verdict is neither yes nor no"
    elif not isinstance(verdict.reason, (str, _NONE)) or not isinstance(verdict.code, (str, _NONE)):
        problem = "the verdict's reason and code must be strings or None"
    elif not isinstance(verdict.details, Mapping):
        problem = "the verdict's details must be a mapping"
    elif not isinstance(spans, (tuple, list)) or not all(
        isinstance(span, Evidence)
        and all(isinstance(part, int) for part in (span.context, span.start, span.end, span.whole))
        for span in spans
    ):
        problem = "the verdict's evidence must be a tuple of ctxmetrics.Evidence"
    if problem:
        return Verdict(id=verdict.id, value=None, text=verdict.text, code="invalid_reply", reason=problem)
    real = tuple(
        span
        for span in verdict.evidence
        if 0 <= span.context < len(contexts)
        and contexts[span.context][span.start : span.end] == span.quote
    )
    if len(real) == len(verdict.evidence):
        return verdict
    if real or verdict.value is not True:
        return replace(verdict, evidence=real)
    return replace(
        verdict,
        value=False,
        code="unverified_evidence",
        evidence=(),
        reason="its evidence is not in the context",
    )


def _wrong(part: str, wanted: str, found: object) -> JudgeError:
    return JudgeError(
        f"what the judge returned cannot be used: {part} must be {wanted}, not {type(found).__name__}",
        reason_code="judge_error",
    )
