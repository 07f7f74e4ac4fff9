"""Replies with remarks of the model's own, and replies that a gateway changed: how many numbers are wrong without a flag.

    python benchmarks/run.py reply_remarks [--paths core ragas deepeval langsmith] [--samples 10] [--only KIND ..] [--write-docs]

The corpora, the rates and the measure are those of ``reply_contradictions``. In these kinds another place of the reply says
what is wrong: a count, a list of ids, a grade, a word in another language, a text beside the object, an objection in the
evidence; or a gateway masked, cut or merged what the model wrote. ``LEFT`` names the kinds that no reader of one reply can
find out, and why. The honest kinds have remarks that agree with the verdicts: their numbers are right and not flagged.

``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import copy
import html
import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from faults import content_faults as base
from faults import reply_contradictions as kinds
from faults import reply_slips as slips
from faults.content_faults import Ask, Entry, fault, rated_of, units_of
from faults.reply_contradictions import FALSE, near_useful, noes, supported
from faults.reply_slips import extra, extra_useful, misquoted, place_of, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

NEAR_CONTEXTS = (0, 2, 5)
"""The places of the contexts that state nothing."""


# --- another place of the reply says what is wrong ---


@fault
def remarked(reply: Entry, ask: Ask, add: Callable[[Entry, list[str], list[str]], Any]) -> Any:
    """False sentences called supported; another place names the ids that are, and the ids that are not."""
    supported()(reply, ask)
    wrong = [id_ for id_ in units_of(reply) if place_of(id_, ask) in FALSE]
    right = [id_ for id_ in units_of(reply) if id_ not in wrong]
    changed = add(reply, right, wrong) if wrong else None
    return reply if changed is None else changed


@fault
def remarked_useful(reply: Entry, ask: Ask, add: Callable[[Entry, list[str], list[str]], None]) -> Any:
    """Useless contexts called useful; another place names the ids that are, and the ids that are not."""
    near_useful()(reply, ask)
    ids = [*rated_of(reply)]
    wrong = [
        id_
        for id_ in ids
        if base.contexts(ask.number).index(ask.question.contexts[id_]) in NEAR_CONTEXTS
    ]
    if wrong:
        add(reply, [id_ for id_ in ids if id_ not in wrong], wrong)
    return reply


def with_text_behind(text: str) -> Callable[[Entry, list[str], list[str]], str]:
    """A text behind the object that names the ids that are not supported."""
    return lambda reply, _, wrong: json.dumps(reply) + text.format(ids=", ".join(wrong))


def with_comments(reply: Entry, _: list[str], wrong: list[str]) -> str:
    """A comment in the JSON, behind each false entry."""
    text = json.dumps(reply, indent=1)
    for id_ in wrong:
        text = text.replace(f'"{id_}": {{', f'"{id_}": {{ // not supported')
    return text


def in_words(number: int) -> str:
    return ("no", "one", "two", "three", "four", "five", "six", "seven")[number]


# --- what a gateway makes of a reply ---


@fault
def merged(reply: Entry, ask: Ask, name: str, *, left: Any = ...) -> Any:
    """Sentences 3 and 4 have one entry under the ids of both, the one of sentence 3; what is left under the second id."""
    cells = units_of(reply)
    ids = [*cells]
    if len(ids) < 4:
        return reply
    first, second = ids[2:4]
    entry = cells.pop(first)
    del cells[second]
    cells[name.format(first, second)] = entry
    if left is not ...:
        cells[second] = left
    return reply


@fault
def pointing(reply: Entry, ask: Ask, content: Callable[[str], Any]) -> Any:
    """Sentence 4 has a reference to sentence 3 in the place of an entry."""
    ids = [*units_of(reply)]
    if len(ids) > 3:
        reply["sentences"][ids[3]] = content(ids[2])
    return reply


@fault
def collapsed(reply: Entry, ask: Ask, first: int) -> Any:
    """From a place on, each sentence has the entry of the one before that place."""
    ids = [*units_of(reply)]
    for id_ in ids[first:]:
        reply["sentences"][id_] = copy.deepcopy(reply["sentences"][ids[first - 1]])
    return reply


@fault
def listed_twice(reply: Entry, ask: Ask, *, last: bool) -> Any:
    """The sentences are a list, in which the false ones stand twice: as they are, and as supported."""
    wrong = supported()(copy.deepcopy(reply), ask)
    entries = []
    for id_, entry in units_of(reply).items():
        pair = [{"id": id_, **entry}]
        if place_of(id_, ask) in FALSE:
            pair.append({"id": id_, **units_of(wrong)[id_]})
        entries += pair if last else pair[::-1]
    return {**reply, "sentences": entries} if "sentences" in reply else reply


@fault
def numbered_again(reply: Entry, ask: Ask) -> Any:
    """The first reply lacks sentence 4; the next one counts what is asked again from 1."""
    cells = units_of(reply)
    if len(cells) > 3:
        del cells[[*cells][3]]
    else:
        reply["sentences"] = {f"s{number}": entry for number, entry in enumerate(cells.values(), 1)}
    return reply


@fault
def padded(reply: Entry, ask: Ask, kept: int) -> Any:
    """The list of contexts was cut off behind some of them, and filled with the defaults of the schema."""
    for id_ in [*rated_of(reply)][kept:]:
        rated_of(reply)[id_].update(quote="", useful=False)
    return reply


@fault
def renamed(reply: Entry, ask: Ask, change: Callable[[str, Ask], str]) -> Any:
    """All ids in another spelling."""
    for key in ("sentences", "useful"):
        if key in reply:
            reply[key] = {change(id_, ask): entry for id_, entry in reply[key].items()}
    return reply


@fault
def pieces(reply: Entry, ask: Ask, words: Entry) -> Any:
    """False sentences called supported; their evidence has more keys."""
    return extra(words, in_evidence=True)(reply, ask)


def masked(quote: str, *_: Any) -> str:
    """The quote with numbers and names masked, as a filter of personal data does."""
    return re.sub(r"\b(?:\d+|[A-Z]\w+)\b", "[REDACTED]", quote)


def cut(quote: str, *_: Any) -> str:
    return f"{quote[:12]}..."


def of_example(_: str, __: str, ask: Ask) -> str:
    """The first quote of the prompt's example."""
    from ctxmetrics.prompts import get_pack

    for reply in get_pack("en").example_replies:
        for entry in reply.get("sentences", {}).values():
            for item in entry["evidence"]:
                return str(item["quote"])
    return ""


