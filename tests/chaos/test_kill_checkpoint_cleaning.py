"""Kills while checkpoints are cleaned and leftovers deleted: nothing protected is lost, nothing is dropped
silently.

``ATELIER_CLEANING_KILLS`` sets the number (default 12); they fall between the first and the last deletion.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic, sleep

import pytest

from atelier_desk.domain.file_change import Change
from atelier_desk.workspace.checkpoints.cleaning import clean
from atelier_desk.workspace.checkpoints.leftover_undo_data import delete, survey
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import place
from tests.chaos.checkpoint_cleaning_worker import EXPIRED, KNOWN, NOW, OLD

KILLS = int(os.environ.get("ATELIER_CLEANING_KILLS", "12"))
CHANGES = 40
"""Of each kind in each workflow."""


class Sample:
    """Old changes to be dropped, and new ones to be preserved: of the workflow itself, of an unknown one and of an
    expired one.
    """

    def __init__(self, folder: Path) -> None:
        self.workspace, self.checkpoints = folder / "ws", folder / "checkpoints"
        self.workspace.mkdir(parents=True)
        self.stays: list[Change] = []
        self.goes: list[Change] = []
        when = OLD
        files = WorkspaceFiles(self.checkpoints, (), lambda: when)
        for when in (OLD, NOW):
            for workflow in ("mine", "unknown", "expired"):
                made = [
                    each
                    for number in range(CHANGES)
                    for each in self._change(files, workflow, f"{workflow}-{when:%m}-{number}")
                ]
                goes = workflow == "expired" or (workflow == "mine" and when == OLD)
                (self.goes if goes else self.stays).extend(made)
        self.damaged = self._change(files, "mine", "damaged")
        for change in self.damaged:
            files.store.record(change).write_bytes(files.store.record(change).read_bytes()[:-9])

    def _change(self, files: WorkspaceFiles, workflow: str, name: str) -> list[Change]:
        (self.workspace / f"{name}.d").mkdir()
        (self.workspace / f"{name}.d/only").write_text(f"the only copy of {name}")
        (self.workspace / f"{name}.txt").write_text(f"{name} before")
        edited = files.write(Author(workflow), place(f"{name}.txt", (self.workspace,)), f"{name} after".encode())
        assert edited is not None
        return [files.delete(Author(workflow), place(f"{name}.d", (self.workspace,))), edited]


def is_there(files: WorkspaceFiles, change: Change) -> bool:
    """Whether everything that undoing it needs exists."""
    if change.action == "deleted":
        return (files.store.trash(change.id) / "content/only").exists()
    return files.store.has(change.before)


def check(sample: Sample, checkpoints: Path) -> None:
    """Check that nothing is lost, and nothing dropped silently."""
    files = WorkspaceFiles(checkpoints, (), lambda: NOW)
    listed = {change.id: change for workflow in ("mine", "unknown", "expired") for change in files.store.of(workflow)}
    for change in sample.stays:
        assert listed[change.id] == change
        assert is_there(files, change), f"{change.path} is lost"
    for change in sample.damaged:
        assert is_there(files, change), f"{change.path} is lost, its record cannot be read"
    for change in sample.goes:
        if change.workflow_id == "mine":
            found = listed[change.id]
            assert found.cleaned or is_there(files, change), f"{change.path} is gone and is offered for undoing"
    told = Counter(each.kind for each in survey(files, KNOWN, {}))
    assert told["unreadable"] == len(sample.damaged)
    assert told["unknown"] in (1, 2)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("what", ["clean", "delete"])
def test_a_kill_while_cleaning_loses_nothing(tmp_path: Path, what: str) -> None:
    sample = Sample(tmp_path)
    whole = tmp_path / "whole"
    sample.checkpoints.rename(whole)
    chance, longest, in_the_middle = random.Random(20261127), 0.0, 0
    for number in range(-1, KILLS):
        shutil.rmtree(sample.checkpoints, ignore_errors=True)
        shutil.copytree(whole, sample.checkpoints)
        command = (sys.executable, "-m", "tests.chaos.checkpoint_cleaning_worker", str(sample.checkpoints), what)
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"ready\n"
            began = monotonic()
            if number < 0:  # the duration without a kill
                assert worker.stdout.readline() == b"done\n"
                longest = monotonic() - began
            else:
                sleep(chance.uniform(0.0, longest))
            worker.kill()
            in_the_middle += number >= 0 and worker.stdout.read() == b""
            worker.wait(10)
        check(sample, sample.checkpoints)
        files = WorkspaceFiles(sample.checkpoints, (), lambda: NOW)
        if what == "clean":
            assert clean(files, before=None, most=None, known=KNOWN, expired=EXPIRED).finished
        elif any(each.key == "expired" for each in survey(files, KNOWN, {})):
            delete(files, ["expired"], KNOWN)
        check(sample, sample.checkpoints)
        assert not files.store.of("expired")
    print(f"\n{in_the_middle} of {KILLS} kills in the middle")
    assert in_the_middle
    files = WorkspaceFiles(sample.checkpoints, (), lambda: NOW)
    wanted = [change for change in sample.stays if change.workflow_id == "mine"]
    assert [each.problem for each in undo(files, wanted)] == [None] * len(wanted)
