"""Checks of gold ids and texts against the passages: missing passages, duplicates, and gold passages that overlap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from urllib.parse import unquote

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import Passages, read_words, shorten
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.evaluation.gold.values import (
    find_distinguishing_words,
    has_more_numbers,
    has_other_number,
    have_contraries,
    have_opposites,
)
from ctxmetrics.evaluation.rows.gold_answers import GoldPassage
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.words import get_word_list
from ctxmetrics.samples.documents import SPAN_MARK
from ctxmetrics.scores.wording import plural
from ctxmetrics.text.languages import detect_language
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.repeats import measure_overlaps

# Two passages are duplicates if they share at least this share of their words.
_MIN_EQUAL_SHARE = 0.9
# A passage that contains another passage word for word is a copy of it (with a heading, for example) if at least this share of
# its words is in the other passage.
_MIN_EQUAL_SHARE_OF_COPY = 0.7
# Passages with a smaller share of common words are compared no further. It is lower than the shares above: a word that one of them
# leaves out may change how the words beside it are read.
_MIN_COMMON_SHARE = 0.7
# Passages with fewer words are duplicates only if all their words are equal.
_MIN_WORDS_FOR_SHARE = 10
# The maximum number of passages that a gold passage is compared with.
_MAX_COMPARED_PASSAGES = 3
# The maximum number of words by which duplicates of a passage are searched. The rarest words count.
_MAX_SEARCH_WORDS = 12
# Two gold passages overlap if one repeats at least this share of the other. The default overlap of splitters is smaller (a
# fifth in LangChain and LlamaIndex).
_MIN_REPEATED_SHARE = 0.3
# A passage contains a gold text if it has at least this share of its words.
_MIN_HELD_SHARE = 0.9
# A word before a number names the whole collection and no source if at least this share of all ids has it ..
_MIN_SHARE_OF_COLLECTION = 0.5
# .. and at least this number of ids.
_MIN_IDS_OF_COLLECTION = 3
# The maximum number of ids that a line of evidence names.
_MAX_IDS_IN_EVIDENCE = 3

# The end of an id that names a part of a source in words: page 3, chunk 12 of 40, 3. Seite, 第3页.
_NAMED_PART_ENDING = re.compile(
    r"""
      [-_:./, (]+                                                  # guide, page 3; doc_chunk_12 of 40
      (?: page | pg | chunk | part | passage | segment | section | sect | para | row | line | node | split | seite | s\. | kapitel
        | abschnitt | página | pagina | pág\. | стр\. | p | c | s | t | l )
      [-_:./ =]* \d+ (?: [-_:./ ]* (?: of | von | de | - | / ) [-_:./ ]* l? \d+ )? \)? $
    | [-_:./, ]+ \d+ \. [ ] (?: seite | kapitel | abschnitt ) $     # doc, 3. Seite
    | [-_:./, ]* 第? \d+ [页頁章节節块塊] $                           # doc第3页
    """,
    re.VERBOSE | re.IGNORECASE,
)
# The end of an id that names a part of a source: in words, or by marks before a number.
_PART_ENDING = re.compile(
    rf"""
      \# .* $                                                      # doc#section
    | {_NAMED_PART_ENDING.pattern}
    | [-_:./ @~|]+ \d+ (?: [-_/] \d+ )? [a-z]? $                   # doc:3, doc_10-20, doc@3, doc-3/10, doc_3a
    | \[ \d+ \] $                                                 # doc[3]
    | \( \d+ \) $                                                 # doc(3)
    | [?&] (?: page | chunk | start ) = \d+ $                      # doc?page=3
    """,
    re.VERBOSE | re.IGNORECASE,
)
# The ending of a file.
_FILE_ENDING = re.compile(r"\.(?=[a-z])[a-z0-9]{1,5}$", re.IGNORECASE)
# Marks between the parts of an id.
_MARKS_IN_ID = re.compile(r"[\W_]+")
# A mark between two letters: ferry-times, which is also written ferryTimes.
_HYPHEN_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
# The character after a folder or a prefix.
_PATH_SEPARATOR = re.compile(r"[/:]")
# Zeros at the beginning of a number.
_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
# A number alone behind a mark, at the end of an id: bee-500.
_NUMBER_ENDING = re.compile(r"[-_:./ @~|]+\d+[a-z]?$", re.IGNORECASE)
# Any letter.
_LETTER = re.compile(r"[^\W\d_]")
# A number, or a number after one word: 12, doc-12.
_NUMBERED_ID = re.compile(r"(?P<word>[^\W\d_]+-)?(?P<number>\d+)")
# Parts of an address that do not change its page: the port and the name of an index page.
_PORT = re.compile(r":(?:80|443)(?=/|$)")
_INDEX_PAGE = re.compile(r"/index\.html?$", re.IGNORECASE)
# The protocol of an address, and the parameters that count its visitors.
_PROTOCOL = re.compile(r"^(?:(?:https?|file)://+(?:www\.)?|www\.)", re.IGNORECASE)
_TRACKING_PARAMETER = re.compile(r"[?&](?:utm_\w+|ref|source|fbclid|gclid)=[^&#]*")
# A UUID. Its hyphens may be missing, and it may stand in braces.
_UUID = re.compile(r"\{?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.IGNORECASE)
# A whole number that was read as a fraction, as tables do: 12.0.
_WHOLE_FLOAT = re.compile(r"(\d+)\.0+")
# A word as it is spelled, or one character of a script without blanks.
_SPELLED_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
# The border between letters and digits: chunk0.
_LETTER_DIGIT_BORDER = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


def _fold_id(id_: str) -> str:
    """Return an id without case, kinds of marks, leading zeros, a fraction of zeros and the beginning of an address."""
    plain = normalise(_strip_address(_decode(id_)))
    if _UUID.fullmatch(plain):
        return plain.strip("{}").replace("-", "")
    plain = _WHOLE_FLOAT.sub(r"\1", plain) if _WHOLE_FLOAT.fullmatch(plain) else plain
    plain = _LETTER_DIGIT_BORDER.sub("-", plain)
    plain = _MARKS_IN_ID.sub("-", plain).strip("-")
    plain = _HYPHEN_BETWEEN_LETTERS.sub("", plain)
    return _LEADING_ZEROS.sub("", plain)


def _decode(id_: str) -> str:
    """Return an id without the encoding of an address or of HTML."""
    return unescape(unquote(id_))


def _strip_address(id_: str) -> str:
    """Return an id without the parts of an address that do not change the page.

    These are the protocol, the port, the index page and parameters that count visitors.
    """
    address = _PROTOCOL.sub("", id_)
    if address != id_:
        address = _INDEX_PAGE.sub("", _PORT.sub("", address, count=1))
    return _TRACKING_PARAMETER.sub("", address)


def _to_path(id_: str) -> str:
    """Return an id as a path: decoded, with one kind of slash and none at its end."""
    return _strip_address(_decode(id_)).replace("\\", "/").rstrip("/")


def _fold_name(id_: str) -> str:
    """Return the folded name of an id: without folder, prefix and the ending of a file. If the rest has no letter, keep them."""
    path = _to_path(id_)
    name = _PATH_SEPARATOR.split(path)[-1]
    if not _LETTER.search(name):
        name = path
    return _fold_id(_FILE_ENDING.sub("", name))


def _cut_part(id_: str) -> str:
    """Return an id without the page, the chunk or the span. If it has a chunk of a page, remove both."""
    source = _PART_ENDING.sub("", id_.partition(SPAN_MARK)[0], count=1)
    return _NAMED_PART_ENDING.sub("", source, count=1)


def _find_source(id_: str) -> str:
    """Return the folded name of the source of an id: without the page, the chunk or the span."""
    return _fold_name(_cut_part(id_))


def _find_number(id_: str) -> str:
    """Return the number that an id is, or that stands after its only word. The result is empty if it is another id."""
    match = _NUMBERED_ID.fullmatch(_fold_id(id_))
    return "" if match is None else match["number"]


def _list_folders(id_: str) -> tuple[str, ...]:
    """List the folders or prefixes of an id, folded."""
    folders = _PATH_SEPARATOR.split(_to_path(id_))[:-1]
    return tuple(_fold_id(name) for name in folders if name)


def _end_alike(folders: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether the folders of two ids are equal, counted from the end. The shorter path decides how many are compared."""
    common = min(len(folders), len(others))
    return folders[len(folders) - common :] == others[len(others) - common :]


