"""The names of files that stand beside another file."""

from __future__ import annotations

from pathlib import Path

LABELS_ENDING = ".labels.jsonl"


def labels_beside(file: Path) -> Path:
    """Name the file that `ctxmetrics label` writes about a file of samples."""
    return file.with_name(file.name + LABELS_ENDING)


def key_beside(audit: Path) -> Path:
    """Name the file that says which questions of an audit were drawn at random: people do not see it."""
    return audit.with_name(audit.name + ".key.json")
