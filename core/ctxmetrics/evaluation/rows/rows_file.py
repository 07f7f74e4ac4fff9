"""Rows from a file of results, which `Results.from_jsonl` reads. Lines that repeat all their data, as `to_rows` gives them, are read as well."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics._internal.near_names import suggest_file
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.evaluation.files.text_files import (
    DAMAGED_FILE_ERRORS,
    check_beginning,
    check_path,
    open_bytes,
)
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import EMPTY_FIELDS, FIELDS_BESIDE_SAMPLE
from ctxmetrics.evaluation.rows.score_reading import (
    build_score,
    check_types,
    share_provenance,
    with_whole_characters,
)
from ctxmetrics.evaluation.rows.table_files import is_own, is_table
from ctxmetrics.samples.field_keys import OPTIONS
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.systems import fields_meant
from ctxmetrics.scores.score import Provenance, Score

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# The content of a line beside the facts about its sample: a score, or only its value.
Content = TypeVar("Content")
# The maximum number of characters of a provenance's number, or of a sample's id, in a message.
_MAX_NAME_CHARACTERS = 80
_NO_RESULTS = "this is no line of results"
_HOW_TO_FIX = "Give a file that --out FILE.jsonl or to_jsonl wrote."
# The key of the first line of a baseline that a commit before 28 November 2026 wrote. Its other lines are lists.
_EARLIER_BASELINE_KEY = "baseline_id"
_CUT_OFF_LINE = "the line is cut off, as a run leaves it that is killed. Finish the run with --resume, or delete the line."


def read_rows(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a file of results, each line checked as a judge's reply is.

    Values lie on the scale of their convention, each verdict has the id of its unit or context, spans lie in their
    contexts and are as long as their quotes, and every field has its type.

    Args:
        path: A file that `to_lines` or `to_rows` wrote. The lines of one sample follow each other.

    Raises:
        InputFileError: The file cannot be read, a line is no such row, a sample lacks a metric that the samples before
            it have, or has the id of one of them.
    """
    for index, lines in enumerate(read_groups(path, make_score_reader())):
        try:
            row = _build_row(index, lines)
        except CtxMetricsError as error:
            raise InputFileError(
                f"{path}, line {lines[-1].number}: the sample of these results cannot be read: {error}"
            ) from None
        yield row


def _build_row(index: int, lines: Sequence[RowLine[Score]]) -> Row:
    """Build the row of a sample from its lines.

    Raises:
        CtxMetricsError: The lines hold an invalid sample.
    """
    last_line = lines[-1]
    sample = None
    if last_line.record is not None:
        fields = dict(last_line.record)
        for name in FIELDS_BESIDE_SAMPLE:
            fields.pop(name, None)
        fields["id"] = last_line.sample_id
        sample = Sample(**fields)
    scores = tuple(line.content for line in lines)
    return Row(index, sample, last_line.sample_id, scores, last_line.record)


def read_groups(
    path: str | os.PathLike[str], reader: LineReader[Content]
) -> Iterator[list[RowLine[Content]]]:
    """Yield the lines of each sample. Every sample must have the metrics of the first one, and no two have the same id.

    Raises:
        InputFileError: As `read_rows` raises.
    """
    metrics: list[str] | None = None
    ids: set[str] = set()
    file_path = check_path(path)
    _check_ending(file_path)
    try:
        with open_bytes(file_path) as lines:
            check_beginning(file_path, lines.peek())
            for group in _group_lines(lines, str(path), reader):
                names = [line.metric for line in group]
                if metrics is None:
                    metrics = names
                if names != metrics:
                    raise InputFileError(
                        f"{path}, line {group[-1].number}: the sample has {', '.join(names)}, those before it "
                        f"{', '.join(metrics)}. Give the whole file of one run."
                    )
                _add_id(group[0], ids, path)
                yield group
    except DAMAGED_FILE_ERRORS as error:
        raise InputFileError(f"{path}: cannot be decompressed: {error}. Compress it again.") from None
    except OSError as error:
        raise InputFileError(
            f"{path}: cannot be read: {error.strerror or error}.{suggest_file(path)}"
        ) from None


def _add_id(line: RowLine[Any], ids: set[str], path: str | os.PathLike[str]) -> None:
    """Add the id of the sample of a line to those of the samples before it.

    Raises:
        InputFileError: A sample before it has the same id, so that it would count twice.
    """
    if line.sample_id is None:
        return
    if line.sample_id in ids:
        raise InputFileError(
            f"{path}, line {line.number}: the sample {_shorten(line.sample_id)!r} has results above, too. "
            "Give the file of one run."
        )
    ids.add(line.sample_id)


def _check_ending(path: Path) -> None:
    """Refuse a table of results. A CSV file of samples is refused by its first line, with better advice."""
    if is_table(path) and (is_own(path) or path.suffix.lower() != ".csv"):
        raise InputFileError(f"{path} is a table, no lines of results. {_HOW_TO_FIX}")


