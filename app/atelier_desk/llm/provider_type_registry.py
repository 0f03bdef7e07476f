"""Registry of the kinds of model servers. A kind registers itself in a module of ``llm/provider_kinds``.

The module defines what screens, command line and first start show of the kind, and how its provider is created; an
adapter in another module is imported when a provider of the kind is first used.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.image_limits import USUAL, PictureLimits
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.llm.interfaces import Provider
    from atelier_desk.llm.prices import Prices
    from atelier_desk.llm.secrets import KeyVault

Create = Callable[["ProviderConfig", "KeyVault", "Clock", Path], "Provider"]
"""Creates a provider without contacting it. The path is the folder of downloaded model files.

Raises UsageError if the configuration's address is invalid.
"""


class RecognisedKey(NamedTuple):
    """A server found on this machine: proper name of its software, base URL path, models and version."""

    software: str
    path: str = ""
    models: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True)
class ProviderType:
    """A kind of model server.

    Attributes:
        kind: its name in configurations and on the command line: lower-case letters, digits and dashes.
        title: display name, an English ``N_`` string; ``name``: default name of a new provider.
        create: creates a provider.
        order: position in lists, low first; also the order of recognising local servers.
        url: default address.
        icon: of its providers in lists.
        builtin: part of the program: one provider with the kind's name, without address and key.
        any_server: the kind assumed for unknown servers, also at first start.
        hint: for first start, notable facts; ``model``: the proposed model. Kinds with a model have a card.
        needs_key: no request works without a key.
        embeds: its providers also create vectors (``HttpProvider.embeddings``).
        prices: list prices by pattern of the bare model name; ``free``: nothing costs anything.
        pictures: accepted images.
        models_page, models_key: location of the model list, and its field; ``at_root``: its pages begin at the server's
            root.
        ports, pages: local ports of such servers, and pages that identify them; ``recognise`` gets the objects of these
            pages (empty if missing).
    """

    kind: str
    title: str
    create: Create
    order: int = 100
    name: str = ""
    url: str = ""
    icon: str = "server"
    builtin: bool = False
    any_server: bool = False
    hint: str = ""
    model: str = ""
    needs_key: bool = False
    embeds: bool = False
    free: bool = False
    prices: tuple[tuple[str, Prices], ...] = ()
    pictures: PictureLimits = USUAL
    models_page: str = "/models"
    models_key: str = "data"
    at_root: bool = False
    ports: tuple[int, ...] = ()
    pages: tuple[str, ...] = ()
    recognise: Callable[[Mapping[str, dict[str, object]]], RecognisedKey | None] | None = None


_types: dict[str, ProviderType] = {}


def server(module: str, name: str) -> Create:
    """Return a function that creates providers from class ``name`` of ``module``, imported at first use."""

    def create(config: ProviderConfig, vault: KeyVault, clock: Clock, models_dir: Path) -> Provider:
        made: Provider = getattr(importlib.import_module(module), name)(config, vault, clock)
        return made

    create.__module__ = module
    return create


def register(entry: ProviderType) -> ProviderType:
    """Add a kind; registering it again from the same function replaces it.

    Raises:
        ValueError: another kind has the name.
    """
    existing = _types.get(entry.kind)
    if existing is not None and existing.create.__module__ != entry.create.__module__:
        raise ValueError(f"the provider kind {entry.kind!r} is registered by {existing.create.__module__} already")
    _types[entry.kind] = entry
    return entry


def provider_types() -> list[ProviderType]:
    """Return all kinds of ``atelier_desk.llm.provider_kinds``, in order."""
    package = importlib.import_module("atelier_desk.llm.provider_kinds")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return sorted(_types.values(), key=lambda entry: (entry.order, entry.kind))


def find(kind: str) -> ProviderType | None:
    """Return the kind with this name, None if not registered."""
    return _types.get(kind) or next((entry for entry in provider_types() if entry.kind == kind), None)


def picture_limits(provider: object) -> PictureLimits:
    """Return the image limits of a provider's server.

    For providers without a kind, such as injected ones, the usual limits.
    """
    entry = find(str(getattr(provider, "kind", "")))
    return entry.pictures if entry is not None else USUAL


def provider_type(kind: str) -> ProviderType:
    """Return the kind with this name.

    Raises:
        UsageError: there is none; the message lists the kinds.
    """
    found = find(kind)
    if found is None:
        allowed = ", ".join(entry.kind for entry in provider_types())
        raise UsageError(
            N_("Unknown kind of provider {kind}; allowed: {allowed}."), code="kind", kind=kind, allowed=allowed
        )
    return found


def builtin_type() -> ProviderType:
    """Return the built-in kind."""
    return next(entry for entry in provider_types() if entry.builtin)


def any_server_type() -> ProviderType:
    """Return the kind assumed for unknown servers."""
    return next(entry for entry in provider_types() if entry.any_server)


def is_own(config: ProviderConfig) -> bool:
    """Whether a provider is the default server of its kind, so that list prices apply; free kinds always count."""
    kind = provider_type(config.kind)
    return kind.free or not config.base_url or urlsplit(config.base_url).hostname == urlsplit(kind.url).hostname
