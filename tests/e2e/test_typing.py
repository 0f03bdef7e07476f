"""Somebody writes the next message while the window is busy: no letter is lost, and none answers anything."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from atelier_desk.desktop.settings.language import switch_language
from atelier_desk.desktop.widgets import scrim
from tests.e2e.asking import ask
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk
from tests.e2e.test_questions import echo


class Writer:
    """Types one letter after the other, each where the keyboard is at that moment."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.typed = desk, ""
        self._letters = itertools.cycle(string.ascii_lowercase)

    def type(self, letters: int) -> None:
        for _letter in range(letters):
            letter = next(self._letters)
            self.desk.qtbot.keyClicks(QApplication.focusWidget() or self.desk.window, letter)
            self.typed += letter
            QCoreApplication.processEvents()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Go on until something happened, then a word more."""

        def typing() -> object:
            self.type(1)
            return condition()

        self.desk.until(typing, what)
        self.type(7)


def test_no_letter_is_lost_while_a_folder_is_granted_a_run_asks_and_ends_and_the_language_changes(
    open_desk: OpenDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrim, "PAUSE_MS", 5_000)  # a busy machine writes slowly
    folder = tmp_path / "dossier"
    folder.mkdir()
    for number in range(3):
        (folder / f"part{number}.py").write_text("def one() -> int:\n    return 1\n")
    (folder / "AGENTS.md").write_text("Be kind.\n")
    desk = open_desk([[ask("q1", "Which colour?", "checkbox")], echo])
    field, writer = desk.find("chat-input", QPlainTextEdit), Writer(desk)
    desk.send("Paint it")
    desk.until(lambda: desk.all("user-question-modal"), "the question is asked")
    writer.type(7)
    desk.click("question-later")
    writer.until(lambda: not desk.all("user-question-modal"), "it waits in the inbox")
    desk.find("workflow-folders").setFocus()
    desk.window.chat.folders.grant([str(folder)])
    desk.until(lambda: desk.all("trust-question"), "the folder's trust is asked")
    writer.type(7)
    desk.click("trust-yes")
    writer.until(lambda: not desk.all("trust-question") and desk.all("project-offer"), "an index is offered")
    desk.click("project-offer-yes")
    writer.until(lambda: not desk.all("project-offer"), "the offer is gone")
    for language in ("fr", "en"):
        switch_language(language)
        writer.type(7)
    desk.click("stop-button")
    writer.until(lambda: not desk.all("stop-button"), "the run has ended")
    assert field.toPlainText() == writer.typed
