"""CPU time of the embedded judge and of the splitter, beside those of another checkout of the library.

    python benchmarks/run.py embedded_speed [--against PATH] [--rounds 15] [--samples 40]

``sentences`` is a context of 120 words that is cut into sentences; ``ten contexts`` is `ContextRecall().score` of a reference
of three sentences and ten contexts of 120 words; ``handbook`` is the same of the samples of ``examples/handbook.jsonl``; the
two of ``precision`` are `ContextPrecision().score`. No text is read twice: each one ends with a number of its own.

A process for each checkout is asked in turns, and which of them begins changes from round to round. The time is that of
the process; the ratio is the median of the ratios of the rounds. Bars: 90 us for 120 words; 1.1 times the other checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HANDBOOK = ROOT / "examples" / "handbook.jsonl"
# Microseconds of the splitter for a context of 120 words.
LIMIT_US = 90
# CPU of the judge, in times of that of the other commit.
LIMIT = 1.1
NAMES = ("sentences", "ten contexts", "ten contexts, precision", "handbook", "handbook, precision")

STARTS = ["The", "A", "This", "In", "When", "Each", "After", "Our", "If", "It", "They", "Most"]
WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "was",
    "for",
    "with",
    "on",
    "at",
    "by",
    "from",
    "that",
    "it",
    "as",
    "be",
    "or",
    "not",
    "which",
    "pump",
    "valve",
    "pressure",
    "water",
    "station",
    "river",
    "engine",
    "museum",
    "committee",
    "report",
    "boiler",
    "filter",
    "handbook",
    "season",
    "winter",
    "temperature",
    "install",
    "replace",
    "measure",
    "open",
    "close",
    "level",
    "cable",
    "sensor",
    "garden",
    "ticket",
    "visitor",
    "building",
    "council",
    "engineer",
    "supply",
    "tank",
    "system",
    "repair",
    "contract",
    "customer",
]
RARE = (
    "Halvorin",
    "Dr. Meyer",
    "Berlin",
    "1932",
    "3.5",
    "40 cm",
    "12 %",
    "U.S.",
    "e.g. oil",
    "10-year",
    "(see 4.2)",
)


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="embedded_speed", description=__doc__)
    parser.add_argument("--against", metavar="PATH", help="the folder of another checkout")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--samples", type=int, default=40, help="samples a round")
    options = parser.parse_args(argv)
    checkouts = [ROOT, *([Path(options.against)] if options.against else [])]
    processes = [_start(checkout, options.samples) for checkout in checkouts]
    times: dict[str, list[list[float]]] = {name: [] for name in NAMES}
    for turn in range(options.rounds + 1):
        for name in NAMES:
            order = range(len(processes)) if turn % 2 else reversed(range(len(processes)))
            pair = [0.0] * len(processes)
            for number in order:
                pair[number] = _ask(processes[number], name, turn)
            if turn:
                times[name].append(pair)
    for process in processes:
        process.communicate()
    figures: dict[str, object] = {"benchmark": "embedded_speed"}
    over: list[str] = []
    print(f"{'CPU, us':<26}{'here':>9}{'other':>9}{'ratio':>8}")
    for name, pairs in times.items():
        here = statistics.median(pair[0] for pair in pairs)
        figures[f"{name}_us"] = round(here, 1)
        line = f"{name:<26}{here:>9.1f}"
        if options.against:
            ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
            figures[f"{name}_ratio"] = round(ratio, 3)
            line += f"{statistics.median(pair[1] for pair in pairs):>9.1f}{ratio:>8.2f}"
            if ratio > LIMIT and name != "sentences":
                over.append(f"{name}: {ratio:.2f} times the other checkout, at most {LIMIT}")
        if name == "sentences" and here > LIMIT_US:
            over.append(f"{name}: {here:.0f} us, at most {LIMIT_US}")
        print(line)
    return figures | {"over": over}


def _start(checkout: Path, samples: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "core")}
    command = [sys.executable, __file__, str(samples)]
    return subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _ask(process: subprocess.Popen[str], name: str, turn: int) -> float:
    """Return the microseconds that a process takes for one text or sample."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process has no pipes")
    process.stdin.write(json.dumps([name, turn]) + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


# --- in the process of a checkout ------------------------------------------------------------------


def _serve(samples: int) -> None:
    for line in sys.stdin:
        name, turn = json.loads(line)
        calls = list(_make_calls(name, turn, samples))
        begin = time.process_time()
        for call in calls:
            call()
        print((time.process_time() - begin) / len(calls) * 1e6, flush=True)


def _make_calls(name: str, turn: int, samples: int) -> Iterator[Callable[[], object]]:
    """Yield what is timed: of each round other texts, and in each checkout the same."""
    from ctxmetrics import ContextPrecision, ContextRecall, Sample

    source = random.Random(f"{name} {turn}")
    if name == "sentences":
        sentence_spans = _get_splitter()
        for text in [_write(source, 120) for _ in range(10 * samples)]:
            yield lambda text=text: sentence_spans(text)
        return
    metric = ContextPrecision() if name.endswith("precision") else ContextRecall()
    if name.startswith("ten contexts"):
        rows = [_invent(source) for _ in range(samples)]
    else:
        rows = [json.loads(line) for line in HANDBOOK.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        sample = Sample(
            user_input=row["user_input"],
            reference=row["reference"],
            retrieved_contexts=[
                f"{text} It is text {number} of round {turn}." for text in row["retrieved_contexts"]
            ],
        )
        yield lambda sample=sample: metric.score(sample)


def _get_splitter() -> Callable[[str], object]:
    try:
        from ctxmetrics.text.sentences import sentence_spans
    except ImportError:  # before text was a package
        from ctxmetrics.text import sentence_spans
    return sentence_spans


def _invent(source: random.Random) -> dict[str, object]:
    contexts = [_write(source, 120) for _ in range(10)]
    return {
        "user_input": "What does the handbook say?",
        "reference": " ".join(
            source.choice(contexts).split(". ")[-1] if part == 0 else _write(source, 12)
            for part in range(3)
        ),
        "retrieved_contexts": contexts,
    }


def _write(source: random.Random, count: int) -> str:
    """Write sentences of so many words at least."""
    words: list[str] = []
    while len(words) < count:
        words.append(source.choice(STARTS))
        for _ in range(source.randint(5, 18)):
            words.append(source.choice(RARE) if source.random() < 0.08 else source.choice(WORDS))
        words[-1] += source.choices((".", "?", "!"), (8, 1, 1))[0]
    return " ".join(words)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
