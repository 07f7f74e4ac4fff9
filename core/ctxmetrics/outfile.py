"""The ``out=`` file: JSON lines in input order, a sample's lines in one go, so that it is valid after a kill."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from ctxmetrics.results import Row


ENCODING = ("utf-8", "backslashreplace")
"""Half characters, which no UTF-8 can hold, become JSON escapes."""
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON allows raw, and terminals or readers of lines act on."""


def json_line(data: Mapping[str, Any]) -> str:
    """Write one row; what a judge or metric of somebody's put there and JSON cannot hold becomes text, NaN null."""
    try:
        line = json.dumps(data, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        line = json.dumps(_without_nan(data), ensure_ascii=False, default=_plain)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", line) + "\n"


def _plain(value: object) -> object:
    as_list = getattr(value, "tolist", None)  # numpy's scalars and arrays
    return _without_nan(as_list()) if callable(as_list) else str(value)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
            raise InputFileError(
                f"{self._path}: cannot be written: {error.strerror}. Choose another file for out."
            ) from None
        self._broken = False

    def write(self, row: Row) -> str | None:
        """Append the row's lines in one go.

        Returns:
            None; or, when the file cannot be written any more, what is wrong. A half-written line is taken back.
        """
        if self._broken:
            return None
        data = "".join(json_line(score.to_dict()) for score in row.scores.values()).encode(*ENCODING)
        try:
            size = os.fstat(self._file).st_size
            if os.write(self._file, data) == len(data):
                return None
            os.ftruncate(self._file, size)
            problem = os.strerror(errno.ENOSPC)
        except OSError as error:
            problem = error.strerror or str(error)
        self._broken = True
        return f"{self._path} cannot be written: {problem}; the rows before are in it"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
