"""``atelier permissions commands``: the commands that run without approval."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.terminal_io import Output
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import _
from atelier_desk.workspace.commands.safe_command_descriptions import safe_commands


async def commands(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    words = [word.casefold() for word in arguments.words]
    found = [
        each
        for each in safe_commands()
        if all(word in f"{each.name} {each.does} {_(each.about)}".casefold() for word in words)
    ]
    rows = ((each.name, each.does.value, _(each.about), each.options) for each in found)
    return Result(
        [
            {"command": each.name, "does": each.does.value, "about": each.about, "options": each.options}
            for each in found
        ],
        Table((_("command"), _("files"), _("effect"), _("options")), rows),
    )
