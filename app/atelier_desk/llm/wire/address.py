"""Where a model server is, when it is not at the address that was given: ``/v1`` missing or doubled, ``/api`` for ``/v1``, the wrong kind.

Asked only when a person tests a server; each address is one GET of a list of models, for a few seconds, all at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.domain.provider import ProviderKind
from atelier_desk.llm.registry import any_server_type, provider_type, provider_types
from atelier_desk.llm.wire.http import HttpClient, Timeouts

PROBE_S = 3.0
"""Seconds that each address has to answer."""
PROBE = Timeouts(connect_s=PROBE_S, first_s=PROBE_S, idle_s=PROBE_S, call_s=PROBE_S)
_ENDS = ("/chat/completions", "/completions", "/chat", "/models", "/tags", "/openai", "/v1", "/api")
"""What people leave at the end of an address."""
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """A kind of server at an address."""

    kind: ProviderKind
    url: str


class MakeClient(Protocol):
    def __call__(self, url: str, timeouts: Timeouts, *, secrets: bool = True) -> HttpClient: ...


def is_azure(url: str) -> bool:
    """Whether a URL is one of Azure's, which take the key in a header ``api-key`` and have their API below ``/openai``."""
    return (urlsplit(url).hostname or "").endswith(_AZURE)


def doubtful(error: ProviderError) -> bool:
    """Whether an error says that the address may be wrong: nobody there, no such page, no list on it, a web page."""
    return error.code in ("not_found", "bad_response", "bad_request", "unreachable")


async def answers_chat(make: MakeClient, place: EndpointAddress, chat_path: str) -> bool:
    """Whether the page for chats is there: a request without a single field is refused by it, and costs nothing.

    A server that does not look at the fields answers with a reply or a stream of it; another has no model of the name that is missing.

    Raises:
        ProviderError: it is there and refuses the key (code ``auth`` or ``quota``).
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
        said = str(error.params.get("detail", ""))
        if error.status == 404:
            return "model" in said.replace(chat_path, "").lower()
        # A web server's own page says nothing but its status.
        return said != f"HTTP {error.status}" and error.status in (400, 409, 413, 415, 422, 429, 500, 503)
    finally:
        await http.aclose()


async def find_address(make: MakeClient, tried: EndpointAddress) -> EndpointAddress | None:
    """Where a model server of the same host answers with a list of models, None when nowhere.

    The other scheme is tried last: a server that waits for more of what it takes for a long request keeps silent.
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
    """Addresses that may have been meant, the likeliest first: the same path with ``/v1``, other paths, the other scheme, another kind."""
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
    roots = [EndpointAddress(kind, parts._replace(scheme=each, path=stem).geturl()) for kind in kinds for each in (parts.scheme, other)]
    ordered = [*roots, *places] if at_root else [*places, *roots]
    return [place for place in dict.fromkeys(ordered) if place != tried]


def _same_scheme(place: EndpointAddress, tried: EndpointAddress) -> bool:
    return urlsplit(place.url).scheme == urlsplit(tried.url).scheme


async def _has_models(make: MakeClient, place: EndpointAddress, *, secrets: bool) -> bool:
    """The key goes along to the scheme that was given alone: it must not leave the machine in clear because a guess was tried."""
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
