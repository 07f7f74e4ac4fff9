"""Figures of agreement: of a judge with people, of several judges side by side, and of people among themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, permutations
from operator import attrgetter
from typing import Any

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import Plain, fields_to_json_data, to_json_data
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.agreement.labels import ComparedSample
from ctxmetrics.evaluation.pages.tables import Column, Table
from ctxmetrics.evaluation.rows.people_answers import NO, YES, PeopleAnswers
from ctxmetrics.evaluation.statistics.bootstrap import draw_samples, draw_shares, percentile_interval
from ctxmetrics.evaluation.statistics.corrected_means import MIN_LABELS
from ctxmetrics.scores.wording import format_p, plural

# The four pairs of answers (people, judge): both say yes, only the judge does, only people do, both say no.
KINDS_OF_PAIR = ((True, True), (False, True), (True, False), (False, False))
# The figures that are given with an interval.
_FIGURES_WITH_INTERVAL = ("bias", "sensitivity", "specificity", "balanced_accuracy", "kappa")
# The figures of an agreement as plain data.
_JSON_FIGURES = (
    "label",
    "samples",
    "answers",
    "both",
    "judge_only",
    "people_only",
    "neither",
    "not_judged",
    "people_rate",
    "judge_rate",
    "bias",
    "sensitivity",
    "specificity",
    "balanced_accuracy",
    "kappa",
    "conclusion",
)
# The balanced accuracy of a judge that guesses.
CHANCE_ACCURACY = 0.5
# Values of a figure at which all draws may be equal although the figure is uncertain.
_CERTAIN_LOOKING_VALUES = (-1.0, -0.5, 0.0, 0.5, 1.0)
# The minimum kappa of each word for an agreement: see `Agreement.conclusion`.
_KAPPA_STRENGTHS = (
    (0.8, "almost perfect"),
    (0.6, "substantial"),
    (0.4, "moderate"),
    (0.2, "fair"),
    (-1.0, "slight"),
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with people on one kind of label.

    Rates are shares of yes. A figure that is not defined, since people said only yes or only no, is None.

    Attributes:
        label: The label's name.
        samples: Samples with such a label and a verdict of the judge.
        both: Answers where both say yes.
        judge_only: The number of questions to which only the judge says yes.
        people_only: The number of questions to which only people say yes.
        neither: The number of questions to which both say no.
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
        """The share of questions to which people say yes."""
        return _divide(self.both + self.people_only, of=self.answers)

    @property
    def judge_rate(self) -> float | None:
        """The share of questions to which the judge says yes."""
        return _divide(self.both + self.judge_only, of=self.answers)

    @property
    def bias(self) -> float | None:
        """``judge_rate - people_rate``: above 0 the judge is too lenient."""
        if not self.answers:
            return None
        return (self.judge_only - self.people_only) / self.answers

    @property
    def sensitivity(self) -> float | None:
        """The share of people's yes to which the judge says yes."""
        yes_of_people = self.both + self.people_only
        return _divide(self.both, of=yes_of_people)

    @property
    def specificity(self) -> float | None:
        """The share of people's no to which the judge says no."""
        no_of_people = self.neither + self.judge_only
        return _divide(self.neither, of=no_of_people)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity: 0.5 is chance, whatever the rates."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: 1 is full agreement, 0 is chance.

        Formula: ``(p - e) / (1 - e)``. p is the share of equal answers. e is the share of equal answers that two independent
        raters with these rates would have. None if e is 1.

        Source: J. Cohen, Educational and Psychological Measurement 20 (1960) 37.
        """
        # All shares are multiplied by n * n, so that all steps but the last compute with whole numbers.
        answer_count = self.answers
        equal_answers = answer_count * (self.both + self.neither)
        yes_by_chance = (self.both + self.people_only) * (self.both + self.judge_only)
        no_by_chance = (self.neither + self.judge_only) * (self.neither + self.people_only)
        by_chance = yes_by_chance + no_by_chance
        if answer_count * answer_count <= by_chance:
            return None
        return (equal_answers - by_chance) / (answer_count * answer_count - by_chance)

    @property
    def conclusion(self) -> str:
        """The conclusion from the figures, in a sentence: chance, or the strength of the agreement by kappa.

        Source: J. R. Landis, G. G. Koch, Biometrics 33 (1977) 159, for the words.
        """
        if self.balanced_accuracy is None or self.kappa is None:
            answers = {None: "nothing", 1.0: "only yes", 0.0: "only no"}.get(self.people_rate)
            if answers:
                return f"people said {answers}: label samples of both kinds"
            return "agreement is not defined"
        if self.balanced_accuracy <= CHANCE_ACCURACY:
            return "the judge is at or below chance: do not use it on this data"
        interval = (self.intervals or {}).get("balanced_accuracy")
        if interval is None or interval[0] <= CHANCE_ACCURACY:
            return "not shown to be better than chance"
        word = next(word for lowest_kappa, word in _KAPPA_STRENGTHS if self.kappa >= lowest_kappa)
        return f"{word} agreement with people (kappa {self.kappa:.2f}), its rate of yes differs by {self.bias:+z.2f}"

    def cell(self, name: str, sign: str = "") -> str:
        """Return a figure and its interval as they are shown."""
        return format_with_interval(getattr(self, name), (self.intervals or {}).get(name), sign)

    def to_dict(self) -> dict[str, Any]:
        """Return counts, figures and intervals as plain JSON-ready data."""
        return {
            **fields_to_json_data(self, _JSON_FIGURES),
            "intervals": to_json_data(self.intervals or {}),
        }


def count_agreement(label: str, compared: Sequence[ComparedSample]) -> Agreement:
    """Count the answers on one kind of label. The intervals draw whole groups of samples, not single samples."""
    # For each group, how often each pair of answers occurs: what people say, and what the judge says.
    counters: dict[object, Counter[tuple[bool, bool | None]]] = {}
    sample_count = 0
    label_count = 0
    for index, item in enumerate(compared):
        labels = [answer for answer in item.people or () if answer is not None]
        label_count += len(labels)
        pairs = item.pairs
        if not pairs:
            continue
        sample_count += 1
        group = index if item.group is None else item.group
        counter = counters.setdefault(group, Counter())
        for people_answer, verdict in pairs:
            counter[people_answer, verdict.value] += 1
    # For each group, and for all groups, the number of pairs of each kind.
    tables = [tuple(counter[kind] for kind in KINDS_OF_PAIR) for counter in counters.values()]
    totals = [sum(counter[kind] for counter in counters.values()) for kind in KINDS_OF_PAIR]
    agreement = Agreement(label, sample_count, *totals)
    not_judged = label_count - agreement.answers
    return replace(agreement, not_judged=not_judged, intervals=find_intervals(tables))


def find_intervals(tables: Sequence[tuple[int, ...]]) -> dict[str, tuple[float, float] | None]:
    """95 % intervals of bias, sensitivity, specificity, balanced accuracy and kappa.

    From 25 samples on, the ends are percentiles of a bootstrap over samples. It draws whole samples, since the answers on
    one sample are not independent.

    The ends come from the posterior of the four counts instead:

    - below 25 samples;
    - for a figure that some draw does not define;
    - for a figure that is 0, 1 or the mean of both in all draws.

    The posterior is that of `draw_shares`. The counts are scaled to the number of samples: the answers on one sample count as one. An interval
    always holds its figure.

    Args:
        tables: Four counts of answers for each sample, or for each cluster of samples: a yes of both, of the judge only, of people
            only, of neither.

    Returns:
        The ends; None below two samples, and for a figure that the counts do not define.

    Source: B. Efron, Annals of Statistics 7 (1979) 1.
    """
    import numpy as np

    intervals: dict[str, tuple[float, float] | None] = dict.fromkeys(_FIGURES_WITH_INTERVAL)
    table_count = len(tables)
    if table_count < 2:  # noqa: PLR2004 - one sample says nothing about the spread
        return intervals
    counts = np.array(tables, dtype=float)
    totals = counts.sum(axis=0)
    shares = draw_shares(totals * table_count / totals.sum())
    # Sets of random tables (draws), the preferred set first.
    sets_of_draws = [_make_tables(shares * totals.sum())]
    if table_count >= MIN_LABELS:
        # Each drawn row says how often each table is taken.
        resampled = [multiplicities @ counts for multiplicities in draw_samples([1] * table_count)]
        sets_of_draws.insert(0, _make_tables(np.vstack(resampled)))
    agreement = Agreement("", 0, *totals.tolist())
    for name in _FIGURES_WITH_INTERVAL:
        value = getattr(agreement, name)
        if value is not None:
            low, high = percentile_interval(_choose_draws(sets_of_draws, name, value))
            intervals[name] = (min(low, value), max(high, value))
    return intervals


def _make_tables(draws: Any) -> list[Agreement]:
    """Make an agreement from each drawn table of counts."""
    return [Agreement("", 0, *counts) for counts in draws.tolist()]


def _choose_draws(sets_of_draws: Sequence[Sequence[Agreement]], name: str, value: float) -> list[float]:
    """Return the values of a figure in the first set of draws that can be used.

    A set cannot be used if the figure is not defined in one of its draws. It cannot be used either if all its draws have the value of
    the sample, and this is 0, 0.5, 1, -0.5 or -1: then the draws have no mistake, or one answer only, and show no spread.
    """
    for agreements in sets_of_draws:
        values = [getattr(agreement, name) for agreement in agreements]
        is_defined = None not in values
        shows_no_spread = value in _CERTAIN_LOOKING_VALUES and all(
            drawn_value == value for drawn_value in values
        )
        if is_defined and not shows_no_spread:
            return values
    raise AssertionError("the posterior defines every figure")


def _divide(count: int, *, of: int) -> float | None:
    """Divide a count by the total. Return None if the total is 0."""
    return count / of if of else None


def format_figure(value: float | None, sign: str = "") -> str:
    """Format a figure. Write a dash if it is None."""
    return "-" if value is None else f"{value:{sign}z.3f}"  # z: 0 is never written as -0


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

_MAX_NAME_CHARACTERS = 20


@dataclass(frozen=True, slots=True)
class JudgeDifference(Plain):
    """How much more often a judge agrees with people than the first judge, on the answers that both judged.

    Attributes:
        label: The kind of label.
        judge: The judge.
        first: The first judge.
        answers: The number of answers that both judged.
        difference: Share of answers equal to people's, ``judge`` less ``first``.
        interval: The 95 % interval of the difference, by samples or clusters (`ctxmetrics.evaluation.statistics.paired.paired_mean`); None
            if there are fewer than two.
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
        text = f"{_shorten_name(self.judge)} less {_shorten_name(self.first)}: equal answers {share}, p {format_p(self.p)}"
        if self.p_adjusted > self.p:
            text += f"\n    p by Holm's method: {format_p(self.p_adjusted)}"
        return text


