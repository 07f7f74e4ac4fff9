"""The LLM judge: what it asks, how often, and what no reply can do."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    LLMJudge,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.errors import CannotDecomposeError, JudgeError, ParameterError
from ctxmetrics.judges.llm import exchange
from ctxmetrics.judges.llm.checking import check
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.llm.parsing import NOT_JSON
from ctxmetrics.judges.scripted import ScriptedModel
from ctxmetrics.models.base import Reply
from ctxmetrics.verdicts import Usage
from support import answer_from, read_question

if TYPE_CHECKING:
    from ctxmetrics.models.base import Prompt

SAMPLE = Sample(
    id="paris",
    user_input="What is Paris?",
    reference="Paris is the capital of France. It has about 2 million inhabitants.",
    response="Paris is the capital of France.",
    retrieved_contexts=[
        "The Eiffel Tower is 330 m tall.",
        "Paris is the capital and largest city of France.",
        "Paris is called the city of light.",
    ],
)
EVIDENCE = [{"context": "c2", "quote": "Paris is the capital", "whole": True}]
YES = {"evidence": EVIDENCE, "missing": "", "supported": True}
NO = {"evidence": [], "missing": "about 2 million inhabitants", "supported": False}
USEFUL = {
    "c1": {"quote": "", "useful": False},
    "c2": {"quote": "Paris is the capital", "useful": True},
    "c3": {"quote": "", "useful": False},
}
GOOD = {"code": "$code", "sentences": {"s1": YES, "s2": NO}, "useful": USEFUL}


class Recorder:
    """A model that answers with a function of the prompt's data, and remembers its prompts."""

    def __init__(self, answer: Any = None, identity: str = "recorder") -> None:
        self.identity = identity
        self.prompts: list[Prompt] = []
        self._answer = answer or honest

    async def generate(self, prompt: Prompt, schema: type) -> Reply:
        self.prompts.append(prompt)
        answer = self._answer(prompt, data_of(prompt))
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            answer = {
                **answer,
                "code": str(answer.get("code", "$code")).replace("$code", prompt.data_code),
            }
        return Reply(content=answer, usage=Usage(calls=1))


def data_of(prompt: Prompt) -> dict[str, Any]:
    return json.loads(prompt.user.split("\n")[1])


def honest(prompt: Prompt, data: dict[str, Any]) -> dict[str, Any]:
    """Support a sentence when a context holds its first three words; call a context useful when it supports one."""
    answer: dict[str, Any] = {}
    contexts = data.get("contexts", [])
    sentences = data.get("sentences", [])
    if prompt.step == "claims":
        return {"claims": [piece.strip() + "." for piece in data["text"].split(".") if piece.strip()]}
    if prompt.step in ("joint", "attribution"):
        answer["sentences"] = {}
        for sentence in sentences:
            opening = " ".join(sentence["text"].split()[:3])
            found = [context["id"] for context in contexts if opening in context["text"]]
            evidence = [{"context": id_, "quote": opening, "whole": True} for id_ in found]
            answer["sentences"][sentence["id"]] = {"evidence": evidence, "supported": bool(found)}
    if prompt.step in ("joint", "usefulness"):
        answer["useful"] = {
            item["id"]: {"quote": "Paris is the", "useful": "Paris is the" in item["text"]}
            for item in contexts
        }
    return answer


def test_one_joint_request_serves_recall_and_precision() -> None:
    model = Recorder()
    results = evaluate(
        [SAMPLE], [ContextRecall(), ContextPrecision()], judge=LLMJudge(model), progress=False
    )
    assert results[0]["context_recall"].value == 0.5
    assert results[0]["context_precision"].value == 0.5  # useful at rank 2 only: (1/2) / 1
    assert [prompt.step for prompt in model.prompts] == ["joint"]
    assert results.usage.calls == 1


def test_one_request_serves_sequential_metrics_and_copies() -> None:
    model = Recorder()
    assert ContextRecall(judge=LLMJudge(model)).score(SAMPLE).value == 0.5
    score = ContextPrecision(judge=LLMJudge(model)).score(SAMPLE)
    assert score.value == 0.5
    assert len(model.prompts) == 1
    assert score.usage == Usage(reused=1)


