"""What a judge must return. A judge may be a user's code: what it returns is checked before it is used."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.base import Claims, Judgement
from ctxmetrics.verdicts import Evidence, Usage, Verdict

_TEXT = (str, type(None))


def check_judgement(answer: object) -> Judgement:
    """Return what `Judge.attribute` or `Judge.rate` returned, if it is a judgement. See `verdict_problem` for the rest.

    Raises:
        JudgeError: It is none, or a part of it has the wrong type; the reason code is ``judge_error``.
    """
    if not isinstance(answer, Judgement):
        raise _wrong("it", "a ctxmetrics.Judgement", answer)
    verdicts: object = answer.verdicts
    several = "a tuple of ctxmetrics.Verdict"
    if not isinstance(verdicts, (tuple, list)):
        raise _wrong("verdicts", several, verdicts)
    for verdict in verdicts:
        _require(isinstance(verdict, Verdict), "verdicts", several, verdict)
        _require(isinstance(verdict.id, str), "a verdict's id", "a string such as 's1'", verdict.id)
    _check_common(answer)
    _require(_are_texts(answer.raw), "raw", "a tuple of strings", answer.raw)
    stability = answer.stability
    _require(isinstance(stability, (int, float, type(None))), "stability", "a number or None", stability)
    served = answer.served_model
    _require(isinstance(served, _TEXT), "served_model", "a string or None", served)
    return answer


def check_claims(answer: object) -> Claims:
    """Return what `DecomposingJudge.decompose` returned, if it is claims.

    Raises:
        JudgeError: It is none, or a part of it has the wrong type; the reason code is ``judge_error``.
    """
    if not isinstance(answer, Claims):
        raise _wrong("it", "a ctxmetrics.Claims", answer)
    _require(_are_texts(answer.claims), "claims", "a tuple of strings", answer.claims)
    _require(isinstance(answer.code, _TEXT), "code", "a string or None", answer.code)
    _check_common(answer)
    return answer


def verdict_problem(verdict: Verdict) -> str | None:
    """Return what is wrong with the types of a verdict's fields, or None."""
    if not _is_answer(verdict.value):
        return "the verdict is neither yes nor no"
    if not isinstance(verdict.reason, _TEXT) or not isinstance(verdict.code, _TEXT):
        return "the verdict's reason and code must be strings or None"
    if not isinstance(verdict.details, Mapping):
        return "the verdict's details must be a mapping"
    spans: object = verdict.evidence
    if not isinstance(spans, (tuple, list)) or not all(map(_is_span, spans)):
        return "the verdict's evidence must be a tuple of ctxmetrics.Evidence"
    return None


def _is_answer(value: object) -> bool:
    """Whether a value is yes, no or None; NumPy's booleans are, the numbers 0 and 1 are not."""
    if value is None or isinstance(value, bool):
        return True
    return isinstance(value, Hashable) and not isinstance(value, (int, float)) and value in {True, False}


def _is_span(span: object) -> bool:
    return isinstance(span, Evidence) and all(
        isinstance(number, int) for number in (span.context, span.start, span.end, span.whole)
    )


def _are_texts(texts: object) -> bool:
    return (
        isinstance(texts, Sequence)
        and not isinstance(texts, str)
        and all(isinstance(text, str) for text in texts)
    )


def _check_common(answer: Judgement | Claims) -> None:
    _require(isinstance(answer.usage, Usage), "usage", "a ctxmetrics.Usage", answer.usage)
    _require(isinstance(answer.prompt, _TEXT), "prompt", "a string or None", answer.prompt)


def _require(is_right: bool, part: str, wanted: str, found: object) -> None:
    if not is_right:
        raise _wrong(part, wanted, found)


def _wrong(part: str, wanted: str, found: object) -> JudgeError:
    return JudgeError(
        f"what the judge returned cannot be used: {part} must be {wanted}, not {type(found).__name__}",
        reason_code="judge_error",
    )
