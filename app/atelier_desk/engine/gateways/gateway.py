"""From an agent's settings to a model that can be streamed: provider, what is known of the model, dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from atelier_desk.domain.agent import AgentConfig, ToolDialect
from atelier_desk.domain.pictures import USUAL, PictureLimits
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.llm.base import ChatModel

DEFAULT_WINDOW = 32_768
"""Tokens assumed for a model nobody says anything about: what servers offer today has as many or more, and the built-in agents' tools alone
take a fifth of it. A server that can take fewer says so when it refuses a request, and that is learned."""


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model ready to be asked.

    Attributes:
        model: streams replies in the neutral form, whatever the dialect on the wire.
        plain: the same model without a dialect, for summaries.
        pictures: what its server takes of pictures.
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
    """Opens models. ``atelier_desk.engine.gateways.providers.ProviderGateway`` is the real one; tests hand in a scripted one."""

    async def open(self, agent: AgentConfig, language: str) -> OpenModel:
        """The agent's model.

        Raises:
            NotFoundError: no such provider.
            ProviderError: the provider cannot be used (no key, no model file).
        """
        ...

    async def learned(self, agent: AgentConfig, **facts: int | bool) -> None:
        """Keep what a server showed of the agent's model by refusing a request: fields of ``ModelInfo`` (``context_window`` in tokens,
        ``supports_tools``)."""
        ...


ModelFactory = Callable[[AgentConfig], ChatModel]


class FactoryGateway:
    """A gateway over a function, for tests, examples and embedding programs that bring their own model."""

    def __init__(self, factory: ModelFactory, *, window: int = 32_768, dialect: ToolDialect = ToolDialect.NATIVE) -> None:
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
        """Nothing is kept: the function makes its models as it likes."""
