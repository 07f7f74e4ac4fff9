"""What a run returns: rows, summaries that hide nothing, tables and lines."""

from __future__ import annotations

import json
import math
import pickle

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    Sample,
    Score,
    Usage,
    Verdict,
    evaluate,
)
from ctxmetrics.errors import (
    CtxMetricsError,
    InputFileError,
    MissingExtraError,
    MissingFieldError,
    ParameterError,
    SampleError,
)
from ctxmetrics.evaluation.rows.json_lines import json_line
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.runs.history import read_run
from ctxmetrics.evaluation.runs.results import Results
from support.later import later
from support.rows import read_rows

scipy_stats = later("scipy.stats")


def score(value, code=None, *, verdicts=(), threshold=None, usage=None, identifier=None):
    return Score(
        metric="m",
        value=value,
        reason_code=code,
        verdicts=tuple(verdicts),
        threshold=threshold,
        usage=usage or Usage(),
        sample_id=identifier,
    )


def results_of(*scores, keep=True, scale=1.0):
    results = Results({"m": scale}, keep=keep)
    for index, item in enumerate(scores):
        sample = Sample(id=item.sample_id, user_input=f"Question {index}?") if keep else None
        results.add(Row(index, sample, item.sample_id, (item,)))
    return results


def missing(*codes):
    return [Verdict(id=f"s{number}", value=None, code=code) for number, code in enumerate(codes, 1)]


def id_samples():
    return [
        Sample(id="a", retrieved_context_ids=["x", "y"], reference_context_ids=["x"]),
        Sample(id="b", retrieved_context_ids=["y"], reference_context_ids=["x"]),
        Sample(id="c", retrieved_context_ids=["x"]),
        Sample(id="d", retrieved_context_ids=["x"], reference_context_ids=[]),
        Sample(id="e", retrieved_context_ids=["x"], reference_context_ids=["x"]),
    ]


# --- rows ---


@pytest.mark.parametrize("keep", [True, False])
def test_results_are_a_sequence_of_rows(keep):
    results = results_of(score(1.0, identifier="a"), score(None, "cancelled"), score(0.25), keep=keep)
    assert len(results) == 3
    assert [row["m"].value for row in results] == [1.0, None, 0.25]
    assert results[-1]["m"].value == 0.25
    assert [row.index for row in results[0:3:2]] == [0, 2]
    assert [row.index for row in reversed(results)] == [2, 1, 0]
    assert results[0].sample_id == "a"
    assert results[1]["m"].reason_code == "cancelled"
    assert (results[0].sample is None) == (not keep)
    with pytest.raises(IndexError):
        results[3]
    with pytest.raises(KeyError, match="'n'; this run has: m"):
        results[0]["n"]
    assert dict(results[0]) == {"m": results[0]["m"]}
    assert repr(results) == "<Results: 3 samples, m>"


def test_results_survive_pickling():
    results = evaluate(id_samples(), [IDBasedContextRecall(), IDBasedContextPrecision()])
    again = pickle.loads(pickle.dumps(results))  # noqa: S301 - our own bytes
    assert [row["id_based_context_recall"].value for row in again] == [1.0, 0.0, None, None, 1.0]
    assert again.summary()["id_based_context_recall"].scored == 3


def test_worst_rows_come_first_after_failed_ones():
    results = results_of(
        score(0.5), score(None, "no_reference"), score(0.0), score(None, "not_judged"), score(0.0)
    )
    assert [row.index for row in results.worst("m", 3)] == [3, 2, 4]
    assert [row.index for row in results.worst("m")] == [3, 2, 4, 0]
    with pytest.raises(ParameterError, match="metric='n' is not in this run: m"):
        results.worst("n")
    assert results.worst("m", 0) == []
    for number in (-1, 1.5, True):
        with pytest.raises(ParameterError, match="must be a whole number from 0"):
            results.worst("m", number)


# --- summaries ---


