"""A row of results as plain data, and back: what `--out` and `Results.to_jsonl` write and `Results.from_jsonl` reads.

One line a sample and metric. What several lines say alike stands once: a provenance in a line of its own, ``{"provenance_id":
1, ..}``, before the first row that has it; the sample in the first line of its rows. What it says about the sample is enough
to find the sample again; its long texts are there only where they were asked for. A field that has its default (null, an
empty list, no usage) is left out, and so is the text of a verdict that is its id, and a quote that the verdict's text holds
at the same place. Files of earlier versions, where each line says all, are read as well.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import cache, lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import EMPTY, FrozenDict, plain
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.formulas import average_precision, share
from ctxmetrics.metrics import metric_named
from ctxmetrics.reading import TEXTS_OF
from ctxmetrics.reading.text_files import DAMAGED, open_bytes
from ctxmetrics.results.baseline import HASHED, ID_LETTERS, digest, read_baseline_line
from ctxmetrics.results.row import Row
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Provenance, Score, get_deferred
from ctxmetrics.stages import sizes_of
from ctxmetrics.verdicts import Evidence, Usage, Verdict

# What a row says about its sample beside the sample's own fields.
_HASHES = ("hash", "context_hashes", "content_hash", "stage_sizes", "key", "stages")
# The keys of a line that are fields of `Score`.
_SCORE = tuple(
    field.name for field in fields(Score) if field.name not in {"provenance", "counted", "metadata"}
)
# Fields of a sample that a line leaves out where they are empty, and what they are then.
_EMPTY_FIELDS: dict[str, Any] = {"user_input": None, "context_hashes": [], "labels": {}, "metadata": {}}
# Parts of a score that a line holds otherwise.
_APART = {"provenance", "counted", "usage", "verdicts", "sample_id", "evidence"}
_EQUAL = 1e-9
_LONGEST = 80
_REMEMBERED = 256
# The most contexts of all stages of a retrieval: the number of a context is below it.
_LARGEST_POOL = 100_000
_NO_RESULTS = "this is no line of results"
_FIX = "Give a file that --out FILE.jsonl or to_jsonl wrote."
# Puts U+FFFD in place of half a character, which pydantic does not read: a model or server may have written one.
with_whole_characters: Callable[[bytes], bytes] = partial(
    re.compile(rb"\\(?:[^u]|u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|u)", re.DOTALL).sub,
    lambda match: rb"\ufffd" if match[1] else match[0],
)
_CUT_OFF = "the line is cut off, as a run leaves it that is killed. Finish the run with --resume, or delete the line."


def to_rows(row: Row, *, keep_texts: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what is known of one sample, in full: a dict a metric."""
    record = build_record(row, keep_texts=keep_texts)
    for score in row.scores:
        values = score.to_dict()
        yield {"sample_id": values.pop("sample_id"), "sample": record, **values}


