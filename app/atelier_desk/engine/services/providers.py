"""Model servers: configuration, keys, and open connections."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.errors import ConflictError, NotFoundError, ProviderError, StorageError, UsageError
from atelier_desk.domain.imported_grant import HeldGrant, HeldKind
from atelier_desk.domain.provider import (
    HEADER_NAME,
    ModelInfo,
    ProviderConfig,
    ProviderDraft,
    ProviderHealth,
    header_variable,
)
from atelier_desk.domain.settings import MOST_FORMER_NAMES
from atelier_desk.domain.usage import unchecked
from atelier_desk.engine.importing.imported_grants import not_confirmed, of_provider, waits
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.engine.services.models import with_learned
from atelier_desk.llm.model_assumptions import merge_profile
from atelier_desk.llm.network.proxy_and_certificates import check_ca_file, checked_base_url
from atelier_desk.llm.provider_type_registry import builtin_type, is_own, provider_type
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.engine.services.model_connection_test import Trial
    from atelier_desk.llm.interfaces import Provider
    from atelier_desk.llm.network.local_server_detection import DetectedServer
    from atelier_desk.llm.secrets import KeyVault

log = logging.getLogger(__name__)

OWN_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)
"""Headers set by the program itself, not by the user."""


class ProviderService:
    """Model servers. The built-in one always exists. Changes are announced as ``provider`` with the name."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._open: dict[str, Provider] = {}
        self._lock = asyncio.Lock()

    async def list(self) -> list[ProviderConfig]:
        """Return the built-in one first, then the others by name, with ``has_key``, never the key."""
        stored = {config.name: config for config in await self._context.repos.providers.list()}
        local = stored.pop(builtin_type().kind, _local())
        return [local, *sorted(stored.values(), key=lambda config: config.name.casefold())]

    async def get(self, name: str) -> ProviderConfig:
        """Return a provider, also by a former name; the error lists the providers."""
        known = {config.name: config for config in await self.list()}
        if name not in known:
            name = (await self._context.settings.get()).provider_names.get(name, name)
        if name in known:
            return known[name]
        names = ", ".join(known)
        raise NotFoundError(N_("There is no provider {name}. Providers: {names}."), name=name, names=names)

    async def save(self, config: ProviderConfig, *, new: bool = False) -> ProviderConfig:
        """Store a provider; with ``new`` the name must be free. Its open connection is closed."""
        _check(config)
        if config.ca_file:
            config = config.model_copy(update={"ca_file": str(await asyncio.to_thread(_checked_ca_file, config))})
        known = {each.name: each for each in await self.list()}
        if new and config.name in known:
            raise ConflictError(N_("A provider named {name} already exists."), name=config.name)
        if config.name not in known and not config.has_key:
            await self._delete_secrets(config)  # a kill or a full disk can have left secrets of a former one
        await self._context.repos.providers.save(config)
        # the former holder of the name is no longer found by it
        if config.name in (await self._context.settings.get()).provider_names:
            await self._context.settings.update(
                provider_names=lambda names: {was: now for was, now in names.items() if was != config.name}
            )
        await self._release(config)
        if config.name in known:
            await self._delete_header_secrets(known[config.name], keep=config)
        await self._close(config.name)
        self._context.bus.changed("provider", config.name)
        return config

    async def rename(self, name: str, to: str) -> ProviderConfig:
        """Rename a provider with its key, models, agents and settings; workflows and runs find it by the former name.

        All or nothing: keys exist under both names until everything else is stored.

        Raises:
            UsageError: it is the built-in one, or the name is invalid.
            ConflictError: the name is taken.
            StorageError: its key cannot be stored under the new name (code ``keys``).
        """
        config = await self.get(name)
        if provider_type(config.kind).builtin:
            raise UsageError(N_("The built-in provider cannot be renamed."), code="builtin")
        renamed = input_checks.changed(config, _("provider"), name=to)
        _check(renamed)
        if renamed.name == config.name:
            return config
        if renamed.name in {each.name for each in await self.list()}:
            raise ConflictError(N_("A provider named {name} already exists."), name=renamed.name)
        repos = self._context.repos
        await asyncio.to_thread(self._context.vault.copy, config.name, renamed.name, _own_headers(config))
        models = [info.model_copy(update={"provider": renamed.name}) for info in await repos.models.list(config.name)]
        agents = [
            agent.model_copy(update={"config": agent.config.model_copy(update={"provider": renamed.name})})
            for agent in await repos.agents.list()
            if agent.config.provider == config.name
        ]
        written = repos.providers.renaming(config.name, renamed, models, agents)
        await self._context.settings.update(*written, **_renamed(config.name, renamed.name))
        for agent in agents:
            self._context.bus.changed("agent", agent.id)
        try:
            await self._delete_secrets(config)
        except StorageError:
            log.warning("The key of %s stands under its former name too until that is used again.", renamed.name)
        await self._close(config.name)
        self._context.bus.changed("provider", renamed.name)
        return renamed

    async def delete(self, name: str) -> None:
        """Delete a provider and its key. The built-in one stays; one used by an agent is refused, naming the agents."""
        if name == builtin_type().kind:
            raise UsageError(N_("The built-in provider cannot be removed; disable it instead."), code="builtin")
        config = await self.get(name)
        name = config.name
        users = [agent.name for agent in await self._context.repos.agents.list() if agent.config.provider == name]
        if users:
            raise ConflictError(
                N_("The provider {name} cannot be removed because it is used by: {agents}."),
                code="in_use",
                name=name,
                agents=", ".join(users),
            )
        await self._context.settings.update(
            last_model=lambda model: "" if model.startswith(f"{name}/") else model,
            # the next provider with this name is a different one
            provider_names=lambda names: {was: now for was, now in names.items() if now != name},
        )
        if config.has_key:
            await asyncio.to_thread(self._context.vault.delete, name)
        await self._delete_header_secrets(config)
        await self._context.repos.providers.delete(name)
        await self._release(None, name)
        await self._close(name)
        self._context.bus.changed("provider", name)

    async def test(self, name: str, *, load: bool = True) -> ProviderHealth:
        """Connect to the server and list its models; faults and missing keys are results, not errors.

        If the address does not work, others on the same host are tried (see ``llm.network.server_address_search``).
        Without ``load``, the built-in provider's model is checked but not loaded.
        """
        try:
            return await (await self.provider(name)).test(load=load)
        except ProviderError as error:
            return ProviderHealth.failed(error)

    async def models(self, name: str) -> builtins.list[ModelInfo]:
        """Return the server's models with the user's changes, and those only the user knows."""
        config = await self.get(name)
        offered = await (await self.provider(name)).list_models()
        stored = {info.name: info for info in await self._context.repos.models.list(config.name)}
        if not offered:
            offered = [
                merge_profile(config.kind, ModelInfo(provider=config.name, name=model), own=is_own(config))
                for model in stored
            ]
        listed = await self._context.models.listed()
        return [with_learned(listed.applied(config, info), stored.get(info.name)) for info in offered]

    async def test_draft(self, draft: ProviderDraft) -> ProviderHealth:
        """Test an unsaved server or form; nothing is stored."""
        try:
            async with self._trying(draft) as server:
                return await server.test()
        except ProviderError as error:
            return ProviderHealth.failed(error)

    async def draft_models(self, draft: ProviderDraft) -> builtins.list[ModelInfo]:
        """Return the models of an unsaved server, in its own order.

        Raises:
            ProviderError: it cannot be reached, or refused.
        """
        async with self._trying(draft) as server:
            return await server.list_models()

    async def try_draft(self, draft: ProviderDraft, model: str) -> Trial:
        """Like ``try_model`` for an unsaved server. The request counts in the month.

        Raises:
            LimitError: ``month``: what is left of the monthly limit does not pay for it, or its price is not known.
        """
        async with self._trying(draft) as server:
            return await self._tried(server, await self._context.models.assumed(draft.config, model))

    async def set_key(self, name: str, key: str) -> bool:
        """Store the API key.

        Returns:
            False if it is only known until the program ends (``keys.store``).

        Raises:
            ProviderError: the text is not a valid key (code ``auth``).
        """
        config = await self.get(name)
        kept = await asyncio.to_thread(self._context.vault.set, config.name, key)
        await self.save(config.model_copy(update={"has_key": True}))
        return kept

    async def set_headers(self, name: str, values: Mapping[str, str]) -> bool:
        """Store request header values in the keyring, and name the headers in the configuration.

        Returns:
            False if they are only known until the program ends.

        Raises:
            ProviderError: a text is not a valid header value (code ``auth``).
        """
        config = await self.get(name)
        await self.save(config.model_copy(update={"headers": {**config.headers, **dict.fromkeys(values, "")}}))
        kept = [
            await asyncio.to_thread(self._context.vault.set_header, config.name, header, value)
            for header, value in values.items()
        ]
        await self._close(config.name)
        return all(kept)

    async def clear_key(self, name: str) -> None:
        """Remove the API key from the keyring."""
        config = await self.get(name)
        await asyncio.to_thread(self._context.vault.delete, config.name)
        await self.save(config.model_copy(update={"has_key": False}))

    async def try_model(self, name: str, model: str) -> Trial:
        """Ask a model for a sentence, through the same path as real work. The request counts in the month.

        Raises:
            LimitError: as ``try_draft``.
            ProviderError: it cannot be reached, refused, answered nothing, or was silent for
                ``model_connection_test.SILENCE_S``.
        """
        return await self._tried(await self.provider(name), await self._context.models.info(name, model))

    async def _tried(self, server: Provider, info: ModelInfo) -> Trial:
        from atelier_desk.engine.services.model_connection_test import cost_of, try_model

        cost = cost_of(info)
        if cost == 0:
            return await try_model(server, info.name, self._context.clock, unchecked)
        async with self._context.outside_costs.paying(info.provider, info.name, cost, info.name) as payment:
            return await try_model(server, info.name, self._context.clock, payment.check_again)

    async def detect(self) -> builtins.list[DetectedServer]:
        """Find local Ollama, LM Studio and llama.cpp servers that are not configured yet."""
        from atelier_desk.llm.network.local_server_detection import detect

        known = {config.base_url.rstrip("/") for config in await self.list() if config.base_url}
        return [found for found in await detect(self._context.clock) if found.base_url.rstrip("/") not in known]

    async def provider(self, name: str) -> Provider:
        """Return the shared connection to a provider, opened at first use.

        Raises:
            NotFoundError: no such provider.
            UsageError: it is disabled (code ``disabled``).
            ProviderError: its address was not confirmed (code ``held``).
        """
        opened = self._open.get(name)
        if opened is not None:
            # Configuration changes go through ``save`` and ``delete``, which close it.
            return opened
        async with self._lock:
            config = await self.permitted(name)
            if config.name not in self._open:
                self._open[config.name] = self._create(config, self._context.vault)
            return self._open[config.name]

    def _create(self, config: ProviderConfig, vault: KeyVault) -> Provider:
        return provider_type(config.kind).create(config, vault, self._context.clock, self._context.datadir.models)

    async def permitted(self, name: str) -> ProviderConfig:
        """Like ``confirmed`` for a provider that must also be enabled.

        Raises:
            UsageError: it is disabled (code ``disabled``).
        """
        config = await self.confirmed(name)
        if not config.enabled:
            raise UsageError(
                N_("The provider {provider} is disabled; enable it in the settings."), code="disabled", provider=name
            )
        return config

    async def confirmed(self, name: str) -> ProviderConfig:
        """Like ``get`` before something is sent.

        Raises:
            NotFoundError: no such provider.
            ProviderError: its address is from foreign data and unconfirmed (code ``held``).
        """
        config = await self.get(name)
        if (grant := await self._held(config.name)) is not None:
            raise not_confirmed(config.name, grant)
        return config

    async def _held(self, name: str) -> HeldGrant | None:
        held = (await self._context.settings.get()).held
        return next((each for each in held if each.kind is HeldKind.PROVIDER and each.name == name), None)

    async def _release(self, config: ProviderConfig | None, name: str = "") -> None:
        """After a change by a person, release a provider in which nothing is left to confirm."""
        grant = await self._held(config.name if config is not None else name)
        if grant is not None and (config is None or not waits(grant, of_provider(config))):
            await self._context.settings.update(held=lambda held: tuple(each for each in held if each.id != grant.id))

    @asynccontextmanager
    async def _trying(self, draft: ProviderDraft) -> AsyncIterator[Provider]:
        """Yield a temporary connection to a draft's server with its key in memory only."""
        config = draft.config
        _check(config)
        if (grant := await self._held(config.name)) is not None and waits(grant, of_provider(config)):
            raise not_confirmed(config.name, grant)
        if provider_type(config.kind).builtin:
            yield await self.provider(config.name)
            return
        if config.ca_file:
            config = config.model_copy(update={"ca_file": str(await asyncio.to_thread(_checked_ca_file, config))})
        vault = await asyncio.to_thread(self._context.vault.drafted, draft)
        server = self._create(config, vault)
        try:
            yield server
        finally:
            await server.aclose()

    async def aclose(self) -> None:
        """Close all connections and stop the local model's process."""
        async with self._lock:
            opened, self._open = list(self._open.values()), {}
        for provider in opened:
            await provider.aclose()

    async def _delete_header_secrets(self, config: ProviderConfig, *, keep: ProviderConfig | None = None) -> None:
        """Remove header values from the keyring that are no longer needed."""
        kept = {header.lower() for header, form in keep.headers.items() if not form} if keep is not None else set()
        for header, form in config.headers.items():
            if not form and header.lower() not in kept:
                await asyncio.to_thread(self._context.vault.delete_header, config.name, header)

    async def _delete_secrets(self, config: ProviderConfig) -> None:
        """Delete secrets stored under a name without a provider."""
        await asyncio.to_thread(self._context.vault.delete_provider, config.name, _own_headers(config))

    async def _close(self, name: str) -> None:
        self._context.models.forget(name)
        async with self._lock:
            provider = self._open.pop(name, None)
        if provider is not None:
            await provider.aclose()


