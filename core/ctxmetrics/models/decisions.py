"""Asks a decision model within the limits of the run, and checks its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypeIs

from ctxmetrics._internal.secrets import hide_keys
from ctxmetrics.errors import BudgetExceededError, JudgeError
from ctxmetrics.models.asking import ask
from ctxmetrics.models.base import DecisionModel, Decisions, Prompt, Reply, served_name
from ctxmetrics.models.runtime.failures import CONTENT_CODES
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.verdicts import Usage

# How far apart two answers to one question may be.
STEADY = 0.1
# The id of the question that a request repeats.
CONTROL = "control"
# What a server calls them that takes fewer in one request.
_QUESTIONS = "question"
_REASONS = {
    "missing_id": "the model gave no answer, also when asked again",
    "invalid_reply": "what the model answered is no probability, also when asked again",
    "refused": "the model declined the question",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The checked answer to one question.

    Attributes:
        probability: The probability of a yes; None where there is none.
        code: The verdict code of a missing answer.
        reason: The same in words.
        served_model: The model that answered, where its server names it.
        gap: How far apart the two answers to the question were that its request held twice.
    """

    probability: float | None = None
    code: str = ""
    reason: str = ""
    served_model: str = ""
    gap: float = 0.0


_NO_ANSWER = Answer()


@dataclass(slots=True)
class Exchange:
    """The requests about one state: they are sent within the limits of the run, and their answers checked.

    Args:
        model: The model.
        version: The version of the questions.
        state: The state.

    Attributes:
        answers: One a question, by the question's id.
        usage: What they cost.
    """

    model: DecisionModel
    version: str
    state: str
    answers: dict[str, Answer] = field(init=False, default_factory=dict)
    usage: Usage = field(init=False, default_factory=Usage)

    async def ask(self, questions: Mapping[str, str], most: int) -> None:
        """Ask questions, at most so many in a request, and once again where an answer is missing or is no probability."""
        run, name = current_run(), hide_keys(self.model.identity)
        pending = list(questions)
        while pending:
            size = max(1, min(most, run.question_limits.get(name, most)))
            repeats = size > 1
            batch = pending[: size - repeats]
            asked = {id_: questions[id_] for id_ in batch}
            try:
                await self._ask_twice(asked, repeats=repeats)
            except JudgeError as problem:
                count = len(batch) + repeats
                too_many = problem.reason_code == "too_long" and _QUESTIONS in str(problem).lower()
                if too_many and count > 1:
                    run.question_limits[name] = count // 2
                    continue
                self._fail(batch, problem.reason_code, str(problem))
            except BudgetExceededError as problem:
                self._fail(batch, problem.code, str(problem))
            pending = pending[len(batch) :]
        codes = {answer.code for answer in self.answers.values()}
        if "" in codes:
            run.breaker_of(name).usable()
        elif unusable := codes & CONTENT_CODES:
            run.breaker_of(name).unusable(min(unusable))

    async def _ask_twice(self, questions: Mapping[str, str], *, repeats: bool) -> None:
        """Ask questions in one request, and those without an answer in another."""
        first = next(iter(questions))
        sent = {**questions, CONTROL: questions[first]} if repeats else questions
        reply = await self._send(sent)
        gap = 0.0
        control, repeated = reply.probabilities.get(CONTROL), reply.probabilities.get(first)
        if repeats and is_probability(control) and is_probability(repeated):
            gap = abs(control - repeated)
        missing = self._read(reply, questions, gap)
        if missing:
            again = await self._send({id_: questions[id_] for id_ in missing}, attempt=1)
            self._read(again, missing, gap)

    def _read(self, reply: Decisions, ids: Mapping[str, str], gap: float) -> dict[str, str]:
        """Take over the answers of a reply; return the questions that have none, with the code of each."""
        missing: dict[str, str] = {}
        served = served_name(reply.served_model) or ""
        for id_ in ids:
            probability = reply.probabilities.get(id_)
            if id_ in reply.refused:
                self._fail([id_], "refused")
            elif is_probability(probability):
                self.answers[id_] = Answer(float(probability), served_model=served, gap=gap)
            else:
                missing[id_] = "missing_id" if probability is None else "invalid_reply"
                self._fail([id_], missing[id_])
        return missing

    async def _send(self, questions: Mapping[str, str], attempt: int = 0) -> Decisions:
        """Send one request within the limits of the run.

        Raises:
            JudgeError: There is no reply.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        text = "\n".join([self.state, *questions.values()])
        prompt = Prompt(step="decision", version=self.version, system="", user=text, attempt=attempt)
        asked = _Asked(self.model, self.state, questions)
        try:
            reply = await ask(current_run(), asked, prompt, None)  # type: ignore[arg-type]  # no text, no schema
        except JudgeError as problem:
            self.usage += problem.lost
            raise
        self.usage += reply.usage
        return asked.reply

    def _fail(self, ids: list[str], code: str, reason: str = "") -> None:
        """Note why questions have no answer; one that has an answer keeps it."""
        for id_ in ids:
            if self.answers.get(id_, _NO_ANSWER).probability is None:
                self.answers[id_] = Answer(code=code, reason=reason or _REASONS[code])


class _Asked:
    """One request to a decision model, in the form in which a run asks language models."""

    def __init__(self, model: DecisionModel, state: str, questions: Mapping[str, str]) -> None:
        self._model, self._state, self._questions = model, state, questions
        self.reply = Decisions(probabilities={})
        self.identity: str = model.identity
        self.timeout: Any = getattr(model, "timeout", None)
        self.name: Any = getattr(model, "name", None)

    async def generate(self, prompt: Prompt, schema: object) -> Reply:  # noqa: ARG002 - a model has them
        """Ask the model, and keep its reply."""
        self.reply = await self._model.decide(self._state, self._questions)
        if not isinstance(self.reply, Decisions):
            kind = type(self.reply).__name__
            raise TypeError(f"decide must return a ctxmetrics.Decisions, not {kind}")
        return Reply(content="", usage=self.reply.usage, served_model=self.reply.served_model)


def is_probability(value: object) -> TypeIs[int | float]:
    """Whether a value is a number from 0 to 1."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 <= value <= 1  # type: ignore[operator]  # false for NaN, too
