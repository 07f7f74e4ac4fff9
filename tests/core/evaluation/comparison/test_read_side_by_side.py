"""Two runs are read side by side: what is held at once, and what another order or a missing id changes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    Sample,
    ScriptedJudge,
    compare,
    evaluate,
)
from support import answer_from
from support.deadlines import LONGEST_PROCESS

METRICS = {
    "ids": [IDBasedContextRecall(), IDBasedContextPrecision()],
    "judged": [ContextRecall(), ContextPrecision()],
}


def sample(number, shift, **more):
    """A sample whose second run retrieves other contexts for every tenth question."""
    texts = [f"The river {number + place} is long, they say. " * 4 for place in range(8)]
    fields = {
        "id": f"q{number}",
        "user_input": f"How long is river {number}?",
        "reference": f"The river {number} is long.",
        "retrieved_contexts": texts[shift * (number % 10 == 0) :],
        "retrieved_context_ids": [f"doc-{number % 50}-{place}-{shift}" for place in range(8)],
        "reference_context_ids": [f"doc-{number % 50}-1-0"],
    }
    return Sample(**{**fields, **more})


def write(path, samples, metrics):
    judge = ScriptedJudge(answer_from(), name="x")
    evaluate(samples, METRICS[metrics], judge=judge, out=path, progress=False)
    return path


# In a process of its own: what other tests of a process leave behind changes what is measured.
PEAKS = """
import sys, tracemalloc
from ctxmetrics import compare

few, many = sys.argv[1:3], sys.argv[3:5]
compare(*few)  # what is loaded once
for files in (few, many):
    tracemalloc.start()
    compare(*files)
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""


def peaks_of(few, many):
    done = subprocess.run(
        [sys.executable, "-c", PEAKS, *few, *many], capture_output=True, text=True, check=True,
        timeout=LONGEST_PROCESS,
    )  # fmt: skip
    return map(int, done.stdout.split())


# Held whole, the two rows of a sample take 5.7 KB (ids) and 13 KB (judged).
@pytest.mark.slow
@pytest.mark.parametrize(("metrics", "most"), [("ids", 2_000), ("judged", 3_500)])
def test_a_row_is_held_only_until_it_is_compared(tmp_path, metrics, most):
    def write_both(count):
        return [
            write(tmp_path / f"{count}-{shift}", [sample(n, shift) for n in range(count)], metrics)
            for shift in (0, 1)
        ]

    peak_of_few, peak_of_many = peaks_of(write_both(40), write_both(160))
    assert (peak_of_many - peak_of_few) / 120 < most


def figures(comparison):
    data = comparison.to_dict()
    data["origins"] = [{**origin, "name": ""} for origin in data["origins"]]
    return data


def varied(number, run):
    """A sample whose values differ from question to question, in both runs."""
    draw = random.Random(f"{number} {run}")
    wanted = [f"d{place}" for place in range(1 + number % 7)]
    ids = draw.sample([*wanted, *(f"x{place}" for place in range(9))], 6)
    texts = [f"The river {number} is long. {id_}" if "d" in id_ else f"Text {id_}." for id_ in ids]
    more = {"retrieved_contexts": texts, "retrieved_context_ids": ids, "reference_context_ids": wanted}
    return sample(number, 0, metadata={"third": number % 3}, **more)


@pytest.mark.slow
@pytest.mark.parametrize("metrics", METRICS)
def test_another_order_gives_the_same(tmp_path, metrics):
    """Also the last digit of a figure, which samples stand among the ten that fell most, and the order of units."""
    before, after = [varied(n, 0) for n in range(150)], [varied(n, 1) for n in range(150)]
    mixed = random.Random(1).sample(after, len(after))
    first, second, other = (
        write(tmp_path / name, samples, metrics)
        for name, samples in (("a", before), ("b", after), ("c", mixed))
    )
    groups = {"by": "metadata.third", "cluster": "metadata.third"}
    for options in ({}, groups):
        expected = figures(compare(first, second, **options))
        assert figures(compare(first, other, **options)) == expected
    assert any(item["better"] and item["worse"] for item in expected["metrics"])


def test_one_sample_without_an_id_joins_all_by_their_questions(tmp_path):
    before = [sample(n, 0) for n in range(12)]
    after = [sample(n, 1, id=None if n == 9 else f"other-{n}") for n in range(12)]
    found = compare(write(tmp_path / "a", before, "ids"), write(tmp_path / "b", after, "ids"))
    assert (found.samples, found.only_before, found.only_after) == (12, (), ())
    assert [origin.samples for origin in found.origins] == [12, 12]


def test_samples_of_one_file_only_are_named_wherever_they_stand(tmp_path):
    before = [sample(n, 0) for n in range(12)]
    first = write(tmp_path / "a", before, "ids")
    second = write(tmp_path / "b", [sample(99, 1), *before[3:9]], "ids")
    found = compare(first, second)
    assert (found.samples, found.only_after) == (6, ("q99",))
    assert found.only_before == ("q0", "q1", "q2", "q9", "q10", "q11")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system names no open file")
def test_a_pipe_is_read_once(tmp_path):
    """A shell gives a command a pipe as a file: ``ctxmetrics compare <(zcat a.jsonl.gz) b.jsonl``."""
    first, second = (
        write(tmp_path / name, [sample(n, shift) for n in range(12)], "ids")
        for shift, name in enumerate("ab")
    )
    end, begin = os.pipe()
    with ThreadPoolExecutor() as threads:
        threads.submit(_write_to, begin, second.read_bytes())
        found = compare(first, f"/dev/fd/{end}")
    os.close(end)
    assert found.to_dict()["metrics"] == compare(first, second).to_dict()["metrics"]


def _write_to(pipe, data):
    with os.fdopen(pipe, "wb") as file:
        file.write(data)
