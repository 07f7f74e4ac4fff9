"""What holes and questions without results do to the means, by ids and by texts."""

from __future__ import annotations

from typing import Any

import pytest

from ctxmetrics import check_gold

NUMBERS = range(3)


def make_samples(*, with_ids: bool) -> list[dict[str, Any]]:
    """Make samples of which one passage is retrieved, useful and not gold."""
    samples: list[dict[str, Any]] = []
    for number in NUMBERS:
        sample: dict[str, Any] = {
            "id": f"q{number}",
            "user_input": f"How long is the pump guaranteed {number}?",
            "reference": f"The pump number {number} is guaranteed for three years.",
            "reference_contexts": ["Rinse the filter monthly with water and Soap."],
            "retrieved_contexts": [f"The pump number {number} is guaranteed for THREE years. Really."],
        }
        if with_ids:
            sample["reference_context_ids"] = [f"g{number}"]
            sample["retrieved_context_ids"] = [f"r{number}"]
        samples.append(sample)
    return samples


@pytest.mark.parametrize("run_ids", [False, True])
def test_holes_are_counted_by_texts(*, run_ids: bool) -> None:
    samples = make_samples(with_ids=False)
    for number, sample in enumerate(samples):
        if run_ids:
            sample["retrieved_context_ids"] = [f"r{number}"]
    (bounds,) = check_gold(samples, progress=False).holes
    assert (bounds.holes, bounds.recall, bounds.recall_with_holes) == (3, 0.0, 0.5)


def test_holes_are_counted_by_ids() -> None:
    report = check_gold(make_samples(with_ids=True), progress=False)
    (bounds,) = report.holes
    assert (bounds.holes, bounds.precision_with_holes) == (3, 1.0)
    assert {finding.items for finding in report.findings if finding.code == "hole"} == {
        ("r0",),
        ("r1",),
        ("r2",),
    }


def test_hole_without_an_id_is_counted_beside_ids() -> None:
    samples = make_samples(with_ids=True)
    for sample in samples:
        sample["retrieved_contexts"].insert(0, "The ladder is in the cellar.")
        sample["retrieved_context_ids"] = ["ladder", ""]
    (bounds,) = check_gold(samples, progress=False).holes
    assert (bounds.holes, bounds.precision_with_holes) == (3, 0.5)


def make_gold(form: str) -> list[dict[str, Any]]:
    golds: dict[str, Any] = {"reference_context_ids": ["a"], "reference_contexts": ["red"]}
    return [{"id": f"{number}", "user_input": f"{number}?", form: golds[form]} for number in NUMBERS]


def make_run(**fields: Any) -> list[dict[str, Any]]:
    return [{"id": f"{number}", "user_input": f"{number}?", **fields} for number in NUMBERS]


OTHER_FORMS = [
    ("reference_context_ids", {"retrieved_contexts": ["red"]}, "ids"),
    ("reference_context_ids", {"retrieved_contexts": ["red"], "retrieved_context_ids": [""]}, "ids"),
    ("reference_contexts", {"retrieved_context_ids": ["a"]}, "texts"),
]


@pytest.mark.parametrize(("gold", "fields", "form"), OTHER_FORMS)
def test_run_in_another_form_is_not_compared(gold: str, fields: dict[str, Any], form: str) -> None:
    runs = {"bm25": make_run(**fields)}
    report = check_gold(make_gold(gold), runs=runs, progress=False)
    assert report.holes == ()
    assert report.deciding is None
    notes = [note for note in report.notes if note.startswith("bm25: ")]
    expected = f"bm25: 3 questions not compared: the gold has {form}, and the run has none for them"
    assert notes == [expected]


EMPTY = [
    {"retrieved_context_ids": []},
    {"retrieved_contexts": []},
    {"retrieved_contexts": [], "retrieved_context_ids": []},
]


@pytest.mark.parametrize("gold", ["reference_context_ids", "reference_contexts"])
@pytest.mark.parametrize("fields", EMPTY)
def test_question_without_results_has_recall_0(gold: str, fields: dict[str, Any]) -> None:
    run = make_run(**fields)
    run[0] |= {"retrieved_contexts": ["red"], "retrieved_context_ids": ["a"]}
    report = check_gold(make_gold(gold), runs={"bm25": run}, progress=False)
    (bounds,) = report.holes
    assert (bounds.questions, bounds.recall, bounds.precision) == (3, 1 / 3, 1 / 3)
    assert bounds.judged == 1.0  # of the one that has results
    assert report.deciding is not None
    assert (report.deciding.questions, report.deciding.all_wrong) == (3, 2)
    assert not [note for note in report.notes if note.startswith("bm25")]


def test_run_without_any_result_says_so() -> None:
    runs = {"bm25": make_run(retrieved_context_ids=[])}
    (bounds,) = check_gold(make_gold("reference_context_ids"), runs=runs, progress=False).holes
    assert (bounds.recall, bounds.judged) == (0.0, None)
    assert "nothing retrieved" in str(bounds)
