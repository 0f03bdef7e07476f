"""``atelier tasks``: what is planned, in one workflow or in all."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder, number
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier


STATUSES = ("pending", "in_progress", "completed", "blocked")


def register(add: Adder) -> None:
    group = add.group("tasks", _("what agents and you plan to do"))
    listing = group.command("list", _("tasks of all workflows, urgent ones first; done ones with --status"), "tasks:list_", needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("of this workflow alone, in its order, done ones too"))
    listing.add_argument("--status", choices=STATUSES, help=_("only those with this status"))
    listing.add_argument("--limit", metavar="N", type=number(int, least=1), default=100)
    listing.add_argument("--offset", metavar="N", type=number(int, least=0), default=0)


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.notices import TASK_STATES
    from atelier_desk.cli.output import data, first, table
    from atelier_desk.domain.task import TaskStatus

    status = TaskStatus(arguments.status) if arguments.status else None
    if arguments.workflow:
        workflow = await atelier.workflows.get(arguments.workflow)
        found = (await atelier.tasks.list(workflow.id, status))[arguments.offset :]
    else:
        found = await atelier.tasks.across(status, arguments.limit + 1, arguments.offset)
    tasks = first(out, found, arguments.limit)
    if out.json:
        data(out, [task.model_dump(mode="json") for task in tasks])
        return 0
    names = {key: (await atelier.workflows.get(key)).name for key in dict.fromkeys(task.workflow_id for task in tasks)}
    rows = [(task.id, _(TASK_STATES[task.status.value]), str(task.priority), task.name, names[task.workflow_id]) for task in tasks]
    table(out, rows, (_("id"), _("status"), _("priority"), _("name"), _("workflow")))
    return 0
