"""The grammar of ``atelier approvals``."""

from __future__ import annotations

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import DATABASE, AddCommands, flag, several
from atelier_desk.support.i18n import _

SCOPES = ("once", "run", "always")


def register(add: AddCommands) -> None:
    group = add.group("approvals")
    listing = group.command("list", _("list the calls that are waiting for approval, oldest first"), needs=DATABASE)
    add_id(listing, "--workflow", "workflow", help=_("only this workflow"))
    flag(listing, "--all", _("with --workflow: also list calls that already have a decision"))
    show = group.command("show", _("show a call with all its arguments, and the decision on it"), needs=DATABASE)
    add_id(show, "id", "approval")
    approve = group.command("approve", _("approve a call, or several waiting calls of one run"))
    add_id(approve, "id", "approval")
    add_id(
        approve,
        "more",
        "approval",
        nargs="*",
        help=_("other calls in the same run to approve; each approval covers one call"),
    )
    approve.add_argument(
        "--arguments", metavar="JSON", help=_("run the call with these arguments instead; - reads standard input")
    )
    approve.add_argument(
        "--scope",
        choices=SCOPES,
        default="once",
        help=_(
            "once: this call; run: the tool in this run and its sub-agents; always: similar calls in the "
            "same folder, from now on"
        ),
    )
    several(
        approve,
        "--rule",
        "RULE",
        _("with --scope run or always: what is allowed, for example 'run_command(git log:*)' (repeatable)"),
    )
    reject = group.command("reject", _("reject a call"))
    add_id(reject, "id", "approval")
    reject.add_argument("--reason", metavar="T", default="", help=_("reason, shown to the agent"))
