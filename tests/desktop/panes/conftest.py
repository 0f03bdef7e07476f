"""Panes over a fake bridge, in a shown window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from tests.helpers.fake_bridge import FakeAtelier, FakeBridge

PaneT = TypeVar("PaneT", bound=QWidget)


class Show(Protocol):
    """Shows a pane in a window of its own, and returns it."""

    def __call__(self, pane: PaneT, /) -> PaneT: ...


@pytest.fixture
def atelier() -> FakeAtelier:
    return FakeAtelier()


@pytest.fixture
def bridge(atelier: FakeAtelier) -> FakeBridge:
    return FakeBridge(atelier)


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[Show]:
    """Show a pane in a window of the column's width."""
    windows: list[QWidget] = []

    def show(pane: PaneT, /) -> PaneT:
        window = QWidget()
        window.resize(300, 600)
        QHBoxLayout(window).addWidget(pane)
        qtbot.addWidget(window)
        window.show()
        windows.append(window)
        return pane

    yield show
    for window in filter(isValid, windows):  # otherwise one would reload after the test, when there is no loop
        for timer in window.findChildren(QTimer):
            timer.stop()
