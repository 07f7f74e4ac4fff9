"""Two runs on the same samples: what is joined, what is refused, what is named, and what the gates say."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    LexicalJudge,
    Results,
    Sample,
    compare,
    evaluate,
)
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.agreement.labelling.draw import (
    LabelsFile,
    draw,
    list_questions,
    samples_by_key,
)
from ctxmetrics.evaluation.comparison.compare import compare_all
from ctxmetrics.evaluation.comparison.difference_sentences import build_clauses
from ctxmetrics.evaluation.comparison.difference_table import format_number
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.rows.people_answers import PersonAnswer
from ctxmetrics.evaluation.rows.sample_record import context_hashes
from ctxmetrics.evaluation.runs.gates import (
    check_difference,
    choose_gated,
    describe_overruled,
    find_max_drop_problem,
    find_not_worse_problem,
)
from ctxmetrics.judges.base import Claims, Judgement
from ctxmetrics.judges.lexical.judge import VERSION
from ctxmetrics.testing import assert_not_worse
from ctxmetrics.verdicts import Evidence, Verdict
from support.command import run_command
from support.rows import read_rows

DATA = Path(__file__).parents[5] / "shared" / "data"
FACTS = ["Paris is a city.", "It has a tower.", "The tower is tall."]


@dataclass(frozen=True)
class Verbatim:
    """A judge that supports a sentence where a context holds it word for word."""

    name: str = "verbatim"
    prompt: str | None = None
    warnings: tuple[str, ...] = ()

    async def attribute(self, request):
        return Judgement(
            verdicts=tuple(
                self._verdict(id_, unit, request.contexts)
                for id_, unit in zip(request.unit_ids, request.units, strict=True)
            ),
            prompt=self.prompt,
        )

    async def rate(self, request):
        useful = [any(unit in text for unit in request.units) for text in request.contexts]
        found = zip(request.context_ids, useful, strict=True)
        return Judgement(
            verdicts=tuple(Verdict(id=id_, value=value) for id_, value in found), prompt=self.prompt
        )

    @staticmethod
    def _verdict(id_, unit, contexts):
        spans = tuple(
            Evidence(place, text.index(unit), text.index(unit) + len(unit), unit)
            for place, text in enumerate(contexts)
            if unit in text
        )
        return Verdict(id=id_, value=bool(spans), evidence=spans)


METRICS = [ContextRecall(), ContextPrecision()]


def sample(number, contexts, **more):
    fields = {"id": f"n{number}", "user_input": f"Question {number}?", "reference": " ".join(FACTS)}
    return Sample(**{**fields, "retrieved_contexts": contexts, **more})


def run(samples, judge=None, metrics=METRICS) -> Results:
    return evaluate(samples, metrics, judge=judge or Verbatim(), progress=False)


def write(results, path, **options):
    results.to_jsonl(path, **options)
    return path


BEFORE = [sample(n, ["Something else.", FACTS[0], f"{FACTS[1]} {FACTS[2]}"]) for n in range(4)]
AFTER = [
    sample(0, ["Something else.", FACTS[0], f"{FACTS[1]} {FACTS[2]}"]),
    sample(1, ["Something else.", FACTS[0]]),
    sample(2, []),
    sample(3, [*FACTS, "Something else."]),
]


# ---- figures ----


def test_the_figures_are_those_of_the_paired_values():
    found = run(BEFORE).compare(run(AFTER))["context_recall"]
    assert (found.before, found.after, found.samples) == (
        1.0,
        pytest.approx((1 + 1 / 3 + 0 + 1) / 4),
        4,
    )
    assert found.difference == pytest.approx((-2 / 3 - 1) / 4)
    assert (found.better, found.worse, found.equal, found.unpaired) == (0, 2, 2, 0)
    turned = run(AFTER).compare(run(BEFORE))["context_recall"]
    assert (turned.better, turned.worse, turned.equal, turned.unpaired) == (2, 0, 2, 0)
    assert found.p == 0.5  # the sign test: two of the four sign patterns of two differences
    precision = run(BEFORE).compare(run(AFTER))["context_precision"]
    assert (found.p_adjusted, precision.p_adjusted) == (0.5, None)
    assert (found.verdict, precision.verdict) == ("few changed", None)


def test_a_file_a_path_and_results_are_compared_alike(tmp_path):
    before, after = run(BEFORE), run(AFTER)
    files = write(before, tmp_path / "a.jsonl"), write(after, tmp_path / "b.jsonl")
    expected = compare(before, after).to_dict()
    for one in (before, files[0], str(files[0]), Results.from_jsonl(files[0])):
        for other in (after, files[1], Results.from_jsonl(files[1])):
            got = compare(one, other).to_dict() | {"origins": expected["origins"]}
            for kind in ("lost", "won"):
                got[kind] = [
                    {
                        **unit,
                        "retrieved": before_["retrieved"],
                        "contexts": [
                            {**item, "text": old["text"]}
                            for item, old in zip(unit["contexts"], before_["contexts"], strict=True)
                        ],
                    }
                    for unit, before_ in zip(got[kind], expected[kind], strict=True)
                ]
            assert got == expected


def test_the_overlap_of_intervals_is_no_test():
    """What the pairs show, two intervals side by side do not."""
    before = [sample(n, FACTS[: n % 3]) for n in range(36)]
    after = [sample(n, FACTS[: min(3, n % 3 + (n % 2))]) for n in range(36)]
    one, other = run(before), run(after)
    ends = [results.summary()["context_recall"].interval for results in (one, other)]
    assert ends[0][1] > ends[1][0]
    found = one.compare(other)["context_recall"]
    assert found.interval[0] > 0
    assert found.verdict == "better"
    assert (found.better, found.worse) == (18, 0)


def test_groups_and_clusters():
    topics = [{"topic": "a" if n < 2 else "b", "document": {"id": n % 2}} for n in range(4)]
    before = run([replace(item, metadata=topics[n]) for n, item in enumerate(BEFORE)])
    after = run([replace(item, metadata=topics[n]) for n, item in enumerate(AFTER)])
    found = before.compare(after, by="metadata.topic", cluster="metadata.document.id")
    assert found.clusters == 2
    assert {name: items[0].difference for name, items in found.groups.items()} == {
        "a": pytest.approx(-1 / 3),
        "b": pytest.approx(-1 / 2),
    }
    assert "in 2 clusters" in str(found)
    with pytest.raises(
        ParameterError, match=r"'n0' has no 'metadata.city'. Its metadata: metadata.topic, metadata"
    ):
        before.compare(after, by="metadata.city")


def test_samples_without_a_value_are_counted_and_not_compared():
    after = [*AFTER[:3], replace(AFTER[3], reference="?!")]
    with pytest.raises(ParameterError, match="differ in question"):
        run(BEFORE).compare(run(after))
    found = run(BEFORE).compare(run(after), accept=["question"])
    item = found["context_recall"]
    assert (item.samples, item.unpaired, item.values_lost) == (3, 1, 1)
    assert "1 sample has no value in one of the runs" in str(found)
    assert any("different, with permission: question" in note for note in found.notes)


# ---- joining ----


def test_samples_join_by_id_else_by_question_and_reference():
    found = run(BEFORE).compare(run(AFTER[::-1]))
    assert found.to_dict()["metrics"] == run(BEFORE).compare(run(AFTER)).to_dict()["metrics"]
    nameless = (
        [replace(item, id=None) for item in BEFORE],
        [replace(item, id=None) for item in AFTER[::-1]],
    )
    by_hash = run(nameless[0]).compare(run(nameless[1]))
    assert by_hash.to_dict()["metrics"] == found.to_dict()["metrics"]


def test_rows_put_together_are_compared_like_each_run_alone():
    """Rows of two runs have the same positions; each sample still has its own units and notes."""
    renamed = [[replace(item, id=f"m{item.id}") for item in side] for side in (BEFORE, AFTER)]
    first, second, third, fourth = map(run, (BEFORE, AFTER, *renamed))
    alone = compare(first, second), compare(third, fourth)
    found = compare([*first, *third], [*second, *fourth])
    back = compare([*second, *fourth], [*first, *third])
    assert found.lost == alone[0].lost + alone[1].lost
    assert [unit.sample_id for unit in back.won] == [unit.sample_id for unit in found.lost]
    assert len(found.lost) == 10


def test_samples_of_one_run_only_are_named():
    found = run(BEFORE[:3]).compare(run(AFTER[1:]))
    assert (found.samples, found.only_before, found.only_after) == (2, ("n0",), ("n3",))
    assert "2 samples in both runs, 1 in the first only, 1 in the second only" in str(found)


def test_what_cannot_be_joined_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="no sample in common: no id is in both"):
        run(BEFORE[:2]).compare(run(AFTER[2:]))
    same = [replace(BEFORE[0], id=None)] * 2
    with pytest.raises(ParameterError, match="have the same question and reference"):
        run(same).compare(run(same))
    with pytest.raises(ParameterError, match="no metric in common"):
        run(BEFORE, metrics=METRICS[:1]).compare(run(AFTER, metrics=METRICS[1:]))
    with pytest.raises(InputFileError, match=r"absent.jsonl: cannot be read"):
        compare(run(BEFORE), tmp_path / "absent.jsonl")
    (tmp_path / "data.jsonl").write_text('{"user_input": "x"}\n')
    with pytest.raises(InputFileError, match=r"data.jsonl, line 1: this is no line of results"):
        compare(run(BEFORE), tmp_path / "data.jsonl")


@pytest.mark.parametrize("hashes", ['"abc"', "7", "[7]"])
def test_a_sample_that_has_no_list_of_contexts_is_refused(tmp_path, hashes):
    one, other = (write(run(side), tmp_path / name) for side, name in ((BEFORE, "a"), (AFTER, "b")))
    lines = re.sub(r'"context_hashes":\[[^]]*\]', f'"context_hashes":{hashes}', other.read_text())
    other.write_text(lines)
    with pytest.raises(
        InputFileError, match=r"b, line 3: this is no line of results: sample\.context_hashes"
    ):
        compare(one, other)


@pytest.mark.slow
def test_equal_lines_may_stand_in_any_place(tmp_path):
    """A line that both files have is read once; every line still belongs to its own sample and file."""
    many = [sample(n, [f"Page {n}. {fact}" for fact in FACTS]) for n in range(100)]
    changed = [replace(many[7], retrieved_contexts=[]), *many[50:], *many[:7], *many[8:50]]
    files = write(run(many), tmp_path / "a.jsonl"), write(run(changed), tmp_path / "b.jsonl")
    found = compare(*files)
    assert (found.samples, found["context_recall"].worse, found["context_recall"].equal) == (100, 1, 99)
    assert [(unit.sample_id, unit.text) for unit in found.lost] == [("n7", fact) for fact in FACTS]
    assert [held.hash for unit in found.lost for held in unit.contexts] == context_hashes(many[7])
    assert not found.won


# ---- refusing ----


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("judge", {"judge": Verbatim()}, {"judge": Verbatim(name="other")}),
        ("prompt", {"judge": Verbatim(prompt="joint-1")}, {"judge": Verbatim(prompt="joint-2")}),
        ("convention", {}, {"metrics": [ContextRecall(convention="deepeval")]}),
        ("formula", {"metrics": [ContextPrecision()]}, None),
        ("unit", {}, None),
    ],
)
def test_runs_that_do_not_measure_the_same_are_refused(tmp_path, field, before, after):
    one = write(run(BEFORE, **before), tmp_path / "a.jsonl")
    other = tmp_path / "b.jsonl"
    if after is None:
        name = {"formula": "formula", "unit": "splitter"}[field]
        lines = read_rows(write(run(AFTER, **before), other))
        for line in lines:
            line["provenance"][name] = "another"
        other.write_text("\n".join(map(json.dumps, lines)))
    elif field == "convention":  # the convention is part of a metric's name
        lines = read_rows(write(run(AFTER), other))
        for line in lines:
            line["provenance"]["convention"] = "deepeval"
        other.write_text("\n".join(map(json.dumps, lines)))
    else:
        write(run(AFTER, **after), other)
    with pytest.raises(ParameterError, match=rf"the runs differ in {field} \(.* --accept {field} "):
        compare(one, other)
    found = compare(one, other, accept=[field])
    assert found.notes[0].startswith(f"different, with permission: {field} (")
    with pytest.raises(ParameterError, match=r"accept 'model' is unknown. Choose from: judge, prompt"):
        compare(one, other, accept=["model"])


@pytest.mark.parametrize("place", range(8))
def test_one_line_of_another_judge_or_prompt_is_enough(tmp_path, place):
    judge = Verbatim(prompt="joint-1")
    one = write(run(BEFORE, judge), tmp_path / "a.jsonl")
    lines = read_rows(one)
    lines[place]["provenance"]["prompt" if place % 2 else "judge"] = None if place % 3 else "another"
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ParameterError, match=r"the runs differ in (judge|prompt)"):
        compare(one, tmp_path / "b.jsonl")


def test_a_sample_that_asked_nothing_has_no_prompt():
    judge = Verbatim(prompt="joint-1")
    found = run(BEFORE, judge).compare(run(AFTER, judge))  # one of AFTER has no contexts
    assert found.samples == 4


@pytest.mark.parametrize(
    ("field", "one", "other", "told"),
    [
        ("served_model", "model-2026-01", "model-2026-06", r"model-2026-01\) and .* \(model-2026-06\)"),
        (
            "library",
            "ctxmetrics 0.1.0",
            "ctxmetrics 0.2.0",
            r"ctxmetrics 0.1.0\) and .* \(ctxmetrics 0.2.0\)",
        ),
    ],
)
def test_another_version_of_the_judge_is_another_judge(tmp_path, field, one, other, told):
    """An alias that serves another model, and the embedded judge of another release."""
    files = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for file, side, value in zip(files, (BEFORE, AFTER), (one, other), strict=True):
        lines = read_rows(write(run(side), file))
        for line in lines:
            line["provenance"][field] = value
        file.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ParameterError, match=rf"the runs differ in judge \(.*{told}"):
        compare(*files)
    assert compare(*files, accept=["judge"]).notes[0].startswith("different, with permission: judge")
    write(run(BEFORE), files[0])
    if field == "served_model":  # nothing is known of one run
        assert "the model that answered is known in one run only" in str(compare(*files))


def test_library_versions_with_one_embedded_judge_are_compared(tmp_path):
    """What counts is the mark of its verdicts, which both releases write."""
    samples = [sample(1, FACTS), sample(2, FACTS)]
    file = write(evaluate(samples, [ContextRecall()], progress=False), tmp_path / "a.jsonl")
    lines = read_rows(file)
    assert {line["provenance"]["served_model"] for line in lines} == {VERSION}
    other = tmp_path / "b.jsonl"
    for line in lines:
        line["provenance"]["library"] = "ctxmetrics 9.9.9"
    other.write_text("\n".join(map(json.dumps, lines)))
    assert compare(file, other)["context_recall"].difference == 0.0
    for line in lines:
        line["provenance"]["served_model"] = "lexical-000000000000"
    other.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(
        ParameterError, match=r"differ in judge \(lexical \(lexical-.*write --accept judge"
    ):
        compare(file, other)


def test_other_runs_contexts_stand_beside_a_lost_sentence(tmp_path):
    """With texts, each context of the other run; without, what to do."""
    before, after = run([sample(1, FACTS)]), run([sample(1, ["Something <else>.", "And more."])])
    found = before.compare(after)
    assert [unit.retrieved for unit in found.lost] == [("Something <else>.", "And more.")] * 3
    assert found.html().count("Something &lt;else&gt;.") == 3
    files = write(before, tmp_path / "a.jsonl"), write(after, tmp_path / "b.jsonl")
    assert compare(*files).html().count("score with --keep-texts") == 3
    assert compare(before, write(after, files[1], keep_texts=True)).to_dict()["lost"] == [
        unit.to_dict() for unit in found.lost
    ]


def test_scales_that_differ_are_refused_always():
    one = run(BEFORE, metrics=[ContextRecall()])
    other = run(AFTER, metrics=[ContextRecall(convention="aegis")])
    if one.metrics == other.metrics:
        with pytest.raises(ParameterError, match="different scales"):
            one.compare(other, accept=["convention"])
    else:
        with pytest.raises(ParameterError, match="no metric in common"):
            one.compare(other)


# ---- lost and won ----


def test_losses_are_named_with_question_and_context():
    found = run(BEFORE).compare(run(AFTER))
    assert [(unit.sample_id, unit.id, unit.text) for unit in found.lost] == [
        ("n1", "s2", FACTS[1]),
        ("n1", "s3", FACTS[2]),
        ("n2", "s1", FACTS[0]),
        ("n2", "s2", FACTS[1]),
        ("n2", "s3", FACTS[2]),
    ]
    assert found.won == ()
    assert found.notes == ()
    assert f'context 3 was not retrieved by the other run: "{FACTS[1]}"' in str(found)
    assert repr(found) == str(found)
    unit = found.lost[0]
    assert (unit.user_input, unit.metrics) == ("Question 1?", ("context_recall",))
    (held,) = unit.contexts
    assert (held.rank, held.quote, held.text) == (3, FACTS[1], f"{FACTS[1]} {FACTS[2]}")
    assert held.retrieved_by_both is False
    back = run(AFTER).compare(run(BEFORE))
    assert [unit.text for unit in back.won] == [unit.text for unit in found.lost]
    assert (back.lost, back["context_recall"].difference) == ((), -found["context_recall"].difference)
    assert [
        (item.sample_id, item.before, item.after) for item in found.worst if "recall" in item.metric
    ] == [
        ("n2", 1.0, 0.0),
        ("n1", 1.0, pytest.approx(1 / 3)),
    ]


def test_a_unit_is_listed_once_however_many_metrics_count_it():
    metrics = [ContextRecall(), ContextRecall(top_k=1)]
    before = run([sample(0, [FACTS[0], FACTS[1]])], metrics=metrics)
    after = run([sample(0, [FACTS[1], "Nothing."])], metrics=metrics)
    found = before.compare(after)
    assert [(unit.text, unit.metrics) for unit in found.lost] == [
        (FACTS[0], ("context_recall", "context_recall(top_k=1)"))
    ]
    assert [(unit.text, unit.metrics) for unit in found.won] == [
        (FACTS[1], ("context_recall(top_k=1)",))
    ]
    assert found.won[0].contexts[0].retrieved_by_both is True


def test_a_verdict_that_is_missing_is_no_loss():
    class Silent(Verbatim):
        async def attribute(self, request):
            found = await Verbatim.attribute(self, request)
            return replace(found, verdicts=found.verdicts[:-1])

    found = run(BEFORE).compare(run(BEFORE, Silent()))
    assert [item.name for item in found.metrics] == ["context_precision"]
    assert found.lost == found.won == ()
    assert "no sample has a value in both runs: context_recall" in found.notes
    with pytest.raises(ParameterError, match=r"no sample has a value in both runs\."):
        run(BEFORE, metrics=METRICS[:1]).compare(run(BEFORE, Silent(), METRICS[:1]))


@pytest.mark.slow
def test_planted_losses_and_wins_are_named_and_none_is_invented(tmp_path):
    """Contexts that state a sentence word for word are added to one of the runs; the embedded judge judges both."""
    files = [DATA / f"{name}.jsonl" for name in ("clapnq-dev", "mtragun")]
    if not all(file.is_file() for file in files):
        pytest.skip("the human-labelled data is not beside this checkout")
    samples = [
        replace(item, labels={}, retrieved_context_ids=None)
        for file in files
        for item in read_samples(file)
        if item.reference and item.retrieved_contexts
    ]
    metric, number = ContextRecall(), 0
    planted: set[tuple[str, str, str]] = set()
    runs: dict[str, list[Sample]] = {"lost": [], "won": []}
    for item in samples:
        kind, number = ("lost", "won")[number % 2], number + 1
        contexts = {"lost": list(item.retrieved_contexts), "won": list(item.retrieved_contexts)}
        for verdict in metric.score(item).verdicts:
            if verdict.value is False and len(verdict.text.split()) > 5 and len(planted) < 200:
                contexts[kind].insert(1, verdict.text)
                planted.add((item.id, kind, verdict.text))
        for name, texts in contexts.items():
            runs[name].append(replace(item, retrieved_contexts=texts))
    assert len(planted) == 200
    changed = set()
    for one, other in zip(*runs.values(), strict=True):
        both = [metric.score(item).verdicts for item in (one, other)]
        for mine, its in zip(*both, strict=True):
            if mine.value is not its.value:
                changed.add((one.id, "lost" if mine.value else "won", mine.text))
    paths = [tmp_path / f"{kind}.jsonl" for kind in runs]
    for items, path in zip(runs.values(), paths, strict=True):
        evaluate(items, [metric, ContextPrecision()], progress=False, out=path)
    found = compare(*paths)
    named = {(unit.sample_id, kind, unit.text) for kind in runs for unit in getattr(found, kind)}
    assert len(named) == len(found.lost) + len(found.won)
    assert planted <= named == changed
    for kind in runs:
        for unit in getattr(found, kind):
            if (unit.sample_id, kind, unit.text) in planted:
                assert unit.text in [held.quote for held in unit.contexts]


# ---- labels ----


def labelled(contexts, labels):
    """Twelve samples; of the first six, people say which sentences these contexts support."""
    return run(
        [sample(n, contexts, labels={"unit_supported": labels(n)} if n < 6 else {}) for n in range(12)],
        metrics=METRICS[:1],
    )


def test_labels_of_both_runs_correct_the_difference():
    """The judge finds one of three sentences lost everywhere; people find two lost in every other sample."""
    before = labelled(FACTS, lambda n: [True] * 3)
    after = labelled(FACTS[:2], lambda n: [True, n % 2 == 0, False])
    found = before.compare(after)["context_recall"]
    assert found.difference == pytest.approx(-1 / 3)
    assert (found.corrected.labelled, found.corrected.people) == (6, pytest.approx(-1 / 2))
    assert found.corrected.difference == pytest.approx(-1 / 2)  # the judge's differences are all equal
    # Student's quantile for 5 degrees of freedom. Half of the samples are labelled; people's differences are 1/6 off their
    # mean, over 6 labels and over 12 samples.
    labels, samples = np.sqrt((1 - 6 / 12) * (1 / 36 * 6 / 5) / 6), np.sqrt(1 / 36 / 11)
    half = 2.5705818 * float(np.sqrt(labels**2 + samples**2 + (1.25 / 6) ** 2))
    assert found.corrected.interval == pytest.approx((-1.0, -1 / 2 + half), abs=1e-6)
    assert "corrected by 6 samples with labels in both runs: -0.500" in str(before.compare(after))


@pytest.mark.parametrize("labels", [2, 24, 25, 40])
def test_labels_that_agree_leave_the_decision_to_the_judge(labels):
    """The judge sees a third lost in 40 of 80 samples, none of them labelled: the labels agree that the others did not change."""
    runs = [
        run(
            [sample(n, FACTS[:2] if n >= 40 and side else FACTS) for n in range(80)],
            metrics=METRICS[:1],
        )
        for side in (0, 1)
    ]
    found = relabelled(runs, labels)["context_recall"]
    assert (found.corrected.labelled, found.verdict) == (labels, "worse")
    assert found.decides == "judge"
    assert found.basis.difference == pytest.approx(-1 / 6)
    assert "the judge decides: the labels do not speak against its direction" in build_clauses(found)


def test_a_gate_names_the_interval_that_decides():
    """The judge sees four losses and four wins in 100 samples; people see three and five, so their p value is smaller.

    The labels' deciding interval reaches to the upper end for 3 of 100 by Clopper and Pearson, 0.0852; the printed one does not
    reach the margin.
    """

    def supported(n, people):
        if n < 4 - people:
            return FACTS[:1]
        return FACTS if n < 8 else FACTS[:2]

    def label(found):
        return {"unit_supported": [fact in found for fact in FACTS]}

    before = [sample(n, FACTS[:2], labels=label(FACTS[:2]) if n < 50 else {}) for n in range(100)]
    after = [
        sample(n, supported(n, 0), labels=label(supported(n, 1)) if n < 50 else {}) for n in range(100)
    ]
    runs = [run(samples, metrics=METRICS[:1]) for samples in (before, after)]
    comparison = runs[0].compare(runs[1])
    item = comparison["context_recall"]
    assert item.decides == "labels"
    assert item.corrected.interval[0] > -0.06
    problem = find_not_worse_problem(comparison, item, 0.06)
    assert "the interval that decides, with unseen changes, -0.085 to " in problem


def test_clusters_of_labels_count_by_their_number():
    """30 labelled samples in 5 documents are 5 independent labels."""
    sides = [
        [replace(row.sample, metadata={"document": row.index // 6}) for row in one]
        for one in fallen(100, 40)
    ]
    runs = [run(side, metrics=METRICS[:1]) for side in sides]
    found = relabelled(runs, 30, cluster="metadata.document")
    assert found["context_recall"].corrected.size == 5


def test_labels_in_samples_are_about_one_run_only():
    carried = [labelled(contexts, lambda n: [True, True, False]) for contexts in (FACTS, FACTS[:1])]
    assert carried[0].compare(carried[1])["context_recall"].corrected is None


def test_context_labels_correct_precision_with_claims():
    """The unit of the reference says nothing about the contexts; people find the useful one lost in half of them."""

    class Breaking(Verbatim):
        async def decompose(self, text, *, language=None):
            return Claims(claims=tuple(FACTS))

    runs = [
        run(
            [
                sample(n, [text], labels={"context_useful": [(useful and n < 3) or not n]})
                for n in range(6)
            ],
            judge=Breaking(),
            metrics=[ContextPrecision(convention="axion")],
        )
        for text, useful in ((FACTS[0], True), ("Something else.", False))
    ]
    (found,) = runs[0].compare(runs[1]).metrics
    assert (found.name, found.difference) == ("context_precision(convention=axion)", -1.0)
    assert (found.corrected.labelled, found.corrected.people) == (6, pytest.approx(-2 / 6))


def test_labels_that_do_not_fit_correct_nothing():
    before = labelled(FACTS, lambda n: [True, True])
    after = labelled(FACTS[:1], lambda n: "yes")
    assert before.compare(after)["context_recall"].corrected is None


def answered(path, samples, said, *, by=None, seed=1):
    """A labels file of these samples; ``said``: the answer to each question about a sample."""
    known = samples_by_key(samples)
    file = LabelsFile(path)
    file.begin(draw(known, 6, seed=seed, by=by))
    for one in file.draw.drawn:
        for question in list_questions(one.key, known[one.key], ["unit_supported"]):
            answer = "yes" if said[one.key[0]] else "no"
            file.add(PersonAnswer(question, answer, "ann", one.weight))
    return path


def drawn_runs(tmp_path, contexts=(FACTS, FACTS[:2]), **options):
    """Two runs over nine common samples and three rare ones, each with a file of answers."""
    paths, rare = [], {"n9", "n10", "n11"}
    for name, texts in zip("ab", contexts, strict=True):
        samples = [
            sample(n, texts, metadata={"kind": "rare" if n > 8 else "common"}) for n in range(12)
        ]
        write(run(samples, metrics=METRICS[:1]), tmp_path / f"{name}.jsonl")
        lost = rare if name == "b" else set()
        said = {item.id: item.id not in lost for item in samples}
        paths.append(answered(tmp_path / f"{name}.labels.jsonl", samples, said, **options))
    return (tmp_path / "a.jsonl", tmp_path / "b.jsonl"), paths


def test_labels_of_both_runs_correct_the_weighted_difference(tmp_path):
    """Three of nine common samples are labelled and all three rare ones; only these lost anything: a quarter of all."""
    runs, labels = drawn_runs(tmp_path, by="metadata.kind")
    found = compare(*runs, labels=labels)["context_recall"].corrected
    assert (found.labelled, found.people) == (6, pytest.approx(-0.25))
    assert found.difference == pytest.approx(-0.25)
    assert compare(*runs)["context_recall"].corrected is None
    rows = Results.from_jsonl(runs[0]).compare(Results.from_jsonl(runs[1]), labels=labels)
    baseline = tmp_path / "baseline.jsonl"
    Results.from_jsonl(runs[0]).to_baseline(baseline)
    assert compare(baseline, runs[1], labels=labels)["context_recall"].corrected == found
    assert compare(runs[0], baseline, labels=labels[:1])["context_recall"].corrected is not None
    assert rows["context_recall"].corrected == found
    assert compare(*runs, labels=labels[:1])["context_recall"].corrected is None
    done = run_command("compare", *runs, "--labels", labels[0], "--labels", labels[1])
    assert "corrected by 6 samples with labels in both runs: -0.250" in done.stdout


def test_two_draws_with_other_weights_are_refused(tmp_path):
    runs, labels = drawn_runs(tmp_path, by="metadata.kind")
    lines = labels[1].read_text().replace('"weight":3.0', '"weight":2.0')
    labels[1].write_text(lines)
    with pytest.raises(ParameterError, match=r"have the weights 2 and 3. Draw both files alike"):
        compare(*runs, labels=labels)


def test_labels_of_one_run_correct_nothing(tmp_path):
    """Eight of twelve samples have the same texts in both runs, so that only these have labels in both."""
    samples = [sample(n, FACTS) for n in range(12)]
    others = [sample(n, FACTS[:2] if n < 4 else FACTS) for n in range(12)]
    runs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, items in zip(runs, (samples, others), strict=True):
        write(run(items, metrics=METRICS[:1]), path)
    known = samples_by_key(samples)
    file = LabelsFile(tmp_path / "a.labels.jsonl")
    file.begin(draw(known, 12, seed=1))
    for one in file.draw.drawn:
        for question in list_questions(one.key, known[one.key], ["unit_supported"]):
            file.add(PersonAnswer(question, "yes", "ann", one.weight))
    found = compare(*runs, labels=[file.path])
    assert found["context_recall"].corrected is None
    assert "the labels correct no metric" in str(found)
    both = answered(tmp_path / "b.labels.jsonl", others, {item.id: True for item in others})
    found = compare(*runs, labels=[file.path, both])
    assert "the labels correct no metric" not in str(found)


def test_labels_without_weights_are_another_draw(tmp_path):
    """The first run's samples were drawn with equal chances, those of the second run by kind."""
    runs, labels = drawn_runs(tmp_path, by="metadata.kind")
    lines = labels[0].read_text().replace('"weight":3.0', '"weight":1.0')
    labels[0].write_text(lines)
    with pytest.raises(ParameterError, match=r"have the weights 1 and 3. Draw both files alike"):
        compare(*runs, labels=labels)


