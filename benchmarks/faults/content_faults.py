"""Replies that are readable and wrong in what they say: how many numbers come out wrong without a flag.

    python benchmarks/run.py content_faults [--paths core ragas deepeval langsmith] [--samples 10] [--only NAME ..]
                                            [--write-docs]

Ten samples of seven sentences and six contexts, whose true scores are known (recall 3/7, precision 8/15), ten more with
contexts of two sentences that are all about one thing (the faults that begin with "near"), and a judge behind a server on the loopback. It answers honestly, but for one fault in what it says: in every reply about one of ten samples (10 %), or
about all of them (100 %), also when it is asked again. A number is wrong without a flag when it is
not the true one and no verdict behind it is flagged as doubtful.

The samples of all faults go through one run of each path, in an order that is drawn once. ``EXPLAINED`` names the faults
that no reader of one reply can find out, and why; all others must give 0. Honest replies stand in the same table: at most
3 % of their verdicts may be flagged.

``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared import docs, judging

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample
from ctxmetrics.adapting.runners import aside
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.prompts import get_pack, render
from ctxmetrics.verdicts import DOUBTFUL
from faults import reply_faults as paths
from support import FakeOpenAIServer
from support.answers import read_question
from support.chat import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

RATES = (0.1, 1.0)
METRICS = {"recall": ContextRecall(), "precision": ContextPrecision()}
TRUTH = {"recall": 3 / 7, "precision": (1 / 2 + 2 / 4 + 3 / 5) / 3}
PATHS = {
    "core": ("core", lambda url: paths.OpenAIModel(paths.NAME, base_url=url, api_key=paths.KEY)),
    "ragas": ("ragas.evaluate", paths._ragas_wrapper),
    "deepeval": ("deepeval.evaluate", lambda url: paths._deepeval(url, "gpt-4o")),
    "langsmith": ("langsmith.evaluate", paths._chat),
}
Found: TypeAlias = "dict[tuple[str, float], Counter[str]]"
"""Counts by fault and rate."""
TITLES = {"core": "core", "ragas": "Ragas", "deepeval": "DeepEval", "langsmith": "LangSmith"}


# --- the samples ---

# The number from which on contexts have two sentences and are about one thing.
NEAR = 10

_PLACES = tuple(
    line.split()
    for line in (
        "lighthouse ferry quarry orchard windmill brewery library harbour chapel tannery",
        "Amelia Bernard Clotilde Dragomir Eleonora Fiodor Gudrun Hannibal Isolde Jonathan",
        "lantern paddle crane cider-press millstone kettle clock anchor organ barrel",
        "tram bicycle sledge canoe carriage funicular omnibus gondola scooter raft",
        "barley hemp mustard lavender clover rhubarb saffron millet sorrel flax",
    )
)


def sentences(number: int) -> list[str]:
    """The reference: three sentences that contexts state (the third word for word), two that one context denies, one that
    another context dates differently, and one about which there is nothing."""
    place, name, part, vehicle, plant = (column[number % 10] for column in _PLACES)
    if number >= NEAR:
        return [
            f"The {name} {place} was finished in {1701 + number} after six years of work.",
            f"Its {part} weighs {31 + number} tonnes and came from Antwerp.",
            f"Visitors of the {name} {place} arrive by {vehicle}.",
            f"The owner's family still uses the {name} {place} every summer.",
            f"A storm damaged the roof of the {name} {place} in its second winter.",
            f"Nine villages buy {plant} from the monks every spring.",
            "A celebrated painter rented both attic rooms for several quiet winters.",
        ]
    return [
        f"{name} opened the {place} in {1701 + number}.",
        f"Its {part} weighs {31 + number} tonnes.",
        f"Guests arrive by {vehicle}.",
        f"Wild {plant} thrives behind the old stables.",
        f"Its towers were built by Bishop {name}.",
        f"The {place} burned down in {1803 + number}.",
        "A celebrated painter rented both attic rooms for several quiet winters.",
    ]


def contexts(number: int) -> list[str]:
    """Junk, what states the first sentence, two denials, what states the second and the third, and another year."""
    place, name, part, vehicle, plant = (column[number % 10] for column in _PLACES)
    if number >= NEAR:
        return [
            f"Storms are frequent around the {name} {place}. The coast path is closed on such days.",
            f"Work on the {name} {place} took six years. It was finished in {1701 + number}.",
            f"The {name} {place} has a small garden. Children of the owner play there.",
            f"The {part} of the {name} {place} weighs {31 + number} tonnes. It came from Antwerp by ship.",
            f"Most visitors of the {name} {place} arrive by {vehicle}. The last one leaves at six.",
            f"Wild {plant} grows behind the {name} {place}. The meadow lies in the shade.",
        ]
    filler = "The rain fell for hours. Bread was dear that year. The council met on Mondays."
    return [
        f"Weather notes\nIt was cold and windy all week. {filler}",
        f"About the {place}\nIn {1701 + number} the {place} was opened by {name} with a parade. {filler}",
        (
            f"Wild {plant}\nWild {plant} no longer, as the gardeners say, thrives behind the old stables. "
            f"Its towers were not built by Bishop {name}. {filler}"
        ),
        f"Inventory\nThey weighed the {part}: {31 + number} tonnes. {filler}",
        f"How to come\nGuests arrive by {vehicle}. {filler}",
        f"Fires\nAnother {place} burned down in {1650 + number}. {filler}",
    ]


# By unit and by context, what a judge that is right says and quotes.
STATED = {"s1": "c2", "s2": "c4", "s3": "c5"}


def quote(context: str) -> str:
    """The sentence after the heading; of a context without one, all of it."""
    if "\n" not in context:
        return context
    return context.partition("\n")[2].partition(". ")[0]


def sample(number: int, mark: str) -> Sample:
    return Sample(
        id=str(number),
        user_input=f"What about number {number}? [{mark}]",
        reference=" ".join(sentences(number)),
        retrieved_contexts=contexts(number),
    )


# --- the judge ---


@dataclass(frozen=True)
class Ask:
    """One request: the question as it was read back, and the number of its sample."""

    question: Any
    number: int


def honest(ask: Ask) -> dict[str, Any]:
    """Answer as a judge that is right, with one whole-sentence quote for each fact."""
    question = ask.question
    shown = question.contexts
    reply: dict[str, Any] = {"code": question.code}
    homes = ("c2", "c4", "c5", *[None] * 4)
    truth = dict(zip(sentences(ask.number), homes, strict=True))
    places = {text: f"c{rank}" for rank, text in enumerate(contexts(ask.number), 1)}
    ids = {places[text]: id_ for id_, text in shown.items()}
    if "sentences" in question.keys:
        reply["sentences"] = {}
        for id_ in question.keys["sentences"]:
            text = question.units[id_]
            home = ids.get(truth[text]) if truth[text] else None
            found = [{"context": home, "quote": quote(shown[home]), "whole": True}] if home else []
            missing = "" if found else text
            reply["sentences"][id_] = {"evidence": found, "missing": missing, "supported": bool(found)}
    if "useful" in question.keys:
        cells = units_of(reply).values()
        named = {item["context"] for cell in cells for item in cell["evidence"]}
        reply["useful"] = {}
        for id_ in question.keys["useful"]:
            text = shown[id_]
            useful = places[text] in STATED.values()
            own = quote(text) if useful and id_ not in named else ""
            reply["useful"][id_] = {"quote": own, "useful": useful}
    return reply


def asked(ask: Ask, data: dict[str, Any]) -> Any:
    """The question of a request about other data."""
    return read_question(render(get_pack("en"), ask.question.step, data).text)


def of_sample(ask: Ask, number: int) -> dict[str, Any]:
    """The honest reply about another sample, with the code of that request."""
    data = copy.deepcopy(dict(ask.question.data))
    for key, texts in (("sentences", sentences(number)), ("contexts", contexts(number))):
        for item, text in zip(data.get(key, ()), texts, strict=False):
            item["text"] = text
    data["question"] = f"What about number {number}?"
    if "answer" in data:
        data["answer"] = " ".join(sentences(number))
    return honest(Ask(asked(ask, data), number))


# --- the faults: each makes a reply from an honest one and the request ---


def units_of(reply: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return reply.get("sentences", {})


def rated_of(reply: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return reply.get("useful", {})


def without(key: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        return {name: value for name, value in reply.items() if name != key}

    return fault


def echo(code: str) -> Callable[..., Any]:
    return lambda reply, _: {**reply, "code": code}


def other(step: int, *, echoed: bool = True) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        found = of_sample(ask, (ask.number + step) % 10)
        if not echoed:
            found.pop("code")
        return found

    return fault


def earlier(*, reverse: bool = False, reference: bool = False) -> Callable[..., Any]:
    """A reply of an earlier run: with the contexts in another order, or about another reference."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        data = copy.deepcopy(dict(ask.question.data))
        if reverse:
            texts = [item["text"] for item in data["contexts"]][::-1]
            for item, text in zip(data["contexts"], texts, strict=True):
                item["text"] = text
        if reference:
            for item in data.get("sentences", ()):
                item["text"] = sentences((ask.number + 3) % 10)[int(item["id"][1:]) - 1]
            if "answer" in data:
                data["answer"] = " ".join(sentences((ask.number + 3) % 10))
            return {**all_false(honest(ask), ask), "code": asked(ask, data).code}
        return honest(Ask(asked(ask, data), ask.number))

    return fault


