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
from typing import Annotated, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.near_names import suggest_file
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.agreement.agree import AgreementReport
from ctxmetrics.evaluation.agreement.correction import Correction, correct_mean
from ctxmetrics.evaluation.agreement.labels import ComparedSample
from ctxmetrics.evaluation.rows.output_files import write_whole
from ctxmetrics.evaluation.rows.people_answers import MAX_WEIGHT, REFERENCE, QuestionKey
from ctxmetrics.evaluation.rows.sample_record import key_of, texts_key
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.statistics.corrected_means import MIN_LABELS
from ctxmetrics.metrics.base import Metric
from ctxmetrics.scores.conventions import get_convention
from ctxmetrics.scores.wording import plural

# The maximum number of bytes of a card. About 100,000 labelled samples fit.
_MAX_CARD_BYTES = 10_000_000
# The advice for a card that cannot be used.
_HOW_TO_WRITE_AGAIN = "Write a new one: ctxmetrics agree FILE --write CARD."
# The subject of the check that compares metrics.
_METRIC_KEY_NAME = "metric and unit"
# The rates of agreement in the figures of a card.
_SHOWN_RATES = ("sensitivity", "specificity", "balanced_accuracy", "kappa")
_Value = Annotated[float, Field(ge=0, le=100)]


class LabelledScore(NamedTuple):
    """The scores of a labelled sample in a card.

    Attributes:
        sample_hash: A hash of the sample's id and texts.
        judge_score: The score by the judge.
        people_score: The score by people's labels.
        weight: The number of samples that this sample stands for.
    """

    sample_hash: str
    judge_score: _Value
    people_score: _Value
    weight: Annotated[float, Field(gt=0, le=MAX_WEIGHT)]


class Calibrated(BaseModel, extra="forbid", strict=True, allow_inf_nan=False, str_max_length=1000):
    """One metric of a card.

    Attributes:
        metric: The metric's name.
        unit: The noun for the subject of its verdicts, such as ``sentence`` or ``context``.
        labels: How many labelled samples there are.
        figures: The figures that `agree` computed. They are only for readers: the library computes nothing from them.
        labelled: The labelled samples: see `LabelledScore`.
    """

    metric: str
    unit: str
    labels: int
    figures: Mapping[str, float | str | list[float] | None]
    labelled: tuple[LabelledScore, ...]


