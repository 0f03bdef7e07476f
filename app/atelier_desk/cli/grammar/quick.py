"""The grammar of ``atelier quick``."""

from __future__ import annotations

from atelier_desk.cli.parser import Adder


def register(add: Adder) -> None:
    add.command("quick")
