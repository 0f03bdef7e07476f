"""Starting without a command: an open window is raised, or the desktop is opened."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.__main__ import main
from atelier_desk.engine.ipc.command_line_executor import command_handler, set_command_handler
from atelier_desk.engine.ipc.server import IpcServer
from atelier_desk.engine.ipc.single_window import ask_holder_to_raise
from atelier_desk.storage.data_folder.datadir import DataDir


@contextmanager
def holder(
    datadir: DataDir, on_raise: Callable[[], bool] | None, on_quick: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Another process's server, here on a thread."""
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with IpcServer(None, datadir, on_raise, on_quick):
            ready.set()
            await asyncio.to_thread(done.wait, 60)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield
    finally:
        done.set()
        thread.join(30)
        assert not thread.is_alive(), "the server does not end"


@pytest.fixture
def datadir(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path / "d").ensure()


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    """A desktop that only records how it was opened."""
    opened: list[tuple[object, ...]] = []
    module: Any = types.ModuleType("atelier_desk.desktop.app")

    def open_it(data_dir: Path, argv: list[str], *, quick: bool, painted: Callable[[], object]) -> int:
        painted()
        opened.append((data_dir, argv, *(["quick"] if quick else [])))
        return 7

    module.main = open_it
    monkeypatch.setitem(sys.modules, "atelier_desk.desktop.app", module)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    yield opened
    set_command_handler(None)


def noting(asked: list[str], what: str) -> Callable[[], bool]:
    """A window that notes what it was asked for."""

    def raise_it() -> bool:
        asked.append(what)
        return True

    return raise_it


def test_a_second_start_raises_the_first_window_and_exits_with_0(datadir: DataDir, desktop: list[Any]) -> None:
    raised: list[str] = []
    with holder(datadir, noting(raised, "window")):
        assert main(["--data-dir", str(datadir.root)]) == 0
    assert raised == ["window"]
    assert desktop == []


def test_quick_ask_opens_in_the_running_program_or_a_new_one(datadir: DataDir, desktop: list[Any]) -> None:
    asked: list[str] = []
    with holder(datadir, noting(asked, "window"), noting(asked, "quick")):
        assert main(["--data-dir", str(datadir.root), "quick"]) == 0
    assert asked == ["quick"]
    assert desktop == []
    assert main(["--data-dir", str(datadir.root), "quick"]) == 7
    assert desktop == [(datadir.root, ["--data-dir", str(datadir.root), "quick"], "quick")]


def test_a_data_folder_in_use_by_a_command_is_reported(
    datadir: DataDir, desktop: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with holder(datadir, None):
        assert main(["--data-dir", str(datadir.root)]) == 1
    assert str(datadir.root) in capsys.readouterr().err
    assert desktop == []


def test_a_free_data_folder_opens_a_desktop_that_serves_commands(datadir: DataDir, desktop: list[Any]) -> None:
    assert ask_holder_to_raise(datadir.root) is None
    assert main(["--data-dir", str(datadir.root)]) == 7
    assert desktop == [(datadir.root, ["--data-dir", str(datadir.root)])]
    assert command_handler() is not None


def test_nothing_is_collected_until_the_first_paint(datadir: DataDir, desktop: list[Any]) -> None:
    """All that is made until then stays."""
    gc.enable()  # as it is when the program starts
    try:
        assert main(["--data-dir", str(datadir.root)]) == 7
        assert not gc.isenabled()
    finally:
        gc.disable()


@pytest.mark.parametrize(
    "command",
    ["", "quick", "doctor", "workflows list", "run hello", "backup verify x.zip", "completion bash", "--version"],
)
def test_a_deleted_working_folder_is_refused(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    desktop: list[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    status = main(command.split())
    said = capsys.readouterr()
    if command == "--version":
        assert (status, said.err) == (0, "")
    else:
        assert (status, said.out, desktop) == (1, "", [])
        assert said.err == "Error: The folder you are in was deleted. Change to another one, then try again.\n"
