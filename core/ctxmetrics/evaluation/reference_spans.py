"""Labels from a judged run: where the quotes behind its verdicts stand in the sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ctxmetrics.errors import ParameterError
from ctxmetrics.fields import write_span
from ctxmetrics.formulas import Span, merged_spans
from ctxmetrics.metrics.spans import read_span
from ctxmetrics.report.view import Row
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import DOUBTFUL


def reference_spans_of(rows: Iterable[Row], metric: str) -> Iterator[Sample]:
    """Yield each sample with the spans of its quotes as reference ids. Arguments and errors: `Results.reference_spans`."""
    for row in rows:
        sample, score = row.sample, row[metric]
        if sample is None:
            raise ParameterError(
                "reference_spans: the rows hold no samples. Write them with keep_texts=True."
            )
        if score.context_lengths is None and score.value is not None:
            raise ParameterError(
                f"reference_spans: {metric} counts no units. Name a judged recall with metric=."
            )
        spans = merged_spans(list(_spans(sample, score)))
        yield replace(
            sample,
            reference_context_ids=tuple(write_span(*span) for span in spans),
            metadata={
                **sample.metadata,
                "reference_spans": f"quotes of {metric}, {score.provenance.judge}",
            },
        )


def _spans(sample: Sample, score: Score) -> Iterator[Span]:
    ids, texts = sample.retrieved_context_ids or (), sample.retrieved_contexts or ()
    for verdict in score.verdicts:
        if verdict.value is not True or verdict.code in DOUBTFUL:
            continue
        for quote in verdict.evidence:
            where = f"reference_spans: sample {sample.id!r}, context {quote.context + 1}"
            if len(ids) != len(texts):
                raise ParameterError(f"{where}: it has no id. Give retrieved_context_ids, one a context.")
            source, start, end = read_span(ids[quote.context], where)
            if end - start != len(texts[quote.context]):
                raise ParameterError(
                    f"{where}: its text has {len(texts[quote.context])} characters, its span {end - start}. "
                    "Find the spans with: ctxmetrics spans FILE --sources DIR"
                )
            yield source, start + quote.start, start + quote.end
