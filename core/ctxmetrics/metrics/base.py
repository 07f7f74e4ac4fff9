"""What all metrics share: parameters, names, empty sides, and the way from a number to a score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from ctxmetrics import __version__
from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.formulas import average_precision, share
from ctxmetrics.formulas.checks import check_choice, check_number, check_switch
from ctxmetrics.samples.documents import SPAN_MARK, as_list
from ctxmetrics.samples.field_keys import (
    MAY_BE_JOINED,
    NOT_READ,
    ORDERED_BY,
    TEXTS_OF,
    UNORDERED_BY,
    UNUSABLE,
)
from ctxmetrics.samples.pictures import describe_media, find_picture, find_placeholder, is_no_text
from ctxmetrics.samples.sample import DROPPED, Sample
from ctxmetrics.samples.schema import join_first
from ctxmetrics.samples.unanswerable import LABEL
from ctxmetrics.scores.conventions import CONVENTIONS, Convention, Family
from ctxmetrics.scores.score import Provenance, Score
from ctxmetrics.verdicts import NO_USAGE, PENDING, Usage, Verdict

Formula: TypeAlias = Literal["average_precision", "share"]
# The metadata of a dataclass field whose parameter changes the number. Such a parameter is part of the metric's name:
# ``context_recall(top_k=5)``.
IN_METRIC_NAME: Mapping[str, Any] = FrozenDict({"named": True})


def in_metric_name(choices: object) -> Mapping[str, Any]:
    """Return `IN_METRIC_NAME` for a parameter that has one of a `Literal`'s values: ``Literal["share", "iou"]``."""
    return FrozenDict({**IN_METRIC_NAME, "choices": get_args(choices)})


class Definition:
    """What a metric's class says about it. The parameters of an object may change the attributes that are no ``ClassVar``."""

    base_name: ClassVar[str]
    family: ClassVar[Family]
    # Whether a judge gives the metric's verdicts.
    judged: ClassVar[bool] = False
    # Whether a value gets a band, such as "good", where the convention has bands: they are about recall.
    has_bands: ClassVar[bool] = False
    # Whether the command line runs the metric if the user names no metric.
    runs_by_default: ClassVar[bool] = False
    # Whether the metric is about the ranks of one search. If so, a sample with several searches has no value.
    needs_single_ranking: ClassVar[bool] = True
    # Whether `ascore` may wait, for example for a judge's reply; else it does the same as `score`.
    waits: ClassVar[bool] = False

    formula_name: str
    # Fields a sample must have.
    requires: tuple[str, ...]
    # Fields that the metric also uses where a sample has them.
    uses: tuple[str, ...] = ()
    # Two words for messages: what a verdict is about, and what a yes says of it. ``("context", "useful")``.
    counted_words: tuple[str, str]

    # The attributes from here on are set for each object.
    name: str
    convention_data: Convention
    pass_mark: float | None
    # Whether the contexts of one source count as one.
    grouped: bool = False
    # Whether a sample must have an id for each context, because sources count.
    needs_id_per_context: bool = False

    def __init_subclass__(cls, **values: Any) -> None:
        """Set the class attributes that a class statement gives: ``class HitRate(IDMetric, requires=("..",))``."""
        super().__init_subclass__()
        for name, value in values.items():
            if name not in Definition.__annotations__:
                raise TypeError(f"{cls.__name__}: {name}= is not known")
            setattr(cls, name, value)