def all_true(
    evidence: Callable[[Ask, str], list[dict[str, Any]]], own: Callable[[str], str | None] | None = None
) -> Callable[..., Any]:
    """Everything true, with this evidence for each unit, and this quote for each context."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for id_, entry in units_of(reply).items():
            text = ask.question.units[id_]
            entry.update(evidence=evidence(ask, text), missing="", supported=True)
        for id_, entry in rated_of(reply).items():
            text = ask.question.contexts[id_]
            entry.update(quote=own(text) if own else "", useful=True)
        return reply

    return fault


def cited(quote_of: Callable[[str, str], str]) -> Callable[[Ask, str], list[dict[str, Any]]]:
    """Evidence from every context, with the quote that a function gives for a unit and a context."""
    return lambda ask, unit: [
        {"context": id_, "quote": quote_of(unit, text), "whole": True}
        for id_, text in ask.question.contexts.items()
    ]


def _swapped(name: str, one: str, two: str) -> str:
    return two if name == one else one if name == two else name


def swap_evidence(one: str, two: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        for entry in units_of(reply).values():
            for item in entry["evidence"]:
                item["context"] = _swapped(item["context"], one, two)
        return reply

    return fault


def swap_ids(key: str, one: str, two: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        if key in reply:
            reply[key] = {_swapped(id_, one, two): entry for id_, entry in reply[key].items()}
        return reply

    return fault


def rotate_ids(key: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        if key in reply:
            ids = list(reply[key])
            reply[key] = dict(zip(ids[1:] + ids[:1], reply[key].values(), strict=True))
        return reply

    return fault


def both(*faults: Callable[..., Any]) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for each in faults:
            reply = each(reply, ask)
        return reply

    return fault


def claimed(**changes: Any) -> Callable[..., Any]:
    """Every verdict about a sentence set so; the evidence stays."""

    def fault(reply: dict[str, Any], _: Ask) -> Any:
        for entry in units_of(reply).values():
            entry.update(changes)
        return reply

    return fault


def inverted(key: str, field: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        for entry in reply.get(key, {}).values():
            entry[field] = not entry[field]
        return reply

    return fault


def all_false(reply: dict[str, Any], _: Ask) -> Any:
    for entry in units_of(reply).values():
        entry.update(evidence=[], missing="all of it", supported=False)
    for entry in rated_of(reply).values():
        entry.update(quote="", useful=False)
    return reply


def opposite(reply: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The reply that says the opposite, with true quotes from the contexts."""
    turn = both(inverted("sentences", "supported"), inverted("useful", "useful"))
    return turn(copy.deepcopy(reply), ask)


