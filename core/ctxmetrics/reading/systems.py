"""What each system calls the fields of a sample, and where it keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ctxmetrics.reading.documents import ID_KEYS
from ctxmetrics.reading.schema import Place, Schema

# Where facts stand in every schema.
_FACTS = "expected_facts"
_ANSWER = "answer output response result content text"
_RETRIEVED = "documents contexts context source_documents retrieved_documents retrieval_context"


def _words(
    *, single_string: bool = False, separator: str | None = None, carried: str = "", **keys: str
) -> Schema:
    return Schema(
        places={
            field: Place.of("", words) for field, words in {"reference_facts": _FACTS, **keys}.items()
        },
        single_string=single_string,
        separator=separator,
        carried=frozenset(carried.split()),
    )


def _sides(asked: str, given: str, expected: str, **keys: str) -> Schema:
    """Return the schema of a system whose records have a side for each of the three.

    Args:
        asked: The name of the side of the question.
        given: The name of the side of the answer and of what was retrieved.
        expected: The name of the side of what was expected.
        keys: The keys of a field, where they are not the usual ones.
    """
    side_of = {
        "user_input": asked,
        "response": given,
        "retrieved_contexts": given,
        "retrieved_context_ids": given,
        "stages": given,
    }
    words = {
        "user_input": "question query input user_input prompt text",
        "response": _ANSWER,
        "retrieved_contexts": _RETRIEVED,
        "retrieved_context_ids": "retrieved_ids",
        "reference": f"ground_truth expected {_ANSWER}",
        "references": "",
        "reference_facts": _FACTS,
        "reference_contexts": _RETRIEVED,
        "reference_context_ids": "reference_ids",
        "stages": "",
        **keys,
    }
    return Schema(
        places={field: Place.of(side_of.get(field, expected), text) for field, text in words.items()},
        single_string=True,
    )


# Every schema by name. ``ragas`` is ours as well.
SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {
        "ragas": _words(
            user_input="user_input",
            response="response",
            reference="reference",
            retrieved_contexts="retrieved_contexts",
            reference_contexts="reference_contexts",
            retrieved_context_ids="retrieved_context_ids",
            reference_context_ids="reference_context_ids",
            carried="rubrics reference_tool_calls multi_responses persona_name query_style query_length",
        ),
        "ragas_v1": _words(
            user_input="question",
            response="answer",
            reference="ground_truth ground_truths",
            retrieved_contexts="contexts",
        ),
        "deepeval": _words(
            id="name",
            user_input="input",
            response="actual_output",
            reference="expected_output",
            references="metadata.references additional_metadata.references",
            reference_facts=f"{_FACTS} metadata.reference_facts additional_metadata.reference_facts",
            retrieved_contexts="retrieval_context",
            reference_contexts="context metadata.reference_contexts",
            retrieved_context_ids="metadata.retrieved_context_ids additional_metadata.retrieved_context_ids",
            reference_context_ids="metadata.reference_context_ids additional_metadata.reference_context_ids",
            stages="metadata.stages additional_metadata.stages",
            metadata="additional_metadata",
            carried="tools_called expected_tools comments token_cost completion_time tags flaky source_file "
            "custom_column_key_values multimodal expectations expected_labels input_token_count output_token_count",
            separator="|",
        ),
        "axion": _words(
            user_input="query",
            response="actual_output",
            reference="expected_output",
            retrieved_contexts="retrieved_content",
            reference_contexts="additional_input.reference_contexts",
            retrieved_context_ids="actual_ranking",
            reference_context_ids="expected_reference",
            carried="additional_input acceptance_criteria additional_output latency document_text",
        ),
        "aegis": _words(
            user_input="prompt input",
            response="output",
            reference="golden_answer",
            retrieved_contexts="context",
            single_string=True,
            carried="threshold",
        ),
        "langchain": _sides(
            "inputs",
            "outputs",
            "reference_outputs",
            user_input="question input query",
            response="answer output result",
            retrieved_contexts="documents contexts context source_documents retrieved_docs",
            reference="ground_truth reference_answer expected_answer expected answer output",
            reference_contexts="documents contexts context",
        ),
        "retrieval_qa": _words(
            user_input="query",
            response="result",
            retrieved_contexts="source_documents",
        ),
        "autoevals": _words(
            user_input="input",
            response="output",
            reference="expected",
            retrieved_contexts="context",
            single_string=True,
        ),
        "opik": _words(
            user_input="input",
            response="output",
            reference="expected_output",
            retrieved_contexts="context",
        ),
        "openevals": _words(
            user_input="inputs",
            response="outputs",
            reference="reference_outputs",
            retrieved_contexts="context",
            single_string=True,
        ),
        "ragchecker": _words(
            id="query_id",
            user_input="query",
            response="response",
            reference="gt_answer",
            retrieved_contexts="retrieved_context",
        ),
        "continuous_eval": _words(
            user_input="question",
            response="answer",
            reference="ground_truth_answers",
            retrieved_contexts="retrieved_context",
            reference_contexts="ground_truth_context",
        ),
        "langwatch": _words(
            user_input="input",
            response="output",
            reference="expected_output",
            retrieved_contexts="contexts",
            reference_contexts="expected_contexts",
        ),
        "llamaindex": _words(
            user_input="query",
            response="response",
            reference="reference",
            retrieved_contexts="contexts retrieved_texts source_nodes",
            reference_contexts="expected_texts",
            retrieved_context_ids="retrieved_ids",
            reference_context_ids="expected_ids",
        ),
        "haystack": _words(
            user_input="question query init_parameters.query",
            response="answer data init_parameters.data",
            reference="ground_truth_answer",
            retrieved_contexts="contexts retrieved_documents documents init_parameters.documents",
            reference_contexts="ground_truth_documents",
        ),
        "giskard": _words(
            user_input="question",
            response="answer",
            reference="reference_answer",
            retrieved_contexts="documents",
            reference_contexts="reference_context",
            single_string=True,
        ),
        "trulens": _words(
            user_input="query",
            response="response",
            reference="expected_response",
            retrieved_contexts="retrieved_context_chunks context",
            reference_contexts="expected_chunks",
            single_string=True,
        ),
        "azure": _words(
            user_input="query",
            response="response",
            reference="ground_truth",
            retrieved_contexts="context",
            retrieved_context_ids="retrieved_documents",
            reference_context_ids="retrieval_ground_truth",
            single_string=True,
        ),
        "mlflow": replace(
            _sides(
                "inputs",
                "outputs",
                "expectations",
                user_input="question query input request prompt",
                response="answer output result content",
                retrieved_contexts="documents contexts context source_documents retrieved_documents",
                reference="expected_response ground_truth answer",
                reference_contexts="expected_retrieved_context documents contexts context",
            ),
            id_keys=("metadata.doc_uri", "doc_uri", *ID_KEYS),
        ),
        "promptfoo": _words(
            user_input="query vars.query vars.question vars.input vars.prompt",
            response="output response.output",
            reference="value vars.ground_truth vars.reference vars.expected vars.expected_answer vars.answer",
            retrieved_contexts="context vars.context vars.contexts vars.documents",
            single_string=True,
        ),
        "langsmith": _sides("inputs", "outputs", "reference"),
        "langfuse": _sides("input", "output", "expected_output"),
        "phoenix": _sides("input", "output", "reference_output"),
        "phoenix_spans": _words(
            id="context.span_id",
            user_input="attributes.input.value",
            response="attributes.output.value",
            retrieved_contexts="attributes.retrieval.documents",
            reference="attributes.metadata.reference attributes.metadata.ground_truth",
        ),
    }
)
