"""Replies that betray themselves: how many numbers come out wrong without a flag, and how often an honest reply is accused.

    python benchmarks/run.py reply_contradictions [--paths core ragas deepeval langsmith] [--samples 10] [--only KIND ..]
                                                  [--write-docs]

Three corpora of ten samples each, in the form of ``content_faults`` (recall 3/7, precision 8/15): natural texts about one
thing, near misses (a fact about another model) and random words; a fourth one, whose contexts hedge or deny a fact without
"not", for the kinds that need it. The judge answers honestly, but for one fault in one of ten samples (10 %) or in all of them
(100 %), also when it is asked again. A number is wrong without a flag when it is not the true one and no verdict behind it is
doubtful. ``LEFT`` names the kinds that no reader of one reply can find out, and why. The honest kinds write their quotes in
another form: their numbers are right, and none is flagged.

``--write-docs`` puts the tables into ``measured-faults.md``.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from _shared import arguments, docs, judging
from _shared.data import read_data

from ctxmetrics import LLMJudge
from ctxmetrics.adapting.runners import isolated_process
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.verdicts import DOUBTFUL
from faults import content_faults as base
from faults import reply_faults as paths
from faults.content_faults import Ask, Entry, best, fault, rated_of, sentences, units_of
from support import FakeOpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = read_data("reply-contradictions")
CORPORA = ("natural", "near misses", "random words")
HEDGED = "hedged"
_FIRST = {
    "natural": base.NEAR,
    "near misses": 2 * base.NEAR,
    "random words": 3 * base.NEAR,
    HEDGED: 4 * base.NEAR,
}
Fault: TypeAlias = "Callable[[Entry, Ask], Any]"


def _make_words() -> dict[str, list[str]]:
    """Made-up words, each once, and the numbers of the near misses."""
    draw = random.Random(70)
    syllables = [one + two for one in "bdfgklmnprstvz" for two in "aeiou"]
    made: dict[str, None] = {}
    while len(made) < 1_000:
        made["".join(draw.sample(syllables, 3)) + draw.choice("lmnrst")] = None
    words = list(made)
    columns = {f"w{place}": words[10 * place : 10 * place + 10] for place in range(100)}
    numbers = {"kilos": 12, "volts": 210, "weeks": 3, "years": 2, "price": 310}
    columns |= {name: [str(first + 7 * step) for step in range(10)] for name, first in numbers.items()}
    return {**TEXTS["words"], **columns}


base.GROUPS[2:] = [TEXTS["near misses"], TEXTS["random words"], TEXTS[HEDGED]]
base.WORDS |= _make_words()


# --- a yes that its own reply denies ---

FALSE = (3, 4, 5, 6)
"""The places of the sentences that no context states."""


def is_false(unit: str, ask: Ask) -> bool:
    return sentences(ask.number).index(unit) in FALSE


@fault
def supported(
    reply: Entry,
    ask: Ask,
    places: tuple[int, ...] = FALSE,
    *,
    missing: Callable[[str, Entry], Any] = lambda unit, entry: "",
    change: Callable[[list[Entry], Ask], list[Entry]] = lambda evidence, ask: evidence,
    useful: bool = True,
) -> Any:
    """False sentences called supported by the closest sentence, with other words in the reply that deny it."""
    named = set()
    for id_, entry in units_of(reply).items():
        unit = ask.question.units[id_]
        if sentences(ask.number).index(unit) in places:
            evidence = change(best(unit, ask), ask)
            named |= {item["context"] for item in evidence}
            entry.update(evidence=evidence, missing=missing(unit, entry), supported=True)
    if useful:
        for id_ in named & rated_of(reply).keys():
            rated_of(reply)[id_].update(useful=True, quote="")
    return reply


def as_part(evidence: list[Entry], ask: Ask) -> list[Entry]:
    return [{**item, "whole": False} for item in evidence]


def twice(evidence: list[Entry], ask: Ask) -> list[Entry]:
    return as_part(evidence * 2, ask)


def and_a_piece(evidence: list[Entry], ask: Ask) -> list[Entry]:
    (item,) = as_part(evidence, ask)
    words = item["quote"].rstrip(".").split()
    return [item, {**item, "quote": " ".join(words[1:])}]


def first_words(unit: str, _: Entry) -> str:
    return " ".join(unit.split()[-3:])


@fault
def by_first_quote(reply: Entry, ask: Ask, places: tuple[int, ...]) -> Any:
    """Sentences have the whole entry of the first one."""
    entries = units_of(reply)
    first = [*entries.values()][:1]
    for id_ in entries:
        if first and sentences(ask.number).index(ask.question.units[id_]) in places:
            entries[id_] = copy.deepcopy(first[0])
    return reply


# --- lists with a place too few or too many ---


@fault
def taken_as_one(
    reply: Entry, ask: Ask, key: str, place: int, *, shift: bool = False, left: Any = ...
) -> Any:
    """The entry of one place stands under the one before it, and nothing, or a blank, under its own; or the rest moves up."""
    cells = reply.get(key)
    if cells is None or len(cells) <= place:
        return reply
    ids = list(cells)
    entries = list(cells.values())
    del entries[place - 1]
    if not shift:
        reply[key] = dict(zip([*ids[:place], *ids[place + 1 :]], entries, strict=True))
        if left is not ...:
            reply[key][ids[place]] = left
    else:
        reply[key] = dict(zip(ids[:-1], entries, strict=True))
        if left is not ...:
            reply[key][ids[-1]] = left
    return reply


@fault
def taken_as_two(reply: Entry, ask: Ask, key: str, place: int) -> Any:
    """The entry of one place stands twice, and the rest moves down to an id too many."""
    cells = reply.get(key)
    if cells is None or len(cells) <= place:
        return reply
    entries = list(cells.values())
    entries.insert(place, entries[place - 1])
    letter = key[0] if key == "sentences" else "c"
    reply[key] = {f"{letter}{number}": entry for number, entry in enumerate(entries, 1)}
    return reply


@fault
def both_in_one(reply: Entry, ask: Ask, place: int) -> Any:
    """Two sentences are judged together under the first id: supported if both are; the rest moves up."""
    cells = units_of(reply)
    if len(cells) <= place:
        return reply
    ids = list(cells)
    entries = list(cells.values())
    one, two = entries[place - 1 : place + 1]
    entries[place - 1 : place + 1] = [
        {
            "evidence": [*one["evidence"], *two["evidence"]],
            "missing": " ".join(filter(None, (one["missing"], two["missing"]))),
            "supported": one["supported"] and two["supported"],
        }
    ]
    reply["sentences"] = dict(zip(ids[:-1], entries, strict=True))
    return reply


@fault
def without_first(reply: Entry, ask: Ask, key: str) -> Any:
    """Each entry stands under the next id; the first id has none."""
    cells = reply.get(key)
    if cells is None or len(cells) < 2:
        return reply
    reply[key] = dict(zip(list(cells)[1:], list(cells.values())[:-1], strict=True))
    return reply


# --- a no that is an empty form ---


@fault
def noes(reply: Entry, ask: Ask, missing: Callable[[str, Ask], str], first: int = 0) -> Any:
    """Every sentence from a place on is a no with these words in the place of what is missing."""
    for id_, entry in [*units_of(reply).items()][first:]:
        entry.update(evidence=[], missing=missing(ask.question.units[id_], ask), supported=False)
    return reply


@fault
def cut_and_filled(reply: Entry, ask: Ask, first: int) -> Any:
    """A gateway mended a cut reply with the defaults of the schema, from a sentence on."""
    noes(lambda *_: "", first)(reply, ask)
    for entry in rated_of(reply).values():
        entry.update(quote="", useful=False)
    return reply


@fault
def cut_in_evidence(reply: Entry, ask: Ask) -> Any:
    """The same, cut off behind the evidence of the last supported sentence, whose ``whole`` is a default too."""
    last = max(
        (place for place, entry in enumerate(units_of(reply).values()) if entry["supported"]), default=0
    )
    cut_and_filled(last + 1)(reply, ask)
    for entry in [*units_of(reply).values()][last : last + 1]:
        entry.update(evidence=[{**one, "whole": False} for one in entry["evidence"]], supported=False)
    return reply


def _next_sentence(unit: str, ask: Ask) -> str:
    texts = sentences(ask.number)
    return texts[(texts.index(unit) + 1) % len(texts)]


# --- a no about what a context states, and a useful context that states something else ---


@fault
def lazy(
    reply: Entry,
    ask: Ask,
    places: tuple[int, ...] = (0, 1, 2),
    *,
    missing: Callable[[str], str] = lambda unit: " ".join(unit.rstrip(".").split()[-2:]),
    useless: bool = False,
    part: bool = False,
) -> Any:
    """True sentences called unsupported, some of their own words missing; their contexts are useful by their own quote.

    Args:
        reply: The reply.
        ask: Its request.
        places: The places of the sentences.
        missing: The words that are missing, by the sentence.
        useless: Call the contexts useless.
        part: Keep the quotes, each as a part.
    """
    homes = set()
    for id_, entry in units_of(reply).items():
        unit = ask.question.units[id_]
        if entry["supported"] and sentences(ask.number).index(unit) in places:
            homes |= {item["context"] for item in entry["evidence"]}
            evidence = as_part(entry["evidence"], ask) if part else []
            entry.update(evidence=evidence, missing=missing(unit), supported=False)
    for id_ in homes & rated_of(reply).keys():
        own = base.quote(ask.question.contexts[id_])
        rated_of(reply)[id_].update(useful=not useless, quote="" if useless else own)
    return reply


@fault
def contexts_read(reply: Entry, ask: Ask, read: slice) -> Any:
    """Only some contexts are read: the others are useless, and what they alone state is a no."""
    ids = list(ask.question.contexts)[read]
    for id_, entry in units_of(reply).items():
        homes = {item["context"] for item in entry["evidence"]}
        if entry["supported"] and homes.isdisjoint(ids):
            entry.update(evidence=[], missing=ask.question.units[id_], supported=False)
    for id_, entry in rated_of(reply).items():
        if id_ not in ids:
            entry.update(useful=False, quote="")
    return reply


@fault
def near_useful(
    reply: Entry,
    ask: Ask,
    places: tuple[int, ...] = (0, 2, 5),
    own: Callable[[str, Ask], str] = lambda text, ask: base.quote(text),
) -> Any:
    """Useless contexts called useful, each with a quote of its own."""
    for id_, entry in rated_of(reply).items():
        text = ask.question.contexts[id_]
        if base.contexts(ask.number).index(text) in places:
            entry.update(useful=True, quote=own(text, ask))
    return reply


def closest_sentence(text: str, ask: Ask) -> str:
    return base.closest(" ".join(sentences(ask.number)), base.sentences_in(text))


def in_halves(*names: str, whole: bool) -> Callable[[list[Entry], Ask], list[Entry]]:
    """A change of evidence: these halves of its quote, the first or the second."""

    def change(evidence: list[Entry], _: Ask) -> list[Entry]:
        (item,) = evidence
        words = item["quote"].rstrip(".").split()
        middle = len(words) // 2
        halves = {"first": words[:middle], "second": words[middle:]}
        return [{**item, "quote": " ".join(halves[name]), "whole": whole} for name in names]

    return change


KINDS: dict[str, Fault] = {
    # a yes that its own reply denies
    "false sentences supported, their context useless": supported(useful=False),
    "sentence 4 supported, its context useless": supported((3,), useful=False),
    "sentence 6 supported by a part, its context useless": supported(
        (5,), change=as_part, useful=False
    ),
    "supported, and its last words are missing": supported(missing=first_words),
    "supported, and all of it is missing": supported(missing=lambda *_: "all of it"),
    "supported, and the sentence is missing": supported(missing=lambda unit, _: unit),
    "one sentence supported, and its last words are missing": supported((4,), missing=first_words),
    "supported, the missing words left from a no": supported(missing=lambda _, entry: entry["missing"]),
    "supported by one part": supported(change=as_part),
    "one sentence supported by one part": supported((5,), change=as_part),
    "supported by one part, twice": supported(change=twice),
    "supported by one part and a piece of it": supported(change=and_a_piece),
    "supported, an object of missing words": supported(
        missing=lambda unit, entry: {"words": first_words(unit, entry)}
    ),
    "sentence 4 by the quote of sentence 1": by_first_quote((3,)),
    "sentence 7 by the quote of sentence 1": by_first_quote((6,)),
    "all sentences by the quote of sentence 1": by_first_quote((1, 2, 3, 4, 5, 6)),
    # lists with a place too few or too many
    "sentence 3 under 2, nothing under 3": taken_as_one("sentences", 2),
    "sentence 4 under 3, nothing under 4": taken_as_one("sentences", 3),
    "sentence 4 under 3, null under 4": taken_as_one("sentences", 3, left=None),
    "sentence 4 under 3, an empty entry under 4": taken_as_one("sentences", 3, left={}),
    "sentence 4 under 3, an empty verdict under 4": taken_as_one(
        "sentences", 3, left={"evidence": [], "missing": "", "supported": None}
    ),
    "sentence 4 under 3, the rest moved up": taken_as_one("sentences", 3, shift=True),
    "sentence 2 under 1, the rest moved up": taken_as_one("sentences", 1, shift=True),
    "sentence 4 under 3, the rest moved up, null at the end": taken_as_one(
        "sentences", 3, shift=True, left=None
    ),
    "sentences 3 and 4 judged together, the rest moved up": both_in_one(3),
    "sentences 1 and 2 judged together, the rest moved up": both_in_one(1),
    "each sentence under the next one": without_first("sentences"),
    "sentence 1 judged twice, the rest moved down": taken_as_two("sentences", 1),
    "sentence 3 judged twice, the rest moved down": taken_as_two("sentences", 3),
    "context 2 under 1, nothing under 2": taken_as_one("useful", 1),
    "context 3 under 2, nothing under 3": taken_as_one("useful", 2),
    "context 2 under 1, the rest moved up": taken_as_one("useful", 1, shift=True),
    "context 3 under 2, the rest moved up": taken_as_one("useful", 2, shift=True),
    "each context under the next one": without_first("useful"),
    # a no that is an empty form
    "all sentences no, nothing missing": noes(lambda *_: ""),
    "all sentences no, null missing": noes(lambda *_: None),
    'all sentences no, "none" missing': noes(lambda *_: "none"),
    'all sentences no, "N/A" missing': noes(lambda *_: "N/A"),
    'all sentences no, "string" missing': noes(lambda *_: "string"),
    "all sentences no, the next one missing": noes(_next_sentence),
    "no from sentence 2 on, nothing missing": noes(lambda *_: "", 1),
    "cut off at the start, filled with defaults": cut_and_filled(0),
    "cut off at sentence 2, filled with defaults": cut_and_filled(1),
    "cut off at sentence 3, filled with defaults": cut_and_filled(2),
    "cut off behind evidence, filled with defaults": cut_in_evidence(),
    # a no about what a context states
    "true sentences no, two words missing": lazy(),
    "true sentences no, one word missing": lazy(
        missing=lambda unit: unit.split()[len(unit.split()) // 2]
    ),
    "true sentences no, the sentence missing": lazy(missing=lambda unit: unit),
    "true sentences no, their contexts useless": lazy(useless=True),
    "true sentences no, their quotes parts": lazy(part=True),
    "sentence 1 no, two words missing": lazy((0,)),
    "sentence 2 no, two words missing": lazy((1,)),
    "sentence 3 no, two words missing": lazy((2,)),
    "sentence 3 no, its context useless": lazy((2,), useless=True),
    "only the first three contexts are read": contexts_read(slice(3)),
    # a useful context that states something else
    "near contexts useful, their first sentence": near_useful(),
    "near contexts useful, their closest sentence": near_useful(own=closest_sentence),
    "near contexts useful, all of their text": near_useful(own=lambda text, _: text),
    "near context 1 useful, its first sentence": near_useful((0,)),
    "near context 3 useful, its first sentence": near_useful((2,)),
    "near context 6 useful, its first sentence": near_useful((5,)),
    "false sentences by half of a quote": supported(change=in_halves("first", whole=True)),
    "false sentences by both halves of a quote": supported(
        change=in_halves("first", "second", whole=False)
    ),
}
HEDGED_KINDS: dict[str, Fault] = {
    "failed to, called supported": supported((3,)),
    "lacks, called supported": supported((4,)),
    "until a year, called supported": supported((5,)),
}
LEFT: dict[str, str] = {
    "near context 3 useful, its first sentence": "random words: two of five words of a sentence may be of use",
    "near context 6 useful, its first sentence": "random words: two of five words of a sentence may be of use",
    "false sentences by half of a quote": "random words: a quote with two of the five words of a sentence",
    "false sentences by both halves of a quote": "random words: a quote with two of the five words of a sentence",
}


# --- honest replies in other forms ---


@fault
def quoted_as(reply: Entry, ask: Ask, form: str) -> Any:
    """Every quote written in a form, ``{id}`` and ``{quote}``."""
    for entry in units_of(reply).values():
        for item in entry["evidence"]:
            item["quote"] = form.format(id=item["context"], quote=item["quote"])
    for id_, entry in rated_of(reply).items():
        if entry["quote"]:
            entry["quote"] = form.format(id=id_, quote=entry["quote"])
    return reply


FORMS = (
    "{id}: {quote}",
    "{quote} [{id}]",
    '"{quote}" ({id})',
    "<q>{quote}</q>",
    "**{quote}**",
    "[{id}] {quote}",
    'Context {id}: "{quote}"',
    "> {quote}",
    "{quote} — {id}",
    "`{quote}`",
    "Quote: {quote}",
    "“{quote}” [source: {id}]",
)


@fault
def nothing_missing(reply: Entry, ask: Ask, words: str) -> Any:
    """Every yes says in words that nothing is missing."""
    for entry in units_of(reply).values():
        if entry["supported"]:
            entry["missing"] = words
    return reply


HONEST: dict[str, Fault] = {
    "honest": lambda reply, _: reply,
    **{f"quotes as {form}": quoted_as(form) for form in FORMS},
    'yes, "none" missing': nothing_missing("none"),
    'yes, "N/A" missing': nothing_missing("N/A"),
}
ALL = {**KINDS, **HEDGED_KINDS, **HONEST}


def measure(
    path: str,
    kinds: list[str],
    rates: tuple[float, ...],
    count: int,
    replies: dict[str, Fault] | None = None,
) -> dict[tuple[str, str, float], Counter[str]]:
    """Score the samples of all kinds in one run a metric; count the outcomes by kind, corpus and rate."""
    runner, model = base.PATHS[path]
    keys = [
        (kind, corpus, rate, _FIRST[corpus] + number)
        for kind in kinds
        for corpus in ((HEDGED,) if kind in HEDGED_KINDS else CORPORA)
        for rate in rates
        for number in range(count)
    ]
    random.Random(0).shuffle(keys)
    samples = [
        replace(base.sample(number, f"{kind} {rate}"), id=str(place))
        for place, (kind, _, rate, number) in enumerate(keys)
    ]
    found: dict[tuple[str, str, float], Counter[str]] = {}
    forget()
    with (
        isolated_process(dict(judging.QUIET)),
        FakeOpenAIServer(base.Judge(count, replies or ALL)) as server,
    ):
        judge = paths.Recorder(LLMJudge(model(server.base_url)))
        for name, metric in base.METRICS.items():
            values = paths.get_runner(runner).score(metric.with_judge(judge), samples)
            for (kind, corpus, rate, _), sample, value in zip(keys, samples, values, strict=True):
                codes = [code for _, _, code in judge.found.get(sample.user_input, ())]
                counted = found.setdefault((kind, corpus, rate), Counter())
                counted["numbers"] += 1
                right = value is not None and abs(value - base.TRUTH[name]) < 1e-9
                doubtful = bool(DOUBTFUL.intersection(codes))
                counted["doubted"] += doubtful
                wrong = "flagged" if doubtful else "silent"
                counted["no value" if value is None else "right" if right else wrong] += 1
    return found


def count_outcomes(
    path: str, kinds: list[str], samples: int, replies: dict[str, Fault] | None = None
) -> dict[str, int]:
    """Count the outcomes of all numbers where every reply is of its kind."""
    found = measure(path, kinds, (1.0,), samples, replies)
    keys = ("right", "flagged", "no value", "silent", "doubted")
    return {key: sum(counted[key] for counted in found.values()) for key in keys}


def table(found: dict[tuple[str, str, float], Counter[str]], kinds: list[str]) -> str:
    """Return the table: wrong numbers without a flag at both rates, by corpus."""
    lines = []
    for kind in kinds:
        cells = []
        for corpus in CORPORA if kind not in HEDGED_KINDS else (HEDGED,):
            cells.append(" / ".join(str(found[kind, corpus, rate]["silent"]) for rate in base.RATES))
        if kind in HEDGED_KINDS:
            cells = [*cells, "", ""]
        sums: Counter[str] = Counter()
        for (name, _, rate), counted in found.items():
            if name == kind and rate == 1.0:
                sums += counted
        told = ", ".join(
            f"{sums[key]} {words}"
            for key, words in (
                ("right", "right"),
                ("flagged", "wrong, flagged"),
                ("no value", "not judged"),
                ("silent", "**wrong**"),
            )
            if sums[key]
        )
        lines.append([kind, *cells, told])
    return docs.markdown(["what the reply says", *CORPORA, "at 100 %"], lines)


def run(argv: list[str]) -> dict[str, object]:
    faulty = {**KINDS, **HEDGED_KINDS}
    return run_kinds("reply_contradictions", faulty, HONEST, LEFT, argv)


def run_kinds(
    name: str,
    faulty_kinds: dict[str, Fault],
    honest_kinds: dict[str, Fault],
    left: dict[str, str],
    argv: list[str],
) -> dict[str, object]:
    """Measure kinds of replies, print their table, and return the figures.

    Args:
        name: The name of the benchmark, and of its table.
        faulty_kinds: The kinds that are wrong.
        honest_kinds: The kinds that are right.
        left: The wrong kinds that no reader of one reply can find out, and why.
        argv: The arguments.
    """
    replies = {**faulty_kinds, **honest_kinds}
    parser = arguments.make_parser(name, paths=base.PATHS, only=tuple(replies), write_docs=False)
    parser.add_argument("--samples", type=int, default=10, choices=range(1, 11))
    options = parser.parse_args(argv)
    faulty = [kind for kind in options.only if kind in faulty_kinds]
    honest = [kind for kind in options.only if kind in honest_kinds]
    sums, silent, accused = {}, {}, {}
    for path in options.paths:
        found = measure(path, options.only, base.RATES, options.samples, replies)
        shown = table(found, options.only)
        print(path, shown, sep="\n")
        if options.write_docs and path == "core":
            docs.write(name, shown)
        sums[path] = [
            f"{sum(one['silent'] for (kind, _, each), one in found.items() if kind in faulty and each == rate)}"
            f" of {sum(one['numbers'] for (kind, _, each), one in found.items() if kind in faulty and each == rate)}"
            for rate in base.RATES
        ]
        silent[path] = {
            f"{kind}, {corpus}, {rate:.0%}": one["silent"]
            for (kind, corpus, rate), one in found.items()
            if kind in faulty and one["silent"] and kind not in left
        }
        accused[path] = {
            f"{kind}, {corpus}": one["numbers"] - one["right"] + one["doubted"]
            for (kind, corpus, rate), one in found.items()
            if kind in honest and rate == 1.0 and (one["doubted"] or one["right"] < one["numbers"])
        }
    print("wrong without a flag:", json.dumps(silent, indent=1))
    print("honest replies accused:", json.dumps(accused, indent=1))
    return {
        "benchmark": name,
        "kinds": len(faulty),
        "sums": sums,
        "silent": silent,
        "accused": accused,
    }
