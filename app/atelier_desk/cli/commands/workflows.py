"""``atelier workflows``: list, show, search, export, import, delete, fork and replay."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder, number
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier

STATES = {
    "idle": "-",
    "running": N_("working"),
    "waiting": N_("waits for you"),
    "paused": N_("paused"),
    "interrupted": N_("interrupted"),
    "completed": N_("completed"),
    "error": N_("failed"),
}
"""The states of a workflow for people; one without a turn has none."""


def register(add: Adder) -> None:
    group = add.group("workflows", _("workflows and what belongs to them"))
    listing = group.command("list", _("all workflows, the latest first"), "workflows:list_", needs=DATABASE)
    listing.add_argument("--search", metavar="TEXT", default="", help=_("only those whose name contains this"))
    listing.add_argument("--limit", metavar="N", type=number(int, least=1, name="--limit"), default=100)
    listing.add_argument("--offset", metavar="N", type=number(int, least=0, name="--offset"), default=0)
    show = group.command("show", _("the messages of a workflow"), "workflows:show", needs=DATABASE)
    add_id(show, "id", "workflow")
    show.add_argument("--limit", metavar="N", type=number(int, least=1, name="--limit"), default=100, help=_("newest messages"))
    search = group.command("search", _("search messages, tool calls, reports and memories"), "workflows:search", needs=DATABASE)
    search.add_argument("text", metavar="TEXT")
    search.add_argument("--limit", metavar="N", type=number(int, least=1, name="--limit"), default=50)
    export = group.command("export", _("a workflow as JSON or Markdown, to standard output"), "workflows:export", needs=DATABASE)
    add_id(export, "id", "workflow")
    export.add_argument("--format", choices=("json", "md"), default="json")
    imported = group.command("import", _("bring an exported workflow back"), "workflows:import_")
    imported.add_argument("file", metavar="FILE")
    imported.add_argument("--on-conflict", choices=("skip", "overwrite", "rename"), default="rename")
    delete = group.command("delete", _("remove a workflow and everything in it"), "workflows:delete")
    add_id(delete, "id", "workflow")
    fork = group.command("fork", _("a new workflow with everything up to an event"), "workflows:fork")
    add_id(fork, "id", "workflow")
    fork.add_argument(
        "--at", metavar="SEQ", type=number(int, least=1, name="--at"), required=True, help=_("number of the last event it keeps")
    )
    replay = group.command("replay", _("the stored events again: no model, no tool"), "workflows:replay")
    add_id(replay, "id", "workflow")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    workflows = await atelier.workflows.list(arguments.search, arguments.limit, arguments.offset)
    if out.json:
        data(out, [workflow.model_dump(mode="json") for workflow in workflows])
        return 0
    rows = [(each.id, _(STATES[each.status.value]), f"{each.updated_at:%Y-%m-%d %H:%M}", each.name) for each in workflows]
    table(out, rows, (_("id"), _("status"), _("changed"), _("name")))
    return 0


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data
    from atelier_desk.engine.services.workflow.file import to_markdown

    workflow = await atelier.workflows.get(arguments.id)
    entries = await atelier.workflows.transcript(workflow.id, limit=arguments.limit)
    tasks = await atelier.tasks.list(workflow.id)
    if not out.json:
        out.write(to_markdown(workflow, entries, tasks))
        return 0
    turns = [
        {
            "message": entry.message.model_dump(mode="json"),
            "calls": [call.model_dump(mode="json") for call in entry.calls],
            "questions": [asked.model_dump(mode="json") for asked in entry.questions],
        }
        for entry in entries
    ]
    data(
        out, {"workflow": workflow.model_dump(mode="json"), "transcript": turns, "tasks": [task.model_dump(mode="json") for task in tasks]}
    )
    return 0


async def search(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    hits = await atelier.workflows.search(arguments.text, arguments.limit)
    if out.json:
        fields = ("kind", "workflow_id", "workflow_name", "row_id", "seq", "excerpt")
        data(out, [{name: getattr(hit, name) for name in fields} for hit in hits])
        return 0
    table(out, [(hit.kind, hit.workflow_id or "", hit.workflow_name or "", hit.excerpt) for hit in hits],
          (_("kind"), _("workflow"), _("name"), _("text")))  # fmt: skip
    return 0


async def export(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    text = await atelier.workflows.export(arguments.id, arguments.format)
    if arguments.format == "json":
        for name in await atelier.workflows.changed_reports(arguments.id):
            out.note(
                _(
                    "The report {name} was damaged or changed by another program. The copy has it as it is now, or not when it is missing.",
                    name=name,
                ),
                "warn",
            )
    if out.json and arguments.format == "md":
        from atelier_desk.cli.output import data

        data(out, {"format": "md", "content": text})
        return 0
    out.write(text if text.endswith("\n") else text + "\n")
    return 0


async def import_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.files import read_text
    from atelier_desk.cli.output import data, line

    imported = await atelier.workflows.import_(await read_text(out, arguments.file), arguments.on_conflict)
    if out.json:
        data(out, {"action": imported.action, "workflow": imported.workflow.model_dump(mode="json")})
        return 0
    labels = {"created": _("imported"), "overwritten": _("overwritten"), "renamed": _("imported as a copy"), "skipped": _("left as it was")}
    line(out, f"{imported.workflow.id}  {imported.workflow.name}  ({labels[imported.action]})")
    return 0


async def delete(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    workflow = await atelier.workflows.get(arguments.id)
    removed = await atelier.workflows.purge(workflow.id)
    if out.json:
        data(out, {"deleted": workflow.id, "rows": removed})
    else:
        line(out, _("Deleted {name}", name=workflow.name))
    return 0


async def fork(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    forked = await atelier.runs.fork(arguments.id, arguments.at)
    if out.json:
        data(out, forked.model_dump(mode="json"))
    else:
        line(out, f"{forked.id}  {forked.name}")
    return 0


async def replay(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.render import TextRenderer, renderer_for

    renderer = renderer_for(out)
    workflow = await atelier.workflows.get(arguments.id)
    async for event in atelier.runs.replay(workflow.id):
        renderer.show(event)
    if isinstance(renderer, TextRenderer):
        renderer.finish()
    return 0
