"""Several judges on the same labels: their figures side by side, and the paired difference of their agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxmetrics._display import visible
from ctxmetrics._frozen import Plain
from ctxmetrics.agreement.figures import Agreement, shown, shown_with
from ctxmetrics.agreement.labels import Compared
from ctxmetrics.comparison.paired import holm, paired_mean
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
        interval: Its 95 % interval, by samples or clusters (`ctxmetrics.comparison.paired.paired_mean`); None below two.
        p: P value of the sign-flip test of "no difference".
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
