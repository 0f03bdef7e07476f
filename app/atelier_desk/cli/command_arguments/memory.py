"""The grammar of ``atelier memory``."""

from __future__ import annotations

import argparse

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import DATABASE, AddCommands, flag, limit, names, number
from atelier_desk.domain import limits
from atelier_desk.support.i18n import _

TYPES = ("user_pref", "context", "knowledge", "decision")
MOST_DAYS = 36_500
SCOPES = ("workflow", "general", "both")


def register(add: AddCommands) -> None:
    group = add.group("memory")
    added = group.command("add", _("remember something"))
    added.add_argument("content", metavar="TEXT", help=_("what to remember; - reads standard input"))
    added.add_argument("--type", choices=TYPES, default="knowledge")
    add_id(added, "--workflow", "workflow", help=_("for this workflow only"))
    added.add_argument("--tags", metavar="A,B", type=names, default=[])
    added.add_argument("--importance", metavar="X", type=number(float, least=0), help=_("importance, from 0 to 1"))
    listing = group.command("list", _("list the memories, newest first"), needs=DATABASE)
    _filters(listing)
    listing.add_argument("--offset", metavar="N", type=number(int, least=0), default=0)
    search = group.command("search", _("find memories by meaning and keywords"))
    search.add_argument("query", metavar="TEXT")
    _filters(search)
    search.add_argument("--threshold", metavar="X", type=number(float, least=0), help=_("minimum relevance, 0 to 1"))
    proposed = group.command("proposed", _("list the memories that agents propose to share with all workflows"))
    add_id(proposed, "--workflow", "workflow", help=_("only this workflow"))
    limit(proposed, 20)
    ask = group.command("ask", _("let the model propose memories from a workflow's last turn"))
    add_id(ask, "workflow", "workflow")
    approve = group.command("keep", _("approve a proposed memory"))
    add_id(approve, "id", "memory")
    flag(approve, "--here", _("only for the workflow that the memory comes from"))
    flag(
        approve,
        "--undo",
        _("undo the approval; the memory returns to its workflow, or to the one given with --workflow"),
    )
    add_id(approve, "--workflow", "workflow")
    edit = group.command("edit", _("change a memory"))
    add_id(edit, "id", "memory")
    edit.add_argument("--text", metavar="TEXT", help=_("new text; - reads standard input"))
    edit.add_argument("--type", choices=TYPES)
    edit.add_argument("--tags", metavar="A,B", type=names)
    edit.add_argument("--importance", metavar="X", type=number(float, least=0), help=_("importance, from 0 to 1"))
    edit.add_argument("--expires", metavar=_("DAYS"), type=_days, help=_("days until the memory expires, or “never”"))
    pairs = group.command("pairs", _("list duplicate and contradictory memories"))
    add_id(pairs, "--workflow", "workflow", help=_("this workflow's memories and those for all workflows"))
    limit(pairs, 20)
    merge = group.command("merge", _("keep one of two memories and delete the other"))
    add_id(merge, "keep", "memory")
    add_id(merge, "other", "memory")
    both = group.command("both", _("keep both memories of a pair"))
    add_id(both, "first", "memory")
    add_id(both, "second", "memory")
    flag(both, "--undo", _("undo this: list both memories in `atelier memory pairs` again"))
    pin = group.command("pin", _("pin a memory so that it never expires"))
    add_id(pin, "id", "memory")
    flag(pin, "--off", _("remove the pin"))
    switch = group.command("switch", _("turn memory on or off for a workflow's agents"))
    add_id(switch, "workflow", "workflow")
    switch.add_argument("state", nargs="?", choices=("on", "off"), help=_("if omitted, the current state is shown"))
    delete = group.command("delete", _("delete a memory; it can be restored for {n} days", n=limits.DELETED_DAYS))
    add_id(delete, "id", "memory")
    flag(delete, "--for-good", _("delete permanently; also works if it was already deleted"))
    deleted = group.command(
        "deleted", _("list the deleted memories that can be restored, latest first"), needs=DATABASE
    )
    limit(deleted, 100)
    restore = group.command("restore", _("restore a deleted memory; this also undoes a merge"))
    add_id(restore, "id", "deleted memory")
    export = group.command("export", _("export the memories as JSON to standard output"), needs=DATABASE)
    add_id(export, "--workflow", "workflow", help=_("only this workflow"))
    imported = group.command("import", _("import exported memories"))
    imported.add_argument("file")
    imported.add_argument("--on-conflict", choices=("skip", "overwrite", "rename"), default="skip")
    reembed = group.command("reembed", _("compute missing embeddings"))
    only = reembed.add_mutually_exclusive_group()
    flag(only, "--status", _("only show the progress"))
    flag(only, "--pause", _("pause the computation"))
    flag(only, "--resume", _("continue the computation in the background"))


def _days(text: str) -> int:
    if text == "never":
        return 0
    days = number(int, least=1)(text)
    if days > MOST_DAYS:
        raise argparse.ArgumentTypeError(_("1 to {most} days, or never", most=MOST_DAYS))
    return int(days)


def _filters(parser: argparse.ArgumentParser) -> None:
    add_id(parser, "--workflow", "workflow", help=_("this workflow's memories and the general ones (see --scope)"))
    parser.add_argument("--scope", choices=SCOPES, default="both")
    parser.add_argument("--type", choices=TYPES)
    parser.add_argument("--tags", metavar="A,B", type=names, default=[])
    limit(parser, 10)
