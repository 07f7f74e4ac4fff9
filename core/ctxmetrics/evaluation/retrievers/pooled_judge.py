"""A judge that is asked once about the contexts of all settings of a question.

Each setting's verdicts are its rows of that one judgement, so that the same text has the same verdict in every setting.
If the verdicts about the pool may differ from the verdicts about a setting alone, the judge is asked about the setting alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.judges.base import (
    Claims,
    DecomposingJudge,
    Judge,
    Judgement,
    JudgeRequest,
    checked_answer,
    complete_verdicts,
)
from ctxmetrics.models.runtime.memo import Memo, digest_key
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import Evidence, Usage, Verdict

# The maximum number of remembered judgements for each question: two of its pool, and two of each of some settings alone.
_MAX_REMEMBERED_JUDGEMENTS = 10
# Verdict codes of unusable replies. A shorter request may bring a usable reply.
_UNUSABLE_CODES = frozenset(
    {
        "missing_id",
        "invalid_reply",
        "conflicting_verdicts",
        "wrong_data",
        "too_many_quotes",
        "refused",
        "truncated",
        "too_long",
        "truncated_prompt",
    }
)
_Step = Literal["attribute", "rate"]


def order_pool(question: str, contexts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct contexts of a question in an order drawn from a hash of the contents.

    The order of the settings plays no part in it, so that a judge that reads the first contexts only favours none.
    """

    def draw(text: str) -> str:
        """Return the place of a text in the drawn order."""
        return hashlib.sha256(f"{question}\0{text}".encode(errors="surrogatepass")).hexdigest()

    return tuple(sorted(set(contexts), key=draw))


@dataclass(eq=False, slots=True)
class Pools:
    """The pools of a run's questions, and the counts of the requests about these pools."""

    # The contexts of the pool to which a setting's contexts belong, by the question and the setting's contexts.
    _pools: dict[tuple[str | None, tuple[str, ...]], tuple[str, ...]] = field(default_factory=dict)
    # The keys of the requests about a whole pool, and about one setting's contexts alone.
    _asked: set[str] = field(default_factory=set)
    _alone: set[str] = field(default_factory=set)
    _requests_without_pool: set[str] = field(default_factory=set)

    def add(self, question: str | None, contexts: tuple[str, ...], pool: tuple[str, ...]) -> None:
        """Note the pool to which a setting's contexts belong."""
        self._pools[question, contexts] = pool

    def find(self, request: JudgeRequest) -> tuple[str, ...] | None:
        """Find the pool of the contexts of a request. Return None if no setting made the request.

        The request is counted as one that would be sent if there were no pools.
        """
        pool = self._pools.get((request.user_input, request.contexts))
        if pool is not None:
            self._requests_without_pool.add(_make_key(request))
        return pool

    def count(self, request: JudgeRequest, *, alone: bool) -> None:
        """Count a set of contexts that is asked about."""
        counted_pools = self._alone if alone else self._asked
        counted_pools.add(_make_key(request))

    @property
    def asked(self) -> int:
        """The number of pools that the judge was asked about."""
        return len(self._asked)

    @property
    def alone(self) -> int:
        """The number of settings' contexts that the judge was asked about alone, because their pool could not decide."""
        return len(self._alone)

    @property
    def apart(self) -> int:
        """The number of sets of contexts that the judge would be asked about if each setting were judged alone."""
        return len(self._requests_without_pool)


def _make_key(request: JudgeRequest) -> str:
    """Return a hash of a question, its answer and its contexts: `attribute` and `rate` about the same contexts count once."""
    return digest_key([request.user_input or "", request.answer, *request.contexts])


