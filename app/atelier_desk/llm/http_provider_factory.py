"""Create providers from their configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.provider_type_registry import provider_type
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.llm.http_provider import HttpProvider


def create_http_provider(config: ProviderConfig, vault: KeyVault, clock: Clock) -> HttpProvider:
    """Create a provider of any kind except the built-in one.

    Raises:
        UsageError: the base URL is invalid, there is no such kind, or it has no server.
    """
    kind = provider_type(config.kind)
    if kind.builtin:
        raise UsageError(
            N_("The provider {provider} is built in: it has no address to connect to."),
            code="kind",
            provider=config.name,
        )
    return cast("HttpProvider", kind.create(config, vault, clock, Path()))
