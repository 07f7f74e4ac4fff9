"""Decision models: both wires, and replies that are not what was asked for."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, DecisionAPI, DecisionJudge, Sample, evaluate, forget
from ctxmetrics.errors import ParameterError
from ctxmetrics.models.openai.providers import DECISION_PROVIDERS
from support.decisions import TOWER, Asked, DecisionServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxmetrics import Score

WIRES = ("systemone", "openai")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    forget()


def recall(server: DecisionServer, wire: Any, sample: Sample = TOWER, **options: Any) -> Score:
    """Score a sample once, with as few retries as possible."""
    model = DecisionAPI("m", wire=wire, base_url=server.url, api_key="sk-0123abcd-xyz999")
    judge = DecisionJudge(model, layout="sample", **options)
    results = evaluate([sample], [ContextRecall()], judge=judge, progress=False, max_retries=0)
    return results[0]["context_recall"]


def answers_of(asked: Asked, body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the answers of a reply by id; they may be changed."""
    if isinstance(body["answers"], dict):
        return body["answers"]
    return {answer["name"]: answer for answer in body["answers"]}


def set_answer(id_: str, value: Any) -> Callable[[Asked, dict[str, Any]], dict[str, Any]]:
    """Give one question another probability in every reply."""

    def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
        answer = answers_of(asked, body).get(id_)
        if answer is not None:
            answer["noul" if "noul" in answer else "probability"] = value
        return body

    return change


def drop_answer(id_: str, times: int = 9) -> Callable[[Asked, dict[str, Any]], dict[str, Any]]:
    """Leave one answer out of the first replies."""
    left = [times]

    def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
        if id_ in asked.questions and left[0]:
            left[0] -= 1
            if isinstance(body["answers"], dict):
                del body["answers"][id_]
            else:
                body["answers"] = [item for item in body["answers"] if item["name"] != id_]
        return body

    return change


