"""The labelling page in a real headless Chromium, driven by its keyboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ctxmetrics import Sample
from support.browser import LACKING
from support.labelling import LabelPage, LabelProcess

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {LACKING}"),
]

CONTEXTS = ("Berlin is a city.", "Paris is the capital of France.", "It rains.")
HOSTILE = (
    "<script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "<svg onload=window.owned=3><a href='javascript:window.owned=4' autofocus onfocus='window.owned=5'>",
    "</p></main><iframe srcdoc='<script>parent.owned=6</script>'></iframe>",
    "\u202egnp.exe\u202c \u2066<b>",
    "${window.owned=7} {{constructor.constructor('window.owned=8')()}} \\u003cscript\\u003e",
    '"onmouseover="window.owned=9" x="',
)


def sample(number: int, **fields: object) -> Sample:
    given = {
        "user_input": f"Question {number}?",
        "reference": "Paris is the capital of France. The tower is 330 metres tall.",
        "retrieved_contexts": CONTEXTS,
    }
    return Sample(id=f"n{number}", **{**given, **fields})


def written(folder: Path, samples) -> Path:
    file = folder / "data.jsonl"
    file.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in samples), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = LabelPage(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def page(browser):
    """The browser, with nothing left of the test before."""
    browser.driver.get("about:blank")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.requests()
    browser.driver.get_log("browser")
    return browser


def saved(file: Path) -> dict[tuple[str, str], tuple[str, list[str]]]:
    lines = file.with_name(file.name + ".labels.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    answers = [json.loads(line) for line in lines]
    return {(one["sample_id"], one["item"]): (one["answer"], one["contexts"]) for one in answers}


def test_ten_samples_by_keyboard_survive_a_kill(page, tmp_path):
    file = written(tmp_path, [sample(number) for number in range(20)])
    keys = {"s1": ("2", "y"), "s2": ("n",), "c1": ("n",), "c2": ("y",), "c3": ("c",)}
    words = {
        "s1": ("yes", ["c2"]),
        "s2": ("no", []),
        "c1": ("no", []),
        "c2": ("yes", []),
        "c3": ("cannot_say", []),
    }
    expected = {}

    def label(number: int) -> None:
        for _ in range(number):
            question = page.question
            page.press(*keys[question[1]])
            expected[question] = words[question[1]]

    with LabelProcess(file, "--n", "10") as running:
        page.open(running.address)
        label(23)
        running.kill()
        stopped_at = page.question
        page.press("y")
        assert "this was not saved; every answer before it is" in page.text("problem")
        assert page.question == stopped_at
        addresses = [running.address]
    assert saved(file) == expected
    with LabelProcess(file) as running:
        page.open(running.address)
        assert page.question == stopped_at
        assert "question 24 of 50" in page.text("place")
        label(27)
        assert page.run("return document.activeElement.textContent") == "Every question has an answer"
        page.press("q")
        status, printed = running.wait()
        addresses.append(running.address)
    lines = printed.strip().split("\n")
    assert (
        status,
        lines[-2].endswith("20 yes, 20 no, 10 cannot say, 0 skipped; 0 of 50 questions are open"),
    ) == (0, True)
    assert (saved(file), len(expected)) == (expected, 50)
    assert len({name for name, _ in expected}) == 10
    asked = [url for url in page.requests() if not url.startswith(("data:", "chrome:"))]
    assert len(asked) > 50
    assert all(url.startswith(tuple(addresses)) for url in asked), asked


def test_back_skip_verdict_and_the_keys_of_a_button(page, tmp_path):
    from selenium.webdriver.common.keys import Keys

    file = written(tmp_path, [sample(1)])
    with LabelProcess(file) as running:
        page.open(running.address)
        page.press("b", "s")
        assert page.text("verdict") == ""
        page.press("v")
        assert page.text("verdict").startswith("The judge: no.")
        page.press("n", "b")
        assert page.question == ("n1", "s2")
        assert (
            page.run("return document.querySelector('[aria-pressed=true]').textContent.trim()")
            == "n no"
        )
        assert page.text("verdict").startswith("The judge: no.")  # it had been shown
        page.press("y", Keys.TAB, Keys.TAB, Keys.ENTER)  # from the heading to the second button
        assert saved(file)["n1", "c1"] == ("no", [])
        page.press("n", "n")
        assert page.question == ("n1", "s1")  # what was skipped comes last
        page.press("1", "2", "1", "y")
        assert page.text("end-title") == "Every question has an answer"
    assert saved(file)["n1", "s1"] == ("yes", ["c2"])
    assert saved(file)["n1", "s2"] == ("yes", [])


def test_a_key_that_is_held_down_answers_once(page, tmp_path):
    file = written(tmp_path, [sample(1)])
    with LabelProcess(file) as running:
        page.open(running.address)
        for repeated in (False, True, True):
            page.run(
                "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'y', repeat: arguments[0]}))",
                repeated,
            )
        page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'n', ctrlKey: true}))")
        page.wait(lambda: page.question == ("n1", "s2"))
        assert list(saved(file)) == [("n1", "s1")]
        page.run(
            "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'т', code: 'KeyN'}))"
        )  # a Russian keyboard
        page.wait(lambda: page.question == ("n1", "c1"))
        assert saved(file)["n1", "s2"] == ("no", [])


def test_hostile_texts_stay_texts(page, tmp_path):
    text = "\n".join(HOSTILE)
    hostile = Sample(
        id="<script>window.owned=10</script>",
        user_input=text,
        reference=f"{text} Paris is the capital.",
        # A picture alone is refused as a sample; beside a word it is text.
        retrieved_contexts=[text, *(f"Text: {item}" for item in HOSTILE)],
    )
    file = written(tmp_path, [hostile])
    seen = text.replace("\u202e", "\ufffd").replace("\u202c", "\ufffd").replace("\u2066", "\ufffd")
    with LabelProcess(file, "--annotator", "<img src=x onerror=window.owned=11>") as running:
        page.open(running.address)
        elements = page.run("return document.querySelectorAll('*').length")
        assert page.text("user-input") == seen
        assert page.text("reference") == f"{seen} Paris is the capital."
        assert page.run("return document.querySelector('#contexts .text').textContent") == seen
        questions = page.run("return shown.questions")
        for _ in range(questions):
            page.press("v", "n")
        assert page.text("end-title") == "Every question has an answer"
        assert "<img src=x" in page.text("end-text")
        assert page.run("return typeof window.owned") == "undefined"
        assert (
            page.run("return document.querySelectorAll('img, iframe, svg, script:not([src])').length")
            == 0
        )
        assert page.run("return document.querySelectorAll('*').length") <= elements
        severe = [entry for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert severe == []
        asked = [url for url in page.requests() if not url.startswith(("data:", "chrome:"))]
        assert all(url.startswith(running.address) for url in asked), asked


def test_a_wrong_token_is_403_and_shows_nothing(page, tmp_path):
    file = written(tmp_path, [sample(1)])
    with LabelProcess(file) as running:
        for wrong in (
            running.address[:-2] + "/",
            f"http://{running.host}/",
            f"http://{running.host}/x/question",
        ):
            page.driver.get(wrong)
            assert page.run("return document.body.textContent").strip() == "403 Forbidden"
        assert "Question" not in page.driver.page_source


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_reports_nothing_serious_and_nothing_overflows(page, tmp_path, width, scheme):
    file = written(tmp_path, [sample(1, retrieved_contexts=[*CONTEXTS, "longword" * 60])])
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    with LabelProcess(file) as running:
        page.open(running.address)
        for keys in ("2v", "nb", "nnv", "yyyy"):
            page.press(*keys)
            assert page.violations() == [], keys
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), keys
        assert page.run("return shown.number") is None
        running.kill()
        page.press("q")
        assert page.text("problem")
        assert page.violations() == []
