"""``ctxmetrics inspect`` and ``spans``: what a file holds, and where its contexts stand."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxmetrics._internal.text_table import wrap
from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError
from ctxmetrics.evaluation.cli._options import CONFIG_NAME, Help, SampleFile
from ctxmetrics.evaluation.cli._terminal import (
    BAD_INPUT,
    GATE_FAILED,
    print_message,
    print_result,
    print_warnings_at_end,
)
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.evaluation.files.row_file import RowFile
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples.sample import Sample

# The maximum number of characters of a value.
_MAX_VALUE_CHARACTERS = 60
# The marks that end a question.
_QUESTION_MARKS = ("?", "？", "؟")
_METRICS_NOTE = (
    "Parameters stand in brackets: --metric 'context_recall(top_k=5)', --metric 'context_recall(unit=fact)'; ndcg@10 and "
    "names of other systems are understood. What each computes: docs/metrics.md"
)


def metrics() -> None:
    """List every metric with what it says and the fields that it needs."""
    from ctxmetrics.metrics.catalog import ALL_METRICS

    lines = []
    for name, metric_class in ALL_METRICS.items():
        summary, _, _ = (metric_class.__doc__ or "").partition("\n\n")
        required = " and ".join(metric_class().requires)
        lines.append(name)
        lines += wrap(f"{summary.strip()} Needs {required}.", "    ", "")
    lines += ["", *wrap(_METRICS_NOTE)]
    print_result("\n".join(lines))


def inspect(source: SampleFile) -> None:
    """Show the column of each field of a file, the metrics that can run, and the --map option that is needed."""
    from ctxmetrics.evaluation.cli._run import load_samples, open_samples
    from ctxmetrics.samples.systems import join_options

    file = open_samples(source)
    mapping = list(source.columns or ())
    with print_warnings_at_end() as notes:
        ambiguous_columns = _list_ambiguous_columns(file)
        while ambiguous_columns and sys.stdin.isatty() and sys.stdout.isatty():
            mapping.append(_choose_option(file, ambiguous_columns[0]))
            file = open_samples(replace(source, columns=mapping))
            ambiguous_columns = _list_ambiguous_columns(file)
        # The first row holds data, not column names: so no field has a column, and the plan refuses the rows.
        has_no_header = bool(file.plan.refusal) and not file.reading.mapping
        if has_no_header:
            raise InputFileError(f"{file.path}: {file.plan.refusal}")
        print_result("\n".join(_describe_fields(file)))
        if file.references:
            print_result("\n".join(_describe_fields(file.references)))
        notes.clear()  # what is printed above holds the same facts
    problem: str = ""
    fitting_metrics: list[type[Metric]] = []
    try:
        samples = load_samples(file)
        fitting_metrics = _list_fitting(samples)
        print_result("\n".join(_describe_metrics(file, samples, fitting_metrics)))
    except CtxMetricsError as error:
        problem = str(error)
    command = _write_command(source, mapping)
    if not ambiguous_columns:
        if fitting_metrics or mapping:
            print_result(f"score it with: {command}")
    elif file.plan.unsure or len(ambiguous_columns[0]) == 1:
        options = ambiguous_columns[0]  # of the first field that several columns may hold
        working_options = [option for option in options if _can_run(source, [*mapping, option])]
        print_result(_suggest_options(source, file, mapping, options, working_options))
    else:  # several columns may hold the retrieved contexts, and none is more likely
        lists = join_options(
            f"{path}=retrieved_contexts" for path in file.plan.candidates.get("retrieved_contexts", ())
        )
        print_result(f"Say which list was retrieved: {lists}")
    if problem and not ambiguous_columns:
        print_message(problem)
        raise typer.Exit(BAD_INPUT)


def _suggest_options(
    source: SampleFile,
    file: RowFile[Sample],
    mapping: Sequence[str],
    options: Sequence[str],
    working_options: Sequence[str],
) -> str:
    """Suggest the --map options that may be right.

    Args:
        source: The file, with the options by which it was read.
        file: The rows of the file.
        mapping: The --map options so far.
        options: All options that may be right.
        working_options: The options of these with which a metric can run.
    """
    if not working_options:
        return _ask_columns(source, file, [*mapping, *options[:1]])
    lines = [
        f"it may also be: --map {shlex.quote(option)}"
        for option in options
        if option not in working_options
    ]
    lines += [
        f"score it with: {_write_command(source, [*mapping, option])}" for option in working_options
    ]
    return "\n".join(lines)


def _list_fitting(samples: Sequence[Sample]) -> list[type[Metric]]:
    """List the metrics whose fields some sample has."""
    from ctxmetrics.evaluation.cli._run import has_all_fields
    from ctxmetrics.metrics.catalog import METRICS

    return [
        metric_class
        for metric_class in METRICS.values()
        if has_all_fields(samples, metric_class.requires)
    ]


def init(
    source: SampleFile,
    out: Annotated[
        Path, Help("The file to write; FILE.py is one of retrievers, for `ctxmetrics run`.")
    ] = Path(CONFIG_NAME),
) -> None:
    """Write a configuration file for a file of samples; `ctxmetrics score` alone runs it then."""
    from ctxmetrics.evaluation.cli._run import (
        choose_convention,
        list_fitting_metrics,
        load_samples,
        open_samples,
    )
    from ctxmetrics.evaluation.rows.output_files import write_whole
    from ctxmetrics.evaluation.rows.output_paths import check_outputs
    from ctxmetrics.judges.lexical.judge import LexicalJudge

    if out.exists():
        raise InputFileError(f"{out} is there already. Change it, or write another: --out FILE.toml.")
    if out.suffix not in (".py", ".toml"):
        raise ParameterError(f"{out}: a configuration is a TOML file. Write --out {out.stem}.toml.")
    check_outputs({"--out": out}, {"FILE": source.file})
    if out.suffix == ".py":
        write_whole(out, [_read_template("new_retrievers.txt")])
        print_message(
            f"{out} is written: call your store there. Next: ctxmetrics run {out} --questions {source.file}"
        )
        return
    file = open_samples(source)
    samples = load_samples(file)
    convention = choose_convention(source.schema, None)
    metrics = list_fitting_metrics(samples, convention, LexicalJudge(), file.plan)
    options = {
        **_list_options(replace(source, file=Path(os.path.relpath(source.file, out.parent)))),
        **_list_plan(source, file),
        "metric": [metric.base_name for metric in metrics],
        "judge": "lexical",
        "out": "results.jsonl",
        "report": "report.html",
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in options.items()]
    template = _read_template("new_config.txt")
    write_whole(out, [template.format(options="\n".join(lines), metric=metrics[0].base_name)])
    option = "" if out.name == CONFIG_NAME else f" --config {out}"
    print_message(f"{out} is written. Next: ctxmetrics score{option}")


def _read_template(name: str) -> str:
    """Read a template that ``init`` writes."""
    return files("ctxmetrics.evaluation.cli").joinpath(name).read_text(encoding="utf-8")


def _list_options(source: SampleFile) -> dict[str, Any]:
    """List the options by which a file is read, as a configuration file has them."""
    options: dict[str, Any] = {"file": str(source.file)}
    for name in (
        "schema",
        "references",
        "on",
        "group_by",
        "split",
        "order",
        "names",
        "encoding",
        "sheet",
        "header",
    ):
        value = getattr(source, name)
        if value is None:
            continue
        key = name.replace("_", "-")
        options[key] = value if isinstance(value, bool) else str(value)
    if source.only:
        options["only"] = list(source.only)
    if source.columns:
        options["map"] = list(source.columns)
    return options


def _list_plan(source: SampleFile, file: RowFile[Sample]) -> dict[str, Any]:
    """List the options that read a file as its plan does, so that nothing is recognised anew. The result is empty if no options can.

    The columns of a file of references have no options of their own, and a schema that the user names stays.
    """
    if source.schema is not None or source.references is not None:
        return {}
    columns = file.list_columns()
    if columns is None:
        return {}
    # Without --convention, the convention with the name of the schema would be used.
    options: dict[str, Any] = {"schema": "ragas", "convention": "default"}
    if columns:
        options["map"] = [f"{column}={name}" for column, name in columns.items()]
    return options


def _write_command(source: SampleFile, mapping: Sequence[str]) -> str:
    """Write the command that scores a file with the options by which it was read, and with these --map options."""
    options = _list_options(replace(source, columns=None))
    command = f"ctxmetrics score {shlex.quote(options.pop('file'))}"
    for name, value in options.items():
        if isinstance(value, bool):
            command += f" --{name}" if value else f" --no-{name}"
            continue
        texts = [value] if isinstance(value, str) else value
        for text in texts:
            command += f" --{name} {shlex.quote(text)}"
    for option in mapping:
        command += f" --map {shlex.quote(option)}"
    return command


def _can_run(source: SampleFile, mapping: list[str]) -> bool:
    """Tell whether some metric can run with these --map options."""
    from ctxmetrics.evaluation.cli._run import load_samples

    try:
        samples = load_samples(replace(source, columns=mapping))
    except CtxMetricsError:
        return False
    return bool(_list_fitting(samples))


def _ask_columns(source: SampleFile, file: RowFile[Sample], mapping: Sequence[str]) -> str:
    """Ask for the columns of the answer and of the question: no metric can run without them.

    Of two columns of texts, the one that ends with a question mark is the question.

    Args:
        source: The file, with the options by which it was read.
        file: The rows of the file.
        mapping: The --map options of the other columns.
    """
    mapped_columns = {option.rpartition("=")[0] for option in mapping}
    questions: list[str] = []
    other_texts: list[str] = []
    for column in file.reading.unknown_names:
        text = file.first_value(column)
        if not isinstance(text, str) or column in mapped_columns:
            continue
        if text.rstrip().endswith(_QUESTION_MARKS):
            questions.append(column)
        else:
            other_texts.append(column)
    ask = "Which column holds the expected answer (reference), and which the question (user_input)?"
    if len(questions) == len(other_texts) == 1:
        all_mapping = [*mapping, f"{other_texts[0]}=reference", f"{questions[0]}=user_input"]
        if _can_run(source, all_mapping):
            return f"{ask} It may be: {_write_command(source, all_mapping)}"
    columns = ", ".join(file.reading.unknown_names)
    other_options = "".join(f", beside --map {shlex.quote(option)}" for option in mapping)
    return f"{ask} There is: {columns}. Name both with --map{other_options}."


def _choose_option(file: RowFile[Sample], options: Sequence[str]) -> str:
    """Ask which --map option is right. If none is, the first column becomes metadata."""
    columns = [option.rpartition("=")[0] for option in options]
    for number, (option, column) in enumerate(zip(options, columns, strict=True), 1):
        print_result(f"{number}: {option}  {_format_value(file.first_value(column))}")
    choice: int = typer.prompt("Which one is right? 0: none", type=int)
    if 0 < choice <= len(options):
        return options[choice - 1]
    return f"{columns[0]}=metadata"


def spans(
    source: SampleFile,
    sources: Annotated[Path | None, Help("The folder of the texts that were cut into chunks.")] = None,
    chunks: Annotated[
        Path | None,
        Help(
            "Documents with id, source and start_index, one JSON object a line. Their ids in FILE "
            "become spans."
        ),
    ] = None,
    labels: Annotated[
        Path | None, Help("Answers of `ctxmetrics label`: their spans become the reference ids.")
    ] = None,
    out: Annotated[
        Path | None, Help("Write the samples with ids: FILE.jsonl. Without it: stdout.")
    ] = None,
    fail_missing: Annotated[
        bool,
        Help(
            "Exit 1 if a context is not found or stands in several places, or an id or answer has no "
            "span."
        ),
    ] = False,
) -> None:
    """Give contexts ids that say where they stand in their sources: SOURCE#char=START,END."""
    from ctxmetrics.evaluation.agreement.span_labels import with_found_spans, with_known_spans
    from ctxmetrics.evaluation.cli._run import load_samples
    from ctxmetrics.evaluation.rows.json_lines import json_line
    from ctxmetrics.evaluation.rows.output_files import write_whole
    from ctxmetrics.evaluation.rows.output_paths import check_outputs

    if sources is None and chunks is None and labels is None:
        raise ParameterError(
            "spans: give --sources DIR, --chunks FILE or --labels FILE, which say where texts stand."
        )
    check_outputs({"--out": out}, {"FILE": source.file, "--chunks": chunks, "--labels": labels})
    samples, problems = with_known_spans(load_samples(source), chunks, labels)
    total = f"{plural(len(samples), 'sample')}, ids and answers without a span or a sample: {len(problems)}."
    if sources is not None:
        samples, missing, total = with_found_spans(samples, sources)
        problems += missing
    lines = [json_line(sample.to_dict()) for sample in samples]
    if out is None:
        print_result(b"".join(lines).decode().removesuffix("\n"))
    else:
        write_whole(out, lines)
    for line in (*problems, total):
        print_message(line)
    if problems and fail_missing:
        raise typer.Exit(GATE_FAILED)


