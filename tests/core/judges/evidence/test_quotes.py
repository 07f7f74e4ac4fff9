"""What a quote proves: each rule of weak evidence, and how often an honest judge is flagged on data that people marked."""

from __future__ import annotations

import json
from collections import Counter
from itertools import compress
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample, ScriptedJudge, evaluate
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.evidence.quote_matches import match_quote
from ctxmetrics.judges.evidence.quotes import QuotedUnit
from ctxmetrics.judges.scripted import ScriptedModel
from ctxmetrics.text.character_spans import has_content
from ctxmetrics.text.quote_search import Effort
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import DOUBTFUL, Evidence
from support import read_question
from support.answers import _closest, _sentences, _shared

DATA = Path(__file__).parents[5] / "shared" / "data"
LONG = (
    "The ferry\nThe ferry leaves at nine. It carries 40 cars. Tea is sold on board. Dogs travel free."
)


def doubt(unit: str, context: str, quote: str, answer: str = "", language: str = "en") -> str | None:
    start = context.index(quote)
    return QuotedUnit(unit, answer or unit, [context], language).find_doubt(
        context, [Evidence(0, start, start + len(quote), quote)]
    )


def test_a_reflexive_russian_verb_is_the_same_word():
    assert doubt("Дом строится.", "Рабочие строить умеют.", "строить", language="ru") is None


def test_a_part_of_a_word_at_an_end_of_a_quote_is_no_word():
    assert doubt("The form is blue.", "The platform is closed.", "form is") == "fragment"
    assert doubt("The plat is blue.", "It is the platform.", "is the plat") == "fragment"


@pytest.mark.parametrize(
    ("unit", "quote", "wanted"),
    [
        ("The ferry leaves at nine.", "ferry leaves", None),
        ("It can take 40 vehicles.", "40 cars", None),  # a number tells
        ("Nine is when ferries leave.", "leaves at nine", None),  # by the stem
        ("The ferry leaves at nine.", "It", "fragment"),
        ("The ferry leaves at nine.", "at", "fragment"),
        ("The ferry leaves at nine.", "eav", "fragment"),
        ("The ferry leaves at nine.", "Dogs travel free", "unrelated"),
        ("The ferry leaves at nine.", LONG, "whole_context"),
        ("The ferry leaves at nine.", LONG[:-3], "whole_context"),
        ("The ferry leaves at nine.", "The ferry", "heading"),
        ("Yes.", "Dogs travel free", "unrelated"),  # nothing in the sentence can be shown
    ],
)
def test_what_a_quote_proves(unit, quote, wanted):
    assert doubt(unit, LONG, quote) == wanted


def test_a_context_of_three_sentences_may_be_quoted_whole():
    short = "The ferry leaves at nine. It carries 40 cars. Tea is sold."
    assert doubt("The ferry leaves at nine.", short, short) is None


MILL = (
    "The mill stands on a hill. Its owner sells flour on Fridays.",
    "The mill was built of oak. A family from Ghent owned it.",
    "Storks nest on the roof of the mill. They leave in August.",
)


@pytest.mark.parametrize(
    ("unit", "context", "weak"),
    [
        # of six telling words the context has one, or (of nine) two: a quarter at most
        ("The owner repaired both broken sails after every storm.", MILL[0], True),
        ("Its owner sells honey, candles, soap, baskets, wool, linen and toys.", MILL[0], True),
        ("Its owner sells flour to bakers of three villages.", MILL[0], False),
        ("The owner repaired it.", MILL[0], False),  # too few words to count
        ("The owner repaired both broken sails after every storm.", "Its owner sells flour.", False),
    ],
)
def test_a_whole_context_must_hold_a_quarter_of_the_words(unit, context, weak):
    assert QuotedUnit(unit, unit, [context], "en").shares_little_as_whole(context) is weak


@pytest.mark.parametrize(
    ("unit", "context", "weak"),
    [
        ("The mill was sold to a brewer from Lille.", MILL[2], True),  # every context has the mill
        ("The mill was owned by a brewer from Ghent.", MILL[1], False),
        ("The mill burned.", MILL[2], False),  # one other word is too few
        (
            "Der Turm gehört seit langer Zeit einer Familie aus Gent.",
            MILL[2],
            False,
        ),  # another language
    ],
)
def test_the_words_of_every_context_prove_nothing(unit, context, weak):
    assert QuotedUnit(unit, unit, MILL, "en").shares_little([context], [context]) is weak


