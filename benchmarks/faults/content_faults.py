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

import copy
import json
import random
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from _shared import arguments, docs, judging
from _shared.data import read_data

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample
from ctxmetrics.adapting.runners import isolated_process
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
    "core": ("core", paths._openai),
    "ragas": ("ragas.evaluate", paths._ragas_wrapper),
    "deepeval": ("deepeval.evaluate", lambda url: paths._deepeval(url, "gpt-4o")),
    "langsmith": ("langsmith.evaluate", paths._chat),
}
Entry: TypeAlias = "dict[str, Any]"
Evidence: TypeAlias = "Callable[[str, Ask], list[Entry]]"
"""Gives what a reply quotes for a unit."""
Decision: TypeAlias = "Callable[[int, Entry], bool]"
"""Gives a verdict, from the place of an entry and what is right."""
Found: TypeAlias = "dict[tuple[str, float], Counter[str]]"
"""Counts by fault and rate."""
TITLES = {"core": "core", "ragas": "Ragas", "deepeval": "DeepEval", "langsmith": "LangSmith"}


# --- the samples ---

# The number from which on contexts have two sentences and are about one thing.
NEAR = 10

TEXTS = read_data("content-faults")


GROUPS = [TEXTS["far"], TEXTS["near"]]
"""Sentences and contexts, ten samples a group; other benchmarks add theirs."""

WORDS = {**TEXTS["topics"]}


