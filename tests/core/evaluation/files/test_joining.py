"""Two files, one sample: a run with its references; runs and qrels of TREC, folders of BEIR, against ir-measures."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedContextRecall,
    IDBasedNDCG,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
    Results,
    Sample,
    evaluate,
    read_samples,
    score_table,
)
from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError, SampleError
from support.cases import each_case
from support.command import run_command
from support.exports import ANSWER, CONTEXTS, EXPECTED, QUESTION, REFERENCE
from support.peers import ir_measure

if TYPE_CHECKING:
    from pathlib import Path

TOLERANCE = 1e-12


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# --- runs and qrels ---


def drawn(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Qrels with grades from -1 to 3, and a run with many equal scores, some that differ in double precision only."""
    draw = random.Random(seed)
    qrels, run = {}, {}
    for query in (f"q{number}" for number in range(20)):
        qrels[query] = {f"d{n}": draw.choice((-1, 0, 1, 1, 2, 3)) for n in draw.sample(range(60), 15)}
        qrels[query]["d7"] = 2
        run[query] = {
            f"d{n}": draw.choice((1.5, 2.5, 2.5 + 1e-12, draw.random() * 9))
            for n in draw.sample(range(60), 30)
        }
    return qrels, run


def trec_files(
    folder: Path, qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> tuple[Path, Path]:
    """Write both as TREC has them. The ranks are written wrongly: scores decide, as in trec_eval."""
    gold, found = folder / "qrels.txt", folder / "run.trec"
    gold.write_text(
        "".join(f"{q} 0 {d} {grade}\n" for q, row in qrels.items() for d, grade in row.items())
    )
    found.write_text(
        "".join(
            f"{q}\tQ0\t{d}\t1\t{score!r}\tmine\n" for q, row in run.items() for d, score in row.items()
        )
    )
    return found, gold


def beir_folder(folder: Path, qrels: dict[str, dict[str, int]], *splits: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    lines(folder / "corpus.jsonl", {"_id": "d7", "title": "T", "text": "A pump."})
    lines(
        folder / "queries.jsonl", *({"_id": q, "text": f"What is {q}?", "metadata": {}} for q in qrels)
    )
    rows = "".join(f"{q}\t{d}\t{grade}\n" for q, row in qrels.items() for d, grade in row.items())
    for split in splits:
        (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    return folder


def by_ir_measures(qrels: Any, run: Any) -> dict[str, dict[str, float]]:
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is an oracle of the dev extra")
    names = {
        "nDCG@10": "id_based_ndcg(top_k=10)",
        "R@10": "id_based_recall_at_k",
        "RR": "id_based_reciprocal_rank",
    }
    found: dict[str, dict[str, float]] = {}
    for item in ir_measures.iter_calc(list(map(ir_measure, names)), qrels, run):
        found.setdefault(item.query_id, {})[names[str(item.measure)]] = item.value
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["trec", "beir", "beir split", "json"])
def test_a_run_with_qrels_is_scored_as_by_ir_measures(form: str, seed: int, tmp_path: Path) -> None:
    qrels, run = drawn(seed)
    found, gold = trec_files(tmp_path, qrels, run)
    if form.startswith("beir"):
        gold = beir_folder(tmp_path / "set", qrels, "test")
    if form == "beir split":
        gold = gold / "qrels" / "test.tsv"
    if form == "json":
        found, gold = tmp_path / "run.json", tmp_path / "qrels.json"
        found.write_text(json.dumps(run))
        gold.write_text(json.dumps(qrels))
    samples = list(read_samples(found, references=gold))
    metrics = [IDBasedNDCG(top_k=10), IDBasedRecallAtK(), IDBasedReciprocalRank()]
    expected = by_ir_measures(qrels, run)
    assert len(samples) == len(expected) == 20
    for row in evaluate(samples, metrics, progress=False):
        for name, value in expected[str(row.sample.id)].items():
            assert row[name].value == pytest.approx(value, abs=TOLERANCE), (row.sample.id, name)
    if form == "beir":
        assert samples[0].user_input == "What is q0?"


def test_a_run_is_scored_on_the_command_line(tmp_path: Path) -> None:
    qrels, run = drawn(9)
    found, gold = trec_files(tmp_path, qrels, {**run, "extra": {"d1": 1.0}})
    asked = ("-m", "id_based_ndcg(top_k=10)", "-m", "id_based_recall_at_k")
    done = run_command("score", found, "--references", gold, *asked)
    assert done.returncode == 0, done.stderr
    expected = by_ir_measures(qrels, run)
    for name in ("id_based_ndcg(top_k=10)", "id_based_recall_at_k"):
        mean = sum(row[name] for row in expected.values()) / len(expected)
        printed = re.search(rf"{re.escape(name)} +(\d\.\d+)", done.stdout)
        assert printed is not None
        assert float(printed[1]) == pytest.approx(mean, abs=6e-5)
    assert "1 without a partner among the references: 'extra'" in done.stderr
    assert run_command("score", found, "--references", gold).returncode == 0


def test_a_query_of_a_run_may_have_no_document(tmp_path: Path) -> None:
    """Nothing was retrieved for it, which is a recall of 0 and no reason to refuse the file."""
    found, gold = tmp_path / "run.json", tmp_path / "qrels.json"
    found.write_text(json.dumps({"q1": {"d1": 1.5}, "q2": {}}), encoding="utf-8")
    gold.write_text(json.dumps({"q1": {"d1": 1}, "q2": {"d2": 1}}), encoding="utf-8")
    samples = list(read_samples(found, references=gold))
    rows = evaluate(samples, [IDBasedRecallAtK()], progress=False)
    assert [row["id_based_recall_at_k"].value for row in rows] == [1.0, 0.0]


def test_of_several_splits_one_is_named(tmp_path: Path) -> None:
    found, _ = trec_files(tmp_path, *drawn(0))
    folder = beir_folder(tmp_path / "set", drawn(0)[0], "dev", "test")
    with pytest.raises(InputFileError, match=r"qrels of several splits\. Name one: .*test\.tsv"):
        list(read_samples(found, references=folder))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2\n", "line 2: no line of a TREC run"),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 nan t\n", "line 2: no line of a TREC run"),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d1 2 0.4 t\n", "line 2: 'd1' stands twice for the query 'q1'"),
        ("some words that are no run\n", "files end in"),
    ],
)
def test_a_run_that_is_none(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run.trec").write_text(text)
    with pytest.raises(InputFileError, match=f"run.trec.*{message}"):
        list(read_samples(tmp_path / "run.trec"))


GRADES = [("q1", "d2", 1), ("q1", "d1", 0), ("q2", "d3", 2), ("q2", "d4", 0)]
SCORES = [("q1", "d1", 0.9), ("q1", "d2", 0.5), ("q2", "d3", 0.4), ("q2", "d4", 0.1)]


def table(path: Path, names: list[str], rows: list[tuple[Any, ...]], gap: Any = None) -> Path:
    """Write a table as its ending says. None stands for a gap; ``gap`` is what JSON Lines have there."""
    if path.suffix == ".jsonl":
        cells = [[gap if cell is None else cell for cell in row] for row in rows]
        return lines(path, *(dict(zip(names, row, strict=True)) for row in cells))
    if path.suffix == ".csv":
        texts = ["" if cell is None else str(cell) for row in rows for cell in row]
        width = len(names)
        parts = [",".join(texts[at : at + width]) for at in range(0, len(texts), width)]
        path.write_text("\n".join([",".join(names), *parts]) + "\n", encoding="utf-8")
        return path
    arrow = pytest.importorskip("pyarrow")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path)
    return path


