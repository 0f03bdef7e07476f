"""Thirty commands at once in one data folder: all succeed, and when the process holding the folder ends, nothing
is lost or done twice.

``ATELIER_COMMANDS`` sets another number. The other tests use two commands.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.parallel_commands import (
    RUN,
    Answering,
    add_server,
    all_but_the_killed_succeed,
    all_succeed,
    listed,
    start,
)

COMMANDS = int(os.environ.get("ATELIER_COMMANDS", "30"))


async def test_commands_started_at_once_all_succeed(tmp_path: Path) -> None:
    await all_succeed(tmp_path, COMMANDS)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_when_the_holder_ends_the_others_continue(tmp_path: Path, number: signal.Signals) -> None:
    await all_but_the_killed_succeed(tmp_path, COMMANDS, number)


async def test_a_finished_holder_stays_for_its_clients(tmp_path: Path) -> None:
    async with Answering() as server:
        await add_server(tmp_path, server)
        first = await start(tmp_path, "run", "first", *RUN)
        await server.until_asked(1)
        held, server.gate = server.gate, None
        assert held is not None
        server.gate = type(held)()
        second = await start(tmp_path, "run", "second", *RUN)
        await server.until_asked(2)
        held.set()
        while {each["name"]: each["status"] for each in await listed(tmp_path)}["first"] != "completed":
            await asyncio.sleep(0.05)
        # Its own command has finished; it serves the others, and new ones too.
        assert len(await listed(tmp_path)) == 2
        assert json.loads((tmp_path / "holder.json").read_text())["pid"] == first.process.pid
        assert first.process.returncode is None
        server.open()
        assert (await second.end()).is_complete()
        assert (await first.end()).is_complete()


async def test_an_ending_holder_hands_over_while_a_model_hangs(tmp_path: Path) -> None:
    """It ends in time with its own status; the client takes over its run and prints the rest."""
    async with Answering() as server:
        await add_server(tmp_path, server)
        first = await start(tmp_path, "run", "first", *RUN)
        await server.until_asked(1)
        second = await start(tmp_path, "run", "second", *RUN)
        await server.until_asked(2)
        first.process.send_signal(signal.SIGTERM)
        assert (await first.end()).status == 130
        server.open()
        ended = await second.end()
        assert ended.is_complete(), ended
        statuses = [event["status"] for event in ended.events if event["chunk_type"] == "run_status"]
        assert statuses == ["processing", "interrupted", "processing", "completed"]
        assert "Continuing without it" in ended.err
