"""One judgement of the contexts of all settings: each setting gets the numbers that it would get alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    LexicalJudge,
    LLMJudge,
    NLIJudge,
    NonLLMContextRecall,
    Sample,
    ScriptedJudge,
    compare,
    compare_retrievers,
    evaluate,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.retrievers.pooled_judge import gains_by_pools, order_pool
from ctxmetrics.evaluation.retrievers.retriever_run import RetrieverRun
from ctxmetrics.evaluation.runs.history import read_history
from ctxmetrics.judges.base import Claims, Judgement
from ctxmetrics.verdicts import Evidence, Usage, Verdict
from support import answer_from
from support.cases import each_case

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ctxmetrics.judges.base import JudgeRequest

PARTS = {"first part", "second part"}


@dataclass
class KnownTruth:
    """A judge that knows what each context states of each unit: the whole, or one of two parts.

    Parts are useless to it beside a context that states the whole, and where one of them is missing.

    Attributes:
        truth: What a context states, by unit from 1.
        reads: How many contexts it reads, from the first.
    """

    truth: Mapping[str, Mapping[int, str]]
    reads: int = 1000
    name: str = "known truth"
    warnings: tuple[str, ...] = ()
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    async def attribute(self, request: JudgeRequest) -> Judgement:
        self.asked.append(("attribute", request.contexts))
        verdicts = []
        for number, id_ in enumerate(request.unit_ids, 1):
            spans = [
                Evidence(place, 0, len(text), text, whole=cell == "whole")
                for place, text in enumerate(request.contexts[: self.reads])
                if (cell := self.truth.get(text, {}).get(number))
            ]
            verdicts.append(Verdict(id=id_, value=self._holds(number, request), evidence=tuple(spans)))
        return Judgement(verdicts=tuple(verdicts))

    async def rate(self, request: JudgeRequest) -> Judgement:
        self.asked.append(("rate", request.contexts))
        read = request.contexts[: self.reads]
        verdicts = []
        for id_, text in zip(request.context_ids, request.contexts, strict=True):
            useful = False
            for number, cell in self.truth.get(text, {}).items():
                wholes = any(self.truth.get(other, {}).get(number) == "whole" for other in read)
                useful |= text in read and (
                    cell == "whole" or (self._holds(number, request) and not wholes)
                )
            verdicts.append(Verdict(id=id_, value=useful))
        return Judgement(verdicts=tuple(verdicts))

    def _holds(self, number: int, request: JudgeRequest) -> bool:
        cells = {self.truth.get(text, {}).get(number) for text in request.contexts[: self.reads]}
        return "whole" in cells or cells >= PARTS


def build_world(chance: random.Random) -> tuple[list[Sample], dict[str, dict[str, list[str]]], dict]:
    """Questions, what each setting returns for them, and what each text states."""
    truth: dict[str, dict[int, str]] = {}
    questions: list[Sample] = []
    answers: dict[str, dict[str, list[str]]] = {f"setting {number}": {} for number in range(4)}
    for place in range(3):
        units = chance.randint(1, 4)
        texts = [f"text {number} about {place}" for number in range(chance.randint(1, 9))]
        for text in texts:
            cells = ["whole", "first part", "second part"]
            truth[text] = {
                unit: chance.choice(cells) for unit in range(1, units + 1) if chance.random() < 0.4
            }
        reference = " ".join(f"Sentence number {unit} of {place}." for unit in range(1, units + 1))
        question = f"What about {place}?"
        questions.append(
            Sample(id=f"q{place}", user_input=question, reference=reference, response=reference)
        )
        for found in answers.values():
            found[question] = chance.choices(texts, k=chance.randint(0, 7))  # with repeats
    return questions, answers, truth


METRICS = (
    ContextRecall(),
    ContextPrecision(),
    ContextRecall(top_k=2),
    ContextPrecision(top_k=2),
    ContextPrecision(relevance="supports"),
    ContextPrecision(relevance="adds"),
    ContextPrecision(convention="ragas"),
    ContextPrecision(convention="ragas", relevance="supports"),
    ContextUtilization(),
)


def values_of(results: Any) -> list[list[float | None]]:
    return [[score.value for score in row.scores] for row in results]


@pytest.mark.slow
@each_case("seed", range(40))
def test_every_number_equals_judging_a_setting_alone(seed: int) -> None:
    chance = random.Random(seed)
    questions, answers, truth = build_world(chance)
    k = chance.randint(1, 6)
    judge = KnownTruth(truth)
    found = compare_retrievers(
        questions, {name: by.__getitem__ for name, by in answers.items()}, METRICS, judge=judge, k=k
    )
    for name, by_question in answers.items():
        samples = [
            Sample(
                id=question.id,
                user_input=question.user_input,
                reference=question.reference,
                response=question.response,
                retrieved_contexts=by_question[question.user_input or ""][:k],
            )
            for question in questions
        ]
        alone = evaluate(samples, METRICS, judge=KnownTruth(truth))
        assert values_of(found[name].results) == values_of(alone), name


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_permuting_the_settings_changes_no_number(seed: int) -> None:
    questions, answers, truth = build_world(random.Random(seed))
    numbers = []
    for order in permutations(answers):
        found = compare_retrievers(
            questions,
            {name: answers[name].__getitem__ for name in order},
            METRICS[:2],
            judge=KnownTruth(truth, reads=3),
        )
        numbers.append({name: values_of(found[name].results) for name in answers})
    assert len(numbers) == 24
    assert all(item == numbers[0] for item in numbers)


@pytest.mark.slow
def test_a_judge_that_reads_six_contexts_favours_no_setting() -> None:
    """Each of three settings has a text of its own with the answer, and fillers: the judge sees each equally often."""
    truth: dict[str, dict[int, str]] = {}
    answers: dict[str, dict[str, list[str]]] = {"a": {}, "b": {}, "c": {}}
    questions = []
    for number in range(600):
        question = f"Question {number}?"
        questions.append(Sample(id=str(number), user_input=question, reference="One sentence."))
        for name, found in answers.items():
            own = f"answer of {name} to {number}"
            truth[own] = {1: "whole"}
            found[question] = [own, *(f"filler {place} of {name}, {number}" for place in range(4))]
    found = compare_retrievers(
        questions,
        {name: by.__getitem__ for name, by in answers.items()},
        [ContextRecall()],
        judge=KnownTruth(truth, reads=6),
        progress=False,
    )
    means = [found[name].results.summary()["context_recall"].mean or 0 for name in answers]
    # Six of fifteen places are read: .4, with a standard error of .02.
    assert all(abs(mean - 0.4) < 0.1 for mean in means)


def test_order_of_a_pool_is_that_of_a_hash_of_the_contents() -> None:
    texts = [f"text {number}" for number in range(6)]
    assert order_pool("q", texts) == order_pool("q", reversed(texts))
    assert sorted(order_pool("q", texts)) == texts
    orders = {order_pool(f"question {number}", texts) for number in range(20)}
    assert len(orders) > 10  # not one order for all questions
    assert order_pool("q", ["x", "x"]) == ("x",)


QUESTION = Sample(id="q", user_input="What?", reference="One sentence. Another sentence.")


def run(
    judge: Any, answers: Mapping[str, Sequence[str]], metrics: Sequence[Any] = (), **options: Any
) -> Any:
    def retriever(contexts: Sequence[str]) -> Callable[[str], Sequence[str]]:
        return lambda _: contexts

    return compare_retrievers(
        [QUESTION],
        {name: retriever(contexts) for name, contexts in answers.items()},
        metrics or [ContextRecall(), ContextPrecision()],
        judge=judge,
        **options,
    )


def sets_of(judge: KnownTruth, step: str) -> list[tuple[str, ...]]:
    return [tuple(sorted(contexts)) for name, contexts in judge.asked if name == step]


def test_one_request_where_every_unit_is_stated_whole() -> None:
    judge = KnownTruth({"a": {1: "whole"}, "b": {2: "whole"}})
    found = run(judge, {"first": ["a", "x"], "second": ["b", "a"], "third": ["x"]})
    assert sets_of(judge, "attribute") == [("a", "b", "x")]
    assert sets_of(judge, "rate") == [("a", "b", "x")]
    assert (found.pools.questions, found.pools.alone) == (1, 0)
    assert [found[name].results[0]["context_recall"].value for name in found.settings] == [0.5, 1, 0]


def test_sets_that_would_be_asked_about_apart_are_counted() -> None:
    """Judged apart, as many are asked about; equal sets and empty ones cost nothing more."""
    settings = {"one": ["a", "x"], "same": ["a", "x"], "other": ["y"], "none": []}
    together = run(KnownTruth({"a": {1: "whole"}}), settings)
    assert (together.pools.questions, together.pools.apart) == (1, 2)
    assert "judged apart, 2 sets of contexts would be asked about" in str(together)
    judge = KnownTruth({"a": {1: "whole"}})
    run(judge, settings, pooled=False)
    assert set(sets_of(judge, "rate")) == {("a", "x"), ("y",)}


def test_parts_that_a_setting_holds_incompletely_are_asked_alone() -> None:
    judge = KnownTruth({"a": {1: "first part"}, "b": {1: "second part"}})
    found = run(judge, {"both": ["a", "b"], "one": ["a"], "none": ["x"]})
    assert sets_of(judge, "attribute") == [("a", "b", "x"), ("a",)]
    assert sets_of(judge, "rate") == [("a", "b", "x"), ("a",)]
    assert (found.pools.questions, found.pools.alone) == (1, 1)
    assert [found[name].results[0]["context_recall"].value for name in found.settings] == [0.5, 0, 0]


def test_parts_beside_a_whole_of_another_setting_are_asked_alone() -> None:
    judge = KnownTruth({"w": {1: "whole"}, "a": {1: "first part"}, "b": {1: "second part"}})
    found = run(judge, {"whole": ["w"], "parts": ["a", "b"]})
    assert sets_of(judge, "attribute") == [("a", "b", "w"), ("a", "b")]
    row = found["parts"].results[0]
    assert (row["context_recall"].value, row["context_precision"].value) == (0.5, 1.0)


def test_a_yes_without_evidence_is_asked_alone() -> None:
    class WithoutEvidence(KnownTruth):
        async def attribute(self, request: JudgeRequest) -> Judgement:
            judgement = await super().attribute(request)
            return Judgement(
                verdicts=tuple(Verdict(id=item.id, value=item.value) for item in judgement.verdicts)
            )

    judge = WithoutEvidence({"a": {1: "whole"}})
    found = run(judge, {"one": ["a", "x"], "other": ["y"]}, [ContextRecall()])
    assert [found[name].results[0]["context_recall"].value for name in found.settings] == [0.5, 0]
    assert found.pools.alone == 2


def test_a_reply_that_cannot_be_used_is_asked_alone() -> None:
    class Refuses(KnownTruth):
        async def attribute(self, request: JudgeRequest) -> Judgement:
            if "bad" in request.contexts:
                self.asked.append(("attribute", request.contexts))
                return Judgement(
                    verdicts=tuple(
                        Verdict(id=id_, value=None, code="refused") for id_ in request.unit_ids
                    )
                )
            return await super().attribute(request)

    judge = Refuses({"a": {1: "whole"}})
    found = run(judge, {"good": ["a"], "bad": ["bad", "a"]}, [ContextRecall()])
    assert found["good"].results[0]["context_recall"].value == 0.5
    assert found["bad"].results[0]["context_recall"].reason_code == "not_judged"


def test_an_llm_judge_costs_one_request_a_question() -> None:
    responder = answer_from(
        {"One sentence.": (True, "One sentence.", "One sentence.")},
        useful=lambda context, _: "One" in context,
        missing="no",
    )
    judge = ScriptedJudge(responder, name="labels")
    texts = {
        "first": ["One sentence.", "x is y."],
        "second": ["z is y.", "One sentence."],
        "third": ["x is y.", "z is y."],
    }
    found = run(judge, texts)
    assert found.usage.calls == 1
    apart = run(ScriptedJudge(responder, name="labels apart"), texts, pooled=False)
    assert apart.usage.calls == 3
    assert apart.pools is None
    for name in texts:
        assert values_of(found[name].results) == values_of(apart[name].results)


def test_claims_are_broken_once_and_judged_together() -> None:
    class Decomposes(KnownTruth):
        async def decompose(self, text: str, *, language: str) -> Claims:
            return Claims(claims=("One claim.", "Another claim."), usage=Usage(calls=1))

    judge = Decomposes({"a": {1: "whole"}, "b": {2: "whole"}})
    found = run(judge, {"one": ["a"], "two": ["a", "b"]}, [ContextRecall(unit="claim")])
    assert [found[name].results[0].scores[0].value for name in found.settings] == [0.5, 1.0]
    with pytest.raises(ParameterError, match="cannot break"):
        run(KnownTruth({}), {"one": ["a"], "two": ["b"]}, [ContextRecall(unit="claim")])


def test_references_are_judged_each_in_one_pool() -> None:
    question = Sample(
        id="q", user_input="What?", references=["One sentence.", "Another one. And more."]
    )
    judge = KnownTruth({"a": {1: "whole"}, "b": {1: "whole", 2: "whole"}})
    found = compare_retrievers(
        [question],
        {"one": lambda _: ["a"], "two": lambda _: ["b"]},
        [ContextRecall()],
        judge=judge,
    )
    assert sets_of(judge, "attribute") == [("a", "b"), ("a", "b")]
    assert [found[name].results[0].scores[0].value for name in found.settings] == [1.0, 1.0]


# --- the name of the judge ---


def test_compare_takes_pooled_and_lone_runs_as_two_judges() -> None:
    judge = KnownTruth({"a": {1: "whole"}})
    texts = {"one": ["a", "x"], "two": ["x"]}
    pooled, lone = run(judge, texts), run(judge, texts, pooled=False)
    assert pooled["one"].results[0]["context_recall"].provenance.judge == (
        "known truth over pools of one@10, two@10"
    )
    with pytest.raises(ParameterError, match="judge"):
        compare(pooled["one"].results, lone["one"].results)
    same = compare(lone["one"].results, lone["two"].results)
    assert same["context_recall"].difference == -0.5


def test_pools_of_unlike_settings_do_not_compare_in_the_history(tmp_path: Path) -> None:
    judge = KnownTruth({"a": {1: "whole"}})
    for place, texts in enumerate(({"one": ["a"], "two": ["x"]}, {"one": ["a"], "three": ["x"]})):
        run(judge, texts)["one"].results.to_jsonl(tmp_path / f"{place}.jsonl")
    history = read_history([tmp_path / "0.jsonl", tmp_path / "1.jsonl"])
    assert history.runs[1].changes == (
        "judge: known truth over pools of one@10, two@10 -> known truth over pools of one@10, three@10",
    )


def test_judges_that_judge_each_context_apart_need_no_pool() -> None:
    model = ScriptedJudge({"joint": [""]}).model
    assert not gains_by_pools(LexicalJudge())
    assert not gains_by_pools(NLIJudge(lambda pairs: [0.0] * len(pairs), identity="x"))
    assert not gains_by_pools(LLMJudge(model, per_context=True))
    assert gains_by_pools(LLMJudge(model))
    assert gains_by_pools(KnownTruth({}))
    found = run(LexicalJudge(), {"one": ["One sentence."], "two": ["x"]})
    assert found.pools is None
    assert found["one"].results[0]["context_recall"].provenance.judge == "lexical"


def test_controls_are_judged_without_a_pool() -> None:
    judge = ScriptedJudge(answer_from(), name="labels for controls")
    found = run(judge, {"one": ["One sentence."], "two": ["x is y."]}, controls=2)
    assert found.controls is not None


def test_the_run_names_the_judge_of_its_scores() -> None:
    """A calibration card is checked against it before anything is paid."""
    questions = [Sample(user_input="q", reference="A unit stands here.", reference_contexts=["x"])]
    retrievers = {"a": lambda question: ["x"], "b": lambda question: ["y"]}
    pooled = RetrieverRun(questions, retrievers, [ContextRecall()], judge=KnownTruth({}))
    assert pooled.judge_name is not None
    assert pooled.judge_name.startswith("known truth over pools of ")
    apart = RetrieverRun(questions, retrievers, [ContextRecall()], judge=KnownTruth({}), pooled=False)
    assert apart.judge_name == "known truth"
    assert RetrieverRun(questions, retrievers, [NonLLMContextRecall()]).judge_name is None
