"""Where the OpenAI-compatible endpoints of the usual providers are: one table of data, by what ``--judge`` calls them.

Addresses and variables are those of the providers' own documentation. ``docs/llm-judges.md`` lists them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ctxmetrics.errors import ParameterError

_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models, or a server on this machine.

    Attributes:
        base_url: Its address; a name in braces is an environment variable. Empty: that of `OpenAIModel`.
        key: The environment variable that holds the key.
        local: Whether it is a server on this machine, which asks for no key unless it was told to.
        first: What to do first, besides installing ``ctxmetrics[openai]``.
        wire: Of decision models, the form of requests and replies.
    """

    base_url: str
    key: str
    local: bool = False
    first: str = "get a key"
    wire: Literal["systemone", "openai"] = "systemone"

    def address(self, name: str) -> str:
        """Return the address, with the environment variables in it filled in.

        Raises:
            ParameterError: One of them is not set.
        """
        for variable in _VARIABLE.findall(self.base_url):
            if not os.environ.get(variable):
                raise ParameterError(
                    f"{name}: set {variable}, which is a part of the address {self.base_url}, or give base_url "
                    "(--base-url)."
                )
        return _VARIABLE.sub(lambda match: os.environ[match[1]].rstrip("/"), self.base_url)


PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "openai": Provider(base_url="", key="OPENAI_API_KEY"),
        "azure": Provider(
            base_url="{AZURE_OPENAI_ENDPOINT}/openai/v1",
            key="AZURE_OPENAI_API_KEY",
            first="deploy a model; MODEL is the deployment's name, the endpoint is https://RESOURCE.openai.azure.com",
        ),
        "anthropic": Provider(base_url="https://api.anthropic.com/v1", key="ANTHROPIC_API_KEY"),
        "gemini": Provider(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai", key="GEMINI_API_KEY"
        ),
        "bedrock": Provider(
            base_url="https://bedrock-runtime.{AWS_REGION}.amazonaws.com/openai/v1",
            key="AWS_BEARER_TOKEN_BEDROCK",
            first="make an Amazon Bedrock API key, and set the region",
        ),
        "mistral": Provider(base_url="https://api.mistral.ai/v1", key="MISTRAL_API_KEY"),
        "groq": Provider(base_url="https://api.groq.com/openai/v1", key="GROQ_API_KEY"),
        "openrouter": Provider(base_url="https://openrouter.ai/api/v1", key="OPENROUTER_API_KEY"),
        "together": Provider(base_url="https://api.together.xyz/v1", key="TOGETHER_API_KEY"),
        "deepseek": Provider(base_url="https://api.deepseek.com", key="DEEPSEEK_API_KEY"),
        "ollama": Provider(
            base_url="http://localhost:11434/v1",
            key="OLLAMA_API_KEY",
            local=True,
            first="ollama pull MODEL",
        ),
        "vllm": Provider(
            base_url="http://localhost:8000/v1",
            key="VLLM_API_KEY",
            local=True,
            first="vllm serve MODEL",
        ),
        "lmstudio": Provider(
            base_url="http://localhost:1234/v1",
            key="LM_API_TOKEN",
            local=True,
            first="lms load MODEL; lms server start",
        ),
        "llamacpp": Provider(
            base_url="http://localhost:8080/v1",
            key="LLAMA_API_KEY",
            local=True,
            first="llama-server -m FILE.gguf; MODEL is any name",
        ),
    }
)

# Where decision models are (`ctxmetrics.models.openai.decisions`). Databricks gives each workspace an address of its own.
DECISION_PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "typesafe": Provider(base_url="https://api.typesafe.ai/v1", key="TYPESAFE_API_KEY"),
        "openrouter-decisions": Provider(
            base_url="https://openrouter.ai/api/v1", key="OPENROUTER_API_KEY"
        ),
        "openai-decisions": Provider(base_url="", key="OPENAI_API_KEY", wire="openai"),
        "azure-decisions": Provider(
            base_url="{AZURE_OPENAI_ENDPOINT}/openai/v1", key="AZURE_OPENAI_API_KEY", wire="openai"
        ),
        "azure-systemone": Provider(
            base_url="{AZURE_AI_ENDPOINT}/providers/microsoft/v1", key="AZURE_AI_API_KEY"
        ),
        "litellm-decisions": Provider(base_url="{LITELLM_PROXY_URL}/v1", key="LITELLM_PROXY_API_KEY"),
        "databricks-decisions": Provider(base_url="{DATABRICKS_DECISIONS_URL}", key="DATABRICKS_TOKEN"),
        "systemone": Provider(base_url="http://localhost:8000/v1", key="SYSTEMONE_API_KEY", local=True),
    }
)
