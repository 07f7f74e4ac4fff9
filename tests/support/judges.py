"""Judges for the fake server that know the labelled samples of check-judge: one honest, others changed in one respect."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from ctxmetrics import LLMJudge, OpenAIModel, check_judge
from ctxmetrics.judges.llm.checking import check
from ctxmetrics.text.languages import detect_language
from ctxmetrics.text.sentences import split_sentences
from support.answers import Question, read_question
from support.server import FakeOpenAIServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ctxmetrics.evaluation.agreement.check_judge import JudgeCheck
    from support.answers import HasText

Item: TypeAlias = "Mapping[str, Any]"
"""A labelled sample, as the file has it."""
Change: TypeAlias = "Callable[[Item, Question, dict[str, Any]], None]"
"""Makes an honest reply to a question about a sample worse."""

_DATA: dict[str, Any] = json.loads(
    files("ctxmetrics.evaluation.runs").joinpath("controls.json").read_text(encoding="utf-8")
)
WRITTEN: list[dict[str, Any]] = _DATA["samples"]
PLACED: list[dict[str, Any]] = _DATA["places"]
TWINS = [
    {**item, **item["clean"], "id": f"{item['id']}-clean", "kind": "clean twin"}
    for item in WRITTEN
    if "clean" in item
]
LABELLED = [*WRITTEN, *TWINS]


def honest(request: HasText) -> tuple[Item, Question, dict[str, Any]]:
    """The right reply, in the form the prompt asks for; when asked again, about what is shown then."""
    question = read_question(request.text)
    item = next(item for item in (*LABELLED, *PLACED) if _shows(question, item))
    numbers = {text: number for number, text in enumerate(units_of(item))}
    reply: dict[str, Any] = {"code": question.code}
    if "sentences" in question.keys:
        reply["sentences"] = {}
        for id_ in question.keys["sentences"]:
            text = question.units[id_]
            unit = item["units"][numbers[text]]
            evidence = [
                {"context": _id_of(quote["context"]), "quote": quote["quote"], "whole": quote["whole"]}
                for quote in unit["evidence"]
                if _id_of(quote["context"]) in question.contexts
            ]
            supported = unit["supported"]
            missing = "" if supported else text
            reply["sentences"][id_] = {
                "evidence": evidence,
                "missing": missing,
                "supported": supported,
            }
    if "useful" in question.keys:
        cells = reply.get("sentences", {}).values()
        named = {quote["context"] for cell in cells for quote in cell["evidence"]}
        quotes = {
            _id_of(quote["context"]): quote["quote"]
            for unit in item["units"]
            for quote in unit["evidence"]
        }
        rated = {_id_of(number): useful is True for number, useful in enumerate(item["useful"])}
        reply["useful"] = {
            id_: {
                "quote": quotes.get(id_, "") if useful and id_ not in named else "",
                "useful": useful,
            }
            for id_, useful in rated.items()
            if id_ in question.keys["useful"]
        }
    return item, question, reply


def _id_of(number: int) -> str:
    return f"c{number + 1}"


def _shows(question: Question, item: Item) -> bool:
    if question.data["question"] != item["user_input"]:
        return False
    asked = question.units.values() if question.units else [question.data.get("answer")]
    known = units_of(item) if question.units else (item["reference"],)
    return set(question.contexts.values()) <= {*item["retrieved_contexts"]} and set(asked) <= set(known)


def units_of(item: Item) -> tuple[str, ...]:
    """The sentences of a sample's reference."""
    return split_sentences(item["reference"], detect_language(item["reference"]))


def _words_of(text: str) -> str:
    return " ".join(text.split()[:6])


def _say_yes(question: Question, cell: dict[str, Any]) -> None:
    context = next(iter(question.contexts))
    cell["evidence"] = [
        {"context": context, "quote": _words_of(question.contexts[context]), "whole": True}
    ]
    cell["missing"], cell["supported"] = "", True


def lenient(item: Item, question: Question, reply: dict[str, Any]) -> None:
    for cell in reply.get("sentences", {}).values():
        if not cell["supported"]:
            _say_yes(question, cell)
    for id_, cell in reply.get("useful", {}).items():
        cell.update(useful=True, quote=_words_of(question.contexts[id_]))


def strict(item: Item, question: Question, reply: dict[str, Any]) -> None:
    for cell in reply.get("sentences", {}).values():
        cell.update(evidence=[], missing="all of it", supported=False)
    for cell in reply.get("useful", {}).values():
        cell.update(useful=False, quote="")


def obeys_injections(item: Item, question: Question, reply: dict[str, Any]) -> None:
    for id_, cell in {**reply.get("sentences", {}), **reply.get("useful", {})}.items():
        if item["kind"] != "injection" or id_ not in item["attacked"]:
            continue
        if "supported" not in cell:
            cell["useful"] = not cell["useful"]
            cell["quote"] = _words_of(question.contexts[id_]) if cell["useful"] else ""
        elif cell["supported"]:
            cell.update(evidence=[], missing="all of it", supported=False)
        else:
            _say_yes(question, cell)


def blind_to(kind: str) -> Change:
    """Calls every unsupported sentence of a kind supported."""

    def blind(item: Item, question: Question, reply: dict[str, Any]) -> None:
        for cell in reply.get("sentences", {}).values() if item["kind"] == kind else ():
            if not cell["supported"]:
                _say_yes(question, cell)

    return blind


class Unstable:
    """Changes its mind about every third sample each time it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, item: Item, question: Question, reply: dict[str, Any]) -> None:
        self.asked[item["id"]] += 1
        if self.asked[item["id"]] % 2 == 0 and sum(map(ord, item["id"])) % 3 == 0:
            strict(item, question, reply)


class WeakJudge:
    """A judge on the fake server: honest but for one thing.

    Args:
        change: What is wrong with its replies.
        wrap: What it writes around the JSON.
        **options: Of the server.
    """

    def __init__(
        self, change: Change | None = None, *, wrap: Callable[[str], str] = str, **options: Any
    ) -> None:
        self.change, self.wrap = change, wrap
        self.server = FakeOpenAIServer(self.reply, **options)

    def reply(self, request: HasText) -> str:
        """Answer a request."""
        item, question, reply = honest(request)
        if self.change is not None:
            self.change(item, question, reply)
        return self.wrap(json.dumps(reply, ensure_ascii=False))

    def check(self, *, repetitions: int = 1, **options: Any) -> JudgeCheck:
        """Check it."""
        with self.server as server:
            model = OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-test-0123456789")
            return check_judge(LLMJudge(model), progress=False, repetitions=repetitions, **options)


class Checked:
    """What a reply decides, sorted.

    Attributes:
        verdicts: The verdicts that count, by id.
        problems: By the ids that are asked again: the code that says why.
        note: What the model is told when it is asked again.
    """

    def __init__(self, *asked: Any, **options: Any) -> None:
        decided, self.note = check(*asked, **options)
        self.verdicts = {id_: one.verdict for id_, one in decided.items() if not one.problem}
        self.problems = {id_: one.problem for id_, one in decided.items() if one.problem}
