"""Labelled samples that come with the library (``controls.json``, described in ``controls.md``): they show whether a judge is right.

`check_judge` lets a judge judge all of them, and `check_model` tries a model with one. A run that asks for controls judges some of
them between its own samples. The judge's verdicts on texts whose truth is known show whether it says one thing to
everything, alternates, or becomes worse during the run.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.report.summary import Controls
from ctxmetrics.evaluation.statistics.intervals import wilson
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score
from ctxmetrics.text.languages import detect_language
from ctxmetrics.verdicts import EMPTY_FORM, Usage, Verdict

CLEAN_TWIN = "clean twin"
# With more contexts, some are not among the first two, and some are not among the last two.
_FEW_CONTEXT_COUNT = 2
# The subject of a verdict, by the first letter of its id.
_SUBJECT_BY_LETTER = {"s": "sentences", "c": "contexts"}
# By the first letter of the id: the codes of verdicts that the library corrected. The judge was wrong there.
_CORRECTED_CODES = {
    "s": frozenset({"unverified_evidence"}),
    "c": frozenset({"unverified_evidence", "contradicted"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSample:
    """A control: a sample with its right verdicts.

    Attributes:
        sample: The sample.
        kind: The fault of judges that the sample tests.
        language: The language of its texts.
        truth: For each sentence and context, by its id: whether it is supported or useful; None if people could disagree.
        attacked: The ids whose verdicts an injected text tries to change. The clean twin of the sample has the same ids.
        stating: For each sentence, by its id: the contexts of which each states the whole sentence.
    """

    sample: Sample
    kind: str
    language: str
    truth: Mapping[str, bool | None]
    attacked: frozenset[str]
    stating: Mapping[str, frozenset[int]]


_CONTROL_TEXTS: Mapping[str, Any] = read_data("evaluation.runs", "controls.json")
# The metrics that ask about the sentences and about the contexts of each control.
CONTROL_METRICS: tuple[JudgedMetric, ...] = (ContextRecall(), ContextPrecision())


@cache
def placed_samples() -> tuple[LabelledSample, ...]:
    """Build the samples that only runs with controls use. They find judges that decide by the place or the topic of a context."""
    return tuple(_build_sample(data) for data in _CONTROL_TEXTS["places"])


@cache
def labelled_samples() -> tuple[LabelledSample, ...]:
    """Build the samples, in the order of the file.

    A sample whose text holds an instruction to the judge is followed by the same sample without the instruction.
    """
    samples = []
    for data in _CONTROL_TEXTS["samples"]:
        samples.append(_build_sample(data))
        if "clean" in data:
            twin = {**data, **data["clean"], "id": f"{data['id']}-clean", "kind": CLEAN_TWIN}
            samples.append(_build_sample(twin))
    return tuple(samples)


def build_trial_sample() -> LabelledSample:
    """Build the sample with which a model is tried."""
    return _build_sample(_CONTROL_TEXTS["trial"])


def read_verdicts(labelled: LabelledSample, scores: Iterable[Score]) -> dict[str, Verdict]:
    """Read the verdicts about a sample from its scores, by id. A missing verdict is there without a value."""
    verdicts = {id_: Verdict(id=id_, value=None) for id_ in labelled.truth}
    for score in scores:
        verdicts |= {verdict.id: verdict for verdict in score.verdicts if verdict.id in verdicts}
    return verdicts


def _build_sample(data: Mapping[str, Any]) -> LabelledSample:
    """Build a labelled sample of the controls from its data."""
    truth = {f"s{number}": unit["supported"] for number, unit in enumerate(data["units"], 1)}
    truth |= {f"c{number}": value for number, value in enumerate(data["useful"], 1)}
    stating: dict[str, frozenset[int]] = {}
    for number, unit in enumerate(data["units"], 1):
        stating[f"s{number}"] = frozenset(
            quote["context"] for quote in unit["evidence"] if quote["whole"]
        )
    return LabelledSample(
        sample=Sample(
            id=data["id"],
            user_input=data["user_input"],
            reference=data["reference"],
            retrieved_contexts=data["retrieved_contexts"],
        ),
        kind=data["kind"],
        language=data["language"],
        truth=FrozenDict(truth),
        attacked=frozenset(data.get("attacked", ())),
        stating=FrozenDict(stating),
    )


def _list_groups(labelled: LabelledSample, verdict: Verdict) -> Iterator[str]:
    """Yield the groups of a verdict. A judge that decides by the place or the topic is wrong in these groups."""
    id_ = verdict.id
    right_value = labelled.truth[id_]
    context_count = len(labelled.sample.retrieved_contexts or ())
    if right_value is False and labelled.kind == "topic":
        yield "near topics"
    # The indexes of the contexts that make the verdict positive: the contexts that state the sentence, or the context itself.
    own_index = int(id_[1:]) - 1
    contexts = labelled.stating.get(id_, frozenset([own_index]))
    if right_value is not True or context_count <= _FEW_CONTEXT_COUNT or not contexts:
        return
    first_useful = next(index for index in range(context_count) if labelled.truth[f"c{index + 1}"])
    first_two = range(2)
    last_two = range(context_count - 2, context_count)
    if contexts.isdisjoint(first_two):
        yield "later contexts"
    if contexts.isdisjoint(last_two):
        yield "earlier contexts"
    if min(contexts) > first_useful:
        yield "behind the first useful context"


class ControlRun:
    """The controls of one run: when they are judged, and how many verdicts were right.

    Args:
        number: How many; at most as many as there are in English.
        metrics: The metrics of the run, each with its judge.
        total: How many samples the run has, if that is known.

    Raises:
        ParameterError: The number is out of range, or no metric has a judge.
    """

    def __init__(self, number: int, metrics: Sequence[Metric], total: int | None) -> None:
        check_number("evaluate: controls", number, 0, whole=True)
        most_controls = len(_order_samples("en")) if number else 0
        if number > most_controls:
            raise ParameterError(
                f"evaluate: controls={number} must be at most {most_controls}, the number of controls that exist."
            )
        judged_metrics = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
        if number and not judged_metrics:
            raise ParameterError(f"evaluate: controls={number}: no metric of this run has a judge.")
        # By the first letter of the ids of verdicts: "s" for sentences, "c" for contexts.
        metrics_by_letter: dict[str, Metric] = {}
        for metric in judged_metrics:
            if metric.about_units:
                metrics_by_letter.setdefault("s", ContextRecall(judge=metric.judge))
            else:
                metrics_by_letter.setdefault("c", ContextPrecision(judge=metric.judge))
        self.metrics: tuple[Metric, ...] = tuple(metrics_by_letter.values())
        self._id_letters = "".join(metrics_by_letter)
        self._number = number
        self._total = total
        self._open_controls: deque[LabelledSample] | None = None
        # For each control, by its id: its half of the controls ("first half"), and the ids of the verdicts that count.
        self._counted_verdicts: dict[str, tuple[str, Sequence[str]]] = {}
        self._judged_count = 0
        # For each group of verdicts: how many there are, and how many are right.
        self._verdict_counts: Counter[str] = Counter()
        self._right_counts: Counter[str] = Counter()
        # For each kind of sample: how many verdicts are wrong.
        self._wrong_counts: Counter[str] = Counter()
        self._usage = Usage()

    def take_due(self, index: float, sample: Sample | None = None) -> Iterator[LabelledSample]:
        """Take out and yield the controls that are judged before a sample; after the last sample, all that are left.

        Controls are spread evenly over a run of known length. If the length is not known, the distances
        between them grow.

        Args:
            index: The sample's position from 0; ``math.inf`` after the last sample, for all remaining controls.
            sample: The sample. The language of the first sample becomes the language of the controls.
        """
        if self._open_controls is None and sample is not None and self._number:
            self._choose_controls(sample)
        while self._open_controls:
            yielded = self._number - len(self._open_controls)
            if self._total:
                # The run is divided into a section for each control. The control is judged in the middle of its section.
                next_index = (2 * yielded + 1) * self._total // (2 * self._number)
            else:
                next_index = yielded**2
            if index < next_index:
                return
            yield self._open_controls.popleft()

    def _choose_controls(self, sample: Sample) -> None:
        """Choose the controls in the language of a sample, and which of their verdicts count."""
        language = detect_language(sample.reference or sample.user_input or "")
        controls = _order_samples(language)[: self._number]
        self._open_controls = deque(controls)
        middle = self._number // 2
        for name, ids in _choose_ids(controls[:middle], self._id_letters).items():
            self._counted_verdicts[name] = ("first half", ids)
        for name, ids in _choose_ids(controls[middle:], self._id_letters).items():
            self._counted_verdicts[name] = ("second half", ids)

    def add(self, labelled: LabelledSample, scores: Sequence[Score]) -> None:
        """Count a control's right and wrong verdicts. A cancelled control is not counted."""
        if any(score.reason_code == "cancelled" for score in scores):
            return
        verdicts = read_verdicts(labelled, scores)
        self._judged_count += 1
        half, counted_ids = self._counted_verdicts[str(labelled.sample.id)]
        for id_ in counted_ids:
            subject = _SUBJECT_BY_LETTER[id_[0]]
            is_right = _is_right(labelled, verdicts[id_])
            if not is_right:
                self._wrong_counts[labelled.kind] += 1
            self._count(subject, is_right=is_right)
            self._count(f"{subject}, {half}", is_right=is_right)
        for verdict in verdicts.values():
            self._count_groups(labelled, verdict)
        self._usage = sum((score.usage for score in scores), self._usage)

    def _count(self, group: str, *, is_right: bool) -> None:
        """Count a verdict in a group."""
        self._verdict_counts[group] += 1
        if is_right:
            self._right_counts[group] += 1

    def _count_groups(self, labelled: LabelledSample, verdict: Verdict) -> None:
        """Count a verdict in the groups that show in which way a judge errs."""
        if verdict.id[0] not in self._id_letters:
            return
        subject = _SUBJECT_BY_LETTER[verdict.id[0]]
        is_right = _is_right(labelled, verdict)
        for group in _list_groups(labelled, verdict):
            self._count(f"{subject}, {group}", is_right=is_right)
        if subject == "sentences" and verdict.value is False:
            names_what_is_missing = EMPTY_FORM not in verdict.details.get("weak", ())
            self._count(f"{subject}, forms of a no", is_right=names_what_is_missing)

    @property
    def result(self) -> Controls | None:
        """The counts of right and wrong verdicts about the controls; None if no control was judged."""
        verdicts = sum(self._verdict_counts[subject] for subject in _SUBJECT_BY_LETTER.values())
        if not verdicts:
            return None
        right_count = verdicts - self._wrong_counts.total()
        return Controls(
            samples=self._judged_count,
            verdicts=verdicts,
            right=right_count,
            interval=wilson(right_count / verdicts, self._judged_count),
            wrong=FrozenDict(
                {kind: count for kind, count in self._wrong_counts.most_common() if count}
            ),
            usage=self._usage,
            parts=FrozenDict(
                {
                    group: (self._right_counts[group], total)
                    for group, total in sorted(self._verdict_counts.items())
                }
            ),
        )


