"""Checking a reply against what was asked.

A reply is untrusted. It must repeat the code of its request, it may decide nothing but the ids that were asked for, with
a plain yes or no, and a yes needs a quote that stands in a context. What a quote proves is measured in
`ctxmetrics.judges.evidence.quotes`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from ctxmetrics._frozen import EMPTY, FrozenDict
from ctxmetrics._secrets import masked
from ctxmetrics.judges.evidence.quotes import DENIED, Unit, place_of, sentences_of
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
# What the model is told when it is asked again, by the codes of the ids.
_NOT_FOUND = (
    "A yes needs a quote, copied word for word from the context it names, and none was found for: {ids}. "
    "If no context says it, answer false."
)
_UNCLEAR = "Each verdict must be exactly one true or false; look again at: {ids}."
_NOTES = (
    ({"missing_id"}, "Your last reply had no entry for: {ids}."),
    ({"wrong_data"}, "Judge the data, not the example; look again at: {ids}."),
    ({"invalid_reply", "conflicting_verdicts"}, _UNCLEAR),
    ({"too_many_quotes"}, "Give fewer and shorter quotes for: {ids}."),
    ({"unverified_evidence"}, _NOT_FOUND),
    ({"contradicted"}, "You answered false and named a context that states the whole sentence: {ids}."),
)


class Decision(NamedTuple):
    """What a reply decides about an id.

    Attributes:
        verdict: The verdict; a yes has verified evidence. None where there is none.
        problem: The code that says why the id is asked again; with a verdict: that counts when the problem comes again.
    """

    verdict: Verdict | None
    problem: str | None = None


class _Hit(NamedTuple):
    """A quote that was found: where, and why it proves little."""

    span: Evidence
    doubt: str | None = None


@dataclass(slots=True)
class _Said:
    """What a reply says about one id, in all its entries for it.

    Attributes:
        value: The verdict that all entries give, or the code that says why there is none.
        quotes: Context id, quote, and whether that context alone is said to state the unit.
        missing: The words that are said to be missing, with keys masked: a server may repeat one.
    """

    value: bool | str = "missing_id"
    quotes: list[tuple[str, str, bool]] = field(default_factory=list)
    missing: str | None = None


@dataclass(slots=True)
class _Quotes:
    """Finds the quotes of one reply, and counts how many stand in the context that they name.

    Attributes:
        part: What was shown.
        find: Finds a quote in a context (`place_of`), each once.
        given: How many quotes were given.
        in_place: How many of them stand in the context that they name.
    """

    part: Part
    find: Callable[[str, str], tuple[int, int, bool] | None]
    given: int = 0
    in_place: int = 0

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
        quotes, contexts = list(dict.fromkeys(named)), self.part.contexts
        self.given += len(quotes)
        left_out, unverified = max(0, len(quotes) - MOST_QUOTES), 0
        hits: list[_Hit] = []
        for id_, quote, whole in quotes[:MOST_QUOTES]:
            try:
                place = self.find(quote, contexts[id_]) if id_ in contexts else None
                doubt = None
                self.in_place += place is not None
                if place is None and elsewhere:
                    others = [
                        (other, found)
                        for other, context in contexts.items()
                        if other != id_ and (found := self.find(quote, context)) is not None
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
            span = Evidence(int(id_[1:]) - 1, start, end, contexts[id_][start:end], whole)
            hits.append(_Hit(span, doubt or ("broken_quote" if broken else None)))
        return hits, unverified, left_out


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
        What it decides, by id; and what the model is told when it is asked again, ids and our own words only.

    Raises:
        WrongDataError: The reply has another code or none; and it has an id that was not shown, or not all of its
            quotes are in place.
    """
    echo = data.get("code")
    echoed = not code or (isinstance(echo, str) and echo.strip().startswith(code))
    quotes = _Quotes(part, cache(partial(place_of, Effort(), part.request.language)))
    named: dict[str, list[_Hit]] = {id_: [] for id_ in part.contexts}
    for verdict in (known[id_] for id_ in part.units if id_ in known):
        doubt = next(iter(verdict.details.get("weak", ())), None)
        for span in verdict.evidence:
            named[f"c{span.context + 1}"].append(_Hit(span, doubt))
    replies = _read_parts(data, part, units, contexts, pack)
    if not echoed and count_strays(data, part, part.contexts):
        raise WrongDataError(code)
    decided: dict[str, Decision] = {}
    for id_ in units:
        decided[id_], hits = _unit(id_, replies[id_], quotes)
        for hit in hits:
            named[f"c{hit.span.context + 1}"].append(hit)
    for id_ in contexts:
        decided[id_] = _context(id_, replies[id_], quotes, named[id_])
    if not echoed:
        if not 0 < quotes.given == quotes.in_place:
            raise WrongDataError(code)
        decided = {id_: _without_echo(one) for id_, one in decided.items()}
    notes = [
        text.format(ids=", ".join(ids))
        for codes, text in _NOTES
        if (ids := [id_ for id_, one in decided.items() if one.problem in codes])
    ]
    return decided, " ".join(notes)


