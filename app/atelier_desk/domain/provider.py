"""Model servers and models as their owner configured them. Keys are never part of these: they live in the keyring."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from atelier_desk.domain.base import Model, Timestamp, utc_now


class ProviderKind(StrEnum):
    OPENAI = "openai"
    MISTRAL = "mistral"
    OLLAMA = "ollama"
    LOCAL = "local"


class ProviderConfig(Model):
    """One server. ``api_key_env`` names the variable that holds the key at use; ``has_key`` says that the keyring holds one."""

    name: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")
    kind: ProviderKind
    base_url: str = Field(default="", max_length=2048)
    api_key_env: str = Field(default="", max_length=128)
    has_key: bool = False
    enabled: bool = True
    created_at: Timestamp = Field(default_factory=utc_now)


class ModelInfo(Model):
    """A model a provider offers, with what is known of it. Prices are US dollars for a million tokens; None means unknown.

    Attributes:
        starter: the built-in model that can only do simple, guided requests.
        source: ``server`` (the server said so), ``profile`` (our table), ``user`` (edited), ``learned`` (the server showed it by refusing a
            request) or ``assumed``.
    """

    provider: str
    name: str
    label: str = ""
    context_window: int | None = None
    max_output_tokens: int | None = None
    supports_tools: bool | None = None
    supports_vision: bool | None = None
    supports_thinking: bool | None = None
    embedding: bool = False
    starter: bool = False
    price_input: float | None = Field(default=None, ge=0)
    price_output: float | None = Field(default=None, ge=0)
    size_bytes: int | None = None
    source: str = "assumed"


class ProviderHealth(Model):
    """The result of a test: ``ok``, ``latency_ms``, how many models, and what went wrong in words for a person."""

    ok: bool
    latency_ms: int = 0
    models: int = 0
    message: str = ""
    code: str = ""
