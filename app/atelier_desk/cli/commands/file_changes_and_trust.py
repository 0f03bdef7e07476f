"""``atelier files``: list, compare and undo agents' changes to a workflow's folders."""

from __future__ import annotations

from argparse import Namespace
from functools import partial

from atelier_desk.cli.command_result import Note, Result, Shown, Table, print_note
from atelier_desk.cli.file_arguments import folders, path_of
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.terminal_io import Output, moment
from atelier_desk.domain.errors import AtelierError, NotFoundError, UsageError
from atelier_desk.domain.file_change import Change, portions
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation.call_failure_text import in_words
from atelier_desk.presentation.file_change_text import (
    ACTIONS,
    cleaned_text,
    held_file_text,
    leftover_facts,
    leftover_name,
    lost_data_text,
    mark_text,
    retained_text,
    state_text,
    undo_text,
    unreadable_text,
)
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _

REPORT_EVERY = 10
"""Steps of an undo between two progress lines."""


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.workflow)
    changes = await atelier.files.list(workflow.id)
    rows = (
        (
            change.id,
            moment(change.at),
            _(ACTIONS[change.action]),
            f"{change.path} → {change.moved_to}" if change.moved_to else change.path + ("/" if change.folder else ""),
            change.agent_name,
            state_text(change),
        )
        for change in changes
    )
    table = Table((_("id"), _("date"), _("action"), _("path"), _("agent"), _("state")), rows)
    return Result(changes, table, await _missing(atelier, workflow.id))


async def _missing(atelier: Atelier, workflow_id: str) -> list[Shown]:
    """Notes on changes that the list cannot show."""
    words = (
        unreadable_text(await atelier.files.unreadable(workflow_id)),
        lost_data_text(await atelier.files.lost(workflow_id)),
    )
    return [Note(each, "warn") for each in words if each]


async def diff(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.workflow)
    changes = await atelier.files.list(workflow.id)
    chosen = (
        _named(changes, arguments.change) if arguments.change else [change for change in changes if change.undoable]
    )
    parts = [await atelier.files.diff(workflow.id, change.id) for change in reversed(chosen)]
    texts = (
        part.diff + "\n"
        if part.diff
        else f"{_(ACTIONS[part.action])}: {part.path}{f' → {part.moved_to}' if part.moved_to else ''}"
        for part in parts
    )
    return Result(parts, texts)


