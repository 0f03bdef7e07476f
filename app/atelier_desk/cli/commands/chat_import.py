"""``atelier workflows import`` for chats of other programs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path

from atelier_desk.cli.command_result import Note, Result, Table
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.slow_command_notes import every_second
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.imported_chat import SOURCES
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation.chat_import_text import done_words, found_text, skipped_words, state_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import day, number


async def list_(atelier: Atelier, path: Path, out: Output) -> Result:
    """List the chats of a file; exit status 1 when some cannot be read."""
    found = await atelier.chats.preview(path, _progress(out))
    rows = (
        (
            each.key,
            SOURCES[each.source],
            number(each.messages),
            day(each.last) if each.last else "",
            state_text(each),
            each.title,
        )
        for each in found.chats
    )
    return Result(
        {"chats": [asdict(each) for each in found.chats], "skipped": dict(found.skipped)},
        Table((_("id"), _("from"), _("messages"), _("changed"), _("state"), _("name")), rows),
        Note(found_text(found)),
        (Note(words, "warn") for words in skipped_words(found.skipped)),
        status=FAILED if found.skipped.keys() - {"unknown", "empty"} else OK,
    )


async def import_(atelier: Atelier, path: Path, only: Collection[str] | None, out: Output) -> Result:
    """Exit status 1 when some chats cannot be read; all others are imported."""
    if only is not None:
        there = {each.key for each in (await atelier.chats.preview(path, _progress(out))).chats}
        for each in only:
            if each not in there:
                raise NotFoundError(
                    N_("There is no chat {id} in {path}. List the chats with --dry-run."), id=each, path=path
                )
    done = await atelier.chats.import_(path, only, _progress(out))
    return Result(
        asdict(done),
        done_words(done),
        (Note(words, "warn") for words in skipped_words(done.skipped)),
        Note(_("To undo: atelier workflows delete ID, for each imported chat.")) if done.created else (),
        status=FAILED if done.skipped.keys() - {"unknown", "empty"} else OK,
    )


def _progress(out: Output) -> Callable[[int, int], None]:
    return every_second(lambda done, total: out.note(_("Reading: {percent}%…", percent=done * 100 // max(1, total))))
