"""The desktop program: shows the window, opens the engine, and closes both in order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QEventLoop, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from atelier_desk.desktop.bridge.bridge import Bridge, Opener
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.system.crash_handler import CrashHandler
from atelier_desk.desktop.theme import STYLE, theme
from atelier_desk.desktop.widgets.held_input_guard import InputGuard
from atelier_desk.desktop.widgets.input_method import composing
from atelier_desk.desktop.window import MainWindow, deferred_imports
from atelier_desk.domain.limits import PROGRAM_ENDS_S
from atelier_desk.support import malloc_tuning
from atelier_desk.support.garbage_collection import collect_due
from atelier_desk.support.i18n import LANGUAGES, _, language, system_language
from atelier_desk.support.lazy_module import LateModule
from atelier_desk.support.shutdown import EndWatch, ending_signals

if TYPE_CHECKING:
    from atelier_desk.desktop import deferred_imports as later
    from atelier_desk.domain.settings import Settings
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.engine.atelier import Atelier
else:
    later = LateModule("atelier_desk.desktop.deferred_imports")

SAVE_S = 0.5
"""How long the closing window waits for its layout to be saved."""
SIGNAL_POLL_MS = 100
MOST_ENDS = 20
"""How many times Qt's loop may be ended from outside before the program stops waiting for the engine in it."""
FIRST_PAINT_S = 1.0
SWITCH_S = 0.0002
"""Seconds the engine's thread may hold the interpreter while the window waits for it.

Python's default of 5 ms adds up to stalls of 100 ms, because every call into Qt releases the interpreter and acquires
it again; 1 ms still gave stalls of 45 to 75 ms (``bench_desktop``, ``bench_team_window``).
"""
FIRST_PAINT_FILE = "window.json"
"""A copy of what the first paint needs (theme, scale, language, geometry), readable before the database is open."""


def main(
    data_dir: Path | None,
    argv: Sequence[str] = (),
    *,
    opener: Opener | None = None,
    quick: bool = False,
    painted: Callable[[], object] = lambda: None,
) -> int:
    """Open the desktop on a data folder and run it until it is closed.

    Args:
        data_dir: an absolute folder, or None for the default place.
        argv: the command line, for ``--lang``, ``--log-level`` and ``--accept-loss``.
        quick: open the quick ask window too.
        opener: returns the context manager that opens the engine; tests and benches bring their own.
        painted: called after the first paint, before the engine is opened.
    """
    sys.setswitchinterval(SWITCH_S)
    malloc_tuning.share_arenas()
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    qt = QApplication.instance() or QApplication([sys.argv[0], *STYLE, *argv])
    assert isinstance(qt, QApplication)
    qt.setApplicationName("Atelier")
    composing()
    qt.setDesktopFileName("org.atelier_desk.Atelier")  # the file in packaging/linux, without its extension
    qt.setQuitOnLastWindowClosed(False)
    program = Program(qt, data_dir, argv, opener)
    program.quick, program.painted = quick, painted
    return program.run()


