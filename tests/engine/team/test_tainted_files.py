"""A file written after reading outside content is marked: a reader in another workflow counts as having read
outside content, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine import Atelier
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.engine.conftest import Opener
from tests.engine.team.conftest import Cast, call, lead
from tests.engine.team.taint_scenario import OUTSIDE, Sends, finish, sends, waiting

TOOLS = (
    "Sends", "read_file", "write_file", "edit_file", "copy_file", "move_file", "delete_path", "search_files",
    "list_directory",
    "glob_files", "run_command", "git_diff", "activate_skill", "list_commands", "keep",
)  # fmt: skip
LEAD = lead(approval="selective", tools=TOOLS)
SECRET = "the sum is 42"


def run(command: str, **more: Any) -> ToolCall:
    return call("run_command", command, command=command, modifies_files=True, **more)


WRITES: dict[str, tuple[ToolCall, ...]] = {
    "write": (call("write_file", "w", path="notes.md", content=SECRET),),
    "edit": (call("edit_file", "w", path="clean.md", old_string="clean", new_string=SECRET),),
    "overwrite": (call("write_file", "w", path="clean.md", content=SECRET),),
    "redirect": (run(f"echo {SECRET} > notes.md"),),
    "append": (run(f"echo {SECRET} >> clean.md"),),
    "program": (run(f"python3 -c \"open('notes.md', 'w').write('{SECRET}')\""),),
    "ignored": (run(f"python3 -c \"open('build/notes.md', 'w').write('{SECRET}')\""),),
    "hidden": (run(f"mkdir .cache && echo {SECRET} > .cache/notes.md"),),
    "large": (run(f"python3 -c \"open('notes.md', 'w').write('{SECRET}' + ' ' * 3_000_000)\""),),
    "renamed folder": (run(f"mkdir one && echo {SECRET} > one/notes.md"), run("mv one build/two")),
    "old times": (run(f"echo {SECRET} > notes.md && touch -d 2001-01-01 notes.md"),),
    "failed": (run(f"python3 -c \"open('notes.md', 'w').write('{SECRET}'); raise SystemExit(3)\""),),
}
"""Ways to write what was read; the resulting file is found by searching."""
READS: dict[str, tuple[ToolCall, ...]] = {
    "read": (call("read_file", "r", path="notes.md"),),
    "absolute": (call("read_file", "r", path="{root}/notes.md"),),
    "link": (call("read_file", "r", path="link.md"),),
    "search": (call("search_files", "r", pattern="sum"),),
    "search file": (call("search_files", "r", pattern="sum", path="notes.md"),),
    "cat": (run("cat notes.md"),),
    "cat cd": (run("cd sub && cat ../notes.md"),),
    "cat cwd": (run("cat ../notes.md", cwd="sub"),),
    "pattern": (run("cat n*.md"),),
    "grep -r": (run("grep -r sum ."),),
    "rg": (run("rg sum"),),
    "input": (run("head -1 < notes.md"),),
    "program": (run("python3 -c \"print(open('no'+'tes.md').read())\""),),
    "make": (run("make show"),),
    "background": (run("make show", background=True),),
    "substitution": (run('echo "$(cat notes.md)"'),),
    "diff": (run("diff clean.md notes.md"),),
    "git diff": (call("git_diff", "r"),),
    "git status -v": (run("git status -v"),),
    "git show": (run("git show HEAD"),),
    "copy": (call("copy_file", "r", source="notes.md", destination="copy.md"),),
    "copy, read": (run("cp notes.md copy.md"), call("read_file", "r", path="copy.md")),
    "edit": (call("edit_file", "r", path="notes.md", old_string="sum", new_string="SUM"),),
}
QUIET: dict[str, tuple[ToolCall, ...]] = {
    "another file": (call("read_file", "r", path="clean.md"),),
    "names": (
        call("list_directory", "r", path="."),
        call("glob_files", "r", pattern="*.md"),
        run("ls -l"),
        run("find . -name '*.md'"),
    ),
    "other matches": (call("search_files", "r", pattern="clean"),),
    "cat another": (run("cat clean.md | head -1"),),
    "state": (run("git status"), run("git branch"), run("pwd")),
    "counting": (run("wc -l notes.md"),),
    "delete": (call("delete_path", "r", path="notes.md"),),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "build").mkdir()
    (folder / "clean.md").write_text("clean\n")
    (folder / ".gitignore").write_text("build/\n")
    (folder / "Makefile").write_text("show:\n\t@cat notes.md\n")
    (folder / "link.md").symlink_to("notes.md")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder))
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    return folder


class Team:
    """One data folder and a folder to work in; each turn is in a new workflow."""

    def __init__(self, atelier: Atelier, cast: Cast, root: Path) -> None:
        self.atelier, self.root, self._cast = atelier, root, cast

    async def turn(self, *calls: ToolCall) -> list[tuple[str, str, str]]:
        """Which agents need approval at the end of a turn with these calls, made one after another."""
        placed = [each.model_copy(update={"arguments": json.loads(json.dumps(each.arguments).replace("{root}",
        str(self.root)))})
                  for each in calls]  # fmt: skip
        self._cast.models["Lead"] = ScriptedModel([*([each] for each in placed), "Done."])
        workflow = await self.atelier.workflows.create(workspace=(str(self.root),))
        run_id = await self.atelier.runs.send(workflow.id, "Work.", agent=LEAD)
        await self.atelier.runs.wait(run_id)
        while other := [
            each
            for each in await self.atelier.approvals.pending()
            if each.reason in ("unparsed", "opaque", "protected")
        ]:
            await self.atelier.approvals.approve(other[0].id)
            await self.atelier.runs.wait(run_id)
        asked = await waiting(self.atelier)
        await finish(self.atelier)
        return asked

    async def reads(self, *calls: ToolCall) -> str:
        """The text of the approval when a turn sends something out after these calls; empty where none is needed."""
        asked = await self.turn(*calls, sends("later", "other.example"))
        assert [(who, why) for who, why, _about in asked] in ([], [("Lead", "tainted")]), asked
        return asked[0][2] if asked else ""


@pytest.fixture
async def team(open_atelier: Opener, root: Path) -> AsyncIterator[Team]:
    cast = Cast(Lead=[])
    async with open_atelier(cast) as atelier:
        await prepare(atelier, root)
        yield Team(atelier, cast, root)


async def prepare(atelier: Atelier, root: Path) -> None:
    atelier.registry.register(Sends())
    for text in TOOLS:
        await atelier.permissions.add(PermissionRule(text=text, action=Action.ALLOW))
    await atelier.files.trust(str(root), True)


@pytest.mark.parametrize("way", WRITES)
async def test_the_file_is_marked_however_it_was_written(team: Team, way: str) -> None:
    assert await team.turn(sends(), *WRITES[way]) == []
    holding = [
        path for path in team.root.rglob("*") if path.is_file() and not path.is_symlink() and ".git" not in path.parts
    ]
    holding = [path for path in holding if SECRET in path.read_text()]
    assert len(holding) == 1
    marked = {mark.path: mark.sources for mark in await team.atelier.files.marked([str(team.root)])}
    assert marked == {str(holding[0]): (OUTSIDE,)}
    assert await team.reads(call("read_file", "r", path=str(holding[0]))) == OUTSIDE


async def test_the_reader_is_tainted_however_it_was_read(team: Team) -> None:
    told = {}
    for way, calls in READS.items():
        if not (team.root / "notes.md").exists() or (team.root / "notes.md").read_text() != SECRET:
            assert await team.turn(sends(), call("write_file", "w", path="notes.md", content=SECRET)) == []
        told[way] = await team.reads(*calls)
    assert told == dict.fromkeys(READS, OUTSIDE)


async def test_calls_that_reveal_nothing_of_a_marked_file_need_no_approval(team: Team) -> None:
    assert await team.turn(sends(), call("write_file", "w", path="notes.md", content=SECRET)) == []
    assert {way: await team.reads(*calls) for way, calls in QUIET.items()} == dict.fromkeys(QUIET, "")


async def test_files_written_before_anything_was_read_are_not_marked(team: Team) -> None:
    assert (
        await team.turn(call("write_file", "w", path="notes.md", content="mine"), run("touch other.md"), sends()) == []
    )
    assert await team.atelier.files.marked() == []


async def test_a_mark_follows_the_file_and_its_copies(team: Team) -> None:
    first = call("write_file", "w", path="notes.md", content=SECRET)
    await team.turn(sends(), first)
    await team.turn(call("move_file", "m", source="notes.md", destination="sub/moved.md"))
    await team.turn(call("copy_file", "c", source="sub", destination="other"))
    await team.turn(run("mv other/moved.md build/again.md"))
    marked = [mark.path for mark in await team.atelier.files.marked([str(team.root)])]
    assert marked == [str(team.root / "build/again.md"), str(team.root / "sub/moved.md")]


async def test_an_agents_edit_keeps_the_mark_and_a_persons_removes_it(team: Team) -> None:
    await team.turn(sends(), call("write_file", "w", path="notes.md", content=SECRET))
    edit = call("edit_file", "e", path="notes.md", old_string="42", new_string="43")
    await team.turn(edit)
    read = call("read_file", "r", path="notes.md")
    assert await team.reads(read) == OUTSIDE
    (team.root / "notes.md").write_text("I wrote this.")
    assert await team.reads(read) == ""
    (team.root / "notes.md").write_text(SECRET)  # the content is what was written then
    assert await team.reads(read) == OUTSIDE


async def test_a_file_marked_as_read_is_like_any_other_until_it_is_rewritten(team: Team) -> None:
    write, read = call("write_file", "w", path="notes.md", content=SECRET), call("read_file", "r", path="notes.md")
    await team.turn(sends(), write)
    assert await team.atelier.files.mark_read([str(team.root)]) == [str(team.root / "notes.md")]
    assert await team.reads(read) == ""
    await team.turn(sends(), call("edit_file", "e", path="notes.md", old_string="42", new_string="44"))
    assert await team.reads(read) == OUTSIDE


async def test_undo_restores_the_file_without_its_mark(team: Team) -> None:
    await team.turn(sends(), call("edit_file", "e", path="clean.md", old_string="clean", new_string=SECRET))
    (workflow, *_others) = await team.atelier.workflows.list()
    changes = await team.atelier.files.list(workflow.id)
    await team.atelier.files.undo(workflow.id, [each.id for each in changes])
    assert (team.root / "clean.md").read_text() == "clean\n"
    assert await team.atelier.files.marked() == []


async def test_marks_survive_the_workflow_and_the_program(open_atelier: Opener, root: Path) -> None:
    cast = Cast(Lead=[])
    async with open_atelier(cast) as atelier:
        await prepare(atelier, root)
        team = Team(atelier, cast, root)
        await team.turn(sends(), call("write_file", "w", path="notes.md", content=SECRET))
        for workflow in await atelier.workflows.list():
            await atelier.workflows.purge(workflow.id)
    async with open_atelier(cast) as atelier:
        atelier.registry.register(Sends())
        assert await Team(atelier, cast, root).reads(call("read_file", "r", path="notes.md")) == OUTSIDE


async def test_marked_instructions_and_skills_taint_from_the_start(team: Team) -> None:
    await team.turn(sends(), call("write_file", "w", path="notes.md", content=SECRET))
    shutil.copy(team.root / "notes.md", team.root / "saved")
    (team.root / "CLAUDE.md").write_text("See @notes.md for more.")
    assert await team.reads() == OUTSIDE, "a file that is imported"
    (team.root / "CLAUDE.md").unlink()
    assert await team.reads() == ""
    marks = team.atelier.workspace_files.marks
    for path in ("AGENTS.md", ".agents/skills/sum/SKILL.md"):
        file = team.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("---\nname: sum\ndescription: Sums.\n---\nAdd.")
        marks.carry(str(team.root / "notes.md"), str(file), team.root)
        assert await team.reads() == "", "another content is a person's"
        (team.root / "notes.md").write_text(file.read_text())
        marks.wrote(team.root, path, (OUTSIDE,), marks._content_of(str(file)))
        assert await team.reads() == OUTSIDE
        file.unlink()


async def test_files_of_an_untrusted_folder_mark_nothing_in_it(team: Team) -> None:
    await team.atelier.files.trust(str(team.root), False)
    await team.turn(call("read_file", "r", path="clean.md"), call("write_file", "w", path="notes.md", content=SECRET))
    assert await team.atelier.files.marked() == [], "who comes to trust the folder trusts what was read in it"


async def test_committed_content_is_known_although_the_file_is_deleted(team: Team) -> None:
    await team.turn(
        sends(), run(f"echo {SECRET} > notes.md"), run("git add notes.md"), call("delete_path", "d", path="notes.md")
    )
    assert [mark.path for mark in await team.atelier.files.marked()] == [str(team.root / ".git")]
    assert await team.reads(run("git status")) == ""
    for command in ("git show :notes.md", "git diff --cached", "git checkout -- notes.md"):
        assert await team.reads(run(command)) == OUTSIDE, command
    await team.atelier.files.mark_read([str(team.root)])
    assert await team.reads(run("git show HEAD")) == ""


WRITER = """import pathlib
from atelier_desk import tool


