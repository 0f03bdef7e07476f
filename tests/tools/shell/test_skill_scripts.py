"""Scripts of skills: run like any command, and readable in the sandbox only once the skill is in use."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from atelier_desk.domain.skill import SkillUse
from atelier_desk.tools.base import Effect
from atelier_desk.tools.shell.command_execution import CommandPlace, boxed, commands_of
from atelier_desk.workspace.processes import sandbox_contents, seatbelt
from atelier_desk.workspace.processes.command_process import Order
from tests.tools.shell.conftest import Bench


@pytest.mark.skipif(not sandbox_contents.available(), reason="commands cannot be confined here")
async def test_a_script_is_readable_once_its_skill_is_in_use(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("ann")
    monkeypatch.setattr(Path, "home", lambda: home)
    folder = home / ".claude/skills/notes"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text("echo from the skill; echo no > mine.txt; echo no > $(dirname $0)/theirs.txt")
    (home / ".claude/settings.json").write_text("secret")
    line = f"sh {folder}/run.sh; cat {home}/.claude/settings.json"

    async def said(*skills: SkillUse) -> str:
        context = replace(bench.context, skills=skills)
        return str((await bench.call("run_command", context, command=line, modifies_files=True)).data["output"])

    assert "from the skill" not in await said()
    shown = await said(SkillUse(name="notes", folder=str(folder)))
    assert "from the skill" in shown
    assert "secret" not in shown
    assert (bench.root / "mine.txt").exists(), "it does in the workspace what a command may"
    assert not (folder / "theirs.txt").exists(), "a skill's own files are not written"


def test_a_script_needs_approval_like_any_command(bench: Bench) -> None:
    call = bench.call_of("sh /home/ann/.claude/skills/notes/run.sh")
    assert call.effect is Effect.EXECUTE


@pytest.mark.skipif(not sandbox_contents.available(), reason="commands cannot be confined here")
async def test_a_link_in_place_of_a_skill_opens_nothing(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.path.realpath(tmp_path_factory.mktemp("ann")))
    monkeypatch.setattr(Path, "home", lambda: home)
    (home / ".ssh").mkdir()
    (home / ".ssh/id").write_text("the key")
    folder = Path(os.path.realpath(bench.root)) / "skills/mine"
    folder.mkdir(parents=True)
    context = replace(bench.context, skills=(SkillUse(name="mine", folder=str(folder)),), roots=(bench.root,))
    swap = f"rmdir skills/mine; ln -s {home}/.ssh skills/mine"
    await bench.call("run_command", context, command=swap, modifies_files=True)
    assert folder.is_symlink()
    result = await bench.call(
        "run_command", context, command="sh -c 'cat skills/mine/id'; echo over", modifies_files=True
    )
    shown = str(result.data["output"])
    assert "over" in shown
    assert "the key" not in shown
    assert context.readable == (bench.root,), "nor do the file tools read what it leads to"


async def test_a_command_starts_in_a_sandbox_that_is_a_profile(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_contents, "available", lambda: True)
    monkeypatch.setattr(seatbelt, "available", lambda: True)
    place = CommandPlace(bench.root, bench.root, (bench.root,))
    order = boxed(Order("true", ("true",), bench.root, {}), "workspace", place, commands_of(bench.services), "w")
    assert order.sandbox is not None
    assert "(deny default)" in order.sandbox["profile"]
