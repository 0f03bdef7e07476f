"""A server's connection: started on demand, with either protocol version, ended with all child processes; no
server can hang or flood the program.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atelier_desk.domain.mcp import McpServer, McpState
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.mcp import stdio_transport
from atelier_desk.mcp.server_secrets import entry
from atelier_desk.workspace.processes import stdio_process
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.misbehaving_mcp_stdio import ECHO, tool
from tests.mcp.conftest import Make, alive
from tests.mcp.mcp_connections import answer_of, connected, refused


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


async def test_a_server_is_started_on_demand_and_leaves_no_process(plain: Make, clock: ManualClock) -> None:
    server = plain(mode="child")
    async with connected(server.config(), clock) as connection:
        assert (connection.state, server.pids()) == (McpState.IDLE, [])
        assert (await connection.tools(), connection.state) == ([ECHO], McpState.READY)
        assert (await answer_of(connection.call("echo", {"text": "hello"}))).text == "hello"
        started = [*server.pids(), *server.pids("child")]
        assert len(started) == 2
        assert all(map(alive, started))
    assert connection.state is McpState.IDLE
    assert not any(map(alive, started))


async def test_a_byte_order_mark_before_the_first_message_is_ignored(plain: Make, clock: ManualClock) -> None:
    async with connected(plain(mode="byte order mark").config(), clock) as connection:
        connection.mode = "legacy"  # only the first answer matters
        assert await connection.tools() == [ECHO]


async def test_a_server_gets_only_allowed_variables_and_its_own_secrets(
    plain: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN_OF_MINE", "sentinel-of-the-owner")
    vault = KeyVault(session=True)
    vault.store(entry(McpServer(name="plain", command="x"), "env", "API_KEY"), "sentinel-of-this-server")
    server = plain(tools=[tool("environment")])
    config = server.config(env={"API_KEY": "", "MODE": "quick", "WITH": "${MODE}-${ELSE:-else}"})
    async with connected(config, clock, vault) as connection:
        answer = await answer_of(connection.call("environment", {}))
        assert "sentinel-of-the-owner" not in answer.text
        assert '"MODE": "quick"' in answer.text
        # The server had the secret and returned it: it is removed before the text reaches the conversation.
        assert '"API_KEY": "[redacted]"' in answer.text
        assert "sentinel-of-this-server" not in repr(config) + str(connection.reason)


async def test_a_missing_secret_is_reported(plain: Make, clock: ManualClock) -> None:
    async with connected(plain().config(env={"API_KEY": ""}), clock) as connection:
        error = await refused(connection.tools())
        assert error.code == "secret"
        assert "API_KEY" in str(error)
        assert connection.state is McpState.FAILED


async def test_a_server_that_dies_at_its_start_is_reported_with_its_last_output(
    plain: Make, clock: ManualClock
) -> None:
    async with connected(plain(mode="dies").config(), clock) as connection:
        error = await refused(connection.tools())
        assert error.code == "died"
        assert "no licence was found" in str(error)


async def test_a_crashed_server_is_restarted_after_a_pause_and_then_left_alone(plain: Make, clock: ManualClock) -> None:
    server = plain(tools=[ECHO, tool("dies")])
    async with connected(server.config(), clock) as connection:
        assert (await refused(connection.call("dies", {}))).code == "died"
        assert server.notes.count("tools/call") == 1, "what may have reached it is not called again"
        assert connection.state is McpState.FAILED
        again = asyncio.create_task(connection.call("echo", {"text": "again"}))
        await until(lambda: clock.sleepers == 1)
        await clock.advance(connection.restart_s)
        assert (await answer_of(again)).text == "again"
        assert len(server.pids()) == 2
        await connection.close()
        server.say(mode="dies")
        for pause in (0, 0.5, 1):
            failing = asyncio.create_task(connection.tools())
            if pause:
                await until(lambda: clock.sleepers == 1)
                await clock.advance(pause)
            assert (await refused(failing)).code == "died"
        assert (await refused(connection.tools())).code == "circuit_open"
        connection.forgive()
        server.say(mode="")
        assert await connection.tools() == [ECHO, tool("dies")]


async def test_a_server_that_never_answers_is_abandoned_and_ended(plain: Make, clock: ManualClock) -> None:
    server = plain(mode="hangs")
    async with connected(server.config(), clock) as connection:
        connection.start_s = 0.5
        assert (await refused(connection.tools())).code == "timeout"
        assert not any(map(alive, server.pids()))


async def test_a_call_that_times_out_or_is_stopped_leaves_the_server_running(plain: Make, clock: ManualClock) -> None:
    server = plain(tools=[ECHO, tool("waits")])
    async with connected(server.config(), clock) as connection:
        client = await connection.client()
        assert (await refused(connection.request(lambda client: client.call_tool("waits", {}), 0.1))).code == "timeout"
        call = asyncio.create_task(connection.call("waits", {}))
        await until(lambda: server.notes.count("tools/call") == 2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: server.notes.count("notifications/cancelled") == 2)
        assert (await answer_of(connection.call("echo", {"text": "still here"}))).text == "still here"
        assert await connection.client() is client


@pytest.mark.parametrize(("mode", "code"), [("noise", "noise"), ("endless line", "too_large")])
async def test_a_server_that_prints_endlessly_is_ended(
    plain: Make, clock: ManualClock, mode: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_process, "LONGEST_LINE", 1024 * 1024)
    monkeypatch.setattr(stdio_transport, "MOST_NOISE", 100)
    server = plain(mode=mode)
    async with connected(server.config(), clock) as connection:
        assert (await refused(connection.tools())).code == code
        assert not any(map(alive, server.pids()))


async def test_a_huge_answer_a_flood_and_invalid_messages_are_survived(
    plain: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_process, "_WINDOW_S", 0.001)
    monkeypatch.setattr(stdio_process, "LONGEST_LINE", 1024 * 1024)
    server = plain(tools=[tool(name) for name in ("flood", "nonsense", "huge", "fails")])
    async with connected(server.config(), clock) as connection:
        assert (await answer_of(connection.call("flood", {}))).text == "flooded"
        assert (await refused(connection.call("nonsense", {}))).code == "protocol"
        assert (await answer_of(connection.call("fails", {}))).failed
        assert (await refused(connection.call("huge", {}))).code == "too_large"


async def test_an_endless_list_is_cut_off(plain: Make, clock: ManualClock) -> None:
    server = plain(mode="endless list")
    async with connected(server.config(), clock) as connection:
        assert await connection.tools() == [ECHO]
        assert server.notes.count("tools/list") == 50


async def test_pictures_and_progress_arrive(plain: Make, clock: ManualClock) -> None:
    async with connected(plain().config(), clock) as connection:
        told: list[tuple[int, str]] = []
        await connection.call("works", {}, lambda percent, text: told.append((percent, text)))
        assert told == [(25, "first")]
        answer = await answer_of(connection.call("picture", {}))
        assert (answer.text, [each.media_type for each in answer.pictures]) == ("a pixel", ["image/png"])


async def test_a_missing_program_and_a_missing_folder_are_reported(clock: ManualClock, tmp_path: Path) -> None:
    async with connected(McpServer(name="plain", command="no-such-program-here"), clock) as connection:
        assert (await refused(connection.tools())).code == "not_started"
    async with connected(
        McpServer(name="plain", command=sys.executable, folder=str(tmp_path / "gone")), clock
    ) as connection:
        assert "gone" in str(await refused(connection.tools()))


async def test_an_address_where_nothing_answers_is_reported(clock: ManualClock) -> None:
    async with connected(McpServer(name="plain", transport="http", url="http://127.0.0.1:9/mcp"), clock) as connection:
        error = await refused(connection.tools())
        assert (error.code, "nothing answers at this address and port" in str(error)) == ("unreachable", True)
    async with connected(
        McpServer(name="plain", transport="http", url="http://no-such-host.invalid/mcp"), clock
    ) as connection:
        error = await refused(connection.tools())
        assert (error.code, "its host was not found" in str(error)) == ("unreachable", True)


@pytest.mark.skipif(sys.platform != "linux", reason="a killed parent is told to its children on Linux alone")
async def test_no_process_remains_when_the_program_is_killed(plain: Make) -> None:
    server = plain(mode="child")
    command, arguments = server.command
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from atelier_desk.workspace.processes.command_process import Order\n"
        "from atelier_desk.workspace.processes.stdio_process import StdioProcess\n"
        "async def main():\n"
        f"    await StdioProcess.start(Order({command!r}, {(command, *arguments)!r}, Path('/'), {{}}))\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    await until(lambda: bool(server.pids("child")))
    started = [*server.pids(), *server.pids("child")]
    program.kill()
    await program.wait()
    await until(lambda: not any(map(alive, started)))


async def test_an_unresponsive_idle_server_is_noticed_and_a_busy_one_not_pinged(
    plain: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = plain(tools=[ECHO, tool("waits")])
    async with connected(server.config(), clock) as connection:
        await connection.ping()
        assert (connection.state, server.pids()) == (McpState.IDLE, []), "none is started to be asked"
        await connection.tools()
        await connection.ping()
        assert connection.ping_ms >= 1
        assert "ping" in server.notes
        working = asyncio.create_task(connection.call("waits", {}))
        await until(lambda: "tools/call" in server.notes)
        asked = server.notes.count("ping")
        await connection.ping()
        assert server.notes.count("ping") == asked
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        monkeypatch.setattr("atelier_desk.mcp.connection.PING_S", 0.05)
        server.say(answers={"ping": "nothing"})
        for number in (1, 2, 3):
            error = await refused(connection.ping())
            assert (error.code, connection.failures) == ("timeout", number)
            assert connection.reason is error
            assert connection.state is (McpState.FAILED if number == 3 else McpState.READY)
        assert connection.retry_s == 60
        assert not any(map(alive, server.pids()))
        await connection.ping()  # it is not running any more: no ping


async def test_an_answer_clears_the_failure(plain: Make, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    server = plain(answers={"ping": "nothing"})
    async with connected(server.config(), clock) as connection:
        await connection.tools()
        with monkeypatch.context() as patch:
            patch.setattr("atelier_desk.mcp.connection.PING_S", 0.05)
            await refused(connection.ping())
        server.say(answers={})
        await connection.ping()
        assert (connection.failures, connection.reason, connection.state) == (0, None, McpState.READY)


@pytest.mark.parametrize("older", [True, False])
async def test_a_server_with_the_older_protocol_works(older: bool, plain: Make, clock: ManualClock) -> None:
    server = plain()
    async with connected(server.config(older_protocol=older), clock) as connection:
        assert await connection.tools() == [ECHO]
    assert ("server/discover" in server.notes) is not older, "the newest revision is not even asked for"