def test_other_labels_of_the_same_texts_are_refused(tmp_path):
    """Two people labelled the first run, each in a file: the answers of the second would replace those of the first."""
    runs, labels = drawn_runs(tmp_path)
    second = tmp_path / "second.jsonl"
    second.write_text(labels[0].read_text())
    same = compare(*runs, labels=[*labels, second])["context_recall"].corrected
    assert same == compare(*runs, labels=labels)["context_recall"].corrected
    second.write_text(labels[0].read_text().replace('"answer":"yes"', '"answer":"no"', 1))
    with pytest.raises(
        InputFileError, match=r"unit_supported of sample 'n\d+' differs from that in an earlier"
    ):
        compare(*runs, labels=[*labels, second])


def test_answers_about_other_texts_are_refused(tmp_path):
    runs, labels = drawn_runs(tmp_path)
    others = tmp_path / "other"
    others.mkdir()
    _, wrong = drawn_runs(others, contexts=(FACTS[1:], FACTS[2:]))
    with pytest.raises(
        InputFileError, match=r"about sample 'n\d+' are about texts that neither run has"
    ):
        compare(*runs, labels=[*labels, *wrong])
    with pytest.raises(InputFileError, match="there is no such file"):
        compare(*runs, labels=[tmp_path / "absent.jsonl"])


