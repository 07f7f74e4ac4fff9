"""Where the endpoints of the usual providers are, by what ``--judge`` calls them: ``providers.toml`` is the table."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import ParameterError

WireName = Literal["systemone", "openai"]
_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models, or a server on this machine.

    Attributes:
        key: The environment variable that holds the key.
        base_url: Its address; a name in braces is an environment variable. Empty: that of `OpenAIModel`.
        local: Whether it is a server on this machine, which asks for no key unless it was told to.
        first: What to do first, besides installing ``ctxmetrics[openai]``.
        wire: Of decision models, the form of requests and replies.
    """

    key: str
    base_url: str = ""
    local: bool = False
    first: str = "get a key"
    wire: WireName = "systemone"

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


_DATA = read_data("models.openai", "providers.toml")


def _read_providers(kind: str) -> Mapping[str, Provider]:
    return MappingProxyType({name: Provider(**data) for name, data in _DATA[kind].items()})


PROVIDERS = _read_providers("language")
DECISION_PROVIDERS = _read_providers("decision")