def test_another_model_name_reuses_nothing() -> None:
    first, second = Recorder(), Recorder(identity="another")
    ContextRecall(judge=LLMJudge(first)).score(SAMPLE)
    ContextRecall(judge=LLMJudge(second)).score(SAMPLE)
    assert (len(first.prompts), len(second.prompts)) == (1, 1)


def test_separate_questions_when_not_joint() -> None:
    model = Recorder()
    judge = LLMJudge(model, joint=False)
    evaluate([SAMPLE], [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    assert sorted(prompt.step for prompt in model.prompts) == ["attribution", "usefulness"]


def test_utilization_asks_about_contexts_only() -> None:
    model = Recorder()
    assert ContextUtilization(judge=LLMJudge(model)).score(SAMPLE).value == 0.5
    assert [prompt.step for prompt in model.prompts] == ["usefulness"]
    assert data_of(model.prompts[0])["answer"] == SAMPLE.response


def test_twenty_identical_samples_cost_one_request() -> None:
    model = Recorder()
    results = evaluate(
        [replace(SAMPLE, id=None)] * 20,
        [ContextRecall(), ContextPrecision()],
        judge=LLMJudge(model),
        progress=False,
    )
    assert len(model.prompts) == 1
    assert [row["context_recall"].value for row in results] == [0.5] * 20


def test_per_context_asks_each_alone_and_only_new_ones() -> None:
    contexts = [f"Context number {number} tells nothing." for number in range(10)]
    contexts[7] = "Paris is the capital of France, says context seven."
    model = Recorder()
    judge = LLMJudge(model, per_context=True)

    def ask(k: int) -> list[float | None]:
        sample = Sample(reference=SAMPLE.reference, user_input="?", retrieved_contexts=contexts[:k])
        return [metric(judge=judge).score(sample).value for metric in (ContextRecall, ContextPrecision)]

    assert ask(5) == [0.0, 0.0]
    assert len(model.prompts) == 5
    assert all(len(data_of(prompt)["contexts"]) == 1 for prompt in model.prompts)
    assert ask(10) == [0.5, 0.125]  # useful at rank 8 only: 1/8
    assert len(model.prompts) == 10


def test_per_context_evidence_names_the_context_of_the_sample() -> None:
    score = ContextRecall(judge=LLMJudge(Recorder(), per_context=True)).score(SAMPLE)
    span = score.verdicts[0].evidence[0]
    assert (span.context, span.quote) == (1, "Paris is the")
    assert SAMPLE.retrieved_contexts is not None
    assert SAMPLE.retrieved_contexts[span.context][span.start : span.end] == span.quote


def test_missing_ids_are_asked_again_and_only_those() -> None:
    replies = iter([{"sentences": {"s1": YES}, "useful": USEFUL}, {"sentences": {"s2": NO}}])
    model = Recorder(lambda prompt, data: next(replies))
    score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert score.value == 0.5
    again = model.prompts[1]
    assert (again.step, again.sentences, again.useful) == ("attribution", ("s2",), ())
    assert again.system == model.prompts[0].system
    assert data_of(again) == data_of(model.prompts[0])
    assert "\nKeys of sentences: s2.\n" in again.user
    assert "no entry for: s2" in model.prompts[1].user


def test_missing_ids_of_both_kinds_are_asked_in_one_request() -> None:
    def answer(prompt: Prompt, data: dict[str, Any]) -> Any:
        if prompt.attempt == 0:
            return {"sentences": {"s1": YES}, "useful": {"c1": USEFUL["c1"]}}
        return honest(prompt, data)

    model = Recorder(answer)
    score = ContextPrecision(judge=LLMJudge(model)).score(SAMPLE)
    assert score.value == 0.5
    assert [prompt.step for prompt in model.prompts] == ["joint", "joint"]
    again = model.prompts[1]
    # What the incomplete list says about c1 may be about another context.
    assert (again.sentences, again.useful) == (("s2",), ("c1", "c2", "c3"))
    assert again.system == model.prompts[0].system
    texts = [item["text"] for item in data_of(again)["sentences"]]
    assert " ".join(texts) == SAMPLE.reference


def test_missing_id_is_not_judged_and_keeps_the_denominator() -> None:
    score = ContextRecall(judge=ScriptedJudge({"joint": [{**GOOD, "sentences": {"s1": YES}}]})).score(
        SAMPLE
    )
    assert score.value is None
    assert score.reason_code == "not_judged"
    assert score.message is not None
    assert "s2" in score.message
    assert [verdict.code for verdict in score.verdicts] == [None, "missing_id"]


def test_ids_that_were_not_asked_about_are_dropped_and_counted() -> None:
    more = {**GOOD, "useful": {**USEFUL, "c4": USEFUL["c2"], "s1": YES}}
    score = ContextPrecision(judge=ScriptedJudge({"joint": [more]})).score(SAMPLE)
    assert (score.value, score.usage.calls) == (0.5, 1)
    assert score.metadata["stray_ids"] == 2
    assert [verdict.code for verdict in score.verdicts] == [None, None, None]


def test_shifted_ids_are_no_number() -> None:
    shifted = {f"c{number}": cell for number, cell in enumerate(USEFUL.values())}  # c0, c1, c2
    score = ContextPrecision(judge=ScriptedJudge({"joint": [{**GOOD, "useful": shifted}]})).score(
        SAMPLE
    )
    assert score.value is None
    # c0 was not shown, and c3 has no entry: each entry may be about the context before it.
    codes = [verdict.code for verdict in score.verdicts]
    assert codes == ["invalid_reply", "invalid_reply", "invalid_reply"]
    assert score.metadata["stray_ids"] >= 1


def test_absent_quote_is_asked_again_once_then_no_and_flagged() -> None:
    invented = {**YES, "evidence": [{"context": "c2", "quote": "Paris has been the capital since 508"}]}
    useless = {id_: {**entry, "useful": False} for id_, entry in USEFUL.items()}
    model = Recorder(lambda prompt, data: {"sentences": {"s1": invented, "s2": NO}, "useful": useless})
    score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert score.value == 0.0
    assert score.verdicts[0].code == "unverified_evidence"
    assert len(model.prompts) == 2


def test_transport_trouble_is_a_code_and_costs_nobody_else() -> None:
    def answer(prompt: Prompt, data: dict[str, Any]) -> Any:
        if "330 m" in prompt.user:
            return JudgeError("HTTP 401", reason_code="client_error")
        return honest(prompt, data)

    other = Sample(
        id="other",
        reference="Paris is the capital.",
        retrieved_contexts=["Paris is the capital of France."],
    )
    results = evaluate(
        [SAMPLE, other], [ContextRecall()], judge=LLMJudge(Recorder(answer)), progress=False
    )
    assert results[0]["context_recall"].reason_code == "not_judged"
    assert {verdict.code for verdict in results[0]["context_recall"].verdicts} == {"client_error"}
    assert results[1]["context_recall"].value == 1.0


def test_a_truncated_reply_is_asked_again_for_less() -> None:
    def answer(prompt: Prompt, data: dict[str, Any]) -> Any:
        if len(prompt.sentences) + len(prompt.useful) > 2:
            return JudgeError("finish_reason length", reason_code="truncated")
        return honest(prompt, data)

    model = Recorder(answer)
    score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert score.value == 0.5
    assert [prompt.step for prompt in model.prompts][:2] == ["joint", "attribution"]


def test_each_share_of_a_truncated_question_is_asked_again() -> None:
    bad: list[Any] = [
        JudgeError("finish_reason length", reason_code="truncated"),
        "?",
        {"sentences": {}},
        None,
        "??",
        {"useful": {}},
    ]

    def answer(prompt: Prompt, data: dict[str, Any]) -> Any:
        return (bad.pop(0) if bad else None) or honest(prompt, data)

    model = Recorder(answer)
    scores = evaluate([SAMPLE], [ContextRecall(), ContextPrecision()], judge=LLMJudge(model))[0]
    assert (scores["context_recall"].value, scores["context_precision"].value) == (0.5, 0.5)
    steps = [prompt.step for prompt in model.prompts]
    assert steps == [
        "joint",
        *["attribution"] * 3,
        *["usefulness"] * 4,
    ]  # two contexts, twice unusable; then the third


def test_claims_are_decomposed_once_a_text() -> None:
    model = Recorder()
    judge = LLMJudge(model)
    metrics = [ContextRecall(convention="axion"), ContextPrecision(convention="axion")]
    results = evaluate([SAMPLE], metrics, judge=judge, progress=False)
    recall = results[0]["context_recall(convention=axion)"]
    assert recall.value == 0.5
    assert recall.provenance.splitter == "claims"
    assert sorted(prompt.step for prompt in model.prompts) == ["claims", "joint"]
    assert recall.signals.to_dict()["total_gt_statements"] == 2


def test_no_claims_for_a_text_that_says_something_is_no_score() -> None:
    score = ContextRecall(
        unit="claim", judge=ScriptedJudge({"claims": [{"code": "$code", "claims": []}]})
    ).score(SAMPLE)
    assert (score.value, score.reason_code, score.verdicts[0].code) == (
        None,
        "not_judged",
        "invalid_reply",
    )


def test_claims_without_decompose_are_an_error_with_the_fix() -> None:
    with pytest.raises(CannotDecomposeError, match="unit='sentence'"):
        ContextRecall(unit="claim").score(SAMPLE)


def test_votes_take_the_majority_and_report_their_stability() -> None:
    no = {"evidence": [], "missing": "unsure", "supported": False}
    by_vote = [GOOD, {**GOOD, "sentences": {"s1": no, "s2": NO}}, GOOD]
    model = Recorder(lambda prompt, data: by_vote[prompt.vote])
    score = ContextRecall(judge=LLMJudge(model, votes=3)).score(SAMPLE)
    assert score.value == 0.5
    assert len(model.prompts) == 3
    assert score.metadata["stability"] == 5 / 6  # s1: 2 of 3 agree, s2: 3 of 3
    assert (score.verdicts[0].details["votes"], score.verdicts[0].details["agreement"]) == (
        "2 of 3",
        2 / 3,
    )


def test_a_split_vote_is_no_verdict() -> None:
    no = {"evidence": [], "missing": "unsure", "supported": False}
    by_vote = [GOOD, {**GOOD, "sentences": {"s1": no, "s2": NO}}]
    score = ContextRecall(
        judge=LLMJudge(Recorder(lambda prompt, data: by_vote[prompt.vote]), votes=2)
    ).score(SAMPLE)
    assert [verdict.code for verdict in score.verdicts] == ["conflicting_verdicts", None]


def test_contexts_inside_the_sentences_cost_no_second_request():
    nested = {"code": "$code", "sentences": {"s1": YES, "s2": NO, "useful": USEFUL}}
    unclosed = json.dumps(nested).removesuffix("}")
    for reply in (nested, json.dumps(nested), unclosed):
        judge = ScriptedJudge({"joint": [reply]})
        recall = ContextRecall(judge=judge).score(SAMPLE)
        precision = ContextPrecision(judge=judge).score(SAMPLE)
        assert (recall.value, precision.value) == (0.5, 0.5)
        assert recall.usage.calls + precision.usage.calls == 1


def test_raw_replies_are_kept_on_request_only() -> None:
    text = json.dumps(
        {**GOOD, "code": "c0ffee00"}
    )  # another code: its quotes are in place, so it counts
    kept = ContextRecall(judge=ScriptedJudge({"joint": [text]}, keep_raw=True)).score(SAMPLE)
    assert kept.metadata["raw_replies"] == [text]
    assert (
        "raw_replies"
        not in ContextRecall(judge=ScriptedJudge({"joint": [text]})).score(SAMPLE).metadata
    )


def test_relevance_supports_comes_from_the_attribution_alone() -> None:
    useless = {**GOOD, "useful": {id_: {**entry, "useful": False} for id_, entry in USEFUL.items()}}
    score = ContextPrecision(relevance="supports", judge=ScriptedJudge({"joint": [useless]})).score(
        SAMPLE
    )
    assert [verdict.value for verdict in score.verdicts] == [False, True, False]
    assert score.value == 0.5


def test_supports_is_unknown_while_a_unit_is_not_judged() -> None:
    partial = {**GOOD, "sentences": {"s1": YES}}
    score = ContextPrecision(relevance="supports", judge=ScriptedJudge({"joint": [partial]})).score(
        SAMPLE
    )
    assert [verdict.value for verdict in score.verdicts] == [None, True, None]


@pytest.mark.parametrize("kind", ["contexts", "one long context", "sentences"])
def test_oversized_request_is_split_with_the_same_result(kind: str) -> None:
    words = [f"Fact{number} is stated here" for number in range(300)]
    contexts = [f"{words[number]} in context {number}. Nothing more." for number in range(200)]
    reference = " ".join(f"{words[number]} and only here." for number in range(0, 40, 2))
    if kind == "one long context":
        contexts = [
            "filler text without any content " * 3200 + words[4] + " at last. " + "more filler " * 100
        ]
    if kind == "sentences":
        reference = " ".join(f"{words[number]} and only here." for number in range(300))
        contexts = contexts[:30]
    sample = Sample(user_input="?", reference=reference, retrieved_contexts=contexts)
    small, large = Recorder(identity="small"), Recorder(identity="large")
    whole = LLMJudge(large, max_characters=10_000_000)
    for metric in (ContextRecall, ContextPrecision):
        split_score = metric(judge=LLMJudge(small)).score(sample)
        assert split_score.value is not None
        assert [v.value for v in split_score.verdicts] == [
            v.value for v in metric(judge=whole).score(sample).verdicts
        ]
        for verdict in split_score.verdicts:
            for span in verdict.evidence:
                assert contexts[span.context][span.start : span.end] == span.quote
    assert len(small.prompts) > 1
    assert all(len(prompt.user) < 70_000 for prompt in small.prompts)


def test_nameless_function_shares_no_judgement_with_a_dead_one() -> None:
    """Python gives the address of an object that is gone to the next one."""

    def value(supported: bool) -> float | None:
        sentences = {"s1": YES if supported else NO, "s2": NO}
        judge = ScriptedJudge(lambda _: {**GOOD, "sentences": sentences})
        return ContextRecall(judge=judge).score(SAMPLE).value

    assert [value(number % 2 == 0) for number in range(8)] == [0.5, 0.0] * 4


def test_judges_and_metrics_pickle_copy_and_hash() -> None:
    judge = LLMJudge(ScriptedModel({"joint": [GOOD]}), votes=1)
    metric = ContextRecall(judge=judge, top_k=3)
    for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):  # noqa: S301 - our own bytes
        assert twin == metric
        assert hash(twin) == hash(metric)
        assert twin.score(SAMPLE).verdicts == metric.score(SAMPLE).verdicts


@pytest.mark.parametrize(
    "wrong", [{"votes": 0}, {"votes": True}, {"max_characters": 10}, {"max_repairs": -1}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        LLMJudge(ScriptedModel({}), **wrong)


def test_a_model_that_is_none_is_refused_with_the_way_out() -> None:
    with pytest.raises(ParameterError, match="adapter's model class"):
        LLMJudge(object())  # type: ignore[arg-type]  # refused


# ---- the code of the request, and who answered ----


def test_reply_about_other_data_is_asked_again_with_the_code() -> None:
    wrong = {
        **GOOD,
        "code": "00000000",
        "sentences": {"s1": {**YES, "evidence": [{**EVIDENCE[0], "context": "c1"}]}, "s2": NO},
    }
    model = Recorder(lambda prompt, data: wrong)
    score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert score.reason_code == "not_judged"
    assert {verdict.code for verdict in score.verdicts} == {"wrong_data"}
    assert len(model.prompts) == 2
    assert f"The code of this data is {model.prompts[0].data_code}." in model.prompts[1].user
    assert "no other" not in model.prompts[1].user.rpartition("\n")[2]


def test_a_reply_without_quotes_needs_the_code() -> None:
    def answer(prompt: Prompt, data: dict[str, Any]) -> dict[str, Any]:
        texts = {item["id"]: item["text"] for item in data["sentences"]}
        sentences = {
            id_: {"evidence": [], "missing": text, "supported": False} for id_, text in texts.items()
        }
        useless = {id_: {"useful": False} for id_ in ("c1", "c2", "c3")}
        code = {"code": "$code" if prompt.attempt else None}
        return {**code, "sentences": sentences, "useful": useless}

    model = Recorder(answer)
    score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert (score.value, len(model.prompts)) == (0.0, 2)
    assert [verdict.code for verdict in score.verdicts] == [
        "contradicted",
        None,
    ]  # the first stands there


def test_claims_need_the_code() -> None:
    replies = {"claims": [{"code": "00000000", "claims": ["Paris is the capital of France."]}]}
    score = ContextRecall(unit="claim", judge=ScriptedJudge(replies)).score(SAMPLE)
    assert (score.value, score.verdicts[0].code, score.usage.calls) == (None, "wrong_data", 2)


def test_a_weak_verdict_is_asked_again_only_beside_another() -> None:
    weak = {**YES, "evidence": [{"context": "c3", "quote": "the city of light", "whole": True}]}
    useful = {**USEFUL, "c3": {"quote": "", "useful": True}}
    alone = Recorder(
        lambda prompt, data: {**GOOD, "sentences": {"s1": weak, "s2": NO}, "useful": useful}
    )
    score = ContextRecall(judge=LLMJudge(alone)).score(SAMPLE)
    assert (score.verdicts[0].code, len(alone.prompts)) == ("weak_evidence", 1)

    def answer(prompt: Prompt, data: dict[str, Any]) -> dict[str, Any]:
        if prompt.attempt == 0:
            return {**GOOD, "sentences": {"s1": weak}}
        return {"sentences": {"s1": YES, "s2": NO}}

    beside = Recorder(answer, identity="beside")
    score = ContextRecall(judge=LLMJudge(beside)).score(SAMPLE)
    assert beside.prompts[1].sentences == ("s1", "s2")
    assert [(verdict.value, verdict.code) for verdict in score.verdicts] == [
        (True, None),
        (False, None),
    ]


def test_missing_words_stay_with_the_verdict_and_decide_nothing() -> None:
    score = ContextRecall(judge=ScriptedJudge({"joint": [GOOD]})).score(SAMPLE)
    assert (
        score.verdicts[1].details["missing"]
        == score.verdicts[1].reason
        == "about 2 million inhabitants"
    )
    odd = {**GOOD, "sentences": {"s1": {**YES, "missing": "everything"}, "s2": NO}}
    assert ContextRecall(judge=ScriptedJudge({"joint": [odd]})).score(SAMPLE).value == 0.5


def test_every_stating_context_is_evidence_whole_or_part() -> None:
    sample = replace(
        SAMPLE, retrieved_contexts=[*SAMPLE.retrieved_contexts, "So Paris is the capital of France."]
    )
    evidence = [
        *EVIDENCE,
        {"context": "c2", "quote": "city of France", "whole": False},
        {"context": "c3", "quote": "Paris is called the city", "whole": False},
        {"context": "c4", "quote": "Paris is the capital of France", "whole": True},
    ]
    reply = {**GOOD, "sentences": {"s1": {**YES, "evidence": evidence}, "s2": NO}}
    reply["useful"] = {**USEFUL, "c4": {"useful": True}}
    score = ContextRecall(judge=ScriptedJudge({"joint": [reply]})).score(sample)
    assert [(span.context, span.whole) for span in score.verdicts[0].evidence] == [
        (1, True),  # a context's entries differ: true wins
        (1, True),
        (2, False),
        (3, True),
    ]


def test_server_model_name_is_in_provenance_and_cache(
    tmp_path: Any,
) -> None:
    class Served(Recorder):
        async def generate(self, prompt: Prompt, schema: type) -> Reply:
            return replace(await super().generate(prompt, schema), served_model="judge-2026-10-01")

    names = []
    for _ in range(2):
        forget()
        (row,) = evaluate(
            [SAMPLE], [ContextRecall()], judge=LLMJudge(Served()), cache=tmp_path, progress=False
        )
        names.append(row["context_recall"].provenance.served_model)
    assert names == ["judge-2026-10-01"] * 2
    assert row["context_recall"].usage.calls == 0
    assert (
        ContextRecall(judge=LLMJudge(Recorder(identity="x"))).score(SAMPLE).provenance.served_model
        is None
    )


@pytest.mark.parametrize("prompt", ["joint-en-2", "joint-en-3"])
def test_resume_asks_again_what_an_older_prompt_judged(
    prompt: str, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out.jsonl"
    judge = ScriptedJudge({"joint": [GOOD]})
    evaluate([SAMPLE], [ContextRecall()], judge=judge, out=out, progress=False)
    left = out.read_text(encoding="utf-8").replace("joint-en-3", prompt)
    (tmp_path / "out.jsonl.part").write_text(left, encoding="utf-8")
    out.unlink()
    forget()
    again = evaluate([SAMPLE], [ContextRecall()], judge=judge, out=out, resume=True, progress=False)
    outdated = prompt == "joint-en-2"
    assert again.usage.calls == outdated
    assert ("judged with the prompt joint-en-2" in caplog.text) == outdated
    assert '"prompt":"joint-en-3"' in out.read_text(encoding="utf-8")


def test_own_model_may_report_any_answering_name():
    class Own:
        identity = "own/m"

        def __init__(self, served):
            self.served = served

        async def generate(self, prompt, schema):
            return Reply(content=answer_from()(prompt), served_model=self.served)

    sample = Sample(reference="The door is green.", retrieved_contexts=["The door is green."])
    for served, known in ((5, None), (["m"], None), ("m\x1b[31m", "m\ufffd[31m"), ("", None)):
        score = ContextRecall(judge=LLMJudge(Own(served), reuse=False)).score(sample)
        assert (score.value, score.provenance.served_model) == (1.0, known)


def test_the_identity_of_a_model_is_a_text():
    class Own:
        identity = 5

        async def generate(self, prompt, schema):
            raise AssertionError

    with pytest.raises(ParameterError, match="Own is no model: it needs identity"):
        LLMJudge(Own())


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        (1, 4),  # each reply answers one more id: three repeats, and no more
        (0, 2),  # the same again and again
        (3, 1),
    ],
)
def test_bad_replies_are_paid_once_a_run_and_counted(answers, calls):
    sample = Sample(
        user_input="What?",
        reference="The mill is red. The mill is old. The mill is tall. The mill is round. It is shut.",
        retrieved_contexts=["Tea is sold.", "Rain fell."],
    )
    asked = []

    def reply(prompt):
        question = read_question(prompt.text)
        asked.append(question)
        ids = question.keys.get("sentences", [])
        answered = ids[:answers] if answers < 3 else ids
        units = {
            id_: {"evidence": [], "missing": question.units[id_], "supported": False}
            for id_ in answered
        }
        useful = {id_: {"quote": "", "useful": False} for id_ in question.keys.get("useful", ())}
        return {"code": question.code, "sentences": units, "useful": useful}

    forget()
    judge = LLMJudge(ScriptedModel(reply))
    metrics = [ContextRecall(), ContextPrecision()]
    results = evaluate([sample], metrics, judge=judge, progress=False)
    assert len(asked) == calls
    assert (results.usage.calls, results.usage.repeats) == (calls, calls - 1)
    assert results[0]["context_precision"].value == 0.0
    repeats = {1: "", 2: " (1 repeat)", 4: " (3 repeats)"}[calls]
    assert f"{calls} call{'s' * (calls > 1)}{repeats}, 1 reused" in str(results.summary())
    evaluate([sample], metrics, judge=judge, progress=False)  # another run begins anew
    assert len(asked) == (2 * calls if answers < 3 else calls)


def test_a_key_in_an_identity_is_in_no_row(tmp_path):
    key = "sk-abcdefghijklmnop1234"

    class Gateway:
        identity = f"gateway/{key}"

        async def generate(self, *_):
            raise JudgeError(f"refused {key}", reason_code="client_error")

    judge = LLMJudge(Gateway())
    sample = Sample(reference="It is red.", retrieved_contexts=["Rain fell."])
    results = evaluate([sample], [ContextRecall()], judge=judge, progress=False)
    results.to_jsonl(tmp_path / "a.jsonl")
    assert judge.name == "llm:gateway/[key]"
    texts = [(tmp_path / "a.jsonl").read_text(), str(results.summary()), results[0].scores[0].pretty()]
    assert all(key not in text for text in texts)
    assert "gateway/[key]" in texts[0]


@pytest.mark.parametrize("value", [True, 3, "n/a", ["c1"]], ids=str)
def test_a_list_that_was_not_asked_for_decides_nothing(value: Any) -> None:
    reply = {"sentences": GOOD["sentences"], "useful": value}
    for answer in (reply, json.dumps(reply).replace("{", '{"code": "$code", ', 1)):
        judge = ScriptedJudge({"attribution": [answer]}, joint=False)
        score = ContextRecall(judge=judge).score(SAMPLE)
        assert (score.value, score.usage.calls) == (0.5, 1)


def test_an_odd_list_in_a_repair_costs_no_earlier_verdict() -> None:
    useful = {id_: USEFUL[id_] for id_ in ("c1", "c3")}
    first = {"sentences": GOOD["sentences"], "useful": useful}
    repair = {"sentences": "see above", "useful": USEFUL}
    model = Recorder(lambda prompt, data: repair if prompt.attempt else first)
    judge = LLMJudge(model)
    assert ContextRecall(judge=judge).score(SAMPLE).value == 0.5
    assert ContextPrecision(judge=judge).score(SAMPLE).value == 0.5
    assert len(model.prompts) == 2


HUGE = 10**400
WITH_HUGE_NUMBERS = {
    "fraction": {**GOOD, "recall": f"{'9' * 400}/2"},
    "percent": {**GOOD, "recall": f"{'9' * 400}%"},
    "large percent": {**GOOD, "recall": f"{'9' * 308}%"},
    "share": {**GOOD, "recall": HUGE},
    "count": {**GOOD, "supported_count": HUGE},
    "confidence": {**GOOD, "sentences": {"s1": {**YES, "confidence": HUGE}, "s2": NO}},
    "probabilities": {
        **GOOD,
        "sentences": {"s1": {**YES, "probabilities": {"yes": HUGE, "no": 0}}, "s2": NO},
    },
}


@pytest.mark.parametrize("form", [dict, json.dumps], ids=["object", "text"])
@pytest.mark.parametrize("name", WITH_HUGE_NUMBERS)
def test_a_huge_number_costs_no_verdict(name: str, form: Any) -> None:
    judge = ScriptedJudge({"joint": [form(WITH_HUGE_NUMBERS[name])]})
    score = ContextRecall(judge=judge).score(SAMPLE)
    assert score.value == 0.5
    assert [verdict.value for verdict in score.verdicts] == [True, False]


@pytest.mark.parametrize(
    "error", [ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError]
)
def test_an_error_of_the_check_costs_its_reply_alone(error, monkeypatch):
    def check_or_fail(data: Any, *args: Any, **kwargs: Any) -> Any:
        if "odd" in data:
            raise error("odd")
        return check(data, *args, **kwargs)

    monkeypatch.setattr(exchange, "check", check_or_fail)
    replies = iter(
        [
            {"sentences": {"s1": YES}, "useful": USEFUL},
            {"sentences": {"s2": NO}, "odd": 1},
            {"sentences": {"s2": NO}},
        ]
    )
    model = Recorder(lambda prompt, data: next(replies))
    score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert (score.value, len(model.prompts)) == (0.5, 3)
    assert NOT_JSON in model.prompts[2].user


def test_a_reply_whose_data_cannot_be_read_is_asked_again() -> None:
    class Broken:
        def model_dump(self) -> Any:
            raise RuntimeError("no data")

    model = Recorder(lambda prompt, data: honest(prompt, data) if prompt.attempt else Broken())
    score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    assert (score.value, len(model.prompts)) == (0.5, 2)
