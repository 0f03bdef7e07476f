"""Silence is noticed, and nothing else is."""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.llm.wire.watchdog import Stalled, Watchdog
from tests.support.clock import ManualClock


async def test_the_watchdog_passes_on_a_real_cancellation(clock: ManualClock) -> None:
    async with Watchdog(clock, 10) as watchdog:
        task = asyncio.create_task(watchdog.run(asyncio.Event().wait()))
        await clock.settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_the_watchdog_ends_a_wait_and_leaves_its_task_usable(clock: ManualClock) -> None:
    async def waiter() -> str:
        async with Watchdog(clock, 10) as watchdog:
            with pytest.raises(Stalled):
                await watchdog.run(asyncio.Event().wait())
        await asyncio.sleep(0)
        return "went on"

    task = asyncio.create_task(waiter())
    await clock.settle()
    await clock.advance(10)
    assert await task == "went on"
    assert task.cancelling() == 0


async def test_work_between_two_reads_is_not_silence(clock: ManualClock) -> None:
    async with Watchdog(clock, 10) as watchdog:
        await watchdog.run(asyncio.sleep(0))
        await clock.advance(25)
        await watchdog.run(asyncio.sleep(0))
        waiting = asyncio.create_task(watchdog.run(asyncio.Event().wait()))
        await clock.settle()
        await clock.advance(9)
        assert not waiting.done()
        await clock.advance(11)
        with pytest.raises(Stalled):
            await waiting
