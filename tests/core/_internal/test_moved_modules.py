"""Pickles that name the modules of an earlier layout are read."""

from __future__ import annotations

import base64
import pickle
import sys
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics._internal import moved_modules

# Written at commit e7645ad6: public objects of each kind, each pickled alone.
_PICKLES: dict[str, bytes] = pickle.loads(  # noqa: S301 - a file of the tests
    Path(__file__).with_name("public_objects.pickle").read_bytes()
)


def load(name: str) -> Any:
    return pickle.loads(_PICKLES[name])  # noqa: S301 - made by this project


@pytest.mark.parametrize("name", sorted(_PICKLES))
def test_a_pickle_of_the_earlier_layout_is_read(name: str) -> None:
    load(name)


def test_values_of_earlier_pickles_are_whole() -> None:
    sample, stages, searches = load("samples")
    assert sample.reference_facts[0].importance == "vital"
    assert [*stages.stages] == ["search", "rerank"]
    assert searches.searches[0].query == "q"
    (row,) = load("results")
    # "It is tall." stands in no context; the one expected id was retrieved.
    assert row["context_recall"].value == 0.5
    assert row["id_based_context_recall"].value == 1.0


# A difference that labels corrected, written at commit cea46127, when one interval was printed and decided.
_CORRECTED = base64.b64decode(
    "gAWVzwAAAAAAAACMJWN0eG1ldHJpY3MuZXZhbHVhdGlvbi5jb21wYXJpc29uLnZpZXeUjAlDb3JyZWN0ZWSUk5QpgZRdlChHv7mZmZmZmZpHv8mZ"
    "mZmZmZpHP6mZmZmZmZqGlEc/pHrhR64Ue0soR0BDAAAAAAAASwdHP4R64UeuFHtHP5R64UeuFHtHAAAAAAAAAABHP4R64UeuFHtHP564UeuFHrhH"
    "P6R64UeuFHtHP6mZmZmZmZpHAAAAAAAAAABHP9mZmZmZmZpLY0e/vrhR64UeuIllYi4="
)


def test_an_earlier_corrected_difference_keeps_its_values() -> None:
    corrected = pickle.loads(_CORRECTED)  # noqa: S301 - made by this project
    assert (corrected.difference, corrected.p, corrected.labelled) == (-0.1, 0.04, 40)
    assert corrected.interval == corrected.decision_interval == (-0.2, 0.05)
    assert (corrected.degrees, corrected.people, corrected.by_audit) == (99, -0.12, False)
    assert (corrected.correction, corrected.size_correction, corrected.size_error) == (0.01, 0.0, 0.0)
    assert pickle.loads(pickle.dumps(corrected)) == corrected  # noqa: S301 - made by this project


def test_an_earlier_difference_of_two_intervals_is_read() -> None:
    """Such a pickle has a second interval, and does not split the correction."""
    corrected = pickle.loads(_CORRECTED)  # noqa: S301 - made by this project
    state = dict(zip([item.name for item in fields(corrected)], corrected.__getstate__(), strict=True))
    del state["size_correction"], state["size_error"]
    state["decision_interval"] = (-0.3, 0.1)
    read = object.__new__(type(corrected))
    read.__setstate__([*state.values()])
    assert read == replace(corrected, decision_interval=(-0.3, 0.1))


def test_a_metric_of_an_earlier_pickle_scores() -> None:
    sample = load("samples")[0]
    for metric in load("metrics"):
        if metric.base_name == "context_recall":
            assert metric.name == "context_recall"
            assert metric.score(sample).value == 0.5


def test_each_former_module_gives_the_names_of_its_home() -> None:
    for former, home in moved_modules._MOVED.items():
        module = import_module(former)
        assert module.__name__ == former
        for name, value in vars(import_module(home)).items():
            if isinstance(value, type):
                assert getattr(module, name) is value


def test_an_unknown_former_module_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("ctxmetrics.results.nothing")
    assert sum(type(finder).__name__ == "_MovedModules" for finder in sys.meta_path) == 1
