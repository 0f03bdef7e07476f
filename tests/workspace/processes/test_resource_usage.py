"""The resource usage of a command: unknown is never reported as zero."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.workspace.processes import resource_usage

pytestmark = pytest.mark.skipif(
    not resource_usage.is_supported(), reason="this system does not tell the children of processes"
)

CANNOT_TELL = [errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EPERM, errno.ENOMEM, errno.EIO]


def test_children(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert child.pid in resource_usage.children_of(os.getpid())
            assert child.pid in resource_usage.descendants(os.getpid())
            assert child.pid in set(resource_usage.children_by_number())
        finally:
            child.kill()
    assert resource_usage.children_of(child.pid) == []


@pytest.mark.parametrize("number", CANNOT_TELL)
def test_unreadable_usage_is_reported(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*_arguments: Any, **_more: Any) -> Any:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", refused)
        with pytest.raises(resource_usage.UnknownError):
            resource_usage.descendants(os.getpid())
    with monkeypatch.context() as patched:
        patched.setattr("builtins.open", refused)
        with pytest.raises(resource_usage.UnknownError):
            resource_usage.descendants(os.getpid())
        with pytest.raises(resource_usage.UnknownError):
            resource_usage.Memory().of([os.getpid()], 0)


def test_a_missing_proc_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_arguments: False)
    assert not resource_usage.is_supported()
    with pytest.raises(resource_usage.UnknownError):
        resource_usage.descendants(os.getpid())


def test_a_process_that_hides_its_open_files_may_hold_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    held = resource_usage.Memory()
    before = held.of([os.getpid()], 0)
    there = resource_usage.shared_memory()
    monkeypatch.setattr(resource_usage, "shared_memory", lambda: there + 10 * 1024**3)
    assert held.of([os.getpid()], 0) < before + 1024**3
    real = os.listdir

    def hidden(path: str) -> list[str]:
        if path.endswith("/fd"):
            raise PermissionError
        return real(path)

    monkeypatch.setattr(os, "listdir", hidden)
    assert held.of([os.getpid()], 0) > 9 * 1024**3


def test_deleted_folders_still_use_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    disks = resource_usage.Disks([str(folder), str(tmp_path), str(tmp_path / "nowhere")])
    assert (disks.low(), disks.became_low()) == ([], False)
    folder.rename(tmp_path / "away")
    monkeypatch.setattr(resource_usage, "LEAST_FREE", sys.maxsize)
    monkeypatch.setattr(resource_usage, "LEAST_SHARE", 1)
    assert (disks.low(), disks.became_low()) == ([str(folder)], True)
    assert resource_usage.Disks([str(tmp_path)]).became_low() is False


def test_pipes_and_sockets_count_as_full_where_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    opens = (
        "import os, socket, sys; held = [socket.socketpair() for _ in range(40)]; pipes = [os.pipe() for _ in "
        "range(10)]"
    )
    line = f"{opens}; os.fork(); os.write(1, b'open\\n'); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert [child.stdout.readline(), child.stdout.readline()] == ["open\n", "open\n"], "two processes share them"
        pids = [child.pid, *resource_usage.children_of(child.pid)]
        few = resource_usage.Memory().of(pids, 0)
        monkeypatch.setattr(resource_usage, "_WORTH_COUNTING", 0)
        many = resource_usage.Memory().of(pids, 0)
        child.communicate("")
    held = 80 * resource_usage.SOCKET_BYTES + 12 * resource_usage.PIPE_BYTES
    assert held <= many - few < held + 40 * resource_usage.PAGE, "each once"
