"""The advice of error messages where something else than a judge or a model was given.

Models of frameworks are known by the package of their class: nothing is imported. An adapter names that package, and its
own class that makes a model of it, under the entry point group ``ctxmetrics.model_classes``.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from ctxmetrics.errors import ParameterError
from ctxmetrics.models.base import Model


def instead_of(given: object) -> str | None:
    """Return what to write in place of what was given as a judge or as the model of one; None where it is not known."""
    if isinstance(given, str):
        return "LLMJudge(OpenAIModel.preset('PROVIDER', 'MODEL')), or LexicalJudge()"
    if isinstance(given, Model):
        return "LLMJudge(model)"
    if any(kind.__module__.partition(".")[0] == "openai" for kind in type(given).__mro__):
        return "LLMJudge(OpenAIModel('MODEL'))"
    known = _adapter_class(given)
    if known is None:
        return None
    return f"LLMJudge({known.attr}(model)), after: from {known.module} import {known.attr}"


def model_of(given: object) -> Model:
    """Return a model as it is, and a framework's model in the class of its adapter.

    Raises:
        ParameterError: It is no model that is known.
    """
    if isinstance(given, Model):
        return given
    if known := _adapter_class(given):
        return known.load()(given)  # type: ignore[no-any-return]  # the class that an adapter names
    write = instead_of(given) or "a model with identity and generate(prompt, schema)"
    raise ParameterError(f"{type(given).__name__} is no model. Give {write}.")


def _adapter_class(given: object) -> EntryPoint | None:
    """Return where the class stands that makes a model of a framework's object."""
    packages = [kind.__module__.partition(".")[0] for kind in type(given).__mro__]
    return next(
        (
            entry
            for name in packages
            for entry in entry_points(group="ctxmetrics.model_classes", name=name)
        ),
        None,
    )
