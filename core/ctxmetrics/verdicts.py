"""What a judge returns: verdicts, the evidence for them, and their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from ctxmetrics._internal.frozen import EMPTY, Bounds, Frozen, Plain, to_json_data

# A whole number from 0 on, small enough for sums and means; files of results are refused that hold another.
Count = Annotated[int, Bounds(ge=0, le=10**15)]
# Why a verdict is missing, or flagged. Stable.
VerdictCode = Literal[
    "missing_id",  # the reply did not cover this id, also when asked again
    "invalid_reply",  # no reply could be read
    "refused",  # the model declined
    "truncated",  # the reply was cut off by a length limit
    "too_long",  # the request is longer than the model can read
    "truncated_prompt",  # the server cut the request: the model read a part of it
    "conflicting_verdicts",  # the reply said yes and no about one id, or the votes were split evenly
    "unverified_evidence",  # the quote is not in the context: the verdict is no
    "too_many_quotes",  # more quotes, or longer ones, than are looked for, and none of the others was found
    "weak_evidence",  # the quote is in the context and proves little
    "contradicted",  # the reply contradicts itself, or the text it was asked about
    "uncertain",  # the embedded judge found a contradiction: a person should look
    "near_bar",  # the probability is near the bar: it could as well be the other answer
    "no_echo",  # the reply did not repeat the code of its request, and its quotes are right
    "wrong_data",  # the reply answers another request
    "rate_limited",
    "overloaded",
    "timeout",
    "connection_error",
    "server_error",
    "client_error",
    "judge_error",
    "pending",  # the batch with the request is not answered yet
    "batch_failed",  # the batch with the request ended without an answer to it, also when asked again
    "judge_down",  # too many failures in a row: not asked any more
    "budget_exceeded",
]

# The number of characters that count as one token, where no server has counted the tokens.
CHARACTERS_A_TOKEN = 4
# Codes of the positive and negative verdicts of a language model, the most serious last.
FLAGS = (None, "no_echo", "weak_evidence", "contradicted", "unverified_evidence")
# A negative verdict with this reason in `details["weak"]` is weak: it names no missing word of its sentence.
EMPTY_FORM = "empty_form"
# The code of verdicts that wait for the answer to a batch, and of the scores that need these verdicts.
PENDING = "pending"
# Codes of verdicts that are counted as doubtful wherever a mean is shown.
DOUBTFUL = frozenset({"unverified_evidence", "weak_evidence", "contradicted", "uncertain", "near_bar"})


@dataclass(frozen=True, slots=True)
class Evidence(Plain):
    """A span of retrieved text that the library itself found.

    ``sample.retrieved_contexts[context][start:end] == quote`` holds for every stored span.

    Attributes:
        context: Index of the context, from 0.
        start: First character of the span.
        end: One past its last character.
        quote: The text of the span.
        whole: Whether this context alone states the whole unit. False if it states only a part of it.
    """

    context: Count
    start: Count
    end: Count
    quote: str
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Plain):
    """The verdict about one unit of the reference or one retrieved context: yes, no or not judged.

    Attributes:
        id: ``s1``, ``s2`` .. for units; ``c1``, ``c2`` .. for contexts; the id itself in id metrics.
        value: True (supported, useful, or a hit), False, or None if it was not judged.
        text: The unit or context the verdict is about.
        reason: The judge's reason for the verdict; None if it gave none.
        code: The reason why the verdict is missing or flagged (`VerdictCode`), else None.
        evidence: The spans of the retrieved text that support a positive verdict; for a negative verdict, the parts that are stated.
        details: Further data of the judge, such as missing words, similarity or stability. For a fact: its id, its weight and the
            value of a supported part.
    """

    id: str
    value: bool | None
    text: str = ""
    reason: str | None = None
    code: str | None = None
    evidence: tuple[Evidence, ...] = ()
    details: Annotated[Mapping[str, Any], Frozen()] = field(default=EMPTY, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON-ready data: written out, because a run makes one for each context and unit."""
        return {
            "id": self.id,
            "value": self.value,
            "text": self.text,
            "reason": self.reason,
            "code": self.code,
            "evidence": [span.to_dict() for span in self.evidence],
            "details": to_json_data(self.details) if self.details else {},
        }

    @property
    def weight(self) -> float:
        """How much the verdict counts, at least 0: the weight of a fact if the metric weighs facts, else 1."""
        return float(self.details.get("weight", 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(Plain):
    """The cost of a judgement.

    Attributes:
        calls: Requests that were sent, retries included.
        prompt_tokens: Tokens sent, as the server counted them.
        completion_tokens: Tokens received.
        reused: Judgements answered from memory, the cache or a request in flight, at no cost.
        cost: Money in the currency of the model; None if the model does not state it.
        estimated: Whether the server counted no tokens, so that they are estimated as characters / 4.
        repeats: The calls that asked again, after a failure or for missing parts of a reply. `calls` includes them.
    """

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    reused: Count = 0
    cost: float | None = None
    estimated: bool = False
    repeats: Count = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON-ready data, ``repeats`` only if there are some."""
        data = Plain.to_dict(self)
        if not self.repeats:
            del data["repeats"]
        return data

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reused=self.reused + other.reused,
            cost=other.cost if self.cost is None else self.cost + (other.cost or 0.0),
            estimated=self.estimated or other.estimated,
            repeats=self.repeats + other.repeats,
        )

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received."""
        return self.prompt_tokens + self.completion_tokens


# Nothing was paid. Scores share this object, so that a writer knows it without comparing fields.
NO_USAGE: Usage = Usage()
