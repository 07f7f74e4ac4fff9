"""Frameworks' own metrics beside ours, with the same verdicts: each value that differs is led to by a rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedContextPrecision,
    NonLLMContextRecall,
    Sample,
    ScriptedJudge,
)
from ctxmetrics.adapting.natives import Native, Rule, explain_difference, native_of
from ctxmetrics.cli._app import app
from ctxmetrics.errors import ParameterError
from ctxmetrics.files import read_samples
from ctxmetrics.metrics import METRICS

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook.jsonl"
FIVE = Sample(
    id="five",
    user_input="What is known of the pump?",
    reference="The pump is red. It weighs 4 kg. It was built in Oslo. It has two valves. It costs 90 euro.",
    retrieved_contexts=["The pump is red.", "It weighs 4 kg.", "It was built in Oslo."],
)


def judged(sentences: list[str | None], contexts: list[bool | None]) -> ScriptedJudge:
    """A judge that quotes these texts of contexts for a yes; None: it leaves the item out."""
    reply = {
        "data": "$data",
        "sentences": [
            {
                "id": f"s{number}",
                "evidence": [{"context": "c1", "quote": quote, "whole": True}] if quote else [],
                "missing": "" if quote else "not there",
                "supported": bool(quote),
            }
            for number, quote in enumerate(sentences, 1)
            if quote is not None
        ],
        "contexts": [
            {
                "id": f"c{number}",
                "quote": FIVE.retrieved_contexts[number - 1] if useful else "",
                "useful": useful,
            }
            for number, useful in enumerate(contexts, 1)
            if useful is not None
        ],
    }
    return ScriptedJudge({"joint": [reply] * 3})


def native(framework: str) -> Native:
    pytest.importorskip(framework, reason=f"the {framework} extra is not installed")
    from importlib import import_module

    found: Native = import_module(f"ctxmetrics_{framework}.natives").NATIVE
    return found


@pytest.mark.parametrize(("framework", "compared"), [("ragas", 36 * 7), ("deepeval", 36 * 2)])
def test_every_value_of_the_handbook_is_equal_or_explained(framework: str, compared: int) -> None:
    found = explain_difference(
        list(read_samples(HANDBOOK)),
        [kind() for kind in METRICS.values()],
        native(framework),
        progress=False,
    )
    assert len(found.values) == compared
    assert [item for item in found.values if not item.explained] == []
    assert all(item.steps for item in found.different)


# What the judge says of five sentences, and the value of each metric's definition: by hand.
THREE = ["The pump is red.", "It weighs 4 kg.", "It was built in Oslo."]


@pytest.mark.parametrize(
    ("framework", "sentences", "ours", "theirs", "rule"),
    [
        ("ragas", [*THREE, "", ""], 0.6, 0.6, None),
        ("deepeval", [*THREE, "", ""], 0.6, 0.6, None),
        ("ragas", [*THREE, None, None], None, 1.0, "divides by the verdicts that came"),
        ("deepeval", [*THREE, None, None], None, 1.0, "divides by the verdicts that came"),
        ("ragas", [*THREE, "It has two valves.", "It costs 90 euro."], 0.6, 1.0, "believes the judge"),
        ("deepeval", [*THREE, "It has two valves.", "It costs 90 euro."], 0.6, 1.0, "believes the judge"),
    ],
)
def test_recall_moves_by_the_rule_that_is_named(framework, sentences, ours, theirs, rule) -> None:
    # A quote is looked up in every context, not only in the one that is named.
    found = explain_difference(
        [FIVE], [ContextRecall(judge=judged(sentences, [False] * 3))], native(framework), progress=False
    )
    [value] = found.values
    assert (value.ours, value.theirs, value.explained) == (ours, theirs, True)
    assert (
        [step.rule for step in value.steps] == []
        if rule is None
        else value.steps[-1].rule.startswith(rule)
    )


@pytest.mark.parametrize(
    ("framework", "contexts", "ours", "theirs", "rule"),
    [
        ("ragas", [False, True, False], 0.5, 0.5 / (1 + 1e-10), "adds 1e-10"),
        ("deepeval", [False, True, False], 0.5, 0.5, None),
        ("ragas", [None, True, False], None, None, None),  # its reply cannot be read: NaN
        ("deepeval", [None, True, False], None, 1.0, "takes verdicts by their place"),
    ],
)
def test_precision_moves_by_the_rule_that_is_named(framework, contexts, ours, theirs, rule) -> None:
    judge = judged([""] * 5, contexts)
    found = explain_difference([FIVE], [ContextPrecision(judge=judge)], native(framework), progress=False)
    [value] = found.values
    assert (value.ours, value.explained) == (ours, True)
    assert value.theirs == (theirs if theirs is None else pytest.approx(theirs, abs=1e-12))
    assert rule is None or value.steps[-1].rule.startswith(rule)
    assert bool(value.steps) is (rule is not None)


def test_empty_sides_and_cuts_are_explained() -> None:
    samples = [
        Sample(
            id="no reference",
            reference="...",
            response="x",
            retrieved_contexts=["a"],
            reference_contexts=["ab"],
        ),
        Sample(
            id="nothing",
            reference="It is red.",
            response="It is red.",
            retrieved_contexts=[],
            reference_contexts=["a"],
        ),
        Sample(id="half", reference="It is red.", retrieved_contexts=["ab"], reference_contexts=["ac"]),
        Sample(id="ids", retrieved_context_ids=[], reference_context_ids=["a"]),
    ]
    metrics = [
        ContextRecall(),
        ContextPrecision(),
        ContextUtilization(),
        NonLLMContextRecall(),
        IDBasedContextPrecision(),
    ]
    found = explain_difference(samples, metrics, native("ragas"), progress=False)
    assert [item for item in found.values if not item.explained] == []
    values = {(item.sample, item.metric): item for item in found.values}
    assert values["half", "non_llm_context_recall"].steps[-1].rule.startswith("wants more than the cut")
    assert values["ids", "id_based_context_precision"].theirs is None
    deepeval = explain_difference(samples, metrics[:2], native("deepeval"), progress=False)
    assert [item for item in deepeval.values if not item.explained] == []
    zero = next(item for item in deepeval.different if item.metric == "context_recall")
    assert (zero.sample, zero.ours, zero.theirs, zero.steps[-1].rule) == (
        "no reference",
        None,
        0.0,
        "makes 0 of no verdicts",
    )


def test_what_no_rule_explains_is_said() -> None:
    odd = Native(
        "odd 1.0", {"context_recall": "Odd"}, lambda *_: 0.25, (Rule("does nothing", lambda case: case),)
    )
    found = explain_difference([FIVE], [ContextRecall()], odd, progress=False)
    assert "1  not explained by a known rule" in str(found)
    assert found.to_dict()["values"][0]["explained"] is False
    with pytest.raises(ParameterError, match=r"odd 1\.0 has no metric for: context_precision"):
        explain_difference([FIVE], [ContextPrecision()], odd)
    with pytest.raises(ParameterError, match="only values from 0 to 1 can be compared"):
        explain_difference([FIVE], [ContextRecall(convention="aegis")], odd)


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["ragas", "deepeval"])
def test_the_command_prints_at_most_80_columns_and_every_value_as_json(framework: str) -> None:
    from typer.testing import CliRunner

    pytest.importorskip(framework, reason=f"the {framework} extra is not installed")
    assert native_of(framework).name.startswith(framework)
    run = CliRunner().invoke(app, ["explain-difference", str(HANDBOOK), "--against", framework])
    assert run.exit_code == 0, run.output
    lines = run.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[:2] == ["metric", framework]
    run = CliRunner().invoke(
        app, ["explain-difference", str(HANDBOOK), "--against", framework, "--format", "json"]
    )
    told = json.loads(run.stdout)
    assert all(value["explained"] for value in told["values"])
    assert told["judges"] == ["lexical"]
