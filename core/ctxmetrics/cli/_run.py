"""Makes samples, metrics and a judge of the options of a command."""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.cli._options import Input, Selection
from ctxmetrics.cli._terminal import collected_warnings, message
from ctxmetrics.conventions import CONVENTIONS
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics import ALL_METRICS, METRICS, parsed
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.reading import AUTO, SCALE, Payload, RowFile, in_spans
from ctxmetrics.reading.schema import some_of
from ctxmetrics.samples import Sample, read_samples

# The entry point group under which adapters offer models to ``--judge``.
MODELS = "ctxmetrics.models"


def choose_convention(schema: str | None, convention: str | None) -> str:
    """Choose the convention: that of the option, else the one with the schema's name, else the default."""
    if convention:
        return convention
    if schema is not None and schema in CONVENTIONS:
        return schema
    return "default"


def open_samples(source: Input) -> RowFile[Sample]:
    """Open a file of samples, which gives them one at a time.

    Raises:
        ParameterError: A ``--map`` is no ``COLUMN=FIELD``.
    """
    mapping = {}
    for text in source.columns or ():
        column, _, name = text.rpartition("=")
        if not column or not name:
            raise ParameterError(f"--map {text!r} must be COLUMN=FIELD, such as question=user_input.")
        mapping[column] = name
    options = dict(vars(source))
    for name in ("file", "schema", "columns", "names"):
        del options[name]
    if source.names:
        options["header"] = source.names.split(",")
    return read_samples(source.file, source.schema or AUTO, mapping, **options)


def load_samples(source: Input | RowFile[Sample]) -> list[Sample]:
    """Read all samples of a file, and say what was decided about its columns."""
    with collected_warnings():
        return list(open_samples(source) if isinstance(source, Input) else source)


def build_task(
    source: Input, selection: Selection, judge: Judge, *, listed: bool = True
) -> tuple[Any, list[Metric], Payload | None]:
    """Build the samples, the metrics, and what a request to Aegis says beside them, where the file is one.

    Args:
        source: The file. Its samples are a list, or are read as the run goes on.
        selection: The metrics; without ``--metric`` those that a request to Aegis names, else every one that fits.
        judge: Who will judge.
        listed: Whether a list is needed; it is, to look for the metrics that fit.
    """
    file = open_samples(source)
    convention = choose_convention(source.schema, selection.convention)
    payload = file.payload
    samples: Any = file
    if listed or not selection.metric:
        samples = load_samples(file)
    if selection.metric:
        return samples, [build_metric(name, convention) for name in selection.metric], payload
    if payload is None or not payload.metrics:
        return samples, metrics_fitting(samples, convention, judge, file.reading.unread), payload
    metrics = []
    for name in payload.metrics:
        metric = build_metric(name, convention)
        if payload.threshold is not None:  # on the convention's scale
            metric = replace(metric, threshold=metric.scaled(payload.threshold / SCALE))
        metrics.append(metric)
    return samples, metrics, payload


def build_judge(
    judge: str, base_url: str | None, max_characters: int | None = None, *, api_key: str | None = None
) -> Judge:
    """Build the judge of ``--judge``, which sends at most so many characters in one request.

    Without ``api_key`` the environment has the key.

    Raises:
        ParameterError: No such judge; or it asks no language model, so that the characters mean nothing.
    """
    chosen = _find_judge(judge, base_url, api_key)
    if max_characters is None:
        return chosen
    from ctxmetrics.judges.decision import DecisionJudge
    from ctxmetrics.judges.llm.judge import LLMJudge

    if isinstance(chosen, DecisionJudge):
        return replace(chosen, max_characters=max_characters)
    if not isinstance(chosen, LLMJudge):
        raise ParameterError(f"--max-characters is not for --judge {judge}: it asks no language model.")
    return chosen.asking(chosen.model, max_characters=max_characters)


