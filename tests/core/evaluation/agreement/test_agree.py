"""A judge against people: counts by hand, figures against scikit-learn and ppi-python, real labels."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LexicalJudge,
    Sample,
    ScriptedJudge,
    compare,
    evaluate,
)
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.evaluation.agreement.agree import agree
from ctxmetrics.evaluation.agreement.correction import Correction
from ctxmetrics.evaluation.agreement.figures import Agreement, find_intervals
from ctxmetrics.evaluation.cli import app
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.statistics.corrected_means import corrected, corrected_mean
from ctxmetrics.evaluation.statistics.intervals import mean_interval

DATA = Path(__file__).parents[5] / "shared" / "data"
REFERENCE = "Paris is the capital of France. The tower is 330 metres tall."
CONTEXTS = ["Berlin is a city.", "Paris is the capital of France."]


def sample(number: int, **labels: object) -> Sample:
    return Sample(id=f"n{number}", reference=REFERENCE, retrieved_contexts=CONTEXTS, labels=labels)


def says(
    *, sentences: tuple[object, object] = (True, False), contexts: tuple[object, object] = (False, True)
):
    """A judge: what it says of the two sentences and the two contexts."""
    quote = [{"context": "c2", "quote": "Paris is the capital", "whole": True}]
    reply = {
        "code": "$code",
        "sentences": {
            f"s{number}": {"evidence": quote if value else [], "missing": "r", "supported": value}
            for number, value in enumerate(sentences, 1)
        },
        "useful": {f"c{number}": {"useful": value} for number, value in enumerate(contexts, 1)},
    }
    return ScriptedJudge({"joint": [reply], "attribution": [reply], "usefulness": [reply]})


# ---- counting ----


def test_answers_are_counted_by_who_said_yes():
    samples = [
        sample(1, unit_supported=[True, False]),  # both, neither
        sample(2, unit_supported=[False, True]),  # judge only, people only
        sample(3, unit_supported=[True, None]),  # both
        sample(4),
    ]
    (found,) = agree(samples, judge=says()).agreements
    assert (found.label, found.samples, found.answers) == ("unit_supported", 3, 5)
    assert (found.both, found.judge_only, found.people_only, found.neither) == (2, 1, 1, 1)
    assert (found.people_rate, found.judge_rate, found.bias) == (3 / 5, 3 / 5, 0.0)
    assert (found.sensitivity, found.specificity) == (2 / 3, 1 / 2)
    assert found.balanced_accuracy == pytest.approx(7 / 12)
    assert found.kappa == pytest.approx((3 / 5 - 13 / 25) / (12 / 25))


def test_the_order_of_contexts_is_kept():
    (found,) = agree([sample(n, context_useful=[False, True]) for n in (1, 2)], judge=says()).agreements
    assert (found.both, found.neither, found.answers) == (2, 2, 4)
    (found,) = agree([sample(n, context_useful=[True, False]) for n in (1, 2)], judge=says()).agreements
    assert (found.judge_only, found.people_only, found.answers) == (2, 2, 4)


def test_a_whole_reference_is_supported_when_every_sentence_is():
    samples = [sample(1, reference_supported=True), sample(2, reference_supported=False)]
    (found,) = agree(samples, judge=says()).agreements
    assert (found.people_only, found.neither) == (1, 1)
    (found,) = agree(samples, judge=says(sentences=(True, True))).agreements
    assert (found.both, found.judge_only) == (1, 1)


def test_what_the_judge_left_open_is_listed_and_counts_nowhere():
    samples = [sample(1, unit_supported=[True, True], reference_supported=True), sample(2)]
    report = agree(samples, judge=says(sentences=("maybe", False)), progress=False)
    sentences, whole = report.agreements
    assert (sentences.answers, sentences.not_judged, sentences.people_only) == (1, 1, 1)
    assert (whole.answers, whole.people_only) == (1, 1)  # one no is enough for a no
    assert "unit_supported: 1 label without a verdict" in str(report)
    unknown = agree(samples, judge=says(sentences=("maybe", True)), progress=False)
    assert (unknown.agreements[1].answers, unknown.agreements[1].not_judged) == (0, 1)


def test_nothing_retrieved_supports_nothing():
    nothing = Sample(
        reference=REFERENCE, retrieved_contexts=[], labels={"unit_supported": [False, True]}
    )
    (found,) = agree([nothing], judge=says()).agreements
    assert (found.neither, found.people_only) == (1, 1)


def test_a_sample_without_a_score_is_not_judged():
    lacking = Sample(id="n9", retrieved_contexts=CONTEXTS, labels={"context_useful": [True, False]})
    samples = [*(sample(number, context_useful=[False, True]) for number in range(2)), lacking]
    report = agree(samples, judge=says(), progress=False)
    assert (report.agreements[0].answers, report.agreements[0].not_judged) == (4, 2)
    assert (report.corrections[0].samples, report.corrections[0].labelled) == (2, 2)


def test_figures_that_are_not_defined_are_none():
    only_yes = Agreement("x", 1, both=3, judge_only=0, people_only=1, neither=0)
    assert (only_yes.specificity, only_yes.balanced_accuracy, only_yes.kappa) == (None, None, 0.0)
    same = Agreement("x", 1, both=3, judge_only=0, people_only=0, neither=0)
    assert (same.kappa, same.sensitivity) == (None, 1.0)
    nothing = Agreement("x", 0, 0, 0, 0, 0, not_judged=4)
    assert {nothing.people_rate, nothing.judge_rate, nothing.bias, nothing.kappa} == {None}


def test_kappa_and_balanced_accuracy_as_in_scikit_learn():
    # cohen_kappa_score and balanced_accuracy_score of scikit-learn 1.9 on these 50 pairs
    found = Agreement("x", 1, both=20, judge_only=5, people_only=10, neither=15)
    assert found.kappa == pytest.approx(0.4)
    assert found.balanced_accuracy == pytest.approx(0.7083333333333333)


# ---- intervals ----


def test_equal_samples_leave_no_room():
    assert find_intervals([(1, 1, 0, 2)] * 30)["balanced_accuracy"] == pytest.approx((5 / 6, 5 / 6))


def test_intervals_take_samples_whole():
    """Ten answers of one sample are one draw, not ten: the interval is that of ten draws, not of a hundred."""
    wide = find_intervals([(10, 0, 0, 0), (0, 10, 0, 0)] * 5)["bias"]
    narrow = find_intervals([(1, 0, 0, 0), (0, 1, 0, 0)] * 50)["bias"]
    assert wide[1] - wide[0] == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 10), rel=0.1)
    assert narrow[1] - narrow[0] == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 100), rel=0.1)


@pytest.mark.slow
def test_the_ends_are_near_those_of_many_more_draws():
    """Sixty thousand draws of another generator; a tenth of the library's draws would be off by 0.15 deviations."""
    np = pytest.importorskip("numpy")
    errors = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        tables = random.integers(0, 4, (25, 4))
        both, judge, people, neither = tables[random.integers(0, 25, (60_000, 25))].sum(axis=1).T
        bias = (judge - people) / (both + judge + people + neither)
        found = find_intervals([tuple(map(int, row)) for row in tables])["bias"]
        errors.append(np.abs(np.percentile(bias, [2.5, 97.5]) - found).mean() / bias.std())
    assert np.mean(errors) < 0.11


