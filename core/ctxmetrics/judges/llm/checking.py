"""Checking a reply against what was asked.

A reply is untrusted. It must repeat the code of its request, it may decide nothing but the ids that were asked for, with
a plain yes or no, and a yes needs a quote that stands in a context. What a quote proves is measured in
`ctxmetrics.judges.evidence.quotes`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

from ctxmetrics._frozen import EMPTY, FrozenDict
from ctxmetrics._secrets import masked
from ctxmetrics.judges.evidence.quotes import Unit, change_of_denial
from ctxmetrics.judges.llm.parsing import UnreadableReplyError, WrongDataError
from ctxmetrics.judges.llm.splitting import Part
from ctxmetrics.prompts import Pack
from ctxmetrics.text import Effort, EffortExceededError, find_quote, stands_in
from ctxmetrics.verdicts import FLAGS, Evidence, Verdict

# Quotes about one unit that are looked for: three for each of the contexts of one request.
MOST_QUOTES = 200
_LONGEST_MISSING = 500
# What the model is told when it is asked again, by the codes of the ids.
_NOT_FOUND = (
    "A yes needs a quote, copied word for word from the context it names, and none was found for: {ids}. "
    "If no context says it, answer false."
)
_UNCLEAR = "Each verdict must be exactly one true or false; look again at: {ids}."
_NOTES = (
    ({"missing_id"}, "Your last reply had no entry for: {ids}."),
    ({"invalid_reply", "conflicting_verdicts"}, _UNCLEAR),
    ({"too_many_quotes"}, "Give fewer and shorter quotes for: {ids}."),
    ({"unverified_evidence"}, _NOT_FOUND),
    ({"contradicted"}, "You answered false and named a context that states the whole sentence: {ids}."),
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a reply decided.

    Attributes:
        verdicts: Verdicts by id; a yes has verified evidence.
        problems: The ids without a verdict, each with the code that says why.
        repeated: By the ids whose problem is doubt about the evidence: the verdict when the problem comes again.
        note: What to tell the model when it is asked again: ids and our own words only.
    """

    verdicts: Mapping[str, Verdict]
    problems: Mapping[str, str]
    repeated: Mapping[str, Verdict]
    note: str


class _Hit(NamedTuple):
    """A quote that was found: where, and why it proves little."""

    span: Evidence
    doubt: str | None = None


class _Decided(NamedTuple):
    """A verdict, or the code that says why there is none; and whether it is asked again before it counts."""

    verdict: Verdict | str
    again: bool = False


@dataclass(slots=True)
class _Quotes:
    """Finds the quotes of one reply, and counts how many stand in the context that they name."""

    part: Part
    effort: Effort = field(default_factory=Effort)
    given: int = 0
    in_place: int = 0
    _found: dict[tuple[str, str], tuple[int, int, bool] | None] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def look_up(
        self, named: Iterable[tuple[str, str, bool]], *, elsewhere: bool
    ) -> tuple[list[_Hit], int, int]:
        """Find quotes, each in the context that it names, else in exactly one other.

        Args:
            named: Context id, quote, and whether that context alone is said to state the unit.
            elsewhere: Also look in the other contexts.

        Returns:
            The quotes that were found, how many were not, and how many were too much work.
        """
        quotes = list(dict.fromkeys(named))
        self.given += len(quotes)
        left_out, unverified = max(0, len(quotes) - MOST_QUOTES), 0
        hits: list[_Hit] = []
        for id_, quote, whole in quotes[:MOST_QUOTES]:
            try:
                place = self._find(id_, quote) if id_ in self.part.contexts else None
                doubt = None
                self.in_place += place is not None
                if place is None and elsewhere:
                    others = [
                        (other, found)
                        for other in self.part.contexts
                        if other != id_ and (found := self._find(other, quote)) is not None
                    ]
                    if len(others) == 1:
                        (id_, place), doubt = others[0], "another_context"  # noqa: PLW2901 - the place that was found replaces the place that was named
            except EffortExceededError:
                left_out += 1
                continue
            if place is None:
                unverified += 1
                continue
            start, end, broken = place
            text = self.part.contexts[id_][start:end]
            text = self._texts.setdefault(text, text)  # one copy of what is quoted several times
            span = Evidence(int(id_[1:]) - 1, start, end, text, whole)
            hits.append(_Hit(span, doubt or ("broken_quote" if broken else None)))
        return hits, unverified, left_out

    def _find(self, id_: str, quote: str) -> tuple[int, int, bool] | None:
        """Return the first and last character of a quote, and whether it leaves out what matters."""
        key = id_, quote
        if key not in self._found:
            context = self.part.contexts[id_]
            pieces = find_quote(quote, context, self.effort)
            change = change_of_denial(quote, context, pieces, self.part.language) if pieces else "changed"
            place = None if change == "changed" else (pieces[0].start, pieces[-1].end, change == "hidden")
            self._found[key] = place
        return self._found[key]