class Card(BaseModel, extra="forbid", strict=True, allow_inf_nan=False, str_max_length=1000):
    """A calibration card.

    Attributes:
        ctxmetrics_card: Version of the form.
        judge: The judge's name.
        served_models: The models' names in the replies; an empty text if a server gives no name.
        prompts: The versions of the prompts. For a judge without prompts: its own version, else the library's.
        convention: Name of the convention.
        date: The time at which the judge was compared with people.
        draw: Seed, stratum and number of samples of the labels' draw, if they are known.
        metrics: The metrics.
        digest: The SHA-256 of all other fields.
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

    def compute_digest(self) -> str:
        """Compute the digest that the card must have."""
        return hashlib.sha256(self.model_dump_json(exclude={"digest"}).encode()).hexdigest()

    def check(self, judge: str, metrics: Sequence[Metric], max_age: int | None = None) -> None:
        """Check that the card fits a run, before the run begins.

        Args:
            judge: The name of the run's judge.
            metrics: The run's metrics.
            max_age: The maximum number of days since the card's date; None: any.

        Raises:
            InputFileError: The card is about another judge, convention, unit or metric, is too old, or has a score that
                the convention does not give.
        """
        age = (datetime.now(UTC) - self.date) / timedelta(days=1)
        is_future = age < -1  # clocks may differ by a day
        is_too_old = max_age is not None and age > max_age
        if is_future or is_too_old:
            future = ", a day to come" if age < 0 else ""
            oldest = "" if max_age is None else f", and may be {plural(max_age, 'day')} old"
            raise InputFileError(
                f"it is from {self.date:%Y-%m-%d}{future}{oldest}. {_HOW_TO_WRITE_AGAIN}"
            )
        names_of_card = {item.metric.partition("(")[0] for item in self.metrics}
        metrics_of_card = [metric for metric in metrics if metric.base_name in names_of_card]
        if not metrics_of_card:
            # The run has no metric of the card. The check of the metrics below fails, and names all metrics of the run.
            metrics_of_card = list(metrics)
        _check_run("judge", [judge], [self.judge])
        _check_run("convention", [metric.convention for metric in metrics_of_card], [self.convention])
        _check_run(
            _METRIC_KEY_NAME,
            # The first word is the noun for a unit, such as "sentence".
            [f"{metric.name} ({metric.counted_words[0]})" for metric in metrics_of_card],
            [f"{item.metric} ({item.unit})" for item in self.metrics],
        )
        scale = metrics_of_card[0].convention_data.scale
        highest = 0.0
        for item in self.metrics:
            for _, judge_score, people_score, _ in item.labelled:
                highest = max(highest, judge_score, people_score)
        if highest > scale:
            raise InputFileError(
                f"it is damaged, or was changed: it has the score {highest:g}, and scores are from 0 to {scale:g}. {_HOW_TO_WRITE_AGAIN}"
            )

    def corrections(self, results: Results) -> list[tuple[Correction, bool]]:
        """Return the corrected mean of each metric of a run, and whether all labelled samples are in the run.

        If all labelled samples are in the run, the mean is the one that `agree` computes for the run. Else it is the judge's
        mean of the run, minus the judge's mean error on the labelled samples: see `ctxmetrics.evaluation.statistics.corrected_means.corrected`.

        Args:
            results: The run, with its rows.

        Raises:
            InputFileError: The run has another model or another prompt.
        """
        items = [item for item in self.metrics if item.metric in results.metrics]
        served, prompts = _read_origin(results, [item.metric for item in items])
        _check_run("model that answered", served, self.served_models)
        _check_run("prompt", prompts, self.prompts)
        keys = [_hash(texts_key(row)) for row in results]
        corrections = []
        for item in items:
            values = [row[item.metric].value for row in results]
            correction, in_run = self._correct(item, keys, values)
            if correction is not None:
                corrections.append((correction, in_run))
        return corrections

    def _correct(
        self, item: Calibrated, keys: Sequence[str], values: Sequence[float | None]
    ) -> tuple[Correction | None, bool]:
        """Correct the mean of a metric, and tell whether all labelled samples are in the run."""
        labels = {
            labelled.sample_hash: (labelled.people_score, labelled.weight) for labelled in item.labelled
        }
        # The columns that `correct_mean` reads: the judge's score, people's score, the weight, and no cluster.
        rows: list[tuple[float | None, float | None, float, None]] = []
        labelled_in_run = 0
        for key, value in zip(keys, values, strict=True):
            people_score, weight = labels.get(key, (None, 1.0))
            rows.append((value, people_score, weight, None))
            if value is not None and people_score is not None:
                labelled_in_run += 1
        all_are_in_run = labelled_in_run == item.labels
        if not all_are_in_run:
            # The labelled samples are added to the samples of the run. Labels of the run's own samples do not count.
            rows = [(value, None, 1.0, None) for value in values]
            rows += [
                (labelled.judge_score, labelled.people_score, labelled.weight, None)
                for labelled in item.labelled
            ]
        scale = get_convention(self.convention).scale
        correction = correct_mean(item.metric, rows, scale=scale, apart=not all_are_in_run)
        return correction, all_are_in_run


def _check_run(subject: str, run_names: Iterable[str], card_names: Iterable[str]) -> None:
    """Check that the card has all names of the run.

    Args:
        subject: The compared property, such as ``"judge"``.
        run_names: The names in the run.
        card_names: The names in the card.

    Raises:
        InputFileError: The run has another name.
    """
    only_in_run = set(run_names) - set(card_names)
    if only_in_run:
        fix = (
            "Score what it is about: --metric NAME."
            if subject == _METRIC_KEY_NAME
            else _HOW_TO_WRITE_AGAIN
        )
        raise InputFileError(
            f"its {subject} is {_join_names(card_names)}, that of this run is {_join_names(only_in_run)}. {fix}"
        )


def _join_names(names: Iterable[str]) -> str:
    """Join names of people or judges in one text."""
    texts = [replace_invisible(name)[:80] or "not named" for name in sorted(names)]
    return ", ".join(texts) or "none"


def _read_origin(results: Results, metrics: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the models that answered, and the versions of the prompts.

    A judge without prompts has the version of its model. Without a model, it has the version of the library.
    """
    models: set[str] = set()
    prompts: set[str] = set()
    for row in results:
        for name in metrics:
            score = row[name]
            if score.verdicts and score.value is not None:
                origin = score.provenance
                models.update((origin.served_model or "").split(", "))
                prompts.add(origin.prompt or origin.served_model or origin.library)
    return tuple(sorted(models)), tuple(sorted(prompts))


