"""What it costs to check gold: CPU and memory of ``check_gold`` without a model, on a large corpus.

    python benchmarks/run.py gold_speed --data DIR [--questions 5000] [--passages 30000]

A passage has four to eight sentences of the retrieved contexts in DIR, with other numbers in each. A reference is one or two sentences
of a passage, its question some of their words. The memory is that of this process, with the data.
Bars, for 5,000 questions: 120 s of CPU with 30,000 passages, 300 s with 100,000, and 500 MB with either.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import time
from pathlib import Path

from ctxmetrics import Sample
from ctxmetrics.evaluation.gold.check_gold import check_gold

SEED = 3
# The maximum seconds of CPU with each number of passages, and the maximum memory.
SECONDS = {30_000: 120, 100_000: 300}
MEGABYTES = 500
QUESTIONS = 5_000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NUMBER = re.compile(r"\d+")


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="gold_speed", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the public data")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--passages", type=int, default=30_000)
    options = parser.parse_args(argv)
    draw = random.Random(SEED)
    passages = draw_passages(read_sentences(options.data), options.passages, draw)
    names = list(passages)
    samples = [draw_sample(f"q{number}", passages, names, draw) for number in range(options.questions)]
    corpus = {name: " ".join(sentences) for name, sentences in passages.items()}
    del passages  # a user has the texts once
    begin = time.process_time()
    findings = check_gold(samples, corpus=corpus, progress=False).findings
    seconds = time.process_time() - begin
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.questions:,} questions, {options.passages:,} passages: ", end="")
    print(f"{seconds:.1f} s of CPU, {megabytes:.0f} MB, {len(findings):,} findings")
    over = []
    if options.questions == QUESTIONS and options.passages in SECONDS:
        over += [f"{seconds:.0f} s of CPU"] if seconds > SECONDS[options.passages] else []
        over += [f"{megabytes:.0f} MB"] if megabytes > MEGABYTES else []
    return {
        "benchmark": "gold_speed",
        "questions": options.questions,
        "passages": options.passages,
        "seconds": round(seconds, 1),
        "mb": round(megabytes),
        "findings": len(findings),
        "over": over,
    }


def read_sentences(folder: Path) -> list[str]:
    """Return each sentence of 6 to 40 words that stands in a retrieved context, once."""
    sentences: dict[str, None] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for context in json.loads(line).get("retrieved_contexts") or ():
                sentences |= dict.fromkeys(_SENTENCE_END.split(context))
    return [sentence for sentence in sentences if 6 <= len(sentence.split()) <= 40]


def draw_passages(sentences: list[str], count: int, draw: random.Random) -> dict[str, list[str]]:
    """Return the sentences of each passage by its id: neighbours in the data, with other numbers."""

    def change_number(found: re.Match[str]) -> str:
        return str(draw.randint(1, 10 ** len(found[0])))

    passages = {}
    for number in range(count):
        first = draw.randrange(len(sentences) - 8)
        chosen = sentences[first : first + draw.randint(4, 8)]
        name = f"doc-{number // 10}#chunk-{number % 10}"
        passages[name] = [_NUMBER.sub(change_number, sentence) for sentence in chosen]
    return passages


def draw_sample(
    name: str, passages: dict[str, list[str]], names: list[str], draw: random.Random
) -> Sample:
    """Return a sample whose reference is one or two sentences of a passage. Four other passages are retrieved beside it."""
    gold = draw.choice(names)
    first = draw.randrange(len(passages[gold]) - 1)
    reference = " ".join(passages[gold][first : first + draw.randint(1, 2)])
    words = [word for word in reference.split() if len(word) > 4]
    retrieved = [gold, *draw.sample(names, 4)]
    draw.shuffle(retrieved)
    return Sample(
        id=name,
        user_input=f"What is said about {' '.join(draw.sample(words, min(5, len(words))))}?",
        reference=reference,
        reference_context_ids=[gold],
        retrieved_context_ids=retrieved,
    )
