"""Thread pools for blocking work: one per kind, so that none can block another.

Storage (opening the database, syncing files), Atelier's own tools, functions of Python programs used as
tools, standard input, and background work of the window have their own threads; the rest (keyring, downloads
and checks of models, large JSON, name resolution) uses the event loop's default executor. An embedder has one
thread of its own. A person's tool files run in a process, see ``atelier_desk.tools.user_tools.tool_processes``. Imports
nothing of Atelier.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)

STORAGE_THREADS = 4
TOOL_THREADS = 16
FUNCTION_THREADS = 32
BACKGROUND_THREADS = 4
"""Maximum number of background threads; further calls wait.

A cancelled call occupies its thread until its work ends.
"""


class DaemonThreads(Executor):
    """An executor of at most ``limit`` daemon threads, which cannot block the program's end.

    A thread cannot be killed, and one that hangs would block the exit. Threads start on demand and stay.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._open = 0
        """Jobs that were submitted and have not ended."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            self._open += 1
            start = self._open > self._threads and self._threads < self._limit
            self._threads += start
        self._jobs.put((future, partial(fn, *args, **kwargs)))
        if start:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            future, job = self._jobs.get()
            self._perform(future, job)
            with self._lock:
                self._open -= 1
            # Release the job's objects now, not when the next job arrives.
            del future, job

    @staticmethod
    def _perform(future: Future[object], job: Callable[[], object]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = job()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


_STORAGE = ThreadPoolExecutor(STORAGE_THREADS, thread_name_prefix="storage")
"""The program's end waits for these threads, so that files are complete."""
_TOOLS = DaemonThreads("tools", TOOL_THREADS)
_FUNCTIONS = DaemonThreads("functions", FUNCTION_THREADS)
_BACKGROUND = DaemonThreads("background", BACKGROUND_THREADS)


def in_background(function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Run a blocking function without waiting for it, not even at the program's end.

    It must report its own result; an exception is logged.
    """
    _BACKGROUND.submit(function, *args, **kwargs).add_done_callback(_log_error)


def _log_error(future: Future[object]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("work in the background failed", exc_info=error)


async def in_storage_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function that opens, reads, writes or syncs Atelier's files."""
    return await _run(_STORAGE, function, *args, **kwargs)


async def in_tool_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work of one of Atelier's own tools.

    Cancelling drops the result, but the thread finishes its work.
    """
    return await _run(_TOOLS, function, *args, **kwargs)


async def in_function_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that a Python program registered as a tool.

    Cancelling drops the result, but the thread finishes its work.
    """
    return await _run(_FUNCTIONS, function, *args, **kwargs)


async def _run(executor: Executor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    # As in asyncio.to_thread: log records of the work carry their run's id.
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(executor, partial(context.run, function, *args, **kwargs))
