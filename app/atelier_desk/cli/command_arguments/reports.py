"""The grammar of ``atelier reports``."""

from __future__ import annotations

from atelier_desk.cli.parser import AddCommands
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("reports")
    listing = group.command("list", _("list the reports of a workflow"))
    show = group.command("show", _("show a report; fails if its file was changed"))
    accept = group.command("accept", _("accept a report's file after another program changed it"))
    for command in (listing, show, accept):
        command.add_argument("workflow", help=_("id of the workflow"))
    for command in (show, accept):
        command.add_argument("name")
