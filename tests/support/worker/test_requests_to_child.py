"""Requests to child processes: three kinds of errors are distinguished, and children always end."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.support.worker import requests_to_child
from atelier_desk.support.worker.environment import environment
from atelier_desk.support.worker.errors import CannotStart, Ended, Failed, WorkerError
from atelier_desk.support.worker.frames import Reply
from atelier_desk.support.worker.requests_to_child import Worker, ask_in_thread, ask_once
from tests.helpers.error_codes import raises_code
from tests.helpers.user_tool_files import gone, until

HEAD = """
import os, signal, subprocess, sys, time
from pathlib import Path
from atelier_desk.support.worker.child import serve
from atelier_desk.support.worker.errors import Refused
from atelier_desk.support.worker.frames import HEAD, Reply

"""
ECHO = """
def answer(request, data, tell):
    print("to the screen")
    for each in range(request.get("tell", 0)):
        tell(each)
    if "eval" in request:
        eval(request["eval"])
    if "raise" in request:
        errors = {"value": ValueError("wrong"), "refused": Refused("past_end", total=3), "exit": SystemExit(4)}
        raise errors[request["raise"]]
    return Reply({"heard": request, "read": sys.stdin.read()}, data[::-1])
"""
Make = Callable[..., tuple[str, dict[str, str]]]


def written(text: str) -> str:
    """A worker that writes a frame with this text, bypassing the protocol."""
    return f"os.write(4, HEAD.pack({len(text)}, 0) + {text.encode()!r}) and time.sleep(600)"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A module with this text: its name, and an environment in which it is found."""

    def made(text: str = HEAD + ECHO + "serve(answer)", name: str = "served") -> tuple[str, dict[str, str]]:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        return name, environment()

    return made


async def test_values_and_bytes_go_both_ways_whatever_is_printed_or_read(module: Make) -> None:
    name, env = module()
    worker = await Worker.start(name, env=env)
    received: list[Any] = []
    try:
        large = os.urandom(3 << 20)
        reply = await worker.ask({"tell": 3, "text": "é\ud83d"}, large, told=received.append)
        assert (reply.value["read"], reply.data == large[::-1], received) == ("", True, [0, 1, 2])
        both = await asyncio.gather(*(worker.ask({"n": n}) for n in range(2)))
        assert [each.value["heard"]["n"] for each in both] == [0, 1]
        await until(lambda: worker.printed.count("to the screen") == 3)
    finally:
        await worker.end()
    assert gone(worker.pid)


@pytest.mark.parametrize(
    ("request_", "kind", "code", "words"),
    [
        ({"raise": "value"}, Failed, "failed", "ValueError: wrong"),
        ({"raise": "refused"}, Failed, "past_end", "past_end"),
        ({"raise": "exit"}, Failed, "failed", "SystemExit: 4"),
        ({"eval": "os._exit(3)"}, Ended, "exit", "exit status 3"),
        ({"eval": "os.kill(os.getpid(), signal.SIGTERM)"}, Ended, "signal", "signal 15"),
        ({"eval": "bytearray(1 << 60)"}, Ended, "memory", "too much memory"),
        ({"eval": "time.sleep(600)"}, Ended, "timeout", "too long"),
        *(
            ({"eval": written(text)}, Ended, "damaged", "damaged")
            for text in ("[5]", "{]", "[" * 90_000, '[1, "failed", [[[]]]]', "5")
        ),
        ({"eval": "os.write(4, b'x' * 100) and time.sleep(600)"}, Ended, "too_long", "too long"),
    ],
)
async def test_kinds_of_errors_are_distinguished(
    module: Make, request_: dict[str, Any], kind: type[WorkerError], code: str, words: str
) -> None:
    name, env = module(HEAD + "os.dup2(1, 4)\n" + ECHO + "serve(answer)")
    worker = await Worker.start(name, env=env, most=1_000_000)
    try:
        with raises_code(kind, code, match=words) as caught:
            await worker.ask(request_, silent_s=1.5 if code == "timeout" else 60)
        assert worker.alive == (kind is Failed)
        if isinstance(caught.value, Failed):
            assert caught.value.params == ({"total": 3} if code == "past_end" else {})
            assert ("raise errors[" in caught.value.trace) == (code == "failed")
            assert (await worker.ask({"again": 1})).value["heard"] == {"again": 1}
    finally:
        await worker.end()


@pytest.mark.parametrize("text", ["raise ImportError('this installation is broken')", "import os; os._exit(5)"])
async def test_a_worker_that_ends_before_its_first_request_could_not_start(module: Make, text: str) -> None:
    name, env = module(text)
    with pytest.raises(CannotStart, match="this installation is broken" if "raise" in text else "exit status 5"):
        await Worker.start(name, env=env)