@fault
def wrong_contexts(reply: Entry, ask: Ask) -> Any:
    """False sentences by the closest sentence, in a context that does not exist."""
    supported(change=lambda evidence, _: [{**item, "context": "c99"} for item in evidence])(reply, ask)
    return reply


def no_with(words: str) -> kinds.Fault:
    return noes(lambda *_: words)


KINDS: dict[str, kinds.Fault] = {
    # a list, a count or a text of the reply names what is not supported
    "a list of the supported ones": remarked(
        lambda reply, right, _: reply.update(supported_sentences=right)
    ),
    "a list of the unsupported sentences": remarked(
        lambda reply, _, wrong: reply.update(unsupported_sentences=wrong)
    ),
    "an object of the unsupported, with reasons": remarked(
        lambda reply, _, wrong: reply.update(not_supported=dict.fromkeys(wrong, "another year"))
    ),
    "a text of the unsupported": remarked(
        lambda reply, _, wrong: reply.update(unsupported=", ".join(wrong))
    ),
    "a list of verdicts in order": remarked(
        lambda reply, right, wrong: reply.update(
            verdicts=["yes" if id_ in right else "no" for id_ in units_of(reply)]
        )
    ),
    "a list of corrections": remarked(
        lambda reply, _, wrong: reply.update(
            corrections=[{"id": id_, "supported": False} for id_ in wrong]
        )
    ),
    "a count of the supported": remarked(
        lambda reply, right, _: reply.update(supported_count=len(right))
    ),
    "a count of the unsupported": remarked(
        lambda reply, _, wrong: reply.update(unsupported_count=len(wrong))
    ),
    "a score of 3/7": remarked(lambda reply, *_: reply.update(score="3/7")),
    "a summary with the ids": remarked(
        lambda reply, _, wrong: reply.update(summary=f"{', '.join(wrong)} are not supported.")
    ),
    "a summary with the count in words": remarked(
        lambda reply, right, _: reply.update(
            summary=f"Only {in_words(len(right))} sentences are supported."
        )
    ),
    "a text behind the object": remarked(with_text_behind("\nNote: {ids} are not supported.")),
    "a correction behind the object": remarked(
        with_text_behind("\nCorrection: {ids} should be false.")
    ),
    "a comment in the JSON": remarked(with_comments),
    "a list of the useless contexts": remarked_useful(
        lambda reply, _, wrong: reply.update(useless=wrong)
    ),
    "a list of the useful contexts": remarked_useful(
        lambda reply, right, _: reply.update(useful_contexts=right[1:])
    ),
    "a list of the irrelevant contexts": remarked_useful(
        lambda reply, _, wrong: reply.update(irrelevant_contexts=wrong)
    ),
    # a key of the entry
    "supported, and errors: a list": extra({"errors": ["the year differs"]}),
    "supported, and issues: a text": extra({"issues": "the date is another one"}),
    "supported, and unsupported_parts": extra({"unsupported_parts": ["the year"]}),
    "supported, and missing_words": extra({"missing_words": "the year"}),
    "supported, and contradiction: a text": extra({"contradiction": "the context says otherwise"}),
    "supported, and not_found: a list": extra({"not_found": ["the year"]}),
    "supported, and score: 2/10": extra({"score": "2/10"}),
    "supported, and rating: low": extra({"rating": "low"}),
    "supported, and confidence: low": extra({"confidence": "low"}),
    "supported, and confidence: 10%": extra({"confidence": "10%"}),
    "supported, and percent: 20": extra({"percent_supported": 20}),
    "supported, and verdict: 20 %": extra({"support": "20 %"}),
    "supported, and verdict: nein": extra({"verdict": "nein"}),
    "supported, and verdict: faux": extra({"verdict": "faux"}),
    "supported, and verdict: n/a": extra({"verdict": "n/a"}),
    "supported, and a nested list of verdicts": extra({"verdicts": [["no"]]}),
    "supported, and a reason in the middle": extra(
        {"reason": "It is close, but the context does not state the year."}
    ),
    "supported, and a German reason against it": extra(
        {"reason": "Der Kontext sagt das nicht; er nennt etwas anderes."}
    ),
    "supported, and a French reason against it": extra(
        {"reason": "Le contexte ne dit pas cela ; il dit autre chose."}
    ),
    "supported, and a reason under details": extra(
        {"details": "The sentence is not supported by any context."}
    ),
    "supported, and a quote with stance: against": pieces({"stance": "against"}),
    "supported, and a quote with type: refutes": pieces({"type": "refutes"}),
    "supported, and a quote with nli: contradiction": pieces({"nli": "contradiction"}),
    "supported, and a quote with supports: no": pieces({"supports": "no"}),
    "supported, and a quote with a note against it": pieces(
        {"note": "This does not state the sentence."}
    ),
    "useful, and relevance: low": extra_useful({"relevance": "low"}),
    "useful, and score: 1/5": extra_useful({"score": "1/5"}),
    "useful, and off_topic: true": extra_useful({"off_topic": True}),
    "useful, and helps: no": extra_useful({"helps": "no"}),
    # the verdict or the missing words in another form
    "yes in another language for false sentences": slips.valued_wrongly("wahr"),
    "false sentences: n/a": slips.valued_wrongly("n/a"),
    "false sentences: true, but partly": slips.valued_wrongly("true, but only partly"),
    "false sentences: 85%": slips.valued_wrongly("85%"),
    "false sentences: a list of yes and no": slips.valued_wrongly([True, False]),
    "all sentences no, the whole context missing": no_with("see the contexts"),
    "all sentences no, a German text missing": no_with("keine Angabe in den Kontexten"),
    "all sentences no, a dash missing": no_with("-"),
    "all sentences no, the form missing": no_with("the words of the sentence that no context states"),
    # what a gateway makes of it
    "sentences 3 and 4 under s3-s4": merged("{}-{}"),
    "sentences 3 and 4 under s3, s4": merged("{}, {}"),
    "sentences 3 and 4 under s3, null under s4": merged("{}", left=None),
    "sentence 4 points to sentence 3": pointing(lambda id_: {"same_as": id_}),
    "sentence 4 points to sentence 3 in words": pointing(lambda id_: f"see {id_}"),
    "from sentence 3 on the entry of 2": collapsed(2),
    "from sentence 5 on the entry of 4": collapsed(4),
    "false sentences twice in a list, at last yes": listed_twice(last=True),
    "false sentences twice in a list, at last no": listed_twice(last=False),
    "counted from 1 when it is asked again": numbered_again(),
    "contexts cut off behind 1, filled": padded(1),
    "contexts cut off behind 3, filled": padded(3),
    "quotes masked": misquoted(masked),
    "quotes cut after 12 characters": misquoted(cut),
    "the quote of the prompt's example": misquoted(of_example),
    "false sentences by a context that is not there": wrong_contexts(),
}
"""The kinds by name."""

