"""Search queries, and their vectors. A search never fails because its embedder does."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from atelier_desk.domain.errors import AtelierError

if TYPE_CHECKING:
    import numpy as np

    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.memory_index_entry import Stems

log = logging.getLogger(__name__)

EMBEDDED_CHARS = 4_000
"""Characters of a text that are embedded: sentence encoders blur longer texts, and each thousand costs 20 ms."""
EMBED_WAIT_S = 10.0
"""Seconds a search waits for its query's vector before continuing with full text only."""


class Question(NamedTuple):
    """A query: the stems of its words, its vector if there is one, its language, and the plain words (which may name
    speakers).
    """

    stems: Stems
    vector: np.ndarray | None = None
    language: str = ""
    words: frozenset[str] = frozenset()


async def query_vector(embedder: Embedder | None, query: str) -> tuple[np.ndarray | None, str]:
    """Return the vector of a query, or None and a sentence for the model that says why."""
    if embedder is None:
        return None, "No embedder is set: full text alone was searched."
    try:
        async with asyncio.timeout(EMBED_WAIT_S):
            made = await embedder.embed([query[:EMBEDDED_CHARS]], query=True)
    except (AtelierError, TimeoutError) as error:
        log.warning("the query was not embedded: %s", error)
        return None, f"The embedder failed ({str(error) or 'no answer in time'}): full text alone was searched."
    return made[0], ""
