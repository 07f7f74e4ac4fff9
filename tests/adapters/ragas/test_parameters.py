"""The constructor, equality, copies, and files of parameters."""

from __future__ import annotations

import copy
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextPrecision as CorePrecision
from ctxmetrics import ContextRecall as CoreRecall
from ctxmetrics import LexicalJudge, ScriptedJudge
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.metrics.catalog import ALL_METRICS
from support.later import later

if TYPE_CHECKING:
    from pathlib import Path

metrics_base = later("ragas.metrics.base")
ours = later("ctxmetrics_ragas")


NAMES = [
    "ContextRecall",
    "ContextPrecision",
    "ContextUtilization",
    "NonLLMContextRecall",
    "NonLLMContextPrecision",
    "IDBasedContextRecall",
    "IDBasedContextPrecision",
]


@pytest.fixture(params=NAMES)
def kind(request: pytest.FixtureRequest) -> type:
    return getattr(ours, request.param)


def test_name_is_the_cores(kind: type) -> None:
    assert kind().name == kind.core_class().name
    assert (
        kind(top_k=3, convention="ragas").name
        == f"{kind.core_class.base_name}(convention=ragas, top_k=3)"
    )


def test_every_metric_has_its_class() -> None:
    for metric in ALL_METRICS.values():
        kind = getattr(ours, metric.__name__)
        assert kind.core_class is metric
        assert issubclass(kind, ours.JudgedMetric) is metric.judged
        assert {kind.__name__} <= {*ours.__all__} & {*dir(ours)}
        assert f"ctxmetrics.{metric.__name__}" in (kind.__doc__ or "")
        assert pickle.loads(pickle.dumps(kind())) == kind()  # noqa: S301 - our own


def test_ragas_own_names_are_kinds_of_ours() -> None:
    assert issubclass(ours.LLMContextRecall, ours.ContextRecall)
    assert issubclass(ours.LLMContextPrecisionWithReference, ours.ContextPrecision)
    assert issubclass(ours.ContextPrecisionWithReference, ours.ContextPrecision)
    assert issubclass(ours.LLMContextPrecisionWithoutReference, ours.ContextUtilization)
    assert issubclass(ours.ContextPrecisionWithoutReference, ours.ContextUtilization)
    assert issubclass(ours.NonLLMContextPrecisionWithReference, ours.NonLLMContextPrecision)
    assert set(ours.__all__) <= set(dir(ours))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ours.ContextRecall(topk=3),
            r"context_recall has no parameter 'topk'\. Did you mean 'top_k'",
        ),
        (lambda: ours.ContextRecall(lm=3), "Did you mean 'llm'"),
        (lambda: ours.NonLLMContextRecall(min_similarty=0.3), "Did you mean 'min_similarity'"),
        (lambda: ours.IDBasedContextRecall(unit="claim"), "has no parameter 'unit'"),
        (lambda: ours.ContextRecall("llm"), "ContextRecall: give parameters by name"),
        (lambda: ours.IDBasedContextRecall(5), "IDBasedContextRecall: give parameters by name"),
        (lambda: ours.NonLLMContextRecall(0.5), "threshold= is min_similarity=0.5 here"),
        (lambda: ours.ContextRecall(top_k=-1), "top_k=-1 must be a whole number from 0"),
        (lambda: ours.ContextRecall(convention="raga"), "convention='raga' is unknown"),
        (lambda: ours.ContextRecall(threshold=1.5), "threshold=1.5 must be a number from 0 to 1"),
        (lambda: ours.ContextRecall(core=CorePrecision()), "core= must be a ContextRecall"),
        (lambda: ours.ContextRecall(core=CoreRecall(), top_k=1), "brings all its parameters"),
    ],
)
def test_wrong_parameters_are_named(make: Any, words: str) -> None:
    """Ragas' collections swallow what they do not know: ``ContextRecall(llm=l, thresholdd=3)`` is taken."""
    with pytest.raises(ParameterError, match=words):
        make()


def test_threshold_is_the_pass_mark_of_judged_and_id_metrics(row: dict[str, Any]) -> None:
    assert ours.ContextRecall(threshold=0.5).score(**row).details.passed is True
    assert ours.ContextRecall(threshold=0.51).score(**row).details.passed is False
    assert ours.IDBasedContextRecall(threshold=0.6).score(**row).details.passed is False
    assert ours.ContextRecall(convention="aegis").score(**row).details.threshold == 80.0


def test_strict_and_the_other_parameters_reach_the_core(row: dict[str, Any]) -> None:
    assert ours.ContextRecall(strict=True).score(**row).value == 0.0
    assert ours.ContextRecall(strict=False).name == "context_recall"
    assert ours.ContextPrecision(formula="share").score(**row).value == 0.5
    assert ours.ContextPrecision(relevance="supports").core.relevance == "supports"
    assert ours.ContextRecall(judge=LexicalJudge(min_coverage=1.0)).core.judge == LexicalJudge(
        min_coverage=1.0
    )


def test_a_core_metric_is_taken_as_it_is(row: dict[str, Any]) -> None:
    core = CoreRecall(top_k=1, judge=LexicalJudge())
    metric = ours.ContextRecall(core=core)
    assert metric.core is core
    assert metric.name == "context_recall(top_k=1)"
    assert metric.score(**row).value == 0.5


