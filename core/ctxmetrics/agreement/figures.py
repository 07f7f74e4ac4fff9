"""Figures of agreement: of a judge with people, of several judges side by side, and of people among themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import Plain, plain, plain_fields
from ctxmetrics.agreement.labels import Compared
from ctxmetrics.errors import ParameterError
from ctxmetrics.presentation.layout import align_rows
from ctxmetrics.presentation.wording import plural
from ctxmetrics.results.labels.answers import NO, YES, Answers
from ctxmetrics.results.labels.means import FEWEST

# The four kinds of answers: both say yes, only the judge, only people, both say no.
KINDS_OF_PAIR = ((True, True), (False, True), (True, False), (False, False))
_WITH_INTERVAL = ("bias", "sensitivity", "specificity", "balanced_accuracy", "kappa")
# The figures of an agreement as plain data.
_FIGURES = (
    *("label", "samples", "answers", "both", "judge_only", "people_only", "neither"),
    *("not_judged", "people_rate", "judge_rate", "bias", "sensitivity", "specificity"),
    *("balanced_accuracy", "kappa", "conclusion"),
)
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
            (see `find_intervals`).
    """

    label: str
    samples: int
    both: int
    judge_only: int
    people_only: int
    neither: int
    not_judged: int = 0
    intervals: Mapping[str, tuple[float, float] | None] | None = field(default=None, kw_only=True)

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
        if not self.answers:
            return None
        return (self.judge_only - self.people_only) / self.answers

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
        if n * n <= by_chance:
            return None
        return (n * (self.both + self.neither) - by_chance) / (n * n - by_chance)

    @property
    def conclusion(self) -> str:
        """What the figures say, in a sentence: chance, or the strength of the agreement by kappa.

        Source: J. R. Landis, G. G. Koch, Biometrics 33 (1977) 159, for the words.
        """
        if self.balanced_accuracy is None or self.kappa is None:
            answers = {None: "nothing", 1.0: "only yes", 0.0: "only no"}.get(self.people_rate)
            if answers:
                return f"people said {answers}: label samples of both kinds"
            return "agreement is not defined"
        low, _ = (self.intervals or {}).get("balanced_accuracy") or (0.0, 1.0)
        if self.balanced_accuracy <= CHANCE:
            return "the judge is at or below chance: do not use it on this data"
        if low <= CHANCE:
            return "not shown to be better than chance"
        word = next(word for least, word in _STRENGTHS if self.kappa >= least)
        return f"{word} agreement with people (kappa {self.kappa:.2f}), its rate of yes differs by {self.bias:+.2f}"

    def cell(self, name: str, sign: str = "") -> str:
        """Return a figure and its interval as they are shown."""
        return format_with_interval(getattr(self, name), (self.intervals or {}).get(name), sign)

    def to_dict(self) -> dict[str, Any]:
        """Return counts, figures and intervals as plain JSON-ready data."""
        return {**plain_fields(self, _FIGURES), "intervals": plain(self.intervals or {})}


def count_agreement(label: str, compared: Sequence[Compared]) -> Agreement:
    """Count the answers on one kind of label; samples of one group are one draw of the intervals."""
    tables: dict[object, Counter[tuple[bool, bool | None]]] = {}
    samples = labels = 0
    for position, item in enumerate(compared):
        labels += sum(answer is not None for answer in item.people or ())
        pairs = item.pairs
        if pairs:
            samples += 1
            table = tables.setdefault(position if item.group is None else item.group, Counter())
            table.update((people, verdict.value) for people, verdict in pairs)
    counts = [tuple(table[kind] for kind in KINDS_OF_PAIR) for table in tables.values()]
    agreement = Agreement(label, samples, *map(sum, zip((0, 0, 0, 0), *counts, strict=True)))
    return replace(agreement, not_judged=labels - agreement.answers, intervals=find_intervals(counts))


