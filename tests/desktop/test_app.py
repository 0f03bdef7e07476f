"""The program from start to end, with a small engine on its own thread."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from atelier_desk.desktop import app as desktop
from atelier_desk.desktop.main_window.loading_page import OpeningPage
from atelier_desk.desktop.main_window.startup_error_page import StartupErrorPage
from atelier_desk.desktop.panes.pane_base import Pane
from atelier_desk.desktop.system.crash_handler import CrashHandler
from atelier_desk.desktop.system.crash_report import report_text
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.settings import Settings
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.support import i18n
from atelier_desk.support.garbage_collection import THRESHOLDS
from tests.helpers.fake_bridge import FakeAtelier
from tests.storage.samples.unpack_sample import unpack


class Engine(FakeAtelier):
    """A fake Atelier with a bus and persistent settings."""

    def __init__(self) -> None:
        agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
        self.values = Settings(first_start_done=True, theme="dark", language="en")
        super().__init__(
            agents={"list": [agent], "default": agent},
            settings={"get": lambda: self.values, "update": self._update},
        )
        self.bus = EventBus()
        self.thread = 0
        self.closed = False

    async def resume_pending(self) -> None:
        self.log.append(("resume_pending", (), {}))

    def _update(self, **fields: Any) -> Settings:
        self.values = self.values.model_copy(update=fields)
        return self.values


@pytest.fixture(autouse=True)
def _hooks() -> Any:
    """Restore the hooks and loop that the program replaces."""
    hooks = sys.excepthook, threading.excepthook
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    sys.excepthook, threading.excepthook = hooks
    for number, handler in signals.items():
        signal.signal(number, handler)
    asyncio.set_event_loop(None)


def drive(monkeypatch: pytest.MonkeyPatch, then: Callable[[desktop.Program], bool]) -> None:
    """Call ``then`` on the running program repeatedly.

    When it returns True, or after 20 seconds, the window is closed.
    """
    original = desktop.Program.run

    def watched(program: desktop.Program) -> int:
        timer = QTimer(program)
        left = [4000]

        def first_paint() -> None:
            left[0] -= 1
            if then(program) or left[0] < 0:
                timer.stop()
                program.window.close()

        timer.timeout.connect(first_paint)
        timer.start(5)
        return original(program)

    monkeypatch.setattr(desktop.Program, "run", watched)


def test_the_engine_opens_after_the_first_paint_and_closes_after_saving_the_layout(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    happened: list[str] = []
    paint = desktop.Program._paint_first

    def painted(program: desktop.Program) -> None:
        paint(program)
        happened.append("painted")

    def then(program: desktop.Program) -> bool:
        return program.bridge.ready and bool(engine.calls("resume_pending"))

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        happened.append("opened")
        engine.thread = threading.get_ident()
        yield engine
        engine.closed = True

    monkeypatch.setattr(desktop.Program, "_paint_first", painted)
    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert happened == ["painted", "opened"]
    assert engine.thread != threading.get_ident()
    assert engine.closed
    assert engine.calls("resume_pending") == [((), {})]
    assert engine.values.window["geometry"]
    first_paint = json.loads((tmp_path / desktop.FIRST_PAINT_FILE).read_text())
    assert first_paint["theme"] == "dark"
    assert first_paint["window"]["geometry"] == engine.values.window["geometry"]


def test_garbage_is_collected_on_the_windows_thread_although_the_engines_allocates(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere a widget in an abandoned reference cycle would be destroyed outside its thread."""
    collected: list[int] = []

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            collected.append(threading.get_ident())

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        Cycle()
        yield Engine()
        assert [[] for _number in range(3 * THRESHOLDS[0])]

    gc.enable()  # as it is when the program starts
    drive(monkeypatch, lambda program: program.bridge.ready and bool(collected))
    try:
        assert desktop.main(tmp_path, [], opener=opener) == 0
        assert collected == [threading.get_ident()]
        assert not gc.isenabled()
    finally:
        gc.disable()


