"""The classes of a framework for the core's metrics: their parameters, and the framework's parameters that are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from importlib import import_module
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Never, TypedDict, TypeVar

from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics import METRIC_MODULES
from ctxmetrics.metrics.base import Formula, Metric, check_parameters
from ctxmetrics.metrics.spans import SpanFormula, SpanUnit
from ctxmetrics.samples.field_keys import KeyParams
from ctxmetrics.scores.conventions import Grouping, Unit, Weighting

if TYPE_CHECKING:
    from ctxmetrics.metrics.similarity import Measure

_Class = TypeVar("_Class")

# Advice for a user who gives a prompt or template of a framework.
PROMPT_ADVICE = (
    "language= names another language, and a prompt pack other words: "
    "ctxmetrics.prompts.register_pack(Pack(language=.., texts=..))."
)


class MetricParams(TypedDict, total=False):
    """The parameters of metrics that have the same name in all frameworks.

    A wrapper takes them as ``**params: Unpack[MetricParams]``. It declares ``judge``, ``threshold`` and ``strict`` itself, under
    its framework's names. `build_metric` checks whether a metric has a parameter.
    """

    convention: str
    top_k: int | None
    unit: Unit | SpanUnit | None
    language: str | None
    weighting: Weighting | None
    partial: float
    relevance: Literal["useful", "supports", "adds"]
    formula: Formula | SpanFormula
    group: Grouping | None
    min_similarity: float
    min_cover: float
    similarity: Measure
    explain: bool


class CoreParams(MetricParams, total=False):
    """All parameters of the metrics except the judge, under the core's names."""

    threshold: float | None
    strict: bool


class WrapperParams(CoreParams, KeyParams, total=False):
    """The parameters of a wrapper except the judge: the metric's parameters, and the keys of the fields."""


