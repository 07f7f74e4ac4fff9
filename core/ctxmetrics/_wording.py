"""The words of a score and its verdicts, in the language of its convention, and how a number is written there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ctxmetrics._display import visible
from ctxmetrics.conventions import get_convention
from ctxmetrics.verdicts import Evidence, Verdict

# The most characters of a quote, a unit, a judge's reason and a message that one line shows.
_QUOTE = 80
TEXT = 100
_REASON = 200
MESSAGE = 500
# Why a verdict is a no, by its code.
_NOES: Mapping[str, str] = {
    "unverified_evidence": "its quote is in no context",
    "contradicted": "contradicted",
    "uncertain": "contradicted",
}
# What judged recalls count.
_UNITS = frozenset({"sentence", "claim", "fact"})
# Evidence of one verdict that one line shows.
_MOST_SPANS = 4
# Ids that one list shows, and characters of each.
_MOST_IDS = 5
_ID = 20
# What is told about a yes that is flagged, by the code of its verdict.
_DOUBTS: Mapping[str, str] = {
    "weak_evidence": "weak evidence: look at it",
    "contradicted": "contradicted: look at it",
    "uncertain": "contradicted by its evidence: look at it",
}
_UNRELATED = "no word in common with the evidence: look at it"
# The mark of each verdict, and its colour in a terminal.
_MARKS: Mapping[bool | None, tuple[str, str]] = {
    True: ("✓", "\033[32m"),
    False: ("✗", "\033[31m"),
    None: ("?", "\033[33m"),
}
_PLAIN = "\033[0m"
_STATES: Mapping[bool | None, str] = {True: "yes", False: "no", None: "not judged"}

_RUSSIAN: Mapping[str, str] = {
    "pass mark": "порог",
    "passed": "пройден",
    "failed": "не пройден",
    "no value": "нет значения",
    "not judged": "не оценено",
    "yes": "да",
    "no": "нет",
    "the whole text": "весь текст",
    "word for word": "дословно",
    _UNRELATED: "с подтверждением нет общих слов: проверьте",
    "weak evidence: look at it": "слабое подтверждение: проверьте",
    "contradicted: look at it": "противоречие: проверьте",
    "contradicted by its evidence: look at it": "подтверждение противоречит тексту: проверьте",
    "part": "часть",
    "doubtful": "сомнительно",
    "controls": "контроль",
    "verdicts right": "вердиктов верны",
    "wrong": "неверно",
    "the judge answers alike": "судья отвечает одинаково",
    "unused": "не использован",
    "redundant": "избыточен",
    "sentences supported": "подтверждено предложений",
    "facts supported": "подтверждено фактов",
    "claims supported": "подтверждено утверждений",
    "reference contexts found": "найдено эталонных фрагментов",
    "reference ids retrieved": "найдено эталонных идентификаторов",
    "retrieved ids relevant": "релевантных идентификаторов среди найденных",
    "reference spans found": "найдено эталонных отрезков",
    "retrieved spans relevant": "релевантных отрезков среди найденных",
    "contexts relevant": "релевантных фрагментов",
    "contexts useful": "полезных фрагментов",
    "of": "из",
    "to": "до",
    "judged": "оценено",
    "metric": "метрика",
    "mean": "среднее",
    "95 % interval": "95 % интервал",
    "scored": "со значением",
    "undefined": "не определено",
    "without a value": "без значения",
    "verdicts missing": "нет вердиктов",
    "none": "нет",
    "judge": "судья",
    "calls": "вызовов",
    "reused": "из памяти",
    "tokens": "токенов",
    "estimated": "оценка",
    "stopped early": "остановлено досрочно",
    "sample": "пример",
    "evidence in": "подтверждение в",
    "stated in part in": "частично сказано в",
    "cut here": "обрезано",
    "stated nowhere": "нигде не сказано",
    "ranked low": "низко в списке",
    "below": "ниже",
    "not useful": "не полезен",
    "not relevant": "не релевантен",
    "not retrieved": "не найдено",
    "contradicted": "противоречие",
    "its quote is in no context": "цитаты нет ни в одном фрагменте",
    "nothing was retrieved": "ничего не найдено",
    "the reference side is empty": "эталон пуст",
    "no fact is vital": "нет ни одного обязательного факта",
    "more": "ещё",
    "verdicts": "вердиктов",
    "samples": "примеров",
    "labels": "разметка",
    "answered": "с ответом",
    "nothing was retrieved for the others": "для остальных ничего не найдено",
    "distinct": "различных",
    "in the intervals each counts once": "в интервалах каждый учтён один раз",
    "without a judge, by strings and ids": "без судьи, по строкам и идентификаторам",
    "cost": "стоимость",
    "prompt": "промпт",
    "convention": "правила",
    "answered as": "ответила модель",
    "data": "данные",
    "date": "дата",
    "library": "библиотека",
    "worst first": "худшие сначала",
    "as in the file": "как в файле",
    "all": "все",
    "something missed": "что-то упущено",
    "below the pass mark": "ниже порога",
    "search": "поиск",
    "order": "порядок",
    "show": "показать",
    "open or close all": "открыть или закрыть все",
    "link to this sample": "ссылка на этот пример",
    "its texts are not kept in this page": "его тексты на этой странице не сохранены",
    "texts are kept of the worst samples only": "тексты сохранены только у худших примеров",
    "which context states which sentence": "какой фрагмент содержит какое предложение",
    "whole": "целиком",
    "useful": "полезен",
    "relevant": "релевантен",
    "what the first k contexts give": "что дают первые k фрагментов",
    "numbers": "числа",
    "recall": "полнота",
    "stages of the retrieval": "этапы поиска",
    "stage": "этап",
    "contexts": "фрагментов",
    "missed": "упущено",
    "each missed unit": "каждое упущенное предложение",
    "found only later": "найдено только позже",
    "held by": "было в",
    "rank": "место",
    "support precision": "точность",
    "lowest scores of each metric": "самые низкие значения каждой метрики",
    "user_input": "вопрос",
    "reference": "эталон",
    "response": "ответ",
}


def language_of(conventions: Iterable[str]) -> str:
    """Return the language that all these conventions have, else English."""
    languages = {get_convention(name).language for name in conventions}
    return languages.pop() if len(languages) == 1 else "en"


def say(text: str, language: str) -> str:
    """Return one of the library's own phrases in a language; a phrase without a translation stays English."""
    return _RUSSIAN.get(text, text) if language == "ru" else text


