"""A retriever with a reranker and a budget of tokens over this project's own docs: where the sentences are lost.

BM25 is that of rank-bm25, the reranker counts the words of the question, and the prompt takes what fits into it.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import pytest

from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate
from ctxmetrics.judges.base import Judgement
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import Evidence, Verdict

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
QUESTIONS, FOUND, KEPT, TOKENS = 40, 30, 8, 250


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def passages() -> list[str]:
    """The paragraphs of the docs that hold at least two sentences."""
    paragraphs = (
        " ".join(part.split())
        for path in sorted(DOCS.glob("*.md"))
        for part in path.read_text("utf-8").split("\n\n")
    )
    plain = [
        text for text in paragraphs if text[:1].isalpha() and len(split_sentences(text, "en")) >= 2
    ]
    return list(dict.fromkeys(plain))


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    rank_bm25 = pytest.importorskip("rank_bm25")
    texts, chance = passages(), random.Random(7)
    assert len(texts) > 100
    index = rank_bm25.BM25Okapi([words(text) for text in texts])
    made = []
    for number in range(QUESTIONS):
        sentences = [chance.choice(split_sentences(text, "en")) for text in chance.sample(texts, 3)]
        asked = [
            word
            for sentence in sentences
            for word in chance.sample(words(sentence), min(3, len(words(sentence))))
        ]
        scores = index.get_scores(asked)
        found = sorted(range(len(texts)), key=lambda place: -scores[place])[:FOUND]
        ranked = sorted(found, key=lambda place: -len(set(words(texts[place])) & set(asked[:5])))[:KEPT]
        prompt, tokens = [], 0
        for place in ranked:
            tokens += len(texts[place]) // 4
            if tokens <= TOKENS:
                prompt.append(place)
        stages = {
            name: [{"id": f"p{place}", "text": texts[place]} for place in places]
            for name, places in (("search", found), ("rerank", ranked), ("prompt", prompt))
        }
        made.append(
            Sample(
                id=f"q{number}",
                user_input=" ".join(asked),
                reference="\n".join(sentences),
                stages=stages,
            )
        )
    return made


@dataclass
class WordForWord:
    """A judge by what each context holds word for word."""

    asked: list[int] = field(default_factory=list)
    name: str = "word for word"
    warnings: tuple[str, ...] = ()

    async def attribute(self, request):
        self.asked.append(len(request.contexts))
        verdicts = []
        for id_, unit in zip(request.unit_ids, request.units, strict=True):
            spans = tuple(
                Evidence(place, start, start + len(unit), unit)
                for place, text in enumerate(request.contexts)
                if (start := text.find(unit)) >= 0
            )
            verdicts.append(Verdict(id=id_, value=bool(spans), evidence=spans))
        return Judgement(verdicts=tuple(verdicts))

    async def rate(self, request):
        raise NotImplementedError  # recall asks about units alone


@pytest.mark.parametrize("kind", [LexicalJudge, WordForWord])
def test_lost_sentences_equal_judging_each_stage_alone(samples, kind):
    judge, recall = kind(), ContextRecall()
    results = evaluate(samples, [recall], judge=judge)
    found = results.stages()
    if kind is WordForWord:
        pools = [
            len({text for stage in sample.stages.values() for text in stage.contexts})
            for sample in samples
        ]
        assert sorted(judge.asked) == sorted(pools)  # one request a sample, about the distinct contexts

    names = ["search", "rerank", "prompt"]
    alone = {
        name: evaluate(
            [
                Sample(
                    id=sample.id,
                    user_input=sample.user_input,
                    reference=sample.reference,
                    retrieved_contexts=sample.stages[name].contexts,
                )
                for sample in samples
            ],
            [recall],
            judge=kind(),
        )
        for name in names
    }
    expected: dict[tuple[str, str], tuple[str | None, str | None]] = {}
    for place, sample in enumerate(samples):
        by_stage = [
            [verdict.value for verdict in alone[name][place]["context_recall"].verdicts]
            for name in names
        ]
        # A prompt without a passage has no verdicts: it holds no sentence.
        for unit, held in enumerate(zip_longest(*by_stage, fillvalue=False), 1):
            if not held[-1]:
                last = max((stage for stage in range(3) if held[stage]), default=None)
                where = (None, None) if last is None else (names[last], names[last + 1])
                expected[sample.id, f"s{unit}"] = where
    assert {(lost.sample, lost.unit): (lost.stage, lost.dropped_by) for lost in found.lost} == expected
    assert {stage.name: stage.recall for stage in found.stages} == {
        name: pytest.approx(alone[name].summary()["context_recall"].mean) for name in names
    }
    assert [score["context_recall"].value for score in results] == [
        score["context_recall"].value for score in alone["prompt"]
    ]
    causes = Counter(lost.cause for lost in found.lost)
    assert causes["dropped by rerank"] >= 5
    assert causes["dropped by prompt"] >= 5
