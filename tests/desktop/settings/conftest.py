"""A settings window over a fake engine with providers, models and agents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.provider import ModelInfo, ProviderConfig, ProviderHealth
from atelier_desk.domain.settings import Settings
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.data_folder_and_backups import Folders
from atelier_desk.engine.services.media import MediaState
from atelier_desk.engine.services.models import ListState
from atelier_desk.engine.services.tools import ToolService
from atelier_desk.engine.services.web import WebState
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


class Engine(FakeAtelier):
    """Settings that are really stored, so that pages read back what they wrote."""

    def __init__(self, root: Path) -> None:
        agents = [
            Agent(
                id="a1",
                config=AgentConfig(
                    name="Assistant", provider="local", model="starter", tools=("TodoTool", "mcp__x__y")
                ),
            ),
            Agent(id="a2", config=AgentConfig(name="Researcher", provider="Ollama", model="qwen3:4b")),
        ]
        providers = [
            ProviderConfig(name="local", kind="local"),
            ProviderConfig(name="Ollama", kind="ollama", base_url="http://localhost:11434"),
        ]
        models = [
            ModelInfo(provider="local", name="starter", context_window=8192, starter=True),
            ModelInfo(provider="Ollama", name="qwen3:4b", context_window=40960),
            ModelInfo(provider="Ollama", name="nomic", embedding=True),
        ]
        super().__init__(
            settings={"get": lambda: self.stored, "update": self._update, "set": self._set},
            agents={
                "list": agents,
                "default": agents[0],
                "save": lambda config, id=None: Agent(id=id or "new", config=config),
            },
            providers={
                "list": providers,
                "models": lambda name: [info for info in models if info.provider == name],
                "detect": [],
                "test_draft": ProviderHealth(ok=True, latency_ms=12, models=1),
            },
            own_tools={"list": [], "reload": []},
            skills={"overview": [], "files_by_name": {}},
            mcp={"list": [], "log": []},
            models={
                "list": models,
                "catalogue": [],
                "download_states": [],
                "list_state": ListState(date(2026, 7, 2), 531, 12),
            },
            web={"state": lambda: WebState(self.stored.web, ("brave",), 12, 34_567)},
            media={"state": lambda: MediaState(self.stored.media, ("images",))},
            memories={"describe": {"total": 3, "by_type": {"decision": 3}, "tags": {"work": 2}}},
        )
        self.stored: Settings = Settings()
        self.folders = Folders(root, root / "logs", root / "tools")
        self.registry = create_default_tool_registry()
        context: Any = SimpleNamespace(registry=self.registry)
        self.set("data", "folders", self.folders)
        self.set("data", "attachments", (3, 2048))
        self.set("tools", "list", ToolService(context).list)

    def _set(self, key: str, value: Any) -> Settings:
        name, _dot, inside = key.partition(".")
        return self._update(**{name: input_checks.inside(getattr(self.stored, name), key, inside, value)})

    def _update(self, **fields: Any) -> Settings:
        self.stored = self.stored.model_copy(update=fields)
        return self.stored


@pytest.fixture
def atelier(tmp_path: Path) -> Engine:
    return Engine(tmp_path)


@pytest.fixture
def bridge(atelier: Engine) -> FakeBridge:
    return FakeBridge(atelier)


OpenPage = Callable[[str], Any]
Find = Callable[[str], Any]


@pytest.fixture
async def window(bridge: FakeBridge, qtbot: QtBot) -> SettingsWindow:
    made = SettingsWindow(bridge)
    qtbot.addWidget(made)
    made.show()
    await settle()
    return made


@pytest.fixture
def find(window: SettingsWindow) -> Callable[[str], Any]:
    """Any widget of the window by its object name."""

    def by_name(name: str) -> Any:
        found = window.findChild(QWidget, name)
        assert found is not None, name
        return found

    return by_name


@pytest.fixture
async def page(window: SettingsWindow) -> Any:
    """The providers page; tests of other pages define their own."""
    window.show_page("providers")
    await settle()
    return window.page("providers")


def announced(window: QWidget) -> str:
    """The message that the window shows."""
    toast = toasts_of(window).current
    assert toast is not None
    return toast.accessibleName()


async def choose(page: Any, name: str) -> None:
    """Select a provider in the list of the page."""
    names = [config.name for config in page.things]
    if page.list.currentRow() == names.index(name):
        await page.load()
    page.list.setCurrentRow(names.index(name))
    await settle()