def count_of(hits: int, total: int, missing: int, counted: tuple[str, str], language: str) -> str:
    """Return ``2 of 3 sentences supported``, and how many are not judged."""
    noun, state = counted
    unjudged = say("not judged", language)
    if language == "ru":  # the count follows, so that no noun changes its ending with the number
        text = f"{say(f'{noun}s {state}', language)}: {hits} из {total}"
        return f"{text}, {unjudged}: {missing}" if missing else text
    text = f"{hits} of {plural(total, noun)} {state}"
    return f"{text}, {missing} {unjudged}" if missing else text


def plural(number: int, noun: str, verb: str = "", verbs: str = "", language: str = "en") -> str:
    """Return ``1 sample``, ``2 samples``; with a verb in both forms ``1 sample has``, ``2 samples have``."""
    if number == 1 and language == "en":
        return f"1 {noun} {verb}".rstrip()
    return f"{number} {say(f'{noun}s', language)} {verbs}".rstrip()


def number(value: float, convention: str, digits: int = 4, *, percent: bool = True) -> str:
    """Return a value as its convention writes it; rounding is for display only. Without ``percent``: 0.67 alone."""
    if get_convention(convention).percent:
        return f"{value:.2f} ({round(value, 2):.0%})" if percent else f"{value:.2f}"
    return f"{value:.{digits}f}"


def line(verdict: Verdict, *, color: bool = False, language: str = "en") -> str:
    """Return a verdict with its text and its evidence, or what is missing."""
    text = f"  {mark_of(verdict, color=color)} {clean(verdict.id, TEXT)}"
    if verdict.text != verdict.id:
        text += f" {clean(verdict.text, TEXT)}"
    why = why_of(verdict, language)
    return f"{text}\n      {why}" if why else text


def mark_of(verdict: Verdict, *, color: bool = False) -> str:
    """Return the mark of a verdict: a tick, a cross or a question mark; in parentheses where it does not count."""
    mark, shade = _MARKS[verdict.value]
    return ("{}" if verdict.weight else "({})").format(f"{shade}{mark}{_PLAIN}" if color else mark)


def sentence(verdict: Verdict, language: str) -> str:
    """Return a verdict in one line: its id, yes or no, its text and why."""
    state = say(_STATES[verdict.value], language)
    text = f'{clean(verdict.id, TEXT)} {state}: "{clean(verdict.text, _QUOTE)}"'
    why = why_of(verdict, language)
    return f"{text} - {why}" if why else text


