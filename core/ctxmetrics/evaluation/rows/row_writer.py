"""The rows of a run, written as they are finished.

The rows go to ``OUT.part``, in input order. The rows of samples that are finished together are written at once. If the process is
killed, at most these are lost: the last line may be cut off, and a resumed run drops such a line. At the end the file is renamed
to ``OUT``.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ctxmetrics import __version__
from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import InputFileError, OutputFileError
from ctxmetrics.evaluation.files.text_files import get_ending
from ctxmetrics.evaluation.rows.json_lines import json_line
from ctxmetrics.evaluation.rows.locked_files import BINARY_FLAG, append, open_locked
from ctxmetrics.evaluation.rows.output_files import (
    copy_mode,
    write_start,
    write_tables,
    write_whole,
)
from ctxmetrics.evaluation.rows.output_paths import (
    PART_ENDING,
    add_part,
    check_table_packages,
    check_writable,
    find_target,
)
from ctxmetrics.evaluation.rows.provenances import JUDGE_OPTIONS, read_start
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.row_lines import to_lines
from ctxmetrics.evaluation.rows.rows_file import LineReader, RowLine, make_score_reader, read_rows
from ctxmetrics.evaluation.rows.sample_record import build_record
from ctxmetrics.evaluation.rows.score_reading import with_whole_characters
from ctxmetrics.evaluation.rows.table_files import (
    check_ending,
    is_table,
)
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import NOT_FINAL, Provenance, Score
from ctxmetrics.verdicts import Usage

_log = logging.getLogger("ctxmetrics")
# The lines that are written at once, at most.
_MAX_LINES_PER_WRITE = 256
# The errors of a disk that is full or broken.
_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)})


class OutFile:
    """Writes the rows of a run as they are finished.

    Rows go to ``PATH.part``; `finish` renames it to ``PATH``. Until then ``PATH`` is as it was. A run that is killed or
    stopped leaves ``PATH.part``. A lock on that file keeps other runs away, and ends with the process. A device or a
    pipe is written to directly.

    Args:
        path: The file.
        resume: Whether to keep the rows that ``PATH.part`` already has, if `take_over` accepts them.
        keep_texts: Write all fields of the samples.
        run_facts: The facts about the run, for the first line of the file.

    Attributes:
        part_path: The path of ``PATH.part``, the file of the rows until the run ends; None for a device or a pipe.

    Raises:
        InputFileError: The file cannot be opened, or another run writes it.
        OutputFileError: The disk is full.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        resume: bool = False,
        keep_texts: bool = False,
        run_facts: Mapping[str, Any] = EMPTY,
    ) -> None:
        self._path = path
        self._keep_texts = keep_texts
        self._run_facts = run_facts
        self._target = find_target(path)
        self.part_path: Path | None = None if self._target is None else add_part(self._target)
        # Whether rows of an earlier run were taken over, so that the first line of the file is about that run.
        self._has_earlier_start = False
        # Whether the judges of the file that is resumed had the options of the judges of this run.
        self._has_same_judge_options = False
        # The lines of an earlier run, up to the first sample that is computed anew.
        self._earlier_lines: IO[bytes] | None = None
        self._reader: LineReader[Score]
        # The number of each provenance in the file.
        self._provenances: dict[Provenance, int] = {}
        # The lines of rows that were added and are not written yet.
        self._lines: list[bytes] = []
        self._is_broken = False
        check_table_packages(path)
        if self._target is not None:
            check_ending(path)
        check_writable(f"{path}{PART_ENDING}", self.part_path)
        try:
            if self._target is None or self.part_path is None:
                self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | BINARY_FLAG)
                return
            self._descriptor = open_locked(self.part_path)
            copy_mode(self._target, self._descriptor)
            if resume:
                earlier_facts = read_start(self.part_path)
                self._has_same_judge_options = earlier_facts.get(JUDGE_OPTIONS) == run_facts.get(
                    JUDGE_OPTIONS
                )
                self._earlier_lines = self.part_path.open("rb")
                self._reader = make_score_reader()
            else:
                os.ftruncate(self._descriptor, 0)
        except BlockingIOError:
            raise InputFileError(
                f"{path}: another run is writing it. Wait for its end, or choose another file."
            ) from None
        except OSError as error:
            error_class = OutputFileError if error.errno in _DISK_ERRORS else InputFileError
            raise error_class(
                f"{path}: cannot be written: {error.strerror}. Choose another file for out."
            ) from None

    def take_over(
        self,
        sample: Sample | None,
        metrics: Sequence[Metric],
        find_unsplit_field: Callable[[Metric, Sample], str | None],
    ) -> list[Score] | None:
        """Return the next sample's scores from the file that is resumed, or None if they must be computed.

        Rows are taken over up to the first sample whose rows are missing, failed, or not those that this run would write: of
        another sample, judge or parameter, with other labels or metadata, with texts or without. The rest of the file is dropped.

        Args:
            sample: The sample; None after the last.
            metrics: The metrics of the run.
            find_unsplit_field: Finds the field of a sample whose one text is several passages, so that a metric has no value.
        """
        if self._earlier_lines is None:
            return None
        begin = self._earlier_lines.tell()
        scores = None
        if sample is not None and self._has_same_judge_options:
            scores = self._read_scores(self._earlier_lines, sample, metrics, find_unsplit_field)
        if scores is None:
            self._earlier_lines.close()
            self._earlier_lines = None
            if begin == 0 and os.fstat(self._descriptor).st_size > 0:
                _log.warning(
                    "%s: no row of the earlier run is taken over: its first sample failed, or is another one, or was scored by "
                    "another judge or with other options. All samples are scored again.",
                    self.part_path,
                )
            os.ftruncate(self._descriptor, begin)
        return scores

    def _read_scores(
        self,
        lines: IO[bytes],
        sample: Sample,
        metrics: Sequence[Metric],
        find_unsplit_field: Callable[[Metric, Sample], str | None],
    ) -> list[Score] | None:
        """Read the next lines of a sample that an earlier run wrote, if this run would write the same lines.

        Args:
            lines: The file.
            sample: The sample.
            metrics: The metrics of the run, in the order of the lines.
            find_unsplit_field: As for `take_over`.

        Returns:
            One score for each metric; None unless this run would compute the same.
        """
        from ctxmetrics.prompts import is_outdated  # prompts load pydantic, which most runs do not need

        expected_record = self._build_expected_record(sample)
        scores = []
        provenance_numbers = {}
        for metric in metrics:
            try:
                line = self._read_line(lines)
            except ValueError:
                return None
            if line is None or line.record != expected_record:
                return None
            score = line.content
            is_unsplit = find_unsplit_field(metric, sample) is not None
            if is_unsplit is not (score.reason_code == "joined_contexts"):
                return None
            if not _is_same_run(score, sample, metric):
                return None
            prompt = score.provenance.prompt or ""
            if is_outdated(prompt):
                _log.warning(
                    "The file that is resumed was judged with the prompt %s: that is asked again.",
                    prompt,
                )
                return None
            if line.provenance_id is not None:
                provenance_numbers[score.provenance] = line.provenance_id
            scores.append(replace(score, usage=Usage()))  # this run pays nothing for the score
        # Only now all lines of the sample are accepted. Provenances of dropped lines must not stand here: they are written again.
        self._provenances.update(provenance_numbers)
        self._has_earlier_start = True
        return scores

    def _build_expected_record(self, sample: Sample) -> dict[str, Any]:
        """Build the record of a sample as it is read from a file that this run writes."""
        from pydantic_core import from_json

        record = build_record(Row(0, sample, sample.id, ()), keep_texts=self._keep_texts)
        expected: dict[str, Any] = from_json(with_whole_characters(json_line(record or EMPTY)))
        return expected

    def _read_line(self, lines: IO[bytes]) -> RowLine[Score] | None:
        """Read the next complete line of a sample, with the shared data of the lines before it. Return None at the end."""
        for text in lines:
            if not text.endswith(b"\n"):
                return None
            line = self._reader.read(text)
            if line is not None:
                return line
        return None

    def add(self, row: Row) -> None:
        """Add a row, whose lines `flush` will write. If writing has failed before, the row is ignored."""
        if not self._is_broken:
            lines = to_lines(row, self._provenances, self._run_facts, keep_texts=self._keep_texts)
            self._lines.extend(map(json_line, lines))

    @property
    def is_full(self) -> bool:
        """Whether so many lines wait that they should be written."""
        return len(self._lines) >= _MAX_LINES_PER_WRITE

    def flush(self) -> None:
        """Append the lines of all rows that were added, in one write. A half-written line is removed.

        Raises:
            OutputFileError: The file cannot be written any more.
        """
        lines = self._lines
        self._lines = []
        if not lines:
            return
        try:
            append(self._descriptor, *lines)
        except OSError as error:
            self._is_broken = True
            raise self._problem(error) from None

    def finish(self) -> None:
        """Rename the file to ``PATH``. If ``PATH`` is a table, write the table from the file.

        Raises:
            OutputFileError: The file cannot be renamed, or the table cannot be written.
        """
        if self._target is None or self.part_path is None:
            return
        try:
            os.fsync(self._descriptor)
            if os.name == "nt":  # an open file cannot be renamed there
                self._close()
            if self._has_earlier_start and "tags" in self._run_facts:
                write_start(self.part_path, {"tags": self._run_facts["tags"]})
            if is_table(self._target):
                # If the caller wants texts, the lines already have them: so none are added here.
                rows = read_rows(self.part_path) if self.part_path.stat().st_size else ()
                write_tables(self._target, rows, keep_texts=False)
                self.part_path.unlink()
            elif self._target.suffix.lower() == get_ending(self._target):
                self.part_path.replace(self._target)
            else:  # a name such as OUT.jsonl.gz
                with self.part_path.open("rb") as lines:
                    write_whole(self._target, lines)
                self.part_path.unlink()
        except OSError as error:
            raise self._problem(error) from None
        self._close()

    def _problem(self, error: OSError) -> OutputFileError:
        """Build the error of a file that cannot be written."""
        reason = error.strerror or error
        note = "" if self.part_path is None else f"; the rows before are in {self.part_path}"
        return OutputFileError(f"{self._path} cannot be written: {reason}{note}")

    def close(self) -> None:
        """Close the file and its lock. An empty ``PATH.part`` is removed."""
        if self._earlier_lines is not None:
            self._earlier_lines.close()
        if self.part_path is not None and self._descriptor >= 0:
            is_empty = os.fstat(self._descriptor).st_size == 0
            if is_empty:
                with suppress(OSError):
                    self.part_path.unlink()
        self._close()

    def _close(self) -> None:
        """Close the open file, if it is not closed yet. -1 stands for a closed file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _is_same_run(score: Score, sample: Sample, metric: Metric) -> bool:
    """Tell whether a score of a file is final, of this sample and metric, by the same judge and parameters."""
    if score.reason_code in NOT_FINAL:
        return False
    if (score.metric, score.sample_id, score.threshold) != (metric.name, sample.id, metric.pass_mark):
        return False
    judge = getattr(metric, "judge", None)
    judge_name = getattr(judge, "name", None)
    if score.value is None and score.provenance.judge is None:
        judge_name = None  # no judge was asked, such as about a question without an answer
    expected_origin = (judge_name, metric.formula_name, metric.convention, f"ctxmetrics {__version__}")
    provenance = score.provenance
    origin = (provenance.judge, provenance.formula, provenance.convention, provenance.library)
    return origin == expected_origin
