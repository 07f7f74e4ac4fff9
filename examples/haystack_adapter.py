"""An adapter for Haystack in one file, as in docs/own-adapter.md: a pipeline component for any metric, and its proof.

Run the proof: cd examples; python -m ctxmetrics.testing haystack_adapter:RUNNERS
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from haystack import Pipeline, component

from ctxmetrics.adapting import SCHEMAS, Runner, Wrapper, as_judge, isolated_process


@component
class RetrievalEvaluator:
    """A metric as a component: a list a field in, a score a sample out, as from Haystack's own evaluators.

    Its inputs have the names of a sample's fields; contexts may be Haystack's documents, which bring their ids along.
    """

    def __init__(self, metric, judge=None, **keys):
        self.wrapper = Wrapper.of(metric, as_judge(judge), keys, SCHEMAS["haystack"])
        for name in metric.requires:
            component.set_input_type(self, name, list[Any])
        for name in {*metric.uses, "searches"}:
            component.set_input_type(self, name, list[Any], None)

    @component.output_types(score=float | None, individual_scores=list[Any], reasons=list[str])
    def run(self, **columns):
        """Score the samples that the columns hold."""
        given = {name: column for name, column in columns.items() if column is not None}
        rows = [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]
        scores = [self.wrapper.score(row, strict=False) for row in rows]
        known = [score.value for score in scores if score.value is not None]
        return {
            "score": fmean(known) if known else None,
            "individual_scores": [score.value for score in scores],
            "reasons": [score.reason for score in scores],
        }


def in_a_pipeline(metric, samples):
    pipeline = Pipeline()
    pipeline.add_component("metric", RetrievalEvaluator(metric))
    names = {*metric.requires, *metric.uses, "searches"}
    columns = {name: [getattr(sample, name) for sample in samples] for name in names}
    with isolated_process({"HAYSTACK_TELEMETRY_ENABLED": "False"}):
        return pipeline.run({"metric": columns})["metric"]["individual_scores"]


RUNNERS = [Runner("haystack.Pipeline", in_a_pipeline)]
