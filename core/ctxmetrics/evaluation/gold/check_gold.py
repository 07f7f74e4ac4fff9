"""What samples expect, checked: each finding with the question, the evidence and what to do."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import Plain, fields_to_json_data
from ctxmetrics._internal.text_table import wrap
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.files.row_file import RowFile
from ctxmetrics.evaluation.gold.findings import KINDS, Finding
from ctxmetrics.evaluation.gold.gold_audit import (
    AuditResult,
    check_names,
    draw_audit,
    name_inputs,
    name_outputs,
    read_audit,
    write_audit,
    write_corrected,
)
from ctxmetrics.evaluation.gold.gold_ids import check_ids
from ctxmetrics.evaluation.gold.gold_means import (
    Deciding,
    HoleBounds,
    count_deciding,
    measure_holes,
)
from ctxmetrics.evaluation.gold.gold_runs import (
    RunGold,
    RunResults,
    check_runs,
    list_run_notes,
    list_run_results,
)
from ctxmetrics.evaluation.gold.judged_gold import JUDGED_METRICS, Pool, PoolFindings, build_pools
from ctxmetrics.evaluation.gold.neighbouring_rows import check_neighbours
from ctxmetrics.evaluation.gold.passages import Passages, shorten
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.evaluation.gold.question_texts import check_texts
from ctxmetrics.evaluation.gold.readings import check_readings
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.tables import Column, Table, format_interval
from ctxmetrics.evaluation.retrievers.corpus import CorpusSource, read_corpus
from ctxmetrics.evaluation.rows.output_files import write_whole
from ctxmetrics.evaluation.rows.output_paths import check_outputs
from ctxmetrics.evaluation.runs.estimate import estimate
from ctxmetrics.evaluation.runs.evaluate import evaluate
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.runs.sources import list_samples
from ctxmetrics.evaluation.statistics.intervals import wilson
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import coerce_text
from ctxmetrics.judges.lexical.judge import LexicalJudge
from ctxmetrics.metrics.judging import get_default_judge
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural

SampleSource: TypeAlias = Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str]
# The number of questions that are drawn at random for an audit.
AUDITED_QUESTION_COUNT = 40
# The name of the run that the samples themselves hold, beside other runs.
OWN_RUN_NAME = "retrieved"
# The title of the page.
PAGE_TITLE = "The gold, checked"
# The maximum number of findings with one code on the page.
_MAX_FINDINGS_ON_PAGE = 200
# The maximum number of findings of a kind in the text.
_MAX_FINDINGS_IN_TEXT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class KindShare(Plain):
    """The number of questions that have a kind of finding.

    Attributes:
        kind: The kind of finding.
        questions: The number of questions that have it.
        share: The share of all questions that have it.
        interval: Wilson's 95 % interval of the share, if the questions are a random sample of more questions.
    """

    kind: str
    questions: int
    share: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldCheck(Plain):
    """The results of `check_gold`. As a string, they are a report.

    Attributes:
        samples: The number of samples.
        passages: The number of passages that were searched for the gold.
        with_corpus: Whether the passages are a whole corpus. Else they are only the retrieved and the expected passages, and the
            check proves less.
        findings: The findings, in the order of the kinds and of the samples.
        runs: For each run, how often the gold is its first results.
        holes: For each run, how much gold that is missing (holes) can change its means.
        deciding: How many questions can show a difference between the runs; None if there is no run.
        notes: What was not checked, and why.
        audit: The answers of people about the gold; None without labels.
        judge: The name of the judge; None if nothing was judged.
        results: The scores of the judged questions; None if nothing was judged. `to_dict` leaves them out.
    """

    samples: int
    passages: int
    with_corpus: bool
    findings: tuple[Finding, ...]
    runs: tuple[RunGold, ...]
    holes: tuple[HoleBounds, ...]
    deciding: Deciding | None
    notes: tuple[str, ...]
    audit: AuditResult | None = None
    judge: str | None = None
    results: Results | None = field(default=None, repr=False, compare=False)

    @property
    def is_complete(self) -> bool:
        """Whether the judge answered: the run neither stopped early nor got no verdict at all."""
        return _has_answered(self.results)

    @property
    def shares(self) -> tuple[KindShare, ...]:
        """The number of questions with a finding of each kind, and at the end the number of questions with any finding."""
        numbers_by_kind: dict[str, set[int]] = {kind: set() for kind in KINDS}
        for finding in self.findings:
            numbers_by_kind[finding.kind].add(finding.number)
        shares: list[KindShare] = []
        for kind, kind_numbers in numbers_by_kind.items():
            shares.append(_build_share(kind, len(kind_numbers), self.samples))
        all_numbers = {finding.number for finding in self.findings}
        return (*shares, _build_share("any", len(all_numbers), self.samples))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON-ready data, with the shares."""
        names = [name for name in self.__dataclass_fields__ if name != "results"]
        return {
            **fields_to_json_data(self, names),
            "shares": [share.to_dict() for share in self.shares],
        }

    def html(self, *, title: str = PAGE_TITLE) -> str:
        """Return the page: shares, what follows for the runs, and the first findings of each kind."""
        kinds = [
            (KINDS[kind], _group_by_code(findings))
            for kind, findings in groupby(self.findings, attrgetter("kind"))
        ]
        return render(
            "gold.html",
            title=title,
            language="en",
            heading=self._heading,
            shares=Table.build(_SHARE_COLUMNS, self.shares),
            sentences=self._list_sentences(),
            kinds=kinds,
            notes=self.notes,
        )

    def to_html(self, path: str | os.PathLike[str], *, title: str = PAGE_TITLE) -> None:
        """Write the page. Raises as `ctxmetrics.Results.to_html`."""
        write_whole(path, [self.html(title=title)])

    @property
    def _heading(self) -> str:
        """The first line of the report: how many questions and passages, and which judge."""
        where = "retrieved or expected; no corpus, which proves less"
        if self.with_corpus:
            where = "in the corpus"
        heading = f"{plural(self.samples, 'question')}, {plural(self.passages, 'passage')} {where}"
        if self.judge is not None:
            heading += f"; judge: {replace_invisible(self.judge)}"
        if self.results is not None and self.results.stopped:
            heading += f", {self.results.describe_rest()}"
        elif not self.is_complete:
            heading += ", which did not answer"
        return heading

    def _list_sentences(self) -> list[str]:
        """List the sentences about the runs and the audit."""
        sentences = [str(item) for item in (*self.runs, *self.holes)]
        if self.deciding is not None:
            sentences.append(str(self.deciding))
        return sentences if self.audit is None else [*sentences, *self.audit.list_sentences()]

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        yield self._heading
        yield ""
        yield from Table.build(_SHARE_COLUMNS, self.shares).list_lines()
        sentences = self._list_sentences()
        if sentences:
            yield ""
            yield from chain.from_iterable(map(wrap, sentences))
        for kind, title in KINDS.items():
            findings = [finding for finding in self.findings if finding.kind == kind]
            if not findings:
                continue
            yield ""
            yield f"{title}: {len(findings)}"
            for finding in findings[:_MAX_FINDINGS_IN_TEXT]:
                yield from _finding_lines(finding)
            if len(findings) > _MAX_FINDINGS_IN_TEXT:
                yield f"  and {len(findings) - _MAX_FINDINGS_IN_TEXT} more: --format json lists all"
        if self.notes:
            yield ""
            for note in self.notes:
                yield from wrap(f"note: {note}")