def test_clusters_widen_the_corrected_difference_too(tmp_path):
    before = labelled(FACTS, lambda n: [True] * 3)
    after = labelled(FACTS[:2], lambda n: [True, n % 2 == 0, False])
    pair = [
        run(
            [replace(row.sample, metadata={"document": row.index // 2}) for row in one],
            metrics=METRICS[:1],
        )
        for one in (before, after)
    ]
    found = pair[0].compare(pair[1], cluster="metadata.document")["context_recall"].corrected
    # Each cluster lost the same, so nothing but one more of the three labelled clusters is left; t has 2 degrees of freedom.
    assert found.difference == pytest.approx(-0.5)
    assert found.interval == (-1.0, pytest.approx(min(1.0, -0.5 + 4.3026527 * 1.25 / 3)))
    alone = before.compare(after)["context_recall"].corrected
    assert (alone.size, found.size) == (6, 3)


# ---- what is shown ----


def test_hostile_texts_stay_text_everywhere(tmp_path):
    bad = "<script>alert(1)</script> | **b** [x](http://e.vil) \x1b[31m \u202e `c` www.e.vil"
    before = [
        sample(n, [f"{bad} {FACTS[0]}"], user_input=bad, metadata={"topic": bad}) for n in range(2)
    ]
    after = [replace(item, retrieved_contexts=["None."]) for item in before]
    found = run(before).compare(run(after), by="topic")
    page, shown = found.html(), found.markdown()
    assert page.count("<script") == 1  # the page's own
    assert page.count("&lt;script&gt;") >= 3
    assert "default-src 'none'" in page
    for text in (page, shown, str(found)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script" not in shown
    for active in ("**b**", "[x]", "://", "`c`", "www."):
        assert active not in shown.replace("**Lost", "").replace("**Won", "").replace("**Samples", "")
    assert max(len(line) for line in str(found).splitlines() if "context_" in line[:10]) <= 100


def test_json_has_the_keys_that_programs_read(tmp_path):
    files = write(run(BEFORE), tmp_path / "a.jsonl"), write(run(AFTER), tmp_path / "b.jsonl")
    done = run_command("compare", *files, "--format", "json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    for item in data["metrics"]:
        assert {
            "name", "difference", "interval", "p", "p_adjusted", "better", "worse", "equal", "detectable",
        } <= item.keys()  # fmt: skip
    assert len(data["lost"]) == 5
    assert data["lost"][0]["contexts"][0]["quote"] == FACTS[1]
    assert data["won"] == []


# ---- several runs, groups of one, and a baseline in a repository ----


def several(tmp_path):
    texts = {"a": 3, "b": 2, "c": 1}
    runs = {
        name: run([sample(n, FACTS[:kept] if n % 3 else FACTS) for n in range(60)])
        for name, kept in texts.items()
    }
    return runs, {name: write(one, tmp_path / f"{name}.jsonl") for name, one in runs.items()}


@pytest.mark.slow
def test_several_runs_compare_with_the_first_and_are_adjusted(tmp_path):
    tests = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    runs, files = several(tmp_path)
    found = compare_all(runs["a"], {"b": files["b"], "c": runs["c"], "same": runs["a"]})
    alone = [compare(runs["a"], runs[name])["context_recall"] for name in "bca"]
    adjusted = tests.multipletests([item.p for item in alone], method="holm")[1]
    shown = [one["context_recall"] for one in found.runs.values()]
    assert [item.p_adjusted for item in shown] == pytest.approx(adjusted, rel=1e-9)
    assert [item.difference for item in shown] == [item.difference for item in alone]
    assert [item.verdict for item in shown] == ["worse", "worse", "few changed"]
    table = [line.split()[:2] for line in str(found).splitlines()[1:7]]
    names = ("b", "c", "same")
    assert table == [
        [name, metric] for metric in ("context_recall", "context_precision") for name in names
    ]
    for text in (str(found), found.markdown(), found.html()):
        assert text.count("Lost, supported by the first run only") == 3
        assert text.count("differences are second minus first") == 3


@pytest.mark.slow
def test_the_command_names_the_run_that_fails_a_gate(tmp_path):
    _, files = several(tmp_path)
    page, junit = tmp_path / "p.html", tmp_path / "j.xml"
    gate = ("--max-drop", "context_recall=0.3")
    done = run_command("compare", *files.values(), *gate, "--report", page, "--junit", junit)
    assert done.returncode == 1
    b, c = str(files["b"]), str(files["c"])
    assert (
        f"gate: {c}: context_recall fell by 0.444, more than 0.3" in done.stderr
    )  # 2/3 of the samples lose 2/3
    assert f"gate: {b}" not in done.stderr
    names = [case.get("name") for case in ET.parse(junit).getroot()[0]]  # noqa: S314 - we wrote it
    assert names == [f"{b}: --max-drop context_recall=0.3", f"{c}: --max-drop context_recall=0.3"]
    assert page.read_text().count("<h2>") >= 2
    data = json.loads(run_command("compare", *files.values(), "--format", "json").stdout)
    assert list(data["runs"]) == [b, c]
    assert run_command("compare", *files.values(), "--report", files["c"]).returncode == 2


def test_score_shows_the_means_of_groups_too(tmp_path):
    lines = [
        sample(n, FACTS[: n % 3 + 1], metadata={"topic": "even" if n % 2 == 0 else "<odd>"}).to_dict()
        for n in range(6)
    ]
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    done = run_command("score", file, "--metric", "context_recall", "--by", "metadata.topic")
    assert done.returncode == 0, done.stderr
    # Samples 0, 2, 4 and 1, 3, 5 have 1, 3, 2 and 2, 1, 3 of the three sentences: both means are 2/3.
    for group in ("<odd>", "even"):
        assert re.search(rf"^{group}\s+context_recall\s+0.6667\s+3 of 3", done.stdout, re.MULTILINE)
    page = tmp_path / "page.html"
    run_command("score", file, "--metric", "context_recall", "--by", "metadata.topic", "--report", page)
    assert (
        '<bdi>&lt;odd&gt;</bdi></th><td data-name="metric"><bdi>context_recall</bdi></td>'
        in page.read_text()
    )
    results = evaluate([Sample(**line) for line in lines], [ContextRecall()], progress=False)
    assert [len(part) for part in results.by("topic").values()] == [3, 3]
    del lines[3]["metadata"]
    file.write_text("\n".join(map(json.dumps, lines)))
    done = run_command("score", file, "--metric", "context_recall", "--by", "metadata.topic")
    assert (done.returncode, done.stdout) == (2, "")
    assert "sample 'n3' has no 'metadata.topic'" in done.stderr


def test_a_key_of_the_metadata_may_have_dots_in_its_name():
    given = [
        sample(n, FACTS[:1], metadata={"doc.topic": "roads", "doc": {"part": n}}) for n in range(2)
    ]
    results = evaluate(given, [ContextRecall()], progress=False)
    for key in ("doc.topic", "metadata.doc.topic"):
        assert {name: len(part) for name, part in results.by(key).items()} == {"roads": 2}
    assert [*results.by("metadata.doc.part")] == ["0", "1"]
    with pytest.raises(ParameterError, match=r"has no 'doc.topics'. Its metadata: metadata.doc.topic,"):
        results.by("doc.topics")


def test_baseline_without_text_compares_like_the_whole_file(tmp_path):
    before = run([sample(n, FACTS, metadata={"topic": "secret topic"}) for n in range(12)])
    after = run(
        [
            sample(n, ["Other text.", FACTS[n % 3]], metadata={"topic": "secret topic"})
            for n in range(12)
        ]
    )
    base = tmp_path / "base.jsonl"
    before.to_baseline(base)
    held = base.read_text()
    for text in (*FACTS, "Question", "secret", "topic"):
        assert text not in held
    whole, bare = before.compare(after, by="metadata.topic"), compare(base, after, by="metadata.topic")
    assert bare.metrics == whole.metrics
    assert bare.groups == whole.groups
    assert [(unit.sample_id, unit.id, unit.text, unit.user_input) for unit in bare.lost] == [
        (unit.sample_id, unit.id, unit.text, unit.user_input) for unit in whole.lost
    ]
    assert [held.retrieved_by_both for unit in bare.lost for held in unit.contexts] == [
        held.retrieved_by_both for unit in whole.lost for held in unit.contexts
    ]
    assert bare.worst == whole.worst
    assert bare.notes == whole.notes
    won = compare(after, base).won
    assert {unit.text for unit in won} <= {*FACTS}
    assert "context 1 was not retrieved by the other run" in str(bare)
    assert "a baseline holds no texts" in bare.html()
    again = tmp_path / "again.jsonl"
    Results.from_jsonl(base).to_baseline(again)
    assert again.read_bytes() == base.read_bytes()
    other = run([sample(n, FACTS, reference="Another one.") for n in range(12)])
    with pytest.raises(ParameterError, match="differ in question"):
        compare(base, other)


def test_the_command_writes_a_baseline_where_the_run_was_whole(tmp_path):
    file, base = tmp_path / "s.jsonl", tmp_path / "base.jsonl"
    file.write_text("\n".join(json.dumps(one.to_dict()) for one in AFTER))
    done = run_command("score", file, "--metric", "context_recall", "--write-baseline", base)
    assert done.returncode == 0, done.stderr
    assert base.read_text().count('"sample_id"') == 4
    assert run_command("compare", base, base, "--not-worse", "context_recall=0").returncode == 0
    assert run_command("score", file, "--write-baseline", file).returncode == 2


# ---- the command and its gates ----


def test_the_command_refuses_with_status_2(tmp_path):
    one = write(run(BEFORE), tmp_path / "a.jsonl")
    other = write(run(AFTER, Verbatim(name="other")), tmp_path / "b.jsonl")
    done = run_command("compare", one, other)
    assert (done.returncode, done.stdout) == (2, "")
    assert "differ in judge (verbatim and other, 8 scores)" in done.stderr
    assert run_command("compare", one, other, "--accept", "judge").returncode == 0
    assert run_command("compare", one, other, "--report", one).returncode == 2
    assert run_command("compare", one, tmp_path / "absent.jsonl").returncode == 2


def test_gates_of_the_command(tmp_path):
    before = run([sample(n, FACTS) for n in range(20)])
    after = run([sample(n, FACTS[: 1 + 2 * (n % 2)]) for n in range(20)])
    files = write(before, tmp_path / "a.jsonl"), write(after, tmp_path / "b.jsonl")
    junit, summary, page = tmp_path / "j.xml", tmp_path / "s.md", tmp_path / "p.html"
    summary.write_text("before\n")
    gates = ("--max-drop", "context_recall=0.02", "--not-worse", "context_precision=0.02")
    done = run_command(
        "compare", *files, *gates, "--junit", junit, "--page", page, GITHUB_STEP_SUMMARY=str(summary)
    )
    assert done.returncode == 1
    assert "gate: context_recall fell by 0.333, more than 0.02" in done.stderr
    assert "n0: 1 to 0.3333" in done.stderr
    suite = ET.parse(junit).getroot()[0]  # noqa: S314 - we wrote it
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite] == [" ".join(gates[:2]), " ".join(gates[2:])]
    text = summary.read_text()
    assert text.startswith("before\n### ctxmetrics")
    assert "- failed: context_recall fell by 0.333" in text
    assert "- passed: --not-worse context_precision=0.02" in text
    assert text.index("- passed: ") < text.index("| metric")  # the gates stand above a long summary
    assert page.read_text().startswith("<!doctype html>")
    assert (
        run_command("compare", *files[::-1], *gates, "--junit", junit, "--report", page).returncode == 0
    )
    for wrong in ("context_recall", "context_recall=2", "mine=0.1"):
        assert run_command("compare", *files, "--max-drop", wrong).returncode == 2


def test_a_gate_does_not_hold_where_values_are_missing():
    found = run(BEFORE).compare(run(BEFORE[1:]))
    item = found["context_recall"]
    assert "1 sample of the first run is not in the second" in find_max_drop_problem(found, item, 0.5)
    found = run(BEFORE[:1]).compare(run(BEFORE[:1]))
    assert "too few" in find_not_worse_problem(found, found["context_recall"], 0.5)
    found = run(BEFORE).compare(run(BEFORE))
    assert find_not_worse_problem(found, found["context_recall"], 0.0) is None


def test_not_worse_fails_where_gains_and_losses_are_equal():
    """Half of the samples gain what the others lose: the difference is 0, and its interval holds losses."""
    before = [sample(n, FACTS if n % 2 else FACTS[:1]) for n in range(40)]
    after = [sample(n, FACTS[:1] if n % 2 else FACTS) for n in range(40)]
    found = run(before).compare(run(after))
    item = found["context_recall"]
    assert item.basis.difference == 0
    assert "may have fallen by more than 0.02" in find_not_worse_problem(found, item, 0.02)


def test_not_worse_needs_samples_and_max_drop_a_clear_drop():
    before = [sample(n, FACTS) for n in range(40)]
    after = [sample(n, FACTS[: 3 - (n == 7)]) for n in range(40)]  # one sentence of one sample
    found = run(before).compare(run(after))
    item = found["context_recall"]
    assert find_max_drop_problem(found, item, 0.0) is None
    assert "may have fallen by more than 0.13" in find_not_worse_problem(found, item, 0.13)
    assert find_not_worse_problem(found, item, 0.132) is None  # 0.1316: the exact upper end for 1 of 40


def fallen(n, lost, kept=2, more=()):
    """Two runs of ``n`` samples, of which the first ``lost`` lose all but ``kept`` of their three sentences."""
    before = [sample(number, FACTS) for number in range(n)]
    after = [sample(number, FACTS[: kept if number < lost else 3]) for number in range(n)]
    return [run(side, metrics=[*METRICS[:1], *more]) for side in (before, after)]


def test_99_and_100_samples_say_the_same():
    """Three losses of 1.0: too few changed to say anything, and no gate fails on them."""
    for n in (99, 100):
        one, other = fallen(n, 3, kept=0)
        found = one.compare(other)
        item = found["context_recall"]
        assert (item.verdict, item.p, item.worse) == ("few changed", 0.25, 3)
        assert "3 samples changed; a run is called better or worse from 10 on" in str(found)
        assert find_max_drop_problem(found, item, 0.02) is None
        assert "may have fallen by more than 0.05" in find_not_worse_problem(found, item, 0.05)
        assert (
            find_not_worse_problem(found, item, 0.09) is None
        )  # 0.0861 and 0.0852 for 3 of 99 and of 100


def test_other_metrics_of_the_file_change_nothing():
    """One metric and four: the verdict on the first judged one is the same, and the others get none."""
    others = [ContextPrecision(), ContextRecall(top_k=2), ContextPrecision(top_k=2)]
    alone, beside = (fallen(36, 10, more=more) for more in ((), others))
    one, four = (runs[0].compare(runs[1]) for runs in (alone, beside))
    assert one["context_recall"] == four["context_recall"]
    assert one["context_recall"].verdict == "worse"
    assert [item.verdict for item in four.metrics[1:]] == [None] * 3
    assert "secondary, no verdict" in str(four)
    named = beside[0].compare(beside[1], metrics=["context_recall", "context_precision(top_k=2)"])
    assert [item.verdict is None for item in named.metrics] == [False, True, True, False]
    assert named["context_recall"].p_adjusted == pytest.approx(2 * one["context_recall"].p, rel=1e-9)
    with pytest.raises(ParameterError, match=r"this metric is secondary; .* --metric context_recall\("):
        choose_gated(named, "context_recall(top_k=2)", 0.1, "--max-drop")
    with pytest.raises(ParameterError, match="metric 'mine': no metric is named so"):
        beside[0].compare(beside[1], metrics=["mine"])


@pytest.mark.parametrize("lost", [0, 3, 6, 9, 10, 15, 36])
def test_gates_and_verdict_never_contradict(lost):
    for metrics in ((), ["context_recall", "context_recall(top_k=2)"]):
        one, other = fallen(36, lost, more=[ContextRecall(top_k=2)])
        found = one.compare(other, metrics=metrics)
        item = found["context_recall"]
        for margin in (0.0, 0.01, 0.05, 0.2, 0.5):
            drop, harm = (
                find_max_drop_problem(found, item, margin),
                find_not_worse_problem(found, item, margin),
            )
            assert not (drop and item.verdict in {"better", "no difference shown"})
            assert not (drop and not harm)
        if item.verdict == "worse":
            assert find_max_drop_problem(found, item, 0.0)
            assert find_not_worse_problem(found, item, 0.0)


def relabelled(runs, labels, said=lambda side, n: None, **options):
    """Compare runs with labels of the first samples in each: as ``said``, else what this run's contexts hold."""

    def labels_on(side, row):
        if row.index >= labels:
            # Something differs between the runs: equal labels would be those that came with the samples.
            return {"unit_supported": [None] * 3} if side else {}
        true = [fact in row.sample.retrieved_contexts for fact in FACTS]
        return {"unit_supported": said(side, row.index) or true}

    sides = [
        run([replace(row.sample, labels=labels_on(side, row)) for row in one], metrics=METRICS[:1])
        for side, one in enumerate(runs)
    ]
    return compare(*sides, **options)


def test_labels_decide_where_they_exist():
    """The judge sees no loss; people find a sentence lost in most of the samples that they looked at."""
    runs = [run([sample(n, FACTS) for n in range(40)], metrics=METRICS[:1]) for _ in range(2)]
    found = relabelled(runs, 30, lambda side, n: [True, True, not side or n % 6 == 5])
    item = found["context_recall"]
    assert (item.difference, item.p) == (0.0, 1.0)
    assert item.basis.difference == pytest.approx(-5 / 18)  # five of six samples lost a third
    stats = pytest.importorskip("scipy.stats")
    losses = [0.0 if n % 6 == 5 else -1 / 3 for n in range(30)]
    # By labels of 30 of 40, by samples, and one label more that lies 1.25 scales off.
    error = float(
        np.sqrt(stats.sem(losses) ** 2 * (1 - 30 / 40) + np.var(losses) / 39 + (1.25 / 30) ** 2)
    )
    half = float(stats.t.ppf(0.975, 29)) * error
    assert item.basis.interval == pytest.approx((-5 / 18 - half, -5 / 18 + half), abs=1e-9)
    assert item.p_adjusted == pytest.approx(2 * stats.t.sf(5 / 18 / error, 29), abs=1e-9)
    assert (item.verdict, item.decides) == ("worse", "labels")
    assert "worse by 0.278" in str(found)
    assert "the labels decide: the judge alone shows +0.000 (p 1.0000)" in str(found)
    assert "fell by 0.278" in find_max_drop_problem(found, item, 0.1)
    assert find_not_worse_problem(found, item, 0.1)


@pytest.mark.parametrize("labels", [10, 24, 30])
def test_labels_that_contradict_the_judge_overrule_it(labels):
    """The judge sees a loss in 30 samples; people see none in those of them that they looked at."""
    found = relabelled(fallen(200, 30), labels, lambda *_: [True] * 3)
    item = found["context_recall"]
    assert (item.decides, item.p < 1e-4) == ("labels", True)
    assert item.verdict == "no difference shown"
    assert (
        "the labels decide: the judge alone shows -0.050 (p < 0.0001), and they speak against it"
        in str(found)
    )
    assert find_max_drop_problem(found, item, 0.02) is None
    assert "the labels speak against it: " in describe_overruled(item, 0.02)


def test_labels_speak_against_a_pass_of_the_judge():
    """The judge sees no change; ten of 40 labelled samples lost a sentence."""
    runs = [run([sample(n, FACTS) for n in range(100)], metrics=METRICS[:1]) for _ in range(2)]
    found = relabelled(runs, 40, lambda side, n: [True, True, not side or n >= 10])
    item = found["context_recall"]
    problem = find_not_worse_problem(found, item, 0.05)
    assert "the judge alone shows that it did not, and the labels speak against it" in problem
    assert "(difference -0.083 by the labels, " in problem


def labelled_files(tmp_path, lost, said, worse=1):
    """Two runs of 100 samples with two sentences, of which the run ``worse`` has one in ``lost``, and two labels of each."""
    files = []
    for side in (0, 1):
        samples = [
            Sample(id=f"n{n}", user_input=f"q{n}?", reference=" ".join(FACTS[:2]), retrieved_contexts=FACTS[:1]
                   if side == worse and n in lost else FACTS[:2], retrieved_context_ids=None, metadata={"side": side})
            for n in range(100)
        ]  # fmt: skip
        path = write(run(samples, metrics=METRICS[:1]), tmp_path / f"{side}.jsonl")
        known = samples_by_key(samples)
        file = LabelsFile(tmp_path / f"{side}.labels.jsonl")
        file.begin(draw(known, 100, seed=1))
        for key in [key for key in known if key[0] in {"n98", "n99"}]:
            for question, answer in zip(
                list_questions(key, known[key], ["unit_supported"]), said[side], strict=True
            ):
                file.add(PersonAnswer(question, answer, "ann", 1.0))
        files += [path, "--labels", file.path]
    return files


def ten_losses(tmp_path, labels, *, by_truth=True):
    """Two runs of 100 samples, of which every tenth loses all, and labels of the first ones in both."""
    files = []
    for side in (0, 1):
        samples = [
            Sample(id=f"n{n}", user_input=f"q{n}?", reference=FACTS[0], retrieved_context_ids=None,
                   retrieved_contexts=FACTS[1:2] if side and n % 10 == 0 else FACTS[:1], metadata={"side": side})
            for n in range(100)
        ]  # fmt: skip
        files.append(write(run(samples, metrics=METRICS[:1]), tmp_path / f"{side}.jsonl"))
        if not labels:
            continue
        known = samples_by_key(samples)
        file = LabelsFile(tmp_path / f"{side}.labels.jsonl")
        file.begin(draw(known, 100, seed=1))
        for number, key in enumerate([*known][:labels]):
            lost = by_truth and side and number % 10 == 0
            for question in list_questions(key, known[key], ["unit_supported"]):
                file.add(PersonAnswer(question, "no" if lost else "yes", "ann", 1.0))
        files += ["--labels", file.path]
    return files


@pytest.mark.parametrize("labels", [0, 10, 24, 25, 50, 100])
def test_true_labels_leave_a_right_gate_red(tmp_path, labels):
    """A true loss of .10 and an exact judge: labels that agree with it everywhere turn no gate green, however many."""
    done = run_command("compare", *ten_losses(tmp_path, labels), "--max-drop", "context_recall=0.02")
    assert done.returncode == 1, done.stdout
    assert "context_recall: worse by 0.100" in done.stdout
    decides = {0: "", 100: "the labels decide"}.get(labels, "the judge decides")
    assert decides in done.stdout
    assert "fell by 0.100, more than 0.02" in done.stderr


@pytest.mark.parametrize("labels", [20, 24, 25, 50, 100])
def test_contradicting_labels_turn_a_wrong_gate_green(tmp_path, labels):
    """The judge invents all ten losses: people see them in none of the samples that they labelled."""
    files = ten_losses(tmp_path, labels, by_truth=False)
    done = run_command("compare", *files, "--max-drop", "context_recall=0.02")
    assert done.returncode == 0, done.stdout
    verdict = "few changed" if labels == 100 else "no difference shown"
    assert f"context_recall: {verdict}" in done.stdout
    assert "the labels decide: the judge alone shows -0.100 (p 0.0013)" in done.stdout
    assert "speak against it" in done.stdout
    assert (
        "the judge alone shows a loss of more than 0.02, and the labels speak against it" in done.stderr
    )


def test_one_contradicting_label_is_too_few_and_text_says_so(tmp_path):
    """One of ten labels is about a loss of the judge, and says that it is none."""
    files = ten_losses(tmp_path, 10, by_truth=False)
    done = run_command("compare", *files, "--max-drop", "context_recall=0.02")
    assert done.returncode == 1
    assert "the judge decides: 10 labels show another difference, but are too few" in done.stdout
    assert "10 labels show no such loss, but are too few to overrule the judge" in done.stderr


def test_two_unchanged_labels_turn_no_red_gate_green(tmp_path):
    command = ("compare", *labelled_files(tmp_path, range(40), [("yes", "yes")] * 2))
    for gate in ("--max-drop", "--not-worse"):
        done = run_command(*command, gate, "context_recall=0.02")
        assert done.returncode == 1, done.stdout
    assert "context_recall: worse by 0.200" in done.stdout
    assert "corrected by 2 samples with labels in both runs: -0.200" in done.stdout
    assert "the judge decides: the labels do not speak against its direction" in done.stdout
    assert "contradict" not in done.stdout


def test_two_equal_labels_make_no_run_better(tmp_path):
    files = labelled_files(tmp_path, {98, 99}, [("yes", "no"), ("yes", "yes")], worse=0)
    done = run_command("compare", *files, "--format", "json")
    (item,) = json.loads(done.stdout)["metrics"]
    assert item["verdict"] == "few changed"
    assert item["corrected"]["people"] == 0.5
    low, high = item["corrected"]["interval"]
    assert (low, high) == (-1.0, 1.0)
    assert item["corrected"]["p"] > 0.5


def test_small_p_values_are_written_alike_everywhere():
    one, other = fallen(60, 30)
    found = one.compare(other)
    assert found["context_recall"].p < 1e-4
    assert "< 0.0001" in str(found)
    assert "| &lt; 0.0001 |" in found.markdown()
    assert ">&lt; 0.0001<" in found.html()
    for text in (str(found), found.markdown(), found.html()):
        assert "0.0000" not in text
    assert found.to_dict()["metrics"][0]["p"] == found["context_recall"].p


@pytest.mark.slow
def test_row_has_interval_and_p_value_of_one_test():
    """Losses in 12 and gains in 4 of 16: p 0.04, and 0.08 beside a second metric that is as good."""
    first = [sample(n, FACTS[: 3 if n < 12 else 2]) for n in range(60)]
    second = [sample(n, FACTS[: 2 if n < 12 else 3 if n < 16 else 2]) for n in range(60)]
    more = [ContextRecall(), ContextRecall(top_k=3)]
    found = run(first, metrics=more).compare(
        run(second, metrics=more), metrics=["context_recall", "context_recall(top_k=3)"]
    )
    item = found["context_recall"]
    stats = pytest.importorskip("scipy.stats")
    p = stats.ttest_1samp([-1 / 3] * 12 + [1 / 3] * 4 + [0] * 44, 0).pvalue
    assert 0.025 < p < 0.05
    assert item.interval[1] < 0
    assert item.verdict == "no difference shown"
    (row,) = [line for line in str(found).splitlines() if re.match("context_recall  ", line)]
    assert f"{p:.4f}" in row
    assert row.endswith(f"no difference shown ({2 * p:.4f})")


def test_adjusted_verdict_stands_in_each_table(tmp_path):
    """Of six groups, one loses 12 and gains 4 of 16: its p is 0.04, and 0.24 by Holm."""
    first, second = [], []
    for n in range(360):
        changed = n % 60 if n < 60 else 59
        metadata = {"topic": f"t{n // 60}"}
        first.append(sample(n, FACTS[: 3 if changed < 12 else 2], metadata=metadata))
        kept = 2 if changed < 12 else 3 if changed < 16 else 2
        second.append(sample(n, FACTS[:kept], metadata=metadata))
    grouped = run(first).compare(run(second), by="metadata.topic")
    item = grouped.groups["t0"][0]
    assert item.interval[1] < 0
    assert item.p_adjusted > 0.2
    cell = re.compile(rf"no difference shown \W+(40;)?{item.p_adjusted:.4f}")
    for text in (str(grouped), grouped.markdown(), grouped.html()):
        assert "verdict by Holm" in text
        assert cell.search(text)
    assert str(grouped).count("verdict by Holm") == 1  # not in the table of all samples: it has one p


@dataclass(frozen=True)
class Fickle(Verbatim):
    """As `Verbatim`, and says no to the last sentence of these questions."""

    doubts: tuple[str, ...] = ()

    async def attribute(self, request):
        found = await super().attribute(request)
        if request.user_input not in self.doubts:
            return found
        *verdicts, last = found.verdicts
        return replace(found, verdicts=(*verdicts, replace(last, value=False, evidence=())))


def test_ids_say_whether_the_same_was_retrieved(tmp_path):
    def score(*retrieved):
        rows = [
            {"id": str(number), "retrieved_context_ids": ids, "reference_context_ids": ["a", "b"]}
            for number, ids in enumerate(retrieved)
        ]
        return evaluate(rows, [IDBasedContextRecall()])

    before, after = score(["a", "b"], ["a", "b"], []), score(["a", "x"], ["b", "a"], [])
    # The worst first: the first sample lost an id, the second has another order.
    same = [item.same_contexts for item in compare(before, after).worst]
    assert same == [False]
    before.to_baseline(tmp_path / "baseline.jsonl")
    (changed,) = compare(tmp_path / "baseline.jsonl", after).worst
    assert changed.same_contexts is None  # a baseline has no ids


@pytest.mark.slow
def test_changed_samples_name_contexts_or_judge_as_the_cause(tmp_path):
    """The search loses a sentence of three samples; the judge loses one of two others, whose contexts are the same."""
    before = run([sample(n, FACTS) for n in range(20)], metrics=METRICS[:1])
    changed = [sample(n, FACTS[:2] if n < 3 else FACTS) for n in range(20)]
    questions = tuple(one.user_input for one in changed[3:5])
    after = run(changed, metrics=METRICS[:1], judge=Fickle(doubts=questions))
    files = write(before, tmp_path / "a.jsonl"), write(after, tmp_path / "b.jsonl")
    done = run_command("compare", *files)
    assert "3 of 5 changes with other contexts, 2 with the same: the judge" in done.stdout
    # 17 samples of three sentences have equal requests.
    assert "the judge's instability: 2 of 51 verdicts on equal requests differ (0.039)" in done.stdout
    assert "n0, context_recall 1.000 to 0.667, other contexts" in done.stdout
    assert "n3, context_recall 1.000 to 0.667, same contexts" in done.stdout
    data = json.loads(run_command("compare", *files, "--format", "json").stdout)
    assert data["metrics"][0]["causes"] == {
        "other_contexts": 3, "same_contexts": 2, "verdicts": 51, "different": 2, "instability": pytest.approx(2 / 51),
    }  # fmt: skip
    assert [item["same_contexts"] for item in data["worst"]] == [False] * 3 + [True] * 2
    run_command("compare", *files, "--report", tmp_path / "page.html")
    assert "2 with the same: the judge" in (tmp_path / "page.html").read_text()


def test_assert_not_worse(tmp_path):
    before = run([sample(n, FACTS) for n in range(20)])
    baseline = write(before, tmp_path / "baseline.jsonl")
    assert assert_not_worse(before, baseline)["context_recall"].equal == 20
    after = run([sample(n, FACTS[:2]) for n in range(20)])
    with pytest.raises(
        AssertionError, match=r"(?s)context_recall fell by 0.333, more than 0.02.*n0 s3: The tower"
    ):
        assert_not_worse(after, baseline)
    assert_not_worse(after, baseline, margin={"context_precision": 0.0})
    with pytest.raises(InputFileError, match=r"Write one with: results.to_baseline"):
        assert_not_worse(after, tmp_path / "absent.jsonl")


def test_score_names_failing_samples_and_gates_the_pass_rate(tmp_path):
    file, junit = tmp_path / "data.jsonl", tmp_path / "j.xml"
    file.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in AFTER))
    metric = ("-m", "context_recall(threshold=0.5)")
    done = run_command(
        "score", file, *metric, "--fail-under", "context_recall=0.9", "--min-pass-rate", "context_recall=0.4",
        "--junit", junit, GITHUB_STEP_SUMMARY=str(tmp_path / "s.md"),
    )  # fmt: skip
    assert done.returncode == 1
    assert "below 0.9\n    n2: 0.0\n    n1: 0.3333\n" in done.stderr
    suite = ET.parse(junit).getroot()[0]  # noqa: S314 - we wrote it
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "```text\nmetric" in (tmp_path / "s.md").read_text()
    done = run_command("score", file, *metric, "--min-pass-rate", "context_recall=0.9")
    assert done.returncode == 1
    assert (
        "the pass rate of context_recall is 0.5000 (2 of 4), below 0.9\n    n2: 0.0\n    n1: 0.3333"
        in done.stderr
    )
    for bar, status in (("0", 0), ("1", 1), ("1.1", 2)):
        done = run_command("score", file, *metric, "--min-pass-rate", f"context_recall={bar}")
        assert done.returncode == status
    done = run_command("score", file, "-m", "context_recall", "--min-pass-rate", "context_recall=0.9")
    assert done.returncode == 2
    assert "has no pass mark" in done.stderr


def test_a_baseline_ratchets(tmp_path):
    # Recalls by sample: 1/2, 1/2, then 1, 1/2, then 0, 1.
    base = tmp_path / "base.jsonl"
    texts = ["Tea is hot.", "Ice is cold."]

    def score(*contexts, fields=(), gate="context_recall=0.25"):
        file = tmp_path / "s.jsonl"
        rows = [
            {"id": f"q{n}", "reference": " ".join(texts), "retrieved_contexts": list(given)}
            for n, given in enumerate(contexts)
        ]
        file.write_text("\n".join(json.dumps({**row, **dict(fields)}) for row in rows))
        options = ("--metric", "context_recall", "--fail-under", gate)
        return run_command("score", file, *options, "--write-baseline", f"{base}.best")

    def read():
        return Results.from_jsonl(base).summary()["context_recall"].mean

    first = score(texts[:1], texts[1:])
    assert (first.returncode, read()) == (0, 0.5)
    headroom = "note: --fail-under context_recall=0.25: passes down to {} below the baseline's {}"
    assert headroom.format(0.25, "0.5000") in first.stderr
    score(texts, texts[1:])
    assert read() == 0.75
    worse = score(["Milk."], texts, gate="context_recall=0.6")
    assert (worse.returncode, read()) == (1, 0.75)  # the gate is about the run: its mean is 0.5
    assert f"{base} stays: context_recall fell (difference -0.250," in worse.stderr
    assert "passes down to 0.15 below the baseline's 0.7500" in worse.stderr
    assert "1 sample of the first run is not in the second" in score(texts).stderr
    other = score(texts, texts, fields={"reference": "Tea is hot."}.items())
    assert "the runs differ in question" in other.stderr
    assert (other.returncode, read()) == (0, 0.75)
    done = run_command(
        "score", tmp_path / "s.jsonl", "-m", "context_precision", "--write-baseline", f"{base}.best"
    )
    assert f"{base} stays: this run has no context_recall" in done.stderr


def test_contradictions_that_one_run_has_are_notes(tmp_path):
    doubted = sample(
        1,
        ["The pump is covered for 1 year. Registration ends after 2 years."],
        reference="The pump is covered for 2 years.",
    )
    clear = replace(doubted, retrieved_contexts=["The pump is covered for 2 years."])
    before, after = (run([item], LexicalJudge(), METRICS[:1]) for item in (doubted, clear))
    said = "uncertain: number: '2 years' against '1 year'"
    assert before.compare(after).notes == (f"first run only, n1, s1: {said}",)
    assert after.compare(before).notes == (f"second run only, n1, s1: {said}",)
    assert before.compare(before).notes == ()
    before.to_baseline(tmp_path / "base.jsonl")  # its hashes cannot be compared with texts
    assert compare(tmp_path / "base.jsonl", after).notes == ()


def test_contexts_of_another_index_are_unknown_to_the_other_run():
    """Two indexes of twenty samples without a common id: nothing says whether a context stands in the other one."""
    first = [sample(n, [" ".join(FACTS)], retrieved_context_ids=[f"a{n}"]) for n in range(20)]
    second = [sample(n, ["Something else."], retrieved_context_ids=[f"b{n}"]) for n in range(20)]
    found = run(first).compare(run(second))
    assert found.notes[0].startswith("another index, or other ids: of 20 retrieved ids 0 are in both")
    assert {held.unknown for unit in found.lost for held in unit.contexts} == {"index"}


def test_name_of_a_changed_sample_is_cut():
    named = sample(1, FACTS, id="n" * 50)
    found = run([named]).compare(run([replace(named, user_input="Another?")]), accept=["question"])
    assert found.notes[0].endswith(f": {'n' * 40})")


# ---- what the other run did with a context that supported a unit ----


def without_hashes(results, path):
    """Write results whose samples have no hashes of their contexts."""
    lines = [json.loads(line) for line in write(results, path).read_text().splitlines()]
    for line in lines:
        for part in (line, line.get("sample") or {}):
            part.pop("context_hashes", None)
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_same_id_with_another_text_is_no_missing_hash(tmp_path):
    """A retriever of paragraphs against one of sentences: each lost sentence stood under an id that both retrieved."""
    paragraph = [sample(n, [" ".join(FACTS)], retrieved_context_ids=[f"p{n}"]) for n in range(4)]
    sentences = [sample(n, ["Something else."], retrieved_context_ids=[f"p{n}"]) for n in range(4)]
    found = run(paragraph).compare(run(sentences))
    contexts = [held for unit in found.lost for held in unit.contexts]
    assert len(contexts) == 12
    assert {(held.retrieved_by_both, held.unknown) for held in contexts} == {(None, "text")}
    assert found.to_dict()["lost"][0]["contexts"][0]["unknown"] == "text"
    page = found.html()
    assert "no hashes" not in page
    assert (
        page.count("Context 1 of the other run has the id of another text that was retrieved here.")
        == 12
    )
    for text in (str(found), found.markdown()):
        assert "context 1 has the id of another text that was retrieved by the other run" in text


@pytest.mark.parametrize("bare", ["first", "second"])
def test_missing_hashes_are_named_as_the_reason(tmp_path, bare):
    runs = {}
    for name, samples in (("first", BEFORE), ("second", AFTER[:2])):
        ids = [
            replace(item, retrieved_context_ids=list("abc"[: len(item.retrieved_contexts)]))
            for item in samples[:2]
        ]
        runs[name] = run(ids)
    runs[bare] = without_hashes(runs[bare], tmp_path / "bare.jsonl")
    found = compare(runs["first"], runs["second"])
    assert {held.unknown for unit in found.lost for held in unit.contexts} == {"hashes"}
    assert "may have been retrieved here: a run kept no hashes." in found.html()


def test_nothing_retrieved_is_known_by_both():
    """Sample n2 of the second run retrieved nothing: that is known, an empty list of hashes is there."""
    found = run(BEFORE).compare(run(AFTER))
    empty = [held for unit in found.lost if unit.sample_id == "n2" for held in unit.contexts]
    assert {(held.retrieved_by_both, held.unknown) for held in empty} == {(False, None)}


# ---- what the gate says where a loss is shown ----


def test_gate_says_fell_where_the_whole_interval_is_below():
    """Twelve samples lose two of three sentences each: .667 below, and the interval ends below -.1."""
    one, other = fallen(14, 12, kept=1)
    found = one.compare(other)
    item = found["context_recall"]
    assert item.interval is not None
    assert item.interval[1] < -0.1
    for problem in (find_not_worse_problem(found, item, 0.1), find_max_drop_problem(found, item, 0.1)):
        assert str(problem).startswith("context_recall fell by 0.571, more than 0.1 (difference -0.571")
    # Above the lower end of the interval, but not above the upper one, it is open.
    assert "may have fallen by more than 0.55" in str(find_not_worse_problem(found, item, 0.55))


def test_rows_of_two_runs_are_no_run():
    fields = {"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}
    first, second = Sample(id="1", **fields), Sample(id="2", **fields)
    recall = evaluate([first], ["id_based_context_recall"])
    precision = evaluate([second], ["id_based_context_precision"])
    both = evaluate([first, second], ["id_based_context_recall"])
    with pytest.raises(ParameterError, match="the rows of a run have different metrics"):
        compare([*recall, *precision], both)


@pytest.mark.parametrize("run", [None, 5])
def test_what_is_no_run_is_refused(run):
    fields = {"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}
    other = evaluate([Sample(id="1", **fields)], ["id_based_context_recall"])
    for runs in ((run, other), (other, run)):
        with pytest.raises(ParameterError, match="a run is Results or the file of results"):
            compare(*runs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "context_recall"}, r"metrics must be a list. Write metrics=\['context_recall'\]"),
        ({"labels": "lab.jsonl"}, r"labels must be a list. Write labels=\['lab.jsonl'\]"),
        ({"labels": Path("lab.jsonl")}, r"labels must be a list. Write labels=\['lab.jsonl'\]"),
        ({"by": ["topic"]}, r"\['topic'\] is no key of the metadata. Write one text"),
        ({"cluster": 5}, "5 is no key of the metadata. Write one text"),
    ],
)
def test_an_option_of_the_wrong_kind_is_explained(options, message):
    fields = {"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}
    run = evaluate([Sample(id="1", **fields)], ["id_based_context_recall"])
    with pytest.raises(ParameterError, match=message):
        compare(run, run, **options)


def test_zero_is_never_written_below_zero():
    found = run([sample(n, FACTS) for n in range(2)]).compare(
        run([sample(n, FACTS) for n in range(2)])
    )["context_recall"]
    assert format_number(-1e-9, found, sign="+") == "+0.000"
    assert format_number(-1e-9, found) == "0.000"


def test_the_interval_of_a_difference_ends_at_the_scale():
    """27 of 30 samples lost all: Student's interval would end below -1."""
    stats = pytest.importorskip("scipy.stats")
    before = run([sample(n, FACTS) for n in range(30)])
    after = run([sample(n, () if n < 27 else FACTS) for n in range(30)])
    low, high = before.compare(after)["context_recall"].interval
    oracle = stats.ttest_1samp([-1.0] * 27 + [0.0] * 3, 0).confidence_interval(0.95)
    assert oracle.low < -1.0 == low
    assert high == pytest.approx(oracle.high)


def test_gate_names_the_clusters_where_there_is_one():
    before = run([sample(n, FACTS, metadata={"document": "a"}) for n in range(12)])
    after = run([sample(n, (), metadata={"document": "a"}) for n in range(12)])
    comparison = before.compare(after, cluster="metadata.document")
    problem = check_difference(comparison, "--max-drop", "context_recall", 0.02).problem
    assert (
        problem
        == "context_recall has values for 12 samples of one cluster in both runs: too few to say anything"
    )


def test_no_detectable_difference_is_above_the_scale():
    """Two of four documents are lost: with three degrees of freedom, not even a loss of all would be found."""
    before = run([sample(n, FACTS, metadata={"document": n // 5}) for n in range(20)])
    after = run([sample(n, () if n < 9 else FACTS, metadata={"document": n // 5}) for n in range(20)])
    found = before.compare(after, cluster="metadata.document")["context_recall"]
    stats = pytest.importorskip("scipy.stats")
    error = stats.sem([-1.0, -0.8, 0.0, 0.0])
    assert (stats.t.ppf(0.975, 3) + stats.t.ppf(0.8, 3)) * error > 1.0
    assert found.detectable is None
