"""Convert failures of model servers to errors with stable codes and sentences for people.

Codes: ``auth`` ``quota`` ``not_found`` ``rate_limited`` ``overloaded`` ``loading`` ``bad_request`` ``context_overflow``
``truncated`` ``timeout`` ``unreachable`` ``proxy`` ``certificate`` ``server_error`` ``bad_response``
``settings_changed``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from atelier_desk.domain.errors import ContextOverflowError, ProviderError
from atelier_desk.llm.context_overflow_errors import overflow
from atelier_desk.llm.secrets import redact
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten

DETAIL_LENGTH = 400
"""Maximum characters shown of a server's own message."""

TEMPLATES: dict[str, str] = {
    "auth": N_("{provider} refused the API key, or needs one ({detail}). Check or enter the key."),
    "auth_expired": N_(
        "{provider} says that the API key has expired ({detail}). Create a new one there and enter it in the "
        "provider's settings."
    ),
    "quota": N_("The account at {provider} has no credit or quota left ({detail})."),
    "not_found": N_("{provider} does not have the model {model} ({detail}). Choose another model or install this one."),
    "address": N_("{provider} has no such page: {url} ({detail}). Check the address of the provider."),
    "rate_limited": N_("The rate limit of {provider} was reached ({detail}). Try again later."),
    "overloaded": N_("{provider} is busy ({detail}). Try again in a moment."),
    "rate_limited_until": N_("The rate limit of {provider} was reached ({detail}). Try again after {moment}."),
    "overloaded_until": N_("{provider} is busy ({detail}). Try again after {moment}."),
    "loading": N_("{provider} is still loading the model ({detail}). Try again in a moment."),
    "bad_request": N_("{provider} did not accept the request ({detail})."),
    "too_large": N_("The request is too large for {provider} ({detail})."),
    "context_overflow": N_("The workflow is too long for the model {model} of {provider} ({detail})."),
    "truncated": N_("{provider} stopped in the middle of the reply ({detail})."),
    "timeout": N_("{provider} did not answer in time ({detail})."),
    "offline": N_(
        "{provider} cannot be reached: {host} was not found ({detail}). Is this computer online? If it is, "
        "check the address."
    ),
    "no_network": N_(
        "{provider} cannot be reached: there is no network route to {host} ({detail}). Is this computer online?"
    ),
    "unreachable": N_(
        "{provider} does not answer at {url} ({detail}). Check that the server is running and that the "
        "address is correct."
    ),
    "tls": N_(
        "{provider} does not speak TLS at {url} ({detail}). Try the same address with http:// instead of https://."
    ),
    "proxy": N_("The proxy {proxy}, set by {variable}, does not let requests through to {url} ({detail})."),
    "proxy_timeout": N_(
        "{provider} did not answer in time through the proxy {proxy}, which is set by {variable} ({detail})."
    ),
    "proxy_value": N_(
        "The proxy set by {variable} cannot be used: {proxy}. Set {variable} to http://host:port or "
        "socks5://host:port, clear it, or add {host} to NO_PROXY."
    ),
    "proxy_value_system": N_(
        "The proxy in the system settings cannot be used: {proxy}. Set it to http://host:port or "
        "socks5://host:port, remove it, or add {host} to NO_PROXY."
    ),
    "certificate": N_(
        "The certificate of {host} is not trusted ({detail}). If your own certificate authority signed it, "
        "set its CA file in the provider's settings under Advanced, or with --ca-file FILE."
    ),
    "certificate_wrong": N_(
        "The certificate of {host} cannot be accepted ({detail}). It must be fixed on the server; also check "
        "this computer's clock."
    ),
    "ca_file": N_(
        "The CA file {file} of {provider} cannot be used ({detail}). It must be a PEM file with the "
        "certificate of the authority that signed the server's certificate."
    ),
    "ca_variable": N_(
        "{variable} points to the certificates in {file}, which cannot be used ({detail}). Correct or clear "
        "the variable, or set a CA file in the provider's settings under Advanced, or with --ca-file FILE."
    ),
    "ca_variable_alone": N_(
        "{variable} points to the certificates in {file}, which cannot be used ({detail}). Correct the "
        "variable, or clear it."
    ),
    "system_certificates": N_("The system's certificates cannot be used ({detail})."),
    "redirect": N_("{provider} redirects requests for {url} to {location}. Enter that address instead."),
    "web_page": N_(
        "{provider} answers with a web page at {url}: this is not the address of a model server. Check the address."
    ),
    "server_error": N_("{provider} had an internal error ({detail})."),
    "bad_response": N_("{provider} sent an invalid response ({detail})."),
    "settings_changed": N_("The settings of {provider} have changed, so this request was not sent. Try again."),
}
RECOVERABLE = frozenset(
    {"rate_limited", "overloaded", "loading", "truncated", "timeout", "unreachable", "server_error", "settings_changed"}
)

