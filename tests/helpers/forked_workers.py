"""Python programs as forks of one process that has imported the program: importing takes more processor time than most
of them need for their work, a fork a few milliseconds.

    python -m tests.helpers.forked_workers SOCKET READY

closes the descriptor ``READY`` when it has imported the program, reads requests from the socket and forks a process for
each. The process becomes a child of the one that asked, which waits for it as for any other. Until then the programs
are started as usual, so that no test waits for the imports; and always except on Linux, which alone has what this needs
(``PR_SET_CHILD_SUBREAPER``).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
FORKS = sys.platform == "linux"
IMPORTED = (
    "atelier_desk.cli",
    "atelier_desk.engine.atelier",
    "atelier_desk.engine.gateways",
    "atelier_desk.engine.projects",
    "atelier_desk.engine.run",
    "atelier_desk.engine.runs",
    "atelier_desk.engine.services",
    "atelier_desk.knowledge.memory_search",
    "atelier_desk.llm",
    "atelier_desk.media.picture_conversion_process",
    "atelier_desk.storage",
    "atelier_desk.tools",
    "atelier_desk.web.page_to_markdown_process",
    "atelier_desk.workspace.documents",
    "tests.engine.conftest",
)
"""What most forks use; they import the rest themselves. Qt cannot be forked."""
STARTED = ("atelier_desk.desktop", "atelier_desk.llm", "atelier_desk.support")
"""Parts whose own child processes are started as usual: what matters about them is the start, or they need Qt."""
_PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""
ABOVE = 500
"""Descriptors from here on are only used between a fork and its program."""
_asks = threading.Lock()
_start = subprocess.Popen._execute_child  # type: ignore[attr-defined]


class ForkedWorker(subprocess.Popen[Any]):
    """A command ``[sys.executable, "-m", module, …]``, forked; also with ``-u`` for output without a buffer. Its output
    is always a pipe.
    """

    stdout: IO[Any]

    def _execute_child(self, *given: Any, **named: Any) -> None:
        (_fork if _ready() else _start)(self, *given, **named)


def start(module: str, *arguments: str) -> ForkedWorker:
    """Run a module as the main program of a new process, with this process's environment."""
    # Without a buffer ``communicate`` returns what no line that was read before has kept back.
    return ForkedWorker(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, bufsize=0, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def forking() -> contextlib.AbstractContextManager[None]:
    """Inside, the child processes that answer requests (``support.worker``) are forked."""

    def execute_child(process: subprocess.Popen[Any], args: Any, *given: Any, **named: Any) -> None:
        (_fork if _answers_requests(args) and _ready() else _start)(process, args, *given, **named)

    return _starting_by(execute_child)


def starting() -> contextlib.AbstractContextManager[None]:
    """Inside ``forking``, they are started by their command again."""
    return _starting_by(_start)


@contextlib.contextmanager
def _starting_by(way: Any) -> Iterator[None]:
    before = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    subprocess.Popen._execute_child = way  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess.Popen._execute_child = before  # type: ignore[attr-defined]


def _answers_requests(args: Any) -> bool:
    """Whether it is a command of ``support.worker.requests_to_child`` for a module that may be forked."""
    if not isinstance(args, list | tuple) or list(args[:3]) != [sys.executable, "-P", "-m"]:
        return False
    return str(args[3]).startswith("atelier_desk.") and not str(args[3]).startswith(STARTED)


@functools.cache
def _server() -> tuple[socket.socket, int]:
    """Start the process that forks; it ends when this one does. Returns its socket, and what it closes when ready."""
    (ours, its), (ready, closed) = socket.socketpair(), os.pipe()
    with its:
        passed = (its.fileno(), closed)
        command = [sys.executable, "-m", "tests.helpers.forked_workers", *map(str, passed)]
        subprocess.Popen(command, cwd=ROOT, pass_fds=passed, stdin=subprocess.DEVNULL)
    os.close(closed)
    return ours, ready


def _ready() -> bool:
    """Whether a process can be forked now; the first time, the process that forks is started."""
    return FORKS and bool(select.select([_server()[1]], [], [], 0)[0])


def _fork(process: Any, *given: Any, **named: Any) -> None:
    """What ``Popen._execute_child`` does, for a command ``python [-P] -m module …``."""
    said = inspect.signature(_start).bind(process, *given, **named).arguments
    arguments = list(said["args"])
    pipes = said["p2cread"], said["c2pwrite"], said["errwrite"]
    descriptors = [number if pipe == -1 else pipe for number, pipe in enumerate(pipes)] + list(said["pass_fds"])
    request = json.dumps(
        {
            "arguments": arguments[arguments.index("-m") + 1 :],
            "environment": dict(os.environ if said["env"] is None else said["env"]),
            "folder": os.fspath(said["cwd"] or Path.cwd()),
            "session": said["start_new_session"],
            "unbuffered": "-u" in arguments[: arguments.index("-m")],
            "inherited": list(said["pass_fds"]),
        }
    ).encode()
    with _asks:
        _adopt_orphans(True)
        try:
            answer = b""
            with contextlib.suppress(ConnectionError):
                server, _closed = _server()
                socket.send_fds(server, [len(request).to_bytes(4, "big")], descriptors)
                server.sendall(request)
                answer = server.recv(4, socket.MSG_WAITALL)
            if len(answer) < 4:
                raise RuntimeError("the process that forks has ended")
            process.pid = int.from_bytes(answer, "big")
        except BaseException:
            _server.cache_clear()  # its answer would be taken for that to the next request
            raise
        finally:
            _adopt_orphans(False)
    process._child_created = True
    process._close_pipe_fds(
        said["p2cread"], said["p2cwrite"], said["c2pread"], said["c2pwrite"], said["errread"], said["errwrite"]
    )


def _adopt_orphans(whether: bool) -> None:
    """Whether a process whose parent ends becomes a child of this one."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(whether))


def _import_most() -> None:
    for name in IMPORTED:
        package = importlib.import_module(name)
        for each in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            with contextlib.suppress(ImportError):  # parts that need what is not installed
                importlib.import_module(each.name)


def _become(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """In the fork: run the module."""
    import fcntl  # not on Windows

    if request["session"]:
        os.setsid()
    above = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, ABOVE) for descriptor in descriptors]
    os.closerange(3, ABOVE)
    for number, descriptor in zip((0, 1, 2, *request["inherited"]), above, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a program started under nohup would ignore it
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1 if request["unbuffered"] else -1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.argv = request["arguments"]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def serve(requests: socket.socket, ready: int) -> None:
    """Fork until the other end of the socket is closed; returns in the forks, too.

    Raises:
        OSError, RuntimeError: a process could not be forked. The other end is told by the end of this process.
    """
    _import_most()
    os.close(ready)
    gc.freeze()  # collections in the forks would copy what they look at
    while True:
        head, given, _flags, _address = socket.recv_fds(requests, 4, 16)
        if not head:
            return
        request = json.loads(requests.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
        (born, bears), (adopted, adopts) = os.pipe(), os.pipe()
        between = os.fork()
        if between == 0:
            # Its child is an orphan as soon as this process ends, and runs when it has its new parent.
            pid = os.fork()
            if pid != 0:
                os.write(bears, str(pid).encode())
                os._exit(0)
            os.close(adopts)
            os.read(adopted, 1)
            _become(request, given)
            return
        os.close(bears)
        os.waitpid(between, 0)
        if not (said := os.read(born, 20)):
            raise RuntimeError("no process was forked")
        requests.sendall(int(said).to_bytes(4, "big"))
        for each in (born, adopted, adopts, *given):
            os.close(each)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
