"""Several acceptable answers of one question: each is judged, and the highest value counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    Sample,
    evaluate,
    read_samples,
)
from ctxmetrics.errors import MissingFieldError, SampleError
from support.command import run_command

if TYPE_CHECKING:
    from pathlib import Path

HALF = "The pump hums. It costs 20 euros."
WHOLE = "The pump hums."
CONTEXTS = ["It is blue.", "The pump hums."]


def sample(*references: str, **more: Any) -> Sample:
    return Sample(references=references, retrieved_contexts=CONTEXTS, **more)


def test_the_highest_value_counts_and_the_score_says_whose_it_is() -> None:
    (row,) = evaluate(
        [sample(HALF, WHOLE, WHOLE)], [ContextRecall(), ContextPrecision()], progress=False
    )
    recall = row["context_recall"]
    assert (recall.value, row["context_precision"].value) == (1.0, 0.5)
    assert recall.metadata["reference_number"] == 2
    assert recall.metadata["reference_values"] == [0.5, 1.0, 1.0]
    assert "the value is that of reference 2 of 3" in recall.pretty()
    assert [verdict.text for verdict in recall.verdicts] == [WHOLE]


def test_a_list_is_a_list_of_texts_and_stands_alone() -> None:
    assert sample(HALF, WHOLE).to_dict() == {
        "references": [HALF, WHOLE],
        "retrieved_contexts": CONTEXTS,
    }
    for fields, message in (
        ({"references": WHOLE}, "field 'references' must be a list, not one string"),
        ({"references": [WHOLE, 5]}, "field 'references', item 2 must be a string, not int"),
        ({"references": [WHOLE], "reference": WHOLE}, "'references' stands beside 'reference'"),
    ):
        with pytest.raises(SampleError, match=message):
            Sample(**fields)


def test_facts_and_the_response_are_read_as_before() -> None:
    given = sample(HALF, response=WHOLE, reference_facts=[WHOLE])
    assert ContextRecall(unit="fact").score(given).value == 1.0
    assert ContextUtilization().score(given).metadata == {}
    with pytest.raises(MissingFieldError, match="no reference"):
        ContextRecall().score(Sample(retrieved_contexts=CONTEXTS))


def test_an_empty_response_that_has_a_value_is_called_one() -> None:
    """DeepEval's value of an empty side is 0; the reference is none of its fields."""
    empty = Sample(response=" - ", reference=WHOLE, retrieved_contexts=CONTEXTS)
    score = ContextUtilization(convention="deepeval").score(empty)
    assert (score.value, score.message) == (0.0, "the response is empty")


def test_the_scale_of_a_convention_is_the_highest_value() -> None:
    score = ContextRecall(convention="aegis").score(sample(HALF, WHOLE))
    assert (score.value, score.metadata["reference_number"]) == (100.0, 2)


def test_a_file_has_them_as_a_list(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    row = {"question": "q", "contexts": CONTEXTS, "ground_truths": [HALF, WHOLE]}
    path.write_text(json.dumps(row))
    done = run_command("score", path)
    assert (done.returncode, "--map ground_truths=references" in done.stderr) == (2, True)
    (read,) = read_samples(path, columns={"ground_truths": "references"})
    assert read.references == (HALF, WHOLE)
    done = run_command("score", path, "--map", "ground_truths=references")
    assert "context_recall     1.0000" in done.stdout
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps([{"question": "q", "references": [HALF, WHOLE]}]))
    path.write_text(json.dumps({"question": "q", "contexts": CONTEXTS}))
    (read,) = read_samples(path, references=gold)
    assert read.references == (HALF, WHOLE)
