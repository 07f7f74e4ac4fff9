"""Langfuse evaluators of metrics of this library, in an experiment that sends nothing.

Run it: python examples/langfuse_evaluator.py
"""

from __future__ import annotations

import json
from pathlib import Path

from langfuse import Evaluation, Langfuse

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextRecall, LexicalJudge
from ctxmetrics.adapting import SCHEMAS, Wrapper

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
JUDGE = LexicalJudge()  # or LLMJudge(model) for a language model
METRICS = (ContextRecall(judge=JUDGE), ContextPrecision(judge=JUDGE), IDBasedContextRecall())


def evaluator_of(metric):
    wrapper = Wrapper.of(metric, None, {}, SCHEMAS["langfuse"])

    async def evaluator(*, input, output, expected_output=None, **_):  # noqa: A002 - Langfuse's names
        record = {"input": input, "output": output, "expected_output": expected_output}
        score = await wrapper.ascore(record, strict=False)
        if score.value is None:  # Langfuse stores numbers: a text says why there is none
            reason = {"value": score.reason_code, "data_type": "CATEGORICAL", "comment": score.reason}
            return Evaluation(name=f"{metric.name} reason", **reason)
        return Evaluation(name=metric.name, value=score.value, comment=score.reason)

    return evaluator


def main() -> None:
    # In a project of yours: Langfuse(), which reads the keys and the host from the environment.
    client = Langfuse(public_key="none", secret_key="none", tracing_enabled=False)  # noqa: S106
    samples = [json.loads(line) for line in HANDBOOK.open(encoding="utf-8")]
    done = client.run_experiment(
        name="handbook",
        data=[{"input": sample, "expected_output": sample} for sample in samples],
        task=lambda *, item, **_: item["input"],  # your app; a line of the file has what one returned
        evaluators=[evaluator_of(metric) for metric in METRICS],
    )
    found = [evaluation for row in done.item_results for evaluation in row.evaluations]
    for metric in METRICS:
        known = [score.value for score in found if score.name == metric.name]
        print(f"{metric.name:28}{sum(known) / len(known):8.4f}{len(known):6d} of {len(samples)}")


if __name__ == "__main__":
    main()
