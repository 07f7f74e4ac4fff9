"""The way of a new user: a file and a corpus, the findings, the labelling page, and the corrected file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import LACKING
from support.command import run_command as ctxmetrics
from support.labelling import LabelPage, LabelProcess

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {LACKING}"),
]

WIDTHS = (1200, 390)
# Question 2 expects the passage about pump 7, and question 5 one that no index holds.
WRONG = {2: "p7", 5: "old-5"}
COUNT = 8


@pytest.fixture
def page(tmp_path: Path) -> Iterator[LabelPage]:
    page = LabelPage(tmp_path / "browser")
    yield page
    page.driver.quit()


def passage(number: int) -> str:
    return f"Pump {number} stands beside shelf {number + 100} in hall {number + 20}."


def write_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def write_inputs(folder: Path) -> tuple[Path, Path]:
    """Write the samples, each with what a retriever found, and the corpus."""
    samples: list[dict[str, object]] = [
        {
            "id": f"q{number}",
            "user_input": f"Where does pump {number} stand?",
            "reference": passage(number),
            "retrieved_context_ids": [f"p{number}", f"p{(number + 1) % COUNT}"],
            "reference_context_ids": [WRONG.get(number, f"p{number}")],
        }
        for number in range(COUNT)
    ]
    corpus: list[dict[str, object]] = [
        {"id": f"p{number}", "text": passage(number)} for number in range(COUNT)
    ]
    return write_lines(folder / "samples.jsonl", samples), write_lines(folder / "corpus.jsonl", corpus)


def look_at_findings(page: LabelPage, file: Path) -> None:
    """Open a page of findings at both widths: axe finds nothing, nothing overflows, nothing is loaded."""
    for width in WIDTHS:
        page.set_width(width)
        page.requests()
        page.driver.get(file.as_uri())
        page.run("document.querySelectorAll('details').forEach(item => { item.open = true })")
        assert page.requests() == [file.as_uri()]
        assert page.violations() == []
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")


def test_file_and_corpus_lead_to_corrected_gold(page: LabelPage, tmp_path: Path) -> None:
    samples, corpus = write_inputs(tmp_path)
    before = samples.read_bytes()
    audit, findings = tmp_path / "audit.jsonl", tmp_path / "findings.html"
    options = ("--corpus", corpus, "--audit", audit, "--sample", COUNT)
    checked = ctxmetrics("check-gold", samples, *options, "--page", findings)
    assert checked.returncode == 0, checked.stderr
    look_at_findings(page, findings)

    asked = ("--n", str(2 * COUNT), "--ask", "context_useful", "--annotator", "Ada")
    with LabelProcess(audit, *asked) as running:
        page.open(running.address)
        for width in WIDTHS:
            page.set_width(width)
            assert page.violations() == []
            assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        while page.run("return shown.number") is not None:
            name, item = page.question
            contexts = page.run("return JSON.stringify(shown.contexts)")
            text = json.loads(contexts)[int(item[1:]) - 1]
            page.press("y" if passage(int(name[1:])) in str(text) else "n")
        page.press("q")
        status, _ = running.wait()
    assert status == 0

    new, corrected = tmp_path / "new.jsonl", tmp_path / "corrected.html"
    labels = tmp_path / "audit.jsonl.labels.jsonl"
    read = ctxmetrics(
        "check-gold", samples, *options, "--labels", labels, "--corrected", new, "--page", corrected
    )
    assert read.returncode == 0, read.stderr
    look_at_findings(page, corrected)
    gold = [json.loads(line)["reference_context_ids"] for line in new.read_text("utf-8").splitlines()]
    right = [[f"p{number}"] for number in range(COUNT)]
    right[5] = ["old-5", "p5"]  # nobody saw a text of the first, so it stays
    assert gold == right
    assert samples.read_bytes() == before
