"""``--judge PROVIDER/MODEL``: each row and recipe of docs/llm-judges.md as it is written, against a server on the loopback."""

from __future__ import annotations

import json
import pickle
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.cli import main
from ctxmetrics.models.openai import client as clients
from ctxmetrics.models.openai.model import reveal_key
from ctxmetrics.models.openai.providers import PROVIDERS
from support import FakeOpenAIServer, answer_from
from support.later import skip_without

if TYPE_CHECKING:
    from collections.abc import Iterator

skip_without("openai")

PAGE = (Path(__file__).parents[4] / "docs" / "llm-judges.md").read_text(encoding="utf-8")
KEY = "sk-providers-test-key-77"
SAMPLE = {
    "user_input": "Which colour?",
    "reference": "The door is green. It weighs 40 kilos.",
    "retrieved_contexts": ["Birds sing.", "The door is green since 1999."],
}


# What stands in an address in braces.
PLACES = {"AZURE_OPENAI_ENDPOINT": "https://RESOURCE.openai.azure.com", "AWS_REGION": "us-west-2"}


def table() -> list[list[str]]:
    found = re.search(r"<!-- providers:begin -->\n(.*?)\n<!-- providers:end -->", PAGE, re.DOTALL)
    assert found
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()[2:]]


def recipes() -> Iterator[Any]:
    """The variables of each row of the table, and its command; then a server of another address."""
    for judge, address, key, _ in table():
        variables = {name: PLACES[name] for name in re.findall(r"\{(\w+)\}", address)}
        if "may be missing" not in key:
            variables[key.strip("`")] = "..."
        name = judge.strip("`")
        yield pytest.param(variables, ["score", "FILE.jsonl", "--judge", name], id=name)
    other = re.search(r"`(--judge openai/MODEL --base-url [^`]+)`", PAGE)
    assert other
    yield pytest.param(
        {"OPENAI_API_KEY": "..."}, ["score", "FILE.jsonl", *other[1].split()], id="another address"
    )


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeOpenAIServer, list[str]]]:
    """A server that gets every request of the client in place of its own, and the addresses that were meant."""
    addresses: list[str] = []
    made = clients._http_client

    def redirected() -> Any:
        http = made()

        class Redirected(type(http)):  # type: ignore[misc]  # the class depends on the transport
            async def send(self, request: Any, **options: Any) -> Any:
                addresses.append(str(request.url))
                place = urlsplit(server.base_url)
                request.url = request.url.copy_with(scheme="http", host=place.hostname, port=place.port)
                return await super().send(request, **options)

        http.__class__ = Redirected
        return http

    monkeypatch.setattr(clients, "_http_client", redirected)
    for name in ("OPENAI_BASE_URL", *(provider.key for provider in PROVIDERS.values())):
        monkeypatch.delenv(name, raising=False)
    with FakeOpenAIServer(answer_from()) as server:
        yield server, addresses
        clients.close_all()


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["ctxmetrics", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "command"), list(recipes()))
def test_a_recipe_asks_the_address_of_its_provider(
    variables: dict[str, str],
    command: list[str],
    sent: tuple[FakeOpenAIServer, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server, addresses = sent
    provider, _, model = command[command.index("--judge") + 1].partition("/")
    for name, value in variables.items():
        monkeypatch.setenv(name, KEY if value == "..." else value)
    server._api_key = KEY if "..." in variables.values() else "no-key"
    (tmp_path / "FILE.jsonl").write_text(json.dumps(SAMPLE), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert run(monkeypatch, *command, "--metric", "context_recall") in (0, None), (
        capsys.readouterr().err
    )

    assert "0.5000" in capsys.readouterr().out
    (request,) = server.requests  # a request without the key is answered with 401, and not recorded
    (address,) = addresses
    if "--base-url" in command:
        assert address == "https://HOST/v1/chat/completions".lower()
    else:
        row = next(cells for cells in table() if cells[0].startswith(f"`{provider}/"))
        written = row[1].strip("`")
        for name, value in variables.items():
            written = written.replace(f"{{{name}}}", value)
        assert address == f"{written}/chat/completions".replace("RESOURCE", "resource")
    assert request.headers["host"] == urlsplit(address).netloc
    assert request.path == urlsplit(address).path
    assert request.body["model"] == model
    assert request.body["response_format"]["type"] == "json_schema"
    assert [message["role"] for message in request.messages] == ["system", "user"]


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    assert [[cells[0].split("/")[0], *cells[1:]] for cells in table()] == [
        [
            f"`{name}",
            f"`{known.base_url or 'https://api.openai.com/v1'}`",
            f"`{known.key}`{' (may be missing)' if known.local else ''}",
            f"`{known.first}`" if known.local else known.first,
        ]
        for name, known in PROVIDERS.items()
    ]


def test_a_key_that_is_missing_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # is for OpenAI only
    with pytest.raises(
        ParameterError, match=r"no key for https://api\.groq\.com/openai/v1\. Set GROQ_API_KEY"
    ):
        OpenAIModel.preset("groq", "m")
    with pytest.raises(ParameterError, match="bedrock: set AWS_REGION"):
        OpenAIModel.preset("bedrock", "m")
    with pytest.raises(
        ParameterError, match=r"provider 'grok' is unknown\. Did you mean 'groq'\? Choose from: openai"
    ):
        OpenAIModel.preset("grok", "m")


def test_pickle_reads_its_providers_key_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key")
    model = OpenAIModel.preset("groq", "m", api_key=KEY)
    dumped = pickle.dumps(model)
    assert KEY.encode() not in dumped
    copied = pickle.loads(dumped)  # noqa: S301 - dumped above
    assert copied == model
    monkeypatch.setenv("GROQ_API_KEY", "gsk-from-here")
    assert reveal_key(copied.api_key, copied.base_url, "OpenAIModel", "m") == "gsk-from-here"
    monkeypatch.delenv("GROQ_API_KEY")
    with pytest.raises(ParameterError, match="Set GROQ_API_KEY"):
        reveal_key(copied.api_key, copied.base_url, "OpenAIModel", "m")


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("grok/m", "Did you mean groq/m?"),
        ("Lexical", "Did you mean lexical?"),
        ("gpt-4o-mini", "Did you mean openai/gpt-4o-mini?"),
        ("groq", "Did you mean groq/MODEL?"),
        (
            "http://localhost/m",
            "Write lexical, PROVIDER/MODEL or MODULE:NAME; the providers: openai, azure",
        ),
    ],
)
def test_a_judge_that_is_none(
    judge: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(SAMPLE), encoding="utf-8")
    assert run(monkeypatch, "score", str(file), "--judge", judge) == 2
    assert message in capsys.readouterr().err


def test_a_client_or_a_name_as_judge_says_what_to_write() -> None:
    from openai import AsyncOpenAI

    given: Any = AsyncOpenAI(api_key=KEY)
    with pytest.raises(ParameterError, match=r"Write judge=LLMJudge\(OpenAIModel\('MODEL'\)\)"):
        ContextRecall(judge=given)
    with pytest.raises(ParameterError, match=r"Write LLMJudge\(OpenAIModel\('MODEL'\)\)"):
        LLMJudge(given)
    given = OpenAIModel("m", api_key=KEY)
    with pytest.raises(ParameterError, match=r"Write judge=LLMJudge\(model\)"):
        ContextRecall(judge=given)
