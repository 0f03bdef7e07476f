"""Atelier's side of the processes in which users' tool files run: start one, wait for its answer, end it and all that it started.

A worker has a session of its own, so that one signal reaches everything a tool started. It is asked to end and killed
``TOOL_ENDS_S`` later; what a call started ends with the call. A worker whose Atelier was killed ends by itself (see
``atelier_desk.tools.own.worker``).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, ToolError, UsageError
from atelier_desk.domain.limits import TOOL_ENDS_S
from atelier_desk.i18n import N_
from atelier_desk.logs import redact
from atelier_desk.support.worker import environment as children
from atelier_desk.tools.own.files import ToolFile

log = logging.getLogger(__name__)

WORKERS = 16
"""Most processes at once, each some 35 MB; more calls wait for one to end."""
FINISH_S = 1.0
"""What a worker has after its answer to write what it still holds; threads that a tool left behind do not keep it longer."""
MOST_ANSWER = 4 * limits.RESULT_STORED
"""Bytes of one answer; the worker cuts results to ``limits.RESULT_STORED`` bytes itself."""
_PRINTED = 16 * 1024
"""Bytes of what a tool printed last that are kept for the log."""
_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""For Windows, which knows no sessions."""

Progress = Callable[[int, str], None]


class ToolProcesses:
    """The workers of one open Atelier."""

    def __init__(self, most: int = WORKERS) -> None:
        self._free = asyncio.Semaphore(most)
        self._working: set[_Worker] = set()

    @property
    def pids(self) -> list[int]:
        """The workers that are alive now."""
        return [worker.pid for worker in self._working]

    async def describe(self, file: ToolFile) -> list[dict[str, Any]]:
        """Run the file and give its tools as ``worker.describe`` writes them. Cancelling ends the process.

        Raises:
            UsageError: what is wrong with the file.
        """
        async with self._worker(file) as worker:
            kind, content = await worker.ask({"do": "describe", "file": _order(file)}, lambda percent, text: None)
        if kind == "tools":
            return list(content)
        if kind == "refused":
            raise _rebuilt(file, content)
        raise UsageError(N_("The file {name} cannot be run: {reason}"), name=file.name, reason=content["reason"])

    async def call(
        self, file: ToolFile, tool: str, arguments: dict[str, Any], context: dict[str, Any], progress: Progress
    ) -> tuple[str, dict[str, Any]]:
        """Make one call: ``("result", …)`` or ``("ask", …)`` as ``worker`` writes them. Cancelling ends the process and all it started.

        Raises:
            ToolError: the function failed, in words for the model: type, message and line.
            AtelierError: what the function, or the check of its arguments, raised.
        """
        order = {"do": "call", "file": _order(file), "tool": tool, "arguments": arguments, "context": context}
        async with self._worker(file) as worker:
            kind, content = await worker.ask(order, progress)
        if kind == "refused":
            raise _rebuilt(file, content)
        if kind == "failed":
            log.warning("tool %s failed: %s\n%s", tool, content["reason"], content.get("trace", ""))
            reason = redact(str(content["reason"]))[:500]
            raise ToolError(f"{tool} failed: {reason}. Try other arguments or go on without it.", code="internal_error")
        return kind, content

    async def aclose(self) -> None:
        """End every worker."""
        await asyncio.gather(*(worker.end(at_once=False) for worker in list(self._working)))

    @contextlib.asynccontextmanager
    async def _worker(self, file: ToolFile) -> AsyncIterator[_Worker]:
        async with self._free:
            worker = await _Worker.start(file.name)
            self._working.add(worker)
            try:
                yield worker
                await worker.finish()
            finally:
                try:
                    await worker.end(at_once=worker.answered)
                finally:
                    self._working.discard(worker)
                    worker.close()


class _Worker(asyncio.SubprocessProtocol):
    """One process: its answer, its end, and the last of what it printed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._transport: asyncio.SubprocessTransport
        self._buffer = bytearray()
        self._printed = bytearray()
        self._progress: Progress = lambda percent, text: None
        self._answer: asyncio.Future[tuple[str, Any]] = asyncio.get_running_loop().create_future()
        self._exited = asyncio.Event()

    @classmethod
    async def start(cls, name: str) -> _Worker:
        _transport, worker = await asyncio.get_running_loop().subprocess_exec(
            lambda: cls(name),
            *(sys.executable, "-P", "-m", "atelier_desk.tools.own.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=children.environment(),
            start_new_session=True,
            creationflags=_NEW_GROUP,
        )
        return worker

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def answered(self) -> bool:
        return self._answer.done() and not self._answer.cancelled()

    async def ask(self, order: dict[str, Any], progress: Progress) -> tuple[str, Any]:
        """Send the order and wait for the answer; a process that ends without one has ``failed``."""
        self._progress = progress
        pipe = self._transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.write(json.dumps(order).encode() + b"\n")
        return await self._answer

    async def finish(self) -> None:
        """Let it end by itself after its answer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINISH_S):
                await self._exited.wait()

    async def end(self, *, at_once: bool) -> None:
        """End the process and what it started; returns when it is gone."""
        try:
            if not at_once and not self._exited.is_set():
                self._signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TOOL_ENDS_S):
                        await self._exited.wait()
        finally:
            self._kill()
        await self._exited.wait()

    def close(self) -> None:
        """Let go of its pipes and log what it printed."""
        self._transport.close()
        if self._printed:
            log.info("tool file %s printed: %s", self._name, self._printed.decode("utf-8", "replace").rstrip())

    # -- the protocol of asyncio -----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._printed += data
            del self._printed[:-_PRINTED]
            return
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = rest
        for line in lines:
            self._received(line)
        if len(rest) > MOST_ANSWER:
            self._failed("its answer is too long")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1 and self._exited.is_set():
            self._failed(self._ending())

    def process_exited(self) -> None:
        self._exited.set()
        pipe = self._transport.get_pipe_transport(1)
        if pipe is None or pipe.is_closing():
            self._failed(self._ending())

    def _received(self, line: bytearray) -> None:
        try:
            ((kind, content),) = json.loads(line).items()
        except (ValueError, AttributeError):
            return self._failed("its answer is damaged")
        if kind == "progress":
            self._progress(*content)
        elif not self._answer.done():
            self._answer.set_result((kind, content))
        return None

    def _failed(self, reason: str) -> None:
        if not self._answer.done():
            self._answer.set_result(("failed", {"reason": reason}))

    def _ending(self) -> str:
        status = self._transport.get_returncode()
        how = f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"
        return f"it ended its process before it was done ({how})"

    # -- ending ----------------------------------------------------------------------------------------------------------------------

    def _signal(self, number: int) -> None:
        """To the process and everything it started that is still in its session."""
        if sys.platform == "win32":
            # There is nothing gentle to ask of a process without a window.
            return self._kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        return None

    def _kill(self) -> None:
        if sys.platform == "win32":
            if not self._exited.is_set():
                subprocess.run(["taskkill", "/F", "/T", "/PID", str(self.pid)], capture_output=True, check=False)
        else:
            self._signal(signal.SIGKILL)


def _order(file: ToolFile) -> dict[str, str]:
    return {"name": file.name, "path": str(file.path), "sha256": file.sha256, "data": base64.b64encode(file.data).decode()}


def _rebuilt(file: ToolFile, content: dict[str, Any]) -> AtelierError:
    if content["trace"]:
        log.warning("tool file %s failed\n%s", file.name, content["trace"])
    error = UsageError(content["template"], code=content["code"])
    error.params = {name: redact(value) for name, value in content["params"].items()}
    return error
