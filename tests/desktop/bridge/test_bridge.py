"""Two threads, one bridge."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QPlainTextEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.bridge.bridge import Bridge, Change, coalesce
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.support import background_tasks


class Service:
    """Methods that report the thread they ran on, and some that the window must not call."""

    kept = "an attribute"

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self.cancelled = threading.Event()

    def at_once(self) -> int:
        return threading.get_ident()

    async def says(self, text: str) -> str:
        await asyncio.sleep(0.02)
        return text

    async def publish(self) -> None:
        self._bus.publish(event(ChunkType.WORKFLOW_START))
        for letter in "hello":
            self._bus.publish(event(ChunkType.TOKEN, letter))
        self._bus.publish(event(ChunkType.MESSAGE, "hello"))
        self._bus.changed("task", "1")

    async def give_up(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def where(self) -> int:
        return threading.get_ident()

    async def fail(self) -> None:
        raise StorageError("broken {what}", code="query", what="thing")

    async def fail_in_the_background(self) -> None:
        async def fails() -> None:
            raise StorageError("broken {what}", code="query", what="cleaning")

        background_tasks.start(fails(), "cleaning", self._bus.failed)

    async def hang(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


class Engine:
    """A bus and one service."""

    def __init__(self) -> None:
        self.bus = EventBus()
        self.workflows = Service(self.bus)
        self.closed = False


def event(kind: ChunkType, content: str = "", run: str = "r", message: str = "m") -> StreamEvent:
    return StreamEvent(workflow_id="w", run_id=run, chunk_type=kind, data={"content": content, "message_id": message})


def content(event: StreamEvent) -> Any:
    return event.data.get("content")


async def until(condition: Callable[[], bool]) -> None:
    """Run both loops until a condition holds."""
    for _ in range(2000):
        if condition():
            return
        QCoreApplication.processEvents()
        await asyncio.sleep(0.002)
    raise AssertionError("it never came true")


@pytest.fixture
async def opened() -> AsyncIterator[tuple[Bridge, Engine]]:
    engine = Engine()

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        yield engine
        engine.closed = True

    bridge = Bridge(None, opener=opener)
    bridge.start_engine()
    await until(lambda: bridge.ready)
    yield bridge, engine
    bridge.stop_engine()
    assert bridge.wait_closed(10)


async def test_calls_run_on_the_engine_thread_and_errors_are_returned(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    workflows: Any = bridge.engine.workflows
    assert await workflows.where() != threading.get_ident()
    assert await workflows.says(text="hello") == "hello"
    with pytest.raises(StorageError, match="broken thing"):
        await workflows.fail()


async def test_failed_background_work_of_the_engine_is_shown(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    shown: list[str] = []
    bridge.failed.connect(shown.append)
    workflows: Any = bridge.engine.workflows
    await workflows.fail_in_the_background()
    await until(lambda: bool(shown))
    assert shown == ["broken cleaning"]


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("at_once", TypeError, "Service.at_once is not a coroutine method"),
        ("kept", TypeError, "Service.kept is not a coroutine method"),
        ("no_such", AttributeError, "has no method 'no_such'"),
        ("_bus", AttributeError, "has no method '_bus'"),
    ],
)
async def test_only_coroutine_methods_are_accessible(
    opened: tuple[Bridge, Engine], name: str, error: type[Exception], words: str
) -> None:
    bridge, _engine = opened
    with pytest.raises(error, match=words):
        getattr(bridge.engine.workflows, name)


async def test_internals_of_services_are_not_accessible(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    for name in ("bus", "repos", "store"):
        with pytest.raises((AttributeError, TypeError)):
            getattr(bridge.engine, name)


async def test_arguments_are_copied_at_the_call(opened: tuple[Bridge, Engine], qtbot: QtBot) -> None:
    """What the user types after a call has started does not affect it."""
    bridge, _engine = opened
    field = QPlainTextEdit("as it was")
    qtbot.addWidget(field)
    workflows: Any = bridge.engine.workflows
    answer = bridge.jobs.start(workflows.says(field.toPlainText()))
    field.setPlainText("changed meanwhile")
    assert await answer == "as it was"


async def test_cancellation_in_the_engine_cancels_the_caller(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    workflows: Any = bridge.engine.workflows
    with pytest.raises(asyncio.CancelledError):
        await workflows.give_up()


async def test_a_closed_engine_is_reported() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        await Bridge(None).engine.workflows.list()


async def test_cancelling_the_caller_cancels_the_engines_work(opened: tuple[Bridge, Engine]) -> None:
    bridge, engine = opened
    workflows: Any = bridge.engine.workflows
    task = bridge.jobs.start(workflows.hang())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await until(engine.workflows.cancelled.is_set)


async def test_events_arrive_in_order_and_tokens_are_joined(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    seen: list[tuple[str, str]] = []
    bridge.stream_event.connect(lambda e: seen.append((e.chunk_type.value, e.data.get("content", ""))))

    changes: list[tuple[str, str]] = []
    bridge.changed.connect(lambda topic, id: changes.append((topic, id)))
    workflows: Any = bridge.engine.workflows
    await workflows.publish()
    await until(lambda: len(seen) >= 3)
    assert seen == [("workflow_start", ""), ("token", "hello"), ("message", "hello")]
    assert changes == [("task", "1")]


async def test_many_events_are_delivered_in_several_turns_and_in_order(
    opened: tuple[Bridge, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two of them the window is painted."""
    bridge, _engine = opened
    monkeypatch.setattr("atelier_desk.desktop.bridge.bridge.AT_ONCE_S", 0)
    seen: list[str] = []
    turns: list[int] = []
    bridge.stream_event.connect(lambda e: seen.append(content(e)))
    bridge._drainer.timeout.connect(lambda: turns.append(len(seen)))
    for number in range(5):
        bridge.post(event(ChunkType.MESSAGE, str(number)))
    await until(lambda: len(seen) >= 2)
    bridge.post(event(ChunkType.MESSAGE, "5"))
    await until(lambda: len(seen) >= 6)
    assert seen == ["0", "1", "2", "3", "4", "5"]
    assert turns == [1, 2, 3, 4, 5, 6]


