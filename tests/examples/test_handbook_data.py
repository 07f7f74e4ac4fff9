"""The handbook data set, checked as data: what its README promises is true of every line."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import sentencex
from rapidfuzz.distance import Levenshtein

from support.cases import each_case

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LINES = (EXAMPLES / "handbook.jsonl").read_text(encoding="utf-8").splitlines()
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")
SAMPLES: list[dict[str, Any]] = [json.loads(line) for line in LINES]
BY_ID = {sample["id"]: sample for sample in SAMPLES}

FIELDS = {
    "id",
    "user_input",
    "response",
    "reference",
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "labels",
    "metadata",
}
TEXT_FIELDS = ("id", "user_input", "response", "reference")
LIST_FIELDS = (
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
)

each_sample = each_case("sample", SAMPLES)


def units(sample: dict[str, Any]) -> list[str]:
    pieces = sentencex.segment(sample["metadata"]["language"], sample["reference"])
    return [piece.strip() for piece in pieces if re.search(r"\w", piece)]


def split_naively(text: str) -> list[str]:
    pieces = re.split(r"(?<=[.!?])\s+|(?<=[。！？])", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def length(text: str, language: str) -> int:
    """Words; for Chinese, letters and digits."""
    return len(re.findall(r"\w" if language == "zh" else r"\w+(?:[.,:’'-]\w+)*", text))


# ---------------------------------------------------------------- each sample


@each_sample
def test_has_exactly_the_documented_fields_and_types(sample):
    assert set(sample) == FIELDS
    for field in TEXT_FIELDS:
        assert isinstance(sample[field], str), field
        assert sample[field] == sample[field].strip() != "", field
    for field in LIST_FIELDS:
        assert isinstance(sample[field], list), field
        assert all(isinstance(item, str) and item == item.strip() != "" for item in sample[field]), (
            field
        )
    assert set(sample["labels"]) == {"unit_supported", "context_useful", "evidence"}
    assert set(sample["metadata"]) == {"topic", "language"}
    assert all(isinstance(value, str) and value for value in sample["metadata"].values())


@each_sample
def test_ids_and_contexts_pair_up(sample):
    assert len(sample["retrieved_contexts"]) == len(sample["retrieved_context_ids"])
    assert len(sample["reference_contexts"]) == len(sample["reference_context_ids"]) >= 1
    assert len(set(sample["reference_context_ids"])) == len(sample["reference_context_ids"])


@each_sample
def test_has_one_label_a_sentence_and_one_a_context(sample):
    labels = sample["labels"]
    assert len(labels["unit_supported"]) == len(labels["evidence"]) == len(units(sample))
    assert len(labels["context_useful"]) == len(sample["retrieved_contexts"])
    assert all(type(flag) is int and flag in {0, 1} for flag in labels["unit_supported"])
    assert all(type(flag) is int and flag in {0, 1} for flag in labels["context_useful"])


@each_sample
def test_reference_splits_the_same_way_with_two_splitters(sample):
    assert units(sample) == split_naively(sample["reference"])
    assert 1 <= len(units(sample)) <= 5


@each_sample
def test_a_sentence_is_supported_if_and_only_if_it_has_evidence(sample):
    labels = sample["labels"]
    assert labels["unit_supported"] == [int(bool(quotes)) for quotes in labels["evidence"]]


@each_sample
def test_quotes_are_verbatim_and_come_from_useful_contexts(sample):
    for quotes in sample["labels"]["evidence"]:
        for evidence in quotes:
            assert set(evidence) == {"context", "quote"}
            assert type(evidence["context"]) is int
            assert 0 <= evidence["context"] < len(sample["retrieved_contexts"])
            assert evidence["quote"].strip()
            assert evidence["quote"] in sample["retrieved_contexts"][evidence["context"]]
            assert sample["labels"]["context_useful"][evidence["context"]] == 1


@each_sample
def test_equal_chunks_carry_equal_usefulness(sample):
    seen: dict[str, int] = {}
    for text, useful in zip(
        sample["retrieved_contexts"], sample["labels"]["context_useful"], strict=True
    ):
        assert seen.setdefault(text, useful) == useful


@each_sample
def test_chunks_have_a_realistic_number_and_size(sample):
    assert len(sample["retrieved_contexts"]) in {0, 3, 4, 5, 6}
    low, high = (80, 240) if sample["metadata"]["language"] == "zh" else (40, 120)
    for text in (*sample["retrieved_contexts"], *sample["reference_contexts"]):
        assert low <= length(text, sample["metadata"]["language"]) <= high, text


@each_sample
def test_language_is_the_one_it_says(sample):
    script = {"en": r"[A-Za-z]", "ru": r"[а-яё]", "zh": r"[\u4e00-\u9fff]"}[
        sample["metadata"]["language"]
    ]
    others = {"en": r"[а-яё\u4e00-\u9fff]", "ru": r"[\u4e00-\u9fff]", "zh": r"[а-яё]"}
    for text in (
        sample["user_input"],
        sample["reference"],
        sample["response"],
        *sample["retrieved_contexts"],
    ):
        assert len(re.findall(script, text)) > len(text) / 4, text
        assert not re.search(others[sample["metadata"]["language"]], text), text


# ---------------------------------------------------------------- the file


def test_every_line_is_one_object_with_a_final_newline():
    assert len(SAMPLES) >= 28
    assert (EXAMPLES / "handbook.jsonl").read_bytes().endswith(b"}\n")
    assert "\\u" not in "".join(LINES), "text is UTF-8, not escapes"


def test_ids_are_unique_and_in_order():
    assert [sample["id"] for sample in SAMPLES] == [f"hb-{n:02d}" for n in range(1, len(SAMPLES) + 1)]


def test_one_id_means_one_text_among_the_retrieved():
    texts: dict[str, str] = {}
    for sample in SAMPLES:
        for key, text in zip(
            sample["retrieved_context_ids"], sample["retrieved_contexts"], strict=True
        ):
            assert texts.setdefault(key, text) == text, key
    assert len(set(texts.values())) == len(texts), "two ids for one text"


def test_english_russian_and_chinese_are_there():
    languages = Counter(sample["metadata"]["language"] for sample in SAMPLES)
    assert set(languages) == {"en", "ru", "zh"}
    for language, count in languages.items():
        assert re.search(rf"`{language}` \({count}(?: samples)?\)", README), language


def test_readme_figures_are_the_figures_of_the_file():
    supported = [flag for sample in SAMPLES for flag in sample["labels"]["unit_supported"]]
    useful = [flag for sample in SAMPLES for flag in sample["labels"]["context_useful"]]
    assert f"{len(SAMPLES)} questions" in README
    assert f"Of the {len(supported)} sentences {sum(supported)} are supported" in README
    assert f"of the {len(useful)} retrieved chunks {sum(useful)} are useful" in README


def test_readme_names_every_field_and_only_samples_that_exist():
    assert all(f"`{field}`" in README for field in FIELDS)
    assert set(re.findall(r"`(hb-\d+)`", README)) == set(BY_ID)


# ---------------------------------------------------------------- what each case promises


def listed(what: str) -> list[dict[str, Any]]:
    """The samples in the README's row that starts with `what`."""
    (row,) = re.findall(rf"^\| {re.escape(what)} \|(.*)\|$", README, flags=re.MULTILINE)
    return [BY_ID[key] for key in re.findall(r"hb-\d+", row)]


