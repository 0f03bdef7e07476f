"""A provider type as an external package adds it: one file next to the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import atelier_desk.llm.provider_kinds as package
from atelier_desk.llm import provider_type_registry

ACME = '''
"""Acme's servers: chat completions at a place of their own, with the key in a header of their own."""

from pathlib import Path

from atelier_desk.llm.openai_compatible import OpenAICompatibleProvider
from atelier_desk.llm.provider_type_registry import ProviderType, register


class AcmeProvider(OpenAICompatibleProvider):
    kind = "acme"
    chat_path = "/acme/chat"

    @staticmethod
    def base_url(configured):
        return configured or "https://acme.example"

    async def _credentials(self):
        return {"x-acme-key": await self._key() or ""}


def create(config, vault, clock, models_dir: Path):
    return AcmeProvider(config, vault, clock)


register(ProviderType(
    kind="acme", title="Acme Brains", name="Acme", create=create, order=15, url="https://acme.example", icon="sparkles",
    model="acme-1",
    hint="A key from acme.example.", needs_key=True,
))
'''


@contextmanager
def plugged(folder: Path) -> Iterator[None]:
    """Add Acme's file temporarily."""
    (folder / "acme.py").write_text(ACME)
    package.__path__.append(str(folder))
    try:
        yield
    finally:
        package.__path__.remove(str(folder))
        sys.modules.pop("atelier_desk.llm.provider_kinds.acme", None)
        provider_type_registry._types.pop("acme", None)
