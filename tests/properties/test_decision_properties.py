"""Whatever a decision model's server answers, and in what order or company it is asked: no score rises."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmetrics import ContextRecall, DecisionJudge, Decisions, Sample, evaluate, forget
from ctxmetrics.models.openai.decision_api import WIRES, read_reply
from support.decision_model import LAYOUTS, METRICS, Model, score
from support.decisions import honest

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = st.sampled_from(["red", "tower", "stands", "blue", "Paris", "old", "river", "bank"])
_TEXTS = st.lists(_WORDS, min_size=2, max_size=5).map(lambda words: " ".join(words).capitalize() + ".")
_SAMPLES = st.builds(
    lambda units, contexts: Sample(reference=" ".join(units), retrieved_contexts=contexts),
    st.lists(_TEXTS, min_size=1, max_size=3, unique=True),
    st.lists(_TEXTS, min_size=1, max_size=4, unique=True),
)
# What becomes of the answer to a question: another value, or the name of a fault.
_FAULTS = st.sampled_from(
    [float("nan"), 1.3, -0.2, None, "0.99", True, float("inf"), "drop", "double", "extra", "refuse"]
)
# Answers to questions of the model's own.
_EXTRA = [("s1_c9", 1.0), ("s9", 1.0), ("c9", 1.0), ("", 1.0)]


class Faulty(Model):
    """A model behind a wire whose answers to some questions are faulty, whenever they are asked.

    Args:
        wire: The form of its replies.
        fault: What becomes of an answer.
        hit: Which of nine questions have one, in the order in which they are first asked.
    """

    def __init__(self, wire: Any, fault: Any, hit: int) -> None:
        super().__init__()
        self.wire, self.fault, self.hit = wire, fault, hit
        self.numbers: dict[str, int] = {}

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
        self.asked.append((state, dict(questions)))
        answers: list[tuple[str, Any]] = []
        for id_, text in questions.items():
            number = self.numbers.setdefault(state + text, len(self.numbers))
            value = honest(state, text)
            answers += [(id_, value)] if number % 9 != self.hit else self._spoil(id_, value)
        return read_reply(write_reply(self.wire, answers), self.wire, list(questions))

    def _spoil(self, id_: str, value: float) -> list[tuple[str, Any]]:
        if self.fault == "drop":
            return []
        if self.fault == "double":
            return [(id_, value), (id_, 1.0)]
        if self.fault == "extra":
            return [(id_, value), *_EXTRA]
        return [(id_, self.fault)]


def write_reply(wire: Any, answers: list[tuple[str, Any]]) -> str:
    """Write a reply; its ids may come twice."""
    form, items = WIRES[wire], []
    for id_, value in answers:
        kind = "refusal" if value == "refuse" else form.kind
        item = json.dumps({"type": kind, "name": id_, form.value: value})
        items.append(item if wire == "openai" else f"{json.dumps(id_)}: {item}")
    brackets = "[]" if wire == "openai" else "{}"
    return f'{{"answers": {brackets[0]}{", ".join(items)}{brackets[1]}}}'


def value_of(score_: Any) -> float:
    """Return a value; a score without one counts as the lowest."""
    return -1.0 if score_.value is None else score_.value


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("layout", LAYOUTS)
@given(sample=_SAMPLES, fault=_FAULTS, hit=st.integers(0, 8))
@settings(max_examples=settings().max_examples // 4)
def test_faulty_answers(layout: Any, wire: Any, sample: Sample, fault: Any, hit: int) -> None:
    for metric in METRICS:
        values = []
        for model in (Model(), Faulty(wire, fault, hit)):
            forget()
            values.append(value_of(score(metric, DecisionJudge(model, layout=layout), sample)))
        good, worse = values
        assert worse <= good


@pytest.mark.parametrize("layout", LAYOUTS)
class TestOrder:
    @given(samples=st.lists(_SAMPLES, min_size=2, max_size=4), most=st.integers(1, 9), data=st.data())
    @settings(max_examples=settings().max_examples // 5)
    def test_order_and_company(
        self, layout: Any, samples: list[Sample], most: int, data: st.DataObject
    ) -> None:
        forget()
        alone = [
            score(ContextRecall(), DecisionJudge(Model(), layout=layout), item) for item in samples
        ]
        order = data.draw(st.permutations(range(len(samples))))
        forget()
        judge = DecisionJudge(Model(), layout=layout, max_questions=most)
        results = evaluate([samples[place] for place in order], METRICS, judge=judge, progress=False)
        for place, row in zip(order, results, strict=True):
            assert row["context_recall"].value == alone[place].value
            assert row["context_recall"].verdicts == alone[place].verdicts

    @given(sample=_SAMPLES, data=st.data())
    @settings(max_examples=settings().max_examples // 5)
    def test_order_of_contexts(self, layout: Any, sample: Sample, data: st.DataObject) -> None:
        contexts = tuple(data.draw(st.permutations(sample.retrieved_contexts or ())))
        judge = DecisionJudge(Model(), layout=layout)
        values = [score(ContextRecall(), judge, sample).value]
        values.append(score(ContextRecall(), judge, replace(sample, retrieved_contexts=contexts)).value)
        assert values[0] == values[1]