@pytest.mark.parametrize("wire", WIRES)
class TestWires:
    def test_request_and_reply(self, wire: Any) -> None:
        with DecisionServer() as server:
            score = recall(server, wire)
        assert score.value == 0.5
        assert score.provenance.served_model == server.model
        assert len(server.requests) == 1
        asked = server.requests[0]
        assert asked.path == {"systemone": "/v1/systemone", "openai": "/v1/decisions"}[wire]
        assert asked.key == "sk-0123abcd-xyz999"
        assert all(isinstance(text, str) for text in asked.questions.values())
        assert score.usage.prompt_tokens > 100
        assert not score.usage.estimated

    def test_one_missing_answer_is_asked_again(self, wire: Any) -> None:
        with DecisionServer(change=drop_answer("s1_c1", 1)) as server:
            score = recall(server, wire)
        assert score.value == 0.5
        assert list(server.requests[1].questions) == ["s1_c1"]

    def test_answer_that_stays_missing(self, wire: Any) -> None:
        with DecisionServer(change=drop_answer("s1_c1")) as server:
            score = recall(server, wire)
        assert (score.value, len(server.requests)) == (None, 2)
        assert [verdict.code for verdict in score.verdicts] == ["missing_id", None]

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.3, -0.1, True, "0.9", None, [0.9]])
    def test_no_probability(self, wire: Any, value: object) -> None:
        with DecisionServer(change=set_answer("s1_c1", value)) as server:
            score = recall(server, wire)
        code = "missing_id" if value is None else "invalid_reply"
        assert (score.value, score.verdicts[0].code) == (None, code)
        assert score.verdicts[1].value is False

    def test_extra_answers_decide_nothing(self, wire: Any) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            if isinstance(body["answers"], dict):
                body["answers"] |= {"s9": {"type": "noul", "noul": 1.0}}
            else:
                body["answers"].append({"type": "predicate", "name": "s9", "probability": 1.0})
            return body

        with DecisionServer(change=change) as server:
            assert recall(server, wire).value == 0.5

    def test_tokens_that_are_not_counted(self, wire: Any) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            return {**body, "usage": {"input_tokens": None, "output_tokens": 1.5}}

        with DecisionServer(change=change) as server:
            usage = recall(server, wire).usage
        assert usage.estimated
        asked = server.requests[0]
        size = len(asked.state) + sum(map(len, asked.questions.values()))
        assert usage.prompt_tokens == pytest.approx(size / 4, rel=0.05)

    @pytest.mark.parametrize(
        "cut", [{"truncated": True}, {"state_tokens_dropped": 7}, {"truncated_questions": ["s1"]}]
    )
    def test_cut_request_is_asked_in_halves(self, wire: Any, cut: dict[str, Any]) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            if "Bananas" in asked.state and "Paris, on" in asked.state:
                body["usage"] |= cut
            return body

        with DecisionServer(change=change) as server:
            score = recall(server, wire)
        assert score.value == 0.5
        assert len(server.requests) == 3
        assert score.verdicts[0].evidence[0].context == 0

    def test_cut_that_halves_do_not_help(self, wire: Any) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            return {**body, "usage": {"truncated": True}}

        with DecisionServer(change=change) as server:
            score = recall(server, wire)
        assert (score.value, score.verdicts[0].code) == (None, "truncated_prompt")

    @pytest.mark.parametrize("most", [1, 2, 4, 8])
    def test_too_many_questions_are_split(self, wire: Any, most: int) -> None:
        detail = [{"loc": ["body", "questions"], "msg": f"at most {most} items", "type": "too_long"}]

        def change(asked: Asked, body: dict[str, Any]) -> Any:
            if len(asked.questions) > most:
                return 422, {"detail": detail}
            return body

        with DecisionServer(change=change) as server:
            assert recall(server, wire).value == 0.5

    def test_detail_of_an_error_is_in_the_message(self, wire: Any) -> None:
        detail = [{"loc": ["body", "model"], "msg": "no such model: m", "type": "value_error"}]
        with DecisionServer(change=lambda *_: (422, {"detail": detail})) as server:
            score = recall(server, wire)
        assert score.verdicts[0].code == "client_error"
        assert "no such model: m" in str(score.verdicts[0].reason)
        assert len(server.requests) == 1

    @pytest.mark.parametrize(("status", "code"), [(429, "rate_limited"), (529, "overloaded")])
    def test_overload_is_sent_again(self, wire: Any, status: int, code: str) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> Any:
            if len(server.requests) == 1:
                return status, {"detail": "busy"}, {"retry-after-ms": "1"}
            return body

        with DecisionServer(change=change) as server:
            model = DecisionAPI("m", wire=wire, base_url=server.url)
            score = ContextRecall(judge=DecisionJudge(model, layout="sample")).score(TOWER)
        assert (score.value, len(server.requests)) == (0.5, 2)
        with DecisionServer(change=lambda *_: (status, {"detail": "busy"})) as server:
            assert recall(server, wire).verdicts[0].code == code

    @pytest.mark.parametrize("body", ["<html>", "[]", "{}", '{"answers": null}', "[" * 9000])
    def test_reply_without_answers(self, wire: Any, body: str) -> None:
        with DecisionServer(change=lambda *_: body) as server:
            score = recall(server, wire)
        assert (score.value, score.verdicts[0].code) == (None, "server_error")

    def test_key_is_never_shown(self, wire: Any) -> None:
        key = "sk-0123abcd-xyz999"
        with DecisionServer(change=lambda asked, _: (400, {"detail": f"bad {asked.key}"})) as server:
            score = recall(server, wire)
        model = DecisionAPI("m", wire=wire, api_key=key, base_url="http://localhost:1")
        for text in (repr(score), repr(model), pickle.dumps(model).decode("latin-1")):
            assert key not in text
        assert pickle.loads(pickle.dumps(model)) == model  # noqa: S301 - its own pickle