def _hash(key: QuestionKey) -> str:
    """Return a hash of a question. It does not reveal the texts of the question."""
    return hashlib.sha256(ascii(key).encode()).hexdigest()[:32]


def write_card(path: Path, report: AgreementReport) -> None:
    """Write the card of a comparison with people, about the metrics with 25 labelled samples or more.

    Raises:
        ParameterError: People's labels give no metric 25 scores or more, or the samples are in clusters.
        OutputFileError: Writing failed.
    """
    corrections = [
        item for item in report.corrections if item.metric != REFERENCE and item.labelled >= MIN_LABELS
    ]
    if report.clusters is not None or not corrections:
        raise ParameterError(
            f"agree: --write needs {MIN_LABELS} samples or more of which every context, or every sentence of the reference, is "
            "labelled, and is not possible with --cluster."
        )
    served, prompts = _read_origin(report.results, [item.metric for item in corrections])
    first_row = report.results[0]
    pairs_by_metric = {pairs[0].mean: pairs for pairs in report.compared.values()}
    rates_by_label = {agreement.label: agreement.to_dict() for agreement in report.agreements}
    bars_by_label = {fitted.label: fitted.bar for fitted in report.bars}
    metrics = []
    for correction in corrections:
        pairs = pairs_by_metric[correction.metric]
        label = pairs[0].label  # all pairs of a metric have the same label
        figures = correction.to_dict()
        for rate in _SHOWN_RATES:
            figures[rate] = rates_by_label[label][rate]
        figures["bar"] = bars_by_label.get(label)
        metrics.append(
            Calibrated(
                metric=correction.metric,
                unit=first_row[correction.metric].counted[0],
                labels=correction.labelled,
                figures=figures,
                labelled=_list_labelled(pairs),
            )
        )
    draw: dict[str, int | str | None] = {}
    if report.draw is not None:
        draw = {name: getattr(report.draw, name) for name in ("seed", "by", "samples")}
    card = Card(
        judge=report.judge,
        served_models=served,
        prompts=prompts,
        convention=first_row[metrics[0].metric].provenance.convention,
        date=datetime.now(UTC),
        draw=draw,
        metrics=tuple(metrics),
    )
    card = card.model_copy(update={"digest": card.compute_digest()})
    write_whole(path, (card.model_dump_json(indent=1), "\n"))


def _list_labelled(items: Iterable[ComparedSample]) -> tuple[LabelledScore, ...]:
    """List the samples that both the judge and people scored."""
    labelled_scores: list[LabelledScore] = []
    for item in items:
        judge_score, people_score = item.values
        if judge_score is not None and people_score is not None:
            labelled_scores.append(
                LabelledScore(_hash(key_of(item.sample)), judge_score, people_score, item.weight)
            )
    return tuple(labelled_scores)


def read_card(path: Path) -> Card:
    """Read a card, which may come from anywhere.

    Raises:
        InputFileError: The file cannot be read, is no card, is damaged, or has too few labels.
    """
    try:
        with path.open("rb") as file:
            card = Card.model_validate_json(file.read(_MAX_CARD_BYTES))
    except OSError as error:
        raise InputFileError(
            f"it cannot be read: {error.strerror or error}.{suggest_file(path)}"
        ) from None
    except ValidationError as error:
        first_problem = error.errors(include_url=False, include_input=False)[0]
        location = ".".join(str(key) for key in first_problem["loc"])
        field = replace_invisible(location)[:80] or "the file"
        raise InputFileError(
            f"it is damaged, or no card: {field}: {first_problem['msg']}. {_HOW_TO_WRITE_AGAIN}"
        ) from None
    counts = [len(item.labelled) for item in card.metrics]
    stated_counts = [item.labels for item in card.metrics]
    if card.digest != card.compute_digest() or counts != stated_counts:
        raise InputFileError(
            f"it is damaged, or was changed: its digest does not fit. {_HOW_TO_WRITE_AGAIN}"
        )
    min_count = min(counts, default=0)
    if min_count < MIN_LABELS:
        raise InputFileError(
            f"it rests on {min_count} labelled samples, too few. Label {MIN_LABELS} or more."
        )
    return card
