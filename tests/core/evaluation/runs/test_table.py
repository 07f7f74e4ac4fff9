"""A table in, the same kind of table out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LexicalJudge,
    LLMJudge,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    OpenAIModel,
    SpanBasedContextRecall,
    read_samples,
    score_table,
)
from ctxmetrics.errors import (
    CtxMetricsError,
    InputFileError,
    JudgeError,
    MissingExtraError,
    MissingFieldError,
    ParameterError,
    SampleError,
    UnknownFieldError,
)
from ctxmetrics.evaluation.files.recognition import recognise
from ctxmetrics.evaluation.runs.batches import BatchScorer
from ctxmetrics.evaluation.runs.table import _score_partition, build_rows
from support import missing
from support.later import later, skip_without
from support.rows import read_rows

skip_without("narwhals", "pandas", "pyarrow")

pa = later("pyarrow")
pd = later("pandas")
pl = later("polars")


KINDS = {
    "pandas": lambda: (pd.DataFrame, pd.DataFrame),
    "pyarrow": lambda: (pa.table, pa.Table),
    "pandas-pyarrow": lambda: (
        lambda data: pa.table(data).to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame,
    ),
}
"""Returns what makes a table, and its class."""
if not missing("polars"):  # one of several kinds
    KINDS["polars"] = lambda: (pl.DataFrame, pl.DataFrame)
IDS = {
    "id": ["a", "b", "c"],
    "retrieved_context_ids": [["x", "y"], ["y"], ["x", "z", "y"]],
    "reference_context_ids": [["x"], ["x"], ["x", "y"]],
}
METRICS = [IDBasedContextRecall(), IDBasedContextPrecision()]
FIRST_TWO = ("id_based_context_recall", "id_based_context_precision")


def column(table, name):
    values = table[name].to_list() if hasattr(table[name], "to_list") else table[name].to_pylist()
    return [None if pd.isna(value) else value for value in values]


def names(table):
    return list(table.column_names if isinstance(table, pa.Table) else table.columns)


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]()


def test_the_same_kind_comes_back_with_a_column_a_metric(kind):
    make, type_ = kind
    table = make(IDS)
    scored = score_table(table, METRICS)
    assert type(scored) is type_
    added = [name + end for name in FIRST_TWO for end in ("", ".reason_code")]
    assert names(scored) == [*IDS, *added]
    assert column(scored, "id_based_context_recall") == [1.0, 0.0, 1.0]
    assert column(scored, "id_based_context_precision") == [0.5, 0.0, 2 / 3]
    assert names(table) == list(IDS)  # the one that was given stays as it was


def test_missing_values_are_missing_and_say_why(kind):
    make, _ = kind
    scored = score_table(make({**IDS, "reference_context_ids": [["x"], None, []]}), METRICS[:1])
    assert column(scored, "id_based_context_recall") == [1.0, None, None]
    assert column(scored, "id_based_context_recall.reason_code") == [
        None,
        "missing_field",
        "no_reference",
    ]


def test_texts_and_numbers_in_cells(kind):
    make, _ = kind
    data = {
        "id": [1, 2],
        "user_input": ["first?", None],
        "reference": ["It is red.", "It is blue."],
        "retrieved_contexts": [["It is red."], ["Nothing", "at all"]],
    }
    assert column(score_table(make(data), [ContextRecall()]), "context_recall") == [1.0, 0.0]


def test_picture_among_texts_costs_no_other_row_its_value(kind):
    make, _ = kind
    texts = {
        "retrieved_contexts": [["The tower is in Paris."], ["plan.png", "The tower is in Paris."]],
        "reference_contexts": [["The tower is in Paris."], ["The tower is in Paris."]],
    }
    metrics = [NonLLMContextRecall(), NonLLMContextPrecision()]
    scored = score_table(make(texts), metrics)
    for metric in metrics:
        assert column(scored, metric.name) == [1.0, None]
        assert column(scored, metric.name + ".reason_code") == [None, "not_text"]


def test_numbers_as_ids(kind):
    make, _ = kind
    data = {"retrieved_context_ids": [[1, 2], [3]], "reference_context_ids": [[1], [4]]}
    assert column(score_table(make(data), METRICS[:1]), "id_based_context_recall") == [1.0, 0.0]


def test_an_empty_table(kind):
    make, type_ = kind
    if make is pa.table:
        table = pa.table(
            {
                name: pa.array([], pa.list_(pa.string()))
                for name in ("retrieved_context_ids", "reference_context_ids")
            }
        )
    else:
        table = make({"retrieved_context_ids": [], "reference_context_ids": []})
    scored = score_table(table, METRICS)
    assert type(scored) is type_
    assert column(scored, "id_based_context_recall") == []


def test_the_words_of_another_system(kind):
    make, _ = kind
    data = {"context": [["red"]], "retrieval_context": [["red", "blue"]]}
    scored = score_table(make(data), [NonLLMContextRecall()], schema="deepeval")
    assert column(scored, "non_llm_context_recall") == [1.0]


def test_pandas_keeps_its_index():
    frame = pd.DataFrame(IDS, index=[10, 5, 5])
    scored = score_table(frame, METRICS[:1])
    assert scored.index.tolist() == [10, 5, 5]
    assert scored["id_based_context_recall"].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["None", "nan", "NA", "NaT"])
def test_every_gap_of_pandas_is_a_gap(name):
    gap = {"None": None, "nan": math.nan, "NA": pd.NA, "NaT": pd.NaT}[name]
    frame = pd.DataFrame(
        {
            "user_input": pd.Series(["a", gap], dtype=object),
            **{key: value[:2] for key, value in IDS.items()},
        }
    )
    assert score_table(frame, METRICS[:1])["id_based_context_recall"].tolist() == [1.0, 0.0]


def test_errors_name_the_row(kind):
    make, _ = kind
    given = make({"reference": ["a", "b"], "retrieved_contexts": [None, "one string"]})
    with pytest.raises(SampleError, match=r"row 2.*'retrieved_contexts'"):
        score_table(given, [ContextRecall()])
    with pytest.raises(UnknownFieldError, match="row 1: unknown field 'refrence'"):
        score_table(make({"refrence": ["a"], "retrieved_contexts": [["b"]]}), [ContextRecall()])
    with pytest.raises(MissingFieldError, match="No sample has reference"):
        score_table(make({"retrieved_contexts": [["b"]]}), [ContextRecall()])


def test_a_column_of_a_metrics_name_is_not_overwritten(kind):
    make, _ = kind
    with pytest.raises(
        ParameterError, match=r"already has a column 'id_based_context_recall'\. Rename it"
    ):
        score_table(make({**IDS, "id_based_context_recall": [1, 2, 3]}), METRICS)


def _broken(retrieved, reference):
    raise RuntimeError("it broke")


@pytest.mark.parametrize(
    ("metric", "rows"),
    [
        pytest.param(
            SpanBasedContextRecall(),
            {
                "retrieved_context_ids": [["a#char=0,5"], ["a#char=5,2"]],
                "reference_context_ids": [["a#char=0,5"], ["a#char=0,5"]],
            },
            id="columns",
        ),
        pytest.param(
            NonLLMContextRecall(similarity=_broken),
            {"retrieved_contexts": [[], ["a"]], "reference_contexts": [["b"], ["b"]]},
            id="samples",
        ),
    ],
)
def test_requested_failure_is_raised_and_names_the_row(kind, metric, rows):
    make, _ = kind
    given = make(rows)
    assert column(score_table(given, [metric]), f"{metric.name}.reason_code") == [None, "metric_error"]
    with pytest.raises(JudgeError, match=r"^sample 2: .*(ends at or before its start|it broke)"):
        score_table(given, [metric], on_error="raise")
    with pytest.raises(JudgeError, match=r"^sample 102: "):
        BatchScorer(metrics=[metric], options={"on_error": "raise"}).score(given, first_row=101)


@pytest.mark.parametrize(
    ("table", "advice"),
    [
        ([{"a": 1}], r"a list is no table\. Write evaluate\(samples, metrics\)"),
        ({"a": [1]}, r"a dict is no table\. Write score_table\(pandas\.DataFrame"),
        (object(), "is no table or dataset of pyarrow"),
    ],
)
def test_what_is_no_table_is_refused(table, advice):
    with pytest.raises(ParameterError, match=advice):
        score_table(table, METRICS)


class _NamesInMethod:
    def columns(self):
        return []


class _NoNames:
    columns = None


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: pd.Series([1, 2], name="x"), id="pandas"),
        pytest.param(lambda: pa.chunked_array([[1, 2]]), id="pyarrow"),
        pytest.param(_NamesInMethod, id="method"),
        pytest.param(_NoNames, id="none"),
    ],
)
def test_a_single_column_is_no_table(make):
    with pytest.raises(ParameterError, match="is no table or dataset of pyarrow"):
        score_table(make(), METRICS)


@pytest.mark.parametrize("name", [0, 5, None, ("a", 1)])
def test_a_column_may_have_any_name_of_pandas(name):
    """The same values as without the column."""
    table = pd.DataFrame(IDS)
    values = column(score_table(table, METRICS), METRICS[0].name)
    table[name] = [1, 2, 3]
    assert column(score_table(table, METRICS), METRICS[0].name) == values


@pytest.mark.parametrize(("count", "kind"), [(10**15, "timestamp"), (10**7, "date32")])
def test_a_value_that_python_cannot_hold_names_its_column(count, kind, tmp_path):
    arrow_type = pa.timestamp("s") if kind == "timestamp" else pa.date32()
    table = pa.table({**IDS, "made": pa.array([1, count, 1], arrow_type)})
    with pytest.raises(ParameterError, match=r"^score_table: column 'made' cannot be read"):
        score_table(table, METRICS)
    path = tmp_path / "rows.parquet"
    later("pyarrow.parquet").write_table(table, path)
    with pytest.raises(InputFileError, match=r"rows\.parquet: column 'made' cannot be read"):
        list(read_samples(path))


def test_options_are_those_of_evaluate(tmp_path):
    seen = []
    score_table(pd.DataFrame(IDS), METRICS, progress=seen.append, out=tmp_path / "x.jsonl")
    assert len(seen) == 3
    assert len(read_rows(tmp_path / "x.jsonl")) == 6
    with pytest.raises(TypeError, match="max_concurency"):
        score_table(pd.DataFrame(IDS), METRICS, max_concurency=1)


def test_without_narwhals_the_command_is_named(monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == "narwhals"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[tables\]'"):
        score_table(pd.DataFrame(IDS), METRICS)


def test_columns_are_recognised_by_type_without_rows(caplog):
    text, texts = pa.string(), pa.list_(pa.string())
    flat = {"question": text, "ground_truth": text, "contexts": texts, "level": pa.int64()}
    recognise(build_rows(flat, ()), source="table")
    assert caplog.messages == [
        "table: columns read (schema ragas_v1): question -> user_input, ground_truth -> reference, contexts -> retrieved_contexts",
        "table: no field, carried along as metadata: level",
    ]
    nested = {
        "inputs": pa.struct({"question": text}),
        "outputs": pa.struct({"documents": pa.list_(pa.struct({"page_content": text}))}),
    }
    rows = [{"inputs": {"question": "q"}, "outputs": {"documents": [{"page_content": "c"}]}}]
    by_type = recognise(build_rows(nested, ())).reading
    by_rows = recognise(rows).reading
    assert replace(by_type, fields_with_usable_values=by_rows.fields_with_usable_values) == by_rows
    given = {"vars.question": "user_input"}
    assert (
        recognise(build_rows({"vars": text, "contexts": texts}, given), columns=given).reading.columns
        == given
    )
    with pytest.raises(ParameterError, match=r"no row has 'vars\.question'"):
        recognise(build_rows({"contexts": texts}, given), columns=given)


def test_a_field_that_no_row_has_is_said_before_a_judge_is_asked():
    """One metric is judged, the other needs ids that no row has: nothing may be paid for."""
    asked = []

    class Counting(LexicalJudge):
        async def attribute(self, request):
            asked.append(request)
            return await super().attribute(request)

    data = {
        "reference": ["A b.", "C d."],
        "retrieved_contexts": [["A b."], ["x"]],
        "retrieved_context_ids": [["x"], ["y"]],
    }
    metrics = [ContextRecall(judge=Counting()), IDBasedContextRecall()]
    with pytest.raises(MissingFieldError, match="No sample has reference_context_ids"):
        score_table(pd.DataFrame(data), metrics)
    assert not asked
    scored = BatchScorer(metrics=metrics).score(pd.DataFrame(data))
    assert column(scored, "context_recall") == [1.0, 0.0], "a batch may lack what others have"
    assert len(asked) == 2


# ---- clusters, without one: what an engine is asked for ----

TEXTS = {"reference": ["A b."], "retrieved_contexts": [["A b."]]}


class FakeDataset:
    """What `score_table` uses of a Ray dataset."""

    __module__ = "ray.data.dataset"

    def __init__(self, data):
        self._table = pa.table(data)
        self.batch_size = None

    def schema(self):
        return self._table.schema

    def map_batches(self, score, *, batch_size, batch_format):
        assert batch_format == "pyarrow"
        self.batch_size = batch_size
        return score(self._table)


@pytest.mark.parametrize(
    ("data", "metrics", "options", "rows"),
    [
        (IDS, METRICS, {}, 1024),
        (IDS, METRICS, {"batch_size": 50}, 50),
        (TEXTS, [ContextRecall()], {}, 32),
        (TEXTS, [ContextRecall()], {"max_concurrency": 4}, 8),
        (TEXTS, [ContextRecall()], {"batch_size": 7}, 7),
        (TEXTS, [ContextRecall()], {"max_calls": 9}, 1024),
        (TEXTS, [ContextRecall()], {"requests_per_minute": 9}, 1024),
    ],
)
def test_batches_on_ray_are_as_large_as_their_cost_allows(data, metrics, options, rows):
    dataset = FakeDataset(data)
    score_table(dataset, metrics, **options)
    assert dataset.batch_size == rows


@pytest.mark.parametrize("size", [0, 1.5, "7"])
def test_a_size_of_batches_is_checked(size):
    with pytest.raises(ParameterError, match="score_table: batch_size"):
        score_table(FakeDataset(IDS), METRICS, batch_size=size)


def test_batches_of_spark_are_cut():
    (batch,) = pa.table(IDS).to_batches()
    scorer = BatchScorer(metrics=METRICS)
    parts = [*_score_partition(scorer, 2, iter([batch]))]
    assert [part.num_rows for part in parts] == [2, 1]
    whole = pa.Table.from_batches([*_score_partition(scorer, None, iter([batch]))])
    assert whole == pa.Table.from_batches(parts)


def test_a_key_that_stays_here_is_said_before_anything_is_sent(caplog, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    calls = []
    monkeypatch.setattr(FakeDataset, "map_batches", lambda *_, **__: calls.append([*caplog.messages]))
    here = OpenAIModel("m", api_key="sk-secret")
    for model in (here, OpenAIModel("m")):
        judge = LLMJudge(model)
        score_table(FakeDataset(TEXTS), [ContextRecall()], judge=judge, cache=tmp_path)
        score_table(FakeDataset(TEXTS), [ContextRecall(judge=judge)], cache=tmp_path)
    said = [[text for text in messages if "api_key=" in text] for messages in calls]
    assert list(map(len, said)) == [1, 2, 2, 2]
    assert "Each worker reads OPENAI_API_KEY" in said[0][0]
    assert "sk-" not in caplog.text


def test_what_a_dead_worker_costs_is_said(caplog, monkeypatch, tmp_path):
    monkeypatch.setattr(FakeDataset, "map_batches", lambda *_, **__: None)
    judge = LLMJudge(OpenAIModel("m", base_url="http://127.0.0.1:1/v1"))
    costs = "the rows of a batch (32) are judged and paid again if its worker dies"
    score_table(FakeDataset(TEXTS), [ContextRecall()])
    score_table(FakeDataset(TEXTS), [ContextRecall()], judge=judge, cache=tmp_path)
    assert costs not in caplog.text
    score_table(FakeDataset(TEXTS), [ContextRecall()], judge=judge)
    assert costs in caplog.text


# ---- other engines ----


class FakeRelation:
    """What Arrow's stream protocol needs; it can be read once, as a reader can."""

    def __init__(self, data):
        self._reader = pa.table(data).to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        reader, self._reader = self._reader, None
        return reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", [FakeRelation, lambda data: pa.table(data).to_reader()])
