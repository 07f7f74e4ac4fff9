"""The calls of retrievers: interleaved over the settings, timed, bounded, and kept in a file as they come."""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from ctxmetrics._internal.frozen import Plain
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import InputFileError, OutputFileError
from ctxmetrics.evaluation.retrievers.calling import Call
from ctxmetrics.evaluation.retrievers.retrieved import build_sample, read_retrieved
from ctxmetrics.evaluation.rows.json_lines import json_line
from ctxmetrics.evaluation.rows.locked_files import append, open_locked
from ctxmetrics.models.runtime.background import in_thread, in_time
from ctxmetrics.samples.sample import Sample
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN

# The key of a sample's metadata that says how its contexts were retrieved.
RETRIEVAL_KEY = "retrieval"
# The maximum number of characters of an error's text that are kept.
_MAX_ERROR_CHARACTERS = 500
# The number of seconds that calls get to end when retrieving is stopped.
_GRACE_SECONDS = 1.0
# The quantile of the seconds of calls that is called slow.
_SLOW_CALL_QUANTILE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieverCall:
    """The outcome of one call of a retriever.

    Attributes:
        sample: The question with what was retrieved for it, cut at k; after a call that failed, without contexts.
        seconds: How long the call took.
        error: Why it failed; None if it did not.
        scores: The score of each context, if each has one.
        k: The number of contexts that were asked for.
    """

    sample: Sample
    seconds: float
    error: str | None = None
    scores: tuple[float, ...] | None = None
    k: int

    @property
    def contexts(self) -> tuple[str, ...]:
        """The texts of the contexts, else their ids. Two that are equal are one repeated context."""
        return self.sample.retrieved_contexts or self.sample.retrieved_context_ids or ()

    def to_line(self) -> bytes:
        """Return the sample with how it was retrieved as a line of JSON."""
        fields: dict[str, Any] = {"seconds": self.seconds, "k": self.k}
        if self.error is not None:
            fields["error"] = self.error
        if self.scores is not None:
            fields["scores"] = [*self.scores]
        data = self.sample.to_dict()
        return json_line({**data, "metadata": {**data.get("metadata", {}), RETRIEVAL_KEY: fields}})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures(Plain):
    """The figures of the calls of one retriever.

    Attributes:
        calls: The number of questions that the retriever was asked.
        errors: How often the retriever failed. Each failure costs the setting this question.
        empty: How often the retriever returned nothing.
        fewer: How often the retriever returned some contexts, but fewer than k.
        repeated: How often the retriever returned a context twice.
        unsorted: How often the scores neither fall nor rise along the list. Then, too, the order of the list counts.
        median_seconds: Median seconds of a call that did not fail; None if there is none.
        slow_seconds: The 95th percentile.
        contexts: Mean number of contexts.
        tokens: Mean size of the contexts of a question, characters / 4; None if only ids are known.
        first_errors: The first errors, each with the question's name.
    """

    calls: int
    errors: int
    empty: int
    fewer: int
    repeated: int
    unsorted: int
    median_seconds: float | None
    slow_seconds: float | None
    contexts: float | None
    tokens: float | None
    first_errors: tuple[tuple[str, str], ...]


# The maximum number of shown errors of a retriever.
_MAX_ERRORS_SHOWN = 3


def summarize_calls(retrievals: Sequence[RetrieverCall | None]) -> CallFigures:
    """Summarize the calls of one retriever. Calls that were not made are left out."""
    errors: list[tuple[str, str]] = []  # the name of a question, and why its call failed
    successful: list[RetrieverCall] = []
    for number, retrieval in enumerate(retrievals, 1):
        if retrieval is None:
            continue
        if retrieval.error is None:
            successful.append(retrieval)
        else:
            errors.append((retrieval.sample.id or str(number), retrieval.error))
    seconds = sorted(retrieval.seconds for retrieval in successful)
    context_counts = [len(retrieval.contexts) for retrieval in successful]
    token_counts: list[float] = []
    for retrieval in successful:
        contexts = retrieval.sample.retrieved_contexts
        if contexts is not None:
            token_counts.append(sum(len(text) for text in contexts) / CHARACTERS_A_TOKEN)
    all_have_texts = bool(token_counts) and len(token_counts) == len(successful)
    slow_seconds: float | None = None
    if seconds:
        slow_seconds = seconds[math.ceil(_SLOW_CALL_QUANTILE * len(seconds)) - 1]
    fewer = [item for item in successful if 0 < len(item.contexts) < item.k]
    repeated = [item for item in successful if len(set(item.contexts)) < len(item.contexts)]
    unsorted = [item for item in successful if not _is_sorted(item.scores or ())]
    return CallFigures(
        calls=len(successful) + len(errors),
        errors=len(errors),
        empty=context_counts.count(0),
        fewer=len(fewer),
        repeated=len(repeated),
        unsorted=len(unsorted),
        median_seconds=median(seconds) if seconds else None,
        slow_seconds=slow_seconds,
        contexts=fmean(context_counts) if context_counts else None,
        tokens=fmean(token_counts) if all_have_texts else None,
        first_errors=tuple(errors[:_MAX_ERRORS_SHOWN]),
    )