class PooledJudge:
    """Judges the contexts of a setting by one judgement of its question's pool.

    Args:
        judge: The judge that is asked.
        settings: The names of the settings whose contexts are in the pools, for the judge's name: runs with unlike pools are runs of two judges.
        pools: The pools.
        questions: The number of questions.
    """

    def __init__(self, judge: Judge, settings: Iterable[str], pools: Pools, questions: int) -> None:
        self.judge = judge
        self.settings: tuple[str, ...] = tuple(sorted(settings))
        self.pools = pools
        self._memo: Memo[Judgement] = Memo(_MAX_REMEMBERED_JUDGEMENTS * questions, keep=_is_complete)

    @property
    def name(self) -> str:
        """The judge, and the settings whose contexts it judges together."""
        return f"{self.judge.name} over pools of {', '.join(self.settings)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the judge."""
        return self.judge.warnings

    @property
    def rates_without_answer(self) -> bool:
        """Whether the judge can say which contexts answer a question whose answer is not known."""
        return rates_without_answer(self.judge)

    def __repr__(self) -> str:
        return f"PooledJudge({self.judge!r}, {list(self.settings)})"

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        pool = self.pools.find(request)
        if pool is None:
            return await self.judge.attribute(request)
        places = _PlacesInPool(request.contexts, pool)
        judgement = await self._ask("attribute", replace(request, contexts=pool))
        if places.need_own_question(judgement.verdicts):
            return await self._ask_alone("attribute", request, judgement.usage)
        verdicts = tuple(places.to_setting(verdict) for verdict in judgement.verdicts)
        return replace(judgement, verdicts=verdicts)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer.

        What a context is worth depends on the others: one that states a part may be useless beside one that states the
        whole. So the setting is asked about alone if a unit needs that, and the units of a response are judged, too.
        A question without an answer has no units.
        """
        pool = self.pools.find(request)
        if pool is None:
            return await self.judge.rate(request)
        places = _PlacesInPool(request.contexts, pool)
        units = request.units or split_sentences(request.answer, request.language)
        pooled = replace(request, contexts=pool, units=units)
        usage = Usage()
        if units and not places.has_whole_pool:
            attribution = await self._ask("attribute", pooled)
            usage = attribution.usage
            if places.need_own_question(attribution.verdicts):
                return await self._ask_alone("rate", request, usage)
        judgement = await self._ask("rate", pooled)
        usage += judgement.usage
        ranks = range(len(request.contexts))
        verdicts = [places.find_rating(judgement.verdicts, rank) for rank in ranks]
        if any(_is_unusable(verdict) for verdict in verdicts) and not places.has_whole_pool:
            return await self._ask_alone("rate", request, usage)
        return replace(judgement, verdicts=tuple(verdicts), usage=usage)

    async def _ask_alone(self, step: _Step, request: JudgeRequest, spent: Usage) -> Judgement:
        """Ask about the contexts of one setting alone."""
        judgement = await self._ask(step, request, alone=True)
        return replace(judgement, usage=spent + judgement.usage)

    async def _ask(self, step: _Step, request: JudgeRequest, *, alone: bool = False) -> Judgement:
        """Ask the judge, once for all settings that have the same question."""
        self.pools.count(request, alone=alone)

        async def compute() -> Judgement:
            """Ask the judge, and complete its verdicts."""
            if step == "attribute":
                answer = await self.judge.attribute(request)
                ids = request.unit_ids
                texts = request.units
            else:
                answer = await self.judge.rate(request)
                ids = request.context_ids
                texts = request.contexts
            judgement = checked_answer(answer, Judgement)
            verdicts = complete_verdicts(judgement.verdicts, ids, texts, request.contexts)
            return replace(judgement, verdicts=verdicts)

        user_input = request.user_input or ""
        # The number of units says where the units end and the contexts begin.
        unit_count = str(len(request.units))
        key_texts = [step, user_input, request.answer, request.language, unit_count]
        key_texts += [*request.units, *request.contexts]
        judgement, is_shared = await self._memo.get(digest_key(key_texts), compute)
        if is_shared:  # another setting asked, and bears the cost
            return replace(judgement, usage=Usage(reused=1), raw=())
        return judgement


class PooledDecomposingJudge(PooledJudge):
    """The same, of a judge that can break a reference into claims."""

    async def decompose(self, text: str, *, language: str) -> Claims:
        """Break a text into claims."""
        assert isinstance(self.judge, DecomposingJudge)  # noqa: S101 - `pool_judge` looked
        return await self.judge.decompose(text, language=language)


def pool_judge(judge: Judge, settings: Iterable[str], pools: Pools, questions: int) -> PooledJudge:
    """Return a judge that judges the pools of some settings."""
    if isinstance(judge, DecomposingJudge):
        return PooledDecomposingJudge(judge, settings, pools, questions)
    return PooledJudge(judge, settings, pools, questions)


def rates_without_answer(judge: object) -> bool:
    """Tell whether a judge can say which contexts answer a question whose answer is not known."""
    return getattr(judge, "rates_without_answer", False) is True


def gains_by_pools(judge: Judge) -> bool:
    """Tell whether one question about all contexts of a question costs less than one a setting.

    It does not with a judge that costs nothing, or that asks about each context separately and remembers the answers.
    """
    costs_nothing = getattr(judge, "judges_stages_alone", False) is True
    asks_about_each_context = getattr(judge, "judges_contexts_apart", False) is True
    return not costs_nothing and not asks_about_each_context


class _PlacesInPool:
    """The indexes of the contexts of a setting in a pool. It turns verdicts about the pool into verdicts about the setting.

    Args:
        contexts: The contexts of the setting, in rank order; one may stand several times.
        pool: The distinct contexts of all settings.

    Attributes:
        has_whole_pool: Whether the setting retrieved every context of the pool.
    """

    def __init__(self, contexts: Sequence[str], pool: Sequence[str]) -> None:
        pool_index_of_text = {text: index for index, text in enumerate(pool)}
        # For each rank in the setting, the index of its context in the pool.
        self._pool_indexes = [pool_index_of_text[text] for text in contexts]
        # For each such index, the ranks in the setting.
        self._ranks: dict[int, list[int]] = {}
        for rank, pool_index in enumerate(self._pool_indexes):
            self._ranks.setdefault(pool_index, []).append(rank)
        self.has_whole_pool: bool = len(self._ranks) == len(pool)

    def need_own_question(self, verdicts: Iterable[Verdict]) -> bool:
        """Tell whether the judge must be asked about the setting alone: its verdicts do not follow from those about the pool."""
        if self.has_whole_pool:
            return False
        return any(self._needs_own_question(verdict) for verdict in verdicts)

    def _needs_own_question(self, verdict: Verdict) -> bool:
        """Tell whether a verdict about the pool does not tell the verdict about the setting.

        There are three such cases:

        - A yes, and the setting has only some of the contexts that state parts. These parts may be too few; or they may be
          enough, and the judge did not name them all, since another context states the whole.
        - A yes without evidence.
        - A reply that could not be used.
        """
        if verdict.value is None:
            return _is_unusable(verdict)
        if verdict.value is False:
            return False
        if not verdict.evidence:
            return True
        # Contexts of the pool, by their indexes.
        with_whole, with_part = _split_evidence(verdict.evidence)
        in_setting = self._ranks.keys()
        setting_has_whole = bool(with_whole & in_setting)
        setting_has_all_parts = not with_whole and with_part <= in_setting
        if setting_has_whole or setting_has_all_parts:
            return False
        # Without any part, the setting does not state the unit.
        return bool(with_part & in_setting)

    def to_setting(self, verdict: Verdict) -> Verdict:
        """Turn a verdict about a unit and the pool into one about the setting. Call it only if `need_own_question` is false."""
        spans: list[Evidence] = []
        for span in verdict.evidence:
            spans += [replace(span, context=rank) for rank in self._ranks.get(span.context, ())]
        spans.sort(key=lambda span: (span.context, span.start))
        details = {name: value for name, value in verdict.details.items() if name != "smallest_k"}
        verdict = replace(verdict, evidence=tuple(spans), details=FrozenDict(details))
        if verdict.value is not True or spans or self.has_whole_pool:
            return verdict
        reason = "no context of this setting states it; one of another setting does"
        return replace(verdict, value=False, code=None, reason=reason)

    def find_rating(self, verdicts: Sequence[Verdict], rank: int) -> Verdict:
        """Find the verdict about the context at a rank of the setting, among the verdicts about the pool."""
        verdict = verdicts[self._pool_indexes[rank]]
        evidence = tuple(replace(span, context=rank) for span in verdict.evidence)
        return replace(verdict, id=f"c{rank + 1}", evidence=evidence)


def _split_evidence(evidence: Iterable[Evidence]) -> tuple[set[int], set[int]]:
    """Return the contexts that state a whole unit, and the contexts that state only a part of it."""
    with_whole: set[int] = set()
    with_part: set[int] = set()
    for span in evidence:
        contexts = with_whole if span.whole else with_part
        contexts.add(span.context)
    return with_whole, with_part - with_whole


def _is_unusable(verdict: Verdict) -> bool:
    """Tell whether a verdict is missing because the reply could not be used."""
    return verdict.value is None and verdict.code in _UNUSABLE_CODES


def _is_complete(judgement: Judgement) -> bool:
    """Tell whether a judgement has a yes or no for everything."""
    return all(verdict.value is not None for verdict in judgement.verdicts)


def collect_settings(names: Mapping[str, object], k: int) -> list[str]:
    """Name the settings of pools: each with how many contexts it brings at most."""
    return [f"{name}@{k}" for name in names]
