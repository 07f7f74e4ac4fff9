"""Evidence that takes back what it says without a "not"."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.evidence.quotes import QuotedUnit
from ctxmetrics.judges.evidence.reservations import find_reservation


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ("The expedition reached the coast.", "The expedition failed to reach the coast."),
        ("The expedition reached the coast.", "The expedition almost reached the coast."),
        ("The expedition reached the coast.", "The expedition was unable to reach the coast."),
        ("The yard has a paper roof.", "The yard lacks a paper roof."),
        ("The works belong to the Tann family.", "The works belonged to the Tann family until 2019."),
        ("The works belong to the Tann family.", "The works used to belong to the Tann family."),
        ("The tower is open on Sundays.", "The tower may be open on Sundays."),
        ("The guest is allergic to nuts.", "The guest is not known to be allergic to nuts."),
        ("The ferry stops at noon.", "The ferry stops at noon if the river is frozen."),
        ("The ferry stops at noon.", "If the river is frozen, the ferry stops at noon."),
        ("The ferry stops at noon.", "The ferry stops at noon unless it is full."),
        ("The song was written by Abbot Lull.", "Reportedly the song was written by Abbot Lull."),
        ("The song was written by Abbot Lull.", "The song is said to be written by Abbot Lull."),
        (
            "The works reached the coast by rail.",
            "The works failed to reach the coast by rail, and an heir reached old age.",
        ),
        (
            "The song was written by Abbot Lull.",
            "Critics dispute the claim that the song was written by Abbot Lull.",
        ),
        ("Башня открыта по воскресеньям.", "Башня, возможно, открыта по воскресеньям."),
        ("Песню написал аббат Лулл.", "Песню якобы написал аббат Лулл."),
    ],
)
def test_evidence_with_a_reservation_is_found(unit: str, sentence: str) -> None:
    language = "ru" if unit[0] > "z" else "en"
    found = find_reservation(unit, [sentence], language)
    assert found is not None
    assert found.kind == "reservation"
    assert QuotedUnit(unit, unit, [sentence], language).find_denial([sentence], [sentence]) is not None


@pytest.mark.parametrize(
    ("unit", "sentence", "language"),
    [
        ("Le bateau atteint la côte en mai.", "Le bateau atteint presque la côte en mai.", "fr"),
        ("El barco alcanzó la costa en mayo.", "El barco alcanzó casi la costa en mayo.", "es"),
        ("Лодка в порт вошла в мае.", "Лодка почти в порт вошла в мае.", "ru"),
    ],
)
def test_an_article_stands_behind_the_marker(unit: str, sentence: str, language: str) -> None:
    """The first content word is looked for behind words that are none in the text's language."""
    assert find_reservation(unit, [sentence], language) is not None


@pytest.mark.parametrize(
    ("unit", "sentences"),
    [
        # The unit has the reservation itself.
        ("The tower may be open on Sundays.", ["The tower may be open on Sundays, too."]),
        (
            "The works belonged to the Tann family until 2019.",
            ["They belonged to the Tann family until 2019."],
        ),
        ("The expedition did not reach the coast.", ["The expedition failed to reach the coast."]),
        # The word takes back something else, or nothing.
        ("The tower is open on Sundays.", ["The tower is open on Sundays, and May is cold."]),
        ("The ferry stops at noon.", ["The ferry stops at noon, even if it is full."]),
        ("The pump is used to clean the yard.", ["The old pump is used to clean the yard."]),
        # The sentence says it again, without.
        (
            "A papyrus dates the books to the 2nd century.",
            ["Scholars tried to date it late, but a papyrus dates the books to the 2nd century."],
        ),
        ("Marrow is found in bones.", ["Marrow is a tissue which may be found in bones."]),
        # Another sentence says it without.
        ("The ferry stops at noon.", ["The ferry may stop at noon.", "The ferry stops at noon."]),
        # The sentence holds little of the unit.
        ("The red ferry of Graz carries mail, bread and fish.", ["The ferry may be late."]),
        ("El ferry para al mediodia.", ["El ferry para al mediodia."]),
        ("北京是中国的首都。", ["北京是中国的首都。"]),
    ],
)
def test_what_takes_nothing_back_is_not_found(unit: str, sentences: list[str]) -> None:
    assert find_reservation(unit, sentences, "es" if unit.startswith("El") else "en") is None


