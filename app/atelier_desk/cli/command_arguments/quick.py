"""The grammar of ``atelier quick``."""

from __future__ import annotations

from atelier_desk.cli.parser import AddCommands


def register(add: AddCommands) -> None:
    add.command("quick")
