"""A row of results as plain data, and back: what `--out` and `Results.to_jsonl` write and `Results.from_jsonl` reads.

One line a sample and metric. What several lines say alike stands once: a provenance in a line of its own, ``{"provenance_id":
1, ..}``, before the first row that has it; the sample in the first line of its rows. What it says about the sample is enough
to find the sample again; its long texts are there only where they were asked for. A field that has its default (null, an
empty list, no usage) is left out, and so is the text of a verdict that is its id, and a quote that the verdict's text holds
at the same place. A line that says all is read as well. `ctxmetrics.evaluation.rows.line_forms` declares the fields.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache, lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import EMPTY, FrozenDict, plain
from ctxmetrics._internal.near_names import suggest_file
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.evaluation.files.text_files import DAMAGED, open_bytes
from ctxmetrics.evaluation.rows.baseline import HASHED, digest
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.formulas import average_precision, merge_repeats, share
from ctxmetrics.metrics.catalog import metric_named
from ctxmetrics.samples.field_names import fields_meant
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.schema import OPTIONS, TEXTS_OF
from ctxmetrics.samples.stages import sizes_of
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import Provenance, Score, get_deferred, read_repeats
from ctxmetrics.verdicts import Evidence, Usage, Verdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
# What a row says about its sample beside the sample's own fields.
_HASHES = ("hash", "context_hashes", "content_hash", "stage_sizes", "key", "stages_key")
# The letter of the ids of verdicts, by what they are about.
_ID_LETTERS = {"sentence": "s", "claim": "s", "fact": "s", "context": "c"}
# Fields of a sample that a line leaves out where they are empty, and what they are then.
_EMPTY_FIELDS: dict[str, Any] = {"user_input": None, "context_hashes": [], "labels": {}, "metadata": {}}
# Fields that a line holds otherwise.
_APART: dict[type, set[str]] = {
    Score: {"provenance", "counted", "usage", "verdicts", "sample_id", "contexts"},
    Verdict: {"evidence"},
}
_NO_USAGE = Usage()
_ABSENT = object()
_EQUAL = 1e-9
_LONGEST = 80
_REMEMBERED = 256
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
    run: Mapping[str, Any] = EMPTY,
    *,
    keep_texts: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the lines of one sample in a file.

    Args:
        row: The sample and its scores.
        provenances: The numbers of the provenances that stand in the file; those of this row are added.
        run: What is known of the run: the first line of the file.
        keep_texts: Write all fields of the sample.
    """
    if run and not provenances:
        yield {"provenance_id": 0, "run": run}
    record = _to_sparse_record(build_record(row, keep_texts=keep_texts))
    for index, score in enumerate(row.scores):
        number = provenances.get(score.provenance)
        if number is None:
            number = provenances[score.provenance] = len(provenances) + 1
            yield {"provenance_id": number, **_to_sparse(score.provenance)}
        line: dict[str, Any] = {}
        if score.sample_id:
            line["sample_id"] = score.sample_id
        if index == 0:
            line["sample"] = record
        line |= _to_sparse(score)
        if score.passed is not None:
            line["passed"] = score.passed
        line |= _list_verdicts(score)
        if score.usage is not _NO_USAGE and score.usage != _NO_USAGE:
            line["usage"] = _to_sparse(score.usage)
        line["provenance_id"] = number
        yield line


