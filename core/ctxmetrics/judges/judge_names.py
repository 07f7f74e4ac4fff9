"""Finds a judge by its name: ``lexical``, ``openai/gpt-4o-mini``, ``my_judges:judge``. Used by ``--judge`` and in Python."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ctxmetrics._internal.call_text import parse_call
from ctxmetrics._internal.near_names import find_near, suggest
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge

# The entry point group in which adapters list their models.
MODELS = "ctxmetrics.models"
# The option that messages of the command line name. In Python, messages name the parameter.
OPTION = "--judge"
# The first part of the name of a preset of `NLIJudge`: nli/minicheck.
NLI = "nli"
# Parameters that cannot be set as NAME=VALUE, because the name of the judge or another option sets them.
_SET_ELSEWHERE = frozenset({"api_key", "base_url", "extra", "model", "warnings"})
# The provider of a model by the beginning of the model's name.
_PROVIDERS_BY_BEGINNING = {
    "chatgpt": "openai",
    "gpt": "openai",
    "claude": "anthropic",
    "gemini": "gemini",
    "deepseek": "deepseek",
}


def read_judge(
    text: str,
    *,
    base_url: str | None = None,
    max_characters: int | None = None,
    api_key: str | None = None,
    options: Mapping[str, Any] | None = None,
    place: str = "judge",
) -> Judge:
    """Build the judge with a name.

    PROVIDER is one of `ctxmetrics.models.openai.providers`, or an entry of the entry point group ``ctxmetrics.models``: a
    function of an adapter that makes a model from the text behind the slash.

    Args:
        text: ``lexical``, ``lexical:PARAMETER=NUMBER``, ``PROVIDER/MODEL``, ``nli/PRESET``, or ``MODULE:NAME``: a judge in your own
            Python module, which is imported.
        base_url: The address of the model's server.
        max_characters: The maximum number of characters in one request.
        api_key: The model's key; None takes it from the environment.
        options: Parameters of a judge that asks a model, or of an `OpenAIModel`, by their names.
        place: The place of the text, for messages: ``--judge`` on the command line.

    Raises:
        ParameterError: There is no such judge, or the judge has no such parameter.
    """
    judge = _find_judge(text, base_url, api_key, place)
    changes = {**(options or {})}
    if max_characters is not None:
        changes["max_characters"] = max_characters
    return _change(judge, changes, f"{place} {text}") if changes else judge


def _change(judge: Judge, changes: Mapping[str, Any], judge_text: str) -> Judge:
    """Change parameters of a judge that asks a model, or of its model if this is an `OpenAIModel`.

    Args:
        judge: The judge.
        changes: The new values by the names of the parameters.
        judge_text: The text with which the user named the judge, for messages.

    Raises:
        ParameterError: The judge asks no model, or has no such parameter.
    """
    from ctxmetrics.judges.decision import DecisionJudge
    from ctxmetrics.judges.llm.judge import LLMJudge
    from ctxmetrics.models.openai.model import OpenAIModel

    if not isinstance(judge, (DecisionJudge, LLMJudge)):
        first_name = next(iter(changes))
        option = f"--{first_name.replace('_', '-')}"
        raise ParameterError(f"{option} is not for {judge_text}: it asks no language model.")
    judge_parameters = {item.name for item in fields(judge) if item.init} - _SET_ELSEWHERE
    model_parameters = set[str]()
    if isinstance(judge.model, OpenAIModel):
        model_parameters = {item.name for item in fields(OpenAIModel) if item.init} - _SET_ELSEWHERE
    for name, value in changes.items():
        if name not in judge_parameters and name not in model_parameters:
            names = sorted(judge_parameters | model_parameters)
            raise ParameterError(
                f"{judge_text}: there is no parameter {name!r}.{suggest(name, names)} There are: {', '.join(names)}."
            )
        changed_object = judge if name in judge_parameters else judge.model
        is_flag = isinstance(getattr(changed_object, name), bool)
        if is_flag and not isinstance(value, bool):
            raise ParameterError(f"{judge_text}: {name} must be true or false, not {value!r}.")
    model: Any = judge.model
    model_changes = {name: value for name, value in changes.items() if name in model_parameters}
    judge_changes = {name: value for name, value in changes.items() if name in judge_parameters}
    if model_changes:
        model = replace(model, **model_changes)
    if isinstance(judge, LLMJudge):
        return judge.asking(model, **judge_changes)
    return replace(judge, **judge_changes)


def coerce_text(judge: Judge | str | None) -> Judge | None:
    """Build the judge if its name is given; return anything else unchanged."""
    return read_judge(judge) if isinstance(judge, str) else judge


def _find_judge(text: str, base_url: str | None, api_key: str | None, place: str) -> Judge:
    """Find the judge that a text names."""
    before_colon, colon, after_colon = text.partition(":")
    is_in_module = bool(colon) and "/" not in text
    if base_url is not None and (before_colon == "lexical" or is_in_module):
        raise ParameterError(f"--base-url is not for {place} {text}. Write {place} PROVIDER/MODEL.")
    if before_colon == "lexical":
        return _build_lexical(after_colon, place)
    if is_in_module:
        return _import_judge(text, before_colon, after_colon, place)
    from importlib.metadata import entry_points

    from ctxmetrics.judges.llm.judge import LLMJudge
    from ctxmetrics.models.openai.model import OpenAIModel
    from ctxmetrics.models.openai.providers import DECISION_PROVIDERS, PROVIDERS

    provider, _, model = text.partition("/")
    if model and provider == NLI:
        from ctxmetrics.judges.nli import NLIJudge

        if base_url is not None:
            raise ParameterError(
                f"--base-url is not for {place} {text}: its model runs in this process."
            )
        return NLIJudge(model)
    if model and provider in DECISION_PROVIDERS:
        from ctxmetrics.judges.decision import DecisionJudge
        from ctxmetrics.models.openai.decision_api import DecisionAPI

        return DecisionJudge(DecisionAPI.preset(provider, model, base_url=base_url, api_key=api_key))
    adapter_models = {entry.name: entry for entry in entry_points(group=MODELS)}
    if not model or not (provider in PROVIDERS or provider in adapter_models):
        providers = [*PROVIDERS, *DECISION_PROVIDERS, NLI, *adapter_models]
        raise ParameterError(_explain_unknown(text, providers, place))
    if provider in PROVIDERS:
        return LLMJudge(OpenAIModel.preset(provider, model, base_url=base_url, api_key=api_key))
    if base_url is not None:
        raise ParameterError(
            f"--base-url is not for {place} {provider}/..: its client knows the address."
        )
    build_model = adapter_models[provider].load()
    return LLMJudge(build_model(model))


def _build_lexical(parameters: str, place: str) -> Judge:
    """Build the embedded judge with parameters between commas: ``min_coverage=.5``."""
    from ctxmetrics.judges.lexical.judge import LexicalJudge

    names = [field.name for field in fields(LexicalJudge) if field.init]
    try:
        _, options = parse_call(f"lexical({parameters})")
        unknown_names = [name for name in options if name not in names]
        if not unknown_names:
            return LexicalJudge(**options)
        problem = f"there is no {unknown_names[0]!r}.{suggest(unknown_names[0], names)}"
    except ParameterError as error:
        problem = str(error)
    raise ParameterError(
        f"{place} lexical:{parameters}: {problem} (write lexical:min_coverage=.5; the parameters: {', '.join(names)})"
    )


def _import_judge(text: str, module: str, attribute: str, place: str) -> Judge:
    """Import a judge from a module that can be imported, or stands in the current directory."""
    from importlib import import_module

    from ctxmetrics.models.openai.providers import PROVIDERS

    suggestion = f" Did you mean {module}/{attribute}?" if module in PROVIDERS else ""
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise ParameterError(
            f"{place} {text!r} is unknown.{suggestion} Write MODULE:NAME, such as my_judges:judge."
        )
    current_directory = str(Path.cwd())
    if current_directory not in sys.path:
        # Added at the end, so that an installed module has priority over a file of the directory.
        sys.path.append(current_directory)
    try:
        judge = getattr(import_module(module), attribute)
    except Exception as error:
        raise ParameterError(
            f"{place} {text!r}: {type(error).__name__}: {error}.{suggestion} MODULE must be importable, or a file in the current "
            "directory."
        ) from error
    if isinstance(judge, type) or not isinstance(judge, Judge):
        described = type(judge).__name__
        if isinstance(judge, type):
            described = f"the class {judge.__name__}"
        raise ParameterError(
            f"{place} {text}: this is {described}, not a judge. Write NAME = NLIJudge(predict, identity=..) in the module, or "
            "an object with name, warnings, attribute and rate."
        )
    return judge


def _explain_unknown(text: str, providers: Sequence[str], place: str) -> str:
    """Explain that a text names no judge, and which judge may be meant."""
    provider, slash, model = text.partition("/")
    nearest_provider = find_near(provider, providers)
    guess = ""
    if find_near(text, ["lexical"]):
        guess = "lexical"
    elif nearest_provider is not None:
        guess = f"{nearest_provider}/{model or 'MODEL'}"
    elif not slash:  # the name of a model alone
        for beginning, provider_of_model in _PROVIDERS_BY_BEGINNING.items():
            if text.lower().startswith(beginning):
                guess = f"{provider_of_model}/{text}"
                break
    suggestion = f" Did you mean {guess}?" if guess else ""
    return (
        f"{place} {text!r} is unknown.{suggestion} Write lexical, PROVIDER/MODEL or MODULE:NAME; the providers: "
        f"{', '.join(providers)}."
    )
