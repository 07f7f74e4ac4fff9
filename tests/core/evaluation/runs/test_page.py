"""The page of all runs of a folder in a browser: what its script counts, filters and sorts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.evaluation.runs.run_folder import RunFolder
from ctxmetrics.evaluation.runs.run_pages import write_pages
from support.browser import LACKING, Browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {LACKING}"),
]

_NAMES = "return [...document.querySelectorAll('#runs tbody a[href^=run] bdi')].map(name => name.textContent)"
_CHOOSE = """
const select = [...document.querySelectorAll("#tools label")]
  .find(label => label.firstChild.textContent === arguments[0]).querySelector("select");
select.value = [...select.options].find(option => option.textContent === arguments[1]).value;
select.dispatchEvent(new Event("change", {bubbles: true}));
"""
_COUNT = "return document.getElementById('shown').textContent"
_SHOW = "document.getElementById('sort').dispatchEvent(new Event('change'))"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.driver.quit()


def _write_run(
    path: Path, context: str, reference: str = "Fact 1 has the value 1.", **start: object
) -> None:
    sample = Sample(user_input="What is fact 1?", reference=reference, retrieved_contexts=[context])
    results = evaluate([sample], [ContextRecall()], progress=False)
    results.start = {"started": f"2026-11-01 1{path.stem[0]}:00 UTC", **start}
    results.to_jsonl(path, keep_texts=True)


def test_runs_are_sorted_also_without_a_mean(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    _write_run(tmp_path / "1-none.jsonl", "Fact 1 has the value 1.", reference="...")
    _write_run(tmp_path / "2-full.jsonl", "Fact 1 has the value 1.")
    _write_run(tmp_path / "3-none.jsonl", "Fact 1 has the value 1.", reference="...")
    _write_run(tmp_path / "deep" / "er" / "4-zero.jsonl", "Nothing at all.")
    _write_run(tmp_path / "5-none.jsonl", "Fact 1 has the value 1.", reference="...")
    _write_run(tmp_path / "6-full.jsonl", "Fact 1 has the value 1.")
    write_pages(RunFolder(tmp_path, stores=False), tmp_path / "site")
    browser.driver.get((tmp_path / "site" / "index.html").as_uri())
    browser.run(_CHOOSE, "order", "context_recall")
    assert browser.run(_NAMES) == [
        "6-full.jsonl",
        "2-full.jsonl",
        "deep/er/4-zero.jsonl",
        "5-none.jsonl",
        "3-none.jsonl",
        "1-none.jsonl",
    ]
    browser.run(_CHOOSE, "group", "deep/er")
    assert browser.run(_COUNT) == "1 of 6 runs"


def test_only_red_runs_and_runs_of_a_group_are_shown(browser: Browser, tmp_path: Path) -> None:
    red = {"gate": "--fail-under context_recall=0.9", "problem": "context_recall is 0, below 0.9"}
    green = {"gate": "--fail-under context_recall=0.9"}
    fact = "Fact 1 has the value 1."
    _write_run(tmp_path / "1-none.jsonl", fact)
    _write_run(tmp_path / "2-red.jsonl", "Nothing at all.", gates=[green, red], tags=["nightly"])
    _write_run(tmp_path / "3-green.jsonl", fact, gates=[green], tags=["nightly", "pumps"])
    write_pages(RunFolder(tmp_path, stores=False), tmp_path / "site")
    browser.driver.get((tmp_path / "site" / "index.html").as_uri())
    assert browser.run(_NAMES) == ["3-green.jsonl", "2-red.jsonl", "1-none.jsonl"]
    browser.run(_CHOOSE, "order", "failed first")
    assert browser.run(_NAMES) == ["2-red.jsonl", "3-green.jsonl", "1-none.jsonl"]
    browser.run(_CHOOSE, "gates", "failed")
    assert browser.run(_NAMES) == ["2-red.jsonl"]
    assert browser.run(_COUNT) == "1 of 3 runs"
    browser.run(_CHOOSE, "gates", "all")
    browser.run(_CHOOSE, "group", "nightly")
    assert browser.run(_NAMES) == ["2-red.jsonl", "3-green.jsonl"]
    browser.run(_CHOOSE, "group", "pumps")
    assert browser.run(_NAMES) == ["3-green.jsonl"]
    browser.run(_CHOOSE, "group", ".")
    assert browser.run(_NAMES) == ["1-none.jsonl"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "columns"), [(1200, 2), (390, 1)])
def test_matrices_of_a_question_stand_side_by_side(
    browser: Browser, tmp_path: Path, width: int, columns: int, scheme: str
) -> None:
    for name in ("1-a", "2-b", "3-c"):
        _write_run(tmp_path / f"{name}.jsonl", "Fact 1 has the value 1.")
    write_pages(RunFolder(tmp_path, stores=False), tmp_path / "site")
    driver: Any = browser.driver
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get(next((tmp_path / "site").glob("question-*.html")).as_uri())
    places = browser.run(
        "return [...document.querySelectorAll('table.matrix')].map(e => e.getBoundingClientRect()).map(r => [r.left, r.top])"
    )
    assert len(places) == 3
    assert len({left for left, _ in places}) == columns
    assert (places[0][1] == places[1][1]) is (columns == 2)
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.violations() == []


def test_an_empty_folder_has_no_runs(browser: Browser, tmp_path: Path) -> None:
    write_pages(RunFolder(tmp_path, stores=False), tmp_path / "site")
    browser.driver.get((tmp_path / "site" / "index.html").as_uri())
    browser.run(_SHOW)
    assert browser.run(_COUNT) == "0 of 0 runs"
