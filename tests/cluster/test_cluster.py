"""score_table on clusters: what one process gives; each batch is a run with limits of its own."""

from __future__ import annotations

import contextlib
import random
import re
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LLMJudge,
    NonLLMContextRecall,
    OpenAIModel,
    score_table,
)
from ctxmetrics.errors import MissingFieldError, ParameterError
from support import FakeOpenAIServer, answer_from
from support.clusters import WORKERS
from support.killing import killing_model
from support.later import later, skip_without

skip_without("pyarrow", "openai")
pa = later("pyarrow")
parquet = later("pyarrow.parquet")
pytestmark = pytest.mark.cluster

LIMIT = 8


class OnRay:
    def __init__(self, ray):
        self._ray = ray

    def distributed(self, table, parts):
        return self._ray.data.from_arrow(table).repartition(parts)

    def collected(self, dataset):
        return pa.Table.from_pylist(dataset.take_all())


class OnSpark:
    def __init__(self, session):
        self._session = session

    def distributed(self, table, parts):
        return self._session.createDataFrame(table).repartition(parts)

    def collected(self, frame):
        return frame.toArrow()


@pytest.fixture(params=["ray", "spark"])
def engine(request):
    fixture = request.getfixturevalue(f"{request.param}_cluster")
    return (OnRay if request.param == "ray" else OnSpark)(fixture)


def rows(table):
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def judged_table(count):
    return pa.table(
        {
            "id": [f"{number:05}" for number in range(count)],
            "user_input": [f"Which colour has door {number}?" for number in range(count)],
            "reference": [
                f"Door {number} is green. Door {number} is heavy." for number in range(count)
            ],
            "retrieved_contexts": [
                [f"Door {number} is green.", "Birds sing."] for number in range(count)
            ],
        }
    )


def judge_at(server):
    return LLMJudge(OpenAIModel("judge", base_url=server.base_url, api_key="sk-none"))


def honest():
    return answer_from(supported=lambda unit, contexts: any(unit in context for context in contexts))


def test_ids_strings_and_embedded_judge_equal_one_process(engine):
    source = random.Random(3)
    judged = judged_table(400)
    ids = [
        [
            None
            if source.random() < 0.05
            else [f"d{source.randrange(9)}" for _ in range(source.randrange(6))]
            for _ in range(400)
        ]
        for _ in range(2)
    ]
    table = (
        judged.append_column("retrieved_context_ids", pa.array(ids[0]))
        .append_column("reference_context_ids", pa.array(ids[1]))
        .append_column("reference_contexts", judged["retrieved_contexts"])
        .rename_columns(
            {"user_input": "question", "reference": "Ground Truth", "retrieved_contexts": "contexts"}
        )
    )
    metrics = [
        IDBasedContextRecall(), IDBasedContextPrecision(), NonLLMContextRecall(), ContextRecall(), ContextPrecision(),
    ]  # fmt: skip
    scored = score_table(engine.distributed(table, 4), metrics)
    assert type(scored) is type(engine.distributed(table, 1))
    assert rows(engine.collected(scored)) == rows(score_table(table, metrics))


def test_judge_gives_one_process_values_also_after_a_kill(engine, tmp_path):
    killed, table = tmp_path / "killed", judged_table(120)
    with FakeOpenAIServer(honest(), latency=0.05) as server:
        options = {"max_concurrency": LIMIT, "timeout": 60.0, "cache": tmp_path / "cache"}
        judge = judge_at(server)
        killing = LLMJudge(killing_model(judge.model, killed, "Door 75 is green."))
        scored = score_table(engine.distributed(table, 4), [ContextRecall()], judge=killing, **options)
        found = rows(engine.collected(scored))
        assert killed.exists()
        assert [row["context_recall"] for row in found] == [0.5] * 120
        assert server.max_in_flight <= WORKERS * LIMIT  # each worker has one batch at a time
        assert 0 <= server.count - 120 <= WORKERS * LIMIT  # what was in flight is asked again
        assert found == rows(score_table(table, [ContextRecall()], judge=judge, **options))


