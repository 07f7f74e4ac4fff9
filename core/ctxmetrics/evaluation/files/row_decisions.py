"""The decisions about reading the rows of a source. `ctxmetrics.evaluation.files.recognition` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.files.formats import ALL_SCHEMAS
from ctxmetrics.evaluation.files.hit_order import Order
from ctxmetrics.formulas.checks import check_choice
from ctxmetrics.samples.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the rows of one source are read.

    Attributes:
        name: The name of the schema.
        columns: Which column or path holds which field, if that is not what the schema says. ``metadata`` takes any
            number of columns.
        renamed: The schema's key for each column whose name is written in another way.
        absent: Fields that none of several rows has. None: a single row is read, and only its own fields count.
        single: List fields for which every row has one text instead of a list.
        mapping: The location of each field in the first rows: its column, or a path in the column.
        parses_texts: Whether a text may hold a list or an object, as in files.
        unknown_names: Names in the first rows that no schema knows; a nested one as its path.
        usable: Fields for which at least one of the first rows has a usable value. Then an unusable value costs its own sample only.
        literal: Fields for which at least one cell is a text and no list. Then a cell that looks like a list is a text, too.
        split: The separator of the passages of a retrieved text, and of a single expected text: see `ctxmetrics.evaluation.files.passage_lists.split_at`.
        order: The source of the order of the retrieved items; see `ctxmetrics.evaluation.files.hit_order`.
        comma_ids: Whether the first rows show that ``1,234`` is two ids, or one; None: neither.
        decimal_ids: Whether ids are whole numbers and some of them end in ``.0``. This ending is no part of the id.
        graded_ids: Whether the texts of expected ids have a grade each after them: ``d3:2``.
        id_separator: The blank, ``/`` or ``+`` between ids in a cell, if the first rows show that it is one.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] | None = None
    single: frozenset[str] = frozenset()
    mapping: Mapping[str, str] = field(default_factory=dict)
    parses_texts: bool = False
    unknown_names: tuple[str, ...] = ()
    literal: frozenset[str] = frozenset()
    usable: frozenset[str] = frozenset()
    split: str | None = None
    order: Order | None = None
    comma_ids: bool | None = None
    decimal_ids: bool = False
    graded_ids: bool = False
    id_separator: str | None = None

    def __post_init__(self) -> None:
        if self.name not in ALL_SCHEMAS:
            raise ParameterError(
                f"schema={self.name!r} is unknown.{suggest(self.name, ALL_SCHEMAS)} Choose from: auto, {', '.join(ALL_SCHEMAS)}."
            )
        if self.order is not None:
            check_choice("order", self.order, get_args(Order))

    @property
    def schema(self) -> Schema:
        """The schema."""
        return ALL_SCHEMAS[self.name]

    def original(self, path: str) -> str:
        """Return a path as the row has it, from one under the schema's keys."""
        for column, key in self.renamed.items():
            if key == path:
                return column
        return path

    def mapped_to(self, name: str) -> list[str]:
        """Return the columns that the caller maps to a field."""
        return [column for column, field_name in self.columns.items() if field_name == name]