@pytest.mark.parametrize(
    ("quote", "weak"),
    [
        ("He called it a chance to go out and murder.", False),
        ("I think some of us are n't human at all.", False),  # cut into words
        ("He called it murder.", True),
        ("It was one of the mills that he sold.", True),  # no telling word in a row
    ],
)
def test_words_in_a_row_are_no_chance(quote, weak):
    answer = (
        "War is a licence to go out and murder, Patch told one of the lords, generals and bankers. "
        "Some of us aren't human."
    )
    contexts = [quote, "A mill for murder.", "Mill and murder.", "The murder at the mill."]
    assert QuotedUnit(answer, answer, contexts, "en").shares_little([quote], (), common=True) is weak


@pytest.mark.parametrize(
    ("unit", "sentence", "denies"),
    [
        ("The mill does not tax grain, however it taxes flour.", "The mill does not tax grain , however it taxes flour .", False),
        ("The X200 costs 310 euros.", "The X210 costs 310 euros.", True),
        ("The X200 costs 310 euros.", "Both the X200 and the X210 cost 310 euros.", False),
        ("The V60 costs 310 euros.", "The V65 costs 310 euros.", True),
        ("It reads v2.3 files.", "It reads v2.3 and v2.4 files.", False),
        ("The COVID-19 ward closed.", "The ward for COVID-19 closed.", False),
        ("The A380 lands.", "The B380 lands.", True),
    ],
)  # fmt: skip
def test_what_denies_a_unit(unit, sentence, denies):
    found = QuotedUnit(unit, unit, [sentence], "en").find_denial([sentence], [sentence])
    assert (found is not None) is denies


def test_one_word_of_six_is_little_only_in_the_whole_context():
    unit = QuotedUnit("Storks leave the wooden roof every autumn morning.", "", MILL[:1], "en")
    assert (
        unit.shares_little(["They leave in August."], ["Storks nest here. They leave in August."])
        is False
    )
    assert unit.shares_little(["They leave in August."], ["They leave in August."]) is True


@pytest.mark.parametrize(
    ("sentence", "part"),
    [
        ("A family from Ghent owned it.", True),
        ("Storks nest on the roof of the mill.", False),  # the mill is the topic of all contexts
        ("A family sells hats.", False),  # one word
        ("The mill has a tower.", False),  # one word beside the topic
        ("The mill of a family has a tower.", True),
        ("Семья из Гента.", True),  # another script
    ],
)
def test_a_useful_context_shares_a_part_of_the_answer(sentence, part):
    answer = "The mill belonged to a family from Ghent, built of oak with a tower."
    assert QuotedUnit(answer, answer, MILL, "en").shares_little([sentence], (), common=True) is not part


BURNED = "The mill burned down in 1803."


@pytest.mark.parametrize(
    ("unit", "sentence", "contexts", "against"),
    [
        (BURNED, "Another mill burned down in 1650.", MILL, "1650"),
        (
            BURNED,
            "Another mill burned down in 1650.",
            ("Fires of 1803.",),
            None,
        ),  # another context has it
        (BURNED, "It burned down in 1803, a second time in 1850.", MILL, None),
        (BURNED, "Another mill burned down.", MILL, None),  # no year
        (BURNED, "It burned down in the 1650s.", MILL, None),  # a decade
        ("The mill burned down.", "Another mill burned down in 1650.", MILL, None),
        ("It holds 1803 wells of 12,000.", "It holds 12,000 wells.", MILL, None),  # the unit has both
        ("It holds 1803 tonnes.", "It holds 12,000 tonnes.", MILL, "12,000 tonnes"),
    ],
)
def test_another_year_is_found_if_no_context_has_the_right_one(unit, sentence, contexts, against):
    found = QuotedUnit(unit, unit, contexts, "en").find_denial([sentence], contexts)
    assert (found and found.context) == against


def test_yes_whose_evidence_has_another_year_is_contradicted():
    fire = "Another mill burned down in 1650, they say."
    quote = {"context": "c1", "quote": "Another mill burned down in 1650", "whole": True}
    data = {
        "code": "$code",
        "sentences": {"s1": {"evidence": [quote], "supported": True}},
        "useful": {"c1": {"quote": quote["quote"], "useful": True}},
    }
    sample = Sample(user_input="When?", reference=BURNED, retrieved_contexts=[fire])
    judge = ScriptedJudge({"joint": [data]})
    metrics = [ContextRecall(), ContextPrecision()]
    (row,) = evaluate([sample], metrics, judge=judge, progress=False)
    for metric in ("context_recall", "context_precision"):
        (verdict,) = row[metric].verdicts
        assert (verdict.value, verdict.code) == (True, "contradicted")
        assert "otherwise: number: '1803' against '1650'" in verdict.reason


