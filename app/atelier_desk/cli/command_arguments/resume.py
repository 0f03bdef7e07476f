"""The grammar of ``atelier resume``."""

from __future__ import annotations

from atelier_desk.cli.command_arguments.shared_options import add_people_options
from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import AddCommands, flag
from atelier_desk.support.i18n import _

LIMITS = ("iterations", "tool_calls", "tokens", "cost", "time", "month", "unpriced")
"""The values of ``LimitKind``.

``cost`` and ``month`` are in US dollars, ``time`` in seconds; any amount of ``unpriced`` allows models
without a known price this month.
"""


def register(add: AddCommands) -> None:
    parser = add.command("resume")
    add_id(
        parser, "workflow", "workflow", metavar="WORKFLOW", nargs="?",
        help=_("the workflow to continue; if omitted, the latest one with something to resume"),
    )  # fmt: skip
    flag(parser, "--all", _("all workflows, one after the other"))
    flag(parser, "--step", _("step by step: Enter runs the next step; without a terminal, only one step runs"))
    parser.add_argument(
        "--raise",
        metavar="LIMIT=AMOUNT",
        action="append",
        default=[],
        dest="raised",
        help=_("raise a limit that an agent reached, one of: {limits} (repeatable)", limits=", ".join(LIMITS)),
    )
    flag(parser, "--finish", _("give a final answer without raising the limit"))
    add_people_options(parser)
