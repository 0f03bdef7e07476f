"""Parent side of the server process: start it, wait until it is ready, detect its death, stop it."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from atelier_desk.domain.errors import ProviderError
from atelier_desk.support.i18n import N_
from atelier_desk.support.worker.environment import environment
from atelier_desk.support.worker.errors import WorkerError
from atelier_desk.support.worker.requests_to_child import Worker

READY_TIMEOUT_S = 180.0
"""Seconds: a model of several gigabytes on a slow disk needs minutes; the starter is ready in 0.5 s."""
_LOG_LINES = 40
_SERVER_MODULE = "atelier_desk.llm.local.llama_server_process"


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What to load.

    ``n_ctx`` in tokens; ``n_threads`` processor threads (1 for the starter: two are slower on busy cores).
    """

    model: Path
    alias: str
    n_ctx: int
    n_threads: int
    n_parallel: int = 1


class ServerProcess:
    """One running server, made with ``start``.

    Attributes:
        address: ``http://127.0.0.1:PORT``.
        api_key: generated at each start, so that no other user of the machine can use the port.
    """

    def __init__(self, config: ServerConfig, worker: Worker, address: str, api_key: str) -> None:
        self.config = config
        self.address = address
        self.api_key = api_key
        self._worker = worker

    @classmethod
    async def start(
        cls, config: ServerConfig, *, module: str = _SERVER_MODULE, ready_timeout_s: float = READY_TIMEOUT_S
    ) -> ServerProcess:
        """Start the process and wait until it is ready. Cancelling ends the process.

        Raises:
            ProviderError: codes ``server_failed`` (with the reason) and ``server_timeout``.
        """
        worker, api_key = None, secrets.token_urlsafe(24)
        try:
            async with asyncio.timeout(ready_timeout_s):
                worker = await Worker.start(module, env={**environment(), "PYTHONUNBUFFERED": "1"})
                reply = await worker.ask({**asdict(config), "api_key": api_key})
            return cls(config, worker, str(reply.value), api_key)
        except BaseException as error:
            if worker is not None:
                await worker.end()
            if isinstance(error, TimeoutError):
                say = N_("The model {model} was not loaded within {seconds} seconds.")
                seconds = round(ready_timeout_s)
                raise ProviderError(
                    say, code="server_timeout", recoverable=True, model=config.alias, seconds=seconds
                ) from None
            if isinstance(error, WorkerError):
                say = N_("The built-in model server could not load {model}: {reason}")
                raise ProviderError(say, code="server_failed", model=config.alias, reason=str(error)) from error
            raise

    @property
    def pid(self) -> int:
        return self._worker.pid

    @property
    def alive(self) -> bool:
        return self._worker.alive

    async def exited_within(self, seconds: float) -> bool:
        """Whether the process has ended, or ends within this time."""
        return await self._worker.exited_within(seconds)

    @property
    def log(self) -> str:
        """Return the last lines of the server's log."""
        return "\n".join(self._worker.printed.splitlines()[-_LOG_LINES:])

    async def stop(self) -> None:
        """End the process immediately."""
        await self._worker.end()
