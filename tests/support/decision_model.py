"""A decision model that is a function, and a sample to judge with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxmetrics import ContextPrecision, ContextRecall, DecisionJudge, Decisions, Sample
from support.decisions import honest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LAYOUTS = ("context", "sample")
METRICS = (ContextRecall(), ContextPrecision())
SAMPLE = Sample(
    id="tower",
    user_input="Where is the tower?",
    reference="The tower stands in Paris. It was painted blue in 1950.",
    retrieved_contexts=[
        "The tower stands in Paris, on the left bank.",
        "Bananas are yellow.",
        "Later it was painted blue. That was in 1950.",
    ],
)


class Model:
    """A decision model that is a function of state and question; it notes what it is asked."""

    def __init__(self, answer: Callable[[str, str], Any] = honest, identity: str = "model") -> None:
        self.answer, self.identity = answer, identity
        self.asked: list[tuple[str, dict[str, str]]] = []

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
        self.asked.append((state, dict(questions)))
        answers = {id_: self.answer(state, text) for id_, text in questions.items()}
        return Decisions(probabilities=answers, served_model="served-1")


def by_id(**probabilities: Any) -> Model:
    """Answer by the question's id, and .1 where there is none."""

    class ById(Model):
        async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
            self.asked.append((state, dict(questions)))
            first = next(iter(questions))
            ids = {id_: first if id_ == "control" else id_ for id_ in questions}
            answers = {id_: probabilities.get(name, 0.1) for id_, name in ids.items()}
            return Decisions(probabilities=answers, refused=frozenset(probabilities.get("refused", ())))

    return ById(identity=repr(sorted(probabilities.items())))


def score(metric: Any, judge: DecisionJudge, sample: Sample = SAMPLE) -> Any:
    return replace(metric, judge=judge).score(sample)
