"""What surprises people in Ragas' numbers, and what happens here instead, through ``ragas.evaluate()``.

Each test names the surprise. Under ``convention="ragas"`` the string and id metrics surprise as Ragas does
(``test_differential.py``); a judged verdict never does, under no convention.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from ctxmetrics import ScriptedJudge
from ctxmetrics.errors import ParameterError
from support import FakeOpenAIServer
from support.later import later

ours = later("ctxmetrics_ragas")
ragas = later("ragas")


NAN = "nan"
FOUR = {
    "reference": "One is red. Two is blue. Three is green. Four is grey.",
    "retrieved_contexts": ["One is red.", "Two is blue.", "Three is green."],
}


def _shown(values: list[float]) -> list[float | str]:
    return [NAN if math.isnan(value) else value for value in values]


def _judged(evaluate: Any, replies: list[Any], name: str = "ContextRecall", **options: Any) -> Any:
    judge = ScriptedJudge({"joint": replies}, **options)
    (value,) = _shown(evaluate([FOUR], [getattr(ours, name)(judge=judge, name="it")])["it"])
    return value


def _sentence(number: int, verdict: Any) -> dict[str, Any]:
    """The entry of one sentence, by its id."""
    color = ("red", "blue", "green", "grey")[number - 1]
    evidence = [{"context": f"c{number}", "quote": color, "whole": True}] if verdict else []
    return {f"s{number}": {"evidence": evidence, "supported": verdict}}


def _reply(supported: list[Any], useful: list[Any]) -> dict[str, Any]:
    sentences: dict[str, Any] = {}
    for number, verdict in enumerate(supported, 1):
        sentences |= _sentence(number, verdict)
    rated = {f"c{number}": {"useful": verdict} for number, verdict in enumerate(useful, 1)}
    return {"code": "$code", "sentences": sentences, "useful": rated}


GOOD = _reply([True, True, False, False], [True, False, True])


# ---- judged ----


def test_average_precision_is_never_exactly_one_in_ragas(evaluate: Any) -> None:
    reply = _reply([True, True, True, False], [True, True, True])
    assert _judged(evaluate, [reply], "ContextPrecision") == 1.0
    judge = ScriptedJudge({"joint": [reply]})
    metric = ours.ContextPrecision(judge=judge, convention="ragas", name="it")
    assert evaluate([FOUR], [metric])["it"] == [0.9999999999666667]


def test_verdicts_beyond_yes_and_no_are_not_counted(evaluate: Any) -> None:
    """Ragas' collections give 1.5 for [2, -1, 5, 0], and 1e10 for a precision of [-1, 1, 0]."""
    assert _judged(evaluate, [_reply([2, -1, 5, 0], [True, True, True])]) == NAN
    bad = _reply([True, True, True, False], [-1, 1, 0])
    assert _judged(evaluate, [bad], "ContextPrecision") == NAN
    assert _judged(evaluate, [_reply([2, -1, 5, 0], [True, True, True]), GOOD]) == 0.5  # asked again


def test_fewer_verdicts_than_sentences_do_not_raise_the_recall(evaluate: Any) -> None:
    """Ragas: one of four judged, and yes, is 1.0."""
    one = _reply([True], [True, True, True])
    assert _judged(evaluate, [one]) == NAN
    assert _judged(evaluate, [one, _reply([True, True, False, False], [])]) == 0.5


def test_more_verdicts_than_sentences_do_not_lower_it(evaluate: Any) -> None:
    """Ragas: eight verdicts for four sentences are divided by eight."""
    more = {f"s{number}": {"supported": False} for number in range(5, 9)}
    extra = {**GOOD, "sentences": {**GOOD["sentences"], **more}}
    assert _judged(evaluate, [extra]) == 0.5
    twice = json.dumps(GOOD).replace('"s4": {', '"s3": {"supported": false}, "s4": {')
    assert _judged(evaluate, [twice]) == NAN  # one key twice: which one counts?
    assert _judged(evaluate, [twice, GOOD]) == 0.5


def test_an_empty_list_of_verdicts_is_no_number(evaluate: Any) -> None:
    assert _judged(evaluate, [{"code": "$code", "sentences": {}, "useful": {}}]) == NAN