@dataclass(frozen=True, slots=True)
class JudgeTable(Plain):
    """Several judges on the same labels. As a string, it is a table for each kind of label.

    Attributes:
        judges: The names of the judges. Equal names are numbered.
        agreements: By kind of label, one agreement for each judge, in the order of ``judges``.
        differences: The differences between each other judge and the first.
    """

    judges: tuple[str, ...]
    agreements: Mapping[str, tuple[Agreement, ...]]
    differences: tuple[JudgeDifference, ...]

    def __str__(self) -> str:
        names = [_shorten_name(judge) for judge in self.judges]
        sections: list[str] = []
        for label, agreements in self.agreements.items():
            table = Table.build(_JUDGE_COLUMNS, agreements).with_names(title=label, names=names)
            differences = [str(item) for item in self.differences if item.label == label]
            sections.append("\n".join([*table.list_lines(), *differences]))
        return "\n\n".join(sections)


# The columns of the table of several judges, after their names.
_JUDGE_COLUMNS: Sequence[Column[Agreement]] = (
    Column("kappa", lambda item: item.cell("kappa")),
    Column("balanced accuracy", lambda item: item.cell("balanced_accuracy")),
    Column("bias", attrgetter("bias"), "+z.3f"),
    Column("equal", lambda item: _divide(item.both + item.neither, of=item.answers), ".3f"),
    Column("answers", attrgetter("answers")),
)