class IdForms:
    """Finds ids of passages that may be meant by an id in another form: spelling, folder, or part of the source."""

    def __init__(self, passages: Passages) -> None:
        self._ids: Sequence[str] = tuple(passages.places_by_id)
        # Many missing ids are compared with the same ids: the forms of each are computed once.
        self._fold_name = cache(_fold_name)
        self._cut_part = cache(_cut_part)
        self._list_folders = cache(_list_folders)

    @cached_property
    def _by_spelling(self) -> Mapping[str, Sequence[str]]:
        """The ids by their folded form."""
        return self._group(_fold_id)

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[str]]:
        """The ids by their folded names."""
        return self._group(self._fold_name)

    @cached_property
    def _by_number(self) -> Mapping[str, Sequence[str]]:
        """The ids that consist of a number, or of one word and a number, by the number."""
        return self._group(_find_number)

    @cached_property
    def _by_source(self) -> Mapping[str, Sequence[str]]:
        """The ids by the folded names of their sources."""
        return self._group(_find_source)

    def _group(self, make_key: Callable[[str], str]) -> Mapping[str, Sequence[str]]:
        """Group the ids by the key that a function makes of each id."""
        groups: dict[str, list[str]] = {}
        for id_ in self._ids:
            key = make_key(id_)
            if key:
                groups.setdefault(key, []).append(id_)
        return groups

    def find_spelling(self, id_: str) -> Sequence[str]:
        """Find the ids that differ from an id only by case, punctuation marks and leading zeros."""
        return self._by_spelling.get(_fold_id(id_), ())

    def find_named(self, id_: str) -> Sequence[str]:
        """Find the id that differs only by its folder or file ending. Return nothing unless exactly one id is possible."""
        ids_with_name = self._by_name.get(_fold_name(id_), ())
        folders = _list_folders(id_)
        matches = [other for other in ids_with_name if _end_alike(folders, self._list_folders(other))]
        return matches if len(matches) == 1 else ()

    def find_numbered(self, id_: str) -> Sequence[str]:
        """Find the id with the same number, of which only one of the two has a word: doc-7 for 7. Return nothing unless exactly one is possible."""
        has_word = _LETTER.search(id_) is not None
        ids = self._by_number.get(_find_number(id_), ())
        matches = [other for other in ids if (_LETTER.search(other) is not None) != has_word]
        return matches if len(matches) == 1 else ()

    def find_parts(self, id_: str) -> Sequence[str]:
        """Find the ids of the other parts of the same source."""
        name = _fold_name(id_)
        folders = _list_folders(_cut_part(id_))
        parts: list[str] = []
        for other in self._by_source.get(_find_source(id_), ()):
            other_folders = self._list_folders(self._cut_part(other))
            if self._fold_name(other) != name and _end_alike(folders, other_folders):
                parts.append(other)
        return [] if self._is_numbered_through(id_, len(parts)) else parts

    def _is_numbered_through(self, id_: str, count: int) -> bool:
        """Tell whether an id is one of a collection in which all passages are numbered: bee-500 beside bee-1, bee-2 and so on.

        Then passages with the same word have no source in common.

        Args:
            id_: The id.
            count: The number of ids with the same word.
        """
        word = _NUMBER_ENDING.sub("", id_)
        if word == id_ or _NAMED_PART_ENDING.search(id_) or _FILE_ENDING.search(word):
            return False
        return count >= max(_MIN_IDS_OF_COLLECTION, _MIN_SHARE_OF_COLLECTION * len(self._ids))


