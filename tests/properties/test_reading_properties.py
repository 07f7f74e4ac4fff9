"""Whatever a file holds, reading it gives samples or an error of this library that names the file; no field has another's column."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ctxmetrics import CtxMetricsError, Sample, read_samples
from ctxmetrics.samples.field_keys import OPTIONS
from ctxmetrics.samples.systems import SCHEMAS
from support.exports import FILES

NAMES = sorted(
    {key for schema in SCHEMAS.values() for keys in schema.flat_keys.values() for key in keys}
)
HEADS = sorted({head for schema in SCHEMAS.values() for head in schema.keys_of_several_fields})
texts = st.text(max_size=12) | st.sampled_from(
    ['["a b", "c d"]', "a b|c d", '{"a": 1}', "{", "[", "[Document("]
)
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | texts
keys = st.sampled_from([*NAMES, *HEADS, "columns", "data", "evaluations", "metrics", "results"]) | texts
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=25,
)
rows = st.dictionaries(keys, trees, max_size=6)


def read(name: str, content: bytes, schema: str) -> list[Sample]:
    """Read a file; an error must be one of this library that names the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            return list(read_samples(path, schema))
        except CtxMetricsError as error:
            assert str(path) in str(error)  # noqa: PT017 - a property of the error
            return []


@given(trees | st.lists(rows, max_size=3), st.sampled_from(["auto", *SCHEMAS]))
def test_any_json_is_read_or_refused(data: Any, schema: str) -> None:
    read("s.json", json.dumps(data).encode(), schema)
    lines = data if isinstance(data, list) else [data]
    read("s.jsonl", "\n".join(map(json.dumps, lines)).encode(), schema)


@given(st.sampled_from(sorted(FILES)), st.data())
def test_a_mangled_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """A part of a real file is cut out, doubled or replaced."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        FILES[name](path)
        assume(path.is_file())
        content = path.read_bytes()
    content = gzip.decompress(content) if name.endswith(".gz") else content
    start, end = sorted(
        data.draw(st.tuples(st.integers(0, len(content)), st.integers(0, len(content))))
    )
    put = data.draw(st.sampled_from([b"", content[start:end] * 2, b"null", b"\xff", b"[" * 900, b"7"]))
    read(name.removesuffix(".gz"), content[:start] + put + content[end:], "auto")


@given(trees)
def test_the_files_beside_a_dataset_are_read_or_refused(data: Any) -> None:
    pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
    for name in ("state.json", "dataset_dict.json"):
        with tempfile.TemporaryDirectory() as folder:
            for held in (data, {"_data_files": data, "splits": data}):
                Path(folder, name).write_text(json.dumps(held), encoding="utf-8")
                with pytest.raises(CtxMetricsError, match=folder):
                    list(read_samples(folder))


# Columns that stand for a whole side of a record hold a text, a list of texts or an object.
passages = st.sampled_from(
    ["The pump hums.", ["The pump hums.", "It is clean."], {"answer": "It hums."}]
)
sides = st.dictionaries(
    st.sampled_from([*HEADS, "question", "answer", "contexts", ""]), passages, min_size=1
)


@pytest.mark.slow
@given(st.lists(rows | sides, min_size=1, max_size=3), st.sampled_from(["auto", *SCHEMAS]))
@example([{"": {"output": []}}], "auto")
def test_one_column_is_never_two_fields(data: list[dict[str, Any]], schema: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.json")
        path.write_text(json.dumps(data), encoding="utf-8")
        try:
            mapping = read_samples(path, schema).reading.mapping
        except CtxMetricsError:
            return
    read_from = [path for name, path in mapping.items() if name in OPTIONS]
    assert len(read_from) == len(set(read_from)), mapping


@given(trees)
def test_any_mapping_is_a_sample_or_refused(data: Any) -> None:
    for schema in ("ragas", "auto"):
        try:
            Sample.from_dict(data, schema)
        except CtxMetricsError:
            continue


@pytest.mark.parametrize(
    "name", ["retrieved_contexts", "reference_facts", "metadata", "labels", "user_input"]
)
def test_what_is_nested_too_deeply_is_refused(name: str) -> None:
    deep = json.loads("[" * 900 + "]" * 900)
    value = {"x": deep} if name in ("metadata", "labels") else deep
    with pytest.raises(CtxMetricsError, match=f"Sample 's1': field '{name}' is nested too deeply"):
        Sample(id="s1", **{name: value})
