"""The judge that asks a decision model: a yes-or-no question for each unit and context, answered with a probability.

`decision_exchange` asks the questions about each state, and checks the answers. `probabilities` converts them to verdicts.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Literal, get_args

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import hide_keys, remember_api_keys
from ctxmetrics.errors import BudgetExceededError, JudgeError, ParameterError
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.judges import probabilities
from ctxmetrics.judges.base import Judgement, JudgeRequest, describe_rules
from ctxmetrics.judges.context_windows import Window, choose_complementary, choose_windows
from ctxmetrics.judges.decision_exchange import LARGEST_GAP, DecisionExchange, is_probability
from ctxmetrics.judges.evidence.quotes import QuotedUnit
from ctxmetrics.judges.llm.splitting import RequestPart, halves, split_request
from ctxmetrics.judges.pair_queue import scores_of_process
from ctxmetrics.judges.probabilities import Bar, ProbabilityCell, UnitProbabilities
from ctxmetrics.models.base import DecisionModel
from ctxmetrics.models.foreign_decisions import coerce_decisions
from ctxmetrics.models.runtime.failures import SIZE_CODES
from ctxmetrics.models.runtime.memo import Memo, digest_key
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.prompts import Pack, Step, get_pack
from ctxmetrics.prompts.render import escape, render_state
from ctxmetrics.verdicts import Evidence, Usage, Verdict

Layout = Literal["context", "sample"]
# The label of every score. Pages and reports show it.
LABEL = (
    "Decision model: the evidence is the nearest sentence, found by the library, and no quote of the model; choose the bar "
    "by labels (ctxmetrics agree)"
)
_MOVING_NAME_WARNING = (
    "the provider may give the name {name} to another model: served_model says which one answered"
)
# Parameters that change verdicts.
_PARAMETERS_THAT_CHANGE_VERDICTS = ("bar", "doubt", "layout", "together", "max_characters")
# The default maximum number of characters of units and contexts in one request.
_DEFAULT_MAX_CHARACTERS = 60_000
# The lowest value that a caller may set for this maximum: with less, only few sentences would fit.
_MIN_CHARACTERS_LIMIT = 1_000
# The maximum number of contexts in one request.
_MAX_CONTEXTS_OF_REQUEST = 64
# Doubts about evidence that shares no word with its unit.
_UNRELATED = frozenset({"unrelated", "fragment"})


@dataclass(frozen=True, slots=True)
class _DecisionAnswers:
    """The answers by the question's id, and the usage of the requests. A long context has an answer for each of its pieces.

    The id of a question is ``s1_c2`` (does c2 alone state s1?), ``c2`` (is c2 useful?) or ``s1`` (do all contexts together state
    s1?).
    """

    by_id: dict[str, list[ProbabilityCell]]
    usage: Usage
    complete: ClassVar[bool] = False  # a `Memo` does not keep this object: the memory keeps its cells


@dataclass(frozen=True)
class DecisionJudge:
    """Judges with a decision model: a yes-or-no question for each unit and context, answered with a probability.

    **Support** of a unit by a context: the probability that the context states the unit is at least ``bar``. If no context
    states it alone, the probability that all contexts together state it counts; then the evidence is not ``whole``.

    **Usefulness** of a context: it supports a unit of the answer, or the probability that it is useful is at least
    ``bar``.

    The first metric asks all questions at once. Each answer is kept by model, state and question, so that another bar needs no
    new request. Each request holds its first question twice. If the two answers differ by more than 0.1, the verdicts of the
    sample are flagged ``contradicted``. In the layout ``"context"`` the first request is repeated once, with fewer questions and
    in another order. If its answers differ by more than 0.1, all verdicts are flagged.

    **Evidence** is the sentence of the context with most of the unit's words. The library finds it, since the model gives no
    quotes. A yes whose evidence shares no word with the unit is flagged ``weak_evidence``.

    The verdicts' ``details``: ``probability`` (compared with the bar) and, for a unit, ``probabilities`` (one for each
    context).

    Attributes:
        model: The `DecisionModel`, or a decision model of LangChain, pydantic-ai or DeepEval, or a client of typesafe-sdk.
        bar: The threshold: the answer is yes if its probability is at least this. Choose it by `ctxmetrics.agree`.
        doubt: A verdict is flagged ``near_bar`` if its probability is less than this far from ``bar``. 0 flags no verdict.
        layout: ``"context"`` shows one context in each request: an answer depends on that context only, and is reused with any
            number of other contexts. ``"sample"`` shows all contexts in one request.
        together: Whether to ask also if all contexts together state a unit.
        max_questions: The maximum number of questions in one request.
        max_characters: The maximum number of characters of units and contexts in one request.

    Raises:
        ParameterError: The model is no `DecisionModel`, or a parameter is out of range.
    """

    model: DecisionModel
    _: KW_ONLY
    bar: float = 0.5
    doubt: float = 0.15
    layout: Layout = "context"
    together: bool = True
    max_questions: int = 128
    max_characters: int = _DEFAULT_MAX_CHARACTERS

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", coerce_decisions(self.model))
        if not (isinstance(self.model, DecisionModel) and isinstance(self.model.identity, str)):
            raise ParameterError(
                f"DecisionJudge: model={type(self.model).__name__} is no decision model: it needs identity and "
                "decide(state, questions). Write DecisionAPI.preset('PROVIDER', 'MODEL')."
            )
        check_number("DecisionJudge: bar", self.bar, 0, 1)
        check_number("DecisionJudge: doubt", self.doubt, 0, 1)
        check_choice("DecisionJudge: layout", self.layout, get_args(Layout))
        check_number("DecisionJudge: max_questions", self.max_questions, 1, whole=True)
        check_number(
            "DecisionJudge: max_characters", self.max_characters, _MIN_CHARACTERS_LIMIT, whole=True
        )
        remember_api_keys(self.model)

    @property
    def judges_contexts_apart(self) -> bool:
        """Whether the judge asks about each context by itself. Then a context that was judged before needs no request."""
        return self.layout == "context"

    @property
    def name(self) -> str:
        """``decision:``, the model's identity, and the parameters of the verdicts that are not the default."""
        return f"decision:{hide_keys(self.model.identity)}{describe_rules(self, _PARAMETERS_THAT_CHANGE_VERDICTS)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence about the evidence; and another one if the model's name may mean another model later."""
        if getattr(self.model, "moves", False) is True:
            return LABEL, _MOVING_NAME_WARNING.format(
                name=getattr(self.model, "name", self.model.identity)
            )
        return (LABEL,)

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return await self._judge(request, rated=False)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        return await self._judge(request, rated=True)

    async def _judge(self, request: JudgeRequest, *, rated: bool) -> Judgement:
        """Judge the contexts (if `rated`) or the units, and flag doubtful verdicts."""
        answers = await self._ask(request)
        bar = Bar(self.bar, self.doubt)
        rows = _build_rows(request, answers.by_id, rated=rated)
        # The texts with which the evidence of each verdict should share a word.
        texts: Sequence[str] = request.units
        if rated:
            texts = [request.answer] * len(request.contexts)
            verdicts = probabilities.judge_contexts(request.context_ids, rows, bar)
        else:
            verdicts = probabilities.judge_units(request.unit_ids, rows, bar)
        cells = [*chain.from_iterable(answers.by_id.values())]
        # The largest difference between two answers to the same question.
        largest_gap = max((cell.gap for cell in cells), default=0.0)
        flagged_verdicts = []
        for verdict, text in zip(verdicts, texts, strict=True):
            unit = QuotedUnit(text, request.answer, request.contexts, request.language)
            flagged_verdicts.append(_flag(verdict, unit, request.contexts, largest_gap))
        served_models = {cell.served_model for cell in cells if cell.served_model}
        # Without a request, every answer was remembered.
        reused_judgements = 0 if answers.usage.calls else 1
        return Judgement(
            verdicts=tuple(flagged_verdicts),
            usage=replace(answers.usage, reused=reused_judgements),
            prompt=get_pack(request.language).versions["decision"],
            served_model=", ".join(sorted(served_models)) or None,
        )

    async def _ask(self, request: JudgeRequest) -> _DecisionAnswers:
        """Ask every question about a request: about each context, and in the layout "context" also about all contexts together."""
        split_into_parts = partial(
            split_request, request, limit=self.max_characters, most_ids=_MAX_CONTEXTS_OF_REQUEST
        )
        one_context_each = self.layout == "context"
        step: Step = "joint" if request.units else "usefulness"
        parts = split_into_parts(step, per_context=one_context_each)
        requests = [self._ask_in_halves(request_part) for request_part in parts]
        if one_context_each and self.together:
            parts = split_into_parts("attribution", per_context=False)
            requests += [self._ask_in_halves(request_part, together=True) for request_part in parts]
        return _merge(await asyncio.gather(*requests))

    async def _ask_in_halves(
        self, request_part: RequestPart, *, together: bool = False
    ) -> _DecisionAnswers:
        """Ask the questions about a part. If the part is too long for the model, ask about each half of it.

        Args:
            request_part: The part of the request.
            together: Whether to ask only about all contexts of the part together.
        """
        state, questions = self.write(request_part, together=together)
        if not questions:
            return _DecisionAnswers({}, Usage())
        answers = await self._look_up_or_ask(request_part.request, state, questions)
        codes = {cell.code for cell in chain.from_iterable(answers.by_id.values())}
        is_too_long = bool(codes & SIZE_CODES)
        two_halves = halves(request_part) if is_too_long else None
        if two_halves is None:
            return answers
        requests = [self._ask_in_halves(half, together=together) for half in two_halves]
        answers_of_halves = await asyncio.gather(*requests)
        # The answers to the whole part are not used, but their usage counts.
        without_answers = _DecisionAnswers({}, answers.usage)
        return _merge([without_answers, *answers_of_halves])

    def write(self, request_part: RequestPart, *, together: bool = False) -> tuple[str, dict[str, str]]:
        """Write the state of a part, and its questions by their ids.

        Args:
            request_part: The part of the request.
            together: Whether to ask only about all contexts of the part together.
        """
        request = request_part.request
        one_context_each = self.layout == "context"
        pack = get_pack(request.language)
        data: dict[str, Any] = {"question": request.user_input}
        if one_context_each:
            data["contexts"] = list(request_part.contexts.values())
        else:
            if request_part.units:
                data["sentences"] = request_part.units
            else:
                data["answer"] = request.answer
            data["contexts"] = request_part.contexts
        write_question = partial(_write_question, pack, "_text" if one_context_each else "")
        # For each id in the part, the id in the whole request: the letter of the kind, and the number.
        ids = {id_: f"{id_[0]}{index + 1}" for id_, (index, _) in request_part.places.items()}
        questions: dict[str, str] = {}
        if not together:
            for context_id in request_part.contexts:
                for unit_id, text in request_part.units.items():
                    question = write_question("states", text, context=context_id, sentence=unit_id)
                    questions[f"{ids[unit_id]}_{ids[context_id]}"] = question
                if request_part.rated:
                    question = write_question("useful", request.answer, context=context_id)
                    questions[ids[context_id]] = question
        if len(request_part.contexts) > 1 and self.together:
            for unit_id, text in request_part.units.items():
                questions[ids[unit_id]] = write_question("together", text, sentence=unit_id)
        return render_state(pack, data), questions

    async def _look_up_or_ask(
        self, request: JudgeRequest, state: str, questions: Mapping[str, str]
    ) -> _DecisionAnswers:
        """Answer questions from memory, the cache, requests in flight, or by asking."""
        run = current_run()
        version = get_pack(request.language).versions["decision"]
        memory = run.memo or scores_of_process
        cache = run.cache
        key_prefix = version, self.model.identity, state
        keys = {id_: digest_key((*key_prefix, text)) for id_, text in questions.items()}
        answers: dict[str, list[ProbabilityCell]] = {}

        def look_up() -> _DecisionAnswers | None:
            """Take the answers that are stored; return them if that is all."""
            for id_, key in keys.items():
                cell = memory.peek(key)
                if cell is None and cache is not None:
                    cell = _decode(cache.get(key))
                if cell is not None:
                    memory.remember(key, cell)
                    answers[id_] = [cell]
            is_complete = len(answers) == len(keys)
            return _DecisionAnswers(answers, Usage()) if is_complete else None

        async def ask() -> _DecisionAnswers:
            """Ask the questions without a stored answer, and store the answers."""
            open_questions = {id_: text for id_, text in questions.items() if id_ not in answers}
            exchange = DecisionExchange(self.model, version, state)
            await exchange.ask(open_questions, self.max_questions)
            gap = await self._measure_dependence(exchange, memory)
            for id_, cell in exchange.answers.items():
                answer = cell._replace(gap=max(gap, cell.gap))
                answers[id_] = [answer]
                if cell.failure is None:
                    memory.remember(keys[id_], answer)
                    if cache is not None:
                        cache.put(keys[id_], _encode(answer))
            return _DecisionAnswers(answers, exchange.usage)

        stored_answers = look_up()
        if stored_answers is not None:
            return stored_answers
        request_key = digest_key((str(self.max_questions), *keys.values()))
        ask_once = ask if cache is None else partial(cache.ask_once, request_key, look_up, ask)
        outcome: _DecisionAnswers
        outcome, is_shared = await memory.get(f"{id(run)} {request_key}", ask_once)
        # Answers that another sample asked for cost nothing here.
        return replace(outcome, usage=Usage()) if is_shared else outcome

    async def _measure_dependence(self, exchange: DecisionExchange, memory: Memo[Any]) -> float:
        """Measure how much an answer changes if the questions of its request stand in another order; once for each memo."""
        if self.layout == "sample":
            return 0.0
        key = digest_key(("order", exchange.version, self.model.identity))
        with suppress(JudgeError, BudgetExceededError):
            gap, _ = await memory.get(key, exchange.measure_gap_to_other_order)
            return gap or 0.0
        return 0.0


