"""What a comparison reads of each sample of a run, and which samples of two runs belong together.

Of a file's lines, values and answers are kept, and where each sample's lines stand; texts are read again for the samples
that changed.
"""

from __future__ import annotations

import gc
import io
import os
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import zip_longest
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ctxmetrics._display import visible
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.report.rows import question_hash, read_lines, record_of
from ctxmetrics.report.view import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from pydantic_core import SchemaValidator

    from ctxmetrics.scores import Score
    from ctxmetrics.verdicts import Verdict

    Run: TypeAlias = Iterable[Row] | str | os.PathLike[str]

# What must be equal before two scores may be compared, and how it is written in a score's provenance.
_ORIGIN = {
    "judge": "judge",
    "prompt": "prompt",
    "convention": "convention",
    "formula": "formula",
    "unit": "splitter",
}
# What `compare` may be told to accept as different.
FIELDS = (*_ORIGIN, "question")
_MARKS = {True: "1", False: "0", None: "?"}
_LONGEST = 3
# Bytes of a file that are read at once.
_BUFFER = 1 << 16
# Lines that are remembered while two files are read: a sample may stand a few samples later in one of them.
_REMEMBERED = 64


class Brief(NamedTuple):
    """What a comparison needs of one score.

    Attributes:
        value: The score's value.
        answers: A character a verdict: 1 for yes, 0 for no, ? where there is none.
        origin: Judge, prompt, convention, formula and unit.
    """

    value: float | None
    answers: str
    origin: tuple[str | None, ...]


class Unit(NamedTuple):
    """A verdict of one run.

    Attributes:
        id: ``s1``, ``s2`` .. of a unit, ``c1``, ``c2`` .. of a context.
        text: What it is about.
        value: Yes, no, or None.
        evidence: Index of the context and the quote, of each span that supports it.
    """

    id: str
    text: str
    value: bool | None
    evidence: tuple[tuple[int, str], ...]


class Detail(NamedTuple):
    """What one run says of a sample beyond its values.

    Attributes:
        units: The verdicts of each metric that was asked for, by their text; of equal texts, by the first, the second ..
        context_hashes: Hashes of the retrieved contexts.
        contexts: Their texts; empty where the run did not keep them.
    """

    units: Mapping[str, Mapping[tuple[str, int], Unit]]
    context_hashes: Sequence[str]
    contexts: Sequence[str]


class Stored(NamedTuple):
    """Where the lines of a sample stand in a file of results."""

    file: IO[bytes]
    start: int
    size: int


class Entry(NamedTuple):
    """One sample of a run; its texts and evidence are read when they are asked for.

    Attributes:
        name: The sample's id, or its number.
        identifier: The sample's id, or None.
        hash: Of question and reference; None where nothing is known of the sample.
        user_input: The question.
        metadata: The sample's.
        labels: What people said.
        scores: By metric, in the order of their lines.
        source: The row, or where its lines stand.
    """

    name: str
    identifier: str | None
    hash: str | None
    user_input: str | None
    metadata: Mapping[str, Any]
    labels: Mapping[str, Any]
    scores: Mapping[str, Brief]
    source: Row | Stored

    def detail(self, metrics: Collection[str]) -> Detail:
        """Return verdicts of some metrics, and what is known of the retrieved contexts.

        Raises:
            InputFileError: The lines are no results.
        """
        if isinstance(self.source, Row):
            row = self.source
            about = record_of(row) or {}
            units = {name: _numbered(map(_unit_of, row[name].verdicts)) for name in metrics}
            texts = () if row.sample is None else row.sample.retrieved_contexts or ()
            return Detail(units, about.get("context_hashes") or (), texts)
        file, start, size = self.source
        file.seek(start)
        lines = dict(zip(self.scores, file.read(size).split(b"\n"), strict=False))
        try:
            read = _reader(details=True).validate_json
            data = {name: read(lines[name]) for name in metrics or list(lines)[:1]}
            about = next(iter(data.values()))["sample"] or {}
            units = {name: _numbered(map(_unit_in, data[name]["verdicts"])) for name in metrics}
        except ValueError:
            raise InputFileError(
                f"sample {visible(self.name)}: its lines are no results. Give a file that --out or to_jsonl wrote."
            ) from None
        return Detail(units, about.get("context_hashes") or (), about.get("retrieved_contexts") or ())


def _unit_of(verdict: Verdict) -> Unit:
    spans = tuple((span.context, span.quote) for span in verdict.evidence)
    return Unit(verdict.id, verdict.text, verdict.value, spans)


def _unit_in(data: Mapping[str, Any]) -> Unit:
    spans = tuple([(span["context"], span["quote"]) for span in data["evidence"]])
    return Unit(data["id"], data["text"], data["value"], spans)


