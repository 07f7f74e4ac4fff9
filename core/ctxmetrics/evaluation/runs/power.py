"""The power of a number of samples: the differences that a gate finds, before a run is paid for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctxmetrics.evaluation.comparison.compare import choose_metric
from ctxmetrics.evaluation.comparison.difference_sentences import describe_power
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.statistics.intervals import mean_interval
from ctxmetrics.evaluation.statistics.paired import TEST_POWER, paired_mean
from ctxmetrics.evaluation.statistics.power import ChangeModel, ValueParts, find_first, simulate
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.wording import plural

# The options whose gates are described. The number is the end of the difference's interval that is compared with the margin:
# 0 the lower end, 1 the upper end. None: the gate has no margin.
GATES: dict[str, int | None] = {"--fail-under": None, "--max-drop": 1, "--not-worse": 0}
# The share of samples that change while the means of both runs are equal, unless the user gives another share.
DEFAULT_CHANGED_SHARE = 0.2
# To measure by how much one verdict changes a value, each hit (and each miss) is changed separately. If there are more verdicts
# than this, about this number of evenly spaced verdicts is changed.
_MAX_CHANGED_VERDICTS = 64
# The steps of the search for the smallest loss. Each step halves the range, and simulates all comparisons again.
_BISECTION_STEPS = 14


@dataclass(frozen=True, slots=True)
class RunValues:
    """The values of one metric in a run, and the parts that each value can lose.

    Attributes:
        metric: The metric's name.
        scale: The highest value of the metric.
        samples: The parts of its value that each sample can lose and win.
        part_noun: The noun for a part of a value, such as ``sentence``.
    """

    metric: str
    scale: float
    samples: tuple[ValueParts, ...]
    part_noun: str

    @property
    def values(self) -> list[float]:
        """The values."""
        return [sample.value for sample in self.samples]

    def build_model(self) -> ChangeModel:
        """Build the source of changes between this run and a later run."""
        return ChangeModel(self.samples, self.scale)

    def mirror(self) -> RunValues:
        """Return the values mirrored at the middle of the scale: gains of the values are losses of the mirrored values."""
        samples = [
            # The mirrored value can lose what the value can win, and the reverse.
            ValueParts(self.scale - sample.value, sample.to_win, sample.to_lose)
            for sample in self.samples
        ]
        return RunValues(self.metric, self.scale, tuple(samples), self.part_noun)


def read_values(results: Results, name: str) -> RunValues:
    """Read the values of a metric of a run, and the number of parts of each value.

    Args:
        results: The run.
        name: The name of the metric.

    Returns:
        The values; samples without a value are left out. The parts are named as the first score with verdicts names them, such
        as "sentence"; "part" if no score has verdicts.
    """
    scores = [row[name] for row in results]
    part_noun = "part"
    for score in scores:
        if score.verdicts:
            part_noun, _ = score.counted  # the noun, and what is counted of it, such as "supported"
            break
    scale = results.by_metric[name].scale
    samples = [_read_parts(score, scale) for score in scores if score.value is not None]
    return RunValues(name, scale, tuple(samples), part_noun)


def _read_parts(score: Score, scale: float) -> ValueParts:
    """Read the number of parts of which a value consists: a changed verdict changes the value by one part.

    If a single verdict does not change a value, such as a second hit of a hit rate, the value has one part.
    """
    value = score.value or 0.0
    hits = [verdict.value is True for verdict in score.verdicts]
    metric = find_metric(score.metric, score.provenance.convention)
    if not hits:
        return ValueParts(value)
    to_lose = hits.count(True)
    to_win = hits.count(False)
    if metric is not None and metric.to_convention_scale(metric.to_value(hits)) == value:
        loss = _average_change(metric, hits, value, changed=True)
        win = _average_change(metric, hits, value, changed=False)
        to_lose = round(value / loss) if loss else 1
        to_win = round((scale - value) / win) if win else 1
    return ValueParts(value, max(to_lose, 1), max(to_win, 1))


def _average_change(metric: Metric, hits: list[bool], value: float, *, changed: bool) -> float:
    """Return by how much a value changes on average if one hit becomes a miss, or one miss a hit. It is 0 if there is no such change.

    Args:
        metric: Computes the value.
        hits: Whether each verdict is a hit.
        value: The value of these verdicts.
        changed: True: each hit is changed; false: each miss is.
    """
    indexes = [index for index, hit in enumerate(hits) if hit is changed]
    step = len(indexes) // _MAX_CHANGED_VERDICTS + 1
    changes = []
    for index in indexes[::step]:
        changed_hits = [*hits[:index], not hits[index], *hits[index + 1 :]]
        changed_value = metric.to_convention_scale(metric.to_value(changed_hits)) or 0.0
        changes.append(abs(value - changed_value))
    return sum(changes) / len(changes) if changes else 0.0


@dataclass(frozen=True, slots=True)
class Range:
    """A loss or a margin in two cases: each change takes a single part of a value, or each takes the whole value.

    Attributes:
        by_parts: The number if a change takes a single part; None if there is none.
        by_samples: The number if a change takes the whole value of a sample; None if there is none.
        part_noun: The noun for a part, such as ``sentence``.
    """

    by_parts: float | None
    by_samples: float | None
    part_noun: str

    def __str__(self) -> str:
        ends = sorted(end for end in (self.by_parts, self.by_samples) if end is not None)
        texts = [f"{end:.3g}" for end in ends]
        all_equal = len(set(texts)) == 1
        return texts[0] if all_equal else " to ".join(texts)

    def explain(self, verb: str, short_verb: str) -> str:
        """Explain the two ends. The result is empty if both are equal.

        Args:
            verb: The verb after the parts, such as "are lost".
            short_verb: The verb after the samples, such as "are": the first verb completes its meaning.
        """
        by_parts = "none" if self.by_parts is None else f"{self.by_parts:.3g}"
        by_samples = "none" if self.by_samples is None else f"{self.by_samples:.3g}"
        if by_parts == by_samples:
            return ""
        return f": {by_parts} if single {self.part_noun}s {verb}, {by_samples} if whole samples {short_verb}"


def describe_gate(
    results: Results, option: str, name: str, bar: float, *, changed: float | None = None
) -> str:
    """Describe which difference a gate shows on the samples of a run, or that it cannot fail on this number of samples.

    It cannot fail if it passes even when every value falls to 0.

    Args:
        results: A run of the same metrics. It shows how much its samples can lose.
        option: The option of the gate: a key of `GATES`.
        name: The name of the metric. It may leave out parameters if only one metric has the name.
        bar: The bar or the margin of the gate.
        changed: The share of samples whose value changes between two runs, above 0; None: as few as a loss
            needs, or a fifth if there is no loss.

    Raises:
        ParameterError: The run has no such metric.
    """
    run = read_values(results, choose_metric(results.metrics, name, option))
    sample_count = plural(len(run.samples), "sample")
    if GATES[option] is not None:
        text = _describe_margin(run, option, bar, changed)
    elif bar <= 0:
        text = "cannot fail"
    else:
        low, high = mean_interval(run.values, scale=run.scale) or (0.0, run.scale)
        text = (
            f"the mean of {sample_count} is known to +- {(high - low) / 2:.3g}: a true mean so near the bar passes or "
            "fails by chance"
        )
    return f"{option} {name}={bar:g}: {text}"


def _describe_margin(run: RunValues, option: str, margin: float, changed: float | None) -> str:
    """Describe which loss a gate of a comparison finds."""
    sample_count = plural(len(run.samples), "sample")
    end = GATES[option]
    # The worst that can happen: every sample loses its whole value.
    worst_differences = [-value for value in run.values]
    worst_interval = None
    if worst_differences:
        worst_interval = paired_mean(worst_differences, scale=run.scale).interval
    if worst_interval is None or worst_interval[end or 0] >= -margin:
        return f"cannot fail with {sample_count}, even if every value falls to 0"
    if option == "--max-drop":
        losses = find_losses(run, margin, changed)
        if losses is None:
            return f"{sample_count} show no larger loss in 4 of 5 comparisons"
        return f"{describe_power(str(losses))} comparisons of {sample_count}{losses.explain('are lost', 'are')}"
    if len(set(run.values)) == 1:
        return f"all values of {sample_count} are equal: they do not say what changes without a true difference"
    share = DEFAULT_CHANGED_SHARE if changed is None else changed
    margins = find_margins(run, share)
    return (
        f"without a true difference 4 of 5 comparisons of {sample_count}, of which {100 * share:g} % change, pass from a margin of "
        f"{margins}{margins.explain('change', 'do')}"
    )


def find_losses(run: RunValues, margin: float, changed: float | None = None) -> Range | None:
    """Find the smallest true losses that ``--max-drop`` finds in 4 of 5 comparisons. Return None if it finds none."""
    model = run.build_model()

    def find_smallest_loss(*, whole: bool) -> float | None:
        """Find the loss if each change takes the whole value of a sample (``whole``), or a single part of it."""

        def is_seen(loss: float) -> bool:
            """Tell whether the gate fails often enough for a true loss."""
            changes = model.build(loss, changed, whole=whole)
            comparisons = simulate(changes, len(run.samples), scale=run.scale)
            gate_fails = comparisons.shown & (comparisons.high < -margin)
            return float(gate_fails.mean()) >= TEST_POWER

        largest_loss = model.find_largest_loss(changed)
        if largest_loss <= margin or not is_seen(largest_loss):
            return None
        return find_first(is_seen, margin, largest_loss, halvings=_BISECTION_STEPS)

    loss_by_parts = find_smallest_loss(whole=False)
    loss_by_samples = find_smallest_loss(whole=True)
    if loss_by_parts is None and loss_by_samples is None:
        return None
    return Range(loss_by_parts, loss_by_samples, run.part_noun)


def find_margins(run: RunValues, changed: float) -> Range:
    """Find the smallest margins from which ``--not-worse`` passes 4 of 5 comparisons without a true difference."""
    model = run.build_model()

    def find_smallest_margin(*, whole: bool) -> float:
        """Find the margin if each change takes the whole value of a sample (``whole``), or a single part of it."""
        changes = model.change(0.0, changed, whole=whole)
        comparisons = simulate(changes, len(run.samples), scale=run.scale)
        return max(0.0, -float(np.quantile(comparisons.low, 1 - TEST_POWER)))

    margin_by_parts = find_smallest_margin(whole=False)
    margin_by_samples = find_smallest_margin(whole=True)
    return Range(margin_by_parts, margin_by_samples, run.part_noun)
