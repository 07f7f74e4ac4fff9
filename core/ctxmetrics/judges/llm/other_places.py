"""Verdicts in other places of a reply than its entries: a second list, a count, a patch, a sentence about several ids.

They decide nothing: one that says something else than an entry makes the verdict of that entry doubtful.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from ctxmetrics.judges.llm.own_keys import (
    DEEPEST,
    ID,
    KEYS_OF_ENTRY,
    LONGEST_SHOWN,
    MOST_ITEMS,
    is_aside,
    list_opinions,
    speaks_for_yes,
)
from ctxmetrics.judges.llm.remarks import (
    FRACTION,
    LONGEST_TEXT,
    MOST_KEYS,
    NO_LETTER,
    PERCENT,
    WORDS,
    denies_in_other_language,
    get_words,
    is_nothing,
    is_number,
    read_opinion,
    read_value,
    says_something,
    split_name,
)
from ctxmetrics.judges.llm.splitting import read_id
from ctxmetrics.prompts import Pack

# The lists of a reply.
_REPLY_LISTS = ("sentences", "useful")
# The keys under which an object of a list names its id.
_KEYS_OF_IDS = frozenset({"id", "sentence", "context", "unit"})
_BETWEEN_IDS = re.compile(r"[\s,;&+]|\band\b")
_IDS = r"(?P<ids> \b[sc]\d+\b (?: (?:\s*[,;&]\s* | \s+and\s+ | ,\s*and\s+) [sc]\d+\b )* )"
# Marks of bold and italic text: "**Unsupported:** s4".
_MARKDOWN = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|__")
_ALL_IDS = re.compile(_IDS, re.VERBOSE)
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
        (?: no\b(?!\s+\w) | false | n/a | unsupported | not\s+(?!only\b|just\b)\w+ | useless | irrelevant | contradicted | wrong )\b
        (?! \s* (?: [-=]> | → | to ) \s* (?:true|yes)\b )
        """,
        # A mark behind an id.
        rf"{_IDS} [\s:=→|-]* [✗✘❌]",
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
        \b (?: unsupported | not\s+supported | not\s+entailed | missing\s+support | useless | not\s+useful | irrelevant | hallucinated ) \b
        (?: \s+ (?:sentences?|contexts?|ones|ids|are|is) )* \s* [:=] [\s\["']* {_IDS}
        """,
    )
)
# Ids whose verdicts a text takes back or doubts: "s4 and s5 look wrong", "s4 should have been false", "I retract s4", "set s4 to
# false". Between the ids and the doubt stand neither other ids nor words that affirm.
_WORD_BETWEEN = r"(?: \s+ (?!supported\b|stated\b|confirmed\b|correct\b|verbatim\b|without\b|no\b|not\b|[sc]\d) [\w'’-]+ )"
_DOUBTED_IDS = tuple(
    re.compile(pattern, re.VERBOSE | re.MULTILINE)
    for pattern in (
        rf"""
        {_IDS} {_WORD_BETWEEN}{{0,5}}? \s+
        (?: wrong | incorrect | mistaken? | false | unsupported | unverified | unconfirmed | doubtful | uncertain | questionable | debatable
            | guess(?:es|ed|work)? | assumptions? | speculat\w+ | hallucinat\w+ | invented | inferred | retracted | withdrawn | overstated )\b
        """,
        rf"""
        \b(?: retract | withdraw | take\s+back | ignore | disregard | discard | reverse | strike | doubt | double[\s-]check | re-?check )
        {_WORD_BETWEEN}{{0,5}}? \s+ {_IDS}
        """,
        rf"""
        \b(?: set | mark | change | flip | switch | turn ) {_WORD_BETWEEN}{{0,3}}? \s+ {_IDS} \s+ (?:to|as) \s+ (?: false | no | unsupported )\b
        """,
        # A change: "s4: true -> false".
        rf"{_IDS} \s* [:=(]? \s* (?:true|yes) \s* (?:[-=]>|→|to) \s* (?:false|no)\b",
        rf"\bnone\s+of\s+ (?:the\s+)? {_IDS} \s+ (?:is|are|was|were)\b",
        # "For s4 and s5 I found nothing", "~~s4~~"
        rf"\bfor\s+ {_IDS} ,? {_WORD_BETWEEN}{{0,3}}? \s+ (?:nothing|none|no\s+(?:evidence|support|source|context|quote)) \b",
        rf"~~\s* {_IDS} \s*~~",
        # "I could not verify s4 and s5"
        rf"""
        \b(?: could | can | did | do ) (?: \s* not | n['’]t ) \s+ (?: verify | confirm | substantiate | find | locate )
        {_WORD_BETWEEN}{{0,3}}? \s+ {_IDS} (?! \s+ in \s+ c\d )
        """,
        # A line with a low percentage: "s4: 10%"
        rf"^\W* {_IDS} \s*[:=|-]+\s* [1-4]?\d(?:\.\d+)?\s*% [^\w%]* $",
    )
)
# "All but s1 and s2 are unsupported": the other ids are denied.
_ALL_BUT_IDS = re.compile(
    rf"\ball\s+(?:but|except(?:\s+for)?)\s+{_IDS}\s+(?:are|is|were)\s+(?:unsupported|not\s+supported|false|wrong)",
    re.VERBOSE,
)
# Sentences by their place: "the last four sentences", "the first 3 sentences", "everything after s3", "sentences after the third".
_BY_PLACE = re.compile(
    r"\b(?:the\s+)?(?P<end>first|last)\s+(?P<count>\w+)\s+(?:sentences|claims|statements|(?=holds?\b|are\b))"
    r"|\b(?:everything|anything|all|sentences)\s+(?:after|behind|beyond)\s+(?:s(?P<after>\d+)|the\s+(?P<ordinal>\w+))\b"
)
# "Only s1 and s2 are supported.", "I am only sure about s1 and s2.", "s1 and s2 hold; the rest do not."
_ONLY_IDS = re.compile(
    rf"""
    \b only \s+ (?:sentences?\s+|contexts?\s+)? {_IDS} \s+ (?: is | are | was | were | (?:can|could)\s+be ) \s+ (?:\w+\s+)?
      (?:supported|stated|useful|relevant|verified|confirmed|found)
    | \b only \s+ (?:sure|certain|confident) \s+ (?:about|of|in) \s+ {_IDS.replace("P<ids>", "P<sure_ids>")}
    | {_IDS.replace("P<ids>", "P<first_ids>")} \s+ (?:hold|(?:is|are)\s+(?:supported|stated|correct|true|fine|ok)) [,;.] \s+
      (?:(?:and|but|while)\s+)? the\s+(?:rest|others?|remaining\s+\w+) \s+
      (?:do\s+not|don['’]t|does\s+not|are\s+not|aren['’]t|is\s+not|isn['’]t|lack|fail|are\s+(?:unsupported|false|wrong))
    """,
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
    r"\b(?P<count>\d+|\w+)\s+(?:(?:of|out\s+of|/)\s*(?:the\s+)?(?P<total>\d+|\w+)\s+)?(?:sentences|claims|statements)\s+(?:is|are|were)\s+(?!not\b)(?:\w+\s+)?(?:supported|grounded|stated|verified|confirmed)\b"
    r"|\b(?P<failed>\d+|\w+)\s+(?:of|out\s+of)\s+(?:the\s+)?(?:\d+|\w+)\s+(?:(?:sentences|claims|statements)\s+)?(?:fail(?:s|ed)?\b|(?:is|are)\s+(?:unsupported|not\s+supported))"
    r"|\b(?P<number>\d+)\s+(?:are\s+)?supported\b|(?<!un)(?<!not )\bsupported\s*:\s*(?P<named>\d+)\b(?!\s*/)|\brecall\W{1,3}(?P<share>\d+)\s*/\s*(?P<units>\d+)"
)
# A share of the sentences, as in "43% of the sentences are supported".
_PERCENT_IN_TEXT = re.compile(
    r"\b(?P<percent>\d{1,3}(?:\.\d+)?)\s*%\s+of\s+(?:the\s+)?(?:sentences|claims|statements)\s+(?:is|are|were)\s+(?:\w+\s+)?supported"
)
# How much a share of the sentences may differ from a whole number of sentences because the share was rounded.
_ROUNDING_TOLERANCE = 0.051
# Characters that may stand around a remark.
_AROUND_REMARK = " \t,;:&*|>-–—→=[](){}\"'"
# Endings that are dropped from the name of a list.
_LIST_ENDINGS = ("sentences", "contexts", "units", "claims", "items", "ids", "list")


class OtherVerdict(NamedTuple):
    """A verdict about an id that a reply gives outside of the entry of the id.

    Attributes:
        id: The id.
        verdict: The verdict.
        place: The key under which the verdict stands, or the spelling of the id.
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
        ids: The ids that the model was asked about.
        pack: The prompt's language.
        depth: How deep in the reply the object stands.

    >>> from ctxmetrics.prompts import get_pack
    >>> reply = {"sentences": {"s1": {"supported": True}, "S2": {"supported": True}}, "unsupported": ["s1"]}
    >>> [tuple(one) for one in find_other_verdicts(reply, ["s1", "s2"], get_pack("en"))]
    [('s2', True, 'S2'), ('s1', False, 'unsupported')]
    """
    for key, value in islice(data.items(), MOST_KEYS):
        if key == "code" or ID.fullmatch(str(key)):
            continue  # a verdict under one id about another id would be about both
        if isinstance(value, Mapping) and key in _REPLY_LISTS:
            letter = "s" if key == "sentences" else "c"
            names = [name for name in value if depth or str(name).strip() not in ids]
            yield from _read_list({name: value[name] for name in names}, ids, None, pack, letter)
        elif isinstance(value, Mapping):
            yield from _read_list(value, ids, str(key), pack)
        yield from _read_listed_ids(str(key), value, ids, pack)
        objects = value if isinstance(value, (list, tuple)) else [_read_json(value)]
        for item in objects[:MOST_ITEMS]:
            if isinstance(item, Mapping) and key not in _REPLY_LISTS and depth < DEEPEST:
                if item is not value:
                    yield from _read_list(item, ids, str(key), pack)
                    yield from _read_patch(item, ids, str(key), pack)
                yield from find_other_verdicts(item, ids, pack, depth + 1)


def _read_json(value: Any) -> Any:
    """Decode a text that is a JSON object; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip().startswith("{") and len(value) < LONGEST_TEXT:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _read_patch(
    item: Mapping[str, Any], ids: Collection[str], place: str, pack: Pack
) -> Iterator[OtherVerdict]:
    """Read a verdict from an operation of a JSON patch, whose path names the id."""
    path = item.get("path")
    ids_in_path = ID.findall(path) if isinstance(path, str) else []
    verdict = read_value(item.get("value"), pack)
    if len(ids_in_path) == 1 and ids_in_path[0] in ids and verdict is not None:
        yield OtherVerdict(ids_in_path[0], verdict, place)


def find_denied_ids(text: str, ids: Collection[str] = ()) -> Sequence[str]:
    """Find the ids that a text calls unsupported or useless.

    Args:
        text: The text.
        ids: All ids. If a text says that only some ids are supported, the other ids are denied.

    >>> find_denied_ids("Note: s4 and s5 are not supported.")
    ['s4', 's5']
    """
    denied_ids: list[str] = []
    # Sentences have ids such as s1, contexts such as c1.
    units = [id_ for id_ in ids if id_.startswith("s")]
    text = _with_ids(text, units)
    for match in _ALL_BUT_IDS.finditer(text):
        denied_ids += _list_other_ids(ids, ID.findall(match["ids"]))
    text = _ALL_BUT_IDS.sub(" ", text)
    for pattern in (*_DENIED_IDS, *_DOUBTED_IDS):
        for match in pattern.finditer(text):
            ids_of_match = ID.findall(match["ids"])
            # "s3 by c5; s4 is not supported" is about s4 alone.
            denied_ids += [id_ for id_ in ids_of_match if id_[0] == ids_of_match[-1][0]]
    for match in _ONLY_IDS.finditer(text):
        supported_ids = ID.findall(match["ids"] or match["sure_ids"] or match["first_ids"])
        denied_ids += _list_other_ids(ids, supported_ids)
    for clause in re.split(r"[.;\n]", text):
        ids_of_clause = ID.findall(clause)
        # The first letter of an id is its kind: s for a unit, c for a context.
        is_of_one_kind = len({id_[0] for id_ in ids_of_clause}) == 1
        statement = _ALL_IDS.sub(" ", clause).lstrip(" \t,;&:-*")
        statement = statement.partition(": ")[2] or statement  # "Hinweis: s4 ist nicht belegt"
        if is_of_one_kind and (_DENYING_ROW.match(clause) or denies_in_other_language(statement)):
            denied_ids += ids_of_clause
    return list(dict.fromkeys(denied_ids))


def find_remarks(
    data: Mapping[str, Any], units: Sequence[str], positive_units: AbstractSet[str], pack: Pack
) -> Iterator[OtherVerdict]:
    """Find remarks beside the lists of a reply that set some of the supported units apart, in any language.

    A remark is a list of ids under a name, a value under an id, or a clause of a text that names ids. It sets units apart if it
    names some of the supported units and no other unit, and does not speak for a yes.

    Args:
        data: The reply.
        units: The ids of all units that the model was asked about.
        positive_units: The ids of the supported ones.
        pack: The prompt's language.

    >>> from ctxmetrics.prompts import get_pack
    >>> reply = {"disputed": ["s2"], "log": "s1 is stated. I would not rely on s2."}
    >>> [tuple(one) for one in find_remarks(reply, ["s1", "s2"], {"s1", "s2"}, get_pack("en"))]
    [('s2', False, 'disputed'), ('s2', False, 'log: i would not rely on')]
    """
    ids_by_remark: dict[tuple[str, Any], set[str]] = {}
    for key, value in islice(data.items(), MOST_KEYS):
        if key != "code" and key not in _REPLY_LISTS and not ID.fullmatch(str(key)):
            for ids, remark in _list_remarks(value, units):
                ids_by_remark.setdefault((str(key), remark), set()).update(ids)
    for (key, remark), ids in ids_by_remark.items():
        sets_apart = ids < positive_units
        if sets_apart and not speaks_for_yes(key, remark, pack):
            place = key if remark is True else f"{key}: {remark}"[:LONGEST_SHOWN]
            for id_ in sorted(ids):
                yield OtherVerdict(id_, False, place)


def _list_remarks(value: Any, units: Sequence[str]) -> Iterator[tuple[Collection[str], Any]]:
    """List what a value beside the lists of a reply says about units: the ids, and the remark.

    The remark of a list of ids is True.
    """
    if isinstance(value, str):
        yield from _list_clauses(value, units)
    elif isinstance(value, Mapping):
        for name, content in islice(value.items(), MOST_KEYS):
            id_ = read_id(name, "s")
            if id_ in units and isinstance(content, (str, bool)) and content != "":
                yield [id_], content
    elif isinstance(value, (list, tuple)):
        for item in value[:MOST_ITEMS]:
            if isinstance(item, Mapping):
                yield from _list_texts_of_id(item, units)
            elif isinstance(item, str) and item in units:
                yield [item], True
            elif isinstance(item, str):
                yield from _list_clauses(item, units)


def _list_clauses(text: str, units: Sequence[str]) -> Iterator[tuple[Collection[str], str]]:
    """List the clauses of a text that name units and no context: the ids of the units, and the other words of the clause."""
    for clause in re.split(r"[.;\n]", _with_ids(text, units)):
        ids = ID.findall(clause)
        words = " ".join(_ALL_IDS.sub(" ", clause).split()).strip(_AROUND_REMARK)
        if ids and words and all(id_ in units for id_ in ids):
            yield ids, words


def _list_texts_of_id(
    item: Mapping[str, Any], units: Sequence[str]
) -> Iterator[tuple[Collection[str], str]]:
    """List the texts of an object that names the id of a unit: ``{"sentence": 4, "problem": "not stated"}``."""
    id_ = next((read_id(item[key], "s") for key in _KEYS_OF_IDS if key in item), "")
    texts = [text for key, text in item.items() if key not in _KEYS_OF_IDS and isinstance(text, str)]
    if id_ in units and texts:
        yield [id_], ", ".join(texts)


def _with_ids(text: str, units: Sequence[str]) -> str:
    """Return a text in small letters that names sentences by their ids, instead of by their places or in a range."""
    text = _MARKDOWN.sub("", text[:LONGEST_TEXT].casefold())
    text = _BY_PLACE.sub(partial(_write_places, units), text)
    return _RANGE.sub(_write_range, _NUMBERED.sub(_write_ids, text))


def _list_other_ids(ids: Collection[str], named_ids: Sequence[str]) -> list[str]:
    """List the ids of the same kind (s for a unit, c for a context) that a list of ids does not name."""
    return [id_ for id_ in ids if id_ not in named_ids and id_[0] == named_ids[0][0]]


def _write_ids(match: re.Match[str]) -> str:
    """Write "sentences 4, 5 and 6" with ids."""
    return re.sub(r"\d+", lambda number: match["kind"][0] + number[0], match["numbers"])


def _write_places(units: Sequence[str], match: re.Match[str]) -> str:
    """Write the ids of sentences that a text names by their place. A place that is not known stays as it is."""
    if match["end"]:
        word = match["count"]
        count = WORDS["counts"].get(word, word)
    elif match["after"]:
        count = match["after"]
    else:
        count = WORDS["ordinals"].get(match["ordinal"], "")
    if not str(count).isdecimal() or not 0 < int(count) < len(units):
        return match[0]
    number = int(count)
    if match["end"] == "first":
        return ", ".join(units[:number])
    return ", ".join(units[-number:] if match["end"] else units[number:])


def _write_range(match: re.Match[str]) -> str:
    """Write all ids of a range, "s4-s7"."""
    first = int(match["first"])
    last = int(match["last"])
    if not first < last < first + MOST_ITEMS:
        return match[0]
    return ", ".join(f"{match['letter']}{number}" for number in range(first, last + 1))


def count_supported(
    data: Mapping[str, Any], total: int, pack: Pack, depth: int = 0
) -> Iterator[tuple[str, int]]:
    """Read how many units are supported according to keys beside the lists of a reply.

    Args:
        data: The reply, or an object within it.
        total: The number of units that the reply is about.
        pack: The prompt's language.
        depth: How deep in the reply the object stands.

    Yields:
        Each such key, and the number of supported units that it gives.

    >>> from ctxmetrics.prompts import get_pack
    >>> [*count_supported({"supported_count": 3, "score": "3/7"}, 7, get_pack("en"))]
    [('supported_count', 3), ('score', 3)]
    """
    has_total = any(data.get(key) == total for key in ("total", "max", "out_of", "maximum"))
    for key, value in islice(data.items(), MOST_KEYS):
        name = NO_LETTER.sub("", str(key).casefold())
        if isinstance(value, str):
            yield from ((str(key), count) for count in _count_in_text(name, value, total))
        if isinstance(value, Mapping) and key not in _REPLY_LISTS and depth < DEEPEST:
            yield from ((str(key), count) for count in _count_by_label(value, total, pack))
            yield from count_supported(value, total, pack, depth + 1)
        counts_unsupported = name in get_words("unsupported_shares")
        is_share = counts_unsupported or name in get_words("shares")
        share = _read_share(value) if is_share else None
        counts_supported = name in get_words("supported_counts")
        is_grade_of_total = has_total and name in get_words("grades")
        value_as_count = value if isinstance(value, int) and not isinstance(value, bool) else None
        if value_as_count is not None and name in get_words("unsupported_counts"):
            yield str(key), total - value_as_count
        elif value_as_count is not None and (counts_supported or is_grade_of_total):
            yield str(key), value_as_count
        elif share is not None:
            count = round(share * total)
            if abs(share * total - count) <= _ROUNDING_TOLERANCE * total:
                yield str(key), total - count if counts_unsupported else count


def _count_by_label(counts: Mapping[str, Any], total: int, pack: Pack) -> Iterator[int]:
    """Read the number of supported units from an object of counts: ``{"supported": 3, "unsupported": 4}``."""
    supported_count = 0
    labels = set()
    for name, count in counts.items():
        label = read_value(str(name), pack)
        if label is None or not isinstance(count, int) or isinstance(count, bool):
            continue
        labels.add(label)
        supported_count += count if label else 0
        total -= count
    if len(labels) == len((True, False)) and total == 0:
        yield supported_count


def _count_in_text(name: str, text: str, total: int) -> Iterator[int]:
    """Read the number of supported units from a grade ("3/7") or a text ("only three sentences are supported")."""
    fraction = FRACTION.fullmatch(text.strip())
    is_grade = name in get_words("grades") or name in get_words("shares")
    if is_grade and fraction is not None and fraction[2] == str(total):
        count_in_fraction = float(fraction[1])
        if count_in_fraction <= total:
            yield round(count_in_fraction)
    for match in _PERCENT_IN_TEXT.finditer(text[:LONGEST_TEXT].casefold()):
        share = float(match["percent"]) / 100
        if abs(share * total - round(share * total)) <= _ROUNDING_TOLERANCE * total:
            yield round(share * total)
    for match in _COUNT_IN_TEXT.finditer(text[:LONGEST_TEXT].casefold()):
        if match["units"] not in (None, str(total)):
            continue
        word = match["count"] or match["failed"] or match["number"] or match["named"] or match["share"]
        count = str(WORDS["counts"].get(word, word))
        if count.isdecimal():
            yield total - int(count) if match["failed"] else int(count)


def _read_share(value: Any) -> float | None:
    """Read a share: .43, or 43 %."""
    share = value
    if isinstance(value, str):
        percent = PERCENT.fullmatch(value.strip())
        share = None if percent is None else float(percent[1]) / 100
    return share if is_number(share) and 0 <= share <= 1 else None


def find_verdict_on_all(data: Mapping[str, Any], verdict: bool, pack: Pack) -> str | None:
    """Return a key beside the lists that contradicts the equal verdicts about all units, with its value; None if there is none.

    Args:
        data: The reply.
        verdict: The verdict that the reply gives about every unit.
        pack: The prompt's language.

    >>> from ctxmetrics.prompts import get_pack
    >>> find_verdict_on_all({"all_supported": False}, True, get_pack("en"))
    'all_supported: False'
    """
    for key, value in data.items():
        name = NO_LETTER.sub("", str(key).casefold())
        opinion = None
        if name in get_words("about_all"):
            opinion = read_value(value, pack)
        elif name in get_words("about_none"):
            says_none = read_value(value, pack)
            opinion = None if says_none is None else not says_none
        if opinion is not None and opinion is not verdict:
            return f"{key}: {value}"[:LONGEST_SHOWN]
    return None


def _read_listed_ids(key: str, value: Any, ids: Collection[str], pack: Pack) -> Iterator[OtherVerdict]:
    """Read verdicts about ids that stand in a list, in a text, or in an object of reasons."""
    name = NO_LETTER.sub("", key.casefold())
    for ending in _LIST_ENDINGS:
        name = name.removesuffix(ending)
    items = _list_items(value)
    if name.removesuffix("s") in get_words("verdicts") or "verdict" in split_name(key):
        yield from _read_in_order(key, items, ids, pack)
    for id_ in _list_denied_ids(name, key, value, items, ids):
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
    name: str, key: str, value: Any, items: Sequence[Any], ids: Collection[str]
) -> Sequence[str]:
    """List the ids that a value denies: ids in a list of unsupported ids, and ids that a list of supported ids leaves out.

    Args:
        name: The name of the list: the key in small letters, without an ending such as "sentences".
        key: The key, as the reply spells it.
        value: The value under this key.
        items: The items of the value (`_list_items`).
        ids: The ids that the model was asked about.

    Returns:
        The ids; empty if the value denies none.
    """
    named_ids = [item for item in items if isinstance(item, str) and item in ids]
    if name in get_words("denials"):
        return _list_ids_of_denials(value, items, ids)
    if name in get_words("faults"):
        # Numbers in such a list may count anything.
        ids_with_faults = _list_ids_of_denials(
            value, [item for item in items if isinstance(item, str)], ids
        )
        if ids_with_faults:
            return ids_with_faults
    lists_sources = not get_words("source_words").isdisjoint(split_name(key))
    if isinstance(value, Mapping) and lists_sources:  # an id may have no source
        return [id_ for id_ in named_ids if is_nothing(value[id_])]
    if isinstance(value, Mapping):
        return []
    spelled_ids = [_find_id(item, ids, "") for item in items if isinstance(item, str)]
    has_ids_alone = len(spelled_ids) == len(items) and None not in spelled_ids
    if items and has_ids_alone and name in get_words("yes"):
        return _list_other_ids(ids, [id_ for id_ in spelled_ids if id_ is not None])
    # Other texts may say which ids are denied: "s4 is not supported".
    statements = [item for item in items if isinstance(item, str) and item not in ids]
    if isinstance(value, str) and not named_ids:
        statements = [value]
    return find_denied_ids("\n".join(statements), ids) if statements else []


# An id with a reason behind it: "s4: the year is wrong", "S4 (year)", "Sentence 4 - the year".
_ID_WITH_REASON = re.compile(
    r"\s*(?P<id>[^:()–—\n]{1,30}?)\s*(?:[:(–—]|\s-\s)(?P<reason>.+)", re.DOTALL
)


def _list_ids_of_denials(value: Any, items: Sequence[Any], ids: Collection[str]) -> Sequence[str]:
    """List the ids in a list of unsupported ids, in any spelling.

    Args:
        value: A list of ids or numbers (``[4, 5]``), a text, or an object with a reason under each id: ``{"s2": "year"}``.
        items: The items of the value (`_list_items`).
        ids: The ids that the model was asked about.

    Returns:
        The ids; an id whose reason says nothing, such as "none" or false, is left out.
    """
    numbers = [item for item in items if isinstance(item, int) and not isinstance(item, bool)]
    if items and len(numbers) == len(items):
        return [f"s{number}" for number in numbers]
    reasons: dict[str, Any] = {}  # by the spelling of the id
    if isinstance(value, Mapping):
        reasons = {str(spelling): reason for spelling, reason in value.items()}
    else:
        texts = [value] if isinstance(value, str) and not items else items
        for text in texts:
            if not isinstance(text, str):
                continue
            match = _ID_WITH_REASON.fullmatch(text)
            if match is not None and _find_id(match["id"], ids, "") is not None:
                reasons[match["id"]] = match["reason"]
            else:
                reasons[text] = True
    denied_ids = []
    for spelling, reason in reasons.items():
        id_ = _find_id(spelling, ids, "")
        if id_ is not None and says_something(reason):
            denied_ids.append(id_)
    return denied_ids


def _list_items(value: Any) -> Sequence[Any]:
    """List the items of a list, the keys of an object, or the ids of a text that holds only ids; empty for other values."""
    if isinstance(value, str):
        ids = ID.findall(value.casefold())
        rest = _BETWEEN_IDS.sub("", ID.sub("", value.casefold()))
        return [] if rest else ids
    return [*value] if isinstance(value, (list, tuple, Mapping)) else []


def _read_in_order(
    key: str, values: Sequence[Any], ids: Collection[str], pack: Pack
) -> Iterator[OtherVerdict]:
    """Read a list with one verdict for each unit, in the order of the units."""
    # Sentences have ids such as s1, contexts such as c1.
    units = [id_ for id_ in ids if id_.startswith("s")]
    has_numbers_only = all(value in (0, 1) for value in values)
    verdicts = [bool(value) if has_numbers_only else read_value(value, pack) for value in values]
    if len(units) == len(verdicts):
        for id_, verdict in zip(units, verdicts, strict=True):
            if verdict is not None:
                yield OtherVerdict(id_, verdict, key)


def _read_list(
    cells: Mapping[str, Any], ids: Collection[str], place: str | None, pack: Pack, letter: str = ""
) -> Iterator[OtherVerdict]:
    """Read the verdicts of a list about ids, in any spelling of the ids.

    Args:
        cells: The list.
        ids: The ids that the model was asked about.
        place: The place of the list; None if the place of a verdict is the spelling of its id.
        pack: The prompt's language.
        letter: The letter of the ids in this list, if they may be written as numbers.
    """
    plain_place = NO_LETTER.sub("", (place or "").casefold())
    if plain_place in get_words("denials") or plain_place in get_words("faults"):
        return  # `_list_denied_ids` reads it
    for name, content in cells.items():
        id_ = _find_id(str(name), ids, letter)
        if id_ is None:
            continue
        is_number = isinstance(content, (int, float)) and not isinstance(content, bool)
        if is_number and place is not None and read_opinion(place, content, pack) is False:
            yield OtherVerdict(id_, False, place)
        cell = content if isinstance(content, Mapping) else {"verdict": content}
        for opinion in list_opinions(cell, KEYS_OF_ENTRY, pack, ""):
            is_number = isinstance(opinion.value, (int, float)) and not isinstance(opinion.value, bool)
            is_remark = opinion.verdict and is_aside(
                opinion, "supported"
            )  # it does not answer the question
            if not is_number and not is_remark:
                yield OtherVerdict(id_, opinion.verdict, str(name) if place is None else place)


def _find_id(name: str, ids: Collection[str], letter: str) -> str | None:
    """Return the id that a name means, or None. A number alone means an id only if the letter of its list is given."""
    name = re.sub(r"\s*\(.*\)\s*$", "", name) or name
    letters = [letter] if letter else ["s", "c"]
    for possible_letter in letters:
        id_ = read_id(name, possible_letter)
        has_letter = name.strip()[:1].casefold() not in "0123456789"
        if id_ in ids and (letter or has_letter):
            return id_
    return None
