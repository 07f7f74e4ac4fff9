"""The ids that a text of a reply denies: "s4 and s5 are not supported", "all but s1 are wrong", "the last two are guesses"."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial

from ctxmetrics.judges.llm.own_keys import ID, MOST_ITEMS
from ctxmetrics.judges.llm.remarks import LONGEST_TEXT, WORDS, denies_in_other_language

_IDS = r"(?P<ids> \b[sc]\d+\b (?: (?:\s*[,;&]\s* | \s+and\s+ | ,\s*and\s+) [sc]\d+\b )* )"
# Marks of bold and italic text: "**Unsupported:** s4".
_MARKDOWN = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|__")
LIST_OF_IDS = re.compile(_IDS, re.VERBOSE)
# Ids that a text denies. A context that is not relevant to s2 may be relevant to s1, and a sentence that one context does not state may
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
    text = name_by_ids(text, units)
    for match in _ALL_BUT_IDS.finditer(text):
        denied_ids += list_other_ids(ids, ID.findall(match["ids"]))
    text = _ALL_BUT_IDS.sub(" ", text)
    for pattern in (*_DENIED_IDS, *_DOUBTED_IDS):
        for match in pattern.finditer(text):
            ids_of_match = ID.findall(match["ids"])
            # "s3 by c5; s4 is not supported" is about s4 alone.
            denied_ids += [id_ for id_ in ids_of_match if id_[0] == ids_of_match[-1][0]]
    for match in _ONLY_IDS.finditer(text):
        supported_ids = ID.findall(match["ids"] or match["sure_ids"] or match["first_ids"])
        denied_ids += list_other_ids(ids, supported_ids)
    for clause in re.split(r"[.;\n]", text):
        ids_of_clause = ID.findall(clause)
        # The first letter of an id is its kind: s for a unit, c for a context.
        is_of_one_kind = len({id_[0] for id_ in ids_of_clause}) == 1
        statement = LIST_OF_IDS.sub(" ", clause).lstrip(" \t,;&:-*")
        statement = statement.partition(": ")[2] or statement  # "Hinweis: s4 ist nicht belegt"
        if is_of_one_kind and (_DENYING_ROW.match(clause) or denies_in_other_language(statement)):
            denied_ids += ids_of_clause
    return list(dict.fromkeys(denied_ids))


def name_by_ids(text: str, units: Sequence[str]) -> str:
    """Return a text in small letters that names sentences by their ids, instead of by their places or in a range."""
    text = _MARKDOWN.sub("", text[:LONGEST_TEXT].casefold())
    text = _BY_PLACE.sub(partial(_write_places, units), text)
    return _RANGE.sub(_write_range, _NUMBERED.sub(_write_ids, text))


def list_other_ids(ids: Collection[str], named_ids: Sequence[str]) -> list[str]:
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
    if match["end"] == "first":  # the first two
        named_units = units[:number]
    elif match["end"]:  # the last two
        named_units = units[-number:]
    else:  # all after the second
        named_units = units[number:]
    return ", ".join(named_units)


def _write_range(match: re.Match[str]) -> str:
    """Write all ids of a range, "s4-s7"."""
    first = int(match["first"])
    last = int(match["last"])
    if not first < last < first + MOST_ITEMS:
        return match[0]
    return ", ".join(f"{match['letter']}{number}" for number in range(first, last + 1))
