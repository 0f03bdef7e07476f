"""The grammar of ``atelier queue``."""

from __future__ import annotations

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import AddCommands, number
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("queue")
    listing = group.command("list", _("list queued messages, the next one first"))
    add_id(listing, "workflow", "workflow")
    for name, help in (
        ("edit", _("edit a queued message")),
        ("move", _("move a queued message")),
        ("remove", _("remove a queued message")),
        ("send", _("send a queued message now, interrupting the turn")),
    ):
        command = group.command(name, help)
        add_id(command, "workflow", "workflow")
        command.add_argument(
            "number",
            metavar="N",
            type=number(int, least=1),
            help=_("position of the message, as shown by `atelier queue list`"),
        )
        if name == "edit":
            command.add_argument("text")
        elif name == "move":
            command.add_argument("to", type=number(int, least=1), help=_("new position of the message"))
