"""Repeated contexts, empty ids, contexts without text, and questions that retrieve themselves. Values by hand."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedAveragePrecision,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Results,
    Sample,
    SpanBasedContextPrecision,
    evaluate,
    score_table,
)
from ctxmetrics.samples.sample import drop_self
from ctxmetrics.text.repeats import measure_overlaps
from support.cases import each_case
from support.command import run_command

A, B, X = "The pump was repaired in May.", "It costs 20 euros.", "Bread is baked."
# The same chunks as texts and as ids: the contexts, and average precision and share over the distinct ones.
RANKINGS = [
    ("A X", 1.0, 1 / 2),
    ("A A X", 1.0, 1 / 2),
    ("X A A", 1 / 2, 1 / 2),
    ("A A A A", 1.0, 1.0),
    ("X X A", 1 / 2, 1 / 2),
    ("A X A B", (1 + 2 / 3) / 2, 2 / 3),
    ("A A X B", (1 + 2 / 3) / 2, 2 / 3),
    ("X A X B A", (1 / 2 + 2 / 3) / 2, 2 / 3),
    ("X X X", 0.0, 0.0),
]
TEXTS = {"A": A, "B": B, "X": X}


def build_sample(ranking: str, **fields: Any) -> Sample:
    names = ranking.split()
    return Sample(
        reference=f"{A} {B}",
        response=f"{A} {B}",
        retrieved_contexts=[TEXTS[name] for name in names],
        reference_contexts=[A, B],
        retrieved_context_ids=names,
        reference_context_ids=["A", "B"],
        **fields,
    )


@pytest.mark.parametrize(("ranking", "ranked", "share"), RANKINGS)
def test_texts_and_ids_count_a_repeat_alike(ranking: str, ranked: float, share: float) -> None:
    sample = build_sample(ranking)
    for metric in (
        ContextPrecision,
        ContextUtilization,
        NonLLMContextPrecision,
        IDBasedContextPrecision,
    ):
        assert metric(formula="average_precision").score(sample).value == pytest.approx(ranked)
        assert metric(formula="share").score(sample).value == pytest.approx(share)
    supports = ContextPrecision(relevance="supports").score(sample)
    assert supports.value == pytest.approx(ranked)
    matrix = ContextRecall().score(sample).attribution
    assert matrix is not None
    assert matrix.precision() == pytest.approx(ranked)
    assert matrix.precision(formula="share") == pytest.approx(share)


@pytest.mark.parametrize(("ranking", "ranked", "share"), RANKINGS)
@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
def test_tables_count_a_repeat_alike(form: str, ranking: str, ranked: float, share: float) -> None:
    library = pytest.importorskip(form)
    names = ranking.split()
    columns = {
        "retrieved_contexts": [[TEXTS[name] for name in names]] * 2,
        "reference_contexts": [[A, B]] * 2,
        "retrieved_context_ids": [names] * 2,
        "reference_context_ids": [["A", "B"]] * 2,
    }
    table = library.table(columns) if form == "pyarrow" else library.DataFrame(columns)
    metrics = [NonLLMContextPrecision(), IDBasedContextPrecision()]
    scored = score_table(table, metrics)
    for name, value in (("non_llm_context_precision", ranked), ("id_based_context_precision", share)):
        values = scored[name].to_pylist() if form == "pyarrow" else list(scored[name])
        assert values == pytest.approx([value] * 2)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (ContextPrecision(formula="share", convention="ragas"), 2 / 3),
        (ContextPrecision(formula="share", convention="deepeval", group="context"), 2 / 3),
        (NonLLMContextPrecision(formula="share", convention="ragas"), 2 / 3),
        (IDBasedContextPrecision(convention="ragas"), 1 / 2),
        (ContextPrecision(formula="share", relevance="adds"), 1 / 3),
    ],
)
def test_where_each_counts_the_note_says_so(metric: Any, value: float) -> None:
    score = metric.score(build_sample("A A X"))
    assert score.value == pytest.approx(value)
    assert "repeat one above" in score.reason


@pytest.mark.parametrize("metric", [ContextPrecision(), NonLLMContextPrecision(), IDBasedNDCG()])
def test_a_repeat_is_said_beside_the_number(metric: Any) -> None:
    plain, repeated = build_sample("A X"), build_sample("A A X")
    assert "repeat" not in metric.score(plain).pretty()
    assert "1 of 3 retrieved" in metric.score(repeated).pretty()
    assert "counts once, at its first rank" in metric.score(repeated).reason
    summary = str(evaluate([plain, repeated], [metric], progress=False).summary())
    assert "repeated contexts: 1, in 1 sample" in summary


@pytest.mark.parametrize(
    ("second", "equal"),
    [
        (f" {A}\n", True),
        (A.replace(" ", "\u00a0"), True),
        (A.replace(" ", "  "), True),
        (f"\ufeff{A}", True),
        (A.upper(), False),
        (A[:-1], False),
        (A + " Yes.", False),
        ("", False),
    ],
)
def test_equal_texts(second: str, equal: bool) -> None:
    sample = Sample(retrieved_contexts=[A, second], reference_contexts=[A])
    score = NonLLMContextPrecision(formula="share", min_similarity=0.9).score(sample)
    assert ("repeats" in score.metadata) is equal


def test_two_empty_texts_are_no_repeat() -> None:
    sample = Sample(retrieved_contexts=["", " ", A], reference_contexts=[A])
    assert NonLLMContextPrecision(formula="share").score(sample).value == 1 / 3


def test_one_text_under_two_ids() -> None:
    sample = Sample(
        reference=A,
        retrieved_contexts=[A, A, X],
        retrieved_context_ids=["1", "2", "3"],
        reference_context_ids=["1"],
    )
    assert ContextPrecision(formula="share").score(sample).value == 1 / 2
    by_ids = IDBasedContextPrecision().score(sample)
    assert by_ids.value == 1 / 3
    assert "equal texts have different ids (c2 = c1)" in by_ids.reason


def test_two_texts_under_one_id() -> None:
    sample = Sample(
        reference=f"{A} {B}",
        retrieved_contexts=[A, B, X],
        retrieved_context_ids=["1", "1", "3"],
        reference_context_ids=["1"],
    )
    assert ContextPrecision(formula="share").score(sample).value == 2 / 3
    by_ids = IDBasedContextPrecision().score(sample)
    assert by_ids.value == 1 / 2
    assert "also with another text" in by_ids.reason


def test_redundant_and_unused_repeats() -> None:
    matrix = ContextRecall().score(build_sample("X A X A B")).attribution
    assert matrix is not None
    assert (matrix.unused, matrix.redundant) == ((0, 2), (3,))
    assert matrix.redundancy == 1 / 3
    assert matrix.overlaps == (0.0, 0.0, 1.0, 1.0, 0.0)


def test_overlap_is_redundant_in_part() -> None:
    words = " ".join(f"word{number} of the long handbook" for number in range(60))
    first, second = words[:600], words[480:1080]
    one = f"{A} {first}"
    sample = Sample(reference=f"{A} {B}", retrieved_contexts=[one, f"{second} {B}", X])
    score = ContextRecall().score(sample)
    matrix = score.attribution
    assert matrix is not None
    assert score.value == 1.0
    assert matrix.redundant == ()
    assert matrix.overlaps is not None
    common = 120 / (600 + 1 + len(B))
    assert matrix.overlaps == pytest.approx((0.0, common, 0.0), abs=0.01)
    assert matrix.redundancy_with_overlap == pytest.approx(common / 2, abs=0.01)
    assert ContextPrecision(formula="share").score(sample).value == 2 / 3  # no value changes


def test_results_of_a_file_keep_repeats(tmp_path: Path) -> None:
    sample = build_sample("A A X")
    results = evaluate([sample], [ContextRecall(), ContextPrecision()], progress=False)
    results.to_jsonl(tmp_path / "out.jsonl")
    assert A not in (tmp_path / "out.jsonl").read_text().replace(json.dumps(A), "").split('"text"')[0]
    row = Results.from_jsonl(tmp_path / "out.jsonl")[0]
    assert row["context_precision"].reason == results[0]["context_precision"].reason
    assert row["context_recall"].attribution.redundant == (1,)


# --- ranks, beside ir_measures ---

MEASURES = [
    (IDBasedNDCG(), "nDCG"),
    (IDBasedReciprocalRank(), "RR"),
    (IDBasedAveragePrecision(), "AP"),
    (IDBasedHitRate(top_k=3), "Success@3"),
    (IDBasedPrecisionAtK(top_k=5), "P@5"),
    (IDBasedRecallAtK(top_k=5), "R@5"),
]


@pytest.mark.parametrize(("metric", "measure"), MEASURES, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize(
    "ids", [["a", "a", "x", "b"], ["x", "a", "a", "b"], ["", "a", "", "b"], [None, None, "a"]]
)
def test_rank_metrics_equal_ir_measures(metric: Any, measure: str, ids: list[str | None]) -> None:
    """ir_measures keeps a document once; one without an id is a document of its own, which no label names."""
    ir_measures = pytest.importorskip("ir_measures")
    names = [id_ or f"none {place}" for place, id_ in enumerate(ids)]
    distinct = [*dict.fromkeys(names)]
    run = [ir_measures.ScoredDoc("q", id_, 9.0 - rank) for rank, id_ in enumerate(distinct)]
    qrels = [ir_measures.Qrel("q", id_, 1) for id_ in ("a", "b", "c")]
    parsed = ir_measures.parse_measure(measure)
    expected = ir_measures.calc_aggregate([parsed], qrels, run)[parsed]
    sample = Sample(retrieved_context_ids=ids, reference_context_ids=["a", "b", "c"])
    assert metric.score(sample).value == pytest.approx(expected)


# --- empty ids ---


@pytest.mark.slow
@each_case("empty", ["", " ", "\t\n", "\u200b", "\ufeff", None, math.nan])
@each_case(
    ("metric", "value"),
    [
        (IDBasedContextPrecision(), 1 / 3),
        (IDBasedContextPrecision(formula="average_precision"), 1 / 2),
        (IDBasedContextRecall(), 1.0),
        (IDBasedReciprocalRank(), 1 / 2),
        (IDBasedNDCG(), 1 / math.log2(3)),
        (IDBasedAveragePrecision(), 1 / 2),
        (IDBasedHitRate(top_k=1), 0.0),
        (IDBasedPrecisionAtK(top_k=2), 1 / 2),
        (IDBasedRecallAtK(top_k=1), 0.0),
    ],
)
def test_an_empty_id_is_no_id(empty: Any, metric: Any, value: float) -> None:
    sample = Sample(retrieved_context_ids=[empty, "a", empty], reference_context_ids=["a", empty])
    score = metric.score(sample)
    assert score.value == pytest.approx(value)
    assert "empty" in score.reason
    ids = {"retrieved_context_ids": [empty, "a", empty], "reference_context_ids": ["a", empty]}
    assert evaluate([ids], [metric], progress=False)[0][metric.name].value == pytest.approx(value)
    pandas = pytest.importorskip("pandas")
    scored = score_table(pandas.DataFrame([ids, ids]), [metric])
    assert scored[metric.name].tolist() == pytest.approx([value] * 2)


def test_missing_values_of_pandas_are_no_ids() -> None:
    pandas = pytest.importorskip("pandas")
    sample = Sample(retrieved_context_ids=[pandas.NA, pandas.NaT, "a"], reference_context_ids=["a"])
    assert sample.retrieved_context_ids == ("", "", "a")
    assert IDBasedReciprocalRank().score(sample).value == 1 / 3


def test_only_empty_reference_ids_expect_nothing() -> None:
    score = IDBasedContextRecall().score(
        Sample(retrieved_context_ids=["a"], reference_context_ids=["", None])
    )
    assert (score.value, score.reason_code) == (None, "no_reference")


@pytest.mark.parametrize("text", ["nan", "None", "null"])
def test_words_for_a_missing_id_are_ids(text: str) -> None:
    score = IDBasedContextRecall().score(
        Sample(retrieved_context_ids=[text], reference_context_ids=[text])
    )
    assert score.value == 1.0
    assert "write null for a missing one" in score.reason


def test_an_empty_id_among_spans() -> None:
    sample = Sample(
        retrieved_context_ids=[None, "a#char=0,10"], reference_context_ids=["a#char=0,10", ""]
    )
    assert SpanBasedContextPrecision(formula="ap").score(sample).value == 1 / 2
    assert SpanBasedContextPrecision().score(sample).value == 1.0
    assert "empty" in SpanBasedContextPrecision().score(sample).reason


def test_documents_without_an_id_keep_their_places() -> None:
    documents = [{"text": A, "id": None}, {"text": B, "id": "b"}, {"text": X}]
    sample = Sample(retrieved_contexts=documents, reference_context_ids=["b"])
    assert sample.retrieved_context_ids == ("", "b", "")
    assert IDBasedReciprocalRank().score(sample).value == 1 / 2


def test_contexts_without_an_id_are_sources_of_their_own() -> None:
    sample = Sample(
        reference=f"{A} {B}", retrieved_contexts=[X, A, B], retrieved_context_ids=["", "", "b"]
    )
    assert ContextPrecision(group="source", formula="share").score(sample).value == 2 / 3


def test_grades_of_an_empty_id_are_not_read() -> None:
    sample = Sample(
        retrieved_context_ids=["", "a"],
        reference_context_ids=["", "a"],
        labels={"relevance": {"": 3, "a": 1}},
    )
    assert IDBasedNDCG().score(sample).value == pytest.approx(1 / math.log2(3))


def test_a_sample_of_an_empty_id_has_none() -> None:
    assert [Sample(id=id_).id for id_ in ("", " ", None, math.nan, "q")] == [
        None,
        None,
        None,
        None,
        "q",
    ]


# --- contexts without text ---

NO_TEXTS = [
    "https://example.org/docs?page=2",
    "<https://example.org/a>",
    "www.example.org/a",
    "ftp://example.org/a",
    "https://a.org/x, https://b.org/y",
    "[IMAGE]",
    "(image omitted)",
    "doi:10.1000/182",
    "mailto:desk@example.org",
    "/var/data/doc-12.txt",
    "[image 1: pump.png]",
    "<figure>",
    "{{image}}",
    "[Abbildung 3]",
    "[图片]",
    "[Рисунок 2]",
    "123e4567-e89b-12d3-a456-426614174000",
    "{123E4567-E89B-12D3-A456-426614174000}",
    "9e107d9d372bb6826bd81d3542a419d6",
    "<|image|>",
    "<|image_1|>",
    "arn:aws:s3:::bucket/key",
    "[object Object]",
    "{{context}}",
    "[deleted]",
]


@pytest.mark.parametrize("text", NO_TEXTS)
def test_contexts_without_text_have_no_value(text: str) -> None:
    sample = Sample(
        reference=A, response=A, reference_contexts=[A], retrieved_contexts=[text, f" {text}\n"]
    )
    for metric in (ContextRecall(), ContextPrecision(), ContextUtilization(), NonLLMContextRecall()):
        score = metric.score(sample)
        assert (score.value, score.reason_code) == (None, "not_text")
        assert "no retrieved context holds text" in score.reason


@pytest.mark.parametrize(
    "text",
    [
        "See https://example.org/docs for the price of the pump.",
        "[IMAGE] The pump was repaired in May.",
        "(image of a pump omitted)",
        "/var/data/a.txt holds it.",
        "20",
        "[1]",
        "[imagery of war]",
        "(table salt is cheap)",
        "12345678901234567890123456789012",
        "A",
        "x = [image]",
    ],
)
def test_texts_that_only_look_so_are_judged(text: str) -> None:
    score = ContextRecall().score(Sample(reference=A, retrieved_contexts=[text]))
    assert score.value is not None


def test_one_text_is_enough() -> None:
    sample = Sample(reference=A, retrieved_contexts=["https://example.org/a", A])
    assert ContextRecall().score(sample).value == 1.0


def test_an_address_that_is_expected_is_judged() -> None:
    address = "https://example.org/a"
    sample = Sample(reference=f"It stands at {address}", retrieved_contexts=[address])
    assert ContextRecall().score(sample).value is not None
    same = Sample(reference_contexts=[address], retrieved_contexts=[address])
    assert NonLLMContextRecall().score(same).value == 1.0


@pytest.mark.parametrize(
    "text",
    [
        *("chunk_0012", "docs/a.md", "", "...", "—"),
        *("null", "None", "NaN", "undefined", "(null)", "<NA>", "#N/A", "null, null", "无"),
        *("Image", "Figure 3", "图1"),
    ],
)
def test_what_reads_as_no_text_is_said_beside_zero(text: str) -> None:
    score = ContextRecall().score(Sample(reference=A, retrieved_contexts=[text]))
    assert score.value == 0.0
    assert "no retrieved context reads as a text" in score.reason


@pytest.mark.parametrize(
    "text", ["Nation", "table of contents", "No image here", "Nancy", "nil nisi bonum"]
)
def test_words_that_begin_as_null_are_texts(text: str) -> None:
    score = ContextRecall().score(Sample(reference=A, retrieved_contexts=[text]))
    assert score.value == 0.0
    assert "reads as a text" not in score.reason


def test_tables_refuse_contexts_without_text() -> None:
    pandas = pytest.importorskip("pandas")
    row = {"retrieved_contexts": ["[IMAGE]"], "reference_contexts": [A]}
    text = {"retrieved_contexts": [A], "reference_contexts": [A]}
    scored = score_table(pandas.DataFrame([row, text]), [NonLLMContextRecall()])
    assert scored["non_llm_context_recall.reason_code"].tolist()[0] == "not_text"


# --- questions that retrieve themselves ---


@pytest.mark.parametrize(
    ("fields", "ids", "contexts"),
    [
        ({"id": "q", "retrieved_context_ids": ["q", "d"]}, ("d",), None),
        ({"id": 7, "retrieved_context_ids": ["d", 7]}, ("d",), None),
        ({"user_input": "Is it?", "retrieved_contexts": ["IS  IT?", A]}, None, (A,)),
        ({"user_input": "Is it?", "retrieved_contexts": ["Is it? Yes.", A]}, None, ("Is it? Yes.", A)),
        (
            {
                "id": "q",
                "user_input": "Is it?",
                "retrieved_context_ids": ["q", "d", "e"],
                "retrieved_contexts": [X, "Is it?", A],
            },
            ("e",),
            (A,),
        ),
        ({"retrieved_context_ids": ["", "d"]}, ("", "d"), None),
        ({"user_input": "", "retrieved_contexts": ["", A]}, None, ("", A)),
        (
            {
                "id": "q",
                "user_input": "Is it?",
                "retrieved_context_ids": ["q", "d"],
                "retrieved_contexts": [X, "Is it?", A],
            },
            ("d",),
            (X, A),
        ),
    ],
)
def test_the_question_itself_is_dropped(fields: Any, ids: Any, contexts: Any) -> None:
    sample = drop_self(Sample(**fields))
    assert (sample.retrieved_context_ids, sample.retrieved_contexts) == (ids, contexts)


def test_it_is_dropped_in_stages_and_searches() -> None:
    stages = drop_self(
        Sample(id="q", stages={"search": {"ids": ["q", "a"]}, "rerank": {"ids": ["a", "q"]}})
    )
    assert stages.stages is not None
    assert [stage.ids for stage in stages.stages.values()] == [("a",), ("a",)]
    searches = drop_self(Sample(id="q", searches=[{"ids": ["q", "a"]}, {"ids": ["b"]}]))
    assert searches.searches is not None
    assert [search.ids for search in searches.searches] == [("a",), ("b",)]
    assert searches.metadata["dropped_self"] == 1


QUESTION = {"id": "q", "retrieved_context_ids": ["q", "a"], "reference_context_ids": ["a"]}


def test_evaluate_and_tables_drop_it_only_when_asked() -> None:
    pandas = pytest.importorskip("pandas")
    metric = IDBasedReciprocalRank()
    for drops, value in ((False, 1 / 2), (True, 1.0)):
        results = evaluate([QUESTION], [metric], drop_self=drops, progress=False)
        assert results[0][metric.name].value == value
        table = pandas.DataFrame([QUESTION])
        assert score_table(table, [metric], drop_self=drops)[metric.name].tolist() == [value]
        assert ("the question itself" in str(results.summary())) is drops
        assert ("dropped" in results[0][metric.name].reason) is drops


def test_nothing_to_drop_is_said(caplog: pytest.LogCaptureFixture) -> None:
    row = {**QUESTION, "id": "other"}
    evaluate([row], [IDBasedReciprocalRank()], drop_self=True, progress=False)
    assert "nothing was dropped" in caplog.text


def write_rows(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_drops_it(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.jsonl", QUESTION, {**QUESTION, "id": "r"})
    metric = ("--metric", "id_based_reciprocal_rank")
    assert "0.5000" in run_command("score", file, *metric).stdout
    done = run_command("score", file, *metric, "--drop-self")
    assert "0.7500" in done.stdout
    assert (
        "1 retrieved context was the question itself and dropped (drop_self), in 1 sample"
        in " ".join(done.stdout.split())
    )


def test_the_command_says_repeats_and_empty_ids(tmp_path: Path) -> None:
    row = {
        "user_input": "What was done?",
        "reference": A,
        "retrieved_contexts": [A, A, X],
        "retrieved_context_ids": ["a", None, ""],
        "reference_context_ids": ["a", None],
    }
    file = write_rows(tmp_path / "a.jsonl", row, {**row, "user_input": "And then?"})
    shares = ("--metric", "context_precision(formula=share)", "--metric", "id_based_context_precision")
    done = run_command("score", file, *shares)
    text = " ".join(done.stdout.split())
    assert "0.5000" in text
    assert "0.3333" in text
    assert "repeated contexts: 2, in 2 samples" in text
    assert "4 retrieved ids are empty" in text
    assert "2 reference ids are empty" in text


# --- the page ---

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
COLUMNS = ("A A X", "X A A", "A X A B")
PAGE_METRICS = [
    ContextPrecision(),
    ContextPrecision(formula="share"),
    ContextPrecision(relevance="adds"),
    ContextPrecision(convention="ragas"),
    NonLLMContextPrecision(),
    IDBasedContextPrecision(),
    IDBasedContextPrecision(formula="average_precision"),
    IDBasedNDCG(),
    IDBasedReciprocalRank(),
    IDBasedHitRate(),
    IDBasedPrecisionAtK(top_k=3),
    IDBasedRecallAtK(top_k=2),
]


def test_the_page_shows_what_comes_out() -> None:
    lines = [f"| retrieved, where A and B are expected | {' | '.join(COLUMNS)} |", "|---|---|---|---|"]
    for metric in PAGE_METRICS:
        values = [f"{metric.score(build_sample(ranking)).value:.3f}" for ranking in COLUMNS]
        lines.append(f"| `{metric.name}` | {' | '.join(values)} |")
    redundant = []
    for ranking in COLUMNS:
        matrix = ContextRecall().score(build_sample(ranking)).attribution
        assert matrix is not None
        redundant.append(", ".join(f"c{place + 1}" for place in matrix.redundant or ()))
    lines.append(f"| `redundant` | {' | '.join(redundant)} |")
    shown = PAGE.read_text(encoding="utf-8").partition("<!-- repeats:begin -->\n")[2]
    assert shown.partition("<!-- repeats:end -->")[0] == "\n".join(lines) + "\n"


def test_overlap_is_found_in_a_text_of_repeated_phrases() -> None:
    # Each phrase stands many times in the first text, so that the place of the second one is none of the first places.
    source = random.Random(3)
    numbers = [source.randint(1, 28) for _ in range(2_000)]
    text = "".join(f"It is not {number} and not never nothing. " for number in numbers)
    assert measure_overlaps([text, text[len(text) // 3 :]]) == (0.0, 1.0)
