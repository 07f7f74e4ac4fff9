"""What the README and the docs show of real runs: printed text, and pictures of pages.

    python benchmarks/run.py pictures [--only text report comparison ..]

- ``text``: the beginning of what "Try it" prints, into the README.
- All others: pictures of what the library shows, taken by Chromium, at most 80 KB each. A test knows by a hash whether
  ``report`` and ``comparison`` are of this code; the others show times, or what another program draws.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from functools import partial
from pathlib import Path

from _shared import arguments, docs

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 80_000
"""Bytes of a picture."""
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("CI_", "GITHUB_"))},
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "SOURCE_DATE_EPOCH": "1795737600",
}
TWO_RUNS = """
from two_retrievers import METRICS, by_rare_words, by_shared_words, evaluate, retrieved
for rank in (by_shared_words, by_rare_words):
    results = evaluate(retrieved(rank), METRICS, progress=False)
    results.to_jsonl(f"{rank.__name__}.jsonl", keep_texts=True)
"""
HANDBOOK = "examples/handbook.jsonl"
SHOWN_METRICS = ("context_recall", "context_precision")


def printed(*command: str, cwd: Path, status: int = 0, **environment: str) -> str:
    """Return what a command of the library prints, in a process of its own and a terminal of 80 columns."""
    done = subprocess.run(
        [sys.executable, "-m", "ctxmetrics", *command],
        cwd=cwd,
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def excerpt(text: str) -> str:
    """Return the part that the README shows: some of the means, who judged, and the sample with the lowest recall."""
    head, *rows = text.splitlines()
    means = [row for row in rows if row.split(" ")[0] in SHOWN_METRICS and not row.startswith(" ")]
    lowest = next(
        block
        for block in text.split("\n\n")
        if re.search(r"^  context_recall .*\n    ✗", block, re.MULTILINE)
    )
    block = lowest[lowest.index("hb-") :].rstrip()
    judge = text[text.index("Embedded lexical judge") :].split("\n\n", maxsplit=1)[0]
    return "\n".join([head, *means[: len(SHOWN_METRICS)], "..", judge, "..", block])


def shown_in_readme(text: str) -> str:
    return f"```text\n{excerpt(text)}\n```"


def write_text() -> dict:
    page = ROOT / "README.md"
    with tempfile.TemporaryDirectory() as folder:
        shown = shown_in_readme(printed("demo", cwd=Path(folder)))
    docs.put(page, "try-it", shown)
    print(shown)
    return {"words": len(page.read_text(encoding="utf-8").split())}


def picture(name: str, *, width: int, height: int) -> dict:
    """Write a picture of the top of a page, with the hash of the page in it."""
    text = PAGES[name]()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(text, encoding="utf-8")
        return take(name, page.as_uri(), hash_page(text), width=width, height=height)


def take(name: str, address: str, mark: str, *, width: int, height: int) -> dict:
    """Write a picture of the top of what a browser shows at an address."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("pictures: no chromium here")
    file = PICTURES / f"{name}.png"
    about = PngInfo()
    about.add_text("page", mark)
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            "--virtual-time-budget=3000",
            f"--screenshot={file}",
        ]
        subprocess.run([*command, address], check=True, capture_output=True)
    with Image.open(file) as taken:
        taken.convert("RGB").quantize(128).save(file, optimize=True, pnginfo=about)
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {size} bytes")
    assert size < LARGEST, f"{file} is larger than {LARGEST} bytes"
    return {"bytes": size}


def hash_page(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def handbook() -> Iterator[Path]:
    """Make a folder with the sample data as a user has it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "examples").mkdir()
        shutil.copy(ROOT / HANDBOOK, place / HANDBOOK)
        yield place


def make_report() -> str:
    with handbook() as folder:
        printed("score", HANDBOOK, "--report", "report.html", cwd=folder)
        return (folder / "report.html").read_text(encoding="utf-8")


def write_two_runs(folder: Path) -> None:
    paths = {"PYTHONPATH": str(ROOT / "examples")}
    subprocess.run([sys.executable, "-c", TWO_RUNS], cwd=folder, env=ENVIRONMENT | paths, check=True)


def make_comparison() -> str:
    with tempfile.TemporaryDirectory() as folder:
        write_two_runs(Path(folder))
        files = ("by_shared_words.jsonl", "by_rare_words.jsonl")
        printed("compare", *files, "--report", "page.html", cwd=Path(folder))
        return Path(folder, "page.html").read_text(encoding="utf-8")


def make_retrievers() -> str:
    with tempfile.TemporaryDirectory() as folder:
        data = ROOT / HANDBOOK
        settings = ROOT / "examples" / "retrievers_own_store.py"
        metrics = ("-m", "context_recall", "-m", "context_precision")
        command = ("run", str(settings), "--questions", str(data), *metrics)
        printed(*command, "--report", "page.html", cwd=Path(folder))
        return Path(folder, "page.html").read_text(encoding="utf-8")


def make_curve() -> str:
    """Return the part of the report that shows recall and support precision over k, under the page's own style."""
    page = make_report()
    head = page[: page.index("<body")]
    (curve,) = re.findall(r"<h2>context_recall: .*?</figure>", page, re.DOTALL)
    return f'{head}<body class="ctxmetrics"><main>{curve}</main></body></html>'


def score_cut(folder: Path, out: str, *, k: int, first: int = 0, day: int = 0) -> None:
    """Score the first k contexts of the sample data, from the first sample on that is asked for."""
    rows = [json.loads(line) for line in (folder / HANDBOOK).open(encoding="utf-8")]
    for row in rows:
        row["retrieved_contexts"] = row["retrieved_contexts"][:k]
        del row["labels"], row["retrieved_context_ids"]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows[first:])
    (folder / "cut.jsonl").write_text("".join(lines), encoding="utf-8")
    time = str(int(ENVIRONMENT["SOURCE_DATE_EPOCH"]) + day * 86_400)
    command = ("score", "cut.jsonl", "-m", "context_recall", "--out", out, "--keep-texts")
    printed(*command, cwd=folder, SOURCE_DATE_EPOCH=time)


