"""How the keys of rows are read is decided once; a row is read the same whatever was read before it."""

from __future__ import annotations

import math
import random
import sys
from types import MappingProxyType

import pytest

from ctxmetrics import IDBasedContextPrecision, IDBasedContextRecall, IDBasedNDCG, Sample, evaluate
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.reading import ID_KEYS, SCHEMAS, ids_of, recognise, relevant, span_of, text_of
from ctxmetrics.reading.formats import find_ties
from ctxmetrics.reading.pictures import in_value
from ctxmetrics.reading.rows import Reading
from ctxmetrics.running import batches

VALUES = {
    "id": ["a", 7, None, ""],
    "user_input": ["Why?", "", None, 3, ["x"], {"text": "Why?"}],
    "question": ["Why?", "How?"],
    "reference": ["It is.", None, ["It is."], ["a", "b"], 4],
    "references": [["It is.", "Yes."], "It is."],
    "ground_truth": ["It is.", "No."],
    "response": ["So.", '{"a": 1}', "[1]"],
    "retrieved_contexts": [
        ["a b", "c"],
        [],
        "a b",
        '["a", "b"]',
        [{"page_content": "a", "id": "d1"}],
        ["page_content='x y' metadata={}"],
        [["a", "b"]],
        None,
        {"search": ["a"]},
    ],
    "contexts": [["a b"], ["c"]],
    "retrieved_context_ids": [["d1", "d2"], [1, 2], [], "d1", None, ["d1", None]],
    "reference_context_ids": [["d1"], ["d1", "d9"], "d1 d2"],
    "reference_contexts": [["a"], [{"text": "a", "relevance": 0}]],
    "context": ["a b", ["a"], {"page_content": "a"}],
    "labels": [
        {"unit_supported": [True]},
        {"unit_supported": [False, None]},
        {"unit_supported": []},
        {"relevance": {"d1": 2}},
        {"unanswerable": True},
        {},
        None,
        "x",
    ],
    "stages": [
        {"search": ["a b"], "rerank": []},
        {"search": ["a", "b"], "rerank": ["a"]},
        {"search": ["page_content='x y' metadata={}"], "rerank": ["a"]},
        {"search": {"ids": ["d1"]}},
        {"search": {"contexts": ["a"], "ids": [1]}},
        {"search": [{"page_content": "a"}]},
        {"search": None},
        ["a"],
    ],
    "metadata": [
        {"topic": "x"},
        {"retrieved_context_ids": ["d1"]},
        {"retrieved_context_ids": None},
        {},
        "x",
    ],
    "topic": ["x", 1, 1.5, math.nan, None, True, {"a": 1}, ["x"]],
    "inputs": [{"question": "Why?"}, {"x": 1}, "x"],
    "outputs": [{"answer": "So."}, {"documents": ["a"]}, {}],
    "is_impossible": [True, False, "true"],
    "user_inputt": ["Why?"],
    "retrieved_contexts.search": [["a"]],
}


def read(reading: Reading, row: dict[str, object]) -> object:
    try:
        return repr(reading.row(row))
    except CtxMetricsError as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("written", [False, True])
def test_rows_before_change_nothing(name, written):
    draw = random.Random(f"{name} {written}")
    options = [
        {"name": name, "written": written},
        {"name": name, "written": written, "absent": frozenset({"stages", "references"})},
        {"name": name, "written": written, "columns": {"topic": "reference"}},
        {"name": name, "written": written, "columns": {"metadata.topic": "reference"}},
    ]
    for option in options:
        reading = Reading(**option)
        for _ in range(12):
            keys = draw.sample([*VALUES], draw.randint(1, 4))
            for _ in range(12):
                row = {key: draw.choice(VALUES[key]) for key in keys}
                assert read(reading, row) == read(Reading(**option), row), row


