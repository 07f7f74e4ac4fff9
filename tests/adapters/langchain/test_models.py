"""Any chat model as judge: scripted ones, and ChatOpenAI against a fake server."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LexicalJudge, LLMJudge
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.cli import main
from ctxmetrics.evaluation.cli._run import build_judge
from ctxmetrics.models.base import Model
from support import CONTENT_FAULTS, FakeOpenAIServer, Fault, Reply, answer_from
from support.answers import with_code
from support.later import later

if TYPE_CHECKING:
    from pathlib import Path

function_calling = later("langchain_core.utils.function_calling")
langchain_core = later("langchain_core")
langchain_openai = later("langchain_openai")
langsmith = later("langsmith")
ours = later("ctxmetrics_langchain")


KEY = "sk-verysecret123456"


@pytest.fixture
def ToolCaller() -> type:
    class ToolCaller(langchain_core.language_models.BaseChatModel):
        """Calls the tool it is bound to with what it was given; None: talks instead."""

        model_name: str = "tool-caller"
        given: list[Any]
        asked: list[Any] = pydantic.Field(default_factory=list)

        @property
        def _llm_type(self) -> str:
            return "tool-caller"

        def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Any:
            return self.bind(
                tools=[function_calling.convert_to_openai_tool(tool) for tool in tools],
                tool_choice=tool_choice,
            )

        def _generate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> langchain_core.outputs.ChatResult:
            self.asked.append((messages, kwargs))
            answer = self.given[min(len(self.asked), len(self.given)) - 1]
            if isinstance(answer, langchain_core.messages.AIMessage):
                message = answer
            else:
                call = {
                    "name": kwargs["tools"][0]["function"]["name"],
                    "args": json.loads(with_code(json.dumps(answer), messages[-1].content)),
                    "id": "1",
                    "type": "tool_call",
                }
                message = langchain_core.messages.AIMessage(
                    "",
                    tool_calls=[call],
                    usage_metadata={"input_tokens": 90, "output_tokens": 9, "total_tokens": 99},
                )
            return langchain_core.outputs.ChatResult(
                generations=[langchain_core.outputs.ChatGeneration(message=message)]
            )

    return ToolCaller


@pytest.fixture
def record(case):
    return {"question": case.question, "documents": case.documents, "reference": case.reference}


def recall(model: Any, record: Any, **options: Any) -> dict[str, Any]:
    return ours.ContextRecallEvaluator(judge=model, **options).as_runnable().invoke(record)


# ---- scripted models ----


def test_a_model_that_calls_tools_is_asked_for_a_tool_call(case, record, ToolCaller: Any):
    model = ToolCaller(given=[case.joint])
    row = recall(model, record)
    assert row["score"] == 0.5
    ((messages, kwargs),) = model.asked
    assert [message.type for message in messages] == ["system", "human"]
    assert kwargs["tools"][0]["function"]["name"] == "JointReply"
    assert row["evaluator_info"]["judge"].startswith("llm:langchain:")
    assert "ToolCaller/tool-caller" in row["evaluator_info"]["judge"]
    usage = row["evaluator_info"]["usage"]
    assert (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (1, 90, 9)


def test_a_model_without_tools_is_asked_for_text(case, record):
    fenced = f"Here you are:\n```json\n{json.dumps(case.joint)}\n```"
    assert (
        recall(langchain_core.language_models.FakeListChatModel(responses=[fenced]), record)["score"]
        == 0.5
    )


def test_tools_can_be_switched_off(case, record, ToolCaller: Any):
    model = ToolCaller(given=[langchain_core.messages.AIMessage(json.dumps(case.joint))])
    assert recall(ours.ChatModel(model, tools=False), record)["score"] == 0.5
    assert "tools" not in model.asked[0][1]


def test_content_blocks_are_read_as_text(case, record):
    blocks = [
        {"type": "text", "text": json.dumps(case.joint)[:40]},
        {"type": "text", "text": json.dumps(case.joint)[40:]},
    ]
    assert (
        recall(
            langchain_core.language_models.GenericFakeChatModel(
                messages=iter([langchain_core.messages.AIMessage(blocks)])
            ),
            record,
        )["score"]
        == 0.5
    )


def test_trap_text_is_read_if_a_model_makes_no_tool_call(case, record, ToolCaller: Any):
    assert (
        recall(ToolCaller(given=[langchain_core.messages.AIMessage(json.dumps(case.joint))]), record)[
            "score"
        ]
        == 0.5
    )


def test_trap_neither_tool_call_nor_text_is_a_failure(record, ToolCaller: Any):
    model = ToolCaller(given=[langchain_core.messages.AIMessage("")])
    row = recall(model, record)
    assert row["score"] is None
    assert row["evaluator_info"]["reason_code"] == "not_judged"
    assert "invalid_reply" in row["comment"]
    assert len(model.asked) > 1, "it was asked again"


def test_trap_a_first_reply_that_does_not_fit_is_asked_again(case, record, ToolCaller: Any):
    model = ToolCaller(given=[{"nope": 1}, case.joint])
    assert recall(model, record)["score"] == 0.5
    assert len(model.asked) == 2


def test_trap_booleans_that_are_none_are_not_coerced(case, record, ToolCaller: Any):
    """A pydantic parser turns "yes", 1 and "on" into True before anybody can check."""
    wrong = copy.deepcopy(case.joint)
    wrong["sentences"]["s2"]["supported"] = 2
    model = ToolCaller(given=[wrong])
    row = recall(model, record)
    assert row["score"] is None
    assert row["evaluator_info"]["verdicts"] == {"s1": True, "s2": None}


def test_arguments_that_are_no_json_are_mended_or_asked_again(case, record, ToolCaller: Any):
    broken = langchain_core.messages.AIMessage(
        "",
        invalid_tool_calls=[
            {"name": "JointReply", "args": json.dumps(case.joint)[:-1] + ",}", "id": "1", "error": "x"}
        ],
    )
    assert recall(ToolCaller(given=[broken]), record)["score"] == 0.5


def test_two_calls_that_disagree_decide_nothing(case, record, ToolCaller: Any):
    other = copy.deepcopy(case.joint)
    other["sentences"]["s1"]["supported"] = False
    calls = [
        {"name": "JointReply", "args": args, "id": str(n), "type": "tool_call"}
        for n, args in enumerate((case.joint, other))
    ]
    model = ToolCaller(given=[langchain_core.messages.AIMessage("", tool_calls=calls), case.joint])
    assert recall(model, record)["score"] == 0.5
    assert len(model.asked) == 2


CUT_OFF = '{"code": "$code", "sentences": {'


@pytest.mark.parametrize(
    ("content", "fields", "code"),
    [
        ("I cannot.", {"additional_kwargs": {"refusal": "I cannot."}}, "refused"),
        (CUT_OFF, {"response_metadata": {"finish_reason": "length"}}, "truncated"),
        (CUT_OFF, {"response_metadata": {"stop_reason": "max_tokens"}}, "truncated"),
        (CUT_OFF, {"response_metadata": {"finish_reason": "MAX_TOKENS"}}, "truncated"),
    ],
)
def test_refused_and_cut_off_replies_have_their_codes(content, fields, code, record, ToolCaller: Any):
    message = langchain_core.messages.AIMessage(content, **fields)
    row = recall(ToolCaller(given=[message]), record)
    assert row["score"] is None
    assert code in row["comment"]


def test_a_model_that_only_takes_schema_and_include_raw(case, record, ToolCaller: Any):
    """Not every provider's with_structured_output knows method=."""

    class Plain(ToolCaller):
        def with_structured_output(self, schema: Any, *, include_raw: bool = False) -> Any:
            return super().with_structured_output(schema, include_raw=include_raw)

    assert recall(Plain(given=[case.joint]), record)["score"] == 0.5


