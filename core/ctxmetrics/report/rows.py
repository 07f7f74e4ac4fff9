"""A row of results as plain data, and back: what `--out` and `Results.to_jsonl` write and `Results.from_jsonl` reads.

One line a sample and metric. What it says about the sample is enough to find the sample again; its long texts are
there only where they were asked for.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ctxmetrics._frozen import EMPTY, frozen, plain
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.metrics.named import metric_named
from ctxmetrics.report.view import Row
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Provenance, Score
from ctxmetrics.verdicts import Evidence, Usage, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# What a row says about its sample beside the sample's own fields.
_HASHES = ("hash", "context_hashes", "content_hash")


def to_rows(row: Row, *, keep_texts: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what is written of one sample: a dict a metric."""
    shown = record_of(row, keep_texts=keep_texts)
    for score in row.scores.values():
        values = score.to_dict()
        yield {"sample_id": values.pop("sample_id"), "sample": shown, **values}


def record_of(row: Row, *, keep_texts: bool = False) -> Mapping[str, Any] | None:
    """Return what a row says about its sample: as it was read, else made of the sample; None without a sample.

    ``hash`` is of question and reference, ``context_hashes`` of each retrieved context, ``content_hash`` of every field
    that metrics look at: the first 128 bits of a SHA-256, in hexadecimal digits.

    Args:
        row: The row.
        keep_texts: Give all fields of the sample.
    """
    sample = row.sample
    if row.record is not None or sample is None:
        return row.record
    return {
        **(sample.to_dict() if keep_texts else {}),
        "user_input": sample.user_input,
        "hash": _hash([sample.user_input, sample.reference]),
        "context_hashes": [_hash(text) for text in sample.retrieved_contexts or ()],
        "content_hash": content_hash(sample),
        "labels": plain(sample.labels),
        "metadata": plain(sample.metadata),
    }


def content_hash(sample: Sample) -> str:
    """Return a hash of every field that metrics look at."""
    fields = sample.to_dict()
    return _hash({name: fields[name] for name in fields if name not in {"id", "labels", "metadata"}})


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def read_rows(lines: Iterable[bytes], name: str) -> Iterator[Row]:
    """Yield the rows that lines of JSON hold; the lines of one sample follow each other.

    Args:
        lines: What `to_rows` wrote, a line each.
        name: What error messages call the file.

    Raises:
        InputFileError: A line is no such row, or a sample lacks a metric that the samples before it have.
    """
    from pydantic_core import from_json

    scores: dict[str, Score] = {}
    known: list[str] | None = None
    record: Mapping[str, Any] | None = None
    identifier, number, index = None, 0, 0
    for number, line in enumerate(lines, 1):
        try:
            data = from_json(line, allow_inf_nan=False)
            score, said = score_of(data), data["sample"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputFileError(
                f"{name}, line {number}: this is no line of results. Give a file that --out or to_jsonl wrote."
            ) from None
        if scores and (score.metric in scores or (score.sample_id, said) != (identifier, record)):
            known = _complete(scores, known, f"{name}, line {number - 1}")
            yield _row(index, identifier, record, scores, f"{name}, line {number - 1}")
            scores, index = {}, index + 1
        scores[score.metric], identifier, record = score, score.sample_id, said
    if not scores:
        raise InputFileError(f"{name}: the file holds no results. Give a file that --out or to_jsonl wrote.")
    _complete(scores, known, f"{name}, line {number}")
    yield _row(index, identifier, record, scores, f"{name}, line {number}")


def _complete(scores: Mapping[str, Score], known: list[str] | None, where: str) -> list[str]:
    if known is not None and list(scores) != known:
        raise InputFileError(
            f"{where}: the sample has {', '.join(scores)}, those before it {', '.join(known)}. "
            "Give the whole file of one run."
        )
    return list(scores)


def _row(
    index: int,
    identifier: str | None,
    record: Mapping[str, Any] | None,
    scores: Mapping[str, Score],
    where: str,
) -> Row:
    if record is None:
        return Row(index, None, identifier, scores)
    try:
        fields = {key: value for key, value in record.items() if key not in _HASHES}
        return Row(index, Sample(**{**fields, "id": identifier}), identifier, scores, record)
    except (CtxMetricsError, AttributeError, TypeError) as error:
        raise InputFileError(f"{where}: the sample of these results cannot be read: {error}") from None


def score_of(data: Mapping[str, Any]) -> Score:
    """Read one line. Raises as dicts and constructors do where it is none."""
    name, provenance, value = data["metric"], dict(data["provenance"]), data["value"]
    lengths = data["context_lengths"]
    provenance["warnings"] = tuple(provenance["warnings"])
    if not (value is None or type(value) in {int, float}) or not isinstance(name, str):
        raise TypeError
    return Score(
        metric=name,
        value=value,
        reason_code=data["reason_code"],
        message=data["message"],
        threshold=data["threshold"],
        band=data["band"],
        verdicts=tuple(map(_verdict, data["verdicts"])),
        signals=data["signals"],
        metadata=frozen(data["metadata"]),
        provenance=_provenance(**provenance),
        usage=Usage(**data["usage"]),
        sample_id=data["sample_id"],
        counted=_counted(name, provenance["convention"]),
        context_lengths=None if lengths is None else tuple(map(int, lengths)),
    )


def _verdict(data: Mapping[str, Any]) -> Verdict:
    details = data["details"]
    if not (data["value"] is None or isinstance(data["value"], bool)):
        raise TypeError
    return Verdict(
        id=data["id"],
        value=data["value"],
        text=data["text"],
        reason=data["reason"],
        code=data["code"],
        evidence=tuple(Evidence(**span) for span in data["evidence"]),
        details=frozen(details) if details else EMPTY,
    )


@lru_cache(maxsize=64)
def _provenance(**fields: Any) -> Provenance:
    return Provenance(**fields)


@lru_cache(maxsize=64)
def _counted(name: str, convention: str) -> tuple[str, str]:
    metric = metric_named(name, convention)
    return ("verdict", "yes") if metric is None else metric.counted
