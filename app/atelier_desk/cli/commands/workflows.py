"""``atelier workflows``: list, search, change, export, import, delete, fork and replay."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path

from atelier_desk.cli.agent_model_folder_options import chosen_model, grant
from atelier_desk.cli.command_result import Note, Result, Table, bytes_left
from atelier_desk.cli.commands import chat_import
from atelier_desk.cli.file_arguments import path_of, read_text, workspace, write_new
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.slow_command_notes import history_noted, noted_when_slow
from atelier_desk.cli.terminal_io import Output, first, moment
from atelier_desk.domain import limits
from atelier_desk.domain.agent import Choices
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.export.markdown_export_formats import exported
from atelier_desk.engine.services.common import input_checks
from atelier_desk.presentation.permission_profiles import mode_of
from atelier_desk.storage.damage_report import LEFT_OUT
from atelier_desk.storage.repositories import SearchHit
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.visible_and_shortened_text import shorten

STATES = {
    "idle": "-",
    "running": N_("running"),
    "waiting": N_("waiting for you"),
    "paused": N_("paused"),
    "interrupted": N_("interrupted"),
    "completed": N_("done"),
    "error": N_("failed"),
}
"""A workflow's states as shown; one without a turn has none."""
FOUND = 60
"""Characters of a tool call's text in a table."""


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    only = {"archived": arguments.archived, "collection": arguments.folder}
    found = await atelier.workflows.list(arguments.search, arguments.limit + 1, arguments.offset, **only)
    workflows = first(out, found, arguments.limit)
    rows = ((each.id, _(STATES[each.status.value]), moment(each.updated_at), each.name) for each in workflows)
    return Result(workflows, Table((_("id"), _("status"), _("changed"), _("name")), rows))


