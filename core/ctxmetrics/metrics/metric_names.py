"""A metric by what people call it: ``context_recall(top_k=5)``, ``ndcg@10``, ``mrr``. The command line and Python read the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ctxmetrics._internal.call_text import parse_call
from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import to_letters
from ctxmetrics._internal.near_names import find_near
from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import ALL_METRICS

# Which option the command line names in messages; Python writes the name of a parameter.
OPTION = "--metric"

_AT_K = re.compile(
    r"""
    (?P<name>.+?)
    (?: @ | _cut_ | _at_ | _ )     # recall@5; trec_eval writes ndcg_cut_10 and P_10
    (?P<k>\d+)
    \Z
    """,
    re.VERBOSE,
)


def read_metric(text: str, convention: str = "default", *, place: str = "metric") -> Metric:
    """Make the metric that a text names.

    Args:
        text: One of our names, a class's name, or what the field calls a measure over ids (``ndcg``, ``mrr``, ``map``, ``p``,
            ``hit``), with ``@K`` and parameters where wanted: ``ndcg@10``, ``context_recall(unit=claim)``.
        convention: The convention, unless the text names one.
        place: The place of the text, for messages: ``--metric`` on the command line.

    Raises:
        ParameterError: No metric is named so, or several may be meant; the message names what to write.
    """
    name, parameters = parse_call(text)
    if name not in ALL_METRICS:
        name, k = _resolve(name, text, place)
        if k is not None:
            if "top_k" in parameters:
                raise ParameterError(
                    f"{place} {text!r}: k stands there twice. Leave out @{k} or top_k."
                )
            parameters = {"top_k": k, **parameters}
    return ALL_METRICS[name](**{"convention": convention, **parameters})


def list_possible_names(text: str) -> tuple[str, ...]:
    """Return the names under which results may have the metric that a text names: ``ndcg@10``, ``recall``; none if unknown."""
    name, parameters = parse_call(text)
    base_names: tuple[str, ...] = (name,)
    k = None
    if name not in ALL_METRICS:
        letters, k = _split_k(name)
        table = "several" if k is None else "several_at_k"
        base_names = tuple(_names_elsewhere()[table].get(letters, ()))
        if letters in _by_letters():
            base_names = (_by_letters()[letters],)
    if k is not None:
        parameters = {"top_k": k, **parameters}
    try:
        return tuple(ALL_METRICS[base_name](**parameters).name for base_name in base_names)
    except ParameterError:
        return ()


def find_near_metrics(text: str) -> tuple[str, ...]:
    """Return the names of the metric that a misspelt name is nearest to; none if none is near."""
    near = find_near(parse_call(text)[0], [*_by_letters(), *_names_elsewhere()["several"]])
    return () if near is None else list_possible_names(near)


@cache
def _names_elsewhere() -> Mapping[str, Any]:
    """Read the names that other libraries give to metrics, each as its letters and digits in lower case."""
    names: Mapping[str, Any] = read_data("metrics", "other_names.json")
    return names


@cache
def _by_letters() -> dict[str, str]:
    """Return our names by their letters and digits in lower case, and by the names that other libraries use."""
    our_names = {to_letters(name): name for name in ALL_METRICS}
    return our_names | dict(_names_elsewhere()["measures"])


def _resolve(name: str, text: str, place: str) -> tuple[str, int | None]:
    """Return our name of a metric, and k where the text names one.

    Raises:
        ParameterError: Several metrics may be meant, or none is.
    """
    if "@" in name and not name.rpartition("@")[2].isdigit():
        raise ParameterError(f"{place} {text!r}: k must be a whole number, as in ndcg@10.")
    letters, k = _split_k(name)
    if letters in _by_letters():
        return _by_letters()[letters], k
    _check_form(text, place)
    if letters in _names_elsewhere()["several"]:
        raise ParameterError(f"{place} {text!r} may be {_list_both(letters, k)}. Write one of them.")
    raise ParameterError(
        f"{place} {text!r} is unknown.{_suggest(letters, k, place)} Choose from: {', '.join(ALL_METRICS)}."
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
    """Split a measure's name into its letters and k; ``p`` and ``r`` without k name no measure."""
    letters = to_letters(name)
    is_one_letter = len(letters) == 1
    if letters in _by_letters() and not is_one_letter:
        return letters, None
    match = _AT_K.match(name)
    if match is not None:
        return to_letters(match["name"]), int(match["k"])
    if is_one_letter:
        return "", None
    return letters, None


def _list_both(letters: str, k: int | None) -> str:
    """Write the two metrics that a name of both may mean."""
    table = "several" if k is None else "several_at_k"
    judged, by_ids = _names_elsewhere()[table][letters]
    parameters = "" if k is None else f"(top_k={k})"
    return f"'{judged}{parameters}' (of texts, by a judge) or '{by_ids}{parameters}' (of ids)"


def _suggest(letters: str, k: int | None, place: str) -> str:
    """Ask whether the metric with the nearest name is meant; empty if none is near."""
    # The names of metrics in other libraries: for each, our metric, and the judge or convention that the library uses.
    metrics_elsewhere = _names_elsewhere()["elsewhere"]
    # Names that may mean a judged metric or one of ids.
    ambiguous_names = _names_elsewhere()["several"]
    our_names = _by_letters()
    letters = letters.removesuffix("metric").removesuffix("evaluator").removesuffix("scorer")
    candidates = [name for name in (*our_names, *metrics_elsewhere, *ambiguous_names) if len(name) > 1]
    nearest = find_near(letters, candidates)
    if nearest is None:
        return ""
    if nearest in ambiguous_names:
        return f" Did you mean {_list_both(nearest, k)}?"
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
