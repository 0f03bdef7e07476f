"""Background tasks."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref

import pytest

from atelier_desk.support import background_tasks


async def test_a_failure_is_logged_with_its_cause_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    reported: list[tuple[str, BaseException]] = []

    async def fails() -> None:
        raise OSError(28, "the disk is full")

    task = background_tasks.start(fails(), "cleaning", lambda name, error: reported.append((name, error)))
    await asyncio.wait([task])
    assert [(name, str(error)) for name, error in reported] == [("cleaning", "[Errno 28] the disk is full")]
    record = next(record for record in caplog.records if record.name == "atelier_desk.support.background_tasks")
    assert (record.levelno, record.getMessage()) == (logging.ERROR, "cleaning failed")
    # The program's own handler may already have formatted the traceback, to remove secrets from it.
    assert "the disk is full" in caplog.text


async def test_neither_an_end_nor_a_cancellation_is_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    reported: list[str] = []
    done = background_tasks.start(asyncio.sleep(0, "result"), "rest", lambda name, _error: reported.append(name))
    stopped = background_tasks.start(asyncio.sleep(3600), "long rest", lambda name, _error: reported.append(name))
    assert await done == "result"
    stopped.cancel()
    await asyncio.wait([stopped])
    assert stopped.cancelled()
    assert not reported
    assert not caplog.records


async def test_a_running_task_is_not_garbage_collected() -> None:
    over: list[str] = []
    waited_for: list[weakref.ref[asyncio.Future[None]]] = []

    async def waits() -> None:
        future = asyncio.get_running_loop().create_future()
        waited_for.append(weakref.ref(future))
        await future
        over.append("over")

    background_tasks.start(waits(), "wait")
    await asyncio.sleep(0)
    gc.collect()
    future = waited_for[0]()
    assert future is not None, "task and future hold each other alone, and were collected"
    future.set_result(None)
    await asyncio.sleep(0)
    assert over == ["over"]


async def test_tasks_end_with_their_owner() -> None:
    reported: list[str] = []
    tasks = background_tasks.Tasks(lambda name, _error: reported.append(name))
    rest = tasks.start("rest", asyncio.sleep(3600))

    async def fails() -> None:
        raise OSError("gone")

    failed = tasks.start("cleaning", fails())
    await asyncio.wait([failed])
    await tasks.aclose()
    assert rest.cancelled()
    assert reported == ["cleaning"]