def test_a_summary_counts_what_has_no_value_and_why():
    results = results_of(
        score(1.0),
        score(0.5),
        score(None, "not_judged", verdicts=missing("timeout", "timeout")),
        score(None, "not_judged", verdicts=[*missing("refused"), Verdict(id="s2", value=True)]),
        score(None, "no_reference"),
        score(None, "missing_field"),
        score(None, "metric_error"),
        score(None, "cancelled"),
        score(None, "not_judged", verdicts=missing(None)),
    )
    summary = results.summary()["m"]
    assert (summary.samples, summary.scored, summary.mean) == (9, 2, 0.75)
    assert summary.missing == {
        "not_judged": 3,
        "no_reference": 1,
        "missing_field": 1,
        "metric_error": 1,
        "cancelled": 1,
    }
    assert (summary.not_judged, summary.undefined) == (5, 2)
    assert summary.causes == {"timeout": 2, "refused": 1, "not judged": 1}
    assert summary.passed is None
    assert summary.pass_rate is None
    text = " ".join(map(str.strip, str(results.summary()).splitlines()))
    assert "2 of 7 judged" in text
    assert (
        "m: without a value: cancelled 1, metric_error 1, missing_field 1, no_reference 1, not_judged 3"
        in text
    )
    assert "verdicts missing: not judged 1, refused 1, timeout 2" in text


def test_the_table_of_a_summary():
    results = results_of(
        score(1.0, threshold=0.8), score(0.0, threshold=0.8), score(None, "cancelled", threshold=0.8)
    )
    results.usage = Usage(calls=3, prompt_tokens=100, completion_tokens=20, reused=2, estimated=True)
    results.stopped = "interrupted"
    oracle = scipy_stats.binomtest(1, 2).proportion_ci(method="wilson")
    assert str(results.summary()).splitlines() == [
        "metric  mean    scored         95 % interval     passed",
        f"m       0.5000  2 of 3 judged  {oracle.low:.4f} to {oracle.high:.4f}  1 of 2  █████░░░░░",
        "m: without a value: cancelled 1",
        "m: pass mark 0.8",
        "judge: 3 calls, 2 reused, 100 + 20 tokens (estimated)",
        "stopped early: interrupted",
    ]
    assert repr(results.summary()) == str(results.summary())


def test_without_any_value_there_is_no_mean():
    summary = results_of(score(None, "not_judged"), score(None, "not_judged")).summary()["m"]
    assert (summary.mean, summary.interval, summary.scored) == (None, None, 0)
    assert "-" in str(results_of(score(None, "not_judged")).summary())


def test_one_value_has_no_interval():
    assert results_of(score(0.5)).summary()["m"].interval is None


def test_pass_rates_are_of_what_was_scored():
    summary = results_of(
        score(0.8, threshold=0.8),
        score(0.79, threshold=0.8),
        score(1.0, threshold=0.8),
        score(None, "not_judged", threshold=0.8),
    ).summary()["m"]
    assert (summary.passed, summary.threshold) == (2, 0.8)
    assert summary.pass_rate == pytest.approx(2 / 3)


def test_intervals_are_on_the_metrics_own_scale():
    given = [
        Sample(retrieved_context_ids=["x"], reference_context_ids=["x", "y"][: n % 2 + 1])
        for n in range(10)
    ]
    hundred = evaluate(given, [IDBasedContextRecall(convention="aegis")]).summary()
    one = evaluate(given, [IDBasedContextRecall()]).summary()
    (aegis,), (plain,) = hundred.values(), one.values()
    assert aegis.mean == pytest.approx(100 * plain.mean) == pytest.approx(75.0)
    assert aegis.interval == pytest.approx(tuple(100 * end for end in plain.interval))
    assert aegis.interval[0] > 1


def test_a_summary_is_json_ready():
    results = results_of(score(1.0), score(0.0), score(None, "no_reference"))
    data = json.loads(json.dumps(results.summary().to_dict()))
    assert data["metrics"]["m"]["missing"] == {"no_reference": 1}
    assert data["metrics"]["m"]["undefined"] == 1
    assert data["metrics"]["m"]["mean"] == 0.5
    assert len(data["metrics"]["m"]["interval"]) == 2
    assert data["usage"]["calls"] == 0
    assert data["stopped"] is None


def test_the_mean_is_summed_exactly():
    values = [0.1] * 10
    assert results_of(*map(score, values)).summary()["m"].mean == math.fsum(values) / 10


def test_usage_counts_what_was_reused():
    results = results_of(score(1.0, usage=Usage(calls=5, reused=2)), score(1.0, usage=Usage(reused=1)))
    assert results.usage.reused == 3


# --- tables and lines ---


