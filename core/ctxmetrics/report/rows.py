"""A row of results as plain data, and back: what `--out` and `Results.to_jsonl` write and `Results.from_jsonl` reads.

One line a sample and metric. What it says about the sample is enough to find the sample again; its long texts are
there only where they were asked for.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ctxmetrics._frozen import EMPTY, FrozenDict, plain
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.metrics.named import metric_named
from ctxmetrics.report.view import Row
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Provenance, Score
from ctxmetrics.verdicts import Evidence, Usage, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# What a row says about its sample beside the sample's own fields.
_HASHES = ("hash", "context_hashes", "content_hash")
_NO_RESULTS = "this is no line of results. Give a file that --out or to_jsonl wrote."
_CUT_OFF = "the line is cut off, as a run leaves it that is killed. Finish the run with --resume, or delete the line."


def to_rows(row: Row, *, keep_texts: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what is written of one sample: a dict a metric."""
    shown = record_of(row, keep_texts=keep_texts)
    for score in row.scores:
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
        "hash": question_hash(sample),
        "context_hashes": context_hashes(sample),
        "content_hash": content_hash(sample),
        "labels": plain(sample.labels),
        "metadata": plain(sample.metadata),
    }


def question_hash(sample: Sample) -> str:
    """Return a hash of question and reference."""
    return _hash([sample.user_input, sample.reference])


def context_hashes(sample: Sample) -> list[str]:
    """Return a hash of each retrieved context."""
    return [_hash(text) for text in sample.retrieved_contexts or ()]


def content_hash(sample: Sample) -> str:
    """Return a hash of every field that metrics look at."""
    fields = sample.to_dict()
    return _hash({name: fields[name] for name in fields if name not in {"id", "labels", "metadata"}})


def shown_hash(question: str | None, contexts: Iterable[str]) -> str:
    """Return a hash of what a person sees who labels a sample: of the hashes of question and reference, and of contexts."""
    return _hash([question, *contexts])


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def read_rows(lines: Iterable[bytes], name: str) -> Iterator[Row]:
    """Yield the rows that lines of JSON hold. Arguments and errors are those of `read_lines`."""
    for index, (number, group, _) in enumerate(read_lines(lines, name)):
        identifier, record = group[0]["sample_id"], group[0]["sample"]
        try:
            sample = None if record is None else _sample(identifier, record)
            scores = {data["metric"]: score_of(data) for data in group}
        except CtxMetricsError as error:
            raise InputFileError(
                f"{name}, line {number}: the sample of these results cannot be read: {error}"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputFileError(f"{name}, line {number}: {_NO_RESULTS}") from None
        yield Row(index, sample, identifier, tuple(scores.values()), record)


def read_lines(
    lines: Iterable[bytes], name: str, read: Callable[[bytes], Any] | None = None
) -> Iterator[tuple[int, list[Any], int]]:
    """Yield the number of each sample's last line, what its lines hold, and how many bytes they are.

    Args:
        lines: What `to_rows` wrote, a line each; the lines of one sample follow each other.
        name: What error messages call the file.
        read: Reads one line, or as much of it as is needed; None: all of it.

    Raises:
        InputFileError: A line is no such row, or a sample lacks a metric that the samples before it have.
    """
    read = read or _whole_line
    group: list[Any] = []
    found: list[str] = []
    metrics = found  # those of the first sample
    number = size = 0

    def check() -> None:
        if found != metrics:
            raise InputFileError(
                f"{name}, line {number}: the sample has {', '.join(map(str, found))}, those before it {', '.join(metrics)}. "
                "Give the whole file of one run."
            )

    for line in lines:
        try:
            data = read(line)
            metric, first = data["metric"], group[0] if group else data
            begins = (
                metric in found
                or data["sample_id"] != first["sample_id"]
                or data["sample"] != first["sample"]
            )
        except (ValueError, KeyError, TypeError) as error:
            cut_off = isinstance(error, ValueError) and not line.endswith(b"\n")
            problem = _CUT_OFF if cut_off else _NO_RESULTS
            raise InputFileError(f"{name}, line {number + 1}: {problem}") from None
        if begins:
            check()
            yield number, group, size
            group, found, size = [], [], 0
        group.append(data)
        found.append(metric)
        size += len(line)
        number += 1
    if not group:
        raise InputFileError(
            f"{name}: the file holds no results. Give a file that --out or to_jsonl wrote."
        )
    check()
    yield number, group, size


def _whole_line(line: bytes) -> Any:
    from pydantic_core import from_json

    return from_json(line, allow_inf_nan=False)


def _sample(identifier: str | None, record: Mapping[str, Any]) -> Sample:
    return Sample(
        **{**{key: value for key, value in record.items() if key not in _HASHES}, "id": identifier}
    )


def score_of(data: Mapping[str, Any]) -> Score:
    """Read one line's score. Raises as dicts and constructors do where there is none."""
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
        metadata=FrozenDict(data["metadata"]),
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
        details=FrozenDict(details) if details else EMPTY,
    )


@lru_cache(maxsize=64)
def _provenance(**fields: Any) -> Provenance:
    return Provenance(**fields)


@lru_cache(maxsize=64)
def _counted(name: str, convention: str) -> tuple[str, str]:
    metric = metric_named(name, convention)
    return ("verdict", "yes") if metric is None else metric.counts
