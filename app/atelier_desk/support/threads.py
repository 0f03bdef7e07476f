"""Where blocking work runs: one executor for each kind of work, so that none can hold up another.

Opening the database and the syncs of the files, the work of Atelier's own tools, functions that a Python program gives as tools, reading
standard input, and what the window loads and draws beside have threads of their own; what is left (keyring, downloads and checks of
models, large JSON, name look-ups) stays on the event loop's default executor. Embeddings have the one thread of their embedder. A user's
tool files run in no thread at all but in a process, see ``atelier_desk.tools.own.process``. A leaf module: it imports nothing of Atelier.
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
"""How many at once. More calls wait for a free thread; one that was stopped keeps its thread until its work is really over."""


class DaemonThreads(Executor):
    """At most ``limit`` threads that the program does not wait for at its end: a thread cannot be killed, and one that hangs would keep
    the program from ending. Threads are started when they are needed and stay."""

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._open = 0
        """Jobs that were submitted and are not over."""

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
            # What a job held must not live until the next one comes.
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
"""Waited for at the end of the program: what it writes is to be whole."""
_TOOLS = DaemonThreads("tools", TOOL_THREADS)
_FUNCTIONS = DaemonThreads("functions", FUNCTION_THREADS)
_BACKGROUND = DaemonThreads("background", BACKGROUND_THREADS)


def in_background(function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Run a blocking function that nobody waits for, not even the program at its end. What it has to tell it tells itself; an error is
    logged."""
    _BACKGROUND.submit(function, *args, **kwargs).add_done_callback(_log_error)


def _log_error(future: Future[object]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("work in the background failed", exc_info=error)


async def in_storage_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function that opens, reads, writes or syncs what Atelier stores."""
    return await _run(_STORAGE, function, *args, **kwargs)


async def in_tool_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the blocking work of one of Atelier's own tools. Cancelling drops the result; the thread ends its work unseen."""
    return await _run(_TOOLS, function, *args, **kwargs)


async def in_function_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function a Python program gave as a tool. Cancelling drops the result; the thread ends its work unseen."""
    return await _run(_FUNCTIONS, function, *args, **kwargs)


async def _run(executor: Executor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    # As asyncio.to_thread does it: log lines of the work carry the run they belong to.
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(executor, partial(context.run, function, *args, **kwargs))
