"""From a text to comparable words: what the embedded judge counts.

A word's *key* is what its spellings share: case folded, accents off, a light stem, number words as digits. Keys
follow from the text alone; the language only chooses the stop words. The decisions:

* Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese; Korean too, whose particles are glued to
  the word) give overlapping pairs of characters, a character being a letter with its marks.
* Marks belong to their letter, so Devanagari words stay whole. Accents of Latin, Greek and Cyrillic letters and
  Hebrew and Arabic points are dropped; ``й`` stays.
* ``1,000``, ``1 000`` and ``1'000`` are 1000; ``1.000.000`` is a million, ``1.000`` alone a decimal; ``3,5`` is
  3.5; ``5.0`` is 5, but ``3.10`` is not 3.1 (versions). ``2.1 million``, ``2,1 млн`` and ``2100000`` are one number.
* ``2020-05-12`` and ``12.05.2020`` are year, month and day, the month as a word (``may``); months of five languages and
  their English abbreviations beside a number have one key. ``3.11.2`` is one dotted number; other dates, times,
  ranges and fractions are their parts. ``21st`` is 21; ``1990s`` is not 1990; ``'60s``, ``60s`` and ``sixties`` are
  ``1960s``.
* A currency sign or code is the currency's word (``$``, ``USD``: dollar); ``US``, ``U.S.``, ``USA`` and ``United
  States`` are one word, and so are a few more countries and unions. Signs and per cent are not looked at, Roman and
  Chinese numerals are not read.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LONGEST = 64
"""A run of letters is cut after so many, so that what is remembered of one word stays small."""

Kind = Literal["word", "number", "count", "characters", "character"]
"""``count`` is a number word that often counts nothing: one, first, second. ``characters`` is a pair of them in a
script without spaces, ``character`` one that stands alone."""


_Spelled = tuple[str, str, Literal["word", "number", "count", "characters", "character", "opening"]]
"""Key, folded form and kind; ``opening`` where these depend on what follows."""


class Word(NamedTuple):
    """A word where it stands in a text.

    Attributes:
        key: What makes it comparable.
        folded: The word without case and accents, not stemmed.
        kind: See `Kind`.
        start: Its first character.
        end: One past its last.
    """

    key: str
    folded: str
    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Token:
    """A word without its place in a text: one object for every time it is met.

    Attributes:
        key: See `Word`.
        folded: See `Word`.
        kind: See `Kind`.
        capital: Whether its first character is a capital letter.
        spelling: The word as it is written, apart from typographic marks.
        start: Its first character, counted from the beginning of its chunk.
        end: One past its last.
    """

    key: str
    folded: str
    kind: Kind
    capital: bool
    spelling: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """Return the words of a text in order, stop words included.

    >>> [word.key for word in words("The 2.1 million cities' cafés, in twenty-one states")]
    ['the', '2100000', 'city', 'caf', 'in', '21', 'stat']
    """
    text = _without_typography(text)
    chunks = text.split()
    new, found, place = tuple.__new__, list[Word](), 0  # half the time of Word(..)
    for chunk, inside in zip(chunks, _read_chunks(text, chunks), strict=True):
        place = text.index(chunk, place)
        for token in inside:
            word = token.key, token.folded, token.kind, place + token.start, place + token.end
            found.append(new(Word, word))
        place += len(chunk)
    return found


def tokens(text: str) -> list[Token]:
    """Return the words of `words` without their places, which is faster."""
    text = _without_typography(text)
    return [*chain.from_iterable(_read_chunks(text, text.split()))]


def has_typography(text: str) -> bool:
    """Whether a text has marks that `Token.spelling` does not have."""
    return not text.isascii() and any(mark in text for mark, _ in _TYPOGRAPHY)


def _without_typography(text: str) -> str:
    if not text.isascii():
        for mark, plain in _TYPOGRAPHY:
            text = text.replace(mark, plain)
    return text


def _read_chunks(text: str, chunks: Sequence[str]) -> list[tuple[Token, ...]]:
    """Return the words of each chunk; those that are read together stand with the first of their chunks."""
    known: list[Any] = [*map(_chunk, chunks)]
    if all(known):  # each has words, and none depends on another
        return known
    end = 0
    for place in [place for place, inside in enumerate(known) if inside is None]:
        if place < end:
            continue
        known[place], opens = _dependent_chunks[chunks[place]]
        if opens is not _NAME and (place + 1 == len(known) or known[place + 1] is not None):
            continue  # nothing goes on: almost always
        end = _end_of_run(chunks, known, place)
        if (run := end - place) > 1:
            rest = text.split(None, place)[-1]
            after = rest.split(None, run)[run:]
            together = rest.removesuffix(after[0] if after else "").rstrip()
            known[place:end] = [_dependent_chunks[together][0], *[()] * (run - 1)]
    return known


def _end_of_run(chunks: Sequence[str], known: Sequence[object], first: int) -> int:
    """Return where the chunks end that are read together with the first; those unknown depend on others."""
    opens = _dependent_chunks[chunks[first]][1]
    in_name, closed = opens is _NAME, opens is None and chunks[first][-1] in _CLOSING
    for place in range(first + 1, len(chunks)):
        chunk = chunks[place]
        in_name = in_name and _NAME_CONTINUES.match(chunk) is not None
        if known[place] is not None:
            if not in_name:
                return place
            closed = False
        elif closed:
            return place
        else:
            opens = _dependent_chunks[chunk][1]
            in_name = in_name or opens is _NAME
            closed = opens is None and not in_name and chunk[-1] in _CLOSING
    return len(chunks)


def _tokens(text: str) -> tuple[Token, ...]:
    return tuple(
        [
            # equal texts are one object: less memory to read, which takes most of the time
            Token(
                intern(key),
                intern(folded),
                kind,
                text[start].isupper(),
                intern(text[start:end]),
                start,
                end,
            )
            for key, folded, kind, start, end in _words(text)
        ]
    )


def _words(text: str) -> Iterator[Word]:
    """Yield the words of a text, one character after the other: what `words` gives, slower."""
    pending: Word | None = None  # a number that the next word may still multiply or add to
    taken = 0
    for match in _pattern(text.isascii()).finditer(text):
        if match.start() < taken:
            continue
        for word in _matched(match, text):
            taken = word.end if word.kind == "word" else taken
            if pending is not None:
                joined = _joined(pending, word, text) if match.lastindex == _IS_WORD else None
                if joined:
                    pending = joined
                    continue
                yield pending
                pending = None
            if word.kind in {"number", "count"}:
                pending = word
            else:
                yield word
    if pending is not None:
        yield pending


def _matched(match: re.Match[str], text: str) -> Iterable[Word]:
    """Return the words of one match of the pattern."""
    first, last = match.span()
    if match.lastindex == _IS_WORD:
        key, folded, kind = _known[match.group()]
        return (_opened(match, text) if kind == "opening" else Word(key, folded, kind, first, last),)
    if match.lastindex == _IS_NUMBER:
        key = _number_key(match.group())
        return (Word(key, key, "number", first, last),)
    if match.lastindex == _IS_CURRENCY:
        key = _CURRENCY_SIGNS[match.group()]
        return (Word(key, key, "word", first, last),)
    return _date(match) if match.lastindex == _IS_DATE else _pairs(match)


_Found = TypeVar("_Found")


class _Table(dict[str, _Found]):
    """What was found out about each short text met so far; emptied when it grows too large."""

    def __init__(self) -> None:
        self._held = 0

    def keep(self, text: str, found: _Found, size: int) -> _Found:
        """Put what was found into the table, if the text is short; return it."""
        if len(text) <= _LONGEST_KEPT:
            self._held += 1 + size
            if self._held > _MOST_HELD:
                self.clear()
                self._held = 1 + size
            self[text] = found
        return found


class _Known(_Table[_Spelled]):
    """Key, folded form and kind of each spelling."""

    def __missing__(self, spelling: str) -> _Spelled:
        opens = spelling in _SHORT_MONTHS or _fold(spelling) in _OPENINGS
        return self.keep(spelling, ("", "", "opening") if opens else _read(spelling), 1)


class _Chunks(_Table["tuple[Token, ...] | None"]):
    """The words of each chunk; None where these may depend on the chunks beside it."""

    def __missing__(self, chunk: str) -> tuple[Token, ...] | None:
        found = None if _DEPENDENT.search(chunk) or chunk == "-" else _tokens(chunk)
        if found and any(
            token.kind in {"number", "count"} or token.folded in _MAY_JOIN for token in found
        ):
            found = None
        return self.keep(chunk, found, 0 if found is None else len(found))


class _DependentChunks(_Table["tuple[tuple[Token, ...], re.Pattern[str] | None]"]):
    """The words of each chunk if nothing stood beside it, and whether a longer name or a month may begin in it."""

    def __missing__(self, chunk: str) -> tuple[tuple[Token, ...], re.Pattern[str] | None]:
        opens = next((pattern for pattern in (_NAME, _MONTH) if pattern.search(chunk)), None)
        inside = _tokens(chunk)
        return self.keep(chunk, (inside, opens), len(inside))


_LONGEST_KEPT = 128
_MOST_HELD = 1 << 17
"""Texts and words that a table holds: about 20 MB."""
_known, _known_chunks, _dependent_chunks = _Known(), _Chunks(), _DependentChunks()
_chunk = _known_chunks.__getitem__


def _read(spelling: str) -> tuple[str, str, Kind]:
    """Return key, folded form and kind of a word as it is spelled."""
    if spelling in _INITIALS:
        return _INITIALS[spelling], _INITIALS[spelling], "word"
    folded, key = _fold_and_stem(spelling)
    if folded in _NUMBER_WORDS:
        return _NUMBER_WORDS[folded], folded, "number"
    if folded in _COUNT_WORDS:
        return _COUNT_WORDS[folded], folded, "count"
    return _ALIASES.get(folded) or _ALIASES.get(key) or key, folded, "word"


def _opened(match: re.Match[str], text: str) -> Word:
    """Read a word that may open a longer name, or abbreviate a month."""
    spelling, (first, last) = match.group(), match.span()
    if spelling in _SHORT_MONTHS:
        if _BEFORE_NUMBER.match(text, last) or _AFTER_NUMBER.search(text, max(0, first - 5), first):
            return Word(_SHORT_MONTHS[spelling], spelling.lower(), "word", first, last)
    else:
        for pattern, key in _LONG_NAMES:
            if found := pattern.match(text, first):
                return Word(key, key, "word", first, found.end())
    key, folded, kind = _read(spelling)
    return Word(key, folded, kind, first, last)


def _date(match: re.Match[str]) -> Iterator[Word]:
    """Yield day, month and year of a date in digits, in its own order."""
    offset = match.start()
    for number, part in enumerate(re.finditer(r"\d+", match.group())):
        key = _plain(part.group())
        if number == 1:
            key = MONTH_KEYS[int(key) - 1]
        yield Word(
            key, key, "word" if number == 1 else "number", offset + part.start(), offset + part.end()
        )


# --- one key for several spellings ----------------------------------------------------------------------------

_MONTH_NAMES = """
    january januar janvier enero январ; february februar fevrier febrero феврал; march marz март;
    april avril abril апрел; may май мая мае маи; june juni juin junio июн; july juli juillet julio июл;
    august aout agosto август; september septembre septiembre сентябр; october oktober octobre octubre октябр;
    november novembre noviembre ноябр; december dezember decembre diciembre декабр
