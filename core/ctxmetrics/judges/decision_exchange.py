"""Asks a decision model about a state within the limits of the run, and checks its answers."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from typing_extensions import TypeIs

from ctxmetrics._internal.secrets import hide_keys
from ctxmetrics.errors import BudgetExceededError, JudgeError
from ctxmetrics.judges.probabilities import ProbabilityCell
from ctxmetrics.models.base import DecisionModel, Decisions, Prompt, Reply, served_name
from ctxmetrics.models.model_requests import ask
from ctxmetrics.models.runtime.failures import CONTENT_CODES
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.verdicts import Usage

# The largest difference between two answers to the same question that do not contradict each other.
LARGEST_GAP = 0.1
# The id of the repetition of the first question in a request.
CONTROL_QUESTION = "control"
# A server that accepts fewer questions in one request has this word in its error.
_QUESTION_WORD = "question"
# For the code of a question without a usable answer, the reason in words.
_REASONS = {
    "missing_id": "the model gave no answer, also when asked again",
    "invalid_reply": "what the model answered is no probability, also when asked again",
    "refused": "the model declined the question",
}


@dataclass(slots=True)
class DecisionExchange:
    """Sends the requests about one state, which is a text, and checks the answers.

    Args:
        model: The model.
        version: The version of the questions.
        state: The text that the questions are about.

    Attributes:
        answers: The answer to each question, by the question's id.
        usage: The calls and tokens of all requests.
    """

    model: DecisionModel
    version: str
    state: str
    answers: dict[str, ProbabilityCell] = field(init=False, default_factory=dict)
    usage: Usage = field(init=False, default_factory=Usage)
    # The questions of the last request that repeated its first question.
    _last_repeated_questions: dict[str, str] = field(init=False, default_factory=dict)

    async def ask(self, questions: Mapping[str, str], most_questions: int) -> None:
        """Ask questions. A question without a usable answer is asked once more.

        Args:
            questions: The questions, by their ids.
            most_questions: The maximum number of questions in one request.
        """
        run = current_run()
        name = hide_keys(self.model.identity)
        pending = dict(questions)
        while pending:
            # The server may accept fewer questions than the caller allows.
            limit_of_server = run.question_limits.get(name, most_questions)
            question_limit = max(1, min(most_questions, limit_of_server))
            repeats_question = question_limit > 1
            # A repeated first question counts twice in the request.
            batch_size = question_limit - 1 if repeats_question else 1
            batch = dict(islice(pending.items(), batch_size))
            try:
                await self._ask_twice(batch, repeats=repeats_question)
            except JudgeError as problem:
                is_too_long = problem.reason_code == "too_long"
                has_too_many_questions = is_too_long and _QUESTION_WORD in str(problem).lower()
                if has_too_many_questions and question_limit > 1:
                    sent_questions = min(question_limit, len(batch) + 1)
                    run.question_limits[name] = sent_questions // 2
                    continue
                self._fail(batch, problem.reason_code, str(problem))
            except BudgetExceededError as problem:
                self._fail(batch, problem.code, str(problem))
            pending = {id_: text for id_, text in pending.items() if id_ not in batch}
        has_answer = any(cell.failure is None for cell in self.answers.values())
        content_codes = {cell.code for cell in self.answers.values()} & CONTENT_CODES
        if has_answer:
            run.breaker_of(name).note_usable()
        elif content_codes:
            run.breaker_of(name).note_unusable(min(content_codes))

    async def measure_gap_to_other_order(self) -> float | None:
        """Ask the questions of the last request again, in reverse order and under other ids, and compare the answers.

        Returns:
            The largest difference between the two answers to a question; None if no question has two answers.

        Raises:
            JudgeError: There is no reply.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        questions = self._last_repeated_questions
        if not questions:
            return None
        renamed_questions = {f"x{id_}": text for id_, text in reversed(questions.items())}
        reply = await self._send(renamed_questions)
        gaps = []
        for id_ in questions:
            first_answer = self.answers[id_]
            second_probability = reply.probabilities.get(f"x{id_}")
            if first_answer.failure is None:
                gaps.append(measure_gap(second_probability, first_answer.probability))
        return max(gaps, default=None)

    async def _ask_twice(self, questions: dict[str, str], *, repeats: bool) -> None:
        """Ask questions in one request, and those without an answer in another.

        Args:
            questions: The questions by their ids.
            repeats: Whether the request asks the first question a second time. The two answers are then compared.
        """
        first_id = next(iter(questions))
        sent_questions = questions
        if repeats:
            sent_questions = {**questions, CONTROL_QUESTION: questions[first_id]}
        reply = await self._send(sent_questions)
        # How much the two answers to the first question differ; 0 if it was asked once.
        gap = measure_gap(reply.probabilities.get(CONTROL_QUESTION), reply.probabilities.get(first_id))
        answers = {id_: _read_answer(reply, id_, gap) for id_ in questions}
        self.answers |= answers
        if repeats:
            self._last_repeated_questions = questions
        # A question that the model declined is not asked again.
        unanswered_questions = {}
        for id_, answer in answers.items():
            if answer.failure is not None and answer.code != "refused":
                unanswered_questions[id_] = questions[id_]
        if unanswered_questions:
            reply = await self._send(unanswered_questions, attempt=1)
            self.answers |= {id_: _read_answer(reply, id_, gap) for id_ in unanswered_questions}

    async def _send(self, questions: Mapping[str, str], attempt: int = 0) -> Decisions:
        """Send one request within the limits of the run.

        Raises:
            JudgeError: There is no reply.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        text = "\n".join([self.state, *questions.values()])
        prompt = Prompt(step="decision", version=self.version, system="", user=text, attempt=attempt)
        call = _DecisionCall(self.model, self.state, questions)
        try:
            reply = await ask(current_run(), call, prompt, None)  # type: ignore[arg-type]  # no text, no schema
        except JudgeError as problem:
            self.usage += problem.lost
            raise
        self.usage += reply.usage
        return call.reply  # `reply` holds only the usage; the answers are in `call.reply`

    def _fail(self, questions: Mapping[str, str], code: str, reason: str) -> None:
        """Set the failure of each question that has no answer."""
        for id_ in questions:
            has_answer = id_ in self.answers and self.answers[id_].failure is None
            if not has_answer:
                self.answers[id_] = ProbabilityCell(failure=reason, code=code)


class _DecisionCall:
    """One request to a decision model, in the form in which a run asks language models."""

    def __init__(self, model: DecisionModel, state: str, questions: Mapping[str, str]) -> None:
        self._model = model
        self._state = state
        self._questions = questions
        self.reply = Decisions(probabilities={})
        self.identity: str = model.identity
        self.timeout: Any = getattr(model, "timeout", None)
        self.name: Any = getattr(model, "name", None)

    async def generate(self, prompt: Prompt, schema: object) -> Reply:  # noqa: ARG002 - the method of a model has a schema
        """Ask the model, and keep its reply."""
        self.reply = await self._model.decide(self._state, self._questions)
        if not isinstance(self.reply, Decisions):
            kind = type(self.reply).__name__
            raise TypeError(f"decide must return a ctxmetrics.Decisions, not {kind}")
        if not isinstance(self.reply.probabilities, Mapping):
            kind = type(self.reply.probabilities).__name__
            raise TypeError(f"the probabilities of Decisions must be a mapping, not {kind}")
        if not isinstance(self.reply.refused, (AbstractSet, list, tuple)):
            kind = type(self.reply.refused).__name__
            raise TypeError(f"what Decisions calls refused must be a set of ids, not {kind}")
        return Reply(content="", usage=self.reply.usage, served_model=self.reply.served_model)


def _read_answer(reply: Decisions, id_: str, gap: float) -> ProbabilityCell:
    """Read the answer to a question from a reply."""
    probability = reply.probabilities.get(id_)
    is_refused = id_ in reply.refused
    if is_probability(probability) and not is_refused:
        served_model = served_name(reply.served_model) or ""
        return ProbabilityCell(float(probability), served_model=served_model, gap=gap)
    if is_refused:
        code = "refused"
    elif probability is None:
        code = "missing_id"
    else:
        code = "invalid_reply"
    return ProbabilityCell(failure=_REASONS[code], code=code)


def measure_gap(first: object, second: object) -> float:
    """Return the difference between two answers; 0 if one of them is not a probability."""
    if is_probability(first) and is_probability(second):
        return abs(first - second)
    return 0.0


def is_probability(value: object) -> TypeIs[int | float]:
    """Whether a value is a number from 0 to 1."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and 0 <= value <= 1  # type: ignore[operator]  # false for NaN, too
