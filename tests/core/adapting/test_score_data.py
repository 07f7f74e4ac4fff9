"""What a framework's trace holds of a score: plain data that is made when it is first read."""

from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import IDBasedContextRecall, Sample
from ctxmetrics.adapting import ScoreData
from ctxmetrics.scores import count_deferred

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = Sample(
    id="a", retrieved_context_ids=["d1", "d2"], reference_context_ids=["d1", "d3", "d4", "d5"]
)
SCORE = IDBasedContextRecall().score(SAMPLE)


def plain(score: Any) -> dict[str, Any]:
    return {**score.to_dict(), "reason": score.reason}


def change(data: dict[str, Any]) -> dict[str, Any]:
    data["mine"] = 1
    return data


def update(data: dict[str, Any]) -> dict[str, Any]:
    data.update({"value": 0.5})
    return data


READERS: dict[str, Callable[[Any], Any]] = {
    "an item": lambda data: data["verdicts"],
    "get": lambda data: data.get("reason"),
    "contains": lambda data: ("value" in data, "score" in data),
    "length": len,
    "truth": bool,
    "iteration": list,
    "reversed": lambda data: [*reversed(data)],
    "keys": lambda data: list(data.keys()),
    "values": lambda data: list(data.values()),
    "items": lambda data: list(data.items()),
    "dict": dict,
    "unpacked": lambda data: {**data},
    "keywords": lambda data: dict(**data),
    "merged": lambda data: data | {"mine": 1},
    "merged from the right": lambda data: {"mine": 1} | data,
    "equal": lambda data: (data == plain(SCORE), data == {}),
    "unequal": lambda data: data != plain(SCORE),
    "repr": repr,
    "json": json.dumps,
    "indented json": lambda data: json.dumps({"output": data}, indent=1),
    "sorted json": lambda data: json.dumps(data, sort_keys=True),
    "pickle": lambda data: pickle.loads(pickle.dumps(data)),  # noqa: S301 - its own
    "deep copy": copy.deepcopy,
    "copy": copy.copy,
    "copied dict": lambda data: data.copy(),
    "pop": lambda data: (data.pop("metric"), dict(data)),
    "a new key": change,
    "an update": update,
    "match": lambda data: [*_match(data)],
}


def _match(data: Any) -> Any:
    match data:
        case {"value": value, "verdicts": [first, *_]}:
            return value, first


@pytest.mark.parametrize("name", READERS)
def test_each_way_of_reading_gives_the_data(name: str) -> None:
    read = READERS[name]
    assert read(ScoreData(SCORE)) == read(plain(SCORE))
    data = ScoreData(SCORE)
    data.keys()
    assert read(data) == read(plain(SCORE))


def test_nothing_is_made_before_it_is_read() -> None:
    score = IDBasedContextRecall().score(SAMPLE)
    data = ScoreData(score)
    assert count_deferred(score) == 4
    assert data["value"] == 0.25
    assert count_deferred(score) is None


def test_code_that_passes_the_methods_by_loses_nothing() -> None:
    """pyarrow reads a dict's memory, where the score itself stands: an error that names it, and no empty column."""
    assert [*dict.values(ScoreData(SCORE))] == [SCORE]
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(pyarrow.ArrowInvalid, match="Score"):
        pyarrow.array([ScoreData(SCORE)])
