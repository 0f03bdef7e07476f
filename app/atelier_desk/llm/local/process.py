"""The parent's side of the server process: start it, wait until it answers, notice that it died, stop it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from atelier_desk.domain.errors import ProviderError
from atelier_desk.i18n import N_
from atelier_desk.support.worker import environment as children

READY_TIMEOUT_S = 180.0
"""A model of several gigabytes on a slow disk needs minutes; the starter is ready in half a second."""
STOP_TIMEOUT_S = 5.0
_LOG_LINES = 40
_DRAIN_S = 0.5
_SERVER_MODULE = "atelier_desk.llm.local.server_process"


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What to load and how. ``n_ctx`` in tokens; ``n_threads`` processor threads (1 for the starter: two are slower on busy cores)."""

    model: Path
    alias: str
    n_ctx: int
    n_threads: int
    n_parallel: int = 1


class ServerProcess:
    """One running server. Make it with ``start``.

    Attributes:
        address: ``http://127.0.0.1:PORT``.
        api_key: drawn at each start, so that no other user of the machine can use the port.
    """

    def __init__(self, config: ServerConfig, process: asyncio.subprocess.Process, api_key: str) -> None:
        self.config = config
        self.address = ""
        self.api_key = api_key
        self._process = process
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._drain = asyncio.create_task(self._drain_log(), name="local-server-log")

    @classmethod
    async def start(cls, config: ServerConfig, *, module: str = _SERVER_MODULE, ready_timeout_s: float = READY_TIMEOUT_S) -> ServerProcess:
        """Start the process and wait until it answers. Cancelling ends the process.

        Raises:
            ProviderError: codes ``server_failed`` (with the reason) and ``server_timeout``.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", module,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**children.environment(), "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        server = cls(config, process, secrets.token_urlsafe(24))
        try:
            async with asyncio.timeout(ready_timeout_s):
                await server._configure()
        except TimeoutError:
            await server.stop()
            raise ProviderError(
                N_("The model {model} was not loaded within {seconds} seconds."),
                code="server_timeout",
                recoverable=True,
                model=config.alias,
                seconds=round(ready_timeout_s),
            ) from None
        except BaseException:
            await server.stop()
            raise
        return server

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def exited_within(self, seconds: float) -> bool:
        """Whether the process has ended, or does so within this time."""
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    @property
    def log(self) -> str:
        """The last lines of the server's log."""
        return "\n".join(self._log)

    async def stop(self) -> None:
        """Close its stdin, which ends it at once; kill it if that does not help."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await asyncio.wait([self._drain], timeout=_DRAIN_S)  # the log's last lines say why it died
        self._drain.cancel()

    async def _configure(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        config = self.config
        message = {
            "model": str(config.model), "alias": config.alias, "n_ctx": config.n_ctx, "n_threads": config.n_threads,
            "n_parallel": config.n_parallel, "api_key": self.api_key,
        }  # fmt: skip
        with contextlib.suppress(ConnectionError):  # a child that died already is reported below
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        line = await self._process.stdout.readline()
        reply = _parse(line)
        if reply.get("event") == "ready":
            self.address = str(reply["address"])
            return
        if not line:
            await self._process.wait()
        reason = str(reply.get("message") or "") or f"exit status {self._process.returncode}"
        raise ProviderError(
            N_("The built-in model server could not load {model}: {reason}"), code="server_failed", model=config.alias, reason=reason
        )

    async def _drain_log(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._log.append(line.decode("utf-8", "replace").rstrip())


def _parse(line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
