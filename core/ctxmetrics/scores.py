"""What a metric returns: a score, the verdicts behind it, and the evidence behind those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

ReasonCode = Literal[
    "no_reference",  # nothing is expected: the reference side is empty or holds no letter or digit
    "no_response",  # the same for metrics that compare with the response
    "no_retrieved_contexts",  # nothing was retrieved, and the convention calls that undefined
    "missing_field",  # the sample lacks a field that other samples have
    "not_text",  # a field holds a picture, or other content that is no text
    "not_judged",  # the judge gave no usable verdict for at least one unit or context
    "cancelled",  # the run was stopped before this sample was reached
    "metric_error",  # the metric itself failed; the message says how
]
"""Why a score has no value. Stable: programs may switch on it."""

FAILURES = frozenset({"not_judged", "metric_error"})
"""Reason codes of what failed, as opposed to a sample that has no number."""
NOT_FINAL = FAILURES | {"cancelled"}
"""Reason codes of samples that another run may score."""

VerdictCode = Literal[
    "missing_id",  # the reply did not cover this id, also when asked again
    "invalid_reply",  # no reply could be read
    "refused",  # the model declined
    "truncated",  # the reply was cut off by a length limit
    "conflicting_verdicts",  # the reply said yes and no about one id, or the votes were split evenly
    "unverified_evidence",  # the quote is not in the context: the verdict is no
    "too_many_quotes",  # more quotes, or longer ones, than are looked for, and none of the others was found
    "rate_limited",
    "overloaded",
    "timeout",
    "connection_error",
    "server_error",
    "client_error",
    "judge_error",
    "judge_down",  # too many failures in a row: not asked any more
    "budget_exceeded",
]
"""Why a verdict is missing, or flagged. Stable."""


class FrozenDict(Mapping[str, Any]):
    """A mapping that cannot be changed and, unlike a mapping proxy, can be pickled, copied and be a default."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (self._items,)


EMPTY = FrozenDict({})


@dataclass(frozen=True, slots=True)
class Evidence:
    """A span of retrieved text that the library itself found.

    ``sample.retrieved_contexts[context][start:end] == quote`` holds for every stored span.

    Attributes:
        context: Index of the context, from 0.
        start: First character of the span.
        end: One past its last character.
        quote: The text of the span.
    """

    context: int
    start: int
    end: int
    quote: str

    def to_dict(self) -> dict[str, Any]:
        """Return the four fields as a plain dict."""
        return {"context": self.context, "start": self.start, "end": self.end, "quote": self.quote}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Yes, no or not judged, about one unit of the reference or one retrieved context.

    Attributes:
        id: ``s1``, ``s2`` .. for units; ``c1``, ``c2`` .. for contexts; the id itself in id metrics.
        value: True (supported, useful, hit), False, or None when not judged.
        text: The unit or context the verdict is about.
        reason: Why, in words, where the judge said so.
        code: Why the verdict is missing or flagged (`VerdictCode`), else None.
        evidence: The spans of the retrieved text behind a yes.
        details: What else the judge measured (missing words, similarity, stability ..).
    """

    id: str
    value: bool | None
    text: str = ""
    reason: str | None = None
    code: str | None = None
    evidence: tuple[Evidence, ...] = ()
    details: Mapping[str, Any] = field(default=EMPTY, hash=False)

    def about(self, id_: str, text: str) -> Verdict:
        """Return the verdict under another id and with another text; itself where it has them."""
        return self if self.id == id_ and self.text == text else replace(self, id=id_, text=text)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON-ready data."""
        return {
            "id": self.id,
            "value": self.value,
            "text": self.text,
            "reason": self.reason,
            "code": self.code,
            "evidence": [span.to_dict() for span in self.evidence],
            "details": plain(self.details),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a judgement cost.

    Attributes:
        calls: Requests that were sent, retries included.
        prompt_tokens: Tokens sent, as the server counted them.
        completion_tokens: Tokens received.
        reused: Judgements answered from memory, the cache or a request in flight, at no cost.
        cost: Money, in the model's own currency, where the model says so.
        estimated: True when a server gave no token counts and characters / 4 stand in.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reused: int = 0
    cost: float | None = None
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reused=self.reused + other.reused,
            cost=other.cost if self.cost is None else self.cost + (other.cost or 0.0),
            estimated=self.estimated or other.estimated,
        )

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dict."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What must be equal before two scores may be compared.

    Attributes:
        judge: Name of the judge and its model, or None where nothing is judged.
        prompt: Version of the prompt, where one was used.
        splitter: How the reference was cut into units.
        formula: Name of the formula.
        convention: Name of the convention.
        library: ``ctxmetrics`` and its version.
        warnings: What a reader of the number must know about the judge.
    """

    judge: str | None = None
    prompt: str | None = None
    splitter: str | None = None
    formula: str = ""
    convention: str = "default"
    library: str = ""
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dict."""
        return {item.name: plain(getattr(self, item.name)) for item in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One metric on one sample.

    Attributes:
        metric: The metric's name with the parameters that differ from the default.
        value: The number on the convention's scale, or None.
        reason_code: Why there is no value (`ReasonCode`); None when there is one.
        message: The same in one sentence, naming the ids or the field.
        threshold: The pass mark on the score's own scale, or None.
        band: The convention's wording for the value, where it has one.
        verdicts: One a unit, context or id, in order.
        signals: The convention's own result object, where it has one.
        metadata: What the convention or the judge adds.
        provenance: Judge, prompt, splitter, formula, convention, version, warnings.
        usage: Calls and tokens that this score caused.
        sample_id: The sample's id, where it has one.
    """

    metric: str
    value: float | None
    reason_code: str | None = None
    message: str | None = None
    threshold: float | None = None
    band: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    signals: Any = None
    metadata: Mapping[str, Any] = field(default=EMPTY, hash=False)
    provenance: Provenance = Provenance()
    usage: Usage = Usage()
    sample_id: str | None = None

    @property
    def passed(self) -> bool | None:
        """``value >= threshold``; None without a value or a threshold."""
        if self.value is None or self.threshold is None:
            return None
        return self.value >= self.threshold

    @property
    def reason(self) -> str:
        """What was missed or useless and why, in a few lines of text."""
        from ctxmetrics.report.text import reason

        return reason(self)

    def pretty(self, *, color: bool = False) -> str:
        """Value, band, pass mark, k of n, then one line a unit with its evidence or what is missing.

        Args:
            color: Colour the ticks and crosses with ANSI escapes.
        """
        from ctxmetrics.report.text import pretty

        return pretty(self, color=color)

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain JSON-ready data; the keys are those of an ``--out`` row."""
        return {
            "sample_id": self.sample_id,
            "metric": self.metric,
            "value": self.value,
            "reason_code": self.reason_code,
            "message": self.message,
            "threshold": self.threshold,
            "passed": self.passed,
            "band": self.band,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "signals": plain(self.signals),
            "metadata": plain(self.metadata),
            "usage": self.usage.to_dict(),
            "provenance": self.provenance.to_dict(),
        }


def unjudged(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts without a yes or no."""
    return tuple(verdict for verdict in verdicts if verdict.value is None)


def plain(value: Any) -> Any:
    """Turn mappings, tuples and objects with ``to_dict`` into JSON-ready data."""
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if hasattr(value, "items"):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def frozen(mapping: Mapping[str, Any]) -> FrozenDict:
    """Return a read-only copy of a mapping."""
    return FrozenDict(mapping) if mapping else EMPTY
