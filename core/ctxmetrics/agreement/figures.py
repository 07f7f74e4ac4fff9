"""Figures of agreement between a judge and people: counts, rates, kappa, and intervals over samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxmetrics.agreement.labels import Compared

# What people and the judge may say: both yes, the judge only, people only, both no.
KINDS_OF_PAIR = ((True, True), (False, True), (True, False), (False, False))
# With fewer labelled samples, the figures say little.
FEW = 25
_WITH_INTERVAL = ("bias", "sensitivity", "specificity", "balanced_accuracy", "kappa")
# Balanced accuracy of a judge that guesses.
CHANCE = 0.5
_STRENGTHS = (
    (0.8, "almost perfect"),
    (0.6, "substantial"),
    (0.4, "moderate"),
    (0.2, "fair"),
    (-1.0, "slight"),
)
_DRAWS, _CHUNK, _SEED = 2000, 100, 0
_ENDS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with people on one kind of label.

    Rates are shares of yes. A figure that is not defined, since people said only yes or only no, is None.

    Attributes:
        label: The label's name.
        samples: Samples with such a label and a verdict of the judge.
        both: Answers where both say yes.
        judge_only: Where only the judge says yes.
        people_only: Where only people do.
        neither: Where both say no.
        not_judged: Labels without a verdict of the judge; they count nowhere else.
        intervals: 95 % intervals of ``bias``, ``sensitivity``, ``specificity``, ``balanced_accuracy`` and ``kappa``
            (see `intervals_of`).
    """

    label: str
    samples: int
    both: int
    judge_only: int
    people_only: int
    neither: int
    not_judged: int = 0
    intervals: Mapping[str, tuple[float, float] | None] | None = None

    @property
    def answers(self) -> int:
        """Labels with a verdict of the judge."""
        return self.both + self.judge_only + self.people_only + self.neither

    @property
    def people_rate(self) -> float | None:
        """How often people say yes."""
        return _share(self.both + self.people_only, self.judge_only + self.neither)

    @property
    def judge_rate(self) -> float | None:
        """How often the judge says yes."""
        return _share(self.both + self.judge_only, self.people_only + self.neither)

    @property
    def bias(self) -> float | None:
        """``judge_rate - people_rate``: above 0 the judge is too lenient."""
        return (self.judge_only - self.people_only) / self.answers if self.answers else None

    @property
    def sensitivity(self) -> float | None:
        """Which share of people's yes the judge finds."""
        return _share(self.both, self.people_only)

    @property
    def specificity(self) -> float | None:
        """Which share of people's no the judge finds."""
        return _share(self.neither, self.judge_only)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity: 0.5 is chance, whatever the rates."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: 1 is full agreement, 0 is chance.

        Formula: ``(p - e) / (1 - e)``, p the share of equal answers, e the share that two independent raters with
        these rates would have. None where e is 1.

        Source: J. Cohen, Educational and Psychological Measurement 20 (1960) 37.
        """
        n = self.answers
        yes = (self.both + self.people_only) * (self.both + self.judge_only)
        no = (self.neither + self.people_only) * (self.neither + self.judge_only)
        by_chance = yes + no  # times n * n
        return (
            (n * (self.both + self.neither) - by_chance) / (n * n - by_chance)
            if n * n > by_chance
            else None
        )

    @property
    def conclusion(self) -> str:
        """What the figures say, in a sentence: chance, or the strength of the agreement by kappa.

        Source: J. R. Landis, G. G. Koch, Biometrics 33 (1977) 159, for the words.
        """
        if self.balanced_accuracy is None or self.kappa is None:
            rate = self.people_rate
            only = (
                "nothing"
                if rate is None
                else "only yes"
                if rate == 1
                else "only no"
                if rate == 0
                else None
            )
            return (
                f"people said {only}: label samples of both kinds" if only else "agreement is not defined"
            )
        low, _ = (self.intervals or {}).get("balanced_accuracy") or (0.0, 1.0)
        if self.balanced_accuracy <= CHANCE:
            return "the judge is at or below chance: do not use it on this data"
        if low <= CHANCE:
            return "not shown to be better than chance"
        word = next(word for least, word in _STRENGTHS if self.kappa >= least)
        return (
            f"{word} agreement with people (kappa {self.kappa:.2f}), its rate of yes {self.bias:+.2f} off"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return counts, figures and intervals as plain JSON-ready data."""
        counts = (
            "label",
            "samples",
            "answers",
            "both",
            "judge_only",
            "people_only",
            "neither",
            "not_judged",
        )
        rates = (
            "people_rate",
            "judge_rate",
            "bias",
            "sensitivity",
            "specificity",
            "balanced_accuracy",
            "kappa",
        )
        return {
            **{name: getattr(self, name) for name in (*counts, *rates)},
            "conclusion": self.conclusion,
            "intervals": {name: found and list(found) for name, found in (self.intervals or {}).items()},
        }


