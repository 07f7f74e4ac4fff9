"""Several raters of the same things: judges side by side with their paired differences, and people among themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from ctxmetrics._display import visible
from ctxmetrics._frozen import Plain
from ctxmetrics.agreement.figures import KINDS_OF_PAIR, Agreement, shown, shown_with
from ctxmetrics.agreement.labels import Compared
from ctxmetrics.comparison.answers import NO, YES, read_answers
from ctxmetrics.comparison.means import holm, paired_mean
from ctxmetrics.errors import ParameterError
from ctxmetrics.report.view import aligned

_HEADER = ("kappa", "balanced accuracy", "bias", "equal", "answers")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class JudgeDifference(Plain):
    """How much more often one judge agrees with people than the first one, on the answers that both judged.

    Attributes:
        label: The kind of label.
        judge: The judge.
        first: The first judge.
        answers: How many answers both judged.
        difference: Share of answers equal to people's, ``judge`` less ``first``.
        interval: Its 95 % interval, by samples or clusters (`ctxmetrics.comparison.means.paired_mean`); None below two.
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
        names = f"{visible(self.judge)[:_SHOWN]} less {visible(self.first)[:_SHOWN]}"
        share = shown_with(self.difference, self.interval, sign="+")
        return f"{names}: equal answers {share}, p {self.p_adjusted:.4f}"


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
            rows = [
                (visible(judge)[:_SHOWN], *_cells(item))
                for judge, item in zip(self.judges, items, strict=True)
            ]
            lines += ["", *aligned([(label, *_HEADER), *rows])]
            lines += [str(item) for item in self.differences if item.label == label]
        return "\n".join(lines[1:])


def table_of(
    judges: Sequence[str],
    agreements: Sequence[Sequence[Agreement]],
    compared: Sequence[Mapping[str, Sequence[Compared]]],
) -> JudgeTable:
    """Put judges side by side.

    Args:
        judges: Their names.
        agreements: Of each judge.
        compared: Of each judge, by kind of label: the labels beside its verdicts.

    Raises:
        ParameterError: The judges were compared with other labels.
    """
    often = Counter(judges)
    names = [f"{name} ({place})" if often[name] > 1 else name for place, name in enumerate(judges, 1)]
    labels = [item.label for item in agreements[0]]
    found = []
    for name, other in zip(names[1:], compared[1:], strict=True):
        for label in labels:
            differences, clusters = _paired(compared[0][label], other.get(label, ()))
            if differences:
                mean = paired_mean(differences, clusters)
                found.append(
                    JudgeDifference(
                        label, name, names[0], len(differences), mean.mean, mean.interval, mean.p, mean.p
                    )
                )
    adjusted = holm([item.p for item in found])
    return JudgeTable(
        tuple(names),
        {
            label: tuple(item for items in agreements for item in items if item.label == label)
            for label in labels
        },
        tuple(replace(item, p_adjusted=p) for item, p in zip(found, adjusted, strict=True)),
    )


def _paired(one: Sequence[Compared], other: Iterable[Compared]) -> tuple[list[float], list[str]]:
    """Return for each answer that both judged who of them agrees with people: 1 the other, -1 the one, 0 both or none."""
    rest = {item.sample_id: item for item in other}
    if [(item.sample_id, item.people) for item in one] != [
        (key, item.people) for key, item in rest.items()
    ]:
        raise ParameterError(
            "agree: the judges were compared with other labels. Compare all of them on the same samples."
        )
    differences: list[float] = []
    clusters: list[str] = []
    for item in one:
        verdicts = zip(item.people, item.verdicts, rest[item.sample_id].verdicts, strict=True)
        for people, mine, its in verdicts:
            if None not in (people, mine.value, its.value):
                differences.append(float(its.value is people) - float(mine.value is people))
                clusters.append(item.cluster)
    return differences, clusters


def _cells(item: Agreement) -> tuple[str, ...]:
    intervals = item.intervals or {}
    return (
        shown_with(item.kappa, intervals.get("kappa")),
        shown_with(item.balanced_accuracy, intervals.get("balanced_accuracy")),
        shown(item.bias, sign="+"),
        shown((item.both + item.neither) / item.answers if item.answers else None),
        str(item.answers),
    )


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
        figures = (("Krippendorff's alpha", self.alpha), ("mean kappa of pairs", self.kappa))
        listed = ", ".join(f"{name} {shown(value)}" for name, value in figures)
        return f"{self.label}: {self.annotators} people among themselves: {listed}, on {self.questions} questions"


def among_people(path: Path) -> list[PeopleAgreement]:
    """Return how far the annotators of a labels file agree, a kind of label; nothing where one person answered alone.

    Raises:
        InputFileError: The file is no file of labels.
    """
    answers = read_answers(path).answers
    found = []
    for label in dict.fromkeys(question.label for _, question in answers):
        said: dict[object, dict[str, bool]] = {}
        for (name, question), answer in answers.items():
            if question.label == label and answer.answer in {YES, NO}:
                said.setdefault(question, {})[name] = answer.answer == YES
        shared = [one for one in said.values() if len(one) > 1]
        if shared:
            names = sorted({name for one in shared for name in one})
            kappas = [_kappa(shared, *pair) for pair in combinations(names, 2)]
            known = [kappa for kappa in kappas if kappa is not None]
            alpha = krippendorff_alpha([list(one.values()) for one in shared])
            mean = sum(known) / len(known) if known else None
            found.append(PeopleAgreement(label, len(names), len(shared), alpha, mean))
    return found


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
    usable = [(sum(one), len(one)) for one in answers if len(one) > 1]
    yes, total = sum(count for count, _ in usable), sum(size for _, size in usable)
    if not yes or yes == total:
        return None
    differ = sum(count * (size - count) / (size - 1) for count, size in usable)
    return 1 - (total - 1) * differ / (yes * (total - yes))


def _kappa(shared: Iterable[dict[str, bool]], one: str, other: str) -> float | None:
    pairs = [(said[one], said[other]) for said in shared if one in said and other in said]
    both, one_only, other_only, neither = map(pairs.count, KINDS_OF_PAIR)
    return Agreement("", 0, both, one_only, other_only, neither).kappa
