"""Builds the samples, the metrics and the judge from the options of a command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ctxmetrics._internal.call_text import parse_value
from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.evaluation.cli._options import SampleFile, Selection, read_text, split_pair
from ctxmetrics.evaluation.cli._terminal import print_message, print_warnings_at_end
from ctxmetrics.evaluation.files.aegis import THRESHOLD_SCALE, Payload
from ctxmetrics.evaluation.files.recognition import AUTO
from ctxmetrics.evaluation.files.row_file import RowFile
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.runs.sources import check_present, describe_facts
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import OPTION as JUDGE_OPTION
from ctxmetrics.judges.judge_names import read_judge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import METRICS
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.metrics.metric_names import OPTION as METRIC_OPTION
from ctxmetrics.metrics.metric_names import read_metric
from ctxmetrics.samples.documents import are_span_ids
from ctxmetrics.samples.field_keys import RETRIEVED
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import join_first
from ctxmetrics.samples.systems import fields_meant, join_options, suggest_field
from ctxmetrics.scores.conventions import CONVENTIONS

# The ending of an ``--only`` that names the samples that failed in an earlier run.
FAILED_ENDING = ".failed"


def choose_convention(schema: str | None, convention: str | None) -> str:
    """Choose the convention: of the option, else the convention with the schema's name, else the default."""
    if convention:
        return convention
    if schema is not None and schema in CONVENTIONS:
        return schema
    return "default"


def open_samples(source: SampleFile, by: str | None = None) -> RowFile[Sample]:
    """Open a file of samples, which gives them one at a time.

    Args:
        source: The file.
        by: As for `read_samples`.

    Raises:
        ParameterError: A ``--map`` is no ``COLUMN=FIELD``, or an ``--only`` no ``COLUMN=VALUE``.
    """
    mapping = {}
    for text in source.columns or ():
        example = "question=user_input"
        likely_fields = fields_meant(text)
        if likely_fields:
            example = f"{text}={likely_fields[0]}"
        form = f"COLUMN=FIELD, such as {example}"
        column, field_name = split_pair("--map", text, form, read=read_text, split_at_last=True)
        mapping[column] = field_name
    options = {**vars(source), "by": by, "only": _read_only(source.only)}
    for name in ("file", "schema", "columns", "names"):
        del options[name]
    if source.names:
        options["header"] = source.names.split(",")
    return read_samples(source.file, source.schema or AUTO, mapping, **options)


def _read_only(texts: Sequence[str] | None) -> dict[str, str]:
    """Read the columns of ``--only COLUMN=VALUE``, each with its value. ``--only RESULTS.failed`` names no column."""
    form = f"COLUMN=VALUE, such as system=bm25, or RESULTS{FAILED_ENDING}"
    values: dict[str, str] = {}
    for text in texts or ():
        if not text.endswith(FAILED_ENDING):
            column, value = split_pair("--only", text, form, read=read_text)
            values[column] = value
    return values


def load_samples(source: SampleFile | RowFile[Sample]) -> list[Sample]:
    """Read all samples of a file, and print the decisions about its columns."""
    with print_warnings_at_end():
        return list(open_samples(source) if isinstance(source, SampleFile) else source)


def build_task(
    source: SampleFile,
    selection: Selection,
    judge: Judge,
    *,
    as_list: bool = True,
    by: str | None = None,
) -> tuple[Any, list[Metric], Payload | None]:
    """Build the samples, the metrics, and what a request to Aegis says beside them, if the file is one.

    Args:
        source: The file. Its samples are a list, or are read as the run goes on.
        selection: The metrics. Without ``--metric``: the metrics that a request to Aegis names, else every metric that fits.
        judge: The judge that will judge.
        as_list: Whether the samples must be a list. Without ``--metric`` they are always one: it shows which metrics fit.
        by: As for `read_samples`.
    """
    file = open_samples(source, by)
    convention = choose_convention(source.schema, selection.convention)
    payload = file.payload
    samples: Any = file
    if as_list or not selection.metric:
        samples = load_samples(file)
    if selection.metric:
        chosen_metrics = [build_metric(name, convention) for name in selection.metric]
        if as_list:
            _check_fields(samples, chosen_metrics, file.list_plans())
        return samples, chosen_metrics, payload
    if payload is None or not payload.metrics:
        fitting_metrics = list_fitting_metrics(samples, convention, judge, file.plan)
        return samples, fitting_metrics, payload
    metrics = []
    for name in payload.metrics:
        metric = build_metric(name, convention)
        if payload.threshold is not None:  # on the convention's scale
            metric = replace(
                metric, threshold=metric.to_convention_scale(payload.threshold / THRESHOLD_SCALE)
            )
        metrics.append(metric)
    return samples, metrics, payload


