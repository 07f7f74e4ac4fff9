"""What is read as one quantity, with its value, and in time that grows with the text."""

from __future__ import annotations

import sys

import pytest

from ctxmetrics.judges.evidence.words import tokenize
from ctxmetrics.text.quantities import read_quantities

# Texts with the kinds and keys of their quantities.
READ = [
    ("at 18:00, 6 pm, 18.00 Uhr and 18h30", ["18:00", "18:00", "18:00", "18:30"]),
    ("12 am is 0:00, 12 pm is 12:00", ["00:00", "00:00", "12:00", "12:00"]),
    ("May 12, 2024 and 12.05.2024", ["2024-05-12", "2024-05-12"]),
    ("12 мая 2024, 2024年5月12日", ["2024-05-12", "2024-05-12"]),
    ("05/06/2024", ["5/6/2024"]),
    ("3:1 and 16:9", ["3:1", "16:9"]),
    ("from 11:00 to 6 pm", ["11:00..18:00"]),
    ("5–10 km", ["5000 m..10000 m"]),
    ("10 x 20 cm", ["0.1 m x 0.2 m"]),
    ("1,200.50 euros, 1.200,50 €", ["1200.5 eur", "1200.5 eur"]),
    ("1.200 km", ["1200000 m"]),  # in thousands or not
    ("-5 °C, minus 5 °C", ["-5 c", "-5 c"]),
    ("$5 million, US$5,000,000", ["5000000 usd", "5000000 usd"]),
    ("10^6 km, 5 m²", ["10^6 1000 m", "5 m2"]),
    ("1 hour 30 minutes", ["5400 s"]),
    ("В 1890 году, in 1990s, 21st, you may 12, version 3.11.2", []),  # plain numbers stay words
    ("1/0 and 0/0", ["1/0", "0/0"]),
    ("The staff fell from 2000 to 50.", ["2000:50"]),
    ("from 1500 to 80", ["1500:80"]),
    ("von 2000 bis 50", ["2000:50"]),
    ("1914-18 and 1939–45", ["1914..1918", "1939..1945"]),
    ("मार्च 2024", ["2024-03"]),
    ("मार्च २०२४", ["2024-03"]),
    ("มีนาคม 2024", ["2024-03"]),
    ("12 มีนาคม ๒๐๒๔", ["2024-03-12"]),
    ("๑๒ มีนาคม ๒๐๒๔", ["2024-03-12"]),
    ("૧૨.૦૫.૨૦૨૪", ["2024-05-12"]),
]


@pytest.mark.parametrize(("text", "keys"), READ)
def test_keys_of_quantities(text, keys):
    assert [quantity.key for quantity in read_quantities(text)] == keys


# Texts with the key of the time, number or day that they name in words.
NAMED = [
    ("at half past nine", "09:30"),
    ("um halb zehn", "09:30"),
    ("um halb eins", "12:30"),
    ("at nine in the evening", "21:00"),
    ("um acht Uhr abends", "20:00"),
    ("o wpół do dziesiątej", "09:30"),
    ("à neuf heures et demie", "09:30"),
    ("a las nueve y media", "09:30"),
    ("в полдесятого", "09:30"),
    ("at noon", "12:00"),
    ("einundzwanzig", "21"),
    ("quatre-vingt-dix", "90"),
    ("treinta y uno", "31"),
    ("двадцать один год", "252 month"),
    ("two thirds", "2/3"),
    ("on Tuesdays", "weekday 2"),
    ("le mardi", "weekday 2"),
    ("in May", "month 5"),
    ("on the dritten", "3"),
    ("12,34,567", "1234567"),
    ("₹5 lakh", "500000 inr"),
    ("±3 mm", "±3 0.001 m"),
    ("at 52°31′ N", "52 31 N"),
    ("v2.3.1", "2.3.1"),
]


@pytest.mark.parametrize(("text", "key"), NAMED)
def test_values_in_words_are_read(text, key):
    assert key in [token.key for token in tokenize(text)]


@pytest.mark.parametrize(
    "text",
    ["half the team", "a quarter of nine teams", "may two of them", "media y cuarto", "the past"],
)
def test_words_of_times_are_no_times(text):
    assert not any(token.measures in {"time", "month"} for token in tokenize(text))


@pytest.mark.parametrize("text", ["12 May\n2024", "5\n100 km", "6\tpm"])
def test_a_quantity_ends_with_its_line_or_cell(text):
    spellings = [token.spelling for token in tokenize(text)]
    assert not any("\n" in spelling or "\t" in spelling for spelling in spellings)
    assert "5100000 m" not in [token.key for token in tokenize(text)]


def test_tokens_depend_on_no_text_read_before():
    text = "It opens from 11:00 to 6 pm on 12 May 2024 for $5."
    before = tokenize(text)
    tokenize("11:00 of 6 pm, 12 May, 2024 for $5 million")
    assert tokenize(text) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["1:", "1,000,", "1.1.", "1-", "½", "5 ", "12 May ", "2024-05-12 ", "5 to ", "5 x ", "$5"]
)
def test_work_grows_with_the_text(piece):
    """Counted: the functions that reading enters."""
    events = []
    for characters in (4_000, 8_000):
        count = 0

        def add(frame, event, arg):
            nonlocal count
            count += event in {"call", "c_call"}

        sys.setprofile(add)
        try:
            read_quantities(piece * (characters // len(piece)), number_words=True)
        finally:
            sys.setprofile(None)
        events.append(count)
    assert events[1] <= 2.2 * events[0] + 50


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1 ינואר 2024", "2024-01-01"),
        ("הפארק נפתח ב-5 במאי 2024.", "2024-05-05"),
        ("12 ביוני", "--06-12"),
        ("5 มกราคม 2024", "2024-01-05"),
    ],
)
def test_months_of_hebrew_and_thai(text, key):
    assert [quantity.key for quantity in read_quantities(text)] == [key]
