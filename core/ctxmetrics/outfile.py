"""The ``out=`` file: JSON lines in input order, whole lines only, so that it is valid whenever the run is killed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from ctxmetrics.errors import InputFileError

if TYPE_CHECKING:
    from typing_extensions import Self

    from ctxmetrics.results import Row


class OutFile:
    """Writes rows as they are finished.

    Raises:
        InputFileError: The file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(self._path, flags, 0o644)
        except OSError as error:
            raise InputFileError(f"{self._path}: cannot be written: {error.strerror}. Choose another --out.") from None
        self._broken = False

    def write(self, row: Row) -> str | None:
        """Append the row's lines in one go.

        Returns:
            None; or, when the file cannot be written any more, what is wrong. A half-written line is taken back.
        """
        if self._broken:
            return None
        lines = "".join(json.dumps(score.to_dict(), ensure_ascii=False) + "\n" for score in row.scores.values())
        data = lines.encode()
        try:
            size = os.fstat(self._file).st_size
            written = os.write(self._file, data)
            if written < len(data):
                os.ftruncate(self._file, size)
                raise OSError(28, os.strerror(28))
        except OSError as error:
            self._broken = True
            return f"{self._path} cannot be written: {error.strerror}; the rows before are in it"
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
