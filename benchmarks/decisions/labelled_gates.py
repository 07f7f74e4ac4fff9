"""Do labels make the decisions of `compare` better, and never worse? Twelve judges and labels of a part of the samples: simulated.

    python benchmarks/run.py labelled_gates [--draws 100] [--seed 1] [--write-docs]

Ten minutes of CPU with 1,000 draws; cells that no bar on a decision is about have a fifth of them, clusters half. All draws of a cell are
computed at once (``_shared/labelled_arrays.py``). Each cell draws paired differences of n samples of 1 to 5 sentences with a known true
loss: of whole samples, of single sentences, or of whole samples where one in ten wins and one in ten loses beside (2 % win and 2 %
lose a sentence in the others). A judge sees them; people label k samples, drawn at random, or by change: those with a
difference by the judge get ``ceil(k * max(1/3, their share))`` labels, for several metrics with 1/2. All decisions and intervals are the library's own;
``before`` are those of the rule that this one replaced: from 25 labels on the corrected difference decided alone.

``red`` is how often ``--max-drop .02`` fails, ``pass`` how often ``--not-worse .05`` passes; ``held`` how often the
printed interval holds the true difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np
from _shared import arguments, docs
from _shared.labelled_arrays import (
    Labels,
    complete_differences,
    labelled_differences,
    paired_means,
)

from ctxmetrics.evaluation.statistics.corrected_means import corrected
from ctxmetrics.evaluation.statistics.intervals import student_quantile
from ctxmetrics.evaluation.statistics.label_decisions import choose_p, decide_loss, decide_no_loss
from ctxmetrics.evaluation.statistics.label_draw import share_out_labels
from ctxmetrics.evaluation.statistics.labelled import labelled_difference
from ctxmetrics.evaluation.statistics.paired import (
    MIN_CHANGED_SAMPLES,
    ROUNDING_ERROR,
    SIGNIFICANCE_LEVEL,
    PairedMean,
    holm,
    mean_p,
    paired_mean,
)

MAX_DROP, NOT_WORSE = 0.02, 0.05
LEAST_COVERAGE = 0.93
PAGE = Path(__file__).parents[2] / "docs" / "comparing.md"
LONGEST = 5
SIZES = (100, 300, 1000)
LABELS = (0, 2, 10, 24, 25, 30, 50, 100, -1)
"""The numbers of labels; -1: all samples."""
LOSSES = (0.0, 0.02, 0.05, 0.1, 0.2)
KINDS = ("samples", "sentences", "churn")
JUDGES = (
    "exact",
    "good",
    "noisy",
    "biased",
    "blind",
    "gloomy",
    "no gains",
    "always yes",
    "coin",
    "missing",
    "half",
    "turned",
)
"""The last two see each change at half its size, and turn the sign of each change with the probability 1/2."""
DRAWS = ("random", "change")
BESIDE, CHURN = 0.02, 0.1
CLUSTER = 5
# From so many labels on they decided alone, by the rule before.
DECIDED_BEFORE = 25
VARIANTS = ("clusters", "whole clusters", "three metrics", "people err")
VARIANT_JUDGES = ("exact", "good", "gloomy", "blind", "always yes")
VARIANT_LABELS = (0, 10, 25, 50, 100, -1)
# How many samples of all draws are simulated together; more do not fit into a processor's cache.
SAMPLES_AT_ONCE = 40_000
# The numbers of labels that a table has.
SHOWN = (2, 10, 24, 25, 50, 100, -1)


@dataclass(frozen=True)
class Population:
    """Sentences of n samples in each draw, and which are supported in the first and in the second run.

    Attributes:
        exists: Which of five sentences a sample has.
        before: Which are supported in the first run.
        after: Which are in the second.
    """

    exists: np.ndarray
    before: np.ndarray
    after: np.ndarray

    @property
    def sentences(self) -> np.ndarray:
        return self.exists.sum(axis=2)

    @property
    def differences(self) -> np.ndarray:
        return compute_differences(self.before, self.after, self.sentences)


def compute_differences(before, after, sentences) -> np.ndarray:
    """Compute the differences of samples from the supported sentences of two runs."""
    return (after.sum(axis=2) - before.sum(axis=2)) / sentences


def draw_population(source, draws, n, kind, loss, *, clustered=False) -> Population:
    """Draw populations; samples of one cluster change together, half of the time."""
    exists = np.arange(LONGEST) < source.integers(1, LONGEST + 1, (draws, n))[..., None]
    chance = source.random((draws, n))
    if clustered:
        together = source.random((draws, n // CLUSTER)).repeat(CLUSTER, axis=1)
        chance = np.where(source.random((draws, n)) < 0.5, together, chance)
    before, after = exists.copy(), exists.copy()
    one = np.zeros_like(exists)
    one[:, :, 0] = True  # a sentence is like the other
    wins = CHURN if kind == "churn" else BESIDE
    won = chance < wins
    beside = (chance >= wins) & (chance < 2 * wins)
    share = loss if kind != "sentences" else loss / float(np.mean(1 / np.arange(1, LONGEST + 1)))
    lost = (chance >= 2 * wins) & (chance < 2 * wins + share)
    whole = np.ones_like(exists)
    small = whole if kind == "churn" else one
    before &= ~(small & won[..., None])
    after &= ~(small & beside[..., None])
    large = one if kind == "sentences" else whole
    after &= ~(large & lost[..., None])
    return Population(exists, before, after)


def judge_differences(  # noqa: PLR0911 - a judge a line
    source, judge, kind, people: Population
) -> np.ndarray:
    """Return the judge's differences; NaN where it gives no value."""
    true = people.differences
    size = 1.0 / people.sentences if kind == "sentences" else np.ones(true.shape)
    chance = source.random(true.shape)
    if judge in {"good", "missing"}:
        false = np.where(source.random(true.shape) < 0.5, 1, -1) / people.sentences
        values = np.where(
            true != 0, np.where(chance < 0.8, true, 0.0), np.where(chance < 0.05, false, 0.0)
        )
        if judge == "missing":
            return np.where(source.random(true.shape) < 0.2, np.nan, values)
        return values
    if judge in {"noisy", "coin"}:
        seen, false = (0.8, 0.05) if judge == "noisy" else (0.5, 0.5)
        runs = [
            (source.random(run.shape) < np.where(run, seen, false)) & people.exists
            for run in (people.before, people.after)
        ]
        return compute_differences(*runs, people.sentences)
    if judge == "biased":  # it never supports one of the sentences
        place = (source.random(true.shape) * people.sentences).astype(int)
        others = np.arange(LONGEST) != place[..., None]
        return compute_differences(people.before & others, people.after & others, people.sentences)
    if judge == "blind":
        return np.where((true < 0) & (chance < 0.5), 0.0, true)
    if judge == "gloomy":
        return np.where((true == 0) & (chance < 0.1), -size, true)
    if judge == "no gains":
        return np.minimum(true, 0.0)
    if judge == "always yes":
        return np.zeros(true.shape)
    if judge == "half":
        return true / 2
    if judge == "turned":
        return np.where(chance < 0.5, true, -true)
    return true