def _list_ambiguous_columns(file: RowFile[Sample]) -> Sequence[Sequence[str]]:
    """List the fields whose column is in doubt.

    A list of texts that is no field may hold the retrieved contexts, if no column does.

    Returns:
        For each field, the possible --map options. One of them is right.
    """
    from ctxmetrics.samples.field_keys import TEXTS_OF

    fields_of_contexts = {*TEXTS_OF, *TEXTS_OF.values(), "stages", "searches"}
    has_contexts = any(name in fields_of_contexts for name in file.reading.mapping)
    if file.plan.unsure or not file.plan.candidates.get("retrieved_contexts", ()) or has_contexts:
        return file.plan.unsure
    return [
        [f"{path}=retrieved_contexts" for path in file.plan.candidates.get("retrieved_contexts", ())]
    ]


def _describe_fields(file: RowFile[Any]) -> Iterator[str]:
    """Yield a line for each field with its column and its first value, then the columns that become metadata."""
    from ctxmetrics.evaluation.files.text_files import get_ending
    from ctxmetrics.samples.systems import map_options

    reading = file.reading
    yield f"{file.path} (schema {reading.name})"
    longest_path = max((len(path) for path in reading.mapping.values()), default=0)
    for name, path in reading.mapping.items():
        value = file.first_value(path)
        if name == "stages" and hasattr(value, "items"):
            value = ", ".join(value)
        columns = [
            reading.original(column)
            for column, column_field in reading.columns.items()
            if column_field == name
        ]
        location = ", ".join(columns) or path
        yield f"  {name:<22} {location:<{longest_path}}  {_format_value(value)}"
    is_table = get_ending(file.path) in {".csv", ".tsv", ".xlsx"}
    if reading.unknown_names and not reading.mapping and is_table:
        yield (
            f"no name of a column is known. If the first line is data, write --no-header or --names A,B; else say what the "
            f"columns hold, such as {map_options([f'{reading.unknown_names[0]}=user_input'])[0]}. The first line: "
            f"{', '.join(reading.unknown_names)}"
        )
    elif reading.unknown_names:
        yield f"carried along as metadata: {', '.join(reading.unknown_names)}"
    by_hand = file.list_columns()
    if by_hand:
        options = map_options(f"{column}={name}" for column, name in by_hand.items())
        # Without --convention, the convention with the name of the schema would be used.
        yield f"the same by hand: --schema ragas --convention default {' '.join(options)}"


