"""Keys of web services, from a variable or from the keyring under the service's name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.provider_type_registry import any_server_type
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.i18n import N_


def entry(service: str) -> str:
    """Keyring entry of a service's key."""
    return f"service-{service}"


def credentials(
    vault: KeyVault, service: str, title: str, key_env: str, header: str, before: str = "", *, needed: bool = True
) -> Callable[[], Awaitable[dict[str, str]]]:
    """A function that returns the header with a service's key.

    Without a key it raises ``ProviderError`` (code ``auth``), or returns no header unless a key is
    ``needed``.
    """

    async def give() -> dict[str, str]:
        config = ProviderConfig(name=entry(service), kind=any_server_type().kind, api_key_env=key_env)
        try:
            key = await vault.key_for(config)
        except ProviderError as error:  # show the service's display name instead of the keyring's
            error.params = {**error.params, "provider": title}
            raise
        if not key and not needed:
            return {}
        if not key:
            raise ProviderError(
                N_("No key is stored for {service}. Enter it in Settings → Web and media (Web, or Images and 3D)."),
                code="auth",
                service=title,
            )
        return {header: before + key}

    return give


async def has_key(vault: KeyVault, service: str) -> bool:
    return bool(await asyncio.get_running_loop().run_in_executor(None, vault.get, entry(service)))