# ---- what judge= takes ----


def test_judge_may_be_a_judge_a_model_or_a_chat_model(case, make_run, ToolCaller: Any):
    run = make_run(case.outputs)
    given = [
        LLMJudge(ours.ChatModel(ToolCaller(given=[case.joint]))),
        ours.ChatModel(ToolCaller(given=[case.joint])),
        ToolCaller(given=[case.joint]),
        case.judge,
    ]
    assert [
        ours.ContextRecallEvaluator(judge=judge).evaluate_run(run, case.example).score
        for judge in given
    ] == [0.5] * 4
    several = [
        ours.RetrievalEvaluator([ContextRecall()], judge=judge).evaluate_run(run, case.example).score
        for judge in given
    ]
    assert several == [0.5] * 4


def test_a_metric_s_own_judge_wins(case, make_run):
    evaluator = ours.RetrievalEvaluator([ContextRecall(judge=LexicalJudge())], judge=case.judge)
    assert (
        evaluator.evaluate_run(make_run(case.outputs), case.example).evaluator_info["judge"]
        == "lexical"
    )


@pytest.mark.parametrize("wrong", ["gpt-4o", 3, object()])
def test_anything_else_is_refused(wrong):
    message = "Did you mean openai/gpt-4o" if isinstance(wrong, str) else "is no judge"
    with pytest.raises(ParameterError, match=message):
        ours.ContextRecallEvaluator(judge=wrong)
    with pytest.raises(ParameterError, match="is no BaseChatModel"):
        ours.ChatModel(wrong)


