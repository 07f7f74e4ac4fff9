"""What is counted before a run is what the run then costs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ctxmetrics
from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    Estimate,
    IDBasedContextRecall,
    LexicalJudge,
    LLMJudge,
    OpenAIModel,
    Sample,
    ScriptedJudge,
    estimate,
    evaluate,
)
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.evaluation.runs.estimate import samples_for
from ctxmetrics.evaluation.statistics.paired import paired_mean, samples_needed
from ctxmetrics.judges.base import Judgement
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.models.runtime.memo import Memo
from support import FakeOpenAIServer, answer_from
from support.command import run_command
from support.rows import read_rows

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
MTRAG = Path(__file__).parents[5] / "shared" / "data" / "mtragun.jsonl"
METRICS = [ContextRecall(), ContextPrecision()]


def load(path, count=None):
    if not path.exists():
        pytest.skip(f"{path.name} is not here; benchmarks/README.md says where to get it")
    lines = path.read_text(encoding="utf-8").splitlines()[:count]
    return [Sample.from_dict(json.loads(line)) for line in lines]


def handbook():
    return load(HANDBOOK)


def unnamed(samples):
    """Without ids, a sample may be there several times."""
    return [replace(sample, id=None) for sample in samples]


@pytest.fixture
def server():
    with FakeOpenAIServer(answer_from()) as server:
        yield server


def judge_at(server, model="fake-judge", **options):
    return LLMJudge(OpenAIModel(model, base_url=server.base_url), **options)


@pytest.mark.parametrize(
    "path", [HANDBOOK, pytest.param(MTRAG, marks=pytest.mark.slow)], ids=["handbook", "mtrag"]
)
@pytest.mark.parametrize(
    "options", [{}, {"per_context": True}, {"joint": False}, {"votes": 3}], ids=str
)
def test_calls_are_exact_and_tokens_within_a_tenth(path, options, server):
    samples, judge = load(path, 40), judge_at(server, **options)
    counted = estimate(samples, METRICS, judge=judge)
    assert server.count == 0
    spent = evaluate(samples, METRICS, judge=judge).usage
    assert counted.samples == len(samples)
    assert counted.calls == spent.calls == server.count
    assert counted.reused == spent.reused
    assert counted.prompt_tokens == pytest.approx(spent.prompt_tokens, rel=0.001)
    assert counted.total_tokens == pytest.approx(spent.total_tokens, rel=0.1)
    if not judge.per_context:
        assert counted.completion_tokens == pytest.approx(spent.completion_tokens, rel=0.1)


@pytest.mark.slow
def test_parts_of_a_large_sample_are_counted(server):
    sample = Sample(
        reference=" ".join(f"Sentence number {number} is here." for number in range(150)),
        retrieved_contexts=["word " * 9_000, "other " * 12_000, "short"],
    )
    judge = judge_at(server)
    counted = estimate([sample], METRICS, judge=judge)
    assert counted.calls > 5
    assert counted.calls == evaluate([sample], METRICS, judge=judge).usage.calls


@pytest.mark.slow
def test_claims_are_asked_for_once_a_text(server):
    metrics = [ContextRecall(convention="axion"), ContextPrecision(convention="axion")]
    judge = judge_at(server)
    counted = estimate(handbook(), metrics, judge=judge)
    spent = evaluate(handbook(), metrics, judge=judge).usage
    assert counted.calls == spent.calls
    assert counted.total_tokens == pytest.approx(spent.total_tokens, rel=0.1)


def test_equal_samples_are_paid_once():
    judge = ScriptedJudge(answer_from(), name="labels")
    counted = estimate(unnamed(handbook()[:3]) * 10, METRICS, judge=judge)
    assert (counted.samples, counted.calls, counted.reused) == (30, 3, 57)


@pytest.mark.slow
def test_cached_judgements_are_free_and_cache_unchanged(server, tmp_path):
    judge = judge_at(server)
    evaluate(handbook()[:10], METRICS, judge=judge, cache=tmp_path)
    forget()
    before = server.count
    counted = estimate(handbook(), METRICS, judge=judge, cache=tmp_path)
    again = estimate(handbook(), METRICS, judge=judge, cache=tmp_path)
    assert counted == again
    spent = evaluate(handbook(), METRICS, judge=judge, cache=tmp_path).usage
    assert counted.calls == spent.calls == server.count - before
    forget()
    assert estimate(handbook(), METRICS, judge=judge, cache=tmp_path).calls == 0
    assert (
        estimate(handbook(), METRICS, judge=judge_at(server, "another"), cache=tmp_path).calls
        == counted.calls + before
    )


def test_cached_run_pays_nothing_twice_after_other_work(tmp_path, monkeypatch):
    small = Memo(2, lambda answer: answer.complete)
    monkeypatch.setattr("ctxmetrics.judges.llm.judge._memo", small)
    judge = ScriptedJudge(answer_from(), name="labels")
    twice = unnamed(handbook()[:20]) * 2
    kept = estimate(twice, METRICS, judge=judge, cache=tmp_path).calls
    assert kept == estimate(twice[:20], METRICS, judge=judge).calls
    assert estimate(twice, METRICS, judge=judge).calls == 2 * kept  # nothing else is remembered so long


@pytest.mark.slow
def test_remembered_judgements_are_free_and_memory_unchanged(server):
    judge = judge_at(server)
    evaluate(handbook()[:10], METRICS, judge=judge)
    counted = estimate(handbook(), METRICS, judge=judge)
    assert counted.calls == evaluate(handbook(), METRICS, judge=judge).usage.calls
    assert all(
        verdict.value is not None
        for verdict in evaluate(handbook(), METRICS, judge=judge)[20]["context_recall"].verdicts
    )
    assert evaluate(handbook(), METRICS, judge=judge).summary()["context_recall"].mean > 0.3


@pytest.mark.slow
def test_metrics_with_judges_of_their_own_are_counted_apart(server):
    metrics = [
        ContextRecall(judge=judge_at(server, "one")),
        ContextPrecision(judge=judge_at(server, "two")),
        ContextUtilization(),
        IDBasedContextRecall(),
    ]
    judge = LexicalJudge()
    counted = estimate(handbook(), metrics, judge=judge)
    assert counted.calls == evaluate(handbook(), metrics, judge=judge).usage.calls == server.count


def test_the_embedded_judge_costs_nothing():
    counted = estimate(handbook(), METRICS)
    assert (counted.calls, counted.total_tokens) == (0, 0)


def test_a_generator_is_fine_and_dicts_are():
    counted = estimate(
        (sample.to_dict() for sample in handbook()),
        METRICS,
        judge=ScriptedJudge(answer_from(), name="x"),
    )
    assert counted.samples == 36
    assert counted.calls == 35  # for one, nothing was retrieved


def test_what_it_says():
    counted = estimate(handbook(), METRICS, judge=ScriptedJudge(answer_from(), name="x"))
    assert str(counted) == (
        f"36 samples: 35 calls, about {counted.prompt_tokens} + {counted.completion_tokens} tokens\n"
        "35 judgements reused, free: another metric, memory or cache has them"
    )
    assert counted.to_dict()["calls"] == 35
    assert counted.total_tokens == counted.prompt_tokens + counted.completion_tokens


def test_a_judge_nobody_knows_is_not_guessed_at():
    class Own:
        name, warnings = "own", ()

        async def attribute(self, request):
            return Judgement(verdicts=())

        rate = attribute

    with pytest.raises(ParameterError, match="what Own costs is not known"):
        estimate(handbook(), METRICS, judge=Own())


def test_errors_are_those_of_a_run():
    with pytest.raises(MissingFieldError, match="No sample has reference"):
        estimate([Sample(retrieved_contexts=["x"])], METRICS)
    with pytest.raises(SampleError, match="Sample 1"):
        estimate([7], METRICS)
    with pytest.raises(ParameterError, match="a list of metrics"):
        estimate(handbook(), ContextRecall())


def test_the_name_is_the_function_whatever_was_imported_first():
    from ctxmetrics.evaluation.runs.estimate import estimate as function

    assert ctxmetrics.estimate is function


def test_tokens_become_dollars_and_calls_become_seconds() -> None:
    found = Estimate(samples=10, calls=33, prompt_tokens=2_000_000, completion_tokens=500_000, reused=0)
    assert found.cost(0.15, 0.60) == pytest.approx(0.60)  # 2 x 0.15 + 0.5 x 0.60
    assert found.seconds(16, 2.0) == 6.0  # three rounds of 16, 16 and 1
    assert found.seconds(16, 2.0, requests_per_minute=10) == 180.0  # ten at once, ten after each minute


@pytest.mark.slow
def test_command_names_its_assumptions_and_missing_options() -> None:
    pytest.importorskip("openai")
    run = (
        "estimate",
        HANDBOOK,
        "--metric",
        "context_recall",
        "--judge",
        "openai/m",
        "--base-url",
        "http://127.0.0.1:9",
    )
    key = {"OPENAI_API_KEY": "sk-none"}
    forget()
    bare = run_command(*run, **key).stdout.splitlines()
    assert bare[2:] == [
        "about 9 s: 16 requests at a time, 3 s each (assumed; give --request-seconds)",
        "dollars: give --price-in and --price-out, the prices of a million tokens",
    ]
    assert max(map(len, bare)) <= 80
    options = ("--request-seconds", 2, "--max-concurrency", 5, "--price-in", 1000, "--price-out", 0)
    given = run_command(*run, *options, **key).stdout.splitlines()
    sent = int(re.search(r"about (\d+) \+", given[0])[1])
    assert given[2:] == ["about 14 s: 5 requests at a time, 2 s each", f"about ${sent / 1000:,.4f}"]
    assert (
        len(run_command("estimate", HANDBOOK).stdout.splitlines()) == 2
    )  # the embedded judge sends nothing


@pytest.mark.parametrize(
    ("judge", "key", "share"),
    [
        ("openai/m", "OPENAI_API_KEY", 0.5),
        ("anthropic/m", "ANTHROPIC_API_KEY", 0.5),
        ("mistral/m", "MISTRAL_API_KEY", None),  # it has batches in a form of its own
    ],
)
def test_command_says_what_batches_cost(judge: str, key: str, share: float | None) -> None:
    pytest.importorskip("openai")
    forget()
    options = ("--judge", judge, "-m", "context_recall", "--price-in", 1000, "--price-out", 1000)
    lines = run_command("estimate", HANDBOOK, *options, **{key: "sk-none"}).stdout.splitlines()
    prices = [float(price) for price in re.findall(r"about \$([\d.]+)", "\n".join(lines))]
    assert len(prices) == (1 if share is None else 2), lines
    if share is not None:
        assert prices[1] == pytest.approx(share * prices[0], abs=1e-4)
        assert "batches" in lines[-1]


# --- how many samples show a difference ---


@pytest.mark.parametrize(("difference", "spread"), [(0.05, 0.3), (0.1, 0.2), (0.02, 0.5), (0.3, 0.4)])
def test_the_number_of_samples_is_that_of_statsmodels(difference: float, spread: float) -> None:
    """Its power is exact, by the noncentral distribution; the formula's is the usual approximation of it."""
    power = pytest.importorskip("statsmodels.stats.power", reason="statsmodels is not installed")
    exact = power.TTestPower().solve_power(effect_size=difference / spread, alpha=0.05, power=0.8)
    assert samples_needed(difference, spread) == pytest.approx(exact, abs=1.5)


