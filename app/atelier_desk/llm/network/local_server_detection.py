"""Find model servers running on this machine, on the loopback ports of the known kinds only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import ProviderKind
from atelier_desk.llm.model_assumptions import is_embedder_name
from atelier_desk.llm.network.http_client import HttpClient, Timeouts
from atelier_desk.llm.provider_type_registry import provider_types

TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class DetectedServer:
    """A server that answered.

    Attributes:
        software: ``Ollama``, ``LM Studio``, ``llama.cpp`` or ``OpenAI-compatible``; a proper name, not translated.
        base_url: for a ``ProviderConfig`` of this kind.
        models: names of its models that can chat.
    """

    kind: ProviderKind
    software: str
    base_url: str
    models: tuple[str, ...] = ()
    version: str = ""


async def detect(
    clock: Clock | None = None, *, ports: Sequence[int] | None = None, timeout_s: float = TIMEOUT_S
) -> list[DetectedServer]:
    """Probe all ports concurrently (those of the kinds, in order, unless given), each for ``timeout_s`` of silence.

    Results are in port order; server faults never raise.
    """
    if ports is None:
        ports = list(dict.fromkeys(port for entry in provider_types() for port in entry.ports))
    found = await asyncio.gather(*(_probe(port, clock or SystemClock(), timeout_s) for port in ports))
    return [server for server in found if server is not None]


async def _probe(port: int, clock: Clock, timeout_s: float) -> DetectedServer | None:
    """Identify the server on one port by pages that only its kind has."""
    root = f"http://127.0.0.1:{port}"
    timeouts = Timeouts(connect_s=timeout_s, first_s=timeout_s, idle_s=timeout_s, call_s=timeout_s)
    pages = list(dict.fromkeys(page for entry in provider_types() for page in entry.pages))
    http = HttpClient(root, provider=root, clock=clock, timeouts=timeouts)
    try:
        answers = dict(zip(pages, await asyncio.gather(*(_get(http, page) for page in pages)), strict=True))
    finally:
        await http.aclose()
    for entry in provider_types():
        server = entry.recognise(answers) if entry.recognise is not None else None
        if server is not None:
            models = tuple(name for name in server.models if not is_embedder_name(name))
            return DetectedServer(entry.kind, server.software, f"{root}{server.path}", models, server.version)
    return None


async def _get(http: HttpClient, path: str) -> dict[str, object]:
    try:
        answer = await http.json("GET", path)
    except ProviderError:
        return {}
    return answer if isinstance(answer, dict) else {}
