"""Metrics over spans: ids say where a text stands in its source, so that labels stay valid with other chunks.

An id is ``SOURCE#char=START,END``, the fragment of RFC 5147 for plain text: characters (code points) from 0, the end
excluded.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal
from urllib.parse import unquote

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.conventions import Family
from ctxmetrics.errors import SampleError
from ctxmetrics.formulas import (
    Span,
    average_precision,
    characters,
    common_span,
    common_spans,
    covered_spans,
    merged_spans,
    relevant_spans,
    share,
    span_iou,
    span_precision,
    span_recall,
)
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.metrics.base import NAMED, ListMetric, named_choice
from ctxmetrics.reading import SPAN_MARK, write_span
from ctxmetrics.samples import Sample
from ctxmetrics.verdicts import Evidence, Verdict

SpanUnit = Literal["character", "span"]
SpanFormula = Literal["share", "iou", "ap"]

_ID = re.compile(rf"(.+){SPAN_MARK}([0-9]+),([0-9]+)", re.DOTALL)
MOST_DIGITS = 12
_SHOWN = 80
_SHOWN_PARTS = 3


@dataclass(frozen=True, slots=True)
class LocatedText:
    """An id of a sample with the span it names.

    Attributes:
        id: The id.
        span: Source, first character, one past the last.
        text: The text of the span; None where the sample has no text of this length for it.
        note: Says that the length of the text does not fit the span; else empty.
    """

    id: str
    span: Span
    text: str | None = None
    note: str = ""

    def cut(self, part: Span) -> str | None:
        """Return the text of a part of the span; None where the text is not known."""
        _, begin, _ = self.span
        return None if self.text is None else self.text[part[1] - begin : part[2] - begin]


@dataclass(frozen=True, kw_only=True)
class SpanMetric(ListMetric):
    """A metric that compares the retrieved spans with the reference spans, character by character.

    Attributes:
        min_cover: The share of a span, 0 to 1, from which on it counts as found. With 0, one character is enough.
    """

    requires: ClassVar[tuple[str, ...]] = ("retrieved_context_ids", "reference_context_ids")
    uses: ClassVar[tuple[str, ...]] = ("retrieved_contexts", "reference_contexts")
    formula_name: ClassVar[str] = "share"

    min_cover: float = field(default=0.5, metadata=NAMED)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{self.base_name}: min_cover", self.min_cover, 0, 1)

    def sides(self, sample: Sample) -> tuple[Sequence[LocatedText], Sequence[LocatedText]]:
        """Read the spans of both sides; a reference span that stands there twice is one.

        Raises:
            SampleError: An id names no span, or one source is spelled in two ways.
        """
        retrieved, reference = (
            list(_passages(sample, name, getattr(sample, texts)))
            for name, texts in zip(self.requires, self.uses, strict=True)
        )
        retrieved = retrieved[: self.top_k]
        reference = list({passage.span: passage for passage in reference}.values())
        _check_spelling(sample, [*retrieved, *reference])
        return retrieved, reference


@dataclass(frozen=True, kw_only=True)
class SpanBasedContextRecall(SpanMetric):
    """The share of the reference text that was retrieved, however the text was cut into chunks.

    Formula: characters of the union of the reference spans that stand in a retrieved span / characters of that union;
    with ``unit="span"``, reference spans of which at least ``min_cover`` stands in retrieved spans / reference spans.
    Range 0 to 1. Nothing retrieved: 0.0. No reference ids: None, ``no_reference``.

    A verdict a distinct reference span: yes where at least ``min_cover`` of it was retrieved. Its details say how many
    characters were found, in which contexts (from 0), and what was missed.

    Source: Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval, Chroma
    (https://research.trychroma.com/evaluating-chunking); the ids: RFC 5147.
    """

    base_name: ClassVar[str] = "span_based_context_recall"
    family: ClassVar[Family] = "id_recall"
    counts: ClassVar[tuple[str, str]] = ("reference span", "found")
    banded: ClassVar[bool] = True

    unit: SpanUnit = field(default="character", metadata=named_choice(SpanUnit))

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["formula_name"] = f"share_of_{self.unit}s"

    def compare(
        self, retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> tuple[float | None, Sequence[bool]]:
        """Return the share that was found, and for each reference span whether it was."""
        found = merged_spans([passage.span for passage in retrieved])
        wanted = [passage.span for passage in reference]
        hits = covered_spans(wanted, found, self.min_cover)
        return share(hits) if self.unit == "span" else span_recall(wanted, found), hits

    def verdicts(
        self, found: Sequence[bool], retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> list[Verdict]:
        """Return a verdict a reference span."""
        merged = merged_spans([passage.span for passage in retrieved])
        return [
            _of_reference(passage, hit, merged, retrieved)
            for passage, hit in zip(reference, found, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class SpanBasedContextPrecision(SpanMetric):
    """How much of the retrieved text is reference text, or how early the relevant contexts stand.

    Formula, with the *common* characters, those of the union of the reference spans that stand in a
    retrieved span: ``"share"`` common / sum of the lengths of the retrieved spans, so that text which
    is retrieved twice lowers it; ``"iou"``, intersection over union, common / (that sum + characters of
    the union of the reference spans - common); ``"ap"`` average precision over the ranked contexts, of
    which one is relevant when it holds at least ``min_cover`` of some reference span, or at least
    ``min_cover`` of it is reference text. Range 0 to 1. Nothing retrieved: 0.0 (``ragas``: None). No
    reference ids: None, ``no_reference`` (``ragas``: 0.0).

    A verdict a retrieved context, in rank order: whether it is relevant in that sense, under every formula. An id that
    is retrieved twice is two contexts.

    Source: Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval, Chroma
    (https://research.trychroma.com/evaluating-chunking), precision and intersection over union; the ids: RFC 5147.
    ``"ap"`` is defined here.
    """

    base_name: ClassVar[str] = "span_based_context_precision"
    family: ClassVar[Family] = "id_precision"
    counts: ClassVar[tuple[str, str]] = ("retrieved span", "relevant")

    formula: SpanFormula = field(default="share", metadata=named_choice(SpanFormula))

    def compare(
        self, retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> tuple[float | None, Sequence[bool]]:
        """Return the precision, and for each retrieved context whether it is relevant."""
        found = [passage.span for passage in retrieved]
        wanted = [passage.span for passage in reference]
        hits = relevant_spans(found, wanted, self.min_cover)
        if self.formula == "ap":
            return average_precision(hits, epsilon=self.rules.epsilon), hits
        return (span_iou if self.formula == "iou" else span_precision)(wanted, found), hits

    def verdicts(
        self, found: Sequence[bool], retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> list[Verdict]:
        """Return a verdict a retrieved context."""
        merged = merged_spans([passage.span for passage in reference])
        return [
            _of_retrieved(index, passage, hit, merged)
            for index, (passage, hit) in enumerate(zip(retrieved, found, strict=True))
        ]


def read_span(id_: str, where: str) -> Span:
    """Return source, start and end of an id.

    Args:
        id_: ``SOURCE#char=START,END``.
        where: What error messages call the id.

    Raises:
        SampleError: The id names no span, or one that no text can have.
    """
    match, shown = _ID.fullmatch(id_), repr(id_[:_SHOWN])
    if match is None:
        raise SampleError(
            f"{where}: {shown} does not say where its text stands. Write SOURCE#char=START,END, such as "
            "'handbook.md#char=120,480': characters from 0, the end excluded. Of a document it is made where the "
            "metadata has source and start_index (text splitters: add_start_index=True)."
        )
    source, *numbers = match.groups()
    if max(map(len, numbers)) > MOST_DIGITS:
        raise SampleError(
            f"{where}: {shown} is beyond the end of any text. Write the numbers of characters."
        )
    start, end = map(int, numbers)
    if start >= end:
        raise SampleError(
            f"{where}: {shown} ends at or before its start. Write the start first; the end is one past the last character."
        )
    return source, start, end


def _passages(sample: Sample, name: str, texts: Sequence[str] | None) -> Iterator[LocatedText]:
    ids: tuple[str, ...] = getattr(sample, name)
    known = texts if texts is not None and len(texts) == len(ids) else None
    for index, id_ in enumerate(ids):
        span = read_span(id_, f"{sample.called()}: field '{name}', item {index + 1}")
        text = known[index] if known else None
        length = span[2] - span[1]
        if text is None or len(text) == length:
            yield LocatedText(id_, span, text)
        else:
            yield LocatedText(id_, span, note=f"its text has {len(text)} characters, its span {length}")


def _check_spelling(sample: Sample, passages: Sequence[LocatedText]) -> None:
    """Raise where one source is spelled in two ways: its spans would not be compared.

    Raises:
        SampleError: Names both spellings.
    """
    spelled: dict[str, str] = {}
    for source in dict.fromkeys(passage.span[0] for passage in passages):
        other = spelled.setdefault(plain_source(source), source)
        if other != source:
            raise SampleError(
                f"{sample.called()}: {other[:_SHOWN]!r} and {source[:_SHOWN]!r} are one source, spelled in two ways. "
                f"Write {min(other, source, key=len)[:_SHOWN]!r} in all ids."
            )


@lru_cache(maxsize=4096)
def plain_source(source: str) -> str:
    """Return what all spellings of a path or an address have in common."""
    return unicodedata.normalize(
        "NFC", posixpath.normpath(unquote(source).replace("\\", "/").removeprefix("file://"))
    )


def _of_reference(
    passage: LocatedText, hit: bool, merged: Sequence[Span], retrieved: Sequence[LocatedText]
) -> Verdict:
    """Say what part of a reference span was found, by which contexts, and which part was missed."""
    source, start, end = passage.span
    parts = common_spans([passage.span], merged)
    missed = _between(passage.span, parts)
    contexts = {
        index: part
        for index, other in enumerate(retrieved)
        if (part := common_span(passage.span, other.span))
    }
    found = characters(parts)
    details: dict[str, Any] = {"characters": end - start, "found": found, "contexts": tuple(contexts)}
    reason = f"{found} of {end - start} characters retrieved"
    if contexts:
        reason += f", in {', '.join(f'c{index + 1}' for index in contexts)}"
    if missed:
        details["missed"] = tuple(_part(part, passage.cut(part)) for part in missed)
        reason += f"; missed: {_listed(missed, passage)}"
    if not contexts and (other_source := _like(source, retrieved)):
        reason += (
            f"; {other_source[:_SHOWN]!r}, of which a part was retrieved, has the same file name: "
            "if it is the same source, write it in one way"
        )
    return Verdict(
        id=passage.id,
        value=hit,
        text=passage.text or passage.id,
        reason="; ".join(filter(None, (reason, passage.note))),
        evidence=tuple(
            item
            for index, part in contexts.items()
            for item in _evidence(index, retrieved[index], part, whole=part == passage.span)
        ),
        details=FrozenDict(details),
    )


def _of_retrieved(index: int, passage: LocatedText, hit: bool, reference: Sequence[Span]) -> Verdict:
    """Say how much of a retrieved context is reference text."""
    _, start, end = passage.span
    parts = common_spans([passage.span], reference)
    found = characters(parts)
    reason = f"{found} of {end - start} characters are reference text"
    return Verdict(
        id=f"c{index + 1}",
        value=hit,
        text=passage.id,
        reason="; ".join(filter(None, (reason, passage.note))),
        evidence=tuple(item for part in parts for item in _evidence(index, passage, part, whole=True)),
        details=FrozenDict({"characters": end - start, "reference": found}),
    )


def _evidence(index: int, passage: LocatedText, part: Span, *, whole: bool) -> Iterator[Evidence]:
    quote = passage.cut(part)
    if quote is not None:
        begin = passage.span[1]
        yield Evidence(index, part[1] - begin, part[2] - begin, quote, whole)


def _between(span: Span, parts: Sequence[Span]) -> list[Span]:
    """Return what of a span is in none of its parts, which are in order and apart."""
    source, start, end = span
    edges = [start, *(edge for part in parts for edge in part[1:]), end]
    return [
        (source, left, right)
        for left, right in zip(edges[::2], edges[1::2], strict=True)
        if left < right
    ]


def _part(part: Span, text: str | None) -> dict[str, Any]:
    return {"start": part[1], "end": part[2], **({} if text is None else {"text": text})}


def _listed(parts: Sequence[Span], passage: LocatedText) -> str:
    shown = [f"{part[1]} to {part[2]}{_quoted(passage.cut(part))}" for part in parts[:_SHOWN_PARTS]]
    more = len(parts) - len(shown)
    return ", ".join([*shown, f"{more} more"] if more else shown)


def _quoted(text: str | None) -> str:
    return "" if text is None else f' "{text[:_SHOWN]}{"…" if len(text) > _SHOWN else ""}"'


def _like(source: str, retrieved: Sequence[LocatedText]) -> str | None:
    """Return a retrieved source, other than this one, that has its file name."""
    name = posixpath.basename(plain_source(source))
    return next(
        (
            other
            for passage in retrieved
            if (other := passage.span[0]) != source and posixpath.basename(plain_source(other)) == name
        ),
        None,
    )


def labelled(sample: Sample, spans: Sequence[Span], origin: str) -> Sample:
    """Return a sample with the union of spans as its reference ids, and where these come from."""
    return replace(
        sample,
        reference_context_ids=tuple(write_span(*span) for span in merged_spans(spans)),
        metadata=marked(sample, origin),
    )


def marked(sample: Sample, origin: str) -> dict[str, Any]:
    """Return a sample's metadata with where its reference spans come from."""
    return {**sample.metadata, "reference_spans": origin}
