"""The light reader of a file of results. For reading many runs, it reads only the fields that a summary needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.rows_file import Line, LineReader, read_rows
from ctxmetrics.evaluation.rows.score_checks import check_scale
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import Verdict

# The verdicts that have nothing but their value.
_VERDICT_BY_VALUE = {value: Verdict(id="", value=value) for value in (True, False, None)}


def read_values(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a file of results with values, codes and ids: without samples, texts and evidence.

    Types and scales are checked; whether verdicts agree with the value and quotes with their texts is not.

    Args:
        path: As for `read_rows`.

    Raises:
        InputFileError: As `read_rows` raises.
    """
    return read_rows(path, _ValueReader())


class _ValueReader(LineReader):
    """Reads the fields of a line that a summary needs."""

    def __init__(self) -> None:
        super().__init__()
        from ctxmetrics.evaluation.rows import line_forms

        self.form = line_forms.LIGHT_LINE

    def build_score(self, data: dict[str, Any], record: Mapping[str, Any] | None) -> Score:  # noqa: ARG002 - other files read the record
        """Build the score of a line."""
        data["verdicts"] = tuple([_find_verdict(item) for item in data.get("verdicts", ())])
        metadata = data.get("metadata")
        data["metadata"] = FrozenDict(metadata) if metadata else EMPTY
        score = Score(**data)
        check_scale(score)
        return score

    def build_row(self, index: int, lines: Sequence[Line]) -> Row:
        """Build the row of a sample, without the sample."""
        last_line = lines[-1]
        return Row(
            index, None, last_line.sample_id, tuple(line.score for line in lines), last_line.record
        )


def _find_verdict(data: dict[str, Any]) -> Verdict:
    details = data.get("details")
    if data.get("code") or (details and any(details.values())):
        return Verdict(**data)
    return _VERDICT_BY_VALUE[data["value"]]
