"""Whether `estimate --detect` keeps its word: the power of `compare` at the numbers of samples that it names, by simulation.

    python benchmarks/run.py detect [--draws 2000] [--run 1000] [--seed 1]

About three minutes on one core.

A run of ``--run`` samples is scored, of one sentence each (binary), of four, or of one to five; each sentence is supported with the
probability ``mean``. The numbers are those that `samples_for` names for a true loss. Then as many fresh samples of the same kind
lose whole samples, or sentences by themselves, so that the mean loss is that; power is how often the p value of `paired_mean` is at
most 0.05. ``one`` is the power at both ends if a sample that loses, loses exactly one sentence. ``before`` is
the number by the spread of the values (all change by as much as two samples differ), and its power.

Bars: power from 0.78 to 0.88 for sentences at the low end and for samples at the high end; of ``one`` at least 0.78 at the
high end.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from statistics import stdev
from typing import NamedTuple

import numpy as np
from _shared import arguments

from ctxmetrics import IDBasedContextRecall, Sample, evaluate
from ctxmetrics.evaluation.runs.estimate import samples_for
from ctxmetrics.evaluation.statistics.paired import paired_mean, samples_needed

MEANS = (0.5, 0.8, 0.9, 0.95, 0.98)
LOSSES = (0.02, 0.05, 0.1, 0.2)
SENTENCES = {"binary": (1,), "four": (4,), "one to five": (1, 2, 3, 4, 5)}


@dataclass(frozen=True)
class Cell:
    """A kind of samples, the mean of their values, and the true loss."""

    kind: str
    mean: float
    loss: float

    def draw(self, source, size):
        """Draw the sentences of each sample, and how many of them are supported."""
        count = source.choice(SENTENCES[self.kind], size)
        return count, source.binomial(count, self.mean)

    def score_run(self, source, size):
        """Score a run of the first retriever."""
        samples = []
        for count, kept in zip(*self.draw(source, size), strict=True):
            ids = [str(place) for place in range(count)]
            samples.append(Sample(reference_context_ids=ids, retrieved_context_ids=["x", *ids[:kept]]))
        return evaluate(samples, [IDBasedContextRecall()], progress=False)

    def lose(self, source, how, size):
        """Draw paired differences of fresh samples."""
        count, kept = self.draw(source, size)
        if how == "samples":
            lost = np.where(source.random(size) < self.loss / self.mean, kept, 0)
        elif how == "sentences":
            lost = source.binomial(kept, self.loss / self.mean)
        else:
            sentences = np.array(SENTENCES[self.kind])
            each = float(((1 - (1 - self.mean) ** sentences) / sentences).mean())
            lost = np.where(source.random(size) < self.loss / each, np.minimum(kept, 1), 0)
        return -lost / count

    def measure_power(self, source, how, size, draws):
        """Return how often the comparison finds the loss."""
        hits = 0
        for _ in range(draws):
            hits += paired_mean(self.lose(source, how, size).tolist()).p <= 0.05
        return hits / draws

    def measure(self, source, run, draws):
        """Return one row of the table."""
        results = self.score_run(source, run)
        (needed,) = samples_for(results, self.loss)
        low, high = needed.fewest, needed.samples
        values = [row["id_based_context_recall"].value for row in results]
        before = samples_needed(self.loss, 2**0.5 * stdev(values))

        def power(how, size):
            return self.measure_power(source, how, size, draws)

        return Row(
            *(self.mean, self.kind, self.loss, low, power("sentences", low), high, power("samples", high)),
            *(power("one", low), power("one", high), before, power("sentences", before), power("samples", before)),
        )  # fmt: skip


class Row(NamedTuple):
    """One row of the table."""

    mean: float
    kind: str
    loss: float
    low_end: int
    sentences: float
    high_end: int
    samples: float
    one_at_low_end: float
    one_at_high_end: float
    before: int
    sentences_before: float
    samples_before: float

    @property
    def powers(self):
        return self.sentences, self.samples

    def __str__(self):
        powers = {"sentences", "samples", "one_at_low_end", "one_at_high_end", "sentences_before", "samples_before"}  # fmt: skip
        cells = [
            f"{cell:.3f}" if name in powers else str(cell) for name, cell in self._asdict().items()
        ]
        return f"| {' | '.join(cells)} |"


def run(argv):
    options = arguments.make_parser("detect", __doc__, draws=2000, run=1000, seed=1).parse_args(argv)
    header = [name.replace("_", " ") for name in Row._fields]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    rows = []
    for kind, mean, loss in product(SENTENCES, MEANS, LOSSES):
        seed = [options.seed, round(1000 * mean), round(1000 * loss), len(kind)]
        rows.append(
            Cell(kind, mean, loss).measure(np.random.default_rng(seed), options.run, options.draws)
        )
        print(rows[-1], flush=True)
    powers = [power for row in rows for power in row.powers]
    before = [power for row in rows for power in (row.sentences_before, row.samples_before)]
    over = [str(row) for row in rows if not 0.78 <= min(row.powers) <= max(row.powers) <= 0.88]
    over += [str(row) for row in rows if row.one_at_high_end < 0.78]
    return {
        "lowest": min(powers),
        "highest": max(powers),
        "lowest_before": min(before),
        "highest_before": max(before),
        "cells": len(powers),
        "over": over,
    }
