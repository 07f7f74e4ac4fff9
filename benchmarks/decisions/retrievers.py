"""What it is worth to judge all settings of a question together: requests, tokens, seconds, and the width of the interval.

    python benchmarks/run.py retrievers [--questions 200] [--draws 5] [--k 5] [--promptfoo]
        [--base-url URL --model NAME --asked 12]

Four settings over made questions. Each question has a reference of four sentences. A setting returns `k` contexts, of which
all settings have some in common; each sentence stands in a common context, in a context of one setting, or in none. A server
on the loopback answers honestly and counts requests and tokens (characters / 4): once all settings together, once each alone.

Then the judge errs on 5 % of the cells of unit and context. An error is drawn for each request, or, in a share of the cells,
repeated wherever the same unit meets the same context. The table says what so many questions judged together are worth
judged apart: (width apart / width together) squared, times their number, where the width is the standard error of the
difference of the second setting to the first over the draws. Every number of the honest judge is compared with ``==``.

``--promptfoo`` lets promptfoo do the same work beside it: the settings as providers, its context-recall and context-relevance
as assertions, and the same server as grader, which answers as briefly as promptfoo can read. It has no precision by rank and no
interval. Its recalls are compared with ours.

With ``--base-url`` a real model (`measure_repetition`) says how often it repeats an error, and the table has a row for that share.
OPENAI_API_KEY is the key, where the server needs one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from statistics import fmean, pvariance, variance

from _shared import arguments

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LLMJudge,
    OpenAIModel,
    Sample,
    compare_retrievers,
)
from ctxmetrics.judges.base import Judgement, JudgeRequest
from ctxmetrics.verdicts import Evidence, Verdict

SETTINGS = ("first", "second", "third", "fourth")
SENTENCES = 4
ERRORS = 0.05
# Shares of a judge's errors that it repeats wherever a unit meets the same context.
REPEATED = (0.0, 0.9)
FACT = re.compile(r"Fact \d+-\d has the value \d{4}\.")
# A setting for promptfoo: it looks up what the setting returns.
PROVIDER = """
const answers = require("./answers.json");
module.exports = class {
  constructor(options) { this.setting = options.config.setting; }
  id() { return this.setting; }
  async callApi(question) { return { output: answers[this.setting][question] }; }
};
"""


def make_world(questions, k, common, seed):
    """Return the questions, and what each setting returns for each of them."""
    source = random.Random(seed)
    samples = []
    found = {name: {} for name in SETTINGS}
    for number in range(questions):
        sentences = [
            f"Fact {number}-{unit} has the value {source.randrange(1000, 9999)}."
            for unit in range(SENTENCES)
        ]
        question = f"What are the facts of case {number}?"
        samples.append(Sample(id=f"q{number}", user_input=question, reference=" ".join(sentences)))
        shared = [f"Note {number}-{rank} of the archive." for rank in range(common)]
        own = {
            name: [f"Page {number}-{rank} of {name}." for rank in range(k - common)]
            for name in SETTINGS
        }
        for sentence in sentences:
            draw = source.random()
            if draw < 0.5:
                place = source.randrange(common)
                shared[place] += f" {sentence}"
            elif draw < 0.8:
                name = source.choice(SETTINGS)
                place = source.randrange(k - common)
                own[name][place] += f" {sentence}"
        for name in SETTINGS:
            texts = [*shared, *own[name]]
            source.shuffle(texts)
            found[name][question] = texts
    return samples, found


@dataclass
class ErringJudge:
    """Says whether a sentence stands in a context, and errs in some cells.

    Attributes:
        draw: Makes the errors of one draw other ones than those of another.
        repeated: The share of the errors that do not depend on the request.
        errs: The share of the cells in which it errs.
    """

    draw: int
    repeated: float
    errs: float = ERRORS
    name: str = "erring"
    warnings: tuple[str, ...] = ()
    requests: int = 0

    async def attribute(self, request):
        self.requests += 1
        company = "|".join(request.contexts)
        verdicts = []
        for id_, unit in zip(request.unit_ids, request.units, strict=True):
            spans = tuple(
                Evidence(place, 0, len(text), text)
                for place, text in enumerate(request.contexts)
                if (unit in text) != self._errs(unit, text, company)
            )
            verdicts.append(Verdict(id=id_, value=bool(spans), evidence=spans))
        return Judgement(verdicts=tuple(verdicts))

    async def rate(self, request):
        raise NotImplementedError  # only recall is measured, which asks about units

    def _errs(self, unit, text, company):
        repeats = _share("repeat", self.draw, unit, text) < self.repeated
        return _share("error", self.draw, unit, text, "" if repeats else company) < self.errs


def _share(*parts):
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def compare(world, metrics, judge, k, *, pooled, settings=SETTINGS):
    samples, found = world
    retrievers = {name: found[name].__getitem__ for name in settings}
    return compare_retrievers(
        samples, retrievers, metrics, judge=judge, k=k, pooled=pooled, progress=False
    )


def measure_cost(world, k):
    """Return requests, tokens and seconds of an honest judge behind a server, judged together and apart."""
    from support import answer_from
    from support.server import FakeOpenAIServer

    figures = {}
    values = {}
    for pooled in (True, False):
        responder = answer_from(
            supported=lambda unit, contexts: next(
                ((True, text, unit) for text in contexts if unit in text), False
            ),
            useful=lambda context, answer: (
                any(part in context for part in answer.split("\n")) or "Fact" in context
            ),
        )
        with FakeOpenAIServer(responder) as server:
            judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url, api_key="none"), reuse=True)
            began = time.perf_counter()
            result = compare(world, [ContextRecall(), ContextPrecision()], judge, k, pooled=pooled)
            seconds = time.perf_counter() - began
        values[pooled] = {
            name: [[score.value for score in row.scores] for row in setting.results]
            for name, setting in result.settings.items()
        }
        figures["recalls"] = {
            name: setting.results.summary()["context_recall"].mean
            for name, setting in result.settings.items()
        }
        figures["together" if pooled else "apart"] = {
            "requests": result.usage.calls,
            "sent": result.usage.prompt_tokens,
            "received": result.usage.completion_tokens,
            "seconds": round(seconds, 2),
            "alone": result.pools.alone if result.pools else None,
        }
    figures["equal"] = values[True] == values[False]
    return figures


def answer_promptfoo(request):
    """Answer a prompt of promptfoo's: which facts of the answer the context states, or which it holds."""
    *_, text = request.user.rpartition("\ncontext:")
    context, recall, answer = text.partition("\nanswer:")
    if not recall:
        return "\n".join(FACT.findall(context)) or "Insufficient Information"
    lines = []
    for number, fact in enumerate(FACT.findall(answer), 1):
        lines.append(f"{number}. {fact} [{'' if fact in context else 'Not '}Attributed]")
    return "\n".join(lines)


