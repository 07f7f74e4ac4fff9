"""What a remark says that a model adds to a reply: yes, no, a grade, that something is wrong, or nothing.

A remark is a key with a value, or a text, in any language.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from typing_extensions import TypeIs

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.word_forms import fold
from ctxmetrics.judges.evidence.words import get_word_list
from ctxmetrics.prompts import Pack

# The words for keys and values, and the beginnings of reasons.
WORDS: Mapping[str, Any] = read_data("judges.llm", "words.toml")["own_keys"]
# Characters that may stand around an id.
_AROUND_ID = " \t\n[](){}<>\"'`*.:#"
NO_LETTER = re.compile(r"[^a-z]+")
_WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# A grade: 2/10, 20 %.
FRACTION = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/|:|of|out of)\s*(\d+)")
PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent)")
# Words before a number that is not exact: "~5 %", "about 5 %".
_ABOUT = re.compile(r"\A(?:[~≈<]|(?:about|around|roughly|approximately|circa|ca\.?|under|below)\s)\s*")
# Words of a low grade: "very unsure", "not sure at all", "no idea".
_UNSURE = re.compile(
    r"""
    \b(?: unsure | uncertain | doubtful | dubious | shaky | tentative | coin | guess\w*
        | (?:barely|hardly|scarcely)(?!\s+(?:any\s+)?doubt) | no\s+(?:idea|clue)
        | not\s+(?:\w+\s+)?(?:sure|certain|confident) )\b
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
# A probability, or a grade as a share of the best grade, below this number means no.
_MIN_YES_PROBABILITY = 0.5
# The words before the conclusion of a reason: ", but the context ..". A conclusion must name its subject.
_BUT = re.compile(
    r"[,;.]\s*(?:but|however,?)\s+(?=no context|none of|the |this |it is not|there is no)"
)
# Words of opposition. A reason that negates one speaks for a yes: "no context contradicts it".
_OPPOSES = re.compile(
    r"contradict\w*|against|den(?:y|ies)|conflicts?|refutes?|disputes?|opposes?|disagrees?"
)
_LACKS = re.compile(
    r"\b(?:missing|absent|left out|wrong|incorrect|lacks?|lacking|differs?|different)\b"
)
# The end of a clause of a reason.
_CLAUSE_END = re.compile(r"[,;.](?:\s|$)|\sand\s|[。；，、]")
# A clause that says that a context states something: "c1 states it", "stated in c1".
_CONTEXT_STATES = re.compile(
    r"\bc\d+\b.*\b(?:states?|stated|supports?|supported|says|gives|names)\b|\b(?:stated|supported|given|named)\b.*\bc\d+\b"
)
# A conclusion that says yes: "so it is supported".
_CONCLUDES_YES = re.compile(
    r"\b(?:so|thus|hence|therefore)\b(?![^.;]*\b(?:not|no|none|nothing)\b)[^.;]*\b(?:is|are)\s+(?:fully\s+)?(?:supported|stated|useful|relevant)\W*$"
)
# A conclusion that says no: "so the claim cannot be confirmed".
_CONCLUDES_NO = re.compile(
    r"\b(?:so|thus|hence|therefore)\b[^.;]*(?:\b(?:not|cannot|unsupported|false|wrong)\b|n['’]t\b|\bno\s+(?:support|evidence|basis)\b)(?!\s+(?:verbatim|word\s+for\s+word|only|just)\b)[^.;]*\W*$"
)
_DIFFERS = re.compile(
    r"\b(?:not|no|nor|neither|none|nothing|another|different|differently|otherwise|instead|opposite|contrary)\b"
)
# "The contexts contain no contradiction."
_NO_FAULT = re.compile(
    r"\bno (?:contradictions?|errors?|issues?|problems?|discrepanc(?:y|ies)|conflicts?|mismatch(?:es)?)$"
)
# A first clause that says that nothing states the sentence.
_DENYING_CLAUSE = re.compile(
    r"""
    (?:n['’]t|\bnot|\bnever|\bcannot) \s+ (?:be\s+|been\s+|explicitly\s+|directly\s+|actually\s+|really\s+)?
        (?:state|mention|support|f[io]+u?nd|confirm|sa(?:y|id)|verif|includ|contain|appear|present|given|nam|specif|provid|
           cover|back|pro[vo]|establish|match|true|correct|there|useful|relevant|help|answer|about|related|address|discuss)
    | ^(?:this\s+is\s+|it\s+is\s+|only\s+)?(?:doubtful|unclear|unsure|uncertain|not\s+sure|hard\s+to\s+(?:say|tell)|perhaps|maybe|possibly|at\s+(?:most|best)|
        barely|hardly(?!\s+(?:any\s+)?doubt)|implied|inferred|assumed|an?\s+(?:guess|assumption)|guess\w*|speculat\w+|hallucinat\w+|partial\w*|partly)\b
    | ^i\s+(?:assume|guess|suppose|know\s+this\s+from)\b | \b(?:general|world|prior)\s+knowledge\b
    | \b(?:in\s+place|instead)\s+of\b | \bgoes\s+beyond\b | ^contradicted\b | \bsilent\s+(?:on|about)\b
    | ^(?:no|none|nothing|neither|nowhere)\b
        (?! \s+ (?:doubt|problem|issue|error|difference|discrepanc|mismatch|ambigu|inference|interpretation|assumption|guess|need|gap|other\b|further
               |part\b|else\b|cabe\b|hay\b) )
    | \b(?:fails?|failed|unable)\s+to\s+(?:state|mention|support|confirm|say|find|verify|help|answer)
    | \b(?:is|are)\s+(?:\w+\s+)?(?:absent|missing|wrong|incorrect|unverif\w+|unsupported|unstated|false|off[\s-]topic|irrelevant|unrelated|another|
        different|about\s+(?:another|something|a\s+different))\b
    | (?<!wording\ )(?<!phrasing\ )(?<!spelling\ )(?<!order\ ) \b(?:differs?|disagrees?|contradicts?)\b
    | \bsays?\s+(?:the\s+opposite|otherwise|something\s+else)
    | \b(?:talks?|speaks?|is|are)\s+about\s+(?:something\s+else|another|other\b|a\s+different)
    | \b(?:insufficient|lack\s+of|no)\s+(?:information|evidence|support|mention|basis)\b
    | \bonly\s+(?:mentions?|names?|says?|states?|talks?|speaks?)\b
    | \b(?:mentions?|names?|gives?|says?|states?|has)\s+(?:only\s+|just\s+)?(?:an?\s+)?(?:another|other|different|similar)\b
    """,
    re.VERBOSE,
)
_STATES = re.compile(r"\b(?:states?|says?|mentions?|confirms?|supports?|shows?|proves?|reads?)\b")
# A text in quotation marks.
_QUOTED = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]|(?<!\w)['‘][^'’]*['’](?!\w)")
# A text that is struck out: "~~supported~~ unsupported".
_STRUCK_OUT = re.compile(r"~~[^~]*~~")
# Words that are only English. A reason with one of them is in English.
_ENGLISH_WORDS = frozenset(
    (
        "the",
        "this",
        "that",
        "it",
        "does",
        "are",
        "not",
        "contexts",
        "sentence",
        "states",
        "stated",
        "with",
    )
)
# A word of a script with spaces, with its vowel signs.
_SPACED_WORD = re.compile(r"[^\s\d.,;:!?()\[\]{}<>\"“”„«»'’‘`*/|…。、，।-]+")
# Languages whose negations are looked for as characters, not as words between spaces.
_LANGUAGES_WITHOUT_SPACES = frozenset({"zh", "ja", "ko", "th"})
# The end of the verdict in a text: "no, the year differs".
_VERDICT_END = re.compile(r"[,;:(/–—]|\s-\s|\b(?:because|since)\b")
# The minimum number of words of a text that may be a reason.
_MIN_REASON_WORDS = 3
# This minimum in characters, for a script without spaces.
_MIN_REASON_CHARACTERS = 6
# The maximum number of keys of an object that are read.
MOST_KEYS = 200
# The maximum number of characters that are read of a value, and of a text.
LONGEST_READ = 300
LONGEST_TEXT = 3_000


def find_low_grades(yeses: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Find the positive verdicts with a grade below half of the best grade of a positive verdict, on any scale."""
    best: dict[str, float] = {}
    grades: list[tuple[str, str, float]] = []
    for id_, cell in yeses.items():
        for name, value in islice(cell.items(), MOST_KEYS):
            if is_number(value) and not get_words("grade_words").isdisjoint(split_name(str(name))):
                grades.append((id_, str(name), value))
                best[str(name)] = max(value, best.get(str(name), value))
    for id_, name, value in grades:
        if 0 <= value < _MIN_YES_PROBABILITY * best[name]:
            yield id_, f"{name}: {value}"


def is_number(value: Any) -> TypeIs[int | float]:
    """Whether a value is a finite number that a float can hold. A truth value is none."""
    is_int_or_float = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_int_or_float and abs(value) <= sys.float_info.max


def read_opinion(key: str, value: Any, pack: Pack, unit: str = "") -> bool | None:
    """Return the verdict that a key and its value express about an entry; None if they express none."""
    name = NO_LETTER.sub("", key.casefold())
    words = split_name(key)
    is_verdict = _names_verdict(name, words)
    if names_fault(name, words):
        says_no = has_fault(value, pack)
    elif name in get_words("reasons") or not words.isdisjoint(get_words("reasons")):
        says_no = isinstance(value, str) and denies(value, unit)
    elif name in get_words("denials"):
        is_one = isinstance(value, int) and value == 1
        says_no = is_one or read_value(value, pack) is True
    elif _names_support(words):
        says_no = is_nothing(value)
    elif _is_low_grade(name, words, value, is_verdict=is_verdict):
        says_no = True
    elif is_verdict:
        is_one_or_zero = isinstance(value, (int, float)) and value in (0, 1)
        is_digit = isinstance(value, str) and value.strip() in ("0", "1")
        return bool(int(value)) if is_one_or_zero or is_digit else read_value(value, pack)
    elif name.removeprefix("is") in get_words("affirmations"):
        return _read_plain(value, pack)
    else:
        # A reason under a key in any language.
        is_reason = isinstance(value, str) and words.isdisjoint(get_words("neutral_words"))
        says_no = is_reason and _is_phrase(value) and denies(value, unit)
    return False if says_no else None


def _read_plain(value: Any, pack: Pack) -> bool | None:
    """Return the verdict of a truth value, or of the prompt's word for yes or no; None for any other value."""
    word = value.strip().casefold() if isinstance(value, str) else ""
    if value is True or word in pack.yes:
        return True
    return False if value is False or word in pack.no else None


def _names_verdict(name: str, words: Collection[str]) -> bool:
    """Whether a key names a verdict."""
    if name in get_words("verdicts") or name.removesuffix("s") in get_words("verdicts"):
        return True
    return not {"label", "verdict", "nli"}.isdisjoint(words) and "id" not in words


def _is_phrase(text: str) -> bool:
    """Whether a text is long enough to be a reason: at least three words, or six characters if they are not all ASCII."""
    return len(text.split()) >= _MIN_REASON_WORDS or (
        not text.isascii() and len(text) >= _MIN_REASON_CHARACTERS
    )


def split_name(key: str) -> frozenset[str]:
    """Return the words of a key: `supported_by`, `supportedBy`, `Supported-By`."""
    return frozenset(word.casefold() for word in _WORD_OF_NAME.findall(key))


def names_fault(name: str, words: Collection[str]) -> bool:
    """Whether a key names a fault of the entry, such as ``errors`` or ``why_not``."""
    if name in get_words("faults"):
        return True
    if name in get_words("denials") or not get_words("no_opinion").isdisjoint(words):
        return False
    is_why_not = "why" in words and "not" in words
    return is_why_not or not get_words("fault_words").isdisjoint(words)


def has_fault(value: Any, pack: Pack) -> bool:
    """Whether a value under a key that names faults says that there is one.

    It may be a text that names a fault, true, a count above 0, or a probability above a half.
    """
    if isinstance(value, str):
        return value.strip().casefold() in pack.yes or _names_something(value)
    if isinstance(value, float):
        return value > _MIN_YES_PROBABILITY
    return isinstance(value, int) and value > 0


def _names_support(words: frozenset[str]) -> bool:
    """Whether a key lists what supports the entry: `supporting_contexts`, `best_context`, `supported_by`, `found_in`."""
    if not words.isdisjoint(("supporting", "matching")):
        return True
    if not words.isdisjoint(("best", "closest")) and not words.isdisjoint(get_words("sources")):
        return True
    has_preposition = "by" in words or "in" in words
    return has_preposition and not get_words("support_words").isdisjoint(words)


def is_nothing(value: Any) -> bool:
    """Whether a value says that there is nothing."""
    if isinstance(value, str):
        plain = value.strip(f"{_AROUND_ID}-–—").casefold()
        return bool(value.strip()) and plain in _read_words_for_nothing()
    return value is not None and not value


def _is_low_grade(name: str, words: Collection[str], value: Any, *, is_verdict: bool) -> bool:
    """Whether a value is a low probability, percentage or grade, by the words of its key."""
    is_probability = name in get_words("probabilities") or (
        not get_words("probability_words").isdisjoint(words)
        and not {"score", "p", "prob", "probability", "likelihood", "fraction", "ratio"}.isdisjoint(
            words
        )
    )
    says_no = not get_words("no_words").isdisjoint(words)
    # "confidence_no"
    is_probability = is_probability or (says_no and not get_words("probabilities").isdisjoint(words))
    number = value
    if is_probability and isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value.strip().replace(",", "."))
    if is_number(number):
        if "logprob" in words and not says_no and not get_words("probability_words").isdisjoint(words):
            return number < math.log(_MIN_YES_PROBABILITY)  # "logprob_yes"
        if is_probability and says_no:
            return _MIN_YES_PROBABILITY < number <= 1
        is_low_percentage = name in get_words("percents") and 1 < number < 100 * _MIN_YES_PROBABILITY
        is_zero = number == 0 and name in get_words("grades")
        return is_low_percentage or is_zero or (is_probability and 0 <= number < _MIN_YES_PROBABILITY)
    # "evidence_strength"
    grades_support = not get_words("grade_words").isdisjoint(words) and "evidence" in words
    is_grade = is_probability or grades_support or name in get_words("grades")
    if not isinstance(value, str) or not (is_grade or is_verdict):
        return False
    return _is_low(value) or (is_grade and _UNSURE.search(value[:LONGEST_READ].casefold()) is not None)


def _is_low(grade: str) -> bool:
    """Whether a grade is low: a fraction or a percentage below a half, or a word that says so."""
    text = _ABOUT.sub("", grade.strip().casefold(), count=1)
    if text in get_words("low"):
        return True
    if text.count("★") < text.count("☆"):
        return True
    fraction = FRACTION.fullmatch(text)
    if fraction is not None:
        return float(fraction[1]) < _MIN_YES_PROBABILITY * float(fraction[2])
    percent = PERCENT.fullmatch(text)
    return percent is not None and float(percent[1]) < 100 * _MIN_YES_PROBABILITY


def _names_something(text: str) -> bool:
    """Whether a text under a key such as ``errors`` names one."""
    plain = text[:LONGEST_READ].strip(f"{_AROUND_ID}-–—").casefold()
    if plain in _read_words_for_nothing() or plain in get_words("yes"):
        return False
    if denies(plain):
        return True
    if plain.startswith(tuple(get_words("no_fault_beginnings"))) or _NO_FAULT.search(plain):
        return False
    return not plain.endswith(tuple(get_words("no_fault_endings")))


def says_something(value: Any) -> bool:
    """Whether a value says something. False, empty values and texts such as "none" say nothing."""
    return _names_something(value) if isinstance(value, str) else bool(value)


@lru_cache(maxsize=1)
def _read_words_for_nothing() -> frozenset[str]:
    """Read the texts that models write if there is nothing."""
    return frozenset(read_data("judges.llm", "words.toml")["nothing"])


def read_value(value: Any, pack: Pack) -> bool | None:
    """Return the verdict of a value under a key that names a verdict, or None."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    text = _STRUCK_OUT.sub(" ", value[:LONGEST_READ]).casefold()
    text = text.replace("_", " ").replace("-", " ").replace("\ufe0f", "")
    text = " ".join(text.split()).strip(".![]()<>*\"'")
    verdict = _read_words(text, pack)
    if verdict is None and get_words("turns").isdisjoint(_SPACED_WORD.findall(text)):
        # "no, the year differs"
        verdict = _read_words(_VERDICT_END.split(text)[0].strip(), pack)
    return verdict


def _read_words(text: str, pack: Pack) -> bool | None:
    """Return the verdict that a word or a phrase means, or None."""
    if text in pack.yes or text in get_words("yes"):
        return True
    return False if text in pack.no or text in get_words("no") else None


def denies(reason: str, unit: str = "") -> bool:
    """Whether a reason speaks against a positive verdict, and does not take that back.

    Args:
        reason: The reason.
        unit: The sentence that the reason is about. If it has a negation, the reason may only repeat it.
    """
    text = " ".join(_QUOTED.sub(" ", reason[:LONGEST_READ]).casefold().split())
    if _begins_with_denial(text):
        return True
    if _is_negated(unit) or not get_words("turns").isdisjoint(_SPACED_WORD.findall(text)):
        return False
    return _denies_in_first_clause(text) or denies_in_other_language(text)


def _denies_in_first_clause(text: str) -> bool:
    """Whether the first clause of an English reason says that nothing states the sentence, and no other clause revokes it."""
    first_clause, *other_clauses = _CLAUSE_END.split(text)
    if _CONCLUDES_YES.search(text):
        return False
    if _CONCLUDES_NO.search(text):
        return True
    denial = _DENYING_CLAUSE.search(first_clause)
    if denial is None:
        return False
    if _STATES.search(first_clause[: denial.start()]) or _is_double_negation(first_clause):
        return False
    return not _has_stating_clause(other_clauses)


def _has_stating_clause(clauses: Sequence[str]) -> bool:
    """Whether a clause says that a context states something, and does not negate it."""
    return any(_CONTEXT_STATES.search(clause) and not _DIFFERS.search(clause) for clause in clauses)


def _is_double_negation(clause: str) -> bool:
    """Whether a clause negates an opposition or a lack: "no context contradicts it", "no part of it is missing"."""
    opposition = _OPPOSES.search(clause) or _LACKS.search(clause)
    return opposition is not None and _DIFFERS.search(clause[: opposition.start()]) is not None


def denies_in_other_language(text: str) -> bool:
    """Whether the first clause of a reason in another language than English says that the contexts do not state something."""
    first_clause = _CLAUSE_END.split(text)[0]
    words = [fold(word) for word in _SPACED_WORD.findall(first_clause)]
    if not _ENGLISH_WORDS.isdisjoint(words):
        return False
    # "Nothing contradicts it" speaks for a yes.
    if any(stem in first_clause for stem in WORDS["oppositions"]):
        return False
    for language, stems in WORDS["statements"].items():
        # A word such as "aber" (but): what follows may take the first clause back.
        if any(word in text for word in WORDS["other_turns"].get(language, ())):
            continue
        states_something = any(stem in first_clause for stem in stems)
        if states_something and _has_negation(first_clause, words, language):
            return True
    return False


def _has_negation(text: str, words: Sequence[str], language: str) -> bool:
    """Whether a clause has a negation of a language. The one in "not only" does not count."""
    negations = WORDS["other_negations"].get(language, ())
    if language in _LANGUAGES_WITHOUT_SPACES:
        return any(negation in text for negation in negations)
    negation_words = get_word_list("negations", language) | frozenset(map(fold, negations))
    negation_words -= get_words("without")
    # Before one of these words, a negation denies nothing: "not only".
    words_after_no_negation = get_word_list("no_negation_before", language)
    for place, word in enumerate(words):
        next_word = words[place + 1 : place + 2]
        if word in negation_words and words_after_no_negation.isdisjoint(next_word):
            return True
    return False


@lru_cache(maxsize=256)
def _is_negated(text: str) -> bool:
    """Whether a text has a negation in any known language."""
    if not text:
        return False
    words = [fold(word) for word in _SPACED_WORD.findall(text[:LONGEST_TEXT])]
    languages = ["en", *WORDS["statements"]]
    return any(_has_negation(text, words, language) for language in languages)


def _begins_with_denial(text: str) -> bool:
    """Whether a reason, or its conclusion behind the last "but", begins with words that speak against a positive verdict."""
    # "It is close, but the context does not state it."
    conclusion = _BUT.split(text)[-1]
    beginning = next(
        (words for words in get_words("denying_beginnings") if conclusion.startswith(words)), None
    )
    if beginning is None or _CONCLUDES_YES.search(conclusion):
        return False
    first_clause, *other_clauses = _CLAUSE_END.split(conclusion[len(beginning) :])
    if _OPPOSES.search(first_clause) or any(stem in first_clause for stem in WORDS["oppositions"]):
        return False
    # "Not stated in c1, stated in c2."
    if _has_stating_clause(other_clauses):
        return False
    words = re.findall(r"\w+", conclusion)
    takes_back = not (get_words("turns") | get_words("other_contexts")).isdisjoint(words)
    return not takes_back


@lru_cache(maxsize=16)
def get_words(name: str) -> frozenset[str]:
    """Return the words of a list of the data file, by its name."""
    return frozenset(WORDS[name])
