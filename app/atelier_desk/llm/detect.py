"""Finds model servers that already run on this machine. It looks at three loopback ports and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.provider import ProviderKind
from atelier_desk.llm.http import HttpClient, Timeouts

PORTS = (11434, 1234, 8080)
"""Where Ollama, LM Studio and llama.cpp listen unless told otherwise."""
TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class DetectedServer:
    """A server that answered.

    Attributes:
        software: ``Ollama``, ``LM Studio``, ``llama.cpp`` or ``OpenAI-compatible``; a proper name, not translated.
        base_url: ready for a ``ProviderConfig`` of this kind.
        models: names of what it offers.
    """

    kind: ProviderKind
    software: str
    base_url: str
    models: tuple[str, ...] = ()
    version: str = ""


async def detect(clock: Clock | None = None, *, ports: Sequence[int] = PORTS, timeout_s: float = TIMEOUT_S) -> list[DetectedServer]:
    """Look at all ports at once; each gets ``timeout_s`` of silence. In the order of ``ports``; never raises for a server's fault."""
    found = await asyncio.gather(*(_probe(port, clock or SystemClock(), timeout_s) for port in ports))
    return [server for server in found if server is not None]


async def _probe(port: int, clock: Clock, timeout_s: float) -> DetectedServer | None:
    """What listens on one port: each kind of server is told by a page that only it has."""
    root = f"http://127.0.0.1:{port}"
    timeouts = Timeouts(connect_s=timeout_s, first_s=timeout_s, idle_s=timeout_s, call_s=timeout_s)
    http = HttpClient(root, provider=root, clock=clock, timeouts=timeouts)
    try:
        version, tags, lm_studio, props, models = await asyncio.gather(
            *(_get(http, path) for path in ("/api/version", "/api/tags", "/api/v0/models", "/props", "/v1/models"))
        )
    finally:
        await http.aclose()
    if isinstance(version.get("version"), str) and isinstance(tags.get("models"), list):
        return DetectedServer(ProviderKind.OLLAMA, "Ollama", root, _names(tags["models"], "name"), version["version"])
    if isinstance(lm_studio.get("data"), list):
        return DetectedServer(ProviderKind.OPENAI, "LM Studio", f"{root}/v1", _names(lm_studio["data"], "id"))
    if isinstance(models.get("data"), list):
        names = _names(models["data"], "id")
        if "default_generation_settings" in props or _owned_by(models["data"], "llamacpp"):
            return DetectedServer(ProviderKind.OPENAI, "llama.cpp", f"{root}/v1", names, str(props.get("build_info", "")))
        return DetectedServer(ProviderKind.OPENAI, "OpenAI-compatible", f"{root}/v1", names)
    return None


async def _get(http: HttpClient, path: str) -> dict[str, Any]:
    try:
        answer = await http.json("GET", path)
    except ProviderError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _names(items: list[Any], key: str) -> tuple[str, ...]:
    return tuple(item[key] for item in items if isinstance(item, dict) and isinstance(item.get(key), str))


def _owned_by(items: list[Any], owner: str) -> bool:
    return any(isinstance(item, dict) and item.get("owned_by") == owner for item in items)
