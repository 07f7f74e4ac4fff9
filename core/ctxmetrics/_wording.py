"""The words around a number, in the language of its convention, and how a number is written there."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ctxmetrics.conventions import get_convention

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RUSSIAN: Mapping[str, str] = MappingProxyType(
    {
        "pass mark": "порог",
        "passed": "пройден",
        "failed": "не пройден",
        "no value": "нет значения",
        "not judged": "не оценено",
        "yes": "да",
        "no": "нет",
        "the whole text": "весь текст",
        "word for word": "дословно",
        "no word in common with the evidence: look at it": "с подтверждением нет общих слов: проверьте",
        "sentences supported": "подтверждено предложений",
        "claims supported": "подтверждено утверждений",
        "reference contexts found": "найдено эталонных фрагментов",
        "reference ids retrieved": "найдено эталонных идентификаторов",
        "retrieved ids relevant": "релевантных идентификаторов среди найденных",
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
        "cut here": "обрезано",
        "user_input": "вопрос",
        "reference": "эталон",
        "response": "ответ",
    }
)


def language_of(conventions: Iterable[str]) -> str:
    """Return the language that all these conventions have, else English."""
    languages = {get_convention(name).language for name in conventions}
    return languages.pop() if len(languages) == 1 else "en"


def say(text: str, language: str) -> str:
    """Return one of the library's own phrases in a language."""
    return _RUSSIAN[text] if language == "ru" else text


def count_of(hits: int, total: int, noun: str, state: str, language: str) -> str:
    """Return ``2 of 3 sentences supported``."""
    if language == "ru":  # the count follows, so that no noun changes its ending with the number
        return f"{say(f'{noun}s {state}', language)}: {hits} из {total}"
    return f"{hits} of {total} {noun}{'' if total == 1 else 's'} {state}"


def number(value: float, convention: str, digits: int = 4) -> str:
    """Return a value as its convention writes it; rounding is for display only."""
    if get_convention(convention).percent:
        return f"{value:.2f} ({round(value, 2):.0%})"
    return f"{value:.{digits}f}"
