"""Hostile texts on the way out: terminal, reasons, the HTML page, JSON lines, logs, files and frameworks' reports."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LLMJudge,
    OpenAIModel,
    Sample,
    evaluate,
)
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.evaluation.report.report import render_html
from ctxmetrics.judges.base import Judgement
from ctxmetrics.samples.pictures import find_picture
from ctxmetrics.text.character_spans import is_visible
from ctxmetrics.verdicts import Evidence, Verdict
from support import FakeOpenAIServer
from support.cases import each_case
from support.chat import InvalidRequestError
from support.command import run_command
from support.rows import complete_rows

PAYLOADS = json.loads((Path(__file__).parent / "payloads.json").read_text(encoding="utf-8"))["payloads"]
TEXTS = {
    item["id"]: item["text"]
    .replace("@@FILE@@", "/etc/hostname")
    .replace("@@URL@@", "http://127.0.0.1:9")
    * item.get("repeat", 1)
    for item in PAYLOADS
}
DATA = {item["id"]: TEXTS[item["id"]] for item in PAYLOADS if "context" in item["where"]}
HARMLESS = "A plain text."
JOINERS = "\u200c\u200d"


class Echo:
    """A judge whose reasons and evidence are the texts themselves."""

    name = "echo"
    warnings = ()

    def __init__(self, text):
        self.text = text

    async def attribute(self, request):
        whole = request.contexts[0]
        return Judgement(
            verdicts=tuple(
                Verdict(
                    id=id_,
                    value=id_ == "s1",
                    text=text,
                    reason=self.text,
                    evidence=(Evidence(0, 0, len(whole), whole),) if id_ == "s1" else (),
                )
                for id_, text in zip(request.unit_ids, request.units, strict=True)
            )
        )

    async def rate(self, request):
        return Judgement(
            verdicts=tuple(
                Verdict(id=id_, value=None, text=text, code="invalid_reply", reason=self.text)
                for id_, text in zip(request.context_ids, request.contexts, strict=True)
            )
        )


def run(text, *, reason=None):
    """Score a sample made of one text, judged with the text as every reason."""
    sample = Sample(
        id=text,
        user_input=text,
        response=text,
        reference="The first fact. The second fact.",
        retrieved_contexts=[text or "-", "Something else."],
        retrieved_context_ids=[text, "b"],
        reference_context_ids=[text, f"{text}c"],
        metadata={"note": text},
    )
    judge = Echo(text if reason is None else reason)
    metrics = [ContextRecall(), ContextPrecision(), IDBasedContextRecall(), IDBasedContextPrecision()]
    return evaluate([sample], metrics, judge=judge, progress=False)


def words_of(results):
    """Everything that is printed, logged, or put into a framework's reason."""
    yield str(results.summary())
    yield repr(results)
    for row in results:
        for score in row.values():
            yield score.pretty()
            yield score.reason


BASELINE = run(HARMLESS)
LINES = [text.count("\n") for text in words_of(BASELINE)]


@pytest.mark.slow
@each_case("name", DATA)
def test_a_terminal_gets_printable_characters_and_no_line_more(name):
    for text, most in zip(words_of(run(DATA[name])), LINES, strict=True):
        # An id that is empty, or looks like a missing one, has a note in a line of its own.
        notes = text.count("an empty id") + text.count("it counts as an id")
        notes += int("ids are empty" in text)
        assert text.count("\n") <= most + notes
        assert all(
            character.isprintable() or character in JOINERS for character in text.replace("\n", "")
        )


class Structure(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags: list[object] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(attrs)))

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")

    def handle_comment(self, data):
        self.tags.append(f"comment {data}")

    def handle_decl(self, decl):
        self.tags.append(decl)

    handle_pi = unknown_decl = handle_comment


