"""A comparison of two runs: its figures as plain data, and as text for a terminal, as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.comparison.compared_stages import ComparedStages
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.tables import Bar, Column, Table, format_interval
from ctxmetrics.evaluation.pages.text_forms import TextForm
from ctxmetrics.evaluation.rows.provenances import Origin
from ctxmetrics.evaluation.statistics.labelled import LabelledDifference, does_label_decide
from ctxmetrics.evaluation.statistics.paired import MIN_CHANGED_SAMPLES, SIGNIFICANCE_LEVEL
from ctxmetrics.scores.wording import clean, format_p, plural

# The maximum number of units and of samples that the text shows. JSON and the page hold all.
MAX_ITEMS_SHOWN = 10
# The maximum number of characters of a text in a line.
MAX_TEXT_CHARACTERS = 80
# By `Held.unknown`: why it is not known whether a run retrieved a context of the other run.
_UNKNOWN_REASONS = {
    "hashes": "may have been retrieved {there}: a run kept no hashes",
    "text": "has the id of another text that was retrieved {there}",
    "index": "may stand in another text that was retrieved {there}: the runs have other ids",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(LabelledDifference, Plain):
    """A difference of means, corrected by the samples that people labelled in both runs (PPI++).

    Attributes:
        people: Mean difference by people's labels alone.
        by_audit: Whether people labelled the gold, in the random part of an audit.
    """

    people: float
    by_audit: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """Two phrases for a sentence: the subject that is corrected, and the reason that decides against it."""
        if self.by_audit:
            return "the gold", "the audit speaks"
        return "the judge", "the labels speak"


@dataclass(frozen=True, slots=True)
class Causes(Plain):
    """The causes of changes between two runs: the retrieved texts, or the judge. Only samples with hashes in both runs count.

    Attributes:
        other_contexts: Changed samples for which the runs retrieved different texts, or the same texts in another order.
        same_contexts: Changed samples for which the runs retrieved the same texts: the judge changed.
        verdicts: Pairs of verdicts, one of each run, about the same unit or context on equal requests.
        different: The pairs whose verdicts differ. Their share is the judge's instability.
    """

    other_contexts: int
    same_contexts: int
    verdicts: int
    different: int

    @property
    def instability(self) -> float | None:
        """Share of verdicts that differ on equal requests; None if there is none."""
        return self.different / self.verdicts if self.verdicts else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        return {**Plain.to_dict(self), "instability": self.instability}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Plain):
    """One metric in both runs, on the samples that have a value in both. Differences are second minus first.

    Attributes:
        name: The metric's name.
        samples: How many samples have a value in both runs.
        unpaired: How many samples have no value in at least one run.
        values_lost: How many samples have a value in the first run and none in the second.
        before: Mean of the first run on the samples with both values.
        after: Mean of the second run on these samples.
        difference: ``after - before``.
        interval: The 95 % interval of the difference (`ctxmetrics.evaluation.statistics.paired.paired_mean`). None below two
            samples or clusters, and if no sample changed.
        p: p value of "no difference", from the distribution of the interval.
        p_adjusted: The p value of `basis`, adjusted for the number of primary metrics by Holm's method; None for a secondary
            metric.
        better: Samples with a higher value in the second run.
        worse: Samples with a lower value in the second run.
        equal: Samples without a difference.
        detectable: The smallest true difference that 80 % of such comparisons show. Labels count if there are some.
        corrected: The difference corrected by people's labels; None unless at least two samples have labels in both runs.
        scale: The metric's highest value.
        passed: How many samples reach the pass mark in the first run and in the second run; None if there is no pass mark.
        causes: Whether the contexts or the judge changed; None if no judge answered, or no hashes are known.
    """

    name: str
    samples: int
    unpaired: int
    values_lost: int
    before: float
    after: float
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_adjusted: float | None
    better: int
    worse: int
    equal: int
    detectable: float | None
    corrected: Corrected | None = None
    scale: float = 1.0
    causes: Causes | None = None
    passed: tuple[int, int] | None = None

    @property
    def basis(self) -> Difference | Corrected:
        """The difference that decides the verdict: the judge's, unless the labels contradict it or show more."""
        labels = self.corrected
        if labels is not None and does_label_decide(self.difference, self.p, labels):
            return labels
        return self

    @property
    def decides(self) -> str:
        """Who decides about the verdict: ``judge`` or ``labels``."""
        return "judge" if self.basis is self else "labels"

    @property
    def survives(self) -> bool | None:
        """Whether an audit of the gold leaves the decision as it is; None if there is no audit, or if the gold shows no difference."""
        if self.corrected is None or not self.corrected.by_audit or not _direction(self):
            return None
        return _direction(self.basis) == _direction(self)

    @property
    def changed(self) -> int:
        """The number of samples with a difference."""
        return self.better + self.worse

    @property
    def few(self) -> bool:
        """Whether too few samples changed to call a run better or worse."""
        labels = self.corrected
        if labels is not None and self.basis is labels and not labels.complete:
            return False  # the p value of labels counts the changes that it rests on
        return self.basis.changed < MIN_CHANGED_SAMPLES

    @property
    def shown(self) -> bool:
        """Whether the metric is primary and its adjusted p value at most 0.05."""
        return self.p_adjusted is not None and self.p_adjusted <= SIGNIFICANCE_LEVEL

    @property
    def verdict(self) -> str | None:
        """``better``, ``worse``, ``no difference shown`` or ``few changed``; None for a secondary metric.

        The adjusted p value is compared with 0.05. Few changed: fewer than ten samples, or clusters, have a difference.
        """
        if self.p_adjusted is None:
            return None
        if self.few:
            return "few changed"
        if not self.shown:
            return "no difference shown"
        return "better" if self.basis.difference > 0 else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON-ready data."""
        properties = {"verdict": self.verdict, "decides": self.decides, "survives": self.survives}
        return {**Plain.to_dict(self), **properties}


@dataclass(frozen=True, slots=True)
class Held(Plain):
    """A context that supported a unit.

    Attributes:
        rank: The rank of the context in the run that supported the unit, from 1.
        quote: The words of the context that support the unit.
        hash: The hash of the context; None if it is not known.
        text: The whole context; None if the run did not keep the texts.
        retrieved_by_both: Whether the other run retrieved the context too; None if that is not known.
        unknown: Why ``retrieved_by_both`` is not known; None if it is known:

            - ``"hashes"``: a run kept no hashes;
            - ``"text"``: the other run retrieved another text under the same id;
            - ``"index"``: the runs have different ids.
    """

    rank: int
    quote: str
    hash: str | None
    text: str | None
    retrieved_by_both: bool | None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedUnit(Plain):
    """A unit of a reference that one run supports and the other does not.

    Attributes:
        sample_id: The sample's id, or its number.
        id: The unit's id: ``s1``, ``s2`` ..
        text: The unit.
        user_input: The question.
        metrics: The metrics whose values count the unit.
        contexts: The contexts that support it, in the run in which it is supported.
        retrieved: The contexts that the other run retrieved, in rank order; empty if that run did not keep their texts.
    """

    sample_id: str
    id: str
    text: str
    user_input: str | None
    metrics: tuple[str, ...]
    contexts: tuple[Held, ...]
    retrieved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Worse(Plain):
    """A sample whose score became lower.

    Attributes:
        metric: The metric's name.
        sample_id: The sample's id, or its number.
        user_input: The question.
        before: The value in the first run.
        after: The value in the second run.
        same_contexts: Whether both runs retrieved the same texts in the same order; None if that is not known.
    """

    metric: str
    sample_id: str
    user_input: str | None
    before: float
    after: float
    same_contexts: bool | None


class _Shown(Plain):
    """One comparison or several, shown as text, as Markdown and as a page."""

    __slots__ = ()

    def _list_runs(self) -> Mapping[str, Comparison]:
        """Return the comparisons by the names of their runs. A single run needs no name."""
        raise NotImplementedError  # `Comparison` and `Comparisons` have their own

    def _build_table(self) -> Table:
        """Build the table of all differences."""
        raise NotImplementedError  # the same

    def __str__(self) -> str:
        return self._render_text(markdown=False).rstrip("\n")

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the comparison as Markdown. Texts of samples are escaped."""
        return self._render_text(markdown=True)

    def html(
        self,
        *,
        title: str = "ctxmetrics: comparison of runs",
        gates: Sequence[tuple[str, str | None]] = (),
    ) -> str:
        """Return the comparison as one page that loads nothing.

        Args:
            title: Heading of the page.
            gates: Each gate as it was written, and why it failed or None.
        """
        return self._render_page(frame="frame.html", title=title, gates=gates)

    def _repr_html_(self) -> str:
        return self._render_page(frame="fragment.html")

    def _render_page(self, *, gates: Sequence[tuple[str, str | None]] = (), **more: Any) -> str:
        """Render the comparison as a page, or as a part of a notebook."""
        return self._render(
            "comparison.html",
            language="en",
            gates=gates,
            conclusion=conclusion,
            describe_other_run=describe_other_run,
            **more,
        )

    def _render_text(self, *, markdown: bool) -> str:
        """Render the comparison as text or as Markdown."""
        return self._render(
            "comparison.txt",
            form=TextForm(markdown),
            most=MAX_ITEMS_SHOWN,
            describe_verdict=conclusion if markdown else list_clauses,
            unit_lines=unit_lines,
        )

    def _render(self, template: str, **more: Any) -> str:
        """Fill in a template with all comparisons."""
        return render(
            template,
            runs=self._list_runs(),
            table=self._build_table(),
            build_groups=partial(_build_named_table, "group"),
            shown=lambda text: clean(text, MAX_TEXT_CHARACTERS),
            heading=heading,
            lists=unit_lists,
            worst_line=worst_line,
            **more,
        )


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Comparison(_Shown):
    """The results of a comparison of two runs on the same samples. As a string, it is a table with the lost and won units.

    Attributes:
        origins: The origins of both runs: file, judge, library and commit.
        samples: How many samples are in both runs.
        only_before: Names of the samples that only the first run has.
        only_after: Names of the samples that only the second run has.
        clusters: The number of clusters of samples; None if the caller named no clusters.
        metrics: One for each metric that both runs have.
        groups: The same by group of samples, where groups were asked for.
        lost: Units that only the first run supports.
        won: Units that only the second run supports.
        worst: Samples whose score fell most, ten a metric at most.
        notes: Notes for the reader: allowed differences, and metrics that only one run has.
        stages: The stages of the retrieval in both runs; None if no sample has stages in both.
    """

    origins: tuple[Origin, Origin]
    samples: int
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    clusters: int | None
    metrics: tuple[Difference, ...]
    groups: Mapping[str, tuple[Difference, ...]]
    lost: tuple[ChangedUnit, ...]
    won: tuple[ChangedUnit, ...]
    worst: tuple[Worse, ...]
    notes: tuple[str, ...]
    stages: ComparedStages | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain JSON-ready data. It has ``stages`` if samples have stages."""
        data = Plain.to_dict(self)
        if data["stages"] is None:
            del data["stages"]
        return data

    def _list_runs(self) -> Mapping[str, Comparison]:
        return {"": self}

    def _build_table(self) -> Table:
        return build_table(self.metrics)

    def __getitem__(self, metric: str) -> Difference:
        for item in self.metrics:
            if item.name == metric:
                return item
        names = ", ".join(item.name for item in self.metrics)
        raise KeyError(f"{metric!r}; this comparison has: {names}")


@dataclass(frozen=True, slots=True, repr=False)
class Comparisons(_Shown):
    """Several runs, each compared with the same baseline. As a string, it is one table, with the units that each lost and won.

    Attributes:
        runs: The comparisons, by the names of the runs.
    """

    runs: Mapping[str, Comparison]

    def _list_runs(self) -> Mapping[str, Comparison]:
        return self.runs

    def _build_table(self) -> Table:
        return _build_named_table("run", {name: run.metrics for name, run in self.runs.items()})


def _build_named_table(title: str, parts: Mapping[str, Sequence[Difference]]) -> Table:
    """Build one table of several runs, or of several groups: for each metric all of them."""
    # The rows of each metric: the name of a run or group, and its difference.
    rows: dict[str, list[tuple[str, Difference]]] = {}
    for name, items in parts.items():
        for item in items:
            rows.setdefault(item.name, []).append((clean(name, MAX_TEXT_CHARACTERS), item))
    named_items = list(chain.from_iterable(rows.values()))
    table = build_table([item for _, item in named_items])
    return table.with_names(title, [name for name, _ in named_items])


def build_table(items: Sequence[Difference]) -> Table:
    """Build a table of differences, with the column of the verdicts by adjusted p values if a row has one."""
    has_adjusted_p = any(
        item.p_adjusted is not None and item.p_adjusted > item.basis.p for item in items
    )
    columns = _DIFFERENCE_COLUMNS
    if has_adjusted_p:
        columns = (*_DIFFERENCE_COLUMNS, _DECISION_COLUMN)
    return Table.build(columns, items)


def _describe_decision(item: Difference) -> str:
    """Describe the verdict about a metric, and the p value that decides."""
    return "-" if item.p_adjusted is None else f"{item.verdict} ({format_p(item.p_adjusted)})"


def format_number(value: float, item: Difference, *, sign: str = "") -> str:
    """Format a value of a metric with the decimals of its scale."""
    return format(value, _get_number_format(item, sign))


def format_difference(item: Difference) -> str:
    """Write the difference of a metric."""
    return format_number(item.difference, item, sign="+")


def format_ends(item: Difference) -> str:
    """Write the interval of the difference of a metric."""
    return format_interval(item.interval, _get_number_format(item, "+"))


def _get_number_format(item: Difference, sign: str = "") -> str:
    """Return the format of the values of a metric: three decimals up to the scale 1, else one."""
    return f"{sign}.3f" if item.scale <= 1 else f"{sign}.1f"


# The columns of the table of differences. The interval and the p value of a row are not adjusted for the other rows.
_DIFFERENCE_COLUMNS: Sequence[Column[Difference]] = (
    Column("metric", attrgetter("name")),
    Column(
        "first",
        lambda item: format_number(item.before, item),
        bar=lambda item: Bar(item.before / item.scale),
    ),
    Column(
        "second",
        lambda item: format_number(item.after, item),
        bar=lambda item: Bar(item.after / item.scale),
    ),
    Column("difference", format_difference),
    Column("95 % interval", format_ends),
    Column("p", lambda item: format_p(item.p)),
    Column("better", attrgetter("better")),
    Column("worse", attrgetter("worse")),
    Column("equal", attrgetter("equal")),
)
# The last column, if p values are adjusted.
_DECISION_COLUMN: Column[Difference] = Column("verdict by Holm's p", _describe_decision)


def heading(comparison: Comparison) -> str:
    """Describe in one line which samples were compared."""
    text = f"{plural(comparison.samples, 'sample')} in both runs"
    before, after = len(comparison.only_before), len(comparison.only_after)
    if before or after:
        text += f", {before} in the first only, {after} in the second only"
    if comparison.clusters is not None:
        text += f", in {plural(comparison.clusters, 'cluster')}"
    return f"{text}; differences are second minus first"


def conclusion(item: Difference) -> str:
    """Describe the figures of a metric in one sentence."""
    return f"{'; '.join(build_clauses(item))}."


def list_clauses(item: Difference) -> str:
    """Return the sentence about a metric with each clause on a separate line."""
    return "\n    ".join(build_clauses(item))


def build_clauses(item: Difference) -> list[str]:
    """Build the clauses of the sentence about a metric."""
    verdict = f"{item.name}: {item.verdict or 'secondary, no verdict'}"
    if item.verdict in {"better", "worse"}:
        verdict += f" by {format_number(abs(item.basis.difference), item)}"
    clauses = [verdict]
    if item.few:
        clauses.append(
            f"{plural(item.basis.changed, 'sample')} changed; a run is called better or worse from {MIN_CHANGED_SAMPLES} on"
        )
    if item.verdict == "no difference shown" and item.detectable:
        clauses.append(f"{describe_power(format_number(item.detectable, item))} such comparisons")
    if item.passed is not None:
        before, after = item.passed
        clauses.append(f"pass mark reached by {before} of {item.samples}, then by {after}")
    if item.unpaired:
        clauses.append(f"{plural(item.unpaired, 'sample', 'has', 'have')} no value in one of the runs")
    if item.causes is not None:
        clauses += _describe_causes(item.causes)
    if item.corrected is not None:
        describe = _describe_audited if item.corrected.by_audit else _describe_corrected
        clauses += describe(item, item.corrected)
    return clauses


def _describe_causes(causes: Causes) -> Iterator[str]:
    """Yield how many changes have other contexts, and how often the judge changed and nothing else did."""
    changed = causes.other_contexts + causes.same_contexts
    if changed:
        cause = ": the judge" if causes.same_contexts else ""
        yield (
            f"{causes.other_contexts} of {plural(changed, 'change')} with other contexts, "
            f"{causes.same_contexts} with the same{cause}"
        )
    if causes.different:
        yield (
            f"the judge's instability: {causes.different} of {plural(causes.verdicts, 'verdict')} on equal requests "
            f"{'differs' if causes.different == 1 else 'differ'} ({causes.instability:.3f})"
        )


def describe_power(difference: str) -> str:
    """Describe the power of a test for a difference. The sentence goes on with the kind of comparisons."""
    return f"a true difference of {difference} is found in 4 of 5"


def _describe_corrected(item: Difference, corrected: Corrected) -> Iterator[str]:
    """Yield the difference that people's labels correct, who decides, and how the judge's own stands to it."""
    yield f"corrected by {describe_labels(item, corrected)}"
    judge = (
        f"the judge alone shows {format_number(item.difference, item, sign='+')} (p {format_p(item.p)})"
    )
    judge_direction = _direction(item)
    if item.basis is item:
        text = "the judge decides"
        if judge_direction * corrected.difference > 0:
            text += ": the labels do not speak against it"
        elif judge_direction:
            text += (
                f": {count_labels(corrected)} show another difference, but are too few to overrule it"
            )
        elif corrected.contradict(item.difference):
            text += f": {judge}, the labels another difference, which they do not tell from 0"
        yield text
    elif judge_direction == _direction(corrected):
        yield "the labels decide"
    elif judge_direction:
        yield f"the labels decide: {judge}, and they speak against it"
    else:
        yield f"the labels decide: {judge}"


def _describe_audited(item: Difference, corrected: Corrected) -> Iterator[str]:
    """Yield the difference that an audit of the gold corrects, and whether the decision survives it."""
    yield f"corrected by {describe_labels(item, corrected)}"
    gold = (
        f"the gold alone shows {format_number(item.difference, item, sign='+')} (p {format_p(item.p)})"
    )
    if item.survives:
        yield "the decision survives the audit"
    elif item.survives is False:
        yield f"the decision does not survive the audit: {gold}"
    elif item.basis is corrected:
        yield f"the audit decides: {gold}"


def count_labels(corrected: Corrected) -> str:
    """Return how many independent labels there are, in words."""
    return plural(int(corrected.size), "label")


def describe_labels(item: Difference, corrected: Corrected) -> str:
    """Describe how many labels there are, and the corrected difference with its interval."""
    mean = format_number(corrected.difference, item, sign="+")
    interval = "none changed"
    if corrected.interval is not None:
        interval = format_interval(corrected.interval, _get_number_format(item, "+"))
    if corrected.by_audit:
        return f"{plural(corrected.labelled, 'audited sample')}: {mean} ({interval})"
    labelled = plural(corrected.labelled, "sample")
    return f"{labelled} with labels in both runs: {mean} ({interval})"


def _direction(item: Difference | Corrected) -> int:
    """Return 1 if a difference is shown to be above 0, -1 below, 0 if none is shown."""
    if item.p > SIGNIFICANCE_LEVEL or not item.difference:
        return 0
    return 1 if item.difference > 0 else -1


def unit_lists(comparison: Comparison) -> tuple[tuple[str, Sequence[ChangedUnit]], ...]:
    """Return the lost and the won units, each with a title."""
    return (
        ("Lost, supported by the first run only", comparison.lost),
        ("Won, supported by the second run only", comparison.won),
    )


def unit_lines(unit: ChangedUnit) -> Iterator[str]:
    """Yield the question of a unit, and the contexts that supported it."""
    if unit.user_input:
        yield f"question: {clean(unit.user_input, MAX_TEXT_CHARACTERS)}"
    for held_context in unit.contexts:
        quote = f': "{clean(held_context.quote, MAX_TEXT_CHARACTERS)}"' if held_context.quote else ""
        yield f"context {held_context.rank} {describe_other_run(held_context)}{quote}"


def describe_other_run(held: Held, there: str = "by the other run") -> str:
    """Say whether the other run retrieved a context, in words that follow its rank."""
    if held.retrieved_by_both:
        return f"was retrieved {there}, too"
    if held.retrieved_by_both is False:
        return f"was not retrieved {there}"
    return _UNKNOWN_REASONS[held.unknown or "hashes"].format(there=there)


def worst_line(comparison: Comparison, item: Worse) -> str:
    """Return one of the samples that fell, in a line."""
    metric = comparison[item.metric]
    question = "" if item.user_input is None else f": {clean(item.user_input, MAX_TEXT_CHARACTERS)}"
    values = f"{format_number(item.before, metric)} to {format_number(item.after, metric)}"
    contexts = {True: ", same contexts", False: ", other contexts", None: ""}[item.same_contexts]
    return f"{clean(item.sample_id, MAX_TEXT_CHARACTERS)}, {item.metric} {values}{contexts}{question}"