def _write_question(pack: Pack, form: str, kind: str, text: str, **ids: str) -> str:
    """Write a question from the template of the language. The ids and the text replace their names in braces."""
    question = pack.decisions[f"{kind}{form}"]
    for name, id_ in ids.items():
        question = question.replace(f"{{{name}}}", id_)
    return question.replace("{text}", escape(text))


def _merge(answers: Sequence[_DecisionAnswers]) -> _DecisionAnswers:
    """Join the answers of several requests."""
    cells_by_id: dict[str, list[ProbabilityCell]] = defaultdict(list)
    usage = Usage()
    for answers_of_state in answers:
        usage += answers_of_state.usage
        for id_, cells in answers_of_state.by_id.items():
            cells_by_id[id_] += cells
    return _DecisionAnswers(cells_by_id, usage)


def _build_rows(
    request: JudgeRequest, answers: Mapping[str, Sequence[ProbabilityCell]], *, rated: bool
) -> list[UnitProbabilities]:
    """Build a row of cells for each unit; if contexts are rated, also one about their usefulness for the answer."""
    unit_ids = list(request.unit_ids)
    units = list(request.units)
    if rated:
        unit_ids.append("")  # the answer as a whole is not a unit and has no id
        units.append(request.answer)
    # For each unit the nearest sentence of each context: windows of one sentence, and one window a context.
    units_with_windows = choose_windows(request, units, 1, 1)
    rows = []
    for unit_id, (_, windows_by_context) in zip(unit_ids, units_with_windows, strict=True):
        cells = []
        for context_id, windows in zip(request.context_ids, windows_by_context, strict=True):
            question_id = f"{unit_id}_{context_id}" if unit_id else context_id
            cell = probabilities.find_failure_or_likeliest(answers.get(question_id, ()))
            nearest_sentence = windows[0].span if windows else None
            cells.append(cell._replace(span=nearest_sentence))
        together = probabilities.find_failure_or_likeliest(answers.get(unit_id, ()))
        spans = choose_complementary(windows_by_context)
        if not spans:
            spans = _list_parts(windows_by_context)
        rows.append(UnitProbabilities(tuple(cells), together, spans))
    return rows


