"""A score in words, to the letter."""

from __future__ import annotations

import pytest

from ctxmetrics import ContextRecall, IDBasedContextRecall, Sample, Score, ScriptedJudge, Verdict
from ctxmetrics.scores.score import Provenance
from ctxmetrics.scores.wording import plural

PARIS = Sample(
    id="paris",
    reference="Paris is the capital of France. It has a population of about 2 million.",
    retrieved_contexts=[
        "Paris is the capital and largest city of France.",
        "The Eiffel Tower is located in Paris.",
    ],
)
PARIS_REPLIES = {
    "claims": [
        {
            "code": "$code",
            "claims": ["Paris is the capital of France", "Paris has a population of about 2 million"],
        }
    ],
    "joint": [
        {
            "code": "$code",
            "sentences": {
                "s1": {
                    "supported": True,
                    "evidence": [
                        {
                            "context": "c1",
                            "quote": "Paris is the capital and largest city of France.",
                            "whole": True,
                        }
                    ],
                },
                "s2": {"supported": False, "missing": "no context gives the population"},
            },
            "useful": {
                "c1": {"useful": True},
                "c2": {"useful": False},
            },
        }
    ],
}


def test_axions_paris_example() -> None:
    score = ContextRecall(convention="axion", judge=ScriptedJudge(PARIS_REPLIES)).score(PARIS)
    assert score.pretty() == (
        "context_recall(convention=axion): 0.5  [paris]\n"
        "  Half the expected facts missing from context\n"
        "  pass mark 0.5: passed\n"
        "  1 of 2 claims supported\n"
        "  ✓ s1 Paris is the capital of France\n"
        '      c1 [0:48] "Paris is the capital and largest city of France."\n'
        "  ✗ s2 Paris has a population of about 2 million\n"
        "      no context gives the population"
    )
    assert score.signals.to_dict() == {
        "recall_score": 0.5,
        "total_gt_statements": 2,
        "supported_gt_statements": 1,
        "statement_breakdown": [
            {"statement_text": "Paris is the capital of France", "is_supported": True},
            {"statement_text": "Paris has a population of about 2 million", "is_supported": False},
        ],
    }


def test_the_russian_page() -> None:
    sample = Sample(
        reference="Эйфелева башня была построена в 1889 году. Она находится в Париже, Франция. Её высота 330 метров.",
        retrieved_contexts=["Эйфелева башня в Париже была завершена в 1889 году."],
    )
    quote = {"context": "c1", "quote": "Эйфелева башня в Париже", "whole": True}
    replies = {
        "code": "$code",
        "sentences": {
            "s1": {"supported": True, "evidence": [quote]},
            "s2": {"supported": "да", "evidence": [quote]},
            "s3": {"supported": "нет", "missing": "высота не названа"},
        },
        "useful": {"c1": {"useful": True}},
    }
    score = ContextRecall(convention="ru", judge=ScriptedJudge({"joint": [replies]})).score(sample)
    assert score.value == 2 / 3
    assert score.pretty() == (
        "context_recall(convention=ru): 0.67 (67%)\n"
        "  Часть ключевой информации отсутствует в контексте\n"
        "  подтверждено предложений: 2 из 3\n"
        "  ✓ s1 Эйфелева башня была построена в 1889 году.\n"
        '      c1 [0:23] "Эйфелева башня в Париже"\n'
        "  ✓ s2 Она находится в Париже, Франция.\n"
        '      c1 [0:23] "Эйфелева башня в Париже"\n'
        "  ✗ s3 Её высота 330 метров.\n"
        "      высота не названа"
    )


def test_reasons_for_a_framework_begin_with_what_was_missed() -> None:
    score = ContextRecall(judge=ScriptedJudge(PARIS_REPLIES)).score(PARIS)
    assert score.reason == (
        "1 of 2 sentences supported.\n"
        's2 no: "It has a population of about 2 million." - no context gives the population\n'
        's1 yes: "Paris is the capital of France." - c1 [0:48] "Paris is the capital and largest city of France."'
    )


def test_aegis_lists_the_reasons_in_reference_order() -> None:
    score = ContextRecall(convention="aegis", judge=ScriptedJudge(PARIS_REPLIES)).score(PARIS)
    assert (score.value, score.passed) == (50.0, False)
    assert score.metadata["unattributed_sentences_reasons"] == [
        "It has a population of about 2 million. - no context gives the population"
    ]


def test_no_value_says_why() -> None:
    score = IDBasedContextRecall().score(Sample(retrieved_context_ids=["a"], reference_context_ids=[]))
    assert score.pretty().startswith(
        "id_based_context_recall: no value (no_reference)\n  no_reference: "
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1.0"),
        (0.0, "0.0"),
        (2 / 3, "0.6667"),
        (0.9999999999, "1.0"),
        (80.0, "80.0"),
        (0.5, "0.5"),
    ],
)
def test_values_are_rounded_for_display_only(value: float, shown: str) -> None:
    assert Score(metric="m", value=value).pretty() == f"m: {shown}"


def test_control_characters_never_reach_a_terminal() -> None:
    hostile = "fine \x1b[2J\x07 text\u202e"
    score = Score(
        metric="m",
        value=0.0,
        sample_id=hostile,
        verdicts=(Verdict(id="s1", value=False, text=hostile, reason=hostile),),
    )
    for text in (score.pretty(), score.reason):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text


def test_colour_on_request_only() -> None:
    score = Score(
        metric="m",
        value=1.0,
        verdicts=(Verdict(id="s1", value=True, text="x"),),
        provenance=Provenance(),
    )
    assert "\x1b[32m✓" in score.pretty(color=True)
    assert "\x1b" not in score.pretty()


def test_a_count_has_its_noun_and_its_verb_in_the_right_form() -> None:
    assert [plural(number, "sample") for number in (0, 1, 2)] == ["0 samples", "1 sample", "2 samples"]
    assert [plural(number, "answer", "has", "have") for number in (1, 3)] == [
        "1 answer has",
        "3 answers have",
    ]
    assert plural(5, "sample", language="ru") == "5 примеров"
