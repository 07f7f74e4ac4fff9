"""A plan and the careful reader give the same fields, the same sample or the same error, whatever row comes."""

from __future__ import annotations

import copy
import json
import math
import pickle
import random
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import IDBasedContextRecall, Sample, read_samples
from ctxmetrics.errors import CtxMetricsError, SampleError
from ctxmetrics.evaluation.files import row_plan, schema_choice
from ctxmetrics.evaluation.files.formats import ALL_SCHEMAS
from ctxmetrics.evaluation.files.recognition import recognise
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.row_reading import read_row
from ctxmetrics.samples.field_keys import LISTS, TEXTS, UNUSABLE
from ctxmetrics.samples.schema import Place, Schema
from ctxmetrics.samples.systems import SCHEMAS
from support.cases import each_case
from support.exports import FILES
from support.known_files import SETS, STORES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

TABLES = ("inputs", "orders", "replies", "tools", "forms", "public")
INPUTS: list[dict[str, Any]] = [
    item
    for name in TABLES
    for item in json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
]
HANDBOOK = [
    json.loads(line)
    for line in Path("examples/handbook.jsonl").read_text(encoding="utf-8").splitlines()
]
DOCUMENTS = [
    {"page_content": "a b", "metadata": {"source": "s1", "start_index": 4}},
    {"id": "d1", "text": "a b", "score": 0.5},
]
INNER_KEYS = [
    "scores",
    "rank",
    "question",
    "documents",
    "contexts",
    "output",
    "references",
    "messages",
    "metadata",
    "x",
]
# How many rows of a source are changed, and how often.
CHANGED_ROWS = 1
CHANGES = 4
# The minimum number of rows of all files that are compared.
MIN_COMPARED_ROWS = 4_000
# Values that may stand where another one stood.
VALUES: list[Any] = [
    None,
    "",
    "a b",
    "page_content='x y' metadata={}",
    "Node ID: 1\nText: a",
    '["a", "b"]',
    "['a']",
    'deque(["a"])',
    'c("a", "b")',
    '{"text": "a", "answer": "b"}',
    '{"a": 1, "a": 2}',
    '"[1, 2]"',
    "a|b c d e|f g h",
    "d1, d2",
    "[1]",
    1,
    0,
    2.0,
    math.nan,
    True,
    [],
    ["a b", "c"],
    ["d1"],
    [1, 2],
    [1.0, 2.0],
    [None, "a"],
    [["a", "b"]],
    [["a"], ["b"]],
    ["page_content='x y' metadata={}"],
    ["Node ID: 1\nText: a"],
    [{"id": "d1"}, {"id": "d2"}],
    DOCUMENTS,
    [DOCUMENTS[1], DOCUMENTS[1]],
    [{"text": "a", "relevance": 0}],
    [{"role": "user", "content": "Why?"}],
    [{"role": "tool", "name": "search", "content": "a b"}],
    [("a", 0.5)],
    ("a", "b"),
    {},
    {"text": "a b"},
    {"answer": "a", "documents": DOCUMENTS, "x": 1},
    {"output": ["a b"], "question": "Why?"},
    {"output": {"text": "a"}, "messages": [{"role": "tool", "name": "search", "content": "a"}]},
    {"search": ["a"], "rerank": [{"text": "a"}]},
    {"unit_supported": [1, None]},
    {"relevance": {"d1": 2}},
    [0.25, 0.75],
    [2, 1],
    [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}],
    [{"id": "d1", "text": "a", "rank": 2}, {"id": "d2", "text": "b", "rank": 1}],
    [{"text": "a", "metadata": {"score": 0.1}}, {"text": "b", "metadata": {"score": 0.9}}],
    [{"id": "d1", "relevance": 4}, {"id": "d2", "relevance": 1}],
    {"scores": [0.1, 0.9]},
    {"contexts": ["a b", "c"], "scores": [0.1, 0.9]},
    [{"query": "Why?", "contexts": [{"text": "a", "rank": 2}, {"text": "b", "rank": 1}]}],
    {"search": [{"text": "a", "rank": 2}, {"text": "b", "rank": 1}]},
    [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    [{"title": "t", "url": "u"}],
    {"a": {"text": "a b"}, "b": {"text": "c"}},
    {"references": [{"title": "t"}]},
    {"references": ["It is."], "contexts": {"text": "a b"}},
    {"documents": DOCUMENTS, "question": ["Why?"], "answer": {"text": "So."}},
    {"hits": [{"text": "a b", "score": 0.5}]},
    {"content": [{"type": "text", "text": "a b"}]},
    '{"question": "Why?", "answer": "So."}',
    "{'text': 'a'}",
    {1: "a"},
    {"a": {"b": {"c": ["d"]}}},
]
NEW_KEYS = [
    *sorted({key for schema in ALL_SCHEMAS.values() for key in schema.known_keys}),
    *sorted(
        {key for schema in ALL_SCHEMAS.values() for keys in schema.flat_keys.values() for key in keys}
    ),
]
ODD_KEYS = [
    "scores",
    "retrieved_scores",
    "ranks",
    "rerank",
    "results",
    "code",
    "data",
    "additional_metadata",
    "topic",
    "user_inputt",
    "context",
    "page_content",
    "messages",
    "items",
    "output",
    "inputs",
    "outputs",
    "outputs.documents",
    "inputs.question",
    "retrieved_contexts",
    "retrieved_contexts.search",
    "is_impossible",
    "Ground Truth",
    "ground_truth",
    "reference",
    "id",
    "stages",
    "searches",
    "metadata",
    "metadata.stages",
    "labels",
    "",
    ".question",
    1,
]


