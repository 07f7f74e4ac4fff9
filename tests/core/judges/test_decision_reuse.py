"""What a decision judge asks once: requests, tokens, the memory, the cache, other processes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import (
    ContextRecall,
    DecisionAPI,
    DecisionJudge,
    LLMJudge,
    VerdictCache,
    compare,
    estimate,
    evaluate,
    forget,
    read_samples,
)
from ctxmetrics.errors import ParameterError
from support.deadlines import LONGEST_PROCESS
from support.decision_model import LAYOUTS, METRICS, SAMPLE, Model, score
from support.decisions import DecisionServer, honest

ROOT = Path(__file__).parents[3]
HANDBOOK = ROOT / "examples" / "handbook.jsonl"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


class TestReuse:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_two_metrics_ask_once(self, layout: Any, tmp_path: Path) -> None:
        sizes = []
        for metrics in (METRICS, METRICS[:1]):
            forget()
            model = Model()
            judge = DecisionJudge(model, layout=layout)
            results = evaluate([SAMPLE], metrics, judge=judge, progress=False)
            assert results.usage.calls == len(model.asked)
            sizes.append(len(model.asked))
        assert sizes[0] == sizes[1]

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_another_bar_costs_nothing(self, layout: Any, tmp_path: Path) -> None:
        model = Model()
        judge = DecisionJudge(model, layout=layout)
        options: dict[str, Any] = {"cache": tmp_path, "progress": False}
        first = evaluate([SAMPLE], METRICS, judge=judge, **options)
        count = len(model.asked)
        second = evaluate([SAMPLE], METRICS, judge=replace(judge, bar=0.9), **options)
        assert len(model.asked) == count
        assert (first.usage.calls, second.usage.calls) == (count, 0)
        assert second[0]["context_recall"].provenance.served_model == "served-1"

    def test_other_k_costs_no_cell(self, tmp_path: Path) -> None:
        model = Model()
        judge = DecisionJudge(model, together=False)
        for k in (3, 2, 1):
            metrics = [replace(metric, top_k=k) for metric in METRICS]
            evaluate([SAMPLE], metrics, judge=judge, cache=tmp_path, progress=False)
        assert len(model.asked) == 3 + 1

    def test_another_model_is_asked(self) -> None:
        first, second = Model(identity="a"), Model(identity="b")
        for model in (first, second):
            score(ContextRecall(), DecisionJudge(model))
        assert len(first.asked) == len(second.asked) == 4 + 1

    def test_changed_cache_is_asked_again(self, tmp_path: Path) -> None:
        store: dict[str, str] = {}

        class Store:
            get = staticmethod(store.get)
            put = staticmethod(store.__setitem__)

        model = Model()
        options: dict[str, Any] = {"cache": Store(), "progress": False}
        judge = DecisionJudge(model, layout="sample")
        evaluate([SAMPLE], METRICS, judge=judge, **options)
        assert len(store) == 11
        for key, value in store.items():
            store[key] = value.replace("0.", "9.")
        forget()
        evaluate([SAMPLE], METRICS, judge=judge, **options)
        assert len(model.asked) == 2

    def test_another_process_is_waited_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, second = VerdictCache(tmp_path / "first"), VerdictCache(tmp_path / "second")
        model = Model()
        evaluate([SAMPLE], METRICS, judge=DecisionJudge(model), cache=first, progress=False)
        count = len(model.asked)
        with closing(sqlite3.connect(first.path)) as connection:
            values = connection.execute("SELECT key, value FROM verdicts").fetchall()
        refused: set[str] = set()

        def claim(cache: VerdictCache, key: str) -> bool:
            """Refuse each claim once; by then the other process has kept its answers."""
            for other_key, value in values:
                cache.put(other_key, value)
            first_time = key not in refused
            refused.add(key)
            return not first_time

        monkeypatch.setattr(VerdictCache, "claim", claim)
        forget()
        results = evaluate([SAMPLE], METRICS, judge=DecisionJudge(model), cache=second, progress=False)
        assert refused
        assert (results[0]["context_recall"].value, len(model.asked)) == (1.0, count)

    @pytest.mark.slow
    def test_two_processes_on_one_cache(self, tmp_path: Path) -> None:
        """Of about 60 requests of .1 s at most six are sent twice; each process asks one again in another order."""
        file = tmp_path / "samples.jsonl"
        file.write_text("".join(HANDBOOK.read_text(encoding="utf-8").splitlines(keepends=True)[:12]))

        def wait(_: Any, body: dict[str, Any]) -> dict[str, Any]:
            time.sleep(0.1)  # so that the two processes ask at the same time
            return body

        with DecisionServer(change=wait) as server:
            judge = "--judge", "systemone/m", "--base-url", server.url
            command = [sys.executable, "-m", "ctxmetrics", "score", str(file), *judge]
            command += ["--cache", str(tmp_path / "cache")]
            processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in "12"]
            # Two starts of Python beside other work; only a process that hangs reaches it.
            assert [process.wait(timeout=LONGEST_PROCESS) for process in processes] == [0, 0]
            bodies = [json.dumps(asked.body) for asked in server.requests]
        assert len(bodies) - len(set(bodies)) <= 6

    def test_failures_are_not_kept(self) -> None:
        model = Model(lambda *_: None)
        judge = DecisionJudge(model, layout="sample")
        assert score(ContextRecall(), judge).value is None
        model.answer = honest
        assert score(ContextRecall(), judge).value == 1.0

    def test_compare_names_the_change_of_the_model(self) -> None:
        results = []
        named = [replace(SAMPLE, id=str(number)) for number in range(3)]
        with DecisionServer() as server:
            judge = DecisionJudge(DecisionAPI("jev-latest", wire="systemone", base_url=server.url))
            for served in ("jev-1.13.0", "jev-1.14.0"):
                forget()
                server.model = served
                results.append(evaluate(named, METRICS, judge=judge, progress=False))
        with pytest.raises(ParameterError, match=r"\(jev-1.13.0\) and .*\(jev-1.14.0\)"):
            compare(*results)
        notes = results[0][0]["context_recall"].provenance.warnings
        assert any("jev-latest" in note for note in notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "wire", "requests", "most"),
    [
        ("sample", "systemone", 35, 0.9),
        ("sample", "openai", 35, 0.95),
        ("context", "systemone", 165, 2.4),
        ("context", "openai", 165, 2.45),
    ],
)
def test_costs_on_the_handbook(layout: Any, wire: Any, requests: int, most: float) -> None:
    """docs/decision-models.md has these figures."""
    page = " ".join((ROOT / "docs" / "decision-models.md").read_text(encoding="utf-8").split())
    if wire == "systemone":
        assert f"`{layout}` sends {requests} requests and {most} times" in page
    samples = list(read_samples(HANDBOOK))
    of_llm = estimate(samples, METRICS, judge=LLMJudge(Silent()))
    with DecisionServer() as server:
        judge = DecisionJudge(DecisionAPI("m", wire=wire, base_url=server.url), layout=layout)
        usage = evaluate(samples, METRICS, judge=judge, progress=False).usage
    assert (len(samples), of_llm.calls) == (36, 35)
    assert usage.calls == len(server.requests) == requests
    # The server counts characters / 4 of the whole body, ids and frames included.
    assert most - 0.05 < usage.prompt_tokens / of_llm.prompt_tokens < most


class Silent:
    """A language model that only has a name: `estimate` asks none."""

    identity = "silent"

    async def generate(self, prompt: Any, schema: Any) -> Any:
        raise NotImplementedError
