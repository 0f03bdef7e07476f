"""The grammar of ``atelier prompts``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands
from atelier_desk.support.i18n import N_, _

TEXT = N_("the text, with {{variables}}, or {{variable=default}}; - reads standard input")


def register(add: AddCommands) -> None:
    group = add.group("prompts")
    listing = group.command("list", _("list all prompts"), needs=DATABASE)
    listing.add_argument("--search", metavar="TEXT", default="", help=_("only prompts with these words"))
    show = group.command("show", _("write a prompt as Markdown to standard output"), needs=DATABASE)
    added = group.command("add", _("save a prompt"))
    edit = group.command("edit", _("change a prompt"))
    remove = group.command("remove", _("remove a prompt"))
    for command in (show, added, edit, remove):
        command.add_argument("name")
    added.add_argument("--text", metavar="TEXT", required=True, help=_(TEXT))
    edit.add_argument("--text", metavar="TEXT", help=_(TEXT))
    edit.add_argument("--rename", metavar="NAME", help=_("the new name of the prompt"))
    for command in (added, edit):
        command.add_argument("--description", metavar="TEXT", help=_("a one-line description"))
    imported = group.command(
        "import",
        _("import prompts from Markdown files (including those of Claude Code, Copilot and Codex) or goose recipes"),
    )
    imported.add_argument(
        "files", metavar="FILE", nargs="+", help=_("Markdown or YAML; - reads standard input as Markdown")
    )
    imported.add_argument("--on-conflict", choices=("skip", "overwrite", "rename"), default="rename")