def _build_share(kind: str, count: int, samples: int) -> KindShare:
    """Build the share of the questions that have a finding of a kind, with its interval."""
    share = count / samples
    interval = wilson(share, samples)
    return KindShare(kind=kind, questions=count, share=share, interval=interval)


# The columns of the table of kinds.
_SHARE_COLUMNS: Sequence[Column[KindShare]] = (
    Column("kind", lambda item: KINDS.get(item.kind, "any of them")),
    Column("questions", attrgetter("questions")),
    Column("share", attrgetter("share"), ".3f"),
    Column("95 % interval", lambda item: format_interval(item.interval, ".3f")),
)


@dataclass(frozen=True, slots=True)
class _FindingGroup:
    """Findings that ask for the same correction, as the page lists them.

    Attributes:
        code: The code of the findings, such as ``other_form``.
        fix: The advice for all of them.
        count: The number of findings.
        findings: The findings that the page has: all, or the first ones.
    """

    code: str
    fix: str
    count: int
    findings: Sequence[Finding]


def _group_by_code(findings: Iterable[Finding]) -> list[_FindingGroup]:
    """Group findings by their code, so that the page gives each advice once."""
    findings_by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        findings_by_code.setdefault(finding.code, []).append(finding)
    return [
        _FindingGroup(
            code=code,
            fix=items[0].fix,
            count=len(items),
            findings=items[:_MAX_FINDINGS_ON_PAGE],
        )
        for code, items in findings_by_code.items()
    ]


