"""``atelier approvals``: decide about waiting calls while a run is active or waiting."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli import approval_text
from atelier_desk.cli.approval_decisions import parse_arguments
from atelier_desk.cli.approval_text import folder_text
from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.file_arguments import text_or_input
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation.permission_rule_text import always_text
from atelier_desk.support.i18n import N_, _


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if arguments.all and not arguments.workflow:
        raise UsageError(N_("--all needs --workflow ID."))
    if arguments.workflow:
        await atelier.workflows.get(arguments.workflow)
    found = await (
        atelier.approvals.list(arguments.workflow) if arguments.all else atelier.approvals.pending(arguments.workflow)
    )
    rows = (
        (
            asked.id,
            _(approval_text.STATES[asked.status.value]),
            approval_text.asked_for(asked),
            approval_text.risk(asked),
            approval_text.lineage(asked.lineage, asked.agent_name),
            approval_text.reason(asked.reason),
        )
        for asked in found
    )
    return Result(found, Table((_("id"), _("state"), _("call"), _("risk"), _("agent"), _("reason")), rows))


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    asked = await atelier.approvals.get(arguments.id)
    return Result(asked, approval_text.described(asked), f"  {approval_text.outcome(asked)}")


async def approve(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    scope = ApprovalScope(arguments.scope)
    if arguments.more:
        if scope is not ApprovalScope.ONCE or arguments.rule or arguments.arguments is not None:
            raise UsageError(
                N_("When several calls are approved at once, --scope, --rule and --arguments cannot be used.")
            )
        together = await atelier.approvals.approve_together([arguments.id, *arguments.more])
        return Result(together, *(f"{each.id}  {_(approval_text.STATES[each.status.value])}" for each in together))
    edited = None
    if arguments.arguments is not None:
        edited = parse_arguments(await text_or_input(out, arguments.arguments))
    done = await atelier.approvals.approve(arguments.id, edited, scope, arguments.rule)
    if scope is not ApprovalScope.ALWAYS:
        return _decided(done)
    return _decided(
        done, f"{always_text(done.holds, ' · '.join(arguments.rule or done.always))}{folder_text(done.holds)}"
    )


async def reject(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _decided(await atelier.approvals.reject(arguments.id, arguments.reason))


def _decided(asked: ApprovalRequest, *more: str) -> Result:
    return Result(asked, f"{asked.id}  {_(approval_text.STATES[asked.status.value])}", *more)