"""
"""English, German, French, Spanish and Russian (stems), where the name is no other frequent word."""
_SHORT_NAMES = "Jan Feb Mar Apr - Jun Jul Aug Sep Oct Nov Dec"
_CURRENCY_NAMES = """
    dollar usd dollars dolar dolares доллар; euro eur euros евро; pound gbp; yen jpy иена йена; ruble rouble rub рубл руб;
    yuan cny rmb юан; rupee inr; franc chf franken франк; lira
"""
_CURRENCY_SIGNS = {
    "$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₽": "ruble", "₹": "rupe", "₺": "lira",
}  # fmt: skip
_INITIALS = {
    "US": "u.s.", "USA": "u.s.", "UK": "u.k.", "UN": "u.n.", "EU": "e.u.", "USSR": "u.s.s.r.", "UAE": "u.a.e.",
}  # fmt: skip
_OPENINGS = frozenset(("u", "e", "united", "european", "soviet"))
_LONG_NAMES = tuple(
    (re.compile(pattern + r"(?![^\W_])", re.IGNORECASE), key)
    for pattern, key in (
        (r"united\s+states(?:\s+of\s+america)?|u\.\s?s\.(?:\s?a\.)?", "u.s."),
        (r"united\s+kingdom|u\.\s?k\.", "u.k."),
        (r"united\s+nations|u\.\s?n\.", "u.n."),
        (r"european\s+union|e\.\s?u\.", "e.u."),
        (r"soviet\s+union|u\.\s?s\.\s?s\.\s?r\.", "u.s.s.r."),
        (r"united\s+arab\s+emirates|u\.\s?a\.\s?e\.", "u.a.e."),
    )
)
_NAME_CONTINUES = re.compile(
    r"states|kingdom|nations|union|arab|emirates|of|america|[sknuaer]\.", re.IGNORECASE
)
"""How the later chunks of a name of `_LONG_NAMES` begin."""
_BEFORE_NUMBER = re.compile(r"\.?,?[ \u00a0]+\d")
_AFTER_NUMBER = re.compile(r"\d(?:st|nd|rd|th)?[ \u00a0]\Z")


# --- numbers --------------------------------------------------------------------------------------------------

_TENS = {
    "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70",
    "eighty": "80", "ninety": "90",
}  # fmt: skip
_NUMBER_WORDS = {
    **_TENS,
    "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15",
    "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19",
    "два": "2", "две": "2", "двух": "2", "три": "3", "трех": "3", "четыре": "4", "четырех": "4", "пять": "5",
    "пяти": "5", "шесть": "6", "шести": "6", "семь": "7", "восемь": "8", "девять": "9", "десять": "10",
    "десяти": "10", "двадцать": "20", "тридцать": "30", "сорок": "40", "пятьдесят": "50", "сто": "100",
}  # fmt: skip
_NUMBER_WORDS.update({f"{tens[:-1]}ies": f"19{digits}s" for tens, digits in _TENS.items()})
_COUNT_WORDS = {
    "one": "1", "first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6",
    "seventh": "7", "eighth": "8", "ninth": "9", "tenth": "10",
    "один": "1", "одна": "1", "одно": "1",
}  # fmt: skip
_SCALES = {
    "hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12,
    "bn": 9, "mln": 6, "mio": 6, "millionen": 6, "milliarden": 9, "milliard": 9, "milliards": 9, "millions": 6,
    "millones": 6, "тысяча": 3, "тысячи": 3, "тысяч": 3, "тыс": 3, "миллион": 6, "миллиона": 6, "миллионов": 6,
    "млн": 6, "миллиард": 9, "миллиарда": 9, "миллиардов": 9, "млрд": 9,
}  # fmt: skip
_MAY_JOIN = frozenset((*_NUMBER_WORDS, *_COUNT_WORDS, *_SCALES, "st", "nd", "rd", "th"))
"""Words that may be put together with a number before them."""
_ORDINAL_ENDS = frozenset(("st", "nd", "rd", "th"))
_RUSSIAN_ORDINAL_ENDS = frozenset(
    ("й", "я", "е", "х", "м", "го", "му", "ми", "ый", "ая", "ое", "ые", "ых")
)
_ONES = frozenset("123456789")
_GAPS = frozenset((" ", " - ", "\u00a0", "\u202f", "-", "\u2010", "\u2011"))


def _joined(number: Word, word: Word, text: str) -> Word | None:
    """Return the number with the word after it taken in ("2.1" + "million", "twenty" + "one"), or None."""
    gap, folded = text[number.end : word.start], word.folded
    key = None
    if not gap:
        key = number.key if folded in _ORDINAL_ENDS else None
    elif gap not in _GAPS:
        return None
    elif folded in _SCALES and len(number.key) <= _LONGEST and number.key.replace(".", "", 1).isdigit():
        key = _times_ten(number.key, _SCALES[folded])
    elif _TENS.get(number.folded) == number.key and word.key in _ONES and word.kind != "word":
        key = number.key[0] + word.key
    elif gap == "-" and folded in _RUSSIAN_ORDINAL_ENDS:
        key = number.key
    return None if key is None else Word(key, number.folded, "number", number.start, word.end)


_SHORT_DECADE = 3  # 60s


def _number_key(text: str) -> str:
    digits = text if text.isascii() else "".join(map(_ascii, text))
    whole, comma, rest = digits.rpartition(",")
    if digits[-1] == "s":
        decade = digits.replace("'", "")
        return decade if len(decade) > _SHORT_DECADE else f"{'20' if decade[0] in '01' else '19'}{decade}"
    if comma and "." in whole and "." not in rest:  # 1.234,56
        digits = f"{whole.replace('.', '')}.{rest}"
    elif _GROUPED.fullmatch(digits):
        digits = _SEPARATOR.sub("", digits).replace(",", ".")
    elif comma:
        digits = f"{whole}.{rest}"
    elif digits.count(".") > 1:
        return digits.replace(".", "") if _DOTTED_GROUPS.fullmatch(digits) else digits
    return _plain(digits)


_GROUPED = re.compile(r"\d{1,3}(?:(?:[,'’]\d{3})+(?:\.\d+)?|(?: \d{3})+(?:[.,]\d+)?)")
_SEPARATOR = re.compile(r"[,'’ ](?=\d{3}(?!\d))")
_DOTTED_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")


def _ascii(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    return " " if character.isspace() else "'" if character == "’" else character


def _plain(number: str) -> str:
    """Drop leading zeros, and a fraction of zeros only."""
    whole, _, fraction = number.partition(".")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction.strip("0") else whole


def _times_ten(key: str, power: int) -> str:
    whole, _, fraction = key.partition(".")
    shifted = f"{whole}{fraction[:power].ljust(power, '0')}"
    rest = fraction[power:]
    return _plain(f"{shifted}.{rest}" if rest else shifted)


# --- words ----------------------------------------------------------------------------------------------------

_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m)\Z")
_BREVE = "\u0306"
_FIRST_POINT, _LAST_POINT, _FIRST_ACCENT = 10, 35, 200
"""Canonical combining classes: Hebrew and Arabic points, and the accents that stand above, below or across."""


def _fold_and_stem(word: str) -> tuple[str, str]:
    folded = _CLITIC.sub("", word.lower() if word.isascii() else _fold(word)).replace("'", "")
    if folded.isascii():
        return folded, _stem_latin(folded)
    last = folded[-1]
    if "\u0400" <= last <= "\u052f":
        return folded, _stem_cyrillic(folded)
    return folded, _stem_latin(folded) if last.isascii() else folded


def _fold(word: str) -> str:
    """Return the word without case, accents and invisible characters; what is left is composed again."""
    kept: list[str] = []
    for character in unicodedata.normalize("NFKD", word).casefold().replace("’", "'"):
        place = unicodedata.combining(character)
        accent = place >= _FIRST_ACCENT or _FIRST_POINT <= place <= _LAST_POINT
        short_i = character == _BREVE and kept and kept[-1] == "и"
        if (not accent or short_i) and character not in "\u00ad\u200c\u200d":
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)) or word


_HISSED = ("sses", "shes", "ches", "xes", "zes")
_VOWELS = frozenset("aeiouy")
_SHORTEST_STEM = 3
_SHORTEST_IES = 5  # ties, but cities


def _stem_latin(word: str) -> str:
    """Drop English plural, ``-ing``, ``-ed`` and a final ``e``; other languages lose little by it."""
    if len(word) <= _SHORTEST_STEM:
        return word
    if word.endswith("ies") and len(word) >= _SHORTEST_IES:
        word = word[:-3] + "y"
    elif word.endswith(_HISSED):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        stem = word[: -len(suffix)]
        if word.endswith(suffix) and len(stem) >= _SHORTEST_STEM and not _VOWELS.isdisjoint(stem):
            double = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if double else stem
            break
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word


_CYRILLIC_ENDINGS = """
    ость ости остью иями ами ями ыми ими ого его ому ему ией иям иях ием ешь ишь ете ите ать ять ить еть уть ала ало али
    ила ило или ела ело ели яла яло яли ена ено ены ам ям ом ем ой ей ою ею ах ях ов ев ий ый ая яя ое ее ые ие ую юю ым
    им ых их ия ию ии ть ет ют ут ит ат ят ал ил ел ял ен а я о е ы и у ю ь й
