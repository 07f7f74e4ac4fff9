"""Models that come with the library: any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.near_names import suggest
from ctxmetrics._internal.secrets import (
    hide_keys,
    looks_like_key,
    mask_secrets,
    remember_key,
    safe_text,
)
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.models.base import (
    ONE_CALL,
    Prompt,
    Reply,
)
from ctxmetrics.models.openai.capabilities import (
    FORMS,
    Capabilities,
    Form,
    capabilities_of,
    mentions_token_limit,
    next_form,
    response_format,
    schema_size,
)
from ctxmetrics.models.openai.client import client_for
from ctxmetrics.models.openai.providers import PROVIDERS, Provider
from ctxmetrics.models.openai.server_answers import read_answer, was_limit_too_low
from ctxmetrics.models.runtime.background import on_background
from ctxmetrics.models.runtime.failures import classify, read_attribute
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.models.server_words import WORDS
from ctxmetrics.verdicts import Usage

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
# The text that is sent as a key to a server without keys, because the client does not work without one.
NO_KEY = "no-key"
# The provider whose servers ask for no key, by the class that asks them.
_PROVIDER_WITHOUT_KEY = {"OpenAIModel": "vllm", "DecisionAPI": "systemone"}
# The default values of the parameters. A parameter with its default value is no part of the identity.
_DEFAULTS = {"temperature": 0.0, "seed": 0, "max_tokens": None, "reply_format": "auto"}
# The distance between the seeds of two attempts: a judge has fewer votes, so that no two requests have the same seed.
_SEEDS_OF_VOTES = 1000
# The maximum number of requests for one reply. After each refusal, the next request leaves out one more refused part.
_MAX_REQUESTS_FOR_REPLY = 8
# The statuses with which a server refuses a part of a request.
_REFUSAL_STATUSES = (400, 422)
# Fields of a request that ``extra`` may not change.
_RESERVED_FIELDS = frozenset({"messages", "model", "n", "response_format", "stream"})


class Key:
    """A secret. Neither its repr nor its pickle shows the text.

    Args:
        text: The key; None takes it from the environment whenever it is needed.
        variable: The environment variable that holds it.
        needed: Whether the server is known to ask for one.
    """

    __slots__ = ("_text", "needed", "variable")

    def __init__(self, text: str | None, variable: str = KEY_VARIABLE, *, needed: bool = False) -> None:
        self._text = None if text is None else _check_key_characters(text, "api_key")
        self.variable: str = variable
        self.needed: bool = needed

    @property
    def is_explicit(self) -> bool:
        """Whether the caller gave the key; else it comes from the environment."""
        return self._text is not None

    def reveal(self) -> str | None:
        """Return the key, or None if there is none."""
        key = self._text
        if not key:
            key = _check_key_characters(os.environ.get(self.variable, ""), self.variable)
        if not key:
            key = None
        remember_key(key)
        return key

    def __repr__(self) -> str:
        return "[key]"

    def __deepcopy__(self, memo: dict[int, Any]) -> Key:
        return self

    def __reduce__(self) -> tuple[partial[Key], tuple[None]]:
        return partial(Key, variable=self.variable, needed=self.needed), (None,)


@dataclass(frozen=True, slots=True)
class OpenAIModel:
    """A model behind OpenAI's API, or any server that speaks it (vLLM, Ollama, LM Studio, OpenRouter ..).

    All requests of a process to one address with one key share a client, on the library's own event loop. Which parts of a request
    a server accepts (strict JSON schema, JSON mode, plain text; temperature, seed, limits of tokens; a system message) is found out
    once for each server and model, and remembered for the process.

    Two models with equal parameters are equal. Copies share the key. A pickle does not hold the key: after unpickling, it is taken
    from ``OPENAI_API_KEY``.

    Attributes:
        model: The model's name at the server.
        base_url: The server's address; None takes ``OPENAI_BASE_URL``, else OpenAI's.
        api_key: The key; None takes ``OPENAI_API_KEY``. Servers other than OpenAI's may need none.
        temperature: Sent if the server accepts it; None: not sent.
        seed: The seed of the request, to which the number of the vote is added; None sends none.
        max_tokens: The maximum number of tokens of a reply, thinking included; None leaves it to the server.
        timeout: The maximum number of seconds for one request; None leaves it to the run (120).
        reply_format: ``"auto"`` takes the strictest form that the server accepts; ``"json_schema"``, ``"json_object"`` or ``"text"`` fixes
            the form.
        extra: Further fields of the request's body, such as ``{"reasoning_effort": "low"}``.

    Raises:
        ParameterError: A parameter is out of range, or there is no key.

    Examples:
        >>> OpenAIModel("qwen3", base_url="http://localhost:11434/v1", temperature=0.2).identity
        'openai/qwen3@localhost:11434/v1(temperature=0.2)'
    """

    # Each request has its own time-out, so that the run sets none for a whole `generate`, which may wait for another request.
    times_requests: ClassVar[bool] = True

    model: str
    _: KW_ONLY
    base_url: str | None = None
    api_key: str | Key | None = field(default=None, repr=False, compare=False)
    temperature: float | None = 0.0
    seed: int | None = 0
    max_tokens: int | None = None
    timeout: float | None = None
    reply_format: Form | Literal["auto"] = "auto"
    extra: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip() or not self.model.isprintable():
            raise ParameterError("OpenAIModel: model must be the model's name, such as 'gpt-4.1-mini'.")
        check_number("OpenAIModel: temperature", self.temperature, 0, optional=True)
        check_number("OpenAIModel: seed", self.seed, whole=True, optional=True)
        check_number("OpenAIModel: max_tokens", self.max_tokens, 1, whole=True, optional=True)
        check_number("OpenAIModel: timeout", self.timeout, 0.001, optional=True)
        check_choice("OpenAIModel: reply_format", self.reply_format, ("auto", *FORMS))
        address = self.base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL
        object.__setattr__(self, "base_url", check_address(address, "OpenAIModel"))
        object.__setattr__(self, "extra", _check_extra(self.extra))
        if not isinstance(self.api_key, Key):
            is_openai = urlsplit(str(self.base_url)).hostname == urlsplit(OPENAI_URL).hostname
            object.__setattr__(self, "api_key", Key(self.api_key, needed=is_openai))
        # Raises at once if there is no key.
        reveal_key(self.api_key, self.base_url, "OpenAIModel", self.model)
        check_names(self.model, str(self.base_url), "OpenAIModel")

    @classmethod
    def preset(cls, provider: str, model: str, **options: Any) -> OpenAIModel:
        """Return a model of a provider whose address and key variable are known.

        Args:
            provider: One of `ctxmetrics.models.openai.providers.PROVIDERS`, such as ``"groq"`` or ``"ollama"``.
            model: The model's name there.
            **options: Further attributes; ``base_url`` and ``api_key`` replace those of the preset.

        Raises:
            ParameterError: The provider is unknown, or a variable with a part of its address or its key is not set.

        Examples:
            >>> OpenAIModel.preset("ollama", "qwen3:8b").identity
            'openai/qwen3:8b@localhost:11434/v1'
        """
        return cls(model, **fill_in(PROVIDERS, provider, options, "OpenAIModel"))

    @property
    def name(self) -> str:
        """The model's name at the server."""
        return self.model

    @property
    def identity(self) -> str:
        """``openai/``, the model, the address unless it is OpenAI's, and the parameters that change its answers."""
        values = {name: getattr(self, name) for name in _DEFAULTS}
        parameters = [f"{name}={value}" for name, value in values.items() if value != _DEFAULTS[name]]
        if self.extra:
            extra = json.dumps(dict(self.extra), sort_keys=True).encode()
            parameters.append(f"extra={hashlib.sha256(extra).hexdigest()[:12]}")
        identity = f"openai/{self.model}"
        if self.base_url != OPENAI_URL:
            identity += f"@{str(self.base_url).partition('://')[2]}"
        if parameters:
            identity += f"({', '.join(parameters)})"
        return identity

    @property
    def form(self) -> Form:
        """The form in which replies are asked for, as far as the server's capabilities are known."""
        return capabilities_of(str(self.base_url), self.model).form(self.reply_format)

    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the server; see `ctxmetrics.Model`.

        Raises:
            JudgeError: The server could not be reached, failed or refused, or its reply holds no answer.
            MissingExtraError: The ``openai`` package is not installed.
            ParameterError: There is no key.
        """
        return await on_background(self._ask, prompt, schema)

    async def _ask(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the server. If it refuses a part of the request, ask again without this part."""
        capabilities = capabilities_of(str(self.base_url), self.model)
        learner = _RefusalLearner(capabilities, schema, self.reply_format != "auto")
        run = current_run()
        earlier_usage = Usage()  # the cost of earlier requests for the same reply
        async with nullcontext() if capabilities.settled else capabilities.discover():
            while True:
                body = request_body(self, prompt, schema, capabilities, learner.form)
                # Whether the library, not the user, limits the tokens of the reply.
                limit_was_added = self.max_tokens is None and not body.keys().isdisjoint(
                    WORDS["reply_bounds"]
                )
                if earlier_usage.calls:  # the run has counted the first call
                    run.take_call(sent=earlier_usage)
                can_ask_again = earlier_usage.calls + 1 < _MAX_REQUESTS_FOR_REPLY
                answer = ""
                try:
                    answer = await self._post(body)
                    if learner.doubted is not None:
                        capabilities.refuse_form(learner.doubted, schema_size(schema))
                    capabilities.settled = True
                    reply = read_answer(answer, prompt)
                except _RefusedError as error:
                    if can_ask_again and learner.learn(error, body, limit_was_added=limit_was_added):
                        earlier_usage += ONE_CALL
                        continue
                    problem = learner.refusal or error.problem
                    problem.usage = ONE_CALL
                except JudgeError as error:
                    if limit_was_added and can_ask_again and was_limit_too_low(answer):
                        capabilities.bounded = False
                        earlier_usage += error.usage
                        continue
                    problem = error
                else:
                    return replace(reply, usage=earlier_usage + reply.usage)
                problem.usage = earlier_usage + problem.usage
                raise problem

    async def _post(self, body: dict[str, Any]) -> str:
        """Send one request, and return the text of the answer.

        Raises:
            _RefusedError: The server refuses something that the request holds.
            JudgeError: There is no answer.
        """
        from anyio import fail_after

        seconds = current_run().timeout if self.timeout is None else self.timeout
        try:
            key = reveal_key(self.api_key, self.base_url, "OpenAIModel", self.model)
            client = client_for(str(self.base_url), key)
            with fail_after(seconds):
                return await client.post({**body, **(self.extra or {})})
        except ParameterError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the client raises becomes a JudgeError
            problem: Exception = _read_reply_failure(error) or classify(error, seconds)
            status = read_attribute(error, "status_code")
            if status in _REFUSAL_STATUSES and isinstance(problem, JudgeError):
                problem = _RefusedError(error, problem)
        # Raised outside of the handler: the client's exception holds the request's headers, and with them the key.
        raise problem