def test_an_arrow_stream_is_read_once(kind):
    scored = score_table(kind(IDS), METRICS)
    assert scored == score_table(pa.table(IDS), METRICS)


@pytest.mark.parametrize("kind", ["dataset", "scanner"])
def test_a_dataset_of_pyarrow_is_read_whole(kind):
    dataset = pytest.importorskip("pyarrow.dataset").dataset(pa.table(IDS))
    table = dataset.scanner() if kind == "scanner" else dataset
    assert score_table(table, METRICS) == score_table(pa.table(IDS), METRICS)


def test_a_lazy_frame_is_read_whole_or_scored_in_parts():
    frames = pytest.importorskip("polars", reason="polars is not installed")
    lazy = frames.DataFrame(IDS).lazy()
    assert score_table(lazy, METRICS).equals(score_table(lazy.collect(), METRICS))
    with pytest.raises(ParameterError, match=r"object .*BatchScorer\(metrics=METRICS\)\.score"):
        score_table(object(), METRICS)
    scorer = BatchScorer(metrics=METRICS)
    schema = {**lazy.collect_schema(), **dict.fromkeys(scorer.columns, frames.Float64)}
    schema |= {name: frames.String for name, kind in scorer.columns.items() if kind is str}
    scored = lazy.map_batches(scorer.score, schema=schema).collect()
    assert scored.equals(score_table(lazy.collect(), METRICS))