def test_to_pandas_has_the_fields_then_the_metrics():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = evaluate(id_samples(), [IDBasedContextRecall(), IDBasedContextPrecision()]).to_pandas()
    assert list(frame.columns) == [
        "id",
        "retrieved_context_ids",
        "reference_context_ids",
        "id_based_context_recall",
        "id_based_context_recall.reason_code",
        "id_based_context_precision",
        "id_based_context_precision.reason_code",
    ]
    assert frame["id_based_context_recall"].dtype == "float64"
    assert frame["id_based_context_recall"].isna().tolist() == [False, False, True, True, False]
    assert frame["id_based_context_recall.reason_code"].tolist()[2:4] == [
        "missing_field",
        "no_reference",
    ]
    assert frame["retrieved_context_ids"][0] == ["x", "y"]
    assert isinstance(frame, pd.DataFrame)


def test_to_pandas_of_nothing_and_of_nothing_scored():
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert (
        evaluate([], [IDBasedContextRecall()]).to_pandas()["id_based_context_recall"].dtype == "float64"
    )
    frame = results_of(score(None, "cancelled"), score(None, "cancelled")).to_pandas()
    assert frame["m"].dtype == "float64"
    assert frame["m"].isna().all()


def test_to_pandas_without_rows_has_the_values(tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    results = evaluate(id_samples(), [IDBasedContextRecall()], out=tmp_path / "out.jsonl")
    frame = results.to_pandas()
    assert frame["id"].tolist() == ["a", "b", "c", "d", "e"]
    assert frame["id_based_context_recall"].tolist()[:2] == [1.0, 0.0]


def test_to_pandas_without_pandas_names_the_command(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[pandas\]'"):
        results_of(score(1.0)).to_pandas()


def test_to_jsonl_has_a_line_a_sample_and_metric(tmp_path):
    results = evaluate(id_samples(), [IDBasedContextRecall(), IDBasedContextPrecision()])
    path = tmp_path / "scores.jsonl"
    results.to_jsonl(path)
    rows = read_rows(path)
    assert [(row["sample_id"], row["metric"], row["value"]) for row in rows[:4]] == [
        ("a", "id_based_context_recall", 1.0),
        ("a", "id_based_context_precision", 0.5),
        ("b", "id_based_context_recall", 0.0),
        ("b", "id_based_context_precision", 0.0),
    ]
    assert {
        "reason_code",
        "passed",
        "band",
        "verdicts",
        "signals",
        "metadata",
        "usage",
        "provenance",
    } <= set(rows[0])
    assert list(results.to_dicts()) == rows


def test_to_jsonl_says_when_it_cannot(tmp_path):
    with pytest.raises(InputFileError, match=r"cannot be written: .* Choose another file"):
        results_of(score(1.0)).to_jsonl(tmp_path)
    with pytest.raises(CtxMetricsError, match="given as out="):
        results_of(score(1.0), keep=False).to_jsonl(tmp_path / "x")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (math.nan, None),
        (math.inf, None),
        ([1.0, math.nan], [1.0, None]),
        ("half \ud83d", "half \ud83d"),
        ("первый", "первый"),
        ({"a": (1, 2)}, {"a": [1, 2]}),
        (object, "<class 'object'>"),
    ],
)
def test_lines_are_json_whatever_somebodys_judge_said(tmp_path, value, written):
    item = score(1.0, verdicts=[Verdict(id="s1", value=True, details={"d": value})])
    path = tmp_path / "x.jsonl"
    results_of(item).to_jsonl(path)
    for line in path.read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=pytest.fail)
    (row,) = read_rows(path)
    assert row["verdicts"][0]["details"]["d"] == written


def test_lines_may_hold_numpy():
    np = pytest.importorskip("numpy")
    given = {"a": np.float32(0.5), "b": np.array([1.0, math.nan]), "c": np.int64(3), "d": math.nan}
    assert json.loads(json_line(given)) == {"a": 0.5, "b": [1.0, None], "c": 3, "d": None}


def test_a_row_shows_what_recall_of_the_embedded_judge_found():
    results = evaluate(
        [Sample(reference="It is red.", retrieved_contexts=["It is red."])], [ContextRecall()]
    )
    assert results[0]["context_recall"].value == 1.0
    assert results[0].sample.reference == "It is red."


def test_results_given_as_samples_are_called_no_table():
    results = evaluate([Sample(reference="Red.", retrieved_contexts=["Red."])], [ContextRecall()])
    with pytest.raises(MissingFieldError, match="No sample has reference or retrieved_contexts"):
        evaluate(results, [ContextRecall()])


def _results_with_topic(topic):
    sample = Sample(
        id="s", retrieved_context_ids=["a"], reference_context_ids=["a"], metadata={"topic": topic}
    )
    return evaluate([sample], [IDBasedContextRecall()])


