"""What all metrics share: parameters, names, empty sides, and the way from a number to a score."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args

from ctxmetrics._internal.frozen import EMPTY, FrozenDict
from ctxmetrics._internal.version import __version__
from ctxmetrics.conventions import CONVENTIONS, Convention, Family, Grouping
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.formulas import average_precision, share
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.reading import LABEL, SPAN_MARK, TEXTS_OF, some_of
from ctxmetrics.reading.pictures import in_text, refusal
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Provenance, Score
from ctxmetrics.verdicts import Usage, Verdict

Formula = Literal["average_precision", "share"]
# Field metadata of parameters that change the number: they are part of the metric's name.
NAMED: Mapping[str, Any] = FrozenDict({"named": True})


def named_choice(choices: object) -> Mapping[str, Any]:
    """Return the field metadata of such a parameter that must be one of a `Literal`'s values, or its default."""
    return FrozenDict({**NAMED, "choices": get_args(choices)})


_MetricClass = TypeVar("_MetricClass", bound="Metric")

_METRICS: list[type[Metric]] = []


def registered(metric: type[_MetricClass]) -> type[_MetricClass]:
    """Make a metric known by its `base_name`: ``--metric``, files of results, golden cases."""
    _METRICS.append(metric)
    return metric


def registered_metrics() -> list[type[Metric]]:
    """Return the registered metrics: first those that run where none is named, then by family."""
    families = get_args(Family)
    return sorted(
        _METRICS, key=lambda metric: (not metric.runs_by_default, families.index(metric.family))
    )


