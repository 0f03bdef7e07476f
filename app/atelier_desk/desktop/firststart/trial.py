"""Which models can be tried, and an agent with another one."""

from __future__ import annotations

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.provider import ModelInfo


def chat_models(models: list[ModelInfo]) -> list[ModelInfo]:
    """Models that can talk, in the order the server lists them: it names its own choice first."""
    return [info for info in models if not info.embedding]


def with_model(config: AgentConfig, provider: str, model: str) -> AgentConfig:
    """The agent with another model."""
    return config.model_copy(update={"provider": provider, "model": model})
