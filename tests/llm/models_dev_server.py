"""A server with the list of models.dev."""

from __future__ import annotations

from typing import Any

from tests.helpers.servers.scripted_http_server import FakeServer, Request, Response


class ModelsDev(FakeServer):
    """A models.dev server with one page."""

    answer: Any = None

    async def handle(self, request: Request, out: Response) -> None:
        await out.json(
            self.answer if request.path == "/api.json" else {}, status=200 if request.path == "/api.json" else 404
        )


def told(**more: Any) -> dict[str, Any]:
    """A model in the format of models.dev."""
    return {
        "id": "llama", "limit": {"context": 131_072, "output": 32_768},
        "cost": {"input": 0.59, "output": 0.79, "cache_read": 0.1},
        "modalities": {"input": ["text"], "output": ["text"]}, "tool_call": True, "reasoning": True, **more,
    }  # fmt: skip