def outcome(read: Callable[..., Any], row: Mapping[Any, Any], caplog: Any) -> tuple[Any, ...]:
    """Return the fields of a row, its sample and what was logged; errors in place of what is none."""
    caplog.clear()
    fields: Any = None
    try:
        values, others = read(copy.copy(row), "line 7")
        fields = (sorted(values.items(), key=str), others)
        result = repr((fields, Sample.from_fields(values, "line 7")))
    except CtxMetricsError as error:
        result = repr((fields, type(error), str(error)))
    return result, [record.getMessage() for record in caplog.records]


def mutate(row: Mapping[Any, Any], draw: random.Random) -> dict[Any, Any]:
    """Change one or two things of a row: a value, a value in an object, a key, the order."""
    changed: dict[Any, Any] = copy.deepcopy(dict(row))
    for _ in range(draw.randint(1, 2)):
        way = draw.randrange(5)
        value = copy.deepcopy(draw.choice(VALUES))
        holders = [key for key, value in changed.items() if type(value) is dict]
        if way == 0 or not changed:
            changed[draw.choice(draw.choice([NEW_KEYS, ODD_KEYS]))] = value
        elif way == 1:
            del changed[draw.choice([*changed])]
        elif way == 2 and holders:
            inner = changed[draw.choice(holders)]
            inner[draw.choice([*inner, *INNER_KEYS])] = value
        elif way == 3:
            items = [*changed.items()]
            draw.shuffle(items)
            changed = dict(items)
        else:
            changed[draw.choice([*changed])] = value
    return changed


