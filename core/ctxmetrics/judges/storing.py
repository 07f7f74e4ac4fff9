"""What is remembered of a judgement, and how it is written down. Only complete, checked answers are kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxmetrics.scores import EMPTY, Evidence, Usage, Verdict, frozen, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctxmetrics.judges.replies import Part

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one exchange brought: verdicts by id, or claims.

    Attributes:
        verdicts: By the ids of the part.
        claims: For a decomposition.
        code: Why a decomposition brought nothing.
        usage: What it cost.
        raw: The replies, where they are kept.
        run: Which run asked.
    """

    verdicts: Mapping[str, Verdict] = field(default=EMPTY)
    claims: tuple[str, ...] = ()
    code: str | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    raw: tuple[str, ...] = ()
    run: int = 0

    @property
    def complete(self) -> bool:
        """Whether every id has a yes or no, or there are claims."""
        if self.verdicts:
            return all(verdict.value is not None for verdict in self.verdicts.values())
        return bool(self.claims)


def encode(answer: Answer) -> str:
    """Write an answer as JSON text. Texts are not repeated: the key stands for them."""
    verdicts = {
        id_: {
            "value": verdict.value,
            "reason": verdict.reason,
            "code": verdict.code,
            "evidence": [[span.context, span.start, span.end] for span in verdict.evidence],
            "details": plain(verdict.details),
        }
        for id_, verdict in answer.verdicts.items()
    }
    data = {"format": FORMAT, "verdicts": verdicts, "claims": list(answer.claims), "raw": list(answer.raw)}
    return json.dumps(data, ensure_ascii=False)


def decode(text: str, ids: frozenset[str], part: Part | None) -> Answer | None:
    """Read an answer back and check it again; anything that does not fit is no answer.

    Args:
        text: What was stored. Untrusted: the file may have been changed.
        ids: The ids that need a verdict.
        part: What was shown, to take the texts and quotes from; None for claims.
    """
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            return None
        answer = Answer(
            verdicts=frozen({id_: _verdict(id_, item, part) for id_, item in data["verdicts"].items()}),
            claims=tuple(_strings(data["claims"])),
            raw=tuple(_strings(data["raw"])),
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    return answer if answer.complete and answer.verdicts.keys() == ids else None


def _verdict(id_: str, item: Mapping[str, Any], part: Part | None) -> Verdict:
    value, reason, code = item["value"], item["reason"], item["code"]
    if part is None or not isinstance(value, bool) or not all(_is_text(text) for text in (reason, code)):
        raise ValueError(id_)
    contexts = list(part.contexts.values())
    evidence = tuple(_span(contexts, *span) for span in item["evidence"])
    if value and id_ in part.units and not evidence:
        raise ValueError("a yes without evidence")
    return Verdict(
        id=id_,
        value=value,
        text=part.text_of(id_),
        reason=reason,
        code=code,
        evidence=evidence,
        details=frozen(dict(item["details"])),
    )


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _span(contexts: Sequence[str], context: int, start: int, end: int) -> Evidence:
    if context < 0:
        raise ValueError("no such context")
    text = contexts[context]
    if not 0 <= start < end <= len(text):
        raise ValueError("a span outside the text")
    return Evidence(context, start, end, text[start:end])


def _strings(items: list[Any]) -> list[str]:
    if not all(isinstance(item, str) for item in items):
        raise ValueError("not a list of strings")
    return items
