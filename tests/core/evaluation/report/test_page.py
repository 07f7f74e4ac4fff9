"""The report in a real headless Chromium: matrix, order, filter, search, links, dark, print, phone, size, hostile texts."""

from __future__ import annotations

import base64
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    LexicalJudge,
    Results,
    Sample,
    evaluate,
)
from ctxmetrics.evaluation.comparison.compare import compare_all
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.runs.history import read_history
from ctxmetrics.evaluation.runs.run_folder import RunFolder
from ctxmetrics.evaluation.runs.run_pages import write_pages
from support.browser import LACKING, Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {LACKING}"),
]

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
HOSTILE = (
    "<script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "</noscript></script><svg onload=window.owned=3><a href='javascript:window.owned=4' autofocus onfocus='window.owned=5'>",
    "</p></main><iframe srcdoc='<script>parent.owned=6</script>'></iframe>",
    "${window.owned=7} {{constructor.constructor('window.owned=8')()}} \\u003cscript\\u003e &lt;img src=y onerror=window.owned=9&gt;",
    '"onmouseover="window.owned=10" x="',
)


class Page(Browser):
    """Pages of files in a browser."""

    def open(
        self,
        file: Path,
        fragment: str = "",
        *,
        width: int = 1200,
        scheme: str = "light",
        script: bool = True,
    ) -> None:
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        self.driver.get("about:blank")
        self.driver.get(f"{file.as_uri()}{fragment}")

    def wait(self, condition: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 60, poll_frequency=0.02).until(
            lambda _: self.run(f"return {condition}")
        )

    def names(self) -> list[str]:
        """The samples that are shown, in their order."""
        script = "return [...document.querySelectorAll('details.s .name')].map(e => e.textContent)"
        return self.run(script)

    def choose(self, identifier: str, value: str) -> None:
        script = "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change'))"
        self.run(script, identifier, value)

    def find(self, text: str) -> None:
        self.run("document.getElementById('shown').textContent = 'waiting'")
        self.run(
            "const e = document.getElementById('search'); e.value = arguments[0]; e.dispatchEvent(new Event('input'))",
            text,
        )
        self.wait("document.getElementById('shown').textContent !== 'waiting'")

    def count(self, selector: str) -> int:
        """How many elements there are, also where the page runs no script."""
        root = self.driver.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]
        given = {"nodeId": root, "selector": selector}
        return len(self.driver.execute_cdp_cmd("DOM.querySelectorAll", given)["nodeIds"])

    def requests(self) -> list[str]:
        """Every address of the network that was asked for."""
        return [url for url in super().requests() if not url.startswith(("data:", "chrome:", "about:"))]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    made = Page(tmp_path_factory.mktemp("browser"))
    yield made
    made.driver.quit()


@pytest.fixture(scope="module")
def results() -> Results:
    metrics = [ContextRecall(threshold=0.7), ContextPrecision(), IDBasedContextRecall()]
    return evaluate(list(read_samples(HANDBOOK)), metrics, progress=False)


