"""Docks of panes in a window that was started."""

from __future__ import annotations

from typing import Any

from pytestqt.qtbot import QtBot

from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


async def started(qtbot: QtBot, *, closed: bool = False, **more: Any) -> MainWindow:
    """The window with a workflow; its column of panes is open, or ``closed`` for good.

    ``more`` are further answers of the workflow service.
    """
    workflow = Workflow(id="w1", name="First")
    agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
    engine = FakeAtelier(
        workflows={"list": [workflow], "get": workflow, **more},
        agents={"list": [agent], "default": agent},
        settings={"get": Settings()},
    )
    window = MainWindow(FakeBridge(engine))
    qtbot.addWidget(window)
    window.resize(1300, 860)
    if closed:
        window.rail.set_stay_closed(True)
    window.show()
    await window.start(Settings(window={"workflow": "w1"}))
    if not closed:
        window.rail.set_visible(True)
    await settle(30)
    return window
