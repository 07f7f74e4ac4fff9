"""Checking a reply against what was asked.

A reply is untrusted. It must repeat the code of its request, it may decide nothing but the ids that were asked for, with
a plain yes or no, and a yes needs a quote that stands in a context. What a quote proves is measured in
`ctxmetrics.judges.evidence.quotes`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics._internal.secrets import masked
from ctxmetrics.judges.evidence.quotes import DENIED, Place, Unit, covers, find_place, split_context
from ctxmetrics.judges.llm.parsing import WrongDataError
from ctxmetrics.judges.llm.splitting import Part
from ctxmetrics.prompts import Pack
from ctxmetrics.text import Effort, EffortExceededError, split_sentences, stands_in
from ctxmetrics.verdicts import FLAGS, Evidence, Verdict

# Quotes about one unit that are looked for: three for each of the contexts of one request.
MOST_QUOTES = 200
_LONGEST_MISSING = 500
# Characters before and after a quote that are read of a long sentence, and of all sentences of one context about one unit.
_AROUND, _MOST_READ = 500, 8_000
# A text of these alone is a form that was not filled in.
_PLACEHOLDER = " .…\t\n"
# The notes to the model when it is asked again, each with the codes of the ids that it is about.
_NOTES: Sequence[Mapping[str, Any]] = read_data("judges.llm", "words.toml")["notes"]


class Decision(NamedTuple):
    """What a reply decides about an id.

    Attributes:
        verdict: The verdict; a yes has verified evidence. None where there is none.
        problem: The code that says why the id is asked again; with a verdict: that counts when the problem comes again.
    """

    verdict: Verdict | None
    problem: str | None = None


class _Hit(NamedTuple):
    """A quote that stands in a context: where, and why it proves little."""

    span: Evidence
    doubt: str | None = None


class _Quote(NamedTuple):
    """A quote of a reply, and whether its context alone is said to state the unit."""

    context: str
    text: str
    whole: bool


@dataclass(slots=True)
class ReplyEntry:
    """What a reply says about one id, in all its entries for it.

    Attributes:
        value: The verdict that all entries give, or the code that says why there is none.
        quotes: The quotes, each with the context that it names.
        missing: The words that are said to be missing, with keys masked: a server may repeat one.
    """

    value: bool | str = "missing_id"
    quotes: list[_Quote] = field(default_factory=list)
    missing: str | None = None


@dataclass(slots=True)
class _Quotes:
    """Finds the quotes of one reply, and counts how many stand in the context that they name.

    Attributes:
        part: What the request shows.
        find: Finds a quote in a context (`find_place`), each once.
        total: How many quotes were looked up.
        in_place: How many of them stand in the context that they name.
    """

    part: Part
    find: Callable[[str, str], Place | None]
    total: int = 0
    in_place: int = 0

    def look_up(self, quotes: Iterable[_Quote], *, elsewhere: bool) -> tuple[list[_Hit], int, int]:
        """Find quotes, each in the context that it names, else in exactly one other.

        Args:
            quotes: The quotes.
            elsewhere: Also look in the other contexts.

        Returns:
            The quotes that stand in a context, how many do not, and how many were too much work.
        """
        distinct = list(dict.fromkeys(quotes))
        self.total += len(distinct)
        left_out, unverified = max(0, len(distinct) - MOST_QUOTES), 0
        hits: list[_Hit] = []
        for quote in distinct[:MOST_QUOTES]:
            try:
                hit = self._look_up_one(quote, elsewhere=elsewhere)
            except EffortExceededError:
                left_out += 1
                continue
            if hit is None:
                unverified += 1
            else:
                hits.append(hit)
        return hits, unverified, left_out

    def _look_up_one(self, quote: _Quote, *, elsewhere: bool) -> _Hit | None:
        contexts, context_id, doubt = self.part.contexts, quote.context, None
        place = None
        if context_id in contexts:
            place = self.find(quote.text, contexts[context_id])
        if place is not None:
            self.in_place += 1
        elif elsewhere:
            matches = self._matches_elsewhere(quote)
            if len(matches) == 1:
                context_id, place = matches[0]
                doubt = "another_context"
        if place is None:
            return None
        start, end, broken = place
        if broken and doubt is None:
            doubt = "broken_quote"
        text = contexts[context_id][start:end]
        return _Hit(Evidence(int(context_id[1:]) - 1, start, end, text, quote.whole), doubt)

    def _matches_elsewhere(self, quote: _Quote) -> list[tuple[str, Place]]:
        """Find a quote in the contexts that it does not name."""
        matches = []
        for context_id, context in self.part.contexts.items():
            if context_id == quote.context:
                continue
            place = self.find(quote.text, context)
            if place is not None:
                matches.append((context_id, place))
        return matches


def check(
    data: Mapping[str, Any],
    part: Part,
    units: Sequence[str],
    contexts: Sequence[str],
    pack: Pack,
    *,
    code: str = "",
    known: Mapping[str, Verdict] = EMPTY,
) -> tuple[dict[str, Decision], str]:
    """Check a reply against what was asked.

    Args:
        data: The parsed reply.
        part: What was shown.
        units: Ids of the units that need a verdict.
        contexts: Ids of the contexts that need one.
        pack: The prompt's language, for its words for yes and no.
        code: The code that the reply must repeat; empty where that was checked before.
        known: What was decided before: a context that its evidence names needs no quote.

    Returns:
        What it decides, by id; and the note to the model when it is asked again, ids and our own words only.

    Raises:
        WrongDataError: The reply has another code or none; and it has an id that was not shown, or not all of its
            quotes are in place.
    """
    echo = data.get("code")
    echoed = not code or (isinstance(echo, str) and echo.strip().startswith(code))
    quotes = _Quotes(part, cache(partial(find_place, Effort(), part.request.language)))
    evidence: dict[str, list[_Hit]] = {id_: [] for id_ in part.contexts}
    if known:
        _add_evidence(evidence, part, known)
    entries = _read_parts(data, part, units, contexts, pack)
    if not echoed and count_strays(data, part, part.contexts):
        raise WrongDataError(code)
    decisions: dict[str, Decision] = {}
    for id_ in units:
        decisions[id_], cells = _decide_unit(id_, entries[id_], quotes)
        for index, cell in cells.items():
            evidence[f"c{index + 1}"] += [_Hit(span, cell.doubt) for span in cell.spans]
    for id_ in contexts:
        decisions[id_] = _decide_context(id_, entries[id_], quotes, evidence[id_])
    if not echoed:
        if not 0 < quotes.total == quotes.in_place:
            raise WrongDataError(code)
        decisions = {id_: _without_echo(decision) for id_, decision in decisions.items()}
    if all(decision.problem is None for decision in decisions.values()):
        return decisions, ""
    return decisions, _write_note(decisions)


def _add_evidence(evidence: Mapping[str, list[_Hit]], part: Part, known: Mapping[str, Verdict]) -> None:
    """Add what units that were decided before quote of each context."""
    for id_ in part.units:
        if id_ not in known:
            continue
        doubt = next(iter(known[id_].details.get("weak", ())), None)
        for span in known[id_].evidence:
            evidence[f"c{span.context + 1}"].append(_Hit(span, doubt))


def _write_note(decisions: Mapping[str, Decision]) -> str:
    """Write the note about the ids that are asked again."""
    sentences = []
    for note in _NOTES:
        ids = [id_ for id_, decision in decisions.items() if decision.problem in note["codes"]]
        if ids:
            sentences.append(note["text"].format(ids=", ".join(ids)))
    return " ".join(sentences)


def count_strays(data: Mapping[str, Any], part: Part, contexts: Collection[str]) -> int:
    """Count the ids of a reply that were not asked about; their entries decide nothing."""
    strays = 0
    for key, ids in (("sentences", part.units), ("useful", contexts)):
        entries = data.get(key)
        if isinstance(entries, Mapping):
            strays += sum(str(name).strip() not in ids for name in entries)
    return strays


def _read_parts(
    data: Mapping[str, Any], part: Part, units: Sequence[str], contexts: Sequence[str], pack: Pack
) -> dict[str, ReplyEntry]:
    """Read what a reply says about each id that was asked.

    A copy of the prompt's example decides nothing: an entry that repeats its texts, and, beside such an entry, one that
    is the example's own. Where a part lacks an id that was asked and holds one that was not shown, its entries may be
    shifted by one: none of them decides anything.
    """
    replies: dict[str, ReplyEntry] = {}
    copied: dict[str, set[str]] = {}
    for name, key, ids in (("sentences", "supported", units), ("useful", "useful", contexts)):
        entries = _read_entries(data.get(name), ids, key, pack)
        copied[name] = set()
        for id_, entry in entries.items():
            if _repeats_example(entry, part.units.get(id_, ""), part, pack):
                copied[name].add(id_)
        shown_ids = part.units if name == "sentences" else part.contexts
        lacks_one = any(entries[id_].value == "missing_id" for id_ in ids)
        if lacks_one and not entries.keys() <= set(shown_ids):  # they may be shifted
            replies |= {id_: ReplyEntry("invalid_reply") for id_ in ids}
        else:
            replies |= {id_: entries[id_] for id_ in ids}
    all_copied = copied["sentences"] | copied["useful"]
    answers_example = not all_copied.isdisjoint((*units, *contexts))
    for name, ids in (("sentences", units), ("useful", contexts)):
        beside_copy = answers_example or bool(copied[name])
        for id_ in ids:
            if id_ in copied[name] or (beside_copy and replies[id_] in _example_entries(pack, id_)):
                replies[id_] = ReplyEntry("wrong_data")
    return replies


@lru_cache(maxsize=256)
def _example_entries(pack: Pack, id_: str) -> tuple[ReplyEntry, ...]:
    """Read what the replies of the prompts' examples say about an id."""
    entries = []
    for reply in pack.example_replies:
        for name, key in (("sentences", "supported"), ("useful", "useful")):
            if id_ in reply.get(name, ()):
                entries.append(_read_entries(reply[name], (), key, pack)[id_])
    return tuple(entries)


