"""Questions and references that are wrong by themselves: repeated, without an answer, or with the answer in the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from itertools import islice
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import read_words, shorten
from ctxmetrics.evaluation.gold.question import Question, find_language
from ctxmetrics.judges.evidence.word_forms import fold
from ctxmetrics.samples.unanswerable import LABEL, is_unwritten, phrase_kind
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.sentences import split_sentences

# A question names the answer if it has at least this share of the words of a sentence of the reference ..
_MIN_NAMED_SHARE = 0.9
# .. and the sentence has at least this number of words. A shorter sentence, or a sentence that answers a choice, must stand in
# the question word for word.
_MIN_SENTENCE_WORDS = 4
# A sentence of gold answers the question if it has at least this share of its words.
_MIN_QUESTION_SHARE = 0.5
# An answer of at most this number of words may be one of several answers that a question offers.
_MAX_CHOICE_WORDS = 4
# The minimum number of words of a repeated reference. Shorter references are repeated by right: a name may answer many questions.
_MIN_REPEATED_WORDS = 4
# The same in characters, for scripts without spaces between words.
_MIN_REPEATED_CHARACTERS = 20
# A reference is repeated often if at least this number of rows has it, with any gold.
_MIN_REPEATED_ROWS = 3
# One of two questions fits its gold better than the other if their fits differ by more than this.
_MIN_FIT_GAIN = 0.15
# Gold that fits a question less than this says nothing about the other questions.
_MIN_FIT = 0.35
# Two references with a smaller share of common words are different answers.
_MIN_COMMON_SHARE = 0.5
# The minimum and the maximum number of words of a question without a question mark.
_MIN_QUESTION_WORDS = 3
_MAX_QUESTION_WORDS = 12
# The maximum number of characters of a verb that answers a Chinese or Japanese question.
_MAX_VERB_CHARACTERS = 5
# The marks that end a sentence that is no question.
_END_MARKS = frozenset(".!:;。！")
# A text of one repeated letter is a placeholder if it has at least this number of letters. AAA is a size, III a number.
_MIN_REPEATED_LETTERS = 5
# A note after a mark such as TODO has at most this number of words; more are a sentence.
_MAX_NOTE_WORDS = 3
# The minimum number of words of a reference that may be cut off.
_MIN_CUT_WORDS = 3
# The end of a reference may be a copy of gold: this number of last words, or of characters in a language without blanks.
_COPIED_WORDS = 4
_COPIED_CHARACTERS = 6
# A copy stops within a word if at least this number of letters follows in the gold: "Jür" of "Jürgen", but not "car" of "cars".
_MIN_CUT_LETTERS = 2
# A missing mark at the end says something if at least this share of the long references ends with a mark ..
_MIN_MARKED_SHARE = 0.75
# .. and there is at least this number of long references.
_MIN_LONG_REFERENCES = 8
# The minimum number of words of a reference in another language.
_MIN_WORDS_IN_LANGUAGE = 3
# Languages without blanks between words.
_UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th"})
# Languages that add endings to a whole word: "kapalı" and "kapalıdır" are both right.
_SUFFIXING_LANGUAGES = frozenset({"az", "et", "eu", "fi", "hu", "ka", "kk", "ko", "ta", "tr", "uz"})
# The minimum number of characters of an id. A shorter id may be a word of the question.
_MIN_ID_CHARACTERS = 4

# The question mark at the end of a question. The last one is the Greek mark.
_QUESTION_END = re.compile(r"[?？؟\u037e]\W*$")
# A whole text in brackets, as templates have it: [answer], <answer>, {{ answer }}.
_TEMPLATE_TEXT = re.compile(
    r"\s*(?:\[[^]]*\]|<[^<>]*>|\{+[^{}]*\}+|%\w+%?|\$\w+|\#[A-Z]+[!?])\s*\.?\s*"
)
# A mark in capital letters at the beginning, such as TODO(anna).
_CAPITAL_MARK = re.compile(r"\W*(?:TODO|TBD|TBA|TBC|FIXME)\b")
# An address, or the name of a file.
_ADDRESS = re.compile(
    r"\w+://\S+|www\.\S+|\S+\.(?:pdf|docx?|md|html?|txt|xlsx?|pptx?)\b", re.IGNORECASE
)
# The number of a page or a question, such as 12 or q3.
_NUMBERED_LABEL = re.compile(r"[a-z]?\d+[a-z]?")
# The particle at the end of a Chinese or Japanese question that asks for yes or no: 开门吗？
_QUESTION_PARTICLE = re.compile(r"[吗嗎か]\W*$")
# A mark at the end of a text, also before a quotation mark, a bracket or a footnote.
_LAST_MARK = re.compile(r"[.!?…:;。！？：；)\]%€$]['\"”’»」』*_]*$")
# A Latin letter.
_LATIN_LETTER = re.compile(r"[a-z]", re.IGNORECASE)
# A word in small Latin letters. Names of products and units of measure mostly have capitals or digits: USB, Type-C.
_SMALL_LATIN_WORD = re.compile(r"(?<![\w-])[a-z]+(?![\w-])")
# The letters with which a text begins.
_LETTERS = re.compile(r"[^\W\d_]+")
# The marks that end the first part of a text.
_PART_END = re.compile(r"[,.!:;，、。！：；–—]")
# A tag of HTML.
_HTML_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
# The marks between words.
_MARKS_BETWEEN_WORDS = re.compile(r"[\W_]+")
# The colon after a mark at the beginning of a text, such as ``TODO:``.
_COLON = re.compile(r"[:：]")


def check_texts(questions: Sequence[Question]) -> Iterator[Finding]:
    """Yield the faults of the questions and their references."""
    folded_questions = frozenset(_fold_words(question.text) for question in questions)
    ends_with_marks = _end_with_marks(questions)
    for question in questions:
        yield from _check_reference(question, folded_questions)
        yield from _check_answer_in_question(question)
        yield from _check_id_in_question(question)
        yield from _check_end(question, ends_with_marks=ends_with_marks)
        yield from _check_language(question)
    yield from _check_repeated_questions(questions)
    yield from _check_repeated_references(questions)


# --- one question ---


@cache
def _read_word_lists() -> Mapping[str, Any]:
    """Read the lists of words in the data file."""
    words: Mapping[str, Any] = read_data("evaluation.gold", "words.json")
    return words


@cache
def _read_folded_words(name: str) -> frozenset[str]:
    """Read a list of words without case and marks."""
    return frozenset(map(_fold_words, _read_word_lists()[name]))


def _fold_words(text: str) -> str:
    """Return the words of a text in small letters, without accents and marks between them."""
    return " ".join(_MARKS_BETWEEN_WORDS.sub(" ", fold(normalise(text))).split())


def _is_placeholder(text: str) -> bool:
    """Tell whether a text only marks where an answer should be written, such as TODO."""
    visible_text = _HTML_TAG.sub(" ", unescape(text))
    folded_text = _fold_words(visible_text)
    if not folded_text or is_unwritten(visible_text) or _TEMPLATE_TEXT.fullmatch(text):
        return True
    label, *rest = _COLON.split(text, maxsplit=1)
    names_answer = len(label.strip()) == 1 or is_unwritten(label)
    if rest and names_answer and is_unwritten(rest[0]):
        return True
    if _points_elsewhere(text) or _begins_with_mark(text):
        return True
    if rest and _fold_words(label) in _read_folded_words("placeholder_marks"):
        return True
    beginnings = _read_folded_words("placeholder_beginnings")
    if any(f"{folded_text} ".startswith(f"{words} ") for words in beginnings):
        return True
    is_one_letter = len(set(folded_text)) == 1 and folded_text[0].isalpha()
    return is_one_letter and len(folded_text) >= _MIN_REPEATED_LETTERS


def _begins_with_mark(text: str) -> bool:
    """Tell whether a text begins with a mark such as TODO, which a note follows. A sentence may begin with it, too."""
    mark = _CAPITAL_MARK.match(text)
    if mark is None:
        return False
    note = text[mark.end() :]
    if note.isupper():  # TODO is a word of Spanish
        return False
    return not note[:1].isspace() or len(note.split()) <= _MAX_NOTE_WORDS


def _points_elsewhere(text: str) -> bool:
    """Tell whether a text only says where the answer stands, such as "see the manual, page 3" or "same as above"."""
    has_address = _ADDRESS.search(text) is not None
    folded_text = _fold_words(_ADDRESS.sub(" ", text))
    places = _read_folded_words("places")
    documents = _read_folded_words("documents")
    first_word, _, other_words = folded_text.partition(" ")
    if first_word in _read_folded_words("answer_words"):
        folded_text = other_words
    words_behind_same = _cut_beginning(folded_text, "same") or ()
    if not places.isdisjoint(words_behind_same) and _are_known(words_behind_same, places):
        return True
    words_behind_see = _cut_beginning(folded_text, "see")
    if words_behind_see is None:
        return False
    names_document = has_address or not documents.isdisjoint(words_behind_see)
    has_number = any(map(_NUMBERED_LABEL.fullmatch, words_behind_see))
    return (names_document or has_number) and _are_known(words_behind_see, documents)


def _cut_beginning(plain: str, name: str) -> Sequence[str] | None:
    """Return the words after the longest phrase of a list that folded words begin with. Return None if they begin with none."""
    beginnings = [words for words in _read_folded_words(name) if f"{plain} ".startswith(f"{words} ")]
    if not beginnings:
        return None
    longest = max(beginnings, key=len)
    return plain.removeprefix(longest).split()


def _are_known(words: Iterable[str], names: frozenset[str]) -> bool:
    """Tell whether all words are some names, words between them or numbers of pages."""
    allowed = names | _read_folded_words("between")
    return all(word in allowed or _NUMBERED_LABEL.fullmatch(word) for word in words)


def is_answer(text: str) -> bool:
    """Tell whether a reference is an answer: no refusal, no placeholder and no question."""
    return not (phrase_kind(text) in {"refusal", "mark"} or _is_placeholder(text) or _asks(text))


def cut_short_answer(text: str, question: Question) -> str:
    """Cut the answer "yes" or "no" from the beginning of a sentence: "No, it is closed." becomes "it is closed.".

    A Chinese or Japanese answer repeats the verb of the question: "不开门，..". A sentence of one part stays as it is.
    """
    part, *rest = _PART_END.split(text, maxsplit=1)
    if not rest or not rest[0].strip():
        return text
    repeats_verb = len(part) <= _MAX_VERB_CHARACTERS and _QUESTION_PARTICLE.search(question.text)
    if phrase_kind(part) == "yes_no" or repeats_verb:
        return rest[0].strip()
    return text


def _asks(text: str) -> bool:
    """Tell whether each sentence of a text is a question and ends with a question mark. A single sentence needs no mark."""
    return all(map(_QUESTION_END.search, split_sentences(text))) or _begins_as_question(text)


def _begins_as_question(text: str) -> bool:
    """Tell whether a short text without a mark at its end begins as a question: "when does", "what is"."""
    words = _fold_words(text).split()
    if not _MIN_QUESTION_WORDS <= len(words) <= _MAX_QUESTION_WORDS:
        return False
    has_end_mark = text.rstrip()[-1:] in _END_MARKS
    if has_end_mark or "," in text:
        return False
    has_verb = words[1] in _read_folded_words("yes_no_beginnings")
    return has_verb and words[0] in _read_folded_words("asking")


def _check_reference(question: Question, folded_questions: frozenset[str]) -> Iterator[Finding]:
    """Find a reference that is no answer, such as one that repeats a question.

    Args:
        question: The question with its reference.
        folded_questions: The folded texts of all questions.
    """
    text = question.reference
    if question.sample.reference is None and not text:
        return
    evidence = f"the reference is {shorten(text)!r}"
    kind = phrase_kind(text)
    if _gold_states_answer(question):
        return
    if kind in {"refusal", "mark"}:
        is_unanswerable = question.sample.labels.get(LABEL)  # then a refusal is what is expected
        if not is_unanswerable:
            yield question.make_finding("refusal", f"{evidence}: no answer")
    elif _is_placeholder(text) or _may_be_placeholder(question):
        yield question.make_finding("placeholder", f"{evidence}: the answer is missing")
    elif _fold_words(text) in folded_questions or _asks(text):
        yield question.make_finding("asks", f"{evidence}: a question, no answer")


def _may_be_placeholder(question: Question) -> bool:
    """Tell whether a reference may be a placeholder: a word such as "later" that no gold passage contains."""
    if _fold_words(question.reference) not in _read_folded_words("placeholders_or_answers"):
        return False
    answer = [word.key for word in read_words(question.reference)]
    texts = [passage.text or "" for passage in question.gold]
    return not any(_contains([word.key for word in read_words(text)], answer) for text in texts)


def _gold_states_answer(question: Question) -> bool:
    """Tell whether a sentence of the gold contains the whole reference and enough words of the question.

    Then a reference such as "null" is an answer and not a placeholder.
    """
    reference_keys = [word.key for word in read_words(question.reference)]
    question_keys = question.find_content(question.text)
    for passage in question.gold:
        for sentence in split_sentences(passage.text or ""):
            keys = [word.key for word in read_words(sentence)]
            shared_count = len(question_keys.intersection(keys))
            share_of_question = shared_count / max(1, len(question_keys))
            if share_of_question >= _MIN_QUESTION_SHARE and _contains(keys, reference_keys):
                return True
    return False


def _check_answer_in_question(question: Question) -> Iterator[Finding]:
    """Find a reference whose text, or one of whose sentences, the question already contains."""
    text = question.reference
    if (
        not is_answer(text)
        or phrase_kind(text) == "yes_no"
        or _fold_words(text) == _fold_words(question.text)
    ):
        return
    asked_words = [word.key for word in question.words]
    known_words = frozenset(asked_words)
    answer = [word.key for word in read_words(text)]
    offers_choice = not known_words.isdisjoint(_list_choice_words(question))
    is_choice = offers_choice and len(answer) <= _MAX_CHOICE_WORDS
    if _contains(asked_words, answer) and not is_choice:
        yield question.make_finding(
            "answer_in_question", f"the question has the reference: {shorten(text)!r}"
        )
        return
    # "Yes, the pump is red." and "The pump is not red." answer "Is the pump red?", which has most of their words.
    begins_with_yes = phrase_kind(_PART_END.split(text, maxsplit=1)[0]) == "yes_no"
    is_yes_or_no = begins_with_yes or _asks_yes_or_no(question)
    if _names_number(question) and not is_choice and not is_yes_or_no:
        evidence = f"the question has the number of the reference: {shorten(text)!r}"
        yield question.make_finding("answer_in_question", evidence)
        return
    for sentence in split_sentences(text):
        if sentence.endswith((":", "：")):  # the answer follows
            continue
        content = question.find_content(sentence)
        keys = [word.key for word in read_words(sentence)]
        is_word_for_word = (
            len(content) > 1 and len(keys) > _MAX_CHOICE_WORDS and _contains(asked_words, keys)
        )
        has_most_words = len(content & known_words) >= _MIN_NAMED_SHARE * len(content)
        is_long = len(content) >= _MIN_SENTENCE_WORDS
        names_answer = is_long and has_most_words and not offers_choice and not is_yes_or_no
        if is_word_for_word or names_answer:
            evidence = f"the question has the words of the reference: {shorten(sentence)!r}"
            yield question.make_finding("answer_in_question", evidence)
            return


def _names_number(question: Question) -> bool:
    """Tell whether a question has all words of a reference with a number, in any order: (120) of 120 passengers."""
    has_number = any(word.kind == "number" for word in read_words(question.reference))
    return has_number and question.reference_content <= question.word_keys


def _asks_yes_or_no(question: Question) -> bool:
    """Tell whether a question, or its last sentence, begins with a verb such as "is"."""
    last_sentences = [*split_sentences(question.text)][-1:]
    first_words = [_fold_words(text).partition(" ")[0] for text in last_sentences]
    return not _read_folded_words("yes_no_beginnings").isdisjoint(first_words)


def _list_choice_words(question: Question) -> frozenset[str]:
    """List the keys of "or" and "than" in the language of a question. If the language is not known, list them in all languages.

    The language of a short text in Latin script is seldom clear, and English then: a word of English alone tells.
    """
    language = find_language(question.text)
    if language is not None:
        return _read_choice_words(language) | _read_choice_words("und")
    return frozenset().union(*map(_read_choice_words, _read_word_lists()["choice"]))


@cache
def _read_choice_words(language: str) -> frozenset[str]:
    """Read the keys of "or" and "than" in a language.

    For ``und`` (any language) read only keys that are no other word in another language.
    """
    texts = _read_word_lists()["choice"].get(language, ())
    return frozenset(word.key for text in texts for word in read_words(text))


def _contains(keys: Sequence[str], part: Sequence[str]) -> bool:
    """Tell whether a sequence of words contains another sequence, word after word. It does not contain an empty sequence."""
    if not part:
        return False
    words = list(part)
    last_start = len(keys) - len(words)
    return any(list(keys[start : start + len(words)]) == words for start in range(last_start + 1))


def _end_with_marks(questions: Iterable[Question]) -> bool:
    """Tell whether nearly all long references end with a mark. Then a missing mark may show an answer that was cut off."""
    references = [question.reference for question in questions]
    long_references = [text for text in references if len(text) > _MIN_REPEATED_CHARACTERS]
    marked = [text for text in long_references if _LAST_MARK.search(text)]
    has_enough = len(long_references) >= _MIN_LONG_REFERENCES
    return has_enough and len(marked) >= _MIN_MARKED_SHARE * len(long_references)


def _check_end(question: Question, *, ends_with_marks: bool) -> Iterator[Finding]:
    """Find a reference that stops within a sentence or a word.

    Args:
        question: The question with its reference.
        ends_with_marks: Whether nearly all long references end with a mark.
    """
    text = question.reference.strip()
    if _LAST_MARK.search(text) or not is_answer(text):
        return
    needs_mark = ends_with_marks and len(text) > _MIN_REPEATED_CHARACTERS
    if _stops_before_noun(question, needs_mark=needs_mark) or _is_cut_copy(
        question, needs_mark=needs_mark
    ):
        evidence = f"the reference stops with {shorten(text[-40:])!r}"
        yield question.make_finding("unfinished", evidence)


def _stops_before_noun(question: Question, *, needs_mark: bool) -> bool:
    """Tell whether a reference ends with words that another word must follow: "born in the", "closed because".

    Args:
        question: The question with its reference, which ends without a mark.
        needs_mark: Whether a whole sentence would end with a mark. Otherwise only two such words, "weil sie", are enough.
    """
    words = _MARKS_BETWEEN_WORDS.sub(" ", question.reference).split()
    if len(words) < _MIN_CUT_WORDS:
        return False
    unfinished = _read_unfinished_words(question.language)
    if " ".join(words[-2:]).casefold() in unfinished:
        return True
    last_word = words[-1]
    is_label = len(last_word) == 1 and last_word.isupper()  # vitamin A
    return needs_mark and not is_label and last_word.casefold() in unfinished


@cache
def _read_unfinished_words(language: str) -> frozenset[str]:
    """Read the words after which no sentence of a language ends. Accents count: Italian "e" is "and", "è" is "is"."""
    return frozenset(_read_word_lists()["unfinished"].get(language, ()))


def _is_cut_copy(question: Question, *, needs_mark: bool) -> bool:
    """Tell whether the end of a reference is copied from gold that goes on there: within a word, or within the sentence.

    Args:
        question: The question with its reference, which ends without a mark.
        needs_mark: Whether a whole sentence would end with a mark. Otherwise only a copy that stops within a word is cut off.
    """
    text = normalise(question.reference)
    asked_words = _fold_words(question.text).split()
    is_unspaced = question.language in _UNSPACED_LANGUAGES
    words = text.split(" ")
    if not is_unspaced and len(words) < _COPIED_WORDS:
        return False
    ending = text[-_COPIED_CHARACTERS:] if is_unspaced else " ".join(words[-_COPIED_WORDS:])
    for passage in question.gold:
        before, found, behind = normalise(passage.text or "").partition(ending)
        if not found:
            continue
        rest_of_word = _LETTERS.match(behind)
        if rest_of_word is not None and not is_unspaced:
            takes_endings = question.language in _SUFFIXING_LANGUAGES
            is_whole_word = takes_endings or _fold_words(words[-1]) in asked_words
            return len(rest_of_word[0]) >= _MIN_CUT_LETTERS and not is_whole_word
        if not needs_mark or _is_within_sentence(before + ending, text):
            return False
        next_word = _find_next_word(behind, is_unspaced=is_unspaced)
        # The question asks for what stands before its own words: "Who founded it?" - "The members of the chess club".
        ends_before = {*asked_words, *_read_folded_words("joints"), ""}
        return next_word not in ends_before
    return False


def _is_within_sentence(passage: str, text: str) -> bool:
    """Tell whether a text is the end of a passage and begins within a sentence: a phrase, which needs no mark at its end."""
    words_before = passage.removesuffix(text).rstrip()
    return passage.endswith(text) and words_before[-1:] not in {"", *_END_MARKS, "?", "？"}


def _find_next_word(text: str, *, is_unspaced: bool) -> str:
    """Return the first word of the rest of a sentence, folded. The result is empty if a mark or nothing follows.

    Args:
        text: The rest of the sentence. It begins with a blank.
        is_unspaced: Whether the language has no blanks. Then the first character is returned.
    """
    if is_unspaced:
        return text[:1] if _LETTERS.match(text) else ""
    words = _fold_words(text).split(maxsplit=1)
    return words[0] if words and text.startswith(" ") else ""


def _check_language(question: Question) -> Iterator[Finding]:
    """Find a reference in another language than its question and all of its gold. A quotation of the gold is right."""
    reference = normalise(question.reference)
    is_quoted = any(reference in normalise(passage.text or "") for passage in question.gold)
    if not is_answer(question.reference) or not question.gold or is_quoted:
        return
    if len(read_words(question.reference)) < _MIN_WORDS_IN_LANGUAGE:
        return
    reference_language = find_language(question.reference)
    if reference_language is None and _is_in_another_script(question):
        reference_language = "en"  # or another language with Latin letters
    question_language = find_language(question.text)
    if reference_language is None or question_language in {None, reference_language}:
        return
    if all(find_language(passage.text or "") == question_language for passage in question.gold):
        evidence = (
            f"question and gold have the language {question_language!r}, the reference "
            f"{reference_language!r}: {shorten(question.reference)!r}"
        )
        yield question.make_finding("other_language", evidence)


def _is_in_another_script(question: Question) -> bool:
    """Tell whether a reference has words of Latin letters and the question none. A name such as "USB Type-C" has no language."""
    if not question.reference.isascii() or _LATIN_LETTER.search(question.text):
        return False
    return len(_SMALL_LATIN_WORD.findall(question.reference)) >= _MIN_WORDS_IN_LANGUAGE


def _check_id_in_question(question: Question) -> Iterator[Finding]:
    """Find a gold id in the question: the whole id, or its name without folder and ending."""
    text = normalise(question.text)
    for passage in question.gold:
        names = _list_id_names(normalise(passage.id or ""))
        if any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names if name in text):
            evidence = f"the question names the gold id {passage.id!r}"
            yield question.make_finding("id_in_question", evidence, (passage.id or "",))
            return


def _list_id_names(id_: str) -> Sequence[str]:
    """List the forms of an id that are no plain words: the id, its name without the folder, and this name without the ending.

    Without the ending, a name needs a digit and no blank: "annual report" is the title of a document.
    """
    name = id_.rpartition("/")[2]
    stem, dot, _ = name.rpartition(".")
    names = [id_, name]
    if dot and any(map(str.isdigit, stem)) and " " not in stem:
        names.append(stem)
    return [name for name in names if len(name) >= _MIN_ID_CHARACTERS and not name.isalpha()]


# --- several questions ---


def _check_repeated_questions(questions: Sequence[Question]) -> Iterator[Finding]:
    """Find questions that are asked twice with different gold."""
    # The questions by the keys of their words, without polite words.
    groups: dict[tuple[str, ...], list[Question]] = {}
    polite_keys = _read_polite_words()
    for question in questions:
        keys = [word.key for word in question.words]
        question_key = tuple(key for key in keys if key not in polite_keys)
        groups.setdefault(question_key or tuple(keys), []).append(question)
    for words, group in groups.items():
        if not words or not any(_differ(group[0], other) for other in group[1:]):
            continue
        doubtful = _choose_doubtful(group)
        for question in doubtful:
            other_names = _list_others(question, group)
            evidence = f"the same question with other gold: {', '.join(other_names)}"
            yield question.make_finding("repeated_question", evidence, other_names)


@cache
def _read_polite_words() -> frozenset[str]:
    """Read the keys of words that ask for nothing: please, hello, tell me."""
    return frozenset(word.key for text in _read_word_lists()["polite"] for word in read_words(text))


def _list_others(question: Question, group: Sequence[Question]) -> Sequence[str]:
    """List the names of the first other questions of a group."""
    other_names = (other.name for other in group if other is not question)
    return [*islice(other_names, _MIN_REPEATED_ROWS)]


def _differ(first: Question, second: Question) -> bool:
    """Tell whether two samples expect different things."""
    if first.gold and second.gold and {*first.gold_keys} != {*second.gold_keys}:
        return True
    if not first.reference or not second.reference:
        return False
    # Words that both answers take from the question make no difference: "It weighs 12 kg." and "12 kg" are the same answer,
    # "It weighs 14 kg." is another answer.
    first_words = first.reference_content - first.word_keys
    second_words = second.reference_content - second.word_keys
    if not first_words or not second_words:
        return _measure_common(first.reference_content, second.reference_content) < _MIN_COMMON_SHARE
    if first_words <= second_words or second_words <= first_words:
        return False
    return _measure_common(first_words, second_words) < _MIN_COMMON_SHARE


def _measure_common(words: frozenset[str], others: frozenset[str]) -> float:
    """Measure the share of words that two texts have in common. For two texts without words the share is 1."""
    return len(words & others) / len(words | others) if words or others else 1.0


def _choose_doubtful(group: Sequence[Question]) -> Sequence[Question]:
    """Choose the questions whose gold fits them worse than the gold of another question.

    Choose all if no gold fits better than the others, or none fits well.
    """
    fits = [_measure_fit(question) for question in group]
    if max(fits) < _MIN_FIT:
        return group
    return _choose_lower(group, fits)


def _choose_lower(group: Sequence[Question], shares: Sequence[float]) -> Sequence[Question]:
    """Choose the questions whose share is clearly below the highest share. Choose all if there is none."""
    limit = max(shares) - _MIN_FIT_GAIN
    lower = [question for question, share in zip(group, shares, strict=True) if share < limit]
    return lower or group


def _measure_fit(question: Question) -> float:
    """Measure how well a question fits its gold: the share of its words that the gold has, or the same share of the reference.

    The smaller share counts. Without gold, it is the share of the question's words that the reference has.
    """
    question_words = question.find_content(question.text)
    gold_words = frozenset[str]().union(*question.gold_content)
    if not gold_words:
        return _measure_share(question_words, question.reference_content)
    share_of_question = _measure_share(question_words, gold_words)
    if not question.reference:
        return share_of_question
    return min(share_of_question, _measure_share(question.reference_content, gold_words))


def _measure_share(words: frozenset[str], others: frozenset[str]) -> float:
    """Measure the share of some words that are among others."""
    return len(words & others) / max(1, len(words))


def _check_repeated_references(questions: Sequence[Question]) -> Iterator[Finding]:
    """Find a reference that several questions have although their gold differs."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(_fold_words(question.reference), []).append(question)
    for text, group in groups.items():
        texts = {_fold_words(question.text) for question in group}
        has_few_words = len(text.split()) < _MIN_REPEATED_WORDS
        is_short = has_few_words and len(text) < _MIN_REPEATED_CHARACTERS
        if is_short or len(texts) == 1:
            continue
        if not is_answer(group[0].reference):
            continue  # another finding says so
        has_one_gold = len({frozenset(question.gold_keys) for question in group}) == 1
        if has_one_gold and (
            len(texts) < _MIN_REPEATED_ROWS or all(question.gold for question in group)
        ):
            continue
        for question in _choose_unstated(group):
            others = _list_others(question, group)
            evidence = f"the reference of {', '.join(others)}, too: {shorten(question.reference)!r}"
            yield question.make_finding("repeated_reference", evidence, others)


def _choose_unstated(group: Sequence[Question]) -> Sequence[Question]:
    """Choose the questions whose gold has fewer words of the reference than the gold of another question. Choose all if all have equally many."""
    shares = []
    for question in group:
        gold_words = frozenset[str]().union(*question.gold_content)
        shares.append(_measure_share(question.reference_content, gold_words))
    return _choose_lower(group, shares)
