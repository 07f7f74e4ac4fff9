"""Give contexts ids that are spans of their sources: taken from chunks or people's answers, or found in the sources."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.files.json_rows import line_rows
from ctxmetrics.evaluation.rows.people_answers import (
    NO,
    YES,
    LabelQuestion,
    PeopleAnswers,
    PersonAnswer,
)
from ctxmetrics.evaluation.rows.sample_record import key_of
from ctxmetrics.evaluation.runs.sources import list_samples
from ctxmetrics.formulas import Span
from ctxmetrics.metrics.spans import mark_span_origin, read_span, set_reference_spans
from ctxmetrics.samples.documents import ID_KEYS, SPAN_MARK, own_id, span_of, write_span
from ctxmetrics.samples.field_keys import TEXTS_OF
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import clean, plural

# The maximum number of places of a text in a message.
_MAX_PLACES_SHOWN = 3
# The keys that may hold the id of a chunk. LlamaIndex writes ``id_``.
_CHUNK_ID_KEYS = (*ID_KEYS, "chunk_id", "id_")


def label_spans(
    samples: Iterable[Sample | Mapping[str, Any]],
    *,
    chunks: Iterable[Any] | None = None,
    labels: str | os.PathLike[str] | None = None,
) -> list[Sample]:
    """Return samples whose labels are spans of the sources, so that they stay valid when the sources are chunked anew.

    ``metadata["reference_spans"]`` of each sample says where its labels come from. Exactly one of ``chunks`` and ``labels``
    is given.

    Args:
        samples: The samples, or dicts of their fields.
        chunks: The chunks whose ids the samples have, as documents that say where they stand: source and start, as
            LangChain (``add_start_index=True``), LlamaIndex and Haystack write them, or plain mappings with ``id``,
            ``source``, ``start_index`` and ``text``. Ids of the samples become spans.
        labels: A file of people's answers (`ctxmetrics label`) about contexts whose ids are spans: what they called useful,
            and what they named for a sentence that is stated, becomes the reference. A sample is found by its id, with
            whatever contexts it has now; without an id it is found by its texts. A sample with no such answer, or only ties,
            stays as it is.

    Returns:
        The samples in their order; ``reference_context_ids`` (and with ``chunks`` all ids) are spans.

    Raises:
        ParameterError: Not one of both is given.
        SampleError: An id is of no chunk, a chunk does not say where it stands, answers have no span,
            or answers are about none of the samples.
        InputFileError: The file is no file of labels.
    """
    if (chunks is None) == (labels is None):
        raise ParameterError("label_spans: give chunks= or labels=, one of them.")
    path = None if labels is None else Path(labels)
    checked = list_samples(samples, "label_spans")
    labelled_samples, problems = with_known_spans(checked, chunks, path)
    if problems:
        raise SampleError(problems[0])
    return labelled_samples


def with_known_spans(
    samples: list[Sample], chunks: Path | Iterable[Any] | None, labels: Path | None
) -> tuple[list[Sample], list[str]]:
    """Return the samples with the spans of chunks or of people's answers, and the ids and answers without a span or a sample."""
    problems: list[str] = []
    if chunks is not None:
        if isinstance(chunks, Path):
            spans = _read_chunks(record for _, record in line_rows(chunks))
            origin = chunks.name
        else:
            spans = _read_chunks(chunks)
            origin = getattr(chunks, "name", "chunks")
        samples, problems = _replace_ids_by_spans(samples, spans, origin)
    if labels is not None:
        samples, problems_of_answers = _add_spans_of_answers(samples, labels)
        problems += problems_of_answers
    return samples, problems


def _read_chunks(chunks: Iterable[Any]) -> dict[str, str]:
    """Return the span of each chunk by its id.

    Raises:
        SampleError: A chunk has no id, or does not say where it stands; or two chunks have the same id.
    """
    if isinstance(chunks, str):
        raise ParameterError(
            f"label_spans: chunks={chunks!r} must be a list of chunks. Write chunks=Path({chunks!r}) for a file."
        )
    spans: dict[str, str] = {}
    for number, chunk in enumerate(chunks, 1):
        name = own_id(chunk, _CHUNK_ID_KEYS)
        span = span_of(chunk)
        if name is None or span is None:
            missing_field = "id" if name is None else "source and start (source, start_index)"
            raise SampleError(
                f"chunk {number}: it has no {missing_field}. Write {{id, source, start_index, text}}."
            )
        if spans.setdefault(str(name), span) != span:
            raise SampleError(
                f"chunk {number}: another chunk has the id {replace_invisible(str(name))[:80]!r} too."
            )
    return spans


