"""Do labels make the decisions of `compare` better, and never worse? Ten judges and labels of a part of the samples: simulated.

    python benchmarks/run.py labelled_gates [--draws 100] [--seed 1] [--write-docs]

About two seconds of CPU a draw. Each cell draws paired differences of n samples of 1 to 5 sentences with a known true
loss: of whole samples, of single sentences, or of whole samples where one in ten wins and one in ten loses beside (2 % win and 2 %
lose a sentence in the others). A judge sees them; people label k samples, drawn at random, or by change: those with a
difference by the judge get ``ceil(k * max(1/3, their share))`` labels. All decisions and intervals are the library's own;
``before`` are those of the rule that this one replaced: from 25 labels on the corrected difference decided alone.

``red`` is how often ``--max-drop .02`` fails, ``pass`` how often ``--not-worse .05`` passes; ``held`` how often the
printed interval holds the true difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np
from _shared import arguments, docs

from ctxmetrics.evaluation.statistics.corrected_means import corrected
from ctxmetrics.evaluation.statistics.label_draw import share_out_labels
from ctxmetrics.evaluation.statistics.labelled import (
    choose_p,
    decide_loss,
    decide_no_loss,
    labelled_difference,
)
from ctxmetrics.evaluation.statistics.paired import (
    EQUAL,
    FEW,
    LEVEL,
    PairedMean,
    holm,
    mean_p,
    paired_mean,
)

MAX_DROP, NOT_WORSE = 0.02, 0.05
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
)
DRAWS = ("random", "change")
BESIDE, CHURN = 0.02, 0.1
CLUSTER = 5
# From so many labels on they decided alone, by the rule before.
DECIDED_BEFORE = 25
VARIANTS = ("clusters", "whole clusters", "three metrics", "people err")
VARIANT_JUDGES = ("exact", "good", "gloomy", "blind", "always yes")
VARIANT_LABELS = (0, 10, 25, 50, 100, -1)
# The numbers of labels that a table has.
SHOWN = (2, 10, 24, 25, 50, 100, -1)


@dataclass(frozen=True)
class Population:
    """Sentences of n samples, and which are supported in the first and in the second run.

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
        return self.exists.sum(axis=1)

    @property
    def differences(self) -> np.ndarray:
        return (self.after.sum(axis=1) - self.before.sum(axis=1)) / self.sentences


def draw_population(source, n, kind, loss, clusters=None) -> Population:
    """Draw a population; samples of one cluster change together, half of the time."""
    exists = np.arange(LONGEST) < source.integers(1, LONGEST + 1, n)[:, None]
    chance = source.random(n)
    if clusters is not None:
        chance = np.where(source.random(n) < 0.5, source.random(clusters.max() + 1)[clusters], chance)
    before, after = exists.copy(), exists.copy()
    one = np.zeros_like(exists)
    one[:, 0] = True  # a sentence is like the other
    wins = CHURN if kind == "churn" else BESIDE
    won = chance < wins
    beside = (chance >= wins) & (chance < 2 * wins)
    share = loss if kind != "sentences" else loss / float(np.mean(1 / np.arange(1, LONGEST + 1)))
    lost = (chance >= 2 * wins) & (chance < 2 * wins + share)
    whole = np.ones_like(exists)
    small = whole if kind == "churn" else one
    before[won] &= ~small[won]
    after[beside] &= ~small[beside]
    large = one if kind == "sentences" else whole
    after[lost] &= ~large[lost]
    return Population(exists, before, after)


def judge_differences(  # noqa: PLR0911 - a judge a line
    source, judge, kind, people: Population
) -> np.ndarray:
    """Return the judge's differences; NaN where it gives no value."""
    true, n = people.differences, len(people.sentences)
    size = 1.0 / people.sentences if kind == "sentences" else np.ones(n)
    chance = source.random(n)
    if judge in {"good", "missing"}:
        false = np.where(source.random(n) < 0.5, 1, -1) / people.sentences
        values = np.where(
            true != 0, np.where(chance < 0.8, true, 0.0), np.where(chance < 0.05, false, 0.0)
        )
        return np.where(source.random(n) < 0.2, np.nan, values) if judge == "missing" else values
    if judge in {"noisy", "coin"}:
        seen, false = (0.8, 0.05) if judge == "noisy" else (0.5, 0.5)
        runs = [
            (source.random(run.shape) < np.where(run, seen, false)) & people.exists
            for run in (people.before, people.after)
        ]
        return (runs[1].sum(axis=1) - runs[0].sum(axis=1)) / people.sentences
    if judge == "biased":  # it never supports one of the sentences
        place = (source.random(n) * people.sentences).astype(int)
        before, after = people.before.copy(), people.after.copy()
        before[np.arange(n), place] = after[np.arange(n), place] = False
        return (after.sum(axis=1) - before.sum(axis=1)) / people.sentences
    if judge == "blind":
        return np.where((true < 0) & (chance < 0.5), 0.0, true)
    if judge == "gloomy":
        return np.where((true == 0) & (chance < 0.1), -size, true)
    if judge == "no gains":
        return np.minimum(true, 0.0)
    if judge == "always yes":
        return np.zeros(n)
    return true


