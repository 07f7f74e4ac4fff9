"""Quantities in a text: what is written with digits and signs and is one fact.

A clock time, a date, a ratio or result, a range, a dimension, an amount of money, a percentage, a number with its unit or sign,
a number with letters: each is a span of the text with a *kind* and a *key*. Equal values have equal keys where that is certain
(``18:00`` and ``6 pm``; ``12 May 2024`` and ``2024-05-12``; ``3 km`` and ``3000 m``); else their keys differ (``05/06/2024``
has its own). A part of a quantity is none of its keys, but a finer quantity holds coarser ones: a date its month and year, a
range its ends, and an amount its number for a text that does not say what it counts (``5~``). A plain number is not a quantity here: it stays a word.

Names of months and units, and what stands around a time, are in ``forms.json``.

``reading`` goes through a text; ``dates_and_times`` and ``amounts`` read one value, ``ranges`` what is made of two, ``in_words`` what is written in words, ``numerals`` what has a word for each digit.
"""

from ctxmetrics.text.quantities.amounts import SHARES
from ctxmetrics.text.quantities.dates_and_times import SPOKEN_MARKS, find_spoken_time
from ctxmetrics.text.quantities.forms import MONTHS, NUMBER_NAMES, NUMBER_WORDS, Quantity
from ctxmetrics.text.quantities.in_words import (
    EACH_WORDS,
    HALVES,
    JOINED_WORDS,
    ONE_WORDS,
    QUARTERS,
    RESULT_JOINTS,
    TENS_JOINTS,
    THOUSANDS_BEFORE_UNIT,
    is_zero_word,
    join_number_words,
)
from ctxmetrics.text.quantities.numerals import (
    may_hold_numerals,
    read_compound_number,
    write_numerals,
)
from ctxmetrics.text.quantities.reading import continues_quantity, find_stretch, read_quantities

__all__ = [
    "EACH_WORDS",
    "HALVES",
    "JOINED_WORDS",
    "MONTHS",
    "NUMBER_NAMES",
    "NUMBER_WORDS",
    "ONE_WORDS",
    "QUARTERS",
    "RESULT_JOINTS",
    "SHARES",
    "SPOKEN_MARKS",
    "TENS_JOINTS",
    "THOUSANDS_BEFORE_UNIT",
    "Quantity",
    "continues_quantity",
    "find_spoken_time",
    "find_stretch",
    "is_zero_word",
    "join_number_words",
    "may_hold_numerals",
    "read_compound_number",
    "read_quantities",
    "write_numerals",
]
