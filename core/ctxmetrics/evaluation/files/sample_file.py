"""The samples of a file, and a row as a sample."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.files.csv_rows import Header
from ctxmetrics.evaluation.files.hit_order import Order
from ctxmetrics.evaluation.files.joining import Missing
from ctxmetrics.evaluation.files.recognition import AUTO
from ctxmetrics.evaluation.files.row_file import RowFile
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.samples.sample import Sample


def read_samples(
    path: str | os.PathLike[str],
    schema: str = AUTO,
    columns: Mapping[str, str] | None = None,
    *,
    references: str | os.PathLike[str] | None = None,
    on: str | None = None,
    missing: Missing = "zero",
    group_by: str | None = None,
    split: str | None = None,
    order: Order | None = None,
    only: Mapping[str, Any] | None = None,
    by: str | None = None,
    header: Header = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> RowFile[Sample]:
    """Return the samples of a file, as an iterator.

    JSON Lines, CSV, TSV, Excel and Parquet are read as they are needed. JSON may hold a list, one sample, a table by columns, or
    an export with a list of rows in it. Where a file has a list as text (as JSON, or as pandas writes it), the list is
    read; where every row has one text in its place, that is a list of one. What was decided, and which columns are no
    field and went into the metadata, is logged once as a warning; the iterator's ``reading.mapping`` says where each
    field stands.

    Args:
        path: A ``.jsonl``, ``.json``, ``.csv`` or ``.tsv`` file, also with ``.gz`` behind; an ``.xlsx`` file (openpyxl reads
            it); a ``.parquet`` file; or a folder that ``save_to_disk`` of Hugging Face's ``datasets`` wrote (pyarrow reads
            these two).
        schema: The system whose names the keys are (`ctxmetrics.samples.systems.SCHEMAS`); ``"auto"`` recognises
            it. With ``"aegis"``, a request to Aegis with its ``evaluations`` is read too.
        columns: The column of each field, if no schema is right; or a path, such as ``vars.question`` or
            ``hits[].payload.text`` (of each item of a list).
        references: A file with the expected items, where ``path`` holds the retrieved items: answers, facts, contexts or ids
            of each question, qrels in TREC's form, or a folder in BEIR's. Its rows are joined to the samples. Samples
            and references without a partner are logged. Such a sample stays.
        missing: The treatment of a question of the references that the file does not answer. ``"zero"``: it is a sample, after the
            other samples, for which nothing was retrieved. ``"drop"``: it is a sample without a value.
        group_by: A field or column, if each row is one passage. The rows with the same value are one sample, and the order of
            the rows is the rank.
        split: The separator of the passages, if a text holds several: ``"|"``, blank lines, ``"[Chunk 1]"`` (a number
            stands for any number).
        order: The source of the order of the retrieved items: ``"given"`` the list or the rows, ``"rank"`` what says a rank,
            ``"score"`` what says a score, highest first, or a distance, lowest first. Without it: a rank, else a score, else the
            list. ``sample.metadata["ordered_by"]`` says what changed the order, ``["order_unclear"]`` what may say another one.
        only: Where a file holds several retrievals of a question, the value of the column that says which: ``{"system": "bm25"}``
            leaves out the rows with another one. Without it such a file is refused.
        by: That column; each of its values is a run of its own, whose questions are joined and counted by themselves. The value
            stands in ``sample.metadata``, and after the sample's id.
        header: Of CSV and TSV: False where the first line is data (the columns are ``column 1``, ``column 2`` ..), or the
            names of the columns; True if it is a header although it looks like data.
        encoding: Of a text file, such as ``"cp1252"``. Without it: UTF-8, UTF-16, or Windows-1252 for a table that is neither.
        sheet: The name of the sheet of a workbook. Without it: the first whose header has names that are known, else the first
            with data.
        on: What joins them: a field, or a column of both files. Without it the id, else the text of the question.
            ``"order"``: the rows are joined one by one.

    Returns:
        An iterator over the samples, in the order of the file.

    Raises:
        InputFileError: The file is missing, empty, of an unknown kind or not of the kind that its
            ending names; no sample has a partner, or two references have its key.
        MissingExtraError: pyarrow is needed, and not installed.
        ParameterError: ``path`` is no path, or there is no such schema, field or column.
        SampleError: A sample is malformed; the message names the line.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(
            f"read_samples: path must be the path of a file, not {type(path).__name__}. "
            "Write evaluate(rows, metrics) for rows, and score_table(table, metrics) for a table."
        )
    return RowFile(
        Sample.from_fields,
        path,
        schema,
        columns,
        references=references,
        on=on,
        missing=missing,
        group_by=group_by,
        split=split,
        order=order,
        only=only,
        by=by,
        header=header,
        encoding=encoding,
        sheet=sheet,
    )


def read_sample(row: Mapping[str, Any], plan: Plan, where: str | None = None) -> Sample:
    """Read a row of a file or a table. ``where``: what error messages call the sample while it has no id, such as ``"line 7"``.

    Raises:
        SampleError: As `Sample.from_dict` raises.
    """
    values, _ = plan.apply(row, where)
    return Sample.from_fields(values, where)
