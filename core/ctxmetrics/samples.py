"""One question with what was retrieved for it, and the names other systems give its fields."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import AmbiguousFieldError, SampleError, UnknownFieldError
from ctxmetrics.scores import EMPTY, frozen, plain

if TYPE_CHECKING:
    from collections.abc import Callable

_TEXT_FIELDS = ("user_input", "response", "reference")
_TEXT_LISTS = ("retrieved_contexts", "reference_contexts")
MAX_CHARACTERS = 10_000_000
"""Longest text of a field: more is no chunk, but a file that was never cut."""
_ID_LISTS = ("retrieved_context_ids", "reference_context_ids")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question with what was retrieved for it.

    Every field is optional; a metric names those it needs. Lists are stored as tuples, ids as strings
    (``1`` and ``"1"`` are the same id).

    Attributes:
        id: A name for the sample; carried to its results.
        user_input: The question.
        response: The answer that was given.
        reference: The answer that was expected.
        retrieved_contexts: The retrieved texts in rank order.
        reference_contexts: The texts that should have been retrieved.
        retrieved_context_ids: The ids of the retrieved texts in rank order.
        reference_context_ids: The ids of the texts that should have been retrieved.
        labels: What people said about the sample; `ctxmetrics.agreement` says what it reads.
        metadata: Anything; carried to the results.

    Raises:
        SampleError: A field has the wrong type; the message names the sample, the field and the fix.
    """

    id: str | None = None
    user_input: str | None = None
    response: str | None = None
    reference: str | None = None
    retrieved_contexts: tuple[str, ...] | None = None
    reference_contexts: tuple[str, ...] | None = None
    retrieved_context_ids: tuple[str, ...] | None = None
    reference_context_ids: tuple[str, ...] | None = None
    labels: Mapping[str, Any] = field(default=EMPTY, hash=False)
    metadata: Mapping[str, Any] = field(default=EMPTY, hash=False)

    if TYPE_CHECKING:  # lists and ints are taken too, and stored as above

        def __init__(
            self,
            *,
            id: str | int | None = None,  # noqa: A002 - the field's name
            user_input: str | None = None,
            response: str | None = None,
            reference: str | None = None,
            retrieved_contexts: Iterable[str] | None = None,
            reference_contexts: Iterable[str] | None = None,
            retrieved_context_ids: Iterable[str | int] | None = None,
            reference_context_ids: Iterable[str | int] | None = None,
            labels: Mapping[str, Any] | None = None,
            metadata: Mapping[str, Any] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        who = _who(self.id)
        if self.id is not None:
            _set(self, "id", _id(self.id, f"{who}: field 'id'"))
        for name in _TEXT_FIELDS:
            if (value := getattr(self, name)) is not None:
                _set(self, name, _text(value, f"{who}: field '{name}'"))
        for name in _TEXT_LISTS:
            if (value := getattr(self, name)) is not None:
                _set(self, name, _items(value, f"{who}: field '{name}'", _text))
        for name in _ID_LISTS:
            if (value := getattr(self, name)) is not None:
                _set(self, name, _items(value, f"{who}: field '{name}'", _id))
        for name in ("labels", "metadata"):
            value = getattr(self, name)
            if not hasattr(value, "items") and value is not None:
                raise SampleError(f"{who}: field '{name}' must be a mapping, not {_kind(value)}.")
            _set(self, name, frozen(value or {}))

    @classmethod
    def from_dict(
        cls, mapping: Mapping[str, Any], schema: str = "ragas", *, where: str | None = None
    ) -> Sample:
        """Read a sample that is written in the words of some system.

        Args:
            mapping: The fields.
            schema: Whose words they are: one of `ctxmetrics.schemas.SCHEMAS`.
            where: What error messages call the sample while it has no id, such as ``"line 7"``.

        Raises:
            UnknownFieldError: A key is no field of the schema; the message names the nearest one.
            AmbiguousFieldError: A key means different things in different systems.
            SampleError: A field has the wrong type.
            ParameterError: No such schema.
        """
        from ctxmetrics.schemas import translate

        return cls(**translate(mapping, schema, where=where))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, as plain JSON-ready data."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: plain(value) for name, value in values.items() if value is not None and value != EMPTY}


FIELDS = tuple(item.name for item in fields(Sample))
"""The names of all fields of a sample."""


def check_keys(keys: Iterable[str], known: Iterable[str], who: str, schema: str) -> None:
    """Refuse keys nobody knows.

    Raises:
        AmbiguousFieldError: The key is ``context``, which means the retrieved text in some systems and the ideal
            one in others.
        UnknownFieldError: Any other unknown key.
    """
    known = frozenset(known)
    for key in keys:
        if key in known:
            continue
        if key == "context":
            raise AmbiguousFieldError(
                f"{who}: field 'context' means the retrieved text in some systems and the ideal one in others. "
                "Name the system with schema= (for example 'aegis' or 'deepeval'), "
                "or write 'retrieved_contexts' or 'reference_contexts'."
            )
        near = difflib.get_close_matches(str(key), sorted(known), n=1, cutoff=0.3)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise UnknownFieldError(
            f"{who}: unknown field '{str(key)[:80]}' (schema '{schema}').{hint} "
            "Anything of your own belongs into 'metadata'."
        )


def _set(sample: Sample, name: str, value: object) -> None:
    object.__setattr__(sample, name, value)


def _who(identifier: object) -> str:
    return "Sample" if identifier is None else f"Sample {str(identifier)[:80]!r}"


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise SampleError(f"{where} must be a string, not {_kind(value)}.")
    if len(value) > MAX_CHARACTERS:
        raise SampleError(
            f"{where} is {len(value):,} characters long; {MAX_CHARACTERS:,} is the most. Cut the text into chunks."
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SampleError(
            f"{where} holds half a character (a lone surrogate) at position {error.start}. "
            "Decode the text with errors='replace'."
        ) from None
    return str(value)


def _id(value: object, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, Integral)):
        raise SampleError(f"{where} must be a string or an integer, not {_kind(value)}.")
    return _text(str(value), where)


def _items(values: object, where: str, item: Callable[[object, str], str]) -> tuple[str, ...]:
    if isinstance(values, (str, bytes)):
        raise SampleError(f"{where} must be a list, not one string. Write [text] for a single one.")
    if isinstance(values, (Mapping, set, frozenset)) or not isinstance(values, Iterable):
        raise SampleError(f"{where} must be a list, not {_kind(values)}.")
    return tuple(item(value, f"{where}, item {index}") for index, value in enumerate(values, 1))