def count_strays(data: Mapping[str, Any], part: Part, contexts: Collection[str]) -> int:
    """Count the ids of a reply that were not asked about; their entries decide nothing."""
    asked_ids = {"sentences": part.units, "useful": contexts}
    strays = 0
    for key, ids in asked_ids.items():
        entries = data.get(key)
        names = map(str, entries) if isinstance(entries, Mapping) else ()
        strays += sum(name.strip() not in ids for name in names)
    return strays


def _read_parts(
    data: Mapping[str, Any], part: Part, units: Sequence[str], contexts: Sequence[str], pack: Pack
) -> dict[str, _Said]:
    """Read what a reply says about each id that was asked.

    A copy of the prompt's example decides nothing: an entry that repeats its texts, and, beside such an entry, one that
    is the example's own.
    """
    replies: dict[str, _Said] = {}
    copied: dict[str, set[str]] = {}
    for name, key, ids in (("sentences", "supported", units), ("useful", "useful", contexts)):
        entries = _read_entries(data.get(name), ids, key, pack)
        copied[name] = {
            id_
            for id_, said in entries.items()
            if _repeats_example(said, part.units.get(id_, ""), part, pack)
        }
        replies |= {id_: entries[id_] for id_ in ids}
    asked_ids = {*units, *contexts}
    answers_example = not asked_ids.isdisjoint(copied["sentences"] | copied["useful"])
    for name, ids in (("sentences", units), ("useful", contexts)):
        for id_ in ids:
            beside_copy = answers_example or bool(copied[name])
            if id_ in copied[name] or (beside_copy and replies[id_] in _example_entries(pack, id_)):
                replies[id_] = _Said("wrong_data")
    return replies


@lru_cache(maxsize=256)
def _example_entries(pack: Pack, id_: str) -> tuple[_Said, ...]:
    """Return what the replies of the prompts' examples say about an id."""
    entries = []
    for reply in pack.example_replies:
        for name, key in (("sentences", "supported"), ("useful", "useful")):
            if id_ in reply.get(name, ()):
                entries.append(_read_entries(reply[name], (), key, pack)[id_])
    return tuple(entries)


def _repeats_example(said: _Said, unit: str, part: Part, pack: Pack) -> bool:
    """Whether an entry holds a placeholder, or a text of the prompt's example that is not in the data."""
    for _, quote, _ in said.quotes:
        if _is_placeholder(quote):
            return True
        if quote.strip().casefold() in pack.examples and not any(
            stands_in(quote, context) for context in part.contexts.values()
        ):
            return True
    missing = (said.missing or "").casefold()
    return bool(missing) and (
        _is_placeholder(missing) or (missing in pack.examples and missing not in unit.casefold())
    )


def _is_placeholder(text: str) -> bool:
    """Whether a text is dots alone: a form that was not filled in."""
    return not text.strip(" .…\t\n")


