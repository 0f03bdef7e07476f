"""Buttons of the settings pressed twice before the engine has answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.provider import ProviderHealth
from atelier_desk.llm.local.catalogue import CATALOGUE
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import DelayedResult, settle

Find = Callable[[str], Any]
SAVED = Agent(id="a1", config=AgentConfig(name="Assistant", provider="local", model="starter"))


@pytest.mark.parametrize("button", ["agent-save", "agent-duplicate", "agent-delete"])
async def test_an_agent_is_saved_copied_and_deleted_once(
    window: SettingsWindow, find: Find, atelier: Engine, button: str
) -> None:
    window.show_page("agents")
    await settle()
    method = button.removeprefix("agent-")
    delayed = DelayedResult(SAVED)
    atelier.set("agents", method, delayed)
    if method == "save":
        find("agent-temperature").setValue(0.3)
    for _ in range(2):
        find(button).click()
    await settle()
    assert len(atelier.calls(f"agents.{method}")) == 1
    await delayed.release()


@pytest.mark.parametrize("method", ["test_draft", "delete"])
async def test_a_provider_is_tested_and_removed_once(
    window: SettingsWindow, find: Find, atelier: Engine, method: str
) -> None:
    window.show_page("providers")
    await settle()
    page: Any = window.page("providers")
    page.list.setCurrentRow([config.name for config in page.things].index("Ollama"))
    await settle()
    delayed = DelayedResult(ProviderHealth(ok=True, latency_ms=1, models=0))
    atelier.set("providers", method, delayed)
    for _ in range(2):
        find("provider-test" if method == "test_draft" else "provider-remove").click()
    await settle()
    assert len(atelier.calls(f"providers.{method}")) == 1
    await delayed.release()


async def test_a_download_is_started_once(window: SettingsWindow, find: Find, atelier: Engine) -> None:
    delayed = DelayedResult()
    atelier.set("models", "catalogue", list(CATALOGUE))
    atelier.set("models", "download_states", [])
    atelier.set("models.downloads", "start", delayed)
    window.show_page("providers")
    await settle(30)
    find("provider-list").setCurrentRow(1)
    await settle(30)
    for _ in range(2):
        find(f"download-start-{CATALOGUE[0].id}").click()
    await settle()
    assert atelier.calls("models.downloads.start") == [((CATALOGUE[0].id,), {})]
    await delayed.release()
