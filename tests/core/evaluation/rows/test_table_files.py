"""Results as tables: what another program reads in them, and what is read again."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    Sample,
    evaluate,
    read_samples,
)
from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError
from ctxmetrics.evaluation.runs.results import Results
from support.command import run_command

if TYPE_CHECKING:
    from pathlib import Path

METRICS = [ContextRecall(), ContextPrecision()]
FORMULAS = [
    "=1+1",
    "+SUM(1)",
    "-5 degrees.",
    "@cmd",
    "\tTab first.",
    "\rReturn first.",
    "'=quoted",
    "''",
    "' plain",
]
SAMPLES = [
    Sample(
        id="a",
        user_input="Ünïcode?",
        reference="Three years. It is red.",
        retrieved_contexts=["It is blue today.", "Three years of it."],
        metadata={"topic": "pump"},
    ),
    Sample(id="b", user_input="No answer?", retrieved_contexts=["It is."]),
]
FORMS = [".csv", ".xlsx", ".parquet"]


def needs(ending: str) -> None:
    """Skip where the package of a form is not installed."""
    packages = {".xlsx": "openpyxl", ".parquet": "pyarrow"}
    if ending in packages:
        pytest.importorskip(packages[ending])


def tables_in(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read both tables with another program; cells without a value are left out."""
    if path.suffix == ".xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.load_workbook(path)
        assert book.sheetnames == ["samples", "verdicts"]
        sheets = [[[cell.value for cell in row] for row in sheet] for sheet in book.worksheets]
        both = [[dict(zip(names, row, strict=True)) for row in rows] for names, *rows in sheets]
    else:
        pandas = pytest.importorskip("pandas")
        read = pandas.read_csv if path.suffix == ".csv" else pandas.read_parquet
        paths = (path, path.with_name(f"{path.stem}.verdicts{path.suffix}"))
        both = [json.loads(read(file).to_json(orient="records")) for file in paths]
    samples, verdicts = (
        [{key: value for key, value in row.items() if value is not None} for row in rows]
        for rows in both
    )
    return samples, verdicts


@pytest.mark.parametrize("ending", FORMS)
def test_a_table_has_a_row_a_sample(ending: str, tmp_path: Path) -> None:
    needs(ending)
    path = tmp_path / f"scores{ending}"
    evaluate(SAMPLES, METRICS, out=path, keep_texts=True, progress=False)
    (first, second), verdicts = tables_in(path)
    # By hand: one of two sentences is stated, in the second of two contexts.
    assert (first["context_recall"], first["context_precision"]) == (0.5, 0.5)
    assert first["context_recall.doubtful"] == first["context_precision.doubtful"] == 0
    assert (first["id"], first["user_input"]) == ("a", "Ünïcode?")
    assert "context_recall" not in second
    assert second["context_recall.reason_code"] == "missing_field"
    answers = [(row["sample_id"], row["metric"], row["verdict"], row["value"]) for row in verdicts]
    assert answers == [
        ("a", "context_recall", "s1", "yes"),
        ("a", "context_recall", "s2", "no"),
        ("a", "context_precision", "c1", "no"),
        ("a", "context_precision", "c2", "yes"),
    ]
    assert verdicts[0]["text"] == "Three years."
    assert not (tmp_path / f"scores{ending}.part").exists()


@pytest.mark.parametrize("ending", FORMS)
def test_a_table_is_read_again_as_samples(ending: str, tmp_path: Path) -> None:
    needs(ending)
    samples = [
        Sample(id=str(number), user_input=text, reference=text, retrieved_contexts=[text, "plain text"])
        for number, text in enumerate(FORMULAS)
    ]
    path = tmp_path / f"scores{ending}"
    evaluate([*SAMPLES, *samples], METRICS, out=path, keep_texts=True, progress=False)
    fields = ("id", "user_input", "reference", "retrieved_contexts")
    for sample, again in zip([*SAMPLES, *samples], read_samples(path), strict=True):
        assert [getattr(again, name) for name in fields] == [getattr(sample, name) for name in fields]
    assert next(read_samples(path)).metadata["topic"] == "pump"
    done = run_command("score", path, "-m", "context_recall")
    assert done.returncode == 0, done.stderr


