"""The program with its real window, its engine on its own thread and a real database, driven by a test.

The test function is ordinary synchronous code. Whenever it waits (``until``), Qt's events are processed, and with them
the window's asyncio loop: that loop is marked as running and works by Qt's timers, so that nothing here runs inside a
coroutine of the program and no event loop is nested in another.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import inspect
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import qasync
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.app import Program
from atelier_desk.desktop.widgets.picker import Picker
from atelier_desk.desktop.window import MainWindow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.ipc.server import IpcServer
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault

T = TypeVar("T")
W = TypeVar("W", bound=QWidget)

WAIT_MS = 15_000
"""Milliseconds a wait may take on a busy machine, many times what is needed."""

LONG_MS = 2_000
"""Longer single-shot timers of the window, such as that of a disappearing toast, are not waited for."""


def application() -> QApplication:
    return cast(QApplication, QApplication.instance())


class DrivenLoop(qasync.QEventLoop):  # type: ignore[misc]  # qasync tells nothing of its types
    """The window's loop while a test processes Qt's events: running from its creation until ``end``.

    ``QEventLoop.stop`` would call ``QApplication.exit``, after which every later wait in this process returns at once.
    """

    def __init__(self, qt: QApplication) -> None:
        self._ended = False
        super().__init__(qt, already_running=True)

    def is_running(self) -> bool:
        return not self._ended

    def end(self) -> None:
        """Close the loop; no task may be left in it."""
        self._ended = True
        asyncio.events._set_running_loop(None)
        application().aboutToQuit.disconnect(self._after_run_forever)
        self.close()


_MOVES = (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide)


class _Moving(QObject):
    """Counts moves and resizes by widget and new geometry, and when widgets are shown or hidden."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.widgets: Counter[str] = Counter()
        for each in (window, *window.findChildren(QWidget)):
            each.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _MOVES and isinstance(watched, QWidget):
            place = f"{event.type().name} {watched.geometry().getRect()}"
            self.widgets[f"{type(watched).__name__} {watched.objectName()} {place}"] += 1
        return False


