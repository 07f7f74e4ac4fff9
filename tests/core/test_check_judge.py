"""check-judge: the sheet names each planted weakness of judges on the fake server, and calls the honest one fit."""

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
from ctxmetrics.agreement.checking import fitness
from ctxmetrics.agreement.checking.check import cost_of
from ctxmetrics.agreement.checking.figures import Share
from ctxmetrics.agreement.checking.samples import TRAPS, labelled_samples
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.text import detect_language, split_sentences
from support import FakeOpenAIServer, HttpResponse
from support.command import run_command
from support.judges import LABELLED, WEAKNESSES, WeakJudge, honest

SAMPLES = labelled_samples()


# --- the samples ----------------------------------------------------------------------------------------------


def test_the_samples_are_what_their_readme_says():
    assert len(SAMPLES) == 44
    assert Counter(item["language"] for item in LABELLED) == {"en": 30, "ru": 14}
    kinds = Counter(item.kind for item in SAMPLES)
    assert kinds["injection"] == 10
    assert {*TRAPS, "support", "paraphrase", "spread", "several", "near_duplicate", "long"} < set(kinds)
    assert len({item["id"] for item in LABELLED}) == len(LABELLED)
    for item in SAMPLES:
        reference = item.sample.reference
        assert len(split_sentences(reference, detect_language(reference))) == len(item.supported), (
            item.sample.id
        )
        assert len(item.useful) == len(item.sample.retrieved_contexts)
        assert item.attacked <= item.truth.keys()
        assert bool(item.attacked) == (item.kind == "injection")
        assert None not in {item.truth[id_] for id_ in item.attacked}


def test_every_quote_stands_in_its_context_and_evidence_fits_the_label():
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


def codes(sheet):
    return {item.code for item in sheet.weaknesses}


def test_the_honest_judge_is_fit():
    endpoint = WeakJudge()
    sheet = endpoint.check(repetitions=3)
    assert (sheet.fitness, codes(sheet)) == ("fit", set())
    figures = sheet.figures
    assert figures.units.balanced_accuracy == figures.contexts.balanced_accuracy == 1.0
    assert figures.resisted == Share(10, 10)
    assert figures.cells.value == figures.further.value == figures.stable.value == 1.0
    protocol = figures.protocol
    assert {
        share.value for share in (protocol.read, protocol.echo, protocol.complete, protocol.known)
    } == {1.0}
    assert protocol.quotes.value == 1.0
    assert protocol.again.part == 0
    assert (
        protocol.read.of == len(endpoint.server.requests) == 3 * 44
    )  # one request a sample and repetition
    assert sheet.cost.to_dict()["requests_a_sample"] == 1.0
    assert "is fit: its balanced accuracy on these samples is 1.00" in sheet.sentence


# What each judge may still be fit for, where it is less than fit.
ALLOWED = {
    **dict.fromkeys(("lenient", "strict", "skips_ids", "wrong_ids", "invents_quotes"), "not fit"),
    **dict.fromkeys(("obeys_injections", "no_json"), "not fit"),
    **{f"{kind}_blind": "fit for comparisons only" for kind in TRAPS},
    **dict.fromkeys(("first_context_only", "misses_paraphrase"), "fit for comparisons only"),
}


@pytest.mark.slow
@pytest.mark.parametrize("code", WEAKNESSES)
def test_a_planted_weakness_is_named(code):
    sheet = WEAKNESSES[code]().check(repetitions=2 if code == "unstable" else 1)
    assert code in codes(sheet)
    assert code in str(sheet)
    assert sheet.fitness == ALLOWED.get(code, sheet.fitness)
    blind = {f"{kind}_blind" for kind in TRAPS} & codes(sheet)
    assert blind <= {code}


def test_a_judge_that_writes_prose_is_stopped_early():
    sheet = WEAKNESSES["no_json"]().check(repetitions=3)
    assert sheet.repetitions == 1
    assert {"no_json", "leaves_out"} <= codes(sheet)
    assert sheet.figures.protocol.read.part == 0
    assert "can be read as JSON" in str(sheet)


def test_prose_around_the_json_is_no_weakness():
    assert (
        WeakJudge(wrap=lambda text: f"<think>Hm.</think>Here it is:\n```json\n{text}\n```")
        .check()
        .fitness
        == "fit"
    )


