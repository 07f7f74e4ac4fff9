"""The cache: what it keeps, how it is resumed, and everything that may happen to its file."""

from __future__ import annotations

import ctypes
import json
import logging
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.cache import FILE_NAME, VerdictCache, _prepare
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.judges.llm import forget
from ctxmetrics.testing import FakeOpenAIServer, answer_from

METRICS = [ContextRecall(), ContextPrecision()]


def samples(count):
    return [
        Sample(
            id=number,
            reference=f"This is number {number}. It looks scarlet.",
            retrieved_contexts=[
                f"This is number {number}. " + ("It looks scarlet." if number % 2 else "Nothing."),
                f"Something else {number}.",
            ],
        )
        for number in range(count)
    ]


def run(server, count, cache, **options):
    """Evaluate as a new process would: with nothing in memory."""
    forget()
    judge = LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url))
    return evaluate(samples(count), METRICS, judge=judge, cache=cache, **options)


def recall(results):
    return [row["context_recall"].value for row in results]


def expected(count):
    return [1.0 if number % 2 else 0.5 for number in range(count)]


@pytest.fixture
def server():
    with FakeOpenAIServer(answer_from()) as server:
        yield server


# --- the store ---


def test_what_is_put_is_got_also_by_another_object(tmp_path):
    cache = VerdictCache(tmp_path / "new" / "folder")
    assert cache.get("k") is None
    cache.put("k", "первый")
    assert cache.get("k") == "первый"
    assert VerdictCache(tmp_path / "new" / "folder").get("k") == "первый"
    cache.put("k", "second")
    assert cache.get("k") == "second"
    assert cache.info().entries == 1
    cache.close()
    assert cache.get("k") == "second"


def test_half_characters_are_kept_as_json_escapes(tmp_path):
    cache = VerdictCache(tmp_path)
    cache.put("k", json.dumps({"reason": "half \ud83d here"}, ensure_ascii=False))
    assert json.loads(cache.get("k")) == {"reason": "half \ud83d here"}


def test_info_and_clear(tmp_path):
    cache = VerdictCache(tmp_path)
    (tmp_path / f"{FILE_NAME}.corrupt-1").write_text("old")
    for number in range(500):
        cache.put(str(number), "x" * 1000)
    info = cache.info()
    assert (info.path, info.entries) == (tmp_path / FILE_NAME, 500)
    assert info.size > 500_000
    cache.clear()
    assert cache.info().entries == 0
    assert cache.info().size < 50_000
    assert [path.name for path in tmp_path.iterdir() if "corrupt" in path.name] == []


def test_the_oldest_go_when_it_grows_too_large(tmp_path):
    cache = VerdictCache(tmp_path, max_bytes=1024**2)
    for number in range(3000):
        cache.put(str(number), f"{number}:" + "x" * 2000)
        assert sum(path.stat().st_size for path in tmp_path.glob(FILE_NAME)) < 1.3 * 1024**2
    kept = [number for number in range(3000) if cache.get(str(number)) is not None]
    assert kept == list(range(3000 - len(kept), 3000))
    assert 300 < len(kept) < 550


@pytest.mark.parametrize("size", [0, 1000, None, 1e9])
def test_a_senseless_size_is_refused(tmp_path, size):
    with pytest.raises(ParameterError, match="max_bytes"):
        VerdictCache(tmp_path, max_bytes=size)


def test_a_directory_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputFileError, match=r"no cache can be kept there: .* Choose another directory"):
        VerdictCache(tmp_path / "file" / "cache")


def test_from_8_threads_at_once(tmp_path):
    cache = VerdictCache(tmp_path)

    def work(number):
        for turn in range(100):
            cache.put(f"{number}-{turn}", f"value {number} {turn}")
            cache.put("shared", "same")
        return all(cache.get(f"{number}-{turn}") == f"value {number} {turn}" for turn in range(100))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert cache.info().entries == 801


_WORKER = """
import sys
from ctxmetrics.cache import VerdictCache
print("ready", flush=True)
sys.stdin.readline()
cache = VerdictCache(sys.argv[1])
for turn in range(200):
    cache.put(f"{sys.argv[2]}-{turn}", "x" * 500)
    cache.put(f"shared-{turn}", "same")
missing = sum(cache.get(f"{sys.argv[2]}-{turn}") is None for turn in range(200))
print(missing, flush=True)
"""


