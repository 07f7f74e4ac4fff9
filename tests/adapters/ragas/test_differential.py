"""Our string and id metrics under ``convention="ragas"`` against Ragas' own, live: equal under ``==``, NaN with NaN.

What `ragas.evaluate()` makes of an exception is NaN, so both sides' exceptions are NaN here. The inputs are seeded:
texts made from each other by a few edits, so that similarities lie on and beside the cuts, empty lists, duplicates,
composed and decomposed letters, other scripts, and ids of mixed types. There are at most four contexts: from five on,
Ragas' number depends on the Python, as the built-in ``sum`` that it uses rounds differently since 3.12.
"""

from __future__ import annotations

import asyncio
import math
import random
import sys
import unicodedata
from collections import Counter

import pytest

from support.later import later

context_precision = later("ragas.metrics._context_precision")
context_recall = later("ragas.metrics._context_recall")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")
string = later("ragas.metrics._string")


MEASURES = ("levenshtein", "hamming", "jaro", "jaro_winkler")
CUTS = (0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0)
STRING_SAMPLES = 9_000
ID_SAMPLES = 2_500
ALPHABETS = ("ab", "abc ", "The café.", "где Эйфель?", "巴黎铁塔，", "ไทย", "e\u0301é🗼\u200d\n")
IDS = ("a", "b", "1", 1, "01", 2, "2", "a ", "A", "é", "e\u0301", "文", 0, -1, "doc_1", 10**30)


def _texts(source: random.Random) -> list[str]:
    """A base text and what a few edits make of it, so that ``1 - distance / length`` hits simple fractions."""
    alphabet = source.choice(ALPHABETS)
    length = source.choice((0, 1, 2, 4, 5, 10, 20, 20, 20, 40))
    base = "".join(source.choices(alphabet, k=length))
    texts = [base, unicodedata.normalize("NFC", base), unicodedata.normalize("NFD", base)]
    for _ in range(5):
        text = list(base)
        for _ in range(source.randint(0, max(1, length))):
            place = source.randrange(len(text) + 1)
            edit = source.choice(("replace", "insert", "delete"))
            text[place : place + (edit != "insert")] = (
                [] if edit == "delete" else [source.choice("xyz" + alphabet)]
            )
        texts.append("".join(text))
    return texts


def _side(source: random.Random, pool: list, most: int = 4) -> list:
    return source.choices(pool, k=source.choice((0, *range(1, most + 1))))


async def _value(metric, sample: ragas.SingleTurnSample) -> float:
    try:
        return await metric._single_turn_ascore(sample=sample, callbacks=[])
    except Exception:  # noqa: BLE001 - evaluate() logs it and goes on with NaN
        return math.nan


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _string_metrics(measure: str, cut: float):
    recall = context_recall.NonLLMContextRecall(threshold=cut)
    recall.distance_measure = string.DistanceMeasure(measure)
    similarity = string.NonLLMStringSimilarity(distance_measure=string.DistanceMeasure(measure))
    precision = context_precision.NonLLMContextPrecisionWithReference(
        distance_measure=similarity, threshold=cut
    )
    options = {"convention": "ragas", "similarity": measure, "min_similarity": cut}
    return (recall, ours.NonLLMContextRecall(**options)), (
        precision,
        ours.NonLLMContextPrecision(**options),
    )


@pytest.mark.slow
def test_strings_and_ids_equal_ragas() -> None:
    counts: Counter[str] = Counter()
    differences: list[str] = []

    async def compare(theirs, mine, sample: ragas.SingleTurnSample, what: str) -> None:
        expected, value = await _value(theirs, sample), await _value(mine, sample)
        kind = "nan" if math.isnan(expected) else "inside" if 0 < expected < 1 else "edge"
        counts.update((kind, "all"))
        if not _same(value, expected):
            differences.append(f"{what}: {value!r}, Ragas {expected!r}: {sample.to_dict()}")

    async def run() -> None:
        source = random.Random(20261120)
        pairs = {(measure, cut): _string_metrics(measure, cut) for measure in MEASURES for cut in CUTS}
        for number in range(STRING_SAMPLES):
            measure, cut = list(pairs)[number % len(pairs)]
            texts = _texts(source)
            sample = ragas.SingleTurnSample(
                retrieved_contexts=_side(source, texts), reference_contexts=_side(source, texts)
            )
            for theirs, mine in pairs[measure, cut]:
                await compare(theirs, mine, sample, f"{mine.core.base_name} {measure} {cut}")
        by_id = (
            (context_recall.IDBasedContextRecall(), ours.IDBasedContextRecall(convention="ragas")),
            (
                context_precision.IDBasedContextPrecision(),
                ours.IDBasedContextPrecision(convention="ragas"),
            ),
        )
        for _ in range(ID_SAMPLES):
            sample = ragas.SingleTurnSample(
                retrieved_context_ids=_side(source, IDS, 8), reference_context_ids=_side(source, IDS, 8)
            )
            for theirs, mine in by_id:
                await compare(theirs, mine, sample, mine.core.base_name)

    asyncio.run(run())
    print(f"{counts['all']} comparisons, {len(differences)} differences; {dict(counts)}")
    assert differences == []
    assert counts["all"] >= 20_000
    assert (
        min(counts["nan"], counts["inside"], counts["edge"]) > 2_000
    )  # the inputs reach every kind of outcome


def test_an_empty_id_counts_in_ragas_and_not_here() -> None:
    sample = ragas.SingleTurnSample(retrieved_context_ids=["", "a"], reference_context_ids=["", "b"])

    async def run() -> list[float]:
        metrics = (context_recall.IDBasedContextRecall(), ours.IDBasedContextRecall(convention="ragas"))
        return [await _value(metric, sample) for metric in metrics]

    assert asyncio.run(run()) == [0.5, 0.0]


def test_a_cut_that_lies_exactly_on_a_similarity_is_told_apart() -> None:
    """Recall wants more than the cut, precision at least it: on the cut they differ, in Ragas and here."""
    sample = ragas.SingleTurnSample(retrieved_contexts=["ab"], reference_contexts=["ax"])
    (recall, my_recall), (precision, my_precision) = _string_metrics("levenshtein", 0.5)

    async def run() -> list[float]:
        return [await _value(metric, sample) for metric in (recall, my_recall, precision, my_precision)]

    assert asyncio.run(run()) == [0.0, 0.0, 0.9999999999, 0.9999999999]


def test_last_bit_of_ragas_depends_on_python_from_five_contexts() -> None:
    sample = ragas.SingleTurnSample(
        retrieved_contexts=["xy", "xy", "ab", "ab", "ab"], reference_contexts=["ab"]
    )
    theirs, mine = _string_metrics("levenshtein", 0.5)[1]

    async def run() -> list[float]:
        return [await _value(metric, sample) for metric in (theirs, mine)]

    expected, value = asyncio.run(run())
    assert value == (1 / 3 + 2 / 4 + 3 / 5) / (3 + 1e-10), "on every Python"
    if sys.version_info < (3, 12):
        assert value == expected
    else:
        assert 0 < abs(value - expected) <= 2 * math.ulp(value)
