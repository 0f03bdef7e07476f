"""Names of providers and models for people: the built-in ones have other names in data and commands."""

from __future__ import annotations

from atelier_desk.domain.provider import BUILTIN, STARTER, STARTER_TITLE, ModelInfo
from atelier_desk.support.i18n import _


def provider_name(provider: str) -> str:
    """The name of a provider."""
    return _("Built-in") if provider == BUILTIN else provider


def model_name(info: ModelInfo) -> str:
    """The label of a model, else its name."""
    return _(STARTER_TITLE) if info.label == STARTER_TITLE else info.label or info.name


def unlisted_model_name(provider: str, model: str) -> str:
    """The name of a model that no list describes."""
    return _(STARTER_TITLE) if (provider, model) == (BUILTIN, STARTER) else model


def name_of_key(key: str) -> str:
    """The name for ``provider/model``, as the usage totals name a model."""
    provider, slash, model = key.partition("/")
    return f"{provider_name(provider)}{slash}{unlisted_model_name(provider, model)}"