def list_sources(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each source of rows, and what reads its samples."""
    for item in INPUTS:
        if "files" in item:
            place = folder / item["id"]
            place.mkdir(exist_ok=True)
            for name, lines in item["files"].items():
                (place / name).write_text(
                    "\n".join(lines) + "\n", encoding=item.get("encoding", "utf-8")
                )
            options = dict(item.get("options", {}))
            if "references" in options:
                options["references"] = place / options["references"]
            path = place / next(iter(item["files"]))
            yield item["id"], lambda path=path, options=options: read_samples(path, **options)
        elif "rows" in item:
            place = folder / f"{item['id']}.jsonl"
            place.write_text("\n".join(map(json.dumps, item["rows"])), encoding="utf-8")
            options = item.get("options", {})
            yield item["id"], lambda path=place, options=options: read_samples(path, **options)
    for name, write in FILES.items():
        write(folder / name)
        yield name, lambda path=folder / name: read_samples(path)
    for number, file in enumerate((*STORES, *SETS)):
        ending = "jsonl" if file.lines else "json"
        place = folder / f"{number}-{file.name}.{ending}"
        place.write_text(file.text(), encoding="utf-8")
        options = [option for option in file.options if option != "--map"]
        columns = dict(option.rpartition("=")[::2] for option in options)
        yield place.name, lambda path=place, columns=columns: read_samples(path, columns=columns)


def read_all(folder: Path, monkeypatch: Any) -> dict[str, list[tuple[Plan, Any]]]:
    """Read each source; return its rows, each with its plan."""
    rows: dict[str, list[tuple[Plan, Any]]] = {}
    apply = Plan.apply
    for name, read in list_sources(folder):

        def note(plan: Plan, row: Any, where: str | None = None, name: str = name) -> Any:
            rows.setdefault(name, []).append((plan, row))
            return apply(plan, row, where)

        with monkeypatch.context() as patch:
            patch.setattr(Plan, "apply", note)
            try:
                for _ in read():
                    pass
            except CtxMetricsError:
                continue
    return rows


def check_rows(plan: Plan, rows: list[Any], caplog: Any) -> int:
    """Compare what a plan and its careful reader make of rows; a plan that refuses its source refuses each row.

    Return the number of rows that both read.
    """
    compared = 0
    for row in rows:
        if plan.refusal or plan.unsure:
            with pytest.raises(CtxMetricsError, match=re.escape(plan.refusal or "it is not known")):
                plan.apply(row)
            continue
        careful = outcome(partial(read_row, plan.reading), row, caplog)
        assert outcome(plan.apply, row, caplog) == careful, (plan.reading, row)
        compared += 1
    return compared


@pytest.mark.slow
def test_rows_of_all_files(tmp_path, monkeypatch, caplog):
    draw = random.Random(4)
    compared = 0
    for pairs in read_all(tmp_path, monkeypatch).values():
        plan = pairs[0][0]
        rows = [row for _, row in pairs if type(row) is dict][:CHANGED_ROWS]
        changed = [mutate(row, draw) for row in rows for _ in range(CHANGES)]
        compared += check_rows(plan, [*rows, *changed], caplog)
    assert compared >= MIN_COMPARED_ROWS


def write_row(name: str, number: int) -> dict[str, Any]:
    """Write a row as a system has it, in the first word of each field."""
    values = {
        "id": f"q{number}",
        "user_input": f"Why is {number} odd?",
        "response": "So.",
        "reference": "It is.",
        "reference_facts": ["It is."],
        "retrieved_contexts": ["a b", f"c {number}"],
        "reference_contexts": ["a b"],
        "retrieved_context_ids": ["d1", "d2"],
        "reference_context_ids": ["d1"],
    }
    row: dict[str, Any] = {"topic": "x", "metadata": {"n": number}}
    for field, place in SCHEMAS[name].places.items():
        if field in values and place.keys and "." not in place.keys[0]:
            side = row.setdefault(place.side, {}) if place.side else row
            if isinstance(side, dict):
                side.setdefault(place.keys[0], values[field])
    return row


@pytest.mark.slow
@each_case("parses_texts", [False, True])
@each_case("name", SCHEMAS)
def test_rows_of_a_system(name, parses_texts, caplog):
    draw = random.Random(name)
    rows = [write_row(name, number) for number in range(CHANGED_ROWS)]
    changed = [mutate(row, draw) for row in rows for _ in range(CHANGES)]
    columns = {"topic": "reference_facts"}, {"metadata.n": "id"}, {"topic": "metadata"}
    plans = [
        recognise(rows, name, parses_texts=parses_texts),
        recognise(rows, parses_texts=parses_texts),
        recognise(rows, parses_texts=parses_texts, split="|", single=True),
        Plan(Reading(name=name, parses_texts=parses_texts)),
        *(Plan(Reading(name=name, parses_texts=parses_texts, columns=mapped)) for mapped in columns),
    ]
    for plan in plans:
        check_rows(plan, [*rows, *changed], caplog)


def count_calls(monkeypatch: Any, name: str) -> list[Any]:
    """Count the calls of a function that plans use."""
    calls: list[Any] = []
    original = getattr(row_plan, name)

    def counting(*values: Any) -> Any:
        calls.append(values)
        return original(*values)

    monkeypatch.setattr(row_plan, name, counting)
    return calls


@pytest.mark.parametrize(
    "row",
    [
        HANDBOOK[0],
        {"retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d1"]},
        {"question": "Why?", "ground_truth": "So.", "contexts": ["a"], "metadata": {"topic": "x"}},
        {"question": "Why?", "contexts": DOCUMENTS, "n": 1.5, "tags": ["x"]},
        {"inputs": {"question": "Why?"}, "outputs": {"answer": "So.", "documents": DOCUMENTS}},
        {"question": "Why?", "contexts": '["a", "b"]', "answer": "So."},
        {"input": "Why?", "actual_output": "So.", "retrieval_context": ["a"], "tags": ["x"]},
    ],
)
def test_usual_rows_need_no_care(row, monkeypatch):
    rows = [{**row, "id": f"q{number}"} for number in range(20)]
    plan = recognise(rows)
    plan.apply(rows[0])
    calls = count_calls(monkeypatch, "read_row")
    samples = [Sample.from_fields(plan.apply(row)[0], None) for row in rows]
    assert calls == []
    assert samples == [Sample.from_fields(read_row(plan.reading, row)[0], None) for row in rows]


def test_few_calls_a_row_of_the_example():
    plan = recognise(HANDBOOK)
    for row in HANDBOOK:
        plan.apply(row)
    calls: list[str] = []

    def count(frame: Any, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(count)
    for row in HANDBOOK:
        plan.apply(row)
    sys.setprofile(before)
    assert len(calls) <= 60 * len(HANDBOOK)


def test_a_key_is_asked_about_once(monkeypatch):
    Sample.from_dict({"reference": "So.", "only_of_this_test": 0})
    calls = count_calls(monkeypatch, "find_all_locations")
    rows = [{"id": f"q{n}", "reference": "So.", "only_of_this_test": n} for n in range(1, 51)]
    assert [Sample.from_dict(row).metadata["only_of_this_test"] for row in rows] == [*range(1, 51)]
    assert len(calls) <= 6  # of "id" alone, a value of each type


def test_many_keys_leave_room_for_the_next(monkeypatch):
    monkeypatch.setattr(row_plan, "_MAX_KEYS", 8)
    plan = Plan(Reading(name="ragas"))
    for number in range(50):
        assert plan.apply({"reference": "So.", f"key_{number}": number})[1] == [f"key_{number}"]
    assert len(plan.columns) <= 8


def test_a_plan_is_plain_data():
    plan = recognise(HANDBOOK)
    plan.apply(HANDBOOK[0])
    again = pickle.loads(pickle.dumps(plan))  # noqa: S301 - its own
    assert again == plan == recognise(HANDBOOK)
    assert plan != recognise(HANDBOOK, columns={"response": "metadata"})
    assert again.apply(HANDBOOK[1]) == plan.apply(HANDBOOK[1])
    assert again.columns["reference"].fields[str] == "reference"


def test_metadata_of_another_kind_beside_an_unusable_list():
    rows = [{"id": "a", "question": "Why?", "contexts": ["a b"]}] * 2
    plan = recognise(rows, parses_texts=False)
    values, _ = plan.apply({"question": "Why?", "contexts": "a b", "metadata": "x"})
    with pytest.raises(CtxMetricsError, match="'metadata' must be a mapping"):
        Sample.from_fields(values, None)


@pytest.mark.parametrize("inner", [False, True])
def test_a_text_with_the_list_of_a_path_is_read(inner):
    def row(sources: Any) -> dict[str, Any]:
        fields = {"sources": sources}
        return {"question": "Why?", "ground_truth": "So.", **({"reply": fields} if inner else fields)}

    sources = [{"document": ["One two three.", "Four five six."], "metadata": [{}, {}]}]
    rows = [row(sources), row(json.dumps(sources))]
    plan = recognise(rows, parses_texts=False)
    for item in rows:
        values, _ = plan.apply(item)
        assert values == read_row(plan.reading, item)[0]
        assert values["retrieved_contexts"] == ["One two three.", "Four five six."]


# What may be odd about a row, though every field of it can be read.
ODD_ROWS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a text more": lambda row: {**row, "my_notes": "a b"},
    "a list more": lambda row: {**row, "my_tags": ["x", "y"]},
    "an object more": lambda row: {**row, "my_settings": {"k": 1}},
    "numbers more": lambda row: {**row, "my_number": 3.0, "my_flag": True},
    "another order": lambda row: dict(reversed(row.items())),
    "nothing more": lambda row: {**row, "my_notes": None},
    "labels": lambda row: {**row, "labels": {"relevance": {"d1": 2}}},
    "lists as text": lambda row: {
        key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()
    },
}


@pytest.mark.slow
@each_case("odd", ODD_ROWS)
@each_case("name", SCHEMAS)
def test_a_row_is_read_alone_as_behind_another(name, odd):
    first = write_row(name, 1)
    row = ODD_ROWS[odd](write_row(name, 2))
    alone = recognise([row], single=True).apply(row)[0]
    plan = recognise([first, row], single=True)
    plan.apply(first)
    behind = plan.apply(row)[0]
    assert Sample.from_fields(behind, None) == Sample.from_fields(alone, None)
    assert behind["reference_facts"] == ["It is."]


# Values that no field can use, by the kind of the field.
UNUSABLE_TEXTS = (["a", "b"], {"n": 1})
UNUSABLE_LISTS = (5.5, True, [{"n": 1}])


@each_case("parses_texts", [False, True])
@each_case("name", ["user_input", "response", "reference", *sorted(LISTS - {"references"})])
def test_an_unusable_value_costs_its_own_sample(name, parses_texts):
    """No number comes from it: it is refused if no row shows what is usable, else the sample lacks the field and its scores say so."""
    usable = {
        "id": "a",
        "user_input": "Why is it odd?",
        "response": "It is so.",
        "reference": "It is so.",
        "reference_facts": ["It is so."],
        "retrieved_contexts": ["It is so."],
        "reference_contexts": ["It is so."],
        "retrieved_context_ids": ["d1"],
        "reference_context_ids": ["d1"],
    }
    for value in UNUSABLE_TEXTS if name in TEXTS else UNUSABLE_LISTS:
        row = {**usable, "id": "b", "user_input": "Why is another odd?", name: value}
        alone = recognise([row], parses_texts=parses_texts)
        with pytest.raises(SampleError) as refused:
            Sample.from_fields(alone.apply(row)[0], None)
        assert refused.value.field == name
        for rows in ([usable, row], [row, usable]):
            plan = recognise(rows, parses_texts=parses_texts)
            sample = Sample.from_fields(plan.apply(row)[0], None)
            assert getattr(sample, name) is None
            assert sample.metadata == {name: value, UNUSABLE: name}
            note = f"without {name}: the record has a value there that cannot be used"
            assert note in IDBasedContextRecall().make_score(sample, None).notes


def test_recognition_costs_the_same_for_more_systems(monkeypatch):
    def count_all() -> int:
        recognise(HANDBOOK)  # what is remembered of the schemas
        calls = 0

        def count(_frame: Any, event: str, _value: object) -> None:
            nonlocal calls
            calls += event == "call"

        before = sys.getprofile()
        sys.setprofile(count)
        recognise(HANDBOOK)
        sys.setprofile(before)
        return calls

    few = count_all()
    more = dict(ALL_SCHEMAS)
    for number in range(100):
        places = {field: Place("", (f"{field}_of_{number}",)) for field in TEXTS}
        more[f"system_{number}"] = Schema(places=places)
    monkeypatch.setattr(schema_choice, "ALL_SCHEMAS", more)
    assert count_all() <= few + 100  # one look at the keys of each
