"""The floor: BM25 against a second implementation, tokens of all scripts, the closed form of chance, and what is refused."""

from __future__ import annotations

import csv
import json
import math
import random
import re
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    IDBasedHitRate,
    Sample,
    compare_retrievers,
)
from ctxmetrics.errors import InputFileError, MissingExtraError, ParameterError
from ctxmetrics.evaluation.retrievers.corpus import read_corpus
from ctxmetrics.evaluation.retrievers.floor import BM25, random_mean

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
ROWS = [json.loads(line) for line in HANDBOOK.open(encoding="utf-8")]
CHUNKS = {
    id_: text
    for row in ROWS
    if row["metadata"]["language"] == "en"
    for id_, text in zip(row["retrieved_context_ids"], row["retrieved_contexts"], strict=True)
}


@pytest.fixture(autouse=True)
def _needs_the_extra() -> None:
    pytest.importorskip("bm25s")
    pytest.importorskip("Stemmer")


def rank_by_hand(question: str, texts: dict[str, str]) -> dict[str, float]:
    """Lucene's BM25, written once more: idf * tf / (tf + k1 * (1 - b + b * length / mean length))."""
    import Stemmer

    stem = Stemmer.Stemmer("english").stemWord
    words = {
        id_: [stem(word) for word in re.findall(r"\w+", text.casefold())] for id_, text in texts.items()
    }
    mean = fmean(len(some) for some in words.values())
    holding = Counter(word for some in words.values() for word in set(some))
    scores: dict[str, float] = {}
    for id_, some in words.items():
        counts = Counter(some)
        score = 0.0
        for word in map(stem, re.findall(r"\w+", question.casefold())):
            idf = math.log(1 + (len(texts) - holding[word] + 0.5) / (holding[word] + 0.5))
            length = 1.5 * (1 - 0.75 + 0.75 * len(some) / mean)
            score += idf * counts[word] / (counts[word] + length) if counts[word] else 0.0
        if score:
            scores[id_] = score
    return scores


@pytest.mark.slow
def test_bm25_equals_a_second_implementation_on_the_handbook() -> None:
    index = BM25(read_corpus(CHUNKS), 10)
    asked = 0
    for row in ROWS:
        if row["metadata"]["language"] != "en":
            continue
        asked += 1
        by_hand = rank_by_hand(row["user_input"], CHUNKS)
        found = {item["id"]: item["score"] for item in index(row["user_input"])}
        best = sorted(by_hand.values(), reverse=True)[:10]
        assert len(found) == len(best)
        assert [*found.values()] == pytest.approx(best, abs=1e-6)
        assert found == pytest.approx({id_: by_hand[id_] for id_ in found}, abs=1e-6)
    assert asked > 20


def test_documents_without_a_common_word_are_not_retrieved() -> None:
    index = BM25(read_corpus({"a": "A red car.", "b": "A blue boat."}), 10)
    assert [item["id"] for item in index("red")] == ["a"]
    assert index("green") == []
    assert index("") == []
    assert [item["id"] for item in index("A")] == ["a", "b"]  # equal scores: as in the corpus


def test_k_may_exceed_the_corpus_and_cuts_it() -> None:
    texts = {str(number): f"car {number}" for number in range(5)}
    assert len(BM25(read_corpus(texts), 50)("car")) == 5
    assert len(BM25(read_corpus(texts), 2)("car")) == 2


@pytest.mark.parametrize(
    ("texts", "question", "first"),
    [
        (["東京タワーは高い。", "北京は首都です。"], "東京タワーの高さは？", 0),
        (["北京是中国的首都。", "上海是一个城市。"], "中国的首都是哪里？", 0),
        (["หอคอยสูงมาก", "แมวกินปลา"], "ปลากินอะไร", 1),
        (["에펠탑은 파리에 있다.", "고양이는 생선을 먹는다."], "에펠탑이 어디에 있나?", 0),
        (["Der Hund ist nicht alt und nicht da.", "Die Lampen sind hoch und nicht neu."], "Eine Lampe?", 1),
        (["Башни высокие.", "Собака спит."], "Какая высота башни?", 0),
    ],
)  # fmt: skip
def test_words_are_found_in_every_script(texts: list[str], question: str, first: int) -> None:
    found = BM25(read_corpus(texts), 2)(question)
    assert found[0]["text"] == texts[first]


def test_about_names_library_parameters_and_stemmer() -> None:
    import bm25s

    about = BM25(read_corpus(["The tower is in the city.", "It is not far."]), 3).about
    assert f"bm25s {bm25s.__version__}, lucene, k1 1.5, b 0.75" in about
    assert "stemmer english" in about
    assert "2 chunks" in about
    assert "no stemmer" in BM25(read_corpus(["北京是中国的首都。"]), 3).about


def test_title_is_searched_and_not_returned() -> None:
    rows = [
        {"_id": "1", "title": "Eiffel", "text": "It is tall."},
        {"_id": "2", "title": "", "text": "It is wide."},
    ]
    assert BM25(read_corpus(rows), 1)("Eiffel") == [
        {"id": "1", "text": "It is tall.", "score": pytest.approx(0.3, abs=0.4)}
    ]


# --- reading a corpus ---


