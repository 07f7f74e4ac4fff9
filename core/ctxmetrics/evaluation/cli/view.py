"""``ctxmetrics view``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.cli._options import Help
from ctxmetrics.evaluation.cli._terminal import print_message, print_result
from ctxmetrics.scores.wording import plural


def view(
    folder: Annotated[
        Path, Help("The folder of results, baselines and labels. Without it: this one.", argument=True)
    ] = Path(),
    out: Annotated[
        Path | None,
        Help("Write the pages into this folder, for an artefact of CI, in place of serving them."),
    ] = None,
    port: Annotated[int, Help("The page's port; 0 takes a free one.", lowest=0, highest=65_535)] = 0,
    no_browser: Annotated[bool, Help("Print the page's address and open nothing.")] = False,
) -> None:
    """Show all runs of a folder on a local page: their figures, reports, history, and comparisons of two."""
    import webbrowser

    from ctxmetrics.evaluation.pages.local_server import LocalServer
    from ctxmetrics.evaluation.runs.run_folder import RunFolder
    from ctxmetrics.evaluation.runs.run_pages import (
        RunPages,
        ViewHandler,
        link_on_server,
        write_pages,
    )

    if not folder.is_dir():
        raise InputFileError(f"{folder}: is no folder. Give the folder of the results.")
    if out is not None:
        files = write_pages(RunFolder(folder, stores=False), out)
        print_result(f"{out / 'index.html'}: {plural(len(files), 'page')}")
        return
    pages = RunPages(RunFolder(folder), link_on_server)
    with LocalServer(ViewHandler, pages, "view", port) as server:
        print_message(f"view: {server.address}")
        if not no_browser and not webbrowser.open(server.address):
            print_message(
                "note: no browser could be opened. Open the address in a browser on this machine."
            )
        print_message("Press Ctrl-C here to stop.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_message("stopped")