def doubt(verdict: Verdict, language: str = "en") -> str:
    """Return in parentheses why a person should check a verdict's evidence; empty where nothing is wrong."""
    text = contradiction(verdict) or _DOUBTS.get(verdict.code or "", "")
    if "unrelated" in verdict.details.get("weak", ()):
        text = _UNRELATED
    return f" ({say(text, language)})" if text else ""


def contradiction(verdict: Verdict) -> str | None:
    """Return what the embedded judge found against its yes: ``uncertain: number: '2 years' against '1 year'``."""
    found = verdict.details.get("contradiction")
    if verdict.code != "uncertain" or not isinstance(found, Mapping):
        return None
    kind, unit, context = (
        clean(str(found.get(name) or ""), TEXT) for name in ("kind", "unit", "context")
    )
    return f"uncertain: {kind}: '{unit}'" + (f" against '{context}'" if context else "")


def doubts_of(counts: Mapping[str, int], language: str) -> str:
    """Return how many verdicts are doubtful, by code: ``doubtful: uncertain 1, weak_evidence 2``."""
    return f"{say('doubtful', language)}: {listed(counts)}"


def ranked_low(verdicts: Sequence[Verdict], language: str) -> str | None:
    """Return which useful contexts stand below useless ones; None where none does."""
    hits = [place for place, verdict in enumerate(verdicts) if verdict.value]
    above = [
        place
        for place, verdict in enumerate(verdicts)
        if verdict.value is False and hits and place < hits[-1]
    ]
    if not above:
        return None
    low = [verdicts[place].id for place in hits if place > above[0]]
    return f"{say('ranked low', language)}: {_some(low)} {say('below', language)} {_some([verdicts[place].id for place in above])}"


def is_expected(counted: tuple[str, str]) -> bool:
    """Return whether verdicts are about what is expected, and not about what was retrieved."""
    return counted[0] in _UNITS or counted[0].startswith("reference ")


def places_of(verdict: Verdict) -> list[str]:
    """Return the contexts of the evidence behind a verdict: ``c1``, ``c2`` .."""
    return [f"c{index + 1}" for index in dict.fromkeys(span.context for span in verdict.evidence)]


def why_missed(verdict: Verdict, counted: tuple[str, str], language: str) -> str:
    """Return in two or three words why a verdict is not a yes; empty for one that is.

    Args:
        verdict: The verdict.
        counted: What verdicts of its score are about, and what a yes means (`Score.counted`).
        language: Of the words.
    """
    parts = places_of(verdict)
    if verdict.value:
        return ""
    if verdict.value is None:
        text = "not judged"
    elif (known := _NOES.get(verdict.code or "")) is not None:
        text = known
    elif counted[0] not in _UNITS:
        text = "not retrieved" if is_expected(counted) else f"not {counted[1]}"
    elif parts:
        return f"{say('stated in part in', language)} {_some(parts)}"
    else:
        text = "stated nowhere"
    return say(text, language)


def _some(ids: Sequence[str]) -> str:
    shown = [clean(id_, _ID) for id_ in ids[:_MOST_IDS]]
    return ", ".join([*shown, "…"] if len(ids) > len(shown) else shown)


def listed(counts: Mapping[str, int]) -> str:
    """Return each code and how often it was counted, in the order of the codes."""
    return ", ".join(f"{code} {number}" for code, number in sorted(counts.items()))


def clean(text: str, longest: int) -> str:
    """Return one line that is safe in a terminal: the text is untrusted."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def why_of(verdict: Verdict, language: str) -> str:
    """Return the evidence of a verdict, or what is missing, in one line."""
    if not (verdict.evidence or verdict.code or verdict.reason):
        return ""
    spans = _spans(verdict, language)
    if verdict.value and spans and "missed" not in verdict.details:
        return spans + doubt(verdict, language)
    return "; ".join(filter(None, (verdict.code, clean(verdict.reason or "", _REASON), spans)))


def _spans(verdict: Verdict, language: str) -> str:
    shown = [_span(span, verdict, language) for span in verdict.evidence[:_MOST_SPANS]]
    more = len(verdict.evidence) - len(shown)
    return "; ".join([*shown, f"+{more} {say('more', language)}"] if more else shown)


def _span(span: Evidence, verdict: Verdict, language: str) -> str:
    part = "" if span.whole else f" ({say('part', language)})"
    where = f"c{span.context + 1} [{span.start}:{span.end}]{part}"
    if span.quote == verdict.text:
        return f"{where} {say('the whole text' if verdict.id.startswith('c') else 'word for word', language)}"
    return f'{where} "{clean(span.quote, _QUOTE)}"'
