"""Notes about the ids and labels of a run: reference ids that were never retrieved, labels that repeat retrieved texts.

These are notes beside a number, never a part of it. Ids that name spans are not compared: spans of two chunkings differ.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import unquote

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import to_letters
from ctxmetrics.samples.documents import in_spans
from ctxmetrics.samples.pictures import ADDRESS_OR_NAME, LONGEST_NAME, is_no_text
from ctxmetrics.samples.sample import DROPPED, Sample
from ctxmetrics.samples.schema import NOT_READ, OPTIONS, ORDERED_BY, RETRIEVED, UNORDERED_BY
from ctxmetrics.samples.unanswerable import LABEL, phrase_kind
from ctxmetrics.scores.wording import TEXT, clean, plural

# Samples below which nothing is said.
_FEW = 5


# A note is written if more than this share of the reference ids were never retrieved.
_NOTED_SHARE = 0.5


# It suggests a cut that matches at least this share of them ..
_LEAST_MATCHED_SHARE = 0.2
# .. and at least so many of them. So many examples are shown.
_SHOWN = 2


# The share of samples with one context that has blank lines or the like, above which that is noted.
_JOINED = 0.8


# What may separate passages or stand within one: what to write for --split, what it is called, what it holds in any case, and
# its form. A form begins with a character where it can: the search is much faster then.
_DOUBTFUL: tuple[tuple[str, str, str, re.Pattern[str]], ...] = (
    ("\\n\\n", "blank lines", "\n", re.compile(r"\n\s*\n")),
    ("<br>", "<br>", "<", re.compile(r"(?:<br\s*/?>\s*)+", re.IGNORECASE)),
    ("</p>", "paragraphs", "<", re.compile(r"</p>\s*(?=<p\b)", re.IGNORECASE)),
    ("\\n", "line breaks", "\n", re.compile(r"\n")),
    ("\\n", "line breaks", "\v", re.compile(r"\v")),
    ("\\n", "line breaks", "\r", re.compile(r"\r(?!\n)")),
    ("\\n", "line breaks", "\u2028", re.compile("[\u2028\u2029]")),
    ("\\n", "line breaks", "\u2029", re.compile("[\u2028\u2029]")),
    ("\\n", "line breaks, written as their code,", "\\n", re.compile(r"(?:\\n)+")),
    ("; ", "semicolons", ";", re.compile(r";(?<=[.!?。];)\s")),
    (";", "semicolons", ";", re.compile(r";(?<=[.!?。];)(?=\w)")),
    (";;", "semicolons", ";;", re.compile(r";;(?<=[.!?。];;)\s?")),
    (" ... ", "dots", " ... ", re.compile(r"(?<=[.!?。])\s\.\.\.\s")),
    (" [...] ", "dots", " [...] ", re.compile(r"(?<=[.!?。])\s\[\.\.\.\]\s")),
    (" … ", "dots", " … ", re.compile(r"(?<=[.!?。])\s…\s")),
    (" :: ", "colons", "::", re.compile(r"(?<=[.!?。])\s::\s")),
    (" — ", "dashes", "—", re.compile(r"(?<=[.!?。])\s—\s")),
    (" – ", "dashes", "–", re.compile(r"(?<=[.!?。])\s–\s")),
    (" » ", "marks", "»", re.compile(r"(?<=[.!?。])\s»\s")),
    (" > ", "marks", ">", re.compile(r"(?<=[.!?。])\s>\s")),
    (" => ", "arrows", "=>", re.compile(r"(?<=[.!?。])\s=>\s")),
    ("    ", "runs of blanks", "    ", re.compile(r"(?<=[.!?。]) {4,}")),
    ("\u00a0\u00a0", "runs of blanks", "\u00a0\u00a0", re.compile("(?<=[.!?。])\u00a0{2,}")),
    ("\u3000", "wide blanks", "\u3000", re.compile("(?<=[.!?。])\u3000+")),
    (" + ", "marks", "+", re.compile(r"(?<=[.!?。])\s\+\s")),
    (" -> ", "arrows", "->", re.compile(r"(?<=[.!?。])\s->\s")),
    (" § ", "marks", "§", re.compile(r"(?<=[.!?。])\s§\s(?!\d)")),
)
# Numbers before sentences in one line: passages, or the steps of one.
_NUMBERED = re.compile(r"(?:^|(?<=[.!?。;]\s))\(?(\d{1,2})[.):>]\s")
# Numbers in brackets behind sentences: the numbers of passages, or of notes.
_NUMBERS_BEHIND = re.compile(r"(?<=[.!?。]\s)\[(\d{1,2})\](?=\s|\Z)")
# A mark between two sentences that is no bracket, quotation mark, dash, or sign of an amount.
_MARK = re.compile(r"[.!?。]\s*([^\w\s.,;:!?'\"()\[\]{}<>«»‹›„“”‘’…—–$€£%。、，-]{1,4})\s*(?=\S)")
# The name of a line before a colon: doc_7: .., guide.pdf: ..
_LINE_NAME = re.compile(r"^(?:[a-z][\w-]*\d\w*|[\w./\\-]+\.[a-z]{2,5}):\s+")
# What closes a passage and opens the next one: </p><p>, <|chunk|>, » «.
_CLOSING_AND_OPENING = re.compile(
    r"""
    </(?P<tag>\w+)> \s* <(?P=tag)\b[^<>]*>
    | <\|[^|<>\s]+\|>
    | (?<=[.!?。]) (?: »\s*« | ”\s*“ | "\s*,\s*" | \]\s*\[ )
    """,
    re.VERBOSE,
)
# One of these is in what `_CLOSING_AND_OPENING` finds.
_CLOSING = ("</", "<|", "»", "”", '"', "]")
# A label with a number before a passage: (page 3), <chunk 2>, chunk_0=.
_LABEL = re.compile(
    r"""
    (?:^|(?<=[.!?。]\s)|(?<=\n))
    (?: [(<{\[] [^\W\d_]+ [\s_#.-]* \d{1,3} [)>}\]] (?=\s) | [^\W\d_]+ [_ -]? \d{1,3} = )
    """,
    re.VERBOSE,
)
_DIGITS = re.compile(r"\d+")
# The fewest words of a sentence that tells something.
_FEWEST_WORDS = 3


def find_doubtful_separator(text: str) -> tuple[str, str]:
    """Return what may separate several passages in a text, and what it is called; empty texts where there is none.

    Pieces are passages where each has several words. Lines of which one begins with a small letter are broken within a
    sentence.
    """
    stripped = text.strip()
    for separator, name, held, pattern in _DOUBTFUL:
        if held not in stripped:  # as nearly always
            continue
        pieces = [piece.strip() for piece in pattern.split(stripped)]
        if len(pieces) < _SHOWN:
            continue
        if name == "blank lines":
            return separator, name
        are_sentences = all(
            len(piece.split()) >= _FEWEST_WORDS or not piece.isascii() for piece in pieces
        )
        if are_sentences and not any(_LINE_NAME.sub("", piece)[:1].islower() for piece in pieces):
            return separator, name
    mark = _find_closing_and_opening(stripped) or _find_mark(stripped) or _find_label(stripped)
    if mark:
        return mark, "marks"
    if stripped.endswith("]") and len(_NUMBERS_BEHIND.findall(stripped)) >= _SHOWN:
        return "[1]", "numbers behind sentences"
    if stripped[:3].lstrip("(")[:1].isdigit():
        numbers = _NUMBERED.findall(stripped)
        if len(numbers) >= _SHOWN and len({*numbers}) == len(numbers):
            return "(1)" if stripped.startswith("(") else "1.", "numbers"
    return "", ""


def _find_mark(text: str) -> str:
    """Find the one mark that stands between the sentences of a text, each of several words; empty where there is none."""
    marks: set[str] = {*_MARK.findall(text)}
    for mark in sorted(marks):
        pieces = [piece.strip() for piece in text.split(mark)]
        if all(len(piece.split()) >= _FEWEST_WORDS and not piece[:1].islower() for piece in pieces):
            return mark
    return ""


def _find_closing_and_opening(text: str) -> str:
    """Find the marks, tags or token that close a passage and open the next one; empty text where there are none."""
    if not any(closing in text for closing in _CLOSING):  # as nearly always
        return ""
    match = _CLOSING_AND_OPENING.search(text)
    if match is None:
        return ""
    pieces = text.split(match[0])
    are_passages = all(len(piece.split()) >= _FEWEST_WORDS or not piece.isascii() for piece in pieces)
    return match[0] if are_passages else ""


def _find_label(text: str) -> str:
    """Find the form of the labels with a number before each passage, such as ``(page 3)`` or ``chunk_0=``; empty without them."""
    first = _LABEL.match(text)
    if first is None:
        return ""
    labels = [label[0].strip() for label in _LABEL.finditer(text)]
    alike = [label for label in labels if _DIGITS.sub("0", label) == _DIGITS.sub("0", labels[0])]
    return labels[0] if len({*alike}) >= _SHOWN else ""


# What separates the parts of an id: marks, or the border between letters and digits at its beginning or end.
_BETWEEN = re.compile(r"[\W_]+|^[^\W\d_]+(?=\d)|(?<=\d)(?=[^\W\d_]+$)")
# A whole number in any form.
_NUMBER = re.compile(r"^0*(\d+)(?:\.0+)?$")
# A number whose last digits a sheet has cut: 1.23457E+11.
_CUT_NUMBER = re.compile(r"\d\.\d{2,}E\+\d{2,}")
# A number as sheets write large ones: 1E+05, 1.2e6.
_WITH_EXPONENT = re.compile(r"\d(?:\.\d+)?[eE]\+?\d{1,2}")


def _cut_ends(id_: str) -> list[str]:
    """Return the beginnings of an id up to each mark, the longest first."""
    beginnings = [id_[: match.start()] for match in _BETWEEN.finditer(id_) if match.start() > 0]
    beginnings.reverse()
    return beginnings


def _cut_beginnings(id_: str) -> list[str]:
    """Return the ends of an id behind each mark."""
    return [id_[match.end() :] for match in _BETWEEN.finditer(id_) if match.end() < len(id_)]


def _list_numbers(id_: str) -> list[str]:
    """Return an id as a whole number without zeros before it; no item for any other id."""
    if _WITH_EXPONENT.fullmatch(id_):
        number = float(id_)
        return [str(int(number))] if number.is_integer() else []
    return _NUMBER.findall(id_)


def _fold_marks(id_: str) -> list[str]:
    """Return the words of an id with one mark between them: ``./docs/a.pdf`` and ``Docs/a.pdf/`` are one."""
    words = re.findall(r"[^\W_]+", unquote(id_).casefold())
    return ["-".join(words)] if words else []


# Under this key the samples are counted that have texts.
_ALL = ("", "all")


def _count_separators(counts: Counter[tuple[str, str]], texts: Sequence[str]) -> None:
    """Count a sample by what may separate the passages of its only text."""
    counts[_ALL] += 1
    if len(texts) != 1:
        return
    separator, name = find_doubtful_separator(texts[0])
    if separator:
        counts[separator, name] += 1


def _describe_separators(counts: Counter[tuple[str, str]], what: str, effect: str) -> list[str]:
    """Say what nearly all texts have in them that may separate passages."""
    notes = []
    for key, count in counts.items():
        separator, name = key
        if key != _ALL and count >= _JOINED * counts[_ALL] and count > 1:
            notes.append(
                f"{count} of {plural(counts[_ALL], 'sample')} have one {what}, with {name} in it: if it holds several passages, "
                f"{effect}; write --split {shlex.quote(separator)} (in Python split=)"
            )
    return notes


def describe_doubtful(
    retrieved: Iterable[Sequence[str]], expected: Iterable[Sequence[str]]
) -> list[str]:
    """Say what nearly all retrieved and nearly all expected texts have in them that may separate passages."""
    notes: list[str] = []
    for lists, what, effect in (
        (retrieved, "context", "precision says nothing"),
        (expected, "expected context", "string metrics say nothing"),
    ):
        counts: Counter[tuple[str, str]] = Counter()
        for texts in lists:
            if texts:
                _count_separators(counts, texts)
        notes += _describe_separators(counts, what, effect)
    return notes


# The names of ranks and scores by their kinds.
_ORDER_NAMES: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["order"]
# By the letters of such a name, whether the lowest number stands for the first text.
_IS_LOWEST_FIRST = {
    to_letters(name): kind in ("rank", "distance")
    for kind in ("rank", "rerank", "fused", "score", "distance")
    for name in _ORDER_NAMES[kind]
}
# A word and a number behind it: Score: .55, (similarity 0.12), rank=2.
_NAMED_NUMBER = re.compile(
    r"(?<![^\W\d_])(?P<name>[^\W\d_]+)[\s_]?[:=#]?\s?(?P<number>-?(?:\d+(?:[.,]\d+)?|[.,]\d+))"
)
_DIGIT = re.compile(r"\d")
# A number at the beginning of a text: [2] .., (0.91) .., 2. ..
_FIRST_NUMBER = re.compile(r"\s*[\[(]?(?P<number>\d{1,3}(?:\.\d+)?)[\])}.:]+\s")
# The characters at each end of a text in which its rank or score may stand.
_END_OF_TEXT = 60


def _find_order_in_texts(texts: Sequence[str]) -> tuple[str, bool]:
    """Find the ranks or scores that stand in texts, one in each; see `_ORDER_NAMES`.

    Returns:
        Their name, empty without them, and whether the texts are in the order that they say.
    """
    names = _read_named_numbers(texts[0])
    # Nearly always the first text has none, and the others need not be read.
    numbers = [_read_named_numbers(text) for text in texts] if names else []
    for name in names:
        if all(name in others for others in numbers):
            values = [others[name] for others in numbers]
            is_lowest_first = _IS_LOWEST_FIRST[to_letters(name)]
            return name, values == sorted(values, reverse=not is_lowest_first)
    matches = [_FIRST_NUMBER.match(text) for text in texts]
    values = [float(match["number"]) for match in matches if match is not None]
    if len(values) < len(texts):
        return "", True
    if sorted(values) == [*range(1, len(texts) + 1)]:
        return "the number", values == sorted(values)
    are_scores = all(0 < value < 1 for value in values)
    return ("the score", values == sorted(values, reverse=True)) if are_scores else ("", True)


def _read_named_numbers(text: str) -> dict[str, float]:
    """Read the ranks and scores at the ends of a text, by the words before them."""
    numbers: dict[str, float] = {}
    for part in {text[:_END_OF_TEXT], text[-_END_OF_TEXT:]}:
        if _DIGIT.search(part) is None:
            continue
        for match in _NAMED_NUMBER.finditer(part):
            if to_letters(match["name"]) in _IS_LOWEST_FIRST:
                numbers[match["name"]] = float(match["number"].replace(",", "."))
    return numbers


# What fills the cell of an answer that is to be written.
_PLACEHOLDERS = frozenset(
    {
        "todo",
        "tbd",
        "tba",
        "fixme",
        "xxx",
        "see above",
        "same as above",
        "same as before",
        "siehe oben",
        "fill in",
        "placeholder",
        "lorem ipsum",
        "待定",
        "voir ci-dessus",
        "ver arriba",
    }
)
# Single words that grade what was retrieved, and are no answers.
_LABELS = frozenset({"0", "1", "relevant", "irrelevant", "correct", "incorrect", "hit", "miss"})
# What stands between several answers in one text.
_BETWEEN_ANSWERS = re.compile(r"\s*\|{1,2}\s*|\s+OR\s+|\s*\#{3,}\s*")
# The source behind an answer: (p. 12), [see manual.pdf], (Source: guide).
_SOURCE_BEHIND = re.compile(
    r"[(\[](?:see|cf|source|pp?|page|section|siehe|vgl|quelle|seite|s|voir|ver|fuente|fonte)\b[^()\[\]]*[)\]]\W*\Z",
    re.IGNORECASE,
)
# How a prompt ends behind the question: Answer:
_END_OF_PROMPT = re.compile(r"\W*(?:\w+\W*){0,3}:?\s*")


@dataclass(slots=True)
class TextSigns:
    """Counts samples whose texts may not be what their fields say.

    Attributes:
        lists: How many samples have several texts, by the name of the ranks or scores that stand in all of them; empty: in none.
        unordered: The same where the texts are in another order.
        contexts: How many samples have contexts.
        prompts: How many have one context that ends with the question.
        texts: How many texts they have.
        cut: How many of these end in dots.
        references: How many references there are.
        addresses: How many of them are an address, a file or an id that stands in no context.
        expected: How many samples have expected contexts.
        expected_names: How many of them have none that reads as a text.
        with_source: How many of them end with their source in brackets.
        placeholders: How many of them are still to be written.
        labels: The references that grade what was retrieved, or are a small number that stands in no context.
        alternatives: How many hold several texts between bars or the like.
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
            self.expected_names += all(map(is_no_text, expected))
        if len(texts) > 1:
            name, is_ordered = _find_order_in_texts(texts)
            self.lists[name] += 1
            if not is_ordered:
                self.unordered[name] += 1
        elif texts and question and question in texts[0]:
            rest = texts[0].rpartition(question)[2]
            if len(texts[0]) > len(question) and _END_OF_PROMPT.fullmatch(rest[:_END_OF_TEXT]):
                self.prompts += 1
        for reference in filter(None, references):
            self._add_reference(reference.strip(), texts)

    def _add_reference(self, reference: str, texts: Sequence[str]) -> None:
        """Add the reference of a sample."""
        self.references += 1
        word = reference.casefold()
        if word.rstrip(".…!") in _PLACEHOLDERS:
            self.placeholders += 1
        elif word in _LABELS or _is_grade(word, texts):
            self.labels[word] += 1
        elif _is_address(reference) and not any(reference in text for text in texts):
            self.addresses += 1
        is_in_brackets = reference.rstrip(".").endswith((")", "]"))
        if is_in_brackets and _SOURCE_BEHIND.search(reference[-_END_OF_TEXT:]):
            self.with_source += 1
        pieces: Sequence[str] = ()
        if any(mark in reference for mark in ("|", "OR", "#")):
            pieces = _BETWEEN_ANSWERS.split(reference)
        if len(pieces) > 1 and "\n" not in reference and all(pieces):
            self.alternatives += 1

    def describe(self) -> list[str]:
        """Describe what most samples show, a sentence each."""
        notes: list[str] = []
        count = sum(self.lists.values())
        for name, unordered in self.unordered.items():
            if 2 * self.lists[name] > count:
                notes.append(
                    f"the order of the list counts, whatever {clean(name, TEXT)} in the texts may say, in {plural(unordered, 'sample')}: put "
                    "the texts in its order, or give the numbers in a list beside them, such as 'scores'"
                )
        if 2 * self.prompts > self.contexts:
            notes.append(
                f"{plural(self.prompts, 'sample')} with one context that ends with the question: it seems to be a prompt. Give "
                "the passages"
            )
        if 2 * self.cut > self.texts:
            notes.append(
                f"{self.cut} of {plural(self.texts, 'context')} end in dots: they may be cut, and state less than what was retrieved"
            )
        if 2 * self.expected_names > self.expected:
            notes.append(
                f"{plural(self.expected_names, 'sample')} whose expected contexts are addresses, files or ids, and no texts: they belong "
                "in reference_context_ids"
            )
        return [*notes, *self._describe_references()]

    def _describe_references(self) -> list[str]:
        """Describe what most references show, a sentence each."""
        notes: list[str] = []
        if 2 * self.addresses > self.references:
            notes.append(
                f"{plural(self.addresses, 'reference', 'is', 'are')} an address, a file or an id that no context states: what names "
                "a document is no answer, and belongs in reference_context_ids"
            )
        if 2 * self.with_source > self.references:
            notes.append(
                f"{plural(self.with_source, 'reference', 'ends', 'end')} with a source in brackets, whose words count as a part of the answer: leave "
                "it out"
            )
        if self.placeholders:
            notes.append(
                f"{plural(self.placeholders, 'reference', 'is', 'are')} still to be written, such as 'TODO': leave the cell empty"
            )
        labels = sum(self.labels.values())
        has_words = any(word.isalpha() for word in self.labels)
        if labels == self.references and labels and (has_words or len(self.labels) > 1):
            words = ", ".join(sorted(self.labels))
            notes.append(
                f"all references are labels ({words}), and no answers: give the expected answer"
            )
        if self.alternatives and 2 * self.alternatives >= self.references:
            notes.append(
                f"{plural(self.alternatives, 'reference')} with several texts in one (between |, OR or ###), all of which count: "
                "write acceptable answers as a list (references)"
            )
        return notes


def _is_grade(word: str, texts: Sequence[str]) -> bool:
    """Whether a reference is a small number that stands in no context."""
    return word in _SMALL_NUMBERS and not any(word in text for text in texts)


# Numbers of one digit, and 10.
_SMALL_NUMBERS = frozenset(map(str, range(11)))
# What only addresses, files and ids have in them: words with digits, such as GPT-4, may be answers.
_SIGN_OF_ADDRESS = re.compile(r"[/\\_#]|\.[a-z]{2,4}\Z", re.IGNORECASE)
# The page behind the name of a file.
_PAGE = re.compile(r",?\s+(?:pp?\.|page)\s*\d+\Z", re.IGNORECASE)


def _is_address(text: str) -> bool:
    """Whether a text is an address, a file or an id, perhaps with a page behind it."""
    name = _PAGE.sub("", text[:LONGEST_NAME])
    return _SIGN_OF_ADDRESS.search(name) is not None and ADDRESS_OR_NAME.fullmatch(name) is not None


_Forms = Callable[[str], list[str]]


_Change = tuple[str, _Forms, _Forms]
# Changes that could make ids match: in words, the forms of a reference id, and the forms of a retrieved id.
# The lossless changes cut nothing from an id: they are suggested for a single id, too.
_LOSSLESS_CHANGES: tuple[_Change, ...] = (
    ("in one case", lambda id_: [id_.casefold()], lambda id_: [id_.casefold()]),
    ("as numbers", _list_numbers, _list_numbers),
    ("without blanks around them", lambda id_: [id_.strip()], lambda id_: [id_.strip()]),
    ("with the same marks between their words", _fold_marks, _fold_marks),
)
# The cuts are suggested for many samples, or where one of each of a few samples matches an id of its own.
_CUTS: tuple[_Change, ...] = (
    ("with the end of the reference ids cut", _cut_ends, lambda id_: [id_]),
    ("with the end of the retrieved ids cut", lambda id_: [id_], _cut_ends),
    ("with the beginning of the reference ids cut", _cut_beginnings, lambda id_: [id_]),
    ("with the beginning of the retrieved ids cut", lambda id_: [id_], _cut_beginnings),
)


# Circular labels: they repeat what was retrieved or answered, so that they cannot show an error.
_CIRCULAR_LABELS = (
    "the reference contexts are the retrieved contexts",
    "the whole reference is one of the retrieved contexts",
    "the response is the reference",
)


def describe_orders(metadata: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describe what decided the orders of what was retrieved, or did not, by the metadata of samples, a sentence each."""
    signs: Counter[tuple[str, str]] = Counter()
    for fields in metadata:
        signs.update(_find_signs(fields))
    return [_describe_order(*sign, count) for sign, count in signs.items()]


def _find_signs(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the metadata of a sample says of its order, and of a list that is not read: each key with the name that it holds."""
    return [
        (key, str(metadata[key])) for key in (ORDERED_BY, UNORDERED_BY, NOT_READ) if key in metadata
    ]


def _describe_change(text: str, change: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Describe the change that would make reference ids match, behind a text that counts them."""
    examples = [
        f"{clean(label, TEXT)} and {clean(retrieved, TEXT)}" for label, retrieved in pairs[:_SHOWN]
    ]
    return f"{text}; {change} they would match: {', '.join(examples)}"


def _describe_order(key: str, name: str, count: int) -> str:
    """Describe what decided the order of retrieved contexts, in how many samples."""
    text = clean(name, TEXT)
    samples = plural(count, "sample")
    if key == NOT_READ:
        return f"{text} stands beside the lists and is not read, in {samples}"
    if key == ORDERED_BY:
        return f"retrieved in the order of {text}, which the list does not have, in {samples}; --order given (order=) takes the list's"
    return f"the order of the list counts, whatever {text} may say, in {samples}; --order rank or score (order=) takes theirs"


def _check_circular_labels(sample: Sample) -> Iterator[tuple[str, bool]]:
    """Yield each kind of circular label that a sample could have, and whether the sample has it."""
    contexts = sample.retrieved_contexts
    if sample.reference_contexts and contexts:
        yield _CIRCULAR_LABELS[0], {*sample.reference_contexts} == {*contexts}
    if sample.reference and contexts:
        yield _CIRCULAR_LABELS[1], sample.reference in contexts
    if sample.reference and sample.response:
        yield _CIRCULAR_LABELS[2], sample.response == sample.reference


@dataclass(slots=True)
class Labels:
    """The ids and labels of a run, as far as its notes need them.

    Attributes:
        samples: How many there are.
        retrieved: The retrieved ids of all samples that have reference ids.
        wanted: The reference ids, one tuple a sample.
        first_pairs: The retrieved and the reference ids of the first samples.
        unanswered: For how many nothing was retrieved.
        without_answer: How many questions have no answer, and for how many of these something was retrieved.
        yes_or_no: How many references are a yes or a no and nothing else.
        marks: How many questions have no answer because the reference is a word such as "None".
        unsure: How many references may be a refusal, and count as statements.
        contexts: How many samples have contexts, and how many have one with something in it that may separate passages, by what
            to write for it and what it is called.
        expected: The same of expected contexts.
        answers: Of each question with its contexts, both as their hash, the hashes of the references.
        orders: How many samples have what was retrieved in another order than that of its list, or may have to, by what says so.
        dropped: How many retrieved contexts were the question itself and were dropped, and in how many samples.
        empty: How many retrieved and reference ids are empty.
        repeated: How many retrieved contexts repeat one above, by their texts or else their ids, and in how many samples.
        signs: What texts show that may not be what their fields say.
        circles: For each kind of circular label, in how many samples it is circular (True), and in how many it is not (False).
        last_never: What `describe_never_retrieved` said last, after the number of samples that it was about.
    """

    samples: int = 0
    unanswered: int = 0
    without_answer: Counter[str] = field(default_factory=Counter)
    yes_or_no: int = 0
    marks: int = 0
    unsure: int = 0
    retrieved: set[str] = field(default_factory=set)
    wanted: list[tuple[str, ...]] = field(default_factory=list)
    first_pairs: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    contexts: Counter[tuple[str, str]] = field(default_factory=Counter)
    expected: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: dict[int, set[int]] = field(default_factory=dict)
    orders: Counter[tuple[str, str]] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    empty: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    signs: TextSigns = field(default_factory=TextSigns)
    circles: Counter[tuple[str, bool]] = field(default_factory=Counter)
    last_never: tuple[int, list[str]] = (0, [])

    def add(self, sample: Sample, record: Mapping[str, Any] | None = None) -> None:
        """Add a sample, with what a file of results says about it beside its fields."""
        self.samples += 1
        hashes = (record or {}).get("context_hashes")
        retrieved = sample.retrieved_contexts or sample.retrieved_context_ids or hashes
        # What was retrieved is no list of texts, and became metadata.
        is_unusable = not sample.metadata.keys().isdisjoint(RETRIEVED)
        has_nothing = not retrieved and not is_unusable
        if has_nothing and any(map(sample.has, OPTIONS)):  # a baseline has no field
            self.unanswered += 1
        self._count_kinds(sample)
        references = sample.references or (sample.reference or "",)
        contexts = sample.retrieved_contexts or ()
        self.signs.add(sample.user_input, references, contexts, sample.reference_contexts or ())
        if sample.unanswerable:
            self.without_answer["all"] += 1
            if retrieved:
                self.without_answer["retrieved"] += 1
        if sample.retrieved_context_ids:
            self.add_ids(sample.retrieved_context_ids, sample.reference_context_ids)
        if sample.retrieved_contexts:
            self._count_texts(sample, sample.retrieved_contexts)
        if sample.reference_contexts:
            _count_separators(self.expected, sample.reference_contexts)
        if sample.metadata:
            self._count_metadata(sample.metadata)
        self._count_empty("retrieved", sample.retrieved_context_ids or ())
        self._count_empty("reference", sample.reference_context_ids or ())
        if retrieved and len({*retrieved}) < len(retrieved):
            self._count_repeats([item for item in retrieved if item])
        for kind_and_result in _check_circular_labels(sample):
            self.circles[kind_and_result] += 1

    def _count_empty(self, side: str, ids: Sequence[str]) -> None:
        """Count the empty ids of a sample."""
        if "" in ids:
            self.empty[side] += ids.count("")

    def _count_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Count a sample by what its metadata says of the order, and of what was dropped."""
        self.orders.update(_find_signs(metadata))
        dropped = metadata.get(DROPPED)
        if type(dropped) is int and dropped > 0:
            self.dropped["samples"] += 1
            self.dropped["contexts"] += dropped

    def _count_repeats(self, items: Sequence[str]) -> None:
        """Count a sample by the retrieved contexts that repeat one above; several without an id may do so."""
        repeats = len(items) - len({*items})
        if repeats:
            self.repeated["samples"] += 1
            self.repeated["contexts"] += repeats

    def _count_texts(self, sample: Sample, texts: Sequence[str]) -> None:
        """Count a sample by the texts that were retrieved."""
        _count_separators(self.contexts, texts)
        if sample.user_input and sample.reference:
            answers = self.answers.setdefault(hash((sample.user_input, texts)), set())
            answers.add(hash(sample.reference))

    def _count_kinds(self, sample: Sample) -> None:
        """Count a sample whose reference names no fact, or may name none."""
        references = sample.references or (sample.reference or "",)
        if references == ("",):
            return
        kinds = {phrase_kind(text) for text in references}
        if "yes_no" in kinds and sample.references is None:
            self.yes_or_no += 1
        if LABEL in sample.labels:
            return
        if "mark" in kinds and sample.unanswerable:
            self.marks += 1
        if "unsure" in kinds:
            self.unsure += 1

    def add_ids(self, ids: Iterable[str] | None, wanted: Sequence[str] | None) -> None:
        """Add the retrieved and the reference ids of a sample."""
        if ids and wanted and not in_spans(wanted):
            self.retrieved.update(ids)
            self.wanted.append(tuple(filter(None, wanted)))
            if len(self.first_pairs) < _FEW:
                self.first_pairs.append((tuple(ids), self.wanted[-1]))

    def notes(self, *, by_words: bool) -> tuple[str, ...]:
        """Return what a reader of the means must know, a sentence each; ``by_words``: the embedded judge judged."""
        notes = []
        if by_words and self.yes_or_no:
            notes.append(
                f"{plural(self.yes_or_no, 'reference')} of a yes or no alone, which no words of a context can state: write what "
                "it means as a fact (reference_facts, unit=fact), or take an LLM"
            )
        if self.without_answer["all"]:
            questions = plural(self.without_answer["all"], "question")
            nothing = self.without_answer["all"] - self.without_answer["retrieved"]
            note = f"{questions} without an answer, not in the means"
            if nothing:
                note += f"; nothing was retrieved for {nothing}"
            notes.append(note)
        if self.marks:
            notes.append(
                f"{plural(self.marks, 'reference')} of these a word such as 'None' or 'Unknown': if that is the answer, write "
                'the label {"unanswerable": false}'
            )
        if self.unsure:
            notes.append(
                f"{plural(self.unsure, 'reference')} that may say that there is no answer, counted as statements: if the "
                "question has none, mark the row (unanswerable: true)"
            )
        notes += self._describe_retrieved()
        notes += self.signs.describe()
        notes += _describe_separators(self.contexts, "context", "precision says nothing")
        notes += _describe_separators(self.expected, "expected context", "string metrics say nothing")
        # Samples that repeat the question and the contexts of another sample, with another reference.
        repeats = sum(len(answers) for answers in self.answers.values() if len(answers) > 1)
        if repeats * 2 > self.samples:
            notes.append(
                f"{repeats} of {plural(self.samples, 'sample')} have the question and contexts of another one, and another "
                "reference: group them (--group-by), and map the column of the reference (--map) to references if one of them "
                "is enough, or to reference_facts if all are needed"
            )
        notes += self.describe_never_retrieved()
        cut_ids = sorted(
            {
                id_
                for id_ in chain(self.retrieved, *self.wanted)
                if "E+" in id_ and _CUT_NUMBER.fullmatch(id_)
            }
        )
        if cut_ids:
            notes.append(
                f"{plural(len(cut_ids), 'id', 'is a number', 'are numbers')} without the last digits, such as {clean(cut_ids[0], TEXT)}, as sheets "
                "write long ones: different ids may be the same here. Write ids as text"
            )
        for kind in _CIRCULAR_LABELS:
            count = self.circles[kind, True]
            if count >= _FEW and not self.circles[kind, False]:
                notes.append(f"{kind}, in all {count} samples: such labels prove nothing")
        return tuple(notes)

    def _describe_retrieved(self) -> list[str]:
        """Describe the order, dropped and repeated contexts and empty ids."""
        notes = [_describe_order(*sign, count) for sign, count in self.orders.items()]
        dropped = self.dropped["contexts"]
        repeated = self.repeated["contexts"]
        if dropped:
            samples = plural(self.dropped["samples"], "sample")
            contexts = plural(dropped, "retrieved context", "was", "were")
            notes.append(f"{contexts} the question itself and dropped (drop_self), in {samples}")
        if repeated:
            samples = plural(self.repeated["samples"], "sample")
            notes.append(
                f"repeated contexts: {repeated}, in {samples}; notes of the scores say what counts"
            )
        if self.empty["retrieved"]:
            ids = plural(self.empty["retrieved"], "retrieved id", "is", "are")
            notes.append(f"{ids} empty: an empty id keeps its rank and is not relevant")
        if self.empty["reference"]:
            ids = plural(self.empty["reference"], "reference id", "is", "are")
            notes.append(f"{ids} empty: an empty id expects nothing")
        return notes

    def describe_never_retrieved(self) -> list[str]:
        """Describe reference ids that were never retrieved, if they are many, and the change that would make them match.

        A change that keeps the whole id, such as of upper and lower case, is described even if only one id needs it.
        """
        described_samples, notes = self.last_never
        if described_samples != len(self.wanted):  # samples were added since
            notes = self._describe_never()
            self.last_never = (len(self.wanted), notes)
        return notes

    def _describe_never(self) -> list[str]:
        """Describe the reference ids that were never retrieved; see `describe_never_retrieved`."""
        reference_ids = dict.fromkeys(chain(*self.wanted))
        never = [id_ for id_ in reference_ids if id_ not in self.retrieved]
        if not never:
            return []
        are_few = len(self.wanted) < _FEW
        are_many = len(never) > _NOTED_SHARE * len(reference_ids)
        text = self._count_never_retrieved(never, len(reference_ids))
        for change, forms_of_label, forms_of_retrieved in _LOSSLESS_CHANGES:
            pairs = self._pair_by_forms(never, forms_of_label, forms_of_retrieved)
            if pairs:
                return [_describe_change(text, change, pairs)]
        if not are_many:
            return []
        for change, forms_of_label, forms_of_retrieved in _CUTS:
            pairs = self._pair_by_forms(never, forms_of_label, forms_of_retrieved)
            matches = {retrieved for _, retrieved in pairs}
            if are_few:
                is_meant = self._matches_in_few(forms_of_label, forms_of_retrieved)
            else:
                is_meant = len(matches) >= max(_SHOWN, _LEAST_MATCHED_SHARE * len(never))
            if is_meant:
                return [_describe_change(text, change, pairs)]
        if are_few:
            return []
        return [
            f"{text}; no cut, case or form of a number would match them: are these labels of this index?"
        ]

    def _count_never_retrieved(self, never: Sequence[str], count: int) -> str:
        """Say how many of the reference ids were never retrieved."""
        if len(never) == count:
            return f"no reference id was ever retrieved, in {plural(len(self.wanted), 'sample')}"
        concerned = sum(not self.retrieved.issuperset(ids) for ids in self.wanted)
        return (
            f"{len(never)} of {count} reference ids were retrieved for no sample; "
            f"{concerned} of {len(self.wanted)} samples have such labels"
        )

    def _matches_in_few(self, forms_of_label: _Forms, forms_of_retrieved: _Forms) -> bool:
        """Whether a cut matches a reference id of each sample with one that was retrieved for it, in two samples or more."""
        for ids, wanted in self.first_pairs:
            forms = {form for id_ in ids for form in forms_of_retrieved(id_)}
            if all(forms.isdisjoint(forms_of_label(label)) for label in wanted):
                return False
        return len(self.first_pairs) >= _SHOWN

    def _pair_by_forms(
        self, labels: Sequence[str], forms_of_label: _Forms, forms_of_retrieved: _Forms
    ) -> list[tuple[str, str]]:
        """Pair reference ids with the retrieved ids that have a form in common with them: of several, the last by name."""
        label_forms = {form for label in labels for form in forms_of_label(label)}
        retrieved_by_form: dict[str, str] = {}
        for id_ in self.retrieved:
            for form in forms_of_retrieved(id_):
                if form in label_forms:
                    retrieved_by_form[form] = max(id_, retrieved_by_form.get(form, id_))
        pairs: list[tuple[str, str]] = []
        for label in labels:
            forms = [form for form in forms_of_label(label) if form in retrieved_by_form]
            pairs += [(label, retrieved_by_form[form]) for form in forms]
        return pairs
