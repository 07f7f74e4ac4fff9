"""Decision models on servers: the two protocols that servers use (a `Wire`), and the addresses of providers.

Requests are sent by `ctxmetrics.models.openai.client`. The caller names the protocol, or the provider has only one: the address
does not show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.formulas.checks import check_choice, check_number
from ctxmetrics.models.base import Decisions, served_name
from ctxmetrics.models.frameworks import token_usage
from ctxmetrics.models.openai.client import client_for, read_body
from ctxmetrics.models.openai.model import (
    OPENAI_URL,
    Key,
    check_address,
    check_names,
    fill_in,
    reveal_key,
)
from ctxmetrics.models.openai.providers import DECISION_PROVIDERS, WireName
from ctxmetrics.models.runtime.background import on_background
from ctxmetrics.models.runtime.failures import bad_answer

# The endings of names that may mean another model later: "gpt-latest".
_MOVING_NAME_ENDINGS = ("-latest", "-preview")
# Fields of the usage with which a server says that it did not read the whole request.
_CUT_FIELDS = ("truncated", "state_tokens_dropped", "truncated_questions")


class Wire(NamedTuple):
    """A form of requests and replies.

    Attributes:
        path: The path of requests, behind the address of the server.
        provider: The provider whose address is the default.
        state: The name of the state in a request.
        kind: The type of a yes-or-no question, and of its answer.
        value: The name of the probability in an answer.
    """

    path: str
    provider: str
    state: str
    kind: str
    value: str


WIRES: Mapping[WireName, Wire] = {
    "systemone": Wire("systemone", "typesafe", "state", "noul", "noul"),
    "openai": Wire("decisions", "openai-decisions", "input", "predicate", "probability"),
}


@dataclass(frozen=True, slots=True)
class DecisionAPI:
    """A decision model behind TypeSafe's System One, OpenAI's Decisions, or any server that speaks one of the two.

    Two models with equal parameters are equal. Copies share the key; a pickle holds none.

    Attributes:
        model: The model's name at the server.
        wire: The protocol that the server speaks: ``"systemone"`` or ``"openai"``.
        base_url: The server's address; None takes TypeSafe's, or OpenAI's. An address without a path gets ``/v1``.
        api_key: The key; None takes ``TYPESAFE_API_KEY``, or ``OPENAI_API_KEY``. Other servers may need none.
        timeout: Seconds for one request; None leaves it to the run (120).

    Raises:
        ParameterError: A parameter is out of range, or there is no key.

    Examples:
        >>> DecisionAPI("laya", wire="systemone", base_url="http://localhost:8000").identity
        'systemone/laya@localhost:8000/v1'
    """

    model: str
    _: KW_ONLY
    wire: WireName
    base_url: str | None = None
    api_key: str | Key | None = field(default=None, repr=False, compare=False)
    timeout: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip() or not self.model.isprintable():
            raise ParameterError("DecisionAPI: model must be the model's name, such as 'jev-1.13.0'.")
        check_choice("DecisionAPI: wire", self.wire, tuple(WIRES))
        check_number("DecisionAPI: timeout", self.timeout, 0.001, optional=True)
        default = DECISION_PROVIDERS[WIRES[self.wire].provider]
        address = check_address(self.base_url or default.base_url or OPENAI_URL, "DecisionAPI")
        if not urlsplit(address).path:
            address += "/v1"
        object.__setattr__(self, "base_url", address)
        if not isinstance(self.api_key, Key):
            # Another server may need no key.
            is_providers_own = self.base_url == (default.base_url or OPENAI_URL)
            key = Key(self.api_key, default.key, needed=is_providers_own)
            object.__setattr__(self, "api_key", key)
        reveal_key(self.api_key, address, "DecisionAPI", self.model)  # raises at once if there is none
        check_names(self.model, address, "DecisionAPI")

    @classmethod
    def preset(cls, provider: str, model: str, **options: Any) -> DecisionAPI:
        """Return a model of a provider whose wire, address and key variable are known.

        Args:
            provider: One of `ctxmetrics.models.openai.providers.DECISION_PROVIDERS`, such as ``"typesafe"``.
            model: The model's name there.
            **options: Further attributes; ``base_url`` and ``api_key`` replace those of the preset.

        Raises:
            ParameterError: The provider is unknown, or a variable with a part of its address or its key is not set.

        Examples:
            >>> DecisionAPI.preset("systemone", "laya").identity
            'systemone/laya@localhost:8000/v1'
        """
        options = fill_in(DECISION_PROVIDERS, provider, options, "DecisionAPI")
        return cls(model, **{"wire": DECISION_PROVIDERS[provider].wire, **options})

    @property
    def name(self) -> str:
        """The model's name at the server."""
        return self.model

    @property
    def identity(self) -> str:
        """The wire, the model, and the address."""
        return f"{self.wire}/{self.model}@{str(self.base_url).partition('://')[2]}"

    @property
    def moves(self) -> bool:
        """Whether the provider may give the name to another model."""
        return self.model.endswith(_MOVING_NAME_ENDINGS)

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:
        """Ask the server; see `ctxmetrics.DecisionModel`.

        Raises:
            JudgeError: Its reply holds no answers, or the server did not read the whole request.
            MissingExtraError: The ``openai`` package is not installed.
            ParameterError: There is no key.
        """
        path = WIRES[self.wire].path
        body = build_request(self.wire, self.model, state, questions)
        text = await on_background(self._post, path, body)
        return read_reply(text, self.wire, list(questions))

    async def _post(self, path: str, body: dict[str, Any]) -> str:
        """Send a request with the key; return the body of the reply."""
        key = reveal_key(self.api_key, self.base_url, "DecisionAPI", self.model)
        return await client_for(str(self.base_url), key, path).post(body)


