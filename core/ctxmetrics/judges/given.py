"""What to write, where something else than a judge or a model was given.

Models of frameworks are known by the package of their class: nothing is imported. An adapter names that package, and its
own class that makes a model of it, under the entry point group ``ctxmetrics.model_classes``.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from ctxmetrics.models.base import Model


def instead_of(given: object) -> str | None:
    """Return what to write in place of what was given as a judge or as the model of one; None where it is not known."""
    if isinstance(given, str):
        return "LLMJudge(OpenAIModel.preset('PROVIDER', 'MODEL')), or LexicalJudge()"
    if isinstance(given, Model):
        return "LLMJudge(model)"
    for kind in type(given).__mro__:
        package = kind.__module__.partition(".")[0]
        if package == "openai":
            return "LLMJudge(OpenAIModel('MODEL'))"
        for known in entry_points(group="ctxmetrics.model_classes", name=package):
            return f"LLMJudge({known.attr}(model)), after: from {known.module} import {known.attr}"
    return None