def fill_in(
    providers: Mapping[str, Provider], name: str, options: Mapping[str, Any], owner: str
) -> dict[str, Any]:
    """Fill in a provider's address and key variable where options have none.

    Raises:
        ParameterError: The provider is unknown, or a variable with a part of its address is not set.
    """
    if name not in providers:
        raise ParameterError(
            f"{owner}: provider {name!r} is unknown.{suggest(name, providers)} Choose from: {', '.join(providers)}; for another server of its "
            "kind give base_url=..."
        )
    provider = providers[name]
    address = options.get("base_url")
    if not address:
        address = provider.address(name)
    key = options.get("api_key")
    if not isinstance(key, Key):
        key = Key(key, provider.key, needed=not provider.local)
    return {**options, "base_url": address, "api_key": key}


def reveal_key(key: object, base_url: object, owner: str, model: str) -> str:
    """Return the text of a key, or `NO_KEY` if the server needs no key.

    Raises:
        ParameterError: There is no key, and the server needs one.
    """
    checked_key = key if isinstance(key, Key) else Key(None)
    text = checked_key.reveal()
    if text is None and checked_key.needed:
        raise ParameterError(
            f"{owner}: no key for {base_url}. Set {checked_key.variable}, or give api_key=...; for a server of your own write "
            f"{_PROVIDER_WITHOUT_KEY[owner]}/{model}, which needs no key, and its address as base_url=... (--base-url)."
        )
    return text or NO_KEY