@each_case("ending", ["csv", "jsonl", "parquet"])
@each_case("later", [False, True])
@each_case("column", range(3))
@each_case("side", ["run", "gold"])
def test_gap_in_a_ranking_table_is_an_error(
    side: str, column: int, later: bool, ending: str, tmp_path: Path
) -> None:
    """A row without a grade made every document an expected one; one without an id had the id 'None'."""
    names = ["qid", "docno", "score" if side == "run" else "relevance"]
    rows = list(SCORES if side == "run" else GRADES)
    if later:  # after the rows from which the columns are found
        rows = [(f"p{n}", "d1", 1) for n in range(150)] + rows
    rows[-1] = tuple(None if at == column else cell for at, cell in enumerate(rows[-1]))
    table_with_gap = table(tmp_path / f"{side}.{ending}", names, rows)
    if side == "run":
        gold = table(tmp_path / "g.csv", ["qid", "docno", "relevance"], GRADES)
        files = (table_with_gap, gold)
    else:
        run = table(tmp_path / "r.csv", ["qid", "docno", "score"], SCORES)
        files = (run, table_with_gap)
    place = rf"{'line' if ending != 'parquet' else 'row'} {len(rows) + (ending == 'csv')}"
    with pytest.raises(
        InputFileError, match=rf"{ending}, {place}: '{names[column]}' holds no (number|value)\."
    ):
        list(read_samples(files[0], references=files[1]))