def test_wrapped_chat_model_is_refused_in_words():
    with pytest.raises(ParameterError, match="BaseChatModel with nothing around it"):
        ours.ContextRecallEvaluator(
            judge=langchain_core.language_models.FakeListChatModel(responses=["x"]).with_retry()
        )
    # It passes what it is asked for to the model, and fails where that has type hints it cannot read.
    model = langchain_openai.ChatOpenAI(model="gpt-4o-mini", api_key=KEY)  # type: ignore[arg-type]  # a plain key is fine
    with pytest.raises(ParameterError, match="BaseChatModel with nothing around it"):
        ours.ContextRecallEvaluator(judge=model.with_fallbacks([model]))


def test_claims_can_be_asked_of_a_chat_model(case, record, ToolCaller: Any):
    claims = {
        "code": "$code",
        "claims": ["Gustave Eiffel's company built the tower.", "The tower opened in 1889."],
    }
    assert recall(ToolCaller(given=[claims, case.joint]), record, unit="claim")["score"] == 0.5


# ---- identity ----


def chat_openai(base_url: str = "http://127.0.0.1:9/v1", **options: Any) -> langchain_openai.ChatOpenAI:
    return langchain_openai.ChatOpenAI(
        **{
            "model": "judge-1",
            "api_key": KEY,
            "base_url": base_url,
            "temperature": 0,
            "max_retries": 0,
            **options,
        }
    )


def test_identity_is_class_name_and_parameters_and_never_a_key():
    one = ours.ChatModel(chat_openai())
    assert isinstance(one, Model)
    assert one.identity.startswith("langchain:ChatOpenAI/judge-1@127.0.0.1:9/v1")
    assert one == ours.ChatModel(chat_openai())
    assert hash(one) == hash(ours.ChatModel(chat_openai(api_key="sk-another-key-12345")))
    different = [
        chat_openai(model="judge-2"),
        chat_openai(temperature=0.7),
        chat_openai(base_url="http://127.0.0.1:10/v1"),
        chat_openai(seed=1),
        chat_openai(model_kwargs={"x": 1}),
    ]
    assert len({ours.ChatModel(model).identity for model in different} | {one.identity}) == 6
    ways = [ours.ChatModel(chat_openai(), tools=tools).identity for tools in (None, True, False)]
    assert len(set(ways)) == 3
    assert ways[0] == one.identity
    for text in (
        one.identity,
        repr(one),
        repr(LLMJudge(one)),
        repr(ours.ContextRecallEvaluator(judge=one)),
    ):
        assert "verysecret" not in text
    assert "pass" not in ours.ChatModel(chat_openai(base_url="http://me:pass@127.0.0.1:9/v1")).identity


def test_models_without_a_name_share_nothing(case):
    one, other = (
        langchain_core.language_models.FakeListChatModel(responses=[answer]) for answer in ("a", "b")
    )
    assert ours.ChatModel(one).identity != ours.ChatModel(other).identity
    assert ours.ChatModel(one).identity == ours.ChatModel(one).identity


def test_copies_share_the_client_and_pickling_says_why_not():
    model = ours.ChatModel(chat_openai())
    evaluator = ours.ContextRecallEvaluator(judge=model)
    assert copy.deepcopy(evaluator) == evaluator
    assert copy.deepcopy(evaluator).metric.judge.model.chat_model is model.chat_model
    with pytest.raises(ParameterError, match="holds the client and key of ChatOpenAI"):
        pickle.dumps(evaluator)


