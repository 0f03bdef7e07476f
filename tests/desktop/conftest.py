"""Desktop tests run offscreen, with the program's theme, and restore the language."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QLocale
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from atelier_desk.desktop.questions import approval_controller
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.support import i18n

if TYPE_CHECKING:
    from tests.helpers.main_window_with_fake_engine import Program


@pytest.fixture(autouse=True)
def _dressed(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The light theme at 100 % in English, whatever the system's settings; widgets of earlier tests are deleted.

    Approvals can be given at once.
    """
    monkeypatch.setattr(approval_controller, "SETTLE_S", 0.0)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    if QLocale().language() is QLocale.Language.French:
        switch_language("en")  # Qt's own texts, such as the names of keys
    if not theme()._installed:
        theme().install("light")
    theme().set_mode("light")
    theme().set_scale(100)
    i18n.set_language("en")
    timers: WeakSet[Debouncer] = WeakSet()
    init = Debouncer.__init__

    def noted(timer: Debouncer, *given: Any, **named: Any) -> None:
        init(timer, *given, **named)
        timers.add(timer)

    monkeypatch.setattr(Debouncer, "__init__", noted)
    yield
    i18n.set_language("en")
    for timer in timers:
        if isValid(timer):
            timer.stop()  # it would find no event loop any more
    for window in QApplication.topLevelWidgets():
        window.deleteLater()  # each that is left makes every later change of the theme slower


@pytest.fixture
def program(qtbot: QtBot) -> Program:
    """The main window over a fake engine; imported on use, most tests need no window."""
    from tests.helpers.main_window_with_fake_engine import Program

    return Program(qtbot)
