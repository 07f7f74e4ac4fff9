"""A judge of your own: two methods, over the handbook data set.

A judge can be made of anything that says "this text entails that sentence": an NLI model, an embedding,
a rule. Here it is a rule (most long words of the sentence stand in the text), so that the script needs
nothing else. Put your model in its place.

Run it: python examples/own_judge.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    Evidence,
    Judgement,
    JudgeRequest,
    Verdict,
    evaluate,
    read_samples,
)

if TYPE_CHECKING:
    from collections.abc import Callable

HANDBOOK = Path(__file__).with_name("handbook.jsonl")


@dataclass(frozen=True)
class EntailmentJudge:
    """A sentence is supported by the first context that entails it; a context is useful if it entails a sentence.

    Attributes:
        entails: Returns how sure it is, from 0 to 1, that the first text states the second.
        bar: The value from which on that is a yes.
        name: What ``score.provenance.judge`` shows. It should change when the model does.
        warnings: What a reader of the number must know.
    """

    entails: Callable[[str, str], float]
    bar: float = 0.7
    name: str = "entailment"
    warnings: tuple[str, ...] = ("Entailment judge: never compared with people.",)

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Which units do the contexts support? A yes carries evidence: a span of a retrieved text."""
        pairs = zip(request.unit_ids, request.units, strict=True)
        return Judgement(
            verdicts=tuple(self._support(id_, unit, request.contexts) for id_, unit in pairs)
        )

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Which contexts are useful for giving the answer?"""
        pairs = zip(request.context_ids, request.contexts, strict=True)
        return Judgement(
            verdicts=tuple(self._use(id_, context, request.units) for id_, context in pairs)
        )

    def _support(self, id_: str, unit: str, contexts: tuple[str, ...]) -> Verdict:
        for number, context in enumerate(contexts):
            if self.entails(context, unit) >= self.bar:
                return Verdict(
                    id=id_, value=True, evidence=(Evidence(number, 0, len(context), context),)
                )
        return Verdict(id=id_, value=False, reason="no context entails it")

    def _use(self, id_: str, context: str, units: tuple[str, ...]) -> Verdict:
        surest = max((self.entails(context, unit) for unit in units), default=0.0)
        return Verdict(id=id_, value=surest >= self.bar, reason=f"{surest:.2f} at best")


def shared_words(premise: str, hypothesis: str) -> float:
    """Return the share of the hypothesis' longer words and numbers that the premise holds: a stand-in for a model."""
    wanted = set(re.findall(r"\w{4,}|\d+", hypothesis.casefold()))
    return (
        len(wanted & set(re.findall(r"\w{4,}|\d+", premise.casefold()))) / len(wanted)
        if wanted
        else 0.0
    )


def main() -> None:
    """Judge the data set with it, and show the worst sample."""
    judge = EntailmentJudge(shared_words, name="entailment(shared words)")
    results = evaluate(
        read_samples(HANDBOOK), [ContextRecall(), ContextPrecision()], judge=judge, progress=False
    )
    print(results.summary())
    worst = min(results, key=lambda row: row["context_recall"].value or 0.0)
    print()
    print(worst["context_recall"].pretty())


if __name__ == "__main__":
    main()