class Definition:
    """What a metric's class says about it. Parameters of an object may change what is no ClassVar."""

    base_name: ClassVar[str]
    family: ClassVar[Family]
    # Whether the convention's bands, which are about recall, apply to it.
    banded: ClassVar[bool] = False
    # Whether the command line runs it where no metric is named.
    runs_by_default: ClassVar[bool] = False
    # Whether it is about the ranks of one search: a sample with several searches has no value then.
    one_ranking: ClassVar[bool] = True
    # Whether `ascore` may wait, for example for a judge's reply; else it does the same as `score`.
    waits: ClassVar[bool] = False

    formula_name: str
    # Fields a sample must have.
    requires: tuple[str, ...]
    # Fields that the metric also uses where a sample has them.
    uses: tuple[str, ...] = ()
    # What a verdict is about and what a yes means there, for texts: ``("context", "useful")``.
    counts: tuple[str, str]

    # Only an object has these.
    name: str
    rules: Convention
    pass_mark: float | None
    # Whether contexts of one source count as one, and whether each context must have an id for it.
    grouped: bool = False
    needs_pairs: bool = False

    def __init_subclass__(cls, **values: Any) -> None:
        """Take what a class says about itself: ``requires``, ``uses``, ``counts``."""
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
        convention: How verdicts become a number (`ctxmetrics.conventions.CONVENTIONS`).
        threshold: The pass mark on the score's own scale; None takes the convention's.
        strict: Anything below a perfect score counts as 0, and only a perfect score passes.
        top_k: Look at the first k retrieved contexts only. The score is that of a retriever that returned
            no more than these.
        name: The metric's name; parameters that change the number and are not the default are part of it.
        rules: The convention's data.
        pass_mark: The threshold in force: the scale's top when strict, else the threshold, else the convention's.

    Raises:
        ParameterError: A parameter is out of range or of the wrong type.
    """

    convention: str = field(default="default", metadata=NAMED)
    threshold: float | None = None
    strict: bool = field(default=False, metadata=NAMED)
    top_k: int | None = field(default=None, metadata=NAMED)

    if not TYPE_CHECKING:  # the generated signature is the one that type checkers look at

        def __new__(cls, *args: object, **parameters: object) -> Any:
            """Check the parameters' names, so that a typing error is answered with the nearest name."""
            if args:
                raise ParameterError(
                    f"{cls.__name__} takes its parameters by name. Write {cls.__name__}(top_k=5), for example."
                )
            if not cls.__dataclass_fields__.keys() >= parameters.keys():
                check_parameters(cls, parameters)
            return super().__new__(cls)

    def __post_init__(self) -> None:
        check_choice("convention", self.convention, tuple(CONVENTIONS))
        rules = CONVENTIONS[self.convention]
        top_k_optional = not type(self).top_k
        check_number(f"{self.base_name}: top_k", self.top_k, 0, whole=True, optional=top_k_optional)
        check_number(f"{self.base_name}: threshold", self.threshold, 0, rules.scale, optional=True)
        pass_mark = rules.threshold if self.threshold is None else self.threshold
        if self.strict:
            pass_mark = rules.scale
        vars(self).update(name=self._build_name(), rules=rules, pass_mark=pass_mark)
        formula = getattr(self, "formula", None)
        if formula is not None:
            vars(self).update(formula_name=str(formula))
        group = getattr(self, "group", "context")
        if (group or rules.group) == "source":
            uses = (*self.uses, "retrieved_context_ids")
            vars(self).update(grouped=True, needs_pairs=group is not None, uses=uses)

    def _build_name(self) -> str:
        """Return the name with the parameters that change the number.

        Raises:
            ParameterError: Such a parameter has a value that it cannot have.
        """
        parameters = []
        for item in fields(self):
            value = getattr(self, item.name)
            if not item.metadata.get("named") or value == item.default:
                continue
            choices = item.metadata.get("choices")
            if choices:
                check_choice(f"{self.base_name}: {item.name}", value, choices)
            parameters.append(f"{item.name}={getattr(value, '__name__', None) or value}")
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
        """Note whether the class has an `ascore` of its own."""
        super().__init_subclass__(waits=cls.ascore is not Metric.ascore, **options)

    def check_sample(self, sample: Sample) -> None:
        """Raise if the sample lacks a field.

        Raises:
            MissingFieldError: Names the sample, the fields and the metric.
            SampleError: Sources are asked for, and the ids are not one a context.
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
        if self.needs_pairs and not _are_pairs(sample):
            raise SampleError(
                f"{sample.called()}: group='source' needs an id for each context in retrieved_context_ids."
            )

    def check_scope(self, sample: Sample) -> Score | None:
        """Return the score of a sample of which the metric says nothing; None for any other.

        That is a question without an answer, where the metric needs one; and one with several searches, where the metric is
        about the ranks of one.
        """
        if self.one_ranking and len(sample.searches or ()) > 1:
            message = (
                "several searches have no common ranking; results.searches() has the precision of each"
            )
            return self.build(sample, None, reason_code="several_searches", message=message)
        if not sample.unanswerable:
            return None
        expected = [name for name in self.requires if name.startswith("reference")]
        if not expected:
            return None
        why = "its label says so"
        if not sample.labels.get(LABEL):
            if (
                "reference" not in expected
            ):  # the ids or contexts that are expected may be there all the same
                return None
            why = "the reference is a refusal"
        message = f"the question has no answer: {why}"
        return self.build(sample, None, reason_code="unanswerable", message=message)

    def check_texts(self, sample: Sample) -> Score | None:
        """Return the score of a sample that has a picture where the metric reads text; None where it has none.

        The id of a context may be the name of a picture's file.
        """
        for name in (*self.requires, *self.uses):
            if name in TEXTS_OF or name == "searches":  # searches are stages, too
                continue
            value = getattr(sample, name)
            is_list = isinstance(value, (tuple, dict))
            texts = value if is_list else (value or "",)
            if name == "retrieved_contexts":
                texts = texts[: self.top_k]
            elif name == "reference_facts":
                texts = tuple(fact.text for fact in value or ())
            elif name == "stages":
                stages = (sample.stages or {}).values()
                texts = [context for stage in stages for context in stage.contexts or ()]
            for number, text in enumerate(texts, 1):
                picture = in_text(text, alone=is_list)
                if picture:
                    place = f"field '{name}'" + (f", item {number}" if is_list else "")
                    message = f"{place} {refusal(picture)}"
                    return self.build(sample, None, reason_code="not_text", message=message)
        return None

    def build(
        self,
        sample: Sample,
        value: float | None,
        verdicts: Sequence[Verdict] | Callable[[], Sequence[Verdict]] = (),
        *,
        reason_code: str | None = None,
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        usage: Usage = Usage(),  # noqa: B008 - frozen
        context_lengths: tuple[int, ...] | None = None,
        **provenance: Any,
    ) -> Score:
        """Turn a value on the 0-1 scale into the score of this convention.

        Verdicts may be given as a function, which is called when they are first read. Where sources count, the value is
        theirs, and the verdicts stay those of the contexts. Metadata that is None is left out.
        """
        counted: Any = verdicts if callable(verdicts) else tuple(verdicts)
        extra = {name: item for name, item in (metadata or {}).items() if item is not None}
        if self.grouped and value is not None and _are_pairs(sample):
            counted = tuple(verdicts() if callable(verdicts) else verdicts)
            hits = _by_source(counted, sample.retrieved_context_ids or ())
            if hits:
                value = self.to_value(hits)
                extra["sources"] = len(hits)
        scaled = self.scaled(value)
        signals: Any = None
        details: Mapping[str, Any] = EMPTY
        if self.rules.signals is not None and self.family == "recall":
            signals, details = self.rules.signals(scaled, counted)
        return Score(
            metric=self.name,
            value=scaled,
            reason_code=reason_code,
            message=message,
            threshold=self.pass_mark,
            band=self._band(scaled) if self.banded and self.rules.bands else None,
            verdicts=counted,
            signals=signals,
            metadata=FrozenDict({**details, **extra}) if details or extra else EMPTY,
            provenance=_provenance(
                formula=self.formula_name,
                convention=self.convention,
                library=f"ctxmetrics {__version__}",
                **provenance,
            ),
            usage=usage,
            sample_id=sample.id,
            counted=self.counts,
            context_lengths=context_lengths,
        )

    def _band(self, value: float | None) -> str | None:
        """Return the convention's wording of a value on its scale."""
        for band in self.rules.bands:
            if value is not None and value >= band.edge:
                return band.text
        return None

    def scaled(self, value: float | None) -> float | None:
        """Move a value from the 0-1 scale to that of the convention; what is below a perfect score is 0 when strict.

        The decimal point of the shortest decimal is moved, so 0.57 becomes 57.0 and not
        56.99999999999999, and a comparison with a pass mark is exact.
        """
        scale = self.rules.scale
        if value is not None and scale != 1.0:
            value = float(Decimal(repr(float(value))) * Decimal(repr(scale)))
        return 0.0 if self.strict and value is not None and value < scale else value

    def to_value(self, hits: Sequence[bool]) -> float | None:
        """Apply the formula to complete verdicts: average precision, or their share that is yes."""
        if self.formula_name == "average_precision":
            return average_precision(hits, epsilon=self.rules.epsilon)
        return share(hits)

    def empty(
        self, sample: Sample, *, retrieved: bool, reference: bool, **provenance: Any
    ) -> Score | None:
        """Return the score of a sample with an empty side, as the convention says.

        None where neither side is empty, and where the convention asks the judge all the same.
        """
        if retrieved and reference:
            return None
        sides = self.rules.empty[self.family]
        if retrieved:
            worth = sides.no_reference
        elif reference:
            worth = sides.nothing_retrieved
        else:
            worth = sides.both
        code, side = "no_reference", "the reference side is empty"
        if reference:
            code, side = "no_retrieved_contexts", "nothing was retrieved"
        elif "response" in self.requires:
            code, side = "no_response", "the response is empty"
        elif "reference_facts" in self.requires and sample.reference_facts:
            side = "no fact is vital"
        if not isinstance(worth, str):
            return self.build(sample, worth, message=side, **provenance)
        if worth == "judge":
            return None
        message = (
            f"{side}: under the convention '{self.convention}' {self.base_name} is undefined then."
        )
        return self.build(sample, None, reason_code=code, message=message, **provenance)


