"""Documents: where texts, ids, spans, grades and scores stand in them."""

from __future__ import annotations

import math
from types import MappingProxyType

import pytest

from ctxmetrics.evaluation.files.formats import find_ties
from ctxmetrics.samples.documents import ID_KEYS, ids_of, keep_relevant, span_of, text_of
from ctxmetrics.samples.pictures import find_media
from support.cases import each_case

DOCUMENTS = [
    {"page_content": "a b", "metadata": {"source": "s1"}},
    {"page_content": "a b", "metadata": {"source": "s1", "start_index": 4}},
    {"page_content": "a b", "metadata": {"score": 0.5, "certainty": None}, "id": "d1"},
    {"id": "d1", "text": "a b", "score": 0.5},
    {"id": "d2", "text": "c", "score": 0.5},
    {"id": "d3", "text": "c", "score": math.nan},
    {"id": 4, "text": "c", "score": True},
    {"id": True, "text": "c", "score": "0.5"},
    {"id": None, "doc_id": "d5", "text": None, "content": "c", "_score": 1},
    {"content": "a b", "meta": {"page": 1, "split_idx_start": 3}, "id": "d1"},
    {"content": "a b", "meta": {"file_path": "f", "split_idx_start": 3}, "id": "d1"},
    {"content": ["a", "b"], "id": "d1"},
    {"content": [{"type": "image_url"}], "id": "d1"},
    {"content": [{"type": "text", "text": "a"}], "id": "d1"},
    {"content": {"text": "a"}, "metadata.score": 0.5, "_additional": {"id": "x", "distance": 1}},
    {"type": "image", "text": " "},
    {"media_type": "image/png", "data": "x"},
    {"text": b"a"},
    {"text": "a b", "relevance": 0, "id": "d1"},
    {"text": "a b", "relevance": 2, "rank": 1},
    {"payload": {"text": "a b"}, "id": 1, "score": 0.25},
    {"kwargs": {"page_content": "a b"}, "type": "constructor", "span": [0, 3], "source": "s"},
    {"document": {"id": "d9", "content": "a"}, "@search.score": 0.5},
    {"node": {"text": "a", "start_char_idx": 0, "end_char_idx": 1, "ref_doc_id": "r"}, "score": 0.5},
    {"role": "user", "content": "Why?"},
    {"role": "tool", "name": "search", "content": "a b"},
    {"id": "d1"},
    {"score": 0.5},
    {1: "a", None: "b"},
    {},
]


@each_case("document", DOCUMENTS)
def test_dicts_are_read_as_other_mappings(document):
    other = MappingProxyType(document)
    assert repr(text_of(document)) == repr(text_of(other))
    assert ids_of([document]) == ids_of([other])
    assert ids_of([document], spans=True) == ids_of([other], spans=True)
    assert span_of(document) == span_of(other)
    assert keep_relevant("reference_contexts", [document]) == [document] * len(
        keep_relevant("reference_contexts", [other])
    )
    assert find_media(document) == find_media(other)
    for last in DOCUMENTS:
        pair = [MappingProxyType(item) for item in (document, last)]
        assert find_ties([document, last], ID_KEYS) == find_ties(pair, ID_KEYS)


@pytest.mark.parametrize(
    ("document", "media"),
    [
        ({"mime_type": "TEXT/PLAIN", "data": "x"}, None),
        ({"media_type": "text", "data": "x"}, None),
        ({"media_type": "application/json; charset=utf-8", "data": "{}"}, None),
        ({"media_type": "application/ld+json", "data": "{}"}, None),
        ({"media_type": "", "mime_type": "image/png"}, "image/png"),
        ({"mime_type": "image/svg+xml"}, "image/svg+xml"),
        ({"mime_type": "application/pdf"}, "application/pdf"),
    ],
)
def test_media_types_of_texts_are_no_pictures(document, media):
    assert find_media(document) == media
