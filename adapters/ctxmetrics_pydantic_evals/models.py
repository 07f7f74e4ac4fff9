"""Any model of pydantic-ai as a model of `LLMJudge`, and what ``judge=`` takes."""

from __future__ import annotations

import re
from functools import cache

from pydantic import BaseModel
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, SystemPromptPart, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.tools import ToolDefinition

from ctxmetrics import Judge, Prompt, Reply, adapting
from ctxmetrics.errors import JudgeError, ParameterError

# The name of a judge of ours: lexical, lexical:min_coverage=.5, openai/gpt-4o-mini. `MODULE:NAME` is none: a file of cases imports no code, and
# pydantic-ai writes PROVIDER:MODEL.
_OWN_JUDGE_PATTERN = re.compile(r"lexical (?: :.* )? \Z | [\w.-]+ /", re.VERBOSE | re.DOTALL)


class PydanticAIModel(adapting.ForeignModel):
    """A model of pydantic-ai as a model: ``LLMJudge(PydanticAIModel(model))``.

    It is asked for a call of one tool with the reply's schema. Whatever comes back is handed on as it came: the judge
    checks it.

    Args:
        model: The model. Those of equal class, name and settings share judgements.
        tools: Whether to ask for a tool call, else for text.
    """

    def __init__(self, model: Model, *, tools: bool = True) -> None:
        self.model: Model = model
        self.tools: bool = tools
        identity = adapting.describe("pydantic-ai", [model], name=model.model_name)
        super().__init__(model, identity if tools else f"{identity} text")

    @adapting.reads_failures
    async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the model, in the loop this runs in.

        Raises:
            JudgeError: Its reply was cut off, or cannot be read. What its client raises passes through.
        """
        tool = ToolDefinition(name="reply", parameters_json_schema=schema.model_json_schema())
        request = ModelRequest(parts=[SystemPromptPart(prompt.system), UserPromptPart(prompt.user)])
        parameters = ModelRequestParameters(
            output_mode="tool" if self.tools else "text",
            output_tools=[tool] if self.tools else [],
            allow_text_output=not self.tools,
        )
        response = await model_request(self.model, [request], model_request_parameters=parameters)
        adapting.check_finished(getattr(response, "finish_reason", None))
        parts = response.parts
        try:
            calls = [part.args_as_json_str() for part in parts if isinstance(part, ToolCallPart)]
        except (TypeError, ValueError) as error:
            raise JudgeError(
                f"the reply's arguments cannot be read: {adapting.safe_text(error)}"
            ) from None
        texts = [part.content for part in parts if isinstance(part, TextPart)]
        return Reply(content="\n".join(calls or texts), usage=adapting.token_usage(response.usage))


def to_judge(judge: Judge | Model | str | None) -> Judge | None:
    """Coerce a judge, a model of pydantic-ai or a name to a judge. None stays None.

    Raises:
        ParameterError: It is none, or no model has that name.
    """
    judge_or_model: object = judge
    if isinstance(judge, str) and not _OWN_JUDGE_PATTERN.match(judge):
        judge_or_model = _infer_model(judge)
    return adapting.as_judge(judge_or_model, Model, PydanticAIModel)


def name_of(judge: object) -> str:
    """Return what a file holds in place of a judge: for a model of pydantic-ai, the name from which it can be made again."""
    if isinstance(judge, Model):
        return adapting.hide_keys(f"{judge.system}:{judge.model_name}")
    return judge if isinstance(judge, str) else getattr(judge, "name", type(judge).__name__)


@cache
def _infer_model(name: str) -> Model:
    """Infer a model of pydantic-ai from its name; a name is read once."""
    try:
        return infer_model(name)
    except (UserError, ImportError, ValueError) as error:  # no key, no client, no such provider
        raise ParameterError(
            f"pydantic-ai cannot make judge={name!r} ({adapting.safe_text(error)}). A file holds only the name of any other "
            "judge: give that judge again when the evaluator is built."
        ) from None