def doubled(reply: dict[str, Any], _: Ask) -> str:
    text = json.dumps(reply)
    return re.sub(r'"(supported|useful)": (true|false)', lambda m: f'{m[0]}, "{m[1]}": true', text)


def junk_named(reply: dict[str, Any], ask: Ask) -> Any:
    """The junk context is named beside the right one, with stop words, and called useful."""
    junk = next(
        (id_ for id_, text in ask.question.contexts.items() if text == contexts(ask.number)[0]), "c1"
    )
    for entry in units_of(reply).values():
        if entry["supported"]:
            entry["evidence"].append({"context": junk, "quote": "all", "whole": True})
    if junk in rated_of(reply):
        rated_of(reply)[junk].update(useful=True, quote="It was")
    return reply


def example(_: dict[str, Any], ask: Ask) -> str:
    text = get_pack("en").texts[ask.question.step]
    return text[text.rindex("\n{") + 1 :]


def spanning(ask: Ask) -> list[tuple[str, str, bool]]:
    texts = contexts(ask.number)
    return [("c2", f"{texts[1][-20:]} {texts[2][:40]}", True)]


def sentences_in(text: str) -> list[str]:
    """The sentences after the heading, where there is one."""
    return [one + "." for one in text.rpartition("\n")[2].rstrip(".").split(". ")]


def closest(unit: str, texts: Any) -> str:
    """The text that shares most words of at least four letters or digits with a unit, the first of equals."""
    words = set(re.findall(r"\w{4,}|\d+", unit.lower()))
    return max(texts, key=lambda text: len(words & set(re.findall(r"\w{4,}|\d+", text.lower()))))


