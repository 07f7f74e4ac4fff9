"""Finds pictures, and sound, video and files, in the forms in which frameworks hold them.

The judges and the string measures read text. Such content is found before anything is judged, so that
no placeholder, address or encoded picture is scored as if it were text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ctxmetrics._internal.data_files import read_words
from ctxmetrics._internal.secrets import safe_text

# What DeepEval puts into a text for an ``MLLMImage``. With any other id it may be text that only looks so.
_MADE_BY_DEEPEVAL = re.compile(r"\[DEEPEVAL:(?:IMAGE|PDF):[0-9a-f]{32}\]")
# A data URI, or MLflow's address of an attachment.
_WHOLE_TEXT = re.compile(
    r"\s*(?:data:(?:image|audio|video|application)/[^\s,]*,|mlflow-attachment://)\S*\s*"
)
_WORDS = read_words("reading", "keys.json", "pictures")
# A lone path or URL of a picture, as Ragas' multimodal metrics load it, or of a document, sound or film; an object of a
# store; a placeholder or a link of a picture.
_ADDRESS = re.compile(rf"\s*(?:{'|'.join(_WORDS['addresses'])})\s*", re.IGNORECASE)
_LONGEST_ADDRESS = 4096
# The ``type`` (chat messages, LangChain's blocks) or ``kind`` (pydantic-ai) of content that is no text, and where such content
# says what it is, or has a text.
_KINDS, _MEDIA_TYPES, _TEXTS = _WORDS["kinds"], _WORDS["media_types"], _WORDS["texts"]
# The keys with which a mapping may say that it is no text.
_MARKS = frozenset({"kind", "type", *_MEDIA_TYPES})
_LONGEST_SHOWN = 60


def in_text(text: str, *, alone: bool = False) -> str | None:
    """Return the placeholder, address or beginning of an encoded picture that a text holds; None where it has none.

    Args:
        text: The text.
        alone: Whether the text is a context, which may also be only the path or URL of a picture.
    """
    # No other form has a space in it: most texts end here. One character is found faster than several.
    made_by_deepeval = "[" in text and "[DEEPEVAL:" in text
    if " " in text.strip() and not made_by_deepeval:
        may_be_link = alone and text.lstrip()[:1] in ("!", "<")
        if not may_be_link:
            return None
    if alone and len(text) <= _LONGEST_ADDRESS:
        address = _ADDRESS.fullmatch(text)
        if address:
            return address.group().strip()[-_LONGEST_SHOWN:]
    match = _MADE_BY_DEEPEVAL.search(text) if made_by_deepeval else _WHOLE_TEXT.fullmatch(text)
    return match and match.group().strip()[:_LONGEST_SHOWN]


def in_value(value: object) -> str | None:
    """Return what a framework's object, mapping or list holds that is no text; None where it holds none.

    Messages and lists are looked into. A picture that comes with a text of its own, such as a caption, is that text.
    """
    if isinstance(value, str):
        return in_text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(value, (list, tuple)):
        return _in_items(value)
    content = _get(value, "content")
    if isinstance(content, (list, tuple, bytes)):
        picture = in_value(content)
        if picture:
            return picture
    is_unmarked = type(value) is dict and _MARKS.isdisjoint(value)  # as nearly always
    return None if is_unmarked or _has_text(value) else _media_in(value)


def _has_text(value: object) -> bool:
    texts = (_get(value, key) for key in _TEXTS)
    return any(isinstance(text, str) and text.strip() for text in texts)


def _media_in(value: object) -> str | None:
    """Return the kind or the type of media that an object states, where it is no text."""
    for key in ("kind", "type"):
        kind = _get(value, key)
        if kind in _KINDS:
            return str(kind)
    for key in _MEDIA_TYPES:
        media_type = _get(value, key)
        if isinstance(media_type, str):
            return None if media_type.startswith("text/") else media_type
    return None


def _in_items(items: Iterable[object]) -> str | None:
    for item in items:
        picture = in_value(item)
        if picture:
            return picture
    return None


def refusal(picture: str) -> str:
    """Describe content that is no text and how to mend it: a sentence without its subject.

    Args:
        picture: What `in_text` or `in_value` returned.
    """
    return (
        f"holds a picture or other content that is no text ({safe_text(picture)}), and only text is judged. Write "
        "down in words what it shows, or leave the sample out; metrics by id need no text."
    )


def _get(holder: object, key: str) -> Any:
    """Return what an object or mapping holds under a key, where that is a text, bytes or a list."""
    try:
        value = holder.get(key) if isinstance(holder, (dict, Mapping)) else getattr(holder, key, None)
    except Exception:  # noqa: BLE001 - a property of a foreign object may raise anything
        return None
    return value if isinstance(value, (str, bytes, list, tuple)) else None
