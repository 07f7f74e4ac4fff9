"""A framework's own metric beside ours, on the same samples and the same verdicts, and the rule that moved each value.

The judge is asked once, by our metric. The framework's own metric then gets an LLM that answers with these verdicts, so
that what differs is what each does with them. An adapter offers its framework's metrics under the entry point group
``ctxmetrics.natives``; the core knows none of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import entry_points
from typing import Any, Union

from ctxmetrics._secrets import safe_text
from ctxmetrics._version import __version__
from ctxmetrics._wording import clean
from ctxmetrics.adapting.runners import aside
from ctxmetrics.conventions import Family, get_convention
from ctxmetrics.errors import MissingExtraError, ParameterError
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import JudgedMetric
from ctxmetrics.report.view import WIDTH, aligned, folded
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.text import has_content
from ctxmetrics.verdicts import Verdict

GROUP = "ctxmetrics.natives"
# What a judge answers about one unit or context: yes or no, nothing that can be read, or a word of its own.
Answer = Union[bool, None, str]  # noqa: UP007 - no expression on Python 3.10 with these
# Values that the text shows; JSON holds all.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Case:
    """One sample under one metric, on the way from our value to that of a framework.

    Attributes:
        metric: The metric.
        sample: The sample.
        verdicts: The verdicts of our score.
        hits: What counts of them.
        value: The value so far.
    """

    metric: Metric
    sample: Sample
    verdicts: Sequence[Verdict]
    hits: tuple[bool | None, ...]
    value: float | None

    @property
    def judged(self) -> bool:
        """Whether the verdicts are a judge's."""
        return isinstance(self.metric, JudgedMetric)

    def of(self, hits: Iterable[bool | None]) -> Case:
        """Return the case with other hits, and what our formula makes of them."""
        hits = tuple(hits)
        open_ = None in hits or not hits
        value = None if open_ else self.metric.to_value([hit is True for hit in hits])
        return replace(self, hits=hits, value=value)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a framework does otherwise.

    Attributes:
        text: What it does, as the end of a sentence that begins with the framework's name.
        apply: Gives the case under this rule; the same case where the rule does not touch it.
    """

    text: str
    apply: Callable[[Case], Case]


@dataclass(frozen=True, slots=True)
class Native:
    """The metrics of a framework that have the same name as ours, or the same purpose.

    Attributes:
        name: The framework and its version.
        metrics: The name of the framework's metric by the name of ours (`Metric.base_name`).
        score: Runs the framework's own metric on a sample, its LLM answering what is given: one answer a unit or
            context. Returns None for NaN; may raise as the framework does.
        rules: What the framework does otherwise, in the order in which it takes effect.
    """

    name: str
    metrics: Mapping[str, str]
    score: Callable[[Metric, Sample, Sequence[Answer]], float | None]
    rules: Sequence[Rule]


@dataclass(frozen=True, slots=True)
class Step:
    """A rule that moved a value, and the value after it."""

    rule: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One value of ours and of a framework.

    Attributes:
        metric: The name of our metric.
        sample: The sample's id, else its number.
        ours: Our value; None where there is none.
        theirs: The framework's; None for NaN and where it raises.
        error: What the framework raises, where it does.
        steps: The rules that lead from ours to theirs, one after the other.
        explained: Whether they do.
    """

    metric: str
    sample: str
    ours: float | None
    theirs: float | None
    error: str | None
    steps: tuple[Step, ...]
    explained: bool

    @property
    def equal(self) -> bool:
        """Whether both are the same under ``==``, or both have no value."""
        return self.ours == self.theirs

    @property
    def distance(self) -> float:
        """How far apart they are; infinite where one has no value."""
        if self.ours is None or self.theirs is None:
            return 0.0 if self.equal else math.inf
        return abs(self.ours - self.theirs)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A framework's values beside ours; ``str()`` is a table, then what differs.

    Attributes:
        framework: The framework and its version.
        metrics: The name of the framework's metric by the name of ours.
        judges: Who gave the verdicts.
        values: One a sample and metric.
        left_out: Metrics that the framework has none of.
    """

    framework: str
    metrics: Mapping[str, str]
    judges: tuple[str, ...]
    values: tuple[Compared, ...]
    left_out: tuple[str, ...]

    @property
    def different(self) -> tuple[Compared, ...]:
        """The values that differ, the largest difference first; a value beside none comes before all."""
        return tuple(
            sorted((item for item in self.values if not item.equal), key=lambda item: -item.distance)
        )

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("metric", self.framework, "equal", "differ")]
        for name, native in self.metrics.items():
            mine = [item.equal for item in self.values if item.metric == name]
            rows.append((name, native, str(sum(mine)), str(len(mine) - sum(mine))))
        lines = aligned(rows)
        if self.left_out:
            lines += folded(f"{self.framework} has no metric for: {', '.join(self.left_out)}")
        lines += folded(f"Both with the same verdicts ({', '.join(self.judges)})." if self.judges else "")
        lines += self._rules()
        different = self.different
        if different:
            lines += ["", "value by value:", *_value_lines(different[:_SHOWN])]
        if len(different) > _SHOWN:
            lines.append(f"and {len(different) - _SHOWN} more: --format json has all")
        return "\n".join(lines)

    def _rules(self) -> list[str]:
        found = Counter(step.rule for item in self.different for step in item.steps)
        lines = [""] if self.different else []
        for rule, number in found.most_common():
            lines += folded(f"{number:>5}  {self.framework} {rule}", rest=" " * 7)
        unknown = sum(not item.explained for item in self.different)
        return [*lines, *([f"{unknown:>5}  not explained by a known rule"] if unknown else [])]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON-ready data."""
        return {
            "framework": self.framework,
            "library": f"ctxmetrics {__version__}",
            "judges": list(self.judges),
            "metrics": dict(self.metrics),
            "left_out": list(self.left_out),
            "values": [{**asdict(item), "equal": item.equal} for item in self.values],
        }