def _repeats_example(entry: ReplyEntry, unit: str, part: Part, pack: Pack) -> bool:
    """Whether an entry holds a placeholder, or a text of the prompt's example that is not in the data."""
    for quote in entry.quotes:
        if not quote.text.strip(_PLACEHOLDER):
            return True
        copied = quote.text.strip().casefold() in pack.examples
        if copied and not any(stands_in(quote.text, text) for text in part.contexts.values()):
            return True
    missing = (entry.missing or "").casefold()
    if missing and not missing.strip(_PLACEHOLDER):
        return True
    return missing in pack.examples and missing not in unit.casefold()


def _without_echo(decision: Decision) -> Decision:
    verdict = decision.verdict
    return decision._replace(
        verdict=verdict and replace(verdict, code=max(verdict.code, "no_echo", key=FLAGS.index))
    )


def settle(verdicts: dict[str, Verdict], part: Part) -> None:
    """Turn useless contexts on which a supported unit rests into useful ones, flagged: the evidence wins.

    Weak evidence does not win; the verdict is flagged all the same.
    """
    for unit_id in part.units:
        unit = verdicts.get(unit_id)
        if unit is None or unit.value is not True:
            continue
        rests_on = [span for span in unit.evidence if span.whole] or unit.evidence
        for span in rests_on:
            id_ = f"c{span.context + 1}"
            context = verdicts.get(id_)
            if context is None or context.value is not False:
                continue
            wins = set(unit.details.get("weak", ())) <= {"another_context"}
            verdicts[id_] = replace(
                context,
                value=wins,
                code="contradicted",
                reason=f"called useless, and {unit.id} rests on it",
                evidence=(span,) if wins else (),
            )


