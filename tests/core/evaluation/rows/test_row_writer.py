"""Files that are written whole, by one thread or several, and files of a run that is resumed."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedNDCG,
    LexicalJudge,
    LLMJudge,
    NonLLMContextPrecision,
    Results,
    Sample,
    evaluate,
)
from ctxmetrics.evaluation.rows.output_files import write_whole
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.evaluate import run_in_caller
from ctxmetrics.models.base import Prompt, Reply
from support.answers import HonestResponder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel

    from ctxmetrics import Judgement, JudgeRequest, Metric


def test_two_threads_write_one_file_without_mixing(tmp_path: Path) -> None:
    place = tmp_path / "page.html"

    def write_in_between() -> Iterator[str]:
        yield "<p>first"
        other = threading.Thread(target=write_whole, args=(place, ["<p>second"]))
        other.start()
        other.join()
        assert place.read_text(encoding="utf-8") == "<p>second"
        yield ", whole"

    write_whole(place, write_in_between())
    assert place.read_text(encoding="utf-8") == "<p>first, whole"
    assert [*tmp_path.iterdir()] == [place]


JOINED = "Paris is in France. | Berlin is in Germany. | Rome is in Italy."


def resume(
    path: Path, before: Sequence[Sample], samples: Sequence[Sample], metric: Metric, **options: Any
) -> Results:
    """Score two of the samples as they were before, and resume with the samples as they are."""
    out = path / "out.jsonl"
    evaluate(
        before[:2], [metric], out=path / "before.jsonl", progress=False, **options.pop("first", {})
    )
    (path / "before.jsonl").rename(f"{out}.part")
    run_in_caller(Evaluation(samples, [metric], out=out, resume=True, progress=False, **options))
    return Results.from_jsonl(out)


def ranked(grade: int) -> list[Sample]:
    return [
        Sample(
            id=str(number),
            retrieved_context_ids=["a", "b"],
            reference_context_ids=["a", "b"],
            labels={"relevance": {"a": 1, "b": grade}},
        )
        for number in range(3)
    ]


def test_resume_computes_changed_grades_anew(tmp_path: Path) -> None:
    results = resume(tmp_path, ranked(3), ranked(1), IDBasedNDCG())
    assert [row["id_based_ndcg"].value for row in results] == [1.0, 1.0, 1.0]


def test_resume_writes_the_metadata_of_this_run(tmp_path: Path) -> None:
    before = [
        Sample(id=str(n), reference="a", retrieved_contexts=["a"], metadata={"topic": "old"})
        for n in range(3)
    ]
    samples = [replace(sample, metadata={"topic": "new"}) for sample in before]
    results = resume(tmp_path, before, samples, ContextRecall())
    assert {row.fields.metadata["topic"] for row in results} == {"new"}


@pytest.mark.parametrize(("first", "second"), [(False, True), (True, False)])
def test_resume_keeps_texts_of_all_rows_or_of_none(tmp_path: Path, first: bool, second: bool) -> None:
    samples = [Sample(id=str(n), reference="a b", retrieved_contexts=["a b"]) for n in range(3)]
    results = resume(
        tmp_path, samples, samples, ContextRecall(), first={"keep_texts": first}, keep_texts=second
    )
    assert [row.fields.retrieved_contexts for row in results] == [("a b",) if second else None] * 3


@pytest.mark.parametrize(("first", "second"), [(False, True), (True, False)])
def test_resume_with_another_reading_of_one_context(tmp_path: Path, first: bool, second: bool) -> None:
    samples = [
        Sample(id=str(n), reference_contexts=["Paris"], retrieved_contexts=[JOINED]) for n in range(8)
    ]
    metric = NonLLMContextPrecision()
    out = tmp_path / "out.jsonl"
    evaluate(samples, [metric], out=out, progress=False, one_context=first)
    lines = out.read_bytes().splitlines(keepends=True)
    Path(f"{out}.part").write_bytes(b"".join(lines[:5]))
    run_in_caller(
        Evaluation(samples, [metric], out=out, resume=True, progress=False, one_context=second)
    )
    codes = [row[metric.name].reason_code for row in Results.from_jsonl(out)]
    assert codes == [None if second else "joined_contexts"] * 8


def test_resume_takes_over_rows_of_any_metadata(tmp_path: Path) -> None:
    """Among them is a question without an answer, about which no judge is asked."""
    metadata = {
        "n": float("nan"),
        "many": 10**30,
        "half": "\ud800",
        "list": [1, 2.5, None],
        "when": datetime(2026, 1, 2, tzinfo=UTC),
    }
    samples = [
        Sample(
            id=str(n),
            reference="a b",
            retrieved_contexts=["a b"],
            metadata=metadata,
            labels={"unanswerable": n == 0},
        )
        for n in range(3)
    ]
    asked: list[str] = []

    @dataclass(frozen=True, kw_only=True)
    class CountingJudge(LexicalJudge):
        async def attribute(self, request: JudgeRequest) -> Judgement:
            asked.append(request.contexts[0])
            return await super().attribute(request)

    results = resume(tmp_path, samples, samples, ContextRecall(judge=CountingJudge()))
    assert [row["context_recall"].reason_code for row in results] == ["unanswerable", None, None]
    assert len(asked) == 2  # one before, and one of the resumed run


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(None, ["new"], ["new"]), (["old"], ["new"], ["new"]), (["old"], None, ["old"])],
)
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_resume_writes_the_tags_of_this_run(
    tmp_path: Path, name: str, first: list[str] | None, second: list[str] | None, expected: list[str]
) -> None:
    samples = [Sample(id=str(n), reference="a b", retrieved_contexts=["a b"]) for n in range(3)]
    out = tmp_path / name
    evaluate(samples[:2], [ContextRecall()], out=tmp_path / "first.jsonl", tags=first, progress=False)
    (tmp_path / "first.jsonl").rename(f"{out}.part")
    run_in_caller(
        Evaluation(samples, [ContextRecall()], out=out, resume=True, tags=second, progress=False)
    )
    results = Results.from_jsonl(out)
    assert results.start["tags"] == expected
    assert [row.sample_id for row in results] == ["0", "1", "2"]


class CountingModel:
    """A model that answers by words, and counts its requests."""

    identity = "counting"

    def __init__(self) -> None:
        self.requests = 0

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        self.requests += 1
        return Reply(content=HonestResponder(supported={}, useful={}, claims={})(prompt))


@pytest.mark.parametrize(
    ("first", "second", "requests"),
    [
        ({}, {}, 2),
        ({"votes": 3}, {"votes": 3}, 6),
        ({}, {"votes": 3}, 12),
        ({"votes": 3}, {}, 4),
        ({}, {"language": "de"}, 4),
        ({"joint": False}, {}, 4),
        ({}, {"keep_raw": True}, 2),
    ],
)
def test_resume_with_other_options_of_the_judge(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], requests: int
) -> None:
    samples = [Sample(id=str(n), reference=f"A b {n}.", retrieved_contexts=["A b."]) for n in range(4)]

    def build_metric(model: CountingModel, options: dict[str, Any]) -> ContextRecall:
        return ContextRecall(judge=LLMJudge(model, reuse=False, **options))

    out = tmp_path / "out.jsonl"
    earlier = tmp_path / "earlier.jsonl"
    evaluate(samples[:2], [build_metric(CountingModel(), first)], out=earlier, progress=False)
    earlier.rename(f"{out}.part")
    model = CountingModel()
    run_in_caller(
        Evaluation(samples, [build_metric(model, second)], out=out, resume=True, progress=False)
    )
    assert model.requests == requests
    assert len(Results.from_jsonl(out)) == 4


def test_resume_says_that_no_row_fits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = [Sample(id=str(n), reference="a b", retrieved_contexts=["a b"]) for n in range(3)]
    resume(tmp_path, before, before, ContextRecall())
    assert "no row of the earlier run is taken over" not in caplog.text
    others = [replace(sample, reference="c d") for sample in before]
    results = resume(tmp_path, before, others, ContextRecall())
    assert [row["context_recall"].value for row in results] == [0.0, 0.0, 0.0]
    assert "no row of the earlier run is taken over" in caplog.text
