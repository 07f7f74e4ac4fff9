"""The golden data as data: nothing here imports the library.

Form by the JSON Schemas; then what a schema cannot say. The formulas are written out a second time, in exact
fractions, so that an expected number that contradicts its own verdicts is found without running anything.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from support.cases import each_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HERE = Path(__file__).parent
METRICS = (
    "context_recall",
    "context_precision",
    "context_utilization",
    "non_llm_context_recall",
    "non_llm_context_precision",
    "id_based_context_recall",
    "id_based_context_precision",
    "span_based_context_recall",
    "span_based_context_precision",
)
CONVENTIONS = ("default", "ragas", "deepeval", "axion", "aegis", "ru")
PASS_MARKS = {"deepeval": 0.5, "axion": 0.5, "aegis": 80}
BANDS = {
    "axion": [
        (1.0, "All expected facts are in retrieved context"),
        (0.7, "Most expected facts supported, minor gaps"),
        (0.5, "Half the expected facts missing from context"),
        (0.0, "Significant information not retrieved"),
    ],
    "ru": [
        (0.9, "Контекст содержит всю необходимую информацию из эталона"),
        (0.7, "Большая часть информации из эталона присутствует в контексте"),
        (0.5, "Часть ключевой информации отсутствует в контексте"),
        (0.0, "Контекст не содержит значительную часть информации из эталона"),
    ],
}
"""The pages' tables, lower edges inclusive."""
READABLE = {
    "plain",
    "fence",
    "prose-around",
    "think",
    "json-slips",
    "extra-keys",
    "order",
    "words",
    "evidence",
    "quote-differs",
    "code-missing",
    "weak-evidence",
    "contradiction",
}
"""Kinds of replies that are understood at once: there is nothing to repair."""


def read(path: Path) -> dict:
    def refuse(name: str) -> None:
        raise AssertionError(f"{path.name} holds {name}, which is no JSON")

    def unique(pairs: list) -> dict:
        keys = Counter(key for key, _ in pairs)
        assert max(keys.values(), default=1) == 1, f"{path.name} repeats a key: {keys.most_common(1)}"
        return dict(pairs)

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse, object_pairs_hook=unique)


FILES = {path.stem: read(path) for path in sorted((HERE / "v1").glob("*.json"))}
CASES = [(metric, case) for metric, file in FILES.items() for case in file["cases"]]
BY_ID = {case["id"]: (metric, case) for metric, case in CASES}
DIFFERENCES = {path.stem: read(path) for path in sorted((HERE / "known_differences").glob("*.json"))}


def tags(case: dict) -> list[str]:
    return case.get("tags", [])


def convention(case: dict) -> str:
    return case.get("params", {}).get("convention", "default")


def kind(case: dict) -> str | None:
    return next((tag.removeprefix("kind:") for tag in tags(case) if tag.startswith("kind:")), None)


# --- form -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v1", "known_differences.v1"])
def test_the_schemas_are_schemas(name):
    Draft202012Validator.check_schema(read(HERE / "schema" / f"{name}.schema.json"))


@pytest.mark.parametrize("metric", FILES)
def test_the_files_follow_the_schema(metric):
    validator = Draft202012Validator(read(HERE / "schema" / "v1.schema.json"))
    errors = [
        f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(FILES[metric])
    ]
    assert errors == []
    assert FILES[metric]["metric"] == metric


def test_replies_follow_the_schema_unless_malformed_on_purpose():
    schema = read(HERE / "schema" / "v1.schema.json")
    validator = Draft202012Validator({"$ref": "#/$defs/reply", "$defs": schema["$defs"]})

    def rule(metric, case):
        steps = case.get("judge", {}).items()
        replies = [reply for step, own in steps if step != "decisions" for reply in own]
        if "malformed" in tags(case) or "error" in case["expected"]:
            return
        for reply in replies:
            yield from (error.message[:200] for error in validator.iter_errors(reply))

    assert broken(rule) == []


@pytest.mark.parametrize("framework", DIFFERENCES)
def test_the_known_differences_follow_the_schema(framework):
    validator = Draft202012Validator(read(HERE / "schema" / "known_differences.v1.schema.json"))
    errors = [
        f"{error.json_path}: {error.message[:200]}"
        for error in validator.iter_errors(DIFFERENCES[framework])
    ]
    assert errors == []
    assert DIFFERENCES[framework]["framework"] == framework


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.json")), ids=lambda path: path.name)
def test_files_are_utf8_with_final_newline_and_no_bom(path):
    raw = path.read_bytes()
    assert raw.decode("utf-8").endswith("}\n")
    assert not raw.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in raw


# --- what there must be ---------------------------------------------------------------------------------------


