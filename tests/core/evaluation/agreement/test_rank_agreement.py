"""Ranks of runs by a judge and by people: tau-AP, topic by topic, and beside a second person."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise, permutations
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from ctxmetrics import Judgement, Sample, Verdict, agree, read_samples
from ctxmetrics.evaluation.agreement.rank_agreement import (
    RankedScore,
    compare_ranks,
    rank_systems,
    tau_ap,
)
from ctxmetrics.evaluation.cli import app


def tau_ap_of_order(order, people):
    """The formula as published, for one order without equal values: how many above each are right."""
    size = len(order)
    total = 0.0
    for place in range(1, size):
        own = people[order[place]]
        right = sum(
            1.0 if people[other] > own else 0.5 if people[other] == own else 0.0
            for other in order[:place]
        )
        total += right / place
    return 2 * total / (size - 1) - 1


@pytest.mark.parametrize("seed", range(6))
def test_tau_ap_is_the_mean_over_the_orders_of_equals(seed):
    random = np.random.default_rng(seed)
    judge, people = random.integers(0, 4, 6).tolist(), random.integers(0, 5, 6).tolist()
    orders = [
        order
        for order in permutations(range(6))
        if all(judge[one] >= judge[other] for one, other in pairwise(order))
    ]
    expected = fmean(tau_ap_of_order(order, people) for order in orders)
    assert tau_ap(judge, people) == pytest.approx(expected, abs=1e-12)


def test_tau_ap_by_hand():
    """Four runs; the judge puts the last first. Rank 2: 0 of 1 above is right; rank 3: 1 of 2; rank 4: 2 of 3.

    2 / 3 * (0 + 1/2 + 2/3) - 1 = -2/9. Kendall's tau of the same is 0.
    """
    assert tau_ap([3, 2, 1, 4], [4, 3, 2, 1]) == pytest.approx(-2 / 9)
    assert tau_ap([4, 3, 2, 1], [4, 3, 2, 1]) == 1
    assert tau_ap([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    assert tau_ap([1, 1, 1], [1, 2, 3]) is None
    assert tau_ap([1, 2, 3], [1, 1, 1]) is None
    assert tau_ap([1], [1]) is None


def test_two_systems_with_labels_are_ranked_and_one_is_not():
    """The judge gives .1 too much to a and .2 too little to b."""
    figures = [
        SimpleNamespace(
            system=system,
            metric="context_recall",
            correction=SimpleNamespace(judge_labelled=judge, people_mean=people),
        )
        for system, judge, people in (("a", 0.9, 0.8), ("b", 0.5, 0.7))
    ]
    scores = [RankedScore("a", "x", 0.9, 0.8), RankedScore("b", "x", 0.5, 0.7)]
    found = rank_systems(figures, scores)
    assert (found.systems, found.metric) == (2, "context_recall")
    assert (found.lowest[0], found.highest[0]) == ("b", "a")
    assert (found.lowest[1], found.highest[1]) == (pytest.approx(-0.2), pytest.approx(0.1))
    figures[1].correction = None
    assert rank_systems(figures, scores) is None


def test_topics_are_ranked_one_by_one():
    """In topic x the judge has people's order, in y the opposite one, in z all are equal; by their means a is first for both."""
    scores = [
        *(RankedScore(run, "x", judge, people) for run, judge, people in [("a", 1, 1), ("b", 0, 0)]),
        *(RankedScore(run, "y", judge, people) for run, judge, people in [("a", 0.5, 1), ("b", 1, 0)]),
        *(RankedScore(run, "z", 1, 1) for run in "ab"),
        RankedScore("a", None, 1, 1),
    ]
    found = compare_ranks(scores)
    assert (found.kendall, found.tau_ap) == (1, 1)
    assert (found.topics, found.topic_kendall, found.topic_tau_ap) == (2, 0, 0)
    assert str(found) == (
        "Kendall's tau 1.00, tau-AP 1.00; mean over 2 topics: Kendall's tau 0.00, tau-AP 0.00"
    )


