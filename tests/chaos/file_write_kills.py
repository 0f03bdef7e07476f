"""Kill processes that write files; used by the long runs and by the suite's samples."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from time import sleep

from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
from atelier_desk.workspace.confined_root import TEMPORARY
from tests.chaos.file_writer import CONTENTS

WHOLE = set(CONTENTS)


def kill_writers(folder: Path, times: int, seed: int = 1) -> None:
    """Start a writer, kill it after a random time, and check what it left; repeated ``times`` times."""
    chance = random.Random(seed)
    workspace, checkpoints = folder / "ws", folder / "data" / "checkpoints"
    (workspace / "sub").mkdir(parents=True)
    for _kill in range(times):
        command = (sys.executable, "-m", "tests.chaos.file_writer", str(workspace), str(checkpoints))
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            sleep(chance.uniform(0.001, 0.15))
            writer.kill()
            writer.wait(10)
        for path in workspace.rglob("*.txt"):
            assert path.read_bytes() in WHOLE, f"{path} is torn"
        WorkspaceFiles(checkpoints).recover()
        assert not list(workspace.rglob(f"{TEMPORARY}*")), "an unfinished file is left"
        assert not list((checkpoints / "pending").glob("*.json"))
        for change in WorkspaceFiles(checkpoints).store.of("w"):
            assert change.action != "deleted" or (checkpoints / "trash" / change.id / "content").exists()