@tool
def keep(path: str) -> str:
    '''Write a file.'''
    pathlib.Path(path).write_text("the sum is 42")
    return "done"
"""


async def test_a_custom_tool_marks_the_files_it_writes(team: Team) -> None:
    (team.atelier.own_tools.folder / "keep.py").write_text(WRITER)
    (file,) = await team.atelier.own_tools.list()
    await team.atelier.own_tools.confirm(file.file, file.sha256)
    keep = call("keep", "k", path=str(team.root / "notes.md"))
    await team.turn(keep)
    assert await team.atelier.files.marked() == []
    await team.turn(sends(), keep)
    assert [mark.path for mark in await team.atelier.files.marked()] == [str(team.root / "notes.md")]


async def test_a_background_command_marks_its_folder_until_it_ends_and_then_its_files(
    team: Team,
) -> None:
    (team.root / "gate").mkdir()
    wait = "while not os.path.exists('gate/open'): time.sleep(0.01)"
    (team.root / "wait.py").write_text(f"import os, time\n{wait}\nopen('notes.md', 'w').write('{SECRET}')\n")
    await team.turn(sends(), run("python3 wait.py", background=True))
    assert [(mark.path, mark.folder) for mark in await team.atelier.files.marked()] == [(str(team.root), True)]
    assert await team.reads(call("read_file", "r", path="clean.md")) == OUTSIDE, "nobody knows yet what it writes"
    (team.root / "gate" / "open").touch()
    async with asyncio.timeout(20):
        while any(mark.folder for mark in await team.atelier.files.marked()):
            await asyncio.sleep(0)
    assert str(team.root / "notes.md") in [mark.path for mark in await team.atelier.files.marked()]
    assert await team.reads(call("read_file", "r", path="clean.md")) == ""