def _without_echo(decision: Decision) -> Decision:
    verdict = decision.verdict
    return decision._replace(
        verdict=verdict and replace(verdict, code=max(verdict.code, "no_echo", key=FLAGS.index))
    )


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


def _unit(id_: str, said: _Said, quotes: _Quotes) -> tuple[Decision, Sequence[_Hit]]:
    """Decide about a unit, and return its quotes, each with its doubt."""
    part, text = quotes.part, quotes.part.units[id_]
    unit = Unit(text, part.request.answer, part.contexts.values(), part.request.language)
    given, unverified, left_out = quotes.look_up(said.quotes, elsewhere=True)
    hits, doubts, sentences = _doubted(unit, given, part)
    if isinstance(said.value, str):
        return Decision(None, said.value), hits
    if not said.value:
        verdict = Verdict(
            id=id_,
            value=False,
            text=text,
            reason=said.missing,
            evidence=_evidence(hits, ()),
            details=FrozenDict({"missing": said.missing}) if said.missing else EMPTY,
        )
        if any(hit.span.whole for hit in hits):
            why = "called unsupported, and a quote is said to state it"
            return Decision(_contradicted(verdict, why), "contradicted"), hits
        if any(stands_in(text, context) for context in part.contexts.values()):
            why = "called unsupported, and it stands in a context word for word"
            verdict = _contradicted(verdict, why)
        return Decision(verdict), hits
    # With one context, a part that is stated is stated by that context alone.
    whole = {hit.span.context for hit in hits if hit.span.whole or len(part.contexts) == 1}
    if not whole and left_out:
        return Decision(None, "too_many_quotes"), hits
    verdict = Verdict(id=id_, value=True, text=text, evidence=_evidence(hits, whole))
    if not whole and (unverified or not hits):
        return _unproven(verdict, "called supported, but a quote is in no context"), hits
    denial = unit.denial(sentences)
    if denial or unit.shares_little(sentences):
        common = DENIED if denial else "few_words"
        doubts = {*doubts, common}
        hits = [hit._replace(doubt=common) for hit in hits]
    if denial:
        verdict = replace(
            verdict, reason=f"called supported, and its evidence says otherwise: {denial}"
        )
    details = {"quotes_left_out": left_out} if left_out else {}
    return Decision(with_doubts(verdict, doubts, details)), hits


def _doubted(
    unit: Unit, hits: Sequence[_Hit], part: Part
) -> tuple[Sequence[_Hit], set[str], Sequence[str]]:
    """Return quotes about a unit, each with the doubt about its context; all doubts; and the sentences that hold them."""
    cells: dict[int, list[_Hit]] = {}
    for hit in hits:
        cells.setdefault(hit.span.context, []).append(hit)
    doubts: dict[int, str] = {}
    sentences: list[str] = []
    for index, cell in cells.items():
        context, spans, read = part.contexts[f"c{index + 1}"], [hit.span for hit in cell], 0
        for first, last in sentences_of(context):
            inside = [span for span in spans if span.start < last and first < span.end]
            if inside and read < _MOST_READ:
                start = max(first, min(span.start for span in inside) - _AROUND)
                end = min(last, max(span.end for span in inside) + _AROUND)
                sentences.append(context[start:end])
                read += end - start
        doubt = unit.doubt(context, spans) or next((hit.doubt for hit in cell if hit.doubt), None)
        if doubt:
            doubts[index] = doubt
    doubted = [hit._replace(doubt=doubts.get(hit.span.context)) for hit in hits]
    return doubted, set(doubts.values()), sentences


def _contradicted(verdict: Verdict, why: str) -> Verdict:
    return replace(verdict, code="contradicted", reason="; ".join(filter(None, (verdict.reason, why))))


def _unproven(verdict: Verdict, why: str) -> Decision:
    """Return the no that a yes without a quote becomes when it comes again."""
    code = "unverified_evidence"
    return Decision(replace(verdict, value=False, code=code, reason=why), code)


