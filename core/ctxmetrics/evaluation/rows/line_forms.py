"""The types of a line of results. They are declared once, for writing and for reading.

A field of a score, verdict or provenance has the type that its dataclass declares. This module declares the fields that only a
line has, and the fields that a line may leave out. It loads pydantic: import it only when a file is read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypeAlias, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import Frozen
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.scores.score import Provenance, Score
from ctxmetrics.scores.wording import TEXT
from ctxmetrics.verdicts import Count, Evidence, Usage, Verdict

# The maximum number of contexts of all stages of a retrieval. The index of a context is lower.
_MAX_POOL_SIZE = 100_000
# The maximum number of contexts or ids of one stage. The figures of a stage need memory for each.
_MAX_STAGE_SIZE = 1_000_000
_STRICT_CONFIG = ConfigDict(strict=True, allow_inf_nan=False, extra="ignore")
_STRICT_CONFIG_WITH_EXTRAS = ConfigDict(strict=True, allow_inf_nan=False, extra="allow")

_NumberInPool = Annotated[int, Field(ge=0, lt=_MAX_POOL_SIZE)]
# A name or a code. The file is untrusted, and messages in a terminal show these texts without another check.
_Name = Annotated[str, AfterValidator(replace_invisible)]
# A text about a run, cut to the characters that are shown.
_Shown = Annotated[str, AfterValidator(lambda text: text[: 4 * TEXT])]


def declare(
    cls: type, *, left_out: Collection[str] = (), only: Collection[str] = (), **extra_types: Any
) -> Any:
    """Declare the type of the JSON object that a line holds for a dataclass.

    Args:
        cls: The dataclass. A field with a default may be missing in a line.
        left_out: Fields without a default that may be missing too.
        only: The fields that are read; empty: all fields.
        **extra_types: The types of fields that have another type in a line, and of fields that only a line has.
    """
    types = get_type_hints(cls, include_extras=True)
    field_types: dict[str, Any] = {}
    for item in fields(cls):
        if only and item.name not in only:
            continue
        field_type = extra_types.pop(item.name, types[item.name])
        has_default = item.default is not MISSING or item.default_factory is not MISSING
        is_optional = has_default or item.name in left_out
        field_types[item.name] = NotRequired[field_type] if is_optional else field_type
    for name, field_type in extra_types.items():
        field_types[name] = NotRequired[field_type]
    declared: Any = TypedDict(cls.__name__, field_types)  # type: ignore[misc]  # its fields are those of the class
    declared.__pydantic_config__ = _STRICT_CONFIG  # type: ignore[attr-defined]  # read by pydantic
    return declared


# A type checker cannot read the fields, which are taken from the class.
if TYPE_CHECKING:
    _Gate: TypeAlias = dict[str, Any]
else:
    _Gate = declare(
        Outcome,
        only={item.name for item in fields(Outcome)} - {"samples"},
        gate=_Shown,
        problem=_Shown | None,
        against=_Shown | None,
        passed=bool,
    )


class RunStart(TypedDict, total=False):
    """The facts about the run in the first line."""

    __pydantic_config__ = _STRICT_CONFIG  # type: ignore[misc]  # a setting of pydantic, no field

    started: _Shown
    commit: _Shown
    branch: _Shown
    tags: list[_Shown]
    judge_options: _Shown
    gates: list[_Gate]


class RunLine(TypedDict):
    """The first line of a file."""

    __pydantic_config__ = _STRICT_CONFIG  # type: ignore[misc]  # a setting of pydantic, no field

    run: RunStart


class StageDetails(TypedDict):
    """The details of a verdict about one stage of the retrieval."""

    name: str
    value: bool | None
    so_far: bool | None
    contexts: list[tuple[Count, _NumberInPool, bool, str | None]]


class Details(TypedDict, total=False):
    """The details of a verdict that the library itself uses. A verdict may have any other details too."""

    __pydantic_config__ = _STRICT_CONFIG_WITH_EXTRAS  # type: ignore[misc]  # a setting of pydantic

    weight: Annotated[float, Field(ge=0)]
    partial: Annotated[float, Field(ge=0, le=1)]
    stages: Annotated[list[StageDetails], Field(min_length=1)]


class StageSizes(TypedDict):
    """The facts about one stage of the sample in a line."""

    contexts: Annotated[int, Field(ge=0, le=_MAX_STAGE_SIZE)]
    characters: Count
    ids: list[str] | None
    hash: str


class Record(TypedDict, total=False):
    """The facts about the sample in a line, beside the sample's own fields."""

    __pydantic_config__ = _STRICT_CONFIG_WITH_EXTRAS  # type: ignore[misc]  # a setting of pydantic

    hash: str
    content_hash: str | None
    key: str
    stages_key: str | None
    user_input: str | None
    context_hashes: list[str] | None
    retrieved_contexts: list[str] | None
    stage_sizes: dict[str, StageSizes]


