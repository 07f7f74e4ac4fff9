"""Checking a reply against what was asked.

A reply is untrusted. It must repeat the code of its request, it may decide nothing but the ids that were asked for, with
a plain yes or no, and a yes needs a quote that stands in a context. What a quote proves is measured in
`ctxmetrics.judges.evidence.quotes`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.quote_matches import match_quote
from ctxmetrics.judges.evidence.quotes import DENIED, QuotedUnit, read_distinctive_words
from ctxmetrics.judges.evidence.restatements import (
    find_restatement,
    may_state,
    stands_as_sentence,
)
from ctxmetrics.judges.llm import comparing
from ctxmetrics.judges.llm.entries import ReplyEntries, ReplyEntry, count_strays, read_entries
from ctxmetrics.judges.llm.located_quotes import (
    ContextQuotes,
    LocatedQuote,
    QuoteFinder,
    build_evidence,
    group_by_context,
)
from ctxmetrics.judges.llm.parsing import WrongDataError, repeats_code
from ctxmetrics.judges.llm.splitting import RequestPart
from ctxmetrics.prompts import Pack
from ctxmetrics.text.quote_search import Effort
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import EMPTY_FORM, FLAGS, Evidence, Verdict

# The minimum share of a unit's words in a quote that is about the unit.
_MIN_SHARE_OF_NEAREST = 0.5
# The maximum number of characters of a sentence that a reason shows.
_MAX_CHARACTERS_SHOWN = 200
# The notes to the model when it is asked again, each with the codes of the ids that it is about.
_NOTES: Sequence[Mapping[str, Any]] = read_data("judges.llm", "words.toml")["notes"]


class Decision(NamedTuple):
    """What a reply decides about an id.

    Attributes:
        verdict: The verdict, or None. A yes has verified evidence.
        problem: The code that says why the model is asked about the id again; None if it is not asked again. If the same problem
            comes again, the verdict is used.
    """

    verdict: Verdict | None
    problem: str | None = None

    @property
    def is_yes(self) -> bool:
        """Whether the verdict is yes and the model is not asked again."""
        return self.problem is None and self.verdict is not None and self.verdict.value is True


def check(
    data: Mapping[str, Any],
    request_part: RequestPart,
    units: Sequence[str],
    contexts: Sequence[str],
    pack: Pack,
    *,
    code: str = "",
    earlier_verdicts: Mapping[str, Verdict] = EMPTY,
) -> tuple[dict[str, Decision], str]:
    """Check a reply against what was asked.

    Args:
        data: The parsed reply.
        request_part: The units and contexts that the request showed.
        units: The ids of the units that need a verdict.
        contexts: The ids of the contexts that need a verdict.
        pack: The prompts of the request's language, for the words for yes and no.
        code: The code that the reply must repeat; empty if an earlier reply repeated it.
        earlier_verdicts: The verdicts of earlier replies: a context that their evidence names needs no quote.

    Returns:
        The decisions by id, and the note to the model for the next request. The note holds ids and the library's own words
        only.

    Raises:
        WrongDataError: The reply does not repeat the code, and has an id that was not shown, or a quote that is not in
            the context that it names.
    """
    is_code_repeated = not code or repeats_code(data, code)
    entries = read_entries(data, request_part, units, contexts, pack)
    if not is_code_repeated and count_strays(data, request_part, request_part.contexts):
        raise WrongDataError(code)
    finder = QuoteFinder(
        request_part, cache(partial(match_quote, Effort(), request_part.request.language))
    )
    evidence = _collect_evidence(request_part, earlier_verdicts)
    decisions: dict[str, Decision] = {}
    for id_ in units:
        entry = entries.by_id[id_]
        decisions[id_], quotes_by_context = _decide_unit(id_, entry, finder)
        if _may_be_shifted(id_, entries, request_part):
            decisions[id_] = Decision(None, "invalid_reply")
            continue
        decisions[id_] = _doubt_restated(decisions[id_], request_part)
        if _is_plain_no(decisions[id_]) and comparing.is_empty_form(id_, entry, request_part):
            decisions[id_] = _doubt_empty_form(decisions[id_])
        decisions[id_] = _doubt_other_sentence(id_, decisions[id_], quotes_by_context, request_part)
        is_decided = decisions[id_].verdict is not None
        _add_evidence(evidence, quotes_by_context, is_decided=is_decided)
    for id_ in contexts:
        decisions[id_] = _decide_context(id_, entries.by_id[id_], finder, evidence[id_])
        if id_ in entries.incomplete and not _proves_context(id_, decisions[id_], finder):
            decisions[id_] = Decision(None, "invalid_reply")
    decisions |= _doubt_useless(contexts, decisions, request_part)
    if not is_code_repeated:
        all_quotes_are_right = finder.total > 0 and finder.in_place == finder.total
        if not all_quotes_are_right:
            raise WrongDataError(code)
        decisions = _flag_missing_echo(decisions)
    if _ends_in_empty_forms(decisions, units, contexts):
        decisions |= {id_: _doubt_empty_form(decisions[id_]) for id_ in contexts}
    return decisions, _write_note(decisions)


def _join_sentences(quotes_by_context: Mapping[int, ContextQuotes]) -> list[str]:
    """Return the sentences that hold the quotes from all contexts, in one list."""
    sentences: list[str] = []
    for quotes in quotes_by_context.values():
        sentences += quotes.sentences
    return sentences


def _collect_evidence(
    request_part: RequestPart, verdicts: Mapping[str, Verdict]
) -> dict[str, list[LocatedQuote]]:
    """Collect the evidence of earlier verdicts about units, by the id of the context in which the evidence stands."""
    evidence: dict[str, list[LocatedQuote]] = {id_: [] for id_ in request_part.contexts}
    for unit_id in request_part.units:
        verdict = verdicts.get(unit_id)
        if verdict is None:
            continue
        doubt = next(iter(verdict.details.get("weak", ())), None)
        for span in verdict.evidence:
            evidence[f"c{span.context + 1}"].append(LocatedQuote(span, doubt))
    return evidence


def _add_evidence(
    evidence: dict[str, list[LocatedQuote]],
    quotes_by_context: Mapping[int, ContextQuotes],
    *,
    is_decided: bool,
) -> None:
    """Add the quotes about a unit to the evidence, by the id of their context.

    Args:
        evidence: The evidence of the units before this one.
        quotes_by_context: The quotes about the unit.
        is_decided: Whether the reply decides about the unit.
    """
    for index, quotes in quotes_by_context.items():
        doubt = quotes.doubt if is_decided else comparing.UNDECIDED
        evidence[f"c{index + 1}"] += [LocatedQuote(span, doubt) for span in quotes.spans]


def _may_be_shifted(id_: str, entries: ReplyEntries, request_part: RequestPart) -> bool:
    """Whether an entry of a list with too few or too many ids may be about another sentence."""
    entry = entries.by_id[id_]
    if isinstance(entry.value, str):
        return False
    if id_ in entries.incomplete:
        return not comparing.is_about(id_, entry, request_part)
    return id_ in entries.overfull and comparing.is_about_another(id_, entry, request_part)


def _proves_context(id_: str, decision: Decision, finder: QuoteFinder) -> bool:
    """Whether a decision about a context rests on a quote that stands in no other context."""
    verdict = decision.verdict
    if verdict is None:
        return decision.problem != "unverified_evidence"
    if verdict.value is not True:
        return False
    other_contexts = [text for other, text in finder.part.contexts.items() if other != id_]
    for span in verdict.evidence:
        if all(finder.find(span.quote, text) is None for text in other_contexts):
            return True
    return False


def _ends_in_empty_forms(
    decisions: Mapping[str, Decision], units: Sequence[str], contexts: Sequence[str]
) -> bool:
    """Whether the last unit has an empty no, and every context a no.

    Such a reply may have been cut off, and its rest filled with the defaults of the schema.
    """
    if not units or not contexts:
        return False
    last_verdict = decisions[units[-1]].verdict
    if last_verdict is None or EMPTY_FORM not in last_verdict.details.get("weak", ()):
        return False
    verdicts = [decisions[id_].verdict for id_ in contexts]
    return all(verdict is not None and verdict.value is False for verdict in verdicts)


def _doubt_empty_form(decision: Decision) -> Decision:
    """Flag a verdict that may be a default of the schema. A verdict that has a flag keeps it."""
    verdict = decision.verdict
    if verdict is None or verdict.code is not None:
        return decision
    return decision._replace(verdict=with_doubts(verdict, [EMPTY_FORM], verdict.details))


def _doubt_other_sentence(
    id_: str,
    decision: Decision,
    quotes_by_context: Mapping[int, ContextQuotes],
    request_part: RequestPart,
) -> Decision:
    """Flag a yes whose evidence belongs to another sentence, and flag its quotes that have no doubt yet."""
    verdict = decision.verdict
    if verdict is None or not decision.is_yes:
        return decision
    sentences = _join_sentences(quotes_by_context)
    if not comparing.is_evidence_of_another(id_, sentences, request_part):
        return decision
    for quotes in quotes_by_context.values():
        quotes.doubt = quotes.doubt or comparing.ANOTHER_SENTENCE
    doubts = [*verdict.details.get("weak", ()), comparing.ANOTHER_SENTENCE]
    return decision._replace(verdict=with_doubts(verdict, doubts, verdict.details))


def _write_note(decisions: Mapping[str, Decision]) -> str:
    """Write the note about the ids that are asked again; empty if there are none."""
    if all(decision.problem is None for decision in decisions.values()):
        return ""
    sentences = []
    for note in _NOTES:
        ids = [id_ for id_, decision in decisions.items() if decision.problem in note["codes"]]
        if ids:
            sentences.append(note["text"].format(ids=", ".join(ids)))
    return " ".join(sentences)


def _flag_missing_echo(decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Flag the verdicts of a reply that does not repeat the code; a more serious flag stays."""
    flagged = dict(decisions)
    for id_, decision in decisions.items():
        verdict = decision.verdict
        if verdict is not None:
            code = max(verdict.code, "no_echo", key=FLAGS.index)
            flagged[id_] = decision._replace(verdict=replace(verdict, code=code))
    return flagged