def supported_share(sample: dict[str, Any]) -> float:
    flags = sample["labels"]["unit_supported"]
    return sum(flags) / len(flags)


def test_exactly_the_listed_sample_retrieved_nothing():
    assert [s for s in SAMPLES if not s["retrieved_contexts"]] == listed("nothing retrieved")
    assert len(listed("nothing retrieved")) == 1


def test_exactly_the_listed_samples_are_missed_in_part():
    partial = [s for s in SAMPLES if 0 < supported_share(s) < 1]
    listed_partial = [
        *listed("some sentences missed, because nothing retrieved says so"),
        *listed("one sentence missed, because the only source is outdated"),
    ]
    assert partial == sorted(listed_partial, key=lambda sample: sample["id"])


def test_exactly_the_listed_samples_are_missed_altogether():
    missed = [s for s in SAMPLES if s["retrieved_contexts"] and supported_share(s) == 0]
    assert missed == listed("everything missed, with tempting chunks")
    assert all(not any(s["labels"]["context_useful"]) for s in missed)


def test_first_useful_ranks_are_as_listed():
    for sample in listed("everything found, at rank 1"):
        assert supported_share(sample) == 1
        assert sample["labels"]["context_useful"][0] == 1
        assert sum(sample["labels"]["context_useful"]) == 1
    for sample in listed("found, but at rank 3 or later"):
        assert supported_share(sample) == 1
        assert sample["labels"]["context_useful"].index(1) >= 2


