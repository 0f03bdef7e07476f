"""The grammar of ``atelier skills``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("skills")
    listing = group.command("list", _("list the skills found and whether they are enabled"), needs=DATABASE)
    show = group.command("show", _("show a skill and its files"), needs=DATABASE)
    on = group.command("on", _("enable a skill"))
    off = group.command("off", _("disable a skill"))
    for command in (show, on, off):
        command.add_argument("name", help=_("name of the skill, or its file if several have the same name"))
    for command in (listing, show, on, off):
        command.add_argument(
            "--workspace", metavar="DIR", action="append", help=_("a folder to look in (default: the current folder)")
        )
    trust = group.command("trust", _("trust folders: agents use the skills in them and follow their AGENTS.md"))
    trust.add_argument("folder", metavar="DIR", nargs="+", help=_("a folder on this computer"))
    added = group.command("add", _("install a skill from a folder"))
    added.add_argument("folder", metavar="DIR", help=_("the folder with a SKILL.md"))
