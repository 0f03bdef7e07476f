"""The grammar of ``atelier mcp``."""

from __future__ import annotations

import argparse

from atelier_desk.cli.command_arguments import mcp_import
from atelier_desk.cli.parser import DATABASE, ENGINE, TOOLS, AddCommands, flag, limit, number, several
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("mcp")

    def of_one(name: str, help: str, needs: str = ENGINE) -> argparse.ArgumentParser:
        """A command whose first argument is a server's name."""
        command = group.command(name, help, needs=needs)
        command.add_argument("name")
        return command

    group.command("list", _("list all servers"), needs=TOOLS)
    _register_add(group)
    of_one("remove", _("remove a server and its secrets"))
    test_ = of_one("test", _("start a server, and compare its tools with what was approved"))
    flag(test_, "--log", _("also show what the server logs"))
    state = group.command("status", _("show the status of the servers; running ones are pinged"), needs=TOOLS)
    state.add_argument("names", metavar="NAME", nargs="*", help=_("only these servers; default: all"))
    of_one("restart", _("restart a server"))
    folders = of_one("roots", _("show or change the folders shared with a server (roots)"))
    several(folders, "--add", "DIR", _("share a folder (repeatable)"))
    several(folders, "--remove", "DIR", _("stop sharing a folder (repeatable)"))
    offered = of_one("tools", _("list a server's tools and their changes since approval"), TOOLS)
    offered.add_argument(
        "--approve",
        metavar="TOOL",
        nargs="*",
        help=_("approve the current versions of these tools, or of all tools if no name is given"),
    )
    offered.add_argument("--on", metavar="TOOL", action="append", help=_("enable a tool (repeatable)"))
    offered.add_argument("--off", metavar="TOOL", action="append", help=_("disable a tool (repeatable)"))
    made = of_one("calls", _("list the latest calls to a server's tools"), DATABASE)
    limit(made, 20, _("maximum number of calls (default: 20)"))
    of_one("resources", _("list a server's resources and resource templates"), TOOLS)
    content = of_one("read", _("read a resource of a server"))
    content.add_argument("uri", help=_("the address of the resource; --value fills in the parts in braces"))
    content.add_argument(
        "--value",
        metavar="NAME=VALUE",
        action="append",
        help=_("a value for one of the parts in braces (repeatable)"),
    )
    of_one("on", _("enable a server"))
    of_one("off", _("disable a server"))
    of_one("login", _("sign in to a server in the browser"))
    of_one("logout", _("sign out of a server"))
    of_one("give", _("give all tools of a server to an agent")).add_argument("agent")
    of_one("take", _("remove a server's tools from an agent")).add_argument("agent")
    group.command("serve", _("run as an MCP server over standard input and output"))
    mcp_import.register(group)


def _register_add(group: AddCommands) -> None:
    added = group.command("add", _("configure a server, and start it to see its tools"))
    added.add_argument("name")
    how = added.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "--command",
        dest="line",
        metavar="WORD",
        nargs=argparse.REMAINDER,
        help=_("the program and its arguments; must be the last option"),
    )
    how.add_argument("--url", metavar="U", help=_("the address of a server reached over HTTP"))
    added.add_argument(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        help=_(
            "an environment variable for the program; values that look like secrets are stored in the keyring "
            "(repeatable)"
        ),
    )
    added.add_argument(
        "--secret",
        metavar="NAME=VALUE",
        action="append",
        help=_("a variable whose value is stored in the keyring (repeatable)"),
    )
    added.add_argument(
        "--header",
        metavar="'NAME: VALUE'",
        action="append",
        help=_(
            "a header sent with each request; for $VARIABLE, only the name is stored; any other value is "
            "stored in the keyring (repeatable)"
        ),
    )
    added.add_argument(
        "--client-id", metavar="ID", default="", help=_("id of an OAuth client that you registered yourself")
    )
    added.add_argument(
        "--client-secret", metavar="SECRET", default="", help=_("secret of the OAuth client; stored in the keyring")
    )
    added.add_argument(
        "--scopes",
        metavar="'A B'",
        default="",
        help=_("scopes to request at sign-in; default: those that the server asks for"),
    )
    added.add_argument(
        "--folder", metavar="DIR", default="", help=_("folder the program starts in; default: your home folder")
    )
    flag(added, "--sandbox", _("sandbox the server: it can write only in its folder and cannot read secrets"))
    flag(
        added, "--older-protocol", _("use a protocol revision before 2026-07-28 even if the server offers a newer one")
    )
    added.add_argument(
        "--timeout",
        metavar="S",
        type=number(float, least=1),
        default=30.0,
        help=_("maximum duration of a call in seconds (default: 30)"),
    )
    added.add_argument(
        "--agent", metavar="NAME", action="append", help=_("give the server's tools to this agent (repeatable)")
    )
    flag(added, "--no-test", _("add the server without starting it"))