def test_no_interval_of_one_sample_or_of_what_is_not_defined():
    assert set(find_intervals([(1, 1, 1, 1)]).values()) == {None}
    only_yes = find_intervals([(5, 0, 1, 0)] * 3)
    assert (only_yes["specificity"], only_yes["balanced_accuracy"]) == (None, None)
    assert only_yes["sensitivity"] is not None


def test_a_figure_at_the_end_of_its_range_is_not_certain():
    """A judge that was right on all of 30 samples may be wrong on the next one: Jeffreys' interval, which ends at 1.

    L. D. Brown, T. T. Cai, A. DasGupta, Statistical Science 16 (2001) 101, section 4.3; quantiles of scipy.
    """
    beta = pytest.importorskip("scipy.stats").beta
    found = find_intervals([(1, 0, 0, 0)] * 15 + [(0, 0, 0, 1)] * 15)
    for name in ("sensitivity", "specificity"):
        assert found[name] == pytest.approx((beta.ppf(0.025, 15.5, 0.5), 1.0), abs=0.02)
        assert found[name][1] == 1.0
    assert found["bias"][0] < 0 < found["bias"][1]
    for name in ("balanced_accuracy", "kappa"):
        assert 0.5 < found[name][0] < found[name][1] == 1.0


def test_a_judge_that_says_yes_to_all_is_not_certain_to_go_on():
    found = find_intervals([(1, 1, 0, 0)] * 30)
    assert found["balanced_accuracy"][0] < 0.5 < found["balanced_accuracy"][1]
    assert found["kappa"][0] < 0 < found["kappa"][1]


def test_an_interval_of_few_samples_holds_its_figure():
    found = find_intervals([(1, 0, 0, 0)] * 2 + [(0, 0, 0, 1)])
    assert {name: ends[1] for name, ends in found.items() if name != "bias"} == {
        "sensitivity": 1.0,
        "specificity": 1.0,
        "balanced_accuracy": 1.0,
        "kappa": 1.0,
    }


def test_below_25_samples_sensitivity_has_a_beta_posterior():
    """Ten samples with one answer each: 4 of 5 yes found, 4 of 5 no found; quantiles of scipy."""
    beta = pytest.importorskip("scipy.stats").beta
    tables = [(1, 0, 0, 0)] * 4 + [(0, 0, 1, 0)] + [(0, 0, 0, 1)] * 4 + [(0, 1, 0, 0)]
    found = find_intervals(tables)
    expected = beta.ppf([0.025, 0.975], 4.5, 1.5)
    assert found["sensitivity"] == pytest.approx(expected, abs=0.02)
    assert found["specificity"] == pytest.approx(expected, abs=0.02)
    low, high = found["balanced_accuracy"]
    assert low < 0.8 < high
    repeated = find_intervals([tuple(10 * count for count in table) for table in tables])
    assert repeated["sensitivity"] == pytest.approx(
        expected, abs=0.02
    )  # ten answers on a sample count as one


