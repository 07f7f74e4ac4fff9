"""Keys that a model adds to an entry: what speaks against the verdict is found, and what agrees with it is not."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.llm.denied_ids import find_denied_ids
from ctxmetrics.judges.llm.other_places import find_other_verdicts, find_remarks
from ctxmetrics.judges.llm.own_keys import find_objection, find_verdicts_set_apart
from ctxmetrics.judges.llm.totals import count_supported, find_verdict_on_all
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
    {"evaluation": {"result": {"supported": False}}},
    {"checks": [{"part": "year", "ok": False}]},
    {"per_context": {"c1": {"supports": False}, "c2": {"supports": False}}},
    {"verdict": "✗"},
    {"label": "❌"},
    {"verdict": "hayır"},
    {"verdict": "No, the year differs"},
    {"support_score": 0.1},
    {"entailment_probability": 0.03},
    {"score": 0},
    {"confidence": "0,1"},
    {"confidence": {"yes": 0.1, "no": 0.9}},
    {"p_no": 0.95},
    {"confidence": "barely"},
    {"confidence": "I am not sure at all"},
    {"confidence": "very unsure"},
    {"confidence": "no idea"},
    {"confidence": "~5%"},
    {"confidence": "about 10 %"},
    {"disputed": True},
    {"missing_count": 2},
    {"supporting_contexts": []},
    {"supported_by": "none"},
    {"best_context": "none"},
    {"verifier_score": 0.03},
    {"why_not": "The context has another value."},
    {"unsupported_reason": "another value"},
    {"errors": True},
    {"error_count": 1},
    {"is_hallucination": "yes"},
    {"grounded": False},
    {"reason": "This isn't stated anywhere."},
    {"reason": "The value in the context differs."},
    {"reason": "The contexts only mention a similar one."},
    {"reason": "I could not find this in any context."},
    {"reason": "Insufficient information in the contexts."},
    {"reason": "c3 says the opposite."},
    {"reason": "Nenhum contexto afirma isso."},
    {"reason": "Geen enkele context vermeldt dit."},
    {"reason": "Le contexte n'en dit rien."},
    {"reason": "No se menciona en los contextos."},
    {"reason": "Żaden kontekst tego nie stwierdza."},
    {"reason": "Hiçbir bağlam bunu söylemiyor."},
    {"reason": "Ни в одном контексте этого нет."},
    {"reason": "上下文中没有提到这一点。"},
    {"reason": "どの文脈にも記載がありません。"},
    {"reason": "어떤 문맥에도 언급되지 않습니다."},
    {"reason": "لا يذكر أي سياق ذلك."},
    {"reason": "किसी भी संदर्भ में यह नहीं कहा गया है।"},
    {"evidence": [{"context": "c1", "quote": "12 kg", "negated": True}]},
    {"reason": "Doubtful."},
    {"reason": "At most implied."},
    {"reason": "c3 has X210 in place of X200."},
    {"grund": "Das steht nirgends im Text."},
    {"nli_label": "NEUTRAL"},
    {"label": "[No support / Contradictory]"},
    {"grade": "F"},
    {"sign": "-"},
    {"rating": "★☆☆☆☆"},
    {"needs_review": True},
    {"matching_quotes": 0},
    {"hallucination": 1},
    {"is_entailed": "0"},
    {"confidence_no": 0.91},
    {"logprob_yes": -4.6},
    {"reasoning": "The passage talks about something else, so the claim cannot be confirmed."},
    {"reasoning": "c3 gives a value, therefore there is no support."},
    {"evidence": [{"context": "c1", "quote": "12 kg", "whole": True, "relation": "contradicts"}]},
    {"evidence": [{"context": "c1", "quote": "12 kg", "supports": False}]},
    {"evidence": [{"context": "c1", "quote": "12 kg", "match": 0.2}]},
    {"label": "~~supported~~ unsupported"},
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
    {"confidence": "about 90 %"},
    {"confidence": "fairly sure"},
    {"confidence": "hardly any doubt"},
    {"disputed": False},
    {"missing_count": 0},
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
    {"errors": 0},
    {"errors": False},
    {"error_code": 200},
    {"error_type": "none"},
    {"contradiction_score": 0.02},
    {"p_no": 0.03},
    {"confidence": {"yes": 0.9, "no": 0.1}},
    {"probabilities": {"yes": 0.5, "no": 0.5}},
    {"counts": {"words": 3, "no": 1}},
    {"supporting_contexts": ["c2"]},
    {"supported_by": None},
    {"why_not": None},
    {"correction": "none"},
    {"is_hallucination": "no"},
    {"exact_match": False},
    {"verbatim": False},
    {"verdict": "✅"},
    {"per_context": {"c1": {"supports": False}, "c2": {"supports": True}}},
    {"checks": [{"context": "c1", "ok": False}, {"context": "c2", "ok": True}]},
    {"verdict": "not stated in c1, but in c2"},
    {"reason": "The context states that the pump does not leak."},
    {"grade": "A"},
    {"rating": "★★★★☆"},
    {"needs_review": False},
    {"label_id": 0},
    {"grund": "Das steht im Text."},
    {"sentence": "The pump is not mentioned in the manual."},
    {"reason": 'c2 says "No entry", word for word.'},
    {"reason": "There is no difference between the two."},
    {"reason": "No part of it is missing."},
    {"reason": "The wording differs."},
    {"reason": "c1 is about another pump, but c2 states it."},
    {"reason": "Steht wörtlich im Kontext, nicht nur sinngemäß."},
    {"reason": "Nicht nur c1 nennt es im Text, sondern auch c2."},
    {"reason": "Kein Kontext widerspricht dem."},
    {"reason": "Le contexte le dit sans ambiguïté."},
    {"reason": "Aucun passage ne contredit la phrase."},
    {"reason": "En el contexto se afirma."},
    {"reason": "Le contexte en parle."},
    {"reason": "O contexto afirma isso, embora outro não."},
    {"reason": "上下文与该句没有矛盾。"},
    {"reason": "文脈に記載があります。"},
    {"reason": "不仅上下文提到了, c3 也提到了。"},
    {"reason": "السياق يذكر ذلك."},
    {"reason": "Это прямо сказано в контексте."},
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
    {"hallucination": 0},
    {"confidence_no": 0.05},
    {"logprob_yes": -0.1},
    {"logprob": -4.6},
    {"reason": "No other context states it, only c2."},
    {"reason": "No inference needed, c2 is explicit."},
    {"reason": "Nothing contradicts this."},
    {"reason": "No cabe duda: c2 lo dice."},
    {"reason": "c2 says the same, so it is not verbatim but supported."},
    {"missing": "", "evidence": [{"context": "c1", "quote": "no", "relation": "supports"}]},
    {"missing": False, "evidence": "no"},
]


@pytest.mark.parametrize("words", AGAINST_A_YES, ids=str)
def test_what_speaks_against_a_yes(words):
    assert find_objection({"supported": True, **words}, "supported", True, EN)


@pytest.mark.parametrize("words", WITH_A_YES, ids=str)
def test_what_agrees_with_a_yes_or_says_nothing(words):
    assert find_objection({"supported": True, **words}, "supported", True, EN) is None


def test_a_reason_may_have_the_negation_of_its_sentence():
    cell = {"supported": True, "reason": "Laut Kontext leckt die Pumpe nicht."}
    assert find_objection(cell, "supported", True, EN, "Die Pumpe leckt nicht.") is None
    assert find_objection(cell, "supported", True, EN, "Die Pumpe leckt.")


@pytest.mark.parametrize(
    ("remarks", "expected"),
    [
        ([{}, {"nota": "karibu"}], ["s2"]),
        ([{}, {"belegt": False}], ["s2"]),
        ([{}, {"flags": ["weak"]}], ["s2"]),
        ([{}, {"evidence": [{"context": "c1", "quote": "12 kg", "grade": "D"}]}], ["s2"]),
        ([{"remark": "ndiyo"}, {"remark": "hapana"}, None, {"remark": "hapana"}], ["s2"]),
        ([{"support_level": 5}, {"support_level": 1}], ["s2"]),
        ([{"certainty_percent": 98}, {"certainty_percent": 12}], ["s2"]),
        ([{"basis": "quote"}, {"basis": "inference"}], ["s2"]),
        ([{"source": "c2"}, {"source": "memory"}], ["s2"]),
        ([{}, {"source": "my training data"}], ["s2"]),
        ([{"tags": ["direct"]}, {"tags": ["indirect"]}], ["s2"]),
        ([{"basis": "inference"}, {"basis": "inference"}], []),
        # Each yes has one, it speaks for the yes, or it says nothing about it.
        ([{"nota": "karibu"}, {"nota": "mbali"}], []),
        ([{}, {"note": "c2 states it in other words"}], []),
        ([{}, {"note": "See c2."}], []),
        ([{}, {"caveat": "none"}], []),
        ([{}, {"verbatim": True}], []),
        ([{}, {"contradiction": False}], []),
        ([{}, {"page": "12", "source": "handbook"}], []),
        ([{}, {"index": 2}], []),
        ([{"score": 0.2}, {"score": 0.2}], []),
        ([{"level": 5}, {"level": 3}], []),
        ([{"rank": 9}, {"rank": 1}], []),
        ([{"remark": "same"}, {"remark": "same"}, None, {"remark": "same"}], []),
        ([{"nota": "karibu"}], []),
    ],
    ids=str,
)
def test_a_remark_that_sets_a_yes_apart(remarks, expected):
    """A remark of None is an entry without one; the fourth entry says no."""
    cells = {f"s{place}": remark or {} for place, remark in enumerate(remarks, 1)}
    if None in remarks:
        del cells["s3"]
    verdicts = {id_: id_ != "s4" for id_ in cells}
    found = [id_ for id_, _ in find_verdicts_set_apart(cells, verdicts, "supported", EN)]
    assert found == expected


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
        ({"verdict_vector": [1, 0]}, [("s1", True), ("s2", False)]),
        ({"verdict_vector": [1, 2]}, []),
        ({"verdicts": "YN"}, [("s1", True), ("s2", False)]),
        ({"verdicts": "1, 0"}, [("s1", True), ("s2", False)]),
        ({"verdicts": "OK"}, []),
        ({"score_per_sentence": [0.9, 0.1]}, [("s2", False)]),
        ({"confidences": [5, 1]}, [("s2", False)]),
        ({"confidences": [5, 4]}, []),
        ({"lengths": [5, 1]}, []),
        ({"unsupported_ids": "s1-s2"}, [("s1", False), ("s2", False)]),
        ({"failed": [2]}, [("s2", False)]),
        ({"final": {"sentences": {"s1": SAYS_NO}}}, [("s1", False)]),
        ({"problems": {"s1": "another year", "s2": "none"}}, [("s1", False)]),
        ({"errors": ["s2"]}, [("s2", False)]),
        ({"errors": "s2"}, [("s2", False)]),
        ({"errors": ["S2: the year is wrong"]}, [("s2", False)]),
        ({"errors": ["s2: none"]}, []),
        ({"errors": [2]}, []),
        ({"unsupported": ["s2: the year is wrong"]}, [("s2", False)]),
        ({"unsupported": "s2: the year is wrong"}, [("s2", False)]),
        ({"unsupported": ["S1", "Sentence 2 (year)"]}, [("s1", False), ("s2", False)]),
        ({"unsupported": {"S2": "year"}}, [("s2", False)]),
        ({"supported": ["S1"]}, [("s2", False)]),
        ({"sources": {"s1": [], "s2": ["c1"]}}, [("s1", False)]),
        ({"unverifiable": [2]}, [("s2", False)]),
        ({"verdicts": {"s1": {"label": "unsupported"}}}, [("s1", False)]),
        ({"unsupported": ["s1", "s7"]}, [("s1", False)]),
        ({"confirmed": ["s1"]}, [("s2", False)]),
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
        ({"objects beside the reply": [{"s1": False}]}, [("s1", False)]),
        ({"objects beside the reply": [{"unsupported": ["s2"]}]}, [("s2", False)]),
        ({"final_answer": '{"s1": "no"}'}, [("s1", False)]),
        ({"changes": [{"id": "s1", "from": True, "to": False}]}, [("s1", False)]),
        ({"self_check": [{"sentence": "s2", "ok": False}]}, [("s2", False)]),
        ({"patch": [{"path": "/sentences/s1/supported", "value": False}]}, [("s1", False)]),
        ({"sentences": {"s02": SAYS_NO}}, [("s2", False)]),
        ({"sentences": {"Sentence 1": SAYS_NO}}, [("s1", False)]),
        ({"sentences": {"2": SAYS_NO}}, [("s2", False)]),
        ({"text": "Only s1 is supported."}, [("s2", False)]),
        ({"confidence": {"s1": 0.97, "s2": 0.12}}, [("s2", False)]),
        ({"confidence_by_id": {"s1": 0.97, "s2": 0.12}}, [("s2", False)]),
        ({"confidencePerSentence": {"s1": 0.97, "s2": 0.12}}, [("s2", False)]),
        ({"log": ["s1: ok", "s2: not ok"]}, [("s2", False)]),
        ({"exceptions": ["s2"]}, [("s2", False)]),
        # What says nothing.
        ({"matrix": {"c1": {"s1": False}, "c2": {"s1": True}}}, []),
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
    found = {(other.id, other.verdict) for other in find_other_verdicts(data, ["s1", "s2"], EN)}
    assert sorted(found) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"supported_count": 3}, [("supported_count", 3)]),
        ({"unsupported_count": 4}, [("unsupported_count", 3)]),
        ({"score": "3/7"}, [("score", 3)]),
        ({"recall": 0.43}, [("recall", 3)]),
        ({"recall": "43%"}, [("recall", 3)]),
        ({"score": 3, "total": 7}, [("score", 3)]),
        ({"score": "3 of 7"}, [("score", 3)]),
        ({"accuracy": "3 of 7"}, [("accuracy", 3)]),
        ({"share_supported": 0.43}, [("share_supported", 3)]),
        ({"note": "4 of the 7 fail."}, [("note", 3)]),
        ({"summary": "Only three sentences are supported."}, [("summary", 3)]),
        ({"summary": "3 of 7 sentences are supported."}, [("summary", 3)]),
        ({"summary": {"supported": 3, "unsupported": 4}}, [("summary", 3)]),
        ({"metrics": {"counts": {"true": 3, "false": 4}}}, [("counts", 3)]),
        ({"overall": {"n_supported": 3}}, [("n_supported", 3)]),
        ({"totals": "3 supported, 4 unsupported"}, [("totals", 3)]),
        ({"note": "Recall: 3/7."}, [("note", 3)]),
        ({"note": "Supported: 3. Unsupported: 4."}, [("note", 3)]),
        ({"note": "So 43% of the sentences are supported."}, [("note", 3)]),
        ({"supported_ratio": "3 out of 7"}, [("supported_ratio", 3)]),
        ({"support_ratio": "3:7"}, [("support_ratio", 3)]),
        ({"true_count": 3}, [("true_count", 3)]),
        ({"total_supported": 3}, [("total_supported", 3)]),
        ({"unsupported_sentences": 4}, [("unsupported_sentences", 3)]),
        ({"hallucination_rate": 0.571}, [("hallucination_rate", 3)]),
        ({"note": "Only 3 sentences are grounded."}, [("note", 3)]),
        ({"note": "3/7 sentences grounded"}, [("note", 3)]),
        ({"n_yes": 3}, [("n_yes", 3)]),
        ({"final": "3 yes, 4 no"}, [("final", 3)]),
        ({"final": "3 yes to go"}, []),
        ({"note": "Total: 3 of 7 supported."}, [("note", 3)]),
        ({"note": "3 out of 7 are grounded."}, [("note", 3)]),
        ({"note": "Total: 3 of 9 supported."}, []),
        ({"note": "3 sentences partially supported"}, []),
        # Of something else, or no count.
        ({"recall": 0.5}, []),
        ({"score": 3}, []),
        ({"summary": "All sentences are supported."}, []),
        ({"score": "3/10"}, []),
        ({"note": "Recall: 3/10."}, []),
        ({"summary": {"supported": 3, "unsupported": 5}}, []),
        ({"summary": {"supported": 3}}, []),
        ({"summary": "4 sentences are not supported."}, []),
        ({"supported_count": True}, []),
        ({"unsupported_sentences": ["s4"]}, []),
        ({"hallucination_rate": 0.5}, []),
        ({"count": 3}, []),
    ],
    ids=str,
)
def test_counts_of_the_supported_units(data, expected):
    assert [*count_supported(data, 7, EN)] == expected


@pytest.mark.parametrize(
    ("data", "verdict", "expected"),
    [
        ({"all_supported": False}, True, "all_supported: False"),
        ({"verdict": "partially supported"}, True, "verdict: partially supported"),
        ({"hallucinated": True}, True, "hallucinated: True"),
        ({"all_supported": True}, False, "all_supported: True"),
        ({"all_supported": True, "verdict": "yes", "notes": "no"}, True, None),
        ({"all_supported": False}, False, None),
    ],
    ids=str,
)
def test_a_verdict_on_all_units(data, verdict, expected):
    assert find_verdict_on_all(data, verdict, EN) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Note: s4 and s5 are not supported.", ["s4", "s5"]),
        ("s4, s5, and s6 should be false", ["s4", "s5", "s6"]),
        ("C2 is irrelevant.", ["c2"]),
        ("s4 is not supported by c1 or c2.", ["s4"]),
        ("s4 is no", ["s4"]),
        ("s4, s5 aren't stated in any context.", ["s4", "s5"]),
        ("I found no support for s4 and s5.", ["s4", "s5"]),
        ("- s4: unsupported\n- s5: no", ["s4", "s5"]),
        ("Unsupported sentences: s4, s5", ["s4", "s5"]),
        ("Sentences 4 and 5 are not supported.", ["s4", "s5"]),
        ("s4-s6 are not supported.", ["s4", "s5", "s6"]),
        ("EDIT: s4 → false", ["s4"]),
        ("| s4 | no |", ["s4"]),
        ("s4, s5 sind nicht belegt.", ["s4", "s5"]),
        ("上下文没有提到 s4。", ["s4"]),
        ("s4❌ s5 ❌", ["s4", "s5"]),
        ("All sentences are supported except s4 and s5.", ["s4", "s5"]),
        ("I am not sure about s4.", ["s4"]),
        ("On reflection, s4 and s5 look wrong.", ["s4", "s5"]),
        ("I retract s4.", ["s4"]),
        ("s4 should have been marked false.", ["s4"]),
        ("Update: set s4 and s5 to false.", ["s4", "s5"]),
        ("Note that s4 rests on an assumption.", ["s4"]),
        ("The last two sentences are not supported.", ["s5", "s6"]),
        ("Everything after s4 is a guess.", ["s5", "s6"]),
        ("None of the sentences after the fourth is supported.", ["s5", "s6"]),
        ("All but the first four sentences are unsupported.", ["s5", "s6"]),
        ("Only the first 4 sentences are supported.", ["s5", "s6"]),
        ("Hinweis: s4, s5 sind nicht belegt.", ["s4", "s5"]),
        ("I take back what I said on s4.", ["s4"]),
        ("I am only sure about s1, s2, s3 and s4.", ["s5", "s6"]),
        ("s1, s2, s3, s4 hold; the rest do not.", ["s5", "s6"]),
        ("**Unsupported:** s4, s5", ["s4", "s5"]),
        ("For s4 and s5 I found nothing.", ["s4", "s5"]),
        ("~~s4~~", ["s4"]),
        ("s4: 10%\ns5: 90%", ["s4"]),
        ("s1 by c2, s3 by c5; s4 to s6 are not stated.", ["s4", "s5", "s6"]),
        ("P.S. I could not verify s4, s5.", ["s4", "s5"]),
        ("| s4 | ✗ |", ["s4"]),
        ("Only s1, s2, s3 and s4 could be verified.", ["s5", "s6"]),
        ("Changed s4: true -> false, s5 (yes → no).", ["s4", "s5"]),
        ("s4, s5: N/A", ["s4", "s5"]),
        ("Missing support: s4", ["s4"]),
        ("Not entailed: s4, s5", ["s4", "s5"]),
        # Of another context or sentence, or of nothing.
        ("s4: false -> true", []),
        ("s4: true to the text", []),
        ("s1, s2 hold; the rest is fine too.", []),
        ("I could not find s4 in c1.", []),
        ("I could verify s4.", []),
        ("For s4 I found two quotes.", []),
        ("s1 and s2 are supported, s3 is not wrong.", []),
        ("s1 is stated verbatim and not inferred.", []),
        ("Set s1 to true.", []),
        ("The first two sentences are supported.", []),
        ("The last nine sentences are not supported.", []),
        ("s4: not only in c2", []),
        ("There is no support for s4 in c1.", []),
        ("s4: no problem", []),
        ("| s4 | yes |", []),
        ("s4 ist im Kontext belegt.", []),
        ("s4 is not supported by c1 but by c2.", []),
        ("s4 is not supported by c1; c2 supports it.", []),
        ("c2 is not relevant to s2.", []),
        ("s4 is no problem.", []),
        ("s4 is supported; s5 as well.", []),
        ("If s4 were not there", []),
    ],
)
def test_ids_that_a_text_denies(text, expected):
    ids = [f"s{number}" for number in range(1, 7)]
    assert find_denied_ids(text, ids) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"disputed": ["s2"]}, ["s2"]),
        ({"nicht_belegt": ["s1", "s2"]}, ["s1", "s2"]),
        ({"flags": {"s2": "the value is another one"}}, ["s2"]),
        ({"errors": ["s2: the value is another one"]}, ["s2"]),
        ({"issues": [{"sentence": 2, "problem": "not there"}]}, ["s2"]),
        ({"note": "I would not rely on s2."}, ["s2"]),
        ({"note": "I marked s2 as supported by mistake."}, ["s2"]),
        ({"note": "s1 is stated. s2 came from my own knowledge."}, ["s2"]),
        ({"note": "s2 bağlamlarda yer almıyor."}, ["s2"]),
        # what is about all of them, speaks for a yes, or is about a no or a context
        ({"note": "s1, s2 and s3 were easy."}, []),
        ({"note": "s1: ok\ns2: ok\ns3: ok"}, []),
        ({"note": "s2 is stated in other words."}, []),
        ({"note": "s4 is another matter; s3 and s4 look alike."}, []),
        ({"note": "s2 rests on c3."}, []),
        ({"confirmed": ["s2"]}, []),
        ({"sources": {"s2": "c3"}}, []),
        ({"unsupported": ["s4"]}, []),
    ],
    ids=str,
)
def test_remarks_that_set_supported_units_apart(data, expected):
    """The first three units are supported, the fourth is not."""
    units = ["s1", "s2", "s3", "s4"]
    assert [other.id for other in find_remarks(data, units, set(units[:3]), EN)] == expected
