"""The LLM judge: which questions a request needs, and one answer from all replies to them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import remember_keys_of
from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Claims, Judgement, JudgeRequest
from ctxmetrics.judges.batches import scores_of_process
from ctxmetrics.judges.llm.asking import Exchange, Question, question
from ctxmetrics.judges.llm.encoding import Answer, decode, encode
from ctxmetrics.judges.llm.splitting import Part, halves, merge, parts_of
from ctxmetrics.models.base import Model, Prompt
from ctxmetrics.models.coerce import suggest_code
from ctxmetrics.models.prompt_size import least_tokens
from ctxmetrics.models.runtime.memo import Memo
from ctxmetrics.models.runtime.run import current_run, forget_failures
from ctxmetrics.prompts import Pack, Step, get_pack, render, reply_schema
from ctxmetrics.verdicts import Usage, Verdict

# Characters of units and contexts in one request; more is split over several.
MAX_CHARACTERS = 60_000
# Units or contexts in one request: a reply about more would run into length limits.
MAX_IDS = 64
# Finished judgements that a process remembers.
MEMORY = 2048
# How often a reply that brings nothing new is asked again.
MAX_REPAIRS = 3
# How many requests are kept for the next metric: the metrics of a sample ask the same questions one
# after the other.
_LAST = 64


@dataclass(frozen=True)
class LLMJudge:
    """Judges with a language model.

    By default one request asks which contexts support each unit *and* which contexts are useful, whichever metric
    asks first; finished judgements are remembered and those in flight shared, so all metrics of a sample cost one
    request. Ids are fixed before asking and checked after; a reply must repeat the code of its request; a yes needs a
    quote that is found in a context, and is flagged where the quote proves little.

    Attributes:
        model: The `Model` that turns a prompt into a reply.
        joint: Ask both questions in one request; False asks each by itself, when a metric needs it.
        per_context: Ask about each context alone, concurrently. More requests, less to read in each.
        votes: Ask so often, independently, and take the majority for each id; ``details`` of a verdict say how many
            agree. Give the model a temperature.
        language: Language of the prompts; None takes the sample's.
        keep_raw: Keep the raw replies in ``score.metadata["raw_replies"]``.
        max_characters: Characters of data in one request.
        max_repairs: How often a reply that brings nothing new is asked again.
        reuse: Remember finished judgements for the rest of the process.
        evidence: ``"flag"`` keeps a yes whose evidence proves little and flags it; ``"strict"`` makes it a no.

    Raises:
        ParameterError: The model is no `Model`, or a number is out of range.
    """

    _kind: ClassVar[str] = "llm:"

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
    evidence: Literal["flag", "strict"] = "flag"
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.model, Model) and isinstance(self.model.identity, str)):
            write = suggest_code(self.model)
            raise ParameterError(
                f"LLMJudge: model={type(self.model).__name__} is no model: it needs identity and "
                "generate(prompt, schema). "
                + (
                    f"Write {write}."
                    if write
                    else "Wrap a framework's LLM with its adapter's model class."
                )
            )
        for name, least in (("votes", 1), ("max_characters", 1000), ("max_repairs", 0)):
            check_number(f"LLMJudge: {name}", getattr(self, name), least, whole=True)
        if self.evidence not in ("flag", "strict"):
            raise ParameterError(f"LLMJudge: evidence={self.evidence!r} must be 'flag' or 'strict'.")
        remember_keys_of(self.model)

    @property
    def name(self) -> str:
        """``llm:`` and the model's identity, and how evidence is taken where that is not the default."""
        return (
            f"{self._kind}{self.model.identity}{'' if self.evidence == 'flag' else ' evidence=strict'}"
        )

    def asking(self, model: Model, **changed: Any) -> LLMJudge:
        """Return a judge that asks the same of another model."""
        kept = {item.name: getattr(self, item.name) for item in fields(LLMJudge)}
        return LLMJudge(**{**kept, "model": model, **changed})

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return await self._judge(request, "attribution")

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        return await self._judge(request, "usefulness")

    async def decompose(self, text: str, *, language: str) -> Claims:
        """Break a text into claims, once a text."""
        pack = get_pack(self.language or language)
        asked = Question(Part({}, {}), render(pack, "claims", {"text": text}))
        answer = await self._remembered(asked, pack, lambda model: model.claims(text))
        return Claims(
            claims=answer.claims, code=answer.code, usage=answer.usage, prompt=asked.prompt.version
        )

    async def _judge(self, request: JudgeRequest, step: Step) -> Judgement:
        pack = get_pack(self.language or request.language)
        cut = self.votes, self.per_context, self.max_characters
        asked: Step = "joint" if self.joint and request.units else step
        questions = _questions(request, asked, pack, cut)
        if asked == "joint" and any(len(item.part.units) < len(request.units) for item in questions):
            # With so many units, the joint question would be asked about the contexts several times.
            asked, questions = step, _questions(request, step, pack, cut)
        asks = [self._ask_in_halves(item, pack) for item in questions]
        replies = await asyncio.gather(*asks) if len(asks) > 1 else [await asks[0]]
        answers = [answer for group in replies for _, answer in group]
        about_units = step == "attribution"
        ids = request.unit_ids if about_units else request.context_ids
        texts = request.units if about_units else request.contexts
        parts = len(questions) // self.votes
        votes = []
        for first in range(0, len(questions), parts):
            groups = replies[first : first + parts]
            judged = [(part, answer.verdicts) for group in groups for part, answer in group]
            votes.append(merge(ids, texts, judged))
        if self.evidence == "strict":
            votes = [tuple(map(_strict, vote)) for vote in votes]
        verdicts, stability = (votes[0], None) if len(votes) == 1 else _majority(votes)
        served = sorted({answer.served_model for answer in answers if answer.served_model})
        return Judgement(
            verdicts=verdicts,
            usage=sum((answer.usage for answer in answers[1:]), answers[0].usage),
            prompt=pack.versions[asked],
            raw=tuple(raw for answer in answers for raw in answer.raw),
            stability=stability,
            served_model=", ".join(served) or None,
            stray_ids=sum(answer.stray_ids for answer in answers),
        )

    async def _ask_in_halves(self, asked: Question, pack: Pack) -> list[tuple[Part, Answer]]:
        """Ask a question; where it is too long for the model, ask about each half of it."""
        parts = halves(asked.part) if self._is_too_long(asked.prompt) else None
        usage = Usage()
        if parts is None:
            answer = await self._remembered(asked, pack, Exchange.verdicts)
            codes = {verdict.code for verdict in answer.verdicts.values()}
            parts = halves(asked.part) if "too_long" in codes else None
            if parts is None:
                return [(asked.part, answer)]
            usage = answer.usage
        questions = [_question(part, pack, asked.prompt.vote) for part in parts]
        first, second = await asyncio.gather(*(self._ask_in_halves(half, pack) for half in questions))
        (part, answer), *others = first
        return [(part, replace(answer, usage=answer.usage + usage)), *others, *second]

    def _is_too_long(self, prompt: Prompt) -> bool:
        """Whether a prompt has more tokens than the model takes, by what its server has stated in this run."""
        limit = current_run().token_limits.get(self.model.identity)
        return limit is not None and least_tokens(prompt.text) > limit

    async def _remembered(
        self, asked: Question, pack: Pack, ask: Callable[[Exchange], Awaitable[Answer]]
    ) -> Answer:
        """Answer from the memo, the cache, a judgement in flight, or by asking."""
        run, prompt = current_run(), asked.prompt
        # Everything that may change the answer, with the length of each text, so that two lists of
        # texts never give one key.
        texts = (self.model.identity, prompt.version, _schema(prompt.step), prompt.system, prompt.user)
        settings = str(prompt.vote), str(self.max_repairs), str(self.keep_raw)
        written = "".join(f"{len(text)}:{text}" for text in (*texts, *settings))
        # A name may hold a lone surrogate.
        key = hashlib.sha256(written.encode(errors="surrogatepass")).hexdigest()
        look_up_or_ask = partial(self._look_up_or_ask, asked, pack, ask, key)
        if not self.reuse:
            return await look_up_or_ask()
        memo = run.memo or _memo
        while True:
            answer, shared = await memo.get(key, look_up_or_ask)
            if not shared:
                return answer
            # Otherwise the failure or the budget was that of another run: ask again.
            if answer.complete or answer.run == id(run):
                return replace(answer, usage=Usage(reused=1))

    async def _look_up_or_ask(
        self, asked: Question, pack: Pack, ask: Callable[[Exchange], Awaitable[Answer]], key: str
    ) -> Answer:
        cache = current_run().cache
        stored = None if cache is None else cache.get(key)
        answer = None if stored is None else decode(stored, asked.part, pack)
        if answer is not None:
            return replace(answer, usage=Usage(reused=1))
        answer = await ask(
            Exchange(
                model=self.model,
                pack=pack,
                asked=asked,
                max_repairs=self.max_repairs,
                keep_raw=self.keep_raw,
            )
        )
        if answer.complete and cache is not None:
            cache.put(key, encode(answer))
        return answer


