"""A reply is read as a whole: what its entries say against themselves, against each other, and against their places."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, Sample, evaluate
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.scripted import ScriptedModel
from ctxmetrics.models.base import Prompt
from support import FakeOpenAIServer, read_question
from support.command import run_command

Reply = dict[str, Any]
SAMPLE = Sample(
    user_input="What is known of the pump?",
    reference="The X200 pump weighs 12 kg. It hums at night. Its filter is washed monthly.",
    retrieved_contexts=[
        "The older pump weighs 12 kg.",
        "At night it hums softly.",
        "Wash the filter of the pump monthly.",
    ],
)
HUMS = {"context": "c2", "quote": "At night it hums", "whole": True}
FILTER = {"context": "c3", "quote": "Wash the filter of the pump monthly", "whole": True}
NEAR = {"context": "c1", "quote": "pump weighs 12 kg", "whole": True}


def yes(*evidence: Reply, missing: Any = "") -> Reply:
    return {"evidence": list(evidence), "missing": missing, "supported": True}


def no(missing: Any = "", *evidence: Reply) -> Reply:
    return {"evidence": list(evidence), "missing": missing, "supported": False}


def reply(s1: Reply, s2: Any = None, s3: Any = None, useful: str = "c2 c3") -> Reply:
    """An honest reply but for what is given; ``...`` leaves an entry out."""
    units = {
        "s1": s1,
        "s2": yes(HUMS) if s2 is None else s2,
        "s3": yes(FILTER) if s3 is None else s3,
    }
    rated = {id_: {"quote": "", "useful": id_ in useful.split()} for id_ in ("c1", "c2", "c3")}
    return {
        "code": "$code",
        "sentences": {id_: entry for id_, entry in units.items() if entry is not ...},
        "useful": rated,
    }


HONEST = reply(no("X200"))


def judged(
    *replies: Any, sample: Sample = SAMPLE, **options: Any
) -> tuple[dict[str, tuple[bool | None, str | None]], int]:
    """Judge with these replies, one after the other; return value and code by id, and how many were asked for."""
    forget()
    asked: list[Prompt] = []

    def answer(prompt: Prompt) -> str:
        asked.append(prompt)
        text = json.dumps(replies[min(len(asked), len(replies)) - 1])
        return text.replace("$code", prompt.data_code)

    judge = LLMJudge(ScriptedModel(answer), **options)
    (row,) = evaluate([sample], [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    verdicts = [*row["context_recall"].verdicts, *row["context_precision"].verdicts]
    return {verdict.id: (verdict.value, verdict.code) for verdict in verdicts}, len(asked)


def test_an_honest_reply_is_not_flagged() -> None:
    verdicts, requests = judged(HONEST)
    assert {code for _, code in verdicts.values()} == {None}
    assert [verdicts[id_][0] for id_ in ("s1", "s2", "s3", "c1", "c2", "c3")] == [
        False, True, True, False, True, True,
    ]  # fmt: skip
    assert requests == 1


DENIED_YES = {
    "its context is useless": reply(yes(NEAR)),
    "missing words": reply(yes(NEAR, missing="X200"), useful="c1 c2 c3"),
    "a list of missing words": reply(yes(NEAR, missing=["X200", "pump"]), useful="c1 c2 c3"),
    "an object of missing words": reply(yes(NEAR, missing={"words": "X200"}), useful="c1 c2 c3"),
    "all of it missing": reply(yes(NEAR, missing="all of it"), useful="c1 c2 c3"),
    "another verdict beside it": reply({**yes(NEAR), "label": "unsupported"}, useful="c1 c2 c3"),
    "a reason against it": reply({**yes(NEAR), "reason": "No context states this."}, useful="c1 c2 c3"),
    "the text of another sentence": reply(
        {**yes(NEAR), "claim": "It hums at night"},
        {**yes(HUMS), "claim": "It hums at night."},
        {**yes(FILTER), "claim": "Its filter is washed monthly."},
        useful="c1 c2 c3",
    ),
    "one part": reply(yes({**NEAR, "whole": False}), useful="c1 c2 c3"),
    "one part twice": reply(yes(*[{**NEAR, "whole": False}] * 2), useful="c1 c2 c3"),
    "a part and a piece of it": reply(
        yes({**NEAR, "whole": False}, {**NEAR, "quote": "weighs 12 kg", "whole": False}),
        useful="c1 c2 c3",
    ),
}


@pytest.mark.parametrize("told", DENIED_YES.values(), ids=DENIED_YES)
def test_a_yes_that_its_reply_denies_is_contradicted(told: Reply) -> None:
    verdicts, requests = judged(told)
    assert verdicts["s1"] == (True, "contradicted")
    assert verdicts["c1"] == (True, "contradicted")
    assert {verdicts[id_] for id_ in ("s2", "s3", "c2", "c3")} == {(True, None)}
    assert requests == 1
    verdicts, _ = judged(told, evidence="strict")
    assert verdicts["s1"][0] is False
    assert verdicts["c1"][0] is False
    assert verdicts["s2"][0] is True


def test_entries_may_repeat_the_texts_of_their_sentences() -> None:
    told = reply({**no("X200"), "sentence": "The X200 pump weighs 12 kg."})
    told["sentences"]["s2"]["sentence"] = "It hums at night."
    told["sentences"]["s3"]["sentence"] = "Its filter is washed monthly"
    verdicts, _ = judged(told)
    assert {code for _, code in verdicts.values()} == {None}


def test_a_no_with_another_verdict_beside_it_is_contradicted() -> None:
    told = reply({**no("X200"), "verdict": "supported"})
    told["useful"]["c1"]["relevant"] = True
    verdicts, requests = judged(told)
    assert verdicts["s1"] == verdicts["c1"] == (False, "contradicted")
    assert verdicts["s2"] == verdicts["c2"] == (True, None)
    assert requests == 1


def test_a_useful_context_called_irrelevant_is_contradicted() -> None:
    told = reply(no("X200"))
    told["useful"]["c2"]["relevance"] = "irrelevant"
    assert judged(told)[0]["c2"] == (True, "contradicted")


def test_evidence_of_an_undecided_sentence_makes_a_weak_context() -> None:
    """The reply says maybe about the sentence on which the useful context rests, also when it is asked again."""
    verdicts, _ = judged(reply({**yes(NEAR), "supported": "maybe"}, useful="c1 c2 c3"))
    assert verdicts["s1"] == (None, "invalid_reply")
    assert verdicts["c1"] == (True, "weak_evidence")
    assert verdicts["c2"] == (True, None)


STATED = replace(
    SAMPLE,
    retrieved_contexts=[
        "Data sheet\nOf both, the X200 pump weighs 12 kg without its cable.",
        *SAMPLE.retrieved_contexts[1:],
    ],
)


@pytest.mark.parametrize("missing", ["12 kg", "weighs", SAMPLE.reference])
def test_a_no_about_a_sentence_of_a_context_is_contradicted(missing: str) -> None:
    """What it calls missing stands there, with all of the sentence."""
    verdicts, requests = judged(reply(no(missing)), sample=STATED)
    assert verdicts["s1"] == verdicts["c1"] == (False, "contradicted")
    assert {verdicts[id_] for id_ in ("s2", "s3", "c2", "c3")} == {(True, None)}
    assert requests == 1


@pytest.mark.parametrize(
    ("context", "quote"),
    [
        ("The X210 pump weighs 12 kg. It is sold out.", "The X210 pump weighs 12 kg."),
        ("The X200 pump weighs 13 kg. It is sold out.", "The X200 pump weighs 13 kg."),
    ],
)
def test_a_useful_context_whose_quote_has_another_fact(context: str, quote: str) -> None:
    """No evidence names the context: its own quote is about another model, or says another value."""
    sample = replace(SAMPLE, retrieved_contexts=[context, *SAMPLE.retrieved_contexts[1:]])
    told = reply(no("X200"), useful="c1 c2 c3")
    told["useful"]["c1"]["quote"] = quote
    verdicts, _ = judged(told, sample=sample)
    assert verdicts["c1"] == (True, "contradicted")
    assert verdicts["s1"] == (False, None)
    verdicts, _ = judged(told, sample=sample, evidence="strict")
    assert verdicts["c1"][0] is False


def test_a_useful_context_about_something_else_is_not_flagged() -> None:
    """Its quote holds too few words of any sentence to deny one."""
    context = "Pumps of this kind need 13 screws and a wall that bears them at night."
    sample = replace(SAMPLE, retrieved_contexts=[context, *SAMPLE.retrieved_contexts[1:]])
    told = reply(no("X200"), useful="c1 c2 c3")
    told["useful"]["c1"]["quote"] = context
    verdicts, _ = judged(told, sample=sample)
    assert verdicts["c1"] != (True, "contradicted")


def test_a_useful_context_may_have_the_value_of_another_sentence() -> None:
    sample = Sample(
        user_input="What is known of the pump?",
        reference="The pump sold 129 times in its second week. The pump sold 90 times in its third week.",
        retrieved_contexts=["The pump sold well in its second week, in all shops. It is blue."],
    )
    told = {
        "code": "$code",
        "sentences": {"s1": no("129"), "s2": no("90")},
        "useful": {"c1": {"quote": "The pump sold well in its second week", "useful": True}},
    }
    verdicts, _ = judged(told, sample=sample)
    assert verdicts["c1"] != (True, "contradicted")


@pytest.mark.parametrize("id_", ["s1", "s3"])
def test_evidence_of_another_sentence_is_weak(id_: str) -> None:
    """The reply quotes for one sentence what another one says; the context that no other sentence rests on is weak, too."""
    told = reply(no("X200"), useful="c2 c3")
    told["sentences"][id_] = yes(HUMS)
    verdicts, _ = judged(told)
    assert verdicts[id_] == (True, "weak_evidence")
    assert verdicts["s2"] == verdicts["c2"] == (True, None)
    told["sentences"]["s2"] = no("hums")
    verdicts, _ = judged(told)
    assert verdicts["c2"] == (True, "weak_evidence")


def test_evidence_of_two_sentences_is_that_of_both() -> None:
    both = {"context": "c1", "quote": "The X200 pump weighs 12 kg and hums at night.", "whole": True}
    sample = replace(SAMPLE, retrieved_contexts=[both["quote"], *SAMPLE.retrieved_contexts[1:]])
    verdicts, _ = judged(reply(yes(both), yes(both), useful="c1 c3"), sample=sample)
    assert verdicts["s1"] == verdicts["s2"] == verdicts["c1"] == (True, None)


@pytest.mark.parametrize(
    "missing",
    ["", None, "none", "None.", "N/A", "nothing", '""', "-", [], "нет", "n/a - fully supported", "None (all stated)"],
)  # fmt: skip
def test_words_for_nothing_missing_deny_no_yes(missing: Any) -> None:
    verdicts, _ = judged(reply(no("X200"), yes(HUMS, missing=missing)))
    assert verdicts["s2"] == (True, None)


@pytest.mark.parametrize("missing", ["none of the weight", "None, but X200", "nothing - the weight"])
def test_missing_words_behind_a_word_for_nothing(missing: str) -> None:
    verdicts, _ = judged(reply(no("X200"), yes(HUMS, missing=missing)))
    assert verdicts["s2"] == (True, "contradicted")


def test_a_second_quote_does_not_hide_a_denial() -> None:
    near, beside = "The X210 pump weighs 12 kg.", "The X200 pump hums at night."
    sample = replace(SAMPLE, retrieved_contexts=[near, beside, SAMPLE.retrieved_contexts[2]])
    heavy = yes(
        {"context": "c1", "quote": near, "whole": True},
        {"context": "c2", "quote": beside, "whole": True},
    )
    hums = yes({"context": "c2", "quote": beside, "whole": True})
    verdicts, _ = judged(reply(heavy, hums, useful="c1 c2 c3"), sample=sample)
    assert (verdicts["s1"], verdicts["s2"]) == ((True, "contradicted"), (True, None))


@pytest.mark.parametrize(
    ("form", "is_read"),
    [("{id}: {text}", True), ("{id}: {start}...", True), ('[{id}]: "{start}"', True), ("{id}: another text", False)],
)  # fmt: skip
def test_an_id_with_its_text_is_read(form: str, *, is_read: bool) -> None:
    told = reply(no("X200"))
    texts = [f"{text.rstrip('.')}." for text in SAMPLE.reference.split(". ")]
    told["sentences"] = {
        form.format(id=id_, text=text, start=text[:9]): entry
        for (id_, entry), text in zip(told["sentences"].items(), texts, strict=True)
    }
    verdicts, requests = judged(told)
    assert requests == 1 if is_read else requests > 1
    assert verdicts["s2"] == ((True, None) if is_read else (None, "invalid_reply"))


def test_quote_of_a_denied_sentence_does_not_clear_its_context() -> None:
    told = reply(yes(NEAR, missing="X200"), useful="c1 c2 c3")
    told["useful"]["c1"]["quote"] = "pump weighs 12 kg"
    assert judged(told)[0]["c1"] == (True, "contradicted")


def test_a_conflict_joins_a_request_that_goes_out_anyway() -> None:
    first = reply(yes(NEAR), useful="c2 c3")
    first["useful"]["c2"]["useful"] = "maybe"
    verdicts, requests = judged(first, HONEST)
    assert requests == 2
    assert {code for _, code in verdicts.values()} == {None}


@pytest.mark.parametrize(
    "first",
    [
        reply(yes(HUMS), ...),  # two sentences taken as one: s2 stands under s1
        reply(no("hums"), ...),
        reply(no(""), ...),
        reply(yes(HUMS), {}),
        reply(yes(HUMS), {"supported": None}),
        reply(yes(HUMS), yes(FILTER), ...),  # and the rest moved up
        reply(no("X200"), yes(FILTER), ...),
    ],
    ids=["under", "no under", "empty no", "blank", "null", "moved up", "moved up behind"],
)
def test_entries_of_an_incomplete_list_must_prove_their_place(first: Reply) -> None:
    verdicts, requests = judged(first, HONEST)
    assert requests == 2
    assert {id_: value for id_, (value, _) in verdicts.items() if id_[0] == "s"} == {
        "s1": False, "s2": True, "s3": True,
    }  # fmt: skip
    alone, _ = judged(first)
    assert any(value is None for value, _ in alone.values())
    assert alone["s1"][0] is not True


def test_entries_that_prove_their_place_are_not_asked_again() -> None:
    forget()
    asked: list[Any] = []

    def answer(prompt: Prompt) -> str:
        asked.append(read_question(prompt.text).keys)
        told = HONEST if len(asked) > 1 else reply(no("the X200"), ...)
        return json.dumps(told).replace("$code", prompt.data_code)

    ContextRecall(judge=LLMJudge(ScriptedModel(answer))).score(SAMPLE)
    assert asked[1]["sentences"] == ["s2"]


@pytest.mark.parametrize("left_out", ["c1", "c3"])
def test_incomplete_list_of_contexts_must_prove_its_places(left_out: str) -> None:
    first = json.loads(json.dumps(HONEST))
    cells = [first["useful"][id_] for id_ in ("c1", "c2", "c3")]
    first["useful"] = dict(
        zip([id_ for id_ in ("c1", "c2", "c3") if id_ != left_out], cells, strict=False)
    )
    verdicts, requests = judged(first, HONEST)
    assert [verdicts[id_][0] for id_ in ("c1", "c2", "c3")] == [False, True, True]
    assert requests == 2


def test_a_sentence_taken_as_two_is_asked_again() -> None:
    first = reply(no("X200"), no("X200"), yes(HUMS))
    first["sentences"]["s4"] = yes(FILTER)
    verdicts, requests = judged(first, HONEST)
    assert [verdicts[id_][0] for id_ in ("s1", "s2", "s3")] == [False, True, True]
    assert requests == 2


@pytest.mark.parametrize(
    "missing",
    ["", None, "none", "N/A", "string", "all of it", "the words no context states", "at night"],
)
def test_a_no_that_names_none_of_its_words_is_flagged(missing: Any) -> None:
    verdicts, requests = judged(reply(no(missing)))
    assert (verdicts["s1"], requests) == ((False, "weak_evidence"), 1)


@pytest.mark.parametrize("missing", ["X200", "the X200 pump", "weighs", "The", ["weighs", "12 kg"]])
def test_a_no_that_names_its_words_is_not_flagged(missing: Any) -> None:
    assert judged(reply(no(missing)))[0]["s1"] == (False, None)


def test_defaults_behind_a_cut_flag_the_contexts_too() -> None:
    cut = reply(no("X200"), no(), no(), useful="")
    verdicts, _ = judged(cut)
    assert [verdicts[id_] for id_ in ("s1", "s2", "s3")] == [
        (False, None), (False, "weak_evidence"), (False, "weak_evidence"),
    ]  # fmt: skip
    assert [verdicts[id_] for id_ in ("c1", "c2", "c3")] == [(False, "weak_evidence")] * 3


@pytest.mark.parametrize(
    "form",
    [
        "{id}: {quote}", "{quote} [{id}]", '"{quote}" ({id})', "<q>{quote}</q>", "**{quote}**",
        "({id}) {quote}", "Context {id}: “{quote}”", "{quote} — {id}", "- {quote}", "{quote} [1]",
        '{id} says: "**{quote}**"', "{quote} (source: {id})", "{quote} (source)", "контекст {id}: {quote}",
    ],
)  # fmt: skip
def test_marks_around_a_quote_are_not_its_text(form: str) -> None:
    marked = {**HUMS, "quote": form.format(id="c2", quote=HUMS["quote"])}
    verdicts, requests = judged(reply(no("X200"), yes(marked)))
    assert (verdicts["s2"], verdicts["c2"], requests) == ((True, None), (True, None), 1)


def test_invented_words_beside_a_quote_are_its_text() -> None:
    marked = {**HUMS, "quote": "c2 denies that at night it hums"}
    assert judged(reply(no("X200"), yes(marked)))[0]["s2"] == (False, "unverified_evidence")


Change = Callable[[Reply], None]


def call_heavy_supported(told: Reply) -> None:
    told["sentences"]["s1"] = yes(NEAR)


def leave_forms_empty(told: Reply) -> None:
    told["sentences"]["s1"] = no()


@pytest.mark.parametrize("change", [call_heavy_supported, leave_forms_empty])
def test_the_command_counts_such_verdicts_as_doubtful(change: Change, tmp_path: Any) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps(SAMPLE.to_dict()), encoding="utf-8")

    def answer(request: Any) -> str:
        told = json.loads(json.dumps(HONEST))
        change(told)
        return json.dumps({**told, "code": read_question(request.text).code})

    forget()
    with FakeOpenAIServer(answer) as server:
        done = run_command(
            "score", file, "--metric", "context_recall", "--judge", "openai/m",
            "--base-url", server.base_url, "--max-doubtful", "0",
            cwd=tmp_path, OPENAI_API_KEY="k",
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "doubtful" in done.stdout + done.stderr
