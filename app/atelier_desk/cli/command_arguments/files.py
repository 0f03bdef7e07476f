"""The grammar of ``atelier files``."""

from __future__ import annotations

from atelier_desk.cli.id_prefixes import add_id
from atelier_desk.cli.parser import AddCommands, flag
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("files", module="file_changes_and_trust")
    listing = group.command("list", _("list the changes, newest first"))
    diff = group.command("diff", _("show what changed, as unified diffs"))
    undo = group.command("undo", _("undo changes; files that others have changed since are left as they are"))
    for command in (listing, diff, undo):
        add_id(command, "workflow", "workflow")
    diff.add_argument(
        "change", nargs="*", help=_("ids of changes (can be abbreviated); without ids, all current changes")
    )
    undo.add_argument("change", nargs="*", help=_("ids of changes (can be abbreviated), or one of the options below"))
    held = group.command(
        "held",
        _("list the held files: protected files that programs created and that are waiting for your decision"),
    )
    accept = group.command("keep", _("move held files into their folder"))
    discard = group.command("discard", _("delete held files permanently"))
    for command in (held, accept, discard):
        add_id(command, "workflow", "workflow")
    for command in (accept, discard):
        command.add_argument("file", nargs="*", help=_("ids (can be abbreviated), or paths as the list shows them"))
        flag(command, "--all", _("all held files of the workflow"))
    marked = group.command("marked", _("list the files written by agents that had read from untrusted sources"))
    marked.add_argument("folder", metavar="DIR", nargs="*", help=_("only the files in these folders"))
    read = group.command(
        "mark-read",
        _("mark files from `atelier files marked` as read, one by one or a whole folder"),
    )
    read.add_argument("path", nargs="+", help=_("a file or folder on this computer"))
    group.command("kept", _("show the size of the undo data"))
    group.command("clean", _("delete undo data beyond the limits set by checkpoint_days and checkpoint_mb"))
    group.command(
        "leftovers", _("list undo data that is unreadable or belongs to a workflow that is not in this database")
    )
    delete = group.command("delete-leftovers", _("permanently delete leftover undo data"))
    delete.add_argument("leftover", nargs="*", help=_("ids as shown by `atelier files leftovers`"))
    flag(delete, "--all", _("all leftover undo data"))
    for name, words in (
        ("trust", _("trust folders: agents follow the AGENTS.md in them")),
        ("distrust", _("stop trusting folders: agents ignore the AGENTS.md in them")),
    ):
        group.command(name, words).add_argument("folder", metavar="DIR", nargs="+", help=_("a folder on this computer"))
    undo.add_argument("--run", metavar="RUN", default="", help=_("all changes of this run"))
    undo.add_argument("--since", metavar="MESSAGE", default="", help=_("all changes since this message"))
    flag(undo, "--all", _("all changes of the workflow"))
    flag(undo, "--force", _("also overwrite files that others changed later; the overwritten versions can be restored"))
