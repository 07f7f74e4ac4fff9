"""Labelled samples that come with the library (``controls.json``, described in ``controls.md``): is a judge right about them?

`check_judge` has all of them judged, and `check_model` tries a model with one. A run that asks for controls judges some of
them between its own samples. The judge's verdicts on texts whose truth is known show whether it says one thing to
everything, alternates, or becomes worse during the run.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from operator import itemgetter
from typing import Any

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

CLEAN = "clean twin"
# Of more contexts, the first two and the last two are not all.
_FEW_CONTEXTS = 2
# What a verdict is about, by the first letter of its id.
_PARTS = {"s": "sentences", "c": "contexts"}
# By the first letter of the id, the codes of verdicts that say something else than the judge did: it was wrong.
_CORRECTED = {
    "s": frozenset({"unverified_evidence"}),
    "c": frozenset({"unverified_evidence", "contradicted"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSample:
    """A sample and what is right about it.

    Attributes:
        sample: The sample.
        kind: What it tests.
        language: The language of its texts.
        truth: By the ids of sentences and contexts, whether they are supported or useful; None where people could disagree.
        attacked: The ids whose verdicts an injected text tries to turn; also those of its clean twin.
        stating: By the ids of sentences, the contexts that each state it alone.
    """

    sample: Sample
    kind: str
    language: str
    truth: Mapping[str, bool | None]
    attacked: frozenset[str]
    stating: Mapping[str, frozenset[int]]


_DATA: Mapping[str, Any] = read_data("evaluation.runs", "controls.json")
# What is asked about each of them: its sentences and its contexts.
QUESTIONS: tuple[JudgedMetric, ...] = (ContextRecall(), ContextPrecision())


@cache
def placed_samples() -> tuple[LabelledSample, ...]:
    """Build the samples that only runs with controls use: they find judges that go by the place or the topic."""
    return tuple(map(_build_sample, _DATA["places"]))


@cache
def labelled_samples() -> tuple[LabelledSample, ...]:
    """Build the samples, in the order of the file; an injection is followed by its clean twin."""
    samples = []
    for data in _DATA["samples"]:
        samples.append(_build_sample(data))
        if "clean" in data:
            twin = {**data, **data["clean"], "id": f"{data['id']}-clean", "kind": CLEAN}
            samples.append(_build_sample(twin))
    return tuple(samples)


def trial_sample() -> LabelledSample:
    """Build the sample with which a model is tried."""
    return _build_sample(_DATA["trial"])


def read_verdicts(labelled: LabelledSample, scores: Iterable[Score]) -> dict[str, Verdict]:
    """Read the verdicts about a sample from its scores, by id; one without a value stands for what is missing."""
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
    """Yield the groups to which a verdict belongs: those that a judge gets wrong which goes by the place or the topic."""
    id_ = verdict.id
    wanted = labelled.truth[id_]
    count = len(labelled.sample.retrieved_contexts or ())
    if wanted is False and labelled.kind == "topic":
        yield "near topics"
    # What a yes is about: the context itself, or those that state the sentence.
    homes = labelled.stating.get(id_, frozenset([int(id_[1:]) - 1]))
    if wanted is not True or count <= _FEW_CONTEXTS or not homes:
        return
    first = next(number for number in range(count) if labelled.truth[f"c{number + 1}"])
    for group, contexts in (
        ("later contexts", range(2)),
        ("earlier contexts", range(count - 2, count)),
        ("behind the first useful context", range(first + 1)),
    ):
        if homes.isdisjoint(contexts):
            yield group


class ControlRun:
    """The controls of one run, from when they are judged to what was right.

    Args:
        number: How many; at most as many as there are in English.
        metrics: The metrics of the run, each with its judge.
        total: How many samples the run has, where that is known.

    Raises:
        ParameterError: The number is out of range, or no metric has a judge.
    """

    def __init__(self, number: int, metrics: Sequence[Metric], total: int | None) -> None:
        check_number("evaluate: controls", number, 0, whole=True)
        most = len(_order_samples("en")) if number else 0
        if number > most:
            raise ParameterError(
                f"evaluate: controls={number} must be at most {most}, the number of controls that exist."
            )
        judged = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
        if number and not judged:
            raise ParameterError(f"evaluate: controls={number}: no metric of this run has a judge.")
        about: dict[str, Metric] = {}
        for metric in judged:
            if metric.about_units:
                about.setdefault("s", ContextRecall(judge=metric.judge))
            else:
                about.setdefault("c", ContextPrecision(judge=metric.judge))
        self.metrics: tuple[Metric, ...] = tuple(about.values())
        self._about = "".join(about)
        self._number = number
        self._total = total
        self._left: deque[LabelledSample] | None = None
        self._counted: dict[str, tuple[str, Sequence[str]]] = {}
        self._judged = 0
        self._right: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._wrong: Counter[str] = Counter()
        self._usage = Usage()

    def due(self, index: float, sample: Sample | None = None) -> Iterator[LabelledSample]:
        """Yield the controls that are judged before a sample; after the last one, those that are left.

        They are spread evenly over a run of known length. Where the length is not known, the distances
        between them grow.

        Args:
            index: The sample's position from 0; infinite after the last one.
            sample: The sample; the language of the first one decides about that of the controls.
        """
        if self._left is None and sample is not None and self._number:
            language = detect_language(sample.reference or sample.user_input or "")
            ordered = _order_samples(language)[: self._number]
            middle = self._number // 2
            self._left = deque(ordered)
            for half, samples in (("first half", ordered[:middle]), ("second half", ordered[middle:])):
                for name, ids in _choose_ids(samples, self._about).items():
                    self._counted[name] = half, ids
        while self._left:
            begun = self._number - len(self._left)
            place = begun**2
            if self._total:
                place = (2 * begun + 1) * self._total // (2 * self._number)
            if index < place:
                return
            yield self._left.popleft()

    def add(self, labelled: LabelledSample, scores: Sequence[Score]) -> None:
        """Count a control's right and wrong verdicts; of one that was cancelled, nothing."""
        if any(score.reason_code == "cancelled" for score in scores):
            return
        verdicts = read_verdicts(labelled, scores)
        name = str(labelled.sample.id)
        self._judged = self._judged + 1
        half, ids = self._counted[name]
        for id_ in ids:
            part = _PARTS[id_[0]]
            verdict = verdicts[id_]
            right = _is_right(labelled, verdict)
            if not right:
                self._wrong[labelled.kind] += 1
            for group in (part, f"{part}, {half}"):
                self._verdicts[group] += 1
                if right:
                    self._right[group] += 1
        for verdict in verdicts.values():
            self._count_groups(labelled, verdict)
        self._usage = sum((score.usage for score in scores), self._usage)

    def _count_groups(self, labelled: LabelledSample, verdict: Verdict) -> None:
        """Count a verdict in the groups that show how a judge goes wrong."""
        if verdict.id[0] not in self._about:
            return
        part = _PARTS[verdict.id[0]]
        right = _is_right(labelled, verdict)
        for group in _list_groups(labelled, verdict):
            self._verdicts[f"{part}, {group}"] += 1
            self._right[f"{part}, {group}"] += right
        if part == "sentences" and verdict.value is False:
            names_it = EMPTY_FORM not in verdict.details.get("weak", ())
            self._verdicts[f"{part}, forms of a no"] += 1
            self._right[f"{part}, forms of a no"] += names_it

    @property
    def result(self) -> Controls | None:
        """How many verdicts about the controls are right; None where none was judged."""
        verdicts = sum(self._verdicts[part] for part in _PARTS.values())
        if not verdicts:
            return None
        right = verdicts - self._wrong.total()
        return Controls(
            samples=self._judged,
            verdicts=verdicts,
            right=right,
            interval=wilson(right / verdicts, self._judged),
            wrong=FrozenDict({kind: count for kind, count in self._wrong.most_common() if count}),
            usage=self._usage,
            parts=FrozenDict(
                {group: (self._right[group], total) for group, total in sorted(self._verdicts.items())}
            ),
        )


