"""check-judge: the figures of judges on the fake server that are right, or wrong in one respect."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter

import numpy as np
import pytest

from ctxmetrics import (
    Judgement,
    LexicalJudge,
    LLMJudge,
    NLIJudge,
    OpenAIModel,
    ScriptedJudge,
    Verdict,
    check_judge,
)
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.evaluation.agreement.check_judge import cost_of
from ctxmetrics.evaluation.runs.controls import labelled_samples
from ctxmetrics.text.languages import detect_language
from ctxmetrics.text.sentences import split_sentences
from support import FakeOpenAIServer, HttpResponse
from support.command import run_command
from support.judges import (
    LABELLED,
    Unstable,
    WeakJudge,
    blind_to,
    honest,
    lenient,
    obeys_injections,
    strict,
)

SAMPLES = labelled_samples()


def truths(item, kind):
    """Return what is right about the sentences (s) or the contexts (c) of a labelled sample."""
    return [value for id_, value in item.truth.items() if id_[0] == kind]


TRAPS = ("number", "name", "negation", "role")


# --- the samples ----------------------------------------------------------------------------------------------


def test_the_samples_are_what_their_readme_says():
    assert len(SAMPLES) == 44 + 10
    assert Counter(item["language"] for item in LABELLED) == {"en": 30 + 7, "ru": 14 + 3}
    kinds = Counter(item.kind for item in SAMPLES)
    assert kinds["injection"] == kinds["clean twin"] == 10
    assert {*TRAPS, "support", "paraphrase", "spread", "several", "near_duplicate", "long"} < set(kinds)
    assert len({item["id"] for item in LABELLED}) == len(LABELLED)
    for item in SAMPLES:
        reference = item.sample.reference
        sentences = split_sentences(reference, detect_language(reference))
        assert len(sentences) == len(truths(item, "s")), item.sample.id
        assert len(truths(item, "c")) == len(item.sample.retrieved_contexts)
        assert item.attacked <= item.truth.keys()
        assert bool(item.attacked) == (item.kind in {"injection", "clean twin"})
        assert None not in {item.truth[id_] for id_ in item.attacked}


def test_quotes_stand_in_contexts_and_evidence_fits_labels():
    for item in LABELLED:
        for unit in item["units"]:
            assert unit["supported"] == bool(unit["evidence"]), item["id"]
            for quote in unit["evidence"]:
                assert quote["quote"] in item["retrieved_contexts"][quote["context"]], item["id"]
            if unit["evidence"] and item["kind"] == "spread":
                assert len({quote["context"] for quote in unit["evidence"]}) > 1
        for context, useful in enumerate(item["useful"]):
            states = any(
                quote["context"] == context for unit in item["units"] for quote in unit["evidence"]
            )
            assert not states or useful is True, (item["id"], context)


# --- judges on the fake server --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_honest_judge_agrees_with_every_label():
    endpoint = WeakJudge()
    found = endpoint.check(repetitions=3)
    agreements = [found.units, found.contexts, *found.by_kind.values(), *found.by_language.values()]
    assert {item.balanced_accuracy for item in agreements} == {1.0}
    assert found.units.answers == sum(
        len(truths(item, "s")) for item in SAMPLES if item.kind != "injection"
    )
    assert (found.obeyed, found.changed) == ((0, 10), (0, sum(len(item.truth) for item in SAMPLES)))
    assert (
        found.usage.calls == len(endpoint.server.requests) == 3 * 54
    )  # one request a sample and repetition
    assert "verdicts that change: 0 of " in str(found)


def test_a_limit_of_samples_judges_the_first_of_them():
    endpoint = WeakJudge()
    lines = []
    check = endpoint.check(repetitions=2, samples=3, announce=lines.append)
    assert (check.samples, check.usage.calls, len(endpoint.server.requests)) == (3, 6, 6)
    assert check.units.answers == sum(len(truths(item, "s")) for item in SAMPLES[:3])
    assert lines[0].startswith("3 samples, judged 2 times: 6 requests")
    assert "on 3 labelled samples" in str(check)


@pytest.mark.parametrize("samples", [0, -1, 1.5, True])
def test_a_limit_of_samples_is_a_whole_number_from_1(samples):
    with pytest.raises(ParameterError, match="samples"):
        check_judge(LexicalJudge(), samples=samples)


def test_the_limit_of_samples_on_the_command_line():
    result = run_command("check-judge", "lexical", "--samples", "2", "--repetitions", "1")
    assert result.returncode == 0, result.stderr
    assert "lexical on 2 labelled samples" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", TRAPS)
def test_a_judge_that_falls_into_one_kind_of_trap(kind):
    found = WeakJudge(blind_to(kind)).check()
    assert {name for name, item in found.by_kind.items() if item.balanced_accuracy != 1.0} == {kind}
    assert found.by_kind[kind].specificity == 0.0
    assert found.by_kind[kind].sensitivity == 1.0
    traps = sum(not said for item in SAMPLES if item.kind == kind for said in truths(item, "s"))
    assert found.units.judge_only == traps
    assert found.changed is None


@pytest.mark.slow
def test_a_judge_that_is_wrong_in_one_language():
    def wrong(item, question, reply):
        if item["language"] == "ru":
            strict(item, question, reply)

    found = WeakJudge(wrong).check()
    assert found.by_language["en"].kappa == 1.0
    assert found.by_language["ru"].sensitivity == 0.0


def test_a_judge_that_looks_at_the_first_context_only():
    class First:
        name, warnings = "first", ()

        async def attribute(self, request):
            return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.unit_ids))

        async def rate(self, request):
            return Judgement(
                verdicts=tuple(Verdict(id=id_, value=id_ == "c1") for id_ in request.context_ids)
            )

    found = check_judge(First(), repetitions=1, progress=False)
    first, *others = found.by_place.values()
    assert (first.sensitivity, first.specificity) == (1.0, 0.0)
    assert {item.sensitivity for item in others} <= {0.0, None}
    assert {item.specificity for item in others} == {1.0}


@pytest.mark.slow
def test_injections_that_are_obeyed_are_counted():
    assert WeakJudge(obeys_injections).check().obeyed == (10, 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "twins"),
    # One attack asks for no, and nine for yes: who says yes to all has the twin of that one right, who says no of nine
    # none, whatever the injection says.
    [(lenient, 1), (strict, 9)],
)
def test_who_says_the_same_to_everything_obeys_no_injection(judge, twins):
    assert WeakJudge(judge).check().obeyed == (0, twins)


@pytest.mark.slow
def test_verdicts_that_change_are_counted():
    found = WeakJudge(Unstable()).check(repetitions=2)
    changed = sum(
        value is True
        for item in SAMPLES
        if sum(map(ord, item.sample.id)) % 3 == 0
        for value in item.truth.values()
    )
    assert changed > 0
    assert found.changed[0] == changed


@pytest.mark.slow
def test_a_judge_that_writes_prose_gives_no_verdict():
    with pytest.raises(JudgeError, match="no verdict at all for context_recall, context_precision"):
        WeakJudge(wrap=lambda _: "Most sentences look right to me.").check()


@pytest.mark.slow
def test_prose_around_the_json_changes_nothing():
    found = WeakJudge(wrap=lambda text: f"<think>Hm.</think>Here it is:\n```json\n{text}\n```").check()
    assert found.units.kappa == 1.0


@pytest.mark.slow
def test_a_server_that_is_down_is_no_finding_about_the_judge():
    refusing = FakeOpenAIServer(
        lambda request: HttpResponse(status=401, body=b'{"error": {"message": "no"}}')
    )
    with refusing as server:
        judge = LLMJudge(
            OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-test-0123456789")
        )
        with pytest.raises(JudgeError, match="check_judge: no verdict at all for context_recall"):
            check_judge(judge, repetitions=1, progress=False)


# --- other judges ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cross_encoder_is_checked_each_time_anew():
    asked = Counter()

    def predict(pairs):
        asked.update(pairs)
        words = [[set(re.findall(r"\w+", text.casefold())) for text in pair] for pair in pairs]
        return np.array([len(said & wanted) / len(wanted) for said, wanted in words])

    judge = NLIJudge(predict, identity="shared words", bar=0.8)
    found = check_judge(judge, progress=False)
    assert found.changed[0] == 0
    assert set(asked.values()) == {3}
    assert found.judge == "nli:shared words(bar=0.8)"


@pytest.mark.slow
def test_a_judge_of_ones_own_is_checked():
    class AlwaysYes:
        name, warnings = "yes", ()

        async def attribute(self, request):
            return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.unit_ids))

        async def rate(self, request):
            return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.context_ids))

    told = []
    found = check_judge(AlwaysYes(), repetitions=1, announce=told.append, progress=False)
    assert found.units.specificity == found.contexts.specificity == 0.0
    assert "at or below chance" in str(found)
    assert told == [
        "54 samples, judged once: yes is called up to 108 times; what a call costs is not known here"
    ]


def test_a_judge_of_ones_own_that_fails_is_an_error():
    class Broken:
        name, warnings = "broken", ()

        async def attribute(self, request):
            raise RuntimeError("no weights")

        rate = attribute

    with pytest.raises(JudgeError, match="judge_error: RuntimeError: no weights"):
        check_judge(Broken(), repetitions=1, progress=False)


@pytest.mark.slow
def test_a_scripted_judge_is_checked():
    judge = ScriptedJudge(lambda prompt: json.dumps(honest(prompt)[2]), name="labels")
    found = check_judge(judge, repetitions=1, progress=False)
    assert (found.judge, found.units.kappa) == ("labels", 1.0)


@pytest.mark.slow
def test_the_cost_is_stated_before_anything_is_judged():
    endpoint = WeakJudge()
    told = []

    def announce(text):
        told.append((text, len(endpoint.server.requests)))

    found = endpoint.check(repetitions=2, announce=announce)
    ((text, sent),) = told
    assert sent == 0
    assert text.startswith("54 samples, judged 2 times: 108 requests, about ")
    prompt = int(re.search(r"about ([\d,]+) \+", text)[1].replace(",", ""))
    assert prompt == pytest.approx(found.usage.prompt_tokens, rel=0.5)
    assert cost_of(LexicalJudge()) == "54 samples, judged 3 times: no request is sent"


@pytest.mark.parametrize(
    ("judge", "options", "message"),
    [
        (3, {}, "int is no judge"),
        ("lexcal", {}, "Did you mean lexical"),
        (LexicalJudge(), {"repetitions": 0}, "repetitions=0"),
        (LexicalJudge(), {"cache": "x"}, "cache= is not possible"),
        (LexicalJudge(), {"out": "x"}, "out= is not possible"),
    ],
)
def test_misuse_is_named(judge, options, message):
    with pytest.raises(ParameterError, match=message):
        check_judge(judge, **options)


# --- the command ----------------------------------------------------------------------------------------------


def command(*arguments, **environment):
    return run_command("check-judge", *arguments, **environment)


@pytest.mark.slow
def test_command_states_the_cost_before_the_figures():
    done = command("lexical", "--repetitions", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "54 samples, judged once: no request is sent"
    assert done.stdout.startswith("lexical on 54 labelled samples, judged once\n")
    assert "\nsentences: fair agreement" in done.stdout


@pytest.mark.slow
def test_the_command_prints_json_for_a_table_of_judges():
    endpoint = WeakJudge()
    with endpoint.server as server:
        done = command(
            "openai/fake-judge", "--base-url", server.base_url, "--format", "json", "--repetitions", "1",
            OPENAI_API_KEY="sk-test-0123456789",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["obeyed"] == [0, 10]
    assert found["units"]["balanced_accuracy"] == 1.0
    assert found["by_place"]["place 1"]["kappa"] == 1.0
    assert found["usage"]["calls"] == 54


MODULE = """
from ctxmetrics import LexicalJudge, NLIJudge
shared = NLIJudge(lambda pairs: [float(words in text) for text, words in pairs], identity="verbatim-1")
class Own(LexicalJudge):
    name = "my own"
