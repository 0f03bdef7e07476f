"""The grammar of ``atelier tools own``."""

from __future__ import annotations

from atelier_desk.cli.parser import AddCommands
from atelier_desk.support.i18n import _


def register(tools: AddCommands) -> None:
    own = tools.group("own", _("your own tool files"), module="own_tools")
    own.command("list", _("list the files in the tools folder"))
    confirm = own.command("confirm", _("confirm a file you have reviewed, so that it is loaded"))
    confirm.add_argument("file", help=_("name of the file in the tools folder"))
    confirm.add_argument(
        "--sha256",
        metavar="H",
        help=_("the SHA-256 of the file you reviewed; a file with different content is refused"),
    )
    revoke = own.command("revoke", _("revoke the confirmation of a file"))
    revoke.add_argument("file", help=_("name of the file in the tools folder"))