@dataclass(frozen=True, kw_only=True)
class ListMetric(Metric):
    """A metric that compares two lists: what was retrieved, and what should have been."""

    # Whether the lists hold texts; no picture may stand among them.
    reads_texts: ClassVar[bool] = False
    # Whether there is a verdict for each item of the reference; else there is one for each that was retrieved, in rank order.
    counts_reference: ClassVar[bool] = False
    # Whether `sides` is the class's own for the grades of the labels alone: without labels, the two lists are all.
    reads_grades: ClassVar[bool] = False

    def score(self, sample: Sample) -> Score:
        """Score one sample; see the class. The verdicts are made when they are first read."""
        out_of_scope = self.check_scope(sample)
        if out_of_scope is not None:
            return out_of_scope
        self.check_sample(sample)
        refused = self.check_texts(sample) if self.reads_texts else None
        if refused is not None:
            return refused
        retrieved, reference = self.sides(sample)
        empty = self.empty(sample, retrieved=bool(retrieved), reference=bool(reference))
        if empty is not None:
            return empty
        value, hits = self.compare(retrieved, reference)
        verdicts = _LaterVerdicts(self, tuple(hits), retrieved, reference)
        return self.build(sample, value, verdicts, metadata=self.measure_ties(sample, reference))

    def measure_ties(self, sample: Sample, reference: Any) -> Mapping[str, Any] | None:  # noqa: ARG002 - ids have ties
        """Measure how much the order of equal scores moves the value; None where it does not."""
        return None

    def can_compare(self, lists: Iterable[Iterable[Any]]) -> bool:
        """Return whether no list holds a picture where the metric reads text; see `check_texts`."""
        if not self.reads_texts:
            return True
        return not any(in_text(text, alone=True) for text in chain.from_iterable(lists))

    def sides(self, sample: Sample) -> tuple[Sequence[Any], Iterable[Any]]:
        """Return the two lists: the first k that were retrieved, and the reference."""
        retrieved, reference = (getattr(sample, name) for name in self.requires)
        return retrieved[: self.top_k], reference

    @abstractmethod
    def compare(self, retrieved: Sequence[Any], reference: Any) -> tuple[float | None, Sequence[Any]]:
        """Return the value (0 to 1) of two lists that are not empty, and for each verdict the data that it is made from."""

    def values(
        self,
        pairs: Iterable[tuple[Sequence[Any], Any]],
        shared: dict[Hashable, Any],  # noqa: ARG002 - the metrics over strings read it
    ) -> list[float | None]:
        """Return the values of pairs of lists that are not empty and hold no picture, on the metric's scale.

        Args:
            pairs: What was retrieved, and the reference.
            shared: What other metrics have computed for the same pairs.
        """
        values = []
        for retrieved, reference in pairs:
            value, _ = self.compare(retrieved[: self.top_k], reference)
            values.append(self.scaled(value))
        return values

    @abstractmethod
    def verdicts(self, hits: Any, retrieved: Sequence[Any], reference: Any) -> Sequence[Verdict]:
        """Build the verdicts from what `compare` returned beside the value."""

    @property
    def names_hits(self) -> bool:
        """Whether a verdict is the id of a hit, and its value, and nothing else."""
        return False