def err(source, people: Population, share) -> np.ndarray:
    """Return people's differences where they give the wrong answer to a share of all questions."""
    runs = [
        (run ^ (source.random(run.shape) < share)) & people.exists
        for run in (people.before, people.after)
    ]
    return (runs[1].sum(axis=1) - runs[0].sum(axis=1)) / people.sentences


def draw_labels(source, judge: np.ndarray, k, draw):
    """Return which samples are labelled, and how many each of them stands for."""
    n = len(judge)
    if k >= n:
        return np.arange(n), np.ones(n)
    if draw == "random":
        return source.permutation(n)[:k], np.full(k, n / k)
    changed = np.flatnonzero(np.abs(judge) > EQUAL)
    equal = np.flatnonzero(np.abs(judge) <= EQUAL)
    places, weights = [], []
    numbers = share_out_labels(k, len(changed), len(equal))
    for stratum, number in zip((changed, equal), numbers, strict=True):
        if number:
            places.append(source.permutation(stratum)[:number])
            weights.append(np.full(number, len(stratum) / number))
    return np.concatenate(places), np.concatenate(weights)


# --- the rule before ---


@dataclass(frozen=True)
class Before:
    """The corrected difference of the rule before: 1.25 scales a label are added to its error, also where all are labelled."""

    difference: float
    interval: tuple[float, float]
    p: float
    decides: bool


def correct_before(people, judge, others, weights=None, clusters=None) -> Before:
    changed = int((np.abs([people, judge]).max(axis=0) > EQUAL).sum())
    trust = 1.0 if changed < FEW else None
    mean = corrected(people, judge, others, weights=weights, clusters=clusters, trust=trust)
    mean = mean._replace(error=math.hypot(mean.error, 1.25 / mean.size))
    half = mean.half(1 - LEVEL)
    interval = max(mean.mean - half, -1.0), min(mean.mean + half, 1.0)
    p = mean_p(mean.mean, mean.error, mean.degrees)
    return Before(mean.mean, interval, p, mean.size >= DECIDED_BEFORE)


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


FIGURES = ("red", "pass", "held", "width")


def simulate(setting: Setting, seed: int, draws: int) -> Iterator[dict]:
    """Yield a row for each number of labels and each way to draw them, all on the same runs."""
    source = np.random.default_rng([seed, crc32(repr(setting).encode())])
    sizes = LABELS if setting.variant == "single" else VARIANT_LABELS
    ways = DRAWS[:1] if setting.variant == "whole clusters" else DRAWS
    cells = [
        (k, way) for k in sizes for way in (ways if 0 < k < setting.n else ways[:1]) if k <= setting.n
    ]
    sums = {cell: np.zeros(2 * len(FIGURES)) for cell in cells}
    for _ in range(draws):
        runs = draw_runs(source, setting)
        for k, way in cells:
            count = runs.samples if k < 0 else min(k, runs.samples)
            labels = label(source, runs, count, way, whole=setting.variant == "whole clusters")
            before = way == DRAWS[0] and (k < 0 or k >= DECIDED_BEFORE)
            sums[k, way] += decide(runs, labels, -setting.loss, before=before)
    for (k, way), total in sums.items():
        shares = [round(float(share), 4) for share in total / draws]
        figures = zip([*FIGURES, *(f"{name} before" for name in FIGURES)], shares, strict=True)
        yield {**vars(setting), "labels": k, "draw": way, **dict(figures)}


@dataclass(frozen=True)
class Runs:
    """The differences of the samples of two runs, for each metric.

    Attributes:
        people: What people would say.
        judge: What the judge says.
        clusters: The cluster of each sample, or None.
        alone: The paired difference of the judge.
    """

    people: list[np.ndarray]
    judge: list[np.ndarray]
    clusters: np.ndarray | None
    alone: list[PairedMean]

    @property
    def samples(self) -> int:
        return len(self.judge[0])


