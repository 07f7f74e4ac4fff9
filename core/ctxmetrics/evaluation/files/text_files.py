"""Opens text files: UTF-8, UTF-16, tables in Windows-1252, or a named encoding; also compressed (``.gz``, ``.zst``)."""

from __future__ import annotations

import codecs
import gzip
import io
import logging
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.near_names import suggest, suggest_file
from ctxmetrics.errors import InputFileError, ParameterError, importing

# Encodings that files often have: suggestions for a misspelt name.
_USUAL_ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "shift_jis", "gb18030")
# The first bytes of a file in UTF-16.
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# The number of first bytes of a file that show its format.
_INSPECTED_BYTES = 512
# The endings of compressed files, and the first bytes of these.
_GZIP_ENDING = ".gz"
_ZSTD_ENDING = ".zst"
_COMPRESSED_BEGINNINGS = {b"\x1f\x8b": _GZIP_ENDING, b"\x28\xb5\x2f\xfd": _ZSTD_ENDING}
# The number of bytes that are compressed or decoded at a time.
_BLOCK_BYTES = 1 << 20
# The errors that a damaged compressed file raises.
DAMAGED_FILE_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)
# The encoding that spreadsheets use in Western Europe and America if it is not UTF-8.
_SPREADSHEET_ENCODING = "cp1252"
# The endings of files that may be in that encoding.
_TABLE_ENDINGS = (".csv", ".tsv")
# In a text in Windows-1252, at most one of this number of bytes is not ASCII.
_BYTES_PER_NON_ASCII_BYTE = 4
# All bytes of ASCII.
_ASCII_BYTES = bytes(range(128))
# The first bytes of files that are not what their names say, and the advice for each.
_FOREIGN_FILE_BEGINNINGS = read_data("samples", "keys.json")["no_data"]


# What was read of a file may be at most this number of times as large as its compressed form ..
_MAX_EXPANSION = 200
# .. unless it has fewer bytes than this: so much of a line may be in memory before the file is refused.
_FREE_BYTES = 1 << 25


def check_path(path: object) -> Path:
    """Return the path of a file that a caller names.

    Raises:
        ParameterError: It is no path.
        InputFileError: No file can have the name.
    """
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise ParameterError(f"{type(path).__name__} is no path of a file. Write the path as a text.")
    if "\0" in os.fspath(path):
        raise InputFileError(f"{os.fspath(path)!r} cannot be the name of a file. Choose another.")
    return Path(path)


def get_ending(file: Path) -> str:
    """Return the ending of a file that names its format, without the ending of a compression."""
    if file.suffix.lower() in (_GZIP_ENDING, _ZSTD_ENDING):
        file = file.with_suffix("")
    return file.suffix.lower()


@contextmanager
def open_text(file: Path, encoding: str | None = None) -> Iterator[TextIO]:
    """Open a text file.

    Args:
        file: The file.
        encoding: The encoding of the file. None: UTF-8, or UTF-16 if the file looks like it. A table that is not UTF-8 is Windows-1252.

    Raises:
        InputFileError: The file cannot be read, decompressed or decoded, or it is a pointer or a web page instead of the data.
        ParameterError: There is no such encoding.
    """
    check_encoding(encoding)
    try:
        with open_bytes(file) as stream:
            start = stream.peek(_INSPECTED_BYTES)[:_INSPECTED_BYTES]
            check_beginning(file, start)
            encoding = encoding or _detect_utf16(start) or _detect_utf8_or_windows_1252(file)
            with io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
                yield text
    except DAMAGED_FILE_ERRORS as error:
        raise InputFileError(f"{file}: cannot be decompressed: {error}. Compress it again.") from None
    except OSError as error:
        from ctxmetrics.metrics.metric_names import list_possible_names

        hint = suggest_file(file)
        if list_possible_names(str(file)):
            hint = f" It names a metric. Write --metric {file} behind the file."
        raise InputFileError(f"{file}: cannot be read: {error.strerror or error}.{hint}") from None
    except UnicodeDecodeError as error:
        name = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise InputFileError(
            f"{file}: not {name} at byte {error.start}. Save it as UTF-8, or name its encoding: --encoding cp1252 (in "
            "Python encoding=)."
        ) from None


def check_beginning(file: Path, start: bytes) -> None:
    """Check by its first bytes that a file is no web page, archive or pointer instead of the data.

    Raises:
        InputFileError: It is.
    """
    for beginning, problem in _FOREIGN_FILE_BEGINNINGS.items():
        if start.lstrip().lower().startswith(beginning.lower().encode()):
            raise InputFileError(f"{file}: {problem}.")


def check_encoding(encoding: str | None) -> None:
    """Check that an encoding exists and is an encoding of texts.

    Raises:
        ParameterError: The encoding does not exist, or it is no encoding of texts.
    """
    try:
        if encoding is not None:
            "".encode(encoding)
    except LookupError:
        raise ParameterError(
            f"encoding={encoding!r} is unknown.{suggest(str(encoding), _USUAL_ENCODINGS)} Such are cp1252 and shift_jis."
        ) from None


