"""Models: information, the user's corrections, prices, and downloads."""

from __future__ import annotations

import asyncio
import builtins
import logging
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from atelier_desk.domain.errors import NotFoundError, ProviderError, UsageError
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.llm.model_assumptions import merge_profile
from atelier_desk.llm.network.proxy_and_certificates import is_loopback
from atelier_desk.llm.provider_type_registry import builtin_type, is_own, provider_type
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.llm.local.catalogue import CatalogueEntry
    from atelier_desk.llm.local.download import Downloads, DownloadState
    from atelier_desk.llm.model_catalogue import ModelList

KNOWN_FOR_S = 300.0
"""Seconds for which a server's model information is cached."""
UNKNOWN_FOR_S = 30.0
"""The same without an answer: the server may have been starting."""
METADATA_S = 5.0
"""Seconds a run waits for model information. Lists of large gateways take one or two."""

_log = logging.getLogger(__name__)
EDITABLE = frozenset(
    {
        "label",
        "context_window",
        "max_output_tokens",
        "supports_tools",
        "supports_vision",
        "supports_thinking",
        "price_input",
        "price_output",
        "price_cache_read",
        "price_cache_write",
    }
)
CONTEXT_WINDOW = (1024, 2_000_000)
PRICE_MOST = 1000.0


def with_learned(info: ModelInfo, stored: ModelInfo | None) -> ModelInfo:
    """Combine a server's model information with the stored row.

    A ``learned`` row overrides single fields, any other row replaces it. That calls of tools worked adjusts nothing,
    so the source stays.
    """
    if stored is None or stored.source != "learned":
        return stored or info
    facts = {name: value for name in EDITABLE if (value := getattr(stored, name)) not in (None, "")}
    source = info.source if facts == {"supports_tools": True} else "learned"
    return info.model_copy(update={**facts, "source": source})


def free_here(config: ProviderConfig, info: ModelInfo) -> ModelInfo:
    """A model that a free kind of server (Ollama) runs on this machine costs nothing, where nobody entered a price.

    Its hosted models (``…-cloud``) run elsewhere, and any other server on this machine may pass requests on to a
    service that charges for them.
    """
    if not provider_type(config.kind).free or not is_loopback(config.base_url) or info.name.endswith("cloud"):
        return info
    free = {name: 0.0 for name in ("price_input", "price_output") if getattr(info, name) is None}
    return info.model_copy(update=free)


LIST_OLD_DAYS = 90
"""Days after which the list of hosted models is reported as old, because of newer models and prices."""


class ListState(NamedTuple):
    """The list of hosted models: its date, number of models and services, and age in days."""

    day: date
    models: int
    services: int
    age: int = 0

    @property
    def old(self) -> bool:
        return self.age > LIST_OLD_DAYS


