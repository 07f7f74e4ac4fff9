"""All runs of a folder on one page: what is listed, what can be compared, what is served to whom, and the same as files."""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LexicalJudge,
    Results,
    Sample,
    __version__,
    evaluate,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.compare import compare
from ctxmetrics.evaluation.pages.local_server import LocalServer
from ctxmetrics.evaluation.rows import rows_file, values_file
from ctxmetrics.evaluation.runs import history, run_folder, run_pages
from ctxmetrics.evaluation.runs.run_folder import (
    CACHE_NAME,
    RunFolder,
    find_before,
    find_obstacle,
    make_id,
)
from ctxmetrics.evaluation.runs.run_pages import RunPages, ViewHandler, link_on_server, write_pages
from support.command import run_command

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = "<script>window.owned=1</script><img src=x onerror='window.owned=2'>\u202e"


def run(
    count: int = 4, *, found: int = 1, text: str = "Fact", metrics: tuple = (ContextRecall(),)
) -> Results:
    """Score questions, of which so many have their answer in the contexts."""
    samples = [
        Sample(
            id=f"q{n}",
            user_input=f"What is {text} {n}?",
            reference=f"{text} {n} has the value {n}.",
            retrieved_contexts=[f"{text} {n} has the value {n}." if n < found else "Nothing at all."],
        )
        for n in range(count)
    ]
    return evaluate(samples, list(metrics), judge=LexicalJudge(), progress=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of runs: two that can be compared, a baseline, one on other questions, labels, and what is no run."""
    runs = tmp_path / "runs"
    (runs / "nightly").mkdir(parents=True)
    for name, found, day in (("a", 1, 1), ("b", 3, 2)):
        results = run(found=found)
        results.start = {
            "started": f"2026-11-0{day} 10:00 UTC",
            "commit": f"c0ffee{day}",
            "branch": "main",
        }
        results.to_jsonl(runs / f"{name}.jsonl", keep_texts=True)
    results.start = {"started": "2026-11-03 10:00 UTC"}
    results.to_baseline(runs / "nightly" / "base.jsonl")
    other = run(text="Thing", metrics=(ContextRecall(), ContextPrecision(threshold=0.5)))
    other.start = {"started": "2026-11-04 10:00 UTC"}
    other.to_jsonl(runs / "other.jsonl")
    (runs / "a.labels.jsonl").write_text('{"label": 1}\n')
    (runs / "samples.jsonl").write_text('{"user_input": "no results"}\n')
    return runs


def names(files: list) -> dict[str, str]:
    return {file.name: file.kind for file in files}


def test_a_folder_lists_runs_baselines_labels_and_other_files(folder: Path) -> None:
    files = RunFolder(folder).read()
    assert names(files) == {
        "a.labels.jsonl": "labels",
        "samples.jsonl": "other",
        "a.jsonl": "results",
        "b.jsonl": "results",
        "nightly/base.jsonl": "baseline",
        "other.jsonl": "results",
    }
    by_name = {file.name: file for file in files}
    assert "this is no line of results" in by_name["samples.jsonl"].note
    first = by_name["a.jsonl"]
    assert (first.started, first.commit, first.judge) == (
        "2026-11-01 10:00 UTC",
        "c0ffee1 main",
        "lexical",
    )
    assert first.metrics["context_recall"].text.startswith("0.250 (")
    assert first.metrics["context_recall"].scored == "4 of 4"
    assert by_name["other.jsonl"].metrics["context_precision"].passed == "pass mark: 1 of 4"
    assert by_name["nightly/base.jsonl"].data == by_name["b.jsonl"].data == first.data
    assert by_name["other.jsonl"].data != first.data
    assert by_name["nightly/base.jsonl"].groups == ("nightly",)
    assert first.groups == (".",)


def test_only_what_can_be_compared_is(folder: Path) -> None:
    runs = {file.name: file for file in RunFolder(folder).list_runs()}
    a, b, base, other = (
        runs["a.jsonl"],
        runs["b.jsonl"],
        runs["nightly/base.jsonl"],
        runs["other.jsonl"],
    )
    assert find_obstacle(a, b) is None
    assert find_obstacle(a, base) is None
    assert find_obstacle(a, other) == "no question in common"
    ordered = list(runs.values())
    assert find_before(ordered, base) == b
    assert find_before(ordered, a) is None
    text = (folder / "b.jsonl").read_text().replace('"lexical"', '"mine"')
    (folder / "b.jsonl").write_text(text)
    changed = {file.name: file for file in RunFolder(folder).list_runs()}["b.jsonl"]
    assert find_obstacle(a, changed) == "another judge: lexical / mine"


def test_a_file_is_read_once_until_it_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = RunFolder(folder).read()
    read: list[str] = []

    def note(path: Path) -> Iterator:
        read.append(Path(path).name)
        return values_file.read_values(path)

    monkeypatch.setattr(history, "read_values", note)
    assert RunFolder(folder).read() == first
    assert read == []
    run(found=2).to_jsonl(folder / "new.jsonl")
    again = RunFolder(folder)
    assert "new.jsonl" in names(again.read())
    assert read == ["new.jsonl"]
    assert RunFolder(folder).read() == again.read()
    assert read == ["new.jsonl"]


def test_another_version_of_the_judge_is_an_obstacle(folder: Path) -> None:
    text = (folder / "b.jsonl").read_text()
    version = re.search(r'"served_model":"([^"]+)"', text)
    assert version is not None
    (folder / "b.jsonl").write_text(text.replace(version[1], "lexical-000000000000"))
    runs = RunFolder(folder).list_runs()
    by_name = {run.name: run for run in runs}
    a, b, base = by_name["a.jsonl"], by_name["b.jsonl"], by_name["nightly/base.jsonl"]
    assert (
        find_obstacle(a, b) == f"another judge: lexical ({version[1]}) / lexical (lexical-000000000000)"
    )
    with pytest.raises(ParameterError, match="the runs differ in judge"):
        compare(folder / a.name, folder / b.name)
    assert find_before(runs, base) == a
    assert RunFolder(folder).list_runs() == runs  # as it is remembered, too


def test_a_folder_with_the_name_of_a_file_is_skipped(folder: Path) -> None:
    expected = RunFolder(folder).read()
    for name in ("d.labels.jsonl", "d.jsonl"):
        (folder / name).mkdir()
    assert RunFolder(folder).read() == expected


def test_unreadable_labels_are_listed_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_path = Path.open

    def refuse(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "a.labels.jsonl":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return open_path(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    files = {file.name: file for file in RunFolder(folder).read()}
    assert files["a.labels.jsonl"].kind == "other"
    assert "Permission denied" in files["a.labels.jsonl"].note


def test_group_has_slashes_on_windows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder(folder).list_runs()[0]
    monkeypatch.setattr(run_folder, "Path", PureWindowsPath)
    assert replace(run, name="nightly/deep/a.jsonl").groups == ("nightly/deep",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 3}',
        '{"version": "0.1.0", "files": [{"name": 1}]}',
        "[" * 99_999,
        f'{{"ctxmetrics_view": "{__version__}", "files": [{{}}]}}',
    ],
)
def test_a_damaged_memory_is_ignored(folder: Path, text: str) -> None:
    expected = RunFolder(folder).read()
    (folder / CACHE_NAME).write_text(text)
    assert RunFolder(folder).read() == expected


# --- the server ---


@contextmanager
def serving(folder: Path) -> Iterator[LocalServer]:
    pages = RunPages(RunFolder(folder), link_on_server)
    with LocalServer(ViewHandler, pages, "view") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server: LocalServer, path: str, host: str | None = None) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", path, headers={"Host": host or server.host})
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    return reply.status, body, dict(reply.getheaders())


def follow(server: LocalServer, page: str, pattern: str) -> tuple[int, str, dict[str, str]]:
    """Open the first link of a page that a pattern describes."""
    link = re.search(f'href="({pattern})"', page)
    assert link is not None, pattern
    address = urlsplit(urljoin(server.address, unescape(link[1])))
    return get(server, address._replace(scheme="", netloc="").geturl())


def test_one_click_to_a_report_two_to_a_comparison(folder: Path) -> None:
    with serving(folder) as server:
        start = urlsplit(server.address).path
        status, page, headers = get(server, start)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert follow(server, page, r"run\?first=[0-9a-f]+")[1].count("What is Thing") == 4
        _, choosing, _ = follow(server, page, r"index\?first=[0-9a-f]+")  # the newest: other.jsonl
        assert choosing.count('class="grey"') == 4  # three others, and the run itself
        assert "no question in common" in choosing
        before = RunFolder(folder).list_runs()[0]
        _, choosing, _ = get(server, f"{start}?first={before.id}")
        assert choosing.count(">compare</a>") == 2
        status, comparison, _ = follow(
            server, choosing, r"compare\?first=[0-9a-f]+&amp;second=[0-9a-f]+"
        )
        assert status == 200
        assert "Won, supported by the second run only: 2" in comparison
        _, history, _ = follow(server, page, "history")
        assert follow(server, history, r"compare\?[^\"]+")[0] == 200
        _, questions, _ = follow(server, page, "questions")
        assert "in 3 of 4 runs" in questions
        known = re.search(r'href="(question\?first=[0-9a-f]+)"><bdi>What is Fact 1', questions)
        assert known is not None
        _, question, _ = get(server, f"{start}{known[1]}")
        assert question.count("<section id=") >= 3
        assert 'class="matrix"' in question
        run(found=2).to_jsonl(folder / "new.jsonl")
        assert "new.jsonl" in get(server, start)[1]


def test_only_who_has_the_token_reads(folder: Path) -> None:
    with serving(folder) as server:
        start = urlsplit(server.address).path
        id_ = RunFolder(folder).list_runs()[0].id
        assert get(server, "/")[0] == 403
        assert get(server, f"/wrong/run?first={id_}")[0] == 403
        assert get(server, start, host="evil.example")[0] == 403
        for path in (
            "x",
            "run",
            "run?first=000000000000",
            "compare?first=" + id_,
            "../a.jsonl",
            "a.jsonl",
        ):
            status, body, _ = get(server, f"{start}{path}")
            assert (status, "What is" in body) == (404, False), path
        assert get(server, f"{start}run?first=../../etc/passwd")[0] in (403, 404)


def test_a_file_that_is_gone_is_said_on_the_page(folder: Path) -> None:
    with serving(folder) as server:
        start = urlsplit(server.address).path
        page = get(server, start)[1]
        for file in folder.rglob("*.jsonl"):
            file.unlink()
        status, body, _ = follow(server, page, r"run\?first=[0-9a-f]+")
    assert (status, "cannot be read" in body) == (400, True)


# --- the same as files ---


def test_pages_of_an_artefact_link_each_other_without_server(folder: Path, tmp_path: Path) -> None:
    done = run_command("view", folder, "--out", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "site").iterdir()}
    assert {"index.html", "history.html", "questions.html"} <= pages.keys()
    links = {link for text in pages.values() for link in re.findall(r'href="([^"#]+)"', text)}
    assert links <= pages.keys()
    # a, b and the baseline, any two of them
    assert sum(name.startswith("compare-") for name in pages) == 3
    assert sum(name.startswith("index-") for name in pages) == 4
    assert not (folder / CACHE_NAME).exists()
    assert done.stdout == f"{tmp_path / 'site' / 'index.html'}: {len(pages)} pages\n"


def test_of_many_runs_neighbours_and_the_newest_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxmetrics.evaluation.runs.run_pages._MAX_COMPARED_RUNS", 3)
    (tmp_path / "runs").mkdir()
    for number in range(4):
        results = run(found=number)
        results.start = {"started": f"2026-11-0{number + 1} 10:00 UTC"}
        results.to_jsonl(tmp_path / "runs" / f"{number}.jsonl")
    runs = RunFolder(tmp_path / "runs").list_runs()
    written = {
        path.name: path.read_text(encoding="utf-8")
        for path in write_pages(RunFolder(tmp_path / "runs"), tmp_path / "site")
    }
    expected = {
        f"compare-{runs[first].id}-{runs[second].id}.html"
        for first, second in ((0, 1), (1, 2), (2, 3), (0, 3), (1, 3))
    }
    assert {name for name in written if name.startswith("compare-")} == expected
    links = {link for text in written.values() for link in re.findall(r'href="([^"#]+)"', text)}
    assert expected <= links <= written.keys()
    assert "ctxmetrics compare FIRST SECOND --report FILE.html" in written["index.html"]


def test_a_run_shows_its_gates_and_groups(tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text(
        "".join(
            json.dumps(
                {
                    "id": f"q{n}",
                    "reference": "The pump runs at 7 bar.",
                    "retrieved_contexts": [
                        "The pump runs at 7 bar." if n < found else "Nothing at all."
                    ],
                }
            )
            + "\n"
            for n, found in enumerate((4, 4, 1, 1))
        )
    )
    done = run_command(
        *("score", samples, "--metric", "context_recall", "--out", tmp_path / "red.jsonl"),
        *("--fail-under", "context_recall=0.9", "--tag", "nightly", "--tag", "pumps"),
    )
    assert done.returncode == 1
    (red,) = RunFolder(tmp_path, stores=False).list_runs()
    assert red.groups == ("nightly", "pumps")
    assert red.state == "failed"
    assert red.gates == [
        ("--fail-under context_recall=0.9 (0.5)", "context_recall is 0.5000, below 0.9")
    ]
    assert RunFolder(tmp_path).list_runs() == RunFolder(tmp_path).list_runs()  # as remembered, too
    write_pages(RunFolder(tmp_path), tmp_path / "site")
    for page in ("index", f"run-{red.id}"):
        text = (tmp_path / "site" / f"{page}.html").read_text(encoding="utf-8")
        assert "context_recall is 0.5000, below 0.9" in text
    assert '<option value="group0">nightly</option>' in (tmp_path / "site" / "index.html").read_text(
        encoding="utf-8"
    )


def test_a_large_folder_has_no_links_to_pages_of_questions(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxmetrics.evaluation.runs.run_pages._MAX_ROWS_OF_QUESTION_PAGES", 1)
    written = [path.name for path in write_pages(RunFolder(folder), tmp_path / "site")]
    assert not any(name.startswith("question") for name in written)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'href="([\w-]+\.html)"', index)) <= {*written}
    assert "history.html" in index


def test_files_of_questions_read_each_run_twice_at_most(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def note(path: Path) -> Iterator:
        read.append(path.name)
        return rows_file.read_rows(path)

    monkeypatch.setattr(run_pages, "read_rows", note)
    written = write_pages(RunFolder(folder), tmp_path / "site")
    assert sum(path.name.startswith("question-") for path in written) == 8
    assert max(Counter(read).values()) == 2
    page = next(path for path in written if path.name == f"question-{_find_question(folder)}.html")
    assert page.read_text(encoding="utf-8").count("<section id=") == 3


def _find_question(folder: Path) -> str:
    """Find the id of a question of three runs."""
    runs = {run.name: run for run in RunFolder(folder).list_runs()}
    return make_id(min(runs["a.jsonl"].questions))


def test_a_damaged_run_is_said_on_pages_of_its_questions(folder: Path, tmp_path: Path) -> None:
    path = folder / "b.jsonl"
    text = path.read_text()
    end = f'"end":{len("Fact 1 has the value 1.")}'
    assert end in text
    path.write_text(text.replace(end, '"end":999'))  # not in the text any more
    assert run_command("view", folder, "--out", tmp_path / "site").returncode == 0
    runs = {run.name: run for run in RunFolder(folder).list_runs()}
    for name, is_damaged in (("b.jsonl", True), ("other.jsonl", False)):
        for key in runs[name].questions:
            page = (tmp_path / "site" / f"question-{make_id(key)}.html").read_text(encoding="utf-8")
            assert ("b.jsonl" in page and "<section id=" not in page) == is_damaged


def test_pages_need_a_folder_for_their_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "site").write_text("x")
    done = run_command("view", folder, "--out", tmp_path / "site")
    assert done.returncode == 2
    assert f"--out {tmp_path / 'site'}: is no directory: File exists." in done.stderr


def test_hostile_texts_and_names_stay_texts(folder: Path, tmp_path: Path) -> None:
    results = run(text=HOSTILE)
    results.start = {
        "started": HOSTILE,
        "commit": HOSTILE,
        "branch": HOSTILE,
        "tags": [HOSTILE],
        "gates": [{"gate": HOSTILE, "problem": HOSTILE, "against": HOSTILE, "verdict": HOSTILE}],
    }
    path = folder / "<img src=x onerror=alert(1)>.jsonl"
    results.to_jsonl(path, keep_texts=True)
    lines = path.read_text().replace('"lexical"', json.dumps(HOSTILE))
    path.write_text(lines)
    (folder / "<b>.labels.jsonl").write_text("x\n")
    (folder / "<i>.jsonl").write_text(HOSTILE)
    assert run_command("view", folder, "--out", tmp_path / "site").returncode == 0
    for page in (tmp_path / "site").iterdir():
        text = page.read_text(encoding="utf-8")
        assert "<script>window" not in text
        assert "<img" not in text
        assert "\u202e" not in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere",), "is no folder"),
        ((".", "--port", "99999"), "'--port': Input should be less than or equal to 65535"),
    ],
)
def test_what_cannot_be_served_is_refused(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = run_command("view", *words, "--no-browser", cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there")
def test_a_file_whose_name_is_no_utf8_is_listed(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.jsonl")
    sample = Sample(reference="It is.", retrieved_contexts=["It is."])
    evaluate([sample], [ContextRecall()], out=tmp_path / name, progress=False)
    (file,) = RunFolder(tmp_path).read()
    assert (file.name, file.samples) == (name, 1)
    pages = write_pages(RunFolder(tmp_path), tmp_path / "pages")
    assert "\ufffd.jsonl" in pages[0].read_text(encoding="utf-8")
