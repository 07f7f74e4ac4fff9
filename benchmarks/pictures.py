"""What the README and the docs show of real runs: printed text, and pictures of pages.

    python benchmarks/run.py pictures [--only text report comparison]

- ``text``: the beginning of what "Try it" prints, into the README.
- ``report``, ``comparison``: pictures of the pages that ``ctxmetrics score`` and ``ctxmetrics compare`` write, taken by
  Chromium, at most 200 KB each.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from _shared import arguments, docs

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 200_000
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
SHOWN_METRICS = ("context_recall", "context_precision")


def printed(*command: str, cwd: Path) -> str:
    """Return what a command of the library prints, in a process of its own and a terminal of 80 columns."""
    done = subprocess.run(
        [sys.executable, "-m", "ctxmetrics", *command],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
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
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("pictures: no chromium here")
    file, text, about = PICTURES / f"{name}.png", PAGES[name](), PngInfo()
    about.add_text("page", hash_page(text))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(text, encoding="utf-8")
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [
            f"--user-data-dir={folder}",
            f"--window-size={width},{height}",
            f"--screenshot={file}",
        ]
        subprocess.run([*command, page.as_uri()], check=True, capture_output=True)
    with Image.open(file) as taken:
        taken.convert("RGB").quantize(128).save(file, optimize=True, pnginfo=about)
    size = file.stat().st_size
    print(f"{file.relative_to(ROOT)}: {size} bytes")
    assert size < LARGEST, f"{file} is larger than {LARGEST} bytes"
    return {"bytes": size}


def hash_page(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_report() -> str:
    with tempfile.TemporaryDirectory() as folder:
        data = Path("examples", "handbook.jsonl")
        (Path(folder) / "examples").mkdir()
        shutil.copy(ROOT / data, Path(folder) / data)
        printed("score", str(data), "--report", "report.html", cwd=Path(folder))
        return (Path(folder) / "report.html").read_text(encoding="utf-8")


def make_comparison() -> str:
    with tempfile.TemporaryDirectory() as folder:
        paths = {"PYTHONPATH": str(ROOT / "examples")}
        subprocess.run(
            [sys.executable, "-c", TWO_RUNS], cwd=folder, env=ENVIRONMENT | paths, check=True
        )
        files = ("by_shared_words.jsonl", "by_rare_words.jsonl")
        printed("compare", *files, "--report", "page.html", cwd=Path(folder))
        return Path(folder, "page.html").read_text(encoding="utf-8")


PAGES = {"report": make_report, "comparison": make_comparison}
WRITERS = {
    "text": write_text,
    "report": partial(picture, "report", width=1024, height=960),
    "comparison": partial(picture, "comparison", width=1024, height=900),
}


def run(argv: list[str]) -> dict:
    names = arguments.make_parser("pictures", only=WRITERS).parse_args(argv).only
    return {"benchmark": "pictures", **{name: WRITERS[name]() for name in names}}
