"""A row of results as plain data: what `--out` and `Results.to_jsonl` write.

A file has one line for each sample and metric. What several lines have in common is written once: a provenance in a line of its
own, ``{"provenance_id": 1, ..}``, before the first row that has it; the sample in the first line of its rows. This line holds
enough to find the sample again. It holds the sample's long texts only on request.

A line leaves out three things: a field that has its default (null, an empty list, no usage); the text of a verdict, if the id is
the same text; and a quote that the verdict's text has at the same place. `ctxmetrics.evaluation.rows.line_forms` declares the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from operator import attrgetter
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, to_json_data
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import EMPTY_FIELDS, build_record
from ctxmetrics.scores.score import Provenance, Score, get_deferred
from ctxmetrics.verdicts import NO_USAGE, Verdict

# Fields that `_drop_defaults` leaves out: a line does not hold them, or `to_lines` writes them in another form.
_LEFT_OUT_FIELDS: dict[type, set[str]] = {
    Score: {"provenance", "counted", "usage", "verdicts", "sample_id", "contexts"},
    Verdict: {"evidence"},
}


def to_rows(row: Row, *, keep_texts: bool = False) -> Iterator[dict[str, Any]]:
    """Yield all data of one sample: one dict for each metric."""
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
        provenances: The numbers of the provenances in the file. The provenances of this row are added.
        run: The facts about the run, for the first line of the file.
        keep_texts: Write all fields of the sample.
    """
    if run and not provenances:
        yield {"provenance_id": 0, "run": run}
    record = _drop_empty_fields(build_record(row, keep_texts=keep_texts))
    for index, score in enumerate(row.scores):
        number = provenances.get(score.provenance)
        if number is None:
            number = len(provenances) + 1
            provenances[score.provenance] = number
            yield {"provenance_id": number, **_drop_defaults(score.provenance)}
        line: dict[str, Any] = {}
        if score.sample_id:
            line["sample_id"] = score.sample_id
        if index == 0:
            line["sample"] = record
        line |= _drop_defaults(score)
        passed = score.passed
        if passed is not None:
            line["passed"] = passed
        line |= _describe_verdicts(score)
        if score.usage is not NO_USAGE and score.usage != NO_USAGE:
            line["usage"] = _drop_defaults(score.usage)
        line["provenance_id"] = number
        yield line


def _drop_empty_fields(record: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the record of a sample without the fields that are empty."""
    if record is None:
        return None
    return {
        name: value
        for name, value in record.items()
        if name not in EMPTY_FIELDS or value != EMPTY_FIELDS[name]
    }


def _drop_defaults(item: Any) -> dict[str, Any]:
    """Return an object as plain data, without the fields that have their default."""
    data = {}
    get_values, defaults = _get_defaults(item.__class__)
    for value, (name, default) in zip(get_values(item), defaults, strict=True):
        if value is default:
            continue
        if type(value) is not type(default) or value != default:  # 1 is not true
            data[name] = to_json_data(value)
    return data


@cache
def _get_defaults(cls: type) -> tuple[Callable[[Any], Sequence[Any]], tuple[tuple[str, Any], ...]]:
    """Return a function that gets the values of a dataclass, and the name and the default of each.

    The text of a verdict has no default: a line holds it even if it is empty.
    """
    left_out_fields = _LEFT_OUT_FIELDS.get(cls, ())
    defaults = {}
    for item in fields(cls):
        if item.name not in left_out_fields:
            defaults[item.name] = MISSING if item.name == "text" else item.default
    return attrgetter(*defaults), tuple(defaults.items())


def _describe_verdicts(score: Score) -> dict[str, Any]:
    """Return the fields of a line about the verdicts of a score, and about the doubtful verdicts among them."""
    deferred = get_deferred(score)
    verdicts_of_ids = deferred.to_dicts() if deferred else None
    if verdicts_of_ids is not None:  # plain data, so that no verdicts are made for the file
        return {"verdicts": verdicts_of_ids} if verdicts_of_ids else {}
    data: dict[str, Any] = {}
    if score.verdicts:
        data["verdicts"] = [_shorten_verdict(verdict) for verdict in score.verdicts]
    if score.doubtful:
        data["doubtful"] = dict(score.doubtful)  # the number of doubtful verdicts by code
    return data


def _shorten_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data, without repeated texts."""
    short = _drop_defaults(verdict)
    if verdict.text == verdict.id:
        del short["text"]
    if not verdict.evidence:
        return short
    evidence = []
    for span in verdict.evidence:
        short_span = _drop_defaults(span)
        if span.quote == cut_quote(verdict.text, span.start, span.end):
            del short_span["quote"]
        evidence.append(short_span)
    short["evidence"] = evidence
    return short


def cut_quote(text: str, start: int, end: int) -> str:
    """Return the quote of a span from the text of its verdict, which is the quote itself, or a context."""
    return text if end - start == len(text) else text[start:end]
