"""Finds pictures, sound, video and files in a sample, in the forms in which frameworks hold them.

Judges and string measures read text. So such content is found before anything is judged: a placeholder, an address or an encoded
picture must not be scored as a text. Texts that are only a name, an address or a number are found here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.text.character_spans import has_content

# DeepEval writes this into a text in the place of an ``MLLMImage``. Its id has 32 digits; with a shorter id, it may be ordinary text.
_DEEPEVAL_PLACEHOLDER = compile_on_use(r"\[DEEPEVAL:(?:IMAGE|PDF):[0-9a-f]{32}\]")
# A text that is only a data URI, or MLflow's address of an attachment.
_DATA_OR_ATTACHMENT = compile_on_use(
    r"\s*(?:data:(?:image|audio|video|application)/[^\s,]*,|mlflow-attachment://)\S*\s*"
)
_WORDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["pictures"]
# A text that is only the path or URL of a picture, document, sound or film, or a placeholder or link of a picture.
_ADDRESS = compile_on_use(
    r"""
    \s*
    (?:
        [^\s\x00-\x1f]+                          # a path or URL that ends in one of these
        \.(?:
            jpe?g|png|gif|webp|bmp|tiff?|svg|heic
          | pdf|docx?|pptx?|xlsx?
          | mp[34]|wav|ogg|flac|m4a|mov|avi|mkv|webm
        )
        (?:[?\#]\S*)?
      | (?:s3|gs|file)://\S+                     # an object of a store
      | <(?:image|img|audio|video)\b[^<>]*>      # <image>
      | !\[[^\]]*\]\([^()]*\)                    # a link of Markdown
    )
    \s*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MAX_ADDRESS_CHARACTERS = 4096
# Values of ``type`` (chat messages, LangChain's blocks) or ``kind`` (pydantic-ai) that say that content is not a text.
_KINDS = _WORDS["kinds"]
# Keys under which such content gives its media type.
_MEDIA_TYPE_KEYS = _WORDS["media_types"]
# Media types of texts: text/plain, application/json, application/ld+json; and "text" alone.
_TEXT_TYPE = compile_on_use(
    r"\s*(?:text(?:/|\s*$)|application/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|x-ndjson|jsonl|markdown)\s*(?:;|$))",
    re.IGNORECASE,
)
# Keys under which such content may have a text.
_TEXT_KEYS = _WORDS["texts"]
# All keys with which a mapping may say that it is not a text.
_KEYS_OF_MEDIA = frozenset({"kind", "type", *_MEDIA_TYPE_KEYS})
# The maximum number of characters of a placeholder in a message.
_MAX_CHARACTERS_SHOWN = 60
# The words of placeholders that stand where a text or a picture was.
_PLACEHOLDER_WORDS = read_data("samples", "placeholders.json")
_PLACEHOLDERS = "|".join(_PLACEHOLDER_WORDS["words"])
_NULLS = "|".join(map(re.escape, _PLACEHOLDER_WORDS["nulls"]))
_ABSENT = frozenset(_PLACEHOLDER_WORDS["absent"])
# An address or an id that stands in the place of a text.
_ADDRESS_OR_ID = compile_on_use(
    r"""
    ["'(<\[{]{0,2}                                # <https://..>, {0f8f..}
    (?:
        (?:[a-z][a-z0-9+.-]*://|www\.)\S+         # an address
      | (?:mailto|tel|doi|urn|arn):\S+            # doi:10.1000/182
      | (?:~|\.{1,2})?/(?:[\w.@-]+/)+[\w.@-]+     # an absolute path
      | (?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}
      | (?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{32,128}  # a digest: letters and digits
    )
    ["')>\]}]{0,2}
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A placeholder in brackets: [IMAGE 1].
_PLACEHOLDER_IN_BRACKETS = compile_on_use(
    rf"""
    [\[<({{【（]{{1,2}} [\s_*\#!|-]*
    (?:{_PLACEHOLDERS}) (?![^\W\d_])               # a whole word
    (?P<rest>[^\[\]<>(){{}}【】（）]{{0,80}})         # a number, a file's name
    [\]>)}}】）]{{1,2}}
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A text that stands for a missing text (null), or is only a word for a picture, perhaps with a number: Image, Figure 3.
_NULL_OR_PICTURE_WORD = compile_on_use(
    rf"""
    ["'(<\[\#]?
    (?: (?:{_NULLS}) (?:[\s,]+(?:{_NULLS}))*
      | (?:{_PLACEHOLDERS}) (?:\W{{0,3}}\d{{1,4}})?
    )
    ["')>\].]?
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A word without digits, with the marks behind it.
_WORD_WITHOUT_DIGITS = compile_on_use(r"[^\W\d_]+[^\w.]*")
_OPENING_BRACKETS = ("[", "<", "(", "{", "【", "（")
# The marks between addresses or ids in a list.
_SEPARATORS = compile_on_use(r"[\s,;]+")
_PASSAGE_WORDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["passages"]
_NAMES_OF_PASSAGES = "|".join((*_PASSAGE_WORDS["names"], *_PASSAGE_WORDS["places"]))
# The endings of the names of documents and data.
_FILE_ENDINGS = "pdf|docx?|pptx?|xlsx?|odt|rtf|md|rst|txt|html?|xml|jsonl?|csv|tsv|epub"
# A text that is only an address, a file, a place, a number or an id.
_ADDRESS_OR_NAME: re.Pattern[str] = compile_on_use(
    rf"""
    (?:[a-z][a-z0-9+.-]*:)?//\S+                          # an address
    | (?:[\w.-]*/)+[\w.-]+                                # a path
    | [^\s/]+\.[a-z][a-z0-9]{{1,4}}(?:[\#:?]\S*)?         # a file, perhaps with a place in it
    | [§\#+-]?\s?\d[\d.:/_-]*                             # a number, a date, a section: § 12
    | @\w+                                                # @author
    | [a-z]+(?:_[a-z]+)+                                  # opening_hours
    | [a-z]+(?:-[a-z]+){{2,}}                             # how-to-pay
    | [a-z][\w.-]*:[^\s:]+                                # doc:intro
    | !?\[[^\]]*\]\(\S+\)                                 # a link of Markdown
    | (?=[^a-z]*[a-z])(?=\D*\d)                           # one word with a letter and a digit
      [\w:\#=+?&@-]+(?:\.\w[\w:\#=+?&@/-]*)*
    | §\s?\d+\s\w+\.?\s\d+                                # § 12 Abs. 3
    | (?:[^\n.?!]|\.(?!\s)){{1,150}}\.(?:{_FILE_ENDINGS}) # a file whose name has blanks
    | (?:{_NAMES_OF_PASSAGES})\W{{0,3}}\d+       # page 7, Chunk #3
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The beginning of a text that is compared with the patterns of names, in characters. Only an address may be longer.
LONGEST_NAME = 500
# A longer name has no blanks, unless it begins with one of these signs.
_LONGEST_NAME_WITH_BLANKS = 160
_SIGNS_BEFORE_BLANKS = ("[", "![", "§", "#")


def find_picture(text: str, *, is_list_item: bool = False) -> str | None:
    """Return the placeholder, address or beginning of an encoded picture that a text holds; None if it has none.

    Args:
        text: The text.
        is_list_item: Whether the text is an item of a list, such as a context, which may also be only the path or URL of a picture.
    """
    # Only DeepEval's placeholder stands among words, so most texts need no other check. One character is found faster than several.
    has_deepeval_mark = "[" in text and "[DEEPEVAL:" in text
    if " " in text.strip() and not has_deepeval_mark:
        # ![a chart](chart.png), <img src="chart.png">
        may_be_markup = is_list_item and text.lstrip()[:1] in ("!", "<")
        if not may_be_markup:
            return None
    if is_list_item and len(text) <= _MAX_ADDRESS_CHARACTERS:
        address = _ADDRESS.fullmatch(text)
        if address:
            return address.group().strip()[-_MAX_CHARACTERS_SHOWN:]
    match = (
        _DEEPEVAL_PLACEHOLDER.search(text) if has_deepeval_mark else _DATA_OR_ATTACHMENT.fullmatch(text)
    )
    return None if match is None else match.group().strip()[:_MAX_CHARACTERS_SHOWN]


def find_placeholder(text: str) -> str | None:
    """Return the beginning of a text that is only addresses, ids (UUIDs, digests) or a placeholder, such as ``[IMAGE 1]``.

    None for any other text, such as an address among words.
    """
    stripped = text.strip()
    if len(stripped) > _MAX_ADDRESS_CHARACTERS:
        return None
    placeholder = None
    if stripped.startswith(_OPENING_BRACKETS):
        placeholder = _PLACEHOLDER_IN_BRACKETS.fullmatch(stripped)
    if placeholder is not None:
        # Words behind it may describe the picture: then they are a text.
        has_description = any(_describes(word) for word in placeholder["rest"].split())
        if not has_description:
            return stripped[:_MAX_CHARACTERS_SHOWN]
    first_word = stripped.split(None, 1)[0] if stripped else ""
    if not _ADDRESS_OR_ID.match(first_word):  # the usual case
        return None
    pieces = [piece for piece in _SEPARATORS.split(stripped) if piece]
    are_addresses = all(_ADDRESS_OR_ID.fullmatch(piece) for piece in pieces)
    return stripped[:_MAX_CHARACTERS_SHOWN] if are_addresses else None


def _describes(word: str) -> bool:
    """Whether a word in a placeholder describes the missing picture or text."""
    return _WORD_WITHOUT_DIGITS.fullmatch(word) is not None and word.casefold() not in _ABSENT


def is_no_text(text: str) -> bool:
    """Whether a text is only an address, a file, a place, a number or an id, or stands for a missing text, such as "null"."""
    if not has_content(text):
        return True
    beginning = text.strip()[:LONGEST_NAME]
    if _is_longer_than_names(beginning):
        return False
    return is_address_or_name(beginning) or _NULL_OR_PICTURE_WORD.fullmatch(beginning) is not None


def is_address_or_name(text: str) -> bool:
    """Whether a text is only an address, a file, a place, a number or an id."""
    return not _is_longer_than_names(text) and _ADDRESS_OR_NAME.fullmatch(text) is not None


def _is_longer_than_names(text: str) -> bool:
    """Tell whether a text is too long for a name. Most texts are, and this check takes a twentieth of the time of the patterns."""
    has_blanks = len(text) > _LONGEST_NAME_WITH_BLANKS and " " in text
    return has_blanks and not text.startswith(_SIGNS_BEFORE_BLANKS)


def find_media(value: object) -> str | None:
    """Describe the picture, sound or file that an object, a mapping or a list of a framework holds; None if it holds none.

    The content of messages and lists is checked, too. A picture with a text of its own, such as a caption, counts as that text.
    """
    if isinstance(value, str):
        return find_picture(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(value, (list, tuple)):
        return _find_media_in_items(value)
    content = _read_key(value, "content")
    if isinstance(content, (list, tuple, bytes)):
        picture = find_media(content)
        if picture:
            return picture
    is_unmarked = type(value) is dict and _KEYS_OF_MEDIA.isdisjoint(value)  # the usual case
    if is_unmarked or _has_text(value):
        return None
    return _read_media_type(value)


def _has_text(value: object) -> bool:
    """Whether an object has a text beside a picture."""
    texts = (_read_key(value, key) for key in _TEXT_KEYS)
    return any(isinstance(text, str) and text.strip() for text in texts)


def _read_media_type(value: object) -> str | None:
    """Return the kind of media that an object states, such as "image", or else its type, such as "image/png".

    Return None for a text, and for an object that states neither.
    """
    for key in ("kind", "type"):
        kind = _read_key(value, key)
        if kind in _KINDS:
            return str(kind)
    for key in _MEDIA_TYPE_KEYS:
        media_type = _read_key(value, key)
        if isinstance(media_type, str) and media_type.strip():
            return None if _TEXT_TYPE.match(media_type) else media_type
    return None


def _find_media_in_items(items: Iterable[object]) -> str | None:
    """Find the first picture in a list."""
    for item in items:
        picture = find_media(item)
        if picture:
            return picture
    return None


def describe_media(picture: str) -> str:
    """Describe content that is not a text, and how to correct it: the rest of a sentence that begins with the name of a field.

    Args:
        picture: The result of `find_picture` or `find_media`.
    """
    return (
        f"holds a picture or other content that is no text ({safe_text(picture)}), and only text is judged. Write "
        "down in words what it shows, or leave the sample out; metrics by id need no text."
    )


def _read_key(holder: object, key: str) -> Any:
    """Return the value of an object or a mapping under a key, if the value is a text, bytes or a list; else None."""
    try:
        value = holder.get(key) if isinstance(holder, (dict, Mapping)) else getattr(holder, key, None)
    except Exception:  # noqa: BLE001 - a property of a foreign object may raise anything
        return None
    return value if isinstance(value, (str, bytes, list, tuple)) else None