def draw_runs(source, setting: Setting) -> Runs:
    clusters = np.arange(setting.n) // CLUSTER if "clusters" in setting.variant else None
    losses = [setting.loss]
    if setting.variant == "three metrics":
        losses += [0.0, 0.0]
    people, judge = [], []
    for loss in losses:
        population = draw_population(source, setting.n, setting.kind, loss, clusters)
        judge.append(judge_differences(source, setting.judge, setting.kind, population))
        erring = setting.variant == "people err"
        people.append(err(source, population, 0.03) if erring else population.differences)
    there = np.isfinite(judge[0])
    groups = None if clusters is None else clusters[there]
    people, judge = [item[there] for item in people], [item[there] for item in judge]
    return Runs(people, judge, groups, [paired_mean(item, groups) for item in judge])


def label(source, runs: Runs, k, way, *, whole=False):
    """Return which samples are labelled, and how many each one stands for; None without labels."""
    if not k:
        return None
    if whole and k < runs.samples:
        wanted = source.permutation(runs.clusters.max() + 1)[: max(k // CLUSTER, 1)]
        places = np.flatnonzero(np.isin(runs.clusters, wanted))
        return places, np.full(len(places), runs.samples / len(places))
    # A sample has changed where any metric did.
    return draw_labels(source, np.max([np.abs(item) for item in runs.judge], axis=0), k, way)


def decide(runs: Runs, labels, truth, *, before) -> np.ndarray:
    """Return the figures of the first metric in one draw, now and by the rule before."""
    found: list = [None] * len(runs.judge)
    old: list = [None] * len(runs.judge)
    if labels is not None:
        places, weights = labels
        rest = np.ones(runs.samples, dtype=bool)
        rest[places] = False
        clusters = None
        if runs.clusters is not None:
            clusters = [*runs.clusters[places].tolist(), *runs.clusters[rest].tolist()]
        options = {"weights": weights, "clusters": clusters}
        for number, (people, judge) in enumerate(zip(runs.people, runs.judge, strict=True)):
            values = people[places], judge[places], judge[rest]
            found[number] = labelled_difference(*values, **options)
            if before:
                old[number] = correct_before(*values, **options)
    alone = runs.alone
    p = holm([choose_p(one.mean, one.p, item) for one, item in zip(alone, found, strict=True)])
    red = p[0] <= LEVEL and decide_loss(alone[0].interval, found[0], MAX_DROP)
    passes = decide_no_loss(alone[0].interval, found[0], NOT_WORSE)
    now = [red, passes, *hold(found[0] or alone[0], truth)]
    bases = [
        item if item is not None and item.decides else one for one, item in zip(alone, old, strict=True)
    ]
    low, high = bases[0].interval or (0.0, 0.0)
    red_before = holm([basis.p for basis in bases])[0] <= LEVEL and high < -MAX_DROP
    return np.array(
        [*now, red_before, low >= -NOT_WORSE, *hold(old[0] or alone[0], truth)], dtype=float
    )


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


def red_lost(row, none):
    return none["red"] - row["red"]


def pass_lost(row, none):
    return none["pass"] - row["pass"]


def is_shown_before(row) -> bool:
    return row["draw"] == DRAWS[0] and (row["labels"] < 0 or row["labels"] >= DECIDED_BEFORE)


TRUE = (0.02, 0.05, 0.1, 0.2)
FEW_LABELS = (2, 10, 24, 25, 30)
BARS = (
    Bar("coverage of the printed interval", lambda row, _: row["held"], lambda _: True, dict.fromkeys(LABELS[1:], 0.93), least=True),
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
    Bar("pass at the margin, misses changes, n to 300", passes, is_cell(["blind", "biased", "noisy"], [NOT_WORSE], most=300), {50: 0.35, 100: 0.15}),
    Bar("width beside the rule before", lambda row, _: row["width"] / max(row["width before"], EQUAL), is_shown_before, {25: 1.25, 30: 1.25, 50: 1.1, 100: 1.1}),
)  # fmt: skip


def find_worst(bar: Bar, rows: list[dict], way: str, labels: int) -> tuple[float, str] | None:
    """Find the worst cell of a bar, with its place; None without one."""
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


def list_missed(rows: list[dict], draws: int) -> Iterator[str]:
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
            chance = 3 * math.sqrt(limit * max(1 - limit, 0.0) / draws) + EQUAL
            if (limit - worst[0] if bar.least else worst[0] - limit) > chance:
                yield f"{bar.title}, {labels} labels, {way}: {worst[0]:.3f}, not {limit:g} ({worst[1]})"


# --- the page ---

FORMULA = """With the judge's differences f, people's d, and k labels of n samples, in strata h (changed by the judge, or not):

- difference `T = sum W_h (mean_labelled(d - l_h f) + l_h mean(f))`, with `l_h = cov(d, f) / var(f)` from 0 to 1, and 1 below ten labels of a stratum ([PPI++](https://arxiv.org/abs/2311.01453); strata and finite samples: Cochran, Sampling Techniques, 1977, 5A.9 and 2.6)
- errors: by labels `s_r`, with `(1 - k_h / N_h)`; by samples `s_d`; printed interval: both, and one unseen label 1.25 scales off
- `--max-drop M` is red if the interval is below -M, or the judge alone is red and `T - z s_r + h t sqrt(s_d^2 + (a s_r)^2) < -M`, with `z = 1.645 max(0, 1 - k/25)`, `h = min(1, k/25) (1 + k/n) / 2`, and `a = .9 min(1, 5 k/n)` from 50 labels, falling to 0 at 25
- `--not-worse M` passes if the interval is above -M, or the judge alone passes and `T - min(1, k/50) t sqrt(s_d^2 + s_r^2) >= -M`

No rule passes this floor: with a share s of whole losses, a judge that always says yes has the labels of an exact judge without a loss in `(1 - s)^k` of the draws."""
PAGE_LABELS = (10, 25, 50, 100)
PAGE_BARS = {
    "red lost, exact": "right red gates lost, exact judge",
    "red lost, good, n to 300": "the same, good judge (sees 80 % of changes, 5 % false)",
    "pass lost at a true loss of 0, exact or good": "right passes lost, exact or good judge",
    "red at a true loss of 0, gloomy": "red without a true loss, judge that invents losses in 10 %",
    "pass at the margin, always yes, n to 300": "passes at its margin, judge that always says yes",
    "pass at the margin, misses changes, n to 300": "passes at its margin, judges that miss changes",
    "coverage of the printed interval": "the printed interval holds, lowest",
}


def page(rows: list[dict], draws: int) -> str:
    """Return what stands in the docs: the formula, the table of power, and the floor."""
    rows = [row for row in rows if row["variant"] == "single" and row["n"] <= 300]
    before = [{**row, **{name: row[f"{name} before"] for name in FIGURES}} for row in rows]
    lines = [
        FORMULA,
        "",
        f"Worst cell of 100 and 300 samples, {draws} draws each, labels drawn by change (before: at random), for 10 / 25 / 50 / 100 labels:",
        "",
        "| | now | before |",
        "|---|---|---|",
    ]
    for bar in BARS:
        if bar.title in PAGE_BARS:
            now, then = (
                _cells(bar, those, way) for those, way in ((rows, DRAWS[1]), (before, DRAWS[0]))
            )
            # Below 25 labels the interval was printed beside the judge's, too, and is not simulated.
            lines.append(f"| {PAGE_BARS[bar.title]} | {now} | {'' if bar.least else then} |")
            if "always yes" in bar.title:
                floor = " ".join(f"{(1 - NOT_WORSE) ** labels:.2f}" for labels in PAGE_LABELS)
                lines.append(f"| the floor of that, at a loss of .05 | {floor} | |")
    return "\n".join(lines)


def _cells(bar: Bar, rows: list[dict], way: str) -> str:
    worst = (find_worst(bar, rows, way, labels) for labels in PAGE_LABELS)
    return " ".join(f"{max(item[0], 0.0):.2f}" for item in worst if item is not None)


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
        rows += simulate(setting, options.seed, options.draws)
    missed = []
    for variant in ("single", *VARIANTS):
        those = [row for row in rows if row["variant"] == variant]
        print(f"\n{variant}: the worst cell, {options.draws} draws each\n")
        for way in DRAWS:
            print("\n".join(table(those, way)), end="\n\n")
        missed += [f"{variant}: {line}" for line in list_missed(those, options.draws)]
    print("missed:", *missed, sep="\n")
    if options.write_docs:
        docs.write("labelled_gates", page(rows, options.draws), page=PAGE, peers=("numpy",))
    return {"benchmark": "labelled_gates", "draws": options.draws, "missed": missed, "rows": rows}