class RowLine(NamedTuple, Generic[Content]):
    """One line about a sample and metric.

    Attributes:
        number: The number of the line in the file.
        sample_id: The id of the sample.
        record: The facts about the sample in the file.
        provenance_id: The number of the provenance that stands in a line before it; None if it stands in this one.
        metric: The name of the metric.
        content: The score, or what is read of it.
    """

    number: int
    sample_id: str | None
    record: Mapping[str, Any] | None
    provenance_id: int | None
    metric: str
    content: Content


def make_score_reader() -> LineReader[Score]:
    """Make a reader of all fields of the lines."""
    from ctxmetrics.evaluation.rows import line_forms

    return LineReader(line_forms.LINE, build_score)


class LineReader(Generic[Content]):
    """Reads the lines of a file in order. It completes each line by data that earlier lines gave once for all.

    Args:
        form: The fields that are read of a line.
        build_content: Builds the content of a line from its fields and the record of its sample, and checks that they agree.
        allow_nan: Do not look for NaN in fields that have no type. To look for it takes as long as to read some short fields.
    """

    def __init__(
        self,
        form: TypeAdapter[dict[str, Any]],
        build_content: Callable[[dict[str, Any], Mapping[str, Any]], Content],
        *,
        allow_nan: bool = False,
    ) -> None:
        from pydantic_core import ValidationError, from_json

        from ctxmetrics.evaluation.rows import line_forms

        self._form = form
        self._build_content = build_content
        self._allow_nan = allow_nan
        self._invalid_line_error: type[ValueError] = ValidationError
        self._read_json: Callable[..., Any] = from_json
        self._provenance_form = line_forms.PROVENANCE
        self._run_form = line_forms.RUN
        # The provenances of the lines so far, by their ids in the file.
        self._provenances: dict[str, Provenance] = {}
        # The sample of the line before: its id, and its record.
        self._sample_id: str | None = None
        self._record: Mapping[str, Any] | None = None

    def read(self, text: bytes, number: int = 1) -> RowLine[Content] | None:
        """Read a line. Return None if it holds data that other lines share.

        Raises:
            InputFileError: The line is no line of results, or the line with its shared data is not before it.
            ValueError: The line is no JSON.
        """
        data = self._parse(text)
        if data is None:
            return None
        sample_id = data.get("sample_id")
        record = self._pop_record(sample_id, data)
        provenance_id = data.pop("provenance_id", None)
        if "provenance" in data:
            data["provenance"] = share_provenance(Provenance(**data["provenance"]))
        else:
            data["provenance"] = self._find_provenance(provenance_id)
        metric = data["metric"]
        content = self._build_content(data, record or EMPTY)
        return RowLine(number, sample_id, record, provenance_id, metric, content)

    def _parse(self, text: bytes) -> dict[str, Any] | None:
        """Read the fields of a line about a sample. Return None if it is about the run, or a provenance, which is remembered."""
        if self._allow_nan or (b"NaN" not in text and b"Infinity" not in text):
            try:
                return self._form.validate_json(text)
            except self._invalid_line_error:
                # The line is of another kind, holds half of a character, or has a fault, which is described below.
                pass
        text = with_whole_characters(text)
        data = self._read_json(text)
        if not isinstance(data, dict):
            raise InputFileError(
                "it is no object; a file has one for each metric of a sample, a line each."
            )
        if _EARLIER_BASELINE_KEY in data and "metric" not in data:
            raise InputFileError(
                "it is one of a baseline of an earlier commit: write it again with --write-baseline."
            )
        if "metric" in data or "provenance_id" not in data:
            fields = check_types(self._form, data)
            if not self._allow_nan:
                self._refuse_nan(text)
            return fields
        if "run" in data:
            check_types(self._run_form, data)
            if self._provenances:
                raise InputFileError("run: another run begins here; the file is of one run.")
            return None
        provenance = Provenance(**check_types(self._provenance_form, data))
        self._add_provenance(str(data["provenance_id"]), provenance)
        return None

    def _refuse_nan(self, text: bytes) -> None:
        """Refuse a line with NaN in a field that has no type."""
        try:
            self._read_json(text, allow_inf_nan=False)
        except ValueError:
            raise InputFileError("a field is NaN or Infinity, which are no numbers of JSON.") from None

    def _add_provenance(self, number: str, provenance: Provenance) -> None:
        """Remember a provenance for the lines behind it."""
        if self._provenances.setdefault(number, provenance) != provenance:
            raise InputFileError(
                f"provenance_id: {_shorten(number)} has another meaning above; the file is of one run."
            )

    def _find_provenance(self, number: object) -> Provenance:
        """Find the provenance that a line before has under a number."""
        provenance = self._provenances.get(str(number))
        if provenance is None:
            raise InputFileError(f"provenance_id: no line before it has {_shorten(str(number))}.")
        return provenance

    def _pop_record(self, sample_id: str | None, data: dict[str, Any]) -> Mapping[str, Any] | None:
        """Remove the record of the sample from the fields of a line, and return it.

        A line without a record is about the sample of the line before.
        """
        if "sample" in data:
            record = data.pop("sample")
            if record is not None and "hash" in record:  # a baseline has no hash, and fewer fields
                for name, empty in EMPTY_FIELDS.items():
                    record.setdefault(name, empty)
            self._sample_id = sample_id
            self._record = record
        elif self._sample_id != sample_id:
            raise InputFileError("sample: the line before is about another sample.")
        return self._record