@lru_cache(maxsize=_LAST)
def _questions(
    request: JudgeRequest, step: Step, pack: Pack, cut: tuple[int, bool, int]
) -> tuple[Question, ...]:
    """Return the questions of a step, for every vote; ``cut``: votes, whether each context is asked alone, characters."""
    votes, per_context, most = cut
    parts = list(parts_of(request, step, per_context=per_context, limit=most, most=MAX_IDS))
    questions = []
    for vote in range(votes):
        questions += [_question(part, pack, vote) for part in parts]
    return tuple(questions)


def _question(part: Part, pack: Pack, vote: int) -> Question:
    return Question(part, render(pack, *question(part), vote=vote))


@lru_cache(maxsize=8)
def _schema(step: Step) -> str:
    """Return the schema of a step's reply, with one id of each kind, as text: the prompt holds the ids."""
    schema = reply_schema(step, sentences=("s1",), useful=("c1",))
    return json.dumps(schema.model_json_schema(), sort_keys=True)


def _strict(verdict: Verdict) -> Verdict:
    """Return a no where the evidence of a yes proves little."""
    if verdict.value is not True or verdict.code != "weak_evidence":
        return verdict
    evidence = tuple(replace(span, whole=False) for span in verdict.evidence)
    return replace(verdict, value=False, reason="its evidence proves little", evidence=evidence)


