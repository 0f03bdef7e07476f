"""What the engine asks of a model server and of an embedder. Everything provider-specific stays behind these."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Protocol

from atelier_desk.domain.model_messages import ChatDelta, ChatRequest
from atelier_desk.domain.provider import ModelInfo, ProviderHealth

if TYPE_CHECKING:
    import numpy as np


class ChatModel(Protocol):
    """Streams one reply. A provider is one; a dialect wraps one; tests script one."""

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Yield deltas and, last, exactly one ``ReplyDone``.

        Cancelling the task (or closing the iterator) closes the HTTP request at once.

        Raises:
            ContextOverflowError: the request does not fit the model's window.
            ProviderError: anything else that went wrong, with a code, and ``recoverable`` when trying again may help. A stream that ends
                without its end mark is an error (code ``truncated``), and so is one that stalls (code ``timeout``).
        """
        ...


class Provider(ChatModel, Protocol):
    """A configured server: chat, and what can be learned about its models."""

    name: str
    grammar: bool
    """Whether it is known to hold a reply to a grammar; a server that is not may refuse the field."""

    async def list_models(self) -> list[ModelInfo]:
        """The models the server offers, embedders marked."""
        ...

    async def model_info(self, model: str) -> ModelInfo:
        """What is known of one model; from the server when it says, else from the profile table."""
        ...

    async def test(self, *, load: bool = True) -> ProviderHealth:
        """Reach the server and list its models; never raises for a server's fault. Without ``load``, no model is loaded for it."""
        ...

    async def aclose(self) -> None:
        """Close connections and, for the local server, its process."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors. ``id`` names kind, model and dimension: vectors of different ids are never compared."""

    id: str
    dimension: int

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        """Vectors of shape (len(texts), dimension), float32, each of length 1; never blocks the event loop.

        Raises:
            ProviderError: the embedder cannot be reached or loaded.
        """
        ...

    async def aclose(self) -> None: ...
