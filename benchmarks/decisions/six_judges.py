"""Does it matter which model judges? Six models on the same passages, each mean corrected by people's labels.

    python benchmarks/run.py six_judges [--draws 1000] [--write-docs]

The data are recorded grades, so no model is asked: `benchmarks/data/trec-rag24-judges.csv` has 537 pairs of a query and
a passage with NIST's grade (TREC RAG 2024) and those of nine language models (asukul/RAG-Eval-LLM-Judge, CC-BY-4.0), six
of them complete. A passage is useful from grade 2 on; the score of a query is the share of its passages that are
useful, since these pairs have no rank order. A coin and a judge that says yes to everything stand beside the six.

A draw takes as many queries as there are, with replacement, and shows people's labels of the first n of them; so the
mean that is to be found, NIST's over all queries, can be missed. ``--write-docs`` puts the tables into
``benchmarks/six-judges.md``, what a user needs of them into ``docs/trust.md``, and one line into ``README.md``. It says what
labels make of the verdicts that models gave with another prompt: the prompt of this library has not been compared with people.
"""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, quantiles

HERE = Path(__file__).resolve().parents[1]
from _shared import arguments, docs

from ctxmetrics import ContextPrecision, Judgement, JudgeRequest, Sample, Verdict, agree, evaluate
from ctxmetrics.evaluation.agreement.agree import AgreementReport
from ctxmetrics.evaluation.statistics.corrected_means import corrected_mean
from ctxmetrics.evaluation.statistics.intervals import mean_interval

DATA = HERE / "data" / "trec-rag24-judges.csv"
PAGE = HERE / "six-judges.md"
DOCS, README = HERE.parent / "docs" / "trust.md", HERE.parent / "README.md"
SIZES = (10, 20, 30, 50)
USEFUL = 2
PUBLISHED = (0.4792, 0.5123, 0.4789, 0.4065, 0.4141, 0.3958)
"""Quadratic kappas of the six complete judges against NIST, as published with the grades, in the file's order."""
COIN, ALWAYS = "a coin", "always yes"
METRIC = ContextPrecision(formula="share")


@dataclass(frozen=True)
class Replay:
    """A judge that answers from records: whether a passage is useful, by its text."""

    name: str
    useful: Mapping[str, bool]
    warnings: tuple[str, ...] = ()

    async def rate(self, request: JudgeRequest) -> Judgement:
        pairs = zip(request.context_ids, request.contexts, strict=True)
        return Judgement(
            verdicts=tuple(Verdict(id=id_, value=self.useful[text]) for id_, text in pairs)
        )

    async def attribute(self, request: JudgeRequest) -> Judgement:
        raise NotImplementedError("there are no records about sentences")


@dataclass(frozen=True)
class Records:
    """The file: NIST's grade of each pair, and those of each complete model.

    Attributes:
        pairs: Query and passage of each pair.
        nist: NIST's grades.
        models: The models' grades, by name.
    """

    pairs: list[tuple[str, str]]
    nist: list[int]
    models: dict[str, list[int]]


def read() -> Records:
    with DATA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in list(rows[0])[3:] if all(row[name] for row in rows)]
    return Records(
        [(row["query_id"], f"{row['query_id']} {row['passage_id']}") for row in rows],
        [int(row["nist_grade"]) for row in rows],
        {name.partition(" (")[0]: [int(row[name]) for row in rows] for name in names},
    )


def quadratic_kappa(one: Sequence[int], other: Sequence[int]) -> float:
    """Cohen's kappa with weights ``(i - j)**2``: 1 - observed / expected squared difference."""
    observed = sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / len(one)
    expected = sum((a - b) ** 2 for a in one for b in other) / len(one) ** 2
    return 1 - observed / expected


