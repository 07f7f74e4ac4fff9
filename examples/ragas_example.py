"""All seven metrics in Ragas: ``ragas.evaluate`` over the handbook data set, no LLM and no key.

Run it: python examples/ragas_example.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path

os.environ.setdefault(
    "RAGAS_DO_NOT_TRACK", "true"
)  # Ragas reports each run to its makers unless told not to

from ragas import EvaluationDataset, SingleTurnSample, evaluate

from ctxmetrics_ragas import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    NonLLMContextPrecision,
    NonLLMContextRecall,
)

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
METRICS = [
    ContextRecall(),
    ContextRecall(top_k=1),  # its column is context_recall(top_k=1)
    ContextPrecision(),
    ContextUtilization(),
    NonLLMContextRecall(),
    NonLLMContextPrecision(),
    IDBasedContextRecall(),
    IDBasedContextPrecision(),
]


def main() -> None:
    """Evaluate, print a table, and explain one sample."""
    lines = [json.loads(line) for line in HANDBOOK.open(encoding="utf-8")]
    rows = [
        {name: value for name, value in line.items() if name in SingleTurnSample.model_fields}
        for line in lines
    ]
    table = evaluate(
        EvaluationDataset.from_list(rows), metrics=METRICS, show_progress=False
    ).to_pandas()

    print(f"{'metric':28}{'mean':>8}{'scored':>12}")
    for metric in METRICS:
        column = table[metric.name]
        print(f"{metric.name:28}{column.mean():8.4f}{column.count():6d} of {len(column)}")

    # The same object in the collections API: the value, and why.
    fields = {name: rows[3][name] for name in ("user_input", "reference", "retrieved_contexts")}
    found = ContextRecall().score(**fields)
    print(f"\n{lines[3]['id']}: context_recall {found.value:.4f}\n{found.reason}")


if __name__ == "__main__":
    main()