def test_ten_changed_samples_are_expected_whatever_the_spread() -> None:
    assert samples_needed(0.5, 0.01, changed=0.04) == 250


MEANS = (0.5, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("sentences", [(1,), (1, 2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("loss", [0.02, 0.2])
def test_sample_count_finds_a_loss_in_four_of_five(sentences, mean, loss) -> None:
    """The run has 300 samples; another retriever loses sentences of the same kind of samples, or whole ones."""
    source = np.random.default_rng(3)

    def draw(size):
        count = source.choice(sentences, size)
        return count, source.binomial(count, mean)

    samples = []
    for count, kept in zip(*draw(300), strict=True):
        ids = [str(place) for place in range(count)]
        samples.append(Sample(reference_context_ids=ids, retrieved_context_ids=["x", *ids[:kept]]))
    results = evaluate(samples, [IDBasedContextRecall()], progress=False)
    (needed,) = samples_for(results, loss)
    for whole, size in ((False, needed.fewest), (True, needed.samples)):
        found = 0
        for _ in range(500):
            count, kept = draw(size)
            if whole:
                lost = np.where(source.random(size) < loss / mean, kept, 0)
            else:
                lost = source.binomial(kept, loss / mean)
            found += paired_mean((-lost / count).tolist()).p <= 0.05
        assert 0.78 - 0.04 < found / 500 < 0.88 + 0.03
    if sentences == (1,):
        assert needed.fewest == needed.samples


def test_sample_count_counts_changes_in_both_directions() -> None:
    """A quarter of values that are 0 or 1 changes: (1.96 + .896)**2 * (.25 - .05**2) / .05**2 is 807."""
    ids = [
        Sample(reference_context_ids=["a"], retrieved_context_ids=["ab"[number % 2]])
        for number in range(40)
    ]
    results = evaluate(ids, [IDBasedContextRecall()], progress=False)
    (needed,) = samples_for(results, 0.05, changed=0.25)
    assert needed.samples == pytest.approx(807, rel=0.05)
    assert needed.changed == pytest.approx(0.25)


@pytest.mark.slow
def test_the_command_says_how_many_samples_show_a_difference(tmp_path: Path) -> None:
    file, out = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    samples = [
        {"id": f"n{number}", "reference": "A b c.", "retrieved_contexts": ["A b c."] * (number % 2)}
        for number in range(20)
    ]
    file.write_text("\n".join(map(json.dumps, samples)))
    asked = ("--metric", "context_recall")
    done = run_command("estimate", file, *asked, "--detect", "0.05", "--changed", "0.2")
    assert done.returncode == 0, done.stderr
    told = re.fullmatch(
        r"context_recall: a true difference of 0.05 is found in 4 of 5 comparisons of (\d+) samples, where 20 % of them change",
        done.stdout.strip(),
    )
    # (1.96 + 0.896) ** 2 * (0.2 - 0.05 ** 2) / 0.05 ** 2; 0.896 is the quantile of 0.815.
    assert int(told[1]) == pytest.approx(644, rel=0.05)
    run_command("score", file, *asked, "--out", out)
    assert run_command("estimate", out, "--detect", "0.05", "--changed", "0.2").stdout == done.stdout
    for wrong in (("0",), ("0.3", "--changed", "0.2"), ("0.1", "--changed", "0"), ("0.6",)):
        done = run_command("estimate", out, "--detect", *wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--detect and --changed" in done.stderr
    # Where all values are equal, what one can lose is known all the same.
    rows = [json.dumps(row) for row in read_rows(out) if row["value"] == 1.0]
    out.write_text("\n".join(rows) + "\n")
    (count,) = re.findall(r"of (\d+) samples", run_command("estimate", out, "--detect", "0.05").stdout)
    assert 150 < int(count) < 170  # six losses or more of 160 in .82, by the binomial distribution
    two = Sample(
        id="q",
        reference="Paris is big. Rome is old.",
        retrieved_contexts=["Paris is big. Rome is old."],
        user_input="?",
    )
    file.write_text("".join(json.dumps({**two.to_dict(), "id": f"q{n}"}) + "\n" for n in range(9)))
    text = run_command("estimate", file, *asked, "--detect", "0.05").stdout
    assert re.search(r"of (\d+) to (\d+) samples: \1 if single sentences are lost \(9.75 % of", text)
    assert re.search(r"to (\d+) samples: .*, \1 if whole samples are \(5 %\)", text)


def test_low_values_are_taken_to_rise() -> None:
    samples = [Sample(reference_context_ids=["a"], retrieved_context_ids=["b"])] * 9
    results = evaluate(unnamed(samples), [IDBasedContextRecall()], progress=False)
    (needed,) = samples_for(results, 0.1)
    assert needed.gain
    assert 70 < needed.samples < 90


def test_the_command_needs_no_key_and_counts_by_metric(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    file = tmp_path / "s.jsonl"
    row = {
        "user_input": "q",
        "reference": "It is red.",
        "response": "Red.",
        "retrieved_contexts": ["It is red."],
    }
    file.write_text(json.dumps(row), encoding="utf-8")
    names = ("context_recall", "context_precision", "context_utilization")
    metrics = [option for name in names for option in ("-m", name)]
    done = run_command("estimate", file, "--judge", "openai/m", *metrics)
    assert done.returncode == 0, done.stderr
    assert "1 sample: 2 calls" in done.stdout
    assert "context_recall: 1 call\ncontext_utilization: 1 call\n" in done.stdout
    assert (
        "context_recall"
        not in run_command("estimate", file, "--judge", "openai/m", *metrics[:4]).stdout
    )