# Two questions, each asked of two retrievers; the useful passage is the second of bm25 for "a?", and the first elsewhere.
_PASSAGES = {
    ("a?", "bm25"): ["The lamp is red.", "The pump hums."],
    ("b?", "bm25"): ["The pump hums.", "The lamp is red."],
    ("a?", "dense"): ["The pump hums.", "The lamp is red."],
    ("b?", "dense"): ["The pump hums.", "The lamp is red."],
}
_SYSTEMS_AS_ROWS = [
    {"question": question, "ground_truth": "The pump hums.", "contexts": texts, "system": system}
    for (question, system), texts in _PASSAGES.items()
]
_SYSTEMS_AS_PASSAGES = [
    {**row, "contexts": text} for row in _SYSTEMS_AS_ROWS for text in row["contexts"]
]


def make_table(kind, rows):
    make, _ = kind
    return make({name: [row[name] for row in rows] for name in rows[0]})


@pytest.mark.parametrize(
    ("rows", "options", "values"),
    [
        (_SYSTEMS_AS_ROWS, {"only": {"system": "bm25"}}, [0.5, 1]),
        (_SYSTEMS_AS_ROWS, {"by": "system"}, [0.5, 1, 1, 1]),
        (_SYSTEMS_AS_ROWS[::-1], {"by": "system"}, [1, 1, 1, 0.5]),
        (_SYSTEMS_AS_PASSAGES, {"only": {"system": "bm25"}, "group_by": "question"}, [0.5, 1]),
        (_SYSTEMS_AS_PASSAGES, {"by": "system", "group_by": "question"}, [0.5, 1, 1, 1]),
    ],
)
def test_one_or_each_of_several_retrievals_is_scored(kind, rows, options, values):
    scored = score_table(make_table(kind, rows), [ContextPrecision()], **options)
    assert column(scored, "context_precision") == values


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "a question has several retrievals: 'system'"),
        ({"only": {"system": "sparse"}}, "no row has it. There is system: bm25, dense"),
        ({"by": "engine"}, "by=engine: row 1 has no value there"),
    ],
)
def test_several_retrievals_are_refused(kind, options, problem):
    with pytest.raises(CtxMetricsError, match=problem):
        score_table(make_table(kind, _SYSTEMS_AS_ROWS), [ContextPrecision()], **options)


