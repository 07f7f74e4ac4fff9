"""Metrics that read columns of lists: the same values as sample by sample, in every batch the same columns."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import dataclass
from itertools import cycle

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Sample,
    SpanBasedContextPrecision,
    SpanBasedContextRecall,
    evaluate,
    score_table,
)
from ctxmetrics.errors import (
    JudgeError,
    MissingFieldError,
    ParameterError,
    SampleError,
    UnknownFieldError,
)
from ctxmetrics.evaluation.runs import batches
from ctxmetrics.evaluation.runs.batches import BatchScorer
from ctxmetrics.metrics.ids import (
    IDBasedCompleteness,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
)
from ctxmetrics.scores.conventions import CONVENTIONS
from support import missing
from support.later import later, skip_without

skip_without("narwhals", "pandas", "pyarrow")

nw = later("narwhals.stable.v1")
pa = later("pyarrow")
pd = later("pandas")
pl = later("polars")


KINDS = ["pyarrow", "pandas", *([] if missing("polars") else ["polars"])]
LONG = 500


def make_table(kind, data):
    if kind == "pyarrow":
        return pa.table(data)
    return {"pandas": pd, "polars": pl}[kind].DataFrame(data)


def metrics(convention):
    """Every id metric, at several k."""
    for top_k, strict in ((None, False), (0, False), (3, False), (7, True)):
        given = {"convention": convention, "top_k": top_k, "strict": strict}
        yield IDBasedContextRecall(**given)
        yield IDBasedContextPrecision(**given)
        yield IDBasedContextPrecision(**given, formula="average_precision")
        yield IDBasedHitRate(**given)
        yield IDBasedCompleteness(**given)
        yield IDBasedReciprocalRank(**given)
        yield IDBasedNDCG(**given)
    for k in (1, 4):
        yield IDBasedPrecisionAtK(convention=convention, top_k=k)
        yield IDBasedRecallAtK(convention=convention, top_k=k)


def cells(rng, rows, make):
    """Lists of ids: gaps, empty ones, repetitions, one that is very long."""
    for row in range(rows):
        if rng.random() < 0.1:
            yield None
        else:
            length = LONG if row == rows // 2 else rng.choice((0, 1, 2, 3, 5, 8, 13))
            yield [make(rng.randrange(rng.choice((4, 12, 40)))) for _ in range(length)]


def expected(data, metric):
    scores = []
    for cells in zip(*data.values(), strict=True):
        if None in cells:
            scores.append((None, "missing_field"))
        else:
            sample = Sample(**dict(zip(data, cells, strict=True)))
            score = metric.score(sample)
            scores.append((score.value, score.reason_code))
    return scores


def cell_values(table, name):
    values = table[name].to_pylist() if isinstance(table, pa.Table) else table[name].to_list()
    return [None if pd.isna(value) else value for value in values]


def columns(table, name):
    return list(zip(cell_values(table, name), cell_values(table, f"{name}.reason_code"), strict=True))


TYPES = {
    "texts": (lambda number: f"doc-{number}", lambda number: f"doc-{number}"),
    "numbers": (lambda number: number - 3, lambda number: number - 3),
    "large numbers": (lambda number: number * 10**12, lambda number: number * 10**12),
    "numbers and texts": (lambda number: number, str),
}


@pytest.mark.slow
@pytest.mark.parametrize(("convention", "types"), list(zip(CONVENTIONS, cycle(TYPES), strict=False)))
def test_the_values_are_those_of_samples(convention, types):
    rng = random.Random(f"{convention} {types}")
    retrieved, reference = TYPES[types]
    data = {
        "retrieved_context_ids": list(cells(rng, 60, retrieved)),
        "reference_context_ids": list(cells(rng, 60, reference)),
    }
    asked = list(metrics(convention))
    tables = [score_table(make_table(kind, data), asked) for kind in KINDS]
    for metric in asked:
        found = [columns(table, metric.name) for table in tables]
        assert found == [expected(data, metric)] * len(KINDS), metric.name


def span_metrics(convention):
    for top_k, strict in ((None, False), (0, False), (3, True)):
        given = {"convention": convention, "top_k": top_k, "strict": strict}
        for least in (0.5, 0.0, 1.0):
            yield SpanBasedContextRecall(**given, unit="span", min_cover=least)
            yield SpanBasedContextPrecision(**given, formula="ap", min_cover=least)
        yield SpanBasedContextRecall(**given)
        yield SpanBasedContextPrecision(**given)
        yield SpanBasedContextPrecision(**given, formula="iou")


def span(number):
    source = ("a.md", "b c.md", "d/é.md")[number % 3]
    return f"{source}#char={number * 3 % 17},{number * 3 % 17 + 1 + number % 7}"


@pytest.mark.slow
@pytest.mark.parametrize("convention", ["default", "ragas", "aegis"])
def test_the_values_of_spans_are_those_of_samples(convention):
    rng = random.Random(convention)
    data = {
        name: list(cells(rng, 60, span)) for name in ("retrieved_context_ids", "reference_context_ids")
    }
    asked = list(span_metrics(convention))
    scored = score_table(pa.table(data), [*asked, IDBasedContextRecall()])
    for metric in [*asked, IDBasedContextRecall()]:
        assert columns(scored, metric.name) == expected(data, metric), metric.name


@pytest.mark.parametrize(
    "wrong",
    [
        ["a.md"], ["a.md#char=5,5"], ["a.md#char=9,5"], ["#char=1,5"], ["a.md#char=1,5 "], ["a.md#char=1,5\n"],
        ["a.md#char=1,1234567890123"], ["a.md#char=1,2", "./a.md#char=1,2"], ["a%2Emd#char=1,2", "a.md#char=1,2"],
    ],
)  # fmt: skip
def test_a_row_without_spans_is_an_error_of_its_own(wrong):
    good = ["a.md#char=1,9"]
    table = pa.table(
        {"retrieved_context_ids": [good, wrong, []], "reference_context_ids": [good, good, wrong]}
    )
    scored = columns(score_table(table, [SpanBasedContextRecall()]), "span_based_context_recall")
    assert scored == [(1.0, None), (None, "metric_error"), (None, "metric_error")]
    apart = pa.table(
        {"retrieved_context_ids": [good, good], "reference_context_ids": [["./a.md#char=1,5"], good]}
    )
    scored = columns(score_table(apart, [SpanBasedContextRecall()]), "span_based_context_recall")
    assert scored == [(None, "metric_error"), (1.0, None)]


PICTURES = [
    "  a/b.png ",
    "data:image/png;base64,AAAA",
    f"see [DEEPEVAL:IMAGE:{'a' * 32}] there",
    "\x1c a.png",
]


def string_metrics(convention):
    for kind in (NonLLMContextRecall, NonLLMContextPrecision):
        given = {"convention": convention}
        yield kind(**given)
        yield kind(**given, min_similarity=0.0, similarity="hamming")
        yield kind(**given, min_similarity=1.0, similarity="jaro", strict=True)
        yield kind(**given, min_similarity=0.75, similarity="jaro_winkler", top_k=2)
        yield kind(**given, top_k=0)
    yield NonLLMContextPrecision(**given, formula="share")


@pytest.mark.slow
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_values_of_strings_are_those_of_samples(convention):
    rng = random.Random(convention)

    def text(number):
        if number == 0 and rng.random() < 0.1:
            return rng.choice(PICTURES)
        return "".join(
            rng.choices("ab é", k=number % 5 + 1)
        )  # so short that many similarities are on the cutoff

    data = {
        name: [cell and cell[:9] for cell in cells(rng, 120, text)]
        for name in ("retrieved_contexts", "reference_contexts")
    }
    asked = list(string_metrics(convention))
    scored = score_table(pa.table(data), asked)
    for metric in asked:
        assert columns(scored, metric.name) == expected(data, metric), metric.name


def test_strings_are_read_as_samples_where_a_run_needs_samples(monkeypatch, tmp_path):
    data = {"retrieved_contexts": [["a b"], ["c"]], "reference_contexts": [["a b"], ["d e"]]}
    made, whole = [], batches._read_samples
    monkeypatch.setattr(batches, "_read_samples", lambda *given: made.append(given) or whole(*given))
    string, by_ids = NonLLMContextRecall(), IDBasedContextRecall()
    other = NonLLMContextRecall(similarity=lambda one, two: float(one == two))

    def scored(metrics, changed=(), **options):
        table = score_table(pa.table({**data, **dict(changed)}), metrics, **options)
        return cell_values(table, metrics[0].name)

    ids = {"retrieved_context_ids": [["a"]] * 2, "reference_context_ids": [["a"]] * 2}
    found = [scored([string, by_ids], ids), scored([other])]
    assert not made
    found += [scored([string], **given) for given in ({"out": tmp_path / "x.jsonl"}, {"deadline": 60})]
    assert len(made) == 2
    found.append(scored([string], {"retrieved_contexts": [[{"text": "a b"}], [{"text": "c"}]]}))
    assert found == [[1.0, 0.0]] * 5
    assert scored([string], {"retrieved_contexts": [["a b"], [None]]})[1] is None


@pytest.mark.parametrize("kind", KINDS)
def test_no_sample_is_made_of_a_row(kind, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a sample was made")

    table = make_table(
        kind,
        {
            "retrieved_context_ids": [["a"], []],
            "reference_context_ids": [["a"], ["b"]],
            "user_input": ["x", "y"],
        },
    )
    monkeypatch.setattr("ctxmetrics.evaluation.runs.batches._read_samples", refuse)
    scored = score_table(table, [IDBasedContextRecall()])
    assert columns(scored, "id_based_context_recall") == [(1.0, None), (0.0, None)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_has_the_same_columns_whatever_it_holds(kind):
    asked = [IDBasedContextRecall(), ContextRecall()]
    scorer = BatchScorer(metrics=asked)
    ids = {"retrieved_context_ids": [["a"]], "reference_context_ids": [["a"]]}
    texts = {"reference": ["It is red."], "retrieved_contexts": [["It is red."]]}
    names = [metric.name + end for metric in asked for end in ("", ".reason_code")]
    assert list(scorer.columns) == names
    for data, found in (
        (ids | texts, [(1.0, None), (1.0, None)]),
        (ids, [(1.0, None), (None, "missing_field")]),
        (texts, [(None, "missing_field"), (1.0, None)]),
        ({"user_input": ["?"]}, [(None, "missing_field")] * 2),
    ):
        scored = scorer.score(make_table(kind, data))
        assert [columns(scored, metric.name)[0] for metric in asked] == found
        added = nw.from_native(scored).select(names)
        assert added.columns == names
        if kind != "pandas":  # which has no type for a column of nothing but missing texts
            assert list(added.schema.values()) == [nw.Float64, nw.String] * 2


def test_mixed_ids_in_one_column_and_documents_with_ids():
    mixed = {"retrieved_context_ids": [[1, "2"], ["01"]], "reference_context_ids": [["1", 2], [1]]}
    scored = score_table(pd.DataFrame(mixed), [IDBasedContextRecall()])
    assert scored["id_based_context_recall"].tolist() == [1.0, 0.0]
    documents = {
        "retrieved_context_ids": [["a"], None],
        "retrieved_contexts": [[{"id": "x", "text": "t"}], [{"id": "b", "text": "t"}]],
        "reference_context_ids": [["a"], ["b"]],
    }
    scored = score_table(pa.table(documents), [IDBasedContextRecall()])
    assert scored["id_based_context_recall"].to_pylist() == [1.0, 1.0]


def test_grades_are_read():
    ids = {"retrieved_context_ids": [["b", "a"]], "reference_context_ids": [["a", "b"]]}
    graded = pa.table({**ids, "labels": [{"relevance": {"a": 3, "b": 1}}]})
    assert score_table(graded, [IDBasedNDCG()])["id_based_ndcg"][0].as_py() < 1.0
    assert score_table(pa.table(ids), [IDBasedNDCG()])["id_based_ndcg"][0].as_py() == 1.0


IDS = {"retrieved_context_ids": ["b", "x", "a"], "reference_context_ids": ["a", "b"]}


def test_grades_are_read_from_columns(monkeypatch):
    """No sample is made of a row whose labels are grades, or missing; metrics without grades get the ids alone."""

    @dataclass(frozen=True, kw_only=True)
    class First(IDBasedContextRecall):
        base_name = "first"

        def compare(self, retrieved, reference):
            return float(retrieved[0] == reference[0]), [True]

    grades = [{"a": 3, "b": 1}, {"a": 1, "b": 3, "x": 0}, {"b": 2}, {}]
    labels = [None, *({"relevance": item} for item in grades)]
    asked = [IDBasedNDCG(), IDBasedNDCG(top_k=2), IDBasedContextRecall(), First(), First(top_k=1)]
    expected = [[metric.score(Sample(**IDS, labels=item)).value for item in labels] for metric in asked]
    monkeypatch.setattr("ctxmetrics.evaluation.runs.batches._read_samples", None)
    scored = score_table(pd.DataFrame([{**IDS, "labels": item} for item in labels]), asked)
    assert [scored[metric.name].tolist() for metric in asked] == expected
    # 1 / log2(2) + 3 / log2(4) of 3 / log2(2) + 1 / log2(3)
    assert scored["id_based_ndcg"][1] == pytest.approx(2.5 / 3.6309, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_grades_of_other_ids_in_each_row(kind):
    """A column of objects in Arrow and polars has in each row the keys of all rows, and null where a row has none."""
    rows = [
        {"reference_context_ids": ["a", "b"], "labels": {"relevance": {"a": 1, "b": 3}}},
        {"reference_context_ids": ["c"], "labels": {"relevance": {"c": 2}}},
    ]
    table = {name: [row[name] for row in rows] for name in rows[0]}
    scored = score_table(
        make_table(kind, {"retrieved_context_ids": [["a", "b"]] * 2, **table}), [IDBasedNDCG()]
    )
    values = [value for value, _ in columns(scored, "id_based_ndcg")]
    # 1 / log2(2) + 3 / log2(3) of 3 / log2(2) + 1 / log2(3)
    assert values == [pytest.approx(2.8928 / 3.6309, abs=1e-4), 0.0]


@pytest.mark.parametrize(
    "label",
    [
        {"relevance": {"a": 1}, "unanswerable": True},
        {"relevance": {"a": 1}, "units": [True]},
        {"unanswerable": True},
        {"relevance": None},
    ],
)
def test_other_labels_are_read_with_their_sample(label):
    asked = [IDBasedNDCG(), IDBasedContextRecall()]
    rows = [{**IDS, "labels": {"relevance": {"a": 3}}}, {**IDS, "labels": label}]
    scored = score_table(pd.DataFrame(rows), asked)
    for metric in asked:
        scores = [metric.score(Sample(**row)) for row in rows]
        assert columns(scored, metric.name) == [(score.value, score.reason_code) for score in scores]


@pytest.mark.parametrize("grades", [{"a": -1}, {"a": "3"}, {"x": 1}, {"a": 0}, [3, 1], {"a": True}])
def test_a_wrong_grade_is_named_with_its_row(grades):
    rows = [{**IDS, "labels": {"relevance": {"a": 3}}}, {**IDS, "labels": {"relevance": grades}}]
    with pytest.raises(JudgeError, match=r"sample 2: .*labels\['relevance'\]"):
        score_table(pd.DataFrame(rows), [IDBasedNDCG()], on_error="raise")
    scored = columns(score_table(pd.DataFrame(rows), [IDBasedNDCG()]), "id_based_ndcg")
    assert [code for _, code in scored] == [None, "metric_error"]


def test_what_a_sample_refuses_is_refused():
    good = {"retrieved_context_ids": [["a"], ["b"]], "reference_context_ids": [["a"], ["b"]]}
    asked = [IDBasedContextRecall()]
    for cell in (["a", 1.5], [["a", "b"], ["c", "d"]]):  # others are usable
        table = pd.DataFrame({**good, "retrieved_context_ids": [["a"], cell]})
        reasons = score_table(table, asked)["id_based_context_recall.reason_code"]
        assert reasons[1] == "missing_field"
    for values in ([[1.5], [2.5]], [[True], [False]], ["a", "b"], [{"a"}, {"b"}]):
        table = pd.DataFrame({**good, "retrieved_context_ids": values})
        with pytest.raises(SampleError, match="row 1: field 'retrieved_context_ids'"):
            score_table(table, asked)
    with pytest.raises(SampleError, match="Samples 1 and 2 have the same id '7'"):
        score_table(pa.table({**good, "id": [7, 7]}), asked)
    with pytest.raises(UnknownFieldError, match="row 2: unknown field 'refrence'"):
        score_table(pa.table({**good, "refrence": [None, "x"]}), asked)
    with pytest.raises(MissingFieldError, match="No sample has reference_context_ids"):
        score_table(pa.table({**good, "reference_context_ids": [None, None]}), asked)
    with pytest.raises(ParameterError, match="max_concurrency"):
        score_table(pa.table(good), asked, max_concurrency=0)


def test_the_values_are_the_same_where_a_run_shows_its_progress():
    table = pd.DataFrame({"retrieved_context_ids": [["a", "b"]], "reference_context_ids": [["b"]]})
    asked = [IDBasedContextPrecision(formula="average_precision")]
    seen = []
    shown = score_table(table, asked, progress=seen.append)
    assert [item.done for item in seen] == [1]
    assert score_table(table, asked).equals(shown)
    assert shown[asked[0].name].tolist() == [0.5]


@pytest.mark.slow
def test_a_table_needs_no_other_library_than_its_own():
    code = (
        "import sys; sys.modules['polars'] = sys.modules['pyarrow'] = None; import pandas as pd; import ctxmetrics as cm; "
        "table = pd.DataFrame({'retrieved_context_ids': [['a', 'b']], 'reference_context_ids': [['b']]}); "
        "print(cm.score_table(table, [cm.IDBasedContextPrecision()])['id_based_context_precision'].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.5]\n"


def test_lists_as_text_are_read_by_column(monkeypatch):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    lists = {
        "retrieved_context_ids": [["a", "b"], ["b"], ["c", "a"], ["a"]],
        "reference_context_ids": [["a"], ["a", "b"], ["a"], ["a"]],
    }
    texts = {name: [str(cell) for cell in cells] for name, cells in lists.items()}
    texts["retrieved_context_ids"][1] = '["b"]'
    metrics = [IDBasedContextRecall(), IDBasedContextPrecision(), IDBasedNDCG()]
    rows: list[object] = []
    original = batches._read_samples

    def counting(frame, *values):
        rows.extend(range(len(frame)))
        return original(frame, *values)

    monkeypatch.setattr(batches, "_read_samples", counting)
    scored = score_table(pl.DataFrame(texts), metrics)
    assert rows == []
    texts["retrieved_context_ids"][3] = None  # its row alone is read as a sample
    mixed = score_table(pl.DataFrame(texts), metrics)
    assert len(rows) == 1
    names = [metric.name for metric in metrics]
    whole = score_table(pl.DataFrame(lists), metrics)
    assert scored.select(names).equals(whole.select(names))
    assert mixed.select(names)[:3].equals(whole.select(names)[:3])


def test_ndcg_of_a_table_makes_no_sample(monkeypatch):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    draw = random.Random(5)
    rows = [
        {
            "retrieved_context_ids": [f"d{draw.randrange(9)}" for _ in range(6)],
            "reference_context_ids": [f"d{draw.randrange(9)}" for _ in range(3)],
        }
        for _ in range(200)
    ]
    metrics = [IDBasedNDCG(), IDBasedNDCG(top_k=3)]
    whole = evaluate(rows, metrics, progress=False)
    monkeypatch.setattr(batches, "score_now", pytest.fail)
    scored = score_table(pl.DataFrame(rows), metrics)
    for name in whole.metrics:
        assert scored[name].to_list() == [row[name].value for row in whole]
