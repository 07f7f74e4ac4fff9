"""Files as people have them: exports of frameworks and tracing systems, tables of pandas, datasets.

Their shapes are those of each system's documentation; the rows are written by hand. Each row asks the same questions, so
that what a metric must give is known: of two sentences of the reference, the first stands in the second context and the
second one nowhere (recall 1/2; the useful context stands second, so precision is 1/2 as well).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

QUESTION = "How long is the pump guaranteed, and what does registration cost?"
ANSWER = "The pump is guaranteed for three years."
REFERENCE = "The pump is guaranteed for three years. Registration costs 20 euros."
CONTEXTS = [
    "Rinse the filter monthly.",
    "Warranty: the pump is guaranteed for three years, from purchase.",
]
DOCUMENTS = [
    {"page_content": text, "metadata": {"source": f"{n}.md"}} for n, text in enumerate(CONTEXTS)
]
# The value of each metric, by hand; the response is one sentence, which the second context states.
EXPECTED = {"context_recall": 0.5, "context_precision": 0.5, "context_utilization": 0.5}

RAGAS_V1 = {"question": QUESTION, "answer": ANSWER, "contexts": CONTEXTS, "ground_truth": REFERENCE}
RAGAS = {
    "user_input": QUESTION,
    "retrieved_contexts": CONTEXTS,
    "response": ANSWER,
    "reference": REFERENCE,
}
DEEPEVAL = {
    "input": QUESTION,
    "actual_output": ANSWER,
    "expected_output": REFERENCE,
    "retrieval_context": CONTEXTS,
    "context": None,
    "name": None,
    "comments": None,
    "source_file": None,
    "tools_called": None,
    "token_cost": None,
    "additional_metadata": {"topic": "warranty"},
    "custom_column_key_values": None,
}


def _bytes(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def _json(data: object) -> Callable[[Path], None]:
    return _bytes(json.dumps(data).encode())


def _lines(*rows: object) -> Callable[[Path], None]:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return _bytes(text.encode())


def _table(
    row: Mapping[str, Any],
    *,
    delimiter: str = ",",
    encoding: str = "utf-8",
    lists: Callable[[Any], str] = repr,
) -> Callable[[Path], None]:
    """Write a table of one row; pandas writes lists as Python prints them."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(row)
    writer.writerow(
        [
            "" if cell is None else cell if isinstance(cell, str) else lists(cell)
            for cell in row.values()
        ]
    )
    return _bytes(out.getvalue().encode(encoding))


def _numpy(cell: Any) -> str:
    """Write a list as pandas writes an array."""
    return "[" + "\n ".join(repr(text) for text in cell) + "]" if isinstance(cell, list) else repr(cell)


def _gzipped(row: object) -> Callable[[Path], None]:
    return _bytes(gzip.compress(json.dumps(row).encode()))


def _parquet(rows: Sequence[Mapping[str, Any]]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)

    return write


def _dataset(rows: Sequence[Mapping[str, Any]], *splits: str) -> Callable[[Path], None]:
    """Write what ``datasets``' ``save_to_disk`` writes."""

    def write(path: Path) -> None:
        import pyarrow as pa

        for folder in [path / split for split in splits] or [path]:
            folder.mkdir(parents=True)
            table = pa.Table.from_pylist([dict(row) for row in rows])
            name = "data-00000-of-00001.arrow"
            with (
                pa.OSFile(str(folder / name), "wb") as file,
                pa.ipc.new_stream(file, table.schema) as stream,
            ):
                stream.write_table(table)
            (folder / "state.json").write_text(
                json.dumps({"_data_files": [{"filename": name}], "_split": None})
            )
            (folder / "dataset_info.json").write_text("{}")
        if splits:
            (path / "dataset_dict.json").write_text(json.dumps({"splits": list(splits)}))

    return write


