"""The pages that are made of the code: a metric's page, the parts of the API, and the texts for assistants."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ctxmetrics
from ctxmetrics import IDMetric, Metric

pytest.importorskip("mkdocs", reason="mkdocs is not installed")

ROOT = Path(__file__).parents[2]


def load_reference() -> ModuleType:
    """Load docs/reference.py, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("docs_reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


REFERENCE = load_reference()
METRICS = REFERENCE.metrics_by_class()

# By hand: ids x, a, b were retrieved, and a, b, c expected.
_IDEAL = 1 + 1 / math.log2(3) + 1 / math.log2(4)
RANKED = {
    "IDBasedAveragePrecision": (1 / 2 + 2 / 3) / 3,
    "IDBasedNDCG": (1 / math.log2(3) + 1 / math.log2(4)) / _IDEAL,
    "IDBasedReciprocalRank": 1 / 2,
    "IDBasedHitRate": 1,
    "IDBasedCompleteness": 0,
    "IDBasedPrecisionAtK": 2 / 10,
    "IDBasedRecallAtK": 2 / 3,
}


def test_every_public_metric_has_a_page() -> None:
    public = {name: getattr(ctxmetrics, name) for name in ctxmetrics.__all__}
    kinds = {
        name for name, kind in public.items() if isinstance(kind, type) and issubclass(kind, Metric)
    }
    assert METRICS.keys() == kinds - {Metric.__name__, IDMetric.__name__}


def test_the_table_of_metrics_is_written() -> None:
    """Where this fails: `python docs/reference.py`."""
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert REFERENCE.BEGIN + REFERENCE.build_table() + REFERENCE.END in page


def test_the_table_of_systems_is_written() -> None:
    """Where this fails: `python docs/reference.py`."""
    page = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")
    table = REFERENCE.build_systems_table()
    assert REFERENCE.SYSTEMS_BEGIN + table + REFERENCE.SYSTEMS_END in page
    assert "| `deepeval` | `input` |" in table


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_a_page_has_definition_example_and_names(name: str) -> None:
    page = REFERENCE.build_metric_page(name, METRICS[name])
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    expected = ["Definition", "An example", "Empty sides", "In each framework"]
    if REFERENCE.choose_case(METRICS[name]) is None:  # its page shows ids instead of a golden case
        expected.remove("Empty sides")
    assert headings == expected
    assert f"::: ctxmetrics.{name}\n" in page


@pytest.mark.parametrize("name", RANKED)
def test_the_value_of_a_rank_metric_is_the_one_by_hand(name: str) -> None:
    assert f"The value is {RANKED[name]:.4g}." in REFERENCE.build_example(METRICS[name])


def test_an_example_is_between_the_ends_of_the_scale() -> None:
    page = REFERENCE.build_example(METRICS["ContextPrecision"])
    assert "The verdicts are no, yes. The value is 0.5." in page
    assert "hand: (1/2) / 1" in page


def test_empty_sides_are_those_of_the_conventions_page() -> None:
    page = REFERENCE.build_empty_sides(METRICS["ContextPrecision"])
    assert "| `default` | 0.0 | `None`, `no_reference` | `None`, `no_reference` |" in page
    assert "| `ragas` | 0.0 | the judge is asked | 0.0 |" in page


@pytest.mark.parametrize("framework", REFERENCE.ADAPTERS)
def test_names_in_a_framework_are_those_of_its_adapter(framework: str) -> None:
    package, pattern = REFERENCE.ADAPTERS[framework]
    source = (ROOT / "adapters" / package / "__init__.py").read_text(encoding="utf-8")
    if pattern is None:
        pattern = "{}"
        assert "adapting.ALL_METRICS.items()" in source
    else:
        assert f'MetricClasses(__name__, "{pattern}", ' in source
    for name, kind in METRICS.items():
        own = pattern.format(kind.base_name if package == "ctxmetrics_inspect" else name)
        assert f"`from {package} import {own}`" in REFERENCE.build_names(name, kind)


def test_the_parts_of_the_api_hold_every_other_name() -> None:
    index = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    names = set(re.findall(r"^::: ([\w.]+)$", index, re.MULTILINE))
    parts = "".join(part.text for part in REFERENCE.read_parts())
    in_parts = set(re.findall(r"^::: ([\w.]+)$", parts, re.MULTILINE))
    assert names == in_parts
    assert not names & {f"ctxmetrics.{name}" for name in METRICS}
    assert len(REFERENCE.read_parts()) > 5


@pytest.mark.slow
def test_the_texts_for_assistants_hold_every_page(tmp_path: Path) -> None:
    from mkdocs.config import load_config

    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path))
    REFERENCE.on_post_build(config)
    full = (tmp_path / "llms-full.txt").read_text(encoding="utf-8")
    index = (tmp_path / "llms.txt").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.read_text(encoding="utf-8").strip() in full
        assert f"]({'./' if page.stem == 'index' else f'{page.stem}/'})" in index
    for name in METRICS:
        assert f"\n# {name}\n" in full
        assert ":::" not in full


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ctxmetrics.__version__}\n" in citation