def _shorten(name: str) -> str:
    """Cut the number of a provenance, or the id of a sample, to what a message shows of it."""
    return replace_invisible(name)[:_MAX_NAME_CHARACTERS]


def _group_lines(
    lines: Iterable[bytes], name: str, reader: LineReader[Content]
) -> Iterator[list[RowLine[Content]]]:
    """Yield the lines of each sample."""
    group: list[RowLine[Content]] = []
    for number, text in enumerate(lines, 1):
        line = _read_line(reader, text, number, name)
        if line is None:
            continue
        if group and not _belongs(line, group):
            yield group
            group = []
        group.append(line)
    if not group:
        raise InputFileError(f"{name}: the file holds no results. {_HOW_TO_FIX}")
    yield group


def _belongs(line: RowLine[Any], group: Sequence[RowLine[Any]]) -> bool:
    """Tell whether a line is about the sample of the lines before it, and a metric that these lack."""
    first_line = group[0]
    if line.record is not first_line.record and line.record != first_line.record:
        return False
    if line.sample_id != first_line.sample_id:
        return False
    return line.metric not in [other.metric for other in group]


def _read_line(
    reader: LineReader[Content], text: bytes, number: int, name: str
) -> RowLine[Content] | None:
    """Read a line of a file of results. Return None if it is blank, or holds data that other lines share.

    Args:
        reader: Reads the line, with the shared data of the lines before.
        text: The line.
        number: The number of the line, from 1.
        name: The name of the file.

    Raises:
        InputFileError: The line is no result.
    """
    if number == 1:
        text = text.removeprefix(BOM_UTF8)  # an editor has written it
    try:
        return reader.read(text, number)
    except ValueError as error:
        if not text.strip():
            return None
        # The caller wants results. If already the first line is a sample, the whole file is one of samples.
        if number == 1 and _is_sample(text):
            raise InputFileError(_describe_samples_file(name)) from None
        problem = _describe_bad_line(text, error)
    raise InputFileError(f"{name}, line {number}: {problem}")


def _describe_bad_line(text: bytes, error: ValueError) -> str:
    """Say why a line cannot be read, and how to mend the file."""
    if isinstance(error, CtxMetricsError):
        return f"{_NO_RESULTS}: {error} {_HOW_TO_FIX}"
    if not text.endswith(b"\n"):
        return _CUT_OFF_LINE
    return f"{_NO_RESULTS}: {_describe_json_fault(text)}. {_HOW_TO_FIX}"


def _describe_json_fault(text: bytes) -> str:
    """Say where a line is no JSON."""
    try:
        json.loads(text.decode())
    except json.JSONDecodeError as error:
        return f"it is no JSON at character {error.pos + 1}"
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 at byte {error.start + 1}"
    except RecursionError:
        pass  # it is nested deeper than any line of results
    except ValueError:
        return f"it has a number of more than {sys.get_int_max_str_digits()} digits"
    return "it is no JSON"


def _is_sample(line: bytes) -> bool:
    """Tell whether the first line of a file is a sample, or names the columns of samples."""
    try:
        data = json.loads(line)
    except RecursionError:
        return False
    except ValueError:  # no JSON, but perhaps the header of a CSV file
        header = line.decode(errors="replace").strip("\ufeff\r\n")
        data = [name.strip('" ') for name in re.split(r"[,;\t]", header)]
    if not isinstance(data, (dict, list)) or "metric" in data or "provenance" in data:
        return False
    meanings: set[str] = set()
    for name in data:
        meanings.update(fields_meant(str(name)))
    sample_fields = meanings.intersection(OPTIONS)
    return len(sample_fields) > 1


def _describe_samples_file(file_name: str) -> str:
    """Say that a file holds samples in the place of results, and how they become results."""
    out = shlex.quote(str(Path(file_name).with_suffix(".results.jsonl")))
    return (
        f"{file_name} holds samples, not results; score it first: ctxmetrics score {shlex.quote(file_name)} --out {out} (in Python "
        "evaluate(path, metrics).to_jsonl(out))."
    )
