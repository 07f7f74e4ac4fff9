"""What a framework's metric takes from the core metric it holds."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import metrics
from ctxmetrics.adapting.metric import Wrapper
from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path


class Base:
    """A framework's own base class, with equality and a hash of its own."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the core metric decides")

    __hash__ = None  # type: ignore[assignment]  # as a dataclass has it


class Recall(Wrapper, Base):
    core_class = metrics.NonLLMContextRecall
    renamed = {"threshold": "min_similarity=0.5"}  # noqa: RUF012 - a class attribute is what it is

    def __init__(self, *positional: Any, extra: int = 0, **settings: Any) -> None:
        self.wrap(positional, settings)
        self.extra = extra


class Judged(Wrapper):
    core_class = metrics.ContextRecall
    judge_label = "framework"

    def __init__(self, *positional: Any, judge: Any = None, **settings: Any) -> None:
        self.wrap(positional, settings)
        self.judging = judge


def test_holds_a_core_metric_and_its_name() -> None:
    assert Recall(top_k=3).core == metrics.NonLLMContextRecall(top_k=3)
    assert Recall(top_k=3).name == "non_llm_context_recall(top_k=3)"
    assert Recall(name="mine").name == "mine"
    core = metrics.NonLLMContextRecall(top_k=1)
    assert Recall(core=core).core is core


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Recall(1), "Recall: the framework's threshold= is min_similarity=0.5 here"),
        (lambda: Recall(threshold=1), "the framework's threshold= is min_similarity=0.5 here"),
        (lambda: Judged(1), "Judged: give parameters by name"),
        (lambda: Recall(extr=1), "Did you mean 'extra'"),
        (lambda: Recall(core=metrics.ContextRecall()), "core= must be a NonLLMContextRecall"),
        (lambda: Recall(core=metrics.NonLLMContextRecall(), top_k=1), "brings all its parameters"),
        (lambda: setattr(Recall(), "top_k", 5), "top_k is fixed"),
        (lambda: setattr(Recall(), "threshold", 5), "threshold is fixed"),
    ],
)
def test_misuse_is_named(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_equal_as_the_core_metric_is() -> None:
    assert Recall(top_k=1) == Recall(top_k=1)
    assert hash(Recall(top_k=1)) == hash(Recall(top_k=1))
    assert Recall(top_k=1) != Recall(top_k=2)
    assert Recall() != Recall(name="other")
    assert Recall() != Judged()
    assert Recall() != 5


def test_made_again_by_copying_pickling_and_loading(tmp_path: Path) -> None:
    for metric in (Recall(top_k=1, name="mine"), Judged(unit="claim")):
        metric.save(tmp_path / "metric")
        loaded = type(metric).load(tmp_path / "metric.json")
        for twin in (copy.copy(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), loaded):  # noqa: S301
            assert twin == metric
            assert getattr(twin, "judging", None) == metric.judge_label
