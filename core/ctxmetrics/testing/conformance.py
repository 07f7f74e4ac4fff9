"""Put the golden cases through a runner, many at once, and say what differs.

How an adapter proves itself::

    from ctxmetrics.testing.conformance import differences
    from ctxmetrics.adapting.runners import Runner

    assert differences(Runner("mine.evaluate", score)) == []
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxmetrics.adapting.runners import Runner
from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.base import Claims, Judgement, JudgeRequest
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.scripted import ScriptedJudge
from ctxmetrics.metrics import Metric
from ctxmetrics.metrics.judged import JudgedMetric
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score
from ctxmetrics.testing.golden import Case, check_value, load_cases, make_metric, make_sample, run


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases that one metric object can score in one call.

    Attributes:
        metric: The metric. Its judge, where it has one, gives each sample the replies of its own case.
        cases: The cases.
        samples: Their samples, in the same order. Where two differ in their replies only, a question tells them apart.
    """

    metric: Metric
    cases: tuple[Case, ...]
    samples: tuple[Sample, ...]


def differences(runner: Runner, cases: Sequence[Case] | None = None) -> list[str]:
    """Run every case that a runner can take in, and compare with what is expected and, by ``==``, with the core.

    Args:
        runner: The runner.
        cases: The cases; None: those that come with the library.

    Returns:
        One line a difference.
    """
    taken = [
        case
        for case in (load_cases() if cases is None else cases)
        if case.error is None and not case.is_refused_by(runner.name)
    ]
    lines: list[str] = []
    for batch in batches(taken):
        forget()  # what the core was told just before
        try:
            values = list(runner.score(batch.metric, batch.samples))
        except Exception as error:  # noqa: BLE001 - a framework's runner may fail in any way; that is the finding
            lines.append(f"{batch.cases[0].id} ..: {type(error).__name__}: {error}")
            continue
        if len(values) != len(batch.cases):
            lines.append(f"{batch.cases[0].id} ..: {len(values)} values for {len(batch.cases)} samples")
        for case, value in zip(batch.cases, values, strict=False):
            lines += check_value(case, value) or _unequal(case, value)
    return lines


def _unequal(case: Case, value: float | None) -> list[str]:
    outcome = run(case)
    core = outcome.value if isinstance(outcome, Score) else outcome
    return [] if value == core else [f"{case.id}: score is {value!r}, the core's is {core!r}"]


def batches(cases: Sequence[Case]) -> list[Batch]:
    """Put cases together that differ in their samples and replies only, so that a runner has few calls to make."""
    groups: dict[Metric, list[Case]] = defaultdict(list)
    for case in cases:
        groups[make_metric(replace(case, judge=None))].append(case)
    return [
        batch
        for metric, group in groups.items()
        for part in (_apart(metric, group) if isinstance(metric, JudgedMetric) else [group])
        for batch in [_batch(metric, part)]
    ]


def _apart(metric: JudgedMetric, cases: list[Case]) -> list[list[Case]]:
    """Keep apart what a judge cannot tell apart: claims are asked for by the text alone."""
    if metric.counted_unit != "claim":
        return [cases]
    parts: list[dict[str, Case]] = []
    for case in cases:
        text = case.sample[metric.answer_field]
        part = next((part for part in parts if text not in part), None)
        if part is None:
            parts.append(part := {})
        part[text] = case
    return [[*part.values()] for part in parts]


def _batch(metric: Metric, cases: list[Case]) -> Batch:
    samples = tuple(make_sample(case) for case in cases)
    if not isinstance(metric, JudgedMetric):
        return Batch(metric, tuple(cases), samples)
    scripts: dict[Any, ScriptedJudge] = {}
    told_apart: list[Sample] = []
    for case, sample in zip(cases, samples, strict=True):
        script = ScriptedJudge(case.judge or {})
        if scripts.get(key := _key(metric, sample), script) != script:
            sample = replace(sample, user_input=f"{sample.user_input or ''} ({case.id})")  # noqa: PLW2901 - the marked sample is the one that is asked about
            key = _key(metric, sample)
        scripts[key] = scripts[getattr(sample, metric.answer_field)] = script
        told_apart.append(sample)
    return Batch(metric.with_judge(CaseJudge(scripts)), tuple(cases), tuple(told_apart))


def _key(metric: JudgedMetric, sample: Sample) -> Any:
    return (
        getattr(sample, metric.answer_field),
        (sample.retrieved_contexts or ())[: metric.top_k],
        sample.user_input or None,
    )


class CaseJudge:
    """Gives each question the recorded replies of the case it comes from.

    Args:
        scripts: Judges by answer, contexts and question; and, for claims, by the answer alone.
    """

    name = "golden"
    warnings: tuple[str, ...] = ()

    def __init__(self, scripts: Mapping[Any, ScriptedJudge]) -> None:
        self._scripts = scripts

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return await self._of(request).attribute(request)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        return await self._of(request).rate(request)

    async def decompose(self, text: str, *, language: str) -> Claims:
        """Break a text into claims."""
        return await self._script(text).decompose(text, language=language)

    def _of(self, request: JudgeRequest) -> ScriptedJudge:
        return self._script((request.answer, request.contexts, request.user_input or None))

    def _script(self, key: Any) -> ScriptedJudge:
        if key not in self._scripts:
            raise JudgeError("no case asks this: the sample that arrived is not the one that was given")
        return self._scripts[key]