@pytest.mark.parametrize(
    ("unit", "sentence", "language"),
    [
        ("Das Werk baut Traktoren.", "Das Werk baute bis 2011 Traktoren.", "de"),
        ("La fábrica produce motores.", "La fábrica produjo motores hasta 2009.", "es"),
        ("La linea serve Pavia.", "La linea ha servito Pavia fino al 2013.", "it"),
        ("Завод выпускает тракторы.", "Завод выпускал тракторы до 2012 года.", "ru"),
        ("Kopalnia wydobywa węgiel.", "Kopalnia wydobywała węgiel do 1998 roku.", "pl"),
        ("The line runs to Dover.", "Until 2016 the line ran to Dover.", "en"),
        ("The city built a tram line.", "The city plans to build a tram line.", "en"),
    ],
)
def test_other_form_of_a_verb_is_taken_back(unit: str, sentence: str, language: str) -> None:
    assert find_reservation(unit, [sentence], language) is not None


@pytest.mark.parametrize(
    ("unit", "sentence", "language"),
    [
        ("Il duca avvelenò la moglie.", "Secondo una leggenda il duca avvelenò la moglie.", "it"),
        ("Il viaggio è gratuito.", "Il viaggio è gratuito se si prenota in anticipo.", "it"),
        ("Król zabił brata.", "Podobno król zabił brata.", "pl"),
        ("Wstęp jest bezpłatny.", "Wstęp jest bezpłatny, jeśli kupi się bilet wcześniej.", "pl"),
        ("La entrada es gratuita.", "La entrada es gratuita si se reserva antes.", "es"),
        (
            "Le remboursement est intégral.",
            "Le remboursement est intégral si le billet est rendu.",
            "fr",
        ),
        ("国王杀死了他的弟弟。", "据说国王杀死了他的弟弟。", "zh"),
        ("参观是免费的。", "如果提前预约，参观是免费的。", "zh"),
    ],
)
def test_hearsay_and_conditions_in_other_languages(unit: str, sentence: str, language: str) -> None:
    assert find_reservation(unit, [sentence], language) is not None


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ("El rey mató a su hermano.", "Supuestamente el rey mató a su hermano."),
        ("Król zabił brata.", "Podobno król zabił brata."),
        ("Le général a trahi son pays.", "Le général aurait trahi son pays, selon la rumeur."),
    ],
)
def test_short_text_taken_for_english_has_all_markers(unit: str, sentence: str) -> None:
    assert find_reservation(unit, [sentence], "en") is not None


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ("The hotel has a pool.", "The hotel, until 2015 a hospital, has a pool."),
        ("The road leads to Bern.", "The road, which until 1990 was a track, leads to Bern."),
        ("The inn has a bar.", "The inn, allegedly haunted, has a bar."),
        (
            "The castle burned down in 1702.",
            "The castle burned down in 1702, and it is said that a ghost lives there.",
        ),
        ("The lake is 40 m deep.", "The lake is 40 m deep; some believe that a monster lives in it."),
        (
            "The shop opens at nine.",
            "The shop opens at nine, and if you are early, you can wait inside.",
        ),
        ("The fee is 20 euros.", "The fee is 20 euros; if you have questions, call us."),
        ("The drug is used in the treatment of pain.", "The drug is a salt used to treat pain."),
    ],
)
def test_reservation_about_another_statement_is_none(unit: str, sentence: str) -> None:
    assert find_reservation(unit, [sentence], "en") is None


@pytest.mark.parametrize(
    ("unit", "sentence"),
    [
        ("The line runs to Dover.", "From the port, until 2016, the line ran to Dover."),
        ("The song was written by Abbot Lull.", "The song was, allegedly, written by Abbot Lull."),
        ("The warranty covers water damage.", "The warranty covers water damage, if it was sealed."),
        ("The engine runs on gas.", "The engine, if properly serviced, runs on gas."),
        (
            "Guests get a refund.",
            "Guests get a refund if they cancel early, and if they have a receipt.",
        ),
    ],
)
def test_reservation_between_commas_about_the_unit(unit: str, sentence: str) -> None:
    assert find_reservation(unit, [sentence], "en") is not None


