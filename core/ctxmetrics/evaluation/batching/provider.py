"""The batches of OpenAI and Anthropic: how one is made, found, read and deleted, and what is kept of a line of its results.

The base class holds what both forms have in common. In OpenAI's form a file of requests is uploaded, and two files come back.
In Anthropic's the requests are sent with the batch, and one file of results comes back.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import IO, Any, ClassVar, NamedTuple, TypeVar

import tenacity

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import JudgeError, ParameterError, raise_missing
from ctxmetrics.evaluation.batching.journal import Intent, Journal, RequestOutcome
from ctxmetrics.models.base import Prompt
from ctxmetrics.models.openai.client import MOST_BYTES, build_blocking_client
from ctxmetrics.models.openai.model import OpenAIModel, reveal_key
from ctxmetrics.models.openai.server_answers import read_answer, was_limit_too_low
from ctxmetrics.models.runtime import failures

T = TypeVar("T")
# The code of a request that its batch did not answer.
UNANSWERED = "batch_failed"
# The maximum number of bytes of a line: a reply and the data around it.
_MAX_LINE_BYTES = MOST_BYTES + 20_000
_KEY_IN_LINE = re.compile(rb'"custom_id"\s*:\s*"([0-9a-f]{64})"')
# The seconds that one request about files or batches may take.
REQUEST_TIMEOUT_SECONDS = 600.0
# The maximum number of seconds by which a batch may seem older than its intent, since clocks differ.
_MAX_CLOCK_SKEW_SECONDS = 3600.0
# The maximum number of calls to a provider that has no room, or does not know the object (yet).
_MAX_TRIES = 4
_STATUS_NOT_FOUND = 404
# The number of bytes of a result that are in memory at a time.
_PIECE_BYTES = 65536
STATUS_SUCCESS = 200


class BatchState(NamedTuple):
    """The state of a batch at its provider.

    Attributes:
        status: The provider's word for the state.
        ended: Whether the batch has ended.
        results: The ids of the files with the answers.
        problem: The provider's message about a fault of the whole batch; empty if there is none.
        bad_lines: The numbers of the lines that it refused, from 1.
        queue_full: Whether it was refused for the tokens that are queued.
    """

    status: str
    ended: bool
    results: tuple[str, ...] = ()
    problem: str = ""
    bad_lines: frozenset[int] = frozenset()
    queue_full: bool = False


_TOO_LONG_OUTCOME = RequestOutcome(
    code="invalid_reply", message=f"the server's reply is longer than {MOST_BYTES:,} bytes"
)


@dataclass(eq=False)
class BatchProvider(ABC):
    """The batches of a server. Methods that ask the server block, and raise the errors of its client.

    Args:
        model: The model.
        pause: Seconds before something is asked again; they are doubled from there.

    Attributes:
        max_requests: The maximum number of requests of one batch.
        max_bytes: The maximum number of bytes of one batch.
    """

    model: OpenAIModel
    pause: float
    max_requests: ClassVar[int]
    max_bytes: ClassVar[int]

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a method of the provider. Repeat the call while the server has no room, or does not know the object yet.

        After any other failure, the server may have done the work.

        Raises:
            JudgeError: The error of the client.
        """

        def wait(state: tenacity.RetryCallState) -> float:
            """Return the seconds to wait: as many as the server asked for, else a pause that is doubled with each attempt."""
            problem = None if state.outcome is None else state.outcome.exception()
            seconds = getattr(problem, "retry_after", None)
            if not seconds:
                seconds = self.pause * 2 ** (state.attempt_number - 1)
            return float(min(seconds, failures.LONGEST_RETRY_AFTER))

        trying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_for_later),
            stop=tenacity.stop_after_attempt(_MAX_TRIES),
            wait=wait,
            reraise=True,
        )
        result: T = trying(_call, function, *arguments)
        return result

    def call_if_there(self, function: Callable[..., T], *arguments: Any) -> T | None:
        """Return the result of `call`. Return None if the server does not have the object of the call."""
        try:
            return self.call(function, *arguments)
        except JudgeError as problem:
            if not _is_not_found(problem):
                raise
        return None

    @property
    def key(self) -> str:
        """The key of the server."""
        return reveal_key(self.model.api_key, self.model.base_url, "OpenAIModel", self.model.model)

    @property
    @abstractmethod
    def batches(self) -> Any:
        """The part of the client's package for batches."""

    @abstractmethod
    def build_line(self, key: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Build a request of a batch from the body of a chat completion."""

    def upload(self, intent: Intent, lines: IO[bytes]) -> str | None:  # noqa: ARG002 - not every form has files
        """Upload the requests, if they are not sent with the batch, and return the id of their file."""
        return None

    @abstractmethod
    def create(self, intent: Intent, lines: IO[bytes]) -> Any:
        """Create a batch. The client does not repeat the request: that could make two batches."""

    def find_batch(self, intent: Intent, journal: Journal) -> Any:
        """Find a batch whose id was not written."""
        known_ids = {other.batch for other in journal.intents}
        # The order of the list depends on the server, so an old batch does not end the search.
        for batch in self.batches.list(limit=100):
            is_older_than_intent = to_seconds(batch.created_at) < intent.made - _MAX_CLOCK_SKEW_SECONDS
            if is_older_than_intent or batch.id in known_ids:
                continue
            if self.is_batch(batch, intent, journal):
                return batch
        return None

    @abstractmethod
    def is_batch(self, batch: Any, intent: Intent, journal: Journal) -> bool:
        """Tell whether a batch of the provider belongs to an intent."""

    def fetch_state(self, intent: Intent) -> BatchState:
        """Ask the server for the state of a batch."""
        return self.read_state(self.batches.retrieve(intent.batch))

    @abstractmethod
    def read_state(self, batch: Any) -> BatchState:
        """Read the state of a batch."""

    @abstractmethod
    def open_result(self, result: str) -> Any:
        """Open a file of results as a response that is streamed."""

    def fetch(self, result: str, file: IO[bytes]) -> bool:
        """Append a file of results to a file."""
        with self.open_result(result) as response:
            file.writelines(response.iter_bytes(_PIECE_BYTES))
        return True

    @abstractmethod
    def read_item(self, item: Mapping[str, Any]) -> RequestOutcome:
        """Read a line of the results."""

    @abstractmethod
    def delete(self, intent: Intent) -> None:
        """Delete the requests of a batch at the provider."""

    def read_results(self, file: IO[bytes]) -> Iterator[tuple[str, RequestOutcome]]:
        """Yield the key of each line of the results and the outcome of its request. A line without a key has an empty key."""
        file.seek(0)
        # If a line is too long, its rest is read as a line without a key.
        for line in iter(partial(file.readline, _MAX_LINE_BYTES), b""):
            match = _KEY_IN_LINE.search(line)
            key = match[1].decode() if match else ""
            yield key, self._read_line(line)

    def _read_line(self, line: bytes) -> RequestOutcome:
        """Read the outcome of a request from its line of the results."""
        if len(line) == _MAX_LINE_BYTES:
            return _TOO_LONG_OUTCOME
        item = None
        with suppress(ValueError, RecursionError):
            item = json.loads(line)
        if isinstance(item, Mapping):
            return self.read_item(item)
        return keep_error(None, "its line of the results is no JSON object")


def _call(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function of a provider's client. Any error except a `ParameterError` becomes a `JudgeError`."""
    try:
        return function(*arguments)
    except ParameterError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the client raises becomes a JudgeError
        problem = failures.classify(error)
    # Raised outside of the except block, so that the new error does not keep the client's error, which holds the key in its headers.
    raise problem


def _is_for_later(problem: BaseException) -> bool:
    """Tell whether a failed call may succeed later: the provider is overloaded, or does not find the object yet."""
    overloaded = isinstance(problem, JudgeError) and problem.reason_code in failures.OVERLOAD_CODES
    return overloaded or _is_not_found(problem)


def _is_not_found(problem: BaseException) -> bool:
    return isinstance(problem, JudgeError) and problem.status == _STATUS_NOT_FOUND


def to_seconds(time: Any) -> Any:
    """Return a time of a provider in seconds since 1970: some packages give it so, others as a `datetime`."""
    return time.timestamp() if isinstance(time, datetime) else time


def keep_failure(problem: JudgeError) -> RequestOutcome:
    """Keep why a request failed."""
    return RequestOutcome(code=problem.reason_code, message=str(problem), again=problem.retryable)


def keep_answer(status: object, body: object, error: object = None) -> RequestOutcome:
    """Keep an answer to a request in the form of a chat completion, or how it failed."""
    if not isinstance(body, Mapping):
        return keep_error(status, error or body)
    if status != STATUS_SUCCESS:
        return keep_error(status, error or body.get("error"))
    text = json.dumps(body)
    if len(text) > MOST_BYTES:
        return _TOO_LONG_OUTCOME
    try:
        # Nothing is estimated from the prompt: its text is not known here.
        usage = read_answer(text, Prompt(step="", version="", system="", user="")).usage
    except JudgeError as problem:
        usage = problem.usage
        if problem.retryable or was_limit_too_low(text):  # thinking ran into the limit of the reply
            return keep_failure(problem)._replace(again=True, paid=usage)
    # Other faults of a reply are found again when it is replayed.
    return RequestOutcome(text, paid=usage)


def keep_error(status: object, error: object) -> RequestOutcome:
    """Keep an error that a batch has in place of an answer.

    Args:
        status: The status of HTTP of the request. Without a status that says failure, the request may be sent again.
        error: The error as an object with a code and a message, or as a text. Untrusted.
    """
    details = error if isinstance(error, Mapping) else {"message": error}
    code = details.get("code")
    message = safe_text(details.get("message") or code or "the batch holds no answer")
    if not isinstance(status, int) or isinstance(status, bool) or status in (0, STATUS_SUCCESS):
        return RequestOutcome(code=UNANSWERED, message=message, again=True)
    return keep_failure(failures.from_status(status, message, code=code, details=[details]))


def build_completion(
    text: str, finish_reason: str, model: object, prompt_tokens: int, completion_tokens: int
) -> dict[str, Any]:
    """Build the body of an OpenAI chat completion from the parts of another provider's reply."""
    return {
        "model": model,
        "choices": [{"message": {"content": text}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens},
    }


ENDPOINT = "/v1/chat/completions"
_END_STATES = frozenset({"completed", "failed", "expired", "cancelled"})
# The key of the metadata that names a batch.
_NAME_KEY = "ctxmetrics"


@dataclass(eq=False)
class OpenAIBatches(BatchProvider):
    """The batches of a server that speaks OpenAI's form. See `BatchProvider`."""

    max_requests = 50_000
    max_bytes = 190_000_000

    def __post_init__(self) -> None:
        self._client = build_blocking_client(
            str(self.model.base_url), self.key, REQUEST_TIMEOUT_SECONDS
        )

    @property
    def batches(self) -> Any:
        """See `BatchProvider`."""
        return self._client.batches

    def build_line(self, key: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `BatchProvider`."""
        return {"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body}

    def upload(self, intent: Intent, lines: IO[bytes]) -> str:
        """Upload the file of the requests.

        A second upload in place of one that failed costs nothing, and `delete` finds it by its name.
        """
        lines.seek(0)
        file = (f"{intent.name}.jsonl", lines, "application/jsonl")
        return str(self._client.files.create(file=file, purpose="batch").id)

    def create(self, intent: Intent, lines: IO[bytes]) -> Any:  # noqa: ARG002 - Anthropic's batch is made of the lines
        """See `BatchProvider`."""
        return self._client.with_options(max_retries=0).batches.create(
            input_file_id=intent.file,
            endpoint=ENDPOINT,
            completion_window="24h",
            metadata={_NAME_KEY: intent.name},
        )

    def is_batch(self, batch: Any, intent: Intent, journal: Journal) -> bool:  # noqa: ARG002 - Anthropic's batches have no names
        """Tell whether a batch has the name of an intent. If the server keeps no metadata, compare the input file."""
        metadata = batch.metadata or {}
        has_name = metadata.get(_NAME_KEY) == intent.name
        has_input = batch.input_file_id == intent.file
        return has_name or has_input

    def read_state(self, batch: Any) -> BatchState:
        """See `BatchProvider`."""
        errors: list[Any] = []
        if batch.errors:
            errors = batch.errors.data or []
        problems = [safe_text(f"{error.code}: {error.message}") for error in errors[:3]]
        file_ids = (batch.output_file_id, batch.error_file_id)
        return BatchState(
            status=batch.status,
            ended=batch.status in _END_STATES,
            # The id of a file that is not there can be an empty text.
            results=tuple(file_id for file_id in file_ids if file_id),
            problem="; ".join(problems),
            bad_lines=frozenset(error.line for error in errors if error.line),
            queue_full=any(error.code == "token_limit_exceeded" for error in errors),
        )

    def open_result(self, result: str) -> Any:
        """See `BatchProvider`."""
        return self._client.files.with_streaming_response.content(result)

    def read_item(self, item: Mapping[str, Any]) -> RequestOutcome:
        """See `BatchProvider`."""
        response = item.get("response")
        if not isinstance(response, Mapping):
            return keep_error(None, item.get("error"))
        return keep_answer(response.get("status_code"), response.get("body"), item.get("error"))

    def delete(self, intent: Intent) -> None:
        """Delete the file of the requests. If its id was not written, it is found by its name."""
        if intent.file:
            self._client.files.delete(intent.file)
            return
        for file in self._client.files.list(purpose="batch"):
            if file.filename == f"{intent.name}.jsonl":
                self._client.files.delete(file.id)


# The Messages API asks for a bound of the reply.
_MAX_REPLY_TOKENS = 4096
# By the type of an error: the HTTP status that an ordinary request would get.
_STATUS_BY_ERROR = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_OTHER_STATUS = 500
# By the stop reason of a message: the finish reason of a chat completion.
_FINISH_REASONS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


@dataclass(eq=False)
class AnthropicBatches(BatchProvider):
    """The batches of Anthropic's API. See `BatchProvider`.

    A batch is one request, whose whole text is in memory: `max_bytes` is smaller than the 256 MB that the API takes.

    Raises:
        MissingExtraError: The ``anthropic`` package is not installed.
    """

    max_requests = 100_000
    max_bytes = 16_000_000

    def __post_init__(self) -> None:
        try:
            from anthropic import Anthropic, DefaultHttpxClient
        except ImportError as error:
            raise_missing("anthropic", error=error)
        self._client = Anthropic(
            base_url=str(self.model.base_url).rstrip("/").removesuffix("/v1"),
            api_key=self.key,
            timeout=REQUEST_TIMEOUT_SECONDS,
            http_client=DefaultHttpxClient(follow_redirects=False, timeout=REQUEST_TIMEOUT_SECONDS),
        )

    @property
    def batches(self) -> Any:
        """See `BatchProvider`."""
        return self._client.messages.batches

    def build_line(self, key: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Build an item of the batch from the body of a chat completion.

        Fields that the Messages API does not have are left out, as Anthropic's endpoint for chat completions does.
        """
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Params

        fields_of_api = Params.__required_keys__ | Params.__optional_keys__
        fields = {name: value for name, value in body.items() if name in fields_of_api}
        messages = body["messages"]
        system = [message["content"] for message in messages if message["role"] == "system"]
        if system:
            fields["system"] = "\n\n".join(system)
        fields["messages"] = [message for message in messages if message["role"] != "system"]
        most_tokens = body.get("max_tokens") or body.get("max_completion_tokens")
        fields["max_tokens"] = most_tokens or _MAX_REPLY_TOKENS
        return {"custom_id": key, "params": fields}

    def create(self, intent: Intent, lines: IO[bytes]) -> Any:  # noqa: ARG002 - OpenAI's batch has the name of its intent
        """See `BatchProvider`."""
        lines.seek(0)
        requests = [json.loads(line) for line in lines]
        return self._client.with_options(max_retries=0).messages.batches.create(requests=requests)

    def is_batch(self, batch: Any, intent: Intent, journal: Journal) -> bool:
        """Tell whether a batch belongs to an intent: it has the same number of requests, and shares a request if results exist."""
        if sum(batch.request_counts.model_dump().values()) != intent.requests:
            return False
        if not batch.results_url:
            return True
        with closing(self.batches.results(batch.id)) as results:
            first_result = next(iter(results), None)
        return first_result is not None and journal.is_waiting(first_result.custom_id)

    def read_state(self, batch: Any) -> BatchState:
        """See `BatchProvider`."""
        return BatchState(
            status=batch.processing_status,
            ended=batch.processing_status == "ended",
            results=(batch.id,) if batch.results_url else (),
        )

    def open_result(self, result: str) -> Any:
        """See `BatchProvider`."""
        return self.batches.with_streaming_response.results(result)

    def read_item(self, item: Mapping[str, Any]) -> RequestOutcome:
        """See `BatchProvider`."""
        result = item.get("result")
        if not isinstance(result, Mapping):
            result = {}
        result_type = result.get("type")
        if result_type == "succeeded":
            return keep_answer(STATUS_SUCCESS, _to_completion(result.get("message")))
        if result_type != "errored":
            return keep_error(None, f"the request was {result_type} before it was answered")
        response = result.get("error")
        error = response.get("error") if isinstance(response, Mapping) else None
        error_type = error.get("type") if isinstance(error, Mapping) else None
        status = _STATUS_BY_ERROR.get(str(error_type), _OTHER_STATUS)
        return keep_error(status, error)

    def delete(self, intent: Intent) -> None:
        """Delete the batch: its requests stand in the batch itself."""
        if intent.batch is not None:
            self.batches.delete(intent.batch)


def _to_completion(message: Any) -> object:
    """Return a message in the form of a chat completion.

    Other data is returned as it is, and is refused when it is read.
    """
    try:
        texts = [block["text"] for block in message["content"] if block["type"] == "text"]
        counts = message["usage"]
        sent_tokens = counts["input_tokens"]
        sent_tokens += counts.get("cache_read_input_tokens") or 0
        sent_tokens += counts.get("cache_creation_input_tokens") or 0
        finish_reason = _FINISH_REASONS.get(str(message["stop_reason"]), "stop")
        return build_completion(
            "".join(texts),
            finish_reason,
            message.get("model"),
            sent_tokens,
            counts["output_tokens"],
        )
    except (KeyError, TypeError, AttributeError):
        return message
