"""A framework's placeholder of a picture in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ctxmetrics.errors import NotTextError
from ctxmetrics.samples.documents import text_of
from ctxmetrics.samples.pictures import refusal


def check_texts(values: Mapping[str, Any], picture: re.Pattern[str]) -> None:
    """Refuse texts that hold a framework's placeholder for a picture.

    Args:
        values: Texts, or lists of texts or documents, by their names in the framework.
        picture: The pattern of the placeholder.

    Raises:
        NotTextError: A text holds the placeholder.
    """
    for place, value in values.items():
        is_list = isinstance(value, list)
        for number, item in enumerate(value if is_list else [value], 1):
            text = text_of(item)
            match = picture.search(text) if isinstance(text, str) else None
            if match is not None:
                where = f"field '{place}'" + (f", item {number}" if is_list else "")
                raise NotTextError(f"{where} {refusal(match.group())}")
