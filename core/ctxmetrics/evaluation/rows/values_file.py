"""The light reader of a file of results: it reads only the fields that the summary of a run needs, for a history of many runs."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.evaluation.files.text_files import check_path
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.evaluation.rows.metric_values import MetricValues
from ctxmetrics.evaluation.rows.provenances import read_start
from ctxmetrics.evaluation.rows.rows_file import LineReader, RowLine, read_groups
from ctxmetrics.evaluation.rows.score_checks import check_reason, check_scale, check_value
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.score import Provenance
from ctxmetrics.verdicts import Verdict

# The verdicts that have nothing but their value.
_VERDICT_BY_VALUE = {value: Verdict(id="", value=value) for value in (True, False, None)}


@dataclass(slots=True)
class FileValues:
    """The values of a file of results.

    Attributes:
        source: The file.
        start: The facts about the run in its first line.
        samples: A hash of each sample. The hashes of equal samples are equal.
        records: The facts about the samples, if the file has them.
        by_metric: The values of each metric by its name.
        origins: Of each metric, the provenances of its lines, each with whether the value has verdicts; None without a value.
    """

    source: str
    start: Mapping[str, Any]
    samples: array[int] = field(default_factory=lambda: array("q"))
    records: list[Mapping[str, Any]] = field(default_factory=list)
    by_metric: dict[str, MetricValues] = field(default_factory=dict)
    origins: dict[str, dict[tuple[Provenance, bool | None], None]] = field(default_factory=dict)

    def add(self, lines: Sequence[RowLine[dict[str, Any]]]) -> None:
        """Add the lines of a sample."""
        record = lines[0].record or EMPTY
        # A sample without a hash of its content counts as equal to no other: its number stands in place of the hash.
        self.samples.append(hash(record.get("content_hash") or len(self.samples)))
        if "hash" in record:
            self.records.append(record)
        for line in lines:
            self._add_values(line.metric, line.content)

    def _add_values(self, metric: str, fields: dict[str, Any]) -> None:
        """Add the value and the verdicts of a line."""
        provenance = fields["provenance"]
        values = self.by_metric.get(metric)
        if values is None:
            scale = get_convention(provenance.convention).scale
            self.by_metric[metric] = values = MetricValues(metric, scale)
            self.origins[metric] = {}
        value = fields["value"]
        verdicts = [_find_verdict(item) for item in fields.get("verdicts", ())]
        tie_range = fields.get("metadata", EMPTY).get("tie_range")
        values.add_value(
            value, fields.get("reason_code"), fields.get("threshold"), provenance, tie_range
        )
        values.add_verdicts(verdicts, provenance, fields.get("sample_id"))
        is_judged = None if value is None else bool(verdicts)
        self.origins[metric][provenance, is_judged] = None

    def summarize(self) -> dict[str, MetricSummary]:
        """Summarize the values of each metric."""
        return {name: values.summary(self.samples) for name, values in self.by_metric.items()}


def read_values(path: str | os.PathLike[str]) -> FileValues:
    """Read a file of results without samples, texts and evidence.

    Types, scales and values are checked as `read_rows` checks them. Whether verdicts have the right ids and quotes stand in their
    texts is not: no number of a summary depends on it.

    Args:
        path: As for `read_rows`.

    Raises:
        InputFileError: As `read_rows` raises.
    """
    from ctxmetrics.evaluation.rows import line_forms

    check_path(path)
    reader = LineReader(line_forms.LIGHT_LINE, _check_fields, allow_nan=True)
    file_values = FileValues(str(path), read_start(path))
    for lines in read_groups(path, reader):
        file_values.add(lines)
    return file_values


def _check_fields(fields: dict[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Check the numbers of a line: value and pass mark are on the scale, and the value is what the verdicts give.

    Args:
        fields: The fields of the line.
        record: The facts about its sample.
    """
    metric = fields["metric"]
    value = fields["value"]
    provenance = fields["provenance"]
    check_scale(provenance.convention, value, fields.get("threshold"))
    check_reason(metric, value, fields.get("reason_code"))
    verdict_values = [item["value"] for item in fields.get("verdicts", ())]
    metadata = fields.get("metadata", EMPTY)
    is_baseline = "key" in record or "hash" not in record
    check_value(metric, value, verdict_values, provenance, metadata, is_baseline=is_baseline)
    return fields


def _find_verdict(data: dict[str, Any]) -> Verdict:
    """Return the verdict of some fields. Most have nothing but a value: equal ones are one object."""
    details = data.get("details")
    if data.get("code") or (details and any(details.values())):
        return Verdict(**data)
    return _VERDICT_BY_VALUE[data["value"]]