def _is_right(labelled: LabelledSample, verdict: Verdict) -> bool:
    """Tell whether a verdict is the label, and was not corrected by the library."""
    is_corrected = verdict.code in _CORRECTED_CODES[verdict.id[0]]
    return verdict.value is labelled.truth[verdict.id] and not is_corrected


def _order_samples(language: str) -> Sequence[LabelledSample]:
    """Order the samples: first those of a language, then those in English.

    Of each language, the first sample of each kind comes first, then the second of each kind, and so on.
    """
    languages = [language] if language == "en" else [language, "en"]
    ordered: list[LabelledSample] = []
    for sample_language in languages:
        samples_by_kind: dict[str, list[LabelledSample]] = {}
        for labelled in (*placed_samples(), *labelled_samples()):
            if labelled.language == sample_language:
                samples_by_kind.setdefault(labelled.kind, []).append(labelled)
        # The first sample of each kind, then the second of each; None for a kind that has no more.
        for one_of_each_kind in zip_longest(*samples_by_kind.values()):
            ordered += [labelled for labelled in one_of_each_kind if labelled is not None]
    return ordered


def _choose_ids(samples: Iterable[LabelledSample], id_letters: str) -> Mapping[str, Sequence[str]]:
    """Choose the ids whose verdicts count, by the id of their sample.

    Of the verdicts about sentences, as many with the right answer yes are chosen as with the right answer no; likewise of the
    verdicts about contexts. So a judge that says one thing to everything is wrong in half of the verdicts. If there are more of
    one answer, those count whose sample has most verdicts with the other answer: a judge that confuses two ids is wrong there.

    Args:
        samples: The samples.
        id_letters: The first letters of the ids that may be chosen: ``"s"``, ``"c"`` or both.
    """
    ids_by_sample: dict[str, list[str]] = {}
    # The ids that may be chosen. The key: the first letter of the id, and the right answer.
    candidates: dict[tuple[str, bool], list[_VerdictCandidate]] = {}
    for labelled in samples:
        sample_id = str(labelled.sample.id)
        ids_by_sample[sample_id] = []
        for id_, right_answer in labelled.truth.items():
            letter = id_[0]
            if letter not in id_letters or right_answer is None:
                continue
            answers = [answer for other_id, answer in labelled.truth.items() if other_id[0] == letter]
            # None: people could disagree about the answer. It counts half.
            opposite_count = answers.count(not right_answer) + answers.count(None) / 2
            candidate = _VerdictCandidate(id_, sample_id, opposite_share=opposite_count / len(answers))
            candidates.setdefault((letter, right_answer), []).append(candidate)
    for (letter, right_answer), same_candidates in candidates.items():
        opposite_candidates = candidates.get((letter, not right_answer), [])
        count = min(len(same_candidates), len(opposite_candidates))
        same_candidates.sort(key=lambda candidate: candidate.opposite_share, reverse=True)
        for candidate in same_candidates[:count]:
            ids_by_sample[candidate.sample_id].append(candidate.id)
    return ids_by_sample


class _VerdictCandidate(NamedTuple):
    """The id of a verdict that may be chosen.

    Attributes:
        id: The id of the verdict, such as ``"s1"``.
        sample_id: The id of the sample.
        opposite_share: The share of the sample's verdicts of this kind that have the other right answer.
    """

    id: str
    sample_id: str
    opposite_share: float
