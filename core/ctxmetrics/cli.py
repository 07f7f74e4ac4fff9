"""The command line: ``ctxmetrics score``, ``parity``, ``estimate``, ``agree``, ``cache``.

Results go to stdout, progress and messages to stderr. Exit status: 0 done, 1 a gate failed, 2 bad usage or input,
130 interrupted.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError
from ctxmetrics.redact import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.results import Results
    from ctxmetrics.samples import Sample

app = typer.Typer(
    name="ctxmetrics",
    help="Context recall and context precision: one definition, one number in every framework.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cache_app = typer.Typer(help="Look at a cache of judgements, or empty it.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")

File = Annotated[Path, typer.Argument(help="Samples: .jsonl, .json or .csv.", show_default=False)]
MetricNames = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", help="A metric, such as context_recall or 'context_recall(top_k=5)'. Repeatable."
    ),
]
JudgeName = Annotated[str, typer.Option("--judge", help="lexical, or openai/MODEL (key: OPENAI_API_KEY).")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Of an OpenAI-compatible server.")]
ConventionName = Annotated[
    str, typer.Option("--convention", help="default, ragas, deepeval, axion, aegis or ru.")
]
SchemaName = Annotated[
    str, typer.Option("--schema", help="Whose field names the file has: ragas, deepeval, axion ..")
]
CacheDir = Annotated[Path | None, typer.Option("--cache", help="Keep finished judgements in this directory.")]
Concurrency = Annotated[int, typer.Option("--max-concurrency", help="Requests in flight at most.")]

_NAME = re.compile(r"(\w+)(?:\((.*)\))?\Z", re.DOTALL)
_GATE = re.compile(r"(.+)=([^=]+)\Z", re.DOTALL)
_UPLOADS = re.compile(r"_API_KEY$|_TRACING|^OTEL_")
"""Variables with which a framework uploads what it is given. A comparison needs none of them."""


@app.command()
def score(
    file: File,
    metric: MetricNames = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = "default",
    schema: SchemaName = "ragas",
    out: Annotated[Path | None, typer.Option("--out", help="One JSON line a sample and metric.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="A page to read: FILE.html.")] = None,
    cache: CacheDir = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on after an interrupted run: its judgements are in the cache (default: OUT.cache).",
        ),
    ] = False,
    max_concurrency: Concurrency = 16,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for one request.")] = 120.0,
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", help="Requests in all; the rest is not judged.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Tokens in all; the rest is not judged.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", help="NAME=VALUE: exit 1 if that mean is lower. Repeatable."),
    ] = None,
    show: Annotated[
        int, typer.Option("--show", help="Explain so many of the lowest scores of each metric.")
    ] = 0,
) -> None:
    """Score a file of samples. Without --metric: every metric whose fields the file has."""
    from ctxmetrics.engine import INTERRUPTED, evaluate
    from ctxmetrics.inputs import read_samples

    samples: Any = read_samples(file, schema)
    judging = _judge(judge, base_url)
    keep_rows = report is not None or show > 0
    if metric and out is not None and not keep_rows:
        metrics = [_metric(name, convention) for name in metric]
    else:
        samples = list(samples)
        metrics = (
            [_metric(name, convention) for name in metric]
            if metric
            else _fitting(samples, convention, judging)
        )
    gates = [_gate(text, [item.name for item in metrics]) for text in fail_under or ()]
    if cache is None and (resume or judge != "lexical") and out is not None:
        cache = out.with_name(out.name + ".cache")
    if resume and cache is None:
        raise ParameterError("--resume needs --out FILE or --cache DIR: that is where the judgements are.")
    results = evaluate(
        samples,
        metrics,
        judge=judging,
        cache=cache,
        max_concurrency=max_concurrency,
        timeout=timeout,
        max_calls=max_calls,
        max_tokens=max_tokens,
        out=None if keep_rows else out,
    )
    if keep_rows and out is not None:
        results.to_jsonl(out)
    if report is not None:
        results.to_html(report)
    typer.echo(str(results.summary()))
    _show_lowest(results, show)
    warnings = (
        sorted(
            {
                warning
                for item in metrics
                for warning in getattr(getattr(item, "judge", None) or judging, "warnings", ())
            }
        )
        if _judged(metrics)
        else []
    )
    for warning in warnings:
        typer.echo(f"note: {warning}", err=True)
    failed = [problem for name, least in gates if (problem := _gate_problem(results, name, least))]
    for problem in failed:
        typer.echo(f"gate: {problem}", err=True)
    if results.stopped == INTERRUPTED:
        raise typer.Exit(130)
    if failed:
        raise typer.Exit(1)


@app.command()
def parity(
    file: File,
    metric: MetricNames = None,
    convention: ConventionName = "default",
    schema: SchemaName = "ragas",
) -> None:
    """Run the same samples through every installed framework and compare the numbers with ==."""
    from ctxmetrics.inputs import read_samples
    from ctxmetrics.metrics.judged import default_judge
    from ctxmetrics.parity import compare
    from ctxmetrics.testing.runners import aside

    samples = list(read_samples(file, schema))
    judge = default_judge()
    metrics = (
        [_metric(name, convention) for name in metric] if metric else _fitting(samples, convention, judge)
    )
    with _quiet(), aside(dict.fromkeys(filter(_UPLOADS.search, os.environ)), silent=False):
        found = compare(samples, metrics, progress=_say)
    if len(found.runners) == 1:
        absent = "; ".join(f"{name}: {why}" for name, why in found.absent.items())
        raise InputFileError(
            "nothing to compare with: no framework is installed. Install one with: "
            f"pip install 'ctxmetrics[ragas]' (or deepeval, langchain). {absent}"
        )
    typer.echo(str(found))
    if found.differences:
        raise typer.Exit(1)


@app.command()
def estimate(
    file: File,
    metric: MetricNames = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = "default",
    schema: SchemaName = "ragas",
    cache: CacheDir = None,
) -> None:
    """Count the calls and tokens of a run before it is paid."""
    from ctxmetrics.costs import estimate as count
    from ctxmetrics.inputs import read_samples

    samples = list(read_samples(file, schema))
    judging = _judge(judge, base_url)
    metrics = (
        [_metric(name, convention) for name in metric] if metric else _fitting(samples, convention, judging)
    )
    typer.echo(str(count(samples, metrics, judge=judging, cache=cache)))


@app.command()
def agree(
    file: File,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = "default",
    schema: SchemaName = "ragas",
    cache: CacheDir = None,
    max_concurrency: Concurrency = 16,
    show: Annotated[
        int, typer.Option("--show", help="Show so many samples on which judge and people differ most.")
    ] = 0,
) -> None:
    """Compare a judge's verdicts with people's labels, and correct the means by them."""
    from ctxmetrics.agreement import agree as compare
    from ctxmetrics.engine import INTERRUPTED
    from ctxmetrics.inputs import read_samples

    report = compare(
        read_samples(file, schema),
        judge=_judge(judge, base_url),
        convention=convention,
        cache=cache,
        max_concurrency=max_concurrency,
    )
    typer.echo(str(report))
    for dispute in report.disputes[: max(show, 0)]:
        typer.echo(f"\n{dispute}")
    if report.results.stopped:
        typer.echo(f"stopped early: {report.results.stopped}", err=True)
        raise typer.Exit(130 if report.results.stopped == INTERRUPTED else 1)


@cache_app.command("info")
def cache_info(directory: Annotated[Path, typer.Argument(help="The cache's directory.")]) -> None:
    """Say what a cache holds."""
    from ctxmetrics.cache import VerdictCache

    info = VerdictCache(_existing(directory)).info()
    typer.echo(f"{info.path}: {info.entries} judgements, {info.size:,} bytes")


@cache_app.command("clear")
def cache_clear(directory: Annotated[Path, typer.Argument(help="The cache's directory.")]) -> None:
    """Delete every judgement of a cache."""
    from ctxmetrics.cache import VerdictCache

    cache = VerdictCache(_existing(directory))
    number = cache.info().entries
    cache.clear()
    typer.echo(f"{cache.path}: {number} judgements deleted")


def main() -> NoReturn:
    """Run the command line; errors are one line on stderr and exit status 2."""
    try:
        status = app(standalone_mode=False)
    except CtxMetricsError as error:
        _fail(" ".join(str(error).split()))
    except typer.Abort:
        _fail("interrupted")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        explain = getattr(
            error, "format_message", None
        )  # click's usage errors have it, whichever click typer brings
        if explain is None:
            raise
        _fail(f"{explain()} Try: ctxmetrics --help")
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str) -> NoReturn:
    typer.echo(f"ctxmetrics: {visible(message)}", err=True)  # it may name a field or an id of the file
    sys.exit(2)


def _say(text: str) -> None:
    if sys.stderr.isatty():
        typer.echo(text, err=True)


def _judge(name: str, base_url: str | None) -> Judge:
    if name == "lexical":
        from ctxmetrics.judges.lexical import LexicalJudge

        return LexicalJudge()
    provider, _, model = name.partition("/")
    if provider != "openai" or not model:
        raise ParameterError(f"--judge {name!r} is unknown. Write lexical or openai/MODEL.")
    from ctxmetrics.judges.llm import LLMJudge
    from ctxmetrics.judges.models import OpenAIModel

    return LLMJudge(OpenAIModel(model, base_url=base_url))


def _metric(text: str, convention: str) -> Metric:
    """Build a metric from ``name`` or ``name(parameter=value, ..)``."""
    from ctxmetrics.metrics import METRICS

    match = _NAME.match(text.strip())
    name = match.group(1) if match else text
    if match is None or name not in METRICS:
        near = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise ParameterError(f"--metric {text!r} is unknown. {hint}Choose from: {', '.join(METRICS)}.")
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in (match.group(2) or "").split(","))):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--metric {text!r}: {pair!r} is no parameter=value.")
        given[key.strip()] = _value(value.strip())
    try:
        return METRICS[name](**{"convention": convention, **given})
    except TypeError:
        import dataclasses

        known = [field.name for field in dataclasses.fields(METRICS[name]) if field.name != "judge"]
        wrong = next((key for key in given if key not in known), "?")
        raise ParameterError(
            f"--metric {text!r}: no parameter {wrong!r}. It has: {', '.join(known)}."
        ) from None


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")


def _fitting(samples: Sequence[Sample], convention: str, judge: Judge) -> list[Metric]:
    """Return every metric whose fields some sample has, and whose judge can do what it asks."""
    from ctxmetrics.metrics import METRICS
    from ctxmetrics.metrics.judged import JudgedMetric

    fitting = []
    for kind in METRICS.values():
        if any(all(getattr(sample, name) is not None for name in kind.requires) for sample in samples):
            metric = kind(convention=convention)
            if isinstance(metric, JudgedMetric):
                metric.check_judge(judge)
            fitting.append(metric)
    if not fitting:
        raise ParameterError(
            "no metric fits: the samples need retrieved_contexts with reference, response or reference_contexts, "
            "or retrieved_context_ids with reference_context_ids."
        )
    return fitting


def _judged(metrics: Sequence[Metric]) -> bool:
    from ctxmetrics.metrics.judged import JudgedMetric

    return any(isinstance(metric, JudgedMetric) for metric in metrics)


def _gate(text: str, names: Sequence[str]) -> tuple[str, float]:
    match = _GATE.match(text)
    try:
        value = float(match.group(2)) if match else math.nan
    except ValueError:
        value = math.nan
    if match is None or math.isnan(value):
        raise ParameterError(f"--fail-under {text!r} must be NAME=VALUE, such as context_recall=0.8.")
    name = match.group(1).strip()
    if name not in names:
        raise ParameterError(
            f"--fail-under {text!r}: no metric of this run is named {name!r}. It has: {', '.join(names)}."
        )
    return name, value


def _gate_problem(results: Results, name: str, least: float) -> str | None:
    """Say why a gate fails: the mean is too low, or it is the mean of a part only."""
    summary = results.summary()[name]
    if summary.not_judged:
        return f"{name} has {summary.not_judged} of {summary.samples} samples not judged"
    if summary.mean is None:
        return f"{name} is without a value, below {least:g}"
    return None if summary.mean >= least else f"{name} is {summary.mean:.4f}, below {least:g}"


def _show_lowest(results: Results, number: int) -> None:
    for name in results.metrics if number > 0 else ():
        rows = sorted(results, key=lambda row: (row[name].value is not None, row[name].value or 0.0))
        for row in rows[:number]:
            typer.echo("\n" + row[name].pretty(color=sys.stdout.isatty()))


def _existing(directory: Path) -> Path:
    from ctxmetrics.cache import FILE_NAME

    if not (directory / FILE_NAME).is_file():
        raise InputFileError(f"{directory}: there is no cache. Give the directory that was given as --cache.")
    return directory


def _quiet() -> Any:
    """Keep the frameworks' banners and bars out of the results: what they print goes to stderr."""
    import contextlib

    return contextlib.redirect_stdout(sys.stderr)