def test_of_a_whole_context_the_closest_sentences_are_checked():
    unit = "The towers were built by Bishop Odo."
    odd = "Bishop Odo built ships. The towers were not built by Bishop Odo. Rain fell. It was late."
    data = {
        "code": "$code",
        "sentences": {
            "s1": {"evidence": [{"context": "c1", "quote": odd, "whole": True}], "supported": True}
        },
        "useful": {"c1": {"useful": True}},
    }
    sample = Sample(user_input="Who?", reference=unit, retrieved_contexts=[odd])
    (row,) = evaluate(
        [sample], [ContextRecall()], judge=ScriptedJudge({"joint": [data]}), progress=False
    )
    assert row["context_recall"].verdicts[0].code == "contradicted"


def test_each_whole_context_must_share_words():
    reference = "The mill was built of oak by seven carpenters from the village of Asse."
    quotes = [("c2", "The mill was built of oak."), ("c3", "They leave in August.")]
    data = {
        "code": "$code",
        "sentences": {
            "s1": {
                "evidence": [{"context": c, "quote": q, "whole": True} for c, q in quotes],
                "supported": True,
            }
        },
        "useful": {id_: {"useful": id_ != "c1"} for id_ in ("c1", "c2", "c3")},
    }
    sample = Sample(user_input="Who?", reference=reference, retrieved_contexts=[*MILL])
    judge = ScriptedJudge({"joint": [data]})
    metrics = [ContextRecall(), ContextPrecision()]
    (row,) = evaluate([sample], metrics, judge=judge, progress=False)
    assert row["context_recall"].verdicts[0].code == "weak_evidence"
    codes = [verdict.code for verdict in row["context_precision"].verdicts]
    assert codes == [None, None, "weak_evidence"]


def test_a_line_of_data_is_no_heading():
    table = "Height: 330 m\nPlace: Paris\nIt is made of iron."
    assert doubt("The tower is 330 m tall.", table, "Height: 330 m") is None


def test_two_characters_tell_where_words_have_no_spaces():
    text = "上海是一个城市。北京是首都。那里有很多人。今天下雨。"
    assert doubt("北京是中国的首都。", text, "北京是首都", language="zh") is None
    assert doubt("北京是中国的首都。", text, "今天下雨", language="zh") == "unrelated"


def test_words_are_expected_only_within_one_script():
    russian = "Паром отправляется в девять. Собаки едут бесплатно."
    assert doubt("The ferry leaves at nine.", russian, "Собаки едут бесплатно") is None
    unit = QuotedUnit("The ferry leaves.", "The ferry leaves.", [russian, LONG, LONG], "en")
    spans = [Evidence(0, 0, 28, russian[:28])]
    assert unit.find_doubt(russian, spans) == "unrelated"


# ---- what becomes of it ----

SAMPLE = Sample(
    user_input="When?",
    reference="The ferry leaves at nine. Guests may smoke outside.",
    retrieved_contexts=[LONG, "Nothing. Smoking is not allowed outside, by the way."],
)


def reply(
    evidence: list[dict[str, Any]], supported: bool = True, useful: bool = False
) -> dict[str, Any]:
    right = [{"context": "c1", "quote": "leaves at nine", "whole": True}]
    return {
        "code": "$code",
        "sentences": {
            "s1": {"evidence": right, "supported": True},
            "s2": {"evidence": evidence, "supported": supported},
        },
        "useful": {"c1": {"useful": True}, "c2": {"useful": useful}},
    }