def _shorten_name(judge: str) -> str:
    """Shorten a judge's name in its middle, because judges differ in the settings and numbers at its end."""
    name = replace_invisible(judge)
    if len(name) <= _MAX_NAME_CHARACTERS:
        return name
    half = _MAX_NAME_CHARACTERS // 2
    beginning = name[:half]
    end = name[-(half - 1) :]
    return f"{beginning}…{end}"


def pair_answers(
    first: Sequence[ComparedSample], second: Sequence[ComparedSample]
) -> list[tuple[float, str]]:
    """Compare two judges on each answer that both judged.

    Returns:
        For each answer: 1 if only the second judge agrees with people, -1 if only the first, else 0; and the cluster of the
        answer's sample.

    Raises:
        ParameterError: The judges were compared with other labels.
    """
    if _list_labels(first) != _list_labels(second):
        raise ParameterError(
            "agree: the judges were compared with other labels. Compare all of them on the same samples."
        )
    pairs = []
    for first_sample, second_sample in zip(first, second, strict=True):
        cluster = first_sample.group
        if cluster is None:
            cluster = first_sample.sample_id
        people_answers = first_sample.people or ()
        answers = zip(people_answers, first_sample.verdicts, second_sample.verdicts, strict=True)
        for label, first_verdict, second_verdict in answers:
            if None in (label, first_verdict.value, second_verdict.value):
                continue
            gain = float(second_verdict.value is label) - float(first_verdict.value is label)
            pairs.append((gain, cluster))
    return pairs


