"""Recognises a refusal: a text that says that there is no answer. A text that denies a fact is no refusal.

"The context does not say" is a refusal. "He was not born there" is a statement.

A sentence is read word by word. Each word has a role, its part: a source of answers (context, text), a word for an answer
(answer, information), a negation, a verb (contain, say, know), and so on. ``refusals.json`` lists the words of each part in each
language. The patterns below say which parts in which order are a refusal. A word of no part belongs to a fact, and then the
sentence is no refusal. After "information about", and in an embedded question ("when it was built"), any word may stand.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.patterns import compile_on_use

# Whether a text is a refusal, may be one, or is none.
Refusal = Literal["refusal", "unsure", ""]
# A longer text is never taken for a refusal: the maximum number of its characters.
LONGEST = 600

# Each part is written as a letter, so that a sentence becomes a short text that regular expressions can match: "the text does not
# say" becomes "_S_NK". Only this table holds the letters; the code and the patterns below use the names of the parts. "nothing" has
# two parts: a negation and "anything".
_PARTS = {
    "within": "M",  # in, based on
    "source": "S",  # context, text
    "located": "E",  # the same in one word: "in the text"
    "question": "Q",
    "answer": "R",
    "information": "T",  # information, details, mention
    "speaker": "I",
    "negation": "N",
    "anything": "U",
    "nothing": "NU",
    "silent": "NK",  # silent, outside the scope
    "cannot": "NO",
    "ability": "O",  # can, possible
    "passive": "B",  # German "wird", Spanish "se"
    "say": "K",  # say, mention, answer
    "stated": "V",  # stated, mentioned, answered
    "know": "D",  # know, determine
    "certain": "C",  # sure
    "hold": "G",  # contain, have, find
    "present": "P",  # present, available, found
    "missing": "L",  # unknown, insufficient
    "enough": "Y",
    "about": "A",
    "purpose": "F",  # to, in order to
    "asking": "W",  # when, who, whether
    "pointer": "!",  # please contact
    "contrast": "&",  # but, although
    "be": "H",  # English "is"
    "polite": "",  # sorry, unfortunately
    "unlike": "X",  # not only, did not know
    "filler": "_",  # the, is, this
}
_NEGATION = _PARTS["negation"]
_MISSING = _PARTS["missing"]
_CERTAIN = _PARTS["certain"]
_ABOUT = _PARTS["about"]
_ANSWER = _PARTS["answer"]
_PURPOSE = _PARTS["purpose"]
_WITHIN = _PARTS["within"]
_LOCATED = _PARTS["located"]
_ASKING = _PARTS["asking"]
_BE = _PARTS["be"]
_POINTER = _PARTS["pointer"]
_CONTRAST = _PARTS["contrast"]
_FILLER = _PARTS["filler"]
_UNKNOWN_WORD = "X"  # a word of no part
# The parts that name an answer.
_ANSWER_PARTS = frozenset((_PARTS["information"], _ANSWER, _PARTS["anything"]))
# The parts that name who gives an answer: a source, what is in it, a speaker.
_SOURCE_PARTS = frozenset((_PARTS["source"], _LOCATED, _PARTS["speaker"], _PARTS["information"]))
# Names of several parts, for the patterns.
_GROUPS = {
    "unknown": _UNKNOWN_WORD,
    # What a subject begins with, and what it holds: "about the founder", "when it was built".
    "subject": _ABOUT + _PURPOSE + _ASKING + _UNKNOWN_WORD,
}


def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern over the parts of a sentence.

    - ``{negation}`` is one part; ``{answer|information}`` is one of several parts.
    - ``{^asking}`` is any part but this one.
    - ``.. {answer}`` is all parts up to the first answer.

    All else is written as in other regular expressions. Blanks and comments are ignored.

    >>> _compile(".. {negation} {say}?").pattern
    '[^N]* [N] [K]?'
    """
    pattern = re.sub(r"\.\. \{([a-z|]+)\}", r"{^\1}* {\1}", pattern)
    return compile_on_use(re.sub(r"\{(\^?)([a-z|]+)\}", _to_character_class, pattern), re.VERBOSE)