LEFT: dict[str, str] = {
    "quotes masked": "random words: a quote with two of the five words of a sentence",
}


# --- honest replies with remarks ---


@fault
def agreed(reply: Entry, ask: Ask, add: Callable[[Entry, list[str], list[str]], Any]) -> Any:
    """Another place says what the entries say."""
    right = [id_ for id_, entry in units_of(reply).items() if entry["supported"]]
    wrong = [id_ for id_ in units_of(reply) if id_ not in right]
    changed = add(reply, right, wrong) if units_of(reply) else None
    return reply if changed is None else changed


def without_accents(quote: str) -> str:
    return unicodedata.normalize("NFKD", quote).encode("ascii", "ignore").decode()


HONEST: dict[str, kinds.Fault] = {
    "honest": lambda reply, _: reply,
    "honest, a list of the supported": agreed(
        lambda reply, right, _: reply.update(supported_sentences=right)
    ),
    "honest, a list of the unsupported": agreed(
        lambda reply, _, wrong: reply.update(unsupported_sentences=wrong)
    ),
    "honest, counts": agreed(
        lambda reply, right, wrong: reply.update(
            supported_count=len(right), unsupported_count=len(wrong)
        )
    ),
    "honest, a score of 3/7": agreed(lambda reply, *_: reply.update(score="3/7", recall=0.43)),
    "honest, a summary": agreed(
        lambda reply, _, wrong: reply.update(summary=f"{', '.join(wrong)} are not supported.")
    ),
    "honest, a text behind the object": agreed(with_text_behind("\nNote: {ids} are not supported.")),
    "honest, a list of verdicts in order": agreed(
        lambda reply, right, _: reply.update(
            verdicts=["yes" if id_ in right else "no" for id_ in units_of(reply)]
        )
    ),
    "honest, no errors": slips.explained(
        {"errors": [], "issues": "none", "contradiction": "", "unsupported_parts": []},
        {"errors": [], "issues": None},
    ),
    "honest, errors of a no": slips.explained({}, {"errors": ["not stated"], "not_found": ["all"]}),
    "honest, confidence in words": slips.explained(
        {"confidence": "high", "rating": "high", "score": "9/10"},
        {"confidence": "high", "rating": "low", "score": "1/10"},
    ),
    "honest, reasons in German": slips.explained(
        {"reason": "Der Kontext nennt es, obwohl ein anderer es nicht tut."},
        {"reason": "Kein Kontext sagt das."},
    ),
    "honest, a reason with not": slips.explained(
        {"reason": "c2 states it word for word; c3 is about another thing and does not state it."},
        {"reason": "Not stated."},
    ),
    "honest, quotes in HTML": slips.requoted(html.escape),
    "honest, quotes without accents": slips.requoted(without_accents),
    "honest, a note on each context": wrapped(
        lambda reply, _: {**reply, "notes": "All contexts were read. No further remarks."}
    ),
}


ALL = {**KINDS, **HONEST}


def run(argv: list[str]) -> dict[str, object]:
    return kinds.run_kinds("reply_remarks", KINDS, HONEST, LEFT, argv)