def _own_headers(config: ProviderConfig) -> list[str]:
    """Return the headers whose values are stored with the keys."""
    return [header for header, form in config.headers.items() if not form]


def _local() -> ProviderConfig:
    kind = builtin_type().kind
    return ProviderConfig(name=kind, kind=kind)


def _renamed(old: str, new: str) -> dict[str, Callable[[Any], object]]:
    """Return the changes of settings for a renamed provider."""

    def model(name: str) -> str:
        return f"{new}/{name.removeprefix(f'{old}/')}" if name.startswith(f"{old}/") else name

    def names(known: dict[str, str]) -> dict[str, str]:
        kept = {was: new if now == old else now for was, now in known.items() if was not in (old, new)}
        return dict([*list(kept.items())[-MOST_FORMER_NAMES + 1 :], (old, new)])

    def held(grants: tuple[HeldGrant, ...]) -> tuple[HeldGrant, ...]:
        mine = (HeldKind.PROVIDER, old)
        return tuple(
            each.model_copy(update={"name": new}) if (each.kind, each.name) == mine else each for each in grants
        )

    def models(known: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(model, known))

    return {
        "provider_names": names,
        "favourite_models": models,
        "recent_models": models,
        "last_model": model,
        "held": held,
    }


def _check(config: ProviderConfig) -> None:
    """Refuse invalid configurations: the built-in name for another kind, an invalid URL or variable name."""
    if (config.name == builtin_type().kind) != provider_type(config.kind).builtin:
        raise UsageError(
            N_(
                "Only the built-in provider can have the name “local” or the kind “local”. Choose another name or kind."
            ),
            code="builtin",
        )
    input_checks.build(ProviderConfig, _("provider"), **config.model_dump())
    if config.base_url:
        checked_base_url(config.base_url)
    if config.api_key_env and not config.api_key_env.isidentifier():
        raise UsageError(
            N_("{name} is not the name of an environment variable; give the variable's name, never the key itself."),
            code="invalid_env", name=_hidden(config.api_key_env),
        )  # fmt: skip

    for header, form in config.headers.items():
        if not HEADER_NAME.fullmatch(header) or header.lower() in OWN_HEADERS:
            raise UsageError(
                N_(
                    "{header} cannot be used as a header name: use letters, digits and dashes. These names are "
                    "reserved: {own}."
                ),
                code="invalid_header", header=_hidden(header), own=", ".join(sorted(OWN_HEADERS)),
            )  # fmt: skip
        if form and not header_variable(form):
            raise UsageError(
                N_(
                    "Store the value of the header {header} in the keyring, or use an environment variable "
                    "($VARIABLE). It is never stored as plain text."
                ),
                code="invalid_header",
                header=header,
            )
    if len({header.lower() for header in config.headers}) < len(config.headers):
        raise UsageError(N_("Each header can be set only once."), code="invalid_header")


def _checked_ca_file(config: ProviderConfig) -> Path:
    """Return the absolute path of the CA file. Raises UsageError if it contains no readable certificates."""
    path = Path(config.ca_file).expanduser().absolute()
    try:
        check_ca_file(config.name, str(path))
    except ProviderError as error:
        params: dict[str, Any] = dict(error.params)
        raise UsageError(error.template, code="ca_file", **params) from None
    return path


def _hidden(text: str) -> str:
    """Return the first characters of what may be a misplaced key."""
    return text[:4] + "…"
