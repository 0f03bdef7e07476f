"""The grammar of ``atelier commands``."""

from __future__ import annotations

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import DATABASE, AddCommands, number
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("commands", module="background_commands")
    listing = group.command("list", _("list the running commands, oldest first"), needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("only this workflow"))
    output = group.command("output", _("show the output of a command"))
    output.add_argument("--offset", metavar="N", type=number(int, least=0), default=0, help=_("start at this byte"))
    given = group.command("input", _("send a line of input to a command"))
    stop = group.command("stop", _("stop a command and its child processes"))
    for command in (output, given, stop):
        command.add_argument("command_id", metavar="COMMAND", help=_("id of the command (can be abbreviated)"))
    given.add_argument("text")