def _replace_ids_by_spans(
    samples: Iterable[Sample], spans: Mapping[str, str], origin: str
) -> tuple[list[Sample], list[str]]:
    """Replace the id of each chunk in the samples by the span of the chunk. Return the new samples, and the ids that no chunk has.

    Args:
        samples: The samples.
        spans: The span of each chunk by its id.
        origin: A phrase that says what the spans were read from.
    """
    changed: list[Sample] = []
    problems: list[str] = []
    for number, sample in enumerate(samples, 1):
        name = sample.called(f"Sample {number}")
        fields: dict[str, Any] = {}
        for field in TEXTS_OF:
            ids: Sequence[str] = getattr(sample, field) or ()
            # An empty id is no id.
            unknown_ids = [id_ for id_ in ids if id_ and SPAN_MARK not in id_ and id_ not in spans]
            problems += [
                f"{name}: field '{field}': {replace_invisible(id_)[:80]!r} is the id of no chunk"
                for id_ in unknown_ids
            ]
            has_id_of_chunk = any(id_ in spans for id_ in ids)
            if has_id_of_chunk and not unknown_ids:
                fields[field] = tuple(spans.get(id_, id_) for id_ in ids)
        if "reference_context_ids" in fields:
            fields["metadata"] = mark_span_origin(sample, f"ids of chunks, spans of {origin}")
        changed.append(replace(sample, **fields) if fields else sample)
    return changed, problems


def _add_spans_of_answers(samples: Iterable[Sample], path: Path) -> tuple[list[Sample], list[str]]:
    """Return the samples with the spans that people marked as reference ids, and the faults of the answers.

    A sample without a marked span stays as it is: a tie, or no answer that names a context, is no label.

    Raises:
        InputFileError: The file is no file of labels, or has no yes or no.
    """
    file = PeopleAnswers(path)
    # The key of a sample: its id, else its texts.
    answers_by_sample: dict[Any, list[PersonAnswer]] = {}
    for answer in file.answers.values():
        if answer.answer in {YES, NO}:
            sample_id, _ = answer.question.key
            answers_by_sample.setdefault(sample_id or answer.question.key, []).append(answer)
    if not answers_by_sample:
        raise InputFileError(
            f"{path}: no question has a yes or a no. Answer some with `ctxmetrics label`."
        )
    majority: dict[LabelQuestion, bool | None] = {}
    for majorities in file.majority().values():
        majority.update(majorities)
    changed = list(samples)
    problems = []
    keys_without_sample = dict.fromkeys(answers_by_sample)
    for index, sample in enumerate(changed):
        name = sample.called(f"Sample {index + 1}")
        key = sample.id or key_of(sample)
        keys_without_sample.pop(key, None)
        answers = answers_by_sample.get(key, [])
        yes_answers = [item for item in answers if item.answer == YES and majority[item.question]]
        # A yes about contexts whose ids are no spans.
        without_span = [item for item in yes_answers if not item.spans and _names_context(item)]
        if without_span:
            have_no = "has no" if len(without_span) == 1 else "have no"
            problems.append(
                f"{name}: {plural(len(without_span), 'answer')} of {path.name} {have_no} "
                "span: the contexts that were labelled had no ids "
                "SOURCE#char=START,END. Find them with --sources, and label that file"
            )
            continue
        span_ids = chain.from_iterable(item.spans for item in yes_answers)
        spans = [read_span(span_id, f"{path}: {name}") for span_id in span_ids]
        if spans:
            decided = [item for item in answers if majority[item.question] is not None]
            # A dict keeps each name once.
            annotators = dict.fromkeys(replace_invisible(item.annotator) for item in decided)
            with_spans = set_reference_spans(sample, spans, f"marked by {', '.join(annotators)}")
            changed[index] = replace(with_spans, reference_contexts=None)
    for key in keys_without_sample:
        # The key of a sample without an id holds the hash of its texts.
        if isinstance(key, str):
            name = key
        else:
            _, name = key
        problems.append(
            f"{path.name}: the answers about sample {replace_invisible(name)[:80]!r} are about none of the samples. "
            "Give the samples the ids of the labelled ones"
        )
    return changed, problems


