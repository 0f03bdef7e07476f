"""Anthropic's own API, and compatible servers."""

from __future__ import annotations

from atelier_desk.domain.image_limits import PictureLimits
from atelier_desk.llm.provider_type_registry import ProviderType, register, server
from atelier_desk.support.i18n import N_

register(
    ProviderType(
        kind="anthropic",
        title=N_("Anthropic"),
        name="Anthropic",
        create=server("atelier_desk.llm.anthropic.provider", "AnthropicProvider"),
        order=25,
        url="https://api.anthropic.com/v1",
        model="claude-sonnet-5",
        needs_key=True,
        # Anthropic's vision guide: 5 MB as base64, 100 per request, 2000 pixels per side for more than 20; sides over
        # 1568 pixels are scaled down by the server.
        pictures=PictureLimits(side=1568, size=5 * 1024 * 1024 * 3 // 4, most=100),
    )
)
