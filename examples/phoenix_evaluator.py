"""Phoenix evaluators of metrics of this library, over a table; ``client.experiments.run_experiment`` takes them, too.

Run it: python examples/phoenix_evaluator.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from phoenix.evals import create_evaluator, evaluate_dataframe

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextRecall, LexicalJudge
from ctxmetrics.adapting import SCHEMAS, Wrapper

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
JUDGE = LexicalJudge()  # or LLMJudge(model) for a language model
METRICS = (ContextRecall(judge=JUDGE), ContextPrecision(judge=JUDGE), IDBasedContextRecall())


def evaluator_of(metric):
    wrapper = Wrapper.of(metric, None, {}, SCHEMAS["phoenix"])

    @create_evaluator(name=metric.name, kind="code")
    def evaluator(input, output, expected):  # noqa: A002 - Phoenix's names
        record = {"input": input, "output": output, "reference_output": expected}
        score = wrapper.score(record, strict=False)
        # Without a value there is no score, and the label says why.
        return {"score": score.value, "label": score.reason_code, "explanation": score.reason}

    return evaluator


def main() -> None:
    samples = [json.loads(line) for line in HANDBOOK.open(encoding="utf-8")]
    # What the app was asked, what it returned, and what was expected: here a line of the file has all three.
    table = pd.DataFrame(dict.fromkeys(("input", "output", "expected"), samples))
    evaluators = [evaluator_of(metric) for metric in METRICS]
    found = evaluate_dataframe(dataframe=table, evaluators=evaluators, hide_tqdm_bar=True)
    for metric in METRICS:
        scores = [score["score"] for score in found[f"{metric.name}_score"]]
        known = [score for score in scores if score is not None]
        print(f"{metric.name:28}{sum(known) / len(known):8.4f}{len(known):6d} of {len(scores)}")


if __name__ == "__main__":
    main()
