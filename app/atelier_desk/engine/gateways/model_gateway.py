"""Open a streamable model for an agent: provider, model information, dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.image_limits import USUAL, PictureLimits
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.llm.interfaces import ChatModel

DEFAULT_WINDOW = 32_768
"""Assumed context in tokens of an unknown model: current servers offer at least that, and the built-in agents' tools
alone take a fifth of it.

A server that accepts less says so when it refuses a request, and that is remembered.
"""


@dataclass(frozen=True, slots=True)
class OpenModel:
    """An opened model.

    Attributes:
        model: streams replies in the neutral form, regardless of the dialect.
        plain: the same model without a dialect, for summaries.
        pictures: image limits of its server.
    """

    model: ChatModel
    plain: ChatModel
    info: ModelInfo
    dialect: ToolDialect
    pictures: PictureLimits = USUAL

    @property
    def window(self) -> int:
        return self.info.context_window or DEFAULT_WINDOW


class ModelGateway(Protocol):
    """Opens models.

    Implemented by ``atelier_desk.engine.gateways.provider_gateway.ProviderGateway``; tests use a scripted one.
    """

    async def open(self, agent: AgentConfig, language: str) -> OpenModel:
        """Return the agent's model.

        Raises:
            NotFoundError: no such provider.
            ProviderError: the provider cannot be used (no key, no model file).
        """
        ...

    async def learned(self, agent: AgentConfig, **facts: int | bool) -> None:
        """Store what a server revealed about the agent's model by refusing a request: fields of ``ModelInfo``.

        For example ``context_window`` in tokens, or ``supports_tools``.
        """
        ...


ModelFactory = Callable[[AgentConfig], ChatModel]


class FactoryGateway:
    """A gateway over a function, for tests, examples and embedding programs with their own model."""

    def __init__(
        self, factory: ModelFactory, *, window: int = 32_768, dialect: ToolDialect = ToolDialect.NATIVE
    ) -> None:
        self._factory = factory
        self._window = window
        self._dialect = dialect

    async def open(self, agent: AgentConfig, language: str) -> OpenModel:
        model = self._factory(agent)
        info = ModelInfo(
            provider=agent.provider,
            name=agent.model,
            context_window=self._window,
            supports_vision=True,
            supports_tools=True,
            price_input=0,
            price_output=0,
        )
        return OpenModel(model=model, plain=model, info=info, dialect=self._dialect)

    async def learned(self, agent: AgentConfig, **facts: int | bool) -> None:
        """Do nothing: the function creates its models as it likes."""
