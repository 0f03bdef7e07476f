"""The bridge between two threads: the window's coroutines call the engine, the engine's events reach the window.

``await bridge.engine.workflows.rename(id, name)`` runs on the engine's loop. Events come back through one deque and
one pending wake-up signal; they are drained at 30 Hz and coalesced, so a thousand tokens become thirty events per
streaming run.

The classes of stream events are imported on first use: the window is painted before that.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from PySide6.QtCore import QObject, QTimer, Signal

from atelier_desk.desktop.bridge.engine_proxy import EngineCalls, Remote
from atelier_desk.desktop.bridge.jobs import Jobs, error_text
from atelier_desk.desktop.bridge.stream_router import StreamRouter
from atelier_desk.support.garbage_collection import collect_due

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from atelier_desk.desktop.bridge.engine_thread import EngineThread
    from atelier_desk.domain.stream.event import StreamEvent, Topic
    from atelier_desk.engine.atelier import Atelier

DRAIN_MS = 33
"""Milliseconds between two drains while events arrive: 30 Hz."""
AT_ONCE_S, FRAME_MS = 0.006, 16
"""Seconds for notifying widgets, and milliseconds of pause before the rest, so that the window can repaint."""

_TEXT = frozenset({"token", "reasoning"})

Opener = Callable[[Path | None], "AbstractAsyncContextManager[Atelier]"]
"""Returns the asynchronous context manager that opens the engine."""


class Change(NamedTuple):
    """Something that lists on the screen show has changed."""

    topic: Topic
    id: str


class Bridge(QObject):
    """The widgets' access to the engine.

    Attributes:
        jobs: work started by the window that outlives its widgets; widgets have jobs of their own.
        stream: what the events of all workflows mean.

    Signals:
        stream_event: a ``StreamEvent``, in order, the tokens of each run joined; for routers and rows.
        changed: topic and id of a thing that changed.
        engine_opened: the engine answers calls from now on.
        engine_failed: the exception that kept it from opening, or ended it.
        engine_closed: it is closed; the program may end.
        failed: a sentence about an error no widget handled; shown as a toast.
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

    def __init__(
        self, data_dir: Path | None = None, *, opener: Opener | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._data_dir, self._opener = data_dir, opener
        self.engine_thread: EngineThread | None = None
        self._queue: deque[StreamEvent | Change] = deque()
        self._joined: deque[StreamEvent | Change] = deque()
        self._pending = False
        self._deferring: list[frozenset[str]] = []
        self._deferred: dict[Change, None] = {}
        self.jobs = Jobs(self, self._report)
        self.stream = StreamRouter(self.stream_event, self)
        self._remote = cast(EngineCalls, Remote(self))
        self._drainer = QTimer(self)
        self._drainer.setSingleShot(True)
        self._drainer.timeout.connect(self._drain)
        self._woken.connect(self._on_woken)
        self._opened.connect(self._on_opened)
        self._broken.connect(self.engine_failed)
        self._ended.connect(self.engine_closed)
        self.ready = False
        self.closing = False

    def start_engine(self) -> None:
        """Open the engine on its own thread; ``engine_opened`` or ``engine_failed`` follows."""
        from atelier_desk.desktop.bridge.engine_thread import EngineThread, open_engine

        self.closing = False
        self.engine_thread = EngineThread(
            self._data_dir,
            opened=self._attach,
            failed=self._broken.emit,
            closed=self._ended.emit,
            opener=self._opener or open_engine,
        )
        self.engine_thread.start()

    def stop_engine(self) -> None:
        """Close the engine; ``engine_closed`` follows."""
        self.ready = False
        self.closing = True
        self.jobs.cancel()
        if self.engine_thread is None or not self.engine_thread.is_alive():
            self._ended.emit()
        else:
            self.engine_thread.stop()

    def wait_closed(self, timeout_s: float) -> bool:
        """Block until the engine's thread has ended; only for the very end of the program."""
        if self.engine_thread is not None:
            self.engine_thread.join(timeout_s)
            return not self.engine_thread.is_alive()
        return True

    @property
    def data_dir(self) -> Path | None:
        return self._data_dir

    @property
    def engine(self) -> EngineCalls:
        """The engine's services.

        Awaiting a method runs it on the engine's loop; cancellation passes in both directions.

        Raises, when awaited:
            RuntimeError: the engine is not open.
            CancelledError: the program is closing, so no widget is left to answer.
            AtelierError: raised by the engine.
        """
        return self._remote

    def _report(self, problem: str) -> None:
        with contextlib.suppress(RuntimeError):  # the window was already deleted
            self.failed.emit(problem)

    def _attach(self, engine: Atelier) -> None:
        """On the engine's thread: subscribe before any event can be missed."""
        engine.bus.subscribe(self.post)
        engine.bus.on_changed(lambda topic, id: self.post(Change(topic, id)))
        engine.bus.on_failure(lambda _name, error: self._report(error_text(error)))
        self._opened.emit()

    def _on_opened(self) -> None:
        if self.closing:
            return
        self.ready = True
        self.engine_opened.emit()

    def post(self, news: StreamEvent | Change) -> None:
        """On the engine's thread: queue one event or change, and wake the window unless a wake-up is pending."""
        self._queue.append(news)
        if not self._pending:
            self._pending = True
            self._woken.emit()

    @contextlib.contextmanager
    def deferring(self, workflow_ids: Collection[str]) -> Iterator[None]:
        """Deliver the changes of these workflows only at the end of the block, each once.

        For blocks that change one after another: every list of workflows would reload after each.
        """
        ids = frozenset(workflow_ids)
        self._deferring.append(ids)
        try:
            yield
        finally:
            self._deferring.remove(ids)
            for change in [each for each in self._deferred if each.id in ids]:
                del self._deferred[change]
                self.post(change)

    def _on_woken(self) -> None:
        if not self._drainer.isActive():
            self._drainer.start(DRAIN_MS)

    def _drain(self) -> None:
        self._pending = False
        if not self.ready:  # closing: no longer shown, and everything is in the journal
            self._queue.clear()
            self._joined.clear()
            return
        until = time.perf_counter() + AT_ONCE_S
        # The rest is joined already: on a busy machine joining it again each frame cost more than delivering it.
        if not self._joined:
            batch: list[StreamEvent | Change] = []
            while self._queue:
                batch.append(self._queue.popleft())
            self._joined.extend(coalesce(batch))
        while self._joined:
            news = self._joined.popleft()
            if isinstance(news, Change):
                if news.topic == "workflow" and any(news.id in ids for ids in self._deferring):
                    self._deferred[news] = None
                else:
                    self.changed.emit(news.topic, news.id)
            else:
                self.stream_event.emit(news)
            if time.perf_counter() > until:
                break
        if self._joined:
            self._drainer.start(FRAME_MS)
        elif self._queue:  # it arrived during delivery, when the timer was running already
            self._drainer.start(DRAIN_MS)
        collect_due()


def coalesce(batch: Sequence[StreamEvent | Change]) -> list[StreamEvent | Change]:
    """Join the text and reasoning tokens of each run, and drop repeated changes, keeping the first.

    A joined text takes the place of its first token. The events of one run keep their order, and any other event of a
    workflow ends the pending texts of that workflow: a parent is never notified of its sub-agent's end before the
    sub-agent's last tokens.
    """
    result: list[StreamEvent | Change] = []
    seen: set[Change] = set()
    texts: dict[str, tuple[int, StreamEvent, list[str]]] = {}
    """By run, the text that may go on: its place in the result, its first event, its pieces."""

    def close(run_id: str) -> None:
        place, event, parts = texts.pop(run_id)
        if len(parts) > 1:
            result[place] = event.model_copy(update={"data": {**event.data, "content": "".join(parts)}})

    for news in batch:
        if isinstance(news, Change):
            if news not in seen:
                seen.add(news)
                result.append(news)
            continue
        if news.chunk_type not in _TEXT:
            for run_id in [
                run_id for run_id, (_place, event, _parts) in texts.items() if event.workflow_id == news.workflow_id
            ]:
                close(run_id)
            result.append(news)
            continue
        open_text = texts.get(news.run_id)
        if open_text is not None and _continues(open_text[1], news):
            open_text[2].append(news.data.get("content", ""))
            continue
        if open_text is not None:
            close(news.run_id)
        texts[news.run_id] = (len(result), news, [news.data.get("content", "")])
        result.append(news)
    for run_id in list(texts):
        close(run_id)
    return result


def _continues(first: StreamEvent, token: StreamEvent) -> bool:
    """Whether a token continues the text that started with ``first``.

    A token that turns earlier text into reasoning starts a new one. The fields are read without validating each token
    (``TextPayload``): with eight streams that took most of a drain.
    """
    return (
        token.chunk_type == first.chunk_type
        and token.data.get("message_id", "") == first.data.get("message_id", "")
        and not token.data.get("all_before")
    )
