"""The embedded judge's curve from one judgement, against judging with the first k contexts, for every k.

``python benchmarks/run.py curve [--data DIR] [--most 10]``: every sample of the public data that has a reference and
contexts. For each k from 1 to the most: recall, the contexts on which each unit rests, and support precision, all of
which must be equal. Then the means that ``Results.curve`` gives, and the smallest k.
"""

from __future__ import annotations

from dataclasses import replace

from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.text.sentences import split_sentences
from validity.agreement import make_parser, read, require

FILES = ("begin-wow-dev.jsonl", "clapnq-dev.jsonl", "mtragun.jsonl")


def attribution_of(judge: LexicalJudge, request: JudgeRequest) -> Attribution:
    return Attribution(judge.support(request), tuple(map(len, request.contexts)))


def differences(judge: LexicalJudge, sample: Sample, most: int) -> tuple[int, int]:
    """Return how many ks were compared, and at how many anything differs."""
    units = split_sentences(sample.reference)
    request = JudgeRequest(units=units, contexts=sample.retrieved_contexts, answer=sample.reference)
    whole, compared, differ = attribution_of(judge, request), 0, 0
    for k in range(1, most + 1):
        first = attribution_of(judge, replace(request, contexts=request.contexts[:k]))
        mine = (whole.recall(k), whole.rests_on(k), whole.precision(k))
        compared += 1
        differ += mine != (first.recall(), first.rests_on(), first.precision())
    return compared, differ


def run(argv: list[str]) -> dict:
    parser = make_parser("curve", __doc__)
    parser.add_argument("--most", type=int, default=10, help="largest k")
    given = parser.parse_args(argv)
    require(given.data, FILES)
    figures: dict = {"benchmark": "curve"}
    for name in FILES:
        path = given.data / name
        samples = [
            Sample(reference=row["reference"], retrieved_contexts=row["retrieved_contexts"])
            for row in read(path)
            if row.get("reference") and row.get("retrieved_contexts")
        ]
        compared = differ = 0
        for contradiction in ("flag", "no"):
            judge = LexicalJudge(contradiction=contradiction)
            for sample in samples:
                more, other = differences(judge, sample, given.most)
                compared, differ = compared + more, differ + other
        results = evaluate(samples, [ContextRecall(judge=LexicalJudge())], progress=False)
        smallest = results.smallest_k()
        print(f"{name}: {len(samples)} samples, {compared} comparisons, {differ} different")
        print(results.curve(range(1, given.most + 1)))
        print(
            f"smallest k that keeps 0.95 of the recall: {smallest.k}, 95 % interval {smallest.interval}\n"
        )
        figures[path.stem] = {
            "samples": len(samples),
            "comparisons": compared,
            "different": differ,
            "smallest_k": smallest.k,
            "interval": smallest.interval,
        }
    return figures