_QUOTA_TEXT = re.compile(
    r"insufficient[ _](quota|credit|balance|funds)|exceeded your (current )?quota|quota|billing|credits?\b",
    re.IGNORECASE,
)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_not_active", "insufficient_balance", "billing_error"})
_NO_CREDIT = re.compile(
    r"credit balance is too low|prepayment credits are depleted|free_tier\w*, limit: 0\b", re.IGNORECASE
)
"""Anthropic reports this with 400 and ``invalid_request_error``, Google with 429, also for models outside its free
tier.
"""
_BAD_KEY = re.compile(r"API[ _]key (not valid|not found|expired|not_valid)|API_KEY_INVALID", re.IGNORECASE)
"""Google reports this with 400 and ``INVALID_ARGUMENT``."""
_EXPIRED = re.compile(r"(?<!not )\bexpired\b|KEY_EXPIRED", re.IGNORECASE)
_LOADING_TEXT = re.compile(r"\bload(?:ing|ed)\b|\bwarm(?:ing)?[ -]?up\b|\bstarting\b|not (?:yet )?ready", re.IGNORECASE)
"""llama.cpp: "Loading model"; Hugging Face: "Model X is currently loading"; gateways that wake a server: "starting"."""
_SPAN = r"(\d+(?:\.\d+)?) ?(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])"
_WAIT_TEXT = re.compile(rf"(?:try again|retry) (?:in|after) ((?:{_SPAN},? ?(?:and )?)+)", re.IGNORECASE)
"""'Please try again in 7m12.5s' (Groq, OpenAI), 'retry in 36.5s' (Google), 'try again in 2 hours'."""
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
NAMED_WAIT_S = (120.0, 366 * 86_400.0)
"""Longer waits are shown with day and time, up to one that no server can mean."""


