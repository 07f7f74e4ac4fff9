"""The work that a text function does grows with its text, not with the text's square: counted, not timed.

``sys.setprofile`` sees no work inside C, so what is handed to the sentence splitter, whose time grows with the square of
what it gets, is counted apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
import sentencex

from ctxmetrics._internal.display import visible_on_page
from ctxmetrics._internal.secrets import masked
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.contradiction import contradiction
from ctxmetrics.judges.evidence.words import tokens
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.prompts import get_pack, render
from ctxmetrics.text import (
    detect_language,
    find_quote,
    has_content,
    normalise,
    sentence_spans,
    split_sentences,
    stands_in,
)

# For each script what makes its splitting slowest: short sentences, quotation marks that are never closed, no mark at all.
WORST = {
    "zh": "你好。我来了。",
    "zh, quotes": "「你。",
    "zh, no mark": "你好",
    "ja": "はい。いいえ。",
    "th": "ไป มา ",
    "ko": "네. 아니요. ",
    "ru": "Да. Нет. ",
    "ru, quotes": "«Да. ",
    "ar": "نعم. لا. ",
    "hi": "हाँ। नहीं। ",
    "el": "Ναι. Όχι. ",
    "en": "Go. I am. ",
    "en, quotes": "“Go. ",
    "en, lists": "\n- a. ",
    "en, no mark": "go on é ",
    "en, quotes, no mark": "“go on ",
    "spaces, no mark": "a  \u00a0\t",
}
BLOCK = 8_000


def handed_over(text: str, monkeypatch) -> list[int]:
    """The characters of each text that the splitter gets."""
    sizes: list[int] = []
    segment = sentencex.segment

    def counted(language: str, content: str) -> list[str]:
        sizes.append(len(content))
        return segment(language, content)

    monkeypatch.setattr(sentencex, "segment", counted)
    sentence_spans(text)
    return sizes


@pytest.mark.parametrize("script", WORST)
def test_the_splitter_gets_a_long_text_in_blocks(script, monkeypatch):
    text = WORST[script] * (100_000 // len(WORST[script]))
    sizes = handed_over(text, monkeypatch)
    if "no mark" in script or text.isascii():
        assert sum(sizes) <= 4 * len(text)  # one sentence: blocks are doubled until it ends,
        assert text.isascii() or max(sizes, default=0) <= 4 * BLOCK  # and no longer than that
    else:
        assert max(sizes, default=0) <= BLOCK
        assert sum(sizes) <= 2.2 * len(text)  # each character is read twice


@pytest.mark.parametrize("language", ["zh", "ja", "de", "ru", "fr"])
def test_blocks_cut_where_the_whole_text_is_cut(language):
    said = {
        "zh": "她说：“你好。我来了。”然后走了！天气好吗？",
        "ja": "「はい。行きます。」言った。いいえ。",
        "de": "Er sagte: „Nein. Nie!“ Am 3. Mai kam Dr. Groß z. B. nach Köln. Warum?",
        "ru": "Он сказал: «Да. Иду». В 1990 г. был г. Москва. Нет!",
        "fr": "Dupré dit : « Oui. Non. » Il part à 3,5 km. Où ?",
    }[language]
    text = " ".join(said for _ in range(2_000))
    whole, position, wanted = sentencex.segment(language, text[:30_000]), 0, []
    for piece in whole[:-3]:
        start = text.index(piece, position)
        position = start + len(piece)
        wanted.append(text[start:position].strip())
    assert list(split_sentences(text, language)[: len(wanted)]) == wanted


def events(call: Callable[[], object]) -> int:
    """Python functions and functions in C that a call enters."""
    counted = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return counted


def prompt_of(text: str) -> object:
    return render(get_pack("en"), "claims", {"text": text})


@pytest.mark.parametrize("script", WORST)
@pytest.mark.parametrize(
    "function",
    [
        sentence_spans,
        split_sentences,
        normalise,
        detect_language,
        has_content,
        find_quote,
        stands_in,
        tokens,
        masked,
        visible_on_page,
        prompt_of,
    ],
)
def test_calls_grow_with_the_text(function, script):
    def work(characters: int) -> int:
        text = WORST[script] * (characters // len(WORST[script]))
        if function in {find_quote, stands_in}:
            return events(lambda: function("a quote of words that stand nowhere", text))
        return events(lambda: function(text))

    small, large = work(20_000), work(40_000)
    assert large <= 2.3 * small + 50


def test_the_calls_of_usefulness_grow_with_the_contexts():
    def work(count: int) -> int:
        contexts = tuple(f"Pump {number} has three red valves." for number in range(count))
        request = JudgeRequest(units=(), contexts=contexts, answer="The pump has three red valves.")
        return events(lambda: LexicalJudge().usefulness(request))

    work(10)
    small, large = work(100), work(200)
    assert large <= 2.3 * small


def test_the_calls_of_the_contradiction_check_grow_with_the_unit():
    def work(count: int) -> int:
        return events(lambda: contradiction("not pump " * count, ["not pump " * 50], "en"))

    work(10)
    small, large = work(200), work(400)
    assert large <= 2.3 * small
