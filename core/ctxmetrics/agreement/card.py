"""A calibration card: how far one judge was off on labelled samples, in a file, to correct the mean of a later run.

A card is valid for one judge, model, prompt version, convention and unit. The file is untrusted: it is
checked like a judge's reply, and its digest shows a later change. A card corrects a mean, never a
sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from ctxmetrics._internal.display import visible
from ctxmetrics.agreement.agree import AgreementReport
from ctxmetrics.agreement.correction import Correction, correction_of
from ctxmetrics.conventions import get_convention
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.presentation.wording import plural
from ctxmetrics.results.labels.answers import HEAVIEST, REFERENCE, Key
from ctxmetrics.results.labels.means import FEWEST
from ctxmetrics.results.results import Results
from ctxmetrics.results.rows_file import key_of, texts_key
from ctxmetrics.results.writer import write_whole

# The most bytes of a card: those of about 100,000 labelled samples.
_LARGEST = 10_000_000
_AGAIN = "Write a new one: ctxmetrics agree FILE --write CARD."
_METRIC = "metric and unit"
# The figures of agreement that a card shows to its reader.
_RATES = ("sensitivity", "specificity", "balanced_accuracy", "kappa")
_Value = Annotated[float, Field(ge=0, le=100)]


class Calibrated(BaseModel, extra="forbid", strict=True, allow_inf_nan=False, str_max_length=1000):
    """One metric of a card.

    Attributes:
        metric: The metric's name.
        unit: What its verdicts are about: ``sentence``, ``context`` ..
        labels: How many labelled samples there are.
        figures: What `agree` found, for a reader: nothing is computed from them.
        labelled: Of each labelled sample a hash of its id and texts, the judge's score, people's, and its weight.
    """

    metric: str
    unit: str
    labels: int
    figures: Mapping[str, float | str | list[float] | None]
    labelled: tuple[
        tuple[str, _Value, _Value, Annotated[float, Field(gt=0, le=HEAVIEST)]],
        ...,
    ]


class Card(BaseModel, extra="forbid", strict=True, allow_inf_nan=False, str_max_length=1000):
    """A calibration card.

    Attributes:
        ctxmetrics_card: Version of the form.
        judge: The judge's name.
        served_models: The models that answered, as their server names them; empty text where it does not.
        prompts: Versions of the prompts; of a judge without one its own version, else the library's.
        convention: Name of the convention.
        date: When the judge was compared with people.
        draw: Seed, stratum and number of samples of the labels' draw, where they are known.
        metrics: The metrics.
        digest: A SHA-256 of all else.
    """

    ctxmetrics_card: Literal[1] = 1
    judge: str
    served_models: tuple[str, ...]
    prompts: tuple[str, ...]
    convention: str
    date: AwareDatetime
    draw: Mapping[str, int | str | None]
    metrics: tuple[Calibrated, ...]
    digest: str = ""

    def digested(self) -> str:
        """Return the digest that the card must have."""
        return hashlib.sha256(self.model_dump_json(exclude={"digest"}).encode()).hexdigest()

    def check(self, judge: str, metrics: Sequence[Metric], max_age: int | None = None) -> None:
        """Raise unless the card fits a run, as far as that is known before it.

        Args:
            judge: The name of the run's judge.
            metrics: The run's metrics.
            max_age: The most days since the card's date; None: any.

        Raises:
            InputFileError: The card is about another judge, convention, unit or metric, is too old, or has a score that
                the convention does not give.
        """
        age = (datetime.now(UTC) - self.date) / timedelta(days=1)
        if age < -1 or (max_age is not None and age > max_age):  # clocks may differ by a day
            most = "" if max_age is None else f", and may be {plural(max_age, 'day')} old"
            raise InputFileError(
                f"it is from {self.date:%Y-%m-%d}{', a day to come' if age < 0 else ''}{most}. {_AGAIN}"
            )
        mine = {item.metric.partition("(")[0] for item in self.metrics}
        found = [metric for metric in metrics if metric.base_name in mine] or metrics
        _check_same(
            ("judge", [judge], [self.judge]),
            ("convention", {metric.convention for metric in found}, [self.convention]),
            (
                _METRIC,
                [f"{metric.name} ({metric.counts[0]})" for metric in found],
                [f"{item.metric} ({item.unit})" for item in self.metrics],
            ),
        )
        given = (score for item in self.metrics for one in item.labelled for score in one[1:3])
        if (highest := max(given)) > (scale := found[0].rules.scale):
            raise InputFileError(
                f"it is damaged, or was changed: it has the score {highest:g}, and scores are from 0 to {scale:g}. {_AGAIN}"
            )

    def corrections(self, results: Results) -> list[tuple[Correction, bool]]:
        """Return the corrected mean of each metric of a run, and whether the labelled samples are in the run.

        Where all of them are, the mean is that of `agree` over the run. Else it is the judge's mean of the run, less how
        far the judge was off on the labelled samples: see `ctxmetrics.results.labels.means.corrected`.

        Args:
            results: The run, with its rows.

        Raises:
            InputFileError: Another model answered, or the prompt is another one.
        """
        items = [item for item in self.metrics if item.metric in results.metrics]
        served, prompts = _origin(results, [item.metric for item in items])
        _check_same(
            ("model that answered", served, self.served_models), ("prompt", prompts, self.prompts)
        )
        keys, scale = [_hash(texts_key(row)) for row in results], get_convention(self.convention).scale
        found = []
        for item in items:
            people = {key: (said, weight) for key, _, said, weight in item.labelled}
            given = (people.get(key, (None, 1.0)) for key in keys)
            rows = [
                (row[item.metric].value, said, weight, None)
                for row, (said, weight) in zip(results, given, strict=True)
            ]
            there = sum(None not in row[:2] for row in rows) == item.labels
            if not there:
                rows = [(value, None, 1.0, None) for value, *_ in rows]
                rows += [(judge, said, weight, None) for _, judge, said, weight in item.labelled]
            correction = correction_of(item.metric, rows, scale=scale, apart=not there)
            found += [] if correction is None else [(correction, there)]
        return found


def _check_same(*about: tuple[str, Iterable[str], Iterable[str]]) -> None:
    """Raise where a run has something that the card is not about: what it is, in the run, and in the card."""
    for what, mine, known in about:
        if other := set(mine) - set(known):
            told, here = (
                ", ".join(visible(name)[:80] or "not named" for name in sorted(names)) or "none"
                for names in (known, other)
            )
            raise InputFileError(
                f"its {what} is {told}, that of this run is {here}. "
                + ("Score what it is about: --metric NAME." if what == _METRIC else _AGAIN)
            )


def _origin(results: Results, metrics: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the models that answered, and the versions of the prompts, else of the judge or the library."""
    origins = {
        one.provenance
        for row in results
        for name in metrics
        if (one := row[name]).verdicts and one.value is not None
    }
    models = {name for origin in origins for name in (origin.served_model or "").split(", ")}
    prompts = {origin.prompt or origin.served_model or origin.library for origin in origins}
    return tuple(sorted(models)), tuple(sorted(prompts))