def err(source, people: Population, share) -> np.ndarray:
    """Return people's differences where they give the wrong answer to a share of all questions."""
    runs = [
        (run ^ (source.random(run.shape) < share)) & people.exists
        for run in (people.before, people.after)
    ]
    return compute_differences(*runs, people.sentences)


# --- the rule before ---


@dataclass(frozen=True)
class Before:
    """The corrected difference of the rule before: 1.25 scales a label are added to its error, also where all are labelled."""

    difference: float
    interval: tuple[float, float]
    p: float


def correct_before(people, judge, others, clusters=None) -> Before:
    changed = int((np.abs([people, judge]).max(axis=0) > ROUNDING_ERROR).sum())
    trust = 1.0 if changed < MIN_CHANGED_SAMPLES else None
    mean = corrected(people, judge, others, clusters=clusters, trust=trust)
    return make_before(mean.mean, math.hypot(mean.error, 1.25 / mean.size), mean.degrees)


def make_before(mean: float, error: float, degrees: int) -> Before:
    half = student_quantile(1 - SIGNIFICANCE_LEVEL / 2, degrees) * error
    return Before(mean, (max(mean - half, -1.0), min(mean + half, 1.0)), mean_p(mean, error, degrees))


# --- cells ---


@dataclass(frozen=True)
class Setting:
    """What is simulated: the judge, the true loss and its kind, and how many samples there are.

    Attributes:
        variant: ``single``; ``clusters`` of five samples, or ``whole clusters`` labelled; ``three metrics``, of which the first
            one changed; ``people err`` in 3 % of their answers.
    """

    judge: str
    kind: str
    loss: float
    n: int
    variant: str = "single"

    @property
    def clustered(self) -> bool:
        return "clusters" in self.variant

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of labels."""
        return LABELS if self.variant == "single" else VARIANT_LABELS


FIGURES = ("red", "pass", "held", "width")


def simulate(
    setting: Setting, seed: int, draws: int, cells: list[tuple[int, str]] | None = None
) -> Iterator[dict]:
    """Yield a row for each number of labels and each way to draw them, all on the same runs.

    Args:
        setting: What is simulated.
        seed: The seed of the draws.
        draws: How many.
        cells: The numbers of labels, with the ways to draw them; None: all.
    """
    source = np.random.default_rng([seed, crc32(repr(setting).encode())])
    ways = DRAWS[:1] if setting.variant == "whole clusters" else DRAWS
    cells = cells or [
        (k, way)
        for k in setting.numbers
        for way in (ways if 0 < k < setting.n else ways[:1])
        if k <= setting.n
    ]
    sums = {cell: np.zeros(2 * len(FIGURES)) for cell in cells}
    most = max(SAMPLES_AT_ONCE // setting.n, 1)
    for first in range(0, draws, most):
        runs = draw_runs(source, setting, min(most, draws - first))
        for k, way in cells:
            before = way == DRAWS[0] and (k < 0 or k >= DECIDED_BEFORE)
            sums[k, way] += decide(runs, k, way, -setting.loss, before=before)
    for (k, way), total in sums.items():
        shares = [round(float(share), 4) for share in total / draws]
        figures = zip([*FIGURES, *(f"{name} before" for name in FIGURES)], shares, strict=True)
        yield {**vars(setting), "draws": draws, "labels": k, "draw": way, **dict(figures)}


def draw_low_cells_again(rows: list[dict], seed: int, draws: int) -> Iterator[dict]:
    """Yield the rows. Rows whose interval held in too few draws are simulated again, with another seed.

    The lowest of thousands of shares is low by chance. New draws of the same cell are not chosen for that.
    """
    for row in rows:
        if row["labels"] and row["held"] < LEAST_COVERAGE:
            setting = Setting(*(row[field.name] for field in fields(Setting)))
            yield from simulate(setting, seed + 1, draws, [(row["labels"], row["draw"])])
        else:
            yield row


@dataclass(frozen=True)
class Runs:
    """The differences of the samples of two runs in each draw; a list has an item for each metric.

    Attributes:
        people: What people would say.
        judge: What the judge says; 0 where it gives no value.
        present: Where the judge gives one.
        clusters: The cluster of each sample, or None.
        alone: The paired differences of the judge.
        orders: The samples in the order in which they are labelled, for each way to draw.
        changed: How many samples changed by the judge in any metric.
    """

    people: list[np.ndarray]
    judge: list[np.ndarray]
    present: np.ndarray
    clusters: np.ndarray | None
    alone: list[list[PairedMean]]
    orders: dict[str, np.ndarray]
    changed: np.ndarray

    @property
    def draws(self) -> int:
        return self.present.shape[0]

    @property
    def samples(self) -> int:
        return self.present.shape[1]


def draw_runs(source, setting: Setting, draws: int) -> Runs:
    losses = [setting.loss]
    if setting.variant == "three metrics":
        losses += [0.0, 0.0]
    people, judge = [], []
    for loss in losses:
        population = draw_population(
            source, draws, setting.n, setting.kind, loss, clustered=setting.clustered
        )
        judge.append(judge_differences(source, setting.judge, setting.kind, population))
        erring = setting.variant == "people err"
        people.append(err(source, population, 0.03) if erring else population.differences)
    present = np.isfinite(judge[0])
    people, judge = ([np.where(present, item, 0.0) for item in items] for items in (people, judge))
    clusters = np.arange(setting.n) // CLUSTER if setting.clustered else None
    if clusters is None:
        alone = [paired_means(item, present) for item in judge]
    else:
        alone = [[paired_mean(row, clusters) for row in item] for item in judge]
    # A sample has changed where any metric did.
    changed = np.max([np.abs(item) for item in judge], axis=0) > ROUNDING_ERROR
    chance = source.random(present.shape)
    if setting.variant == "whole clusters":
        chance = source.random((draws, setting.n // CLUSTER)).repeat(CLUSTER, axis=1)
    chance[~present] += 2
    orders = {
        DRAWS[0]: chance.argsort(axis=1, kind="stable"),
        DRAWS[1]: (chance + ~changed).argsort(axis=1),
    }
    return Runs(people, judge, present, clusters, alone, orders, changed.sum(axis=1))


def choose_labels(runs: Runs, k: int, way: str) -> Labels:
    """Choose the samples that are labelled, and how many each one stands for."""
    present = runs.present.sum(axis=1)
    if way == DRAWS[0]:
        weights = np.broadcast_to((present / k)[:, None], (runs.draws, k))
        return Labels(runs.orders[way][:, :k], weights)
    pairs = zip(runs.changed.tolist(), (present - runs.changed).tolist(), strict=True)
    metrics = len(runs.people)
    first, second = np.transpose([share_out_labels(k, *pair, metrics=metrics) for pair in pairs])
    ranks = np.arange(k)
    is_first = ranks < first[:, None]
    places = np.where(is_first, ranks, runs.changed[:, None] + ranks - first[:, None])
    weights = np.where(
        is_first,
        (runs.changed / np.maximum(first, 1))[:, None],
        ((present - runs.changed) / np.maximum(second, 1))[:, None],
    )
    return Labels(np.take_along_axis(runs.orders[way], places, 1), weights)


def estimate(runs: Runs, k: int, way: str, *, before: bool) -> tuple[list[list], list[list]]:
    """Return the differences by labels for each metric and draw, by the rule and by the rule before; items may be None."""
    none: list[list] = [[None] * runs.draws for _ in runs.judge]
    if not k:
        return none, none
    complete = k < 0 or k >= runs.samples
    labels = choose_labels(runs, runs.samples if complete else k, DRAWS[0] if complete else way)
    pairs = list(zip(runs.people, runs.judge, strict=True))
    if runs.clusters is not None:
        rows = [
            [*estimate_clustered(runs, people, judge, labels, before=before)] for people, judge in pairs
        ]
        return [[new for new, _ in row] for row in rows], [[old for _, old in row] for row in rows]
    found, old = [], none
    for (people, judge), alone in zip(pairs, runs.alone, strict=True):
        if complete:
            means = paired_means(people, runs.present)
            found.append([*complete_differences(means, alone, runs.present)])
        else:
            found.append([*labelled_differences(people, judge, runs.present, labels)])
    if before:
        old = [[*estimate_before(runs, people, judge, labels)] for people, judge in pairs]
    return found, old


def estimate_clustered(runs: Runs, people, judge, labels: Labels, *, before: bool) -> Iterator[tuple]:
    """Yield what labels say in each draw by the rule and by the rule before, by the library's own functions."""
    for row in range(runs.draws):
        places = labels.places[row]
        rest = np.setdiff1d(np.arange(runs.samples), places)
        clusters = runs.clusters[np.concatenate([places, rest])].tolist()
        values = people[row, places], judge[row, places], judge[row, rest]
        new = labelled_difference(*values, weights=labels.weights[row], clusters=clusters)
        yield new, correct_before(*values, clusters=clusters) if before else None


