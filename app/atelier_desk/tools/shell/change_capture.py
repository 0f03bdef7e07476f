"""Record what a command changed in the workspace for display and undo, and hold protected files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from atelier_desk.domain.held_file import HeldFile
from atelier_desk.domain.protected_names import ProtectedTargets
from atelier_desk.domain.result_parts import FileChange, HeldPart
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import ToolContext, ToolResult
from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.tools.shell import command_result_notes, protected_names_in_commands
from atelier_desk.tools.shell.command_execution import CommandPlace, commands_of
from atelier_desk.workspace.checkpoints.adopt_launcher_held_files import adopt
from atelier_desk.workspace.checkpoints.command_changes import ChangedSet, CommandChanges
from atelier_desk.workspace.checkpoints.protected_file_guard import ProtectedFiles, Settled, settle_all
from atelier_desk.workspace.checkpoints.undoable_file_operations import Author, WorkspaceFiles
from atelier_desk.workspace.commands.judge import Judgement
from atelier_desk.workspace.processes import sandbox_contents
from atelier_desk.workspace.processes.running_commands import KeptOutput

_NAMED = 20
"""Maximum files named in a result and shown on a card."""


@dataclass(slots=True)
class CapturedChanges:
    """Changes of a command; empty until it ends."""

    changed: ChangedSet = field(default_factory=ChangedSet)
    settled: Settled = field(default_factory=Settled)
    guarded: tuple[str, ...] = ()
    """Protected files that it must not change."""
    command: KeptOutput | None = None
    """The command, once started."""

    def into(self, result: ToolResult) -> ToolResult:
        """Add the changed files to the result."""
        parts, lost = self.changed.parts, self.changed.lost
        protected = command_result_notes.of_protected(self.settled, self.guarded, result)
        if parts:
            protected |= {
                "changed_files": [f"{part.action} {part.path}" for part in parts[:_NAMED]],
                "changed_total": len(parts),
            }
        if lost:
            protected["not_undoable"] = list(lost[:_NAMED])
        if self.changed.gone:
            protected["folders_gone"] = list(self.changed.gone)
            protected["folders_note"] = (
                "These folders of the workspace are not there any more, so nothing in them can be undone. Tell the "
                "user."
            )
        if self.changed.partly:
            protected["changes_note"] = (
                "The workspace is too large to be looked at whole: more files may have changed, and cannot be undone."
            )
        held = tuple(
            HeldPart(id=each.id, path=each.path, replaces=bool(each.replaces)) for each in self.settled.held[:_NAMED]
        )
        return (
            replace(result, data={**result.data, **protected}, parts=(*result.parts, *parts[:_NAMED], *held))
            if protected
            else result
        )


async def protecting(
    services: ToolServices, context: ToolContext, place: CommandPlace, judgement: Judgement, cwd: str = "", *, box: str
) -> ProtectedFiles:
    """Record the protected files before a command, which it must find read-only.

    Args:
        judgement: its line, which runs in ``cwd``.
        box: its sandbox.
    """
    return await in_tool_thread(_protecting, services, context.protected, place, judgement, cwd, box)


def _protecting(
    services: ToolServices,
    allowed: ProtectedTargets | None,
    place: CommandPlace,
    judgement: Judgement,
    cwd: str,
    box: str,
) -> ProtectedFiles:
    if services.files is not None:
        settle_all(services.files)  # changes of other running programs must not be attributed to this one
    folders = [str(root) for root in place.roots]
    allowed = allowed or protected_names_in_commands.targets(judgement, cwd, folders)
    may_change = partial(protected_names_in_commands.may_change, allowed, judgement, cwd, folders)
    mounted = box != "none" and sandbox_contents.has_mounts()
    return ProtectedFiles(services.files, place.roots, may_change=may_change, mounted=mounted)


def author_of(context: ToolContext) -> Author:
    return Author(
        context.workflow_id, context.run_id, context.call_id, context.agent_name or context.agent_id, command=True
    )


@asynccontextmanager
async def capturing(
    services: ToolServices,
    context: ToolContext,
    place: CommandPlace,
    *,
    writes: bool,
    protected: ProtectedFiles | None = None,
) -> AsyncIterator[CapturedChanges]:
    """Enclose a command and record its changes however it ends. ``writes``: whether it may change files at all."""
    made = CapturedChanges()
    if services.files is None or not writes:
        yield made
        return
    before = await in_tool_thread(CommandChanges, services.files, place.roots)
    marks = services.files.marks
    command = await in_tool_thread(marks.begin, place.roots, context.tainted)
    if protected is not None:
        made.guarded = protected.guarded
        await in_tool_thread(protected.begin, author_of(context))

    def after() -> None:
        # Held files first: they are not undoable changes.
        if protected is not None:
            made.settled = protected.settle()
            protected.close()
        if made.command is not None and services.files is not None:
            held = hold_removed(services.files, author_of(context), made.command)
            made.settled = replace(made.settled, held=(*made.settled.held, *held))
        changed = before.compare(author_of(context))
        marks.end(command, _written(changed, place.root))
        made.changed = replace(
            changed, parts=tuple(_without_denied_text(each, context, place) for each in changed.parts)
        )

    try:
        yield made
    finally:
        await asyncio.shield(in_tool_thread(after))
        if made.settled.held:
            services.files.announce_held(context.workflow_id)


def hold_removed(files: WorkspaceFiles, author: Author, command: KeptOutput) -> list[HeldFile]:
    """Hold files that the launcher of an ended command removed because git would execute them. Blocks."""
    guarded = command.process.guarded
    taken, left = adopt(files, author, guarded.held)
    command.process.guarded = replace(guarded, held=left)
    return taken


def _without_denied_text(part: FileChange, context: ToolContext, place: CommandPlace) -> FileChange:
    """Remove a change's text where the rules do not allow revealing the file."""
    readable = all(context.may_disclose(str(place.root / path)) for path in (part.path, part.moved_to) if path)
    return part if readable else part.model_copy(update={"diff": ""})


def _written(changed: ChangedSet, root: Path) -> list[str]:
    """Return the absolute paths of files a command wrote; ``root`` is the base of relative workspace paths."""
    names = [part.path for part in changed.parts if part.after] + list(changed.lost)
    return [str(root / name) for name in names]


def watch(services: ToolServices, context: ToolContext, kept: KeptOutput, protected: ProtectedFiles) -> None:
    """Watch a background command.

    Its changes to protected files are processed before anything may obey them, and at its end.
    """
    files = services.files
    if files is None:
        return
    protected.begin(author_of(context))

    async def over() -> None:
        held = await in_tool_thread(hold_removed, files, author_of(context), kept)
        for workflow_id in {*await in_tool_thread(protected.sweep), *(each.workflow_id for each in held)}:
            files.announce_held(workflow_id)
        await in_tool_thread(protected.close)

    commands_of(services).afterwards(kept, over)


async def in_background(
    services: ToolServices, context: ToolContext, place: CommandPlace, start: Awaitable[KeptOutput]
) -> KeptOutput:
    """Start a background command. Its folders are marked as a whole until it ends, then the files it wrote."""
    if services.files is None or not context.tainted:
        return await start
    marks = services.files.marks
    command = await in_tool_thread(marks.begin, place.roots, context.tainted)
    try:
        kept = await start
    except BaseException:
        await asyncio.shield(in_tool_thread(marks.end, command))
        raise
    commands_of(services).afterwards(kept, lambda: in_tool_thread(marks.end, command))
    return kept
