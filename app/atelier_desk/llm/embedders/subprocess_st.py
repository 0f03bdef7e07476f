"""The sentence-transformers embedder, run in a child process that ends with this one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atelier_desk import children
from atelier_desk.domain.errors import ProviderError
from atelier_desk.i18n import N_
from atelier_desk.llm.embedders.installing import missing
from atelier_desk.llm.embedders.st_process import LENGTH, MAX_FRAME

if TYPE_CHECKING:
    import numpy as np

DEFAULT_MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
LOAD_TIMEOUT_S = 600.0
"""The first use may download the model."""
STOP_TIMEOUT_S = 5.0
_BATCH = 64
_MODULE = "atelier_desk.llm.embedders.st_process"


class SentenceTransformersEmbedder:
    """Vectors from a sentence-transformers model, a name of the hub or a folder. ``HF_HUB_OFFLINE`` is honoured by the library.

    Attributes:
        dimension: 0 until the model is loaded by the first ``embed``.
    """

    def __init__(self, model: str = "", *, load_timeout_s: float = LOAD_TIMEOUT_S) -> None:
        self._model = model or DEFAULT_MODEL
        self._load_timeout_s = load_timeout_s
        self.id = f"sentence-transformers:{self._model}"
        self.dimension = 0
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._count = 0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        """Unit vectors of shape (len(texts), dimension), float32.

        Raises:
            ProviderError: ``embedder_missing`` when the extra is not installed, ``embedder_model`` when the model cannot be loaded,
                ``embedder_failed`` when it cannot embed these texts, ``embedder_gone`` when the process died; the next call starts it anew.
        """
        await self._ready()
        import numpy as np

        parts = [await self._ask(list(texts[start : start + _BATCH]), query=query) for start in range(0, len(texts), _BATCH)]
        data = b"".join(parts)
        vectors: np.ndarray = np.frombuffer(data, dtype="<f4").astype(np.float32).reshape(len(texts), self.dimension)
        return vectors

    async def aclose(self) -> None:
        """End the process; a later call starts it again."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(STOP_TIMEOUT_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ready(self) -> None:
        async with self._starting:
            if self._process is not None and self._process.returncode is None and not any(task.done() for task in self._tasks):
                return
            await self.aclose()
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", _MODULE,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                env=children.environment(),
            )  # fmt: skip
            self._process = process
            try:
                async with asyncio.timeout(self._load_timeout_s):
                    await self._load(process)
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
            self._tasks = [asyncio.create_task(self._read(process), name="embedder-replies")]

    async def _load(self, process: asyncio.subprocess.Process) -> None:
        await self._send({"model": self._model})
        assert process.stdout is not None
        reply = json.loads(await _frame(process.stdout))
        if reply.get("event") == "ready":
            self.dimension = reply["dimension"]
            return
        if reply.get("code") == "embedder_missing":
            raise missing()
        if reply.get("code") == "embedder_model":
            raise ProviderError(
                N_("The embedder {model} could not be loaded: {reason}"),
                code="embedder_model",
                model=self._model,
                reason=reply.get("message"),
            )
        raise _gone()

    async def _ask(self, texts: list[str], *, query: bool) -> bytes:
        self._count += 1
        number = self._count
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            if any(task.done() for task in self._tasks):  # nobody reads replies any more
                raise _gone()
            await self._send({"id": number, "texts": texts, "query": query})
            return await future
        finally:
            self._waiting.pop(number, None)

    async def _send(self, message: dict[str, Any]) -> None:
        if self._process is None or self._process.stdin is None:
            raise _gone()
        frame = json.dumps(message).encode()
        with contextlib.suppress(ConnectionError):  # a process that died fails the waiting calls in _read
            self._process.stdin.write(LENGTH.pack(len(frame)) + frame)
            await self._process.stdin.drain()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Hand each reply to the call that waits for it; a cancelled call's reply is dropped."""
        assert process.stdout is not None
        try:
            while True:
                try:
                    reply = json.loads(await _frame(process.stdout))
                    data = await _frame(process.stdout) if "rows" in reply else b""
                except ProviderError:
                    return
                future = self._waiting.get(reply["id"])
                if future is None or future.done():
                    continue
                if "error" in reply:
                    future.set_exception(
                        ProviderError(
                            N_("The embedder could not embed these texts: {reason}"), code="embedder_failed", reason=reply["error"]
                        )
                    )
                else:
                    future.set_result(data)
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(_gone())


async def _frame(stream: asyncio.StreamReader) -> bytes:
    """One frame; a stream that ended, or no sense, is the end of the process."""
    try:
        (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
        if length <= MAX_FRAME:
            return await stream.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise _gone() from error
    raise _gone()


def _gone() -> ProviderError:
    return ProviderError(
        N_("The process of the embedder ended. It is started again at the next use."), code="embedder_gone", recoverable=True
    )
