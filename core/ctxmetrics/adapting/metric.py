"""What a framework's metric takes from the core metric it holds."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ctxmetrics.adapting.params import MetricParams, build_metric
from ctxmetrics.adapting.saved import read_metric, write_metric
from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from typing_extensions import Self

    from ctxmetrics.metrics.base import Metric


class Settings(MetricParams, total=False):
    """Keywords of a wrapped metric: the core's or ``core``, a metric as it is; and the name of its results."""

    core: Metric | None
    name: str | None
    threshold: float | None
    strict: bool


class Wrapper:
    """A core metric in a framework's clothes: equality, hash, fixed parameters, saving and loading.

    Name it before the framework's base class, and make one subclass a metric that sets `core_class`.

    Attributes:
        core: The core metric. It is frozen, and so are its parameters here.
        name: The key of the results; `framework_name`, else the core metric's name, with the parameters that change
            the number, unless another one was given.
    """

    core_class: ClassVar[type[Metric]]
    framework_name: ClassVar[str | None] = None
    """The framework's own name for the metric, in the place of the core metric's."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Parameters of the framework's own metric, and what to write instead."""
    public: ClassVar[Any] = None
    """The class to make it by, where that is another one than its own."""
    judge_label: ClassVar[str | None] = None
    """The ``judge=`` to make it with again, where the core metric has none."""

    core: Metric
    name: str

    def wrap(self, positional: Sequence[object], settings: Mapping[str, Any]) -> None:
        """Make the core metric.

        Args:
            positional: What was given by position: nothing may be.
            settings: What was given by name.

        Raises:
            ParameterError: A parameter was given by position, is unknown or renamed, or its value is wrong.
        """
        if positional or settings.keys() & self.renamed.keys():
            raise ParameterError(f"{type(self).__name__}: {self._advice()}")
        params = {key: value for key, value in settings.items() if key not in ("core", "name")}
        core = settings.get("core")
        if core is None:
            own = type(self).__init__.__kwdefaults__ or ()
            core = build_metric(self.core_class, MetricParams(), also=("core", "name", *own), **params)
        elif not isinstance(core, self.core_class) or params:
            raise ParameterError(
                f"{type(self).__name__}: core= must be a {self.core_class.__name__}, and brings all its parameters."
            )
        self.core = core
        own_name = (self.framework_name or core.base_name) + core.name.removeprefix(core.base_name)
        self.name = settings.get("name") or own_name

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.renamed or name in {item.name for item in fields(self.core_class)}:
            raise ParameterError(
                f"{type(self).__name__}: {name} is fixed; make another metric. {self._advice()}"
            )
        super().__setattr__(name, value)

    def _advice(self) -> str:
        advice = "; ".join(f"the framework's {old}= is {new} here" for old, new in self.renamed.items())
        return f"{advice or 'give parameters by name'}."

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write the parameters to a JSON file (by default ``NAME.json``); never a judge, a model or a key."""
        write_metric(self.core, path, kind=type(self).__name__, name=self.name, judge=self.judge_label)

    @classmethod
    def load(cls, path: str | PathLike[str], **judging: Any) -> Self:
        """Make a saved metric again; one that had been given a judge needs it again, by the same keyword.

        Raises:
            InputFileError: The file is not there, holds no metric, or one of another class.
            ParameterError: The metric had a judge, and none is given.
        """
        return cls(**read_metric(path, kind=cls.__name__, judging=judging))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Wrapper) or type(other) is not type(self):
            return False
        return self.core == other.core and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.core)

    def __reduce__(self) -> tuple[Any, ...]:
        judging = {} if self.judge_label is None else {"judge": self.judge_label}
        kind: Any = self.public or type(self)
        return partial(kind, core=self.core, name=self.name, **judging), ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core!r}>"
