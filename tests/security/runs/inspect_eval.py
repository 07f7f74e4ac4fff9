"""`inspect_ai.eval`; with the argument `model`, a model of Inspect judges too, which asks the judge's server by a function."""

import sys

import httpx
import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ModelOutput, get_model
from marked import WORDS, check, fields, own_judge, url

from ctxmetrics import LLMJudge, Reply
from ctxmetrics_inspect import context_recall


def ask_server(messages, tools, tool_choice, config):
    """Answer as a provider of Inspect does. Its own for OpenAI needs `openai` 3.4, and so a newer jiter than instructor allows."""
    texts = [{"role": message.role, "content": message.text} for message in messages]
    response = httpx.post(
        f"{url()}/chat/completions",
        json={"model": "gpt", "messages": texts},
        headers={"Authorization": "Bearer sk-of-the-test"},
    )
    return ModelOutput.from_content("gpt", response.json()["choices"][0]["message"]["content"])


class InspectModel:
    """A model of Inspect as one of this library, as a user writes it."""

    identity = "inspect/mockllm"

    def __init__(self):
        self.model = get_model("mockllm/model", custom_outputs=ask_server)

    async def generate(self, prompt, schema):
        messages = [ChatMessageSystem(content=prompt.system), ChatMessageUser(content=prompt.user)]
        output = await self.model.generate(messages)
        return Reply(output.completion)


judges = {"none": None, "model": own_judge()}
if "model" in sys.argv:
    judges["framework"] = LLMJudge(InspectModel())
for kind, judge in judges.items():
    texts = fields(WORDS[kind])
    sample = Sample(
        input=texts["user_input"],
        target=texts["reference"],
        metadata={"contexts": texts["retrieved_contexts"]},
    )
    task = inspect_ai.Task([sample], solver=[], scorer=[context_recall(judge=judge)])
    (log,) = inspect_ai.eval(task, model=None, display="none", log_dir="logs")
    check(float(log.samples[0].scores["context_recall"].value))
