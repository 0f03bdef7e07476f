"""The grammar of ``atelier tasks``."""

from __future__ import annotations

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import DATABASE, AddCommands, limit, number
from atelier_desk.support.i18n import _

STATUSES = ("pending", "in_progress", "completed", "blocked")


def register(add: AddCommands) -> None:
    group = add.group("tasks")
    listing = group.command(
        "list",
        _("list the open tasks of all workflows, most urgent first; for completed tasks, use --status"),
        needs=DATABASE,
    )
    add_id(
        listing,
        "--workflow",
        "workflow",
        help=_("only this workflow's tasks, including completed ones, in the order of its task list"),
    )
    listing.add_argument("--status", choices=STATUSES, help=_("only tasks with this status"))
    limit(listing, 100)
    listing.add_argument("--offset", metavar="N", type=number(int, least=0), default=0)
