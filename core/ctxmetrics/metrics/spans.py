"""Metrics over spans. The ids are positions in the source, so that labels stay valid if the source is cut into other chunks.

An id is ``SOURCE#char=START,END``, the fragment of RFC 5147 for plain text: characters (code points) from 0, the end
excluded.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias
from urllib.parse import unquote

from ctxmetrics import formulas
from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics.errors import SampleError
from ctxmetrics.formulas import Span
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.metrics.base import IN_METRIC_NAME, in_metric_name
from ctxmetrics.metrics.ids import describe_ids
from ctxmetrics.metrics.lists import ListMetric
from ctxmetrics.samples.documents import SPAN_MARK, write_span
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.conventions import Family
from ctxmetrics.verdicts import Evidence, Verdict

SpanUnit: TypeAlias = Literal["character", "span"]
SpanFormula: TypeAlias = Literal["share", "iou", "ap"]

# The id of a span, with its source, start and end: handbook.md#char=120,480.
_SPAN_ID_PATTERN = re.compile(rf"(.+){SPAN_MARK}([0-9]+),([0-9]+)", re.DOTALL)
# The maximum number of digits of a position: no text is longer.
MOST_DIGITS = 12
# The maximum number of characters of an id or a text that a message shows.
_MAX_CHARACTERS_SHOWN = 80
# The maximum number of missed parts of a span that a reason lists.
_MAX_PARTS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class LocatedText:
    """The id of a context, and the span of the source that the id names.

    Attributes:
        id: The id of a retrieved or an expected context: ``SOURCE#char=START,END``.
        span: The source, the position of the first character, and the position behind the last character.
        text: The text of the span. None if the sample has no text for it, or a text of another length.
        note: A sentence about different lengths of the text and the span; empty if the lengths are equal.
    """

    id: str
    span: Span
    text: str | None = None
    note: str = ""

    @property
    def has_id(self) -> bool:
        """Whether the sample gives an id, and so a span."""
        return bool(self.id)

    def cut(self, part: Span) -> str | None:
        """Return the text of a part of the span; None if the text is not known."""
        if self.text is None:
            return None
        # A span is a source, a start and an end. Its positions count from the beginning of the source, not of the text.
        _, text_start, _ = self.span
        _, part_start, part_end = part
        return self.text[part_start - text_start : part_end - text_start]

    def to_dict(self, part: Span) -> dict[str, Any]:
        """Return the start and the end of a part of the span, and its text if that is known."""
        _source, start, end = part
        data: dict[str, Any] = {"start": start, "end": end}
        if self.text is not None:
            data["text"] = self.cut(part)
        return data


@dataclass(frozen=True, kw_only=True)
class SpanMetric(
    ListMetric,
    requires=("retrieved_context_ids", "reference_context_ids"),
    uses=("retrieved_contexts", "reference_contexts"),
):
    """A metric that compares the retrieved spans with the reference spans, character by character.

    A retrieved context without an id is not relevant. It keeps its rank, but its length is not known and is not counted. An
    empty reference id is ignored.

    Attributes:
        min_cover: The minimum share of a span, 0 to 1, that must be found. With 0, one character is enough.
    """

    formula_name = "share"

    min_cover: float = field(default=0.5, metadata=IN_METRIC_NAME)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{self.base_name}: min_cover", self.min_cover, 0, 1)

    def read_lists(self, sample: Sample) -> tuple[Sequence[LocatedText], Sequence[LocatedText]]:
        """Read the retrieved and the reference spans. Equal reference spans become one.

        Raises:
            SampleError: An id names no span, or one source is spelled in two ways.
        """
        retrieved = _read_passages(sample, "retrieved_context_ids", sample.retrieved_contexts)
        reference = _read_passages(sample, "reference_context_ids", sample.reference_contexts)
        retrieved = retrieved[: self.top_k]
        reference_by_span = {passage.span: passage for passage in reference if passage.has_id}
        reference = list(reference_by_span.values())
        _check_spelling(sample, [passage for passage in (*retrieved, *reference) if passage.has_id])
        return retrieved, reference

    def describe_lists(
        self,
        sample: Sample,
        retrieved: Sequence[LocatedText],
        reference: Sequence[LocatedText],
        hits: Sequence[Any],  # noqa: ARG002 - metrics of texts read the hits
    ) -> tuple[Mapping[str, Any], Sequence[str]]:
        """Describe empty ids, and repeated ids where the ranks count."""
        retrieved_ids = [passage.id for passage in retrieved]
        reference_ids = [passage.id for passage in reference]
        counts_ranks = self.formula_name == "ap"
        return EMPTY, describe_ids(sample, retrieved_ids, reference_ids, ranked=counts_ranks)


@dataclass(frozen=True, kw_only=True)
class SpanBasedContextRecall(SpanMetric, counted_words=("reference span", "found")):
    """The share of the reference text that was retrieved. The borders of chunks do not matter.

    Formula: retrieved characters of the union of the reference spans / all characters of that union. With ``unit="span"``:
    reference spans of which at least the share ``min_cover`` was retrieved / reference spans.
    Range 0 to 1. Nothing retrieved: 0.0. No reference ids: None, ``no_reference``.

    There is one verdict for each distinct reference span: yes if at least ``min_cover`` of it was retrieved. Its details say how
    many characters were found, in which contexts (from 0), and what was missed.

    Source: Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval, Chroma
    (https://research.trychroma.com/evaluating-chunking); the ids: RFC 5147.
    """

    base_name: ClassVar[str] = "span_based_context_recall"
    needs_single_ranking: ClassVar[bool] = False
    family: ClassVar[Family] = "id_recall"
    has_bands: ClassVar[bool] = True

    unit: SpanUnit = field(default="character", metadata=in_metric_name(choices=SpanUnit))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "formula_name", f"share_of_{self.unit}s")

    def compare(
        self, retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> tuple[float | None, Sequence[bool]]:
        """Return the share that was found, and for each reference span whether it was found."""
        reference_spans = [passage.span for passage in reference]
        retrieved_union = formulas.merged_spans(_list_passage_spans(retrieved))
        hits = formulas.covered_spans(reference_spans, retrieved_union, self.min_cover)
        if self.unit == "span":
            value = formulas.share(hits)
        else:
            value = formulas.span_recall(reference_spans, retrieved_union)
        return value, hits

    def build_verdicts(
        self, hits: Sequence[bool], retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> list[Verdict]:
        """Return one verdict for each reference span."""
        retrieved_union = formulas.merged_spans(_list_passage_spans(retrieved))
        return [
            _describe_reference_span(passage, hit, retrieved_union, retrieved)
            for passage, hit in zip(reference, hits, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class SpanBasedContextPrecision(SpanMetric, counted_words=("retrieved span", "relevant")):
    """How much of the retrieved text is reference text, or how early the relevant contexts stand.

    *Common* is the number of characters in both a retrieved and a reference span, *retrieved* the sum of the lengths of the
    retrieved spans, and *reference* the number of characters in the union of the reference spans. Formulas:

    - ``"share"``: common / retrieved. A text that is retrieved twice lowers the value.
    - ``"iou"``: intersection over union, common / (retrieved + reference - common).
    - ``"ap"``: average precision over the ranked contexts. A context is relevant if it holds at least ``min_cover`` of a
      reference span, or if at least ``min_cover`` of the context is reference text.

    Range 0 to 1. Nothing retrieved: 0.0 (``ragas``: None). No reference ids: None, ``no_reference`` (``ragas``: 0.0).

    With every formula, there is one verdict for each retrieved context, in rank order: whether it is relevant in the sense of
    ``"ap"``. An id that is retrieved twice has two verdicts; in ``"ap"`` it counts once, at its first rank.

    Source: Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval, Chroma
    (https://research.trychroma.com/evaluating-chunking), precision and intersection over union; the ids: RFC 5147.
    ``"ap"`` is defined here.
    """

    base_name: ClassVar[str] = "span_based_context_precision"
    # A span is named by an id, so that it counts as a metric of ids.
    family: ClassVar[Family] = "id_precision"

    formula: SpanFormula = field(default="share", metadata=in_metric_name(choices=SpanFormula))

    def compare(
        self, retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> tuple[float | None, Sequence[bool]]:
        """Return the precision, and for each retrieved context whether it is relevant."""
        retrieved_spans = _list_passage_spans(retrieved)
        reference_spans = [passage.span for passage in reference]
        relevance_of_spans = iter(
            formulas.relevant_spans(retrieved_spans, reference_spans, self.min_cover)
        )
        hits: list[bool] = []
        for passage in retrieved:
            if passage.has_id:
                hits.append(next(relevance_of_spans))
            else:  # a context without an id has no span, and is not relevant
                hits.append(False)
        if self.formula == "ap":
            distinct_hits = formulas.merge_repeats(hits, _find_repeats(retrieved))
            return formulas.average_precision(distinct_hits, epsilon=self.epsilon), hits
        if not retrieved_spans:
            return 0.0, hits
        if self.formula == "iou":
            return formulas.span_iou(reference_spans, retrieved_spans), hits
        return formulas.span_precision(reference_spans, retrieved_spans), hits

    def build_verdicts(
        self, hits: Sequence[bool], retrieved: Sequence[LocatedText], reference: Sequence[LocatedText]
    ) -> list[Verdict]:
        """Return one verdict for each retrieved context."""
        reference_union = formulas.merged_spans([passage.span for passage in reference])
        verdicts = []
        for index, (passage, hit) in enumerate(zip(retrieved, hits, strict=True)):
            if passage.has_id:
                verdicts.append(_describe_retrieved_span(index, passage, hit, reference_union))
            else:
                verdicts.append(Verdict(id=f"c{index + 1}", value=hit, reason="it has no id"))
        return verdicts


def _list_passage_spans(passages: Sequence[LocatedText]) -> list[Span]:
    """List the spans of the passages that have an id."""
    return [passage.span for passage in passages if passage.has_id]


def _find_repeats(passages: Sequence[LocatedText]) -> dict[int, int]:
    """Find the passages whose span equals the span of a passage above; see `ctxmetrics.formulas.merge_repeats`."""
    first_index: dict[Span, int] = {}
    repeats: dict[int, int] = {}
    for index, passage in enumerate(passages):
        if not passage.has_id:
            continue
        if passage.span in first_index:
            repeats[index] = first_index[passage.span]
        else:
            first_index[passage.span] = index
    return repeats


def read_span(id_: str, place: str) -> Span:
    """Read the source, the start and the end from the id of a span.

    Args:
        id_: ``SOURCE#char=START,END``.
        place: Where the id stands, for error messages: ``sample 'q1': field 'retrieved_context_ids', item 2``.

    Raises:
        SampleError: The id names no span, or one that no text can have.
    """
    match = _SPAN_ID_PATTERN.fullmatch(id_)
    shortened = repr(id_[:_MAX_CHARACTERS_SHOWN])
    if match is None:
        raise SampleError(
            f"{place}: {shortened} does not say where its text stands. Write SOURCE#char=START,END, such as "
            "'handbook.md#char=120,480': characters from 0, the end excluded. Of a document it is made where the "
            "metadata has source and start_index (text splitters: add_start_index=True)."
        )
    source, start_digits, end_digits = match.groups()
    if len(start_digits) > MOST_DIGITS or len(end_digits) > MOST_DIGITS:
        raise SampleError(
            f"{place}: {shortened} is beyond the end of any text. Write the numbers of characters."
        )
    start = int(start_digits)
    end = int(end_digits)
    if start >= end:
        raise SampleError(
            f"{place}: {shortened} ends at or before its start. Write the start first; the end is one past the last character."
        )
    return source, start, end


def _read_passages(sample: Sample, name: str, texts: Sequence[str] | None) -> list[LocatedText]:
    """Read the spans that the ids of a field name.

    Args:
        sample: The sample.
        name: The name of the field, such as ``"retrieved_context_ids"``.
        texts: The texts of the spans. They are left out unless there is one for each id.
    """
    ids: tuple[str, ...] = getattr(sample, name)
    if texts is None or len(texts) != len(ids):
        texts = None
    passages = []
    for index, id_ in enumerate(ids):
        if not id_:
            passages.append(LocatedText("", ("", 0, 0)))
            continue
        span = read_span(id_, f"{sample.called()}: field '{name}', item {index + 1}")
        text = None if texts is None else texts[index]
        note = ""
        _, start, end = span
        span_length = end - start
        if text is not None and len(text) != span_length:
            note = f"its text has {len(text)} characters, its span {span_length}"
            text = None
        passages.append(LocatedText(id_, span, text, note))
    return passages


def _check_spelling(sample: Sample, passages: Sequence[LocatedText]) -> None:
    """Check that each source has one spelling: spans of two spellings would not be compared.

    Raises:
        SampleError: A source has two spellings.
    """
    first_spellings: dict[str, str] = {}
    for passage in passages:
        source, _, _ = passage.span
        first_spelling = first_spellings.setdefault(normalize_source(source), source)
        if first_spelling != source:
            shorter = min(first_spelling, source, key=len)
            raise SampleError(
                f"{sample.called()}: {first_spelling[:_MAX_CHARACTERS_SHOWN]!r} and {source[:_MAX_CHARACTERS_SHOWN]!r} are one "
                f"source, spelled in two ways. Write {shorter[:_MAX_CHARACTERS_SHOWN]!r} in all ids."
            )


@lru_cache(maxsize=4096)
def normalize_source(source: str) -> str:
    """Write a path or an address in one way: ``./a%20b.md`` and ``a b.md`` are one source."""
    path = posixpath.normpath(unquote(source).replace("\\", "/").removeprefix("file://"))
    return unicodedata.normalize("NFC", path)


def _describe_reference_span(
    passage: LocatedText, hit: bool, retrieved_union: Sequence[Span], retrieved: Sequence[LocatedText]
) -> Verdict:
    """Build the verdict about a reference span. It says which parts were retrieved, in which contexts, and which were missed.

    Args:
        passage: The reference span.
        hit: Whether enough of the reference span was retrieved.
        retrieved_union: The union of the retrieved spans.
        retrieved: The retrieved contexts.
    """
    source, start, end = passage.span
    retrieved_parts = formulas.common_spans([passage.span], retrieved_union)
    missed_parts = _find_gaps(passage.span, retrieved_parts)
    context_indexes: list[int] = []
    evidence: list[Evidence] = []
    for index, context in enumerate(retrieved):
        if not context.has_id:
            continue
        part = formulas.common_span(passage.span, context.span)
        if part is not None:
            context_indexes.append(index)
            evidence += _build_evidence(index, context, part, whole=part == passage.span)
    retrieved_count = formulas.characters(retrieved_parts)
    details: dict[str, Any] = {
        "characters": end - start,
        "found": retrieved_count,
        "contexts": tuple(context_indexes),
    }
    reason = f"{retrieved_count} of {end - start} characters retrieved"
    if context_indexes:
        reason += f", in {', '.join(f'c{index + 1}' for index in context_indexes)}"
    if missed_parts:
        details["missed"] = tuple(passage.to_dict(part) for part in missed_parts)
        reason += f"; missed: {_describe_parts(missed_parts, passage)}"
    similar_source = None
    if not context_indexes:
        similar_source = _find_source_with_same_file_name(source, retrieved)
    if similar_source:
        reason += (
            f"; {similar_source[:_MAX_CHARACTERS_SHOWN]!r}, of which a part was retrieved, has the same file name: "
            "if it is the same source, write it in one way"
        )
    return Verdict(
        id=passage.id,
        value=hit,
        text=passage.text or passage.id,
        reason=f"{reason}; {passage.note}" if passage.note else reason,
        evidence=tuple(evidence),
        details=FrozenDict(details),
    )


def _describe_retrieved_span(
    index: int, passage: LocatedText, hit: bool, reference: Sequence[Span]
) -> Verdict:
    """Build the verdict about a retrieved span. It says how much of the span is reference text."""
    _, start, end = passage.span
    reference_parts = formulas.common_spans([passage.span], reference)
    reference_count = formulas.characters(reference_parts)
    reason = f"{reference_count} of {end - start} characters are reference text"
    evidence: list[Evidence] = []
    for part in reference_parts:
        evidence += _build_evidence(index, passage, part, whole=True)
    return Verdict(
        id=f"c{index + 1}",
        value=hit,
        text=passage.id,
        reason=f"{reason}; {passage.note}" if passage.note else reason,
        evidence=tuple(evidence),
        details=FrozenDict({"characters": end - start, "reference": reference_count}),
    )


def _build_evidence(index: int, passage: LocatedText, part: Span, *, whole: bool) -> list[Evidence]:
    """Return a part of a context as evidence; empty if its text is not known."""
    quote = passage.cut(part)
    if quote is None:
        return []
    _, text_start, _ = passage.span
    _, start, end = part
    # The positions of a part count from the beginning of the source, the positions of evidence from the beginning of the context.
    return [Evidence(index, start - text_start, end - text_start, quote, whole)]


def _find_gaps(span: Span, parts: Sequence[Span]) -> list[Span]:
    """Return the gaps between the parts of a span. The parts are in order and do not overlap."""
    source, gap_start, span_end = span
    gaps: list[Span] = []
    for _, part_start, part_end in parts:
        if gap_start < part_start:
            gaps.append((source, gap_start, part_start))
        gap_start = part_end
    if gap_start < span_end:
        gaps.append((source, gap_start, span_end))
    return gaps


def _describe_parts(parts: Sequence[Span], passage: LocatedText) -> str:
    """List the first parts with their texts, and say how many more there are."""
    descriptions = []
    for part in parts[:_MAX_PARTS_SHOWN]:
        _, start, end = part
        descriptions.append(f"{start} to {end}{_quote_beginning(passage.cut(part))}")
    hidden_count = len(parts) - len(descriptions)
    if hidden_count:
        descriptions.append(f"{hidden_count} more")
    return ", ".join(descriptions)


def _quote_beginning(text: str | None) -> str:
    """Return the beginning of a text in quotation marks, for a reason."""
    if text is None:
        return ""
    dots = "…" if len(text) > _MAX_CHARACTERS_SHOWN else ""
    return f' "{text[:_MAX_CHARACTERS_SHOWN]}{dots}"'


def _find_source_with_same_file_name(source: str, retrieved: Sequence[LocatedText]) -> str | None:
    """Return a retrieved source that is another one, but has the same file name; None if there is none."""
    file_name = posixpath.basename(normalize_source(source))
    for passage in retrieved:
        candidate, _, _ = passage.span
        if candidate != source and posixpath.basename(normalize_source(candidate)) == file_name:
            return candidate
    return None


def set_reference_spans(sample: Sample, spans: Sequence[Span], origin: str) -> Sample:
    """Return a sample with the union of spans as its reference ids. ``origin`` says where the spans come from."""
    return replace(
        sample,
        reference_context_ids=tuple(write_span(*span) for span in formulas.merged_spans(spans)),
        metadata=mark_span_origin(sample, origin),
    )


def mark_span_origin(sample: Sample, origin: str) -> dict[str, Any]:
    """Return a sample's metadata with a key that says where its reference spans come from."""
    return {**sample.metadata, "reference_spans": origin}