def test_from_25_samples_on_every_draw_has_an_interval():
    tables = [(1, 0, 0, 0)] * 24 + [(0, 0, 0, 1)] * 2  # one draw in eight has no second class
    assert all(found is not None for found in find_intervals(tables).values())


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        (
            (45, 5, 5, 45),
            "almost perfect agreement with people (kappa 0.80), its rate of yes differs by +0.00",
        ),
        (
            (40, 5, 5, 40),
            "substantial agreement with people (kappa 0.78), its rate of yes differs by +0.00",
        ),
        (
            (40, 10, 10, 40),
            "substantial agreement with people (kappa 0.60), its rate of yes differs by +0.00",
        ),
        (
            (39, 11, 11, 39),
            "moderate agreement with people (kappa 0.56), its rate of yes differs by +0.00",
        ),
        (
            (35, 15, 15, 35),
            "moderate agreement with people (kappa 0.40), its rate of yes differs by +0.00",
        ),
        ((34, 16, 16, 34), "fair agreement with people (kappa 0.36), its rate of yes differs by +0.00"),
        ((30, 20, 20, 30), "fair agreement with people (kappa 0.20), its rate of yes differs by +0.00"),
        (
            (29, 21, 21, 29),
            "slight agreement with people (kappa 0.16), its rate of yes differs by +0.00",
        ),
        ((20, 20, 20, 20), "the judge is at or below chance: do not use it on this data"),
        ((40, 0, 5, 0), "people said only yes: label samples of both kinds"),
        ((0, 5, 0, 40), "people said only no: label samples of both kinds"),
        ((0, 0, 0, 0), "people said nothing: label samples of both kinds"),
    ],
)
def test_the_figures_are_said_in_a_sentence(counts, told):
    assert Agreement("x", 30, *counts, intervals={"balanced_accuracy": (0.51, 1.0)}).conclusion == told


def test_too_wide_an_interval_is_not_better_than_chance():
    found = Agreement("x", 5, 3, 1, 1, 2, intervals={"balanced_accuracy": (0.45, 0.9)})
    assert found.conclusion == "not shown to be better than chance"


# ---- corrected means ----

PEOPLE = [0.5, 1, 0.25, 0.75, 1, 0, 0.5, 0.6, 1, 0.3]
JUDGE = [0.4, 0.9, 0.5, 0.5, 1, 0.1, 0.75, 0.5, 0.8, 0.4]
OTHERS = [0.6, 0.4, 0.8, 0.5, 0.7, 0.6, 1, 0, 0.2, 0.9, 0.3, 0.5, 0.45, 0.7, 0.85]


@pytest.mark.parametrize(
    ("people", "judge", "others", "expected"),
    [
        (PEOPLE, JUDGE, OTHERS, 0.57859212),
        (PEOPLE, [1 - value for value in JUDGE], OTHERS, 0.59),  # a judge that is worth nothing
        ([1, 0, 1, 1], [0.9, 0.2, 0.7, 1.0], [0.6, 0.4, 0.8, 0.5, 0.7, 0.6], 0.65),
    ],
)
def test_the_corrected_mean_is_that_of_ppi_python(people, judge, others, expected):
    """``ppi_mean_pointestimate`` of ppi-python 0.2.3, written by the authors of the method."""
    assert corrected(people, judge, others).mean == pytest.approx(expected, abs=1e-8)
    tens = corrected(*([10 * value for value in values] for values in (people, judge, others)))
    assert tens.mean == pytest.approx(10 * expected, abs=1e-7)


def score_interval(mean: float, error: float, size: float, unseen: float = 0.4) -> tuple[float, float]:
    """The score interval of a mean with an effective size: where ``(mean - x)**2 == z**2 * x * (1 - x) / n``.

    The error also counts one label more that lies ``unseen`` off.
    """
    np, stats = pytest.importorskip("numpy"), pytest.importorskip("scipy.stats")
    z, t = stats.norm.ppf(0.975), stats.t.ppf(0.975, math.floor(size) - 1)
    n = max(size, mean * (1 - mean) / (error**2 + (unseen / size) ** 2) * (z / t) ** 2)
    low, high = sorted(np.roots([1 + z**2 / n, -2 * mean - z**2 / n, mean**2]))
    return float(low), float(high)


def test_the_interval_of_a_corrected_mean():
    """From 25 labels on: the error is that of the formula, the ends those of the score interval."""
    np = pytest.importorskip("numpy")
    people, judge, others = PEOPLE * 3, JUDGE * 3, OTHERS * 3
    mean, (low, high) = corrected_mean(people, judge, others)
    weight = (mean - np.mean(people)) / (np.mean(others) - np.mean(judge))
    rest = np.var(np.array(people) - weight * np.array(judge), ddof=1) / 30
    error = math.sqrt(rest + weight**2 * np.var(others, ddof=1) / 45)
    assert (low, high) == pytest.approx(score_interval(mean, error, 30), abs=1e-9)
    assert high - low < np.subtract(*mean_interval(people)[::-1])  # the judge is worth something


@pytest.mark.parametrize("labels", [4, 10, 24])
def test_below_25_labels_the_mean_is_peoples(labels):
    """How much the judge is worth cannot be estimated there: intervals with it held the mean in 82 % of draws."""
    people, judge = (PEOPLE * 3)[:labels], (JUDGE * 3)[:labels]
    mean, interval = corrected_mean(people, judge, OTHERS)
    assert mean == pytest.approx(math.fsum(people) / labels, abs=1e-12)
    assert interval == pytest.approx(mean_interval(people), abs=1e-12)


def test_without_others_the_mean_is_peoples():
    mean, interval = corrected_mean(PEOPLE * 3, JUDGE * 3, [])
    assert mean == pytest.approx(0.59)
    assert interval == pytest.approx(mean_interval(PEOPLE * 3), abs=1e-12)


def test_equal_labels_do_not_make_the_interval_a_point():
    mean, (low, high) = corrected_mean([1, 1, 1], [1, 1, 1], [1, 1])
    assert mean == 1
    assert low < 0.6
    assert high == 1


def test_a_corrected_mean_stays_in_range():
    mean, (low, high) = corrected_mean([1, 1, 1, 0.9] * 8, [0.6, 0.6, 0.6, 0.1] * 8, [1] * 40)
    assert (mean, high) == (1.0, 1.0)
    assert 0 < low < 1


