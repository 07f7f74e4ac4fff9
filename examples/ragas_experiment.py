"""Ragas' ``@experiment`` with metrics of this library: one row a question, kept by Ragas' own back end.

Run it: python examples/ragas_experiment.py
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from pathlib import Path

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from pydantic import BaseModel
from ragas import Dataset, experiment

from ctxmetrics import LexicalJudge
from ctxmetrics_ragas import ContextPrecision, ContextRecall

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
FIELDS = ("id", "user_input", "reference", "retrieved_contexts")
JUDGE = LexicalJudge()  # or llm=llm_factory(..) for a language model
RECALL, PRECISION = ContextRecall(judge=JUDGE), ContextPrecision(judge=JUDGE)


class Row(BaseModel):
    """What the experiment keeps: rows come back in the order in which they are finished, so each has its id."""

    id: str
    recall: float  # NaN where there is no value, as everywhere in Ragas
    precision: float
    why: str | None


@experiment(Row)
async def evaluated(row):
    fields = {name: row[name] for name in FIELDS[1:]}
    recall, precision = await asyncio.gather(RECALL.ascore(**fields), PRECISION.ascore(**fields))
    return Row(id=row["id"], recall=recall.value, precision=precision.value, why=recall.reason)


async def main() -> None:
    dataset = Dataset(name="handbook", backend="inmemory")
    for line in HANDBOOK.open(encoding="utf-8"):
        sample = json.loads(line)
        dataset.append({name: sample[name] for name in FIELDS})
    rows = list(await evaluated.arun(dataset, name="retriever of today", backend="inmemory"))
    for name in ("recall", "precision"):
        known = [value for row in rows if not math.isnan(value := getattr(row, name))]
        print(f"{name:28}{sum(known) / len(known):8.4f}{len(known):6d} of {len(rows)}")
    lowest = min(rows, key=lambda row: (row.recall, row.id))
    print(f"\n{lowest.id}: {lowest.why}")


if __name__ == "__main__":
    asyncio.run(main())