def build_judge(
    judge: str,
    base_url: str | None,
    max_characters: int | None = None,
    reply_format: str | None = None,
    judge_option: Sequence[str] | None = None,
    *,
    api_key: str | None = None,
) -> Judge:
    """Build the judge of ``--judge``, with the options of `ctxmetrics.evaluation.cli._options.Asking`.

    Raises:
        ParameterError: A ``--judge-option`` is no NAME=VALUE, or as `ctxmetrics.judges.judge_names.read_judge` raises.
    """
    options: dict[str, Any] = {}
    for text in judge_option or ():
        form = "NAME=VALUE, such as max_tokens=4000"
        name, value = split_pair("--judge-option", text, form, read=str.strip)
        options[name.strip().replace("-", "_")] = parse_value(value)
    if reply_format is not None:
        options["reply_format"] = reply_format
    return read_judge(
        judge,
        base_url=base_url,
        max_characters=max_characters,
        api_key=api_key,
        options=options,
        place=JUDGE_OPTION,
    )


def build_metric(text: str, convention: str) -> Metric:
    """Build a metric of ``--metric``.

    Raises:
        ParameterError: As `ctxmetrics.metrics.metric_names.read_metric` raises.
    """
    return read_metric(text, convention, place=METRIC_OPTION)


def list_fitting_metrics(
    samples: Sequence[Sample],
    convention: str,
    judge: Judge,
    plan: Plan | None = None,
) -> list[Metric]:
    """Build every metric whose fields some sample has.

    Facts are counted if no sample has a reference. If a model judges the references, metrics of the response are left out: they
    would cost another request for each sample.

    Args:
        samples: The samples.
        convention: The convention of the metrics.
        judge: The judge.
        plan: How the file is read. It knows the columns, and the lists that were read as no field.

    Raises:
        ParameterError: No metric fits.
    """
    fitting_metrics: list[Metric] = []
    has_references = any(sample.reference is not None for sample in samples)
    has_facts = any(sample.reference_facts is not None for sample in samples)
    if has_facts and has_references:
        print_message(
            "note: reference_facts are counted where they are asked for: --metric 'context_recall(unit=fact)'"
        )
    counts_facts = has_facts and not has_references
    for metric_class in METRICS.values():
        metric = metric_class(convention=convention)
        if counts_facts and isinstance(metric, JudgedMetric) and metric.answer_field == "reference":
            metric = replace(metric, unit="fact")
        if not has_all_fields(samples, metric.requires):
            continue
        if isinstance(metric, JudgedMetric):
            metric.with_judge(judge)  # raises if the judge cannot do what the metric asks
        fitting_metrics.append(metric)
    if getattr(judge, "waits", True):
        fitting_metrics = _drop_second_requests(fitting_metrics)
    if any(are_span_ids(sample.reference_context_ids) for sample in samples):
        print_message(
            "note: reference_context_ids are spans, which id metrics compare as whole ids. What part of the text was "
            "retrieved: --metric span_based_context_recall --metric span_based_context_precision"
        )
    if not fitting_metrics:
        raise ParameterError(
            "no metric fits: the samples need retrieved_contexts with reference, reference_facts, response or "
            "reference_contexts, or retrieved_context_ids with reference_context_ids."
            f"{suggest_mapping(samples, plan)}"
        )
    return fitting_metrics


def has_all_fields(samples: Iterable[Sample], fields: Sequence[str]) -> bool:
    """Return whether some sample has all of several fields."""
    return any(all(sample.has(name) for name in fields) for sample in samples)


def _drop_second_requests(metrics: Sequence[Metric]) -> list[Metric]:
    """Leave out the metrics that ask a model about the response, if others ask about the reference."""
    judged_metrics = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
    asks_about_both = len({metric.answer_field for metric in judged_metrics}) > 1
    remaining_metrics: list[Metric] = []
    for metric in metrics:
        is_about_response = isinstance(metric, JudgedMetric) and metric.answer_field == "response"
        if asks_about_both and is_about_response:
            print_message(
                f"note: {metric.name} is left out: it asks about the response, with another request a sample. "
                f"--metric {metric.name} scores it"
            )
        else:
            remaining_metrics.append(metric)
    return remaining_metrics


