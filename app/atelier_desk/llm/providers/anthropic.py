"""Anthropic's own API, and servers that speak it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.i18n import N_
from atelier_desk.llm.registry import ProviderType, register

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.llm.base import Provider
    from atelier_desk.llm.secrets import KeyVault


def create(config: ProviderConfig, vault: KeyVault, clock: Clock, models_dir: Path) -> Provider:
    from atelier_desk.llm.anthropic.provider import AnthropicProvider

    return AnthropicProvider(config, vault, clock)


register(
    ProviderType(
        kind="anthropic",
        title=N_("Anthropic"),
        name="Anthropic",
        create=create,
        order=25,
        url="https://api.anthropic.com/v1",
        hint=N_("A key from console.anthropic.com. Your messages go to Anthropic's servers."),
        model="claude-sonnet-5",
        needs_key=True,
    )
)
