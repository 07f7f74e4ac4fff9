"""The packs of prompts. A pack has the texts of all questions in one language; ``en.toml`` and ``ru.toml`` hold our packs.

There are five prompts for a language model. *claims* breaks a text into claims. *attribution* asks which contexts state each unit
of the reference, or a part of it. *usefulness* asks which contexts help to give an answer. *joint* asks for attribution and
usefulness in one request. *relevance* asks which contexts answer a question whose answer is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.errors import ParameterError

Step = Literal["claims", "attribution", "usefulness", "joint", "relevance"]

# The versions of the texts of our own packs, by step; each is raised when its text changes.
VERSIONS: Mapping[str, int] = {"claims": 3, "attribution": 3, "usefulness": 3, "joint": 3}
# The version of the question about usefulness without an answer.
RELEVANCE_VERSION = 1
# The version of the questions to decision models.
DECISION_VERSION = 1


def _read_texts(language: str) -> dict[str, Any]:
    """Read the texts of one of our packs. The name of a part in braces, such as ``{opening}``, is replaced by this part."""
    data: dict[str, Any] = {**read_data("prompts", f"{language}.toml")}
    texts = {**data["texts"]}
    for name, part in data.pop("parts").items():
        for step, prompt in texts.items():
            texts[step] = prompt.replace(f"{{{name}}}", part)
    return {**data, "texts": texts}


_ENGLISH = _read_texts("en")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pack:
    """The prompts of one language.

    Attributes:
        language: ISO 639 code.
        texts: The fixed part of each step's prompt. If ``relevance`` is missing, the English prompt is used.
        version: A number for each step, or one for all. Raise it whenever a text changes: it is a part of the provenance and of
            every cache key.
        yes: Words, in lower case, that a reply in this language may use for true.
        no: The words that mean false.
        keys: The line after the data that names the keys of a part of the reply, with ``{part}`` and ``{ids}``.
        decisions: The questions to a decision model. The default is English.
        versions: The name of each prompt, such as ``joint-en-3``, by its step.
        examples: The texts of the examples in the prompts, in lower case. A reply that repeats one is about the example, not about
            the data.
        example_replies: The replies that the examples show.
    """

    language: str
    texts: Mapping[str, str]
    version: int | Mapping[str, int] = 1
    yes: frozenset[str] = field(default=frozenset({"yes", "true"}))
    no: frozenset[str] = field(default=frozenset({"no", "false"}))
    keys: str = _ENGLISH["keys"]
    decisions: Mapping[str, str] = field(default=FrozenDict(_ENGLISH["decisions"]))
    versions: Mapping[str, str] = field(init=False, repr=False)
    examples: frozenset[str] = field(init=False, repr=False)
    example_replies: tuple[Mapping[str, Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "versions", FrozenDict(self._name_prompts()))
        examples: list[dict[str, Any]] = []
        for prompt in self.texts.values():
            examples += _read_json_objects(prompt)
        # The ids of the examples, such as "c1", are left out: a correct reply has the same.
        texts = (text.casefold() for text in _list_texts(examples) if len(text) > _MAX_ID_CHARACTERS)
        object.__setattr__(self, "examples", frozenset(texts))
        # A reply has a code, and the data before it has none: so these are the replies among the objects of the examples.
        replies = tuple(example for example in examples if "code" in example)
        object.__setattr__(self, "example_replies", replies)

    def _name_prompts(self) -> dict[str, str]:
        """Return the name of the prompt of each step: the step, the language and the version."""
        numbers: Mapping[str, int]
        if isinstance(self.version, int):
            numbers = dict.fromkeys(self.texts, self.version)
        else:
            numbers = self.version
        names = {step: f"{step}-{self.language}-{number}" for step, number in numbers.items()}
        if "relevance" not in names:
            language = self.language if "relevance" in self.texts else "en"
            names["relevance"] = f"relevance-{language}-{RELEVANCE_VERSION}"
        names["decision"] = f"decision-{self.language}-{DECISION_VERSION}"
        return names

    def get_text(self, step: Step) -> str:
        """Return the fixed part of a step's prompt. If this pack has no text for the step, return the English text."""
        return self.texts.get(step) or str(_ENGLISH["texts"][step])


_packs: dict[str, Pack] = {}
# The maximum number of characters of an id in the examples. The texts in the examples are longer.
_MAX_ID_CHARACTERS = 3


def register_pack(pack: Pack) -> None:
    """Add the prompts of a language, or replace them.

    Raises:
        ParameterError: A step has no text, or no version.
    """
    _check_steps(pack, "text", pack.texts)
    version = pack.version
    if not isinstance(version, int):
        _check_steps(pack, "version", version)
        version = FrozenDict(version)
    _packs[pack.language] = replace(
        pack,
        texts=FrozenDict(pack.texts),
        version=version,
        yes=pack.yes | {"yes", "true"},
        no=pack.no | {"no", "false"},
        decisions=FrozenDict(pack.decisions),
    )


def _check_steps(pack: Pack, noun: str, values: Mapping[str, Any]) -> None:
    """Check that each step has a value. ``noun`` names a value in the message: ``"text"``."""
    missing_steps = [step for step in VERSIONS if not values.get(step)]
    if missing_steps:
        raise ParameterError(f"pack {pack.language!r} has no {noun} for: {', '.join(missing_steps)}.")


def _read_json_objects(prompt: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that a prompt shows as examples."""
    decoder = json.JSONDecoder()
    position = prompt.find("{")
    while position >= 0:
        try:
            example, end = decoder.raw_decode(prompt, position)
        except ValueError:  # this brace begins no object
            end = position + 1
        else:
            yield example
        position = prompt.find("{", end)


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, at any depth."""
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _list_texts(entry)
    elif isinstance(value, list):
        for element in value:
            yield from _list_texts(element)


def get_pack(language: str) -> Pack:
    """Return the pack of a language; the English one if the language has none."""
    return _packs.get(language) or _packs.get(language.partition("-")[0]) or _packs["en"]


def is_outdated(version: str) -> bool:
    """Return whether a prompt's name, such as ``joint-en-2``, is that of an earlier version. See `Pack.versions`."""
    step, _, language_and_number = version.partition("-")
    language, _, _number = language_and_number.rpartition("-")  # a language may have a "-" itself
    pack = _packs.get(language)
    current_names = () if pack is None else pack.versions.values()
    return any(name.partition("-")[0] == step and name != version for name in current_names)


for _language, _texts in (("en", _ENGLISH), ("ru", _read_texts("ru"))):
    _yes = frozenset(_texts.pop("yes"))
    _no = frozenset(_texts.pop("no"))
    register_pack(Pack(language=_language, version=VERSIONS, yes=_yes, no=_no, **_texts))
