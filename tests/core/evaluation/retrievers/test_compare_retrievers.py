"""A comparison of retrievers: errors, time limits, what is kept, stops, differences and how they are shown."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    LLMJudge,
    Results,
    Sample,
    ScriptedJudge,
    acompare_retrievers,
    compare,
    compare_retrievers,
    read_samples,
)
from ctxmetrics.errors import InputFileError, MissingFieldError, ParameterError, SampleError
from ctxmetrics.evaluation.retrievers.retriever_run import RetrieverRun, run_retrievers
from ctxmetrics.evaluation.runs.engine import INTERRUPTED
from ctxmetrics.models.runtime.background import background_loop
from support import answer_from
from support.deadlines import DEADLINE, HeldDeadline

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FACTS = [f"Fact {number} has the value {7 * number + 100}." for number in range(14)]
QUESTIONS = [
    Sample(
        id=f"q{number}",
        user_input=f"What are facts {number} and {number + 1}?",
        reference=f"{FACTS[number]} {FACTS[number + 1]}",
        reference_context_ids=[f"d{number}", f"d{number + 1}"],
    )
    for number in range(12)
]


def both(question: str) -> list[dict[str, str]]:
    """Both facts of a question, and one more."""
    number = int(question.split()[3])
    return [{"id": f"d{place % 14}", "text": FACTS[place % 14]} for place in (number, number + 1, 9)]


def first(question: str) -> list[dict[str, str]]:
    """The first of both only."""
    return both(question)[:1]


METRICS = [ContextRecall(), ContextPrecision(), IDBasedContextRecall()]


def recalls(found: Any, name: str) -> list[float | None]:
    return [row["context_recall"].value for row in found[name].results]


def test_differences_are_those_of_compare() -> None:
    found = compare_retrievers(QUESTIONS, {"first": first, "both": both}, METRICS)
    assert recalls(found, "first") == [0.5] * 12
    assert recalls(found, "both") == [1.0] * 12
    item = found.difference("both", "context_recall")
    assert item is not None
    assert (item.difference, item.better, item.worse, item.verdict) == (0.5, 12, 0, "better")
    again = compare(found["first"].results, found["both"].results)
    assert again["context_recall"].difference == 0.5
    assert found.difference("first", "context_recall") is None


def test_holm_counts_all_settings() -> None:
    def third(question: str) -> Any:
        return first(question) if question.split()[3] in "0123456789" else both(question)

    two = compare_retrievers(QUESTIONS, {"first": first, "both": both}, METRICS)
    three = compare_retrievers(QUESTIONS, {"first": first, "both": both, "third": third}, METRICS)
    one, other = two.difference("both", "context_recall"), three.difference("both", "context_recall")
    assert one is not None
    assert other is not None
    assert other.p_adjusted == pytest.approx(2 * one.p)


def test_primary_metrics_get_the_verdicts() -> None:
    found = compare_retrievers(
        QUESTIONS, {"first": first, "both": both}, METRICS, primary=["context_precision"]
    )
    assert found.comparisons is not None
    verdicts = {item.name: item.verdict for item in found.comparisons.runs["both"].metrics}
    assert verdicts["context_recall"] is None
    assert verdicts["context_precision"] is not None
    with pytest.raises(ParameterError, match="no metric is named so"):
        compare_retrievers(QUESTIONS, {"first": first}, METRICS, primary=["faithfulness"])


# --- what goes wrong with a retriever ---


def test_an_error_costs_that_question_of_that_setting() -> None:
    def sometimes(question: str) -> Any:
        if question.split()[3] in ("3", "7"):
            raise ConnectionError("no route to the index, api_key=sk-secret1234567890abcdef")
        return both(question)

    found = compare_retrievers(QUESTIONS, {"both": both, "sometimes": sometimes}, METRICS)
    assert recalls(found, "both") == [1.0] * 12
    assert [place for place, value in enumerate(recalls(found, "sometimes")) if value is None] == [3, 7]
    score = found["sometimes"].results[3]["context_recall"]
    assert score.reason_code == "retriever_error"
    assert score.sample_id == "q3"
    assert (score.message or "").startswith("ConnectionError: no route to the index")
    assert "sk-secret" not in (score.message or "")
    calls = found["sometimes"].calls
    assert (calls.calls, calls.errors, found.errors) == (12, 2, 2)
    assert [name for name, _ in calls.first_errors] == ["q3", "q7"]
    item = found.difference("sometimes", "context_recall")
    assert item is not None
    assert (item.samples, item.unpaired) == (10, 2)


def test_nothing_fewer_and_repeated_contexts_are_counted() -> None:
    def odd(question: str) -> Any:
        number = int(question.split()[3])
        if number == 0:
            return []
        return first(question) * 2 if number == 1 else both(question)

    found = compare_retrievers(QUESTIONS, {"odd": odd}, METRICS, k=3)
    calls = found["odd"].calls
    assert (calls.empty, calls.fewer, calls.repeated) == (1, 1, 3)  # d9 stands twice for q8 and q9
    assert recalls(found, "odd")[:3] == [0.0, 0.5, 1.0]
    assert calls.contexts == pytest.approx((0 + 2 + 10 * 3) / 12)


def test_tokens_are_the_characters_of_the_contexts_by_four() -> None:
    texts = compare_retrievers(QUESTIONS[:1], {"one": lambda _: ["a" * 40, "b" * 4]}, METRICS[:1])
    assert texts["one"].calls.tokens == 11
    ids = compare_retrievers(
        [Sample(user_input="q", reference_context_ids=["d1"])], {"one": lambda _: ["d1"]}, METRICS[2:]
    )
    assert ids["one"].calls.tokens is None


def test_a_time_limit_ends_a_call_and_not_the_run() -> None:
    released = threading.Event()

    def stuck(_: str) -> Any:
        released.wait(60)

    async def stuck_coroutine(_: str) -> Any:
        await asyncio.sleep(60)

    try:
        found = compare_retrievers(
            QUESTIONS[:2],
            {"function": stuck, "coroutine": stuck_coroutine},
            METRICS,
            retrieval_timeout=0.1,
        )
    finally:
        released.set()
    for name in found.settings:
        calls = found[name].calls
        assert (calls.calls, calls.errors) == (2, 2)
        assert calls.first_errors == (
            ("q0", "no answer within 0.1 s"),
            ("q1", "no answer within 0.1 s"),
        )


def test_calls_at_a_time_are_bounded() -> None:
    running = 0
    most = 0
    lock = threading.Lock()
    meeting = threading.Barrier(3)

    def counting(question: str) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        found = both(question)
        with lock:
            running -= 1
        return found

    def waiting(question: str) -> Any:
        """Return when three are asked at a time."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        meeting.wait(60)
        with lock:
            running -= 1
        return both(question)

    compare_retrievers(QUESTIONS, {"one": counting, "two": counting}, METRICS)
    assert most == 1
    found = compare_retrievers(
        QUESTIONS, {"one": waiting, "two": waiting}, METRICS, retrieval_concurrency=3
    )
    assert (most, found.errors) == (3, 0)


