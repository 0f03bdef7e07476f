"""The main window over a fake engine."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


class Program:
    """A visible main window with one workflow and one agent; ``start`` opens its engine."""

    def __init__(self, qtbot: QtBot) -> None:
        self.workflow = Workflow(id="w1", name="First")
        agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
        self.engine = FakeAtelier(
            workflows={"list": [self.workflow], "get": self.workflow},
            agents={"list": [agent], "default": agent},
            settings={"get": Settings()},
        )
        self.bridge = FakeBridge(self.engine)
        self.window = MainWindow(self.bridge)
        self.window.prepare()
        qtbot.addWidget(self.window)
        self.window.show()

    async def start(self, **window: str) -> None:
        """Open the engine with this stored state of the window, and show the panes."""
        await self.window.start(Settings(window=window))
        self.window.rail.set_visible(True)
        await settle(30)
