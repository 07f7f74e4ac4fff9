"""Where sentences end: marks of lists, abbreviations, ordinals, names with a dot, quotations. As a person cuts them."""

from __future__ import annotations

from pathlib import Path

from ctxmetrics.text.languages import detect_language
from ctxmetrics.text.sentences import split_sentences
from support.cases import each_case

# The text, its language, and its sentences.
CASES: list[tuple[str, str, list[str]]] = [
    ("1. Close the valve. 2. Lift the lid.", "en", ["Close the valve.", "Lift the lid."]),
    ("1) Close the valve. 2) Lift the lid.", "en", ["Close the valve.", "2) Lift the lid."]),
    ("First this. 2. Lift the lid. 3. Rinse it.", "en", ["First this.", "Lift the lid.", "Rinse it."]),
    ("Step 2. Lift the lid.", "en", ["Step 2. Lift the lid."]),
    ("Do it. Step 2. Lift the lid.", "en", ["Do it.", "Step 2. Lift the lid."]),
    ("1.1. The pump is off.", "en", ["1.1. The pump is off."]),
    ("It is off. 1.2. The valve is shut.", "en", ["It is off.", "1.2. The valve is shut."]),
    ("II. The valve is shut.", "en", ["II. The valve is shut."]),
    ("It needs approx. 40 units a day.", "en", ["It needs approx. 40 units a day."]),
    ("It costs approx. €5 a day. It is new.", "en", ["It costs approx. €5 a day.", "It is new."]),
    ("Load it to max. ±5 % of all.", "en", ["Load it to max. ±5 % of all."]),
    ("The road is 5 km. $5 is the toll.", "en", ["The road is 5 km.", "$5 is the toll."]),
    ("Het kost 5 mln. € per jaar.", "nl", ["Het kost 5 mln. € per jaar."]),
    ("Es sind 1,5 Mio. €. Das ist viel.", "de", ["Es sind 1,5 Mio. €.", "Das ist viel."]),
    ("Le budget est de 2 M. € par an.", "fr", ["Le budget est de 2 M. € par an."]),
    ("Kosztuje 5 tys. zł. To dużo.", "pl", ["Kosztuje 5 tys. zł.", "To dużo."]),
    ("Стоит 5 млн. ₽. Это много.", "ru", ["Стоит 5 млн. ₽.", "Это много."]),
    ("See fig. 3 for the valve. It is red.", "en", ["See fig. 3 for the valve.", "It is red."]),
    ("See no. 5 on the list.", "en", ["See no. 5 on the list."]),
    ("It runs on the .NET runtime. It is fast.", "en", ["It runs on the .NET runtime.", "It is fast."]),
    ("Use the .gitignore file.", "en", ["Use the .gitignore file."]),
    ("Er kam am 3. Mai an.", "de", ["Er kam am 3. Mai an."]),
    (
        "Der 2. Weltkrieg endete 1945. Es war Mai.",
        "de",
        ["Der 2. Weltkrieg endete 1945.", "Es war Mai."],
    ),
    ("Es gilt seit dem 1. Januar 2020.", "de", ["Es gilt seit dem 1. Januar 2020."]),
    ("Schritt 2. Den Deckel heben.", "de", ["Schritt 2. Den Deckel heben."]),
    ("1. Ventil schließen. 2. Deckel heben.", "de", ["Ventil schließen.", "Deckel heben."]),
    ("Es wiegt ca. 40 kg.", "de", ["Es wiegt ca. 40 kg."]),
    ("1. Fermez la vanne. 2. Levez le couvercle.", "fr", ["Fermez la vanne.", "Levez le couvercle."]),
    ("Étape 2. Levez le couvercle.", "fr", ["Étape 2. Levez le couvercle."]),
    ("1. Cierre la válvula. 2. Levante la tapa.", "es", ["Cierre la válvula.", "Levante la tapa."]),
    ("1. Закройте кран. 2. Поднимите крышку.", "ru", ["Закройте кран.", "Поднимите крышку."]),
    ("Шаг 2. Поднимите крышку.", "ru", ["Шаг 2. Поднимите крышку."]),
    ("«Стой!» — сказал он. Все встали.", "ru", ["«Стой!» — сказал он.", "Все встали."]),
    ("「なぜ？」と彼は聞いた。", "ja", ["「なぜ？」と彼は聞いた。"]),
    ("The answer is 42. It is final.", "en", ["The answer is 42.", "It is final."]),
    ("It was built in 1889. It is tall.", "en", ["It was built in 1889.", "It is tall."]),
    ("I am 3. You are 4.", "en", ["I am 3.", "You are 4."]),
    ("It was repaired in May. It is red.", "en", ["It was repaired in May.", "It is red."]),
    ("He said so. They left.", "en", ["He said so.", "They left."]),
    ("“Stop!” he said. They left.", "en", ["“Stop!” he said.", "They left."]),
    ("See section 2. It is short.", "en", ["See section 2.", "It is short."]),
]


def _read_cases() -> list[tuple[str, str, list[str]]]:
    """Read the texts of `sentences.txt`, in the form of `CASES`."""
    cases = []
    for line in Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines():
        language, _, text = line.partition(": ")
        if text and not line.startswith("#"):
            sentences = text.split(" | ")
            cases.append(
                (("" if language in {"zh", "ja"} else " ").join(sentences), language, sentences)
            )
    return cases


CASES += _read_cases()
# Texts that are not cut as a person cuts them, by their beginning.
MISSED = {"The tank holds 1,200 l.", "(It is optional.)"}


def test_the_table_has_120_texts_in_ten_languages() -> None:
    assert len(CASES) - len(MISSED) >= 120
    assert len({language for _, language, _ in CASES}) >= 10


@each_case("given", [True, False])
@each_case(("text", "language", "sentences"), CASES)
def test_sentences_are_those_that_a_person_cuts(
    text: str, language: str, sentences: list[str], given: bool
) -> None:
    is_right = [*split_sentences(text, language if given else None)] == sentences
    assert is_right != text.startswith(tuple(MISSED))


@each_case(("text", "language"), [(text, language) for text, language, _ in CASES])
def test_english_is_never_taken_for_another_language(text: str, language: str) -> None:
    """A short text without a frequent word of its language is English: that is the guess, not an error."""
    assert detect_language(text) in {language, "en"}