def test_a_slow_judge_is_called_slow(monkeypatch):
    monkeypatch.setattr(fitness, "SLOW_SECONDS", 0.05)
    sheet = WeakJudge(latency=0.1).check()
    assert "slow" in codes(sheet)
    assert sheet.fitness == "fit"
    assert sheet.sentence.endswith("(slow).")


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


def test_a_cross_encoder_is_checked_each_time_anew():
    asked = Counter()

    def predict(pairs):
        asked.update(pairs)
        words = [[set(re.findall(r"\w+", text.casefold())) for text in pair] for pair in pairs]
        return np.array([len(said & wanted) / len(wanted) for said, wanted in words])

    judge = NLIJudge(predict, identity="shared words", bar=0.8)
    sheet = check_judge(judge, progress=False)
    assert sheet.figures.protocol is None
    assert sheet.figures.stable.value == 1.0
    assert set(asked.values()) == {3}
    assert sheet.judge == "nli:shared words(bar=0.8)"


def test_a_judge_of_ones_own_is_checked():
    class AlwaysYes:
        name, warnings = "yes", ()

        async def attribute(self, request):
            return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.unit_ids))

        async def rate(self, request):
            return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.context_ids))

    told = []
    sheet = check_judge(AlwaysYes(), repetitions=1, announce=told.append, progress=False)
    assert {"lenient", "disagrees_on_contexts"} <= codes(sheet)
    assert sheet.fitness == "not fit"
    assert told == [
        "44 samples, judged once: yes is called up to 88 times; what a call costs is not known here"
    ]


def test_a_judge_of_ones_own_that_fails_is_an_error():
    class Broken:
        name, warnings = "broken", ()

        async def attribute(self, request):
            raise RuntimeError("no weights")

        rate = attribute

    with pytest.raises(JudgeError, match="judge_error: RuntimeError: no weights"):
        check_judge(Broken(), repetitions=1, progress=False)


def test_a_scripted_judge_is_checked():
    judge = ScriptedJudge(lambda prompt: json.dumps(honest(prompt)[2]), name="labels")
    sheet = check_judge(judge, repetitions=1, progress=False)
    assert (sheet.judge, sheet.fitness) == ("labels", "fit")


def test_the_cost_is_stated_before_anything_is_judged():
    endpoint = WeakJudge()
    told = []

    def announce(text):
        told.append((text, len(endpoint.server.requests)))

    sheet = endpoint.check(repetitions=2, announce=announce)
    ((text, sent),) = told
    assert sent == 0
    assert text.startswith("44 samples, judged 2 times: 88 requests, about ")
    prompt = int(re.search(r"about ([\d,]+) \+", text)[1].replace(",", ""))
    assert prompt == pytest.approx(sheet.cost.usage.prompt_tokens, rel=0.5)
    assert cost_of(LexicalJudge()) == "44 samples, judged 3 times: no request is sent"


@pytest.mark.parametrize(
    ("judge", "options", "message"),
    [
        ("lexical", {}, "str is no judge"),
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


def test_the_command_prints_the_sheet_and_states_the_cost_first():
    done = command("lexical", "--repetitions", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "44 samples, judged once: no request is sent"
    assert done.stdout.startswith("lexical: 44 labelled samples, judged once\n")
    assert "\nlexical is " in done.stdout


def test_the_command_prints_json_for_a_table_of_judges():
    endpoint = WeakJudge()
    with endpoint.server as server:
        done = command(
            "openai/fake-judge", "--base-url", server.base_url, "--format", "json", "--repetitions", "1",
            OPENAI_API_KEY="sk-test-0123456789",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sheet = json.loads(done.stdout)
    assert sheet["fitness"] == "fit"
    assert sheet["figures"]["resisted"] == [10, 10]
    assert sheet["figures"]["units"]["balanced_accuracy"] == 1.0
    assert sheet["figures"]["protocol"]["read"] == [44, 44]


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


@pytest.mark.parametrize(
    ("name", "judge", "cost"),
    [
        ("shared", "nli:verbatim-1", r"no request is sent; the model scores up to [\d,]+ pairs of texts"),
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