def _list_parts(windows_by_context: Sequence[Sequence[Window]]) -> tuple[Evidence, ...]:
    """Return the nearest sentences that share a word with the unit; if there is none, the nearest sentence of every context."""
    sentences = [*chain.from_iterable(windows_by_context)]
    related = [sentence for sentence in sentences if sentence.words]
    if not related:
        related = sentences
    return tuple(replace(sentence.span, whole=False) for sentence in related)


def _flag(verdict: Verdict, unit: QuotedUnit, contexts: Sequence[str], largest_gap: float) -> Verdict:
    """Flag a verdict whose evidence shares no word with its unit, or whose question had two different answers."""
    if verdict.value is None:
        return verdict
    doubts = {unit.find_doubt(contexts[span.context], [span]) for span in verdict.evidence}
    if doubts and doubts <= _UNRELATED:
        details = FrozenDict({**verdict.details, "weak": ("unrelated",)})
        verdict = replace(verdict, code="weak_evidence", details=details)
    if largest_gap > LARGEST_GAP:
        reason = (
            f"{verdict.reason}; a question that was asked twice had answers {largest_gap:.2f} apart"
        )
        verdict = replace(verdict, code="contradicted", reason=reason)
    return verdict


def _encode(cell: ProbabilityCell) -> str:
    """Write an answer as JSON, for the cache."""
    return json.dumps([cell.probability, cell.served_model, cell.gap])


def _decode(text: str | None) -> ProbabilityCell | None:
    """Read a stored answer; None for anything else."""
    with suppress(ValueError, TypeError, RecursionError):
        probability, served, gap = json.loads(text or "")
        if is_probability(probability) and is_probability(gap) and isinstance(served, str):
            return ProbabilityCell(probability, served_model=served, gap=gap)
    return None