@pytest.mark.parametrize(
    ("people", "judge", "others"), [([1], [1], [1]), ([1, 0], [1], [1]), ([1, 0], [1, 2], [1])]
)
def test_means_of_what_does_not_fit_are_refused(people, judge, others):
    with pytest.raises(ParameterError):
        corrected_mean(people, judge, others)


def test_metric_mean_is_corrected_by_scores_of_peoples_verdicts():
    """The judge says 0.5 everywhere; people find (1, 0.5, 0.5, 0) in four of six: their own mean is all there is."""
    labels = [[True, True], [True, False], [False, True], [False, False]]
    samples = [
        *(sample(number, unit_supported=given) for number, given in enumerate(labels)),
        sample(8),
        sample(9),
    ]
    report = agree(samples, judge=says())
    (found,) = report.corrections
    assert (found.metric, found.samples, found.labelled) == ("context_recall", 6, 4)
    assert (found.judge_mean, found.people_mean, found.mean) == (0.5, 0.5, 0.5)
    assert found.interval == mean_interval([1, 0.5, 0.5, 0])


def test_labels_of_whole_references_correct_the_supported_share():
    """The judge supports no whole reference; people support two of four."""
    samples = [*(sample(n, reference_supported=n < 2) for n in range(4)), sample(8), sample(9)]
    (found,) = agree(samples, judge=says()).corrections
    assert (found.metric, found.samples, found.labelled) == ("reference_supported", 6, 4)
    assert (found.judge_mean, found.people_mean, found.mean) == (0.0, 0.5, 0.5)


def test_a_reference_without_verdicts_is_not_called_supported():
    """Of four samples two are supported; for the other two nothing was retrieved, and nobody labelled them."""
    found = [sample(n, reference_supported=n == 0) for n in range(2)]
    nothing = [replace(sample(n), retrieved_contexts=[]) for n in (8, 9)]
    judge = says(sentences=(True, True))
    report = agree([*found, *nothing], judge=judge, progress=False)
    (mean,) = report.corrections
    assert (mean.samples, mean.labelled, mean.judge_mean) == (4, 2, 0.5)


def test_reference_outside_the_run_is_not_called_supported():
    labelled = [sample(n, reference_supported=n == 0) for n in range(2)]
    run = evaluate(labelled, [ContextRecall()], judge=says(), progress=False)
    (mean,) = agree([*labelled, sample(9)], results=run).corrections
    assert (mean.samples, mean.labelled, mean.judge_mean) == (2, 2, 0.0)


def test_the_sentence_of_a_mean_says_what_more_labels_are_worth():
    found = Correction("context_recall", 400, 25, 0.7, 0.7, 0.7, (0.6, 0.8), 0.7)
    assert (
        found.conclusion
        == "its corrected mean is known to +-0.1; labels of 75 more samples give about +-0.05"
    )
    assert replace(found, samples=60).conclusion == "its corrected mean is known to +-0.1"


def test_the_convention_makes_peoples_scores_too():
    samples = [sample(1, context_useful=[False, True]), sample(2, context_useful=[True, True])]
    (found,) = agree(samples, judge=says(), convention="aegis").corrections
    assert found.people_mean == pytest.approx(75)  # average precision 1/2 and 1, of 100


def test_a_half_labelled_sample_has_no_score_by_people():
    samples = [
        *(sample(number, unit_supported=[True, False]) for number in range(3)),
        sample(9, unit_supported=[True, None]),
    ]
    (found,) = agree(samples, judge=says()).corrections
    assert (found.samples, found.labelled) == (4, 3)


def test_claims_cannot_be_labelled_so_sentences_are_the_units():
    (found,) = agree(
        [sample(1, unit_supported=[True, False])], judge=LexicalJudge(), convention="axion"
    ).agreements
    assert found.answers == 2


# ---- what is said ----


def test_where_they_differ_is_shown_worst_first():
    samples = [
        sample(1, context_useful=[False, True]),
        sample(2, context_useful=[True, True]),
        sample(3, context_useful=[True, False]),
    ]
    report = agree(samples, judge=says())
    assert [(item.sample_id, len(item.disputed)) for item in report.disputes] == [("n3", 2), ("n2", 1)]
    shown = str(report.disputes[1])
    assert "sample n2, context_useful: 1 of 2 answers differ" in shown
    assert "c1 Berlin is a city." in shown
    assert shown.endswith("people say yes")


def test_the_report_says_when_there_are_too_few():
    report = agree([sample(number, context_useful=[False, True]) for number in range(24)], judge=says())
    assert "context_useful: 24 samples are too few to say much; label 25 or more" in str(report)
    report = agree([sample(number, context_useful=[False, True]) for number in range(25)], judge=says())
    assert "too few" not in str(report)
    assert json.loads(json.dumps(report.to_dict()))["agreements"][0]["both"] == 25


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (
            {"context_useful": [True]},
            r"'n1': labels.context_useful must have one entry for each retrieved context: it has 1 in place of 2",
        ),
        ({"context_useful": "yes, no"}, r"'n1': labels.context_useful must be a list"),
        ({"context_useful": [True, "no"]}, r"'n1': labels.context_useful must say true, false or null"),
        ({"unit_supported": [True, 2]}, r"'n1': labels.unit_supported must say"),
        ({"reference_supported": 0.5}, r"'n1': labels.reference_supported must say"),
    ],
)
def test_labels_that_are_none_are_refused(labels, told):
    with pytest.raises(SampleError, match=told):
        agree([sample(1, **labels)], judge=says())


def test_labels_are_read_before_anything_is_paid():
    asked = []
    judge = ScriptedJudge(asked.append, name="counts")
    for wrong in ("no", [True], [True, False, True]):
        with pytest.raises(SampleError):
            agree(
                [sample(1, unit_supported=[True, True]), sample(2, unit_supported=wrong)], judge=judge
            )
    assert asked == []


