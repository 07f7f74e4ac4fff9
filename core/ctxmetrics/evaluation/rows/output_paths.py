"""Checks that outputs can be written: none is an input, another output, or data that this library did not write."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.files.text_files import DAMAGED_FILE_ERRORS, check_path, open_bytes
from ctxmetrics.evaluation.rows.file_names import key_beside
from ctxmetrics.evaluation.rows.table_files import is_own, is_table, verdicts_beside

# The ending of the name of a file while its run goes on.
PART_ENDING = ".part"
# The number of first bytes that show whether this library wrote a file.
_INSPECTED_BYTES = 1024
# The option that names a page, and the endings of pages.
_PAGE_OPTION = "--report"
_PAGE_ENDINGS = (".html", ".htm", "")
# How the lines of results begin.
_RESULT_LINE_BEGINNINGS = (b'{"provenance_id"', b'{"sample_id"')
# How a page, a card, and what the view remembers of a folder begin.
_OTHER_OUTPUT_BEGINNINGS = (b"<", b'{\n "ctxmetrics_card"', b'{"ctxmetrics_view"')


class _NamedFile(NamedTuple):
    """A file that an option names.

    Attributes:
        option: The option.
        path: The path as the caller wrote it.
        target: The file, through all links.
    """

    option: str
    path: Any
    target: Path


def check_outputs(outputs: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    """Refuse outputs that are one of the inputs, or each other, under any name or link.

    Of an output that exists already, the beginning is read: only what this library wrote may be overwritten.

    Args:
        outputs: Paths of files by the option that named them; None if it was not given.
        inputs: The same, of what is read.

    Raises:
        InputFileError: Two are one file, or an output cannot be written.
        ParameterError: An output is ``-``, or a page has the ending of another file.
    """
    outputs = {name: check_path(path) for name, path in outputs.items() if path is not None}
    for name, path in list(outputs.items()):
        verdicts = verdicts_beside(path)
        if verdicts is not None:
            outputs[f"the verdicts of {name}"] = verdicts
    targets = {name: find_target(path) for name, path in outputs.items()}
    written_files: list[_NamedFile] = []
    for name, target in targets.items():
        if target is not None:
            written_files.append(_NamedFile(name, outputs[name], target))
    read_files = [
        _NamedFile(name, path, Path(path)) for name, path in inputs.items() if path is not None
    ]
    for output, other_output in combinations(written_files, 2):
        _check_different(output, other_output)
        _check_part(other_output, output)
    for output, read_file in product(written_files, read_files):
        _check_different(output, read_file)
    for name, target in targets.items():
        check_writable(outputs[name], target)
    _check_names(outputs)


def _check_different(output: _NamedFile, other: _NamedFile) -> None:
    """Refuse an output that is another file, or whose name during the run is that of another file."""
    if _is_same_file(output.target, other.target):
        raise InputFileError(
            f"{output.option} {output.path} and {other.option} {other.path} are the same file, which "
            f"would be lost. Choose another file for {output.option}."
        )
    _check_part(output, other)


def _check_part(output: _NamedFile, other: _NamedFile) -> None:
    """Refuse an output whose name during the run is that of another file."""
    part = add_part(output.target)
    if _is_same_file(part, other.target):
        raise InputFileError(
            f"{output.option} {output.path} is named {part.name} while the run goes on, and {other.option} "
            f"{other.path} is this file, which would be lost. Choose another file for {output.option}."
        )


def _check_names(outputs: Mapping[str, Any]) -> None:
    """Refuse ``-`` as the name of an output, and a page with the ending of another file."""
    for name, path in outputs.items():
        if str(path) == "-":
            raise ParameterError(f"{name} -: this is no name of a file. For stdout write /dev/stdout.")
        if name == _PAGE_OPTION and Path(path).suffix.lower() not in _PAGE_ENDINGS:
            raise ParameterError(f"{name} {path}: the report is a page. Write {name} FILE.html.")


def find_target(path: str | os.PathLike[str]) -> Path | None:
    """Return the file that a path names, through all links. Return None for a device or a pipe: writing to it loses nothing.

    Raises:
        ParameterError: It is no path.
        InputFileError: No file can have the name.
    """
    target = Path(os.path.realpath(check_path(path)))
    if Path(path).absolute().parts[1:2] == ("dev",):
        return None
    if target.exists():
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            return None
    return target


def add_part(target: Path) -> Path:
    """Return the name that a file has while its run goes on: ``NAME.part``."""
    return target.with_name(target.name + PART_ENDING)


def _is_same_file(path: Path, other: Path) -> bool:
    """Tell whether two paths name one file, also if it does not exist yet."""
    with suppress(OSError):
        return path.samefile(other)
    return os.path.normcase(path) == os.path.normcase(os.path.realpath(other))


def check_writable(path: str | os.PathLike[str], target: Path | None) -> None:
    """Check that a file can be written, and that it holds nothing that this library did not write.

    Args:
        path: The file as the caller named it, for the message.
        target: The file that `find_target` found for the path.
    """
    if target is None:
        return
    if target.is_dir():
        problem = os.strerror(errno.EISDIR)
    elif not target.parent.is_dir():
        problem = os.strerror(errno.ENOENT)
    elif not os.access(target if target.exists() else target.parent, os.W_OK):
        problem = os.strerror(errno.EACCES)
    elif target.exists() and key_beside(target).exists():
        problem = "it is the audit of an earlier check, which people may be labelling"
    elif not _is_output(target):
        problem = "it holds data that no run wrote"
    else:
        return
    raise InputFileError(f"{path}: cannot be written: {problem}. Choose another file.")


def check_table_packages(path: str | os.PathLike[str]) -> None:
    """Check that a file of results and the file of its verdicts can be written."""
    for output in (path, verdicts_beside(path)):
        if output is not None:
            check_writable(output, find_target(output))


def _is_output(file_path: Path) -> bool:
    """Tell whether a file is empty or missing, or was written by this library. Any other file may be the samples themselves."""
    try:
        with open_bytes(file_path) as file:
            start = file.read(_INSPECTED_BYTES)
    except (FileNotFoundError, PermissionError):  # what cannot be read is refused when it is written
        return True
    except (OSError, *DAMAGED_FILE_ERRORS):  # it is not compressed as its name says
        return False
    if is_table(file_path) and is_own(file_path):
        return True
    # A file may be empty, or be cut off in its first line: then its content is the start of a known beginning.
    if any(line.startswith(start[: len(line)]) for line in _RESULT_LINE_BEGINNINGS):
        return True
    return start.startswith(_OTHER_OUTPUT_BEGINNINGS) and b"ctxmetrics" in start


def make_folder(path: Path, option: str = "") -> None:
    """Create a folder and its parents, unless they exist.

    Args:
        path: The folder.
        option: The option that names it, for the message.

    Raises:
        InputFileError: The folder cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        name = f"{option} {path}".strip()
        raise InputFileError(f"{name}: is no directory: {error.strerror or error}.") from None
