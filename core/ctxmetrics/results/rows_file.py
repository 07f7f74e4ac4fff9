"""A row of results as plain data, and back: what `--out` and `Results.to_jsonl` write and `Results.from_jsonl` reads.

One line a sample and metric. What it says about the sample is enough to find the sample again; its long texts are
there only where they were asked for.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache, lru_cache, partial
from typing import Any

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import EMPTY, FrozenDict, plain
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.metrics import metric_named
from ctxmetrics.reading import TEXTS_OF
from ctxmetrics.results.row import Row
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Provenance, Score
from ctxmetrics.stages import sizes_of
from ctxmetrics.verdicts import Evidence, Usage, Verdict

# What a row says about its sample beside the sample's own fields.
_HASHES = ("hash", "context_hashes", "content_hash", "stage_sizes")
# The beginning of a hash that stands in place of a text.
HASHED = "sha256:"
# The letter of the ids of verdicts, by what they are about.
_ID_OF = {"sentence": "s", "claim": "s", "fact": "s", "context": "c"}
# The keys of a line that are fields of `Score`.
_SCORE = tuple(
    field.name for field in fields(Score) if field.name not in {"provenance", "counted", "metadata"}
)
_EQUAL = 1e-9
_LONGEST = 80
_REMEMBERED = 256
# The most contexts of all stages of a retrieval: the number of a context is below it.
_LARGEST_POOL = 100_000
_NO_RESULTS = "this is no line of results"
_FIX = "Give a file that --out or to_jsonl wrote."
# Puts U+FFFD in place of half a character, which pydantic does not read: a model or server may have written one.
with_whole_characters: Callable[[bytes], bytes] = partial(
    re.compile(rb"\\(?:[^u]|u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|u)", re.DOTALL).sub,
    lambda found: rb"\ufffd" if found[1] else found[0],
)
_CUT_OFF = "the line is cut off, as a run leaves it that is killed. Finish the run with --resume, or delete the line."


def to_rows(row: Row, *, keep_texts: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what is written of one sample: a dict a metric."""
    shown = record_of(row, keep_texts=keep_texts)
    for score in row.scores:
        values = score.to_dict()
        yield {"sample_id": values.pop("sample_id"), "sample": shown, **values}


def record_of(row: Row, *, keep_texts: bool = False) -> Mapping[str, Any] | None:
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
    shown = {name: values[name] for name in values if keep_texts or name in TEXTS_OF}
    if sample.stages:
        shown["stage_sizes"] = sizes_of(sample.stages)
    return {
        **shown,
        "user_input": sample.user_input,
        "hash": question_hash(sample),
        "context_hashes": context_hashes(sample),
        "content_hash": content_hash(sample),
        "labels": plain(sample.labels),
        "metadata": plain(sample.metadata),
    }


def without_texts(row: Row) -> Row:
    """Return a row as a baseline in a repository holds it: ids, values and hashes, and no text of the sample or the judge.

    Verdicts keep their values and codes, a hash in place of their text, and the places of their evidence.
    """
    record = record_of(row) or {}
    scores = tuple(
        replace(
            score,
            message=None,
            signals=None,
            metadata=EMPTY,
            verdicts=tuple(map(_bare, score.verdicts)),
        )
        for score in row.scores
    )
    return replace(
        row, scores=scores, record={name: record[name] for name in _HASHES if name in record}
    )


def _bare(verdict: Verdict) -> Verdict:
    places = tuple(replace(span, end=span.start, quote="") for span in verdict.evidence)
    return replace(
        verdict,
        text=text_hash(verdict.text) if verdict.text else "",
        reason=None,
        details=EMPTY,
        evidence=places,
    )


def text_hash(text: str) -> str:
    """Return the hash of a unit's text; of such a hash, itself."""
    return text if text.startswith(HASHED) else f"{HASHED}{_hash(text)}"


def question_hash(sample: Sample) -> str:
    """Return a hash of question and reference."""
    return _hash([sample.user_input, sample.reference or plain(sample.references)])


def context_hashes(sample: Sample) -> list[str]:
    """Return a hash of each retrieved context."""
    return [_hash(text) for text in sample.retrieved_contexts or ()]


def texts_key(row: Row) -> tuple[str | None, str]:
    """Return what a row and a labelled sample are joined by: the id, and a hash of what a person sees who labels it.

    That is a hash of the hashes of question and reference, and of each context.
    """
    record = record_of(row) or {}
    return row.sample_id, _hash([record.get("hash"), *(record.get("context_hashes") or ())])


def key_of(sample: Sample) -> tuple[str | None, str]:
    """Return the key of a sample, as `texts_key` does for a row."""
    return sample.id, _hash([question_hash(sample), *context_hashes(sample)])


