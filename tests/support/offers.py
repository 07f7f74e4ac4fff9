"""What a framework's own metrics offer, and what becomes of it here: a table with a column for each version.

Each attribute, method and parameter is the same (inherited from the framework), ours, or refused with a sentence.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The outcome of each attribute, method and parameter (``name=``), by metric.
Offers = dict[tuple[str, str], str]
_SETTLED = {"same", "ours"}
_HEAD = ("offer", "metrics")


def list_offers(
    metrics: Mapping[str, tuple[type, Any, Callable[..., Any]]], package: str, *, skip: str
) -> Offers:
    """Inspect the framework's metrics and ours.

    Args:
        metrics: By name, the framework's class, an object of it, and what makes ours.
        package: The framework's package.
        skip: Attributes whose names begin so are Python's.
    """
    offers: Offers = {}
    for name, (theirs, instance, make) in metrics.items():
        metric = make()
        for attribute in {*dir(theirs), *vars(instance)}:
            if re.match(skip, attribute):
                continue
            try:
                getattr(metric, attribute)
            except AttributeError as error:
                offers[attribute, name] = _sentence(error)
            else:
                offers[attribute, name] = _origin(type(metric), attribute, package)
        for parameter in inspect.signature(theirs).parameters:
            try:
                make(**{parameter: None})
            except ValueError as error:
                offers[f"{parameter}=", name] = _sentence(error)
            else:
                offers[f"{parameter}=", name] = "same"
    return offers


def _sentence(error: Exception) -> str:
    # Without the name of the class and the list of our parameters, which says nothing about the offer.
    return re.sub(r"^\w+: | It takes: .*", "", str(error))


def _origin(kind: type, attribute: str, package: str) -> str:
    owners = [base for base in kind.__mro__ if attribute in vars(base)]
    inherited = bool(owners) and owners[0].__module__.partition(".")[0] == package
    return "same" if inherited else "ours"


def check_offers(file: Path, version: str, offers: Offers) -> None:
    """Check that each offer is settled or refused with a sentence, and that all are as the file has them.

    A version that the file lacks is compared with the newest in what both of them have.
    """
    refused = {outcome for outcome in offers.values() if outcome not in _SETTLED}
    assert [outcome for outcome in refused if not outcome.endswith(".")] == []
    columns = read_offers(file)
    stored = columns.get(version)
    if stored is None:
        newest = list(columns.values())[-1]
        stored = {**offers, **{offer: newest[offer] for offer in newest.keys() & offers.keys()}}
    assert offers == stored


def read_offers(file: Path) -> dict[str, Offers]:
    """Read the table, by version."""
    head, *rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    columns: dict[str, Offers] = {version: {} for version in head[len(_HEAD) :]}
    for offer, names, *outcomes in rows:
        for version, outcome in zip(columns, outcomes, strict=True):
            for name in names.split() if outcome else ():
                columns[version][offer, name] = outcome
    return columns


def write_offers(file: Path, version: str, offers: Offers) -> None:
    """Write one version's column of the table; metrics with the same outcomes share a row."""
    columns = {**(read_offers(file) if file.exists() else {}), version: offers}
    versions = sorted(columns, key=lambda name: [int(part) for part in name.split(".")])
    rows: dict[tuple[str, ...], list[str]] = {}
    for offer, name in sorted({key for column in columns.values() for key in column}):
        outcomes = [columns[each].get((offer, name), "") for each in versions]
        rows.setdefault((offer, *outcomes), []).append(name)
    lines = [(*_HEAD, *versions)]
    lines += [(offer, " ".join(names), *outcomes) for (offer, *outcomes), names in rows.items()]
    file.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
