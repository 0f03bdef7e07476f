"""Web search: service, keys, and cached pages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.settings import WebSettings
from atelier_desk.engine.importing.imported_grants import check_confirmed
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.service import Service
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.web.browser.browser_discovery import find, is_root
from atelier_desk.web.search import ENGINES, Searcher, WebHit
from atelier_desk.web.service_keys import entry, has_key

TRIAL = "weather"
"""Query of a test."""
QUERY = 400
"""Maximum characters of a query."""


@dataclass(frozen=True, slots=True)
class WebState:
    """State of the settings page.

    Attributes:
        keys: services with a stored key.
        browser, program: browser for JavaScript pages, empty for none; ``root`` if it is not started for this user.
        pages, size: number of cached pages, and their bytes.
    """

    settings: WebSettings
    keys: tuple[str, ...]
    pages: int
    size: int
    browser: str = ""
    program: str = ""
    root: bool = False


class WebService(Service):
    """Web search. Changes are announced as ``settings``."""

    async def state(self) -> WebState:
        vault = self._context.vault
        keys = [name for name, engine in ENGINES.items() if engine.keyed and await has_key(vault, name)]
        pages, size = await in_tool_thread(self._context.web_pages.cache.size)
        settings = (await self._context.settings.get()).web
        found = await in_tool_thread(find, settings.browser)
        name, program = (found.name, found.program) if found is not None else ("", "")
        return WebState(settings, tuple(keys), pages, size, name, program, is_root())

    async def use(self, settings: WebSettings, key: str = "") -> bool:
        """Use these settings from now on, and store a given key. False if the key lasts for this session only.

        Raises:
            UsageError: the service takes no key, or an address is missing or invalid.
            ProviderError: the text is not a valid key.
        """
        engine = ENGINES[settings.search]
        if key and not engine.keyed:
            raise UsageError(N_("{service} needs no key."), service=engine.title)
        if settings.search == "searxng" and not settings.address:
            raise UsageError(N_("Enter the address of the SearXNG server, such as https://search.example.org."))
        if settings.browser and await in_tool_thread(find, settings.browser) is None:
            raise UsageError(
                N_("There is no browser program at {path}. Leave the field empty to detect one."),
                path=settings.browser,
            )
        persistent = await asyncio.to_thread(self._context.vault.set, entry(settings.search), key) if key else True
        await self._context.settings.update(web=settings)
        if key:
            self._context.bus.changed("settings", "web")
        return persistent

    async def forget_key(self, service: str) -> None:
        """Delete a service's key, also from the keyring."""
        if service not in ENGINES or not ENGINES[service].keyed:
            raise UsageError(N_("No key is stored for {service}."), service=service)
        await asyncio.to_thread(self._context.vault.delete, entry(service))
        self._context.bus.changed("settings", "web")

    async def search(self, query: str, limit: int = 8) -> list[WebHit]:
        """Search like agents do. Also raises ``UsageError`` for a blank query."""
        return await self._context.searcher.search(
            input_checks.text(query, _("What to search for"), QUERY), limit, self._context.outside_costs.paying
        )

    async def test(self, settings: WebSettings, key: str = "") -> list[WebHit]:
        """Search with unsaved settings, storing nothing.

        Raises:
            ToolError, ProviderError: it does not work; the text says why.
            LimitError: the monthly limit has no room for it.
        """
        tried = (await self._context.settings.get()).model_copy(update={"web": settings})
        check_confirmed(tried, HeldKind.SEARCH, ENGINES[settings.search].title)
        vault = self._context.vault
        if key:
            vault = KeyVault(session=True)
            vault.set(entry(settings.search), key)
        trial = Searcher(vault, self._context.clock)
        trial.settings = settings
        return await trial.search(TRIAL, 3, self._context.outside_costs.paying)

    async def clear_cache(self) -> int:
        """Delete cached pages; return their number."""
        count = await in_tool_thread(self._context.web_pages.cache.clear)
        self._context.bus.changed("settings", "web")
        return count
