"""``ctxmetrics run``: the retrievers of a Python file, asked the questions of another file and compared."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.cli._options import (
    CacheFolder,
    Cluster,
    Gates,
    Help,
    Judging,
    PageTitle,
    QuestionFile,
    SampleFile,
    Selection,
    Tags,
)
from ctxmetrics.evaluation.cli._terminal import (
    leave,
    note_unused,
    print_in_format,
    print_result,
    print_warnings_at_end,
)
from ctxmetrics.evaluation.cli.score import Budget
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.evaluation.agreement.card import Card
    from ctxmetrics.evaluation.cli._gates import Gate
    from ctxmetrics.evaluation.retrievers.retriever_comparison import RetrieverComparison
    from ctxmetrics.evaluation.rows.outcome import Outcome
    from ctxmetrics.evaluation.runs.results import Results
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples.sample import Sample

# The name of the mapping of settings in a file of retrievers.
_MAPPING_NAME = "retrievers"
# The beginning of the names of functions that are settings, in a file without that mapping.
_FUNCTION_PREFIX = "retrieve_"


@dataclass(frozen=True, kw_only=True)
class Calls:
    """How the retrievers are called and judged."""

    k: Annotated[int, Help("How many contexts of each setting count.", lowest=1)] = 10
    corpus: Annotated[
        Path | None,
        Help(
            "All chunks that the retrievers search: adds bm25 and random as a floor. Needs the extra bm25."
        ),
    ] = None
    apart: Annotated[bool, Help("Judge each setting alone, not all of a question together.")] = False
    retrieval_timeout: Annotated[float, Help("Seconds for one call of a retriever.")] = 60.0
    retrieval_concurrency: Annotated[int, Help("Calls of retrievers at a time.", lowest=1)] = 1
    cluster: Cluster = None


@dataclass(frozen=True, kw_only=True)
class RunOutput:
    """What is written, and kept for a later run."""

    folder: Annotated[
        Path | None,
        Help(
            "Keep what was retrieved as it comes, and the results of each setting, in this directory."
        ),
    ] = None
    resume: Annotated[
        bool, Help("Go on after a run that was stopped: take over what --folder holds.")
    ] = False
    cache: CacheFolder = None
    format: Annotated[Literal["text", "json", "markdown"], Help("text, json or markdown.")] = "text"
    report: Annotated[
        Path | None, Help("Write the comparison as a page: FILE.html.", names=("--report", "--page"))
    ] = None
    title: PageTitle = None
    tags: Tags = None


@dataclass(frozen=True, kw_only=True)
class RunGates(Gates):
    """What must hold of each setting, else the exit status is 1."""

    primary: Annotated[
        list[str] | None,
        Help(
            "A metric that gets a verdict. Repeatable. Without it: those of the gates, else the first."
        ),
    ] = None
    max_drop: Annotated[
        list[str] | None,
        Help("NAME=MARGIN: exit 1 if a setting shows a larger loss to the first. Repeatable."),
    ] = None
    not_worse: Annotated[
        list[str] | None,
        Help("NAME=MARGIN: exit 1 unless the interval shows at most that loss. Repeatable."),
    ] = None
    max_errors: Annotated[
        int | None,
        Help("Exit 1 if more calls of a setting failed.", lowest=0),
    ] = None


def run(
    file: Annotated[
        Path,
        Help(
            f"A Python file with a mapping {_MAPPING_NAME}, or functions {_FUNCTION_PREFIX}NAME.",
            argument=True,
        ),
    ],
    source: QuestionFile,
    selection: Selection,
    judging: Judging,
    calls: Calls,
    output: RunOutput,
    budget: Budget,
    gates: RunGates,
) -> None:
    """Ask retrievers the questions of a file, judge what they returned together, and compare them."""
    from ctxmetrics.evaluation.cli._gates import check_controls, load_card, read_gates
    from ctxmetrics.evaluation.cli._run import build_judge
    from ctxmetrics.evaluation.retrievers.retriever_run import RetrieverRun, run_retrievers

    if output.resume and output.folder is None:
        raise ParameterError("--resume needs --folder DIR, the folder of the run that was stopped.")
    note_unused({"--title": output.title}, {"--report": output.report})
    note_unused({"--tag": output.tags}, {"--folder": output.folder})
    _check_paths(file, source, calls, output, gates)
    judge = build_judge(**vars(judging))
    questions = _read_questions(source)
    metrics = _choose_metrics(questions, selection, judge)
    with redirect_stdout(sys.stderr):  # what the file prints is no result
        retrievers = load_retrievers(file)
    # All gates and the card are read before anything is paid.
    metric_gates = read_gates(metrics, gates, None)
    margin_gates = _read_margins(metrics, judge, gates)
    retriever_run = RetrieverRun(
        questions,
        retrievers,
        metrics,
        judge=judge,
        k=calls.k,
        corpus=calls.corpus,
        pooled=not calls.apart,
        primary=gates.primary or [gate.metric for gate in margin_gates],
        cluster=calls.cluster,
        folder=output.folder,
        resume=output.resume,
        retrieval_timeout=calls.retrieval_timeout,
        retrieval_concurrency=calls.retrieval_concurrency,
        controls=gates.controls,
        drop_lacking=not selection.metric,
        cache=_choose_cache(output, judging),
        tags=output.tags,
        **vars(budget),
    )
    card = load_card(gates, retriever_run.judge_name or judge.name, metrics)
    with print_warnings_at_end(), redirect_stdout(sys.stderr):
        comparison = run_retrievers(retriever_run)
    shared_outcomes = [
        *check_controls(gates, comparison.controls),
        *_check_left_out(metric_gates, comparison),
    ]
    scored_gates = [gate for gate in metric_gates if gate.name in comparison.metrics]
    checked_settings: list[_CheckedSetting] = []
    for name in comparison.retrieved:
        checked = _check_setting(comparison, name, gates, card, scored_gates, margin_gates)
        checked_settings.append(checked)
        _keep_gates(output.folder, comparison, name, [*checked.outcomes, *shared_outcomes])
    has_failed = _report_run(comparison, checked_settings, shared_outcomes, file, output, gates)
    leave(_find_worst(comparison), judge, out=output.folder, failed_gates=has_failed)


def _check_paths(
    file: Path, source: QuestionFile, calls: Calls, output: RunOutput, gates: RunGates
) -> None:
    """Check that no output is an input, before anything is read."""
    from ctxmetrics.evaluation.rows.output_paths import check_outputs

    outputs = {"--report": output.report, "--junit": gates.junit}
    inputs = {
        "FILE": file,
        "--questions": source.questions,
        "--corpus": calls.corpus,
        "--calibration": gates.calibration,
    }
    check_outputs(outputs, inputs)


def _choose_cache(output: RunOutput, judging: Judging) -> Path | None:
    """Choose the folder of the cache: the one that is named, or one in the folder of the run if a model judges."""
    if output.cache is None and output.folder is not None and judging.judge != "lexical":
        return output.folder / "cache"
    return output.cache


class _CheckedSetting(NamedTuple):
    """The gates and the corrected means of a setting.

    Attributes:
        name: The name of the setting.
        outcomes: The outcomes of the gates.
        corrections: The corrected means, as JSON-ready data.
        table: The corrected means as a table; empty without any.
    """

    name: str
    outcomes: Sequence[Outcome]
    corrections: Sequence[Mapping[str, Any]]
    table: str


def _check_setting(
    comparison: RetrieverComparison,
    name: str,
    gates: RunGates,
    card: Card | str,
    metric_gates: Sequence[Gate],
    margin_gates: Sequence[_MarginGate],
) -> _CheckedSetting:
    """Check the gates of a setting, and correct its means by a calibration card.

    Args:
        comparison: The comparison of all settings.
        name: The name of the setting.
        gates: The options that are gates.
        card: The card, or why there is none.
        metric_gates: The gates on means and pass rates of metrics that were computed.
        margin_gates: The gates on the difference to the first setting.
    """
    from ctxmetrics.evaluation.cli._gates import check_gates, correct_means, format_corrections

    results = comparison[name].results
    corrections, uncalibrated = correct_means(gates, card, results)
    outcomes = [
        *check_gates(metric_gates, gates, results, uncalibrated),
        *_check_margins(comparison, name, margin_gates),
        *_check_errors(comparison, name, gates.max_errors),
    ]
    table = format_corrections(gates, card, corrections)
    return _CheckedSetting(
        name=name,
        outcomes=outcomes,
        corrections=[correction.to_dict() for correction, _ in corrections],
        table=f"\n{name}:{table}" if table else "",
    )


def _keep_gates(
    folder: Path | None, comparison: RetrieverComparison, name: str, outcomes: Sequence[Outcome]
) -> None:
    """Write the outcomes of the gates into the file of a setting's results."""
    from ctxmetrics.evaluation.retrievers.retriever_run import file_name
    from ctxmetrics.evaluation.rows.output_files import write_gates

    results = comparison[name].results
    # Without a complete run, the file is still that of an earlier run.
    if folder is not None and not results.stopped and not results.unanswered:
        write_gates(folder / f"{file_name(name)}.jsonl", outcomes)


