"""Marks of lists and headings at the head of a sentence, and numbers there that belong to it."""

from __future__ import annotations

import pytest

from ctxmetrics.text.list_marks import skip_list_marks
from ctxmetrics.text.sentences import split_sentences
from support.cases import each_case

# A mark, what follows it, and the language.
MARKS = [
    ("Step 1.", "Press the button.", "en"),
    ("Step 1:", "Press the button.", "en"),
    ("STEP 1)", "Press the button.", "en"),
    ("Step 1 -", "Press the button.", "en"),
    ("**Step 1.**", "Press the button.", "en"),
    ("1.", "Press the button.", "en"),
    ("1)", "press the button.", "en"),
    ("(1)", "Press the button.", "en"),
    ("1 -", "Press the button.", "en"),
    ("1:", "Press the button.", "en"),
    ("[1]", "Press the button.", "en"),
    ("①", "Press the button.", "en"),
    ("1.1.", "Press the button.", "en"),
    ("1.1", "Press the button.", "en"),
    ("- 1.1", "Press the button.", "en"),
    ("2.10.3", "Press the button.", "en"),
    ("(a)", "Press the button.", "en"),
    ("a)", "Press the button.", "en"),
    ("i.", "Press the button.", "en"),
    ("II.", "Press the button.", "en"),
    ("iii.", "Press the button.", "en"),
    ("(iv)", "Press the button.", "en"),
    ("§ 3.", "The buyer pays.", "en"),
    ("§ 3", "The buyer pays.", "en"),
    ("Article 5.", "The buyer pays.", "en"),
    ("Chapter IV.", "The fall.", "en"),
    ("Part B:", "The fall.", "en"),
    ("Section 2. 1.1.", "The pump is off.", "en"),
    ("Step one.", "Press the button.", "en"),
    ("STEP TWO:", "Press the button.", "en"),
    ("Rule No. 3:", "Press the button.", "en"),
    ("No. 3:", "Press the button.", "en"),
    ("Section 2(b).", "Press the button.", "en"),
    ("Sec. 4.", "Press the button.", "en"),
    ("Figure 4.", "The valve is closed.", "en"),
    ("Table 4:", "The valve is closed.", "en"),
    ("Appendix B.", "The valve is closed.", "en"),
    ("Annex II:", "The valve is closed.", "en"),
    ("CHAPTER IV.", "The valve is closed.", "en"),
    ("A.1", "Press the button.", "en"),
    ("A.1.", "Press the button.", "en"),
    ("A1.", "Press the button.", "en"),
    ("1a.", "Press the button.", "en"),
    ("1.a)", "Press the button.", "en"),
    ("(1a)", "Press the button.", "en"),
    ("1/", "Press the button.", "en"),
    ("1]", "Press the button.", "en"),
    ("1 |", "Press the button.", "en"),
    ("#1:", "Press the button.", "en"),
    ("1\ufe0f\u20e3", "Press the button.", "en"),
    ("§ 3 Abs. 2:", "Der Käufer zahlt.", "de"),
    ("Art. 3.", "Der Käufer zahlt.", "de"),
    ("Schritt drei:", "Den Deckel heben.", "de"),
    ("가.", "버튼을 누르세요.", "ko"),
    ("Schritt 2.", "Den Deckel heben.", "de"),
    ("1.2.3", "Den Deckel heben.", "de"),
    ("Étape 2 :", "Levez le couvercle.", "fr"),
    ("Paso 2:", "Cierre la tapa.", "es"),
    ("Passo 2.", "Feche a tampa.", "pt"),
    ("Fase 2.", "Chiudi il coperchio.", "it"),
    ("Stap 2.", "Sluit het deksel.", "nl"),
    ("Krok 1.", "Naciśnij przycisk.", "pl"),
    ("Шаг 2.", "Закройте кран.", "ru"),
    ("а)", "Закройте кран.", "ru"),
    ("Крок 1:", "Закрийте кран.", "uk"),
    ("Adım 1.", "Düğmeye basın.", "tr"),
    ("الخطوة 1:", "اضغط الزر.", "ar"),
    ("שלב 1:", "לחץ על הכפתור.", "he"),
    ("चरण 1:", "बटन दबाएं।", "hi"),
    ("1단계:", "버튼을 누르세요.", "ko"),
    ("제3조", "매수인은 지불한다.", "ko"),
]
UNSPACED_MARKS = [
    ("步骤1：", "按下按钮。"),
    ("第1步：", "按下按钮。"),
    ("一、", "按下按钮。"),
    ("（3）", "按下按钮。"),
    ("手順1：", "ボタンを押す。"),
]
# The number or letter at the head belongs to the sentence.
SENTENCES = [
    ("Article 5 forbids it.", "en"),
    ("Section 8 helps families.", "en"),
    ("§ 5 forbids it.", "en"),
    ("1.1 billion people live there.", "en"),
    ("1.1 Billion people live there.", "en"),
    ("3.5 is the limit.", "en"),
    ("2.4 GHz is the frequency.", "en"),
    ("2.5 Bananen sind genug.", "de"),
    ("5 – 10 pumps are there.", "en"),
    ("10:30 is the time.", "en"),
    ("1889 was the year.", "en"),
    ("3. Mai 1990 war ein Donnerstag.", "de"),
    ("3. maja 1990 był czwartek.", "pl"),
    ("B. Smith came.", "en"),
    ("XL is a size.", "en"),
    ("40m. is the depth.", "en"),
    ("B12: closed for repairs.", "en"),
    ("Step one failed.", "en"),
    ("Part two is missing.", "en"),
    ("A4 is a paper size.", "en"),
    ("三、四个人来了。", "zh"),
    ("3、4号机组停机。", "zh"),
    ("Step 1.", "en"),
    ("II.", "en"),
]


@each_case(("mark", "words", "language"), MARKS)
def test_a_list_mark_at_the_head_is_skipped(mark: str, words: str, language: str) -> None:
    text = f"{mark} {words}"
    assert text[skip_list_marks(text, language) :] == words


@pytest.mark.parametrize(("mark", "words"), UNSPACED_MARKS)
def test_a_list_mark_without_a_space_is_skipped(mark: str, words: str) -> None:
    assert skip_list_marks(mark + words, "zh") == len(mark)


@pytest.mark.parametrize(("text", "language"), SENTENCES)
def test_a_number_of_the_sentence_is_no_list_mark(text: str, language: str) -> None:
    assert skip_list_marks(text, language) == 0


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        ("3. Mai 1990 war kalt. Es regnete.", "de", ("3. Mai 1990 war kalt.", "Es regnete.")),
        (
            "Article 5. He pays. Article 6. He sells.",
            "en",
            ("Article 5. He pays.", "Article 6. He sells."),
        ),
        ("§ 3. He pays. § 4. He sells.", "en", ("§ 3. He pays.", "§ 4. He sells.")),
        (
            "Step one. He pays. Appendix B. He sells.",
            "en",
            ("Step one. He pays.", "Appendix B. He sells."),
        ),
        ("We took plan B. He sells.", "en", ("We took plan B.", "He sells.")),
    ],
)
def test_a_mark_stays_with_its_sentence(text: str, language: str, sentences: tuple[str, ...]) -> None:
    assert split_sentences(text, language) == sentences
