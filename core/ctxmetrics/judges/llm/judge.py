"""The LLM judge: a model, the prompts, and the checks that keep a reply from changing what was asked."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ctxmetrics._frozen import frozen
from ctxmetrics._redact import masked, remember_keys_of, safe_text
from ctxmetrics._runtime.failures import CONTENT_CODES
from ctxmetrics._runtime.memo import Memo
from ctxmetrics._runtime.run import current_run, forget_failures
from ctxmetrics.errors import BudgetExceededError, JudgeError, ParameterError
from ctxmetrics.judges.base import Claims, Judgement, JudgeRequest
from ctxmetrics.judges.llm.encoding import Answer, decode, encode
from ctxmetrics.judges.llm.reply import Checked, Part, UnreadableReplyError, check, parse, parse_claims
from ctxmetrics.judges.llm.splitting import Placed, merge, parts_of
from ctxmetrics.models.base import Model
from ctxmetrics.prompts import get_pack, render, schema_of
from ctxmetrics.verdicts import Usage, Verdict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ctxmetrics.models.base import Prompt
    from ctxmetrics.prompts import Pack, Step

MAX_CHARACTERS = 60_000
"""Characters of units and contexts in one request; more is split over several."""
MAX_IDS = 64
"""Units or contexts in one request: a reply about more would run into length limits."""
MEMORY = 2048
"""Finished judgements that a process remembers."""
MAX_REPAIRS = 3
"""How often a reply that brings nothing new is asked again."""


@dataclass(frozen=True)
class LLMJudge:
    """Judges with a language model.

    By default one request asks which contexts support each unit *and* which contexts are useful, whichever metric
    asks first; finished judgements are remembered and those in flight shared, so all metrics of a sample cost one
    request. Ids are fixed before asking and checked after; a yes needs a quote that is found in its context.

    Attributes:
        model: What turns a prompt into a reply.
        joint: Ask both questions in one request; False asks each by itself, when a metric needs it.
        per_context: Ask about each context alone, concurrently. More requests, less to read in each.
        votes: Ask so often, independently, and take the majority for each id. Give the model a temperature.
        language: Language of the prompts; None takes the sample's.
        keep_raw: Keep the raw replies in ``score.metadata["raw_replies"]``.
        max_characters: Characters of data in one request.
        max_repairs: How often a reply that brings nothing new is asked again.
        reuse: Remember finished judgements for the rest of the process.

    Raises:
        ParameterError: The model is none, or a number is out of range.
    """

    model: Model
    _: KW_ONLY
    joint: bool = True
    per_context: bool = False
    votes: int = 1
    language: str | None = None
    keep_raw: bool = False
    max_characters: int = MAX_CHARACTERS
    max_repairs: int = MAX_REPAIRS
    reuse: bool = True
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise ParameterError(
                f"LLMJudge: model={type(self.model).__name__} is no model: it needs identity and "
                "generate(prompt, schema). Wrap a framework's LLM with RagasModel, DeepEvalModel or ChatModel."
            )
        for name, least in (("votes", 1), ("max_characters", 1000), ("max_repairs", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ParameterError(f"LLMJudge: {name}={value!r} must be a whole number from {least}.")
        remember_keys_of(self.model)

    @property
    def name(self) -> str:
        """``llm:`` and the model's identity."""
        return f"llm:{self.model.identity}"

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return await self._judge(request, "attribution")

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        return await self._judge(request, "usefulness")

    async def decompose(self, text: str, *, language: str) -> Claims:
        """Break a text into claims, once a text."""
        pack = get_pack(self.language or language)
        data = {"text": text}

        async def compute() -> Answer:
            talk = _Talk(self, pack)
            while talk.goes_on:
                try:
                    claims = parse_claims(await talk.ask("claims", data))
                except UnreadableReplyError as problem:  # noqa: PERF203 - asking again is what the loop is for
                    talk.failed(problem.reason_code, problem.note)
                except JudgeError as problem:
                    talk.failed(problem.reason_code, "", reason=safe_text(problem))
                else:
                    return talk.answer(claims=claims)
            return talk.answer(code=talk.code)

        prompt = render(pack, "claims", data)
        answer = await self._remembered(pack, prompt, frozenset(), compute)
        return Claims(claims=answer.claims, code=answer.code, usage=answer.usage, prompt=prompt.version)

    async def _judge(self, request: JudgeRequest, step: Step) -> Judgement:
        import asyncio

        pack = get_pack(self.language or request.language)
        asked, parts = self._parts(request, step)
        jobs = [(placed, vote) for vote in range(self.votes) for placed in parts]
        answers = await asyncio.gather(
            *(self._part(request, asked, pack, placed.part, vote=vote) for placed, vote in jobs)
        )
        ids, texts = (
            (request.unit_ids, request.units)
            if step == "attribution"
            else (request.context_ids, request.contexts)
        )
        votes = [
            merge(ids, texts, list(zip(parts, answers[first : first + len(parts)], strict=True)))
            for first in range(0, len(jobs), len(parts))
        ]
        verdicts, stability = _majority(votes)
        return Judgement(
            verdicts=verdicts,
            usage=sum((answer.usage for answer in answers), Usage()),
            prompt=pack.version_of(asked),
            raw=tuple(raw for answer in answers for raw in answer.raw),
            stability=stability,
        )

    def _parts(self, request: JudgeRequest, step: Step) -> tuple[Step, list[Placed]]:
        """Choose the question: the joint one, unless there are so many units that contexts would be asked twice."""
        cut = partial(
            parts_of, request, per_context=self.per_context, limit=self.max_characters, most=MAX_IDS
        )
        if self.joint and request.units:
            parts = cut(step="joint")
            if len({placed.units for placed in parts}) == 1:
                return "joint", parts
        return step, cut(step=step)

    async def _part(self, request: JudgeRequest, step: Step, pack: Pack, part: Part, *, vote: int) -> Answer:
        units = tuple(part.units) if step != "usefulness" else ()
        contexts = tuple(part.contexts) if step != "attribution" else ()
        prompt = render(pack, step, _data(request, step, part, units, contexts), vote=vote)

        async def compute() -> Answer:
            return await self._ask_until_complete(_Talk(self, pack, vote), request, part, units, contexts)

        return await self._remembered(pack, prompt, frozenset((*units, *contexts)), compute, part)

    async def _ask_until_complete(
        self,
        talk: _Talk,
        request: JudgeRequest,
        part: Part,
        units: tuple[str, ...],
        contexts: tuple[str, ...],
    ) -> Answer:
        """Ask, check, and ask again for what is missing only."""
        found: dict[str, Verdict] = {}
        codes: dict[str, str] = {}
        doubted: set[str] = set()
        while (units or contexts) and talk.goes_on:
            now_units, now_contexts = _first(units, contexts, talk.most, whole=not found)
            step = _step_for(now_units, now_contexts)
            try:
                reply = await talk.ask(step, _data(request, step, part, now_units, now_contexts))
                checked = check(parse(reply, _keys(step)), part, now_units, now_contexts, talk.pack)
            except UnreadableReplyError as problem:
                talk.failed(problem.reason_code, problem.note)
                continue
            except JudgeError as problem:
                talk.failed(problem.reason_code, "", reason=safe_text(problem))
                if problem.reason_code == "truncated":
                    talk.most = max(1, (len(now_units) + len(now_contexts)) // 2)
                continue
            decided = {**checked.verdicts, **_unfounded(checked, part, doubted)}
            doubted.update(checked.unverified)
            found.update(decided)
            codes.update(dict.fromkeys(checked.missing, "missing_id"), **checked.invalid)
            talk.progressed(checked.note) if decided else talk.failed(None, checked.note)
            units = tuple(id_ for id_ in units if id_ not in found)
            contexts = tuple(id_ for id_ in contexts if id_ not in found)
        for id_ in (*units, *contexts):
            code = talk.code if talk.final else codes.get(id_, talk.code)
            found[id_] = Verdict(id=id_, value=None, text=part.text_of(id_), code=code, reason=talk.reason)
        return talk.answer(verdicts=frozen(found))

    async def _remembered(
        self,
        pack: Pack,
        prompt: Prompt,
        ids: frozenset[str],
        compute: Callable[[], Awaitable[Answer]],
        part: Part | None = None,
    ) -> Answer:
        """Answer from the memo, the cache, a judgement in flight, or by asking."""
        key = self._key(prompt)
        run = current_run()

        async def look_up_or_ask() -> Answer:
            stored = run.cache.get(key) if run.cache else None
            answer = decode(stored, key, ids, part, pack) if stored is not None else None
            if answer is not None:
                return replace(answer, usage=Usage(reused=1))
            answer = replace(await compute(), run=id(run))
            if answer.complete and run.cache:
                run.cache.put(key, encode(answer, key))
            return answer

        if not self.reuse:
            return await look_up_or_ask()
        memo = run.memo or _memo
        answer, shared = await memo.get(key, look_up_or_ask)
        while shared and not answer.complete and answer.run != id(run):  # another run's budget or bad luck
            answer, shared = await memo.get(key, look_up_or_ask)
        return replace(answer, usage=Usage(reused=1)) if shared else answer

    def _key(self, prompt: Prompt) -> str:
        """Hash everything that may change the answer: model, prompt text and version, schema, vote."""
        digest = hashlib.sha256()
        fields = (
            self.model.identity,
            prompt.version,
            _fingerprint(prompt.step),
            prompt.system,
            prompt.user,
            str(prompt.vote),
            str(self.max_repairs),
            str(self.keep_raw),
        )
        for text in fields:
            digest.update(f"{len(text)}:".encode())
            digest.update(text.encode())
        return digest.hexdigest()


class _Talk:
    """One exchange with the model: the asking again, what it cost, and how it ended."""

    def __init__(self, judge: LLMJudge, pack: Pack, vote: int = 0) -> None:
        self._judge = judge
        self.pack = pack
        self._vote = vote
        self._attempt = 0
        self._failures = 0
        self._note = ""
        self._usage = Usage()
        self._raw: list[str] = []
        self.code = "invalid_reply"
        self.reason: str | None = None
        self.final = False
        self.most: int | None = None

    @property
    def goes_on(self) -> bool:
        return not self.final and self._failures <= self._judge.max_repairs

    async def ask(self, step: Step, data: Mapping[str, Any]) -> Any:
        prompt = render(self.pack, step, data, note=self._note, attempt=self._attempt, vote=self._vote)
        self._attempt += 1
        try:
            reply = await current_run().call(self._judge.model, prompt, schema_of(step))
        except JudgeError as problem:
            self._usage += problem.lost or Usage(calls=problem.calls)
            raise
        except BudgetExceededError as problem:
            raise JudgeError(str(problem), reason_code=problem.code) from None
        self._usage += reply.usage
        if self._judge.keep_raw:
            self._raw.append(reply.content if isinstance(reply.content, str) else str(reply.content))
        return reply

    def progressed(self, note: str) -> None:
        """The reply decided something; what it left out counts as one failure, a flawless one makes good for others."""
        self._note = note
        self._failures = self._failures + 1 if note else 0

    def failed(self, code: str | None, note: str, *, reason: str | None = None) -> None:
        """The reply decided nothing. Trouble that is not the reply's ends the exchange."""
        self._failures += 1
        self._note = note
        if code:
            self.code, self.reason = code, reason
            self.final = code not in CONTENT_CODES

    def answer(self, **parts: Any) -> Answer:
        answer = _without_keys(Answer(usage=self._usage, raw=tuple(self._raw), **parts))
        breaker = current_run().breaker_of(self._judge.model)
        if answer.complete or any(verdict.value is not None for verdict in answer.verdicts.values()):
            breaker.usable()
        elif not self.final:
            breaker.unusable(self.code)
        return answer


def _without_keys(answer: Answer) -> Answer:
    """Mask keys in what the model wrote: a server may repeat them in a reply."""
    return replace(
        answer,
        verdicts=frozen(
            {
                id_: replace(verdict, reason=masked(verdict.reason)) if verdict.reason else verdict
                for id_, verdict in answer.verdicts.items()
            }
        ),
        claims=tuple(map(masked, answer.claims)),
        raw=tuple(map(masked, answer.raw)),
    )


def _data(
    request: JudgeRequest, step: Step, part: Part, units: Sequence[str], contexts: Sequence[str]
) -> dict[str, object]:
    """Return the fields that a question shows; the names are those the prompts explain."""
    data: dict[str, object] = {"question": request.user_input}
    if step == "usefulness":
        data["answer"] = request.answer
    else:
        data["sentences"] = [{"id": id_, "text": part.units[id_]} for id_ in units]
    shown = contexts if step == "usefulness" else part.contexts
    data["contexts"] = [{"id": id_, "text": part.contexts[id_]} for id_ in shown]
    return data


def _step_for(units: Sequence[str], contexts: Sequence[str]) -> Step:
    if units and contexts:
        return "joint"
    return "attribution" if units else "usefulness"


def _keys(step: Step) -> tuple[str, ...]:
    return {"joint": ("sentences", "contexts"), "attribution": ("sentences",), "usefulness": ("contexts",)}[
        step
    ]


def _first(
    units: tuple[str, ...], contexts: tuple[str, ...], most: int | None, *, whole: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose what to ask now.

    The joint question is asked whole or not at all: whether a context is useful must not be judged against a part of
    the answer. What is left is asked by its own question, and less of it after a reply that ran into a length limit.
    """
    if whole and most is None:
        return units, contexts
    return (units[:most], ()) if units else ((), contexts[:most])


def _unfounded(checked: Checked, part: Part, doubted: set[str]) -> dict[str, Verdict]:
    """Units called supported twice, both times without a quote that is there: the verdict is no, and says why."""
    return {
        id_: Verdict(
            id=id_,
            value=False,
            text=part.units[id_],
            code="unverified_evidence",
            reason="called supported, but the quote is in no context it names",
        )
        for id_ in checked.unverified
        if id_ in doubted
    }


def _majority(votes: list[tuple[Verdict, ...]]) -> tuple[tuple[Verdict, ...], float | None]:
    """Return the majority's verdict a unit, and the share of votes that agree with it.

    Votes that did not judge do not count; a tie is no verdict.
    """
    if len(votes) == 1:
        return votes[0], None
    verdicts, agreeing, counted = [], 0, 0
    for given in zip(*votes, strict=True):
        tally = Counter(verdict.value for verdict in given if verdict.value is not None)
        (value, most), *others = tally.most_common() or [(None, 0)]
        if value is None:
            verdicts.append(given[0])
            continue
        counted += tally.total()
        agreeing += most
        if others and others[0][1] == most:
            verdicts.append(
                Verdict(
                    id=given[0].id,
                    value=None,
                    text=given[0].text,
                    code="conflicting_verdicts",
                    reason="the votes are split",
                )
            )
            continue
        chosen = next(verdict for verdict in given if verdict.value == value)
        verdicts.append(
            replace(chosen, details=frozen({**chosen.details, "votes": f"{most} of {tally.total()}"}))
        )
    return tuple(verdicts), agreeing / counted if counted else None


def _fingerprint(step: str) -> str:
    if step not in _fingerprints:
        import json

        _fingerprints[step] = json.dumps(schema_of(step).model_json_schema(), sort_keys=True)  # type: ignore[arg-type]  # a Step
    return _fingerprints[step]


_fingerprints: dict[str, str] = {}
_memo: Memo[Answer] = Memo(MEMORY, lambda answer: answer.complete)


def remembered(key: str) -> Answer | None:
    """Return a judgement that this process has finished, without a trace."""
    return _memo.peek(key)


def forget() -> None:
    """Start as a new process would: no finished judgement, and no judge that is down."""
    _memo.clear()
    forget_failures()
