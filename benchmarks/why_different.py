"""The same judge's verdicts through each framework's own metric and ours, value by value, with the rule that moved each.

    python benchmarks/run.py why_different [--write-docs]

What the judge says is given; no model is asked. Ours reads it as a reply and checks it; the metrics of Ragas (in
``ragas.evaluate``) and of DeepEval (``measure``) get it from an LLM that answers with it. Rules are those that
``ctxmetrics explain-difference`` finds, except for a verdict in words. ``--write-docs`` puts the table into
``docs/why-different.md``.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    NonLLMContextRecall,
    Sample,
    ScriptedJudge,
)
from ctxmetrics.adapting.natives import explain_difference

PAGE = Path(__file__).resolve().parents[1] / "docs" / "why-different.md"
BEGIN, END = "<!-- why-different:begin -->", "<!-- why-different:end -->"
FRAMEWORKS = ("ragas", "deepeval")
NATIVES = {name: import_module(f"ctxmetrics_{name}.natives").NATIVE for name in FRAMEWORKS}
SENTENCES = (
    "The pump is red.",
    "It weighs 4 kg.",
    "It was built in Oslo.",
    "It has two valves.",
    "It costs 90 euro.",
)
HELD = SENTENCES[:3]
"""What the contexts state; the last two sentences stand nowhere."""
FIVE = Sample(
    id="pump",
    user_input="What is known of the pump?",
    reference=" ".join(SENTENCES),
    retrieved_contexts=HELD,
)


@dataclass(frozen=True)
class Row:
    """One line of the table: what the judge says, and how each tool is given it.

    Attributes:
        says: In words.
        sentences: Its answer about each sentence: yes, no, or None where it leaves it out.
        contexts: Its answer about each context.
        word: How it says yes to the frameworks: as they ask for it, or in a word of its own.
        sample: The sample.
        metric: What is measured.
        rules: What moves a value where `explain_difference` cannot know it, by framework.
    """

    says: str
    sentences: tuple[bool | None, ...] = ()
    contexts: tuple[bool | None, ...] = ()
    word: str | None = None
    sample: Sample = FIVE
    metric: type = ContextRecall
    rules: dict[str, str] = field(default_factory=dict)


YES, NO = True, False
ASKS = "asks its judge although nothing was retrieved, and believes it"
WORDS = {
    "ragas": "wants a number: a word cannot be read, and `evaluate()` makes NaN of the error",
    "deepeval": "believes the judge: no quote is looked up in the contexts",
}
ROWS = (
    Row("3 of 5 sentences are there, each with its quote", (YES, YES, YES, NO, NO)),
    Row("all 5 are there; the quotes of two stand nowhere", (YES,) * 5),
    Row('the same, in the word "yes"', (YES,) * 5, word="yes", rules=WORDS),
    Row("3 are there; nothing about the other two", (YES, YES, YES, None, None)),
    Row("nothing about any sentence", (None,) * 5),
    Row("all 5 are there, although nothing was retrieved", (YES,) * 5, rules=dict.fromkeys(FRAMEWORKS, ASKS), sample=Sample(id="none", user_input="What is known of the pump?", reference=FIVE.reference, retrieved_contexts=[])),
    Row("the second of three contexts is useful", contexts=(NO, YES, NO), metric=ContextPrecision),
    Row("the same, and nothing about the first", contexts=(None, YES, NO), metric=ContextPrecision),
    Row("(no judge) half of the text is equal", metric=NonLLMContextRecall, sample=Sample(id="half", retrieved_contexts=["ab"], reference_contexts=["ac"])),
    Row("(no judge) nothing was retrieved", metric=IDBasedContextPrecision, sample=Sample(id="ids", retrieved_context_ids=[], reference_context_ids=["a"])),
)  # fmt: skip


def metric_of(row: Row):
    """Return our metric, with a judge that says what the row says: a yes quotes the sentence or the context."""
    if row.metric not in (ContextRecall, ContextPrecision):
        return row.metric()
    said = row.word or True
    reply = {
        "data": "$data",
        "sentences": [
            {
                "id": f"s{number}",
                "evidence": [{"context": "c1", "quote": SENTENCES[number - 1], "whole": True}]
                if yes
                else [],
                "supported": said if yes else False,
            }
            for number, yes in enumerate(row.sentences or (NO,) * len(SENTENCES), 1)
            if yes is not None
        ],
        "contexts": [
            {"id": f"c{number}", "quote": SENTENCES[number - 1] if yes else None, "useful": yes}
            for number, yes in enumerate(row.contexts or (NO,) * len(HELD), 1)
            if yes is not None
        ],
    }
    return row.metric(judge=ScriptedJudge({"joint": [reply]}))


def answers_of(row: Row) -> list:
    given = row.sentences or row.contexts
    return [row.word if row.word and yes else yes for yes in given]


def in_ragas(row: Row) -> float | None:
    """Return what ``ragas.evaluate`` gives with Ragas' own metric; None for NaN, or where there is none."""
    from ragas import EvaluationDataset, SingleTurnSample, evaluate

    from ctxmetrics_ragas.natives import _METRICS

    metric = metric_of(row)
    own = _METRICS[metric.base_name][1](metric, answers_of(row))
    known = {
        name: value
        for name, value in row.sample.to_dict().items()
        if name in SingleTurnSample.model_fields
    }
    dataset = EvaluationDataset(samples=[SingleTurnSample(**known)])
    with contextlib.redirect_stderr(io.StringIO()):
        (value,) = evaluate(dataset, metrics=[own], show_progress=False)[own.name]
    return None if math.isnan(value) else float(value)