@dataclass(frozen=True, kw_only=True)
class Metric(Definition, ABC):
    """One definition of a number, with its parameters.

    A metric is frozen data: two with equal parameters are equal, and it can be pickled and copied.

    Attributes:
        convention: How verdicts become a number (`ctxmetrics.scores.conventions.CONVENTIONS`).
        threshold: The pass mark on the score's own scale; None takes the convention's.
        strict: Anything below a perfect score counts as 0, and only a perfect score passes.
        top_k: Look at the first k retrieved contexts only. The score is that of a retriever that returned
            no more than these.
        name: The metric's name; parameters that change the number and are not the default are part of it.
        convention_data: The convention itself: its formula, its scale and its pass mark.
        pass_mark: The threshold in force: the scale's top when strict, else the threshold, else the convention's.

    Raises:
        ParameterError: A parameter is out of range or of the wrong type.
    """

    convention: str = field(default="default", metadata=IN_METRIC_NAME)
    threshold: float | None = None
    strict: bool = field(default=False, metadata=IN_METRIC_NAME)
    top_k: int | None = field(default=None, metadata=IN_METRIC_NAME)

    if not TYPE_CHECKING:  # type checkers read the signature that `dataclass` generates

        def __new__(cls, *args: object, **parameters: object) -> Any:
            """Check the names of the parameters: the error about a misspelt name suggests the nearest one."""
            if args:
                raise ParameterError(
                    f"{cls.__name__} takes its parameters by name. Write {cls.__name__}(top_k=5), for example."
                )
            if not cls.__dataclass_fields__.keys() >= parameters.keys():
                check_parameters(cls, parameters)
            return super().__new__(cls)

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            is_switch = isinstance(item.default, bool)
            if is_switch or isinstance(value, Real):
                value = as_list(value)  # a value of NumPy becomes one of Python
            # These parameters are shares. 1 and 1.0 must give the metric the same name. Other integers are refused later.
            if isinstance(item.default, float) and type(value) is int and value in {0, 1}:
                value = float(value)
            if is_switch:
                check_switch(f"{self.base_name}: {item.name}", value)
            object.__setattr__(self, item.name, value)
        check_choice("convention", self.convention, tuple(CONVENTIONS))
        convention = CONVENTIONS[self.convention]
        # The class of a metric "at k" has a number as the default of `top_k`: there, `top_k` must not be None.
        can_be_none = type(self).top_k is None
        check_number(f"{self.base_name}: top_k", self.top_k, 0, whole=True, optional=can_be_none)
        check_number(f"{self.base_name}: threshold", self.threshold, 0, convention.scale, optional=True)
        pass_mark = convention.threshold if self.threshold is None else self.threshold
        if self.strict:
            pass_mark = convention.scale
        object.__setattr__(self, "name", self._build_name())
        object.__setattr__(self, "convention_data", convention)
        object.__setattr__(self, "pass_mark", pass_mark)
        formula = getattr(self, "formula", None)
        if formula is not None:
            object.__setattr__(self, "formula_name", str(formula))
        group = getattr(self, "group", "context")
        is_chosen_by_caller = group is not None
        if not is_chosen_by_caller:
            group = convention.group
        if group == "source":
            object.__setattr__(self, "grouped", True)
            object.__setattr__(self, "needs_id_per_context", is_chosen_by_caller)
            object.__setattr__(self, "uses", (*self.uses, "retrieved_context_ids"))

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters. The other attributes follow from the parameters and are computed again."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Set the parameters, also from a pickle that holds further attributes."""
        for item in fields(self):
            object.__setattr__(self, item.name, state.get(item.name, item.default))
        self.__post_init__()

    def _build_name(self) -> str:
        """Return the name with the parameters that change the number.

        Raises:
            ParameterError: Such a parameter has none of the values of its `Literal`.
        """
        parameters = []
        for item in fields(self):
            value = getattr(self, item.name)
            if not item.metadata.get("named") or value == item.default:
                continue
            choices = item.metadata.get("choices")
            if choices:
                check_choice(f"{self.base_name}: {item.name}", value, choices)
            text = str(value)
            # The text of a function holds its address in memory, which differs from run to run.
            if callable(value):
                text = getattr(value, "__name__", None) or type(value).__name__
            parameters.append(f"{item.name}={text}")
        return f"{self.base_name}({', '.join(parameters)})" if parameters else self.base_name

    @abstractmethod
    def score(self, sample: Sample) -> Score:
        """Score one sample: in a script, a notebook, inside a running loop, in any thread.

        Raises:
            MissingFieldError: The sample lacks a field the metric needs.
            CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
        """

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample. Raises as `score` does."""
        return self.score(sample)

    def __init_subclass__(cls, **options: Any) -> None:
        """Set `waits` of a class, and what its class statement gives.

        A class with an `ascore` of its own waits for something, such as the answer of a judge. The `ascore` above only calls
        `score`.
        """
        has_own_ascore = cls.ascore is not Metric.ascore
        super().__init_subclass__(waits=has_own_ascore, **options)

    def check_sample(self, sample: Sample) -> None:
        """Raise if the sample lacks a field.

        Raises:
            MissingFieldError: Names the sample, the fields and the metric.
            SampleError: The metric counts sources, and a context has no id.
        """
        missing = [name for name in self.requires if not sample.has(name)]
        if missing:
            fix = "Fill the field"
            if "reference" in missing and sample.reference_facts:
                fix = "Count its facts with unit='fact'"
            raise MissingFieldError(
                f"{sample.called()} has no {' and no '.join(missing)}, which {self.name} needs. "
                f"{fix}, map it with schema=, or leave the metric out."
            )
        if self.needs_id_per_context and not has_id_for_each_context(sample):
            raise SampleError(
                f"{sample.called()}: group='source' needs an id for each context in retrieved_context_ids."
            )

    def check_scope(self, sample: Sample) -> Score | None:
        """Return a score without a value if the metric does not apply to the sample; else None.

        A metric that needs an answer does not apply to a question without one. A metric about the ranks of one search does not
        apply to a question with several searches.
        """
        if not isinstance(sample, Sample):
            raise ParameterError(
                f"{self.base_name}: {type(sample).__name__} is no Sample. Write Sample(user_input=.., reference=.., "
                "retrieved_contexts=[..]), or Sample.from_dict(mapping)."
            )
        if self.needs_single_ranking and len(sample.searches or ()) > 1:
            message = (
                "several searches have no common ranking; results.searches() has the precision of each"
            )
            return self.make_score(sample, None, reason_code="several_searches", message=message)
        reference_fields = [name for name in self.requires if name.startswith("reference")]
        if not reference_fields:
            return None
        reason = "its label says so"
        if not sample.labels.get(LABEL):
            refusing_field = "reference" if sample.has("reference") else "reference_facts"
            # A metric that reads another field, such as the reference ids, can still have a value.
            if refusing_field not in reference_fields or not sample.unanswerable:
                return None
            reason = "the reference is a refusal"
        message = f"the question has no answer: {reason}"
        return self.make_score(sample, None, reason_code="unanswerable", message=message)

    def check_texts(self, sample: Sample) -> Score | None:
        """Return a score without a value if a sample has a picture where the metric reads text; else None.

        Fields of ids are not checked, because an id may be the name of a picture's file. The sample has no text either if all
        contexts are addresses, ids or placeholders, and none of them is a part of an expected text.
        """
        for name in (*self.requires, *self.uses):
            if name in TEXTS_OF or name == "searches":  # searches are stages, too
                continue
            has_several_texts = isinstance(getattr(sample, name), (tuple, dict))
            for number, text in enumerate(self._list_texts(sample, name), 1):
                picture = find_picture(text, is_list_item=has_several_texts)
                if picture:
                    location = f"field '{name}'"
                    if has_several_texts:
                        location += f", item {number}"
                    message = f"{location} {describe_media(picture)}"
                    return self.make_score(sample, None, reason_code="not_text", message=message)
        placeholder = self.find_placeholders(sample)
        if placeholder is None:
            return None
        message = (
            f"no retrieved context holds text: each is an address, an id or a placeholder ({safe_text(placeholder)}). Give "
            "the texts that stand there; metrics by id compare ids."
        )
        return self.make_score(sample, None, reason_code="not_text", message=message)

    def _list_texts(self, sample: Sample, field_name: str) -> Sequence[str]:
        """List the texts of a field of a sample; of the retrieved contexts only the first `top_k`."""
        if field_name == "retrieved_contexts":
            return (sample.retrieved_contexts or ())[: self.top_k]
        if field_name == "reference_facts":
            return [fact.text for fact in sample.reference_facts or ()]
        if field_name == "stages":
            texts: list[str] = []
            for stage in (sample.stages or {}).values():
                texts += stage.contexts or ()
            return texts
        value: str | tuple[str, ...] | None = getattr(sample, field_name)
        if isinstance(value, tuple):
            return value
        return [value or ""]

    def find_placeholders(self, sample: Sample) -> str | None:
        """Return the first retrieved context if all are placeholders and none stands in an expected text; else None."""
        contexts = (sample.retrieved_contexts or ())[: self.top_k]
        if "retrieved_contexts" not in self.requires or not contexts:
            return None
        if not all(find_placeholder(context) for context in contexts):
            return None
        expected_texts = [sample.reference or "", sample.response or ""]
        expected_texts += sample.reference_contexts or ()
        expected_texts += sample.references or ()
        expected_texts += [fact.text for fact in sample.reference_facts or ()]
        # A text that is expected is no placeholder: "None" may be the answer.
        for context in contexts:
            if any(context.strip() in text for text in expected_texts):
                return None
        return find_placeholder(contexts[0])

    def make_score(
        self,
        sample: Sample,
        value: float | None,
        verdicts: Sequence[Verdict] | Callable[[], Sequence[Verdict]] = (),
        *,
        reason_code: str | None = None,
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        usage: Usage = NO_USAGE,
        contexts: tuple[str, ...] | None = None,
        **provenance: Any,
    ) -> Score:
        """Turn a value on the 0-1 scale into the score of this convention.

        Verdicts may be given as a function, which is called when the verdicts are first read. If sources count, the value is
        about the sources, and the verdicts are still about the contexts. Entries of the metadata that are None are left out.
        Notes are sentences that a reader of the value must know.
        """
        # Verdicts that are given as a function stay a function.
        score_verdicts: Any = verdicts if callable(verdicts) else tuple(verdicts)
        score_metadata: dict[str, Any] = {}
        if metadata:
            score_metadata = {key: entry for key, entry in metadata.items() if entry is not None}
        all_notes = [*notes]
        if sample.metadata:
            all_notes += _describe_file_reading(sample.metadata)
        if value == 0:
            all_notes += self._describe_texts_missing(sample)
        if all_notes:
            score_metadata["notes"] = all_notes
        if self.grouped and value is not None and has_id_for_each_context(sample):
            score_verdicts = tuple(verdicts() if callable(verdicts) else verdicts)
            source_hits = _list_source_relevance(score_verdicts, sample.retrieved_context_ids or ())
            if source_hits:
                value = self.to_value(source_hits)
                score_metadata["sources"] = len(source_hits)
        scaled_value = self.to_convention_scale(value)
        signals: Any = None
        if self.convention_data.signals is not None and self.family == "recall":
            signals, convention_metadata = self.convention_data.signals(scaled_value, score_verdicts)
            score_metadata = {**convention_metadata, **score_metadata}
        return Score(
            metric=self.name,
            value=scaled_value,
            reason_code=reason_code,
            message=message,
            threshold=self.pass_mark,
            band=self._find_band(scaled_value) if self.has_bands else None,
            verdicts=score_verdicts,
            signals=signals,
            metadata=FrozenDict(score_metadata) if score_metadata else EMPTY,
            provenance=_build_provenance(
                formula=self.formula_name,
                convention=self.convention,
                library=_LIBRARY,
                **provenance,
            ),
            usage=usage,
            sample_id=sample.id,
            counted=self.counted_words,
            context_lengths=None if contexts is None else tuple(map(len, contexts)),
            contexts=contexts,
        )

    def _describe_texts_missing(self, sample: Sample) -> Iterator[str]:
        """Yield notes about contexts without text, which may be why a value is 0."""
        if "retrieved_contexts" in self.requires:
            counted_contexts = (sample.retrieved_contexts or ())[: self.top_k]
            yield from _describe_contexts_without_text("retrieved", counted_contexts)
        if "reference_contexts" in self.requires:
            expected_contexts = sample.reference_contexts or ()
            yield from _describe_contexts_without_text("expected", expected_contexts)

    def _find_band(self, value: float | None) -> str | None:
        """Return the convention's wording of a value, such as "good"; None if the convention has no bands."""
        for band in self.convention_data.bands:
            if value is not None and value >= band.edge:
                return band.text
        return None

    def to_convention_scale(self, value: float | None) -> float | None:
        """Convert a value from the 0-1 scale to the scale of the convention. If strict, a value below a perfect score becomes 0.

        The value is multiplied as a decimal number: 0.57 becomes 57.0, and not 56.99999999999999. So a comparison with a pass mark
        is exact.
        """
        if value is None:
            return None
        scale = self.convention_data.scale
        if scale != 1.0:
            value = float(Decimal(repr(float(value))) * Decimal(repr(scale)))
        if self.strict and value < scale:
            return 0.0
        return value

    def to_value(self, hits: Sequence[bool]) -> float | None:
        """Apply the formula to complete verdicts: average precision, or the share of the verdicts that are yes."""
        if self.formula_name == "average_precision":
            return average_precision(hits, epsilon=self.epsilon)
        return share(hits)

    @property
    def epsilon(self) -> float:
        """The number that is added to the divisor of average precision. It is 0 if strict, since with it no value reaches 1."""
        return 0.0 if self.strict else self.convention_data.epsilon

    def score_empty_side(
        self, sample: Sample, *, retrieved: bool, reference: bool, **provenance: Any
    ) -> Score | None:
        """Return the score of a sample with an empty side, as the convention says.

        None if neither side is empty, or if the convention asks the judge although a side is empty.
        """
        if retrieved and reference:
            return None
        # The convention gives a number or a word: "judge" if the judge is asked, "none" for no value.
        values_of_empty_sides = self.convention_data.empty[self.family]
        if retrieved:
            value_or_word = values_of_empty_sides.no_reference
        elif reference:
            value_or_word = values_of_empty_sides.nothing_retrieved
        else:
            value_or_word = values_of_empty_sides.both
        if value_or_word == "judge":  # the judge is asked although a side is empty
            return None
        reason_code = "no_reference"
        cause = "the reference side is empty"
        if reference:
            reason_code = "no_retrieved_contexts"
            cause = "nothing was retrieved"
        elif "response" in self.requires:
            reason_code = "no_response"
            cause = "the response is empty"
        elif "reference_facts" in self.requires and sample.reference_facts:
            cause = "no fact is vital"
        if not isinstance(value_or_word, str):
            return self.make_score(sample, value_or_word, message=cause, **provenance)
        message = (
            f"{cause}: under the convention '{self.convention}' {self.base_name} is undefined then."
        )
        return self.make_score(sample, None, reason_code=reason_code, message=message, **provenance)


