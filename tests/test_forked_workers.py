"""A process that cannot be forked is an error, not one that has the id 0."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.helpers import forked_workers
from tests.helpers.forked_workers import ROOT

pytestmark = pytest.mark.skipif(not forked_workers.FORKS, reason="processes are forked on Linux only")
FAILING = """
import os, socket, sys
from tests.helpers import forked_workers

def fork():
    if not left:
        raise BlockingIOError("no more processes")
    return left.pop()()

left = [os.fork] * int(sys.argv[3])
os.fork, forked_workers.IMPORTED = fork, ()
forked_workers.serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
"""
"""The process that forks; its third argument is how often it can."""


@pytest.fixture
def forks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    (ours, its), (ready, closed) = socket.socketpair(), os.pipe()
    passed = (its.fileno(), closed)
    words = [sys.executable, "-c", FAILING, *map(str, (*passed, request.param))]
    with (
        ours,
        its,
        subprocess.Popen(words, cwd=ROOT, pass_fds=passed, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process,
    ):
        its.close()
        os.close(closed)
        os.read(ready, 1)
        ours.settimeout(30)
        monkeypatch.setattr(forked_workers, "_server", functools.cache(lambda: (ours, ready)))
        yield process
        process.kill()
    os.close(ready)


@pytest.mark.parametrize("forks", [0, 1], ids=["first fork", "second fork"], indirect=True)
def test_a_failed_fork_ends_the_process_that_forks_and_is_an_error(forks: subprocess.Popen[bytes]) -> None:
    with pytest.raises(RuntimeError, match="the process that forks has ended"):
        forked_workers.start("tests.helpers.forked_workers")
    assert b"no more processes" in forks.communicate(timeout=30)[1]
    assert forks.returncode == 1


@pytest.mark.parametrize("forks", [0], indirect=True)
def test_a_process_that_forks_and_has_ended_is_replaced(forks: subprocess.Popen[bytes]) -> None:
    server: functools._lru_cache_wrapper[object] = forked_workers._server
    assert forked_workers._ready()
    forks.kill()
    forks.wait()
    with pytest.raises(RuntimeError, match="the process that forks has ended"):
        forked_workers.start("tests.helpers.forked_workers")
    assert server.cache_info().currsize == 0
