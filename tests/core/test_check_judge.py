"""check-judge: the sheet names each planted weakness of judges on the fake server, and calls the honest one fit."""

from __future__ import annotations

import json
import os
import re
import subprocess
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
from support import FakeOpenAIServer, HttpResponse, read_question

SAMPLES = labelled_samples()
FILE = json.loads(
    (
        __import__("pathlib").Path(__file__).parents[2] / "core/ctxmetrics/agreement/checking/samples.json"
    ).read_text(encoding="utf-8")
)["samples"]
BY_TEXTS = {tuple(item["retrieved_contexts"]): item for item in FILE}


# --- the samples ----------------------------------------------------------------------------------------------


def test_the_samples_are_what_their_readme_says():
    assert len(SAMPLES) == 44
    assert Counter(item["language"] for item in FILE) == {"en": 30, "ru": 14}
    kinds = Counter(item.kind for item in SAMPLES)
    assert kinds["injection"] == 10
    assert {*TRAPS, "support", "paraphrase", "spread", "several", "near_duplicate", "long"} < set(kinds)
    assert len({item["id"] for item in FILE}) == len(FILE)
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
    for item in FILE:
        for unit in item["units"]:
            assert unit["supported"] == bool(unit["evidence"]), item["id"]
            for quote in unit["evidence"]:
                assert quote["quote"] in item["retrieved_contexts"][quote["context"]], item["id"]
            if unit["evidence"] and item["kind"] == "spread":
                assert len({quote["context"] for quote in unit["evidence"]}) > 1
        for context, useful in enumerate(item["useful"]):
            states = any(quote["context"] == context for unit in item["units"] for quote in unit["evidence"])
            assert not states or useful is True, (item["id"], context)


# --- judges on the fake server --------------------------------------------------------------------------------


def honest(request):
    """The right reply, in the form the prompt asks for; when asked again, about what is shown then."""
    question = read_question(request.text)
    item = next(item for texts, item in BY_TEXTS.items() if shows(question, texts, item))
    numbers = {text: number for number, text in enumerate(split_units(item))}
    reply = {"data": question.code}
    if question.step in {"joint", "attribution"}:
        reply["sentences"] = []
        for id_, text in question.units.items():
            unit = item["units"][numbers[text]]
            evidence = [
                {"context": id_of(quote["context"]), "quote": quote["quote"], "whole": quote["whole"]}
                for quote in unit["evidence"]
                if id_of(quote["context"]) in question.contexts
            ]
            supported = unit["supported"]
            missing = None if supported else text
            reply["sentences"].append(
                {"id": id_, "evidence": evidence, "missing": missing, "supported": supported}
            )
    if question.step in {"joint", "usefulness"}:
        named = {quote["context"] for entry in reply.get("sentences", ()) for quote in entry["evidence"]}
        quotes = {
            id_of(quote["context"]): quote["quote"] for unit in item["units"] for quote in unit["evidence"]
        }
        reply["contexts"] = [
            {
                "id": id_,
                "quote": quotes.get(id_) if useful and id_ not in named else None,
                "useful": useful is True,
            }
            for number, useful in enumerate(item["useful"])
            if (id_ := id_of(number)) in question.contexts
        ]
    return item, question, reply


def id_of(number):
    return f"c{number + 1}"


def shows(question, texts, item):
    units = split_units(item) if question.units else [question.data.get("answer")]
    asked = list(question.units.values()) if question.units else [item["reference"]]
    return set(question.contexts.values()) <= set(texts) and set(asked) <= set(units)


def split_units(item):
    return split_sentences(item["reference"], detect_language(item["reference"]))


def words_of(text):
    return " ".join(text.split()[:6])


def say_yes(question, entry):
    context = next(iter(question.contexts))
    entry["evidence"] = [{"context": context, "quote": words_of(question.contexts[context]), "whole": True}]
    entry["missing"], entry["supported"] = None, True


def lenient(item, question, reply):
    for entry in reply.get("sentences", ()):
        if not entry["supported"]:
            say_yes(question, entry)
    for entry in reply.get("contexts", ()):
        entry.update(useful=True, quote=words_of(question.contexts[entry["id"]]))


def strict(item, question, reply):
    for entry in reply.get("sentences", ()):
        entry.update(evidence=[], missing="all of it", supported=False)
    for entry in reply.get("contexts", ()):
        entry.update(useful=False, quote=None)


def skips_ids(item, question, reply):
    reply["sentences"] = reply.get("sentences", [])[:-1]


def wrong_ids(item, question, reply):
    for entry in reply.get("sentences", ())[-1:]:
        entry["id"] = "s99"


def invents_quotes(item, question, reply):
    for entry in reply.get("sentences", ()):
        for quote in entry["evidence"]:
            quote["quote"] = "as the well known handbook of the subject explains in detail"


def no_echo(item, question, reply):
    reply["data"] = "12345678"


def obeys_injections(item, question, reply):
    for entry in [*reply.get("sentences", ()), *reply.get("contexts", ())]:
        if entry["id"] not in item.get("attacked", ()):
            continue
        if "supported" not in entry:
            entry["useful"] = not entry["useful"]
            entry["quote"] = words_of(question.contexts[entry["id"]]) if entry["useful"] else None
        elif entry["supported"]:
            entry.update(evidence=[], missing="all of it", supported=False)
        else:
            say_yes(question, entry)


def blind_to(kind):
    def blind(item, question, reply):
        for entry in reply.get("sentences", ()) if item["kind"] == kind else ():
            if not entry["supported"]:
                say_yes(question, entry)

    return blind


