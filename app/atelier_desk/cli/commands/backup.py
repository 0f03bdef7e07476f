"""``atelier backup``: create, verify and restore, and confirming what a backup from elsewhere brought."""

from __future__ import annotations

import argparse

from atelier_desk import held_words
from atelier_desk.cli.files import path_of
from atelier_desk.cli.output import Output, data, line, table
from atelier_desk.cli.progress import noted_when_slow
from atelier_desk.domain.from_elsewhere import HeldGrant
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.data import compact_database, restore_backup, verify_backup
from atelier_desk.figures import size
from atelier_desk.i18n import _
from atelier_desk.row_words import damaged_attachment, rows_in_words
from atelier_desk.storage.copies.archive import BackupInfo
from atelier_desk.storage.damage import IN_BACKUP


async def create(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 1 also for a whole backup when a report or an attachment in it was damaged before it was made."""
    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Writing and checking the backup…")):
        info = await atelier.data.backup_create(path)
    _print(out, info, _("Backup written and checked: {path}", path=path))
    return 0 if info.whole else 1


async def verify(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    """Status as that of ``create``."""
    path = path_of(out, arguments.file)
    async with noted_when_slow(out, _("Checking the backup…")):
        info = await verify_backup(path, arguments.data_root)
    _print(out, info, _("The backup is complete: {path}", path=path))
    if not info.own and not out.json:
        out.note(_("It was made by an earlier version or another installation, or was changed since."))
    return 0 if info.whole else 1


async def restore(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
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
    if out.json:
        data(out, [{"id": each.id, **each.model_dump(mode="json")} for each in grants])
        return
    rows = [(each.id, held_words.title(each), ", ".join(held_words.about(each).split("\n"))) for each in grants]
    table(out, rows, (_("id"), _("what"), _("about")))


async def compact(atelier: None, arguments: argparse.Namespace, out: Output) -> int:
    async with noted_when_slow(out, _("Compacting the database…")):
        done = await compact_database(arguments.data_root)
    if out.json:
        data(out, done._asdict())
        return 0
    line(out, _("Compacted: {before} before, {after} now.", before=size(done.before), after=size(done.after)))
    out.note(_("Older backups still contain the deleted data."))
    return 0


def _print(out: Output, info: BackupInfo, done: str) -> None:
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

    for row in info.damaged_rows:
        out.note(row.error().localized(_), "warn")
    if info.damaged_rows:
        out.note(_(IN_BACKUP), "warn")
    line(out, done)
    for words in rows_in_words(info.counts):
        line(out, f"  {words}")