def to_lines(
    row: Row,
    provenances: dict[Provenance, int],
    start: Mapping[str, str] = EMPTY,
    *,
    keep_texts: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the lines of one sample in a file.

    Args:
        row: The sample and its scores.
        provenances: The numbers of the provenances that stand in the file; those of this row are added.
        start: What is known of the run: the first line of the file.
        keep_texts: Write all fields of the sample.
    """
    if start and not provenances:
        yield {"provenance_id": 0, "run": start}
    record = build_record(row, keep_texts=keep_texts)
    if record is not None:
        record = {name: value for name, value in record.items() if not _is_empty(name, value)}
    for index, score in enumerate(row.scores):
        number = provenances.get(score.provenance)
        if number is None:
            number = provenances[score.provenance] = len(provenances) + 1
            yield {"provenance_id": number, **_to_sparse(score.provenance)}
        line: dict[str, Any] = {"sample_id": score.sample_id, "sample": record, **_to_sparse(score)}
        line["passed"] = score.passed
        line["verdicts"] = _verdict_dicts(score)
        # Verdicts that are not made even now are an id and a value each.
        line["doubtful"] = {} if get_deferred(score) else dict(score.doubtful)
        line["usage"] = _to_sparse(score.usage)
        for name in ("sample_id", "passed", "verdicts", "doubtful", "usage"):
            if not line[name] and line[name] is not False:
                del line[name]
        if index:
            del line["sample"]
        line["provenance_id"] = number
        yield line


def _is_empty(name: str, value: object) -> bool:
    return name in _EMPTY_FIELDS and value == _EMPTY_FIELDS[name]


@cache
def _get_defaults(cls: type) -> tuple[Callable[[Any], Sequence[Any]], dict[str, Any]]:
    """Return what reads the fields of a class that `to_lines` takes as they are, and what they are where they are left out."""
    defaults = {
        item.name: MISSING if item.name == "text" else item.default
        for item in fields(cls)
        if item.name not in _APART
    }
    return attrgetter(*defaults), defaults


def _to_sparse(item: Any) -> dict[str, Any]:
    """Return an object as plain data, without the fields that have their default."""
    data = {}
    read, defaults = _get_defaults(item.__class__)
    for value, (name, default) in zip(read(item), defaults.items(), strict=True):
        if value is not default and (type(value) is not type(default) or value != default):
            data[name] = plain(value)
    return data


def _verdict_dicts(score: Score) -> list[dict[str, Any]]:
    """Return the verdicts of a score; those about ids are not made for it."""
    deferred = get_deferred(score)
    dicts = deferred.to_dicts() if deferred else None
    return dicts or [_shorten_verdict(verdict) for verdict in score.verdicts]


def _shorten_verdict(verdict: Verdict) -> dict[str, Any]:
    """Leave out of a verdict what it says twice."""
    short = _to_sparse(verdict)
    if verdict.text == verdict.id:
        del short["text"]
    if verdict.evidence:
        short["evidence"] = spans = []
        for span in verdict.evidence:
            spans.append(_to_sparse(span))
            if span.quote == _cut_quote(verdict.text, span.start, span.end):
                del spans[-1]["quote"]
    return short


def _cut_quote(text: str, start: int, end: int) -> str:
    """Cut the quote of a span from the text of its verdict, which is the quote itself, or a context."""
    return text if end - start == len(text) else text[start:end]


def build_record(row: Row, *, keep_texts: bool = False) -> Mapping[str, Any] | None:
    """Return what a row says about its sample: as it was read, else made of the sample; None without a sample.

    Ids stand there as they are. ``hash`` is of question and reference, ``context_hashes`` of each retrieved context,
    ``content_hash`` of every field that metrics look at: the first 128 bits of a SHA-256, in hexadecimal digits.

    Args:
        row: The row.
        keep_texts: Give all fields of the sample.
    """
    sample = row.sample
    if row.record is not None or sample is None:
        return row.record
    values = sample.to_dict()
    content = _hash_content(sample, values)
    if not keep_texts:
        values = {name: value for name, value in values.items() if name in TEXTS_OF}
    if sample.stages:
        values["stage_sizes"] = sizes_of(sample.stages)
    return {
        **values,
        "user_input": sample.user_input,
        "hash": question_hash(sample),
        "context_hashes": context_hashes(sample),
        "content_hash": content,
        "labels": plain(sample.labels),
        "metadata": plain(sample.metadata),
    }


def question_hash(sample: Sample) -> str:
    """Return a hash of question and reference."""
    return digest([sample.user_input, sample.reference or plain(sample.references)])


def context_hashes(sample: Sample) -> list[str]:
    """Return a hash of each retrieved context."""
    return [digest(text) for text in sample.retrieved_contexts or ()]


def texts_key(row: Row) -> tuple[str | None, str]:
    """Return what a row and a labelled sample are joined by: the id, and a hash of what a person sees who labels it.

    That is a hash of the hashes of question and reference, and of each context; of a baseline, the beginning of it.
    """
    record = build_record(row) or {}
    if "key" in record:
        return row.sample_id, record["key"]
    return row.sample_id, digest([record.get("hash"), *(record.get("context_hashes") or ())])


def key_of(sample: Sample) -> tuple[str | None, str]:
    """Return the key of a sample, as `texts_key` does for a row."""
    return sample.id, digest([question_hash(sample), *context_hashes(sample)])


def content_hash(sample: Sample) -> str:
    """Return a hash of every field that metrics look at."""
    return _hash_content(sample, sample.to_dict())


def _hash_content(sample: Sample, values: Mapping[str, Any]) -> str:
    if sample.stages:  # a hash of a mapping does not see its order
        values = {**values, "order": [*sample.stages]}
    return digest({name: values[name] for name in values if name not in {"id", "labels", "metadata"}})


def read_rows(path: str | os.PathLike[str], reader: LineReader | None = None) -> Iterator[Row]:
    """Yield the rows of a file of results, each line checked as a judge's reply is.

    Values lie on the scale of their convention, verdicts have the ids of what they are about, spans lie in their
    contexts and are as long as their quotes, and every field has its type.

    Args:
        path: What `to_rows` wrote, a line each; the lines of one sample follow each other.
        reader: What reads its lines; None: a `LineReader`, which checks all.

    Raises:
        InputFileError: The file cannot be read, a line is no such row, or a sample lacks a metric that the samples before
            it have.
    """
    reader = reader or LineReader()
    metrics: list[str] = []  # those of the samples so far
    try:
        with open_bytes(Path(path)) as lines:
            for index, group in enumerate(_group_lines(lines, str(path), reader)):
                names = [line.score.metric for line in group]
                if metrics not in ([], names):
                    raise InputFileError(
                        f"{path}, line {group[-1].number}: the sample has {', '.join(names)}, those before it "
                        f"{', '.join(metrics)}. Give the whole file of one run."
                    )
                metrics = names
                yield _build_row(index, group, path, with_sample=reader.with_samples)
    except DAMAGED as error:
        raise InputFileError(f"{path}: cannot be decompressed: {error}. Compress it again.") from None
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror or error}.") from None


class LineReader:
    """Reads the lines of a file one after the other, and completes each by what the lines before it said once."""

    # Whether rows have the sample of their lines.
    with_samples = True

    def __init__(self) -> None:
        self._provenances: dict[Any, Any] = {}
        self._baselines: dict[Any, Any] = {}
        self._sample: tuple[Any, Any] = (None, None)

    def read(self, line: bytes) -> list[dict[str, Any]]:
        """Read the rows of a line: none if it says what others have in common, several if it is a sample of a baseline.

        Raises:
            InputFileError: The line that it rests on is not before it.
            ValueError: It is no JSON.
        """
        data = self.parse(line)
        if isinstance(data, list):
            try:
                return [*read_baseline_line(data, self._baselines)]
            except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
                raise InputFileError("it is no sample of a baseline.") from None
        if not isinstance(data, dict):
            raise InputFileError("it is no object.")
        if "metric" not in data and not {"provenance_id", "baseline_id"}.isdisjoint(data):
            self._provenances[str(data.get("provenance_id"))] = data
            self._baselines[str(data.get("baseline_id"))] = data.get("metrics")
            return []
        return [self._complete(data)]

    def parse(self, line: bytes) -> Any:
        """Read the data of a line."""
        from pydantic_core import from_json

        return from_json(with_whole_characters(line), allow_inf_nan=False)

    def read_score(self, data: dict[str, Any]) -> Score:
        """Read the score of a row that `read` returned."""
        return read_score(data)

    def _complete(self, data: dict[str, Any]) -> dict[str, Any]:
        if "provenance" not in data:
            number = str(data.get("provenance_id"))
            if number not in self._provenances:
                raise InputFileError(
                    f"provenance_id: no line before it has {visible(number)[:_LONGEST]}."
                )
            data["provenance"] = self._provenances[number]
        identifier = data.setdefault("sample_id", None)
        if "sample" not in data:
            if self._sample[0] != identifier:
                raise InputFileError("sample: the line before it is about another one.")
            data["sample"] = self._sample[1]
        elif isinstance(data["sample"], dict) and "hash" in data["sample"]:
            for name, empty in _EMPTY_FIELDS.items():
                data["sample"].setdefault(name, empty)
        self._sample = (identifier, data["sample"])
        return data


class _Line(NamedTuple):
    """One line of a file: its number, its data, and the score that these are."""

    number: int
    data: Mapping[str, Any]
    score: Score


def _build_row(
    index: int, lines: Sequence[_Line], path: str | os.PathLike[str], *, with_sample: bool
) -> Row:
    """Build the row of a sample from its lines."""
    data = lines[-1].data
    identifier, record = data["sample_id"], data["sample"]
    sample = None
    if record is not None and with_sample:
        fields = {key: value for key, value in record.items() if key not in _HASHES}
        try:
            sample = Sample(**{**fields, "id": identifier})
        except CtxMetricsError as error:
            raise InputFileError(
                f"{path}, line {lines[-1].number}: the sample of these results cannot be read: {error}"
            ) from None
    return Row(index, sample, identifier, tuple(line.score for line in lines), record)


def _group_lines(lines: Iterable[bytes], name: str, reader: LineReader) -> Iterator[list[_Line]]:
    """Yield the lines of each sample."""
    group: list[_Line] = []
    for number, text in enumerate(lines, 1):
        for line in _read_line(reader, text, number, name):
            if group and not _belongs(line, group):
                yield group
                group = []
            group.append(line)
    if not group:
        raise InputFileError(f"{name}: the file holds no results. {_FIX}")
    yield group


def _belongs(line: _Line, group: Sequence[_Line]) -> bool:
    """Return whether a line is about the sample of the lines before it, and a metric that these lack."""
    first = group[0].data
    if line.data["sample_id"] != first["sample_id"] or line.data["sample"] != first["sample"]:
        return False
    return line.score.metric not in [other.score.metric for other in group]


def _read_line(reader: LineReader, text: bytes, number: int, name: str) -> list[_Line]:
    try:
        return [_Line(number, data, reader.read_score(data)) for data in reader.read(text)]
    except CtxMetricsError as error:
        problem = f"{_NO_RESULTS}: {error} {_FIX}"
    except ValueError:
        problem = f"{_NO_RESULTS}. {_FIX}" if text.endswith(b"\n") else _CUT_OFF
        if text.lstrip()[:1] == b"<":
            problem = f"this is a page of HTML. {_FIX}"
    raise InputFileError(f"{name}, line {number}: {problem}")


def read_score(data: object) -> Score:
    """Read the score of one line.

    Raises:
        InputFileError: The line holds no score; the message names the field.
    """
    line = check_types(build_line_reader(), data)
    score = Score(
        **{name: line[name] for name in _SCORE},
        metadata=FrozenDict(line["metadata"]) if line["metadata"] else EMPTY,
        provenance=_share(line["provenance"]),
        counted=_find_counted(line["metric"], line["provenance"].convention),
    )
    check_scale(score)
    _check_verdicts(score, line["sample"] or {})
    _check_value(score)
    return score


def check_types(validator: Any, data: object) -> dict[str, Any]:
    """Check the types of a line's fields.

    Raises:
        InputFileError: A field has another type, or is missing.
    """
    from pydantic_core import ValidationError

    try:
        line: dict[str, Any] = validator.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = visible(".".join(map(str, first["loc"])))[:_LONGEST]
        raise InputFileError(f"{field or 'the line'}: {first['msg']}.") from None
    return line


def check_scale(score: Score) -> None:
    """Raise where value or pass mark are not on the scale of the score's convention."""
    scale = get_convention(score.provenance.convention).scale
    for name, value in (("value", score.value), ("threshold", score.threshold)):
        if value is not None and not 0 <= value <= scale * (1 + _EQUAL):
            raise InputFileError(f"{name}: {value!r} is no number from 0 to {scale:g}.")


def _check_verdicts(score: Score, sample: Mapping[str, Any]) -> None:
    """Raise where verdicts are not in order, their stages are others, or a span is not in its context."""
    _check_stages(score, sample)
    kind = ID_LETTERS.get(score.counted[0])
    for place, verdict in enumerate(score.verdicts):
        if kind and verdict.id != f"{kind}{place + 1}":
            raise InputFileError(
                f"verdicts.{place}.id: {visible(verdict.id)[:_LONGEST]!r} is not {kind}{place + 1}."
            )
        for span in verdict.evidence:
            where = f"verdicts.{place}.evidence: the span {span.start} to {span.end} of context {span.context}"
            _check_span(span, where, score.context_lengths, sample)


def _check_value(score: Score) -> None:
    """Raise where the value is not what the formula gives for the verdicts.

    Not where the row lacks a part of the sum: weights of facts, contexts of one source that count as one.
    """
    formula, counted = score.provenance.formula, score.counted[0] in {"sentence", "claim", "context"}
    known = counted and formula in {"share", "average_precision"} and "sources" not in score.metadata
    if score.value is None or not score.verdicts or not known:
        return
    if score.verdicts[0].text.startswith(HASHED):  # a baseline does not say what counts as one
        return
    rules = get_convention(score.provenance.convention)
    hits = [verdict.value for verdict in score.verdicts if verdict.value is not None]
    if len(hits) < len(score.verdicts):
        raise InputFileError("value: a verdict is missing, so there is no value.")
    value = share(hits) if formula == "share" else average_precision(hits, epsilon=rules.epsilon)
    value = rules.scale * (value or 0.0)
    if value < rules.scale and _is_strict(score.metric):
        value = 0.0
    if abs(score.value - value) > rules.scale * _EQUAL:
        raise InputFileError(f"value: {score.value!r} is not what the verdicts give, {value:.6g}.")


def _check_stages(score: Score, sample: Mapping[str, Any]) -> None:
    sequences = {
        tuple(stage["name"] for stage in verdict.details["stages"])
        for verdict in score.verdicts
        if "stages" in verdict.details
    }
    names = {*itertools.chain(*sequences)}
    if len(sequences) > 1 or not names <= {*(sample.get("stage_sizes") or ())}:
        raise InputFileError("verdicts.details.stages: the stages are not those of the sample.")


def _check_span(
    span: Evidence, where: str, lengths: Sequence[int] | None, sample: Mapping[str, Any]
) -> None:
    if span.end - span.start != len(span.quote):
        raise InputFileError(f"{where} is not as long as its quote.")
    hashes = sample.get("context_hashes")
    if not lengths:  # the hashes say how many contexts there are, not how long they are
        lengths = hashes and [span.end] * len(hashes)
    if lengths is not None and not (span.context < len(lengths) and span.end <= lengths[span.context]):
        raise InputFileError(f"{where} is not inside the {len(lengths)} contexts.")
    texts = sample.get("retrieved_contexts")
    if texts is not None and texts[span.context][span.start : span.end] != span.quote:
        raise InputFileError(f"{where} is not its quote.")


def check_fields(kinds: Mapping[str, Any], *, required: bool = True) -> Any:
    """Return what checks these fields of a mapping; it may have others."""
    from pydantic_core import core_schema as schema

    return schema.typed_dict_schema(
        {name: schema.typed_dict_field(kind, required=required) for name, kind in kinds.items()},
        extra_behavior="allow",
    )


def build_types(text: Any) -> dict[str, Any]:
    """Return what checks each type of a field, by its name; numbers, truth values and texts are not converted."""
    from pydantic_core import core_schema as schema

    truth = schema.bool_schema(strict=True)
    whole = schema.int_schema(strict=True, ge=0)
    number = schema.union_schema([whole, schema.float_schema(strict=True, allow_inf_nan=False)])
    mapping = schema.dict_schema(schema.str_schema(strict=True))
    several = schema.tuple_schema([whole], variadic_item_index=0)
    number_in_pool = schema.int_schema(strict=True, ge=0, lt=_LARGEST_POOL)
    context = schema.tuple_schema([whole, number_in_pool, truth, schema.nullable_schema(text)])
    stage = {
        "name": text,
        "value": schema.nullable_schema(truth),
        "so_far": schema.nullable_schema(truth),
        "contexts": schema.list_schema(context),
    }
    stages = schema.list_schema(check_fields(stage), min_length=1)
    details = check_fields({"stages": stages}, required=False)
    return {
        "str": text,
        "str | None": schema.nullable_schema(text),
        "bool": truth,
        "bool | None": schema.nullable_schema(truth),
        "int": whole,
        "float | None": schema.nullable_schema(number),
        "dict": mapping,
        "Mapping[str, Any]": schema.no_info_after_validator_function(_read_details, details),
        "tuple[str, ...]": schema.tuple_schema([text], variadic_item_index=0),
        "tuple[int, ...] | None": schema.nullable_schema(several),
        "list | None": schema.nullable_schema(schema.list_schema(text)),
        "Any": schema.any_schema(),
    }


@cache
def build_line_reader() -> Any:
    """Return what checks the types of a line and makes its verdicts."""
    from pydantic_core import SchemaValidator
    from pydantic_core import core_schema as schema

    # Texts that are equal, such as a sentence and its quote, are held once.
    once = lru_cache(maxsize=_REMEMBERED)(str)
    kinds = build_types(schema.no_info_after_validator_function(once, schema.str_schema(strict=True)))
    for cls in (Evidence, Verdict, Usage, Provenance):
        kind = build_object(cls, kinds)
        if cls is Verdict:
            kind = schema.no_info_after_validator_function(_complete_verdict, kind)
        kinds[cls.__name__] = kind
        kinds[f"tuple[{cls.__name__}, ...]"] = schema.tuple_schema([kind], variadic_item_index=0)
    sizes = {
        **dict.fromkeys(("contexts", "characters"), kinds["int"]),
        "ids": kinds["list | None"],
        "hash": kinds["str"],
    }
    about: dict[str, Any] = {
        **dict.fromkeys(("hash", "content_hash", "key", "stages", "user_input"), kinds["str | None"]),
        **dict.fromkeys(("context_hashes", "retrieved_contexts"), kinds["list | None"]),
        "stage_sizes": schema.dict_schema(kinds["str"], check_fields(sizes)),
    }
    line = {
        **{
            item.name: _with_default(item, kinds[str(item.type)])
            for item in fields(Score)
            if item.name != "counted"
        },
        "metadata": schema.with_default_schema(kinds["dict"], default=EMPTY),
        "sample": schema.nullable_schema(check_fields(about, required=False)),
    }
    return SchemaValidator(
        schema.typed_dict_schema({name: schema.typed_dict_field(kind) for name, kind in line.items()})
    )


def build_object(cls: type, kinds: Mapping[str, Any]) -> Any:
    """Return what makes an object of a dataclass; ``kinds`` check the types of its fields, by their names."""
    from pydantic_core import core_schema as schema

    arguments = []
    for item in fields(cls):
        kind = _with_default(item, kinds[str(item.type)])
        arguments.append(schema.dataclass_field(item.name, kind, kw_only=True))
    names = [item.name for item in fields(cls)]
    return schema.dataclass_schema(
        cls, schema.dataclass_args_schema(cls.__name__, arguments), names, slots=True
    )


def _with_default(item: Field[Any], kind: Any) -> Any:
    """Let a field be left out that has a default, or a quote, which `_complete_verdict` adds."""
    from pydantic_core import core_schema as schema

    if item.name in ("text", "quote"):
        return schema.with_default_schema(kind, default=None)
    if item.default is MISSING:
        return kind
    return schema.with_default_schema(kind, default=item.default)


def _complete_verdict(verdict: Verdict) -> Verdict:
    """Add the text and the quotes that `_shorten_verdict` left out to a verdict that nothing else holds yet."""
    if verdict.text is None:
        object.__setattr__(verdict, "text", verdict.id)
    for span in verdict.evidence:
        if span.quote is None:
            object.__setattr__(span, "quote", _cut_quote(verdict.text, span.start, span.end))
    return verdict


def _read_details(data: dict[str, Any]) -> FrozenDict:
    """Return the details of a verdict; lists become tuples, which take less memory."""
    for name, most in (("weight", math.inf), ("partial", 1.0)):
        number = data.get(name, 1)
        if type(number) not in (int, float) or not 0 <= number <= most:
            raise ValueError(f"details.{name} must be a number of at least 0, not {number!r}")
    values = {key: tuple(item) if type(item) is list else item for key, item in data.items()}
    return FrozenDict(values) if values else EMPTY


@lru_cache(maxsize=64)
def _share(provenance: Provenance) -> Provenance:
    """Return an equal provenance that was met before, so that the lines of a run share one."""
    return provenance


@lru_cache(maxsize=_REMEMBERED)
def _is_strict(name: str) -> bool:
    metric = metric_named(name)
    return metric is not None and metric.strict


@lru_cache(maxsize=64)
def _find_counted(name: str, convention: str) -> tuple[str, str]:
    metric = metric_named(name, convention)
    return ("verdict", "yes") if metric is None else metric.counts
