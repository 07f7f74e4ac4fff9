"""From retrievers to a decision: `compare_retrievers` and its form for a running loop."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from ctxmetrics.evaluation.retrievers.corpus import CorpusSource
from ctxmetrics.evaluation.retrievers.questions import Questions
from ctxmetrics.evaluation.retrievers.retriever_comparison import RetrieverComparison
from ctxmetrics.evaluation.retrievers.retriever_run import RetrieverRun, run_retrievers
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics.base import Metric


class RetrieverOptions(RunOptions, total=False):
    """The options of `compare_retrievers`, which describes them."""

    judge: Judge | str | None
    k: int
    corpus: CorpusSource | None
    pooled: bool
    primary: Sequence[str]
    cluster: str | None
    folder: str | os.PathLike[str] | None
    resume: bool
    retrieval_timeout: float | None
    retrieval_concurrency: int
    controls: int


def compare_retrievers(
    questions: Questions,
    retrievers: Mapping[str, Any],
    metrics: Sequence[Metric | str],
    **options: Unpack[RetrieverOptions],
) -> RetrieverComparison:
    """Ask several retrievers the same questions, judge what they returned together, and compare each with the first.

    The contexts of all settings of a question form one pool. The judge is asked once about the pool, so the same text has the same
    verdict in every setting.

    In two cases the verdicts of the pool may differ from the verdicts of a setting alone. Then the setting is judged alone:

    - a unit is supported by several contexts together, and the setting has only some of them;
    - a context of another setting made the judge ignore a context of this setting.

    Args:
        questions: Samples, mappings of their fields, or a file of them: questions with the expected items. What was retrieved
            for them before is left out.
        retrievers: The settings by name; the first one is what the others are compared with. Each is a function or coroutine
            function of a question, or an object with ``invoke`` or ``ainvoke`` (LangChain), ``retrieve`` or ``aretrieve``
            (LlamaIndex), or ``run`` (a component or pipeline of Haystack). It returns texts, documents, ids, pairs with scores,
            or an object that holds such a list; its order is the rank. A sync function is called in a worker thread.
        metrics: As for `evaluate`.
        **options: Those of `evaluate` but for ``out``, where ``deadline`` holds for calls and requests together, and these. Each may
            be left out:
            judge: As for `evaluate`.
            k: How many contexts of each setting count, from the top (10).
            corpus: All chunks that the retrievers search: a file of them, a mapping from ids to texts, or documents. With it
                ``bm25`` is a setting, too (the extra ``bm25``), and the mean that chance would have stands beside it, as a floor.
            pooled: Judge the settings of a question together (True). False: each alone. A judge that costs nothing, or remembers what
                it said of each context, judges each alone.
            primary: The metrics that get a verdict, as for `compare`; its p values are adjusted over settings and metrics (Holm).
            cluster: As for `compare`.
            folder: A directory for two files for each setting: its retrieved items, and its results.
            resume: Take over what was retrieved from ``folder``; give ``cache=`` to keep judgements, too.
            retrieval_timeout: Seconds for one call (60); None: no limit. A thread that does not end is left behind.
            retrieval_concurrency: How many calls there are at a time (1). With 1, the seconds are those of a single user.
            controls: As for `evaluate`.

    Returns:
        The comparison; ``print`` shows it, `RetrieverComparison.to_html` writes a page. Ctrl-C returns what is there.

    Raises:
        ParameterError: A parameter is wrong, or something is no retriever.
        MissingFieldError: A question has no text, or no question has a field that a metric needs.
        MissingExtraError: ``corpus`` is given, and bm25s or PyStemmer is not installed.
        InputFileError: A file of ``folder`` cannot be used.
        JudgeError: With ``on_error="raise"``, a question could not be scored.
    """
    return run_retrievers(RetrieverRun(questions, retrievers, metrics, **options))


async def acompare_retrievers(
    questions: Questions,
    retrievers: Mapping[str, Any],
    metrics: Sequence[Metric | str],
    **options: Unpack[RetrieverOptions],
) -> RetrieverComparison:
    """Do the same inside a running loop, in which coroutine functions and async methods are called.

    Arguments, result and errors are those of `compare_retrievers`.
    """
    return await RetrieverRun(questions, retrievers, metrics, **options).go()
