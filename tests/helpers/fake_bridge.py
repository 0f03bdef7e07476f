"""A bridge without an engine: calls are answered by a fake engine in the test's own loop.

fake = FakeAtelier(workflows={"list": [workflow]})
bridge = FakeBridge(fake)
…
await settle()
assert fake.calls("workflows.rename") == [((workflow.id, "New name"), {})]

The fake has the methods of the engine's own classes: one that does not exist, is not a coroutine or does not accept the
arguments can neither be called nor get an answer.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject

from atelier_desk.desktop.bridge.bridge import Bridge
from atelier_desk.desktop.bridge.engine_proxy import SERVICES, check_callable
from atelier_desk.domain.audit import AuditPage
from atelier_desk.domain.provider import KeyPlace
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.usage import MonthUsage
from atelier_desk.engine.services import service_list
from atelier_desk.engine.services.api_key_storage import KeyStore
from atelier_desk.engine.services.service_list import PARTS
from atelier_desk.workspace.checkpoints.cleaning import KeptRecord

_DEFAULTS: dict[str, Any] = {
    "runs.waiting.list": (),
    "settings.get": Settings(),
    "chats.is_export": False,
    "usage.month": MonthUsage("2026-11", 0.0, 0.0),
    "workflows.list": [],
    "workflows.transcript": [],
    "workflows.branches": {},
    "workflows.exporting.damaged_rows": [],
    "messages.pinned": [],
    "agents.list": [],
    "agents.prompt_cost": {},
    "agents.of_default_model": [],
    "agents.use_model": [],
    "keys.states": {},
    "keys.store": KeyStore(KeyPlace.KEYRING, "/data/keys.json"),
    "models.list": [],
    "models.stored": [],
    "providers.list": [],
    "questions.pending": [],
    "approvals.pending": [],
    "audit.page": AuditPage(),
    "tasks.list": [],
    "teams.missing_prices": {},
    "tools.list": [],
    "reports.list": [],
    "files.list": [],
    "files.held": [],
    "commands.list": [],
    "files.by_turn": {},
    "files.undo_storage": KeptRecord(),
    "files.cleaning.leftovers": [],
    "files.lost": 0,
    "files.instruction_files": [],
    "files.marked": [],
    "files.missing": (),
    "permissions.missing": "",
    "permissions.unmatchable": {},
    "permissions.held": (),
    "files.trusted": lambda folders: dict.fromkeys(folders, False),
    "projects.list": [],
    "imported_data.list": [],
    "projects.offers": [],
    "memories.list": [],
    "memories.of_turns": [],
    "runs.remembering.pending_turns": [],
    "memories.list_pinned": [],
    "memories.describe": {},
    "memories.pinned": [],
    "memories.proposed": [],
    "memories.is_on": True,
    "memories.pairs": [],
    "memories.reembed_state": {"state": "whole", "left": 0, "embedder": "", "searched": ""},
    "prompts.list": [],
    "stepping.waiting": (),
    "runs.at_work": {},
    "teams.at_work": {},
    "teams.turns": [],
    "teams.replay": ("", []),
}


@cache
def service_class(name: str) -> type:
    """The engine's class of a service."""
    if name in PARTS:
        module, _dot, part = PARTS[name].rpartition(".")
        return getattr(import_module(f"atelier_desk.{module}"), part)  # type: ignore[no-any-return]
    if name not in SERVICES:
        raise AttributeError(f"the window cannot call the engine's {name!r}")
    if name == "runs":
        from atelier_desk.engine.runs.manager import RunManager

        return RunManager
    return service_list.service_class(name)


def checked(key: str) -> str:
    """The key of a method, checked to exist in the engine."""
    service, _dot, method = key.rpartition(".")
    check_callable(service_class(service), method)
    return key


Log = list[tuple[str, tuple[Any, ...], dict[str, Any]]]


