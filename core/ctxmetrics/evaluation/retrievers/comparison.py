"""The results of a comparison of retrievers, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, Plain, to_json_data
from ctxmetrics.evaluation.comparison.differences import Difference
from ctxmetrics.evaluation.comparison.view import Comparisons
from ctxmetrics.evaluation.report.curve import CurvePoint
from ctxmetrics.evaluation.report.summary import Controls
from ctxmetrics.evaluation.retrievers.nothing import (
    DEFAULT_KEPT_SHARE,
    ReturnedNothing,
    measure_returned_nothing,
)
from ctxmetrics.evaluation.retrievers.retrieval import CallFigures
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import Usage


@dataclass(frozen=True, slots=True)
class Setting:
    """One retriever: its scores, and figures of its calls.

    Attributes:
        name: The name of the setting.
        results: The scores of the setting, one row for each question.
        calls: The figures of its calls: time and errors.
        is_floor: Whether it is the floor: a retriever of the library itself.
        scores: For each question the scores of its contexts, in their order; None if they have none.
        relevance: For each question without an answer what the judge says of its contexts; empty if none was asked.
    """

    name: str
    results: Results
    calls: CallFigures
    is_floor: bool = False
    scores: tuple[tuple[float, ...] | None, ...] = ()
    relevance: tuple[Score | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFigures(Plain):
    """The figures of the judged pools.

    Attributes:
        questions: Pools that the judge was asked about, one a question and reference.
        alone: Sets of contexts that it was asked about alone as well.
        apart: Sets of contexts that it would be asked about if each setting were judged alone.
        settings: The number of settings.
        shared: The mean share of a setting's contexts that another setting has, too.
    """

    questions: int
    alone: int
    apart: int
    settings: int
    shared: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The floor of a comparison: BM25 and chance need no retriever of their own.

    Attributes:
        setting: The name of the setting that BM25 is.
        about: The library and its parameters, and the corpus.
        chunks: How many chunks the corpus has.
        random: The mean that chance would have, by metric; only if there is a closed form.
        comparisons: Each of the other settings with BM25; None if none has a value.
    """

    setting: str
    about: str
    chunks: int
    random: Mapping[str, float]
    comparisons: Comparisons | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON-ready data, with the differences of the settings to BM25."""
        runs = {} if self.comparisons is None else self.comparisons.runs
        differences = {name: to_json_data(run.metrics) for name, run in runs.items()}
        return {
            "setting": self.setting,
            "about": self.about,
            "chunks": self.chunks,
            "random": to_json_data(self.random),
            "differences": differences,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling(Plain):
    """The best mean that the settings could reach.

    Attributes:
        metric: The metric.
        best: The mean over the questions of the best setting's value.
        together: The mean of the contexts of all settings together: a perfect reranker over them could reach it, if k is large
            enough. None if more contexts can lower the value of the metric, or if it would cost requests.
        questions: How many questions have a value in all settings.
    """

    metric: str
    best: float
    together: float | None
    questions: int


@dataclass(frozen=True, slots=True)
class UnitAcross(Plain):
    """One unit of a question in all settings.

    Attributes:
        id: The id of the unit.
        text: The text of the unit.
        ranks: For each setting the rank of the first context that states it or a part of it; None if it is not supported.
    """

    id: str
    text: str
    ranks: Mapping[str, int | None]

    @property
    def lost_by(self) -> tuple[str, ...]:
        """The settings that do not support it, if another does."""
        if not any(self.ranks.values()):
            return ()
        return tuple(name for name, rank in self.ranks.items() if rank is None)


@dataclass(frozen=True, slots=True)
class QuestionAcross(Plain):
    """One question in all settings.

    Attributes:
        name: The id of the question, else its number.
        user_input: The question.
        metric: The metric that counts the units.
        values: The value of the question in each setting.
        units: The units.
    """

    name: str
    user_input: str | None
    metric: str
    values: Mapping[str, float | None]
    units: tuple[UnitAcross, ...]
    rows: Mapping[str, Row] = field(default=EMPTY, repr=False, compare=False)

    @property
    def lost(self) -> int:
        """The number of units that a setting lost and another setting supports, over all settings."""
        return sum(len(unit.lost_by) for unit in self.units)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON-ready data, without the rows."""
        names = ("name", "user_input", "metric", "values", "units")
        return {name: to_json_data(getattr(self, name)) for name in names}


