"""Cost of work in a folder with many files: reading, editing, undoing, searching.

The baseline of reading and writing is Python's own (open, read; write, sync, rename), that of searching is one start of
``rg`` if it is installed.

Run: ``python -m tests.bench.bench_workspace_files [--quick] [--json FILE]``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atelier_desk.workspace import ripgrep
from atelier_desk.workspace.checkpoints.undo import undo
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.path_resolution import place
from atelier_desk.workspace.search import search
from atelier_desk.workspace.text_edits import replaced
from atelier_desk.workspace.text_files import decode

PATTERNS = ("needle_in_hay", r"needle_\w+ = \d+", r"\bne+dle_in")
AUTHOR = Author("bench")


def fill(folder: Path, files: int) -> None:
    """Files of 60 lines of nine words, 50 per folder; every fiftieth contains the searched text."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz_", k=chance.randint(3, 9))) for _ in range(2_000)]
    for number in range(files):
        path = folder / f"d{number // 1000}" / f"p{number // 50}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(chance.choices(words, k=9)) for _ in range(60)]
        path.write_text("\n".join([*lines, "needle_in_hay = 42"] if number % 50 == 7 else lines) + "\n")


def seconds(work: Callable[[], object], times: int) -> list[float]:
    found = []
    for _time in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return found


class Table:
    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, ours: list[float], theirs: list[float]) -> None:
        mine, other = statistics.median(ours) * 1000, statistics.median(theirs) * 1000 if theirs else None
        ratio = f"{mine / other:8.1f} x" if other else ""
        print(f"{name:<44} {mine:10.2f} {other if other is not None else float('nan'):10.2f} {ratio}")
        self.rows.append({"name": name, "ms": mine, "baseline_ms": other})


def measure(folder: Path, files: int, changes: int, table: Table) -> None:
    ws = folder / "ws"
    ws.mkdir()
    fill(ws, files)
    workspace = WorkspaceFiles(folder / "checkpoints")
    root = workspace.root(ws)
    paths = [path.relative_to(ws).as_posix() for path in sorted(ws.rglob("*.py"))[:500]]
    table.add(
        "read 500 files",
        seconds(lambda: [root.read(path, 1 << 20) for path in paths], 5),
        seconds(lambda: _plain(ws, paths), 5),
    )
    rg = ripgrep.program(ws)
    for pattern in PATTERNS:
        theirs = seconds(lambda pattern=pattern: _rg(rg, pattern, ws), 5) if rg else []  # type: ignore[misc]
        if rg:
            table.add(
                f"search {files} files with rg: {pattern}",
                seconds(lambda p=pattern: search(root, p, most=1000), 5),
                theirs,
            )
        found, ripgrep.program = ripgrep.program, lambda workspace: None
        try:
            table.add(
                f"search {files} files without: {pattern}",
                seconds(lambda p=pattern: search(root, p, most=1000), 3),
                theirs,
            )
        finally:
            ripgrep.program = found
    edited = ws / "edited.py"
    edited.write_text("\n".join(f"line_{number} = 0" for number in range(500)) + "\n")
    where = place("edited.py", (ws,))
    turn = iter(range(changes + 1))

    def edit() -> None:
        data = root.read("edited.py", 1 << 20)
        text = decode(data)
        assert text is not None
        number = next(turn)
        after = replaced(
            text, f"line_{number % 500} = {number // 500}\n", f"line_{number % 500} = {number // 500 + 1}\n"
        )
        workspace.write(AUTHOR, where, after.encoded(), expected=data)

    table.add(
        f"an edit with its checkpoint, of {changes}", seconds(edit, changes), seconds(lambda: _replace(folder), 100)
    )
    table.add(f"list {changes} changes", seconds(lambda: workspace.store.of("bench"), 5), [])
    stored = workspace.store.of("bench")
    table.add(f"undo all {changes} changes", seconds(lambda: undo(workspace, stored), 1), [])


def _plain(ws: Path, paths: list[str]) -> None:
    for path in paths:
        (ws / path).read_bytes()


def _rg(rg: str, pattern: str, ws: Path) -> None:
    subprocess.run([rg, "--no-config", "--line-number", pattern, str(ws)], stdout=subprocess.DEVNULL, check=True)


def _replace(folder: Path) -> None:
    """Write a file of the same size as safely, but without a checkpoint."""
    temporary = folder / "plain.tmp"
    with temporary.open("wb") as file:
        file.write(b"line = 0000\n" * 500)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / "plain")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 000 files and 100 changes instead of 10 000 and 1 000")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    files, changes = (2_000, 100) if arguments.quick else (10_000, 1_000)
    table = Table()
    print(f"{'milliseconds':<44} {'Atelier':>10} {'baseline':>10}")
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), files, changes, table)
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"bench": "files", "files": files, "rg": bool(shutil.which("rg")), "rows": table.rows}, indent=1)
        )


if __name__ == "__main__":
    main()
