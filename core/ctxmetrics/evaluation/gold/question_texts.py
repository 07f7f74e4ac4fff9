"""Questions and references that are wrong by themselves: without an answer, cut off, or with the answer in the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ctxmetrics.evaluation.gold.answers import (
    END_MARKS,
    MARKS_BETWEEN_WORDS,
    begins_with_yes_or_no,
    fold_words,
    is_answer,
    is_placeholder,
    may_be_refusal,
    read_folded_words,
    read_word_lists,
)
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import read_words, shorten
from ctxmetrics.evaluation.gold.question import Question, find_language
from ctxmetrics.evaluation.gold.repeated_texts import (
    check_repeated_questions,
    check_repeated_references,
)
from ctxmetrics.samples.unanswerable import LABEL, phrase_kind
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
# A reference is long if it has more characters.
_MAX_SHORT_CHARACTERS = 20
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
# A mark at the end of a text, also before a quotation mark, a bracket or a footnote.
_LAST_MARK = re.compile(r"[.!?…:;。！？：；)\]%€$]['\"”’»」』*_]*$")
# A Latin letter.
_LATIN_LETTER = re.compile(r"[a-z]", re.IGNORECASE)
# A word in small Latin letters. Names of products and units of measure mostly have capitals or digits: USB, Type-C.
_SMALL_LATIN_WORD = re.compile(r"(?<![\w-])[a-z]+(?![\w-])")
# The letters with which a text begins.
_LETTERS = re.compile(r"[^\W\d_]+")


def check_texts(questions: Sequence[Question]) -> Iterator[Finding]:
    """Yield the faults of the questions and their references."""
    folded_questions = frozenset(fold_words(question.text) for question in questions)
    ends_with_marks = _end_with_marks(questions)
    for question in questions:
        yield from _check_reference(question, folded_questions)
        yield from _check_answer_in_question(question)
        yield from _check_id_in_question(question)
        yield from _check_end(question, ends_with_marks=ends_with_marks)
        yield from _check_language(question)
    yield from check_repeated_questions(questions)
    yield from check_repeated_references(questions)


def _check_reference(question: Question, folded_questions: frozenset[str]) -> Iterator[Finding]:
    """Find a reference that is no answer, such as one that repeats a question.

    Args:
        question: The question with its reference.
        folded_questions: The folded texts of all questions.
    """
    text = question.reference
    if question.sample.reference is None and not text:
        return
    is_question = fold_words(text) in folded_questions
    if is_answer(text) and not (
        is_question or may_be_refusal(question) or _may_be_placeholder(question)
    ):
        return
    if _gold_states_answer(question):
        return
    evidence = f"the reference is {shorten(text)!r}"
    if phrase_kind(text) in {"refusal", "mark"} or may_be_refusal(question):
        is_unanswerable = question.sample.labels.get(LABEL)  # then a refusal is what is expected
        if not is_unanswerable:
            yield question.make_finding("refusal", f"{evidence}: no answer")
    elif is_placeholder(text) or _may_be_placeholder(question):
        yield question.make_finding("placeholder", f"{evidence}: the answer is missing")
    else:
        yield question.make_finding("asks", f"{evidence}: a question, no answer")


def _may_be_placeholder(question: Question) -> bool:
    """Tell whether a reference may be a placeholder: a word such as "later" that no gold passage contains."""
    if fold_words(question.reference) not in read_folded_words("placeholders_or_answers"):
        return False
    answer = [word.key for word in question.reference_words]
    texts = [passage.text or "" for passage in question.gold]
    return not any(_contains([word.key for word in read_words(text)], answer) for text in texts)


def _gold_states_answer(question: Question) -> bool:
    """Tell whether a sentence of the gold contains the whole reference and enough words of the question.

    Then a reference such as "null" is an answer and not a placeholder.
    """
    reference_keys = [word.key for word in question.reference_words]
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
        or fold_words(text) == fold_words(question.text)
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
    is_yes_or_no = begins_with_yes_or_no(text) or _asks_yes_or_no(question)
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
    has_number = any(word.kind == "number" for word in question.reference_words)
    return has_number and question.reference_content <= question.word_keys


def _asks_yes_or_no(question: Question) -> bool:
    """Tell whether a question, or its last sentence, begins with a verb such as "is"."""
    last_sentences = [*split_sentences(question.text)][-1:]
    first_words = [fold_words(text).partition(" ")[0] for text in last_sentences]
    return not read_folded_words("yes_no_beginnings").isdisjoint(first_words)


def _list_choice_words(question: Question) -> frozenset[str]:
    """List the keys of "or" and "than" in the language of a question. If the language is not known, list them in all languages.

    The language of a short text in Latin script is seldom clear, and English then: a word of English alone tells.
    """
    language = find_language(question.text)
    if language is not None:
        return _read_choice_words(language) | _read_choice_words("und")
    return frozenset().union(*map(_read_choice_words, read_word_lists()["choice"]))


@cache
def _read_choice_words(language: str) -> frozenset[str]:
    """Read the keys of "or" and "than" in a language.

    For ``und`` (any language) read only keys that are no other word in another language.
    """
    texts = read_word_lists()["choice"].get(language, ())
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
    long_references = [text for text in references if len(text) > _MAX_SHORT_CHARACTERS]
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
    needs_mark = ends_with_marks and len(text) > _MAX_SHORT_CHARACTERS
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
    words = MARKS_BETWEEN_WORDS.sub(" ", question.reference).split()
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
    return frozenset(read_word_lists()["unfinished"].get(language, ()))


def _is_cut_copy(question: Question, *, needs_mark: bool) -> bool:
    """Tell whether the end of a reference is copied from gold that goes on there: within a word, or within the sentence.

    Args:
        question: The question with its reference, which ends without a mark.
        needs_mark: Whether a whole sentence would end with a mark. Otherwise only a copy that stops within a word is cut off.
    """
    text = normalise(question.reference)
    asked_words = fold_words(question.text).split()
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
            is_whole_word = takes_endings or fold_words(words[-1]) in asked_words
            return len(rest_of_word[0]) >= _MIN_CUT_LETTERS and not is_whole_word
        if not needs_mark or _is_within_sentence(before + ending, text):
            return False
        next_word = _find_next_word(behind, is_unspaced=is_unspaced)
        # The question asks for what stands before its own words: "Who founded it?" - "The members of the chess club".
        ends_before = {*asked_words, *read_folded_words("joints"), ""}
        return next_word not in ends_before
    return False


def _is_within_sentence(passage: str, text: str) -> bool:
    """Tell whether a text is the end of a passage and begins within a sentence: a phrase, which needs no mark at its end."""
    words_before = passage.removesuffix(text).rstrip()
    return passage.endswith(text) and words_before[-1:] not in {"", *END_MARKS, "?", "？"}


def _find_next_word(text: str, *, is_unspaced: bool) -> str:
    """Return the first word of the rest of a sentence, folded. The result is empty if a mark or nothing follows.

    Args:
        text: The rest of the sentence. It begins with a blank.
        is_unspaced: Whether the language has no blanks. Then the first character is returned.
    """
    if is_unspaced:
        return text[:1] if _LETTERS.match(text) else ""
    words = fold_words(text).split(maxsplit=1)
    return words[0] if words and text.startswith(" ") else ""


def _check_language(question: Question) -> Iterator[Finding]:
    """Find a reference in another language than its question and all of its gold. A quotation of the gold is right."""
    reference = normalise(question.reference)
    is_quoted = any(reference in normalise(passage.text or "") for passage in question.gold)
    if not is_answer(question.reference) or not question.gold or is_quoted:
        return
    if len(question.reference_words) < _MIN_WORDS_IN_LANGUAGE:
        return
    reference_language = find_language(question.reference)
    if reference_language is None and _only_reference_is_latin(question):
        reference_language = "en"  # stands for any language with Latin letters
    question_language = find_language(question.text)
    if reference_language is None or question_language in {None, reference_language}:
        return
    if all(find_language(passage.text or "") == question_language for passage in question.gold):
        evidence = (
            f"question and gold have the language {question_language!r}, the reference "
            f"{reference_language!r}: {shorten(question.reference)!r}"
        )
        yield question.make_finding("other_language", evidence)


def _only_reference_is_latin(question: Question) -> bool:
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
