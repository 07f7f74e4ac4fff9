"""How the keys of rows are read is decided once; a row is read the same whatever was read before it."""

from __future__ import annotations

import math
import random

import pytest

from ctxmetrics import IDBasedContextPrecision, IDBasedContextRecall, IDBasedNDCG, Sample, evaluate
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.reading import SCHEMAS, recognise
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
