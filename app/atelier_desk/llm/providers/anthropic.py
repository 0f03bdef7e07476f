"""Anthropic's own API, and servers that speak it."""

from __future__ import annotations

from atelier_desk.i18n import N_
from atelier_desk.llm.registry import ProviderType, register, server

register(
    ProviderType(
        kind="anthropic",
        title=N_("Anthropic"),
        name="Anthropic",
        create=server("atelier_desk.llm.anthropic.provider", "AnthropicProvider"),
        order=25,
        url="https://api.anthropic.com/v1",
        hint=N_("A key from console.anthropic.com. Your messages go to Anthropic's servers."),
        model="claude-sonnet-5",
        needs_key=True,
    )
)