def test_calls_are_interleaved_and_each_setting_is_first_in_turn() -> None:
    asked: list[tuple[str, str]] = []

    def named(name: str) -> Any:
        def ask(question: str) -> Any:
            asked.append((question.split()[3], name))
            return both(question)

        return ask

    compare_retrievers(QUESTIONS[:3], {name: named(name) for name in "abc"}, METRICS)
    assert asked == [
        *(("0", "a"), ("0", "b"), ("0", "c")),
        *(("1", "b"), ("1", "c"), ("1", "a")),
        *(("2", "c"), ("2", "a"), ("2", "b")),
    ]


# --- what is kept ---


def test_what_was_retrieved_is_kept_and_not_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str) -> Any:
        asked.append(question)
        if len(asked) == 5:
            raise RuntimeError("once")
        return [(document, 0.5) for document in both(question)]

    compare_retrievers(QUESTIONS, {"my setting/1": ask}, METRICS, folder=tmp_path)
    assert len(asked) == 12
    kept = tmp_path / "my_setting_1.retrieved.jsonl"
    samples = list(read_samples(kept))
    assert [sample.id for sample in samples] == [question.id for question in QUESTIONS]
    assert samples[0].retrieved_contexts == (FACTS[0], FACTS[1], FACTS[9])
    assert samples[0].metadata["retrieval"]["scores"] == [0.5, 0.5, 0.5]
    results = Results.from_jsonl(tmp_path / "my_setting_1.jsonl")
    assert [row["context_recall"].value for row in results].count(1.0) == 11

    found = compare_retrievers(QUESTIONS, {"my setting/1": ask}, METRICS, folder=tmp_path, resume=True)
    assert asked[12:] == ["What are facts 4 and 5?"]  # the one that failed
    assert recalls(found, "my setting/1") == [1.0] * 12

    compare_retrievers(QUESTIONS, {"my setting/1": ask}, METRICS, folder=tmp_path, resume=True, k=2)
    assert len(asked) == 13
    deeper = compare_retrievers(
        QUESTIONS, {"my setting/1": ask}, METRICS, folder=tmp_path, resume=True, k=20
    )
    assert len(asked) == 13 + 12  # more was wanted than was kept
    assert deeper.k == 20
    compare_retrievers(QUESTIONS, {"my setting/1": ask}, METRICS, folder=tmp_path)
    assert len(asked) == 13 + 24


