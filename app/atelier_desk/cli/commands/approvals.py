"""``atelier approvals``: calls that wait for an approval, decided from outside a running or waiting run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.approval import ApprovalRequest
    from atelier_desk.engine.atelier import Atelier

SCOPES = ("once", "run", "always")


def register(add: Adder) -> None:
    group = add.group("approvals", _("calls that wait for an approval"))
    listing = group.command("list", _("calls that wait, the oldest first"), "approvals:list_", needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("of this workflow only"))
    listing.add_argument("--all", action="store_true", help=_("with --workflow: decided ones too"))
    show = group.command("show", _("a call with all its arguments, and what was decided"), "approvals:show", needs=DATABASE)
    add_id(show, "id", "approval")
    approve = group.command("approve", _("approve a call"), "approvals:approve")
    add_id(approve, "id", "approval")
    approve.add_argument("--arguments", metavar="JSON", help=_("run it with these arguments instead; - reads standard input"))
    approve.add_argument(
        "--scope",
        choices=SCOPES,
        default="once",
        help=_("once: this call; run: the tool in this run and its sub-agents; always: what is like this call, from now on, in its folder"),
    )
    approve.add_argument(
        "--rule",
        metavar="RULE",
        action="append",
        default=[],
        help=_("with --scope run or always: what is allowed, for example 'tool(git log:*)' (repeatable)"),
    )
    reject = group.command("reject", _("reject a call"), "approvals:reject")
    add_id(reject, "id", "approval")
    reject.add_argument("--reason", metavar="T", default="", help=_("why; the agent reads it"))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli import approval_words
    from atelier_desk.cli.output import data, table
    from atelier_desk.domain.errors import UsageError

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
    from atelier_desk.cli import approval_words
    from atelier_desk.cli.output import data, line

    asked = await atelier.approvals.get(arguments.id)
    if out.json:
        data(out, asked.model_dump(mode="json"))
        return 0
    for each in (*approval_words.described(asked), f"  {approval_words.outcome(asked)}"):
        line(out, each)
    return 0


async def approve(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.approval_words import folder_words
    from atelier_desk.cli.decisions import parse_arguments
    from atelier_desk.cli.output import line
    from atelier_desk.domain.approval import ApprovalScope
    from atelier_desk.rule_words import always_words

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
    from atelier_desk.cli import approval_words
    from atelier_desk.cli.output import outcome

    outcome(out, asked.model_dump(mode="json"), f"{asked.id}  {_(approval_words.STATES[asked.status.value])}")