def _finding_lines(finding: Finding) -> Iterator[str]:
    """Yield the lines of a finding in the report: the question, the evidence and what to do."""
    yield from wrap(replace_invisible(f"{finding.sample} [{finding.code}] {finding.question}"), "  ")
    yield from wrap(replace_invisible(finding.evidence), "    ")
    yield from wrap(f"-> {finding.fix}", "    ")


def check_gold(
    samples: SampleSource,
    *,
    corpus: CorpusSource | None = None,
    runs: Mapping[str, SampleSource] | None = None,
    judge: Judge | str | None = None,
    announce: Callable[[str], None] | None = None,
    audit: str | os.PathLike[str] | None = None,
    sample: int = AUDITED_QUESTION_COUNT,
    seed: int = 0,
    labels: str | os.PathLike[str] | None = None,
    corrected: str | os.PathLike[str] | None = None,
    **options: Unpack[RunOptions],
) -> GoldCheck:
    """Check what samples expect: gold ids and passages, references, and the questions themselves.

    Args:
        samples: Samples with the expected items, or a file of them.
        corpus: All passages that a retriever can find, as for `ctxmetrics.compare_retrievers`; None: the contexts of the
            samples and runs, which proves less.
        runs: What retrievers returned for the same questions, by their names: samples, or files of them. What the samples
            themselves retrieved is one of them.
        judge: Who judges what the texts state, or its name as ``--judge`` takes it; None: the embedded `LexicalJudge`.
        announce: Called with one line about the cost before anything is judged; None: it is logged.
        audit: A file of the questions that people label, for ``ctxmetrics label``. Without ``labels`` it is written: a random
            part and the questions in doubt, blind.
        sample: How many questions are drawn at random for it, and how many in doubt are added at most.
        seed: The seed of the draw.
        labels: The answers of people to the audit. With them, the report has the means by people's gold.
        corrected: The file for the samples with people's gold. The changes go to ``CORRECTED.changes.jsonl``.
        **options: As for `ctxmetrics.evaluate`, except ``out``.

    Returns:
        The findings; ``print`` shows them. If the judge failed or the run stopped early, a note says so, and neither
        ``audit`` nor ``corrected`` is written.

    Raises:
        ParameterError: There is no sample, or no sample has expected items. Or a batch is not answered yet.
        SampleError: A sample is malformed, or has the id of another; or, for an audit, the number of a sample without an id.
        InputFileError: A file cannot be read, or an output is one of the inputs or cannot be written. Or the audit is about
            other questions.
    """
    _check_arguments(sample, audit, labels, corrected)
    runs = {} if runs is None else runs
    inputs = {**_name_sources(samples, corpus, runs), **name_inputs(audit, labels)}
    check_outputs(name_outputs(audit, labels, corrected), inputs)
    judge = coerce_text(judge)
    checked_samples, own_run = _read_samples_and_run(samples, for_audit=audit is not None)
    samples_by_run = {**own_run, **_read_runs(checked_samples, runs)}
    run_samples = filter(None, chain.from_iterable(samples_by_run.values()))
    passages = Passages(
        None if corpus is None else read_corpus(corpus), chain(checked_samples, run_samples)
    )
    questions = [Question(number, item, passages) for number, item in enumerate(checked_samples, 1)]
    run_results = list_run_results(questions, samples_by_run)
    run_checks = check_runs(questions, run_results)
    findings = [
        *check_ids(questions, passages),
        *run_checks.findings,
        *check_texts(questions),
        *check_readings(questions, passages),
        *check_neighbours(questions, passages),
    ]
    audit_result = None
    corrected_samples: list[Sample] = []
    if audit is not None and labels is not None:
        # Before the judge is asked, which may cost money.
        audit_result, corrected_samples = read_audit(Path(audit), Path(labels), questions, run_results)
    pools = list(build_pools(questions, passages, samples_by_run))
    results = _judge_pools(pools, judge, announce, options) if pools else None
    not_compared = 0
    for pool, row in zip(pools, results or (), strict=True):
        pool_findings = PoolFindings(pool, row, passages, by_words=_compares_words(judge))
        findings += pool_findings
        findings += pool_findings.check_first_results(run_checks.undecided.get(pool.question.number))
        if pool_findings.is_in_another_language:
            not_compared += 1
    findings = _drop_holes_with_named_ids(findings)
    order_of_kinds = list(KINDS)
    findings.sort(key=lambda finding: (order_of_kinds.index(finding.kind), finding.number))
    is_complete = _has_answered(results)
    notes = [
        *_list_notes(questions, passages, samples_by_run, run_results),
        *_list_judge_notes(results),
    ]
    if not_compared:
        notes.append(
            f"{plural(not_compared, 'reference')} in another language than the gold passages: the embedded judge compares "
            "words and did not look who states them. --judge takes a model"
        )
    if audit_result is not None and corrected is not None and is_complete:
        write_corrected(Path(corrected), corrected_samples, audit_result.changes)
    elif audit is not None and labels is None and is_complete:
        write_audit(Path(audit), draw_audit(pools, findings, sample, seed))
    output = audit if labels is None else corrected
    if output is not None and not is_complete:
        notes.append(f"{output} is not written: the judge did not answer")
    return GoldCheck(
        samples=len(questions),
        passages=len(passages),
        with_corpus=passages.is_corpus,
        findings=tuple(findings),
        runs=tuple(run_checks.counts),
        holes=tuple(measure_holes(questions, samples_by_run, run_results, findings)),
        deciding=count_deciding(questions, run_results, passages),
        notes=tuple(notes),
        audit=audit_result,
        judge=None if results is None else (judge or get_default_judge()).name,
        results=results,
    )


