"""Files that a command leaves for git are held while it runs, in the background too, and when its launcher is
killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from atelier_desk.tools.shell import command_execution
from atelier_desk.workspace.processes import command_process, sandbox_contents
from atelier_desk.workspace.processes.stdio_process import StdioProcess
from tests.tools.shell.conftest import Bench
from tests.tools.shell.git_file_attacks import (
    BARE,
    EVIL,
    HOOK,
    HOSTILE,
    MODULE,
    OTHER,
    PLAIN,
    Attack,
    Person,
    by_the_tool,
)

pytestmark = pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no sandbox")


@pytest.mark.usefixtures("nothing_is_mounted")
async def test_a_background_command(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = Attack(
        PLAIN,
        "git config core.fsmonitor $CANARY; git init -q lib; git -C lib config core.fsmonitor $CANARY; : >done; cat",
    )
    person = Person(tmp_path / "with", attack)
    (result,) = await by_the_tool(bench, person, monkeypatch, background=True)
    async with asyncio.timeout(30):
        while not (person.root / "done").exists():
            await asyncio.sleep(0.01)
    stopped = await bench.call("command_stop", command_id=result.data["command_id"])
    assert stopped.data["put_back"] == [".git/config"]
    assert stopped.data["held"] == [".git/config", "lib/.git/config"]
    output = await bench.call("command_output", command_id=result.data["command_id"])
    assert output.data["put_back"] == [".git/config"]
    assert person.calls_git() == []


WHILE = {
    "settings": (PLAIN, "git config core.fsmonitor $CANARY", (".",)),
    "a hook": (PLAIN, f"AT=.git/hooks/pre-commit; mkdir -p .git/hooks; {HOOK}", (".",)),
    "commondir": (PLAIN, f"{EVIL}; echo ../evil >.git/commondir", (".",)),
    "HEAD removed": (PLAIN, f"FROM=.git TO=.; {BARE}; rm .git/HEAD", (".",)),
    ".git renamed": (PLAIN, f"mv .git old; FROM=old TO=.; {BARE}", (".",)),
    "a new repository": (PLAIN, "git init -q lib && git -C lib config core.fsmonitor $CANARY", ("lib",)),
    "a new pointer": (PLAIN, f'{OTHER}; mkdir lib; echo "gitdir: ../evil" >lib/.git', ("lib",)),
    "a repository in docs": (PLAIN, f"mkdir docs; FROM=.git TO=docs; {BARE}", ("docs",)),
    "settings of a submodule": (f"{PLAIN}; {MODULE}", "git -C lib config core.fsmonitor $CANARY", (".", "lib")),
    "a link": (f"{PLAIN}; {HOSTILE}", "mv src old; ln -s vendor src", ("src",)),
    "a file that settings include": (
        f"{PLAIN}; git config include.path ../team; echo >team",
        'printf "[core]\\nfsmonitor = $CANARY\\n" >team',
        (".",),
    ),
}
"""The state before, what a background command does before it waits, and where its owner runs git meanwhile."""


@pytest.fixture
def checked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_execution, "CHECK_S", 0.05)


@pytest.mark.usefixtures("nothing_is_mounted", "checked_at_once")
@pytest.mark.parametrize("name", WHILE)
async def test_nothing_runs_while_a_command_continues(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    setup, step, visits = WHILE[name]
    alone = Person(tmp_path / "alone", Attack(setup, step, visits))
    alone.sh(f"CANARY={alone.canary}; {step}", alone.root)
    assert alone.calls_git(), "the attack itself"
    person = Person(tmp_path / "with", Attack(setup, f"{step}; : >done; cat", visits))
    (result,) = await by_the_tool(bench, person, monkeypatch, background=True)
    (command,) = bench.services.commands.of("") if bench.services.commands else []
    async with asyncio.timeout(30):
        while not (person.root / "done").exists():
            await asyncio.sleep(0.01)
        for count in (1, 2):
            # The check that reported the first one may have started before; the one that reports the second
            # started after it.
            while [each["path"] for each in command.process.so_far().held].count(".git/hooks") < count:
                with contextlib.suppress(OSError):
                    (person.root / f".git/hooks/marker-{count}").touch()
                await asyncio.sleep(0.01)
    output = await bench.call("command_output", command_id=result.data["command_id"])
    assert output.data["held"]
    assert command.process.running
    assert person.calls_git() == []
    stopped = await bench.call("command_stop", command_id=result.data["command_id"])
    assert "not_restored" not in stopped.data
    assert stopped.data["held"]
    assert person.calls_git() == []


@pytest.mark.usefixtures("nothing_is_mounted")
@pytest.mark.parametrize("first_ends", [True, False])
async def test_two_commands_at_once(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_ends: bool
) -> None:
    attack = Attack(
        f"{PLAIN}; git config core.hooksPath .githooks; mkdir .githooks",
        (
            f"git config core.fsmonitor $CANARY; git init -q lib; git -C lib config core.fsmonitor $CANARY; {OTHER}; "
            f"mkdir l; "
            f'echo "gitdir: ../evil" >l/.git; AT=.githooks/pre-commit; {HOOK}; echo begun; cat',
            "echo begun; cat",
        ),
        ("lib", "l", "."),
    )
    person = Person(tmp_path / "with", attack)
    results = await by_the_tool(bench, person, monkeypatch, background=True)
    ids = [result.data["command_id"] for result in results]
    for command_id in ids if first_ends else ids[::-1]:
        assert "not_restored" not in (await bench.call("command_stop", command_id=command_id)).data
    assert person.calls_git() == []
    person.sh("git config --unset core.hooksPath; ! git config core.fsmonitor", person.root)


async def test_a_command_with_too_much_to_guard_is_not_started(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(tmp_path / "with", Attack(f"{PLAIN}; truncate -s 9M .git/hooks/huge", "touch made"))
    (result,) = await by_the_tool(bench, person, monkeypatch)
    assert result.data["exit_status"] == 126
    assert "hooks and settings" in result.data["output"]
    assert "larger than 8 MB" in result.data["output"]
    assert not (person.root / "made").exists()


async def test_files_are_held_although_the_launcher_was_killed(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(
        tmp_path / "with", Attack(PLAIN, "git init -q lib; git -C lib config core.fsmonitor $CANARY; echo $$; cat")
    )
    (result,) = await by_the_tool(bench, person, monkeypatch, background=True)
    (command,) = bench.services.commands.of("") if bench.services.commands else []
    async with asyncio.timeout(30):
        while not command.process.output.size:
            await asyncio.sleep(0.01)
    (child,) = psutil.Process(command.process.pid).children()
    os.kill(command.process.pid, signal.SIGKILL)
    assert await command.process.wait(20)
    output = await bench.call("command_output", command_id=result.data["command_id"])
    assert "was not checked" in output.data["note"]
    assert isinstance(command.process.guarded, command_process.Guarded)
    psutil.wait_procs([child], timeout=20)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


async def test_a_server_in_the_sandbox(tmp_path: Path) -> None:
    person = Person(tmp_path / "with", Attack(PLAIN, ""))
    box = sandbox_contents.working([person.root], tmp_path / "tmp", held=tmp_path / "held")
    line = f"git init -q lib; git -C lib config core.fsmonitor {person.canary}; echo done; cat"
    program = await StdioProcess.start(
        command_process.Order("/bin/sh", ("sh", "-c", line), person.root, person.environment, sandbox=box)
    )
    assert [said async for said in first(program.lines())] == [b"done"]
    await program.end()
    assert [each["path"] for each in program.guarded.held] == ["lib/.git/config"]
    assert "lib/.git/config" not in program.guarded.put_back
    assert str(tmp_path / "held") in program.guarded.text


async def first(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for line in lines:
        yield line
        return