def _check_fields(samples: Sequence[Sample], metrics: Sequence[Metric], plans: Sequence[Plan]) -> None:
    """Check that some sample has each field that metrics need. The error names the columns that may hold missing fields.

    Raises:
        MissingFieldError: Metrics need a field that no sample has.
    """
    missing_fields: list[str] = []
    for metric in metrics:
        for name in metric.requires:
            if name not in missing_fields and not any(sample.has(name) for sample in samples):
                missing_fields.append(name)
    if not samples or not missing_fields:
        return
    try:
        check_present(metrics, missing_fields)
    except MissingFieldError as error:
        if "reference" in missing_fields and any(sample.has("reference_facts") for sample in samples):
            raise MissingFieldError(f"{error}{describe_facts(metrics)}") from None
        options = " ".join(_write_map_option(name, samples, *plans) for name in missing_fields)
        raise MissingFieldError(
            f"{error} Here: {options}.{_list_columns(samples, plans[0])} ctxmetrics inspect FILE shows them."
        ) from None


def suggest_mapping(samples: Sequence[Sample], plan: Plan | None = None) -> str:
    """Advise if no metric fits: name the missing fields, and the columns that may hold them."""
    free_columns = _list_columns(samples, plan)
    unread = () if plan is None else plan.candidates.get("retrieved_contexts", ())
    for retrieved_field, expected_words, expected_field in (
        ("retrieved_contexts", "answer", "reference"),
        ("retrieved_context_ids", "ids", "reference_context_ids"),
    ):
        if any(sample.has(retrieved_field) for sample in samples):
            option = _write_map_option(expected_field, samples, plan)
            return (
                f" Say which column holds the expected {expected_words}: {option}, or give a second file "
                f"that does: --references FILE.{free_columns}"
            )
    has_reference = any(_has_reference(sample) for sample in samples)
    has_ids = any(sample.has("reference_context_ids") for sample in samples)
    if not unread and (has_ids or (has_reference and not free_columns)):
        return " The file says what is expected. Score a file of what was retrieved, with this one as --references FILE."
    expected = ""
    if not has_reference and not any(sample.has("response") for sample in samples):
        option = _write_map_option("reference", samples, plan)
        expected = f". What is expected is missing, too: {option}.{free_columns}"
    option = _write_map_option("retrieved_contexts", samples, plan)
    if unread:
        option = join_options(f"{path}=retrieved_contexts" for path in unread)
        return f" Lists of texts stand in: {', '.join(unread)}. If that is what was retrieved: {option}{expected}"
    return (
        " No column that is left holds a list of texts or documents, so the file seems to hold no retrieved texts. "
        f"Where a column has one text in each row: {option}{expected or '.'}"
    )


def _has_reference(sample: Sample) -> bool:
    """Tell whether a sample has expected items for the retrieved texts."""
    return sample.has("reference") or sample.has("reference_facts") or sample.has("reference_contexts")


def _write_map_option(name: str, samples: Sequence[Sample], *plans: Plan | None) -> str:
    """Write the --map option for a field, one for each column that may hold it. If there is no such column, show how to write the option.

    A column of retrieved items must have an exact name in the plural: ``ideal_contexts`` and ``passage`` may be expected items.
    Without such a column, the lists of texts are suggested that were read as no field.
    """
    columns: list[str] = []
    for column in _list_metadata_columns(samples, plans[0]):
        if name in RETRIEVED:
            is_meant = fields_meant(column) == (name,) and column.lower().endswith("s")
        else:
            is_meant = suggest_field(column) == f" Did you mean {name!r}?"
        if is_meant:
            columns.append(column)
    if columns:
        return join_options(f"{column}={name}" for column in columns)
    possible_fields = [name]
    if name == "reference":
        possible_fields += ["references", "reference_facts"]
    for field in possible_fields:
        for plan in plans:
            if plan is not None and field in plan.candidates:
                return join_options(f"{path}={field}" for path in plan.candidates[field])
    return f"write the name of its column before '={name}' behind --map"


def _list_columns(samples: Sequence[Sample], plan: Plan | None) -> str:
    """Write the columns that are no field, as the file spells them. The result is empty if there is none."""
    columns = _list_metadata_columns(samples, plan)
    return f" Columns that are no field: {join_first(columns)}." if columns else ""


def _list_metadata_columns(samples: Sequence[Sample], plan: Plan | None) -> list[str]:
    """Return the columns that became metadata, as the file spells them."""
    keys: dict[str, None] = {}  # each once, in order
    for sample in samples:
        keys |= dict.fromkeys(sample.metadata)
    if plan is None:
        return [*keys]
    return [plan.reading.original(key) for key in keys]
