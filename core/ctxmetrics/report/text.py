"""A score in words: for a terminal (`pretty`) and for a framework's reason field (`reason`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxmetrics._redact import visible
from ctxmetrics._wording import count_of, number, say
from ctxmetrics.conventions import get_convention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxmetrics.scores import Evidence, Score, Verdict

_QUOTE = 80
_TEXT = 100
_MESSAGE = 500
DOUBT = "no word in common with the evidence: look at it"
"""Said of a verdict whose evidence is in the context, word for word, and yet may be about something else."""
_GREEN, _RED, _YELLOW, _PLAIN = "\033[32m", "\033[31m", "\033[33m", "\033[0m"


def pretty(score: Score, *, color: bool = False) -> str:
    """Return value, band, pass mark and k of n, then one line a unit with its evidence or what is missing."""
    lines = [f"{score.metric}: {shown(score)}"]
    if score.sample_id is not None:
        lines[0] += f"  [{_clean(score.sample_id, _TEXT)}]"
    if score.band:
        lines.append(f"  {score.band}")
    language = language_of_score(score)
    if score.threshold is not None and score.passed is not None:
        state = say("passed" if score.passed else "failed", language)
        lines.append(f"  {say('pass mark', language)} {score.threshold:g}: {state}")
    if score.message:
        lines.append(f"  {score.reason_code}: {_clean(score.message, _MESSAGE)}")
    if score.verdicts:
        lines.append(f"  {count(score)}")
    lines += [line(verdict, color=color, language=language) for verdict in score.verdicts]
    lines += [f"  ! {warning}" for warning in score.provenance.warnings]
    return "\n".join(lines)


def reason(score: Score) -> str:
    """Return k of n, then what was missed or useless and why, one line each."""
    lines = [f"{score.reason_code}: {_clean(score.message, _MESSAGE)}"] if score.message else []
    if score.verdicts:
        lines.append(f"{count(score)}.")
    language = language_of_score(score)
    lines += [
        f"{_clean(verdict.id, _TEXT)} {_state(verdict, language)}: {_subject(verdict)}{_because(verdict, language)}"
        for verdict in _worth_telling(score)
    ]
    return "\n".join(lines)


def shown(score: Score) -> str:
    """Return the value as its convention shows it; rounding is display only."""
    if score.value is None:
        return f"{say('no value', language_of_score(score))} ({score.reason_code})"
    text = number(score.value, score.provenance.convention)
    if text.endswith(")"):
        return text
    text = text.rstrip("0")
    return text + "0" if text.endswith(".") else text


def language_of_score(score: Score) -> str:
    """Return the language in which a score is shown."""
    return get_convention(score.provenance.convention).language


def count(score: Score) -> str:
    """Return how many of how many units are supported, or contexts useful."""
    hits = sum(verdict.value is True for verdict in score.verdicts)
    missing = sum(verdict.value is None for verdict in score.verdicts)
    total = len(score.verdicts)
    language = language_of_score(score)
    text = count_of(hits, total, *_words(score), language)
    if not missing:
        return text
    unjudged = say("not judged", language)
    return f"{text}, {unjudged}: {missing}" if language == "ru" else f"{text}, {missing} {unjudged}"


def _words(score: Score) -> tuple[str, str]:
    name = score.metric.partition("(")[0]
    if name == "context_recall":
        unit = "claim" if score.provenance.splitter == "claims" else "sentence"
        return unit, "supported"
    if name == "non_llm_context_recall":
        return "reference context", "found"
    if name == "id_based_context_recall":
        return "reference id", "retrieved"
    if name == "id_based_context_precision":
        return "retrieved id", "relevant"
    return "context", "relevant" if name == "non_llm_context_precision" else "useful"


def line(verdict: Verdict, *, color: bool = False, language: str = "en") -> str:
    """Return a verdict with its text and its evidence, or what is missing."""
    mark, shade = {True: ("✓", _GREEN), False: ("✗", _RED), None: ("?", _YELLOW)}[verdict.value]
    if color:
        mark = f"{shade}{mark}{_PLAIN}"
    text = f"  {mark} {_clean(verdict.id, _TEXT)}"
    if verdict.text != verdict.id:
        text += f" {_clean(verdict.text, _TEXT)}"
    spans = "; ".join(_span(span, verdict, language) for span in verdict.evidence)
    if spans:
        return f"{text}\n      {spans}{_doubted(verdict, language)}"
    why = _because(verdict, language).removeprefix(" - ")
    return f"{text}\n      {why}" if why else text


def _span(span: Evidence, verdict: Verdict, language: str) -> str:
    where = f"c{span.context + 1} [{span.start}:{span.end}]"
    if span.quote == verdict.text:
        return f"{where} {say('the whole text' if verdict.id.startswith('c') else 'word for word', language)}"
    return f'{where} "{_clean(span.quote, _QUOTE)}"'


def _worth_telling(score: Score) -> Iterator[Verdict]:
    """Misses and gaps first; then what was found."""
    yield from (verdict for verdict in score.verdicts if not verdict.value)
    yield from (verdict for verdict in score.verdicts if verdict.value)


def _state(verdict: Verdict, language: str) -> str:
    return say({True: "yes", False: "no", None: "not judged"}[verdict.value], language)


def _subject(verdict: Verdict) -> str:
    return f'"{_clean(verdict.text, _QUOTE)}"'


def _because(verdict: Verdict, language: str) -> str:
    parts = []
    if verdict.code:
        parts.append(verdict.code)
    if verdict.reason:
        parts.append(_clean(verdict.reason, 200))
    if verdict.value and verdict.evidence:
        spans = "; ".join(_span(span, verdict, language) for span in verdict.evidence)
        parts = [spans + _doubted(verdict, language)]
    return f" - {'; '.join(parts)}" if parts else ""


def doubt(verdict: Verdict, language: str = "en") -> str:
    """Return what a person should look at in a verdict's evidence, or nothing."""
    return say(DOUBT, language) if verdict.evidence and verdict.details.get("unrelated_evidence") else ""


def _doubted(verdict: Verdict, language: str) -> str:
    return f" ({text})" if (text := doubt(verdict, language)) else ""


def _clean(text: str, longest: int) -> str:
    """Return one line that a terminal can only show: the text is untrusted."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
