"""Workers as forks of one process that has imported the program: importing takes more processor time than most workers
need for their work, a fork a few milliseconds.

    python -m tests.chaos.forked_workers SOCKET

reads requests from the socket and forks a process for each. It is the only process that may wait for them, so it
writes their exit status into a pipe.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Self

import atelier_desk

ROOT = Path(__file__).resolve().parents[2]
_asks = threading.Lock()


class ForkedWorker:
    """What tests use of ``subprocess.Popen``, for a worker: ``stdout`` is a pipe."""

    def __init__(self, pid: int, stdout: IO[bytes], stderr: IO[bytes], status: IO[bytes]) -> None:
        self.pid, self.stdout = pid, stdout
        self.returncode: int | None = None
        self._stderr, self._status, self._waits = stderr, status, threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if not self.stdout.closed:
            self.communicate()

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        with self._waits:
            if self.returncode is None:
                self.returncode = os.waitstatus_to_exitcode(int(self._status.read()))
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[bytes, bytes]:
        """The rest of the output, and the errors; waits for the end."""
        with self.stdout, self._stderr, self._status:
            try:
                output = self.stdout.read()
                self.wait()
            except BaseException:
                self.kill()
                raise
            self._stderr.seek(0)
            return output, self._stderr.read()


@functools.cache
def _server() -> socket.socket:
    """Start the process that forks; it ends when this one does."""
    ours, its = socket.socketpair()
    with its:
        command = [sys.executable, "-m", "tests.chaos.forked_workers", str(its.fileno())]
        subprocess.Popen(command, cwd=ROOT, pass_fds=[its.fileno()])
    return ours


def start(module: str, *arguments: str) -> ForkedWorker:
    """Run a module as the main program of a new process, with this process's environment."""
    server = _server()
    request = json.dumps({"module": module, "arguments": arguments, "environment": dict(os.environ)}).encode()
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by communicate
    (output, its_output), (status, its_status) = os.pipe(), os.pipe()
    with _asks:
        socket.send_fds(server, [len(request).to_bytes(4, "big")], [its_output, errors.fileno(), its_status])
        server.sendall(request)
        pid = int.from_bytes(server.recv(4, socket.MSG_WAITALL), "big")
    for each in (its_output, its_status):
        os.close(each)
    return ForkedWorker(pid, os.fdopen(output, "rb"), errors, os.fdopen(status, "rb"))


def _import_all() -> None:
    """Import every module of the program that workers may use."""
    for each in pkgutil.walk_packages(atelier_desk.__path__, "atelier_desk."):
        if not each.name.startswith(("atelier_desk.desktop", "atelier_desk.cli", "atelier_desk.__main__")):
            with contextlib.suppress(ImportError):  # parts that need what is not installed
                importlib.import_module(each.name)


def _become(request: dict[str, object], output: int, errors: int) -> None:
    """In the fork: run the module."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    sys.argv = [str(request["module"]), *request["arguments"]]  # type: ignore[misc]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def serve(requests: socket.socket) -> None:
    """Fork until the other end of the socket is closed."""
    _import_all()
    gc.freeze()  # collections in the forks would copy what they look at
    running: dict[int, int] = {}
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    sources: list[socket.socket | int] = [requests, woken]
    while True:
        ready = select.select(sources, [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            for pid in list(running):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    with contextlib.suppress(BrokenPipeError):  # its test failed and waits no longer
                        os.write(running[pid], str(status).encode())
                    os.close(running.pop(pid))
        if requests in ready:
            head, given, _flags, _address = socket.recv_fds(requests, 4, 3)
            if not head:
                return
            request = json.loads(requests.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
            output, errors, status = given
            pid = os.fork()
            if pid == 0:
                requests.close()
                os.close(status)
                for each in running.values():
                    os.close(each)
                _become(request, output, errors)
                sys.stdout.flush()
                return
            running[pid] = status
            os.close(output)
            os.close(errors)
            requests.sendall(pid.to_bytes(4, "big"))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
