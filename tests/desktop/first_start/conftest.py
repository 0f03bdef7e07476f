"""The first-start guide over a fake engine, and the steps through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.first_start.dialog import FirstStart
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatDelta, ChatReply, ChatRequest, ReplyDone, TextDelta
from atelier_desk.domain.provider import STARTER, ModelInfo
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.usage import unchecked
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.services.model_connection_test import try_model
from tests.desktop.first_start.found_ollama import OLLAMA
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

Find = Callable[[str], Any]


class Server:
    """A provider that answers with a sentence, or fails."""

    def __init__(self, text: str = "Hello!", error: ProviderError | None = None) -> None:
        self.text, self.error = text, error
        self.requests: list[str] = []
        self.answering = asyncio.Event()
        self.answering.set()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        self.requests.append(request.model)
        await self.answering.wait()
        if self.error is not None:
            raise self.error
        if self.text:
            yield TextDelta(content=self.text)
        yield ReplyDone(reply=ChatReply(content=self.text))


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def atelier(server: Server) -> FakeAtelier:
    agent = Agent(id="a1", config=AgentConfig(name="Assistant", provider="local", model=STARTER))
    lead = Agent(id="a2", config=AgentConfig(name="Team lead", provider="local", model=STARTER))
    other = Agent(id="a3", config=AgentConfig(name="Imported", provider="theirs", model="own"))
    return FakeAtelier(
        settings={"get": Settings()},
        agents={"default": agent, "list": [agent, lead, other]},
        providers={
            "detect": [OLLAMA],
            "try_model": lambda _name, model: try_model(server, model, SystemClock(), unchecked),
            "try_draft": lambda _draft, model: try_model(server, model, SystemClock(), unchecked),
            "draft_models": [],
        },
        workflows={"create": lambda name, agent_id: Workflow(id="w9", name=name or "New workflow", agent_id=agent_id)},
    )


@pytest.fixture
async def guide(atelier: FakeAtelier, qtbot: QtBot) -> FirstStart:
    made = FirstStart(FakeBridge(atelier))
    qtbot.addWidget(made)
    made.begin()
    await settle()
    return made


@pytest.fixture
def find(guide: FirstStart) -> Find:
    def by_name(name: str) -> Any:
        found = guide.findChild(QWidget, name)
        assert found is not None, name
        return found

    return by_name


async def forward(find: Find) -> None:
    find("first-start-next").click()
    await settle()


async def other(find: Find, url: str) -> None:
    """Select another server, and enter its address."""
    await forward(find)
    find("choice-other").click()
    find("other-url").setText(url)
    find("other-url").textEdited.emit(url)


OFFERED = [
    ModelInfo(provider="x", name="e", embedding=True),
    ModelInfo(provider="x", name="zeta-1"),
    ModelInfo(provider="x", name="alpha-1", supports_tools=True),
]
