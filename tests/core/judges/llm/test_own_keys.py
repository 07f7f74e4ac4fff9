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
    {"explanation": None},
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
        ({"useful": True}, "useful: True"),
        ({"is_supported": True}, "is_supported: True"),
        ({"contradicted": True}, None),
        ({"confidence": 0.9}, None),
        ({"confidence": 0.1}, None),
        ({"reason": "No context states it."}, None),
        ({"evidence": [{"quote": "12 kg", "relation": "contradicts"}]}, None),
    ],
    ids=str,
)
def test_what_speaks_against_a_no(words, expected):
    assert find_objection({"supported": False, **words}, "supported", False, EN) == expected


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
        # What says nothing.
        ({"supported": []}, []),
        ({"supported": ["s1", "the first one"]}, []),
        ({"verdicts": ["no"]}, []),
        ({"summary": "s1 is supported, and s2 as well."}, []),
        ({"sentences": {"s1": SAYS_NO}, "useful": {}}, []),
        ({"sentences": {"S7": SAYS_NO}}, []),
        ({"notes": {"s1": "No context names it."}}, []),
        ({"counts": {"s1": 0, "s2": 1}}, []),
        ({"unsupported": [["s1"], 2, None]}, []),
        ({"final": "s1: no"}, []),
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
        ("s4 is supported; s5 as well.", []),
        ("If s4 were not there", []),
    ],
)
def test_ids_that_a_text_denies(text, expected):
    assert find_denied_ids(text) == expected
