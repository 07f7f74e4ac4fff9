"""People among themselves: how far several annotators agree, which is what a judge can be expected to reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ctxmetrics._frozen import Plain
from ctxmetrics.agreement.figures import KINDS_OF_PAIR, Agreement, shown
from ctxmetrics.comparison.answers import NO, YES, read_answers


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
