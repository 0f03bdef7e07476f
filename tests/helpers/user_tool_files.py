"""Tool files for tests: written, read as the program reads them, and tools that hang until released."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from atelier_desk.tools.user_tools.tool_files import ToolFile, list_candidates

HEAD = (
    "from atelier_desk.tools.custom import tool\nfrom atelier_desk.tools.base import ToolContext\nimport os, signal, "
    "sys, time\n"
)

HANGS = (
    HEAD
    + '''
from pathlib import Path

@tool(timeout_s=600)
def hang(folder: str, number: int = 0) -> str:
    """Says that it has begun, waits until it is let go, and leaves a file."""
    (Path(folder) / f"begun-{number}.tmp").write_text(str(os.getpid()))
    (Path(folder) / f"begun-{number}.tmp").rename(Path(folder) / f"begun-{number}")
    while not (Path(folder) / "go").exists():
        time.sleep(0.01)
    (Path(folder) / f"effect-{number}").write_text("done")
    return "done"
'''
)


def tool_file(folder: Path, text: str, name: str = "own.py") -> ToolFile:
    """Write a file and read it back."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    return next(each for each in list_candidates(folder, {}) if each.name == name)


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


async def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition outside this process."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def until_now(condition: Callable[[], bool], seconds: float = 60) -> None:
    """``until`` for tests without a loop."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


async def begun(folder: Path, number: int = 0) -> int:
    """The process in which ``hang`` has started."""
    path = folder / f"begun-{number}"
    await until(path.exists)
    return int(path.read_text())
