"""The locations of the fields of a row: their columns and paths, with their values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.cell_values import are_sources, find_inner_text
from ctxmetrics.evaluation.files.graded_ids import GRADED_FIELD, holds_numbers_by_id
from ctxmetrics.evaluation.files.hit_order import find_fields_beside
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.samples.cells import is_list_text, read_cells
from ctxmetrics.samples.documents import look_up, text_of
from ctxmetrics.samples.field_keys import FIELDS, LISTS, RETRIEVED, TEXTS, TEXTS_OF

# The path of a field in a row, and the value at this path.
Location = tuple[str, Any]
# The fields of a row beside a list of hits, and the hits themselves.
ListContext = tuple[Mapping[str, Any], Any]
# The prefix of the name of a column that holds a stage. The name of the stage follows it.
STAGE_COLUMN_PREFIX = "retrieved_contexts."
# No keys of the caller; see `Schema.find_locations`.
_NO_KEYS: Mapping[str, str] = {}
# The fields that are lists of passages, or of their ids.
PASSAGE_FIELDS = frozenset({*TEXTS_OF, *TEXTS_OF.values()})


def parse_cells(reading: Reading, row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a row under the schema's keys, in two forms: with its cells as they are, and with lists and objects parsed from texts.

    Arrays become lists. The columns ``retrieved_contexts.NAME`` become the stages, in their order.

    Raises:
        SampleError: The row has both such columns and a value for ``stages``.
    """
    raw: dict[str, Any] = {}
    for column, value in row.items():
        key = reading.renamed.get(column, str(column))
        if hasattr(value, "tolist"):  # an array
            raw[key] = value.tolist()
        else:
            raw[key] = value
    stage_keys = [
        key for key in raw if key.startswith(STAGE_COLUMN_PREFIX) and key not in reading.columns
    ]
    if stage_keys:
        if raw.get("stages") is not None:
            raise SampleError(
                f"both 'stages' and {stage_keys[0][:80]!r} are given.",
                "Keep one of them, such as with --map stages=metadata.",
            )
        raw["stages"] = {key.removeprefix(STAGE_COLUMN_PREFIX): raw.pop(key) for key in stage_keys}
    if not reading.parses_texts:
        return raw, raw
    return raw, read_cells(raw)


def find_all_locations(reading: Reading, row: Mapping[str, Any]) -> dict[str, list[Location]]:
    """List the places of each field with their values; see `find_locations`."""
    return {name: find_locations(reading, row, name) for name in FIELDS}


def find_locations(reading: Reading, row: Mapping[str, Any], name: str) -> list[Location]:
    """List the places of a field with their values.

    - If the caller maps several columns to a list field, and each column holds one text, the list is these texts.
    - An object counts as a text only if there is no other text.
    - A list at the path of the retrieved contexts is not a text.
    """
    mapped_columns = reading.mapped_to(name) if reading.columns else ()
    if mapped_columns and name != "metadata":
        locations = _find_mapped_locations(row, name, mapped_columns)
        if name in TEXTS:
            locations = [find_inner_text(path, value, name) for path, value in locations]
        return locations
    locations = reading.schema.find_locations(row, _NO_KEYS, name)
    if not locations:  # as for most fields
        return locations
    if name == "references":
        locations = [(path, value) for path, value in locations if not are_sources(value)]
    if reading.columns:
        locations = _without_mapped(reading, locations, name)
    if name in TEXTS:
        return _keep_text_locations(reading, locations, name)
    return _keep_list_locations(reading, locations, name)


def _keep_list_locations(reading: Reading, locations: Sequence[Location], name: str) -> list[Location]:
    """Keep the locations whose values may be the list of a field. A run of a ranking library holds scores by document id."""
    is_ranking = reading.schema.has_runs and name == "retrieved_context_ids"
    kept_locations: list[Location] = []
    for path, value_at_path in locations:
        value = _list_by_place(value_at_path, name)
        is_name_of_run = is_ranking and isinstance(value, str)
        are_scores_by_id = is_ranking and holds_numbers_by_id(value)
        if is_name_of_run:
            continue
        if are_scores_by_id or _may_be_list(path, value, name):
            kept_locations.append((path, value))
    return kept_locations


def _without_mapped(reading: Reading, locations: list[Location], name: str) -> list[Location]:
    """Return the locations of a field without those that the caller maps, or that hold what the caller maps."""
    mapped_prefixes = tuple(f"{column}." for column in reading.columns)
    return [
        (path, value)
        for path, value in locations
        if not f"{path}.".startswith(mapped_prefixes)
        and not _holds_mapped_path(reading, path, value, name)
    ]