@dataclass(slots=True, repr=False, kw_only=True)
class RetrieverFigures:
    """The results of a comparison of retrievers. `RetrieverComparison` shows them.

    Attributes:
        settings: The retrievers by name; the first is what the others are compared with.
        comparisons: Each of the others with the first, as `compare` makes it, p values adjusted over settings and primary
            metrics; None if there is one setting, or none has a value.
        floor: BM25 and chance over the corpus; None if there is none.
        ceilings: For each metric, the means of the best setting of each question and of all settings together.
        pools: The figures of the judged pools; None if each setting was judged alone.
        k: How many contexts of each setting count.
        usage: Calls and tokens of all judging.
        stopped: Why the run ended early, or None.
        controls: The verdicts about control samples; None if the run had none.
        started: When the run began.
        notes: Notes for the reader.
        seconds: How long the run took.
    """

    settings: Mapping[str, Setting]
    comparisons: Comparisons | None
    ceilings: tuple[Ceiling, ...]
    pools: PoolFigures | None
    k: int
    usage: Usage
    stopped: str | None
    controls: Controls | None
    started: str | None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    floor: Floor | None = None

    def __getitem__(self, name: str) -> Setting:
        if name not in self.settings:
            raise KeyError(f"{name!r}; this comparison has: {', '.join(self.settings)}")
        return self.settings[name]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics' names."""
        return self._first_setting.results.metrics

    @property
    def retrieved(self) -> list[str]:
        """The names of the settings that are retrievers of the caller, not floors."""
        return [name for name, setting in self.settings.items() if not setting.is_floor]

    @property
    def questions(self) -> int:
        """The number of questions."""
        return len(self._first_setting.results)

    @property
    def _first_setting(self) -> Setting:
        """The setting that the others are compared with."""
        first_name = next(iter(self.settings))
        return self.settings[first_name]

    @property
    def errors(self) -> int:
        """How many calls of retrievers failed, over all settings."""
        return sum(setting.calls.errors for setting in self.settings.values())

    def difference(self, setting: str, metric: str) -> Difference | None:
        """Return a setting's difference to the first in a metric. Return None if there is none."""
        runs = {} if self.comparisons is None else self.comparisons.runs
        if setting not in runs:
            return None
        return next((item for item in runs[setting].metrics if item.name == metric), None)

    def nothing(self, keep: float = DEFAULT_KEPT_SHARE) -> dict[str, ReturnedNothing]:
        """Return how often each setting returned nothing, or nothing useful, for a question without an answer.

        Without such questions the mapping is empty.

        If the results have scores, the figures also say what a threshold on the scores would do, and which highest threshold
        keeps a share of the recall.

        Args:
            keep: The share of the recall, above 0, up to 1.

        Raises:
            ParameterError: ``keep`` is not above 0 and up to 1.
        """
        check_number("nothing: keep", keep, 1e-9, 1)
        metric = self._find_metric_of_relevance()
        rows_by_setting: dict[str, ReturnedNothing] = {}
        for name, setting in self.settings.items():
            returned_nothing = measure_returned_nothing(
                setting.results, setting.scores, setting.relevance, metric, keep
            )
            if returned_nothing is not None:
                rows_by_setting[name] = returned_nothing
        return rows_by_setting

    def list_questions(self) -> list[QuestionAcross]:
        """Return the questions with their units, by the first metric that counts units. Most lost units come first."""
        metric = self._find_metric_of_relevance()
        if metric is None:
            return []
        questions = list(self._compare_questions(metric))
        return sorted(questions, key=lambda question: -question.lost)

    def curves(self) -> dict[str, dict[str, list[CurvePoint]]]:
        """Return by metric, for each setting, the points over k. Only metrics that count the units of a reference have points.

        The last k is the largest number of contexts that a setting returned, at most `k`.
        """
        curves: dict[str, dict[str, list[CurvePoint]]] = {}
        largest_count = 1
        for setting in self.settings.values():
            for row in setting.results:
                largest_count = max(largest_count, len(row.fields.retrieved_contexts or ()))
        ks = range(1, min(self.k, largest_count) + 1)
        for metric in self.metrics:
            lines = {}
            for name, setting in self.settings.items():
                # A score at a smaller k is computed from the contexts that the score knows.
                has_contexts = any(row[metric].context_lengths is not None for row in setting.results)
                if has_contexts:
                    lines[name] = [*setting.results.curve(ks, [metric])]
            if lines:
                curves[metric] = lines
        return curves

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain JSON-ready data."""
        runs = {} if self.comparisons is None else self.comparisons.runs
        settings = {}
        for name, setting in self.settings.items():
            settings[name] = {
                "metrics": to_json_data(dict(setting.results.summary())),
                "calls": setting.calls.to_dict(),
                "differences": to_json_data(runs[name].metrics) if name in runs else None,
            }
        return {
            "questions": self.questions,
            "k": self.k,
            "settings": settings,
            "floor": to_json_data(self.floor),
            "ceilings": to_json_data(self.ceilings),
            "nothing": to_json_data(self.nothing()),
            "pools": to_json_data(self.pools),
            "lost": [to_json_data(question) for question in self.list_questions() if question.lost],
            "usage": self.usage.to_dict(),
            "seconds": self.seconds,
            "started": self.started,
            "stopped": self.stopped,
            "notes": [*self.notes],
        }

    def _find_metric_of_relevance(self) -> str | None:
        """Find the first metric whose verdicts are about the units of a reference, else the recall of ids."""
        for metric in self.metrics:
            for setting in self.settings.values():
                # Only scores about the units of a reference have the lengths of the contexts.
                # A score at a smaller k is computed from the contexts that the score knows.
                has_contexts = any(row[metric].context_lengths is not None for row in setting.results)
                if has_contexts:
                    return metric
        for metric in self.metrics:
            if metric.startswith("id_based_context_recall"):
                return metric
        return None

    def _compare_questions(self, metric: str) -> Iterator[QuestionAcross]:
        """Yield each question whose units are the same in all settings, with the rank of each unit in each setting."""
        results = [setting.results for setting in self.settings.values()]
        for rows in zip(*results, strict=True):
            rows_by_setting: dict[str, Row] = dict(zip(self.settings, rows, strict=True))
            scored_rows = {
                name: row for name, row in rows_by_setting.items() if row[metric].value is not None
            }
            # A setting that retrieved nothing has no verdicts.
            verdict_lists = [
                row[metric].verdicts for row in scored_rows.values() if row[metric].verdicts
            ]
            if not verdict_lists or not _have_same_units(verdict_lists):
                continue
            units: list[UnitAcross] = []
            for index, verdict in enumerate(verdict_lists[0]):
                ranks = {name: _find_rank(row, metric, index) for name, row in scored_rows.items()}
                units.append(UnitAcross(verdict.id, verdict.text or verdict.id, ranks))
            yield QuestionAcross(
                name=rows[0].name,
                user_input=rows[0].fields.user_input,
                metric=metric,
                values={name: row[metric].value for name, row in rows_by_setting.items()},
                units=tuple(units),
                rows=rows_by_setting,
            )


def _have_same_units(verdict_lists: Sequence[Sequence[Any]]) -> bool:
    """Tell whether the verdicts of all settings are about the same units."""
    unit_lists = [[(verdict.id, verdict.text) for verdict in verdicts] for verdicts in verdict_lists]
    return all(units == unit_lists[0] for units in unit_lists)


def _find_rank(row: Row, metric: str, index: int) -> int | None:
    """Find the rank of the first context that supports a unit. Return None if no context supports it.

    Args:
        row: The row of a question in one setting.
        metric: The name of the metric.
        index: The index of the unit among the verdicts.
    """
    verdicts = row[metric].verdicts
    if not verdicts:
        return None
    verdict = verdicts[index]
    if verdict.value is not True:
        return None
    if verdict.evidence:
        return min(span.context for span in verdict.evidence) + 1
    ids = row.fields.retrieved_context_ids or ()
    return ids.index(verdict.id) + 1 if verdict.id in ids else 1


def find_ceilings(settings: Mapping[str, Results], together: Mapping[int, Row]) -> tuple[Ceiling, ...]:
    """Compute for each metric the mean of the best setting of each question, and the mean of all settings together.

    Args:
        settings: The results of each setting.
        together: By the index of a question, the scores of the contexts of all settings together. It has only the metrics that
            more contexts can only raise.
    """
    if len(settings) < 2:  # noqa: PLR2004 - one setting is its own ceiling
        return ()
    ceilings: list[Ceiling] = []
    metrics = next(iter(settings.values())).metrics
    for metric in metrics:
        best_values: list[float] = []
        values_of_joined_contexts: list[float] = []
        for index, rows in enumerate(zip(*settings.values(), strict=True)):
            values = [row[metric].value for row in rows if row[metric].value is not None]
            if len(values) < len(rows):  # a setting has no value
                continue
            best_value = max(values)
            best_values.append(best_value)
            row_together = together.get(index)
            if row_together is not None and metric in row_together:
                value = row_together[metric].value
                if value is not None:
                    # More contexts can confuse the judge. But a reranker could keep only the contexts of the best setting.
                    values_of_joined_contexts.append(max(value, best_value))
        if best_values:
            are_all_joined = len(values_of_joined_contexts) == len(best_values)
            ceilings.append(
                Ceiling(
                    metric=metric,
                    best=fmean(best_values),
                    together=fmean(values_of_joined_contexts) if are_all_joined else None,
                    questions=len(best_values),
                )
            )
    return tuple(ceilings)


def measure_shared(settings: Sequence[Sequence[Sample | None]]) -> float | None:
    """Return the mean share of a setting's contexts that another setting has too. Return None if there is no context."""
    shared_count = 0
    total_count = 0
    for samples_of_question in zip(*settings, strict=True):
        context_sets = [
            set(sample.retrieved_contexts or ()) for sample in samples_of_question if sample is not None
        ]
        for index, contexts in enumerate(context_sets):
            other_sets = context_sets[:index] + context_sets[index + 1 :]
            other_contexts = set[str]().union(*other_sets)
            shared_count += len(contexts & other_contexts)
            total_count += len(contexts)
    return shared_count / total_count if total_count else None