def _majority(votes: Sequence[tuple[Verdict, ...]]) -> tuple[tuple[Verdict, ...], float | None]:
    """Return the majority's verdict a unit, and the share of votes that agree with it.

    Votes that did not judge do not count; a tie is no verdict.
    """
    verdicts: list[Verdict] = []
    agreeing = counted = 0
    for given in zip(*votes, strict=True):
        yes, no = (sum(verdict.value is value for verdict in given) for value in (True, False))
        agreeing += max(yes, no)
        counted += yes + no
        if yes != no:
            chosen = next(verdict for verdict in given if verdict.value is (yes > no))
            most, all_ = max(yes, no), yes + no
            details = {**chosen.details, "votes": f"{most} of {all_}", "agreement": most / all_}
            verdicts.append(replace(chosen, details=FrozenDict(details)))
        elif yes:
            code, reason = "conflicting_verdicts", "the votes are split"
            verdicts.append(
                Verdict(id=given[0].id, value=None, text=given[0].text, code=code, reason=reason)
            )
        else:
            verdicts.append(given[0])
    return tuple(verdicts), agreeing / counted if counted else None


# The judgements that this process has finished.
_memo: Memo[Answer] = Memo(MEMORY, lambda answer: answer.complete)


def memory() -> Memo[Answer]:
    """Return a copy of the judgements that this process has finished."""
    return _memo.copy()


def forget() -> None:
    """Forget finished judgements, scores of pairs, and that a judge is down, as in a new process."""
    _memo.clear()
    scores_of_process.clear()
    forget_failures()
