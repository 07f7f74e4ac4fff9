"""The work that a text function does grows with its text, not with the text's square: counted, not timed.

A profile sees no work inside C. So what is handed to the sentence splitter, whose time grows with the square of what
it gets, is counted apart, and so are the characters that patterns are given to read. ``benchmarks/run.py text_growth`` measures
the time.
"""

from __future__ import annotations

import cProfile
import gc
import random
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import sentencex

from ctxmetrics._internal.display import replace_invisible_on_page
from ctxmetrics._internal.secrets import mask_secrets
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.contradiction import find_contradiction
from ctxmetrics.judges.evidence.words import tokenize
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.prompts import get_pack, render
from ctxmetrics.samples.refusals import LONGEST, find_refusal
from ctxmetrics.text import sentences, visible
from ctxmetrics.text.character_spans import Span, has_content
from ctxmetrics.text.languages import detect_language
from ctxmetrics.text.markup import layout
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.quote_search import find_quote, stands_in
from ctxmetrics.text.sentences import sentence_spans, split_sentences
from ctxmetrics.text.visible import see
from support.cases import each_case

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
    "marks": "10. ",
    "bibliography": "vol. 3. no. 14. ",
    "references": "Meyer K. Valves of pumps. J. Pumps. 1994. vol. 7. ",
    "abbreviations": "ca. bzw. e.g. Dr. ",
    "dates": "am 3. Mai ",
    "dates in digits": "5. 3. 2020 ",
    "begins with a digit": "7 go. ",
    "heads": "Step 4. Go. 1.1. Stop. ",
    "quotations": "“Go.” he said. ",
    "straight quotations": '"Go. ',
    "markup": "<b>Go.</b> `I` **am**. ",
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
    text = WORST[script] * (50_000 // len(WORST[script]))
    sizes = handed_over(text, monkeypatch)
    if "no mark" in script:
        assert sum(sizes) <= 4 * len(text)  # one sentence: blocks are doubled until it ends,
        assert max(sizes, default=0) <= 4 * BLOCK  # and no longer than that
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


class CountedPattern:
    """A pattern that counts the characters that it is given to read."""

    def __init__(self, pattern: re.Pattern[str], sizes: list[int]) -> None:
        self._pattern = pattern
        self._sizes = sizes

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._pattern, name)

        def call(*arguments: Any) -> object:
            text = arguments[1] if name == "sub" else arguments[0]
            start, stop = 0, len(text)
            if name != "sub" and len(arguments) > 1:
                start = arguments[1]
                stop = arguments[2] if len(arguments) > 2 else stop
            result = method(*arguments)
            if name == "match":  # it reads what it matches
                stop = result.end() if result else start + 1
            self._sizes.append(stop - start)
            return result

        return call