def _list_source_relevance(verdicts: Sequence[Verdict], ids: Sequence[str]) -> list[bool]:
    """Tell for each source, in the order of first appearance, whether one of its contexts is relevant."""
    is_relevant: dict[str | int, bool] = {}
    for index, (verdict, id_) in enumerate(zip(verdicts, ids, strict=False)):
        source: str | int = id_.partition(SPAN_MARK)[0]
        if not source:  # a context without an id is a source of its own
            source = index
        is_relevant.setdefault(source, False)
        if verdict.value is True:
            is_relevant[source] = True
    return list(is_relevant.values())


def _describe_file_reading(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes about how a sample was read from its file or record. The reader wrote them into the metadata."""
    if DROPPED in metadata:
        yield f"{metadata[DROPPED]} retrieved, the question itself, dropped"
    if ORDERED_BY in metadata:
        yield f"in the order of {metadata[ORDERED_BY]}, which the list does not have"
    if UNORDERED_BY in metadata:
        yield f"in the order of the list, whatever {metadata[UNORDERED_BY]} may say"
    if MAY_BE_JOINED in metadata:
        yield f"with one context: if it holds several passages ({metadata[MAY_BE_JOINED]}), the value says nothing"
    if NOT_READ in metadata:
        yield f"without {metadata[NOT_READ]}, which stands beside and is not read"
    if UNUSABLE in metadata:
        yield f"without {metadata[UNUSABLE]}: the record has a value there that cannot be used"


def _describe_contexts_without_text(side: str, contexts: Sequence[str]) -> list[str]:
    """Write a note if no context of a side (``"retrieved"``, ``"expected"``) is a text: each is an id, an address or a number."""
    if not contexts or not all(is_no_text(context) for context in contexts):
        return []
    beginning = contexts[0].strip()[:60]
    example = f", such as {safe_text(beginning)!r}" if beginning else ""
    return [f"no {side} context reads as a text{example}: is this the field of the texts?"]


def has_id_for_each_context(sample: Sample) -> bool:
    """Tell whether a sample has as many retrieved ids as retrieved contexts."""
    return len(sample.retrieved_context_ids or ()) == len(sample.retrieved_contexts or ())


def explain_missing_verdicts(verdicts: Sequence[Verdict]) -> tuple[str | None, str | None]:
    """Return the reason code and the message of missing verdicts that count, or (None, None) when there are none."""
    # A fact with the weight 0 does not count.
    counted_verdicts = [verdict for verdict in verdicts if verdict.weight]
    missing_verdicts = [verdict for verdict in counted_verdicts if verdict.value is None]
    if not missing_verdicts:
        return None, None
    codes = {verdict.code for verdict in missing_verdicts if verdict.code}
    reasons = {verdict.reason for verdict in missing_verdicts if verdict.reason}
    message = f"{len(missing_verdicts)} of {len(counted_verdicts)} not judged"
    if codes:
        message += f" ({', '.join(sorted(codes))})"
    message += f": {join_first((verdict.id for verdict in missing_verdicts), most=5)}"
    if len(reasons) == 1:
        message += f": {reasons.pop()}"
    return (PENDING if PENDING in codes else "not_judged"), message


# The scores of one run share their provenance, which takes less memory than one provenance for each score.
_build_provenance = lru_cache(maxsize=256)(Provenance)
_LIBRARY = f"ctxmetrics {__version__}"


# The names that other libraries give to a parameter, each with our name of the parameter.
_NAMES_IN_OTHER_LIBRARIES = {
    "k": "top_k",
    "llm": "judge",
    "model": "judge",
    "distance_measure": "similarity",
}


def check_parameters(
    metric: type[Metric], names: Iterable[str], *, suggestions: Iterable[str] = ()
) -> None:
    """Check that a metric has parameters of these names.

    Args:
        metric: The class of the metric.
        names: The names that a caller wrote.
        suggestions: Further names to suggest if a name is misspelt.

    Raises:
        ParameterError: The metric has no parameter of a name; the message suggests the nearest one.
    """
    parameters = {item.name for item in fields(metric)}
    for name in names:
        if name in parameters:
            continue
        from ctxmetrics._internal.near_names import suggest

        # The metric has no such parameter: the rest builds the message.
        choices = sorted(parameters | set(suggestions))
        our_name = _NAMES_IN_OTHER_LIBRARIES.get(name)
        suggestion = suggest(name, choices)
        if our_name in choices:
            suggestion = f" Did you mean {our_name!r}?"
        raise ParameterError(
            f"{metric.base_name} has no parameter '{name}'.{suggestion} It takes: {', '.join(choices)}."
        )