def test_cached_frame_read_twice_sends_each_request_once(spark_cluster, tmp_path):
    engine = OnSpark(spark_cluster)
    with FakeOpenAIServer(honest()) as server:
        frame = engine.distributed(judged_table(40), 4)
        scored = score_table(frame, [ContextRecall()], judge=judge_at(server), cache=tmp_path)
        assert rows(engine.collected(scored)) == rows(engine.collected(scored))
        assert server.count == 40


@pytest.mark.usefixtures("engine")
def test_everything_listens_on_the_loopback_address():
    psutil = pytest.importorskip("psutil", reason="psutil is not installed")
    this = psutil.Process()
    listening = set()
    for process in (this, *this.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended since it was listed
            listening |= {
                (process.name(), connection.laddr.ip)
                for connection in process.net_connections("inet")
                if connection.status == psutil.CONN_LISTEN
            }
    assert listening
    assert [found for found in listening if not found[1].endswith("127.0.0.1")] == []


def test_each_batch_has_a_budget(engine):
    with FakeOpenAIServer(honest()) as server:
        scored = score_table(
            engine.distributed(judged_table(60), 1),
            [ContextRecall()],
            judge=judge_at(server),
            max_calls=20,
        )
        found = [
            (row["context_recall"], row["context_recall.reason_code"])
            for row in engine.collected(scored).to_pylist()
        ]
        assert server.count == 20
    assert sorted(found, key=str) == [(0.5, None)] * 20 + [(None, "not_judged")] * 40


def test_why_no_row_was_judged_is_logged_on_the_driver(spark_cluster, caplog):
    """A key that a server refuses: each batch has no verdict, for one reason, which is logged once."""
    engine = OnSpark(spark_cluster)
    with FakeOpenAIServer(honest(), api_key="sk-right") as server:
        frame = engine.distributed(judged_table(60), 3)
        scored = score_table(frame, [ContextRecall()], judge=judge_at(server))
        assert {row["context_recall.reason_code"] for row in rows(engine.collected(scored))} == {
            "not_judged"
        }
    said = [record.getMessage() for record in caplog.records if "no row of a batch" in record.message]
    assert len(said) == 1
    assert "Incorrect API key" in said[0]
    assert "sk-none" not in said[0]


def test_options_of_one_process_are_refused(engine):
    given = engine.distributed(judged_table(2), 1)
    for name, value in (
        ("out", "x.jsonl"),
        ("deadline", 1.0),
        ("progress", True),
        ("keep_texts", True),
    ):
        with pytest.raises(ParameterError, match=f"{name}= is for one process"):
            score_table(given, [ContextRecall()], **{name: value})


def test_a_field_of_no_column_is_said_before_any_worker_asks(engine):
    with FakeOpenAIServer(honest()) as server:
        with pytest.raises(MissingFieldError, match="No sample has reference_context_ids"):
            score_table(
                engine.distributed(judged_table(4), 1),
                [ContextRecall(), IDBasedContextRecall()],
                judge=judge_at(server),
            )
        assert server.count == 0


BLOCKS = re.findall(
    r"^```python cluster\n(.*?)^```$",
    Path(__file__).parents[2].joinpath("docs", "running.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize("code", BLOCKS, ids=["spark", "judged on ray"])
def test_the_examples_of_the_page_run(code, request, tmp_path, monkeypatch):
    request.getfixturevalue("spark_cluster" if "pyspark" in code else "ray_cluster")
    table = judged_table(6).set_column(
        3,
        "retrieved_contexts",
        pa.array([[f"Door {n} is green. Door {n} is heavy."] for n in range(6)]),
    )
    for name in ("retrieved_context_ids", "reference_context_ids"):
        table = table.append_column(name, pa.array([["a"]] * 6))
    parquet.write_table(table, tmp_path / "samples.parquet")
    with FakeOpenAIServer(honest()) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        exec(compile(code.replace("/data/", f"{tmp_path}/"), "running.md", "exec"), {})  # noqa: S102 - our page
        assert server.count == (6 if "LLMJudge" in code else 0)
    written = [path for folder in tmp_path.glob("scores-of-*") for path in folder.glob("*.parquet")]
    assert {
        value for path in written for value in parquet.read_table(path)["context_recall"].to_pylist()
    } <= {1.0}
    assert bool(written) is ("write" in code)