def _describe_metrics(
    file: RowFile[Sample], samples: Sequence[Sample], fitting: Sequence[type[Metric]]
) -> Iterator[str]:
    """Yield the number of distinct samples, the metrics that can run, and the fields that none of them reads."""
    from ctxmetrics.evaluation.cli._run import suggest_mapping
    from ctxmetrics.samples.field_keys import OPTIONS
    from ctxmetrics.scores.label_notes import describe_orders

    read_fields = attrgetter(*OPTIONS)
    distinct_contents = {read_fields(sample) for sample in samples}
    used_fields = {"stages", "searches"}
    for metric_class in fitting:
        used_fields.update(metric_class.requires, metric_class.uses)
    yield f"{plural(len(samples), 'sample')}, {len(distinct_contents)} distinct"
    yield from describe_orders(sample.metadata for sample in samples)
    if fitting:
        names = ", ".join(metric_class.base_name for metric_class in fitting)
        yield f"metrics that can run: {names}"
    else:
        yield f"no metric can run.{suggest_mapping(samples, file.plan)}"
    unused_fields = [
        name for name in file.reading.mapping if name in OPTIONS and name not in used_fields
    ]
    if unused_fields:
        yield f"no metric can use: {', '.join(unused_fields)}"


def _format_value(value: Any) -> str:
    """Format a value in a few words."""
    if isinstance(value, (list, tuple)):
        if not value:
            return "no items"
        return f"{plural(len(value), 'item')}, the first: {_format_value(value[0])}"
    return repr(value)[:_MAX_VALUE_CHARACTERS]
