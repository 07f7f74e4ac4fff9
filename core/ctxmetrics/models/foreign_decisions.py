"""Wraps the decision models of frameworks and clients. ``decision_classes.toml`` lists their classes, so that nothing is imported."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.models.base import Decisions
from ctxmetrics.models.frameworks import ForeignModel, describe, token_usage
from ctxmetrics.models.runtime.background import in_thread

_CLASSES: Mapping[str, Mapping[str, Any]] = read_data("models", "decision_classes.toml")


class ForeignDecisions(ForeignModel):
    """A decision model of a framework, or a client of one, as a `DecisionModel`."""

    def __init__(self, model: Any, family: str) -> None:
        """Take a model of a family: the framework's package, which is a key of `_CLASSES`."""
        model_name: str | None = None
        for attribute in ("model", "model_name", "name"):
            value = getattr(model, attribute, None)
            if isinstance(value, str):
                model_name = value
                break
        super().__init__(model, describe(f"{family} decisions", [model], name=model_name))
        self._family = family

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
        """Ask the model in the running event loop. Exceptions of its client are not caught."""
        classes = _CLASSES[self._family]
        module = sys.modules.get(classes["module"])
        # A "noul" is the clients' name of a yes-or-no question, and of the probability in its answer. A client without a class
        # for questions takes dictionaries.
        build_question: Any = getattr(module, classes["question"], partial(dict, type="noul"))
        questions_by_id = {id_: build_question(instructions=text) for id_, text in questions.items()}
        answers, reply = await _ASK[self._family](self._inner, module, state, questions_by_id)
        probabilities = {}
        for id_, answer in answers.items():
            probabilities[id_] = getattr(answer, "noul", getattr(answer, "probability", None))
        served_model = getattr(reply, "model_name", getattr(reply, "model", None))
        usage = token_usage(getattr(reply, "usage", None))
        return Decisions(probabilities=probabilities, usage=usage, served_model=served_model)


async def _ask_langchain(model: Any, _: Any, state: str, questions: Mapping[str, Any]) -> Any:
    """Ask a decision model of LangChain."""
    reply = await model.ainvoke({"state": state, "questions": questions})
    return reply.answers, reply


async def _ask_pydantic_ai(model: Any, module: Any, state: str, questions: Mapping[str, Any]) -> Any:
    """Ask a decision model of pydantic-ai."""
    reply = await model.decide(module.DecisionRequest(state=state, questions=questions), {})
    return reply.answers, reply


async def _ask_deepeval(model: Any, _: Any, state: str, questions: Mapping[str, Any]) -> Any:
    """Ask a decision model of DeepEval."""
    answers, _ = await model.a_decide(state, questions)
    return answers.nouls, None


async def _ask_typesafe(client: Any, _: Any, state: str, questions: Mapping[str, Any]) -> Any:
    """Ask through a client of typesafe-sdk, sync or async."""
    ask = partial(client.system_one, state, questions)
    reply = await ask() if iscoroutinefunction(client.system_one) else await in_thread(ask)
    return reply.nouls, reply


# For each family, the function that asks its model. It returns the answers by the ids of the questions, and the whole reply or None.
_ASK: Mapping[str, Callable[..., Awaitable[tuple[Mapping[str, Any], Any]]]] = {
    "deepeval": _ask_deepeval,
    "langchain_core": _ask_langchain,
    "pydantic_ai": _ask_pydantic_ai,
    "typesafe_sdk": _ask_typesafe,
}


def coerce_decisions(value: object) -> object:
    """Coerce a framework's decision model to a `DecisionModel`; anything else is returned as it is."""
    for class_ in type(value).__mro__:
        package, _, _ = class_.__module__.partition(".")
        if package in _CLASSES and class_.__name__ in _CLASSES[package]["classes"]:
            return ForeignDecisions(value, package)
    return value
