"""Rows in memory with a huge integer, or with data that is nested too deeply: the row and the field are named."""

from __future__ import annotations

import pytest

from ctxmetrics import ContextRecall, IDBasedContextRecall, evaluate, score_table
from ctxmetrics.errors import SampleError

HUGE = 10**49_999
ROW = {"user_input": "Which?", "retrieved_context_ids": [1, 2], "reference_context_ids": [1]}
FIELDS = {
    "id": HUGE,
    "retrieved_context_ids": [1, HUGE],
    "reference_context_ids": HUGE,
    "metadata": {"run": HUGE},
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_list_of_rows(field):
    rows = [ROW, {**ROW, field: FIELDS[field]}]
    with pytest.raises(SampleError, match=f"field '{field}'.* an integer of thousands of digits"):
        evaluate(rows, [IDBasedContextRecall()], progress=False)


def test_a_stream_of_rows():
    rows = iter([{**ROW, "retrieved_context_ids": [1, HUGE]}])
    with pytest.raises(SampleError, match="an integer of thousands of digits"):
        evaluate(rows, [IDBasedContextRecall()], progress=False)


@pytest.mark.parametrize("field", FIELDS)
def test_a_table(field):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([ROW, {**ROW, field: FIELDS[field]}], dtype=object)
    with pytest.raises(SampleError, match=f"row 2: field '{field}' holds an integer of thousands of"):
        score_table(table, [IDBasedContextRecall()])


def test_the_score_of_a_document_may_be_huge():
    documents = [{"text": "It is red.", "score": HUGE}, {"text": "It is blue.", "score": 1}]
    rows = [{"reference": "It is red.", "retrieved_contexts": documents}]
    assert evaluate(rows, [ContextRecall()], progress=False)[0]["context_recall"].value == 1.0


def test_another_error_stays_as_it_is():
    class Broken:
        def __str__(self):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        evaluate([{**ROW, "id": Broken()}, {**ROW, "user_input": Broken()}], [IDBasedContextRecall()])


def nest(depth: int) -> list:
    """Return a list in a list, and so on."""
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


LOOP: list = []
LOOP += [LOOP, LOOP]
TEXT_ROW = {"user_input": "What?", "reference": "Cats purr.", "retrieved_contexts": ["Cats purr."]}
DEEP = [LOOP, [{"content": nest(3000)}]]


@pytest.mark.parametrize("value", DEEP, ids=["loop", "deep"])
def test_a_deep_value_is_named_in_a_list_of_rows(value):
    rows = [TEXT_ROW, {**TEXT_ROW, "retrieved_contexts": value}]
    with pytest.raises(SampleError, match="Sample 2: field 'retrieved_contexts' is nested too deeply"):
        evaluate(rows, [ContextRecall()], progress=False)


def test_a_deep_question_is_named():
    question: dict = {}
    for _ in range(2000):
        question = {"a": question}
    with pytest.raises(SampleError, match="Sample 2: field 'user_input' is nested too deeply"):
        evaluate([TEXT_ROW, {**TEXT_ROW, "user_input": question}], [ContextRecall()], progress=False)


def test_a_deep_value_is_named_in_a_stream():
    rows = iter([TEXT_ROW, {**TEXT_ROW, "id": nest(3000)}])
    with pytest.raises(SampleError, match="Sample 2: field 'id' is nested too deeply"):
        evaluate(rows, [ContextRecall()], progress=False)


@pytest.mark.parametrize("value", DEEP, ids=["loop", "deep"])
def test_a_deep_value_is_named_in_a_table(value):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([TEXT_ROW, {**TEXT_ROW, "retrieved_contexts": value}])
    with pytest.raises(SampleError, match="row 2: field 'retrieved_contexts' is nested too deeply"):
        score_table(table, [ContextRecall()])
