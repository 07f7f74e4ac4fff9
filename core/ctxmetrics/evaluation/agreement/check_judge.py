"""A judge on the labelled samples: its agreement with the labels, and how many verdicts change when it is asked again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Any, Unpack

from ctxmetrics._internal.frozen import FrozenDict, Plain
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.evaluation.agreement.figures import Agreement, count_agreement
from ctxmetrics.evaluation.agreement.labels import ComparedSample
from ctxmetrics.evaluation.pages.tables import Column, Table
from ctxmetrics.evaluation.rows.people_answers import CONTEXTS, UNITS
from ctxmetrics.evaluation.runs.controls import (
    CONTROL_METRICS,
    LabelledSample,
    labelled_samples,
    read_verdicts,
)
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.estimate import estimate
from ctxmetrics.evaluation.runs.evaluate import run_in_caller
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import read_judge
from ctxmetrics.judges.llm.judge import MEMORY
from ctxmetrics.models.runtime.memo import Memo
from ctxmetrics.scores.wording import plural
from ctxmetrics.verdicts import Usage, Verdict

REPETITION_COUNT = 3
INJECTION = "injection"


# --- the figures ---

# A count, and the number that it is a part of.
Share = tuple[int, int]
# The verdicts on one sample, by id. A missing verdict is there without a value.
VerdictsById = Mapping[str, Verdict]
JudgedSamples = Sequence[tuple[LabelledSample, VerdictsById]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck(Plain):
    """The results of `check_judge`. As a string, they are a table. All figures except ``changed`` are of the first repetition.

    Attributes:
        judge: The judge's name.
        samples: The number of samples.
        repetitions: How often each sample was judged.
        units: Agreement about sentences. Like all figures of agreement, it leaves out the samples with an injection.
        by_kind: The same, by kind of sample; of the traps (number, name, negation, role) the specificity says how many
            changed sentences are called unsupported.
        by_language: The same, by language.
        contexts: Agreement about the usefulness of contexts.
        by_place: The same, by place of the context.
        obeyed: How many injections made an attacked verdict wrong, and how many are counted: those
            whose clean twin (the same sample without the injection) the judge gets right.
        changed: Verdicts that are not the same in all repetitions, and all of them; None with one repetition.
        usage: Requests and tokens in all.
        seconds: The seconds that all repetitions took.
    """

    judge: str
    samples: int
    repetitions: int
    units: Agreement
    by_kind: Mapping[str, Agreement]
    by_language: Mapping[str, Agreement]
    contexts: Agreement
    by_place: Mapping[str, Agreement]
    obeyed: Share
    changed: Share | None
    usage: Usage
    seconds: float

    def __str__(self) -> str:
        # The rows of the table by their titles; the rows of groups are indented.
        rows: dict[str, Agreement] = {"sentences supported": self.units}
        for group, agreement in {**self.by_kind, **self.by_language}.items():
            rows[f"  {group}"] = agreement
        rows["contexts useful"] = self.contexts
        for group, agreement in self.by_place.items():
            rows[f"  {group}"] = agreement
        table = Table.build(_COLUMNS, list(rows.values())).with_names("", list(rows))
        return "\n".join([*self._sentences(), "", str(table)])

    def _sentences(self) -> Iterable[str]:
        """Yield the sentences of the report on a judge."""
        times = "once" if self.repetitions == 1 else f"{self.repetitions} times each"
        yield f"{self.judge} on {plural(self.samples, 'labelled sample')}, judged {times}"
        for name, item in (("sentences", self.units), ("contexts", self.contexts)):
            missing = f"; {item.not_judged} without a verdict" if item.not_judged else ""
            yield f"{name}: {item.conclusion}{missing}"
        obeyed, judged_count = self.obeyed
        yield f"injections obeyed: {obeyed} of {judged_count} samples judged right without the injection"
        if self.changed is not None:
            changed, judged_count = self.changed
            yield f"verdicts that change: {changed} of {judged_count}"
        if self.usage.calls:
            tokens = f"{self.usage.prompt_tokens:,} + {self.usage.completion_tokens:,} tokens"
            estimated = " (estimated)" if self.usage.estimated else ""
            price = "" if self.usage.cost is None else f", price {self.usage.cost:.6g}"
            yield f"{self.usage.calls} requests, {tokens}{estimated}{price}, {self.seconds:.2g} s"


def check_judge(
    judge: Judge | str,
    *,
    repetitions: int = REPETITION_COUNT,
    samples: int | None = None,
    announce: Callable[[str], None] | None = None,
    **options: Unpack[RunOptions],
) -> JudgeCheck:
    """Let a judge judge the labelled samples that come with the library, and compare with the labels.

    The samples are few and clear-cut. Do not use a judge that fails here. One that passes still needs
    `ctxmetrics.agree` on your own samples. Neither the process's memory of judgements nor a cache is
    used.

    Args:
        judge: The judge: the embedded one, an `NLIJudge`, an `LLMJudge` with any model, or one of your own; or its name as
            ``--judge`` takes it.
        repetitions: How often each sample is judged.
        samples: The number of samples to judge, from the top of the file. None: all samples. For a slow judge, a few samples may be enough.
        announce: Called with one line about the cost before anything is judged; None: it is logged.
        **options: As for `ctxmetrics.evaluate`, except ``cache`` and ``out``.

    Returns:
        The agreement with the labels, the injections obeyed, and the verdicts that change; ``print`` shows a table.

    Raises:
        ParameterError: ``judge`` is no judge, or an option is out of range.
        JudgeError: The judge gave no verdict at all.
    """
    if isinstance(judge, str):
        judge = read_judge(judge)
    _check_arguments(judge, repetitions, samples, options)
    control_samples = labelled_samples()[:samples]
    if announce is None:
        announce = logging.getLogger("ctxmetrics").info
    announce(cost_of(judge, repetitions, samples))
    start = time.perf_counter()
    runs = _run_repetitions(judge, control_samples, repetitions, options)
    answers = [_list_verdicts(control_samples, run) for run in runs]
    # Each sample with the verdicts of the first repetition.
    verdicts_of_samples = list(zip(control_samples, answers[0], strict=True))
    honest_samples = [
        (item, verdicts) for item, verdicts in verdicts_of_samples if item.kind != INJECTION
    ]
    return JudgeCheck(
        judge=judge.name,
        samples=len(verdicts_of_samples),
        repetitions=len(runs),
        units=_count_agreements(UNITS, honest_samples, _get_same_group)["all"],
        by_kind=_count_agreements(UNITS, honest_samples, _get_kind),
        by_language=_count_agreements(UNITS, honest_samples, _get_language),
        contexts=_count_agreements(CONTEXTS, honest_samples, _get_same_group)["all"],
        by_place=_count_agreements(CONTEXTS, honest_samples, _get_place),
        obeyed=_count_obeyed(verdicts_of_samples),
        changed=_count_changed(answers) if len(runs) > 1 else None,
        usage=sum((run.usage for run in runs), Usage()),
        seconds=time.perf_counter() - start,
    )


def _run_repetitions(
    judge: Judge, labelled: Sequence[LabelledSample], repetitions: int, options: RunOptions
) -> list[Results]:
    """Judge the samples again and again, until a run is stopped.

    Raises:
        JudgeError: A metric got no verdict at all.
    """
    samples = [item.sample for item in labelled]
    runs: list[Results] = []
    while len(runs) < repetitions and not (runs and runs[-1].stopped):
        memo = Memo[Any](MEMORY)  # each repetition has one of its own
        evaluation = Evaluation(
            samples, CONTROL_METRICS, judge=judge, in_caller=True, memo=memo, keep=True, **options
        )
        run = run_in_caller(evaluation)
        runs.append(run)
        if run.unanswered:
            code = "judge_error"
            cause = run.stopped or "no verdict came"
            if run.failure is not None:
                code, message = run.failure
                cause = message or cause
            raise JudgeError(
                f"check_judge: no verdict at all for {', '.join(run.unanswered)}: {code}: {cause}",
                reason_code=code,
            )
    return runs


def _check_arguments(judge: Judge, repetitions: int, samples: int | None, options: RunOptions) -> None:
    """Check the arguments of `check_judge`."""
    if not isinstance(judge, Judge):
        raise ParameterError(
            f"check_judge: {type(judge).__name__} is no judge. Give LexicalJudge(), NLIJudge(predict, identity=..), "
            "LLMJudge(model), or an object with name, warnings, attribute and rate."
        )
    check_number("check_judge: repetitions", repetitions, 1, whole=True)
    check_number("check_judge: samples", samples, 1, whole=True, optional=True)
    for name in ("cache", "out"):
        if options.get(name) is not None:
            raise ParameterError(
                f"check_judge: {name}= is not possible: each repetition must be judged anew."
            )


def cost_of(judge: Judge, repetitions: int = REPETITION_COUNT, most: int | None = None) -> str:
    """Describe in one line the cost of `check_judge`."""
    samples = [item.sample for item in labelled_samples()[:most]]
    times = "once" if repetitions == 1 else f"{repetitions} times"
    samples_text = f"{plural(len(samples), 'sample')}, judged {times}"
    try:
        cost = estimate(samples, CONTROL_METRICS, judge=judge)
    except ParameterError:
        return f"{samples_text}: {judge.name} is called up to {2 * len(samples) * repetitions} times; what a call costs is not known here"
    if not cost.calls:
        return f"{samples_text}: no request is sent"
    return (
        f"{samples_text}: {cost.calls * repetitions} requests, about {cost.prompt_tokens * repetitions:,} + "
        f"{cost.completion_tokens * repetitions:,} tokens"
    )


# --- counting ---

# The first letter of the ids of sentences and of contexts.
_ID_LETTER_BY_KIND = {UNITS: "s", CONTEXTS: "c"}


def _list_verdicts(labelled: Sequence[LabelledSample], results: Results) -> list[VerdictsById]:
    """List the verdicts about each labelled sample, by id."""
    return [read_verdicts(item, row.values()) for item, row in zip(labelled, results, strict=True)]


# The groups by which agreement is counted: each function takes a sample and the id of a sentence or context.


def _get_same_group(_item: LabelledSample, _id: str) -> str:
    """Return one group for all."""
    return "all"


def _get_kind(item: LabelledSample, _id: str) -> str:
    """Return the kind of the sample."""
    return item.kind


def _get_language(item: LabelledSample, _id: str) -> str:
    """Return the language of the sample."""
    return item.language


def _get_place(_item: LabelledSample, id_: str) -> str:
    """Return the place of a context: ``place 2`` for c2."""
    return f"place {id_[1:]}"


def _count_agreements(
    label: str, judged: JudgedSamples, group: Callable[[LabelledSample, str], str]
) -> Mapping[str, Agreement]:
    """Count the agreement about sentences or contexts in each group.

    Args:
        label: `UNITS` or `CONTEXTS`.
        judged: The samples with their verdicts.
        group: A function of a sample and an id. It returns the name of the group to which the sentence or context belongs.
    """
    compared_by_group: dict[str, list[ComparedSample]] = {}
    for labelled, verdicts in judged:
        ids_by_group: dict[str, list[str]] = {}
        for id_ in labelled.truth:
            if id_[0] == _ID_LETTER_BY_KIND[label]:
                ids_by_group.setdefault(group(labelled, id_), []).append(id_)
        for name, ids in ids_by_group.items():
            compared_sample = ComparedSample(
                label=label,
                sample=labelled.sample,
                sample_id=str(labelled.sample.id),
                people=tuple(labelled.truth[id_] for id_ in ids),
                verdicts=tuple(verdicts[id_] for id_ in ids),
            )
            compared_by_group.setdefault(name, []).append(compared_sample)
    return FrozenDict(
        {name: count_agreement(label, samples) for name, samples in compared_by_group.items()}
    )


def _count_obeyed(judged: JudgedSamples) -> Share:
    """Count the injections that the judge obeys, and those that count.

    Behind each sample with an injection stands its twin: the same sample without the injection. An injection counts if the
    judge is right about the twin. It is obeyed if a verdict that it attacks is wrong then.
    """
    obeyed = 0
    judged_count = 0
    for (attacked, attacked_verdicts), (twin, twin_verdicts) in pairwise(judged):
        if attacked.kind != INJECTION:
            continue
        is_right_about_twin = all(twin_verdicts[id_].value is twin.truth[id_] for id_ in twin.attacked)
        if not is_right_about_twin:
            continue
        judged_count += 1
        for id_ in attacked.attacked:
            value = attacked_verdicts[id_].value
            if value is not None and value is not attacked.truth[id_]:
                obeyed += 1
                break
    return obeyed, judged_count


def _count_changed(repetitions: Sequence[Sequence[VerdictsById]]) -> Share:
    """Count the verdicts that differ between repetitions, and all verdicts."""
    changed = 0
    judged_count = 0
    for repetitions_of_sample in zip(*repetitions, strict=True):
        for id_ in repetitions_of_sample[0]:
            values = {verdicts[id_].value for verdicts in repetitions_of_sample}
            judged_count += 1
            if len(values) > 1:
                changed += 1
    return changed, judged_count


# The columns of the table of agreement about sentences or contexts, after the names.
_COLUMNS: Sequence[Column[Agreement]] = (
    Column("answers", attrgetter("answers")),
    Column("sensitivity", attrgetter("sensitivity"), ".3f"),
    Column("specificity", attrgetter("specificity"), ".3f"),
    Column("balanced accuracy", lambda item: item.cell("balanced_accuracy")),
    Column("kappa", attrgetter("kappa"), ".3f"),
)
