"""Kill a run in batches at its steps, with every fault at a tenth: ``batch_kills [SAMPLES]``, both forms (1,000).

Figures: whether the values are those of the ordinary run, and how many requests were paid twice.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from support.batch_runs import ANTHROPIC, OPENAI
from support.killed_batches import run_and_kill

SAMPLES = 1_000
# The share of requests that may be paid twice, because a kill fell between an answer and the journal.
MOST_TWICE = 0.01


def run(argv: list[str]) -> dict[str, Any]:
    """Run both forms, and count what was paid."""
    samples = int(argv[0]) if argv else SAMPLES
    figures: dict[str, Any] = {"over": []}
    for form in (OPENAI, ANTHROPIC):
        with tempfile.TemporaryDirectory() as folder:
            killed = run_and_kill(form, samples, Path(folder) / "run.batch")
        twice = killed.paid_twice + killed.online - 1
        if not killed.equal:
            figures["over"].append(f"{form.name}: values differ for samples {killed.differences}")
        if twice > MOST_TWICE * killed.requests:
            figures["over"].append(
                f"{form.name}: {twice} of {killed.requests} requests were paid twice"
            )
        figures[form.name] = {
            "starts": killed.starts,
            "kills": killed.kills.total(),
            "batches": killed.batches,
            "requests": killed.requests,
            "paid_twice": twice,
            "inputs_left": killed.left,
        }
        print(form.name, figures[form.name], flush=True)
    return figures