@each_case("gap", ["", float("nan"), float("inf"), "n/a"])
def test_gap_of_a_grade_in_json_lines_is_an_error(gap: Any, tmp_path: Path) -> None:
    run = table(tmp_path / "r.csv", ["qid", "docno", "score"], SCORES)
    rows = [*GRADES[:3], ("q2", "d4", None)]
    gold = table(tmp_path / "g.jsonl", ["qid", "docno", "relevance"], rows, gap)
    done = run_command("score", run, "--references", gold, "-m", "id_based_recall_at_k")
    assert (done.returncode, "line 4: 'relevance' holds no number" in done.stderr) == (2, True)


@each_case("ending", ["csv", "jsonl", "parquet"])
def test_grades_that_begin_late_are_an_error(ending: str, tmp_path: Path) -> None:
    run = table(tmp_path / "r.csv", ["qid", "docno", "score"], SCORES)
    rows = [(f"p{n}", "d1", None) for n in range(150)] + GRADES
    gold = table(tmp_path / f"g.{ending}", ["qid", "docno", "relevance"], rows)
    place = {"csv": "line 152", "jsonl": "line 151", "parquet": "row 151"}[ending]
    with pytest.raises(InputFileError, match=rf"{place}: 'relevance' holds a value, and no row before"):
        list(read_samples(run, references=gold))


def test_a_label_with_a_gap_is_no_gold_for_all(tmp_path: Path) -> None:
    run = table(tmp_path / "r.csv", ["qid", "docno", "score"], SCORES)
    labels = [("q1", "d2", "E"), ("q1", "d1", None), ("q2", "d3", "E")]
    gold = table(tmp_path / "g.csv", ["qid", "docno", "esci_label"], labels)
    with pytest.raises(InputFileError, match=r"'esci_label' may say how relevant .* such as 'E'"):
        list(read_samples(run, references=gold))


DOUBLED = "'d1' stands twice for the query 'q1'"
NULL = "null stands in place of a document for the query 'q1'"
NO_NUMBER = "'d1' has no number for the query 'q1'"


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        ([["d1", 0.9], ["d2", 0.1], ["d1", 0.05]], DOUBLED),
        ([["d1", 1], ["d1", 0]], DOUBLED),
        (["d1", "d2", "d1"], DOUBLED),
        ({"d1": None, "d2": 0.5}, NO_NUMBER),
        ({"d1": float("nan"), "d2": 0.5}, NO_NUMBER),
        ([["d1", None], ["d2", 0.5]], NO_NUMBER),
        (["d1", None], NULL),
        (None, NULL),
    ],
)
@each_case("form", ["run", "qrels", "both"])
def test_a_faulty_document_of_a_ranking_is_named(
    form: str, ranking: Any, message: str, tmp_path: Path
) -> None:
    sound = {"q1": {"d1": 1, "d2": 0}, "q2": {"d2": 1}}
    faulty = {"q1": ranking, "q2": {"d2": 1}}
    run, qrels = tmp_path / "run.json", tmp_path / "qrels.json"
    run.write_text(json.dumps(faulty if form == "run" else sound))
    qrels.write_text(json.dumps(faulty if form == "qrels" else sound))
    if form == "both":
        run.write_text(json.dumps({"qrels": sound, "run": faulty}))
    references = None if form == "both" else qrels
    file = "qrels" if form == "qrels" else "run"
    with pytest.raises(InputFileError, match=rf"{file}\.json: {message}"):
        list(read_samples(run, references=references))