DOCUMENTS = [
    {"page_content": "a b", "metadata": {"source": "s1"}},
    {"page_content": "a b", "metadata": {"source": "s1", "start_index": 4}},
    {"page_content": "a b", "metadata": {"score": 0.5, "certainty": None}, "id": "d1"},
    {"id": "d1", "text": "a b", "score": 0.5},
    {"id": "d2", "text": "c", "score": 0.5},
    {"id": "d3", "text": "c", "score": math.nan},
    {"id": 4, "text": "c", "score": True},
    {"id": True, "text": "c", "score": "0.5"},
    {"id": None, "doc_id": "d5", "text": None, "content": "c", "_score": 1},
    {"content": "a b", "meta": {"page": 1, "split_idx_start": 3}, "id": "d1"},
    {"content": "a b", "meta": {"file_path": "f", "split_idx_start": 3}, "id": "d1"},
    {"content": ["a", "b"], "id": "d1"},
    {"content": [{"type": "image_url"}], "id": "d1"},
    {"content": [{"type": "text", "text": "a"}], "id": "d1"},
    {"content": {"text": "a"}, "metadata.score": 0.5, "_additional": {"id": "x", "distance": 1}},
    {"type": "image", "text": " "},
    {"media_type": "image/png", "data": "x"},
    {"text": b"a"},
    {"text": "a b", "relevance": 0, "id": "d1"},
    {"text": "a b", "relevance": 2, "rank": 1},
    {"payload": {"text": "a b"}, "id": 1, "score": 0.25},
    {"kwargs": {"page_content": "a b"}, "type": "constructor", "span": [0, 3], "source": "s"},
    {"document": {"id": "d9", "content": "a"}, "@search.score": 0.5},
    {"node": {"text": "a", "start_char_idx": 0, "end_char_idx": 1, "ref_doc_id": "r"}, "score": 0.5},
    {"role": "user", "content": "Why?"},
    {"role": "tool", "name": "search", "content": "a b"},
    {"id": "d1"},
    {"score": 0.5},
    {1: "a", None: "b"},
    {},
]
CELLS = [*DOCUMENTS, "a b", "page_content='x y' metadata={}", 3, None, ({"text": "a"}, 0.5), ["a"]]


def read_all(reading: Reading, row: dict[str, object], caplog) -> tuple[object, ...]:
    """Return the fields of a row, its sample and what was logged; errors in place of what is none."""
    caplog.clear()
    fields = read(reading, row)
    try:
        sample = repr(Sample.read(row, reading, where="line 7"))
    except CtxMetricsError as error:
        sample = f"{type(error)} {error}"
    return fields, sample, [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    "columns", [{}, {"docs": "retrieved_contexts"}, {"docs[].id": "retrieved_context_ids"}]
)
def test_documents_before_change_nothing(columns, written, caplog):
    draw = random.Random(f"{columns} {written}")
    places = ["retrieved_contexts", "contexts", "reference_contexts", "docs", "items", "messages"]
    others = {
        "id": ["q1", 7],
        "user_input": ["Why?"],
        "reference": ["It is."],
        "retrieved_context_ids": [["d1"], ["d1", "d2"]],
        "reference_context_ids": [["d1"], ["s#char=0,3"]],
        "stages": [{"search": ["a"]}, {"search": "['a"}],
        "metadata": [{"tied_ids": 1, "topic": "x"}],
        "topic": ["x"],
    }
    option = {
        "name": "ragas",
        "written": written,
        "columns": columns,
        "usable": frozenset({"retrieved_contexts", "reference_contexts", "retrieved_context_ids"}),
        "absent": frozenset({"references"}),
    }
    reading = Reading(**option)
    for _ in range(100):
        keys = draw.sample(places, draw.randint(1, 2)), draw.sample([*others], draw.randint(0, 3))
        for _ in range(6):
            row: dict[str, object] = {key: draw.choice(others[key]) for key in keys[1]}
            for key in keys[0]:
                cells = draw.choice([DOCUMENTS, DOCUMENTS, DOCUMENTS[2:6], CELLS])
                row[key] = draw.choices(cells, k=draw.randint(1, 3))
            assert read_all(reading, row, caplog) == read_all(Reading(**option), row, caplog), row
    assert any(plan.has_documents for plan in reading._plans.values())


