"""Which text asks which question in which language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

from ctxmetrics._frozen import FrozenDict
from ctxmetrics.errors import ParameterError
from ctxmetrics.prompts import attribution, claims, joint, usefulness

Step = Literal["claims", "attribution", "usefulness", "joint"]

# The schema of a step's reply.
SCHEMAS: Mapping[Step, type[BaseModel]] = {
    "claims": claims.ClaimsReply,
    "attribution": attribution.AttributionReply,
    "usefulness": usefulness.UsefulnessReply,
    "joint": joint.JointReply,
}
# The line after the data that repeats what the reply looks like; the same in every language.
FORMS: Mapping[Step, str] = {
    "claims": claims.FORM,
    "attribution": attribution.FORM,
    "usefulness": usefulness.FORM,
    "joint": joint.FORM,
}
_VERSIONS: Mapping[str, int] = {
    "claims": claims.VERSION,
    "attribution": attribution.VERSION,
    "usefulness": usefulness.VERSION,
    "joint": joint.VERSION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The prompts of one language.

    Attributes:
        language: ISO 639 code.
        texts: The fixed part of the prompt, one a step.
        version: One number a step, or one for all; raised whenever a text changes: it is part of the provenance and of
            every cache key.
        yes: Words, in lower case, that a reply in this language may use for true.
        no: The same for false.
    """

    language: str
    texts: Mapping[str, str]
    version: int | Mapping[str, int] = 1
    yes: frozenset[str] = field(default=frozenset({"yes", "true"}))
    no: frozenset[str] = field(default=frozenset({"no", "false"}))

    def version_of(self, step: Step) -> str:
        """Return the name of one prompt, such as ``joint-en-2``."""
        number = self.version if isinstance(self.version, int) else self.version[step]
        return f"{step}-{self.language}-{number}"


_packs: dict[str, Pack] = {}


def register_pack(pack: Pack) -> None:
    """Add the prompts of a language, or replace them.

    Raises:
        ParameterError: A step has no text, or no version.
    """
    for what, given in (("text", pack.texts), ("version", pack.version)):
        missing = [] if isinstance(given, int) else [step for step in SCHEMAS if not given.get(step)]
        if missing:
            raise ParameterError(f"pack {pack.language!r} has no {what} for: {', '.join(missing)}.")
    _packs[pack.language] = Pack(
        language=pack.language,
        texts=FrozenDict(pack.texts),
        version=pack.version if isinstance(pack.version, int) else FrozenDict(pack.version),
        yes=pack.yes | {"yes", "true"},
        no=pack.no | {"no", "false"},
    )


def get_pack(language: str) -> Pack:
    """Return the pack of a language; English where it has none."""
    return _packs.get(language) or _packs.get(language.partition("-")[0]) or _packs["en"]


def is_outdated(version: str) -> bool:
    """Whether a prompt's name (`Pack.version_of`) is that of a text which is no longer asked. Other names never are."""
    step, _, rest = version.partition("-")
    pack = _packs.get(rest.rpartition("-")[0])
    current = () if pack is None else map(pack.version_of, SCHEMAS)
    return any(name.partition("-")[0] == step and name != version for name in current)


register_pack(
    Pack(
        language="en",
        version=_VERSIONS,
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
        version=_VERSIONS,
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
