"""What the embedded judge notices although the words match, and what it must leave alone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from support.benchmarks import load_benchmark


def support(unit, *contexts, language="en", judge=None):
    request = JudgeRequest(units=(unit,), contexts=contexts, answer=unit, language=language)
    (verdict,) = (judge or LexicalJudge()).support(request)
    return verdict


CONTRADICTED = [
    ("negation", "The pump was not repaired by Weston.", "The pump was repaired by Weston in May."),
    ("negation", "The pump was never repaired.", "The pump was repaired in May."),
    ("negation", "The lighthouse is manned.", "The lighthouse is not manned."),
    ("negation", "There is a lift in the town hall.", "There is no lift in the town hall."),
    ("negation", "The warranty covers rust.", "The warranty does not cover rust."),
    ("negation", "Payments are made in cash.", "Payments are no longer made in cash."),
    ("negation", "The update takes more than 4 minutes.", "The update takes no more than 4 minutes."),
    ("negation", "She refused the offer from Berlin.", "She did not refuse the offer from Berlin."),
    ("negation", "She did not refuse the offer from Berlin.", "She refused the offer from Berlin."),
    ("negation", "The pump did not fail in winter.", "The pump failed in winter."),
    ("negation", "The council rejected the plan.", "The council did not reject the plan."),
    ("negation", "The minister did not deny that she resigned.", "The minister denied resigning."),
    (
        "negation",
        "He denied that the bridge was closed.",
        "He did not deny that the bridge was closed.",
    ),
    ("number", "The ferry takes 25 minutes.", "The ferry takes 40 minutes. The bus takes 25 minutes."),
    (
        "number",
        "The pump is covered for 2 years.",
        "The pump is covered for 1 year. The house is for 2 years.",
    ),
]


@pytest.mark.parametrize(("kind", "unit", "context"), CONTRADICTED)
def test_a_contradicted_yes_is_flagged_or_a_no(kind, unit, context):
    verdict = support(unit, context)
    assert (verdict.value, verdict.code) == (True, "uncertain")
    assert verdict.details["uncertain"] is True
    assert verdict.details["contradiction"]["kind"] == kind
    assert f"contradiction ({kind}: " in verdict.reason
    assert verdict.evidence
    strict = support(unit, context, judge=LexicalJudge(contradiction="no"))
    assert (strict.value, strict.code, strict.evidence) == (False, None, ())
    assert strict.details["contradiction"]["kind"] == kind
    assert strict.details["uncertain"] is False
    assert strict.details["nearest"]


@pytest.mark.parametrize(
    ("unit", "context"),
    [
        ("The pump was not repaired.", "The pump was not repaired."),
        ("The pump did not fail in winter.", "In winter the pump never failed."),
        ("She refused to sign.", "She did not want to come, and she refused to sign."),
        (2 * ("Brisby does not tax the Brisby lottery, but it taxes other lotteries.",)),
        ("The pump wasn't repaired.", "The pump was never repaired."),
        ("The old lighthouse of Brisby is unmanned.", "The old lighthouse of Brisby is not manned."),
        ("Firms lack the staff for nights.", "Firms do not have the staff for nights."),
        (
            "It was the longest tour of the band.",
            "It was not only the longest tour of the band but the dearest.",
        ),
        ("Sales rose in May and fell in June.", "Sales fell in June and rose in May."),
        ("Sales did not fall in Brisby.", "Sales in Brisby rose."),
        ("The ferry to Sorvik costs $12.", "The ferry to Sorvik costs 12 dollars, or 11 euros."),
        ("The tower of Brisby is 42 m tall.", "The tower of Brisby is 42 metres tall."),
        ("Rents grew by 8 percent in Brisby.", "Rents grew by 8 % in Brisby."),
        ("The pump was guaranteed for three years.", "The pump was guaranteed for 3 years."),
        (
            "The bridge was built in 1871 and repaired in 1988.",
            "Built in 1871, the bridge was repaired in 1988.",
        ),
        ("In 2016 Benvia was bought by Arcton.", "In 2016 Arcton bought Benvia."),
        ("In May Anna married Boris.", "In May Boris married Anna."),
        ("No. The pump was repaired in May.", "The pump was repaired in May."),
        ("The update takes 4 minutes at most.", "The update takes no more than 4 minutes."),
        ("The update takes no longer than 4 minutes.", "The update takes up to 4 minutes."),
        ("On one pump the wires were swapped.", "On the pump, made last week, the wires were swapped."),
        (
            "The pump is covered for ten years.",
            "11.1 What is covered\nThe pump is covered for 10 years.",
        ),
        (
            "The warranty on pump HC2 is two years.",
            "The warranty on pump HC2 and sensor RS1 is 2 years.",
        ),
        (
            "The cable is laid 20 cm from the mains cable.",
            "The mains cable of 14 m was near. The cable is laid at a distance of 20 cm from the mains cable.",
        ),
        ("The box costs $499 (€499).", "The box is sold and costs US $499 (€499)."),
    ],
)
def test_what_says_the_same_is_kept(unit, context):
    verdict = support(unit, context)
    assert (verdict.value, verdict.code, verdict.details["contradiction"]) == (True, None, None)
    assert support(unit, context, judge=LexicalJudge(contradiction="no")).value is True


@pytest.mark.parametrize(
    ("language", "unit", "context"),
    [
        ("ru", "Трамваи ходят по мосту с 1994 года.", "Трамваи по мосту не ходят с 1994 года."),
        ("fr", "Les ventes ont augmenté en mars.", "Les ventes n'ont pas augmenté en mars."),
        ("es", "La visita es gratis los lunes.", "La visita no es gratis los lunes."),
        ("hi", "द्वीप पर घर बनाया गया।", "द्वीप पर घर नहीं बनाया गया।"),
        # names in exchanged places
        ("hi", "राम श्याम से बड़ा है।", "श्याम राम से बड़ा है।"),
        ("hi", "राम ने श्याम को हराया।", "श्याम ने राम को हराया।"),
        # Roman numerals of one letter
        ("de", "Kaiser Karl V. dankte 1556 ab.", "Kaiser Karl VI. dankte 1556 ab."),
        ("en", "Charles V abdicated in 1556.", "Charles IV abdicated in 1556."),
        ("fr", "Charles X régna en France.", "Charles IX régna en France."),
        ("de", "Seit 1990 wird dunkles Bier gebraut.", "Seit 1990 wird kein dunkles Bier gebraut."),
        # a negation at the end of its clause
        ("de", "Der Laden öffnet.", "Der Laden öffnet nicht."),
        ("de", "Anna kennt den Bürgermeister.", "Anna kennt den Bürgermeister nicht."),
        ("nl", "Anna kent de burgemeester.", "Anna kent de burgemeester niet."),
        ("sv", "Anna känner borgmästaren.", "Anna känner borgmästaren inte."),
        ("da", "Butikken åbner i morgen.", "Butikken åbner ikke."),
    ],
)
def test_other_languages(language, unit, context):
    assert support(unit, context, language=language).code == "uncertain"
    assert support(context, context, language=language).code is None


@pytest.mark.parametrize(
    ("language", "unit", "context"),
    [
        ("de", "Der Bus fährt sonntags.", "Der Bus fährt sonntags, die Bahn aber nicht."),
        ("de", "Das Museum zeigt Bilder.", "Das Museum zeigt Bilder; Skulpturen zeigt es nicht."),
        ("de", "Der Laden öffnet im Mai nicht.", "Im Mai öffnet der Laden nicht."),
        ("nl", "De winkel opent om negen uur.", "De winkel opent om negen uur, op zondag niet."),
    ],
)
def test_a_last_negation_denies_its_own_clause(language, unit, context):
    verdict = support(unit, context, language=language)
    assert (verdict.value, verdict.code) == (True, None)


def test_another_context_that_says_what_the_unit_says_clears_it():
    unit, wrong, right = (
        "The pump was repaired.",
        "The pump was not repaired.",
        "Yes, the pump was repaired.",
    )
    assert support(unit, wrong).code == "uncertain"
    for contexts in ((wrong, right), (right, wrong)):
        verdict = support(unit, *contexts)
        assert (verdict.value, verdict.code) == (True, None)
        assert [span.quote for span in verdict.evidence] == [
            right,
            wrong,
        ]  # each is enough when judged alone


@pytest.mark.slow
def test_every_kind_of_attack_reaches_its_bar():
    benchmark = load_benchmark("attacks")
    folder = load_benchmark("agreement").DATA
    data = folder if (folder / benchmark.BEGIN).is_file() else None
    figures = benchmark.measure(data)
    for kind, bar in benchmark.BARS.items():
        assert figures["caught"][kind]["templates"]["share"] >= bar, kind
        if data and figures["caught"][kind].get("data", {"n": 0})["n"] > 5:
            assert figures["caught"][kind]["data"]["share"] >= bar, kind
    for kind, found in figures["kept"].items():
        assert found["templates"]["share"] >= benchmark.KEPT, kind
        if data and found["data"]["n"] > 5:
            assert found["data"]["share"] >= benchmark.KEPT, kind
    for origin in ("templates", *(("data",) if data else ())):
        assert figures["unchanged"][origin]["share"] <= benchmark.FLAGGED


def test_no_language_is_judged_worse_than_by_the_first_version():
    benchmark = load_benchmark("languages")
    figures = benchmark.measure()
    assert len(figures) == 10
    for language, found in figures.items():
        assert found["supported"] + found["unsupported"] >= 15
        assert found["balanced_accuracy"] >= benchmark.BEFORE[language] - 1e-9, language
        assert found["flagged_as_no"] >= found["balanced_accuracy"], language


DOUBTED = Sample(
    id="q1",
    reference="The pump is covered for 2 years.",
    retrieved_contexts=["The pump is covered for 1 year. Registration ends after 2 years."],
)


def test_a_summary_names_the_contradictions():
    summary = evaluate([DOUBTED], [ContextRecall()], progress=False).summary()
    assert "context_recall: number: '2 years' against '1 year' (q1, s1)" in str(summary)


def test_the_number_in_a_name_is_not_that_of_a_quantity():
    context = "The outdoor unit is covered for 3 years. The HC1 controller and the HC2 controller are covered for 1 year."
    for unit in ("Yes, the HC2 is covered for 2 years.", "The HC1 controller is covered for 2 years."):
        verdict = support(unit, context)
        assert (verdict.value, verdict.details["missing_numbers"]) == (False, ("2 years",)), unit
    assert support("The HC2 controller is covered for 1 year.", context).value
    other = support("The HC3 controller is covered for 1 year.", context)
    assert (other.value, other.details["missing_numbers"]) == (False, ("3",))


def test_at_most_two_contradictions_are_named():
    samples = [replace(DOUBTED, id=f"q{number}") for number in range(9)]
    text = str(evaluate(samples, [ContextRecall()], progress=False).summary())
    assert text.count("context_recall: number") == 2
    assert "uncertain 9" in text


def test_contradictions_are_named_in_order_of_sentences():
    """In every process: the order of a set of texts is another one in each."""
    things = ("pump", "boiler", "heater", "cooler", "filter")
    several = Sample(
        id="q1",
        reference=" ".join(f"The {thing} is covered for 2 years." for thing in things),
        retrieved_contexts=[
            f"The {thing} is covered for 1 year. Registration ends after 2 years." for thing in things
        ],
    )
    clear = replace(several, retrieved_contexts=[several.reference])
    before, after = (evaluate([one], [ContextRecall()], progress=False) for one in (several, clear))
    places = re.findall(r"first run only, q1, (s\d)", str(before.compare(after)))
    assert places == ["s1", "s2", "s3", "s4", "s5"]


@pytest.mark.parametrize(
    "lead_in",
    [
        "According to the retrieved text, ",
        "Based on the provided context ",
        "The document states that ",
    ],
)
def test_a_lead_in_carries_no_weight(lead_in):
    unit, context = "the pump was repaired in May.", "The pump was repaired in May by Weston."
    assert support(lead_in + unit, context).details["score"] == support(unit, context).details["score"]
    # words that are no lead-in count: according, weston
    assert support(f"According to Weston, {unit}", "Nothing.").details["coverage"] == 0
    assert "According" in support(f"According to Bell, {unit}", context).details["missing_words"]


TAKEN_BACK = [
    ("en", "The mayor took bribes.", "The mayor allegedly took bribes."),
    ("en", "The museum is open on Sundays.", "The museum is open on Sundays if it does not rain."),
    ("en", "The bridge carries trams.", "Until 2019 the bridge carries trams."),
    ("en", "The drug lowers blood pressure.", "The drug may lower blood pressure."),
    ("en", "The plant needs daily watering.", "The plant needs daily watering unless it rains."),
    ("en", "The comet hits Earth in 2040.", "Some believe the comet hits Earth in 2040."),
    ("en", "Trains stop.", "If it snows, trains stop."),
    ("de", "Der Bürgermeister nahm Geld an.", "Der Bürgermeister nahm angeblich Geld an."),
    ("fr", "Le maire a volé l'argent.", "Le maire a prétendument volé l'argent."),
    ("es", "El puente está abierto al público.", "El puente está abierto al público si no llueve."),
]


@pytest.mark.parametrize(("language", "unit", "context"), TAKEN_BACK)
def test_a_statement_that_is_taken_back_is_flagged(language, unit, context):
    verdict = support(unit, context, language=language)
    assert (verdict.value, verdict.code) == (True, "uncertain")
    assert verdict.details["contradiction"]["kind"] == "reservation"
    # another sentence that states the unit clears the doubt
    assert support(unit, context, unit, language=language).code is None


@pytest.mark.parametrize(
    ("unit", "context"),
    [
        ("The lake is 40 m deep.", "The lake is 40 m deep; some believe that a monster lives in it."),
        ("The inn has a bar.", "The inn, allegedly haunted, has a bar."),
        ("The drug may lower blood pressure.", "The drug may lower blood pressure."),
        ("It has a minimum age.", "It has a minimum age, while others have none if the parents agree."),
        ("Raise the curve by 0.1.", "If all rooms are cold, raise the curve by 0.1."),
    ],
)
def test_words_about_something_else_take_nothing_back(unit, context):
    verdict = support(unit, context)
    assert (verdict.value, verdict.code) == (True, None)


def test_a_condition_that_the_question_names_takes_nothing_back():
    sample = Sample(
        user_input="What does it cost if I lose the key?",
        reference="The key costs 20 euros.",
        retrieved_contexts=["The key costs 20 euros if you lose it."],
    )
    assert ContextRecall().score(sample).verdicts[0].code is None
    other = replace(sample, user_input="What does the key cost?")
    assert ContextRecall().score(other).verdicts[0].code == "uncertain"


def test_a_verb_that_denies_in_swahili_is_seen():
    includes = "Bei inajumuisha kifungua kinywa."
    excludes = "Bei haijumuishi kifungua kinywa."
    assert support(includes, excludes).code == "uncertain"
    assert support(excludes, includes).code == "uncertain"
    assert support(excludes, excludes).code is None