"""
"""The longer ones first."""


@lru_cache(maxsize=1)
def _cyrillic_endings() -> tuple[str, ...]:
    return tuple(_CYRILLIC_ENDINGS.split())


def _stem_cyrillic(word: str) -> str:
    """Drop one ending (Russian; Ukrainian and Bulgarian share most of them) and the reflexive particle."""
    if word.endswith(("ся", "сь")) and len(word) > _SHORTEST_STEM + 2:
        word = word[:-2]
    for ending in _cyrillic_endings():
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


# Function words only: adverbs and light verbs are content words. On BEGIN and CLAPNQ that agrees better with people.
_STOP_WORDS = {
    "en": """
        a about above after again against all also although am among an and another any are arent as
        at be because been before being below between both but by can cannot cant could couldnt did
        didnt do does doesnt doing dont during each either etc few for from had hadnt has hasnt have
        havent having he hence her here hers herself him himself his how however i if in instead into
        is isnt it its itself may me might mine must my myself neither no nor not nt of off on one
        onto or other others our ours ourselves out over per percent s shall she should shouldnt
        since so some such t than that the their theirs them themselves then there therefore these
        they this those though through throughout thus to too toward towards under until unto up upon
        us via was wasnt we were werent what whatever when where whether which while who whom whose
        why will with within without wont would wouldnt you your yours yourself yourselves
        """,
    "ru": """
        а без более будет будто будут бы был была были было быть в вам вас весь вид во вот все всего
        всех вы где да даже для до его ее ей если есть еще ею же за здесь и из или им именно ими их к
        как какая какой какие когда кого кому которая которое которого которой котором которую
        которые который которых кто куда ли либо лишь между меня мне может можно мой моя мы на над
        надо нам нас наш не него нее ней нет нечто ни нибудь них но ну о об он она они оно от перед
        по под поэтому после потом потому при про процент процента процентов раз с сам сама самый
        самая самое самые свой своя свои своего своей своих себе себя со так также такие такой такая
        такое там те тебя тем теперь то тогда того тоже той только том тот ту ты у уже хотя чего чей
        чем через что чтобы эта эти этих это этого этой этом этот эту я является являются
        """,
    "uk": """
        а або але без більше був буде була були було бути в вже ви від він вона вони воно все всі де для до його й
        є за з зі із і або її їх як яка який яке які коли ми між на над не ні о об та так також там те ти то того той
        тому тут у цей ця це ці через чи що щоб я при про після під по
        """,
    "de": """
        aber als also am an andere anderen auch auf aus bei beim bis bzw da dabei dadurch damit dann das dass dem den
        denn der des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer
        eines er es etwa etwas fur ganz gegen hat hatte hatten haben hier ich ihm ihn ihr ihre ihrem ihren ihrer im in
        ist ja jede jedem jeden jeder jedes jedoch kann kein keine konnen mehr mit nach nicht nichts noch nun nur ob
        oder ohne pro prozent sehr sein seine seinem seinen seiner sich sie sind so sogar sondern soll sowie uber um
        und uns unter viel viele vom von vor war waren was weil welche welcher wenn wer werden wie wieder wir wird
        wo wurde wurden zu zum zur zwischen
        """,
    "fr": """
        a ai ainsi alors apres au aussi autre autres aux avant avec avoir c ce ceci cela celle celles celui ces cet
        cette ceux chaque comme comment contre d dans de depuis des donc dont du elle elles en encore entre est et etait
        etaient etant ete etre eu eux fait ici il ils j je l la le les leur leurs lors lui m ma mais me meme mes mon n ne
        ni non nos notre nous on ont ou par parce pas pendant peu peut plus pour pourquoi puis qu quand que quel quelle
        quelles quels qui quoi s sa sans se selon ses si soit son sont sous sur t ta te tes ton tous tout toute toutes
        tres tu un une vers vos votre vous y
        """,
    "es": """
        a al algo alguna algunas alguno algunos ante antes aquel aquella asi aun aunque cada como con contra cual cuales
        cuando de del desde donde durante e el ella ellas ellos en entre era eran es esa esas ese eso esos esta
        estaba estan estas este esto estos fue fueron ha habia han hasta hay la las le les lo los mas me mi mientras
        muy ni no nos nosotros o otra otras otro otros para pero poco por porque pues que quien se sea segun ser si
        sido sin sino sobre solo son su sus tal tambien tan tanto te tiene todo todos tu u un una uno unos unas y ya yo
        """,
}


def base_language(language: str) -> str:
    """Return the language of a tag: ``en`` for ``en-GB``, ``EN_us``."""
    return language.lower().replace("_", "-").partition("-")[0]


@lru_cache(maxsize=64)
def stop_words(language: str) -> frozenset[str]:
    """Return the folded words that say nothing by themselves; English ones for a language without a list."""
    listed = _STOP_WORDS.get(base_language(language), _STOP_WORDS["en"])
    return frozenset(map(_fold, listed.split()))


# --- finding words --------------------------------------------------------------------------------------------

# Han, kana, hangul, Thai, Lao, Burmese, Khmer: their letters and marks, without digits and punctuation.
_UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\uff66-\uff9f"
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf"
    "\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
)
_NUMBER_FORMS = (
    r"(?:1\d|20)\d0['’]?s(?![^\W_])",  # 1990s
    r"['’‘]?(?<![\d.,])\d0['’]?s(?![^\W_])",  # '60s
    r"(?<![\d.,])\d{1,3}(?:[,'’]\d{3}){1,6}(?:\.\d+)?(?![.,]?\d)",  # 1,234,567.8
    r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3}){1,6}(?:[.,]\d+)?(?![.,]?\d)",  # 1 234 567,8
    r"(?<![\d.,])\d{1,3}(?:\.\d{3}){1,6},\d+(?![.,]?\d)",  # 1.234,56
    r"\d+(?:\.\d+)+",  # 3.14, 1.234.567, 12.05.2020
    r"(?<![\d,])\d+,\d+(?!,?\d)",  # 3,14, but not a list 1,2,3
    r"\d+",
)
_DATES = (
    r"(?<![\d-])(?:1\d|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?![\d-])",  # 2020-05-12
    r"(?<![\d.])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:1\d|20)\d\d(?![\d.]\d)(?!\d)",  # 12.05.2020
)
_TYPOGRAPHY = (*((mark, "'") for mark in "‘’"), *((mark, ";") for mark in "“”„«»–—…•"))
"""Marks that make a text non-ASCII and mean nothing here, each replaced by one character."""
_ASCII_LETTERS = rf"[A-Za-z]{{1,{_LONGEST}}}(?:'(?:s|t|re|ve|ll|d|m)(?![A-Za-z0-9]))?"
_IS_DATE, _IS_NUMBER, _IS_CURRENCY, _IS_WORD = 1, 2, 3, 5
"""Groups of the pattern of a word."""


@lru_cache(maxsize=2)
def _pattern(ascii: bool) -> re.Pattern[str]:  # noqa: A002 - the flag's own name
    """Return the pattern of a word; made on first use (some milliseconds). Text in ASCII is read three times faster."""
    unspaced, word = r"(?!)", _ASCII_LETTERS
    if not ascii:
        letter, marks = rf"[^\W\d_{_UNSPACED}]", _marks()
        unspaced = rf"[{_UNSPACED}][{_UNSPACED}{marks}]*"
        word = rf"{letter}{{1,{_LONGEST}}}(?:[{marks}]{{1,8}}{letter}{{0,{_LONGEST}}}){{0,{_LONGEST}}}"
        word += r"(?:['’](?:s|t|re|ve|ll|d|m)(?![^\W_]))?"
    signs = "".join(_CURRENCY_SIGNS)
    return re.compile(
        rf"({'|'.join(_DATES)})|({'|'.join(_NUMBER_FORMS)})|([{signs}])|({unspaced})|({word})"
    )


@lru_cache(maxsize=1)
def _character() -> re.Pattern[str]:
    """Return the pattern of a character with its marks."""
    return re.compile(rf"[^{_marks()}][{_marks()}]*|[{_marks()}]+")


@lru_cache(maxsize=1)
def _marks() -> str:
    points = [point for point in range(0x300, 0x1F000) if unicodedata.category(chr(point))[0] == "M"]
    return _ranges(points) + "\u00ad\u200c\u200d"  # a soft hyphen and joiners stand inside words


def _ranges(points: list[int]) -> str:
    pieces: list[str] = []
    first = last = points[0]
    for point in [*points[1:], -1]:
        if point != last + 1:
            pieces.append(f"{chr(first)}-{chr(last)}")
            first = point
        last = point
    return "".join(pieces)


def _pairs(match: re.Match[str]) -> Iterator[Word]:
    """Yield the overlapping pairs of characters of a run; the one character of a run of one."""
    run, offset = match.group(), match.start()
    if run.isalnum():  # no marks
        bounds: Sequence[int] = range(len(run) + 1)
    else:
        bounds = [*(found.start() for found in _character().finditer(run)), len(run)]
    pairs = list(zip(bounds, bounds[2:], strict=False))
    kind: Kind = "characters" if pairs else "character"
    plain = unicodedata.is_normalized("NFKC", run)
    for first, last in pairs or [(0, len(run))]:
        key = run[first:last] if plain else unicodedata.normalize("NFKC", run[first:last])
        yield Word(key, key, kind, offset + first, offset + last)


def _aliases() -> dict[str, str]:
    """Return the key of each month's and currency's other names."""
    rows = [row.split() for row in f"{_MONTH_NAMES};{_CURRENCY_NAMES}".split(";")]
    return {name: _stem_latin(first) for first, *others in rows for name in (first, *others)}


_ALIASES = _aliases()
MONTH_KEYS = tuple(_stem_latin(row.split()[0]) for row in _MONTH_NAMES.split(";"))
"""The keys of the months, January first."""
CURRENCY_KEYS = frozenset(_stem_latin(row.split()[0]) for row in _CURRENCY_NAMES.split(";"))
_SHORT_MONTHS = dict(zip(_SHORT_NAMES.split(), MONTH_KEYS, strict=True)) | {"Sept": MONTH_KEYS[8]}
_NAME = re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(_OPENINGS))})(?![^\W_])", re.IGNORECASE)
_MONTH = re.compile(rf"(?<![^\W_])(?:{'|'.join(_SHORT_MONTHS)})(?![^\W_])")
_DEPENDENT = re.compile(rf"[\d{''.join(_CURRENCY_SIGNS)}]|{_MONTH.pattern}|(?i:{_NAME.pattern})")
"""What is in a chunk whose words may depend on the chunks beside it, apart from number words."""
_CLOSING = frozenset(".,;:!?)]}\"'")
"""Marks at the end of a chunk after which a number goes on in no other chunk."""
