"""The benchmark of LLM-AggreFact, on a file of the same form: what it refuses, what it counts, and how it goes on."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from support import FakeOpenAIServer, answer_from
from support.benchmarks import load_benchmark

if TYPE_CHECKING:
    from pathlib import Path

# Of each claim what people say, and whether the judge, who looks for the claim's words, says yes.
# Set A: sensitivity 3 of 4, specificity 1 of 2. Set B: 1 of 1, and 1 of 1.
ROWS = [
    ("A", "The car is red. It has four doors.", "The car is red.", 1),
    ("A", "The car is red. It has four doors.", "It has four doors.", 1),
    ("A", "Filters are washed monthly.", "Filters are washed monthly.", 1),
    ("A", "Filters are washed monthly.", "A filter lasts a year.", 1),
    ("A", "The pump weighs twelve kilos.", "The library opens at nine.", 0),
    ("A", "The pump is not blue, they say. The pump is blue.", "The pump is blue.", 0),
    ("B", "The tower is tall.", "The tower is tall.", 1),
    ("B", "The house is old.", "Bananas grow quickly in summer.", 0),
]
FIELDS = ("dataset", "doc", "claim", "label")


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = load_benchmark("aggrefact")
    monkeypatch.setattr(module, "SETS", ("A", "B"))
    monkeypatch.setattr(module, "PAIRS", len(ROWS))
    return module


def write(path: Path, rows: list[dict[str, Any]]) -> tuple[Path, str]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def rows_of(*rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [{**dict(zip(FIELDS, row, strict=True)), "contamination_identifier": "x"} for row in rows]


def test_the_published_file_has_eleven_sets_and_their_mean() -> None:
    module = load_benchmark("aggrefact")
    assert len(module.SETS) == 11
    assert round(math.fsum(module.MINICHECK.values()) / 11, 1) == 77.4
    assert module.GPT_4O.keys() == module.MINICHECK.keys()
    assert round(math.fsum(module.GPT_4O.values()) / 11, 1) == 75.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "has 7 pairs, not 8"),
        (lambda rows: [*rows, *rows_of(("C", "d", "c", 1))], r"not published \['C'\]"),
        (lambda rows: [row for row in rows if row["dataset"] == "A"], r"missing \['B'\]"),
        (lambda rows: [{**rows[0], "claim": None}, *rows[1:]], "row 1: no claim"),
        (lambda rows: [*rows[:-1], {**rows[-1], "label": 2}], "row 8: label 2 is not 0 or 1"),
        (lambda rows: ["text"], "row 1: no dataset, doc, claim, label"),
    ],
)
def test_another_file_is_refused(benchmark: Any, tmp_path: Path, change: Any, message: str) -> None:
    path, digest = write(tmp_path / "test.jsonl", change(rows_of(*ROWS)))
    with pytest.raises(SystemExit, match=message):
        benchmark.read_pairs(path, digest)


def test_hash_must_be_given_and_right(benchmark: Any, tmp_path: Path) -> None:
    path, digest = write(tmp_path / "test.jsonl", rows_of(*ROWS))
    with pytest.raises(SystemExit, match=f"give --sha256 .* {digest}"):
        benchmark.read_pairs(path, None)
    with pytest.raises(SystemExit, match="this is another file"):
        benchmark.read_pairs(path, "0" * 64)
    with pytest.raises(SystemExit, match="is not there"):
        benchmark.read_pairs(tmp_path / "no.jsonl", digest)
    assert len(benchmark.read_pairs(path, digest.upper())) == len(ROWS)


def test_csv_and_parquet_are_the_same_pairs(benchmark: Any, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = rows_of(*ROWS)
    lines, digest = write(tmp_path / "test.jsonl", rows)
    table = tmp_path / "test.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    parquet = tmp_path / "test.parquet"
    pandas.DataFrame(rows).to_parquet(parquet)
    pairs = benchmark.read_pairs(lines, digest)
    for path in (table, parquet):
        assert benchmark.read_pairs(path, hashlib.sha256(path.read_bytes()).hexdigest()) == pairs


def test_figures_are_those_by_hand(benchmark: Any, tmp_path: Path, capsys: Any) -> None:
    path, digest = write(tmp_path / "test.jsonl", rows_of(*ROWS))
    out = tmp_path / "out.jsonl"
    report = benchmark.run([str(path), "--sha256", digest, "--out", str(out)])
    accuracies = {name: figures[0] for name, figures in report["sets"].items()}
    assert accuracies == {"A": pytest.approx(100 * (3 / 4 + 1 / 2) / 2), "B": 100.0}
    assert report["mean"] == pytest.approx((62.5 + 100) / 2)
    assert (report["pairs"], report["judged"], report["requests"]) == (8, 8, 0)
    low, high = report["interval"]
    assert low < report["mean"] < high
    shown = capsys.readouterr().out
    assert "published: Bespoke-MiniCheck-7B 77.4 (bar .5)" in shown
    assert "published: GPT-4o-2024-05-13 75.9 (yes or no)" in shown
    assert "mean of sets" in shown
    assert "over" not in report


def test_interval_of_the_mean_joins_independent_sets(benchmark: Any) -> None:
    """Standard errors of 3 and 4 per cent: that of the mean of both is 5 / 2."""
    width = 1.959964
    figures = [
        benchmark.SetFigures("A", 9, 9, 60.0, (60 - 3 * width, 60 + 3 * width)),
        benchmark.SetFigures("B", 9, 9, 80.0, (80 - 4 * width, 80 + 4 * width)),
    ]
    mean, ends = benchmark.average_sets(figures)
    assert mean == 70
    assert ends == (pytest.approx(70 - 2.5 * width), pytest.approx(70 + 2.5 * width))
    assert benchmark.average_sets([benchmark.SetFigures("A", 9, 0, None, None)]) == (None, None)


def test_claim_without_a_verdict_is_in_no_figure(benchmark: Any) -> None:
    pairs = [benchmark.Pair(*row[:3], row[3] == 1) for row in ROWS[:6]]
    figures = benchmark.count_set("A", pairs, [True, True, None, False, False, True])
    assert (figures.pairs, figures.judged) == (6, 5)
    assert figures.accuracy == pytest.approx(100 * (2 / 3 + 1 / 2) / 2)


def test_run_that_was_stopped_goes_on(
    benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    path, digest = write(tmp_path / "test.jsonl", rows_of(*ROWS))
    answer = answer_from(supported=lambda unit, text: unit in text)
    with FakeOpenAIServer(answer) as server:
        words = [
            str(path),
            "--sha256",
            digest,
            "--judge",
            "openai/gpt-test",
            "--base-url",
            server.base_url,
        ]
        words += [
            "--out",
            str(tmp_path / "out.jsonl"),
            "--max-concurrency",
            "1",
            "--price-in",
            "1000000",
        ]
        first = benchmark.run([*words, "--max-calls", "3"])
        assert "goes on" in first["over"][0]
        assert first["judged"] < len(ROWS)
        assert first["mean"] is None
        last = benchmark.run(words)
        asked = len(server.requests)
    assert "over" not in last
    assert last["judged"] == len(ROWS)
    assert last["requests"] == asked == len(ROWS)
    assert last["dollars"] == last["prompt_tokens"] > 0
