"""What a script of replies must be."""

from __future__ import annotations

import pytest

from ctxmetrics import ScriptedJudge
from ctxmetrics.errors import ParameterError

REPLY = {"code": "$code", "sentences": {}}


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ({"joint": REPLY}, "the replies of the step 'joint' must be a list"),
        ({"joint": "{}"}, "the replies of the step 'joint' must be a list"),
        ({"joints": [REPLY], 3: [REPLY]}, "step 'joints' is unknown. Did you mean 'joint'?"),
        ({3: [REPLY]}, "step 3 is unknown"),
        ([REPLY], "replies=list must be a dict from a step to its replies"),
        ({"joint": [{"a": {1}}]}, "a reply must be text or JSON data"),
    ],
)
def test_wrong_script_is_refused_with_the_fix(replies, words):
    with pytest.raises(ParameterError, match="ScriptedJudge: ") as caught:
        ScriptedJudge(replies)
    assert words in str(caught.value)
