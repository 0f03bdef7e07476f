"""The grammar of ``atelier workflows``."""

from __future__ import annotations

from atelier_desk.cli.command_arguments.shared_options import (
    add_model_options,
    add_profile_option,
    add_workspace_option,
)
from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import DATABASE, AddCommands, flag, limit, number
from atelier_desk.domain import limits
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("workflows")
    listing = group.command("list", _("list all workflows, latest first"), needs=DATABASE)
    listing.add_argument("--search", metavar="TEXT", default="", help=_("only workflows whose name contains this text"))
    listing.add_argument("--folder", metavar="NAME", help=_("only workflows in this folder"))
    flag(listing, "--archived", _("only archived workflows"))
    limit(listing, 100)
    listing.add_argument("--offset", metavar="N", type=number(int, least=0), default=0)
    show = group.command(
        "show", _("show the messages of a workflow"), handler="workflow_messages_and_branches:show", needs=DATABASE
    )
    add_id(show, "id", "workflow")
    limit(show, 100, _("how many of the latest messages to show"))
    search = group.command("search", _("search messages, tool calls, reports and memories"), needs=DATABASE)
    search.add_argument("text")
    limit(search, 50)
    title = group.command("title", _("rename a workflow; without a name, its model generates a title"))
    add_id(title, "id", "workflow")
    title.add_argument("text", nargs="?", default="")
    move = group.command("move", _("move a workflow to a folder"))
    add_id(move, "id", "workflow")
    move.add_argument(
        "folder", metavar="NAME", nargs="?", default="", help=_("if omitted, the workflow is removed from its folder")
    )
    archive = group.command("archive", _("archive a workflow"))
    add_id(archive, "id", "workflow")
    flag(archive, "--undo", _("unarchive the workflow"))
    stop = group.command("stop", _("stop the current turn of a workflow; completed work is kept"))
    add_id(stop, "id", "workflow")
    export = group.command(
        "export", _("export a workflow as Word, HTML, Markdown or JSON, to a file or standard output"), needs=DATABASE
    )
    add_id(export, "id", "workflow")
    formats = _(
        "default: the extension of --output, or json. Only json can be imported; pdf is available only in "
        "the desktop app"
    )
    export.add_argument("--format", choices=("docx", "html", "json", "md", "pdf"), help=formats)
    export.add_argument(
        "--output", metavar="FILE", default="", help=_("a new file to write to, instead of standard output")
    )
    imported = group.command(
        "import", _("import an exported workflow, or chats exported by ChatGPT, Claude, Open WebUI or LibreChat")
    )
    imported.add_argument(
        "file", help=_("a JSON file or, for chats, the downloaded ZIP; - reads a workflow from standard input")
    )
    flag(imported, "--dry-run", _("list the chats in the file and show which are new, without importing anything"))
    imported.add_argument(
        "--chat", metavar="ID", action="append", default=[], help=_("import only this chat from the list (repeatable)")
    )
    imported.add_argument("--on-conflict", choices=("skip", "overwrite", "rename"), default="rename")
    days = limits.DELETED_DAYS
    what = _("delete a workflow and its contents; it can be restored for {n} days", n=days)
    delete = group.command("delete", what)
    add_id(delete, "id", "workflow")
    flag(delete, "--for-good", _("delete permanently; also works if it was already deleted"))
    deleted = group.command("deleted", _("list deleted workflows that can be restored"), needs=DATABASE)
    limit(deleted, 100)
    restore = group.command("restore", _("restore a deleted workflow"))
    add_id(restore, "id", "workflow")
    fork = group.command("fork", _("fork a workflow at an event"), handler="workflow_messages_and_branches:fork")
    add_id(fork, "id", "workflow")
    fork.add_argument(
        "--at", metavar="SEQ", type=number(int, least=1), required=True, help=_("number of the last event to copy")
    )
    choose = group.command("choose", _("choose a workflow's agent, model, limits and folders"))
    add_id(choose, "id", "workflow")
    add_workspace_option(choose)
    add_model_options(choose)
    flag(choose, "--reset", _("reset to the agent's own model, limits and permissions first"))
    choose.add_argument(
        "--instructions", metavar="TEXT", help=_("text to add to the agent's instructions; empty for none")
    )
    add_profile_option(choose)
    choose.add_argument("--max-cost", metavar="USD", type=number(float, least=0), help=_("stop each run at this cost"))
    choose.add_argument(
        "--max-tokens", metavar="N", type=number(int, least=1), help=_("stop each run at this many tokens")
    )
    pins = group.command(
        "pins",
        _("list the pinned messages of a workflow"),
        handler="workflow_messages_and_branches:pins",
        needs=DATABASE,
    )
    add_id(pins, "id", "workflow")
    pin = group.command(
        "pin",
        _("pin a message, so that it is listed and always sent to the model"),
        handler="workflow_messages_and_branches:pin",
    )
    pin.add_argument(
        "message", help=_("message id, as shown by `atelier workflows show --json` and `atelier workflows search`")
    )
    flag(pin, "--off", _("remove the pin"))
    branch = group.command(
        "branch", _("fork a workflow after a message"), handler="workflow_messages_and_branches:branch"
    )
    branch.add_argument("message")
    again = group.command(
        "regenerate",
        _("regenerate a turn; the old answer is kept as a version"),
        handler="workflow_messages_and_branches:regenerate",
    )
    add_id(again, "id", "workflow")
    again.add_argument("--run", metavar="RUN", default="", help=_("the turn to regenerate; default: the latest"))
    again.add_argument("--provider", metavar="NAME", default="", help=_("with --model: the model's provider"))
    again.add_argument("--model", metavar="NAME", default="", help=_("use this model once"))
    delete_branch = group.command(
        "delete-branch",
        _("delete a branch (a version of a turn and everything after it); it can be restored for {n} days", n=days),
        handler="workflow_messages_and_branches:delete_branch",
    )
    add_id(delete_branch, "id", "workflow")
    delete_branch.add_argument("run", help=_("the first turn of the branch"))
    flag(delete_branch, "--undo", _("restore a deleted branch"))
    replay = group.command(
        "replay",
        _("replay the stored events without calling models or tools"),
        handler="workflow_messages_and_branches:replay",
    )
    add_id(replay, "id", "workflow")
