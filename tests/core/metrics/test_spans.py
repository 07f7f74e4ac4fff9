"""The metrics over spans: an oracle with sets of single characters, what their verdicts say, and what is refused."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextRecall,
    Sample,
    Score,
    ScriptedJudge,
    SpanBasedContextPrecision,
    SpanBasedContextRecall,
    evaluate,
    score_table,
)
from ctxmetrics.errors import CtxMetricsError, ParameterError, SampleError
from ctxmetrics.evaluation.runs.quote_spans import build_span_samples
from ctxmetrics.metrics.catalog import METRICS, find_metric
from ctxmetrics.metrics.spans import read_span
from ctxmetrics.samples.documents import span_of, write_span
from ctxmetrics.samples.systems import SCHEMAS

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = ["a.md", "b.md", "документ.md", "😀#1.md"]
MIN_COVERS = [0.0, 0.1, 0.3, 0.5, 0.7, 1.0]


def a(*pairs: tuple[int, int]) -> list[str]:
    return [write_span("a.md", start, end) for start, end in pairs]


def recall(
    retrieved: list[str], reference: list[str], sample: dict[str, Any] | None = None, **params: Any
) -> Score:
    fields = {"retrieved_context_ids": retrieved, "reference_context_ids": reference, **(sample or {})}
    return SpanBasedContextRecall(**params).score(Sample(**fields))


def precision(
    retrieved: list[str], reference: list[str], sample: dict[str, Any] | None = None, **params: Any
) -> Score:
    fields = {"retrieved_context_ids": retrieved, "reference_context_ids": reference, **(sample or {})}
    return SpanBasedContextPrecision(**params).score(Sample(**fields))


# --- the oracle: every character is an element of a set ---


def sets_of(ids: list[str]) -> list[set[tuple[str, int]]]:
    sets = []
    for id_ in ids:
        source, numbers = id_.rsplit("#char=", 1)
        start, end = numbers.split(",")
        sets.append({(source, position) for position in range(int(start), int(end))})
    return sets


def oracle(retrieved: list[str], reference: list[str], least: float) -> dict[str, float | None]:
    """Every value by counting characters."""
    got, wanted = sets_of(retrieved), sets_of(list(dict.fromkeys(reference)))
    if not wanted:
        return dict.fromkeys(("character", "span", "share", "iou", "ap"))
    if not got:
        return dict.fromkeys(("character", "span", "share", "iou", "ap"), 0.0)
    found, expected = set().union(*got), set().union(*wanted)
    common, retrieved_length = len(found & expected), sum(len(one) for one in got)

    def enough(part: set[tuple[str, int]], whole: set[tuple[str, int]]) -> bool:
        return len(part) > 0 and len(part) / len(whole) >= least

    hits = total = 0.0
    for rank, one in enumerate(sets_of(list(dict.fromkeys(retrieved))), 1):  # a repeated id counts once
        if enough(one & expected, one) or any(enough(one & other, other) for other in wanted):
            hits += 1
            total += hits / rank
    return {
        "character": common / len(expected),
        "span": sum(enough(one & found, one) for one in wanted) / len(wanted),
        "share": common / retrieved_length,
        "iou": common / (retrieved_length + len(expected - found)),
        "ap": total / hits if hits else 0.0,
    }


def generated(random_: random.Random) -> tuple[list[str], list[str], float]:
    """Spans that overlap, repeat, touch and stand in several sources; sides may be empty."""
    sources = random_.sample(SOURCES, random_.randint(1, 3))

    def side(most: int) -> list[str]:
        ids = []
        for _ in range(random_.randint(0, most)):
            start = random_.randint(0, 30)
            ids.append(write_span(random_.choice(sources), start, start + random_.randint(1, 15)))
            if random_.random() < 0.15:
                ids.append(random_.choice(ids))
        return ids

    return side(6), side(4), random_.choice(MIN_COVERS)


def wrong_of(count: int, seed: int) -> list[Any]:
    random_, wrong = random.Random(seed), []
    for _ in range(count):
        retrieved, reference, least = generated(random_)
        values = {
            "character": recall(retrieved, reference, min_cover=least),
            "span": recall(retrieved, reference, min_cover=least, unit="span"),
            "share": precision(retrieved, reference, min_cover=least),
            "iou": precision(retrieved, reference, min_cover=least, formula="iou"),
            "ap": precision(retrieved, reference, min_cover=least, formula="ap"),
        }
        actual = {name: score.value for name, score in values.items()}
        if actual != oracle(retrieved, reference, least):
            wrong.append((retrieved, reference, least, actual))
    return wrong


@pytest.mark.slow
def test_the_values_are_those_of_sets_of_characters() -> None:
    assert wrong_of(1_000, seed=18) == []


@pytest.mark.slow
def test_values_equal_those_of_character_sets() -> None:
    """``CASES=100000`` in the environment runs ten times as many."""
    assert wrong_of(int(os.environ.get("CASES", "10000")), seed=5147) == []


def test_what_a_recall_reports_as_found_and_missed_is_the_span() -> None:
    random_ = random.Random(7)
    for _ in range(500):
        retrieved, reference, _ = generated(random_)
        for verdict in recall(retrieved, reference).verdicts:
            source, start, end = read_span(verdict.id, "here")
            whole = {(source, position) for position in range(start, end)}
            missed = sets_of(
                [
                    write_span(source, part["start"], part["end"])
                    for part in verdict.details.get("missed", ())
                ]
            )
            contexts = [index for index, one in enumerate(sets_of(retrieved)) if one & whole]
            assert set().union(*missed) == whole - set().union(*sets_of(retrieved))
            assert verdict.details["found"] == len(whole & set().union(*sets_of(retrieved)))
            assert verdict.details["characters"] == len(whole)
            assert verdict.details["contexts"] == tuple(contexts)


# --- verdicts ---

TEXT = "The tower was built in 1889. It is 330 metres high. It stands in Paris."


def cut(start: int, end: int) -> tuple[str, str]:
    return write_span("tower.md", start, end), TEXT[start:end]


def tower() -> Sample:
    retrieved = [cut(0, 28), cut(20, 40)]
    reference = [cut(0, 51), cut(52, 71)]
    return Sample(
        id="q1",
        retrieved_context_ids=[id_ for id_, _ in retrieved],
        retrieved_contexts=[text for _, text in retrieved],
        reference_context_ids=[id_ for id_, _ in reference],
        reference_contexts=[text for _, text in reference],
    )


def test_recall_reports_matched_and_missed_parts() -> None:
    score = SpanBasedContextRecall().score(tower())
    first, second = score.verdicts
    assert score.value == 40 / 70
    assert (first.value, second.value) == (True, False)
    assert first.text == TEXT[:51]
    assert first.reason == '40 of 51 characters retrieved, in c1, c2; missed: 40 to 51 "etres high."'
    assert first.details["missed"] == ({"start": 40, "end": 51, "text": "etres high."},)
    assert [(span.context, span.quote, span.whole) for span in first.evidence] == [
        (0, TEXT[0:28], False),
        (1, TEXT[20:40], False),
    ]
    assert second.details["contexts"] == ()
    assert second.reason == '0 of 19 characters retrieved; missed: 52 to 71 "It stands in Paris."'


def test_evidence_is_where_it_says() -> None:
    sample = tower()
    for metric in (SpanBasedContextRecall(), SpanBasedContextPrecision()):
        spans = [span for verdict in metric.score(sample).verdicts for span in verdict.evidence]
        assert spans
        for span in spans:
            assert sample.retrieved_contexts is not None
            assert sample.retrieved_contexts[span.context][span.start : span.end] == span.quote


def test_precision_reports_the_reference_share_of_contexts() -> None:
    score = precision(a((0, 10), (8, 30), (50, 60)), a((0, 12)))
    assert [verdict.id for verdict in score.verdicts] == ["c1", "c2", "c3"]
    assert [verdict.text for verdict in score.verdicts] == a((0, 10), (8, 30), (50, 60))
    assert [verdict.reason for verdict in score.verdicts] == [
        "10 of 10 characters are reference text",
        "4 of 22 characters are reference text",
        "0 of 10 characters are reference text",
    ]


def test_texts_and_reports_show_what_was_missed(tmp_path: Path) -> None:
    score = SpanBasedContextRecall().score(tower())
    assert "1 of 2 reference spans found" in score.pretty()
    assert 'missed: 40 to 51 "etres high."' in score.pretty()
    assert 'missed: 40 to 51 "etres high."' in score.reason
    evaluate([tower()], [SpanBasedContextRecall()], progress=False).to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "missed: 40 to 51 &#34;etres high.&#34;" in page
    assert "40 of 51 characters retrieved, in c1, c2" in page


def test_the_report_marks_the_part_that_was_found(tmp_path: Path) -> None:
    sample = Sample(
        retrieved_context_ids=["t#char=0,28"],
        retrieved_contexts=[TEXT[:28]],
        reference_context_ids=["t#char=4,15"],
    )
    evaluate([sample], [SpanBasedContextRecall()], progress=False).to_html(tmp_path / "report.html")
    assert f"<mark>{TEXT[4:15]}</mark>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_text_of_another_length_is_said_and_not_quoted() -> None:
    one = recall(
        a((0, 10)), a((0, 5)), {"retrieved_contexts": ["short"], "reference_contexts": ["too long"]}
    )
    assert (
        one.verdicts[0].reason
        == "5 of 5 characters retrieved, in c1; its text has 8 characters, its span 5"
    )
    assert one.verdicts[0].evidence == ()
    other = precision(a((0, 10)), a((0, 5)), {"retrieved_contexts": ["short"]})
    assert (
        other.verdicts[0].reason
        == "5 of 10 characters are reference text; its text has 5 characters, its span 10"
    )


def test_a_source_with_the_same_file_name_is_pointed_out() -> None:
    (verdict,) = recall(["/data/docs/a.md#char=0,10"], a((0, 10))).verdicts
    assert verdict.value is False
    assert "'/data/docs/a.md', of which a part was retrieved, has the same file name" in (
        verdict.reason or ""
    )
    (verdict,) = recall(["docs/b.md#char=0,10"], a((0, 10))).verdicts
    assert verdict.reason == "0 of 10 characters retrieved; missed: 0 to 10"


def test_only_some_of_many_missed_parts_are_listed() -> None:
    (verdict,) = recall(a(*((at, at + 1) for at in range(0, 20, 2))), a((0, 20))).verdicts
    assert (verdict.reason or "").endswith("missed: 1 to 2, 3 to 4, 5 to 6, 7 more")
    assert len(verdict.details["missed"]) == 10


# --- names, parameters, errors ---


def test_names() -> None:
    assert SpanBasedContextRecall().name == "span_based_context_recall"
    assert (
        SpanBasedContextRecall(unit="span", min_cover=0.8).name
        == "span_based_context_recall(min_cover=0.8, unit=span)"
    )
    assert SpanBasedContextPrecision(formula="iou").name == "span_based_context_precision(formula=iou)"


def test_the_provenance_names_the_formula() -> None:
    assert recall(a((0, 1)), a((0, 1))).provenance.formula == "share_of_characters"
    assert recall(a((0, 1)), a((0, 1)), unit="span").provenance.formula == "share_of_spans"
    assert precision(a((0, 1)), a((0, 1)), formula="iou").provenance.formula == "iou"


@pytest.mark.parametrize(
    "parameters", [{"unit": "token"}, {"min_cover": -0.1}, {"min_cover": True}, {"formula": "iou"}]
)
def test_parameters_of_recall_are_checked(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        SpanBasedContextRecall(**parameters)


@pytest.mark.parametrize(
    "parameters", [{"formula": "average_precision"}, {"min_cover": 2}, {"unit": "span"}]
)
def test_parameters_of_precision_are_checked(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        SpanBasedContextPrecision(**parameters)


@pytest.mark.parametrize(
    ("id_", "fix"),
    [
        ("a.md", "Write SOURCE#char=START,END"),
        ("a.md#char=5", "Write SOURCE#char=START,END"),
        ("a.md#char=,5", "Write SOURCE#char=START,END"),
        ("a.md#char=5,", "Write SOURCE#char=START,END"),
        ("a.md#char=1,5;length=9", "Write SOURCE#char=START,END"),
        ("a.md#char= 1,5", "Write SOURCE#char=START,END"),
        ("a.md#char=1,5\n", "Write SOURCE#char=START,END"),
        ("#char=1,5", "Write SOURCE#char=START,END"),
        ("a.md#line=1,5", "Write SOURCE#char=START,END"),
        ("a.md#char=5,5", "Write the start first"),
        ("a.md#char=9,5", "Write the start first"),
        ("a.md#char=0,1" + "0" * 12, "beyond the end of any text"),
        ("a.md#char=0," + "9" * 9_999, "beyond the end of any text"),
    ],
)
def test_an_id_that_names_no_span_is_refused_with_the_fix(id_: str, fix: str) -> None:
    with pytest.raises(SampleError) as caught:
        recall(a((0, 5)), [*a((0, 5)), id_], {"id": "q1"})
    assert str(caught.value).startswith("Sample 'q1': field 'reference_context_ids', item 2: ")
    assert fix in str(caught.value)
    assert len(str(caught.value)) < 500


def test_it_is_refused_also_where_the_other_side_is_empty() -> None:
    with pytest.raises(SampleError, match="field 'retrieved_context_ids', item 1"):
        recall(["a.md"], [])
    with pytest.raises(SampleError, match="field 'reference_context_ids', item 1"):
        recall([], ["a.md"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("./a.md", "a.md"),
        ("docs//a.md", "docs/a.md"),
        ("docs/x/../a.md", "docs/a.md"),
        ("docs\\a.md", "docs/a.md"),
        ("my%20notes.md", "my notes.md"),
        ("file:///data/a.md", "/data/a.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
    ],
)
def test_one_source_in_two_spellings_is_refused(one: str, other: str) -> None:
    with pytest.raises(SampleError, match="one source, spelled in two ways") as caught:
        recall([write_span(one, 0, 5)], [write_span(other, 0, 5)], {"id": "q1"})
    assert repr(one) in str(caught.value)
    assert repr(other) in str(caught.value)


@pytest.mark.parametrize(("one", "other"), [("a.md", "A.md"), ("x/a.md", "y/a.md"), ("a.md", "b.md")])
def test_two_sources_are_two(one: str, other: str) -> None:
    assert recall([write_span(one, 0, 5)], [write_span(other, 0, 5)]).value == 0.0


def test_a_sample_that_is_refused_costs_no_other() -> None:
    good = {"retrieved_context_ids": a((0, 5)), "reference_context_ids": a((0, 10))}
    rows = evaluate(
        [good, {**good, "retrieved_context_ids": ["a.md"]}], [SpanBasedContextRecall()], progress=False
    )
    first, second = (row["span_based_context_recall"] for row in rows)
    assert first.value == 0.5
    assert (second.value, second.reason_code) == (None, "metric_error")
    assert "Write SOURCE#char=START,END" in (second.message or "")


def test_reading_gives_back_what_was_written() -> None:
    span = ("x#char=1,2 y.md", 3, 44)
    assert read_span(write_span(*span), "here") == span


# --- spans of documents ---

CHUNK = "The tower was built in 1889."
SHAPES = {
    "LangChain": {
        "id": "uuid",
        "page_content": CHUNK,
        "metadata": {"source": "t.md", "start_index": 40},
    },
    "LlamaIndex": {
        "text": CHUNK,
        "start_char_idx": 40,
        "end_char_idx": 68,
        "metadata": {"file_path": "t.md"},
    },
    "LlamaIndex with its score": {
        "node": {"start_char_idx": 40, "end_char_idx": 68, "metadata": {"file_path": "t.md"}},
        "text": CHUNK,
        "score": 0.5,
    },
    "LlamaIndex without a path": {
        "text": CHUNK,
        "start_char_idx": 40,
        "end_char_idx": 68,
        "ref_doc_id": "t.md",
    },
    "Haystack": {
        "id": "h",
        "content": CHUNK,
        "meta": {"file_path": "t.md", "split_idx_start": 40, "source_id": "9f"},
    },
    "Haystack without a path": {
        "id": "h",
        "content": CHUNK,
        "meta": {"split_idx_start": 40, "source_id": "t.md"},
    },
    "a plain dict": {"text": CHUNK, "source": "t.md", "start_index": 40},
    "a pair with a score": ({"text": CHUNK, "source": "t.md", "start_index": 40}, 0.7),
}


@pytest.mark.parametrize("document", SHAPES.values(), ids=SHAPES)
def test_the_span_of_a_document(document: Any) -> None:
    assert span_of(document) == "t.md#char=40,68"


@pytest.mark.parametrize("document", SHAPES.values(), ids=SHAPES)
def test_documents_are_read_as_spans_where_the_labels_are_spans(document: Any) -> None:
    sample = Sample(retrieved_contexts=[document], reference_context_ids=["t.md#char=50,80"])
    assert sample.retrieved_context_ids == ("t.md#char=40,68",)
    row = Sample.from_dict(
        {"retrieved_contexts": [document], "reference_context_ids": ["t.md#char=50,80"]}
    )
    assert row.retrieved_context_ids == ("t.md#char=40,68",)
    assert SpanBasedContextRecall().score(sample).value == 18 / 30
    (verdict,) = SpanBasedContextRecall().score(sample).verdicts
    assert [span.quote for span in verdict.evidence] == [CHUNK[10:]]


WITHOUT_ID = [
    name
    for name, document in SHAPES.items()
    if "id" not in (document[0] if isinstance(document, tuple) else document)
]


@pytest.mark.parametrize("name", WITHOUT_ID)
def test_reference_documents_without_ids_may_show_spans(name: str) -> None:
    fields = {"retrieved_contexts": [SHAPES["LangChain"]], "reference_contexts": [SHAPES[name]]}
    read = SCHEMAS["ragas"].read(fields, {}, ("retrieved_context_ids", "reference_context_ids"))
    for sample in (Sample(**fields), Sample.from_dict(fields), Sample(**read)):
        assert sample.reference_context_ids == ("t.md#char=40,68",)
        assert sample.retrieved_context_ids == ("t.md#char=40,68",)
        assert SpanBasedContextRecall().score(sample).value == 1.0


def test_reference_documents_with_ids_are_labels_by_id() -> None:
    sample = Sample(retrieved_contexts=[SHAPES["LangChain"]], reference_contexts=[SHAPES["LangChain"]])
    assert (sample.retrieved_context_ids, sample.reference_context_ids) == (("uuid",), ("uuid",))


def test_where_the_labels_are_ids_documents_keep_theirs() -> None:
    sample = Sample(retrieved_contexts=[SHAPES["LangChain"]], reference_context_ids=["uuid"])
    assert sample.retrieved_context_ids == ("uuid",)


@pytest.mark.parametrize(
    "document",
    [
        "a text",
        {"page_content": CHUNK},
        {"page_content": CHUNK, "metadata": {"source": "t.md"}},
        {"page_content": CHUNK, "metadata": {"start_index": 40}},
        {
            "page_content": CHUNK,
            "metadata": {"source": "t.md", "start_index": -1},
        },  # LangChain did not find it
        {"page_content": "", "metadata": {"source": "t.md", "start_index": 4}},
        {"page_content": CHUNK, "metadata": {"source": 7, "start_index": 4}},
        {
            "text": CHUNK,
            "start_char_idx": None,
            "end_char_idx": None,
            "metadata": {"file_path": "t.md"},
        },
    ],
)
def test_document_without_position_has_no_span(document: Any) -> None:
    assert span_of(document) is None


def test_documents_without_spans_are_an_error_with_the_fix() -> None:
    sample = Sample(
        retrieved_contexts=[{"id": "u1", "page_content": CHUNK}],
        reference_context_ids=["t.md#char=50,80"],
    )
    with pytest.raises(SampleError, match=r"'u1' does not say where .* add_start_index=True"):
        SpanBasedContextRecall().score(sample)


# --- labels from a judged run ---


def judged(**changed: Any) -> Any:
    quotes = [{"context": "c1", "quote": TEXT[0:28], "whole": True}]
    reply = {
        "code": "$code",
        "sentences": {
            "s1": {"evidence": quotes, "supported": True},
            "s2": {"evidence": [], "missing": "the river", "supported": False},
        },
        "useful": {"c1": {"useful": True}, "c2": {"useful": False}},
    }
    fields: dict[str, Any] = {
        "id": "q1",
        "reference": "The tower was built in 1889. It stands by the river.",
        "retrieved_contexts": [TEXT[:51], TEXT[52:]],
        "retrieved_context_ids": ["tower.md#char=1000,1051", "tower.md#char=1052,1071"],
        "metadata": {"set": "a"},
    }
    judge = ScriptedJudge({"joint": [reply]})
    return evaluate([{**fields, **changed}], [ContextRecall(judge=judge)], progress=False)


def test_quotes_of_a_judged_run_are_labels() -> None:
    (sample,) = judged().reference_spans()
    assert sample.reference_context_ids == ("tower.md#char=1000,1028",)
    assert sample.metadata["set"] == "a"
    assert sample.metadata["reference_spans"].startswith("quotes of context_recall, ")
    assert SpanBasedContextRecall().score(sample).value == 1.0
    assert SpanBasedContextPrecision().score(sample).value == 28 / (51 + 19)


def test_a_doubtful_verdict_gives_no_label() -> None:
    results = judged()
    (row,) = results
    score = row["context_recall"]
    weak = tuple(replace(verdict, code="weak_evidence") for verdict in score.verdicts)
    doubtful = replace(row, scores=(replace(score, verdicts=weak),))
    (sample,) = build_span_samples([doubtful], "context_recall")
    assert sample.reference_context_ids == ()
    assert SpanBasedContextRecall().score(sample).reason_code == "no_reference"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"retrieved_context_ids": None}, "it has no id"),
        ({"retrieved_context_ids": ["a", "b"]}, "does not say where its text stands"),
        (
            {"retrieved_context_ids": ["t#char=0,50", "t#char=60,79"]},
            "its text has 51 characters, its span 50",
        ),
    ],
)
def test_contexts_without_a_span_give_no_label_but_an_error(
    changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(CtxMetricsError, match=f"sample 'q1', context 1.*{message}"):
        judged(**changed).reference_spans()


def test_only_a_judged_recall_has_quotes() -> None:
    with pytest.raises(ParameterError, match="metric='context_precision' is not in this run"):
        judged().reference_spans("context_precision")
    results = evaluate([tower()], [SpanBasedContextRecall()], progress=False)
    with pytest.raises(ParameterError, match="counts no units"):
        results.reference_spans("span_based_context_recall")


# --- by name, and in a table ---


def test_a_metric_is_found_by_its_name() -> None:
    metrics = [
        SpanBasedContextRecall(unit="span", min_cover=0.8),
        SpanBasedContextPrecision(formula="iou", top_k=3),
    ]
    assert [find_metric(metric.name) for metric in metrics] == metrics
    assert not {metric.base_name for metric in metrics} & METRICS.keys()


def test_a_table_has_a_column_for_each() -> None:
    pa = pytest.importorskip("pyarrow", reason="the tables extra is not installed")
    pytest.importorskip("narwhals", reason="the tables extra is not installed")
    table = pa.table(
        {"retrieved_context_ids": [a((0, 10)), []], "reference_context_ids": [a((5, 15)), a((0, 1))]}
    )
    scored = score_table(
        table, [SpanBasedContextRecall(), SpanBasedContextPrecision(formula="iou")], progress=False
    )
    assert scored.column("span_based_context_recall").to_pylist() == [5 / 10, 0.0]
    assert scored.column("span_based_context_precision(formula=iou)").to_pylist() == [5 / 15, 0.0]
