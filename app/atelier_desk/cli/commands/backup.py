"""``atelier backup``: create, verify, restore, and confirm what a foreign backup contains."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Note, Result, Shown, Table
from atelier_desk.cli.file_arguments import path_of
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.slow_command_notes import shares_noted
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.imported_grant import HeldGrant
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.data_folder_and_backups import compact_database, restore_backup, verify_backup
from atelier_desk.presentation import imported_data_confirmation_text
from atelier_desk.presentation.backup_contents_text import damaged_attachment, rows_text
from atelier_desk.storage.copies.backup_file import BackupInfo
from atelier_desk.storage.damage_report import IN_BACKUP
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import size


async def create(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 1 also for a complete backup of a report or attachment damaged before."""
    path = path_of(out, arguments.file)
    async with shares_noted(out, _("Writing and checking the backup…")) as progress:
        info = await atelier.data.backup_create(path, progress)
    return _described(info, _("Backup written and checked: {path}", path=path), status=OK if info.complete else FAILED)


async def verify(atelier: None, arguments: Namespace, out: Output) -> Result:
    """Same exit status as ``create``."""
    path = path_of(out, arguments.file)
    async with shares_noted(out, _("Checking the backup…")) as progress:
        info = await verify_backup(path, arguments.data_root, progress)
    other = (
        ()
        if info.own
        else Note(_("This backup was made by an earlier version or another installation, or has been changed since."))
    )
    return _described(
        info, _("The backup is complete: {path}", path=path), other, status=OK if info.complete else FAILED
    )


async def restore(atelier: None, arguments: Namespace, out: Output) -> Result:
    path = path_of(out, arguments.file)
    async with shares_noted(out, _("Checking the backup…")) as progress:
        info = await restore_backup(path, arguments.data_root, progress, from_elsewhere=arguments.from_elsewhere)
    elsewhere = _(
        "The backup is from another installation. Its unfinished runs were stopped. Its permission rules, "
        "tools, MCP servers, folders and service addresses are disabled until you confirm them. To review "
        "them, run: atelier permissions list; atelier tools own list; atelier mcp list; atelier backup "
        "held. To trust a folder: atelier files trust DIR"
    )
    return _described(
        info,
        _("Restored from {path}", path=path),
        Note(_("The previous data is kept in {path}", path=info.replaced)) if info.replaced is not None else (),
        () if info.own else Note(elsewhere, "warn"),
    )


async def held(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _grants(await atelier.imported_data.list())


async def confirm(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    ids = [each.id for each in await atelier.imported_data.list()] if arguments.all else arguments.grants
    return _grants(await atelier.imported_data.confirm(*ids))


def _grants(grants: list[HeldGrant]) -> Result:
    rows = (
        (
            each.id,
            imported_data_confirmation_text.title(each),
            ", ".join(imported_data_confirmation_text.about(each).split("\n")),
        )
        for each in grants
    )
    return Result(
        [{"id": each.id, **each.model_dump(mode="json")} for each in grants],
        Table((_("id"), _("item"), _("details")), rows),
    )


async def compact(atelier: None, arguments: Namespace, out: Output) -> Result:
    async with shares_noted(out, _("Compacting the database…")) as progress:
        done = await compact_database(arguments.data_root, progress)
    message = _("Compacted: {before} before, {after} now.", before=size(done.before), after=size(done.after))
    return Result(done._asdict(), message, Note(_("Older backups still contain the deleted data.")))


def _described(info: BackupInfo, done: str, *more: Shown, status: int = OK) -> Result:
    facts = {
        "path": str(info.path),
        "schema": info.schema,
        "created_at": info.created_at,
        "size": info.size,
        "counts": info.counts,
    }
    facts |= {"damaged_attachments": [each._asdict() for each in info.attachments]}
    facts |= {"files": info.files, "damaged_files": info.damaged, "own": info.own}
    facts |= {"damaged_rows": [each._asdict() for each in info.damaged_rows]}
    damaged = [
        *(
            _("The report {name} was damaged or changed by another program before the backup was made.", name=name)
            for name in info.damaged
        ),
        *map(damaged_attachment, info.attachments),
        *(row.error().localized(_) for row in info.damaged_rows),
        *([_(IN_BACKUP)] if info.damaged_rows else ()),
    ]
    return Result(
        {**facts, "replaced": str(info.replaced) if info.replaced else None},
        (Note(words, "warn") for words in damaged),
        done,
        (f"  {words}" for words in rows_text(info.counts)),
        *more,
        status=status,
    )
