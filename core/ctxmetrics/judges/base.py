"""The protocol of a judge. A judge answers "which contexts support this unit?" and "is this context useful?".

Your own judge needs two methods; see ``examples/own_judge.py``. Its answers are checked before they are
used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from sys import intern
from typing import Any, TypeVar

# Before Python 3.12, a check with the Protocol of typing reads the attributes of the object, and some of them raise.
from typing_extensions import Protocol, runtime_checkable

from ctxmetrics.errors import JudgeError
from ctxmetrics.samples.documents import as_list
from ctxmetrics.verdicts import NO_USAGE, Evidence, Usage, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """The data for a judge. It holds no instructions, whatever its texts say.

    Attributes:
        units: The sentences or claims of the answer, in order; their ids are ``s1``, ``s2`` ..
        contexts: The retrieved contexts, in rank order; their ids are ``c1``, ``c2`` ..
        answer: The reference, or the response: a useful context helps to give this text. For judges with
            ``rates_without_answer`` it may be empty; then a useful context answers the question.
        user_input: The question, or None if the sample has none.
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
        object.__setattr__(self, "unit_ids", _number_ids("s", len(self.units)))
        object.__setattr__(self, "context_ids", _number_ids("c", len(self.contexts)))


def _number_ids(letter: str, count: int) -> tuple[str, ...]:
    """Return ids such as ``("c1", "c2", ..)``. All requests of a process share these strings, which takes less memory."""
    return tuple(intern(f"{letter}{number}") for number in range(1, count + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer of a judge.

    Attributes:
        verdicts: Exactly one for each unit (`Judge.attribute`) or each context (`Judge.rate`), in order.
        usage: The calls and tokens that the answer took.
        prompt: The version of the prompt that was used.
        raw: The unchanged replies, if the judge keeps them.
        stability: With several votes, the share of (vote, unit) pairs that agree with the majority.
        served_model: The name of the model that answered, as its server gave it. For the embedded judge: the mark of its
            verdicts. None for other judges.
        stray_ids: The number of ids in the replies of a language model that the request did not have.
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
    """A reference broken into claims, or the code that says why it could not be.

    Attributes:
        claims: The claims, in the order of the reference; empty if there is a code.
        code: A `VerdictCode`, such as ``invalid_reply``; None if the reference was broken into claims.
        usage: What the requests cost.
        prompt: The version of the prompt; None if no model was asked.
    """

    claims: tuple[str, ...]
    code: str | None = None
    usage: Usage = NO_USAGE
    prompt: str | None = None


@runtime_checkable
class Judge(Protocol):
    """Answers the two questions every judged metric asks.

    Attributes:
        name: The name that ``provenance.judge`` shows.
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
        """Say for each context whether this context is useful for giving the answer."""
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
# The type of each field of an answer: in words, as types, and the type of its items if it is a list.
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


def checked_answer(answer: object, answer_class: type[Answer]) -> Answer:
    """Check the type of a judge's answer, and the types of its fields. `checked_verdict` checks the verdicts.

    Args:
        answer: The object that the judge returned.
        answer_class: The class that it must have.

    Raises:
        JudgeError: The answer or a field has the wrong type; the reason code is ``judge_error``.
    """
    if not isinstance(answer, answer_class):
        raise _wrong_type_error("it", f"a ctxmetrics.{answer_class.__name__}", answer)
    for answer_field in fields(answer_class):
        expected_words, field_types, item_type = _FIELDS[answer_field.name]
        value = getattr(answer, answer_field.name)
        if not isinstance(value, field_types):
            raise _wrong_type_error(answer_field.name, expected_words, value)
        if not isinstance(value, (tuple, list)):
            continue
        for item in value:
            if not isinstance(item, item_type):
                raise _wrong_type_error(answer_field.name, expected_words, item)
            if isinstance(item, Verdict) and not isinstance(item.id, str):
                raise _wrong_type_error("a verdict's id", "a string such as 's1'", item.id)
    return answer


def checked_verdict(verdict: Verdict, contexts: Sequence[str]) -> Verdict:
    """Check a verdict: a yes or no, the types of its fields, and its evidence.

    Evidence whose quote does not stand in the contexts is removed. If a yes loses all of its evidence, it becomes a no.

    Returns:
        The verdict. A verdict with a field of the wrong type is replaced by a verdict without a value.
    """
    verdict = _with_plain_value(verdict)
    value: object = verdict.value
    spans: object = verdict.evidence
    problem = None
    # The numbers 0 and 1 are no yes or no, though they equal False and True.
    if not isinstance(value, (bool, _NONE)):
        problem = "the verdict is neither yes nor no"
    elif not isinstance(verdict.reason, (str, _NONE)) or not isinstance(verdict.code, (str, _NONE)):
        problem = "the verdict's reason and code must be strings or None"
    elif not isinstance(verdict.details, Mapping):
        problem = "the verdict's details must be a mapping"
    elif not isinstance(spans, (tuple, list)) or not all(_is_evidence(span) for span in spans):
        problem = "the verdict's evidence must be a tuple of ctxmetrics.Evidence"
    if problem:
        return Verdict(
            id=verdict.id, value=None, text=verdict.text, code="invalid_reply", reason=problem
        )
    verified_spans = tuple(span for span in verdict.evidence if _stands_in_context(span, contexts))
    if len(verified_spans) == len(verdict.evidence):
        return verdict
    if verified_spans or verdict.value is not True:
        return replace(verdict, evidence=verified_spans)
    return replace(
        verdict,
        value=False,
        code="unverified_evidence",
        evidence=(),
        reason="its evidence is not in the context",
    )


def _with_plain_value(verdict: Verdict) -> Verdict:
    """Convert NumPy's booleans to Python's, because NumPy's true is not the object ``True``."""
    value: object = verdict.value
    if value is None or isinstance(value, bool):
        return verdict  # the usual case
    plain_value = as_list(value)
    return replace(verdict, value=plain_value) if isinstance(plain_value, bool) else verdict


def _stands_in_context(span: Evidence, contexts: Sequence[str]) -> bool:
    """Tell whether the quote stands in its context, from ``start`` to ``end``."""
    if not 0 <= span.context < len(contexts):
        return False
    is_counted_from_start = 0 <= span.start <= span.end  # a negative position would count from the end
    return is_counted_from_start and contexts[span.context][span.start : span.end] == span.quote


def _is_evidence(span: object) -> bool:
    """Whether an object is evidence whose fields have the right types."""
    if not isinstance(span, Evidence):
        return False
    has_place = isinstance(span.start, int) and isinstance(span.end, int)
    return has_place and isinstance(span.context, int) and isinstance(span.whole, int)


# The verdict on a unit or a context about which a judge gave no answer.
MISSING = Verdict(id="", value=None, code="missing_id", reason="the judge gave no verdict")


def complete_verdicts(
    verdicts: Sequence[Verdict],
    ids: Sequence[str],
    texts: Sequence[str],
    contexts: Sequence[str],
    missing: Verdict = MISSING,
) -> tuple[Verdict, ...]:
    """Return exactly one checked verdict for each id, in order: no judge can change a denominator or a rank.

    Args:
        verdicts: The verdicts that the judge returned.
        ids: The ids of the request.
        texts: The unit or context of each id.
        contexts: The contexts of the request.
        missing: The verdict of an id that the judge did not answer.
    """
    verdict_by_id: dict[str, Verdict] = {}
    for verdict in map(_with_plain_value, verdicts):
        first_verdict = verdict_by_id.setdefault(verdict.id, verdict)
        if first_verdict is not verdict and first_verdict.value is not verdict.value:
            verdict_by_id[verdict.id] = Verdict(id=verdict.id, value=None, code="conflicting_verdicts")
    completed: list[Verdict] = []
    for id_, text in zip(ids, texts, strict=True):
        verdict = verdict_by_id.get(id_, missing)
        # Also equal strings are replaced by the strings of the request, so that all verdicts share their memory.
        if verdict.id is not id_ or verdict.text is not text:
            verdict = replace(verdict, id=id_, text=text)
        completed.append(checked_verdict(verdict, contexts))
    return tuple(completed)


def _wrong_type_error(part: str, wanted: str, value: object) -> JudgeError:
    """Build the error of an answer whose part has the wrong type."""
    return JudgeError(
        f"what the judge returned cannot be used: {part} must be {wanted}, not {type(value).__name__}",
        reason_code="judge_error",
    )


def describe_rules(judge: Any, names: Sequence[str]) -> str:
    """Describe the parameters that differ from their defaults, in parentheses; an empty text if none does."""
    parameters = []
    for parameter in fields(judge):
        value = getattr(judge, parameter.name, None)
        if parameter.name in names and value != parameter.default:
            parameters.append(f"{parameter.name}={value}")
    return f"({', '.join(parameters)})" if parameters else ""
