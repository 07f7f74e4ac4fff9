"""Data files of the core hold words and texts: no pattern, and no list of words that is one text."""

import ast
import importlib
import json
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ctxmetrics
from ctxmetrics._internal.data_files import read_data
from support.cases import each_case
from support.trees import parse

CORE = Path(ctxmetrics.__file__).parent
FILES = {
    path.relative_to(CORE).as_posix(): path
    for path in sorted(CORE.rglob("*"))
    if path.suffix in {".json", ".toml"}
}
MODULES = [
    module.name
    for module in pkgutil.walk_packages(ctxmetrics.__path__, "ctxmetrics.")
    if not module.name.endswith("__main__")
]
# What only a regular expression has.
PATTERN = re.compile(
    r"""
      \(\?                          # a group, a condition, flags
    | \\[bBdDsSwWAZ]
    | \[\^ | \[\w-\w                # a class
    | \.[*+?{] | [\])][*+?{]        # a repetition of any character, of a class, of a group
    | \{\d+,?\d*\}
    | \S\s*\|\s*\S                  # alternatives
    """,
    re.VERBOSE,
)
# The most words of an item that is one phrase.
LONGEST_PHRASE = 6
# Where texts of several words stand that are no lists, by file and key: all below that key.
PROSE = {
    ("evaluation/pages/headers.json", "Content-Security-Policy"): "a header of HTTP",
    ("evaluation/cli/words.toml", "advice"): "messages",
    ("evaluation/cli/words.toml", "examples"): "commands",
    ("evaluation/cli/words.toml", "other_options"): "options with their values",
    ("evaluation/pages/phrases.json", "ru"): "words of a page",
    ("evaluation/runs/controls.json", "places"): "texts that are judged",
    ("evaluation/runs/controls.json", "samples"): "texts that are judged",
    ("evaluation/runs/controls.json", "trial"): "texts that are judged",
    ("evaluation/runs/model_check.json", "fixes"): "messages",
    ("evaluation/runs/model_check.json", "forms"): "messages",
    ("evaluation/runs/model_check.json", "looks"): "messages",
    ("judges/llm/words.toml", "notes"): "what a model is told",
    ("judges/llm/words.toml", "reasons"): "messages",
    ("models/openai/providers.toml", "language"): "what to do first",
    ("prompts/en.toml", "decisions"): "a prompt",
    ("prompts/en.toml", "keys"): "a prompt",
    ("prompts/en.toml", "parts"): "a prompt",
    ("prompts/en.toml", "texts"): "a prompt",
    ("prompts/ru.toml", "decisions"): "a prompt",
    ("prompts/ru.toml", "keys"): "a prompt",
    ("prompts/ru.toml", "parts"): "a prompt",
    ("prompts/ru.toml", "texts"): "a prompt",
    ("samples/keys.json", "no_data"): "messages",
    ("scores/conventions.json", "bands"): "words of a published page",
    ("scores/conventions.json", "ours"): "how a count differs",
    ("scores/conventions.json", "source"): "where a count is described",
    ("scores/phrases.json", "ru"): "messages",
    ("scores/verdicts.json", "doubts"): "messages",
    ("scores/verdicts.json", "noes"): "messages",
    ("text/quantities/forms.json", "base"): "one unit of two words",
}


def texts_in(
    data: Any, path: tuple[str, ...] = (), *, listed: bool = False
) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Yield each text with the keys above it, and whether it is an item of a list."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from texts_in(value, (*path, key))
    elif isinstance(data, list):
        for value in data:
            yield from texts_in(value, path, listed=True)
    elif isinstance(data, str):
        yield path, data, listed


def read(name: str) -> Any:
    text = FILES[name].read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


def prose_key(name: str, path: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the entry of `PROSE` for a text; None without one."""
    return next(((name, key) for key in path if (name, key) in PROSE), None)


def patterns_in(name: str, data: Any) -> list[str]:
    return [
        text for path, text, _ in texts_in(data) if PATTERN.search(text) and not is_told(name, path)
    ]


def lists_in(name: str, data: Any) -> list[str]:
    return [
        text
        for path, text, listed in texts_in(data)
        if is_joined(text, listed) and not is_told(name, path)
    ]


def is_told(name: str, path: tuple[str, ...]) -> bool:
    return path == ("note",) or prose_key(name, path) is not None


def is_joined(text: str, listed: bool) -> bool:
    """Whether a text may be several words of a list: it has a blank and is no item, or is longer than a phrase."""
    return len(text.split()) > (LONGEST_PHRASE if listed else 1)


@each_case("name", FILES)
def test_a_data_file_holds_no_pattern(name):
    assert patterns_in(name, read(name)) == []


@each_case("name", FILES)
def test_a_data_file_holds_no_words_in_one_text(name):
    assert lists_in(name, read(name)) == []


def test_each_key_of_prose_is_needed():
    needed = {
        prose_key(name, path)
        for name in FILES
        for path, text, listed in texts_in(read(name))
        if is_joined(text, listed) or PATTERN.search(text)
    }
    assert set(PROSE) - needed == set()


@pytest.mark.parametrize(
    "text",
    [
        r"rag\b",
        "a|b",
        "look.?up",
        r"(?:a)",
        "[^a]",
        "[a-z]",
        "a{2,3}",
        "(ab)+",
        "https?://.*",
        "one | two",
    ],
)
def test_patterns_are_seen(text):
    assert patterns_in("samples/keys.json", {"messages": {"searches": [text]}}) == [text]


@pytest.mark.parametrize(
    "text", ["$", "US$", "p.", "hits[].text", "span[0]", "|", "#DIV/0!", "o'clock", "<NA>", "N/A"]
)
def test_words_and_paths_are_no_patterns(text):
    assert patterns_in("samples/keys.json", {"passages": [text]}) == []


def test_a_blank_in_a_pattern_is_seen():
    """A list of patterns that is one text would be cut at this blank."""
    pattern = r"look up\b"
    assert patterns_in("samples/keys.json", {"messages": {"searches": [pattern]}}) == [pattern]


def test_no_module_cuts_a_text_into_words_or_patterns():
    """A blank in a pattern would cut the pattern, too: a module writes its words and patterns one by one."""
    cut_texts = [
        f"{path}:{node.lineno}"
        for path in CORE.rglob("*.py")
        for node in ast.walk(parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        if node.attr == "split" and isinstance(node.value, ast.Constant)
    ]
    assert cut_texts == []


def test_words_in_one_text_are_seen():
    data = {
        "note": "Where keys stand.",
        "usual": {"reference": "gold target", "id": "q"},
        "long": ["one two three four five six seven"],
    }
    assert lists_in("samples/keys.json", data) == ["gold target", "one two three four five six seven"]


def test_no_module_changes_the_shared_data() -> None:
    for name in MODULES:
        importlib.import_module(name)
    changed = []
    for name in FILES:
        package, _, file_name = name.rpartition("/")
        arguments = (package.replace("/", "."), file_name)
        if read_data(*arguments) != read_data.__wrapped__(*arguments):
            changed.append(name)
    assert changed == []
