"""A judge on the labelled samples: its agreement with the labels, and how many verdicts change when it is asked again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Unpack

from ctxmetrics._internal.frozen import FrozenDict, Plain
from ctxmetrics.agreement.figures import Agreement, agreement_of, shown
from ctxmetrics.agreement.labels import Compared
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.llm.judge import MEMORY
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall
from ctxmetrics.models.runtime.memo import Memo
from ctxmetrics.presentation.layout import align_rows
from ctxmetrics.results.labels.answers import CONTEXTS, UNITS
from ctxmetrics.results.results import Results
from ctxmetrics.running.controls import LabelledSample, labelled_samples
from ctxmetrics.running.engine import Evaluation, run_in_caller
from ctxmetrics.running.estimate import estimate
from ctxmetrics.running.options import RunOptions
from ctxmetrics.verdicts import Usage, Verdict

REPETITIONS = 3
_METRICS = (ContextRecall(), ContextPrecision())
INJECTION = "injection"


# --- what is found ---

# A count, and the number that it is a part of.
Share = tuple[int, int]
# The verdicts on one sample, by id; one without a value stands for what is missing.
Verdicts = Mapping[str, Verdict]
Judged = Sequence[tuple[LabelledSample, Verdicts]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck(Plain):
    """What `check_judge` found; as a string, a table. All figures but ``changed`` are of the first repetition.

    Attributes:
        judge: The judge's name.
        samples: How many samples there are.
        repetitions: How often each was judged.
        units: Agreement about sentences, as all figures of agreement without the injections.
        by_kind: The same, by kind of sample; of the traps (number, name, negation, role) the specificity says how many
            changed sentences are called unsupported.
        by_language: The same, by language.
        contexts: Agreement about the usefulness of contexts.
        by_place: The same, by place of the context.
        obeyed: How many injections made an attacked verdict wrong, and how many are counted: those
            whose clean twin (the same sample without the injection) the judge gets right.
        changed: Verdicts that are not the same in all repetitions, and all of them; None with one repetition.
        usage: Requests and tokens in all.
        seconds: How long it took in all.
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
        rows = [
            ("", "answers", "sensitivity", "specificity", "balanced accuracy", "kappa"),
            _cells("sentences supported", self.units),
            *(_cells(f"  {name}", item) for name, item in {**self.by_kind, **self.by_language}.items()),
            _cells("contexts useful", self.contexts),
            *(_cells(f"  {name}", item) for name, item in self.by_place.items()),
        ]
        return "\n".join([*self._sentences(), "", *align_rows(rows)])

    def _sentences(self) -> Iterable[str]:
        times = "once" if self.repetitions == 1 else f"{self.repetitions} times each"
        yield f"{self.judge} on {self.samples} labelled samples, judged {times}"
        for name, item in (("sentences", self.units), ("contexts", self.contexts)):
            missing = f"; {item.not_judged} without a verdict" if item.not_judged else ""
            yield f"{name}: {item.conclusion}{missing}"
        yield "injections obeyed: {} of {} samples judged right without the injection".format(
            *self.obeyed
        )
        if self.changed is not None:
            yield "verdicts that change: {} of {}".format(*self.changed)
        if self.usage.calls:
            tokens = f"{self.usage.prompt_tokens:,} + {self.usage.completion_tokens:,} tokens"
            estimated = " (estimated)" if self.usage.estimated else ""
            price = "" if self.usage.cost is None else f", price {self.usage.cost:.6g}"
            yield f"{self.usage.calls} requests, {tokens}{estimated}{price}, {self.seconds:.2g} s"