def test_ids_that_differ_in_case_are_logged(kind, caplog):
    row = {"retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["D2"]}
    score_table(make_table(kind, [row]), [IDBasedContextRecall()])
    assert "in one case they would match: D2 and d2" in caplog.text


def test_by_and_only_of_the_wrong_kind_are_refused():
    table = pd.DataFrame({"retrieved_context_ids": [["a"]], "reference_context_ids": [["a"]]})
    for by in (5, ["topic"]):
        with pytest.raises(ParameterError, match="must be the name of a column"):
            score_table(table, ["id_based_context_recall"], by=by)
    with pytest.raises(ParameterError, match="must map columns to values"):
        score_table(table, ["id_based_context_recall"], only="topic")


def test_a_row_without_its_group_is_named_by_its_number():
    table = pd.DataFrame(
        {"q": ["a", "a"], "retrieved_context_ids": ["x", "y"], "reference_context_ids": [["x"], ["x"]]}
    )
    with pytest.raises(ParameterError, match=r"row 1: --group-by topic: the row has no value there"):
        score_table(table, ["id_based_context_recall"], group_by="topic")


def test_a_date_that_polars_cannot_convert_names_its_column() -> None:
    pytest.importorskip("polars")
    ids = {"retrieved_context_ids": [["a"]], "reference_context_ids": [["a"]]}
    table = pl.DataFrame(ids).with_columns(day=pl.Series([10**18]).cast(pl.Datetime("ms")))
    with pytest.raises(ParameterError, match="column 'day' cannot be read"):
        score_table(table, [IDBasedContextRecall()])