def check_ids(questions: Sequence[Question], passages: Passages) -> Iterator[Finding]:
    """Yield the faults of the gold passages of each question.

    Where there is no corpus, an id that is not there proves nothing, unless it is there in another form.
    """
    forms = IdForms(passages)
    duplicates = _Duplicates(passages)
    for question in questions:
        yield from _check_empty(question)
        yield from _check_repeated(question)
        for passage in question.gold:
            if passage.id is None:
                yield from _check_text(question, passage, passages)
            elif not passage.places:
                yield from _check_missing(question, passage.id, passages, forms)
            else:
                yield from _check_own_text(question, passage, passages)
        yield from duplicates.check(question)
        yield from _check_overlaps(question)


def _check_empty(question: Question) -> Iterator[Finding]:
    """Find empty ids, which name no passage."""
    empty_count = (question.sample.reference_context_ids or ()).count("")
    if empty_count:
        evidence = f"{plural(empty_count, 'gold id')} {'is' if empty_count == 1 else 'are'} empty"
        yield question.make_finding("unknown_id", evidence)


def _check_repeated(question: Question) -> Iterator[Finding]:
    """Find gold passages that a sample names more than once."""
    repeated = [key for key, count in Counter(question.gold_keys).items() if count > 1]
    if repeated:
        names = ", ".join(map(shorten, repeated[:_MAX_IDS_IN_EVIDENCE]))
        yield question.make_finding("repeated_id", f"the gold names more than once: {names}", repeated)


