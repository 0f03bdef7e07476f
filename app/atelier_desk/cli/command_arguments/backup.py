"""The grammar of ``atelier backup``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands, flag
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("backup")
    create = group.command(
        "create",
        _("write a backup and check it by opening it; downloaded models, logs, exports and keys are not part of it"),
    )
    create.add_argument("file")
    verify = group.command(
        "verify", _("verify every byte of a backup against its checksums, open it and count its contents")
    )
    verify.add_argument("file")
    verify.set_defaults(offline=True)
    restore = group.command(
        "restore",
        _("restore a backup; the current data is kept in the backups folder"),
    )
    restore.add_argument("file")
    flag(
        restore,
        "--from-elsewhere",
        _(
            "also accept a backup from another installation, or one that was changed: its permission rules, tools, "
            "MCP servers, folders and service addresses stay disabled until you confirm each"
        ),
    )
    restore.set_defaults(offline=True)
    group.command(
        "held",
        _(
            "list what needs confirmation in a backup from another installation: addresses, folders, and the "
            "text of workflows and memories"
        ),
        needs=DATABASE,
    )
    confirm = group.command("confirm", _("confirm entries of a backup from another installation"))
    which = confirm.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "grants", metavar="ID", nargs="*", default=[], help=_("ids from the first column of `atelier backup held`")
    )
    flag(which, "--all", _("all pending entries"))
    compact = group.command(
        "compact", _("rewrite the database so that permanently deleted data is also erased from the disk")
    )
    compact.set_defaults(offline=True)
