"""The kinds of model servers. A kind registers itself in a file of ``llm/providers``; adding one is adding that file.

The file says what the screens, the command line and first start show of the kind, and how its provider is made; an adapter that speaks to
the server may be in the same file or in one of its own, which is then imported when a provider of the kind is first used.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from atelier_desk.domain.pictures import USUAL, PictureLimits
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.llm.base import Provider
    from atelier_desk.llm.prices import Prices
    from atelier_desk.llm.secrets import KeyVault

Create = Callable[["ProviderConfig", "KeyVault", "Clock", Path], "Provider"]
"""Makes a provider; nothing is contacted yet. The path is the folder of downloaded model files.

Raises UsageError when the configuration's address cannot be one."""


class RecognisedKey(NamedTuple):
    """A server on this machine: its software's proper name, what comes after its root in a base URL, its models and version."""

    software: str
    path: str = ""
    models: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True)
class ProviderType:
    """A kind of model server.

    Attributes:
        kind: its name in configurations and on the command line: lower-case letters, digits and dashes.
        title: what people call it, an English ``N_`` string; ``name`` is what a new provider of it is called first.
        create: makes a provider.
        order: where it stands in lists, low first; also the order in which servers on this machine are recognised.
        url: its usual address, used where a configuration has none.
        icon: of the providers in lists.
        builtin: part of the program: it has one provider, of its own name, with no address and no key.
        any_server: what a server of an unknown make is taken for, also by first start.
        hint: for first start, what a person should know of it; ``model`` is what it proposes there. Kinds with a model have a card.
        needs_key: no request works without a key.
        embeds: its providers make vectors too (``HttpProvider.embeddings``).
        prices: list prices by pattern of the bare model name; ``free`` where nothing costs anything.
        pictures: what its servers take of pictures.
        models_page, models_key: where its list of models is, and under which field; ``at_root`` when its pages begin at the server's root.
        ports, pages: where servers of the kind listen on this machine, and the pages that tell; ``recognise`` is given the objects that the
            pages answered with (empty for none).
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
    """What makes a provider for a server: the class ``name`` of ``module``, which is imported when the first one is made."""

    def create(config: ProviderConfig, vault: KeyVault, clock: Clock, models_dir: Path) -> Provider:
        made: Provider = getattr(importlib.import_module(module), name)(config, vault, clock)
        return made

    create.__module__ = module
    return create


def register(entry: ProviderType) -> ProviderType:
    """Add a kind; the same name again replaces it when it comes from the same function.

    Raises:
        ValueError: another kind has the name.
    """
    taken = _types.get(entry.kind)
    if taken is not None and taken.create.__module__ != entry.create.__module__:
        raise ValueError(f"the provider kind {entry.kind!r} is registered by {taken.create.__module__} already")
    _types[entry.kind] = entry
    return entry


def provider_types() -> list[ProviderType]:
    """All kinds of ``atelier_desk.llm.providers``, in their order."""
    package = importlib.import_module("atelier_desk.llm.providers")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return sorted(_types.values(), key=lambda entry: (entry.order, entry.kind))


def find(kind: str) -> ProviderType | None:
    """The kind of this name, None for one that is not registered."""
    return _types.get(kind) or next((entry for entry in provider_types() if entry.kind == kind), None)


def picture_limits(provider: object) -> PictureLimits:
    """What a provider's server takes of pictures; one that is of no kind, as those that programs hand in, takes the usual."""
    entry = find(str(getattr(provider, "kind", "")))
    return entry.pictures if entry is not None else USUAL


def provider_type(kind: str) -> ProviderType:
    """The kind of this name.

    Raises:
        UsageError: there is none; says which there are.
    """
    found = find(kind)
    if found is None:
        from atelier_desk.domain.errors import UsageError

        allowed = ", ".join(entry.kind for entry in provider_types())
        raise UsageError(N_("There is no kind of provider {kind}; allowed: {allowed}."), code="kind", kind=kind, allowed=allowed)
    return found


def builtin_type() -> ProviderType:
    """The kind that is part of the program."""
    return next(entry for entry in provider_types() if entry.builtin)


def any_server_type() -> ProviderType:
    """What a server of an unknown make is taken for."""
    return next(entry for entry in provider_types() if entry.any_server)


def is_own(config: ProviderConfig) -> bool:
    """Whether a provider is the usual server of its kind, whose list prices hold; a kind that costs nothing is everywhere."""
    kind = provider_type(config.kind)
    return kind.free or not config.base_url or urlsplit(config.base_url).hostname == urlsplit(kind.url).hostname