class _RefusedError(Exception):
    """A server refused a request: its refusal (``cause``), and the error to raise if no changed request helps (``problem``)."""

    def __init__(self, cause: Exception, problem: JudgeError) -> None:
        super().__init__()
        self.cause = cause
        self.problem = problem


@dataclass(slots=True)
class _RefusalLearner:
    """Learns from the refusals of one question which parts of a request the server does not accept.

    Args:
        capabilities: What is known about the server. Each refusal of the server adds to it.
        schema: The reply's schema.
        fixed_form: Whether the caller requires this form of the reply.

    Attributes:
        refusal: A refusal that does not say why; None if there was none.
        doubted: The reply form of the request with this refusal: the server may not accept its schema.
        form: The form of the next request; None takes the best form.
    """

    capabilities: Capabilities
    schema: type[BaseModel]
    fixed_form: bool
    refusal: JudgeError | None = field(init=False, default=None)
    doubted: Form | None = field(init=False, default=None)
    form: Form | None = field(init=False, default=None)

    def learn(self, error: _RefusedError, body: Mapping[str, Any], *, limit_was_added: bool) -> bool:
        """Learn from a refusal; return whether there is another request to try.

        Args:
            error: The refusal.
            body: The request.
            limit_was_added: Whether the library added a limit on the reply's tokens, which the user did not ask for.
        """
        if limit_was_added and mentions_token_limit(error.cause):
            self.capabilities.bounded = False  # the server takes no limit of this size
            return True
        size = schema_size(self.schema)
        if self.capabilities.learn(error.cause, body, size=size, fixed_form=self.fixed_form):
            if self.form in self.capabilities.smallest_refused:
                self.form = "text"
            return True
        if self.refusal or self.fixed_form or error.problem.reason_code != "client_error":
            return False
        self.refusal = error.problem
        self.doubted, self.form = next_form(error.cause, body)
        return self.form is not None


