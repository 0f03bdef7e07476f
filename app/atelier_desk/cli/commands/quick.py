"""``atelier quick``: the small window for one question, for a key of the desktop to be bound to. Opened in ``atelier_desk.__main__``."""

from __future__ import annotations

from atelier_desk.cli.parser import Adder
from atelier_desk.i18n import _


def register(add: Adder) -> None:
    add.command("quick", _("open quick ask, for use with a desktop shortcut; starts Atelier if needed"))
