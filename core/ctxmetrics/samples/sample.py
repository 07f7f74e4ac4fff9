"""One question with what was retrieved for it, and the names other systems give its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from ctxmetrics._internal.frozen import EMPTY, to_json_data
from ctxmetrics.errors import SampleError
from ctxmetrics.samples.field_keys import FIELDS
from ctxmetrics.samples.fields import Fact, read_fields
from ctxmetrics.samples.stages import Search, Stage
from ctxmetrics.samples.unanswerable import LABEL, is_refusal
from ctxmetrics.text.normal_form import normalise


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Sample:
    """One question with what was retrieved for it.

    Every field is optional; a metric names the fields that it needs. Lists are stored as tuples, ids as strings
    (``1`` and ``"1"`` are the same id). A context may also be a document (`ctxmetrics.samples.documents`): its text is
    stored. If no ids are given, the ids of the documents are taken, provided that each has one. If the reference ids are
    spans, the spans of retrieved documents are taken.

    Attributes:
        id: A name for the sample; carried to its results.
        user_input: The question.
        response: The answer that was given.
        reference: The answer that was expected.
        references: Several acceptable answers, in place of ``reference``. Judged metrics judge each of them, and the highest
            value counts.
        reference_facts: The expected answer as facts, each a text or ``{"text": .., "id": .., "importance": ..}``; stored as `Fact`.
            Metrics count them with ``unit="fact"``.
        retrieved_contexts: The retrieved texts in rank order.
        reference_contexts: The texts that should have been retrieved.
        retrieved_context_ids: The ids of the retrieved texts in rank order.
        reference_context_ids: The ids of the texts that should have been retrieved.
        stages: The results of each step of the retrieval, in order, by the name of the step: a list of texts, of ids, or of
            documents with both, or ``{"contexts": [..], "ids": [..]}``; stored as `Stage`. The last stage holds what was
            retrieved: it fills ``retrieved_contexts`` and ``retrieved_context_ids``, or must be equal to them.
        searches: The searches of the question, in order, if an agent or a conversation made several: each a list as in a
            stage, or ``{"query": .., "contexts": [..], "ids": [..], "turn": 1}``; stored as `Search`. They fill
            ``stages``. The last stage holds the results of all searches: each context once, at its first rank.
        labels: The answers of people about the sample; see `ctxmetrics.evaluation.agreement.agree`. ``unanswerable``: the
            question has no answer.
        metadata: Anything; carried to the results.

    Raises:
        SampleError: A field has the wrong type; the message names the sample, the field and the fix.
        UnknownFieldError: There is no such field; the message names the nearest one.
    """

    id: str | None = None
    user_input: str | None = None
    response: str | None = None
    reference: str | None = None
    references: tuple[str, ...] | None = None
    reference_facts: tuple[Fact, ...] | None = None
    retrieved_contexts: tuple[str, ...] | None = None
    reference_contexts: tuple[str, ...] | None = None
    retrieved_context_ids: tuple[str, ...] | None = None
    reference_context_ids: tuple[str, ...] | None = None
    stages: Mapping[str, Stage] | None = field(default=None, hash=False)
    searches: tuple[Search, ...] | None = None
    labels: Mapping[str, Any] = field(default=EMPTY, hash=False)
    metadata: Mapping[str, Any] = field(default=EMPTY, hash=False)

    if TYPE_CHECKING:  # the constructor also takes lists and integers, and converts them

        def __init__(
            self,
            *,
            id: str | int | None = None,  # noqa: A002 - the field's name
            user_input: str | None = None,
            response: str | None = None,
            reference: str | None = None,
            references: Iterable[str] | None = None,
            reference_facts: Iterable[Any] | None = None,
            retrieved_contexts: Iterable[Any] | None = None,
            reference_contexts: Iterable[Any] | None = None,
            retrieved_context_ids: Iterable[Any] | None = None,
            reference_context_ids: Iterable[Any] | None = None,
            stages: Mapping[str, Any] | None = None,
            searches: Iterable[Any] | None = None,
            labels: Mapping[str, Any] | None = None,
            metadata: Mapping[str, Any] | None = None,
        ) -> None: ...

    else:

        def __init__(self, *values_by_place: Any, **fields: Any) -> None:
            if values_by_place:
                raise SampleError(
                    "Sample takes its fields by name. Write Sample(user_input=..), or Sample.from_dict(mapping)."
                )
            try:
                values = read_fields(fields)
            except SampleError as error:
                name = None
                if fields.get("id") is not None:
                    with suppress(ValueError):  # an integer of thousands of digits
                        name = str(fields["id"])[:80]
                if name is None:
                    error.place = "Sample"
                else:
                    error.sample = name
                raise
            for name in FIELDS:
                object.__setattr__(self, name, values[name])

    @classmethod
    def from_dict(
        cls,
        mapping: Mapping[str, Any],
        schema: str = "ragas",
        *,
        where: str | None = None,
        order: Literal["given", "rank", "score"] | None = None,
    ) -> Sample:
        """Read a sample that is written in the words of some system.

        Args:
            mapping: The fields.
            schema: The system whose names they are: one of `ctxmetrics.samples.systems.SCHEMAS`, or ``"auto"``.
                Keys that it does not know become metadata.
            where: The name of the sample in error messages while it has no id, such as ``"line 7"``.
            order: As for `ctxmetrics.read_samples`.

        Raises:
            UnknownFieldError: A key is close to a field that is absent; the message names it.
            AmbiguousFieldError: A key means different things in different systems.
            SampleError: A field has the wrong type.
            ParameterError: There is no such schema.
        """
        from ctxmetrics.evaluation.files.recognition import plan_single_row

        values, _ = plan_single_row(mapping, schema, order).apply(mapping, where)
        return cls.from_fields(values, where)

    @classmethod
    def from_fields(cls, values: Mapping[str, Any], where: str | None) -> Sample:
        """Build a sample from fields that were read from a row. It raises as `Sample` does; ``where`` names a sample without an id."""
        try:
            return cls(**values)
        except SampleError as error:
            if where is not None and values.get("id") is None:
                error.place = where
            raise

    def has(self, name: str) -> bool:
        """Whether a field has a value. A sample with ``references`` also has a ``reference``."""
        return getattr(self, name) is not None or (name == "reference" and self.has("references"))

    @property
    def unanswerable(self) -> bool:
        """Whether the question has no answer: the label ``unanswerable`` says so, or each reference is a refusal.

        Without a reference, the facts are the references.
        """
        mark = self.labels.get(LABEL)
        if mark is not None:
            return bool(mark)
        texts = self._expected_texts()
        return bool(texts) and all(map(is_refusal, texts))

    def _expected_texts(self) -> tuple[str, ...]:
        """Return the references; without any, the facts."""
        if self.references is not None:
            return self.references
        if self.reference is not None:
            return (self.reference,)
        if not self.reference_facts:
            return ()
        return tuple(fact.text for fact in self.reference_facts)

    def called(self, otherwise: str = "The sample") -> str:
        """Return the name of the sample for messages: ``Sample 'q7'``; the given words if it has no id."""
        return otherwise if self.id is None else f"Sample {self.id[:80]!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, as plain JSON-ready data."""
        data: dict[str, Any] = {}
        for name, value in zip(FIELDS, _get_fields(self), strict=True):
            if value is None or value == EMPTY:  # labels and metadata are empty mappings by default
                continue
            # Nearly all lists hold nothing but texts: `list` copies such a list much faster than `to_json_data`.
            holds_only_texts = type(value) is tuple and _TEXT.issuperset(map(type, value))
            data[name] = list(value) if holds_only_texts else to_json_data(value)
        if self.searches is not None:
            del data["stages"]  # the searches fill them
        return data


