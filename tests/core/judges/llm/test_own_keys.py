"""Keys that a model adds to an entry: what speaks against the verdict is found, and what agrees with it is not."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.llm.own_keys import (
    count_supported,
    find_denied_ids,
    find_objection,
    find_other_verdicts,
)
from ctxmetrics.prompts import get_pack

EN = get_pack("en")
AGAINST_A_YES = [
    {"verdict": "no"},
    {"label": "NOT_SUPPORTED"},
    {"Supported": False},
    {"is-supported": "false"},
    {"answer": "partially supported."},
    {"contradicted": True},
    {"verdict": 0},
    {"verdict": "unclear"},
    {"useful": False},
    {"partial": "yes"},
    {"confidence": 0.2},
    {"confidence": "low"},
    {"confidence": "10%"},
    {"score": "2/10"},
    {"percent": 20},
    {"verdict": ["no"]},
    {"verdict": "nein"},
    {"errors": ["the year differs"]},
    {"contradiction": "the context says otherwise"},
    {"reason": "It is close, but the context does not state the year."},
    {"reason": "Kein Kontext sagt das."},
    {"reason": "No context states this."},
    {"explanation": "The sentence is not supported by any of them."},
    {"errors": "No context states the year."},
    {"errors": "The context has no year"},
    {"reason": "Not stated in c1, c2 states another year."},
    {"reason": "No context states it. So no part of it is supported."},
    {"reason": "No context states it, and c1 contradicts it."},
    {"missing": True},
    {"final": {"supported": False}},
    {"evidence": [{"context": "c1", "quote": "12 kg", "whole": True, "relation": "contradicts"}]},
    {"evidence": [{"context": "c1", "quote": "12 kg", "supports": False}]},
]
WITH_A_YES = [
    {},
    {"verdict": "yes"},
    {"label": "supported"},
    {"contradicted": False},
    {"partial": "no"},
    {"confidence": 0.5},
    {"confidence": 95},
    {"score": 0.2},
    {"probability": "high"},
    {"score": "9/10"},
    {"errors": []},
    {"issues": "none"},
    {"issues": "No issues were found."},
    {"percent": 90},
    {"reason": "The context states it, although another one does not."},
    {"reason": "No context but the second one states it."},
    {"reason": "Not supported by c1, however c2 states it."},
    {"reason": "No context contradicts it."},
    {"reason": "There is no evidence of a contradiction."},
    {"reason": "Not mentioned in c1, stated in c2."},
    {"reason": "Not stated by c1. c2 states it in full."},
    {"reasoning": "The first part is not in c1, but c2 states it."},
    {"reasoning": "The context does not say who. The sentence does not either. So it is supported."},
    {"comment": "fully supported, no contradiction"},
    {"comment": "No evidence against it."},
    {"explanation": ["c2 states it", "no context denies it"]},
    {"explanation": None},
    {"errors": "0"},
    {"errors": "without errors"},
    {"errors": [None, ""]},
    {"issues": "-"},
    {"issues": "There are no issues."},
    {"contradictions": "The contexts contain no contradiction."},
    {"contradictions": "None of the contexts contradicts it"},
    {"contradiction": "not contradicted"},
    {"errors": "Es gibt keine Fehler."},
    {"errors": "Aucune erreur"},
    {"errors": "sin errores"},
    {"errors": "нет ошибок"},
    {"errors": "geen fouten"},
    {"errors": "エラーなし"},
    {"errors": "没有错误"},
    {"missing_parts": "all parts are stated"},
    {"missing_facts": "everything is covered"},
    {"verdicts": []},
    {"id": "no", "text": "false", "number": 0},
    {"missing": "", "evidence": [{"context": "c1", "quote": "no", "relation": "supports"}]},
    {"missing": False, "evidence": "no"},
]


@pytest.mark.parametrize("words", AGAINST_A_YES, ids=str)
def test_what_speaks_against_a_yes(words):
    assert find_objection({"supported": True, **words}, "supported", True, EN)


@pytest.mark.parametrize("words", WITH_A_YES, ids=str)
def test_what_agrees_with_a_yes_or_says_nothing(words):
    assert find_objection({"supported": True, **words}, "supported", True, EN) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"verdict": "supported"}, "verdict: supported"),
        ({"verdict": 1}, "verdict: 1"),
        ({"verdict": 2}, None),
        ({"useful": True}, "useful: True"),
        ({"is_supported": True}, "is_supported: True"),
        ({"contradicted": True}, None),
        ({"confidence": 0.9}, None),
        ({"confidence": 0.1}, None),
        ({"reason": "No context states it."}, None),
        ({"correct": True}, None),
        ({"relevance": True}, None),
        ({"evidence": [{"quote": "12 kg", "relation": "contradicts"}]}, None),
    ],
    ids=str,
)
def test_what_speaks_against_a_no(words, expected):
    assert find_objection({"supported": False, **words}, "supported", False, EN) == expected


@pytest.mark.parametrize(
    "words", [{"partial": True}, {"missing_parts": "the weight"}, {"issues": "no weight"}], ids=str
)
def test_a_useful_context_need_not_state_all(words):
    assert find_objection({"useful": True, **words}, "useful", True, EN) is None


def test_words_of_the_language():
    assert find_objection({"verdict": "нет"}, "supported", True, get_pack("ru")) == "verdict: нет"


def test_a_long_value_is_cut():
    reason = "No context " + "states it " * 100
    assert len(find_objection({"reason": reason}, "supported", True, EN)) == 80


SAYS_NO = {"supported": False}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"sentences": {"s1": SAYS_NO, "S2": SAYS_NO}}, [("s2", False)]),
        ({"sentences": {"[s1]": {"supported": True}}}, [("s1", True)]),
        ({"final": {"s1": False, "s2": "yes"}}, [("s1", False), ("s2", True)]),
        ({"final": {"sentences": {"s1": SAYS_NO}}}, [("s1", False)]),
        ({"verdicts": {"s1": {"label": "unsupported"}}}, [("s1", False)]),
        ({"unsupported": ["s1", "s7"]}, [("s1", False)]),
        ({"unsupported_sentences": ["s2"]}, [("s2", False)]),
        ({"unsupported": "s1, s2"}, [("s1", False), ("s2", False)]),
        ({"not_supported": {"s1": "another year"}}, [("s1", False)]),
        ({"supported_sentences": ["s1"]}, [("s2", False)]),
        ({"verdicts": ["yes", "no"]}, [("s1", True), ("s2", False)]),
        ({"corrections": [{"id": "s1", "supported": False}]}, [("s1", False)]),
        ({"summary": "s1 is not supported."}, [("s1", False)]),
        ({"unsupported": {"s1": False, "s2": "another year"}}, [("s2", False)]),
        ({"final": "s1: no"}, [("s1", False)]),
        ({"hallucinated": {"s1": 0, "s2": 1}}, [("s2", False)]),
        # What says nothing.
        ({"contradicted": {"s1": "no", "s2": "none"}}, []),
        ({"partial": {"s1": False, "s2": None}}, []),
        ({"supported": []}, []),
        ({"supported": ["s1", "the first one"]}, []),
        ({"verdicts": ["no"]}, []),
        ({"summary": "s1 is supported, and s2 as well."}, []),
        ({"sentences": {"s1": SAYS_NO}, "useful": {}}, []),
        ({"sentences": {"S7": SAYS_NO}}, []),
        ({"notes": {"s1": "No context names it."}}, []),
        ({"counts": {"s1": 0, "s2": 1}}, []),
        ({"unsupported": [["s1"], 2, None]}, []),
    ],
    ids=str,
)
def test_verdicts_outside_of_their_entries(data, expected):
    found = [(other.id, other.verdict) for other in find_other_verdicts(data, ["s1", "s2"], EN)]
    assert sorted(found) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"supported_count": 3}, [("supported_count", 3)]),
        ({"unsupported_count": 4}, [("unsupported_count", 3)]),
        ({"score": "3/7"}, [("score", 3)]),
        # Of something else, or no count.
        ({"score": "3/10"}, []),
        ({"supported_count": True}, []),
        ({"count": 3}, []),
    ],
    ids=str,
)
def test_counts_of_the_supported_units(data, expected):
    assert [*count_supported(data, 7)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Note: s4 and s5 are not supported.", ["s4", "s5"]),
        ("s4, s5, and s6 should be false", ["s4", "s5", "s6"]),
        ("C2 is irrelevant.", ["c2"]),
        ("s4 is not supported by c1 or c2.", ["s4"]),
        ("s4 is no", ["s4"]),
        # Of another context or sentence, or of nothing.
        ("s4 is not supported by c1 but by c2.", []),
        ("s4 is not supported by c1; c2 supports it.", []),
        ("c2 is not relevant to s2.", []),
        ("s4 is no problem.", []),
        ("s4 is supported; s5 as well.", []),
        ("If s4 were not there", []),
    ],
)
def test_ids_that_a_text_denies(text, expected):
    assert find_denied_ids(text) == expected
