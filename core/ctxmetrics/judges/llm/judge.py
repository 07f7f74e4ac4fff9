"""The LLM judge: it builds the questions of a request, and merges the replies to one judgement."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import lru_cache, partial
from itertools import chain
from types import NoneType
from typing import Any, ClassVar, Literal

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import hide_keys, remember_api_keys
from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Claims, Judgement, JudgeRequest
from ctxmetrics.judges.llm.encoding import ExchangeOutcome, decode, encode
from ctxmetrics.judges.llm.exchange import Exchange, PromptedPart, describe_part
from ctxmetrics.judges.llm.splitting import RequestPart, halves, merge, split_request
from ctxmetrics.judges.pair_queue import scores_of_process
from ctxmetrics.models.base import Model, Prompt
from ctxmetrics.models.coerce import suggest_code
from ctxmetrics.models.prompt_size import least_tokens
from ctxmetrics.models.runtime.cache import RunCache
from ctxmetrics.models.runtime.memo import Memo
from ctxmetrics.models.runtime.run import current_run, forget_failures
from ctxmetrics.prompts import Pack, Step, get_pack, render, reply_schema
from ctxmetrics.verdicts import Usage, Verdict

# The maximum number of characters of units and contexts in one request. Longer data is split into several requests.
MAX_CHARACTERS = 60_000
# The maximum number of units or contexts in one request: a longer reply could exceed a length limit.
MAX_IDS = 64
# The maximum number of finished judgements that a process remembers.
MEMORY = 2048
# The maximum number of repairs after replies without a new verdict.
MAX_REPAIRS = 3
# The maximum number of plans that are kept: the metrics of a sample ask the same questions one after the other.
_KEPT_PLANS = 64


@dataclass(frozen=True)
class LLMJudge:
    """Judges with a language model.

    By default, the first metric sends one request that asks which contexts support each unit *and* which contexts are useful.
    Finished judgements are remembered, and judgements in flight are shared, so that all metrics of a sample need one request.
    The library sets the ids, and checks them in the reply. A reply must repeat the code of its request. A yes needs a quote that
    is found in a context, and is flagged if the quote proves little.

    Attributes:
        model: The `Model` that turns a prompt into a reply.
        joint: Whether to ask both questions in one request. If False, each is asked by itself when a metric needs it.
        per_context: Whether to ask about each context alone, concurrently: more requests, with less text in each.
        votes: The number of independent replies. The majority decides about each id; the ``details`` of a verdict say how many
            replies agree. Set a temperature of the model above 0.
        language: The language of the prompts; None takes the sample's.
        keep_raw: Whether to keep the raw replies in ``score.metadata["raw_replies"]``.
        max_characters: The maximum number of characters of data in one request.
        max_repairs: The maximum number of repeated requests after replies without a new verdict.
        reuse: Whether to remember finished judgements for the rest of the process.
        evidence: ``"flag"`` flags a yes whose evidence proves little, or that the reply or the evidence contradicts. ``"strict"``
            changes it to a no.

    Raises:
        ParameterError: The model is no `Model`, or a number is out of range.
    """

    _kind: ClassVar[str] = "llm:"
    rates_without_answer: ClassVar[bool] = True
    """Whether this judge can say if a context answers a question whose answer is not known."""

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
            fix = "Wrap a framework's LLM with its adapter's model class."
            code = suggest_code(self.model)
            if code:
                fix = f"Write {code}."
            raise ParameterError(
                f"LLMJudge: model={type(self.model).__name__} is no model: it needs identity and "
                f"generate(prompt, schema). {fix}"
            )
        for name, minimum in (("votes", 1), ("max_characters", 1000), ("max_repairs", 0)):
            check_number(f"LLMJudge: {name}", getattr(self, name), minimum, whole=True)
        if not isinstance(self.language, (str, NoneType)):
            raise ParameterError(
                f"LLMJudge: language={self.language!r} must be an ISO 639 code such as 'en'."
            )
        if self.evidence not in ("flag", "strict"):
            raise ParameterError(f"LLMJudge: evidence={self.evidence!r} must be 'flag' or 'strict'.")
        remember_api_keys(self.model)

    @property
    def judges_contexts_apart(self) -> bool:
        """Whether the judge asks about each context by itself. Then a context that was judged before needs no request."""
        return self.per_context

    @property
    def name(self) -> str:
        """``llm:`` and the model's identity; also the option ``evidence`` if it is not the default."""
        name = f"{self._kind}{hide_keys(self.model.identity)}"
        return name if self.evidence == "flag" else f"{name} evidence=strict"

    def asking(self, model: Model, **changed: Any) -> LLMJudge:
        """Return a judge that asks another model, with the same options except the changed ones."""
        options = {item.name: getattr(self, item.name) for item in fields(LLMJudge)}
        return LLMJudge(**{**options, "model": model, **changed})

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return await self._judge(request, "attribution")

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer; without an answer, for answering the question."""
        return await self._judge(request, "usefulness" if request.answer else "relevance")

    async def decompose(self, text: str, *, language: str) -> Claims:
        """Break a text into claims."""
        pack = get_pack(self.language or language)
        prompt = render(pack, "claims", {"text": text})
        question = PromptedPart(RequestPart({}, {}), prompt)
        answer = await self._remembered(question, pack, lambda exchange: exchange.claims(text))
        return Claims(claims=answer.claims, code=answer.code, usage=answer.usage, prompt=prompt.version)

    async def _judge(self, request: JudgeRequest, step: Step) -> Judgement:
        """Ask about units or contexts, in parts that fit into a request, and merge the verdicts of the parts and votes."""
        pack = get_pack(self.language or request.language)
        plan = partial(
            _plan,
            request,
            pack=pack,
            votes=self.votes,
            per_context=self.per_context,
            characters=self.max_characters,
        )
        form: Step = "joint"
        questions = plan(form) if self.joint and request.units else None
        if questions is None:
            form = step
            questions = plan(form)
        ids = request.context_ids
        texts = request.contexts
        if step == "attribution":
            ids = request.unit_ids
            texts = request.units
        if not questions:  # no context holds a text
            return Judgement(verdicts=merge(ids, texts, ()), prompt=pack.versions[form])
        requests = [self._ask_in_halves(question, pack) for question in questions]
        replies = await asyncio.gather(*requests) if len(requests) > 1 else [await requests[0]]
        # The replies of the first vote stand first, then those of the second, and so on.
        replies_per_vote = len(replies) // self.votes
        votes = []
        for start in range(0, len(replies), replies_per_vote):
            pairs_of_vote = chain.from_iterable(replies[start : start + replies_per_vote])
            verdicts_by_part = (
                (request_part, outcome.verdicts) for request_part, outcome in pairs_of_vote
            )
            vote = merge(ids, texts, verdicts_by_part)
            votes.append(tuple(map(_to_strict, vote)) if self.evidence == "strict" else vote)
        verdicts = votes[0]
        stability = None
        if len(votes) > 1:
            verdicts, stability = _majority(votes)
        outcomes = [outcome for pairs in replies for _, outcome in pairs]
        served_models = sorted({outcome.served_model for outcome in outcomes if outcome.served_model})
        stray_id_count = sum(outcome.stray_ids for outcome in outcomes)
        return Judgement(
            verdicts=verdicts,
            usage=sum((outcome.usage for outcome in outcomes[1:]), outcomes[0].usage),
            prompt=pack.versions[form],
            raw=tuple(chain.from_iterable(outcome.raw for outcome in outcomes)),
            stability=stability,
            served_model=", ".join(served_models) or None,
            stray_ids=stray_id_count,
        )

    async def _ask_in_halves(
        self, question: PromptedPart, pack: Pack
    ) -> list[tuple[RequestPart, ExchangeOutcome]]:
        """Ask a question. If it is too long for the model, ask about each half of it.

        Returns:
            Each part that was asked about, with its outcome.
        """
        # The maximum number of tokens of the model; None if its server has not stated it in this run.
        token_limit = current_run().token_limits.get(self.model.identity)
        parts = None
        usage = Usage()
        if token_limit is not None and least_tokens(question.prompt.text) > token_limit:
            parts = halves(question.part)
        if parts is None:
            answer = await self._remembered(question, pack, Exchange.verdicts)
            codes = {verdict.code for verdict in answer.verdicts.values()}
            parts = halves(question.part) if "too_long" in codes else None
            if parts is None:
                return [(question.part, answer)]
            usage = answer.usage
        vote = question.prompt.vote
        questions = [
            PromptedPart(request_part, render(pack, *describe_part(request_part), vote=vote))
            for request_part in parts
        ]
        first_pairs, second_pairs = await asyncio.gather(
            *(self._ask_in_halves(half, pack) for half in questions)
        )
        # The usage of the question that was too long is added to the first outcome.
        (first_part, first_outcome), *other_pairs = first_pairs
        first_outcome = replace(first_outcome, usage=first_outcome.usage + usage)
        return [(first_part, first_outcome), *other_pairs, *second_pairs]

    async def _remembered(
        self,
        question: PromptedPart,
        pack: Pack,
        ask: Callable[[Exchange], Coroutine[Any, Any, ExchangeOutcome]],
    ) -> ExchangeOutcome:
        """Answer from the memo, the cache, a judgement in flight, or by asking."""
        run = current_run()
        prompt = question.prompt
        key = _build_key(self.model.identity, prompt, str(self.max_repairs), str(self.keep_raw))
        memo = run.memo or _memo
        while True:
            exchange = Exchange(
                model=self.model,
                pack=pack,
                question=question,
                max_repairs=self.max_repairs,
                keep_raw=self.keep_raw,
                run=run,
            )
            compute: Callable[[], Coroutine[Any, Any, ExchangeOutcome]] = partial(ask, exchange)
            if run.cache is not None:
                compute = partial(_through_cache, run.cache, key, exchange, compute)
            if not self.reuse:
                return await compute()
            unusable_outcome: ExchangeOutcome | None = run.unusable.get(key)
            if unusable_outcome is not None:
                return replace(unusable_outcome, usage=Usage(reused=1))
            answer, is_shared = await memo.get(key, compute)
            if not is_shared:
                if run.ends and answer.unusable and len(run.unusable) < MEMORY:
                    run.unusable[key] = answer
                return answer
            # An incomplete answer of another run failed for a reason of that run, such as its budget: ask again.
            if answer.complete or answer.run == id(run):
                return replace(answer, usage=Usage(reused=1))


async def _through_cache(
    cache: RunCache, key: str, exchange: Exchange, ask: Callable[[], Awaitable[ExchangeOutcome]]
) -> ExchangeOutcome:
    """Return the answer that a cache holds. If it holds none, ask, and store a complete answer in the cache."""

    async def ask_and_keep() -> ExchangeOutcome:
        """Ask, and store a complete answer in the cache."""
        answer = await ask()
        if answer.complete:
            cache.put(key, encode(answer))
        return answer

    look_up = partial(_look_up, cache, key, exchange.question.part, exchange.pack)
    cached = look_up()
    if cached is not None:
        return cached
    return await cache.ask_once(key, look_up, ask_and_keep)


def _look_up(
    cache: RunCache, key: str, request_part: RequestPart, pack: Pack
) -> ExchangeOutcome | None:
    """Return the answer that a cache holds, or None."""
    stored = cache.get(key)
    answer = None if stored is None else decode(stored, request_part, pack)
    return None if answer is None else replace(answer, usage=Usage(reused=1))


@lru_cache(maxsize=_KEPT_PLANS)
def _plan(
    request: JudgeRequest,
    step: Step,
    pack: Pack,
    *,
    votes: int,
    per_context: bool,
    characters: int,
) -> tuple[PromptedPart, ...] | None:
    """Build the questions for every vote.

    Args:
        request: The request.
        step: The question that must be answered, or ``"joint"`` for both.
        pack: The prompts' language.
        votes: The number of times that each question is asked.
        per_context: Whether each context is asked about alone.
        characters: The maximum number of characters of data in one question.

    Returns:
        The questions. For ``"joint"``, None if one request cannot hold all units: several joint requests would ask about the
        same contexts again.
    """
    parts = list(
        split_request(request, step, per_context=per_context, limit=characters, most_ids=MAX_IDS)
    )
    if step == "joint" and any(len(part.units) != len(request.units) for part in parts):
        return None
    questions = []
    for vote in range(votes):
        for part in parts:
            part_step, part_data = describe_part(part)
            questions.append(PromptedPart(part, render(pack, part_step, part_data, vote=vote)))
    return tuple(questions)


@lru_cache(maxsize=_KEPT_PLANS)
def _build_key(model: str, prompt: Prompt, *settings: str) -> str:
    """Build the key under which the answer to a prompt is remembered, from everything that may change the answer.

    Args:
        model: The model's identity.
        prompt: The prompt.
        settings: The options of the judge that may change the answer.
    """
    texts = (model, prompt.version, _schema(prompt.step), prompt.system, prompt.user, str(prompt.vote))
    # The length of each text is part of the key, so that two different lists of texts never have the same key.
    key_text = "".join(f"{len(text)}:{text}" for text in (*texts, *settings))
    # A name may hold a lone surrogate.
    return hashlib.sha256(key_text.encode(errors="surrogatepass")).hexdigest()


@lru_cache(maxsize=8)
def _schema(step: Step) -> str:
    """Return the schema of a step's reply as text. One id of each kind is enough, since the prompt is a part of the key, too."""
    schema = reply_schema(step, sentences=("s1",), useful=("c1",))
    return json.dumps(schema.model_json_schema(), sort_keys=True)


