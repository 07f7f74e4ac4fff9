"""What is remembered of a judgement, and how it is written down. Only complete, checked answers are kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ctxmetrics._frozen import EMPTY, frozen
from ctxmetrics.judges.llm.reply import check
from ctxmetrics.text import find_quote
from ctxmetrics.verdicts import Evidence, Usage, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctxmetrics.judges.llm.reply import Part
    from ctxmetrics.prompts import Pack

FORMAT = 2


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


def encode(answer: Answer, key: str) -> str:
    """Write an answer as JSON text after a hash that binds it to its key. Texts are not repeated: the key stands for them."""
    verdicts = {
        id_: {
            "value": verdict.value,
            "reason": verdict.reason,
            "code": verdict.code,
            "evidence": [[span.context, span.start, span.end] for span in verdict.evidence],
        }
        for id_, verdict in answer.verdicts.items()
    }
    data = {"format": FORMAT, "verdicts": verdicts, "claims": list(answer.claims), "raw": list(answer.raw)}
    text = json.dumps(data, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode()  # half characters, as JSON escapes
    return f"{_seal(key, text)} {text}"


def decode(stored: str, key: str, ids: frozenset[str], part: Part | None, pack: Pack) -> Answer | None:
    """Read an answer back and check it as a reply that has just come; anything that does not fit is no answer.

    Args:
        stored: What was stored. Untrusted: the file may have been changed.
        key: What it was stored under.
        ids: The ids that need a verdict.
        part: What was shown, to take the texts and quotes from; None for claims.
        pack: The prompt's language.
    """
    seal, _, text = stored.partition(" ")
    if seal != _seal(key, text):
        return None
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            return None
        verdicts = {id_: _verdict(id_, item, part) for id_, item in data["verdicts"].items()}
        answer = Answer(
            verdicts=frozen(verdicts if part is None else _checked(verdicts, part, pack)),
            claims=tuple(_strings(data["claims"])),
            raw=tuple(_strings(data["raw"])),
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    return answer if answer.complete and answer.verdicts.keys() == ids else None


def _seal(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _checked(verdicts: Mapping[str, Verdict], part: Part, pack: Pack) -> dict[str, Verdict]:
    """Check stored verdicts as the reply that says the same.

    Raises:
        ValueError: A quote counts no longer, or a verdict differs.
    """
    reply: dict[str, list[dict[str, Any]]] = {"sentences": [], "contexts": []}
    contexts = list(part.contexts)
    for id_, verdict in verdicts.items():
        quotes = [{"context": contexts[span.context], "quote": span.quote} for span in verdict.evidence]
        if not all(
            find_quote(span.quote, part.contexts[contexts[span.context]]) for span in verdict.evidence
        ):
            raise ValueError("a quote that is none")
        if id_ in part.units:
            reply["sentences"].append({"id": id_, "supported": verdict.value, "evidence": quotes})
        else:
            reply["contexts"].append({"id": id_, "useful": verdict.value})
    units, rated = ([id_ for id_ in verdicts if id_ in of] for of in (part.units, part.contexts))
    found = check(reply, part, units, rated, pack).verdicts
    if any(found[id_].value != verdict.value for id_, verdict in verdicts.items()):
        raise ValueError("another verdict")
    return {id_: replace(verdict, details=found[id_].details) for id_, verdict in verdicts.items()}


def _verdict(id_: str, item: Mapping[str, Any], part: Part | None) -> Verdict:
    value, reason, code = item["value"], item["reason"], item["code"]
    if part is None or not isinstance(value, bool) or not all(_is_text(text) for text in (reason, code)):
        raise ValueError(id_)
    contexts = list(part.contexts.values())
    return Verdict(
        id=id_,
        value=value,
        text=part.text_of(id_),
        reason=reason,
        code=code,
        evidence=tuple(_span(contexts, *span) for span in item["evidence"]),
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