@cache
def read_tags_of_a_harmless_page():
    return Structure(render_html(BASELINE.report(), title=HARMLESS)).tags


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_page_has_the_same_tags_whatever_it_shows(name, tmp_path):
    text = TEXTS[name]
    data = DATA.get(name, HARMLESS)
    if find_picture(data, is_list_item=True):
        data = f"Text: {data}"  # a picture or an address alone is refused as a sample
    if not is_visible(data) or not is_visible(text) or data in {"null", "None", "nan"}:
        data, text = f"-{data}", f"-{text}"  # an empty text has no paragraph, and such an id is noted
    results = run(data, reason=text)
    page = render_html(results.report(), title=text)
    assert Structure(page).tags == read_tags_of_a_harmless_page()
    controls = {character for character in page if ord(character) < 32 or 0x7F <= ord(character) < 0xA0}
    assert controls <= {"\n", "\t"}
    assert not set(
        "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2028\u2029\u200b\ufeff\U000e0041"
    ) & set(page)
    assert "default-src 'none'" in page
    results.to_html(tmp_path / "page.html", title=text)  # it can be written, whatever a judge said
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_the_page_shows_a_hostile_text_as_it_is():
    text = '</p><script>alert("1")</script> & <b>'
    results = run(text)
    page = render_html(results.report())
    assert page.count("<script") == 1  # the page's own
    shown = "<bdi>&lt;/p&gt;&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt; &amp; &lt;b&gt;</bdi>"
    # The name, the question, the response, the ids of both id metrics; reasons, ids and contexts with words beside them.
    assert page.count(shown) >= 5
    assert page.count(shown[5:-6]) >= 10


@pytest.mark.slow
def test_json_lines_are_one_line_a_score_and_hold_everything(tmp_path):
    for name, text in TEXTS.items():
        results = run(DATA.get(name, HARMLESS), reason=text)
        results.to_jsonl(tmp_path / "out.jsonl")
        raw = (tmp_path / "out.jsonl").read_bytes()
        lines = raw.decode().splitlines()  # at every line separator there is, not only at a newline
        assert all(character not in line for line in lines for character in "\x7f\x9b\u202e\u2066")
        assert complete_rows(lines) == list(results.to_dicts())
        assert len(complete_rows(lines)) == 4


def test_out_and_cache_hold_what_they_are_named_and_nothing_else(tmp_path, monkeypatch):
    """No file's name comes from data: only the paths that the caller gave exist afterwards."""
    home = tmp_path / "a" / "b"
    home.mkdir(parents=True)
    monkeypatch.chdir(home)
    texts = [
        *(text for name, text in DATA.items() if name.startswith(("path", "markup", "control"))),
        "x.txt",
        "../x",
        "sub/x",
    ]
    samples = [
        Sample(
            id=text,
            reference="One fact.",
            retrieved_contexts=[text],
            metadata={"path": text, "out": text},
        )
        for text in texts
    ]

    def answer(request):
        return json.dumps(
            {
                "code": "$code",
                "sentences": {"s1": {"supported": False, "missing": texts[-2]}},
                "useful": {},
            }
        )

    with FakeOpenAIServer(answer) as server:
        judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url), max_repairs=0)
        results = evaluate(
            samples, [ContextRecall()], judge=judge, cache="cache", out="out.jsonl", progress=False
        )
    assert len(results) == len(texts)
    evaluate(samples, [ContextRecall(judge=Echo("x"))], progress=False).to_html("page.html")
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {name for name in found if not name.startswith("a/b/cache/")} == {
        "a/b/out.jsonl",
        "a/b/page.html",
    }


def test_a_servers_error_is_one_clean_line_in_logs_and_reasons(caplog):
    caplog.set_level(logging.DEBUG)
    texts = list(DATA.values())

    def refuse(request):
        raise InvalidRequestError(texts[server.count - 1], code="no")

    samples = [
        Sample(reference="One fact.", retrieved_contexts=[str(number)]) for number in range(len(texts))
    ]
    with FakeOpenAIServer(refuse) as server:
        judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url))
        results = evaluate(samples, [ContextRecall()], judge=judge, max_concurrency=1, progress=False)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("ctxmetrics")]
    assert any("not asked any more" in message for message in ours)
    reasons = [verdict.reason for row in results for verdict in row["context_recall"].verdicts]
    for text in (*ours, *reasons, str(results.stopped), str(results.summary()).replace("\n", "")):
        assert all(character.isprintable() or character in JOINERS for character in text)


@each_case("name", TEXTS)
def test_an_errors_text_is_short_printable_and_has_no_key(name):
    text = safe_text(ValueError(f"refused: {TEXTS[name]} Bearer sk-abcdefgh12345678"))
    assert len(text) <= 300
    assert "abcdefgh12345678" not in text
    assert "sk-abcdefghijklmnop" not in text
    assert all(character.isprintable() or character in JOINERS for character in text)


