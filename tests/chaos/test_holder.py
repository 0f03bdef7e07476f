"""Thirty commands at once over one data folder: all succeed, and with the holder ended in the middle nothing is lost or
done twice.

``ATELIER_COMMANDS`` sets another number. After them what concerns two commands alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.many import RUN, Answering, add_server, all_but_the_killed_succeed, all_succeed, listed, start

COMMANDS = int(os.environ.get("ATELIER_COMMANDS", "30"))


async def test_commands_started_at_once_all_succeed(tmp_path: Path) -> None:
    await all_succeed(tmp_path, COMMANDS)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_when_the_holder_ends_the_others_continue_where_they_were(tmp_path: Path, number: signal.Signals) -> None:
    await all_but_the_killed_succeed(tmp_path, COMMANDS, number)


async def test_a_holder_that_is_done_stays_for_those_it_serves(tmp_path: Path) -> None:
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
        # Its own command is done; it serves the others, and new ones too.
        assert len(await listed(tmp_path)) == 2
        assert json.loads((tmp_path / "holder.json").read_text())["pid"] == first.process.pid
        assert first.process.returncode is None
        server.open()
        assert (await second.end()).is_whole()
        assert (await first.end()).is_whole()


async def test_an_ending_holder_hands_over_while_a_model_hangs(tmp_path: Path) -> None:
    """It ends in time with its own status; the client takes its run up, and says the rest of it."""
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
        assert ended.is_whole(), ended
        statuses = [event["status"] for event in ended.events if event["chunk_type"] == "run_status"]
        assert statuses == ["processing", "interrupted", "processing", "completed"]
        assert "Continuing without it" in ended.err