class AppDriver:
    """The open program. Created by the fixture ``open_app``; closed at the end of the test, or by ``close`` for a
    restart.

    Attributes:
        window: the main window.
        model: the scripted model that answers all requests; None to use real providers.
        crashes: reports of unhandled errors; the fixture fails the test if there are any.
    """

    def __init__(
        self,
        qtbot: QtBot,
        data: Path,
        model: ScriptedModel | None,
        *,
        first_start: bool = False,
        argv: Sequence[str] = (),
    ) -> None:
        self.qtbot: Any = qtbot  # pytest-qt's clicks and keys are untyped
        self.data, self.model = data, model
        self.crashes: list[str] = []
        self._steps = len(model._steps) if model is not None else 0
        self._first_start = first_start
        self._closed = False
        qt = application()
        self._hooks = sys.excepthook, threading.excepthook
        self._loop = DrivenLoop(qt)
        self.program = Program(qt, data, list(argv), self._open)
        # so that pytest reports unhandled errors as a failure of this test
        sys.excepthook, threading.excepthook = self._hooks
        assert sys.__stderr__ is not None
        faulthandler.enable(sys.__stderr__)
        self.program._crashed.connect(lambda text, _path: self.crashes.append(text))
        self._loop.set_exception_handler(self.program.crash.loop_handler)
        self.program._closed = asyncio.Event()
        self.window: MainWindow = self.program.window
        self.bridge = self.program.bridge
        self.failures: list[BaseException] = []
        self._waited_for: Counter[str] = Counter()
        self.bridge.failed.connect(self.failures.append)
        self.window.show()
        self.window.activateWindow()  # as a window manager does
        self.bridge.start_engine()

    @asynccontextmanager
    async def _open(self, data_dir: Path | None) -> AsyncIterator[Atelier]:
        """On the engine's thread: the real engine with a scripted model, also serving other processes."""
        model = self.model
        factory = None if model is None else lambda _agent: model
        async with Atelier.open(data_dir, model_factory=factory, vault=KeyVault(environ={}), fsync=False) as atelier:
            settings = await atelier.settings.get()
            if not settings.first_start_done:
                # these requests are not in the scripts
                await atelier.settings.update(name_by_model=False, memories_at_end="off")
            if not settings.first_start_done and not self._first_start:
                await atelier.settings.update(first_start_done=True, language="en", theme="light")
            async with IpcServer(atelier, atelier.datadir, on_raise=self.program._on_raise):
                yield atelier

    def wait_open(self) -> None:
        """Wait until the engine answers and the window is filled."""
        self.until(lambda: self.bridge.ready and self.window.presenter is not None, "the engine is open")
        self.until(lambda: self.idle, "the window is filled")

    def unfinished_work(self) -> list[object]:
        """The window's unfinished work: tasks, undelivered events, and short timers that will reload or redraw."""
        timers = [timer for timer in self.window.findChildren(QTimer) if timer.isSingleShot() and timer.isActive()]
        doing: list[object] = [timer.parent() for timer in timers if timer.interval() < LONG_MS]
        doing += [task for task in asyncio.all_tasks(self._loop) if not task.done()]
        return doing + ["events"] * bool(self.bridge._queue or self.bridge._drainer.isActive())

    @property
    def idle(self) -> bool:
        return not self.unfinished_work()

    def settle(self) -> None:
        """Wait until the window has no unfinished work."""
        self._waited_for.clear()

        def at_rest() -> bool:
            doing = self.unfinished_work()
            self._waited_for.update(each if isinstance(each, str) else repr(each).split(" at ")[0] for each in doing)
            return not doing

        self.until(at_rest, "the window is idle")

    def close(self) -> None:
        """Close the window, without a question about running agents, and wait for the orderly end of the program."""
        if self._closed:
            return
        self.window.end()
        self.until_closed()

    def until_closed(self) -> None:
        """Wait for the end of the program after its window was closed."""
        self._closed = True
        closed = self.program._closed
        assert closed is not None
        self.until(closed.is_set, "the engine closed")
        assert self.bridge.wait_closed(10), "the engine's thread did not end"
        self.until(lambda: not [task for task in asyncio.all_tasks(self._loop) if not task.done()], "no task is left")
        self.window.deleteLater()
        self.program.deleteLater()
        self.bridge.deleteLater()
        for _round in range(3):
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
            QCoreApplication.processEvents()
        self._loop.end()
        gc.collect()

    def verify(self) -> None:
        """Check for errors that no screen shows: unhandled ones, failed tasks of the window, unscripted requests."""
        assert self.crashes == []
        assert self.failures == []
        if self.model is not None:
            assert len(self.model.requests) <= self._steps, "the model was asked more often than it was scripted for"

    def until(self, condition: Callable[[], T], what: str = "", timeout_ms: int = WAIT_MS) -> T:
        """Process events until ``condition()`` is true; returns its value."""
        found: list[T] = []

        def check() -> bool:
            value = condition()
            found[:] = [value]
            return bool(value)

        try:
            self.qtbot.waitUntil(check, timeout=timeout_ms)
        except Exception as error:
            raise AssertionError(f"not within {timeout_ms} ms: {what or condition}\n{self.describe()}") from error
        return found[0]

    def _moving(self) -> dict[str, int]:
        """How often each widget is moved or resized in the next second: layouts that never come to rest."""
        counted = _Moving(self.window)
        QTest.qWait(1_000)
        return counted.widgets

    def describe(self) -> str:
        """The texts on the screen, for the message of a failed wait."""
        lines = [
            f"under way: {self.unfinished_work()}",
            f"looks at which each was, since the window was last waited for: {self._waited_for}",
            f"moved or resized within a second: {self._moving()}",
            f"window: {rendered(self.window)[:3000]}",
            f"failures: {self.failures}",
            f"crashes: {self.crashes}",
        ]
        if self.model is not None:
            lines.append(f"model calls: {len(self.model.requests)}")
        return "\n".join(lines)

    @overload
    def find_all(self, name: str) -> list[QWidget]: ...
    @overload
    def find_all(self, name: str, kind: type[W]) -> list[W]: ...
    def find_all(self, name: str, kind: type[Any] = QWidget) -> list[Any]:
        """The visible widgets of this object name, in order of creation."""
        return [widget for widget in self.window.findChildren(kind, name) if widget.isVisible()]

    @overload
    def find(self, name: str, *, within: QWidget | None = None) -> QWidget: ...
    @overload
    def find(self, name: str, kind: type[W], within: QWidget | None = None) -> W: ...
    def find(self, name: str, kind: type[Any] = QWidget, within: QWidget | None = None) -> Any:
        """Wait for the one visible widget of this object name."""
        root = within if within is not None else self.window

        def visible() -> list[Any]:
            return [widget for widget in root.findChildren(kind, name) if widget.isVisible()]

        found = self.until(visible, f"{name} is visible")
        assert len(found) == 1, f"{len(found)} visible widgets are called {name}"
        return found[0]

    def until_hidden(self, name: str) -> None:
        """Wait until no widget of this name is visible."""
        self.until(lambda: not self.find_all(name), f"{name} is gone")

    def until_text(self, name: str, text: str) -> QWidget:
        """Wait until a visible widget of this object name shows ``text``; returns the widget."""
        found = self.until(
            lambda: [widget for widget in self.find_all(name) if text in rendered(widget)], f"{name} shows {text!r}"
        )
        return found[-1]

    def click(self, target: str | QWidget) -> None:
        """Left-click the middle of a widget, which must be enabled."""
        widget = self.find(target) if isinstance(target, str) else target
        self.until(widget.isEnabled, f"{widget.objectName()} is enabled")
        self.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    def type(self, target: str | QWidget, text: str) -> None:
        """Type ASCII text key by key."""
        widget = self.find(target) if isinstance(target, str) else target
        self.qtbot.keyClicks(widget, text)

    def press(
        self, target: str | QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        widget = self.find(target) if isinstance(target, str) else target
        self.qtbot.keyClick(widget, key, modifiers)

    def send(self, text: str) -> None:
        """Write a message and press the send button."""
        field = self.find("chat-input", QPlainTextEdit)
        assert not field.toPlainText()
        self.type(field, text)
        self.click("send-button")

    def choose(self, box: QComboBox, data: object) -> None:
        """Choose an entry of a combo box by its data, as with the keyboard: ``activated`` is emitted."""
        index = box.findData(data)
        assert index >= 0, f"{box.objectName()} has no {data!r}"
        box.setFocus()
        while box.currentIndex() != index:
            before = box.currentIndex()
            self.qtbot.keyClick(box, Qt.Key.Key_Down if index > before else Qt.Key.Key_Up)
            assert box.currentIndex() != before, f"{box.objectName()} did not move"

    def click_row(self, view: QAbstractItemView, text: str) -> None:
        """Click the row of a list that shows ``text``."""
        row = self.until(
            lambda: [number for number, words in enumerate(rows(view)) if text in words], f"a row shows {text!r}"
        )[0]
        index = view.model().index(row, 0)
        view.scrollTo(index)
        self.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(index).center())

    def until_row(self, name: str, text: str) -> str:
        """Wait until the list of this object name has a row with ``text``; returns the row's text.

        The list may be behind another pane.
        """

        def found() -> list[str]:
            return [
                row for view in self.window.findChildren(QAbstractItemView, name) for row in rows(view) if text in row
            ]

        return self.until(found, f"{name} has a row with {text!r}")[0]

    def action(self, name: str) -> None:
        """Trigger an action of the registry, as its menu entry or shortcut does."""
        self.window.actions_[name].trigger()

    @overload
    def engine(self, function: Callable[[Atelier], Awaitable[T]]) -> T: ...
    @overload
    def engine(self, function: Callable[[Atelier], T]) -> T: ...
    def engine(self, function: Callable[[Atelier], Any]) -> Any:
        """Run a function on the engine's thread and return its result, for checking stored data."""
        thread = self.bridge.engine_thread
        assert thread is not None
        opened = thread.engine
        assert opened is not None

        async def run() -> Any:
            result = function(opened)
            return await result if inspect.isawaitable(result) else result

        task = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), thread.loop), loop=self._loop)
        self.until(task.done, "the engine answered")
        return task.result()

    @property
    def workflow_id(self) -> str:
        return self.window.chat.workflow_id

    def until_reply(self, text: str) -> QWidget:
        """Wait until a reply of the agent with this text is in the transcript."""
        return self.until_text("assistant-message", text)

    def wait_done(self) -> None:
        """Wait until the agent of the workflow in view has finished."""
        self.until_hidden("stop-button")
        self.settle()


