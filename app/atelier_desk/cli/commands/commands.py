"""``atelier commands``: what agents left running in the background, while the program that runs it is open."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder, number
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.command import RunningCommand
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("commands", _("commands that agents left running in the background; they stop when Atelier exits"))
    listing = group.command("list", _("running commands, the oldest first"), "commands:list_", needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("of this workflow only"))
    output = group.command("output", _("show the output of a command"), "commands:output")
    output.add_argument("--offset", metavar="N", type=number(int, least=0), default=0, help=_("start at this byte"))
    given = group.command("input", _("send a line of input to a command"), "commands:input_")
    stop = group.command("stop", _("stop a command and its child processes"), "commands:stop")
    for command in (output, given, stop):
        command.add_argument("command_id", metavar="COMMAND", help=_("its id, which can be abbreviated"))
    given.add_argument("text", metavar="TEXT")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    if arguments.workflow:
        await atelier.workflows.get(arguments.workflow)
    found = await atelier.commands.list(arguments.workflow or "")
    if out.json:
        data(out, [each.model_dump(mode="json") for each in found])
        return 0
    rows = [(each.id, each.workflow_id, each.line, each.output.rpartition("\n")[2]) for each in found]
    table(out, rows, (_("id"), _("workflow"), _("command"), _("output")))
    return 0


async def output(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data

    running = [each.id for each in await atelier.commands.list()]
    whole = [each for each in running if each.startswith(arguments.command_id)]
    part = await atelier.commands.output(whole[0] if len(whole) == 1 else arguments.command_id, arguments.offset)
    if out.json:
        data(out, part.model_dump(mode="json"))
        return 0
    out.write(part.text if part.text.endswith("\n") or not part.text else part.text + "\n")
    if part.next_offset < part.size:
        out.note(_("There is more: --offset {offset}", offset=part.next_offset))
    return 0


async def input_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    command = await _one(atelier, arguments.command_id)
    await atelier.commands.input(command.workflow_id, command.id, arguments.text + "\n")
    return _said(out, command, _("written to"))


async def stop(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    command = await _one(atelier, arguments.command_id)
    await atelier.commands.stop(command.workflow_id, command.id)
    return _said(out, command, _("stopped"))


async def _one(atelier: Atelier, given: str) -> RunningCommand:
    from atelier_desk.domain.errors import NotFoundError, UsageError

    found = [each for each in await atelier.commands.list() if each.id.startswith(given)]
    if len(found) > 1:
        raise UsageError(N_("{id} matches {count} commands; give more characters."), count=len(found), id=given)
    if not found:
        raise NotFoundError(N_("There is no command {id}. Commands stop when Atelier exits."), id=given)
    return found[0]


def _said(out: Output, command: RunningCommand, state: str) -> int:
    from atelier_desk.cli.output import outcome

    outcome(out, command.model_dump(mode="json"), f"{command.id}  {state}")
    return 0
