"""Which text asks which question in which language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ctxmetrics.errors import ParameterError
from ctxmetrics.prompts import attribution, claims, joint, usefulness
from ctxmetrics.scores import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

Step = Literal["claims", "attribution", "usefulness", "joint"]

_SCHEMAS: Mapping[Step, type[BaseModel]] = {
    "claims": claims.ClaimsReply,
    "attribution": attribution.AttributionReply,
    "usefulness": usefulness.UsefulnessReply,
    "joint": joint.JointReply,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The prompts of one language.

    Attributes:
        language: ISO 639 code.
        texts: The fixed part of the prompt, one a step.
        version: Raised whenever a text changes: it is part of the provenance and of every cache key.
        yes: Words, in lower case, that a reply in this language may use for true.
        no: The same for false.
    """

    language: str
    texts: Mapping[str, str]
    version: int = 1
    yes: frozenset[str] = field(default=frozenset({"yes", "true"}))
    no: frozenset[str] = field(default=frozenset({"no", "false"}))

    def version_of(self, step: Step) -> str:
        """Return the name of one prompt, such as ``joint-en-1``."""
        return f"{step}-{self.language}-{self.version}"


_packs: dict[str, Pack] = {}


def register_pack(pack: Pack) -> None:
    """Add the prompts of a language, or replace them.

    Raises:
        ParameterError: A step has no text.
    """
    missing = [step for step in _SCHEMAS if not pack.texts.get(step)]
    if missing:
        raise ParameterError(f"pack {pack.language!r} has no text for: {', '.join(missing)}.")
    _packs[pack.language] = Pack(
        language=pack.language,
        texts=frozen(pack.texts),
        version=pack.version,
        yes=pack.yes | {"yes", "true"},
        no=pack.no | {"no", "false"},
    )


def get_pack(language: str) -> Pack:
    """Return the pack of a language; English where it has none."""
    return _packs.get(language) or _packs.get(language.partition("-")[0]) or _packs["en"]


def schema_of(step: Step) -> type[BaseModel]:
    """Return the reply schema of a step."""
    return _SCHEMAS[step]


register_pack(
    Pack(
        language="en",
        version=joint.VERSION,
        texts={
            "claims": claims.EN,
            "attribution": attribution.EN,
            "usefulness": usefulness.EN,
            "joint": joint.EN,
        },
    )
)
register_pack(
    Pack(
        language="ru",
        version=joint.VERSION,
        texts={
            "claims": claims.RU,
            "attribution": attribution.RU,
            "usefulness": usefulness.RU,
            "joint": joint.RU,
        },
        yes=frozenset({"да", "истина"}),
        no=frozenset({"нет", "ложь"}),
    )
)