def _decide_unit(
    id_: str, entry: ReplyEntry, finder: QuoteFinder
) -> tuple[Decision, Mapping[int, ContextQuotes]]:
    """Decide about a unit.

    Args:
        id_: The id of the unit.
        entry: What the reply says about the unit.
        finder: Finds the quotes of the entry.

    Returns:
        The decision, and the quotes about the unit by the index of their context.
    """
    request_part = finder.part
    text = request_part.units[id_]
    unit = finder.read_unit(text)
    quotes, absent_count, skipped_count = finder.look_up(entry.quotes, elsewhere=True)
    quotes_by_context = group_by_context(unit, quotes, request_part)
    if isinstance(entry.value, str):  # the code that says why the entry has no verdict
        return Decision(None, entry.value), quotes_by_context
    if entry.value is False:
        return _decide_unsupported(id_, entry, request_part, quotes), quotes_by_context
    has_one_context = len(request_part.contexts) == 1
    # With one context, a part that is stated is stated by that context alone.
    whole_contexts = {quote.span.context for quote in quotes if quote.span.whole or has_one_context}
    evidence = build_evidence(quotes, whole_contexts)
    verdict = Verdict(id=id_, value=True, text=text, evidence=evidence)
    if not whole_contexts and skipped_count:
        return Decision(None, "too_many_quotes"), quotes_by_context
    if not whole_contexts and (absent_count or not quotes):
        reason = "called supported, but a quote is in no context"
        return _refuse_unproven(verdict, reason), quotes_by_context
    denial = None
    for sentences in _list_proofs(unit, quotes_by_context, whole_contexts):
        denial = denial or unit.find_denial(sentences, request_part.request.contexts)
    doubts = _doubt_evidence(unit, quotes_by_context, whole_contexts, DENIED if denial else None)
    reasons = []
    if denial is not None:  # the contexts deny the unit
        reasons.append(f"called supported, and its evidence says otherwise: {denial}")
    own_denial = comparing.find_denial(entry, [quote.span for quote in quotes], request_part)
    if own_denial is not None:  # the entry denies its own yes
        reasons.append(own_denial.reason)
        doubts.add(own_denial.doubt)
        for context_quotes in quotes_by_context.values():
            context_quotes.doubt = own_denial.doubt
    if reasons:
        verdict = replace(verdict, reason="; ".join(reasons))
    details = {"quotes_left_out": skipped_count} if skipped_count else {}
    return Decision(with_doubts(verdict, doubts, details)), quotes_by_context