def best(
    unit: str, ask: Ask, pieces: Callable[[str], list[str]] = sentences_in
) -> list[dict[str, Any]]:
    """Evidence: of all contexts the piece that shares most words with a unit."""
    found = {id_: closest(unit, pieces(text)) for id_, text in ask.question.contexts.items()}
    chosen = closest(unit, found.values())
    home = next(id_ for id_, text in found.items() if text == chosen)
    return [{"context": home, "quote": chosen, "whole": True}]


def answered(
    said: Callable[[int, dict[str, Any]], bool],
    evidence: Callable[[str, Ask], list[dict[str, Any]]] = best,
    rated: Callable[[int, dict[str, Any]], bool] | None = None,
) -> Callable[..., Any]:
    """Every unit, and where ``rated`` is given every context, with this verdict; a yes with this evidence."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for place, (id_, entry) in enumerate(units_of(reply).items()):
            unit, yes = ask.question.units[id_], said(place, {"id": id_, **entry})
            found = evidence(unit, ask) if yes else []
            entry.update(evidence=found, missing="" if yes else unit, supported=yes)
        for place, (id_, entry) in enumerate(rated_of(reply).items() if rated else ()):
            text = ask.question.contexts[id_]
            own = closest(" ".join(sentences(ask.number)), sentences_in(text))
            yes = rated(place, entry)
            entry.update(quote=own if yes else "", useful=yes)
        return reply

    return fault


def always(*_: Any) -> bool:
    return True


def at_home(place: str) -> Callable[[str, Ask], list[dict[str, Any]]]:
    """Evidence from one context: of its sentences the closest."""

    def evidence(unit: str, ask: Ask) -> list[dict[str, Any]]:
        text = ask.question.contexts.get(place)
        return (
            [{"context": place, "quote": closest(unit, sentences_in(text)), "whole": True}]
            if text
            else []
        )

    return evidence


def beside(step: int) -> Callable[[str, Ask], list[dict[str, Any]]]:
    """Evidence: the sentence so many after the closest one, in its context."""

    def evidence(unit: str, ask: Ask) -> list[dict[str, Any]]:
        (found,) = best(unit, ask)
        inside = sentences_in(ask.question.contexts[found["context"]])
        return [{**found, "quote": inside[(inside.index(found["quote"]) + step) % len(inside)]}]

    return evidence


def words_of(part: slice) -> Callable[[str, Ask], list[dict[str, Any]]]:
    """Evidence: some words of the closest sentence."""

    def evidence(unit: str, ask: Ask) -> list[dict[str, Any]]:
        (found,) = best(unit, ask)
        return [{**found, "quote": " ".join(found["quote"].rstrip(".").split()[part])}]

    return evidence


def shared_word(unit: str, ask: Ask) -> list[dict[str, Any]]:
    """Evidence: one word that the closest sentence shares with the unit."""
    (found,) = best(unit, ask)
    words = set(re.findall(r"\w{4,}", unit.lower()))
    shared = [word for word in re.findall(r"\w{4,}", found["quote"]) if word.lower() in words]
    return [{**found, "quote": shared[0] if shared else found["quote"]}]


def shifted(step: int) -> Callable[..., Any]:
    """Every unit supported, by the evidence that belongs to one so many places further on."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        entries = units_of(reply)
        found = [best(ask.question.units[id_], ask) for id_ in entries]
        for place, entry in enumerate(entries.values()):
            entry.update(evidence=found[(place + step) % len(found)], missing="", supported=True)
        return reply

    return fault


def one_unit(number: int, evidence: Callable[[Ask], list[tuple[str, str, bool]]]) -> Callable[..., Any]:
    """One sentence, counted from 1, called supported by these quotes; ``c3`` is the third context of the sample."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        ids = {text: id_ for id_, text in ask.question.contexts.items()}
        for id_, entry in units_of(reply).items():
            if ask.question.units[id_] == sentences(ask.number)[number - 1]:
                found = []
                for place, text, whole in evidence(ask):
                    home = ids.get(contexts(ask.number)[int(place[1:]) - 1], place)
                    found.append({"context": home, "quote": text, "whole": whole})
                entry.update(evidence=found, missing="", supported=True)
        return reply

    return fault


def rated_only(said: Callable[[int, dict[str, Any]], bool], own: Callable[[str], str | None]) -> Any:
    """Contexts with these verdicts, a yes with this quote; the sentences stay right."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for place, (id_, entry) in enumerate(rated_of(reply).items()):
            yes = said(place, entry)
            entry.update(quote=own(ask.question.contexts[id_]) if yes else "", useful=yes)
        return reply

    return fault


