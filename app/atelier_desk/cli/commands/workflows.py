"""``atelier workflows``: list, show, search, title, move, archive, export, import, delete, fork and replay."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.agent_options import add_model_options, add_profile_option, add_workspace_option, grant, workspace
from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder, number
from atelier_desk.domain import limits
from atelier_desk.domain.text import shorten
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.workflow import Workflow
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.storage.repositories import SearchHit

STATES = {
    "idle": "-",
    "running": N_("running"),
    "waiting": N_("waiting for you"),
    "paused": N_("paused"),
    "interrupted": N_("interrupted"),
    "completed": N_("completed"),
    "error": N_("failed"),
}
"""The states of a workflow for people; one without a turn has none."""
FOUND = 60
"""Characters of what a call did in a table."""


def register(add: Adder) -> None:
    group = add.group("workflows", _("workflows and what belongs to them"))
    listing = group.command("list", _("all workflows, the latest first"), "workflows:list_", needs=DATABASE)
    listing.add_argument("--search", metavar="TEXT", default="", help=_("only those whose name contains this"))
    listing.add_argument("--folder", metavar="NAME", help=_("only those in this folder of the list"))
    listing.add_argument("--archived", action="store_true", help=_("only those in the archive"))
    listing.add_argument("--limit", metavar="N", type=number(int, least=1), default=100)
    listing.add_argument("--offset", metavar="N", type=number(int, least=0), default=0)
    show = group.command("show", _("the messages of a workflow"), "workflows:show", needs=DATABASE)
    add_id(show, "id", "workflow")
    show.add_argument("--limit", metavar="N", type=number(int, least=1), default=100, help=_("newest messages"))
    search = group.command("search", _("search messages, tool calls, reports and memories"), "workflows:search", needs=DATABASE)
    search.add_argument("text", metavar="TEXT")
    search.add_argument("--limit", metavar="N", type=number(int, least=1), default=50)
    title = group.command("title", _("rename a workflow; without a text, its model generates a title"), "workflows:title")
    add_id(title, "id", "workflow")
    title.add_argument("text", metavar="TEXT", nargs="?", default="")
    move = group.command("move", _("move a workflow to a folder"), "workflows:move")
    add_id(move, "id", "workflow")
    move.add_argument("folder", metavar="NAME", nargs="?", default="", help=_("omit to remove it from its folder"))
    archive = group.command("archive", _("archive a workflow"), "workflows:archive")
    add_id(archive, "id", "workflow")
    archive.add_argument("--undo", action="store_true", help=_("unarchive it"))
    stop = group.command("stop", _("stop the current turn of a workflow; completed work is kept"), "workflows:stop")
    add_id(stop, "id", "workflow")
    export = group.command("export", _("a workflow as JSON or Markdown, to standard output"), "workflows:export", needs=DATABASE)
    add_id(export, "id", "workflow")
    export.add_argument("--format", choices=("json", "md"), default="json")
    imported = group.command("import", _("import an exported workflow"), "workflows:import_")
    imported.add_argument("file", metavar="FILE")
    imported.add_argument("--on-conflict", choices=("skip", "overwrite", "rename"), default="rename")
    days = limits.DELETED_DAYS
    what = _("delete a workflow and its contents; it can be restored for {n} days", n=days)
    delete = group.command("delete", what, "workflows:delete")
    add_id(delete, "id", "workflow")
    delete.add_argument("--for-good", action="store_true", help=_("delete permanently, also an already deleted one"))
    deleted = group.command("deleted", _("list deleted workflows that can be restored"), "workflows:deleted", needs=DATABASE)
    deleted.add_argument("--limit", metavar="N", type=number(int, least=1), default=100)
    restore = group.command("restore", _("restore a deleted workflow"), "workflows:restore")
    add_id(restore, "id", "workflow")
    fork = group.command("fork", _("fork a workflow at an event"), "workflows:fork")
    add_id(fork, "id", "workflow")
    fork.add_argument("--at", metavar="SEQ", type=number(int, least=1), required=True, help=_("number of the last event it keeps"))
    choose = group.command("choose", _("choose a workflow's agent, model, limits and folders"), "workflows:choose")
    add_id(choose, "id", "workflow")
    add_workspace_option(choose)
    add_model_options(choose)
    choose.add_argument("--reset", action="store_true", help=_("reset to the agent's own model, limits and approvals first"))
    choose.add_argument("--instructions", metavar="TEXT", help=_("what is added to the agent's instructions; empty for nothing"))
    add_profile_option(choose)
    choose.add_argument("--max-cost", metavar="USD", type=number(float, least=0), help=_("stop each turn at this cost"))
    choose.add_argument("--max-tokens", metavar="N", type=number(int, least=1), help=_("stop each turn at this many tokens"))
    pins = group.command("pins", _("the pinned messages of a workflow"), "workflows:pins", needs=DATABASE)
    add_id(pins, "id", "workflow")
    pin = group.command("pin", _("pin a message, so that it is listed and always sent to the model"), "workflows:pin")
    pin.add_argument("message", metavar="MESSAGE", help=_("id of a message, as `workflows show --json` and `workflows search` give it"))
    pin.add_argument("--off", action="store_true", help=_("unpin"))
    branch = group.command("branch", _("fork into a new workflow after a message"), "workflows:branch")
    branch.add_argument("message", metavar="MESSAGE")
    again = group.command("regenerate", _("regenerate a turn; the old answer is kept as a version"), "workflows:regenerate")
    add_id(again, "id", "workflow")
    again.add_argument("--run", metavar="RUN", default="", help=_("the turn to regenerate; default: the latest"))
    again.add_argument("--provider", metavar="NAME", default="", help=_("with --model: its provider"))
    again.add_argument("--model", metavar="NAME", default="", help=_("use this model once"))
    delete_branch = group.command(
        "delete-branch",
        _("delete a version of a turn and what follows; it can be restored for {n} days", n=days),
        "workflows:delete_branch",
    )
    add_id(delete_branch, "id", "workflow")
    delete_branch.add_argument("run", metavar="RUN", help=_("the run of the turn"))
    delete_branch.add_argument("--undo", action="store_true", help=_("restore it"))
    replay = group.command("replay", _("replay the stored events without calling models or tools"), "workflows:replay")
    add_id(replay, "id", "workflow")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, first, moment, table

    only = {"archived": arguments.archived, "collection": arguments.folder}
    found = await atelier.workflows.list(arguments.search, arguments.limit + 1, arguments.offset, **only)
    workflows = first(out, found, arguments.limit)
    if out.json:
        data(out, [workflow.model_dump(mode="json") for workflow in workflows])
        return 0
    rows = [(each.id, _(STATES[each.status.value]), moment(each.updated_at), each.name) for each in workflows]
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
        fields = ("kind", "workflow_id", "workflow_name", "row_id", "seq", "excerpt", "run_id", "message_id", "who", "tool")
        data(out, [{**{name: getattr(hit, name) for name in fields}, "at": hit.at.isoformat()} for hit in hits])
        return 0
    if not hits:
        out.note(_("No results in messages, tool calls, reports and memories"))
    rows = [(_found(hit), hit.workflow_id or "", hit.workflow_name or "", " ".join(hit.excerpt.split())) for hit in hits]
    table(out, rows, (_("what"), _("workflow"), _("name"), _("text")))
    return 0


def _found(hit: SearchHit) -> str:
    """What a hit is, in words: a call by what it did."""
    if hit.kind == "tool_execution":
        text = hit.presentation.words(over=True).localized(_) or _(hit.presentation.title) or hit.tool
        return shorten(text, FOUND)
    return {
        "message": hit.who or (_("Message to {agent}", agent=hit.to) if hit.to else _("You")),
        "report": _("Report"),
        "memory": _("Memory"),
    }.get(hit.kind, hit.kind)


async def title(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    workflow_id, text = arguments.id, arguments.text
    named = atelier.workflows.rename(workflow_id, text) if text else atelier.runs.titles.suggest(workflow_id)
    return _changed(await named, out)


async def move(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return _changed(await atelier.workflows.move(arguments.id, arguments.folder), out)


async def archive(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return _changed(await atelier.workflows.set_archived(arguments.id, not arguments.undo), out)


def _changed(workflow: Workflow, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    if out.json:
        data(out, workflow.model_dump(mode="json"))
    else:
        place = _("archive") if workflow.archived else workflow.collection
        line(out, f"{workflow.id}  {workflow.name}" + (f"  ({place})" if place else ""))
    return 0


async def stop(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    workflow = await atelier.workflows.get(arguments.id)
    run_id = await atelier.workflows.active(workflow.id)
    await atelier.workflows.stop(workflow.id)
    told = (
        _("Stopped: {name}", name=workflow.name) if run_id else _("Nothing to stop: the last turn of {name} has ended.", name=workflow.name)
    )
    outcome(out, {"workflow": workflow.id, "stopped": run_id}, told)
    return 0


async def export(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 1 also when rows of the workflow are damaged: all else is written."""
    from atelier_desk.storage.damage import LEFT_OUT

    text = await atelier.workflows.export(arguments.id, arguments.format)
    if arguments.format == "json":
        for name in await atelier.workflows.exporting.changed_reports(arguments.id):
            out.note(
                _(
                    "The report {name} was damaged or changed by another program. The copy has it as it is now, or not when it is missing.",
                    name=name,
                ),
                "warn",
            )
        for name in await atelier.workflows.left_out_files(arguments.id):
            out.note(_("The file {name} is not in the export: it is missing, damaged or too large.", name=name), "warn")
    damaged = await atelier.workflows.exporting.damaged_rows(arguments.id)
    for each in damaged:
        out.note(each.error().localized(_), "warn")
    if damaged:
        out.note(_(LEFT_OUT), "warn")
    status = 1 if damaged else 0
    if out.json and arguments.format == "md":
        from atelier_desk.cli.output import data

        data(out, {"format": "md", "content": text})
        return status
    out.write(text if text.endswith("\n") else text + "\n")
    return status