def _list_proofs(
    unit: QuotedUnit, quotes_by_context: Mapping[int, ContextQuotes], whole_contexts: Collection[int]
) -> list[Sequence[str]]:
    """List the sentences that must not deny the unit: all together, and those of each context that is said to state it all.

    A context is also read alone because a quote about X200 does not change what the quote of another context says about X210. If
    the sentences of one such context have all words of the unit, they state it, and the others may say something else.

    Args:
        unit: The unit.
        quotes_by_context: The quotes, by the index of their context.
        whole_contexts: The indexes of the contexts that are said to state the whole unit.
    """
    proofs: list[Sequence[str]] = [_join_sentences(quotes_by_context)]
    if len(quotes_by_context) > 1:
        sentence_lists = [quotes_by_context[index].sentences for index in sorted(whole_contexts)]
        if not any(unit.has_all_words(sentences) for sentences in sentence_lists):
            proofs += sentence_lists
    return proofs


def _doubt_evidence(
    unit: QuotedUnit,
    quotes_by_context: Mapping[int, ContextQuotes],
    whole_contexts: Collection[int],
    denied: str | None,
) -> set[str]:
    """Find why the evidence of a yes proves little. Each doubt is also written on the quotes that it is about.

    If the reply says that some contexts each state the whole unit, the quotes of each such context must prove it alone. Otherwise
    the quotes of all contexts must prove it together: then quotes that prove little do no harm beside others that prove something.

    Args:
        unit: The unit.
        quotes_by_context: The quotes, by the index of their context. Their doubts are changed.
        whole_contexts: The indexes of the contexts that are said to state the whole unit.
        denied: The doubt that the quotes deny the unit, or None. It takes the place of other doubts.

    Returns:
        The doubts; none if the evidence is good.
    """
    doubts = {quotes.doubt for quotes in quotes_by_context.values()}
    some_prove_something = None in doubts
    if not whole_contexts and some_prove_something:
        doubts.clear()
        for quotes in quotes_by_context.values():
            # One of several parts need not name what the sentence is about.
            if quotes.doubt == "unrelated":
                quotes.doubt = None
    # Each proof is a list of quotes that must prove the unit together.
    proofs = [[quotes_by_context[index]] for index in sorted(whole_contexts)]
    if not whole_contexts:
        proofs = [[*quotes_by_context.values()]]
    for proof in proofs:
        doubt = denied
        if doubt is None and _shares_little(unit, proof, is_one_context=bool(whole_contexts)):
            doubt = "few_words"
        if doubt is not None:
            doubts.add(doubt)
            for quotes in proof:
                quotes.doubt = doubt
    return {doubt for doubt in doubts if doubt is not None}


