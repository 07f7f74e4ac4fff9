"""The name that a misspelt one stands for, and none where none is near."""

import pytest

from ctxmetrics._internal.near_names import find_near, suggest, suggest_file

NAMES = ["context_recall", "top_k", "ragas_v1", "max-concurrency", "p", "ids"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("context_recal", "context_recall"),
        ("Context Recall", "context_recall"),
        ("topk", "top_k"),
        ("max_concurency", "max-concurrency"),
        ("ragas-v1", "ragas_v1"),
        ("ground_truth", None),
        ("recall", None),
        ("", None),
        ("--", None),
        ("я", None),
    ],
)
def test_only_near_names_are_suggested(name, near):
    assert find_near(name, NAMES) == near
    assert suggest(name, NAMES) == ("" if near is None else f" Did you mean {near!r}?")


def test_a_file_is_suggested_by_its_stem(tmp_path):
    for name in ("samples.jsonl", "answers.jsonl"):
        (tmp_path / name).touch()
    meant = f" Did you mean '{tmp_path / 'samples.jsonl'}'?"
    assert suggest_file(tmp_path / "sample.jsonl") == meant
    assert suggest_file(tmp_path / "samples.csv") == meant
    for absent in ("labels.jsonl", "other.jsonl", "elsewhere/samples.jsonl"):
        assert suggest_file(tmp_path / absent) == " Check the path."
    assert suggest_file(tmp_path / "samples.jsonl") == " Check the path."  # it is there