def request_body(
    model: OpenAIModel,
    prompt: Prompt,
    schema: type[BaseModel],
    capabilities: Capabilities,
    form: Form | None = None,
) -> dict[str, Any]:
    """Build the fields of a request that a server with these capabilities takes. If ``form`` is None, the best form is used."""
    messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
    if "system" in capabilities.refused:
        messages = [{"role": "user", "content": prompt.text}]
    body: dict[str, Any] = {"model": model.model, "messages": messages}
    if form is None:
        size = schema_size(schema) if capabilities.smallest_refused else 0
        form = capabilities.form(model.reply_format, size)
    if form == "json_object":
        body["response_format"] = {"type": "json_object"}
    elif form == "json_schema":
        body["response_format"] = response_format(schema)
    limit_name = "max_completion_tokens" if "max_tokens" in capabilities.refused else "max_tokens"
    most_tokens = model.max_tokens
    if most_tokens is None and capabilities.bounded:
        most_tokens = prompt.reply_tokens or None
    seed = model.seed
    if seed is not None:
        # Each vote and each attempt has its own seed. With equal seeds, a repeated request could get the reply of another vote.
        seed += prompt.vote + _SEEDS_OF_VOTES * prompt.attempt
    parameters = {"temperature": model.temperature, "seed": seed, limit_name: most_tokens}
    body |= {
        name: value
        for name, value in parameters.items()
        if value is not None and name not in capabilities.refused
    }
    return body