def _shares_little(unit: QuotedUnit, proof: Sequence[ContextQuotes], *, is_one_context: bool) -> bool:
    """Whether quotes that must prove a unit together share too few words with it.

    Args:
        unit: The unit.
        proof: The quotes, by context.
        is_one_context: Whether they are the quotes of one context that is said to state the whole unit.
    """
    if is_one_context:
        quotes = proof[0]
        if quotes.is_whole and unit.shares_little_as_whole(quotes.context):
            return True
    contexts = [quotes.context for quotes in proof]
    sentences = [sentence for quotes in proof for sentence in quotes.sentences]
    return unit.shares_little(sentences, contexts)


def _decide_unsupported(
    id_: str, entry: ReplyEntry, request_part: RequestPart, quotes: Sequence[LocatedQuote]
) -> Decision:
    """Decide about a unit that is called unsupported."""
    text = request_part.units[id_]
    verdict = Verdict(
        id=id_,
        value=False,
        text=text,
        reason=entry.missing,
        evidence=build_evidence(quotes, ()),
        details=FrozenDict({"missing": entry.missing}) if entry.missing else EMPTY,
    )
    if any(quote.span.whole for quote in quotes):
        reason = "called unsupported, and a quote is said to state it"
        return Decision(comparing.contradicted(verdict, reason), "contradicted")
    if entry.objection is not None:
        reason = f"called unsupported, and beside it: {entry.objection}"
        return Decision(comparing.contradicted(verdict, reason))
    return Decision(verdict)


def _is_plain_no(decision: Decision) -> bool:
    """Whether a decision is a no without a flag."""
    verdict = decision.verdict
    return verdict is not None and verdict.value is False and verdict.code is None