def _to_strict(verdict: Verdict) -> Verdict:
    """Turn a yes into a no if its evidence proves little, or the reply contradicts it."""
    if verdict.value is not True or verdict.code not in ("weak_evidence", "contradicted"):
        return verdict
    # Only the evidence of a yes can be whole.
    evidence = tuple(replace(span, whole=False) for span in verdict.evidence)
    reason = verdict.reason or "its evidence proves little"
    return replace(verdict, value=False, reason=reason, evidence=evidence)


def _majority(votes: Sequence[tuple[Verdict, ...]]) -> tuple[tuple[Verdict, ...], float | None]:
    """Return the majority's verdict on each unit, and the share of votes that agree with it.

    Votes without a value do not count. A tie gives a verdict without a value.
    """
    verdicts: list[Verdict] = []
    agreeing_count = 0
    judged_count = 0
    for verdicts_on_unit in zip(*votes, strict=True):
        values = [verdict.value for verdict in verdicts_on_unit]
        yes_count = values.count(True)
        no_count = values.count(False)
        agreeing_count += max(yes_count, no_count)
        judged_count += yes_count + no_count
        verdicts.append(_choose_majority(verdicts_on_unit, yes_count, no_count))
    stability = agreeing_count / judged_count if judged_count else None
    return tuple(verdicts), stability