def check(
    data: Mapping[str, Any],
    part: Part,
    units: Sequence[str],
    contexts: Sequence[str],
    pack: Pack,
    *,
    code: str = "",
    known: Mapping[str, Verdict] = EMPTY,
) -> Checked:
    """Check a reply against what was asked.

    Args:
        data: The parsed reply.
        part: What was shown.
        units: Ids of the units that need a verdict.
        contexts: Ids of the contexts that need one.
        pack: The prompt's language, for its words for yes and no.
        code: The code that the reply must repeat; empty where that was checked before.
        known: What was decided before: a context that its evidence names needs no quote.

    Raises:
        WrongDataError: The reply has another code or none, and not all of its quotes are in place.
        UnreadableReplyError: An entry has no id, or one that was not shown. Its neighbours may then be meant for
            other ids, so the whole reply decides nothing.
    """
    echo = data.get("data")
    echoed = not code or (isinstance(echo, str) and echo.strip().startswith(code))
    quotes = _Quotes(part)
    decided: dict[str, _Decided] = {}
    named: dict[str, list[_Hit]] = {id_: [] for id_ in part.contexts}
    for verdict in (known[id_] for id_ in part.units if id_ in known):
        doubt = next(iter(verdict.details.get("weak", ())), None)
        for span in verdict.evidence:
            named[f"c{span.context + 1}"].append(_Hit(span, doubt))
    try:
        sentences = _entries(data.get("sentences") or (), part.units) if units else {}
        rated = _entries(data.get("contexts") or (), part.contexts) if contexts else {}
    except UnreadableReplyError:
        if echoed:
            raise
        raise WrongDataError(code) from None
    for id_ in units:
        decided[id_], hits = _unit(id_, sentences.get(id_, []), quotes, pack)
        for hit in hits:
            named[f"c{hit.span.context + 1}"].append(hit)
    for id_ in contexts:
        decided[id_] = _context(id_, rated.get(id_, []), quotes, named[id_], pack)
    if not echoed and not 0 < quotes.given == quotes.in_place:
        raise WrongDataError(code)
    return _checked(decided, None if echoed else "no_echo")


def _checked(decided: Mapping[str, _Decided], flag: str | None) -> Checked:
    """Sort what was decided into verdicts, each flagged at least so, and problems."""
    verdicts: dict[str, Verdict] = {}
    problems: dict[str, str] = {}
    repeated: dict[str, Verdict] = {}
    for id_, (outcome, again) in decided.items():
        if isinstance(outcome, str):
            problems[id_] = outcome
            continue
        code = max(outcome.code, flag, key=FLAGS.index)
        verdict = outcome if code == outcome.code else replace(outcome, code=code)
        (repeated if again else verdicts)[id_] = verdict
        if again:
            problems[id_] = str(verdict.code)
    told = ((text, [id_ for id_, code in problems.items() if code in codes]) for codes, text in _NOTES)
    note = " ".join(text.format(ids=", ".join(ids)) for text, ids in told if ids)
    return Checked(verdicts, problems, repeated, note)


