"""The commands of a running Atelier: background commands by id, and files of long outputs. All end with the program."""

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

from atelier_desk.support import background_tasks
from atelier_desk.workspace.processes.command_output import Output
from atelier_desk.workspace.processes.command_process import Order, Process
from atelier_desk.workspace.processes.sandbox_contents import FOLDERS

MOST_AT_ONCE = 16
"""Maximum concurrent background commands per workflow."""
MAX_OUTPUTS = 64
"""Maximum commands whose output stays readable; the oldest ended one is dropped first."""


@dataclass(slots=True)
class KeptOutput:
    """A started command: its line as written, the call that started it, and how far its output was read."""

    id: str
    workflow_id: str
    run_id: str
    call_id: str
    line: str
    process: Process
    background: bool = False
    read: int = field(default=0)


class TooManyError(Exception):
    """The workflow has reached its maximum of background commands."""


class Commands:
    """Starts and tracks commands.

    Attributes:
        folder: for long outputs, private to the owner; created when needed, removed by ``aclose``.
        told: called with the workflow id when a background command starts or ends.
        hidden: paths that no sandboxed command can read: the program's own data.
    """

    def __init__(self, hidden: Iterable[Path], told: Callable[[str], None]) -> None:
        self.hidden = tuple(hidden)
        self._on_changed = told
        self._outputs: dict[str, KeptOutput] = {}
        self._folder: Path | None = None
        self._endings: set[asyncio.Task[None]] = set()
        self._starting: list[str] = []
        """Workflows of background commands that are being started."""

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix=FOLDERS))
        return self._folder

    def temporary(self, workflow_id: str) -> Path:
        """Return the temporary folder of a workflow's commands; deleted when the program ends."""
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
        output = self._outputs[command_id] = KeptOutput(
            command_id, workflow_id, run_id, call_id, line, process, background
        )
        self._drop_finished()
        if background:
            self._on_changed(workflow_id)
            process.when_over(lambda: self._on_changed(workflow_id))
        return output

    def afterwards(self, kept: KeptOutput, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Call this when a command is over, even if the program ended it."""

        def over() -> None:
            task = background_tasks.start(call(), f"what follows command {kept.id}")
            self._endings.add(task)
            task.add_done_callback(self._endings.discard)

        kept.process.when_over(over)

    def of(self, workflow_id: str) -> list[KeptOutput]:
        """Return the commands of a workflow (empty id: all), oldest first."""
        return [each for each in self._outputs.values() if workflow_id in ("", each.workflow_id)]

    def get(self, workflow_id: str, command_id: str) -> KeptOutput | None:
        found = self._outputs.get(command_id)
        return found if found is not None and found.workflow_id == workflow_id else None

    def _drop_finished(self) -> None:
        over = [each for each in self._outputs.values() if not each.process.running]
        for each in over[: max(0, len(self._outputs) - MAX_OUTPUTS)]:
            del self._outputs[each.id]
            each.process.output.path.unlink(missing_ok=True)

    async def aclose(self) -> None:
        """End all running commands."""
        self._on_changed = lambda _workflow_id: None
        await asyncio.gather(*(each.process.end() for each in self._outputs.values() if each.process.running))
        await asyncio.gather(*self._endings, return_exceptions=True)
        self._outputs.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