def fill(number: int, part: str) -> list[str]:
    """The sentences or the contexts of a sample."""
    return [text.format_map(topic(number)) for text in GROUPS[number // NEAR][part]]


def topic(number: int) -> dict[str, Any]:
    """The words and numbers that the texts of a sample name."""
    words = {name: column[number % 10] for name, column in WORDS.items()}
    years = {"opened": 1701 + number, "burned": 1803 + number, "other_fire": 1650 + number}
    return {**words, **years, "tonnes": 31 + number}


def sentences(number: int) -> list[str]:
    """The reference: three sentences that contexts state (the third word for word), two that one context denies, one that
    another context dates differently, and one about which there is nothing."""
    return fill(number, "sentences")


def contexts(number: int) -> list[str]:
    """Junk, what states the first sentence, two denials, what states the second and the third, and another year."""
    return fill(number, "contexts")


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


def honest(ask: Ask) -> Entry:
    """Answer as a judge that is right, with one whole-sentence quote for each fact."""
    question = ask.question
    shown = question.contexts
    reply: Entry = {"code": question.code}
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


def asked(ask: Ask, data: Entry) -> Any:
    """The question of a request about other data."""
    return read_question(render(get_pack("en"), ask.question.step, data).text)


def of_sample(ask: Ask, number: int) -> Entry:
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


def units_of(reply: Entry) -> dict[str, Entry]:
    return reply.get("sentences", {})


def rated_of(reply: Entry) -> dict[str, Entry]:
    return reply.get("useful", {})


def fault(change: Callable[..., Any]) -> Callable[..., Callable[[Entry, Ask], Any]]:
    """Decorate a function of a reply, its request and options: called with the options it gives a fault."""
    return lambda *args, **options: lambda reply, ask: change(reply, ask, *args, **options)


@fault
def without(reply: Entry, _: Ask, key: str) -> Any:
    return {name: value for name, value in reply.items() if name != key}


@fault
def echo(reply: Entry, _: Ask, code: str) -> Any:
    return {**reply, "code": code}


@fault
def other(_: Entry, ask: Ask, step: int, *, echoed: bool = True) -> Any:
    found = of_sample(ask, (ask.number + step) % 10)
    if not echoed:
        found.pop("code")
    return found


@fault
def earlier(_: Entry, ask: Ask, *, reverse: bool = False) -> Any:
    """A reply of an earlier run: with the contexts in another order, or about another reference."""
    data = copy.deepcopy(dict(ask.question.data))
    if reverse:
        texts = [item["text"] for item in data["contexts"]][::-1]
        for item, text in zip(data["contexts"], texts, strict=True):
            item["text"] = text
        return honest(Ask(asked(ask, data), ask.number))
    reference = sentences((ask.number + 3) % 10)
    for item in data.get("sentences", ()):
        item["text"] = reference[int(item["id"][1:]) - 1]
    if "answer" in data:
        data["answer"] = " ".join(reference)
    return {**all_false(honest(ask), ask), "code": asked(ask, data).code}


Text: TypeAlias = "str | Callable[[str], str]"
"""A quote, or what takes it from a context."""


@fault
def all_true(
    reply: Entry, ask: Ask, evidence: Callable[[Ask, str], list[Entry]], own: Text = ""
) -> Any:
    """Everything true, with this evidence for each unit, and this quote for each context."""
    for id_, entry in units_of(reply).items():
        entry.update(evidence=evidence(ask, ask.question.units[id_]), missing="", supported=True)
    for id_, entry in rated_of(reply).items():
        entry.update(quote=taken(own, ask.question.contexts[id_]), useful=True)
    return reply


def taken(quote: Text, context: str) -> str:
    return quote if isinstance(quote, str) else quote(context)


def all_yes(quote: Text) -> Callable[..., Any]:
    """Everything true, with this quote from each context."""
    return all_true(cited(lambda _, context: taken(quote, context)), quote)


def cited(quote_of: Callable[[str, str], str]) -> Callable[[Ask, str], list[Entry]]:
    """Evidence from every context, with the quote that a function gives for a unit and a context."""
    return lambda ask, unit: [
        {"context": id_, "quote": quote_of(unit, text), "whole": True}
        for id_, text in ask.question.contexts.items()
    ]


def _swapped(name: str, one: str, two: str) -> str:
    return two if name == one else one if name == two else name


@fault
def swap_evidence(reply: Entry, _: Ask, one: str, two: str) -> Any:
    for entry in units_of(reply).values():
        for item in entry["evidence"]:
            item["context"] = _swapped(item["context"], one, two)
    return reply


@fault
def swap_ids(reply: Entry, _: Ask, key: str, one: str, two: str) -> Any:
    if key in reply:
        reply[key] = {_swapped(id_, one, two): entry for id_, entry in reply[key].items()}
    return reply


@fault
def rotate_ids(reply: Entry, _: Ask, key: str) -> Any:
    if key in reply:
        ids = list(reply[key])
        reply[key] = dict(zip(ids[1:] + ids[:1], reply[key].values(), strict=True))
    return reply


@fault
def both(reply: Entry, ask: Ask, *faults: Callable[..., Any]) -> Any:
    for each in faults:
        reply = each(reply, ask)
    return reply


@fault
def claimed(reply: Entry, _: Ask, **changes: Any) -> Any:
    """Every verdict about a sentence set so; the evidence stays."""
    for entry in units_of(reply).values():
        entry.update(changes)
    return reply


@fault
def inverted(reply: Entry, _: Ask, key: str, field: str) -> Any:
    for entry in reply.get(key, {}).values():
        entry[field] = not entry[field]
    return reply


def all_false(reply: Entry, _: Ask) -> Any:
    for entry in units_of(reply).values():
        entry.update(evidence=[], missing="all of it", supported=False)
    for entry in rated_of(reply).values():
        entry.update(quote="", useful=False)
    return reply


def opposite(reply: Entry, ask: Ask) -> Entry:
    """The reply that says the opposite, with true quotes from the contexts."""
    turn = both(inverted("sentences", "supported"), inverted("useful", "useful"))
    return turn(copy.deepcopy(reply), ask)


def doubled(reply: Entry, _: Ask) -> str:
    text = json.dumps(reply)
    return re.sub(r'"(supported|useful)": (true|false)', lambda m: f'{m[0]}, "{m[1]}": true', text)


def junk_named(reply: Entry, ask: Ask) -> Any:
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


def example(_: Entry, ask: Ask) -> str:
    text = get_pack("en").texts[ask.question.step]
    return text[text.rindex("\n{") + 1 :]


def sentences_in(text: str) -> list[str]:
    """The sentences after the heading, where there is one."""
    return [one + "." for one in text.rpartition("\n")[2].rstrip(".").split(". ")]


def closest(unit: str, texts: Any) -> str:
    """The text that shares most words of at least four letters or digits with a unit, the first of equals."""
    words = set(re.findall(r"\w{4,}|\d+", unit.lower()))
    return max(texts, key=lambda text: len(words & set(re.findall(r"\w{4,}|\d+", text.lower()))))


def best(unit: str, ask: Ask, pieces: Callable[[str], list[str]] = sentences_in) -> list[Entry]:
    """Evidence: of all contexts the piece that shares most words with a unit."""
    found = {id_: closest(unit, pieces(text)) for id_, text in ask.question.contexts.items()}
    chosen = closest(unit, found.values())
    home = next(id_ for id_, text in found.items() if text == chosen)
    return [{"context": home, "quote": chosen, "whole": True}]


@fault
def answered(
    reply: Entry, ask: Ask, said: Decision, evidence: Evidence = best, rated: Decision | None = None
) -> Any:
    """Every unit, and where ``rated`` is given every context, with this verdict; a yes with this evidence."""
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


def always(*_: Any) -> bool:
    return True


def at_home(place: str) -> Evidence:
    """Evidence from one context: of its sentences the closest."""

    def evidence(unit: str, ask: Ask) -> list[Entry]:
        if place not in ask.question.contexts:
            return []
        found = closest(unit, sentences_in(ask.question.contexts[place]))
        return [{"context": place, "quote": found, "whole": True}]

    return evidence


def beside(step: int) -> Evidence:
    """Evidence: the sentence so many after the closest one, in its context."""

    def evidence(unit: str, ask: Ask) -> list[Entry]:
        (found,) = best(unit, ask)
        inside = sentences_in(ask.question.contexts[found["context"]])
        return [{**found, "quote": inside[(inside.index(found["quote"]) + step) % len(inside)]}]

    return evidence


def words_of(part: slice) -> Evidence:
    """Evidence: some words of the closest sentence."""

    def evidence(unit: str, ask: Ask) -> list[Entry]:
        (found,) = best(unit, ask)
        return [{**found, "quote": " ".join(found["quote"].rstrip(".").split()[part])}]

    return evidence


def shared_word(unit: str, ask: Ask) -> list[Entry]:
    """Evidence: one word that the closest sentence shares with the unit."""
    (found,) = best(unit, ask)
    words = set(re.findall(r"\w{4,}", unit.lower()))
    shared = [word for word in re.findall(r"\w{4,}", found["quote"]) if word.lower() in words]
    return [{**found, "quote": shared[0] if shared else found["quote"]}]


@fault
def shifted(reply: Entry, ask: Ask, step: int) -> Any:
    """Every unit supported, by the evidence that belongs to one so many places further on."""
    entries = units_of(reply)
    found = [best(ask.question.units[id_], ask) for id_ in entries]
    for place, entry in enumerate(entries.values()):
        entry.update(evidence=found[(place + step) % len(found)], missing="", supported=True)
    return reply


@fault
def one_unit(reply: Entry, ask: Ask, number: int, evidence: Evidence) -> Any:
    """One sentence, counted from 1, called supported by this evidence."""
    for id_, entry in units_of(reply).items():
        unit = ask.question.units[id_]
        if unit == sentences(ask.number)[number - 1]:
            entry.update(evidence=evidence(unit, ask), missing="", supported=True)
    return reply


def written(*quotes: str) -> Evidence:
    """Evidence: these quotes.

    Each begins with the number of its context, ``c3`` or ``part of c3``. It may name what the sample is about: ``{place}``,
    ``{name}`` and ``{plant}``, the year of the ``{other_fire}``, and where two contexts meet (``{ends}``).
    """

    def evidence(_: str, ask: Ask) -> list[Entry]:
        ids, texts = {text: id_ for id_, text in ask.question.contexts.items()}, contexts(ask.number)
        ends = f"{texts[1][-20:]} {texts[2][:40]}"
        found = []
        for quote in quotes:
            home, _, text = quote.partition(": ")
            text = text.format(**topic(ask.number), ends=ends)
            id_ = ids.get(texts[int(home[-1]) - 1], home[-2:])
            found.append({"context": id_, "quote": text, "whole": not home.startswith("part")})
        return found

    return evidence


def quoted(group: str) -> dict[str, Callable[..., Any]]:
    """The faults in which one sentence is called supported by quotes, as the file of texts has them."""
    return {
        title: one_unit(number, written(*quotes))
        for title, (number, *quotes) in TEXTS["quotes"][group].items()
    }


@fault
def rated_only(reply: Entry, ask: Ask, said: Decision, own: Text = "") -> Any:
    """Contexts with these verdicts, a yes with this quote; the sentences stay right."""
    for place, (id_, entry) in enumerate(rated_of(reply).items()):
        yes = said(place, entry)
        entry.update(quote=taken(own, ask.question.contexts[id_]) if yes else "", useful=yes)
    return reply


def _heading(context: str) -> str:
    return context.partition("\n")[0]


def _first(context: str) -> str:
    return sentences_in(context)[0]


def _last(context: str) -> str:
    return sentences_in(context)[-1]


def _whole(context: str) -> str:
    return context


def _fragment(context: str) -> str:
    return re.search(r"\w(\w{3,5})\w", context)[1]


def never(*_: Any) -> bool:
    return False


def whole_context(unit: str, ask: Ask) -> list[Entry]:
    """Evidence: the closest context as a whole."""
    return best(unit, ask, lambda text: [text])


def if_supported(_: int, entry: Entry) -> bool:
    return entry["supported"]


FAULTS: dict[str, Callable[[Entry, Ask], Any]] = {
    # replies that belong to another request
    "the reply about the next sample": other(1),
    "the reply about the next sample, without its code": other(1, echoed=False),
    "the reply about the previous sample": other(-1),
    "the replies rotated by half": other(5),
    "the same reply for all samples": lambda reply, ask: (
        of_sample(ask, 0) if ask.number else of_sample(ask, 1)
    ),
    "an earlier run's reply: the contexts in another order": earlier(reverse=True),
    "an earlier run's reply: another reference, all no": earlier(),
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
    "all yes, empty quotes": all_yes(""),
    'all yes, quote "the"': all_yes("the"),
    "all yes, one letter": all_yes("a"),
    "all yes, stop words": all_yes("for"),
    "all yes, a fragment of a word": all_yes(_fragment),
    "all yes, the heading": all_yes(_heading),
    "all yes, the whole context": all_yes(_whole),
    "all yes, the sentence itself as its quote": all_true(cited(lambda unit, _: unit)),
    "all yes, invented quotes": all_true(
        cited(lambda unit, _: f"as everybody knows, {unit.lower()}"), "this is what was asked"
    ),
    "all yes, the last sentence of each context": all_yes("The council met on Mondays."),
    "all yes, words of the question": all_yes("What about number"),
    "all yes, ids as quotes": all_true(cited(lambda *_: "s1, s2, s3"), "c1"),
    "all yes, what each context really says": all_yes(quote),
    **quoted("a sentence that is denied"),
    # usefulness
    "all useful, no quote": rated_only(always),
    'all useful, quote "the"': rated_only(always, "the"),
    "all useful, the heading": rated_only(always, _heading),
    "all useful, the whole context": rated_only(always, _whole),
    "all useful, a sentence about nothing": rated_only(always, "Bread was dear that year."),
    "all useful, what each context really says": rated_only(always, quote),
    "useful and useless turned round": inverted("useful", "useful"),
    # everything supported, by evidence that looks right
    "all supported, the closest sentence": answered(always),
    "all supported and useful, the closest sentence": answered(always, best, always),
    "all supported, the closest sentence of each context": answered(
        always, lambda unit, ask: [at_home(id_)(unit, ask)[0] for id_ in ask.question.contexts]
    ),
    "all supported, the closest context as a whole": answered(always, whole_context),
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
    **quoted("denied, dated differently, or nowhere"),
    # usefulness by evidence that looks right
    "all useful, the closest sentence": answered(if_supported, best, always),
    "all useful, the first sentence": rated_only(always, _first),
    "all useful, the last sentence": rated_only(always, _last),
    "the context of another year useful": rated_only(
        lambda place, entry: entry["useful"] or place == 5, _first
    ),
    "all useless": rated_only(never),
    "all useless, no sentence supported but the first": both(
        answered(lambda place, _: place == 0), rated_only(never)
    ),
    "only the first context useful": rated_only(lambda place, _: place == 0, _first),
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


FAULTS |= {
    f"near: sentence {number} called supported, {how}": one_unit(number, evidence)
    for number in (4, 5, 6, 7)
    for how, evidence in (("the closest sentence", best), ("the closest context", whole_context))
} | {
    "near: all useful, the closest sentence": answered(if_supported, best, always),
    "near: all useful, the first sentence": rated_only(always, _first),
    "near: all useful, the last sentence": rated_only(always, _last),
    "near: all useful, the whole context": rated_only(always, _whole),
    "near: all useful, no quote": rated_only(always),
    "near: all supported, the closest sentence": answered(always),
    "near: all supported, the closest context": answered(always, whole_context),
    "near: all supported and useful, every context as a whole": all_yes(_whole),
    "near: all supported by every context, all useful without a quote": all_true(
        cited(lambda _, text: _first(text))
    ),
}
HONEST, NEAR_HONEST = "honest", "near: honest"
# Faults that nobody can find out from the reply: why a wrong number without a flag is no defect there.
EXPLAINED: dict[str, str] = {}
HONEST_FIRST = (HONEST, NEAR_HONEST, *FAULTS)


class Judge:
    """Answers honestly, but for a fault in the replies about some samples: the question names both.

    Args:
        count: How many samples there are of each fault.
        faults: The faults by name; another name means an honest reply.
    """

    def __init__(
        self, count: int, faults: dict[str, Callable[[Entry, Ask], Any]] | None = None
    ) -> None:
        self._count = count
        self._faults = FAULTS if faults is None else faults

    def __call__(self, request: Any) -> Any:
        question = read_question(request.text)
        told = re.search(r"number (\d+)\? \[(.*) (\S+)\]", question.data["question"])
        number, fault, rate = int(told[1]), told[2], float(told[3])
        ask = Ask(question, number)
        reply = honest(ask)
        if fault in self._faults and number % NEAR < max(1, round(rate * self._count)):
            reply = self._faults[fault](reply, ask)
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
    with isolated_process(dict(judging.QUIET)), FakeOpenAIServer(Judge(count)) as server:
        judge = paths.Recorder(LLMJudge(model(server.base_url)))
        for name, metric in METRICS.items():
            values = paths.get_runner(runner).score(metric.with_judge(judge), samples)
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
    lines = []
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
    return docs.markdown(head, lines)


def run(argv: list[str]) -> dict[str, object]:
    parser = arguments.make_parser("content_faults", paths=PATHS, only=HONEST_FIRST, write_docs=False)
    parser.add_argument("--samples", type=int, default=10, choices=range(1, 11))
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