# Of each run the sentences that are supported, of two questions with two sentences each: by people, and by the judge,
# who exchanges the upper two runs.
PEOPLE = {"r1": [(1, 1), (1, 1)], "r2": [(1, 0), (1, 1)], "r3": [(0, 0), (1, 0)]}
JUDGE = {"r1": [(1, 0), (1, 1)], "r2": [(1, 1), (1, 1)], "r3": [(0, 0), (0, 0)]}
# A second person has people's order in the means, and finds nothing on the second question.
SECOND = {"r1": [(1, 1), (0, 0)], "r2": [(1, 0), (0, 0)], "r3": [(0, 0), (0, 0)]}


class TableJudge:
    """Says of each sentence what the table has for the run and question that the context names."""

    name = "table"
    warnings = ()

    async def attribute(self, request):
        run, topic = request.contexts[0].removeprefix("Text of ").removesuffix(".").split(" on ")
        values = JUDGE[run][int(topic)]
        return Judgement(
            verdicts=tuple(
                Verdict(id=id_, value=bool(value))
                for id_, value in zip(request.unit_ids, values, strict=True)
            )
        )

    async def rate(self, request):
        return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.context_ids))


def run_samples(key="run_id"):
    return [
        Sample(
            id=f"{run}/{topic}",
            user_input=f"What is {topic}?",
            reference="A cat. A dog.",
            retrieved_contexts=[f"Text of {run} on {topic}.", "Filters are washed."],
            metadata={key: run},
            labels={"unit_supported": [value == 1 for value in own[topic]]},
        )
        for run, own in PEOPLE.items()
        for topic in range(2)
    ]


def test_runs_are_ranked_by_mean_and_by_topic():
    """By the means (judge .75, 1, 0; people 1, .75, .25) one of three pairs is exchanged: tau 1/3, tau-AP 0.

    Question 0 has the same order: 1/3 and 0. On question 1 both put r1 and r2 first, as equals: tau-b 1, and tau-AP, which is
    1 for one order of them and 0 for the other, 1/2.
    """
    report = agree(run_samples(), judge=TableJudge(), progress=False)
    (ranking,) = report.rankings
    found = ranking.agreement
    assert (ranking.systems, found.topics) == (3, 2)
    assert found.kendall == ranking.kendall == pytest.approx(1 / 3)
    assert found.tau_ap == pytest.approx(0, abs=1e-12)
    assert found.topic_kendall == pytest.approx(2 / 3)
    assert found.topic_tau_ap == pytest.approx(1 / 4)
    assert (
        "3 systems ranked by the judge and by people: Kendall's tau 0.33, tau-AP 0.00; mean over 2 topics: "
        "Kendall's tau 0.67, tau-AP 0.25; Spearman's rho 0.50"
    ) in str(report)
    assert json.loads(json.dumps(report.to_dict()))["rankings"][0]["agreement"]["topics"] == 2


@pytest.mark.parametrize("key", ["run", "run_tag"])
def test_names_of_runs_are_found_by_their_key(key):
    assert agree(run_samples(key), judge=TableJudge(), progress=False).rankings[0].systems == 3


def test_a_key_that_names_no_run_is_left_alone():
    alone = [item for item in run_samples() if item.metadata["run_id"] == "r1"]
    assert agree(alone, judge=TableJudge(), progress=False).rankings == ()


# On the command line: the questions repeat on purpose.
KEEP = ("--map", "run_id=metadata")


