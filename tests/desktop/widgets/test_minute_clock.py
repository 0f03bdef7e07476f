"""Relative times are current wherever they are seen, and nothing is done for those that are not."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QListWidget, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.widgets.list_rows import ListRow, show_row
from atelier_desk.desktop.widgets.minute_clock import MinuteClock


def test_it_runs_only_while_its_widget_is_visible(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    text = QLabel(window)
    QVBoxLayout(window).addWidget(text)
    refreshed: list[bool] = []
    clock = MinuteClock(text, lambda: refreshed.append(text.isVisible()))
    assert not clock.isActive()
    for shown in (True, False, True):
        window.setVisible(shown)
        assert clock.isActive() == shown
    assert refreshed == [True, True], "at once when shown, as minutes may have passed"
    clock.timeout.emit()
    assert len(refreshed) == 3


def test_a_row_that_did_not_change_is_not_repainted(qtbot: QtBot) -> None:
    view = QListWidget()
    qtbot.addWidget(view)
    view.addItems(["a", "b"])
    painted: list[int] = []
    view.itemChanged.connect(lambda item: painted.append(view.row(item)))
    for ages in (("1 min", "2 min"), ("1 min", "3 min")):
        painted.clear()
        for at, age in enumerate(ages):
            show_row(view.item(at), ListRow("title", facts=age))
    assert set(painted) == {1}
