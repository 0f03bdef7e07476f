"""A window whose runs can be stepped and replayed."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.sidebar.list_model import UNREAD
from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Workflow
from tests.helpers import sample_team_history
from tests.helpers.fake_bridge import FakeBridge, settle

OTHER = Workflow(id="w2", name="Second")

FORK = Workflow(id="w3", name="First (branch)")


class Program:
    """A started window with a few earlier runs; ``w1`` is in view."""

    def __init__(self, qtbot: QtBot, known: dict[str, Workflow] | None = None) -> None:
        agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
        self.known = known = known or {each.id: each for each in (sample_team_history.WORKFLOW, OTHER, FORK)}

        def get(key: str) -> Workflow:
            return known[key]

        def set_unread(key: str, unread: bool) -> None:
            known[key] = known[key].model_copy(update={"unread": unread})

        self.engine = sample_team_history.engine(
            workflows={"list": lambda **_: list(known.values()), "get": get, "set_unread": set_unread},
            agents={"list": [agent], "default": agent},
            settings={"get": Settings()},
            runs={"fork": FORK},
        )
        self.bridge = FakeBridge(self.engine)
        self.window = MainWindow(self.bridge)
        qtbot.addWidget(self.window)
        self.window.resize(1300, 800)
        self.window.show()

    async def start(self) -> Program:
        await self.window.start(Settings(window={"workflow": "w1"}))
        await settle(30)
        return self

    @property
    def conductor(self) -> Any:
        assert self.window.conductor is not None
        return self.window.conductor

    def end(self, workflow: str, status: str = "completed", **more: Any) -> None:
        data = {"status": status}
        event = StreamEvent(workflow_id=workflow, run_id="r", chunk_type=ChunkType.WORKFLOW_COMPLETE, data=data, **more)
        self.bridge.stream_event.emit(event)

    async def unread(self, workflow: str) -> bool:
        await self.window.sidebar.load()
        model = self.window.sidebar.model
        return bool(model.index_of(workflow).data(UNREAD))

    def toast(self) -> str:
        found = [each for each in self.window.findChildren(QWidget, "toast") if not each.isHidden()]
        return found[-1].accessibleName() if found else ""