def test_dicts_are_samples_and_the_verdicts_must_be_kept(tmp_path):
    (found,) = agree([sample(1, unit_supported=[True, False]).to_dict()], judge=says()).agreements
    assert found.answers == 2
    with pytest.raises(ParameterError, match=r"out= is not possible.*to_jsonl"):
        agree([sample(1, unit_supported=[True, False])], judge=says(), out=tmp_path / "x.jsonl")


def test_no_labels_at_all_is_an_error_that_names_them():
    with pytest.raises(MissingFieldError, match=r"context_useful.*unit_supported.*reference_supported"):
        agree([sample(1, mood="good")], judge=says())


def test_the_command(tmp_path):
    file = tmp_path / "labelled.jsonl"
    lines = [sample(number, context_useful=[True, True]).to_dict() for number in range(3)]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run = CliRunner().invoke(app, ["agree", str(file), "--show", "1"])
    assert run.exit_code == 0, run.output
    assert "lexical against people" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 100
    assert "people             1.000" in run.stdout
    assert run.stdout.count("people say yes") == 1


# ---- real labels ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label", "answers", "accuracy"),
    [("clapnq-dev", "context_useful", 2030, 0.90), ("begin-wow-dev", "reference_supported", 430, 0.80)],
)
def test_the_embedded_judge_against_real_labels(name, label, answers, accuracy):
    file = DATA / f"{name}.jsonl"
    if not file.is_file():
        pytest.skip("the human-labelled data is not beside this checkout")
    samples = list(read_samples(file))
    (found,) = agree(samples, progress=False).agreements
    assert (found.label, found.answers, found.not_judged) == (label, answers, 0)
    assert found.balanced_accuracy >= accuracy
    low, high = found.intervals["balanced_accuracy"]
    assert low < found.balanced_accuracy < high < low + 0.1


@pytest.mark.slow
def test_a_fifth_of_the_labels_corrects_the_mean_of_all():
    """On CLAPNQ the embedded judge is too strict; the mean by everybody's labels is inside the corrected interval."""
    file = DATA / "clapnq-dev.jsonl"
    if not file.is_file():
        pytest.skip("the human-labelled data is not beside this checkout")
    samples = list(read_samples(file))
    (truth,) = agree(samples, progress=False).corrections
    some = [
        item if number % 5 == 0 else replace(item, labels={}) for number, item in enumerate(samples)
    ]
    (found,) = agree(some, progress=False).corrections
    assert (found.labelled, found.samples) == (60, 299)
    assert truth.judge_mean < truth.people_mean - 0.03
    assert found.interval[0] < truth.people_mean < found.interval[1]


# ---- weights ----

WEIGHTS = [4, 4, 4, 4, 4, 1, 1, 1, 1, 1]


def test_a_weighted_mean_is_that_of_ppi_python():
    """Of ppi-python 0.2.3, ``ppi_mean_pointestimate(PEOPLE, JUDGE, JUDGE + OTHERS, lam, w=WEIGHTS)`` is 0.656 for lam 0
    and 0.6 for lam 1, and linear between; the weight of least variance is found with numpy."""
    np, optimize = pytest.importorskip("numpy"), pytest.importorskip("scipy.optimize")
    people, judge, others, weights = PEOPLE * 3, JUDGE * 3, OTHERS * 3, WEIGHTS * 3
    shares = np.array(weights) / sum(weights)
    everyone = np.array([*judge, *others])

    def error(lam: float) -> float:
        rest = np.array(people) - lam * np.array(judge)
        terms = lam * (everyone - everyone.mean()) / len(everyone)
        terms[:30] += shares * (rest - shares @ rest)
        return 30 / 29 * np.sum(terms**2)

    best = optimize.minimize_scalar(error, bounds=(0, 1), options={"xatol": 1e-10}).x
    mean, (low, high) = corrected_mean(people, judge, others, weights=weights)
    assert mean == pytest.approx(0.656 + best * (0.6 - 0.656), abs=1e-7)
    size = sum(weights) ** 2 / sum(weight**2 for weight in weights)  # 3 * 625 / 85 = 22.06
    ends = score_interval(mean, math.sqrt(error(best)), size, unseen=0.8)
    assert (low, high) == pytest.approx(ends, rel=1e-6)
    tens = corrected_mean(
        *([10 * value for value in values] for values in (people, judge, others)),
        weights=weights,
        scale=10,
    )
    assert tens[0] == pytest.approx(10 * mean)


def test_weighted_labels_know_no_more_than_all_scores():
    """The judge is exact, and the labels are the file in small: the error is that of the mean of all 100 scores.

    A stratum of 20, all labelled, half of them 0; one of 80, 20 labelled, a quarter of them 0."""
    labels = [0, 1] * 10 + [0, 1, 1, 1] * 5
    found = corrected(labels, labels, [0, 1, 1, 1] * 15, weights=[1] * 20 + [4] * 20)
    assert (found.trust, found.mean) == (pytest.approx(1), pytest.approx(0.7))
    assert found.error == pytest.approx(math.sqrt(40 / 39 * 0.7 * 0.3 / 100))


def test_weighted_mean_over_every_draw_is_that_of_the_file():
    """Four common samples and two rare ones, two drawn of each: the mean over all 6 draws is the mean of all six."""
    common, rare = [1, 1, 0.5, 1], [0, 0.5]
    found = [
        corrected_mean([*some, *rare], [0.5] * 4, [0.5] * 2, weights=[2, 2, 1, 1])[0]
        for some in itertools.combinations(common, 2)
    ]
    assert math.fsum(found) / 6 == pytest.approx(math.fsum([*common, *rare]) / 6)