def agreement_of(label: str, compared: Sequence[Compared]) -> Agreement:
    """Count the answers on one kind of label; samples of one group are one draw of the intervals."""
    tables: dict[object, tuple[int, ...]] = {}
    samples = 0
    for place, item in enumerate(compared):
        answers = [(people, verdict.value) for people, verdict in item.pairs]
        if answers:
            samples += 1
            key = place if item.group is None else item.group
            before = tables.get(key, (0, 0, 0, 0))
            tables[key] = tuple(map(sum, zip(before, map(answers.count, KINDS_OF_PAIR), strict=True)))
    labelled = sum(people is not None for item in compared for people in item.people)
    both, judge_only, people_only, neither = map(sum, zip((0, 0, 0, 0), *tables.values(), strict=True))
    found = Agreement(label, samples, both, judge_only, people_only, neither)
    return replace(
        found, not_judged=labelled - found.answers, intervals=intervals_of(list(tables.values()))
    )


def intervals_of(tables: Sequence[tuple[int, ...]]) -> dict[str, tuple[float, float] | None]:
    """95 % intervals of bias, sensitivity, specificity, balanced accuracy and kappa.

    From 25 samples on percentiles of a bootstrap over samples, which are drawn whole, since their answers hang together.
    Below 25, and for what is not defined in every draw, the posterior of the four counts under Jeffreys' prior: a
    Dirichlet distribution with 0.5 added to each, so that sensitivity and specificity have Beta posteriors. There the
    counts are scaled to the number of samples: answers on one sample count as one.

    Args:
        tables: One a sample, or a cluster of samples: how many answers are yes of both, of the judge only, of people
            only, of neither.

    Returns:
        The ends; None below two samples, and for what the counts themselves do not define.

    Source: B. Efron, Annals of Statistics 7 (1979) 1; L. D. Brown, T. T. Cai, A. DasGupta, Statistical Science 16
    (2001) 101.
    """
    import numpy as np

    found: dict[str, tuple[float, float] | None] = dict.fromkeys(_WITH_INTERVAL)
    if len(tables) < 2:  # noqa: PLR2004 - one sample says nothing about the spread
        return found
    counts, size = np.array(tables, dtype=float), len(tables)
    total = counts.sum(axis=0)
    prior = total * size / total.sum() + 0.5
    posterior = np.random.default_rng(_SEED).dirichlet(prior, size=_DRAWS) * total.sum()
    ways = [posterior]
    if size >= FEW:
        random, even = np.random.default_rng(_SEED), np.full(size, 1 / size)
        parts = [random.multinomial(size, even, size=_CHUNK) @ counts for _ in range(_DRAWS // _CHUNK)]
        ways = [np.vstack(parts), posterior]
    figures = [[Agreement("", 0, *draw) for draw in draws.tolist()] for draws in ways]
    for name in _WITH_INTERVAL:
        if getattr(Agreement("", 0, *total.tolist()), name) is not None:
            values = ([getattr(item, name) for item in items] for items in figures)
            low, high = np.percentile(next(item for item in values if None not in item), _ENDS).tolist()
            found[name] = (low, high)
    return found


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


def shown(value: float | None, sign: str = "") -> str:
    """Return a figure as it is shown."""
    return "-" if value is None else f"{value:{sign}.3f}"


def shown_with(value: float | None, interval: tuple[float, float] | None, sign: str = "") -> str:
    """Return a figure and its interval as they are shown."""
    ends = "" if interval is None else f" ({shown(interval[0], sign)} to {shown(interval[1], sign)})"
    return shown(value, sign) + ends