def _name(ask: Ask) -> str:
    return _PLACES[1][ask.number % 10]


def _fragment(_: str, context: str) -> str:
    return re.search(r"\w(\w{3,5})\w", context)[1]


def _telling(ask: Ask) -> str:
    return _PLACES[4][ask.number % 10]


FAULTS: dict[str, Callable[[dict[str, Any], Ask], Any]] = {
    # replies that belong to another request
    "the reply about the next sample": other(1),
    "the reply about the next sample, without its code": other(1, echoed=False),
    "the reply about the previous sample": other(-1),
    "the replies rotated by half": other(5),
    "the same reply for all samples": lambda reply, ask: (
        of_sample(ask, 0) if ask.number else of_sample(ask, 1)
    ),
    "an earlier run's reply: the contexts in another order": earlier(reverse=True),
    "an earlier run's reply: another reference, all no": earlier(reference=True),
    "the example of the prompt": example,
    "no code, all no": both(without("code"), all_false),
    "no code, evidence of two contexts swapped": both(without("code"), swap_evidence("c2", "c4")),
    "no code, otherwise honest": without("code"),
    "the example's code, otherwise honest": echo("5e01c7d2"),
    "another code, otherwise honest": echo("00000000"),
    # ids
    "ids of two contexts swapped in the evidence": swap_evidence("c2", "c4"),
    "ids of a useful and a useless context swapped": swap_ids("useful", "c1", "c2"),
    "ids of two contexts swapped everywhere": both(
        swap_evidence("c1", "c2"), swap_ids("useful", "c1", "c2")
    ),
    "ids of all contexts rotated": rotate_ids("useful"),
    "ids of two sentences swapped": swap_ids("sentences", "s1", "s4"),
    "ids of all sentences rotated": rotate_ids("sentences"),
    "a right quote with a wrong context": swap_evidence("c2", "c1"),
    "a right quote with a context that is not there": swap_evidence("c2", "c77"),
    # everything true
    "all yes, no evidence": all_true(lambda *_: []),
    "all yes, empty quotes": all_true(cited(lambda *_: ""), lambda _: ""),
    'all yes, quote "the"': all_true(cited(lambda *_: "the"), lambda _: "the"),
    "all yes, one letter": all_true(cited(lambda *_: "a"), lambda _: "a"),
    "all yes, stop words": all_true(cited(lambda *_: "for"), lambda _: "for"),
    "all yes, a fragment of a word": all_true(cited(_fragment), lambda text: _fragment("", text)),
    "all yes, the heading": all_true(
        cited(lambda _, text: text.partition("\n")[0]), lambda text: text.partition("\n")[0]
    ),
    "all yes, the whole context": all_true(cited(lambda _, text: text), lambda text: text),
    "all yes, the sentence itself as its quote": all_true(cited(lambda unit, _: unit)),
    "all yes, invented quotes": all_true(
        cited(lambda unit, _: f"as everybody knows, {unit.lower()}"), lambda _: "this is what was asked"
    ),
    "all yes, the last sentence of each context": all_true(
        cited(lambda *_: "The council met on Mondays."), lambda _: "The council met on Mondays."
    ),
    "all yes, words of the question": all_true(
        cited(lambda *_: "What about number"), lambda _: "What about number"
    ),
    "all yes, ids as quotes": all_true(cited(lambda *_: "s1, s2, s3"), lambda _: "c1"),
    "all yes, what each context really says": all_true(cited(lambda _, text: quote(text)), quote),
    # the sentence that is denied
    "a denied sentence, an ellipsis hides the denial": one_unit(
        4, lambda ask: [("c3", f"Wild {_telling(ask)} ... thrives behind the old stables", True)]
    ),
    "a denied sentence, the denial left out": one_unit(
        4,
        lambda ask: [
            ("c3", f"Wild {_telling(ask)}, as the gardeners say, thrives behind the old stables", True)
        ],
    ),
    "a denied sentence, an ellipsis joins two sentences": one_unit(
        4, lambda ask: [("c3", f"Wild {_telling(ask)} ... The council met on Mondays.", True)]
    ),
    "a denied sentence, its heading": one_unit(4, lambda ask: [("c3", f"Wild {_telling(ask)}", True)]),
    "a denied sentence, a quote over two contexts": one_unit(4, spanning),
    "a denied sentence, one part of two is invented": one_unit(
        4,
        lambda ask: [
            ("c3", "behind the old stables", False),
            ("c4", f"wild {_telling(ask)} thrives", False),
        ],
    ),
    "a denied sentence, quoted with its denial": one_unit(
        4, lambda ask: [("c3", quote(contexts(ask.number)[2]), True)]
    ),
    # usefulness
    "all useful, no quote": rated_only(always, lambda _: ""),
    'all useful, quote "the"': rated_only(always, lambda _: "the"),
    "all useful, the heading": rated_only(always, lambda text: text.partition("\n")[0]),
    "all useful, the whole context": rated_only(always, lambda text: text),
    "all useful, a sentence about nothing": rated_only(always, lambda _: "Bread was dear that year."),
    "all useful, what each context really says": rated_only(always, quote),
    "useful and useless turned round": inverted("useful", "useful"),
    # everything supported, by evidence that looks right
    "all supported, the closest sentence": answered(always),
    "all supported and useful, the closest sentence": answered(always, best, always),
    "all supported, the closest sentence of each context": answered(
        always, lambda unit, ask: [at_home(id_)(unit, ask)[0] for id_ in ask.question.contexts]
    ),
    "all supported, the closest context as a whole": answered(
        always, lambda unit, ask: best(unit, ask, lambda text: [text])
    ),
    "all supported, no quote where there is none": answered(
        always, lambda unit, ask: best(unit, ask) if unit in sentences(ask.number)[:3] else []
    ),
    "all supported, the sentence after the closest": answered(always, beside(1)),
    "all supported, the sentence before the closest": answered(always, beside(-1)),
    "all supported, the first three words of the closest sentence": answered(
        always, words_of(slice(3))
    ),
    "all supported, the last three words of the closest sentence": answered(
        always, words_of(slice(-3, None))
    ),
    "all supported, one word in common": answered(always, shared_word),
    "all supported, all evidence in the second context": answered(always, at_home("c2")),
    "all supported, all evidence in the third context": answered(always, at_home("c3")),
    "all supported, all evidence in the junk context": answered(always, at_home("c1")),
    "all supported, the evidence of the next sentence": shifted(1),
    "all supported, the evidence of the third one on": shifted(3),
    "all supported, parts that two contexts hold": answered(
        always,
        lambda unit, ask: [
            {**at_home(id_)(unit, ask)[0], "whole": False} for id_ in list(ask.question.contexts)[1:3]
        ],
    ),
    "all supported, the closest sentence and the question": answered(
        always,
        lambda unit, ask: [
            *best(unit, ask),
            {"context": "c1", "quote": ask.question.data["question"], "whole": True},
        ],
    ),
    # one way of saying yes
    "alternating in each reply, yes first": answered(
        lambda place, _: place % 2 == 0, best, lambda place, _: place % 2 == 0
    ),
    "alternating in each reply, no first": answered(
        lambda place, _: place % 2 == 1, best, lambda place, _: place % 2 == 1
    ),
    "alternating from sample to sample": lambda reply, ask: (
        answered(always, best, always) if ask.number % 2 else all_false
    )(reply, ask),
    "the first half yes, the rest no": answered(lambda place, _: place < 4),
    "yes to long sentences, no to short ones": lambda reply, ask: answered(
        lambda _, entry: len(ask.question.units[entry["id"]]) > 32
    )(reply, ask),
    # one sentence that is denied, dated differently, or nowhere
    "denied with not, the half quote after it": one_unit(
        5, lambda ask: [("c3", f"built by Bishop {_name(ask)}", True)]
    ),
    "denied with not, the whole sentence": one_unit(
        5, lambda ask: [("c3", f"Its towers were not built by Bishop {_name(ask)}.", True)]
    ),
    "denied with not, the halves before and after it": one_unit(
        5,
        lambda ask: [("c3", "Its towers were", False), ("c3", f"built by Bishop {_name(ask)}", False)],
    ),
    "denied with not, the name alone": one_unit(5, lambda ask: [("c3", f"Bishop {_name(ask)}", True)]),
    "denied with no longer, the half quote after it": one_unit(
        4, lambda ask: [("c3", "thrives behind the old stables", True)]
    ),
    "another year, the whole sentence": one_unit(
        6, lambda ask: [("c6", sentences_in(contexts(ask.number)[5])[0], True)]
    ),
    "another year, the words before it": one_unit(
        6, lambda ask: [("c6", f"{_PLACES[0][ask.number % 10]} burned down in", True)]
    ),
    "nowhere, a sentence about nothing": one_unit(
        7, lambda _: [("c1", "Bread was dear that year.", True)]
    ),
    "nowhere, a sentence with one of its words": one_unit(
        7,
        lambda _: [
            ("c3", "thrives behind the old stables", True),
            ("c1", "It was cold and windy all week", False),
        ],
    ),
    # usefulness by evidence that looks right
    "all useful, the closest sentence": answered(lambda _, entry: entry["supported"], best, always),
    "all useful, the first sentence": rated_only(always, lambda text: sentences_in(text)[0]),
    "all useful, the last sentence": rated_only(always, lambda text: sentences_in(text)[-1]),
    "the context of another year useful": rated_only(
        lambda place, entry: entry["useful"] or place == 5, lambda text: sentences_in(text)[0]
    ),
    "all useless": rated_only(lambda *_: False, lambda _: ""),
    "all useless, no sentence supported but the first": both(
        answered(lambda place, _: place == 0), rated_only(lambda *_: False, lambda _: "")
    ),
    "only the first context useful": rated_only(
        lambda place, _: place == 0, lambda text: sentences_in(text)[0]
    ),
    # what contradicts itself
    "all no": all_false,
    "supported turned to no, with the evidence": claimed(supported=False),
    "supported turned round": inverted("sentences", "supported"),
    "a junk context named beside the right one": junk_named,
    # the form
    "each verdict twice, the second a yes": doubled,
    "two objects, the second the opposite": lambda reply, ask: (
        f"{json.dumps(reply)}\n{json.dumps(opposite(reply, ask))}"
    ),
    "the opposite nested in the answer": lambda reply, ask: {**reply, "final": opposite(reply, ask)},
    "the answer nested in its opposite": lambda reply, ask: {**opposite(reply, ask), "draft": reply},
    "several choices, the first the opposite": lambda reply, ask: Reply(
        content=json.dumps(reply), others=(json.dumps(opposite(reply, ask)),)
    ),
    "the last entries missing": lambda reply, _: {
        key: dict([*value.items()][:-1]) if isinstance(value, dict) else value
        for key, value in reply.items()
    },
    "2 for yes": claimed(supported=2),
}


