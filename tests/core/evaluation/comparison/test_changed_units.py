"""What two rows of one sample have in common: their question, their contexts, their verdicts."""

from __future__ import annotations

import pytest

from ctxmetrics.evaluation.comparison.changed_units import compare_verdicts, has_same_contexts
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.verdicts import Verdict


def row(record: dict[str, object] | None) -> Row:
    return Row(0, None, "a", (), record)


RECORD = {"hash": "question 1", "context_hashes": ["h1", "h2"], "stages_key": "k1"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"hash": "question 2"}, False),
        ({"context_hashes": ["h2", "h1"]}, False),
        ({"context_hashes": ["h1"]}, False),
        ({"stages_key": "k2"}, False),
        ({"context_hashes": None, "key": "k"}, None),
    ],
)
def test_the_same_contexts_of_the_same_question(
    change: dict[str, object], expected: bool | None
) -> None:
    assert has_same_contexts(row(RECORD), row({**RECORD, **change})) is expected


def test_without_the_hash_of_the_question_nothing_is_known() -> None:
    unknown = {**RECORD, "hash": None}
    assert has_same_contexts(row(unknown), row(RECORD)) is None
    assert has_same_contexts(row(None), row(RECORD)) is None


def test_only_verdicts_that_both_runs_have_are_compared() -> None:
    before = [
        Verdict(id="s1", value=True, text="one"),
        Verdict(id="s2", value=True, text="two"),
        Verdict(id="s3", value=None, text="three"),
        Verdict(id="s4", value=False, text="four"),
        Verdict(id="s5", value=True, text="five"),
    ]
    after = [
        Verdict(id="s1", value=True, text="one"),
        Verdict(id="s2", value=False, text="two"),
        Verdict(id="s3", value=True, text="three"),
        Verdict(id="s4", value=False, text="another text"),
    ]
    assert compare_verdicts(before, after) == (2, 1)