def _check_missing(
    question: Question, id_: str, passages: Passages, forms: IdForms
) -> Iterator[Finding]:
    """Find what the passages have in place of an unknown gold id: another form of the id, other parts, or nothing."""
    if not passages.places_by_id:
        return
    where = "in the corpus" if passages.is_corpus else "among what was retrieved"
    other_forms = forms.find_spelling(id_)
    if not other_forms and passages.is_corpus:
        other_forms = forms.find_named(id_) or forms.find_numbered(id_)
    if other_forms:
        evidence = f"{id_!r} is not {where}, which has {_list_names(other_forms)}"
        yield question.make_finding("other_form", evidence, (id_, *other_forms))
        return
    if not passages.is_corpus:
        return
    parts = forms.find_parts(id_)
    if SPAN_MARK in id_:  # characters of a source: any passage of the source may hold them
        if not parts:
            evidence = f"the corpus has no passage of the source of {id_!r}"
            yield question.make_finding("unknown_id", evidence, (id_,))
        return
    if parts:
        evidence = (
            f"{id_!r} is not in the corpus, which has other parts of the source: {_list_names(parts)}"
        )
        yield question.make_finding("old_chunks", evidence, (id_, *parts))
        return
    yield question.make_finding("unknown_id", f"{id_!r} is not in the corpus", (id_,))


def _list_names(names: Sequence[str]) -> str:
    """List the first names in a text, and how many more there are."""
    more = len(names) - _MAX_IDS_IN_EVIDENCE
    text = ", ".join(map(repr, names[:_MAX_IDS_IN_EVIDENCE]))
    return f"{text} and {more} more" if more > 0 else text


