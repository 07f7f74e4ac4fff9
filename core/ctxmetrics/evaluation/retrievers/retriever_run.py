"""One run over several retrievers: asked the same questions, judged together, compared with the first."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.compare import choose_metric, compare_all
from ctxmetrics.evaluation.comparison.view import Comparisons
from ctxmetrics.evaluation.retrievers.calling import build_call
from ctxmetrics.evaluation.retrievers.comparison import (
    Ceiling,
    Floor,
    PoolFigures,
    Setting,
    find_ceilings,
    measure_shared,
)
from ctxmetrics.evaluation.retrievers.corpus import Corpus, CorpusSource, list_foreign, read_corpus
from ctxmetrics.evaluation.retrievers.floor import BM25, random_mean
from ctxmetrics.evaluation.retrievers.nothing import choose_relevance
from ctxmetrics.evaluation.retrievers.pooled_judge import (
    PooledJudge,
    Pools,
    collect_settings,
    gains_by_pools,
    order_pool,
    pool_judge,
)
from ctxmetrics.evaluation.retrievers.questions import Questions, read_questions
from ctxmetrics.evaluation.retrievers.retrieval import (
    RetrievalFile,
    Retriever,
    RetrieverCall,
    Retrieving,
    summarize_calls,
)
from ctxmetrics.evaluation.retrievers.retriever_comparison import RetrieverComparison
from ctxmetrics.evaluation.rows.output_paths import make_folder
from ctxmetrics.evaluation.rows.provenances import describe_start
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.sample_groups import read_groups
from ctxmetrics.evaluation.runs.engine import INTERRUPTED, Evaluation
from ctxmetrics.evaluation.runs.metric_list import check_metrics
from ctxmetrics.evaluation.runs.options import RunOptions, check_options
from ctxmetrics.evaluation.runs.progress import show_progress
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.runs.sources import check_present
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.run import Run
from ctxmetrics.samples.sample import Sample, drop_self
from ctxmetrics.scores.score import Score
from ctxmetrics.text.character_spans import has_content
from ctxmetrics.verdicts import Usage

DEFAULT_K = 10
# The maximum number of seconds for one call of a retriever.
DEFAULT_TIMEOUT = 60.0
# The name of the setting that searches with BM25. It is the floor of the comparison.
_BM25_NAME = "bm25"
# The families of metrics whose value can only rise if the contexts of all settings are put together.
_RECALL_FAMILIES = frozenset({"recall", "string_recall", "id_recall"})
# The ending of the file of a setting's retrieved contexts.
_RETRIEVED_ENDING = ".retrieved.jsonl"

_log = logging.getLogger("ctxmetrics")


class RetrieverRun:
    """One run of `compare_retrievers`: its checked arguments and its state.

    Arguments and errors are those of that function, and:

    Args:
        drop_lacking: Leave out metrics that need what no retriever returned, such as ids; else that is an error.
    """

    def __init__(
        self,
        questions: Questions,
        retrievers: Mapping[str, Any],
        metrics: Sequence[Metric | str],
        *,
        judge: Judge | str | None = None,
        k: int = DEFAULT_K,
        corpus: CorpusSource | None = None,
        pooled: bool = True,
        primary: Sequence[str] = (),
        cluster: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        retrieval_timeout: float | None = DEFAULT_TIMEOUT,
        retrieval_concurrency: int = 1,
        controls: int = 0,
        drop_lacking: bool = False,
        **options: Unpack[RunOptions],
    ) -> None:
        check_number("compare_retrievers: k", k, 1, whole=True)
        check_number("compare_retrievers: retrieval_timeout", retrieval_timeout, 0.001, optional=True)
        check_number("compare_retrievers: retrieval_concurrency", retrieval_concurrency, 1, whole=True)
        if options.get("out") is not None:
            raise ParameterError(
                "compare_retrievers: write folder= in place of out=: each setting has files of its own."
            )
        if resume and folder is None:
            raise ParameterError(
                "compare_retrievers: resume needs folder=, the folder of the run that was stopped."
            )
        self._options: dict[str, Any] = check_options(options)
        self._calls = {name: build_call(item, name) for name, item in check_names(retrievers).items()}
        self._corpus: Corpus | None = None
        self._floor_name = ""
        self._floor_description = ""
        if corpus is not None:
            self._add_floor(read_corpus(corpus), k)
        self._metrics = check_metrics(metrics, judge)
        for name in primary:
            choose_metric([metric.name for metric in self._metrics], name, "primary")
        self._questions = read_questions(questions, self._metrics)
        read_groups(self._questions, cluster, "compare_retrievers")  # raises before anything is asked
        self._k = k
        self._primary = primary
        self._cluster = cluster
        self._folder = None if folder is None else Path(folder)
        self._resume = resume
        self._timeout = retrieval_timeout
        self._concurrency = retrieval_concurrency
        self._controls = controls
        self._drop_lacking = drop_lacking
        self._pools = Pools()
        self._is_pooled = self._pool_metrics(pooled=pooled)
        self._stopped: str | None = None
        self._stop_part: Callable[[], object] | None = None

    @property
    def judge_name(self) -> str | None:
        """The name of the judge, over pools where settings are judged together; None if no metric asks one."""
        for metric in self._metrics:
            if isinstance(metric, JudgedMetric) and metric.own_judge is not None:
                return metric.own_judge.name
        return None

    def stop(self, why: str) -> None:
        """Stop the run. It is called in the thread of the run's loop."""
        if self._stopped is None:
            self._stopped = why
            if self._stop_part is not None:
                self._stop_part()

    def _add_floor(self, corpus: Corpus, k: int) -> None:
        """Add BM25 over the corpus as a setting: a floor that the other settings should beat."""
        self._corpus = corpus
        bm25 = BM25(corpus, k)
        self._floor_description = bm25.about
        files = {file_name(name).casefold() for name in self._calls}
        self._floor_name = _BM25_NAME if _BM25_NAME not in files else f"{_BM25_NAME} of ctxmetrics"
        self._calls[self._floor_name] = build_call(bm25, self._floor_name)

    def _pool_metrics(self, *, pooled: bool) -> bool:
        """Give each metric a judge of pools, if that costs less. Return whether any metric has one."""
        if not pooled or len(self._calls) < 2:  # noqa: PLR2004 - one setting is its own pool
            return False
        settings = collect_settings(self._calls, self._k)
        pooled_judges: dict[int, Judge] = {}
        metrics: list[Metric] = []
        for metric in self._metrics:
            judge = metric.own_judge if isinstance(metric, JudgedMetric) else None
            if not isinstance(metric, JudgedMetric) or judge is None or not gains_by_pools(judge):
                metrics.append(metric)
                continue
            if id(judge) not in pooled_judges:  # metrics with one judge share its pools
                pooled_judges[id(judge)] = pool_judge(
                    judge, settings, self._pools, len(self._questions)
                )
            metrics.append(replace(metric, judge=pooled_judges[id(judge)]))
        self._metrics = tuple(metrics)
        return bool(pooled_judges)

    async def go(self) -> RetrieverComparison:
        """Retrieve, judge and compare."""
        start = describe_start(self._options["tags"])
        began = time.monotonic()
        deadline = self._options["deadline"]
        with ExitStack() as stack:
            if deadline is not None:
                reason = f"the deadline of {deadline:g} s was reached"
                timer = asyncio.get_running_loop().call_later(deadline, self.stop, reason)
                stack.callback(timer.cancel)
            retrieved = await self._retrieve(stack)
            _warn_of_errors(retrieved)
            samples = {name: self._list_samples(items) for name, items in retrieved.items()}
            _check_texts(samples)
            self._check_fields(samples)
            self._note_pools(samples)
            judged = await self._judge(samples, retrieved, start)
            ceilings = await self._find_ceilings(samples, judged)
        comparison = self._compare(retrieved, samples, judged, ceilings, start)
        comparison.seconds = time.monotonic() - began
        if self._folder is not None and not self._stopped:
            for name, setting in comparison.settings.items():
                setting.results.to_jsonl(self._folder / f"{file_name(name)}.jsonl", keep_texts=True)
        return comparison

    async def _retrieve(self, stack: ExitStack) -> dict[str, list[RetrieverCall | None]]:
        """Ask the retrievers."""
        files: dict[str, RetrievalFile] = {}
        if self._folder is not None:
            make_folder(self._folder)
            for name in self._calls:
                path = self._folder / (file_name(name) + _RETRIEVED_ENDING)
                # The corpus may have changed.
                resume = self._resume and name != self._floor_name
                files[name] = RetrievalFile(path, resume=resume)
                stack.callback(files[name].close)
        retrievers = {
            name: Retriever(call, self._k, self._timeout, files.get(name))
            for name, call in self._calls.items()
        }
        with ExitStack() as progress_stack:
            advance = None
            if self._options["progress"] is True:
                total = len(self._questions) * len(retrievers)
                advance = progress_stack.enter_context(
                    show_progress(True, total, Run(), work="retrieving", finished="retrieved")
                )
            retrieving = Retrieving(self._questions, retrievers, self._concurrency, advance)
            self._stop_part = retrieving.stop
            if self._stopped:
                retrieving.stop()
            return await retrieving.go()

    def _list_samples(self, retrievals: Sequence[RetrieverCall | None]) -> list[Sample | None]:
        """Return the samples of a setting, None if nothing was retrieved since the call failed or was not made."""
        samples: list[Sample | None] = []
        for item in retrievals:
            if item is None or item.error is not None:
                samples.append(None)
            elif self._options["drop_self"]:
                samples.append(drop_self(item.sample))
            else:
                samples.append(item.sample)
        return samples

    def _check_fields(self, samples: Mapping[str, Sequence[Sample | None]]) -> None:
        """Check, before anything is paid, that some retriever returned the fields that each metric needs.

        Raises:
            MissingFieldError: No retriever returned such a field, for example ids.
        """
        all_samples: list[Sample] = []
        for samples_of_setting in samples.values():
            all_samples += [sample for sample in samples_of_setting if sample is not None]
        missing_fields: set[str] = set()
        for metric in self._metrics:
            for name in metric.requires:
                if not any(sample.has(name) for sample in all_samples):
                    missing_fields.add(name)
        if not all_samples or not missing_fields:
            return
        usable_metrics: list[Metric] = []
        dropped_names: list[str] = []
        for metric in self._metrics:
            if missing_fields.isdisjoint(metric.requires):
                usable_metrics.append(metric)
            else:
                dropped_names.append(metric.name)
        if not self._drop_lacking or not usable_metrics:
            check_present(self._metrics, missing_fields)
        _log.warning(
            "left out, since no retriever returned %s: %s",
            ", ".join(sorted(missing_fields)),
            ", ".join(dropped_names),
        )
        self._metrics = tuple(usable_metrics)

    def _note_pools(self, samples: Mapping[str, Sequence[Sample | None]]) -> None:
        """Remember which contexts belong to each pool: the contexts of all settings that the metrics look at."""
        if not self._is_pooled:
            return
        # How many contexts a metric looks at, from the top; None for all.
        cuts = {metric.top_k for metric in self._metrics if isinstance(metric, JudgedMetric)}
        largest_cut = None if None in cuts else max(cut for cut in cuts if cut is not None)
        for samples_of_question in zip(*samples.values(), strict=True):
            question: str | None = None
            context_lists: list[tuple[str, ...]] = []
            texts: list[str] = []
            for sample in samples_of_question:
                if sample is not None:
                    question = sample.user_input
                    contexts = sample.retrieved_contexts or ()
                    context_lists.append(contexts)
                    texts += contexts[:largest_cut]
            pool = order_pool(question or "", texts)
            self._pools.add(question, pool, pool)
            for contexts in context_lists:
                for cut in cuts:
                    self._pools.add(question, contexts[:cut], pool)

    async def _judge(
        self,
        samples: Mapping[str, Sequence[Sample | None]],
        retrieved: Mapping[str, Sequence[RetrieverCall | None]],
        start: Mapping[str, Any],
    ) -> _JudgedSettings:
        """Score all settings in one run, all settings of a question before the next question."""
        # The order of judging: the index of a question, and the name of a setting.
        judging_order: list[tuple[int, str]] = []
        samples_in_order: list[Sample] = []
        for index in range(len(self._questions)):
            for name, samples_of_setting in samples.items():
                sample = samples_of_setting[index]
                if sample is not None:
                    judging_order.append((index, name))
                    # All settings of a question have its id, and a run takes each id once.
                    samples_in_order.append(replace(sample, id=None))

        metrics = self._metrics
        relevance = choose_relevance(metrics, self._questions)
        if relevance is not None:
            metrics = (*metrics, relevance)
        results = await self._score(iter(samples_in_order), metrics, self._controls)
        # A run that was stopped has fewer rows.
        rows_by_question_and_setting = dict(zip(judging_order, results, strict=False))
        judged = _JudgedSettings(results, self._pools.apart)
        scales = {metric.name: metric.convention_data.scale for metric in self._metrics}
        for name in samples:
            setting = Results(scales, keep=True, source=name, start=start)
            judged.relevance[name] = []
            for index, question in enumerate(self._questions):
                row = rows_by_question_and_setting.get((index, name))
                sample = samples[name][index] or question
                scores = () if row is None else row.scores
                if relevance is not None:
                    # The score of the relevance metric is the last score, and belongs to no metric of the caller.
                    judged.relevance[name].append(scores[-1] if scores else None)
                    scores = scores[:-1]
                if row is None:
                    scores = self._score_failed(sample, retrieved[name][index])
                scores = tuple(replace(score, sample_id=sample.id) for score in scores)
                setting.add(Row(index, sample, sample.id, scores))
            setting.stopped = self._stopped
            if self._stopped is not None:
                setting.total = len(setting)
            setting.usage = sum((score.usage for row in setting for score in row.scores), Usage())
            judged.settings[name] = setting
        return judged

    async def _score(
        self, samples: Iterable[Sample], metrics: Sequence[Metric], controls: int = 0
    ) -> Results:
        """Score samples in a run of `evaluate`, which the run of retrievers can stop."""
        options = {**self._options, "deadline": None, "drop_self": False}
        evaluation = Evaluation(samples, metrics, controls=controls, keep=True, **options)
        self._stop_part = lambda: evaluation.stop(self._stopped or INTERRUPTED)
        if self._stopped:
            evaluation.stop(self._stopped)
        results = await evaluation.score_samples()
        if results.stopped is not None and self._stopped is None:
            self._stopped = results.stopped
        return results

    def _score_failed(self, sample: Sample, retrieval: RetrieverCall | None) -> tuple[Score, ...]:
        """Return the scores of a question for which a setting has no contexts, or which was not reached."""
        code = "cancelled"
        message = f"not scored: {self._stopped or 'cancelled'}"
        if retrieval is not None and retrieval.error is not None:
            code = "retriever_error"
            message = retrieval.error
        return tuple(
            metric.make_score(sample, None, reason_code=code, message=message)
            for metric in self._metrics
        )

    async def _find_ceilings(
        self, samples: Mapping[str, Sequence[Sample | None]], judged: _JudgedSettings
    ) -> tuple[Ceiling, ...]:
        """Score the contexts of all settings together, if that costs no request."""
        metrics = [
            metric
            for metric in self._metrics
            if metric.family in _RECALL_FAMILIES and metric.top_k is None and _is_free(metric)
        ]
        # By the index of the question: its sample with the contexts of all settings, and the scores of that sample.
        joined_samples: dict[int, Sample] = {}
        joined_rows: dict[int, Row] = {}
        if len(samples) > 1 and metrics and self._stopped is None:
            for index, samples_of_question in enumerate(zip(*samples.values(), strict=True)):
                answered_samples = [sample for sample in samples_of_question if sample is not None]
                if len(answered_samples) == len(samples_of_question):
                    joined_samples[index] = _join_retrieved(answered_samples)
            results = await self._score(iter(joined_samples.values()), metrics)
            joined_rows = dict(zip(joined_samples, results, strict=False))
            judged.usage += results.usage
        return find_ceilings(judged.settings, joined_rows)

    def _compare(
        self,
        retrieved: Mapping[str, Sequence[RetrieverCall | None]],
        samples: Mapping[str, Sequence[Sample | None]],
        judged: _JudgedSettings,
        ceilings: tuple[Ceiling, ...],
        start: Mapping[str, Any],
    ) -> RetrieverComparison:
        """Build the comparison from the retrieved contexts and the scores."""
        settings = {
            name: Setting(
                name=name,
                results=judged.settings[name],
                calls=summarize_calls(retrieved[name]),
                is_floor=name == self._floor_name,
                scores=tuple(map(_match_scores, retrieved[name], samples[name])),
                relevance=tuple(judged.relevance[name]),
            )
            for name in samples
        }
        names = [*settings]
        notes: list[str] = []
        comparisons: Comparisons | None = None
        if len(names) > 1:
            try:
                baseline_name = names[0]
                comparisons = self._compare_with(baseline_name, judged)
            except ParameterError as error:
                notes.append(f"the settings are not compared: {error}")
        floor: Floor | None = None
        if self._corpus is not None:
            floor = self._build_floor(self._corpus, judged)
            notes += list_foreign(self._corpus, samples)
        pools = None
        if self._is_pooled:
            pools = PoolFigures(
                questions=self._pools.asked,
                alone=self._pools.alone,
                apart=judged.apart,
                settings=len(names),
                shared=measure_shared([*samples.values()]),
            )
        return RetrieverComparison(
            settings=settings,
            comparisons=comparisons,
            ceilings=ceilings,
            pools=pools,
            k=self._k,
            usage=judged.usage,
            stopped=self._stopped,
            controls=judged.run.controls,
            started=start.get("started"),
            notes=tuple(notes),
            floor=floor,
        )

    def _compare_with(self, baseline_name: str, judged: _JudgedSettings) -> Comparisons:
        """Compare all other settings with one of them, the baseline.

        Raises:
            ParameterError: A setting has no sample with a value in both.
        """
        others = {name: results for name, results in judged.settings.items() if name != baseline_name}
        return compare_all(
            judged.settings[baseline_name], others, metrics=self._primary, cluster=self._cluster
        )

    def _build_floor(self, corpus: Corpus, judged: _JudgedSettings) -> Floor:
        """Compare the settings with BM25, and compute the means of chance."""
        comparisons: Comparisons | None = None
        with suppress(ParameterError):  # the note about the first setting says it
            comparisons = self._compare_with(self._floor_name, judged)
        means: dict[str, float] = {}
        for metric in self._metrics:
            mean = random_mean(metric, self._questions, corpus, self._k)
            if mean is not None:
                means[metric.name] = mean
        return Floor(
            setting=self._floor_name,
            about=self._floor_description,
            chunks=len(corpus.chunks),
            random=means,
            comparisons=comparisons,
        )


