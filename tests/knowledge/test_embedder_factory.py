"""The embedder chosen in the settings; server types that create vectors register themselves."""

from __future__ import annotations

import pytest

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.settings import EmbedderSettings
from atelier_desk.knowledge.embedder_factory import create_embedder, needs_server
from atelier_desk.llm.secrets import KeyVault
from tests.helpers.manual_clock import ManualClock
from tests.knowledge.missing_embedding_server import no_server


async def test_an_unknown_embedder_lists_the_available_ones(clock: ManualClock) -> None:
    vault = KeyVault(session=True)
    for kind in ("acme", "local"):
        with pytest.raises(
            UsageError,
            match=rf"{kind}; allowed: builtin, none, ollama, mistral, google, responses, openai, sentence-transformers",
        ):
            await create_embedder(EmbedderSettings(kind=kind), no_server, vault, clock)
    assert await create_embedder(EmbedderSettings(kind="none"), no_server, vault, clock) is None


def test_only_a_server_is_asked_for_its_dimension() -> None:
    assert needs_server(EmbedderSettings(kind="ollama"))
    assert not needs_server(EmbedderSettings(kind="ollama", dimension=8))
    assert not needs_server(EmbedderSettings(kind="builtin"))
    assert not needs_server(EmbedderSettings(kind="acme"))