def _decide_unit(id_: str, entry: ReplyEntry, quotes: _Quotes) -> tuple[Decision, Mapping[int, _Cell]]:
    """Decide about a unit, and return its quotes by the index of their context."""
    part, text = quotes.part, quotes.part.units[id_]
    unit = Unit(text, part.request.answer, part.contexts.values(), part.request.language)
    hits, unverified, left_out = quotes.look_up(entry.quotes, elsewhere=True)
    cells = _read_cells(unit, hits, part)
    if isinstance(entry.value, str):
        return Decision(None, entry.value), cells
    if not entry.value:
        return _decide_unsupported(id_, entry, part, hits), cells
    # With one context, a part that is stated is stated by that context alone.
    whole = {hit.span.context for hit in hits if hit.span.whole or len(part.contexts) == 1}
    if not whole and left_out:
        return Decision(None, "too_many_quotes"), cells
    verdict = Verdict(id=id_, value=True, text=text, evidence=_build_evidence(hits, whole))
    if not whole and (unverified or not hits):
        return _unproven(verdict, "called supported, but a quote is in no context"), cells
    doubts = {cell.doubt for cell in cells.values()}
    quoted = [sentence for cell in cells.values() for sentence in cell.sentences]
    denial = unit.denial(quoted, part.request.contexts)
    if denial:
        reason = f"called supported, and its evidence says otherwise: {denial}"
        verdict = replace(verdict, reason=reason)
    # Each context that is said to state the unit is checked alone, else all its parts together.
    groups = [[cells[index]] for index in sorted(whole)] or [[*cells.values()]]
    for group in groups:
        contexts = [cell.context for cell in group]
        sentences = [sentence for cell in group for sentence in cell.sentences]
        doubt = DENIED if denial else None
        little = bool(whole) and group[0].is_whole and unit.shares_little_as_whole(contexts[0])
        if not denial and (little or unit.shares_little(sentences, contexts)):
            doubt = "few_words"
        for cell in group:
            cell.doubt = doubt or cell.doubt
        doubts.add(doubt)
    details = {"quotes_left_out": left_out} if left_out else {}
    return Decision(with_doubts(verdict, filter(None, doubts), details)), cells


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
        why = "called unsupported, and a quote is said to state it"
        return Decision(_contradicted(verdict, why), "contradicted")
    if any(stands_in(text, context) for context in part.contexts.values()):
        verdict = _contradicted(verdict, "called unsupported, and it stands in a context word for word")
    return Decision(verdict)


