"""The program as processes: killed and restarted, started twice, and used from the command line while its window is
open.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QCheckBox, QComboBox, QListView, QSlider

from atelier_desk.cli.dispatch import execute
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.theme import theme
from atelier_desk.storage.data_folder.lock import FolderLock
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rendered
from tests.e2e.launcher import ANSWER, TASKS
from tests.helpers.child_widgets import child

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 60


class StartedProgram:
    """A started process and its standard output."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.launcher", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.printed: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put(None)

    def until(self, line: str) -> None:
        """Wait until it has printed ``line``."""
        while line not in self.printed:
            line_printed = self._lines.get(timeout=WAIT_S)
            assert line_printed is not None, f"it ended without {line!r}; it printed {self.printed}"
            self.printed.append(line_printed)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self._process.send_signal(number)
        return self._process.wait(WAIT_S)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(WAIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


def environment() -> dict[str, str]:
    """The environment without this machine's data folder and language."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("ATELIER_", "LC_", "LANG"))}
    return inherited | {"PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8"}


def atelier(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as typed by a user: the real program, without a scripted model in its process."""
    command = [sys.executable, "-m", "atelier_desk", "--data-dir", str(data), *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_S, env=environment(), check=False
    )


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., StartedProgram]]:
    """Starts the program on the test's data folder; processes still running at the end are killed."""
    programs: list[StartedProgram] = []

    def starter(*arguments: str) -> StartedProgram:
        programs.append(StartedProgram(str(tmp_path / "data"), *arguments))
        return programs[-1]

    yield starter
    for program in programs:
        program.kill()


def test_a_killed_program_continues_where_it_was(start: Callable[..., StartedProgram], open_app: OpenApp) -> None:
    first = start("--hold-at", "2", "--send", "Build the shelf")
    first.until("holding")
    assert first.printed.count("ack tool_end") == 2
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    second = start("--press", "notice-resume")
    second.until("ack workflow_complete completed")
    assert second.printed.count("ack tool_end") == 1
    assert second.end() == 0
    app = open_app()
    app.click_row(app.find("workflow-list", QListView), "Build the shelf")
    app.until_reply(ANSWER)
    app.until_text("user-message", "Build the shelf")
    for name in TASKS:
        app.until_row("task-list", name)
    assert "0 / 3" in rendered(app.find("task-pane"))
    assert len(app.find_all("tool-card")) == len(TASKS)


@pytest.mark.usefixtures("hang_ups")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_termination_signal_ends_the_program_and_the_next_start_continues(
    start: Callable[..., StartedProgram], number: signal.Signals
) -> None:
    first = start("--hold-at", "2", "--send", "Build the shelf")
    first.until("holding")
    sent_at = time.monotonic()
    assert first.end(number) == 0
    # Two seconds, and the time a busy machine needs to list its processes.
    assert time.monotonic() - sent_at < 2 + 3
    second = start("--press", "notice-resume")
    second.until("ack workflow_complete completed")
    assert second.printed.count("ack tool_end") == 1
    assert second.end() == 0


def test_settings_made_on_the_command_line_apply_to_the_open_window(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set by another process over the engine of the open window; its settings page follows too."""
    monkeypatch.setattr("atelier_desk.engine.ipc.command_line_executor._handler", execute)
    app = open_app()
    app.action("settings")
    page = app.find("settings-page-general", SettingsPage)

    def box(name: str) -> QComboBox:
        return child(page, QComboBox, name)

    def set_(key: str, value: str, in_window: Callable[[], bool]) -> None:
        command = [sys.executable, "-m", "atelier_desk", "--data-dir", str(app.data), "settings", "set", key, value]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment())
        app.until(lambda: process.poll() is not None, "the command ended", timeout_ms=WAIT_S * 1000)
        output, _error = process.communicate()
        assert (process.returncode, output.strip()) == (0, value)
        app.until(in_window, f"{key} is {value} in the window")

    set_("theme", "dark", lambda: theme().mode == "dark" and box("theme-select").currentData() == "dark")
    set_("font_scale", "120", lambda: theme().scale == 1.2 and child(page, QSlider, "font-scale").value() == 12)
    set_("language", "fr", lambda: app.find("new-workflow").accessibleName() == "Nouveau workflow")
    app.until(lambda: box("language-select").currentData() == "fr", "the page shows the language")
    app.until(lambda: app.find("settings-window", SettingsWindow).title.text() == "Général", "the page speaks it")
    set_("notifications", "false", lambda: not child(page, QCheckBox, "notifications").isChecked())
    app.engine(lambda a: a.settings.update(language="en", theme="light", font_scale=100))
    app.until(lambda: theme().scale == 1.0, "the window is as it was")


def test_a_second_start_raises_the_window_of_the_first(start: Callable[..., StartedProgram], tmp_path: Path) -> None:
    first = start("--minimized")
    first.until("open")
    second = atelier(tmp_path / "data")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    first.until("raised")
    assert first.end() == 0


def test_requests_to_a_window_that_is_still_opening_wait_for_it(
    start: Callable[..., StartedProgram], tmp_path: Path
) -> None:
    """Each impatient press of a key once opened another window, with an error that the data was in use."""
    data = tmp_path / "data"
    first = start()
    waiting = time.monotonic() + WAIT_S
    while (free := FolderLock.claim(data / "logs")) is not None and time.monotonic() < waiting:
        free.release()
        time.sleep(0.01)
    command = [sys.executable, "-m", "atelier_desk", "--data-dir", str(data)]
    processes = [
        subprocess.Popen([*command, *more], cwd=ROOT, env=environment()) for more in (["quick"], ["quick"], [])
    ]
    try:
        assert [process.wait(WAIT_S) for process in processes] == [0, 0, 0]
    finally:
        for process in processes:
            process.kill()
    first.until("open")
    assert first.end() == 0


def test_commands_are_served_by_the_open_window(start: Callable[..., StartedProgram], tmp_path: Path) -> None:
    first = start()
    first.until("open")
    result = atelier(tmp_path / "data", "run", "Build the shelf", "--json")
    assert result.returncode == 0, result.stderr
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["content"] for event in events if event["chunk_type"] == "message" and event["role"] == "assistant"][
        -1
    ] == ANSWER
    assert events[-1]["chunk_type"] == "workflow_complete"
    first.until("ack workflow_complete completed")
    listed = atelier(tmp_path / "data", "workflows", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    assert [workflow["name"] for workflow in json.loads(listed.stdout)] == ["Build the shelf"]
    assert first.end() == 0