@pytest.fixture(scope="module")
def report(results, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    results.to_html(file, title="Handbook")
    return file


@pytest.fixture(scope="module")
def small(results, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("small") / "small.html"
    metrics = [ContextRecall(threshold=0.7), ContextPrecision(), IDBasedContextRecall()]
    evaluate(list(read_samples(HANDBOOK))[:6], metrics, progress=False).to_html(file)
    return file


def test_order_filter_and_search(page, report, results):
    page.open(report)
    worst = [row.name for row in results.report().rows]
    assert page.names() == worst
    page.choose("sort", "file")
    assert page.names() == [row.sample_id for row in results]
    page.choose("sort", "1")
    values = [
        results[index]["context_precision"].value
        for index in map(int, (name[3:] for name in page.names()))
        for index in [index - 1]
    ]
    assert values == sorted(values)
    page.choose("sort", "worst")
    page.choose("filter", "below")
    below = {row.sample_id for row in results if row["context_recall"].passed is False}
    assert set(page.names()) == below
    assert (
        page.run("return document.getElementById('shown').textContent") == f"{len(below)} of 36 samples"
    )
    page.choose("filter", "doubtful")
    assert set(page.names()) == {row.sample_id for row in results if row["context_recall"].doubtful}
    page.choose("filter", "")
    page.find("CORROSION  is covered")  # in a retrieved text, and whatever its case and spaces
    holding = {
        row.sample_id
        for row in results
        if "corrosion is covered" in " ".join(" ".join(row.sample.retrieved_contexts).split()).lower()
    }
    assert set(page.names()) == holding != set()
    page.find("")
    assert len(page.names()) == 36


def test_link_opens_a_sample_and_ties_sentence_to_evidence(page, report, results):
    row = next(
        row
        for row in results
        if row["context_recall"].verdicts and row["context_recall"].verdicts[0].evidence
    )
    span = row["context_recall"].verdicts[0].evidence[0]
    page.open(report, f"#n{row.index}")
    assert page.run("return [...document.querySelectorAll('details.s[open]')].map(e => e.id)") == [
        f"n{row.index}"
    ]
    cells = row["context_recall"].attribution.cells
    picture = (
        "return [...document.querySelectorAll(`#n${arguments[0]} table.matrix tbody tr`)].map("
        "r => [...r.querySelectorAll('td')].map(c => ({w: 'whole', p: 'part'})[c.className] || 'none'))"
    )
    assert page.run(picture, row.index) == [list(line) for line in cells]
    evidence = f"n{row.index}-c{span.context + 1}-s1"
    page.run("document.querySelector(`a[href='#${arguments[0]}']`).click()", evidence)
    page.wait("document.querySelector('.here') !== null")
    assert page.run("return document.querySelector('.here').id") == evidence
    marked = page.run(
        "return [...document.querySelectorAll('#n' + arguments[0] + '-c' + arguments[1] + ' mark[data-u~=s1]')].map(e => e.textContent).join('')",
        row.index,
        span.context + 1,
    )
    assert span.quote in marked
    page.run(
        "document.getElementById(arguments[0]).dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))",
        f"n{row.index}-s1",
    )
    assert page.run("return document.querySelectorAll('mark.lit').length") >= 1
    page.open(report, f"#{evidence}")
    assert page.run("return document.querySelector('details.s[open]').id") == f"n{row.index}"


def test_it_reads_without_script_and_the_policy_stops_any_other(page, report):
    page.open(report, script=False)
    page.open(report)
    policy = page.run("return document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.owned = 1'; document.body.append(s)"
    )
    page.run("document.body.setAttribute('onclick', 'window.owned = 2'); document.body.click()")
    assert page.run("return typeof window.owned") == "undefined"
    assert page.run("return document.getElementById('tools').hidden") is False
    static = report.read_text(encoding="utf-8")
    assert '<form id="tools" hidden>' in static


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_reports_nothing_serious_and_nothing_overflows(page, small, width, scheme):
    page.open(small, "#n5", width=width, scheme=scheme)
    assert page.violations() == []
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    paper = page.run("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is (scheme == "light")


@pytest.mark.parametrize("width", [1280, 390])
def test_two_runs_stand_side_by_side(page, tmp_path, width):
    samples = list(read_samples(HANDBOOK))[:6]
    cut = [replace(sample, retrieved_contexts=sample.retrieved_contexts[1:]) for sample in samples]
    first, second = (evaluate(run, [ContextRecall()], progress=False) for run in (samples, cut))
    file = tmp_path / "compared.html"
    file.write_text(first.compare(second).html(), encoding="utf-8")
    page.open(file, width=width)
    places = page.run(
        "return [...document.querySelector('.pair').children].map(e => Math.round(e.getBoundingClientRect().x))"
    )
    assert (places[0] < places[1]) is (width == 1280)
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.violations() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_several_runs_and_a_textless_baseline_share_one_page(page, tmp_path, width, scheme):
    samples = list(read_samples(HANDBOOK))[:6]
    runs = [
        evaluate(
            [replace(one, retrieved_contexts=one.retrieved_contexts[cut:]) for one in samples],
            [ContextRecall()],
            progress=False,
        )
        for cut in (0, 1, 2)
    ]
    base, file = tmp_path / "base.jsonl", tmp_path / "compared.html"
    runs[0].to_baseline(base)
    found = compare_all(base, {"<b>one</b>": runs[1], "two": runs[2]})
    file.write_text(found.html(), encoding="utf-8")
    page.open(file, width=width, scheme=scheme)
    names = page.run(
        "return [...document.querySelectorAll('table.means tbody th')].map(e => e.textContent)"
    )
    assert names == ["<b>one</b>", "two"]
    assert page.run("return document.querySelectorAll('.pair').length") > 2
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.violations() == []


def test_the_view_of_a_notebook(page, small, results, tmp_path):
    nbformat, nbconvert = pytest.importorskip("nbformat"), pytest.importorskip("nbconvert")
    part = evaluate(
        [row.sample for row in results][:6], [ContextRecall(), ContextPrecision()], progress=False
    )
    outputs = [
        nbformat.v4.new_output("display_data", {"text/html": shown._repr_html_()})
        for shown in (part, part[0], part[0]["context_recall"])
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("results", outputs=outputs)])
    html, _ = nbconvert.HTMLExporter(embed_images=True).from_notebook_node(notebook)
    file = tmp_path / "notebook.html"
    file.write_text(html, encoding="utf-8")
    page.open(file, width=390)
    assert page.run("return document.querySelectorAll('div.ctxmetrics').length") == 3
    assert page.run("return document.querySelectorAll('div.ctxmetrics details.s').length") == 6
    page.run("document.querySelector('div.ctxmetrics details.s').open = true")
    assert page.run(
        "return [...document.querySelectorAll('div.ctxmetrics')].every(e => e.scrollWidth <= innerWidth)"
    )
    assert page.violations(".ctxmetrics") == []


# What each host lays upon the elements of an output: JupyterLab 4 and Notebook 7 have one style sheet, which nbconvert
# brings along; the other two are the rules of their output frames, in words of our own.
HOSTS = {
    "lab": "lab/static/index.css",
    "classic": "classic/static/style.css",
    "vscode": "table, thead, tr, th, td, tbody { border: none !important; border-spacing: 0; }"
    "table { width: 100%; } table, th, tr { text-align: left !important; }"
    "thead { font-weight: bold; background-color: #8883; } th, td { padding: 4px 8px; }"
    "tr:nth-child(even) { background-color: #8881; } tbody th { font-weight: normal; }",
    "colab": "body { font: 14px Roboto, sans-serif; } .rendered_html table { border: none; font-size: 12px;"
    " table-layout: fixed; } .rendered_html td, .rendered_html th, .rendered_html tr { text-align: right;"
    " white-space: nowrap; max-width: none; }",
}
# Today's hosts set lists of terms so; older copies of their style sheets may lack it.
TERMS = (
    ".jp-RenderedHTMLCommon dl dt, .rendered_html dl dt { float: left; clear: left; width: 20%; }"
    ".jp-RenderedHTMLCommon dl dd, .rendered_html dl dd { float: left; width: 80%; }"
)
MEASURE = """
    const lines = (element) => element.getBoundingClientRect().height / parseFloat(getComputedStyle(element).lineHeight);
    return [...document.querySelectorAll('.ctxmetrics dt')].map((term) => {
        const [one, other] = [term, term.nextElementSibling].map((item) => item.getBoundingClientRect());
        return [lines(term), one.right <= other.left || one.bottom <= other.top, getComputedStyle(term).float];
    });"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("host", HOSTS)
def test_results_keep_their_widths_in_each_notebook(page, results, tmp_path, host, width, scheme):
    pytest.importorskip("nbconvert")
    rules = HOSTS[host]
    if rules.endswith(".css"):
        folders = [Path(sys.prefix) / "share/jupyter", Path("/usr/share/jupyter")]
        sheets = [folder / "nbconvert/templates" / rules for folder in folders]
        rules = next(sheet for sheet in sheets if sheet.is_file()).read_text(encoding="utf-8")
    part = evaluate(
        [row.sample for row in results][:6], [ContextRecall(), ContextPrecision()], progress=False
    )
    file = tmp_path / "notebook.html"
    file.write_text(
        f"<!doctype html><html lang='en'><title>x</title><style>{rules}{TERMS}</style>"
        f"<body><main class='jp-RenderedHTMLCommon rendered_html'>{part._repr_html_()}</main>",
        encoding="utf-8",
    )
    page.open(file, width=width, scheme=scheme)
    terms = page.run(MEASURE)
    assert terms
    for lines, apart, floats in terms:
        assert lines < 1.6
        assert apart
        assert floats == "none"
    assert page.run("return document.querySelector('.ctxmetrics').scrollWidth <= innerWidth")
    aligned = "return [...document.querySelectorAll('.ctxmetrics table.means td')].map(e => getComputedStyle(e).textAlign)"
    assert set(page.run(aligned)) <= {"left", "start"}
    assert page.violations(".ctxmetrics") == []


@pytest.fixture(scope="module")
def site(tmp_path_factory, results):
    """The pages of a folder with two runs and a baseline, one of hostile texts and names."""
    folder = tmp_path_factory.mktemp("runs")
    samples = [row.sample for row in results][:6]
    results = evaluate(samples, [ContextRecall(), ContextPrecision(threshold=0.5)], progress=False)
    results.start = {"started": "2026-11-01 10:00 UTC", "commit": "c0ffee", "branch": "main"}
    results.to_jsonl(folder / "a.jsonl", keep_texts=True)
    results.start = {"started": "2026-11-02 10:00 UTC"}
    results.to_baseline(folder / "base.jsonl")
    hostile = [
        replace(sample, retrieved_contexts=list(HOSTILE), metadata={"topic": HOSTILE[0]})
        for sample in samples
    ]
    results = evaluate(hostile, [ContextRecall()], judge=LexicalJudge(), progress=False)
    gate = {"gate": HOSTILE[0], "problem": HOSTILE[1], "against": HOSTILE[2], "verdict": HOSTILE[3]}
    results.start = {
        "started": HOSTILE[1],
        "branch": HOSTILE[0],
        "tags": list(HOSTILE),
        "gates": [gate],
    }
    (folder / "<img src=x onerror=alert(1)>").mkdir()
    results.to_jsonl(folder / "<img src=x onerror=alert(1)>" / "b.jsonl", keep_texts=True)
    write_pages(RunFolder(folder, stores=False), folder / "site")
    return folder / "site"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_the_pages_of_all_runs_are_readable_and_load_nothing(page, site, width, scheme):
    kinds = ("index", "index-*", "history", "questions", "question-*", "run-*", "compare-*")
    for kind in kinds:
        file = max(site.glob(f"{kind}.html"))
        page.requests()
        page.open(file, width=width, scheme=scheme)
        assert page.requests() in ([file.as_uri()], ["about:blank", file.as_uri()])
        assert page.violations() == [], kind
        assert page.run("return document.documentElement.scrollWidth <= innerWidth"), kind
        assert page.run("return window.owned") is None


def test_runs_are_filtered_sorted_and_read_without_script(page, site):
    file = site / "index.html"
    page.open(file)
    shown = "return [...document.querySelectorAll('#runs tbody tr')].filter(e => !e.hidden).map(e => e.cells[0].innerText.split('\\n')[0])"
    assert len(page.run(shown)) == 3
    page.run(
        "const e = [...document.querySelectorAll('[data-filter]')][1];"
        "e.value = [...e.options].find(option => option.textContent === 'context_precision').value;"
        "e.dispatchEvent(new Event('change'))"
    )
    assert page.run(shown) == ["base.jsonl", "a.jsonl"]
    assert page.run("return document.getElementById('shown').textContent") == "2 of 3 runs"
    page.choose("sort", "0")
    assert page.run(shown) == ["a.jsonl", "base.jsonl"]
    page.find("BASE")
    assert page.run(shown) == ["base.jsonl"]
    page.open(file, script=False)
    assert page.driver.find_elements("css selector", "#runs tbody tr")[2].is_displayed()
    assert not page.driver.find_element("id", "tools").is_displayed()


def test_it_prints_what_is_shown_in_dark_ink(page, report):
    page.open(report, "#n5", scheme="dark")
    pdf = page.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert base64.b64decode(pdf).startswith(b"%PDF")
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    assert page.run("return getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.run("return getComputedStyle(document.getElementById('tools')).display") == "none"
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_hostile_texts_stay_texts_and_no_request_leaves(page, tmp_path):
    text = "\n".join(HOSTILE)
    hostile = [
        Sample(
            id=f"{place} {HOSTILE[0]}",
            user_input=text,
            reference=f"{text} Paris is the capital.",
            response=text,
            retrieved_contexts=[f"{text} Paris is the capital.", *HOSTILE],
            retrieved_context_ids=list(HOSTILE),
            reference_context_ids=[*HOSTILE, "other"],
        )
        for place in range(310)  # so many that the page keeps some of them as text
    ]
    results = evaluate(
        hostile, [ContextRecall(), ContextPrecision(), IDBasedContextRecall()], progress=False
    )
    file = tmp_path / "hostile.html"
    results.to_html(file, title=HOSTILE[0])
    page.requests()
    page.driver.get_log("browser")  # of pages before
    page.open(file, "#n1")
    assert page.count("details.s") == 200
    page.run("document.getElementById('open').click()")
    assert page.count("details.s[open]") == 300
    page.run("scrollTo(0, document.body.scrollHeight)")
    page.wait("document.getElementById('n309') !== null")
    assert page.count("#n309 .body") == 0
    page.run("document.getElementById('n309').open = true")
    page.wait("document.querySelector('#n309 .body') !== null")
    page.find("onerror='window.owned = 2'")
    assert page.run("return document.getElementById('shown').textContent") == "310 of 310 samples"
    for place in (1, 309):
        shown = page.run("return document.getElementById(arguments[0]).textContent", f"n{place}-c1")
        assert text in shown.replace("s1", "")
    assert page.run("return typeof window.owned") == "undefined"
    assert (
        page.run("return document.querySelectorAll('img, iframe, [onload], [onerror], script').length")
        == 1
    )
    assert page.run(
        "return [...document.querySelectorAll('[href]')].every(e => e.getAttribute('href').startsWith('#n'))"
    )
    assert {url.partition("#")[0] for url in page.requests()} == {file.as_uri()}
    assert [entry for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"] == []
    page.open(file, script=False)
    assert page.count("details.s > .body") == 310
    assert page.count("img, iframe, [onload], [onerror]") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_history_of_runs_is_readable(page, tmp_path, width, scheme):
    samples = list(read_samples(HANDBOOK))[:6]
    for number, judge in enumerate([None, None, LexicalJudge(min_coverage=0.9)]):
        results = evaluate(samples[number:], [ContextRecall()], judge=judge, progress=False)
        results.to_jsonl(tmp_path / f"{number}.jsonl")
    file = tmp_path / "history.html"
    file.write_text(read_history(sorted(tmp_path.glob("*.jsonl"))).html(), encoding="utf-8")
    page.open(file, width=width, scheme=scheme)
    assert page.count("polyline") == 3  # the samples changed, then the judge too
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.violations() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_stages_with_hostile_names_are_readable(page, tmp_path, width, scheme):
    stages = {HOSTILE[1]: ["It is tall.", "It is in Paris."], HOSTILE[3]: ["It is tall."]}
    samples = [
        Sample(id=f"{HOSTILE[0]}{place}", reference="It is tall. It is in Paris.", stages=stages)
        for place in range(3)
    ]
    kept = [
        replace(one, stages={**stages, HOSTILE[3]: ["It is in Paris."]}, retrieved_contexts=None)
        for one in samples
    ]
    first, second = (evaluate(run, [ContextRecall()], progress=False) for run in (kept, samples))
    for name, text in (("run", None), ("two", second.compare(first).html())):
        file = tmp_path / f"{name}.html"
        second.to_html(file) if text is None else file.write_text(text, encoding="utf-8")
        page.open(file, width=width, scheme=scheme)
        page.run("for (const each of document.querySelectorAll('details')) each.open = true")
        names = page.run(
            "return [...document.querySelectorAll('table.means')].at(-1).querySelectorAll('tbody th').values().map(e => e.textContent).toArray()"
        )
        assert names == list(stages)
        assert f"dropped by {HOSTILE[3]}" in page.run("return document.body.textContent")
        assert page.run("return typeof window.owned") == "undefined"
        assert page.count("img, iframe") == 0
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        assert page.violations() == []


def test_ten_thousand_samples(page, tmp_path):
    """The page's size, and that it works; the seconds are printed, and a benchmark measures them."""
    words = re.findall(r"\w+", HANDBOOK.read_text(encoding="utf-8"))
    ten = 10_000
    one = next(iter(read_samples(HANDBOOK)))
    filler = " ".join(words[:300])
    base = evaluate([one], [ContextRecall(), ContextPrecision()], progress=False)[0]
    results = Results({"context_recall": 1.0, "context_precision": 1.0}, keep=True)
    contexts = [*one.retrieved_contexts, filler]
    size = sum(map(len, contexts))
    contexts[-1] = (
        filler[: len(filler) - (size - 2000)] if size > 2000 else filler + "x" * (2000 - size)
    )
    for index in range(ten):
        sample = replace(one, id=f"q{index}", retrieved_contexts=tuple(contexts))
        results.add(replace(base, index=index, sample=sample, sample_id=f"q{index}"))
    file = tmp_path / "many.html"
    results.to_html(file)
    megabytes = file.stat().st_size / 1e6
    page.open(file)
    seconds = page.run(
        "const t = performance.getEntriesByType('navigation')[0]; return t.loadEventEnd / 1000"
    )
    print(f"10,000 samples: {megabytes:.1f} MB, open in {seconds:.2f} s")
    assert megabytes < 30
    assert page.run("return document.getElementById('shown').textContent") == "10000 of 10000 samples"
    assert "texts are kept of the worst samples only" in page.run(
        "return document.querySelector('main > p.note:last-of-type').textContent"
    )
    page.run("scrollTo(0, document.body.scrollHeight)")
    page.wait("document.querySelectorAll('details.s').length > 200")
    assert page.names()[:400] == [f"q{index}" for index in range(400)]
    page.find("q9999")
    assert page.names() == ["q9999"]
    page.open(file, "#n9999")
    assert page.run("return document.querySelector('details.s[open] .name').textContent") == "q9999"
    page.find("")
    page.choose("sort", "file")
    assert page.names()[:200] == [f"q{index}" for index in range(200)]