# --- rows ---

RUN = {"question": QUESTION, "answer": ANSWER, "contexts": CONTEXTS}


def test_questions_join_where_there_are_no_ids(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {**RUN, "question": QUESTION.upper()})
    gold = lines(tmp_path / "gold.jsonl", {"question": f" {QUESTION}", "ground_truth": REFERENCE})
    done = run_command("score", run, "--references", gold)
    assert done.returncode == 0, done.stderr
    for name, value in EXPECTED.items():
        assert re.search(rf"^ *{name} +{value:.4f}", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("column", ["answer", "reference", "expected_output"])
def test_an_answer_of_the_references_is_what_is_expected(column: str, tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {"id": 1, **RUN})
    gold = lines(tmp_path / "gold.jsonl", {"id": "1", column: REFERENCE})
    (sample,) = read_samples(run, references=gold)
    assert (sample.response, sample.reference) == (ANSWER, REFERENCE)


def test_earlier_answer_is_not_taken_if_references_say_more(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {"id": 1, "contexts": CONTEXTS})
    earlier = {"id": 1, "answer": "No.", "contexts": ["An old text."], "ground_truth": REFERENCE}
    (sample,) = read_samples(run, references=lines(tmp_path / "gold.jsonl", earlier))
    assert sample == Sample(id=1, retrieved_contexts=CONTEXTS, reference=REFERENCE)


def test_columns_join_by_name(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {"qid": 7, "id": "x", **RUN}, {"qid": 8, "id": "y", **RUN})
    gold = lines(
        tmp_path / "gold.jsonl",
        {"qid": "8", "id": "x", "reference": "B."},
        {"qid": "7", "id": "y", "reference": "A."},
    )
    assert [sample.reference for sample in read_samples(run, references=gold, on="qid")] == ["A.", "B."]
    done = run_command("score", run, "--references", gold, "--on", "nowhere")
    assert (done.returncode, "no sample has a partner" in done.stderr) == (2, True)


def test_what_has_no_partner_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = lines(tmp_path / "run.jsonl", {"id": "a", **RUN}, {"id": "b", "contexts": CONTEXTS})
    gold = lines(
        tmp_path / "gold.jsonl", {"id": "a", "reference": "A."}, {"id": "c", "reference": "C."}
    )
    samples = list(read_samples(run, references=gold))
    assert [sample.reference for sample in samples] == ["A.", None, "C."]
    assert (samples[2].id, samples[2].retrieved_contexts) == ("c", ())
    assert "1 without a partner among the references: 'b'" in caplog.text
    assert (
        "1 of the references without a partner (they count as questions with nothing retrieved): 'c'"
        in caplog.text
    )


def test_a_key_that_occurs_twice(tmp_path: Path) -> None:
    run = lines(
        tmp_path / "run.jsonl", {"id": "a", **RUN}, {"id": "a", **RUN, "contexts": CONTEXTS[1:]}
    )
    gold = lines(tmp_path / "gold.jsonl", {"id": "a", "reference": "A."})
    samples = list(read_samples(run, references=gold))
    assert [(sample.id, sample.reference) for sample in samples] == [("a", "A."), ("a (2)", "A.")]
    assert len(evaluate(samples, [ContextUtilization()], progress=False)) == 2
    gold = lines(
        tmp_path / "gold.jsonl", {"id": "a", "reference": "A."}, {"id": "a", "reference": "B."}
    )
    with pytest.raises(InputFileError, match=r"two references have its key: .*line 1 and .*line 2"):
        list(read_samples(run, references=gold))


def test_equal_ids_of_different_questions_are_no_partners(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {"id": 0, **RUN})
    gold = lines(tmp_path / "gold.jsonl", {"id": 0, "question": "Who?", "reference": "A."})
    with pytest.raises(InputFileError, match=r"the questions differ.* --on user_input"):
        list(read_samples(run, references=gold))


def test_two_references_that_differ_are_refused(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {"id": 0, **RUN, "reference": "B."})
    gold = lines(tmp_path / "gold.jsonl", {"id": 0, "reference": "A."})
    with pytest.raises(
        SampleError, match=r"field 'reference' differs from that of .*gold\.jsonl, line 1"
    ):
        list(read_samples(run, references=gold))
    (sample,) = read_samples(run, columns={"reference": "metadata"}, references=gold)
    assert sample.reference == "A."


def test_columns_are_mapped_in_either_file(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {"q": QUESTION, "hits": CONTEXTS})
    gold = lines(tmp_path / "gold.jsonl", {"q": QUESTION, "gold": REFERENCE})
    columns = {"q": "user_input", "hits": "retrieved_contexts", "gold": "reference"}
    (sample,) = read_samples(run, columns=columns, references=gold)
    assert sample == Sample(user_input=QUESTION, retrieved_contexts=CONTEXTS, reference=REFERENCE)
    with pytest.raises(ParameterError, match="no row has 'nowhere'"):
        list(read_samples(run, columns={**columns, "nowhere": "id"}, references=gold))


def test_broken_references_are_named(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", RUN)
    (tmp_path / "gold.jsonl").write_text("{")
    with pytest.raises(CtxMetricsError, match=r"gold\.jsonl, line 1: not valid JSON"):
        list(read_samples(run, references=tmp_path / "gold.jsonl"))


# --- questions of the references that the run does not answer ---

NAMES = ("id_based_ndcg(top_k=10)", "id_based_recall_at_k", "id_based_reciprocal_rank")
RANK_METRICS = (IDBasedNDCG(top_k=10), IDBasedRecallAtK(), IDBasedReciprocalRank())
GAPS_QRELS = {"a1": {"d1": 1, "d2": 1}, "a2": {"d9": 1}, "a3": {"d7": 2}}
GAPS_RUN = {"a1": {"d1": 2.0, "d5": 1.0}, "a3": {"d7": 1.0}}


def with_gaps(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Return qrels and a run with a gap of each kind: no query, no document, nothing relevant, no qrels."""
    qrels, run = drawn(seed)
    draw = random.Random(seed)
    for query in draw.sample(sorted(run), draw.randint(1, 12)):
        del run[query]
    for query in draw.sample(sorted(run), 2):
        run[query] = {}
    query = draw.choice(sorted(run))
    run[query] = {"nowhere": 1.0}
    run["extra"] = {"d1": 1.0}
    return qrels, run


def means_of(samples: Any) -> list[float]:
    summary = evaluate(samples, RANK_METRICS, progress=False).summary()
    return [summary[name].mean for name in NAMES]


@pytest.mark.slow
@each_case("seed", range(10))
@each_case("form", ["trec", "beir", "json", "jsonl"])
def test_means_are_over_the_questions_of_the_gold(form: str, seed: int, tmp_path: Path) -> None:
    """Equal to ir-measures, and to pytrec_eval with the queries of the qrels as `trec_eval -c` counts them."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="an oracle of the dev extra")
    qrels, run = with_gaps(seed)
    found, gold = trec_files(tmp_path, qrels, run)
    if form == "beir":
        gold = beir_folder(tmp_path / "set", qrels, "test")
    if form == "json":
        found, gold = tmp_path / "run.json", tmp_path / "qrels.json"
        found.write_text(json.dumps(run))
        gold.write_text(json.dumps(qrels))
    if form == "jsonl":
        order = {q: sorted(row, key=lambda d: (-row[d], d), reverse=False) for q, row in run.items()}
        found = lines(
            tmp_path / "run.jsonl",
            *({"id": q, "retrieved_context_ids": order[q]} for q in run),
        )
        run = {q: {d: float(-n) for n, d in enumerate(ids)} for q, ids in order.items()}
    scored = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.10", "recip_rank"}).evaluate(
        run
    )
    complete = [
        sum(row[name] for row in scored.values()) / len(qrels) for name in ("ndcg_cut_10", "recip_rank")
    ]
    expected = by_ir_measures(qrels, run)
    assert len(expected) == len(qrels)
    samples = list(read_samples(found, references=gold))
    means = means_of(samples)
    for name, mean in zip(NAMES, means, strict=True):
        oracle = sum(row[name] for row in expected.values()) / len(qrels)
        assert mean == pytest.approx(oracle, abs=TOLERANCE)
    if form != "jsonl":  # with single precision there, its ties are cut otherwise
        assert [means[0], means[2]] == pytest.approx(complete, abs=1e-9)


def test_the_questions_of_the_gold_on_the_command_line(tmp_path: Path) -> None:
    run, gold = trec_files(tmp_path, GAPS_QRELS, GAPS_RUN)
    asked = [part for name in NAMES for part in ("-m", name)]
    done = run_command("score", run, "--references", gold, *asked, "--report", tmp_path / "r.html")
    for name, mean in zip(NAMES, ("0.5377", "0.5000", "0.6667"), strict=True):
        assert re.search(rf"{re.escape(name)} +{mean} +3 of 3", done.stdout), done.stdout
    assert "2 of 3 answered: nothing was retrieved for the others" in done.stdout
    assert "2 of 3 answered" in (tmp_path / "r.html").read_text(encoding="utf-8")
    gate = ("--fail-under", "id_based_recall_at_k=.7")
    assert run_command("score", run, "--references", gold, *asked, *gate).returncode == 1
    dropped = run_command("score", run, "--references", gold, *asked, "--missing", "drop")
    assert re.search(r"id_based_recall_at_k +0\.7500 +2 of 3", dropped.stdout), dropped.stdout
    assert "id_based_recall_at_k: without a value: missing_field 1" in dropped.stdout


def test_a_table_with_references_has_the_questions_of_the_gold(tmp_path: Path) -> None:
    """Rows of two tables, CSV and Parquet, with texts: half of the questions are answered."""
    pandas = pytest.importorskip("pandas")
    asked = [f"What is {number}?" for number in range(4)]
    texts = [f"The number {number} is even." for number in range(4)]
    gold = pandas.DataFrame({"question": asked, "ground_truth": texts})
    run = pandas.DataFrame({"question": asked[:2], "contexts": [[text] for text in texts[:2]]})
    gold.to_parquet(tmp_path / "gold.parquet")
    run.to_csv(tmp_path / "run.csv", index=False)
    samples = list(read_samples(tmp_path / "run.csv", references=tmp_path / "gold.parquet"))
    results = evaluate(samples, [ContextRecall(), ContextPrecision()], progress=False)
    assert [results.summary()[name].mean for name in results.metrics] == [0.5, 0.5]
    assert results.summary().to_dict()["answered"] == 2
    frame = pandas.DataFrame([sample.to_dict() for sample in samples])
    assert score_table(frame, [ContextRecall()])["context_recall"].tolist() == [1, 1, 0, 0]
    ragas = evaluate(samples, [ContextRecall(convention="ragas")], progress=False)
    assert [item.mean for item in ragas.summary().values()] == [0.5]


def test_contexts_that_are_not_usable_are_an_answer(tmp_path: Path) -> None:
    """Of four questions one has an empty list, one a gap, one a number: something was retrieved for the last."""
    text = "The pump stands in the cellar."
    rows = [
        {"id": str(n), "question": f"Where is {n}?", "reference": text, "contexts": cell}
        for n, cell in enumerate(([text], [], None, 42))
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = tmp_path / "out.jsonl"
    results = evaluate(read_samples(file), [ContextRecall()], progress=False)
    results.to_jsonl(out)
    for summary in (results.summary(), Results.from_jsonl(out).summary()):
        assert summary.to_dict()["answered"] == 2
        assert "2 of 4 answered: nothing was retrieved for the others" in str(summary)
    unusable = results[3].sample
    assert unusable is not None
    assert unusable.metadata == {"retrieved_contexts": 42, "unusable_fields": "retrieved_contexts"}
    note = "the value of retrieved_contexts cannot be used in 1 sample, which has none"
    assert note in results.summary().notes


def test_unanswered_sample_of_one_run_is_a_loss(tmp_path: Path) -> None:
    qrels = {f"q{number}": {"d1": 1} for number in range(10)}
    whole = {query: {"d1": 1.0} for query in qrels}
    half = dict([*whole.items()][:5])
    results = []
    for name, run in (("whole", whole), ("half", half)):
        folder = tmp_path / name
        folder.mkdir()
        found, gold = trec_files(folder, qrels, run)
        results.append(evaluate(read_samples(found, references=gold), RANK_METRICS, progress=False))
    comparison = results[0].compare(results[1])
    assert comparison["id_based_recall_at_k"].difference == -0.5


def test_the_stages_of_an_unanswered_question_are_empty(tmp_path: Path) -> None:
    stages = {"search": [{"id": "d1", "text": "A."}], "rerank": [{"id": "d1", "text": "A."}]}
    run = lines(tmp_path / "run.jsonl", {"id": "a", "stages": stages})
    gold = lines(
        tmp_path / "gold.jsonl",
        {"id": "a", "reference_context_ids": ["d1"]},
        {"id": "b", "reference_context_ids": ["d2"]},
    )
    results = evaluate(read_samples(run, references=gold), [IDBasedContextRecall()], progress=False)
    assert results.summary()["id_based_context_recall"].mean == 0.5
    assert [len(stage.ids or ()) for stage in results[1].sample.stages.values()] == [0, 0]


def test_two_unanswered_references_of_one_key_are_refused(tmp_path: Path) -> None:
    run = lines(tmp_path / "run.jsonl", {"id": "a", **RUN})
    gold = lines(tmp_path / "gold.jsonl", *({"id": one, "reference": "A."} for one in "abb"))
    with pytest.raises(InputFileError, match=r"two references have its key: .*line 2 and .*line 3"):
        list(read_samples(run, references=gold))
    with pytest.raises(ParameterError, match="missing"):
        read_samples(run, references=gold, missing="skip")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_row_of_a_run_without_a_value_is_unanswered(form: str, tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", *({"id": one, "reference": REFERENCE} for one in "abc"))
    run = lines(
        tmp_path / "run.jsonl", {"id": "a", "contexts": None}, {"id": "b", "contexts": CONTEXTS}
    )
    if form == "csv":
        run = tmp_path / "run.csv"
        run.write_text("id,contexts\na,\nb," + '"' + json.dumps(CONTEXTS).replace('"', '""') + '"\n')
    samples = list(read_samples(run, references=gold))
    assert {str(sample.id): len(sample.retrieved_contexts or ()) for sample in samples} == {
        "a": 0,
        "b": len(CONTEXTS),
        "c": 0,
    }
    assert evaluate(samples, [ContextRecall()], progress=False).summary()["context_recall"].scored == 3


def test_an_integer_of_many_digits_in_a_file_is_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"retrieved_context_ids": [1' + "0" * 49_999 + '], "reference_context_ids": ["1"]}\n'
    )
    with pytest.raises(CtxMetricsError, match=r"line 1: holds an integer of thousands of digits"):
        list(read_samples(path))


# --- what puts the documents of a run in order ---

RANKS_OF_RUN = "the rank of the run (trec_eval takes the score)"
RISING_NUMBERS = "the order of the file (its numbers rise, as ranks and distances do)"


def read_run(
    folder: Path, name: str, content: str, **options: Any
) -> tuple[tuple[str, ...], str | None]:
    """Return the retrieved ids of the first query of a run, and what may say another order of them."""
    (folder / name).write_text(content, encoding="utf-8")
    (folder / "qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\n", encoding="utf-8")
    sample = next(read_samples(folder / name, references=folder / "qrels.txt", **options))
    return sample.retrieved_context_ids or (), sample.metadata.get("order_unclear")


@pytest.mark.parametrize(
    ("lines", "ids", "note"),
    [
        # ranks from 0, and ranks that do not stand in their order
        ("q1 b 0\nq1 a 1\nq2 a 0\nq2 b 1\n", ("b", "a"), None),
        ("q1 a 2\nq2 b 2\nq1 b 1\nq2 a 1\nq1 c 3\nq2 c 3\n", ("b", "a", "c"), None),
        # numbers that fall are scores, also where they are whole
        ("q1 b 2\nq1 a 1\nq2 a 2\nq2 b 1\n", ("b", "a"), None),
        # numbers that rise may be distances, or ranks with gaps
        ("q1 b 0.1\nq1 a 0.4\nq2 a 0.2\nq2 b 0.3\n", ("a", "b"), RISING_NUMBERS),
        ("q1 b 1\nq1 a 4\nq2 a 2\nq2 b 3\n", ("a", "b"), RISING_NUMBERS),
        ("q1 b 0.1\nq1 a 0.4\nq2 a 0.3\nq2 b 0.2\n", ("a", "b"), None),
        # ranks beside scores
        ("q1 Q0 b 1 9.5 t\nq1 Q0 a 2 8.5 t\n", ("b", "a"), None),
        ("q1 Q0 b 1 0.1 t\nq1 Q0 a 2 0.4 t\n", ("a", "b"), RANKS_OF_RUN),
        ("q1 Q0 a 1 0 t\nq1 Q0 b 2 0 t\n", ("b", "a"), RANKS_OF_RUN),
        ("q1 Q0 b 1 9 t\nq1 Q0 a 2 9 t\nq1 Q0 c 3 8 t\n", ("b", "a", "c"), None),
        ("q1 b 1 3.5\nq1 a 2 9.5\n", ("a", "b"), RANKS_OF_RUN),
    ],
)
def test_numbers_of_a_run_say_its_order(
    tmp_path: Path, lines: str, ids: tuple[str, ...], note: str | None
) -> None:
    assert read_run(tmp_path, "run.txt", lines) == (ids, note)


def test_rising_scores_of_a_json_run_are_noted(tmp_path: Path) -> None:
    run = {"q1": {"b": 1, "a": 2}, "q2": {"a": 0.1, "b": 0.7}}
    assert read_run(tmp_path, "run.json", json.dumps(run)) == (("a", "b"), RISING_NUMBERS)
    assert read_run(tmp_path, "run.json", json.dumps(run), order="rank") == (("b", "a"), None)
    assert read_run(tmp_path, "run.json", json.dumps(run), order="given") == (("b", "a"), None)


@pytest.mark.parametrize(
    ("order", "ids"),
    [("rank", ("b", "a", "c")), ("given", ("a", "c", "b")), ("score", ("c", "a", "b"))],
)
def test_the_option_orders_a_trec_run(tmp_path: Path, order: str, ids: tuple[str, ...]) -> None:
    lines = "q1 Q0 a 2 0.5 t\nq1 Q0 c 3 0.7 t\nq1 Q0 b 1 0.1 t\n"
    assert read_run(tmp_path, "run.trec", lines, order=order) == (ids, None)


def test_grades_in_words_of_a_table_are_noted(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"q1": ["b", "a"]}), encoding="utf-8")
    gold = tmp_path / "gold.csv"
    table = "query_id,doc_id,label\nq1,a,highly relevant\nq1,b,partially relevant\nq1,c,irrelevant\n"
    gold.write_text(table, encoding="utf-8")
    (sample,) = read_samples(tmp_path / "run.json", references=gold)
    assert sample.reference_context_ids == ("a", "b")
    degree = "the degree in 'highly relevant' and 'partially relevant'"
    assert sample.metadata["not_read"] == degree