def _names_context(answer: PersonAnswer) -> bool:
    """Tell whether an answer says which contexts it is about."""
    return bool(answer.contexts) or answer.question.item[0] == "c"


# --- spans from the sources ---


def with_found_spans(samples: Sequence[Sample], sources: Path) -> tuple[list[Sample], list[str], str]:
    """Find the chunks of samples in the sources.

    Returns:
        The samples with the found spans, the problems with missing chunks, and a sentence with the counts.
    """
    texts_without_span: list[str] = []
    for sample in samples:
        for _, texts, ids in _list_contexts(sample):
            for text, id_ in zip(texts, ids, strict=True):
                if SPAN_MARK not in (id_ or ""):
                    texts_without_span.append(text)
    names: list[str] = []

    def read_noting_names() -> Iterator[tuple[str, str]]:
        """Yield the sources, and note their names."""
        for name, text in read_sources(sources):
            names.append(name)
            yield name, text

    distinct_texts = list(dict.fromkeys(texts_without_span))
    places = locate(distinct_texts, read_noting_names())
    places_by_text = dict(zip(distinct_texts, places, strict=True))
    changed: list[Sample] = []
    problems: list[str] = []
    for number, sample in enumerate(samples, 1):
        with_spans, problems_of_sample = _add_found_spans(sample, number, places_by_text, names)
        changed.append(with_spans)
        problems += problems_of_sample
    found_count = len(texts_without_span) - len(problems)
    contexts = plural(len(texts_without_span), "context")
    summary = f"{found_count} of {contexts} found in {plural(len(names), 'source')}."
    return changed, problems, summary


def _list_contexts(sample: Sample) -> Iterator[tuple[str, Sequence[str], Sequence[str | None]]]:
    """Yield for retrieved and reference contexts the field of their ids, the texts, and the id of each, if it has one."""
    for field, text_field in TEXTS_OF.items():
        texts: Sequence[str] = getattr(sample, text_field) or ()
        ids: Sequence[str | None] = getattr(sample, field) or ()
        if len(ids) != len(texts):
            ids = [None] * len(texts)
        yield field, texts, ids


def _add_found_spans(
    sample: Sample, number: int, places_by_text: Mapping[str, Places], names: Sequence[str]
) -> tuple[Sample, list[str]]:
    """Add the ids of the found spans to a sample. Return it, with a list of problems: chunks that were not found."""
    name = sample.called(f"Sample {number}")
    fields: dict[str, Any] = {}
    problems = []
    for field, texts, ids in _list_contexts(sample):
        new_ids = list(ids)
        for index, (text, id_) in enumerate(zip(texts, ids, strict=True)):
            if SPAN_MARK in (id_ or ""):
                continue
            spans = places_by_text[text].within(_find_source(id_, names))
            if len(spans) == 1:
                new_ids[index] = write_span(*spans[0])
            else:
                field_name = f"{name}: field '{TEXTS_OF[field]}', item {index + 1}"
                problems.append(f'{field_name}: {_describe_spans(spans)}: "{clean(text, 60)}"')
        # A sample with more or fewer ids than texts keeps its ids.
        are_pairs = len(getattr(sample, field) or texts) == len(texts)
        all_have_spans = None not in new_ids
        if are_pairs and all_have_spans and new_ids != list(ids):
            fields[field] = tuple(new_ids)
    if "reference_context_ids" in fields:
        fields["metadata"] = mark_span_origin(sample, "reference_contexts, found in their sources")
    return replace(sample, **fields), problems


