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
        single_text_fields: Names of list fields for which every row has one text instead of a list.
        mapping: The location of each field in the first rows: its column, or a path in the column.
        parses_texts: Whether a text may hold a list or an object, as in files.
        unknown_names: Names in the first rows that no schema knows; a nested one as its path.
        fields_with_usable_values: Names of fields for which at least one of the first rows has a usable value. An unusable value of such a field
            costs its own sample only.
        fields_with_text_cells: Names of fields for which at least one cell is a text and no list. A cell of such a field is a text even if it looks
            like a list.
        split: The separator of the passages of a retrieved text, and of a single expected text; None: texts are not split. See
            `ctxmetrics.evaluation.files.passage_lists.split_at`.
        order: The source of the order of the retrieved items; see `ctxmetrics.evaluation.files.hit_order`.
        comma_separates_ids: True: the first rows show that ``1,234`` is two ids. False: they show that it is one id. None: they show neither.
        ids_read_as_floats: Whether ids are whole numbers of which some end in ``.0``. This ending is no part of the id.
        ids_have_grades: Whether a grade follows each expected id in its text: ``d3:2``.
        id_separator: The blank, ``/`` or ``+`` between ids in a cell, if the first rows show that it is one.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    absent: frozenset[str] | None = None
    single_text_fields: frozenset[str] = frozenset()
    mapping: Mapping[str, str] = field(default_factory=dict)
    parses_texts: bool = False
    unknown_names: tuple[str, ...] = ()
    fields_with_text_cells: frozenset[str] = frozenset()
    fields_with_usable_values: frozenset[str] = frozenset()
    split: str | None = None
    order: Order | None = None
    comma_separates_ids: bool | None = None
    ids_read_as_floats: bool = False
    ids_have_grades: bool = False
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
        """Return a path with the name that its column has in the row. The given path has the schema's key."""
        for column, key in self.renamed.items():
            if key == path:
                return column
        return path

    def mapped_to(self, name: str) -> list[str]:
        """Return the columns that the caller maps to a field."""
        return [column for column, field_name in self.columns.items() if field_name == name]
