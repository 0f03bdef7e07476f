"""The program in its own process, with a scripted model in place of a language model.

    python -m tests.e2e.launcher DATA_DIR [--hold-at N] [--send TEXT] [--press NAME]

Everything but the model is real: ``atelier_desk.__main__``, the window, the engine's thread, the database, the local
socket. The model creates three tasks, one per reply, and then answers; it counts the results it has received, so that a
resumed run continues where it was. With ``--hold-at N`` reply number N begins and never ends. With ``--send`` the text
is typed into the window as soon as it can be sent, with ``--press`` the button of this name is pressed as soon as it
exists.

What happens is printed to standard output, one line each: ``open``, ``ack CHUNK_TYPE`` for each committed event,
``holding``, ``raised``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QToolButton, QWidget

from atelier_desk.domain.model_messages import ChatDelta, ChatReply, ChatRequest, Role, TextDelta
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from tests.e2e.scripted_tool_calls import task

TASKS = ("Measure", "Cut", "Glue")
ANSWER = "All three are done."


def report(line: str) -> None:
    os.write(1, f"{line}\n".encode())


class TaskCreator(ScriptedModel):
    """Creates the tasks one by one. ``hold_at``: the number of results at which its reply stays unfinished, or None."""

    def __init__(self, hold_at: int | None) -> None:
        super().__init__([])
        self._hold_at = hold_at

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        step = sum(message.role is Role.TOOL for message in request.messages)
        if step == self._hold_at:
            yield TextDelta(content="Let me think about it")
            report("holding")
            await asyncio.Event().wait()
        last = step >= len(TASKS)
        reply = ChatReply(content=ANSWER) if last else ChatReply(tool_calls=(task(f"call-{step}", TASKS[step]),))
        self._steps = [reply]
        async for delta in super().stream(request):
            yield delta


def use_model(model: ScriptedModel) -> None:
    """Let every engine of this process answer with ``model``, store no keys, and skip the first-start guide."""
    opener = Atelier.open

    @asynccontextmanager
    async def scripted(data_dir: Path | str | None = None, **options: Any) -> AsyncIterator[Atelier]:
        async with opener(
            data_dir, model_factory=lambda _agent: model, vault=KeyVault(environ={}), **options
        ) as atelier:
            await atelier.settings.update(first_start_done=True, language="en")
            atelier.bus.subscribe(lambda event: acknowledge(event))
            report("open")
            yield atelier

    Atelier.open = scripted  # type: ignore[method-assign]


def acknowledge(event: StreamEvent) -> None:
    if event.durable:
        status = event.data.get("status", "") if event.chunk_type.value == "workflow_complete" else ""
        report(f"ack {event.chunk_type.value} {status}".strip())


class FakeUser(QObject):
    """Sends one message and presses one button as soon as the window allows it; prints when the window is raised."""

    def __init__(self, text: str, press: str) -> None:
        super().__init__()
        self._text, self._press = text, press
        self._window: QWidget | None = None
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._check)
        self._timer.start(20)

    def _check(self) -> None:
        if self._window is None:
            windows = [widget for widget in QApplication.topLevelWidgets() if widget.objectName() == "main-window"]
            if not windows:
                return
            self._window = windows[0]
            self._window.installEventFilter(self)
        field = self._window.findChild(QPlainTextEdit, "chat-input")
        send = self._window.findChild(QToolButton, "send-button")
        if self._text and field is not None and send is not None:
            field.setPlainText(self._text)
            if send.isEnabled():
                self._text = ""
                send.click()
        button = self._window.findChild(QPushButton, self._press) if self._press else None
        if button is not None and button.isVisible():
            self._press = ""
            button.click()
        if not self._text and not self._press:
            self._timer.stop()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.WindowStateChange
            and self._window is not None
            and not self._window.isMinimized()
        ):
            report("raised")
        return False


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--hold-at", type=int)
    parser.add_argument("--send", default="")
    parser.add_argument("--press", default="")
    parser.add_argument("--minimized", action="store_true")
    arguments = parser.parse_args()
    use_model(TaskCreator(arguments.hold_at))
    from atelier_desk.__main__ import main as program
    from atelier_desk.desktop.theme import STYLE

    qt = QApplication([sys.argv[0], *STYLE])
    hand = FakeUser(arguments.send, arguments.press)
    if arguments.minimized:
        QTimer.singleShot(0, hand, minimise)
    status = program(["--data-dir", str(arguments.data)])
    del qt
    return status


def minimise() -> None:
    """Minimise the window once it is open, so that raising it has a visible effect."""
    for widget in QApplication.topLevelWidgets():
        if widget.objectName() == "main-window" and widget.isVisible():
            widget.showMinimized()
            return
    QTimer.singleShot(20, minimise)


if __name__ == "__main__":
    sys.exit(main())