def _describe_spans(spans: Sequence[Span]) -> str:
    """Describe the spans of a quote in the sources."""
    if not spans:
        return "not found"
    first_spans = ", ".join(write_span(*span) for span in spans[:_MAX_PLACES_SHOWN])
    ending = f" and {len(spans) - _MAX_PLACES_SHOWN} more" if len(spans) > _MAX_PLACES_SHOWN else ""
    return f"stands in {first_spans}{ending}"


def _find_source(id_: str | None, names: Sequence[str]) -> str | None:
    """Return the source that an id names: its path from the folder, or a longer path that ends in it."""
    path = (id_ or "").replace("\\", "/")
    matches = [name for name in names if f"/{path}".endswith(f"/{name}")]
    return max(matches, key=len, default=None)


# --- the spans of chunks in their sources ---

# The number of characters of the pieces by which a chunk is searched.
_PIECE_LENGTH = 12
# A chunk of at least this many characters holds a whole piece, wherever a source is cut into pieces. Shorter chunks are searched
# as a whole.
_MIN_LONG_CHUNK = 2 * _PIECE_LENGTH - 1
# The number of characters of a source that are folded at once. Places in a small block are converted quickly.
_BLOCK_LENGTH = 4096
# The search for exact spans of a chunk in a source ends with this number: two show that it occurs several times.
_MAX_EXACT_SPANS = 2


class Places(NamedTuple):
    """The span of one chunk in its source.

    Attributes:
        exact: The spans whose text is equal to the chunk: at most two of each source.
        loose: Further spans whose text differs from the chunk only in white space or case.
    """

    exact: list[Span]
    loose: list[Span]

    def within(self, source: str | None) -> list[Span]:
        """Return the exact spans, or the loose ones if there is no exact one.

        Args:
            source: The source of the spans; None: all sources.
        """
        for spans in (self.exact, self.loose):
            spans_of_source = [
                (name, start, end) for name, start, end in spans if source in (None, name)
            ]
            if spans_of_source:
                return spans_of_source
        return []


def locate(chunks: Sequence[str], sources: Iterable[tuple[str, str]]) -> list[Places]:
    """Find the places of chunks in sources.

    Args:
        chunks: The texts. A chunk of white space only has no place.
        sources: Names and texts; one text is in memory at a time.

    Returns:
        The places of each chunk, in the order of the chunks.
    """
    folded = [_fold_text(chunk) for chunk in chunks]
    short_indexes = [index for index, text in enumerate(folded) if 0 < len(text) < _MIN_LONG_CHUNK]
    pieces = _index_pieces(folded)
    places = [Places([], []) for _ in chunks]
    for name, text in sources:
        source = _SourceText(name, text)
        # By the index of a chunk, how many exact spans this source has. `_find_short` reads it while it grows.
        exact_counts: Counter[int] = Counter()
        long_matches = _find_long(source, folded, pieces)
        short_matches = _find_short(source, folded, short_indexes, exact_counts)
        for index, begin in chain(long_matches, short_matches):
            if exact_counts[index] >= _MAX_EXACT_SPANS:
                continue
            span, is_exact = source.span(chunks[index], begin, len(folded[index]))
            if is_exact:
                exact_counts[index] += 1
                places[index].exact.append(span)
            else:
                places[index].loose.append(span)
    return places


