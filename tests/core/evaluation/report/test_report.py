"""The HTML report: evidence is marked, texts are text, and the page can do nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.errors import CtxMetricsError, InputFileError
from ctxmetrics.evaluation.report.report import render_html, render_text
from support.command import run_command
from support.rows import read_rows

if TYPE_CHECKING:
    from pathlib import Path

ACTIVE = frozenset({"base", "embed", "iframe", "img", "link", "object", "video"})
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \"'&amp; </mark></div><style>*{display:none}</style>"


class Page(HTMLParser):
    """The page as a browser reads it: elements, attributes, marked texts, all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.marked: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.label = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        self.label = ("class", "u") in attrs
        if tag not in ("br", "meta", "input"):
            self.open.append(tag)
        if tag == "mark":
            self.marked.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "the page is not well nested"
        self.label = False

    def handle_data(self, data: str) -> None:
        if "style" in self.open or "script" in self.open or self.label:
            return
        self.text += data
        if "mark" in self.open:
            self.marked[-1] += data


def judged(quote: str, **sample: Any) -> str:
    """The page of one sample whose only sentence is supported by a quote from the first context."""
    evidence = [{"context": "c1", "quote": quote, "whole": True}]
    sentence = {"evidence": evidence, "supported": True}
    if "why" in sample:
        sentence = {"evidence": [], "missing": sample["why"], "supported": False}
    reply = {
        "code": "$code",
        "sentences": {"s1": sentence},
        "useful": {
            f"c{number}": {"quote": text, "useful": number == 1}
            for number, text in enumerate(sample["contexts"], 1)
        },
    }
    one = Sample(
        id=sample.get("id", "one"),
        user_input=sample.get("question", "What colour?"),
        reference=sample["reference"],
        retrieved_contexts=sample["contexts"],
    )
    results = evaluate(
        [one], [ContextRecall(), ContextPrecision()], judge=ScriptedJudge({"joint": [reply]})
    )
    return render_html(results.report(), title=sample.get("title", "Report"))


def test_the_evidence_is_marked_where_it_stands() -> None:
    page = Page(
        judged(
            "The car is red.", reference="It is red.", contexts=["Grass. The car is red. Sky.", "Rain."]
        )
    )
    assert page.marked == ["The car is red."]
    assert "Grass. The car is red. Sky." in page.text
    assert "✓ s1 It is red." in page.text
    assert "evidence in c1" in page.text
    assert "c2not useful, unused" in page.text
    assert "context_recall: 1.0" in page.text
    assert "1 of 1 sentence supported" in page.text
    assert page.open == []


def test_overlapping_evidence_is_one_mark_and_no_text_is_lost() -> None:
    text = "The red car is fast."
    reply = {
        "code": "$code",
        "sentences": {
            "s1": {
                "supported": True,
                "evidence": [{"context": "c1", "quote": "red car", "whole": True}],
            },
            "s2": {
                "supported": True,
                "evidence": [{"context": "c1", "quote": "car is fast", "whole": True}],
            },
        },
        "useful": {"c1": {"useful": True}},
    }
    sample = Sample(reference="It is red. It is fast.", retrieved_contexts=[text])
    results = evaluate([sample], [ContextRecall(judge=ScriptedJudge({"joint": [reply]}))])
    page = Page(render_html(results.report()))
    assert "".join(page.marked) == "red car is fast"
    assert text in page.text


@pytest.mark.parametrize("place", ["id", "question", "reference", "why", "title"])
def test_a_text_is_text_wherever_it_comes_from(place: str) -> None:
    given: dict[str, Any] = {
        "reference": "It is red.",
        "contexts": ["It is red.", "Rain."],
        place: HOSTILE,
    }
    harmless(Page(judged("It is red.", **given)))


@pytest.mark.parametrize(
    "quote", ["It is red.", f"It is red. {HOSTILE}"], ids=["around the mark", "in the mark"]
)
def test_retrieved_text_is_text_around_the_mark_and_in_it(quote: str) -> None:
    context = f"{HOSTILE} It is red. {HOSTILE}"
    page = Page(judged(quote, reference="It is red.", contexts=[context]))
    harmless(page)
    assert page.marked == [quote]
    assert context in page.text


def harmless(page: Page) -> None:
    assert ACTIVE.isdisjoint(page.elements)
    assert page.elements.count("script") == 1
    assert HOSTILE in page.text
    assert all(not name.startswith("on") and name != "src" for name, _ in page.attributes)
    assert all(value.startswith("#n") for name, value in page.attributes if name == "href")
    assert page.open == []