def test_from_several_processes_that_start_at_once(tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(tmp_path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        assert worker.communicate(timeout=60) == ("0\n", "")
    assert VerdictCache(tmp_path).info().entries == 4 * 200 + 200


def test_while_another_process_sets_the_file_up_it_is_waited_for():
    class Connection:
        """Refuses twice, as SQLite does without waiting while a file becomes a log-writing one."""

        def __init__(self):
            self.commands = []

        def execute(self, command):
            self.commands.append(command)
            if len(self.commands) <= 2:
                raise sqlite3.OperationalError("database is locked")

    connection = Connection()
    _prepare(connection)
    assert len(connection.commands) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_after_a_fork_both_sides_go_on_also_when_a_thread_was_writing(tmp_path):
    cache = VerdictCache(tmp_path)
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            cache.put(f"thread-{number}", "x" * 100)
            number += 1

    def child(number):
        cache.put(f"child-{number}", "from the child")
        os._exit(0 if cache.get(f"child-{number}") and cache.get("parent") else 1)

    cache.put("parent", "from the parent")
    writer = threading.Thread(target=write)
    writer.start()
    for number in range(10):
        process = multiprocessing.get_context("fork").Process(target=child, args=(number,))
        process.start()
        process.join(20)
        assert process.exitcode == 0
    stop.set()
    writer.join()
    assert all(cache.get(f"child-{number}") for number in range(10))
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# --- what may happen to the file ---


def corrupted(path, how):
    VerdictCache(path).put("k", "v" * 5000)
    file = path / FILE_NAME
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = bytearray(file.read_bytes())
    if how == "text":
        data = bytearray(b"this is no database at all" * 100)
    elif how == "cut":
        del data[5000:]
    elif how == "noise":
        data[4096:] = random.Random(1).randbytes(len(data) - 4096)
    file.write_bytes(data)


@pytest.mark.parametrize("how", ["text", "cut", "noise"])
def test_a_broken_file_is_set_aside_with_a_warning(tmp_path, how, caplog, server):
    corrupted(tmp_path, how)
    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        assert recall(run(server, 5, tmp_path)) == expected(5)
    assert [record.getMessage().partition(" (")[0] for record in caplog.records] == [
        f"{tmp_path / FILE_NAME} cannot be read"
    ]
    assert "set aside as verdicts.sqlite3.corrupt-1" in caplog.text
    assert (tmp_path / f"{FILE_NAME}.corrupt-1").exists()
    assert recall(run(server, 5, tmp_path)) == expected(5)
    assert server.count == 5
    assert len(caplog.records) == 1


def test_a_file_that_breaks_while_it_is_open(tmp_path, caplog):
    cache = VerdictCache(tmp_path)
    for number in range(200):
        cache.put(str(number), "x" * 1000)
    cache.close()
    (tmp_path / FILE_NAME).write_bytes(b"x" * 9000)
    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        assert cache.get("7") is None
        cache.put("7", "new")
        assert cache.get("7") == "new"
    assert len(caplog.records) == 1


def test_a_file_that_another_process_has_replaced_already_is_not_set_aside_again(tmp_path, caplog):
    corrupted(tmp_path, "text")
    broken = (tmp_path / FILE_NAME).read_bytes()
    first, second = VerdictCache.__new__(VerdictCache), VerdictCache(tmp_path)
    second.put("k", "of the first process")
    (tmp_path / "broken").write_bytes(broken)
    first.__init__(tmp_path)
    first.close()
    # The second process still believes that the file is broken.
    assert first._set_aside(sqlite3.DatabaseError("file is not a database"))
    assert first.get("k") == "of the first process"
    assert not (tmp_path / f"{FILE_NAME}.corrupt-2").exists()


def test_a_foreign_database_is_left_alone(tmp_path, caplog, server, monkeypatch):
    monkeypatch.setattr(
        "ctxmetrics.cache._REST_SECONDS", 0.0
    )  # tried again and again, and said once all the same
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("CREATE TABLE verdicts (mine TEXT)")
    connection.close()
    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        assert recall(run(server, 4, tmp_path)) == expected(4)
    assert len(caplog.records) == 1
    assert "judgements are not kept" in caplog.text
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("SELECT COUNT(*) FROM verdicts").fetchone() == (0,)


def test_a_locked_file_costs_time_but_no_result(tmp_path, monkeypatch, caplog, server):
    monkeypatch.setattr("ctxmetrics.cache._BUSY_SECONDS", 0.2)
    VerdictCache(tmp_path).put("k", "v")
    blocker = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        with caplog.at_level(logging.WARNING, "ctxmetrics"):
            assert recall(run(server, 4, tmp_path)) == expected(4)
        assert "locked" in caplog.text
        assert len(caplog.records) == 1
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda value: "no json",
        lambda value: value.replace('"format": 1', '"format": 2'),
        lambda value: json.dumps({**json.loads(value), "verdicts": {}}),
        lambda value: value.replace('"s2"', '"s3"'),
        lambda value: value.replace("true", "2"),
        lambda value: value.replace("true", "1"),
        lambda value: value.replace('"evidence": [[', '"evidence": [[99, '),
        lambda value: value.replace("[[0, 0,", "[[0, 5000,"),
        lambda value: value.replace("[[0, 0,", "[[-2, 0,"),
        lambda value: value.replace('"evidence": [[0, 0, 17]]', '"evidence": []'),
        lambda value: "[" * 100_000,
        lambda value: b"\xff\xfe not text",
        lambda value: 17,
        lambda value: None,
    ],
)
def test_a_value_that_was_tampered_with_is_asked_again_and_mended(tmp_path, server, change):
    first = run(server, 1, tmp_path)
    assert server.count == 1
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        ((value,),) = connection.execute("SELECT value FROM verdicts").fetchall()
        changed = change(value)
        assert changed != value
        if changed is None:
            connection.execute("DELETE FROM verdicts")
        else:
            connection.execute("UPDATE verdicts SET value = ?", (changed,))
    connection.close()
    again = run(server, 1, tmp_path)
    assert server.count == 2
    assert again[0]["context_recall"].verdicts == first[0]["context_recall"].verdicts
    third = run(server, 1, tmp_path)
    assert server.count == 2
    assert third[0]["context_recall"].verdicts == first[0]["context_recall"].verdicts


