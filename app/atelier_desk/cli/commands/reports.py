"""``atelier reports``: list, show, and accept one whose file another program changed."""

from __future__ import annotations

import argparse

from atelier_desk.cli.output import Output, data, moment, outcome, table
from atelier_desk.engine.atelier import Atelier
from atelier_desk.i18n import _


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    workflow = await atelier.workflows.get(arguments.workflow)
    reports = await atelier.reports.list(workflow.id)
    if out.json:
        data(out, [report.model_dump(mode="json") for report in reports])
        return 0
    rows = [(each.name, str(each.size), each.author, moment(each.updated_at)) for each in reports]
    table(out, rows, (_("name"), _("bytes"), _("author"), _("date")))
    return 0


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    text = await atelier.reports.read(arguments.workflow, arguments.name)
    if out.json:
        data(out, {"name": arguments.name, "content": text})
    else:
        out.write(text if text.endswith("\n") else text + "\n")
    return 0


async def accept(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    report = await atelier.reports.accept(arguments.workflow, arguments.name)
    outcome(out, report.model_dump(mode="json"), _("Accepted the report {name} as it is now.", name=report.name))
    return 0