async def undo(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 0 when everything was undone, 1 when something was skipped."""
    workflow = await atelier.workflows.get(arguments.workflow)
    changes = await atelier.files.list(workflow.id)
    ways = [bool(arguments.change), bool(arguments.run), bool(arguments.since), arguments.all]
    if sum(ways) != 1:
        raise UsageError(N_("Specify what to undo with exactly one of these: change ids, --run, --since or --all."))
    if arguments.change:
        chosen = _named(changes, arguments.change)
    elif arguments.run:
        chosen = await atelier.files.of_run(workflow.id, arguments.run)
    elif arguments.since:
        chosen = await atelier.files.since(workflow.id, arguments.since)
    else:
        chosen = [change for change in changes if change.undoable]
    done = []
    parts = portions(change.id for change in chosen)
    for number, part in enumerate(parts, 1):
        done += await atelier.files.undo(workflow.id, part, force=arguments.force)
        if number % REPORT_EVERY == 0 and number < len(parts):
            out.note(
                _(
                    "{done} of {total} changes",
                    done=locale_format.number(len(done)),
                    total=locale_format.number(len(chosen)),
                )
            )
    undone = [each.change for each in done if each.problem is None]
    left = [in_words(each.problem) for each in done if each.problem is not None]
    stays = undo_text(undone) if done else ""
    return Result(
        [
            {"id": each.change.id, "path": each.change.path, "error": in_words(each.problem) if each.problem else ""}
            for each in done
        ],
        (_("Undone: {path}", path=change.path) for change in undone),
        # A reason that several changes share is printed once.
        (Note(_("Not undone: {reason}", reason=reason), "warn") for reason in dict.fromkeys(left)),
        await _missing(atelier, workflow.id),
        () if done else _("There is nothing to undo."),
        Note(stays) if stays else (),
        status=FAILED if left else OK,
    )


async def held(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    workflow = await atelier.workflows.get(arguments.workflow)
    files = await atelier.files.held(workflow.id)
    rows = ((each.id, moment(each.at), held_file_text(each), each.author or each.agent_name) for each in files)
    return Result(files, Table((_("id"), _("date"), _("path"), _("agent")), rows))


async def _answer(atelier: Atelier, arguments: Namespace, out: Output, *, kept: bool) -> Result:
    """Exit status 0 when everything was done, 1 when another file is in the way."""
    workflow = await atelier.workflows.get(arguments.workflow)
    files = await atelier.files.held(workflow.id)
    if bool(arguments.file) == arguments.all:
        raise UsageError(N_("Specify the held files: ids, paths, or --all."))
    chosen = list(files) if arguments.all else []
    for name in arguments.file:
        fitting = [each for each in files if each.path == name or each.id.startswith(name) or each.id.endswith(name)]
        if not fitting or (len(fitting) > 1 and any(each.path != name for each in fitting)):
            raise NotFoundError(N_("There is no held file {id}. It may already have been kept or discarded."), id=name)
        chosen += fitting[-1:]  # the newest of two versions
    failed, done = [], []
    for each in chosen:
        try:
            await (atelier.files.accept_held if kept else atelier.files.discard)(workflow.id, each.id)
        except AtelierError as error:
            failed.append({"id": each.id, "path": each.path, "error": in_words(error)})
            continue
        done.append({"id": each.id, "path": each.path, "error": ""})
        print_note(out, _("Kept: {path}", path=each.path) if kept else _("Discarded: {path}", path=each.path))
    not_done = N_("Not kept: {reason}") if kept else N_("Not discarded: {reason}")
    problems = (Note(_(not_done, reason=each["error"]), "warn") for each in failed)
    return Result([*done, *failed], problems, status=FAILED if failed else OK)


keep = partial(_answer, kept=True)
discard = partial(_answer, kept=False)


async def marked(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.files.marked(folders(out, arguments.folder) if arguments.folder else None)
    rows = ((f"{mark.path}/" if mark.folder else mark.path, mark_text(mark.sources)) for mark in found)
    return Result(
        [{"path": mark.path, "folder": mark.folder, "sources": list(mark.sources)} for mark in found],
        Table((_("path"), _("reason")), rows),
    )


async def mark_read(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 1 when a path stays marked because its folder is."""
    paths = [str(path_of(out, path)) for path in arguments.path]
    gone = await atelier.files.mark_read(paths)
    left = await atelier.files.within_marked(paths)
    part = N_(
        "{path} is still listed because its whole folder is listed. Mark that folder as read instead. To see "
        "the list: atelier files marked"
    )
    return Result(
        {"read": gone, "marked": left},
        (_("Marked as read: {path}", path=path) for path in gone),
        (Note(_(part, path=path), "warn") for path in left),
        () if gone or left else _("None of these files needs to be marked as read."),
        status=FAILED if left else OK,
    )


async def kept(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.files.undo_storage()
    oldest = found.oldest.isoformat() if found.oldest else None
    return Result({"bytes": found.size, "changes": found.changes, "oldest": oldest}, retained_text(found))


async def clean(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    done = await atelier.files.cleaning.clean()
    return Result({"freed_bytes": done.freed, "given_up": done.given_up}, cleaned_text(done))


async def leftovers(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.files.cleaning.leftovers()
    return Result(
        [
            {
                "id": each.key,
                "kind": each.kind,
                "bytes": each.size,
                "changes": each.changes,
                "reason": each.reason,
                "until": each.until.isoformat() if each.until else None,
            }
            for each in found
        ],
        Table(
            (_("id"), _("item"), _("details")),
            [(each.key, leftover_name(each), leftover_facts(each)) for each in found],
        ),
    )


async def delete_leftovers(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if bool(arguments.leftover) == arguments.all:
        raise UsageError(N_("Specify the undo data to delete: ids from `atelier files leftovers`, or --all."))
    keys = (
        [each.key for each in await atelier.files.cleaning.leftovers()]
        if arguments.all
        else list(dict.fromkeys(arguments.leftover))
    )
    freed = await atelier.files.cleaning.delete(keys)
    return Result({"deleted": keys, "freed_bytes": freed}, _("{size} freed.", size=locale_format.size(freed)))


async def _decide(atelier: Atelier, arguments: Namespace, out: Output, *, trusted: bool) -> Result:
    found = folders(out, arguments.folder)
    words = N_("{folder} is trusted: agents follow its instructions.") if trusted else N_("{folder} is not trusted.")
    for folder in found:
        await atelier.files.trust(folder, trusted)
        print_note(out, _(words, folder=folder))
    return Result([{"folder": folder, "trusted": trusted} for folder in found], ())


trust = partial(_decide, trusted=True)
distrust = partial(_decide, trusted=False)


def _named(changes: list[Change], ids: list[str]) -> list[Change]:
    """Changes by id; an id can be shortened at either end.

    Raises:
        NotFoundError: no change matches, or several do.
    """
    found = []
    for id in ids:
        fitting = [change for change in changes if change.id.startswith(id) or change.id.endswith(id)]
        if len(fitting) != 1:
            raise NotFoundError(N_("Change {id} not found: it may be too old and no longer stored."), id=id)
        found += fitting
    return found