def _read_reply_failure(error: Exception) -> JudgeError | None:
    """Return the error of an answer with status 400 that is about the model's reply; None if it is about the request."""
    code = vars(error).get("code")
    if code == "json_validate_failed":  # a server that checks the reply against the schema itself
        problem = "the model's reply did not fit the schema"
        reason = "invalid_reply"
    elif code in ("content_filter", "content_policy_violation"):
        problem = "the server's content filter refused"
        reason = "refused"
    else:
        return None
    return JudgeError(f"{problem}: {safe_text(error)}", reason_code=reason)


def check_address(address: object, owner: str) -> str:
    """Check that a server's address is valid and holds no key. ``owner`` is the name of the class, for messages."""
    address = address.strip() if isinstance(address, str) else ""
    try:
        parts = urlsplit(address)
        port = urlsplit(address).port
    except ValueError:  # brackets that are not closed, a port that is not a number
        parts = urlsplit("")
        port = None
    has_host = parts.scheme in ("http", "https") and parts.hostname
    if not has_host or port == 0 or not address.isprintable() or " " in address:
        raise ParameterError(
            f"{owner}: base_url must be an address such as 'http://localhost:8000/v1'."
        )
    if parts.username or parts.password or "?" in address or "#" in address:
        raise ParameterError(
            f"{owner}: base_url holds a user name, password or query, and addresses are logged. Write the plain "
            "address, and the key as api_key=..."
        )
    return address.rstrip("/")


def check_names(model: str, address: str, owner: str) -> None:
    """Check that a model's name and a server's address hold no API key: both are logged and stored.

    Args:
        model: The model's name. The name of a model may begin like a key (``sk-..``) if it has a slash.
        address: The server's address.
        owner: The name of the class that was given both, for the message.

    Raises:
        ParameterError: The name or the address seems to hold a key.
    """
    parts = urlsplit(address)
    model_holds_key = hide_keys(model) != model
    address_holds_key = mask_secrets(parts.netloc) != parts.netloc or looks_like_key(
        unquote(parts.path)
    )
    if looks_like_key(model) and ("/" not in model or model_holds_key):
        place = "model seems to be a key. Give the model's name"
    elif address_holds_key:
        place = "base_url seems to hold a key, and addresses are logged. Write the address without it"
    else:
        return
    raise ParameterError(f"{owner}: {place}, and the key as api_key=...")


def _check_key_characters(key: Any, where: str) -> str:
    """Check that a key can be sent in a header, and return it. The message of an error does not hold the key."""
    text = str(key.get_secret_value() if hasattr(key, "get_secret_value") else key).strip()
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ParameterError(f"OpenAIModel: the key in {where} holds a character that no key has.")
    return text


def _check_extra(extra: object) -> Mapping[str, Any] | None:
    """Check and freeze further fields of the request's body."""
    if not extra:
        return None
    if not isinstance(extra, Mapping) or not all(isinstance(name, str) for name in extra):
        raise ParameterError("OpenAIModel: extra must map field names to JSON values.")
    reserved_names = sorted(_RESERVED_FIELDS & set(extra))
    if reserved_names:
        raise ParameterError(
            f"OpenAIModel: extra must not set {reserved_names[0]!r}; the library does."
        )
    try:
        return FrozenDict(
            json.loads(json.dumps(dict(extra), allow_nan=False, ensure_ascii=False).encode())
        )
    except (TypeError, ValueError):
        raise ParameterError("OpenAIModel: extra must hold JSON values only.") from None
