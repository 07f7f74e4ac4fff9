"""What a model is asked, and asked again until every id has a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics._frozen import frozen
from ctxmetrics._runtime.failures import CONTENT_CODES
from ctxmetrics._runtime.run import current_run
from ctxmetrics._secrets import masked, safe_text
from ctxmetrics.errors import BudgetExceededError, JudgeError
from ctxmetrics.judges.llm.checking import Checked, check
from ctxmetrics.judges.llm.encoding import Answer
from ctxmetrics.judges.llm.parsing import UnreadableReplyError, parse, parse_claims
from ctxmetrics.prompts import render, schema_of
from ctxmetrics.verdicts import Usage, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ctxmetrics.judges.base import JudgeRequest
    from ctxmetrics.judges.llm.splitting import Part
    from ctxmetrics.models.base import Model, Reply
    from ctxmetrics.prompts import Pack, Step

T = TypeVar("T")


def question(
    request: JudgeRequest, part: Part, units: Sequence[str], contexts: Sequence[str]
) -> tuple[Step, dict[str, object]]:
    """Return the step that asks about these ids, and the fields it shows; the names are those the prompts explain."""
    step: Step = "joint" if units and contexts else "attribution" if units else "usefulness"
    data: dict[str, object] = {"question": request.user_input}
    if units:
        data["sentences"] = [{"id": id_, "text": part.units[id_]} for id_ in units]
    else:
        data["answer"] = request.answer
    shown = part.contexts if units else contexts
    data["contexts"] = [{"id": id_, "text": part.contexts[id_]} for id_ in shown]
    return step, data


@dataclass(slots=True, kw_only=True)
class Exchange:
    """The requests of one question to a model: what they cost, and how they ended.

    Args:
        model: The model.
        pack: The prompts' language.
        vote: Number of the vote.
        max_repairs: How often a reply that brings nothing new is asked again.
        keep_raw: Keep the raw replies.
    """

    model: Model
    pack: Pack
    vote: int
    max_repairs: int
    keep_raw: bool
    _attempt: int = 0
    _failures: int = 0
    _note: str = ""
    _usage: Usage = field(default_factory=Usage)
    _raw: list[str] = field(default_factory=list)
    _code: str = "invalid_reply"
    _reason: str | None = None
    # The last failure was not the reply's, so asking again does not help.
    _final: bool = False

    async def claims(self, text: str) -> Answer:
        """Ask for the claims of a text."""
        claims: tuple[str, ...] | None = None
        while claims is None and self._goes_on:
            claims = await self._ask("claims", {"text": text}, parse_claims)
        return self._answer(claims=claims or (), code=None if claims else self._code)

    async def verdicts(
        self, request: JudgeRequest, part: Part, units: Sequence[str], contexts: Sequence[str]
    ) -> Answer:
        """Ask for verdicts, and again for those that are missing.

        The joint question is asked whole or not at all: whether a context is useful must not be judged against a
        part of the answer. What is left is asked by its own question, and less of it after a reply that ran into a
        length limit. A unit that is called supported twice, both times without a quote that is there, is not.

        Args:
            request: The whole request.
            part: What is shown of it.
            units: Ids of the units that need a verdict.
            contexts: Ids of the contexts that need one.
        """
        found: dict[str, Verdict] = {}
        codes: dict[str, str] = {}
        unverified: set[str] = set()
        most: int | None = None
        while (units or contexts) and self._goes_on:
            asked = units, contexts
            if found or most:
                asked = (units[:most], ()) if units else ((), contexts[:most])

            def read(reply: Reply, asked: tuple[Sequence[str], Sequence[str]] = asked) -> Checked:
                keys = [key for key, ids in zip(("sentences", "contexts"), asked, strict=True) if ids]
                return check(parse(reply, keys), part, *asked, self.pack)

            checked = await self._ask(*question(request, part, *asked), read)
            if checked is None:
                if self._code == "truncated":
                    most = max(1, sum(map(len, asked)) // 2)
                continue
            found.update(checked.verdicts)
            for id_, code in checked.problems.items():
                if code != "unverified_evidence":
                    codes[id_] = code
                elif id_ in unverified:
                    reason = "called supported, but the quote is in no context it names"
                    found[id_] = Verdict(id=id_, value=False, text=part.units[id_], code=code, reason=reason)
                else:
                    unverified.add(id_)
            # What a reply left out counts as one failure; a flawless reply makes up for those before.
            self._note = checked.note
            self._failures = self._failures + 1 if checked.note else 0
            units = [id_ for id_ in units if id_ not in found]
            contexts = [id_ for id_ in contexts if id_ not in found]
        for id_ in (*units, *contexts):
            code = self._code if self._final else codes.get(id_, self._code)
            text = (part.units if id_ in part.units else part.contexts)[id_]
            found[id_] = Verdict(id=id_, value=None, text=text, code=code, reason=self._reason)
        return self._answer(verdicts=frozen(found))

    @property
    def _goes_on(self) -> bool:
        return not self._final and self._failures <= self.max_repairs

    async def _ask(self, step: Step, data: Mapping[str, Any], read: Callable[[Reply], T]) -> T | None:
        """Send one request, and return what was read from the reply; None where it decides nothing."""
        prompt = render(self.pack, step, data, note=self._note, attempt=self._attempt, vote=self.vote)
        self._attempt += 1
        self._note = ""
        try:
            reply = await current_run().call(self.model, prompt, schema_of(step))
            self._usage += reply.usage
            if self.keep_raw:
                self._raw.append(masked(str(reply.content)))
            return read(reply)
        except UnreadableReplyError as problem:
            self._note, self._code, self._reason = problem.note, problem.reason_code, None
        except JudgeError as problem:
            self._usage += problem.lost or Usage(calls=problem.calls)
            self._code, self._reason = problem.reason_code, safe_text(problem)
        except BudgetExceededError as problem:
            self._code, self._reason = problem.code, safe_text(problem)
        self._failures += 1
        self._final = self._code not in CONTENT_CODES
        return None

    def _answer(self, **found: Any) -> Answer:
        run = current_run()
        answer = Answer(usage=self._usage, raw=tuple(self._raw), run=id(run), **found)
        breaker = run.breaker_of(self.model)
        if answer.complete or any(verdict.value is not None for verdict in answer.verdicts.values()):
            breaker.usable()
        elif not self._final:
            breaker.unusable(self._code)
        return answer
