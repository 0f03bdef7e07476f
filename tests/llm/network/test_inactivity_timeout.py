"""The inactivity timeout fires on silence and on nothing else."""

from __future__ import annotations

import asyncio

import pytest

from atelier_desk.llm.network.inactivity_timeout import Stalled, Watchdog
from tests.helpers.manual_clock import ManualClock


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


class StandingStill(ManualClock):
    """The clock of a machine that can sleep while somebody waits."""

    async def oversleep(self, seconds: float) -> None:
        """Time passes without running anything; whatever was due wakes at the end."""
        self._elapsed += seconds
        await self.advance(0)


async def test_time_in_which_the_machine_slept_is_not_silence() -> None:
    clock = StandingStill()
    async with Watchdog(clock, 10) as watchdog:
        waiting = asyncio.create_task(watchdog.run(asyncio.Event().wait()))
        await clock.settle()
        await clock.advance(4)
        await clock.oversleep(100)
        assert not waiting.done()
        await clock.advance(9)
        assert not waiting.done()
        await clock.advance(1)
        with pytest.raises(Stalled):
            await waiting


async def test_received_data_is_read_before_silence_is_counted(clock: ManualClock) -> None:
    loop = asyncio.get_running_loop()
    there, read = asyncio.Event(), []

    async def reader(watchdog: Watchdog) -> None:
        for _piece in range(2):
            await watchdog.run(there.wait())
            there.clear()
            read.append(clock.monotonic())

    async with Watchdog(clock, 10) as watchdog:
        task = asyncio.create_task(reader(watchdog))
        await clock.settle()
        waking = asyncio.create_task(clock.advance(10))
        # It is in the socket when the time is over, and is read some turns of the loop later.
        loop.call_soon(loop.call_soon, loop.call_soon, there.set)
        await waking
        assert read == [10]
        assert not task.done()
        task.cancel()


async def test_the_watchdog_can_restart_after_a_timeout(clock: ManualClock) -> None:
    async with Watchdog(clock, 10) as watchdog:
        for _attempt in range(2):
            waiting = asyncio.create_task(watchdog.run(asyncio.Event().wait()))
            await clock.settle()
            await clock.advance(10)
            with pytest.raises(Stalled):
                await waiting
            watchdog.restart()
        assert await watchdog.run(asyncio.sleep(0, "on")) == "on"
