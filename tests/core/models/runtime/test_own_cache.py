"""A cache of the user's own, an object with `get` and `put`: what it does wrong costs requests, and no verdict."""

from __future__ import annotations

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    NLIJudge,
    Sample,
    ScriptedJudge,
    estimate,
    evaluate,
    forget,
)
from ctxmetrics.models.runtime.cache import with_checksum

METRICS = [ContextRecall(), ContextPrecision()]
SAMPLES = [
    Sample(
        id=str(number),
        reference=f"Item {number} is scarlet.",
        retrieved_contexts=[f"Item {number} is scarlet, they say.", "Bananas are yellow."],
    )
    for number in range(3)
]


def reply(prompt):
    number = prompt.user.partition('"text":"Item ')[2][0]
    quote = {"context": "c1", "quote": f"Item {number} is scarlet", "whole": True}
    return {
        "code": "$code",
        "sentences": {"s1": {"evidence": [quote], "supported": True}},
        "useful": {"c1": {"useful": True}, "c2": {"useful": False}},
    }


class Shelf:
    """What a user writes first: a dict."""

    def __init__(self):
        self.kept = {}

    def get(self, key):
        return self.kept.get(key)

    def put(self, key, value):
        self.kept[key] = value
        return True  # as a Redis client does


class Sized(Shelf):
    def __len__(self):
        return len(self.kept)


class Unreadable(Shelf):
    def get(self, key):
        raise ConnectionError("no route to sk-abcdef123456")


class Full(Shelf):
    def put(self, key, value):
        raise SystemExit("no room")


class Bytes(Shelf):
    """As a Redis client answers that decodes nothing."""

    def get(self, key):
        found = super().get(key)
        return None if found is None else found.encode()


class Waiting(Shelf):
    async def get(self, key):
        return super().get(key)


def scored(cache, judge=None):
    """Evaluate as a new process does: with nothing in memory."""
    forget()
    judge = judge or ScriptedJudge(reply, name="script")
    return evaluate(SAMPLES, METRICS, judge=judge, cache=cache, progress=False)


def values(results):
    return [(score.value, score.reason_code) for row in results for score in row.values()]


@pytest.mark.parametrize(
    ("kind", "calls", "told"),
    [
        (Shelf, [3, 0], []),
        (Sized, [3, 0], []),
        (Unreadable, [3, 3], ["cache=Unreadable: ConnectionError: no route to [key]"] * 2),
        (Full, [3, 3], ["cache=Full: SystemExit: no room"] * 2),
        (Bytes, [3, 3], ["cache=Bytes: TypeError: get returned bytes, not a str or None"]),
        (Waiting, [3, 3], ["cache=Waiting: TypeError: get returned coroutine, not a str or None"] * 2),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine 'Waiting.get' was never awaited")
def test_what_fails_in_a_cache_costs_requests_and_one_warning(kind, calls, told, caplog):
    cache = kind()
    results = [scored(cache) for _ in calls]
    assert [values(one) for one in results] == [[(1.0, None)] * 6] * 2
    assert [one.usage.calls for one in results] == calls
    goes_on = "; the run goes on, but a judgement that cannot be read or kept is asked for again"
    assert caplog.messages == [text + goes_on for text in told]


@pytest.mark.parametrize("kind", [Unreadable, Full, Bytes])
def test_the_scores_of_a_cross_encoder_survive_it_too(kind, caplog):
    judge = NLIJudge(
        lambda pairs: [0.9 if "Item" in text else 0.1 for text, _ in pairs], identity="two-1"
    )
    cache = kind()
    for _ in range(2):
        assert values(scored(cache, judge)) == [(1.0, None)] * 6
    assert f"cache={kind.__name__}: " in caplog.text


def test_an_estimate_takes_what_cannot_be_read_for_missing(caplog):
    forget()
    costs = estimate(SAMPLES, METRICS, judge=ScriptedJudge(reply, name="script"), cache=Unreadable())
    assert costs.calls == 3
    assert [text.partition(" no")[0] for text in caplog.messages] == [
        "cache=Unreadable: ConnectionError:"
    ]


def test_a_cached_score_that_is_no_number_is_asked_for_again():
    class Words(Shelf):
        def get(self, key):
            return with_checksum(key, "likely")

    judge = NLIJudge(lambda pairs: [0.9] * len(pairs), identity="two-1")
    assert [code for _, code in values(scored(Words(), judge))] == [None] * 6
