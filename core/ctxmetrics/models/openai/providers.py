"""The addresses of known providers, by their names for ``--judge``. ``providers.toml`` is the table."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import ParameterError

WireName = Literal["systemone", "openai"]
BatchForm = Literal["openai", "anthropic"]
_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models, or a server on this machine.

    Attributes:
        key: The environment variable that holds the key.
        base_url: The address of the provider; a name in braces is an environment variable. Empty: the default of `OpenAIModel`.
        local: Whether the provider is a server on this machine. Such a server needs no key, unless it was started with one.
        first: What a user must do first, after installing ``ctxmetrics[openai]``.
        wire: The form of requests and replies, for decision models.
        batches: The form of the provider's batches; None: the library can send it no batches.
        batch_price: The price of a batch as a share of the ordinary price, if the provider states it.
    """

    key: str
    base_url: str = ""
    local: bool = False
    first: str = "get a key"
    wire: WireName = "systemone"
    batches: BatchForm | None = None
    batch_price: float | None = None

    def address(self, name: str) -> str:
        """Return the address, with the environment variables in it filled in.

        Raises:
            ParameterError: One of them is not set.
        """
        for variable in _VARIABLE.findall(self.base_url):
            if not os.environ.get(variable, "").strip():
                raise ParameterError(
                    f"{name}: set {variable}, which is a part of the address {self.base_url}, or give base_url "
                    "(--base-url)."
                )
        return _VARIABLE.sub(lambda match: os.environ[match[1]].strip().rstrip("/"), self.base_url)


_DATA = read_data("models.openai", "providers.toml")


def _read_providers(kind: str) -> Mapping[str, Provider]:
    """Read the providers of language or of decision models."""
    return MappingProxyType({name: Provider(**data) for name, data in _DATA[kind].items()})


PROVIDERS = _read_providers("language")
# Each user of Azure has a host of their own, with this ending.
_AZURE_HOST_ENDING = ".openai.azure.com"
# The providers of decision models.
DECISION_PROVIDERS = _read_providers("decision")


def get_batch_terms(base_url: str) -> tuple[BatchForm | None, float | None]:
    """Look up whether and how a server takes batches of requests.

    Returns:
        The form of the batches, None if the server takes none; and their price as a share of the ordinary price, None if the
        provider does not say so. An unknown server may take batches in OpenAI's form.
    """
    host = urlsplit(base_url).hostname or ""
    for name, provider in PROVIDERS.items():
        known_host = urlsplit(provider.base_url or "https://api.openai.com/v1").hostname or ""
        # `split` returns the names of variables at the odd indexes, and the fixed parts of the host at the even ones.
        fixed_parts = _VARIABLE.split(known_host)[::2]
        pattern = r"[\w-]+".join(map(re.escape, fixed_parts))
        if name == "azure":  # the variable holds the whole host
            pattern = rf".+{re.escape(_AZURE_HOST_ENDING)}"
        if not provider.local and re.fullmatch(pattern, host):
            return provider.batches, provider.batch_price
    return "openai", None
