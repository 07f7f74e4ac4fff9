"""Labels over spans of the sources, from the verified quotes of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.formulas import Span
from ctxmetrics.metrics.spans import read_span, set_reference_spans
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import DOUBTFUL


def build_span_samples(rows: Iterable[Row], metric: str) -> Iterator[Sample]:
    """Yield each sample with the places of its quotes (``SOURCE#char=START,END``) as reference ids. Arguments and errors: `Results.reference_spans`."""
    for row in rows:
        sample = row.sample
        score = row[metric]
        if sample is None:
            raise ParameterError(
                "reference_spans: the rows hold no samples. Write them with keep_texts=True."
            )
        if score.context_lengths is None and score.value is not None:
            raise ParameterError(
                f"reference_spans: {metric} counts no units. Name a judged recall with metric=."
            )
        yield set_reference_spans(
            sample, list(_locate_quotes(sample, score)), f"quotes of {metric}, {score.provenance.judge}"
        )


def _locate_quotes(sample: Sample, score: Score) -> Iterator[Span]:
    """Yield the spans in the sources of the quotes of clear positive verdicts."""
    ids = sample.retrieved_context_ids or ()
    texts = sample.retrieved_contexts or ()
    for verdict in score.verdicts:
        if verdict.value is not True or verdict.code in DOUBTFUL:
            continue
        for quote in verdict.evidence:
            sample_name = f"reference_spans: sample {sample.id!r}, context {quote.context + 1}"
            if len(ids) != len(texts):
                raise ParameterError(
                    f"{sample_name}: it has no id. Give retrieved_context_ids, one a context."
                )
            source, start, end = read_span(ids[quote.context], sample_name)
            if end - start != len(texts[quote.context]):
                raise ParameterError(
                    f"{sample_name}: its text has {len(texts[quote.context])} characters, its span {end - start}. "
                    "Find the spans with: ctxmetrics spans FILE --sources DIR"
                )
            yield source, start + quote.start, start + quote.end
