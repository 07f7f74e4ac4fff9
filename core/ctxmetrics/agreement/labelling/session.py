"""The questions of one person: which comes next, what is shown, and what is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Lock
from typing import Any

from ctxmetrics._internal.display import visible_on_page as shown
from ctxmetrics.agreement.labelling.draw import LabelsFile, questions_of
from ctxmetrics.agreement.labels import KINDS
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics import metric_named
from ctxmetrics.presentation.wording import format_verdict
from ctxmetrics.reading import SPAN_MARK
from ctxmetrics.results.labels.answers import (
    ANSWERS,
    ASKED,
    CANNOT_SAY,
    CONTEXTS,
    NO,
    SKIPPED,
    UNITS,
    YES,
    Answer,
    Key,
    Question,
    label_of,
)
from ctxmetrics.results.row import Row
from ctxmetrics.results.rows_file import texts_key
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.text import sentence_spans


def _verdict_on(question: Question, sample: Sample, rows: Mapping[Key, Row] | None) -> str:
    """Return the judge's verdict on a question with its evidence, or why there is none.

    Args:
        question: The question.
        sample: The sample that it is about.
        rows: Rows of a run over the same samples; None: the embedded judge judges the sample.
    """
    if rows is None:
        scores: Iterable[Score] = [KINDS[question.label][1]().score(sample)]
    else:
        scores = rows.get(question.key, {}).values()
    found = [
        verdict
        for score in scores
        for verdict in score.verdicts
        if label_of(metric_named(score.metric, score.provenance.convention)) == question.label
        and verdict.id == question.item
        and (not question.text or verdict.text == question.text)
    ]
    if not found:
        return "The judge gave no verdict on this."
    word = {True: "yes", False: "no", None: "no verdict"}[found[0].value]
    why = format_verdict(found[0]).partition("\n")[2].strip()
    return f"{word}. {why}" if why else word


class Session:
    """The questions of one draw to one person, in order; those that were skipped come last.

    Its methods may be called from several threads.

    Args:
        samples: The samples that can be labelled.
        file: The file of answers, with a draw.
        annotator: Who answers.
        run: Rows of a run over the samples, whose verdicts are shown where the person asks for them; None: the embedded
            judge judges a sample when it is asked for.
        labels: Which labels are asked for.
        then: The command that reads the answers, to be shown at the end.

    Raises:
        ParameterError: A sample of the draw is not among the samples.
    """

    def __init__(
        self,
        samples: Mapping[Key, Sample],
        file: LabelsFile,
        *,
        annotator: str,
        run: Iterable[Row] | None = None,
        labels: Collection[str] = ASKED,
        then: str = "",
    ) -> None:
        self.file: LabelsFile = file
        self.annotator: str = annotator
        self.then: str = then
        self._samples = samples
        self._rows = None if run is None else {texts_key(row): row for row in run}
        file.check(samples)
        self._drawn = {one.key: one for one in file.draw.drawn} if file.draw else {}
        self.questions: list[Question] = [
            question for key in self._drawn for question in questions_of(key, samples[key], labels)
        ]
        self._shown = {
            number
            for number, one in enumerate(map(self._saved, self.questions))
            if one and one.verdict_shown
        }
        self._lock = Lock()

    def _saved(self, question: Question) -> Answer | None:
        return self.file.answers.get((self.annotator, question))

    def _said(self, question: Question) -> str | None:
        return getattr(self._saved(question), "answer", None)

    def counts(self) -> dict[str, int]:
        """Return how many questions there are, how many have each answer, and how many are open."""
        said = [self._said(question) for question in self.questions]
        return {
            "questions": len(said),
            **{answer: said.count(answer) for answer in ANSWERS},
            "open": said.count(None),
        }

    def next_after(self, number: int) -> int | None:
        """Return the next question after one: first those that were never shown, then those that were skipped.

        Args:
            number: From 0; -1: before the first.
        """
        order: list[int] = [*range(number + 1, len(self.questions)), *range(number + 1)]
        said = [(self._said(self.questions[place]), place) for place in order]
        return next(
            (place for wanted in (None, SKIPPED) for word, place in said if word == wanted), None
        )

    def show(self, number: int | None) -> dict[str, Any]:
        """Return what is shown of a question, as plain data; None: that there is none any more.

        Raises:
            ParameterError: There is no such question.
        """
        about = {**self.counts(), "samples": len(self._drawn), "annotator": shown(self.annotator)}
        if number is None:
            return {**about, "number": None, "command": shown(self.then)}
        question = self._question(number)
        sample, saved = self._samples[question.key], self._saved(question)
        reference = sample.reference or ""
        start, end = (
            sentence_spans(reference)[int(question.item[1:]) - 1] if question.label == UNITS else (0, 0)
        )
        return {
            **about,
            "number": number,
            "sample": [*self._drawn].index(question.key) + 1,
            "name": shown(sample.id or ""),
            "label": question.label,
            "item": question.item,
            "user_input": shown(sample.user_input or ""),
            "reference": [
                shown(reference[:start]),
                shown(reference[start:end]),
                shown(reference[end:]),
            ],
            "contexts": [shown(text) for text in sample.retrieved_contexts or ()],
            "answer": saved.answer if saved else None,
            "chosen": list(saved.contexts) if saved else [],
            "verdict_shown": number in self._shown,
        }

    def verdict(self, number: int) -> str:
        """Return the judge's verdict on a question; its answer will say that it had been shown.

        Raises:
            ParameterError: There is no such question.
        """
        question = self._question(number)
        with self._lock:
            self._shown.add(number)
        return _verdict_on(question, self._samples[question.key], self._rows)

    def answer(self, number: int, answer: str, contexts: Collection[str] = ()) -> None:
        """Write an answer; it is on the disk when this returns.

        Args:
            number: The question.
            answer: One of `ANSWERS`.
            contexts: Which contexts state the sentence; only with a yes.

        Raises:
            ParameterError: There is no such question, answer or context.
            OutputFileError: It cannot be written.
        """
        question = self._question(number)
        if answer not in ANSWERS:
            raise ParameterError(f"label: answer {answer!r} must be one of {', '.join(ANSWERS)}.")
        sample = self._samples[question.key]
        known = [f"c{place}" for place, _ in enumerate(sample.retrieved_contexts or (), 1)]
        if contexts and (answer != YES or question.label != UNITS or not set(contexts) <= set(known)):
            raise ParameterError(
                f"label: contexts belong to a yes about a sentence, and this sample has {len(known)} of them."
            )
        chosen = tuple(name for name in known if name in contexts)
        useful = question.label == CONTEXTS and answer == YES
        ids = sample.retrieved_context_ids or ()
        # Where a context stands in its source, as far as its id says so.
        places = dict(zip(known, ids, strict=True)) if len(ids) == len(known) else {}
        with self._lock:
            self.file.add(
                Answer(
                    question,
                    answer,
                    self.annotator,
                    self._drawn[question.key].weight,
                    chosen,
                    number in self._shown,
                    tuple(
                        places[name]
                        for name in ((question.item,) if useful else chosen)
                        if SPAN_MARK in places.get(name, "")
                    ),
                )
            )

    def _question(self, number: int) -> Question:
        if not 0 <= number < len(self.questions):
            raise ParameterError(f"label: there is no question {number}.")
        return self.questions[number]


# --- in a terminal ---

_KEYS = {"y": YES, "n": NO, "c": CANNOT_SAY, "s": SKIPPED}
_HELP = "y yes, n no, c cannot say, s skip, b back, v the judge's verdict, q stop"


def run_in_terminal(session: Session, read: Callable[[], str], write: Callable[[str], None]) -> None:
    """Ask until every question has an answer, or the person stops.

    Args:
        session: The questions.
        read: Returns a line that was typed; an empty text is a stop.
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
        line = read()
        word, *contexts = line.lower().split() or [""]
        try:
            if word == "q" or not line:
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
