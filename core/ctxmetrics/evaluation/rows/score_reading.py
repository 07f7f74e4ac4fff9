"""Builds a score from the fields of a line: it checks types, adds the fields that the line left out, and checks consistency."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.rows.baseline import HASH_PREFIX
from ctxmetrics.evaluation.rows.row_lines import cut_quote
from ctxmetrics.evaluation.rows.score_checks import (
    check_reason,
    check_scale,
    check_value,
    check_verdicts,
    find_counted_words,
)
from ctxmetrics.scores.score import Provenance, Score
from ctxmetrics.verdicts import Evidence, Usage, Verdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
# The maximum number of characters of a field's name in a message.
_MAX_FIELD_CHARACTERS = 80
# An escape of JSON. The group is half a character: a surrogate without its partner.
_SURROGATE_ESCAPE = re.compile(
    rb"""
    \\ (?:
        [^u]                                  # such as \n
        | u[dD][89abAB].. \\u[dD][c-fC-F]..   # both surrogates of a character
        | (u[dD][89a-fA-F]..)
        | u
    )
    """,
    re.DOTALL | re.VERBOSE,
)
_REPLACEMENT_ESCAPE = rb"\ufffd"


def with_whole_characters(text: bytes) -> bytes:
    """Replace half a character by U+FFFD: a model or server may have written one, and pydantic refuses it."""
    return _SURROGATE_ESCAPE.sub(lambda match: _REPLACEMENT_ESCAPE if match[1] else match[0], text)


def read_score(data: Mapping[str, Any]) -> Score:
    """Read a score that `Score.to_dict` gave.

    Args:
        data: The fields of the score, with the record of the sample under ``sample``.

    Raises:
        InputFileError: The data is no score. The message names the wrong field.
    """
    from ctxmetrics.evaluation.rows import line_forms

    fields = check_types(line_forms.LINE, data)
    if "provenance" not in fields:
        raise InputFileError("provenance: Field required.")
    fields["provenance"] = share_provenance(Provenance(**fields["provenance"]))
    fields.pop("provenance_id", None)
    record = fields.pop("sample", None)
    return build_score(fields, record or EMPTY)


def check_types(form: TypeAdapter[T], data: Mapping[str, Any]) -> T:
    """Check the types of a line's fields.

    Raises:
        InputFileError: A field has another type, or is missing.
    """
    from pydantic_core import ValidationError

    # Validate the data as JSON, so that the same rules hold as for a file.
    text = json.dumps(data, default=str).encode()
    try:
        return form.validate_json(with_whole_characters(text))
    except ValidationError as error:
        first_error = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(map(str, first_error["loc"]))
        field = replace_invisible(path)[:_MAX_FIELD_CHARACTERS]
        raise InputFileError(f"{field or 'the line'}: {first_error['msg']}.") from None


def build_score(fields: dict[str, Any], record: Mapping[str, Any]) -> Score:
    """Build the score of a line from its fields.

    Args:
        fields: The fields of the score, of their types, with a `Provenance`.
        record: The record of the sample in the line.

    Raises:
        InputFileError: The fields contradict each other. The message names the field.
    """
    fields["verdicts"] = tuple([_build_verdict(item) for item in fields.get("verdicts", ())])
    if fields.get("usage"):
        fields["usage"] = Usage(**fields["usage"])
    metadata = fields.get("metadata")
    fields["metadata"] = FrozenDict(metadata) if metadata else EMPTY
    counted_words = find_counted_words(fields["metric"], fields["provenance"].convention)
    score = Score(**fields, counted=counted_words)
    check_scale(score.provenance.convention, score.value, score.threshold)
    check_reason(score.metric, score.value, score.reason_code)
    check_verdicts(score, record)
    values = [verdict.value for verdict in score.verdicts]
    is_baseline = bool(score.verdicts) and score.verdicts[0].text.startswith(HASH_PREFIX)
    check_value(
        score.metric,
        score.value,
        values,
        score.provenance,
        score.metadata,
        is_baseline=is_baseline,
    )
    return score


def _build_verdict(fields: dict[str, Any]) -> Verdict:
    """Build a verdict from its fields, with the text and the quotes that the line left out."""
    text = _reuse_text(fields["text"]) if "text" in fields else fields["id"]
    fields["text"] = text
    if "evidence" in fields:
        fields["evidence"] = tuple([_build_evidence(item, text) for item in fields["evidence"]])
    return Verdict(**fields)


def _build_evidence(fields: dict[str, Any], text: str) -> Evidence:
    """Build evidence from its fields; a line without a quote has the positions of the quote in its text."""
    if "quote" in fields:
        fields["quote"] = _reuse_text(fields["quote"])
    else:
        fields["quote"] = cut_quote(text, fields["start"], fields["end"])
    return Evidence(**fields)


@lru_cache(maxsize=256)
def _reuse_text(text: str) -> str:
    """Return an equal text that was read before, so that the metrics of a sample share its texts."""
    return text


@lru_cache(maxsize=64)
def share_provenance(provenance: Provenance) -> Provenance:
    """Return an equal provenance that was read before, so that the lines of a run share one."""
    return provenance