@pytest.mark.parametrize(
    ("unit", "sentence", "is_found"),
    [
        (
            "The bank has a branch in Ulm.",
            "The bank had a branch in Ulm until it closed in 2018.",
            True,
        ),
        ("The town is the capital.", "The town is the former capital.", True),
        ("Travellers need no visa.", "Travellers need no visa if they stay less than 30 days.", True),
        ("The minister took bribes.", "Opponents claim that the minister took bribes.", True),
        ("The tower is open on Sundays.", "The tower is, perhaps, open on Sundays.", True),
        # A unit about the past, a marker at the end of another clause.
        ("Lund was the head of the clinic.", "Lund was the head of the clinic until 2013.", False),
        ("The crew saved the ship.", "Although the pumps failed, the crew saved the ship.", False),
        ("The crew did not reach the coast.", "The crew failed to reach the coast.", False),
    ],
)
def test_reservation_by_clause_and_tense(unit: str, sentence: str, is_found: bool) -> None:
    assert (find_reservation(unit, [sentence], "en") is not None) == is_found


def test_condition_that_the_question_names_is_no_reservation() -> None:
    unit = "You pay 20 euros."
    sentence = "If you lose the key, you pay 20 euros."
    assert find_reservation(unit, [sentence], "en") is not None
    assert find_reservation(unit, [sentence], "en", "What happens if I lose my key?") is None
    assert find_reservation(unit, [sentence], "en", "How much do I pay?") is not None
    claim = QuotedUnit(unit, unit, [sentence], "en", "What happens when a key is lost?")
    assert claim.find_denial([sentence], [sentence]) is None


@pytest.mark.parametrize(
    ("unit", "sentence", "language"),
    [
        ("The vase is from the Ming era.", "The vase is presumably from the Ming era.", "en"),
        ("The vase is from the Ming era.", "The vase is probably from the Ming era.", "en"),
        ("The vase is from the Ming era.", "The vase is most likely from the Ming era.", "en"),
        (
            "The vase is from the Ming era.",
            "It is doubtful whether the vase is from the Ming era.",
            "en",
        ),
        ("The bridge can carry trucks.", "Engineers doubt that the bridge can carry trucks.", "en"),
        ("The mayor resigned.", "The mayor apparently resigned.", "en"),
        ("The mayor resigned.", "It is unclear whether the mayor resigned.", "en"),
        ("The drug cures migraine.", "There is no proof that the drug cures migraine.", "en"),
        ("The drug cures migraine.", "Some studies suggest that the drug cures migraine.", "en"),
        ("The pool is heated.", "The pool is heated only in winter.", "en"),
        ("The pool is heated.", "The pool is heated, but only on Sundays.", "en"),
        ("Die Vase stammt aus der Ming-Zeit.", "Die Vase stammt vermutlich aus der Ming-Zeit.", "de"),
        ("Das Bad ist beheizt.", "Das Bad ist nur im Winter beheizt.", "de"),
        ("Le vase date de la dynastie Ming.", "Le vase date probablement de la dynastie Ming.", "fr"),
        ("La piscine est chauffée.", "La piscine est chauffée seulement en hiver.", "fr"),
        ("La piscina está climatizada.", "La piscina está climatizada solo en invierno.", "es"),
        ("Il vaso è di epoca Ming.", "Il vaso è probabilmente di epoca Ming.", "it"),
        ("Wazon pochodzi z epoki Ming.", "Wazon prawdopodobnie pochodzi z epoki Ming.", "pl"),
        ("Бассейн подогревается.", "Бассейн подогревается только в мороз.", "ru"),
    ],
)
def test_a_guess_or_a_limit_takes_back(unit: str, sentence: str, language: str) -> None:
    assert find_reservation(unit, [sentence], language) is not None


@pytest.mark.parametrize(
    ("unit", "sentence", "question"),
    [
        # The unit has the limit's word, or the question asks about it.
        ("The pool is heated in winter.", "The pool is heated only in winter.", ""),
        ("The pool is heated.", "The pool is heated only in winter.", "Is it heated in winter?"),
        # A year says when.
        ("The bridge was built of stone.", "The bridge was built of stone only in 1990.", ""),
        ("The pool is heated in winter.", "The pool is heated not only in winter.", ""),
        # A denied doubt is none.
        (
            "The bridge can carry trucks.",
            "There is no doubt that the bridge can carry trucks.",
            "",
        ),
        ("The bridge can carry trucks.", "No one doubts that the bridge can carry trucks.", ""),
        # It is about something else.
        (
            "The pool is heated.",
            "The pool is heated; guests may bring dogs only in winter.",
            "",
        ),
    ],
)
def test_limit_or_doubt_that_takes_nothing_back(unit: str, sentence: str, question: str) -> None:
    assert find_reservation(unit, [sentence], "en", question) is None
