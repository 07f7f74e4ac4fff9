"""Writes a score, its verdicts and its numbers in the language of its convention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import replace_invisible
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.verdicts import Evidence, Usage, Verdict

# The maximum number of characters of a quote in a line.
_MAX_QUOTE_CHARACTERS = 80
# The maximum number of characters of a unit or a context in a line.
TEXT = 100
# The maximum number of characters of a judge's reason in a line.
_MAX_REASON_CHARACTERS = 200
# The maximum number of characters of a message in a line.
MESSAGE = 500
# The words for the units of a judged recall.
_UNITS = frozenset({"sentence", "claim", "fact"})
# The maximum number of quotes from the contexts that a line about a verdict shows.
_MAX_SPANS_SHOWN = 4
# The maximum number of ids that a list shows.
_MAX_IDS_SHOWN = 5
# The maximum number of characters of an id in a list.
_MAX_ID_CHARACTERS = 20
# "noes": the words about a no, by the code of the verdict. "doubts": the words about a flagged yes, by the code of its doubt.
_WORDS: Mapping[str, Mapping[str, str]] = read_data("scores", "verdicts.json")
# The mark of each verdict, and its colour in a terminal.
_MARKS: Mapping[bool | None, tuple[str, str]] = {
    True: ("✓", "\033[32m"),
    False: ("✗", "\033[31m"),
    None: ("?", "\033[33m"),
}
# Ends coloured text in a terminal.
_END_OF_COLOUR = "\033[0m"
# A smaller p value is shown as less than this number, because four digits are shown.
_SMALLEST_P = 0.0001
# The word for each verdict.
_STATES: Mapping[bool | None, str] = {True: "yes", False: "no", None: "not judged"}
# The library's own phrases in other languages.
_PHRASES: Mapping[str, Mapping[str, str]] = read_data("scores", "phrases.json")


def find_language(conventions: Iterable[str]) -> str:
    """Return the language of all these conventions; English if they have several."""
    languages = {get_convention(name).language for name in conventions}
    return languages.pop() if len(languages) == 1 else "en"


def say(text: str, language: str) -> str:
    """Translate one of the library's own phrases; a phrase without a translation stays English."""
    return text if language == "en" else _PHRASES.get(language, {}).get(text, text)


def describe_count(hits: int, total: int, missing: int, counted: tuple[str, str], language: str) -> str:
    """Describe how many verdicts are yes, such as ``2 of 3 sentences supported``, and how many are missing."""
    noun, state = counted
    unjudged = say("not judged", language)
    if language == "ru":  # the count follows, so that no noun changes its ending with the number
        text = f"{say(f'{noun}s {state}', language)}: {hits} из {total}"
        return f"{text}, {unjudged}: {missing}" if missing else text
    text = f"{hits} of {plural(total, noun)} {state}"
    return f"{text}, {missing} {unjudged}" if missing else text


def describe_usage(usage: Usage, language: str) -> str:
    """Describe calls, tokens and cost in a line; empty if no judge was asked."""
    if not (usage.calls or usage.reused):
        return ""
    calls = plural(usage.calls, "call", language=language)
    if usage.repeats:
        calls += f" ({plural(usage.repeats, 'repeat', language=language)})"
    text = (
        f"{calls}, {usage.reused} {say('reused', language)}, "
        f"{usage.prompt_tokens} + {usage.completion_tokens} {say('tokens', language)}"
    )
    if usage.estimated:
        text += f" ({say('estimated', language)})"
    if usage.cost is not None:
        text += f", {say('cost', language)} {usage.cost:.4g}"
    return text


def plural(number: int, noun: str, verb: str = "", verbs: str = "", language: str = "en") -> str:
    """Write a number with its noun: ``1 sample``, ``2 samples``; with both forms of a verb: ``1 sample has``, ``2 samples have``.

    Other languages have one form of the noun for all numbers: the translation of the English plural.
    """
    if number == 1 and language == "en":
        return f"1 {noun} {verb}".rstrip()
    return f"{number} {say(f'{noun}s', language)} {verbs}".rstrip()


