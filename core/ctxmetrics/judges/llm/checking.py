"""Checking a reply against what was asked.

A reply is untrusted. It must repeat the code of its request, it may decide nothing but the ids that were asked for, with
a plain yes or no, and a yes needs a quote that stands in a context. What a quote proves is measured in
`ctxmetrics.judges.evidence.quotes`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics.judges.evidence.contradiction import Contradiction
from ctxmetrics.judges.evidence.quotes import (
    DENIED,
    QuotedUnit,
    QuoteMatch,
    covers,
    match_quote,
    read_telling_words,
    split_context,
    stands_as_sentence,
)
from ctxmetrics.judges.evidence.restatements import find_restatement
from ctxmetrics.judges.llm import comparing
from ctxmetrics.judges.llm.entries import Quote, ReplyEntries, ReplyEntry, count_strays, read_entries
from ctxmetrics.judges.llm.parsing import WrongDataError
from ctxmetrics.judges.llm.splitting import Part
from ctxmetrics.prompts import Pack
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.quote_search import Effort, EffortExceededError
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import EMPTY_FORM, FLAGS, Evidence, Verdict

# Quotes about one unit that are looked for: three for each of the contexts of one request.
MOST_QUOTES = 200
# Characters of a long sentence that are read before and after a quote.
_AROUND = 500
# Characters of one context that are read about one unit.
_MOST_READ = 8_000
# The share of a unit's words that a quote holds if it is about that unit.
_LEAST_SHARE_OF_NEAREST = 0.5
# Characters of a sentence of a context that a reason shows.
_LONGEST_SHOWN = 200
# The notes to the model when it is asked again, each with the codes of the ids that it is about.
_NOTES: Sequence[Mapping[str, Any]] = read_data("judges.llm", "words.toml")["notes"]


class Decision(NamedTuple):
    """What a reply decides about an id.

    Attributes:
        verdict: The verdict; a yes has verified evidence. None where there is none.
        problem: The code that says why the id is asked again. A verdict beside it is used if the same problem comes again.
    """

    verdict: Verdict | None
    problem: str | None = None

    @property
    def is_yes(self) -> bool:
        """Whether the verdict is yes and is not asked again."""
        return self.problem is None and self.verdict is not None and self.verdict.value is True


class _Hit(NamedTuple):
    """A quote that was found in a context.

    Attributes:
        span: Where it stands.
        doubt: Why it proves little, or None.
    """

    span: Evidence
    doubt: str | None = None


@dataclass(slots=True)
class _Quotes:
    """Finds the quotes of one reply, and counts how many stand in the context that they name.

    Attributes:
        part: What the request shows.
        find: Finds a quote in a context (`match_quote`), and remembers the result.
        total: How many quotes were looked up.
        in_place: How many of them stand in the context that they name.
    """

    part: Part
    find: Callable[[str, str], QuoteMatch | None]
    total: int = 0
    in_place: int = 0

    def look_up(self, quotes: Iterable[Quote], *, elsewhere: bool) -> tuple[list[_Hit], int, int]:
        """Find quotes, each in the context that it names, else in exactly one other.

        Args:
            quotes: The quotes.
            elsewhere: Also look in the other contexts.

        Returns:
            The quotes that stand in a context, how many do not, and how many were too much work.
        """
        distinct = list(dict.fromkeys(quotes))
        self.total += len(distinct)
        skipped = max(0, len(distinct) - MOST_QUOTES)
        unverified = 0
        contexts = self.part.contexts
        hits: list[_Hit] = []
        for quote in distinct[:MOST_QUOTES]:
            context_id = quote.context
            doubt = None
            match = None
            try:
                if context_id in contexts:
                    match = self.find(quote.text, contexts[context_id])
                if match is not None:
                    self.in_place += 1
                elif elsewhere:
                    matches = self._matches_elsewhere(quote)
                    if len(matches) == 1:
                        context_id, match = matches[0]
                        doubt = "another_context"
            except EffortExceededError:
                skipped += 1
                continue
            if match is None:
                unverified += 1
                continue
            if match.is_broken and doubt is None:
                doubt = "broken_quote"
            context_index = int(context_id[1:]) - 1
            text = contexts[context_id][match.start : match.end]
            span = Evidence(context_index, match.start, match.end, text, quote.whole)
            hits.append(_Hit(span, doubt))
        return hits, unverified, skipped

    def _matches_elsewhere(self, quote: Quote) -> list[tuple[str, QuoteMatch]]:
        """Find a quote in the contexts that it does not name."""
        matches = []
        for context_id, context in self.part.contexts.items():
            if context_id == quote.context:
                continue
            match = self.find(quote.text, context)
            if match is not None:
                matches.append((context_id, match))
        return matches


def check(
    data: Mapping[str, Any],
    part: Part,
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
        part: What was shown.
        units: Ids of the units that need a verdict.
        contexts: Ids of the contexts that need one.
        pack: The prompt's language, for its words for yes and no.
        code: The code that the reply must repeat; empty if that was checked before.
        earlier_verdicts: The verdicts of earlier replies: a context that their evidence names needs no quote.

    Returns:
        The decisions by id, and the note to the model for the next request. The note holds ids and the library's own words
        only.

    Raises:
        WrongDataError: The reply does not repeat the code, and has an id that was not shown, or a quote that is not in
            the context that it names.
    """
    echo = data.get("code")
    is_code_repeated = not code or (isinstance(echo, str) and echo.strip().startswith(code))
    entries = read_entries(data, part, units, contexts, pack)
    if not is_code_repeated and count_strays(data, part, part.contexts):
        raise WrongDataError(code)
    quotes = _Quotes(part, cache(partial(match_quote, Effort(), part.request.language)))
    evidence = _collect_evidence(part, earlier_verdicts)
    decisions: dict[str, Decision] = {}
    for id_ in units:
        entry = entries.by_id[id_]
        decisions[id_], cells = _decide_unit(id_, entry, quotes)
        if _may_be_shifted(id_, entries, part):
            decisions[id_] = Decision(None, "invalid_reply")
            continue
        if entry.value is False:
            decisions[id_] = _doubt_unsupported(id_, entry, decisions[id_], part)
        sentences = [sentence for cell in cells.values() for sentence in cell.sentences]
        if decisions[id_].is_yes and comparing.is_evidence_of_another(id_, sentences, part):
            decisions[id_] = _doubt_other_sentence(decisions[id_], cells)
        for index, cell in cells.items():
            doubt = comparing.UNDECIDED if decisions[id_].verdict is None else cell.doubt
            evidence[f"c{index + 1}"].extend(_Hit(span, doubt) for span in cell.spans)
    decisions |= _decide_contexts(contexts, entries, quotes, evidence)
    decisions |= _doubt_useless({id_: decisions[id_] for id_ in contexts}, part)
    if not is_code_repeated:
        all_quotes_are_right = quotes.total > 0 and quotes.in_place == quotes.total
        if not all_quotes_are_right:
            raise WrongDataError(code)
        decisions = {id_: _without_echo(decision) for id_, decision in decisions.items()}
    if _ends_in_empty_forms(decisions, units, contexts):
        decisions |= {id_: _doubt_empty_form(decisions[id_]) for id_ in contexts}
    return decisions, _write_note(decisions)


