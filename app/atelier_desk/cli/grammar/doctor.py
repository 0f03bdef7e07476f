"""The grammar of ``atelier doctor``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import _


def register(add: Adder) -> None:
    check = add.command("doctor", needs=DATABASE)
    check.add_argument(
        "--deep",
        action="store_true",
        help=_(
            "also load the window toolkit, the embedder and the built-in model, and compare events, messages and tool calls with the "
            "hashes they were written with"
        ),
    )
    check.add_argument(
        "--remove-damaged",
        action="store_true",
        help=_("first give up agents, providers, servers, rules and settings that are not as they were written"),
    )