def _value_lines(items: Iterable[Compared]) -> Iterable[str]:
    for item in items:
        theirs = f"{_shown(item.theirs)}{f' ({item.error})' if item.error else ''}"
        yield from folded(
            f"{clean(item.sample, 30)}  {item.metric}: {_shown(item.ours)}, theirs {theirs}"
        )
        steps = (
            item.steps
            if item.explained
            else (*item.steps, Step("not explained by a known rule", item.theirs))
        )
        for step in steps:
            yield from folded(f"{_shown(step.value):<14}  {step.rule}", "    ", " " * 16)


def _shown(value: float | None) -> str:
    return "no value" if value is None else repr(round(value, 12))


def native_of(framework: str) -> Native:
    """Return the metrics of a framework that is installed.

    Raises:
        ParameterError: No adapter offers the metrics of such a framework.
        MissingExtraError: The framework is not installed.
    """
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    if framework not in entries:
        raise ParameterError(
            f"--against {framework!r} is unknown. Choose from: {', '.join(sorted(entries))}."
        )
    try:
        # Some frameworks write or call home when imported.
        with aside({"DO_NOT_TRACK": "true"}, silent=False):
            found: Native = entries[framework].load()
    except MissingExtraError:
        raise
    except ImportError as error:
        raise MissingExtraError(f"{framework} cannot be imported: {safe_text(error)}") from None
    return found


def explain_difference(
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    against: str | Native,
    *,
    judge: Judge | None = None,
    **options: Any,
) -> Explanation:
    """Run our metrics and the framework's own on the same samples, with the same verdicts.

    Args:
        samples: The samples.
        metrics: Our metrics, on a scale from 0 to 1.
        against: ``"ragas"``, ``"deepeval"``, or the `Native` of another framework.
        judge: Who judges where a metric has no judge of its own; it is asked once, and the framework sends nothing.
        **options: Further arguments of `evaluate`.

    Raises:
        ParameterError: The framework is unknown, or has none of the metrics; or a metric has another scale.
        MissingExtraError: The framework is not installed.
    """
    from ctxmetrics.evaluation.engine import evaluate

    native = native_of(against) if isinstance(against, str) else against
    for metric in metrics:
        if get_convention(metric.convention).scale != 1 or metric.strict:
            raise ParameterError(
                f"{metric.name}: only values from 0 to 1 can be compared, and none that are strict."
            )
    taken = [metric for metric in metrics if metric.base_name in native.metrics]
    left_out = tuple(metric.name for metric in metrics if metric.base_name not in native.metrics)
    if not taken:
        raise ParameterError(f"{native.name} has no metric for: {', '.join(left_out)}.")
    results = evaluate(samples, taken, judge=judge, **options)
    values = [
        _compare(native, metric, row.sample, row[metric.name], row.index)
        for row in results
        for metric in taken
        if row.sample is not None and row[metric.name].reason_code not in {"missing_field", "not_text"}
    ]
    names = {metric.name: native.metrics[metric.base_name] for metric in taken}
    judges = results.summary().origin.each("judge")
    return Explanation(native.name, names, judges, tuple(values), left_out)


