"""The protocol of a judge: whatever answers "which contexts support this unit?" and "is this context useful?".

A judge of one's own needs two methods; see ``examples/own_judge.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from sys import intern

# Not typing's: before Python 3.12 that one asks an object for its attributes, and some raise.
from typing_extensions import Protocol, runtime_checkable

from ctxmetrics.verdicts import Usage, Verdict

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
    """

    units: tuple[str, ...]
    contexts: tuple[str, ...]
    answer: str
    user_input: str | None = None
    language: str = "en"

    @property
    def unit_ids(self) -> tuple[str, ...]:
        """``("s1", "s2", ..)``; all verdicts of a process share them, which takes less memory."""
        return tuple(intern(f"s{number}") for number in range(1, len(self.units) + 1))

    @property
    def context_ids(self) -> tuple[str, ...]:
        """``("c1", "c2", ..)``."""
        return tuple(intern(f"c{number}") for number in range(1, len(self.contexts) + 1))


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
    """

    verdicts: tuple[Verdict, ...]
    usage: Usage = NO_USAGE
    prompt: str | None = None
    raw: tuple[str, ...] = ()
    stability: float | None = None
    served_model: str | None = None


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
