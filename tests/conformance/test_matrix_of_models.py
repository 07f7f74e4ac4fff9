"""One judgement of a model is the whole matrix: equal to judging each context alone, at the cost of one request."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LLMJudge,
    OpenAIModel,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.judges.llm.judge import forget
from support import FakeOpenAIServer, answer_from

ANIMALS = ("otter", "heron", "badger", "falcon", "lizard", "salmon", "beetle", "weasel")
NOISE = ("Bread is baked in the morning.", "The harbour was quiet.", "Copper is heavy.")
COUNT = 300
"""Samples of up to four units and five contexts: each of the 20 shapes fifteen times on average."""


def stated(unit, contexts):
    return any(unit in context for context in contexts)


def useful(context, answer):
    return any(name in context for name in ANIMALS if name in answer)


def generated(number):
    """Make a sample and its truth: which context states which unit."""
    source = random.Random(number)
    names = source.sample(ANIMALS, source.randint(1, 4))
    units = [f"The {name} weighs {source.randint(2, 90)} kilograms." for name in names]
    truth = [[source.random() < 0.35 for _ in range(source.randint(1, 5))] for _ in units[:1]]
    truth += [[source.random() < 0.35 for _ in truth[0]] for _ in units[1:]]
    contexts = []
    for rank in range(len(truth[0])):
        said = [unit for unit, row in zip(units, truth, strict=True) if row[rank]]
        contexts.append(
            " ".join(source.sample([f"Note {rank}.", source.choice(NOISE), *said], len(said) + 2))
        )
    sample = Sample(id=number, reference=" ".join(units), retrieved_contexts=contexts)
    return sample, tuple(tuple("whole" if cell else "none" for cell in row) for row in truth)


@pytest.mark.slow
def test_the_joint_judgement_is_that_of_each_context_alone():
    responder = answer_from(supported=stated, useful=useful)
    cases = [generated(number) for number in range(COUNT)]
    samples = [sample for sample, _ in cases]
    metrics = [ContextRecall(), ContextPrecision(relevance="supports", formula="share")]
    runs = {
        per_context: evaluate(
            samples,
            metrics,
            judge=ScriptedJudge(responder, name=f"truth-{per_context}", per_context=per_context),
            progress=False,
        )
        for per_context in (False, True)
    }
    recall, precision = runs[False].metrics
    for (_, truth), joint, alone in zip(cases, runs[False], runs[True], strict=True):
        found, other = joint[recall].attribution, alone[recall].attribution
        assert found.cells == other.cells == truth
        assert (found.recall(), found.precision(formula="share")) == (
            joint[recall].value,
            joint[precision].value,
        )
        assert (
            joint[recall].value
            == alone[recall].value
            == sum("whole" in row for row in truth) / len(truth)
        )
        columns = list(zip(*truth, strict=True))
        assert joint[precision].value == sum("whole" in column for column in columns) / len(columns)
        assert not joint[recall].doubtful
    assert runs[False].usage.calls == COUNT
    assert runs[True].usage.calls > COUNT
    assert runs[False].curve() == runs[True].curve()


# --- one request a sample for recall, precision and the curve ---

SAMPLES = [
    Sample(
        id=number,
        user_input=f"What is known about animal {number}?",
        reference=f"The otter {number} weighs 7 kilograms. The heron {number} sleeps.",
        retrieved_contexts=[
            f"Bread {number} is baked.",
            f"The otter {number} weighs 7 kilograms.",
            f"Rain. The heron {number} sleeps.",
        ],
    )
    for number in range(3)
]


@pytest.fixture
def server():
    forget()
    with FakeOpenAIServer(answer_from(supported=stated, useful=useful)) as running:
        yield running


def in_core(server):
    judge = LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-fake"))
    rows = evaluate(SAMPLES, [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    return judge, [(row["context_recall"].value, row["context_precision"].value) for row in rows]


def in_ragas(server):
    ragas = pytest.importorskip("ragas", reason="the ragas extra is not installed")
    openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    from ragas.llms import LangchainLLMWrapper

    import ctxmetrics_ragas as ours

    llm = LangchainLLMWrapper(
        openai.ChatOpenAI(model="fake-judge", base_url=server.base_url, api_key="sk-fake")
    )
    fields = ("user_input", "reference", "retrieved_contexts")
    rows = [{name: sample.to_dict()[name] for name in fields} for sample in SAMPLES]
    metrics = [ours.ContextRecall(judge="framework"), ours.ContextPrecision(judge="framework")]
    found = ragas.evaluate(
        ragas.EvaluationDataset.from_list(rows), metrics=metrics, llm=llm, show_progress=False
    )
    values = [(row["context_recall"], row["context_precision"]) for row in found.scores]
    return LLMJudge(ours.RagasModel(llm)), values


def in_deepeval(server):
    deepeval = pytest.importorskip("deepeval", reason="the deepeval extra is not installed")
    from deepeval.models import OpenAIModel as TheirModel
    from deepeval.test_case import LLMTestCase

    import ctxmetrics_deepeval as ours

    model = TheirModel(model="gpt-4o-mini", base_url=server.base_url, api_key="sk-fake")
    cases = [
        LLMTestCase(
            name=sample.id,
            input=sample.user_input,
            expected_output=sample.reference,
            retrieval_context=list(sample.retrieved_contexts),
        )
        for sample in SAMPLES
    ]
    metrics = [ours.ContextRecallMetric(model=model), ours.ContextPrecisionMetric(model=model)]
    found = deepeval.evaluate(cases, metrics)
    by_name = {
        result.name: {data.name: data.score for data in result.metrics_data}
        for result in found.test_results
    }
    values = [
        (by_name[sample.id]["context_recall"], by_name[sample.id]["context_precision"])
        for sample in SAMPLES
    ]
    return LLMJudge(ours.DeepEvalModel(model)), values


def in_langsmith(server):
    langsmith = pytest.importorskip("langsmith", reason="the langchain extra is not installed")
    openai = pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")
    from langsmith.schemas import Example

    import ctxmetrics_langchain as ours

    class Silent(langsmith.Client):
        """Uploads nothing."""

        def create_run(self, *_, **__):
            pass

        update_run = create_run

    chat = openai.ChatOpenAI(model="fake-judge", base_url=server.base_url, api_key="sk-fake")
    examples = [
        Example(
            id=UUID(int=number),
            inputs={"question": sample.user_input, "n": number},
            outputs={"reference": sample.reference},
        )
        for number, sample in enumerate(SAMPLES)
    ]
    rows = langsmith.evaluate(
        lambda inputs: {"contexts": list(SAMPLES[inputs["n"]].retrieved_contexts)},
        examples,
        [ours.ContextRecallEvaluator(judge=chat), ours.ContextPrecisionEvaluator(judge=chat)],
        upload_results=False,
        client=Silent(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False),
    )
    found = [{one.key: one.score for one in row["evaluation_results"]["results"]} for row in rows]
    return LLMJudge(ours.ChatModel(chat)), [
        (row["context_recall"], row["context_precision"]) for row in found
    ]


@pytest.mark.parametrize("runner", [in_core, in_ragas, in_deepeval, in_langsmith])
def test_recall_precision_and_curve_cost_one_request(runner, server):
    judge, values = runner(server)
    assert values == [(1.0, (1 / 2 + 2 / 3) / 2)] * len(SAMPLES)
    assert server.count == len(SAMPLES)
    # the curve reads the judgements that the framework's run paid for
    results = evaluate(SAMPLES, [ContextRecall()], judge=judge, progress=False)
    curve = results.curve(ks=range(1, 21))
    assert [point.recall for point in curve] == [0.0, 0.5, *[1.0] * 18]
    assert [point.precision for point in curve[:3]] == [0.0, 1 / 2, (1 / 2 + 2 / 3) / 2]
    assert results.smallest_k().k == 3
    assert server.count == len(SAMPLES)