def estimate_before(runs: Runs, people, judge, labels: Labels) -> Iterator[Before]:
    """Yield what labels said in each draw: `correct_before` for all draws at once, without clusters."""
    there = np.take_along_axis(runs.present, labels.places, 1)
    by_people = np.take_along_axis(people, labels.places, 1)
    by_judge = np.take_along_axis(judge, labels.places, 1)
    count = there.sum(axis=1)
    rest = runs.present.sum(axis=1) - count
    divisor = np.maximum(rest, 1)
    judge_mean = judge.sum(axis=1) / (count + rest)
    pool_mean = (judge.sum(axis=1) - by_judge.sum(axis=1)) / divisor
    squares = (judge**2).sum(axis=1)
    pool_squares = squares - (by_judge**2).sum(axis=1) - rest * pool_mean**2
    pool_error = pool_squares / np.maximum(rest - 1, 1) / divisor
    centred_people = np.where(there, by_people - (by_people.sum(axis=1) / count)[:, None], 0.0)
    covariance = (centred_people * by_judge).sum(axis=1) / count
    spread = (squares - (count + rest) * judge_mean**2) / (count + rest - 1)
    divisor_of_trust = (1 + count / divisor) * spread
    trust = covariance / np.where(divisor_of_trust > 0, divisor_of_trust, np.inf)
    changed = (np.maximum(np.abs(by_people), np.abs(by_judge)) > ROUNDING_ERROR).sum(axis=1)
    trust = np.where(changed < MIN_CHANGED_SAMPLES, rest / (count + rest), np.clip(trust, 0.0, 1.0))
    trust = np.where(rest > 0, trust, 0.0)
    errors = by_people - trust[:, None] * by_judge
    centre = errors.sum(axis=1) / count
    deviations = np.where(there, errors - centre[:, None], 0.0)
    variance = (deviations**2).sum(axis=1) / (count - 1) / count + trust**2 * pool_error
    means = (centre + trust * pool_mean).tolist()
    for mean, label_variance, number in zip(means, variance.tolist(), count.tolist(), strict=True):
        yield make_before(mean, math.hypot(math.sqrt(label_variance), 1.25 / number), number - 1)


