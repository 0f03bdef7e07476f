"""Model servers and models as their owner configured them. Keys are never part of these: they live in the keyring."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import BeforeValidator, Field, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.addresses import with_scheme
from atelier_desk.domain.base import Model, Timestamp, utc_now
from atelier_desk.support.i18n import N_

PROVIDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$"
ProviderKind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
"""The name of a kind of model server; which there are says ``atelier_desk.llm.registry``."""


class KeyStyle(StrEnum):
    """The request header the API key goes into. ``auto`` is what the kind of server wants: ``x-api-key`` for Anthropic's,
    ``x-goog-api-key`` for Google's, ``api-key`` for Azure's hosts, ``Authorization: Bearer`` for all others."""

    AUTO = "auto"
    BEARER = "bearer"
    API_KEY = "api-key"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"


HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
"""What a header may be called (RFC 9110, section 5.1)."""
_VARIABLE = re.compile(r"(?:[A-Za-z]+ )?\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)


class KeyPlace(StrEnum):
    """Where keys are kept: the system's keyring, a file that its owner chose, or memory, where they are lost with the program."""

    KEYRING = "keyring"
    FILE = "file"
    MEMORY = "memory"


class KeyState(StrEnum):
    """How a provider's key stands: none and none needed, kept, known until the program ends, in a variable that is set or is not, or
    needed and not there, which is so too for one that was lost."""

    NONE = "none"
    SAVED = "saved"
    SESSION = "session"
    VARIABLE = "variable"
    UNSET = "unset"
    REQUIRED = "required"


NO_KEYRING = N_("This machine has no keyring to keep the header {header} in; give it as '{header}: $VARIABLE'.")
"""For a header whose value would be gone at the next start."""


def header_variable(value: str) -> str:
    """The environment variable that ``$NAME``, ``${NAME}`` or ``Bearer $NAME`` refers to; empty when the text is a value of its own."""
    found = _VARIABLE.fullmatch(value.strip())
    return (found[1] or found[2]) if found else ""


class ProviderConfig(Model):
    """One server.

    Attributes:
        api_key_env: names the variable that holds the key at use; ``has_key`` says that the keyring holds one.
        ca_file: path of a PEM file with the certificates of authorities that are trusted beside the usual ones.
        headers: what is sent with each request, by name: ``$VARIABLE`` (one word such as ``Bearer`` may precede), or empty when the
            keyring holds the value. A value itself is never here.
        api_version: sent as ``?api-version=``, as Azure wants it; taken from the query of ``base_url`` when it stands there.
        key_style: the header the key is sent in.
    """

    name: str = Field(min_length=1, max_length=64, pattern=PROVIDER_NAME)
    kind: ProviderKind
    base_url: Annotated[str, BeforeValidator(with_scheme)] = Field(default="", max_length=2048)
    api_key_env: str = Field(default="", max_length=128)
    has_key: bool = False
    ca_file: str = Field(default="", max_length=4096)
    headers: dict[str, str] = Field(default_factory=dict, max_length=limits.PROVIDER_HEADERS)
    api_version: str = Field(default="", max_length=64, pattern=r"^[A-Za-z0-9._-]*$")
    key_style: KeyStyle = KeyStyle.AUTO
    enabled: bool = True
    created_at: Timestamp = Field(default_factory=utc_now)

    @model_validator(mode="before")
    @classmethod
    def _version_out_of_the_url(cls, data: Any) -> Any:
        """Azure's addresses are copied with their ``?api-version=…``. Any other query stays, and is refused where the URL is checked."""
        url = data.get("base_url") if isinstance(data, dict) else None
        if not isinstance(url, str) or "?" not in url:
            return data
        try:
            parts = urlsplit(url.strip())
        except ValueError:
            return data
        query = parse_qsl(parts.query, keep_blank_values=True)
        if len(query) != 1 or query[0][0].lower() != "api-version":
            return data
        return {**data, "base_url": urlunsplit(parts._replace(query="")), "api_version": query[0][1]}


@dataclass(frozen=True, slots=True)
class ProviderDraft:
    """A server as a form has it, to be tried before anything of it is stored.

    Attributes:
        key: a key that was typed; empty for the one that is kept under the configuration's name, if any.
        headers: values of request headers that were typed, by name.
    """

    config: ProviderConfig
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class ModelInfo(Model):
    """A model a provider offers, with what is known of it. Prices are US dollars for a million tokens; None means unknown.

    Attributes:
        price_cache_read, price_cache_write: of tokens the server reads from its cache, and of those it writes into it; where they are
            unknown such tokens count as any other that is sent.
        starter: the built-in model that can only do simple, guided requests.
        source: ``server`` (the server said so), ``list`` (the dated list of hosted models), ``profile`` (its name), ``user`` (edited),
            ``learned`` (the server showed it by refusing a request) or ``assumed``.
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
    price_cache_read: float | None = Field(default=None, ge=0)
    price_cache_write: float | None = Field(default=None, ge=0)
    size_bytes: int | None = None
    source: str = "assumed"

    @property
    def priced(self) -> bool:
        """Whether it is known what a request costs: an embedder writes no tokens."""
        return self.price_input is not None and (self.embedding or self.price_output is not None)


class ProviderHealth(Model):
    """The result of a test: ``ok``, ``latency_ms``, how many models, and what went wrong in words for a person.

    Attributes:
        message: also said when all is well but something is worth knowing, such as a server without a list of models.
        found_url, found_kind: where a model server did answer, when it did not at the address that was tried.
    """

    ok: bool
    latency_ms: int = 0
    models: int = 0
    message: str = ""
    code: str = ""
    found_url: str = ""
    found_kind: ProviderKind | None = None
