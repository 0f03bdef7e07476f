"""The parent's side of a child process that answers requests.

The process leads its own session, so that one signal reaches all its children; they end with it, however it
ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any

from atelier_desk.support.worker.environment import reader_environment
from atelier_desk.support.worker.errors import CannotStart, Ended, Failed
from atelier_desk.support.worker.frames import HEAD, Reply, packed

LIMIT_S = 25.0
"""Seconds after which ``ask_once`` ends a process."""
MOST = 256 << 20
"""Bytes of an answer: a process taken over by a malicious file may write endlessly."""
PRINTED = 16 * 1024
"""Bytes of a process's latest output that are stored."""
_BUFFER = 1 << 20
_POLL_S = 0.1
"""Seconds between two checks whether a thread's work was stopped."""
_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""For Windows, which has no sessions and may open a console window."""


class Worker:
    """One process, created by ``start``. It handles one request at a time; others wait."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: _Pipes, most: int) -> None:
        self._transport = transport
        self._pipes = pipes
        self._most = most
        self._turn = asyncio.Lock()
        self._number = 0
        self._head: tuple[int, int] | None = None
        """Lengths of a frame that is partly read, when its reader was cancelled."""

    @classmethod
    async def start(
        cls, module: str, *, env: Mapping[str, str] | None = None, most: int = MOST, pass_fds: tuple[int, ...] = ()
    ) -> Worker:
        """Start ``python -P -m module`` and wait until it accepts requests. Cancelling ends it.

        Args:
            env: environment variables, made by ``environment``; the default has no keys.
            most: maximum bytes of one answer.
            pass_fds: further inherited descriptors; not on Windows.

        Raises:
            CannotStart: with the last line of its output.
        """
        given = dict(env) if env is not None else reader_environment()
        try:
            transport, pipes = await asyncio.get_running_loop().subprocess_exec(
                _Pipes, *_command(module), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=given, start_new_session=True, creationflags=_FLAGS, pass_fds=pass_fds,
            )  # fmt: skip
        except OSError as error:
            raise CannotStart(f"its process could not be started: {error}") from error
        worker = cls(transport, pipes, most)
        try:
            await worker._frame()
        except Ended as error:
            last = worker.printed.strip().rpartition("\n")[2]
            raise CannotStart(f"{error}: {last}" if last else str(error)) from error
        except BaseException:
            await worker.end()
            raise
        return worker

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    @property
    def alive(self) -> bool:
        return not self._pipes.exited.is_set()

    @property
    def printed(self) -> str:
        """The end of its standard output and standard error."""
        return self._pipes.printed.decode("utf-8", "replace")

    async def ask(
        self,
        request: object,
        data: bytes = b"",
        *,
        silent_s: float | None = None,
        told: Callable[[Any], None] = lambda _value: None,
    ) -> Reply:
        """Send a request and return its answer. After cancelling, the rest of the answer is ignored.

        Args:
            told: receives the values sent before the answer.
            silent_s: seconds without output after which the process is ended.

        Raises:
            Ended, Failed
        """
        async with aclosing(self.replies(request, data, silent_s=silent_s)) as replies:
            async for done, reply in replies:
                if done:
                    return reply
                told(reply.value)
        raise AssertionError("the last reply is the answer")

    async def replies(
        self, request: object, data: bytes = b"", *, silent_s: float | None = None
    ) -> AsyncGenerator[tuple[bool, Reply], None]:
        """Values sent by the process, each with whether it is the answer. See ``ask``."""
        async with self._turn:
            self._number += 1
            number, done = self._number, False
            self._write(packed(number, "ask", Reply(request, data)))
            while not done:
                try:
                    async with asyncio.timeout(silent_s):
                        kind, reply = await self._answer(number)
                except TimeoutError:
                    await self.end()
                    raise Ended("timeout") from None
                if kind == "memory":
                    raise await self._over("memory")
                if kind == "failed":
                    raise reply.value
                done = kind == "done"
                yield done, reply

    async def exited_within(self, seconds: float) -> bool:
        """Whether the process has ended, or ends within so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._pipes.exited.wait()
        return not self.alive

    async def end(self, *, gently_s: float = 0) -> None:
        """End the process and its children; returns when they are gone.

        With ``gently_s`` it is asked to end first, and has so many seconds.
        """
        try:
            if gently_s and self.alive and sys.platform != "win32":  # Windows cannot ask it
                _signal(self.pid, gently=True)
                await self.exited_within(gently_s)
        finally:
            if self.alive:
                _signal(self.pid)
        try:
            await self._pipes.exited.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):  # its last output may still arrive
                    await self._pipes.printed_all.wait()
        finally:
            self._transport.close()

    def _write(self, frame: bytes) -> None:
        pipe = self._transport.get_pipe_transport(0)
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(frame)  # the frame is sent completely even when its caller is cancelled

    async def _answer(self, number: int) -> tuple[str, Reply]:
        while True:
            its, kind, reply = await self._frame()
            if its == number:
                return kind, reply

    async def _frame(self) -> tuple[int, str, Reply]:
        stream = self._pipes.stdout
        assert stream is not None
        try:
            if self._head is None:
                self._head = HEAD.unpack(await stream.readexactly(HEAD.size))
            if sum(self._head) > self._most:
                raise await self._over("too_long")
            whole = await stream.readexactly(sum(self._head))
            length, self._head = self._head[0], None
            number, kind, value = json.loads(whole[:length])
            if kind == "failed":
                value = Failed(**value)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise await self._over() from None
        except (ValueError, TypeError, RecursionError):
            raise await self._over("damaged") from None
        return number, kind, Reply(value, whole[length:])

    async def _over(self, code: str = "") -> Ended:
        """End the process; the reason why it did not answer."""
        if not code:
            await self.exited_within(_POLL_S)
        await self.end()
        status = self._transport.get_returncode() or 0
        if status == -getattr(signal, "SIGXCPU", 0):
            code = code or "timeout"
        return Ended(code or ("signal" if status < 0 else "exit"), abs(status))


class _Pipes(asyncio.subprocess.SubprocessStreamProtocol):
    """Provides answers as a stream, the latest output, and the process's end.

    Children left behind do not delay the end.
    """

    def __init__(self) -> None:
        super().__init__(limit=_BUFFER, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()
        self.printed = bytearray()
        self.printed_all = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._process = transport

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        if fd == 2 and isinstance(data, bytes):
            self.printed += data
            del self.printed[:-PRINTED]
        else:
            super().pipe_data_received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 2:
            self.printed_all.set()
        super().pipe_connection_lost(fd, exc)

    def process_exited(self) -> None:
        if sys.platform != "win32":
            _signal(self._process.get_pid())  # its children; the process id cannot be reused yet
        self.exited.set()
        super().process_exited()
        asyncio.get_running_loop().call_later(_POLL_S, self._abandon)

    def _abandon(self, read: bool = False) -> None:
        """End the stream of answers if a detached child keeps it open.

        The process's own output has arrived by then: a pipe read at two checks is empty.
        """
        pipe = self._process.get_pipe_transport(1)
        if not isinstance(pipe, asyncio.ReadTransport) or pipe.is_closing():
            return
        if read and pipe.is_reading():
            pipe.close()
        else:
            asyncio.get_running_loop().call_later(_POLL_S, self._abandon, pipe.is_reading())


async def ask_once(
    module: str,
    request: object,
    data: bytes = b"",
    *,
    limit_s: float | None = LIMIT_S,
    env: Mapping[str, str] | None = None,
    pass_fds: tuple[int, ...] = (),
    told: Callable[[Any], None] = lambda _value: None,
) -> Reply:
    """Start a process for one request.

    It ends afterwards, after ``limit_s`` seconds, or when cancelled. ``told`` as in ``Worker.ask``.

    Raises:
        CannotStart, Ended, Failed
    """
    try:
        async with asyncio.timeout(limit_s):
            worker = await Worker.start(module, env=env, pass_fds=pass_fds)
            try:
                return await worker.ask(request, data, told=told)
            finally:
                await worker.end()
    except TimeoutError:
        raise Ended("timeout") from None


def ask_in_thread(
    module: str, request: object, data: bytes = b"", *, limit_s: float = LIMIT_S, stopped: Callable[[], object] = bool
) -> Reply:
    """``ask_once`` for a thread: blocks. The process also ends when ``stopped`` returns true.

    Raises:
        CannotStart, Ended, Failed
    """

    async def asked() -> Reply:
        asking = asyncio.ensure_future(ask_once(module, request, data, limit_s=limit_s))
        while not asking.done() and not stopped():
            await asyncio.wait([asking], timeout=_POLL_S)
        if not asking.done():
            asking.cancel()
            await asyncio.wait([asking])
            raise Ended("timeout")
        return asking.result()

    return asyncio.run(asked())


def _command(module: str) -> tuple[str, ...]:
    # -P for the frozen program too, which has no separate Python.
    return (sys.executable, "-P", "-m", module)


def _signal(pid: int, *, gently: bool = False) -> None:
    """Send a signal to a process and to everything in its session."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True, check=False)
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGTERM if gently else signal.SIGKILL)
