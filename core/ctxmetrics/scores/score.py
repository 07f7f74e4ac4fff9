"""The result of a metric: a score with its verdicts and its provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

from ctxmetrics._internal.frozen import EMPTY, Plain, fields_to_json_data
from ctxmetrics.scores import wording
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.wording import clean, say
from ctxmetrics.verdicts import DOUBTFUL, NO_USAGE, PENDING, Count, Usage, Verdict

# Why a score has no value. These codes are stable: programs may rely on them.
ReasonCode = Literal[
    "no_reference",  # nothing is expected: the reference side is empty or holds no letter or digit
    "no_response",  # the response is empty, for metrics that compare with the response
    "no_retrieved_contexts",  # nothing was retrieved, and the convention calls that undefined
    "missing_field",  # the sample lacks a field that other samples have
    "joined_contexts",  # the contexts of the run are several passages in one text, so that the rank says nothing
    "several_searches",  # the metric is about the ranks of one search, and the question has several
    "unanswerable",  # the question has no answer: a label says so, or the reference is a refusal
    "not_text",  # a field holds a picture, or other content that is not a text
    "not_judged",  # the judge gave no usable verdict for at least one unit or context
    "pending",  # a reply to a batch of requests is not there yet: the same call again goes on
    "cancelled",  # the run was stopped before this sample was reached
    "metric_error",  # the metric itself failed; the message says how
    "retriever_error",  # the retriever that was called failed; the message says how
]

# The reason codes of failures. The other codes are about samples that cannot have a value.
FAILURES = frozenset({"not_judged", "metric_error", "retriever_error"})
# Reason codes of samples that another run may score.
NOT_FINAL = FAILURES | {"cancelled", PENDING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance(Plain):
    """The origin of a score. Two scores may be compared only if their provenance is equal.

    Attributes:
        judge: Name of the judge and its model, or None if nothing is judged.
        prompt: Version of the prompt, if one was used.
        served_model: The name of the model that answered, as its server gave it; None if the server gave none. For the embedded
            judge: a mark of its verdicts on the samples that come with the library.
        splitter: How the reference was cut into units.
        formula: Name of the formula.
        convention: Name of the convention.
        library: ``ctxmetrics`` and its version.
        warnings: What a reader of the number must know about the judge.
    """

    judge: str | None = None
    prompt: str | None = None
    served_model: str | None = None
    splitter: str | None = None
    formula: str = ""
    convention: str = "default"
    library: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One metric on one sample.

    Attributes:
        metric: The metric's name with the parameters that differ from the default.
        value: The number on the convention's scale, or None.
        reason_code: Why there is no value (`ReasonCode`); None when there is one.
        message: The reason in one sentence, with the ids or the field. If there is a value although nothing was judged: which
            side is empty.
        threshold: The pass mark on the score's own scale, or None.
        band: The convention's wording for the value, if it has one.
        verdicts: One for each unit, context or id, in order.
        signals: The convention's own result object, if it has one.
        metadata: What the convention or the judge adds.
        provenance: Judge, prompt, splitter, formula, convention, version, warnings.
        usage: Calls and tokens that this score caused.
        sample_id: The sample's id, if it has one.
        counted: What the verdicts are about and what a yes means: ``("sentence", "supported")``.
        context_lengths: Characters of each context that was judged, where the verdicts are about units; else None.
        contexts: The contexts that were judged; None if they are not known, as in results of a file.
    """

    metric: str
    value: float | None
    reason_code: str | None = None
    message: str | None = None
    threshold: float | None = None
    band: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    signals: Any = None
    metadata: Mapping[str, Any] = field(default=EMPTY, hash=False)
    provenance: Provenance = Provenance()
    usage: Usage = NO_USAGE
    sample_id: str | None = None
    counted: tuple[str, str] = ("verdict", "yes")
    context_lengths: tuple[Count, ...] | None = None
    contexts: tuple[str, ...] | None = field(default=None, repr=False, compare=False)

    @property
    def attribution(self) -> Attribution | None:
        """The matrix units x contexts behind the verdicts; None if the verdicts are not about units."""
        # Only a score whose verdicts are about units has the lengths of its contexts.
        if self.context_lengths is None:
            return None
        repeats = read_repeats(self.metadata.get("repeats"), len(self.context_lengths))
        return Attribution(self.verdicts, self.context_lengths, repeats, self.contexts)

    @property
    def doubtful(self) -> Mapping[str, int]:
        """The number of verdicts of each doubtful code: weak, unverified, contradicted, uncertain or near the bar."""
        return count_doubts(self.verdicts)

    @property
    def language(self) -> str:
        """ISO 639 code of the language in which the score is shown."""
        return get_convention(self.provenance.convention).language

    @property
    def formatted_value(self) -> str:
        """The value as its convention writes it; rounding is for display only."""
        if self.value is None:
            return f"{say('no value', self.language)} ({self.reason_code})"
        text = wording.format_number(self.value, self.provenance.convention)
        whole, point, digits = text.partition(".")
        first_digit = digits[0]
        more_digits = digits[1:].rstrip("0")
        return f"{whole}{point}{first_digit}{more_digits}"

    @property
    def count(self) -> str | None:
        """The number of yes verdicts and of all verdicts, such as ``2 of 3 sentences supported``; None if there are no verdicts."""
        if not self.verdicts:
            return None
        values = [verdict.value for verdict in self.verdicts if verdict.weight]
        return wording.describe_count(
            values.count(True), len(values), values.count(None), self.counted, self.language
        )

    @property
    def explanation(self) -> str | None:
        """Why there is no value, which side is empty, or which ranks are too low; None if the verdicts are enough."""
        text = None
        if self.message is not None:
            text = clean(say(self.message, self.language), wording.MESSAGE)
            if self.reason_code:
                text = f"{self.reason_code}: {text}"
        elif self.provenance.formula == "average_precision":
            text = wording.describe_low_ranks(self.verdicts, self.language)
        if not self.notes:
            return text
        texts = [text] if text else []
        texts += [clean(note, wording.MESSAGE) for note in self.notes]
        return "; ".join(texts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader of the value must know, about repeated contexts, empty ids or contexts without a text."""
        notes = self.metadata.get("notes")
        return tuple(map(str, notes)) if isinstance(notes, (list, tuple)) else ()

    @property
    def share(self) -> float | None:
        """The value as a share of the convention's scale, from 0 to 1; None without a value."""
        if self.value is None:
            return None
        return self.value / get_convention(self.provenance.convention).scale

    @property
    def passed(self) -> bool | None:
        """``value >= threshold``; None without a value or a threshold."""
        if self.value is None or self.threshold is None:
            return None
        return self.value >= self.threshold

    @property
    def reason(self) -> str:
        """A few lines of text: what was missed or is useless, and why."""
        lines: list[str] = []
        explanation = self.explanation
        if explanation is not None:
            lines.append(explanation)
        lines += [f"{text}." for text in (self.count, self.doubts) if text]
        # False is sorted before true, so that verdicts other than yes come first.
        verdicts = sorted(self.verdicts, key=lambda verdict: verdict.value is True)
        lines += [
            wording.format_sentence(verdict, self.language) for verdict in verdicts if verdict.weight
        ]
        return "\n".join(lines)

    @property
    def doubts(self) -> str | None:
        """The number of doubtful verdicts of each code, as a text; None if no verdict is doubtful."""
        counts_by_code = self.doubtful
        return wording.describe_doubts(counts_by_code, self.language) if counts_by_code else None

    def pretty(self, *, color: bool = False, warnings: bool = True) -> str:
        """Return the value, the band, the pass mark and the counts, then a line for each unit with its evidence or what is missing.

        Args:
            color: Colour the ticks and crosses with ANSI escapes.
            warnings: Whether to add the judge's warnings at the end. A run shows them once for all scores.
        """
        name = "" if self.sample_id is None else f"  [{clean(self.sample_id, wording.TEXT)}]"
        remarks = (self.band, self.mark, self.explanation, self.count, self.doubts)
        lines = [f"{self.metric}: {self.formatted_value}{name}"]
        lines += [f"  {text}" for text in remarks if text]
        lines += [
            wording.format_verdict(verdict, color=color, language=self.language)
            for verdict in self.verdicts
        ]
        if warnings:
            lines += [f"  ! {warning}" for warning in self.provenance.warnings]
        return "\n".join(lines)

    @property
    def mark(self) -> str | None:
        """The pass mark, and whether the value reaches it; None without a pass mark or a value."""
        if self.passed is None:
            return None
        state = say("passed" if self.passed else "failed", self.language)
        return f"{say('pass mark', self.language)} {self.threshold:g}: {state}"

    def _repr_html_(self) -> str:
        from ctxmetrics.scores.pages import render  # loads the templates

        return render("score.html", score=self)

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain JSON-ready data; the keys are those of an ``--out`` row."""
        return fields_to_json_data(self, _WRITTEN_FIELDS)


def count_doubts(verdicts: Iterable[Verdict]) -> Mapping[str, int]:
    """Count the verdicts of each doubtful code. A verdict without weight does not count."""
    codes = [verdict.code for verdict in verdicts if verdict.code in DOUBTFUL and verdict.weight]
    return Counter(codes) if codes else EMPTY


def read_repeats(names: object, context_count: int) -> Mapping[int, int]:
    """Read which contexts repeat one above from the metadata of a score: ``{"c3": "c1"}`` is ``{2: 0}``.

    A name of no context is left out: the metadata may come from a file.
    """
    if not isinstance(names, Mapping):
        return {}
    index_by_name = {f"c{index + 1}": index for index in range(context_count)}
    repeats: dict[int, int] = {}
    for name, first_name in names.items():
        is_name = isinstance(first_name, str)
        if not is_name or name not in index_by_name or first_name not in index_by_name:
            continue
        first_index = index_by_name[first_name]
        index = index_by_name[name]
        if first_index < index:
            repeats[index] = first_index
    return repeats


# The keys of a row of ``--out``: the fields and two properties of a score. Two fields are left out, since the row has them already.
_WRITTEN_FIELDS = (
    *(item.name for item in fields(Score) if item.name not in {"counted", "contexts"}),
    "passed",
    "doubtful",
)

# The slot of a score that holds its verdicts, or the function that builds them. At the end of this file, the public attribute is
# replaced by a property that reads this slot.
_verdicts_slot: Any = Score.__dict__["verdicts"]
_VerdictSource = tuple[Verdict, ...] | Callable[[], Iterable[Verdict]]


def _get_verdicts(score: Score) -> tuple[Verdict, ...]:
    """Return the verdicts. If the metric gave a function, it is called at the first access.

    So a caller that reads only the number spends no time on verdicts.
    """
    verdicts: _VerdictSource = _verdicts_slot.__get__(score)
    if callable(verdicts):
        verdicts = tuple(verdicts())
        _verdicts_slot.__set__(score, verdicts)
    return verdicts


class DeferredVerdicts(Protocol):
    """The data of verdicts that are not built yet."""

    def __len__(self) -> int:
        """Count the verdicts."""
        ...

    def __call__(self) -> Iterable[Verdict]:
        """Build the verdicts."""
        ...

    def to_dicts(self) -> list[dict[str, Any]] | None:
        """Return the verdicts as entries of a results file. None if a verdict is more than an id and a value."""
        ...


def get_deferred(score: Score) -> DeferredVerdicts | None:
    """Return the data of the verdicts if the verdicts are not built yet; else None."""
    verdicts: Any = _verdicts_slot.__get__(score)
    return verdicts if hasattr(verdicts, "to_dicts") else None


setattr(Score, "verdicts", property(_get_verdicts, _verdicts_slot.__set__))  # noqa: B010 - type checkers keep the field
