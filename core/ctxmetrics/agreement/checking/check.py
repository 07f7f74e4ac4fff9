"""Running the check: the labelled samples, judged several times by the judge as it is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ctxmetrics._checks import check_number
from ctxmetrics._runtime.memo import Memo
from ctxmetrics.agreement.checking.figures import figures_of
from ctxmetrics.agreement.checking.fitness import weaknesses_of
from ctxmetrics.agreement.checking.samples import labelled_samples
from ctxmetrics.agreement.checking.sheet import Cost, JudgeSheet
from ctxmetrics.agreement.checking.watching import WatchedModel
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.evaluation.engine import Evaluation, run_in_caller
from ctxmetrics.evaluation.estimate import estimate
from ctxmetrics.evaluation.options import RunOptions
from ctxmetrics.evaluation.results import Results
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.llm.judge import MEMORY, LLMJudge
from ctxmetrics.judges.nli.judge import NLIJudge
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall
from ctxmetrics.verdicts import Usage, Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack


REPETITIONS = 3
_METRICS = (ContextRecall(), ContextPrecision())


def check_judge(
    judge: Judge,
    *,
    repetitions: int = REPETITIONS,
    announce: Callable[[str], None] | None = None,
    **options: Unpack[RunOptions],
) -> JudgeSheet:
    """Let a judge judge the labelled samples that come with the library, and say what it is fit for.

    The samples are few and clear-cut. A judge that fails here is not fit; one that passes still needs `ctxmetrics.agree` on
    samples of one's own. Neither the process's memory of judgements nor a cache is used.

    Args:
        judge: The judge: the embedded one, an `NLIJudge`, an `LLMJudge` with any model, or one of your own.
        repetitions: How often each sample is judged.
        announce: Called with one line about the cost before anything is judged; None: it is logged.
        **options: As for `ctxmetrics.evaluate`, but ``cache`` and ``out``.

    Raises:
        ParameterError: It is no judge, or an option is out of range.
        JudgeError: It gave no verdict at all, and not because of what it replied: a server that is down, a wrong key, an
            error in a judge of your own.
    """
    _check(judge, repetitions, options)
    (announce or logging.getLogger("ctxmetrics").info)(cost_of(judge, repetitions))
    watched, model = _watched(judge)
    start = time.perf_counter()
    runs: list[Results] = []
    while len(runs) < repetitions:
        runs.append(_run(watched, options))
        if runs[-1].unanswered and not (model and any(note.read is not None for note in model.notes)):
            raise _no_verdict(runs[-1])
        if runs[-1].stopped is not None:
            break
    seconds = time.perf_counter() - start
    labelled = labelled_samples()
    notes = None if model is None else model.notes
    figures = figures_of(labelled, [_answers(run) for run in runs], notes)
    request_seconds = sum(note.seconds for note in notes) / len(notes) if notes else None
    judged = len(labelled) * len(runs)
    return JudgeSheet(
        judge=judge.name,
        samples=len(labelled),
        repetitions=len(runs),
        figures=figures,
        weaknesses=weaknesses_of(figures, request_seconds),
        cost=Cost(
            judged=judged,
            seconds=seconds / judged,
            request_seconds=request_seconds,
            usage=sum((run.usage for run in runs), Usage()),
        ),
    )


def _check(judge: Judge, repetitions: int, options: RunOptions) -> None:
    if not isinstance(judge, Judge):
        raise ParameterError(
            f"check_judge: {type(judge).__name__} is no judge. Give LexicalJudge(), NLIJudge(predict, identity=..), "
            "LLMJudge(model), or an object with name, warnings, attribute and rate."
        )
    check_number("check_judge: repetitions", repetitions, 1, whole=True)
    for name in ("cache", "out"):
        if options.get(name) is not None:
            raise ParameterError(
                f"check_judge: {name}= is not possible: each repetition must be judged anew."
            )


def cost_of(judge: Judge, repetitions: int = REPETITIONS) -> str:
    """Return in one line what `check_judge` will cost."""
    samples = [item.sample for item in labelled_samples()]
    times = "once" if repetitions == 1 else f"{repetitions} times"
    what = f"{len(samples)} samples, judged {times}"
    try:
        found = estimate(samples, _METRICS, judge=judge)
    except ParameterError:
        asked = 2 * len(samples) * repetitions
        return f"{what}: {judge.name} is called up to {asked} times; what a call costs is not known here"
    if isinstance(judge, NLIJudge):
        pairs = repetitions * sum(
            (len(item.supported) + 1) * len(item.useful) * judge.max_windows + len(item.supported)
            for item in labelled_samples()
        )
        return f"{what}: no request is sent; the model scores up to {pairs:,} pairs of texts"
    if not found.calls:
        return f"{what}: no request is sent"
    prompt, completion = (count * repetitions for count in (found.prompt_tokens, found.completion_tokens))
    return f"{what}: {found.calls * repetitions} requests, about {prompt:,} + {completion:,} tokens"


def _watched(judge: Judge) -> tuple[Judge, WatchedModel | None]:
    """Return the judge with its model watched, where it has one."""
    if not isinstance(judge, LLMJudge):
        return judge, None
    model = WatchedModel(judge.model)
    options: dict[str, Any] = {item.name: getattr(judge, item.name) for item in fields(LLMJudge)}
    return LLMJudge(**{**options, "model": model}), model


def _run(judge: Judge, options: RunOptions) -> Results:
    """Judge every sample once, with a memory of its own."""
    samples = [item.sample for item in labelled_samples()]
    memo: Memo[Any] = Memo(MEMORY, lambda answer: answer.complete)
    return run_in_caller(
        Evaluation(samples, _METRICS, judge=judge, in_caller=True, memo=memo, keep=True, **options)
    )


def _no_verdict(results: Results) -> JudgeError:
    """Return the error of a judge that gave no verdict, where no reply came either."""
    code, words = results.failure or ("judge_error", "")
    said = words or results.stopped or "no verdict came"
    names = ", ".join(results.unanswered)
    return JudgeError(f"check_judge: no verdict at all for {names}: {code}: {said}", reason_code=code)


def _answers(results: Results) -> list[Mapping[str, Verdict]]:
    """Return the verdicts on each sample, by id; one without a value stands for what is missing."""
    found: list[Mapping[str, Verdict]] = []
    for item, row in zip(labelled_samples(), results, strict=True):
        given = {verdict.id: verdict for metric in _METRICS for verdict in row[metric.name].verdicts}
        found.append({id_: given.get(id_, Verdict(id=id_, value=None)) for id_ in item.truth})
    return found
