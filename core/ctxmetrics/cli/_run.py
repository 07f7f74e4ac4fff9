"""Makes samples, metrics and a judge from the options of a command."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ctxmetrics.cli._options import Asked, Input
from ctxmetrics.cli._terminal import collected_warnings, message
from ctxmetrics.conventions import CONVENTIONS
from ctxmetrics.errors import ParameterError
from ctxmetrics.fields import AUTO, SCALE, Payload, RowFile, in_spans
from ctxmetrics.fields.schema import some_of
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics import ALL_METRICS, METRICS, parsed
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import JudgedMetric
from ctxmetrics.samples import Sample, read_samples

_LLM = "with --judge openai/MODEL"
# The entry point group under which adapters offer models to ``--judge``.
MODELS = "ctxmetrics.models"
# Names of metrics in Ragas, DeepEval and Aegis, without case and separators: our name, and what belongs to it.
OTHER_NAMES: Mapping[str, tuple[str, str]] = {
    "llmcontextrecall": ("context_recall", _LLM),
    "llmcontextprecision": ("context_precision", _LLM),
    "llmcontextprecisionwithreference": ("context_precision", _LLM),
    "llmcontextprecisionwithoutreference": ("context_utilization", _LLM),
    "contextprecisionwithreference": ("context_precision", _LLM),
    "contextprecisionwithoutreference": ("context_utilization", _LLM),
    "contextualrecall": ("context_recall", f"{_LLM} and --convention deepeval"),
    "contextualprecision": ("context_precision", f"{_LLM} and --convention deepeval"),
    "nonllmcontextprecisionwithreference": ("non_llm_context_precision", ""),
    "idbasedcontextprecisionwithreference": ("id_based_context_precision", ""),
    "ctxrecall": ("context_recall", "with --convention aegis"),
    "ctxrankprec": ("context_precision", "with --convention aegis"),
}


def convention_of(schema: str | None, convention: str | None) -> str:
    """Return the convention: a schema that is given implies the one of the same name, unless one is given too."""
    return convention or (schema if schema in CONVENTIONS else None) or "default"


def sample_file(source: Input) -> RowFile[Sample]:
    """Return the samples of a file, one at a time.

    Raises:
        ParameterError: A ``--map`` is no ``COLUMN=FIELD``.
    """
    given = {}
    for text in source.columns or ():
        column, _, name = text.rpartition("=")
        if not column or not name:
            raise ParameterError(f"--map {text!r} must be COLUMN=FIELD, such as question=user_input.")
        given[column] = name
    return read_samples(
        source.file,
        source.schema or AUTO,
        given,
        references=source.references,
        on=source.on,
        missing=source.missing,
        group_by=source.group_by,
        split=source.split,
        header=source.names.split(",") if source.names else source.header,
    )


def samples_of(source: Input | RowFile[Sample]) -> list[Sample]:
    """Read all samples of a file, and say what was decided about its columns."""
    with collected_warnings():
        return list(sample_file(source) if isinstance(source, Input) else source)


def task_of(
    source: Input, asked: Asked, judge: Judge, *, listed: bool = True
) -> tuple[Any, list[Metric], Payload | None]:
    """Return samples, metrics, and what a request to Aegis says beside them, where the file is one.

    Args:
        source: The file. Its samples are a list, or are read as the run goes on.
        asked: What is asked; without ``--metric`` what a request to Aegis asks for, else every metric that fits.
        judge: Who will judge.
        listed: Whether a list is needed; it is, to look for the metrics that fit.
    """
    file, convention = sample_file(source), convention_of(source.schema, asked.convention)
    payload = file.payload
    samples = samples_of(file) if listed or not asked.metric else file
    names = asked.metric or (payload.metrics if payload is not None else ())
    if not names:
        return samples, metrics_fitting(list(samples), convention, judge, file.reading.unread), payload
    metrics = [metric_of(name, convention) for name in names]
    if not asked.metric and payload is not None and payload.threshold is not None:
        metrics = [  # on the convention's scale
            replace(metric, threshold=metric.scaled(payload.threshold / SCALE)) for metric in metrics
        ]
    return samples, metrics, payload


def judge_of(judge: str, base_url: str | None, max_characters: int | None = None) -> Judge:
    """Return the judge of ``--judge``, which sends so many characters in one request.

    Raises:
        ParameterError: No such judge; or it asks no language model, so that the characters mean nothing.
    """
    chosen = _judge_of(judge, base_url)
    if max_characters is None:
        return chosen
    from ctxmetrics.judges.llm.judge import LLMJudge

    if not isinstance(chosen, LLMJudge):
        raise ParameterError(f"--max-characters is not for --judge {judge}: it asks no language model.")
    return chosen.asking(chosen.model, max_characters=max_characters)


def _judge_of(name: str, base_url: str | None) -> Judge:
    """Return the judge of ``--judge``: ``lexical``, ``lexical:PARAMETER=NUMBER``, ``PROVIDER/MODEL``, or ``MODULE:NAME``.

    Providers are those of `ctxmetrics.models.openai.providers`, and what adapters offer under the entry point group
    ``ctxmetrics.models``: each entry is a function that makes a model of what stands behind the slash. ``MODULE:NAME`` is a
    judge that stands in a Python module of one's own, which is imported.

    Raises:
        ParameterError: No such judge.
    """
    module, colon, attribute = name.partition(":")
    if module == "lexical":
        return _lexical(attribute)
    if colon and "/" not in name:
        return _own_judge(name, module, attribute)
    from importlib.metadata import entry_points

    from ctxmetrics.judges.llm.judge import LLMJudge
    from ctxmetrics.models.openai.model import OpenAIModel
    from ctxmetrics.models.openai.providers import PROVIDERS

    provider, _, model = name.partition("/")
    offered = {entry.name: entry for entry in entry_points(group=MODELS)}
    if not model or not (provider in PROVIDERS or provider in offered):
        raise ParameterError(_no_such_judge(name, [*PROVIDERS, *offered]))
    if provider in PROVIDERS:
        return LLMJudge(OpenAIModel.preset(provider, model, base_url=base_url))
    if base_url is not None:
        raise ParameterError(
            f"--base-url is not for --judge {provider}/..: its client knows the address."
        )
    return LLMJudge(offered[provider].load()(model))


def _lexical(given: str) -> Judge:
    """Return the embedded judge with parameters such as ``min_coverage=.5``, put apart by commas."""
    from ctxmetrics.judges.lexical.judge import LexicalJudge

    try:
        return LexicalJudge(**parsed(f"lexical({given})")[1])
    except (TypeError, ParameterError) as error:
        names = [one.name for one in fields(LexicalJudge) if one.init]
        raise ParameterError(
            f"--judge lexical:{given}: {error} (write lexical:min_coverage=.5; the parameters: {', '.join(names)})"
        ) from None


def _own_judge(name: str, module: str, attribute: str) -> Judge:
    """Return a judge of a module that can be imported, or stands in the current directory."""
    from importlib import import_module

    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise ParameterError(
            f"--judge {name!r} is unknown. Write MODULE:NAME, such as my_judges:judge."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # at the end: a file here takes the place of no installed module
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:
        raise ParameterError(
            f"--judge {name}: {type(error).__name__}: {error} (MODULE must be importable, or a file in the current directory)"
        ) from error
    if isinstance(found, type) or not isinstance(found, Judge):
        kind = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
        raise ParameterError(
            f"--judge {name}: this is {kind}, not a judge. Write NAME = NLIJudge(predict, identity=..) in the module, or "
            "an object with name, warnings, attribute and rate."
        )
    return found


def _no_such_judge(name: str, providers: Sequence[str]) -> str:
    provider, slash, model = name.partition("/")
    near = difflib.get_close_matches(provider.lower(), providers, n=1)
    if name.lower() in ("lexical", *difflib.get_close_matches("lexical", [name.lower()])):
        guess = "lexical"
    elif near and model:
        guess = f"{near[0]}/{model}"
    else:
        guess = f"{provider}/MODEL" if provider in providers else "" if slash else f"openai/{name}"
    meant = f" Did you mean {guess}?" if guess else ""
    return f"--judge {name!r} is unknown.{meant} Write lexical, PROVIDER/MODEL or MODULE:NAME; the providers: {', '.join(providers)}."


def metrics_fitting(
    samples: Sequence[Sample], convention: str, judge: Judge, unread: Sequence[str]
) -> list[Metric]:
    """Return every metric whose fields some sample has.

    Facts are counted where no sample has a reference.

    Raises:
        ParameterError: None fits; ``unread`` are the lists of the file that are no field.
    """
    fitting = []
    referred = any(sample.reference is not None for sample in samples)
    facts = any(sample.reference_facts is not None for sample in samples)
    if facts and referred:
        message(
            "note: reference_facts are counted where they are asked for: --metric 'context_recall(unit=fact)'"
        )
    for kind in METRICS.values():
        metric = kind(convention=convention)
        if (
            facts
            and not referred
            and isinstance(metric, JudgedMetric)
            and metric.answer_field == "reference"
        ):
            metric = replace(metric, unit="fact")
        if any(all(map(sample.has, metric.requires)) for sample in samples):
            if isinstance(metric, JudgedMetric):
                metric.with_judge(judge)  # raises where the judge cannot do what the metric asks
            fitting.append(metric)
    if any(in_spans(sample.reference_context_ids) for sample in samples):
        message(
            "note: reference_context_ids are spans, which id metrics compare as whole ids. What part of the text was "
            "retrieved: --metric span_based_context_recall --metric span_based_context_precision"
        )
    if not fitting:
        raise ParameterError(
            "no metric fits: the samples need retrieved_contexts with reference, reference_facts, response or "
            f"reference_contexts, or retrieved_context_ids with reference_context_ids.{to_map(samples, unread)}"
        )
    return fitting


def metric_of(text: str, convention: str) -> Metric:
    """Build a metric from ``name`` or ``name(parameter=value, ..)``.

    Raises:
        ParameterError: There is no such metric or parameter; the message names the nearest one.
    """
    name, given = parsed(text)
    if name not in ALL_METRICS:
        plain = re.sub(r"[\W_]|metric$|evaluator$", "", name.lower())
        known = {key.replace("_", ""): (key, "") for key in ALL_METRICS} | dict(OTHER_NAMES)
        near = ""
        for match in difflib.get_close_matches(plain, known, n=1, cutoff=0.75):
            own, how = known[match]
            near = f"Did you mean {own!r}{f' {how}' if how else ''}? "
        raise ParameterError(
            f"--metric {text!r} is unknown. {near}Choose from: {', '.join(ALL_METRICS)}."
        )
    return ALL_METRICS[name](**{"convention": convention, **given})


def to_map(samples: Sequence[Sample], unread: Sequence[str]) -> str:
    """Return what to do where no metric fits: which side is missing, and which columns may hold it. Only lists are named."""
    carried = dict.fromkeys(key for sample in samples for key in sample.metadata)
    there = f" Columns that are no field: {some_of(carried)}." if carried else ""
    for retrieved, what, name in (
        ("retrieved_contexts", "answer", "reference"),
        ("retrieved_context_ids", "ids", "reference_context_ids"),
    ):
        if any(sample.has(retrieved) for sample in samples):
            return (
                f" Say which column holds the expected {what}: --map COLUMN={name}, or give a second file that does: "
                f"--references FILE.{there}"
            )
    if not unread and any(sample.has("reference_context_ids") for sample in samples):
        return " The file says what is expected. Score a file of what was retrieved, with this one as --references FILE."
    if not unread:
        return (
            " No column that is left holds a list of texts or documents, so the file seems to hold no retrieved texts. "
            "Where a column has one text in each row: --map COLUMN=retrieved_contexts."
        )
    option = (
        shlex.quote(f"{unread[0]}=retrieved_contexts")
        if len(unread) == 1
        else "COLUMN=retrieved_contexts"
    )
    return (
        f" Lists of texts stand in: {', '.join(unread)}. If that is what was retrieved: --map {option}"
    )