def test_there_is_a_file_for_every_metric():
    assert set(FILES) == set(METRICS)


def test_there_are_enough_cases():
    assert len(CASES) >= 150
    assert sum("malformed" in tags(case) for _, case in CASES) >= 35


def test_ids_are_unique():
    repeated = [id_ for id_, times in Counter(case["id"] for _, case in CASES).items() if times > 1]
    assert repeated == []


def test_no_two_cases_have_the_same_input():
    seen: dict[str, str] = {}
    for metric, case in CASES:
        given = [metric, case.get("params", {}), case["sample"], case.get("judge")]
        key = json.dumps(given, sort_keys=True)
        assert key not in seen, f"{case['id']} repeats {seen[key]}"
        seen[key] = case["id"]


def test_every_unusable_reply_has_a_case_that_is_repaired():
    broken = {kind(case) for _, case in CASES if "malformed" in tags(case)} - READABLE
    repaired = {kind(case) for _, case in CASES if "repaired" in tags(case)}
    assert broken - repaired == set()


@each_case("metric", METRICS)
@each_case("name", CONVENTIONS)
def test_every_row_of_the_table_of_empty_sides_is_there(metric, name):
    missing = "no-response" if metric == "context_utilization" else "no-reference"
    rows = {case["id"] for owner, case in CASES if owner == metric and f"-empty-{name}-" in case["id"]}
    assert {row.split(f"-empty-{name}-")[1] for row in rows} == {
        "nothing-retrieved",
        missing,
        "both-empty",
    }


# --- each case ------------------------------------------------------------------------------------------------
# A rule yields what is wrong with one case; `broken` applies it to all, so that every offender is named at once.


def broken(rule: Callable[[str, dict], Iterable[str]]) -> list[str]:
    return [f"{case['id']}: {problem}" for metric, case in CASES for problem in rule(metric, case)]


def test_lists_about_the_verdicts_have_their_length():
    def rule(metric, case):
        expected = case["expected"]
        for name in {"codes", "evidence", "units"} & expected.keys():
            if len(expected[name]) != len(expected.get("verdicts", [])):
                yield f"{name} has another length than verdicts"

    assert broken(rule) == []


def test_a_missing_verdict_means_no_score_and_has_a_code():
    def rule(metric, case):
        expected = case["expected"]
        if (None in expected.get("verdicts", [])) != (expected.get("reason_code") == "not_judged"):
            yield "a verdict is missing or reason_code is not_judged, but not both"
        for verdict, code in zip(expected.get("verdicts", []), expected.get("codes", []), strict=False):
            allowed = {
                True: {None, "no_echo", "weak_evidence", "contradicted", "near_bar"},
                False: {
                    None,
                    "no_echo",
                    "weak_evidence",
                    "unverified_evidence",
                    "contradicted",
                    "near_bar",
                },
                None: {
                    "missing_id",
                    "invalid_reply",
                    "refused",
                    "truncated",
                    "conflicting_verdicts",
                    "wrong_data",
                },
            }
            if code not in allowed[verdict]:
                yield f"a verdict of {verdict} with the code {code}"

    assert broken(rule) == []


def test_the_score_follows_from_the_verdicts():
    def rule(metric, case):
        expected = case["expected"]
        score, verdicts = expected.get("score"), expected.get("verdicts")
        if score is not None and verdicts:
            if metric.startswith("span_") and verdicts != span_verdicts(metric, case):
                yield f"the characters give the verdicts {span_verdicts(metric, case)}"
            value = value_of(metric, case, verdicts)
            if abs(Fraction(score) - value) > Fraction(1, 10**12):
                yield f"the verdicts give {float(value)!r}, the score is {score!r}"

    assert broken(rule) == []


def value_of(metric: str, case: dict, verdicts: list) -> Fraction:
    params, name = case.get("params", {}), convention(case)
    formula = params.get(
        "formula", "share" if metric.startswith(("id_", "span_")) else "average_precision"
    )
    by_share = metric.endswith("recall") or formula == "share"
    epsilon = Fraction(1, 10**10) if name == "ragas" else Fraction(0)
    top = 100 if name == "aegis" else 1
    by_characters = params.get("unit") != "span" if metric.endswith("recall") else formula != "ap"
    group = params.get("group", "source" if name == "deepeval" else "context")
    if group == "source" and not metric.startswith(("id_", "span_")) and not metric.endswith("recall"):
        verdicts = of_sources(case, verdicts)
    elif not metric.endswith("recall") and name not in ("ragas", "deepeval"):
        verdicts = of_distinct(metric, case, verdicts)
    if metric.startswith("span_") and by_characters:
        value = top * of_characters(metric, case)
    else:
        value = top * (share(verdicts) if by_share else average_precision(verdicts, epsilon))
    return Fraction(0) if params.get("strict") and value < top else value