def near_yes(number: int, pieces: Callable[[str], list[str]]) -> Callable[..., Any]:
    """One sentence, counted from 1, called supported by the closest piece of all contexts."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for id_, entry in units_of(reply).items():
            unit = ask.question.units[id_]
            if unit == sentences(ask.number)[number - 1]:
                entry.update(evidence=best(unit, ask, pieces), missing="", supported=True)
        return reply

    return fault


FAULTS |= {
    f"near: sentence {number} called supported, {how}": near_yes(number, pieces)
    for number in (4, 5, 6, 7)
    for how, pieces in (
        ("the closest sentence", sentences_in),
        ("the closest context", lambda text: [text]),
    )
} | {
    "near: all useful, the closest sentence": answered(
        lambda _, entry: entry["supported"], best, always
    ),
    "near: all useful, the first sentence": rated_only(always, lambda text: sentences_in(text)[0]),
    "near: all useful, the last sentence": rated_only(always, lambda text: sentences_in(text)[-1]),
    "near: all useful, the whole context": rated_only(always, lambda text: text),
    "near: all useful, no quote": rated_only(always, lambda _: ""),
    "near: all supported, the closest sentence": answered(always),
    "near: all supported, the closest context": answered(
        always, lambda unit, ask: best(unit, ask, lambda text: [text])
    ),
    "near: all supported and useful, every context as a whole": all_true(
        cited(lambda _, text: text), lambda text: text
    ),
    "near: all supported by every context, all useful without a quote": all_true(
        cited(lambda _, text: sentences_in(text)[0]), lambda _: ""
    ),
}
HONEST, NEAR_HONEST = "honest", "near: honest"
# Faults that nobody can find out from the reply: why a wrong number without a flag is no defect there.
EXPLAINED = {
    **dict.fromkeys(
        (
            "near: sentence 4 called supported, the closest context",
            "near: sentence 5 called supported, the closest sentence",
            "near: sentence 5 called supported, the closest context",
        ),
        "the quote shares a third of the telling words: as many as what people chose for true claims",
    ),
}


HONEST_FIRST = (HONEST, NEAR_HONEST, *FAULTS)


class Judge:
    """Answers honestly, but for a fault in the replies about some samples: the question names both."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __call__(self, request: Any) -> Any:
        question = read_question(request.text)
        told = re.search(r"number (\d+)\? \[(.*) (\S+)\]", question.data["question"])
        number, fault, rate = int(told[1]), told[2], float(told[3])
        ask = Ask(question, number)
        reply = honest(ask)
        if fault not in (HONEST, NEAR_HONEST) and number % NEAR < max(1, round(rate * self._count)):
            reply = FAULTS[fault](reply, ask)
        return reply if isinstance(reply, (str, Reply)) else json.dumps(reply)