def _doubt_restated(decision: Decision, request_part: RequestPart) -> Decision:
    """Flag a no about a unit that a context states in the same or nearly the same words."""
    verdict = decision.verdict
    if verdict is None or not _is_plain_no(decision):
        return decision
    language = request_part.request.language
    for context in request_part.contexts.values():
        if not may_state(verdict.text, context, language):
            continue  # the usual case
        sentence = find_restatement(verdict.text, context, language)
        statement = _describe_statement(verdict.text, context, sentence)
        if statement is not None:
            reason = f"called unsupported, and {statement}"
            return Decision(comparing.contradicted(verdict, reason))
    return decision


def _doubt_useless(
    contexts: Sequence[str], decisions: Mapping[str, Decision], request_part: RequestPart
) -> dict[str, Decision]:
    """Flag each no about a context that states a unit in the same or nearly the same words.

    Returns:
        The decisions that have a new flag.
    """
    new_decisions: dict[str, Decision] = {}
    language = request_part.request.language
    units = _list_units(request_part)
    for id_ in contexts:
        decision = decisions[id_]
        verdict = decision.verdict
        if verdict is None or not _is_plain_no(decision):
            continue
        for unit in units:
            if not may_state(unit, verdict.text, language):
                continue  # the usual case
            sentence = find_restatement(unit, verdict.text, language)
            statement = _describe_statement(unit, verdict.text, sentence)
            if statement is not None:
                reason = f"called useless, and of a sentence of the answer, {statement}"
                new_decisions[id_] = decision._replace(verdict=comparing.contradicted(verdict, reason))
                break
    return new_decisions


def _describe_statement(unit: str, context: str, sentence: str | None) -> str | None:
    """Say how a context states a unit; None if it does not.

    Args:
        unit: The unit.
        context: The text of the context.
        sentence: A sentence of the context in nearly the words of the unit; None if there is none.
    """
    if stands_as_sentence(unit, context):
        return "it stands in a context word for word"
    if sentence is None:
        return None
    return f"a context has all its words: {sentence[:_MAX_CHARACTERS_SHOWN]}"


def _refuse_unproven(verdict: Verdict, reason: str) -> Decision:
    """Build the decision about a yes without a quote: the model is asked again. If the yes comes again, the verdict is no."""
    code = "unverified_evidence"
    return Decision(replace(verdict, value=False, code=code, reason=reason), code)


def _decide_context(
    id_: str, entry: ReplyEntry, finder: QuoteFinder, evidence: Sequence[LocatedQuote]
) -> Decision:
    """Decide about a context.

    Args:
        id_: The id of the context.
        entry: What the reply says about the context.
        finder: Finds the quotes of the entry.
        evidence: The evidence of units that stands in the context.
    """
    own_quotes, _, skipped_count = finder.look_up(entry.quotes, elsewhere=False)
    if isinstance(entry.value, str):
        return Decision(None, entry.value)
    request_part = finder.part
    text = request_part.contexts[id_]
    verdict = Verdict(id=id_, value=entry.value, text=text)
    if not entry.value:
        if entry.objection is not None:
            verdict = comparing.contradicted(
                verdict, f"called useless, and beside it: {entry.objection}"
            )
        return Decision(verdict)
    quotes = own_quotes or evidence
    if not quotes:
        if skipped_count:
            return Decision(None, "too_many_quotes")
        return _refuse_unproven(verdict, "called useful, but no quote is in it")
    # If units were asked about too, their evidence should name a useful context. `MetricValues` counts those it does not name.
    details = {"unnamed": True} if request_part.units and not evidence else {}
    verdict = replace(
        verdict, evidence=build_evidence(quotes, {quote.span.context for quote in quotes})
    )
    doubts = [quote.doubt for quote in evidence]
    if own_quotes and request_part.request.answer:  # else there is nothing to compare a quote with
        doubt, reason = _doubt_own_quotes(own_quotes, evidence, finder)
        verdict = replace(verdict, reason=reason)
        doubts.append(doubt)
    # One piece of evidence without a doubt is enough.
    counted_doubts = [] if None in doubts else [doubt for doubt in doubts if doubt is not None]
    if entry.objection is not None:
        counted_doubts.append(comparing.OBJECTION)
        verdict = replace(verdict, reason=f"called useful, and beside it: {entry.objection}")
    return Decision(with_doubts(verdict, counted_doubts, details))