def of_sources(case: dict, verdicts: list) -> list:
    """A verdict a source, where each context has an id."""
    sample = case["sample"]
    sources = [str(id_).split("#char=")[0] for id_ in sample.get("retrieved_context_ids", ())]
    if len(sources) != len(sample["retrieved_contexts"]):
        return verdicts
    known = list(zip(sources, verdicts, strict=False))
    return [any(yes for one, yes in known if one == source) for source in dict(known)]


def of_distinct(metric: str, case: dict, verdicts: list) -> list:
    """A verdict a distinct text, of spans a distinct id; with relevance adds the verdicts themselves."""
    if metric.startswith("id_") or case.get("params", {}).get("relevance") == "adds":
        return verdicts
    items = case["sample"].get(
        "retrieved_context_ids" if metric.startswith("span_") else "retrieved_contexts", []
    )
    if len(items) < len(verdicts):  # they stand in searches, which have each once
        return verdicts
    keys = [
        " ".join(unicodedata.normalize("NFC", str(item)).split()) or place
        for place, item in enumerate(items)
    ]
    known = list(zip(keys, verdicts, strict=False))
    return [any(yes for other, yes in known if other == key) for key in dict(known)]


def share(verdicts: list) -> Fraction:
    return Fraction(sum(verdicts), len(verdicts))


# Spans a second time: as sets of single characters.


def sets_of(case: dict, side: str) -> list[set]:
    sets = []
    for id_ in case["sample"][f"{side}_context_ids"]:
        if side == "reference" and not id_:  # it expects nothing
            continue
        source, _, numbers = (id_ or "#char=0,0").rpartition("#char=")
        start, end = map(int, numbers.split(","))
        sets.append({(source, position) for position in range(start, end)})
    kept = case.get("params", {}).get("top_k") if side == "retrieved" else None
    return sets[:kept]


def of_characters(metric: str, case: dict) -> Fraction:
    retrieved, reference = sets_of(case, "retrieved"), sets_of(case, "reference")
    wanted, lengths = set().union(*reference), sum(map(len, retrieved))
    common = len(wanted & set().union(*retrieved))
    if metric.endswith("recall"):
        return Fraction(common, len(wanted))
    missed = len(wanted) - common if case.get("params", {}).get("formula") == "iou" else 0
    return Fraction(common, lengths + missed)


def span_verdicts(metric: str, case: dict) -> list[bool]:
    retrieved, reference = sets_of(case, "retrieved"), sets_of(case, "reference")
    least = Fraction(str(case.get("params", {}).get("min_cover", 0.5)))

    def enough(common: set, of: set) -> bool:
        return bool(common) and Fraction(len(common), len(of)) >= least

    if metric.endswith("recall"):
        found = set().union(*retrieved)
        distinct = [one for index, one in enumerate(reference) if one not in reference[:index]]
        return [enough(one & found, one) for one in distinct]
    wanted = set().union(*reference)
    return [
        enough(one & wanted, one) or any(enough(one & other, other) for other in reference)
        for one in retrieved
    ]


def average_precision(verdicts: list, epsilon: Fraction) -> Fraction:
    ranks = [rank for rank, relevant in enumerate(verdicts, 1) if relevant]
    total = sum((Fraction(hits, rank) for hits, rank in enumerate(ranks, 1)), Fraction(0))
    return total / (len(ranks) + epsilon) if ranks else total


def test_passing_follows_from_the_score():
    def rule(metric, case):
        expected, params = case["expected"], case.get("params", {})
        mark = params.get("threshold", PASS_MARKS.get(convention(case)))
        if params.get("strict"):
            mark = 100 if convention(case) == "aegis" else 1
        score = expected.get("score")
        passed = None if score is None or mark is None else score >= mark
        if expected.get("passed", passed) is not passed:
            yield f"passed should be {passed}"

    assert broken(rule) == []


def test_a_recall_of_a_convention_with_bands_names_its_band():
    def rule(metric, case):
        expected = case["expected"]
        bands = BANDS.get(convention(case), []) if metric.endswith("recall") else []
        score = expected.get("score")
        band = None if score is None else next((text for edge, text in bands if score >= edge), None)
        if expected.get("band", band) != band:
            yield f"band should be {band!r}"

    assert broken(rule) == []