def _check_arguments(sample: int, audit: object, labels: object, corrected: object) -> None:
    """Check the number and the files that `check_gold` takes for an audit.

    Raises:
        ParameterError: An argument is of another type, or needs another one.
    """
    check_number("check_gold: sample", sample, 1, whole=True)
    for name, path in (("audit", audit), ("labels", labels), ("corrected", corrected)):
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise ParameterError(f"check_gold: {name} must be a file. Write {name}='FILE.jsonl'.")
    if labels is not None and audit is None:
        raise ParameterError("check_gold: labels= needs audit=, the file that was labelled.")
    if corrected is not None and labels is None:
        raise ParameterError("check_gold: corrected= needs labels=: what people said about the audit.")


def _drop_holes_with_named_ids(findings: Sequence[Finding]) -> list[Finding]:
    """Leave out the holes whose id the gold already names, in another form.

    A hole is a retrieved passage that is useful and missing in the gold. Another finding, with the code "other_form", already says
    how to write its id.
    """
    # Pairs: the number of a question, and an id that its gold names in another form.
    ids_in_other_form: set[tuple[int, str]] = set()
    for finding in findings:
        if finding.code == "other_form":
            ids_in_other_form.update((finding.number, id_) for id_ in finding.items)
    others: list[Finding] = []
    for finding in findings:
        is_hole = finding.code == "hole"
        if is_hole and (finding.number, finding.items[0]) in ids_in_other_form:
            continue
        others.append(finding)
    return others