class LightRecord(TypedDict, total=False):
    """The fields of a sample that the summary of a run reads."""

    __pydantic_config__ = _STRICT_CONFIG  # type: ignore[misc]  # a setting of pydantic, no field

    hash: str
    content_hash: str | None
    key: str
    context_hashes: list[str] | None
    retrieved_context_ids: list[str] | None
    reference_context_ids: list[str] | None


class Metadata(TypedDict, total=False):
    """The metadata of a score that the library itself uses. A score may have any other metadata too."""

    __pydantic_config__ = _STRICT_CONFIG_WITH_EXTRAS  # type: ignore[misc]  # a setting of pydantic

    tie_range: tuple[float, float]


class LightMetadata(TypedDict, total=False):
    """The metadata of a score that the summary of a run reads, or by which the value follows from the verdicts."""

    __pydantic_config__ = _STRICT_CONFIG  # type: ignore[misc]  # a setting of pydantic, no field

    tie_range: tuple[float, float]
    repeats: Any
    sources: Any


class LightDetails(TypedDict, total=False):
    """The details of a verdict that the summary of a run reads."""

    __pydantic_config__ = _STRICT_CONFIG  # type: ignore[misc]  # a setting of pydantic, no field

    weight: Annotated[float, Field(ge=0)]
    unnamed: Any
    contradiction: Any


_EVIDENCE_TYPE: Any = declare(Evidence, left_out={"quote"})
_VERDICT_TYPE: Any = declare(
    Verdict,
    left_out={"text"},
    code=_Name | None,
    evidence=list[_EVIDENCE_TYPE],
    details=Annotated[Details, Frozen()],
)
_LIGHT_VERDICT_TYPE: Any = declare(
    Verdict, only={"id", "value", "code"}, code=_Name | None, details=LightDetails
)
_PROVENANCE_TYPE: Any = declare(Provenance, warnings=tuple[_Name, ...])
_PROVENANCE_FIELD_TYPES: dict[str, Any] = {"provenance": _PROVENANCE_TYPE, "provenance_id": Any}
_SCORE_FIELDS = {item.name for item in fields(Score)} - {"counted", "contexts"}

PROVENANCE: TypeAdapter[dict[str, Any]] = TypeAdapter(_PROVENANCE_TYPE)
RUN: TypeAdapter[RunLine] = TypeAdapter(RunLine)
LINE: TypeAdapter[dict[str, Any]] = TypeAdapter(
    declare(
        Score,
        only=_SCORE_FIELDS,
        metric=_Name,
        reason_code=_Name | None,
        band=_Name | None,
        verdicts=list[_VERDICT_TYPE],
        usage=declare(Usage),
        metadata=Metadata,
        sample=Record | None,
        **_PROVENANCE_FIELD_TYPES,
    )
)
LIGHT_LINE: TypeAdapter[dict[str, Any]] = TypeAdapter(
    declare(
        Score,
        only={"metric", "value", "reason_code", "threshold", "sample_id", "metadata"},
        metric=_Name,
        reason_code=_Name | None,
        verdicts=list[_LIGHT_VERDICT_TYPE],
        metadata=LightMetadata,
        sample=LightRecord | None,
        **_PROVENANCE_FIELD_TYPES,
    )
)
