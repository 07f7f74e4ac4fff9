"""A promptfoo assertion with metrics of this library: one component result a sentence.

In promptfooconfig.yaml, with contexts, ids and reference as variables under the names of a sample's fields (or promptfoo's
habits: ``question``, ``contexts``, ``ground_truth``):

    prompts: ["{{response}}"]
    providers: [echo]
    defaultTest:
      options: {disableVarExpansion: true}  # else a list of contexts becomes one test a context
      assert:
        - {type: python, value: "file://promptfoo_assert.py", config: {metric: context_recall, threshold: 0.5}}
        - {type: python, value: "file://promptfoo_assert.py", config: {metric: context_precision}}
        - {type: python, value: "file://promptfoo_assert.py", config: {metric: id_based_context_recall}}

Run it: promptfoo eval
"""

from __future__ import annotations

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextPrecision, IDBasedContextRecall
from ctxmetrics.adapting import SCHEMAS, Wrapper

METRICS = (ContextRecall, ContextPrecision, IDBasedContextRecall, IDBasedContextPrecision)
BY_NAME = {metric.base_name: metric for metric in METRICS}


def get_assert(output, context):
    config = dict(context["config"])
    wrapper = Wrapper.build(BY_NAME[config.pop("metric")], config, SCHEMAS["promptfoo"])
    given = context["vars"]
    score = wrapper.score({**given, "vars": given, "output": output}, strict=False)
    name = wrapper.metric.name
    if score.value is None:  # promptfoo wants a number; the named score's mean leaves this test out
        return {"pass": False, "score": 0, "reason": f"{name}: {score.reason}"}
    return {
        "pass": score.passed is not False,
        "score": score.value,
        "reason": f"{name} {score.formatted_value}, {score.count}",
        "namedScores": {name: score.value},
        "componentResults": [component(verdict) for verdict in score.verdicts],
    }


def component(verdict):
    unknown = "not judged: " if verdict.value is None else ""
    return {
        "pass": verdict.value is True,
        "score": float(verdict.value is True),
        "reason": unknown + (verdict.text or verdict.id),
    }