# --- kills and full disks ---

_RUN = """
import asyncio, json, os, sys
from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample, evaluate
from ctxmetrics.judges.base import Reply
from ctxmetrics.testing import answer_from
count, folder = int(sys.argv[1]), sys.argv[2]
log = os.open(f"{folder}/requests", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
answer = answer_from()

class Model:
    identity = "counted"
    async def generate(self, prompt, schema):
        os.write(log, b"x")
        await asyncio.sleep(0.03)
        return Reply(content=answer(prompt))

samples = [
    Sample(id=n, reference=f"This is number {n}. It looks scarlet.",
           retrieved_contexts=[f"This is number {n}. " + ("It looks scarlet." if n % 2 else "Nothing."), f"Something else {n}."])
    for n in range(count)
]
results = evaluate(samples, [ContextRecall(), ContextPrecision()], judge=LLMJudge(Model()),
                   cache=f"{folder}/cache", out=f"{folder}/out.jsonl", max_concurrency=8)
print(json.dumps([[row[name].value for name in results.metrics] for row in results]), flush=True)
"""


class Killed:
    """Runs of one evaluation in processes of their own that end before their time."""

    def __init__(self, folder, count):
        folder.mkdir()
        self.folder, self.count = folder, count

    @property
    def requests(self):
        log = self.folder / "requests"
        return log.stat().st_size if log.exists() else 0

    def rows(self):
        return [json.loads(line) for line in (self.folder / "out.jsonl").read_text().splitlines()]

    def run(self):
        given = self._start().communicate(timeout=60)[0]
        return json.loads(given)

    def stop_at(self, requests, number):
        process = self._start()
        while self.requests < requests:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(number)
        return process.communicate(timeout=60)[0]

    def _start(self):
        command = [sys.executable, "-c", _RUN, str(self.count), str(self.folder)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9, and Ctrl-C is for a whole console")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_stopped_runs_together_pay_hardly_more_than_one(tmp_path, number):
    count, stops = 60, 3
    undisturbed = Killed(tmp_path / "undisturbed", count)
    whole = undisturbed.run()
    assert undisturbed.requests == count
    stopped = Killed(tmp_path / "stopped", count)
    source = random.Random(4)
    for stop in range(1, stops + 1):
        output = stopped.stop_at(count * stop // (stops + 1) + source.randint(0, 8), number)
        rows = stopped.rows()
        if number == signal.SIGKILL:
            assert [row["sample_id"] for row in rows[::2]] == [str(index) for index in range(len(rows) // 2)]
        else:
            assert len(json.loads(output)) == count
            assert len(rows) == 2 * count
    assert stopped.run() == whole
    assert stopped.requests <= count + stops * 8
    assert len(stopped.rows()) == 2 * count


@pytest.fixture
def small_disk(tmp_path):
    """A disk of four megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", 0, b"size=4M") != 0:
        pytest.skip(f"no small disk could be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        yield place
    finally:
        libc.umount2(str(place).encode(), 2)


@pytest.mark.parametrize("free", [0, 20_000, 200_000])
def test_a_full_disk_under_the_cache_costs_no_result(small_disk, tmp_path, server, caplog, free):
    fill(small_disk, free)
    with caplog.at_level(logging.WARNING, "ctxmetrics"):
        results = run(server, 100, small_disk / "cache")
    assert recall(results) == expected(100)
    assert results.stopped is None
    assert server.count == 100
    assert len(caplog.records) == 1
    assert "the run goes on, judgements are not kept" in caplog.text
    (small_disk / "filler").unlink()
    assert recall(run(server, 100, small_disk / "cache")) == expected(100)
    paid = server.count
    assert recall(run(server, 100, small_disk / "cache")) == expected(100)
    assert server.count == paid <= 200  # with room on the disk, everything was kept


def test_a_full_disk_under_out_keeps_the_rows_before(small_disk):
    out = small_disk / "out.jsonl"
    fill(small_disk, 100_000)
    results = evaluate(samples(400), METRICS, out=out)
    assert (
        "out.jsonl cannot be written: No space left on device; the rows before are in it" in results.stopped
    )
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) % 2 == 0
    assert 20 < len(rows) < 200
    assert [row["value"] for row in rows[::2]] == recall(results)[: len(rows) // 2]
    assert len(results) == 400


def fill(place, free):
    with (place / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
        file.truncate(file.tell() - free)
