"""Provider for models that run inside Atelier.

Maintains one server process and loads the model that each request names.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import SETTINGS_CHANGED, AtelierError, ProviderError
from atelier_desk.domain.model_messages import LOADING, ChatDelta, ChatRequest, RetryDelta, RetryDue
from atelier_desk.domain.provider import ModelInfo, ProviderHealth
from atelier_desk.llm.error_conversion import ErrorLocation, provider_error
from atelier_desk.llm.local.model_files import DEFAULT_CONTEXT, STARTER_CONTEXT, LocalModel, ModelStore
from atelier_desk.llm.local.server_lifecycle import ServerConfig, ServerProcess
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.llm.local.client import LocalChat

_RESTARTS = 1
"""Retries of a request whose server died before anything was shown."""
_REAP_S = 1.0


class LocalProvider:
    """One llama.cpp server in a child process, started by the first request and stopped by ``aclose`` or at exit.

    Requests for the loaded model run concurrently; one for another model, or a larger context, waits for them and then
    restarts the server, in order of arrival.

    Args:
        models_dir: folder with GGUF files; may be missing.
        clock: measures how long a test takes.
        store: another source of model files, for tests.
        start: starts a server, for tests.
    """

    grammar = True

    def __init__(
        self,
        models_dir: Path,
        clock: Clock,
        *,
        name: str = "local",
        store: ModelStore | None = None,
        start: Callable[[ServerConfig], Any] = ServerProcess.start,
    ) -> None:
        self.name = name
        self.store = store or ModelStore(models_dir)
        self._clock = clock
        self._start = start
        self._turn = asyncio.Lock()
        self._idle = asyncio.Event()
        self._idle.set()
        self._busy = 0
        self._closed = False
        self._server: ServerProcess | None = None
        self._chat: LocalChat | None = None
        self._raw: LocalChat | None = None

    @property
    def server(self) -> ServerProcess | None:
        """The running server, None before the first request and after ``aclose``."""
        return self._server

    async def list_models(self) -> list[ModelInfo]:
        """Return the starter first, then the files of the models folder."""
        return await asyncio.to_thread(lambda: [self.store.info(model, self.name) for model in self.store.list()])

    async def model_info(self, model: str) -> ModelInfo:
        """Return information about one model.

        Raises:
            NotFoundError: there is no such file.
        """
        return await asyncio.to_thread(lambda: self.store.info(self.store.get(model), self.name))

    async def test(self, *, load: bool = True) -> ProviderHealth:
        """Check that the engine is installed and the first model intact.

        With ``load``, load it unless another one is in use.
        """
        started = self._clock.monotonic()
        models: list[ModelInfo] = []
        try:
            models = await self.list_models()
            if not models:
                return ProviderHealth(
                    ok=False, code="model_missing", message=_("No model is installed. Download one in the settings.")
                )
            if self._server is None or not self._server.alive:
                config = await self._config(models[0].name, None)
                if load:
                    async with self._serving(config):
                        pass
        except AtelierError as error:
            return ProviderHealth.failed(error, models=len(models))
        return ProviderHealth(ok=True, models=len(models), latency_ms=round((self._clock.monotonic() - started) * 1000))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Answer with the requested model, loading it if necessary (announced by a ``RetryDelta`` of 0 s).

        Raises:
            NotFoundError: there is no such model.
            ProviderError: the file is damaged, the server does not start, or ``images`` were sent; also errors of the
                connection.
        """
        if any(message.images for message in request.messages):
            raise ProviderError(
                N_("The built-in model server does not read images. Choose a vision model from another provider."),
                code="images",
            )
        config = await self._config(request.model, request.context_window)
        for attempt in range(1, _RESTARTS + 2):
            shown = False
            if not self._serves(config):
                yield RetryDelta(attempt=attempt, delay_s=0.0, reason=LOADING)
            try:
                async with self._serving(config), aclosing(self._answer(request)) as deltas:
                    async for delta in deltas:
                        shown = shown or not isinstance(delta, RetryDelta | RetryDue)
                        yield delta
                return
            except ProviderError as error:
                if shown or attempt > _RESTARTS or not await self._died(error):
                    raise
                yield RetryDelta(attempt=attempt + 1, delay_s=0.0, reason=error.localized(_))

    async def aclose(self) -> None:
        """Stop the server, even during a reply. It is not started again: other settings apply by now."""
        self._closed = True
        await self._stop()

    async def _config(self, name: str, window: int | None) -> ServerConfig:
        """Check the file and choose how to serve it.

        The requested context, limited to what the model was trained for.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise ProviderError(
                N_("The built-in model server is not installed. Install the package {package}."),
                code="engine_missing",
                package="xllamacpp",
            )

        def check() -> tuple[LocalModel, int | None]:
            model = self.store.get(name)
            return model, self.store.check(model).context_length

        model, trained = await asyncio.to_thread(check)
        n_ctx = STARTER_CONTEXT if model.starter else (window or DEFAULT_CONTEXT)
        n_ctx = min(n_ctx, trained) if trained else n_ctx
        threads = 1 if model.starter else max(1, (os.cpu_count() or 2) - 1)
        return ServerConfig(model.path, model.name, n_ctx, threads)

    async def _died(self, error: ProviderError) -> bool:
        """Whether a request failed because the server process died.

        The connection breaks shortly before the process is reaped.
        """
        server = self._server
        if server is None or error.code not in ("unreachable", "truncated"):
            return False
        return await server.exited_within(_REAP_S)

    def _serves(self, config: ServerConfig) -> bool:
        server = self._server
        if server is None or not server.alive:
            return False
        return server.config.model == config.model and server.config.n_ctx >= config.n_ctx

    @asynccontextmanager
    async def _serving(self, config: ServerConfig) -> AsyncIterator[None]:
        """Hold the server with this configuration for one request."""
        async with self._turn:
            if self._closed:
                raise provider_error(ErrorLocation(self.name, config.alias), SETTINGS_CHANGED, "")
            if not self._serves(config):
                if self._server is not None and self._server.alive:
                    await self._idle.wait()
                await self._stop()
                await self._open(config)
            self._busy += 1
            self._idle.clear()
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def _open(self, config: ServerConfig) -> None:
        from atelier_desk.llm.local.client import LocalChat, LocalCompletion

        server: ServerProcess = await self._start(config)
        self._server = server
        self._chat = LocalChat(self.name, server.address, server.api_key, self._clock)
        self._raw = LocalCompletion(self.name, server.address, server.api_key, self._clock)

    async def _stop(self) -> None:
        server, clients = self._server, [client for client in (self._raw, self._chat) if client is not None]
        self._server = self._raw = self._chat = None
        if server is not None:
            await server.stop()
        for client in clients:
            await client.aclose()

    def _answer(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        client = self._chat if request.raw_prompt is None else self._raw
        assert client is not None
        return client.stream(request)
