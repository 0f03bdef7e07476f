"""An embedder with vectors of another length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.engine.conftest import WordEmbedder


class OtherEmbedder(WordEmbedder):
    id = "test:other:32"
    dimension = 32

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return (await super().embed(texts, query=query))[:, :32]
