"""The grammar of ``atelier settings``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("settings")
    group.command("list", _("list all settings and their values"), needs=DATABASE)
    get = group.command("get", _("show the value of a setting"), needs=DATABASE)
    get.add_argument("key")
    change = group.command("set", _("change a setting; applies at once"))
    change.add_argument("key")
    change.add_argument("value", help=_("a JSON value or plain text"))