def decide(runs: Runs, k: int, way: str, truth: float, *, before: bool) -> np.ndarray:
    """Return the sums of the figures of the first metric over all draws, now and by the rule before."""
    found, old = estimate(runs, k, way, before=before)
    sums = np.zeros(2 * len(FIGURES))
    for alone, labels, former in zip(
        zip(*runs.alone, strict=True), zip(*found, strict=True), zip(*old, strict=True), strict=True
    ):
        p = holm([choose_p(one.mean, one.p, item) for one, item in zip(alone, labels, strict=True)])
        red = p[0] <= SIGNIFICANCE_LEVEL and decide_loss(alone[0].interval, labels[0], MAX_DROP)
        passes = decide_no_loss(alone[0].interval, labels[0], NOT_WORSE)
        bases = [one if item is None else item for one, item in zip(alone, former, strict=True)]
        low, high = bases[0].interval or (0.0, 0.0)
        red_before = holm([basis.p for basis in bases])[0] <= SIGNIFICANCE_LEVEL and high < -MAX_DROP
        now = red, passes, *hold(labels[0] or alone[0], truth)
        sums += [*now, red_before, low >= -NOT_WORSE, *hold(bases[0], truth)]
    return sums


def hold(figure, truth) -> tuple[bool, float]:
    """Return whether an interval holds the truth, and its width."""
    if figure.interval is None:
        return True, 0.0
    low, high = figure.interval
    return low - 1e-12 <= truth <= high + 1e-12, high - low


