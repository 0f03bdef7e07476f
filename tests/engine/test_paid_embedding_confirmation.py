"""At a start, vectors that may cost money wait for the person's confirmation; free ones are computed
automatically.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.memory import EMBEDDING_OFFER
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.domain.settings import EmbedderSettings
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import Opener
from tests.helpers.servers.openai import FakeOpenAI


async def left_undone(open_atelier: Opener, server: FakeOpenAI, folder: Path, price: float | None) -> None:
    """A memory and a project without vectors, and a server's embedder in the settings, as left by a kill."""
    (folder / "a.md").write_text("# Heron\n\nThe staging server is called heron.\n")
    async with open_atelier(embedder=None) as atelier:
        await atelier.settings.update(embedder={"kind": "none"})
        await atelier.memories.add("The staging server is called heron")
        await atelier.providers.save(ProviderConfig(name="Server", kind="openai", base_url=server.url))
        await atelier.models.update(ModelInfo(provider="Server", name="vectors", price_input=price, price_output=price))
        project = await atelier.projects.create("p", str(folder), watched=True)
        await atelier.projects.ingest(project.id)
        await atelier.projects.wait(project.id)
        chosen = EmbedderSettings(kind="openai", provider="Server", model="vectors", dimension=8)
        await atelier.repos.settings.save((await atelier.settings.get()).model_copy(update={"embedder": chosen}))


async def begun(atelier: Atelier) -> list[str]:
    """Offers announced while the program resumed its work."""
    said: list[str] = []
    atelier.bus.on_changed(lambda topic, id: said.append(id) if (topic, id) == ("memory", EMBEDDING_OFFER) else None)
    await atelier.resume_pending()
    for project in await atelier.projects.list():
        await atelier.projects.wait(project.id)
    return said


@pytest.mark.parametrize(("price", "cost"), [(0.1, True), (None, False)])
async def test_computing_vectors_that_may_cost_money_is_offered(
    open_atelier: Opener, tmp_path: Path, price: float | None, cost: bool
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with FakeOpenAI() as server:
        await left_undone(open_atelier, server, folder, price)
        async with open_atelier(embedder=None, vault=KeyVault(environ={})) as atelier:
            assert EMBEDDING_OFFER in await begun(atelier)
            offer = await atelier.memories.offer()
            assert server.of("/v1/embeddings") == []
            assert offer is not None
            assert (offer.texts >= 2, offer.model, offer.cost is not None) == (True, "Server/vectors", cost)
            await atelier.memories.embed_now()
            await atelier.memories._task  # type: ignore[misc]
            for project in await atelier.projects.list():
                await atelier.projects.wait(project.id)
            assert await atelier.memories.offer() is None
            assert not await atelier.memories.unfinished()
            sent = [text for request in server.of("/v1/embeddings") for text in request.json["input"]]
            assert any("heron" in text for text in sent)
            assert len(sent) >= 2


async def test_free_vectors_are_computed_automatically(open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with FakeOpenAI() as server:
        await left_undone(open_atelier, server, folder, 0.0)
        async with open_atelier(embedder=None, vault=KeyVault(environ={})) as atelier:
            await begun(atelier)
            assert await atelier.memories.offer() is None
            await atelier.memories._task  # type: ignore[misc]
            assert not await atelier.memories.unfinished()
