"""Several retrievals of one question in one file are refused, or read one by one; a property of passages is no setting."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    IDBasedReciprocalRank,
    Sample,
    evaluate,
    read_samples,
    score_table,
)
from ctxmetrics.errors import CtxMetricsError, ParameterError, SampleError
from support.command import run_command

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TEXTS = {
    "a": "The pump stands in the cellar.",
    "b": "The lamp in the hall is red.",
    "c": "Only an engineer may open the valve.",
}
IDS: dict[str, Any] = {"retrieved_context_ids": ["a", "b"], "reference_context_ids": ["b"]}
RUNS = {"bm25": "ba", "dense": "ac"}  # the right one second: 1/2; first: 1


def rows_of_lists(column: str, runs: dict[str, str] = RUNS, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "question": f"Where is pump {number}?",
            column: name,
            "contexts": [TEXTS[key] for key in keys],
            "ground_truth": TEXTS["a"],
            **more,
        }
        for name, keys in runs.items()
        for number in range(3)
    ]


def rows_of_passages(column: str, runs: dict[str, str] = RUNS) -> list[dict[str, Any]]:
    return [
        {
            "question": f"Where is pump {number}?",
            column: name,
            "rank": rank,
            "contexts": TEXTS[key],
            "ground_truth": TEXTS["a"],
        }
        for number in range(3)
        for name, keys in runs.items()
        for rank, key in enumerate(keys, 1)
    ]


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    if path.suffix == ".csv":
        pytest.importorskip("pandas").DataFrame(rows).to_csv(path, index=False)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def values_of(samples: Any) -> list[float | None]:
    results = evaluate(samples, [ContextPrecision()], progress=False)
    return [row["context_precision"].value for row in results]


WITH_AND_WITHOUT_GROUPS: tuple[dict[str, Any], ...] = ({}, {"group_by": "question"})
NAMES = [
    "system",
    "retriever",
    "Retrieval Method",
    "run_id",
    "query_run",
    "search_type",
    "tag",
    "model",
]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize("column", [*NAMES, "k_or_so"])
def test_lists_of_two_systems_are_refused(column: str, ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"rows.{ending}", rows_of_lists(column))
    with pytest.raises(CtxMetricsError, match="has several retrievals") as refusal:
        list(read_samples(path))
    assert f"{column}=bm25" in str(refusal.value)
    assert "--group-by" not in str(refusal.value)
    assert values_of(read_samples(path, only={column: "bm25"})) == [0.5] * 3
    assert values_of(read_samples(path, only={column: "dense"})) == [1] * 3
    samples = [*read_samples(path, by=column)]
    assert [sample.metadata[column] for sample in samples] == ["bm25"] * 3 + ["dense"] * 3
    assert values_of(samples) == [0.5] * 3 + [1] * 3


@pytest.mark.parametrize("column", NAMES)
def test_one_id_a_row_of_two_systems_is_not_joined(column: str, tmp_path: Path) -> None:
    rows = []
    for question, expected, other in (("Where?", "a", "b"), ("When?", "c", "d")):
        for system, retrieved in (("bm25", expected), ("dense", other)):
            ids = {"retrieved_context_ids": [retrieved], "reference_context_ids": [expected]}
            rows.append({"question": question, column: system, **ids})
    path = write(tmp_path / "rows.jsonl", rows)
    for options in WITH_AND_WITHOUT_GROUPS:
        with pytest.raises(CtxMetricsError, match="has several retrievals") as refusal:
            list(read_samples(path, **options))
        assert f"--by {column}" in str(refusal.value) or f"--by '{column}'" in str(refusal.value)


@pytest.mark.parametrize("column", [*NAMES, "k_or_so"])
def test_passages_of_two_systems_are_not_joined(column: str, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.csv", rows_of_passages(column))
    for options in WITH_AND_WITHOUT_GROUPS:
        with pytest.raises(CtxMetricsError, match=r"line 2: .* has several retrievals"):
            list(read_samples(path, **options))
    group: dict[str, Any] = {"group_by": "question"}
    assert values_of(read_samples(path, only={column: "bm25"}, **group)) == [0.5] * 3
    assert values_of(read_samples(path, by=column, **group)) == [0.5] * 3 + [1] * 3


def test_one_passage_a_system_is_no_list_of_passages(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", rows_of_lists("system", {"bm25": "b", "dense": "a"}))
    with pytest.raises(SampleError, match="--only system=bm25") as refusal:
        list(read_samples(path))
    assert "--group-by" not in str(refusal.value)
    assert values_of([*read_samples(path, by="system")]) == [0, 0, 0, 1, 1, 1]


def test_numbers_and_systems_of_one_length_are_named(tmp_path: Path) -> None:
    rows = rows_of_lists("query_run", {1: "ba", 2: "ac"})  # type: ignore[dict-item]  # Open RAG Eval counts them
    path = write(tmp_path / "rows.jsonl", rows)
    with pytest.raises(SampleError, match="--only query_run=1 "):
        list(read_samples(path))
    assert values_of(read_samples(path, only={"query_run": 2})) == [1] * 3


def test_a_system_far_below_is_refused_too(tmp_path: Path) -> None:
    rows = [
        {**rows_of_lists("system", {name: keys})[0], "question": f"Where is pump {number}?"}
        for name, keys in RUNS.items()
        for number in range(150)
    ]
    path = write(tmp_path / "rows.jsonl", rows)
    with pytest.raises(SampleError, match=r"line 151: .*--by system"):
        list(read_samples(path))
    with pytest.raises(SampleError, match=r"Sample 151: .*--by system"):
        evaluate(rows, [ContextPrecision()], progress=False)
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    with pytest.raises(SampleError, match="--by system"):
        score_table(pandas.DataFrame(rows), [ContextPrecision()])


def test_rows_and_tables_of_two_systems_are_refused() -> None:
    rows = rows_of_lists("retriever")
    with pytest.raises(SampleError, match="'retriever' differs"):
        evaluate(rows, [ContextPrecision()], progress=False)
    assert values_of([row for row in rows if row["retriever"] == "dense"]) == [1] * 3
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    with pytest.raises(SampleError, match="'retriever' differs"):
        score_table(pandas.DataFrame(rows), [ContextPrecision()])
    passages = pandas.DataFrame(rows_of_passages("retriever"))
    with pytest.raises(SampleError, match="'retriever' differs"):
        score_table(passages, [ContextPrecision()], group_by="question")


def test_samples_of_two_systems_are_said(caplog: pytest.LogCaptureFixture) -> None:
    samples = [Sample.from_dict(row, "auto") for row in rows_of_lists("system")]
    assert values_of(samples) == [0.5] * 3 + [1] * 3
    assert "a mean over all samples describes none of them" in caplog.text


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("source", {"guide.pdf": "b", "manual.pdf": "ac"}),
        ("page", {"1": "b", "2": "a", "3": "c"}),
        ("passage_id", {"[1]": "b", "[2]": "a", "[3]": "c"}),
        ("title", {"Lamps": "b", "Pumps": "a", "Valves": "c"}),
        ("index", {"0": "b", "1": "a", "2": "c"}),
        ("version", {"v1": "ba", "v2": "c"}),
    ],
)
def test_a_property_of_passages_is_no_setting(
    column: str, values: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        {name: value for name, value in row.items() if name != "rank"}
        for row in rows_of_passages(column, values)
    ]
    path = write(tmp_path / "rows.jsonl", rows)
    assert values_of(read_samples(path, group_by="question")) == [0.5] * 3


def test_people_or_models_over_the_same_contexts_are_no_setting(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", rows_of_lists("system", {"gpt": "ba", "claude": "ba"}))
    assert values_of(read_samples(path)) == [0.5] * 6


def test_a_question_with_another_answer_is_another_question(tmp_path: Path) -> None:
    rows = [
        {**row, "ground_truth": f"{row['ground_truth']} {row['model']}"}
        for row in rows_of_lists("model")
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert len([*read_samples(path)]) == 6


def test_a_column_that_is_carried_along_is_no_setting(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", rows_of_lists("tag"))
    samples = list(read_samples(path, columns={"tag": "metadata"}))
    assert values_of(samples) == [0.5] * 3 + [1] * 3


def test_ids_of_single_calls_are_no_setting(tmp_path: Path) -> None:
    rows = [
        {**row, "question": f"Where is pump {number % 120}?", "run_id": f"call-{number}"}
        for number, row in enumerate(
            rows_of_lists("note", {str(n): "ba" if n < 40 else "ac" for n in range(80)})
        )
    ]
    path = write(
        tmp_path / "rows.jsonl", [{k: v for k, v in row.items() if k != "note"} for row in rows]
    )
    assert values_of(read_samples(path)) == [0.5] * 120 + [1] * 120


def test_by_of_a_topic_reads_the_file_once(tmp_path: Path) -> None:
    rows = rows_of_lists("topic", {"pumps": "ba"}, id=None)
    path = write(tmp_path / "rows.jsonl", [{**row, "id": n} for n, row in enumerate(rows)])
    assert [sample.id for sample in read_samples(path, by="topic")] == ["0", "1", "2"]


def test_runs_of_two_tags_are_refused_and_read(tmp_path: Path) -> None:
    run = tmp_path / "both.trec"
    lines = [
        f"q{number} Q0 {key} {rank} {9 - rank} {tag}"
        for number in range(2)
        for tag, keys in RUNS.items()
        for rank, key in enumerate(keys, 1)
    ]
    run.write_text("\n".join(lines))
    gold = tmp_path / "gold.qrels"
    gold.write_text("q0 0 a 1\nq1 0 a 1\nq2 0 a 1\n")
    with pytest.raises(CtxMetricsError, match="--only tag=bm25"):
        list(read_samples(run, references=gold))
    metrics = [IDBasedReciprocalRank()]
    for options, expected in (
        ({"only": {"tag": "bm25"}}, [0.5, 0.5, 0]),
        ({"by": "tag"}, [0.5, 0.5, 0, 1, 1, 0]),  # each run lacks q2
    ):
        samples = read_samples(run, references=gold, **options)  # type: ignore[arg-type]  # one of both
        results = evaluate(samples, metrics, progress=False)
        assert [row["id_based_reciprocal_rank"].value for row in results] == expected


def test_only_names_the_values_that_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", rows_of_lists("system"))
    with pytest.raises(ParameterError, match=r"no row has it\. There is system: bm25, dense"):
        list(read_samples(path, only={"system": "splade"}))


@pytest.mark.parametrize(("value", "count"), [("None", 1), (None, 2)])
def test_only_tells_none_from_the_text_none(value: str | None, count: int, tmp_path: Path) -> None:
    rows = [
        {"question": "Q1", "contexts": ["a"], "model": "None"},
        {"question": "Q2", "contexts": ["a"], "model": None},
        {"question": "Q3", "contexts": ["a"]},
    ]
    path = write(tmp_path / "rows.jsonl", rows)
    assert len([*read_samples(path, only={"model": value})]) == count


def test_only_says_that_a_column_has_no_value(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [{"question": "Q1", "contexts": ["a"]}])
    with pytest.raises(ParameterError, match=r"no row has it\. There is model: no value\."):
        list(read_samples(path, only={"model": "a"}))


def test_by_needs_a_value_in_every_row(tmp_path: Path) -> None:
    rows = [*rows_of_lists("system"), {"question": "Where is pump 0?", "contexts": ["x y"]}]
    path = write(tmp_path / "rows.jsonl", rows)
    with pytest.raises(ParameterError, match="by=system: some rows have no value there"):
        list(read_samples(path, by="system"))


def test_the_command_offers_what_runs(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", rows_of_lists("system"))
    metric = ("-m", "context_precision")
    refused = run_command("score", path, *metric)
    assert refused.returncode == 2
    assert "--only system=bm25" in refused.stderr
    done = run_command("score", path, *metric, "--only", "system=bm25")
    assert "context_precision  0.5000" in done.stdout
    done = run_command("score", path, *metric, "--by", "system")
    assert "bm25   context_precision  0.5000" in done.stdout
    assert "dense  context_precision  1.0000" in done.stdout
    assert "a mean over all samples describes none of them" in done.stderr
    shown = run_command("inspect", path, "--only", "system=dense").stdout
    assert "--only system=dense" in shown
    assert run_command("score", path, "--only", "system").returncode == 2


def test_keys_of_metadata_may_be_numbers() -> None:
    samples = [Sample(id=str(n), metadata={1: "a", 2.5: "b"}, **IDS) for n in range(2)]
    assert len(evaluate(samples, [IDBasedReciprocalRank()], progress=False)) == 2


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_setting_that_is_a_fraction_is_seen(tmp_path: Path, ending: str) -> None:
    rows = rows_of_lists("alpha", {"0.1": "ba", "0.9": "ac"})
    path = write(tmp_path / f"rows.{ending}", [{**row, "alpha": float(row["alpha"])} for row in rows])
    with pytest.raises(CtxMetricsError, match="'alpha' differs between its rows"):
        values_of(read_samples(path))
    assert values_of(read_samples(path, only={"alpha": 0.1})) == [0.5] * 3


def test_a_measured_fraction_is_no_setting(tmp_path: Path) -> None:
    rows = rows_of_lists("seconds")
    rows = [{**row, "seconds": 0.1 + number / 7} for number, row in enumerate(rows)]
    assert values_of(read_samples(write(tmp_path / "rows.jsonl", rows))) == [0.5] * 3 + [1] * 3


def test_a_setting_in_an_object_is_seen(tmp_path: Path) -> None:
    rows = rows_of_lists("k", {"5": "ba", "9": "ac"})
    nested = [{**row, "config": {"top_k": row["k"], "model": "x"}, "k": None} for row in rows]
    path = write(tmp_path / "rows.jsonl", nested)
    with pytest.raises(CtxMetricsError, match=r"'config\.top_k' differs .* --only config\.top_k=5"):
        values_of(read_samples(path))
    assert values_of(read_samples(path, only={"config.top_k": "9"})) == [1] * 3
    carried = read_samples(path, columns={"config.top_k": "metadata"})
    assert values_of(carried) == [0.5] * 3 + [1] * 3


def test_runs_that_were_appended_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [
        {"question": question, "contexts": [TEXTS[key] for key in keys], "ground_truth": TEXTS["a"]}
        for keys in ("ab", "bc")
        for question in ("Where is it?", "What is it?")
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert len(list(read_samples(file))) == len(rows)
    assert "2 of 2 questions stand in several rows with other retrieved items" in caplog.text


def test_questions_that_are_asked_again_are_no_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = {"question": "Where is it?", "contexts": [TEXTS["a"], TEXTS["b"]], "ground_truth": TEXTS["a"]}
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, [row, row])), encoding="utf-8")
    assert len(list(read_samples(file))) == 2
    assert "several rows" not in caplog.text


def test_the_text_none_is_a_value_of_by(tmp_path: Path) -> None:
    """Without a reranker the passage is found, with one it is not."""
    path = tmp_path / "rows.jsonl"
    rows = [
        {
            "user_input": "Who?",
            "retrieved_context_ids": ids,
            "reference_context_ids": ["1"],
            "reranker": reranker,
        }
        for ids, reranker in ((["1"], "None"), (["2"], "cohere"))
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    samples = [*read_samples(path, by="reranker")]
    assert [sample.retrieved_context_ids for sample in samples] == [("1",), ("2",)]
    del rows[0]["reranker"]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(ParameterError, match="by=reranker: some rows have no value there"):
        list(read_samples(path, by="reranker"))