def _name_sources(
    samples: SampleSource, corpus: CorpusSource | None, runs: Mapping[str, SampleSource]
) -> dict[str, object]:
    """Name the files that are read.

    Raises:
        ParameterError: The runs are no mapping.
    """
    if not isinstance(runs, Mapping):
        raise ParameterError(
            "check_gold: runs must be a mapping of names to samples or files. Write runs={'NAME': run}."
        )
    sources = {"samples": samples, "corpus": corpus}
    sources.update({f"run {name!r}": source for name, source in runs.items()})
    return {name: _find_path(source) for name, source in sources.items()}


def _find_path(source: object) -> object:
    """Find the file that a source is, or reads. Return None if there is none."""
    if isinstance(source, RowFile):
        return source.path
    return source if isinstance(source, (str, os.PathLike)) else None


def _judge_pools(
    pools: Sequence[Pool],
    judge: Judge | None,
    announce: Callable[[str], None] | None,
    options: RunOptions,
) -> Results:
    """Judge the pools, after a line about the cost.

    Raises:
        ParameterError: A batch is not answered yet.
    """
    samples = [pool.sample for pool in pools]
    cost = _describe_cost(samples, judge)
    if announce is None:
        logging.getLogger("ctxmetrics").info(cost)
    else:
        announce(cost)
    results = evaluate(samples, JUDGED_METRICS, judge=judge, **options)
    if results.waits_for_batches:
        raise ParameterError(
            f"check_gold: {results.stopped or 'batches are not answered yet'}. Call it again later, or use Batch(mode='wait')."
        )
    return results


def _has_answered(results: Results | None) -> bool:
    """Tell whether the judge answered, or was not needed."""
    return results is None or not (results.stopped or results.unanswered)


def _list_judge_notes(results: Results | None) -> Iterator[str]:
    """Yield a note on questions that the judge did not answer."""
    if results is None:
        return
    if results.trouble:
        yield results.trouble
    if results.stopped:
        yield f"{results.stopped}: {results.describe_rest()}"


def _compares_words(judge: Judge | None) -> bool:
    """Tell whether a judge is the embedded one."""
    return judge is None or isinstance(judge, LexicalJudge)


def _describe_cost(samples: Sequence[Sample], judge: Judge | None) -> str:
    """Describe in one line the cost of judging the samples."""
    if _compares_words(judge):
        return f"{plural(len(samples), 'question')} to judge: no request is sent"
    try:
        cost = estimate(samples, JUDGED_METRICS, judge=judge)
    except ParameterError:
        return f"{plural(len(samples), 'question')} to judge; what a call costs is not known here"
    return (
        f"{plural(len(samples), 'question')} to judge: {cost.calls} requests, about {cost.prompt_tokens:,} + "
        f"{cost.completion_tokens:,} tokens"
    )


def _read_samples_and_run(
    source: SampleSource, *, for_audit: bool
) -> tuple[list[Sample], dict[str, Sequence[Sample | None]]]:
    """Read the samples, and what they retrieved as a run. There is no such run if they retrieved nothing.

    Raises:
        ParameterError: There is no sample, or no sample has expected items.
        SampleError: An audit cannot name each sample.
    """
    samples = list_samples(source, "check_gold")
    if not samples:
        raise ParameterError("check_gold: there is no sample.")
    if not any(map(_has_gold, samples)):
        raise ParameterError(
            "check_gold: no sample expects anything. Fill reference, reference_contexts or reference_context_ids."
        )
    if for_audit:
        check_names(samples)
    has_own_run = any(map(_has_results, samples))
    return samples, {OWN_RUN_NAME: samples} if has_own_run else {}


