"""The embedded judge. Expected values are counted by hand; the counting is in the comment above each."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import sys
import threading
from dataclasses import replace
from math import log, log2
from pathlib import Path

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, Sample, evaluate
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.cli._run import build_judge
from ctxmetrics.judges.base import DecomposingJudge, Judge, JudgeRequest
from ctxmetrics.judges.evidence.words import get_word_list, tokenize
from ctxmetrics.judges.lexical import LABEL, LexicalJudge, index
from ctxmetrics.judges.lexical.index import MAX_SENTENCE
from ctxmetrics.judges.lexical.judge import find_keys
from ctxmetrics.judges.lexical.phrase import ParsedText
from ctxmetrics.text.sentences import split_sentences


def ask(units, contexts, *, answer=None, language="en"):
    units = (units,) if isinstance(units, str) else tuple(units)
    return JudgeRequest(
        units=units,
        contexts=tuple(contexts),
        answer=" ".join(units) if answer is None else answer,
        language=language,
    )


COUNTS = LexicalJudge(min_coverage=0.625, search_weight=0.0)
"""Counts words, and takes nothing off for searching."""


def support(unit, *contexts, language="en", judge=COUNTS):
    (verdict,) = judge.support(ask(unit, contexts, language=language))
    return verdict


def useful(answer, *contexts, language="en", judge=None):
    return (judge or LexicalJudge()).usefulness(ask((), contexts, answer=answer, language=language))


def quotes(verdict):
    return [span.quote for span in verdict.evidence]


# --- the judge as an object -----------------------------------------------------------------------------------


def test_is_a_judge_that_cannot_decompose():
    judge = LexicalJudge()
    assert isinstance(judge, Judge)
    assert not isinstance(judge, DecomposingJudge)


def test_name_shows_what_differs_from_the_default():
    assert LexicalJudge().name == "lexical"
    assert (
        LexicalJudge(max_sentences=2, min_share=0.2).name == "lexical(max_sentences=2, min_share=0.2)"
    )


def test_its_label_is_one_short_line_with_a_link():
    assert LexicalJudge().warnings == (LABEL,)
    assert len(LABEL) <= 120
    assert "\n" not in LABEL
    page, anchor = LABEL.split()[-1].split("#")
    headings = (Path(__file__).parents[4] / page).read_text(encoding="utf-8").lower().replace(" ", "-")
    assert f"#-{anchor}\n" in headings


def test_is_a_value():
    judge = LexicalJudge(min_coverage=0.7)
    assert judge == LexicalJudge(min_coverage=0.7) != LexicalJudge()
    assert pickle.loads(pickle.dumps(judge)) == copy.deepcopy(judge) == judge  # noqa: S301 - our own bytes
    assert hash(judge) == hash(LexicalJudge(min_coverage=0.7))


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_sentences": 0},
        {"max_sentences": 1.5},
        {"max_sentences": True},
        {"min_coverage": -0.1},
        {"min_share": 1.1},
        {"name_weight": float("nan")},
        {"min_relative": "0.4"},
        {"search_weight": 2},
        {"contradiction": "maybe"},
    ],
)
def test_refuses_parameters_out_of_range(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        LexicalJudge(**wrong)


@pytest.mark.parametrize(
    ("text", "judge"),
    [
        ("lexical", LexicalJudge()),
        ("lexical:min_coverage=.5", LexicalJudge(min_coverage=0.5)),
        ("lexical:min_coverage=.7,max_sentences=2", LexicalJudge(min_coverage=0.7, max_sentences=2)),
    ],
)
def test_the_option_for_the_judge_takes_its_parameters(text, judge):
    assert build_judge(text, None) == judge


@pytest.mark.parametrize(
    "text", ["lexical:bar=.5", "lexical:min_coverage=half", "lexical:min_coverage=2", "lexical:.5"]
)
def test_a_parameter_that_is_none_is_refused_with_the_names(text):
    with pytest.raises(ParameterError, match="min_coverage"):
        build_judge(text, None)


# --- support: coverage ----------------------------------------------------------------------------------------


def test_all_words_in_one_sentence():
    # capital, France, Paris: 3 of 3
    context = "Intro. Paris is the capital and largest city of France. More."
    verdict = support("Paris is the capital of France.", context)
    assert verdict.value is True
    assert verdict.details["score"] == verdict.details["coverage"] == 1.0
    assert quotes(verdict) == ["Paris is the capital and largest city of France."]
    (span,) = verdict.evidence
    assert (span.context, span.start) == (0, 7)
    assert "nearest" not in verdict.details


def test_words_of_several_sentences():
    # Python, created, Guido, van, Rossum | 1991: 6 of 6
    context = (
        "Python is a programming language created by Guido van Rossum. It was first released in 1991."
    )
    unit = "Python was created by Guido van Rossum in 1991."
    verdict = support(unit, context)
    assert (verdict.value, verdict.details["score"]) == (True, 1.0)
    assert " ".join(quotes(verdict)) == context
    # with one sentence: 5 of 6, and 1991 is missing from it but not from the contexts: no penalty
    one = support(unit, context, judge=replace(COUNTS, max_sentences=1))
    assert (one.value, one.details["score"]) == (True, 5 / 6)
    assert one.details["missing_words"] == ("1991",)
    assert one.details["missing_numbers"] == ()


@pytest.mark.parametrize(
    ("n", "score"),
    [
        (1, 1.0),  # 4 of 4 words in one sentence of one; eight are searched at no price
        (8, 1.0),
        (16, 1 - 0.175 * 1 / 4),  # log2(16 / 8) is 1
        (1024, 1 - 0.175 * 7 / 4),
    ],
)
def test_a_search_among_more_sentences_takes_off_more(n, score):
    text = "Alpha beta gamma delta. " + "Nothing is here. " * (n - 1)
    verdict = support("alpha beta gamma delta", text, judge=LexicalJudge())
    assert verdict.details["score"] == pytest.approx(score)
    assert verdict.details["coverage"] == 1.0


def test_sentence_with_every_word_supports_in_any_long_context():
    text = "Nothing is here. " * 5000 + "It is Paris."
    verdict = support(
        "Paris.", text, judge=LexicalJudge()
    )  # 0.175 x log2(5001 / 8) is 1.63, of which 0.35 counts
    assert (verdict.value, verdict.details["score"]) == (True, pytest.approx(0.65))


def test_each_sentence_is_a_choice_of_its_own():
    # 2 of 4 words in each of two sentences of 16: 1 - 2 x 0.175 x log2(16 / 8) / 4; one alone: 2/4 - 0.04
    text = "Alpha beta box. " + "Nothing is here. " * 14 + "Gamma delta yard."
    verdict = support("alpha beta gamma delta", text, judge=LexicalJudge())
    assert (verdict.value, verdict.details["score"]) == (True, pytest.approx(0.9125))


@pytest.mark.parametrize(
    ("n", "sentences"),
    [(64, 2), (1024, 1)],  # 0.175 x log2(64 / 8) is 0.525 words, 0.175 x log2(1024 / 8) 1.225
)
@pytest.mark.parametrize("size", [8, 20])
def test_sentence_with_one_more_word_pays_below_its_price(size, n, sentences):
    words = [f"w{chr(97 + number)}x" for number in range(size)]
    text = f"{' '.join(words[:-1])} yard. {words[-1]} box. {'Nothing is here. ' * (n - 2)}"
    assert len(quotes(support(" ".join(words), text, judge=LexicalJudge()))) == sentences


def test_contexts_are_searched_together_only_up_to_the_rank():
    # two words of four in the first two contexts of one sentence each; many sentences below them change nothing
    contexts = ["Alpha beta box.", "Gamma delta yard.", "Nothing is here. " * 4000]
    verdict = support("alpha beta gamma delta", *contexts, judge=LexicalJudge())
    assert verdict.details["score"] == 1.0  # two sentences of two
    assert verdict.details["smallest_k"] == 2
    last = support("alpha beta gamma delta", *contexts[::-1], judge=LexicalJudge())
    assert last.value is False  # 0.175 x log2(4002 / 8) / 4 is 0.39, of which 0.35 counts: 1 - 2 x 0.35


def test_at_most_three_sentences():
    # each context has one of the five words: 3 of 5; with four sentences 4 of 5
    contexts = [f"{word} xx." for word in ("alpha", "beta", "gamma", "delta", "epsilon")]
    unit = "alpha beta gamma delta epsilon"
    three, four = (
        support(unit, *contexts),
        support(unit, *contexts, judge=replace(COUNTS, max_sentences=4)),
    )
    assert (three.value, three.details["score"]) == (False, 0.6)
    assert three.details["missing_words"] == ("delta", "epsilon")
    assert [spot["context"] for spot in three.details["nearest"]] == [0, 1, 2]
    assert (four.value, four.details["score"]) == (True, 0.8)


def test_a_unit_of_many_sentences_may_rest_on_as_many():
    unit = "Alpha one. Beta two. Gamma three. Delta four. Epsilon five."
    verdict = support(unit, unit)
    assert (verdict.value, verdict.details["score"], len(verdict.evidence)) == (True, 1.0, 5)
    # its five sentences count as one choice, its words are nine, without "one": 1 - 0.175 x log2(20 / 8) / 9
    long = support(unit, f"{unit} {'Nothing is here. ' * 15}", judge=LexicalJudge())
    assert long.details["score"] == pytest.approx(1 - 0.175 * log2(20 / 8) / 9)


def test_best_sentence_is_chosen_first_then_the_earlier():
    verdict = support(
        "alpha beta gamma delta epsilon",
        "Alpha beta x.",
        "Gamma delta box. Alpha gamma delta. Alpha gamma delta y.",
        "Epsilon.",
    )
    # 4 of 5 are enough: the last context is not needed
    assert quotes(verdict) == ["Alpha gamma delta.", "Alpha beta x."]
    assert [span.context for span in verdict.evidence] == [1, 0]


def test_passages_about_something_else_support_nothing():
    # the five words of the unit stand in the passages, one a passage, again and again: 3 of 5
    passages = [
        f"Some {word} lies on the table." for word in ("apple", "bread", "cheese", "dates", "eggs")
    ]
    unit = "apple bread cheese dates eggs"
    judge = LexicalJudge()
    assert [support(unit, *passages * n, judge=judge).value for n in (1, 20)] == [False, False]
    assert support(unit, " ".join(passages * 20), judge=judge).details["score"] < 3 / 5


@pytest.mark.parametrize(("found", "value"), [(5, True), (4, False)])
def test_the_bar_is_five_of_eight(found, value):
    eight = ["apple", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey"]
    verdict = support(" ".join(eight), " ".join(eight[:found]))
    assert verdict.details["score"] == found / 8
    assert verdict.value is value


def test_a_no_carries_no_evidence_but_the_nearest_sentences():
    context = "Nothing here. The bridge is 121 metres long and 9 metres wide."
    verdict = support("The bridge is 120 metres long.", context)
    assert verdict.evidence == ()
    (spot,) = verdict.details["nearest"]
    assert context[spot["start"] : spot["end"]] == "The bridge is 121 metres long and 9 metres wide."


def test_no_contexts_and_empty_contexts():
    for contexts in ((), ("",), ("", "  \n", "***")):
        verdict = support("Paris is the capital of France.", *contexts)
        assert (verdict.value, verdict.details["score"], verdict.details["nearest"]) == (
            False,
            0.0 - 0.5,
            (),
        )


# --- support: numbers and names -------------------------------------------------------------------------------


def test_a_changed_number_is_a_no():
    # bridge, 120 metres (which counts as two words), long: 2 of 4, one number missing: 0.5 - 0.5
    context = "The bridge is 120 metres long and 9 metres wide."
    assert support("The bridge is 120 metres long.", context).value is True
    verdict = support("The bridge is 121 metres long.", context)
    assert (verdict.value, verdict.details["score"]) == (False, 0.0)
    assert verdict.details["missing_numbers"] == ("121 metres",)
    assert verdict.details["missing_words"] == ()
    assert verdict.reason == "2 of 4 words found; missing numbers: 121 metres"


def test_any_missing_number_costs_the_same():
    # built, 1901, 1902, 1903, hill, river, stone, brick: 6 of 8 and 5 of 8; penalty 0.5 both times
    context = "built 1901 hill river stone brick"
    assert (
        support("built 1901 1902 hill river stone brick oak", context).details["score"] == 6 / 8 - 0.5
    )
    assert (
        support("built 1901 1902 1903 hill river stone brick", context).details["score"] == 6 / 8 - 0.5
    )


def test_a_number_must_stand_in_a_context_of_the_evidence():
    # coverage of one sentence: 3 of 4; 120 stands in the same context: no penalty
    unit, judge = "The bridge has 120 long arches.", replace(COUNTS, max_sentences=1)
    same = support(unit, "The bridge is long and has arches. He is 120.", judge=judge)
    assert (same.value, same.details["score"]) == (True, 0.75)
    # in another one: 3 of 4 - 0.5, or 4 of 4 with the sentence that has it
    contexts = ("The bridge is long and has arches.", "He is 120.")
    other = support(unit, *contexts, judge=judge)
    assert (other.value, other.details["score"]) == (False, 0.25)
    assert other.details["missing_numbers"] == ("120",)
    both = support(unit, *contexts, judge=COUNTS)
    assert (both.value, both.details["score"], both.details["smallest_k"]) == (True, 1.0, 2)


def test_a_name_must_stand_in_a_context_of_the_evidence():
    # novel, written, Marlow: 2 of 3 in one sentence; Marlow stands in the same context: no penalty
    unit, judge = "The novel was written by Marlow.", replace(COUNTS, max_sentences=1)
    same = support(unit, "A novel, written. Marlow.", judge=judge)
    assert (same.value, same.details["score"]) == (True, 2 / 3)
    # in another one: 2 of 3 - 0.5, and 1 of 3 there
    other = support(unit, "A novel, written.", "Marlow.", judge=judge)
    assert (other.value, other.details["score"]) == (False, 1 / 3)
    assert support(unit, "A novel, written.", "Marlow.", judge=COUNTS).value is True


def test_a_swapped_name_is_a_no():
    # novel, written, Jane, Marlow: 2 of 4, both names missing: 0.5 - 0.5
    context = "The novel was written by Emily Hart in Leeds."
    assert support("The novel was written by Emily Hart.", context).value is True
    verdict = support("The novel was written by Jane Marlow.", context)
    assert (verdict.value, verdict.details["score"]) == (False, 0.0)
    assert verdict.details["missing_names"] == ("Jane", "Marlow")
    # one of two: 3 of 4 - 0.25
    half = support("The novel was written by Emily Marlow.", context)
    assert (half.value, half.details["score"], half.details["missing_names"]) == (
        False,
        0.5,
        ("Marlow",),
    )


def test_weights_are_parameters():
    judge = replace(COUNTS, number_weight=0.1, name_weight=0.2)
    assert support("Look, Jane has 121 apples", "look at the apples", judge=judge).details[
        "score"
    ] == pytest.approx(2 / 4 - 0.1 - 0.2)


@pytest.mark.parametrize(
    ("text", "language", "names"),
    [
        (
            "Marlow met Hart. Then Bell came.",
            "en",
            {"hart", "bell"},
        ),  # Then begins a sentence; Marlow too
        ("Dr. Hart met Mr. Bell.", "en", {"hart", "mr", "bell"}),  # an abbreviation ends no sentence
        ("She told us that the US and the WHO agree.", "en", {"us", "who"}),
        ("It may rain in May.", "en", set()),  # spelled as a stop word
        ("THE TOWER IS IN PARIS", "en", set()),  # capitals say nothing here
        ("John F. of vitamin C", "en", set()),  # one letter is no name
        ("Der Turm steht in Paris", "de", set()),  # every German noun is capitalised
        ("Башня стоит в Париже", "ru", {"париж"}),
    ],
)
def test_what_is_a_name(text, language, names):
    found = ParsedText.of(text, language)
    assert set(found.names) == names


# --- support: without content words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "context", "quote"),
    [
        ("That is what it was!", "They said: that is, what it was, after all.", "that is, what it was"),
        ("It is.", "This is it.", None),
        ("It is.", "It isolates.", None),  # the beginning of another word
        ("It is.", "The bandit is.", None),  # the end of one
        ("It doesn't.", "It doesn’t, ever.", "It doesn’t"),
        ("水。", "饮水机", "水"),
        ("1. ", "0.1", None),  # a part of another number
        ("1.", "It is 1,5 times as long.", None),
        ("1. ", "Only item 1.", "1"),
        ("👍", "Well done 👍!", "👍"),
        ("...", "no dots", None),
        ("", "anything", None),
    ],
)
def test_units_without_content_words_must_stand_word_for_word(unit, context, quote):
    verdict = support(unit, context)
    assert verdict.value is (quote is not None)
    assert quotes(verdict) == ([] if quote is None else [quote])


# --- usefulness -----------------------------------------------------------------------------------------------


def test_usefulness_by_hand():
    # Two contexts of 7 words, the first is the answer itself. idf: located is in both, ln(1 + 0.5 / 2.5); Eiffel,
    # Tower, Paris in one, ln(1 + 1.5 / 1.5). All tf are 1 and all lengths equal, so BM25 is the sum of the idf.
    first, second = useful(
        "The Eiffel Tower is located in Paris.",
        "The Eiffel Tower is located in Paris.",
        "The Brandenburg Gate is located in Berlin.",
    )
    both, one = log(1.2), log(2)
    assert (first.value, first.details["share"], first.details["relative"]) == (True, 1.0, 1.0)
    assert second.value is False
    assert second.details["share"] == pytest.approx(both / (both + 3 * one), rel=1e-12)
    assert second.details["matched_words"] == ("located",)
    assert quotes(first) == ["The Eiffel Tower is located in Paris."]
    assert second.evidence == ()


def test_length_and_repetition_count_as_in_bm25():
    # n 2, lengths 2 and 4, mean 3; "alpha" in both (idf a = ln 1.2), "beta" in the second (idf b = ln 2), answer of 2
    # words. d(length) = 1.2 * (0.25 + 0.75 * length / 3): d(2) = 0.9, d(4) = 1.5
    first, second = useful("alpha beta", "alpha xx", "beta alpha alpha xx")
    a, b = log(1.2), log(2)
    itself = a / 1.9 + b / 1.9
    assert first.details["share"] == pytest.approx(a / 1.9 / itself, rel=1e-12)
    assert second.details["share"] == pytest.approx((a * 2 / 3.5 + b / 2.5) / itself, rel=1e-12)


def test_a_share_is_at_most_one():
    assert (
        useful("alpha beta", "alpha alpha alpha beta beta beta", "xx yy zz ww vv uu")[0].details[
            "share"
        ]
        == 1.0
    )


def test_both_bars_count():
    # all lengths equal, idf ln 1.6 for what is in two contexts, ln (8/3) for the others: the third has
    # 0.98 / (4 * 0.47 + 0.98) = 0.34 of what the first has
    contexts = ("alpha beta gamma delta zeta", "alpha beta gamma delta xx", "epsilon yy zz ww vv")
    answer = "alpha beta gamma delta zeta epsilon"
    default = useful(answer, *contexts)
    assert [verdict.value for verdict in default] == [True, True, False]
    shares = [verdict.details["share"] for verdict in default]
    assert shares[2] > 0.10  # enough by itself, but less than 0.4 of the best
    assert [
        verdict.value for verdict in useful(answer, *contexts, judge=LexicalJudge(min_relative=0.2))
    ] == [True] * 3
    assert [v.value for v in useful(answer, *contexts, judge=LexicalJudge(min_share=0.9))] == [
        False
    ] * 3
    assert shares[2] / shares[0] == pytest.approx(log(8 / 3) / (4 * log(1.6) + log(8 / 3)), rel=1e-12)


def test_the_best_of_bad_contexts_is_not_useful():
    # n 1, equal lengths: 1 of 4 words, idf ln (4/3) against ln 4 for the words nowhere: 0.065
    (verdict,) = useful("apples pears plums cherries", "apples xx yy zz")
    assert verdict.details["share"] == pytest.approx(log(4 / 3) / (log(4 / 3) + 3 * log(4)), rel=1e-12)
    assert (verdict.value, verdict.details["relative"]) == (False, 1.0)
    # 2 of 4: 0.17
    assert useful("apples pears plums cherries", "apples pears yy zz")[0].value is True


def test_the_question_does_not_take_part():
    contexts = ("The tower stands in Paris.", "Bread is baked.")
    request = JudgeRequest(
        units=(), contexts=contexts, answer="Bread.", user_input="Where does the tower stand?"
    )
    assert [verdict.value for verdict in LexicalJudge().usefulness(request)] == [False, True]


def test_evidence_of_a_useful_context_is_its_best_sentences():
    context = "Filler first. The Eiffel Tower is old. Nothing. It stands in Paris."
    (verdict,) = useful("The Eiffel Tower stands in Paris.", context)
    assert quotes(verdict) == ["The Eiffel Tower is old.", "It stands in Paris."]


def test_answers_without_content_words():
    verdicts = useful("It is.", "So it is, indeed.", "Is it?")
    assert [verdict.value for verdict in verdicts] == [True, False]
    assert quotes(verdicts[0]) == ["it is"]


def test_no_context_is_useful_for_another_subject():
    assert [
        v.value for v in useful("The Eiffel Tower stands in Paris.", "", "Bread is baked.", "  ")
    ] == [False] * 3


# --- languages ------------------------------------------------------------------------------------------------


def test_russian():
    context = "Эйфелева башня — металлическая башня в центре Парижа, завершённая в 1889 году."
    # эйфелев, башн, постро, 1889, год: 4 of 5
    built = support("Эйфелева башня была построена в 1889 году.", context, language="ru")
    assert (built.value, built.details["score"]) == (True, 0.8)
    assert built.details["missing_words"] == ("построена",)
    assert support("Эйфелева башня была построена в 1887 году.", context, language="ru").value is False
    # находится, Париж, Франция: 1 of 3, one name of two missing
    where = support("Она находится в Париже, Франция.", context, language="ru")
    assert (where.value, where.details["score"]) == (False, pytest.approx(1 / 3 - 0.25))


def test_chinese():
    # 北京 京是 是中 中国 国的 的首 首都: all but 京是
    context = "北京，是中华人民共和国的首都，中国的政治中心。"
    verdict = support("北京是中国的首都。", context, language="zh")
    assert (verdict.value, verdict.details["coverage"]) == (True, 6 / 7)
    assert verdict.details["missing_words"] == ("京是",)
    assert support("东京是日本的首都。", context, language="zh").value is False
    assert support("2008年北京举办奥运会。", "2012年北京举办奥运会。", language="zh").details[
        "missing_numbers"
    ] == ("2008年",)
    assert [
        v.value for v in useful("北京是中国的首都。", "上海在东海边。", context, language="zh")
    ] == [
        False,
        True,
    ]


def test_missing_pairs_of_characters_are_shown_as_text():
    verdict = support("北京有很多人口。", "北京是首都。", language="zh")
    assert verdict.details["missing_words"] == ("京有很多人口",)


def test_thai():
    capital = "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย"
    cat = "แมวเป็นสัตว์เลี้ยงลูกด้วยนมที่มีขนาดเล็ก"
    unit = "เมืองหลวงของประเทศไทยคือกรุงเทพมหานคร"
    assert support(unit, cat, capital, language="th").value is True
    assert support(unit, cat, language="th").value is False
    assert [verdict.value for verdict in useful(unit, cat, capital, language="th")] == [False, True]


@pytest.mark.parametrize(
    ("language", "unit", "yes", "no"),
    [
        (
            "ja",
            "東京タワーは333メートルです。",
            "東京タワーの高さは333メートルです。",
            "東京タワーの高さは332メートルです。",
        ),
        (
            "ko",
            "서울은 대한민국의 수도이다.",
            "서울은 대한민국의 수도이며 가장 큰 도시이다.",
            "부산은 항구 도시이다.",
        ),
        (
            "hi",
            "नई दिल्ली भारत की राजधानी है।",
            "भारत की राजधानी नई दिल्ली है और यह बड़ा शहर है।",
            "मुंबई महाराष्ट्र में है।",
        ),
        ("ar", "القاهرة عاصمة مصر", "القَاهِرَة هي عاصمة مصر", "الرياض عاصمة السعودية"),
        (
            "fr",
            "La tour a été bâtie en 1889.",
            "Elle fut bâtie, la tour, en 1889.",
            "La tour a été bâtie en 1887.",
        ),
        ("es", "La torre está en Madrid.", "En Madrid hay una torre.", "En Lima hay una torre."),
        ("de", "Der Turm steht in Köln.", "In Köln steht ein Turm.", "In Bonn steht eine Brücke."),
        ("el", "Η Αθήνα είναι πρωτεύουσα.", "Πρωτεύουσα είναι η ΑΘΗΝΑ.", "Η Πάτρα είναι λιμάνι."),
        ("km", "ភ្នំពេញជារាជធានី", "ភ្នំពេញជារាជធានីនៃកម្ពុជា", "សៀមរាបជាខេត្ត"),
        ("lo", "ວຽງຈັນເປັນນະຄອນຫຼວງ", "ວຽງຈັນເປັນນະຄອນຫຼວງຂອງລາວ", "ແມວກິນປາ"),
    ],
)
def test_other_languages(language, unit, yes, no):
    assert support(unit, yes, language=language).value is True
    assert support(unit, no, language=language).value is False


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("1,000 = 1'000 = 1’000 = 1000", ["1000"] * 4),
        ("1.234.567 and 1,234,567", ["1234567", "and", "1234567"]),
        ("1.234,56 and 1,234.56", ["1234.56", "and", "1234.56"]),
        ("1.000 1.234", ["1000", "1.234"]),  # thousands; a decimal
        ("3,5 3.5", ["3.5", "3.5"]),
        ("5.0 5", ["5", "5"]),
        ("3.10 3.1", ["3.10", "3.1"]),  # versions
        ("HC2, WW2, F-16 F16, М10", ["hc", "hc2", "ww", "ww2", "f", "f16", "f", "f16", "м", "м10"]),
        ("2 km, 2km, 保修2年, mid-1990", ["2000 m", "2000 m", "保修", "24 month", "mid", "1990"]),
        ("twenty-one 21 21st", ["21"] * 3),
        ("ten-pin 10", ["10", "pin", "10"]),
        ("007 7th", ["7", "7"]),
        ("1,2,3", ["1", "2", "3"]),
        ("1,000,5", ["1", "0", "5"]),
        ("10:30 3/4 1990-200", ["10:30", "3/4", "1990:200"]),
        ("12.13.2020 3.11.2", ["12.13.2020", "3.11.2"]),
        ("1990s 60s 1990", ["1990s", "60s", "1990"]),
        ("50% 50 $50", ["50 %", "50", "50 usd"]),
        ("१९४७ ١٩٤٧ １９４７", ["1947"] * 3),
        ("5km 5 km", ["5000 m", "5000 m"]),
    ],
)
def test_numbers(text, keys):
    assert [token.key for token in tokenize(text)] == keys


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Café CAFÉ cafe\u0301 cafe", ["caf"] * 4),
        ("city cities city's city’s", ["city"] * 4),
        ("located locate locating", ["locat"] * 3),
        ("stopped stopping stop", ["stop"] * 3),
        ("Don't don’t", ["dont"] * 2),
        ("Ёлка елка", ["елк"] * 2),
        ("йод", ["йод"]),
        ("башня башни башню", ["башн"] * 3),
        ("co\u00adop coop", ["coop"] * 2),
        ("दिल्ली", ["दिल्ली"]),
        ("שָׁלוֹם שלום", ["שלום"] * 2),
        ("Straße STRASSE", ["strass"] * 2),
        ("ﾄｳｷｮｳ トウキョウ", ["トウ", "ウキ", "キョ", "ョウ"] * 2),
        ("€5 5 euros", ["5 eur", "5 eur"]),
        ("", []),
        ("... — !", []),
    ],
)
def test_keys(text, keys):
    assert [token.key for token in tokenize(text)] == keys


def test_words_say_how_they_are_written_and_where_a_clause_ends():
    found = tokenize("Over twenty-one, naïve 北京人, it’s.")
    assert [token.spelling for token in found] == [
        "Over",
        "twenty-one",
        "naïve",
        "北京",
        "京人",
        "it's",
    ]
    assert [token.ends_clause for token in found] == [False, True, False, False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", ["one two thousand 3.5 ", "U.S. $5 ", "北京", "दिल्ली ", "don't-1,000-", "é'"]
)
def test_reading_grows_with_the_text(script):
    """Counted: the functions that reading enters, and the characters of the longest piece that is read at once."""
    events = []
    for characters in (20_000, 40_000):
        text, counted = script * (characters // len(script)), 0

        def count(frame, event, arg):
            nonlocal counted
            counted += event in {"call", "c_call"}

        sys.setprofile(count)
        try:
            ParsedText.of(text, "en")
        finally:
            sys.setprofile(None)
        events.append(counted)
    assert events[1] <= 2.3 * events[0]


def test_stop_words_by_language():
    assert (
        "the"
        in get_word_list("stop", "en-GB")
        == get_word_list("stop", "EN_us")
        == get_word_list("stop", "xx")
    )
    assert "іх" in get_word_list("stop", "uk")  # їх, folded as the text is
    assert "the" not in get_word_list("stop", "de")


# --- big and broken input -------------------------------------------------------------------------------------


def test_a_long_text_without_sentences_gives_short_evidence():
    verdict = support("alpha omega", "word " * 3000 + "alpha omega " + "word " * 3000)
    assert verdict.value is True
    (span,) = verdict.evidence
    assert "alpha omega" in span.quote
    assert len(span.quote) <= MAX_SENTENCE


def test_big_contexts_are_indexed_for_requested_words_only(monkeypatch):
    contexts = ("The bridge is 120 metres long. Other words stand here.", "Nothing.")
    request = ask(["The bridge is 120 metres long.", "The novel was written by Jane Marlow."], contexts)
    judge = LexicalJudge()
    full = judge.support(request), judge.usefulness(request)
    monkeypatch.setattr(index, "MAX_INDEXED", 10)
    assert (judge.support(request), judge.usefulness(request)) == full
    assert not index.shared_index(request, find_keys).sentences("word")
    assert index.shared_index(request, find_keys).sentences("bridg")


@pytest.mark.parametrize(
    "space", [chr(point) for point in range(0x80, 0x3001) if chr(point).isspace()], ids=ascii
)
def test_a_wide_space_before_a_full_stop_does_not_raise(space):
    text = f"It follows from A{space}. Then it ends."
    assert split_sentences(text) == (f"It follows from A{space}.", "Then it ends.")
    assert support("Then it ends", text).value is True


def test_lone_surrogates_do_not_raise():
    verdict = support("Paris \ud800 is nice", "x\udfff. Paris \ud800 is nice.")
    assert verdict.value is True


def test_one_index_for_all_questions_about_the_same_contexts(monkeypatch):
    built = []

    class Counted(index.WordIndex):
        def __init__(self, *arguments):
            built.append(1)
            super().__init__(*arguments)

    monkeypatch.setattr(index, "WordIndex", Counted)
    index.memory.clear()
    judge = LexicalJudge()
    for unit in ("One here.", "Another there."):
        judge.support(ask(unit, ("Shared context.", "Another.")))
        judge.usefulness(ask(unit, ("Shared context.", "Another.")))
    assert len(built) == 1
    judge.support(ask("One here.", ("Shared context.Another.",)))
    judge.support(ask("One here.", ("Shared context.", "Another.", "")))
    assert len(built) == 3


def test_the_memory_is_bounded():
    memory = index.IndexMemory(max_weight=3000)
    for number in range(50):
        memory.get(number, lambda number=number: index.WordIndex((f"word{number} " * 3,)))
        assert memory._weight == sum(known.weight for known in memory._indexes.values()) <= 3000
    assert 0 < len(memory._indexes) < 50
    before = memory._weight
    memory.get(
        "big", lambda: index.WordIndex((" ".join(f"w{chr(97 + n)}x{'y' * n}" for n in range(26)),))
    )
    assert "big" not in memory._indexes
    assert memory._weight == before


def test_threads_share_the_memory(monkeypatch):
    monkeypatch.setattr(index, "memory", index.IndexMemory(max_weight=2000))
    requests = [ask(f"alpha {n} omega", (f"alpha {n} omega. beta.", "gamma")) for n in range(20)]
    expected = [LexicalJudge().support(request) for request in requests]
    wrong = []

    def work():
        for _ in range(10):
            for request, verdicts in zip(requests, expected, strict=True):
                if LexicalJudge().support(request) != verdicts:
                    wrong.append(request)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("most", [1_000_000, 100_000])
def test_long_contexts_are_read_once_for_both_metrics(monkeypatch, most):
    """Both questions about long contexts are answered in worker threads at the same time."""
    read = []
    original = index.sentences

    def counted(text):
        read.append(text)
        return original(text)

    monkeypatch.setattr(index, "sentences", counted)
    monkeypatch.setattr(index, "MAX_INDEXED", most)
    monkeypatch.setattr(index, "memory", index.IndexMemory(max_weight=64_000_000))
    contexts = ("word word word. " * 14_000 + "alpha sigma delta omega.", "beta.")
    sample = Sample(reference="alpha sigma delta omega.", retrieved_contexts=contexts)
    results = evaluate([sample], [ContextRecall(), ContextPrecision()], progress=False)
    assert results[0]["context_recall"].value == 1.0
    assert results[0]["context_precision"].value is not None
    assert sorted(map(len, read)) == sorted(map(len, contexts))


# --- as the metrics call it -----------------------------------------------------------------------------------


def test_verdicts_pass_the_checks_of_the_metrics_unchanged():
    request = ask(
        ["Python was created by Guido van Rossum in 1991.", "It is.", "Ruby is newer."],
        (
            "Python is a programming language created by Guido van Rossum.",
            "It was first released in 1991. It is.",
        ),
    )
    judge = LexicalJudge()
    assert asyncio.run(ContextRecall().ask(judge, request)).verdicts == judge.support(request)
    assert asyncio.run(ContextPrecision().ask(judge, request)).verdicts == judge.usefulness(request)
    assert [verdict.value for verdict in judge.support(request)] == [True, True, False]


def test_long_contexts_are_read_in_a_worker_thread(monkeypatch):
    threads = []
    original = LexicalJudge.support

    def watched(self, request):
        threads.append(threading.current_thread())
        return original(self, request)

    monkeypatch.setattr(LexicalJudge, "support", watched)
    short = ask("alpha omega", ("alpha omega.",))
    long = ask("alpha sigma delta omega", ("word word word. " * 14_000 + "alpha sigma delta omega.",))
    assert asyncio.run(LexicalJudge().attribute(short)).verdicts[0].value is True
    assert asyncio.run(LexicalJudge().attribute(long)).verdicts[0].value is True
    assert threads[0] is threading.main_thread()
    assert threads[1] is not threading.main_thread()


def test_verdicts_are_json_and_pickle():
    for verdict in (
        *LexicalJudge().support(ask(["alpha", "no 7 Here", "it is"], ("alpha. beta",))),
        *useful("alpha", "alpha", "beta"),
    ):
        assert json.loads(json.dumps(verdict.to_dict()))["details"]
        assert pickle.loads(pickle.dumps(verdict)) == verdict  # noqa: S301 - our own bytes
        assert verdict.reason


# --- the pages' examples --------------------------------------------------------------------------------------
# What comes out is recorded beside what the page says. The judge is not tuned to them.

PAGES = [
    # Axion, capital and population: 0.5 on the page
    (
        "Paris is the capital of France. It has a population of over 2 million.",
        ("Paris is the capital and largest city of France.",),
        [True, False],
    ),
    # Axion, Python: 1.0 on the page
    (
        "Python was created by Guido van Rossum. It was released in 1991.",
        (
            "Python is a programming language created by Guido van Rossum.",
            "It was first released in 1991.",
        ),
        [True, True],
    ),
    # Axion, Einstein, nothing retrieved about him: 0.0 on the page
    (
        "Einstein was born in 1879. He developed the theory of relativity. He won the Nobel Prize in 1921.",
        ("Isaac Newton formulated the laws of motion.", "Newton was born in 1643."),
        [False, False, False],
    ),
    # Axion, one of three facts about water: 1/3 on the page (its heading says 0.5)
    (
        "Water boils at 100°C. Water freezes at 0°C. Water is made of hydrogen and oxygen.",
        ("Water boils at 100 degrees Celsius at sea level.",),
        [True, False, False],
    ),
    # Axion, Great Wall: 1.0 on the page; "built" for "construction" leaves 2 of 3 words of both sentences
    (
        "The Great Wall is over 13,000 miles long. It was built over many centuries. It was built to protect against invasions.",
        (
            "The Great Wall of China stretches over 13,000 miles.",
            "Construction took place over many centuries to protect against invasions.",
        ),
        [True, True, True],
    ),
    # Ragas, Eiffel Tower: 1.0 on the page, although the context does not say it
    ("The Eiffel Tower is located in Paris.", ("Paris is the capital of France.",), [False]),
]


@pytest.mark.parametrize(("reference", "contexts", "values"), PAGES)
def test_examples_of_the_pages(reference, contexts, values):
    verdicts = LexicalJudge().support(ask(split_sentences(reference), contexts))
    assert [verdict.value for verdict in verdicts] == values


def test_equal_contexts_are_judged_once(monkeypatch):
    """Of 300 metrics over five contexts, those with ``top_k`` from 5 on ask the same."""
    requests = []
    original = LexicalJudge.support

    def counting(self, request):
        requests.append(request)
        return original(self, request)

    monkeypatch.setattr(LexicalJudge, "support", counting)
    contexts = [f"Pump {number} stands outside." for number in range(5)]
    sample = Sample(reference="Pump 3 stands outside. It is red.", retrieved_contexts=contexts)
    metrics = [ContextRecall(top_k=k) for k in range(1, 301)]
    (row,) = evaluate([sample], metrics, judge=LexicalJudge(), progress=False)
    assert len(requests) == 5
    assert [score.value for score in row.values()] == [0.0] * 3 + [0.5] * 297