def _report_run(
    comparison: RetrieverComparison,
    settings: Sequence[_CheckedSetting],
    shared_outcomes: Sequence[Outcome],
    file: Path,
    output: RunOutput,
    gates: RunGates,
) -> bool:
    """Print the comparison, write the page, and report all gates. Return whether a gate failed.

    Args:
        comparison: The comparison of all settings.
        settings: The gates and corrected means of each setting.
        shared_outcomes: The outcomes of the gates that are about no single setting.
        file: The file of the retrievers, for the title of the page.
        output: The options of the output.
        gates: The options that are gates.
    """
    from ctxmetrics.evaluation.cli._gates import fence_text, write_ci_reports
    from ctxmetrics.evaluation.pages import name_page

    outcomes: list[Outcome] = []
    for setting in settings:
        outcomes += [outcome.in_setting(setting.name) for outcome in setting.outcomes]
    outcomes += shared_outcomes
    gate_rows = [(outcome.gate, outcome.problem) for outcome in outcomes]
    json_entries: dict[str, Any] = {
        "gates": [{"gate": gate, "problem": problem} for gate, problem in gate_rows]
    }
    if gates.calibration is not None:
        json_entries["corrected"] = {setting.name: setting.corrections for setting in settings}
    print_in_format(comparison, output.format, **json_entries)
    tables = [setting.table for setting in settings if setting.table]
    if output.format != "json":
        print_result("\n".join(tables) or None)  # without a table, it only flushes stdout
    if output.report is not None:
        title = output.title or name_page(output.report, file)
        comparison.to_html(output.report, title=title, gates=gate_rows)
    summary = "\n\n".join([comparison.markdown(), *(fence_text(table) for table in tables)])
    return write_ci_reports(outcomes, "ctxmetrics run", summary, gates.junit)