# --- bars ---


@dataclass(frozen=True)
class Bar:
    """A figure of some cells that must not be above, or below, a limit.

    Attributes:
        title: What it is.
        figure: The figure of a row, with the row of the same runs without labels.
        cells: Which rows it is about.
        limits: The limit by number of labels; other numbers are printed only.
        least: Whether the limit is the least, not the most.
    """

    title: str
    figure: Callable[[dict, dict], float]
    cells: Callable[[dict], bool]
    limits: dict[int, float]
    least: bool = False


def is_cell(judges, losses, *, most=1000, churn=False):
    """Return a test for rows of some judges and losses, with up to so many samples."""

    def test(row) -> bool:
        kinds = KINDS if churn else KINDS[:2]
        return (
            row["judge"] in judges
            and row["loss"] in losses
            and row["n"] <= most
            and row["kind"] in kinds
        )

    return test


def red(row, _):
    return row["red"]


def passes(row, _):
    return row["pass"]


def held(row, _):
    return row["held"]


def red_lost(row, none):
    return none["red"] - row["red"]


def pass_lost(row, none):
    return none["pass"] - row["pass"]


def is_shown_before(row) -> bool:
    return row["draw"] == DRAWS[0] and (row["labels"] < 0 or row["labels"] >= DECIDED_BEFORE)


TRUE = (0.02, 0.05, 0.1, 0.2)
FEW_LABELS = (2, 10, 24, 25, 30)
BARS = (
    Bar("coverage of the printed interval", held, lambda row: row["judge"] != "turned", dict.fromkeys(LABELS[1:], LEAST_COVERAGE), least=True),
    Bar("coverage, turned", held, lambda row: row["judge"] == "turned", {}, least=True),
    Bar("red lost, exact", red_lost, is_cell(["exact"], TRUE, churn=True), dict.fromkeys(LABELS[1:], 0.0)),
    Bar("red lost, good, n to 300", red_lost, is_cell(["good"], TRUE, most=300), dict.fromkeys(LABELS[1:-1], 0.07)),
    Bar("red lost, good, n 1,000", red_lost, is_cell(["good"], TRUE), {**dict.fromkeys(FEW_LABELS, 0.12), 50: 0.07, 100: 0.05}),
    Bar("red at a true loss of 0, gloomy", red, is_cell(["gloomy"], [0.0]), dict.fromkeys((25, 30, 50, 100), 0.1)),
    Bar("red at a true loss of 0, no gains", red, is_cell(["no gains"], [0.0], churn=True), {50: 0.15, 100: 0.1}),
    Bar("pass lost at a true loss of 0, exact or good", pass_lost, is_cell(["exact", "good"], [0.0]), dict.fromkeys(LABELS[1:-1], 0.05)),
    Bar("red at the margin, exact", red, is_cell(["exact"], [MAX_DROP], churn=True), dict.fromkeys(LABELS[1:], 0.06)),
    Bar("pass at the margin, exact", passes, is_cell(["exact"], [NOT_WORSE], churn=True), dict.fromkeys(LABELS[1:], 0.06)),
    Bar("red at the margin, gloomy, n to 300", red, is_cell(["gloomy"], [MAX_DROP], most=300), {50: 0.3, 100: 0.15}),
    Bar("pass at the margin, always yes, n to 300", passes, is_cell(["always yes"], [NOT_WORSE], most=300), {50: 0.12, 100: 0.08}),
    Bar("pass at the margin, misses changes, n to 300", passes, is_cell(["blind", "biased", "noisy", "half", "turned"], [NOT_WORSE], most=300), {50: 0.35, 100: 0.15}),
    Bar("width, exact, n 300", lambda row, _: row["width"], lambda row: row["judge"] == "exact" and row["n"] == 300, {}),
    Bar("width beside the rule before", lambda row, _: row["width"] / max(row["width before"], ROUNDING_ERROR), is_shown_before, {25: 1.25, 30: 1.25, 50: 1.1, 100: 1.1}),
)  # fmt: skip