def _is_sorted(scores: Sequence[float]) -> bool:
    """Tell whether scores only fall, or only rise."""
    score_list = [*scores]
    return score_list == sorted(scores) or score_list == sorted(scores, reverse=True)


class RetrievalFile:
    """A file of the results of one retriever, with a line for each question.

    A lock on the file keeps other runs away. A line that a kill cut off is removed.

    Args:
        path: The file.
        resume: Whether to keep the content of the file. Else it is emptied.

    Raises:
        InputFileError: The file cannot be opened, another run writes it, or it holds data of another kind.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self._retrievals: dict[str, RetrieverCall] = {}
        try:
            self._file = open_locked(path)
        except BlockingIOError:
            raise InputFileError(
                f"{path}: another run writes this file. Choose another folder."
            ) from None
        except OSError as error:
            raise InputFileError(f"{path}: cannot be written: {error.strerror or error}.") from None
        try:
            self._read(resume=resume)
        except BaseException:
            self.close()
            raise

    def _read(self, *, resume: bool) -> None:
        """Read the file, and cut off a line that was not finished."""
        end = 0
        for line in self._path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            try:
                sample_fields = json.loads(line)
                call_fields = sample_fields["metadata"].pop(RETRIEVAL_KEY)
                retrieval = _read_retrieval(sample_fields, call_fields)
            except (ValueError, LookupError, TypeError, AttributeError):
                raise InputFileError(
                    f"{self._path}: holds other data than what a retriever returned. Choose another folder."
                ) from None
            end += len(line)
            if retrieval.error is None:
                self._retrievals[_make_key(retrieval.sample)] = retrieval
        if not resume:
            self._retrievals = {}
            end = 0
        os.ftruncate(self._file, end)

    def find(self, question: Sample, k: int) -> RetrieverCall | None:
        """Find the stored retrieval of a question with at least this k. Other fields are taken from the question itself."""
        retrieval = self._retrievals.get(_make_key(question))
        if retrieval is None or retrieval.k < k:
            return None
        contexts = retrieval.sample.retrieved_contexts
        ids = retrieval.sample.retrieved_context_ids
        scores = retrieval.scores
        sample = replace(
            question,
            retrieved_contexts=None if contexts is None else contexts[:k],
            retrieved_context_ids=None if ids is None else ids[:k],
            stages=None,
            searches=None,
        )
        return replace(retrieval, sample=sample, k=k, scores=None if scores is None else scores[:k])

    def write(self, retrieval: RetrieverCall) -> None:
        """Append a line.

        Raises:
            OutputFileError: The file cannot be written.
        """
        try:
            append(self._file, retrieval.to_line())
        except OSError as error:
            raise OutputFileError(
                f"{self._path} cannot be written: {error.strerror or error}"
            ) from None

    def close(self) -> None:
        """Close the file, which gives the lock back."""
        with suppress(OSError):
            os.close(self._file)


def _read_retrieval(sample_fields: dict[str, Any], call_fields: Mapping[str, Any]) -> RetrieverCall:
    """Build a retrieval from the fields of the sample and of the call: see `RetrieverCall.to_line`."""
    scores = call_fields.get("scores")
    if scores is not None and None in scores:  # written for NaN by earlier versions
        scores = None
    return RetrieverCall(
        sample=Sample(**sample_fields),
        seconds=float(call_fields["seconds"]),
        error=call_fields.get("error"),
        scores=None if scores is None else tuple(map(float, scores)),
        k=int(call_fields["k"]),
    )


def _make_key(sample: Sample) -> str:
    """Return the key of a question in the file."""
    return json.dumps([sample.id, sample.user_input])


class Retriever:
    """One setting: the function that calls it, and the file of its results.

    Args:
        call: The function that asks the retriever.
        k: The number of contexts that count, from the top.
        timeout: The maximum number of seconds for one call; None: no limit.
        file: The file for the results of the retriever; None: no file.
    """

    def __init__(self, call: Call, k: int, timeout: float | None, file: RetrievalFile | None) -> None:
        self._call = call
        self._k = k
        self._timeout = timeout
        self._file = file

    async def retrieve(self, question: Sample) -> RetrieverCall:
        """Ask for the contexts of a question, unless a file has them.

        Raises:
            OutputFileError: The file cannot be written.
        """
        if self._file is None:
            return await self._ask(question)
        retrieval = self._file.find(question, self._k)
        if retrieval is None:
            retrieval = await self._ask(question)
            self._file.write(retrieval)
        return retrieval

    async def _ask(self, question: Sample) -> RetrieverCall:
        """Call the retriever and read its answer. A failure becomes a retrieval with an error."""
        ask = partial(self._call, question.user_input or "")
        began = time.perf_counter()
        seconds: float | None = None
        try:
            value = await in_time(self._timeout, ask) if self._timeout else await ask()
            seconds = time.perf_counter() - began
            retrieved = read_retrieved(value)
            sample = build_sample(question, retrieved, self._k)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a retriever may fail in any way; its question says so
            seconds = seconds or time.perf_counter() - began
            text = f"{type(error).__name__}: {safe_text(error)}"
            if isinstance(error, TimeoutError) and self._timeout and seconds >= self._timeout:
                text = f"no answer within {self._timeout:g} s"
            empty = replace(
                question,
                retrieved_contexts=None,
                retrieved_context_ids=None,
                stages=None,
                searches=None,
            )
            return RetrieverCall(
                sample=empty, seconds=seconds, error=text[:_MAX_ERROR_CHARACTERS], k=self._k
            )
        scores = retrieved.scores
        return RetrieverCall(
            sample=sample,
            seconds=seconds,
            scores=None if scores is None else scores[: self._k],
            k=self._k,
        )


class Retrieving:
    """Asks all retrievers all questions.

    The questions are asked one after the other, each in all settings before the next, and each time another setting is asked
    first: a machine that is busy, or remembers a question, treats all alike.

    Args:
        questions: The questions.
        retrievers: The settings by name.
        concurrency: The number of calls at a time.
        advance: Called after each call with whether it failed.
    """

    def __init__(
        self,
        questions: Sequence[Sample],
        retrievers: Mapping[str, Retriever],
        concurrency: int,
        advance: Callable[[bool], None] | None = None,
    ) -> None:
        self._questions = questions
        self._retrievers = retrievers
        self._concurrency = concurrency
        self._advance = advance
        self._workers: list[asyncio.Task[None]] = []
        self._stopped = False
        # For each setting: the retrieval of each question; None while the question is not answered.
        self.retrieved: dict[str, list[RetrieverCall | None]] = {
            name: [None] * len(questions) for name in retrievers
        }

    def stop(self) -> None:
        """Ask nothing more, in the loop's own thread."""
        self._stopped = True
        for worker in self._workers:
            worker.cancel()

    async def go(self) -> dict[str, list[RetrieverCall | None]]:
        """Return the retrieval of each question, by setting. It is None if the run was stopped before.

        Raises:
            OutputFileError: A file cannot be written.
        """
        await in_thread(time.perf_counter)  # the first call does not pay for the first thread
        names = deque(self._retrievers)
        calls: list[tuple[int, str]] = []  # the index of a question, and the name of a setting
        for index in range(len(self._questions)):
            calls += [(index, name) for name in names]
            names.rotate(-1)  # for each question another setting is the first
        open_calls = iter(calls)  # all workers take from it

        async def work() -> None:
            """Make one call after the other until none is left."""
            for index, name in open_calls:
                retrieval = await self._retrievers[name].retrieve(self._questions[index])
                self.retrieved[name][index] = retrieval
                if self._advance is not None:
                    self._advance(retrieval.error is not None)

        worker_count = min(self._concurrency, len(calls))
        self._workers = [asyncio.create_task(work()) for _ in range(worker_count)]
        if self._stopped:
            self.stop()
        try:
            await asyncio.gather(*self._workers)
        except asyncio.CancelledError:
            if not self._stopped:
                raise
        finally:
            for worker in self._workers:
                worker.cancel()
            if self._workers:
                await asyncio.wait(self._workers, timeout=_GRACE_SECONDS)
        return self.retrieved