def _check_text(question: Question, passage: GoldPassage, passages: Passages) -> Iterator[Finding]:
    """Look whether some passage of the corpus holds a gold text that has no id."""
    text = passage.text or ""
    if passage.places or not passages.is_corpus:
        return
    words = read_words(text)
    nearest = passages.search([word.key for word in words], _MAX_COMPARED_PASSAGES)
    shares: dict[int, float] = {}
    for place in nearest:
        passage_words = read_words(passages.chunks[place].text)
        shares[place] = _measure_held(words, passage_words)
        if shares[place] >= _MIN_HELD_SHARE and not has_other_number(words, passage_words):
            return  # a quote of a passage, or the passage with a heading
    evidence = f"no passage of the corpus holds the gold text {shorten(text)!r}"
    if nearest:
        best = max(nearest, key=lambda place: shares[place])
        evidence += f"; the nearest, {passages.name(best)!r}, has {shares[best]:.0%} of its words"
    yield question.make_finding("unknown_text", evidence, (text,))


def _measure_held(words: Sequence[Token], others: Sequence[Token]) -> float:
    """Measure the share of the words of a text that another text holds."""
    word_counts = Counter(word.key for word in words)
    held_counts = word_counts & Counter(word.key for word in others)
    return held_counts.total() / max(1, word_counts.total())


def _check_own_text(question: Question, passage: GoldPassage, passages: Passages) -> Iterator[Finding]:
    """Compare the sample's text of a passage with the corpus's text under the same id."""
    text = passage.text or ""
    corpus_texts = [passages.chunks[place].text for place in passage.places]
    if not passages.is_corpus or any(
        normalise(text) == normalise(corpus_text) for corpus_text in corpus_texts
    ):
        return
    words = read_words(text)
    for other_words in map(read_words, corpus_texts):
        if _measure_held(words, other_words) >= _MIN_HELD_SHARE and not has_other_number(
            words, other_words
        ):
            return
    evidence = (
        f"{passage.id!r} is {shorten(text)!r} here and {shorten(corpus_texts[0])!r} in the corpus"
    )
    yield question.make_finding("other_text", evidence, (passage.id or "",))


class _Duplicates:
    """Passages that are equal to gold, or nearly, and not gold themselves."""

    def __init__(self, passages: Passages) -> None:
        self._passages = passages
        # The duplicates of each gold passage so far, by its place: many questions have the same gold.
        self._duplicates: dict[int, Sequence[int]] = {}

    def check(self, question: Question) -> Iterator[Finding]:
        """Yield a finding for each gold passage of a question that has duplicates which are not gold."""
        for passage, gold_words in zip(question.gold, question.gold_words, strict=True):
            if not passage.places:
                continue
            first_place = passage.places[0]  # all its places have the same text
            text = self._passages.chunks[first_place].text
            words = gold_words if passage.text == text else read_words(text)
            duplicates = [
                place for place in self._find(first_place, words) if place not in question.gold_places
            ]
            if not duplicates:
                continue
            gold_name = self._passages.name(first_place)
            names = [self._passages.name(place) for place in duplicates]
            texts = {
                normalise(self._passages.chunks[place].text) for place in (first_place, *duplicates)
            }
            likeness = "the same text" if len(texts) == 1 else "nearly the same text"
            evidence = f"{gold_name!r} is gold, and {_list_names(names)} with {likeness} is not"
            yield question.make_finding("double", evidence, (gold_name, *names))

    def _find(self, place: int, words: Sequence[Token]) -> Sequence[int]:
        """Find the places of the duplicates of a passage.

        Args:
            place: The place of the passage.
            words: The words of the passage.
        """
        if place not in self._duplicates:
            word_counts = Counter(word.key for word in words)
            nearest = self._passages.search(
                word_counts,
                _MAX_COMPARED_PASSAGES,
                without=(place,),
                most_words=_MAX_SEARCH_WORDS,
            )
            duplicates: list[int] = []
            for other in nearest:
                fewer, more = sorted((len(words), self._passages.count_words(other)))
                if fewer < _MIN_EQUAL_SHARE_OF_COPY * more:
                    continue
                # Most of the nearest passages are told apart by the index. Their texts are not read.
                common_count = self._passages.count_common(other, word_counts)
                if common_count >= _MIN_COMMON_SHARE * fewer and self._is_duplicate(
                    place, words, other
                ):
                    duplicates.append(other)
            self._duplicates[place] = duplicates
        return self._duplicates[place]

    def _is_duplicate(self, place: int, words: Sequence[Token], other: int) -> bool:
        """Tell whether the passage at a place, with certain words, and another passage are equal or nearly equal."""
        text = self._passages.chunks[place].text
        other_text = self._passages.chunks[other].text
        if normalise(text) == normalise(other_text):
            return True
        other_words = read_words(other_text)
        if _is_copy(text, other_text) and not has_more_numbers(words, other_words):
            return True
        fewer, more = sorted((len(words), len(other_words)))
        if fewer < _MIN_EQUAL_SHARE * more:
            return False
        language = detect_language(text)
        return _are_duplicates(words, other_words, language) or _leaves_out_words(
            text, other_text, language
        )