def _has_gold(sample: Sample) -> bool:
    """Tell whether a sample has a reference, or gold passages or ids."""
    names = ("reference", "reference_contexts", "reference_context_ids")
    return any(map(sample.has, names))


def _has_results(sample: Sample) -> bool:
    """Tell whether a sample has retrieved contexts or ids."""
    return sample.has("retrieved_contexts") or sample.has("retrieved_context_ids")


def _read_runs(
    questions: Sequence[Sample], runs: Mapping[str, SampleSource]
) -> dict[str, list[Sample | None]]:
    """Read what each run retrieved for each question.

    Raises:
        ParameterError: A run has none of the questions, or the name of what the samples retrieved.
    """
    if OWN_RUN_NAME in runs:
        raise ParameterError(
            f"check_gold: {OWN_RUN_NAME!r} is the name of what the samples themselves retrieved. Give the run another name."
        )
    return {name: _join_run(name, questions, source) for name, source in runs.items()}


def _join_run(name: str, questions: Sequence[Sample], source: SampleSource) -> list[Sample | None]:
    """Find what a run retrieved for each question: by the id, else by the question itself.

    Raises:
        ParameterError: The run has none of the questions, or has a question twice with different results.
    """
    by_id: dict[str, Sample] = {}
    by_text: dict[str, list[Sample]] = {}
    for sample in list_samples(source, f"check_gold: run {name!r}"):
        if sample.id is not None:
            by_id[sample.id] = sample
        if sample.user_input:
            by_text.setdefault(sample.user_input, []).append(sample)
    samples_of_questions: list[Sample | None] = []
    for question in questions:
        match = by_id.get(question.id) if question.id is not None else None
        if match is None and question.user_input in by_text:
            match = _find_only_match(name, by_text[question.user_input])
        samples_of_questions.append(match)
    if not any(samples_of_questions):
        raise ParameterError(
            f"check_gold: run {name!r} has none of the questions, neither by id nor by user_input."
        )
    return samples_of_questions


def _find_only_match(run: str, samples: Sequence[Sample]) -> Sample:
    """Return the first of a run's samples of one question, if all of them have the same results.

    Raises:
        ParameterError: They have different results.
    """
    first, *others = samples
    for sample in others:
        if _get_results(sample) != _get_results(first):
            text = replace_invisible(shorten(first.user_input or ""))
            raise ParameterError(
                f"check_gold: run {run!r} has the question {text!r} twice, with different results. Give its samples the ids of "
                "the samples that are checked."
            )
    return first


def _get_results(sample: Sample) -> tuple[Sequence[str], Sequence[str]]:
    """Return the retrieved contexts of a sample, and their ids."""
    return sample.retrieved_contexts or (), sample.retrieved_context_ids or ()


def _list_notes(
    questions: Sequence[Question],
    passages: Passages,
    runs: Mapping[str, Sequence[Sample | None]],
    run_results: RunResults,
) -> Iterator[str]:
    """Yield notes on checks that were not done."""
    if not any(question.gold for question in questions):
        yield "no sample has gold passages or ids: only questions and references were checked"
    if not passages.is_corpus:
        yield (
            "without a corpus, a gold id that was never retrieved is not called missing. --corpus FILE has all passages"
        )
    elif not passages.places_by_id:
        yield "no passage of the corpus has an id: gold ids were not looked for"
    yield from list_run_notes(questions, runs, run_results)
    if not runs:
        yield "no run: whether a retriever made the gold was not checked. --run NAME=FILE has what one returned"
