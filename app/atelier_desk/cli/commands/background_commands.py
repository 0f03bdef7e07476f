"""``atelier commands``: background commands of agents, while their process is open."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Note, Result, Table
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.background_command import RunningCommand
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import N_, _


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if arguments.workflow:
        await atelier.workflows.get(arguments.workflow)
    found = await atelier.commands.list(arguments.workflow or "")
    rows = ((each.id, each.workflow_id, each.line, each.output.rpartition("\n")[2]) for each in found)
    return Result(found, Table((_("id"), _("workflow id"), _("command"), _("output")), rows))


async def output(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    running = [each.id for each in await atelier.commands.list()]
    matching = [each for each in running if each.startswith(arguments.command_id)]
    part = await atelier.commands.output(matching[0] if len(matching) == 1 else arguments.command_id, arguments.offset)
    more = Note(_("For the rest: --offset {offset}", offset=part.next_offset)) if part.next_offset < part.size else ()
    return Result(part, part.text or (), more)


async def input_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    command = await _one(atelier, arguments.command_id)
    await atelier.commands.input(command.workflow_id, command.id, arguments.text + "\n")
    return _result(command, _("line sent"))


async def stop(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    command = await _one(atelier, arguments.command_id)
    await atelier.commands.stop(command.workflow_id, command.id)
    return _result(command, _("command stopped"))


async def _one(atelier: Atelier, given: str) -> RunningCommand:
    found = [each for each in await atelier.commands.list() if each.id.startswith(given)]
    if len(found) > 1:
        raise UsageError(N_("{id} matches {count} commands; type more characters."), count=len(found), id=given)
    if not found:
        raise NotFoundError(N_("There is no command {id}. Commands stop when Atelier exits."), id=given)
    return found[0]


def _result(command: RunningCommand, state: str) -> Result:
    return Result(command, f"{command.id}  {state}")
