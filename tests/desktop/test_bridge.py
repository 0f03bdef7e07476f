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

from atelier_desk.desktop.bridge import Bridge, coalesce
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.stream import ChunkType, StreamEvent
from atelier_desk.engine.bus import EventBus


class Engine:
    """A bus and a method that says on which thread it ran."""

    def __init__(self) -> None:
        self.bus = EventBus()
        self.closed = False
        self.cancelled = threading.Event()

    async def where(self) -> int:
        return threading.get_ident()

    async def fail(self) -> None:
        raise StorageError("broken {what}", code="query", what="thing")

    async def hang(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def event(kind: ChunkType, content: str = "", run: str = "r", message: str = "m") -> StreamEvent:
    return StreamEvent(workflow_id="w", run_id=run, chunk_type=kind, data={"content": content, "message_id": message})


async def until(condition: Callable[[], bool]) -> None:
    """Turn both loops until something is true."""
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


async def test_calls_run_on_the_engine_thread_and_errors_come_back(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    assert await bridge.call(lambda a: a.where()) != threading.get_ident()
    assert await bridge.call(lambda a: 3) == 3
    with pytest.raises(StorageError, match="broken thing"):
        await bridge.call(lambda a: a.fail())


async def test_cancelling_here_cancels_there(opened: tuple[Bridge, Engine]) -> None:
    bridge, engine = opened
    task = bridge.start(bridge.call(lambda a: a.hang()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await until(engine.cancelled.is_set)


async def test_events_arrive_in_order_and_tokens_joined(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    seen: list[tuple[str, str]] = []
    bridge.stream_event.connect(lambda e: seen.append((e.chunk_type.value, e.data.get("content", ""))))

    def publish(engine: Engine) -> None:
        engine.bus.publish(event(ChunkType.WORKFLOW_START))
        for letter in "hello":
            engine.bus.publish(event(ChunkType.TOKEN, letter))
        engine.bus.publish(event(ChunkType.MESSAGE, "hello"))

    await bridge.call(publish)
    await until(lambda: len(seen) >= 3)
    assert seen == [("workflow_start", ""), ("token", "hello"), ("message", "hello")]


async def test_an_unhandled_error_is_told(opened: tuple[Bridge, Engine]) -> None:
    bridge, _engine = opened
    told: list[object] = []
    bridge.failed.connect(told.append)
    bridge.do(lambda a: a.fail())
    await until(lambda: bool(told))
    assert isinstance(told[0], StorageError)


async def test_closing_leaves_the_context(opened: tuple[Bridge, Engine]) -> None:
    bridge, engine = opened
    closed: list[bool] = []
    bridge.engine_closed.connect(lambda: closed.append(True))
    bridge.stop_engine()
    await until(lambda: bool(closed))
    assert engine.closed
    with pytest.raises(asyncio.CancelledError):  # a late timer of the window ends quietly
        await bridge.call(lambda a: a.where())


async def test_an_engine_that_cannot_open_is_told() -> None:
    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        raise StorageError("no", code="locked")
        yield

    bridge = Bridge(None, opener=opener)
    told: list[Any] = []
    bridge.engine_failed.connect(told.append)
    bridge.start_engine()
    await until(lambda: bool(told))
    assert told[0].code == "locked"
    assert bridge.wait_closed(10)


def test_coalescing_keeps_runs_messages_and_kinds_apart() -> None:
    batch = [
        ("event", event(ChunkType.TOKEN, "a")),
        ("changed", ("task", "1")),
        ("event", event(ChunkType.TOKEN, "b")),
        ("event", event(ChunkType.TOKEN, "c", run="other")),
        ("changed", ("task", "1")),
        ("event", event(ChunkType.REASONING, "d", run="other")),
        ("event", event(ChunkType.REASONING, "e", run="other", message="next")),
    ]
    told = [(kind, payload if kind == "changed" else payload.data["content"]) for kind, payload in coalesce(batch)]
    assert told == [("event", "ab"), ("changed", ("task", "1")), ("event", "c"), ("event", "d"), ("event", "e")]


def test_runs_that_stream_at_once_are_joined_each_for_itself() -> None:
    names = ("one", "two", "three")
    batch = [("event", event(ChunkType.TOKEN, str(number), run=run, message=run)) for number in range(5) for run in names]
    joined = coalesce(batch)
    assert [(payload.run_id, payload.data["content"]) for _kind, payload in joined] == [(run, "01234") for run in names]


def test_a_run_keeps_its_order_and_an_end_comes_after_the_last_words() -> None:
    end = StreamEvent(workflow_id="w", run_id="parent", chunk_type=ChunkType.SUB_AGENT_COMPLETE)
    elsewhere = StreamEvent(workflow_id="other", run_id="far", chunk_type=ChunkType.RUN_STATUS)
    batch = [
        ("event", event(ChunkType.REASONING, "think", run="child")),
        ("event", event(ChunkType.TOKEN, "a", run="child")),
        ("event", elsewhere),
        ("event", event(ChunkType.TOKEN, "b", run="child")),
        ("event", end),
        ("event", event(ChunkType.TOKEN, "c", run="child")),
    ]
    told = [(payload.chunk_type.value, payload.data.get("content")) for _kind, payload in coalesce(batch)]
    assert told == [("reasoning", "think"), ("token", "ab"), ("run_status", None), ("sub_agent_complete", None), ("token", "c")]