own = Own()
strict = LexicalJudge(contradiction="no")
number = 7
"""


@pytest.fixture
def judges_module(tmp_path, monkeypatch):
    (tmp_path / "judges_of_a_user.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr("sys.path", [*sys.path])
    yield tmp_path
    sys.modules.pop("judges_of_a_user", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "judge", "cost"),
    [
        ("shared", "nli:verbatim-1", "no request is sent"),
        ("strict", "lexical(contradiction=no)", "no request is sent"),
    ],
)
def test_the_command_checks_a_judge_of_a_module(judges_module, name, judge, cost):
    options = ("--repetitions", "1", "--format", "json")
    done = run_command("check-judge", f"judges_of_a_user:{name}", *options, cwd=judges_module)
    assert done.returncode == 0, done.stderr
    assert re.search(f"judged once: {cost}$", done.stderr.splitlines()[0])
    assert json.loads(done.stdout)["judge"] == judge


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("judges_of_a_user:number", "this is int, not a judge"),
        ("judges_of_a_user:Own", "this is the class Own, not a judge"),
        ("judges_of_a_user:missing", "AttributeError: .*missing"),
        ("no_such_module:judge", "ModuleNotFoundError: .*no_such_module"),
        ("a-b:c", "Write MODULE:NAME"),
    ],
)
def test_what_is_no_judge_of_a_module_is_named(judges_module, name, said):
    done = run_command("check-judge", name, cwd=judges_module)
    assert done.returncode == 2
    assert re.search(said, done.stderr)


@pytest.mark.slow
def test_the_command_ends_with_three_where_the_server_is_down():
    with FakeOpenAIServer(lambda request: HttpResponse(status=401, body=b"{}")) as server:
        done = command(
            "openai/m",
            "--base-url",
            server.base_url,
            "--repetitions",
            "1",
            OPENAI_API_KEY="sk-test-0123456789",
        )
    assert done.returncode == 3
    assert "no verdict at all" in done.stderr
    assert "sk-test" not in done.stderr


@pytest.mark.parametrize("name", ["repetitions", "samples"])
def test_a_check_of_nothing_is_refused(name):
    with pytest.raises(ParameterError, match=f"check_judge: {name}=0 must be a whole number from 1"):
        check_judge(LexicalJudge(), progress=False, **{name: 0})
