"""The grammar of ``atelier questions``."""

from __future__ import annotations

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import DATABASE, AddCommands, flag, names, several
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("questions")
    listing = group.command("list", _("list the open questions, oldest first"), needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("only this workflow"))
    answer = group.command("answer", _("answer a question"))
    add_id(answer, "id", "question")
    answer.add_argument("--options", metavar="A,B", type=names, default=[], help=_("ids, labels or numbers of options"))
    answer.add_argument("--text", metavar="T", default="")
    several(answer, "--set", "NAME=VALUE", _("a value for a field of the server's form (repeatable)"))
    flag(answer, "--accept", _("accept a server's request; its form, if any, is sent with the default values"))
    flag(answer, "--decline", _("decline a server's request; to cancel it: atelier questions skip"))
    skip = group.command("skip", _("skip a question"))
    add_id(skip, "id", "question")