# ---- the real client against a fake server ----


@pytest.fixture
def server(case):
    with FakeOpenAIServer(lambda request: json.dumps(case.joint)) as running:
        yield running


def both(kind: str, model: Any) -> list[Any]:
    if kind == "one evaluator":
        return [ours.RetrievalEvaluator([ContextRecall(), ContextPrecision()], judge=model)]
    return [ours.ContextRecallEvaluator(judge=model), ours.ContextPrecisionEvaluator(judge=model)]


@pytest.mark.parametrize("kind", ["one evaluator", "two evaluators"])
@pytest.mark.parametrize("mode", ["evaluate", "aevaluate"])
def test_recall_and_precision_cost_one_request_a_sample(kind, mode, case, client, server):
    examples = [case.example_with(inputs={"question": f"{case.question} ({n})"}) for n in range(4)]
    evaluators = both(kind, chat_openai(server.base_url))

    async def target(inputs: dict) -> dict:
        return case.outputs

    async def go() -> Any:
        results = await langsmith.aevaluate(
            target,
            data=examples,
            evaluators=evaluators,
            upload_results=False,
            client=client,
            max_concurrency=4,
        )
        await results.wait()
        return results

    if mode == "aevaluate":
        results = asyncio.run(go())
    else:
        results = langsmith.evaluate(
            lambda inputs: case.outputs,
            data=examples,
            evaluators=evaluators,
            upload_results=False,
            client=client,
        )
    for row in results._results:
        scores = {result.key: result.score for result in row["evaluation_results"]["results"]}
        assert scores == {"context_recall": 0.5, "context_precision": 0.5}
    assert server.count == 4
    (request, *_) = server.requests
    assert request.response_format == "json_schema"
    assert case.contexts[1] in request.user
    assert KEY not in json.dumps(
        [row["evaluation_results"]["results"][0].evaluator_info for row in results._results]
    )


def test_two_chat_models_of_equal_parameters_share_a_judgement(case, server, make_run):
    run = make_run(case.outputs)
    for evaluator in (ours.ContextRecallEvaluator, ours.ContextPrecisionEvaluator):
        assert (
            evaluator(judge=chat_openai(server.base_url)).evaluate_run(run, case.example).score == 0.5
        )
    assert server.count == 1


def test_tokens_are_counted_as_the_server_says(case, server, make_run):
    usage = (
        ours.ContextRecallEvaluator(judge=chat_openai(server.base_url))
        .evaluate_run(make_run(case.outputs), case.example)
        .evaluator_info["usage"]
    )
    assert usage["calls"] == 1
    assert usage["prompt_tokens"] > 100
    assert usage["completion_tokens"] > 10


def test_langchain_s_own_token_count_sees_the_judge_s_calls(case, server, make_run):
    evaluator = ours.ContextRecallEvaluator(judge=chat_openai(server.base_url))
    with langchain_core.callbacks.get_usage_metadata_callback() as counted:
        assert evaluator.evaluate_run(make_run(case.outputs), case.example).score == 0.5
    (tokens,) = counted.usage_metadata.values()
    assert tokens["input_tokens"] > 100
    assert server.count == 1


def test_trap_one_client_in_background_and_two_own_loops(case, server, make_run):
    """LangChain's async clients keep connections of loops that are gone."""
    evaluator = ours.ContextRecallEvaluator(judge=chat_openai(server.base_url))
    for number in range(4):
        example = case.example_with(inputs={"question": str(number)})
        run = make_run(case.outputs)
        result = (
            evaluator.evaluate_run(run, example)
            if number % 2
            else asyncio.run(evaluator.aevaluate_run(run, example))
        )
        assert result.score == 0.5, result.comment


@pytest.mark.parametrize(
    "tools", [None, *(pytest.param(tools, marks=pytest.mark.slow) for tools in (True, False))]
)
@pytest.mark.parametrize("fault", sorted(CONTENT_FAULTS))
def test_a_bad_first_reply_never_gives_a_wrong_number(fault, tools, case, make_run):
    with FakeOpenAIServer(
        lambda request: json.dumps(case.joint), faults=[Fault(fault, times=1)]
    ) as server:
        if tools and fault == "two_choices":
            pytest.skip("LangChain hides other choices than the first where a tool is bound")
        judge = ours.ChatModel(chat_openai(server.base_url), tools=tools)
        result = ours.ContextRecallEvaluator(judge=judge).evaluate_run(
            make_run(case.outputs), case.example
        )
        assert result.score == 0.5, result.comment


