"""Commands started through the launcher."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from atelier_desk.workspace.processes import sandbox_contents
from atelier_desk.workspace.processes.command_output import Output
from atelier_desk.workspace.processes.command_process import Order, Process
from tests.workspace.processes.run_launcher import NOBODY, Launched, interpreter, launch

WHERE = {"namespaces": (None, True), "another user": (NOBODY, True), "no namespaces": (None, False)}


@pytest.fixture
def root() -> Iterator[Path]:
    """A workspace that others can enter, with its temporary folder next to it."""
    top = Path(tempfile.mkdtemp()).resolve()
    top.chmod(0o755)
    (top / "work").mkdir()
    yield top / "work"
    shutil.rmtree(top)


def boxed(root: Path, user: int | None = None) -> Mapping[str, Any]:
    box = sandbox_contents.working([root], root.parent / "tmp")
    assert box is not None
    box["read"] += [str(Path(interpreter(user)).resolve().parents[1])]
    for path in (root.parent, *root.parent.rglob("*")):
        os.chown(path, user or os.geteuid(), user or os.getegid())
    return box


def run(root: Path, words: tuple[str, ...], where: str = "namespaces", **more: Any) -> Launched:
    user, namespaces = WHERE[where]
    if user is not None and os.geteuid():
        pytest.skip("only root can become somebody else")
    words = tuple(interpreter(user) if word == "python" else word for word in words)
    environment = {"TMPDIR": str(root.parent / "tmp")}
    return launch(words, root, box=boxed(root, user), user=user, namespaces=namespaces, environment=environment, **more)


def left(mark: str) -> list[int]:
    """Processes with a mark among their arguments."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE and mark in (process.info["cmdline"] or ()):
            found.append(process.pid)
    return found


async def started(root: Path, script: str, **more: Any) -> Process:
    order = Order("/bin/bash", ("bash", "-c", script), root, {"PATH": os.environ["PATH"]}, sandbox=boxed(root), **more)
    return await Process.start(order, Output(root.parent / "out"))


async def until(process: Process, text: str) -> None:
    async with asyncio.timeout(20):
        while text not in process.output.shown().text:
            await process.wait(0.02)