def _numbered(units: Iterable[Unit]) -> dict[tuple[str, int], Unit]:
    seen: dict[str, int] = {}
    found = {}
    for unit in units:
        seen[unit.text] = number = seen.get(unit.text, 0) + 1
        found[unit.text, number] = unit
    return found


@contextmanager
def opened(*runs: Run) -> Iterator[list[list[Entry]]]:
    """Read runs: their rows, or the files that hold their lines, which are open until the end of the block.

    The runs are read side by side, since most lines are often the same in both: such a line is read once.

    Raises:
        InputFileError: A file cannot be read, or a line is no result.
    """
    collecting = gc.isenabled()
    gc.disable()  # nothing here refers to itself, and the collector would look at all entries again and again
    try:
        with ExitStack() as stack:
            read = _line_reader()
            readers = [
                _from_file(stack.enter_context(_file(run)), str(run), read)
                if isinstance(run, (str, os.PathLike))
                else map(_of_row, run)
                for run in runs
            ]
            entries: list[list[Entry]] = [[] for _ in runs]
            for found in zip_longest(*readers):
                for kept, entry in zip(entries, found, strict=True):
                    if entry is not None:
                        kept.append(entry)
            yield entries
            for kept in entries:  # freed before the collector sees them
                kept.clear()
    finally:
        if collecting:
            gc.enable()


def _file(run: str | os.PathLike[str]) -> IO[bytes]:
    try:
        file: IO[bytes] = open(run, "rb", _BUFFER)  # noqa: PTH123, SIM115 - a path of any kind; the caller closes it
        if file.seekable():
            return file
        with file:
            return io.BytesIO(file.read())
    except OSError as error:
        raise _unreadable(str(run), error) from None


def _from_file(file: IO[bytes], name: str, read: Callable[[bytes], Any]) -> Iterator[Entry]:
    start = 0
    try:
        for number, (_, group, size) in enumerate(read_lines(file, name, read), 1):
            identifier, said = group[0]["sample_id"], group[0]["sample"] or {}
            yield Entry(
                identifier or str(number),
                identifier,
                said.get("hash"),
                said.get("user_input"),
                said.get("metadata") or {},
                said.get("labels") or {},
                {data["metric"]: data["score"] for data in group},
                Stored(file, start, size),
            )
            start += size
    except OSError as error:
        raise _unreadable(name, error) from None


def _line_reader() -> Callable[[bytes], Any]:
    """Return what reads a line, with its `Brief` as ``score``; it remembers the last lines."""
    read = _reader().validate_json
    origins: dict[tuple[str | None, ...], tuple[str | None, ...]] = {}

    @lru_cache(maxsize=_REMEMBERED)
    def read_line(line: bytes) -> Any:
        data = read(line)
        origin = tuple(data["provenance"].values())
        answers = "".join([_MARKS[verdict["value"]] for verdict in data["verdicts"]])
        data["score"] = Brief(data["value"], answers, origins.setdefault(origin, origin))
        return data

    return read_line


def _unreadable(name: str, error: OSError) -> InputFileError:
    return InputFileError(f"{name}: cannot be read: {error.strerror or error}.")


@lru_cache(maxsize=2)
def _reader(*, details: bool = False) -> SchemaValidator:
    """Return the reader of what is kept of a line: what it does not name is passed over, which is quicker.

    Args:
        details: Read what `Entry.detail` returns.
    """
    from pydantic_core import SchemaValidator
    from pydantic_core import core_schema as schema

    def part(fields: Mapping[str, Any], *, total: bool = True) -> Any:
        found = {name: schema.typed_dict_field(kind) for name, kind in fields.items()}
        return schema.typed_dict_schema(found, total=total, extra_behavior="ignore")

    def optional(kind: Any) -> Any:
        return schema.nullable_schema(kind)

    string = schema.str_schema(strict=True)
    text, answer = optional(string), {"value": optional(schema.bool_schema(strict=True))}
    if details:
        span = part({"context": schema.int_schema(strict=True, ge=0), "quote": string})
        strings = optional(schema.list_schema(string))
        about = part({"context_hashes": strings, "retrieved_contexts": strings}, total=False)
        verdict = {"id": string, "text": string, **answer, "evidence": schema.list_schema(span)}
        line = {"sample": optional(about), "verdicts": schema.list_schema(part(verdict))}
        return SchemaValidator(part(line))
    fields = optional(schema.dict_schema(schema.str_schema()))
    about = {"hash": text, "content_hash": text, "user_input": text, "labels": fields, "metadata": fields}
    line = {
        "sample_id": text,
        "sample": optional(part(about, total=False)),
        "metric": string,
        "value": optional(schema.float_schema(strict=True, allow_inf_nan=False)),
        "verdicts": schema.list_schema(part(answer)),
        "provenance": part(dict.fromkeys(_ORIGIN.values(), text)),
    }
    return SchemaValidator(part(line))