def test_policy_forbids_all_but_the_pages_style_and_script() -> None:
    html = judged("red", reference="It is red.", contexts=["It is red."])
    page = Page(html)
    assert ACTIVE.isdisjoint(page.elements)

    def hashed(name: str) -> str:
        [text] = re.findall(f"<{name}>(.*?)</{name}>", html, re.DOTALL)
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    policy = next(
        value for name, value in page.attributes if name == "content" and "default-src" in (value or "")
    )
    assert policy == (
        f"default-src 'none'; style-src {hashed('style')}; script-src {hashed('script')}; base-uri 'none'; form-action 'none'"
    )
    assert ("charset", "utf-8") in page.attributes
    assert not any(name == "style" for name, _ in page.attributes)


def test_a_large_page_keeps_the_texts_of_the_worst_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxmetrics.evaluation.report import report as html

    samples = [
        Sample(
            id=f"q{number}",
            reference="It is red.",
            retrieved_contexts=["It is red. " if number % 2 else "Rain. " * 50],
        )
        for number in range(20)
    ]
    results = evaluate(samples, [ContextRecall()], progress=False)
    whole = render_html(results.report())
    assert "not kept" not in whole
    monkeypatch.setattr(html, "MAX_PAGE_BYTES", 12_000)
    monkeypatch.setattr(html, "MAX_KEPT_BYTES", 9_000)
    page = render_html(results.report())
    kept = page.count('class="context"')
    assert f"texts are kept of the worst samples only: {kept} of 20" in page
    assert 0 < kept < 10
    assert page.count("Rain. Rain.") > 0
    assert page.count('<details class="s" id=') == 20


def test_a_page_of_many_samples_has_the_worst_and_some_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxmetrics.evaluation.report import report as html

    samples = [
        Sample(
            id=f"q{number:03}",
            retrieved_context_ids=["a"],
            reference_context_ids=["a"] * (number > 9) or ["b"],
        )
        for number in range(200)
    ]
    results = evaluate(samples, [IDBasedContextRecall()], progress=False)
    assert "every so many" not in render_html(results.report())
    line = len(html._render_head(results.report(), results[0]).encode())
    monkeypatch.setattr(html, "MAX_LINES_BYTES", 40 * line)
    page = render_html(results.report())
    names = re.findall(r'class="name"><bdi>(q\d+)', page)
    assert names[:20] == [
        f"q{number:03}" for number in range(20)
    ]  # the ten without a hit are the worst
    assert names[20:] == [f"q{number:03}" for number in range(20, 200, 9)]
    assert f"every so many of the others: {len(names)} of 200." in page


def test_the_notebook_shows_results_rows_and_scores() -> None:
    sample = Sample(
        id=HOSTILE,
        user_input=HOSTILE,
        reference="It is red.",
        retrieved_contexts=[f"It is red. {HOSTILE}"],
    )
    results = evaluate([sample], [ContextRecall(), ContextPrecision()], progress=False)
    for shown in (results, results[0], results[0]["context_recall"]):
        html = shown._repr_html_()
        page = Page(html)
        assert html.startswith('<div class="ctxmetrics">')
        assert (page.open, page.elements.count("script")) == ([], 0)
        assert ACTIVE.isdisjoint(page.elements)
        assert "context_recall" in page.text
    assert HOSTILE in Page(results._repr_html_()).text


@pytest.mark.parametrize(("id_", "name"), [("", "sample 1"), (None, "sample 1"), ("q7", "q7")])
def test_a_sample_has_one_name_wherever_it_is_shown(id_: str | None, name: str, tmp_path: Path) -> None:
    """Without an id, or with an empty one, it is called by its number."""
    given = Sample(id=id_, reference="Roads are paved.", retrieved_contexts=["Ships are built."])
    results = evaluate([given], [ContextRecall()], progress=False)
    pages = [results[0]._repr_html_(), results._repr_html_(), render_html(results.report())]
    assert [page for page in pages if f"<bdi>{name}</bdi>" not in page] == []
    assert f"\n{name}\n" in render_text(results.report(), lowest=1)
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(given.to_dict()), encoding="utf-8")
    told = run_command("score", file, "--fail-under", "context_recall=0.5").stderr
    assert f"\n    {name}: 0.0" in told


def test_what_is_missing_is_said() -> None:
    samples = [
        Sample(id="none", reference_context_ids=[], retrieved_context_ids=["a"]),
        Sample(id="half", reference_context_ids=["a", "b"], retrieved_context_ids=["a"]),
    ]
    results = evaluate(samples, [IDBasedContextRecall(threshold=0.8)])
    page = Page(render_html(results.report()))
    assert "no value (no_reference)" in page.text
    assert "no_reference 1" in page.text
    assert "1 of 2" in page.text
    assert "id_based_context_recall: 0.5, failed" in page.text
    assert "✗ b" in page.text


