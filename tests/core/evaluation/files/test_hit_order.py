"""Ranks, scores and distances of hits decide their order, or leave it and say so; `orders.json` holds the systems' forms."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    IDBasedContextRecall,
    IDBasedReciprocalRank,
    Sample,
    evaluate,
    read_samples,
    score_table,
)
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.evaluation.files.recognition import recognise
from support.command import run_command

if TYPE_CHECKING:
    from pathlib import Path

RISING = [{"id": "b", "text": "Text b.", "score": 0.2}, {"id": "a", "text": "Text a.", "score": 0.9}]
ROW = {"user_input": "Which?", "retrieved_contexts": RISING, "reference_context_ids": ["a"]}


def ids_in(row: dict[str, Any], **options: Any) -> tuple[str, ...] | None:
    return Sample.from_dict(row, **options).retrieved_context_ids


def test_from_dict_orders_by_score_and_says_so() -> None:
    sample = Sample.from_dict(ROW)
    assert sample.retrieved_context_ids == ("a", "b")
    assert sample.retrieved_contexts == ("Text a.", "Text b.")
    assert sample.metadata == {"ordered_by": "score (highest first)"}
    (note,) = IDBasedReciprocalRank().score(sample).metadata["notes"]
    assert note == "in the order of score (highest first), which the list does not have"


def test_from_dict_takes_the_option() -> None:
    assert ids_in(ROW, order="given") == ("b", "a")
    assert ids_in(ROW, order="score") == ("a", "b")
    with pytest.raises(CtxMetricsError, match="no rank stands with them"):
        Sample.from_dict(ROW, order="rank")
    with pytest.raises(ParameterError, match="Choose from: given, rank, score"):
        Sample.from_dict(ROW, order="best")  # type: ignore[arg-type]  # no such order


def test_a_sample_is_stored_in_the_order_of_its_list() -> None:
    assert Sample(retrieved_contexts=RISING).retrieved_context_ids == ("b", "a")


def test_rows_of_one_form_are_all_ordered() -> None:
    plan = recognise([ROW, ROW], parses_texts=False)
    for _ in range(3):
        values, _ = plan.apply(ROW)
        assert values["retrieved_context_ids"] == ["a", "b"]


def test_lists_beside_plain_texts_order_every_row() -> None:
    rows = [
        {"user_input": f"q{n}", "retrieved_contexts": ["one", "two"], "scores": [0.1, 0.1 * n]}
        for n in range(4)
    ]
    plan = recognise(rows, parses_texts=False)
    orders = [plan.apply(row)[0]["retrieved_contexts"] for row in rows]
    assert orders == [["one", "two"], ["one", "two"], ["two", "one"], ["two", "one"]]


def test_objects_of_libraries_have_scores_too() -> None:
    nodes = [SimpleNamespace(text=item["text"], id=item["id"], score=item["score"]) for item in RISING]
    assert ids_in({"retrieved_contexts": nodes}) == ("a", "b")
    pairs = [(SimpleNamespace(page_content="x", id=id_), score) for id_, score in (("b", 1), ("a", 2))]
    sample = Sample.from_dict({"retrieved_contexts": pairs})
    assert sample.retrieved_context_ids == ("b", "a")
    assert "the number beside a document" in sample.metadata["order_unclear"]


def test_ids_that_are_no_pairs_keep_their_order() -> None:
    row = {"retrieved_contexts": RISING, "retrieved_context_ids": ["x", "y", "z"]}
    sample = Sample.from_dict(row)
    assert sample.retrieved_contexts == ("Text a.", "Text b.")
    assert sample.retrieved_context_ids == ("x", "y", "z")


def test_texts_and_ids_with_scores_that_differ_are_left() -> None:
    row = {
        "retrieved_contexts": [{"text": "one", "score": 0.1}, {"text": "two", "score": 0.2}],
        "retrieved_context_ids": [{"id": "1", "rank": 3}, {"id": "2", "rank": 2}],
    }
    assert ids_in(row) == ("2", "1")
    three = {
        "retrieved_contexts": [{"text": text, "score": score} for text, score in zip("abc", (1, 3, 2.5), strict=True)],
        "retrieved_context_ids": [{"id": id_, "score": score} for id_, score in zip("abc", (3, 1.5, 9), strict=True)],
    }  # fmt: skip
    assert ids_in(three) == ("a", "b", "c")
    assert Sample.from_dict(three).metadata["order_unclear"].endswith("(they differ)")


def test_equal_scores_of_a_list_beside_are_ties() -> None:
    row = {
        "user_input": "q",
        "retrieved_context_ids": ["c", "b", "a"],
        "scores": [0.1, 0.9, 0.9],
        "reference_context_ids": ["a"],
    }
    (result,) = evaluate([row], [IDBasedReciprocalRank()], progress=False)
    assert result["id_based_reciprocal_rank"].value == 0.5
    assert result["id_based_reciprocal_rank"].metadata["tie_range"] == (0.5, 1.0)


def test_stages_and_searches_are_ordered() -> None:
    row = {"user_input": "q", "stages": {"search": RISING, "prompt": RISING[:1]}}
    sample = Sample.from_dict(row)
    assert sample.stages is not None
    assert sample.stages["search"].ids == ("a", "b")
    assert sample.metadata["ordered_by"] == "score (highest first)"
    sample = Sample.from_dict({"user_input": "q", "searches": [{"query": "x", "contexts": RISING}]})
    assert sample.retrieved_context_ids == ("a", "b")


def test_scores_of_an_earlier_stage_say_nothing_of_the_next() -> None:
    row = {"user_input": "q", "stages": {"search": RISING[::-1], "rerank": RISING}}
    sample = Sample.from_dict(row)
    assert sample.retrieved_context_ids == ("b", "a")
    assert sample.metadata == {}


def test_a_trace_keeps_the_order_of_its_retriever(tmp_path: Path) -> None:
    span = {
        "context": {"trace_id": "t", "span_id": "s"},
        "attributes.openinference.span.kind": "RETRIEVER",
        "attributes.input.value": "Which?",
        "attributes.retrieval.documents": [
            {
                "document.id": item["id"],
                "document.content": item["text"],
                "document.score": item["score"],
            }
            for item in RISING
        ],
    }
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps(span))
    assert [sample.retrieved_context_ids for sample in read_samples(path)] == [("b", "a")]
    asked = read_samples(path, order="score")
    assert [sample.retrieved_context_ids for sample in asked] == [("a", "b")]


def test_the_command_says_what_changed_an_order(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW))
    done = run_command("score", path, "-m", "id_based_reciprocal_rank")
    text = " ".join(done.stdout.split())
    assert (
        "retrieved in the order of score (highest first), which the list does not have, in 1 sample"
        in text
    )
    assert "id_based_reciprocal_rank 1.0000" in text
    assert "in the order of score" in run_command("inspect", path).stdout
    given = run_command("inspect", path, "--order", "given").stdout
    assert "in the order of score" not in given
    assert "--order given" in given


def test_a_table_logs_what_changed_an_order(caplog: pytest.LogCaptureFixture) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    rows = [{**ROW, "id": f"q{n}"} for n in range(3)]
    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        table = score_table(pandas.DataFrame(rows), [IDBasedReciprocalRank(), IDBasedContextRecall()])
    assert [*table["id_based_reciprocal_rank"]] == [1, 1, 1]
    assert (
        "in the order of score (highest first), which the list does not have, in 3 samples"
        in caplog.text
    )


def test_a_table_logs_what_may_separate_passages(caplog: pytest.LogCaptureFixture) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    joined = "The lamp in the hall is red.\nThe pump stands in the cellar."
    rows = [
        {"user_input": f"Where {n}?", "reference": "In the cellar.", "retrieved_contexts": [joined]}
        for n in (1, 2)
    ]
    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        score_table(pandas.DataFrame(rows), [ContextPrecision()])
    assert "2 of 2 samples have one context, with line breaks in it" in caplog.text


def test_numbered_ranks_in_another_language_order_every_row() -> None:
    row = {"reference": "a", "retrieved_contexts": ["Text b.", "Text a."], "Rang 1": 2, "Rang 2": 1}
    plan = recognise([row, row], parses_texts=False)
    for _ in range(3):
        values, _ = plan.apply(row)
        assert values["retrieved_contexts"] == ["Text a.", "Text b."]


@pytest.mark.parametrize("first", [0, 1])
def test_scores_by_the_places_of_the_texts_order_them(first: int) -> None:
    scores = {str(first): 0.2, str(first + 1): 0.9}
    row = {"reference": "a", "retrieved_contexts": ["Text b.", "Text a."], "retrieved_scores": scores}
    assert Sample.from_dict(row).retrieved_contexts == ("Text a.", "Text b.")


def test_numbers_of_as_many_objects_as_texts_are_unclear() -> None:
    objects = [{"id": "1", "score": 0.2}, {"id": "2", "score": 0.9}]
    row = {"reference": "a", "retrieved_contexts": ["Text b.", "Text a."], "found": objects}
    sample = Sample.from_dict(row)
    assert sample.retrieved_contexts == ("Text b.", "Text a.")
    assert str(sample.metadata["order_unclear"]).startswith("found[]")
    assert "order_unclear" not in Sample.from_dict({**row, "found": objects[:1]}).metadata