def label_file(folder):
    """Let two people label the samples at the terminal; then put what the tables say into their answers."""
    file = folder / "data.jsonl"
    fields = ("id", "user_input", "reference", "retrieved_contexts")
    rows = [
        {name: getattr(item, name) for name in fields} | {"run_id": item.metadata["run_id"]}
        for item in run_samples()
    ]
    file.write_text("".join(json.dumps(row, default=list) + "\n" for row in rows))
    for name in ("ann", "bob"):
        words = ["label", str(file), *KEEP, "--terminal", "--annotator", name, "--n", "6"]
        run = CliRunner().invoke(app, words, input="y\n" * 24)
        assert run.exit_code == 0, run.output
    path = file.with_name("data.jsonl.labels.jsonl")
    tables = {"ann": PEOPLE, "bob": SECOND}
    lines = []
    for line in map(json.loads, path.read_text().splitlines()):
        if line.get("label") == "unit_supported":
            run_id, topic = line["sample_id"].split("/")
            value = tables[line["annotator"]][run_id][int(topic)][int(line["item"][1:]) - 1]
            line["answer"] = "yes" if value else "no"
        lines.append(json.dumps(line))
    path.write_text("\n".join(lines) + "\n")
    return file, path


def test_second_person_stands_beside_the_judge(tmp_path):
    """By ann 1, .75, .25, by bob .5, .25, 0: the same order. On question 1 bob finds all equal, which ranks nothing."""
    file, path = label_file(tmp_path)
    samples = read_samples(file, columns={"run_id": "metadata"})
    report = agree(samples, judge=TableJudge(), labels=path, annotator="ann", progress=False)
    ranking = next(item for item in report.rankings if item.metric == "context_recall")
    people = ranking.people
    assert people is not None
    assert (people.kendall, people.tau_ap, people.topics) == (1, 1, 1)
    assert people.topic_kendall == 1
    shown = str(report)
    assert (
        "context_recall: two people rank the systems: Kendall's tau 1.00, tau-AP 1.00; mean over 1"
        in shown
    )
    # Of ann's 8 yes bob says yes to 3, of her 4 no to none: (3/8 + 1) / 2. The other way round: (1 + 4/9) / 2.
    expected = ((3 / 8 + 1) / 2 + (1 + 4 / 9) / 2) / 2
    (own,) = (item for item in report.people if item.label == "unit_supported")
    assert own.balanced_accuracy == pytest.approx(expected)


def test_without_runs_the_persons_are_not_ranked(tmp_path):
    file, path = label_file(tmp_path)
    samples = read_samples(file, columns={"run_id": "metadata"})
    other = [replace(item, metadata={"run_id": "r1"}) for item in samples]
    report = agree(other, judge=TableJudge(), labels=path, progress=False)
    assert (report.rankings, report.systems) == ((), ())
    assert len(report.people) == 2


def test_command_ranks_the_runs_of_a_file(tmp_path):
    file, path = label_file(tmp_path)
    run = CliRunner().invoke(
        app, ["agree", str(file), *KEEP, "--labels", str(path), "--annotator", "ann"]
    )
    assert run.exit_code == 0, run.output
    assert "3 systems ranked by the judge and by people" in run.stdout
    assert "context_recall: two people rank the systems: Kendall's tau 1.00" in run.stdout


def test_equal_means_are_a_tie_despite_rounding():
    """People's recalls of X are .1 and .7, of Y .3 and .5: both means are .4, and equal means give no order."""
    sentences = [f"Part {letter} is made of steel." for letter in "ABCDEFGHIJ"]
    samples = []
    for system, topic, supported_count in (("X", 1, 1), ("X", 2, 7), ("Y", 1, 3), ("Y", 2, 5)):
        labels = [True] * supported_count + [False] * (10 - supported_count)
        sample = Sample(
            id=f"{system}{topic}",
            user_input=f"q{topic}?",
            reference=" ".join(sentences),
            retrieved_contexts=[" ".join(sentences) if system == "X" else "Nothing of it."],
            labels={"unit_supported": labels},
            metadata={"system": system},
        )
        samples.append(sample)
    report = agree(samples, system="metadata.system", progress=False)
    (ranking,) = report.rankings
    assert (ranking.kendall, ranking.spearman, ranking.agreement.tau_ap) == (None, None, None)