def _collect_evidence(part: Part, verdicts: Mapping[str, Verdict]) -> dict[str, list[_Hit]]:
    """Collect the evidence of earlier verdicts about units, by the id of its context."""
    evidence: dict[str, list[_Hit]] = {id_: [] for id_ in part.contexts}
    for unit_id in part.units:
        verdict = verdicts.get(unit_id)
        if verdict is None:
            continue
        doubt = next(iter(verdict.details.get("weak", ())), None)
        for span in verdict.evidence:
            evidence[f"c{span.context + 1}"].append(_Hit(span, doubt))
    return evidence


def _decide_contexts(
    contexts: Sequence[str],
    entries: ReplyEntries,
    quotes: _Quotes,
    evidence: Mapping[str, Sequence[_Hit]],
) -> dict[str, Decision]:
    """Decide about each context that was asked about."""
    decisions: dict[str, Decision] = {}
    for id_ in contexts:
        decision = _decide_context(id_, entries.by_id[id_], quotes, evidence[id_])
        if id_ in entries.incomplete and not _proves_context(id_, decision, quotes):
            decision = Decision(None, "invalid_reply")
        decisions[id_] = decision
    return decisions


def _may_be_shifted(id_: str, entries: ReplyEntries, part: Part) -> bool:
    """Whether an entry of a list with too few or too many ids may be about another sentence."""
    entry = entries.by_id[id_]
    if isinstance(entry.value, str):
        return False
    if id_ in entries.incomplete:
        return not comparing.is_about(id_, entry, part)
    return id_ in entries.overfull and comparing.is_about_another(id_, entry, part)


