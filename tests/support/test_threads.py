"""Thread pools by kind of work: a hanging job blocks neither others nor the program's end."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from atelier_desk.support.logs import correlation
from atelier_desk.support.threads import (
    FUNCTION_THREADS,
    STORAGE_THREADS,
    TOOL_THREADS,
    DaemonThreads,
    in_background,
    in_function_thread,
    in_storage_thread,
    in_tool_thread,
)

KINDS: dict[Callable[..., Awaitable[Any]], int] = {
    in_storage_thread: STORAGE_THREADS, in_tool_thread: TOOL_THREADS, in_function_thread: FUNCTION_THREADS,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
async def test_hanging_work_blocks_only_its_own_kind(kind: Callable[..., Awaitable[Any]]) -> None:
    release, hanging = threading.Event(), threading.Semaphore(0)

    def hang() -> str:
        hanging.release()
        release.wait(60)
        return "let go"

    stuck = [asyncio.ensure_future(kind(hang)) for _ in range(KINDS[kind])]
    more = asyncio.ensure_future(kind(lambda: "its turn came"))
    try:
        for _ in stuck:
            assert await asyncio.to_thread(hanging.acquire, timeout=60)
        for other in KINDS:
            if other is not kind:
                assert await asyncio.wait_for(other(lambda: "free"), 60) == "free"
        assert not more.done()
    finally:
        release.set()
    assert await asyncio.gather(*stuck) == ["let go"] * len(stuck)
    assert await more == "its turn came"


async def test_work_cancelled_while_it_waits_for_a_thread_never_runs() -> None:
    threads, release = DaemonThreads("test", 1), threading.Event()
    ran: list[str] = []
    loop = asyncio.get_running_loop()
    first = loop.run_in_executor(threads, release.wait, 60)
    second = loop.run_in_executor(threads, ran.append, "second")
    second.cancel()
    await asyncio.sleep(0)  # the executor is notified in the loop's next round
    release.set()
    assert await first
    await loop.run_in_executor(threads, ran.append, "third")
    assert ran == ["third"]


async def test_errors_are_raised_and_the_thread_is_reused() -> None:
    threads = DaemonThreads("test", 1)
    loop = asyncio.get_running_loop()
    with pytest.raises(ZeroDivisionError):
        await loop.run_in_executor(threads, lambda: 1 / 0)
    names = {await loop.run_in_executor(threads, threading.get_ident) for _ in range(3)}
    assert len(names) == 1


async def test_log_lines_of_the_work_belong_to_its_run() -> None:
    from atelier_desk.support.logs import _correlation_id

    with correlation("run-7"):
        assert await in_tool_thread(_correlation_id.get) == "run-7"


def test_a_program_ends_while_a_given_function_hangs() -> None:
    code = (
        "import asyncio, threading\n"
        "from atelier_desk.support.threads import in_function_thread, in_tool_thread\n"
        "async def main():\n"
        "    began = [asyncio.Event(), asyncio.Event()]\n"
        "    loop = asyncio.get_running_loop()\n"
        "    def hang(event):\n"
        "        loop.call_soon_threadsafe(event.set)\n"
        "        threading.Event().wait()\n"
        "    tasks = [asyncio.create_task(run(hang, event)) for run, event in zip((in_function_thread, "
        "in_tool_thread), began)]\n"
        "    for event in began: await event.wait()\n"
        "    for task in tasks: task.cancel()\n"
        "    print('ended')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "ended")


async def test_failed_background_work_is_logged() -> None:
    loop, logged = asyncio.get_running_loop(), asyncio.Queue[str]()

    class RecordingHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # at once: other handlers hide secrets in the record itself
            loop.call_soon_threadsafe(logged.put_nowait, self.format(record))

    handler = RecordingHandler()
    logging.getLogger("atelier_desk.support.threads").addHandler(handler)
    try:
        in_background(int, "no number")
        text = await asyncio.wait_for(logged.get(), 20)
    finally:
        logging.getLogger("atelier_desk.support.threads").removeHandler(handler)
    assert "work in the background failed" in text
    assert "no number" in text
