"""The commands of one open Atelier: those in the background by their id, and the files of long outputs. All end with the program."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from atelier_desk.support import background
from atelier_desk.workspace.processes.output import Output
from atelier_desk.workspace.processes.process import Order, Process
from atelier_desk.workspace.processes.sandbox import FOLDERS

MOST_AT_ONCE = 16
"""Commands in the background of one workflow that run at once."""
MOST_KEPT = 64
"""Commands whose output can still be read; the oldest that is over is forgotten first."""


@dataclass(slots=True)
class KeptOutput:
    """A command that was started: its line as it was written, the call that did it, and how far its output was read."""

    id: str
    workflow_id: str
    run_id: str
    call_id: str
    line: str
    process: Process
    background: bool = False
    read: int = field(default=0)


class TooManyError(Exception):
    """As many commands of the workflow run in the background as may."""


class Commands:
    """Starts commands and keeps them.

    Attributes:
        folder: where long outputs are, for the owner alone; made when it is needed, removed by ``aclose``.
        told: called with the workflow's id when a command in the background begins and when it is over.
        hidden: what no command in the sandbox can read: the program's own data.
    """

    def __init__(self, hidden: Iterable[Path] = (), told: Callable[[str], None] = lambda _workflow_id: None) -> None:
        self.hidden = tuple(hidden)
        self._told = told
        self._kept: dict[str, KeptOutput] = {}
        self._folder: Path | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._starting: list[str] = []
        """The workflows of commands that are being started in the background."""

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix=FOLDERS))
        return self._folder

    def temporary(self, workflow_id: str) -> Path:
        """Where the commands of a workflow put what they need for a while; it ends with the program."""
        made = self.folder / "tmp" / hashlib.sha256(workflow_id.encode()).hexdigest()[:16]
        made.mkdir(parents=True, exist_ok=True, mode=0o700)
        return made

    async def start(
        self, order: Order, *, line: str, workflow_id: str, run_id: str, call_id: str = "", background: bool = False
    ) -> KeptOutput:
        """Start a command. Raises ``OSError``, or ``TooManyError`` for one too many in the background."""
        running = sum(each.background and each.process.running for each in self.of(workflow_id))
        if background and running + self._starting.count(workflow_id) >= MOST_AT_ONCE:
            raise TooManyError
        command_id = f"cmd_{token_hex(4)}"
        self._starting += [workflow_id] if background else []
        try:
            process = await Process.start(order, Output(self.folder / f"{command_id}.txt"))
        finally:
            if background:
                self._starting.remove(workflow_id)
        kept = self._kept[command_id] = KeptOutput(command_id, workflow_id, run_id, call_id, line, process, background)
        self._forget()
        if background:
            self._told(workflow_id)
            process.when_over(lambda: self._told(workflow_id))
        return kept

    def afterwards(self, kept: KeptOutput, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do this when a command is over, also when that is because the program ends."""

        def over() -> None:
            task = background.start(call(), f"what follows command {kept.id}")
            self._endings.add(task)
            task.add_done_callback(self._endings.discard)

        kept.process.when_over(over)

    def of(self, workflow_id: str) -> list[KeptOutput]:
        """The commands of a workflow, the oldest first; an empty id: of all."""
        return [each for each in self._kept.values() if workflow_id in ("", each.workflow_id)]

    def get(self, workflow_id: str, command_id: str) -> KeptOutput | None:
        found = self._kept.get(command_id)
        return found if found is not None and found.workflow_id == workflow_id else None

    def _forget(self) -> None:
        over = [each for each in self._kept.values() if not each.process.running]
        for each in over[: max(0, len(self._kept) - MOST_KEPT)]:
            del self._kept[each.id]
            each.process.output.path.unlink(missing_ok=True)

    async def aclose(self) -> None:
        """End everything that runs."""
        self._told = lambda _workflow_id: None
        await asyncio.gather(*(each.process.end() for each in self._kept.values() if each.process.running))
        await asyncio.gather(*self._endings, return_exceptions=True)
        self._kept.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
