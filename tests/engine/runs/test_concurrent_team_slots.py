"""Slots are handed out in order and never lost."""

from __future__ import annotations

import asyncio

from atelier_desk.engine.runs.concurrent_team_slots import Slots


async def test_slots_are_assigned_in_the_order_of_requests() -> None:
    slots = Slots(1)
    order: list[int] = []

    async def work(number: int) -> None:
        await slots.acquire(str(number))
        order.append(number)
        await asyncio.sleep(0)
        slots.free(str(number))

    await asyncio.gather(*(work(number) for number in range(4)))
    assert order == [0, 1, 2, 3]
    assert slots.in_use == 0


async def test_a_cancelled_wait_takes_no_slot() -> None:
    slots = Slots(1)
    assert await slots.acquire("first") is False
    waiting = [asyncio.create_task(slots.acquire(str(number))) for number in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    slots.free("first")
    # This one has been given the slot and is cancelled before it could notice.
    waiting[1].cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError, asyncio.CancelledError, bool]
    assert slots.in_use == 1


async def test_additional_slots_wake_waiting_runs() -> None:
    slots = Slots(1)
    await slots.acquire("one")
    waiting = asyncio.create_task(slots.acquire("other"))
    await asyncio.sleep(0)
    slots.limit = 2
    assert await waiting is True
    assert slots.in_use == 2


async def test_a_team_shares_one_slot() -> None:
    slots = Slots(1)
    assert await slots.acquire("team") is False
    assert await slots.acquire("team") is False
    other = asyncio.create_task(slots.acquire("other"))
    await asyncio.sleep(0)
    slots.free("team")
    await asyncio.sleep(0)
    assert not other.done()
    slots.free("team")
    assert await other is True
    assert slots.in_use == 1


async def test_a_waiting_run_shares_a_slot_its_team_got_meanwhile() -> None:
    slots = Slots(1)
    await slots.acquire("first")
    waiting = [asyncio.create_task(slots.acquire("team")) for _ in range(2)]
    await asyncio.sleep(0)
    slots.free("first")
    assert await asyncio.gather(*waiting) == [True, True]
    assert slots.in_use == 1
