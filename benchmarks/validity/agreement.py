"""How well the embedded judge agrees with people, on public human-labelled data.

``python benchmarks/run.py agreement [--data DIR] [--set NAME=FILE ..] [--contradiction no]``; the README beside this file
says where the data comes from. ``--set`` measures any other set in the same fields: ``labels.reference_supported`` or
``labels.context_useful``.

* CLAPNQ: is a retrieved sentence useful for the answer? People selected the sentences the answer needs.
* BEGIN (wow): is an answer fully attributable to its context? It is supported when all its sentences are; the second
  line judges the answer as one unit.

Balanced accuracy is the mean of sensitivity and specificity: 0.5 is chance whatever the base rate.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from _shared import arguments, docs

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical.judge import LexicalJudge
from ctxmetrics.text.sentences import split_sentences

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CLAPNQ, BEGIN = "clapnq-dev.jsonl", "begin-wow-dev.jsonl"
BARS = {"clapnq_usefulness": 0.935, "begin_support": 0.825}
"""Lowest balanced accuracy we accept from a change."""


def make_parser(name: str, about: str | None = None, **defaults) -> argparse.ArgumentParser:
    """Return a parser with ``--data``; the first line of a docstring says what the benchmark is about."""
    parser = arguments.make_parser(name, about and about.splitlines()[0], **defaults)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="folder with the sets")
    return parser


def find_missing(folder: Path, names: Sequence[str]) -> list[str]:
    return [name for name in names if not (folder / name).is_file()]


def require(folder: Path, names: Sequence[str]) -> None:
    """End where one of these files is not there."""
    if missing := find_missing(folder, names):
        raise SystemExit(
            f"{folder} has no {', '.join(missing)}; benchmarks/README.md says how to get them"
        )


def read(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def agreement(human: list[bool], judge: list[bool]) -> dict[str, float]:
    """Compare two lists of yes and no: balanced accuracy, sensitivity, specificity, Cohen's kappa, base rates."""
    n = len(human)
    both = sum(h and j for h, j in zip(human, judge, strict=True))
    neither = sum(not h and not j for h, j in zip(human, judge, strict=True))
    human_rate, judge_rate = sum(human) / n, sum(judge) / n
    sensitivity, specificity = both / sum(human), neither / (n - sum(human))
    by_chance = human_rate * judge_rate + (1 - human_rate) * (1 - judge_rate)
    return {
        "n": n,
        "balanced_accuracy": (sensitivity + specificity) / 2,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "kappa": ((both + neither) / n - by_chance) / (1 - by_chance),
        "human_rate": human_rate,
        "judge_rate": judge_rate,
    }


def usefulness(rows: list[dict], judge: LexicalJudge) -> dict[str, float]:
    """Compare a judge with people on which contexts are useful for the answer (``labels.context_useful``)."""
    human, machine = [], []
    for row in rows:
        request = JudgeRequest(
            units=(), contexts=tuple(row["retrieved_contexts"]), answer=row["reference"]
        )
        human += [bool(label) for label in row["labels"]["context_useful"]]
        machine += [verdict.value for verdict in judge.usefulness(request)]
    return agreement(human, machine)


def support(rows: list[dict], judge: LexicalJudge, *, whole: bool = False) -> dict[str, float]:
    """Compare a judge with people on whether the contexts support the answer (``labels.reference_supported``)."""
    human, machine = [], []
    for row in rows:
        answer = row["reference"]
        units = (answer,) if whole else split_sentences(answer)
        request = JudgeRequest(units=units, contexts=tuple(row["retrieved_contexts"]), answer=answer)
        human.append(bool(row["labels"]["reference_supported"]))
        machine.append(all(verdict.value for verdict in judge.support(request)))
    return agreement(human, machine)


def measure(data: Path, judge: LexicalJudge | None = None) -> dict[str, dict[str, float]]:
    """Measure everything on the data in a folder."""
    judge = judge or LexicalJudge()
    clapnq, begin = read(data / CLAPNQ), read(data / BEGIN)
    return {
        "clapnq_usefulness": usefulness(clapnq, judge),
        "begin_support": support(begin, judge),
        "begin_support_one_unit": support(begin, judge, whole=True),
    }


NAMES = {
    "clapnq_usefulness": "CLAPNQ dev: is this sentence useful for the answer?",
    "begin_support": "BEGIN wow dev: is this answer supported? All its sentences must be",
    "begin_support_one_unit": "BEGIN wow dev: the answer judged as one unit",
}
COLUMNS = ("n", "balanced_accuracy", "sensitivity", "specificity", "kappa", "human_rate", "judge_rate")


def table(figures: dict[str, dict[str, float]]) -> str:
    """Return the figures as a table for the docs."""
    head = "set | n | BA | sens. | spec. | kappa | yes: people | yes: judge"
    rows = [(NAMES.get(name, name), *map(row.get, COLUMNS)) for name, row in figures.items()]
    return docs.figures(head, rows)


def other_set(path: Path, judge: LexicalJudge) -> dict[str, float]:
    """Measure a set of one's own by the label that it has."""
    rows = read(path)
    supports = [row for row in rows if "reference_supported" in row["labels"]]
    return support(supports, judge) if supports else usefulness(rows, judge)


def run(argv: list[str]) -> dict:
    parser = make_parser("agreement", __doc__)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=FILE", help="another set in the same fields"
    )
    parser.add_argument("--contradiction", choices=("flag", "no"), default="flag")
    options = parser.parse_args(argv)
    data = options.data
    missing = find_missing(data, (CLAPNQ, BEGIN))
    if not options.set:
        require(data, (CLAPNQ, BEGIN))
    judge = LexicalJudge(contradiction=options.contradiction)
    start = time.perf_counter()
    figures = {} if missing else measure(data, judge)
    for given in options.set:
        name, _, path = given.partition("=")
        figures[name] = other_set(Path(path), judge)
    seconds = time.perf_counter() - start
    print(f"judge {judge.name} against people; rates are the share of yes\n")
    print(table(figures))
    for name, bar in BARS.items():
        if name in figures:
            print(f"\n{name}: {figures[name]['balanced_accuracy']:.3f} (at least {bar})", end="")
    print(f"\n{seconds:.1f} s")
    return {
        "benchmark": "agreement",
        "judge": judge.name,
        "seconds": round(seconds, 2),
        "bars": BARS,
        **figures,
    }
