"""``ctxmetrics history``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ctxmetrics.cli._terminal import print_in_format


def history(
    files: list[Path],
    format: Literal["text", "json", "markdown"] = "text",  # noqa: A002 - the option is named so
    report: Path | None = None,
) -> None:
    """Show the means of several runs, and where something else than the retriever changed between them."""
    from ctxmetrics.results.history import read_history
    from ctxmetrics.results.writer import check_outputs, write_whole

    paths = _list_files(files)
    check_outputs({"--report": report}, {str(path): path for path in paths})
    runs = read_history(paths)
    print_in_format(runs, format)
    if report is not None:
        write_whole(report, [runs.html()])


def _list_files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        files += sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    return files
