"""A comparison of two runs: its figures as plain data, and as text for a terminal, as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.comparison.changed_units import ChangedUnit, FallenSample, SupportingContext
from ctxmetrics.evaluation.comparison.compared_stages import ComparedStages
from ctxmetrics.evaluation.comparison.difference_sentences import (
    describe_metric,
    describe_metric_in_lines,
    describe_other_run,
    list_unit_lines,
)
from ctxmetrics.evaluation.comparison.difference_table import (
    MAX_TEXT_CHARACTERS,
    build_named_table,
    build_table,
    format_number,
)
from ctxmetrics.evaluation.comparison.differences import Causes, CorrectedDifference, Difference
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.tables import Table
from ctxmetrics.evaluation.pages.text_forms import TextForm
from ctxmetrics.evaluation.rows.provenances import Origin
from ctxmetrics.scores.wording import clean, plural

# The maximum number of units and of samples that the text shows. JSON and the page hold all.
_MAX_ITEMS_SHOWN = 10
# A pickle names the module and the class as they were when it was written. Users keep pickles of comparisons, so these classes,
# which stood in this module under these names, are still found here.
_CLASSES_OF_EARLIER_PICKLES = {
    "Causes": Causes,
    "Corrected": CorrectedDifference,
    "Held": SupportingContext,
    "Worse": FallenSample,
}


def __getattr__(name: str) -> type[Plain]:
    """Return a class by its name in earlier pickles."""
    if name in _CLASSES_OF_EARLIER_PICKLES:
        return _CLASSES_OF_EARLIER_PICKLES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _ShownComparison(Plain):
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
            describe_metric=describe_metric,
            describe_other_run=describe_other_run,
            **more,
        )

    def _render_text(self, *, markdown: bool) -> str:
        """Render the comparison as text or as Markdown."""
        return self._render(
            "comparison.txt",
            form=TextForm(markdown),
            max_items=_MAX_ITEMS_SHOWN,
            describe_metric=describe_metric if markdown else describe_metric_in_lines,
            list_unit_lines=list_unit_lines,
        )

    def _render(self, template: str, **more: Any) -> str:
        """Fill in a template with all comparisons."""
        return render(
            template,
            runs=self._list_runs(),
            table=self._build_table(),
            build_groups=partial(build_named_table, "group"),
            shorten=lambda text: clean(text, MAX_TEXT_CHARACTERS),
            describe_samples=_describe_samples,
            list_changed_units=_list_changed_units,
            describe_fallen_sample=_describe_fallen_sample,
            **more,
        )


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Comparison(_ShownComparison):
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
    worst: tuple[FallenSample, ...]
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
class Comparisons(_ShownComparison):
    """Several runs, each compared with the same baseline. As a string, it is one table, with the units that each lost and won.

    Attributes:
        runs: The comparisons, by the names of the runs.
    """

    runs: Mapping[str, Comparison]

    def _list_runs(self) -> Mapping[str, Comparison]:
        return self.runs

    def _build_table(self) -> Table:
        return build_named_table("run", {name: run.metrics for name, run in self.runs.items()})


def _describe_samples(comparison: Comparison) -> str:
    """Describe in one line which samples were compared."""
    text = f"{plural(comparison.samples, 'sample')} in both runs"
    only_before = len(comparison.only_before)
    only_after = len(comparison.only_after)
    if only_before or only_after:
        text += f", {only_before} in the first only, {only_after} in the second only"
    if comparison.clusters is not None:
        text += f", in {plural(comparison.clusters, 'cluster')}"
    return f"{text}; differences are second minus first"


def _list_changed_units(comparison: Comparison) -> tuple[tuple[str, Sequence[ChangedUnit]], ...]:
    """Return the lost and the won units, each with a title."""
    return (
        ("Lost, supported by the first run only", comparison.lost),
        ("Won, supported by the second run only", comparison.won),
    )


def _describe_fallen_sample(comparison: Comparison, item: FallenSample) -> str:
    """Return one of the samples that fell, in a line."""
    metric = comparison[item.metric]
    question = "" if item.user_input is None else f": {clean(item.user_input, MAX_TEXT_CHARACTERS)}"
    values = f"{format_number(item.before, metric)} to {format_number(item.after, metric)}"
    contexts = {True: ", same contexts", False: ", other contexts", None: ""}[item.same_contexts]
    return f"{clean(item.sample_id, MAX_TEXT_CHARACTERS)}, {item.metric} {values}{contexts}{question}"
