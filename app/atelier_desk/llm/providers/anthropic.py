"""Anthropic's own API, and servers that speak it."""

from __future__ import annotations

from atelier_desk.domain.pictures import PictureLimits
from atelier_desk.llm.registry import ProviderType, register, server
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
        # Anthropic's vision guide: 5 MB as base64, 100 in one request, 2000 pixels a side where there are more than 20; a longer side than
        # 1568 is scaled down there before the model sees it.
        pictures=PictureLimits(side=1568, size=5 * 1024 * 1024 * 3 // 4, most=100),
    )
)