def test_a_corpus_is_read_from_files_and_objects(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "One."}, {"id": "2", "text": "Two."}]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "c.json").write_text(json.dumps(rows))
    with (tmp_path / "c.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "text"])
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "beir").mkdir()
    (tmp_path / "beir" / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sources: list[Any] = [tmp_path / name for name in ("c.jsonl", "c.json", "c.csv", "beir")]
    sources += [
        str(sources[0]),
        rows,
        {"1": "One.", "2": "Two."},
        {"1": {"text": "One."}, "2": {"text": "Two."}},
    ]
    digests = set()
    for source in sources:
        corpus = read_corpus(source)
        assert [(chunk.id, chunk.text) for chunk in corpus.chunks] == [("1", "One."), ("2", "Two.")]
        digests.add(corpus.digest)
    assert len(digests) == 1
    assert [chunk.id for chunk in read_corpus(["One.", "Two.", "One."]).chunks] == [None, None]


@pytest.mark.parametrize(
    ("source", "says", "error"),
    [
        ([], "is empty", ParameterError),
        ([{"title": "x"}], "has no text", InputFileError),
        ([{"user_input": "q", "text": "x"}], "these are samples", ParameterError),
        (HANDBOOK, "line 1: these are samples", ParameterError),
        ("corpus.pdf", "a corpus is a file in", InputFileError),
    ],
)
def test_what_is_no_corpus_is_refused(source: Any, says: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=says):
        read_corpus(source)


# --- chance ---


@pytest.mark.slow
def test_chance_equals_the_mean_of_many_draws() -> None:
    corpus = read_corpus({str(number): f"text {number}" for number in range(12)})
    questions = [
        Sample(user_input="a", reference_context_ids=["1", "2", "3"]),
        Sample(user_input="b", reference_context_ids=["4", "not there"]),
    ]
    generator = random.Random(0)
    metrics = [
        IDBasedContextRecall(),
        IDBasedContextPrecision(formula="share"),
        IDBasedContextRecall(top_k=2),
    ]
    for metric in metrics:
        values = []
        for _ in range(4000):
            for question in questions:
                drawn = generator.sample([chunk.id for chunk in corpus.chunks], 4)
                score = metric.score(
                    Sample(
                        retrieved_context_ids=drawn,
                        reference_context_ids=question.reference_context_ids,
                    )
                )
                values.append(score.value or 0.0)
        mean = random_mean(metric, questions, corpus, 4)
        # The standard error of 8,000 draws is below .004.
        assert mean == pytest.approx(fmean(values), abs=0.02)
    # By hand: (4/12 * 3/3 + 4/12 * 1/2) / 2
    assert random_mean(metrics[0], questions, corpus, 4) == pytest.approx(0.25)


def test_chance_has_no_closed_form_for_other_metrics() -> None:
    corpus = read_corpus({"1": "One.", "2": "Two."})
    questions = [Sample(user_input="a", reference="One.", reference_context_ids=["1"])]
    for metric in (
        ContextRecall(),
        IDBasedContextPrecision(formula="average_precision"),
        IDBasedHitRate(),
    ):
        assert random_mean(metric, questions, corpus, 1) is None
    assert random_mean(IDBasedContextRecall(), questions, read_corpus(["One."]), 1) is None


# --- beside retrievers ---


def questions() -> list[Sample]:
    return [
        Sample(
            id=row["id"],
            user_input=row["user_input"],
            reference=row["reference"],
            reference_context_ids=row["reference_context_ids"],
        )
        for row in ROWS
        if row["metadata"]["language"] == "en"
    ]


@pytest.mark.slow
def test_bm25_and_chance_stand_beside_the_settings(tmp_path: Path) -> None:
    def poor(_: str) -> list[dict[str, str]]:
        return [{"id": id_, "text": text} for id_, text in [*CHUNKS.items()][:5]]

    metrics = [ContextRecall(), IDBasedContextRecall()]
    found = compare_retrievers(
        questions(), {"poor": poor}, metrics, corpus=CHUNKS, k=5, folder=tmp_path
    )
    assert [*found.settings] == ["poor", "bm25"]
    assert found.retrieved == ["poor"]
    floor = found.floor
    assert floor is not None
    assert floor.comparisons is not None
    item = floor.comparisons.runs["poor"]["context_recall"]
    means = [found[name].results.summary()["context_recall"].mean or 0 for name in ("poor", "bm25")]
    assert item.difference == pytest.approx(means[0] - means[1])
    assert item.difference < 0
    held = fmean(
        len({*(question.reference_context_ids or ())} & CHUNKS.keys())
        / len({*(question.reference_context_ids or ())})
        for question in questions()
        if question.reference_context_ids
    )
    assert floor.random["id_based_context_recall"] == pytest.approx(5 / len(CHUNKS) * held)
    text = str(found)
    assert "poor against bm25: context_recall -" in text
    assert "random: id_based_context_recall 0." in text
    data = json.loads(json.dumps(found.to_dict()))
    assert data["floor"]["differences"]["poor"][0]["difference"] == item.difference
    assert (tmp_path / "bm25.retrieved.jsonl").exists()


def test_a_note_says_that_the_corpus_is_another_one() -> None:
    found = compare_retrievers(
        questions()[:4], {"mine": lambda _: ["from elsewhere"]}, [ContextRecall()], corpus=CHUNKS
    )
    assert "mine: 4 of 4 contexts are not in the corpus" in str(found)


def test_a_setting_of_the_name_bm25_keeps_its_name() -> None:
    found = compare_retrievers(
        questions()[:2], {"bm25": lambda _: ["x"]}, [ContextRecall()], corpus=CHUNKS
    )
    assert [*found.settings] == ["bm25", "bm25 of ctxmetrics"]


def test_without_the_extra_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=r"bm25"):
        BM25(read_corpus(["One."]), 1)
