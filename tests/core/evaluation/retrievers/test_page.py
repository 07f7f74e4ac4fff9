"""The page of a comparison of retrievers in a browser: readable by all, wide and narrow, and it loads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, Sample, compare_retrievers
from support.browser import LACKING, Browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {LACKING}"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.driver.quit()


@pytest.mark.parametrize("width", [1200, 390])
def test_page_is_readable_by_all_and_loads_nothing(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    questions = [
        Sample(user_input=f"What is fact {number}?", reference=f"Fact {number} has the value {number}.")
        for number in range(12)
    ]
    questions.append(Sample(user_input="What else?", reference="x", labels={"unanswerable": True}))

    def good(question: str) -> list[tuple[str, float]]:
        return [(f"Fact {question.rsplit(maxsplit=1)[-1].rstrip('?')} has the value 3.", 0.5)]

    found = compare_retrievers(
        questions,
        {"good": good, "نقص": lambda _: [("Nothing of that kind.", 0.25)]},
        [ContextRecall(), ContextPrecision()],
    )
    page = tmp_path / "page.html"
    found.to_html(page, gates=[("--max-errors 0", None)])
    browser.requests()
    browser.driver.set_window_size(width, 2000)
    browser.driver.get(page.as_uri())
    browser.run("document.querySelectorAll('details').forEach(item => { item.open = true })")
    assert browser.requests() == [page.as_uri()]
    assert browser.violations() == []
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
