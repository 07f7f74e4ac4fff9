"""Replies that are readable and wrong in what they say: how many numbers come out wrong without a flag.

    python benchmarks/run.py content_faults [--paths core ragas deepeval langsmith] [--samples 10] [--only NAME ..] [--write-docs]

Ten samples of four sentences and five contexts, whose true scores are known (recall 3/4, precision 8/15), and a judge
behind a server on the loopback. It answers honestly, but for one fault in what it says: in every reply about one of the
ten samples (10 %), or about all of them (100 %), also when it is asked again. A number is wrong without a flag when it is
not the true one and no verdict behind it is flagged as doubtful.

``EXPLAINED`` names the faults that no reader of one reply can find out, and why; all others must give 0. Honest replies
stand in the same table: at most 3 % of their verdicts may be flagged.

``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

import _docs
import _judging as judging
import reply_faults as paths

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample
from ctxmetrics.adapting.runners import aside
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.prompts import get_pack
from ctxmetrics.verdicts import DOUBTFUL
from support import FakeOpenAIServer
from support.answers import read_question
from support.chat import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

RATES = (0.1, 1.0)
METRICS = {"recall": ContextRecall(), "precision": ContextPrecision()}
TRUTH = {"recall": 3 / 4, "precision": (1 / 2 + 2 / 4 + 3 / 5) / 3}
PATHS = {
    "core": ("core", lambda url: paths.OpenAIModel(paths.NAME, base_url=url, api_key=paths.KEY)),
    "ragas": ("ragas.evaluate", paths._ragas_wrapper),
    "deepeval": ("deepeval.evaluate", lambda url: paths._deepeval(url, "gpt-4o")),
    "langsmith": ("langsmith.evaluate", paths._chat),
}
TITLES = {"core": "core", "ragas": "Ragas", "deepeval": "DeepEval", "langsmith": "LangSmith"}


# --- the samples ---

_PLACES = (
    [
        "lighthouse",
        "ferry",
        "quarry",
        "orchard",
        "windmill",
        "brewery",
        "library",
        "harbour",
        "chapel",
        "tannery",
    ],
    [
        "Amelia",
        "Bernard",
        "Clotilde",
        "Dragomir",
        "Eleonora",
        "Fiodor",
        "Gudrun",
        "Hannibal",
        "Isolde",
        "Jonathan",
    ],
    [
        "lantern",
        "paddle",
        "crane",
        "cider-press",
        "millstone",
        "kettle",
        "clock",
        "anchor",
        "organ",
        "barrel",
    ],
    [
        "tram",
        "bicycle",
        "sledge",
        "canoe",
        "carriage",
        "funicular",
        "omnibus",
        "gondola",
        "scooter",
        "raft",
    ],
    ["barley", "hemp", "mustard", "lavender", "clover", "rhubarb", "saffron", "millet", "sorrel", "flax"],
)


def sentences(number: int) -> list[str]:
    """The reference: three sentences that a context states, in other words, and one that a context denies."""
    place, name, part, vehicle, plant = (column[number % 10] for column in _PLACES)
    return [
        f"{name} opened the {place} in {1701 + number}.",
        f"Its {part} weighs {31 + number} tonnes.",
        f"Guests arrive by {vehicle}.",
        f"Wild {plant} thrives behind the old stables.",
    ]


def contexts(number: int) -> list[str]:
    """Junk, what states the first sentence, what denies the fourth, and what states the second and the third."""
    place, name, part, vehicle, plant = (column[number % 10] for column in _PLACES)
    filler = "The rain fell for hours. Bread was dear that year. The council met on Mondays."
    return [
        f"Weather notes\nIt was cold and windy all week. {filler}",
        f"About the {place}\nIn {1701 + number} the {place} was opened by {name} with a parade. {filler}",
        f"Wild {plant}\nWild {plant} no longer, as the gardeners say, thrives behind the old stables. {filler}",
        f"Inventory\nThey weighed the {part}: {31 + number} tonnes. {filler}",
        f"How to come\nA {vehicle} takes the guests there every morning. {filler}",
    ]


# By unit and by context, what a judge that is right says and quotes.
STATED = {"s1": "c2", "s2": "c4", "s3": "c5"}


def quote(context: str) -> str:
    """The sentence after the heading."""
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
    shown, asked = question.contexts, question.units
    reply: dict[str, Any] = {"data": question.code}
    truth = dict(zip(sentences(ask.number), ("c2", "c4", "c5", None), strict=True))
    places = {text: f"c{rank}" for rank, text in enumerate(contexts(ask.number), 1)}
    ids = {places[text]: id_ for id_, text in shown.items()}
    if asked:
        reply["sentences"] = []
        for id_, text in asked.items():
            home = ids.get(truth[text]) if truth[text] else None
            found = [{"context": home, "quote": quote(shown[home]), "whole": True}] if home else []
            missing = None if found else text
            reply["sentences"].append(
                {"id": id_, "evidence": found, "missing": missing, "supported": bool(found)}
            )
    if question.step in ("joint", "usefulness"):
        named = {item["context"] for entry in reply.get("sentences", ()) for item in entry["evidence"]}
        reply["contexts"] = [
            {
                "id": id_,
                "quote": quote(text)
                if (useful := places[text] in STATED.values()) and id_ not in named
                else None,
                "useful": useful,
            }
            for id_, text in shown.items()
        ]
    return reply


def of_sample(ask: Ask, number: int) -> dict[str, Any]:
    """The honest reply about another sample, with the code of that request."""
    from ctxmetrics.prompts import render

    data = copy.deepcopy(dict(ask.question.data))
    for key, texts in (("sentences", sentences(number)), ("contexts", contexts(number))):
        for item, text in zip(data.get(key, ()), texts, strict=False):
            item["text"] = text
    data["question"] = f"What about number {number}?"
    if "answer" in data:
        data["answer"] = " ".join(sentences(number))
    other = read_question(render(get_pack("en"), ask.question.step, data).text)
    return honest(Ask(other, number))


# --- the faults: each makes a reply from an honest one and the request ---


def units_of(reply: dict[str, Any]) -> list[dict[str, Any]]:
    return reply.get("sentences", [])


def rated_of(reply: dict[str, Any]) -> list[dict[str, Any]]:
    return reply.get("contexts", [])


def without(key: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        return {name: value for name, value in reply.items() if name != key}

    return fault


def echo(code: str) -> Callable[..., Any]:
    return lambda reply, _: {**reply, "data": code}


def other(step: int, *, echoed: bool = True) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        found = of_sample(ask, (ask.number + step) % 10)
        if not echoed:
            found.pop("data")
        return found

    return fault


def earlier(*, reverse: bool = False, reference: bool = False) -> Callable[..., Any]:
    """A reply of an earlier run: with the contexts in another order, or about another reference."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        from ctxmetrics.prompts import render

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
            found = copy.deepcopy(honest(ask))
            for entry in units_of(found):
                entry.update(evidence=[], missing="all of it", supported=False)
            for entry in rated_of(found):
                entry.update(quote=None, useful=False)
            found["data"] = read_question(render(get_pack("en"), ask.question.step, data).text).code
            return found
        return honest(
            Ask(read_question(render(get_pack("en"), ask.question.step, data).text), ask.number)
        )

    return fault


