"""Controls: what they say of a judge that is right but for a few verdicts, and of judges that are wrong in one way throughout.

    python benchmarks/run.py controls [--runs 20] [--controls 20]

Each run scores forty samples whose truth is known with recall and precision, and asks for controls. The judge is a model in
this process; an honest one is wrong in 5 % of its verdicts, drawn anew in each run. A judge is found out where its share of
right verdicts is below .8.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample, evaluate
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.scripted import ScriptedModel
from faults import content_faults
from support import read_question
from support.answers import _closest, _sentences
from support.judges import honest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxmetrics.models.base import Prompt
    from ctxmetrics.results.summary import Controls

BAR, SLIPS, SAMPLES = 0.8, 0.05, 40


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


def told(reply: dict[str, Any], prompt: Prompt, values: Callable[[int, dict[str, Any]], bool]) -> Any:
    for place, (id_, entry) in enumerate(entries(reply).items()):
        say(id_, entry, values(place, entry), prompt)
    return reply


class Judge:
    """A judge that is wrong in one way; ``seed`` says where it begins."""

    def __init__(self, fault: str, seed: int) -> None:
        self._fault, self._drawn = fault, random.Random(seed)
        self._asked, self._seed = seed, seed
        # The right replies to the last two questions that differ.
        self._kept: list[tuple[str, str]] = []

    def __call__(self, prompt: Prompt) -> Any:
        reply = right(prompt)
        self._asked += 1
        asked = read_question(prompt.text).data["question"]
        if not self._kept or self._kept[-1][0] != asked:
            self._kept = [*self._kept[-1:], (asked, json.dumps(reply))]
        if self._fault == "another request's answers":
            return {**json.loads(self._kept[0][1]), "code": reply["code"]}
        return self._spoiled(reply, prompt)

    def _spoiled(self, reply: dict[str, Any], prompt: Prompt) -> Any:
        asked, fault = self._asked, self._fault
        if fault == "honest":
            for id_, entry in entries(reply).items():
                if self._drawn.random() < SLIPS:
                    say(id_, entry, not entry.get("supported", entry.get("useful")), prompt)
        elif fault in {"all yes", "all no"}:
            told(reply, prompt, lambda *_: fault == "all yes")
        elif fault == "all useful":
            for id_, entry in reply.get("useful", {}).items():
                say(id_, entry, True, prompt)
        elif fault == "alternating in each reply":
            told(reply, prompt, lambda place, _: (place + self._seed) % 2 == 0)
        elif fault == "alternating from reply to reply":
            told(reply, prompt, lambda *_: asked % 2 == 0)
        elif fault == "all yes in the second half" and asked - self._seed > SAMPLES * 3 // 4:
            told(reply, prompt, lambda *_: True)
        elif fault == "rotated":
            for key in ("sentences", "useful"):
                cells = reply.get(key, {})
                ids = list(cells)
                step = 1 + self._seed % max(1, len(ids) - 1)
                reply[key] = dict(zip(ids[step:] + ids[:step], cells.values(), strict=True))
        return reply


JUDGES = (
    "honest",
    "all yes",
    "all no",
    "all useful",
    "alternating in each reply",
    "alternating from reply to reply",
    "rotated",
    "another request's answers",
    "all yes in the second half",
)


def samples() -> list[Sample]:
    """Forty: the ten samples of the faults, each asked about four times."""
    made = [content_faults.sample(number % 10, f"controls {number}") for number in range(SAMPLES)]
    return [replace(sample, id=str(number)) for number, sample in enumerate(made)]


def measure(fault: str, seed: int, controls: int) -> Controls:
    """Run once with a judge that begins anew, and return what the controls say."""
    forget()
    judge = LLMJudge(ScriptedModel(Judge(fault, seed), identity=f"{fault} {seed}"))
    metrics = [ContextRecall(), ContextPrecision()]
    results = evaluate(
        samples(), metrics, judge=judge, controls=controls, max_concurrency=1, progress=False
    )
    assert results.controls is not None
    return results.controls


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="controls")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--controls", type=int, default=20)
    options = parser.parse_args(argv)
    figures, over = {}, []
    print(f"{'judge':34}  lowest  highest  runs below {BAR}")
    for fault in JUDGES:
        found = [measure(fault, seed, options.controls) for seed in range(options.runs)]
        shares = [one.share for one in found]
        below = sum(share < BAR for share in shares)
        figures[fault] = {"lowest": min(shares), "highest": max(shares), "below": below}
        print(f"{fault:34}  {min(shares):6.3f}  {max(shares):7.3f}  {below} of {len(shares)}")
        wanted = 0 if fault == "honest" else options.runs
        if below != wanted:
            over.append(f"{fault}: {below} of {options.runs} runs below {BAR}, not {wanted}")
    return {"benchmark": "controls", "runs": options.runs, "judges": figures, "over": over}
