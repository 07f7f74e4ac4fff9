"""Slips of a judge and other shapes of its reply: how many numbers come out wrong without a flag.

    python benchmarks/run.py reply_slips [--paths core ragas deepeval langsmith] [--samples 10] [--only KIND ..] [--write-docs]

The corpora, the rates and the measure are those of ``reply_contradictions``. The kinds are others: a quote that was changed so
that it states the sentence, an entry that was copied from its neighbour, keys of the model's own that deny the verdict, ids
counted from 0, lists in another order, half of a reply, a reply within a tool call, and the like. ``LEFT`` names the kinds that
no reader of one reply can find out, and why. The honest kinds have another shape and the same content: a number, if there is
one, is right and not flagged.

``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

from faults import content_faults as base
from faults import reply_contradictions as kinds
from faults.content_faults import Ask, Entry, best, fault, rated_of, sentences, units_of
from faults.reply_contradictions import FALSE, contexts_read, supported
from support.chat import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

TRUE = (0, 1, 2)
"""The places of the sentences that a context states."""


def place_of(id_: str, ask: Ask) -> int:
    """The place of a sentence in the whole reference."""
    return sentences(ask.number).index(ask.question.units[id_])


# --- a quote that was changed ---


@fault
def misquoted(
    reply: Entry,
    ask: Ask,
    change: Callable[[str, str, Ask], str],
    places: tuple[int, ...] = FALSE,
) -> Any:
    """False sentences called supported by the closest sentence, which was rewritten; its context is useful."""
    named = set()
    for id_, entry in units_of(reply).items():
        if place_of(id_, ask) in places:
            unit = ask.question.units[id_]
            evidence = [{**item, "quote": change(item["quote"], unit, ask)} for item in best(unit, ask)]
            named |= {item["context"] for item in evidence}
            entry.update(evidence=evidence, missing="", supported=True)
    for id_ in named & rated_of(reply).keys():
        rated_of(reply)[id_].update(useful=True, quote="")
    return reply


def corrected(quote: str, unit: str, _: Ask) -> str:
    """Each number and name of the quote as the unit has it."""
    pattern = r"\b(?:[A-Z]?\d+|[A-Z]\w+)\b"
    of_unit = [word for word in re.findall(pattern, unit) if word not in quote]
    for word in re.findall(pattern, quote):
        if word not in unit and of_unit:
            quote = quote.replace(word, of_unit.pop(0))
    return quote


def undenied(quote: str, *_: Any) -> str:
    """The quote without the words that deny or limit it."""
    return re.sub(
        r"\b(?:not|no longer|never|another|other|failed to|until \d+)\s", "", quote, flags=re.IGNORECASE
    )


def in_brackets(quote: str, unit: str, _: Ask) -> str:
    """The quote with the first word of the unit that it lacks, in brackets at the front."""
    lacking = [word for word in unit.rstrip(".").split() if word not in quote]
    return f"[{lacking[0]}] {quote}" if lacking else quote


def with_comment(quote: str, unit: str, _: Ask) -> str:
    return f"{quote.rstrip('.')} (that is, {unit.rstrip('.')})"


def stitched(quote: str, unit: str, _: Ask) -> str:
    """The first half of the quote and the second half of the unit."""
    words, own = quote.split(), unit.split()
    return " ".join([*words[: len(words) // 2], *own[len(own) // 2 :]])


def with_gap(quote: str, *_: Any) -> str:
    """The quote with its middle words left out."""
    words = quote.rstrip(".").split()
    third = max(1, len(words) // 3)
    return " ".join([*words[:third], "...", *words[-third:]])


def from_unit(_: str, unit: str, __: Ask) -> str:
    return unit


def from_question(_: str, __: str, ask: Ask) -> str:
    return str(ask.question.data["question"])


def two_words(quote: str, unit: str, _: Ask) -> str:
    """Two words of the quote that the unit has too, from the first to the last of them."""
    words = quote.rstrip(".").split()
    own = {word.strip(".,").lower() for word in unit.split()}
    shared = [place for place, word in enumerate(words) if word.strip(".,").lower() in own]
    return " ".join(words[shared[0] : shared[-1] + 1]) if shared else quote


# --- an entry copied from another one, or under another id ---


@fault
def copied(reply: Entry, ask: Ask, place: int, step: int) -> Any:
    """The entry at a place is that of a neighbour."""
    ids = list(units_of(reply))
    if len(ids) > max(place, place + step):
        reply["sentences"][ids[place]] = copy.deepcopy(reply["sentences"][ids[place + step]])
    return reply


@fault
def verdict_of_neighbour(reply: Entry, ask: Ask, place: int, step: int) -> Any:
    """The verdict at a place is that of a neighbour; evidence and missing words stay."""
    ids = list(units_of(reply))
    if len(ids) > max(place, place + step):
        units_of(reply)[ids[place]]["supported"] = units_of(reply)[ids[place + step]]["supported"]
    return reply


@fault
def field_of_neighbour(reply: Entry, ask: Ask, field: str) -> Any:
    """A field of each sentence is that of the next one."""
    cells = list(units_of(reply).values())
    values = [copy.deepcopy(cell[field]) for cell in cells]
    for cell, value in zip(cells, values[1:] + values[:1], strict=True):
        cell[field] = value
    return reply


@fault
def reversed_list(reply: Entry, ask: Ask, key: str) -> Any:
    """The entries stand in the opposite order under the ids."""
    if key in reply:
        reply[key] = dict(zip(reply[key], [*reply[key].values()][::-1], strict=True))
    return reply


@fault
def from_zero(reply: Entry, ask: Ask, *keys: str) -> Any:
    """Ids are counted from 0: of the sentences, of the contexts, of the contexts in the evidence."""

    def lower(id_: str) -> str:
        return f"{id_[0]}{int(id_[1:]) - 1}"

    for key in {"sentences", "useful"}.intersection(keys):
        if key in reply:
            reply[key] = {lower(id_): entry for id_, entry in reply[key].items()}
    if "evidence" in keys:
        for entry in units_of(reply).values():
            for item in entry["evidence"]:
                item["context"] = lower(item["context"])
    return reply


@fault
def contexts_by(reply: Entry, ask: Ask, step: int) -> Any:
    """Every context is taken for one so many places on, in the evidence and among the useful ones."""
    ids = list(ask.question.contexts)
    moved = {id_: ids[(place + step) % len(ids)] for place, id_ in enumerate(ids)}
    for entry in units_of(reply).values():
        for item in entry["evidence"]:
            item["context"] = moved[item["context"]]
    if "useful" in reply:
        honest = reply["useful"]
        reply["useful"] = {id_: honest.get(id_) for id_ in honest}
        for id_, entry in honest.items():
            if moved[id_] in reply["useful"]:
                reply["useful"][moved[id_]] = entry
    return reply


@fault
def exchanged(reply: Entry, ask: Ask, key: str, one: int, two: int) -> Any:
    """The entries of two places are exchanged."""
    ids = list(reply.get(key, ()))
    if len(ids) > max(one, two):
        cells = reply[key]
        cells[ids[one]], cells[ids[two]] = cells[ids[two]], cells[ids[one]]
    return reply


# --- keys of the model's own ---


@fault
def extra(
    reply: Entry, ask: Ask, words: Entry, places: tuple[int, ...] = FALSE, *, in_evidence: bool = False
) -> Any:
    """False sentences called supported, with more keys that say otherwise, in the entry or in its evidence."""
    supported(places)(reply, ask)
    for id_, entry in units_of(reply).items():
        if place_of(id_, ask) in places:
            for target in entry["evidence"] if in_evidence else [entry]:
                target.update(copy.deepcopy(words))
    return reply


@fault
def elsewhere(
    reply: Entry, ask: Ask, add: Callable[[Entry, list[str]], None], places: tuple[int, ...] = FALSE
) -> Any:
    """False sentences called supported, and unsupported at another place of the reply."""
    supported(places)(reply, ask)
    add(reply, [id_ for id_ in units_of(reply) if place_of(id_, ask) in places])
    return reply


def in_capitals(reply: Entry, ids: list[str]) -> None:
    for id_ in ids:
        reply["sentences"][id_.upper()] = {"evidence": [], "missing": "all of it", "supported": False}


@fault
def extra_no(reply: Entry, ask: Ask, words: Entry) -> Any:
    """True sentences called unsupported, some of their words missing, with more keys that say otherwise."""
    kinds.lazy()(reply, ask)
    for id_, entry in units_of(reply).items():
        if place_of(id_, ask) in TRUE:
            entry.update(copy.deepcopy(words))
    return reply


@fault
def extra_useful(reply: Entry, ask: Ask, words: Entry) -> Any:
    """Near contexts called useful, with more keys that say otherwise."""
    kinds.near_useful()(reply, ask)
    for id_, entry in rated_of(reply).items():
        if base.contexts(ask.number).index(ask.question.contexts[id_]) in (0, 2, 5):
            entry.update(copy.deepcopy(words))
    return reply


@fault
def valued(reply: Entry, ask: Ask, yes: Any, no: Any) -> Any:
    """Other values in place of true and false."""
    for entry in units_of(reply).values():
        entry["supported"] = yes if entry["supported"] else no
    for entry in rated_of(reply).values():
        entry["useful"] = yes if entry["useful"] else no
    return reply


@fault
def valued_wrongly(reply: Entry, ask: Ask, value: Any) -> Any:
    """This value for the false sentences, with the closest sentence."""
    supported()(reply, ask)
    for id_, entry in units_of(reply).items():
        if place_of(id_, ask) in FALSE:
            entry["supported"] = value
    return reply


# --- other judges than honest ones ---


@fault
def useful_by(reply: Entry, ask: Ask, own: Callable[[str, Ask], str]) -> Any:
    """Useless contexts called useful, each with this quote."""
    for id_, entry in rated_of(reply).items():
        if not entry["useful"]:
            entry.update(useful=True, quote=own(ask.question.contexts[id_], ask))
    return reply


@fault
def one_useless(reply: Entry, ask: Ask, place: int, missing: Callable[[str], str]) -> Any:
    """What a context states is overlooked: its sentence a no with these words missing, the context useless."""
    for id_, entry in units_of(reply).items():
        homes = {item["context"] for item in entry["evidence"]}
        if f"c{place + 1}" in homes:
            entry.update(evidence=[], missing=missing(ask.question.units[id_]), supported=False)
    for id_, entry in rated_of(reply).items():
        if id_ == f"c{place + 1}":
            entry.update(useful=False, quote="")
    return reply


# --- the form of the whole reply ---


def wrapped(form: Callable[[Entry, str], Any]) -> Callable[[Entry, Ask], Any]:
    """The honest reply in another form, from the reply and its text."""
    return lambda reply, _: form(reply, json.dumps(reply))


def wrapped_wrong(form: Callable[[Entry, Entry, str, str], Any]) -> Callable[[Entry, Ask], Any]:
    """The same with a second reply that says the opposite."""

    def change(reply: Entry, ask: Ask) -> Any:
        opposite = base.opposite(reply, ask)
        return form(reply, opposite, json.dumps(reply), json.dumps(opposite))

    return change


def half(text: str, share: float = 0.5) -> str:
    return text[: int(len(text) * share)]


def closed(text: str) -> str:
    """A cut text with the brackets that it lacks."""
    text = re.sub(r",?\s*\"[^\"]*\"?:?\s*$", "", text)
    stack = []
    for character in re.sub(r'"(?:[^"\\]|\\.)*"', "", text):
        if character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and stack:
            stack.pop()
    return text + "".join(reversed(stack))


def as_lists(reply: Entry) -> Entry:
    return {
        key: [{"id": id_, **entry} for id_, entry in value.items()]
        if isinstance(value, dict)
        else value
        for key, value in reply.items()
    }


def bare(reply: Entry) -> Entry:
    shown: Entry = {"code": reply["code"]}
    for key, field in (("sentences", "supported"), ("useful", "useful")):
        if key in reply:
            shown[key] = {id_: entry[field] for id_, entry in reply[key].items()}
    return shown


def table_of(reply: Entry) -> str:
    lines = ["| id | supported |", "|---|---|"]
    lines += [f"| {id_} | {entry['supported']} |" for id_, entry in units_of(reply).items()]
    lines += [f"| {id_} | {entry['useful']} |" for id_, entry in rated_of(reply).items()]
    return "\n".join(lines)


def in_pieces(reply: Entry) -> str:
    """Each list as an object of its own, one a line."""
    return "\n".join(
        json.dumps({"code": reply["code"], key: reply[key]})
        for key in ("sentences", "useful")
        if key in reply
    )


KINDS: dict[str, kinds.Fault] = {
    # a quote that was changed
    "false sentences by the closest sentence": misquoted(lambda quote, *_: quote),
    "false sentence 4 by the closest sentence": misquoted(lambda quote, *_: quote, (3,)),
    "false sentence 5 by the closest sentence": misquoted(lambda quote, *_: quote, (4,)),
    "false sentence 6 by the closest sentence": misquoted(lambda quote, *_: quote, (5,)),
    "false sentence 7 by the closest sentence": misquoted(lambda quote, *_: quote, (6,)),
    "numbers and names of a quote corrected": misquoted(corrected),
    "words that deny left out of a quote": misquoted(undenied),
    "numbers corrected and denials left out": misquoted(
        lambda quote, unit, ask: undenied(corrected(quote, unit, ask))
    ),
    "a word of the sentence in brackets before a quote": misquoted(in_brackets),
    "a comment behind a quote": misquoted(with_comment),
    "half of a quote and half of the sentence": misquoted(stitched),
    "the middle of a quote left out": misquoted(with_gap),
    "the sentence as its quote": misquoted(from_unit),
    "the question as quote": misquoted(from_question),
    "the words in common, from first to last": misquoted(two_words),
    "a quote in capitals": misquoted(lambda quote, *_: quote.upper()),
    "a quote in other order of words": misquoted(lambda quote, *_: " ".join(quote.split()[::-1])),
    # an entry copied, or under another id
    "sentence 4 copied from 3": copied(3, -1),
    "sentence 3 copied from 4": copied(2, 1),
    "sentence 2 copied from 1": copied(1, -1),
    "sentence 6 copied from 2": copied(5, -4),
    "sentence 1 copied from 7": copied(0, 6),
    "verdict of sentence 4 from 3": verdict_of_neighbour(3, -1),
    "verdict of sentence 3 from 4": verdict_of_neighbour(2, 1),
    "verdict of each sentence from the next": field_of_neighbour("supported"),
    "evidence of each sentence from the next": field_of_neighbour("evidence"),
    "missing words of each sentence from the next": field_of_neighbour("missing"),
    "sentences in opposite order": reversed_list("sentences"),
    "contexts in opposite order": reversed_list("useful"),
    "ids of sentences from 0": from_zero("sentences"),
    "ids of contexts from 0": from_zero("useful"),
    "ids in the evidence from 0": from_zero("evidence"),
    "all ids from 0": from_zero("sentences", "useful", "evidence"),
    "all contexts taken for the next": contexts_by(1),
    "all contexts taken for the one before": contexts_by(-1),
    "sentences 3 and 4 exchanged": exchanged("sentences", 2, 3),
    "sentences 1 and 7 exchanged": exchanged("sentences", 0, 6),
    "contexts 2 and 3 exchanged": exchanged("useful", 1, 2),
    "contexts 5 and 6 exchanged": exchanged("useful", 4, 5),
    "contexts 1 and 5 exchanged": exchanged("useful", 0, 4),
    # keys of the model's own that say otherwise
    "supported, and verdict: no": extra({"verdict": "no"}),
    "supported, and verdict: not supported": extra({"verdict": "not supported"}),
    "supported, and label: unsupported": extra({"label": "UNSUPPORTED"}),
    "supported, and is_supported: false": extra({"is_supported": False}),
    "supported, and Supported: false": extra({"Supported": False}),
    "supported, and answer: partially": extra({"answer": "partially"}),
    "supported, and contradicted: true": extra({"contradicted": True}),
    "supported, and partial: true": extra({"partial": True}),
    "supported, and confidence 0": extra({"confidence": 0.0}),
    "supported, and confidence 0.1": extra({"confidence": 0.1}),
    "supported, and a reason against it": extra({"reason": "No context states this sentence."}),
    "supported, and an explanation against it": extra(
        {"explanation": "The sentence is not supported: the context is about something else."}
    ),
    "supported, and final: an entry with no": extra({"final": {"supported": False}}),
    "supported, and missing: true": extra({"missing": True}),
    "supported, and a quote that contradicts": extra({"relation": "contradicts"}, in_evidence=True),
    "supported, and a quote that states nothing": extra({"states": False}, in_evidence=True),
    "supported, and verdict: 0": extra({"verdict": 0}),
    "supported, and verdict: unclear": extra({"verdict": "unclear"}),
    "supported, and useful: false": extra({"useful": False}),
    "supported, and in a second list not": elsewhere(
        lambda reply, ids: reply.update(final=dict.fromkeys(ids, False))
    ),
    "supported, and in a list of the unsupported": elsewhere(
        lambda reply, ids: reply.update(unsupported=ids)
    ),
    "supported, and its id in capitals not": elsewhere(in_capitals),
    "unsupported, and verdict: supported": extra_no({"verdict": "supported"}),
    "unsupported, and is_supported: true": extra_no({"is_supported": True}),
    "unsupported, and confidence 0.02 that it is": extra_no({"confidence": 0.02}),
    "useful, and relevant: false": extra_useful({"relevant": False}),
    "useful, and verdict: irrelevant": extra_useful({"verdict": "irrelevant"}),
    "useful, and a reason against it": extra_useful(
        {"reason": "It does not help to answer the question."}
    ),
    # other values
    "false sentences: partially": valued_wrongly("partially"),
    "false sentences: 0.6": valued_wrongly(0.6),
    "false sentences: 100": valued_wrongly(100),
    "false sentences: [true]": valued_wrongly([True]),
    "false sentences: an object": valued_wrongly({"value": True}),
    "false sentences: likely": valued_wrongly("likely yes"),
    "oui and non": valued("oui", "non"),
    "ja und nein": valued("ja", "nein"),
    "numbers as texts": valued("1", "0"),
    "grades of 1 and 2": valued(2, 1),
    "grades of 1 and 5": valued(5, 1),
    "percent": valued(100, 0),
    "fractions": valued(0.93, 0.04),
    # other judges
    "only the last three contexts are read": contexts_read(slice(-3, None)),
    "only the first two contexts are read": contexts_read(slice(2)),
    "only the last two contexts are read": contexts_read(slice(-2, None)),
    "the middle contexts are not read": contexts_read(slice(None, None, 5)),
    "useless contexts useful by their last sentence": useful_by(lambda text, _: base._last(text)),
    "useless contexts useful by their heading": useful_by(lambda text, _: base._heading(text)),
    "useless contexts useful by their first word": useful_by(lambda text, _: text.split()[0]),
    "useless contexts useful by the question": useful_by(lambda _, ask: ask.question.data["question"]),
    "useless contexts useful by the answer": useful_by(lambda _, ask: sentences(ask.number)[0]),
    "context 2 overlooked, the sentence missing": one_useless(1, lambda unit: unit),
    "context 4 overlooked, the sentence missing": one_useless(3, lambda unit: unit),
    "context 5 overlooked, all of it missing": one_useless(4, lambda unit: "all of it"),
    "context 2 overlooked, nothing missing": one_useless(1, lambda unit: ""),
    # the form, with the opposite beside it
    "a draft and a final reply in one object": wrapped_wrong(
        lambda reply, other, *_: {"draft": reply, "final": other}
    ),
    "two tool calls, the second the opposite": wrapped_wrong(
        lambda reply, other, *_: json.dumps(
            [{"name": "reply", "arguments": reply}, {"name": "reply", "arguments": other}]
        )
    ),
    "the opposite, then the reply in a fence": wrapped_wrong(
        lambda _, __, text, other: f"{other}\nWait, that is wrong. Corrected:\n```json\n{text}\n```"
    ),
    "the reply as a text in the opposite": wrapped_wrong(
        lambda _, other, text, __: {**other, "revised": text}
    ),
    "the opposite as a text in an object": wrapped_wrong(lambda _, __, ___, other: {"output": other}),
    "each verdict in capitals again": wrapped_wrong(
        lambda reply, other, *_: {
            **other,
            "Sentences": reply.get("sentences"),
            "Useful": reply.get("useful"),
        }
    ),
    "thinking without an end, then the opposite": wrapped_wrong(
        lambda _, __, text, other: f"<think>{text} or rather {other}"
    ),
    "thinking with a draft, then half of the reply": wrapped_wrong(
        lambda _, __, text, other: f"<think>{other}</think>{half(text)}"
    ),
    # the form, cut or empty
    "half of the reply": wrapped(lambda _, text: half(text)),
    "half of the reply, closed": wrapped(lambda _, text: closed(half(text))),
    "a third of the reply, closed": wrapped(lambda _, text: closed(half(text, 0.33))),
    "nine tenths of the reply, closed": wrapped(lambda _, text: closed(half(text, 0.9))),
    "half of the reply, length": wrapped(
        lambda _, text: Reply(content=closed(half(text)), finish_reason="length")
    ),
    "half of the reply, content_filter": wrapped(
        lambda _, text: Reply(content=closed(half(text)), finish_reason="content_filter")
    ),
    "no content, content_filter": wrapped(lambda *_: Reply(content="", finish_reason="content_filter")),
    "no content": wrapped(lambda *_: Reply(content="")),
    "an empty object": wrapped(lambda *_: "{}"),
    "null": wrapped(lambda *_: "null"),
    "only the code": wrapped(lambda reply, _: {"code": reply["code"]}),
    "empty lists": wrapped(
        lambda reply, _: {key: {} if isinstance(value, dict) else value for key, value in reply.items()}
    ),
    "a refusal in words": wrapped(lambda *_: "I'm sorry, but I can't help with that."),
    "verdicts without an entry": wrapped(lambda reply, _: bare(reply)),
    "a table": wrapped(lambda reply, _: table_of(reply)),
    "one JSON object a list": wrapped(lambda reply, _: in_pieces(reply)),
    "lists of entries": wrapped(lambda reply, _: as_lists(reply)),
    "within a tool call": wrapped(lambda reply, _: {"name": "reply", "arguments": reply}),
    "the schema in place of a reply": wrapped(
        lambda reply, _: {"type": "object", "properties": reply, "required": ["code"]}
    ),
}
"""The kinds by name."""

LEFT: dict[str, str] = dict.fromkeys(
    (
        "false sentences by the closest sentence",
        "false sentence 4 by the closest sentence",
        "false sentence 5 by the closest sentence",
        "false sentence 6 by the closest sentence",
        "numbers and names of a quote corrected",
        "words that deny left out of a quote",
        "numbers corrected and denials left out",
        "the middle of a quote left out",
        "the words in common, from first to last",
        "a quote in capitals",
    ),
    "random words: a quote with two of the five words of a sentence",
)


# --- honest replies in other shapes ---


@fault
def requoted(reply: Entry, ask: Ask, change: Callable[[str], str]) -> Any:
    """Every quote with another form of the same text."""
    for entry in units_of(reply).values():
        for item in entry["evidence"]:
            item["quote"] = change(item["quote"])
    for entry in rated_of(reply).values():
        entry["quote"] = change(entry["quote"])
    return reply


@fault
def explained(reply: Entry, ask: Ask, yes: Entry, no: Entry) -> Any:
    """More keys that agree with the verdict."""
    for entry in units_of(reply).values():
        entry.update(yes if entry["supported"] else no)
    for entry in rated_of(reply).values():
        entry.update(yes if entry["useful"] else no)
    return reply


HONEST: dict[str, kinds.Fault] = {
    "honest": lambda reply, _: reply,
    "honest, in a fence": wrapped(lambda _, text: f"```json\n{text}\n```"),
    "honest, prose around": wrapped(lambda _, text: f"Here is the reply:\n{text}\nI hope this helps."),
    "honest, thinking before": wrapped(lambda _, text: f"<think>Let me see.</think>\n{text}"),
    "honest, a draft in the thinking": wrapped_wrong(
        lambda _, __, text, other: f"<think>{other}</think>\n{text}"
    ),
    "honest, in a list": wrapped(lambda reply, _: json.dumps([reply])),
    "honest, twice": wrapped(lambda _, text: f"{text}\n{text}"),
    "honest, TRUE and FALSE": valued("TRUE", "FALSE"),
    "honest, Yes. and No.": valued("Yes.", "No."),
    "honest, 1 and 0": valued(1, 0),
    "honest, quotes in lower case": requoted(str.lower),
    "honest, quotes with a full stop": requoted(lambda quote: f"{quote}." if quote else ""),
    "honest, quotes with hard spaces": requoted(lambda quote: quote.replace(" ", "\u00a0")),
    "honest, quotes over two lines": requoted(lambda quote: quote.replace(" ", "\n", 1)),
    "honest, verdict: supported": explained({"verdict": "supported"}, {"verdict": "not supported"}),
    "honest, contradicted: false": explained({"contradicted": False}, {"contradicted": False}),
    "honest, confidence 1": explained({"confidence": 1.0}, {"confidence": 1.0}),
    "honest, confidence by verdict": explained({"confidence": 0.97}, {"confidence": 0.03}),
    "honest, a second list that agrees": wrapped(
        lambda reply, _: {
            **reply,
            "final": {**bare(reply).get("sentences", {}), **bare(reply).get("useful", {})},
        }
    ),
    "honest, a score by verdict": explained({"score": 0.2}, {"score": 1}),
    "honest, reason": explained(
        {"reason": "The context states it, although another one does not."},
        {"reason": "No context states it; the nearest one is about something else."},
    ),
    "honest, finish_reason length": wrapped(lambda _, text: Reply(content=text, finish_reason="eos")),
}


ALL = {**KINDS, **HONEST}


def run(argv: list[str]) -> dict[str, object]:
    return kinds.run_kinds("reply_slips", KINDS, HONEST, LEFT, argv)
