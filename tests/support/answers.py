"""An honest judge for the fake server: answers this library's prompts from labels, so the true score is known."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Support: TypeAlias = bool | tuple[bool, str | None, str | None]
"""Whether a unit is supported, or that with the text of the context that says so and words copied from it."""

_BLOCK = re.compile(
    r"BEGIN DATA ([0-9a-f]{24})\r?\n(.*?)\r?\ncode: ([0-9a-f]{8})\r?\nEND DATA \1", re.DOTALL
)
_CODE = re.compile(r"\ncode: ([0-9a-f]{8})\r?\nEND DATA ")
_KEYS = re.compile(r"\b(sentences|useful): ([sc][0-9]+(?:, [sc][0-9]+)*)")
_WORD = re.compile(r"\w{4,}|\d+")
_ENOUGH = 0.6
"""Share of a unit's words that one context must hold, where no label says more."""


class HasText(Protocol):
    """A `support.ChatRequest`, or a `ctxmetrics.models.base.Prompt`."""

    @property
    def text(self) -> str:
        """All that is asked."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """What a prompt of this library asks, read back from it.

    Attributes:
        step: ``"claims"``, ``"attribution"``, ``"usefulness"`` or ``"joint"``.
        data: The data block's JSON object.
        code: The code that the reply must repeat.
        keys: The ids that need an answer, by the key of the reply that holds them.
    """

    step: str
    data: Mapping[str, Any]
    code: str
    keys: Mapping[str, Sequence[str]]

    @property
    def units(self) -> dict[str, str]:
        """Texts of the units by id."""
        return {item["id"]: item["text"] for item in self.data.get("sentences", ())}

    @property
    def contexts(self) -> dict[str, str]:
        """Texts of the contexts by id."""
        return {item["id"]: item["text"] for item in self.data.get("contexts", ())}


def read_question(text: str) -> Question:
    """Read a prompt back: the last data block whose mark is the hash of what it holds.

    Args:
        text: All of a request, in whatever messages it came.

    Raises:
        ParameterError: There is no such block: it is no prompt of this library, or somebody changed it on the way.
    """
    for block in reversed(list(_BLOCK.finditer(text))):
        nonce = hashlib.sha256(block[2].encode("utf-8", "surrogatepass")).hexdigest()
        if nonce[:24] != block[1] or nonce[:8] != block[3]:
            continue
        data = json.loads(block[2])
        instructions = text[: block.start()] + text[block.end() :]
        step = _step(data, instructions)
        last = text[block.end() :].lstrip().partition("\n")[0]
        keys = {name: ids.split(", ") for name, ids in _KEYS.findall(last)}
        return Question(step, data, block[3], keys)
    raise ParameterError("the request holds no intact data block, so it is no prompt of ctxmetrics")


def with_code(reply: str | None, asked: str) -> str | None:
    """Return a recorded reply with the code of the request where it says ``"$code"``."""
    codes = _CODE.findall(asked)
    return reply.replace("$code", codes[-1]) if reply and codes else reply


def _step(data: Mapping[str, Any], instructions: str) -> str:
    if "text" in data:
        return "claims"
    if "sentences" not in data:
        return "usefulness"
    return "joint" if '"useful"' in instructions else "attribution"


@dataclass(frozen=True, slots=True, kw_only=True)
class HonestResponder:
    """Answers as a judge that knows the labels: a responder for the fake server, or for a `ScriptedJudge`.

    A label may be missing; what happens then is `missing`.

    Attributes:
        supported: By the text of a unit, whether it is supported, and by what; or a function from a unit and the
            contexts shown to that. True alone takes the sentence with the most words in common as its quote.
        useful: By the text of a context, whether it is useful; or a function from a context and the answer's text.
        claims: By a text, its claims; or a function. Without a label a text is cut at its full stops.
        missing: Without a label: ``"lexical"`` compares words, ``"no"`` says no, ``"error"`` raises.

    Examples:
        >>> from ctxmetrics import ContextRecall, Sample, ScriptedJudge
        >>> responder = answer_from({"It is red.": (True, "A red car.", "red car")})
        >>> sample = Sample(reference="It is red. It is fast.", retrieved_contexts=["A red car."])
        >>> ContextRecall(judge=ScriptedJudge(responder, name="labels")).score(sample).value
        0.5
    """

    supported: Mapping[str, Support] | Callable[[str, Sequence[str]], Support]
    useful: Mapping[str, bool] | Callable[[str, str], bool]
    claims: Mapping[str, Sequence[str]] | Callable[[str], Sequence[str]]
    missing: Literal["lexical", "no", "error"] = "lexical"

    def __call__(self, request: HasText) -> str:
        """Answer a request with JSON text."""
        return json.dumps(
            self.answer(read_question(request.text)), ensure_ascii=False, separators=(",", ":")
        )

    def answer(self, question: Question) -> dict[str, Any]:
        """Answer a question with the reply's JSON object."""
        if question.step == "claims":
            return {"code": question.code, "claims": list(self._claims(question.data["text"]))}
        reply: dict[str, Any] = {"code": question.code}
        if "sentences" in question.keys:
            reply["sentences"] = {
                id_: self._sentence(question.units[id_], question.contexts)
                for id_ in question.keys["sentences"]
            }
        if "useful" in question.keys:
            answer = question.data.get("answer") or " ".join(question.units.values())
            cells = reply.get("sentences", {}).values()
            named = {item["context"] for cell in cells for item in cell["evidence"]}
            reply["useful"] = {
                id_: self._context(
                    id_, question.contexts[id_], answer, tuple(question.units.values()), named
                )
                for id_ in question.keys["useful"]
            }
        return reply

    def _claims(self, text: str) -> Sequence[str]:
        if callable(self.claims):
            return self.claims(text)
        if text in self.claims:
            return self.claims[text]
        self._no_label("claims of", text)
        return [piece.strip() + "." for piece in text.split(".") if piece.strip()]

    def _sentence(self, unit: str, contexts: Mapping[str, str]) -> dict[str, Any]:
        given = self._support(unit, tuple(contexts.values()))
        supported, said_in, quote = given if isinstance(given, tuple) else (given, None, None)
        if supported and quote is None:
            text = said_in if said_in is not None else _closest(unit, contexts.values())
            quote = _closest(unit, _sentences(text))
        evidence = [
            {"context": name, "quote": quote, "whole": True}
            for name, text in contexts.items()
            if supported and quote and quote in text and (said_in is None or text in said_in)
        ]
        if not evidence:
            return {"evidence": [], "missing": " ".join(unit.split()[-4:]), "supported": False}
        return {"evidence": evidence, "missing": "", "supported": True}

    def _support(self, unit: str, contexts: Sequence[str]) -> Support:
        if callable(self.supported):
            return self.supported(unit, contexts)
        if unit in self.supported:
            return self.supported[unit]
        self._no_label("support of", unit)
        return self.missing == "lexical" and any(_shared(unit, text) >= _ENOUGH for text in contexts)

    def _context(
        self, id_: str, text: str, answer: str, units: Sequence[str], named: set[str]
    ) -> dict[str, Any]:
        useful = self._useful(text, answer, units)
        quote = _closest(answer, _sentences(text)) if useful and id_ not in named else ""
        return {"quote": quote, "useful": useful}

    def _useful(self, text: str, answer: str, units: Sequence[str]) -> bool:
        if callable(self.useful):
            return self.useful(text, answer)
        if text in self.useful:
            return self.useful[text]
        whole = [label for labelled, label in self.useful.items() if text and text in labelled]
        if whole:  # a piece of a context that was too long for one request
            return whole[0]
        self._no_label("usefulness of", text)
        sentences = units or _sentences(answer)
        return self.missing == "lexical" and any(_shared(unit, text) >= _ENOUGH for unit in sentences)

    def _no_label(self, what: str, text: str) -> None:
        if self.missing == "error":
            raise ParameterError(f"no label for the {what} {text[:80]!r}")