def _is_copy(text: str, other: str) -> bool:
    """Tell whether one of two texts contains the other word for word."""
    shorter, longer = sorted((normalise(text), normalise(other)), key=len)
    return bool(shorter) and shorter in longer


def _are_duplicates(words: Sequence[Token], others: Sequence[Token], language: str) -> bool:
    """Tell whether two passages say the same: nearly all words are equal, and no different word changes the statement."""
    word_counts = Counter(word.key for word in words)
    other_counts = Counter(word.key for word in others)
    if word_counts == other_counts:
        return bool(word_counts)
    if min(word_counts.total(), other_counts.total()) < _MIN_WORDS_FOR_SHARE:
        return False
    if (word_counts & other_counts).total() < _MIN_EQUAL_SHARE * (word_counts | other_counts).total():
        return False
    different = (word_counts - other_counts).keys() | (other_counts - word_counts).keys()
    replaced = [word for word in words if word.key in different]
    other_replaced = [word for word in others if word.key in different]
    if have_opposites(replaced, other_replaced) or have_contraries(replaced, other_replaced):
        return False
    return different.isdisjoint(
        find_distinguishing_words(words, language) | find_distinguishing_words(others, language)
    )


def _leaves_out_words(text: str, other: str, language: str) -> bool:
    """Tell whether one of two passages only leaves out a few words of the other, none of which denies or is a name.

    The words count as they are spelled: "6 months" leaves out a word of "6 consecutive months", although both are read as
    one number with its unit.
    """
    spellings = _count_spellings(text)
    other_spellings = _count_spellings(other)
    fewer, more = sorted((spellings, other_spellings), key=Counter.total)
    left_out = more - fewer
    if fewer - more or not _MIN_WORDS_FOR_SHARE <= fewer.total() < more.total():
        return False
    if left_out.total() > (1 - _MIN_EQUAL_SHARE) * more.total():
        return False
    negations = get_word_list("negations", language)
    return not any(
        spelling.lower() in negations or spelling[:1].isupper() or any(map(str.isdigit, spelling))
        for spelling in left_out
    )


def _count_spellings(text: str) -> Counter[str]:
    """Count the single words of a text as they are spelled, and single characters of Chinese, Japanese and Korean."""
    return Counter(_SPELLED_WORD.findall(text))


def _check_overlaps(question: Question) -> Iterator[Finding]:
    """Find gold passages that repeat a part of another gold passage, as overlapping chunks do."""
    with_text = [passage for passage in question.gold if passage.text]
    texts = [passage.text or "" for passage in with_text]
    for place, share in enumerate(measure_overlaps(texts)):
        is_equal_to_earlier = normalise(texts[place]) in map(normalise, texts[:place])
        if share >= _MIN_REPEATED_SHARE and not is_equal_to_earlier:
            passage_name = with_text[place].id or shorten(texts[place])
            evidence = f"{share:.0%} of the gold passage {passage_name!r} stands in another one of this question"
            yield question.make_finding("overlap", evidence, (passage_name,))
