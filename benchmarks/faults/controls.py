"""Controls: what they say of a judge that is right but for a few verdicts, and of judges that are wrong in one way throughout.

    python benchmarks/run.py controls [--runs 40] [--controls 24] [--slips 0.1]

Each run scores forty samples whose truth is known with recall and precision, and asks for controls. The judge is a model in
this process; an honest one is wrong in 10 % of its verdicts, drawn anew in each run. A judge is found where its verdicts about
sentences or about contexts, in the whole run or one of its halves, fail: a judge with 10 % slips has so few right ones in one
of 50,000 runs; so do groups of verdicts at one kind of place. The shares are the lower one of sentences and contexts. A judge that is wrong in one half of the run gives the
other half right, so that its share of the whole run is .75 on average, and .5 in its half: the mean of the lowest of the four
halves stands beside.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from _shared import arguments

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample, evaluate
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.scripted import ScriptedModel
from faults import content_faults
from support import read_question
from support.answers import _closest, _sentences, _shared
from support.judges import honest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxmetrics.evaluation.report.summary import Controls
    from ctxmetrics.models.base import Prompt
    from faults.content_faults import Entry

SAMPLES = 40


def right(prompt: Prompt) -> dict[str, Any]:
    """The right reply about a sample of the run or a control."""
    question = read_question(prompt.text)
    number = re.search(r"What about number (\d+)", question.data["question"])
    if number is None:
        return honest(prompt)[2]
    return content_faults.honest(content_faults.Ask(question, int(number[1])))


def entries(reply: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {**reply.get("sentences", {}), **reply.get("useful", {})}


def say(id_: str, entry: dict[str, Any], value: bool, prompt: Prompt) -> None:
    """Give an entry a verdict, a yes with the sentence that shares most words with what it is about."""
    question = read_question(prompt.text)
    shown = question.contexts
    if "supported" in entry:
        unit = question.units[id_]
        quotes = {name: _closest(unit, _sentences(text)) for name, text in shown.items()}
        best = _closest(unit, quotes.values())
        home = next(name for name, quote in quotes.items() if quote == best)
        found = [{"context": home, "quote": best, "whole": True}] if value else []
        entry.update(evidence=found, missing="" if value else unit, supported=value)
    else:
        answer = " ".join(question.units.values())
        quote = _closest(answer, _sentences(shown[id_]))
        entry.update(quote=quote if value else "", useful=value)


@dataclass
class Ask:
    """One request to a judge that is wrong in one way.

    Attributes:
        prompt: The request.
        number: How many requests there were before, from where this run begins.
        seed: Where this run begins.
        drawn: Draws the verdicts of a judge that guesses.
        slips: The share of verdicts in which an honest judge is wrong.
        earlier: The right reply to the question before.
    """

    prompt: Prompt
    number: int
    seed: int
    drawn: random.Random
    slips: float
    earlier: str


def truth(entry: Entry) -> bool:
    return entry.get("supported", entry.get("useful"))


@content_faults.fault
def told(
    reply: Entry,
    ask: Ask,
    value: Callable[[Ask, int, Entry], bool],
    keys: tuple[str, ...] = ("sentences", "useful"),
) -> Entry:
    """Give every entry under these keys a verdict, from its place and what is right; a yes quotes the closest sentence."""
    for key in keys:
        for place, (id_, entry) in enumerate(reply.get(key, {}).items()):
            say(id_, entry, value(ask, place, {**entry, "of": len(reply[key])}), ask.prompt)
    return reply


@content_faults.fault
def slip(reply: Entry, ask: Ask, share: Callable[[Ask, Entry], float]) -> Entry:
    """Turn so large a share of the verdicts round, drawn anew in each run."""
    for id_, entry in entries(reply).items():
        if ask.drawn.random() < share(ask, entry):
            say(id_, entry, not truth(entry), ask.prompt)
    return reply


@content_faults.fault
def rotate(reply: Entry, ask: Ask, *keys: str) -> Entry:
    for key in keys:
        cells = reply.get(key, {})
        ids = list(cells)
        step = 1 + ask.seed % max(1, len(ids) - 1)
        reply[key] = dict(zip(ids[step:] + ids[:step], cells.values(), strict=True))
    return reply


@content_faults.fault
def reading(reply: Entry, ask: Ask, choose: Callable[[list[str], Entry], list[str]]) -> Entry:
    """Read some contexts only: what they do not state is a no, and the others are useless."""
    shown = choose([*read_question(ask.prompt.text).contexts], reply)
    for id_, entry in reply.get("sentences", {}).items():
        whole = any(item["whole"] for item in entry["evidence"])
        found = [item for item in entry["evidence"] if item["context"] in shown]
        lost = len(found) < len(entry["evidence"])
        if entry["supported"] and (not any(item["whole"] for item in found) if whole else lost):
            unit = read_question(ask.prompt.text).units[id_]
            found = [{**item, "whole": False} for item in found]
            entry.update(missing=unit, supported=False)
        entry["evidence"] = found
    for id_, entry in reply.get("useful", {}).items():
        if id_ not in shown:
            entry.update(useful=False, quote="")
    return reply


def up_to_first_useful(ids: list[str], reply: Entry) -> list[str]:
    useful = reply.get("useful", {})
    named = [
        item["context"] for cell in reply.get("sentences", {}).values() for item in cell["evidence"]
    ]
    first = [
        place for place, id_ in enumerate(ids) if id_ in named or useful.get(id_, {}).get("useful")
    ]
    return ids[: first[0] + 1] if first else ids


@content_faults.fault
def empty_noes(reply: Entry, ask: Ask) -> Entry:
    for entry in reply.get("sentences", {}).values():
        if not entry["supported"]:
            entry.update(missing="", evidence=[])
    return reply


@content_faults.fault
def by_topic(reply: Entry, ask: Ask, share: float) -> Entry:
    """Whatever shares so many words with a context, or with the answer, is a yes."""
    question = read_question(ask.prompt.text)
    answer = " ".join(question.units.values())
    for id_, entry in reply.get("sentences", {}).items():
        unit = question.units[id_]
        best = max(_shared(unit, text) for text in question.contexts.values())
        say(id_, entry, best >= share, ask.prompt)
    for id_, entry in reply.get("useful", {}).items():
        say(id_, entry, _shared(question.contexts[id_], answer) >= share, ask.prompt)
    return reply


UNITS, CONTEXTS = ("sentences",), ("useful",)
LATE = SAMPLES * 3 // 4
HONEST = ("honest", "honest, no slips", "honest, half the slips")
JUDGES: dict[str, Callable[[Entry, Ask], Entry]] = {
    "honest": slip(lambda ask, _: ask.slips),
    "honest, no slips": lambda reply, _: reply,
    "honest, half the slips": slip(lambda ask, _: ask.slips / 2),
    "every no empty": empty_noes(),
    "reads the first two contexts": reading(lambda ids, _: ids[:2]),
    "reads the last two contexts": reading(lambda ids, _: ids[-2:]),
    "reads the first three contexts": reading(lambda ids, _: ids[:3]),
    "stops at the first useful context": reading(up_to_first_useful),
    "goes by the topic": by_topic(0.3),
    "a coin": told(lambda ask, *_: ask.drawn.random() < 0.5),
    "a coin about sentences": told(lambda ask, *_: ask.drawn.random() < 0.5, UNITS),
    "a coin about contexts": told(lambda ask, *_: ask.drawn.random() < 0.5, CONTEXTS),
    "all yes": told(lambda *_: True),
    "all no": told(lambda *_: False),
    "all supported": told(lambda *_: True, UNITS),
    "none supported": told(lambda *_: False, UNITS),
    "all useful": told(lambda *_: True, CONTEXTS),
    "none useful": told(lambda *_: False, CONTEXTS),
    "turned round": told(lambda _, __, entry: not truth(entry)),
    "alternating in each reply": told(lambda ask, place, _: (place + ask.seed) % 2 == 0),
    "alternating from reply to reply": told(lambda ask, *_: ask.number % 2 == 0),
    "the first half yes, the rest no": told(lambda _, place, entry: 2 * place < entry["of"]),
    "the first half no, the rest yes": told(lambda _, place, entry: 2 * place >= entry["of"]),
    "only the first yes": told(lambda _, place, __: place == 0),
    "rotated": rotate("sentences", "useful"),
    "contexts rotated": rotate("useful"),
    "another request's answers": lambda reply, ask: {**json.loads(ask.earlier), "code": reply["code"]},
    "four of five noes are a yes": slip(lambda _, entry: 0 if truth(entry) else 0.8),
    "four of five yeses are a no": slip(lambda _, entry: 0.8 if truth(entry) else 0),
    "all yes in the first half": lambda reply, ask: (
        told(lambda *_: True)(reply, ask) if ask.number - ask.seed <= LATE else reply
    ),
    "all useful in the first half": lambda reply, ask: (
        told(lambda *_: True, CONTEXTS)(reply, ask) if ask.number - ask.seed <= LATE else reply
    ),
    "all yes in the second half": lambda reply, ask: (
        told(lambda *_: True)(reply, ask) if ask.number - ask.seed > LATE else reply
    ),
    "all useful in the second half": lambda reply, ask: (
        told(lambda *_: True, CONTEXTS)(reply, ask) if ask.number - ask.seed > LATE else reply
    ),
}


class Judge:
    """A judge that is wrong in one way; ``seed`` says where it begins."""

    def __init__(self, fault: str, seed: int, slips: float) -> None:
        self._fault, self._drawn, self._slips = fault, random.Random(seed), slips
        self._asked, self._seed = seed, seed
        # The right replies to the last two questions that differ.
        self._kept: list[tuple[str, str]] = []

    def __call__(self, prompt: Prompt) -> Any:
        reply = right(prompt)
        self._asked += 1
        asked = read_question(prompt.text).data["question"]
        if not self._kept or self._kept[-1][0] != asked:
            self._kept = [*self._kept[-1:], (asked, json.dumps(reply))]
        ask = Ask(prompt, self._asked, self._seed, self._drawn, self._slips, self._kept[0][1])
        return JUDGES[self._fault](reply, ask)


def samples() -> list[Sample]:
    """Forty: the ten samples of the faults, each asked about four times."""
    made = [content_faults.sample(number % 10, f"controls {number}") for number in range(SAMPLES)]
    return [replace(sample, id=str(number)) for number, sample in enumerate(made)]


def measure(fault: str, seed: int, controls: int, slips: float = 0.1) -> Controls:
    """Run once with a judge that begins anew, and return what the controls say."""
    forget()
    judge = LLMJudge(ScriptedModel(Judge(fault, seed, slips), identity=f"{fault} {seed}"))
    metrics = [ContextRecall(), ContextPrecision()]
    results = evaluate(
        samples(), metrics, judge=judge, controls=controls, max_concurrency=1, progress=False
    )
    assert results.controls is not None
    return results.controls


def run(argv: list[str]) -> dict[str, object]:
    parser = arguments.make_parser("controls", runs=40, controls=24, slips=0.1, only=JUDGES)
    options = parser.parse_args(argv)
    figures, over = {}, []
    print(
        "| judge | lowest share | mean | highest | mean, worst half | found |\n|---|---|---|---|---|---|"
    )
    for fault in options.only:
        found = [measure(fault, seed, options.controls, options.slips) for seed in range(options.runs)]
        shares = [one.lowest for one in found]
        failed = sum(bool(one.failed) for one in found)
        worst = sum(min(right / total for right, total in one.parts.values()) for one in found)
        half = worst / len(found)
        mean = sum(shares) / len(shares)
        figures[fault] = {"lowest": min(shares), "mean": mean, "highest": max(shares), "half": half}
        figures[fault]["found"] = failed
        print(
            f"| {fault} | {min(shares):.3f} | {mean:.3f} | {max(shares):.3f} | {half:.3f} "
            f"| {failed} of {len(found)} |",
            flush=True,
        )
        wanted = 0 if fault in HONEST else options.runs
        if failed != wanted:
            over.append(f"{fault}: found in {failed} of {options.runs} runs, not {wanted}")
    return {"benchmark": "controls", "runs": options.runs, "judges": figures, "over": over}
