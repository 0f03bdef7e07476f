"""The grammar of ``atelier mcp import``."""

from __future__ import annotations

from atelier_desk.cli.parser import AddCommands
from atelier_desk.support.i18n import _


def register(group: AddCommands) -> None:
    """Add the command to the group ``mcp``."""
    read = group.command(
        "import",
        _("find servers in a file, at a link or in programs on this computer; add them with --add"),
        handler="mcp_import:import_",
    )
    read.add_argument(
        "source",
        metavar="FILE|LINK",
        nargs="?",
        help=_(
            "another program's configuration file, a server.json, a bundle (.mcpb), a link, or - for standard "
            "input; if omitted, this computer is searched"
        ),
    )
    read.add_argument("--workspace", metavar="DIR", action="append", help=_("also look in this folder (repeatable)"))
    read.add_argument("--add", metavar="NAME", nargs="*", help=_("add these servers, or all if no name is given"))
    read.add_argument(
        "--value", metavar="NAME=VALUE", action="append", help=_("a value that a server needs (repeatable)")
    )