def test_a_group_may_be_any_value():
    assert [*_results_with_topic({("a", 1): 2}).by("topic")] == ["{('a', 1): 2}"]


@pytest.mark.parametrize("key", ["topic", "metadata.topic"])
def test_a_group_that_is_none_is_not_suggested(key):
    message = rf"^by: sample 's' has no '{key}'\. Its metadata: none\.$"
    with pytest.raises(ParameterError, match=message):
        _results_with_topic(None).by(key)


def test_a_group_that_python_cannot_write_is_named():
    with pytest.raises(ParameterError, match=r"^by: sample 's': 'topic' cannot be written"):
        _results_with_topic(10**5000).by("topic")


@pytest.mark.parametrize("key", [1, None, ("a", "b"), 1.5])
def test_keys_of_metadata_may_be_anything(tmp_path, key):
    sample = Sample(
        reference="It is red.", retrieved_contexts=["It is red."], metadata={key: "x", "half": "\ud800"}
    )
    results = evaluate([sample], [ContextRecall()], progress=False)
    results.to_jsonl(tmp_path / "out.jsonl")
    (row,) = Results.from_jsonl(tmp_path / "out.jsonl")
    assert row.sample.metadata[str(key)] == "x"


def test_an_integer_that_python_cannot_write_is_named():
    texts = {"user_input": "Is it?", "reference": "It is.", "retrieved_contexts": ["It is."]}
    sample = Sample(**texts, metadata={"n": 10**5000})
    with pytest.raises(SampleError, match=r"Sample 1: field 'metadata' holds an integer of thousands"):
        evaluate([sample, sample], [ContextRecall()], progress=False)


def test_an_object_that_has_no_text_costs_no_line(tmp_path):
    class Broken:
        def __str__(self):
            raise RuntimeError

    sample = Sample(reference="It is red.", retrieved_contexts=["It is red."], metadata={"a": Broken()})
    evaluate([sample], [ContextRecall()], out=tmp_path / "out.jsonl", progress=False)
    (row,) = Results.from_jsonl(tmp_path / "out.jsonl")
    assert row.sample.metadata["a"] == "<Broken>"


@pytest.mark.parametrize("path", [5, None, b"x", ["x"], {"a": 1}], ids=repr)
def test_what_is_no_path_is_refused_in_words(path):
    results = results_of(score(0.5))
    for use in (
        Results.from_jsonl,
        results.to_jsonl,
        results.to_html,
        results.to_csv,
        results.apply_audit,
        read_run,
    ):
        with pytest.raises(ParameterError, match="is no path of a file"):
            use(path)


def test_a_name_with_nul_is_refused_in_words():
    results = results_of(score(0.5))
    for use in (Results.from_jsonl, results.to_jsonl, results.to_html, results.to_baseline):
        with pytest.raises(InputFileError, match="cannot be the name of a file"):
            use("a\0b")


@pytest.mark.parametrize("name", ["keep_texts", "one_context", "drop_self"])
def test_a_switch_is_true_or_false(name):
    """A text such as "no" would switch it on."""
    with pytest.raises(ParameterError, match=f"{name}='no' must be True or False"):
        evaluate([], [ContextRecall()], **{name: "no"})


def test_progress_is_a_switch_or_a_function():
    with pytest.raises(ParameterError, match="progress='no' must be True, False or a function"):
        evaluate([], [ContextRecall()], progress="no")


def test_values_without_their_origin_are_not_compared(tmp_path):
    """Who judged is in the file: two runs by different judges would have been compared."""
    samples = [Sample(id=str(n), reference="It is.", retrieved_contexts=["It is."]) for n in range(3)]
    kept = evaluate(samples, [ContextRecall()], progress=False)
    values = evaluate(samples, [ContextRecall()], out=tmp_path / "out.jsonl", progress=False)
    for first, second in ((values, values), (values, kept), (kept, values)):
        with pytest.raises(ParameterError, match="Give the file that it wrote"):
            first.compare(second)
    assert kept.compare(tmp_path / "out.jsonl").metrics[0].difference == 0


def test_a_table_that_cannot_be_written_loses_no_results(tmp_path):
    def read_samples():
        (tmp_path / "out.csv").mkdir()  # while the run goes on
        yield Sample(reference="It.", retrieved_contexts=["It."])

    results = evaluate(read_samples(), [ContextRecall()], out=tmp_path / "out.csv", progress=False)
    assert results[0]["context_recall"].value == 1.0
    assert "cannot be written" in results.stopped
    assert (tmp_path / "out.csv.part").exists()