def build_request(
    wire: WireName, model: str, state: str, questions: Mapping[str, str]
) -> dict[str, Any]:
    """Build the body of a request."""
    form = WIRES[wire]
    questions_by_id = {
        id_: {"type": form.kind, "instructions": text} for id_, text in questions.items()
    }
    if wire == "systemone":
        return {"model": model, form.state: state, "questions": questions_by_id}
    named_questions = [{"name": id_, **question} for id_, question in questions_by_id.items()]
    return {"model": model, form.state: state, "questions": named_questions}


def read_reply(text: str, wire: WireName, ids: Sequence[str]) -> Decisions:
    """Read the body of a reply with status 200.

    Args:
        text: The body. Untrusted.
        wire: Its form.
        ids: The ids of the questions, in order.

    Raises:
        JudgeError: It holds no answers (retryable), or the server did not read the whole request.
    """
    body = read_body(text, object_pairs_hook=_drop_repeated)
    counts = body.get("usage")
    if not isinstance(counts, dict):
        counts = {}
    if any(counts.get(name) for name in _CUT_FIELDS):
        raise JudgeError(
            "the server cut the request: it read a part of the state or of the questions",
            reason_code="truncated_prompt",
        )
    answers = body.get("answers")
    if answers is None:
        raise bad_answer("the server's answer holds no answers")
    if wire == "openai":
        answers = _name_answers(answers, ids)
    probabilities = {}
    refused = set()
    for id_ in ids:
        answer = answers.get(id_) if isinstance(answers, dict) else None
        if not isinstance(answer, dict):
            continue
        answer_type = answer.get("type")
        if answer_type == WIRES[wire].kind:
            probabilities[id_] = answer.get(WIRES[wire].value)
        else:
            probabilities[id_] = answer  # not a probability: the judge refuses it
        if wire == "openai" and answer_type == "refusal":
            refused.add(id_)
    untrusted_cost: Any = counts.get("cost")
    return Decisions(
        probabilities=probabilities,
        refused=frozenset(refused),
        usage=replace(token_usage(counts), cost=untrusted_cost),
        served_model=served_name(body.get("model")),
    )


def _drop_repeated(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Make a dictionary in which a repeated key has the value None."""
    counts = Counter(name for name, _ in pairs)
    return {name: value if counts[name] == 1 else None for name, value in pairs}


def _name_answers(answers: object, ids: Sequence[str]) -> dict[str, object]:
    """Return the answers of a list by the ids of their questions.

    An answer without a name belongs to the question at its place, if there are as many answers as questions.
    """
    if not isinstance(answers, list):
        return {}
    has_answer_for_each = len(answers) == len(ids)
    named_answers: list[tuple[str, object]] = []
    for index, answer in enumerate(answers):
        if not isinstance(answer, dict):
            continue
        name = answer.get("name")
        if name is None and has_answer_for_each:
            name = ids[index]
        named_answers.append((str(name), answer))
    return _drop_repeated(named_answers)
