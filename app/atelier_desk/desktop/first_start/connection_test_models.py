"""Selection of models for the connection test."""

from __future__ import annotations

from atelier_desk.domain.provider import ModelInfo


def chat_models(models: list[ModelInfo]) -> list[ModelInfo]:
    """Chat models in the order of the server, which lists its default first."""
    return [info for info in models if not info.embedding]
