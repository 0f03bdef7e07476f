"""The server process: it answers, reports why it cannot, and never outlives its parent."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.local.model_files import packaged_starter
from atelier_desk.llm.local.server_lifecycle import ServerConfig, ServerProcess
from tests.helpers.error_codes import raises_code

PARENT = """
import asyncio, sys
from pathlib import Path
from atelier_desk.llm.local.server_lifecycle import ServerConfig, ServerProcess

async def main():
    server = await ServerProcess.start(ServerConfig(Path(sys.argv[1]), "starter", 512, 1))
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def starter(n_ctx: int = 512) -> ServerConfig:
    path = packaged_starter()
    assert path is not None
    return ServerConfig(path, "starter", n_ctx, 1)


@pytest.mark.model
async def test_it_answers_on_loopback_and_ends_when_stopped() -> None:
    server = await ServerProcess.start(starter())
    child = psutil.Process(server.pid)
    assert server.address.startswith("http://127.0.0.1:")
    assert server.alive
    await server.stop()
    assert not server.alive
    assert not child.is_running()


@pytest.mark.model
def test_it_ends_when_its_parent_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(packaged_starter())], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.send_signal(signal.SIGKILL)
    parent.wait(10)
    parent.stdout.close()
    with contextlib.suppress(psutil.NoSuchProcess):
        child.wait(10)
    assert not child.is_running()


async def test_a_file_it_cannot_load_is_an_error_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"nothing")
    with raises_code(ProviderError, "server_failed") as caught:
        await ServerProcess.start(ServerConfig(path, "bad", 512, 1))
    assert "bad" in str(caught.value)


async def test_a_process_that_dies_at_once_is_an_error() -> None:
    with raises_code(ProviderError, "server_failed") as caught:
        await ServerProcess.start(starter(), module="atelier_desk.llm.local.no_such_module")
    assert "exit status 1" in str(caught.value)


async def test_a_process_that_never_answers_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "silent.py").write_text("import sys\nsys.stdin.read()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with raises_code(ProviderError, "server_timeout") as caught:
        await ServerProcess.start(starter(), module="silent", ready_timeout_s=0.5)
    assert caught.value.recoverable


async def test_cancelling_the_start_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "pid"
    os.mkfifo(mark)
    (tmp_path / "silent.py").write_text(
        f"import os, sys\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\nsys.stdin.read()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    task = asyncio.create_task(ServerProcess.start(starter(), module="silent"))
    pid = int(await asyncio.to_thread(mark.read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(pid)


async def test_the_log_stores_the_last_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chatty.py").write_text(
        "import sys\nfrom atelier_desk.support.worker.child import serve\n"
        "serve(lambda *_: [print('line', n, file=sys.stderr) for n in range(100)] and 'http://127.0.0.1:1')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = await ServerProcess.start(starter(), module="chatty")
    await server.stop()
    assert "line 99" in server.log
    assert "line 0\n" not in server.log
