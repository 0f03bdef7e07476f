"""Panes over a fake bridge, in a shown window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.support.fake_bridge import FakeAtelier, FakeBridge


@pytest.fixture
def atelier() -> FakeAtelier:
    return FakeAtelier()


@pytest.fixture
def bridge(atelier: FakeAtelier) -> FakeBridge:
    return FakeBridge(atelier)


@pytest.fixture
def shown(qtbot: QtBot) -> Callable[[QWidget], Any]:
    """Put a pane into a window of the rail's width and show it."""
    windows: list[QWidget] = []

    def show(pane: QWidget) -> Any:
        window = QWidget()
        window.resize(300, 600)
        QHBoxLayout(window).addWidget(pane)
        qtbot.addWidget(window)
        window.show()
        windows.append(window)
        return pane

    return show
