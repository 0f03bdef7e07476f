"""The engine as the window calls it: ``await bridge.engine.workflows.rename(id, name)``.

Callable are the coroutine methods of the engine's services; mypy checks each call against them. Arguments are values,
copied at the call in the window's thread; later changes in a widget do not affect a call in progress.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from atelier_desk.engine.services.service_list import PARTS, Services

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.engine_thread import EngineThread
    from atelier_desk.engine.maintenance.system_checks import Check
    from atelier_desk.engine.runs.manager import RunManager


class EngineCalls(Services):
    """What the window may call of an ``Atelier``: services and runs, not their internals."""

    runs: RunManager
    resume_pending: Callable[[], Coroutine[object, None, None]]
    run_diagnostics: Callable[[], Coroutine[Any, Any, list[Check]]]


SERVICES = frozenset({"runs", *Services.__annotations__})


class Engine(Protocol):
    """Where calls go: the thread of the engine, None before its start, and whether the window is closing."""

    engine_thread: EngineThread | None
    closing: bool


class Remote:
    """The engine (``service`` is empty), one of its services, or a callable part of one, such as ``runs.steering``.

    Only coroutine methods are accessible.

    Raises:
        AttributeError: there is no such service or method.
        TypeError: the attribute is not a coroutine method, so it would be computed in the wrong thread.
    """

    def __init__(self, engine: Engine, service: str = "") -> None:
        self._engine, self._service = engine, service

    def __getattr__(self, name: str) -> Remote | Callable[..., Awaitable[object]]:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._service}.{name}" if self._service else name
        if path in SERVICES or path in PARTS:
            return Remote(self._engine, path)
        if (there := self._owner()) is not None:
            check_callable(type(there), name)

        async def call(*args: object, **fields: object) -> object:
            if self._engine.closing:
                raise asyncio.CancelledError
            thread, owner = self._engine.engine_thread, self._owner()
            if thread is None or owner is None:
                raise RuntimeError("the engine is not open")
            # Only created here: it starts on the engine's loop.
            return await asyncio.wrap_future(
                asyncio.run_coroutine_threadsafe(getattr(owner, name)(*args, **fields), thread.loop)
            )

        return call

    def _owner(self) -> object | None:
        """The service, None unless the engine is open; only its class may be inspected from this thread."""
        thread = self._engine.engine_thread
        opened = thread.engine if thread is not None else None
        return attrgetter(self._service)(opened) if opened is not None and self._service else opened


def check_callable(owner: type, name: str) -> None:
    """Reject what the window cannot await. Raises the errors of ``Remote``."""
    if name.startswith("_") or not hasattr(owner, name):
        raise AttributeError(f"the engine's {owner.__name__} has no method {name!r}")
    if not inspect.iscoroutinefunction(getattr(owner, name)):
        raise TypeError(f"{owner.__name__}.{name} is not a coroutine method: the window can only await the engine")
