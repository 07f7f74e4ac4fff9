"""The metric object: constructor, fields, results, copies."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import pickle
import threading
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LexicalJudge,
    LLMJudge,
    NonLLMContextRecall,
    ScriptedJudge,
    __version__,
)
from ctxmetrics.errors import CannotDecomposeError, MissingFieldError, ParameterError, SampleError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.metrics.catalog import ALL_METRICS
from ctxmetrics.verdicts import Verdict
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxmetrics.judges.base import JudgeRequest

deepeval = later("deepeval")
llms = later("support.deepeval_llms")
metrics_utils = later("deepeval.metrics.utils")
ours = later("ctxmetrics_deepeval")
test_run_cache = later("deepeval.test_run.cache")


NAMES = [
    "ContextRecallMetric",
    "ContextPrecisionMetric",
    "ContextUtilizationMetric",
    "NonLLMContextRecallMetric",
    "NonLLMContextPrecisionMetric",
    "IDBasedContextRecallMetric",
    "IDBasedContextPrecisionMetric",
]


@pytest.fixture
def metric(request: pytest.FixtureRequest) -> type:
    """The class with the name that the test's parameter is."""
    return getattr(ours, request.param)


class SlowJudge:
    """Supports every unit whose text is in a context; takes as long as the question says."""

    name = "slow"
    warnings = ()

    async def attribute(self, request: JudgeRequest) -> Judgement:
        await asyncio.sleep(float(request.user_input or 0))
        text = " ".join(request.contexts)
        return Judgement(
            verdicts=tuple(
                Verdict(id=id_, value=unit.strip(".") in text)
                for id_, unit in zip(request.unit_ids, request.units, strict=True)
            )
        )

    async def rate(self, request: JudgeRequest) -> Judgement:
        raise NotImplementedError


# ---- values and where they come from ----


def test_every_metric_has_its_class() -> None:
    for metric in ALL_METRICS.values():
        kind = getattr(ours, f"{metric.__name__}Metric")
        assert kind.core_class is metric
        assert kind.__name__ in ours.__all__
        assert kind.__name__ in dir(ours)
        assert f"ctxmetrics.{metric.__name__}" in (kind.__doc__ or "")
        assert pickle.loads(pickle.dumps(kind())) == kind()  # noqa: S301 - our own


