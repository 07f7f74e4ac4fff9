"""How many units a second the embedded judge judges, the matrix and the contradiction check included.

``python benchmarks/run.py lexical_speed [--data DIR]``: 200 samples of 324 words of context in three passages and five
units each, from MT-RAG. Nothing is remembered from one sample to the next. CPU time of one core, the best of five runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from agreement import DATA, read

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.judges.lexical.index import memory
from ctxmetrics.text import split_sentences

FILE, WORDS, PASSAGES, UNITS, BAR = "mtragun.jsonl", 324, 3, 5, 3000


def requests(data: Path, count: int = 200) -> list[JudgeRequest]:
    """Samples of the stated size; two of five units are copied from the contexts."""
    rows = read(data / FILE)
    texts = [
        text.split()
        for row in rows
        for text in row["retrieved_contexts"]
        if len(text.split()) >= WORDS / PASSAGES
    ]
    sentences = [unit for row in rows for unit in split_sentences(row["reference"])]
    made = []
    for number in range(count):
        chosen = [texts[(PASSAGES * number + index) % len(texts)] for index in range(PASSAGES)]
        contexts = tuple(" ".join(words[: WORDS // PASSAGES]) for words in chosen)
        copied = [split_sentences(context)[0] for context in contexts[:2]]
        units = (*sentences[3 * number : 3 * number + UNITS - len(copied)], *copied)
        made.append(JudgeRequest(units=units, contexts=contexts, answer=" ".join(units)))
    return made


def run(argv: list[str]) -> dict:
    parser = argparse.ArgumentParser(prog="lexical_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help=f"folder with {FILE}")
    data = parser.parse_args(argv).data
    if not (data / FILE).is_file():
        parser.error(f"{data} has no {FILE}; benchmarks/README.md says how to get it")
    judge, given = LexicalJudge(), requests(data)
    seconds = []
    for _ in range(5):
        memory.clear()
        start = time.process_time()
        for request in given:
            judge.support(request)
        seconds.append(time.process_time() - start)
    rate = sum(len(request.units) for request in given) / min(seconds)
    print(f"{rate:.0f} units/s (at least {BAR}), {1000 * min(seconds) / len(given):.2f} ms a sample")
    return {"benchmark": "lexical_speed", "units_per_second": rate}
