"""The questions of one person: the next question, the texts that are shown, and the answers that are written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from ctxmetrics._internal.display import replace_invisible_on_page
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.agreement.labelling.draw import LabelsFile, list_questions
from ctxmetrics.evaluation.agreement.labels import KINDS
from ctxmetrics.evaluation.rows.people_answers import (
    ANSWERS,
    ASKED_KINDS,
    CANNOT_SAY,
    CONTEXTS,
    NO,
    SKIPPED,
    UNITS,
    YES,
    LabelQuestion,
    PersonAnswer,
    QuestionKey,
    label_of,
)
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_record import texts_key
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.samples.documents import SPAN_MARK
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.wording import format_verdict
from ctxmetrics.text.sentences import sentence_spans
from ctxmetrics.verdicts import Verdict


def _find_verdict(
    question: LabelQuestion, sample: Sample, rows: Mapping[QuestionKey, Row] | None
) -> str:
    """Find the judge's verdict on a question, and describe it with its evidence. If there is none, say so.

    Args:
        question: The question.
        sample: The sample that it is about.
        rows: Rows of a run over the same samples; None: the embedded judge judges the sample.
    """
    if rows is None:
        _, metric_class = KINDS[question.label]
        scores: Iterable[Score] = [metric_class().score(sample)]
    else:
        scores = rows.get(question.key, {}).values()
    for score in scores:
        metric = find_metric(score.metric, score.provenance.convention)
        if label_of(metric) != question.label:
            continue
        for verdict in score.verdicts:
            is_same_text = not question.text or question.text == verdict.text
            if verdict.id == question.item and is_same_text:
                return _describe_verdict(verdict)
    return "The judge gave no verdict on this."


def _describe_verdict(verdict: Verdict) -> str:
    """Return a verdict in a word, with its evidence."""
    word = {True: "yes", False: "no", None: "no verdict"}[verdict.value]
    _, _, lines_of_evidence = format_verdict(verdict).partition("\n")  # the first line is the verdict
    evidence = lines_of_evidence.strip()
    return f"{word}. {evidence}" if evidence else word


class Session:
    """The questions to one person about the samples that were drawn for labelling, in order. Skipped questions come last.

    Its methods may be called from several threads.

    Args:
        samples: The samples that can be labelled.
        file: The file of answers, with a draw.
        annotator: The name of the person who answers.
        run: Rows of a run over the samples. Their verdicts are shown if the person asks for them. None: the embedded judge
            judges a sample when the person asks.
        labels: The kinds of labels to ask for.
        partners: If two runs retrieved different contexts for a sample: the key of the other run's sample, by the key of the
            first run's sample. A question about a context of both is asked once.
        next_command: The command that reads the answers, to be shown at the end.

    Raises:
        ParameterError: A sample of the draw is not among the samples.
    """

    def __init__(
        self,
        samples: Mapping[QuestionKey, Sample],
        file: LabelsFile,
        *,
        annotator: str,
        run: Iterable[Row] | None = None,
        labels: Collection[str] = ASKED_KINDS,
        partners: Mapping[QuestionKey, QuestionKey] | None = None,
        next_command: str = "",
    ) -> None:
        self.file: LabelsFile = file
        self.annotator: str = annotator
        self.next_command: str = next_command
        self._samples = samples
        self._partners: dict[QuestionKey, QuestionKey] = {}
        for first_key, second_key in (partners or {}).items():
            self._partners[first_key] = second_key
            self._partners[second_key] = first_key
        self._rows = None if run is None else {texts_key(row): row for row in run}
        file.check(samples)
        self._drawn = file.get_drawn()
        self.questions: list[LabelQuestion] = []
        for key in self._drawn:
            self.questions += list_questions(key, samples[key], labels)
        # The questions whose verdict the person has looked at.
        self._revealed: set[int] = set()
        for number, question in enumerate(self.questions):
            saved = self._get_saved_answer(question)
            if saved and saved.verdict_shown:
                self._revealed.add(number)
        self._lock = Lock()

    def _get_saved_answer(self, question: LabelQuestion) -> PersonAnswer | None:
        """Return the answer to a question that the file has. Return None if there is none."""
        return self.file.answers.get((self.annotator, question))

    def _list_answers(self) -> list[str | None]:
        """Return the answer to each question. Return None for an open one."""
        saved_answers = [self._get_saved_answer(question) for question in self.questions]
        return [None if saved is None else saved.answer for saved in saved_answers]

    def counts(self) -> dict[str, int]:
        """Return how many questions there are, how many have each answer, and how many are open."""
        answers = self._list_answers()
        counts = {answer: answers.count(answer) for answer in ANSWERS}
        return {"questions": len(answers), **counts, "open": answers.count(None)}

    def next_after(self, number: int) -> int | None:
        """Return the next question after a question. Questions that were never shown come before skipped questions.

        Args:
            number: From 0; -1: before the first.
        """
        answers = self._list_answers()
        # First the questions after this one, then the questions from the beginning up to this one.
        order: list[int] = [*range(number + 1, len(answers)), *range(number + 1)]
        for open_answer in (None, SKIPPED):
            for position in order:
                if answers[position] == open_answer:
                    return position
        return None

    def show(self, number: int | None) -> dict[str, Any]:
        """Return the shown data of a question. For None, return the data that says that no question is left.

        Raises:
            ParameterError: There is no such question.
        """
        session_data = {
            **self.counts(),
            "samples": len(self._drawn),
            "annotator": replace_invisible_on_page(self.annotator),
        }
        if number is None:
            return {
                **session_data,
                "number": None,
                "command": replace_invisible_on_page(self.next_command),
            }
        question = self._get_question(number)
        sample = self._samples[question.key]
        saved = self._get_saved_answer(question)
        contexts = [replace_invisible_on_page(text) for text in sample.retrieved_contexts or ()]
        return {
            **session_data,
            "number": number,
            "sample": list(self._drawn).index(question.key) + 1,
            "name": replace_invisible_on_page(sample.id or ""),
            "label": question.label,
            "item": question.item,
            "user_input": replace_invisible_on_page(sample.user_input or ""),
            "reference": _split_reference(sample.reference or "", question),
            "contexts": contexts,
            "answer": saved.answer if saved else None,
            "chosen": list(saved.contexts) if saved else [],
            "verdict_shown": number in self._revealed,
        }

    def verdict(self, number: int) -> str:
        """Return the judge's verdict on a question. The person's answer will say that the verdict was shown.

        Raises:
            ParameterError: There is no such question.
        """
        question = self._get_question(number)
        with self._lock:
            self._revealed.add(number)
        return _find_verdict(question, self._samples[question.key], self._rows)

    def answer(self, number: int, answer: str, contexts: Collection[str] = ()) -> None:
        """Write an answer. It is on the disk when this returns.

        Args:
            number: The question.
            answer: One of `ANSWERS`.
            contexts: The names of the contexts that state the sentence; only with a yes.

        Raises:
            ParameterError: There is no such question, answer or context.
            OutputFileError: The answer cannot be written.
        """
        question = self._get_question(number)
        if answer not in ANSWERS:
            raise ParameterError(f"label: answer {answer!r} must be one of {', '.join(ANSWERS)}.")
        sample = self._samples[question.key]
        names = [*_name_contexts(sample)]
        is_yes_about_sentence = answer == YES and question.label == UNITS
        are_known = all(name in names for name in contexts)
        if contexts and not (is_yes_about_sentence and are_known):
            raise ParameterError(
                f"label: contexts belong to a yes about a sentence, and this sample has {len(names)} of them."
            )
        chosen_contexts = tuple(name for name in names if name in contexts)
        contexts_with_spans = chosen_contexts
        if question.label == CONTEXTS and answer == YES:
            contexts_with_spans = (question.item,)
        new_answer = PersonAnswer(
            question=question,
            answer=answer,
            annotator=self.annotator,
            weight=self._drawn[question.key].weight,
            contexts=chosen_contexts,
            verdict_shown=number in self._revealed,
            spans=_find_spans(sample, names, contexts_with_spans),
        )
        with self._lock:
            earlier_answer = self._get_saved_answer(question)
            implied_before = {} if earlier_answer is None else self._find_implied(earlier_answer)
            self.file.add(new_answer)
            implied_now = self._find_implied(new_answer)
            for implied_answer in implied_now.values():
                self.file.add(implied_answer)
            for other_question, implied_answer in implied_before.items():
                # The earlier answer settled this question and the new answer does not: so the question is asked again.
                is_unchanged = self._get_saved_answer(other_question) == implied_answer
                if other_question not in implied_now and is_unchanged:
                    self.file.add(replace(implied_answer, answer=SKIPPED, contexts=(), spans=()))

    def _find_implied(self, answer: PersonAnswer) -> dict[LabelQuestion, PersonAnswer]:
        """Find the answers that an answer settles about the other run's version of the sample, by their questions.

        A context is equally useful in both versions. A sentence that a context states is stated in every version that has this
        context. A sentence that some contexts do not state is not stated by a part of them.
        """
        question = answer.question
        other_key = self._partners.get(question.key, question.key)
        if other_key == question.key:
            return {}
        other_sample = self._samples[other_key]
        # The texts of the contexts by their names: in the version of the sample that the answer is about, and in the other version.
        own_contexts = _name_contexts(self._samples[question.key])
        other_contexts = _name_contexts(other_sample)
        other_names = [*other_contexts]
        implied: dict[LabelQuestion, PersonAnswer] = {}
        if question.label == CONTEXTS:
            for name, text in other_contexts.items():
                if text == own_contexts[question.item]:
                    names_with_spans = [name] if answer.answer == YES else []
                    spans = _find_spans(other_sample, other_names, names_with_spans)
                    other_question = replace(question, key=other_key, item=name)
                    implied[other_question] = replace(answer, question=other_question, spans=spans)
        else:
            named_texts = {own_contexts[name] for name in answer.contexts}
            own_texts = set(own_contexts.values())
            if _is_settled(answer, named_texts, own_texts, set(other_contexts.values())):
                names = tuple(name for name, text in other_contexts.items() if text in named_texts)
                spans = _find_spans(other_sample, other_names, names)
                other_question = replace(question, key=other_key)
                implied[other_question] = replace(
                    answer, question=other_question, contexts=names, spans=spans
                )
        asked_questions = set(self.questions)
        return {item: implied[item] for item in implied if item in asked_questions}

    def _get_question(self, number: int) -> LabelQuestion:
        """Return the question with a number, from 0.

        Raises:
            ParameterError: There is no such question.
        """
        if not 0 <= number < len(self.questions):
            raise ParameterError(f"label: there is no question {number}.")
        return self.questions[number]


def _split_reference(reference: str, question: LabelQuestion) -> list[str]:
    """Split the reference into the text before, in and after the sentence of a question. Without a sentence, all is after it."""
    start = 0
    end = 0
    if question.label == UNITS:
        number = int(question.item[1:])  # "s2" is the second sentence
        start, end = sentence_spans(reference)[number - 1]
    parts = (reference[:start], reference[start:end], reference[end:])
    return [replace_invisible_on_page(sentence) for sentence in parts]


def _name_contexts(sample: Sample) -> dict[str, str]:
    """Return the texts of a sample's contexts by the names that questions give them."""
    return {f"c{number}": text for number, text in enumerate(sample.retrieved_contexts or (), 1)}


