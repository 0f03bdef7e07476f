"""``atelier workflows``: messages of a workflow, their versions, and repeating a turn."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.event_renderers import TextRenderer, renderer_for
from atelier_desk.cli.terminal_io import Output, moment
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.workflow import QUEUED, MessageRole
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.workflow.workflow_file import to_markdown
from atelier_desk.presentation.regenerate_warning_text import CHANGES, changed_text, repeated_text
from atelier_desk.support.i18n import _


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.id)
    entries = await atelier.workflows.transcript(workflow.id, limit=arguments.limit)
    tasks = await atelier.tasks.list(workflow.id)
    turns = [{"message": entry.message, "calls": entry.calls, "questions": entry.questions} for entry in entries]
    return Result({"workflow": workflow, "transcript": turns, "tasks": tasks}, to_markdown(workflow, entries, tasks))


async def fork(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    forked = await atelier.runs.fork(arguments.id, arguments.at)
    return Result(forked, f"{forked.id}  {forked.name}")


async def pins(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.messages.pinned(arguments.id)
    rows = (
        (each.id, moment(each.created_at), each.agent_name or _("You"), " ".join(each.content.split())[:80])
        for each in found
    )
    return Result(found, Table((_("id"), _("date"), _("who"), _("text")), rows))


async def pin(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    message = await atelier.messages.set_pinned(arguments.message, not arguments.off)
    return Result(message, _("Message pinned.") if message.pinned else _("Message unpinned."))


async def branch(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    made = await atelier.messages.branch_here(arguments.message)
    return Result(made, f"{made.id}  {made.name}")


async def regenerate(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if bool(arguments.model) != bool(arguments.provider):
        raise UsageError(_("Use --provider and --model together."))
    workflow = await atelier.workflows.get(arguments.id)
    turn = arguments.run or workflow.head_run_id or ""
    if turn:
        await _announce_again(atelier, turn, out)
    run_id = await atelier.runs.regenerate(workflow.id, turn, provider=arguments.provider, model=arguments.model)
    run = await atelier.runs.wait(run_id)
    messages = [
        entry.message for entry in await atelier.workflows.transcript(workflow.id) if entry.message.run_id == run_id
    ]
    return Result(run, messages[-1].content if messages and messages[-1].role.value != "user" else "")


async def delete_branch(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    act = atelier.workflows.undo_delete_branch if arguments.undo else atelier.workflows.delete_branch
    workflow = await act(arguments.id, arguments.run)
    return Result(workflow, _("Branch restored.") if arguments.undo else _("Branch deleted."))


async def replay(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    renderer = renderer_for(out)
    workflow = await atelier.workflows.get(arguments.id)
    try:
        async for event in atelier.runs.replay(workflow.id):
            renderer.show(event)
    finally:
        if isinstance(renderer, TextRenderer):
            renderer.finish()
    return 0


async def _announce_again(atelier: Atelier, run_id: str, out: Output) -> None:
    """Say what is repeated with the turn, early enough for Ctrl-C."""
    turn = await atelier.teams.transcript(run_id)
    count = sum(entry.message.role is MessageRole.USER and entry.message.kind != QUEUED for entry in turn)
    done = sum(call.status == "ok" and call.effect in CHANGES for entry in turn for call in entry.calls)
    for text in filter(None, (repeated_text(count - 1), changed_text(done))):
        out.note(text, "warn")
