"""Does a retriever score higher with the embedded judge only because it returns more text?

``python benchmarks/run.py length [--data DIR] [--draws N]``; the README beside this file says where the data comes from.

Random passages of another set (MT-RAG) are added to the contexts of BEGIN's answers: as contexts of their own, and joined
with the answer's context into one. Nothing in them supports an answer, so an unsupported answer must not become
supported. What the judge must still find: CLAPNQ's written answers in their passages, and the same where the sentences
that people selected stand scattered among other passages.
"""

from __future__ import annotations

import argparse
import random
import sys
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from agreement import BEGIN, CLAPNQ, DATA, read, usefulness

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.text import split_sentences

MTRAG = "mtragun.jsonl"
ADDED = (0, 1, 5, 20, 80)
BEFORE = {0: 60, 1: 65, 5: 81, 20: 109, 80: 154}
"""Unsupported answers called supported by the first version, which took its sentences from anywhere, so that joining changed
nothing."""


def remember_texts() -> None:
    """Let the judge's index read each passage once: each is drawn hundreds of times."""
    from ctxmetrics.judges.lexical import index

    index.tokens = lru_cache(1 << 18)(index.tokens)
    split = index.sentences
    index.sentences = lru_cache(1 << 13)(lambda text: tuple(split(text)))


def supported(judge: LexicalJudge, answer: str, contexts: list[str]) -> bool:
    units = split_sentences(answer)
    request = JudgeRequest(units=units, contexts=tuple(contexts), answer=answer)
    return all(verdict.value for verdict in judge.support(request))


def units_found(judge: LexicalJudge, rows: list[dict], contexts_of) -> float:
    verdicts = [
        verdict.value
        for row in rows
        for verdict in judge.support(
            JudgeRequest(
                units=split_sentences(row["reference"]),
                contexts=tuple(contexts_of(row)),
                answer=row["reference"],
            )
        )
    ]
    return sum(verdicts) / len(verdicts)


def measure(data: Path, draws: int = 3, judge: LexicalJudge | None = None) -> dict:
    """Measure the curve over the passages added, and what is found among them."""
    judge = judge or LexicalJudge()
    remember_texts()
    begin, clapnq = read(data / BEGIN), read(data / CLAPNQ)
    passages = sorted({text for row in read(data / MTRAG) for text in row["retrieved_contexts"]})
    yes = [row for row in begin if row["labels"]["reference_supported"]]
    no = [row for row in begin if not row["labels"]["reference_supported"]]
    curves: dict[str, dict[int, float]] = {"separate": {}, "joined": {}}
    accuracy: dict[str, dict[int, float]] = {"separate": {}, "joined": {}}
    for added in ADDED:
        for mode, curve in curves.items():
            wrong, right = 0, 0
            drawn = draws if 0 < added < max(ADDED) else 1
            for draw in range(drawn):
                source = random.Random(draw)
                for row in no + (yes if added in {0, 20} else []):
                    contexts = [*row["retrieved_contexts"], *source.sample(passages, added)]
                    if mode == "joined":
                        contexts = ["\n\n".join(contexts)]
                    verdict = supported(judge, row["reference"], contexts)
                    if row["labels"]["reference_supported"]:
                        right += verdict
                    else:
                        wrong += verdict
            curve[added] = wrong / drawn
            if added in {0, 20}:
                accuracy[mode][added] = (right / len(yes) + drawn - wrong / len(no)) / (2 * drawn)
    scattered = []
    for draw in range(draws):
        source = random.Random(draw)

        def among(row, source=source):
            contexts = [*row["reference_contexts"], *source.sample(passages, 20)]
            source.shuffle(contexts)
            return contexts

        scattered.append(units_found(judge, clapnq, among))
    return {
        "unsupported": len(no),
        "draws": draws,
        "false_yes": curves,
        "balanced_accuracy": accuracy,
        "clapnq_usefulness": usefulness(clapnq, judge)["balanced_accuracy"],
        "clapnq_units_found": units_found(judge, clapnq, lambda row: row["retrieved_contexts"]),
        "clapnq_units_found_scattered": sum(scattered) / draws,
    }


def table(figures: dict) -> str:
    """Return the curve as a table for the docs."""
    lines = [
        "| random passages added | " + " | ".join(map(str, ADDED)) + " |",
        "|---" * (len(ADDED) + 1) + "|",
    ]
    for mode, text in (
        ("separate", "as contexts of their own"),
        ("joined", "all joined into one context"),
    ):
        for name, curve in (("first version", BEFORE), ("now", figures["false_yes"][mode])):
            lines.append(
                f"| {text}, {name} | " + " | ".join(f"{curve[added]:.0f}" for added in ADDED) + " |"
            )
    return "\n".join(lines)


def run(argv: list[str]) -> dict:
    parser = argparse.ArgumentParser(prog="length", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=DATA, metavar="DIR", help="folder with the three files"
    )
    parser.add_argument(
        "--draws", type=int, default=3, help="how often up to 20 passages are drawn; 80 once"
    )
    options = parser.parse_args(argv)
    missing = [name for name in (CLAPNQ, BEGIN, MTRAG) if not (options.data / name).is_file()]
    if missing:
        parser.error(
            f"{options.data} has no {' and no '.join(missing)}; benchmarks/README.md says how to get them"
        )
    figures = measure(options.data, options.draws)
    print(
        f"of {figures['unsupported']} unsupported answers of BEGIN, called supported (mean of draws):\n"
    )
    print(table(figures))
    for mode, curve in figures["false_yes"].items():
        print(
            f"\n{mode}: with 20 passages {curve[20] / curve[0]:.2f} times as many as with none (at most 1.5)"
        )
    print(f"\nBEGIN, balanced accuracy with 0 and with 20 passages: {figures['balanced_accuracy']}")
    for name, bar in (
        ("clapnq_usefulness", 0.935),
        ("clapnq_units_found", 0.95),
        ("clapnq_units_found_scattered", 0.95),
    ):
        print(f"{name}: {figures[name]:.3f} (at least {bar})")
    return {"benchmark": "length", **figures}
