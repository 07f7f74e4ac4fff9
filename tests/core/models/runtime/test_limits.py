"""The bound on requests in flight: what overload lowers and success raises, in one event loop."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from random import Random
from types import SimpleNamespace

from ctxmetrics.models.runtime import limits
from ctxmetrics.models.runtime.limits import Limiter


async def take(limiter):
    """Take a slot; returns the time at which it was given and what gives it back, as a request that failed does."""
    slot = limiter.slot()
    sent_at = await slot.__aenter__()
    return sent_at, partial(slot.__aexit__, ConnectionError, ConnectionError(), None)


async def succeed(limiter, times):
    for _ in range(times):
        async with limiter.slot():
            pass


def test_the_bound_holds_over_cancellations():
    async def main():
        limiter, inside, most, through = Limiter(5, bound=5), 0, 0, 0
        random = Random(0)

        async def one():
            nonlocal inside, most, through
            async with limiter.slot():
                inside += 1
                most = max(most, inside)
                try:
                    await asyncio.sleep(random.uniform(0, 0.002))
                finally:
                    inside -= 1
                through += 1

        tasks = [asyncio.create_task(one()) for _ in range(600)]
        for task in random.sample(tasks, 200):
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert most == 5
        assert through >= 400
        assert limiter.in_flight == 0
        held = await asyncio.wait_for(asyncio.gather(*(take(limiter) for _ in range(5))), 60)
        assert (len(held), limiter.in_flight) == (5, 5)

    asyncio.run(main())


def test_a_slot_given_to_a_cancelled_request_goes_to_the_next():
    async def main():
        limiter = Limiter(1, bound=1)
        _, release = await take(limiter)
        second, third = (asyncio.create_task(take(limiter)) for _ in range(2))
        await asyncio.sleep(0)
        await release()  # wakes the second ..
        second.cancel()  # .. which is cancelled before it could run
        await asyncio.gather(second, return_exceptions=True)
        return await asyncio.wait_for(third, 60)

    assert asyncio.run(main())


def test_request_cancelled_while_held_back_leaves_its_turn():
    async def main():
        limiter = Limiter(1, bound=1)
        sent_at, release = await take(limiter)
        second, third = (asyncio.create_task(take(limiter)) for _ in range(2))
        await asyncio.sleep(0)
        limiter.refused(sent_at, retry_after=0.1)
        await release()  # wakes the second, which waits until it may be sent ..
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        second.cancel()  # .. and is cancelled meanwhile
        await asyncio.gather(second, return_exceptions=True)
        return await asyncio.wait_for(third, 60)

    assert asyncio.run(main())


def order_of(names, *, overtake):
    async def main():
        limiter, order = Limiter(1, bound=1), []
        _, release = await take(limiter)

        async def one(name):
            async with limiter.slot():
                order.append(name)

        tasks = [asyncio.create_task(one(name)) for name in names]
        await asyncio.sleep(0)
        await release()  # wakes the first ..
        if overtake:
            async with limiter.slot():  # .. and takes the slot before it runs
                order.append("overtaker")
                await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)
        return order

    return asyncio.run(main())


def test_slots_are_granted_in_order_of_request():
    assert order_of("abcdef", overtake=False) == list("abcdef")


def test_a_request_that_was_overtaken_stays_first():
    assert order_of("bcd", overtake=True) == ["overtaker", "b", "c", "d"]


def test_wave_of_refusals_halves_the_bound_once():
    async def main():
        limiter = Limiter(16, bound=16)
        wave = [await take(limiter) for _ in range(16)]
        alone = []
        for sent_at, release in wave:
            alone.append(limiter.refused(sent_at, None))
            await release()
        assert limiter.bound == 8
        assert alone == [False] * 15 + [True]
        limiter._open_at = 0.0
        sent_at, release = await take(limiter)
        limiter.refused(sent_at, None)
        await release()
        assert limiter.bound == 4
        await succeed(limiter, 4)
        assert 4.7 < limiter.bound <= 5
        await succeed(limiter, 1000)
        assert limiter.bound == 16

    asyncio.run(main())


def test_the_bound_is_at_least_one():
    async def main():
        limiter = Limiter(1, bound=1)
        for _ in range(3):
            sent_at, release = await take(limiter)
            limiter.refused(sent_at, None)
            await release()
        assert limiter.bound == 1
        await asyncio.wait_for(take(limiter), 60)

    asyncio.run(main())


def test_refused_lone_request_holds_all_back():
    async def main():
        limiter = Limiter(4, bound=4)
        sent_at, release = await take(limiter)
        began = time.monotonic()
        limiter.refused(sent_at, 0.2)
        await release()
        return min(given - began for given, _ in await asyncio.gather(take(limiter), take(limiter)))

    assert asyncio.run(main()) >= 0.2


def test_lone_refusals_hold_all_back_twice_as_long_each_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(limits, "FIRST_WAIT", 0.25)
    monkeypatch.setattr(limits, "LONGEST_WAIT", 8.0)
    limiter, waits = Limiter(1, bound=1), []
    for retry_after in (None, None, None, 3.0, None, None, None):
        assert limiter.refused(now[0], retry_after)
        waits.append(limiter._open_at - now[0])
        now[0] = limiter._open_at
    asyncio.run(succeed(limiter, 1))
    limiter.refused(now[0], None)
    assert [*waits, limiter._open_at - now[0]] == [0.25, 0.5, 1.0, 3.0, 4.0, 8.0, 8.0, 0.25]


def test_a_server_may_refuse_for_days():
    limiter = Limiter(1, bound=1)
    for _ in range(2000):  # more doublings than a float can hold
        assert limiter.refused(0.0, None)