def measure_all(path: str, faults: list[str], rates: tuple[float, ...], count: int) -> Found:
    """Score the samples of all faults in one run a metric; count the outcomes of the numbers, and the verdicts."""
    runner, model = PATHS[path]
    found: Found = {(fault, rate): Counter() for fault in faults for rate in rates}
    keys = [
        (fault, rate, number + NEAR * fault.startswith("near"))
        for fault, rate in found
        for number in range(count)
    ]
    # Replies that decide nothing would else stand side by side, as if the judge were down.
    random.Random(0).shuffle(keys)
    samples = [
        replace(sample(number, f"{fault} {rate}"), id=str(place))
        for place, (fault, rate, number) in enumerate(keys)
    ]
    forget()
    with aside(dict(judging.QUIET)), FakeOpenAIServer(Judge(count)) as server:
        judge = paths.Recorder(LLMJudge(model(server.base_url)))
        (run,) = (known for known in paths._runners(runner) if known.name == runner)
        for name, metric in METRICS.items():
            values = run.score(metric.with_judge(judge), samples)
            for (fault, rate, _), each, value in zip(keys, samples, values, strict=True):
                codes = [code for _, _, code in judge.found.get(each.user_input, ())]
                doubtful = bool(DOUBTFUL.intersection(codes))
                counted = found[fault, rate]
                counted["verdicts"] += len(codes)
                counted["flagged verdicts"] += sum(code in DOUBTFUL for code in codes)
                right = value is not None and abs(value - TRUTH[name]) < 1e-9
                wrong = "flagged" if doubtful else "silent"
                counted["no value" if value is None else "right" if right else wrong] += 1
        if len(found) == 1:
            found[keys[0][:2]]["requests"] = server.count
    return found


