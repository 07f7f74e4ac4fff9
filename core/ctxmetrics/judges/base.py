"""The protocol of a judge: whatever answers "which contexts support this unit?" and "is this context useful?".

Your own judge needs two methods; see ``examples/own_judge.py``. Its answers are checked before they are
used.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from sys import intern
from typing import TypeVar

# Not the Protocol of typing: before Python 3.12 it reads an object's attributes, and some raise.
from typing_extensions import Protocol, runtime_checkable

from ctxmetrics.errors import JudgeError
from ctxmetrics.verdicts import Evidence, Usage, Verdict

NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """Everything a judge may look at. All of it is data, none of it instructions.

    Attributes:
        units: The sentences or claims of the answer, in order; their ids are ``s1``, ``s2`` ..
        contexts: The retrieved contexts, in rank order; their ids are ``c1``, ``c2`` ..
        answer: The whole text that contexts should help to give: the reference, or the response.
        user_input: The question, or None where the sample has none.
        language: ISO 639 code of the answer, given or detected.
        unit_ids: ``("s1", "s2", ..)``.
        context_ids: ``("c1", "c2", ..)``.
    """

    units: tuple[str, ...]
    contexts: tuple[str, ...]
    answer: str
    user_input: str | None = None
    language: str = "en"

    unit_ids: tuple[str, ...] = field(init=False, repr=False, compare=False)
    context_ids: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # All verdicts of a process share these texts, which takes less memory.
        for name, letter, texts in (("unit_ids", "s", self.units), ("context_ids", "c", self.contexts)):
            ids = tuple(intern(f"{letter}{number}") for number in range(1, len(texts) + 1))
            object.__setattr__(self, name, ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer of a judge.

    Attributes:
        verdicts: Exactly one a unit (`Judge.attribute`) or a context (`Judge.rate`), in order.
        usage: What it cost.
        prompt: Version of the prompt that was used.
        raw: The replies as they came, where the judge was told to keep them.
        stability: With several votes, the share of (vote, unit) pairs that agree with the majority.
        served_model: The name of the model that answered, as its server gave it; of the embedded judge, the mark of its
            verdicts.
        stray_ids: How many ids the replies of a language model held that were not asked about.
    """

    verdicts: tuple[Verdict, ...]
    usage: Usage = NO_USAGE
    prompt: str | None = None
    raw: tuple[str, ...] = ()
    stability: float | None = None
    served_model: str | None = None
    stray_ids: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """A reference broken into claims, in order, or the code that says why it could not be."""

    claims: tuple[str, ...]
    code: str | None = None
    usage: Usage = NO_USAGE
    prompt: str | None = None


@runtime_checkable
class Judge(Protocol):
    """Answers the two questions every judged metric asks.

    Attributes:
        name: What ``provenance.judge`` shows.
        warnings: Labels that every score of this judge carries.
    """

    @property
    def name(self) -> str:
        """What the provenance shows."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of its scores must know."""
        ...

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it; a yes carries `Evidence`."""
        ...

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        ...


@runtime_checkable
class DecomposingJudge(Judge, Protocol):
    """A judge that can also break a reference into claims."""

    async def decompose(self, text: str, *, language: str) -> Claims:
        """Break a text into self-contained claims."""
        ...


# --- what a judge returns ---

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
    "stray_ids": ("a whole number", (int,), object),
    "stability": ("a number or None", (int, float, _NONE), object),
}


def checked_answer(answer: object, kind: type[Answer]) -> Answer:
    """Return what a judge returned, if it is a judgement, or claims. See `checked_verdict` for the rest.

    Raises:
        JudgeError: It is neither, or a part of it has the wrong type; the reason code is
            ``judge_error``.
    """
    if not isinstance(answer, kind):
        raise _wrong("it", f"a ctxmetrics.{kind.__name__}", answer)
    for part in fields(answer):
        wanted, kinds, items = _FIELDS[part.name]
        value = getattr(answer, part.name)
        if not isinstance(value, kinds):
            raise _wrong(part.name, wanted, value)
        for item in value if isinstance(value, (tuple, list)) else ():
            if not isinstance(item, items):
                raise _wrong(part.name, wanted, item)
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
        return Verdict(
            id=verdict.id, value=None, text=verdict.text, code="invalid_reply", reason=problem
        )
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


def _wrong(part: str, wanted: str, value: object) -> JudgeError:
    return JudgeError(
        f"what the judge returned cannot be used: {part} must be {wanted}, not {type(value).__name__}",
        reason_code="judge_error",
    )
