"""Finds a metric by its name: ``context_recall(top_k=5)``, ``ndcg@10``, ``mrr``. Used by the command line and in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ctxmetrics._internal.call_text import parse_call
from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import to_plain_name
from ctxmetrics._internal.near_names import find_near
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import ALL_METRICS

# The option that messages of the command line name. In Python, messages name the parameter.
OPTION = "--metric"

# The name of a metric with its k: recall@5, ndcg_cut_10, P_10.
_NAME_AT_K_PATTERN = re.compile(
    r"""
    (?P<name>.+?)
    (?: @ | _cut_ | _at_ | _ )
    (?P<k>\d+)
    \Z
    """,
    re.VERBOSE,
)


def read_metric(text: str, convention: str = "default", *, place: str = "metric") -> Metric:
    """Build the metric with a name.

    Args:
        text: One of our names, the name of a class, or the usual name of a measure over ids (``ndcg``, ``mrr``, ``map``, ``p``,
            ``hit``). It may have ``@K`` or parameters: ``ndcg@10``, ``context_recall(unit=claim)``.
        convention: The convention, unless the text names one.
        place: The place of the text, for messages: ``--metric`` on the command line.

    Raises:
        ParameterError: No metric has this name, or several have it. The message suggests the right name.
    """
    name, parameters = parse_call(text)
    if name not in ALL_METRICS:
        name, k = _find_name_and_k(name, text, place)
        if k is not None:
            if "top_k" in parameters:
                raise ParameterError(
                    f"{place} {text!r}: k stands there twice. Leave out @{k} or top_k."
                )
            parameters = {"top_k": k, **parameters}
    return ALL_METRICS[name](**{"convention": convention, **parameters})


def list_possible_names(text: str) -> tuple[str, ...]:
    """List the names of metrics in results that a person may mean by ``ndcg@10`` or ``recall``."""
    name, parameters = parse_call(text)
    base_names: tuple[str, ...] = (name,)
    k = None
    if name not in ALL_METRICS:
        plain_name, k = _split_k(name)
        # Names that can mean several metrics.
        table = "several" if k is None else "several_at_k"
        base_names = tuple(_read_other_names()[table].get(plain_name, ()))
        if plain_name in _map_plain_names():
            base_names = (_map_plain_names()[plain_name],)
    if k is not None:
        parameters = {"top_k": k, **parameters}
    try:
        return tuple(ALL_METRICS[base_name](**parameters).name for base_name in base_names)
    except ParameterError:
        return ()


def find_near_metrics(text: str) -> tuple[str, ...]:
    """List the names of the metric that a misspelt name is nearest to; none if none is near."""
    name, _parameters = parse_call(text)
    near = find_near(name, [*_map_plain_names(), *_read_other_names()["several"]])
    return () if near is None else list_possible_names(near)


@cache
def _read_other_names() -> Mapping[str, Any]:
    """Read the names that other libraries give to metrics, without case and separators: ``contextualrecall``."""
    names: Mapping[str, Any] = read_data("metrics", "other_names.json")
    return names


@cache
def _map_plain_names() -> dict[str, str]:
    """Map each way to write a metric's name, without case and separators, to our name: ``contextrecall``, ``mrr``."""
    our_names = {to_plain_name(name): name for name in ALL_METRICS}
    return our_names | dict(_read_other_names()["measures"])


def _find_name_and_k(name: str, text: str, place: str) -> tuple[str, int | None]:
    """Find our name of a metric that a text names, and its k: ``ndcg@10`` is ``id_based_ndcg`` and 10.

    k is None if the text names none.

    Raises:
        ParameterError: Several metrics may be meant, or none is.
    """
    if "@" in name and not name.rpartition("@")[2].isdigit():
        raise ParameterError(f"{place} {text!r}: k must be a whole number, as in ndcg@10.")
    plain_name, k = _split_k(name)
    if plain_name in _map_plain_names():
        return _map_plain_names()[plain_name], k
    _check_form(text, place)
    if plain_name in _read_other_names()["several"]:
        raise ParameterError(
            f"{place} {text!r} may be {_describe_both_meanings(plain_name, k)}. Write one of them."
        )
    raise ParameterError(
        f"{place} {text!r} is unknown.{_suggest_metric(plain_name, k, place)} Choose from: {', '.join(ALL_METRICS)}."
    )


def _check_form(text: str, place: str) -> None:
    """Refuse a text with several names, with square brackets, or without its closing bracket.

    Raises:
        ParameterError: It is such a text; the message has the right form.
    """
    if "(" in text or "[" in text:
        call = text.strip().replace("[", "(").replace("]", ")")
        if call.count("(") == 1 and not call.endswith(")"):
            call += ")"
        if call != text.strip():
            raise ParameterError(f"{place} {text!r} is unknown. Write {call!r}.")
    elif "," in text:
        names = [name.strip() for name in text.split(",") if name.strip()]
        suggestion = " ".join(f"{place} {name}" for name in names) if place == OPTION else f"{names}"
        raise ParameterError(f"{place} {text!r} names several metrics. Write {suggestion}")


def _split_k(name: str) -> tuple[str, int | None]:
    """Split a metric's name without case and separators from its k: ``NDCG@10`` becomes ``ndcg`` and 10.

    ``p`` and ``r`` without k name no metric.
    """
    plain_name = to_plain_name(name)
    is_one_letter = len(plain_name) == 1
    if plain_name in _map_plain_names() and not is_one_letter:
        return plain_name, None
    match = _NAME_AT_K_PATTERN.match(name)
    if match is not None:
        return to_plain_name(match["name"]), int(match["k"])
    if is_one_letter:
        return "", None
    return plain_name, None


def _describe_both_meanings(plain_name: str, k: int | None) -> str:
    """Write the two metrics that an ambiguous name may mean: one of texts, and one of ids."""
    table = "several" if k is None else "several_at_k"
    judged, by_ids = _read_other_names()[table][plain_name]
    parameters = "" if k is None else f"(top_k={k})"
    return f"'{judged}{parameters}' (of texts, by a judge) or '{by_ids}{parameters}' (of ids)"


def _suggest_metric(plain_name: str, k: int | None, place: str) -> str:
    """Ask whether the metric with the nearest name is meant; empty if none is near."""
    # The names of metrics in other libraries: for each, our metric, and the judge or convention that the library uses.
    metrics_elsewhere = _read_other_names()["elsewhere"]
    # Names that may mean a judged metric or one of ids.
    ambiguous_names = _read_other_names()["several"]
    our_names = _map_plain_names()
    plain_name = plain_name.removesuffix("metric").removesuffix("evaluator").removesuffix("scorer")
    candidates = [name for name in (*our_names, *metrics_elsewhere, *ambiguous_names) if len(name) > 1]
    nearest = find_near(plain_name, candidates)
    if nearest is None:
        return ""
    if nearest in ambiguous_names:
        return f" Did you mean {_describe_both_meanings(nearest, k)}?"
    suggestion = metrics_elsewhere.get(nearest)
    if suggestion is None:
        suggestion = {"metric": our_names[nearest]}
    options = []
    for option in ("judge", "convention"):
        if option in suggestion and place == OPTION:
            options.append(f"--{option} {suggestion[option]}")
        elif option in suggestion:
            options.append(f"{option}={suggestion[option]!r}")
    parameters = "" if k is None else f"(top_k={k})"
    with_options = f" with {' and '.join(options)}" if options else ""
    return f" Did you mean '{suggestion['metric']}{parameters}'{with_options}?"
