"""``atelier tasks``: tasks of one workflow or of all."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.event_text import TASK_STATES
from atelier_desk.cli.terminal_io import Output, first
from atelier_desk.domain.task import TaskStatus
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import _


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    status = TaskStatus(arguments.status) if arguments.status else None
    if arguments.workflow:
        workflow = await atelier.workflows.get(arguments.workflow)
        found = (await atelier.tasks.list(workflow.id, status))[arguments.offset :]
    else:
        found = await atelier.tasks.across(status, arguments.limit + 1, arguments.offset)
    tasks = first(out, found, arguments.limit)
    of = () if out.json else dict.fromkeys(task.workflow_id for task in tasks)
    names = {key: (await atelier.workflows.get(key)).name for key in of}
    rows = (
        (task.id, _(TASK_STATES[task.status.value]), str(task.priority), task.name, names[task.workflow_id])
        for task in tasks
    )
    return Result(tasks, Table((_("id"), _("status"), _("priority"), _("name"), _("workflow")), rows))
