"""Notes about texts that seem to be in the wrong field: joined passages, prompts, cut texts, ranks in texts, labels.

The notes change no number.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import to_plain_name
from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.samples.pictures import LONGEST_NAME, is_address_or_name, is_no_text
from ctxmetrics.samples.unanswerable import is_refusal, is_unwritten
from ctxmetrics.scores.wording import TEXT, clean, plural

# A separator is noted if at least this share of the samples with texts has one text that holds it.
_MIN_SHARE_JOINED = 0.8
# The minimum number of passages that a separator or labels must show.
_MIN_PASSAGES = 2
# The minimum number of words in a sentence.
_MIN_WORDS_OF_SENTENCE = 3


class _Separator(NamedTuple):
    """A text that may separate passages.

    Attributes:
        option: The value for ``--split``.
        name: The name in messages.
        always_holds: A part of every match of the pattern. To look for this part first is fast.
        pattern: The pattern of the separator. If possible, it begins with a fixed character: then the search is much faster.
    """

    option: str
    name: str
    always_holds: str
    pattern: re.Pattern[str]


def _build_mark_separator(mark: str, name: str, always_holds: str) -> _Separator:
    """Build the separator for a mark between two sentences, with a blank on both sides: ``One. => Two.``."""
    pattern = rf"(?<=[.!?。])\s{re.escape(mark)}\s"
    return _Separator(f" {mark} ", name, always_holds, compile_on_use(pattern))


_SEPARATORS = (
    # Separators of lines and elements.
    _Separator("\\n\\n", "blank lines", "\n", compile_on_use(r"\n\s*\n")),
    _Separator("<br>", "<br>", "<", compile_on_use(r"(?:<br\s*/?>\s*)+", re.IGNORECASE)),
    _Separator("</p>", "paragraphs", "<", compile_on_use(r"</p>\s*(?=<p\b)", re.IGNORECASE)),
    _Separator("\\n", "line breaks", "\n", compile_on_use(r"\n")),
    _Separator("\\n", "line breaks", "\v", compile_on_use(r"\v")),
    _Separator("\\n", "line breaks", "\r", compile_on_use(r"\r(?!\n)")),
    _Separator("\\n", "line breaks", "\u2028", compile_on_use("[\u2028\u2029]")),
    _Separator("\\n", "line breaks", "\u2029", compile_on_use("[\u2028\u2029]")),
    _Separator("\\n", "line breaks, written as their code,", "\\n", compile_on_use(r"(?:\\n)+")),
    # Marks behind the end of a sentence: "One.; Two.", "One. => Two.".
    _Separator("; ", "semicolons", ";", compile_on_use(r";(?<=[.!?。];)\s")),
    _Separator(";", "semicolons", ";", compile_on_use(r";(?<=[.!?。];)(?=\w)")),
    _Separator(";;", "semicolons", ";;", compile_on_use(r";;(?<=[.!?。];;)\s?")),
    _build_mark_separator("...", "dots", " ... "),
    _build_mark_separator("[...]", "dots", " [...] "),
    _build_mark_separator("…", "dots", " … "),
    _build_mark_separator("::", "colons", "::"),
    _build_mark_separator("—", "dashes", "—"),
    _build_mark_separator("–", "dashes", "–"),
    _build_mark_separator("»", "marks", "»"),
    _build_mark_separator(">", "marks", ">"),
    _build_mark_separator("=>", "arrows", "=>"),
    # Several blanks in a row.
    _Separator("    ", "runs of blanks", "    ", compile_on_use(r"(?<=[.!?。]) {4,}")),
    _Separator(
        "\u00a0\u00a0", "runs of blanks", "\u00a0\u00a0", compile_on_use("(?<=[.!?。])\u00a0{2,}")
    ),
    _Separator("\u3000", "wide blanks", "\u3000", compile_on_use("(?<=[.!?。])\u3000+")),
    _build_mark_separator("+", "marks", "+"),
    _build_mark_separator("->", "arrows", "->"),
    # "One. § Two.", but not "§ 5", which is a paragraph of a law.
    _Separator(" § ", "marks", "§", compile_on_use(r"(?<=[.!?。])\s§\s(?!\d)")),
)
# The separators that an ASCII text can hold.
_ASCII_SEPARATORS = tuple(item for item in _SEPARATORS if item.always_holds.isascii())
# A number before a sentence: "1. One.", "(2) Two.", "3 - Three.". It numbers passages in one line, or the steps of one passage.
_NUMBER_BEFORE_SENTENCE_PATTERN = compile_on_use(
    r"(?:^|(?<=[.!?。;]\s))\(?(\d{1,2})(?:[.):>]|\s[-–])\s"
)
# The first of such numbers with a dash behind it: "1 - One.".
_FIRST_NUMBER_WITH_DASH_PATTERN = compile_on_use(r"1\s[-–]")
# A number in brackets behind a sentence: "One. [1] Two. [2]". It numbers passages, or notes.
_NUMBER_BEHIND_SENTENCE_PATTERN = compile_on_use(r"(?<=[.!?。]\s)\[(\d{1,2})\](?=\s|\Z)")
# A mark between two sentences, such as "###", that is no bracket, quotation mark, dash, or sign of an amount.
_MARK_PATTERN = compile_on_use(
    r"[.!?。]\s*([^\w\s.,;:!?'\"()\[\]{}<>«»‹›„“”‘’…—–$€£%。、，-]{1,4})\s*(?=\S)"
)
# The name of a line before a colon: "doc_7: ..", "guide.pdf: ..".
_LINE_NAME_PATTERN = compile_on_use(r"^(?:[a-z][\w-]*\d\w*|[\w./\\-]+\.[a-z]{2,5}):\s+")
# The end of a passage together with the beginning of the next one.
_CLOSING_AND_OPENING_PATTERN = compile_on_use(
    r"""
    </(?P<tag>\w+)> \s* <(?P=tag)\b[^<>]*>                         # </p><p class="x">
    | <\|[^|<>\s]+\|>                                              # <|chunk|>
    | (?<=[.!?。]) (?: »\s*« | ”\s*“ | "\s*,\s*" | \]\s*\[ )       # One.» «Two.
    """,
    re.VERBOSE,
)
# Every match of `_CLOSING_AND_OPENING_PATTERN` holds one of these. To look for them first is fast.
_CLOSING_MARKS = ("</", "<|", "»", "”", '"', "]")
# A label with a number at the beginning of a passage.
_LABEL_PATTERN = compile_on_use(
    r"""
    (?: ^ | (?<=[.!?。]\s) | (?<=\n) )
    (?:
        [(<{\[] [^\W\d_]+ [\s_#.-]* \d{1,3} [)>}\]] (?=\s)         # (page 3), <chunk 2>
      | [^\W\d_]+ [_ -]? \d{1,3} =                                 # chunk_0=
    )
    """,
    re.VERBOSE,
)
_DIGITS_PATTERN = compile_on_use(r"\d+")
_LINE_OF_MARKS_PATTERN = compile_on_use(r"^[^\S\n]*([-=*_#])\1{2,}[^\S\n]*$", re.MULTILINE)


def find_line_of_marks(text: str) -> str:
    """Find a line of one mark between passages, such as ``---``. Return an empty text if there is none.

    The reader of a file splits a text at such a line. The text of a framework's record is not split.
    """
    line = _LINE_OF_MARKS_PATTERN.search(text)
    return "" if line is None else line[0].strip()


@lru_cache(maxsize=256)  # the questions about one passage often stand in a row
def find_doubtful_separator(text: str) -> tuple[str, str]:
    """Find a separator between several passages in a text.

    The pieces between separators are passages if each has several words. If one of them begins with a small letter, they are the
    lines of one sentence, and no passages.

    Returns:
        The separator, as the option ``--split`` takes it, and its name; two empty texts if there is none.
    """
    stripped = text.strip()
    separators = _ASCII_SEPARATORS if stripped.isascii() else _SEPARATORS
    for separator in separators:
        if separator.always_holds not in stripped:  # as in nearly all texts
            continue
        pieces = [piece.strip() for piece in separator.pattern.split(stripped)]
        if len(pieces) < _MIN_PASSAGES:
            continue
        if separator.name == "blank lines":
            return separator.option, separator.name
        continues_sentence = any(_LINE_NAME_PATTERN.sub("", piece)[:1].islower() for piece in pieces)
        if _are_passages(pieces) and not continues_sentence:
            return separator.option, separator.name
    mark = _find_closing_and_opening(stripped) or _find_mark(stripped) or _find_label(stripped)
    if mark:
        return mark, "marks"
    return _find_numbers(stripped)


def _find_numbers(text: str) -> tuple[str, str]:
    """Find numbers behind or before the sentences of a text; see `find_doubtful_separator`."""
    if text.endswith("]"):
        numbers_behind = _NUMBER_BEHIND_SENTENCE_PATTERN.findall(text)
        if len(numbers_behind) >= _MIN_PASSAGES:
            return "[1]", "numbers behind sentences"
    begins_with_number = text[:3].lstrip("(")[:1].isdigit()
    if begins_with_number:
        numbers = _NUMBER_BEFORE_SENTENCE_PATTERN.findall(text)
        are_distinct = len({*numbers}) == len(numbers)
        if len(numbers) >= _MIN_PASSAGES and are_distinct:
            first_number = _FIRST_NUMBER_WITH_DASH_PATTERN.match(text)
            if first_number is not None:
                return first_number[0], "numbers"
            option = "(1)" if text.startswith("(") else "1."
            return option, "numbers"
    return "", ""


def _are_passages(pieces: Sequence[str]) -> bool:
    """Return whether each piece has several words, or is of a language whose words may have no blanks between them."""
    return all(_has_several_words(piece) or not piece.isascii() for piece in pieces)


def _has_several_words(text: str) -> bool:
    """Tell whether a text has enough words for a sentence. The rest of the text is not split."""
    return len(text.split(None, _MIN_WORDS_OF_SENTENCE)) >= _MIN_WORDS_OF_SENTENCE


def _find_mark(text: str) -> str:
    """Find a mark between the sentences of a text, such as "###"; empty if there is none, or if a sentence has too few words."""
    marks: set[str] = {*_MARK_PATTERN.findall(text)}
    for mark in sorted(marks):
        pieces = [piece.strip() for piece in text.split(mark)]
        are_sentences = all(_has_several_words(piece) and not piece[:1].islower() for piece in pieces)
        if are_sentences:
            return mark
    return ""


def _find_closing_and_opening(text: str) -> str:
    """Find the marks, tags or token that close a passage and open the next one; empty text if there are none."""
    if not any(mark in text for mark in _CLOSING_MARKS):  # as in nearly all texts
        return ""
    match = _CLOSING_AND_OPENING_PATTERN.search(text)
    if match is None:
        return ""
    separator = match[0]
    return separator if _are_passages(text.split(separator)) else ""


def _find_label(text: str) -> str:
    """Find the form of the labels with a number before each passage, such as ``(page 3)`` or ``chunk_0=``; empty without them."""
    if _LABEL_PATTERN.match(text) is None:
        return ""
    labels = [match[0].strip() for match in _LABEL_PATTERN.finditer(text)]
    first_label = labels[0]
    form = _DIGITS_PATTERN.sub("0", first_label)  # "(page 3)" has the form "(page 0)"
    labels_of_form = {label for label in labels if _DIGITS_PATTERN.sub("0", label) == form}
    return first_label if len(labels_of_form) >= _MIN_PASSAGES else ""


# The key of the count of all samples that have texts.
_KEY_OF_ALL_TEXTS = ("", "all")


def count_separators(counts: Counter[tuple[str, str]], texts: Sequence[str]) -> None:
    """Count a sample by the separator that may stand between the passages of its only text.

    Args:
        counts: The number of samples. The key is a separator and its name, or `_KEY_OF_ALL_TEXTS`. It is changed.
        texts: The texts of the sample.
    """
    counts[_KEY_OF_ALL_TEXTS] += 1
    if len(texts) != 1:
        return
    separator, name = find_doubtful_separator(texts[0])
    if separator:
        counts[separator, name] += 1


def describe_separators(counts: Counter[tuple[str, str]], noun: str, effect: str) -> list[str]:
    """Describe the separators that nearly all texts have in them.

    Args:
        counts: The counts of `count_separators`.
        noun: What the texts are called: ``"context"`` or ``"expected context"``.
        effect: What is wrong if a text holds several passages.
    """
    notes = []
    for key, count in counts.items():
        separator, name = key
        are_most = count >= _MIN_SHARE_JOINED * counts[_KEY_OF_ALL_TEXTS]
        if key != _KEY_OF_ALL_TEXTS and are_most and count > 1:
            samples = plural(counts[_KEY_OF_ALL_TEXTS], "sample")
            notes.append(
                f"{count} of {samples} have one {noun}, with {name} in it: if it holds several passages, "
                f"{effect}; write --split {shlex.quote(separator)} (in Python split=)"
            )
    return notes


def describe_doubtful(
    retrieved: Iterable[Sequence[str]], expected: Iterable[Sequence[str]]
) -> list[str]:
    """Describe the separators that nearly all retrieved, or nearly all expected, texts have in them."""
    notes: list[str] = []
    for texts_of_samples, noun, effect in (
        (retrieved, "context", "precision says nothing"),
        (expected, "expected context", "string metrics say nothing"),
    ):
        counts: Counter[tuple[str, str]] = Counter()
        for texts in texts_of_samples:
            if texts:
                count_separators(counts, texts)
        notes += describe_separators(counts, noun, effect)
    return notes


# The names of ranks and scores by their kinds.
_ORDER_NAMES: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["order"]
# For each name in `_ORDER_NAMES`, without case and separators: True if the lowest number comes first, as with ranks; False if the
# highest comes first, as with scores.
_IS_LOWEST_FIRST: dict[str, bool] = {}
for _kind in ("rank", "rerank", "fused", "score", "distance"):
    for _name in _ORDER_NAMES[_kind]:
        _IS_LOWEST_FIRST[to_plain_name(_name)] = _kind in ("rank", "distance")
# A word and a number behind it: Score: .55, (similarity 0.12), rank=2.
_NAMED_NUMBER_PATTERN = compile_on_use(
    r"""
    (?<! [^\W\d_] ) (?P<name> [^\W\d_]+ )                # Score
    [\s_]? [:=#]? \s?                                    # a colon, an equals sign or the like
    (?P<number> -? (?: \d+ (?:[.,]\d+)? | [.,]\d+ ) )    # 2, 0.12 or .55
    """,
    re.VERBOSE,
)
# A number at the beginning of a text: [2] .., (0.91) .., 2. ..
_FIRST_NUMBER_PATTERN = compile_on_use(r"\s*[\[(]?(?P<number>\d{1,3}(?:\.\d+)?)[\])}.:]+\s")
# The characters at each end of a text in which its rank or score may stand.
_END_CHARACTERS = 60


def _find_order_in_texts(texts: Sequence[str]) -> tuple[str, bool]:
    """Find ranks or scores of which each text holds one: "Score: 0.55"; see `_ORDER_NAMES`.

    Returns:
        The name of the ranks or scores, empty if there are none; and whether the texts are in the order of these numbers.
    """
    first_numbers = _read_named_numbers(texts[0])
    # In nearly all samples the first text has no such number, and the other texts need not be read.
    numbers_by_text = [_read_named_numbers(text) for text in texts] if first_numbers else []
    for name in first_numbers:
        if all(name in numbers for numbers in numbers_by_text):
            values = [numbers[name] for numbers in numbers_by_text]
            is_lowest_first = _IS_LOWEST_FIRST[to_plain_name(name)]
            return name, values == sorted(values, reverse=not is_lowest_first)
    first_values: list[float] = []
    for text in texts:
        match = _FIRST_NUMBER_PATTERN.match(text)
        if match is None:
            return "", True
        first_values.append(float(match["number"]))
    are_ranks = sorted(first_values) == [*range(1, len(texts) + 1)]
    if are_ranks:
        return "the number", first_values == sorted(first_values)
    are_scores = all(0 < value < 1 for value in first_values)
    if are_scores:
        return "the score", first_values == sorted(first_values, reverse=True)
    return "", True


def _read_named_numbers(text: str) -> dict[str, float]:
    """Read the ranks and scores at both ends of a text. The key is the word before the number, such as "score"."""
    numbers: dict[str, float] = {}
    for text_end in dict.fromkeys((text[:_END_CHARACTERS], text[-_END_CHARACTERS:])):
        if _DIGITS_PATTERN.search(text_end) is not None:
            numbers |= _read_numbers_of_end(text_end)
    return numbers


@lru_cache(maxsize=4096)  # a passage is retrieved for many questions
def _read_numbers_of_end(text_end: str) -> Mapping[str, float]:
    """Read the ranks and scores in the beginning or the end of a text; see `_read_named_numbers`."""
    numbers: dict[str, float] = {}
    for match in _NAMED_NUMBER_PATTERN.finditer(text_end):
        if to_plain_name(match["name"]) in _IS_LOWEST_FIRST:
            numbers[match["name"]] = float(match["number"].replace(",", "."))
    return numbers


# Words that are grades of a retrieval, not answers.
_LABELS = frozenset({"0", "1", "relevant", "irrelevant", "correct", "incorrect", "hit", "miss"})
# The mark between several answers in one text: "Paris | Lyon", "Paris OR Lyon", "Paris ### Lyon".
_ANSWER_SEPARATOR_PATTERN = compile_on_use(r"\s*\|{1,2}\s*|\s+OR\s+|\s*\#{3,}\s*")
# The source behind an answer: (p. 12), [see manual.pdf], (Source: guide).
_SOURCE_BEHIND_ANSWER_PATTERN = compile_on_use(
    r"""
    [(\[]
    (?: see | cf | source | pp? | page | section | siehe | vgl | quelle | seite | s | voir | ver | fuente | fonte ) \b
    [^()\[\]]*
    [)\]] \W* \Z
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The end of a prompt behind the question: up to three words and a colon, such as "Answer:".
_PROMPT_END_PATTERN = compile_on_use(r"\W*(?:\w+\W*){0,3}:?\s*")


@dataclass(slots=True)
class TextSigns:
    """Counts samples whose texts seem to be in the wrong field.

    Attributes:
        lists: The number of samples with several texts, by the name of the ranks or scores in all texts of the sample; the
            name is empty if there are none.
        unordered: The same for samples whose texts are not in the order of these ranks or scores.
        contexts: The number of samples with contexts.
        prompts: The number of samples with one context that ends with the question.
        texts: The number of all contexts.
        cut: The number of contexts that end in dots.
        expected: The number of samples with expected contexts.
        expected_names: The number of samples whose expected contexts are all addresses, files or ids.
        references: The number of references.
        addresses: The number of references that are an address, a file or an id that stands in no context.
        with_source: The number of references that end with their source in brackets.
        placeholders: The number of references that are not written yet, such as "TODO".
        labels: The number of references that are a grade, or a small number that stands in no context, by the text of the
            reference.
        alternatives: The number of references that hold several answers, such as "Paris | Lyon".
    """

    lists: Counter[str] = field(default_factory=Counter)
    unordered: Counter[str] = field(default_factory=Counter)
    contexts: int = 0
    prompts: int = 0
    texts: int = 0
    cut: int = 0
    expected: int = 0
    expected_names: int = 0
    references: int = 0
    addresses: int = 0
    with_source: int = 0
    placeholders: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    alternatives: int = 0

    def add(
        self,
        question: str | None,
        references: Sequence[str],
        texts: Sequence[str],
        expected: Sequence[str] = (),
    ) -> None:
        """Add the texts of a sample.

        Args:
            question: The question.
            references: The expected answers, of which one is enough.
            texts: What was retrieved.
            expected: What should have been retrieved.
        """
        if texts:
            self.contexts += 1
            self.texts += len(texts)
            self.cut += sum(1 for text in texts if text.rstrip().endswith(("...", "…")))
        if expected:
            self.expected += 1
            if all(is_no_text(text) for text in expected):
                self.expected_names += 1
        if len(texts) > 1:
            name, is_ordered = _find_order_in_texts(texts)
            self.lists[name] += 1
            if not is_ordered:
                self.unordered[name] += 1
        elif texts and question and question in texts[0]:
            _, _, text_behind_question = texts[0].rpartition(question)
            ends_prompt = _PROMPT_END_PATTERN.fullmatch(text_behind_question[:_END_CHARACTERS])
            if len(texts[0]) > len(question) and ends_prompt:
                self.prompts += 1
        for reference in filter(None, references):
            self._add_reference(reference.strip(), texts)

    def _add_reference(self, reference: str, texts: Sequence[str]) -> None:
        """Add the reference of a sample."""
        self.references += 1
        word = reference.casefold()
        if _is_unwritten_reference(reference, texts):
            self.placeholders += 1
        elif word in _LABELS or _is_grade(word, texts):
            self.labels[word] += 1
        elif _is_address(reference) and not any(reference in text for text in texts):
            self.addresses += 1
        is_in_brackets = reference.rstrip(".").endswith((")", "]"))
        if is_in_brackets and _SOURCE_BEHIND_ANSWER_PATTERN.search(reference[-_END_CHARACTERS:]):
            self.with_source += 1
        answers: Sequence[str] = ()
        if "|" in reference or "OR" in reference or "#" in reference:
            answers = _ANSWER_SEPARATOR_PATTERN.split(reference)
        if len(answers) > 1 and "\n" not in reference and all(answers):
            self.alternatives += 1

    def describe(self) -> list[str]:
        """Describe what most samples show, a sentence each."""
        notes: list[str] = []
        list_count = sum(self.lists.values())
        for name, unordered_count in self.unordered.items():
            if 2 * self.lists[name] > list_count:
                samples = plural(unordered_count, "sample")
                notes.append(
                    f"the order of the list counts, whatever {clean(name, TEXT)} in the texts may say, in {samples}: put "
                    "the texts in its order, or give the numbers in a list beside them, such as 'scores'"
                )
        if 2 * self.prompts > self.contexts:
            samples = plural(self.prompts, "sample")
            notes.append(
                f"{samples} with one context that ends with the question: it seems to be a prompt. Give the passages"
            )
        if 2 * self.cut > self.texts:
            contexts = plural(self.texts, "context")
            notes.append(
                f"{self.cut} of {contexts} end in dots: they may be cut, and state less than what was retrieved"
            )
        if 2 * self.expected_names > self.expected:
            samples = plural(self.expected_names, "sample")
            notes.append(
                f"{samples} whose expected contexts are addresses, files or ids, and no texts: they belong "
                "in reference_context_ids"
            )
        return [*notes, *self._describe_references()]

    def _describe_references(self) -> list[str]:
        """Describe what most references show, a sentence each."""
        notes: list[str] = []
        if 2 * self.addresses > self.references:
            references_are = plural(self.addresses, "reference", "is", "are")
            notes.append(
                f"{references_are} an address, a file or an id that no context states: what names "
                "a document is no answer, and belongs in reference_context_ids"
            )
        if 2 * self.with_source > self.references:
            references_end = plural(self.with_source, "reference", "ends", "end")
            notes.append(
                f"{references_end} with a source in brackets, whose words count as a part of the answer: leave it out"
            )
        if self.placeholders:
            references_are = plural(self.placeholders, "reference", "is", "are")
            notes.append(f"{references_are} still to be written, such as 'TODO': leave the cell empty")
        label_count = sum(self.labels.values())
        has_words = any(word.isalpha() for word in self.labels)
        if label_count == self.references and label_count and (has_words or len(self.labels) > 1):
            words = ", ".join(sorted(self.labels))
            notes.append(
                f"all references are labels ({words}), and no answers: give the expected answer"
            )
        if self.alternatives and 2 * self.alternatives >= self.references:
            references = plural(self.alternatives, "reference")
            notes.append(
                f"{references} with several texts in one (between |, OR or ###), all of which count: "
                "write acceptable answers as a list (references)"
            )
        return notes


# The numbers from 0 to 10, as people grade with them.
_SMALL_NUMBERS = frozenset(map(str, range(11)))
# Characters of addresses, files and ids, but not of answers. The hyphen is not among them: GPT-4 may be an answer.
_ADDRESS_MARKS = ("/", "\\", "_", "#")
# The ending of the name of a file, such as ".pdf", and the number of its characters.
_FILE_ENDING_PATTERN = compile_on_use(r"\.[a-z]{2,4}\Z", re.IGNORECASE)
_MAX_FILE_ENDING = 5
# The page behind the name of a file: guide.pdf, p. 3.
_PAGE_PATTERN = compile_on_use(r",?\s+(?:pp?\.|page)\s*\d+\Z", re.IGNORECASE)


def _is_unwritten_reference(reference: str, texts: Sequence[str]) -> bool:
    """Tell whether a reference is a placeholder such as TODO. A refusal such as N/A, or a word of a context, is none."""
    if not is_unwritten(reference) or is_refusal(reference):
        return False
    word = reference.casefold()
    return not any(word in text.casefold() for text in texts)


def _is_grade(word: str, texts: Sequence[str]) -> bool:
    """Return whether a reference is a small number that stands in no context."""
    return word in _SMALL_NUMBERS and not any(word in text for text in texts)


def _is_address(text: str) -> bool:
    """Return whether a text is an address, a file or an id, perhaps with a page behind it."""
    name = text[:LONGEST_NAME]
    if name[-1:].isdigit():
        name = _PAGE_PATTERN.sub("", name)
    has_mark = any(mark in name for mark in _ADDRESS_MARKS)
    if not has_mark and _FILE_ENDING_PATTERN.search(name[-_MAX_FILE_ENDING:]) is None:
        return False  # the usual case: the check below takes ten times as long
    return is_address_or_name(name)
