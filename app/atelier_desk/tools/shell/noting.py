"""Keeps what a command changes in the workspace, so that a person can see it as a diff and take it back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from atelier_desk.threads import in_tool_thread
from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.services import ToolServices
from atelier_desk.tools.shell.running import Where
from atelier_desk.workspace.checkpoints.around import Around, Changed
from atelier_desk.workspace.checkpoints.files import Author
from atelier_desk.workspace.processes.commands import Kept

_NAMED = 20
"""Files that a result names and a card shows."""
_WAITING: set[asyncio.Task[None]] = set()
"""Waiting for commands in the background; a task that nobody holds may vanish."""


@dataclass(slots=True)
class Noted:
    """What a command changed; empty until it is over."""

    changed: Changed = field(default_factory=Changed)

    def into(self, result: ToolResult) -> ToolResult:
        """The result with the files that were changed."""
        parts, lost = self.changed.parts, self.changed.lost
        said: dict[str, object] = {}
        if parts:
            said |= {"changed_files": [f"{part.action} {part.path}" for part in parts[:_NAMED]], "changed_total": len(parts)}
        if lost:
            said["not_undoable"] = list(lost[:_NAMED])
        if self.changed.gone:
            said["folders_gone"] = list(self.changed.gone)
            said["folders_note"] = "These folders of the workspace are not there any more, so nothing in them can be undone. Tell the user."
        if self.changed.partly:
            said["changes_note"] = "The workspace is too large to be looked at whole: more files may have changed, and cannot be undone."
        return replace(result, data={**result.data, **said}, parts=(*result.parts, *parts[:_NAMED])) if said else result


@asynccontextmanager
async def noted(services: ToolServices, context: ToolContext, place: Where, *, writes: bool) -> AsyncIterator[Noted]:
    """Around a command: its changes are kept however it ends. ``writes``: whether it may change files at all."""
    made = Noted()
    if services.files is None or not writes:
        yield made
        return
    before = await in_tool_thread(Around, services.files, place.roots)
    marks = services.files.marks
    command = await in_tool_thread(marks.begin, place.roots, context.tainted)
    try:
        yield made
    finally:
        author = Author(context.workflow_id, context.run_id, context.call_id, context.agent_name or context.agent_id, command=True)

        def compare() -> Changed:
            changed = before.compare(author)
            marks.end(command, _written(changed, place.root))
            return changed

        made.changed = await asyncio.shield(in_tool_thread(compare))


def _written(changed: Changed, root: Path) -> list[str]:
    """The files that a command wrote, absolute; ``root`` is where relative paths of the workspace start."""
    names = [part.path for part in changed.parts if part.after] + list(changed.lost)
    return [str(root / name) for name in names]


async def in_background(services: ToolServices, context: ToolContext, place: Where, start: Awaitable[Kept]) -> Kept:
    """Start a command that goes on by itself. Its folders are marked as a whole until it is over, and then what it wrote is."""
    if services.files is None or not context.tainted:
        return await start
    marks = services.files.marks
    command = await in_tool_thread(marks.begin, place.roots, context.tainted)
    try:
        kept = await start
    except BaseException:
        await asyncio.shield(in_tool_thread(marks.end, command))
        raise

    async def over() -> None:
        await kept.process.wait()
        await in_tool_thread(marks.end, command)

    task = asyncio.create_task(over())
    _WAITING.add(task)
    task.add_done_callback(_WAITING.discard)
    return kept
