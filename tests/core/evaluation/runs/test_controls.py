"""Controls: labelled samples that the judge of a run judges in between."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    LLMJudge,
    NonLLMContextRecall,
    Sample,
    estimate,
    evaluate,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.report.report import render_html
from ctxmetrics.evaluation.report.summary import Controls
from ctxmetrics.evaluation.runs.controls import (
    _choose_ids,
    _order_samples,
    labelled_samples,
    placed_samples,
)
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.scripted import ScriptedModel
from ctxmetrics.verdicts import Usage
from support import read_question
from support.command import run_command
from support.judges import honest, lenient, strict
from support.rows import read_rows

METRICS = [ContextRecall(), ContextPrecision()]
OF_CONTROLS = {item.sample.user_input for item in (*placed_samples(), *labelled_samples())}


def samples(count: int, language: str = "en") -> list[Sample]:
    text = "The lamp runs for {} hours." if language == "en" else "Лампа работает {} часов."
    return [
        Sample(
            id=str(number),
            user_input=f"What of {number}?",
            response=text.format(number),
            reference=text.format(number),
            retrieved_contexts=[text.format(number), "It rained."],
            reference_contexts=[text.format(number)],
        )
        for number in range(count)
    ]


class Judge:
    """Right about everything, or changed in what it says of the controls; notes what it was asked."""

    def __init__(self, change: Any = None) -> None:
        self.asked: list[str] = []
        self._change = change

    def __call__(self, prompt: Any) -> dict[str, Any]:
        question = read_question(prompt.text)
        self.asked.append(question.data["question"])
        if question.data["question"] in OF_CONTROLS:
            item, question, reply = honest(prompt)
            if self._change:
                self._change(item, question, reply)
            return reply
        evidence = [{"context": "c1", "quote": question.contexts["c1"], "whole": True}]
        units = {id_: {"evidence": evidence, "supported": True} for id_ in question.units}
        own = "" if units else question.contexts["c1"]
        rated = {"c1": {"quote": own, "useful": True}, "c2": {"quote": "", "useful": False}}
        return {"code": question.code, "sentences": units, "useful": rated}

    @property
    def judge(self) -> LLMJudge:
        return LLMJudge(ScriptedModel(self))


def run(
    given: Any, metrics: Any = METRICS, controls: int = 20, **options: Any
) -> tuple[Any, list[str]]:
    forget()
    judge = Judge(options.pop("change", None))
    options = {"max_concurrency": 1, "progress": False, **options}
    return evaluate(given, metrics, judge=judge.judge, controls=controls, **options), judge.asked


def test_right_judge_is_right_and_rows_equal_a_run_without(tmp_path):
    with_them, asked = run(samples(40))
    without, own = run(samples(40), controls=0)
    assert [question for question in asked if question not in OF_CONTROLS] == own
    assert len(asked) == len(own) + 20
    assert [row.sample for row in with_them] == [row.sample for row in without]
    for name in ("context_recall", "context_precision"):
        one, other = with_them.summary()[name], without.summary()[name]
        assert (one.mean, one.samples, one.verdicts, one.answers) == (
            other.mean,
            other.samples,
            other.verdicts,
            other.answers,
        )
    for number, results in enumerate((with_them, without)):
        results.to_jsonl(tmp_path / f"{number}.jsonl")
    rows = [read_rows(tmp_path / f"{number}.jsonl") for number in range(2)]
    for row in (*rows[0], *rows[1]):
        row["provenance"].pop("judge")
    assert rows[0] == rows[1]
    assert without.controls is None
    found = with_them.controls
    assert (found.samples, found.right, found.wrong) == (20, found.verdicts, {})
    assert found.usage.calls == 20


@pytest.mark.parametrize("many", [list, iter])
def test_they_are_spread_over_the_run(many):
    _, asked = run(many(samples(100)), [ContextRecall()])
    places = [place for place, question in enumerate(asked) if question in OF_CONTROLS]
    assert len(places) == 20
    gaps = [after - before for before, after in pairwise(places)]
    if many is list:
        assert set(gaps) == {6}  # five samples between two of them
    else:
        assert gaps[:9] == [
            2,
            4,
            6,
            8,
            10,
            12,
            14,
            16,
            18,
        ]  # their distance grows; the others follow at the end
        assert gaps[-9:] == [1] * 9
    _, asked = run(samples(2), [ContextRecall()])
    assert asked.count("What of 1?") == 1
    assert [asked.index(own) > 0 for own in ("What of 0?", "What of 1?")] == [True, True]


@pytest.mark.parametrize(
    ("metrics", "change", "share"),
    [
        (METRICS, lenient, 0.5),
        (METRICS, strict, 0.5),
        ([ContextRecall()], lenient, 0.5),
        ([ContextPrecision()], strict, 0.5),
        ([ContextUtilization()], strict, 0.5),
    ],
)
def test_a_judge_that_says_one_thing_is_right_about_half(metrics, change, share):
    results, _ = run(samples(5), metrics, change=change)
    found = results.controls
    assert found.share == share
    assert sum(found.wrong.values()) == found.verdicts - found.right
    assert found.interval[0] < share < found.interval[1]


def test_every_output_says_it(tmp_path):
    results, _ = run(samples(5), change=strict)
    line = results.controls.describe()
    told = re.match(r"controls: (\d+) of (\d+) verdicts right \(0\.\d\d to 0\.\d\d\); too few", line)
    assert "; too few right about sentences: 29 of 58; " in line
    assert "; too few right about sentences, later contexts: 0 of " in line
    assert "; too few right about sentences, forms of a no: " in line
    assert "; wrong: " in line
    assert told
    assert results.summary().to_dict()["controls"]["right"] == int(told[1])
    for text in (str(results.summary()), render_html(results.report())):
        assert line in " ".join(text.split())
    russian, _ = run(samples(5, "ru"), [ContextRecall(convention="ru")], change=strict)
    text = " ".join(str(russian.summary()).split())
    assert "вердиктов верны" in text
    assert "слишком мало верных: предложений, вторая половина:" in text


def test_controls_are_in_the_language_of_the_first_sample():
    own = [item for item in (*placed_samples(), *labelled_samples()) if item.language == "ru"]
    _, asked = run(samples(5, "ru"))
    found = [question for question in asked if question in OF_CONTROLS]
    assert len(own) == 17 + 4
    assert set(found) <= {item.sample.user_input for item in own}
    assert sum(bool(re.search("[а-я]", question)) for question in found) == min(20, len(own))


def test_cached_controls_cost_nothing_and_are_counted_apart(tmp_path):
    judge = Judge().judge
    options = {"judge": judge, "controls": 20, "cache": tmp_path, "progress": False}
    forget()
    first = evaluate(samples(5), METRICS, **options)
    forget()
    second = evaluate(samples(5), METRICS, **options)
    assert (first.usage.calls, first.controls.usage.calls) == (25, 20)
    assert (second.usage.calls, second.usage.reused) == (0, 10)
    assert (second.controls.usage.calls, second.controls.usage.reused) == (0, 40)
    assert second.controls.right == first.controls.right


def test_an_estimate_counts_them():
    forget()
    judge = Judge().judge
    without = estimate(samples(5), METRICS, judge=judge)
    found = estimate(samples(5), METRICS, judge=judge, controls=20)
    assert (without.calls, found.calls, found.samples) == (5, 25, 5)
    assert found.reused == without.reused


def test_unjudged_control_is_not_right_and_stopped_not_counted():
    def silent(item: Any, question: Any, reply: dict[str, Any]) -> None:
        for key in ("sentences", "useful"):
            reply[key] = {}

    results, _ = run(samples(5), change=silent)
    assert results.controls.right == 0
    results, _ = run(samples(5), max_calls=0)
    assert (results.controls.right, results.controls.samples) == (0, 20)


@pytest.mark.parametrize(
    ("metrics", "controls", "match"),
    [
        ([NonLLMContextRecall()], 20, "no metric of this run has a judge"),
        (METRICS, 46, "must be at most 45"),
        (METRICS, -1, "controls"),
    ],
)
def test_what_cannot_be_is_refused(metrics, controls, match):
    with pytest.raises(ParameterError, match=match):
        evaluate(samples(1), metrics, controls=controls, progress=False)


@pytest.mark.parametrize("language", ["en", "ru", "de"])
@pytest.mark.parametrize("number", [1, 7, 20, 45])
def test_as_many_yeses_as_noes_are_counted(language, number):
    chosen = _order_samples(language)[:number]
    assert len({item.sample.id for item in chosen}) == number
    truth = {str(item.sample.id): item.truth for item in chosen}
    counted = _choose_ids(chosen, "sc")
    values = [(id_[0], truth[sample][id_]) for sample, ids in counted.items() for id_ in ids]
    groups = {group: values.count(group) for group in values}
    for part in "sc":
        assert groups.get((part, True)) == groups.get((part, False))
    assert None not in {value for _, value in values}


def useful(_: Any, question: Any, reply: dict[str, Any]) -> None:
    for id_, entry in reply["useful"].items():
        entry.update(useful=True, quote=question.contexts[id_])


def useless(_: Any, __: Any, reply: dict[str, Any]) -> None:
    for entry in reply["useful"].values():
        entry.update(useful=False, quote="")


def unproven(_: Any, __: Any, reply: dict[str, Any]) -> None:
    for entry in reply["useful"].values():
        entry.update(useful=True, quote="what no context holds")


@pytest.mark.parametrize("change", [useful, useless, unproven])
def test_a_judge_that_is_wrong_about_contexts_fails_on_them(change):
    found = run(samples(5), change=change)[0].controls
    assert found.parts["sentences"][0] == found.parts["sentences"][1]
    right, total = found.parts["contexts"]
    assert found.lowest == right / total <= 0.5 < found.share
    assert found.failed[0] == "contexts"


def _read_only(choose: Any) -> Any:
    """Change a reply as if some contexts were not read."""

    def change(item: Any, question: Any, reply: dict[str, Any]) -> None:
        ids = [*question.contexts]
        shown = choose(ids, [id_ for id_ in ids if item["useful"][int(id_[1:]) - 1]])
        for id_, entry in reply["sentences"].items():
            entry["evidence"] = [one for one in entry["evidence"] if one["context"] in shown]
            if entry["supported"] and not entry["evidence"]:
                entry.update(supported=False, missing=question.units[id_])
        for id_, entry in reply["useful"].items():
            if id_ not in shown:
                entry.update(useful=False, quote="")

    return change


def empty(_: Any, __: Any, reply: dict[str, Any]) -> None:
    for entry in reply["sentences"].values():
        if not entry["supported"]:
            entry.update(evidence=[], missing="")


def on_topic(item: Any, question: Any, reply: dict[str, Any]) -> None:
    if item["kind"] == "topic":
        for entry in reply["sentences"].values():
            quote = question.contexts["c1"]
            entry.update(evidence=[{"context": "c1", "quote": quote, "whole": True}], supported=True)
            entry["missing"] = ""


@pytest.mark.parametrize("controls", [20, 24])
@pytest.mark.parametrize(
    ("change", "group"),
    [
        (_read_only(lambda ids, _: ids[:2]), "sentences, later contexts"),
        (_read_only(lambda ids, _: ids[:2]), "contexts, later contexts"),
        (_read_only(lambda ids, _: ids[-2:]), "sentences, earlier contexts"),
        (
            _read_only(lambda ids, useful: ids[: ids.index(useful[0]) + 1]),
            "sentences, behind the first useful context",
        ),
        (empty, "sentences, forms of a no"),
        (on_topic, "sentences, near topics"),
    ],
    ids=["first two", "first two contexts", "last two", "first useful", "empty form", "topic"],
)
def test_a_judge_that_goes_by_place_form_or_topic_fails(change, group, controls):
    found = run(samples(5), controls=controls, change=change)[0].controls
    assert group in found.failed


def test_a_judge_that_becomes_worse_fails_on_the_second_half():
    def change(item: Any, question: Any, reply: dict[str, Any]) -> None:
        if len(asked) > 10:
            useful(item, question, reply)
        asked.append(item)

    asked: list[Any] = []
    found = run(samples(40), controls=24, change=change)[0].controls
    assert found.failed == ("contexts, second half",)
    assert found.parts["contexts, second half"][0] < found.parts["contexts"][0] < 48


def test_a_judge_that_becomes_better_fails_on_the_first_half():
    def change(item: Any, question: Any, reply: dict[str, Any]) -> None:
        if len(asked) < 12:  # the controls of the first half
            useful(item, question, reply)
        asked.append(item)

    asked: list[Any] = []
    found = run(samples(40), controls=24, change=change)[0].controls
    assert found.failed == ("contexts, first half",)
    # By hand: 12 of its 24 should be yes; all 24 of the second half are right.
    assert found.parts["contexts, first half"] == (12, 24)
    assert found.parts["contexts"] == (36, 48)


@pytest.mark.parametrize(
    ("right", "failed"), [(42, ()), (28, ()), (27, ("contexts",)), (0, ("contexts",))]
)
def test_a_part_fails_where_one_slip_in_ten_gives_it_rarely(right, failed):
    # scipy.stats.binom.cdf([30, 29], 42, 0.9): 0.00062 and 0.00015
    found = Controls(
        samples=24,
        verdicts=42,
        right=right,
        interval=(0, 1),
        wrong={},
        usage=Usage(),
        parts={"contexts": (right, 42)},
    )
    assert found.failed == failed


def test_a_gate_fails_where_the_judge_is_wrong_too_often(tmp_path):
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(sample.to_dict()) + "\n" for sample in samples(3)))
    asked = ["score", str(file), "-m", "context_recall", "--controls", "20"]
    done = run_command(*asked, "--min-controls", ".99")
    assert done.returncode == 1
    assert re.search(r"gate: controls: \d+ of \d+ verdicts right .*, below 0.99", done.stderr)
    assert run_command(*asked, "--min-controls", ".1").returncode == 0
    done = run_command("score", str(file), "--min-controls", ".5")
    assert (done.returncode, "--min-controls needs --controls" in done.stderr) == (2, True)


def test_evaluate_says_how_many_controls_there_are():
    with pytest.raises(ParameterError, match="must be at most 45"):
        evaluate([], [ContextRecall()], controls=46)
    assert "up to 45:" in evaluate.__doc__