async def import_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.files import read_text
    from atelier_desk.cli.output import data, line
    from atelier_desk.cli.progress import noted_when_slow

    text = await read_text(out, arguments.file)
    steps = {"checking": _("Checking the file…"), "storing": _("Storing the workflow; this cannot be interrupted…")}
    async with noted_when_slow(out, steps["checking"]) as say:
        imported = await atelier.workflows.import_(text, arguments.on_conflict, lambda step: say(steps[step]))
    for folder in imported.workspace:
        out.note(
            _("The folder {folder} is not granted: a file cannot grant one. To grant it, run with --workspace.", folder=folder), "warn"
        )
    if out.json:
        data(out, {"action": imported.action, "workflow": imported.workflow.model_dump(mode="json")})
        return 0
    labels = {"created": _("imported"), "overwritten": _("overwritten"), "renamed": _("imported as a copy"), "skipped": _("skipped")}
    line(out, f"{imported.workflow.id}  {imported.workflow.name}  ({labels[imported.action]})")
    return 0


async def delete(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import note_bytes_left, outcome

    workflow = await atelier.workflows.get(arguments.id)
    if arguments.for_good:
        removed = await atelier.workflows.purge(workflow.id)
        outcome(out, {"deleted": workflow.id, "rows": removed}, _("Permanently deleted: {name}", name=workflow.name))
        note_bytes_left(out)
    else:
        await atelier.workflows.delete(workflow.id)
        told = _(
            "Deleted {name}. To restore it within {n} days: atelier workflows restore {workflow}",
            name=workflow.name,
            n=limits.DELETED_DAYS,
            workflow=workflow.id,
        )
        outcome(out, {"deleted": workflow.id}, told)
    return 0


async def deleted(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, first, moment, table

    found = first(out, await atelier.workflows.list(limit=arguments.limit + 1, deleted=True), arguments.limit)
    if out.json:
        data(out, [workflow.model_dump(mode="json") for workflow in found])
        return 0
    table(
        out,
        [(each.id, moment(each.deleted_at) if each.deleted_at else "", each.name) for each in found],
        (_("id"), _("deleted"), _("name")),
    )
    return 0


async def restore(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return _changed(await atelier.workflows.undo_delete(arguments.id), out)


async def fork(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    forked = await atelier.runs.fork(arguments.id, arguments.at)
    outcome(out, forked.model_dump(mode="json"), f"{forked.id}  {forked.name}")
    return 0


async def choose(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.agent_options import chosen_model
    from atelier_desk.cli.output import outcome
    from atelier_desk.domain.agent import Choices
    from atelier_desk.domain.errors import NotFoundError
    from atelier_desk.engine.services.common import checks

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
    changes: dict[str, Any] = {} if arguments.instructions is None else {"instructions": arguments.instructions}
    if arguments.approval is not None:
        from atelier_desk.profile_words import mode_of

        changes["approval"] = mode_of(arguments.approval)
    caps = {name: getattr(arguments, name) for name in ("max_cost", "max_tokens") if getattr(arguments, name) is not None}
    if caps:
        changes["budget"] = choices.budget.model_copy(update=caps)
    workflow = await atelier.workflows.choose(workflow.id, checks.changed(choices, _("workflow"), **changes), agent_id=agent.id)
    outcome(out, workflow.model_dump(mode="json"), f"{workflow.name}: {agent.name}, {workflow.choices.model or agent.config.model}")
    return 0


async def pins(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, moment, table

    found = await atelier.messages.pinned(arguments.id)
    if out.json:
        data(out, [message.model_dump(mode="json") for message in found])
        return 0
    rows = [(each.id, moment(each.created_at), each.agent_name or _("You"), " ".join(each.content.split())[:80]) for each in found]
    table(out, rows, (_("id"), _("time"), _("who"), _("text")))
    return 0


async def pin(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    message = await atelier.messages.set_pinned(arguments.message, not arguments.off)
    outcome(out, message.model_dump(mode="json"), _("Pinned") if message.pinned else _("Unpinned"))
    return 0


async def branch(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    made = await atelier.messages.branch_here(arguments.message)
    outcome(out, made.model_dump(mode="json"), f"{made.id}  {made.name}")
    return 0


async def regenerate(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.errors import UsageError

    if bool(arguments.model) != bool(arguments.provider):
        raise UsageError(_("--provider and --model go together."))
    workflow = await atelier.workflows.get(arguments.id)
    turn = arguments.run or workflow.head_run_id or ""
    if turn:
        await _tell_again(atelier, turn, out)
    run_id = await atelier.runs.regenerate(workflow.id, turn, provider=arguments.provider, model=arguments.model)
    run = await atelier.runs.wait(run_id)
    if out.json:
        data(out, run.model_dump(mode="json"))
        return 0
    said = [entry.message for entry in await atelier.workflows.transcript(workflow.id) if entry.message.run_id == run_id]
    line(out, said[-1].content if said and said[-1].role.value != "user" else "")
    return 0


async def _tell_again(atelier: Atelier, run_id: str, out: Output) -> None:
    """Say what is done once more with the turn: before it is, so that Ctrl-C still helps."""
    from atelier_desk.domain.workflow import QUEUED, MessageRole
    from atelier_desk.engine.again_words import CHANGES, changed_words, repeated_words

    turn = await atelier.teams.transcript(run_id)
    said = sum(entry.message.role is MessageRole.USER and entry.message.kind != QUEUED for entry in turn)
    done = sum(call.status == "ok" and call.effect in CHANGES for entry in turn for call in entry.calls)
    for text in filter(None, (repeated_words(said - 1), changed_words(done))):
        out.note(text, "warn")


async def delete_branch(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    act = atelier.workflows.undo_delete_branch if arguments.undo else atelier.workflows.delete_branch
    workflow = await act(arguments.id, arguments.run)
    outcome(out, workflow.model_dump(mode="json"), _("Branch restored") if arguments.undo else _("Branch deleted"))
    return 0


async def replay(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.render import TextRenderer, renderer_for

    renderer = renderer_for(out)
    workflow = await atelier.workflows.get(arguments.id)
    try:
        async for event in atelier.runs.replay(workflow.id):
            renderer.show(event)
    finally:
        if isinstance(renderer, TextRenderer):
            renderer.finish()
    return 0