def measure_promptfoo(world, k):
    """Return what promptfoo costs for the same settings and questions, and the mean recall that it gives each setting."""
    from support.promptfoo import install, run_promptfoo
    from support.server import FakeOpenAIServer

    program = install()
    samples, found = world
    received = []

    def answer(request):
        text = answer_promptfoo(request)
        received.append(len(text) // 4 + 1)
        return text

    with FakeOpenAIServer(answer) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        grader = {
            "id": "openai:chat:judge",
            "config": {"apiBaseUrl": server.base_url, "apiKey": "none"},
        }
        common = {"threshold": 0, "contextTransform": "output", "provider": grader}
        config = {
            "prompts": ["{{query}}"],
            "providers": [
                {"id": "file://provider.js", "label": name, "config": {"setting": name}}
                for name in SETTINGS
            ],
            "tests": [
                {
                    "vars": {"query": sample.user_input},
                    "assert": [
                        {"type": "context-recall", "value": sample.reference, **common},
                        {"type": "context-relevance", **common},
                    ],
                }
                for sample in samples
            ],
        }
        answers = {name: {key: texts[:k] for key, texts in found[name].items()} for name in SETTINGS}
        (folder / "answers.json").write_text(json.dumps(answers))
        (folder / "provider.js").write_text(PROVIDER)
        (folder / "promptfooconfig.json").write_text(json.dumps(config))
        began = time.perf_counter()
        done = run_promptfoo(program, folder)
        seconds = time.perf_counter() - began
        if not (folder / "out.json").exists():
            raise RuntimeError(f"promptfoo wrote no results: {done.stdout[-500:]}{done.stderr[-500:]}")
        rows = json.loads((folder / "out.json").read_text())["results"]["results"]
        recalls = {name: [] for name in SETTINGS}
        for row in rows:
            recall, _ = row["gradingResult"]["componentResults"]
            recalls[row["provider"]["label"]].append(recall["score"])
        return {
            "requests": server.count,
            "sent": sum(len(request.user + request.system) // 4 + 1 for request in server.requests),
            "received": sum(received),
            "seconds": round(seconds, 2),
            "recalls": {name: fmean(values) for name, values in recalls.items()},
        }


def measure_worth(world, k, draws, repeated):
    """Return what the questions judged together are worth judged apart.

    The judge errs in each question on its own, so the variance of the mean difference is the sum of the questions' variances
    over the draws, by the square of their number. That is far less noisy than the variance of the mean over as many draws.
    """
    questions = len(world[0])
    variances = {}
    for pooled in (True, False):
        # Judged apart, a setting has the verdicts that it has without the others.
        settings = SETTINGS if pooled else SETTINGS[:2]
        drawn = []
        for draw in range(draws):
            judge = ErringJudge(draw, repeated)
            result = compare(world, [ContextRecall()], judge, k, pooled=pooled, settings=settings)
            drawn.append(_list_differences(result))
        variances[pooled] = sum(map(variance, zip(*drawn, strict=True))) / questions**2
    # The spread over other questions is that of both, and is added: that of an honest judge.
    judge = ErringJudge(0, 0.0, errs=0)
    honest = _list_differences(
        compare(world, [ContextRecall()], judge, k, pooled=False, settings=SETTINGS[:2])
    )
    sampled = pvariance(honest) / questions
    together = sampled + variances[True]
    apart = sampled + variances[False]
    return {
        "width_together": 2 * 1.96 * together**0.5,
        "width_apart": 2 * 1.96 * apart**0.5,
        "worth": round(questions * apart / together),
    }


def _list_differences(result):
    """Return the difference in recall of the second setting to the first, by question."""
    pairs = zip(*(result[name].results for name in SETTINGS[:2]), strict=True)
    return [two["context_recall"].value - one["context_recall"].value for one, two in pairs]


def measure_repetition(model, questions):
    """Return how often a model repeats its errors on equal cells of unit and context.

    Two settings of three contexts have two in common. The model is asked about the pool and about each setting alone, so that
    each common cell is judged in three requests. A cell is a yes if a supported unit has evidence in the context.
    """
    samples, found = make_world(questions, 3, 2, seed=7)
    counts = Counter()
    for sample in samples:
        settings = [found[name][sample.user_input] for name in SETTINGS[:2]]
        pool = sorted(set(settings[0]) | set(settings[1]), key=lambda text: _share("order", text))
        errors = {"together": asyncio.run(_find_errors(model, sample, pool))}
        errors |= {
            name: asyncio.run(_find_errors(model, sample, texts))
            for name, texts in zip(SETTINGS, settings, strict=False)
        }
        for cells in errors.values():
            counts["cells"] += len(cells)
            counts["errors"] += sum(cells.values())
        for one, other in permutations(errors, 2):
            kind = "together" if "together" in (one, other) else "apart"
            for cell in errors[one].keys() & errors[other].keys():
                counts[f"{kind} errors"] += errors[one][cell]
                counts[f"{kind} repeated"] += errors[one][cell] and errors[other][cell]
    rate = counts["errors"] / counts["cells"]
    again = counts["together repeated"] + counts["apart repeated"]
    chance = again / (counts["together errors"] + counts["apart errors"])
    # What is repeated beyond the errors that meet by chance.
    return {**counts, "rate": rate, "again": chance, "repeated": max(0, (chance - rate) / (1 - rate))}


async def _find_errors(model, sample, contexts):
    """Return for each cell that a model judged whether it errs there."""
    units = tuple(f"{part.rstrip('.')}." for part in sample.reference.split(". "))
    request = JudgeRequest(
        units=units,
        contexts=tuple(contexts),
        answer=sample.reference,
        user_input=sample.user_input,
    )
    judgement = await LLMJudge(model, joint=False, reuse=False).attribute(request)
    errors = {}
    for unit, verdict in zip(units, judgement.verdicts, strict=True):
        if verdict.value is None:
            continue
        stating = {span.context for span in verdict.evidence} if verdict.value else set()
        for place, text in enumerate(contexts):
            errors[unit, text] = (place in stating) != (unit in text)
    return errors


def print_repetition(repetition):
    print(
        f"\na real model errs in {repetition['errors']} of {repetition['cells']} cells; of these errors on cells in several requests,"
    )
    for kind, pair in (("together", "pool and setting alone"), ("apart", "two settings alone")):
        print(f"{repetition[f'{kind} repeated']} of {repetition[f'{kind} errors']} come again ({pair})")
    print(f"repeated: {repetition['repeated']:.3f}")


def run(argv):
    parser = arguments.make_parser(
        "retrievers", __doc__, questions=200, draws=5, k=5, asked=12, promptfoo=False
    )
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="local")
    options = parser.parse_args(argv)
    figures = {"costs": {}, "worth": {}}
    shares = [*REPEATED]
    if options.base_url:
        key = os.environ.get("OPENAI_API_KEY", "none")
        model = OpenAIModel(options.model, base_url=options.base_url, api_key=key)
        figures["repetition"] = measure_repetition(model, options.asked)
        print_repetition(figures["repetition"])
        shares.append(figures["repetition"]["repeated"])
    print("common  judged    requests  tokens sent  received  seconds  alone  equal")
    for common in (options.k - 2, options.k - 1):
        world = make_world(options.questions, options.k, common, seed=common)
        costs = measure_cost(world, options.k)
        figures["costs"][f"{common} of {options.k}"] = costs
        for kind in ("together", "apart"):
            cost = costs[kind]
            print(
                f"{common} of {options.k}  {kind:8} {cost['requests']:9} {cost['sent']:12} {cost['received']:9} "
                f"{cost['seconds']:8} {cost['alone'] if cost['alone'] is not None else '-':>6}  {costs['equal']}"
            )
        if options.promptfoo:
            costs["promptfoo"] = cost = measure_promptfoo(world, options.k)
            differing = [
                name
                for name, recall in cost["recalls"].items()
                if abs(recall - costs["recalls"][name]) > 1e-9
            ]
            print(
                f"{common} of {options.k}  promptfoo {cost['requests']:8} {cost['sent']:12} {cost['received']:9} "
                f"{cost['seconds']:8}      -  {not differing}"
            )
    print("\ncommon  errors repeated  width of the interval together  apart   worth judged apart")
    for common in (options.k - 2, options.k - 1):
        world = make_world(options.questions, options.k, common, seed=common)
        for repeated in shares:
            worth = measure_worth(world, options.k, options.draws, repeated)
            figures["worth"][f"{common} of {options.k}, {repeated:g}"] = worth
            print(
                f"{common} of {options.k}  {repeated:15.3g} {worth['width_together']:31.4f} {worth['width_apart']:7.4f} "
                f"{worth['worth']:8}"
            )
    figures["over"] = [
        f"{name}: values judged together differ from those judged apart"
        for name, costs in figures["costs"].items()
        if not costs["equal"]
    ]
    return figures
