"""Coerce a model or a framework's model to a `Model`, and suggest the code to write where that is not possible.

The model of a framework is recognised by the package of its class, so that nothing is imported. The entry points of the group
``ctxmetrics.model_classes`` name for each package the adapter's class that wraps such a model.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from ctxmetrics.errors import ParameterError
from ctxmetrics.models.base import DecisionModel, Model


def coerce_model(value: object) -> Model:
    """Coerce a model or a framework's model to a `Model`.

    Raises:
        ParameterError: It is neither; the message suggests what to write.
    """
    if isinstance(value, Model):
        return value
    adapter = _find_adapter(value)
    if adapter is not None:
        return adapter.load()(value)  # type: ignore[no-any-return]  # the class that an adapter names
    suggested_code = suggest_code(value)
    if suggested_code is None:
        suggested_code = "a model with identity and generate(prompt, schema)"
    raise ParameterError(f"{type(value).__name__} is no model. Give {suggested_code}.")


def suggest_code(value: object) -> str | None:
    """Suggest the code to write instead of a value that is not a judge; None if the value is unknown."""
    # This import loads asyncio and pydantic, which metrics of ids do not need.
    from ctxmetrics.models.foreign_decisions import coerce_decisions

    if isinstance(value, str):
        provider, slash, model = value.partition("/")
        if not slash:
            provider = "PROVIDER"
            model = "MODEL"
        return f"LLMJudge(OpenAIModel.preset({provider!r}, {model!r})), or LexicalJudge()"
    if isinstance(value, Model):
        return "LLMJudge(model)"
    if isinstance(coerce_decisions(value), DecisionModel):
        return "DecisionJudge(model)"
    if "openai" in _list_packages(value):
        return "LLMJudge(OpenAIModel('MODEL')), or DecisionJudge(DecisionAPI('MODEL', wire='openai'))"
    adapter = _find_adapter(value)
    if adapter is None:
        return None
    return f"LLMJudge({adapter.attr}(model)), after: from {adapter.module} import {adapter.attr}"


def _find_adapter(value: object) -> EntryPoint | None:
    """Find the adapter's class that wraps the model of a framework."""
    for package in _list_packages(value):
        for entry in entry_points(group="ctxmetrics.model_classes", name=package):
            return entry
    return None


def _list_packages(value: object) -> list[str]:
    """List the packages of a value's class and of the classes above it."""
    packages = []
    for class_ in type(value).__mro__:
        package, _, _ = class_.__module__.partition(".")
        packages.append(package)
    return packages