def _choose_majority(verdicts: Sequence[Verdict], yes_count: int, no_count: int) -> Verdict:
    """Return the majority's verdict about one id; ``verdicts`` holds one of each vote."""
    first = verdicts[0]
    if yes_count != no_count:
        judged_count = yes_count + no_count
        agreeing_count = max(yes_count, no_count)
        majority_value = yes_count > no_count
        verdict = next(verdict for verdict in verdicts if verdict.value is majority_value)
        votes = f"{agreeing_count} of {judged_count}"
        agreement = agreeing_count / judged_count
        details = {**verdict.details, "votes": votes, "agreement": agreement}
        return replace(verdict, details=FrozenDict(details))
    if not yes_count:
        return first
    code = "conflicting_verdicts"
    reason = "the votes are split"
    return Verdict(id=first.id, value=None, text=first.text, code=code, reason=reason)


# The judgements that this process has finished.
_memo: Memo[ExchangeOutcome] = Memo(MEMORY)


def copy_memory() -> Memo[ExchangeOutcome]:
    """Return a copy of the judgements that this process has finished."""
    return _memo.copy()


def forget() -> None:
    """Forget finished judgements, scores of pairs, and that a judge is down, as in a new process."""
    _memo.clear()
    scores_of_process.clear()
    forget_failures()