def _proves_context(id_: str, decision: Decision, quotes: _Quotes) -> bool:
    """Whether a decision about a context rests on a quote that stands in that context alone."""
    verdict = decision.verdict
    if verdict is None:
        return decision.problem != "unverified_evidence"
    if verdict.value is not True:
        return False
    other_contexts = [text for other, text in quotes.part.contexts.items() if other != id_]
    for span in verdict.evidence:
        if all(quotes.find(span.quote, text) is None for text in other_contexts):
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
    last = decisions[units[-1]].verdict
    if last is None or EMPTY_FORM not in last.details.get("weak", ()):
        return False
    verdicts = [decisions[id_].verdict for id_ in contexts]
    return all(verdict is not None and verdict.value is False for verdict in verdicts)


def _doubt_empty_form(decision: Decision) -> Decision:
    """Flag a verdict that may be a default of the schema. A verdict that has a flag keeps it."""
    verdict = decision.verdict
    if verdict is None or verdict.code is not None:
        return decision
    return decision._replace(verdict=with_doubts(verdict, [EMPTY_FORM], verdict.details))


def _doubt_other_sentence(decision: Decision, cells: Mapping[int, _ContextQuotes]) -> Decision:
    """Flag a yes whose evidence is that of another sentence, and its quotes that have no doubt."""
    verdict = decision.verdict
    if verdict is None:
        return decision
    for cell in cells.values():
        cell.doubt = cell.doubt or comparing.ANOTHER_SENTENCE
    doubts = [*verdict.details.get("weak", ()), comparing.ANOTHER_SENTENCE]
    return decision._replace(verdict=with_doubts(verdict, doubts, verdict.details))


def _write_note(decisions: Mapping[str, Decision]) -> str:
    """Write the note about the ids that are asked again."""
    sentences = []
    for note in _NOTES:
        ids = [id_ for id_, decision in decisions.items() if decision.problem in note["codes"]]
        if ids:
            sentences.append(note["text"].format(ids=", ".join(ids)))
    return " ".join(sentences)


def _without_echo(decision: Decision) -> Decision:
    """Flag a verdict of a reply that does not repeat the code; a more serious flag stays."""
    verdict = decision.verdict
    if verdict is None:
        return decision
    code = max(verdict.code, "no_echo", key=FLAGS.index)
    return decision._replace(verdict=replace(verdict, code=code))


def _decide_unit(
    id_: str, entry: ReplyEntry, quotes: _Quotes
) -> tuple[Decision, Mapping[int, _ContextQuotes]]:
    """Decide about a unit, and return its quotes by the index of their context."""
    part = quotes.part
    text = quotes.part.units[id_]
    unit = QuotedUnit(text, part.request.answer, part.contexts.values(), part.request.language)
    hits, unverified, skipped = quotes.look_up(entry.quotes, elsewhere=True)
    cells = _read_cells(unit, hits, part)
    if isinstance(entry.value, str):
        return Decision(None, entry.value), cells
    if not entry.value:
        return _decide_unsupported(id_, entry, part, hits), cells
    # With one context, a part that is stated is stated by that context alone.
    whole_contexts = {hit.span.context for hit in hits if hit.span.whole or len(part.contexts) == 1}
    if not whole_contexts and skipped:
        return Decision(None, "too_many_quotes"), cells
    verdict = Verdict(id=id_, value=True, text=text, evidence=_build_evidence(hits, whole_contexts))
    if not whole_contexts and (unverified or not hits):
        return _refuse_unproven(verdict, "called supported, but a quote is in no context"), cells
    quoted = [sentence for cell in cells.values() for sentence in cell.sentences]
    denial = unit.denial(quoted, part.request.contexts)
    doubts = _doubt_evidence(unit, cells, whole_contexts, DENIED if denial else None)
    reasons = [f"called supported, and its evidence says otherwise: {denial}"] if denial else []
    own_denial = comparing.find_denial(entry, [hit.span for hit in hits], part)
    if own_denial is not None:
        doubts.add(own_denial.doubt)
        reasons.append(own_denial.reason)
        for cell in cells.values():
            cell.doubt = own_denial.doubt
    verdict = replace(verdict, reason="; ".join(reasons) or None)
    details = {"quotes_left_out": skipped} if skipped else {}
    return Decision(with_doubts(verdict, doubts, details)), cells


