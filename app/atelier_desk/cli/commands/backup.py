"""``atelier backup``: create, verify and restore. Only ``create`` needs the database open."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.parser import Adder
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
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
        _("put a backup in the place of the data; the old data is kept beside it"),
        "backup:restore",
    )
    restore.add_argument("file", metavar="FILE")
    restore.add_argument(
        "--from-elsewhere",
        action="store_true",
        help=_(
            "also a backup that this data folder did not make or that was changed: its permission rules, own tools, MCP servers and "
            "trusted folders stay off until you confirm each"
        ),
    )
    restore.set_defaults(offline=True)


async def create(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.progress import noted_when_slow

    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Writing and checking the backup…")):
        info = await atelier.data.backup_create(path)
    _print(out, info, _("Backup written and checked: {path}", path=path))
    return 0


async def verify(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    """Status 1 also for a whole backup when a report or a row in it was damaged before it was made."""
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.progress import noted_when_slow
    from atelier_desk.engine.services.data import verify_backup

    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Checking the backup…")):
        info = await verify_backup(path, arguments.data_root)
    _print(out, info, _("The backup is whole: {path}", path=path))
    if not info.own and not out.json:
        out.note(_("It was made by an earlier version or another installation, or was changed since it was made."))
    return 1 if info.damaged or info.damaged_rows else 0


async def restore(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.progress import noted_when_slow
    from atelier_desk.engine.services.data import restore_backup

    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Checking the backup…")):
        info = await restore_backup(path, arguments.data_root, from_elsewhere=arguments.from_elsewhere)
    _print(out, info, _("Restored from {path}", path=path))
    if info.replaced is not None and not out.json:
        out.note(_("The data it replaces is kept in {path}", path=info.replaced))
    if not info.own and not out.json:
        out.note(
            _(
                "It is from elsewhere: its permission rules, own tools, MCP servers and trusted folders are off, and unfinished work in it "
                "is ended. Look at each and confirm it: atelier permissions list, tools own list, mcp list, files trust DIR."
            ),
            "warn",
        )
    return 0


def _print(out: Output, info: BackupInfo, done: str) -> None:
    from atelier_desk.cli.output import data, line
    from atelier_desk.row_words import rows_in_words

    if out.json:
        facts = {"path": str(info.path), "schema": info.schema, "created_at": info.created_at, "size": info.size, "counts": info.counts}
        facts |= {"files": info.files, "damaged_files": list(info.damaged), "own": info.own}
        facts["damaged_rows"] = [each._asdict() for each in info.damaged_rows]
        data(out, {**facts, "replaced": str(info.replaced) if info.replaced else None})
        return
    for name in info.damaged:
        out.note(_("The report {name} was damaged or changed by another program before the backup was made.", name=name), "warn")
    from atelier_desk.storage.damage import IN_BACKUP

    for each in info.damaged_rows:
        out.note(each.error().localized(_), "warn")
    if info.damaged_rows:
        out.note(_(IN_BACKUP), "warn")
    line(out, done)
    for words in rows_in_words(info.counts):
        line(out, f"  {words}")