@dataclass(frozen=True, slots=True)
class _LaterVerdicts:
    """The data of verdicts that are not built yet, which take a tenth of the memory."""

    metric: ListMetric
    hits: Sequence[Any]
    retrieved: Sequence[Any]
    reference: Any

    def __len__(self) -> int:
        return len(self.hits)

    def __call__(self) -> Sequence[Verdict]:
        return self.metric.verdicts(self.hits, self.retrieved, self.reference)

    def to_dicts(self) -> list[dict[str, Any]] | None:
        if not self.metric.names_hits:
            return None
        ids = self.reference if self.metric.counts_reference else self.retrieved
        pairs = zip(dict.fromkeys(ids), self.hits, strict=True)
        return [{"id": id_, "value": hit} for id_, hit in pairs]


@dataclass(frozen=True, kw_only=True)
class TextPrecision(Metric):
    """What the precisions of texts share: the choice of the formula, and contexts of one source may count as one.

    Attributes:
        group: ``"source"``: contexts of one source count as one, at the rank of the first, relevant
            where any of them is. The source of a context is its id; for a span
            (``SOURCE#char=START,END``), the part before ``#``. ``"context"``: each counts. None takes
            the convention's, where contexts and ids are pairs.
    """

    formula_name = "average_precision"

    formula: Formula = field(default="average_precision", metadata=named_choice(Formula))
    group: Grouping | None = field(default=None, metadata=named_choice(Grouping))


def _by_source(verdicts: Sequence[Verdict], ids: Sequence[str]) -> list[bool]:
    """Return for each source, in the order of their first contexts, whether any of its contexts is relevant."""
    hits: dict[str, bool] = {}
    for verdict, id_ in zip(verdicts, ids, strict=False):
        source = id_.partition(SPAN_MARK)[0]
        hits[source] = hits.get(source, False) or verdict.value is True
    return list(hits.values())


def _are_pairs(sample: Sample) -> bool:
    return len(sample.retrieved_context_ids or ()) == len(sample.retrieved_contexts or ())


def not_judged(verdicts: Sequence[Verdict]) -> tuple[str | None, str | None]:
    """Return the reason code and the message of missing verdicts that count, or (None, None) when there are none."""
    counted = [verdict for verdict in verdicts if verdict.weight]
    missing = [verdict for verdict in counted if verdict.value is None]
    if not missing:
        return None, None
    codes = {verdict.code for verdict in missing if verdict.code}
    reasons = {verdict.reason for verdict in missing if verdict.reason}
    message = f"{len(missing)} of {len(counted)} not judged"
    if codes:
        message += f" ({', '.join(sorted(codes))})"
    message += f": {some_of((verdict.id for verdict in missing), most=5)}"
    if len(reasons) == 1:
        message += f": {reasons.pop()}"
    return "not_judged", message


# Scores of one run share their provenance, which takes less memory than one each.
_provenance = lru_cache(maxsize=256)(Provenance)


def check_parameters(metric: type[Metric], names: Iterable[str], *, also: Iterable[str] = ()) -> None:
    """Raise unless the metric has all these parameters.

    Args:
        metric: Its class.
        names: The names that a caller wrote.
        also: Further names that the caller may have meant, to suggest where one is misspelt.

    Raises:
        ParameterError: It has no such parameter; the message names the nearest one.
    """
    parameters = {item.name for item in fields(metric)}
    for name in names:
        if name in parameters:
            continue
        choices = sorted(parameters | set(also))
        nearest = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
        hint = f" Did you mean '{nearest[0]}'?" if nearest else ""
        raise ParameterError(
            f"{metric.base_name} has no parameter '{name}'.{hint} It takes: {', '.join(choices)}."
        )