def _compare(native: Native, metric: Metric, sample: Sample, score: Score, index: int) -> Compared:
    contexts = sample.retrieved_contexts
    cut = sample if contexts is None else replace(sample, retrieved_contexts=contexts[: metric.top_k])
    case = Case(metric, cut, score.verdicts, _values(score.verdicts), score.value)
    theirs, error = None, None
    try:
        theirs = native.score(metric, cut, answers_of(case))
    except Exception as raised:  # noqa: BLE001 - a framework's metric may fail in any way; that is its value
        error = f"{type(raised).__name__}: {clean(safe_text(raised), WIDTH)}"
    steps = []
    for rule in native.rules:
        after = rule.apply(case)
        if after.value != case.value:
            steps.append(Step(rule.text, after.value))
        case = after
    equal = theirs == score.value
    name = sample.id if sample.id is not None else str(index + 1)
    explained = equal or case.value == theirs
    return Compared(
        metric.name, name, score.value, theirs, error, () if equal else tuple(steps), explained
    )


def _values(verdicts: Iterable[Verdict]) -> tuple[bool | None, ...]:
    return tuple(verdict.value for verdict in verdicts)


def answers_of(case: Case) -> list[Answer]:
    """Return what the judge said, before anything was checked; where our metric did not ask, a judge that says no."""
    if case.verdicts:
        return [_said(verdict) for verdict in case.verdicts]
    if case.metric.family.endswith("recall"):
        return [False] if has_content(case.sample.reference or "") else []
    return [False] * len(case.sample.retrieved_contexts or ())


def _said(verdict: Verdict) -> bool | None:
    """Return the judge's own yes or no: a check may have turned it."""
    if verdict.code == "unverified_evidence":
        return True
    if verdict.code == "contradicted" and verdict.value and verdict.id.startswith("c"):
        return False  # called useless, and a supported sentence rests on it
    return verdict.value


# --- rules ---


def _only(families: Sequence[Family], apply: Callable[[Case], Case]) -> Callable[[Case], Case]:
    """Return what leaves the metrics of other families as they are."""
    return lambda case: apply(case) if case.metric.family in families else case


def _under(convention: str) -> Callable[[Case], Case]:
    """Return what scores a case as a convention does."""

    def apply(case: Case) -> Case:
        metric = replace(case.metric, convention=convention, threshold=None)
        if case.judged:
            return (
                replace(case, metric=metric).of(case.hits)
                if case.hits and None not in case.hits
                else case
            )
        score = metric.score(case.sample)
        return Case(metric, case.sample, score.verdicts, _values(score.verdicts), score.value)

    return apply


def _own_formula(case: Case) -> Case:
    default = next((item.default for item in fields(case.metric) if item.name == "formula"), None)
    if default is None or default == case.metric.formula_name:
        return case
    changed: dict[str, Any] = {"formula": default}
    metric = replace(case.metric, **changed)
    return replace(case, metric=metric).of(case.hits) if case.hits else replace(case, metric=metric)


def _believed(case: Case) -> Case:
    said = tuple(map(_said, case.verdicts))
    return case.of(said) if case.judged and said != _values(case.verdicts) else case


def _without_open(case: Case) -> Case:
    return (
        case.of(hit for hit in case.hits if hit is not None)
        if case.judged and None in case.hits
        else case
    )


def _asked(case: Case) -> Case:
    return case.of(map(bool, answers_of(case))) if case.judged and not case.verdicts else case


def _zero(case: Case) -> Case:
    return replace(case, value=0.0) if case.judged and not case.hits else case


def _empty_side(convention: str) -> Callable[[Case], Case]:
    under = _under(convention)
    return lambda case: case if case.judged or case.verdicts else under(case)


_PRECISIONS: tuple[Family, ...] = ("precision", "string_precision")
OWN_FORMULA = Rule("has one formula for it, not the one that was chosen", _own_formula)
BELIEVES = Rule("believes the judge: no quote is looked up in the contexts", _believed)
DIVIDES_BY_WHAT_CAME = Rule(
    "divides by the verdicts that came: a sentence that the judge left out is not counted",
    _only(("recall",), _without_open),
)
SHIFTS_RANKS = Rule(
    "takes verdicts by their place: behind a context that the judge left out all move up",
    _only(("precision",), _without_open),
)
ASKS_ABOUT_EMPTY = Rule("asks its judge also where a side is empty (a judge that says no, here)", _asked)
ZERO_WITHOUT_VERDICTS = Rule("makes 0 of no verdicts", _zero)
ZERO_PRECISION_WITHOUT_VERDICTS = Rule(
    "makes a precision of 0 of no verdicts", _only(("precision",), _zero)
)
RAGAS_EMPTY_SIDE = Rule("has another value where a side is empty", _empty_side("ragas"))
ABOVE_THE_CUT = Rule(
    "wants more than the cut in recall, where its precision wants at least the cut",
    _only(("string_recall",), _under("ragas")),
)
ADDS_EPSILON = Rule("adds 1e-10 to the number of relevant contexts", _only(_PRECISIONS, _under("ragas")))
ADDS_NOTHING = Rule(
    "adds nothing to the number of relevant contexts", _only(_PRECISIONS, _under("deepeval"))
)