def test_interval_of_mean_zero_is_on_the_conventions_scale() -> None:
    samples = [Sample(reference="It is red.", retrieved_contexts=[text]) for text in ("Rain.", "Snow.")]
    results = evaluate(samples, [ContextRecall(convention="aegis")], progress=False)
    [item] = results.summary().values()
    assert (item.mean, item.interval is None) == (0, False)
    drawn = re.search('class="range" x1="([^"]*)" x2="([^"]*)"', render_html(results.report()))
    assert drawn is not None
    assert drawn.groups() == tuple(
        f"{end:.1f}" for end in item.interval or ()
    )  # percent, as the scale is


def test_the_warning_of_the_embedded_judge_is_on_the_page_once() -> None:
    samples = [Sample(reference="It is red.", retrieved_contexts=["It is red."])] * 3
    results = evaluate(samples, [ContextRecall(), ContextPrecision()])
    page = Page(render_html(results.report()))
    assert page.text.count("Embedded lexical judge") == 1


def test_to_html_writes_the_page(tmp_path: Path) -> None:
    results = evaluate(
        [Sample(reference="Он красный.", retrieved_contexts=["Он красный."])], [ContextRecall()]
    )
    results.to_html(tmp_path / "report.html", title="Красный")
    written = (tmp_path / "report.html").read_bytes().decode("utf-8")
    assert written == render_html(results.report(), title="Красный")
    assert "<h1>Красный</h1>" in written
    results.to_html(tmp_path / "plain.html")
    assert "<h1>plain</h1>" in (tmp_path / "plain.html").read_text(encoding="utf-8")


def test_to_html_needs_the_rows(tmp_path: Path) -> None:
    sample = Sample(reference="It is red.", retrieved_contexts=["It is red."])
    results = evaluate([sample], [ContextRecall()], out=tmp_path / "scores.jsonl")
    with pytest.raises(
        CtxMetricsError, match="to_html: this run wrote its rows to the file given as out="
    ):
        results.to_html(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_is_an_error_of_one_line(tmp_path: Path) -> None:
    results = evaluate(
        [Sample(reference="It is red.", retrieved_contexts=["It is red."])], [ContextRecall()]
    )
    with pytest.raises(
        InputFileError, match=r"report\.html: cannot be written: No such file or directory\. Choose"
    ):
        results.to_html(tmp_path / "nowhere" / "report.html")


@pytest.mark.slow
def test_the_command_line_writes_it_beside_the_scores(tmp_path: Path) -> None:
    sample = {
        "id": "<b>bold</b>",
        "reference": "It is red.",
        "retrieved_contexts": ["Grass. It is red. Sky."],
    }
    (tmp_path / "s.jsonl").write_text(json.dumps(sample) + "\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "ctxmetrics",
        "score",
        "s.jsonl",
        "--out",
        "scores.jsonl",
        "--report",
        "report.html",
    ]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert run.returncode == 0, run.stderr
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "<b>bold</b>" in page.text
    assert "It is red." in page.marked
    rows = read_rows(tmp_path / "scores.jsonl")
    assert {row["metric"] for row in rows} == {"context_recall", "context_precision"}


def test_scores_are_counted_by_tenths(tmp_path: Path) -> None:
    """Recalls 0, 1/2, 1/2 and 1: the last tenth holds 1, the sixth 1/2."""
    facts = ("Pumps move water.", "Fans move air.")
    texts = ("Birds sing.", facts[0], facts[1], " ".join(facts))
    samples = [Sample(reference=" ".join(facts), retrieved_contexts=[text]) for text in texts]
    results = evaluate(samples, [ContextRecall()], progress=False)
    assert results.report().histograms == {"context_recall": [1, 0, 0, 0, 0, 2, 0, 0, 0, 1]}
    results.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'aria-label="context_recall: 1, 0, 0, 0, 0, 2, 0, 0, 0, 1"' in page


def test_a_page_with_a_long_title_is_replaced(tmp_path: Path) -> None:
    """Its first bytes say who wrote it, before the title: a file of anybody else stays as it is."""
    results = evaluate([Sample(reference="It.", retrieved_contexts=["It."])], [ContextRecall()])
    path = tmp_path / "page.html"
    results.to_html(path, title="x" * 3000)
    results.to_html(path, title="second")
    assert "<title>second</title>" in path.read_text(encoding="utf-8")
    path.write_text("<!doctype html><title>mine</title>", encoding="utf-8")
    with pytest.raises(InputFileError, match="it holds data that no run wrote"):
        results.to_html(path)
