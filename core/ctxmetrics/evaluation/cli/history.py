"""``ctxmetrics history``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Literal

from ctxmetrics.evaluation.cli._options import Help, PageTitle
from ctxmetrics.evaluation.cli._terminal import note_unused, print_in_format, print_message


def history(
    files: Annotated[
        list[Path],
        Help(
            (
                "Results of --out or --write-baseline in the order of time, or folders of them, which are"
                " read by name."
            ),
            argument=True,
        ),
    ],
    format: Annotated[Literal["text", "json", "markdown"], Help("text, json or markdown.")] = "text",  # noqa: A002 - the option is named so
    report: Annotated[Path | None, Help("Write the history as a page: FILE.html.")] = None,
    title: PageTitle = None,
) -> None:
    """Show the means of several runs, and where something else than the retriever changed between them."""
    from ctxmetrics.evaluation.pages import name_page
    from ctxmetrics.evaluation.rows.output_files import write_whole
    from ctxmetrics.evaluation.rows.output_paths import check_outputs
    from ctxmetrics.evaluation.runs.history import read_history

    note_unused({"--title": title}, {"--report": report})
    paths = _list_files(files)
    check_outputs({"--report": report}, {str(path): path for path in paths})
    runs = read_history(paths)
    print_in_format(runs, format)
    if report is not None:
        write_whole(report, [runs.html(title=title or name_page(report, *files))])


def _list_files(paths: Sequence[Path]) -> list[Path]:
    """List the files that are given, and the runs in given folders. Say which other files stand there."""
    from ctxmetrics.evaluation.runs.run_folder import RunFolder

    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        files_of_folder = [
            file for file in RunFolder(path, stores=False).read() if "/" not in file.name
        ]
        for file in sorted(files_of_folder, key=attrgetter("name")):
            if file.metrics:
                files.append(path / file.name)
            elif file.kind != "labels":
                print_message(f"note: left out: {file.note or file.name}")
    return files