def samples_of(records: Records) -> list[Sample]:
    """One sample a query; a passage is its id, for there are no texts."""
    passages, labels = defaultdict(list), defaultdict(list)
    for (query, passage), grade in zip(records.pairs, records.nist, strict=True):
        passages[query].append(passage)
        labels[query].append(grade >= USEFUL)
    return [
        Sample(
            id=query,
            user_input=query,
            reference="not recorded",
            retrieved_contexts=found,
            labels={"context_useful": labels[query]},
        )
        for query, found in passages.items()
    ]


def judges_of(records: Records) -> list[Replay]:
    texts = [passage for _, passage in records.pairs]
    coin = random.Random(0)
    said = {name: [grade >= USEFUL for grade in grades] for name, grades in records.models.items()}
    said |= {COIN: [coin.random() < 0.5 for _ in texts], ALWAYS: [True] * len(texts)}
    return [Replay(name, dict(zip(texts, flags, strict=True))) for name, flags in said.items()]


# --- draws ---


@dataclass(frozen=True)
class Found:
    """What one draw gave.

    Attributes:
        queries: The places of the queries drawn; people's labels are shown of the first n.
        people: Mean and interval of people's labels alone.
        corrected: The corrected mean and interval of each judge.
    """

    queries: tuple[int, ...]
    people: tuple[float, tuple[float, float]]
    corrected: dict[str, tuple[float, tuple[float, float]]]


def draw(n: int, number: int, people: Sequence[float], judges: Mapping[str, Sequence[float]]) -> Found:
    queries = tuple(random.Random(f"{n} {number}").choices(range(len(people)), k=len(people)))
    said = [people[place] for place in queries[:n]]
    corrected = {}
    for name, values in judges.items():
        scores = [values[place] for place in queries]
        corrected[name] = corrected_mean(said, scores[:n], scores[n:])
    return Found(queries, (fmean(said), mean_interval(said) or (0.0, 1.0)), corrected)


@dataclass(frozen=True)
class Measured:
    """All that the tables show.

    Attributes:
        records: The data.
        people: NIST's score of each query.
        scores: Each judge's.
        reports: Each judge beside NIST's labels.
        draws: The draws, by number of labels.
    """

    records: Records
    people: list[float]
    scores: dict[str, list[float]]
    reports: dict[str, AgreementReport]
    draws: dict[int, list[Found]]


def measure(draws: int) -> Measured:
    records = read()
    samples = samples_of(records)
    people = [fmean(sample.labels["context_useful"]) for sample in samples]
    scores, reports = {}, {}
    for judge in judges_of(records):
        results = evaluate(samples, [METRIC], judge=judge, progress=False)
        scores[judge.name] = [row[METRIC.name].value for row in results]
        reports[judge.name] = agree(samples, results=results, progress=False)
    found = {n: [draw(n, number, people, scores) for number in range(draws)] for n in SIZES}
    return Measured(records, people, scores, reports, found)


# --- tables ---