def test_malformed_replies_are_read_or_asked_again(evaluate: Any) -> None:
    """Ragas: up to four calls, then the sample is NaN; one bad verdict of k throws the whole sample away."""
    fenced = f"Sure!\n```json\n{json.dumps(GOOD)}\n```"
    assert _judged(evaluate, [fenced]) == 0.5
    assert _judged(evaluate, ["no idea", GOOD]) == 0.5
    one_bad = _reply([True, "perhaps", False, False], [True, False, True])
    asked_again = {"code": "$code", "sentences": _sentence(2, True), "useful": {}}
    assert _judged(evaluate, [one_bad, asked_again]) == 0.5


def test_words_for_yes_and_no_are_understood(evaluate: Any) -> None:
    """Ragas takes ``"1"`` and not ``"Yes"``."""
    assert _judged(evaluate, [_reply(["Yes", "true", "No", "no"], [True, True, True])]) == 0.5


@pytest.mark.parametrize("k", [1, 3])
def test_nothing_retrieved_is_zero_and_the_judge_is_not_asked(evaluate: Any, k: int) -> None:
    """Ragas asks its judge (recall), gives 0.0 (precision), or raises ValueError (collections)."""
    judge = ScriptedJudge({})
    rows = [{**FOUR, "retrieved_contexts": []}] * k
    metrics = [ours.ContextRecall(judge=judge), ours.ContextPrecision(judge=judge)]
    result = evaluate(rows, metrics)
    assert result.scores == [{"context_recall": 0.0, "context_precision": 0.0}] * k
    (collections,) = ours.ContextRecall(judge=judge).batch_score(rows[:1])
    assert collections.value == 0.0


def test_statements_that_are_not_of_the_reference_cannot_come_in(evaluate: Any) -> None:
    """Ragas' judge writes the statements itself, and nobody checks where it took them from."""
    invented = {**GOOD, "sentences": {"s9": {"supported": True, "text": "Seven is seven."}}}
    assert _judged(evaluate, [invented]) == NAN


@pytest.mark.slow
def test_through_the_wire_as_from_a_script(evaluate: Any, llms: Any) -> None:
    """The same replies from a server, through Instructor and LangChain: the same numbers."""
    for reply, value in (
        (_reply([2, -1, 5, 0], [True] * 3), NAN),
        (_reply([True], [True] * 3), NAN),
        (GOOD, 0.5),
    ):
        for kind in (llms.instructor_async, llms.langchain):
            with FakeOpenAIServer(lambda request, reply=reply: json.dumps(reply)) as server:
                metric = ours.ContextRecall(llm=kind(server))
                assert _shown(evaluate([FOUR], [metric])["context_recall"]) == [value]


# ---- strings ----


def _strings(
    evaluate: Any, retrieved: list[str], reference: list[str], **options: Any
) -> list[float | str]:
    rows = [{"retrieved_contexts": retrieved, "reference_contexts": reference}]
    metrics = [
        ours.NonLLMContextRecall(name="r", **options),
        ours.NonLLMContextPrecision(name="p", **options),
    ]
    (scores,) = evaluate(rows, metrics).scores
    return _shown([scores["r"], scores["p"]])


def test_more_than_or_at_least_the_cut(evaluate: Any) -> None:
    """Ragas: recall wants more than 0.5, precision at least 0.5; at 1.0 recall is 0 for identical texts."""
    assert _strings(evaluate, ["ab"], ["ax"]) == [1.0, 1.0]
    assert _strings(evaluate, ["ab"], ["ax"], convention="ragas") == [0.0, 0.9999999999]
    assert _strings(evaluate, ["ab"], ["ab"], min_similarity=1.0) == [1.0, 1.0]
    assert _strings(evaluate, ["ab"], ["ab"], min_similarity=1.0, convention="ragas") == [
        0.0,
        0.9999999999,
    ]


@pytest.mark.parametrize(
    ("retrieved", "reference", "default", "as_ragas"),
    [
        ([], ["a"], [0.0, 0.0], [NAN, 0.0]),
        (["a"], [], [NAN, NAN], [NAN, NAN]),
        ([], [], [NAN, NAN], [NAN, 0.0]),
    ],
)
def test_empty_lists_of_strings(
    evaluate: Any, retrieved: list[str], reference: list[str], default: Any, as_ragas: Any
) -> None:
    """Ragas: another answer in every variant."""
    assert _strings(evaluate, retrieved, reference) == default
    assert _strings(evaluate, retrieved, reference, convention="ragas") == as_ragas


def test_duplicates_of_strings_count(evaluate: Any) -> None:
    """As in Ragas: each reference counts, and each retrieved chunk is a hit."""
    assert _strings(evaluate, ["Paris", "Paris"], ["Paris", "Paris", "Eiffel"]) == [2 / 3, 1.0]