def settle(found: dict[str, Verdict], part: Part) -> None:
    """Turn useless contexts on which a supported unit rests into useful ones, flagged: the evidence wins.

    Weak evidence does not win; the verdict is flagged all the same.
    """
    for unit in [found[id_] for id_ in part.units if id_ in found]:
        rests_on = [span for span in unit.evidence if span.whole] or unit.evidence
        for span in rests_on if unit.value is True else ():
            id_ = f"c{span.context + 1}"
            context = found.get(id_)
            if context is None or context.value is not False:
                continue
            wins = set(unit.details.get("weak", ())) <= {"another_context"}
            found[id_] = replace(
                context,
                value=wins,
                code="contradicted",
                reason=f"called useless, and {unit.id} rests on it",
                evidence=(span,) if wins else (),
            )


def _unit(
    id_: str, entries: Sequence[Mapping[str, Any]], quotes: _Quotes, pack: Pack
) -> tuple[_Decided, tuple[_Hit, ...]]:
    """Decide about a unit, and return its quotes, each with its doubt."""
    part, text = quotes.part, quotes.part.units[id_]
    value = _value_of([entry.get("supported") for entry in entries], pack)
    unit = Unit(text, part.answer, part.contexts.values(), part.language)
    given, unverified, left_out = quotes.look_up(_evidence_in(entries, pack), elsewhere=True)
    by_context: dict[int, list[_Hit]] = {}
    for hit in given:
        by_context.setdefault(hit.span.context, []).append(hit)
    weak: dict[int, str] = {}
    for index, cell in by_context.items():
        doubt = unit.doubt(part.contexts[f"c{index + 1}"], [hit.span for hit in cell])
        if doubt := doubt or next((hit.doubt for hit in cell if hit.doubt), None):
            weak[index] = doubt
    hits = tuple(hit._replace(doubt=weak.get(hit.span.context)) for hit in given)
    if isinstance(value, str):
        return _Decided(value), hits
    # Where one context is shown, it alone states what it states.
    whole = {hit.span.context for hit in hits if hit.span.whole or (value and len(part.contexts) == 1)}
    verdict = Verdict(id=id_, value=value, text=text, evidence=_evidence(hits, whole if value else ()))
    if not value:
        words = [
            said for entry in entries if isinstance(said := entry.get("missing"), str) and said.strip()
        ]
        missing = (
            masked(words[0].strip()[:_LONGEST_MISSING]) if words else None
        )  # a server may repeat a key
        told = FrozenDict({"missing": missing}) if missing else EMPTY
        verdict = replace(verdict, reason=missing, details=told)
        if whole:
            why = "called unsupported, and a quote is said to state it"
            return _Decided(_contradicted(verdict, why), again=True), hits
        if any(stands_in(text, context) for context in part.contexts.values()):
            verdict = _contradicted(
                verdict, "called unsupported, and it stands in a context word for word"
            )
        return _Decided(verdict), hits
    if not whole and left_out:
        return _Decided("too_many_quotes"), hits
    if not whole and (unverified or not hits):
        reason = "called supported, but a quote is in no context"
        verdict = replace(verdict, value=False, code="unverified_evidence", reason=reason)
        return _Decided(verdict, again=True), hits
    details = {"quotes_left_out": left_out} if left_out else {}
    return _Decided(_with_doubts(verdict, weak.values(), details)), hits


def _contradicted(verdict: Verdict, why: str) -> Verdict:
    return replace(verdict, code="contradicted", reason="; ".join(filter(None, (verdict.reason, why))))


