"""Model servers: their configuration, their keys, and the open connections to them."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.errors import ConflictError, NotFoundError, ProviderError, StorageError, UsageError
from atelier_desk.domain.imported_data import HeldGrant, HeldKind
from atelier_desk.domain.provider import HEADER_NAME, ModelInfo, ProviderConfig, ProviderDraft, ProviderHealth, header_variable
from atelier_desk.domain.settings import MOST_FORMER_NAMES
from atelier_desk.engine.imported_grants import not_confirmed, of_provider, waits
from atelier_desk.engine.services.common import checks
from atelier_desk.engine.services.common.context import ServiceContext
from atelier_desk.engine.services.models import with_learned
from atelier_desk.llm.profiles import merge_profile
from atelier_desk.llm.registry import builtin_type, is_own, provider_type
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.engine.services.connection_test import Trial
    from atelier_desk.llm.base import Provider
    from atelier_desk.llm.wire.detect import DetectedServer

log = logging.getLogger(__name__)

OWN_HEADERS = frozenset({"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"})
"""What each request says of itself: not for its owner to set."""


class ProviderService:
    """Model servers. The built-in one is always there. Changes are announced as ``provider`` with the name."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._open: dict[str, Provider] = {}
        self._lock = asyncio.Lock()

    async def list(self) -> list[ProviderConfig]:
        """The built-in one first, then the others by name. ``has_key`` is looked up, never the key shown."""
        stored = {config.name: config for config in await self._context.repos.providers.list()}
        local = stored.pop(builtin_type().kind, _local())
        return [local, *sorted(stored.values(), key=lambda config: config.name.casefold())]

    async def get(self, name: str) -> ProviderConfig:
        """The provider, also by a name that it had; the error names the ones there are."""
        known = {config.name: config for config in await self.list()}
        if name not in known:
            name = (await self._context.settings.get()).provider_names.get(name, name)
        if name in known:
            return known[name]
        names = ", ".join(known)
        raise NotFoundError(N_("There is no provider {name}. Providers: {names}."), name=name, names=names)

    async def save(self, config: ProviderConfig, *, new: bool = False) -> ProviderConfig:
        """Store a provider; with ``new`` the name must be free. Its open connection is closed, the next use opens one as configured."""
        _check(config)
        if config.ca_file:
            config = config.model_copy(update={"ca_file": str(await asyncio.to_thread(_checked_ca_file, config))})
        known = {each.name: each for each in await self.list()}
        if new and config.name in known:
            raise ConflictError(N_("A provider named {name} already exists."), name=config.name)
        if config.name not in known and not config.has_key:
            await self._forget_secrets(config)  # a kill, or a disk that was full, can have left some of another one
        await self._context.repos.providers.save(config)
        if config.name in (await self._context.settings.get()).provider_names:  # whoever had it before is found by it no more
            await self._context.settings.update(provider_names=lambda names: {was: now for was, now in names.items() if was != config.name})
        await self._release(config)
        if config.name in known:
            await self._forget_headers(known[config.name], keep=config)
        await self._forget(config.name)
        self._context.bus.changed("provider", config.name)
        return config

    async def rename(self, name: str, to: str) -> ProviderConfig:
        """Call a provider otherwise. Its key, what is known of its models, its agents and the settings go along; workflows and runs that
        know the former name find it by that. All of it happens, or nothing: keys stand under both names until all else is stored.

        Raises:
            UsageError: it is the built-in one, or this cannot be a name.
            ConflictError: the name is taken.
            StorageError: its key cannot be kept under the new name (code ``keys``).
        """
        config = await self.get(name)
        if provider_type(config.kind).builtin:
            raise UsageError(N_("The built-in provider cannot be renamed."), code="builtin")
        renamed = checks.changed(config, _("provider"), name=to)
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
            await self._forget_secrets(config)
        except StorageError:
            log.warning("The key of %s stands under its former name too until that is used again.", renamed.name)
        await self._forget(config.name)
        self._context.bus.changed("provider", renamed.name)
        return renamed

    async def delete(self, name: str) -> None:
        """Remove a provider and its key. The built-in one stays; one that an agent uses is refused, with the agents' names."""
        if name == builtin_type().kind:
            raise UsageError(N_("The built-in provider cannot be removed; disable it instead."), code="builtin")
        config = await self.get(name)
        name = config.name
        users = [agent.name for agent in await self._context.repos.agents.list() if agent.config.provider == name]
        if users:
            raise ConflictError(N_("The provider {name} is used by: {agents}."), code="in_use", name=name, agents=", ".join(users))
        await self._context.settings.update(
            last_model=lambda model: "" if model.startswith(f"{name}/") else model,
            provider_names=lambda names: {was: now for was, now in names.items() if now != name},  # the next of this name is another one
        )
        if config.has_key:
            await asyncio.to_thread(self._context.vault.delete, name)
        await self._forget_headers(config)
        await self._context.repos.providers.delete(name)
        await self._release(None, name)
        await self._forget(name)
        self._context.bus.changed("provider", name)

    async def test(self, name: str, *, load: bool = True) -> ProviderHealth:
        """Reach the server and list its models; a server's fault is a result, not an error, and so is a key that is not there.

        Where nothing answers as it should, other addresses of the same host are tried (see ``llm.address``). Without ``load``, the built-in
        provider's model is checked but not loaded.
        """
        try:
            return await (await self.provider(name)).test(load=load)
        except ProviderError as error:
            return ProviderHealth(ok=False, message=error.localized(_), code=error.code)

    async def models(self, name: str) -> builtins.list[ModelInfo]:
        """The models the server offers, with what the user changed about them, and those that the user alone knows of."""
        config = await self.get(name)
        offered = await (await self.provider(name)).list_models()
        stored = {info.name: info for info in await self._context.repos.models.list(config.name)}
        if not offered:
            offered = [merge_profile(config.kind, ModelInfo(provider=config.name, name=model), own=is_own(config)) for model in stored]
        listed = await self._context.models.listed()
        return [with_learned(listed.applied(config, info), stored.get(info.name)) for info in offered]

    async def test_draft(self, draft: ProviderDraft) -> ProviderHealth:
        """``test`` for a server that is not stored, or not as it is in the form; nothing of it is kept."""
        try:
            async with self._trying(draft) as server:
                return await server.test()
        except ProviderError as error:
            return ProviderHealth(ok=False, message=error.localized(_), code=error.code)

    async def draft_models(self, draft: ProviderDraft) -> builtins.list[ModelInfo]:
        """What a server that is not stored offers, in its own order.

        Raises:
            ProviderError: it cannot be reached, or refused.
        """
        async with self._trying(draft) as server:
            return await server.list_models()

    async def try_draft(self, draft: ProviderDraft, model: str) -> Trial:
        """``try_model`` for a server that is not stored."""
        from atelier_desk.engine.services.connection_test import try_model

        async with self._trying(draft) as server:
            return await try_model(server, model, self._context.clock)

    async def set_key(self, name: str, key: str) -> bool:
        """Keep the API key.

        Returns:
            False when it is known until the program ends, and no longer (``keys.store``).

        Raises:
            ProviderError: the text cannot be a key (code ``auth``).
        """
        config = await self.get(name)
        kept = await asyncio.to_thread(self._context.vault.set, config.name, key)
        await self.save(config.model_copy(update={"has_key": True}))
        return kept

    async def set_headers(self, name: str, values: Mapping[str, str]) -> bool:
        """Put values of request headers into the keyring and name the headers in the configuration.

        Returns:
            False when they are known until the program ends, and no longer.

        Raises:
            ProviderError: a text cannot be the value of a header (code ``auth``).
        """
        config = await self.get(name)
        await self.save(config.model_copy(update={"headers": {**config.headers, **dict.fromkeys(values, "")}}))
        kept = [await asyncio.to_thread(self._context.vault.set_header, config.name, header, value) for header, value in values.items()]
        await self._forget(config.name)
        return all(kept)

    async def clear_key(self, name: str) -> None:
        """Remove the API key from the keyring."""
        config = await self.get(name)
        await asyncio.to_thread(self._context.vault.delete, config.name)
        await self.save(config.model_copy(update={"has_key": False}))

    async def try_model(self, name: str, model: str) -> Trial:
        """Ask a model for a sentence, through the very way that work takes later.

        Raises:
            ProviderError: it cannot be reached, refused, answered nothing, or was silent for ``trial.SILENCE_S``.
        """
        from atelier_desk.engine.services.connection_test import try_model

        return await try_model(await self.provider(name), model, self._context.clock)

    async def detect(self) -> builtins.list[DetectedServer]:
        """Ollama, LM Studio and llama.cpp servers that answer on this machine's loopback and are not configured yet."""
        from atelier_desk.llm.wire.detect import detect

        known = {config.base_url.rstrip("/") for config in await self.list() if config.base_url}
        return [found for found in await detect(self._context.clock) if found.base_url.rstrip("/") not in known]

    async def provider(self, name: str) -> Provider:
        """The connection to a provider, opened at first use and shared.

        Raises:
            NotFoundError: no such provider.
            UsageError: it is disabled (code ``disabled``).
            ProviderError: its address was not confirmed (code ``held``).
        """
        opened = self._open.get(name)
        if opened is not None:
            # Every change of its configuration goes through ``save`` and ``delete``, which close it.
            return opened
        async with self._lock:
            config = await self.confirmed(name)
            if not config.enabled:
                raise UsageError(N_("The provider {name} is disabled; enable it in the settings."), code="disabled", name=name)
            if config.name not in self._open:
                from atelier_desk.llm.factory import create_provider

                self._open[config.name] = create_provider(
                    config, self._context.vault, self._context.clock, models_dir=self._context.datadir.models
                )
            return self._open[config.name]

    async def confirmed(self, name: str) -> ProviderConfig:
        """``get`` for who is about to send something there.

        Raises:
            NotFoundError: no such provider.
            ProviderError: its address came with data from elsewhere, and nobody confirmed it (code ``held``).
        """
        config = await self.get(name)
        if (grant := await self._held(config.name)) is not None:
            raise not_confirmed(config.name, grant)
        return config

    async def _held(self, name: str) -> HeldGrant | None:
        held = (await self._context.settings.get()).held
        return next((each for each in held if each.kind is HeldKind.PROVIDER and each.name == name), None)

    async def _release(self, config: ProviderConfig | None, name: str = "") -> None:
        """A person changed or removed a provider: it no longer waits once nothing stands in it of what was to be confirmed."""
        grant = await self._held(config.name if config is not None else name)
        if grant is not None and (config is None or not waits(grant, of_provider(config))):
            await self._context.settings.update(held=lambda held: tuple(each for each in held if each.id != grant.id))

    @asynccontextmanager
    async def _trying(self, draft: ProviderDraft) -> AsyncIterator[Provider]:
        """A connection to a draft's server with its key in memory alone; closed at the end, also by cancellation."""
        from atelier_desk.llm.factory import create_provider

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
        server = create_provider(config, vault, self._context.clock, models_dir=self._context.datadir.models)
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

    async def _forget_headers(self, config: ProviderConfig, *, keep: ProviderConfig | None = None) -> None:
        """Take values out of the keyring that no header needs any more."""
        kept = {header.lower() for header, form in keep.headers.items() if not form} if keep is not None else set()
        for header, form in config.headers.items():
            if not form and header.lower() not in kept:
                await asyncio.to_thread(self._context.vault.delete_header, config.name, header)

    async def _forget_secrets(self, config: ProviderConfig) -> None:
        """Take away what stands under a name that no provider has."""
        await asyncio.to_thread(self._context.vault.forget, config.name, _own_headers(config))

    async def _forget(self, name: str) -> None:
        self._context.models.forget(name)
        async with self._lock:
            provider = self._open.pop(name, None)
        if provider is not None:
            await provider.aclose()


