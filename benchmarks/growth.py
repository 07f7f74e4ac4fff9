"""How CPU time and memory grow with samples, k, characters, judgements in the cache, and rows of a report or of `agree`.

    python benchmarks/run.py growth [--most 1000000]

CPU seconds of each part at several sizes, and two exponents: the slope of a straight line through the logarithms, and the
slope between the two largest sizes, where fixed costs weigh least. 1 is growth in proportion, 2 in proportion to the
square. The bar is 1.1 for both, but for what compares all pairs of something by definition: a share of the pairs a sample
has (k x k for similarity, characters x characters for a distance). Memory of a kept row is what the results of
`evaluate` hold beside the samples that were given (tracemalloc).
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import sqlite3
import statistics
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import _judging as judging

STEPS = (1_000, 10_000, 100_000, 1_000_000)
# Samples of which each is an object, and of which each is judged.
MOST_OBJECTS, MOST_JUDGED = 100_000, 10_000
KS = (5, 20, 100)
LENGTHS = (250, 500, 1_000, 2_000, 4_000)
# Characters of a whole text.
TEXTS = (5_000, 20_000, 80_000, 320_000)
REFERENCES = 3
BAR = 1.1
# Judgements that are read and written in a cache of each size, and the characters of one.
TOUCHED, VALUE = 2_000, 300
# Work is repeated until it took so many CPU seconds: shorter times say little.
LEAST_SECONDS = 0.05


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__)
    parser.add_argument("--most", type=int, default=STEPS[-1], help="samples of the largest table")
    options = parser.parse_args(argv)
    figures: dict[str, object] = {"benchmark": "growth", "most": options.most}
    steps = [step for step in STEPS if step <= options.most]
    objects = [step for step in steps if step <= MOST_OBJECTS]
    judged = [step for step in (100, *steps) if step <= MOST_JUDGED]
    lines = Lines(figures)
    lines.head("samples", steps)
    for k in KS:
        lines.add(f"score_table, ids, k = {k}", steps, lambda n, k=k: table(n, k))
    lines.add("evaluate, ids, k = 10", objects, lambda n: evaluated(samples(n)))
    lines.head("samples, each judged once", judged)
    given = {n: Judged(n) for n in judged}
    lines.show("evaluate, a model in the process", judged, [given[n].seconds for n in judged])
    lines.add("to_jsonl", judged, lambda n: given[n].write)
    lines.add("from_jsonl", judged, lambda n: given[n].read)
    lines.add("summary", judged, lambda n: given[n].results.summary)
    lines.add("report and its page", judged, lambda n: given[n].page)
    lines.add("agree with labels of all", judged, lambda n: given[n].agree)
    lines.head("retrieved contexts", KS)
    lines.add("embedded judge", KS, lambda k: lexical(k, 500))
    lines.add("strings, k x 10 pairs", KS, lambda k: strings(k, 500))
    lines.head("characters of a context", LENGTHS)
    lines.add("embedded judge, k = 5", LENGTHS, lambda length: lexical(5, length))
    lines.add("a reply read and checked, k = 5", LENGTHS, checking)
    lines.add("strings, 10 x 10", LENGTHS, lambda length: strings(10, length), pairs=True)
    lines.head("characters of a text", TEXTS)
    for name in ("English", "Chinese"):
        for function in TEXT_FUNCTIONS:
            lines.add(f"{function}, {name}", TEXTS, lambda n, name=name, f=function: text(name, f, n))
    lines.head("judgements in the cache", steps)
    with tempfile.TemporaryDirectory() as folder:
        lines.add(
            f"{TOUCHED:,} read and {TOUCHED:,} written",
            steps,
            lambda n: cached(Path(folder, str(n)), n),
        )
    most = min(MOST_JUDGED, steps[-1])
    given_ids = samples(most)
    figures["kept_bytes_a_row"] = kept_bytes(evaluated(given_ids[:10]), evaluated(given_ids))
    figures["kept_bytes_a_judged_row"] = kept_bytes(judged_by_model(10), judged_by_model(most))
    print(
        f"\nmemory of a kept row, two id metrics, k = 10: {figures['kept_bytes_a_row']:,} bytes (at most 1,024)"
    )
    print(
        f"memory of a kept row, a model's recall and precision, k = 5: {figures['kept_bytes_a_judged_row']:,} bytes (at most 4,096)"
    )
    print("bars: " + ("; ".join(lines.misses) or "all held"))
    figures["misses"] = lines.misses
    return figures


class Lines:
    """Prints a line a part, and keeps its exponents."""

    def __init__(self, figures: dict[str, object]) -> None:
        self.figures = figures
        self.misses: list[str] = []

    def head(self, title: str, sizes) -> None:
        columns = "".join(f"{size:>12,}" for size in sizes)
        print(f"\n{title:34}{columns:60}{'fitted':>8}{'last':>8}")

    def add(self, title: str, sizes, work, *, pairs: bool = False) -> None:
        """Measure and print; ``pairs``: every pair is compared by definition, so that there is no bar."""
        self.show(title, sizes, [cpu(work(size)) for size in sizes], pairs=pairs)

    def show(self, title: str, sizes, spent, *, pairs: bool = False) -> None:
        """Print CPU seconds that were measured."""
        xs, ys = ([math.log(value) for value in values] for values in (sizes, spent))
        fitted = statistics.linear_regression(xs, ys).slope if len(xs) > 1 else 0.0
        last = (ys[-1] - ys[-2]) / (xs[-1] - xs[-2]) if len(xs) > 1 else 0.0
        print(
            f"{title:34}{''.join(f'{seconds:12.4f}' for seconds in spent):60}{fitted:8.2f}{last:8.2f}",
            flush=True,
        )
        self.figures[title] = {
            "seconds": [round(value, 5) for value in spent],
            "fitted": round(fitted, 2),
            "last": round(last, 2),
        }
        if not pairs and max(fitted, last) > BAR:
            self.misses.append(f"{title}: {fitted:.2f}, {last:.2f}")


def cpu(call, rounds: int = 3) -> float:
    """CPU seconds of one call: the shortest of three, of one where it takes long.

    Objects that are there before are no work for the garbage collector meanwhile: other parts of this benchmark hold them.
    """
    found: list[float] = []
    while len(found) < rounds and sum(found) < 3.0:
        gc.collect()
        gc.freeze()
        times, begin = 0, time.process_time()
        while not times or (rounds > 1 and time.process_time() - begin < LEAST_SECONDS):
            call()
            times += 1
        found.append((time.process_time() - begin) / times)
        gc.unfreeze()
    return max(min(found), 1e-9)


# --- ids ---


def metrics():
    from ctxmetrics import IDBasedContextPrecision, IDBasedContextRecall

    return [IDBasedContextRecall(), IDBasedContextPrecision()]


def table(rows: int, k: int):
    import numpy as np
    import polars as pl

    from ctxmetrics import score_table

    numbers = np.random.default_rng(rows)
    columns = {}
    for name, width in (("retrieved_context_ids", k), ("reference_context_ids", REFERENCES)):
        flat = pl.Series(numbers.integers(0, 4 * k, rows * width, dtype=np.int32))
        columns[name] = flat.reshape((rows, width)).arr.to_list()
    frame = pl.DataFrame(columns)
    return lambda: score_table(frame, metrics(), progress=False)


def samples(count: int):
    from ctxmetrics import Sample

    source = random.Random(count)
    ids = [f"document-{number}" for number in range(count)]
    return [
        Sample(
            retrieved_context_ids=source.choices(ids, k=10),
            reference_context_ids=source.choices(ids, k=3),
        )
        for _ in range(count)
    ]


def evaluated(given):
    from ctxmetrics import evaluate

    return lambda: evaluate(given, metrics(), progress=False)


def kept_bytes(small, whole) -> int:
    """Bytes that the results of a call hold, a row; the small call comes before, and loads what is needed."""
    from ctxmetrics import forget
    from ctxmetrics.judges.evidence import words

    small()
    forget()
    gc.collect()
    tracemalloc.start()
    results = whole()
    forget()
    words._chunk.__self__.clear()  # what is remembered of words belongs to no row
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held // len(results)


# --- judged samples ---


def judged_by_model(count: int):
    """Score so many samples of k = 5 by a model in the process."""
    from ctxmetrics import ContextPrecision, ContextRecall, ScriptedJudge, evaluate

    given = judging.samples_of(judging.cases(count, k=5))
    judge = ScriptedJudge(_answer(), name="instant")
    return lambda: evaluate(given, [ContextRecall(), ContextPrecision()], judge=judge, progress=False)


def _answer():
    from support import answer_from

    return answer_from(supported=judging.supported, useful=judging.useful)


class Judged:
    """Samples with labels, the results of judging them, and what is done with these."""

    def __init__(self, count: int) -> None:
        from ctxmetrics import ContextPrecision, ContextRecall, ScriptedJudge, evaluate, forget

        metrics, judge = [ContextRecall(), ContextPrecision()], ScriptedJudge(_answer(), name="instant")
        cases = judging.cases(count)
        self.samples = [
            replace(sample, labels=_labels(case))
            for sample, case in zip(judging.samples_of(cases), cases, strict=True)
        ]
        self._folder = tempfile.TemporaryDirectory()
        self.file = Path(self._folder.name) / "scores.jsonl"
        evaluate(self.samples[:10], metrics, judge=judge, progress=False)  # loads what is needed
        forget()

        def evaluated() -> None:
            self.results = evaluate(self.samples, metrics, judge=judge, progress=False)

        self.seconds = cpu(evaluated, rounds=1)  # the second time, all would be remembered
        self.write()

    def write(self) -> None:
        self.results.to_jsonl(self.file)

    def read(self) -> None:
        from ctxmetrics import Results

        Results.from_jsonl(self.file)

    def page(self) -> None:
        self.results.to_html(self.file.with_suffix(".html"))

    def agree(self) -> None:
        from ctxmetrics import agree

        str(agree(self.samples, results=self.results))


def _labels(case) -> dict[str, list[bool]]:
    return {
        "context_useful": [judging.useful(context, case.reference) for context in case.contexts],
        "unit_supported": [
            judging.supported(fact, case.contexts) for fact in judging.FACT.findall(case.reference)
        ],
    }


# --- one sample ---


@cache
def _vocabulary() -> list[str]:
    """Made-up words, so many that they repeat as those of a language do."""
    source = random.Random(0)
    return [
        "".join(source.choices("abcdefghiklmnoprstuvw", k=source.randint(2, 9))) for _ in range(5_000)
    ]


def _words(source: random.Random, characters: int) -> str:
    """Sentences of made-up words, in all so many characters."""
    text = ""
    while len(text) < characters:
        text += f"{' '.join(source.choices(_vocabulary(), k=12)).capitalize()}. "
    return text[:characters]


def lexical(k: int, length: int):
    """Ten samples of five units, judged by the embedded judge with nothing remembered."""
    from ctxmetrics.judges.base import JudgeRequest
    from ctxmetrics.judges.lexical import LexicalJudge
    from ctxmetrics.judges.lexical.index import memory
    from ctxmetrics.text import split_sentences

    source, judge = random.Random(k * length), LexicalJudge()
    requests = []
    for _ in range(10):
        contexts = tuple(_words(source, length) for _ in range(k))
        units = (*split_sentences(_words(source, 300)), split_sentences(contexts[0])[0])
        requests.append(JudgeRequest(units=units, contexts=contexts, answer=" ".join(units)))

    def work() -> None:
        memory.clear()
        for request in requests:
            judge.support(request)

    return work


def strings(k: int, characters: int):
    """One sample of k retrieved and ten reference contexts, of which none is equal to another."""
    from ctxmetrics import NonLLMContextRecall, Sample
    from ctxmetrics.metrics.similarity import MEMORY

    source = random.Random(characters)
    texts = ["".join(source.choices("abcdefghij ", k=characters)) for _ in range(k + 10)]
    sample = Sample(retrieved_contexts=texts[:k], reference_contexts=texts[k:])

    def work() -> None:
        for _ in range(20):
            MEMORY.clear()
            NonLLMContextRecall().score(sample)

    return work


def checking(length: int):
    """One reply with a quote of each of five contexts that begins in another case, so that it is found normalised."""
    from ctxmetrics.judges.llm.checking import check
    from ctxmetrics.judges.llm.splitting import Part
    from ctxmetrics.prompts import get_pack
    from ctxmetrics.text import _normalised_context, split_sentences

    source = random.Random(length)
    contexts = {f"c{number}": f"Caf\u00e9. {_words(source, length)}" for number in range(1, 6)}
    units = {f"s{number}": split_sentences(text)[1] for number, text in enumerate(contexts.values(), 1)}
    reply = {
        "sentences": {
            id_: {
                "evidence": [{"context": f"c{id_[1:]}", "quote": text.swapcase(), "whole": True}],
                "supported": True,
            }
            for id_, text in units.items()
        },
        "useful": {id_: {"useful": True} for id_ in contexts},
    }
    part = Part(units, contexts)

    def work() -> None:
        _normalised_context.cache_clear()
        found, _ = check(reply, part, list(units), list(contexts), get_pack("en"))
        if problems := {id_: one.problem for id_, one in found.items() if one.problem}:
            raise SystemExit(f"growth: a reply was not read: {problems}")

    return work


# --- one text ---

TEXT_FUNCTIONS = (
    "split",
    "normalise",
    "detect_language",
    "find_quote",
    "stands_in",
    "tokens",
    "masked",
    "render",
)


def text(language: str, function: str, characters: int):
    """A function on a text of so many characters, with nothing remembered."""
    from ctxmetrics import text as texts
    from ctxmetrics._secrets import masked, remember_key
    from ctxmetrics.judges.evidence.words import tokens
    from ctxmetrics.prompts import get_pack, render

    source = random.Random(characters)
    given = _words(source, characters)
    if language == "Chinese":
        letters = [chr(0x4E00 + number) for number in range(3_000)]
        given = "".join("".join(source.choices(letters, k=15)) + "。" for _ in range(characters // 16))
    remember_key("sk-a-key-that-stands-nowhere")
    quote = f"{_words(source, 60)} that stand nowhere"
    work = {
        "split": lambda: texts.sentence_spans(given),
        "normalise": lambda: texts.normalise(given),
        "detect_language": lambda: texts.detect_language(given),
        "find_quote": lambda: texts.find_quote(quote, given),
        "stands_in": lambda: texts.stands_in(quote, given),
        "tokens": lambda: [*tokens(given)],
        "masked": lambda: masked(given),
        "render": lambda: render(get_pack("en"), "claims", {"text": given}),
    }[function]

    def alone() -> None:
        texts._normalised_context.cache_clear()
        work()

    return alone


# --- the cache ---


def cached(folder: Path, entries: int):
    """Read and write some judgements of a cache that holds so many."""
    from ctxmetrics._runtime.cache import VerdictCache

    cache = VerdictCache(folder)
    keys = [f"{number:064x}" for number in range(entries)]
    cache.close()
    with sqlite3.connect(cache.path) as connection:  # as `put` does, in one transaction
        connection.executemany(
            "INSERT INTO verdicts (key, value) VALUES (?, ?)", ((key, "x" * VALUE) for key in keys)
        )
    connection.close()
    touched = random.Random(entries).choices(keys, k=TOUCHED)

    def work() -> None:
        for key in touched:
            cache.put(key, cache.get(key) or "")

    return work