def open_bytes(file: Path) -> io.BufferedReader:
    """Open a file to read its bytes. Decompress it if its first bytes or its name say so.

    Raises:
        MissingExtraError: The file is compressed by Zstandard, and pyarrow is not installed.
        OSError: The file cannot be read.
    """
    raw_file = file.open("rb")
    compression = _find_compression(file, raw_file.peek(_INSPECTED_BYTES))
    if compression is None:
        return raw_file
    raw_file.close()
    if compression == _ZSTD_ENDING:
        _import_pyarrow()  # its error says what to install
    return io.BufferedReader(_Decompressed(file, compression))


def _find_compression(file: Path, start: bytes) -> str | None:
    """Return the ending of a compressed file. Names may be wrong, so that the first bytes decide where they can."""
    for beginning, ending in _COMPRESSED_BEGINNINGS.items():
        if start.startswith(beginning):
            return ending
    ending = file.suffix.lower()
    is_plain_json = start.startswith(b"{")
    return ending if ending in (_GZIP_ENDING, _ZSTD_ENDING) and not is_plain_json else None


class _Decompressed(io.RawIOBase):
    """A compressed file that is read up to a limit: a few of its bytes can stand for gigabytes of memory.

    The limit holds for the part that was read so far, so that a large file of this kind is refused as early as a small one.
    """

    def __init__(self, file: Path, compression: str) -> None:
        self._file = file
        self._size = 0
        self._compressed = file.open("rb")
        if compression == _GZIP_ENDING:
            self._stream: Any = gzip.GzipFile(fileobj=self._compressed)
        else:
            self._stream = _import_pyarrow().input_stream(self._compressed, compression="zstd")

    def readable(self) -> bool:
        """Tell whether it can be read: yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer until it is full."""
        size: int = self._stream.readinto(buffer)
        self._size += size
        if self._size > _FREE_BYTES and self._size > _MAX_EXPANSION * self._compressed.tell():
            raise InputFileError(
                f"{self._file}: becomes more than {_MAX_EXPANSION} times as large, as no file of samples does. If it is one, "
                "decompress it first: gunzip, unzstd."
            )
        return size

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._compressed.close()
        super().close()


def _import_pyarrow() -> Any:
    """Import pyarrow, which reads and writes Zstandard."""
    with importing("pyarrow"):
        import pyarrow as pa
    return pa


def compress(pieces: Iterable[bytes], file: Path) -> Iterator[bytes]:
    """Compress what is written to a file, block by block, as its name says.

    Raises:
        MissingExtraError: The file ends in ``.zst``, and pyarrow is not installed.
    """
    ending = file.suffix.lower()
    if ending not in (_GZIP_ENDING, _ZSTD_ENDING):
        yield from pieces
        return
    to_block: Callable[[bytes], bytes] = partial(gzip.compress, mtime=0)
    if ending == _ZSTD_ENDING:
        to_block = partial(_import_pyarrow().Codec("zstd").compress, asbytes=True)
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= _BLOCK_BYTES:
            yield to_block(bytes(block))
            block.clear()
    yield to_block(bytes(block))


def _detect_utf16(start: bytes) -> str | None:
    """Return which UTF-16 a file is in by its first bytes: nearly every second byte of Latin letters is 0."""
    if start[:2] in _UTF16_MARKS:
        return "utf-16"
    for encoding, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        most_are_zero = len(zeros) > 1 and zeros.count(0) > len(zeros) / 2
        has_letters = start.count(0) < 0.75 * len(start)
        if most_are_zero and has_letters:
            return encoding
    return None


def _detect_utf8_or_windows_1252(file: Path) -> str:
    """Return the encoding of a file without zero bytes: Windows-1252 for a table that is not UTF-8."""
    if get_ending(file) not in _TABLE_ENDINGS or not file.is_file():
        return "utf-8-sig"
    decoder = codecs.getincrementaldecoder("utf-8")()
    byte_count = 0
    non_ascii_count = 0
    with open_bytes(file) as stream:
        try:
            while block := stream.read(_BLOCK_BYTES):
                byte_count += len(block)
                if not block.isascii():
                    non_ascii_count += len(block.translate(None, _ASCII_BYTES))
                decoder.decode(block)
            # A file that ends in the middle of a character raises here.
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            # Many bytes are not ASCII: a text of another script, not Windows-1252.
            if byte_count < _BYTES_PER_NON_ASCII_BYTE * non_ascii_count:
                return "utf-8-sig"
            logging.getLogger("ctxmetrics").warning(
                "%s: not UTF-8: read as Windows-1252. If letters look wrong, write --encoding (in Python encoding=).",
                file,
            )
            return _SPREADSHEET_ENCODING
    return "utf-8-sig"