def test_no_cell_of_a_spreadsheet_is_a_formula(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    samples = [
        Sample(id=text, user_input=text, reference=f"{text} here", retrieved_contexts=[f"{text} here"])
        for text in FORMULAS[:6]
    ]
    results = evaluate(samples, METRICS, progress=False)
    results.to_csv(tmp_path / "scores.csv")
    results.to_excel(tmp_path / "scores.xlsx")
    cells: list[Any] = []
    for name in ("scores.csv", "scores.verdicts.csv"):
        with (tmp_path / name).open(encoding="utf-8-sig", newline="") as file:
            cells += [cell for row in csv.reader(file) for cell in row]
    for sheet in openpyxl.load_workbook(tmp_path / "scores.xlsx").worksheets:
        assert {cell.data_type for row in sheet for cell in row} <= {"s", "n"}
        cells += [cell.value for row in sheet for cell in row if isinstance(cell.value, str)]
    assert len(cells) > 100
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_what_a_sheet_cannot_hold_is_cut_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    sample = Sample(user_input="\x01How?", reference="Yes it is.", retrieved_contexts=["word " * 8000])
    evaluate([sample], METRICS, progress=False).to_excel(tmp_path / "scores.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "scores.xlsx")["samples"]
    values = dict(zip(*sheet.iter_rows(values_only=True), strict=True))
    assert values["user_input"] == "\ufffdHow?"
    assert len(values["retrieved_contexts"]) == 32_767
    assert "were cut" in caplog.text


@pytest.mark.parametrize("before", range(1, 8))
def test_a_sheet_counts_a_carriage_return_as_excel_writes_it(
    before: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of 9,000 returns of seven characters each, what fits stays, whole, and the cut is said."""
    openpyxl = pytest.importorskip("openpyxl")
    text = "x" * before + "\r" * 9000
    sample = Sample(user_input=text, reference="Yes it is.", retrieved_contexts=["Yes it is."])
    evaluate([sample], METRICS, progress=False).to_excel(tmp_path / "scores.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "scores.xlsx")["samples"]
    values = dict(zip(*sheet.iter_rows(values_only=True), strict=True))
    returns = (32_766 - before) // 7
    assert values["user_input"] == "x" * before + "_x000D_" * returns + "…"
    assert "were cut" in caplog.text


def test_texts_are_in_a_table_only_where_asked_for(tmp_path: Path) -> None:
    evaluate(SAMPLES, METRICS, out=tmp_path / "scores.csv", progress=False)
    assert "Three years of it" not in (tmp_path / "scores.csv").read_text(encoding="utf-8")
    samples = list(read_samples(tmp_path / "scores.csv"))
    assert [sample.user_input for sample in samples] == ["Ünïcode?", "No answer?"]


@pytest.mark.parametrize(
    "name", ["scores.pdf", "scores.json", "scores.xls", "scores.csv.gz", "scores.txt"]
)
def test_an_ending_that_cannot_be_written_is_refused_first(name: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps(sample.to_dict()) + "\n" for sample in SAMPLES))
    done = run_command("score", rows, "--out", tmp_path / name)
    assert (done.returncode, "are not written as" in done.stderr) == (2, True)
    with pytest.raises(ParameterError, match="are not written as"):
        evaluate(SAMPLES, METRICS, out=tmp_path / name, progress=False)
    done = run_command("score", rows, "--report", tmp_path / "report.pdf")
    assert (done.returncode, "--report FILE.html" in done.stderr) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]


def test_the_verdicts_are_no_input(tmp_path: Path) -> None:
    rows = tmp_path / "scores.verdicts.csv"
    rows.write_text("reference,retrieved_contexts\nIt is.,It is.\n")
    done = run_command("score", rows, "--out", tmp_path / "scores.csv")
    assert (done.returncode, "are the same file" in done.stderr) == (2, True)


def test_a_method_refuses_another_ending(tmp_path: Path) -> None:
    results = evaluate(SAMPLES, METRICS, progress=False)
    for write, name in ((results.to_csv, "a.xlsx"), (results.to_excel, "a.csv")):
        with pytest.raises(ParameterError, match="must end in"):
            write(tmp_path / name)


@pytest.mark.parametrize("ending", FORMS)
def test_a_foreign_table_is_never_replaced(ending: str, tmp_path: Path) -> None:
    needs(ending)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["a"], "context_recall": [1.0]})
    path = tmp_path / f"own{ending}"
    {".csv": frame.to_csv, ".xlsx": frame.to_excel, ".parquet": frame.to_parquet}[ending](path)
    before = path.read_bytes()
    with pytest.raises(InputFileError, match="it holds data that no run wrote"):
        evaluate(SAMPLES, METRICS, out=path, progress=False)
    assert path.read_bytes() == before
    for _ in range(2):  # its own it replaces
        evaluate(SAMPLES, METRICS, out=tmp_path / f"scores{ending}", progress=False)


def test_a_foreign_file_of_the_verdicts_name_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "scores.verdicts.csv").write_text("id,mine\n1,2\n")
    with pytest.raises(InputFileError, match=r"scores\.verdicts\.csv"):
        evaluate(SAMPLES, METRICS, out=tmp_path / "scores.csv", progress=False)
    assert not (tmp_path / "scores.csv").exists()


def test_a_stopped_run_leaves_lines_and_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"

    def broken() -> Any:
        yield SAMPLES[0]
        raise OSError("the disk is gone")

    with pytest.raises(CtxMetricsError, match="broke off after 1"):
        evaluate(broken(), METRICS, out=path, progress=False)
    assert len(list(Results.from_jsonl(f"{path}.part"))) == 1
    evaluate(SAMPLES, METRICS, out=path, resume=True, progress=False)
    assert [row["id"] for row in tables_in(path)[0]] == ["a", "b"]
    with pytest.raises(CtxMetricsError, match=r"FILE\.jsonl"):
        Results.from_jsonl(path)


def test_ids_are_escaped_and_read_again(tmp_path: Path) -> None:
    sample = Sample(retrieved_context_ids=["-1", "=x"], reference_context_ids=["-1"])
    evaluate([sample], [IDBasedContextRecall()], out=tmp_path / "a.csv", progress=False)
    (again,) = read_samples(tmp_path / "a.csv")
    assert again.retrieved_context_ids == ("-1", "=x")


def test_parquet_holds_what_arrow_cannot_infer(tmp_path: Path) -> None:
    """Half a character, a fact with a weight beside facts without one, and a metric without any value."""
    pytest.importorskip("pyarrow")
    facts: list[Any] = [[{"text": "It is red.", "importance": "vital"}], ["It is blue.", "It is big."]]
    samples = [
        Sample(id=str(number), reference="", retrieved_contexts=["It is red."], **fields)
        for number, fields in enumerate(
            {"reference_facts": items, "metadata": {"half": "\ud800"}} for items in facts
        )
    ]
    path = tmp_path / "scores.parquet"
    evaluate(samples, [ContextRecall()], out=path, keep_texts=True, progress=False)
    rows, verdicts = tables_in(path)
    assert [row["context_recall.reason_code"] for row in rows] == ["no_reference", "no_reference"]
    assert rows[0]["metadata"] == '{"half": "\ufffd"}'
    assert not verdicts
    assert [len(sample.reference_facts or ()) for sample in read_samples(path)] == [1, 2]
    pandas = pytest.importorskip("pandas")
    assert pandas.read_parquet(path)["context_recall"].dtype == "float64"
