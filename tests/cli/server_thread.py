"""Providers on servers of the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def serving(*servers: Any) -> Iterator[None]:
    """The servers in their own loop, because a command line runs a loop in this thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def wait(work: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(30)

    try:
        for server in servers:
            wait(server.__aenter__())
        yield
    finally:
        for server in servers:
            wait(server.__aexit__(None, None, None))
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