def test_memory_freed_at_the_start_and_by_reading_a_workflow_is_returned(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    returned: list[int] = []
    shown: list[str] = []
    monkeypatch.setattr("atelier_desk.support.malloc_tuning.trim", lambda: returned.append(threading.get_ident()))

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        yield Engine()

    def then(program: desktop.Program) -> bool:
        if len(returned) == 1 and not shown:
            shown.append("w1")
            program.window.chat.workflow_shown.emit("w1")
        return len(returned) == 2

    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert len(returned) == 2
    assert threading.get_ident() not in returned, "the window would wait"


@pytest.mark.parametrize("most", [desktop.MOST_ENDS, 1], ids=["once", "always"])
def test_when_the_desktop_ends_qts_loop_the_program_still_closes_in_order(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    engine = Engine()
    monkeypatch.setattr(desktop, "MOST_ENDS", most)

    def then(program: desktop.Program) -> bool:
        if program.bridge.ready:
            QApplication.exit()
        return program.bridge.ready

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        yield engine
        engine.closed = True

    crashes: list[str] = []
    monkeypatch.setattr(CrashHandler, "report", lambda _self, error, where="": crashes.append(f"{error!r} {where}"))
    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert engine.closed
    assert crashes == []


def test_pydantic_is_fully_imported_before_a_second_thread_imports_it(tmp_path: Path) -> None:
    """Qt's binding inspects each new module; a partly imported pydantic raised an error when two threads did it."""
    program = (
        "import os, sys\n"
        "from atelier_desk.desktop import app\n"
        "started = lambda bridge: (print('whole' if 'pydantic.main' in sys.modules else 'missing', flush=True), "
        "os._exit(0))\n"
        "app.Bridge.start_engine = started\n"
        "from pathlib import Path\n"
        "app.main(Path(sys.argv[1]), [])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["whole"], done.stderr


def test_the_first_paint_makes_no_classes_of_qt_that_it_does_not_show(tmp_path: Path) -> None:
    """Qt's binding makes a class with its enums when it is imported: those of QStyle take 2 % of this time."""
    program = (
        "import os, sys\n"
        "from atelier_desk.desktop import app\n"
        "from PySide6 import QtCore, QtGui, QtWidgets\n"
        "def painted():\n"
        "    made = {'QStyle', 'QStylePainter', 'QComboBox', 'QSpinBox', 'QAbstractItemView', 'QPlainTextEdit',"
        " 'QTextEdit', 'QTabBar', 'QTabWidget', 'QStandardPaths', 'QKeySequence', 'QFormLayout',"
        " 'QAbstractScrollArea'}\n"
        "    made &= {*vars(QtWidgets), *vars(QtGui), *vars(QtCore)}\n"
        "    loaded = {'html', 'platform', 'pydantic', 'qasync', 'atelier_desk.engine.atelier'}\n"
        "    loaded &= {*sys.modules}\n"
        "    loaded |= {each for each in sys.modules if each.endswith('deferred_imports')}\n"
        "    print('painted', *made, *loaded, flush=True)\n"
        "    os._exit(0)\n"
        "from pathlib import Path\n"
        "app.main(Path(sys.argv[1]), [], painted=painted)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["painted"], done.stderr


def test_an_engine_that_cannot_open_fills_the_window_and_can_be_tried_again(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    failures = [StorageError("Locked.", code="locked")]
    attempts: list[int] = []

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        attempts.append(1)
        if failures:
            raise failures.pop()
        yield engine
        engine.closed = True

    seen: list[str] = []

    def then(program: desktop.Program) -> bool:
        page = program.window.pages.currentWidget()
        if isinstance(page, StartupErrorPage) and not seen:
            seen.append(page.objectName())
            page.retry.click()
        return program.bridge.ready and bool(engine.calls("resume_pending"))

    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert seen == ["startup-error"]
    assert len(attempts) == 2
    assert engine.closed


def test_each_step_of_bringing_the_data_up_to_date_is_shown(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On data of an earlier version, opened by the engine itself."""
    unpack(13, tmp_path)
    seen: list[str] = []
    real = OpeningPage.show_step

    def show_step(page: OpeningPage, words: str) -> None:
        real(page, words)
        seen.append(page.accessibleName())

    monkeypatch.setattr(OpeningPage, "show_step", show_step)
    drive(monkeypatch, lambda program: program.bridge.ready)
    assert desktop.main(tmp_path / "data", []) == 0
    assert [number for number in range(1, 6) if any(f"step {number} of 5" in each for each in seen)] == [1, 2, 3, 4, 5]
    assert any("backup" in each for each in seen if "step 4 of 5" in each)
    assert any("%" in each for each in seen)


def test_the_layout_is_saved_while_the_window_is_used(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    hooks: list[str] = []
    opening: list[str] = []
    monkeypatch.setattr("atelier_desk.desktop.main_window.layout_saving.WAIT_MS", 1)

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        yield engine

    def then(program: desktop.Program) -> bool:
        if not program.bridge.ready:
            page = program.window.pages.currentWidget()
            assert page is not None
            opening.append(page.objectName())
            return False
        if not engine.calls("resume_pending"):
            return False
        if not hooks:
            hooks.append("")
            program.window.rail.show_pane("timeline")
            program.window.resize(1111, 777)
        first_paint = json.loads((tmp_path / desktop.FIRST_PAINT_FILE).read_text())
        if "window" in first_paint and first_paint["window"].get("geometry", "") and engine.values.window:
            hooks.append(first_paint["window"]["geometry"])
        return len(hooks) > 1

    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert opening[0] == "opening-page"
    assert hooks[1]


def test_while_it_opens_nothing_is_shown_as_empty_or_ready(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    seen: dict[str, set[str]] = {}
    may_open, may_list = threading.Event(), threading.Event()
    panes = ("task-pane", "question-inbox", "activity-pane", "memory-pane", "reports-pane")

    def words(program: desktop.Program) -> set[str]:
        """The texts of the footer and the empty panes."""
        found = [pane for name in panes if (pane := program.window.findChild(Pane, name)) is not None]
        return {
            program.window.sidebar.foot._words.text(),
            *(pane._empty.title for pane in found if pane._empty is not None),
        }

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        await asyncio.to_thread(may_open.wait, 20)
        yield engine

    async def listed(**_fields: Any) -> list[Any]:
        await asyncio.to_thread(may_list.wait, 20)
        return []

    engine.set("workflows", "list", listed)

    def then(program: desktop.Program) -> bool:
        if "opening" not in seen and program.window.findChild(Pane, "task-pane") is not None:
            seen["opening"] = words(program)
            may_open.set()
        elif "reading" not in seen and engine.calls("workflows.list"):
            seen["reading"] = words(program)
            may_list.set()
        elif engine.calls("resume_pending") and "Opening…" not in words(program):
            seen["read"] = words(program)
        return "read" in seen

    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert seen["opening"] == seen["reading"] == {"Opening…"}
    assert seen["read"] == {
        "Ready",
        "No tasks yet",
        "Nothing is waiting for you",
        "Nothing has run yet",
        "No memories yet",
        "No reports yet",
    }


def test_crash_reports_hide_keys_and_are_few(tmp_path: Path) -> None:
    from atelier_desk.support import logs

    shown: list[tuple[str, str]] = []
    handler = CrashHandler(tmp_path, lambda text, path: shown.append((text, path)))
    remove = logs.add_redactor(lambda text: text.replace("sk-secret", "[key]"))
    try:
        for number in range(25):
            (tmp_path / f"crash-20200101-0000{number:02d}.txt").write_text("old")
        handler.report(ValueError("bad sk-secret"), "somewhere")
    finally:
        remove()
    ((text, path),) = shown
    assert "bad [key]" in text
    assert "sk-secret" not in Path(path).read_text()
    assert len(list(tmp_path.glob("crash-*.txt"))) == 20


def test_an_error_while_a_report_is_shown_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shown: list[str] = []

    def show(text: str, _path: str) -> None:
        shown.append(text)
        if len(shown) < 9:
            handler.report(ImportError("second"))

    handler = CrashHandler(tmp_path, show)
    for _again in range(2):
        shown.clear()
        handler.report(ValueError("first"))
        (text,) = shown
        assert "first" in text
    assert (caplog.text.count("ValueError: first"), caplog.text.count("ImportError: second")) == (2, 2)


@pytest.mark.parametrize("damaged", ["main_window.status_line", "widgets.message_box"])
def test_a_module_that_cannot_be_loaded_is_reported_once(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: str
) -> None:
    """The box of the report is loaded alone; when it is the damaged one, the log has the report."""
    monkeypatch.delitem(sys.modules, "atelier_desk.desktop.main_window.deferred_imports", raising=False)
    monkeypatch.delattr("atelier_desk.desktop.main_window.deferred_imports", raising=False)
    monkeypatch.setitem(sys.modules, f"atelier_desk.desktop.{damaged}", None)
    shown: list[str] = []
    original = desktop.Program._show_crash

    def show(program: desktop.Program, text: str, path: str) -> None:
        shown.append(text)
        if len(shown) < 9:
            original(program, text, path)

    monkeypatch.setattr(desktop.Program, "_show_crash", show)
    qt = QApplication.instance()
    assert isinstance(qt, QApplication)
    program = desktop.Program(qt, tmp_path, ["--lang", "en"])
    try:
        program.window.prepare()
    except ImportError as error:
        program.crash.report(error)
    boxes = program.window.findChildren(MessageBox, "crash")
    (text,) = shown
    assert damaged in text
    assert len(boxes) == ("message_box" not in damaged)
    assert len(list((tmp_path / "logs").glob("crash-*.txt"))) == 1
    program.window.deleteLater()


def test_report_names_version_and_platform() -> None:
    from atelier_desk import __version__

    assert __version__ in report_text(RuntimeError("x"))


def test_a_damaged_first_paint_file_is_ignored(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / desktop.FIRST_PAINT_FILE).write_text("{not json")
    qt = QApplication.instance()
    assert isinstance(qt, QApplication)
    program = desktop.Program(qt, tmp_path, ["--lang", "fr", "--log-level=DEBUG"])
    assert program._load_first_paint() == {}
    assert (program._language, program._level) == ("fr", "DEBUG")
    program.window.deleteLater()


def test_the_command_lines_language_takes_precedence_over_the_stored_one(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    seen: list[str] = []

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        i18n.set_language("en")  # as the engine does with the stored setting
        yield engine

    def then(program: desktop.Program) -> bool:
        if program.bridge.ready and engine.calls("resume_pending"):
            seen.append(i18n.language())
        return bool(seen)

    drive(monkeypatch, then)
    assert desktop.main(tmp_path, ["--lang", "fr"], opener=opener) == 0
    assert seen == ["fr"]


def test_a_key_held_down_answers_no_dialog_that_opens(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, answered = Engine(), list[str]()

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        yield engine

    def then(program: desktop.Program) -> bool:
        if not program.bridge.ready or not engine.calls("resume_pending"):
            return False
        program._show_crash("details", "")
        (box,) = program.window.findChildren(MessageBox, "crash")
        box.finished.connect(lambda _: answered.append("closed"))
        for button in box.buttons():
            button.setFocus()
            for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
                event = QKeyEvent(kind, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, "\r", True)
                QApplication.sendEvent(button.window().windowHandle(), event)
        answered.append("open" if box.isVisible() else "")
        return True

    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert answered[0] == "open"


def test_a_changed_setting_is_applied_only_by_its_subscribers(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, seen = Engine(), []
    applied: list[tuple[str, ...]] = []

    @asynccontextmanager
    async def opener(data_dir: Path | None) -> AsyncIterator[Any]:
        yield engine

    def then(program: desktop.Program) -> bool:
        if program.bridge.ready and engine.calls("resume_pending") and not applied:
            for key in ("shortcuts", "tray", "theme", "language"):
                program.window.settings.subscribe(
                    lambda value, key=key: applied.append((key, str(value))), key, at_once=False
                )
            applied.append(("begun",))
            engine.values = engine.values.model_copy(update={"font_scale": 150, "language": "fr"})
            program.bridge.changed.emit("settings", "font_scale")
        if applied and theme().scale == 1.5 and i18n.language() == "fr":
            seen.append(json.loads((tmp_path / desktop.FIRST_PAINT_FILE).read_text())["font_scale"])
        return bool(seen)

    drive(monkeypatch, then)
    assert desktop.main(tmp_path, [], opener=opener) == 0
    assert (applied, seen) == ([("begun",), ("language", "fr")], [150])