def _hash(key: Key) -> str:
    return hashlib.sha256(ascii(key).encode()).hexdigest()[:32]


def write_card(path: Path, report: AgreementReport) -> None:
    """Write the card of a comparison with people, about the metrics with 25 labelled samples or more.

    Raises:
        ParameterError: People's labels give no metric 25 scores or more, or the samples are in clusters.
        OutputFileError: Writing failed.
    """
    compared = {items[0].mean: items for items in report.compared.values()}
    items = [
        (item, compared[item.metric])
        for item in report.corrections
        if item.metric != REFERENCE and item.labelled >= FEWEST
    ]
    if report.clusters is not None or not items:
        raise ParameterError(
            f"agree: --write needs {FEWEST} samples or more of which every context, or every sentence of the reference, is "
            "labelled, and is not possible with --cluster."
        )
    served, prompts = _origin(report.results, [item.metric for item, *_ in items])
    first, rates = report.results[0], {item.label: item.to_dict() for item in report.agreements}
    metrics = tuple(
        Calibrated(
            metric=item.metric,
            unit=first[item.metric].counted[0],
            labels=item.labelled,
            figures=item.to_dict() | {name: rates[labelled[0].label][name] for name in _RATES},
            labelled=tuple(
                (_hash(key_of(one.sample)), judge, people, one.weight)
                for one in labelled
                for judge, people in (one.values,)
                if judge is not None and people is not None
            ),
        )
        for item, labelled in items
    )
    card = Card(
        judge=report.judge,
        served_models=served,
        prompts=prompts,
        convention=first[metrics[0].metric].provenance.convention,
        date=datetime.now(UTC),
        draw={}
        if report.draw is None
        else {name: getattr(report.draw, name) for name in ("seed", "by", "samples")},
        metrics=metrics,
    )
    write_whole(
        path, (card.model_copy(update={"digest": card.digested()}).model_dump_json(indent=1), "\n")
    )


def read_card(path: Path) -> Card:
    """Read a card, which may come from anywhere.

    Raises:
        InputFileError: It cannot be read, is no card, is damaged, or rests on too few labels.
    """
    try:
        with path.open("rb") as file:
            card = Card.model_validate_json(file.read(_LARGEST))
    except OSError as error:
        raise InputFileError(f"it cannot be read: {error.strerror or error}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = visible(".".join(map(str, first["loc"])))[:80] or "the file"
        raise InputFileError(f"it is damaged, or no card: {field}: {first['msg']}. {_AGAIN}") from None
    counts = [len(item.labelled) for item in card.metrics]
    if card.digest != card.digested() or counts != [item.labels for item in card.metrics]:
        raise InputFileError(f"it is damaged, or was changed: its digest does not fit. {_AGAIN}")
    if (fewest := min(counts, default=0)) < FEWEST:
        raise InputFileError(f"it rests on {fewest} labelled samples, too few. Label {FEWEST} or more.")
    return card