@dataclass(frozen=True, slots=True)
class ErrorLocation:
    """Provider, model and address that an error is about."""

    provider: str
    model: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Content of an error body in any format. ``field`` is the request field it complains about."""

    message: str = ""
    type: str = ""
    code: str = ""
    field: str = ""
    n_ctx: int | None = None
    n_prompt: int | None = None
    status: int | None = None


def provider_error(where: ErrorLocation, code: str, detail: str, *, say: str = "", **extra: Any) -> ProviderError:
    """Return a provider error with a code.

    ``detail`` is redacted and shortened; texts of ``extra``, such as where a redirect leads, are redacted. ``say``
    selects another sentence than the code's own.
    """
    said: dict[str, Any] = {name: redact(each) if isinstance(each, str) else each for name, each in extra.items()}
    fields: dict[str, Any] = {"provider": where.provider, "model": where.model, "url": where.url}
    fields |= {"detail": _clean(detail), **said}
    return ProviderError(
        TEMPLATES[say or code], code=code, recoverable=fields.pop("recoverable", code in RECOVERABLE), **fields
    )


def response_error(
    where: ErrorLocation, status: int, headers: Mapping[str, str], body: bytes, now: datetime
) -> ProviderError:
    """Return the error for an unsuccessful HTTP response."""
    return _classified(where, status, parse_body(body), retry_after(headers, now), now)


def payload_error(where: ErrorLocation, payload: object) -> ProviderError | None:
    """Return the error inside a 200 response, None if there is none.

    Formats: ``{"error": …}`` (OpenRouter, llama.cpp, Ollama) and ``{"object": "error", …}`` (Mistral, vLLM).
    """
    if not isinstance(payload, dict) or not (payload.get("error") or payload.get("object") == "error"):
        return None
    body = _from_json(payload)
    return _classified(where, body.status, body, None, None)


def parse_body(body: bytes) -> ErrorBody:
    """Parse an error body: JSON in any known format, otherwise the text itself; HTML pages are ignored."""
    text = body.decode("utf-8", errors="replace").strip()
    try:
        return _from_json(json.loads(text))
    except (ValueError, RecursionError):
        return ErrorBody(message="" if text.startswith("<") else text)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds to wait: ``retry-after-ms``, or ``retry-after`` as seconds or HTTP date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return max(0.0, (when - now).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is not None and math.isfinite(number) and number >= 0 else None


def _from_json(data: object) -> ErrorBody:
    """Parse ``error.message``, ``message`` (text or object), ``detail`` (text or list), ``error`` as text.

    Otherwise as JSON.
    """
    if isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict):
        data = data[0]  # Google, when events were not requested
    if not isinstance(data, dict):
        return ErrorBody(message=data if isinstance(data, str) else json.dumps(data, ensure_ascii=False))
    inner = data.get("error")
    if not isinstance(inner, dict):
        inner = data["message"] if isinstance(data.get("message"), dict) else data
    message, field = _message(inner)
    if not message:
        message, field = _message(data)
    code = inner.get("code", data.get("code"))
    statuses = [
        _status(value) for value in (inner.get("status"), data.get("status"), data.get("raw_status_code"), code)
    ]
    return ErrorBody(
        message=message or json.dumps(data, ensure_ascii=False),
        type=str(inner.get("type") or data.get("type") or ""),
        code="" if code is None else str(code),
        field=str(inner.get("param") or data.get("param") or field or ""),
        n_ctx=_count(inner.get("n_ctx")),
        n_prompt=_count(inner.get("n_prompt_tokens")),
        status=next((value for value in statuses if value is not None), None),
    )


def _message(data: dict[str, object]) -> tuple[str, str]:
    """Return message and field of one level of an error body."""
    for key in ("message", "detail", "error", "msg"):
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return value, ""
        if isinstance(value, list) and value:
            items = [item for item in value if isinstance(item, dict)]
            text = "; ".join(f"{_path(item)}: {item.get('msg', '')}".strip(": ") for item in items)
            return text or json.dumps(value, ensure_ascii=False), _path(items[0]).split(".")[0] if items else ""
        if isinstance(value, dict) and key == "detail":
            return _message(value)
    return "", ""


def _path(item: dict[str, object]) -> str:
    location = item.get("loc")
    parts = [str(part) for part in location] if isinstance(location, (list, tuple)) else []
    return ".".join(parts[1:] if parts[:1] == ["body"] else parts)


def _status(value: object) -> int | None:
    return value if isinstance(value, int) and 400 <= value < 600 else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _wait_in_words(message: str) -> float | None:
    """Return the seconds to wait named in a message, None if it names none."""
    found = _WAIT_TEXT.search(message)
    if found is None:
        return None
    spans = [(float(value), unit.lower()) for value, unit in re.findall(_SPAN, found[1], re.IGNORECASE)]
    return sum(value / 1000 if unit.startswith(("ms", "milli")) else value * _SECONDS[unit[0]] for value, unit in spans)


def _classified(
    where: ErrorLocation, status: int | None, body: ErrorBody, wait: float | None, now: datetime | None
) -> ProviderError:
    detail = body.message or (f"HTTP {status}" if status else "-")
    if (said := overflow(status, body.message, (body.type, body.code))) is not None:
        return ContextOverflowError(
            TEMPLATES["context_overflow"],
            n_ctx=body.n_ctx or said.window,
            n_prompt=body.n_prompt or said.prompt,
            status=status,
            provider=where.provider,
            model=where.model,
            detail=_clean(detail),
        )
    code = _code(status, body)
    say = "address" if code == "not_found" and not _names_model(where, body) else code
    if code == "bad_request" and (
        status == 413 or body.code == "request_too_large" or body.type == "request_too_large"
    ):
        say = "too_large"
    if code == "auth" and _EXPIRED.search(f"{body.message} {body.code}"):
        say = "auth_expired"
    if code == "rate_limited" and wait is None:
        wait = _wait_in_words(body.message)
    later: dict[str, object] = {}
    if (
        code in ("rate_limited", "overloaded")
        and wait is not None
        and now is not None
        and NAMED_WAIT_S[0] < wait <= NAMED_WAIT_S[1]
    ):
        say, later = f"{code}_until", {"moment": (now + timedelta(seconds=wait)).replace(microsecond=0)}
    if "timeout_error" in (body.type, body.code):
        later["charged"] = True  # it says that it is busy, but worked on it
    return provider_error(where, code, detail, status=status, retry_after_s=wait, field=body.field, say=say, **later)


def _names_model(where: ErrorLocation, body: ErrorBody) -> bool:
    text = body.message.lower()
    return bool(where.model) and ("model" in text or where.model.lower() in text)


_TYPES = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "not_found_error": "not_found",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "timeout_error": "overloaded",
    "invalid_request_error": "bad_request",
    "rate_limit_exceeded": "rate_limited",
    "invalid_api_key": "auth",
    "invalid_prompt": "bad_request",
    "invalid_encrypted_content": "bad_request",
    "invalid_image": "bad_request",
    "request_too_large": "bad_request",
}
"""Anthropic's types and OpenAI's error codes, for errors during a reply, which have no status."""
_CODES = {
    401: "auth",
    403: "auth",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    409: "overloaded",  # a lock timeout according to OpenAI's client, which also retries
    429: "rate_limited",
    501: "not_found",  # the page does not exist: a retry cannot succeed
    503: "overloaded",
}


def _code(status: int | None, body: ErrorBody) -> str:
    """Return the code of an error that is not an overflow.

    401 may also mean that the quota is used up (seen at Mistral).
    """
    quota = body.code in _QUOTA_CODES or body.type in _QUOTA_CODES
    no_credit = _NO_CREDIT.search(body.message) or (status in (401, 403) and _QUOTA_TEXT.search(body.message))
    if status == 402 or quota or no_credit:
        return "quota"
    if status == 400 and _BAD_KEY.search(body.message):
        return "auth"
    if {"invalid_model", "model_not_found"} & {body.type, body.code}:
        return "not_found"
    if status is None:
        return (
            "rate_limited"
            if "rate limit" in body.message.lower()
            else _TYPES.get(body.code) or _TYPES.get(body.type, "server_error")
        )
    if status == 503 and _LOADING_TEXT.search(body.message):
        return "loading"
    if status in _CODES:
        return _CODES[status]
    if status == 529:  # "overloaded" at Anthropic and compatible servers
        return "overloaded"
    if 400 <= status < 500:
        return "bad_request"
    return "server_error" if status >= 500 else "bad_response"


def _clean(detail: str) -> str:
    # Before redaction: without the invisible characters in it, a text may be a secret.
    text = "".join(ch for ch in " ".join(detail.split()) if ch.isprintable())
    return shorten(redact(text), DETAIL_LENGTH)
