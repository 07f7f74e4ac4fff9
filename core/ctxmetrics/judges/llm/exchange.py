"""What a model is asked, and asked again until every id has a verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import hide_keys, masked, safe_text
from ctxmetrics.errors import BudgetExceededError, JudgeError
from ctxmetrics.judges.llm import parsing
from ctxmetrics.judges.llm.checking import check, count_strays, settle
from ctxmetrics.judges.llm.encoding import Answer
from ctxmetrics.judges.llm.splitting import Part
from ctxmetrics.models.asking import ask
from ctxmetrics.models.base import Model, Prompt, Reply, served_name
from ctxmetrics.models.runtime.failures import CONTENT_CODES
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.prompts import Pack, Step, render, reply_schema
from ctxmetrics.verdicts import Usage, Verdict

T = TypeVar("T")
# A reply about other data is asked again once.
_MOST_WRONG = 2
# Why a verdict has no value, by its code, where no error says more.
_REASONS: Mapping[str, str] = read_data("judges.llm", "words.toml")["reasons"]


def describe_part(part: Part) -> tuple[Step, dict[str, object]]:
    """Return the step that asks about a part, and the fields of its data; the names are those the prompts explain."""
    data: dict[str, object] = {"question": part.request.user_input}
    if part.units:
        data["sentences"] = [{"id": id_, "text": text} for id_, text in part.units.items()]
    else:
        data["answer"] = part.request.answer
    data["contexts"] = [{"id": id_, "text": text} for id_, text in part.contexts.items()]
    if not part.units:
        return "usefulness", data
    return "joint" if part.rated else "attribution", data


class Question(NamedTuple):
    """One request of a judgement.

    Attributes:
        part: What it shows.
        prompt: The prompt of the first request.
    """

    part: Part
    prompt: Prompt


@dataclass(slots=True, kw_only=True)
class Exchange:
    """The requests of one question to a model: what they cost, and how they ended.

    Args:
        model: The model.
        pack: The prompts' language.
        question: The question.
        max_repairs: How often a reply that brings nothing new is asked again.
        keep_raw: Keep the raw replies.
    """

    model: Model
    pack: Pack
    question: Question
    max_repairs: int
    keep_raw: bool
    _attempt: int = 0
    _failures: int = 0
    _note: str = ""
    _usage: Usage = field(default_factory=Usage)
    _raw: list[str] = field(default_factory=list)
    # Of the last failure: where it was no fault of the reply, asking again does not help.
    _code: str = "invalid_reply"
    _reason: str | None = None
    _served: str | None = None
    # The verdicts, and why an id without a verdict has none.
    _verdicts: dict[str, Verdict] = field(default_factory=dict)
    _codes: dict[str, str] = field(default_factory=dict)
    _doubted: set[str] = field(default_factory=set)
    _weak: set[str] = field(default_factory=set)
    # Replies that were about other data: at the second one, the judgement ends.
    _wrong: int = 0
    _stray_ids: int = 0
    # The texts of the requests and replies, and whether the last of either was there before.
    _sent: set[str] = field(default_factory=set)
    _received: set[str] = field(default_factory=set)
    _unchanged: bool = False

    async def claims(self, text: str) -> Answer:
        """Ask for the claims of a text."""
        read = partial(parsing.parse_claims, text=text, examples=self.pack.examples)
        claims: tuple[str, ...] | None = None
        while claims is None and self._goes_on:
            claims = await self._ask("claims", {"text": text}, None, read)
        return self._answer(claims=claims or (), code=None if claims else self._code)

    async def verdicts(self) -> Answer:
        """Ask for verdicts, and again for those that are missing.

        The joint question is asked whole or not at all: whether a context is useful must not be judged
        against a part of the answer. It is asked again with the same data, for the missing units or contexts
        only, and for fewer at a time after a reply that a length limit cut off. Verdicts with weak
        evidence join a request that goes out anyway, once. A yes that comes twice, both times without a
        quote that is there, is a no.
        """
        part = self.question.part
        step, data = describe_part(part)
        units, contexts = tuple(part.units), part.rated
        most: int | None = None  # ids per request, after a truncated reply
        while left := [id_ for id_ in (*units, *contexts) if id_ not in self._verdicts]:
            ids = {*units, *contexts}
            if self._verdicts or most:
                ids = {*left[:most], *self._weak}
                self._weak.clear()
            about = [id_ for id_ in units if id_ in ids], [id_ for id_ in contexts if id_ in ids]
            note = await self._ask(step, data, ids, partial(self._read, about))
            if note is not None:
                # Ids that a reply left out count as one failure; a reply without a fault clears the
                # failures before it.
                self._note, self._failures = note, self._failures + 1 if note else 0
            elif self._code == "truncated":
                most = max(1, len(ids) // 2)
            if self._unchanged or (self._failures and not self._goes_on):
                break
        settle(self._verdicts, part)
        for id_, text in (*part.units.items(), *part.contexts.items()):
            if id_ in self._verdicts or not (id_ in units or id_ in contexts):
                continue
            code = self._code
            if code in CONTENT_CODES:
                code = self._codes.get(id_, code)
            reason = self._reason or _REASONS.get(code)
            self._verdicts[id_] = Verdict(id=id_, value=None, text=text, code=code, reason=reason)
        return self._answer(verdicts=FrozenDict(self._verdicts))

    def _read(self, about: tuple[Sequence[str], Sequence[str]], reply: Reply, code: str) -> str:
        """Take over what a reply decides, and return the note to the model for when it is asked again.

        A doubt about evidence that comes a second time is settled: the verdict stands.
        """
        keys = [key for key, ids in zip(("sentences", "useful"), about, strict=True) if ids]
        data = parsing.parse(reply, keys, code=code)
        decisions, note = check(
            data, self.question.part, *about, self.pack, code=code, known=self._verdicts
        )
        self._stray_ids += count_strays(data, self.question.part, self.question.part.rated)
        for id_, (verdict, problem) in decisions.items():
            known = id_ in self._verdicts
            if verdict and (not problem or (id_ in self._doubted and not known)):
                if verdict.code == "weak_evidence" and not known:
                    self._weak.add(id_)
                self._verdicts[id_] = verdict
                continue
            self._codes[id_] = str(problem)
            if verdict:
                self._doubted.add(id_)
        return note

    @property
    def _goes_on(self) -> bool:
        return (
            self._code in CONTENT_CODES
            and self._failures <= self.max_repairs
            and self._wrong < _MOST_WRONG
        )

    async def _ask(
        self,
        step: Step,
        data: Mapping[str, Any],
        ids: Collection[str] | None,
        read: Callable[[Reply, str], T],
    ) -> T | None:
        """Send one request, and return what was read from the reply; None where it decides nothing.

        A request that was sent before is not sent again, and a reply that came before ends the judgement.
        """
        prompt = self.question.prompt
        if self._attempt:
            prompt = render(
                self.pack, step, data, ids=ids, note=self._note, attempt=self._attempt, vote=prompt.vote
            )
        self._unchanged = prompt.user in self._sent
        if self._unchanged:
            self._failures += 1
            return None
        self._sent.add(prompt.user)
        self._attempt += 1
        self._note = ""
        schema = reply_schema(prompt.step, sentences=prompt.sentences, useful=prompt.useful)
        try:
            reply = await ask(current_run(), self.model, prompt, schema)
            self._usage += reply.usage
            content = str(reply.content)
            self._unchanged = content in self._received
            self._received.add(content)
            if self.keep_raw:
                self._raw.append(masked(content))
            self._served = (reply.served_model and served_name(reply.served_model)) or self._served
            return read(reply, prompt.data_code)
        except parsing.UnreadableReplyError as problem:
            self._note, self._code, self._reason = problem.note, problem.reason_code, None
            self._wrong += isinstance(problem, parsing.WrongDataError)
        except JudgeError as problem:
            self._usage += problem.lost
            self._code, self._reason = problem.reason_code, safe_text(problem)
            # A reply that was cut off is asked for again with fewer ids, every other one with a note.
            if problem.reason_code in CONTENT_CODES - {"truncated"}:
                self._note = parsing.NOT_JSON
        except BudgetExceededError as problem:
            self._code, self._reason = problem.code, safe_text(problem)
        self._failures += 1
        return None

    def _answer(self, **content: Any) -> Answer:
        run = current_run()
        answer = Answer(
            # All requests but the first ask again.
            usage=replace(self._usage, repeats=max(0, self._usage.calls - 1)),
            raw=tuple(self._raw),
            run=id(run),
            served_model=self._served,
            stray_ids=self._stray_ids,
            **content,
        )
        answer = replace(answer, unusable=not answer.complete and self._code in CONTENT_CODES)
        breaker = run.breaker_of(hide_keys(self.model.identity))
        if answer.complete or any(verdict.value is not None for verdict in answer.verdicts.values()):
            breaker.usable()
        elif self._code in CONTENT_CODES:
            breaker.unusable(self._code)
        return answer
