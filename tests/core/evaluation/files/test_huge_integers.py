"""Rows in memory with an integer that Python refuses to write as a text: the row and the field are named."""

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