_get_fields = attrgetter(*FIELDS)
_TEXT = frozenset({str})

# The key of a sample's metadata that says how many retrieved contexts were the question itself, and were dropped.
DROPPED = "dropped_self"


def drop_self(sample: Sample) -> Sample:
    """Drop the retrieved contexts that are the question itself, as BEIR does (``ignore_identical_ids``).

    In data such as ArguAna and Quora each question is a document of the corpus, too. A retrieved id is the question if
    it equals the id of the sample; a retrieved text, if it equals ``user_input`` apart from case, white space, quotation
    marks, dashes, invisible characters and the normal form of Unicode. If each text has an id, both are dropped. The items below
    move up, also in each stage and search. The expected fields stay. The metadata counts the dropped ones under ``dropped_self``.

    >>> asked = Sample(id="q1", retrieved_context_ids=["q1", "d7"])
    >>> drop_self(asked).retrieved_context_ids
    ('d7',)
    """
    retrieved = Stage(sample.retrieved_contexts, sample.retrieved_context_ids)
    question = normalise(sample.user_input or "")
    parts: list[Stage | Search] = [retrieved, *(sample.stages or {}).values()]
    if not any(_find_question_itself(part, sample.id, question) for part in parts):
        return sample
    data = sample.to_dict()
    counted_parts = sample.searches or (retrieved,)
    dropped_count = sum(len(_find_question_itself(part, sample.id, question)) for part in counted_parts)
    data["metadata"] = {**sample.metadata, DROPPED: dropped_count}
    if sample.searches is not None:
        for name in ("retrieved_contexts", "retrieved_context_ids"):
            data.pop(name, None)
        data["searches"] = [
            {**search.to_dict(), **_without_self(search, sample.id, question)}
            for search in sample.searches
        ]
        return Sample(**data)
    kept_lists = _without_self(retrieved, sample.id, question)
    data.update(retrieved_contexts=kept_lists["contexts"], retrieved_context_ids=kept_lists["ids"])
    if sample.stages is not None:
        data["stages"] = {
            name: _without_self(stage, sample.id, question) for name, stage in sample.stages.items()
        }
    return Sample(**data)


def _find_question_itself(part: Stage | Search, id_: str | None, question: str) -> set[int]:
    """Find the indexes at which the retrieved id or text is the question itself."""
    ids = part.ids or ()
    texts = part.contexts or ()
    indexes = {index for index, retrieved_id in enumerate(ids) if retrieved_id == id_}
    if question:
        indexes |= {index for index, text in enumerate(texts) if normalise(text) == question}
    return indexes


def _without_self(part: Stage | Search, id_: str | None, question: str) -> dict[str, Any]:
    """Return the contexts and the ids without the question itself.

    If the lists differ in length, it is not known which text has which id, so each list is searched alone.
    """
    ids = part.ids
    texts = part.contexts
    groups = [Stage(texts, ids)]
    if ids is not None and texts is not None and len(ids) != len(texts):
        groups = [Stage(texts, None), Stage(None, ids)]
    kept_lists: dict[str, Any] = {"contexts": None, "ids": None}
    for group in groups:
        indexes_of_question = _find_question_itself(group, id_, question)
        for name, items in (("contexts", group.contexts), ("ids", group.ids)):
            if items is not None:
                kept_lists[name] = [
                    item for index, item in enumerate(items) if index not in indexes_of_question
                ]
    return kept_lists
