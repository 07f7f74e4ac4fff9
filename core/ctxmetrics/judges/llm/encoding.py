"""Write the outcome of an exchange to the memo and the cache, and read it back. Only complete, checked outcomes are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, FrozenDict, fields_to_json_data
from ctxmetrics.judges.llm.checking import check, with_doubts
from ctxmetrics.judges.llm.comparing import DOUBTS
from ctxmetrics.judges.llm.splitting import RequestPart
from ctxmetrics.prompts import Pack
from ctxmetrics.text.quote_search import find_quote
from ctxmetrics.verdicts import FLAGS, Evidence, Usage, Verdict

FORMAT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeOutcome:
    """The outcome of one exchange, which is a prompt and its repairs: verdicts by id, or claims.

    Attributes:
        verdicts: The verdicts, by the ids of the part.
        claims: The claims of a decomposition.
        code: Why a decomposition has no claims.
        usage: The tokens and requests of the exchange.
        raw: The replies, if they are kept.
        run: The number of the run that asked.
        served_model: The model's name in the replies.
        stray_ids: The number of ids in the replies that the request did not have.
        unusable: Whether the outcome is not complete because of its replies.
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


def encode(answer: ExchangeOutcome) -> str:
    """Write an answer as JSON text. Texts are not repeated: the key of the cache stands for them."""
    verdicts = {
        id_: {
            **fields_to_json_data(verdict, ("value", "reason", "code")),
            "missing": verdict.details.get("missing"),
            "weak": list(verdict.details.get("weak", ())),
            "evidence": [[span.context, span.start, span.end, span.whole] for span in verdict.evidence],
        }
        for id_, verdict in answer.verdicts.items()
    }
    data = {
        "format": FORMAT,
        "verdicts": verdicts,
        **fields_to_json_data(answer, ("claims", "raw", "served_model")),
    }
    text = json.dumps(data, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()  # half characters, as JSON escapes


def decode(stored: str, request_part: RequestPart, pack: Pack) -> ExchangeOutcome | None:
    """Read a stored answer, and check it like a new reply; None if it does not pass.

    Args:
        stored: The text of `encode`. Untrusted: the file may have been changed.
        request_part: The part of the question: its texts, and the ids that need a verdict. Empty for claims.
        pack: The prompt's language.
    """
    try:
        data = json.loads(stored)
        verdicts = data["verdicts"]
        if data["format"] != FORMAT or not _fields_hold_texts(data):
            return None
        answer = ExchangeOutcome(
            verdicts=FrozenDict(_check_verdicts(verdicts, request_part, pack)),
            claims=tuple(data["claims"]),
            raw=tuple(data["raw"]),
            served_model=data["served_model"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    return answer if answer.complete else None


def _check_verdicts(
    stored: Mapping[str, Any], request_part: RequestPart, pack: Pack
) -> dict[str, Verdict]:
    """Check stored verdicts like a reply with the same content.

    Raises:
        KeyError: An id is missing, the part does not have an id or a context, or the check finds no verdict.
        ValueError: A quote does not count any more, a verdict differs, or a code is no flag.
    """
    evidence: dict[str, tuple[Evidence, ...]] = {}
    entries: dict[str, Mapping[str, Any]] = {}
    for id_, item in stored.items():
        evidence[id_] = tuple(_to_evidence(request_part, *fields) for fields in item["evidence"])
        entries[id_] = _build_entry(item, evidence[id_])
    reply = {
        "sentences": {id_: entries[id_] for id_ in request_part.units},
        "useful": {id_: entries[id_] for id_ in request_part.rated},
    }
    decisions, _ = check(
        data=reply,
        request_part=request_part,
        units=tuple(request_part.units),
        contexts=request_part.rated,
        pack=pack,
    )
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
    """Build the entry of a reply from a stored verdict."""
    quotes = []
    for span in evidence:
        context = f"c{span.context + 1}"
        quotes.append({"context": context, "quote": span.quote, "whole": span.whole})
    return {
        # A question about units reads "supported", and one about contexts reads "useful".
        "supported": item["value"],
        "useful": item["value"],
        "missing": item["missing"],
        "quote": evidence[0].quote if evidence else None,
        "evidence": quotes,
    }


def _fields_hold_texts(data: Mapping[str, Any]) -> bool:
    """Tell whether every field of texts holds texts only."""
    texts = [*data["claims"], *data["raw"]]
    notes = [data["served_model"]]
    for item in data["verdicts"].values():
        notes += (item["reason"], item["code"], item["missing"])
        texts += item["weak"]
    texts += [note for note in notes if note is not None]
    return all(isinstance(text, str) for text in texts)


def _to_evidence(
    request_part: RequestPart, context: int, start: int, end: int, whole: bool
) -> Evidence:
    """Convert the stored fields of one piece of evidence.

    Raises:
        ValueError: The place is outside the context, or its text does not count as a quote.
    """
    text = request_part.contexts[f"c{context + 1}"]
    if not (0 <= start < end <= len(text) and find_quote(text[start:end], text)):
        raise ValueError("a span outside the text, or a quote that is none")
    return Evidence(context, start, end, text[start:end], whole is True)
