"""Scoring many samples: the two functions that a program calls."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.evaluation.runs.engine import INTERRUPTED, Evaluation
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.runs.sources import CallerSource
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.samples.sample import Sample


def evaluate(
    samples: Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str],
    metrics: Sequence[Metric | str],
    *,
    judge: Judge | str | None = None,
    controls: int = 0,
    **options: Unpack[RunOptions],
) -> Results:
    """Score many samples with several metrics.

    Args:
        samples: Samples, or dicts of their fields: a list, an iterator or a generator of any length; or the path of a file
            (`read_samples`). A list is checked before anything is paid; anything else is read as the run goes on, in the
            calling thread.
        metrics: The metrics, or their names as ``--metric`` takes them (``"ndcg@10"``); the names must differ.
        judge: Who judges where a metric has no judge of its own, or its name as ``--judge`` takes it
            (``"openai/gpt-4o-mini"``); None: the embedded `LexicalJudge`.
        controls: How many labelled samples that come with the library the same judge judges in between, spread over the
            run, up to 45: in the language of the first sample if there are enough, else in English. They are in no
            row, mean or file; `Results.controls` and the summary say how many of their verdicts are right.
        **options: Each may be left out:
            max_concurrency: Requests in flight at most (16). Overload and time-outs lower the bound, success raises it
            again; it begins at 2 where the server is on this machine or a private address.
            cache: A directory or `VerdictCache`: finished judgements are kept there and never paid twice.
            timeout: Seconds for one request (120).
            max_retries: How often a request that failed is sent again; None (the default): as long as it may help.
            on_error: ``"record"`` (the default): a failure is a score without a value. ``"raise"``: the first failure
            raises.
            progress: True or False, or a function called with the `Progress`, in the run's own thread; None (the
            default): a bar where stderr is a terminal.
            max_calls: Requests in all; then what is not in memory or cache is not judged.
            max_tokens: Tokens in all; then the same. Requests in flight at that moment are still counted on top.
            requests_per_minute: Requests in any 60 seconds at most; the others wait.
            tokens_per_minute: Tokens in any 60 seconds at most. Replies to the requests in flight come on top.
            deadline: Seconds for the whole run; then what is there is returned.
            out: A file that gets one JSON line a sample and metric, in order. While the run goes on they are in
            ``OUT.part``, which becomes ``out`` at the end; a run that stops early, or gets no verdict for a metric,
            leaves ``OUT.part`` and does not touch ``out``. The results then keep values and reason codes only.
            one_context: The one context of each sample is one passage, whatever stands in it. Without it, precisions of
            texts have no value (``joined_contexts``) where nearly every sample has one context and it holds several
            passages (numbered, or with ``|`` or ``---`` between them): the rank says nothing there.
            batch: A `Batch`: the requests are sent as the provider's batches, at half the price where the provider says so. The
            journal stands beside ``out``. The samples are a list or a path, so that they can be read again.
            drop_self: Drop the retrieved contexts that are the question itself, by its id or its text, as BEIR does
            (`ctxmetrics.samples.drop_self`). The summary's notes say how many.
            keep_texts: ``out`` holds all fields of the samples, not the question and hashes only (False); events of
            ``telemetry`` hold texts and quotes.
            tags: The groups that ``ctxmetrics view`` puts the run in, such as ``["nightly"]``; ``out`` holds them.
            telemetry: True or a ``LoggerProvider``: each score is sent as OpenTelemetry's event
            ``gen_ai.evaluation.result`` (`ctxmetrics.scores.telemetry`), on the retriever's span where the sample was read
            from a trace. Rows that ``--resume`` takes over are not sent again.

    Returns:
        One row a sample, in input order. Ctrl-C returns what is there, the rest of a list as ``cancelled``; a
        second Ctrl-C ends at once. `Results.stopped` says why a run ended early. An error that is raised after the first
        sample was scored has the results until then as its ``results``.

    Raises:
        ParameterError: A parameter is wrong, or two metrics have one name.
        MissingFieldError: No sample has a field that a metric needs.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
        RequestError: No request of the run was sent, and all failed alike, with an exception that no network gave.
        SampleError: A sample is malformed, or the iterable broke off; the message says where.
        JudgeError: With ``on_error="raise"``, a sample could not be scored.
        InputFileError: ``out`` or ``cache`` cannot be written; or ``out`` is the file that the samples come from, holds
            data of another kind, or is written by another run.
    """
    return run_in_caller(
        Evaluation(samples, metrics, judge=judge, controls=controls, in_caller=True, **options)
    )


def run_in_caller(run: Evaluation) -> Results:
    """Run an evaluation while the calling thread reads its samples, if they are no list."""
    serve = run.source.serve if isinstance(run.source, CallerSource) else None
    return run_sync(run.score_samples, meanwhile=serve, interrupted=partial(run.stop, INTERRUPTED))


async def aevaluate(
    samples: Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str],
    metrics: Sequence[Metric | str],
    *,
    judge: Judge | str | None = None,
    controls: int = 0,
    **options: Unpack[RunOptions],
) -> Results:
    """Score many samples, inside a running loop. Arguments, result and errors are those of `evaluate`.

    Iterables are read in the loop's thread. If the task is cancelled, no results are returned. To keep the partial results,
    give ``deadline=`` or ``out=``.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise CtxMetricsError(
            "aevaluate needs a running loop of asyncio. Under trio: await trio.to_thread.run_sync(lambda: evaluate(...))."
        ) from None
    return await Evaluation(samples, metrics, judge=judge, controls=controls, **options).score_samples()