@dataclass(slots=True)
class _Cell:
    """The quotes from one context about a unit.

    Attributes:
        context: The text of the context.
        spans: Where they stand.
        sentences: The sentences that hold them, of a long sentence what stands near them; of a context that is quoted as a
            whole, those closest to the unit.
        doubt: Why they prove little, or None.
        is_whole: Whether they are nearly all of the context.
    """

    context: str
    spans: Sequence[Evidence]
    sentences: Sequence[str]
    doubt: str | None
    is_whole: bool


def _read_cells(unit: Unit, hits: Iterable[_Hit], part: Part) -> dict[int, _Cell]:
    """Group the quotes about a unit by the index of their context."""
    by_context: dict[int, list[_Hit]] = {}
    for hit in hits:
        by_context.setdefault(hit.span.context, []).append(hit)
    cells = {}
    for index, group in by_context.items():
        context, spans = part.contexts[f"c{index + 1}"], [hit.span for hit in group]
        sentences: Sequence[str] = []
        size = 0
        for first, last in split_context(context):
            inside = [span for span in spans if span.start < last and first < span.end]
            if inside and size < _MOST_READ:
                start = max(first, min(span.start for span in inside) - _AROUND)
                end = min(last, max(span.end for span in inside) + _AROUND)
                sentences = [*sentences, context[start:end]]
                size += end - start
        is_whole = covers(context, spans)
        if is_whole:
            sentences = unit.find_closest(sentences)
        doubt = unit.doubt(context, spans) or next((hit.doubt for hit in group if hit.doubt), None)
        cells[index] = _Cell(context, spans, sentences, doubt, is_whole)
    return cells


def _contradicted(verdict: Verdict, why: str) -> Verdict:
    return replace(verdict, code="contradicted", reason="; ".join(filter(None, (verdict.reason, why))))


def _unproven(verdict: Verdict, why: str) -> Decision:
    """Return the no that a yes without a quote becomes when it comes again."""
    code = "unverified_evidence"
    return Decision(replace(verdict, value=False, code=code, reason=why), code)


