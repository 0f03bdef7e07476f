"""``atelier approvals``: calls that wait for an approval, decided from outside a running or waiting run."""

from __future__ import annotations

import argparse

from atelier_desk.cli import approval_words
from atelier_desk.cli.approval_words import folder_words
from atelier_desk.cli.decisions import parse_arguments
from atelier_desk.cli.output import Output, data, line, outcome, table
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.i18n import N_, _
from atelier_desk.rule_words import always_words


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    if arguments.all and not arguments.workflow:
        raise UsageError(N_("--all needs --workflow ID."))
    if arguments.workflow:
        await atelier.workflows.get(arguments.workflow)
    found = await (atelier.approvals.list(arguments.workflow) if arguments.all else atelier.approvals.pending(arguments.workflow))
    if out.json:
        data(out, [asked.model_dump(mode="json") for asked in found])
        return 0
    rows = [
        (
            asked.id,
            _(approval_words.STATES[asked.status.value]),
            approval_words.asked_for(asked),
            approval_words.risk(asked),
            approval_words.lineage(asked.lineage, asked.agent_name),
            approval_words.reason(asked.reason),
        )
        for asked in found
    ]
    table(out, rows, (_("id"), _("state"), _("call"), _("risk"), _("agent"), _("why it asks")))
    return 0


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    asked = await atelier.approvals.get(arguments.id)
    if out.json:
        data(out, asked.model_dump(mode="json"))
        return 0
    for each in (*approval_words.described(asked), f"  {approval_words.outcome(asked)}"):
        line(out, each)
    return 0


async def approve(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    scope = ApprovalScope(arguments.scope)
    edited = None
    if arguments.arguments is not None:
        edited = parse_arguments(await out.read_input() if arguments.arguments == "-" else arguments.arguments)
    done = await atelier.approvals.approve(arguments.id, edited, scope, arguments.rule)
    _done(out, done)
    if scope is ApprovalScope.ALWAYS and not out.json:
        where = done.holds
        line(out, f"{always_words(where, ' · '.join(arguments.rule or done.always))}{folder_words(where)}")
    return 0


async def reject(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    _done(out, await atelier.approvals.reject(arguments.id, arguments.reason))
    return 0


def _done(out: Output, asked: ApprovalRequest) -> None:
    outcome(out, asked.model_dump(mode="json"), f"{asked.id}  {_(approval_words.STATES[asked.status.value])}")
