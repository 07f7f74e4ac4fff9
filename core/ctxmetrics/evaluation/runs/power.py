"""What so many samples can show: the differences that a gate finds, before a run is paid for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ctxmetrics.evaluation.comparison.compare import choose_metric
from ctxmetrics.evaluation.comparison.view import describe_power
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.statistics.intervals import mean_interval
from ctxmetrics.evaluation.statistics.paired import POWER, paired_mean
from ctxmetrics.evaluation.statistics.power import ChangeModel, ValueParts, find_first, simulate
from ctxmetrics.metrics.catalog import metric_named
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.wording import plural

# The options whose gates are described, and the end of the interval of the difference that each compares with its margin.
GATES: dict[str, int | None] = {"--fail-under": None, "--max-drop": 1, "--not-worse": 0}
# The share of samples that change where the means of both runs are equal, unless the user knows it.
CHANGED = 0.2
# The verdicts of a kind of which each is changed to see what one changes: about so many, evenly apart, where there are more.
_MOST_PLACES = 64
# Each one simulates as many comparisons again.
_HALVINGS = 14


@dataclass(frozen=True, slots=True)
class RunValues:
    """The values of one metric in a run, and what each can lose.

    Attributes:
        metric: The metric's name.
        scale: Its highest value.
        samples: What each sample can lose and win.
        part: What a part of a value is called, such as ``sentence``.
    """

    metric: str
    scale: float
    samples: tuple[ValueParts, ...]
    part: str

    @property
    def values(self) -> list[float]:
        """The values."""
        return [item.value for item in self.samples]

    def build_model(self) -> ChangeModel:
        """Build what makes the changes between this run and a later one."""
        return ChangeModel(self.samples, self.scale)

    def mirror(self) -> RunValues:
        """Return the values with gains in the place of losses."""
        samples = [
            ValueParts(self.scale - item.value, item.to_win, item.to_lose) for item in self.samples
        ]
        return RunValues(self.metric, self.scale, tuple(samples), self.part)


def read_values(results: Results, name: str) -> RunValues:
    """Read the values of a metric of a run, and of how many parts each consists."""
    scores = [row[name] for row in results]
    part = next((score.counted[0] for score in scores if score.verdicts), "part")
    scale = results.by_metric[name].scale
    samples = [_read_parts(score, scale) for score in scores if score.value is not None]
    return RunValues(name, scale, tuple(samples), part)


def _read_parts(score: Score, scale: float) -> ValueParts:
    """Read of how many parts a value consists: one verdict more or less changes it by one.

    Where one verdict does not change it, such as a second hit of a hit rate, it has one part.
    """
    value = score.value or 0.0
    hits = [verdict.value is True for verdict in score.verdicts]
    metric = metric_named(score.metric, score.provenance.convention)
    if not hits:
        return ValueParts(value)
    counts = {True: hits.count(True), False: hits.count(False)}
    if metric is not None and metric.scaled(metric.to_value(hits)) == value:
        for kind, whole in ((True, value), (False, scale - value)):
            steps = []
            places = [place for place, hit in enumerate(hits) if hit is kind]
            for place in places[:: len(places) // _MOST_PLACES + 1]:
                other = [*hits[:place], not kind, *hits[place + 1 :]]
                steps.append(abs(value - (metric.scaled(metric.to_value(other)) or 0.0)))
            step = sum(steps) / len(steps) if steps else 0.0
            counts[kind] = round(whole / step) if step else 1
    return ValueParts(value, max(counts[True], 1), max(counts[False], 1))


@dataclass(frozen=True, slots=True)
class Range:
    """A figure for losses of single parts, and for losses of whole samples.

    Attributes:
        parts: The figure if single parts change; None if there is none.
        samples: The figure if whole samples change; None if there is none.
        part: What a part is called.
    """

    parts: float | None
    samples: float | None
    part: str

    def __str__(self) -> str:
        ends = sorted(value for value in (self.parts, self.samples) if value is not None)
        return " to ".join(dict.fromkeys(f"{value:.3g}" for value in ends))

    def explain(self, verb: str, short: str) -> str:
        """Explain what the ends stand for; empty if both are equal."""
        low, high = (None if end is None else f"{end:.3g}" for end in (self.parts, self.samples))
        if low == high:
            return ""
        return f": {low or 'none'} if single {self.part}s {verb}, {high or 'none'} if whole samples {short}"


def describe_gate(
    results: Results, option: str, name: str, bar: float, *, changed: float | None = None
) -> str:
    """Describe which difference a gate shows on the samples of a run, or that it cannot fail on so many.

    It cannot fail if it passes where every value falls to 0.

    Args:
        results: A run of the same metrics, which says what samples can lose.
        option: One of `GATES`.
        name: The metric; its name may leave out parameters if one metric has it.
        bar: The bar or margin.
        changed: The share of samples whose value changes between two runs, above 0; None: no more than a loss needs,
            or a fifth without one.

    Raises:
        ParameterError: The run has no such metric.
    """
    run = read_values(results, choose_metric(results.metrics, name, option))
    size = plural(len(run.samples), "sample")
    if GATES[option] is not None:
        text = _describe_margin(run, option, bar, changed)
    elif bar <= 0:
        text = "cannot fail"
    else:
        low, high = mean_interval(run.values, scale=run.scale) or (0.0, run.scale)
        text = (
            f"the mean of {size} is known to +- {(high - low) / 2:.3g}: a true mean so near the bar passes or "
            "fails by chance"
        )
    return f"{option} {name}={bar:g}: {text}"


def _describe_margin(run: RunValues, option: str, margin: float, changed: float | None) -> str:
    """Describe which loss a gate of a comparison finds."""
    size = plural(len(run.samples), "sample")
    end = GATES[option]
    lost = [-value for value in run.values]
    worst = paired_mean(lost, scale=run.scale).interval if lost else None
    if worst is None or worst[end or 0] >= -margin:
        return f"cannot fail with {size}, even if every value falls to 0"
    if option == "--max-drop":
        losses = find_losses(run, margin, changed)
        if losses is None:
            return f"{size} show no larger loss in 4 of 5 comparisons"
        return f"{describe_power(str(losses))} comparisons of {size}{losses.explain('are lost', 'are')}"
    if len({*run.values}) == 1:
        return f"all values of {size} are equal: they do not say what changes without a true difference"
    share = CHANGED if changed is None else changed
    margins = find_margins(run, share)
    return (
        f"without a true difference 4 of 5 comparisons of {size}, of which {100 * share:g} % change, pass from a margin of "
        f"{margins}{margins.explain('change', 'do')}"
    )


def find_losses(run: RunValues, margin: float, changed: float | None = None) -> Range | None:
    """Find the smallest true losses that ``--max-drop`` finds in 4 of 5 comparisons; None if it finds none."""
    model = run.build_model()

    def find(whole: bool) -> float | None:
        """Find the figure for changes by whole values, or by parts."""

        def is_seen(loss: float) -> bool:
            """Whether the gate fails often enough for a true loss."""
            compared = simulate(
                model.build(loss, changed, whole=whole), len(run.samples), scale=run.scale
            )
            return float((compared.shown & (compared.high < -margin)).mean()) >= POWER

        largest_loss = model.find_largest_loss(changed)
        if largest_loss <= margin or not is_seen(largest_loss):
            return None
        return find_first(is_seen, margin, largest_loss, halvings=_HALVINGS)

    parts = find(False)
    samples = find(True)
    return None if parts is None and samples is None else Range(parts, samples, run.part)


def find_margins(run: RunValues, changed: float) -> Range:
    """Find the smallest margins from which ``--not-worse`` passes 4 of 5 comparisons without a true difference."""
    model = run.build_model()

    def find(whole: bool) -> float:
        changes = model.change(0.0, changed, whole=whole)
        compared = simulate(changes, len(run.samples), scale=run.scale)
        return max(0.0, -float(np.quantile(compared.low, 1 - POWER)))

    return Range(find(False), find(True), run.part)