def _decide_context(id_: str, entry: ReplyEntry, quotes: _Quotes, evidence: Sequence[_Hit]) -> Decision:
    """Decide about a context.

    Args:
        id_: Its id.
        entry: What the reply says about it.
        quotes: Finds its own quotes.
        evidence: The evidence of units that names it, each with its doubt.
    """
    own, _, left_out = quotes.look_up(entry.quotes, elsewhere=False)
    if isinstance(entry.value, str):
        return Decision(None, entry.value)
    part, text = quotes.part, quotes.part.contexts[id_]
    verdict = Verdict(id=id_, value=entry.value, text=text)
    if not entry.value:
        units = part.units.values() or split_sentences(part.request.answer)
        if any(stands_in(unit, text) for unit in units):
            verdict = _contradicted(
                verdict, "called useless, and a sentence of the answer stands in it word for word"
            )
        return Decision(verdict)
    hits = own or evidence
    if not hits:
        if left_out:
            return Decision(None, "too_many_quotes")
        return _unproven(verdict, "called useful, but no quote is in it")
    # Where units were asked about too, their evidence should name a useful context.
    unnamed = {"unnamed": True} if part.units and not evidence else {}
    verdict = replace(verdict, evidence=_build_evidence(hits, {hit.span.context for hit in hits}))
    doubts = [hit.doubt for hit in evidence]
    if own:
        answer = part.request.answer
        unit = Unit(answer, answer, part.contexts.values(), part.request.language)
        (cell,) = _read_cells(unit, own, part).values()
        # Of a context that is quoted as a whole, the closest sentence counts.
        closest = cell.sentences[:1] if cell.is_whole else cell.sentences
        denial = unit.denial(closest, part.request.contexts)
        doubt = "few_words" if unit.shares_little(closest, (), common=True) else None
        if denial and denial.kind == "number":
            doubt, reason = DENIED, f"called useful, and its quote says otherwise: {denial}"
            verdict = replace(verdict, reason=reason)
        doubts.append(cell.doubt or doubt)
    weak = () if None in doubts else filter(None, doubts)
    return Decision(with_doubts(verdict, weak, unnamed))


def _build_evidence(hits: Iterable[_Hit], whole: Collection[int]) -> tuple[Evidence, ...]:
    """Build the evidence of a verdict; ``whole`` are the contexts that state it alone."""
    spans = set()
    for hit in hits:
        alone = hit.span.context in whole
        spans.add(hit.span if hit.span.whole is alone else replace(hit.span, whole=alone))
    return tuple(sorted(spans, key=attrgetter("context", "start", "end")))


def with_doubts(verdict: Verdict, doubts: Iterable[str], details: Mapping[str, Any]) -> Verdict:
    """Return the verdict, flagged where there are doubts about its evidence."""
    weak = tuple(sorted(set(doubts)))
    details = dict(details)
    code = None
    if weak:
        details["weak"] = weak
        code = "contradicted" if DENIED in weak else "weak_evidence"
    return replace(verdict, code=code, details=FrozenDict(details)) if details else verdict


def _read_entries(entries: Any, ids: Collection[str], key: str, pack: Pack) -> Mapping[str, ReplyEntry]:
    """Read what a reply says about each id: those that were asked, and any other.

    Args:
        entries: The entries by id; None: there are none.
        ids: The ids that were asked.
        key: Under which an entry has its verdict.
        pack: The prompt's language.
    """
    replies = {id_: ReplyEntry() for id_ in ids}
    for name, content in (entries or {}).items():
        id_ = str(name).strip()
        cell = content if isinstance(content, Mapping) else {}
        entry, value = replies.setdefault(id_, ReplyEntry()), _yes_or_no(cell.get(key), pack)
        if value is None or entry.value == "invalid_reply":
            entry.value = "invalid_reply"
        else:
            entry.value = value if entry.value in ("missing_id", value) else "conflicting_verdicts"
        missing = cell.get("missing")
        if entry.missing is None and isinstance(missing, str) and missing.strip():
            entry.missing = masked(missing.strip()[:_LONGEST_MISSING])
        if key == "supported":
            entry.quotes += _read_quotes(cell.get("evidence"), pack)
        else:
            entry.quotes += _read_quotes([{"context": id_, "quote": cell.get("quote")}], pack)
    return replies


def _read_quotes(evidence: Any, pack: Pack) -> Iterator[_Quote]:
    """Yield the quotes of an entry; what is none is left out."""
    for item in evidence if isinstance(evidence, (list, tuple)) else ():
        text = item.get("quote") if isinstance(item, Mapping) else None
        if isinstance(text, str) and text.strip():
            context, whole = item.get("context"), _yes_or_no(item.get("whole"), pack) is True
            yield _Quote(context.strip() if isinstance(context, str) else "", text, whole)


def _yes_or_no(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a boolean, the number 1 or 0, or the language's word for yes or no stands for."""
    if isinstance(value, (bool, int, float)):
        return bool(value) if value in (0, 1) else None
    word = value.strip().strip(".!").casefold() if isinstance(value, str) else None
    if word in pack.yes:
        return True
    return False if word in pack.no else None