def _doubt_own_quotes(
    own_quotes: Sequence[LocatedQuote], evidence: Sequence[LocatedQuote], finder: QuoteFinder
) -> tuple[str | None, str | None]:
    """Doubt the quotes that an entry gives for a useful context.

    Args:
        own_quotes: The quotes that the reply gives for the context itself.
        evidence: The evidence of units that stands in the context.
        finder: Has the units and contexts that the request showed.

    Returns:
        The doubt, and how the quotes deny the answer in words; each may be None.
    """
    request_part = finder.part
    unit = finder.read_unit(request_part.request.answer)
    (quotes,) = group_by_context(unit, own_quotes, request_part).values()
    # Of a context that is quoted as a whole, only the sentence closest to the answer counts.
    counted_sentences = quotes.sentences[:1] if quotes.is_whole else quotes.sentences
    doubt = "few_words" if unit.shares_little(counted_sentences, (), common=True) else None
    reason = None
    denial = unit.find_other_year(counted_sentences, request_part.request.contexts)
    if denial is None and not evidence:
        denial = _find_other_fact(counted_sentences, finder)
    if denial is not None:
        doubt = DENIED
        reason = f"called useful, and its quote says otherwise: {denial}"
    elif doubt is None and _rests_on_contradicted(own_quotes, evidence):
        doubt = evidence[0].doubt
        reason = "its quote is that of a sentence which the reply or the text denies"
    return quotes.doubt or doubt, reason


def _list_units(request_part: RequestPart) -> Sequence[str]:
    """List the units of a request; if it has none, the sentences of its answer."""
    return [*request_part.units.values()] or split_sentences(request_part.request.answer)


def _find_other_fact(sentences: Sequence[str], finder: QuoteFinder) -> Contradiction | None:
    """Find another year, value or name in sentences, in the place of the one that the nearest unit has; None if there is none.

    The nearest unit has the largest share of its words in the sentences. The share must be at least half. A quote
    about another model, or with another value, does not make a context useful. Negations are not compared: contexts that
    people called useful have them as often as useless ones.
    """
    request_part = finder.part
    quoted_words = read_distinctive_words(" ".join(sentences), request_part.request.language)
    nearest_unit = ""
    largest_share = 0.0
    for unit in _list_units(request_part):
        unit_words = read_distinctive_words(unit, request_part.request.language)
        share = len(unit_words & quoted_words) / max(1, len(unit_words))
        if share > largest_share:
            nearest_unit = unit
            largest_share = share
    if largest_share < _MIN_SHARE_OF_NEAREST:
        return None
    denial = finder.read_unit(nearest_unit).find_denial(
        sentences, request_part.request.contexts, facts_only=True
    )
    answer = request_part.request.answer
    if denial is not None and denial.context.casefold() in answer.casefold():
        return None  # another sentence of the answer has the same year, value or name
    return denial


def _rests_on_contradicted(
    own_quotes: Sequence[LocatedQuote], evidence: Sequence[LocatedQuote]
) -> bool:
    """Whether all evidence of units in a context is contradicted, and its own quotes stand within that evidence."""
    if not evidence:
        return False
    if any(quote.doubt not in comparing.CONTRADICTING for quote in evidence):
        return False
    return all(_stands_within(quote.span, evidence) for quote in own_quotes)


def _stands_within(span: Evidence, evidence: Sequence[LocatedQuote]) -> bool:
    """Whether a span stands within a piece of evidence."""
    return any(quote.span.start <= span.start and span.end <= quote.span.end for quote in evidence)


def with_doubts(verdict: Verdict, doubts: Iterable[str], details: Mapping[str, Any]) -> Verdict:
    """Return the verdict with details, and with a flag if there are doubts about its evidence."""
    all_details = dict(details)
    code = None
    distinct_doubts = tuple(sorted(set(doubts)))
    if distinct_doubts:
        all_details["weak"] = distinct_doubts
        is_contradicted = not comparing.CONTRADICTING.isdisjoint(distinct_doubts)
        code = "contradicted" if is_contradicted else "weak_evidence"
    if not all_details:
        return verdict
    return replace(verdict, code=code, details=FrozenDict(all_details))