def test_equal_weighted_labels_do_not_make_the_interval_a_point():
    mean, (low, high) = corrected_mean([1, 1, 1], [1, 1, 1], [1, 1], weights=[3, 1, 1])
    assert (mean, high) == (1, 1)
    assert low < 0.6


@pytest.mark.parametrize(
    ("people", "judge", "weights"),
    [
        ([1], [1], [1]),
        ([1, 0], [1], [1, 1]),
        ([1, 0], [1, 0], [1, 0]),
        ([1, 0], [1, 0], [1, math.inf]),
        ([1, 2], [1, 0], [1, 1]),
    ],
)
def test_weights_that_do_not_fit_are_refused(people, judge, weights):
    with pytest.raises(ParameterError):
        corrected_mean(people, judge, [1, 0], weights=weights)


def test_the_weights_of_labels_correct_a_mean():
    """The judge says 0.5 everywhere. Of a file with 9 good samples and 3 bad ones, three of each are labelled."""
    samples = [
        *(sample(number, unit_supported=[True, True], weight=3) for number in range(3)),
        *(sample(number, unit_supported=[False, False], weight=1) for number in range(3, 6)),
        *(sample(number) for number in range(6, 12)),
    ]
    (found,) = agree(samples, judge=says()).corrections
    assert (found.people_mean, found.mean) == (0.75, 0.75)
    assert found.interval[0] < 0.75 < found.interval[1]


@pytest.mark.parametrize("weight", [0, -1, "2", True, None, math.inf, math.nan, 1e308, 10**400])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(SampleError, match=r"'n1': labels.weight must be a number above 0"):
        agree([sample(1, unit_supported=[True, True], weight=weight)], judge=says())


# ---- clusters, systems, several judges, results of a run ----