def _list_labels(items: Iterable[ComparedSample]) -> list[tuple[str, tuple[bool | None, ...] | None]]:
    """List the labels of people with the ids of their samples."""
    return [(item.sample_id, item.people) for item in items]


# --- people ---


@dataclass(frozen=True, slots=True)
class PeopleAgreement(Plain):
    """How far annotators agree. As a string, it is one line.

    Attributes:
        label: The kind of label.
        annotators: The number of people who answered.
        questions: The number of questions that at least two people answered with yes or no.
        alpha: Krippendorff's alpha; None if it is not defined.
        kappa: Mean of Cohen's kappa over the pairs of people for whom it is defined; None without such a pair.
        balanced_accuracy: Mean of the balanced accuracy over these pairs. Each person of a pair is compared once with the other. None
            if there is no such pair.
    """

    label: str
    annotators: int
    questions: int
    alpha: float | None
    kappa: float | None
    balanced_accuracy: float | None = None

    def beside(self, judge: Agreement) -> str | None:
        """Compare the judge's agreement with people with the agreement of two people. Return None if a kappa is not defined.

        The judge agrees as well as people if the upper end of its interval of kappa reaches the kappa of two people.
        """
        highest_judge_kappa = judge.kappa
        interval = (judge.intervals or {}).get("kappa")
        if interval is not None:
            _, highest_judge_kappa = interval
        if self.kappa is None or highest_judge_kappa is None:
            return None
        word = "about as well as" if highest_judge_kappa >= self.kappa else "less well than"
        return f"the judge agrees with people {word} two people do (their kappa {self.kappa:.2f}, balanced accuracy {format_figure(self.balanced_accuracy)})"

    def __str__(self) -> str:
        figures = (
            f"Krippendorff's alpha {format_figure(self.alpha)}, "
            f"mean kappa of pairs {format_figure(self.kappa)}"
        )
        return f"{self.label}: {self.annotators} people among themselves: {figures}, on {plural(self.questions, 'question')}"