def answer_from(
    supported: Mapping[str, Support] | Callable[[str, Sequence[str]], Support] | None = None,
    useful: Mapping[str, bool] | Callable[[str, str], bool] | None = None,
    claims: Mapping[str, Sequence[str]] | Callable[[str], Sequence[str]] | None = None,
    *,
    missing: Literal["lexical", "no", "error"] = "lexical",
) -> HonestResponder:
    """Build a responder from labels; without any it compares words.

    The arguments are the attributes of `HonestResponder`.
    """
    return HonestResponder(
        supported={} if supported is None else supported,
        useful={} if useful is None else useful,
        claims={} if claims is None else claims,
        missing=missing,
    )


def _shared(unit: str, text: str) -> float:
    """Share of a unit's words that a text holds."""
    words = set(_WORD.findall(unit.casefold()))
    return len(words & set(_WORD.findall(text.casefold()))) / len(words) if words else 0.0


def _closest(unit: str, texts: Iterable[str]) -> str:
    """The text that has the unit word for word, else the most of its words; the first of equals."""
    return max(texts, key=lambda text: (unit in text, _shared(unit, text)), default="")


def _sentences(text: str) -> list[str]:
    return list(_pieces(text)) or [text]


def _pieces(text: str) -> Iterator[str]:
    # A stop between two digits ends no sentence: a quote of "2." is none of "2.1".
    for match in re.finditer(r"(?:[^.!?。！？\n]|(?<=\d)\.(?=\d))+[.!?。！？]*", text):
        if match[0].strip():
            yield match[0].strip()
