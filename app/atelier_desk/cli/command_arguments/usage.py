"""The grammar of ``atelier usage``."""

from __future__ import annotations

from argparse import BooleanOptionalAction

from atelier_desk.cli.parser import DATABASE, AddCommands, number
from atelier_desk.support.i18n import _

BY = ("day", "model", "agent", "workflow")


def register(add: AddCommands) -> None:
    command = add.command("usage", handler="usage:show", needs=DATABASE)
    command.add_argument("--by", choices=BY, default="day", help=_("group by (default: day)"))
    days = number(int, least=0)
    command.add_argument(
        "--days", metavar="N", type=days, default=30, help=_("the last N days, including today; 0: all time")
    )
    command.add_argument(
        "--limit",
        metavar="USD",
        type=number(float, least=0),
        help=_("set the cost limit per calendar month; 0 for no limit"),
    )
    command.add_argument(
        "--allow-unpriced",
        action=BooleanOptionalAction,
        help=_("until the end of the month, allow requests without a known price (they do not count toward the limit)"),
    )
    command.add_argument(
        "--csv", metavar="FILE", help=_("write all figures as CSV to a file; - writes to standard output")
    )