def _doubt_evidence(
    unit: QuotedUnit, cells: Mapping[int, _ContextQuotes], whole: Collection[int], denied: str | None
) -> set[str]:
    """Return why the evidence of a yes proves little, and set the doubt of the contexts' quotes.

    If the reply says that some contexts each state the whole unit, each of them is checked alone. Otherwise the parts in all
    contexts are checked together: a part that proves little does not count if another part proves something.
    """
    doubts = {cell.doubt for cell in cells.values()}
    if not whole and None in doubts:
        doubts.clear()
        for cell in cells.values():
            if cell.doubt == "unrelated":  # a part need not name what the sentence is about
                cell.doubt = None
    groups = [[cells[index]] for index in sorted(whole)] or [[*cells.values()]]
    for group in groups:
        contexts = [cell.context for cell in group]
        sentences = [sentence for cell in group for sentence in cell.sentences]
        doubt = denied
        shares_little = bool(whole) and group[0].is_whole and unit.shares_little_as_whole(contexts[0])
        if denied is None and (shares_little or unit.shares_little(sentences, contexts)):
            doubt = "few_words"
        for cell in group:
            cell.doubt = doubt or cell.doubt
        doubts.add(doubt)
    return {doubt for doubt in doubts if doubt is not None}


def _decide_unsupported(id_: str, entry: ReplyEntry, part: Part, hits: Sequence[_Hit]) -> Decision:
    """Decide about a unit that is called unsupported."""
    text = part.units[id_]
    verdict = Verdict(
        id=id_,
        value=False,
        text=text,
        reason=entry.missing,
        evidence=_build_evidence(hits, ()),
        details=FrozenDict({"missing": entry.missing}) if entry.missing else EMPTY,
    )
    if any(hit.span.whole for hit in hits):
        reason = "called unsupported, and a quote is said to state it"
        return Decision(comparing.contradicted(verdict, reason), "contradicted")
    if entry.objection is not None:
        reason = f"called unsupported, and beside it: {entry.objection}"
        return Decision(comparing.contradicted(verdict, reason))
    return Decision(verdict)


def _doubt_unsupported(id_: str, entry: ReplyEntry, decision: Decision, part: Part) -> Decision:
    """Flag a no about a unit that a context states in its own words, or nearly, or that may be a default of the schema."""
    verdict = decision.verdict
    if verdict is None or verdict.code is not None:
        return decision
    for context in part.contexts.values():
        sentence = find_restatement(verdict.text, context, part.request.language)
        statement = _describe_statement(verdict.text, context, sentence)
        if statement is not None:
            reason = f"called unsupported, and {statement}"
            return Decision(comparing.contradicted(verdict, reason))
    if comparing.is_empty_form(id_, entry, part):
        return _doubt_empty_form(decision)
    return decision


def _doubt_useless(decisions: Mapping[str, Decision], part: Part) -> dict[str, Decision]:
    """Flag each no about a context that states a unit in its own words, or nearly."""
    doubted = dict(decisions)
    for id_, decision in decisions.items():
        verdict = decision.verdict
        if verdict is None or verdict.value is not False or verdict.code is not None:
            continue
        for unit in _list_units(part):
            sentence = find_restatement(unit, verdict.text, part.request.language)
            statement = _describe_statement(unit, verdict.text, sentence)
            if statement is not None:
                reason = f"called useless, and of a sentence of the answer, {statement}"
                doubted[id_] = decision._replace(verdict=comparing.contradicted(verdict, reason))
                break
    return doubted


