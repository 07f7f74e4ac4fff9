"""Finds pictures, and sound, video and files, in the forms in which frameworks hold them.

The judges and the string measures read text. Such content is found before anything is judged, so that
no placeholder, address or encoded picture is scored as if it were text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics._secrets import safe_text

# What DeepEval puts into a text for an ``MLLMImage``. With any other id it may be text that only looks so.
_MADE_BY_DEEPEVAL = re.compile(r"\[DEEPEVAL:(?:IMAGE|PDF):[0-9a-f]{32}\]")
# A data URI, or MLflow's address of an attachment.
_WHOLE_TEXT = re.compile(
    r"\s*(?:data:(?:image|audio|video|application)/[^\s,]*,|mlflow-attachment://)\S*\s*"
)
# A lone path or URL of a picture, as Ragas' multimodal metrics load it, or of a document, sound or film; an object of a
# store; a placeholder or a link of a picture.
_ADDRESS = re.compile(
    r"\s*(?:[^\s\x00-\x1f]+\.(?:jpe?g|png|gif|webp|bmp|tiff?|svg|heic|pdf|docx?|pptx?|xlsx?|mp[34]|wav|ogg|flac|m4a|mov|avi"
    r"|mkv|webm)(?:[?#]\S*)?|(?:s3|gs|file)://\S+|<(?:image|img|audio|video)\b[^<>]*>|!\[[^\]]*\]\([^()]*\))\s*",
    re.IGNORECASE,
)
_LONGEST_ADDRESS = 4096
# The ``type`` (chat messages, LangChain's blocks) or ``kind`` (pydantic-ai) of content that is no text.
_KINDS = frozenset(
    [
        "image",
        "image_url",
        "image-url",
        "image_file",
        "input_image",
        "audio",
        "audio_url",
        "audio-url",
        "input_audio",
        "video",
        "video_url",
        "video-url",
        "document-url",
        "file",
        "input_file",
        "media",
        "binary",
        "uploaded-file",
    ]
)
_MEDIA_TYPES = ("media_type", "mime_type", "mimeType", "content_type")
_TEXTS = ("page_content", "text", "content")
_LONGEST_SHOWN = 60


def in_text(text: str, *, alone: bool = False) -> str | None:
    """Return the placeholder, address or beginning of an encoded picture that a text holds; None where it has none.

    Args:
        text: The text.
        alone: Whether the text is a context, which may also be only the path or URL of a picture.
    """
    # No other form has a space in it: most texts end here. One character is found faster than several.
    if (
        " " in text.strip()
        and not (alone and text.lstrip()[:1] in ("!", "<"))
        and ("[" not in text or "[DEEPEVAL:" not in text)
    ):
        return None
    if alone and len(text) <= _LONGEST_ADDRESS and (address := _ADDRESS.fullmatch(text)):
        return address.group().strip()[-_LONGEST_SHOWN:]
    found = _MADE_BY_DEEPEVAL.search(text) if "[DEEPEVAL:" in text else _WHOLE_TEXT.fullmatch(text)
    return found and found.group().strip()[:_LONGEST_SHOWN]


def in_value(value: object) -> str | None:
    """Return what a framework's object, mapping or list holds that is no text; None where it holds none.

    Messages and lists are looked into. A picture that comes with a text of its own, such as a caption, is that text.
    """
    if isinstance(value, str):
        return in_text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(value, (list, tuple)):
        return next((found for item in value if (found := in_value(item))), None)
    content = _get(value, "content")
    if isinstance(content, (list, tuple, bytes)) and (found := in_value(content)):
        return found
    if any(isinstance(text := _get(value, key), str) and text.strip() for key in _TEXTS):
        return None
    kind = next((kind for key in ("kind", "type") if (kind := _get(value, key)) in _KINDS), None)
    media = next((media for key in _MEDIA_TYPES if isinstance(media := _get(value, key), str)), "text/")
    return kind or (None if media.startswith("text/") else media)


def refusal(where: str, found: str) -> str:
    """Return the message about a place in which something that is no text was found."""
    return (
        f"{where} holds a picture or other content that is no text ({safe_text(found)}), and only text is judged. Write "
        "down in words what it shows, or leave the sample out; metrics by id need no text."
    )


def _get(holder: object, key: str) -> Any:
    """Return what an object or mapping holds under a key, where that is a text, bytes or a list."""
    try:
        value = holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)
    except Exception:  # noqa: BLE001 - a property of a foreign object may raise anything
        return None
    return value if isinstance(value, (str, bytes, list, tuple)) else None