def rendered(widget: QWidget) -> str:
    """The visible texts of a widget: of its labels, buttons and text fields, one line each.

    Hyphens that do not break are plain ones, as they look.
    """
    lines: list[str] = []
    for child in [widget, *widget.findChildren(QWidget)]:
        if not child.isVisible():
            continue
        if isinstance(child, (QTextEdit, QPlainTextEdit)):
            lines.append(child.toPlainText())
        elif isinstance(child, Picker):
            lines.append(child.full_text)  # the chosen entry in full, even if it is elided
        elif isinstance(child, (QLabel, QAbstractButton, QLineEdit)):
            lines.append(child.text())
        elif isinstance(child, QComboBox):
            lines.append(child.currentText())
    return "\n".join(line for line in lines if line.strip()).replace("\N{NON-BREAKING HYPHEN}", "-")


def error_text(widget: QWidget) -> list[str]:
    """The text of a widget in the colour of errors."""
    found = [
        each
        for each in [widget, *widget.findChildren(QLabel)]
        if each.isVisible() and "err" in str(each.property("variant"))
    ]
    return [rendered(each) for each in found]


def rows(view: QAbstractItemView) -> list[str]:
    """The text of each row of a list, as announced by a screen reader."""
    model = view.model()
    indexes = [model.index(row, 0) for row in range(model.rowCount())]
    return [str(index.data(Qt.ItemDataRole.AccessibleTextRole) or index.data() or "") for index in indexes]


def scripted(steps: Sequence[Step] | ScriptedModel) -> ScriptedModel:
    return steps if isinstance(steps, ScriptedModel) else ScriptedModel(steps)
