"""Somebody writes the next message while the window is busy: no letter is lost, and none answers anything."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.widgets import scrim
from atelier_desk.engine.services.projects import OFFERED_FROM
from tests.e2e.conftest import OpenApp
from tests.e2e.echo_replies import echo
from tests.e2e.harness import AppDriver
from tests.e2e.scripted_tool_calls import ask_user


class Writer:
    """Types one letter after the other, each where the keyboard is at that moment."""

    def __init__(self, app: AppDriver) -> None:
        self.app, self.typed = app, ""
        self._letters = itertools.cycle(string.ascii_lowercase)

    def type(self, letters: int) -> None:
        for _letter in range(letters):
            letter = next(self._letters)
            self.app.qtbot.keyClicks(QApplication.focusWidget() or self.app.window, letter)
            self.typed += letter
            QCoreApplication.processEvents()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Go on until something happened, then a word more."""

        def typing() -> object:
            self.type(1)
            return condition()

        self.app.until(typing, what)
        self.type(7)


def test_no_letter_is_lost_while_a_folder_is_granted_a_run_asks_and_ends_and_the_language_changes(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrim, "PAUSE_MS", 5_000)  # a busy machine writes slowly
    folder = tmp_path / "dossier"
    folder.mkdir()
    for number in range(OFFERED_FROM):
        (folder / f"part{number}.py").write_text("def one() -> int:\n    return 1\n")
    (folder / "AGENTS.md").write_text("Be kind.\n")
    app = open_app([[ask_user("q1", "Which colour?", "checkbox")], echo])
    field, writer = app.find("chat-input", QPlainTextEdit), Writer(app)
    app.send("Paint it")
    app.until(lambda: app.find_all("user-question-modal"), "the question is asked")
    writer.type(7)
    app.click("question-later")
    writer.until(lambda: not app.find_all("user-question-modal"), "it waits in the inbox")
    app.find("workflow-folders").setFocus()
    app.window.chat.folders.grant([str(folder)])
    app.until(lambda: app.find_all("trust-question"), "the folder's trust is asked")
    writer.type(7)
    app.click("trust-yes")
    writer.until(lambda: not app.find_all("trust-question") and app.find_all("project-offer"), "an index is offered")
    app.click("project-offer-yes")
    writer.until(lambda: not app.find_all("project-offer"), "the offer is gone")
    for language in ("fr", "en"):
        switch_language(language)
        writer.type(7)
    app.click("stop-button")
    writer.until(lambda: not app.find_all("stop-button"), "the run has ended")
    assert field.toPlainText() == writer.typed
