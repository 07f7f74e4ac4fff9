"""Half a surrogate pair in a reply, a name or a key is a character like any other; where it cannot be sent it is refused."""

from __future__ import annotations

import json

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LLMJudge,
    OpenAIModel,
    Results,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics._internal.secrets import mask_secrets, remember_key
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.rows.score_reading import with_whole_characters
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.evaluate import run_in_caller
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.scripted import ScriptedModel

HALF = "\ud83d"
SAMPLE = Sample(reference="It is red. It is big.", retrieved_contexts=["It is red.", "Bananas."])
REPLY = {
    "code": "$code",
    "sentences": {
        "s1": {
            "evidence": [{"context": "c1", "quote": "is red", "whole": True}],
            "missing": "",
            "supported": True,
        },
        "s2": {
            "evidence": [{"context": "c1", "quote": f"big{HALF}", "whole": False}],
            "missing": f"big {HALF}",
            "supported": False,
        },
    },
    "useful": {
        "c1": {"quote": "", "useful": True},
        "c2": {"quote": f"Bananas{HALF}", "useful": False},
    },
}


def values(judge, tmp_path):
    metrics = [ContextRecall(), ContextPrecision()]
    rows = [
        evaluate([SAMPLE], metrics, judge=judge, progress=False, cache=tmp_path)[0] for _ in range(2)
    ]
    return [score.value for row in rows for score in row.scores]


@pytest.mark.parametrize("reply", [REPLY, json.dumps(REPLY, ensure_ascii=False), json.dumps(REPLY)])
@pytest.mark.parametrize("options", [{}, {"keep_raw": True}, {"votes": 3}, {"name": f"own {HALF}"}])
def test_in_a_reply_or_a_name(reply, options, tmp_path):
    assert values(ScriptedJudge({"joint": [reply]}, **options), tmp_path) == [0.5, 1.0] * 2


def test_half_characters_survive_reading_and_resuming(tmp_path):
    asked = []

    def reply(prompt):
        asked.append(prompt)
        return REPLY

    metrics = [ContextRecall(), ContextPrecision()]
    judge = ScriptedJudge(reply, keep_raw=True, name="script")
    out = tmp_path / "out.jsonl"
    evaluate([SAMPLE], metrics, judge=judge, progress=False, out=out)
    (row,) = Results.from_jsonl(out)
    assert [score.value for score in row.scores] == [0.5, 1.0]
    assert row["context_recall"].verdicts[1].reason == "big \ufffd"
    out.rename(f"{out}.part")
    forget()
    options = {"judge": judge, "progress": False, "out": out, "resume": True}
    results = run_in_caller(Evaluation([SAMPLE], metrics, in_caller=True, **options))
    assert (len(results), len(asked)) == (1, 1)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\udE00 x"', "\ufffd x"),
        (rb'"\uD83D\ude00"', "\U0001f600"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\\ud83d \" \u00e9"', '\\ud83d " \u00e9'),
    ],
)
def test_only_a_half_is_replaced_where_lines_are_read(written, read):
    assert json.loads(with_whole_characters(written)) == read


def test_in_a_models_identity(tmp_path):
    class Own:
        identity = f"own/{HALF}"

        async def generate(self, prompt, schema):
            return await ScriptedModel({"joint": [REPLY]}).generate(prompt, schema)

    assert values(LLMJudge(Own()), tmp_path) == [0.5, 1.0] * 2


def test_in_a_key():
    """A variable of the environment with bytes that are no UTF-8 holds some."""
    remember_key(f"verysecret{HALF}1234")
    assert mask_secrets(f"no verysecret{HALF}1234 here") == "no [key] here"


@pytest.mark.parametrize(
    "parameters",
    [
        {"model": f"m{HALF}"},
        {"base_url": f"http://localhost/{HALF}"},
        {"extra": {"user": HALF}},
        {"extra": {"stop": [HALF]}},
        {"api_key": f"sk-{HALF}"},
    ],
)
def test_in_a_parameter_that_is_sent_it_is_refused(parameters):
    with pytest.raises(ParameterError, match="OpenAIModel: "):
        OpenAIModel(**{"model": "m", "base_url": "http://localhost/v1", **parameters})
