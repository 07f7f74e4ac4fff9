"""Pages that `mkdocs build` makes of the code: one for each metric, the API by part, and the texts for assistants.

`python docs/reference.py` writes the tables again: of the metrics in docs/metrics.md, of the systems in docs/migrating.md.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

import ctxmetrics
from ctxmetrics import Metric, Sample
from ctxmetrics.metrics import METRIC_MODULES
from ctxmetrics.samples.field_keys import FIELDS
from ctxmetrics.samples.schema import Place
from ctxmetrics.samples.systems import SCHEMAS
from ctxmetrics.testing.golden import Case, load_cases

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

DOCS = Path(__file__).parent
API = "api/index.md"
BEGIN, END = "<!-- metrics:begin -->\n", "<!-- metrics:end -->"
SYSTEMS_BEGIN, SYSTEMS_END = "<!-- schemas:begin -->\n", "<!-- schemas:end -->"

ADAPTERS = {
    "Ragas": ("ctxmetrics_ragas", "{}"),
    "DeepEval": ("ctxmetrics_deepeval", "{}Metric"),
    "LangChain and LangSmith": ("ctxmetrics_langchain", "{}Evaluator"),
    "MLflow": ("ctxmetrics_mlflow", "{}Scorer"),
    "pydantic-evals": ("ctxmetrics_pydantic_evals", "{}Evaluator"),
    "Inspect": ("ctxmetrics_inspect", None),
}
"""The package of each framework, and its name of a metric; None: the name on the command line."""

RANKED = {"retrieved_context_ids": ["x", "a", "b"], "reference_context_ids": ["a", "b", "c"]}
"""The example of metrics without golden cases."""

_EMPTY = re.compile(r"-empty-(\w+)-(nothing-retrieved|no-reference|no-response|both-empty)$")


@dataclass(frozen=True)
class Part:
    """A part of the API: its heading, and the text below it in docs/api/index.md."""

    title: str
    text: str

    @property
    def uri(self) -> str:
        """The page of the part."""
        return f"api/{self.title.lower().replace(' ', '-')}.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages that are made here into the navigation."""
    metrics = [{name: metric_uri(kind)} for name, kind in metrics_by_class().items()]
    parts = [{part.title: part.uri} for part in read_parts()]
    config.nav = [*(config.nav or ()), {"A page a metric": metrics}, {"API by part": parts}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each metric and each part of the API."""
    for name, kind in metrics_by_class().items():
        files.append(File.generated(config, metric_uri(kind), content=build_metric_page(name, kind)))
    for part in read_parts():
        files.append(File.generated(config, part.uri, content=f"# {part.title}\n\n{part.text}"))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Replace the parts of the API by links to their pages."""
    if page.file.src_uri != API:
        return markdown
    parts = "".join(f"- [{part.title}]({Path(part.uri).name})\n" for part in read_parts())
    metrics = "".join(
        f"- [{name}](../{metric_uri(kind)})\n" for name, kind in metrics_by_class().items()
    )
    return f"{markdown.split('## ', maxsplit=1)[0]}{parts}\nEach metric has a page of its own:\n\n{metrics}"


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt and llms-full.txt: what an assistant reads to write an evaluation."""
    pages = {uri: (DOCS / uri).read_text(encoding="utf-8") for uri in list_pages(config.nav)}
    for name, kind in metrics_by_class().items():
        pages[metric_uri(kind)] = build_metric_page(name, kind, for_site=False)
    lines = [f"# {config.site_name}\n\n> {config.site_description}\n\n## Pages\n"]
    lines += [
        f"- [{_title(text)}]({_address(uri)}): {_first_sentence(text)}" for uri, text in pages.items()
    ]
    lines.append("\n## All pages in one file\n\n- [llms-full.txt](llms-full.txt)\n")
    full = "\n\n".join(f"<!-- {uri} -->\n\n{text.strip()}" for uri, text in pages.items())
    site = Path(config.site_dir)
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")
    (site / "llms-full.txt").write_text(full + "\n", encoding="utf-8")


def list_pages(nav: Any) -> list[str]:
    """Return the pages of a navigation that stand in docs/, in its order."""
    if isinstance(nav, str):
        return [nav] if (DOCS / nav).is_file() and nav != API else []
    items = nav.values() if isinstance(nav, dict) else nav
    return [uri for item in items for uri in list_pages(item)]


def metrics_by_class() -> dict[str, type[Metric]]:
    """Return every metric by the name of its class."""
    return {name: getattr(ctxmetrics, name) for name in METRIC_MODULES}


def metric_uri(kind: type[Metric]) -> str:
    """Return the page of a metric."""
    return f"metric/{kind.base_name}.md"


def read_parts() -> list[Part]:
    """Return the parts of the API; each metric has a page of its own."""
    text = (DOCS / API).read_text(encoding="utf-8")
    _, *sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    pairs = zip(sections[::2], sections[1::2], strict=True)
    return [Part(title, section.strip() + "\n") for title, section in pairs]


def build_table() -> str:
    """Build the table of all metrics: what each measures, and the fields that it needs."""
    lines = ["| metric | what it measures, and what it needs |", "|---|---|"]
    for name, kind in metrics_by_class().items():
        lines.append(f"| `{name}` | {_summary(kind)} It needs {_needs(kind)}. |")
    return "\n".join(lines) + "\n"


def build_systems_table() -> str:
    """Build the table of what each system calls the fields that metrics look at, facts and references left out."""
    names = FIELDS[FIELDS.index("user_input") : FIELDS.index("stages")]
    fields = [name for name in names if name not in ("references", "reference_facts")]
    header = " | ".join(f"`{name}`" for name in fields)
    lines = [f"| schema | {header} |", "|---" * (len(fields) + 1) + "|"]
    for name, schema in SCHEMAS.items():
        row = f"| `{name}` |"
        for field in fields:
            cell = _describe_place(schema.places[field]) if field in schema.places else ""
            row += f" {cell} |" if cell else " |"
        lines.append(row)
    return "\n".join(lines) + "\n"


def _describe_place(place: Place) -> str:
    """Describe where a system has a field: "in `inputs`: `question`, `query`"."""
    side = f"in `{place.side}`: " if place.side else ""
    return side + ", ".join(f"`{key}`" for key in place.keys)


def build_metric_page(name: str, kind: type[Metric], *, for_site: bool = True) -> str:
    """Build the page of a metric; without the site, its docstring stands in place of mkdocstrings' text."""
    definition = f"::: ctxmetrics.{name}\n    options:\n      members: false\n      heading_level: 3\n"
    if not for_site:
        definition = inspect.getdoc(kind) or ""
    parts = [
        f"# {name}\n\n{_summary(kind)}",
        f"It needs {_needs(kind)}. On the command line it is `--metric {kind.base_name}`.",
        f"## Definition\n\n{definition}",
        build_example(kind),
        build_empty_sides(kind),
        build_names(name, kind),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def build_example(kind: type[Metric]) -> str:
    """Build the example with numbers: a golden case, else ids."""
    case = choose_case(kind)
    fields = RANKED if case is None else case.sample
    shown = f"```json\n{json.dumps(dict(fields), ensure_ascii=False, indent=2)}\n```"
    if case is None:
        value = kind().score(Sample.from_dict(RANKED)).value
        return f"## An example\n\n{shown}\n\nThe value is {value:.4g}."
    verdicts = ", ".join("yes" if verdict else "no" for verdict in case.expected["verdicts"])
    return (
        f"## An example\n\n{shown}\n\nThe verdicts are {verdicts}. The value is {case.expected['score']:.4g}.\n\n"
        f"Source of the value: {case.source}."
    )


def choose_case(kind: type[Metric]) -> Case | None:
    """Choose the golden case that shows most: with default parameters, a yes and a no, and a short sample."""
    cases = [
        case
        for case in load_cases()
        if case.metric == kind.base_name
        and not case.params
        and {True, False} == {*case.expected.get("verdicts", ())}
        and not {"malformed", "unicode", "sample-form"} & {*case.tags}
    ]
    return min(cases, key=_rank_example, default=None)


def build_empty_sides(kind: type[Metric]) -> str:
    """Build the table of what an empty side is worth under each convention, from the golden cases."""
    values: dict[str, dict[str, str]] = {}
    for case in load_cases():
        found = _EMPTY.search(case.id)
        if case.metric == kind.base_name and found is not None:
            value = f"{case.expected['score']}"
            if "reason_code" in case.expected:
                value = f"`None`, `{case.expected['reason_code']}`"
            elif case.judge:
                value = "the judge is asked"
            values.setdefault(found[1], {})[found[2].replace("no-response", "no-reference")] = value
    if not values:
        return ""
    other = "no response" if "response" in kind.requires else "no reference"
    lines = [f"| convention | nothing retrieved | {other} | both |", "|---|---|---|---|"]
    for convention, row in values.items():
        cells = [row.get(key, "-") for key in ("nothing-retrieved", "no-reference", "both-empty")]
        lines.append(f"| `{convention}` | {' | '.join(cells)} |")
    return "## Empty sides\n\n" + "\n".join(lines)


def build_names(name: str, kind: type[Metric]) -> str:
    """Build the table of the metric's names in the frameworks."""
    lines = ["| framework | import |", "|---|---|"]
    for framework, (package, pattern) in ADAPTERS.items():
        own = kind.base_name if pattern is None else pattern.format(name)
        lines.append(f"| {framework} | `from {package} import {own}` |")
    return "## In each framework\n\n" + "\n".join(lines)


def _rank_example(case: Case) -> tuple[bool, bool, int]:
    """Rank values between the ends of the scale first, then examples of published pages, then short ones."""
    at_an_end = case.expected["score"] in {0, 1}
    return at_an_end, "documented" not in case.tags, len(json.dumps(dict(case.sample)))


def _summary(kind: type[Metric]) -> str:
    return _to_markdown((inspect.getdoc(kind) or "").split("\n\n")[0])


def _needs(kind: type[Metric]) -> str:
    return " and ".join(f"`{field}`" for field in kind.requires)


def _to_markdown(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _address(uri: str) -> str:
    return "./" if uri == "index.md" else f"{uri.removesuffix('.md')}/"


def _title(text: str) -> str:
    return text.split("\n", maxsplit=1)[0].removeprefix("# ")


def _first_sentence(text: str) -> str:
    prose = re.sub(r"^```[^`]*^```$|^[#|!<][^\n]*$", "", text, flags=re.MULTILINE)
    paragraph = next(part for part in prose.split("\n\n") if part.strip())
    sentence = re.split(r"(?<=[.:?])\s", " ".join(paragraph.split()), maxsplit=1)[0]
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence)


def write_table(page: Path, begin: str, end: str, table: str) -> None:
    """Write a table into a page, between two marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    page.write_text(before + begin + table + rest[rest.index(end) :], encoding="utf-8")


if __name__ == "__main__":
    write_table(DOCS / "metrics.md", BEGIN, END, build_table())
    write_table(DOCS / "migrating.md", SYSTEMS_BEGIN, SYSTEMS_END, build_systems_table())
