"""The grammar of ``atelier agents``."""

from __future__ import annotations

from atelier_desk.cli.command_arguments.shared_options import add_schema_option
from atelier_desk.cli.parser import DATABASE, AddCommands, flag
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("agents")
    group.command("list", _("list all agents"), needs=DATABASE)
    show = group.command("show", _("show the file of an agent"), needs=DATABASE)
    show.add_argument("name")
    group.command("gallery", _("list the ready-made agents that can be copied"), needs=DATABASE)
    added = group.command("add", _("save an agent from a file, or a copy of a ready-made agent"))
    source = added.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", help=_("the agent as JSON; - reads standard input"))
    source.add_argument(
        "--from", dest="ready", metavar="KEY", help=_("a ready-made agent; see: atelier agents gallery")
    )
    added.add_argument("--name", help=_("another name for the agent"))
    added.add_argument("--on-conflict", choices=("error", "skip", "overwrite", "rename"), default="error")
    add_schema_option(added)
    edit = group.command("edit", _("set the answer schema of an agent"))
    edit.add_argument("name")
    form = edit.add_mutually_exclusive_group(required=True)
    add_schema_option(form)
    flag(form, "--no-schema", _("remove the answer schema"))
    imported = group.command(
        "import", _("import an agent from another program's file: Claude Code, opencode, Codex, Cursor…")
    )
    imported.add_argument("file", help=_("Markdown, YAML or TOML; - reads standard input as Markdown"))
    imported.add_argument("--on-conflict", choices=("error", "skip", "overwrite", "rename"), default="error")
    flag(imported, "--dry-run", _("preview without saving"))
    remove = group.command("remove", _("remove an agent"))
    remove.add_argument("name")