def test_exactly_the_listed_sample_has_only_useful_chunks():
    full = [s for s in SAMPLES if s["retrieved_contexts"] and all(s["labels"]["context_useful"])]
    assert full == listed("every retrieved chunk is useful")


def test_no_single_chunk_supports_the_answers_that_need_two():
    for sample in listed("the answer needs two chunks"):
        evidence = [quotes for quotes in sample["labels"]["evidence"] if quotes]
        in_every_sentence = set.intersection(*({e["context"] for e in quotes} for quotes in evidence))
        joint = any(len({e["context"] for e in quotes}) > 1 for quotes in evidence)
        assert joint or not in_every_sentence, sample["id"]


def test_exactly_the_listed_sample_retrieved_a_chunk_twice():
    twice = [
        s for s in SAMPLES if len(set(s["retrieved_context_ids"])) < len(s["retrieved_context_ids"])
    ]
    assert twice == listed("the same chunk retrieved twice")


def test_near_duplicates_are_near_but_not_equal():
    for sample in listed("near-duplicate chunks"):
        first, second = sample["retrieved_contexts"][:2]
        assert 0.8 < Levenshtein.normalized_similarity(first, second) < 1


def test_reworded_reference_chunks_keep_id_and_similar_text():
    for sample in listed("the reference chunk in other words, under the same id"):
        key = sample["reference_context_ids"][0]
        retrieved = sample["retrieved_contexts"][sample["retrieved_context_ids"].index(key)]
        assert 0.4 < Levenshtein.normalized_similarity(sample["reference_contexts"][0], retrieved) < 0.9


def test_right_content_under_another_id_shares_no_id():
    for sample in listed("the right content under another id"):
        assert supported_share(sample) == 1
        assert not set(sample["retrieved_context_ids"]) & set(sample["reference_context_ids"])


def test_only_listed_samples_want_a_number_like_id():
    numeric = [s for s in SAMPLES if any(key.isdecimal() for key in s["reference_context_ids"])]
    assert numeric == listed("ids that look like numbers")


def test_long_chunk_is_long_and_its_answer_short():
    for sample in listed("a short answer in a long chunk"):
        ((evidence,),) = sample["labels"]["evidence"]
        assert length(sample["retrieved_contexts"][evidence["context"]], "en") > 100
        assert length(sample["reference"], "en") < 10


def test_answers_from_tables_quote_a_row():
    for sample in listed("the answer is a row of a table"):
        quotes = [e["quote"] for found in sample["labels"]["evidence"] for e in found]
        assert any(quote.startswith("|") and quote.endswith("|") for quote in quotes)


def test_language_rows_are_complete():
    assert [s for s in SAMPLES if s["metadata"]["language"] == "ru"] == listed("Russian")
    assert [s for s in SAMPLES if s["metadata"]["language"] == "zh"] == listed("Chinese")