def test_the_seven_metrics_on_one_test_case(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    case = make_case()
    metrics = [getattr(ours, name)() for name in NAMES]
    values = {metric.core.base_name: metric.measure(case) for metric in metrics}
    assert values == {
        "context_recall": 0.5,  # Paris is supported, 1889 is not
        "context_precision": 1.0,  # the useful context stands first
        "context_utilization": 1.0,
        "non_llm_context_recall": 0.5,  # one of two reference contexts was retrieved word for word
        "non_llm_context_precision": 1.0,
        "id_based_context_recall": 2 / 3,  # a and 2 of a, 2, b
        "id_based_context_precision": 0.5,  # a and 2 of a, x, 2, y
    }


def test_ids_and_reference_contexts_from_metadata(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    case = make_case(
        context=None, metadata={"reference_contexts": ["The Eiffel Tower stands in Paris, France."]}
    )
    assert ours.NonLLMContextRecallMetric().measure(case) == 1.0


def test_context_and_metadata_that_differ_are_refused(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    case = make_case(context=["one"], metadata={"reference_contexts": ["another"]})
    with pytest.raises(SampleError, match=r"both 'reference_contexts' and 'context'"):
        ours.NonLLMContextRecallMetric().measure(case)


def test_context_data_source_is_the_id_and_text_is_judged(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """DeepEval's own recall judges the repr, its precision groups by source."""
    items = [
        deepeval.test_case.RetrievedContextData(context="Bananas are yellow.", source="x"),
        deepeval.test_case.RetrievedContextData(
            context="The Eiffel Tower stands in Paris, France.", source="a"
        ),
        deepeval.test_case.RetrievedContextData(context="Apples are red.", source="x"),
    ]
    case = make_case(retrieval_context=items, metadata={"reference_context_ids": ["a", "b"]})
    assert ours.IDBasedContextRecallMetric().measure(case) == 0.5
    assert ours.IDBasedContextPrecisionMetric().measure(case) == 0.5  # x, a
    precision = ours.ContextPrecisionMetric()
    assert precision.measure(case) == 0.5  # three contexts, the second is useful
    assert [verdict.text for verdict in precision.result.verdicts] == [item.context for item in items]


def test_ids_in_metadata_win_over_sources(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    items = [deepeval.test_case.RetrievedContextData(context="text", source="chunk-7")]
    case = make_case(
        retrieval_context=items,
        metadata={"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]},
    )
    assert ours.IDBasedContextRecallMetric().measure(case) == 1.0


def test_ids_in_metadata_and_sources_for_a_judged_metric(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    items = [
        deepeval.test_case.RetrievedContextData(
            context="The Eiffel Tower stands in Paris, France.", source="x"
        )
    ]
    case = make_case(retrieval_context=items)
    assert [
        ours.ContextRecallMetric().measure(case),
        ours.NonLLMContextRecallMetric().measure(case),
    ] == [
        0.5,
        0.5,
    ]
    assert ours.IDBasedContextRecallMetric().measure(case) == 2 / 3


def test_a_source_for_some_contexts_only_is_no_id_list(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    items = ["text", deepeval.test_case.RetrievedContextData(context="text", source="a")]
    case = make_case(retrieval_context=items, metadata={"reference_context_ids": ["a"]})
    with pytest.raises(
        deepeval.errors.MissingTestCaseParamsError, match=r"metadata\.retrieved_context_ids"
    ):
        ours.IDBasedContextRecallMetric().measure(case)


@pytest.mark.parametrize("key", ["metadata", "additional_metadata", "additionalMetadata"])
def test_metadata_under_its_older_names(key: str) -> None:
    case = deepeval.test_case.LLMTestCase(
        input="q",
        actual_output="a",
        **{key: {"retrieved_context_ids": [1], "reference_context_ids": ["1", "2"]}},
    )
    assert ours.IDBasedContextRecallMetric().measure(case) == 0.5


def test_fields_that_a_metric_does_not_need_are_not_read(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    case = make_case(metadata={"reference_contexts": "no list", "retrieved_context_ids": 7})
    assert ours.ContextRecallMetric().measure(case) == 0.5
    case = make_case()
    case.retrieval_context = ["text", None]
    assert ours.IDBasedContextRecallMetric().measure(case) == 2 / 3


def test_the_name_of_the_test_case_is_the_samples_id(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.IDBasedContextRecallMetric()
    metric.measure(make_case(name="tower-1"))
    assert metric.result.sample_id == "tower-1"


def test_ids_as_unknown_keywords_of_a_test_case_are_missing() -> None:
    """LLMTestCase drops them without a word; our error names where they belong."""
    case = deepeval.test_case.LLMTestCase(
        input="q", actual_output="a", retrieved_context_ids=["a"], reference_context_ids=["a"]
    )
    with pytest.raises(
        deepeval.errors.MissingTestCaseParamsError,
        match=r"'metadata\.retrieved_context_ids' and 'metadata\.reference_context_ids' cannot be None for the "
        "'id_based_context_recall' metric",
    ):
        ours.IDBasedContextRecallMetric().measure(case)


def test_missing_params_are_both_libraries_error(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    with pytest.raises(MissingFieldError) as caught:
        ours.ContextRecallMetric().measure(make_case(expected_output=None))
    assert isinstance(caught.value, deepeval.errors.MissingTestCaseParamsError)
    assert caught.value.code == "missing_field"
    assert str(caught.value) == (
        "'expected_output' cannot be None for the 'context_recall' metric (test case 'When was the Eiffel Tower built, and where?')"
    )


@pytest.mark.parametrize("ids", ["a", ["a", 1.5], [["a"]], {"a": 1}])
def test_a_wrong_type_in_a_test_case_raises(
    ids: Any, make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    metadata = {"retrieved_context_ids": ids, "reference_context_ids": ["a"]}
    metric = ours.IDBasedContextRecallMetric()
    with pytest.raises(SampleError, match="retrieved_context_ids"):
        metric.measure(make_case(metadata=metadata))
    assert (metric.score, metric.reason, metric.success) == (None, None, None)


def test_repeats_null_ids_and_placeholders_are_said(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metadata = {"retrieved_context_ids": ["a", None, "a"], "reference_context_ids": ["a", ""]}
    metric = ours.IDBasedContextPrecisionMetric()
    assert metric.measure(make_case(metadata=metadata)) == 1 / 2
    assert "repeat one above (a)" in metric.reason
    assert "empty" in metric.reason
    recall = ours.ContextRecallMetric(judge=LexicalJudge())
    recall.measure(make_case(retrieval_context=["[IMAGE]", "https://example.org/a"]))
    assert (recall.score, "not_text" in str(recall.error)) == (None, True)


def test_a_conversation_without_a_search_lacks_the_contexts() -> None:
    turns = [deepeval.test_case.Turn(role="user", content="hello")]
    with pytest.raises(ours.MissingParamsError, match="no retrieved_contexts"):
        ours.ConversationalContextRecallMetric().measure(
            deepeval.test_case.ConversationalTestCase(turns=turns, expected_outcome="The pump is red.")
        )


def test_what_is_no_test_case_is_refused() -> None:
    with pytest.raises(SampleError, match="must be an LLMTestCase, not str"):
        ours.ContextRecallMetric().measure("hello")


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("ContextRecallMetric", ["input", "expected_output", "retrieval_context"]),
        ("ContextUtilizationMetric", ["input", "actual_output", "retrieval_context"]),
        ("NonLLMContextRecallMetric", ["input", "retrieval_context", "context"]),
        ("IDBasedContextRecallMetric", ["input", "metadata"]),
    ],
    indirect=["metric"],
)
def test_required_params_are_a_list_and_not_the_typing_object(
    metric: Any, params: list[str], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    """The base class has ``List[..]`` itself there, at which DeepEval's own check fails with an
    AttributeError."""
    assert metric._required_params == [deepeval.test_case.SingleTurnParams(name) for name in params]
    metrics_utils.check_llm_test_case_params(make_case(), metric._required_params, None, None, metric())
    with pytest.raises(deepeval.errors.MissingTestCaseParamsError):
        metrics_utils.check_llm_test_case_params(
            deepeval.test_case.LLMTestCase(input="q"), metric._required_params, None, None, metric()
        )


# ---- threshold, strict, success ----


@pytest.mark.parametrize(
    ("params", "threshold"),
    [
        ({}, 0.5),
        ({"convention": "ragas"}, 0.5),
        ({"convention": "ru"}, 0.5),
        ({"convention": "deepeval"}, 0.5),
        ({"convention": "aegis"}, 80.0),
        ({"convention": "aegis", "threshold": 60.0}, 60.0),
        ({"threshold": 0.7}, 0.7),
        ({"threshold": 0.0}, 0.0),
        ({"threshold": None}, None),
        ({"threshold": None, "convention": "aegis"}, None),
        ({"strict_mode": True}, 1.0),
        ({"strict_mode": True, "threshold": 0.3}, 1.0),
        ({"strict_mode": True, "threshold": None}, 1.0),
        ({"strict_mode": True, "convention": "aegis"}, 100.0),
    ],
)
def test_threshold(params: dict[str, Any], threshold: float | None) -> None:
    metric = ours.ContextRecallMetric(**params)
    assert metric.threshold == threshold
    (copied,) = metrics_utils.copy_metrics([metric])
    assert copied.threshold == threshold
    assert copied.core == metric.core


def test_threshold_may_be_given_by_position_as_in_deepeval() -> None:
    assert ours.ContextRecallMetric(0.9).threshold == 0.9


@pytest.mark.parametrize(
    ("hits", "of", "score", "success"), [(4, 5, 80.0, True), (799, 1000, 79.9, False)]
)
def test_aegis_passes_at_80_and_fails_below(
    hits: int,
    of: int,
    score: float,
    success: bool,
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    ids = [str(number) for number in range(of)]
    metric = ours.IDBasedContextRecallMetric(convention="aegis")
    case = make_case(metadata={"retrieved_context_ids": ids[:hits], "reference_context_ids": ids})
    assert metric.measure(case) == score
    assert metric.success is success
    assert metric.is_successful() is success


def test_strict_mode(make_case: Callable[..., deepeval.test_case.LLMTestCase]) -> None:
    metric = ours.IDBasedContextRecallMetric(strict_mode=True)
    assert metric.measure(make_case()) == 0.0
    assert metric.success is False
    full = make_case(metadata={"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]})
    assert metric.measure(full) == 1.0
    assert metric.success is True
    assert metric.__name__ == "id_based_context_recall(strict=True)"


def test_the_score_and_the_metric_agree_on_the_pass_mark(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.IDBasedContextRecallMetric()
    metric.measure(make_case())
    assert metric.result.threshold == 0.5
    assert metric.result.passed is metric.success is True
    assert "pass mark 0.5: passed" in metric.verbose_logs


@pytest.mark.parametrize(
    ("score", "threshold", "error", "success"),
    [
        (0.5, 0.5, None, True),
        (0.49, 0.5, None, False),
        (None, 0.5, None, False),
        (None, 0.5, "it broke", False),
        (0.9, None, None, None),
        (None, None, "it broke", None),
    ],
)
def test_success_of_a_state_that_somebody_set(
    score: float | None, threshold: float | None, error: str | None, success: bool | None
) -> None:
    """The runner sets attributes itself, for example from its cache, and asks afterwards."""
    metric = ours.ContextRecallMetric()
    metric.error = error
    metric.threshold, metric.score = threshold, score
    assert metric.is_successful() is success
    assert metric.success is success


# ---- constructor ----


@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("ContextRecallMetric", {"treshold": 0.5}, "Did you mean 'threshold'"),
        ("ContextRecallMetric", {"strict_mod": True}, "Did you mean 'strict_mode'"),
        (
            "ContextRecallMetric",
            {"min_similarity": 0.5},
            "context_recall has no parameter 'min_similarity'",
        ),
        ("IDBasedContextRecallMetric", {"judge": LexicalJudge()}, "no parameter 'judge'"),
        (
            "NonLLMContextRecallMetric",
            {"distance_measure": "jaro"},
            "no parameter 'distance_measure'",
        ),
        ("ContextRecallMetric", {"convention": "axiom"}, "convention='axiom' is unknown"),
        ("ContextRecallMetric", {"threshold": 1.5}, "must be a number from 0 to 1"),
        ("ContextRecallMetric", {"threshold": "high"}, "threshold='high' must be a number"),
        ("ContextRecallMetric", {"threshold": math.nan}, "must be a number"),
        ("ContextRecallMetric", {"top_k": -1}, "top_k=-1"),
        ("ContextRecallMetric", {"judge": "gpt"}, "judge 'gpt' is unknown"),
        ("ContextRecallMetric", {"model": object()}, "model=object is no DeepEvalBaseLLM"),
        ("ContextRecallMetric", {"core": ContextPrecision()}, "Give core= .a ContextRecall. alone"),
        ("ContextRecallMetric", {"core": ContextRecall(), "top_k": 3}, "alone"),
        ("ContextRecallMetric", {"core": ContextRecall(), "judge": LexicalJudge()}, "alone"),
    ],
    indirect=["metric"],
)
def test_misuse_raises_when_the_metric_is_made(
    metric: Any, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        metric(**params)


def test_a_model_and_a_judge_are_refused() -> None:
    with pytest.raises(ParameterError, match="model= or judge="):
        ours.ContextRecallMetric(model=llms.FakeLLM(), judge=LexicalJudge())


def test_claims_of_the_embedded_judge_are_refused_with_the_fix(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    with pytest.raises(CannotDecomposeError, match=r"Give judge=LLMJudge\(model\)"):
        ours.ContextRecallMetric(unit="claim").measure(make_case())


def test_a_core_metric_may_be_given_whole() -> None:
    core = ContextRecall(top_k=2, threshold=0.25)
    metric = ours.ContextRecallMetric(core=core)
    assert metric.core == core
    assert metric.threshold == 0.25
    assert ours.ContextRecallMetric(core=ContextRecall(strict=True)).strict_mode is True


def test_the_name_tells_configurations_apart() -> None:
    assert ours.ContextRecallMetric().__name__ == "context_recall"
    assert ours.ContextRecallMetric(top_k=5).__name__ == "context_recall(top_k=5)"


def test_equality_and_hash_come_from_the_core() -> None:
    assert ours.ContextRecallMetric(top_k=3) == ours.ContextRecallMetric(top_k=3, include_reason=False)
    assert hash(ours.ContextRecallMetric(top_k=3)) == hash(ours.ContextRecallMetric(top_k=3))
    assert ours.ContextRecallMetric(top_k=3) != ours.ContextRecallMetric(top_k=4)
    assert ours.ContextRecallMetric() != ours.ContextPrecisionMetric()
    assert ours.ContextRecallMetric() != ContextRecall()

    class TowerRecall(ours.ContextRecallMetric):
        pass

    assert TowerRecall() != ours.ContextRecallMetric()


@pytest.mark.parametrize("metric", NAMES, indirect=True)
def test_metrics_pickle_and_deepcopy(
    metric: Any, make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    original = metric(convention="aegis", top_k=2, include_reason=False)
    value = original.measure(make_case())
    for twin in (pickle.loads(pickle.dumps(original)), copy.deepcopy(original), copy.copy(original)):  # noqa: S301 - our own
        assert type(twin) is metric
        assert twin == original
        assert (twin.score, twin.threshold, twin.include_reason) == (value, 80.0, False)
        assert twin.measure(make_case()) == value


# ---- copying: DeepEval rebuilds the metric for every test case from constructor names and attributes ----

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("ContextRecallMetric", {"convention": "ru", "top_k": 3, "language": "ru", "unit": "sentence"}),
    ("ContextPrecisionMetric", {"relevance": "supports", "formula": "share", "threshold": 0.3}),
    ("NonLLMContextPrecisionMetric", {"min_similarity": 0.8, "similarity": "jaro"}),
    ("NonLLMContextRecallMetric", {"similarity": lambda first, second: 1.0}),
    ("IDBasedContextPrecisionMetric", {"formula": "average_precision", "strict_mode": True}),
    ("ContextRecallMetric", {"judge": LexicalJudge(min_coverage=0.9)}),
    ("ContextRecallMetric", {"judge": ScriptedJudge({"joint": ["{}"]}), "unit": "claim"}),
    (
        "ContextRecallMetric",
        {
            "include_reason": False,
            "async_mode": False,
            "verbose_mode": True,
            "flaky": True,
            "threshold": None,
        },
    ),
]


@pytest.mark.parametrize(("metric", "params"), SETTINGS, indirect=["metric"])
def test_copying_keeps_every_setting(metric: Any, params: dict[str, Any]) -> None:
    original = metric(**params)
    (first,) = metrics_utils.copy_metrics([original])
    (second,) = metrics_utils.copy_metrics([first])
    for copied in (first, second):
        assert type(copied) is metric
        assert copied.core == original.core
        for name in (
            "threshold", "strict_mode", "include_reason", "async_mode", "verbose_mode", "flaky", "evaluation_model"
        ):  # fmt: skip
            assert getattr(copied, name) == getattr(original, name), name
    assert getattr(second.core, "judge", None) is getattr(original.core, "judge", None)


def test_a_threshold_set_later_is_copied_too() -> None:
    metric = ours.ContextRecallMetric()
    metric.threshold = 0.9
    assert metrics_utils.copy_metrics([metric])[0].threshold == 0.9


def test_a_subclass_under_another_name_still_works(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """DeepEval's own metrics die when renamed: their prompts are looked up by class name."""

    class TowerRecall(ours.ContextRecallMetric):
        pass

    metric = TowerRecall(top_k=1)
    (copied,) = metrics_utils.copy_metrics([metric])
    assert type(copied) is TowerRecall
    assert copied.core == metric.core
    assert copied.measure(make_case()) == 0.5


# ---- results ----


def test_everything_a_result_shows(make_case: Callable[..., deepeval.test_case.LLMTestCase]) -> None:
    metric = ours.IDBasedContextRecallMetric()
    assert metric.measure(make_case()) == metric.score == 2 / 3
    assert metric.reason.splitlines() == [
        "2 of 3 reference ids retrieved.",
        'b no: "b"',
        'a yes: "a"',
        '2 yes: "2"',
    ]
    logs, mark, line = metric.verbose_logs.rpartition("\nctxmetrics:")
    assert (logs, bool(mark)) == (metric.result.pretty(), True)
    assert json.loads(b64decode(line)) == metric.result.to_dict()
    assert metric.score_breakdown["count"] == "2 of 3 reference ids retrieved"
    assert [(item["id"], item["value"]) for item in metric.score_breakdown["verdicts"]] == [
        ("a", True),
        ("2", True),
        ("b", False),
    ]
    assert metric.error is None
    assert (metric.evaluation_model, metric.evaluation_cost, metric.input_tokens) == (None, None, None)


def test_include_reason_false(make_case: Callable[..., deepeval.test_case.LLMTestCase]) -> None:
    metric = ours.ContextRecallMetric(include_reason=False)
    metric.measure(make_case())
    assert metric.reason is None
    assert "1 of 2 sentences supported" in metric.verbose_logs


@pytest.mark.parametrize(
    "switch", ["include_reason", "async_mode", "verbose_mode", "flaky", "telemetry", "strict_mode"]
)
@pytest.mark.parametrize("value", ["false", 0, None])
def test_a_switch_is_true_or_false(switch: str, value: object) -> None:
    with pytest.raises(ParameterError, match="must be True or False"):
        ours.ContextRecallMetric(**{switch: value})


def test_evaluation_model_names_judge_options_and_release() -> None:
    """It is what the cache compares: equal for equal configurations only."""
    model = ours.DeepEvalModel(llms.FakeLLM())
    judges = [
        None,
        LexicalJudge(min_coverage=0.9),
        LLMJudge(model),
        LLMJudge(model, votes=3),
        SlowJudge(),
    ]
    labels = [ours.ContextRecallMetric(judge=judge).evaluation_model for judge in judges]
    assert len(set(labels)) == 5
    assert labels[0] == ours.ContextRecallMetric(judge=LexicalJudge()).evaluation_model
    assert labels[0].startswith(f"lexical, ctxmetrics {__version__}, ")
    assert labels[2] == ours.ContextPrecisionMetric(model=model.llm).evaluation_model


def test_cache_answers_only_if_its_key_holds_all_inputs() -> None:
    """Its key holds texts, and no metadata; a metric with an attribute ``language`` it never answers for."""
    cacheable = {
        ours.ContextRecallMetric(): True,
        ours.ContextRecallMetric(language="ru"): True,
        ours.ContextPrecisionMetric(model=llms.FakeLLM()): True,
        ours.ContextRecallMetric(judge=SlowJudge()): False,
        ours.NonLLMContextRecallMetric(): False,
        ours.IDBasedContextRecallMetric(): False,
    }
    for metric, expected in cacheable.items():
        stored = test_run_cache.Cache.create_metric_configuration(metric)
        (copied,) = metrics_utils.copy_metrics([metric])
        assert test_run_cache.Cache.same_metric_configs(copied, stored) is expected, metric


def test_uncomputable_value_is_an_error_text_without_score(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.ContextRecallMetric()
    assert metric.measure(make_case(expected_output=" *** ")) is None
    assert metric.score is None
    assert metric.success is False
    assert metric.error.startswith("no_reference: ")
    assert metric.result.reason_code == "no_reference"


def test_a_judge_that_fails_is_an_error_text_and_no_score(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.ContextPrecisionMetric(judge=SlowJudge())
    assert metric.measure(make_case()) is None
    assert metric.error.startswith("not_judged: 2 of 2 not judged (judge_error): c1, c2")


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError, RuntimeError, NotImplementedError])
def test_no_error_of_a_users_function_escapes(
    error: type[Exception], make_case: Callable[..., deepeval.test_case.LLMTestCase]
) -> None:
    def similarity(first: str, second: str) -> float:
        raise error("sk-secret123456 is missing")

    metric = ours.NonLLMContextRecallMetric(similarity=similarity)
    assert metric.measure(make_case()) is None
    assert asyncio.run(metric.a_measure(make_case())) is None
    assert metric.error.startswith(f"metric_error: {error.__name__}: ")
    assert "secret" not in metric.error
    assert (metric.score, metric.success) == (None, False)


def test_a_later_success_clears_the_error(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """DeepEval's own metrics keep the error, and a score of 1.0 then has failed."""
    metric = ours.ContextRecallMetric()
    metric.measure(make_case(expected_output=""))
    assert metric.error
    assert metric.measure(make_case()) == 0.5
    assert metric.error is None
    assert metric.is_successful() is True


def test_a_raising_measure_leaves_no_stale_score(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.IDBasedContextRecallMetric()
    metric.measure(make_case())
    with pytest.raises(deepeval.errors.MissingTestCaseParamsError):
        metric.measure(make_case(metadata=None))
    results = ("score", "reason", "success", "verbose_logs", "score_breakdown", "result")
    assert [getattr(metric, name) for name in results] == [None] * 6


def test_a_reset_of_the_error_begins_a_new_test_case(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """The sync runner does this before each test case, and may then report a metric whose turn never came."""
    metric = ours.IDBasedContextRecallMetric()
    metric.measure(make_case())
    metric.error = None
    assert (metric.score, metric.success, metric.reason) == (None, None, None)


def test_abandoned_thread_cannot_write_its_result_later(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    go_on, running = threading.Event(), threading.Event()

    def similarity(first: str, second: str) -> float:
        running.set()
        go_on.wait(60)
        return 1.0

    metric = ours.NonLLMContextRecallMetric(similarity=similarity)
    thread = threading.Thread(target=metric.measure, args=[make_case()])
    thread.start()
    assert running.wait(60)
    metric.error = "Timed out"
    go_on.set()
    thread.join(60)
    assert (metric.error, metric.score) == ("Timed out", None)


def test_concurrent_measurements_of_one_object_keep_their_scores(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """DeepEval's own metrics return what the last one to finish left on the object."""
    metric = ours.ContextRecallMetric(judge=SlowJudge())
    supported = [number % 2 == 0 for number in range(20)]
    cases = [
        make_case(
            input=str(0.02 if number % 3 else 0.0),
            expected_output="The sky is blue.",
            retrieval_context=["The sky is blue." if yes else "Nothing."],
            name=f"case-{number}",
        )
        for number, yes in enumerate(supported)
    ]

    async def measure_all() -> list[float | None]:
        return await asyncio.gather(*(metric.a_measure(case) for case in cases))

    assert asyncio.run(measure_all()) == [float(yes) for yes in supported]
    assert metric.result.sample_id == "case-19"
    assert (metric.score, metric.success) == (metric.result.value, False)
    assert metric.reason == metric.result.reason


def test_threads_that_share_one_object_each_get_their_own_score(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.ContextRecallMetric(judge=SlowJudge())
    slow = make_case(input="0.3", expected_output="It is in no context.")
    quick = make_case(input="0", expected_output="Bananas are yellow.")
    with ThreadPoolExecutor() as pool:
        first = pool.submit(metric.measure, slow)
        time.sleep(0.1)  # the slow one has begun
        assert (pool.submit(metric.measure, quick).result(), first.result()) == (1.0, 0.0)


def test_a_skipped_test_case_is_not_remembered(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    """The sync runner never takes it back, and leaves out a later test case that times out."""
    metric = ours.IDBasedContextRecallMetric()
    metric.skipped = True
    metric.measure(make_case())
    assert metric.skipped is False


def test_measure_inside_a_running_loop(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    async def inside() -> float | None:
        return ours.ContextRecallMetric(judge=SlowJudge()).measure(make_case(input="0.01"))

    assert asyncio.run(inside()) == 0.5


def test_the_runners_keywords_are_taken(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.ContextRecallMetric()
    assert metric.measure(make_case(), _show_indicator=False, _in_component=True, _anything=1) == 0.5
    assert (
        asyncio.run(
            metric.a_measure(make_case(), _show_indicator=False, _log_metric_to_confident=False)
        )
        == 0.5
    )


def test_nothing_is_printed_and_nothing_is_written(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
    tmp_path: Any,
    monkeypatch: Any,
    capfd: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        kind = getattr(ours, name)
        kind().measure(make_case())
        asyncio.run(kind().a_measure(make_case()))
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_verbose_mode_lets_deepeval_print(
    make_case: Callable[..., deepeval.test_case.LLMTestCase], capsys: Any
) -> None:
    ours.IDBasedContextRecallMetric(verbose_mode=True).measure(make_case())
    assert "id_based_context_recall: 0.6667" in capsys.readouterr().out


def test_a_chunk_with_console_markup_stays_text(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    from rich.text import Text

    tags = "[/INST] [bold red]hot[/bold red] [link=http://127.0.0.1/x]click[/link] [@click=app.bell]"
    metric = ours.NonLLMContextRecallMetric()
    metric.measure(make_case(retrieval_context=[tags], context=[tags], name="[q1]"))
    for shown, meant in (
        (metric.reason, metric.result.reason),
        (metric.verbose_logs.rpartition("\n")[0], metric.result.pretty()),
    ):
        text = Text.from_markup(shown)
        assert text.plain == meant
        assert text.spans == []
        assert "[/INST] [bold red]hot" in meant
    assert "[" not in metric.verbose_logs.rpartition("\n")[2]
    assert metric.result.verdicts[0].evidence[0].quote == tags


def test_string_metric_equals_the_core(
    make_case: Callable[..., deepeval.test_case.LLMTestCase],
) -> None:
    metric = ours.NonLLMContextRecallMetric(similarity="jaro_winkler", min_similarity=0.7)
    assert metric.core == NonLLMContextRecall(
        similarity="jaro_winkler", min_similarity=0.7, threshold=0.5
    )