def all_true(
    evidence: Callable[[Ask, str], list[dict[str, Any]]], own: Callable[[str], str | None] | None = None
) -> Callable[..., Any]:
    """Everything true, with this evidence for each unit, and this quote for each context."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for entry in units_of(reply):
            text = ask.question.units[entry["id"]]
            entry.update(evidence=evidence(ask, text), missing=None, supported=True)
        for entry in rated_of(reply):
            text = ask.question.contexts[entry["id"]]
            entry.update(quote=own(text) if own else None, useful=True)
        return reply

    return fault


def cited(quote_of: Callable[[str, str], str]) -> Callable[[Ask, str], list[dict[str, Any]]]:
    """Evidence from every context, with the quote that a function gives for a unit and a context."""
    return lambda ask, unit: [
        {"context": id_, "quote": quote_of(unit, text), "whole": True}
        for id_, text in ask.question.contexts.items()
    ]


def useful_all(own: Callable[[str], str | None]) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for entry in rated_of(reply):
            entry.update(quote=own(ask.question.contexts[entry["id"]]), useful=True)
        return reply

    return fault


def _swapped(name: str, one: str, two: str) -> str:
    return two if name == one else one if name == two else name


def swap_evidence(one: str, two: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        for entry in units_of(reply):
            for item in entry["evidence"]:
                item["context"] = _swapped(item["context"], one, two)
        return reply

    return fault


def swap_ids(key: str, one: str, two: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        for entry in reply.get(key, []):
            entry["id"] = _swapped(entry["id"], one, two)
        return reply

    return fault


def rotate_ids(key: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        entries = reply.get(key, [])
        ids = [entry["id"] for entry in entries]
        for entry, id_ in zip(entries, ids[1:] + ids[:1], strict=True):
            entry["id"] = id_
        return reply

    return fault


def both(*faults: Callable[..., Any]) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        for each in faults:
            reply = each(reply, ask)
        return reply

    return fault


def fourth(quote_of: Callable[[Ask], list[tuple[str, str, bool]]]) -> Callable[..., Any]:
    """The fourth sentence, which a context denies, called supported by these quotes; its context is called useful."""

    def fault(reply: dict[str, Any], ask: Ask) -> Any:
        ids = {text: id_ for id_, text in ask.question.contexts.items()}
        for entry in units_of(reply):
            if ask.question.units[entry["id"]] == sentences(ask.number)[3]:
                found = [
                    {
                        "context": ids.get(contexts(ask.number)[int(place[1:]) - 1], place),
                        "quote": text,
                        "whole": whole,
                    }
                    for place, text, whole in quote_of(ask)
                ]
                entry.update(evidence=found, missing=None, supported=True)
        return reply

    return fault


def claimed(**changes: Any) -> Callable[..., Any]:
    """Every verdict about a sentence set so; the evidence stays."""

    def fault(reply: dict[str, Any], _: Ask) -> Any:
        for entry in units_of(reply):
            entry.update(changes)
        return reply

    return fault


def inverted(key: str, field: str) -> Callable[..., Any]:
    def fault(reply: dict[str, Any], _: Ask) -> Any:
        for entry in reply.get(key, []):
            entry[field] = not entry[field]
        return reply

    return fault


def all_false(reply: dict[str, Any], _: Ask) -> Any:
    for entry in units_of(reply):
        entry.update(evidence=[], missing="all of it", supported=False)
    for entry in rated_of(reply):
        entry.update(quote=None, useful=False)
    return reply


def opposite(reply: dict[str, Any], ask: Ask) -> dict[str, Any]:
    """The reply that says the opposite, with true quotes from the contexts."""
    turned = copy.deepcopy(reply)
    for entry in units_of(turned):
        entry["supported"] = not entry["supported"]
    for entry in rated_of(turned):
        entry["useful"] = not entry["useful"]
    return turned


def doubled(reply: dict[str, Any], _: Ask) -> str:
    text = json.dumps(reply)
    return re.sub(r'"(supported|useful)": (true|false)', lambda m: f'{m[0]}, "{m[1]}": true', text)


def junk_named(reply: dict[str, Any], ask: Ask) -> Any:
    """The junk context is named beside the right one, with stop words, and called useful."""
    junk = next(
        (id_ for id_, text in ask.question.contexts.items() if text == contexts(ask.number)[0]), "c1"
    )
    for entry in units_of(reply):
        if entry["supported"]:
            entry["evidence"].append({"context": junk, "quote": "all", "whole": True})
    for entry in rated_of(reply):
        if entry["id"] == junk:
            entry.update(useful=True, quote="It was")
    return reply


def example(_: dict[str, Any], ask: Ask) -> str:
    text = get_pack("en").texts[ask.question.step]
    return text[text.rindex("\n{") + 1 :]


def spanning(ask: Ask) -> list[tuple[str, str, bool]]:
    texts = contexts(ask.number)
    return [("c2", f"{texts[1][-20:]} {texts[2][:40]}", True)]


def _fragment(_: str, context: str) -> str:
    return re.search(r"\w(\w{3,5})\w", context)[1]


def _telling(ask: Ask) -> str:
    return _PLACES[4][ask.number % 10]


HEADING = "heading"
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
    "no code, all no": both(without("data"), all_false),
    "no code, evidence of two contexts swapped": both(without("data"), swap_evidence("c2", "c4")),
    "no code, otherwise honest": without("data"),
    "the example's code, otherwise honest": echo("5e01c7d2"),
    "another code, otherwise honest": echo("00000000"),
    # ids
    "ids of two contexts swapped in the evidence": swap_evidence("c2", "c4"),
    "ids of a useful and a useless context swapped": swap_ids("contexts", "c1", "c2"),
    "ids of two contexts swapped everywhere": both(
        swap_evidence("c1", "c2"), swap_ids("contexts", "c1", "c2")
    ),
    "ids of all contexts rotated": rotate_ids("contexts"),
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
    "a denied sentence, an ellipsis hides the denial": fourth(
        lambda ask: [("c3", f"Wild {_telling(ask)} ... thrives behind the old stables", True)]
    ),
    "a denied sentence, the denial left out": fourth(
        lambda ask: [
            ("c3", f"Wild {_telling(ask)}, as the gardeners say, thrives behind the old stables", True)
        ]
    ),
    "a denied sentence, an ellipsis joins two sentences": fourth(
        lambda ask: [("c3", f"Wild {_telling(ask)} ... The council met on Mondays.", True)]
    ),
    "a denied sentence, its heading": fourth(lambda ask: [("c3", f"Wild {_telling(ask)}", True)]),
    "a denied sentence, a quote over two contexts": fourth(spanning),
    "a denied sentence, one part of two is invented": fourth(
        lambda ask: [
            ("c3", "behind the old stables", False),
            ("c4", f"wild {_telling(ask)} thrives", False),
        ]
    ),
    "a denied sentence, quoted with its denial": fourth(
        lambda ask: [("c3", quote(contexts(ask.number)[2]), True)]
    ),
    # usefulness
    "all useful, no quote": useful_all(lambda _: None),
    'all useful, quote "the"': useful_all(lambda _: "the"),
    "all useful, the heading": useful_all(lambda text: text.partition("\n")[0]),
    "all useful, the whole context": useful_all(lambda text: text),
    "all useful, a sentence about nothing": useful_all(lambda _: "Bread was dear that year."),
    "all useful, what each context really says": useful_all(quote),
    "useful and useless turned round": inverted("contexts", "useful"),
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
        key: value[:-1] if isinstance(value, list) else value for key, value in reply.items()
    },
    "2 for yes": claimed(supported=2),
}
HONEST = "honest"
# Faults that nobody can find out from the reply: why a wrong number without a flag is no defect there.
EXPLAINED = {
    "all no": "a judge that says no to everything says nothing that could be checked: that is what `agree` is for",
    "all yes, what each context really says": "the quote shares telling words with the sentence: what it says is for a "
    "reader to judge",
    "a denied sentence, quoted with its denial": "the quote shows the denial, and is stored with the verdict: a reader "
    "sees it",
    "all useful, what each context really says": "the same for usefulness",
}


class Judge:
    """Answers honestly, but for one fault in the replies about some samples."""

    def __init__(self, fault: str, rate: float, count: int) -> None:
        self._fault, self._spoiled = fault, max(1, round(rate * count))

    def __call__(self, request: Any) -> Any:
        question = read_question(request.text)
        number = int(re.search(r"number (\d+)", question.data["question"])[1])
        ask = Ask(question, number)
        reply = honest(ask)
        if self._fault != HONEST and number < self._spoiled:
            reply = FAULTS[self._fault](reply, ask)
        return reply if isinstance(reply, (str, Reply)) else json.dumps(reply)


def measure(path: str, fault: str, rate: float, count: int) -> Counter[str]:
    """Score all samples with both metrics; count the outcomes of the numbers, and the verdicts."""
    runner, model = PATHS[path]
    found: Counter[str] = Counter()
    samples = [sample(number, f"{fault} {rate}") for number in range(count)]
    forget()
    with aside(dict(judging.QUIET)), FakeOpenAIServer(Judge(fault, rate, count)) as server:
        judge = paths.Recorder(LLMJudge(model(server.base_url)))
        (run,) = (known for known in paths._runners(runner) if known.name == runner)
        for name, metric in METRICS.items():
            values = run.score(metric.with_judge(judge), samples)
            for each, value in zip(samples, values, strict=True):
                codes = [code for _, _, code in judge.found.get(each.user_input, ())]
                doubtful = bool(DOUBTFUL.intersection(codes))
                found["verdicts"] += len(codes)
                found["flagged verdicts"] += sum(code in DOUBTFUL for code in codes)
                right = value is not None and abs(value - TRUTH[name]) < 1e-9
                found[
                    "no value"
                    if value is None
                    else "right"
                    if right
                    else "flagged"
                    if doubtful
                    else "silent"
                ] += 1
        found["requests"] = server.count
    return found


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
    parser.add_argument("--only", nargs="*", choices=(HONEST, *FAULTS), default=[HONEST, *FAULTS])
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args(argv)
    found = {
        fault: {
            path: {rate: measure(path, fault, rate, options.samples) for rate in RATES}
            for path in options.paths
        }
        for fault in options.only
    }
    shown = table(found, options.paths)
    print(shown)
    if options.write_docs:
        _docs.write("content_faults", shown)
    silent = {
        fault: total
        for fault, row in found.items()
        if (total := sum(each["silent"] for rates in row.values() for each in rates.values()))
    }
    flagged = {
        path: rates[1.0]["flagged verdicts"] / rates[1.0]["verdicts"]
        for path, rates in found.get(HONEST, {}).items()
    }
    print(f"wrong without a flag and not explained: {sorted(silent.keys() - EXPLAINED.keys()) or 'none'}")
    return {
        "benchmark": "content_faults",
        "faults": len(options.only) - (HONEST in options.only),
        "silent": silent,
        "unexplained": sorted(silent.keys() - EXPLAINED.keys()),
        "honest_flagged": flagged,
    }
