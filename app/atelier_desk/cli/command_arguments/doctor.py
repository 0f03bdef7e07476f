"""The grammar of ``atelier doctor``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands, flag
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    check = add.command("doctor", needs=DATABASE)
    flag(
        check,
        "--deep",
        _(
            "also load the GUI toolkit, the embedder and the starter model, and compare events, messages and "
            "tool calls with their stored hashes"
        ),
    )
    flag(check, "--remove-damaged", _("before checking, delete damaged agents, providers, servers, rules and settings"))
