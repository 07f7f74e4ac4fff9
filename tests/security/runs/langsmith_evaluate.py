"""LangSmith's runners: arguments are `upload`, `chain` (the target is one), `client=quiet` and `client=drops`."""

import asyncio
import sys
import uuid

from langchain_core.runnables import RunnableLambda
from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example
from marked import WORDS, chat_openai, check, fields, own_judge

from ctxmetrics_langchain import ContextRecallEvaluator


class Drops(Client):
    """The client of the page Start."""

    def __init__(self):
        super().__init__(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)

    def create_run(self, *args, **kwargs): ...

    def update_run(self, *args, **kwargs): ...


client = None
if "client=quiet" in sys.argv:
    client = Client(auto_batch_tracing=False)
if "client=drops" in sys.argv:
    client = Drops()


def run(word, judge):
    texts = fields(word)
    example = Example(
        id=uuid.uuid4(),
        dataset_id=uuid.UUID(int=3),
        inputs={"question": texts["user_input"]},
        outputs={"answer": texts["reference"]},
    )
    outputs = {"answer": texts["response"], "documents": texts["retrieved_contexts"]}
    options = {
        "data": [example],
        "evaluators": [ContextRecallEvaluator(judge=judge)],
        "upload_results": "upload" in sys.argv,
        "client": client,
    }
    target = RunnableLambda(lambda inputs: outputs) if "chain" in sys.argv else lambda inputs: outputs
    (row,) = evaluate(target, **options)
    check(row["evaluation_results"]["results"][0].score)

    async def answer(inputs):
        return outputs

    async def run_async():
        rows = await aevaluate(target if "chain" in sys.argv else answer, **options)
        return [row async for row in rows]

    (row,) = asyncio.run(run_async())
    check(row["evaluation_results"]["results"][0].score)


judges = {"none": None, "model": own_judge(), "framework": chat_openai()}
for kind, judge in judges.items():
    run(WORDS[kind], judge)
(client or Client()).flush()
