"""Kill processes that undo changes of a workspace on another disk than the checkpoints, and check every file
afterwards.

A change is either undone completely, with its former permissions and times, or not started; nothing else is left
behind.
"""

from __future__ import annotations

import contextlib
import os
import random
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.confined_root import TEMPORARY
from atelier_desk.workspace.path_resolution import WorkspacePath, place

ROOT = Path(__file__).resolve().parents[2]
MEMORY = Path("/dev/shm")
"""A separate disk on Linux."""
MTIME_NS = 1_500_000_000_123_456_789
LONGEST_S = 0.25


@dataclass
class UndoFigures:
    """Kills, kills before the end, and files that were lost, left half done, or silently wrong."""

    kills: int = 0
    cut_off: int = 0
    lost: int = 0
    half: int = 0
    silent: int = 0


@contextlib.contextmanager
def other_disk(than: Path) -> Iterator[Path]:
    """A folder on another disk: shared memory, or a mount of its own where that is on the same disk."""
    if MEMORY.is_dir() and MEMORY.stat().st_dev != than.stat().st_dev:
        with tempfile.TemporaryDirectory(dir=MEMORY, prefix="atelier-test-") as folder:
            yield Path(folder)
        return
    mounted = than / "disk"
    mounted.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "none", str(mounted)), check=True)
    try:
        yield mounted
    finally:
        subprocess.run(("umount", str(mounted)), check=True)


