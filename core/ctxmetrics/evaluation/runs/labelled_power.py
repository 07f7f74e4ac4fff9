"""The effect of labels on a gate of `compare`, before anyone labels. It is simulated with the rule that decides in `compare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ctxmetrics.evaluation.runs.power import DEFAULT_CHANGED_SHARE, RunValues, find_losses
from ctxmetrics.evaluation.statistics.label_decisions import choose_p, decide_loss, decide_no_loss
from ctxmetrics.evaluation.statistics.label_draw import share_out_labels
from ctxmetrics.evaluation.statistics.labelled import LabelledDifference, labelled_difference
from ctxmetrics.evaluation.statistics.paired import ROUNDING_ERROR, SIGNIFICANCE_LEVEL, paired_mean
from ctxmetrics.evaluation.statistics.power import ChangeDistribution

_Numbers = NDArray[np.float64]
# Judges that are simulated: one that sees most changes, one that invents losses, and one that sees no change.
SimulatedJudge = Literal["good", "inventing", "blind"]

_RANDOM_SEED = 1
_SIMULATION_COUNT = 300
# The share of the changes that a good judge sees.
_SEEN_SHARE = 0.8
# The share of the unchanged samples in which a good judge sees a change.
_INVENTED_SHARE = 0.05
# For a judge that sees no change the true loss is twice the margin ..
_LOSS_IN_MARGINS = 2
# .. and at least this share of the scale.
_MIN_LOSS_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class LabelledGate:
    """A gate of `compare`, and the samples that it is applied to.

    Attributes:
        option: ``--max-drop`` or ``--not-worse``.
        margin: Its margin.
        samples: How many samples a comparison has.
        labels: The number of labelled samples, divided between changed and unchanged samples.
        scale: The highest value of the metric.
    """

    option: str
    margin: float
    samples: int
    labels: int
    scale: float

    def simulate(self, changes: ChangeDistribution, judge: SimulatedJudge) -> tuple[float, float]:
        """Simulate how often the gate is red, or passes, without labels and with labels.

        Args:
            changes: The true changes. For an ``inventing`` judge: the changes that the judge invents, while nothing truly changes.
            judge: ``good`` sees 80 % of the changes and invents some in 5 % of the other samples; ``blind`` sees none.

        Returns:
            Two shares of the simulated comparisons: without labels, and with labels. In these comparisons ``--max-drop`` is red,
            or ``--not-worse`` passes.
        """
        source = np.random.default_rng(_RANDOM_SEED)
        decided_without_labels = 0
        decided_with_labels = 0
        for _ in range(_SIMULATION_COUNT):
            people_differences, values = _simulate_differences(source, changes, judge, self.samples)
            judged = paired_mean(values.tolist(), scale=self.scale)
            labels = self._label(source, people_differences, values)
            if self.option == "--max-drop":
                decides_without_labels = judged.p <= SIGNIFICANCE_LEVEL and decide_loss(
                    judged.interval, None, self.margin
                )
                deciding_p = choose_p(judged.mean, judged.p, labels)
                decides_with_labels = deciding_p <= SIGNIFICANCE_LEVEL and decide_loss(
                    judged.interval, labels, self.margin
                )
            else:
                decides_without_labels = decide_no_loss(judged.interval, None, self.margin)
                decides_with_labels = decide_no_loss(judged.interval, labels, self.margin)
            if decides_without_labels:
                decided_without_labels += 1
            if decides_with_labels:
                decided_with_labels += 1
        return decided_without_labels / _SIMULATION_COUNT, decided_with_labels / _SIMULATION_COUNT

    def _label(
        self, source: np.random.Generator, people: _Numbers, judge: _Numbers
    ) -> LabelledDifference:
        """Label random samples: some of those that changed by the judge, and some of those that did not."""
        order = source.permutation(len(judge))
        has_changed = np.abs(judge[order]) > ROUNDING_ERROR
        strata = order[has_changed], order[~has_changed]
        counts = share_out_labels(self.labels, *map(len, strata))
        labelled: list[int] = []
        unlabelled: list[int] = []
        weights: list[float] = []
        for members, count in zip(strata, counts, strict=True):
            labelled += members[:count].tolist()
            unlabelled += members[count:].tolist()
            weights += [len(members) / max(count, 1)] * count
        return labelled_difference(
            people[labelled].tolist(),
            judge[labelled].tolist(),
            judge[unlabelled].tolist(),
            weights=weights,
            scale=self.scale,
        )


def _simulate_differences(
    source: np.random.Generator, changes: ChangeDistribution, judge: SimulatedJudge, samples: int
) -> tuple[_Numbers, _Numbers]:
    """Simulate the differences of a comparison at random: those by people, and those by the judge."""
    sizes = np.append(changes.sizes, 0.0)
    shares = np.append(changes.shares, max(1 - changes.changed, 0.0))
    true_differences = source.choice(sizes, samples, p=shares / shares.sum())
    no_differences = np.zeros(samples)
    if judge == "inventing":
        return no_differences, true_differences
    if judge == "blind" or not len(changes.sizes):
        return true_differences, no_differences
    invented_sizes = source.choice(np.abs(changes.sizes), samples)
    signs = source.choice([-1.0, 1.0], samples)
    invented_differences = invented_sizes * signs
    is_invented = source.random(samples) < _INVENTED_SHARE
    is_seen = source.random(samples) < _SEEN_SHARE
    judged_changes = np.where(is_seen, true_differences, 0.0)
    judged_others = np.where(is_invented, invented_differences, 0.0)
    by_judge = np.where(true_differences != 0, judged_changes, judged_others)
    return true_differences, by_judge


def describe_labels(
    run: RunValues, option: str, margin: float, labels: int, *, changed: float | None = None
) -> str:
    """Describe how this number of labels changes a gate: for a judge that is good, and for one that is wrong.

    Whole samples change, which is the harder case.

    Args:
        run: The values of a run.
        option: ``--max-drop`` or ``--not-worse``.
        margin: Its margin.
        labels: How many samples are labelled; at most all.
        changed: As for `describe_gate`.
    """
    labels = min(labels, len(run.samples))
    gate = LabelledGate(option, margin, len(run.samples), labels, run.scale)
    model = run.build_model()
    beginning = f"{labels} labels by label --compare"
    good_judge = f"a judge that sees {100 * _SEEN_SHARE:g} % of the changes and invents {100 * _INVENTED_SHARE:g} %"
    if option == "--max-drop":
        losses = find_losses(run, margin, changed)
        if losses is None or losses.by_samples is None:
            return f"{beginning}: so few samples show no loss, with labels or without"
        changes = model.build(losses.by_samples, changed, whole=True)
        red_for_true = gate.simulate(changes, "good")
        red_for_invented = gate.simulate(changes, "inventing")
        return (
            f"{beginning}: a true loss of {losses.by_samples:.3g} is red in {_format_shares(red_for_true)} with {good_judge}; "
            f"such a loss that the judge invents, in {_format_shares(red_for_invented)}"
        )
    loss = max(_LOSS_IN_MARGINS * margin, _MIN_LOSS_SHARE * run.scale)
    loss = min(loss, model.find_largest_loss())
    passed_with_loss = gate.simulate(model.lose_samples(loss), "blind")
    share = DEFAULT_CHANGED_SHARE if changed is None else changed
    passed_without_loss = gate.simulate(model.change(0.0, share, whole=True), "good")
    return (
        f"{beginning}: without a true difference {_format_shares(passed_without_loss)} pass with {good_judge}; "
        f"of true losses of {loss:.3g} that the judge does not see, {_format_shares(passed_with_loss)}"
    )


def _format_shares(shares: tuple[float, float]) -> str:
    """Write the two shares that `LabelledGate.simulate` returns: first the one with labels, then the one without."""
    without_labels, with_labels = shares
    return f"{100 * with_labels:.0f} % ({100 * without_labels:.0f} % without)"
