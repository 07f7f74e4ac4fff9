"""What is remembered of a judgement, and how it is written down. Only complete, checked answers are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, FrozenDict, plain_fields
from ctxmetrics.judges.evidence.quotes import DOUBTS
from ctxmetrics.judges.llm.checking import check, with_doubts
from ctxmetrics.judges.llm.splitting import Part
from ctxmetrics.prompts import Pack
from ctxmetrics.text import find_quote
from ctxmetrics.verdicts import FLAGS, Evidence, Usage, Verdict

FORMAT = 3


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
        served_model: The model's name as the server gave it.
        stray_ids: How many ids of the replies were not asked about.
        unusable: Whether it is not complete, and its replies are the reason.
    """

    verdicts: Mapping[str, Verdict] = field(default=EMPTY)
    claims: tuple[str, ...] = ()
    code: str | None = None
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    raw: tuple[str, ...] = ()
    run: int = 0
    served_model: str | None = None
    stray_ids: int = 0
    unusable: bool = False

    @property
    def complete(self) -> bool:
        """Whether every id has a yes or no, or there are claims."""
        if self.verdicts:
            return all(verdict.value is not None for verdict in self.verdicts.values())
        return bool(self.claims)


def encode(answer: Answer) -> str:
    """Write an answer as JSON text. Texts are not repeated: the key of the cache stands for them."""
    verdicts = {
        id_: {
            **plain_fields(verdict, ("value", "reason", "code")),
            "missing": verdict.details.get("missing"),
            "weak": list(verdict.details.get("weak", ())),
            "evidence": [[span.context, span.start, span.end, span.whole] for span in verdict.evidence],
        }
        for id_, verdict in answer.verdicts.items()
    }
    data = {
        "format": FORMAT,
        "verdicts": verdicts,
        **plain_fields(answer, ("claims", "raw", "served_model")),
    }
    text = json.dumps(data, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()  # half characters, as JSON escapes


def decode(stored: str, part: Part, pack: Pack) -> Answer | None:
    """Read an answer back and check it as a reply that has just come; anything that does not fit is no answer.

    Args:
        stored: What was stored. Untrusted: the file may have been changed.
        part: What was shown, to take the texts and quotes from, and what needs a verdict; empty for claims.
        pack: The prompt's language.
    """
    try:
        data = json.loads(stored)
        verdicts = data["verdicts"]
        if data["format"] != FORMAT or not _holds_texts(data):
            return None
        answer = Answer(
            verdicts=FrozenDict(_checked(verdicts, part, pack)),
            claims=tuple(data["claims"]),
            raw=tuple(data["raw"]),
            served_model=data["served_model"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    return answer if answer.complete else None


def _checked(stored: Mapping[str, Any], part: Part, pack: Pack) -> dict[str, Verdict]:
    """Check stored verdicts as the reply that says the same.

    Raises:
        KeyError: An id is missing, an id or a context was not shown, or the check finds no verdict.
        ValueError: A quote counts no longer, a verdict differs, or a code is no flag.
    """
    evidence: dict[str, tuple[Evidence, ...]] = {}
    entries: dict[str, Mapping[str, Any]] = {}
    for id_, item in stored.items():
        evidence[id_] = tuple(_span(part, *span) for span in item["evidence"])
        entries[id_] = _build_entry(item, evidence[id_])
    reply = {
        "sentences": {id_: entries[id_] for id_ in part.units},
        "useful": {id_: entries[id_] for id_ in part.rated},
    }
    decisions, _ = check(reply, part, tuple(part.units), part.rated, pack)
    verdicts: dict[str, Verdict] = {}
    for id_, item in stored.items():
        verdict, problem = decisions[id_]
        if verdict is None or problem:
            raise KeyError(id_)
        if verdict.value is not item["value"] or not DOUBTS.issuperset(item["weak"]):
            raise ValueError("another verdict, or an unknown doubt")
        weak = (*item["weak"], *verdict.details.get("weak", ()))
        verdicts[id_] = replace(
            with_doubts(verdict, weak, verdict.details),
            reason=item["reason"] or verdict.reason,
            code=max(item["code"], verdict.code, key=FLAGS.index),
            evidence=evidence[id_],
        )
    return verdicts


def _build_entry(item: Mapping[str, Any], evidence: Sequence[Evidence]) -> Mapping[str, Any]:
    """Build the entry of a reply that says what was stored."""
    quotes = []
    for span in evidence:
        context = f"c{span.context + 1}"
        quotes.append({"context": context, "quote": span.quote, "whole": span.whole})
    return {
        "supported": item["value"],
        "useful": item["value"],
        "missing": item["missing"],
        "quote": evidence[0].quote if evidence else None,
        "evidence": quotes,
    }


def _holds_texts(data: Mapping[str, Any]) -> bool:
    """Whether everything is a text that should be one."""
    texts = [*data["claims"], *data["raw"]]
    notes = [data["served_model"]]
    for item in data["verdicts"].values():
        notes += (item["reason"], item["code"], item["missing"])
        texts += item["weak"]
    texts += [note for note in notes if note is not None]
    return all(isinstance(text, str) for text in texts)


def _span(part: Part, context: int, start: int, end: int, whole: bool) -> Evidence:
    text = part.contexts[f"c{context + 1}"]
    if not (0 <= start < end <= len(text) and find_quote(text[start:end], text)):
        raise ValueError("a span outside the text, or a quote that is none")
    return Evidence(context, start, end, text[start:end], whole is True)