def _own_headers(config: ProviderConfig) -> list[str]:
    """The headers whose values are kept where keys are."""
    return [header for header, form in config.headers.items() if not form]


def _local() -> ProviderConfig:
    kind = builtin_type().kind
    return ProviderConfig(name=kind, kind=kind)


def _renamed(old: str, new: str) -> dict[str, Callable[[Any], Any]]:
    """What changes in the settings when a provider is called otherwise."""

    def model(name: str) -> str:
        return f"{new}/{name.removeprefix(f'{old}/')}" if name.startswith(f"{old}/") else name

    def names(known: dict[str, str]) -> dict[str, str]:
        kept = {was: new if now == old else now for was, now in known.items() if was not in (old, new)}
        return dict([*list(kept.items())[-MOST_FORMER_NAMES + 1 :], (old, new)])

    def held(grants: tuple[HeldGrant, ...]) -> tuple[HeldGrant, ...]:
        mine = (HeldKind.PROVIDER, old)
        return tuple(each.model_copy(update={"name": new}) if (each.kind, each.name) == mine else each for each in grants)

    def models(known: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(model, known))

    return {"provider_names": names, "favourite_models": models, "recent_models": models, "last_model": model, "held": held}


def _check(config: ProviderConfig) -> None:
    """Refuse what could never work: the built-in name for another kind, a URL that is none, a variable name that is none."""
    if (config.name == builtin_type().kind) != provider_type(config.kind).builtin:
        raise UsageError(N_("The name local and the kind local belong together: there is one built-in provider."), code="builtin")
    checks.build(ProviderConfig, _("provider"), **config.model_dump())
    if config.base_url:
        from atelier_desk.llm.wire.transport import checked_base_url

        checked_base_url(config.base_url)
    if config.api_key_env and not config.api_key_env.isidentifier():
        raise UsageError(
            N_("{name} is not the name of an environment variable; give the variable's name, never the key itself."),
            code="invalid_env", name=_hidden(config.api_key_env),
        )  # fmt: skip

    for header, form in config.headers.items():
        if not HEADER_NAME.fullmatch(header) or header.lower() in OWN_HEADERS:
            raise UsageError(
                N_("{header} cannot be the name of a header of yours: letters, digits and dashes, and none of {own}."),
                code="invalid_header", header=_hidden(header), own=", ".join(sorted(OWN_HEADERS)),
            )  # fmt: skip
        if form and not header_variable(form):
            raise UsageError(
                N_("The value of the header {header} is kept in the keyring or named as $VARIABLE, never stored as text."),
                code="invalid_header", header=header,
            )  # fmt: skip
    if len({header.lower() for header in config.headers}) < len(config.headers):
        raise UsageError(N_("Each header can be set only once."), code="invalid_header")


def _checked_ca_file(config: ProviderConfig) -> Path:
    """The whole path of the CA file. Raises UsageError when no certificates can be read from it."""
    from atelier_desk.llm.wire.transport import check_ca_file

    path = Path(config.ca_file).expanduser().absolute()
    try:
        check_ca_file(config.name, str(path))
    except ProviderError as error:
        params: dict[str, Any] = dict(error.params)
        raise UsageError(error.template, code="ca_file", **params) from None
    return path


def _hidden(text: str) -> str:
    """The first characters of what may be a key typed in the wrong place."""
    return text[:4] + "…"
