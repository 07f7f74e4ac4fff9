"""Cutting a large request into parts, and putting the verdicts together again."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from ctxmetrics import ContextRecall, LLMJudge, Sample
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.llm.splitting import _MIN_CUT_CHARACTERS, halves, merge, split_request
from ctxmetrics.models.base import Reply
from ctxmetrics.verdicts import Evidence, Verdict


class Counter:
    """A model that answers no to everything and keeps what it was shown."""

    identity = "counter"

    def __init__(self):
        self.shown = []

    async def generate(self, prompt, schema):
        data = json.loads(prompt.user.split("\n")[1])
        self.shown.append((len(data.get("sentences", ())), len(data["contexts"])))
        answer = {"code": prompt.data_code}
        answer["sentences"] = {item["id"]: {"supported": False} for item in data.get("sentences", ())}
        answer["useful"] = {item["id"]: {"useful": False} for item in data["contexts"]}
        return Reply(content={key: answer[key] for key in schema.model_fields})


def shown(*, units=1, contexts=1, characters=20, **options):
    """Return how many sentences and contexts each request shows for a sample of this size."""
    model = Counter()
    sample = Sample(
        reference=" ".join(f"Sentence {number} is here." for number in range(units)),
        retrieved_contexts=[f"{number:05} {'x' * (characters - 6)}" for number in range(contexts)],
    )
    assert ContextRecall(judge=LLMJudge(model, **options)).score(sample).value == 0.0
    return sorted(model.shown)


def test_64_units_and_contexts_are_one_request_and_65_are_two():
    assert shown(units=64, contexts=64) == [(64, 64)]
    assert shown(contexts=65) == [(1, 1), (1, 64)]
    assert shown(units=65) == [(1, 1), (64, 1)]


def test_60_000_characters_are_one_request_and_more_are_two():
    assert shown(contexts=10, characters=5_990) == [(1, 10)]
    assert shown(contexts=10, characters=6_000) == [(1, 1), (1, 9)]


def test_pieces_hold_every_400_characters_of_a_context_whole():
    text = " ".join(f"word{number}" for number in range(1000))
    request = JudgeRequest(units=("A unit.",), contexts=(text,), answer="A unit.")
    parts = list(split_request(request, "joint", per_context=False, limit=2000, most_ids=64))
    pieces = [part.contexts["c1"] for part in parts]
    assert len(pieces) > 4
    assert all(
        any(text[start : start + 400] in piece for piece in pieces) for start in range(len(text) - 399)
    )
    for part in parts:
        index, first = part.places["c1"]
        assert (index, text[first : first + len(part.contexts["c1"])]) == (0, part.contexts["c1"])


@pytest.mark.parametrize("space", [" ", "\n"])
def test_a_long_context_is_cut_at_white_space(space):
    text = space.join(f"word{number}" for number in range(1000))
    request = JudgeRequest(units=("A unit.",), contexts=(text,), answer="A unit.")
    *parts, _ = split_request(request, "joint", per_context=False, limit=2000, most_ids=64)
    ends = [part.places["c1"][1] + len(part.contexts["c1"]) for part in parts]
    assert [text[end] for end in ends] == [space] * len(ends)


def test_units_take_half_of_a_request_at_most():
    # 10 units of 19 characters and 15 of 20 are 490 characters.
    assert shown(units=30, max_characters=1000) == [(5, 1), (25, 1)]


@pytest.mark.parametrize(
    ("values", "merged"),
    [
        ((True, False, None), True),
        ((True, False), True),
        ((True, None), True),
        ((False, None), None),  # what one part did not judge may be the yes
        ((False, False), False),
    ],
)
def test_one_yes_is_yes_and_no_needs_every_part(values, merged):
    request = JudgeRequest(units=("A unit.",), contexts=("one", "two", "three"), answer="A unit.")
    parts = list(split_request(request, "joint", per_context=True, limit=60_000, most_ids=64))
    for order in permutations(values):
        answers = [
            (part, {"s1": Verdict(id="s1", value=value)})
            for part, value in zip(parts, order, strict=False)
        ]
        (verdict,) = merge(request.unit_ids, request.units, answers)
        assert (verdict.id, verdict.text, verdict.value) == ("s1", "A unit.", merged)


def test_evidence_of_all_parts_names_contexts_of_the_request():
    request = JudgeRequest(units=("A unit.",), contexts=("one", "two", "three"), answer="A unit.")
    parts = list(split_request(request, "joint", per_context=True, limit=60_000, most_ids=64))
    answers = [
        (part, {"s1": Verdict(id="s1", value=True, evidence=(Evidence(0, 1, 3, text[1:3]),))})
        for part, text in zip(reversed(parts), ("three", "two", "one"), strict=True)
    ]
    (verdict,) = merge(request.unit_ids, request.units, answers)
    assert verdict.evidence == (
        Evidence(0, 1, 3, "ne"),
        Evidence(1, 1, 3, "wo"),
        Evidence(2, 1, 3, "hr"),
    )


# ---- a part that is cut in two ----


def whole_part(*contexts):
    """Return a request of one unit as the only part that it is."""
    request = JudgeRequest(units=("A unit.",), contexts=contexts, answer="A unit.")
    (part,) = split_request(request, "joint", per_context=False, limit=60_000, most_ids=64)
    return part


def test_halves_of_halves_hold_the_whole_context():
    text = " ".join(f"word{number}" for number in range(1000))
    first, second = halves(whole_part(text))
    third, fourth = halves(second)
    ends = []
    for part in (first, third, fourth):
        _, start = part.places["c1"]
        end = start + len(part.contexts["c1"])
        assert part.contexts["c1"] == text[start:end]
        assert start == 0 or start < ends[-1]  # they overlap
        ends.append(end)
    assert ends[-1] == len(text)


def test_halves_of_four_equal_contexts_hold_two_each():
    found = halves(whole_part(*[f"{number} {'x' * 50}" for number in range(4)]))
    assert [len(part.contexts) for part in found] == [2, 2]


def test_short_context_of_one_unit_is_not_cut():
    assert halves(whole_part("word " * (_MIN_CUT_CHARACTERS // 5))) is None
    assert halves(whole_part("word " * (_MIN_CUT_CHARACTERS // 5) + "more")) is not None