@pytest.mark.parametrize("document", DOCUMENTS, ids=repr)
def test_dicts_are_read_as_other_mappings(document):
    other = MappingProxyType(document)
    assert repr(text_of(document)) == repr(text_of(other))
    assert ids_of([document]) == ids_of([other])
    assert ids_of([document], spans=True) == ids_of([other], spans=True)
    assert span_of(document) == span_of(other)
    assert relevant("reference_contexts", [document]) == [document] * len(
        relevant("reference_contexts", [other])
    )
    assert in_value(document) == in_value(other)
    for last in DOCUMENTS:
        pair = [MappingProxyType(item) for item in (document, last)]
        assert find_ties([document, last], ID_KEYS) == find_ties(pair, ID_KEYS)


def count_calls(monkeypatch, name: str) -> list[object]:
    calls: list[object] = []
    original = getattr(Reading, name)

    def counting(self, *values):
        calls.append(values)
        return original(self, *values)

    monkeypatch.setattr(Reading, name, counting)
    return calls


@pytest.mark.parametrize(
    "row",
    [
        {"retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d1"]},
        {"user_input": "Why?", "reference": "So.", "retrieved_contexts": ["a"], "topic": "x", "n": 1.5},
        {"question": "Why?", "ground_truth": "So.", "contexts": ["a"], "metadata": {"topic": "x"}},
    ],
)
def test_keys_are_looked_at_once(row, monkeypatch):
    rows = [{"id": f"q{number}", **row} for number in range(50)]
    reading = recognise(rows, written=False)
    calls = count_calls(monkeypatch, "every_spot")
    samples = [Sample.read(row, reading) for row in rows]
    assert len(calls) == 1
    assert samples == [Sample.read(row, recognise(rows, written=False)) for row in rows]


@pytest.mark.parametrize("key", ["retrieved_contexts", "contexts", "documents"])
@pytest.mark.parametrize(
    "documents",
    [
        [{"page_content": "a b", "metadata": {"source": "s"}}] * 5,
        [{"id": f"d{rank}", "text": "a b", "score": 1 / rank} for rank in range(1, 6)],
        [{"content": "a b", "meta": {"page": 1}, "id": f"d{rank}"} for rank in range(1, 6)],
    ],
)
def test_keys_beside_documents_are_looked_at_once(documents, key, monkeypatch):
    rows = [{"id": f"q{number}", "user_input": "Why?", key: documents} for number in range(50)]
    reading = recognise(rows, written=False)
    places = count_calls(monkeypatch, "every_spot")
    calls: list[str] = []

    def count(frame, event, _):
        if event == "call":
            calls.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(count)
    samples = [Sample.read(row, reading) for row in rows]
    sys.setprofile(before)
    assert len(places) == 1
    assert len(calls) < 280 * len(rows)  # each row with its keys takes 700 and more
    assert samples == [Sample.read(row, recognise(rows, written=False)) for row in rows]


def test_from_dict_looks_at_keys_once(monkeypatch):
    calls = count_calls(monkeypatch, "every_spot")
    rows = [{"id": f"q{n}", "reference": "So.", "only_of_this_test": n} for n in range(1, 51)]
    assert [Sample.from_dict(row).metadata["only_of_this_test"] for row in rows] == [*range(1, 51)]
    assert len(calls) == 1


def test_many_sets_of_keys_leave_room_for_the_next(monkeypatch):
    for number in range(200):
        Sample.from_dict({"reference": "So.", f"key_{number}": number})
    calls = count_calls(monkeypatch, "every_spot")
    for _ in range(50):
        assert Sample.from_dict({"reference": "So.", "key_of_the_last": 1}).reference == "So."
    assert len(calls) == 1


def test_lists_as_text_are_read_by_column(monkeypatch):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    from ctxmetrics import score_table

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
    from ctxmetrics import score_table

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
