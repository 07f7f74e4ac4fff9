"""What to write, where something else than a judge or a model was given.

Models of frameworks are known by the package of their class: nothing is imported.
"""

from __future__ import annotations

from ctxmetrics.models.base import Model

# By the package that a class comes from: the package and the class that make a model of it.
_WRAPPERS = {
    "langchain_core": ("ctxmetrics_langchain", "ChatModel"),
    "deepeval": ("ctxmetrics_deepeval", "DeepEvalModel"),
    "ragas": ("ctxmetrics_ragas", "RagasModel"),
    "pydantic_ai": ("ctxmetrics_pydantic_evals", "PydanticAIModel"),
}


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
        if package in _WRAPPERS:
            module, name = _WRAPPERS[package]
            return f"LLMJudge({name}(model)), after: from {module} import {name}"
    return None
