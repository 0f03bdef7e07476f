"""``atelier backup``: create, verify and restore, and confirming what a backup from elsewhere brought."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.from_elsewhere import HeldGrant
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.storage.copies.archive import BackupInfo


def register(add: Adder) -> None:
    group = add.group("backup", _("copies of the database with all settings, the reports, your own tools and the attachments"))
    create = group.command(
        "create",
        _("write a backup and check it by opening it; downloaded models, logs, exports and keys are not part of it"),
        "backup:create",
    )
    create.add_argument("file", metavar="FILE")
    verify = group.command(
        "verify", _("compare every byte of a backup with its checksums, open it and count what is in it"), "backup:verify"
    )
    verify.add_argument("file", metavar="FILE")
    verify.set_defaults(offline=True)
    restore = group.command(
        "restore",
        _("restore a backup; the current data is kept in the folder backups"),
        "backup:restore",
    )
    restore.add_argument("file", metavar="FILE")
    restore.add_argument(
        "--from-elsewhere",
        action="store_true",
        help=_(
            "also accept a backup of another installation or one that was changed: its permission rules, tools, "
            "MCP servers, folders and service addresses stay disabled until you confirm each"
        ),
    )
    restore.set_defaults(offline=True)
    group.command(
        "held",
        _("list addresses, folders and texts of a backup from another installation that need confirmation"),
        "backup:held",
        needs=DATABASE,
    )
    confirm = group.command("confirm", _("confirm entries of a backup from another installation"), "backup:confirm")
    which = confirm.add_mutually_exclusive_group(required=True)
    which.add_argument("grants", metavar="ID", nargs="*", default=[], help=_("ids from the first column of atelier backup held"))
    which.add_argument("--all", action="store_true", help=_("all pending entries"))
    compact = group.command("compact", _("rewrite the database to remove permanently deleted data from the disk"), "backup:compact")
    compact.set_defaults(offline=True)


async def create(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 1 also for a whole backup when a report or an attachment in it was damaged before it was made."""
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.progress import noted_when_slow

    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Writing and checking the backup…")):
        info = await atelier.data.backup_create(path)
    _print(out, info, _("Backup written and checked: {path}", path=path))
    return 0 if info.whole else 1


async def verify(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    """Status as that of ``create``."""
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.progress import noted_when_slow
    from atelier_desk.engine.services.data import verify_backup

    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Checking the backup…")):
        info = await verify_backup(path, arguments.data_root)
    _print(out, info, _("The backup is complete: {path}", path=path))
    if not info.own and not out.json:
        out.note(_("It was made by an earlier version or another installation, or was changed since."))
    return 0 if info.whole else 1


async def restore(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.progress import noted_when_slow
    from atelier_desk.engine.services.data import restore_backup

    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Checking the backup…")):
        info = await restore_backup(path, arguments.data_root, from_elsewhere=arguments.from_elsewhere)
    _print(out, info, _("Restored from {path}", path=path))
    if info.replaced is not None and not out.json:
        out.note(_("The previous data is kept in {path}", path=info.replaced))
    if not info.own and not out.json:
        out.note(
            _(
                "It is from another installation: its permission rules, tools, MCP servers, folders and service "
                "addresses are disabled, and its unfinished runs were ended. Review and confirm each: atelier "
                "permissions list, tools own list, mcp list, files trust DIR, backup held."
            ),
            "warn",
        )
    return 0


async def held(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    _show(out, await atelier.elsewhere.list())
    return 0


async def confirm(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    ids = [each.id for each in await atelier.elsewhere.list()] if arguments.all else arguments.grants
    _show(out, await atelier.elsewhere.confirm(*ids))
    return 0


def _show(out: Output, grants: list[HeldGrant]) -> None:
    from atelier_desk import held_words
    from atelier_desk.cli.output import data, table

    if out.json:
        data(out, [{"id": each.id, **each.model_dump(mode="json")} for each in grants])
        return
    rows = [(each.id, held_words.title(each), ", ".join(held_words.about(each).split("\n"))) for each in grants]
    table(out, rows, (_("id"), _("what"), _("about")))


async def compact(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line
    from atelier_desk.cli.progress import noted_when_slow
    from atelier_desk.engine.services.data import compact_database
    from atelier_desk.figures import size

    async with noted_when_slow(out, _("Compacting the database…")):
        done = await compact_database(arguments.data_root)
    if out.json:
        data(out, done._asdict())
        return 0
    line(out, _("Compacted: {before} before, {after} now.", before=size(done.before), after=size(done.after)))
    out.note(_("Older backups still contain the deleted data."))
    return 0


def _print(out: Output, info: BackupInfo, done: str) -> None:
    from atelier_desk.cli.output import data, line
    from atelier_desk.row_words import damaged_attachment, rows_in_words

    if out.json:
        facts = {"path": str(info.path), "schema": info.schema, "created_at": info.created_at, "size": info.size, "counts": info.counts}
        facts |= {"damaged_attachments": [each._asdict() for each in info.attachments]}
        facts |= {"files": info.files, "damaged_files": list(info.damaged), "own": info.own}
        facts["damaged_rows"] = [each._asdict() for each in info.damaged_rows]
        data(out, {**facts, "replaced": str(info.replaced) if info.replaced else None})
        return
    for name in info.damaged:
        out.note(_("The report {name} was damaged or changed by another program before the backup was made.", name=name), "warn")
    for each in info.attachments:
        out.note(damaged_attachment(each), "warn")
    from atelier_desk.storage.damage import IN_BACKUP

    for row in info.damaged_rows:
        out.note(row.error().localized(_), "warn")
    if info.damaged_rows:
        out.note(_(IN_BACKUP), "warn")
    line(out, done)
    for words in rows_in_words(info.counts):
        line(out, f"  {words}")
