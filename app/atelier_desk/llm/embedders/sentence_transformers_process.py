"""The child process that runs sentence-transformers.

Separate because importing torch in a thread stalls a window for 0.25 s and takes over a gigabyte.

``{"model": name}`` comes first and is answered with the dimension d, or refused with ``missing`` without the library.
Then ``{"texts": […], "query": bool}`` is answered with r·d little-endian float32.
"""

from __future__ import annotations

from typing import Any

from atelier_desk.support.worker.child import Report, serve
from atelier_desk.support.worker.errors import Refused
from atelier_desk.support.worker.frames import Reply


class _Embedding:
    """The model of one process."""

    _model: Any = None

    def answer(self, request: dict[str, object], _data: bytes, _tell: Report) -> Reply:
        if "model" in request:
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                raise Refused("missing") from error
            self._model = SentenceTransformer(request["model"], device="cpu")
            return Reply(int(self._model.get_sentence_embedding_dimension()))
        # Unit vectors; models with a query prompt use it.
        prompts = request["query"] and "query" in (getattr(self._model, "prompts", None) or {})
        more = {"prompt_name": "query"} if prompts else {}
        vectors = self._model.encode(
            request["texts"], normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False, **more
        )
        return Reply(None, vectors.astype("<f4").tobytes())


if __name__ == "__main__":
    serve(_Embedding().answer)