class _LoadedClass:
    """A class attribute that is the class of a metric. The class is loaded when the attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> type[Metric]:
        """Return the class."""
        metric: type[Metric] = getattr(import_module("ctxmetrics"), self._name)
        return metric


class MetricClass:
    """A framework's class for one metric of the core. The class statement names the metric.

    It is ``class ContextRecallScorer(ParameterScorer, core=ContextRecall)``. A subclass without ``core=`` keeps the metric of its
    parent. With the public name, ``core="ContextRecall"``, the metric's class is loaded when it is first used.

    Attributes:
        core_class: The core metric's class.
        framework_name: The framework's own name for the metric, if it is not the core metric's.
    """

    core_class: ClassVar[type[Metric]]
    framework_name: ClassVar[str | None] = None

    def __init_subclass__(
        cls,
        *,
        core: type[Metric] | str | None = None,
        framework_name: str | None = None,
        **options: Any,
    ) -> None:
        name_class(cls, core, framework_name)
        super().__init_subclass__(**options)


def name_class(cls: Any, core: type[Metric] | str | None, framework_name: str | None) -> None:
    """Set the metric and the framework's name of a class, from its class statement.

    A class that cannot be a subclass of `MetricClass` calls this function itself.

    Raises:
        UnusedError: The class overrides an attribute or method that would never be used.
    """
    check_unused(cls, vars(cls))
    if framework_name is not None:
        cls.framework_name = framework_name
    if core is not None:
        cls.core_class = _LoadedClass(core) if isinstance(core, str) else core


class MetricClasses(Generic[_Class]):
    """The classes of an adapter that differ only in the core's metric: ``IDBasedNDCGMetric``.

    So an adapter need not write a class for each metric. The ``__getattr__`` of its ``__init__.py`` makes a class when it is first
    used, so that a new metric of the core is in all adapters. A class that the adapter writes itself has priority.

    Attributes:
        names: The names of all classes, in the core's order.
    """

    def __init__(self, package: str, pattern: str, base: type[_Class]) -> None:
        """List the names of the classes. The classes themselves are made later.

        Args:
            package: The adapter's ``__name__``.
            pattern: The name of a class, with ``{}`` in the place of the core's name: ``"{}Metric"``.
            base: The base class of the classes. Its subclasses take ``core=``, as those of `MetricClass` do.
        """
        self._package = package
        self._base = base
        self._core_names = {pattern.format(name): name for name in METRIC_MODULES}
        self.names: tuple[str, ...] = tuple(self._core_names)

    def make(self, name: str) -> type[_Class]:
        """Make the class of this name, and keep it in the adapter's package.

        Raises:
            AttributeError: The core has no such metric.
        """
        core_name = self._core_names.get(name)
        if core_name is None:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        core: Any = getattr(import_module(METRIC_MODULES[core_name]), core_name)
        summary = (core.__doc__ or "").split("\n\n")[0]
        attributes = {"__module__": self._package, "__doc__": f"`ctxmetrics.{core_name}`: {summary}"}
        # The same as `class NAME(BASE, core=CORE):` with these attributes in the adapter's module.
        made_class: type[_Class] = new_class(
            name,
            bases=(self._base,),
            kwds={"core": core},
            exec_body=lambda class_body: class_body.update(attributes),
        )
        # If two threads make the class at the same time, both get the class of the first thread.
        module_attributes = vars(import_module(self._package))
        first_class: type[_Class] = module_attributes.setdefault(name, made_class)
        return first_class

    def load(self) -> list[type[_Class]]:
        """Return all classes, including those that the adapter writes itself."""
        package = import_module(self._package)
        return [getattr(package, name) for name in self.names]


def build_metric(
    metric: type[Metric], params: Mapping[str, Any], *, suggestions: Iterable[str] = (), **settings: Any
) -> Metric:
    """Make a metric from keywords.

    Args:
        metric: The class of the metric.
        params: The caller's keywords.
        suggestions: Names in the caller's own signature, to suggest if a keyword is misspelt.
        **settings: Further parameters. For None, the metric's default is used.

    Raises:
        ParameterError: A value is wrong, or the metric has no such parameter; then the message names the nearest one.
    """
    given_settings = {name: value for name, value in settings.items() if value is not None}
    parameters = {**params, **given_settings}
    check_parameters(metric, parameters, suggestions=suggestions)
    return metric(**parameters)


def rename(metric: Metric, framework_name: str | None) -> str:
    """Return a metric's name with its parameters, with the framework's own name for the metric if it has one."""
    parameters = metric.name.removeprefix(metric.base_name)  # such as "[top_k=5]", or nothing
    return (framework_name or metric.base_name) + parameters


class UnusedError(ParameterError, AttributeError):
    """An attribute, a method or a parameter of the framework's own metric would do nothing here."""


class Unused(property):
    """An attribute or a method of the framework's own metric that would do nothing here.

    Reading or setting it raises `UnusedError`, so ``hasattr`` is False. `check_unused` refuses it as a parameter and in a
    subclass.
    """


def mark_unused(metric: type, advice: Mapping[str, str]) -> None:
    """Mark attributes and methods of a class as `Unused`.

    Args:
        metric: The class.
        advice: For the name of each such attribute, what to write instead.
    """
    for name, instead in advice.items():
        refuse = partial(_refuse_unused, f"{name} would do nothing here. {instead}")
        setattr(metric, name, Unused(fget=refuse, fset=refuse))


def _refuse_unused(problem: str, metric: object, _new_value: object = None) -> Never:
    """Raise the error of an unused attribute that is read or set."""
    metric_class = metric if isinstance(metric, type) else type(metric)
    raise UnusedError(f"{metric_class.__name__}: {problem}")


def check_unused(metric: type, names: Iterable[str]) -> None:
    """Check that none of the names is `Unused` in a class.

    Args:
        metric: The class.
        names: The names that a subclass defines, or the parameters that a caller wrote.

    Raises:
        UnusedError: A name is `Unused`; the message says what to write instead.
    """
    for name in names:
        for base in metric.__mro__:
            attribute = vars(base).get(name)
            if isinstance(attribute, Unused) and attribute.fget is not None:
                attribute.fget(metric)
