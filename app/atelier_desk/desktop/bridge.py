"""Between two threads: the window's coroutines call the engine, the engine's events reach the window.

Calls go over ``asyncio.run_coroutine_threadsafe``; events come back through one deque and one pending wake-up signal, are drained at
30 Hz and joined: a thousand tokens become thirty events for each run that streams.

asyncio and logging are imported when they are first needed: the window is painted before that.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from atelier_desk.desktop.once import Once

if TYPE_CHECKING:
    import asyncio

    from atelier_desk.desktop.engine_thread import EngineThread
    from atelier_desk.domain.stream import StreamEvent

DRAIN_MS = 33
"""Milliseconds between two drains while events come: 30 Hz."""

_TEXT = frozenset({"token", "reasoning"})

Opener = Callable[[Path | None], Any]
"""Gives the asynchronous context manager that opens the engine."""


class Bridge(QObject):
    """What widgets hold of the engine.

    Attributes:
        once: starts what a button asks for, unless it runs already.

    Signals:
        stream_event: a ``StreamEvent``, in order, the tokens of each run joined.
        changed: topic and id of a thing that changed.
        engine_opened: the engine answers calls from now on.
        engine_failed: the exception that kept it from opening, or ended it.
        engine_closed: it is closed; the program may end.
        failed: an exception no widget handled; shown as a toast.
    """

    stream_event = Signal(object)
    changed = Signal(str, str)
    engine_opened = Signal()
    engine_failed = Signal(object)
    engine_closed = Signal()
    failed = Signal(object)
    _woken = Signal()
    _opened = Signal()
    _broken = Signal(object)
    _ended = Signal()

    def __init__(self, data_dir: Path | None = None, *, opener: Opener | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data_dir, self._opener = data_dir, opener
        self._thread: EngineThread | None = None
        self._queue: deque[tuple[str, Any]] = deque()
        self._pending = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self.once = Once(self.start)
        self._drainer = QTimer(self)
        self._drainer.setSingleShot(True)
        self._drainer.timeout.connect(self._drain)
        self._woken.connect(self._on_woken)
        self._opened.connect(self._on_opened)
        self._broken.connect(self.engine_failed)
        self._ended.connect(self.engine_closed)
        self.ready = False
        self._closing = False

    # -- life -----------------------------------------------------------------------------------------------------------------
    def start_engine(self) -> None:
        """Open the engine on its own thread; ``engine_opened`` or ``engine_failed`` follows."""
        from atelier_desk.desktop.engine_thread import EngineThread, open_engine

        self._closing = False
        self._thread = EngineThread(
            self._data_dir,
            opened=self._attach,
            failed=self._broken.emit,
            closed=self._ended.emit,
            opener=self._opener or open_engine,
        )
        self._thread.start()

    def stop_engine(self) -> None:
        """Close the engine; ``engine_closed`` follows."""
        self.ready = False
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        if self._thread is None or not self._thread.is_alive():
            self._ended.emit()
        else:
            self._thread.stop()

    def wait_closed(self, timeout_s: float) -> bool:
        """Block until the engine's thread ended; for the very end of the program."""
        if self._thread is not None:
            self._thread.join(timeout_s)
            return not self._thread.is_alive()
        return True

    @property
    def data_dir(self) -> Path | None:
        return self._data_dir

    # -- calls ----------------------------------------------------------------------------------------------------------------
    async def call(self, function: Callable[[Any], Any]) -> Any:
        """Run ``function(atelier)`` on the engine's loop and await its result here. Cancelling this cancels that.

        Raises:
            RuntimeError: the engine is not open.
            CancelledError: the program closes; a timer that fires now has nobody to tell.
            AtelierError: whatever the engine raised.
        """
        import asyncio

        if self._closing:
            raise asyncio.CancelledError
        thread = self._thread
        if thread is None or thread.engine is None:
            raise RuntimeError("the engine is not open")
        engine = thread.engine

        async def run() -> Any:
            result = function(engine)
            if asyncio.iscoroutine(result) or isinstance(result, Awaitable):
                return await result
            return result

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), thread.loop))

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine of the window from a slot; an exception it lets out is sent to ``failed``."""
        import asyncio

        task = asyncio.get_event_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def do(self, function: Callable[[Any], Any]) -> asyncio.Task[Any]:
        """``start(call(function))``: fire a call whose result is not needed."""
        return self.start(self.call(function))

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            import logging

            logging.getLogger(__name__).error("window task failed", exc_info=error)
            with contextlib.suppress(RuntimeError):  # the window is gone already
                self.failed.emit(error)

    # -- events ---------------------------------------------------------------------------------------------------------------
    def _attach(self, engine: Any) -> None:
        """On the engine's thread: subscribe before anybody can miss an event."""
        engine.bus.subscribe(lambda event: self.post("event", event))
        engine.bus.on_changed(lambda topic, key: self.post("changed", (topic, key)))
        self._opened.emit()

    def _on_opened(self) -> None:
        if self._closing:
            return
        self.ready = True
        self.engine_opened.emit()

    def post(self, kind: str, payload: Any) -> None:
        """From the engine's thread: queue one event or change and wake the window if nobody did."""
        self._queue.append((kind, payload))
        if not self._pending:
            self._pending = True
            self._woken.emit()

    def _on_woken(self) -> None:
        if not self._drainer.isActive():
            self._drainer.start(DRAIN_MS)

    def _drain(self) -> None:
        self._pending = False
        if not self.ready:  # closing: nobody shows it any more, and it is all in the journal
            self._queue.clear()
            return
        batch: list[tuple[str, Any]] = []
        while self._queue:
            batch.append(self._queue.popleft())
        for kind, payload in coalesce(batch):
            if kind == "event":
                self.stream_event.emit(payload)
            else:
                self.changed.emit(*payload)


def coalesce(batch: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Join the tokens (and the reasoning) of each run, also where several stream at once; keep one of several equal changes, the first.

    A joined text stands where its first word stood. The events of one run keep their order, and every other event of a workflow ends
    the texts of that workflow: a parent never hears of its sub-agent's end before the sub-agent's last words.
    """
    result: list[tuple[str, Any]] = []
    seen: set[tuple[str, str]] = set()
    texts: dict[str, tuple[int, StreamEvent, list[str]]] = {}
    """By run, the text that may go on: its place in the result, its first event, its pieces."""

    def close(run_id: str) -> None:
        place, event, parts = texts.pop(run_id)
        if len(parts) > 1:
            joined = event.model_copy(update={"data": {**event.data, "content": "".join(parts)}})
            result[place] = ("event", joined)

    for kind, payload in batch:
        if kind == "changed":
            if payload not in seen:
                seen.add(payload)
                result.append((kind, payload))
            continue
        if payload.chunk_type not in _TEXT:
            for run_id in [run_id for run_id, (_place, event, _parts) in texts.items() if event.workflow_id == payload.workflow_id]:
                close(run_id)
            result.append((kind, payload))
            continue
        open_text = texts.get(payload.run_id)
        if open_text is not None and _stream_key(open_text[1]) == _stream_key(payload):
            open_text[2].append(str(payload.data.get("content", "")))
            continue
        if open_text is not None:
            close(payload.run_id)
        texts[payload.run_id] = (len(result), payload, [str(payload.data.get("content", ""))])
        result.append((kind, payload))
    for run_id in list(texts):
        close(run_id)
    return result


def _stream_key(event: StreamEvent) -> tuple[str, str, object]:
    """Tokens with the same key belong to the same text."""
    return event.run_id, event.chunk_type.value, event.data.get("message_id")
