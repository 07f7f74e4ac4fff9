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

# The fields of a score that are read as they are.
_FIELDS = ("metric", "value", "reason_code", "threshold", "sample_id", "provenance")
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
        if not isinstance(data.get("provenance"), Provenance):  # it stands in another line
            data = check_types(_build_value_reader(), data)
            if "provenance_id" in data:
                self._provenances[str(data["provenance_id"])] = data.get("provenance")
        score = Score(
            **{name: data[name] for name in _FIELDS if name in data},
            metadata=FrozenDict(data.get("metadata", EMPTY)),
            verdicts=tuple([_find_verdict(item) for item in data.get("verdicts", ())]),
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

    def pick(needed: Mapping[str, Any] = EMPTY, **fields: Any) -> Any:
        checks = check_fields(needed)["fields"] | check_fields(fields, required=False)["fields"]
        return schema.typed_dict_schema(checks, extra_behavior="ignore")

    kinds = build_types(schema.str_schema(strict=True))
    text, texts, number = kinds["str | None"], kinds["list | None"], kinds["float | None"]
    contradiction = schema.with_default_schema(kinds["dict"], on_error="omit")
    details = pick(weight=number, unnamed=kinds["Any"], contradiction=contradiction)
    verdict = pick({"id": kinds["str"], "value": kinds["bool | None"]}, code=text, details=details)
    ids = dict.fromkeys(("context_hashes", "retrieved_context_ids", "reference_context_ids"), texts)
    line = pick(
        {"metric": kinds["str"], "value": number},
        **dict.fromkeys(("sample_id", "reason_code"), text),
        threshold=number,
        metadata=kinds["dict"],
        verdicts=schema.list_schema(verdict),
        sample=schema.nullable_schema(pick(hash=text, content_hash=text, key=text, **ids)),
        provenance=build_object(Provenance, kinds),
        provenance_id=kinds["Any"],
    )
    return SchemaValidator(line)