def format_number(value: float, convention: str, *, percent: bool = True) -> str:
    """Write a value as its convention does: ``0.6667`` or ``0.67 (67%)``; without ``percent``, ``0.67``. Only the text is rounded."""
    if not get_convention(convention).percent:
        return f"{value:.4f}"
    return f"{value:.2f} ({round(value, 2):.0%})" if percent else f"{value:.2f}"


def format_p(p: float) -> str:
    """Write a p value with four digits: ``0.0312``, or ``< 0.0001``."""
    return "< 0.0001" if p < _SMALLEST_P else f"{p:.4f}"


def format_verdict(verdict: Verdict, *, color: bool = False, language: str = "en") -> str:
    """Write a verdict with its mark and text, and on a second line its evidence, or what is missing."""
    text = f"  {format_mark(verdict, color=color)} {clean(verdict.id, TEXT)}"
    if verdict.text != verdict.id:
        text += f" {clean(verdict.text, TEXT)}"
    explanation = explain_verdict(verdict, language)
    return f"{text}\n      {explanation}" if explanation else text


def format_mark(verdict: Verdict, *, color: bool = False) -> str:
    """Return ``✓``, ``✗`` or ``?``; ``(✓)`` if the verdict does not count."""
    mark, colour_code = _MARKS[verdict.value]
    if color:
        mark = f"{colour_code}{mark}{_END_OF_COLOUR}"
    counts = verdict.weight != 0
    return mark if counts else f"({mark})"


def format_sentence(verdict: Verdict, language: str) -> str:
    """Write a verdict in one line: its id, yes or no, its text, and its explanation."""
    state = say(_STATES[verdict.value], language)
    text = f'{clean(verdict.id, TEXT)} {state}: "{clean(verdict.text, _MAX_QUOTE_CHARACTERS)}"'
    explanation = explain_verdict(verdict, language)
    return f"{text} - {explanation}" if explanation else text


def describe_doubt(verdict: Verdict, language: str = "en") -> str:
    """Say in parentheses why a person should check the evidence of a verdict; empty if there is no doubt."""
    contradiction = describe_contradiction(verdict)
    if "unrelated" in verdict.details.get("weak", ()):
        text = _WORDS["doubts"]["unrelated"]
    elif contradiction:
        text = f"uncertain: {contradiction}"
    else:
        text = _WORDS["doubts"].get(verdict.code or "", "")
    return f" ({say(text, language)})" if text else ""


def describe_contradiction(verdict: Verdict) -> str | None:
    """Describe the contradiction of an uncertain yes: ``number: '2 years' against '1 year'``."""
    details = verdict.details.get("contradiction")
    if verdict.code != "uncertain" or not isinstance(details, Mapping):
        return None
    kind = clean(str(details.get("kind") or ""), TEXT)
    unit_text = clean(str(details.get("unit") or ""), TEXT)
    context_text = clean(str(details.get("context") or ""), TEXT)
    text = f"{kind}: '{unit_text}'"
    return f"{text} against '{context_text}'" if context_text else text


def describe_doubts(counts: Mapping[str, int], language: str) -> str:
    """Count the doubtful verdicts by code: ``doubtful: uncertain 1, weak_evidence 2``."""
    return f"{say('doubtful', language)}: {join_counts(counts)}"


def describe_low_ranks(verdicts: Sequence[Verdict], language: str) -> str | None:
    """Name the useful contexts that stand below useless ones; None if none does."""
    useful_indexes = [index for index, verdict in enumerate(verdicts) if verdict.value]
    useless_indexes = [index for index, verdict in enumerate(verdicts) if verdict.value is False]
    if not useful_indexes or not useless_indexes:
        return None
    last_useful = useful_indexes[-1]
    first_useless = useless_indexes[0]
    if last_useful < first_useless:
        return None
    useful_below = [verdicts[index].id for index in useful_indexes if index > first_useless]
    useless_above = [verdicts[index].id for index in useless_indexes if index < last_useful]
    ranked_low = f"{say('ranked low', language)}: {_join_ids(useful_below)}"
    return f"{ranked_low} {say('below', language)} {_join_ids(useless_above)}"