def _is_right(labelled: LabelledSample, verdict: Verdict) -> bool:
    """Whether a verdict is the label, and was not corrected by the library."""
    corrected = verdict.code in _CORRECTED[verdict.id[0]]
    return verdict.value is labelled.truth[verdict.id] and not corrected


def _order_samples(language: str) -> Sequence[LabelledSample]:
    """Order the samples of a language, then those in English: one of each kind, then another one of each."""
    ordered: list[LabelledSample] = []
    for own in dict.fromkeys((language, "en")):
        kinds: dict[str, list[LabelledSample]] = {}
        for item in (*placed_samples(), *labelled_samples()):
            if item.language == own:
                kinds.setdefault(item.kind, []).append(item)
        for tier in zip_longest(*kinds.values()):
            ordered += filter(None, tier)
    return ordered


def _choose_ids(samples: Iterable[LabelledSample], about: str) -> Mapping[str, Sequence[str]]:
    """Choose by sample the ids whose verdicts are counted: as many right yeses as noes about units, the same about contexts.

    So a judge that says one thing to everything is wrong in half of the counted verdicts. Where one verdict is right more
    often, those beside most opposite ones count, one that people could disagree about as half of one: verdicts that stand
    at another id are wrong there.
    """
    groups: dict[tuple[str, bool], list[tuple[float, str, str]]] = {}
    counted: dict[str, list[str]] = {}
    for item in samples:
        counted[str(item.sample.id)] = []
        for id_, value in item.truth.items():
            if id_[0] in about and value is not None:
                beside = [truth for other, truth in item.truth.items() if other[0] == id_[0]]
                opposite = (beside.count(not value) + beside.count(None) / 2) / len(beside)
                groups.setdefault((id_[0], value), []).append((opposite, str(item.sample.id), id_))
    for (about_id, value), group in groups.items():
        least = min(len(group), len(groups.get((about_id, not value), ())))
        for _, sample, id_ in sorted(group, key=itemgetter(0), reverse=True)[:least]:
            counted[sample].append(id_)
    return counted
