"""``atelier reports``: list, show, and accept a report that another program changed."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.terminal_io import Output, moment
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import _


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.workflow)
    reports = await atelier.reports.list(workflow.id)
    rows = ((each.name, str(each.size), each.author, moment(each.updated_at)) for each in reports)
    return Result(reports, Table((_("name"), _("bytes"), _("author"), _("date")), rows))


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    text = await atelier.reports.read(arguments.workflow, arguments.name)
    return Result({"name": arguments.name, "content": text}, text)


async def accept(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    report = await atelier.reports.accept(arguments.workflow, arguments.name)
    return Result(report, _("Accepted the report {name} as it is now.", name=report.name))
