"""The rounds of a run in batches: collect new replies, replay the run with them, submit open requests."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.secrets import mask_secrets
from ctxmetrics.errors import JudgeError, OutputFileError, ParameterError
from ctxmetrics.evaluation.batching.batch import Batch, BatchReport
from ctxmetrics.evaluation.batching.batch_model import BatchModel
from ctxmetrics.evaluation.batching.journal import Intent, Journal, RequestOutcome
from ctxmetrics.evaluation.batching.provider import (
    UNANSWERED,
    AnthropicBatches,
    BatchProvider,
    BatchState,
    OpenAIBatches,
    to_seconds,
)
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.models.openai.model import OpenAIModel
from ctxmetrics.models.openai.providers import get_batch_terms
from ctxmetrics.models.runtime.background import in_thread
from ctxmetrics.models.runtime.failures import OVERLOAD_CODES
from ctxmetrics.models.runtime.run import Run
from ctxmetrics.scores.wording import join_counts, plural
from ctxmetrics.verdicts import Usage

# The maximum and the first number of seconds between two tries. The pause is doubled after each try.
_MAX_PAUSE_SECONDS = 2.0
_LOCK_PAUSE_SECONDS = 0.5
# The number of failed tries in a row after which the run ends, if each failed for a temporary reason.
_MAX_FAILED_TRIES = 10
_TEMPORARY_CODES = frozenset({"connection_error", "server_error", "timeout"}) | OVERLOAD_CODES
# The name of result lines that answer no open request of their batch: repeated lines, or lines of another run.
_STRAY_LINES = "stray lines"
_BATCH_GONE = BatchState("gone", ended=True, problem="the provider does not have it any more")
_log = logging.getLogger("ctxmetrics")
Sleep = Callable[[float], Awaitable[bool]]


@dataclass(eq=False)
class BatchRounds:
    """The batches of one run.

    Args:
        batch: The options of the batches.
        metrics: The metrics, with their judges.
        out: The file of the results, or None.

    Attributes:
        journal: The journal of the batches, while it is open.
        report: The outcome of the batches, after a round.
        problem: Why the run ends although requests are open, or None.

    Raises:
        ParameterError: The judge asks no model that takes batches, or there is no place for the journal.
    """

    batch: Batch
    metrics: Sequence[Metric]
    out: str | os.PathLike[str] | None
    journal: Journal = field(init=False)
    report: BatchReport = field(init=False)
    problem: str | None = field(init=False, default=None)
    _asking: BatchModel = field(init=False)
    # One line for each event of a batch.
    _notes: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._model = _find_model(self.metrics)
        form, self._price = get_batch_terms(str(self._model.base_url))
        if form is None:
            raise ParameterError(
                f"batch: {self._model.base_url} has no batches in the form of OpenAI or Anthropic. Score without --batch."
            )
        first_pause = min(self.batch.poll, _MAX_PAUSE_SECONDS)
        self._provider: BatchProvider
        if form == "anthropic":
            self._provider = AnthropicBatches(self._model, first_pause)
        else:
            self._provider = OpenAIBatches(self._model, first_pause)
        folder = self.batch.folder
        if folder is None and self.out is not None:
            folder = f"{os.fspath(self.out)}.batch"
        if folder is None:
            raise ParameterError(
                "batch: give out=FILE (--out FILE): the journal of the batches stands beside it. Or give Batch(folder=..)."
            )
        self._folder = Path(folder)

    async def open(self, sleep: Sleep) -> bool:
        """Open the journal. Wait while another process has the journal open. Return False if the run was stopped meanwhile."""
        waits = False
        while True:
            with suppress(BlockingIOError):
                self.journal = Journal(self._folder, self._model.identity)
                return True
            if not waits:
                _log.warning(
                    "%s: another process is at work on these batches; this one waits for its end",
                    self._folder,
                )
            waits = True
            if not await sleep(_LOCK_PAUSE_SECONDS):
                return False

    async def begin(self, run: Run) -> tuple[Metric, ...]:
        """Collect the results of ended batches, and return the metrics of the next round.

        The limits of ``run`` hold for the requests of the round.
        """
        await self._collect()
        unanswered = sum(intent.requests for intent in self.journal.unfinished)
        paid_usage = self.journal.get_paid("batched") + self.journal.get_paid("online")
        run.count_earlier(paid_usage, unanswered)
        self.journal.drop_drafts()
        self._asking = BatchModel(provider=self._provider, journal=self.journal, batch=self.batch)
        return tuple(_give_model(metric, self._asking) for metric in self.metrics)

    async def submit(self, *, run_is_whole: bool) -> str | None:
        """Submit the new requests of the round, unless the run ended early.

        Return the reason if the run lacks some values. Return None if it has all values.
        """
        self.problem = self.problem or self._asking.problem
        try:
            if run_is_whole and self.problem is None:
                await in_thread(self._submit)
        except (JudgeError, OSError, OutputFileError) as problem:
            self.problem = f"the batch could not be submitted: {problem}"
        finally:
            for _, lines in self._asking.drafts:
                with suppress(OSError):  # closing writes what is left: the disk may be full
                    lines.close()
        self.report = BatchReport(
            batched=self.journal.get_paid("batched"),
            online=self.journal.get_paid("online"),
            price=self._price,
            unfinished=self.journal.unfinished,
            held_back=self._asking.held_back,
            notes=self._notes,
        )
        if not run_is_whole:
            return None
        if self.problem is not None:
            return self.problem
        return self.report.waiting if self.report.is_open else None

    async def wait(self, sleep: Sleep) -> bool:
        """Collect batches until all have ended. If requests wait since too many batches are open, one ended batch is enough.

        Return whether another round follows.
        """
        if self.batch.mode == "submit" or not self.report.is_open:
            return False
        unfinished_before = len(self.journal.unfinished)
        failed_tries = 0
        while self.journal.unfinished and self.problem is None:
            if not await sleep(self.batch.poll):
                return False
            is_temporary = await self._collect()
            if is_temporary and failed_tries < _MAX_FAILED_TRIES:
                failed_tries += 1
                _log.warning("%s; they are looked at again in %g s", self.problem, self.batch.poll)
                self.problem = None
                continue
            failed_tries = 0
            has_room = len(self.journal.unfinished) < unfinished_before
            if self.report.held_back and has_room:
                break
        return self.problem is None

    async def _collect(self) -> bool:
        """Bring the journal up to date in a thread, and note a problem of the provider or the disk.

        Return whether there is a problem that may end by itself.
        """
        try:
            await in_thread(self._update)
        except (JudgeError, OutputFileError) as problem:
            self.problem = f"the batches could not be looked at: {problem}"
            return isinstance(problem, JudgeError) and problem.reason_code in _TEMPORARY_CODES
        return False

    def _update(self) -> None:
        """Update the journal: find batches whose id was not written, fetch ended batches, and delete inputs."""
        for intent in self.journal.unfinished:
            if intent.batch is None:
                self._find_submitted(intent)
            if intent.batch is not None:
                batch_state = self._provider.call_if_there(self._provider.fetch_state, intent)
                if batch_state is None:
                    batch_state = _BATCH_GONE
                if batch_state.ended:
                    self._collect_batch(intent, batch_state)
        for intent in self.journal.intents:
            if intent.ended is not None and not intent.deleted:
                self._delete(intent)

    def _find_submitted(self, intent: Intent) -> None:
        """Look for a batch whose id was not written, as after a kill."""
        batch = self._provider.call(self._provider.find_batch, intent, self.journal)
        if batch is None:
            self.journal.note(intent, ended="not submitted")
        else:
            self._note_batch(intent, batch)

    def _note_batch(self, intent: Intent, batch: Any) -> None:
        """Write the id and the end of a batch that was submitted."""
        self.journal.note(intent, batch=batch.id, expires=to_seconds(batch.expires_at))

    def _collect_batch(self, intent: Intent, state: BatchState) -> None:
        """Keep the replies and failures of a batch that has ended."""
        problems = [state.problem] if state.problem else []
        with TemporaryFile(dir=self._folder) as file:
            for result in state.results:
                if self._provider.call_if_there(self._provider.fetch, result, file) is None:
                    problems = ["a file of results is not there any more"]
            with self.journal.writing():
                failures = self._keep_results(intent, file)
                # The batch was too large for the provider's queue: its requests are sent again, in smaller batches.
                if state.queue_full and intent.requests > 1:
                    queued_tokens = sum(other.tokens for other in self.journal.unfinished)
                    self.journal.set_fact("queue", max(1, queued_tokens // 2))
                else:
                    message = "; ".join((f"the batch ended as {state.status}", *problems))
                    for key, line in self.journal.read_open(intent):
                        may_be_sent_again = line not in state.bad_lines
                        outcome = RequestOutcome(
                            code=UNANSWERED, message=message, again=may_be_sent_again
                        )
                        self.journal.put(key, outcome)
                        failures[UNANSWERED] += 1
                self.journal.note(intent, ended=state.status)
        if failures:
            problems.append(f"{join_counts(failures)} of {plural(intent.requests, 'request')}")
        if problems:
            self._add_note(intent, f"{state.status}: {'; '.join(problems)}")

    def _keep_results(self, intent: Intent, file: IO[bytes]) -> Counter[str]:
        """Store the outcomes in the lines of the results, and count the failures by their codes.

        If no line answers a request of the batch, another program made the batch: it is not deleted at the provider.
        """
        failures: Counter[str] = Counter()
        paid = Usage()
        answer_count = 0
        for key, outcome in self._provider.read_results(file):
            if not self.journal.take(key, intent):
                failures[_STRAY_LINES] += 1
                continue
            answer_count += 1
            self.journal.put(key, outcome)
            paid += outcome.paid
            if outcome.code:
                failures[outcome.code] += 1
        self.journal.add_paid("batched", paid)
        if failures[_STRAY_LINES] and not answer_count:
            intent.deleted = True  # nothing is left to delete
        # The model thinks before it replies, so the length of its replies has no bound.
        if failures["truncated"]:
            self.journal.set_fact("server", {**self.journal.facts["server"], "bounded": False})
        return failures

    def _add_note(self, intent: Intent, problem: str) -> None:
        """Add a note about a batch, if it is new. The words of a provider are untrusted."""
        note = replace_invisible(mask_secrets(f"batch {intent.batch or intent.name}: {problem}"))
        if note not in self._notes:
            self._notes.append(note)

    def _delete(self, intent: Intent) -> None:
        """Delete the input of a batch at the provider."""
        try:
            self._provider.call_if_there(self._provider.delete, intent)
        except JudgeError as problem:
            self._add_note(intent, f"its input is still at the provider: {problem}")
        else:
            self.journal.note(intent, deleted=True)

    def _submit(self) -> None:
        """Submit batches while the queue of the provider has room."""
        for intent, lines in self._asking.drafts:
            queued_tokens = sum(other.tokens for other in self.journal.unfinished)
            if queued_tokens and queued_tokens + intent.tokens > self._asking.most_queued:
                self._asking.held_back += intent.requests
            else:
                self._submit_batch(intent, lines)

    def _submit_batch(self, intent: Intent, lines: IO[bytes]) -> None:
        """Submit a batch. The journal gets each step before the step is done.

        Raises:
            JudgeError: The batch cannot be submitted. Or it is not known whether it was submitted: then the next start looks for it.
        """
        self.journal.plan(intent)
        try:
            self.journal.note(intent, file=self._provider.call(self._provider.upload, intent, lines))
            batch = self._provider.call(self._provider.create, intent, lines)
        except JudgeError as problem:
            if problem.status and not problem.retryable:
                self.journal.note(intent, ended="not submitted")
            raise
        self._note_batch(intent, batch)


def _find_model(metrics: Iterable[Metric]) -> OpenAIModel:
    """Find the one model that all judges of the metrics ask.

    Raises:
        ParameterError: There is no model, or it takes no batches.
    """
    models_by_identity: dict[str, OpenAIModel] = {}
    for metric in metrics:
        judge = metric.own_judge if isinstance(metric, JudgedMetric) else None
        if isinstance(judge, LLMJudge) and isinstance(judge.model, OpenAIModel):
            models_by_identity[judge.model.identity] = judge.model
        elif judge is not None:
            raise ParameterError(
                f"batch: {judge.name} takes no batches. Batches are for OpenAI, Anthropic and servers that speak OpenAI's form: "
                "--judge openai/MODEL."
            )
    if len(models_by_identity) != 1:
        names = ", ".join(sorted(models_by_identity)) or "no metric is judged by a model"
        raise ParameterError(f"batch: give the metrics one model for all: {names}.")
    (model,) = models_by_identity.values()
    return model


def _give_model(metric: Metric, model: BatchModel) -> Metric:
    """Return the metric with a judge that sends the same requests to another model."""
    if isinstance(metric, JudgedMetric) and isinstance(metric.own_judge, LLMJudge):
        return replace(metric, judge=metric.own_judge.asking(model))
    return metric