class FakeService:
    """A service of the fake, or a part of one; records calls and answers them from ``answers``.

    An answer, by ``service.method``, is a value, an exception to raise, or a function of the arguments that
    returns a value or an awaitable.
    """

    def __init__(self, name: str, answers: dict[str, Any], log: Log) -> None:
        self._name, self._answers, self._log = name, answers, log

    def __getattr__(self, name: str) -> Any:
        """A part of the service; raises with an explanation when it has no answer."""
        path = f"{self._name}.{name}"
        if path not in PARTS:
            check_callable(service_class(self._name), name)
            raise AttributeError(name)
        part = self.__dict__[name] = _fake_class(path)(path, self._answers, self._log)
        return part

    async def _answer(self, method: str, args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
        key = f"{self._name}.{method}"
        self._log.append((key, args, fields))
        result = self._answers.get(key, _DEFAULTS.get(key))
        if isinstance(result, BaseException):
            raise result
        value = result(*args, **fields) if callable(result) else result
        return await value if inspect.isawaitable(value) else value


@cache
def _fake_class(name: str) -> type[FakeService]:
    """A fake with the coroutine methods and signatures of the engine's class."""
    real = service_class(name)

    def method(called: str) -> Callable[..., Any]:
        signature = inspect.signature(getattr(real, called))

        async def answer(self: FakeService, *args: Any, **fields: Any) -> Any:
            signature.bind(self, *args, **fields)
            return await self._answer(called, args, fields)

        return answer

    methods = {
        each: method(each)
        for each in dir(real)
        if not each.startswith("_") and inspect.iscoroutinefunction(getattr(real, each))
    }
    return type(f"Fake{real.__name__}", (FakeService,), methods)


class FakeAtelier:
    """Fake services by name: ``FakeAtelier(workflows={"list": […]})``; ``log`` has every call in order."""

    def __init__(self, **services: dict[str, Any]) -> None:
        self.log: Log = []
        self.checks: list[Any] = []
        self.run: Any = None
        """The run returned by ``workflows.opened``."""
        self.answers: dict[str, Any] = {"workflows.opened": self._opened, "workflows.listing": self._listing}
        for name, results in services.items():
            for method, result in results.items():
                self.answers[checked(f"{name}.{method}")] = result

    def __getattr__(self, name: str) -> FakeService:
        if name.startswith("__"):
            raise AttributeError(name)
        service = self.__dict__[name] = _fake_class(name)(name, self.answers, self.log)
        return service

    async def _opened(self, workflow_id: str, limit: int = 100) -> Any:
        """First content of a screen, from the answers of ``get`` and ``transcript``; without a run."""
        from atelier_desk.engine.services.workflows import OpenedWorkflow

        workflows: Any = self.workflows
        return OpenedWorkflow(
            await workflows.get(workflow_id), tuple(await workflows.transcript(workflow_id, limit=limit)), self.run
        )

    async def _listing(self, limit: int = 100, *, archive: bool = False) -> Any:
        """Content of the workflow list, from the answer of ``list``."""
        from atelier_desk.engine.services.workflows import Listing

        workflows: Any = self.workflows
        found = await workflows.list(limit=limit)
        away = tuple(each for each in found if each.archived)
        active = [each for each in found if not each.archived]
        recent, filed = (tuple(each for each in active if bool(each.collection) is on) for on in (False, True))
        return Listing(recent, filed, away if archive else (), len(away))

    async def resume_pending(self) -> None:
        self.log.append(("resume_pending", (), {}))

    async def run_diagnostics(self) -> list[Any]:
        self.log.append(("run_diagnostics", (), {}))
        return self.checks

    def set(self, service: str, method: str, result: Any) -> None:
        """Change an answer."""
        self.answers[checked(f"{service}.{method}")] = result

    def calls(self, key: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """The arguments of every call of ``service.method``."""
        if "." in key:
            checked(key)
        return [(args, fields) for name, args, fields in self.log if name == key]


class FakeBridge(Bridge):
    """A bridge whose engine is a fake on the same thread; ``errors`` has the jobs' exceptions."""

    def __init__(self, fake: Any = None, parent: QObject | None = None) -> None:
        super().__init__(parent=parent)
        self.atelier = fake if fake is not None else FakeAtelier()
        self.ready = True
        self.errors: list[str] = []
        self.stopped = False
        self.failed.connect(self.errors.append)

    @property
    def engine(self) -> Any:
        return self.atelier

    def start_engine(self) -> None:
        self.engine_opened.emit()

    def stop_engine(self) -> None:
        self.stopped = True
        self.ready = False
        self.engine_closed.emit()


async def settle(rounds: int = 10) -> None:
    """Let tasks and Qt events run until nothing is due."""
    for _ in range(rounds):
        await asyncio.sleep(0)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()


class DelayedResult:
    """A result that arrives only at ``release``, like that of a slow engine."""

    def __init__(self, value: Any = None) -> None:
        self._value, self._free = value, asyncio.Event()

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        await self._free.wait()
        return self._value

    async def release(self) -> None:
        self._free.set()
        await settle(30)
