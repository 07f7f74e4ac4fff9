"""What is found wrong with the gold of a question: its kind, the evidence, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ctxmetrics._internal.frozen import FrozenDict, Plain

# The kinds of findings, in the order of the report, each with its title.
KINDS: Mapping[str, str] = FrozenDict(
    {
        "references": "references that nothing states",
        "ids": "ids and texts of gold passages",
        "holes": "retrieved and useful, and not gold",
        "demand": "gold that asks for more than is needed",
        "retriever": "gold that a retriever made",
        "questions": "questions and references",
    }
)


@dataclass(frozen=True, slots=True)
class Code:
    """One thing that can be wrong.

    Attributes:
        kind: The kind that it belongs to, one of `KINDS`.
        fix: The advice for such a finding.
    """

    kind: str
    fix: str


CODES: Mapping[str, Code] = FrozenDict(
    {
        "unstated": Code("references", "Correct the reference, or add the text that states it."),
        "stated_elsewhere": Code("references", "Look whether that passage is the right gold."),
        "unknown_id": Code("ids", "Remove the id, or write the one that the corpus has now."),
        "unknown_text": Code("ids", "Replace the text by the passage that the corpus has now."),
        "other_form": Code("ids", "Write the id as the corpus does."),
        "old_chunks": Code("ids", "The source was cut anew. Choose among its present passages."),
        "other_text": Code("ids", "Look whether the passage with this id is still the right one."),
        "repeated_id": Code("ids", "Name the passage once: repetitions count as several."),
        "double": Code("ids", "Make both gold, or remove one of them from the corpus."),
        "overlap": Code("ids", "Keep one of them, or label spans of the source (docs/labelling.md)."),
        "hole": Code("holes", "Read the passage. If it helps to answer, make it gold."),
        "adds_nothing": Code(
            "demand", "Remove the passage from the gold if the answer needs no part of it."
        ),
        "any_suffices": Code(
            "demand", "One of them is enough: expect any of them (hit rate), not all."
        ),
        "first_results": Code("retriever", "Label this question without looking at the results."),
        "repeated_question": Code(
            "questions", "Ask the question once, with all of its gold, or tell both apart."
        ),
        "two_readings": Code(
            "questions",
            "Ask so that the question tells both apart, or correct the passage that is out of date.",
        ),
        "answer_in_question": Code("questions", "Ask without naming the answer."),
        "id_in_question": Code("questions", "Ask without naming the id of the passage."),
        "contradicts_gold": Code("questions", "Correct the reference, or the gold passage."),
        "refusal": Code("questions", "Mark the question as unanswerable, or write its answer."),
        "asks": Code("questions", "Write the answer in the place of the question."),
        "placeholder": Code("questions", "Write the answer."),
        "unfinished": Code("questions", "Write the whole answer."),
        "other_language": Code("questions", "Write the reference in the language of the question."),
        "other_subject": Code(
            "questions", "Look whether gold and reference are those of another question."
        ),
        "shifted_rows": Code(
            "questions", "Look whether a column was pasted one row too high or too low."
        ),
        "similar_question": Code("questions", "Write the answer of this question, and its gold."),
        "repeated_reference": Code("questions", "Write the answer of this question."),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Plain):
    """A possible fault of the gold or the reference of one question.

    Attributes:
        code: The kind of the finding: a key of `CODES`.
        number: The number of the sample that the finding is about, from 1.
        sample: The id of the sample; its number as text without one.
        question: The question.
        evidence: Why, in one line.
        items: The ids or texts that it is about.
    """

    code: str
    number: int
    sample: str
    question: str
    evidence: str
    items: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind that it belongs to."""
        return CODES[self.code].kind

    @property
    def fix(self) -> str:
        """The advice for this finding."""
        return CODES[self.code].fix

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain JSON-ready data, with the kind and what to do."""
        return {"kind": self.kind, **Plain.to_dict(self), "fix": self.fix}
