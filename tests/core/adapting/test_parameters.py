"""An adapter's classes that are made of the core's metrics."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType
from typing import Any

import pytest

from ctxmetrics import ContextRecall, IDBasedHitRate
from ctxmetrics.adapting import MetricClass, MetricClasses


class TinyMetric(MetricClass):
    """The class of an adapter that all its metrics are subclasses of."""


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An adapter that writes one class itself."""

    class ContextRecallTiny(TinyMetric, core=ContextRecall):
        """Written by the adapter."""

    package: Any = ModuleType("tiny_adapter")
    monkeypatch.setitem(sys.modules, "tiny_adapter", package)
    package.ContextRecallTiny = ContextRecallTiny
    package.classes = MetricClasses("tiny_adapter", "{}Tiny", TinyMetric)
    package.__getattr__ = package.classes.make
    return package


def test_a_class_is_made_once_of_the_core_metric(tiny: Any) -> None:
    made = tiny.IDBasedHitRateTiny
    assert issubclass(made, TinyMetric)
    assert made.core_class is IDBasedHitRate
    assert made.__doc__.startswith("`ctxmetrics.IDBasedHitRate`: Whether any retrieved id is")
    assert "\n\n" not in made.__doc__
    assert tiny.classes.make("IDBasedHitRateTiny") is made
    assert pickle.loads(pickle.dumps(made)) is made  # noqa: S301 - our own


def test_a_name_that_is_no_metric_is_an_attribute_error(tiny: Any) -> None:
    with pytest.raises(AttributeError, match="module 'tiny_adapter' has no attribute 'IDBasedHitTiny'"):
        tiny.IDBasedHitTiny  # noqa: B018 - the access is the test
    with pytest.raises(AttributeError, match="'IDBasedHitRate'"):
        tiny.IDBasedHitRate  # noqa: B018 - the access is the test


def test_a_class_that_the_adapter_writes_comes_first(tiny: Any) -> None:
    written = tiny.ContextRecallTiny
    loaded = tiny.classes.load()
    assert loaded[0] is written
    assert [kind.__name__ for kind in loaded] == [*tiny.classes.names]
