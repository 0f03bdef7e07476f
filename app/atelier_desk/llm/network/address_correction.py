"""Find a model server that is not at the given address: missing or doubled ``/v1``, ``/api`` for ``/v1``, wrong kind.

Used only when a person tests a connection; each candidate is one GET of a model list, for a few seconds, all
concurrently.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.domain.provider import ProviderKind
from atelier_desk.llm.network.http_client import HttpClient, Timeouts
from atelier_desk.llm.provider_type_registry import any_server_type, provider_type, provider_types

PROBE_S = 3.0
"""Time limit in seconds per address."""
PROBE = Timeouts(connect_s=PROBE_S, first_s=PROBE_S, idle_s=PROBE_S, call_s=PROBE_S)
_ENDS = ("/chat/completions", "/completions", "/chat", "/models", "/tags", "/openai", "/v1", "/api")
"""Endings that people leave on an address."""
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """A kind of server at an address."""

    kind: ProviderKind
    url: str


class MakeClient(Protocol):
    def __call__(self, url: str, timeouts: Timeouts, *, secrets: bool = True) -> HttpClient: ...


def is_azure(url: str) -> bool:
    """Whether a URL is Azure's, which takes the key in a header ``api-key`` and has its API below ``/openai``."""
    return (urlsplit(url).hostname or "").endswith(_AZURE)


def doubtful(error: ProviderError) -> bool:
    """Whether an error suggests a wrong address: nobody there, no such page, no list on it, a web page."""
    return error.code in ("not_found", "bad_response", "bad_request", "unreachable")


async def answers_chat(make: MakeClient, place: EndpointAddress, chat_path: str) -> bool:
    """Whether the chat page exists: it refuses a request without fields, at no cost.

    A server that ignores the fields answers with a reply or stream; another has no model of the empty name.

    Raises:
        ProviderError: it exists and refuses the key (code ``auth`` or ``quota``).
    """
    http = make(place.url, PROBE)
    try:
        async with http.stream("POST", chat_path, {}, first_s=PROBE_S) as response:
            async for piece in response.chunks():
                if begin := piece.strip():
                    return begin.startswith((b"{", b"data:", b"event:", b":"))
            return False
    except ProviderError as error:
        if error.code in ("auth", "quota"):
            raise
        detail = str(error.params.get("detail", ""))
        if error.status == 404:
            return "model" in detail.replace(chat_path, "").lower()
        # A plain web server's error has no content but its status.
        return detail != f"HTTP {error.status}" and error.status in (400, 409, 413, 415, 422, 429, 500, 503)
    finally:
        await http.aclose()


async def find_address(make: MakeClient, tried: EndpointAddress) -> EndpointAddress | None:
    """Return where a model server on the same host has a model list, None if nowhere.

    The other scheme is tried last: a server that waits for the rest of what looks like a long request stays silent.
    """
    places = candidates(tried)
    for same in (True, False):
        group = [place for place in places if _same_scheme(place, tried) is same]
        found = await asyncio.gather(*(_has_models(make, place, secrets=same) for place in group))
        for place, there in zip(group, found, strict=True):
            if there:
                return place
    return None


def candidates(tried: EndpointAddress) -> list[EndpointAddress]:
    """Return likely intended addresses, most likely first.

    The same path with ``/v1``, other paths, the other scheme, another kind.
    """
    parts = urlsplit(tried.url)
    path = stem = parts.path.rstrip("/")
    while end := next((end for end in _ENDS if stem.endswith(end)), ""):
        stem = stem.removesuffix(end)
    at_root = provider_type(tried.kind).at_root
    chat = any_server_type().kind if at_root else tried.kind
    other = "https" if parts.scheme == "http" else "http"
    paths = [f"{stem}/v1", f"{path}/v1", f"{stem}/openai/v1", f"{stem}/api/v1", f"{stem}/api", stem]
    places = [EndpointAddress(chat, parts._replace(path=each).geturl()) for each in paths]
    places += [EndpointAddress(chat, parts._replace(scheme=other, path=each).geturl()) for each in (path, f"{stem}/v1")]
    kinds = [entry.kind for entry in provider_types() if entry.at_root]
    roots = [
        EndpointAddress(kind, parts._replace(scheme=each, path=stem).geturl())
        for kind in kinds
        for each in (parts.scheme, other)
    ]
    ordered = [*roots, *places] if at_root else [*places, *roots]
    return [place for place in dict.fromkeys(ordered) if place != tried]


def _same_scheme(place: EndpointAddress, tried: EndpointAddress) -> bool:
    return urlsplit(place.url).scheme == urlsplit(tried.url).scheme


async def _has_models(make: MakeClient, place: EndpointAddress, *, secrets: bool) -> bool:
    """Whether an address has a model list.

    The key is only sent with the given scheme: a guess must not expose it in clear text.
    """
    entry = provider_type(place.kind)
    http = make(place.url, PROBE, secrets=secrets)
    try:
        async with asyncio.timeout(PROBE_S):
            answer = await http.json("GET", entry.models_page)
    except (AtelierError, TimeoutError) as error:
        return not secrets and isinstance(error, ProviderError) and error.code == "auth"
    finally:
        await http.aclose()
    items = answer.get(entry.models_key) if isinstance(answer, dict) else answer
    return isinstance(items, list) and not (entry.at_root and isinstance(answer, list))