@pytest.mark.slow
def test_a_refusal_and_a_cut_off_reply_of_the_real_client(case, make_run):
    replies = {
        "refused": Reply(refusal="No."),
        "truncated": Reply(content='{"code": "$code", "sentences": {"s1"', finish_reason="length"),
    }
    for code, reply in replies.items():
        with FakeOpenAIServer(lambda request, reply=reply: reply) as server:
            result = ours.ContextRecallEvaluator(judge=chat_openai(server.base_url)).evaluate_run(
                make_run(case.outputs), case.example
            )
        assert result.score is None
        assert code in result.comment


def test_a_server_error_is_asked_again_and_a_wrong_key_is_not(case, make_run):
    with FakeOpenAIServer(
        lambda request: json.dumps(case.joint), faults=[Fault("500", times=1)]
    ) as server:
        assert (
            ours.ContextRecallEvaluator(judge=chat_openai(server.base_url))
            .evaluate_run(make_run(case.outputs), case.example)
            .score
            == 0.5
        )
        assert server.count == 2
    with FakeOpenAIServer(lambda request: json.dumps(case.joint), api_key="right") as server:
        result = ours.ContextRecallEvaluator(judge=chat_openai(server.base_url, seed=1)).evaluate_run(
            make_run(case.outputs), case.example
        )
    assert result.score is None
    assert "client_error" in result.comment
    assert "verysecret" not in result.model_dump_json()


def test_refused_json_schema_is_replaced_by_a_tool_call(case, make_run):
    honest = lambda request: json.dumps(case.joint)  # noqa: E731 - one expression
    with FakeOpenAIServer(honest, supports=frozenset({"tools"})) as server:
        judge = LLMJudge(ours.ChatModel(chat_openai(server.base_url)), reuse=False)
        for number in range(2):
            evaluator = ours.ContextRecallEvaluator(judge=judge)
            assert evaluator.evaluate_run(make_run(case.outputs), case.example).score == 0.5, number
        assert [request.status for request in server.requests] == [400, 200, 200]


# ---- --judge langchain/PROVIDER:MODEL ----


def test_a_name_runs_through_init_chat_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(
        json.dumps({"reference": "The door is green.", "retrieved_contexts": ["The door is green."]}),
        encoding="utf-8",
    )
    with FakeOpenAIServer(answer_from(), api_key=KEY) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setattr(
            sys, "argv", ["ctxmetrics", "score", str(file), "--judge", "langchain/openai:gpt-x"]
        )
        with pytest.raises(SystemExit) as end:
            main()
        (request,) = server.requests
    assert end.value.code in (0, None)
    assert "1.0000" in capsys.readouterr().out
    assert request.body["model"] == "gpt-x"


def test_a_name_that_langchain_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(
        ParameterError, match="write langchain/PROVIDER:MODEL, such as langchain/openai:gpt-x"
    ):
        ours.models.named_model("gpt-x")
    with pytest.raises(ParameterError, match="langchain/nowhere:x: LangChain cannot make this model: "):
        ours.models.named_model("nowhere:x")
    with pytest.raises(ParameterError, match=r"langchain-together"):  # the package that LangChain names
        ours.models.named_model("together:x")
    with pytest.raises(ParameterError, match="--base-url is not for --judge langchain"):
        build_judge("langchain/openai:x", "http://localhost:1/v1")


def test_a_chat_model_as_judge_of_the_core_says_what_to_write() -> None:
    model: Any = langchain_openai.ChatOpenAI(model="gpt-4o-mini", api_key=KEY)  # type: ignore[arg-type]  # a plain key is fine
    with pytest.raises(
        ParameterError, match=r"Write judge=LLMJudge\(ChatModel\(model\)\), after: from ctxmetrics_"
    ):
        ContextRecall(judge=model)
    with pytest.raises(ParameterError, match=r"Write LLMJudge\(ChatModel\(model\)\)"):
        LLMJudge(model)