def _context(id_: str, said: _Said, quotes: _Quotes, named: Sequence[_Hit]) -> Decision:
    """Decide about a context.

    Args:
        id_: Its id.
        said: What the reply says about it.
        quotes: Finds its own quotes.
        named: The evidence of units that names it, each with its doubt.
    """
    own, _, left_out = quotes.look_up(said.quotes, elsewhere=False)
    if isinstance(said.value, str):
        return Decision(None, said.value)
    part, text = quotes.part, quotes.part.contexts[id_]
    verdict = Verdict(id=id_, value=said.value, text=text)
    if not said.value:
        units = part.units.values() or split_sentences(part.request.answer)
        if any(stands_in(unit, text) for unit in units):
            verdict = _contradicted(
                verdict, "called useless, and a sentence of the answer stands in it word for word"
            )
        return Decision(verdict)
    if not own and not named:
        if left_out:
            return Decision(None, "too_many_quotes")
        return _unproven(verdict, "called useful, but no quote is in it")
    hits = own or named
    verdict = replace(verdict, evidence=_evidence(hits, {hit.span.context for hit in hits}))
    doubts = [hit.doubt for hit in named]
    if own:
        answer = Unit(
            part.request.answer, part.request.answer, part.contexts.values(), part.request.language
        )
        doubted, _, sentences = _doubted(answer, own, part)
        doubts.append(doubted[0].doubt or ("few_words" if answer.shares_little(sentences) else None))
    return Decision(verdict if None in doubts else with_doubts(verdict, filter(None, doubts), {}))


def _evidence(hits: Iterable[_Hit], whole: Collection[int]) -> tuple[Evidence, ...]:
    spans = {
        hit.span
        if hit.span.whole is (hit.span.context in whole)
        else replace(hit.span, whole=not hit.span.whole)
        for hit in hits
    }
    return tuple(sorted(spans, key=attrgetter("context", "start", "end")))


def with_doubts(verdict: Verdict, doubts: Iterable[str], details: Mapping[str, Any]) -> Verdict:
    """Return the verdict, flagged where there are doubts about its evidence."""
    weak = tuple(sorted(set(doubts)))
    code = "contradicted" if DENIED in weak else "weak_evidence" if weak else None
    told = FrozenDict({**details, **({"weak": weak} if weak else {})})
    return replace(verdict, code=code, details=told) if told else verdict


def _read_entries(entries: Any, ids: Collection[str], key: str, pack: Pack) -> Mapping[str, _Said]:
    """Read what a reply says about each id: those that were asked, and any other.

    Args:
        entries: The entries by id; None: there are none.
        ids: The ids that were asked.
        key: Under which an entry has its verdict.
        pack: The prompt's language.
    """
    replies = {id_: _Said() for id_ in ids}
    for name, entry in (entries or {}).items():
        id_ = str(name).strip()
        cell = entry if isinstance(entry, Mapping) else {}
        said, value = replies.setdefault(id_, _Said()), _yes_or_no(cell.get(key), pack)
        if value is None or said.value == "invalid_reply":
            said.value = "invalid_reply"
        else:
            said.value = value if said.value in ("missing_id", value) else "conflicting_verdicts"
        missing = cell.get("missing")
        if said.missing is None and isinstance(missing, str) and missing.strip():
            said.missing = masked(missing.strip()[:_LONGEST_MISSING])
        own = [{"context": id_, "quote": cell.get("quote")}]
        evidence = cell.get("evidence") if key == "supported" else own
        for item in evidence if isinstance(evidence, (list, tuple)) else ():
            quote = item.get("quote") if isinstance(item, Mapping) else None
            if isinstance(quote, str) and quote.strip():
                named, whole = item.get("context"), _yes_or_no(item.get("whole"), pack) is True
                said.quotes.append((named.strip() if isinstance(named, str) else "", quote, whole))
    return replies


def _yes_or_no(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a boolean, the number 1 or 0, or the language's word for yes or no stands for."""
    if isinstance(value, (bool, int, float)):
        return bool(value) if value in (0, 1) else None
    word = value.strip().strip(".!").casefold() if isinstance(value, str) else None
    return True if word in pack.yes else False if word in pack.no else None
