"""Keeps what a command changes in the workspace, so that a person can see it as a diff and take it back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from atelier_desk.domain.parts import FileChange
from atelier_desk.threads import in_tool_thread
from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.services import ToolServices
from atelier_desk.tools.shell.running import Where
from atelier_desk.workspace.checkpoints.around import Around, Changed
from atelier_desk.workspace.checkpoints.files import Author

_NAMED = 20
"""Files that a result names and a card shows."""


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
    try:
        yield made
    finally:
        author = Author(context.workflow_id, context.run_id, context.call_id, context.agent_name or context.agent_id, command=True)
        changed = await asyncio.shield(in_tool_thread(before.compare, author))
        made.changed = replace(changed, parts=tuple(_told(each, context, place) for each in changed.parts))


def _told(part: FileChange, context: ToolContext, place: Where) -> FileChange:
    """A change without its text, where the rules do not let a result tell of the file."""
    told = all(context.tells(str(place.root / path)) for path in (part.path, part.moved_to) if path)
    return part if told else part.model_copy(update={"diff": ""})
