"""Through `Dataset.evaluate_sync`: what reaches the report, and every trap of it that touches an evaluator."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from ctxmetrics import ScriptedJudge, __version__
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable

ours = later("ctxmetrics_pydantic_evals")
pydantic_evals = later("pydantic_evals")
rich = later("rich")


REFERENCE = "The Eiffel Tower stands in Paris. It was finished in 1889."
CONTEXTS = ["Bananas are yellow.", "The Eiffel Tower stands in Paris, France."]
"""By hand: recall 1 of 2; the useful context stands second, so average precision is 1/2."""
REPLY = {
    "code": "$code",
    "sentences": {
        "s1": {
            "supported": True,
            "evidence": [{"context": "c2", "quote": "The Eiffel Tower stands in Paris", "whole": True}],
        },
        "s2": {"supported": False, "missing": "no context gives the year"},
    },
    "useful": {"c1": {"useful": False}, "c2": {"useful": True}},
}


def evaluate(
    cases: list[Any], evaluators: list[Any], task: Callable[[Any], Any], **options: Any
) -> Any:
    dataset: pydantic_evals.Dataset[Any, Any, Any] = pydantic_evals.Dataset(
        name="test", cases=cases, evaluators=evaluators
    )
    return dataset.evaluate_sync(task, progress=False, **options)


def case(**changes: Any) -> pydantic_evals.Case[Any, Any, Any]:
    return pydantic_evals.Case(
        **{
            "name": "tower",
            "inputs": {"question": "Where is it?"},
            "expected_output": REFERENCE,
            **changes,
        }
    )


def retrieve(inputs: Any) -> Any:
    return {"answer": "In Paris.", "documents": CONTEXTS}


def scores(report: Any, index: int = 0) -> dict[str, Any]:
    return {name: result.value for name, result in report.cases[index].scores.items()}


def failures(report: Any, index: int = 0) -> dict[str, str]:
    return {failure.name: failure.error_message for failure in report.cases[index].evaluator_failures}


# ---- results ----


def test_what_reaches_the_report() -> None:
    report = evaluate(
        [case()],
        [ours.ContextRecallEvaluator(threshold=0.5), ours.ContextPrecisionEvaluator()],
        retrieve,
    )
    (found,) = report.cases
    recall = found.scores["context_recall"]
    assert (recall.value, type(recall.value)) == (0.5, float)
    assert recall.reason.startswith('1 of 2 sentences supported.\ns2 no: "It was finished in 1889."')
    assert found.scores["context_precision"].value == 0.5
    assert {name: result.value for name, result in found.assertions.items()} == {
        "context_recall_pass": True
    }
    assert found.evaluator_failures == []
    assert (recall.source.name, recall.source.arguments) == (
        "ContextRecallEvaluator",
        {"threshold": 0.5},
    )


def test_all_seven() -> None:
    def task(inputs: Any) -> Any:
        return {
            "answer": "Rome is old.",
            "documents": [{"text": "Paris is big.", "id": "a"}, {"text": "Rome is old.", "id": "b"}],
        }

    expected = {"answer": "Paris is big.", "documents": ["Paris is big."], "reference_ids": ["b", "z"]}
    evaluators = [
        ours.ContextRecallEvaluator(), ours.ContextPrecisionEvaluator(), ours.ContextUtilizationEvaluator(),
        ours.NonLLMContextRecallEvaluator(), ours.NonLLMContextPrecisionEvaluator(), ours.IDBasedContextRecallEvaluator(),
        ours.IDBasedContextPrecisionEvaluator(),
    ]  # fmt: skip
    assert scores(evaluate([case(expected_output=expected)], evaluators, task)) == {
        "context_recall": 1.0,
        "context_precision": 1.0,
        "context_utilization": 0.5,
        "non_llm_context_recall": 1.0,
        "non_llm_context_precision": 1.0,
        "id_based_context_recall": 0.5,
        "id_based_context_precision": 0.5,
    }


@pytest.mark.parametrize(("mark", "passed"), [(0.5, True), (0.51, False)])
def test_a_pass_mark_is_an_assertion(mark: float, passed: bool) -> None:
    report = evaluate(
        [case()], [ours.ContextRecallEvaluator(threshold=mark, evaluation_name="recall")], retrieve
    )
    assert report.cases[0].assertions["recall_pass"].value is passed
    assert scores(report) == {"recall": 0.5}


def test_uncomputable_score_is_a_failure_outside_averages() -> None:
    cases = [case(), case(name="nothing", expected_output="?!")]
    report = evaluate(
        cases,
        [ours.ContextRecallEvaluator(threshold=0.1), pydantic_evals.evaluators.EqualsExpected()],
        retrieve,
    )
    assert (scores(report, 0), scores(report, 1)) == ({"context_recall": 0.5}, {})
    assert failures(report, 1) == {
        "context_recall": "NoScoreError: no_reference: the reference side is empty: under the convention 'default' "
        "context_recall is undefined then."
    }
    assert report.cases[1].assertions.keys() == {"EqualsExpected"}
    assert report.averages().scores == {"context_recall": 0.5}


def test_nothing_retrieved_is_zero() -> None:
    evaluators = [ours.ContextRecallEvaluator(), ours.ContextPrecisionEvaluator()]
    report = evaluate([case()], evaluators, lambda inputs: {"documents": []})
    assert scores(report) == {"context_recall": 0.0, "context_precision": 0.0}


def test_a_case_without_contexts_says_where_they_were_looked_for() -> None:
    report = evaluate([case()], [ours.ContextRecallEvaluator()], lambda inputs: {"answer": "In Paris."})
    message = failures(report)["context_recall"]
    assert message.startswith(
        "MissingFieldError: Sample 'tower' has no retrieved_contexts: no retrieved_contexts / "
    )
    assert "(there is: answer), and none in the case's metadata or the task's attributes;" in message


def test_failing_judge_costs_no_other_evaluator_or_case() -> None:
    def reply(prompt: Any) -> Any:
        return "no json" if "broken" in prompt.user else REPLY

    judge = ScriptedJudge(reply, name="sometimes")
    cases = [case(inputs="broken"), case(name="fine", inputs="fine")]
    report = evaluate(
        cases, [ours.ContextRecallEvaluator(judge=judge), ours.ContextUtilizationEvaluator()], retrieve
    )
    assert failures(report, 0)["context_recall"].startswith(
        "NoScoreError: not_judged: 2 of 2 not judged (invalid_reply)"
    )
    assert (scores(report, 0), scores(report, 1)["context_recall"]) == (
        {"context_utilization": 0.5},
        0.5,
    )


def test_recall_and_precision_ask_once_with_the_question() -> None:
    asked = []

    def reply(prompt: Any) -> Any:
        asked.append((prompt.step, "Where is it?" in prompt.user))
        return REPLY

    judge = ScriptedJudge(reply, name="counting")
    report = evaluate(
        [case()],
        [ours.ContextRecallEvaluator(judge=judge), ours.ContextPrecisionEvaluator(judge=judge)],
        retrieve,
    )
    assert (scores(report), asked) == (
        {"context_recall": 0.5, "context_precision": 0.5},
        [("joint", True)],
    )


def test_two_of_a_kind_keep_their_names() -> None:
    evaluators = [
        ours.ContextRecallEvaluator(),
        ours.ContextRecallEvaluator(top_k=1),
        ours.ContextRecallEvaluator(evaluation_name="mine", top_k=1),
    ]
    report = evaluate([case()], evaluators, retrieve)
    assert scores(report) == {"context_recall": 0.5, "context_recall(top_k=1)": 0.0, "mine": 0.0}


def test_an_evaluator_of_one_case_and_repeated_runs() -> None:
    report = evaluate(
        [case(evaluators=[ours.ContextRecallEvaluator()]), case(name="other")], [], retrieve
    )
    assert (scores(report, 0), scores(report, 1)) == ({"context_recall": 0.5}, {})


def test_the_library_s_version_is_the_evaluator_s() -> None:
    report = evaluate([case()], [ours.ContextRecallEvaluator()], retrieve)
    result = report.cases[0].scores["context_recall"]
    if not hasattr(result, "evaluator_version"):
        pytest.skip("this pydantic-evals knows no versions")
    assert result.evaluator_version == f"ctxmetrics {__version__}"


def test_markup_in_a_chunk_does_not_end_the_report() -> None:
    """Reports are printed with Rich: a closing tag that nobody opened would be an error."""

    def task(inputs: Any) -> Any:
        return {"answer": "x", "documents": ["It is [/INST] here [link=http://x.example]now[/link]."]}

    judge = ScriptedJudge({"joint": ["[/b] no json"]})
    cases = [case(expected_output="It is [/INST] here. [bold]More[/red] than that.")]
    report = evaluate(
        cases, [ours.ContextRecallEvaluator(), ours.ContextPrecisionEvaluator(judge=judge)], task
    )
    printed = io.StringIO()
    console = rich.console.Console(file=printed, width=300)
    report.print(console=console, include_reasons=True, include_evaluator_failures=True)
    shown = printed.getvalue().replace("\u2060", "")
    assert "It is [/INST] here" in shown
    assert "not_judged" in shown


def test_no_value_is_a_bool_or_an_int() -> None:
    """pydantic-evals counts 1 as a score and True as an assertion."""
    report = evaluate(
        [case(expected_output="The Eiffel Tower stands in Paris.")],
        [ours.ContextRecallEvaluator()],
        retrieve,
    )
    assert repr(scores(report)["context_recall"]) == "1.0"
    assert report.cases[0].assertions == {}


# ---- where things stand ----


class Model(pydantic.BaseModel):
    answer: str = "In Paris."
    contexts: list[Any] = CONTEXTS


@dataclass
class Plain:
    result: str
    source_documents: list[Any]


class Slots:
    __slots__ = ("documents",)

    def __init__(self) -> None:
        self.documents = CONTEXTS


@pytest.mark.parametrize(
    "output",
    [
        {"retrieved_contexts": CONTEXTS},
        {"context": CONTEXTS, "answer": "x"},
        {"documents": [{"page_content": text} for text in CONTEXTS]},
        {"documents": [(text, 0.5) for text in CONTEXTS]},
        Model(),
        Plain("In Paris.", CONTEXTS),
        Slots(),
        CONTEXTS,
    ],
    ids=["own name", "context", "documents", "pairs", "model", "dataclass", "slots", "a list"],
)
def test_outputs_of_any_kind(output: Any) -> None:
    report = evaluate(
        [case()],
        [ours.ContextRecallEvaluator(), ours.ContextPrecisionEvaluator()],
        lambda inputs: output,
    )
    assert scores(report) == {"context_recall": 0.5, "context_precision": 0.5}


@pytest.mark.parametrize(
    "expected",
    [
        REFERENCE,
        {"answer": REFERENCE},
        {"reference": REFERENCE},
        {"ground_truth": REFERENCE},
        Model(answer=REFERENCE, contexts=[]),
        Plain(REFERENCE, []),
    ],
    ids=["text", "answer", "reference", "ground_truth", "model", "dataclass"],
)
def test_expected_outputs_of_any_kind(expected: Any) -> None:
    report = evaluate([case(expected_output=expected)], [ours.ContextRecallEvaluator()], retrieve)
    assert scores(report) == {"context_recall": 0.5}


def test_expected_output_of_the_outputs_type_holds_references() -> None:
    expected = Model(answer=REFERENCE, contexts=["Bananas are yellow.", "Something else entirely."])
    report = evaluate(
        [case(expected_output=expected)], [ours.NonLLMContextRecallEvaluator()], lambda inputs: Model()
    )
    assert scores(report) == {"non_llm_context_recall": 0.5}


def test_an_expected_output_in_our_words_holds_the_same() -> None:
    output = {"retrieved_contexts": ["Bananas are yellow."], "retrieved_context_ids": ["a"]}
    expected = {
        "retrieved_contexts": ["Bananas are yellow.", "Something else."],
        "retrieved_context_ids": ["a", "b"],
    }
    evaluators = [ours.NonLLMContextRecallEvaluator(), ours.IDBasedContextRecallEvaluator()]
    report = evaluate([case(expected_output=expected)], evaluators, lambda inputs: output)
    assert scores(report) == {"non_llm_context_recall": 0.5, "id_based_context_recall": 0.5}


def test_what_should_have_been_retrieved_is_never_what_was() -> None:
    report = evaluate(
        [case()], [ours.NonLLMContextRecallEvaluator(), ours.IDBasedContextRecallEvaluator()], retrieve
    )
    assert scores(report) == {}
    assert failures(report).keys() == {"non_llm_context_recall", "id_based_context_recall"}


class Notes(pydantic.BaseModel):
    retrieved_context_ids: list[int]
    reference_context_ids: list[str]


@pytest.mark.parametrize(
    "metadata",
    [
        {"retrieved_context_ids": [1, 2], "reference_context_ids": ["1", "3"]},
        Notes(retrieved_context_ids=[1, 2], reference_context_ids=["1", "3"]),
    ],
)
def test_fields_in_the_metadata(metadata: Any) -> None:
    report = evaluate(
        [case(metadata=metadata)], [ours.IDBasedContextRecallEvaluator()], lambda inputs: "In Paris."
    )
    assert scores(report) == {"id_based_context_recall": 0.5}


def test_what_the_task_said_about_itself() -> None:
    """A task that returns its answer alone can still say what was retrieved for it, each run its own."""

    async def task(inputs: Any) -> str:
        pydantic_evals.set_eval_attribute("retrieved_contexts", inputs["found"])
        await asyncio.sleep(0.01)
        return "In Paris."

    cases = [
        case(name=str(number), inputs={"question": "?", "found": found})
        for number, found in enumerate((CONTEXTS, [], CONTEXTS[:1]))
    ]
    report = evaluate(cases, [ours.ContextRecallEvaluator(), ours.ContextUtilizationEvaluator()], task)
    found = {item.name: item.scores["context_recall"].value for item in report.cases}
    assert found == {"0": 0.5, "1": 0.0, "2": 0.0}


def test_metadata_of_other_meaning_is_left_alone() -> None:
    metadata = {"error": "none known", "id": {"not": "an id"}, "output": "x", "inputs": "y", "run": 3}
    report = evaluate([case(metadata=metadata)], [ours.ContextRecallEvaluator()], retrieve)
    assert scores(report) == {"context_recall": 0.5}
    missing = evaluate(
        [case(metadata=metadata)], [ours.ContextRecallEvaluator()], lambda inputs: "In Paris."
    )
    assert "no retrieved_contexts / documents" in failures(missing)["context_recall"]


def test_other_keys() -> None:
    cases = [
        case(inputs={"ask": "?", "found": CONTEXTS}, expected_output={"gold": {"text": REFERENCE}})
    ]
    keys: Any = {
        "question_key": "ask",
        "contexts_key": "inputs.found",
        "reference_key": lambda record: record["expected_output"]["gold"]["text"],
    }
    report = evaluate(cases, [ours.ContextRecallEvaluator(**keys)], lambda inputs: "In Paris.")
    assert scores(report) == {"context_recall": 0.5}


def test_ids_of_documents() -> None:
    documents = [
        {"text": "x", "metadata": {"source": "a.md"}},
        {"text": "y", "metadata": {"source": "b.md"}},
    ]
    evaluator = ours.IDBasedContextPrecisionEvaluator(id_key="source")
    report = evaluate(
        [case(expected_output={"reference_ids": ["a.md"]})], [evaluator], lambda inputs: documents
    )
    assert scores(report) == {"id_based_context_precision": 0.5}
    missing = evaluate(
        [case(expected_output={"reference_ids": ["a.md"]})],
        [ours.IDBasedContextPrecisionEvaluator()],
        lambda inputs: documents,
    )
    assert "item 1: a dict has no id" in failures(missing)["id_based_context_precision"]


# ---- ways to run ----


def test_inside_a_running_loop() -> None:
    dataset: pydantic_evals.Dataset[Any, Any, Any] = pydantic_evals.Dataset(
        name="test", cases=[case()], evaluators=[ours.ContextRecallEvaluator()]
    )

    async def run() -> Any:
        return await dataset.evaluate(retrieve, progress=False)

    assert scores(asyncio.run(run())) == {"context_recall": 0.5}


def test_an_evaluator_by_itself_anywhere() -> None:
    from pydantic_evals.evaluators import EvaluatorContext

    ctx = EvaluatorContext(
        name=None, inputs="?", metadata=None, expected_output=REFERENCE, output=CONTEXTS, duration=0.0,
        _span_tree=None, attributes={}, metrics={},
    )  # fmt: skip
    evaluator = ours.ContextRecallEvaluator()

    async def inside_a_loop() -> Any:
        return evaluator.evaluate_sync(ctx), await evaluator.evaluate_async(ctx)

    plain = evaluator.evaluate_sync(ctx)
    assert plain["context_recall"].value == 0.5
    assert asyncio.run(inside_a_loop()) == (plain, plain)


def test_a_retry_asks_the_judge_again() -> None:
    pytest.importorskip("httpx", reason="what pydantic-ai's retries need is not installed")
    from tenacity import stop_after_attempt

    replies = iter(["no json", "no json", REPLY])
    judge = ScriptedJudge(lambda prompt: next(replies), name="healing")
    report = evaluate(
        [case()],
        [ours.ContextRecallEvaluator(judge=judge)],
        retrieve,
        retry_evaluators={"stop": stop_after_attempt(2)},
    )
    assert scores(report) == {"context_recall": 0.5}
