"""An adapter for Inspect (``pip install inspect-ai``), and its proof: every golden case through ``inspect_ai.eval``.

It follows docs/own-adapter.md. A task's solver says what was retrieved: ``state.store.set("retrieved_contexts", [..])``.
Reference contexts and ids stand in a sample's metadata.
"""

import math

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver

from ctxmetrics.adapting import Place, Runner, Schema, Wrapper, aside, compact
from ctxmetrics.testing import differences

# The adapter: which field stands where, and what Inspect calls the result.
SCHEMA = Schema(
    places={
        "user_input": Place.of("inputs", "question"),
        "response": Place.of("outputs", "answer"),
        "retrieved_contexts": Place.of("outputs", "documents contexts"),
        "retrieved_context_ids": Place.of("outputs", "ids"),
        "reference": Place.of("expected", "target"),
        "reference_contexts": Place.of("expected", "documents"),
        "reference_context_ids": Place.of("expected", "ids"),
    }
)


@scorer(metrics=[mean()])
def metric_scorer(metric, judge=None, **keys):
    """Return a scorer for a metric of the core. Where there is no value, the mean leaves the sample out."""
    core = Wrapper.of(metric, judge, keys, SCHEMA)

    async def score(state, target):
        record = {
            "inputs": {"question": state.input_text},
            "outputs": {"answer": state.output.completion, **dict(state.store.items())},
            "expected": {"target": target.text, **state.metadata},
        }
        found = await core.ascore(record, strict=False)
        shown = {"explanation": found.reason, "metadata": compact(found)}
        if found.value is None:
            return Score.unscored(reason=found.reason_code, **shown)
        return Score(value=found.value, **shown)

    return score


# The proof: the golden cases as a task, whose solver gives the outputs of each case.
@solver
def recorded(rows):
    async def solve(state, generate):  # noqa: ARG001 - Inspect passes it
        outputs = rows[state.sample_id]["outputs"]
        state.output.completion = outputs.get("response") or ""
        for name in outputs.keys() - {"response"}:
            state.store.set(name, outputs[name])
        return state

    return solve


def to_sample(number, inputs, expected):
    """Return one of Inspect's samples; its input and target are texts, never None."""
    target = expected.pop("reference", None) or ""
    return Sample(id=number, input=inputs.get("user_input") or "", target=target, metadata=expected)


def score_with_inspect(metric, samples):
    rows = dict(enumerate((SCHEMA.record(sample.to_dict()) for sample in samples), 1))
    data = [to_sample(number, row["inputs"], row["expected"]) for number, row in rows.items()]
    task = inspect_ai.Task(data, solver=recorded(rows), scorer=metric_scorer(metric))
    with aside({}):  # Inspect writes its log to the current folder, and reads the samples from there
        (log,) = inspect_ai.eval(task, model=None, display="none")
        values = {item.id: item.scores["metric_scorer"].value for item in log.samples}
    return [None if math.isnan(values[number]) else values[number] for number in rows]


RUNNERS = [Runner("inspect_ai.eval", score_with_inspect)]

if __name__ == "__main__":
    found = differences(RUNNERS[0])
    print(f"{len(found)} differences", *found, sep="\n")