def snapshot(folder: Path) -> dict[str, object]:
    """Everything in a folder: kind, permissions, content, and the times of entries that were not recreated."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content: object = (
            path.readlink() if path.is_symlink() else path.read_bytes() if stat.S_ISREG(info.st_mode) else None
        )
        times = info.st_mtime_ns if info.st_mtime_ns == MTIME_NS else 0
        found[path.relative_to(folder).as_posix()] = (
            stat.S_IFMT(info.st_mode),
            stat.S_IMODE(info.st_mode),
            times,
            content,
        )
    return found


def prepare(workspace: Path, checkpoints: Path, size: int) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Create files and change them in every way; returns the state at first and after each change, the last being
    the current one.
    """
    tree = workspace / "tree"
    (tree / "deep" / "empty").mkdir(parents=True)
    for number in range(6):
        (tree / "deep" / f"{number}.bin").write_bytes(bytes((number,)) * (size // 6))
    (tree / "run.sh").write_bytes(b"#!/bin/sh\n")
    (tree / "run.sh").chmod(0o750)
    (tree / "link").symlink_to("deep/0.bin")
    os.mkfifo(tree / "pipe")
    (workspace / "single").write_bytes(b"s" * size)
    (workspace / "edited").write_bytes(b"before")
    (workspace / "edited").chmod(0o711)
    (workspace / "moved").write_bytes(b"m")
    for path in (*tree.rglob("*"), tree, workspace / "single"):
        os.utime(path, ns=(MTIME_NS, MTIME_NS), follow_symlinks=False)
    (tree / "deep" / "empty").chmod(0o500)
    (tree / "deep").chmod(0o550)
    before = snapshot(workspace)
    files, author = WorkspaceFiles(checkpoints), Author("w")

    def at(path: str) -> WorkspacePath:
        return place(path, (workspace,))

    states = []
    for act in (
        lambda: files.copy(author, at("tree"), at("new")),
        lambda: files.delete(author, at("tree")),
        lambda: files.delete(author, at("single")),
        lambda: files.write(author, at("edited"), b"after"),
        lambda: files.move(author, at("moved"), at("there/moved")),
    ):
        act()
        states.append(snapshot(workspace))
    return before, states


def kill(workspace: Path, checkpoints: Path, act: str, *, step: int = 0, after_s: float = 0.0) -> bool:
    """Start a worker and kill it at a step, or after a time; returns whether that was before its end."""
    command = [
        sys.executable,
        "-m",
        "tests.chaos.undo_worker",
        str(workspace),
        str(checkpoints),
        act,
        *([str(step)] if step else []),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n", worker.communicate()[1].decode()[-2000:]
        if not step:
            sleep(after_s)
            worker.kill()
        _, trouble = worker.communicate(timeout=60)
        assert worker.returncode in (0, -9), trouble.decode()[-2000:]
        return worker.returncode == -9


def check_undo(
    workspace: Path, checkpoints: Path, before: dict[str, object], states: list[dict[str, object]], figures: UndoFigures
) -> None:
    """After a kill during a complete undo: the changes not yet undone are intact, and another undo restores the
    rest.
    """
    files = WorkspaceFiles(checkpoints)
    files.recover()
    if files.store.pending():
        figures.silent += 1
    open_changes = [change for change in files.store.of("w") if change.undoable]
    now = snapshot(workspace)
    if any(Path(name).name.startswith(TEMPORARY) for name in now) or now != [before, *states][len(open_changes)]:
        figures.half += 1
    figures.silent += sum(done.problem is not None for done in undo(files, open_changes))
    if snapshot(workspace) != before:
        figures.lost += 1
    left = [path for path in (checkpoints / "trash").glob("*/*") if not files.store.get("w", path.parent.name).undoes]
    figures.half += bool(left)


def kill_undoes(folder: Path, disk: Path, times: int, *, size: int = 6_000_000, seed: int = 20261127) -> UndoFigures:
    """Undo across disks and kill the process after a random time, ``times`` times before its end."""
    chance, figures = random.Random(seed), UndoFigures()
    while figures.cut_off < times and figures.kills < 4 * times:
        workspace, checkpoints = disk / f"ws-{figures.kills}", folder / f"checkpoints-{figures.kills}"
        workspace.mkdir()
        before, states = prepare(workspace, checkpoints, size)
        figures.cut_off += kill(workspace, checkpoints, "undo", after_s=chance.uniform(0, LONGEST_S))
        figures.kills += 1
        check_undo(workspace, checkpoints, before, states, figures)
        subprocess.run(("rm", "-rf", str(workspace), str(checkpoints)), check=True)
    return figures


def kill_at_steps(folder: Path, disk: Path, every: int) -> UndoFigures:
    """Kill an undo at every nth disk access, until one completes. ``disk``: that of the workspace; the worker
    always treats it as another than the checkpoints'.
    """
    figures = UndoFigures()
    step = 1
    while True:
        workspace, checkpoints = disk / f"ws-{step}", folder / f"checkpoints-{step}"
        workspace.mkdir()
        before, states = prepare(workspace, checkpoints, 600)
        cut_off = kill(workspace, checkpoints, "undo", step=step)
        figures.kills += 1
        figures.cut_off += cut_off
        check_undo(workspace, checkpoints, before, states, figures)
        if not cut_off:
            return figures
        step += every


def kill_deletions(folder: Path, disk: Path, every: int) -> UndoFigures:
    """Kill a deletion at every nth disk access: the file is complete in its place, or can be restored completely."""
    figures = UndoFigures()
    step = 1
    while True:
        workspace, checkpoints = disk / f"deleting-{step}", folder / f"checkpoints-of-{step}"
        workspace.mkdir()
        _, states = prepare(workspace, checkpoints, 600)
        cut_off = kill(workspace, checkpoints, "delete", step=step)
        figures.kills += 1
        figures.cut_off += cut_off
        files = WorkspaceFiles(checkpoints)
        files.recover()
        gone = {name: facts for name, facts in states[-1].items() if name.split("/")[0] != "new"}
        deleted = [change for change in files.store.of("w") if change.action == "deleted" and change.path == "new"]
        now = snapshot(workspace)
        figures.half += now != (gone if deleted else states[-1])
        figures.silent += bool(files.store.pending()) + sum(done.problem is not None for done in undo(files, deleted))
        figures.lost += snapshot(workspace) != states[-1]
        if not cut_off:
            return figures
        step += every
