"""When git only reads, no repository runs a program or exposes an outside file, unless a person approved its
settings.

Through the engine, with the real git and without the sandbox: only the approval and the options passed to git keep
the canary quiet.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.run.hostile_repository_settings import ASKS, LINE, RUNS, Tried, quiet, refused, rows, settings, tried
from tests.helpers.git_repositories import commit, git
from tests.helpers.hostile_repositories import PLACES, Hostile
from tests.helpers.tool_calls import tool_call

__all__ = ["tried"]

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not sandbox_contents.available(),
    reason="needs git, and without a sandbox every command asks",
)


def calls(turn: int | None = None) -> list[ToolCall]:
    """Every location, by ``cd`` and by ``cwd``, and the git tools; with ``turn`` the workspace itself and one of
    the others: each row of the table uses different ones.
    """
    made: list[tuple[str, dict[str, Any]]] = [("git_status", {}), ("git_diff", {}), ("git_diff", {"staged": True})]
    made.append(("run_command", {"command": LINE}))
    below: list[tuple[str, dict[str, Any]]] = []
    for folder in PLACES[1:]:
        below.append(("run_command", {"command": f"cd {folder} && {LINE.replace('; ', ' && ')}"}))
        below.append(("run_command", {"command": LINE, "cwd": folder}))
    made = made + below if turn is None else [made[turn % 4], below[turn % 8]]
    return [
        tool_call(name, f"c{number:02}", **given, **({"modifies_files": False} if name == "run_command" else {}))
        for number, (name, given) in enumerate(made)
    ]


async def test_settings_that_need_approval(tried: Tried, tmp_path: Path) -> None:
    made = [
        (row, tried.template.copy(tmp_path / f"w{number}", settings(row, tried.template)))
        for number, row in enumerate(rows(ASKS))
    ]
    assert len(made) >= 60
    turns = [calls(turn) for turn in range(8)]
    ended = await tried(*made, asked=turns)
    quiet(tried.template, ended)
    for row, ends in ended.items():
        # All but the bare repository, which git does not recognise as one.
        assert len(ends) == len(turns[0])
        for end, stopped in zip(ends, refused(ends), strict=True):
            assert stopped or "bare.git" in json.dumps(end), (row, end.get("error"))


async def test_settings_with_which_git_runs(tried: Tried, tmp_path: Path) -> None:
    named = rows(RUNS)
    made = []
    for turn in range(3):
        place = tried.template.copy(
            tmp_path / f"w{turn}", b"".join(settings(row, tried.template) for row in named[turn::3])
        )
        made.append((f"w{turn}", place))
    ended = await tried(*made, asked=[calls()])
    quiet(tried.template, ended)
    for name, ends in ended.items():
        assert not any(refused(ends)), (name, [each.get("error") for each in ends])
        assert all(each["success"] for each in ends if "bare.git" not in json.dumps(each)), name
        assert "+two" in json.dumps(ends[1]), name


MORE = """
core.fsmonitor P                   | core.hooksPath O                    | core.sshCommand P
core.editor P                      | core.pager P                        | credential.helper !P
gpg.program P                      | filter.evil.clean P                 | alias.x !P
"""
"""Settings that need approval before git writes, even under Free."""


async def test_writing_git_commands(tried: Tried, tmp_path: Path) -> None:
    made = [
        (row, tried.template.copy(tmp_path / f"w{number}", settings(row, tried.template)))
        for number, row in enumerate(rows(MORE))
    ]
    line = [tool_call("run_command", "add", command="git add .", modifies_files=True)]
    assert await tried(*made, asked=[line], mode=ApprovalMode.AUTO) == {row: [] for row, _place in made}, (
        "each waits for a person"
    )
    assert list(tried.template.marks.iterdir()) == []
    place = tried.template.copy(tmp_path / "own", b"[core]\n\thooksPath = .husky/_\n\tfsmonitor = false\n")
    ended = await tried(("own", place), asked=[line], mode=ApprovalMode.AUTO)
    assert [end["success"] for end in ended["own"]] == [True], "hooks of the workspace are as good as those of .git"


async def test_reading_into_a_file(tried: Tried, tmp_path: Path) -> None:
    """Under Edit a file of the workspace needs no approval, and the command that fills it only reads."""
    place = tried.template.copy(tmp_path / "w", b"".join(settings(row, tried.template) for row in rows(RUNS)))
    lines = ("git status > out.txt", "git diff > out.txt", "git log -p >> out.txt && git status >> out.txt")
    asked = [
        tool_call("run_command", f"c{number}", command=line, modifies_files=True) for number, line in enumerate(lines)
    ]
    ended = await tried(("w", place), asked=[asked], mode=ApprovalMode.EDIT)
    assert [end["success"] for end in ended["w"]] == [True] * len(lines)
    quiet(place, ended)
    assert "+two" in (place.root / "out.txt").read_text() or "first" in (place.root / "out.txt").read_text()


def of_work_tree(place: Hostile) -> None:
    """Settings of one work tree only."""
    git("config", "extensions.worktreeConfig", "true", cwd=place.root)
    for folder in (".git", ".git/worktrees/tree"):
        (place.root / folder / "config.worktree").write_bytes(settings("filter.evil.clean P", place))


def private(place: Hostile) -> Path:
    """A repository outside, with a secret in it."""
    folder = place.outside / "private"
    if not folder.exists():
        commit(folder, key="s3cret\n")
    return folder


def led_away(place: Hostile) -> None:
    shutil.rmtree(place.root / ".git")
    (place.root / ".git").write_text(f"gitdir: {private(place)}/.git\n")


def linked_away(place: Hostile) -> None:
    shutil.rmtree(place.root / ".git")
    (place.root / ".git").symlink_to(private(place) / ".git")


def to_a_work_tree_of_others(place: Hostile) -> None:
    """The folder of a real linked work tree, but that of another repository."""
    if not (place.outside / "theirs").exists():
        git("worktree", "add", "-q", str(place.outside / "theirs"), cwd=private(place))
    shutil.rmtree(place.root / ".git")
    (place.root / ".git").write_text(f"gitdir: {private(place)}/.git/worktrees/theirs\n")


def common_elsewhere(place: Hostile) -> None:
    (place.root / ".git/commondir").write_text(f"{private(place)}/.git\n")
    head = git("rev-parse", "HEAD", cwd=private(place)).strip()
    (place.root / ".git/HEAD").write_text(head + "\n")


def objects_elsewhere(place: Hostile) -> None:
    (place.root / ".git/objects/info").mkdir(exist_ok=True)
    (place.root / ".git/objects/info/alternates").write_text(f"{private(place)}/.git/objects\n")
    (place.root / ".git/HEAD").write_text(git("rev-parse", "HEAD", cwd=private(place)))


def objects_elsewhere_by_two(place: Hostile) -> None:
    """Objects of a folder in the workspace, which refers to objects outside."""
    objects_elsewhere(place)
    far = place.root / "far"
    (far / "info").mkdir(parents=True)
    shutil.move(place.root / ".git/objects/info/alternates", far / "info/alternates")
    (place.root / ".git/objects/info/alternates").write_text("../../far\n")


def objects_linked(place: Hostile) -> None:
    shutil.rmtree(place.root / ".git/objects")
    (place.root / ".git/objects").symlink_to(private(place) / ".git/objects")
    (place.root / ".git/HEAD").write_text(git("rev-parse", "HEAD", cwd=private(place)))


def settings_linked(place: Hostile) -> None:
    (place.root / ".git/config").unlink()
    (place.root / ".git/config").symlink_to(private(place) / ".git/config")


def never_ends(place: Hostile) -> None:
    """Settings in a pipe without a writer."""
    os.mkfifo(place.root / "pipe")
    with (place.root / ".git/config").open("a") as file:
        file.write("[include]\n\tpath = ../pipe\n")


def broken(place: Hostile) -> None:
    with (place.root / ".git/config").open("a") as file:
        file.write("[core\n")


def never_said_bare(place: Hostile) -> None:
    """CVE-2026-45033: the layout of a repository, in the workspace itself."""
    shutil.move(place.root / ".git", place.root / "git")
    for each in (place.root / "git").iterdir():
        shutil.move(each, place.root / each.name)
    with (place.root / "config").open("ab") as file:
        file.write(settings("core.worktree O", place) + settings("filter.evil.clean P", place))


LAYOUTS: tuple[Callable[[Hostile], None], ...] = (
    of_work_tree, led_away, linked_away, to_a_work_tree_of_others, common_elsewhere, objects_elsewhere,
    objects_elsewhere_by_two,
    objects_linked, settings_linked, never_ends, broken, never_said_bare,
)  # fmt: skip


async def test_redirections_of_git_to_outside(tried: Tried, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atelier_desk.workspace.repository_inspection.TIMEOUT_S", 0.3)
    made = []
    for layout in LAYOUTS:
        place = tried.template.copy(tmp_path / layout.__name__)
        layout(place)
        made.append((layout.__name__, place))
    here = [tool_call(name, f"h{n}") for n, name in enumerate(("git_status", "git_diff"))]
    here.append(tool_call("run_command", "h2", command=LINE, modifies_files=False))
    ended = await tried(*made, asked=[here])
    quiet(tried.template, ended)
    for name, ends in ended.items():
        assert name == "never_said_bare" or all(refused(ends)), (name, ends)


def test_git_itself_does_run_them(tmp_path: Path) -> None:
    """The same settings do run the canary in a terminal, and the same folders do expose outside files."""
    template = Hostile.template(tmp_path)
    for row in (
        "filter.evil.clean P",
        "filter.a=b.clean P",
        "filter.\udcff\udcfe.clean P",
        "diff.evil.textconv P",
        "diff.external P",
    ):
        place = template.copy(tmp_path / row.replace(" ", ""), settings(row, template))
        git("diff", cwd=place.root, check=False)
        git("diff", "--cached", cwd=place.root, check=False)
        assert list(template.marks.iterdir()), row
        shutil.rmtree(template.marks)
        template.marks.mkdir()
    for layout in (
        led_away,
        linked_away,
        common_elsewhere,
        objects_elsewhere,
        objects_elsewhere_by_two,
        objects_linked,
    ):
        place = template.copy(tmp_path / layout.__name__)
        layout(place)
        assert "s3cret" in git("log", "-p", "-1", cwd=place.root), layout.__name__