# By the file's name: how to write it.
FILES: dict[str, Callable[[Path], None]] = {
    # Ragas: its first field names, a result's to_pandas().to_csv(), EvaluationDataset.to_jsonl(), HF's to_dict()
    "ragas_v1_pandas.csv": _table({"": "0", **RAGAS_V1, "difficulty": "easy", "faithfulness": "0.9"}),
    "ragas_v1_truths.jsonl": _lines(
        {"question": QUESTION, "ground_truths": [REFERENCE], "answer": ANSWER, "contexts": CONTEXTS}
    ),
    "ragas_result.csv": _table({**RAGAS, "context_recall": "1.0", "faithfulness": "0.8"}),
    "ragas_arrays.csv": _table(RAGAS, lists=_numpy),
    "ragas_dataset.jsonl": _lines({**RAGAS, "rubrics": None, "retrieved_context_ids": None}),
    "ragas_columns.json": _json({key: [value] for key, value in RAGAS_V1.items()}),
    # DeepEval: EvaluationDataset.save_as(json | csv), and the test run it keeps
    "deepeval_dataset.json": _json([DEEPEVAL]),
    "deepeval_dataset.csv": _table(
        {**DEEPEVAL, "retrieval_context": "|".join(CONTEXTS), "additional_metadata": '{"topic": "warranty"}'}
    ),
    "deepeval_run.json": _json(
        {
            "testFile": None,
            "testCases": [
                {
                    "name": "test_case_0", "input": QUESTION, "actualOutput": ANSWER, "expectedOutput": REFERENCE,
                    "retrievalContext": CONTEXTS, "success": True, "runDuration": 1.2, "order": 0,
                    "metricsData": [{"name": "Contextual Recall", "score": 1.0, "threshold": 0.5}],
                }
            ],
            "conversationalTestCases": [],
            "metricsScores": [{"metric": "Contextual Recall", "scores": [1.0], "passes": 1, "fails": 0}],
        }
    ),
    # LangSmith: ExperimentResults.to_pandas().to_csv(), and runs with their examples
    "langsmith_experiment.csv": _table(
        {
            "inputs.question": QUESTION, "outputs.answer": ANSWER, "outputs.contexts": CONTEXTS, "error": None,
            "reference.answer": REFERENCE, "feedback.correctness": "1.0", "execution_time": "0.7",
            "example_id": "c3b1", "id": "9f2e",
        }
    ),
    "langsmith_runs.jsonl": _lines(
        {
            "id": "9f2e", "inputs": {"question": QUESTION}, "outputs": {"answer": ANSWER, "documents": DOCUMENTS},
            "reference_outputs": {"answer": REFERENCE}, "run_type": "chain", "latency": 0.7,
        }
    ),
    # MLflow: a dataset of mlflow.genai.evaluate, and the artifact eval_results_table.json of mlflow.evaluate
    "mlflow_genai.jsonl": _lines(
        {
            "inputs": {"question": QUESTION}, "outputs": {"response": ANSWER, "documents": DOCUMENTS},
            "expectations": {"expected_response": REFERENCE}, "tags": {"env": "test"},
        }
    ),
    "mlflow_eval_results_table.json": _json(
        {
            "columns": ["question", "ground_truth", "outputs", "retrieved_context", "latency"],
            "data": [[QUESTION, REFERENCE, ANSWER, CONTEXTS, 0.4]],
        }
    ),
    # Phoenix: spans (OpenInference), an experiment's JSON, and get_qa_with_reference() as CSV
    "phoenix_spans.parquet": _parquet(
        [
            {
                "context.span_id": "a1", "name": "query", "attributes.input.value": QUESTION,
                "attributes.output.value": ANSWER, "attributes.metadata": {"reference": REFERENCE},
                "attributes.retrieval.documents": [
                    {"document.content": text, "document.score": 0.5} for text in CONTEXTS
                ],
            }
        ]
    ),
    "phoenix_experiment.json": _json(
        [
            {
                "example_id": "RXhh", "repetition_number": 1, "input": {"question": QUESTION},
                "reference_output": {"answer": REFERENCE}, "output": {"answer": ANSWER, "contexts": CONTEXTS},
                "error": None, "latency_ms": 411.2, "annotations": [{"name": "correct", "score": 1.0}],
            }
        ]
    ),
    "phoenix_qa_with_reference.csv": _table(
        {"context.span_id": "a1", "input": QUESTION, "output": ANSWER, "reference": CONTEXTS[1]}
    ),
    # Langfuse: items of a dataset run, and its CSV export, which holds JSON in cells
    "langfuse_items.json": _json(
        [
            {
                "id": "i1", "datasetId": "d1", "input": {"question": QUESTION}, "expectedOutput": REFERENCE,
                "output": {"answer": ANSWER, "contexts": CONTEXTS}, "metadata": {"lang": "en"}, "status": "ACTIVE",
            }
        ]
    ),
    "langfuse_export.csv": _table(
        {
            "id": "i1", "input": {"question": QUESTION}, "expectedOutput": {"answer": REFERENCE},
            "output": {"answer": ANSWER, "contexts": CONTEXTS}, "metadata": {"lang": "en"},
        },
        lists=json.dumps,
    ),
    # promptfoo eval -o output.json
    "promptfoo_output.json": _json(
        {
            "evalId": "eval-x",
            "results": {
                "version": 3,
                "prompts": [{"raw": "{{query}}", "label": "p", "provider": "openai:gpt"}],
                "results": [
                    {
                        "id": "r1", "promptIdx": 0, "success": True, "score": 1, "latencyMs": 12,
                        "vars": {"query": QUESTION, "context": "\n".join(CONTEXTS), "ground_truth": REFERENCE},
                        "prompt": {"raw": "..", "label": "p"}, "provider": {"id": "openai:gpt"},
                        "response": {"output": ANSWER, "tokenUsage": {"total": 40}},
                        "testCase": {"vars": {"query": QUESTION}, "assert": [{"type": "context-recall"}]},
                    }
                ],
                "stats": {"successes": 1},
            },
            "config": {"tests": [{"vars": {"query": QUESTION}}]},
        }
    ),
    # Hugging Face: Parquet as in its repositories, save_to_disk() of one split and of two
    "ragbench.parquet": _parquet(
        [{"id": "7", "question": QUESTION, "documents": CONTEXTS, "response": ANSWER, "adherence_score": True}]
    ),
    "amnesty_qa": _dataset([RAGAS_V1], "eval"),
    "two_splits": _dataset([RAGAS_V1], "train", "test"),
    # One context a row, whose meaning the names do not tell
    "rag_dataset.jsonl": _lines({"context": CONTEXTS[1], "question": QUESTION, "answer": ANSWER}),
    "halubench.jsonl": _lines({"passage": CONTEXTS[1], "question": QUESTION, "answer": ANSWER, "label": "PASS"}),
    # Spreadsheets and pandas
    "excel.csv": _table(
        {"Question": QUESTION, "Answer": ANSWER, "Contexts": CONTEXTS, "Ground Truth": REFERENCE},
        delimiter=";", encoding="utf-8-sig", lists=json.dumps,
    ),
    "excel_unicode.tsv": _table(RAGAS_V1, delimiter="\t", encoding="utf-16", lists=json.dumps),
    "pandas_columns.json": _json({key: {"0": value} for key, value in RAGAS.items()}),
    "one_sample.json": _json(RAGAS),
    "compressed.jsonl.gz": _gzipped(RAGAS_V1),
    # LlamaIndex and TruLens tables
    "llamaindex.jsonl": _lines(
        {"query": QUESTION, "response": ANSWER, "reference": REFERENCE, "contexts": CONTEXTS, "evaluator": "x"}
    ),
    "trulens.csv": _table(
        {"query": QUESTION, "response": ANSWER, "expected_response": REFERENCE, "retrieved_context_chunks": CONTEXTS}
    ),
}  # fmt: skip
