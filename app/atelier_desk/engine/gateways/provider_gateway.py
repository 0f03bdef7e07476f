"""The model gateway over configured providers: provider, model information, and the matching dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.engine.gateways.model_gateway import OpenModel
from atelier_desk.llm.dialects import with_dialect
from atelier_desk.llm.interfaces import Embedder
from atelier_desk.llm.model_assumptions import dialect_for
from atelier_desk.llm.provider_type_registry import picture_limits

if TYPE_CHECKING:
    from atelier_desk.engine.services.models import ModelService
    from atelier_desk.engine.services.providers import ProviderService


class ProviderGateway:
    """Opens models over the configured providers.

    Attributes:
        embedder: finds the nearest examples for the guided dialect; the built-in one.
    """

    def __init__(self, providers: ProviderService, models: ModelService, embedder: Embedder) -> None:
        self._providers = providers
        self._models = models
        self._embedder = embedder

    async def open(self, agent: AgentConfig, language: str) -> OpenModel:
        """See ``ModelGateway.open``."""
        provider = await self._providers.provider(agent.provider)
        info = await self._models.info(agent.provider, agent.model)
        dialect = dialect_for(agent, info)
        if dialect is ToolDialect.NATIVE and info.source == "learned" and info.supports_tools is False:
            # This server has refused tool definitions, whatever the agent's setting.
            dialect = ToolDialect.XML
        model = with_dialect(
            provider,
            dialect,
            grammar=provider.grammar,
            embedder=self._embedder,
            language=language,
        )
        return OpenModel(model=model, plain=provider, info=info, dialect=dialect, pictures=picture_limits(provider))

    async def learned(self, agent: AgentConfig, **facts: int | bool) -> None:
        """See ``ModelGateway.learned``; a person's own corrections take precedence."""
        await self._models.learned(agent.provider, agent.model, **facts)
