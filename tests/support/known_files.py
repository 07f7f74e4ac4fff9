"""Answers of vector stores and search engines, public data sets and tables, as their clients and authors write them.

Every row asks what `exports` asks: the useful context stands second, and states one of the reference's two sentences. So
recall and precision are 1/2. Of ids, ``d1`` was retrieved first and ``d2`` second, and ``d2`` is the relevant one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.exports import ANSWER, CONTEXTS, QUESTION, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

IDS = ("d1", "d2")
TEXTS = {"context_recall": 0.5, "context_precision": 0.5}
OF_IDS = {"id_based_context_recall": 1.0, "id_based_context_precision": 0.5}
ROW = {"question": QUESTION, "ground_truth": REFERENCE}
GOLD = {"reference_context_ids": ["d2"]}


@dataclass(frozen=True)
class KnownFile:
    """A file.

    Attributes:
        system: What the page calls it.
        name: Its name.
        data: What it holds, as JSON.
        values: The mean of each metric.
        options: What its command needs.
        lines: Whether it is JSON Lines.
    """

    system: str
    name: str
    data: Any
    values: Mapping[str, float] = field(default_factory=lambda: {**TEXTS, **OF_IDS})
    options: tuple[str, ...] = ()
    lines: bool = False

    def text(self) -> str:
        """Write what it holds."""
        if self.lines:
            return "".join(json.dumps(row) + "\n" for row in self.data)
        return json.dumps(self.data)


def _hits(**keys: Any) -> list[dict[str, Any]]:
    """Return a hit for each context; ``ID``, ``TEXT``, ``SCORE`` and ``DISTANCE`` in the values are its own."""
    own = [
        {"ID": id_, "TEXT": text, "SCORE": 0.9 - place / 10, "DISTANCE": 0.1 + place / 10}
        for place, (id_, text) in enumerate(zip(IDS, CONTEXTS, strict=True))
    ]
    return [_fill(keys, values) for values in own]


def _fill(value: Any, own: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _fill(item, own) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, own) for item in value]
    return own.get(value, value) if isinstance(value, str) else value


def _store(system: str, name: str, answer: Mapping[str, Any], **more: Any) -> KnownFile:
    """Return the file of a store: its answer beside the question, what is expected, and the relevant ids."""
    return KnownFile(system, name, [{**ROW, **answer, **GOLD}], **more)


_QDRANT = _hits(id="ID", version=0, score="SCORE", payload={"text": "TEXT", "page": 3}, vector=None)
_PINECONE = _hits(id="ID", score="SCORE", values=[], metadata={"text": "TEXT", "page": 3.0})
_ELASTIC = _hits(_index="docs", _id="ID", _score="SCORE", _source={"text": "TEXT", "title": "T"})
_FOUND = {"total": {"value": 2, "relation": "eq"}, "max_score": 0.9, "hits": _ELASTIC}
_CHROMA = {
    "ids": [[*IDS]],
    "distances": [[0.1, 0.2]],
    "embeddings": None,
    "metadatas": [[{"page": 1}, {"page": 2}]],
    "documents": [CONTEXTS],
    "uris": None,
    "included": ["distances", "documents", "metadatas"],
}
STORES = (
    _store("Qdrant", "qdrant_points", {"results": {"points": _QDRANT}}),
    _store("Qdrant", "qdrant_list", {"search": _QDRANT}),
    _store("Qdrant", "qdrant_rest", {"response": {"result": {"points": _QDRANT}, "status": "ok", "time": 0.001}}),
    _store("Qdrant", "qdrant_result", {"result": {"points": _QDRANT}, "status": "ok"}),
    _store("Pinecone", "pinecone_hits", {"result": {"hits": _hits(_id="ID", _score="SCORE", fields={"chunk_text": "TEXT"})}}),
    _store("Pinecone", "pinecone", {"matches": _PINECONE, "namespace": ""}),
    _store("Pinecone", "pinecone_response", {"response": {"matches": _PINECONE, "namespace": "", "usage": {"read_units": 5}}}),
    _store("Elasticsearch", "elasticsearch", {"response": {"took": 2, "timed_out": False, "hits": _FOUND}}),
    _store("Elasticsearch", "elasticsearch_hits", {"hits": _ELASTIC}),
    _store("OpenSearch", "opensearch", {"hits": _FOUND}, lines=True),
    _store("Chroma", "chroma", {"results": _CHROMA}),
    _store("Chroma", "chroma_columns", _CHROMA),
    _store("pgvector", "pgvector", {"rows": _hits(id="ID", content="TEXT", distance="DISTANCE")}),
    _store("pgvector", "pgvector_tuples", {"rows": [[id_, text, rank] for id_, text, rank in zip(IDS, CONTEXTS, (0.1, 0.2), strict=True)]}),
    _store("pgvector", "pgvector_pairs", {"rows": [[text, rank] for text, rank in zip(CONTEXTS, (0.1, 0.2), strict=True)]}, values=TEXTS),
    _store("Supabase", "supabase", {"matches": _hits(id="ID", content="TEXT", metadata={"a": 1}, similarity="SCORE")}),
    _store("Weaviate", "weaviate", {"objects": _hits(uuid="ID", properties={"text": "TEXT"}, metadata={"distance": "DISTANCE"}, collection="D")}),
    _store("Weaviate", "weaviate_graphql", {"response": {"data": {"Get": {"Doc": _hits(text="TEXT", _additional={"id": "ID", "distance": "DISTANCE"})}}}}),
    _store("Weaviate", "weaviate_data", {"data": {"Get": {"Doc": _hits(text="TEXT", _additional={"id": "ID"})}}}),
    _store("Milvus", "milvus_rest", {"data": _hits(id="ID", distance="SCORE", text="TEXT"), "code": 0, "cost": 6}),
    _store("Milvus", "milvus_data", {"data": [_hits(id="ID", distance="SCORE", entity={"text": "TEXT"})]}),
    _store("Azure AI Search", "azure_value", {"value": _hits(**{"@search.score": "SCORE", "chunk_id": "ID", "chunk": "TEXT"})}),
    _store("Milvus", "milvus", {"results": [_hits(id="ID", distance="SCORE", entity={"text": "TEXT"})]}),
    _store("Milvus", "milvus_pk", {"hits": _hits(pk="ID", distance="SCORE", entity={"text": "TEXT"})}),
    _store("Azure AI Search", "azure_search", {"search_results": _hits(**{"@search.score": "SCORE", "chunk_id": "ID", "chunk": "TEXT"})}),
    _store("LanceDB", "lancedb", {"results": _hits(_distance="DISTANCE", id="ID", text="TEXT", vector=[0.1])}),
    _store("Vespa", "vespa", {"response": {"root": {"children": _hits(id="ID", relevance="SCORE", fields={"text": "TEXT"})}}}),
    _store("Typesense", "typesense", {"hits": _hits(document={"id": "ID", "text": "TEXT"}, text_match=1)}),
    _store("MongoDB Atlas", "mongodb", {"results": _hits(_id="ID", text="TEXT", score="SCORE")}),
    _store("Solr", "solr", {"response": {"numFound": 2, "docs": _hits(id="ID", text="TEXT", score="SCORE")}}),
    _store("Pyserini", "pyserini", {"hits": _hits(docid="ID", score="SCORE", contents="TEXT")}),
    _store("Cohere rerank", "cohere", {"results": _hits(index=0, relevance_score="SCORE", document={"id": "ID", "text": "TEXT"})}),
    _store("Haystack", "haystack", {"retrieved_documents": _hits(id="ID", content="TEXT", meta={"page": 1}, score="SCORE")}),
    _store("LangChain with scores", "langchain_pairs", {"contexts": [[{"id": id_, "page_content": text, "metadata": {}}, 0.5] for id_, text in zip(IDS, CONTEXTS, strict=True)]}),
    _store("Bedrock retrieve", "bedrock_retrieve", {"retrievalResults": _hits(content={"text": "TEXT"}, location={"type": "S3"}, score="SCORE")}, values=TEXTS),
)  # fmt: skip

_PARAGRAPHS = [
    {"idx": 0, "title": "Filter", "paragraph_text": CONTEXTS[0], "is_supporting": False},
    {"idx": 1, "title": "Pump", "paragraph_text": CONTEXTS[1], "is_supporting": True},
]
_HOTPOT = {
    "_id": "5a8b57f2",
    "question": QUESTION,
    "answer": REFERENCE,
    "supporting_facts": [["d2", 0], ["d2", 1]],
    "context": [["d1", [CONTEXTS[0]]], ["d2", [CONTEXTS[1]]]],
    "type": "bridge",
    "level": "hard",
}
_RUN = {"retrieved_contexts": CONTEXTS, "retrieved_context_ids": [*IDS]}
_TURN = {
    "prompt": {"content": [{"text": QUESTION}]},
    "referenceResponses": [{"content": [{"text": REFERENCE}]}],
    "output": {
        "text": ANSWER,
        "modelIdentifier": "m",
        "knowledgeBaseIdentifier": "k",
        "retrievedPassages": {"retrievalResults": [{"content": {"text": text}} for text in CONTEXTS]},
    },
}
_ANSWERED = {**TEXTS, "context_utilization": 0.5}
SETS = (
    KnownFile("HotpotQA", "hotpotqa", [{**_HOTPOT, **_RUN}]),
    KnownFile("2WikiMultihopQA", "2wiki", [{**_HOTPOT, **_RUN, "evidences": [["pump", "guarantee", "three"]]}]),
    KnownFile("HotpotQA of Hugging Face", "hotpotqa_hf", [{**_HOTPOT, **_RUN, "supporting_facts": {"title": ["d2", "d2"], "sent_id": [0, 1]}, "context": {"title": [*IDS], "sentences": [[text] for text in CONTEXTS]}}]),
    KnownFile("MuSiQue", "musique", [{"id": "2hop__1", "paragraphs": _PARAGRAPHS, "question": QUESTION, "answer": REFERENCE, "answer_aliases": ["no"], "answerable": True, "retrieved_contexts": CONTEXTS}], {**TEXTS, "non_llm_context_recall": 1.0, "non_llm_context_precision": 0.5}, lines=True),
    KnownFile("FlashRAG", "flashrag", [{"id": "t1", "question": QUESTION, "golden_answers": [REFERENCE], "output": {"retrieval_result": _hits(id="ID", contents="TEXT"), "prompt": "..", "pred": ANSWER, "metric_score": {"em": 0.0}}}], _ANSWERED),
    KnownFile("LongMemEval", "longmemeval", [{"question_id": "e1", "question_type": "user", "question": QUESTION, "answer": REFERENCE, "haystack_session_ids": [*IDS], "haystack_sessions": [[{"role": "user", "content": CONTEXTS[0]}], [{"role": "user", "content": CONTEXTS[1], "has_answer": True}]], "answer_session_ids": ["d2"], "retrieval_results": {"query": QUESTION, "ranked_items": _hits(corpus_id="ID", text="TEXT", timestamp="2023"), "metrics": {}}}], {**TEXTS, **OF_IDS, "non_llm_context_recall": 1.0, "non_llm_context_precision": 0.5}),
    KnownFile("LoCoMo", "locomo", [{"sample_id": "conv-1", "conversation": {"speaker_a": "Ann", "session_1": [{"speaker": "Ann", "dia_id": "d1", "text": CONTEXTS[0]}, {"speaker": "Bo", "dia_id": "d2", "text": CONTEXTS[1]}]}, "qa": [{"question": QUESTION, "answer": REFERENCE, "evidence": ["d2"], "category": 1, "m_prediction_context": [*IDS]}] * 2}], OF_IDS, ("--map", "m_prediction_context=retrieved_context_ids")),
    KnownFile("AutoRAG", "autorag", [{"qid": "q", "query": QUESTION, "retrieval_gt": [["d2"]], "generation_gt": [REFERENCE], "retrieved_contents": CONTEXTS, "retrieved_ids": [*IDS], "retrieve_scores": [0.9, 0.8]}]),
    KnownFile("Bedrock", "bedrock", [{"conversationTurns": [_TURN]}], _ANSWERED, lines=True),
    KnownFile("Bedrock", "bedrock_turns", [{"conversationTurns": [_TURN, _TURN]}], _ANSWERED, lines=True),
    KnownFile('pandas `orient="index"`', "index", {"0": {**ROW, "contexts": CONTEXTS}, "1": {**ROW, "contexts": CONTEXTS}}, TEXTS),
    KnownFile("objects by id", "by_id", {"q1": {**ROW, "contexts": CONTEXTS}, "q2": {**ROW, "contexts": CONTEXTS}}, TEXTS),
    KnownFile("ids in objects", "ids_in_objects", [{"question": QUESTION, "retrieved_context_ids": [{"chunk_id": id_, "score": 0.3} for id_ in IDS], **GOLD}], OF_IDS),
    KnownFile("inner lists of one", "inner_lists", [{**ROW, "contexts": [[text] for text in CONTEXTS]}], TEXTS),
    KnownFile("one inner list", "inner_list", [{**ROW, "contexts": [CONTEXTS]}], TEXTS),
    KnownFile("paths", "paths", [{**ROW, "retrieved": _hits(chunk_id="ID", score="SCORE", body={"t": "TEXT"}), "gold": ["d2"]}], options=("--map", "retrieved[].body.t=retrieved_contexts", "--map", "retrieved[].chunk_id=retrieved_context_ids", "--map", "gold=reference_context_ids")),
    KnownFile("MuSiQue's own paragraphs", "musique_own", [{"id": "2hop__1", "paragraphs": _PARAGRAPHS, "question": QUESTION, "answer": REFERENCE}], {**TEXTS, "non_llm_context_recall": 1.0, "non_llm_context_precision": 0.5}, ("--map", "paragraphs[].paragraph_text=retrieved_contexts")),
    KnownFile("steps in steps", "steps", [{**ROW, "steps": [{"hits": [{"t": CONTEXTS[0]}]}, {"hits": [{"t": CONTEXTS[1]}]}]}], TEXTS, ("--map", "steps[].hits[].t=retrieved_contexts")),
)  # fmt: skip
# Headers in other languages: question, reference, retrieved contexts.
HEADERS = {
    "zh": ("问题", "参考答案", "检索上下文"),
    "ja": ("質問", "正解", "検索結果"),
    "ko": ("질문", "정답", "검색 결과"),
    "de": ("Frage", "Musterantwort", "Fundstellen"),
    "ar": ("السؤال", "الإجابة المرجعية", "المقاطع المسترجعة"),
    "fr": ("Question", "Réponse attendue", "Contextes récupérés"),
    "es": ("Pregunta", "Respuesta esperada", "Contextos recuperados"),
    "ru": ("Вопрос", "Эталонный ответ", "Найденные документы"),
    "pt": ("Pergunta", "Resposta esperada", "Documentos recuperados"),
}