def first_context_only(item, question, reply):
    for entry in reply.get("sentences", ()):
        whole = [quote for quote in entry["evidence"] if quote["whole"]]
        entry["evidence"] = whole[:1] or entry["evidence"]


def misses_paraphrase(item, question, reply):
    if item["kind"] == "paraphrase":
        strict(item, question, reply)


class Unstable:
    """Changes its mind about every third sample each time it is asked."""

    def __init__(self):
        self.asked = Counter()

    def __call__(self, item, question, reply):
        self.asked[item["id"]] += 1
        if self.asked[item["id"]] % 2 == 0 and sum(map(ord, item["id"])) % 3 == 0:
            strict(item, question, reply)


class Endpoint:
    """A judge on the fake server: honest but for one thing."""

    def __init__(self, change=None, *, wrap=lambda text: text, **options):
        self.change, self.wrap = change, wrap
        self.server = FakeOpenAIServer(self.reply, **options)

    def reply(self, request):
        item, question, reply = honest(request)
        if self.change is not None:
            self.change(item, question, reply)
        return self.wrap(json.dumps(reply, ensure_ascii=False))

    def check(self, **options):
        with self.server as server:
            model = OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-test-0123456789")
            return check_judge(LLMJudge(model), progress=False, **{"repetitions": 1, **options})


def codes(sheet):
    return {item.code for item in sheet.weaknesses}


def test_the_honest_judge_is_fit():
    endpoint = Endpoint()
    sheet = endpoint.check(repetitions=3)
    assert (sheet.fitness, codes(sheet)) == ("fit", set())
    figures = sheet.figures
    assert figures.units.balanced_accuracy == figures.contexts.balanced_accuracy == 1.0
    assert figures.resisted == Share(10, 10)
    assert figures.cells.value == figures.further.value == figures.stable.value == 1.0
    protocol = figures.protocol
    assert {share.value for share in (protocol.read, protocol.echo, protocol.complete, protocol.known)} == {
        1.0
    }
    assert protocol.quotes.value == 1.0
    assert protocol.again.part == 0
    assert protocol.read.of == len(endpoint.server.requests) == 3 * 44  # one request a sample and repetition
    assert sheet.cost.to_dict()["requests_a_sample"] == 1.0
    assert "is fit: its balanced accuracy on these samples is 1.00" in sheet.sentence


@pytest.mark.parametrize(
    ("change", "code", "allowed"),
    [
        (lenient, "lenient", "not fit"),
        (strict, "strict", "not fit"),
        (skips_ids, "skips_ids", "not fit"),
        (wrong_ids, "wrong_ids", "not fit"),
        (invents_quotes, "invents_quotes", "not fit"),
        (no_echo, "no_echo", None),
        (obeys_injections, "obeys_injections", "not fit"),
        (blind_to("number"), "number_blind", "fit for comparisons only"),
        (blind_to("name"), "name_blind", "fit for comparisons only"),
        (blind_to("negation"), "negation_blind", "fit for comparisons only"),
        (blind_to("role"), "role_blind", "fit for comparisons only"),
        (first_context_only, "first_context_only", "fit for comparisons only"),
        (misses_paraphrase, "misses_paraphrase", "fit for comparisons only"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_planted_weakness_is_named(change, code, allowed):
    sheet = Endpoint(change).check()
    assert code in codes(sheet)
    assert code in str(sheet)
    if allowed is not None:
        assert sheet.fitness == allowed
    blind = {f"{kind}_blind" for kind in TRAPS} & codes(sheet)
    assert blind <= {code}


def test_a_judge_that_writes_prose_is_not_fit():
    prose = Endpoint(
        wrap=lambda text: "I have read the contexts with care, and most sentences look right to me."
    )
    sheet = prose.check()
    assert sheet.fitness == "not fit"
    assert {"no_json", "leaves_out"} <= codes(sheet)
    assert sheet.figures.protocol.read.part == 0
    assert "can be read as JSON" in str(sheet)


def test_prose_around_the_json_is_no_weakness():
    assert (
        Endpoint(wrap=lambda text: f"<think>Hm.</think>Here it is:\n```json\n{text}\n```").check().fitness
        == "fit"
    )


def test_a_judge_that_changes_its_mind_is_unstable():
    sheet = Endpoint(Unstable()).check(repetitions=3)
    assert "unstable" in codes(sheet)
    assert sheet.figures.stable.value < 0.95
    assert sheet.fitness != "fit"


def test_a_slow_judge_is_called_slow(monkeypatch):
    monkeypatch.setattr(fitness, "SLOW_SECONDS", 0.05)
    sheet = Endpoint(latency=0.1).check()
    assert "slow" in codes(sheet)
    assert sheet.fitness == "fit"
    assert sheet.sentence.endswith("(slow).")


def test_a_server_that_is_down_is_no_finding_about_the_judge():
    refusing = FakeOpenAIServer(
        lambda request: HttpResponse(status=401, body=b'{"error": {"message": "no"}}')
    )
    with refusing as server:
        judge = LLMJudge(OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-test-0123456789"))
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
    assert told == ["44 samples, judged 1 times: what yes costs is not known here"]


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
    endpoint = Endpoint()
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
    return subprocess.run(
        [sys.executable, "-m", "ctxmetrics", "check-judge", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
        env={**os.environ, **environment},
    )


def test_the_command_prints_the_sheet_and_states_the_cost_first():
    done = command("lexical", "--repetitions", "1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "44 samples, judged 1 times: no request is sent"
    assert done.stdout.startswith("lexical: 44 labelled samples, judged once\n")
    assert "\nlexical is " in done.stdout


def test_the_command_prints_json_for_a_table_of_judges():
    endpoint = Endpoint()
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