@pytest.mark.slow
def test_the_command_line_prints_nothing_that_a_terminal_acts_on(tmp_path):
    rows = [
        {
            "id": text,
            "user_input": text,
            "reference": f"The fact. {text}",
            "retrieved_contexts": [text, "Other."],
        }
        for text in DATA.values()
    ]
    file = tmp_path / "samples.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "ctxmetrics",
        "score",
        str(file),
        "--show",
        "400",
        "--out",
        "o.jsonl",
        "--report",
        "r.html",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode() + done.stderr.decode()
    assert shown.count("  context_recall  ") >= len(rows)
    assert {
        character for character in shown if not (character.isprintable() or character in "\n" + JOINERS)
    } == set()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.jsonl", "r.html", "samples.jsonl"]


@pytest.mark.slow
@each_case("name", DATA)
def test_deepeval_finds_no_markup_in_what_it_prints(name):
    pytest.importorskip("deepeval", reason="the deepeval extra is not installed")
    from deepeval.test_case import LLMTestCase
    from rich.text import Text

    from ctxmetrics_deepeval import ContextRecallMetric

    text = DATA[name]
    metric = ContextRecallMetric(judge=Echo(text))
    metric.measure(
        LLMTestCase(
            input="?",
            actual_output="-",
            expected_output="The first fact. The second fact.",
            retrieval_context=[text or "-"],
        )
    )
    for shown in (metric.reason, metric.verbose_logs):
        printed = Text.from_markup(shown)
        assert printed.plain.replace("\\[", "[") == shown.replace("\\[", "[")
        assert printed.spans == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [{"x\x1b]0;title\x07\u202e": 1}, {"id": "\x1b[2J\x9b31m", "reference": 5}]
)
def test_what_is_told_about_a_file_is_one_clean_line_each(row, tmp_path):
    file = tmp_path / "samples.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    command = [sys.executable, "-m", "ctxmetrics", "score", str(file)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    *notes, error, end = done.stderr.decode().split("\n")
    assert all(line.startswith("note: ") and line.isprintable() for line in notes)
    assert error.startswith("ctxmetrics: ")
    assert error.isprintable()
    assert end == ""


COMMANDS = [
    "::error::taken",
    "::set-output name=a::taken",
    "##[error]taken",
    "##vso[task.complete]taken",
]
# What begins a command of GitHub's runner, which skips the spaces before it, or of Azure's.
IS_COMMAND = re.compile(r"^\s*(::|##\[|##vso\[)", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_of_any_command_is_a_command_to_a_ci_system(command, tmp_path):
    wide = f"{'word ' * 30}{command} {'word ' * 10}."
    row = {
        "id": command, "user_input": f"{command}\n{command}", "response": command, "labels": {"unit_supported": [False, True]},
        "reference": f"{command} The pump hums at night.\nThe filter of {wide}", "retrieved_contexts": [f"x\n{command}", wide],
        command: command,
    }  # fmt: skip
    file, other, out, after = (tmp_path / name for name in ("s.jsonl", "t.jsonl", "a.jsonl", "b.jsonl"))
    file.write_text(json.dumps(row), encoding="utf-8")
    other.write_text(
        json.dumps({**row, "retrieved_contexts": ["The pump hums at night."]}), encoding="utf-8"
    )
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({**row, "reference": 5}), encoding="utf-8")
    lines = [
        ("score", file, "--show", 9, "--out", out, "--keep-texts"),
        ("score", other, "--out", after, "--keep-texts", "--fail-under", "context_recall=1"),
        ("compare", out, after, "--max-drop", "context_recall=0"),
        ("compare", out, after, "--format", "markdown"),
        ("agree", file, "--show", 9),
        ("label", file, "--terminal"),
        ("estimate", file),
        ("score", broken),
        ("score", file, "--map", f"{command}=user_imput"),
    ]
    for line in lines:
        done = run_command(*line, typed="v\nn\n", cwd=tmp_path, COLUMNS="60")
        shown = done.stdout + done.stderr
        assert "taken" in shown or line[0] in ("estimate", "compare"), (line, shown)
        assert IS_COMMAND.findall(shown) == [], (line, shown)
