"""Which models can be tried, and an agent with another one."""

from __future__ import annotations

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.provider import ModelInfo


def chat_models(models: list[ModelInfo]) -> list[ModelInfo]:
    """Models that can talk, those that can call tools first."""
    return sorted((info for info in models if not info.embedding), key=lambda info: (info.supports_tools is not True, info.name.casefold()))


def with_model(config: AgentConfig, provider: str, model: str) -> AgentConfig:
    """The agent with another model."""
    return config.model_copy(update={"provider": provider, "model": model})