def test_a_line_that_a_kill_cut_off_is_asked_again(tmp_path: Path) -> None:
    compare_retrievers(QUESTIONS, {"one": both}, METRICS, folder=tmp_path)
    kept = tmp_path / "one.retrieved.jsonl"
    kept.write_bytes(kept.read_bytes()[:-20])
    asked: list[str] = []

    def ask(question: str) -> Any:
        asked.append(question)
        return both(question)

    compare_retrievers(QUESTIONS, {"one": ask}, METRICS, folder=tmp_path, resume=True)
    assert asked == [QUESTIONS[-1].user_input]
    assert len(kept.read_text().splitlines()) == 12


KILLED = """
import os, signal, sys
from ctxmetrics import ContextRecall, Sample, compare_retrievers

def ask(question):
    if question.endswith("5"):
        os.kill(os.getpid(), signal.SIGKILL)
    return ["A text."]

questions = [Sample(id=str(n), user_input=f"Question {n}", reference="A text.") for n in range(8)]
compare_retrievers(questions, {"one": ask}, [ContextRecall()], folder=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_kill_loses_nothing_that_was_retrieved(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    asked: list[str] = []

    def ask(question: str) -> list[str]:
        asked.append(question)
        return ["A text."]

    questions = [
        Sample(id=str(number), user_input=f"Question {number}", reference="A text.")
        for number in range(8)
    ]
    found = compare_retrievers(questions, {"one": ask}, METRICS[:1], folder=tmp_path, resume=True)
    assert asked == ["Question 5", "Question 6", "Question 7"]
    assert recalls(found, "one") == [1.0] * 8


def test_a_file_of_other_data_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "one.retrieved.jsonl").write_text('{"mine": 1}\n')
    with pytest.raises(InputFileError, match="other data"):
        compare_retrievers(QUESTIONS, {"one": both}, METRICS, folder=tmp_path)
    assert (tmp_path / "one.retrieved.jsonl").read_text() == '{"mine": 1}\n'


def test_ctrl_c_returns_what_is_there_and_loses_nothing(tmp_path: Path) -> None:
    released = threading.Event()

    def interrupting(question: str) -> Any:
        if question.split()[3] == "5":  # as `run_sync` does at Ctrl-C
            background_loop().call_soon_threadsafe(stopping.stop, INTERRUPTED)
            released.wait(60)
        return both(question)

    stopping = RetrieverRun(QUESTIONS, {"one": interrupting}, METRICS, folder=tmp_path)
    try:
        part = run_retrievers(stopping)
    finally:
        released.set()
    assert part.stopped == "interrupted"
    assert part["one"].results[11]["context_recall"].reason_code == "cancelled"
    assert not (tmp_path / "one.jsonl").exists()
    asked: list[str] = []

    def ask(question: str) -> Any:
        asked.append(question)
        return both(question)

    found = compare_retrievers(QUESTIONS, {"one": ask}, METRICS, folder=tmp_path, resume=True)
    assert len(asked) == 7
    assert recalls(found, "one") == [1.0] * 12


def test_a_deadline_stops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    released, deadline = threading.Event(), HeldDeadline(monkeypatch)

    def stuck(question: str) -> Any:
        if question.split()[3] == "4":
            deadline.bring()
            released.wait(60)
        return both(question)

    try:
        found = compare_retrievers(QUESTIONS, {"one": both, "two": stuck}, METRICS, deadline=DEADLINE)
    finally:
        released.set()
    assert found.stopped == "the deadline of 1800 s was reached"
    assert found["two"].results[11]["context_recall"].reason_code == "cancelled"
    assert "stopped early: the deadline of 1800 s was reached" in str(found)


# --- ceilings ---


def test_ceilings_are_the_union_and_the_best_of_each_question() -> None:
    def second(question: str) -> Any:
        return both(question)[1:2]

    responder = answer_from(
        supported=lambda unit, contexts: (True, unit, unit) if unit in contexts else False,
        useful=lambda context, answer: context in answer,
    )
    judge = ScriptedJudge(responder, name="verbatim")
    found = compare_retrievers(
        QUESTIONS, {"first": first, "second": second}, METRICS, judge=judge, progress=False
    )
    by_metric = {item.metric: item for item in found.ceilings}
    assert (by_metric["context_recall"].best, by_metric["context_recall"].together) == (0.5, 1.0)
    assert by_metric["id_based_context_recall"].together == 1.0
    assert by_metric["context_precision"].together is None
    assert found.usage.calls == 12  # the union costs no request
    alone = compare_retrievers(
        QUESTIONS, {"first": first, "second": second}, METRICS, judge=judge, pooled=False
    )
    assert {item.metric: item.together for item in alone.ceilings}["context_recall"] is None


# --- what is refused ---


@pytest.mark.parametrize(
    ("questions", "retrievers", "says", "error"),
    [
        (QUESTIONS, {}, "must map names", ParameterError),
        (QUESTIONS, [both], "must map names", ParameterError),
        (QUESTIONS, {"a b": both, "a_b": both}, "the same file", ParameterError),
        (QUESTIONS, {"": both}, "must be a text", ParameterError),
        ([], {"one": both}, "no question", ParameterError),
        (QUESTIONS[0], {"one": both}, "several samples", ParameterError),
        ([Sample(id="x", reference="r")], {"one": both}, "no user_input", MissingFieldError),
        ([Sample(user_input="q")], {"one": both}, "No sample has reference", MissingFieldError),
        ([*QUESTIONS, QUESTIONS[0]], {"one": both}, "same id", SampleError),
        ([7], {"one": both}, "must be a Sample", SampleError),
    ],
)
def test_misuse_is_refused_before_any_call(
    questions: Any, retrievers: Any, says: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match=says):
        compare_retrievers(questions, retrievers, METRICS)


def test_ids_that_no_retriever_returns_are_named_before_judging() -> None:
    judge = ScriptedJudge({"joint": ["never asked"]})
    with pytest.raises(MissingFieldError, match="No sample has retrieved_context_ids"):
        compare_retrievers(QUESTIONS, {"one": lambda _: ["text"]}, METRICS, judge=judge)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"out": "x.jsonl"}, "write folder="),
        ({"resume": True}, "resume needs folder="),
        ({"k": 0}, "k=0"),
        ({"retrieval_timeout": 0}, "retrieval_timeout=0"),
        ({"retrieval_concurrency": 0}, "retrieval_concurrency=0"),
    ],
)
def test_wrong_options_are_named(options: Mapping[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        compare_retrievers(QUESTIONS, {"one": both}, METRICS, **options)


def test_questions_may_be_mappings_or_a_file(tmp_path: Path) -> None:
    rows = [{"question": "What is fact 1?", "ground_truth": FACTS[1]}]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for questions in (rows, file, str(file)):
        found = compare_retrievers(questions, {"one": lambda _: [FACTS[1]]}, METRICS[:2])
        assert recalls(found, "one") == [1.0]


# --- one result ---


def test_text_and_markdown_name_what_each_setting_lost() -> None:
    found = compare_retrievers(QUESTIONS, {"both": both, "first": first}, METRICS)
    text = str(found)
    assert "12 questions, the first 10 contexts; differences are those to both" in text
    assert "s2 lost by first; held by both (rank 2): Fact 1 has the value 107." in text
    assert "first: context_recall: worse by 0.500" in text
    markdown = found.markdown()
    assert markdown.count("| context\\_recall |") + markdown.count("| context_recall |") == 2
    assert "lost by first" in markdown


def test_json_holds_the_figures_and_every_loss() -> None:
    found = compare_retrievers(QUESTIONS, {"both": both, "first": first}, METRICS)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["settings"]["first"]["differences"][0]["difference"] == -0.5
    assert data["settings"]["both"]["differences"] is None
    assert data["settings"]["both"]["calls"]["calls"] == 12
    assert len(data["lost"]) == 12
    assert data["lost"][0]["units"][1]["ranks"] == {"both": 2, "first": None}


def test_page_shows_settings_side_by_side_and_escapes_texts(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    found = compare_retrievers(
        QUESTIONS,
        {"both": both, hostile: lambda question: [hostile, *first(question)]},
        METRICS[:2],
    )
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert hostile not in page
    assert page.count("<polyline") == 2
    assert "✓ rank 2" in page
    assert "Calls of the retrievers" in page
    assert found._repr_html_().startswith("<div")


def test_a_setting_that_retrieved_nothing_lost_every_unit() -> None:
    found = compare_retrievers(QUESTIONS, {"both": both, "nothing": lambda _: []}, METRICS[:2])
    assert "s1 lost by nothing; held by both (rank 1)" in str(found)


def test_settings_without_a_common_value_are_not_compared() -> None:
    def fails(_: str) -> Any:
        raise RuntimeError("down")

    found = compare_retrievers(QUESTIONS, {"both": both, "fails": fails}, METRICS)
    assert found.comparisons is None
    assert "the settings are not compared" in str(found)
    assert recalls(found, "both") == [1.0] * 12


def test_a_single_setting_has_figures_and_no_difference() -> None:
    found = compare_retrievers(QUESTIONS, {"both": both}, METRICS, judge=None)
    assert found.comparisons is None
    assert found.ceilings == ()
    assert "differences" not in str(found)


def test_the_judge_of_a_metric_is_pooled_too() -> None:
    responder = answer_from(useful=lambda context, answer: context in answer)
    judge = ScriptedJudge(responder, name="of the metric")
    assert isinstance(judge, LLMJudge)
    found = compare_retrievers(
        QUESTIONS, {"both": both, "first": first}, [ContextRecall(judge=judge)], progress=False
    )
    assert found.pools is not None
    assert found.pools.questions == 12


def test_async_form_gives_the_same() -> None:
    found = compare_retrievers(QUESTIONS, {"both": both, "first": first}, METRICS)
    later = asyncio.run(acompare_retrievers(QUESTIONS, {"both": both, "first": first}, METRICS))
    for name in found.settings:
        assert recalls(found, name) == recalls(later, name)


def test_a_folder_with_scores_of_nan_can_be_resumed(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str) -> list[tuple[str, float]]:
        asked.append(question)
        return [(document["text"], float("nan")) for document in both(question)]

    options: dict[str, Any] = {"folder": tmp_path, "k": 3}
    compare_retrievers(QUESTIONS, {"one": ask}, METRICS[:1], **options)
    file = tmp_path / "one.retrieved.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:  # as earlier versions wrote them
        line["metadata"]["retrieval"]["scores"] = [None, None, None]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = compare_retrievers(QUESTIONS, {"one": ask}, METRICS[:1], resume=True, **options)
    assert len(asked) == len(QUESTIONS)
    assert again["one"].results.summary()["context_recall"].mean == 1.0


def test_the_floor_writes_no_file_of_a_setting(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    found = compare_retrievers(QUESTIONS, {"bm25!": both}, METRICS[:1], corpus=FACTS, folder=tmp_path)
    assert [*found.settings] == ["bm25!", "bm25 of ctxmetrics"]