def _context(
    id_: str, entries: Sequence[Mapping[str, Any]], quotes: _Quotes, named: Sequence[_Hit], pack: Pack
) -> _Decided:
    """Decide about a context.

    Args:
        id_: Its id.
        entries: What the reply says about it.
        quotes: Finds its own quotes.
        named: The evidence of units that names it, each with its doubt.
        pack: The prompt's language.
    """
    given = (entry.get("quote") for entry in entries)
    quoted = [(id_, quote, False) for quote in given if isinstance(quote, str) and quote.strip()]
    value = _value_of([entry.get("useful") for entry in entries], pack)
    own, _, left_out = quotes.look_up(quoted, elsewhere=False)
    if isinstance(value, str):
        return _Decided(value)
    part, text = quotes.part, quotes.part.contexts[id_]
    verdict = Verdict(id=id_, value=value, text=text)
    if not value:
        return _Decided(verdict)
    if not own and not named:
        if left_out:
            return _Decided("too_many_quotes")
        reason = "called useful, but no quote is in it"
        return _Decided(
            replace(verdict, value=False, code="unverified_evidence", reason=reason), again=True
        )
    hits = own or named
    verdict = replace(verdict, evidence=_evidence(hits, {hit.span.context for hit in hits}))
    doubts = [hit.doubt for hit in named]
    if own:
        unit = Unit(part.answer, part.answer, part.contexts.values(), part.language)
        doubt = unit.doubt(text, [hit.span for hit in own])
        doubts.append(doubt or next((hit.doubt for hit in own if hit.doubt), None))
    return _Decided(verdict if None in doubts else _with_doubts(verdict, filter(None, doubts), {}))


def _evidence(hits: Iterable[_Hit], whole: Collection[int]) -> tuple[Evidence, ...]:
    spans = {
        hit.span
        if hit.span.whole is (hit.span.context in whole)
        else replace(hit.span, whole=not hit.span.whole)
        for hit in hits
    }
    return tuple(sorted(spans, key=attrgetter("context", "start", "end")))


def _with_doubts(verdict: Verdict, doubts: Iterable[str], details: dict[str, Any]) -> Verdict:
    """Return the verdict, flagged where there are doubts about its evidence."""
    weak = sorted(set(doubts))
    if not (weak or details):
        return verdict
    if weak:
        details["weak"] = tuple(weak)
    return replace(verdict, code="weak_evidence" if weak else None, details=FrozenDict(details))


def _entries(entries: Sequence[Any], known: Mapping[str, str]) -> dict[str, list[Mapping[str, Any]]]:
    by_id: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        id_ = entry.get("id") if isinstance(entry, Mapping) else None
        if not isinstance(id_, str) or id_.strip() not in known:
            raise UnreadableReplyError(
                "Your last reply had an entry without an id or with an id that is not in the data. "
                "Give exactly one entry for every id listed."
            )
        by_id.setdefault(id_.strip(), []).append(entry)
    return by_id


def _value_of(values: Sequence[Any], pack: Pack) -> bool | str:
    """Return the verdict that all values about an id stand for, or the code that says why there is none."""
    if not values:
        return "missing_id"
    found = {_yes_or_no(value, pack) for value in values}
    if None in found:
        return "invalid_reply"
    return "conflicting_verdicts" if len(found) > 1 else True in found


def _yes_or_no(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a boolean, the number 1 or 0, or the language's word for yes or no stands for."""
    if isinstance(value, (bool, int, float)):
        return bool(value) if value in (0, 1) else None
    word = value.strip().strip(".!").casefold() if isinstance(value, str) else None
    return True if word in pack.yes else False if word in pack.no else None


def _evidence_in(entries: Sequence[Mapping[str, Any]], pack: Pack) -> Iterable[tuple[str, str, bool]]:
    """Yield context id, quote and ``whole`` of each piece of evidence that has a quote."""
    for entry in entries:
        given = entry.get("evidence")
        for item in given if isinstance(given, (list, tuple)) else ():
            quote = item.get("quote") if isinstance(item, Mapping) else None
            if isinstance(quote, str) and quote.strip():
                id_ = item.get("context")
                name = id_.strip() if isinstance(id_, str) else ""
                yield name, quote, _yes_or_no(item.get("whole"), pack) is True