def make_history() -> str:
    """Return the page of five runs a day apart: more and more contexts, and other samples from the fourth run on."""
    with handbook() as folder:
        files = [f"run-{day}.jsonl" for day in range(1, 6)]
        cuts = [(2, 0), (3, 0), (4, 0), (4, 6), (5, 6)]
        for day, (file, (k, first)) in enumerate(zip(files, cuts, strict=True)):
            score_cut(folder, file, k=k, first=first, day=day)
        printed("history", *files, "--report", "page.html", cwd=folder)
        return (folder / "page.html").read_text(encoding="utf-8")


def make_notebook() -> str:
    """Return a notebook whose one cell shows a run, as nbconvert writes it."""
    import nbformat
    from nbconvert import HTMLExporter

    from ctxmetrics import evaluate

    code = f"""\
from ctxmetrics import evaluate

evaluate("{HANDBOOK}", ["context_recall", "context_precision"])"""
    with handbook() as folder, chdir(folder):
        data = {"text/html": evaluate(HANDBOOK, [*SHOWN_METRICS], progress=False)._repr_html_()}
    shown = nbformat.v4.new_output("execute_result", data, execution_count=1)
    cell = nbformat.v4.new_code_cell(code, execution_count=1, outputs=[shown])
    page, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    return page


def make_pull_request() -> str:
    """Return what a gate that fails writes for GitHub, drawn as a page."""
    from markdown import markdown

    with handbook() as folder:
        score_cut(folder, "main.jsonl", k=5)
        score_cut(folder, "branch.jsonl", k=2)
        summary = folder / "summary.md"
        command = ("compare", "main.jsonl", "branch.jsonl", "--max-drop", "context_recall=0.02")
        printed(*command, cwd=folder, status=1, GITHUB_STEP_SUMMARY=str(summary))
        body = markdown(summary.read_text(encoding="utf-8"), extensions=["tables"], tab_length=2)
    return f"""<!doctype html><meta charset="utf-8"><style>
body {{ font: 14px/1.5 sans-serif; margin: 24px; color: #1f2328 }}
table {{ border-collapse: collapse }} td, th {{ border: 1px solid #d1d9e0; padding: 4px 10px }}
.checks {{ border: 1px solid #d1d9e0; border-radius: 6px; padding: 12px 16px; margin-bottom: 20px }}
.failed {{ color: #cf222e; font-weight: 600 }}
</style><div class="checks"><span class="failed">✗ Some checks were not successful</span><br>
✗ retrieval: exit status 1</div>{body}"""


def take_labelling(*, width: int, height: int) -> dict:
    """Write a picture of the page that asks people, from the command's own server."""
    with handbook() as folder:
        command = [sys.executable, "-m", "ctxmetrics", "label", HANDBOOK, "--n", "5", "--seed", "3"]
        server = subprocess.Popen(
            [*command, "--no-browser"],
            cwd=folder,
            env=ENVIRONMENT,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        try:
            matches = (re.search(r"http://\S+", line) for line in server.stderr or ())
            address = next(match[0] for match in matches if match)
            return take("labelling", address, "live", width=width, height=height)
        finally:
            server.kill()
            server.communicate()


PAGES: dict[str, Callable[[], str]] = {
    "report": make_report,
    "comparison": make_comparison,
    "retrievers": make_retrievers,
    "curve": make_curve,
    "history": make_history,
    "notebook": make_notebook,
    "pull-request": make_pull_request,
}
WRITERS: dict[str, Callable[[], dict]] = {
    "text": write_text,
    "report": partial(picture, "report", width=1024, height=960),
    "comparison": partial(picture, "comparison", width=1024, height=900),
    "retrievers": partial(picture, "retrievers", width=1024, height=900),
    "curve": partial(picture, "curve", width=700, height=330),
    "history": partial(picture, "history", width=1024, height=560),
    "notebook": partial(picture, "notebook", width=1024, height=560),
    "pull-request": partial(picture, "pull-request", width=1024, height=600),
    "labelling": partial(take_labelling, width=1024, height=760),
}


def run(argv: list[str]) -> dict:
    names = arguments.make_parser("pictures", only=WRITERS).parse_args(argv).only
    return {"benchmark": "pictures", **{name: WRITERS[name]() for name in names}}
