"""References that say that there is no answer, in the languages of the form, and statements that look like them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, Sample, evaluate
from ctxmetrics.samples.refusals import LONGEST, find_refusal
from ctxmetrics.samples.unanswerable import is_refusal, phrase_kind
from support.cases import each_case
from support.command import run_command

ANSWERS: dict[str, Any] = json.loads(
    Path(__file__).with_name("answers.json").read_text(encoding="utf-8")
)
HALVES = ("built", "checked", "held_out", "added")
# People's references, beside the checkout.
FAMILIES = Path(__file__).parents[4] / "shared" / "data"
CONTEXTS = ["The bridge opened in 1921."]


def texts(kind: str) -> list[tuple[str, str]]:
    """Return the language and the text of each reference of a kind."""
    return [
        (language, reference)
        for half in HALVES
        for language, references in ANSWERS[half][kind].items()
        for reference in references
    ]


def test_the_tables_are_large_enough() -> None:
    counts = {kind: len(texts(kind)) for kind in ("refusal", "statement", "mixed")}
    assert counts["refusal"] >= 120
    assert counts["statement"] >= 100
    assert len({language for language, _ in texts("refusal")}) >= 19


# Written after the form: they may be refusals, and are flagged.
OPEN = {
    "The exact year is unknown, as the context does not mention it.",
    "The context only talks about cats, so the question cannot be answered.",
    "文中并未说明原因。",
    "لا يذكر السياق سبب ذلك.",
}


@each_case(("language", "text"), texts("refusal"))
def test_a_refusal_is_recognised(language: str, text: str) -> None:
    assert is_refusal(text) or (text in OPEN and phrase_kind(text) == "unsure"), language


@each_case(("language", "text"), texts("statement"))
def test_a_statement_stays_one(language: str, text: str) -> None:
    assert phrase_kind(text) in {"", "unsure", "yes_no"}, language


@pytest.mark.parametrize(("language", "text"), texts("mixed"))
def test_a_refusal_beside_a_statement_is_flagged(language: str, text: str) -> None:
    assert phrase_kind(text) == "unsure", language


@pytest.mark.parametrize(
    "text",
    [
        "The text does not contain sugar.",
        "I do not know how to swim, said Anna.",
        "The passage is not present in the second edition in the library.",
        "The question was not answered by the minister.",
        "The document does not mention Paris.",
        "The date of the merger is not mentioned in the text.",
        "It is unknown who built the tower.",
        "No answer was received from the ministry.",
        "There is no mention of Arthur before 800.",
        "Es gibt keine Erwähnung von Artus vor 800.",
        "No hay mención de Arturo antes de 800.",
    ],
)
def test_an_open_case_is_flagged(text: str) -> None:
    assert phrase_kind(text) == "unsure"


# A text that does not name a fact: it may be a refusal.
UNNAMED = [
    ("en", "The text does not mention the price."),
    ("de", "Der Text nennt den Preis nicht."),
    ("de", "Der Text nennt keinen Preis."),
    ("de", "Der Text erwähnt den Preis nicht."),
    ("fr", "Le texte ne mentionne pas le prix."),
    ("es", "El texto no menciona el precio."),
    ("it", "Il testo non menziona il prezzo."),
    ("pt", "O texto não menciona o preço."),
    ("nl", "De tekst vermeldt de prijs niet."),
    ("nl", "De tekst noemt de prijs niet."),
    ("ru", "Текст не упоминает цену."),
    ("ru", "В тексте не упоминается цена."),
    ("uk", "Текст не згадує ціну."),
    ("pl", "Tekst nie wspomina o cenie."),
    ("pl", "Tekst nie podaje ceny."),
    ("cs", "Text nezmiňuje cenu."),
    ("cs", "Text neuvádí cenu."),
    ("sv", "Texten nämner inte priset."),
    ("da", "Teksten nævner ikke prisen."),
    ("no", "Teksten nevner ikke prisen."),
    ("fi", "Teksti ei mainitse hintaa."),
    ("tr", "Metin fiyattan bahsetmiyor."),
    ("tr", "Metin fiyatı belirtmiyor."),
    ("ar", "النص لا يذكر السعر."),
    ("ar", "لا يذكر النص السعر."),
    ("he", "הטקסט אינו מזכיר את המחיר."),
    ("fa", "متن قیمت را ذکر نمی‌کند."),
    ("fa", "متن به قیمت اشاره نمی‌کند."),
    ("fa", "در متن به قیمت اشاره نشده است."),
    ("zh", "文本没有提到价格。"),
    ("zh", "文中未提及价格。"),
    ("ja", "テキストは価格に言及していません。"),
    ("ko", "텍스트는 가격을 언급하지 않습니다."),
    ("vi", "Văn bản không đề cập đến giá."),
    ("id", "Teks tidak menyebutkan harga."),
    ("th", "ข้อความไม่ได้กล่าวถึงราคา"),
    ("el", "Το κείμενο δεν αναφέρει την τιμή."),
    ("ro", "Textul nu menționează prețul."),
    ("hu", "A szöveg nem említi az árat."),
    ("de", "Im Text wird der Preis nicht genannt."),
    ("de", "Der Artikel gibt den Preis nicht an."),
    ("de", "Das Dokument enthält den Preis nicht."),
    ("nl", "De prijs staat niet in de tekst."),
    ("nl", "Het artikel geeft de prijs niet."),
    ("nl", "Het document bevat de prijs niet."),
    ("sv", "Texten nämner priset inte."),
    ("da", "Teksten nævner prisen ikke."),
    ("uk", "Ціна в тексті не вказана."),
    ("hu", "Az ár nincs megemlítve a szövegben."),
    ("en", "The article doesn't go into the price."),
    ("en", "The provided text does not elaborate on the causes."),
    ("de", "Der Text geht auf den Preis nicht ein."),
    ("nl", "De tekst gaat niet in op de prijs."),
    ("sv", "Texten tar inte upp priset."),
    ("da", "Teksten kommer ikke ind på prisen."),
    ("pl", "Tekst nie odnosi się do ceny."),
    ("hu", "A szöveg nem tér ki az árra."),
    ("id", "Teks tidak menyinggung harga."),
]


@each_case(("language", "text"), UNNAMED)
def test_a_text_that_leaves_a_fact_out_is_flagged(language: str, text: str) -> None:
    assert phrase_kind(text) == "unsure", language


def test_words_that_fill_an_empty_cell() -> None:
    marks = ["N/A", "n/a", "none", "None.", "Unknown", "unknown.", "-", "null", "nan", "NaN", "NA"]
    assert {text: phrase_kind(text) for text in marks} == dict.fromkeys(marks, "mark")
    names = ["Na", "Nan", "Nana", "Noneso", "Unknown Pleasures"]
    assert {text: phrase_kind(text) for text in names} == dict.fromkeys(names, "")


def test_a_pointer_adds_nothing_unless_it_holds_a_fact() -> None:
    refusal = "I don't have that information."
    assert phrase_kind(f"{refusal} Please contact support.") == "refusal"
    assert phrase_kind(f"{refusal} Could you rephrase the question?") == "refusal"
    assert phrase_kind(f"{refusal} Please contact support at 555 1234.") == "unsure"
    assert phrase_kind("Please contact support.") == ""


def test_a_long_text_is_not_read() -> None:
    refusal = "The text holds no information about the bridge"
    assert find_refusal("The text contains no information about the bridge") == "refusal"
    assert find_refusal(refusal + " and the river" * LONGEST) == ""


@pytest.mark.skipif(not FAMILIES.is_dir(), reason="the human-labelled data is not beside this checkout")
def test_no_reference_of_people_is_a_refusal() -> None:
    kinds: Counter[str] = Counter()
    for path in sorted(FAMILIES.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for reference in [row.get("reference") or "", *(row.get("references") or ())]:
                if reference:
                    kinds[phrase_kind(reference)] += 1
    assert kinds.total() == 3779
    assert kinds["refusal"] == kinds["mark"] == 0
    assert kinds["unsure"] <= 0.013 * kinds.total()


RAGAS = "The answer to given question is not present in context"
OPEN_REFERENCE = "The document does not mention Paris."


def test_a_refusal_has_no_value_and_an_open_one_a_message() -> None:
    metrics = [ContextRecall(), ContextPrecision()]
    samples = [
        Sample(reference=reference, retrieved_contexts=CONTEXTS)
        for reference in (RAGAS, "None", OPEN_REFERENCE, "The bridge opened in 1921.")
    ]
    results = evaluate(samples, metrics, progress=False)
    codes = [row["context_recall"].reason_code for row in results]
    assert codes == ["unanswerable", "unanswerable", None, None]
    assert [row["context_precision"].reason_code for row in results] == codes
    assert [row["context_recall"].value for row in results] == [None, None, 0.0, 1.0]
    message = "the reference may say that there is no answer; it counts as a statement"
    assert [row["context_recall"].message for row in results][2:] == [message, None]
    notes = results.summary().notes
    assert "2 questions without an answer, not in the means" in notes
    assert any(note.startswith("1 reference of these a word such as 'None'") for note in notes)
    assert any(note.startswith("1 reference that may say that there is no answer") for note in notes)


def test_a_label_decides_an_open_case() -> None:
    for label, value in ((True, None), (False, 0.0)):
        sample = Sample(
            reference=OPEN_REFERENCE, retrieved_contexts=CONTEXTS, labels={"unanswerable": label}
        )
        results = evaluate([sample], [ContextRecall()], progress=False)
        score = results[0]["context_recall"]
        assert score.value == value
        assert (
            score.message != "the reference may say that there is no answer; it counts as a statement"
        )
        assert not any("may say" in note for note in results.summary().notes)


def test_one_refusal_among_several_references_does_not_count() -> None:
    """Half of the other reference is stated: the refusal neither wins nor hides its value."""
    half = "The bridge opened in 1921. It is painted green."
    sample = Sample(references=[RAGAS, half], retrieved_contexts=CONTEXTS)
    assert ContextRecall().score(sample).value == 0.5
    both = Sample(references=[RAGAS, "N/A"], retrieved_contexts=CONTEXTS)
    assert ContextRecall().score(both).reason_code == "unanswerable"


def test_facts_that_are_refusals() -> None:
    metric = ContextRecall(unit="fact")
    alone = Sample(reference_facts=[RAGAS], retrieved_contexts=CONTEXTS)
    assert metric.score(alone).reason_code == "unanswerable"
    with_reference = Sample(
        reference="No answer.", reference_facts=[CONTEXTS[0]], retrieved_contexts=CONTEXTS
    )
    assert metric.score(with_reference).value == 1.0


def test_the_command_says_what_is_open(tmp_path: Path) -> None:
    rows = [
        {"user_input": "Why?", "reference": reference, "retrieved_contexts": CONTEXTS}
        for reference in (RAGAS, "Unknown", OPEN_REFERENCE, CONTEXTS[0])
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = " ".join(run_command("score", file, "--metric", "context_recall").stdout.split())
    assert "2 questions without an answer" in output
    assert "1 reference of these a word such as 'None' or 'Unknown'" in output
    assert "1 reference that may say that there is no answer, counted as statements" in output


@pytest.mark.parametrize(
    "text",
    [
        "There is no mention of the treaty of 1648 in the context.",
        "The text contains no mention of Arthur before 800.",
        "There is no mention of the price.",
    ],
)
def test_a_mention_that_a_source_lacks_is_a_refusal(text: str) -> None:
    assert find_refusal(text) == "refusal"
