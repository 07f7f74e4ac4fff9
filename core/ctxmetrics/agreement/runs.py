"""Verdicts of a run in place of a judge: those of the rows that are about the labelled samples."""

from __future__ import annotations

from collections.abc import Sequence

from ctxmetrics._display import visible
from ctxmetrics.agreement.labelling.draw import key_of
from ctxmetrics.agreement.labels import KINDS
from ctxmetrics.comparison.answers import CONTEXTS
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.results import Results
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.named import metric_named
from ctxmetrics.report.rows import texts_key
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.text import detect_language, split_sentences


def metric_in(results: Results, label: str) -> Metric:
    """Return the metric of a run whose verdicts are compared with a kind of label.

    Raises:
        ParameterError: The run has none.
    """
    wanted = KINDS[label][1].base_name
    for name in results.metrics:
        if name.partition("(")[0] == wanted:
            convention = next(row[name].provenance.convention for row in results)
            if (found := metric_named(name, convention)) is not None:
                return found
    raise ParameterError(
        f"agree: {label} labels are compared with {wanted}, which this run does not have: it has "
        f"{', '.join(results.metrics)}. Score it with this metric too."
    )


def scores_in(
    results: Results,
    metric: Metric,
    samples: Sequence[Sample],
    said: Sequence[tuple[bool | None, ...] | None],
    label: str,
) -> list[Score]:
    """Return a run's scores of samples, in their order; without a value where a sample without labels is not in the run.

    Raises:
        ParameterError: A labelled sample is not in the run, or its verdicts are about other texts or units.
    """
    scores = {texts_key(row): row[metric.name] for row in results}
    found = []
    for number, (sample, people) in enumerate(zip(samples, said, strict=True), 1):
        score = scores.get(key_of(sample))
        name = visible(sample.id or str(number))[:80]
        if people is None:
            found.append(score or Score(metric=metric.name, value=None, sample_id=sample.id))
            continue
        if score is None:
            raise ParameterError(
                f"agree: sample {name!r} is not in the run, or has other texts there. Give a run over the labelled file."
            )
        if score.verdicts:
            _check(name, score, sample, label)
        found.append(score)
    return found


def _check(name: str, score: Score, sample: Sample, label: str) -> None:
    reference = sample.reference or ""
    if label == CONTEXTS:
        fits, fix = len(score.verdicts) == len(sample.retrieved_contexts or ()), "Score without top_k"
    else:
        units = split_sentences(reference, detect_language(reference))
        fits = [verdict.text for verdict in score.verdicts] == list(units)
        fix = "Score with unit='sentence', and the splitter that cut the labelled sentences"
    if not fits:
        raise ParameterError(
            f"agree: the {len(score.verdicts)} verdicts of {score.metric} on sample {name!r} are not about what was labelled. "
            f"{fix}."
        )