def run_retrievers(run: RetrieverRun) -> RetrieverComparison:
    """Run a comparison on the library's loop; Ctrl-C ends it."""
    return run_sync(run.go, interrupted=partial(run.stop, INTERRUPTED))


class _JudgedSettings:
    """The results of judging.

    Args:
        run: The rows of all settings.
        apart: How many sets of contexts would be asked about if each setting were judged alone.

    Attributes:
        settings: The results of each setting.
        relevance: For each setting what the judge says of the contexts of questions without an answer, if it was asked.
        usage: The cost of all requests.
    """

    def __init__(self, run: Results, apart: int) -> None:
        self.run = run
        self.apart = apart
        self.settings: dict[str, Results] = {}
        self.relevance: dict[str, list[Score | None]] = {}
        self.usage: Usage = run.usage


def check_names(retrievers: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the names of the settings, and return the settings.

    Raises:
        ParameterError: The settings are no mapping or are empty, a name is no text, or two names would have the same file.
    """
    if not isinstance(retrievers, Mapping) or not retrievers:
        raise ParameterError(
            'compare_retrievers: retrievers must map names to retrievers: {"dense": f, "hybrid": g}.'
        )
    files: dict[str, str] = {}
    for name in retrievers:
        if not isinstance(name, str) or not has_content(name):
            raise ParameterError(f"compare_retrievers: the name {name!r} must be a text.")
        first_name = files.setdefault(file_name(name).casefold(), name)
        if first_name != name:
            raise ParameterError(
                f"compare_retrievers: {first_name!r} and {name!r} would write the same file. Change a name."
            )
    return retrievers


def file_name(setting: str) -> str:
    """Return the name of a setting's files, without their ending."""
    return re.sub(r"[^\w-]+", "_", setting).strip("_")[:80] or "setting"


def _check_texts(samples: Mapping[str, Sequence[Sample | None]]) -> None:
    """Check, before anything is paid, that no setting returned ids as plain texts: a judge would look for the answer in an id.

    Raises:
        ParameterError: A retrieved text is an id that its question expects.
    """
    for name, samples_of_setting in samples.items():
        for number, sample in enumerate(samples_of_setting, 1):
            if sample is None or sample.retrieved_context_ids is not None:
                continue
            expected_texts = sample.reference_contexts or ()
            for text in sample.retrieved_contexts or ():
                if text in (sample.reference_context_ids or ()) and text not in expected_texts:
                    raise ParameterError(
                        f"compare_retrievers: {name!r} returned ids as texts: {text!r} is an expected id of "
                        f"{sample.called(f'question {number}')}. Return documents with text and id, such as "
                        "{'id': .., 'text': ..}. For ids alone, give questions with reference_context_ids and without references."
                    )


def _is_free(metric: Metric) -> bool:
    """Tell whether scoring the contexts of all settings together costs nothing: the metric asks no judge, or asks nothing new."""
    if not isinstance(metric, JudgedMetric) or metric.judge is None:
        return True
    has_judged_pool = isinstance(metric.judge, PooledJudge)
    is_embedded_judge = getattr(metric.judge, "waits", True) is False
    return has_judged_pool or is_embedded_judge


def _join_retrieved(samples: Sequence[Sample]) -> Sample:
    """Return a question with the distinct contexts and ids that all settings (retrievers) found for it.

    Their order is drawn from a hash of the question and the texts, so that no setting is first.
    """
    question = samples[0]
    question_text = question.user_input or ""
    return replace(
        question,
        id=None,
        retrieved_contexts=_pool(question_text, [sample.retrieved_contexts for sample in samples]),
        retrieved_context_ids=_pool(
            question_text, [sample.retrieved_context_ids for sample in samples]
        ),
        stages=None,
        searches=None,
    )


def _pool(question: str, lists: Sequence[Sequence[str] | None]) -> tuple[str, ...] | None:
    """Join the lists of all settings for a question; None if a setting has no list."""
    items: list[str] = []
    for items_of_setting in lists:
        if items_of_setting is None:
            return None
        items += items_of_setting
    return order_pool(question, items)


def _match_scores(retrieval: RetrieverCall | None, sample: Sample | None) -> tuple[float, ...] | None:
    """Return the scores of a question's contexts. Return None if a context was dropped since it is the question itself."""
    if retrieval is None or sample is None or retrieval.scores is None:
        return None
    contexts = sample.retrieved_contexts or sample.retrieved_context_ids or ()
    return retrieval.scores if len(contexts) == len(retrieval.scores) else None


def _warn_of_errors(retrieved: Mapping[str, Sequence[RetrieverCall | None]]) -> None:
    """Log how often each retriever failed, with the first error."""
    for name, retrievals in retrieved.items():
        calls = summarize_calls(retrievals)
        if calls.errors:
            question_name, error = calls.first_errors[0]
            _log.warning(
                "%s: %d of %d calls failed; question %s: %s",
                name,
                calls.errors,
                calls.calls,
                question_name,
                error,
            )