def in_deepeval(row: Row) -> float | None:
    metric = metric_of(row)
    native = NATIVES["deepeval"]
    return native.score(metric, row.sample, answers_of(row))


RUNS = {"ragas": in_ragas, "deepeval": in_deepeval}


def rules_of(row: Row, framework: str) -> list[str]:
    """Return what the framework does otherwise, as `explain_difference` finds it."""
    if framework in row.rules:
        return [row.rules[framework]]
    found = explain_difference([row.sample], [metric_of(row)], NATIVES[framework], progress=False)
    return [step.rule for value in found.values for step in value.steps]


def measure() -> list[dict]:
    rows = []
    for row in ROWS:
        metric = metric_of(row)
        ours = metric.score(row.sample)
        found = {
            "says": row.says,
            "metric": metric.name,
            "ctxmetrics": ours.value,
            "code": ours.reason_code,
        }
        for framework in FRAMEWORKS:
            if metric.base_name not in NATIVES[framework].metrics:
                found[framework] = found[f"{framework}_rules"] = "-"
                continue
            found[framework] = RUNS[framework](row)
            moved = found[framework] != ours.value
            found[f"{framework}_rules"] = rules_of(row, framework) if moved else []
        rows.append(found)
    return rows


def shown(value: float | str | None, none: str) -> str:
    if value is None or isinstance(value, str):
        return value or none
    text = repr(value)
    return text if len(text) < 14 else f"{value:.4f}"


def why(row: dict) -> str:
    """Return the rules of a row; what both frameworks do stands once."""
    by_rule: dict[str, list[str]] = {}
    for framework, name in (("ragas", "Ragas"), ("deepeval", "DeepEval")):
        for rule in row[f"{framework}_rules"] if row[framework] != "-" else ():
            by_rule.setdefault(rule, []).append(name)
    parts = [f"{names[0] if len(names) == 1 else 'Each'} {rule}" for rule, names in by_rule.items()]
    return "; ".join(parts) or "the same everywhere"


def table(rows: list[dict]) -> str:
    lines = [
        "| the judge says | metric | ctxmetrics | Ragas | DeepEval | why |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours = shown(row["ctxmetrics"], f"no value (`{row['code']}`)")
        theirs = [shown(row["ragas"], "NaN"), shown(row["deepeval"], "no value")]
        cells = [ours, *theirs]
        if len(set(cells)) == len(cells) and "-" not in cells:
            cells = [f"**{cell}**" for cell in cells]
        name = row["metric"].replace("_", " ")
        lines.append(f"| {row['says']} | {name} | {' | '.join(cells)} | {why(row)} |")
    seen = ", ".join(f"{name} {version(name)}" for name in FRAMEWORKS)
    return "\n".join(lines) + f"\n\nWith {seen}."


def run(argv: list[str]) -> dict:
    rows = measure()
    text = table(rows)
    print(text)
    if "--write-docs" in argv:
        head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return {"benchmark": "why_different", "rows": rows}