def _find_judge(name: str, base_url: str | None, api_key: str | None) -> Judge:
    """Find the judge of ``--judge``: ``lexical``, ``lexical:PARAMETER=NUMBER``, ``PROVIDER/MODEL``, or ``MODULE:NAME``.

    Providers are those of `ctxmetrics.models.openai.providers`, also of decision models, and what adapters offer under the entry point group
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
    from ctxmetrics.models.openai.providers import DECISION_PROVIDERS, PROVIDERS

    provider, _, model = name.partition("/")
    if model and provider in DECISION_PROVIDERS:
        from ctxmetrics.judges.decision import DecisionJudge
        from ctxmetrics.models.openai.decision_api import DecisionAPI

        return DecisionJudge(DecisionAPI.preset(provider, model, base_url=base_url, api_key=api_key))
    offered = {entry.name: entry for entry in entry_points(group=MODELS)}
    if not model or not (provider in PROVIDERS or provider in offered):
        raise ParameterError(_no_such_judge(name, [*PROVIDERS, *DECISION_PROVIDERS, *offered]))
    if provider in PROVIDERS:
        return LLMJudge(OpenAIModel.preset(provider, model, base_url=base_url, api_key=api_key))
    if base_url is not None:
        raise ParameterError(
            f"--base-url is not for --judge {provider}/..: its client knows the address."
        )
    return LLMJudge(offered[provider].load()(model))


def _lexical(parameters: str) -> Judge:
    """Build the embedded judge with parameters such as ``min_coverage=.5``, put apart by commas."""
    from ctxmetrics.judges.lexical.judge import LexicalJudge

    try:
        return LexicalJudge(**parsed(f"lexical({parameters})")[1])
    except (TypeError, ParameterError) as error:
        names = [field.name for field in fields(LexicalJudge) if field.init]
        raise ParameterError(
            f"--judge lexical:{parameters}: {error} (write lexical:min_coverage=.5; the parameters: {', '.join(names)})"
        ) from None


def _own_judge(name: str, module: str, attribute: str) -> Judge:
    """Import a judge from a module that can be imported, or stands in the current directory."""
    from importlib import import_module

    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise ParameterError(
            f"--judge {name!r} is unknown. Write MODULE:NAME, such as my_judges:judge."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # at the end: a file here takes the place of no installed module
    try:
        judge = getattr(import_module(module), attribute)
    except Exception as error:
        raise ParameterError(
            f"--judge {name}: {type(error).__name__}: {error} (MODULE must be importable, or a file in the current directory)"
        ) from error
    if isinstance(judge, type) or not isinstance(judge, Judge):
        kind = f"the class {judge.__name__}" if isinstance(judge, type) else type(judge).__name__
        raise ParameterError(
            f"--judge {name}: this is {kind}, not a judge. Write NAME = NLIJudge(predict, identity=..) in the module, or "
            "an object with name, warnings, attribute and rate."
        )
    return judge


def _no_such_judge(name: str, providers: Sequence[str]) -> str:
    provider, slash, model = name.partition("/")
    near = difflib.get_close_matches(provider.lower(), providers, n=1)
    if name.lower() in ("lexical", *difflib.get_close_matches("lexical", [name.lower()])):
        guess = "lexical"
    elif near and model:
        guess = f"{near[0]}/{model}"
    elif provider in providers:
        guess = f"{provider}/MODEL"
    else:
        guess = "" if slash else f"openai/{name}"
    meant = f" Did you mean {guess}?" if guess else ""
    return f"--judge {name!r} is unknown.{meant} Write lexical, PROVIDER/MODEL or MODULE:NAME; the providers: {', '.join(providers)}."


def metrics_fitting(
    samples: Sequence[Sample], convention: str, judge: Judge, unread: Sequence[str]
) -> list[Metric]:
    """Build every metric whose fields some sample has.

    Facts are counted where no sample has a reference. A question about the response is a request a sample more: where a model
    judges the reference, it is left out.

    Raises:
        ParameterError: None fits; ``unread`` are the lists of the file that are no field.
    """
    fitting = []
    has_references = any(sample.reference is not None for sample in samples)
    has_facts = any(sample.reference_facts is not None for sample in samples)
    if has_facts and has_references:
        message(
            "note: reference_facts are counted where they are asked for: --metric 'context_recall(unit=fact)'"
        )
    for kind in METRICS.values():
        metric = kind(convention=convention)
        if (
            has_facts
            and not has_references
            and isinstance(metric, JudgedMetric)
            and metric.answer_field == "reference"
        ):
            metric = replace(metric, unit="fact")
        if any(all(map(sample.has, metric.requires)) for sample in samples):
            if isinstance(metric, JudgedMetric):
                metric.with_judge(judge)  # raises where the judge cannot do what the metric asks
            fitting.append(metric)
    if getattr(judge, "waits", True):
        fitting = _without_second_request(fitting)
    if any(in_spans(sample.reference_context_ids) for sample in samples):
        message(
            "note: reference_context_ids are spans, which id metrics compare as whole ids. What part of the text was "
            "retrieved: --metric span_based_context_recall --metric span_based_context_precision"
        )
    if not fitting:
        raise ParameterError(
            "no metric fits: the samples need retrieved_contexts with reference, reference_facts, response or "
            f"reference_contexts, or retrieved_context_ids with reference_context_ids.{suggest_mapping(samples, unread)}"
        )
    return fitting


def _without_second_request(metrics: Sequence[Metric]) -> list[Metric]:
    """Leave out the metrics that ask a model about the response, where others ask about the reference."""
    about = {metric.answer_field for metric in metrics if isinstance(metric, JudgedMetric)}
    kept: list[Metric] = []
    for metric in metrics:
        if len(about) > 1 and isinstance(metric, JudgedMetric) and metric.answer_field == "response":
            message(
                f"note: {metric.name} is left out: it asks about the response, with another request a sample. "
                f"--metric {metric.name} scores it"
            )
        else:
            kept.append(metric)
    return kept


def build_metric(text: str, convention: str) -> Metric:
    """Build a metric from ``name`` or ``name(parameter=value, ..)``.

    Raises:
        ParameterError: There is no such metric or parameter; the message names the nearest one.
    """
    name, parameters = parsed(text)
    if name not in ALL_METRICS:
        raise ParameterError(
            f"--metric {text!r} is unknown. {_suggest_metric(name)}Choose from: {', '.join(ALL_METRICS)}."
        )
    return ALL_METRICS[name](**{"convention": convention, **parameters})


def _suggest_metric(name: str) -> str:
    """Ask whether the metric with the nearest name is meant; empty where none is near."""
    plain = re.sub(r"[\W_]|metric$|evaluator$", "", name.lower())
    names = {key.replace("_", ""): [key, ""] for key in ALL_METRICS}
    names |= read_data("cli", "words.toml")["other_names"]
    matches = difflib.get_close_matches(plain, names, n=1, cutoff=0.75)
    if not matches:
        return ""
    own, options = names[matches[0]]
    how = f" {options}" if options else ""
    return f"Did you mean {own!r}{how}? "


def suggest_mapping(samples: Sequence[Sample], unread: Sequence[str]) -> str:
    """Suggest what to do where no metric fits: which side is missing, and which columns may hold it. Only lists are named."""
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
    option = "COLUMN=retrieved_contexts"
    if len(unread) == 1:
        option = shlex.quote(f"{unread[0]}=retrieved_contexts")
    return (
        f" Lists of texts stand in: {', '.join(unread)}. If that is what was retrieved: --map {option}"
    )
