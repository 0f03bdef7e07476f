"""Bindings follow language, theme and scale, and keep nothing alive."""

from __future__ import annotations

import gc
import weakref

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QLabel, QTabBar, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import language_theme_bindings
from atelier_desk.desktop.widgets.language_theme_bindings import bind, bind_text
from atelier_desk.support.i18n import N_, _, language


class View(QWidget):
    """Records how often it was filled, in which language and at which scale."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = bind_text(QLabel(self), N_("Close"))
        self.filled: list[tuple[str, str, str, float]] = []
        self.of: list[str] = []
        bind(self._fill)
        bind(self._of_language, on="language")
        bind(self._of_look, on="look")

    def _fill(self) -> None:
        self.filled.append((self.label.text(), language(), theme().tokens.name, theme().scale))

    def _of_language(self) -> None:
        self.of.append(language())

    def _of_look(self) -> None:
        self.of.append(theme().tokens.name)


def test_a_view_is_filled_at_once_and_after_each_change(qtbot: QtBot) -> None:
    view = View()
    qtbot.addWidget(view)
    switch_language("fr")
    theme().set_mode("dark")
    theme().set_scale(150)
    theme().set_scale(100)
    switch_language("en")
    assert view.filled == [
        ("Close", "en", "light", 1.0),
        ("Fermer", "fr", "light", 1.0),  # after the texts of its children
        ("Fermer", "fr", "dark", 1.0),
        ("Fermer", "fr", "dark", 1.5),
        ("Fermer", "fr", "dark", 1.0),
        ("Close", "en", "dark", 1.0),
    ]
    assert view.of == ["en", "light", "fr", "dark", "dark", "dark", "en"]


def test_one_property_of_any_widget_is_bound(qtbot: QtBot) -> None:
    tabs, button = QTabBar(), QToolButton()
    for widget in (tabs, button):
        qtbot.addWidget(widget)
    tabs.addTab("")
    tabs.addTab("")
    bind(tabs.setTabText, 0, lambda: _("Close"))
    bind(tabs.setTabText, 1, lambda: _("Copy"))
    bind(button.setIcon, lambda: theme().icon("plus"))
    light = button.icon().cacheKey()
    switch_language("fr")
    theme().set_mode("dark")
    assert [tabs.tabText(0), tabs.tabText(1)] == ["Fermer", "Copier"]
    assert button.icon().cacheKey() == theme().icon("plus").cacheKey() != light
    bind(tabs.setTabText, 1, lambda: _("Close"))  # replaces the other
    switch_language("en")
    assert [tabs.tabText(0), tabs.tabText(1)] == ["Close", "Close"]


def test_a_deleted_widget_is_no_longer_called(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    view = View(page)
    view.deleteLater()
    QCoreApplication.sendPostedEvents(view, QEvent.Type.DeferredDelete)
    switch_language("fr")
    assert len(view.filled) == 1
    switch_language("en")


def test_thousands_of_deleted_rows_leave_no_bindings(qtbot: QtBot) -> None:
    """Without the cycle collector: a deleted widget is freed at once, with all its bindings."""
    page = QWidget()
    qtbot.addWidget(page)
    column = QVBoxLayout(page)
    before = len(language_theme_bindings._bound)
    automatic = gc.isenabled()
    gc.disable()
    try:
        for _round in range(10):
            rows = [View(page) for _ in range(300)]
            for row in rows:
                column.addWidget(row)
            references = [weakref.ref(row) for row in rows]
            assert len(language_theme_bindings._bound) == before + 2 * 300  # the view and its label
            for row in rows:
                row.deleteLater()
            del rows, row
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            assert len(language_theme_bindings._bound) == before
            assert not any(ref() for ref in references)
    finally:
        if automatic:
            gc.enable()


def test_an_error_in_one_view_is_reported_and_leaves_no_other_outdated(qtbot: QtBot) -> None:
    class Broken(QWidget):
        def fill(self) -> None:
            if language() == "fr":
                raise ValueError("no French")

    broken, view = Broken(), View()
    for widget in (broken, view):
        qtbot.addWidget(widget)
    bind(broken.fill)
    bind(view._fill)
    with qtbot.capture_exceptions() as errors:
        switch_language("fr")
    switch_language("en")
    assert [str(each[1]) for each in errors] == ["no French"]
    assert [row[1] for row in view.filled[-2:]] == ["fr", "en"]


def test_a_widget_may_be_deleted_while_others_are_called(qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)

    class Rebuilt(QWidget):
        def __init__(self) -> None:
            super().__init__(page)
            self.rows: list[View] = []
            bind(self.fill)

        def fill(self) -> None:
            for row in self.rows:
                row.deleteLater()
                QCoreApplication.sendPostedEvents(row, QEvent.Type.DeferredDelete)
            self.rows = [View(self), View(self)]

    rebuilt = Rebuilt()
    switch_language("fr")
    assert [row.filled for row in rebuilt.rows] == [[("Fermer", "fr", "light", 1.0)]] * 2
    switch_language("en")