class ModelService:
    """Models of all providers. The user's corrections take precedence over the server, and the server over profiles.

    Changes are announced as ``model`` with ``provider/name``.
    """

    list_source = "https://models.dev"
    """Source of the list of hosted models."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._known: dict[tuple[str, str], tuple[float, ModelInfo]] = {}
        self._opened: Downloads | None = None
        self._listed: ModelList | None = None

    async def list(self) -> list[ModelInfo]:
        """Return the models of every enabled provider that answers, including embedders, in provider order."""
        found: list[ModelInfo] = []
        for config in await self._context.providers.list():
            if not config.enabled:
                continue
            try:
                found += await self._context.providers.models(config.name)
            except ProviderError:
                found += await self.stored(config.name)
        return found

    async def stored(self, provider: str) -> builtins.list[ModelInfo]:
        """Return the models of a provider that are known without its server: corrected by the user, or learned."""
        config = await self._context.providers.get(provider)
        rows = await self._context.repos.models.list(config.name)
        return [with_learned(await self.assumed(config, row.name), row) for row in rows]

    async def info(self, provider: str, model: str) -> ModelInfo:
        """Return information about one model. If the server does not answer within ``METADATA_S``, the profile's
        assumptions are used.

        Raises:
            NotFoundError: no such provider, or the local provider has no such model.
            UsageError: the provider is disabled.
        """
        now = self._context.clock.monotonic()
        known = self._known.get((provider, model))
        # The user's corrections are cached too: ``update`` and ``reset`` invalidate them.
        if known is not None and (now < known[0] or known[1].source == "user"):
            return known[1]
        config = await self._context.providers.get(provider)
        edited = await self._edited(config.name, model)
        if edited is not None and edited.source != "learned":
            self._known[provider, model] = (now + KNOWN_FOR_S, edited)
            return edited
        server = await self._context.providers.provider(provider)
        known_for = KNOWN_FOR_S
        try:
            async with asyncio.timeout(METADATA_S):
                info = await server.model_info(model)
        except (ProviderError, TimeoutError) as error:
            if provider_type(config.kind).builtin:
                raise
            # Whatever the reason (no such page, a fault, silence), a request may still work, or report why not.
            _log.info("%s does not describe its models (%s)", provider, getattr(error, "code", "timeout"))
            info, known_for = await self.assumed(config, model), UNKNOWN_FOR_S
        info = with_learned(free_here(config, (await self.listed()).applied(config, info)), edited)
        self._known[provider, model] = (now + known_for, info)
        return info

    async def stored_info(self, provider: str, model: str) -> ModelInfo:
        """What is known of one model without asking its server, when that includes a price; else as ``info``.

        Raises:
            NotFoundError: no such provider. UsageError: it is disabled.
        """
        config = await self._context.providers.get(provider)
        known = with_learned(await self.assumed(config, model), await self._edited(config.name, model))
        return known if known.price_input is not None else await self.info(provider, model)

    async def assumed(self, config: ProviderConfig, model: str) -> ModelInfo:
        """Return the assumptions about a model without server information."""
        info = merge_profile(config.kind, ModelInfo(provider=config.name, name=model), own=is_own(config))
        return free_here(config, (await self.listed()).applied(config, info))

    async def listed(self) -> ModelList:
        """Return the newer of the shipped and the downloaded list of hosted models."""
        if self._listed is None:
            from atelier_desk.llm.model_catalogue import newest

            self._listed = await asyncio.to_thread(newest, self._context.datadir.model_list)
        return self._listed

    async def list_state(self) -> ListState:
        """Return date and size of the list of hosted models."""
        listed = await self.listed()
        age = (self._context.clock.now().date() - listed.day).days
        return ListState(listed.day, listed.count, len(listed.models), age)

    async def refresh_list(self) -> ListState:
        """Download and use the list of hosted models. A person's corrections stay.

        Raises:
            ProviderError: the download failed or is invalid; the old list stays in use.
            StorageError: it cannot be stored.
        """
        from atelier_desk.llm.model_catalogue import fetch, store

        fetched = await fetch(self._context.clock, self.list_source)
        await asyncio.to_thread(store, self._context.datadir.model_list, fetched)
        self._listed = fetched
        self._known.clear()
        self._context.bus.changed("model", "")
        return await self.list_state()

    async def update(self, info: ModelInfo) -> ModelInfo:
        """Store a correction: context, prices in dollars per million tokens, capabilities."""
        await self._context.providers.get(info.provider)
        low, high = CONTEXT_WINDOW
        if info.context_window is not None and not low <= info.context_window <= high:
            raise UsageError(
                N_("A context window must have {low} to {high} tokens, not {value}."),
                low=low,
                high=high,
                value=info.context_window,
            )
        for price in (info.price_input, info.price_output, info.price_cache_read, info.price_cache_write):
            if price is not None and price > PRICE_MOST:
                raise UsageError(
                    N_("A price can be at most {most} dollars per million tokens, not {value}."),
                    most=PRICE_MOST,
                    value=price,
                )
        stored = info.model_copy(update={"source": "user"})
        await self._context.repos.models.save(stored)
        self._changed(info)
        return stored

    async def learned(self, provider: str, model: str, **facts: int | bool) -> None:
        """Store what the server revealed by refusing a request (``EDITABLE`` fields only). ``reset`` removes it.

        With a person's own corrections nothing is stored: each run then encounters the refusal once, and adapts, until
        the person changes the correction.
        """
        info = await self.info(provider, model)
        if info.source == "user" or all(getattr(info, name) == value for name, value in facts.items()):
            return
        before = await self._edited(info.provider, model) or ModelInfo(provider=info.provider, name=model)
        await self._context.repos.models.save(before.model_copy(update={**facts, "source": "learned"}))
        self._changed(info)

    async def edit(self, provider: str, model: str, **fields: object) -> ModelInfo:
        """Correct some fields of a model (``EDITABLE``)."""
        unknown = sorted(set(fields) - EDITABLE)
        if unknown:
            raise UsageError(
                N_("These fields of a model cannot be changed: {names}. Allowed: {allowed}."),
                names=", ".join(unknown),
                allowed=", ".join(sorted(EDITABLE)),
            )
        return await self.update(input_checks.changed(await self.info(provider, model), _("model"), **fields))

    async def reset(self, provider: str, model: str) -> ModelInfo:
        """Remove the corrections; return the server's or profile's information."""
        provider = (await self._context.providers.get(provider)).name
        edited = await self._edited(provider, model)
        if edited is not None:
            await self._context.repos.models.delete(provider, model)
            self._changed(edited)
        return await self.info(provider, model)

    async def catalogue(self) -> builtins.list[CatalogueEntry]:
        """Return downloadable models for the built-in provider, with size, licence and purpose."""
        return self.downloads.catalogue()

    async def download_states(self) -> builtins.list[DownloadState]:
        """Return the state of each download: started, running, paused, failed or done."""
        return await asyncio.to_thread(self.downloads.states)

    async def delete_download(self, id: str) -> None:
        """Delete a downloaded model."""
        await self.downloads.delete(id)
        name = builtin_type().kind
        self.forget(name)
        self._context.bus.changed("model", name)

    async def aclose(self) -> None:
        """Stop downloads; they resume at the next start."""
        if self._opened is not None:
            await self._opened.aclose()

    @property
    def downloads(self) -> Downloads:
        """The downloads; progress is announced as ``download`` with a model's id."""
        if self._opened is None:
            from atelier_desk.llm.local import download, model_files

            def changed(id: str) -> None:
                self._context.bus.changed("download", id)

            self._opened = download.Downloads(
                model_files.ModelStore(self._context.datadir.models), self._context.clock, changed
            )
        return self._opened

    def forget(self, provider: str, model: str = "") -> None:
        """Invalidate cached information of one model or all, including under former names of the provider."""

        def meant(key: tuple[str, str], info: ModelInfo) -> bool:
            return provider in (key[0], info.provider) and model in ("", key[1])

        self._known = {key: known for key, known in self._known.items() if not meant(key, known[1])}

    async def _edited(self, provider: str, model: str) -> ModelInfo | None:
        try:
            return await self._context.repos.models.get(provider, model)
        except NotFoundError:
            return None

    def _changed(self, info: ModelInfo) -> None:
        self.forget(info.provider, info.name)
        self._context.bus.changed("model", f"{info.provider}/{info.name}")
