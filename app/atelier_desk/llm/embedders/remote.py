"""Remote embedders: Ollama's ``/api/embed``, and ``/embeddings`` of Mistral and OpenAI-compatible servers."""

from __future__ import annotations

import asyncio
import base64
from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ContextOverflowError
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.llm.error_conversion import ErrorLocation, provider_error
from atelier_desk.llm.http_provider import HttpProvider
from atelier_desk.llm.http_provider_factory import create_http_provider
from atelier_desk.llm.model_assumptions import bare_name
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.llm.token_and_cost_estimates import estimate

if TYPE_CHECKING:
    import numpy as np

BATCH = 96
"""Texts per request."""
LONGEST = 20_000
"""Maximum characters of a text: hosted models have 8,192 tokens, and fewer than 2.5 characters per token are rare."""
SHORTEST = 200
"""Texts are never cut below this many characters, however short the reported context is."""
_EMPTY = "(empty)"
"""Replaces blank texts, which servers refuse."""

# Prefixes of queries and texts recommended by the models' cards.
_PREFIXES = {
    "nomic-embed-text": ("search_query: ", "search_document: "),
    "mxbai-embed-large": ("Represent this sentence for searching relevant passages: ", ""),
    "e5": ("query: ", "passage: "),
}
# Parameter that requests fewer dimensions, for supporting models, and their default dimension.
_SHORTENED = {
    "text-embedding-3-small": ("dimensions", 1536),
    "text-embedding-3-large": ("dimensions", 3072),
    "codestral-embed": ("output_dimension", 1536),
}


@dataclass(slots=True)
class EmbeddingUse:
    """Tokens that a request sends: estimated, and then as its server counted them."""

    tokens: int
    estimated: bool = True


Meter = Callable[[str, str, int], AbstractAsyncContextManager[EmbeddingUse]]
"""``meter(provider, model, tokens)``: within it one request is sent, whose ``tokens`` are an estimate."""


@asynccontextmanager
async def uncounted(_provider: str, _model: str, tokens: int) -> AsyncIterator[EmbeddingUse]:
    """Nobody counts what it costs."""
    yield EmbeddingUse(tokens)


class RemoteEmbedder:
    """Vectors of one model of a server; made by ``open``, which determines the dimension.

    Attributes:
        id: ``kind:model:dimension``.
        dimension: length of each vector.
    """

    def __init__(self, provider: HttpProvider, model: str, dimension: int, meter: Meter) -> None:
        self._provider = provider
        self._meter = meter
        self._model = model
        self.dimension = dimension
        self.id = f"{provider.kind}:{model.removesuffix(':latest')}:{dimension}"

    @classmethod
    async def open(
        cls,
        config: ProviderConfig,
        model: str,
        vault: KeyVault,
        clock: Clock,
        *,
        dimension: int | None = None,
        meter: Meter | None = None,
    ) -> RemoteEmbedder:
        """An embedder of this dimension, or of the dimension the model has, which one request finds out. ``meter``
        counts its requests.

        Raises:
            UsageError: the provider's base URL cannot be one, or its kind has no embedders.
            ProviderError: the server cannot be reached, or does not give vectors.
            LimitError: the monthly cost limit has no room for that request.
        """
        meter = meter or uncounted
        provider = create_http_provider(config, vault, clock)
        if dimension is None:
            try:
                dimension = len((await _request(provider, model, ["dimension"], None, meter))[0])
            except BaseException:
                await provider.aclose()
                raise
        return cls(provider, model, dimension, meter)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        """See ``atelier_desk.llm.interfaces.Embedder.embed``.

        Batches of 96; texts over 20,000 characters or the model's context are cut.
        """
        before = _prefix(self._model, query)
        prepared = [before + (text.strip()[:LONGEST] or _EMPTY) for text in texts]
        vectors: list[object] = []
        for start in range(0, len(prepared), BATCH):
            vectors += await self._vectors(prepared[start : start + BATCH])
        return await asyncio.to_thread(self._unit, vectors)

    async def aclose(self) -> None:
        """Close connections."""
        await self._provider.aclose()

    async def _vectors(self, texts: list[str]) -> list[object]:
        """Return the vectors of a batch; batches the model refuses are halved, and single texts cut until they fit.

        Models with a context of only 512 tokens are common, and servers refuse longer texts or batches.
        """
        try:
            return await _request(self._provider, self._model, texts, self.dimension, self._meter)
        except ContextOverflowError:
            if len(texts) == 1 and len(texts[0]) <= SHORTEST:
                raise
        if len(texts) == 1:
            return await self._vectors([texts[0][: max(SHORTEST, len(texts[0]) * 2 // 3)]])
        middle = len(texts) // 2
        return [*await self._vectors(texts[:middle]), *await self._vectors(texts[middle:])]

    def _unit(self, vectors: list[Any]) -> np.ndarray:
        """Return vectors as a matrix of unit vectors."""
        import numpy as np

        where = ErrorLocation(self._provider.name, self._model)
        if any(len(vector) != self.dimension for vector in vectors):
            raise provider_error(where, "bad_response", f"{len(vectors[0])} dimensions, not {self.dimension}")
        try:
            matrix = np.asarray(vectors, dtype=np.float32).reshape(len(vectors), self.dimension)
        except (TypeError, ValueError):
            raise provider_error(where, "bad_response", "vectors that are not numbers") from None
        norms = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(norms).all() or (norms == 0).any():
            raise provider_error(where, "bad_response", "a vector without a direction")
        unit: np.ndarray = (matrix / norms).astype(np.float32)
        return unit


async def _request(
    provider: HttpProvider, model: str, texts: list[str], dimension: int | None, meter: Meter
) -> list[Any]:
    """Return the vectors of one batch in order: lists of numbers or arrays."""
    payload: dict[str, object] = {"model": model, "input": texts}
    parameter, native = _SHORTENED.get(bare_name(model), ("", 0))
    if parameter and dimension is not None and dimension != native:
        payload[parameter] = dimension

    async def ask() -> object:
        # A request that is sent again may be charged for twice: each attempt is counted.
        async with meter(provider.name, model, sum(map(estimate, texts))) as use:
            given, tokens = await provider.embeddings(payload, model)
            use.tokens, use.estimated = (use.tokens, True) if tokens is None else (tokens, False)
        return given

    given = await provider.with_retries(ask)
    vectors = [_decoded(vector) for vector in given] if isinstance(given, list) else None
    if (
        not isinstance(vectors, list)
        or len(vectors) != len(texts)
        or any(vector is None or not len(vector) for vector in vectors)
    ):
        raise provider_error(ErrorLocation(provider.name, model), "bad_response", f"no {len(texts)} vectors")
    return vectors


def _decoded(embedding: object) -> Any:
    """Decode a vector given as numbers, or as base64 of little-endian 32-bit floats; None if neither."""
    if isinstance(embedding, list):
        return embedding
    try:
        return array("f", base64.b64decode(embedding, validate=True)) if isinstance(embedding, str) else None
    except ValueError:
        return None


def _prefix(model: str, query: bool) -> str:
    name = bare_name(model)
    for start, (question, passage) in _PREFIXES.items():
        if name.startswith((start, f"multilingual-{start}-")) and (start != "e5" or "-" in name):
            return question if query else passage
    return ""
