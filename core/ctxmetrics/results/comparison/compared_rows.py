"""The rows of a run as a comparison reads them: of a verdict that is about no unit, neither its text nor its evidence.

Runs are held as a whole, so equal parts of their rows are held once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from sys import intern
from typing import Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.results.baseline import HASHED, ID_LETTERS
from ctxmetrics.results.comparison.pairing import Run
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import LineReader, read_rows
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import Usage, Verdict

# What is read of a record, and the lists of ids, which its sample has too.
_IDS = {"retrieved_context_ids", "reference_context_ids"}
_RECORD = {"hash", "key", "context_hashes", "stages", "stage_sizes", *_IDS}
# The details of a verdict that are read.
_DETAILS = frozenset({"contradiction", "stages", "weight"})
_NO_USAGE = Usage()


def read_compared(run: Run, *, whole: bool) -> list[Row]:
    """Read the rows of a run: of a file, or those of `Results`.

    Args:
        run: The run.
        whole: Keep all that the rows hold.

    Raises:
        InputFileError: As `read_rows` raises.
    """
    rows = read_rows(run, _SharingReader()) if isinstance(run, (str, os.PathLike)) else run
    return list(rows if whole else map(_reduce_row, rows))


class _SharingReader(LineReader):
    """Holds ids that are equal once."""

    def read(self, line: bytes) -> list[dict[str, Any]]:
        rows = super().read(line)
        for row in rows:
            record = row["sample"]
            for name in _IDS if isinstance(record, dict) else ():
                texts = record.get(name)
                if type(texts) is list and {*map(type, texts)} <= {str}:
                    record[name] = [*map(intern, texts)]
        return rows


def _reduce_row(row: Row) -> Row:
    record: Mapping[str, Any] | None = row.record
    if record is not None:
        record = {name: value for name, value in record.items() if name in _RECORD}
        for name in record.keys() & _IDS:
            record[name] = getattr(row.sample, name)
    return replace(row, scores=tuple(map(_reduce_score, row.scores)), record=record)


def _reduce_score(score: Score) -> Score:
    if any(not _DETAILS.isdisjoint(verdict.details) for verdict in score.verdicts):
        return score
    if ID_LETTERS.get(score.counted[0]) == "s":
        verdicts = [replace(item, reason=None, details=EMPTY) for item in score.verdicts]
    else:
        # Ids of what no judge judged are compared with nothing.
        judged = score.provenance.judge is not None
        verdicts = [
            _outline(item.id if judged else "", item.value, item.code, item.text.startswith(HASHED))
            for item in score.verdicts
        ]
    return replace(
        score, verdicts=tuple(verdicts), usage=_NO_USAGE, metadata=EMPTY, context_lengths=None
    )


# Verdicts about the contexts of many samples have the same ids, ``c1``, ``c2`` ..
@lru_cache(maxsize=1 << 15)
def _outline(id_: str, value: bool | None, code: str | None, is_hashed: bool) -> Verdict:
    return Verdict(id=id_, value=value, code=code, text=HASHED if is_hashed else "")