def _holds_mapped_path(reading: Reading, path: str, value: Any, name: str) -> bool:
    """Tell whether an object, or a list that is no list of passages, holds a path that the caller maps to a field."""
    if hasattr(value, "items"):
        return any(column.startswith(f"{path}.") for column in reading.columns)
    is_list = isinstance(value, (list, tuple)) and name not in PASSAGE_FIELDS
    return is_list and any(column.startswith(f"{path}[") for column in reading.columns)


def _keep_text_locations(reading: Reading, locations: list[Location], name: str) -> list[Location]:
    """Keep the locations that may hold a text. If there are none, keep all locations except the sides of the schema."""
    text_locations: list[Location] = []
    for location_path, item in locations:
        path = location_path
        value = item
        if location_path not in reading.schema.sides:
            path, value = find_inner_text(location_path, item, name)
        if isinstance(value, (list, tuple)):  # several references
            may_be_text = name == "reference" and path not in reading.schema.sides
        else:
            may_be_text = not hasattr(value, "items")
        if may_be_text:
            text_locations.append((path, value))
    if text_locations:
        return text_locations
    return [(path, value) for path, value in locations if path not in reading.schema.sides]


def find_list_contexts(
    reading: Reading, parsed_row: Mapping[str, Any], locations: Mapping[str, list[Location]]
) -> dict[str, ListContext]:
    """Find the fields beside each list of retrieved items: see `find_fields_beside`."""
    list_contexts: dict[str, ListContext] = {}
    for name in (*RETRIEVED, "searches", "reference_context_ids"):
        if not locations.get(name):
            continue
        path, _ = locations[name][0]
        if name != "searches" or path in reading.schema.flat_keys[name]:
            list_contexts[name] = find_fields_beside(parsed_row, path)
    return list_contexts


def _list_by_place(value: Any, name: str) -> Any:
    """Return an object of passages by their places, such as ``{"0": "text", "1": "text"}``, as a list. Return anything else as it is."""
    if name not in PASSAGE_FIELDS or not isinstance(value, Mapping):
        return value
    places = [str(key) for key in value]
    is_from_0 = places == [str(place) for place in range(len(places))]
    is_from_1 = places == [str(place) for place in range(1, len(places) + 1)]
    is_list = len(places) > 1 and (is_from_0 or is_from_1)
    return [*value.values()] if is_list else value


def _may_be_list(path: str, value: Any, name: str) -> bool:
    """Tell whether the value at a path may be read as a list.

    An object counts as a list of one only if it is a document, or holds grades by id. The ``context`` of a trace's span does not.
    """
    is_column_of_field = name == path
    if is_column_of_field or name == "stages" or not hasattr(value, "items"):
        return True
    return text_of(value) is not None or (name == GRADED_FIELD and holds_numbers_by_id(value))


def _find_mapped_locations(row: Mapping[str, Any], name: str, columns: list[str]) -> list[Location]:
    """List the locations of a field to which the caller maps columns."""
    locations: list[Location] = []
    texts: list[str] = []
    for column in columns:
        value = look_up(row, column)
        if value is not None:
            locations.append((column, value))
            if isinstance(value, str) and not is_list_text(value):
                texts.append(value)
    if name in LISTS and len(columns) > 1 and len(texts) == len(locations):
        return [(column, texts) for column, _ in locations]
    return locations


def list_paths(locations: Mapping[str, list[Location]]) -> set[str]:
    """List the paths at which fields stand."""
    paths: set[str] = set()
    for field_locations in locations.values():
        paths.update(path for path, _ in field_locations)
    return paths


def without_paths(row: Mapping[str, Any], read_paths: Collection[str]) -> dict[str, Any]:
    """Return a row without the paths that were read, and without None."""
    rest: dict[str, Any] = {}
    for key, value in row.items():
        if key in read_paths or any(path.startswith(f"{key}[") for path in read_paths):
            continue
        inner_paths = {path[len(key) + 1 :] for path in read_paths if path.startswith(f"{key}.")}
        if not inner_paths:
            if value is not None:
                rest[key] = value
        elif hasattr(value, "items"):
            inner_rest = without_paths(value, inner_paths)
            if inner_rest:
                rest[key] = inner_rest
    return rest


def get_first_locations(locations: Mapping[str, list[tuple[str, Any]]]) -> dict[str, tuple[str, Any]]:
    """Return the first location of each field that has one."""
    return {name: items[0] for name, items in locations.items() if items}