async def test_a_missing_interpreter_could_not_start(module: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(CannotStart, match="could not be started"):
        await ask_once("any", None)


async def test_a_cancelled_request_does_not_receive_the_next_answer(module: Make, tmp_path: Path) -> None:
    name, env = module()
    worker = await Worker.start(name, env=env)
    try:
        started_at, go = tmp_path / "begun", tmp_path / "go"
        waits = f"Path({str(started_at)!r}).touch() or [0 for _ in iter(lambda: Path({str(go)!r}).exists(), True)]"
        first = asyncio.create_task(worker.ask({"eval": waits, "n": 1, "tell": 2}))
        await until(started_at.exists)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go.touch()
        assert (await worker.ask({"n": 2})).value["heard"] == {"n": 2}
    finally:
        await worker.end()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
@pytest.mark.parametrize(
    ("code", "action"), [("memory", "bytearray(400 << 20)"), ("timeout", "any(0 for _ in iter(int, 1))")]
)
async def test_the_system_ends_a_worker_that_exceeds_its_limits(module: Make, code: str, action: str) -> None:
    name, env = module(HEAD + ECHO + "serve(answer, memory=300 << 20, cpu_s=1)")
    with raises_code(Ended, code):
        await ask_once(name, {"eval": action}, env=env)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no sessions")
@pytest.mark.parametrize("how", ["answer", "die", "cancel"])
async def test_processes_started_by_a_worker_end_with_it(module: Make, tmp_path: Path, how: str) -> None:
    name, env = module()
    note = tmp_path / "pid"
    new = str(note) + ".new"
    started = (
        f"Path({new!r}).write_text(str(subprocess.Popen(['sleep', '600']).pid)) and os.rename({new!r}, {str(note)!r})"
    )
    after = {"die": "os._exit(1)", "cancel": "time.sleep(600)"}.get(how, "None")
    asking = asyncio.create_task(ask_once(name, {"eval": f"{started} or {after}"}, env=env))
    await until(note.exists)
    if how == "cancel":
        asking.cancel()
    await asyncio.wait([asking])
    found = asyncio.CancelledError() if asking.cancelled() else asking.exception() or asking.result()
    assert type(found) is {"answer": Reply, "die": Ended, "cancel": asyncio.CancelledError}[how]
    child = int(note.read_text())
    await until(lambda: gone(child))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no sessions")
async def test_a_detached_process_with_the_workers_pipe_open_delays_nothing(module: Make, tmp_path: Path) -> None:
    name, env = module(HEAD + "os.dup2(1, 4)\n" + ECHO + "serve(answer)")
    worker = await Worker.start(name, env=env)
    note = tmp_path / "pid"
    left = (
        f"Path({str(note)!r}).write_text(str(subprocess.Popen(['sleep', '60'], start_new_session=True, "
        f"pass_fds=(4,)).pid))"
    )
    asking = asyncio.create_task(worker.ask({"eval": f"{left} and os._exit(7)"}))
    try:
        await asyncio.wait([asking], timeout=30)
        assert asking.done()
        with pytest.raises(Ended, match="exit status 7"):
            await asking
    finally:
        asking.cancel()
        await worker.end()
        os.kill(int(note.read_text()), 9)


@pytest.mark.skipif(sys.platform == "win32", reason="reads a pipe by its number")
async def test_replies_sent_before_the_end_are_received_however_late_they_are_read(module: Make) -> None:
    name, env = module()
    worker = await Worker.start(name, env=env)
    try:
        received: list[int] = []
        asking = worker.replies({"tell": 3, "eval": "list(map(tell, ['x' * 1000] * 6000)) and os._exit(0)"})
        with pytest.raises(Ended, match="exit status 0"):
            async for _done, reply in asking:
                if not received:
                    await worker.exited_within(0.5)  # it cannot end while the pipe is full and nobody reads
                received.append(len(str(reply.value)))
        assert len(received) == 6003
    finally:
        await worker.end()


PARENT = """
import asyncio, os, sys
from atelier_desk.support.worker.environment import environment
from atelier_desk.support.worker.frames import Reply
from atelier_desk.support.worker.requests_to_child import Worker

async def main():
    worker = await Worker.start(sys.argv[1], env=environment())
    print(worker.pid, flush=True)
    await worker.ask({"eval": sys.argv[2]})

asyncio.run(main())
"""


@pytest.mark.parametrize("action", ["time.sleep(600)", "__import__('re').match(r'(a+)+$', 'a' * 60 + 'b')"])
async def test_a_worker_does_not_outlive_a_killed_program_even_with_blocked_threads(module: Make, action: str) -> None:
    name, env = module()
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, name, action, env=env, stdout=asyncio.subprocess.PIPE
    )
    assert program.stdout is not None
    pid = int(await program.stdout.readline())
    program.kill()
    await program.wait()
    await until(lambda: gone(pid))


PAGE = ("atelier_desk.web.page_to_markdown_process", ("http://a.org/", "text/plain", "utf-8"))


def test_a_thread_receives_the_answer_and_large_files_are_sent_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests_to_child, "_POLL_S", 0.01)  # checked before anything was read; a pipe holds 64 KB
    page = b"word " * 400_000
    assert ask_in_thread(*PAGE, page, limit_s=60).value["total"] == 2_000_000
    for options in ({"stopped": lambda: True}, {"limit_s": 0.01}):
        with raises_code(Ended, "timeout"):
            ask_in_thread(*PAGE, page, **options)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_process_left_behind_delays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests_to_child, "_command", lambda _module: ("sh", "-c", "sleep 600 & exit 0"))
    started_at = time.monotonic()
    with pytest.raises(CannotStart, match="exit status 0"):
        ask_in_thread(*PAGE, b"x" * 1_000_000, limit_s=60)
    assert time.monotonic() - started_at < 30