def among_people(file: PeopleAnswers) -> list[PeopleAgreement]:
    """Count how far the annotators of a labels file agree, by kind of label. The result is empty if one person answered alone."""
    figures: list[PeopleAgreement] = []
    labels = dict.fromkeys(question.label for _, question in file.answers)  # each once
    for label in labels:
        shared = _list_shared(file, label)
        if not shared:
            continue
        annotators = sorted(set(chain.from_iterable(shared)))
        # Each pair is counted in both orders: once the answers of the first person are taken as right, once those of the second.
        pairs = permutations(annotators, 2)
        agreements = [
            _count_pair(shared, first_person, second_person) for first_person, second_person in pairs
        ]
        figures.append(
            PeopleAgreement(
                label=label,
                annotators=len(annotators),
                questions=len(shared),
                alpha=krippendorff_alpha([list(answers.values()) for answers in shared]),
                kappa=_mean(agreement.kappa for agreement in agreements),
                balanced_accuracy=_mean(agreement.balanced_accuracy for agreement in agreements),
            )
        )
    return figures


def _list_shared(file: PeopleAnswers, label: str) -> list[dict[str, bool]]:
    """Return the answers to each question that at least two people answered with yes or no: by the name of the person."""
    # For each question, the answers by person.
    questions: dict[object, dict[str, bool]] = {}
    for (name, question), answer in file.answers.items():
        if question.label == label and answer.answer in {YES, NO}:
            questions.setdefault(question, {})[name] = answer.answer == YES
    return [answers for answers in questions.values() if len(answers) > 1]


def krippendorff_alpha(answers: Iterable[Sequence[bool]]) -> float | None:
    """Krippendorff's alpha for yes and no: 1 is full agreement, 0 is chance.

    Formula: ``1 - (n - 1) * sum(yes * no / (m - 1)) / (all_yes * all_no)`` over the questions with m >= 2 answers,
    n answers in all. None if all answers are equal.

    Args:
        answers: For each question, the answers of the people who answered it.

    Source: K. Krippendorff, Content Analysis, 4th edition (2019), chapter 12.

    >>> round(krippendorff_alpha([[True, True], [True, False], [False, False]]), 4)
    0.4444
    """
    all_yes = 0
    all_answers = 0
    terms: list[float] = []  # the sum of the formula
    for answers_to_question in answers:
        answer_count = len(answers_to_question)
        if answer_count < 2:  # noqa: PLR2004 - one answer agrees with none
            continue
        yes = list(answers_to_question).count(True)
        no = answer_count - yes
        all_yes += yes
        all_answers += answer_count
        terms.append(yes * no / (answer_count - 1))
    all_no = all_answers - all_yes
    if not all_yes or not all_no:
        return None
    return 1 - (all_answers - 1) * sum(terms) / (all_yes * all_no)


def _count_pair(shared: Iterable[dict[str, bool]], first: str, second: str) -> Agreement:
    """Compare the answers of two people as if the first were the judge.

    Args:
        shared: For each question the answers by person.
        first: The name of the first person.
        second: The name of the second person.
    """
    shared_by_both = [answers for answers in shared if first in answers and second in answers]
    pairs = [(answers[first], answers[second]) for answers in shared_by_both]
    counts = [pairs.count(kind) for kind in KINDS_OF_PAIR]
    return Agreement("", 0, *counts)


def _mean(figures: Iterable[float | None]) -> float | None:
    """Average the figures that are defined. Return None if there is none."""
    values = [value for value in figures if value is not None]
    return sum(values) / len(values) if values else None
