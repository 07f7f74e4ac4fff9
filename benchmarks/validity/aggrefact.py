"""A judge on LLM-AggreFact: balanced accuracy a set and in the mean, beside the published figures.

``python benchmarks/run.py aggrefact FILE --sha256 HASH --judge openai/gpt-4o-mini --out OUT.jsonl [--base-url URL]
[--price-in DOLLARS --price-out DOLLARS] [--max-calls N] [--max-concurrency N]``

FILE is the test set of ``lytang/LLM-AggreFact`` (29,320 pairs, 11 sets; gated, CC-BY-ND-4.0, for evaluation only) as JSON
lines, CSV or Parquet. It is not part of this repository. HASH is the SHA-256 that the hub shows beside the file that was
fetched: another file is refused, and so are other fields, sets or counts.

Each pair is a sample of the library: the document is the one context, the claim is one fact, and context recall is the
verdict. The run goes on where it was stopped (rows of OUT.part). What was not judged is counted, and in no figure.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _shared import arguments

from ctxmetrics import ContextRecall, Results, Sample
from ctxmetrics._internal.text_table import align_rows
from ctxmetrics.evaluation.agreement.figures import Agreement, find_intervals
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.evaluate import run_in_caller
from ctxmetrics.judges.judge_names import read_judge
from ctxmetrics.verdicts import Usage

FIELDS = ("dataset", "doc", "claim", "label")
PAIRS = 29_320
# Bespoke-MiniCheck-7B, bar .5, by set: benchmark_evaluation_demo.ipynb of github.com/Liyan06/MiniCheck.
MINICHECK = {
    "AggreFact-CNN": 65.5,
    "AggreFact-XSum": 77.8,
    "TofuEval-MediaS": 76.0,
    "TofuEval-MeetB": 78.3,
    "Wice": 83.0,
    "Reveal": 88.0,
    "ClaimVerify": 75.3,
    "FactCheck-GPT": 77.7,
    "ExpertQA": 59.2,
    "Lfqa": 86.7,
    "RAGTruth": 84.0,
}
# gpt-4o-2024-05-13, asked for yes or no, by set: the tables of github.com/derenlei/FactCG (41f1854).
GPT_4O = {
    "AggreFact-CNN": 68.1,
    "AggreFact-XSum": 76.8,
    "TofuEval-MediaS": 71.4,
    "TofuEval-MeetB": 79.8,
    "Wice": 78.5,
    "Reveal": 86.5,
    "ClaimVerify": 69.0,
    "FactCheck-GPT": 77.5,
    "ExpertQA": 59.6,
    "Lfqa": 83.6,
    "RAGTruth": 84.3,
}
SETS = tuple(MINICHECK)
# Published means, each with its setting; two settings must not stand in one column.
PUBLISHED = (
    ("Bespoke-MiniCheck-7B", 77.4, "bar .5"),
    ("GPT-4o-2024-05-13", 75.9, "yes or no"),
    ("FactCG-DeBERTa-v3-Large", 75.6, "bar .5"),
    ("FactCG-DeBERTa-v3-Large", 77.2, "one bar a set, chosen on dev"),
    ("FactCG-DeBERTa-v3-Large, reproduced", 75.9, "by others"),
    ("MiniCheck-DeBERTa-v3-Large", 73.1, "bar .5"),
    ("MiniCheck-DeBERTa-v3-Large", 74.1, "one bar a set, chosen on dev"),
)
# The width of a 95 % interval in standard errors.
_WIDTH = 2 * 1.959964


class WrongFileError(SystemExit):
    """The file is not the published one."""


@dataclass(frozen=True)
class Pair:
    """A claim about a document, and what people say."""

    set_name: str
    doc: str
    claim: str
    supported: bool


def read_pairs(path: Path, sha256: str | None) -> list[Pair]:
    """Read the published file.

    Args:
        path: The file.
        sha256: Its hash, as the hub shows it.

    Raises:
        WrongFileError: Hash, fields, labels, names of sets or counts are other ones.
    """
    if not path.is_file():
        raise WrongFileError(f"{path} is not there; benchmarks/aggrefact.md says how to get it")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 is None:
        raise WrongFileError(
            f"give --sha256 with the hash that the hub shows beside the file; {path} has {digest}"
        )
    if digest != sha256.lower().strip():
        raise WrongFileError(f"{path} has the SHA-256 {digest}, not {sha256}: this is another file")
    found = [_read_pair(path, number, row) for number, row in enumerate(_read_rows(path), 1)]
    names = {pair.set_name for pair in found}
    if names != set(SETS):
        extra, missing = sorted(names - set(SETS)), sorted(set(SETS) - names)
        raise WrongFileError(f"{path}: the sets differ: not published {extra}, missing {missing}")
    if len(found) != PAIRS:
        raise WrongFileError(f"{path} has {len(found)} pairs, not {PAIRS}: this is another version")
    return found


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of JSON lines, a CSV file, or a Parquet file."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        yield from pyarrow.parquet.read_table(path).to_pylist()
        return
    with path.open(encoding="utf-8", newline="") as lines:
        if path.suffix == ".csv":
            import csv

            csv.field_size_limit(2**31 - 1)
            yield from csv.DictReader(lines)
            return
        import json

        yield from map(json.loads, lines)


def _read_pair(path: Path, number: int, row: Any) -> Pair:
    missing = [name for name in FIELDS if not isinstance(row, dict) or row.get(name) is None]
    if missing:
        raise WrongFileError(f"{path}, row {number}: no {', '.join(missing)}")
    if str(row["label"]) not in {"0", "1"}:
        raise WrongFileError(f"{path}, row {number}: label {row['label']!r} is not 0 or 1")
    return Pair(row["dataset"], row["doc"], row["claim"], str(row["label"]) == "1")


def to_samples(pairs: Iterable[Pair], digest: str) -> list[Sample]:
    """Make a sample of each pair. Its id names the file, so that a run cannot go on with the rows of another one."""
    return [
        Sample(
            id=f"{digest[:12]}-{number}",
            reference=pair.claim,
            reference_facts=[pair.claim],
            retrieved_contexts=[pair.doc],
        )
        for number, pair in enumerate(pairs)
    ]


def judge_pairs(
    samples: Sequence[Sample], judge: Any, out: Path, **options: Any
) -> tuple[Results, str | None]:
    """Judge each pair once; the rows of a run that was stopped are taken over.

    Returns:
        The results, and why the run stopped early.
    """
    run = Evaluation(
        samples,
        [ContextRecall(unit="fact")],
        judge=judge,
        in_caller=True,
        keep=False,
        resume=True,
        out=out,
        cache=out.with_name(f"{out.name}.cache"),
        one_context=True,
        **options,
    )
    stopped = run_in_caller(run).stopped
    path = out if out.exists() and stopped is None else out.with_name(f"{out.name}.part")
    return Results.from_jsonl(path), stopped


@dataclass(frozen=True)
class SetFigures:
    """Balanced accuracy on one set, in per cent."""

    name: str
    pairs: int
    judged: int
    accuracy: float | None
    interval: tuple[float, float] | None


def count_set(name: str, pairs: Sequence[Pair], verdicts: Sequence[bool | None]) -> SetFigures:
    """Count one set. The unit of the interval is the document: claims about one are no independent draws."""
    tables: dict[str, Counter[tuple[bool, bool]]] = {}
    for pair, verdict in zip(pairs, verdicts, strict=True):
        if verdict is not None:
            tables.setdefault(pair.doc, Counter())[pair.supported, verdict] += 1
    kinds = ((True, True), (False, True), (True, False), (False, False))
    counts = [tuple(table[kind] for kind in kinds) for table in tables.values()]
    agreement = Agreement(name, len(counts), *map(sum, zip((0, 0, 0, 0), *counts, strict=True)))
    accuracy = agreement.balanced_accuracy
    ends = find_intervals(counts)["balanced_accuracy"] if accuracy is not None else None
    return SetFigures(
        name=name,
        pairs=len(pairs),
        judged=agreement.answers,
        accuracy=None if accuracy is None else 100 * accuracy,
        interval=None if ends is None else (100 * ends[0], 100 * ends[1]),
    )


def average_sets(figures: Sequence[SetFigures]) -> tuple[float | None, tuple[float, float] | None]:
    """Return the plain mean over the sets, and its interval: the sets are independent of each other."""
    values = [item.accuracy for item in figures if item.accuracy is not None]
    if len(values) < len(figures) or not values:
        return None, None
    mean = math.fsum(values) / len(values)
    widths = [item.interval[1] - item.interval[0] for item in figures if item.interval is not None]
    if len(widths) < len(values):
        return mean, None
    error = math.sqrt(math.fsum((width / _WIDTH) ** 2 for width in widths)) / len(values)
    return mean, (mean - error * _WIDTH / 2, mean + error * _WIDTH / 2)


def measure(pairs: Sequence[Pair], results: Results, samples: Sequence[Sample]) -> list[SetFigures]:
    """Count every set; a pair that the results lack, or have no value for, is not judged."""
    values = {row.sample_id: row.scores[0].value for row in results}
    by_set: dict[str, tuple[list[Pair], list[bool | None]]] = {}
    for pair, sample in zip(pairs, samples, strict=True):
        own, verdicts = by_set.setdefault(pair.set_name, ([], []))
        value = values.get(sample.id)
        own.append(pair)
        verdicts.append(None if value is None else value == 1.0)
    return [count_set(name, *columns) for name, columns in by_set.items()]


def format_table(
    figures: Sequence[SetFigures], mean: float | None, ends: tuple[float, float] | None
) -> str:
    """Format the sets and the mean beside the published figures."""
    rows = [("set", "pairs", "judged", "balanced accuracy", "MiniCheck-7B", "GPT-4o")]
    for item in figures:
        published = [column.get(item.name) for column in (MINICHECK, GPT_4O)]
        rows.append(
            (
                item.name,
                str(item.pairs),
                str(item.judged),
                _with_interval(item.accuracy, item.interval),
                *("-" if figure is None else f"{figure:.1f}" for figure in published),
            )
        )
    pairs, judged = (sum(getattr(item, name) for item in figures) for name in ("pairs", "judged"))
    rows.append(("mean of sets", str(pairs), str(judged), _with_interval(mean, ends), "77.4", "75.9"))
    lines = align_rows(rows)
    lines += [
        "",
        *(f"published: {name} {figure} ({setting})" for name, figure, setting in PUBLISHED),
    ]
    return "\n".join(lines)


def _with_interval(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if ends is None else f"{value:.1f} ({ends[0]:.1f} to {ends[1]:.1f})"


def run(argv: list[str]) -> dict:
    parser = arguments.make_parser("aggrefact", __doc__.splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE", help="the published test set")
    parser.add_argument("--sha256", help="its hash, as the hub shows it")
    parser.add_argument("--judge", default="lexical", help="as for ctxmetrics score")
    parser.add_argument("--base-url", help="the address of the model's server")
    parser.add_argument(
        "--out", type=Path, required=True, help="OUT.jsonl: the scores; a run goes on from OUT.part"
    )
    parser.add_argument(
        "--price-in", type=float, default=0.0, help="dollars for a million prompt tokens"
    )
    parser.add_argument(
        "--price-out", type=float, default=0.0, help="dollars for a million completion tokens"
    )
    parser.add_argument("--max-calls", type=int, help="requests of this run at most")
    parser.add_argument("--max-concurrency", type=int, default=16, help="requests in flight")
    given = parser.parse_args(argv)
    pairs = read_pairs(given.file, given.sha256)
    judge = read_judge(given.judge, base_url=given.base_url, place="--judge")
    samples = to_samples(pairs, given.sha256)
    results, stopped = judge_pairs(
        samples, judge, given.out, max_calls=given.max_calls, max_concurrency=given.max_concurrency
    )
    figures = measure(pairs, results, samples)
    mean, ends = average_sets(figures)
    usage = sum((score.usage for row in results for score in row.scores), Usage())
    price = (usage.prompt_tokens * given.price_in + usage.completion_tokens * given.price_out) / 1e6
    print(f"{judge.name} on {given.file}, {given.sha256[:12]}")
    print(format_table(figures, mean, ends))
    print(
        f"\n{usage.calls} requests, {usage.prompt_tokens} + {usage.completion_tokens} tokens, {price:.2f} dollars"
    )
    report: dict[str, Any] = {
        "benchmark": "aggrefact",
        "judge": judge.name,
        "sha256": given.sha256,
        "pairs": len(pairs),
        "judged": sum(item.judged for item in figures),
        "sets": {item.name: [item.accuracy, item.interval] for item in figures},
        "mean": mean,
        "interval": ends,
        "requests": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "dollars": price,
    }
    if stopped is not None:
        report["over"] = [f"the run stopped early ({stopped}); the same command goes on"]
    return report
