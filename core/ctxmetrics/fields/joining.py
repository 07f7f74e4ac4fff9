"""Joins two files: one holds what was retrieved, the other what is expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxmetrics.errors import InputFileError, SampleError
from ctxmetrics.fields.documents import look_up
from ctxmetrics.fields.schema import some_of

# The fields that are taken from the references' file.
_EXPECTED = (
    "reference", "references", "reference_facts", "reference_contexts", "reference_context_ids",
)  # fmt: skip
# Other names of the columns of that file, where it has none of the above: all columns of that file are
# about what is expected.
_MEANT = {
    "response": "reference",
    "retrieved_contexts": "reference_contexts",
    "retrieved_context_ids": "reference_context_ids",
}


class Partners:
    """What is expected of each sample, found by a key: what ``on`` names, else the id, else the text of the question.

    Args:
        rows: The fields of the references' rows, each with its place.
        on: A field, or a column or path that is in the metadata of both sides; None: see above.
    """

    def __init__(self, rows: Iterable[tuple[Mapping[str, Any], str]], on: str | None = None) -> None:
        self._keys = (on,) if on else ("id", "user_input")
        self._found: dict[tuple[str, str], list[tuple[Mapping[str, Any], str]]] = {}
        self._left: dict[str, str] = {}
        self._alone: list[str] = []
        self._ids: Counter[str] = Counter()  # of what was joined
        for row, where in rows:
            names = [*self._names(row)]
            self._left[where] = names[0][1] if names else where
            for name in names:
                self._found.setdefault(name, []).append((row, where))

    def join(self, values: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the fields of a sample with what is expected of it.

        Raises:
            InputFileError: Two rows of the references have its key, or one has it with another question.
            SampleError: Both sides say what is expected, and differ.
        """
        names = [*self._names(values)]
        found = next((self._found[name] for name in names if name in self._found), [])
        if not found:
            self._alone.append(names[0][1] if names else where)
            return dict(values)
        (partner, place), *more = found
        if more:
            raise InputFileError(
                f"{where}: two references have its key: {place} and {more[0][1]}. Remove one, or write --on COLUMN."
            )
        self._left.pop(place, None)
        asked = {_plain(side["user_input"]) for side in (values, partner) if side.get("user_input")}
        if len(asked) > 1 and self._keys[0] == "id":
            raise InputFileError(
                f"{where}: its id is that of {place}, and the questions differ. If the ids are not of one source, write "
                "--on user_input."
            )
        held = {name: value for name, value in partner.items() if value is not None}
        expected = {name: held[name] for name in _EXPECTED if name in held} or {
            meant: held[name] for name, meant in _MEANT.items() if name in held
        }
        if both := [name for name in expected if values.get(name, expected[name]) != expected[name]]:
            raise SampleError(
                f"{where}: field '{both[0]}' differs from that of {place}. Keep one of them, such as with --map "
                f"{both[0]}=metadata."
            )
        merged = {
            name: {**partner[name], **(values.get(name) or {})}
            for name in ("labels", "metadata")
            if partner.get(name)
        }
        joined = {"user_input": partner.get("user_input"), "id": partner.get("id"), **values}
        self._ids[name := str(joined["id"])] += 1
        if joined["id"] is not None and self._ids[name] > 1:  # a reference may have several partners
            joined["id"] = f"{name} ({self._ids[name]})"
        return {**joined, **expected, **merged}

    def notes(self) -> Iterator[str]:
        """Return notes about samples and references without a partner.

        Raises:
            InputFileError: Nothing has one.
        """
        if not self._ids:
            raise InputFileError(
                f"no sample has a partner among the references: samples {some_of(map(repr, self._alone))}; references "
                f"{some_of(map(repr, self._left.values()))}. Write --on COLUMN, a column of both files."
            )
        if self._alone:
            yield f"{len(self._alone)} without a partner among the references: {some_of(map(repr, self._alone))}"
        if self._left:
            yield f"{len(self._left)} of the references without a partner, not scored: {some_of(map(repr, self._left.values()))}"

    def _names(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the keys of a row, each with its kind."""
        for key in self._keys:
            for found in (look_up(values, key), look_up(values.get("metadata"), key)):
                if isinstance(found, (str, int)) and _plain(found):
                    yield key, _plain(found)


def _plain(key: object) -> str:
    return " ".join(str(key).split()).casefold()