def _index_pieces(texts: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Return the first pieces of the long chunks: for each piece, the index of a chunk and the place of the piece in it.

    A long chunk is found by any of its pieces: a source is cut at each `_PIECE_LENGTH` characters, and the chunk holds one of
    the parts as a whole.
    """
    pieces: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for index, text in enumerate(texts):
        if len(text) < _MIN_LONG_CHUNK:
            continue
        for offset in range(_PIECE_LENGTH):
            pieces[text[offset : offset + _PIECE_LENGTH]].append((index, offset))
    return pieces


def read_sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the text files under a folder: the path from there, with slashes, and the text.

    A file is read as UTF-8, and an end of line is one character, as Python's ``open`` reads it. Files and folders whose
    names begin with a dot are left out.

    Raises:
        InputFileError: The folder is not there, or a file cannot be read as text.
    """
    if not folder.is_dir():
        raise InputFileError(f"{folder}: no such folder. Give the folder of the sources.")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(folder_name.startswith(".") for folder_name in name.parts):
            try:
                yield name.as_posix(), path.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise InputFileError(
                    f"{path}: not UTF-8 at byte {error.start}. Save it as UTF-8, or give a folder of texts only."
                ) from None
            except OSError as error:
                raise InputFileError(
                    f"{path}: cannot be read: {error.strerror}. Check the file."
                ) from None


class _SourceText:
    """The text of a source, and its folded text: in lower case and without white space.

    A chunk is searched for in the folded text. `span` converts the place in the folded text to the place in the text.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        folded_blocks = [
            _fold_text(text[start : start + _BLOCK_LENGTH])
            for start in range(0, len(text), _BLOCK_LENGTH)
        ]
        self.folded = "".join(folded_blocks)
        # The start of each block in the folded text, and the end of the last block.
        self._folded_block_starts = [0]
        for block in folded_blocks:
            self._folded_block_starts.append(self._folded_block_starts[-1] + len(block))

    def span(self, chunk: str, begin: int, length: int) -> tuple[Span, bool]:
        """Return the span of a chunk in the text, and whether the text there is exactly the chunk.

        Args:
            chunk: The chunk.
            begin: The place in the folded text at which the folded chunk begins.
            length: The length of the folded chunk.
        """
        first_visible = self._to_place_in_text(begin)
        leading_spaces = len(chunk) - len(chunk.lstrip())
        start = first_visible - leading_spaces
        if start >= 0 and self.text.startswith(chunk, start):
            return (self.name, start, start + len(chunk)), True
        last_visible = self._to_place_in_text(begin + length - 1)
        return (self.name, first_visible, last_visible + 1), False

    def _to_place_in_text(self, folded_place: int) -> int:
        """Return the place in the text of a character of the folded text."""
        block = bisect_right(self._folded_block_starts, folded_place) - 1
        block_start = block * _BLOCK_LENGTH
        position = block_start
        # The end of the folded text of all characters so far.
        folded_end = self._folded_block_starts[block]
        for character in self.text[block_start : block_start + _BLOCK_LENGTH]:
            folded_end += len(_fold_text(character))  # 0 for white space, 2 for some letters
            if folded_end > folded_place:
                break
            position += 1
        return position


def _fold_text(text: str) -> str:
    """Write a text in lower case and without white space."""
    return "".join(text.casefold().split())


def _find_long(
    source: _SourceText, folded: Sequence[str], indexes_by_piece: dict[str, list[tuple[int, int]]]
) -> Iterator[tuple[int, int]]:
    """Yield the index of each long chunk and the places where it begins in a source's folded text.

    The source is cut into pieces of equal length. A chunk may begin between two cuts. So ``indexes_by_piece`` holds several pieces of
    each chunk: those that begin at its offsets 0 to ``_PIECE_LENGTH - 1``. If one of them is equal to a piece of the source, the
    chunk may begin there, minus the offset. Folded texts are in lower case and without white space.

    Args:
        source: The source.
        folded: The folded chunks.
        indexes_by_piece: The first pieces of the chunks, each with the chunk's index and the offset of the piece in the chunk.
    """
    text = source.folded
    for piece_start in range(0, len(text) - _PIECE_LENGTH + 1, _PIECE_LENGTH):
        for index, offset in indexes_by_piece.get(text[piece_start : piece_start + _PIECE_LENGTH], ()):
            begin = piece_start - offset
            if begin >= 0 and text.startswith(folded[index], begin):
                yield index, begin


def _find_short(
    source: _SourceText,
    folded: Sequence[str],
    short_indexes: Sequence[int],
    exact_counts: Mapping[int, int],
) -> Iterator[tuple[int, int]]:
    """Yield the index of each short chunk and the places where it begins in a source's folded text, until enough exact spans are found."""
    for index in short_indexes:
        begin = source.folded.find(folded[index])
        while begin >= 0 and exact_counts[index] < _MAX_EXACT_SPANS:
            yield index, begin
            begin = source.folded.find(folded[index], begin + 1)
