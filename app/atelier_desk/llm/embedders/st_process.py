"""The child process that runs sentence-transformers: ``python -m atelier_desk.llm.embedders.st_process``.

A process of its own because importing torch in a thread stalls a window for a quarter of a second and takes over a gigabyte.

Protocol, frames of a 4-byte big-endian length and that many bytes:

- stdin: JSON ``{"model": name}`` first, then ``{"id": n, "texts": […], "query": bool}``. End of file ends the process at once.
- stdout: JSON ``{"event": "ready", "dimension": d}`` or ``{"event": "error", "code", "message"}``; then for each request JSON
  ``{"id": n, "rows": r}`` and one frame with r·d little-endian float32, or ``{"id": n, "error": message}``.
"""

from __future__ import annotations

import json
import os
import queue
import struct
import sys
import threading
from typing import Any, BinaryIO

LENGTH = struct.Struct(">I")
MAX_FRAME = 256 * 1024 * 1024


def main() -> None:
    """Load the model the first frame names, then answer until stdin ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes to stderr, not into the protocol
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(requests,), name="stdin-reader", daemon=True).start()
    model = _load(requests.get()["model"], replies)
    while True:
        request = requests.get()
        try:
            vectors = _encode(model, request["texts"], query=bool(request.get("query")))
        except Exception as error:  # the parent must hear of it; the next request may work
            _send(replies, {"id": request["id"], "error": f"{type(error).__name__}: {error}"})
        else:
            _send(replies, {"id": request["id"], "rows": len(vectors)}, vectors.astype("<f4").tobytes())


def _load(name: str, replies: BinaryIO) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        _send(replies, {"event": "error", "code": "embedder_missing", "message": str(error)})
        os._exit(1)
    try:
        model = SentenceTransformer(name, device="cpu")
        dimension = int(model.get_sentence_embedding_dimension())
    except Exception as error:  # a wrong name, no network, a damaged cache: all end here
        _send(replies, {"event": "error", "code": "embedder_model", "message": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _send(replies, {"event": "ready", "dimension": dimension})
    return model


def _encode(model: Any, texts: list[str], *, query: bool) -> Any:
    """Unit vectors; models with a prompt for queries get it."""
    options = {"prompt_name": "query"} if query and "query" in (getattr(model, "prompts", None) or {}) else {}
    return model.encode(texts, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False, **options)


def _read_requests(requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Runs in a thread, so that the end of stdin is noticed also while the model works."""
    while True:
        head = sys.stdin.buffer.read(LENGTH.size)
        if len(head) < LENGTH.size:
            os._exit(0)
        requests.put(json.loads(sys.stdin.buffer.read(LENGTH.unpack(head)[0])))


def _send(replies: BinaryIO, message: dict[str, Any], data: bytes | None = None) -> None:
    for frame in (json.dumps(message).encode(), data):
        if frame is not None:
            replies.write(LENGTH.pack(len(frame)) + frame)
    replies.flush()


if __name__ == "__main__":
    main()
