"""Which embedder the settings name; the kinds of servers that make vectors say so themselves."""

from __future__ import annotations

import pytest
from atelier_desk.engine.embedding import create_embedder, needs_server

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.settings import EmbedderSettings
from tests.engine.conftest import Opener


async def test_an_unknown_embedder_says_which_there_are(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        for kind in ("acme", "local"):
            with pytest.raises(UsageError, match=rf"{kind}; allowed: builtin, none, ollama, mistral, openai, sentence-transformers"):
                await create_embedder(EmbedderSettings(kind=kind), atelier.providers, atelier.vault, atelier.clock)
        assert await create_embedder(EmbedderSettings(kind="none"), atelier.providers, atelier.vault, atelier.clock) is None


def test_only_a_server_is_asked_for_its_dimension() -> None:
    assert needs_server(EmbedderSettings(kind="ollama"))
    assert not needs_server(EmbedderSettings(kind="ollama", dimension=8))
    assert not needs_server(EmbedderSettings(kind="builtin"))
    assert not needs_server(EmbedderSettings(kind="acme"))
