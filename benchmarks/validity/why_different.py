"""The same judge's verdicts through each framework's own metric and ours, value by value, with the rule that moved each.

    python benchmarks/run.py why_different [--write-docs]

What the judge says is given; no model is asked. Ours reads it as a reply and checks it; the metrics of Ragas (in
``ragas.evaluate``) and of DeepEval (``measure``) get it from an LLM that answers with it. A row names the rule by which a
framework's value differs. ``--write-docs`` puts the table into ``docs/why-different.md``.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from _shared import docs, judging
from _shared.data import read_data

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

PAGE = Path(__file__).resolve().parents[2] / "docs" / "why-different.md"
FRAMEWORKS = ("ragas", "deepeval")
METRICS = (ContextPrecision, ContextRecall, IDBasedContextPrecision, NonLLMContextRecall)
DATA = read_data("why-different")
SENTENCES = DATA["sentences"]
HELD = SENTENCES[:3]
"""What the contexts state; the last two sentences stand nowhere."""


@dataclass(frozen=True)
class Row:
    """One line of the table: what the judge says, and how each tool is given it.

    Attributes:
        says: In words.
        sample: The sample.
        metric: What is measured.
        rules: What a framework does otherwise, by framework, where its value differs.
        sentences: Its answer about each sentence: yes, no, or None where it leaves it out.
        contexts: Its answer about each context.
        word: How it says yes to the frameworks: as they ask for it, or in a word of its own.
    """

    says: str
    sample: Sample
    metric: type
    rules: dict[str, str]
    sentences: Sequence[bool | None] = ()
    contexts: Sequence[bool | None] = ()
    word: str | None = None


def read_rows() -> list[Row]:
    """Read the lines of the table; each names its sample, its metric and its rules."""
    metrics, rows = {metric.__name__: metric for metric in METRICS}, []
    for fields in DATA["rows"]:
        name, metric = fields["sample"], metrics[fields["metric"]]
        sample = Sample(id=name, **DATA["samples"][name])
        rules = {framework: DATA["rules"][rule] for framework, rule in fields["rules"].items()}
        rows.append(Row(**{**fields, "sample": sample, "metric": metric, "rules": rules}))
    return rows


def metric_of(row: Row):
    """Return our metric, with a judge that says what the row says: a yes quotes the sentence or the context."""
    if row.metric not in (ContextRecall, ContextPrecision):
        return row.metric()
    said = row.word or True
    reply = {
        "code": "$code",
        "sentences": {
            f"s{number}": {
                "evidence": [{"context": "c1", "quote": SENTENCES[number - 1], "whole": True}]
                if yes
                else [],
                "supported": said if yes else False,
            }
            for number, yes in enumerate(row.sentences or (False,) * len(SENTENCES), 1)
            if yes is not None
        },
        "useful": {
            f"c{number}": {"quote": SENTENCES[number - 1] if yes else "", "useful": yes}
            for number, yes in enumerate(row.contexts or (False,) * len(HELD), 1)
            if yes is not None
        },
    }
    return row.metric(judge=ScriptedJudge({"joint": [reply]}))


def answers_of(row: Row) -> list:
    """Return one answer a sentence or context, in the row's own word for yes; None where the judge leaves it out."""
    given = row.sentences or row.contexts
    return [row.word if row.word and yes else yes for yes in given]


def ragas_llm(replies: list):
    """Return an LLM of Ragas that gives one reply after the other; asked once more, it repeats the last."""
    from langchain_core.outputs import Generation, LLMResult
    from ragas.llms.base import BaseRagasLLM

    left = [json.dumps(reply) for reply in replies]

    class Answers(BaseRagasLLM):
        def generate_text(self, *_, **__):
            reply = left.pop(0) if len(left) > 1 else left[0]
            return LLMResult(generations=[[Generation(text=reply)]])

        async def agenerate_text(self, *_, **__):
            return self.generate_text()

        def is_finished(self, response):
            return True

    return Answers()