def _to_sparse_record(record: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what a row says about its sample without the fields that are empty."""
    if record is None:
        return None
    sparse = {**record}
    for name, empty in _EMPTY_FIELDS.items():
        if sparse.get(name, _ABSENT) == empty:
            del sparse[name]
    return sparse


@cache
def _get_defaults(cls: type) -> tuple[Callable[[Any], Sequence[Any]], tuple[tuple[str, Any], ...]]:
    """Return what reads the fields of a class that `to_lines` takes as they are, and what they are where they are left out."""
    defaults = {
        item.name: MISSING if item.name == "text" else item.default
        for item in fields(cls)
        if item.name not in _APART.get(cls, ())
    }
    return attrgetter(*defaults), tuple(defaults.items())


def _to_sparse(item: Any) -> dict[str, Any]:
    """Return an object as plain data, without the fields that have their default."""
    data = {}
    read, defaults = _get_defaults(item.__class__)
    for value, (name, default) in zip(read(item), defaults, strict=True):
        if value is not default and (type(value) is not type(default) or value != default):
            data[name] = plain(value)
    return data


def _list_verdicts(score: Score) -> dict[str, Any]:
    """List the verdicts of a score, and count the doubtful ones; those about ids are not made for it."""
    deferred = get_deferred(score)
    dicts = deferred.to_dicts() if deferred else None
    if dicts is not None:  # an id and a value each
        return {"verdicts": dicts} if dicts else {}
    data: dict[str, Any] = {}
    if score.verdicts:
        data["verdicts"] = [_shorten_verdict(verdict) for verdict in score.verdicts]
    if score.doubtful:
        data["doubtful"] = dict(score.doubtful)
    return data


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
    # First the fields of `ctxmetrics.evaluation.rows.line_forms.Record`, in its order: so a file that was read is written alike.
    record: dict[str, Any] = {
        "hash": question_hash(sample),
        "content_hash": _hash_content(sample, values),
        "user_input": sample.user_input,
        "context_hashes": context_hashes(sample),
    }
    if keep_texts and "retrieved_contexts" in values:
        record["retrieved_contexts"] = values["retrieved_contexts"]
    if sample.stages:
        record["stage_sizes"] = sizes_of(sample.stages)
    record |= {name: value for name, value in values.items() if keep_texts or name in TEXTS_OF}
    record["labels"] = values.get("labels", {})
    record["metadata"] = values.get("metadata", {})
    return record


def question_hash(sample: Sample) -> str:
    """Return a hash of question and reference."""
    return _hash_question(sample.user_input, sample.reference, sample.references)


@lru_cache(maxsize=1)  # samples of ids have neither
def _hash_question(
    user_input: str | None, reference: str | None, references: tuple[str, ...] | None
) -> str:
    return digest([user_input, reference or plain(references)])


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
    values = {name: value for name, value in values.items() if name not in {"id", "labels", "metadata"}}
    if sample.stages:  # a hash of a mapping does not see its order
        values["order"] = [*sample.stages]
    return digest(values)


def read_rows(path: str | os.PathLike[str], reader: LineReader | None = None) -> Iterator[Row]:
    """Yield the rows of a file of results, each line checked as a judge's reply is.

    Values lie on the scale of their convention, verdicts have the ids of what they are about, spans lie in their
    contexts and are as long as their quotes, and every field has its type.

    Args:
        path: What `to_lines` or `to_rows` wrote, a line each; the lines of one sample follow each other.
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
                number = group[-1].number
                names = [line.score.metric for line in group]
                if metrics not in ([], names):
                    raise InputFileError(
                        f"{path}, line {number}: the sample has {', '.join(names)}, those before it "
                        f"{', '.join(metrics)}. Give the whole file of one run."
                    )
                metrics = names
                try:
                    row = reader.build_row(index, group)
                except CtxMetricsError as error:
                    raise InputFileError(
                        f"{path}, line {number}: the sample of these results cannot be read: {error}"
                    ) from None
                yield row
    except DAMAGED as error:
        raise InputFileError(f"{path}: cannot be decompressed: {error}. Compress it again.") from None
    except OSError as error:
        raise InputFileError(
            f"{path}: cannot be read: {error.strerror or error}.{suggest_file(path)}"
        ) from None


class Line(NamedTuple):
    """One line about a sample and metric.

    Attributes:
        number: Its number in the file.
        sample_id: The id of the sample.
        record: What the file says about the sample.
        provenance_id: The number of the provenance that stands in a line before it; None where it stands in this one.
        score: The score.
    """

    number: int
    sample_id: str | None
    record: Mapping[str, Any] | None
    provenance_id: int | None
    score: Score


class LineReader:
    """Reads the lines of a file one after the other, and completes each by what the lines before it said once."""

    def __init__(self) -> None:
        from pydantic_core import ValidationError, from_json

        from ctxmetrics.evaluation.rows import line_forms

        self._invalid: type[ValueError] = ValidationError
        self._read_json: Callable[..., Any] = from_json
        self.form: TypeAdapter[dict[str, Any]] = line_forms.LINE
        self._provenance_form = line_forms.PROVENANCE
        self._run_form = line_forms.RUN
        self._provenances: dict[str, Provenance] = {}
        self._last: tuple[str | None, Mapping[str, Any] | None] = (None, None)

    def read(self, text: bytes, number: int = 1) -> Line | None:
        """Read a line; None if it says what others have in common.

        Raises:
            InputFileError: It is no line of results, or the line that it rests on is not before it.
            ValueError: It is no JSON.
        """
        data = self._parse(text)
        if data is None:
            return None
        identifier = data.get("sample_id")
        record = self._complete_record(identifier, data)
        provenance_id = data.pop("provenance_id", None)
        if "provenance" in data:
            data["provenance"] = _share(Provenance(**data["provenance"]))
        else:
            data["provenance"] = self._find_provenance(provenance_id)
        return Line(number, identifier, record, provenance_id, self.build_score(data, record))

    def build_score(self, data: dict[str, Any], record: Mapping[str, Any] | None) -> Score:
        """Build the score of a line from its fields, and check that they agree."""
        return build_score(data, record or EMPTY)

    def build_row(self, index: int, lines: Sequence[Line]) -> Row:
        """Build the row of a sample from its lines.

        Raises:
            CtxMetricsError: They hold another sample than can be.
        """
        *_, line = lines
        sample = None
        if line.record is not None:
            own = {name: value for name, value in line.record.items() if name not in _HASHES}
            sample = Sample(**{**own, "id": line.sample_id})
        scores = tuple(line.score for line in lines)
        return Row(index, sample, line.sample_id, scores, line.record)

    def _parse(self, text: bytes) -> dict[str, Any] | None:
        """Read the fields of a line about a sample; None if it is another one, which is kept."""
        if b"NaN" not in text and b"Infinity" not in text:
            try:
                return self.form.validate_json(text)
            except self._invalid:  # it is another line, holds half a character, or is refused now
                pass
        data = self._read_json(with_whole_characters(text), allow_inf_nan=False)
        if not isinstance(data, dict):
            raise InputFileError("it is no object.")
        if "metric" in data or "provenance_id" not in data:
            return check_types(self.form, data)
        if "run" in data:
            check_types(self._run_form, data)
            return None
        provenance = Provenance(**check_types(self._provenance_form, data))
        self._provenances[str(data["provenance_id"])] = provenance
        return None

    def _find_provenance(self, number: object) -> Provenance:
        provenance = self._provenances.get(str(number))
        if provenance is None:
            name = visible(str(number))[:_LONGEST]
            raise InputFileError(f"provenance_id: no line before it has {name}.")
        return provenance

    def _complete_record(
        self, identifier: str | None, data: dict[str, Any]
    ) -> Mapping[str, Any] | None:
        """Take what a line says about its sample out of its fields. A line without it is about the sample of the line before."""
        if "sample" in data:
            record = data.pop("sample")
            if record is not None and "hash" in record:  # not of a baseline, whose records hold less
                for name, empty in _EMPTY_FIELDS.items():
                    record.setdefault(name, empty)
            self._last = (identifier, record)
        elif self._last[0] != identifier:
            raise InputFileError("sample: the line before is about another sample.")
        return self._last[1]


def _group_lines(lines: Iterable[bytes], name: str, reader: LineReader) -> Iterator[list[Line]]:
    """Yield the lines of each sample."""
    group: list[Line] = []
    for number, text in enumerate(lines, 1):
        line = _read_line(reader, text, number, name)
        if line is None:
            continue
        if group and not _belongs(line, group):
            yield group
            group = []
        group.append(line)
    if not group:
        raise InputFileError(f"{name}: the file holds no results. {_FIX}")
    yield group


def _belongs(line: Line, group: Sequence[Line]) -> bool:
    """Return whether a line is about the sample of the lines before it, and a metric that these lack."""
    first = group[0]
    if line.sample_id != first.sample_id or line.record != first.record:
        return False
    return line.score.metric not in [other.score.metric for other in group]


def _read_line(reader: LineReader, text: bytes, number: int, name: str) -> Line | None:
    try:
        return reader.read(text, number)
    except CtxMetricsError as error:
        problem = f"{_NO_RESULTS}: {error} {_FIX}"
        if number == 1 and _is_sample(text):
            raise InputFileError(_describe_samples(name)) from None
    except ValueError:
        if number == 1 and _is_sample(text):
            raise InputFileError(_describe_samples(name)) from None
        problem = f"{_NO_RESULTS}. {_FIX}" if text.endswith(b"\n") else _CUT_OFF
        if text.lstrip()[:1] == b"<":
            problem = f"this is a page of HTML. {_FIX}"
    raise InputFileError(f"{name}, line {number}: {problem}")


def read_score(data: Mapping[str, Any]) -> Score:
    """Read a score that `Score.to_dict` gave.

    Args:
        data: The score; and under ``sample`` what is known of its sample.

    Raises:
        InputFileError: It is no score; the message names the field.
    """
    from ctxmetrics.evaluation.rows import line_forms

    line = check_types(line_forms.LINE, data)
    if "provenance" not in line:
        raise InputFileError("provenance: Field required.")
    line["provenance"] = _share(Provenance(**line["provenance"]))
    line.pop("provenance_id", None)
    return build_score(line, line.pop("sample", None) or EMPTY)


def check_types(form: TypeAdapter[T], data: Mapping[str, Any]) -> T:
    """Check the types of a line's fields.

    Raises:
        InputFileError: A field has another type, or is missing.
    """
    from pydantic_core import ValidationError

    # As JSON, so that the rules are those of a file.
    text = json.dumps(data, default=str).encode()
    try:
        return form.validate_json(with_whole_characters(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = visible(".".join(map(str, first["loc"])))[:_LONGEST]
        raise InputFileError(f"{field or 'the line'}: {first['msg']}.") from None


def build_score(data: dict[str, Any], sample: Mapping[str, Any]) -> Score:
    """Build the score of a line from its fields.

    Args:
        data: The fields of the score, of their types, with a `Provenance`.
        sample: What the line says about its sample.

    Raises:
        InputFileError: They do not agree; the message names the field.
    """
    data["verdicts"] = tuple([_build_verdict(item) for item in data.get("verdicts", ())])
    if data.get("usage"):
        data["usage"] = Usage(**data["usage"])
    metadata = data.get("metadata")
    data["metadata"] = FrozenDict(metadata) if metadata else EMPTY
    counted = _find_counted(data["metric"], data["provenance"].convention)
    score = Score(**data, counted=counted)
    check_scale(score)
    _check_verdicts(score, sample)
    _check_value(score)
    return score


def _build_verdict(data: dict[str, Any]) -> Verdict:
    """Build a verdict from its fields, with the text and the quotes that `_shorten_verdict` left out."""
    text = _hold_once(data["text"]) if "text" in data else data["id"]
    data["text"] = text
    if "evidence" in data:
        data["evidence"] = tuple([_build_evidence(item, text) for item in data["evidence"]])
    return Verdict(**data)


def _build_evidence(data: dict[str, Any], text: str) -> Evidence:
    if "quote" in data:
        data["quote"] = _hold_once(data["quote"])
    else:
        data["quote"] = _cut_quote(text, data["start"], data["end"])
    return Evidence(**data)


@lru_cache(maxsize=_REMEMBERED)
def _hold_once(text: str) -> str:
    """Return an equal text that was met before: texts of several metrics are held once."""
    return text


def _is_sample(line: bytes) -> bool:
    """Whether the first line of a file is a sample, or names the columns of samples."""
    try:
        data = json.loads(line)
    except RecursionError:
        return False
    except ValueError:
        header = line.decode(errors="replace").strip("\ufeff\r\n")
        data = [key.strip('" ') for key in re.split(r"[,;\t]", header)]
    if not isinstance(data, (dict, list)) or "metric" in data or "provenance" in data:
        return False
    fields = {field for key in data for field in fields_meant(str(key)) if field in OPTIONS}
    return len(fields) > 1


def _describe_samples(name: str) -> str:
    """Say that a file holds samples in the place of results, and how they become results."""
    out = shlex.quote(str(Path(name).with_suffix(".results.jsonl")))
    return (
        f"{name} holds samples, not results; score it first: ctxmetrics score {shlex.quote(name)} --out {out} (in Python "
        "evaluate(path, metrics).to_jsonl(out))."
    )


def check_scale(score: Score) -> None:
    """Raise where value or pass mark are not on the scale of the score's convention."""
    scale = get_convention(score.provenance.convention).scale
    for name, value in (("value", score.value), ("threshold", score.threshold)):
        if value is not None and not 0 <= value <= scale * (1 + _EQUAL):
            raise InputFileError(f"{name}: {value:.12g} is no number from 0 to {scale:g}.")


def _check_verdicts(score: Score, sample: Mapping[str, Any]) -> None:
    """Raise where verdicts are not in order, their stages are others, or a span is not in its context."""
    _check_stages(score, sample)
    kind = _ID_LETTERS.get(score.counted[0])
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
    formula = score.provenance.formula
    counted = score.counted[0] in {"sentence", "claim", "context"}
    known = counted and formula in {"share", "average_precision"} and "sources" not in score.metadata
    if score.value is None or not score.verdicts or not known:
        return
    if score.verdicts[0].text.startswith(HASHED):  # a baseline does not say what counts as one
        return
    rules = get_convention(score.provenance.convention)
    hits = [verdict.value for verdict in score.verdicts if verdict.value is not None]
    if len(hits) < len(score.verdicts):
        raise InputFileError("value: a verdict is missing, so there is no value.")
    if score.counted[0] == "context":
        hits = merge_repeats(hits, read_repeats(score.metadata.get("repeats"), len(hits)))
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
    if texts is None:
        return
    if span.context >= len(texts) or texts[span.context][span.start : span.end] != span.quote:
        raise InputFileError(f"{where} is not its quote.")


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
    return ("verdict", "yes") if metric is None else metric.counted_words
