"""One question with what was retrieved for it, and the names other systems give its fields."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics._frozen import EMPTY, FrozenDict, plain
from ctxmetrics._pictures import in_value, refusal
from ctxmetrics.errors import NotTextError, SampleError
from ctxmetrics.fields import (
    AUTO,
    FIELDS,
    TEXT_KEYS,
    TEXTS_OF,
    Header,
    Missing,
    Reading,
    RowFile,
    as_list,
    check_keys,
    ids_of,
    is_document,
    labels_are_spans,
    reading_alone,
    relevant,
    text_of,
)
from ctxmetrics.stages import Stage
from ctxmetrics.text import has_content

T = TypeVar("T")

_LARGEST_IMPORTANCE = 1e9
_FACT_KEYS = ("text", "id", "importance")
_TEXT_FIELDS = ("user_input", "response", "reference")
# The fields that a judge or a comparison of texts needs beside the retrieved texts.
_READ_AS_TEXT = {"response", "reference", "references", "reference_facts", "reference_contexts"}
_ABSENT: Mapping[str, Any] = dict.fromkeys(FIELDS)
# The most levels of lists and mappings of a field.
_DEEPEST = 100
# The most characters of a text: a longer one is no chunk, but a whole file.
MAX_CHARACTERS = 10_000_000


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that an answer must state, as people wrote it.

    Attributes:
        text: The fact.
        id: Its id, where it has one.
        importance: ``"vital"``, ``"okay"`` or a number above 0, where people said it.
    """

    text: str
    id: str | None = None
    importance: float | str | None = None

    def to_dict(self) -> str | dict[str, Any]:
        """Return the text; with an id or an importance, a mapping."""
        given = {name: value for name in _FACT_KEYS if (value := getattr(self, name)) is not None}
        return given if len(given) > 1 else self.text


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Sample:
    """One question with what was retrieved for it.

    Every field is optional; a metric names those it needs. Lists are stored as tuples, ids as strings
    (``1`` and ``"1"`` are the same id). A context may also be a document, as `ctxmetrics.fields` says: its text is
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
        labels: What people said about the sample; `ctxmetrics.agreement.agree` says what it reads.
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
            labels: Mapping[str, Any] | None = None,
            metadata: Mapping[str, Any] | None = None,
        ) -> None: ...

    else:

        def __init__(self, **given: Any) -> None:
            who = "Sample" if given.get("id") is None else f"Sample {str(given['id'])[:80]!r}"
            if not _ABSENT.keys() >= given.keys():
                check_keys(given, FIELDS, who)
            if deep := next((name for name in given if _is_deep(given[name])), None):
                raise SampleError(f"{who}: field '{deep}' is nested too deeply. Write flat data.")
            values = {**_ABSENT, **given}
            if values["id"] is not None:
                values["id"] = _id(values["id"], f"{who}: field 'id'")
            for name in _TEXT_FIELDS:
                if values[name] is not None:
                    values[name] = _text(values[name], f"{who}: field '{name}'")
            _read_lists(values, who)
            if values["stages"] is not None:
                _read_stages(values, f"{who}: field 'stages'")
            for name in ("labels", "metadata"):
                if values[name] is not None and not hasattr(values[name], "items"):
                    raise SampleError(
                        f"{who}: field '{name}' must be a mapping, not {_kind(values[name])}."
                    )
                values[name] = EMPTY if values[name] is None else FrozenDict(values[name]) or EMPTY
            for name in FIELDS:
                object.__setattr__(self, name, values[name])

    @classmethod
    def from_dict(
        cls, mapping: Mapping[str, Any], schema: str = "ragas", *, where: str | None = None
    ) -> Sample:
        """Read a sample that is written in the words of some system.

        Args:
            mapping: The fields.
            schema: The system whose names they are: one of `ctxmetrics.fields.SCHEMAS`, or ``"auto"``.
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
        return cls.made(reading.row(row, where)[0], where)

    @classmethod
    def made(cls, values: Mapping[str, Any], where: str | None) -> Sample:
        """Make a sample of the fields that a `Reading` found in a row; else as `read`."""
        try:
            return cls(**values)
        except SampleError as error:
            if where is None or values.get("id") is not None:
                raise
            raise type(error)(f"{where}: {str(error).removeprefix('Sample: ')}") from None

    def has(self, name: str) -> bool:
        """Whether a field is there; several references stand for one."""
        return getattr(self, name) is not None or (name == "reference" and self.has("references"))

    def called(self, otherwise: str = "The sample") -> str:
        """Return what messages call the sample: by its id, where it has one."""
        return otherwise if self.id is None else f"Sample {self.id[:80]!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, as plain JSON-ready data."""
        return {
            name: plain(value)
            for name in FIELDS
            if (value := getattr(self, name)) is not None and value != EMPTY
        }


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
) -> RowFile[Sample]:
    """Return the samples of a file, as an iterator.

    JSON Lines, CSV, TSV and Parquet are read as they are needed. JSON may hold a list, one sample, a table by columns, or
    an export with a list of rows in it. Where a file has a list as text (as JSON, or as pandas writes it), the list is
    read; where every row has one text in its place, that is a list of one. What was decided, and which columns are no
    field and went into the metadata, is logged once as a warning; the iterator's ``reading.mapping`` says where each
    field stands.

    Args:
        path: A ``.jsonl``, ``.json``, ``.csv`` or ``.tsv`` file, also with ``.gz`` behind; a ``.parquet`` file; or a
            folder that ``save_to_disk`` of Hugging Face's ``datasets`` wrote (pyarrow reads these two).
        schema: The system whose names the keys are (`ctxmetrics.fields.SCHEMAS`); ``"auto"`` recognises
            it. With ``"aegis"``, a request to Aegis with its ``evaluations`` is read too.
        columns: Which column, or path such as ``vars.question``, holds which field, where no schema is right.
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
        on: What joins them: a field, or a column of both files. Without it the id, else the text of the question.

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
        Sample.made,
        path,
        schema,
        columns,
        references=references,
        on=on,
        missing=missing,
        group_by=group_by,
        split=split,
        header=header,
    )


def _read_lists(values: dict[str, Any], who: str) -> None:
    """Turn the lists that were given into what is stored."""
    labels = values["reference_context_ids"], values["reference_contexts"]
    for ids, texts in TEXTS_OF.items():
        documents, found = values[texts], values[ids]
        if documents is not None and (stored := plain_texts(documents)) is not None:
            values[texts] = stored
        elif documents is not None:
            where = f"{who}: field '{texts}'"
            documents = _items(as_list(documents), where, ids)
            values[texts] = _each(documents, where, _passage)
            found = ids_of(documents, spans=labels_are_spans(*labels)) if found is None else found
        if found is not None and (stored := plain_texts(found, numbers=True)) is not None:
            values[ids] = stored
        elif found is not None:
            where = f"{who}: field '{ids}'"
            values[ids] = _each(_items(as_list(found), where, ids), where, _named)
    if values["references"] is not None and values["reference"] is not None:
        raise SampleError(f"{who}: 'references' stands beside 'reference'. Give one of them.")
    kinds: dict[str, Callable[[Any, str], Any]] = {"references": _text, "reference_facts": _fact}
    for name, read in kinds.items():
        if values[name] is not None:
            where = f"{who}: field '{name}'"
            values[name] = _each(_items(values[name], where, "texts"), where, read)


def _read_stages(values: dict[str, Any], where: str) -> None:
    """Turn the stages that were given into what is stored. The last stage fills what was retrieved, and the other way round."""
    given = values["stages"]
    if not isinstance(given, Mapping) or not given:
        raise SampleError(
            f"{where} must map the name of each stage to a list, "
            f"{'and is empty' if given == {} else f'not {_kind(given)}'}."
        )
    stages = {
        (named := _text(name, f"{where}, the name of stage {number}")): _stage(
            as_list(found), values, f"{where}, {named[:80]!r}"
        )
        for number, (name, found) in enumerate(given.items(), 1)
    }
    retrieved = Stage(values["retrieved_contexts"], values["retrieved_context_ids"])
    texts = {
        id_: text
        for stage in (retrieved, *stages.values())
        for id_, text in zip(stage.ids or (), stage.contexts or (), strict=False)
    }
    for name, stage in stages.items():
        if stage.contexts is None and texts.keys() >= {*(ids := stage.ids or ())}:
            stages[name] = Stage(tuple(texts[id_] for id_ in ids), ids)
    name, last = list(stages.items())[-1]
    for own, found in (("retrieved_contexts", last.contexts), ("retrieved_context_ids", last.ids)):
        if values[own] is None:
            values[own] = found
        elif found is not None and found != values[own]:
            same = [one == other for one, other in zip_longest(found, values[own])]
            raise SampleError(
                f"{where}: the last stage, {name[:80]!r}, is not what '{own}' holds: they differ at item {same.index(False) + 1}. "
                f"Leave '{own}' out, or add it as the last stage."
            )
    stages[name] = Stage(values["retrieved_contexts"], values["retrieved_context_ids"])
    for name, stage in stages.items():
        if len({len(each) for each in (stage.contexts, stage.ids) if each is not None}) > 1:
            raise SampleError(
                f"{where}, {name[:80]!r}: the numbers of contexts and ids differ, {len(stage.contexts or ())} and "
                f"{len(stage.ids or ())}. "
                "Write one id for each context."
            )
    values["stages"] = FrozenDict(stages)


def _stage(found: Any, values: Mapping[str, Any], where: str) -> Stage:
    """Read what a stage handed on."""
    if isinstance(found, Stage):
        found = {"contexts": found.contexts, "ids": found.ids}
    if not (isinstance(found, Mapping) and found.keys() <= {"contexts", "ids"}):
        found = {"ids" if _holds_ids(found, values, where) else "contexts": found}
    given = values["retrieved_context_ids"]
    labels = values["reference_context_ids"] if given is None else given
    try:
        read = Sample(
            retrieved_contexts=found.get("contexts"),
            retrieved_context_ids=found.get("ids"),
            reference_context_ids=labels,  # ids of documents are of one kind in all stages
        )
    except SampleError as error:
        message = str(error).removeprefix("Sample: ").replace("retrieved_context_ids", "ids")
        raise type(error)(f"{where}: {message.replace('retrieved_contexts', 'contexts')}") from None
    contexts, ids = read.retrieved_contexts, read.retrieved_context_ids
    if contexts is None and ids is None:
        raise SampleError(f"{where} holds neither contexts nor ids. Write a list of texts or of ids.")
    return Stage(contexts, ids)


def _holds_ids(items: Any, values: Mapping[str, Any], where: str) -> bool:
    """Whether the list of a stage holds ids: numbers, documents without a text, or strings that cannot be texts."""
    if not isinstance(items, (list, tuple)) or not items:
        return False
    if not all(isinstance(item, str) for item in items):
        return all(text_of(item) is None for item in items)
    known = {name for name, value in values.items() if value is not None}
    if "retrieved_contexts" in known or not known & {"retrieved_context_ids", "reference_context_ids"}:
        return False
    if "retrieved_context_ids" not in known and known & _READ_AS_TEXT:
        raise SampleError(
            f"{where} holds strings, which may be texts or ids. "
            'Write {"contexts": [..]} or {"ids": [..]} in place of the list.'
        )
    return True


def _is_deep(value: object) -> bool:
    """Whether lists and mappings stand in each other more often than any reader should follow."""
    if isinstance(value, (list, tuple)) and {*map(type, value)} <= {str, int}:  # as nearly always
        return False
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list, tuple))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        if picture := in_value(value):
            raise NotTextError(refusal(where, picture))
        raise SampleError(f"{where} must be a string, not {_kind(value)}.")
    if len(value) > MAX_CHARACTERS:
        raise SampleError(
            f"{where} is {len(value):,} characters long; {MAX_CHARACTERS:,} is the most. Cut the text into chunks."
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SampleError(
            f"{where} holds half a character (a lone surrogate) at position {error.start}. "
            "Decode the text with errors='replace'."
        ) from None
    return str(value)


def plain_texts(values: Any, *, numbers: bool = False) -> tuple[str, ...] | None:
    """Return a list of texts in ASCII of usual length, or of numbers, as it is stored; None for any other."""
    if type(values) not in (list, tuple):
        return None
    kinds = set(map(type, values))
    if numbers and kinds == {int}:
        return tuple(map(str, values))
    if not kinds <= {str}:
        return None
    together = "".join(values)
    return tuple(values) if together.isascii() and len(together) <= MAX_CHARACTERS else None


def _each(items: Iterable[Any], where: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
    return tuple(read(item, f"{where}, item {number}") for number, item in enumerate(items, 1))


def _named(item: object, where: str) -> str:
    return _id((ids_of([item]) or [item])[0], where)


def _id(value: object, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, Integral)):
        raise SampleError(f"{where} must be a string or an integer, not {_kind(value)}.")
    return _text(str(value), where)


def _fact(value: object, where: str) -> Fact:
    if isinstance(value, Fact):
        return value
    written = isinstance(value, Mapping) and set(value) <= {*_FACT_KEYS}
    given: Any = value if written else {"text": value}
    text, identifier, importance = map(given.get, _FACT_KEYS)
    if not isinstance(text, str):
        raise SampleError(
            f'{where} must be a text or {{"text": .., "id": .., "importance": ..}}, not {_kind(value)}.'
        )
    number = type(importance) in (int, float) and 0 < importance <= _LARGEST_IMPORTANCE
    if not (number or importance in (None, "vital", "okay")):
        raise SampleError(
            f"{where}: importance must be 'vital', 'okay' or a number above 0, not {str(importance)[:80]!r}."
        )
    if not has_content(text):
        raise SampleError(f"{where} holds no letter or digit. Write the fact, or remove it.")
    named = None if identifier is None else _id(identifier, f"{where}, id")
    return Fact(_text(text, where), named, importance)


def _passage(value: object, where: str) -> str:
    if not isinstance(value, str) and (picture := in_value(value)):
        raise NotTextError(refusal(where, picture))
    text = text_of(value)
    if not isinstance(text, str):
        kind = _kind(value if text is None else text)
        keys = ", ".join(TEXT_KEYS)
        raise SampleError(
            f"{where} must be a string, not {kind}. A document has its text under one of: {keys}."
        )
    return _text(text, where)


def _items(values: Any, where: str, ids: str) -> list[Any]:
    if isinstance(values, (str, bytes)):
        raise SampleError(f"{where} must be a list, not one string. Write [text] for a single one.")
    if is_document(values) or isinstance(values, (set, frozenset)) or not isinstance(values, Iterable):
        raise SampleError(
            f"{where} must be a list, not {_kind(values)}. Write [document] for a single one."
        )
    return relevant(ids, values)
