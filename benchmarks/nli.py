"""The batches of an NLI judge through each installed framework's real runner, and what a second run asks again.

    python benchmarks/run.py nli [--samples 16] [--size 16]

The model counts words. Recall and precision are run one after the other, as each runner does it; then both again.
"""

from __future__ import annotations

import argparse
import re

from ctxmetrics import ContextPrecision, ContextRecall, NLIJudge, Sample, forget
from ctxmetrics.adapting.runners import installed_runners

UNITS, CONTEXTS = 3, 5


def run(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--size", type=int, default=16)
    options = parser.parse_args(argv)
    samples = [
        Sample(
            user_input=f"What does item {number} have?",
            response="Parts.",
            reference=" ".join(f"Item {number} has part {part}." for part in range(UNITS)),
            retrieved_contexts=[f"Item {number} has part {part}." for part in range(CONTEXTS)],
        )
        for number in range(options.samples)
    ]
    runners, absent = installed_runners()
    for name, why in absent.items():
        print(f"{name}: not run: {why}")
    print(f"{'runner':26} {'pairs':>6} {'batches':>8} {'full':>6} {'largest':>8} {'asked again':>12}")
    figures = {}
    for runner in runners:
        forget()
        batches = []

        def predict(pairs, batches=batches):
            batches.append(list(pairs))
            words = [[set(re.findall(r"\w+", text)) for text in pair] for pair in pairs]
            return [float(asked <= said) for said, asked in words]

        judge = NLIJudge(predict, identity="words", batch_size=options.size, wait_seconds=0.2)
        for _ in range(2):
            for metric in (ContextRecall(judge=judge), ContextPrecision(judge=judge)):
                runner.score(metric, samples)
        pairs = [pair for batch in batches for pair in batch]
        found = {
            "pairs": len(pairs),
            "batches": len(batches),
            "full": sum(len(batch) == options.size for batch in batches),
            "largest": max(map(len, batches)),
            "asked_again": len(pairs) - len(set(pairs)),
        }
        figures[runner.name] = found
        print(
            f"{runner.name:26} {found['pairs']:6} {found['batches']:8} {found['full']:6} {found['largest']:8} {found['asked_again']:12}"
        )
    return figures