def spread(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _held(intervals: Sequence[tuple[float, float]], truth: float) -> float:
    return fmean(low <= truth <= high for low, high in intervals)


def _width(intervals: Sequence[tuple[float, float]]) -> float:
    return fmean(high - low for low, high in intervals)


def by_size(measured: Measured) -> dict[int, dict[str, float]]:
    """Return the figures of each number of labels, over the six models where nothing else is said."""
    truth, rows = fmean(measured.people), {}
    for n, draws in measured.draws.items():
        six = [[found.corrected[name] for name in measured.records.models] for found in draws]
        intervals = [interval for one in six for _, interval in one]
        spreads = [spread([mean for mean, _ in one]) for one in six]
        alone = [found.people[1] for found in draws]
        rows[n] = {
            "spread": fmean(spreads),
            "nine_in_ten": quantiles(spreads, n=10)[-1],
            "spread_of_eight": fmean(
                spread([mean for mean, _ in found.corrected.values()]) for found in draws
            ),
            "intervals": float(len(intervals)),
            "coverage": _held(intervals, truth),
            "width": _width(intervals),
            "people_coverage": _held(alone, truth),
            "people_width": _width(alone),
        }
    return rows


def _with(value: float | None, interval: tuple[float, float] | None) -> str:
    shown = "-" if value is None else f"{value:.3f}"
    return shown if interval is None else f"{shown} ({interval[0]:.3f} to {interval[1]:.3f})"


def table(measured: Measured) -> str:
    """Return both tables, as Markdown."""
    kappas = {
        name: f"{quadratic_kappa(measured.records.nist, grades):.4f}"
        for name, grades in measured.records.models.items()
    }
    rows = []
    for name, report in measured.reports.items():
        (item,) = report.agreements
        intervals = item.intervals or {}
        corrected = fmean(found.corrected[name][0] for found in measured.draws[30])
        cells = (
            name,
            kappas.get(name, "-"),
            _with(item.kappa, intervals.get("kappa")),
            _with(item.balanced_accuracy, intervals.get("balanced_accuracy")),
            fmean(measured.scores[name]),
            corrected,
        )
        rows.append(cells)
    raw = [fmean(measured.scores[name]) for name in measured.records.models]
    keys = ("spread", "nine_in_ten", "spread_of_eight", "coverage", "width")
    sizes = [
        (n, *map(row.get, keys), f"{row['people_coverage']:.3f}, width {row['people_width']:.3f}")
        for n, row in by_size(measured).items()
    ]
    judges = docs.figures(
        "judge | quadratic kappa of the grades | kappa of yes/no | balanced accuracy | its mean | corrected, 30 labelled questions",
        rows,
    )
    means = f"NIST's mean is {fmean(measured.people):.3f}. The six models' means are {spread(raw):.3f} apart."
    labels = docs.figures(
        "labelled questions | six models apart | nine in ten draws below | with coin and always yes | coverage | width | labels alone",
        sizes,
    )
    return f"{judges}\n\n{means}\n\n{labels}"


def short(measured: Measured) -> str:
    """Return what a user needs of the tables, as Markdown."""
    sizes, draws = by_size(measured), measured.draws[30]
    means = [
        (name, fmean(values), fmean(found.corrected[name][0] for found in draws))
        for name, values in measured.scores.items()
    ]
    row = sizes[30]
    found = f"mean of {len(draws):,} draws; below {row['nine_in_ten']:.3f} in nine of ten draws"
    eight = f"with the coin and always yes among the judges {row['spread_of_eight']:.3f}"
    told = f"NIST's mean is {fmean(measured.people):.3f}. {_told(measured)} ({found}; {eight})."
    keys = ("spread", "coverage", "width", "people_width")
    labels = docs.figures(
        "labelled queries | highest less lowest of the six means | 95 % interval holds NIST's mean | its width | width of the labels alone",
        [(n, *map(row.get, keys)) for n, row in sizes.items()],
    )
    return f"{docs.figures('judge | its mean | corrected', means)}\n\n{told}\n\n{labels}"


def _told(measured: Measured) -> str:
    raw = [fmean(measured.scores[name]) for name in measured.records.models]
    apart = by_size(measured)[30]["spread"]
    return (
        f"Six models say {min(raw):.3f} to {max(raw):.3f} of the same passages; after correction by 30 labelled questions (about 190 labels) "
        f"the highest of the six means is {apart:.3f} above the lowest"
    )


def run(argv: list[str]) -> dict[str, object]:
    options = arguments.make_parser("six_judges", draws=1000, write_docs=False).parse_args(argv)
    measured = measure(options.draws)
    shown = table(measured)
    print(shown)
    if options.write_docs:
        docs.write("six_judges", shown, page=PAGE, peers=("numpy",))
        docs.put(DOCS, "six_judges", short(measured))
        docs.put(README, "six_judges", _told(measured), around="")
    raw = [fmean(measured.scores[name]) for name in measured.records.models]
    return {
        "benchmark": "six_judges",
        "draws": options.draws,
        "raw_spread": spread(raw),
        "labels": by_size(measured),
    }