def _describe_statement(unit: str, context: str, sentence: str | None) -> str | None:
    """Say how a context states a unit; None if it does not.

    Args:
        unit: The unit.
        context: The text of the context.
        sentence: What the context says in nearly the unit's own words; None for nothing.
    """
    if stands_as_sentence(unit, context):
        return "it stands in a context word for word"
    if sentence is None:
        return None
    return f"a context has all its words: {sentence[:_LONGEST_SHOWN]}"


@dataclass(slots=True)
class _ContextQuotes:
    """The quotes from one context about a unit.

    Attributes:
        context: The visible text of the context.
        spans: Where they stand in the context.
        sentences: The sentences that hold them; of a long sentence, the text near them. If the whole context is quoted, the
            sentences closest to the unit.
        doubt: Why they prove little, or None.
        is_whole: Whether they are nearly all of the context.
    """

    context: str
    spans: Sequence[Evidence]
    sentences: Sequence[str]
    doubt: str | None
    is_whole: bool


def _read_cells(unit: QuotedUnit, hits: Iterable[_Hit], part: Part) -> dict[int, _ContextQuotes]:
    """Group the quotes about a unit by the index of their context."""
    by_context: dict[int, list[_Hit]] = {}
    for hit in hits:
        by_context.setdefault(hit.span.context, []).append(hit)
    cells = {}
    for index, group in by_context.items():
        context = part.contexts[f"c{index + 1}"]
        spans = [hit.span for hit in group]
        view = see(context)
        sentences: Sequence[str] = []
        size = 0
        for first, last in split_context(context):
            inside = [span for span in spans if span.start < last and first < span.end]
            if inside and size < _MOST_READ:
                start = max(first, min(span.start for span in inside) - _AROUND)
                end = min(last, max(span.end for span in inside) + _AROUND)
                sentences = [*sentences, view.cut(Span(start, end))]
                size += end - start
        is_whole = covers(context, spans)
        if is_whole:
            sentences = unit.find_closest(sentences)
        doubt = unit.doubt(context, spans)
        if doubt is None:
            doubt = next((hit.doubt for hit in group if hit.doubt), None)
        cells[index] = _ContextQuotes(view.text, spans, sentences, doubt, is_whole)
    return cells


def _refuse_unproven(verdict: Verdict, reason: str) -> Decision:
    """Ask again about a yes without a quote; if it comes again, the verdict is no."""
    code = "unverified_evidence"
    return Decision(replace(verdict, value=False, code=code, reason=reason), code)


def _decide_context(id_: str, entry: ReplyEntry, quotes: _Quotes, evidence: Sequence[_Hit]) -> Decision:
    """Decide about a context.

    Args:
        id_: Its id.
        entry: What the reply says about it.
        quotes: Finds the quotes of the entry.
        evidence: The evidence of units that stands in it.
    """
    own_hits, _, skipped = quotes.look_up(entry.quotes, elsewhere=False)
    if isinstance(entry.value, str):
        return Decision(None, entry.value)
    part = quotes.part
    text = quotes.part.contexts[id_]
    verdict = Verdict(id=id_, value=entry.value, text=text)
    if not entry.value:
        if entry.objection is not None:
            verdict = comparing.contradicted(
                verdict, f"called useless, and beside it: {entry.objection}"
            )
        return Decision(verdict)
    hits = own_hits or evidence
    if not hits:
        if skipped:
            return Decision(None, "too_many_quotes")
        return _refuse_unproven(verdict, "called useful, but no quote is in it")
    # If units were asked about too, their evidence should name a useful context.
    unnamed = {"unnamed": True} if part.units and not evidence else {}
    verdict = replace(verdict, evidence=_build_evidence(hits, {hit.span.context for hit in hits}))
    doubts = [hit.doubt for hit in evidence]
    if own_hits and part.request.answer:  # else there is nothing to compare a quote with
        doubt, reason = _doubt_own_quotes(own_hits, evidence, part)
        verdict = replace(verdict, reason=reason)
        doubts.append(doubt)
    weak = [] if None in doubts else [doubt for doubt in doubts if doubt is not None]
    if entry.objection is not None:
        weak.append(comparing.OBJECTION)
        verdict = replace(verdict, reason=f"called useful, and beside it: {entry.objection}")
    return Decision(with_doubts(verdict, weak, unnamed))


