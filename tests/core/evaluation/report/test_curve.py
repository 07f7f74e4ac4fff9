"""Curves over k and the smallest k that is enough: from one judgement, checked against judging at each k."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    LexicalJudge,
    Results,
    Sample,
    evaluate,
)
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.judges.base import Judgement
from ctxmetrics.verdicts import Evidence, Verdict
from support.rows import read_rows

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"


@dataclass(frozen=True)
class MatrixJudge:
    """Reads the matrix from the question: a word a unit, a letter a context (w whole, p part), ? not judged."""

    name: str = "matrix"
    warnings: tuple[str, ...] = ()

    async def attribute(self, request):
        found = []
        for id_, row in zip(request.unit_ids, request.user_input.split(), strict=True):
            spans = tuple(
                Evidence(context, 0, 1, request.contexts[context][:1], cell == "w")
                for context, cell in enumerate(row[: len(request.contexts)])
                if cell in "wp"
            )
            found.append(Verdict(id=id_, value=None if "?" in row else bool(spans), evidence=spans))
        return Judgement(verdicts=tuple(found))

    rate = attribute


def sample(matrix, lengths):
    units = len(matrix.split())
    return Sample(
        user_input=matrix,
        reference=" ".join(f"Sentence {number}." for number in range(1, units + 1)),
        retrieved_contexts=[letter * length for letter, length in zip("uvwxyz", lengths, strict=False)],
    )


def run(*samples, **parameters):
    return evaluate(list(samples), [ContextRecall(judge=MatrixJudge(), **parameters)], progress=False)


TWO = (
    sample("w--- -w-w ----", (10, 20, 30, 40)),  # recall@k 1/3 2/3 2/3 2/3; useful: yes yes no yes
    sample("-p-p", (8, 8, 8, 8)),  # recall@k 0 0 0 1; at 4: no yes no yes
)


def test_hand_computed_points():
    curve = run(*TWO).curve(range(1, 6))
    assert [point.k for point in curve] == [1, 2, 3, 4, 5]
    assert [point.recall for point in curve] == [1 / 6, 1 / 3, 1 / 3, (2 / 3 + 1) / 2, (2 / 3 + 1) / 2]
    first, second = [1, 1, 1, (1 + 1 + 3 / 4) / 3], [0, 0, 0, (1 / 2 + 2 / 4) / 2]
    expected = [(one + other) / 2 for one, other in zip(first, second, strict=True)]
    assert [point.precision for point in curve[:4]] == pytest.approx(expected, abs=1e-15)
    assert [point.characters for point in curve] == [9.0, 23.0, 42.0, 66.0, 66.0]
    assert [point.tokens for point in curve[:2]] == [9 / 4, 23 / 4]
    assert {(point.metric, point.n) for point in curve} == {("context_recall", 2)}
    shares = run(*TWO).curve([2, 4], formula="share")
    assert [point.precision for point in shares] == [(1 + 0) / 2, (3 / 4 + 2 / 4) / 2]
    assert str(curve).splitlines()[1].split() == [
        "context_recall",
        "1",
        "0.1667",
        "0.5000",
        "9",
        "2",
        "2",
    ]
    assert curve.to_dicts()[0]["k"] == 1


def test_samples_without_value_are_excluded_but_empty_ones_not():
    results = run(
        *TWO, sample("w ?", (3,)), Sample(user_input="", reference="One.", retrieved_contexts=[])
    )
    assert [row["context_recall"].value for row in results] == [2 / 3, 1.0, None, 0.0]
    (point,) = results.curve([4])
    assert (point.n, point.recall) == (3, (2 / 3 + 1 + 0) / 3)
    assert point.characters == (100 + 32 + 0) / 3
    only = run(sample("w ?", (3,))).curve([1])
    assert (only[0].n, only[0].recall, only[0].characters, only[0].tokens) == (0, None, None, None)
    assert "-" in str(only)


def test_the_last_point_is_the_mean_on_any_scale():
    results = run(*TWO, convention="aegis")
    assert results.summary()["context_recall(convention=aegis)"].mean == pytest.approx(100 * 5 / 6)
    assert results.curve([4])[0].recall == pytest.approx(5 / 6)
    empty = run(
        *TWO, Sample(user_input="", reference="One.", retrieved_contexts=[]), convention="aegis"
    )
    assert empty.curve([4])[0].recall == pytest.approx(5 / 9)


@pytest.mark.slow
def test_embedded_curve_equals_judging_at_each_k():
    samples = list(read_samples(HANDBOOK))
    results = evaluate(samples, [ContextRecall(judge=LexicalJudge())], progress=False)
    ks = range(1, 11)
    metrics = [
        metric
        for k in ks
        for metric in (
            ContextRecall(judge=LexicalJudge(), top_k=k),
            ContextPrecision(judge=LexicalJudge(), top_k=k, relevance="supports"),
        )
    ]
    judged = evaluate(samples, metrics, progress=False).summary()
    means = [summary.mean for summary in judged.values()]
    assert [point.recall for point in results.curve(ks)] == means[::2]
    assert [point.precision for point in results.curve(ks)] == means[1::2]
    assert len(set(means[::2])) > 1


def test_written_results_have_the_same_curve(tmp_path):
    results = run(*TWO)
    results.to_jsonl(tmp_path / "rows.jsonl")
    read = Results.from_jsonl(tmp_path / "rows.jsonl")
    assert read.curve() == results.curve()
    assert len(read.curve()) == 20
    assert read.smallest_k() == results.smallest_k()
    assert read[0]["context_recall"].attribution == results[0]["context_recall"].attribution


def test_the_smallest_k():
    found = run(*TWO).smallest_k(keep=0.4)
    # means 1/6, 1/3, 1/3, 5/6; 0.4 * 5/6 = 1/3
    assert (found.k, found.keep, found.n, found.metric) == (2, 0.4, 2, "context_recall")
    assert found.recall == pytest.approx(5 / 6)
    assert run(*TWO).smallest_k().k == 4
    nothing = run(sample("--", (3, 3)), sample("--", (3, 3))).smallest_k()
    assert (nothing.k, nothing.interval, nothing.recall) == (None, None, 0.0)
    assert run(TWO[0]).smallest_k().interval is None


def test_the_interval_of_the_smallest_k():
    # 15 samples need k = 1, five need k = 4: with keep=0.9 k is 1 only in draws with at most a tenth of the latter
    samples = [sample("w---", (1,) * 4)] * 15 + [sample("---w", (1,) * 4)] * 5
    found = run(*samples).smallest_k(keep=0.9)
    assert (found.k, found.interval) == (4, (1, 4))
    assert run(*samples).smallest_k(keep=0.9) == found  # the seed is fixed
    draws = np.random.default_rng(1).binomial(20, 5 / 20, size=100_000)
    below = np.mean(draws <= 2)  # 20 - 2 >= 0.9 * 20
    assert 0.025 < below < 0.15  # so 1 is the lower end
    certain = run(*[sample("-w--", (1,) * 4)] * 20).smallest_k()
    assert (certain.k, certain.interval) == (2, (2, 2))


def test_what_has_no_curve_is_told(tmp_path):
    ids = Sample(
        retrieved_context_ids=["a"],
        reference_context_ids=["a"],
        reference="A.",
        retrieved_contexts=["A."],
    )
    metrics = [IDBasedContextRecall(), ContextRecall(judge=LexicalJudge())]
    results = evaluate([ids], metrics, progress=False)
    assert {point.metric for point in results.curve()} == {"context_recall"}
    with pytest.raises(CtxMetricsError, match="id_based_context_recall counts no units"):
        results.curve(metrics=["context_recall", "id_based_context_recall"])
    with pytest.raises(CtxMetricsError, match="no metric of this run counts units"):
        evaluate([ids], metrics[:1], progress=False).smallest_k()
    for ks in ([0], [1.5], [True], ["1"]):
        with pytest.raises(ParameterError, match="must be a whole number from 1"):
            results.curve(ks)
    for keep in (0, 1.1, "a", True, float("nan")):
        with pytest.raises(ParameterError, match="must be a share above 0"):
            results.smallest_k(keep)
    with pytest.raises(ParameterError, match="curve: formula='x' is unknown"):
        results.curve(formula="x")
    both = evaluate([ids], [*metrics, ContextRecall(judge=LexicalJudge(), top_k=1)], progress=False)
    with pytest.raises(ParameterError, match="several metrics count units"):
        both.smallest_k()
    assert both.smallest_k(metric="context_recall").k == 1
    streamed = evaluate([ids], metrics, out=tmp_path / "rows.jsonl", progress=False)
    with pytest.raises(CtxMetricsError, match="keeps values only"):
        streamed.curve()
    assert read_rows(tmp_path / "rows.jsonl")[1]["context_lengths"] == [2]
