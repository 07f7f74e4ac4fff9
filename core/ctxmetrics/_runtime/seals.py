"""Hashes that bind a stored value to its key, so that one that was changed or moved is not taken for a judgement."""

from __future__ import annotations

import hashlib


def sealed(key: str, text: str) -> str:
    """Return a value to store: the text after a hash that binds it to its key."""
    digest = hashlib.sha256(f"{key}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digest} {text}"


def unsealed(key: str, value: str) -> str | None:
    """Return the text of a stored value; None where it was changed, or stored under another key."""
    text = value.partition(" ")[2]
    return text if value == sealed(key, text) else None
