"""The questions in a terminal, where there is no browser: one line typed an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctxmetrics.agreement.labelling.session import Session
from ctxmetrics.comparison.answers import CANNOT_SAY, NO, SKIPPED, UNITS, YES
from ctxmetrics.errors import ParameterError

_KEYS = {"y": YES, "n": NO, "c": CANNOT_SAY, "s": SKIPPED}
_HELP = "y yes, n no, c cannot say, s skip, b back, v the judge's verdict, q stop"


def run_in_terminal(session: Session, read: Callable[[], str], write: Callable[[str], None]) -> None:
    """Ask until every question has an answer, or the person stops.

    Args:
        session: The questions.
        read: Returns a line that was typed; EOFError is a stop.
        write: Shows a text.

    Raises:
        OutputFileError: An answer cannot be written.
    """
    number = session.next_after(-1)
    before: list[int] = []
    sample = None
    while number is not None:
        data = session.show(number)
        if data["sample"] != sample:
            write(_sample(data))
        sample = data["sample"]
        write(_question(data))
        try:
            word, *contexts = read().lower().split() or [""]
        except EOFError:
            return
        try:
            if word == "q":
                return
            if word == "b" and before:
                number = before.pop()
            elif word == "v":
                write(f"the judge: {session.verdict(number)}")
            elif word in _KEYS:
                session.answer(number, _KEYS[word], [f"c{name.removeprefix('c')}" for name in contexts])
                before.append(number)
                number = session.next_after(number)
            else:
                write(_HELP)
        except ParameterError as error:
            write(str(error))


def _sample(data: dict[str, Any]) -> str:
    contexts = [f"\nc{place}  {text}" for place, text in enumerate(data["contexts"], 1)]
    return "\n".join(
        [
            f"\n=== sample {data['sample']} of {data['samples']} {data['name']}".rstrip(),
            f"\nquestion:  {data['user_input'] or '-'}",
            f"\nreference: {''.join(data['reference'])}",
            *(contexts or ["\nNothing was retrieved."]),
        ]
    )


def _question(data: dict[str, Any]) -> str:
    head = f"\n[{data['number'] + 1} of {data['questions']}] {data['item']}"
    before = f" (you said {data['answer']})" if data["answer"] else ""
    if data["label"] == UNITS:
        return (
            f"{head}{before}  {data['reference'][1]}\n"
            "Do the contexts state this sentence? (y 1 3: yes, by c1 and c3)"
        )
    text = data["contexts"][int(data["item"][1:]) - 1]
    return f"{head}{before}  {text}\nIs this context useful for giving the reference answer?"
