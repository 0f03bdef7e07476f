"""Addresses, variables and files of a configuration that need confirmation in foreign data."""

from __future__ import annotations

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.imported_grant import HeldGrant, HeldKind
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.settings import EmbedderSettings, Settings
from atelier_desk.support.i18n import N_

NOT_CONFIRMED = N_(
    "Nothing is sent to {provider} until you confirm its settings ({about}), which came with a backup from another "
    "installation. Confirm them in Settings → Data and diagnostics, or with: atelier backup confirm '{id}'"
)
HARMLESS_EMBEDDERS = frozenset({"builtin", "none"})


def of_provider(config: ProviderConfig) -> tuple[str, ...]:
    """Return what needs confirmation for a provider: its address, and what is sent there or trusted besides its stored
    key.

    Empty for an unmodified listed service (``llm.presets``), and for the built-in one.
    """
    from atelier_desk.llm.provider_presets import at_usual_place
    from atelier_desk.llm.provider_type_registry import find

    entry = find(config.kind)
    if entry is not None and entry.builtin:
        return ()
    address = config.base_url or (entry.url if entry is not None else "")
    headers = [f"{name}: {form}" if form else name for name, form in sorted(config.headers.items())]
    extra = tuple(filter(None, (*headers, config.ca_file)))
    if not extra and at_usual_place(address, config.api_key_env):
        return ()
    return (*_grant_texts(address, config.api_key_env), *extra)


def of_settings(settings: Settings) -> dict[HeldKind, tuple[str, ...]]:
    """Return what needs confirmation for each service named in settings, even if disabled; possibly empty."""
    from atelier_desk.llm.provider_presets import at_usual_place

    web, media, embedder = settings.web, settings.media, settings.embedder
    usual = at_usual_place(media.images, media.images_key_env)
    return {
        HeldKind.SEARCH: _grant_texts(web.address, web.key_env),
        HeldKind.IMAGES: () if usual else _grant_texts(media.images, media.images_key_env),
        HeldKind.MODELS: _grant_texts(media.models_address, media.models_key_env),
        HeldKind.EMBEDDER: () if embedder.kind in HARMLESS_EMBEDDERS else _chosen(embedder),
    }


def still_held(new: Settings) -> tuple[HeldGrant, ...]:
    """Return what still waits after a person changed settings: items whose values are all gone do not."""
    now = of_settings(new)
    return tuple(each for each in new.held if each.kind not in now or waits(each, now[each.kind]))


def waits(grant: HeldGrant, now: tuple[str, ...]) -> bool:
    """Whether something to be confirmed is still present."""
    return bool(set(grant.about) & set(now))


def not_confirmed(name: str, grant: HeldGrant) -> ProviderError:
    """Return the error why nothing is sent to a service."""
    return ProviderError(NOT_CONFIRMED, code="held", provider=name, about=", ".join(grant.about), id=grant.id)


def check_confirmed(tried: Settings, kind: HeldKind, name: str) -> None:
    """Check a service with unsaved settings before a test.

    Raises:
        ProviderError: something in them waits for confirmation (code ``held``).
    """
    for grant in tried.held:
        if grant.kind is kind and waits(grant, of_settings(tried)[kind]):
            raise not_confirmed(name, grant)


def _grant_texts(address: str, variable: str) -> tuple[str, ...]:
    return tuple(filter(None, (address, f"${variable}" if variable else "")))


def _chosen(embedder: EmbedderSettings) -> tuple[str, ...]:
    return (" / ".join(filter(None, (embedder.kind, embedder.provider, embedder.model))),)