def count_draws(setting: Setting, draws: int) -> int:
    """Return how often a setting is drawn: those that no bar on a decision is about have a fifth of the draws.

    Labels that agree with an exact judge change no decision, which is a test. Clusters are simulated one draw at a time.
    """
    has_bar = any(bar.cells(vars(setting)) for bar in BARS[2:-2])
    is_certain = setting.judge == "exact" and setting.variant != "people err"
    if not has_bar or is_certain:
        return max(draws // 5, 1)
    return max(draws // 2, 1) if setting.clustered else draws


def find_worst(bar: Bar, rows: list[dict], way: str, labels: int) -> tuple[float, str, int] | None:
    """Find the worst cell of a bar, with its place and its draws; None without one."""
    none = {place(row): row for row in rows if not row["labels"]}
    values = []
    for row in rows:
        full = row["labels"] in {-1, row["n"]}
        if (
            row["labels"] == labels
            and row["draw"] == way
            and bar.cells(row)
            and (labels < 0 or not full)
        ):
            values.append(
                (
                    bar.figure(row, none[place(row)]),
                    f"{row['judge']}, {row['kind']}, {row['loss']:g}, n {row['n']}",
                    row["draws"],
                )
            )
    if not values:
        return None
    return min(values) if bar.least else max(values)


def place(row: dict) -> tuple:
    return tuple(row[name] for name in ("judge", "kind", "loss", "n", "variant"))


def table(rows: list[dict], way: str) -> Iterator[str]:
    """Yield the worst cell of every bar as Markdown."""
    yield f"| labels drawn {'at random' if way == DRAWS[0] else 'by change'} | {' | '.join(map(str, SHOWN))} |"
    yield "|---" * (len(SHOWN) + 1) + "|"
    for bar in BARS:
        cells = []
        for labels in SHOWN:
            worst = find_worst(bar, rows, way, labels)
            cells.append("" if worst is None else f"{max(worst[0], 0.0):.2f}")
        if any(cells):
            yield f"| {bar.title} | {' | '.join(cells)} |"


def list_missed(rows: list[dict]) -> Iterator[str]:
    """Yield what is above its limit by more than three standard errors, with the worst cell.

    At random, invented losses have no limit below 50 labels.
    """
    for bar in BARS:
        for way, labels in product(DRAWS, bar.limits):
            worst = find_worst(bar, rows, way, labels)
            limit = bar.limits[labels]
            if worst is None or (
                bar.figure is red and way == DRAWS[0] and labels < 50 and limit == 0.1
            ):
                continue
            chance = 3 * math.sqrt(limit * max(1 - limit, 0.0) / worst[2]) + ROUNDING_ERROR
            if (limit - worst[0] if bar.least else worst[0] - limit) > chance:
                yield f"{bar.title}, {labels} labels, {way}: {worst[0]:.3f}, not {limit:g} ({worst[1]})"


# --- the page ---

FORMULA = """With the judge's differences f, people's d, and k labels of n samples, in strata h (changed by the judge, or not):

- difference `T = sum W_h (mean_labelled(d - l_h f) + l_h mean(f))`, with `l_h = cov(d, f) / var(f)` from 0 to 1, and 1 below ten labels of a stratum or if they all say the same and show less than half of the variance of f ([PPI++](https://arxiv.org/abs/2311.01453); strata and finite samples: Cochran, Sampling Techniques, 1977, 5A.9 and 2.6); correction `c = T - mean(f)`
- errors: by labels `s_r`, with `(1 - k_h / N_h)`; by samples `s_d`; together `s = sqrt(s_d^2 + s_r^2)`; printed interval: both, and one unseen label 1.25 scales off (or `1.25 |mean(d - f)|`, if the judge errs by more than the scale); the interval that decides also reaches to unseen changes if fewer than ten samples (or clusters of equal samples) changed
- `--max-drop M` is red if the deciding interval is below -M. It is also red if the judge alone is red, except where labels differ from it (`c > 1.4 s_r`; or, where it saw a change, `mean(d - f)` is above 2 errors) and do not show the loss themselves (`T + .88 t s >= -M`)
- `--not-worse M` passes if the deciding interval is above -M. It also passes if the judge alone passes, except where labels are below it (`c < 0`) and do not show the same (`T - min(k/g, 1.25, .6 + k/160) t s < -M`, with g independent labels: k, with weights Kish's number, at most that of labelled clusters). Here c and `s_r` of changes that only the judge saw are shrunk by `max(0, 1 - 2 s_r^2 / c^2)` (James and Stein, 1961); changes that both saw, of another size or sign, count in full

If labels agree everywhere, c is 0, and nothing changes. The constants were chosen by this simulation: k/g, since labels of one cluster show less."""
FLOORS = """What no rule can pass:

- With a share s of whole losses, a judge that always says yes has the labels of an exact judge without a loss in `(1 - s)^k` of the draws. If a judge misses a share s of the losses and alone passes in p of the draws, this is `p (1 - s)^k`. Clusters of five samples that change together half of the time show less. For m labels of one cluster, `q(m) = (1 - s) (1 - s/2)^m + s ((1 - s) / 2)^m` is the chance that none is a loss: for 10 / 20 whole clusters, `q(5)^10` = .17 and `q(5)^20` = .03; for 50 / 100 samples drawn one by one from 60 clusters, .09 / .01. Whole clusters also show at most one cluster with a loss in .50 / .14. There a good judge must pass.
- A judge that turns the sign of each change with the probability 1/2 has the labels of an exact judge in `(1 - W/2)^k` of the draws, with the share W of samples that changed, and as often those of a judge that turns all signs. With W = .14 and 30 labels at random that is .11 and .11. An interval that is as narrow as that of an exact judge misses these: of 1,500 draws with 1,000 samples it holds in .84.
- People who err look like a judge that errs: labels do not say who is wrong. Let d - f have the standard deviation v where nothing changed. A rule by T that passes a loss M of whole samples, unseen by the judge, in a share q loses `Phi((z(1 - q) s_1 - M) / s_0)` of the right passes, with `s_0^2 = v^2 (1 - k/n) / k`, and `v^2 + M` in place of v^2 in `s_1`. People who err in 3 % of their answers have v = .165: with M = .05 and n = 300, these are .36 with 50 labels and q = .12, and .09 with 100 and q = .08. Likewise, of right red gates an exact judge loses those where labels differ by more than L errors, `1 - Phi(L)` = .08 for L = 1.4. With a larger L, a judge that is blind to gains is red too often: with 50 labels by change, L = 1.4 / 1.6 / 2 makes it red in .10 / .25 / .49 of 600 draws (bar: .15).

If all samples are labelled, the interval is that of people's differences. People who err in a share e of their answers see `1 - 2e` of a true difference D, so it holds D in `Phi(1.96 - r) - Phi(-1.96 - r)`, with r = 2 e D / s_d: with e = .03 and D = .1 in .94 for 300 samples (s_d = .0197), and in .91 for 1,000 (s_d = .0108). No paired test of people's differences reaches .93 there."""
PAGE_LABELS = (10, 25, 50, 100)
PAGE_BARS = {
    "coverage of the printed interval": "the printed interval holds, lowest",
    "coverage, turned": "the same, judge that turns the sign of half of the changes",
    "width beside the rule before": "width of the printed interval, beside that before",
    "width, exact, n 300": "width of the printed interval, exact judge, 300 samples",
    "red lost, exact": "right red gates lost, exact judge",
    "red lost, good, n to 300": "the same, good judge (sees 80 % of changes, 5 % false)",
    "pass lost at a true loss of 0, exact or good": "right passes lost, exact or good judge",
    "red at a true loss of 0, gloomy": "red without a true loss, judge that invents losses in 10 %",
    "red at a true loss of 0, no gains": "the same, judge that is blind to gains (one in ten wins, one loses)",
    "red at the margin, gloomy, n to 300": "red at its margin, judge that invents losses",
    "pass at the margin, always yes, n to 300": "passes at its margin, judge that always says yes",
    "pass at the margin, misses changes, n to 300": "passes at its margin, judges that miss changes, their size or sign",
}
VARIANT_BARS = (
    "coverage of the printed interval",
    "red lost, exact",
    "red lost, good, n to 300",
    "pass lost at a true loss of 0, exact or good",
    "red at a true loss of 0, gloomy",
    "red at the margin, gloomy, n to 300",
    "pass at the margin, always yes, n to 300",
    "pass at the margin, misses changes, n to 300",
)


def page(rows: list[dict], draws: int) -> str:
    """Return what stands in the docs: the formula, the tables, and the floors."""
    single = [row for row in rows if row["variant"] == "single" and row["n"] <= 300]
    before = [{**row, **{name: row[f"{name} before"] for name in FIGURES}} for row in single]
    lines = [
        FORMULA,
        "",
        f"Worst cell of 100 and 300 samples, {draws:,} draws each (a fifth where no bar on a decision applies; 1,500 others where the interval held in less than .93), for 10 / 25 / 50 / 100 labels:",
        "",
        "| | drawn by change | drawn at random | before, at random |",
        "|---|---|---|---|",
    ]
    for title, text in PAGE_BARS.items():
        (bar,) = (bar for bar in BARS if bar.title == title)
        by_change = _cells(bar, single, DRAWS[1])
        at_random = _cells(bar, single, DRAWS[0])
        # Below 25 labels the interval was printed beside the judge's, too, and is not simulated.
        then = "" if bar.least or "beside" in title else _cells(bar, before, DRAWS[0])
        lines.append(f"| {text} | {by_change} | {at_random} | {then} |")
        if "always yes" in title:
            floor = " ".join(f"{(1 - NOT_WORSE) ** labels:.2f}" for labels in PAGE_LABELS)
            lines.append(f"| the floor of that, at a loss of .05 | {floor} | {floor} | |")
        if "misses" in title:
            lines.append(describe_floor_of_missed(single))
    return "\n".join([*lines, "", *describe_variants(rows, draws), "", FLOORS])


def describe_floor_of_missed(rows: list[dict]) -> str:
    """Describe the floor of a judge that is blind to half of the losses of whole samples, as a row of the table."""
    missed = NOT_WORSE / 2
    alone = [row for row in rows if (row["judge"], row["kind"], row["loss"]) == ("blind", "samples", NOT_WORSE) and not row["labels"]]  # fmt: skip
    columns = []
    for way in DRAWS[::-1]:
        floors = []
        for labels in PAGE_LABELS:
            shares = []
            for row in alone:
                changed = round((missed + 2 * BESIDE) * row["n"])
                unchanged = row["n"] - changed
                drawn = share_out_labels(labels, changed, unchanged)[1]
                missed_share = missed * row["n"] / unchanged
                none_drawn = (1 - missed_share) ** drawn if way == DRAWS[1] else (1 - missed) ** labels
                shares.append(row["pass"] * none_drawn)
            floors.append(f"{max(shares):.2f}")
        columns.append(" ".join(floors))
    return f"| the floor of that, if half of the losses is missed | {' | '.join(columns)} | |"


def describe_variants(rows: list[dict], draws: int) -> list[str]:
    """Describe the worst cells with clusters, several metrics, and people who err, as a table."""
    lines = [
        f"300 samples, the worst cell of both draws for 25 / 50 / 100 labels ({draws:,} draws, of clusters {draws // 2:,}, and a fifth where no bar applies):",
        "",
        "| | clusters of five | whole clusters labelled | three metrics | people err in 3 % |",
        "|---|---|---|---|---|",
    ]
    for title in VARIANT_BARS:
        (bar,) = (bar for bar in BARS if bar.title == title)
        columns = []
        for variant in VARIANTS:
            those = [row for row in rows if row["variant"] == variant]
            found = [
                [find_worst(bar, those, way, labels) for way in DRAWS] for labels in PAGE_LABELS[1:]
            ]
            worst = [[item[0] for item in pair if item is not None] for pair in found]
            pick = min if bar.least else max
            columns.append(" ".join(f"{max(pick(pair), 0.0):.2f}" for pair in worst if pair))
        lines.append(f"| {PAGE_BARS[title]} | {' | '.join(columns)} |")
        if "always yes" in title:
            lines.append(
                "| the floor of that | .29 .09 .01 | .41 .17 .03 | .28 .08 .01 | .28 .08 .01 |"
            )
    return lines


def _cells(bar: Bar, rows: list[dict], way: str) -> str:
    worst = [find_worst(bar, rows, way, labels) for labels in PAGE_LABELS]
    if not any(worst):
        return ""
    return " ".join("-" if item is None else f"{max(item[0], 0.0):.2f}" for item in worst)


def run(argv: list[str]) -> dict[str, object]:
    options = arguments.make_parser("labelled_gates", draws=100, seed=1, write_docs=False).parse_args(
        argv
    )
    settings = [Setting(*item) for item in product(JUDGES, KINDS, LOSSES, SIZES)]
    settings += [
        Setting(judge, kind, loss, 300, variant)
        for variant, judge, kind, loss in product(VARIANTS, VARIANT_JUDGES, KINDS[:2], LOSSES[:4])
    ]
    rows = []
    for setting in settings:
        rows += simulate(setting, options.seed, count_draws(setting, options.draws))
    rows = [*draw_low_cells_again(rows, options.seed, 3 * options.draws)]
    missed = []
    for variant in ("single", *VARIANTS):
        those = [row for row in rows if row["variant"] == variant]
        print(f"\n{variant}: the worst cell, {options.draws} draws each\n")
        for way in DRAWS:
            print("\n".join(table(those, way)), end="\n\n")
        missed += [f"{variant}: {line}" for line in list_missed(those)]
    print("missed:", *missed, sep="\n")
    if options.write_docs:
        docs.write("labelled_gates", page(rows, options.draws), page=PAGE, peers=("numpy",))
    return {"benchmark": "labelled_gates", "draws": options.draws, "missed": missed, "rows": rows}