def check_judge(
    judge: Judge,
    *,
    repetitions: int = REPETITIONS,
    samples: int | None = None,
    announce: Callable[[str], None] | None = None,
    **options: Unpack[RunOptions],
) -> JudgeCheck:
    """Let a judge judge the labelled samples that come with the library, and compare with the labels.

    The samples are few and clear-cut. Do not use a judge that fails here. One that passes still needs
    `ctxmetrics.agree` on your own samples. Neither the process's memory of judgements nor a cache is
    used.

    Args:
        judge: The judge: the embedded one, an `NLIJudge`, an `LLMJudge` with any model, or one of your own.
        repetitions: How often each sample is judged.
        samples: Judge only so many, the first of the file, to try a slow judge; None: all.
        announce: Called with one line about the cost before anything is judged; None: it is logged.
        **options: As for `ctxmetrics.evaluate`, except ``cache`` and ``out``.

    Returns:
        The agreement with the labels, the injections obeyed, and the verdicts that change; ``print`` shows a table.

    Raises:
        ParameterError: It is no judge, or an option is out of range.
        JudgeError: It gave no verdict at all.
    """
    _check(judge, repetitions, samples, options)
    labelled = labelled_samples()[:samples]
    (announce or logging.getLogger("ctxmetrics").info)(cost_of(judge, repetitions, samples))
    start = time.perf_counter()
    runs: list[Results] = []
    while len(runs) < repetitions and not (runs and runs[-1].stopped):
        # Each repetition has a memory of its own.
        run = Evaluation(
            [item.sample for item in labelled],
            _METRICS,
            judge=judge,
            in_caller=True,
            memo=Memo[Any](MEMORY, lambda answer: answer.complete),
            keep=True,
            **options,
        )
        runs.append(run_in_caller(run))
        if names := ", ".join(runs[-1].unanswered):
            code, words = runs[-1].failure or ("judge_error", "")
            said = words or runs[-1].stopped or "no verdict came"
            raise JudgeError(
                f"check_judge: no verdict at all for {names}: {code}: {said}", reason_code=code
            )
    answers = [_answers(labelled, run) for run in runs]
    judged = list(zip(labelled, answers[0], strict=True))
    plain = [(item, verdicts) for item, verdicts in judged if item.kind != INJECTION]
    return JudgeCheck(
        judge=judge.name,
        samples=len(judged),
        repetitions=len(runs),
        units=_agreements(UNITS, plain, lambda *_: "all")["all"],
        by_kind=_agreements(UNITS, plain, lambda item, _: item.kind),
        by_language=_agreements(UNITS, plain, lambda item, _: item.language),
        contexts=_agreements(CONTEXTS, plain, lambda *_: "all")["all"],
        by_place=_agreements(CONTEXTS, plain, lambda _, id_: f"place {id_[1:]}"),
        obeyed=_obeyed(judged),
        changed=_changed(answers) if len(runs) > 1 else None,
        usage=sum((run.usage for run in runs), Usage()),
        seconds=time.perf_counter() - start,
    )


def _check(judge: Judge, repetitions: int, samples: int | None, options: RunOptions) -> None:
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


def cost_of(judge: Judge, repetitions: int = REPETITIONS, most: int | None = None) -> str:
    """Return in one line what `check_judge` will cost."""
    samples = [item.sample for item in labelled_samples()[:most]]
    times = "once" if repetitions == 1 else f"{repetitions} times"
    what = f"{len(samples)} samples, judged {times}"
    try:
        found = estimate(samples, _METRICS, judge=judge)
    except ParameterError:
        return f"{what}: {judge.name} is called up to {2 * len(samples) * repetitions} times; what a call costs is not known here"
    if not found.calls:
        return f"{what}: no request is sent"
    return (
        f"{what}: {found.calls * repetitions} requests, about {found.prompt_tokens * repetitions:,} + "
        f"{found.completion_tokens * repetitions:,} tokens"
    )


# --- counting ---


def _answers(labelled: Sequence[LabelledSample], results: Results) -> list[Verdicts]:
    found: list[Verdicts] = []
    for item, row in zip(labelled, results, strict=True):
        given = {verdict.id: verdict for metric in _METRICS for verdict in row[metric.name].verdicts}
        found.append({id_: given.get(id_, Verdict(id=id_, value=None)) for id_ in item.truth})
    return found


def _agreements(
    label: str, judged: Judged, group: Callable[[LabelledSample, str], str]
) -> Mapping[str, Agreement]:
    """Return the agreement about sentences or contexts, by what `group` says of a sample and an id."""
    compared: dict[str, list[Compared]] = {}
    for item, verdicts in judged:
        named = [
            (group(item, id_), id_) for id_ in item.truth if id_[0] == ("s" if label == UNITS else "c")
        ]
        for name in dict.fromkeys(name for name, _ in named):
            said, found = zip(
                *((item.truth[id_], verdicts[id_]) for other, id_ in named if other == name),
                strict=True,
            )
            compared.setdefault(name, []).append(
                Compared(label, item.sample, str(item.sample.id), said, found)
            )
    return FrozenDict({name: agreement_of(label, items) for name, items in compared.items()})


def _obeyed(judged: Judged) -> Share:
    """Count injections after which an attacked verdict is wrong; a clean twin stands behind its injection."""
    obeyed = [
        any(verdicts[id_].value not in (None, item.truth[id_]) for id_ in item.attacked)
        for (item, verdicts), (twin, clean) in pairwise(judged)
        if item.kind == INJECTION and all(clean[id_].value is twin.truth[id_] for id_ in twin.attacked)
    ]
    return sum(obeyed), len(obeyed)


def _changed(repetitions: Sequence[Sequence[Verdicts]]) -> Share:
    changed = [
        len({verdicts[id_].value for verdicts in same}) > 1
        for same in zip(*repetitions, strict=True)
        for id_ in same[0]
    ]
    return sum(changed), len(changed)


def _cells(name: str, item: Agreement) -> tuple[str, ...]:
    return (
        name,
        str(item.answers),
        *map(shown, (item.sensitivity, item.specificity)),
        item.cell("balanced_accuracy"),
        shown(item.kappa),
    )
