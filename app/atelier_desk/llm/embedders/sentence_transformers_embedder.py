"""The sentence-transformers embedder, run in a child process that ends with this one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.embedders.install_sentence_transformers import missing
from atelier_desk.support.i18n import N_
from atelier_desk.support.worker.environment import environment
from atelier_desk.support.worker.errors import Ended, Failed, WorkerError
from atelier_desk.support.worker.requests_to_child import Worker

DEFAULT_MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
LOAD_TIMEOUT_S = 600.0
"""Seconds; the first use may download the model."""
_BATCH = 64
_MODULE = "atelier_desk.llm.embedders.sentence_transformers_process"


class SentenceTransformersEmbedder:
    """Vectors from a sentence-transformers model: a name on the hub or a folder. The library respects
    ``HF_HUB_OFFLINE``.

    Attributes:
        dimension: 0 until the first ``embed`` loads the model.
    """

    def __init__(self, model: str, *, load_timeout_s: float = LOAD_TIMEOUT_S) -> None:
        self._model = model or DEFAULT_MODEL
        self._load_timeout_s = load_timeout_s
        self.id = f"sentence-transformers:{self._model}"
        self.dimension = 0
        self._starting = asyncio.Lock()
        self._worker: Worker | None = None

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        """Return unit vectors of shape (len(texts), dimension), float32.

        Raises:
            ProviderError: ``embedder_missing``: the extra is not installed; ``embedder_model``: the model cannot be
                loaded; ``embedder_failed``: it cannot embed these texts; ``embedder_gone``: the process died, and the
                next call restarts it.
        """
        worker = await self._ready()
        data = b""
        try:
            for start in range(0, len(texts), _BATCH):
                data += (await worker.ask({"texts": texts[start : start + _BATCH], "query": query})).data
        except Failed as error:
            say = N_("The embedder could not embed these texts: {reason}")
            raise ProviderError(say, code="embedder_failed", reason=str(error)) from error
        except Ended as error:
            raise _gone() from error
        vectors: np.ndarray = np.frombuffer(data, dtype="<f4").astype(np.float32).reshape(len(texts), self.dimension)
        return vectors

    async def aclose(self) -> None:
        """End the process; a later call starts it again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()

    async def _ready(self) -> Worker:
        async with self._starting:
            if self._worker is None or not self._worker.alive:
                try:
                    async with asyncio.timeout(self._load_timeout_s):
                        await self._load()
                except TimeoutError:
                    await self.aclose()
                    raise ProviderError(
                        N_("The embedder {model} was not loaded within {seconds} seconds."),
                        code="embedder_timeout",
                        recoverable=True,
                        model=self._model,
                        seconds=round(self._load_timeout_s),
                    ) from None
                except BaseException:
                    await self.aclose()
                    raise
            assert self._worker is not None
            return self._worker

    async def _load(self) -> None:
        try:
            self._worker = await Worker.start(_MODULE, env=environment())
            self.dimension = (await self._worker.ask({"model": self._model})).value
        except Failed as error:
            if error.code == "missing":
                raise missing() from error
            say = N_("The embedder {model} could not be loaded: {reason}")
            raise ProviderError(say, code="embedder_model", model=self._model, reason=str(error)) from error
        except WorkerError as error:
            raise _gone() from error


def _gone() -> ProviderError:
    return ProviderError(
        N_("The embedder process ended. It restarts the next time it is needed."),
        code="embedder_gone",
        recoverable=True,
    )
