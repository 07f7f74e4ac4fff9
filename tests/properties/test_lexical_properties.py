"""The embedded judge on any text: it never raises, answers for every unit and context, and its spans are real."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import tokenize
from ctxmetrics.judges.lexical import LexicalJudge, index
from ctxmetrics.text.character_spans import has_content
from ctxmetrics.text.visible import see

SCRIPTS = (
    "abc xyz ABC ",
    "The it is 1,000 2.1 million twenty-one 1990s 1st 12.05.2020 don't Paris. ",
    "12 May 2024 6 pm 18:00 3:1 ½ 10^6 km €5 -5 1/0 to x 1.200 million 99999999999999999999999 ",
    "àéß\u0301\u0308\u00ad\u200d'’- ",
    "абвйё 2,1 млн 20-х ",
    "北京水，。 東京タワー ",
    "กรุงเทพ ั็ ",
    "दिल्ली है। १९ ",
    "\n\t\r\x0b\u2028- * • 1. 2) ...!?\u3000",
    "\ud800\udfff😀👍🏽\U000e0100",
)
LETTERS = st.one_of(
    *(st.sampled_from(script) for script in SCRIPTS), st.characters(exclude_categories=())
)
PIECES = st.sampled_from(
    [piece for script in SCRIPTS for piece in script.split(" ")] + [" ", ". ", "\n- "]
)
TEXTS = st.one_of(st.text(LETTERS, max_size=40), st.lists(PIECES, max_size=25).map(" ".join))
LANGUAGES = st.sampled_from(("en", "ru", "de", "zh", "th", "hi", "xx", "", "en-GB"))
REQUESTS = st.builds(
    JudgeRequest,
    units=st.lists(TEXTS, max_size=4).map(tuple),
    contexts=st.lists(TEXTS, max_size=4).map(tuple),
    answer=TEXTS,
    language=LANGUAGES,
)
JUDGES = st.builds(
    LexicalJudge,
    max_sentences=st.integers(1, 5),
    min_coverage=st.floats(0, 1),
    number_weight=st.floats(0, 1),
    name_weight=st.floats(0, 1),
    min_share=st.floats(0, 1),
    min_relative=st.floats(0, 1),
    search_weight=st.floats(0, 0.2),
    contradiction=st.sampled_from(("flag", "no")),
)


def check_spans(request, verdicts):
    for verdict in verdicts:
        for span in verdict.evidence:
            assert 0 <= span.start < span.end <= len(request.contexts[span.context])
            assert request.contexts[span.context][span.start : span.end] == span.quote
        for spot in verdict.details.get("nearest", ()):
            assert 0 <= spot["start"] < spot["end"] <= len(request.contexts[spot["context"]])


@given(REQUESTS, JUDGES)
@example(JudgeRequest(units=("0  ¼",), contexts=(), answer=""), LexicalJudge())
def test_support_of_any_text(request, judge):
    verdicts = judge.support(request)
    assert tuple(verdict.id for verdict in verdicts) == request.unit_ids
    assert tuple(verdict.text for verdict in verdicts) == request.units
    check_spans(request, verdicts)
    for verdict, unit in zip(verdicts, request.units, strict=True):
        details = verdict.details
        assert 0 <= details["coverage"] <= 1
        if verdict.value and any(has_content(word) for word in details["missing_words"]):
            assert details["coverage"] < 1
        most = max(judge.max_sentences, len(list(index.sentences(unit))))
        assert max(Counter(span.context for span in verdict.evidence).values(), default=0) <= most
        assert verdict.value is bool(verdict.evidence)
        assert (
            details["uncertain"]
            is (verdict.code == "uncertain")
            is (verdict.value and details["contradiction"] is not None)
        )
        visible = " ".join(see(unit).text.split())  # white space in a quantity is one blank
        for missing in ("missing_words", "missing_numbers", "missing_names"):
            assert all(word in visible for word in details[missing])


@given(REQUESTS, JUDGES)
def test_usefulness_for_any_text(request, judge):
    verdicts = judge.usefulness(request)
    assert tuple(verdict.id for verdict in verdicts) == request.context_ids
    assert tuple(verdict.text for verdict in verdicts) == request.contexts
    check_spans(request, verdicts)
    for number, verdict in enumerate(verdicts):
        assert 0 <= verdict.details["share"] <= 1
        assert 0 <= verdict.details["relative"] <= 1
        assert verdict.value is bool(verdict.evidence)
        assert {span.context for span in verdict.evidence} <= {number}
        assert len(verdict.evidence) <= judge.max_sentences


@given(REQUESTS)
def test_result_is_independent_of_memory_and_index(request):
    judge = LexicalJudge()
    first = judge.support(request), judge.usefulness(request)
    assert (judge.support(request), judge.usefulness(request)) == first
    index.memory.clear()
    assert (judge.support(request), judge.usefulness(request)) == first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "MAX_INDEXED", 0)
        assert (judge.support(request), judge.usefulness(request)) == first


PLAIN = st.lists(
    st.sampled_from(
        [
            "it",
            "is",
            "the",
            "Paris",
            "tower",
            "1,000",
            "2.1",
            "million",
            "May",
            "Жара",
            "годов",
            "北京",
            "ไทย",
            "दिल्ली",
            "x",
        ]
    ),
    min_size=1,
    max_size=12,
).map(" ".join)


@given(PLAIN, st.lists(TEXTS, max_size=3), LANGUAGES)
@example("it", [], "en")
def test_a_copy_supports_and_is_useful(unit, others, language):
    contexts = (*others, unit)
    request = JudgeRequest(units=(unit,), contexts=contexts, answer=unit, language=language)
    (verdict,) = LexicalJudge().support(request)
    assert verdict.value is True
    assert verdict.details["coverage"] == 1.0
    assert LexicalJudge().usefulness(request)[-1].details["share"] > 0


@given(st.lists(TEXTS, max_size=3), TEXTS.filter(has_content))
def test_nothing_in_common_is_neither_support_nor_use(contexts, unit):
    known = {token.key for context in contexts for token in tokenize(context)}
    if known.isdisjoint(token.key for token in tokenize(unit)):
        request = JudgeRequest(units=(unit,), contexts=tuple(contexts), answer=unit)
        assert LexicalJudge().support(request)[0].value is False or any(
            unit.strip() in text for text in contexts
        )


@given(TEXTS)
@example("0 TO  0")
@example("from 11:00  to 18:00, 0  %")
def test_words_are_pieces_of_the_text_in_order(text):
    plain = " ".join(text.replace("’", "'").replace("‘", "'").split())
    position = 0
    for token in tokenize(text):
        start = plain.index(token.spelling, position)
        assert token.key
        position = start if token.kind == "characters" else start + len(token.spelling)


@given(st.text(LETTERS, max_size=60), st.integers(1, 12))
def test_sentences_are_short_and_in_order(text, sentence):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "MAX_SENTENCE", sentence)
        position = 0
        for start, end in index.sentences(text):
            assert position <= start <= end <= len(text)
            assert end - start <= sentence
            position = end
