"""Client and server of the local socket in one loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ConflictError, LimitError, StorageError
from atelier_desk.engine.ipc import server as server_module
from atelier_desk.engine.ipc.address import NOTE, HolderNote, read_note, write_note
from atelier_desk.engine.ipc.client import find_holder
from atelier_desk.engine.ipc.command_line_executor import set_command_handler
from atelier_desk.engine.ipc.protocol import LINE_BYTES, PROTOCOL
from atelier_desk.engine.ipc.remote_terminal import RemoteOutput
from atelier_desk.engine.ipc.resumable_command import Request
from atelier_desk.engine.ipc.server import IpcServer
from atelier_desk.storage.data_folder.datadir import DataDir
from tests.engine.ipc.conftest import RecordingTerminal
from tests.helpers.error_codes import raises_code


async def _greeted(datadir: DataDir) -> Any:
    holder = await find_holder(datadir.root)
    assert holder is not None
    return holder


async def test_a_command_runs_in_the_holder_and_its_output_is_returned(datadir: DataDir) -> None:
    seen: list[Any] = []

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        seen.append((atelier, list(argv), out.cwd, out.json, out.interactive))
        out.write("hé\n")
        out.note("dim note")
        out.note("bad", "error")
        return 4

    set_command_handler(handler)
    engine = object()
    terminal = RecordingTerminal(interactive=True)
    async with IpcServer(engine, datadir):
        holder = await _greeted(datadir)
        assert await holder.run_command(["run", "été"], terminal) == 4
        holder.close()
    assert seen == [(engine, ["run", "été"], "/somewhere", False, True)]
    assert terminal.out == "hé\n"
    assert terminal.notes == [("dim note", "dim"), ("bad", "error")]


async def test_questions_and_standard_input_go_to_the_client(datadir: DataDir) -> None:
    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        out.write(f"{await out.ask('A? ')}|{await out.ask('B? ')}|{await out.read_input()}")
        return 0

    set_command_handler(handler)
    terminal = RecordingTerminal("one", None, interactive=True, stdin="piped\ntext")
    async with IpcServer(None, datadir):
        assert await (await _greeted(datadir)).run_command([], terminal) == 0
    assert terminal.asked == ["A? ", "B? "]
    assert terminal.out == "one|None|piped\ntext"


async def test_long_standard_input_arrives_completely_in_any_script(datadir: DataDir) -> None:
    """Each of these characters takes six bytes on the socket: sent in one line they were refused, and the command
    ended silently.
    """
    text = "日本" * 1_500_000 + "."
    most: list[int] = []

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        return 0 if await out.read_input(limits.MEMORY_FILE) == text else 1

    class Asked(RecordingTerminal):
        async def read_input(self, bytes_read: int = 0) -> str:
            most.append(bytes_read)
            return text

    set_command_handler(handler)
    async with IpcServer(None, datadir):
        holder = await _greeted(datadir)
        assert await holder.run_command([], Asked()) == 0
        holder.close()
    assert most == [limits.MEMORY_FILE]


async def test_too_long_standard_input_ends_the_command_with_an_error(datadir: DataDir) -> None:
    ended = asyncio.Event()

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        try:
            await out.read_input()
        finally:
            ended.set()
        return 0

    class Endless(RecordingTerminal):
        async def read_input(self, most: int = 0) -> str:
            raise LimitError("too long")

    set_command_handler(handler)
    async with IpcServer(None, datadir):
        holder = await _greeted(datadir)
        with pytest.raises(LimitError):
            await holder.run_command([], Endless())
        holder.close()
        await ended.wait()


async def test_a_reply_to_an_abandoned_question_answers_no_other(datadir: DataDir) -> None:
    """What a person typed for one question must never answer the next one."""
    typed: list[asyncio.Future[str]] = []
    asked = asyncio.Event()

    class Typing(RecordingTerminal):
        async def ask(self, prompt: str) -> str | None:
            typed.append(asyncio.get_running_loop().create_future())
            asked.set()
            return await asyncio.shield(typed[-1])

    outputs: list[RemoteOutput] = []

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        outputs.append(out)
        first = asyncio.create_task(out.ask("Delete? "))
        await asked.wait()
        first.cancel()
        asked.clear()
        second = asyncio.create_task(out.ask("Really? "))
        await asked.wait()
        out.answer("late yes", 1)
        assert not second.done()
        typed[1].set_result("no")
        out.write(str(await second))
        return 0

    set_command_handler(handler)
    terminal = Typing(interactive=True)
    async with IpcServer(None, datadir):
        assert await (await _greeted(datadir)).run_command([], terminal) == 0
    assert terminal.out == "no"
    outputs[0].answer("nobody asks")


async def test_a_failing_command_is_reported_and_the_server_continues(datadir: DataDir) -> None:
    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        if argv[0] == "break":
            raise RuntimeError("secret detail")
        return 0

    set_command_handler(handler)
    terminal = RecordingTerminal()
    async with IpcServer(None, datadir):
        assert await (await _greeted(datadir)).run_command(["break"], terminal) == 1
        assert await (await _greeted(datadir)).run_command(["work"], terminal) == 0
    [(text, style)] = terminal.notes
    assert style == "error"
    assert "secret detail" not in text


async def test_cancelling_the_client_cancels_the_command_and_waits_for_its_status(datadir: DataDir) -> None:
    started = asyncio.Event()

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            out.note("saved")
            return 130
        return 0

    set_command_handler(handler)
    terminal = RecordingTerminal()
    async with IpcServer(None, datadir):
        holder = await _greeted(datadir)
        task = asyncio.create_task(holder.run_command(["run"], terminal))
        await started.wait()
        task.cancel()
        assert await task == 130
    assert terminal.notes == [("saved", "dim")]


async def test_a_command_that_does_not_handle_its_cancellation_ends_with_130(datadir: DataDir) -> None:
    started = asyncio.Event()

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        started.set()
        await asyncio.Event().wait()
        return 0

    set_command_handler(handler)
    async with IpcServer(None, datadir):
        holder = await _greeted(datadir)
        task = asyncio.create_task(holder.run_command(["run"], RecordingTerminal()))
        await started.wait()
        task.cancel()
        assert await task == 130


async def test_a_disconnected_client_cancels_its_command(datadir: DataDir) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return 0

    set_command_handler(handler)
    async with IpcServer(None, datadir):
        holder = await _greeted(datadir)
        holder._send({"command": ["run"]})
        await started.wait()
        holder.close()
        await asyncio.wait_for(cancelled.wait(), 5)


async def test_a_holder_that_ends_in_the_middle_is_a_clear_error(datadir: DataDir) -> None:
    started = asyncio.Event()

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        started.set()
        await asyncio.Event().wait()
        return 0

    set_command_handler(handler)
    server = IpcServer(None, datadir)
    await server.start()
    holder = await _greeted(datadir)
    task = asyncio.create_task(holder.run_command(["run"], RecordingTerminal()))
    await started.wait()
    await server.aclose()
    # No status: the client continues with the next holder.
    with raises_code(StorageError, "holder_gone"):
        await task
    assert holder.begun
    assert await find_holder(datadir.root) is None


async def test_a_finished_holder_stays_for_its_clients_and_starts_nothing_new(datadir: DataDir) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        begun.set()
        await go_on.wait()
        out.write("whole")
        return 0

    set_command_handler(handler)
    terminal = RecordingTerminal()
    async with IpcServer(None, datadir) as server:
        early = await _greeted(datadir)
        served = asyncio.create_task((await _greeted(datadir)).run_command(["run"], terminal))
        await begun.wait()
        unused = asyncio.create_task(server.until_unused())
        await asyncio.sleep(0)
        assert not unused.done()
        go_on.set()
        await unused
        assert (await served, terminal.out) == (0, "whole")
        # It was greeted before, and asks later: it gets no answer, and may ask the next holder.
        with pytest.raises(StorageError) as caught:
            await early.run_command(["run"], terminal)
        assert (caught.value.code, early.begun) == ("holder_gone", False)
        assert await find_holder(datadir.root) is None


async def test_a_closing_holder_lets_short_commands_end_and_hands_over_those_that_follow_a_run(
    datadir: DataDir,
) -> None:
    handed_over: list[bool] = []
    listing, saved = asyncio.Event(), asyncio.Event()

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        if argv[0] == "list":
            listing.set()
            # Runs are saved first, while this command may finish.
            await saved.wait()
            return 0
        out.shown("w", "r", 7)
        out.write("an event\n")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            handed_over.append(out.handing_over)
            saved.set()
        return 130

    set_command_handler(handler)
    server = IpcServer(None, datadir)
    await server.start()
    request, terminal = Request(), RecordingTerminal()
    following = asyncio.create_task((await _greeted(datadir)).run_command(["run"], terminal, request))
    await terminal.noted.wait()
    short = asyncio.create_task((await _greeted(datadir)).run_command(["list"], RecordingTerminal()))
    await listing.wait()
    await server.aclose()
    assert await short == 0
    with pytest.raises(StorageError):
        await following
    assert handed_over == [True]
    assert (request.workflow_id, request.run_id, request.seq) == ("w", "r", 7)


async def test_a_command_taken_over_passes_on_what_was_shown(datadir: DataDir) -> None:
    seen: list[Request] = []

    async def handler(atelier: Any, argv: Sequence[str], out: RemoteOutput) -> int:
        seen.append(out.request)
        return 0

    set_command_handler(handler)
    request = Request(again=True, workflow_id="w", run_id="r", seq=7)
    async with IpcServer(None, datadir):
        await (await _greeted(datadir)).run_command(["run"], RecordingTerminal(), request)
    assert seen == [request]


@pytest.mark.parametrize("nonsense", [None, 3, "x", [], {"unknown": 1}])
def test_an_invalid_request_counts_as_a_new_command(nonsense: object) -> None:
    assert Request.from_wire(nonsense).again is False


async def test_the_window_is_raised_only_where_there_is_one(datadir: DataDir) -> None:
    raised: list[bool] = []

    def raise_window() -> bool:
        raised.append(True)
        return True

    async with IpcServer(None, datadir) as server:
        assert await (await _greeted(datadir)).raise_window() is False
        server.on_raise = raise_window
        assert await (await _greeted(datadir)).raise_window() is True
    assert raised == [True]


async def test_the_socket_and_the_address_file_are_private_and_deleted(datadir: DataDir) -> None:
    async with IpcServer(None, datadir):
        mode = Path(datadir.socket).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        assert stat.S_IMODE((datadir.root / NOTE).stat().st_mode) == 0o600
    assert not Path(datadir.socket).exists()
    assert not (datadir.root / NOTE).exists()


async def test_a_stale_socket_is_replaced(datadir: DataDir) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(datadir.socket))
    dead.close()
    write_note(datadir.root, HolderNote(str(datadir.socket), "old", 1, "0.0.1"))
    assert await find_holder(datadir.root) is None
    async with IpcServer(None, datadir):
        assert await find_holder(datadir.root) is not None


async def test_an_active_socket_is_not_replaced(datadir: DataDir) -> None:
    async with IpcServer(None, datadir):
        note = read_note(datadir.root)
        with pytest.raises(ConflictError):
            await IpcServer(None, datadir).start()
        assert read_note(datadir.root) == note


async def test_a_file_at_the_sockets_path_is_named_and_preserved(datadir: DataDir) -> None:
    Path(datadir.socket).write_text("mine")
    with pytest.raises(StorageError) as caught:
        await IpcServer(None, datadir).start()
    assert str(datadir.socket) in str(caught.value)
    assert Path(datadir.socket).read_text() == "mine"


async def test_another_protocol_is_refused_with_a_reason(datadir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    async with IpcServer(None, datadir):
        monkeypatch.setattr(server_module, "PROTOCOL", PROTOCOL + 1)
        with pytest.raises(StorageError) as caught:
            await find_holder(datadir.root)
        assert "another version" in str(caught.value)


async def test_a_wrong_token_is_refused(datadir: DataDir) -> None:
    async with IpcServer(None, datadir):
        note = read_note(datadir.root)
        assert note is not None
        write_note(datadir.root, HolderNote(note.address, "guessed", note.pid, note.version))
        with pytest.raises(StorageError):
            await find_holder(datadir.root)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"not json\n",
        b"[1,2]\n",
        b'"text"\n',
        b"{}\n",
        b"\xff\xfe\n",
        b'{"hello": null}\n',
        b"x" * 100,
        b"[" * 100_000 + b"\n",
    ],
)
async def test_invalid_requests_are_refused_and_others_served(datadir: DataDir, line: bytes) -> None:
    async with IpcServer(None, datadir) as server:
        server.on_raise = lambda: True
        reader, writer = await asyncio.open_unix_connection(str(datadir.socket))
        with contextlib.suppress(ConnectionError):
            writer.write(line)
            writer.write_eof()
            await reader.read()
        writer.close()
        assert await (await _greeted(datadir)).raise_window() is True


async def test_an_unknown_request_is_answered_with_an_error(datadir: DataDir) -> None:
    async with IpcServer(None, datadir):
        note = read_note(datadir.root)
        assert note is not None
        reader, writer = await asyncio.open_unix_connection(note.address, limit=LINE_BYTES)
        writer.write(json.dumps({"hello": PROTOCOL, "token": note.token}).encode() + b"\n")
        assert json.loads(await reader.readline())["hello"] == PROTOCOL
        writer.write(b'{"dance": true}\n')
        assert json.loads(await reader.readline())["error"] == "request"
        writer.close()


async def test_without_a_handler_a_command_is_refused(datadir: DataDir) -> None:
    async with IpcServer(None, datadir):
        holder = await _greeted(datadir)
        with pytest.raises(StorageError):
            await holder.run_command(["run"], RecordingTerminal())
