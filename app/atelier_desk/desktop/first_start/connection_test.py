"""Which models can be tried."""

from __future__ import annotations

from atelier_desk.domain.provider import ModelInfo


def chat_models(models: list[ModelInfo]) -> list[ModelInfo]:
    """Models that can talk, in the order the server lists them: it names its own choice first."""
    return [info for info in models if not info.embedding]
