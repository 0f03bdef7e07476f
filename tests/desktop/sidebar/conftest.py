"""A sidebar with its workflows loaded."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from tests.desktop.sidebar.sidebar_harness import Column


@pytest.fixture
async def column(qtbot: QtBot) -> Column:
    made = Column(qtbot)
    await made.sidebar.load()
    return made
