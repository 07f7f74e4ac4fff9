"""Inputs as people's sheets and exports have them: the right numbers from the right questions and texts, or a refusal.

`inputs.json` and `forms.json` hold them, `orders.json` those whose order or grades stand in fields, `tools.json` and
`replies.json` those of tools, of services and of tables with headers in plain words, `public.json` those of public repositories and
data sets. Values were computed by hand; those of runs with qrels are ir-measures' too.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedNDCG,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Sample,
    evaluate,
    read_samples,
    score_table,
)
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.samples.field_keys import FIELDS
from support.cases import each_case
from support.command import run_command
from support.later import later, skip_without
from support.peers import ir_measure

skip_without("pandas")

pandas = later("pandas")


INPUTS: list[dict[str, Any]] = [
    item
    for name in (
        "inputs.json",
        "orders.json",
        "replies.json",
        "tools.json",
        "forms.json",
        "public.json",
    )
    for item in json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
]
# Values that JSON does not have, as `inputs.json` writes them.
MISSING = {"<NaN>": lambda: float("nan"), "<NaT>": lambda: pandas.NaT, "<NA>": lambda: pandas.NA}
NAMES = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
}
# What some paths need beside pandas.
NEEDED = {"xlsx": "openpyxl", "parquet": "pyarrow", "table": "narwhals"}
ROW_PATHS = ("command", "csv", "xlsx", "parquet", "python", "table")
FILE_PATHS = ("command", "python")
METRICS = {
    metric.name: metric
    for metric in (
        ContextRecall(),
        ContextPrecision(),
        IDBasedNDCG(top_k=10),
        IDBasedRecallAtK(),
        IDBasedReciprocalRank(),
        NonLLMContextRecall(),
        NonLLMContextPrecision(),
        ContextRecall(unit="fact"),
        ContextPrecision(unit="fact"),
    )
}


# Of one table in several forms, the README's command tries a list of rows.
_MORE_PATHS = ("xlsx", "parquet", "command", "table")


def list_inputs(path: str, *, slow: bool) -> list[dict[str, Any]]:
    """Return the inputs that take a path, those of the README's command or the slow ones."""
    items = []
    for item in INPUTS:
        paths = item.get("paths", ("python",))
        if "paths" not in item and "sample" not in item:
            paths = ROW_PATHS if "rows" in item else FILE_PATHS
        is_slow = path in _MORE_PATHS or (path != "csv" and "slow" in item)
        if path in paths and is_slow is slow:
            items.append({**item, **item.get(path, {})})
    return items


def replace_missing(value: Any) -> Any:
    """Return a value of a row, with the values that JSON does not have."""
    if isinstance(value, list):
        return [replace_missing(item) for item in value]
    if isinstance(value, str) and value in MISSING:
        return MISSING[value]()
    return value


