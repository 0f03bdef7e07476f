"""Slots are handed out in order and never lost."""

from __future__ import annotations

import asyncio

from app.engine.slots import Slots


async def test_slots_are_handed_out_in_the_order_of_asking() -> None:
    slots = Slots(1)
    order: list[int] = []

    async def work(number: int) -> None:
        await slots.take()
        order.append(number)
        await asyncio.sleep(0)
        slots.free()

    await asyncio.gather(*(work(number) for number in range(4)))
    assert order == [0, 1, 2, 3]
    assert slots.taken == 0


async def test_who_gives_up_waiting_takes_no_slot_along() -> None:
    slots = Slots(1)
    assert await slots.take() is False
    waiting = [asyncio.create_task(slots.take()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    slots.free()
    # This one has been given the slot and is cancelled before it could notice.
    waiting[1].cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError, asyncio.CancelledError, bool]
    assert slots.taken == 1


async def test_more_slots_wake_who_waits() -> None:
    slots = Slots(1)
    await slots.take()
    waiting = asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    slots.limit = 2
    assert await waiting is True
    assert slots.taken == 2
