"""``atelier reports``: list, show, and accept one whose file another program changed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.parser import Adder
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("reports", _("what agents wrote as Markdown files"))
    listing = group.command("list", _("the reports of a workflow"), "reports:list_")
    show = group.command("show", _("show a report; refused if its file was changed"), "reports:show")
    accept = group.command("accept", _("accept a report's file as changed by another program"), "reports:accept")
    for command in (listing, show, accept):
        command.add_argument("workflow", metavar="WORKFLOW", help=_("its id"))
    for command in (show, accept):
        command.add_argument("name", metavar="NAME")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, moment, table

    workflow = await atelier.workflows.get(arguments.workflow)
    reports = await atelier.reports.list(workflow.id)
    if out.json:
        data(out, [report.model_dump(mode="json") for report in reports])
        return 0
    rows = [(each.name, str(each.size), each.author, moment(each.updated_at)) for each in reports]
    table(out, rows, (_("name"), _("bytes"), _("author"), _("date")))
    return 0


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data

    text = await atelier.reports.read(arguments.workflow, arguments.name)
    if out.json:
        data(out, {"name": arguments.name, "content": text})
    else:
        out.write(text if text.endswith("\n") else text + "\n")
    return 0


async def accept(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    report = await atelier.reports.accept(arguments.workflow, arguments.name)
    outcome(out, report.model_dump(mode="json"), _("Accepted the report {name} as it is now.", name=report.name))
    return 0
