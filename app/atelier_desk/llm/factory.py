"""Makes providers and remote embedders from their configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import ProviderConfig, ProviderKind
from atelier_desk.i18n import N_
from atelier_desk.llm.base import Provider
from atelier_desk.llm.secrets import KeyVault

if TYPE_CHECKING:
    from atelier_desk.llm.provider import HttpProvider


def create_provider(config: ProviderConfig, vault: KeyVault, clock: Clock, models_dir: Path) -> Provider:
    """The provider a configuration describes; nothing is contacted yet.

    Args:
        models_dir: where the built-in local provider finds model files.

    Raises:
        UsageError: the base URL cannot be one.
    """
    if config.kind is ProviderKind.LOCAL:
        from atelier_desk.llm.local.provider import LocalProvider

        return LocalProvider(models_dir, clock, name=config.name)
    return create_http_provider(config, vault, clock)


def create_http_provider(config: ProviderConfig, vault: KeyVault, clock: Clock) -> HttpProvider:
    """The provider for a server, of any kind but the built-in one.

    Raises:
        UsageError: the base URL cannot be one, or the kind has no server to reach.
    """
    if config.kind is ProviderKind.MISTRAL:
        from atelier_desk.llm.mistral import MistralProvider

        return MistralProvider(config, vault, clock)
    if config.kind is ProviderKind.OLLAMA:
        from atelier_desk.llm.ollama import OllamaProvider

        return OllamaProvider(config, vault, clock)
    if config.kind is ProviderKind.OPENAI:
        from atelier_desk.llm.openai_compatible import OpenAICompatibleProvider

        return OpenAICompatibleProvider(config, vault, clock)
    raise UsageError(N_("The provider {provider} is built in: it has no address to connect to."), code="kind", provider=config.name)
