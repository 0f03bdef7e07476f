"""The engine as the window calls it: ``await bridge.engine.workflows.rename(id, name)``.

Callable are the coroutine methods of the engine's services; mypy checks each call against them. Arguments are values,
copied at the call in the window's thread; later changes in a widget do not affect a call in progress.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

from atelier_desk.engine.services.service_list import PARTS, Services

if TYPE_CHECKING:
    from atelier_desk.engine.maintenance.system_checks import Check
    from atelier_desk.engine.runs.manager import RunManager


class EngineCalls(Services):
    """What the window may call of an ``Atelier``: services and runs, not their internals."""

    runs: RunManager
    resume_pending: Callable[[], Coroutine[object, None, None]]
    run_diagnostics: Callable[[], Coroutine[Any, Any, list[Check]]]


SERVICES = frozenset({"runs", *Services.__annotations__})


class Engine(Protocol):
    """Where calls go: ``opened`` is the engine or None, ``run`` calls one of its methods on the engine's thread."""

    @property
    def opened(self) -> object | None: ...

    async def run(self, service: str, method: str, args: tuple[object, ...], fields: dict[str, object]) -> Any: ...


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
        opened = self._engine.opened
        if opened is not None:
            check_callable(type(attrgetter(self._service)(opened) if self._service else opened), name)

        async def call(*args: object, **fields: object) -> Any:
            return await self._engine.run(self._service, name, args, fields)

        return call


def check_callable(owner: type, name: str) -> None:
    """Reject what the window cannot await. Raises the errors of ``Remote``."""
    if name.startswith("_") or not hasattr(owner, name):
        raise AttributeError(f"the engine's {owner.__name__} has no method {name!r}")
    if not inspect.iscoroutinefunction(getattr(owner, name)):
        raise TypeError(f"{owner.__name__}.{name} is not a coroutine method: the window can only await the engine")