def measure(path: str, fault: str, rate: float, count: int) -> Counter[str]:
    """Do the same with one fault; the requests are counted too."""
    return measure_all(path, [fault], (rate,), count)[fault, rate]


def table(found: dict[str, dict[str, dict[float, Counter[str]]]], shown: list[str]) -> str:
    """Return the table as the docs have it: wrong numbers without a flag at both rates, and what the core said."""
    head = [
        "what the reply says",
        *(f"{TITLES[path]}, 10 % / 100 %" for path in shown),
        "in the core at 100 %",
    ]
    lines = [head, ["---"] * len(head)]
    for fault, row in found.items():
        cells = [" / ".join(str(row[path][rate]["silent"]) for rate in RATES) for path in shown]
        core = row[shown[0]][1.0]
        kinds = (
            ("right", "right"),
            ("flagged", "wrong, flagged"),
            ("no value", "not judged"),
            ("silent", "**wrong**"),
        )
        told = ", ".join(f"{core[key]} {name}" for key, name in kinds if core[key])
        lines.append([fault, *cells, told])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="content_faults")
    parser.add_argument("--paths", nargs="*", choices=PATHS, default=list(PATHS))
    parser.add_argument("--samples", type=int, default=10, choices=range(1, 11))
    parser.add_argument("--only", nargs="*", choices=HONEST_FIRST, default=HONEST_FIRST)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args(argv)
    by_path = {path: measure_all(path, options.only, RATES, options.samples) for path in options.paths}
    found = {
        fault: {path: {rate: each[fault, rate] for rate in RATES} for path, each in by_path.items()}
        for fault in options.only
    }
    shown = table(found, options.paths)
    print(shown)
    if options.write_docs:
        docs.write("content_faults", shown)
    silent = {
        fault: total
        for fault, row in found.items()
        if (total := sum(each["silent"] for rates in row.values() for each in rates.values()))
    }
    flagged = {
        f"{path}, {fault}": rates[1.0]["flagged verdicts"] / rates[1.0]["verdicts"]
        for fault in (HONEST, NEAR_HONEST)
        for path, rates in found.get(fault, {}).items()
    }
    print(
        f"wrong without a flag and not explained: {sorted(silent.keys() - EXPLAINED.keys()) or 'none'}"
    )
    return {
        "benchmark": "content_faults",
        "faults": len({*options.only} - {HONEST, NEAR_HONEST}),
        "silent": silent,
        "unexplained": sorted(silent.keys() - EXPLAINED.keys()),
        "honest_flagged": flagged,
        "sums": {
            path: [sum(row[path][rate]["silent"] for row in found.values()) for rate in RATES]
            for path in options.paths
        },
    }
