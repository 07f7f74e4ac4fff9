"""The pages of the runs of a folder: served on this machine, or written as files that need no server and no script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, NamedTuple

from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.evaluation.comparison.compare import compare
from ctxmetrics.evaluation.pages import build_server_policy, get_macro, render
from ctxmetrics.evaluation.pages.local_server import LocalHandler
from ctxmetrics.evaluation.pages.tables import Column, Table
from ctxmetrics.evaluation.report.report import render_html
from ctxmetrics.evaluation.rows.baseline import shorten_question
from ctxmetrics.evaluation.rows.output_files import write_whole
from ctxmetrics.evaluation.rows.output_paths import make_folder
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.rows_file import read_rows
from ctxmetrics.evaluation.rows.sample_view import build_sample_view
from ctxmetrics.evaluation.runs.history import read_history
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.runs.run_folder import (
    RunFile,
    RunFolder,
    find_before,
    find_obstacle,
    make_id,
)
from ctxmetrics.scores.wording import TEXT, clean

# A page for each question is written as a file if all runs together have at most this number of samples.
_MAX_ROWS_OF_QUESTION_PAGES = 2_000
# The comparison of any two runs is written as a file if there are at most this number of runs ..
_MAX_COMPARED_RUNS = 20
# .. and if they have at most this number of samples together.
_MAX_PAIRED_ROWS = 10_000
# The maximum number of characters of a question in the list of questions.
_MAX_QUESTION_CHARACTERS = 4 * TEXT
# The properties by which the page filters the runs.
_FILTER_NAMES = ("judge", "metric", "data", "group", "gates")


class RunRow(NamedTuple):
    """A sample in a run."""

    run: RunFile
    row: Row


# The columns of the page of a question.
_QUESTION_COLUMNS: Sequence[Column[RunRow]] = (
    Column("run", lambda item: item.run.name, address=lambda item: f"#{item.run.id}"),
    Column("judge", lambda item: item.run.judge),
    Column("values", lambda item: _join_values(item.row)),
)


def _join_values(row: Row) -> str:
    """Write the values of a row, each with its metric."""
    return "; ".join(f"{score.metric}: {score.formatted_value}" for score in row.scores)


class RunPages:
    """Makes the pages.

    Args:
        folder: The runs.
        build_link: Builds the address of a page from the kind of the page and the ids of its runs.
        compares_all: Whether every two runs are compared with each other. If false, a run is compared with the run before it and with the
            newest.
        has_questions: Whether each question has a page of its own.
        most_cached: The most runs that are kept in memory.
    """

    def __init__(
        self,
        folder: RunFolder,
        build_link: Callable[..., str],
        *,
        compares_all: bool = True,
        has_questions: bool = True,
        most_cached: int = 0,
    ) -> None:
        self.folder = folder
        self._build_link = build_link
        self._compares_all = compares_all
        self._has_questions = has_questions
        self._read_results = lru_cache(most_cached)(Results.from_jsonl)

    def list_runs(self, first: RunFile | None = None) -> str:
        """Render the page of all runs. With a first run, it lists the runs that can be compared with it."""
        files = self.folder.read()
        runs = [file for file in files if file.metrics]
        choices: dict[str, list[str]] = {}
        for field in _FILTER_NAMES:
            distinct_values: set[str] = set()
            for run in runs:
                distinct_values.update(filter(None, run.filters[field]))
            choices[field] = sorted(distinct_values)
        metrics = choices["metric"]
        rows = []
        for run in reversed(runs):
            # The values by which the script of the page filters: "judge0" is the first of the judges to choose from.
            flags: list[str] = []
            for field, values in run.filters.items():
                flags += [f"{field}{choices[field].index(value)}" for value in values if value]
            shares: list[float | None] = []
            for name in metrics:
                metric = run.metrics.get(name)
                shares.append(None if metric is None else metric.share)
            rows.append((run, flags, shares, self._list_comparisons(runs, run, first)))
        return render(
            "runs.html",
            title=f"{self.folder.path.resolve().name}: runs",
            rows=rows,
            others=[file for file in files if not file.metrics],
            first=first,
            filters=choices,
            names=sorted(run.name for run in runs),
            compares_all=self._compares_all,
            has_questions=self._has_questions,
            link=self._build_link,
        )

    def _list_comparisons(
        self, runs: Sequence[RunFile], run: RunFile, first: RunFile | None
    ) -> list[tuple[str, str | None]]:
        """List the links to the comparisons of a run: text and address. The address is None if there is no comparison."""
        if first is not None:
            obstacle = "this run" if run.id == first.id else find_obstacle(first, run)
            if obstacle:
                return [(obstacle, None)]
            return [("compare", self.link_comparison(first, run))]
        other_runs = {"with the one before": find_before(runs, run), "with the newest": runs[-1]}
        links: list[tuple[str, str | None]] = []
        for text, other_run in other_runs.items():
            if other_run is not None and other_run is not run and find_obstacle(other_run, run) is None:
                links.append((text, self.link_comparison(other_run, run)))
        if self._compares_all:
            links.append(("with another", self._build_link("index", run.id)))
        return links

    def link_comparison(self, *runs: RunFile) -> str:
        """Build the address of a comparison. The older run comes first in it."""
        oldest_first = sorted(runs, key=lambda run: run.age)
        return self._build_link("compare", *[run.id for run in oldest_first])

    def list_questions(self) -> str:
        """Render the page of the questions of all runs, each with the number of runs that have it."""
        runs = self.folder.list_runs()
        texts: dict[str, str] = {}
        # A baseline has no texts, so it is read last: another run with the same question gives the text.
        for run in sorted(runs, key=lambda run: run.kind == "baseline"):
            if run.questions <= texts.keys():
                continue
            for key, row in self.read_questions(run):
                texts.setdefault(key, row.fields.user_input or row.sample_id or row.name)
        counts = {key: len([run for run in runs if key in run.questions]) for key in texts}
        return render(
            "questions.html",
            title=f"{self.folder.path.resolve().name}: questions",
            texts={key: clean(text, _MAX_QUESTION_CHARACTERS) for key, text in texts.items()},
            counts=counts,
            run_count=len(runs),
            ids={key: make_id(key) for key in texts},
            link=self._build_link,
        )

    def read_questions(self, run: RunFile) -> Iterator[tuple[str, Row]]:
        """Yield each row of a run whose record has a hash, after the id of its question."""
        for row in read_rows(self.folder.path / run.name):
            if row.record and "hash" in row.record:
                yield shorten_question(row.record), row

    def find_question(self, id_: str) -> str:
        """Return the page of a question by its id."""
        rows = self.collect_questions(id_).get(id_)
        if rows is None:
            raise InputFileError("no run of the folder has this question any more.")
        return self.question(rows)

    def collect_questions(self, id_: str | None = None) -> dict[str, list[RunRow | CtxMetricsError]]:
        """Collect the rows about each question, by the id of the question. Rows of the newest run come first.

        Each run is read once.

        Args:
            id_: Collect one question only; None: all.
        """
        rows_by_id: dict[str, list[RunRow | CtxMetricsError]] = {}
        for run in reversed(self.folder.list_runs()):
            ids = {make_id(key) for key in run.questions}
            if id_ is not None:
                ids &= {id_}
            try:
                rows = list(self.read_questions(run)) if ids else []
            except CtxMetricsError as error:
                for question_id in ids:
                    rows_by_id.setdefault(question_id, []).append(error)
                continue
            for key, row in rows:
                question_id = make_id(key)
                if question_id in ids:
                    rows_by_id.setdefault(question_id, []).append(RunRow(run, row))
        return rows_by_id

    def question(self, rows: Sequence[RunRow | CtxMetricsError]) -> str:
        """Return a question in all runs that have it, each with its values, verdicts, contexts and matrix.

        Args:
            rows: The rows about the question, each with its run; or why a run cannot be read.

        Raises:
            CtxMetricsError: A run cannot be read.
        """
        render_sample = get_macro("sample.html", "sample_of")
        rendered_rows = []
        run_rows: list[RunRow] = []
        for row_or_error in rows:
            if isinstance(row_or_error, CtxMetricsError):
                raise row_or_error
            run, row = row_or_error
            run_rows.append(row_or_error)
            view = build_sample_view(row.sample, row)
            rendered_rows.append((run, row, render_sample(view, f"r{run.id}-{row.index}", "en")))
        # A baseline has no texts, so that the first row may have none.
        names = [row.fields.user_input or row.name for _, row in run_rows]
        first_name = next((name for name in names if name), "")
        title = f"{clean(first_name, TEXT)}: all runs"
        table = Table.build(_QUESTION_COLUMNS, run_rows)
        return render(
            "question.html", title=title, table=table, rows=rendered_rows, link=self._build_link
        )

    def report(self, run: RunFile) -> str:
        """Return the report of a run."""
        results = self._read_results(self.folder.path / run.name)
        return render_html(results.report(), title=f"{run.name}: report", gates=run.gates)

    def compare(self, first: RunFile, second: RunFile) -> str:
        """Return the comparison of two runs."""
        first_results = self._read_results(self.folder.path / first.name)
        second_results = self._read_results(self.folder.path / second.name)
        comparison = compare(first_results, second_results)
        title = f"{first.name}, {second.name}: comparison"
        return comparison.html(title=title, gates=second.gates)

    def history(self) -> str:
        """Return the page of the history. Each point leads to the comparison of its run with the run before."""
        runs = self.folder.list_runs()
        links = {}
        for run in runs:
            before = find_before(runs, run)
            if before is not None:
                links[str(self.folder.path / run.name)] = self.link_comparison(before, run)
        history = read_history([self.folder.path / run.name for run in runs])
        return history.html(title=f"{self.folder.path.resolve().name}: history", links=links)


class ViewHandler(LocalHandler):
    """Serves the pages of a folder."""

    # The token, the page, and the ids of its runs, or of its question: /TOKEN/compare?first=0a1b2c3d4e5f&second=5f4e3d2c1b0a.
    target: ClassVar[re.Pattern[str]] = re.compile(
        r"/([^/?]*)/([^?]*)(?:\?first=([0-9a-f]{12})(?:&second=([0-9a-f]{12}))?)?"
    )

    def do_GET(self) -> None:  # noqa: N802 - the base class' name
        """Send a page."""
        path, *ids = self.check()
        if path is None:
            return
        make = self._find_page(path, [id_ for id_ in ids if id_])
        if make is None:
            self.refuse(HTTPStatus.NOT_FOUND)
            return
        status, text = render_page("ctxmetrics view", make)
        self.send(status, text.encode(), "text/html; charset=utf-8", build_server_policy())

    def _find_page(self, path: str, ids: Sequence[str]) -> Callable[[], str] | None:
        """Find the function that renders a page. Return None if there is no such page."""
        pages: RunPages = self.server.subject
        if path == "question" and len(ids) == 1:
            return partial(pages.find_question, ids[0])
        runs = [run for run in map(pages.folder.find, ids) if run is not None]
        has_unknown_run = len(runs) < len(ids)
        # The functions that render a page, by its path and the number of runs in the address.
        renderers: dict[tuple[str, int], Callable[..., str]] = {
            ("index", 0): pages.list_runs,
            ("index", 1): pages.list_runs,  # to choose the second run of a comparison
            ("history", 0): pages.history,
            ("questions", 0): pages.list_questions,
            ("run", 1): pages.report,
            ("compare", 2): pages.compare,
        }
        render_runs = renderers.get((path or "index", len(ids)))
        if render_runs is None or has_unknown_run:
            return None
        return partial(render_runs, *runs)


def link_on_server(kind: str, *ids: str) -> str:
    """Write the address of a page that `ViewHandler` serves."""
    query = "&".join(f"{name}={id_}" for name, id_ in zip(("first", "second"), ids, strict=False))
    return f"{kind}?{query}" if query else kind


def _link_to_file(kind: str, *ids: str) -> str:
    """Return the name of the file of a page."""
    return f"{'-'.join([kind, *ids])}.html"


def render_page(title: str, make: Callable[[], str]) -> tuple[HTTPStatus, str]:
    """Render a page. If a file of its runs is gone, or cannot be read or compared, render a page that says so."""
    try:
        return HTTPStatus.OK, make()
    except CtxMetricsError as error:
        page = render("problem.html", title=title, problem=str(error))
        return HTTPStatus.BAD_REQUEST, page


def write_pages(folder: RunFolder, out: Path) -> Sequence[Path]:
    """Write the pages of a folder as files: all runs, the history, the reports, the comparisons and the questions.

    If there are few runs, every two are compared. Else each run is compared with the run before it, and with the newest run.
    Questions have pages in a small folder.

    Args:
        folder: The runs.
        out: The folder of the pages; it is made.

    Raises:
        InputFileError: The folder cannot be created, or a page cannot be written there.
        OutputFileError: Writing failed.
    """
    runs = folder.list_runs()
    samples = sum(run.samples for run in runs)
    has_questions = samples <= _MAX_ROWS_OF_QUESTION_PAGES
    compares_all = len(runs) <= _MAX_COMPARED_RUNS and samples <= _MAX_PAIRED_ROWS
    pages = RunPages(
        folder,
        _link_to_file,
        compares_all=compares_all,
        has_questions=has_questions,
        most_cached=_MAX_COMPARED_RUNS if compares_all else 2,
    )
    make_folder(out, "--out")
    makers: dict[str, Callable[[], str]] = {"index.html": pages.list_runs}
    if runs:
        makers["history.html"] = pages.history
    if runs and has_questions:
        makers["questions.html"] = pages.list_questions
        for id_, rows in pages.collect_questions().items():
            makers[_link_to_file("question", id_)] = partial(pages.question, rows)
    for position, run in enumerate(runs):
        makers[_link_to_file("run", run.id)] = partial(pages.report, run)
        earlier_runs: Sequence[RunFile | None] = [find_before(runs, run)]
        if compares_all or run is runs[-1]:
            earlier_runs = runs[:position]
        for earlier in earlier_runs:
            if earlier is not None and find_obstacle(earlier, run) is None:
                makers[pages.link_comparison(earlier, run)] = partial(pages.compare, earlier, run)
        if compares_all:
            makers[_link_to_file("index", run.id)] = partial(pages.list_runs, run)
    for file_name, make in makers.items():
        _status, text = render_page(file_name, make)
        write_whole(out / file_name, [text])
    return [out / file_name for file_name in makers]