def _find_worst(comparison: RetrieverComparison) -> Results:
    """Find the results that decide the exit status: results without a verdict of the judge, else the first results."""
    all_results = [setting.results for setting in comparison.settings.values()]
    for results in all_results:
        if results.unanswered:
            return results
    return all_results[0]


def load_retrievers(path: Path) -> Mapping[str, Any]:
    """Run a Python file and return its settings: a mapping ``retrievers``, else its functions ``retrieve_NAME``.

    Raises:
        InputFileError: The file does not exist, or is no Python file.
        ParameterError: The file raised an error, or holds no retriever.
    """
    if not path.is_file() or path.suffix != ".py":
        raise InputFileError(
            f"{path}: is no Python file. Write FILE.py; `ctxmetrics init QUESTIONS --out FILE.py` makes one."
        )
    spec = util.spec_from_file_location(f"ctxmetrics_run_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputFileError(f"{path}: cannot be loaded.")
    module = util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses and pickle look for it there
    folder = str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # at the end: a file there takes the place of no installed module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error
    retrievers: Any = getattr(module, _MAPPING_NAME, None)
    if retrievers is None:
        retrievers = {
            name.removeprefix(_FUNCTION_PREFIX): value
            for name, value in vars(module).items()
            if name.startswith(_FUNCTION_PREFIX) and callable(value)
        }
    if not isinstance(retrievers, Mapping) or not retrievers:
        raise ParameterError(
            f"{path}: holds no retriever. Write {_MAPPING_NAME} = {{'NAME': retriever}}, or functions named {_FUNCTION_PREFIX}NAME."
        )
    return retrievers


def _read_questions(source: QuestionFile) -> list[Sample]:
    """Read the questions of a run, without the answers of an earlier one."""
    from ctxmetrics.evaluation.cli._run import load_samples

    options = {name: value for name, value in vars(source).items() if name != "questions"}
    samples = load_samples(SampleFile(file=source.questions, **options))
    # An answer that was given before rests on other contexts.
    return [replace(sample, response=None) for sample in samples]


def _choose_metrics(questions: Sequence[Sample], selection: Selection, judge: Judge) -> list[Metric]:
    """Build the metrics of ``--metric``, else every one that fits the questions once something is retrieved for them."""
    from ctxmetrics.evaluation.cli._run import build_metric, choose_convention, list_fitting_metrics

    convention = choose_convention(None, selection.convention)
    if selection.metric:
        return [build_metric(name, convention) for name in selection.metric]
    # The questions as they will be when something is retrieved for them.
    questions_with_contexts = [
        replace(question, retrieved_contexts=("text",), retrieved_context_ids=("id",))
        for question in questions
    ]
    return list_fitting_metrics(questions_with_contexts, convention, judge)


class _MarginGate(NamedTuple):
    """A gate on the difference of a setting to the first setting.

    Attributes:
        option: ``--max-drop`` or ``--not-worse``.
        metric: The name of the metric.
        margin: The loss that is allowed.
    """

    option: str
    metric: str
    margin: float


def _read_margins(metrics: Sequence[Metric], judge: Judge, gates: RunGates) -> list[_MarginGate]:
    """Read the gates on the difference of a setting to the first setting.

    Raises:
        ParameterError: A gate names no metric of the comparison, or a metric without a verdict; or its margin is not on the
            metric's scale.
    """
    from ctxmetrics.evaluation.cli._gates import read_name_and_value
    from ctxmetrics.evaluation.comparison.compare import choose_metric
    from ctxmetrics.evaluation.runs.gates import check_margin
    from ctxmetrics.evaluation.runs.metric_list import check_metrics

    metrics_by_name = {metric.name: metric for metric in check_metrics(metrics, judge)}
    names = [*metrics_by_name]
    primary = [choose_metric(names, name, "--primary") for name in gates.primary or ()]
    margin_gates: list[_MarginGate] = []
    for option, texts in (("--max-drop", gates.max_drop), ("--not-worse", gates.not_worse)):
        for text in texts or ():
            name, margin = read_name_and_value(option, text)
            metric = metrics_by_name[choose_metric(names, name, option)]
            if metric.name not in (primary or names):
                raise ParameterError(
                    f"{option} {name!r}: this metric is secondary; the verdict is about {', '.join(primary)}. "
                    f"Name it with --primary {name}."
                )
            check_margin(option, name, margin, metric.convention_data.scale)
            margin_gates.append(_MarginGate(option, name, margin))
    return margin_gates


def _check_left_out(metric_gates: Sequence[Gate], comparison: RetrieverComparison) -> Iterator[Outcome]:
    """Yield a failed outcome for each gate on a metric that was left out: no retriever returned the fields that it needs."""
    from ctxmetrics.evaluation.rows.outcome import Outcome

    for gate in metric_gates:
        if gate.name not in comparison.metrics:
            problem = f"{gate.name} was left out: no retriever returned what it needs"
            yield Outcome(gate.text, problem, metric=gate.name, bar=gate.minimum)


def _check_margins(
    comparison: RetrieverComparison, setting: str, margin_gates: Sequence[_MarginGate]
) -> Iterator[Outcome]:
    """Yield the outcome of each gate on the difference of a setting to the first."""
    from ctxmetrics.evaluation.rows.outcome import Outcome
    from ctxmetrics.evaluation.runs.gates import check_difference

    first_setting = comparison.retrieved[0]
    if setting == first_setting:
        return
    # The comparison of each setting with the first, by the name of the setting.
    comparisons = {} if comparison.comparisons is None else comparison.comparisons.runs
    for gate in margin_gates:
        if setting in comparisons:
            yield check_difference(comparisons[setting], gate.option, gate.metric, gate.margin)
        else:
            yield Outcome(
                gate=f"{gate.option} {gate.metric}={gate.margin:g}",
                problem="it cannot be compared with the first",
                bar=gate.margin,
                against=first_setting,
            )


def _check_errors(
    comparison: RetrieverComparison, setting: str, max_errors: int | None
) -> Iterator[Outcome]:
    """Yield the outcome of the gate on calls of a setting that failed."""
    from ctxmetrics.evaluation.rows.outcome import Outcome

    if max_errors is None:
        return
    calls = comparison[setting].calls
    problem = None
    if calls.errors > max_errors:
        problem = f"{plural(calls.errors, 'call')} of {calls.calls} failed, more than {max_errors}"
    yield Outcome(
        gate=f"--max-errors {max_errors}",
        problem=problem,
        samples=tuple(f"{question}: {error}" for question, error in calls.first_errors),
        bar=max_errors,
        value=calls.errors,
    )
