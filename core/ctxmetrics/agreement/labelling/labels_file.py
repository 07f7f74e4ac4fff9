"""The file of people's answers: a line for the draw, then a line an answer, each written whole and at once.

A later answer of the same person to the same question replaces an earlier one. What a kill left of a last line is no
answer: it is not read, and is cut off before the next one is written.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ctxmetrics._version import __version__
from ctxmetrics.comparison.answers import Answer, Answers, Draw, read_answers
from ctxmetrics.errors import InputFileError, OutputFileError
from ctxmetrics.evaluation.writer import append, json_line
from ctxmetrics.text import splitter

_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)


class LabelsFile(Answers):
    """A file of answers, and what it holds.

    Args:
        path: The file; missing or empty, it has no draw.

    Raises:
        InputFileError: The file cannot be read, or is no file of labels.
    """

    def __init__(self, path: Path) -> None:
        found = read_answers(path)
        super().__init__(found.draw, found.answers, found.size)
        self.path = path

    def begin(self, draw: Draw) -> None:
        """Write a draw: the first one of a new file, or a larger one than the last.

        Raises:
            InputFileError: The path is no place for a file, or another process has just begun the file.
            OutputFileError: Writing failed.
        """
        try:
            if not self.size:
                self.path.unlink(missing_ok=True)  # a kill came before the draw was written
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | _FLAGS, 0o666))
        except FileExistsError:
            raise InputFileError(
                f"{self.path}: another process has just begun it. Start again to go on with its draw."
            ) from None
        except OSError as error:
            raise InputFileError(
                f"{self.path}: cannot be written: {error.strerror}. Choose another file with --labels."
            ) from None
        self._write(_draw_line(draw))
        self.draw: Draw | None = draw

    def add(self, answer: Answer) -> None:
        """Append an answer; it is on the disk when this returns.

        Raises:
            OutputFileError: Writing failed; the answer is not kept.
        """
        self._write(_answer_line(answer))
        self.answers[answer.annotator, answer.question] = answer

    def _write(self, data: dict[str, Any]) -> None:
        """Append one line and wait until the disk has it. A half-written line is taken back."""
        try:
            file = os.open(self.path, _FLAGS)
            try:
                _lock(file)
                self._cut_half_line(file)
                append(file, json_line(data), sync=True)
            finally:
                os.close(file)
        except OSError as error:
            raise OutputFileError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def _cut_half_line(self, file: int) -> None:
        with self.path.open("rb") as content:
            content.seek(self.size)
            new = content.read()  # of another process that writes the same file, too
        whole = new.rfind(b"\n") + 1
        if whole < len(new):
            os.ftruncate(file, self.size + whole)
        self.size: int = self.size + whole


def _lock(file: int) -> None:
    """Wait until no other process writes the file; closing it gives the lock back."""
    with suppress(ImportError, OSError):  # Windows, and file systems without locks
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


# --- lines ---


def _draw_line(draw: Draw) -> dict[str, Any]:
    names = sorted({one.stratum for one in draw.drawn if one.stratum is not None})
    return {
        "draw": {
            "seed": draw.seed,
            "by": draw.by,
            "samples": draw.samples,
            "strata": {name: sum(one.stratum == name for one in draw.drawn) for name in names},
            "splitter": splitter(),
            "library": f"ctxmetrics {__version__}",
        },
        "drawn": [
            {"sample_id": one.key[0], "hash": one.key[1], "stratum": one.stratum, "weight": one.weight}
            for one in draw.drawn
        ],
    }


def _answer_line(answer: Answer) -> dict[str, Any]:
    question = answer.question
    return {
        "sample_id": question.key[0],
        "hash": question.key[1],
        "label": question.label,
        "item": question.item,
        "text": question.text,
        "answer": answer.answer,
        "contexts": list(answer.contexts),
        "annotator": answer.annotator,
        "weight": answer.weight,
        "verdict_shown": answer.verdict_shown,
        **({"spans": list(answer.spans)} if answer.spans else {}),
    }
