"""One question with what was retrieved for it, and the names other systems give its fields."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxmetrics._internal.frozen import EMPTY, plain
from ctxmetrics.errors import SampleError
from ctxmetrics.reading import (
    AUTO,
    FIELDS,
    LABEL,
    Header,
    Missing,
    Reading,
    RowFile,
    phrase_kind,
    reading_alone,
)
from ctxmetrics.sample_fields import Fact, read_fields
from ctxmetrics.stages import Search, Stage


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Sample:
    """One question with what was retrieved for it.

    Every field is optional; a metric names those it needs. Lists are stored as tuples, ids as strings
    (``1`` and ``"1"`` are the same id). A context may also be a document, as `ctxmetrics.reading` says: its text is
    stored, and where every document has an id and no ids are given, these are the ids: of retrieved documents their
    spans, where the reference ids are spans.

    Attributes:
        id: A name for the sample; carried to its results.
        user_input: The question.
        response: The answer that was given.
        reference: The answer that was expected.
        references: Several answers of which each is acceptable, in place of ``reference``: judged metrics judge each, and
            the highest value counts.
        reference_facts: The same as facts, each a text or ``{"text": .., "id": .., "importance": ..}``; stored as `Fact`.
            Metrics count them with ``unit="fact"``.
        retrieved_contexts: The retrieved texts in rank order.
        reference_contexts: The texts that should have been retrieved.
        retrieved_context_ids: The ids of the retrieved texts in rank order.
        reference_context_ids: The ids of the texts that should have been retrieved.
        stages: What each step of the retrieval handed on, in order: from the name of a stage to a list of texts, of ids,
            or of documents with both, or to ``{"contexts": [..], "ids": [..]}``; stored as `Stage`. The last stage is
            what was retrieved: it fills the fields of that name, or equals them.
        searches: The searches of the question, in order, where an agent or a conversation made several: each a list as a
            stage has it, or ``{"query": .., "contexts": [..], "ids": [..], "turn": 1}``; stored as `Search`. They fill
            ``stages``, whose last one holds what they brought together: each context once, at its first rank.
        labels: What people said about the sample; `ctxmetrics.agreement.agree` says what it reads. ``unanswerable``: the
            question has no answer.
        metadata: Anything; carried to the results.

    Raises:
        SampleError: A field has the wrong type; the message names the sample, the field and the fix.
        UnknownFieldError: There is no such field; the message names the nearest one.
    """

    id: str | None = None
    user_input: str | None = None
    response: str | None = None
    reference: str | None = None
    references: tuple[str, ...] | None = None
    reference_facts: tuple[Fact, ...] | None = None
    retrieved_contexts: tuple[str, ...] | None = None
    reference_contexts: tuple[str, ...] | None = None
    retrieved_context_ids: tuple[str, ...] | None = None
    reference_context_ids: tuple[str, ...] | None = None
    stages: Mapping[str, Stage] | None = field(default=None, hash=False)
    searches: tuple[Search, ...] | None = None
    labels: Mapping[str, Any] = field(default=EMPTY, hash=False)
    metadata: Mapping[str, Any] = field(default=EMPTY, hash=False)

    if TYPE_CHECKING:  # lists and ints are taken too, and stored as above

        def __init__(
            self,
            *,
            id: str | int | None = None,  # noqa: A002 - the field's name
            user_input: str | None = None,
            response: str | None = None,
            reference: str | None = None,
            references: Iterable[str] | None = None,
            reference_facts: Iterable[Any] | None = None,
            retrieved_contexts: Iterable[Any] | None = None,
            reference_contexts: Iterable[Any] | None = None,
            retrieved_context_ids: Iterable[Any] | None = None,
            reference_context_ids: Iterable[Any] | None = None,
            stages: Mapping[str, Any] | None = None,
            searches: Iterable[Any] | None = None,
            labels: Mapping[str, Any] | None = None,
            metadata: Mapping[str, Any] | None = None,
        ) -> None: ...

    else:

        def __init__(self, **fields: Any) -> None:
            try:
                values = read_fields(fields)
            except SampleError as error:
                if fields.get("id") is None:
                    error.place = "Sample"
                else:
                    error.sample = str(fields["id"])[:80]
                raise
            for name in FIELDS:
                object.__setattr__(self, name, values[name])

    @classmethod
    def from_dict(
        cls, mapping: Mapping[str, Any], schema: str = "ragas", *, where: str | None = None
    ) -> Sample:
        """Read a sample that is written in the words of some system.

        Args:
            mapping: The fields.
            schema: The system whose names they are: one of `ctxmetrics.reading.SCHEMAS`, or ``"auto"``.
                Keys that it does not know become metadata.
            where: What error messages call the sample while it has no id, such as ``"line 7"``.

        Raises:
            UnknownFieldError: A key is close to a field that is absent; the message names it.
            AmbiguousFieldError: A key means different things in different systems.
            SampleError: A field has the wrong type.
            ParameterError: No such schema.
        """
        return cls.read(mapping, reading_alone(mapping, schema), where)

    @classmethod
    def read(cls, row: Mapping[str, Any], reading: Reading, where: str | None = None) -> Sample:
        """Read a row of a file or a table.

        Args:
            row: The row.
            reading: How the rows of this source are read.
            where: What error messages call the sample while it has no id, such as ``"line 7"``.

        Raises:
            SampleError: As `from_dict` raises.
        """
        values, _ = reading.row(row, where)
        return cls.from_fields(values, where)

    @classmethod
    def from_fields(cls, values: Mapping[str, Any], where: str | None) -> Sample:
        """Make a sample of the fields that a `Reading` read in a row; else as `read`."""
        try:
            return cls(**values)
        except SampleError as error:
            if where is not None and values.get("id") is None:
                error.place = where
            raise

    def has(self, name: str) -> bool:
        """Whether a field is there; several references stand for one."""
        return getattr(self, name) is not None or (name == "reference" and self.has("references"))

    @property
    def unanswerable(self) -> bool:
        """Whether the question has no answer: the label ``unanswerable`` says so, or each reference is a refusal."""
        mark = self.labels.get(LABEL)
        if mark is not None:
            return bool(mark)
        if self.references is None:
            return phrase_kind(self.reference or "") == "refusal"
        return all(phrase_kind(text) == "refusal" for text in self.references or ("",))

    def called(self, otherwise: str = "The sample") -> str:
        """Return what messages call the sample: by its id, where it has one."""
        return otherwise if self.id is None else f"Sample {self.id[:80]!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, as plain JSON-ready data."""
        data: dict[str, Any] = {}
        for name in FIELDS:
            value = getattr(self, name)
            if value is not None and value != EMPTY:
                data[name] = plain(value)
        if self.searches is not None:
            del data["stages"]  # the searches fill them
        return data


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
    header: Header = None,
    encoding: str | None = None,
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
        schema: The system whose names the keys are (`ctxmetrics.reading.SCHEMAS`); ``"auto"`` recognises
            it. With ``"aegis"``, a request to Aegis with its ``evaluations`` is read too.
        columns: Which column holds which field, where no schema is right; or which path, such as ``vars.question`` or
            ``hits[].payload.text`` (of each item of a list).
        references: A file with what is expected, where ``path`` holds what was retrieved: answers, facts, contexts or ids
            of each question, qrels in TREC's form, or a folder in BEIR's. Its rows are joined to the samples. What has no
            partner is logged; a sample without one stays.
        missing: What becomes of a question of the references that the file does not answer. ``"zero"``: it is a sample,
            after the others, for which nothing was retrieved. ``"drop"``: the same without a value.
        group_by: A field or column, where each row is one passage: the rows with one value of it are one sample, and the
            order of the rows is the rank.
        split: What separates the passages, where a text holds several: ``"|"``, blank lines, ``"[Chunk 1]"`` (a number
            stands for any number).
        header: Of CSV and TSV: False where the first line is data (the columns are ``column 1``, ``column 2`` ..), or the
            names of the columns; True where it is a header although it looks like data.
        encoding: Of a text file, such as ``"cp1252"``. Without it: UTF-8, UTF-16, or Windows-1252 for a table that is neither.
        on: What joins them: a field, or a column of both files. Without it the id, else the text of the question.
            ``"order"``: the rows are joined one by one.

    Returns:
        An iterator over the samples, in the order of the file.

    Raises:
        InputFileError: The file is missing, empty, of an unknown kind or not of the kind that its
            ending names; no sample has a partner, or two references have its key.
        MissingExtraError: pyarrow is needed, and not installed.
        ParameterError: There is no such schema, field or column.
        SampleError: A sample is malformed; the message names the line.
    """
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
        header=header,
        encoding=encoding,
    )