def _doubt_own_quotes(
    own_hits: Sequence[_Hit], evidence: Sequence[_Hit], part: Part
) -> tuple[str | None, str | None]:
    """Return why the own quotes of a useful context prove little, and the reason where they deny something; None for neither.

    Args:
        own_hits: The quotes.
        evidence: The evidence of units that stands in the context.
        part: What was shown.
    """
    answer = part.request.answer
    unit = QuotedUnit(answer, answer, part.contexts.values(), part.request.language)
    (cell,) = _read_cells(unit, own_hits, part).values()
    # Of a context that is quoted as a whole, the closest sentence counts.
    closest = cell.sentences[:1] if cell.is_whole else cell.sentences
    doubt = "few_words" if unit.shares_little(closest, (), common=True) else None
    reason = None
    denial = unit.other_year(closest, part.request.contexts)
    if denial is None and not evidence:
        denial = _find_other_fact(closest, part)
    if denial is not None:
        doubt = DENIED
        reason = f"called useful, and its quote says otherwise: {denial}"
    elif doubt is None and _rests_on_contradicted(own_hits, evidence):
        doubt = evidence[0].doubt
        reason = "its quote is that of a sentence which the reply or the text denies"
    return cell.doubt or doubt, reason


def _list_units(part: Part) -> Sequence[str]:
    """List the units of a request; if it has none, the sentences of its answer."""
    return [*part.units.values()] or split_sentences(part.request.answer)


def _find_other_fact(sentences: Sequence[str], part: Part) -> Contradiction | None:
    """Return what sentences have instead of a year, a value or a name of the nearest unit, or None.

    The nearest unit is the one of which they hold the largest share of words, if that is half of them or more. A quote about
    another model, or with another value, makes no context useful. Negations are not looked at: in contexts that people called
    useful they stand as often as in useless ones.
    """
    words = read_telling_words(" ".join(sentences), part.request.language)
    nearest_unit = ""
    largest_share = 0.0
    for unit in _list_units(part):
        unit_words = read_telling_words(unit, part.request.language)
        share = len(unit_words & words) / max(1, len(unit_words))
        if share > largest_share:
            nearest_unit = unit
            largest_share = share
    if largest_share < _LEAST_SHARE_OF_NEAREST:
        return None
    quoted_unit = QuotedUnit(
        nearest_unit, part.request.answer, part.contexts.values(), part.request.language
    )
    other = quoted_unit.denial(sentences, part.request.contexts, facts_only=True)
    if other is not None and other.context.casefold() in part.request.answer.casefold():
        return None  # another sentence of the answer has it
    return other


def _rests_on_contradicted(own_hits: Sequence[_Hit], evidence: Sequence[_Hit]) -> bool:
    """Whether all evidence of units in a context is contradicted, and its own quotes stand within that evidence."""
    if not evidence:
        return False
    if any(hit.doubt not in comparing.CONTRADICTING for hit in evidence):
        return False
    return all(_stands_within(hit.span, evidence) for hit in own_hits)


def _stands_within(span: Evidence, evidence: Sequence[_Hit]) -> bool:
    """Whether a span stands within a piece of evidence."""
    return any(hit.span.start <= span.start and span.end <= hit.span.end for hit in evidence)


def _build_evidence(hits: Iterable[_Hit], whole_contexts: Collection[int]) -> tuple[Evidence, ...]:
    """Build the evidence of a verdict.

    Args:
        hits: The quotes.
        whole_contexts: The indexes of the contexts that state the unit alone.
    """
    spans = set()
    for hit in hits:
        is_whole = hit.span.context in whole_contexts
        spans.add(hit.span if hit.span.whole is is_whole else replace(hit.span, whole=is_whole))
    return tuple(sorted(spans, key=attrgetter("context", "start", "end")))


def with_doubts(verdict: Verdict, doubts: Iterable[str], details: Mapping[str, Any]) -> Verdict:
    """Return the verdict with details, and with a flag if there are doubts about its evidence."""
    weak = tuple(sorted(set(doubts)))
    details = dict(details)
    code = None
    if weak:
        details["weak"] = weak
        code = "weak_evidence"
        if not comparing.CONTRADICTING.isdisjoint(weak):
            code = "contradicted"
    return replace(verdict, code=code, details=FrozenDict(details)) if details else verdict