async def test_a_backlog_is_not_joined_again(opened: tuple[Bridge, Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the backlog grew with each turn, because all of it was processed each time."""
    from atelier_desk.desktop.bridge import bridge as module

    bridge, _engine = opened
    joined: list[int] = []

    def counted(batch: list[StreamEvent | Change]) -> list[StreamEvent | Change]:
        joined.append(len(batch))
        return coalesce(batch)

    monkeypatch.setattr(module, "AT_ONCE_S", 0)
    monkeypatch.setattr(module, "coalesce", counted)
    seen: list[str] = []
    bridge.stream_event.connect(lambda e: seen.append(content(e)))
    for number in range(5):
        bridge.post(event(ChunkType.MESSAGE, str(number)))
    await until(lambda: len(seen) >= 2)
    bridge.post(event(ChunkType.MESSAGE, "5"))
    await until(lambda: len(seen) >= 6)
    assert seen == ["0", "1", "2", "3", "4", "5"]
    assert joined == [5, 1]


async def test_an_unhandled_error_is_reported(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    received: list[object] = []
    bridge.failed.connect(received.append)
    workflows: Any = bridge.engine.workflows
    bridge.jobs.start(workflows.fail())
    await until(lambda: bool(received))
    assert received == ["broken thing"]


async def test_closing_exits_the_engines_context(opened: tuple[Bridge, Engine]) -> None:
    bridge, engine = opened
    closed: list[bool] = []
    bridge.engine_closed.connect(lambda: closed.append(True))
    bridge.stop_engine()
    await until(lambda: bool(closed))
    assert engine.closed
    with pytest.raises(asyncio.CancelledError):  # a late timer of the window ends quietly
        await bridge.engine.workflows.list()


async def test_an_engine_that_is_closed_while_it_opens_is_cancelled() -> None:
    """Upgrading the data may take minutes, and the window can be closed meanwhile."""
    opening, cancelled = threading.Event(), threading.Event()

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        opening.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        yield None

    bridge = Bridge(None, opener=opener)
    failed: list[object] = []
    closed: list[bool] = []
    bridge.engine_failed.connect(failed.append)
    bridge.engine_closed.connect(lambda: closed.append(True))
    bridge.start_engine()
    await until(opening.is_set)
    bridge.stop_engine()
    await until(lambda: bool(closed))
    assert cancelled.is_set()
    assert failed == []
    assert bridge.wait_closed(10)


async def test_an_engine_that_cannot_open_is_reported() -> None:
    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        raise StorageError("no", code="locked")
        yield

    bridge = Bridge(None, opener=opener)
    received: list[Any] = []
    bridge.engine_failed.connect(received.append)
    bridge.start_engine()
    await until(lambda: bool(received))
    assert received[0].code == "locked"
    assert bridge.wait_closed(10)


def test_coalescing_keeps_runs_messages_and_kinds_apart() -> None:
    batch: list[StreamEvent | Change] = [
        event(ChunkType.TOKEN, "a"),
        Change("task", "1"),
        event(ChunkType.TOKEN, "b"),
        event(ChunkType.TOKEN, "c", run="other"),
        Change("task", "1"),
        event(ChunkType.REASONING, "d", run="other"),
        event(ChunkType.REASONING, "e", run="other", message="next"),
    ]
    assert [each if isinstance(each, Change) else content(each) for each in coalesce(batch)] == [
        "ab",
        Change("task", "1"),
        "c",
        "d",
        "e",
    ]


def test_runs_that_stream_at_once_are_joined_separately() -> None:
    names = ("one", "two", "three")
    batch = [event(ChunkType.TOKEN, str(number), run=run, message=run) for number in range(5) for run in names]
    joined = coalesce(batch)
    assert [(each.run_id, content(each)) for each in joined if isinstance(each, StreamEvent)] == [
        (run, "01234") for run in names
    ]


def test_a_run_keeps_its_order_and_an_end_follows_the_last_tokens() -> None:
    end = StreamEvent(workflow_id="w", run_id="parent", chunk_type=ChunkType.SUB_AGENT_COMPLETE)
    elsewhere = StreamEvent(workflow_id="other", run_id="far", chunk_type=ChunkType.RUN_STATUS)
    batch = [
        event(ChunkType.REASONING, "think", run="child"),
        event(ChunkType.TOKEN, "a", run="child"),
        elsewhere,
        event(ChunkType.TOKEN, "b", run="child"),
        end,
        event(ChunkType.TOKEN, "c", run="child"),
    ]
    received = [(each.chunk_type.value, content(each)) for each in coalesce(batch) if isinstance(each, StreamEvent)]
    assert received == [
        ("reasoning", "think"),
        ("token", "ab"),
        ("run_status", None),
        ("sub_agent_complete", None),
        ("token", "c"),
    ]
