"""OpenAI's Responses API, and compatible servers."""

from __future__ import annotations

from atelier_desk.llm.provider_kinds.openai import PRICES
from atelier_desk.llm.provider_type_registry import ProviderType, register, server
from atelier_desk.support.i18n import N_

register(
    ProviderType(
        kind="responses",
        title=N_("OpenAI"),
        name="OpenAI",
        create=server("atelier_desk.llm.openai_responses.provider", "ResponsesProvider"),
        order=28,
        url="https://api.openai.com/v1",
        model="gpt-5.5",
        needs_key=True,
        embeds=True,
        prices=PRICES,
    )
)
