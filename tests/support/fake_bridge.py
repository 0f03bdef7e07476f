"""A bridge without an engine: calls are answered by a fake Atelier in the test's own loop.

fake = FakeAtelier(workflows={"list": [workflow]})
bridge = FakeBridge(fake)
…
await settle()
assert fake.calls("workflows.rename") == [((workflow.id, "New name"), {})]
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Signal

from atelier_desk.desktop.once import Once

_DEFAULTS: dict[str, Any] = {
    "workflows.list": [],
    "workflows.transcript": [],
    "workflows.branches": {},
    "agents.list": [],
    "models.list": [],
    "providers.list": [],
    "questions.pending": [],
    "tasks.list": [],
    "reports.list": [],
    "memories.list": [],
    "runs.active": None,
}


class FakeService:
    """One noun of the fake: any method may be called; it is recorded and answered from the results.

    A result is a value, an exception (raised), or a function that gets the arguments and gives the value or an awaitable.
    """

    def __init__(self, name: str, results: dict[str, Any], log: list[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> None:
        self._name, self._results, self._log = name, results, log

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("__"):
            raise AttributeError(method)
        key = f"{self._name}.{method}"

        def answer(*args: Any, **kwargs: Any) -> Any:
            self._log.append((key, args, kwargs))
            result = self._results.get(method, _DEFAULTS.get(key))
            if isinstance(result, BaseException):
                raise result
            return result(*args, **kwargs) if callable(result) else result

        if key == "runs.active":
            return answer
        if key == "runs.replay":

            async def iterate(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                for item in answer(*args, **kwargs) or ():
                    yield item

            return iterate

        async def answer_later(*args: Any, **kwargs: Any) -> Any:
            value = answer(*args, **kwargs)
            return await value if inspect.isawaitable(value) else value

        return answer_later


class FakeAtelier:
    """Fake services by name: ``FakeAtelier(workflows={"list": […]})``; ``log`` holds every call in order."""

    def __init__(self, **services: dict[str, Any]) -> None:
        self.log: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._services = {name: dict(results) for name, results in services.items()}

    def __getattr__(self, name: str) -> FakeService:
        if name.startswith("__"):
            raise AttributeError(name)
        service = FakeService(name, self._services.setdefault(name, {}), self.log)
        self.__dict__[name] = service
        return service

    def set(self, service: str, method: str, result: Any) -> None:
        """Change an answer."""
        getattr(self, service)
        self._services[service][method] = result

    def calls(self, key: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """The arguments of every call of ``service.method``."""
        return [(args, kwargs) for name, args, kwargs in self.log if name == key]


class FakeBridge(QObject):
    """The signals and methods of ``atelier_desk.desktop.bridge.Bridge``; ``errors`` keeps what tasks let out."""

    stream_event = Signal(object)
    changed = Signal(str, str)
    engine_opened = Signal()
    engine_failed = Signal(object)
    engine_closed = Signal()
    failed = Signal(object)

    def __init__(self, atelier: Any = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.atelier = atelier if atelier is not None else FakeAtelier()
        self.ready = True
        self.data_dir = None
        self.errors: list[BaseException] = []
        self.stopped = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self.once = Once(self.start)

    async def call(self, function: Callable[[Any], Any]) -> Any:
        result = function(self.atelier)
        return await result if inspect.isawaitable(result) else result

    def start(self, coroutine: Any) -> asyncio.Task[Any]:
        task = asyncio.get_event_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def do(self, function: Callable[[Any], Any]) -> asyncio.Task[Any]:
        return self.start(self.call(function))

    def start_engine(self) -> None:
        self.engine_opened.emit()

    def stop_engine(self) -> None:
        self.stopped = True
        self.ready = False
        self.engine_closed.emit()

    def wait_closed(self, timeout_s: float) -> bool:
        return True

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.errors.append(error)
            self.failed.emit(error)


async def settle(rounds: int = 10) -> None:
    """Let tasks and Qt's events run until nothing is due."""
    for _ in range(rounds):
        await asyncio.sleep(0)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()


class Held:
    """A result that is not there until ``release``: what a slow engine is to an impatient person."""

    def __init__(self, value: Any = None) -> None:
        self._value, self._free = value, asyncio.Event()

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        await self._free.wait()
        return self._value

    async def release(self) -> None:
        self._free.set()
        await settle(30)
