"""Refuses texts with a framework's placeholder for a picture."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import NotTextError
from ctxmetrics.samples.documents import text_of
from ctxmetrics.samples.pictures import describe_media


def check_texts(values: Mapping[str, Any], picture: re.Pattern[str]) -> None:
    """Refuse texts that hold a framework's placeholder for a picture.

    Args:
        values: Texts, or lists of texts or documents, by their names in the framework.
        picture: The pattern of the placeholder.

    Raises:
        NotTextError: A text holds the placeholder.
    """
    for name, value in values.items():
        is_list = isinstance(value, list)
        documents = value if is_list else [value]
        for number, document in enumerate(documents, 1):
            text = text_of(document)
            match = picture.search(text) if isinstance(text, str) else None
            if match is not None:
                place = f"field '{name}'"
                if is_list:
                    place += f", item {number}"
                raise NotTextError(f"{place} {describe_media(match.group())}")
