"""Keys and texts that a model adds to a reply of its own accord, and what they say against a verdict.

An entry has a verdict under one key. Some models add another verdict (``"label": "unsupported"``), a probability, a grade, a
list of errors, or a reason; or they add a second list (``"final": {"s4": false}``), a count, or a sentence about several ids.
What these keys say decides nothing: it may show that a verdict is doubtful. A reason may be in any language, and a key may have
any name: a remark that only some of the yeses have, and that does not speak for them, makes them doubtful too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.word_forms import fold
from ctxmetrics.judges.evidence.words import get_word_list
from ctxmetrics.judges.llm.splitting import read_id
from ctxmetrics.prompts import Pack

# The keys that the prompt asks for: in an entry, beside its verdict, and in a piece of evidence.
_KEYS_OF_ENTRY = frozenset({"evidence", "missing", "quote"})
_KEYS_OF_EVIDENCE = frozenset({"context", "quote", "whole"})
# The lists of a reply.
_LISTS = ("sentences", "useful")
# The keys under which an object of a list names its id.
_KEYS_OF_IDS = frozenset({"id", "sentence", "context", "unit"})
# The words for keys and values, and the beginnings of reasons.
_WORDS: Mapping[str, Any] = read_data("judges.llm", "words.toml")["own_keys"]
# What may stand around an id.
_AROUND_ID = " \t\n[](){}<>\"'`*.:#"
_NO_LETTER = re.compile(r"[^a-z]+")
_WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# An id of a sentence or a context, and what may stand between ids of a list.
_ID = re.compile(r"\b[sc]\d+\b")
_BETWEEN_IDS = re.compile(r"[\s,;&+]|\band\b")
_IDS = r"(?P<ids> \b[sc]\d+\b (?: (?:\s*[,;&]\s* | \s+and\s+ | ,\s*and\s+) [sc]\d+\b )* )"
# Ids that a text denies. A context that is not relevant to s2 may be to s1, and a sentence that one context does not state may
# be stated by another one.
_DENIED_IDS = tuple(
    re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # "s4, s5 and s6 are not supported", "s4 isn't stated", "s4 cannot be found"
        rf"""
        {_IDS}
        \s+ (?: (?:is|are|should\s+be|was|were|be) \s+ (?:in\s+fact\s+ | actually\s+ | also\s+)?
                (?: not\s+(?:supported|stated|useful|relevant|mentioned|found|confirmed) | unsupported | useless | irrelevant
                    | contradicted | false | wrong | no\b(?!\s+(?!and\b|or\b)\w) )
              | (?: (?:is|are|was|were|do|does|did|could|can)n['’]t | (?:do|does|did|could|can) \s* not )
                \s+ (?:be\s+)? (?:supported|stated|useful|relevant|mentioned|found|confirmed|verified|help|answer|hold) )
        (?! \s+ (?:by|in|to|for) \s+ s\d )
        (?! \s+ (?:by|in) \s+ c\d+ \s* [,;]? \s* (?: (?:but|however|although|though|while|only)\b | c\d+\s+(?:states|supports|says)\b ) )
        """,
        # Lines such as "- s4: unsupported", or "s4: no; s5: no" in one line.
        rf"""
        (?: ^ | [;,] ) [^\w\n]* {_IDS}
        \s* (?: [:=→] | [-=]> | [-–—]\s ) \s* [^\w\s]*
        (?: no\b(?!\s+\w) | false | unsupported | not\s+(?!only\b|just\b)\w+ | useless | irrelevant | contradicted | wrong )\b
        """,
        # A mark behind an id.
        rf"{_IDS} [\s:=→-]* [✗✘❌]",
        # "I doubt s4", "all are supported except s4"
        rf"""
        \b (?: doubt | (?:unsure|not\s+sure|not\s+certain)\s+(?:about|of) | except(?:\s+for)? | apart\s+from | but\s+not | excluding )
        \s+ (?:sentences?\s+|contexts?\s+)? {_IDS}
        """,
        # "no support for s4"
        rf"""
        \b (?: no | without | lack\s+of | insufficient | not\s+enough ) \s+ (?:\w+\s+)?
        (?: support | evidence | source | basis | proof ) \s+ (?: (?:was|is)\s+(?:found|given)\s+ )? (?:for|of|behind) \s+
        (?:sentences?\s+)? {_IDS} (?! \s+ in \s+ c\d )
        """,
        # A list behind its name, as in "Unsupported sentences: s4, s5".
        rf"""
        \b (?: unsupported | not\s+supported | useless | not\s+useful | irrelevant | hallucinated ) \b
        (?: \s+ (?:sentences?|contexts?|ones|ids|are|is) )* \s* [:=] [\s\["']* {_IDS}
        """,
    )
)
# "Only s1 and s2 are supported."
_ONLY_IDS = re.compile(
    rf"\b only \s+ (?:sentences?\s+|contexts?\s+)? {_IDS} \s+ (?:is|are) \s+ (?:\w+\s+)? (?:supported|stated|useful|relevant)",
    re.VERBOSE | re.IGNORECASE,
)
# "Sentences 4, 5 and 6", "s4-s7", and a short row or line about ids: "| s4 | no |", "edit: s4 is false".
_NUMBERED = re.compile(
    r"\b(?P<kind>s|c)(?:entences?|ontexts?)\s+(?P<numbers>\d+(?:(?:\s*[,&-]\s*|,?\s+and\s+|\s+to\s+)\d+)*)"
)
_RANGE = re.compile(r"\b(?P<letter>[sc])(?P<first>\d+)\s*(?:-|–|to|through)\s*(?:[sc])?(?P<last>\d+)\b")
_DENYING_ROW = re.compile(
    r"\W*(?:\w+:\s*)?(?:[sc]\d+\W+(?:and\W+)?)+(?:(?:is|are|should|be|verdict)\W+){0,2}(?:no|false|unsupported|wrong|useless|irrelevant)\W*$"
)
# How many of the sentences a text calls supported.
_COUNT_IN_TEXT = re.compile(
    r"\b(?P<count>\d+|\w+)\s+(?:(?:of|out\s+of|/)\s*(?:the\s+)?(?P<total>\d+|\w+)\s+)?(?:sentences|claims|statements)\s+(?:is|are|were)\s+(?:\w+\s+)?supported"
)
# A grade as a share, 2/10 or 20 %, and a number.
_FRACTION = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/|of|out of)\s*(\d+)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
# A probability or a grade below this share says no.
_LEAST_PROBABILITY = 0.5
# How far a share of the sentences may be from a count of them, because it was rounded.
_ROUNDING = 0.051
# What is left out of the name of a list.
_LIST_ENDINGS = ("sentences", "contexts", "units", "claims", "items", "ids", "list")
# What stands before the conclusion of a reason. Behind it "does not .." without a subject may be about a side issue.
_BUT = re.compile(
    r"[,;.]\s*(?:but|however,?)\s+(?=no context|none of|the |this |it is not|there is no)"
)
# What a reason may negate that speaks for a yes: "no context contradicts it".
_OPPOSES = re.compile(
    r"contradict\w*|against|den(?:y|ies)|conflicts?|refutes?|disputes?|opposes?|disagrees?"
)
_LACKS = re.compile(
    r"\b(?:missing|absent|left out|wrong|incorrect|lacks?|lacking|differs?|different)\b"
)
# What ends a clause of a reason.
_CLAUSE_END = re.compile(r"[,;.](?:\s|$)|\sand\s|[。；，、]")
# A context that states something, and a conclusion that says so.
_CONTEXT_STATES = re.compile(
    r"\bc\d+\b.*\b(?:states?|stated|supports?|supported|says|gives|names)\b|\b(?:stated|supported|given|named)\b.*\bc\d+\b"
)
_CONCLUDES_YES = re.compile(
    r"\b(?:so|thus|hence|therefore)\b(?![^.;]*\b(?:not|no|none|nothing)\b)[^.;]*\b(?:is|are)\s+(?:fully\s+)?(?:supported|stated|useful|relevant)\W*$"
)
_DIFFERS = re.compile(
    r"\b(?:not|no|nor|neither|none|another|different|differently|otherwise|instead|opposite|contrary)\b"
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
        barely|hardly|implied|inferred|assumed|an?\s+(?:guess|assumption)|guess\w*|speculat\w+|hallucinat\w+|partial\w*|partly)\b
    | ^i\s+(?:assume|guess|suppose|know\s+this\s+from)\b | \b(?:general|world|prior)\s+knowledge\b
    | \b(?:in\s+place|instead)\s+of\b | \bgoes\s+beyond\b | ^contradicted\b | \bsilent\s+(?:on|about)\b
    | ^(?:no|none|nothing|neither|nowhere)\b (?! \s+ (?:doubt|problem|issue|error|difference|discrepanc|mismatch) )
    | \b(?:fails?|failed|unable)\s+to\s+(?:state|mention|support|confirm|say|find|verify|help|answer)
    | \b(?:is|are)\s+(?:\w+\s+)?(?:absent|missing|wrong|incorrect|unverif\w+|unsupported|unstated|false|off[\s-]topic|irrelevant|unrelated|another|
        different|about\s+(?:another|something|a\s+different))\b
    | (?<!wording\ )(?<!phrasing\ )(?<!spelling\ )(?<!order\ ) \b(?:differs?|disagrees?|contradicts?)\b
    | \bsays?\s+(?:the\s+opposite|otherwise|something\s+else)
    | \b(?:insufficient|lack\s+of|no)\s+(?:information|evidence|support|mention|basis)\b
    | \bonly\s+(?:mentions?|names?|says?|states?|talks?|speaks?)\b
    | \b(?:mentions?|names?|gives?|says?|states?|has)\s+(?:only\s+|just\s+)?(?:an?\s+)?(?:another|other|different|similar)\b
    """,
    re.VERBOSE,
)
# A remark that speaks for a yes, and words that limit it.
_AFFIRMS = re.compile(
    r"\b(?:states?|stated|sa(?:ys|id)|mentions?|confirm(?:s|ed)|supports?|supported|shows?|proves?|matches|verbatim|word for word"
    r"|paraphras\w+|same|synonym\w*|exact\w*|explicit\w*|direct\w*|literal\w*|clear\w*|yes|true|correct|full\w*|in other words|rounded|equivalent)\b"
    r"|\b(?:see|in|from|by|per|cf)\W+c\d"
)
_RESERVES = re.compile(
    r"n['’]t\b|\b(?:only|partial\w*|partly|unclear|uncertain|whether|not|no|but|almost|nearly|guess\w*|assum\w*|infer\w*|beyond|different|another"
    r"|contradict\w*|den(?:y|ies|ied)|against|opposes?|doubt\w*)\b"
)
_STATES = re.compile(r"\b(?:states?|says?|mentions?|confirms?|supports?|shows?|proves?|reads?)\b")
# A text in marks: it is quoted.
_QUOTED = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]|(?<!\w)['‘][^'’]*['’](?!\w)")
# Words that are English alone, where a reason has words of another language in common with it.
_ENGLISH = frozenset(
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
# A word, with the vowel signs of its script.
_SPACED = re.compile(r"[^\s\d.,;:!?()\[\]{}<>\"“”„«»'’‘`*/|…。、，।-]+")
# The first letter of the scripts without spaces between words that are read: Thai, Chinese, Japanese, Korean.
_WITHOUT_SPACES = frozenset({"zh", "ja", "ko", "th"})
# What ends the verdict of a text: "no, the year differs".
_VERDICT_END = re.compile(r"[,;:(/–—]|\s-\s|\b(?:because|since)\b")
# The fewest words of a text that may be a reason; the fewest characters in a script without spaces.
_WORDS_OF_PHRASE = 3
_CHARACTERS_OF_PHRASE = 6
# Items of a list in an entry that are read, and how deep.
_MOST_ITEMS = 20
_DEEPEST = 4
# Keys of an object that are read.
_MOST_KEYS = 200
# Characters of a value and of a text that are read, and that are repeated.
_LONGEST_READ = 300
_LONGEST_TEXT = 3_000
_LONGEST_SHOWN = 80


def find_objection(
    cell: Mapping[str, Any], key: str, verdict: bool, pack: Pack, unit: str = ""
) -> str | None:
    """Return the first key and value that say something else than the verdict of an entry, or None.

    Args:
        cell: The entry.
        key: The key of its verdict.
        verdict: Its verdict.
        pack: The prompt's language, for its words for yes and no.
        unit: The text of the unit that the entry is about. A reason may repeat its negation.

    >>> from ctxmetrics.prompts import get_pack
    >>> find_objection({"supported": True, "label": "not supported"}, "supported", True, get_pack("en"))
    'label: not supported'
    >>> find_objection({"supported": True, "contradicted": False}, "supported", True, get_pack("en"))
    """
    if verdict and cell.get("missing") is True:
        return "missing: true"
    for opinion in _list_opinions(cell, _KEYS_OF_ENTRY | {key}, pack, unit):
        if opinion.verdict is not verdict and not _is_aside(opinion, key):
            return f"{opinion.key}: {opinion.value}"[:_LONGEST_SHOWN]
    # A model may quote what speaks against a yes.
    pieces = cell.get("evidence")
    if not verdict or not isinstance(pieces, (list, tuple)):
        return None
    for piece in pieces:
        if not isinstance(piece, Mapping):
            continue
        for opinion in _list_opinions(piece, _KEYS_OF_EVIDENCE, pack, unit):
            if opinion.verdict is False:
                return f"{opinion.key}: {opinion.value}"[:_LONGEST_SHOWN]
    return None


def find_reservations(
    cells: Mapping[str, Mapping[str, Any]], verdicts: Mapping[str, bool], key: str, pack: Pack
) -> Iterator[tuple[str, str]]:
    """Find the yeses of a list that have a remark which sets them apart, whatever its language.

    Only some of the yeses have the key, and its value does not speak for them; or its text is that of a no, and other yeses
    have another one.

    Args:
        cells: The entries by id.
        verdicts: Their verdicts.
        key: The key of the verdicts.
        pack: The prompt's language.

    Yields:
        The id, and the key with its value.

    >>> from ctxmetrics.prompts import get_pack
    >>> entries = {"s1": {"supported": True}, "s2": {"supported": True, "nota": "quasi"}}
    >>> [*find_reservations(entries, {"s1": True, "s2": True}, "supported", get_pack("en"))]
    [('s2', 'nota: quasi')]
    """
    remarks = {id_: _list_remarks(cell, key) for id_, cell in cells.items() if id_ in verdicts}
    yeses = [id_ for id_ in remarks if verdicts[id_]]
    remarks_of_yeses: list[tuple[str, Any]] = []
    remarks_of_noes: set[tuple[str, Any]] = set()
    for id_, remarks_of_entry in remarks.items():
        if verdicts[id_]:
            remarks_of_yeses += remarks_of_entry.items()
        else:
            remarks_of_noes.update(remarks_of_entry.items())
    counts_of_names = Counter(name for name, _ in remarks_of_yeses)
    # The names whose text tells at least one yes from the noes.
    telling_names = {name for name, value in remarks_of_yeses if (name, value) not in remarks_of_noes}
    yield from _find_low_grades({id_: cells[id_] for id_ in yeses})
    for id_ in yeses:
        for name, value in remarks[id_].items():
            stands_in_a_no = (name, value) in remarks_of_noes and isinstance(value, str)
            is_in_some_yeses = counts_of_names[name] < len(yeses)
            sets_apart = is_in_some_yeses or (stands_in_a_no and name in telling_names)
            if sets_apart and not _speaks_for_yes(name, value, pack):
                yield id_, f"{name}: {value}"[:_LONGEST_SHOWN]


def _find_low_grades(yeses: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Find the yeses with a grade of less than half of the best one of a yes, on whatever scale."""
    best: dict[str, float] = {}
    grades: list[tuple[str, str, float]] = []
    for id_, cell in yeses.items():
        for name, value in islice(cell.items(), _MOST_KEYS):
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and not _get_words("grade_words").isdisjoint(_split_name(str(name))):
                grades.append((id_, str(name), value))
                best[str(name)] = max(value, best.get(str(name), value))
    for id_, name, value in grades:
        if 0 <= value < _LEAST_PROBABILITY * best[name]:
            yield id_, f"{name}: {value}"


def _list_remarks(cell: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """List the texts and truth values of an entry and its evidence that were not asked for."""
    remarks = _list_texts(cell, _KEYS_OF_ENTRY | {key})
    pieces = cell.get("evidence")
    for piece in pieces if isinstance(pieces, (list, tuple)) else ():
        if isinstance(piece, Mapping):
            remarks |= _list_texts(piece, _KEYS_OF_EVIDENCE)
    return remarks


def _list_texts(content: Mapping[str, Any], asked_keys: frozenset[str]) -> dict[str, Any]:
    """List the texts and truth values of an object under keys that were not asked for."""
    if content.keys() <= asked_keys:
        return {}  # the usual case
    texts: dict[str, Any] = {}
    for name, value in islice(content.items(), _MOST_KEYS):
        remark = value
        if isinstance(value, (list, tuple, Mapping)) and value:
            remark = str(value)[:_LONGEST_READ]
        if name not in asked_keys and isinstance(remark, (str, bool)) and remark != "":
            texts[str(name)] = remark
    return texts


def _speaks_for_yes(key: str, value: Any, pack: Pack) -> bool:
    """Whether a remark agrees with a yes, says nothing about it, or says that there is nothing to say."""
    words = _split_name(key)
    is_fault = _names_fault(_NO_LETTER.sub("", key.casefold()), words)
    if words and words <= _get_words("neutral_words"):
        return True
    if isinstance(value, bool):
        is_read = not words.isdisjoint(_get_words("plain_words"))
        is_yes = _read_opinion(key, value, pack) is True
        return is_yes or (is_read and value is not is_fault)
    text = value[:_LONGEST_READ].strip().casefold()
    is_plain_no = text.strip(".!") in pack.no
    if is_fault or is_plain_no:
        return is_fault and not _has_fault(value, pack)
    if _is_nothing(value) or _read_value(value, pack) is True:
        return True
    return _AFFIRMS.search(text) is not None and not _RESERVES.search(text) and not _denies(text)


class _Opinion(NamedTuple):
    """What a key of an entry and its value say: yes or no."""

    key: str
    value: Any
    verdict: bool


def _list_opinions(
    cell: Mapping[str, Any], asked: frozenset[str], pack: Pack, unit: str, depth: int = 0
) -> Iterator[_Opinion]:
    """Yield what the keys of an entry say that were not asked for, also those of objects within it."""
    if asked and cell.keys() <= asked:
        return  # the usual case
    for key, value in islice(cell.items(), _MOST_KEYS):
        if key in asked:
            continue
        if isinstance(value, Mapping):
            yield from _list_opinions_within(str(key), value, pack, unit, depth)
            continue
        items = [value]
        if isinstance(value, (list, tuple)) and value:
            items = list(value[:_MOST_ITEMS])
        objects = [item for item in items if isinstance(item, Mapping)]
        for item in items:
            content = item[0] if isinstance(item, (list, tuple)) and len(item) == 1 else item
            if not isinstance(content, Mapping):
                verdict = _read_opinion(str(key), content, pack, unit)
                if verdict is not None:
                    yield _Opinion(str(key), content, verdict)
        if objects and depth < _DEEPEST:
            yield from _agreed(objects, pack, unit, depth)


def _list_opinions_within(
    key: str, value: Mapping[str, Any], pack: Pack, unit: str, depth: int
) -> Iterator[_Opinion]:
    """Yield what an object within an entry says: probabilities by label, or keys of its own."""
    verdict = _read_probabilities(value, pack)
    if verdict is not None:
        yield _Opinion(key, value, verdict)
    elif depth < _DEEPEST and any(_ID.fullmatch(str(name)) for name in value):
        # Of several contexts, one may be enough.
        cells = [one if isinstance(one, Mapping) else {"verdict": one} for one in value.values()]
        yield from _agreed(cells, pack, unit, depth)
    elif depth < _DEEPEST:
        yield from _list_opinions(value, frozenset(), pack, unit, depth + 1)


def _agreed(
    cells: Sequence[Mapping[str, Any]], pack: Pack, unit: str, depth: int
) -> Iterator[_Opinion]:
    """Yield what several objects say if none of them says yes."""
    opinions: list[_Opinion] = []
    for cell in cells:
        opinions += _list_opinions(cell, frozenset(), pack, unit, depth + 1)
    if not any(opinion.verdict for opinion in opinions):
        yield from opinions


def _read_probabilities(value: Mapping[str, Any], pack: Pack) -> bool | None:
    """Return which of yes and no has the larger number, if the keys of an object are words for both."""
    sums = {True: 0.0, False: 0.0}
    labels = set()
    for name, number in value.items():
        label = _read_value(str(name), pack)
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if label is None or not is_number:
            return None
        labels.add(label)
        sums[label] += number
    if len(labels) < len(sums) or sums[True] == sums[False]:
        return None
    return sums[True] > sums[False]


def _is_aside(opinion: _Opinion, key: str) -> bool:
    """Whether an opinion says nothing about the verdict under a key.

    A useful context need not state the whole answer. An unsupported sentence may be correct, about the topic, and mentioned.
    """
    name = _NO_LETTER.sub("", opinion.key.casefold())
    if opinion.verdict and name.removeprefix("is") in _get_words("affirmations"):
        return True
    if opinion.verdict:
        return name in _get_words("truths") or (key == "supported" and name in _get_words("topics"))
    return key == "useful" and (name in _get_words("faults") or name.startswith(("part", "ispart")))


class OtherVerdict(NamedTuple):
    """A verdict about an id that stands outside of its entry.

    Attributes:
        id: The id.
        verdict: The verdict.
        place: Where it stands.
    """

    id: str
    verdict: bool
    place: str


def find_other_verdicts(
    data: Mapping[str, Any], ids: Collection[str], pack: Pack, depth: int = 0
) -> Iterator[OtherVerdict]:
    """Find verdicts about ids outside of their entries: in a second list, or under another spelling of the id.

    Args:
        data: The reply, or an object within it.
        ids: The ids that were asked.
        pack: The prompt's language.
        depth: How deep in the reply the object stands.

    >>> from ctxmetrics.prompts import get_pack
    >>> reply = {"sentences": {"s1": {"supported": True}, "S2": {"supported": True}}, "unsupported": ["s1"]}
    >>> [tuple(one) for one in find_other_verdicts(reply, ["s1", "s2"], get_pack("en"))]
    [('s2', True, 'S2'), ('s1', False, 'unsupported')]
    """
    for key, value in islice(data.items(), _MOST_KEYS):
        if key == "code" or _ID.fullmatch(str(key)):
            continue  # what an id says about other ids is about both
        if isinstance(value, Mapping) and key in _LISTS:
            letter = "s" if key == "sentences" else "c"
            names = [name for name in value if depth or str(name).strip() not in ids]
            yield from _read_list({name: value[name] for name in names}, ids, None, pack, letter)
        elif isinstance(value, Mapping):
            yield from _read_list(value, ids, str(key), pack)
        yield from _read_listed_ids(str(key), value, ids, pack)
        objects = value if isinstance(value, (list, tuple)) else [_read_json(value)]
        for item in objects[:_MOST_ITEMS]:
            if isinstance(item, Mapping) and key not in _LISTS and depth < _DEEPEST:
                if item is not value:
                    yield from _read_list(item, ids, str(key), pack)
                    yield from _read_patch(item, ids, str(key), pack)
                yield from find_other_verdicts(item, ids, pack, depth + 1)


def _read_json(value: Any) -> Any:
    """Return the object that a text is in JSON; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith("{") and len(value) < _LONGEST_TEXT:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _read_patch(
    item: Mapping[str, Any], ids: Collection[str], place: str, pack: Pack
) -> Iterator[OtherVerdict]:
    """Read a change of a verdict as a JSON patch has it: its path names the id."""
    path = item.get("path")
    named = _ID.findall(path) if isinstance(path, str) else []
    verdict = _read_value(item.get("value"), pack)
    if len(named) == 1 and named[0] in ids and verdict is not None:
        yield OtherVerdict(named[0], verdict, place)


def find_denied_ids(text: str, ids: Collection[str] = ()) -> Sequence[str]:
    """Find the ids that a text calls unsupported or useless.

    Args:
        text: The text.
        ids: All ids: a text may name only those that are supported.

    >>> find_denied_ids("Note: s4 and s5 are not supported.")
    ['s4', 's5']
    """
    denied: list[str] = []
    text = _RANGE.sub(_write_range, _NUMBERED.sub(_write_ids, text[:_LONGEST_TEXT].casefold()))
    for pattern in _DENIED_IDS:
        for match in pattern.finditer(text):
            denied += _ID.findall(match["ids"])
    for match in _ONLY_IDS.finditer(text):
        named = _ID.findall(match["ids"])
        denied += [id_ for id_ in ids if id_ not in named and id_[0] == named[0][0]]
    for clause in re.split(r"[.;\n]", text):
        ids_of_clause = _ID.findall(clause)
        is_of_one_kind = len({id_[0] for id_ in ids_of_clause}) == 1
        statement = _ID.sub(" ", clause).lstrip(" \t,;&:-*")
        if is_of_one_kind and (_DENYING_ROW.match(clause) or _denies_in_other_language(statement)):
            denied += ids_of_clause
    return list(dict.fromkeys(denied))


def _write_ids(match: re.Match[str]) -> str:
    """Write "sentences 4, 5 and 6" with ids."""
    return re.sub(r"\d+", lambda number: match["kind"][0] + number[0], match["numbers"])


def _write_range(match: re.Match[str]) -> str:
    """Write all ids of a range, "s4-s7"."""
    first, last = int(match["first"]), int(match["last"])
    if not first < last < first + _MOST_ITEMS:
        return match[0]
    return ", ".join(f"{match['letter']}{number}" for number in range(first, last + 1))


def count_supported(data: Mapping[str, Any], total: int) -> Iterator[tuple[str, int]]:
    """Count the supported units as keys beside the lists do.

    Args:
        data: The reply.
        total: How many units it is about.

    Yields:
        Each key, and how many units are supported by it.

    >>> [*count_supported({"supported_count": 3, "score": "3/7"}, 7)]
    [('supported_count', 3), ('score', 3)]
    """
    has_total = any(data.get(key) == total for key in ("total", "max", "out_of", "maximum"))
    for key, value in data.items():
        name = _NO_LETTER.sub("", str(key).casefold())
        if isinstance(value, str):
            yield from ((str(key), count) for count in _count_in_text(name, value, total))
        share = _read_share(value) if name in _get_words("shares") else None
        is_count = isinstance(value, int) and not isinstance(value, bool)
        if is_count and name in _get_words("unsupported_counts"):
            yield str(key), total - value
        elif is_count and (
            name in _get_words("supported_counts") or (has_total and name in _get_words("grades"))
        ):
            yield str(key), value
        elif share is not None:
            count = round(share * total)
            if abs(share * total - count) <= _ROUNDING * total:
                yield str(key), count


def _count_in_text(name: str, text: str, total: int) -> Iterator[int]:
    """Count the supported units as a grade, "3/7", or a text does: "only three sentences are supported"."""
    fraction = _FRACTION.fullmatch(text.strip())
    if name in _get_words("grades") and fraction is not None and fraction[2] == str(total):
        yield round(float(fraction[1]))
    for match in _COUNT_IN_TEXT.finditer(text[:_LONGEST_TEXT].casefold()):
        count = str(_WORDS["counts"].get(match["count"], match["count"]))
        if count.isdecimal():
            yield int(count)


def _read_share(value: Any) -> float | None:
    """Read a share: .43, or 43 %."""
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value.strip())
        return None if percent is None else float(percent[1]) / 100
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= 1 else None


def find_verdict_on_all(data: Mapping[str, Any], verdict: bool, pack: Pack) -> str | None:
    """Return a key beside the lists that denies the same verdict about all units, with its value; None for none.

    Args:
        data: The reply.
        verdict: What it says about each unit.
        pack: The prompt's language.

    >>> from ctxmetrics.prompts import get_pack
    >>> find_verdict_on_all({"all_supported": False}, True, get_pack("en"))
    'all_supported: False'
    """
    for key, value in data.items():
        name = _NO_LETTER.sub("", str(key).casefold())
        opinion = None
        if name in _get_words("about_all"):
            opinion = _read_value(value, pack)
        elif name in _get_words("about_none"):
            says_none = _read_value(value, pack)
            opinion = None if says_none is None else not says_none
        if opinion is not None and opinion is not verdict:
            return f"{key}: {value}"[:_LONGEST_SHOWN]
    return None


def _read_listed_ids(key: str, value: Any, ids: Collection[str], pack: Pack) -> Iterator[OtherVerdict]:
    """Read verdicts about ids that stand in a list, in a text, or in an object of reasons."""
    name = _NO_LETTER.sub("", key.casefold())
    for ending in _LIST_ENDINGS:
        name = name.removesuffix(ending)
    items = _list_items(value)
    if name.removesuffix("s") in _get_words("verdicts"):
        yield from _read_in_order(key, items, ids, pack)
    for id_ in _list_denied_ids(name, value, items, ids):
        if id_ in ids:
            yield OtherVerdict(id_, False, key)
    for item in items:
        if isinstance(item, Mapping):
            yield from _read_item(item, ids, key, pack)


def _read_item(
    item: Mapping[str, Any], ids: Collection[str], place: str, pack: Pack
) -> Iterator[OtherVerdict]:
    """Read the verdict of an object in a list that names its id."""
    for id_key in _KEYS_OF_IDS.intersection(item):
        id_ = read_id(item[id_key], "c" if id_key == "context" else "s")
        if id_key == "id":
            id_ = str(item[id_key]).casefold().strip()
        if id_ in ids:
            cell = {key: value for key, value in item.items() if key != id_key}
            yield from _read_list({id_: cell}, ids, place, pack)


def _list_denied_ids(
    name: str, value: Any, items: Sequence[Any], ids: Collection[str]
) -> Sequence[str]:
    """List the ids that a value denies: those in a list of the unsupported, those that a list of the supported leaves out.

    Args:
        name: What the list is of.
        value: The value.
        items: Its items, as `_list_items` has them.
        ids: The ids that were asked.
    """
    named = [item for item in items if isinstance(item, str) and item in ids]
    if name in _get_words("denials"):
        if isinstance(value, Mapping):  # {"s1": false, "s2": "another year"}
            return [id_ for id_ in named if _says_something(value[id_])]
        return named
    if isinstance(value, str) and not named:
        return find_denied_ids(value, ids)
    lines = [item for item in items if isinstance(item, str) and item not in ids]
    if lines and not isinstance(value, Mapping):
        return find_denied_ids("\n".join(lines), ids)
    has_ids_alone = bool(named) and len(named) == len(items) and not isinstance(value, Mapping)
    if name in _get_words("yes") and has_ids_alone:
        return [id_ for id_ in ids if id_ not in named and id_[0] == named[0][0]]
    return []


def _list_items(value: Any) -> Sequence[Any]:
    """List the items of a list, the ids of a text that has nothing else, or the keys of an object; of another value, none."""
    if isinstance(value, str):
        ids = _ID.findall(value.casefold())
        rest = _BETWEEN_IDS.sub("", _ID.sub("", value.casefold()))
        return [] if rest else ids
    return [*value] if isinstance(value, (list, tuple, Mapping)) else []


def _read_in_order(
    key: str, values: Sequence[Any], ids: Collection[str], pack: Pack
) -> Iterator[OtherVerdict]:
    """Read a list of verdicts that has one for each unit, in their order."""
    units = [id_ for id_ in ids if id_.startswith("s")]
    verdicts = [_read_value(value, pack) for value in values]
    if len(units) == len(verdicts):
        for id_, verdict in zip(units, verdicts, strict=True):
            if verdict is not None:
                yield OtherVerdict(id_, verdict, key)


def _read_list(
    cells: Mapping[str, Any], ids: Collection[str], place: str | None, pack: Pack, letter: str = ""
) -> Iterator[OtherVerdict]:
    """Read the verdicts of a list about ids, in whatever spelling.

    Args:
        cells: The list.
        ids: The ids that were asked.
        place: Where it stands; None for the spelling of each id.
        pack: The prompt's language.
        letter: The letter of its ids, where a number is enough.
    """
    if place is not None and _NO_LETTER.sub("", place.casefold()) in _get_words("denials"):
        return  # `_list_denied_ids` reads it
    for name, content in cells.items():
        id_ = _find_id(str(name), ids, letter)
        if id_ is None:
            continue
        is_number = isinstance(content, (int, float)) and not isinstance(content, bool)
        if is_number and place is not None and _read_opinion(place, content, pack) is False:
            yield OtherVerdict(id_, False, place)
        cell = content if isinstance(content, Mapping) else {"verdict": content}
        for opinion in _list_opinions(cell, _KEYS_OF_ENTRY, pack, ""):
            is_number = isinstance(opinion.value, (int, float)) and not isinstance(opinion.value, bool)
            if not is_number and not (opinion.verdict and _is_aside(opinion, "supported")):
                yield OtherVerdict(id_, opinion.verdict, str(name) if place is None else place)


def _find_id(name: str, ids: Collection[str], letter: str) -> str | None:
    """Return the id that a name stands for, or None; a number needs the letter of its list."""
    name = re.sub(r"\s*\(.*\)\s*$", "", name) or name
    letters = [letter] if letter else ["s", "c"]
    for one in letters:
        id_ = read_id(name, one)
        has_letter = name.strip()[:1].casefold() not in "0123456789"
        if id_ in ids and (letter or has_letter):
            return id_
    return None


def _read_opinion(key: str, value: Any, pack: Pack, unit: str = "") -> bool | None:
    """Return what a key and its value say about an entry: yes, no, or None for neither."""
    name = _NO_LETTER.sub("", key.casefold())
    words = _split_name(key)
    is_verdict = _names_verdict(name, words)
    if _names_fault(name, words):
        says_no = _has_fault(value, pack)
    elif name in _get_words("reasons") or not words.isdisjoint(_get_words("reasons")):
        says_no = isinstance(value, str) and _denies(value, unit)
    elif name in _get_words("denials"):
        says_no = _read_value(value, pack) is True
    elif _names_support(words):
        says_no = _is_nothing(value)
    elif _is_low_grade(name, words, value, is_verdict=is_verdict):
        says_no = True
    elif is_verdict:
        is_one_or_zero = isinstance(value, (int, float)) and value in (0, 1)
        return bool(value) if is_one_or_zero else _read_value(value, pack)
    elif name.removeprefix("is") in _get_words("affirmations"):
        return _read_plain(value, pack)
    else:
        # A reason under a key in any language.
        is_reason = isinstance(value, str) and words.isdisjoint(_get_words("neutral_words"))
        says_no = is_reason and _is_phrase(value) and _denies(value, unit)
    return False if says_no else None


def _read_plain(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a truth value or a word of the prompt for yes or no is, or None."""
    word = value.strip().casefold() if isinstance(value, str) else ""
    if value is True or word in pack.yes:
        return True
    return False if value is False or word in pack.no else None


def _names_verdict(name: str, words: Collection[str]) -> bool:
    """Whether a key is that of a verdict."""
    if name in _get_words("verdicts") or name.removesuffix("s") in _get_words("verdicts"):
        return True
    return not {"label", "verdict", "nli"}.isdisjoint(words) and "id" not in words


def _is_phrase(text: str) -> bool:
    """Whether a text has three words, or a script without spaces."""
    return len(text.split()) >= _WORDS_OF_PHRASE or (
        not text.isascii() and len(text) >= _CHARACTERS_OF_PHRASE
    )


def _split_name(key: str) -> frozenset[str]:
    """Return the words of a key: `supported_by`, `supportedBy`, `Supported-By`."""
    return frozenset(word.casefold() for word in _WORD_OF_NAME.findall(key))


def _names_fault(name: str, words: Collection[str]) -> bool:
    """Whether what stands under a key is wrong with the entry."""
    if name in _get_words("faults"):
        return True
    if name in _get_words("denials") or not _get_words("no_opinion").isdisjoint(words):
        return False
    is_why_not = "why" in words and "not" in words
    return is_why_not or not _get_words("fault_words").isdisjoint(words)


def _has_fault(value: Any, pack: Pack) -> bool:
    """Whether a value under such a key says that there is a fault: a text that names one, true, a count, a probability."""
    if isinstance(value, str):
        return value.strip().casefold() in pack.yes or _names_something(value)
    if isinstance(value, float):
        return value > _LEAST_PROBABILITY
    return isinstance(value, int) and value > 0


def _names_support(words: Collection[str]) -> bool:
    """Whether a key is about what supports the entry: `supporting_contexts`, `supported_by`, `found_in`."""
    if "supporting" in words or "matching" in words:
        return True
    has_preposition = "by" in words or "in" in words
    return has_preposition and not _get_words("support_words").isdisjoint(words)


def _is_nothing(value: Any) -> bool:
    """Whether a value says that there is nothing."""
    if isinstance(value, str):
        plain = value.strip(f"{_AROUND_ID}-–—").casefold()
        return bool(value.strip()) and plain in _read_nothing()
    return value is not None and not value


def _is_low_grade(name: str, words: Collection[str], value: Any, *, is_verdict: bool) -> bool:
    """Whether a value is a low probability, percentage or grade, by the words of its key."""
    is_probability = name in _get_words("probabilities") or (
        not _get_words("probability_words").isdisjoint(words)
        and not {"score", "p", "prob", "probability", "likelihood"}.isdisjoint(words)
    )
    number = value
    if is_probability and isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value.strip().replace(",", "."))
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        if is_probability and not _get_words("no_words").isdisjoint(words):
            return _LEAST_PROBABILITY < number <= 1
        is_low_percentage = name in _get_words("percents") and 1 < number < 100 * _LEAST_PROBABILITY
        is_zero = number == 0 and name in _get_words("grades")
        return is_low_percentage or is_zero or (is_probability and 0 <= number < _LEAST_PROBABILITY)
    is_grade = is_verdict or is_probability or name in _get_words("grades")
    return is_grade and isinstance(value, str) and _is_low(value)


def _is_low(grade: str) -> bool:
    """Whether a grade is low: a fraction or a percentage below a half, or a word that says so."""
    text = grade.strip().casefold()
    if text in _get_words("low"):
        return True
    if text.count("★") < text.count("☆"):
        return True
    fraction = _FRACTION.fullmatch(text)
    if fraction is not None:
        return float(fraction[1]) < _LEAST_PROBABILITY * float(fraction[2])
    percent = _PERCENT.fullmatch(text)
    return percent is not None and float(percent[1]) < 100 * _LEAST_PROBABILITY


def _names_something(text: str) -> bool:
    """Whether a text under a key such as ``errors`` names one."""
    plain = text[:_LONGEST_READ].strip(f"{_AROUND_ID}-–—").casefold()
    if plain in _read_nothing() or plain in _get_words("yes"):
        return False
    if _denies(plain):
        return True
    if plain.startswith(tuple(_get_words("no_fault_beginnings"))) or _NO_FAULT.search(plain):
        return False
    return not plain.endswith(tuple(_get_words("no_fault_endings")))


def _says_something(value: Any) -> bool:
    """Whether a value is something else than false, nothing, or a text that says that there is nothing."""
    return _names_something(value) if isinstance(value, str) else bool(value)


@lru_cache(maxsize=1)
def _read_nothing() -> frozenset[str]:
    """Read what a model writes where there is nothing."""
    return frozenset(read_data("judges.llm", "words.toml")["nothing"])


def _read_value(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a value of such a key is, or None."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    text = value[:_LONGEST_READ].casefold().replace("_", " ").replace("-", " ").replace("\ufe0f", "")
    text = " ".join(text.split()).strip(".![]()<>*\"'")
    verdict = _read_words(text, pack)
    if verdict is None and _get_words("turns").isdisjoint(_SPACED.findall(text)):
        # "no, the year differs"
        verdict = _read_words(_VERDICT_END.split(text)[0].strip(), pack)
    return verdict


def _read_words(text: str, pack: Pack) -> bool | None:
    """Return the verdict that a word or phrase is, or None."""
    if text in pack.yes or text in _get_words("yes"):
        return True
    return False if text in pack.no or text in _get_words("no") else None


def _denies(reason: str, unit: str = "") -> bool:
    """Whether a reason speaks against a yes, and takes nothing back.

    Args:
        reason: The reason.
        unit: The sentence that it is about. If it has a negation, the reason may have the same one.
    """
    text = " ".join(_QUOTED.sub(" ", reason[:_LONGEST_READ]).casefold().split())
    if _begins_with_denial(text):
        return True
    if _is_negated(unit) or not _get_words("turns").isdisjoint(_SPACED.findall(text)):
        return False
    return _denies_in_first_clause(text) or _denies_in_other_language(text)


def _denies_in_first_clause(text: str) -> bool:
    """Whether the first clause of an English reason says that nothing states the sentence, and no other one takes it back."""
    first, *others = _CLAUSE_END.split(text)
    denial = _DENYING_CLAUSE.search(first)
    if denial is None or _CONCLUDES_YES.search(text):
        return False
    if _STATES.search(first[: denial.start()]) or _is_double_negation(first):
        return False
    return not any(_CONTEXT_STATES.search(clause) and not _DIFFERS.search(clause) for clause in others)


def _is_double_negation(clause: str) -> bool:
    """Whether a clause negates what speaks against a yes: "no context contradicts it", "no part of it is missing"."""
    opposition = _OPPOSES.search(clause) or _LACKS.search(clause)
    return opposition is not None and _DIFFERS.search(clause[: opposition.start()]) is not None


def _denies_in_other_language(text: str) -> bool:
    """Whether the first clause of a reason in another language than English negates what contexts say."""
    first = _CLAUSE_END.split(text)[0]
    words = [fold(word) for word in _SPACED.findall(first)]
    if not _ENGLISH.isdisjoint(words):
        return False
    for language, stems in _WORDS["statements"].items():
        if any(turn in text for turn in _WORDS["other_turns"].get(language, ())):
            continue
        if any(stem in first for stem in _WORDS["oppositions"]):
            continue
        if _has_negation(first, words, language) and any(stem in first for stem in stems):
            return True
    return False


def _has_negation(text: str, words: Sequence[str], language: str) -> bool:
    """Whether a clause has a negation of a language, other than in "not only"."""
    negations = _WORDS["other_negations"].get(language, ())
    if language in _WITHOUT_SPACES:
        return any(negation in text for negation in negations)
    denying = get_word_list("negations", language) | frozenset(map(fold, negations))
    no_negation = get_word_list("no_negation_before", language)
    denying -= _get_words("without")
    for place, word in enumerate(words):
        if word in denying and no_negation.isdisjoint(words[place + 1 : place + 2]):
            return True
    return False


@lru_cache(maxsize=256)
def _is_negated(text: str) -> bool:
    """Whether a text has a negation in any language that is known."""
    if not text:
        return False
    words = [fold(word) for word in _SPACED.findall(text[:_LONGEST_TEXT])]
    languages = ["en", *_WORDS["statements"]]
    return any(_has_negation(text, words, language) for language in languages)


def _begins_with_denial(text: str) -> bool:
    """Whether a reason, or what follows its last "but", begins with what speaks against a yes."""
    # "It is close, but the context does not state it."
    conclusion = _BUT.split(text)[-1]
    beginning = next(
        (words for words in _get_words("denying_beginnings") if conclusion.startswith(words)), None
    )
    if beginning is None or _CONCLUDES_YES.search(conclusion):
        return False
    first, *others = _CLAUSE_END.split(conclusion[len(beginning) :])
    if _OPPOSES.search(first) or any(stem in first for stem in _WORDS["oppositions"]):
        return False
    # "Not stated in c1, stated in c2."
    if any(_CONTEXT_STATES.search(clause) and not _DIFFERS.search(clause) for clause in others):
        return False
    words = re.findall(r"\w+", conclusion)
    takes_back = not (_get_words("turns") | _get_words("other_contexts")).isdisjoint(words)
    return not takes_back


@lru_cache(maxsize=16)
def _get_words(name: str) -> frozenset[str]:
    """Return the words of a list of the data file, by its name."""
    return frozenset(_WORDS[name])
