"""The light reader of a file of results: of each line what a summary of the run looks at, for reading many runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import (
    LineReader,
    build_object,
    build_types,
    check_fields,
    check_scale,
    check_types,
    read_rows,
)
from ctxmetrics.scores import Provenance, Score
from ctxmetrics.verdicts import Verdict

# The verdicts that have nothing but their value.
_PLAIN = {value: Verdict(id="", value=value) for value in (True, False, None)}


def read_values(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a file of results with values, codes and ids: without samples, texts and evidence.

    Types and scales are checked; whether verdicts agree with the value and quotes with their texts is not.

    Args:
        path: As for `read_rows`.

    Raises:
        InputFileError: As `read_rows` raises.
    """
    return read_rows(path, _ValueReader())


class _ValueReader(LineReader):
    with_samples = False

    def parse(self, line: bytes) -> Any:
        """Read of a row what a summary looks at; any other line in full."""
        try:
            return _build_value_reader().validate_json(line)
        except ValueError:  # it is no row, holds half a character, or is refused now
            data = super().parse(line)
        is_row = isinstance(data, dict) and "metric" in data
        return check_types(_build_value_reader(), data) if is_row else data

    def read_score(self, data: dict[str, Any]) -> Score:
        """Read the score of a row."""
        if isinstance(data["provenance"], dict):  # of a line that says it for many, or of a baseline
            data = check_types(_build_value_reader(), data)
            if "provenance_id" in data:
                self._provenances[str(data["provenance_id"])] = data["provenance"]
        metadata = data.get("metadata")
        score = Score(
            metric=data["metric"],
            value=data["value"],
            reason_code=data.get("reason_code"),
            threshold=data.get("threshold"),
            verdicts=tuple([_find_verdict(item) for item in data.get("verdicts", ())]),
            metadata=FrozenDict(metadata) if metadata else EMPTY,
            provenance=data["provenance"],
            sample_id=data["sample_id"],
        )
        check_scale(score)
        return score


def _find_verdict(data: Mapping[str, Any]) -> Verdict:
    if data.get("code") or data.get("details"):
        return Verdict(**data)
    return _PLAIN[data["value"]]


@cache
def _build_value_reader() -> Any:
    """Return what reads the fields of a line that a summary looks at; the others are not made."""
    from pydantic_core import SchemaValidator
    from pydantic_core import core_schema as schema

    kinds = build_types(schema.str_schema(strict=True))
    text, texts, number = kinds["str | None"], kinds["list | None"], kinds["float | None"]
    details = {
        "weight": number,
        "unnamed": kinds["Any"],
        "contradiction": schema.with_default_schema(kinds["dict"], on_error="omit"),
    }
    verdict = {
        "id": kinds["str"],
        "value": kinds["bool | None"],
        "code": text,
        "details": check_fields(details, required=False, others="ignore"),
    }
    sample = {
        **dict.fromkeys(("hash", "content_hash", "key"), text),
        **dict.fromkeys(("context_hashes", "retrieved_context_ids", "reference_context_ids"), texts),
    }
    line = {
        **dict.fromkeys(("sample_id", "reason_code"), text),
        "threshold": number,
        "metadata": kinds["dict"],
        "verdicts": schema.list_schema(check_fields(verdict, required=False, others="ignore")),
        "sample": schema.nullable_schema(check_fields(sample, required=False, others="ignore")),
        "provenance": build_object(Provenance, kinds),
        "provenance_id": kinds["Any"],
    }
    checks = {name: schema.typed_dict_field(kind, required=False) for name, kind in line.items()}
    for name, kind in (("metric", kinds["str"]), ("value", number)):
        checks[name] = schema.typed_dict_field(kind, required=True)
    return SchemaValidator(schema.typed_dict_schema(checks))