def is_expected(counted: tuple[str, str]) -> bool:
    """Return whether verdicts are about expected items, and not about retrieved ones. ``counted``: see `Score.counted`."""
    noun, _ = counted
    return noun in _UNITS or noun.startswith("reference ")


def list_contexts(verdict: Verdict) -> list[str]:
    """List the contexts of the evidence behind a verdict: ``c1``, ``c2`` .."""
    indexes = dict.fromkeys(span.context for span in verdict.evidence)
    return [f"c{index + 1}" for index in indexes]


def explain_miss(verdict: Verdict, counted: tuple[str, str], language: str) -> str:
    """Say in two or three words why a verdict is not a yes; empty for a yes.

    Args:
        verdict: The verdict.
        counted: What the verdicts of the score are about, and what a yes means (`Score.counted`).
        language: The language of the words.
    """
    noun, state = counted
    if verdict.value:
        return ""
    if verdict.value is None:
        text = "not judged"
    elif verdict.code is not None and verdict.code in _WORDS["noes"]:
        text = _WORDS["noes"][verdict.code]
    elif noun in _UNITS:
        contexts = list_contexts(verdict)
        if contexts:
            return f"{say('stated in part in', language)} {_join_ids(contexts)}"
        # The embedded judge compares words: its reason says how many stand in the context.
        if "coverage" in verdict.details:
            return ""
        text = "stated nowhere"
    elif is_expected(counted):
        text = "not retrieved"
    else:
        text = f"not {state}"
    return say(text, language)


def _join_ids(ids: Sequence[str]) -> str:
    """Join the first ids in one text."""
    names = [clean(id_, _MAX_ID_CHARACTERS) for id_ in ids[:_MAX_IDS_SHOWN]]
    if len(ids) > len(names):
        names.append("…")
    return ", ".join(names)


def join_counts(counts: Mapping[str, int]) -> str:
    """Join each code and how often it was counted, in the order of the codes."""
    return ", ".join(f"{code} {number}" for code, number in sorted(counts.items()))


def clean(text: str, longest: int) -> str:
    """Convert an untrusted text to one line that is safe in a terminal, with ``longest`` characters at most."""
    line = replace_invisible(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def explain_verdict(verdict: Verdict, language: str) -> str:
    """Explain a verdict in one line: a yes by its evidence, any other verdict by its code, its reason and its evidence.

    Returns:
        The line; empty if the verdict has none of these.
    """
    if not (verdict.evidence or verdict.code or verdict.reason):
        return ""
    spans = _format_spans(verdict, language)
    # A span metric may count an expected passage as found although a part of it is missing. Then the reason names this part.
    is_complete = "missed" not in verdict.details
    if verdict.value and spans and is_complete:
        return spans + describe_doubt(verdict, language)
    parts = (verdict.code, clean(verdict.reason or "", _MAX_REASON_CHARACTERS), spans)
    return "; ".join(part for part in parts if part)


def _format_spans(verdict: Verdict, language: str) -> str:
    """Write the first pieces of evidence of a verdict."""
    spans = [_format_span(span, verdict, language) for span in verdict.evidence[:_MAX_SPANS_SHOWN]]
    hidden_count = len(verdict.evidence) - len(spans)
    if hidden_count:
        spans.append(f"+{hidden_count} {say('more', language)}")
    return "; ".join(spans)


def _format_span(span: Evidence, verdict: Verdict, language: str) -> str:
    """Write one piece of evidence: the context, the characters, and the quote."""
    part = "" if span.whole else f" ({say('part', language)})"
    place = f"c{span.context + 1} [{span.start}:{span.end}]{part}"
    if span.quote != verdict.text:
        return f'{place} "{clean(span.quote, _MAX_QUOTE_CHARACTERS)}"'
    phrase = "the whole text" if verdict.id.startswith("c") else "word for word"
    return f"{place} {say(phrase, language)}"
