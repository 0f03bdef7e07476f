"""The grammar of ``atelier tools``."""

from __future__ import annotations

from atelier_desk.cli.command_arguments import own_tools
from atelier_desk.cli.command_arguments.shared_options import add_people_options
from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import TOOLS, AddCommands, several
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("tools")
    listing = group.command("list", _("list all tools"), needs=TOOLS)
    listing.add_argument("--section", metavar="S", help=_("only tools in this section"))
    schema = group.command("schema", _("show a tool's definition as models see it"), needs=TOOLS)
    schema.add_argument("name")
    call = group.command("call", _("call a tool as an agent would"), handler="tool_call:call")
    call.add_argument("name")
    call.add_argument("arguments", metavar="JSON", help=_("the arguments as a JSON object; - reads standard input"))
    add_id(
        call,
        "--workflow",
        "workflow",
        help=_("the workflow in which to make the call; if omitted, a new one is created"),
    )
    several(call, "--workspace", "DIR", _("a folder the call may use (repeatable)"))
    add_people_options(call)
    own_tools.register(group)