@pytest.mark.parametrize("name", ["threshold", "distance_measure"])
@pytest.mark.parametrize("metric", ["NonLLMContextRecall", "NonLLMContextPrecision"])
def test_configuration_of_strings_is_one_and_checked(metric: str, name: str) -> None:
    """Ragas: the measure is set in another way in each, and the wrong way is NaN in ``evaluate()``."""
    kind = getattr(ours, metric)
    words = "threshold= is min_similarity=0.5 here; .* distance_measure= is similarity='levenshtein'"
    with pytest.raises(ParameterError, match=words):
        kind(**{name: 0.5})
    with pytest.raises(ParameterError, match=words):
        kind(0.5)
    with pytest.raises(ParameterError, match=f"{name} is fixed"):
        setattr(kind(), name, 0.5)


@pytest.mark.parametrize("cut", [math.nan, 2.0, -1, "0.5", True])
def test_cuts_are_checked(cut: Any) -> None:
    """Ragas: NaN and 2.0 make every score 0.0, -1 makes it 1.0."""
    with pytest.raises(ParameterError, match=r"min_similarity=.* must be a number from 0 to 1"):
        ours.NonLLMContextRecall(min_similarity=cut)


# ---- ids ----


def _ids(
    evaluate: Any, retrieved: list[Any], reference: list[Any], **options: Any
) -> list[float | str]:
    rows = [{"retrieved_context_ids": retrieved, "reference_context_ids": reference}]
    metrics = [
        ours.IDBasedContextRecall(name="r", **options),
        ours.IDBasedContextPrecision(name="p", **options),
    ]
    (scores,) = evaluate(rows, metrics).scores
    return _shown([scores["r"], scores["p"]])


@pytest.mark.parametrize(
    ("retrieved", "reference", "default", "as_ragas"),
    [
        ([], ["a"], [0.0, 0.0], [0.0, NAN]),
        (["a"], [], [NAN, NAN], [NAN, 0.0]),
        ([], [], [NAN, NAN], [NAN, NAN]),
    ],
)
def test_empty_lists_of_ids(
    evaluate: Any, retrieved: Any, reference: Any, default: Any, as_ragas: Any
) -> None:
    assert _ids(evaluate, retrieved, reference) == default
    assert _ids(evaluate, retrieved, reference, convention="ragas") == as_ragas


def test_precision_of_ids_is_a_share_by_default(evaluate: Any) -> None:
    """Ragas calls both precision: [a, x, y] against [a] is 1/3 by id and 1.0 by string."""
    assert _ids(evaluate, ["a", "x", "y"], ["a"])[1] == 1 / 3
    metric = ours.IDBasedContextPrecision(formula="average_precision")
    rows = [{"retrieved_context_ids": ["a", "x", "y"], "reference_context_ids": ["a"]}]
    assert evaluate(rows, [metric]).scores == [
        {"id_based_context_precision(formula=average_precision)": 1.0}
    ]


def test_duplicate_ids_collapse(evaluate: Any) -> None:
    assert _ids(evaluate, ["a", "a", "b"], ["a"]) == [1.0, 0.5]


def test_ids_of_mixed_types(evaluate: Any) -> None:
    """``1`` and ``"1"`` are one id; ``"01"`` and ``"a "`` are others. 1.5 and None are refused by Ragas' sample."""
    assert _ids(evaluate, [1, "a", "01"], ["1", "a ", "é"]) == [1 / 3, 1 / 3]
    for wrong in (1.5, None):
        with pytest.raises(ValueError, match="retrieved_context_ids"):
            ragas.SingleTurnSample(retrieved_context_ids=[wrong])


# ---- aggregates that users take for the metric's ----


def test_mean_leaves_out_what_has_no_number(evaluate: Any) -> None:
    rows = [{"retrieved_context_ids": [1], "reference_context_ids": ids} for ids in ([1], [], [2])]
    result = evaluate(rows, [ours.IDBasedContextRecall()])
    assert _shown(result["id_based_context_recall"]) == [1.0, NAN, 0.0]
    assert str(result) == "{'id_based_context_recall': 0.5000}"


def test_a_list_mark_of_the_reference_is_not_missing(evaluate: Any) -> None:
    row = {"reference": "1.1. Press the button.", "retrieved_contexts": ["Press the button."]}
    result = evaluate([row], [ours.ContextRecall()])
    assert list(result["context_recall"]) == [1.0]