def find_intervals(tables: Sequence[tuple[int, ...]]) -> dict[str, tuple[float, float] | None]:
    """95 % intervals of bias, sensitivity, specificity, balanced accuracy and kappa.

    From 25 samples on percentiles of a bootstrap over samples, which are drawn whole, since the answers
    on one sample are not independent. Below 25, for what is not defined in every draw, and for what is 0, 1
    or the mean of both in all of them, the posterior of the four counts under Jeffreys' prior: a Dirichlet
    distribution with 0.5 added to each, so that sensitivity and specificity have Beta posteriors. There the
    counts are scaled to the number of samples: answers on one sample count as one. An interval always
    holds its figure.

    Args:
        tables: One a sample, or a cluster of samples: how many answers are yes of both, of the judge only, of people
            only, of neither.

    Returns:
        The ends; None below two samples, and for what the counts themselves do not define.

    Source: B. Efron, Annals of Statistics 7 (1979) 1; L. D. Brown, T. T. Cai, A. DasGupta, Statistical Science 16
    (2001) 101.
    """
    import numpy as np

    intervals: dict[str, tuple[float, float] | None] = dict.fromkeys(_WITH_INTERVAL)
    size = len(tables)
    if size < 2:  # noqa: PLR2004 - one sample says nothing about the spread
        return intervals
    counts = np.array(tables, dtype=float)
    total = counts.sum(axis=0)
    prior = total * size / total.sum() + 0.5
    posterior = np.random.default_rng(_SEED).dirichlet(prior, size=_DRAWS) * total.sum()
    draws = [_make_tables(posterior)]
    if size >= FEWEST:
        random, even = np.random.default_rng(_SEED), np.full(size, 1 / size)
        chunks = [random.multinomial(size, even, size=_CHUNK) @ counts for _ in range(_DRAWS // _CHUNK)]
        draws.insert(0, _make_tables(np.vstack(chunks)))
    agreement = Agreement("", 0, *total.tolist())
    for name in _WITH_INTERVAL:
        value = getattr(agreement, name)
        if value is not None:
            low, high = np.percentile(_choose_draws(draws, name, value), _ENDS).tolist()
            intervals[name] = min(low, value), max(high, value)
    return intervals


def _make_tables(draws: Any) -> list[Agreement]:
    return [Agreement("", 0, *counts) for counts in draws.tolist()]


def _choose_draws(draws: Sequence[Sequence[Agreement]], name: str, value: float) -> list[float]:
    """Return the values of a figure in the first draws that define and vary it.

    Equal values are no spread if the value is the end of a range, or the mean of both ends: no mistake was drawn, or one
    answer only.
    """
    for tables in draws:
        values = [getattr(table, name) for table in tables]
        if None not in values and (set(values) != {value} or value * 2 % 1):
            return values
    raise AssertionError("the posterior defines every figure")


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


def format_figure(value: float | None, sign: str = "") -> str:
    """Format a figure; a dash if it is None."""
    return "-" if value is None else f"{value:{sign}.3f}"


def format_with_interval(
    value: float | None, interval: tuple[float, float] | None, sign: str = ""
) -> str:
    """Format a figure and its interval."""
    figure = format_figure(value, sign)
    if interval is None:
        return figure
    low, high = interval
    return f"{figure} ({format_figure(low, sign)} to {format_figure(high, sign)})"


# --- several judges, and people among themselves ---

_HEADER = ("kappa", "balanced accuracy", "bias", "equal", "answers")
_LONGEST = 20


@dataclass(frozen=True, slots=True)
class JudgeDifference(Plain):
    """How much more often one judge agrees with people than the first one, on the answers that both judged.

    Attributes:
        label: The kind of label.
        judge: The judge.
        first: The first judge.
        answers: How many answers both judged.
        difference: Share of answers equal to people's, ``judge`` less ``first``.
        interval: Its 95 % interval, by samples or clusters (`ctxmetrics.results.labels.means.paired_mean`); None below two.
        p: p value of "no difference", from the same distribution.
        p_adjusted: The same, adjusted for the number of differences by Holm's method.
    """

    label: str
    judge: str
    first: str
    answers: int
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_adjusted: float

    def __str__(self) -> str:
        share = format_with_interval(self.difference, self.interval, sign="+")
        text = f"{_short(self.judge)} less {_short(self.first)}: equal answers {share}, p {self.p:.4f}"
        if self.p_adjusted > self.p:
            text += f"\n    p by Holm's method: {self.p_adjusted:.4f}"
        return text


@dataclass(frozen=True, slots=True)
class JudgeTable(Plain):
    """Several judges on the same labels; as a string, a table a kind of label.

    Attributes:
        judges: Their names; where two are equal, numbered.
        agreements: Of each judge, by kind of label.
        differences: Each judge against the first.
    """

    judges: tuple[str, ...]
    agreements: Mapping[str, tuple[Agreement, ...]]
    differences: tuple[JudgeDifference, ...]

    def __str__(self) -> str:
        lines: list[str] = []
        for label, items in self.agreements.items():
            rows: list[tuple[str, ...]] = [(label, *_HEADER)]
            for judge, item in zip(self.judges, items, strict=True):
                rows.append((_short(judge), *_judge_cells(item)))
            lines += ["", *align_rows(rows)]
            lines += [str(item) for item in self.differences if item.label == label]
        return "\n".join(lines[1:])


def _judge_cells(item: Agreement) -> tuple[str, str, str, str, str]:
    equal = (item.both + item.neither) / item.answers if item.answers else None
    return (
        item.cell("kappa"),
        item.cell("balanced_accuracy"),
        format_figure(item.bias, sign="+"),
        format_figure(equal),
        str(item.answers),
    )


def _short(judge: str) -> str:
    """Return a judge's name without its middle: settings and numbers, by which judges differ, stand at its end."""
    name = visible(judge)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[1 - _LONGEST // 2 :]}"


def pair_answers(one: Sequence[Compared], other: Sequence[Compared]) -> list[tuple[float, str]]:
    """Compare two judges on each answer that both judged: 1 if only the other agrees with people, -1 if only the one, else 0.

    The second value is the cluster of the answer's sample.

    Raises:
        ParameterError: The judges were compared with other labels.
    """
    if _list_labels(one) != _list_labels(other):
        raise ParameterError(
            "agree: the judges were compared with other labels. Compare all of them on the same samples."
        )
    pairs = []
    for item, same in zip(one, other, strict=True):
        cluster = item.sample_id if item.group is None else item.group
        answers = zip(item.people or (), item.verdicts, same.verdicts, strict=True)
        for people, verdict, other_verdict in answers:
            if None not in (people, verdict.value, other_verdict.value):
                gain = float(other_verdict.value is people) - float(verdict.value is people)
                pairs.append((gain, cluster))
    return pairs


def _list_labels(items: Iterable[Compared]) -> list[tuple[str, tuple[bool | None, ...] | None]]:
    return [(item.sample_id, item.people) for item in items]


# --- people ---


@dataclass(frozen=True, slots=True)
class PeopleAgreement(Plain):
    """How far annotators agree; as a string, a line.

    Attributes:
        label: Which kind of label.
        annotators: How many people answered.
        questions: How many questions two of them or more answered with yes or no.
        alpha: Krippendorff's alpha; None where it is not defined.
        kappa: Mean of Cohen's kappa over the pairs of people who have one; None without such a pair.
    """

    label: str
    annotators: int
    questions: int
    alpha: float | None
    kappa: float | None

    def beside(self, judge: Agreement) -> str | None:
        """Return whether the judge agrees with people as well as two people do; None where a kappa is not defined.

        It does where the interval of its kappa reaches that of two people.
        """
        high = ((judge.intervals or {}).get("kappa") or (0.0, judge.kappa))[1]
        if self.kappa is None or high is None:
            return None
        word = "about as well as" if high >= self.kappa else "less well than"
        return f"the judge agrees with people {word} two people do (their kappa {self.kappa:.2f})"

    def __str__(self) -> str:
        figures = (
            f"Krippendorff's alpha {format_figure(self.alpha)}, "
            f"mean kappa of pairs {format_figure(self.kappa)}"
        )
        return f"{self.label}: {self.annotators} people among themselves: {figures}, on {plural(self.questions, 'question')}"


def among_people(file: Answers) -> list[PeopleAgreement]:
    """Count how far the annotators of a labels file agree, by kind of label; empty if one person answered alone."""
    figures = []
    for label in dict.fromkeys(question.label for _, question in file.answers):
        shared = _list_shared(file, label)
        if shared:
            names = sorted(set(chain.from_iterable(shared)))
            kappas = []
            for pair in combinations(names, 2):
                pair_kappa = _kappa(shared, *pair)
                if pair_kappa is not None:
                    kappas.append(pair_kappa)
            alpha = krippendorff_alpha([list(answers.values()) for answers in shared])
            kappa = sum(kappas) / len(kappas) if kappas else None
            figures.append(PeopleAgreement(label, len(names), len(shared), alpha, kappa))
    return figures


def _list_shared(file: Answers, label: str) -> list[dict[str, bool]]:
    """Return the answers by annotator, of each question that two people or more answered with yes or no."""
    questions: dict[object, dict[str, bool]] = {}
    for (name, question), answer in file.answers.items():
        if question.label == label and answer.answer in {YES, NO}:
            questions.setdefault(question, {})[name] = answer.answer == YES
    return [answers for answers in questions.values() if len(answers) > 1]


def krippendorff_alpha(answers: Iterable[Sequence[bool]]) -> float | None:
    """Krippendorff's alpha for yes and no: 1 is full agreement, 0 is chance.

    Formula: ``1 - (n - 1) * sum(yes * no / (m - 1)) / (all_yes * all_no)`` over the questions with m >= 2 answers,
    n answers in all. None where all answers are equal.

    Args:
        answers: Of each question, what those said who answered it.

    Source: K. Krippendorff, Content Analysis, 4th edition (2019), chapter 12.

    >>> round(krippendorff_alpha([[True, True], [True, False], [False, False]]), 4)
    0.4444
    """
    yes = total = 0
    terms = []
    for question in answers:
        size = len(question)
        if size > 1:
            count = sum(question)
            yes += count
            total += size
            terms.append(count * (size - count) / (size - 1))
    if not yes or yes == total:
        return None
    return 1 - (total - 1) * sum(terms) / (yes * (total - yes))


def _kappa(shared: Iterable[dict[str, bool]], one: str, other: str) -> float | None:
    pairs = [
        (answers[one], answers[other]) for answers in shared if one in answers and other in answers
    ]
    return Agreement("", 0, *map(pairs.count, KINDS_OF_PAIR)).kappa