class Program(QObject):
    """One run of the desktop: owns bridge and window, opens and closes the engine."""

    _raise_asked = Signal()
    _quick_asked = Signal()
    _crashed = Signal(str, str)
    _upgrading = Signal(str, int)

    def __init__(
        self, qt: QApplication, data_dir: Path | None, argv: Sequence[str], opener: Opener | None = None
    ) -> None:
        super().__init__()
        self._qt, self._data_dir = qt, data_dir
        self._level = _option(argv, "--log-level") or "INFO"
        self._language = _option(argv, "--lang") or os.environ.get("ATELIER_LANG", "")
        self._accept_loss = "--accept-loss" in argv
        layout = self._load_first_paint()
        self._closing = False
        self._input_guard = InputGuard(qt, self)
        self.quick = False
        self.painted: Callable[[], object] = lambda: None
        self._watch = EndWatch(0, PROGRAM_ENDS_S) if opener is None else None
        """Only where the program is the whole process: a test, or whoever else brings an engine, is not to be ended
        with it.
        """
        self._closed: asyncio.Event | None = None
        self.bridge = Bridge(data_dir, opener=opener or self._open)
        self.crash = CrashHandler(data_dir / "logs" if data_dir is not None else None, self._crashed.emit)
        self.crash.install()
        theme().install(layout.get("theme", "system"), int(layout.get("font_scale", 100)))
        self._shown_language = ""
        self._switch_language(self._language or layout.get("language", "system"))
        self.window = MainWindow(self.bridge)
        self.window.restore_layout(layout.get("window", {}))
        self._layout_saver: later.LayoutKeeper | None = None
        self._connect()
        self._follow_settings()

    def _connect(self) -> None:
        self._raise_asked.connect(self.window.raise_up)
        self._quick_asked.connect(self.window.quick_ask)
        self._crashed.connect(self._show_crash)
        self.window.closing.connect(self._on_closing)
        self._qt.commitDataRequest.connect(lambda _session: self.window.end())  # the user logs out
        self.window.language_requested.connect(self._on_language)
        self.bridge.engine_opened.connect(lambda: self.bridge.jobs.start(self._on_opened()))
        self.bridge.engine_failed.connect(self._on_failed)
        self.bridge.engine_closed.connect(self._on_closed)
        self.bridge.changed.connect(self._on_changed)

    def run(self) -> int:
        """Paint the window, call ``painted``, then load everything else; returns the exit status."""
        self.window.show()
        self._paint_first()
        self.painted()
        self._upgrading.connect(lambda *step: self.window.opening.show_step(later.upgrade_text(*step)))
        loop = later.qasync.QEventLoop(self._qt, already_running=False)
        asyncio.set_event_loop(loop)
        loop.set_exception_handler(self.crash.loop_handler)
        self._handle_signals()
        self._closed = asyncio.Event()
        gc.disable()  # the engine's thread would destroy widgets: see ``collect_due``
        self.bridge.start_engine()
        self.window.prepare()
        self.window.chat.workflow_shown.connect(lambda *_: self.bridge.jobs.start(_return_memory()))
        with loop:
            self._run_to_the_end(loop)
        self.bridge.wait_closed(PROGRAM_ENDS_S)
        if self._watch is not None:
            self._watch.returned()
        return 0

    def _run_to_the_end(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the loop until the engine is closed.

        The desktop may end Qt's loop earlier, at logout or when the program is quit from the dock. That is treated as
        closing the window: everything is still saved.
        """
        assert self._closed is not None
        over = loop.create_task(self._closed.wait())
        for _time in range(MOST_ENDS):
            try:
                loop.run_until_complete(over)
            except RuntimeError:
                if over.done():
                    raise
                self._on_closing()
            else:
                return
        over.cancel()
        self.bridge.stop_engine()  # it closes on its own thread, which is joined

    def _paint_first(self) -> None:
        """Process events until the window was painted, or for a second (the desktop may hide the window)."""
        watcher = _PaintWatcher(self.window)
        until = time.monotonic() + FIRST_PAINT_S
        while not watcher.painted and time.monotonic() < until:
            self._qt.processEvents(
                QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents | QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 50
            )

    def _handle_signals(self) -> None:
        """SIGINT, SIGTERM and SIGHUP close the window as the user does; a second signal kills the program."""
        for number in ending_signals():
            with contextlib.suppress(ValueError):  # not on the main thread: tests
                signal.signal(number, self._on_signal)
        ticking = QTimer(self)
        ticking.timeout.connect(collect_due)  # each call into Python also lets it handle signals while Qt waits
        ticking.start(SIGNAL_POLL_MS)

    def _on_signal(self, _number: int, _frame: object) -> None:
        if self._watch is not None:
            self._watch.start()
        QTimer.singleShot(0, self.window, self.window.end)

    def _open(self, data_dir: Path | None) -> AbstractAsyncContextManager[Atelier]:
        """On the engine's thread."""
        from atelier_desk.desktop.bridge.engine_opening import open_for_window

        return open_for_window(
            data_dir,
            self._level,
            accept_loss=self._accept_loss,
            upgrading=self._upgrading.emit,
            on_raise=self._on_raise,
            on_quick=self._on_quick,
        )

    def _on_raise(self) -> bool:
        """On the engine's thread: a second start asks for the window."""
        self._raise_asked.emit()
        return True

    def _on_quick(self) -> bool:
        """On the engine's thread: another process asks for the quick ask window."""
        self._quick_asked.emit()
        return True

    async def _on_opened(self) -> None:
        settings = await self.bridge.engine.settings.get()
        self._follow_language(settings.language)  # an engine that is reopened applies the stored language itself
        await self.window.start(settings)
        self._layout_saver = later.LayoutKeeper(self.window, self._save_window_later)
        self._layout_saver.start()
        _calm_collector()
        if not settings.first_start_done:
            self.window.show_first_steps(first=True)
        elif self.quick:
            self.window.quick_ask()
        await self.bridge.engine.data.follow_folder()
        await self.bridge.engine.resume_pending()
        await self._clear_left()
        await asyncio.to_thread(self.crash.load)

    async def _clear_left(self) -> None:
        """Delete browser files left by a killed program, and return the memory used for starting up."""
        await asyncio.to_thread(deferred_imports.clear_left)
        await _return_memory()

    def _follow_settings(self) -> None:
        follow = self.window.settings.subscribe
        follow(theme().set_mode, "theme")
        follow(theme().set_scale, "font_scale")
        follow(self._follow_language, "language")
        follow(self._save_first_paint, "theme", "font_scale", "language")

    def _follow_language(self, chosen: str) -> None:
        requested = self._language or chosen
        code = requested if requested in LANGUAGES else system_language()
        if code != self._shown_language or code != language():  # the engine sets the stored one while opening
            self._switch_language(code)

    def _save_first_paint(self, *_look: object) -> None:
        self._write_first_paint(self.window.settings.applied)

    def _on_failed(self, error: BaseException) -> None:
        if not self._closing:
            where = str(self._data_dir or "")
            self.window.show_engine_error(error, where, self._retry)

    def _retry(self) -> None:
        self.window.leave_engine_error()
        self.bridge.start_engine()

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic == "settings" and key != "window":
            if key == "language":
                self._language = ""  # a choice made now overrides the command line
            self.bridge.jobs.start(self._publish())
        elif topic == "data" and not self._closing:
            self.window.sidebar.foot.show_connection("moved" if key == "moved" else "ready")

    async def _publish(self) -> None:
        await self.window.settings.publish(await self.bridge.engine.settings.get())

    def _on_language(self, code: str) -> None:
        self._language = ""
        self._switch_language(code)
        if self.bridge.ready:
            self.bridge.jobs.start(self.bridge.engine.settings.update(language=code))

    def _switch_language(self, code: str) -> None:
        self._shown_language = switch_language(code)

    def _on_closing(self) -> None:
        if self._closing:
            return
        self._closing = True
        if self._watch is not None and not self._watch.asked:
            self._watch.start()
        self.window.sidebar.foot.show_connection("closing")
        task = asyncio.get_event_loop().create_task(self._close())
        task.add_done_callback(lambda done: done.exception())

    async def _close(self) -> None:
        try:
            if self.bridge.ready and self.window.presenter is not None:  # without a presenter there is nothing to save
                async with asyncio.timeout(SAVE_S):
                    await self._save_window()
        finally:
            self.bridge.stop_engine()

    def _save_window_later(self) -> None:
        if self.bridge.ready and not self._closing:
            self.bridge.jobs.start(self._save_window())

    async def _save_window(self) -> None:
        layout = self.window.layout_state()
        settings = await self.bridge.engine.settings.update(window=layout)
        self._write_first_paint(settings)

    def _on_closed(self) -> None:
        if self._closing and self._closed is not None:
            self._closed.set()

    def _show_crash(self, text: str, path: str) -> None:
        """Show a crash report, save the draft, offer to copy the report.

        While the dialog is open, further errors are only written to the log folder.
        """
        from atelier_desk.desktop.widgets.message_box import MessageBox

        self.window.save_draft()
        if any(shown.isVisible() for shown in self.window.findChildren(MessageBox, "crash")):
            return
        box = MessageBox(self.window, "crash")
        box.setIconPixmap(theme().pixmap("triangle-alert", "err", theme().px(32), box.devicePixelRatioF()))
        box.setWindowTitle(_("Something went wrong"))
        box.setText(_("An unexpected error occurred. Your draft was saved."))
        box.setInformativeText(_("A report was saved to {path}.", path=path) if path else "")
        box.setDetailedText(text)
        copy = box.addButton(_("Copy report"), MessageBox.ButtonRole.ActionRole)
        box.addButton(_("Close"), MessageBox.ButtonRole.RejectRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
        box.open()

    def _first_paint_path(self) -> Path | None:
        return self._data_dir / FIRST_PAINT_FILE if self._data_dir is not None else None

    def _load_first_paint(self) -> dict[str, Any]:
        path = self._first_paint_path()
        if path is None or not path.is_file():
            return {}
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}

    def _write_first_paint(self, settings: Settings) -> None:
        path = self._first_paint_path()
        if path is None:
            return
        stored = {
            "theme": settings.theme,
            "font_scale": settings.font_scale,
            "language": settings.language,
            "window": {key: value for key, value in settings.window.items() if key != "workflow"},
        }
        with contextlib.suppress(OSError):  # only a copy: without it the first paint uses defaults
            temporary = path.with_suffix(".tmp")
            temporary.write_text(json.dumps(stored), encoding="utf-8")
            temporary.replace(path)


class _PaintWatcher(QObject):
    """Detects the first paint of a window; installs and removes itself."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.painted = False
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.UpdateRequest:
            watched.removeEventFilter(self)
            QTimer.singleShot(0, self, self._done)
        return False

    def _done(self) -> None:
        self.painted = True


def _calm_collector() -> None:
    """Exclude everything loaded so far from garbage collection: a full collection blocks the window for 100 ms."""
    gc.unfreeze()  # what an engine that was closed since left
    gc.collect()
    gc.freeze()


async def _return_memory() -> None:
    """Return memory that was freed after starting up, or after reading a workflow (5 MB after 10 000 messages)."""
    await asyncio.to_thread(malloc_tuning.trim)


def _option(argv: Sequence[str], name: str) -> str:
    for index, argument in enumerate(argv):
        if argument == name and index + 1 < len(argv):
            return argv[index + 1]
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2]
    return ""