class TestOpenAI:
    def test_refusal(self) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            body["answers"][0] = {"type": "refusal", "name": "s1_c1"}
            return body

        with DecisionServer(change=change) as server:
            score = recall(server, "openai")
        assert [verdict.code for verdict in score.verdicts] == ["refused", None]
        assert len(server.requests) == 1

    @pytest.mark.parametrize("names", ["as they are", "none", "shuffled"])
    def test_answers_by_name_and_place(self, names: str) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            if names == "shuffled":
                body["answers"].reverse()
            for answer in body["answers"]:
                answer["name"] = None if names == "none" else answer["name"]
            return body

        with DecisionServer(change=change) as server:
            assert recall(server, "openai").value == 0.5

    def test_unnamed_answers_that_lack_one(self) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            answers = [{**answer, "name": None} for answer in body["answers"][1:]]
            return {**body, "answers": answers}

        with DecisionServer(change=change) as server:
            score = recall(server, "openai")
        assert [verdict.code for verdict in score.verdicts] == ["missing_id", "missing_id"]

    def test_doubled_name(self) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            body["answers"].append({"type": "predicate", "name": "s2_c1", "probability": 1.0})
            return body

        with DecisionServer(change=change) as server:
            score = recall(server, "openai")
        assert [verdict.code for verdict in score.verdicts] == [None, "missing_id"]


class TestSystemOne:
    def test_repeated_id(self) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> str:
            import json

            text = json.dumps(body)
            return text.replace('"s2_c1":', '"s2_c1": {"type": "noul", "noul": 1.0}, "s2_c1":')

        with DecisionServer(change=change) as server:
            score = recall(server, "systemone")
        assert [verdict.code for verdict in score.verdicts] == [None, "missing_id"]

    def test_answer_of_another_type(self) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> dict[str, Any]:
            for answer in body["answers"].values():
                answer["type"] = "boolean"
            return body

        with DecisionServer(change=change) as server:
            assert recall(server, "systemone").verdicts[0].code == "invalid_reply"

    def test_too_many_tokens_are_asked_in_halves(self) -> None:
        def change(asked: Asked, body: dict[str, Any]) -> Any:
            if "Bananas" in asked.state and "Paris, on" in asked.state:
                return 400, {"detail": {"error_type": "max_tokens_exceeded", "message": "too much"}}
            return body

        with DecisionServer(change=change) as server:
            assert recall(server, "systemone").value == 0.5


class TestParameters:
    def test_presets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for preset in DECISION_PROVIDERS.values():
            monkeypatch.setenv(preset.key, "sk-preset-0000000")
        for name in ("AZURE_OPENAI_ENDPOINT", "AZURE_AI_ENDPOINT", "LITELLM_PROXY_URL"):
            monkeypatch.setenv(name, "https://example.org")
        monkeypatch.setenv("DATABRICKS_DECISIONS_URL", "https://example.org/v1")
        models = [DecisionAPI.preset(name, "m") for name in DECISION_PROVIDERS]
        assert [model.identity for model in models] == [
            "systemone/m@api.typesafe.ai/v1",
            "systemone/m@openrouter.ai/api/v1",
            "openai/m@api.openai.com/v1",
            "openai/m@example.org/openai/v1",
            "systemone/m@example.org/providers/microsoft/v1",
            "systemone/m@example.org/v1",
            "systemone/m@example.org/v1",
            "systemone/m@localhost:8000/v1",
        ]

    @pytest.mark.parametrize("wire", WIRES)
    def test_hosted_services_need_a_key(self, wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        with pytest.raises(ParameterError, match="no key"):
            DecisionAPI("m", wire=wire)

    @pytest.mark.parametrize(
        "options",
        [
            {"wire": "chat"},
            {"base_url": "http://a:b@c/"},
            {"timeout": 0},
            {"model": ""},
            {"base_url": "x"},
            {"base_url": "http://local host/v1"},
            {"base_url": "http://localhost:1?"},
            {"base_url": 5},
            {"base_url": ["x"]},
        ],
    )
    def test_wrong_parameters(self, options: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match="DecisionAPI"):
            DecisionAPI(**{"model": "m", "wire": "openai", "base_url": "http://localhost:1", **options})

    def test_unknown_preset(self) -> None:
        with pytest.raises(ParameterError, match="typesafe"):
            DecisionAPI.preset("openai", "m")