def test_spans_are_inside_their_contexts():
    def rule(metric, case):
        contexts = retrieved_in(case["sample"])
        expected = case["expected"]
        for verdict, spans in zip(
            expected.get("verdicts", []), expected.get("evidence", []), strict=False
        ):
            if spans and verdict is None:
                yield "evidence without a verdict"
            for context, start, end in spans:
                if context >= len(contexts) or not start < end <= len(contexts[context]):
                    yield f"no such span: {[context, start, end]}"
                elif contexts[context][start:end] != contexts[context][start:end].strip():
                    yield f"white space at the edge of {[context, start, end]}"

    assert broken(rule) == []


def test_quotes_stand_in_contexts_and_spans_are_the_first():
    def rule(metric, case):
        if metric.startswith("span_"):
            return  # its evidence is where spans meet, not a quote
        if {"quote-differs", "malformed"} & set(tags(case)):
            return  # quotes that are not there, or not to the letter, are what these cases are about
        last, found = retrieved_in(case["sample"]), []
        staged = case["sample"].keys() & {"stages", "searches"}
        cut = last[: case.get("params", {}).get("top_k")] if staged else last
        contexts = pool_of(case["sample"], cut)
        for id_, quote in quotes(case):
            text = contexts[int(id_.removeprefix("c")) - 1]
            start = text.find(quote)
            if text in cut:  # of stages, the last one counts
                index = cut.index(text) if contexts != last else int(id_.removeprefix("c")) - 1
                found.append([index, start, start + len(quote)])
            if start < 0:
                yield f"{quote!r} is not in {id_}"
        spans = [span for spans in case["expected"].get("evidence", []) for span in spans]
        if "evidence" in case["expected"] and sorted(found) != sorted(spans):
            yield f"the quotes stand at {sorted(found)}, expected are {sorted(spans)}"

    assert broken(rule) == []


def retrieved_in(sample: dict) -> list[str]:
    """Return the retrieved contexts; of searches the distinct ones."""
    searches = [search.get("contexts", []) for search in sample.get("searches", [])]
    together = [*dict.fromkeys(text for texts in searches for text in texts)]
    return sample.get("retrieved_contexts", together)


def pool_of(sample: dict, last: list[str]) -> list[str]:
    """Return the contexts that the judge is asked about: of stages the distinct ones of all, the last one cut by top_k."""
    if "searches" in sample:
        return retrieved_in(sample)
    stages = [stage.get("contexts", []) for stage in sample.get("stages", {}).values()]
    return (
        [*dict.fromkeys(text for texts in (*stages[:-1], last) for text in texts)] if stages else last
    )


def quotes(case: dict) -> list[tuple[str, str]]:
    joint = case.get("judge", {}).get("joint", [])
    last = joint[-1] if joint and isinstance(joint[-1], dict) else {}
    cells = last.get("sentences", {}).values()
    return [(item["context"], item["quote"]) for cell in cells for item in cell.get("evidence") or ()]


def test_replies_are_recorded_for_the_steps_the_metric_asks():
    def rule(metric, case):
        if not metric.startswith("context_"):
            if "judge" in case:
                yield "nothing is judged here"
        elif "error" not in case["expected"]:
            steps = set(case.get("judge", {"none": []}))
            if steps == {"decisions"}:
                return
            if not steps:
                if case["expected"].get("verdicts") != []:
                    yield "verdicts without replies"
                return
            unit = case.get("params", {}).get(
                "unit", "claim" if convention(case) == "axion" else "sentence"
            )
            main = "usefulness" if metric == "context_utilization" else "joint"
            claims = unit == "claim" and metric != "context_utilization"
            if main not in steps or ("claims" in steps) != claims:
                yield f"steps are {sorted(steps)}"

    assert broken(rule) == []


def test_what_looks_like_something_else_is_escaped():
    """An editor that normalises must not change a case: combining marks and invisible characters are escapes."""
    for metric in FILES:
        raw = (HERE / "v1" / f"{metric}.json").read_text(encoding="utf-8")
        assert re.findall("[\u0300-\u036f\u200b-\u200f\u2060\ufeff\u00a0\u3000\u00ad]", raw) == []


# --- known differences ----------------------------------------------------------------------------------------


def test_every_framework_has_its_list():
    assert set(DIFFERENCES) == {"ragas", "deepeval", "langchain"}


@pytest.mark.parametrize("framework", DIFFERENCES)
def test_a_known_difference_is_one(framework):
    seen = set()
    for difference in DIFFERENCES[framework]["differences"]:
        assert difference["case"] not in seen
        seen.add(difference["case"])
        _, case = BY_ID[difference["case"]]
        assert framework not in case.get("refused_by", [])
        score, native = case["expected"]["score"], difference["native"]
        if isinstance(native, str):
            assert score is not None
        else:
            assert score is None or abs(score - native) > 1e-12
