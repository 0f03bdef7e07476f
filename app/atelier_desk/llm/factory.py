"""Makes providers from their configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.base import Provider
from atelier_desk.llm.registry import provider_type
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.llm.provider import HttpProvider


def create_provider(config: ProviderConfig, vault: KeyVault, clock: Clock, models_dir: Path) -> Provider:
    """The provider a configuration describes; nothing is contacted yet.

    Args:
        models_dir: where the built-in provider finds model files.

    Raises:
        UsageError: the base URL cannot be one, or there is no such kind.
    """
    return provider_type(config.kind).create(config, vault, clock, models_dir)


def create_http_provider(config: ProviderConfig, vault: KeyVault, clock: Clock) -> HttpProvider:
    """The provider for a server, of any kind but the built-in one.

    Raises:
        UsageError: the base URL cannot be one, there is no such kind, or it has no server to reach.
    """
    if provider_type(config.kind).builtin:
        raise UsageError(N_("The provider {provider} is built in: it has no address to connect to."), code="kind", provider=config.name)
    return cast("HttpProvider", create_provider(config, vault, clock, Path()))
