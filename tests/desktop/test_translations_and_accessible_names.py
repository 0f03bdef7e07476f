"""Every text of the window and settings follows the language, and every control has an accessible name."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QFrame,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.registry import pages
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.support import i18n
from tests.desktop.panes.started_window import started
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import FakeBridge, settle

CONTROLS = (QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit)


class Marked(gettext.NullTranslations):
    """A complete French catalogue with each text in guillemets, so that untranslated ones are visible."""

    def gettext(self, message: str) -> str:
        return f"«{message}»"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"«{msgid1 if n < 2 else msgid2}»"


@pytest.fixture
def _marked_french(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = i18n._catalogue
    monkeypatch.setattr(i18n, "_catalogue", lambda code: Marked() if code == "fr" else catalogue(code))


@pytest.fixture
async def windows(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[QWidget]:
    """The main window with all panes, and the settings with all pages."""

    async def checks(_atelier: Any) -> list[Any]:
        return []

    monkeypatch.setattr("atelier_desk.engine.maintenance.doctor.checks", checks)
    main = await started(qtbot)
    settings = SettingsWindow(FakeBridge(Engine(tmp_path)))
    qtbot.addWidget(settings)
    settings.show()
    for entry in pages():
        settings.show_page(entry.name)
        await settle(20)
    main.command_palette()
    main.search_everywhere()
    main.chat.find_bar.enter()
    await settle()
    return [main, settings]


def own(widget: QWidget) -> bool:
    """Whether it is our widget: not a part that Qt creates of a field, scroll bar or header."""
    above = widget.parentWidget()
    inside = isinstance(above, QComboBox | QAbstractSpinBox) or widget.objectName().startswith("qt_")
    popup = type(widget) is QListView and type(above) is QFrame
    return not (
        inside or popup or isinstance(above, QLineEdit | QTabBar) or isinstance(widget, QScrollBar | QHeaderView)
    )


def walked(windows: list[QWidget]) -> Iterator[QWidget]:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    for window in windows:
        yield window
        yield from (each for each in window.findChildren(QWidget) if own(each))


def texts(widget: QWidget) -> dict[str, str]:
    """All texts of a widget, by property."""
    found_texts = {
        "name": widget.accessibleName(),
        "about": widget.accessibleDescription(),
        "tip": widget.toolTip(),
        "title": widget.windowTitle(),
    }
    if isinstance(widget, QLabel | QAbstractButton):
        found_texts["text"] = widget.text()
    if isinstance(widget, QLineEdit | QPlainTextEdit):
        found_texts["hint"] = widget.placeholderText()
    if isinstance(widget, QComboBox):
        found_texts |= {f"item {row}": widget.itemText(row) for row in range(widget.count())}
    return {part: text for part, text in found_texts.items() if text}


async def test_every_control_has_a_name(windows: list[QWidget]) -> None:
    nameless = [
        (widget, widget.objectName())
        for widget in walked(windows)
        if isinstance(widget, CONTROLS)
        and not widget.isHidden()
        and not (widget.accessibleName() or (isinstance(widget, QAbstractButton) and widget.text()))
    ]
    assert nameless == []


@pytest.mark.usefixtures("_marked_french")
async def test_every_text_follows_the_language(windows: list[QWidget]) -> None:
    english = {widget: texts(widget) for widget in walked(windows)}
    switch_language("fr")
    await settle(20)
    left = {
        (type(widget).__name__, widget.objectName(), part, text)
        for widget in walked(windows)
        for part, text in texts(widget).items()
        if widget in english
        and "«" not in text
        and re.search(r"[a-z]{3}", text)
        and text not in DATA
        and not NAMES.search(text)
    }
    assert sorted(left) == []
    switch_language("en")
    await settle(20)
    assert [text for widget in walked(windows) for text in texts(widget).values() if "«" in text] == []


DATA = {
    "Atelier",
    "First",
    "diff",
    "starter",
    "local",
    "Ollama",
    "Ada",
    "English",
    "Français",
    "Assistant",
    "Researcher",
}
NAMES = re.compile(
    r"^\w+Tool$|^\w+_\w+$|^Ctrl|^Atelier \d|^/|^https?:|^$|^(Alt\+Haut|Espace|Suppr|Échap|Retour|starter ▾)$"
)
"""Texts that are equal in every language: names of tools, places and servers; and keys, which Qt translates."""
