"""The requests to a model about one question, repeated until every id has a verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import hide_keys, mask_secrets, safe_text
from ctxmetrics.errors import BudgetExceededError, JudgeError
from ctxmetrics.judges.llm import parsing
from ctxmetrics.judges.llm.checking import Decision, check
from ctxmetrics.judges.llm.comparing import find_conflicts, settle_conflicts
from ctxmetrics.judges.llm.encoding import ExchangeOutcome
from ctxmetrics.judges.llm.entries import count_strays, with_plain_ids
from ctxmetrics.judges.llm.splitting import RequestPart
from ctxmetrics.models.base import Model, Prompt, Reply, served_name
from ctxmetrics.models.model_requests import ask
from ctxmetrics.models.runtime.failures import CONTENT_CODES
from ctxmetrics.models.runtime.run import Run, current_run
from ctxmetrics.prompts import Pack, Step, render, reply_schema
from ctxmetrics.verdicts import Usage, Verdict

# The judgement ends after this many replies about other data.
_MAX_REPLIES_ABOUT_OTHER_DATA = 2
# The reason of a verdict without a value, by its code, if there is no error message.
_REASONS: Mapping[str, str] = read_data("judges.llm", "words.toml")["reasons"]


def describe_part(request_part: RequestPart) -> tuple[Step, dict[str, object]]:
    """Return the step that asks about a part, and the data of its prompt, whose field names the prompts explain."""
    data: dict[str, object] = {"question": request_part.request.user_input}
    step: Step = "relevance"
    if request_part.units:
        step = "joint" if request_part.rated else "attribution"
        data["sentences"] = [{"id": id_, "text": text} for id_, text in request_part.units.items()]
    elif request_part.request.answer:
        step = "usefulness"
        data["answer"] = request_part.request.answer
    data["contexts"] = [{"id": id_, "text": text} for id_, text in request_part.contexts.items()]
    return step, data


class PromptedPart(NamedTuple):
    """A part of a judgement with the prompt that asks about it.

    Attributes:
        part: The units and contexts that the prompt shows.
        prompt: The prompt of the first request; a repair has another one.
    """

    part: RequestPart
    prompt: Prompt


class Failure(NamedTuple):
    """The reason why a request brought no verdict.

    Attributes:
        code: The reason code of the failure.
        reason: The error in words, if there was an error.
    """

    code: str
    reason: str | None = None


_UNREADABLE = Failure("invalid_reply")
# The errors of a reply that cannot be read. Since a reply may hold anything, a check may also raise one of Python's own errors.
_ERRORS_OF_READING = (
    parsing.UnreadableReplyError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(slots=True, kw_only=True)
class Exchange:
    """The requests about one question to a model, with their usage and their outcome.

    Args:
        model: The model.
        pack: The prompts' language.
        question: The question.
        max_repairs: The maximum number of consecutive replies with a fault. After one more, the exchange ends.
        keep_raw: Whether to keep the raw replies.
        run: The run whose limits hold for the requests.
    """

    model: Model
    pack: Pack
    question: PromptedPart
    max_repairs: int
    keep_raw: bool
    run: Run = field(default_factory=current_run)
    _attempt: int = 0
    _failures: int = 0
    _note: str = ""
    _usage: Usage = field(default_factory=Usage)
    _raw: list[str] = field(default_factory=list)
    _last_failure: Failure = _UNREADABLE
    _served_model: str | None = None
    # The verdicts, and the code of each id whose verdict was not accepted, both by id.
    _verdicts: dict[str, Verdict] = field(default_factory=dict)
    _codes: dict[str, str] = field(default_factory=dict)
    # The ids about which a reply had a verdict with doubtful evidence.
    _doubted: set[str] = field(default_factory=set)
    # The ids whose verdicts are flagged, and the flagged ids about which the model was asked again.
    _flagged: set[str] = field(default_factory=set)
    _flagged_and_asked: set[str] = field(default_factory=set)
    _replies_about_other_data: int = 0
    _stray_ids: int = 0
    # All requests and replies so far, and whether the last request or reply is equal to an earlier one.
    _sent: set[str] = field(default_factory=set)
    _received: set[str] = field(default_factory=set)
    _is_repetition: bool = False

    async def claims(self, text: str) -> ExchangeOutcome:
        """Ask for the claims of a text."""
        claims: tuple[str, ...] | None = None
        while claims is None and self._may_ask_again:
            reply = await self._send("claims", {"text": text}, None)
            if reply is None:
                continue
            try:
                claims = parsing.parse_claims(
                    reply, self.question.prompt.data_code, text=text, examples=self.pack.examples
                )
            except _ERRORS_OF_READING as problem:
                self._note_unreadable(problem)
        code = None if claims else self._last_failure.code
        return self._build_outcome(claims=claims or (), code=code)

    async def verdicts(self) -> ExchangeOutcome:
        """Ask for verdicts, and ask again for the missing ones.

        - Each request shows all units and contexts of the part, because a context must be judged against the whole answer.
        - A later request asks only for the missing verdicts, and once more for the flagged verdicts.
        - After a reply that a length limit cut off, a request asks for fewer verdicts.
        - A positive verdict without a quote from a context becomes negative if a second reply repeats it.
        """
        request_part = self.question.part
        step, data = describe_part(request_part)
        units = tuple(request_part.units)
        contexts = request_part.rated
        ids_per_request: int | None = None  # limited after a truncated reply
        while missing := [id_ for id_ in (*units, *contexts) if id_ not in self._verdicts]:
            ids = {*units, *contexts}
            if ids_per_request is not None:
                ids = {*missing[:ids_per_request]}
            elif self._verdicts:
                ids = {*missing, *self._take_flagged()}
            asked_units = [id_ for id_ in units if id_ in ids]
            asked_contexts = [id_ for id_ in contexts if id_ in ids]
            reply = await self._send(step, data, ids)
            is_readable = False
            if reply is not None:
                try:
                    content = self._parse(reply, asked_units, asked_contexts)
                    decisions, note = check(
                        content,
                        request_part,
                        asked_units,
                        asked_contexts,
                        self.pack,
                        code=self.question.prompt.data_code,
                        earlier_verdicts=self._verdicts,
                    )
                    self._stray_ids += count_strays(content, request_part, contexts)
                    self._accept(decisions, note)
                    is_readable = True
                except _ERRORS_OF_READING as problem:
                    self._note_unreadable(problem)
            if not is_readable and self._last_failure.code == "truncated":
                ids_per_request = max(1, len(ids) // 2)
            if self._is_repetition or (self._failures and not self._may_ask_again):
                break
        settle_conflicts(self._verdicts, request_part)
        texts = {**request_part.units, **request_part.contexts}
        for id_ in missing:
            if id_ not in self._verdicts:
                self._verdicts[id_] = self._build_missing(id_, texts[id_])
        return self._build_outcome(verdicts=FrozenDict(self._verdicts))

    def _build_missing(self, id_: str, text: str) -> Verdict:
        """Build a verdict without a value for an id that no reply decided."""
        code = self._last_failure.code
        # If the server failed, all ids have this code. If a reply had a fault, each id may have a code of its own.
        if code in CONTENT_CODES:
            code = self._codes.get(id_, code)
        reason = self._last_failure.reason or _REASONS.get(code)
        return Verdict(id=id_, value=None, text=text, code=code, reason=reason)

    def _take_flagged(self) -> set[str]:
        """Return the flagged ids that were not asked for a second time yet, and note that they are asked for now."""
        ids = self._flagged - self._flagged_and_asked
        self._flagged_and_asked |= ids
        return ids

    def _parse(
        self, reply: Reply, asked_units: Sequence[str], asked_contexts: Sequence[str]
    ) -> Mapping[str, Any]:
        """Parse a reply.

        Args:
            reply: The reply.
            asked_units: The ids of the units that the reply should decide.
            asked_contexts: The ids of the contexts that the reply should decide.

        Raises:
            UnreadableReplyError: The reply decides nothing.
        """
        keys = []
        if asked_units:
            keys.append("sentences")
        if asked_contexts:
            keys.append("useful")
        data = parsing.parse(reply, keys, code=self.question.prompt.data_code)
        return with_plain_ids(data, self.question.part)

    def _accept(self, decisions: Mapping[str, Decision], note: str) -> None:
        """Accept the verdicts of a reply, and keep the note for the next request.

        A verdict with doubtful evidence is accepted if a second reply repeats it. A reply with a fault counts as a failure; a
        reply without a fault sets the number of failures to 0.
        """
        for id_, (verdict, problem) in decisions.items():
            is_repeated = id_ in self._doubted and id_ not in self._verdicts
            if verdict and (not problem or is_repeated):
                if verdict.code in ("weak_evidence", "contradicted"):
                    self._flagged.add(id_)
                self._verdicts[id_] = verdict
                continue
            self._codes[id_] = str(problem)
            if verdict:
                self._doubted.add(id_)
        for unit_id, context_id, _ in find_conflicts(self._verdicts, self.question.part):
            self._flagged |= {unit_id, context_id}
        self._note = note
        self._failures = self._failures + 1 if note else 0

    @property
    def _may_ask_again(self) -> bool:
        """Whether another request may be sent: the last failure was about the content of a reply, and no limit is reached."""
        return (
            self._last_failure.code in CONTENT_CODES
            and self._failures <= self.max_repairs
            and self._replies_about_other_data < _MAX_REPLIES_ABOUT_OTHER_DATA
        )

    async def _send(
        self, step: Step, data: Mapping[str, Any], ids: Collection[str] | None
    ) -> Reply | None:
        """Send one request, and return the reply; None if no reply came.

        A request equal to an earlier one is not sent. Such a request, or a reply equal to an earlier one, sets `_is_repetition`.
        """
        prompt = self.question.prompt
        if self._attempt:
            prompt = render(
                self.pack, step, data, ids=ids, note=self._note, attempt=self._attempt, vote=prompt.vote
            )
        self._is_repetition = prompt.user in self._sent
        if self._is_repetition:
            self._failures += 1
            return None
        self._sent.add(prompt.user)
        self._attempt += 1
        self._note = ""
        schema = reply_schema(prompt.step, sentences=prompt.sentences, useful=prompt.useful)
        try:
            reply = await ask(self.run, self.model, prompt, schema)
        except JudgeError as problem:
            self._usage += problem.lost
            self._last_failure = Failure(problem.reason_code, safe_text(problem))
            # After a truncated reply the next request has fewer ids; after any other unusable reply it has a note.
            if problem.reason_code in CONTENT_CODES - {"truncated"}:
                self._note = parsing.NOT_JSON
        except BudgetExceededError as problem:
            self._last_failure = Failure(problem.code, safe_text(problem))
        else:
            content = str(reply.content)
            self._usage += reply.usage
            self._is_repetition = content in self._received
            self._received.add(content)
            if self.keep_raw:
                self._raw.append(mask_secrets(content))
            if reply.served_model:
                self._served_model = served_name(reply.served_model) or self._served_model
            return reply
        self._failures += 1
        return None

    def _note_unreadable(self, problem: Exception) -> None:
        """Note why a reply cannot be read. The verdicts of earlier replies stay."""
        if not isinstance(problem, parsing.UnreadableReplyError):
            problem = parsing.UnreadableReplyError(parsing.NOT_JSON)
        self._failures += 1
        self._note = problem.note
        self._last_failure = Failure(problem.reason_code)
        if isinstance(problem, parsing.WrongDataError):
            self._replies_about_other_data += 1

    def _build_outcome(self, **content: Any) -> ExchangeOutcome:
        """Build the outcome, and tell the breaker whether the model's replies were usable."""
        usage = self._usage
        if usage.calls > 1:
            usage = replace(usage, repeats=usage.calls - 1)  # all requests but the first
        outcome = ExchangeOutcome(
            usage=usage,
            raw=tuple(self._raw),
            run=id(self.run),
            served_model=self._served_model,
            stray_ids=self._stray_ids,
            **content,
        )
        has_bad_content = self._last_failure.code in CONTENT_CODES
        if has_bad_content and not outcome.complete:
            outcome = replace(outcome, unusable=True)
        has_verdict = any(verdict.value is not None for verdict in outcome.verdicts.values())
        breaker = self.run.breaker_of(hide_keys(self.model.identity))
        if outcome.complete or has_verdict:
            breaker.note_usable()
        elif has_bad_content:
            breaker.note_unusable(self._last_failure.code)
        return outcome
