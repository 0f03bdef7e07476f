"""Interfaces of model servers and embedders. Everything provider-specific stays behind them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Protocol

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest
from atelier_desk.domain.provider import ModelInfo, ProviderHealth

if TYPE_CHECKING:
    import numpy as np


class ChatModel(Protocol):
    """Streams one reply. Implemented by providers, dialects (which wrap one) and test scripts."""

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Yield deltas and, last, exactly one ``ReplyDone``.

        Cancelling the task (or closing the iterator) closes the HTTP request immediately.

        Raises:
            ContextOverflowError: the request exceeds the model's context.
            ProviderError: any other failure, with a code; ``recoverable`` if a retry may help. A stream without its end
                mark is an error (code ``truncated``), and so is a stalled one (code ``timeout``).
        """
        ...


class Provider(ChatModel, Protocol):
    """A configured server: chat and model information."""

    name: str
    grammar: bool
    """Whether it is known to enforce grammars; other servers may refuse the field."""

    async def list_models(self) -> list[ModelInfo]:
        """Return the models of the server, with embedders marked."""
        ...

    async def model_info(self, model: str) -> ModelInfo:
        """Return information about one model, from the server if available, otherwise from the profile table."""
        ...

    async def test(self, *, load: bool = True) -> ProviderHealth:
        """Connect to the server and list its models.

        Server faults never raise. Without ``load``, no model is loaded for it.
        """
        ...

    async def aclose(self) -> None:
        """Close connections and, for the local server, its process."""
        ...


class Embedder(Protocol):
    """Converts texts to unit vectors.

    ``id`` contains kind, model and dimension: vectors with different ids are never compared.
    """

    id: str
    dimension: int

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        """Return vectors of shape (len(texts), dimension), float32, length 1; never blocks the event loop.

        Raises:
            ProviderError: the embedder cannot be reached or loaded.
        """
        ...

    async def aclose(self) -> None: ...