def _to_character_class(match: re.Match[str]) -> str:
    """Convert names of parts to a character class of a regular expression: ``{information|answer}`` becomes ``[TR]``."""
    inversion, names = match.groups()
    letters = [_GROUPS.get(name) or _PARTS[name] for name in names.split("|")]
    return f"[{inversion}{''.join(letters)}]"


_UNKNOWNS = compile_on_use(f"{_UNKNOWN_WORD}+")
# Languages that are written without spaces.
_LANGUAGES_WITHOUT_SPACES = frozenset({"zh", "ja", "th"})
# Languages that put the question before the verb.
_VERB_LAST = frozenset({"zh", "ja", "ko", "hi", "tr", "fa"})
# Languages that put the preposition behind the noun.
_POSTPOSITIONS = frozenset({"ja", "hi"})
# Languages with articles such as "l'".
_ELIDED = frozenset({"fr", "it"})
# A letter of a script without spaces.
_UNSPACED_LETTER = compile_on_use("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Signs that are left out when words are compared: vowel signs of Arabic and Hebrew, the Arabic stroke tatweel, a dot of Turkish.
_IGNORED_SIGNS = compile_on_use("[\u0591-\u05bd\u0307\u0640\u064b-\u0652]")
# The forms of an apostrophe.
_APOSTROPHE = compile_on_use("['’ʼ`]")
# Letters, digits, and the vowel signs of Hindi.
_WORD = compile_on_use(r"[\w\u0900-\u0903\u093a-\u094f]+")
_TOKEN = compile_on_use(
    rf"""
      (?P<word> {_WORD.pattern} )
    | (?P<end> [.!?…؟।。！？]+ (?=\W|$) | \n )
    | (?P<clause> [;:；：] (?=\s|$) )
    | (?P<comma> [,،，] )
    """,
    re.VERBOSE,
)
_UNSPACED_TOKEN = compile_on_use(
    r"""
      (?P<end> [!?…。！？]+ | \n )
    | (?P<clause> [;:；：] (?!\d) )
    | (?P<comma> [,，] )
    | (?P<word> [^\W_] | [\u0e31\u0e34-\u0e3a\u0e47-\u0e4e] )  # a character, or a vowel sign of Thai
    """,
    re.VERBOSE,
)
_CLAUSE_ENDS = frozenset(";:；：")
_COMMAS = frozenset(",،，")
# A number or an address: a pointer with one of these ("call 555-1234") states a fact.
_CONTACT = compile_on_use(r"\d|@|://")

# A phrase that names the source: "in the given context".
_IN_SOURCE = _compile(
    """
    {within} {about|purpose}? {present|stated}? {source}+
    | {within} {about}? {located}
    """
)
# The same in languages that write "in" behind the noun.
_IN_SOURCE_BEHIND_NOUN = _compile("{source}+ {present}? {within}")
# The words of a refusal up to its subject: "there is no information about". All words behind them belong to the subject.
_BEFORE_SUBJECT = _compile(
    """
    (?P<denial> {^subject}* {information} {^subject|information|answer|question}* )     # there is no information ..
    {about}                                                                             # .. about
    | (?P<reach> {^subject}* {source|located} {^subject}* {enough} {^subject}* )        # the context is not enough ..
    {purpose} {say|stated|know|answer|question}                                         # .. to answer
    | (?P<need> {^subject}* {missing|enough} {^subject}* )                              # there is not enough information ..
    {purpose}                                                                           # .. to
    | (?P<anything> {^subject}* {anything} {^subject}* )                                # the text says nothing ..
    {about}                                                                             # .. about
    | (?P<task> {^subject}* {information} {^subject}* )                                 # I have no information ..
    {purpose} {say|stated|know|answer|question|hold}                                    # .. to answer
    | (?P<saying> {^subject}* {say|stated|know|information|negation|present} )          # the text does not say ..
    {asking}                                                                            # .. when
    """
)
# "No mention of the treaty is allowed": not an answer is denied, but a permission.
_OTHER_PREDICATE = _compile(
    "{negation} {enough}? {information|say}+ {about} {^be|unknown}* {unknown} .. {be} {within}? {unknown}"
)
# A subject before the denial: "information about the founder is not provided".
_SUBJECT = _compile(
    """
    (?: {about} | (?P<question> {asking} ) )
    {about|purpose|asking|within|ability|unknown|passive}*
    """
)
# A subject in languages with the verb at the end: the subject stands before the word for "about".
_SUBJECT_VERB_LAST = _compile(
    """
    {unknown|within|ability|purpose}*
    (?: {about} | (?P<question> {asking} ) )
    {about|purpose|asking|within|ability|unknown}*
    """
)

# A sentence that is a refusal if it holds no unknown words.
_REFUSAL = _compile(
    """
    # no answer; the text holds no information
      .. {negation} .. {information|answer}
    # the answer is not in the text
    | .. {information|answer} .. {negation} .. {say|stated|present|hold|located|speaker}
    # the answer is not known
    | .. {answer} .. {negation} .. {know}
    # the text says nothing
    | (?= .. {negation} ) (?= .. {anything} ) .. {source|located|speaker}
    # I do the answer not have
    | (?= .. {negation} ) (?= .. {speaker} ) .. {information|answer}
    # the text holds the answer not
    | (?= .. {source} ) .. {hold|say} .. {information|answer} .. {negation}
    # the answer is unknown; not enough information
    | (?= .. {missing} ) .. {information|answer|located|speaker}
    # insufficient context
    | {^missing|source}* {missing} {enough}? {source}
    # not found in the context
    | (?= .. {negation} ) (?= .. {located} ) {^source}* $
    # the text is not answered in the context
    | (?= .. {negation} ) (?= .. {located} ) .. {say|stated}
    # the text does not say
    | (?= .. {negation} ) (?= .. {source} ) (?! .* {passive} ) .. {say}
    # I do not know
    | (?= .. {negation} ) (?= .. {speaker} ) .. {say|know}
    # the question cannot be answered
    | (?= .. {negation} ) (?= .. {question} ) (?= .. {say|stated|know} ) .. {ability|located|source|speaker}
    # no documents were found
    | {^negation|source}* {negation} {enough|present|stated}? {source} .. {present|hold}
    # there were not found documents
    | {negation} {passive}? {present|hold} {source} $
    # not mentioned
    | (?= .. {negation} )
      {negation|say|stated|ability|passive|know|enough}*
      {say|stated}
      {negation|say|stated|ability|passive|know|enough|present}* $
    # it cannot be determined
    | (?= .. {negation} ) (?= .. {ability} )
      {negation|ability|passive|know|present|say|stated}*
      {know}
      {negation|ability|passive|know|present|say|stated}* $
    """
)
# A refusal with the negation at the end: "the text does the answer not hold".
_REFUSAL_VERB_LAST = _compile(".. {information|answer} .. {say|stated|know|present|hold} .. {negation}")
# A sentence that may be a refusal: it denies something that is not a word for an answer.
_UNSURE = _compile(
    """
    # the text does not contain sugar
      {present|stated}? {source}+ {passive}? {^negation|missing|unknown}* {negation}
      .. {say|stated|hold|information|answer|present|know|source}
    # no documents
    | {negation} {present|stated}? {source} {stated}? $
    # the text contains no sugar, as German and others order the words
    | {present|stated}? {source}+ {^negation|missing|unknown}* {hold|say} {^negation|missing|unknown}* {negation}
    # the text mentions the price not
    | {present|stated}? {source}+ {hold|say} {^negation|missing}* {negation} {unknown}? $
    # the same in Chinese
    | {source|located} .* {negation} {say|stated|hold}
    | {source|located} {^unknown}* {hold|say|stated} {^unknown}* {negation}
    # the date is not mentioned in the text
    | (?= .* {located} ) (?= .* {negation|missing} ) .* {say|stated|present|hold|know}
    # no answer was received
    | (?= .* {information|answer|question} ) .* {negation|missing}+ {^unknown}{0,2} {information|answer}
    | .* {information|answer} {^unknown}* {negation|missing}
    | .* {missing} {information|answer}
    # the question was not answered by the minister
    | {question} .* {negation}
    # I do not know him
    | {speaker}+ {hold}? {negation} {^unknown}* {say|know|information|answer|certain}
    | {speaker} {hold} {negation}
    # it is unknown who built it
    | {^unknown}* {negation} {^unknown}* {say|stated|know|anything}
    | {^unknown}* {missing} .* {asking}
    """
)
# Such a sentence with the negation at the end: "the date is stated not".
_UNSURE_VERB_LAST = _compile("{say|stated} {negation}")


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """The words of a language.

    Attributes:
        parts: For each word or phrase, the letters of the parts that it may play in a sentence: see `_PARTS`.
        phrase_lengths: For each first unit of a phrase, the lengths of the phrases that begin with it, the longest first. A
            unit is a word; in a language without spaces it is a character.
    """

    parts: dict[str, str]
    phrase_lengths: dict[str, list[int]]


def _to_comparable(text: str, language: str) -> str:
    """Return a text in the form in which words are compared."""
    text = text.casefold()
    if not text.isascii():
        text = _IGNORED_SIGNS.sub("", unicodedata.normalize("NFC", text))
    return _APOSTROPHE.sub(" " if language in _ELIDED else "", text)


@cache
def _read_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Read the words of each language, by their part."""
    words: Mapping[str, Mapping[str, Sequence[str]]] = read_data("samples", "refusals.json")["words"]
    return words


def _get_separator(language: str) -> str:
    """Return the text between two units of a phrase: a space, or nothing in languages without spaces."""
    return "" if language in _LANGUAGES_WITHOUT_SPACES else " "


@cache
def _read_lexicon(language: str) -> _Lexicon:
    """Read the words of a language. A word may play several parts."""
    separator = _get_separator(language)
    parts: dict[str, str] = {}
    lengths_by_first_unit: dict[str, set[int]] = {}  # the lengths of phrases in units
    for part, letters in _PARTS.items():
        for word in _read_words()[language].get(part, ()):
            units = _list_units(word, language)
            key = separator.join(units)
            parts[key] = parts.get(key, "") + letters
            lengths_by_first_unit.setdefault(units[0], set()).add(len(units))
    phrase_lengths = {
        unit: sorted(lengths, reverse=True) for unit, lengths in lengths_by_first_unit.items()
    }
    return _Lexicon(parts, phrase_lengths)


@cache
def _read_denials(language: str) -> frozenset[str]:
    """Read the words with which a denial begins in a language. They show in which languages a text must be read."""
    separator = _get_separator(language)
    denials = set()
    denying_phrases = []
    for part, letters in _PARTS.items():
        is_denial = _NEGATION in letters or _MISSING in letters
        if not is_denial:
            continue
        for word in _read_words()[language].get(part, ()):
            units = _list_units(word, language)
            if language in _LANGUAGES_WITHOUT_SPACES or len(units) == 1:
                denials.add(separator.join(units))
            else:
                denying_phrases.append(units)
    # A phrase that holds a denial of one word, such as "can not", is found by that word. Else its first word must be looked for.
    denials.update([units[0] for units in denying_phrases if denials.isdisjoint(units)])
    return frozenset(denials)


def _list_units(text: str, language: str) -> list[str]:
    """List the words of a text; in scripts without spaces, its characters."""
    token = _UNSPACED_TOKEN if language in _LANGUAGES_WITHOUT_SPACES else _TOKEN
    return [match[0] for match in token.finditer(_to_comparable(text, language)) if match["word"]]


@cache
def _languages_by_denial() -> dict[str, list[str]]:
    """Return the languages of each denial that is a word between spaces."""
    languages: dict[str, list[str]] = {}
    for language in _read_words():
        if language not in _LANGUAGES_WITHOUT_SPACES:
            for word in _read_denials(language):
                languages.setdefault(word, []).append(language)
    return languages


def _find_languages(text: str) -> set[str]:
    """Find the languages in which a text denies something."""
    languages_by_denial = _languages_by_denial()
    languages: set[str] = set()
    # The language is not known yet. As in English and most others, an apostrophe is dropped: "don't" is "dont".
    words = _WORD.findall(_to_comparable(text, "en"))
    for denial in languages_by_denial.keys() & words:
        languages.update(languages_by_denial[denial])
    if not text.isascii() and _UNSPACED_LETTER.search(text):
        characters = "".join(_list_units(text, "zh"))  # the same for all languages without spaces
        for language in _LANGUAGES_WITHOUT_SPACES:
            if any(denial in characters for denial in _read_denials(language)):
                languages.add(language)
    return languages


# The end of reported speech: "I do not know, said Anna."
_NAMES_SPEAKER = compile_on_use(
    r"[,?!][\"'”’»]?\s(?:said|says|replied|answered|sagte|dit|dijo|disse|сказал|сказала)\s[^\W\d_]{2,30}[.!?\"”]*\s*\Z"
)

# Says that there is no mention in a period, without naming a source: "There is no mention of Arthur before 800" may be a fact.
_NO_MENTION_IN_TIME = compile_on_use(
    r"""
    \W*
    (?: there\s(?:is|was)\sno\s | no\s(?:hay\s)? | es\sgibt\skeine\s | il\sn['’]y\sa\saucune\s )
    (?: mention | erwähnung | mención ) \b
    [^.;]*
    \b(?: before | until | after | since | vor | nach | seit | avant | après | depuis | antes\sde | hasta | desde )
    \s \d{3,4} (?: \s(?:ad|bc|ce|bce) )? \W*
    """,
    re.IGNORECASE | re.VERBOSE,
)


def find_refusal(text: str) -> Refusal:
    """Find out whether a text says that there is no answer.

    Returns:
        ``refusal`` if the text says so; ``unsure`` if it may say so, or if it also states something; else an empty text.
    """
    if len(text) > LONGEST:
        return ""
    # The text is read in each language in which it denies something. If no language reads a refusal, the language with the
    # fewest unknown words decides.
    min_unknown_count: int | None = None
    result: Refusal = ""
    for language in sorted(_find_languages(text)):
        unknown_count, refusal = _judge_text(text, language)
        if refusal == "refusal":
            may_be_fact = _NAMES_SPEAKER.search(text) or _NO_MENTION_IN_TIME.fullmatch(text)
            return "unsure" if may_be_fact else refusal
        if min_unknown_count is None or (unknown_count, refusal) < (min_unknown_count, result):
            min_unknown_count = unknown_count
            result = refusal
    return result


def _judge_text(text: str, language: str) -> tuple[int, Refusal]:
    """Read a text in one language.

    Returns:
        The number of words that are unknown in the language, and whether the text is a refusal.
    """
    unknown_count = 0
    clause_kinds = set()
    for sentence in _read_sentences(text, language):
        clauses = sentence.split(_CONTRAST)
        for clause in clauses:
            unknown_count += clause.count(_UNKNOWN_WORD)
            clause_kinds.add(_judge_clause(clause.replace(_FILLER, ""), language))
        for clause in clauses[1:]:
            # A later clause of filling words alone states something: "but it did".
            has_only_fillers = clause != "" and not clause.strip(_FILLER + _BE)
            if has_only_fillers:
                clause_kinds.add("statement")
    if "refusal" in clause_kinds:
        return unknown_count, "unsure" if "statement" in clause_kinds else "refusal"
    return unknown_count, "unsure" if "unsure" in clause_kinds else ""


def _read_sentences(text: str, language: str) -> Iterator[str]:
    """Yield the parts of each sentence as letters (`_PARTS`).

    The letters are empty for a question, and for a pointer, such as "please contact us", without a fact.
    """
    lexicon = _read_lexicon(language)
    is_unspaced = language in _LANGUAGES_WITHOUT_SPACES
    separator = _get_separator(language)
    token = _UNSPACED_TOKEN if is_unspaced else _TOKEN
    units: list[str] = []  # the words and commas of the sentence so far
    comparable_text = _to_comparable(text, language)
    sentence_start = 0
    for match in token.finditer(comparable_text):
        if not match["end"]:
            units.append(match[0])
            continue
        follows_short_word = bool(units) and len(units[-1]) < 3  # noqa: PLR2004 - such as "no."
        is_abbreviation = match[0] == "." and follows_short_word and not is_unspaced
        is_last = match.end() >= len(comparable_text.rstrip())
        if is_abbreviation and not is_last:
            continue
        yield _read_parts(units, lexicon, separator, comparable_text[sentence_start : match.end()])
        units = []
        sentence_start = match.end()
    yield _read_parts(units, lexicon, separator, comparable_text[sentence_start:])


def _read_parts(units: list[str], lexicon: _Lexicon, separator: str, sentence: str) -> str:
    """Return the parts of a sentence as letters. At each word, the longest known phrase is read."""
    letters = ""
    index = 0
    while index < len(units):
        for length in lexicon.phrase_lengths.get(units[index], ()):
            part = lexicon.parts.get(separator.join(units[index : index + length]))
            if part is not None:
                letters += part
                break
        else:  # no phrase of the language begins here
            length = 1
            unit = units[index]
            # "Who, the ..": the comma stands behind a question word.
            is_comma_behind_question = unit in _COMMAS and letters.endswith(_ASKING)
            if unit in _CLAUSE_ENDS or is_comma_behind_question:
                letters += _CONTRAST
            elif unit not in _COMMAS:
                letters += _UNKNOWN_WORD
        index += length
    is_question = sentence.rstrip()[-1:] in {"?", "？", "؟"}
    is_pointer_without_fact = _POINTER in letters and not _CONTACT.search(sentence)
    if is_question or is_pointer_without_fact:
        return ""
    return letters.replace(_POINTER, "")


def _judge_clause(clause: str, language: str) -> str:
    """Return what a clause is: ``refusal``, ``statement`` or ``unsure``; an empty text if the clause says nothing."""
    clause = _UNKNOWNS.sub(_UNKNOWN_WORD, clause)
    if _OTHER_PREDICATE.match(clause):
        return "unsure"
    clause = clause.replace(_BE, "")
    if language in _POSTPOSITIONS:
        clause = _IN_SOURCE_BEHIND_NOUN.sub(_LOCATED, clause)
    clause = _IN_SOURCE.sub(_LOCATED, clause)
    denies = _NEGATION in clause or _MISSING in clause
    if not denies:
        return "statement" if _UNKNOWN_WORD in clause else ""
    opening = _BEFORE_SUBJECT.match(clause)
    if opening and _is_about_answer(opening):
        return "refusal"
    if _is_refusal_without_subject(clause, language):
        return "refusal"
    is_unsure = _UNSURE.match(clause) is not None
    if not is_unsure and language in _VERB_LAST:
        is_unsure = _UNSURE_VERB_LAST.search(clause) is not None
    return "unsure" if is_unsure else "statement"


def _is_about_answer(opening: re.Match[str]) -> bool:
    """Whether the words before a subject are a refusal: "there is no information", before "about X"."""
    if opening["reach"]:
        return _NEGATION in opening["reach"]
    saying = opening["saying"]
    if saying:
        # "The text does not say when" is a refusal; "he did not say when" is a fact.
        names_source = not _SOURCE_PARTS.isdisjoint(saying)
        return names_source and _REFUSAL.match(saying) is not None
    beginning = opening["denial"] or opening["anything"] or opening["need"] or opening["task"]
    return _REFUSAL.match(beginning) is not None


def _is_refusal_without_subject(clause: str, language: str) -> bool:
    """Whether a clause is a refusal once "about X" and questions are left out."""
    # "There is no answer to a letter" says nothing about the answer to the question.
    answer_to_something = _ANSWER + _ABOUT + _UNKNOWN_WORD
    if answer_to_something in clause.replace(_PURPOSE, _ABOUT):
        return False
    subject = _SUBJECT_VERB_LAST if language in _VERB_LAST else _SUBJECT
    leaves_out_about = False
    leaves_out_question = False
    for match in subject.finditer(clause):
        has_unknown_words = _UNKNOWN_WORD in match[0]
        if has_unknown_words and match["question"]:
            leaves_out_question = True
        elif has_unknown_words:
            leaves_out_about = True
    rest = subject.sub("", clause).replace(_PURPOSE, "").replace(_WITHIN, "")
    if _UNKNOWN_WORD in rest or _CERTAIN in rest:
        return False
    # What is denied must be an answer: "no information about X", but not "it is not about X".
    if leaves_out_about and _ANSWER_PARTS.isdisjoint(rest):
        return False
    # A source must leave the question open: "the text does not say when X", but not "he did not say when X".
    if leaves_out_question and _SOURCE_PARTS.isdisjoint(rest):
        return False
    if language in _VERB_LAST and _REFUSAL_VERB_LAST.match(rest):
        return True
    return _REFUSAL.match(rest) is not None