def _is_settled(
    answer: PersonAnswer, named_contexts: set[str], own_contexts: set[str], other_contexts: set[str]
) -> bool:
    """Tell whether an answer about a sentence is the same for other contexts.

    Args:
        answer: The answer.
        named_contexts: The contexts that state the sentence, if the person named them.
        own_contexts: The contexts that the answer is about.
        other_contexts: The other contexts.
    """
    if answer.answer == YES:
        # If the person named no context, any context of the answer may state the sentence.
        stating = named_contexts or own_contexts
        return stating <= other_contexts
    # A no about more contexts is a no about fewer.
    if answer.answer == NO:
        return other_contexts <= own_contexts
    return own_contexts == other_contexts


def _find_spans(sample: Sample, names: Sequence[str], contexts: Iterable[str]) -> tuple[str, ...]:
    """Return the spans of contexts in their sources, for contexts whose ids say so."""
    ids = sample.retrieved_context_ids or ()
    if len(ids) != len(names):
        return ()
    spans = dict(zip(names, ids, strict=True))
    return tuple(spans[name] for name in contexts if SPAN_MARK in spans.get(name, ""))


# --- in a terminal ---

_ANSWER_BY_KEY = {"y": YES, "n": NO, "c": CANNOT_SAY, "s": SKIPPED}
_KEY_HELP = "y yes, n no, c cannot say, s skip, b back, v the judge's verdict, q stop"


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
    answered_numbers: list[int] = []
    sample_shown: int | None = None
    while number is not None:
        data = session.show(number)
        if data["sample"] != sample_shown:
            write(_format_sample(data))
            sample_shown = data["sample"]
        write(_format_question(data))
        line = read()
        words = line.lower().split() or [""]
        key = words[0]
        context_names = [f"c{word.removeprefix('c')}" for word in words[1:]]
        try:
            if key == "q" or not line:
                return
            if key == "b" and answered_numbers:
                number = answered_numbers.pop()
            elif key == "v":
                write(f"the judge: {session.verdict(number)}")
            elif key in _ANSWER_BY_KEY:
                session.answer(number, _ANSWER_BY_KEY[key], context_names)
                answered_numbers.append(number)
                number = session.next_after(number)
            else:
                write(_KEY_HELP)
        except ParameterError as error:
            write(str(error))


def _format_sample(data: dict[str, Any]) -> str:
    """Write a sample as the terminal shows it before its questions."""
    head = f"\n=== sample {data['sample']} of {data['samples']} {data['name']}".rstrip()
    question = f"\nquestion:  {data['user_input'] or '-'}"
    reference = f"\nreference: {''.join(data['reference'])}"
    contexts = [f"\nc{number}  {text}" for number, text in enumerate(data["contexts"], 1)]
    if not contexts:
        contexts = ["\nNothing was retrieved."]
    return "\n".join([head, question, reference, *contexts])


def _format_question(data: dict[str, Any]) -> str:
    """Write a question as the terminal shows it."""
    head = f"\n[{data['number'] + 1} of {data['questions']}] {data['item']}"
    if data["answer"]:
        head += f" (you said {data['answer']})"
    if data["label"] == UNITS:
        _, sentence, _ = data["reference"]
        return f"{head}  {sentence}\nDo the contexts state this sentence? (y 1 3: yes, by c1 and c3)"
    number = int(data["item"][1:])  # "c2" -> 2
    context = data["contexts"][number - 1]
    return f"{head}  {context}\nIs this context useful for giving the reference answer?"
