"""Many commands at once in one data folder, as separate processes, with one model server on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Reply

ROOT = Path(__file__).resolve().parents[2]
KEY = "k" * 24
RUN = ("--provider", "server", "--model", "m", "--tool-dialect", "native", "--json")


class Answering(FakeOpenAI):
    """Gives every request the same answer; while there is a ``gate``, only its first word."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: asyncio.Event | None = asyncio.Event()

    def next_step(self) -> Reply:
        return (
            Reply(text="All is well.", pieces=3, hold_after=2, gate=self.gate)
            if self.gate is not None
            else Reply(text="All is well.")
        )

    def open(self) -> None:
        """Let every request get the complete answer from now on."""
        if self.gate is not None:
            self.gate.set()
            self.gate = None

    async def until_asked(self, times: int) -> None:
        """Wait until this number of answers was requested."""
        while len(self.of("/v1/chat/completions")) < times:
            await asyncio.sleep(0.05)


@dataclass
class Ended:
    """Exit status and output of a finished command."""

    status: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def is_complete(self) -> bool:
        """Whether it completed and its durable events arrived exactly once and in order, whichever process sent
        them.
        """
        seqs = [event["seq"] for event in self.events if event["durable"]]
        last = self.events[-1] if self.events else {}
        return self.status == 0 and seqs == list(range(1, len(seqs) + 1)) and last.get("status") == "completed"


class Command:
    """A command line in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._ended = asyncio.create_task(self._end())

    async def _end(self) -> Ended:
        out, err = await self.process.communicate()
        return Ended(self.process.returncode or 0, out.decode(), err.decode())

    async def end(self) -> Ended:
        return await self._ended


async def start(data: Path, *argv: str) -> Command:
    env = {**os.environ, "SERVER_KEY": KEY}
    return Command(
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "atelier_desk", "--data-dir", str(data), *argv,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=env,
            cwd=ROOT,
        )
    )  # fmt: skip


async def add_server(data: Path, server: Answering) -> None:
    options = ("--kind", "openai", "--base-url", server.url, "--api-key-env", "SERVER_KEY")
    assert (await (await start(data, "providers", "add", "server", *options)).end()).status == 0


async def start_many(data: Path, count: int) -> list[Command]:
    return [await start(data, "run", f"prompt {number}", *RUN) for number in range(count)]


def holder_of(data: Path, commands: list[Command]) -> Command:
    """The command that holds the data folder now."""
    pid = json.loads((data / "holder.json").read_text())["pid"]
    return next(command for command in commands if command.process.pid == pid)


async def listed(data: Path) -> list[dict[str, Any]]:
    return list(json.loads((await (await start(data, "workflows", "list", "--json")).end()).out))


async def all_succeed(data: Path, count: int) -> None:
    """Start ``count`` commands at once: each completes, and did its task once."""
    async with Answering() as server:
        await add_server(data, server)
        server.open()
        commands = await start_many(data, count)
        ended = [await command.end() for command in commands]
        assert [each for each in ended if not each.is_complete()] == []
        workflows = await listed(data)
    assert sorted(each["name"] for each in workflows) == sorted(f"prompt {number}" for number in range(count))
    assert {each["status"] for each in workflows} == {"completed"}


async def all_but_the_killed_succeed(data: Path, count: int, number: signal.Signals) -> None:
    """The holder is ended in the middle of all answers. The others complete; ``resume`` finds its own run."""
    async with Answering() as server:
        await add_server(data, server)
        commands = await start_many(data, count)
        # The maximum number of parallel runs: the holder's own and two of others.
        await server.until_asked(3)
        holder = holder_of(data, commands)
        holder.process.send_signal(number)
        assert (await holder.end()).status == (130 if number == signal.SIGTERM else -number)
        server.open()
        ended = [await command.end() for command in commands if command is not holder]
        assert [each for each in ended if not each.is_complete()] == []
        workflows = await listed(data)
        assert sorted(each["name"] for each in workflows) == sorted(f"prompt {number}" for number in range(count))
        states = sorted(each["status"] for each in workflows)
        assert states == ["completed"] * (count - 1) + ["interrupted"]
        resumed = await (await start(data, "resume", "--json")).end()
        assert resumed.status == 0, resumed.err
        assert {each["status"] for each in await listed(data)} == {"completed"}
