"""The samples of two runs that a person labels together, and whether the judge's value of each changed."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.agreement.labelling.draw import can_be_labelled, choose_samples, to_sortable
from ctxmetrics.evaluation.comparison.pairing import MissingIdError, RowPair, join_runs
from ctxmetrics.evaluation.rows.baseline import KEY_HASH_LENGTH, shorten
from ctxmetrics.evaluation.rows.people_answers import Draw, Drawn, QuestionKey, label_of
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.rows_file import read_rows
from ctxmetrics.evaluation.rows.sample_record import key_of, texts_key
from ctxmetrics.evaluation.statistics.label_draw import share_out_labels
from ctxmetrics.evaluation.statistics.paired import ROUNDING_ERROR
from ctxmetrics.metrics.catalog import find_metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural

# The stratum of samples whose scores differ between the runs.
CHANGED = "changed"
# The stratum of samples whose scores are equal in both runs.
UNCHANGED = "unchanged"
# The value of ``by`` in a labels file whose strata are these.
BY_CHANGE = "change"


@dataclass(frozen=True, slots=True)
class RunPairs:
    """The samples of two runs that a person can label.

    Attributes:
        samples: The samples of both runs by their keys. Samples with equal texts have one key.
        partners: The key of each sample in the first run, with its key in the second run.
        strata: `CHANGED` or `UNCHANGED` for each sample, by its key in the first run.
        rows: The scores of both runs.
        metrics: The number of metrics of both runs that labels can correct.
    """

    samples: Mapping[QuestionKey, Sample]
    partners: Mapping[QuestionKey, QuestionKey]
    strata: Mapping[QuestionKey, str]
    rows: tuple[Row, ...]
    metrics: int


def read_pairs(
    first: str | os.PathLike[str], second: str | os.PathLike[str], samples: Iterable[Sample] = ()
) -> RunPairs:
    """Read the samples that two runs share, with their texts.

    A sample counts as changed if the value of any metric changed that labels can correct.

    Args:
        first: Results that ``--out`` wrote.
        second: Results of the other run.
        samples: The samples that were scored, if the results do not hold their texts.

    Raises:
        InputFileError: A file holds no results, or texts are missing.
        ParameterError: No sample is in both runs, or no metric of both can be corrected by labels.
    """
    samples_by_key: dict[QuestionKey, Sample] = {}
    for sample in samples:
        id_, texts = key_of(sample)
        samples_by_key[id_, texts] = sample
        samples_by_key[id_, shorten(texts, KEY_HASH_LENGTH)] = sample  # results may hold the short key
    first_texts = _RunTexts(first, samples_by_key)
    second_texts = _RunTexts(second, samples_by_key)
    samples_to_label: dict[QuestionKey, Sample] = {}
    partners: dict[QuestionKey, QuestionKey] = {}
    strata: dict[QuestionKey, str] = {}
    rows: list[Row] = []
    paired_rows = _pair_rows(first, second)
    metrics = _list_correctable_metrics(*paired_rows[0])
    for first_row, second_row in paired_rows:
        has_changed = _has_changed(first_row, second_row, metrics)
        first_sample = first_texts.find(first_row)
        second_sample = second_texts.find(second_row)
        if has_changed is None or first_sample is None or second_sample is None:
            continue
        if not (can_be_labelled(first_sample) and can_be_labelled(second_sample)):
            continue
        first_key = key_of(first_sample)
        second_key = key_of(second_sample)
        samples_to_label[first_key] = first_sample
        samples_to_label[second_key] = second_sample
        partners[first_key] = second_key
        strata[first_key] = CHANGED if has_changed else UNCHANGED
        rows += [first_row, second_row]
    if not partners:
        raise ParameterError(
            "label: no sample can be labelled: each needs a reference, retrieved_contexts and a value of one metric in "
            "both runs."
        )
    return RunPairs(samples_to_label, partners, strata, tuple(rows), len(metrics))


def draw_pairs(pairs: RunPairs, n: int, *, seed: int, earlier: Draw | None = None) -> Draw:
    """Draw n samples of two runs. Changed samples are drawn more often than their share (`share_out_labels`).

    The versions of a sample in both runs stand beside each other in random order. So the person does not know the run of a
    version.

    Args:
        pairs: The samples.
        n: The number of samples to draw; all if there are fewer.
        seed: The seed of the random numbers.
        earlier: A smaller draw of the same samples, which this one continues.

    Raises:
        ParameterError: ``n`` is below 1.
    """
    if n < 1:
        raise ParameterError(f"label: n={n} must be 1 or more.")
    stratum_sizes = Counter(pairs.strata.values())
    changed, unchanged = share_out_labels(
        n, stratum_sizes[CHANGED], stratum_sizes[UNCHANGED], metrics=pairs.metrics
    )
    counts: Counter[str | None] = Counter({CHANGED: changed, UNCHANGED: unchanged})
    earlier_keys = [] if earlier is None else list_first_keys(earlier, pairs)
    drawn_samples: list[Drawn] = []
    for item in choose_samples(pairs.strata, counts, seed=seed, earlier=earlier_keys):
        # One key if the texts are equal in both runs.
        keys = {item.key, pairs.partners[item.key]}
        shuffled_keys = sorted(keys, key=to_sortable)
        random_source = random.Random(f"{seed}/{item.key}")  # noqa: S311 - a draw that can be repeated
        random_source.shuffle(shuffled_keys)
        drawn_samples += [replace(item, key=key) for key in shuffled_keys]
    return Draw(seed, BY_CHANGE, len(pairs.partners), tuple(drawn_samples))


def list_first_keys(draw: Draw, pairs: RunPairs) -> list[QuestionKey]:
    """List the keys in the first run of the samples of a draw, each once, in the order of the draw."""
    first_of_second = {second_key: first_key for first_key, second_key in pairs.partners.items()}
    first_keys: dict[QuestionKey, None] = {}
    for item in draw.drawn:
        key = item.key
        if key not in pairs.partners:  # the second run's version of a sample
            key = first_of_second[key]
        first_keys[key] = None
    return list(first_keys)


def _pair_rows(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> Sequence[RowPair]:
    """Join the samples of two runs as `compare` does. There is at least one sample."""
    for by_id in (True, False):
        try:
            joined_rows = list(join_runs(read_rows(first), read_rows(second), by_id=by_id))
        except MissingIdError:
            continue
        pairs: list[RowPair] = []
        for _, before, after in joined_rows:
            if before is not None and after is not None:
                pairs.append((before, after))
        if pairs:
            return pairs
        raise ParameterError(
            "label: the runs have no sample in common. Give two runs on the same samples."
        )
    raise AssertionError  # the second way needs no ids


def _list_correctable_metrics(first_row: Row, second_row: Row) -> list[str]:
    """List the metrics of both runs that labels can correct, by the rows of one sample.

    Raises:
        ParameterError: The runs have no such metric.
    """
    names: list[str] = []
    for name in first_row:
        metric = find_metric(name, first_row[name].provenance.convention)
        if name in second_row and label_of(metric) is not None:
            names.append(name)
    if not names:
        raise ParameterError(
            "label: the runs have no metric in common that people's labels correct: context_recall or context_precision."
        )
    return names


def _has_changed(first_row: Row, second_row: Row, metrics: Iterable[str]) -> bool | None:
    """Tell whether the value of a metric changed. Return None if no metric has a value in both runs."""
    differences: list[float] = []
    for name in metrics:
        first_value = first_row[name].value
        second_value = second_row[name].value
        if first_value is not None and second_value is not None:
            differences.append(abs(second_value - first_value))
    if not differences:
        return None
    return max(differences) > ROUNDING_ERROR


class _RunTexts:
    """Find the texts of the samples of one run: in its results, else among the samples that were scored.

    Args:
        path: The results.
        scored: The samples that were scored, by their keys.
    """

    def __init__(self, path: str | os.PathLike[str], scored: Mapping[QuestionKey, Sample]) -> None:
        self._path = path
        self._scored_samples = scored
        self._keeps_texts = any(_row_holds_texts(row) for row in read_rows(path))

    def find(self, row: Row) -> Sample | None:
        """Find the sample of a row. Return None if it has no texts at all.

        Raises:
            InputFileError: The texts of the sample are in no file.
        """
        if _row_holds_texts(row):
            return row.sample
        sample = self._scored_samples.get(texts_key(row))
        if sample is None and not self._keeps_texts:
            problem = "is not in the files of samples" if self._scored_samples else "has no texts there"
            raise InputFileError(
                f"{self._path}: sample {replace_invisible(row.name)[:80]!r} {problem}. Score with --keep-texts, or give the files of "
                "samples that were scored: ctxmetrics label --compare FIRST SECOND FIRST_SAMPLES SECOND_SAMPLES"
            )
        return sample


def _row_holds_texts(row: Row) -> bool:
    """Tell whether a row has the texts that a person needs to label its sample."""
    record = row.record or EMPTY
    return "reference" in record or "retrieved_contexts" in record


def describe_draw(draw: Draw, pairs: RunPairs) -> str:
    """Describe how many samples changed and how many of each stratum are drawn."""
    stratum_sizes = Counter(pairs.strata.values())
    drawn_counts = Counter(pairs.strata[key] for key in list_first_keys(draw, pairs))
    text = (
        f"{stratum_sizes[CHANGED]} of {plural(stratum_sizes.total(), 'sample')} changed; {drawn_counts[CHANGED]} of these and "
        f"{drawn_counts[UNCHANGED]} of the others are drawn"
    )
    if not stratum_sizes[CHANGED]:
        text += ": labels can only show what the judge missed"
    return text
