"""Finds modules that define public classes by their former names, which stand in older pickles."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Each former name with the module that has the classes now. Former packages are needed to import the modules below them.
_MOVED: Mapping[str, str] = {
    "ctxmetrics.attribution": "ctxmetrics.scores.attribution",
    "ctxmetrics.conventions": "ctxmetrics.scores.conventions",
    "ctxmetrics.results": "ctxmetrics.evaluation",
    "ctxmetrics.results.columns": "ctxmetrics.evaluation.rows.metric_values",
    "ctxmetrics.results.comparison": "ctxmetrics.evaluation.comparison",
    "ctxmetrics.results.comparison.view": "ctxmetrics.evaluation.comparison.view",
    "ctxmetrics.results.curve": "ctxmetrics.evaluation.report.curve",
    "ctxmetrics.results.label_notes": "ctxmetrics.scores.label_notes",
    "ctxmetrics.results.metric_summary": "ctxmetrics.evaluation.rows.metric_summary",
    "ctxmetrics.results.origin": "ctxmetrics.evaluation.rows.provenances",
    "ctxmetrics.results.results": "ctxmetrics.evaluation.runs.results",
    "ctxmetrics.results.row": "ctxmetrics.evaluation.rows.row",
    "ctxmetrics.results.summary": "ctxmetrics.evaluation.report.summary",
    "ctxmetrics.running": "ctxmetrics.evaluation.runs",
    "ctxmetrics.running.estimate": "ctxmetrics.evaluation.runs.estimate",
    "ctxmetrics.sample_fields": "ctxmetrics.samples.fields",
    "ctxmetrics.stages": "ctxmetrics.samples.stages",
}
# Classes with a new name, by their former module and name.
_RENAMED: Mapping[tuple[str, str], str] = {
    ("ctxmetrics.results.columns", "Column"): "MetricValues",
}


class _MovedModules:
    """Find a module by its former name, and load it with the names of the module that replaces it."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Find a former module; see `importlib.abc.MetaPathFinder`."""
        if name not in _MOVED:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]  # a loader by its methods

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make the module; see `importlib.abc.Loader`."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module the names of the module that replaces it."""

        def __getattr__(name: str) -> Any:  # noqa: N807 - it becomes the module's
            new_name = _RENAMED.get((module.__name__, name), name)
            return getattr(import_module(_MOVED[module.__name__]), new_name)

        module.__getattr__ = __getattr__  # type: ignore[method-assign]  # Python asks it for names (PEP 562)


def install() -> None:
    """Let Python find modules by their former names, before it looks into folders: a checkout may hold old empty folders."""
    sys.meta_path.insert(0, _MovedModules())
