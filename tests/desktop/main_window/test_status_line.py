"""The status line below the list: what it says of runs that wait for a person."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.window import MainWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Workflow, WorkflowStatus
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


async def test_a_run_stopped_because_its_price_is_unknown_waits_for_the_user(qtbot: QtBot) -> None:
    agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
    paused = Workflow(id="w1", name="One", status=WorkflowStatus.PAUSED)
    engine = FakeAtelier(
        workflows={"list": [paused], "get": paused},
        agents={"list": [agent], "default": agent},
        settings={"get": Settings()},
        teams={"at_work": {}},
    )
    bridge = FakeBridge(engine)
    window = MainWindow(bridge)
    window.prepare()
    qtbot.addWidget(window)
    window.show()
    await window.start(Settings())
    await settle()
    window.sidebar.foot.show_connection("ready")
    state = window.findChild(QLabel, "connection-state")
    assert state is not None
    assert state.text() == "Paused", "by the user"
    for kind, data in (
        (ChunkType.LIMIT_REACHED, {"reason": "unpriced", "details": {}}),
        (ChunkType.RUN_STATUS, {"status": "paused"}),
    ):
        bridge.stream_event.emit(StreamEvent(workflow_id="w1", run_id="r1", chunk_type=kind, data=data))
    await settle()
    assert state.text() == "Waiting for you"
    assert state.toolTip() == "The price of the model is unknown"
    window.focus_pending()
    await settle()
    card = window.findChild(QWidget, "inbox-stopped-r1")
    assert card is not None
    assert card.isVisible()


async def test_a_refused_key_is_shown_until_the_provider_answers(qtbot: QtBot) -> None:
    agent = Agent(config=AgentConfig(name="Ada", provider="p", model="m"))
    workflow = Workflow(id="w1", name="One")
    engine = FakeAtelier(
        workflows={"list": [workflow], "get": workflow},
        agents={"list": [agent], "default": agent},
        settings={"get": Settings()},
    )
    bridge = FakeBridge(engine)
    window = MainWindow(bridge)
    window.prepare()
    qtbot.addWidget(window)
    window.show()
    await window.start(Settings(window={"workflow": "w1"}))
    await settle(30)
    foot = window.sidebar.foot
    foot.show_connection("ready")

    async def emit(kind: ChunkType, workflow: str = "w1", **data: str) -> None:
        bridge.stream_event.emit(StreamEvent(workflow_id=workflow, run_id="r1", chunk_type=kind, data=data))
        await settle()

    await emit(ChunkType.ERROR, "other", code="auth", provider="p")
    assert foot._key_missing
    await emit(ChunkType.TOKEN, "other", content="Hello")
    assert foot._key_missing, "another workflow, with another model perhaps"
    await emit(ChunkType.TOKEN, content="Hello")
    assert not foot._key_missing