def _of_row(row: Row) -> Entry:
    sample, found = row.sample, row.record
    known = None if sample is None else question_hash(sample) if found is None else found["hash"]
    return Entry(
        name=row.sample_id or str(row.index + 1),
        identifier=row.sample_id,
        hash=known,
        user_input=None if sample is None else sample.user_input,
        metadata={} if sample is None else sample.metadata,
        labels={} if sample is None else sample.labels,
        scores={name: _of_score(score) for name, score in row.items()},
        source=row,
    )


def _of_score(score: Score) -> Brief:
    origin = tuple(getattr(score.provenance, name) for name in _ORIGIN.values())
    return Brief(score.value, "".join(_MARKS[verdict.value] for verdict in score.verdicts), origin)


def joined(
    before: Sequence[Entry], after: Sequence[Entry]
) -> tuple[list[tuple[Entry, Entry]], list[str], list[str]]:
    """Put the samples of two runs together: by id where every sample has one, else by question and reference.

    Returns:
        The pairs, and the names of the samples that are in one run only.

    Raises:
        ParameterError: They cannot be told apart, or no sample is in both.
    """
    by_id = all(entry.identifier is not None for entry in (*before, *after))
    places = [_places(run, by_id=by_id) for run in (before, after)]
    pairs = [(entry, places[1][key]) for key, entry in places[0].items() if key in places[1]]
    if not pairs:
        how = "no id is in both" if by_id else "no question with its reference is in both"
        raise ParameterError(
            f"compare: the runs have no sample in common: {how}. Give runs on the same samples."
        )
    alone = [
        [entry.name for key, entry in mine.items() if key not in other]
        for mine, other in (places, reversed(places))
    ]
    return pairs, alone[0], alone[1]


def _places(run: Sequence[Entry], *, by_id: bool) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for entry in run:
        key = entry.identifier if by_id else entry.hash
        if key is None:
            raise ParameterError(
                f"compare: sample {visible(entry.name)!r} has no id, and its run kept values only. Give the samples ids, "
                "or the file of --out."
            )
        if key in found:
            raise ParameterError(
                f"compare: samples {visible(found[key].name)!r} and {visible(entry.name)!r} have the same "
                f"{'id' if by_id else 'question and reference'}. Give each sample an id of its own."
            )
        found[key] = entry
    return found


def check_comparable(
    pairs: Iterable[tuple[Entry, Entry]], metrics: Sequence[str], allowed: Collection[str]
) -> list[str]:
    """Raise where scores that are compared differ in more than what was retrieved.

    Args:
        pairs: The samples of both runs.
        metrics: What is compared.
        allowed: Which of `FIELDS` may differ.

    Returns:
        What differs with permission, in words.

    Raises:
        ParameterError: They differ in what is not allowed; the message names each field and both values.
    """
    unknown = [name for name in allowed if name not in FIELDS]
    if unknown:
        raise ParameterError(
            f"compare: allow_different {unknown[0]!r} is unknown. Choose from: {', '.join(FIELDS)}."
        )
    different: dict[str, dict[tuple[str, str], int]] = {}
    for one, other in pairs:
        if None not in (one.hash, other.hash) and one.hash != other.hash:
            counts = different.setdefault("question", {})
            counts[one.name, other.name] = counts.get((one.name, other.name), 0) + 1
        for metric in metrics:
            mine, its = one.scores[metric], other.scores[metric]
            if mine.origin == its.origin or None in (mine.value, its.value):
                continue
            for name, left, right in zip(_ORIGIN, mine.origin, its.origin, strict=True):
                asked = name != "prompt" or (
                    mine.answers and its.answers
                )  # without a request there is no prompt
                if left != right and asked:
                    counts = different.setdefault(name, {})
                    counts[str(left), str(right)] = counts.get((str(left), str(right)), 0) + 1
    words = {name: f"{name} ({_shown(name, different[name])})" for name in FIELDS if name in different}
    refused = [name for name in words if name not in allowed]
    if refused:
        option = " ".join(f"--allow-different {name}" for name in refused)
        raise ParameterError(
            f"compare: the runs differ in {'; '.join(words[name] for name in refused)}. Their scores do not measure the "
            f"same thing. Score both alike, or write {option} (allow_different={tuple(refused)!r})."
        )
    return list(words.values())


def _shown(name: str, counts: Mapping[tuple[str, str], int]) -> str:
    if name == "question":
        some = [visible(one)[:40] for one, _ in list(counts)[:_LONGEST]]
        return f"question or reference of {len(counts)} samples: {', '.join(some)}" + (
            " .." if len(counts) > _LONGEST else ""
        )
    return ", ".join(
        f"{visible(one)[:80]} and {visible(other)[:80]}, {number} scores"
        for (one, other), number in list(counts.items())[:_LONGEST]
    )