async def search(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    async with history_noted(atelier, out, _("Searching…")):
        hits = await atelier.workflows.search(arguments.text, arguments.limit)
    fields = ("kind", "workflow_id", "workflow_name", "row_id", "seq", "excerpt", "run_id", "message_id", "who", "tool")
    rows = ((_found(hit), hit.workflow_id or "", hit.workflow_name or "", hit.excerpt) for hit in hits)
    return Result(
        [{**{name: getattr(hit, name) for name in fields}, "at": hit.at.isoformat()} for hit in hits],
        () if hits else Note(_("No results in messages, tool calls, reports or memories.")),
        Table((_("item"), _("workflow id"), _("workflow"), _("text")), rows),
    )


def _found(hit: SearchHit) -> str:
    """A search hit in words; a tool call by what it did."""
    if hit.kind == "tool_execution":
        text = hit.presentation.words(over=True).localized(_) or _(hit.presentation.title) or hit.tool
        return shorten(text, FOUND)
    return {
        "message": hit.who or (_("Message to {agent}", agent=hit.to) if hit.to else _("You")),
        "report": _("Report"),
        "memory": _("Memory"),
    }.get(hit.kind, hit.kind)


async def title(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow_id, text = arguments.id, arguments.text
    named = atelier.workflows.rename(workflow_id, text) if text else atelier.runs.titles.suggest(workflow_id)
    return _changed(await named)


async def move(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _changed(await atelier.workflows.move(arguments.id, arguments.folder))


async def archive(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _changed(await atelier.workflows.set_archived(arguments.id, not arguments.undo))


def _changed(workflow: Workflow) -> Result:
    folder = _("archive") if workflow.archived else workflow.collection
    return Result(workflow, f"{workflow.id}  {workflow.name}" + (f"  ({folder})" if folder else ""))


async def stop(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.id)
    run_id = await atelier.workflows.active(workflow.id)
    await atelier.workflows.stop(workflow.id)
    message = (
        _("Stopped: {name}", name=workflow.name)
        if run_id
        else _("Nothing to stop: the last turn of {name} has ended.", name=workflow.name)
    )
    return Result({"workflow": workflow.id, "stopped": run_id}, message)


async def export(atelier: Atelier, arguments: Namespace, out: Output) -> Result | int:
    """Exit status 1 also when rows of the workflow are damaged; everything else is written."""
    format = arguments.format or Path(arguments.output).suffix.lower().lstrip(".") or "json"
    if format == "docx" and not arguments.output:
        raise UsageError(N_("A Word document cannot be shown in the terminal: specify a file with --output."))
    if format == "json":
        text = await atelier.workflows.export(arguments.id)
    else:
        text = await atelier.workflows.export(arguments.id, "md", details=format == "md")
    data = text.encode("utf-8", "surrogatepass")
    if format == "json":
        for name in await atelier.workflows.exporting.changed_reports(arguments.id):
            out.note(
                _(
                    "The report {name} was damaged or changed by another program. The export contains its current "
                    "version, or none if the file is missing.",
                    name=name,
                ),
                "warn",
            )
        for name in await atelier.workflows.left_out_files(arguments.id):
            out.note(
                _("The file {name} was left out of the export because it is missing, damaged or too large.", name=name),
                "warn",
            )
    damaged = await atelier.workflows.exporting.damaged_rows(arguments.id)
    for each in damaged:
        out.note(each.error().localized(_), "warn")
    if damaged:
        out.note(_(LEFT_OUT), "warn")
    status = FAILED if damaged else OK
    if format != "json":
        name = (await atelier.workflows.get(arguments.id)).name
        data = await asyncio.to_thread(exported, text, name, format)
    if arguments.output:
        path = path_of(out, arguments.output)
        await write_new(path, data)
        return Result({"format": format, "path": str(path)}, str(path), status=status)
    if format != "json":
        text = data.decode("utf-8")
        return Result({"format": format, "content": text}, text, status=status)
    out.write(text if text.endswith("\n") else text + "\n")
    return status


async def import_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Import a workflow or chats, told apart by the file's beginning; a pipe holds a workflow."""
    path = path_of(out, arguments.file)
    if (
        arguments.file == "-"
        or (path.exists() and not path.is_file() and not path.is_dir())
        or await atelier.chats.is_workflow(path)
    ):
        if arguments.dry_run or arguments.chat:
            raise UsageError(N_("--dry-run and --chat are for exported chats; this file is a workflow."))
        return await _import_workflow(atelier, arguments, out)
    return (
        await chat_import.list_(atelier, path, out)
        if arguments.dry_run
        else await chat_import.import_(atelier, path, arguments.chat or None, out)
    )


async def _import_workflow(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    text = await read_text(out, arguments.file)
    steps = {"checking": _("Checking the file…"), "storing": _("Storing the workflow; this cannot be interrupted…")}
    async with noted_when_slow(out, steps["checking"]) as say:
        imported = await atelier.workflows.import_(text, arguments.on_conflict, lambda step: say(steps[step]))
    for folder in imported.workspace:
        out.note(
            _(
                "Access to {folder} was not granted: an imported file cannot grant access. To grant it: atelier "
                "workflows choose ID --workspace DIR",
                folder=folder,
            ),
            "warn",
        )
    labels = {
        "created": _("imported"),
        "overwritten": _("overwritten"),
        "renamed": _("imported as a copy"),
        "skipped": _("already exists, not imported"),
    }
    return Result(
        {"action": imported.action, "workflow": imported.workflow},
        f"{imported.workflow.id}  {imported.workflow.name}  ({labels[imported.action]})",
    )


async def delete(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.id)
    if arguments.for_good:
        removed = await atelier.workflows.purge(workflow.id)
        done = _("Permanently deleted: {name}", name=workflow.name)
        return Result({"deleted": workflow.id, "rows": removed}, done, bytes_left())
    await atelier.workflows.delete(workflow.id)
    message = _(
        "Deleted {name}. To restore it within {n} days: atelier workflows restore {workflow}",
        name=workflow.name,
        n=limits.DELETED_DAYS,
        workflow=workflow.id,
    )
    return Result({"deleted": workflow.id}, message)


async def deleted(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = first(out, await atelier.workflows.list(limit=arguments.limit + 1, deleted=True), arguments.limit)
    return Result(
        found,
        Table(
            (_("id"), _("deleted"), _("name")),
            [(each.id, moment(each.deleted_at) if each.deleted_at else "", each.name) for each in found],
        ),
    )


async def restore(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _changed(await atelier.workflows.undo_delete(arguments.id))


async def choose(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.id)
    await grant(atelier, out, workflow, workspace(out, arguments))
    if arguments.reset:
        workflow = workflow.model_copy(update={"choices": Choices()})
    if arguments.agent:
        agent = await atelier.agents.by_name(arguments.agent)
    else:
        try:
            agent = await atelier.agents.get(workflow.agent_id)
        except NotFoundError:
            agent = await atelier.agents.default()
    choices = await chosen_model(atelier, arguments, agent, workflow)
    changes: dict[str, object] = {} if arguments.instructions is None else {"instructions": arguments.instructions}
    if arguments.approval is not None:
        changes["approval"] = mode_of(arguments.approval)
    caps = {
        name: getattr(arguments, name) for name in ("max_cost", "max_tokens") if getattr(arguments, name) is not None
    }
    if caps:
        changes["budget"] = choices.budget.model_copy(update=caps)
    workflow = await atelier.workflows.choose(
        workflow.id, input_checks.changed(choices, _("workflow"), **changes), agent_id=agent.id
    )
    return Result(workflow, f"{workflow.name}: {agent.name}, {workflow.choices.model or agent.config.model}")
