"""The packs of prompts: for each language the text of each question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ctxmetrics._frozen import FrozenDict
from ctxmetrics.errors import ParameterError
from ctxmetrics.prompts.texts import EN, RU, VERSIONS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pack:
    """The prompts of one language.

    Attributes:
        language: ISO 639 code.
        texts: The fixed part of the prompt, one a step.
        version: One number a step, or one for all; raised whenever a text changes: it is part of the provenance and of
            every cache key.
        yes: Words, in lower case, that a reply in this language may use for true.
        no: The same for false.
        versions: The name of each prompt, such as ``joint-en-2``, by its step.
    """

    language: str
    texts: Mapping[str, str]
    version: int | Mapping[str, int] = 1
    yes: frozenset[str] = field(default=frozenset({"yes", "true"}))
    no: frozenset[str] = field(default=frozenset({"no", "false"}))
    versions: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = (
            dict.fromkeys(self.texts, self.version) if isinstance(self.version, int) else self.version
        )
        names = {step: f"{step}-{self.language}-{number}" for step, number in numbers.items()}
        object.__setattr__(self, "versions", FrozenDict(names))


_packs: dict[str, Pack] = {}


def register_pack(pack: Pack) -> None:
    """Add the prompts of a language, or replace them.

    Raises:
        ParameterError: A step has no text, or no version.
    """
    for what, given in (("text", pack.texts), ("version", pack.version)):
        missing = [] if isinstance(given, int) else [step for step in VERSIONS if not given.get(step)]
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
    """Whether a prompt's name (`Pack.versions`) is that of a text which is no longer asked. Other names never are."""
    step, _, rest = version.partition("-")
    pack = _packs.get(rest.rpartition("-")[0])
    current = () if pack is None else pack.versions.values()
    return any(name.partition("-")[0] == step and name != version for name in current)


register_pack(Pack(language="en", version=VERSIONS, texts=EN))
register_pack(
    Pack(
        language="ru",
        version=VERSIONS,
        texts=RU,
        yes=frozenset({"да", "истина"}),
        no=frozenset({"нет", "ложь"}),
    )
)
