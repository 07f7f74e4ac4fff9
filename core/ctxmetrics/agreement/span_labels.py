"""Labels over spans of the sources, from labels that exist: ids of chunks, and answers of people."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxmetrics._display import visible
from ctxmetrics.agreement.labelling.draw import key_of
from ctxmetrics.comparison.answers import NO, YES, Answer, Key, read_answers
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.fields import ID_KEYS, SPAN_MARK, TEXTS_OF, own_id, span_of, write_span
from ctxmetrics.formulas import merged_spans
from ctxmetrics.metrics.spans import read_span
from ctxmetrics.samples import Sample

_SHOWN = 80
# Where a chunk's id is looked for; LlamaIndex writes ``id_``.
_CHUNK_IDS = (*ID_KEYS, "chunk_id", "id_")


def label_spans(
    samples: Iterable[Sample],
    *,
    chunks: Iterable[Any] | None = None,
    labels: str | os.PathLike[str] | None = None,
) -> list[Sample]:
    """Return samples whose labels are spans of the sources, so that they outlive another chunking.

    ``metadata["reference_spans"]`` of each sample says where its labels come from. Exactly one of ``chunks`` and ``labels``
    is given.

    Args:
        samples: The samples.
        chunks: The chunks whose ids the samples have, as documents that say where they stand: source and start, as
            LangChain (``add_start_index=True``), LlamaIndex and Haystack write them, or plain mappings with ``id``,
            ``source``, ``start_index`` and ``text``. Ids of the samples become spans.
        labels: A file of people's answers (`ctxmetrics label`) about contexts whose ids are spans: what they called useful,
            and what they named for a sentence that is stated, becomes the reference. A sample is found by its id, with
            whatever contexts it has now.

    Raises:
        ParameterError: Not one of both is given.
        SampleError: An id is of no chunk, a chunk does not say where it stands, or answers have no span.
        InputFileError: The file is no file of labels.
    """
    if (chunks is None) == (labels is None):
        raise ParameterError("label_spans: give chunks= or labels=, one of them.")
    found = (
        from_answers(samples, Path(labels or ""))
        if chunks is None
        else from_chunks(samples, spans_of_chunks(chunks), "chunks")
    )
    labelled = []
    for sample, problems in found:
        if problems:
            raise SampleError(problems[0])
        labelled.append(sample)
    return labelled


def spans_of_chunks(chunks: Iterable[Any]) -> dict[str, str]:
    """Return the span of each chunk by its id.

    Raises:
        SampleError: A chunk has no id, or does not say where it stands, or two have one id.
    """
    spans: dict[str, str] = {}
    for number, chunk in enumerate(chunks, 1):
        name = own_id(chunk, _CHUNK_IDS)
        span = span_of(chunk)
        if name is None or span is None:
            lacks = "id" if name is None else "source and start (source, start_index)"
            raise SampleError(
                f"chunk {number}: it has no {lacks}. Write {{id, source, start_index, text}}."
            )
        if spans.setdefault(str(name), span) != span:
            raise SampleError(
                f"chunk {number}: another chunk has the id {visible(str(name))[:_SHOWN]!r} too."
            )
    return spans


def from_chunks(
    samples: Iterable[Sample], spans: Mapping[str, str], origin: str
) -> Iterator[tuple[Sample, list[str]]]:
    """Yield each sample with the spans of its chunks in place of their ids, and which ids are of no chunk.

    Args:
        samples: The samples.
        spans: The span of each chunk by its id.
        origin: Where the spans come from, in words.
    """
    for number, sample in enumerate(samples, 1):
        changed: dict[str, Any] = {}
        problems = []
        for field in TEXTS_OF:
            ids: Sequence[str] = getattr(sample, field) or ()
            missing = [id_ for id_ in ids if SPAN_MARK not in id_ and id_ not in spans]
            problems += [
                f"{_who(sample, number)}: field '{field}': {visible(id_)[:_SHOWN]!r} is the id of no chunk"
                for id_ in missing
            ]
            if not missing and any(id_ in spans for id_ in ids):
                changed[field] = tuple(spans.get(id_, id_) for id_ in ids)
        if "reference_context_ids" in changed:
            changed["metadata"] = marked(sample, f"ids of chunks, spans of {origin}")
        yield (replace(sample, **changed) if changed else sample), problems


def from_answers(samples: Iterable[Sample], path: Path) -> Iterator[tuple[Sample, list[str]]]:
    """Yield each sample with the spans that people marked as its reference ids, and what is wrong with its answers.

    Raises:
        InputFileError: The file is no file of labels, or has no yes or no.
    """
    file = read_answers(path)
    given: dict[Any, list[Answer]] = {}
    for answer in file.answers.values():
        if answer.answer in {YES, NO}:
            given.setdefault(_place(answer.question.key), []).append(answer)
    if not given:
        raise InputFileError(
            f"{path}: no question has a yes or a no. Answer some with `ctxmetrics label`."
        )
    majority = {
        question: value for answers in file.majority().values() for question, value in answers.items()
    }
    for number, sample in enumerate(samples, 1):
        answers = given.get(_place(key_of(sample)))
        if answers is None:
            yield sample, []
            continue
        useful = [item for item in answers if item.answer == YES and majority[item.question]]
        who = _who(sample, number)
        bare = [
            item for item in useful if not item.spans and (item.contexts or item.question.item[0] == "c")
        ]
        if bare:
            problem = (
                f"{who}: {len(bare)} answers of {path.name} have no span: the contexts that were labelled had no ids "
                "SOURCE#char=START,END. Find them with --sources, and label that file"
            )
            yield sample, [problem]
            continue
        spans = merged_spans(
            [read_span(span, f"{path}: {who}") for item in useful for span in item.spans]
        )
        names = ", ".join(dict.fromkeys(visible(item.annotator) for item in answers))
        yield (
            replace(
                sample,
                reference_context_ids=tuple(write_span(*span) for span in spans),
                reference_contexts=None,
                metadata=marked(sample, f"marked by {names}"),
            ),
            [],
        )


def marked(sample: Sample, origin: str) -> dict[str, Any]:
    """Return a sample's metadata with where its reference spans come from."""
    return {**sample.metadata, "reference_spans": origin}


def _place(key: Key) -> object:
    """Return what a sample is found by: its id, else its texts."""
    return key if key[0] is None else key[0]


def _who(sample: Sample, number: int) -> str:
    return f"Sample {number}" if sample.id is None else f"Sample {visible(sample.id)[:_SHOWN]!r}"