def judged(*replies: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    judge = ScriptedJudge({"joint": list(replies)}, **options)
    (row,) = evaluate([SAMPLE], [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    return row["context_recall"], row["context_precision"]


def test_strict_evidence_makes_a_weak_yes_a_no_and_nothing_else():
    weak = reply([{"context": "c1", "quote": "Dogs travel free", "whole": True}])
    recall, _ = judged(weak)
    assert (recall.value, recall.verdicts[1].code) == (1.0, "weak_evidence")
    recall, _ = judged(weak, evidence="strict")
    assert [verdict.value for verdict in recall.verdicts] == [True, False]
    assert recall.verdicts[1].code == "weak_evidence"
    with pytest.raises(ParameterError, match="evidence='loose'"):
        LLMJudge(ScriptedModel({}), evidence="loose")  # type: ignore[arg-type]  # refused


def test_denial_behind_an_ellipsis_or_alignment_is_detected():
    hidden = reply([{"context": "c2", "quote": "Smoking is ... allowed outside", "whole": True}])
    assert judged(hidden)[0].verdicts[1].details["weak"] == ("broken_quote",)
    refused = "The council ... the plan", "The council refused the plan."
    assert match_quote(Effort(), "en", *refused) == (0, 28, True)
    left_out = reply(
        [{"context": "c2", "quote": "Smoking is allowed outside, by the way", "whole": True}]
    )
    verdict = judged(left_out)[0].verdicts[1]
    assert (verdict.value, verdict.code) == (False, "unverified_evidence")


def test_no_with_a_whole_quote_is_asked_again_once_and_flagged():
    near_miss = reply([{"context": "c2", "quote": "allowed outside", "whole": True}], supported=False)
    recall, _ = judged(near_miss)
    assert (recall.verdicts[1].value, recall.verdicts[1].code) == (False, "contradicted")
    assert not any(span.whole for span in recall.verdicts[1].evidence)
    assert recall.usage.calls == 2
    honest = {
        "code": "$code",
        "sentences": {"s2": {"evidence": [], "missing": "may", "supported": False}},
    }
    recall, _ = judged(near_miss, honest)
    assert (recall.verdicts[1].code, recall.verdicts[1].details["missing"]) == (None, "may")


def test_a_part_without_its_other_part_supports_nothing():
    parts = reply([
        {"context": "c2", "quote": "Smoking", "whole": False},
        {"context": "c1", "quote": "guests may do so", "whole": False},
    ])  # fmt: skip
    recall, _ = judged(parts)
    assert (recall.verdicts[1].value, recall.verdicts[1].code) == (False, "unverified_evidence")


def test_the_evidence_wins_over_useless_unless_it_is_weak():
    named = reply([{"context": "c2", "quote": "Smoking is not allowed outside", "whole": True}])
    _, precision = judged(named)
    assert (precision.verdicts[1].value, precision.verdicts[1].code) == (True, "contradicted")
    weak = reply([{"context": "c2", "quote": "by the way", "whole": True}])
    _, precision = judged(weak)
    assert (precision.verdicts[1].value, precision.verdicts[1].code) == (False, "contradicted")


# ---- an honest judge on data that people marked ----


def _honest(rows: dict[Any, dict[str, Any]]):
    """A judge that says what people marked, and quotes the sentence of it that has most words of the unit."""

    def answer(prompt: Any) -> dict[str, Any]:
        question = read_question(prompt.text)
        shown = list(question.contexts.items())
        labels = rows[question.data["question"], tuple(question.contexts.values())]["labels"]
        useful = labels.get("context_useful", [labels.get("reference_supported")] * len(shown))
        marked = [item for item, label in zip(shown, useful, strict=True) if label]

        def quote(text: str, found: str) -> str:
            return _closest(text, _sentences(found))

        entries, named = {}, set()
        for id_, unit in question.units.items():
            best = max(marked, key=lambda item: _shared(unit, item[1]), default=None)
            found = [{"context": best[0], "quote": quote(unit, best[1]), "whole": True}] if best else []
            named.update(item["context"] for item in found)
            missing = "" if best else unit
            entries[id_] = {"evidence": found, "missing": missing, "supported": best is not None}
        whole = " ".join(question.units.values())
        rated = {
            id_: {
                "quote": quote(whole, text) if (id_, text) in marked and id_ not in named else "",
                "useful": (id_, text) in marked,
            }
            for id_, text in shown
        }
        return {"code": question.code, "sentences": entries, "useful": rated}

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clapnq-dev", "begin-wow-dev"])
def test_honest_judge_is_rarely_flagged_and_asked_once(name):
    path = DATA / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} is not here; benchmarks/README.md says where to get it")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    samples = [Sample.from_dict(row) for row in rows]
    by_sample = {}
    for sample, row in zip(samples, rows, strict=True):
        contexts = sample.retrieved_contexts or ()
        sent = [has_content(text) for text in contexts]  # others are not sent
        labels = dict(row["labels"])
        if "context_useful" in labels:
            labels["context_useful"] = [*compress(labels["context_useful"], sent)]
        by_sample[sample.user_input, tuple(compress(contexts, sent))] = {**row, "labels": labels}
    judge = ScriptedJudge(_honest(by_sample), name=name)
    results = evaluate(samples, [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    assert results.usage.calls == len(samples)
    verdicts = [verdict for row in results for score in row.values() for verdict in score.verdicts]
    codes = Counter(verdict.code for verdict in verdicts)
    for row in results:
        recall = row["context_recall"].verdicts
        if len(recall) > 1 and not any(verdict.value for verdict in recall):
            # People called the reference as a whole not supported: one of its sentences may be, and a no about it is wrong.
            noes = [verdict for score in row.values() for verdict in score.verdicts]
            codes["contradicted"] -= sum(verdict.code == "contradicted" for verdict in noes)
    assert codes["unverified_evidence"] == 0
    assert codes["weak_evidence"] <= 0.03 * len(verdicts)
    assert sum(codes[code] for code in DOUBTFUL) <= 0.03 * len(verdicts)
    rated = [v for row in results for v in row["context_precision"].verdicts if v.value]
    assert sum(verdict.code in DOUBTFUL for verdict in rated) <= 0.02 * len(rated)
    for row, result in zip(rows, results, strict=True):
        label = row["labels"].get("reference_supported")
        if label is not None and split_sentences(row["reference"]):
            assert result["context_recall"].value == float(bool(label))
