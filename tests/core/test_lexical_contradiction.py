"""What the embedded judge notices although the words match, and what it must leave alone."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge


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
    ("antonym", "Sales rose after the merger.", "Sales fell after the merger."),
    ("antonym", "The plan was accepted by the council.", "The plan was rejected by the council."),
    ("antonym", "Smoking is legal in the station.", "Smoking is illegal in the station."),
    ("unit", "The ferry to Sorvik costs 12 dollars.", "The ferry to Sorvik costs 12 euros."),
    ("unit", "The ferry to Sorvik costs $12.", "The ferry to Sorvik costs €12."),
    ("unit", "The tower of Brisby is 42 feet tall.", "The tower of Brisby is 42 metres tall."),
    ("unit", "Rents grew by 8 dollars in Brisby.", "Rents grew by 8 % in Brisby."),
    ("unit", "The box costs €499 (€499).", "The box costs $499 (€499)."),
    ("negation", "The update takes more than 4 minutes.", "The update takes no more than 4 minutes."),
    ("number", "The bridge was built in 1988.", "The bridge was built in 1871 and repaired in 1988."),
    ("number", "The ferry takes 25 minutes.", "The ferry takes 40 minutes. The bus takes 25 minutes."),
    (
        "date",
        "The council approved the plan in May.",
        "The council approved the plan in October. It met in May.",
    ),
    ("name", "The first mayor was Hale.", "The first mayor was Okoro. He was followed by Hale in 1953."),
    ("role", "In 2016 Benvia bought Arcton.", "In 2016 Arcton bought Benvia."),
    ("role", "In 2016 Benvia was bought by Arcton.", "In 2016 Arcton was bought by Benvia."),
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
        ("Weston was born on May 12, 1953.", "Weston was born on 1953-05-12."),
        ("Weston was born on 12 May 1953.", "Weston was born on 12.05.1953."),
        ("The line was electrified in the '60s.", "The line was electrified in the 1960s."),
        ("Weston moved to the US in 1953.", "In 1953 Weston moved to the United States."),
        ("In 2016 Benvia was bought by Arcton.", "In 2016 Arcton bought Benvia."),
        ("In May Anna married Boris.", "In May Boris married Anna."),
        ("No. The pump was repaired in May.", "The pump was repaired in May."),
        ("The update takes 4 minutes at most.", "The update takes no more than 4 minutes."),
        ("The update takes no longer than 4 minutes.", "The update takes up to 4 minutes."),
        ("On one pump the wires were swapped.", "On the pump, made last week, the wires were swapped."),
        ("The pump is covered for ten years.", "11.1 What is covered\nThe pump is covered for 10 years."),
        ("The warranty on pump HC2 is two years.", "The warranty on pump HC2 and sensor RS1 is 2 years."),
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
        ("de", "Seit 1990 wird dunkles Bier gebraut.", "Seit 1990 wird kein dunkles Bier gebraut."),
        ("fr", "Les ventes ont diminué de 9 % en mars.", "Les ventes ont augmenté de 9 % en mars."),
        ("es", "La visita guiada cuesta 6 dólares.", "La visita guiada cuesta 6 euros."),
        ("zh", "第二年销售额下降百分之八。", "第二年销售额增长百分之八。"),
        ("hi", "द्वीप तक नाव का टिकट 50 डॉलर का है।", "द्वीप तक नाव का टिकट 50 रुपये का है।"),
    ],
)
def test_other_languages(language, unit, context):
    assert support(unit, context, language=language).code == "uncertain"
    assert support(context, context, language=language).code is None


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
    benchmark = load("attacks")
    data = benchmark.DATA if (benchmark.DATA / benchmark.BEGIN).is_file() else None
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
    benchmark = load("languages")
    figures = benchmark.measure()
    assert len(figures) == 10
    for language, found in figures.items():
        assert found["supported"] + found["unsupported"] >= 15
        assert found["balanced_accuracy"] >= benchmark.BEFORE[language] - 1e-9, language
        assert found["flagged_as_no"] >= found["balanced_accuracy"], language


def load(name):
    import importlib.util
    import sys
    from pathlib import Path

    path = Path(__file__).resolve().parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
