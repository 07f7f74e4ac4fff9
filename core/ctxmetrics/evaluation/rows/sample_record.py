"""The record of a row about its sample: its fields, and hashes that find the sample again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ctxmetrics._internal.frozen import to_json_data
from ctxmetrics.evaluation.rows.baseline import digest
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.samples.field_keys import TEXTS_OF
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.stages import describe_stages

# The fields of a record that a line leaves out if they are empty, with their empty values.
EMPTY_FIELDS: dict[str, Any] = {"user_input": None, "context_hashes": [], "labels": {}, "metadata": {}}
# Fields of a record that are no fields of the sample.
FIELDS_BESIDE_SAMPLE = ("hash", "context_hashes", "content_hash", "stage_sizes", "key", "stages_key")
# Fields of a sample that do not say what was asked, expected and retrieved.
_UNHASHED_FIELDS = ("id", "labels", "metadata")


def build_record(row: Row, *, keep_texts: bool = False) -> Mapping[str, Any] | None:
    """Return the record of a row: the record that was read, else one built from the sample. Return None if there is no sample.

    Ids stand there as they are. ``hash`` is of question and reference, ``context_hashes`` of each retrieved context,
    ``content_hash`` of all that was asked, expected and retrieved: the first 128 bits of a SHA-256, in hexadecimal digits.

    Args:
        row: The row.
        keep_texts: Give all fields of the sample.
    """
    sample = row.sample
    if row.record is not None or sample is None:
        return row.record
    fields = sample.to_dict()
    # First the fields of `ctxmetrics.evaluation.rows.line_forms.Record`, in its order: so a file that was read is written alike.
    record: dict[str, Any] = {
        "hash": question_hash(sample),
        "content_hash": _hash_fields(sample, fields),
        "user_input": sample.user_input,
        "context_hashes": context_hashes(sample),
    }
    if keep_texts and "retrieved_contexts" in fields:
        record["retrieved_contexts"] = fields["retrieved_contexts"]
    if sample.stages:
        record["stage_sizes"] = describe_stages(sample.stages)
    record |= {name: value for name, value in fields.items() if keep_texts or name in TEXTS_OF}
    record["labels"] = fields.get("labels", {})
    record["metadata"] = fields.get("metadata", {})
    return record


def question_hash(sample: Sample) -> str:
    """Return a hash of question and reference."""
    return _hash_question(sample.user_input, sample.reference, sample.references)


@lru_cache(maxsize=1)  # samples of ids have neither
def _hash_question(
    user_input: str | None, reference: str | None, references: tuple[str, ...] | None
) -> str:
    """Hash a question with its expected answer."""
    return digest([user_input, reference or to_json_data(references)])


def context_hashes(sample: Sample) -> list[str]:
    """Return a hash of each retrieved context."""
    return [digest(text) for text in sample.retrieved_contexts or ()]


def _hash_fields(sample: Sample, fields: Mapping[str, Any]) -> str:
    """Return a hash of the fields that say what was asked, expected and retrieved."""
    hashed_fields = {name: value for name, value in fields.items() if name not in _UNHASHED_FIELDS}
    # The hash of a mapping does not depend on the order of its keys, but the order of stages counts.
    if sample.stages:
        hashed_fields["order"] = list(sample.stages)
    return digest(hashed_fields)


def texts_key(row: Row) -> tuple[str | None, str]:
    """Return the key that joins a row and a labelled sample: the id, and a hash of the texts that a labelling person sees.

    The hash is made from other hashes: one of question and reference together, and one of each context. A row of a baseline holds
    only the beginning of this hash.
    """
    record = build_record(row) or {}
    if "key" in record:
        return row.sample_id, record["key"]
    hashes = record.get("context_hashes") or ()
    return row.sample_id, digest([record.get("hash"), *hashes])


def key_of(sample: Sample) -> tuple[str | None, str]:
    """Return the key of a sample, as `texts_key` does for a row."""
    return sample.id, digest([question_hash(sample), *context_hashes(sample)])
