"""The two small protocols of judging.

The judge: whatever answers "which contexts support this unit?" and "is this context useful?".
The model: a language model that turns a prompt and a schema into a reply; an `LLMJudge` has one.

A judge of one's own needs two methods, a model one; see ``examples/own_judge.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ctxmetrics.scores import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from ctxmetrics.scores import Verdict

NO_USAGE = Usage()
ONE_CALL = Usage(calls=1)
_MOST = 1_000_000_000
"""Tokens, calls or money that one reply may cost; what is more is no count."""


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
        """``("s1", "s2", ..)``."""
        return tuple(f"s{number}" for number in range(1, len(self.units) + 1))

    @property
    def context_ids(self) -> tuple[str, ...]:
        """``("c1", "c2", ..)``."""
        return tuple(f"c{number}" for number in range(1, len(self.contexts) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer of a judge.

    Attributes:
        verdicts: Exactly one a unit (`Judge.attribute`) or a context (`Judge.rate`), in order.
        usage: What it cost.
        prompt: Version of the prompt that was used.
        raw: The replies as they came, where the judge was told to keep them.
        stability: With several votes, the share of (vote, unit) pairs that agree with the majority.
    """

    verdicts: tuple[Verdict, ...]
    usage: Usage = NO_USAGE
    prompt: str | None = None
    raw: tuple[str, ...] = ()
    stability: float | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One question to a language model.

    Attributes:
        step: ``"claims"``, ``"attribution"``, ``"usefulness"`` or ``"joint"``.
        version: Name, language and version of the text; part of the provenance and of every cache key.
        system: The fixed part, equal for every sample, so that a provider's prefix cache serves it.
        user: The data, as escaped JSON in a block of its own; then, when asked again, what was wrong.
        attempt: 0 for the first question, 1 .. when asked again.
        vote: 0 .. with several votes.
    """

    step: str
    version: str
    system: str
    user: str
    attempt: int = 0
    vote: int = 0

    @property
    def text(self) -> str:
        """Both parts as one text, for models that take one string."""
        return f"{self.system}\n\n{self.user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a language model answered.

    Attributes:
        content: Raw text, or an object that the model's client already parsed. Untrusted either way.
        usage: Calls and tokens, as the server counted them.
    """

    content: str | Mapping[str, object] | BaseModel
    usage: Usage = ONE_CALL


def checked_usage(usage: object, *, sent: str, received: str) -> Usage:
    """Return what a reply cost, as figures that can be added up: what a server or client counts is untrusted.

    Args:
        usage: A `Usage` whose fields may hold anything, or something else.
        sent: The text of the prompt: where its tokens were not counted, characters / 4 stand in, marked as estimated.
        received: The same for the reply.
    """
    given, counted = (_count(getattr(usage, name, None)) for name in ("prompt_tokens", "completion_tokens"))
    calls, reused = (_count(getattr(usage, name, None)) for name in ("calls", "reused"))
    return Usage(
        calls=1 if calls is None else calls,
        prompt_tokens=_estimate(sent) if given is None else given,
        completion_tokens=_estimate(received) if counted is None else counted,
        reused=reused or 0,
        cost=_cost(getattr(usage, "cost", None)),
        estimated=given is None or counted is None or getattr(usage, "estimated", False) is True,
    )


def _count(number: object) -> int | None:
    is_count = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST
    return int(number) if is_count else None  # type: ignore[call-overload]  # an int


def _cost(money: object) -> float | None:
    is_cost = isinstance(money, (int, float)) and not isinstance(money, bool) and 0 <= money <= _MOST
    return float(money) if is_cost else None  # type: ignore[arg-type]  # a number; not NaN, which is not at least 0


def _estimate(text: str) -> int:
    """Tokens by the rule of thumb of four characters each, rounded up."""
    return -(-len(text) // 4)


@runtime_checkable
class Model(Protocol):
    """A language model: turns a prompt and a schema into a reply.

    Attributes:
        identity: Provider, model name and the parameters that change its answers. It is part of every cache
            key; it holds no key and no address with a password.
    """

    @property
    def identity(self) -> str:
        """What tells it from every other model."""
        ...

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Answer a prompt with JSON of the schema, as text or as an object.

        Raises:
            JudgeError: The model could not answer; ``retryable`` and ``retry_after`` say whether to ask again.
                Any other exception is taken for one of these, by its status code where it has one.
        """
        ...
