"""Agents, providers, models, settings."""

from __future__ import annotations

import pytest

from atelier_desk.domain.agent import Agent, AgentConfig, Budget
from atelier_desk.domain.errors import ConflictError, NotFoundError
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.settings import EmbedderSettings, Settings
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.row_mapping import record, to_json
from atelier_desk.storage.store import Statement


def agent(name: str) -> Agent:
    return Agent(
        config=AgentConfig(name=name, provider="p", model="m", tools=("TodoTool",), budget=Budget(max_cost=0.5))
    )


async def test_agents(repos: Repositories) -> None:
    first, second = agent("Beta"), agent("Alpha")
    for each in (first, second):
        await repos.agents.save(each)
    assert await repos.agents.list() == [second, first]
    assert await repos.agents.by_name("Beta") == await repos.agents.get(first.id) == first
    with pytest.raises(ConflictError, match="Alpha"):
        await repos.agents.save(first.model_copy(update={"config": second.config}))
    renamed = first.model_copy(update={"config": agent("Gamma").config})
    await repos.agents.save(renamed)
    with pytest.raises(NotFoundError):
        await repos.agents.by_name("Beta")
    await repos.agents.delete(first.id)
    assert await repos.agents.list() == [second]
    with pytest.raises(NotFoundError):
        await repos.agents.delete(first.id)


async def test_a_deleted_provider_deletes_its_models(repos: Repositories) -> None:
    for name in ("Ollama here", "Mistral"):
        await repos.providers.save(ProviderConfig(name=name, kind="ollama"))
        await repos.models.save(ModelInfo(provider=name, name="llama3:8b/q4"))
    assert [each.name for each in await repos.providers.list()] == ["Mistral", "Ollama here"]
    await repos.providers.delete("Mistral")
    assert [each.provider for each in await repos.models.list()] == ["Ollama here"]
    for attempt in (repos.providers.get, repos.providers.delete):
        with pytest.raises(NotFoundError):
            await attempt("Mistral")


async def test_models(repos: Repositories) -> None:
    info = ModelInfo(provider="p", name="a:1/x", context_window=8192, supports_tools=False, price_input=0.0)
    await repos.models.save(info)
    await repos.models.save(info.model_copy(update={"price_input": 0.25}))
    await repos.models.save(ModelInfo(provider="q", name="a:1/x"))
    assert (await repos.models.get("p", "a:1/x")).price_input == 0.25
    assert [each.provider for each in await repos.models.list()] == ["p", "q"]
    assert len(await repos.models.list("p")) == 1
    await repos.models.delete("p", "a:1/x")
    with pytest.raises(NotFoundError):
        await repos.models.get("p", "a:1/x")
    with pytest.raises(NotFoundError):
        await repos.models.delete("p", "a:1/x")


async def test_settings_start_with_defaults_and_are_stored(repos: Repositories) -> None:
    assert await repos.settings.load() == Settings()
    chosen = Settings(
        language="fr", font_scale=120, embedder=EmbedderSettings(kind="none"), window={"geometry": "AAA="}
    )
    await repos.settings.save(chosen)
    assert await repos.settings.load() == chosen


async def test_settings_of_another_version_are_ignored(repos: Repositories) -> None:
    await repos.settings.save(Settings(language="fr"))
    for name, value in (("future", 1), ("font_scale", 5_000)):
        row = {"row": record("setting", name), "content": {"value": to_json(value)}}
        await repos.store.write(Statement("UPSERT $row CONTENT $content RETURN NONE", row))
    loaded = await repos.settings.load()
    assert (loaded.language, loaded.font_scale) == ("fr", 100)
    await repos.settings.save(loaded)
    assert await repos.store.query("SELECT VALUE `value` FROM setting:future") == ["1"]