def test_samples_of_one_cluster_are_one_draw():
    """Thirty documents of four equal samples: the interval is that of thirty draws, in the table and of the mean."""
    labels = [[True, True], [True, False], [False, False]]
    samples = [
        replace(
            sample(number, unit_supported=labels[number // 4 % 3]), metadata={"document": number // 4}
        )
        for number in range(120)
    ]
    alone = agree(samples, judge=says(), progress=False)
    whole = agree(samples, judge=says(), progress=False, cluster="metadata.document")
    assert whole.clusters == 30
    assert "samples in 30 clusters" in str(whole)
    ends = [report.agreements[0].intervals["bias"] for report in (alone, whole)]
    assert np.ptp(ends[1]) / np.ptp(ends[0]) == pytest.approx(2, rel=0.1)
    ends = [report.corrections[0].interval for report in (alone, whole)]
    assert np.ptp(ends[1]) / np.ptp(ends[0]) == pytest.approx(2, rel=0.1)
    with pytest.raises(
        ParameterError, match=r"sample 'n0' has no 'metadata.city'. Its metadata: metadata.document"
    ):
        agree(samples, judge=says(), cluster="metadata.city")


def by_system():
    """The judge finds one of two sentences everywhere; people find 1, 0.5 and 0.25 in the three systems."""
    share = {"a": [[True, True]] * 2, "b": [[True, False]] * 2, "c": [[True, False], [False, False]]}
    return [
        replace(sample(10 * place + n, unit_supported=labels), metadata={"system": name})
        for place, name in enumerate("abc")
        for n, labels in enumerate(share[name])
    ] + [replace(sample(99), metadata={"system": "c"})]


def test_the_bias_and_the_mean_of_each_system():
    report = agree(by_system(), judge=says(), system="metadata.system", progress=False)
    found = {item.system: item for item in report.systems}
    assert {name: item.agreement.bias for name, item in found.items()} == {
        "a": -0.5,
        "b": 0.0,
        "c": 0.25,
    }
    assert {name: item.correction.people_mean for name, item in found.items()} == {
        "a": 1,
        "b": 0.5,
        "c": 0.25,
    }
    assert (found["c"].samples, found["c"].correction.labelled, found["c"].judge_mean) == (3, 2, 0.5)
    (ranking,) = report.rankings
    assert (ranking.systems, ranking.kendall) == (3, None)  # the judge's means are all equal
    assert (ranking.lowest, ranking.highest) == (("a", -0.5), ("c", 0.25))
    told = "the judge is off by -0.50 (a) to +0.25 (c): a difference between systems below 0.75 may be the judge's"
    assert told in str(report)
    assert json.loads(json.dumps(report.to_dict()))["rankings"][0]["systems"] == 3


def test_systems_are_ranked_by_both():
    judge = says(sentences=(True, True)), says(), says(sentences=(False, False))
    reports = [agree(by_system(), judge=one, system="system", progress=False) for one in judge]
    assert [report.rankings[0].kendall for report in reports] == [None] * 3
    verbatim = [
        replace(item, retrieved_contexts=CONTEXTS[: 1 + (item.metadata["system"] == "a")])
        for item in by_system()
    ]
    (ranking,) = agree(verbatim, system="metadata.system", progress=False).rankings
    assert ranking.kendall == pytest.approx(
        2 / math.sqrt(2 * 3)
    )  # a first; b and c are equal to the judge
    assert ranking.spearman > 0.8


def test_several_judges_are_put_side_by_side():
    """The second judge is right about three of four sentences more than the first."""
    samples = [sample(n, unit_supported=[False, True] if n else [True, False]) for n in range(4)]
    first = agree(samples, judge=says(), progress=False)
    second = agree(samples, judge=says(sentences=(False, True)), progress=False)
    table = first.beside(second)
    (found,) = table.differences
    assert (found.answers, found.difference) == (8, 0.5)  # 6 of 8 less 2 of 8
    # Of the 16 patterns of signs of +-2, those with a sum of at least 4.
    assert found.p == pytest.approx(0.625)
    shown = str(table)
    short, other = (f"{report.judge[:10]}…{report.judge[-9:]}" for report in (second, first))
    assert f"{short} less {other}: equal answers +0.500" in shown
    assert "Holm" not in shown
    # Interval and p in a line are of one test; the p of two comparisons stands below.
    pair = first.beside(second, second)
    assert str(pair.differences[0]).endswith("p 0.6250\n    p by Holm's method: 1.0000")
    assert max(map(len, shown.splitlines())) <= 100
    assert json.loads(json.dumps(table.to_dict()))["judges"] == [first.judge, second.judge]
    assert first.beside(first).judges == (f"{first.judge} (1)", f"{first.judge} (2)")
    with pytest.raises(ParameterError, match="other labels"):
        first.beside(agree(samples[:3], judge=says(), progress=False))


def test_table_of_judges_distinguishes_bars_of_embedded_judge():
    samples = [sample(n, unit_supported=[True, False]) for n in range(4)]
    reports = [
        agree(samples, judge=LexicalJudge(min_coverage=bar), progress=False) for bar in (0.5, 0.7)
    ]
    rows = str(reports[0].beside(reports[1])).splitlines()
    assert [row.split()[0] for row in rows[1:3]] == ["lexical(mi…rage=0.5)", "lexical(mi…rage=0.7)"]


def test_missing_id_may_equal_the_number_of_another_sample():
    samples = [sample(n, unit_supported=[True, False]) for n in range(3)]
    samples[0], samples[1] = replace(samples[0], id="2"), replace(samples[1], id=None)
    report = agree(samples, judge=says(), progress=False)
    (found,) = report.beside(report).differences
    assert (found.answers, found.difference) == (6, 0.0)


def test_results_of_a_run_are_compared_as_the_judge_itself(tmp_path):
    samples = [
        sample(n, unit_supported=[True, n % 2 == 0], context_useful=[False, True]) for n in range(4)
    ]
    asked = agree(samples, judge=says(), progress=False)
    unlabelled = [replace(item, labels={}) for item in samples]
    results = evaluate(unlabelled, [ContextRecall(), ContextPrecision()], judge=says(), progress=False)
    results.to_jsonl(tmp_path / "run.jsonl")
    for given in (results, tmp_path / "run.jsonl"):
        assert agree(samples, results=given).to_dict() == asked.to_dict()


@pytest.mark.parametrize(
    ("changed", "metrics", "told"),
    [
        (
            {"retrieved_contexts": CONTEXTS[:1]},
            [ContextRecall()],
            "'n1' is not in the run, or has other texts",
        ),
        ({}, [ContextPrecision()], "unit_supported labels are compared with context_recall"),
        (
            {},
            [ContextRecall(unit="fact")],
            r"the 1 verdict of context_recall\(.*\) on sample 'n1' is not about",
        ),
    ],
)
def test_a_run_on_something_else_is_refused(changed, metrics, told):
    labelled = sample(1, unit_supported=[True, False])
    facts = {"reference_facts": ["Paris."]} if metrics[0].name != "context_recall" else {}
    scored = replace(labelled, **changed, **facts)
    results = evaluate([scored], metrics, judge=LexicalJudge(), progress=False)
    with pytest.raises(ParameterError, match=told):
        agree([labelled], results=results)


@pytest.mark.parametrize(
    ("metrics", "label", "taken"),
    [
        (
            [ContextPrecision(relevance="supports"), ContextPrecision(top_k=1), ContextPrecision()],
            {"context_useful": [True, False]},
            ("context_precision", 0.5),
        ),
        (
            [ContextRecall(unit="fact"), ContextRecall(top_k=1), ContextRecall()],
            {"unit_supported": [True]},
            ("context_recall", 1.0),
        ),
        (
            [ContextRecall(top_k=1), ContextRecall()],
            {"reference_supported": True},
            ("reference_supported", 1.0),
        ),
        (
            [ContextPrecision(relevance="supports")],
            {"context_useful": [True, False]},
            ("context_precision(relevance=supports)", 0.5),
        ),
    ],
)
def test_metric_of_the_labels_is_taken_from_a_run(metrics, label, taken):
    """The second of two contexts states the reference."""
    fields = {"reference": CONTEXTS[1], "reference_facts": ["Rome."]}
    samples = [replace(sample(n, **label), **fields) for n in range(2)]
    run = evaluate(samples, metrics, judge=LexicalJudge(), progress=False)
    (found,) = agree(samples, results=run).corrections
    assert (found.metric, found.judge_mean) == taken


def test_labels_of_contexts_do_not_correct_a_mean_over_sources():
    """Of two sources one is useful, by two of its three contexts: 1/2 by sources, 2/3 by contexts."""
    given = {"retrieved_contexts": [CONTEXTS[1], "It rains.", CONTEXTS[1]], "reference": CONTEXTS[1]}
    labelled = [
        replace(
            sample(n, context_useful=[True, False, True]), retrieved_context_ids=list("aba"), **given
        )
        for n in range(2)
    ]
    metrics = [ContextPrecision(group="source", formula="share")]
    run = evaluate(labelled, metrics, judge=LexicalJudge(), progress=False)
    assert [row.scores[0].value for row in run] == [0.5, 0.5]
    report = agree(labelled, results=run)
    assert [item.answers for item in report.agreements] == [6]
    assert report.corrections == ()
    (found,) = compare(run, run).metrics
    assert found.corrected is None


def test_a_run_without_a_sample_is_refused():
    with pytest.raises(ParameterError, match="the run has no sample"):
        agree([sample(1, unit_supported=[True, False])], results=evaluate([], [ContextRecall()]))


def test_references_are_labelled_whole_not_by_sentence():
    """The judge supports every sentence of the second reference."""
    references = ["Rome is a town. It is old.", CONTEXTS[1]]
    several = [
        replace(sample(n, reference_supported=n == 0), reference=None, references=references)
        for n in range(2)
    ]
    run = evaluate(several, [ContextRecall()], judge=LexicalJudge(), progress=False)
    for options in ({"results": run}, {"judge": LexicalJudge(), "progress": False}):
        (found,) = agree(several, **options).agreements
        assert (found.both, found.judge_only, found.answers) == (1, 1, 2)
    for given in ([], [True], [True, False]):
        labelled = replace(several[1], labels={"unit_supported": given})
        with pytest.raises(
            SampleError,
            match=r"'n1': labels.unit_supported cannot .* several references. Write one 'reference'",
        ):
            agree([labelled], judge=says())


@pytest.mark.slow
def test_two_judges_and_systems_fit_100_columns(tmp_path):
    samples = read_samples(Path(__file__).parents[4] / "examples" / "handbook.jsonl")
    given = [
        replace(
            item,
            metadata={"system": f"{'a retriever with a long name ' * 3}{n % 2}", "document": n // 4},
        )
        for n, item in enumerate(samples)
    ]
    file = tmp_path / "data.jsonl"
    file.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in given), encoding="utf-8")
    evaluate(given, [ContextRecall(), ContextPrecision()], progress=False, out=tmp_path / "run.jsonl")
    run = CliRunner().invoke(
        app,
        f"agree {file} --results {tmp_path / 'run.jsonl'} --judge lexical --system metadata.system "
        "--cluster metadata.document",
    )
    assert run.exit_code == 0, run.output
    assert "lexical (2) less lexical (1): equal answers +0.000" in run.stdout
    assert "samples in 9 clusters" in run.stdout
    tables = [line for line in run.stdout.splitlines() if re.search(r" {2,}", line)]
    assert len(tables) > 30
    assert max(map(len, tables)) <= 100


def test_labelled_rows_are_found_in_a_run_with_some_ids():
    """The run has an id for one of two rows; the labelled samples have none: the texts find both."""
    labelled = [
        replace(sample(n, context_useful=[True, n == 0]), id=None, user_input=f"q{n}") for n in range(2)
    ]
    scored = [replace(labelled[0], id="a1"), labelled[1]]
    run = evaluate(scored, [ContextPrecision()], judge=says(), progress=False)
    (found,) = agree(labelled, results=run).agreements
    assert (found.samples, found.answers) == (2, 4)


def test_labels_may_be_arrays_and_numbers_of_numpy():
    """As pandas gives them: `read_parquet(FILE).to_dict("records")`."""
    plain = [sample(n, context_useful=[True, n == 0], weight=2 + n) for n in range(2)]
    arrays = [
        sample(0, context_useful=np.array([True, True]), weight=np.int64(2)),
        sample(1, context_useful=[np.True_, np.False_], weight=np.float32(3)),
    ]
    expected = agree(plain, judge=says(), progress=False)
    assert agree(arrays, judge=says(), progress=False).to_dict() == expected.to_dict()
    assert arrays == plain


class Table:
    """Has columns, and gives their names in a loop, as a data frame."""

    columns = ("id",)

    def __iter__(self):
        return iter(self.columns)


LABELLED = sample(1, context_useful=[True, False])


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        ([LABELLED, {"user_inpt": "q"}], {}, "Sample 2: unknown field 'user_inpt'"),
        ([LABELLED, 5], {}, "Sample 2 must be a Sample or a mapping of its fields, not int"),
        (LABELLED, {}, r"samples must be several samples, .* Write \[sample\]"),
        (None, {}, "samples must be several samples"),
        (Table(), {}, r"samples is a table. Write table.to_dict\('records'\)"),
        ([LABELLED], {"judge": 5}, "judge=int is no judge"),
        ([LABELLED], {"results": 5}, "results must be Results or the file of results"),
        ([LABELLED], {"results": []}, "results must be Results or the file of results"),
        ([LABELLED], {"cluster": ["a"]}, r"\['a'\] is no key of the metadata"),
        ([LABELLED], {"system": 5}, "5 is no key of the metadata"),
    ],
)
def test_an_argument_of_the_wrong_kind_is_explained(samples, options, message):
    with pytest.raises((ParameterError, SampleError), match=message):
        agree(samples, progress=False, **options)


def test_labels_of_agree_are_one_file():
    with pytest.raises(ParameterError, match="agree: labels must be one file"):
        agree([sample(1, unit_supported=[True, True])], labels=["a.labels.jsonl"])


def test_sentences_of_another_language_name_the_option():
    reference = "La Sra. Gomez vive en la Av. Colon. Tiene 3."
    labelled = Sample(
        reference=reference, retrieved_contexts=[reference], labels={"unit_supported": [True, True]}
    )
    metrics = [ContextRecall(judge=LexicalJudge(), language=code) for code in ("es", "en")]
    spanish, english = (evaluate([labelled], [metric], progress=False) for metric in metrics)
    assert "unit_supported" in str(agree([labelled], results=spanish))
    with pytest.raises(ParameterError, match=r"3 verdicts .* without language="):
        agree([labelled], results=english)
