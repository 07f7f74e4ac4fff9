"""Opens text files: UTF-8 or UTF-16, also compressed by gzip."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ctxmetrics.errors import InputFileError

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def get_ending(file: Path) -> str:
    """Return the ending that says what is in a file, without that of a compression."""
    if file.suffix.lower() == ".gz":
        file = file.with_suffix("")
    return file.suffix.lower()


@contextmanager
def open_text(file: Path) -> Iterator[TextIO]:
    """Open a text file: UTF-8, or UTF-16 where it begins with a byte order mark.

    Raises:
        InputFileError: It cannot be read, decompressed or decoded.
    """
    try:
        with gzip.open(file, "rb") if file.suffix.lower() == ".gz" else file.open("rb") as stream:
            encoding = "utf-16" if stream.peek(2)[:2] in _UTF16 else "utf-8-sig"
            with io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
                yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputFileError(f"{file}: cannot be decompressed: {error}. Compress it again.") from None
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read: {error.strerror}. Check the path.") from None
    except UnicodeDecodeError as error:
        raise InputFileError(f"{file}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None
