"""A data folder whose path always fits a socket, and an output that records."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atelier_desk.engine.ipc.command_line_executor import set_command_handler
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.storage.data_folder.datadir import DataDir


class RecordingTerminal:
    """The client's terminal: what it was asked to show, and what its user types."""

    def __init__(self, *lines: str | None, interactive: bool = False, stdin: str = "") -> None:
        self.json = False
        self.interactive = interactive
        self.watched = False
        self.thoughts: list[str] = []
        self.prompts: list[str] = []
        self.on_ctrl_c: Callable[[], bool] | None = None
        self.cwd = "/somewhere"
        self.request = Request()
        self.handing_over = False
        self.out = ""
        self.notes: list[tuple[str, str]] = []
        self.asked: list[str] = []
        self.noted = asyncio.Event()
        self._lines = list(lines)
        self._stdin = stdin

    def write(self, text: str) -> None:
        self.out += text
        self.noted.set()

    def note(self, text: str, style: str = "dim") -> None:
        self.notes.append((text, style))
        self.noted.set()

    def shown(self, workflow_id: str, run_id: str, seq: int) -> None:
        self.request.shown(workflow_id, run_id, seq)

    async def ask(self, prompt: str) -> str | None:
        self.asked.append(prompt)
        return self._lines.pop(0) if self._lines else None

    def think(self, text: str) -> None:
        self.thoughts.append(text)

    def prompt(self, text: str) -> None:
        self.prompts.append(text)

    async def read_piped(self) -> str:
        return self._stdin

    def catch_ctrl_c(self, handler: Callable[[], bool] | None) -> None:
        self.on_ctrl_c = handler

    async def read_input(self, most: int = 0) -> str:
        return self._stdin


@pytest.fixture
def datadir() -> Iterator[DataDir]:
    root = Path(tempfile.mkdtemp(prefix="atl-"))
    yield DataDir(root).ensure()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_handler_left() -> Iterator[None]:
    yield
    set_command_handler(None)