def count_characters_read(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the characters that the patterns of the splitter are given, to find the sentences of a text."""
    sizes: list[int] = []
    for name, pattern in list(vars(sentences).items()):
        if isinstance(pattern, re.Pattern):
            monkeypatch.setattr(sentences, name, CountedPattern(pattern, sizes))
    sentence_spans(text)
    monkeypatch.undo()
    return sum(sizes)


@pytest.mark.parametrize("script", WORST)
def test_patterns_of_the_splitter_read_a_text_once(script, monkeypatch):
    def work(characters: int) -> int:
        text = WORST[script] * (characters // len(WORST[script]))
        return count_characters_read(text, monkeypatch)

    small, large = work(10_000), work(20_000)
    assert large <= 2.3 * small


def test_words_that_no_line_cuts_are_looked_for_once(monkeypatch):
    """Also where a text has none: each cut word then looked for them again."""
    sizes: list[int] = []
    monkeypatch.setattr(layout, "_UNCUT_WORD", CountedPattern(layout._UNCUT_WORD, sizes))
    text = "pump-\n" * 50
    assert see(text).text == "pump" * 50 + "-\n"
    assert sizes == [len(text)]


@pytest.mark.parametrize("kind", ["vol. {}. no. {}.", "am {}. Mai am {}. Mai"])
def test_a_row_of_abbreviations_is_no_sentence(kind):
    source = random.Random(3)
    text = " ".join(kind.format(source.randint(1, 99), source.randint(1, 12)) for _ in range(800))
    assert max(map(len, split_sentences(text))) <= 200


def events(call: Callable[[], object]) -> int:
    """Python functions and functions in C that a call enters."""
    for remembered in (visible._read, visible._read_long):  # what another test has read
        remembered.cache_clear()
    profile = cProfile.Profile(subcalls=False)
    profile.runcall(call)
    return sum(entry.callcount for entry in profile.getstats())


def prompt_of(text: str) -> object:
    return render(get_pack("en"), "claims", {"text": text})


@pytest.mark.slow
@each_case("script", WORST)
@each_case(
    "function",
    [
        split_sentences,  # `sentence_spans` with the pieces
        normalise,
        detect_language,
        has_content,
        find_quote,
        stands_in,
        tokenize,
        mask_secrets,
        replace_invisible_on_page,
        prompt_of,
        see,
    ],
)
def test_calls_grow_with_the_text(function, script):
    def work(characters: int) -> int:
        text = WORST[script] * (characters // len(WORST[script]))
        if function in {find_quote, stands_in}:
            return events(lambda: function("a quote of words that stand nowhere", text))
        return events(lambda: function(text))

    small, large = work(10_000), work(20_000)
    assert large <= 2.3 * small + 50


def test_the_calls_of_usefulness_grow_with_the_contexts():
    def work(count: int, colour: str) -> int:
        contexts = tuple(f"Pump {number} has three {colour} valves." for number in range(count))
        request = JudgeRequest(units=(), contexts=contexts, answer="The pump has three red valves.")
        return events(lambda: LexicalJudge().usefulness(request))

    work(200, "green")  # each number is read once and remembered
    small, large = work(100, "red"), work(200, "red")
    assert large <= 2.3 * small


def test_the_calls_of_the_contradiction_check_grow_with_the_unit():
    def work(count: int) -> int:
        return events(lambda: find_contradiction("not pump " * count, ["not pump " * 50], "en"))

    work(10)
    small, large = work(200), work(400)
    assert large <= 2.3 * small


@pytest.mark.parametrize(
    "words", ["not the text ", "no information about ", "нет ответа ", "没有信息", "文中にない", "ไม่มี"]
)
def test_the_calls_of_a_refusal_grow_with_the_text(words):
    def work(characters: int) -> int:
        return events(lambda: find_refusal(words * (characters // len(words))))

    work(10)
    small, large = work(LONGEST // 2), work(LONGEST)
    assert large <= 2.3 * small + 50
    assert work(1_000_000) < 20


# Marks that open, close or seem to, over and over: what makes a search for their ends slow.
MARKS = [
    "<", "<a ", "<b>", "</b>", "<a href='", "<!--", "<script>", "<sup>1", "<b><i>x</i>", "<p>x", "<x>y</x>", "<td>x</td>",
    "&", "&amp;", "&amp;amp;", "*", "**", "**a", "*a* ", "_a_ ", "_", "__", "~~", "~~a", "''a", "==", "= =\n", "`", "``a`", "`a` ",
    "```\n", "[", "]", "[[", "[a](", "[a](b)", '[a](b "', "[a][1] ", "[http://a ", "[b]", "[b]x[/b]", "[[a|", "a[1]", "a [1]",
    "[1][2]", "[1]–", "a [1], [2] ", "|a|b|\n", "-\r\n", "\r", "【", "$", "$$", "$x_1$ ", "\\(", "\\(x^2\\) ", "\\[", "\\textbf{", "\\frac{", "\\frac{a}{b}", "{", "}", "\\", "\\\\",
    "\\n", "\\u00e9", "\\*", "C_2", "H_{", "(_", "((", "|", "| a ", "| a | b |\n", "|-", "|-|\n", " |", "|\n", "# ", "#\n", "# a #\n",
    "> ", "> a\n", ">\n", "\n", "\f", "\n1\n", "\n- 1 -\n", "\nPage 1\n", "a\n1\nb", "a-\n", "a-\nb ", "-\n", "\u00ad", "\u200b", "a\u200b",
    "¹", "word¹ ", "₂", " ", "\t|", "@@A", "<<<em>>>", "- ", "-" * 30 + "\n",
    "~~a~~ ", "~~a **b** ", "<del>", "<del>x</del>", "<del><del>x</del>", "<div hidden>", "<div hidden><div></div>", "<p hidden>x</p>",
    "<![CDATA[", "<![CDATA[x]]>", "]]>", "<https://a|", "<https://a|b> ", "<#C1234567|", "H~2~O ", "~2~", "x^2^ ", "^2^", "word^[a b] ", "^[",
    "link:a[b c] ", "link:a", "https://a[b c] ", "[a|https://b] ", "[a|", "caf\\'e ", "\\'", "\\c{c}", "\\begin{tabular}{l}", "\\begin{tabular}{l}a&b\\\\\\end{tabular}",
    "\\multicolumn{2}{c}{a}", "\\multicolumn{2}", "{\\bf a} ", "{\\bf ", "\\sout{a} ", '"a":http://b ', '"a', '":http://', "h3. a\n", "{color:red}a{color} ",
    "|===\n|a\n", '| a="b" | c\n', '|a="b"', "5--10 ", "--", "{{lang|fr|a}} ", "{{nbsp}}", "[//]: # (a)\n", "{ref}`a <b>` ", ":a:`b`\\ ", "[[https://a][b]] ", "[[https://a][",
    "\x1b]8;;", "\x1b]8;;a\x1b\\", "[s]a[/s]", "[s]", "[a]{.b} ", "{.b}", "# a {#b}\n", "a [1]_ ", '<x style="', "<x/>", "\n{3}-----\n",
]  # fmt: skip


@pytest.mark.slow
@each_case("mark", MARKS)
@each_case("end", ["", "z", "</script>-->)]}*`_$|"])
def test_calls_to_see_grow_with_the_marks(mark, end):
    def work(characters: int) -> int:
        text = "a" + mark * (characters // len(mark)) + end
        return events(lambda: see(text))

    work(100)
    small, large = work(2_000), work(4_000)
    assert large <= 2.3 * small + 50


@pytest.fixture
def no_collection():
    """Stop the garbage collector, which takes a second in a process that holds all frameworks."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow
@each_case("mark", MARKS)
@each_case("end", ["", "z"])
def test_seeing_long_marks_takes_no_seconds(mark, end, no_collection):
    """The time inside C, which no count of calls shows, beside what the same machine needs to count to a million.

    30,000 characters take up to 8 times as long; with a square in it they take hundreds of times as long.
    """
    text = "a" + mark * (30_000 // len(mark)) + end

    def seconds(call: Callable[[], object]) -> float:
        before = time.thread_time()
        call()
        return time.thread_time() - before

    def read() -> None:
        view = see(text)
        view.to_source(Span(0, len(view.text)))

    # Another process may slow one try, or two.
    assert any(seconds(read) < 50 * seconds(lambda: sum(range(1_000_000))) for _ in range(3))


def test_the_contradiction_check_grows_with_unit_and_evidence():
    def work(count: int) -> int:
        text = "It is not a pump. " * count
        return events(lambda: find_contradiction(text, [text + "The pump is no valve."], "en"))

    work(10)
    small, large = work(100), work(200)
    assert large <= 2.3 * small