def content_hash(sample: Sample) -> str:
    """Return a hash of every field that metrics look at."""
    # A hash of a mapping does not see its order.
    values = sample.to_dict() | ({"order": [*sample.stages]} if sample.stages else {})
    return _hash({name: values[name] for name in values if name not in {"id", "labels", "metadata"}})


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def read_rows(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a file of results, each line checked as a judge's reply is.

    Values lie on the scale of their convention, verdicts have the ids of what they are about, spans lie in their
    contexts and are as long as their quotes, and every field has its type.

    Args:
        path: What `to_rows` wrote, a line each; the lines of one sample follow each other.

    Raises:
        InputFileError: The file cannot be read, a line is no such row, or a sample lacks a metric that the samples before
            it have.
    """
    metrics: list[str] = []  # those of the samples so far
    try:
        with open(path, "rb") as lines:  # noqa: PTH123 - a path of any kind
            for index, group in enumerate(_samples(lines, str(path))):
                number, first, _ = group[-1]
                identifier, record = first["sample_id"], first["sample"]
                try:
                    known = {key: value for key, value in (record or {}).items() if key not in _HASHES}
                    sample = None if record is None else Sample(**{**known, "id": identifier})
                except CtxMetricsError as error:
                    raise InputFileError(
                        f"{path}, line {number}: the sample of these results cannot be read: {error}"
                    ) from None
                row = Row(index, sample, identifier, tuple(score for *_, score in group), record)
                if metrics not in ([], [*row]):
                    raise InputFileError(
                        f"{path}, line {number}: the sample has {', '.join(row)}, those before it "
                        f"{', '.join(metrics)}. Give the whole file of one run."
                    )
                metrics = [*row]
                yield row
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _samples(lines: Iterable[bytes], name: str) -> Iterator[list[tuple[int, Mapping[str, Any], Score]]]:
    """Yield for each sample what its lines hold: the number of the line, its data, and its score."""
    group: list[tuple[int, Mapping[str, Any], Score]] = []
    for number, line in enumerate(lines, 1):
        data, score = _read(line, f"{name}, line {number}")
        if group and (
            data["sample_id"] != group[0][1]["sample_id"]
            or data["sample"] != group[0][1]["sample"]
            or score.metric in [known.metric for *_, known in group]
        ):
            yield group
            group = []
        group.append((number, data, score))
    if not group:
        raise InputFileError(f"{name}: the file holds no results. {_FIX}")
    yield group


def _read(line: bytes, where: str) -> tuple[Mapping[str, Any], Score]:
    from pydantic_core import from_json

    try:
        data = from_json(with_whole_characters(line), allow_inf_nan=False)
        return data, score_of(data)
    except CtxMetricsError as error:
        problem = f"{_NO_RESULTS}: {error} {_FIX}"
    except ValueError:
        problem = f"{_NO_RESULTS}. {_FIX}" if line.endswith(b"\n") else _CUT_OFF
    raise InputFileError(f"{where}: {problem}")


def score_of(data: object) -> Score:
    """Read the score of one line.

    Raises:
        InputFileError: The line holds no score; the message names the field.
    """
    from pydantic_core import ValidationError

    try:
        line = line_reader().validate_python(data)
        score = Score(
            **{name: line[name] for name in _SCORE},
            metadata=FrozenDict(line["metadata"]) if line["metadata"] else EMPTY,
            provenance=_shared(line["provenance"]),
            counted=_counted(line["metric"], line["provenance"].convention),
        )
        scale = get_convention(score.provenance.convention).scale
        for name, value in (("value", score.value), ("threshold", score.threshold)):
            if value is not None and not 0 <= value <= scale * (1 + _EQUAL):
                raise InputFileError(f"{name}: {value!r} is no number from 0 to {scale:g}.")
        _check_verdicts(score, line["sample"] or {})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = visible(".".join(map(str, first["loc"])))[:_LONGEST]
        raise InputFileError(f"{field or 'the line'}: {first['msg']}.") from None
    return score


def _check_verdicts(score: Score, sample: Mapping[str, Any]) -> None:
    """Raise where verdicts are not in order, their stages are others, or a span is not in its context."""
    staged = [verdict.details["stages"] for verdict in score.verdicts if "stages" in verdict.details]
    names = {tuple(stage["name"] for stage in stages) for stages in staged}
    if len(names) > 1 or not {*itertools.chain(*names)} <= {*(sample.get("stage_sizes") or ())}:
        raise InputFileError("verdicts.details.stages: the stages are not those of the sample.")
    kind = _ID_OF.get(score.counted[0])
    texts, hashes = sample.get("retrieved_contexts"), sample.get("context_hashes")
    for place, verdict in enumerate(score.verdicts):
        if kind and verdict.id != f"{kind}{place + 1}":
            raise InputFileError(
                f"verdicts.{place}.id: {visible(verdict.id)[:_LONGEST]!r} is not {kind}{place + 1}."
            )
        for span in verdict.evidence:
            where = f"verdicts.{place}.evidence: the span {span.start} to {span.end} of context {span.context}"
            if span.end - span.start != len(span.quote):
                raise InputFileError(f"{where} is not as long as its quote.")
            known = score.context_lengths or (hashes and [span.end] * len(hashes))
            if known is not None and not (
                span.context < len(known) and span.end <= known[span.context]
            ):
                raise InputFileError(f"{where} is not inside the {len(known)} contexts.")
            if texts is not None and texts[span.context][span.start : span.end] != span.quote:
                raise InputFileError(f"{where} is not its quote.")


def _fields_of(kinds: Mapping[str, Any], *, required: bool = True) -> Any:
    """Return what checks these fields of a mapping; it may have others."""
    from pydantic_core import core_schema as schema

    return schema.typed_dict_schema(
        {name: schema.typed_dict_field(kind, required=required) for name, kind in kinds.items()},
        extra_behavior="allow",
    )


def _types() -> dict[str, Any]:
    """Return what checks each type of a field, by its name; numbers, truth values and texts are not converted."""
    from pydantic_core import core_schema as schema

    # Texts that are equal, such as a sentence and its quote, are held once.
    once = lru_cache(maxsize=_REMEMBERED)(str)
    text = schema.no_info_after_validator_function(once, schema.str_schema(strict=True))
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
    stages = schema.list_schema(_fields_of(stage), min_length=1)
    details = _fields_of({"stages": stages}, required=False)
    return {
        "str": text,
        "str | None": schema.nullable_schema(text),
        "bool": truth,
        "bool | None": schema.nullable_schema(truth),
        "int": whole,
        "float | None": schema.nullable_schema(number),
        "dict": mapping,
        "Mapping[str, Any]": schema.no_info_after_validator_function(_details, details),
        "tuple[str, ...]": schema.tuple_schema([text], variadic_item_index=0),
        "tuple[int, ...] | None": schema.nullable_schema(several),
        "list | None": schema.nullable_schema(schema.list_schema(text)),
        "Any": schema.any_schema(),
    }


@cache
def line_reader() -> Any:
    """Return what checks the types of a line and makes its verdicts."""
    from pydantic_core import SchemaValidator
    from pydantic_core import core_schema as schema

    kinds: dict[str, Any] = _types()
    for cls in (Evidence, Verdict, Usage, Provenance):
        arguments = [
            schema.dataclass_field(field.name, kinds[str(field.type)], kw_only=True)
            for field in fields(cls)
        ]
        names = [field.name for field in fields(cls)]
        kinds[cls.__name__] = made = schema.dataclass_schema(
            cls, schema.dataclass_args_schema(cls.__name__, arguments), names, slots=True
        )
        kinds[f"tuple[{cls.__name__}, ...]"] = schema.tuple_schema([made], variadic_item_index=0)
    sizes = {
        **dict.fromkeys(("contexts", "characters"), kinds["int"]),
        "ids": kinds["list | None"],
        "hash": kinds["str"],
    }
    about: dict[str, Any] = {
        **dict.fromkeys(("hash", "content_hash", "user_input"), kinds["str | None"]),
        **dict.fromkeys(("context_hashes", "retrieved_contexts"), kinds["list | None"]),
        "stage_sizes": schema.dict_schema(kinds["str"], _fields_of(sizes)),
    }
    line = {
        **{field.name: kinds[str(field.type)] for field in fields(Score) if field.name != "counted"},
        "metadata": kinds["dict"],
        "sample": schema.nullable_schema(_fields_of(about, required=False)),
    }
    return SchemaValidator(
        schema.typed_dict_schema({name: schema.typed_dict_field(kind) for name, kind in line.items()})
    )


def _details(data: dict[str, Any]) -> FrozenDict:
    """Return the details of a verdict; lists become tuples, which take less memory."""
    for name, most in (("weight", math.inf), ("partial", 1.0)):
        if type(given := data.get(name, 1)) not in (int, float) or not 0 <= given <= most:
            raise ValueError(f"details.{name} must be a number of at least 0, not {given!r}")
    values = {key: tuple(item) if type(item) is list else item for key, item in data.items()}
    return FrozenDict(values) if values else EMPTY


@lru_cache(maxsize=64)
def _shared(provenance: Provenance) -> Provenance:
    """Return an equal provenance that was met before, so that the lines of a run share one."""
    return provenance


@lru_cache(maxsize=64)
def _counted(name: str, convention: str) -> tuple[str, str]:
    metric = metric_named(name, convention)
    return ("verdict", "yes") if metric is None else metric.counts