def read_rows(item: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an input."""
    return [{name: replace_missing(value) for name, value in row.items()} for row in item["rows"]]


def rename(row: dict[str, Any]) -> Sample | dict[str, Any]:
    """Return a row in our own names, or a sample of it where it has names of its own."""
    renamed = {NAMES.get(name, name): value for name, value in row.items()}
    return renamed if renamed.keys() <= {*FIELDS} else Sample.from_dict(row, "auto")


def write_file(item: dict[str, Any], path: str, folder: Path) -> Path:
    """Write the file of an input, or its files, and return the one that is scored."""
    if "files" in item:
        for name, lines in item["files"].items():
            (folder / name).write_text("\n".join(lines) + "\n", encoding=item.get("encoding", "utf-8"))
        names: list[str] = list(item["files"])
        return folder / names[0]
    file = folder / f"rows.{'jsonl' if path == 'command' else path}"
    rows = read_rows(item)
    if path == "command":
        lines = [json.dumps(row, default=lambda _: None) for row in rows]
        file.write_text("\n".join(lines), encoding="utf-8")
        return file
    frame = pandas.DataFrame(rows)
    if path == "csv":
        frame.to_csv(file, index=False)
    elif path == "xlsx":
        frame.to_excel(file, index=False)
    else:
        frame.to_parquet(file)
    return file


def reading_options(item: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the options of `read_samples`."""
    options = dict(item.get("options", {}))
    if "references" in options:
        options["references"] = folder / options["references"]
    return options


def score_command(item: dict[str, Any], folder: Path) -> tuple[dict[str, list[Any]], str]:
    """Score a file on the command line; return the values of `--out`, and what was printed."""
    arguments: list[Any] = []
    for name, value in reading_options(item, folder).items():
        if name == "columns":
            arguments += [
                part for column, field in value.items() for part in ("--map", f"{column}={field}")
            ]
        elif name == "header" and isinstance(value, list):
            arguments += ["--names", ",".join(value)]
        elif name == "header":
            arguments.append("--header" if value else "--no-header")
        else:
            arguments += [f"--{name.replace('_', '-')}", value]
    for metric in item["metrics"]:
        arguments += ["--metric", metric]
    out = folder / "out.jsonl"
    done = run_command("score", write_file(item, "command", folder), *arguments, "--out", out)
    text = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in text
    if done.returncode:
        raise CtxMetricsError(text)
    values: dict[str, list[Any]] = {metric: [] for metric in item["metrics"]}
    for line in out.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "metric" not in row:  # the first line says where the others come from
            continue
        values[row["metric"]].append((row["value"], row.get("reason_code")))
    for metric, scores in values.items():
        scored = [value for value, _ in scores if value is not None]
        if scored:
            printed = re.search(rf"(?<!\S){re.escape(metric)} +(\d\.\d+)", done.stdout)
            assert printed is not None, done.stdout
            assert float(printed[1]) == pytest.approx(sum(scored) / len(scored), abs=6e-5)
    return values, text


def score_samples(samples: Any, item: dict[str, Any]) -> tuple[dict[str, list[Any]], str]:
    """Score samples in Python."""
    metrics = [METRICS[name] for name in item["metrics"]]
    results = evaluate(samples, metrics, progress=False)
    values: dict[str, list[Any]] = {}
    for metric in item["metrics"]:
        values[metric] = [(row[metric].value, row[metric].reason_code) for row in results]
    return values, " ".join(results.summary().notes)


def score_frame(item: dict[str, Any]) -> tuple[dict[str, list[Any]], str]:
    """Score the rows as a table of pandas."""
    metrics = [METRICS[name] for name in item["metrics"]]
    scored = score_table(pandas.DataFrame(read_rows(item)), metrics, **item.get("options", {}))
    values: dict[str, list[Any]] = {}
    for metric in item["metrics"]:
        pairs = zip(scored[metric], scored[f"{metric}.reason_code"], strict=True)
        values[metric] = [tuple(None if pandas.isna(cell) else cell for cell in pair) for pair in pairs]
    return values, ""


def score(item: dict[str, Any], path: str, folder: Path) -> tuple[dict[str, list[Any]], str]:
    """Score an input on one path; return value and reason code of each sample, by metric, and the notes."""
    if path == "command":
        return score_command(item, folder)
    if "sample" in item:
        return score_samples([Sample(**item["sample"])], item)
    if path == "table":
        return score_frame(item)
    if path == "python" and "rows" in item:
        return score_samples([rename(row) for row in read_rows(item)], item)
    options = reading_options(item, folder)
    return score_samples(read_samples(write_file(item, path, folder), **options), item)


def check_input(item: dict[str, Any], path: str, tmp_path: Path) -> None:
    """Check the values of an input on a path, or its refusal."""
    if "error" in item:
        with pytest.raises(CtxMetricsError, match=item["error"]) as refusal:
            score(item, path, tmp_path)
        assert item.get("never", "\0") not in str(refusal.value)
        return
    values, notes = score(item, path, tmp_path)
    for metric, expected in item["values"].items():
        assert [value for value, _ in values[metric]] == pytest.approx(expected, abs=1e-9)
    for metric, codes in item.get("codes", {}).items():
        assert [code for _, code in values[metric]] == codes
    if path != "table":
        assert item.get("note", "") in notes


@pytest.mark.slow
@pytest.mark.parametrize("path", ["csv", "python"])
def test_inputs_are_read_right_or_refused(path: str, tmp_path: Path) -> None:
    each_case("item", list_inputs(path, slow=False))(check_input)(path=path, tmp_path=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["python", *_MORE_PATHS])
def test_more_inputs_are_read_right_or_refused(path: str, tmp_path: Path) -> None:
    if path in NEEDED:
        pytest.importorskip(NEEDED[path])
    each_case("item", list_inputs(path, slow=True))(check_input)(path=path, tmp_path=tmp_path)


# Options of the command line that a message writes side by side.
OPTIONS_SIDE_BY_SIDE = re.compile(
    r"(?:--(?:map|group-by|only|by|metric) (?:'[^']*'|[^\s,;']+)(?: (?=--)|(?=[\s,;.]|$)))+"
)


def take_proposal(text: str, item: dict[str, Any]) -> dict[str, Any] | None:
    """Return an input with the options that its refusal proposes, of several for one field the first. None without any."""
    options = dict(item.get("options", {}))
    columns = dict(options.get("columns", {}))
    metrics = item["metrics"]
    fields: set[str] = set(columns.values())
    for match in OPTIONS_SIDE_BY_SIDE.finditer(text):
        words = shlex.split(match[0])
        pairs = [*zip(words[::2], (word.removesuffix(".") for word in words[1::2]), strict=True)]
        mapped = {value.rpartition("=")[2] for name, value in pairs if name == "--map"}
        if mapped & fields:
            continue
        fields |= mapped
        for name, value in pairs:
            if name == "--map":
                column, _, field = value.rpartition("=")
                columns[column] = field
            elif name == "--metric":
                metrics = [value]
            elif name == "--only":
                options.setdefault("only", dict([value.split("=", 1)]))
            elif "only" not in options:
                options.setdefault(name.removeprefix("--").replace("-", "_"), value)
    if columns:
        options["columns"] = columns
    if options == item.get("options", {}):
        return None
    return {**item, "options": options, "metrics": metrics}


def check_proposal(item: dict[str, Any], path: str, tmp_path: Path) -> None:
    """Check that what a refusal proposes runs, or leads to another refusal, which says what is missing still."""
    with pytest.raises(CtxMetricsError) as refusal:
        score(item, path, tmp_path)
    text = str(refusal.value)
    proposed = take_proposal(text, item)
    if proposed is None or "add a column" in text:
        return
    next_text = ""  # of a proposal that runs
    try:
        score(proposed, path, tmp_path)
    except CtxMetricsError as error:
        next_text = str(error)
    assert next_text != text, text


@pytest.mark.slow
@pytest.mark.parametrize("path", ["csv", "python"])
def test_proposals_of_refusals_run(path: str, tmp_path: Path) -> None:
    refused = [item for item in list_inputs(path, slow=False) if "error" in item]
    files = [item for item in refused if "files" in item or path == "csv"]
    each_case("item", files)(check_proposal)(path=path, tmp_path=tmp_path)


@pytest.mark.parametrize(
    "item", [item for item in INPUTS if item.get("oracle")], ids=lambda item: item["id"]
)
def test_a_run_with_gaps_is_scored_as_by_ir_measures(item: dict[str, Any], tmp_path: Path) -> None:
    """A question without a document counts as 0 there, as in `trec_eval -c`."""
    ir_measures: Any = pytest.importorskip(
        "ir_measures", reason="ir-measures is an oracle of the dev extra"
    )
    run, qrels = item["files"].values()
    names = {
        "id_based_recall_at_k": "R@10",
        "id_based_reciprocal_rank": "RR",
        "id_based_ndcg(top_k=10)": "nDCG@10",
    }
    measured = ir_measures.calc_aggregate(
        [ir_measure(names[metric]) for metric in item["metrics"]],
        ir_measures.read_trec_qrels("\n".join(qrels)),
        ir_measures.read_trec_run("\n".join(run)),
    )
    values, _ = score(item, "python", tmp_path)
    for metric in item["metrics"]:
        mean = sum(value for value, _ in values[metric]) / len(values[metric])
        assert mean == pytest.approx(measured[ir_measure(names[metric])], abs=1e-12)


@pytest.mark.parametrize(
    "column", ["incorrect_answers", "wrong_answer", "rejected_answer", "user_answer"]
)
def test_wrong_answers_are_not_proposed(tmp_path: Path, column: str) -> None:
    file = tmp_path / "data.jsonl"
    answer = ["Two years."] if column.endswith("s") else "Two years."
    row = {"question": "How long?", column: answer, "contexts": ["Three years from the purchase."]}
    file.write_text(json.dumps(row), encoding="utf-8")
    done = run_command("score", file, "--metric", "context_recall")
    assert done.returncode == 2
    assert f"{column}=reference" not in done.stdout + done.stderr


def test_ids_in_a_list_of_objects_are_proposed(tmp_path: Path) -> None:
    """The input `order-redis-mapped` has the values of the proposal."""
    item = next(item for item in INPUTS if item["id"] == "order-redis-mapped")
    file = write_file(item, "command", tmp_path)
    done = run_command("score", file, "--metric", "id_based_reciprocal_rank")
    assert done.returncode == 2
    text = " ".join((done.stdout + done.stderr).split())
    assert "Here: --map 'results[].id=retrieved_context_ids'." in text
