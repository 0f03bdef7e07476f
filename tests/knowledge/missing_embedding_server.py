"""An embedding server that is not there."""

from __future__ import annotations

from atelier_desk.domain.provider import ProviderConfig


async def no_server(name: str) -> ProviderConfig:
    raise AssertionError(f"{name} was looked for")