@pytest.mark.parametrize("name", ["top_k", "convention", "threshold", "judge", "language"])
def test_parameters_cannot_be_changed_afterwards(name: str) -> None:
    """What is set on one of Ragas' metrics takes effect; here it would not, so it is an error."""
    with pytest.raises(ParameterError, match=f"{name} is fixed"):
        setattr(ours.ContextRecall(), name, 1)


def test_equality_and_hash_come_from_the_core_metric(kind: type) -> None:
    """Ragas' metrics cannot be hashed."""
    assert kind(top_k=2) == kind(top_k=2)
    assert hash(kind(top_k=2)) == hash(kind(top_k=2))
    assert kind(top_k=2) != kind(top_k=3)
    assert kind(name="a") != kind(name="b")
    assert len({kind(), kind(), kind(top_k=1)}) == 2
    assert kind() != kind.core_class()
    assert ours.ContextRecall(judge="framework") != ours.ContextRecall()


def test_copies_and_pickles(kind: type, row: dict[str, Any]) -> None:
    metric = kind(top_k=1, name="mine")
    for twin in (copy.copy(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):  # noqa: S301 - our own
        assert twin == metric
        assert type(twin) is kind
        assert (twin.name, twin._required_columns) == ("mine", metric._required_columns)
        assert twin.score(**row) == metric.score(**row)


def test_repr_shows_what_it_is() -> None:
    assert repr(ours.IDBasedContextRecall(top_k=3)).startswith(
        "<IDBasedContextRecall 'id_based_context_recall(top_k=3)' of IDBasedContextRecall(convention='default'"
    )


# ---- files ----


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ContextRecall", {}),
        (
            "ContextPrecision",
            {
                "convention": "aegis",
                "threshold": 70,
                "top_k": 4,
                "relevance": "supports",
                "name": "mine",
            },
        ),
        ("NonLLMContextRecall", {"similarity": "jaro", "min_similarity": 0.7}),
        ("IDBasedContextPrecision", {"formula": "average_precision", "strict": True}),
        ("ContextRecall", {"judge": "framework", "unit": "claim"}),
    ],
)
def test_save_and_load(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    metric = getattr(ours, name)(**parameters)
    metric.save(tmp_path / "metric.json")
    twin = type(metric).load(tmp_path / "metric.json")
    assert twin == metric
    assert twin.core == metric.core
    assert isinstance(twin, metrics_base.MetricWithLLM) is isinstance(
        metric, metrics_base.MetricWithLLM
    )


def test_saved_parameters_are_those_that_were_given(tmp_path: Path) -> None:
    ours.ContextRecall(top_k=5).save(tmp_path / "it")
    assert json.loads((tmp_path / "it.json").read_text()) == {
        "format_version": "1.0",
        "metric_type": "ContextRecall",
        "name": "context_recall(top_k=5)",
        "judge": None,
        "config": {"top_k": 5},
    }


def test_save_names_the_file_after_the_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ours.IDBasedContextRecall().save()
    ours.ContextRecall(name="mine").save(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "id_based_context_recall.json",
        "mine.json",
    ]


def test_a_judge_is_not_saved_and_is_asked_for(tmp_path: Path, row: dict[str, Any]) -> None:
    judge = ScriptedJudge({"joint": ["sk-not-a-key-5"]})
    ours.ContextRecall(judge=judge, top_k=2).save(tmp_path / "metric.json")
    assert "sk-not" not in (tmp_path / "metric.json").read_text()
    with pytest.raises(ParameterError, match="had a judge of its own"):
        ours.ContextRecall.load(tmp_path / "metric.json")
    assert ours.ContextRecall.load(tmp_path / "metric.json", judge=judge) == ours.ContextRecall(
        judge=judge, top_k=2
    )


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"metric_type": "ContextRecall", "config": 5}', "\x00"]
)
def test_what_is_no_saved_metric_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "metric.json").write_text(text)
    with pytest.raises(InputFileError, match=r"metric\.json is no saved metric"):
        ours.ContextRecall.load(tmp_path / "metric.json")


def test_another_class_or_no_file_is_named(tmp_path: Path) -> None:
    ours.ContextRecall().save(tmp_path / "metric.json")
    with pytest.raises(
        InputFileError,
        match=r"holds a ContextRecall, not a ContextPrecision\. Write ContextRecall\.load",
    ):
        ours.ContextPrecision.load(tmp_path / "metric.json")
    with pytest.raises(InputFileError, match=r"absent\.json is no saved metric \(FileNotFoundError"):
        ours.ContextPrecision.load(tmp_path / "absent.json")


def test_a_function_cannot_be_saved(tmp_path: Path) -> None:
    metric = ours.NonLLMContextRecall(similarity=lambda one, other: 1.0)
    with pytest.raises(ParameterError, match="similarity is a function"):
        metric.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_unknown_parameters_in_a_file_are_named(tmp_path: Path) -> None:
    ours.ContextRecall(top_k=2).save(tmp_path / "metric.json")
    text = (tmp_path / "metric.json").read_text().replace('"top_k"', '"topk"')
    (tmp_path / "metric.json").write_text(text)
    with pytest.raises(ParameterError, match="Did you mean 'top_k'"):
        ours.ContextRecall.load(tmp_path / "metric.json")