def ragas_metric(row: Row):
    """Return Ragas' own metric; its LLM says what the row says."""
    from ragas import metrics

    if row.metric is NonLLMContextRecall:
        return metrics.NonLLMContextRecall()
    if row.metric is IDBasedContextPrecision:
        return metrics.IDBasedContextPrecision()
    words = [int(answer) if isinstance(answer, bool) else answer for answer in answers_of(row)]
    if row.metric is ContextRecall:
        lines = [
            {"statement": "-", "reason": "-", "attributed": word} for word in words if word is not None
        ]
        return metrics.LLMContextRecall(llm=ragas_llm([{"classifications": lines}]))
    # Ragas asks about one context after the other; an answer that is missing cannot be read, also when asked again.
    asked = words[: words.index(None) + 1] if None in words else words
    replies = [{"reason": "-", "verdict": word} if word is not None else "" for word in asked]
    return metrics.LLMContextPrecisionWithReference(llm=ragas_llm(replies))


def in_ragas(row: Row) -> float | None:
    """Return what ``ragas.evaluate`` gives with Ragas' own metric; None for NaN."""
    from ragas import EvaluationDataset, SingleTurnSample, evaluate

    own = ragas_metric(row)
    known = {
        name: value
        for name, value in row.sample.to_dict().items()
        if name in SingleTurnSample.model_fields
    }
    dataset = EvaluationDataset(samples=[SingleTurnSample(**known)])
    with judging.silence():
        (value,) = evaluate(dataset, metrics=[own], show_progress=False)[own.name]
    return None if math.isnan(value) else float(value)


def deepeval_llm(words: list[str]):
    """Return an LLM of DeepEval that gives one list of verdicts."""
    from deepeval.models import DeepEvalBaseLLM

    class Answers(DeepEvalBaseLLM):
        def load_model(self):
            return self

        def get_model_name(self):
            return "answers"

        def generate(self, prompt):
            return json.dumps({"verdicts": [{"verdict": word, "reason": "-"} for word in words]})

        async def a_generate(self, prompt):
            return self.generate(prompt)

    return Answers("answers")


def in_deepeval(row: Row) -> float | str | None:
    """Return what DeepEval's own metric measures; ``"-"`` where DeepEval has none."""
    from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric

    metrics = {ContextRecall: ContextualRecallMetric, ContextPrecision: ContextualPrecisionMetric}
    if row.metric not in metrics:
        return "-"
    words = [
        answer if isinstance(answer, str) else "yes" if answer else "no"
        for answer in answers_of(row)
        if answer is not None
    ]
    given = row.sample
    case = judging.deepeval_case(given.user_input, given.reference, given.retrieved_contexts)
    own = metrics[row.metric](model=deepeval_llm(words), include_reason=False, async_mode=False)
    own.measure(case, _show_indicator=False)
    return None if own.score is None else float(own.score)


RUNS = {"ragas": in_ragas, "deepeval": in_deepeval}


def measure() -> list[dict]:
    rows = []
    for row in read_rows():
        metric = metric_of(row)
        ours = metric.score(row.sample)
        found = {
            "says": row.says,
            "metric": metric.name,
            "ctxmetrics": ours.value,
            "code": ours.reason_code,
        }
        for framework in FRAMEWORKS:
            found[framework] = RUNS[framework](row)
            rule = row.rules.get(framework)
            if (rule is not None) != (found[framework] not in (ours.value, "-")):
                raise SystemExit(
                    f"{row.says}: {framework} gives {found[framework]}, and its rule is: {rule}"
                )
            found[f"{framework}_rule"] = rule
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
        if row[f"{framework}_rule"]:
            by_rule.setdefault(row[f"{framework}_rule"], []).append(name)
    parts = [f"{names[0] if len(names) == 1 else 'Each'} {rule}" for rule, names in by_rule.items()]
    return "; ".join(parts) or "the same everywhere"


def table(rows: list[dict]) -> str:
    head, lines = ("the judge says", "metric", "ctxmetrics", "Ragas", "DeepEval", "why"), []
    for row in rows:
        ours = shown(row["ctxmetrics"], f"no value (`{row['code']}`)")
        theirs = [shown(row["ragas"], "NaN"), shown(row["deepeval"], "no value")]
        cells = [ours, *theirs]
        if len(set(cells)) == len(cells) and "-" not in cells:
            cells = [f"**{cell}**" for cell in cells]
        name = row["metric"].replace("_", " ")
        lines.append((row["says"], name, *cells, why(row)))
    return f"{docs.markdown(head, lines)}\n\n{docs.with_versions(FRAMEWORKS)}"


def run(argv: list[str]) -> dict:
    rows = measure()
    text = table(rows)
    print(text)
    if "--write-docs" in argv:
        docs.put(PAGE, "why-different", text)
    return {"benchmark": "why_different", "rows": rows}
