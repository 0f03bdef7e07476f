"""``atelier files``: what agents changed in a workflow's folders, as a list and as diffs, and taking it back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk import figures
from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import Adder
from atelier_desk.file_words import (
    ACTIONS,
    cleaned_words,
    held_words,
    kept_words,
    leftover_facts,
    leftover_name,
    lost_words,
    mark_words,
    state_words,
    undo_words,
    unreadable_words,
)
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.change import Change
    from atelier_desk.engine.atelier import Atelier

TOLD_EVERY = 10
"""Portions of an undo between two lines that tell how far it is."""


def register(add: Adder) -> None:
    group = add.group("files", _("file changes by agents in a workflow's folders, and undo"))
    listing = group.command("list", _("the changes, the newest first"), "files:list_")
    diff = group.command("diff", _("what changed, as unified diffs"), "files:diff")
    undo = group.command("undo", _("undo changes; files changed by others since are left as they are"), "files:undo")
    for command in (listing, diff, undo):
        add_id(command, "workflow", "workflow")
    diff.add_argument("change", metavar="CHANGE", nargs="*", help=_("ids of changes, which can be abbreviated; none: all current changes"))
    undo.add_argument(
        "change", metavar="CHANGE", nargs="*", help=_("ids of changes, which can be abbreviated; or one of the options below")
    )
    held = group.command("held", _("held files: protected names that programs created"), "files:held")
    keep = group.command("keep", _("move held files to their place"), "files:keep")
    discard = group.command("discard", _("delete held files permanently"), "files:discard")
    for command in (held, keep, discard):
        add_id(command, "workflow", "workflow")
    for command in (keep, discard):
        command.add_argument("file", metavar="FILE", nargs="*", help=_("ids, which can be shortened, or paths as the list shows them"))
        command.add_argument("--all", action="store_true", help=_("all held files of the workflow"))
    marked = group.command("marked", _("files written after reading untrusted content"), "files:marked")
    marked.add_argument("folder", metavar="DIR", nargs="*", help=_("only those in these folders"))
    read = group.command("mark-read", _("mark such files as read, or all in folders"), "files:mark_read")
    read.add_argument("path", metavar="PATH", nargs="+", help=_("a file or folder on this computer"))
    group.command("kept", _("size of the undo data"), "files:kept")
    group.command("clean", _("delete undo data beyond the settings checkpoint_days and checkpoint_mb"), "files:clean")
    group.command("leftovers", _("list undo data that is unreadable or whose workflow is not in this database"), "files:leftovers")
    delete = group.command("delete-leftovers", _("delete such undo data permanently"), "files:delete_leftovers")
    delete.add_argument("leftover", metavar="LEFTOVER", nargs="*", help=_("ids as the list of leftovers shows them"))
    delete.add_argument("--all", action="store_true", help=_("all leftovers"))
    for name, words in (
        ("trust", _("trust folders: add their AGENTS.md to the agents' prompts")),
        ("distrust", _("stop trusting folders: leave out their AGENTS.md")),
    ):
        group.command(name, words, f"files:{name}").add_argument("folder", metavar="DIR", nargs="+", help=_("a folder on this computer"))
    undo.add_argument("--run", metavar="RUN", default="", help=_("all changes of this run"))
    undo.add_argument("--since", metavar="MESSAGE", default="", help=_("all changes since this message"))
    undo.add_argument("--all", action="store_true", help=_("all changes of the workflow"))
    undo.add_argument("--force", action="store_true", help=_("also overwrite later changes by others; these are saved as a change"))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, moment, table

    workflow = await atelier.workflows.get(arguments.workflow)
    changes = await atelier.files.list(workflow.id)
    if out.json:
        data(out, [change.model_dump(mode="json") for change in changes])
        return 0
    rows = [
        (
            change.id,
            moment(change.at),
            _(ACTIONS[change.action]),
            f"{change.path} → {change.moved_to}" if change.moved_to else change.path + ("/" if change.folder else ""),
            change.agent_name,
            state_words(change),
        )
        for change in changes
    ]
    table(out, rows, (_("id"), _("date"), _("action"), _("path"), _("agent"), _("state")))
    await _tell_missing(atelier, workflow.id, out)
    return 0


async def _tell_missing(atelier: Atelier, workflow_id: str, out: Output) -> None:
    """What a list of changes goes without."""
    for words in (unreadable_words(await atelier.files.unreadable(workflow_id)), lost_words(await atelier.files.lost(workflow_id))):
        if words:
            out.note(words, "warn")


async def diff(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data

    workflow = await atelier.workflows.get(arguments.workflow)
    changes = await atelier.files.list(workflow.id)
    chosen = _named(changes, arguments.change) if arguments.change else [change for change in changes if change.undoable]
    parts = [await atelier.files.diff(workflow.id, change.id) for change in reversed(chosen)]
    if out.json:
        data(out, [part.model_dump(mode="json") for part in parts])
        return 0
    for part in parts:
        out.write((part.diff or f"{_(ACTIONS[part.action])}: {part.path}{f' → {part.moved_to}' if part.moved_to else ''}") + "\n")
    return 0


async def undo(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when all was undone, 1 when something was left as it is."""
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.change import portions
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.tools.failure_words import in_words

    workflow = await atelier.workflows.get(arguments.workflow)
    changes = await atelier.files.list(workflow.id)
    ways = [bool(arguments.change), bool(arguments.run), bool(arguments.since), arguments.all]
    if sum(ways) != 1:
        raise UsageError(N_("Say what to undo: ids of changes, --run, --since or --all, and one of them alone."))
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
        if number % TOLD_EVERY == 0 and number < len(parts):
            out.note(_("{done} of {total} changes", done=figures.number(len(done)), total=figures.number(len(chosen))))
    if out.json:
        data(
            out,
            [{"id": each.change.id, "path": each.change.path, "error": in_words(each.problem) if each.problem else ""} for each in done],
        )
    else:
        for each in done:
            if each.problem is None:
                line(out, _("Undone: {path}", path=each.change.path))
        # What is in the way of all of them is said once.
        for reason in dict.fromkeys(in_words(each.problem) for each in done if each.problem is not None):
            out.note(_("Left: {reason}", reason=reason), "warn")
        await _tell_missing(atelier, workflow.id, out)
        if not done:
            line(out, _("There is nothing to undo."))
        elif stays := undo_words(each.change for each in done if each.problem is None):
            out.note(stays)
    return int(any(each.problem is not None for each in done))


async def held(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, moment, table

    workflow = await atelier.workflows.get(arguments.workflow)
    files = await atelier.files.held(workflow.id)
    if out.json:
        data(out, [each.model_dump(mode="json") for each in files])
        return 0
    rows = [(each.id, moment(each.at), held_words(each), each.author or each.agent_name) for each in files]
    table(out, rows, (_("id"), _("date"), _("path"), _("agent")))
    return 0


async def keep(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _answer(atelier, arguments, out, kept=True)


async def discard(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _answer(atelier, arguments, out, kept=False)


async def _answer(atelier: Atelier, arguments: argparse.Namespace, out: Output, *, kept: bool) -> int:
    """Status 0 when all was done, 1 when something else stands where a file belongs."""
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.errors import AtelierError, NotFoundError, UsageError
    from atelier_desk.tools.failure_words import in_words

    workflow = await atelier.workflows.get(arguments.workflow)
    files = await atelier.files.held(workflow.id)
    if bool(arguments.file) == arguments.all:
        raise UsageError(N_("Say which held files: ids, paths, or --all."))
    chosen = list(files) if arguments.all else []
    for name in arguments.file:
        fitting = [each for each in files if each.path == name or each.id.startswith(name) or each.id.endswith(name)]
        if not fitting or (len(fitting) > 1 and any(each.path != name for each in fitting)):
            raise NotFoundError(N_("There is no held file {id}: it was kept or discarded already."), id=name)
        chosen += fitting[-1:]  # of two versions the newest
    failed = []
    done = []
    for each in chosen:
        try:
            await (atelier.files.keep if kept else atelier.files.discard)(workflow.id, each.id)
        except AtelierError as error:
            failed.append({"id": each.id, "path": each.path, "error": in_words(error)})
            continue
        done.append({"id": each.id, "path": each.path, "error": ""})
        if not out.json:
            line(out, _("Kept: {path}", path=each.path) if kept else _("Discarded: {path}", path=each.path))
    if out.json:
        data(out, [*done, *failed])
    else:
        for problem in failed:
            out.note(_("Left: {reason}", reason=problem["error"]), "warn")
    return int(bool(failed))


async def marked(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.agent_options import folders
    from atelier_desk.cli.output import data, table

    found = await atelier.files.marked(folders(out, arguments.folder) if arguments.folder else None)
    if out.json:
        data(out, [{"path": mark.path, "folder": mark.folder, "sources": list(mark.sources)} for mark in found])
        return 0
    rows = [(f"{mark.path}/" if mark.folder else mark.path, mark_words(mark.sources)) for mark in found]
    table(out, rows, (_("path"), _("why")))
    return 0


async def mark_read(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 1 when one of the paths stays marked, as a part of a folder that is marked as a whole."""
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.output import data, line

    paths = [str(path_of(out, path)) for path in arguments.path]
    gone = await atelier.files.mark_read(paths)
    left = await atelier.files.within_marked(paths)
    if out.json:
        data(out, {"read": gone, "marked": left})
        return int(bool(left))
    for path in gone:
        line(out, _("Marked as read: {path}", path=path))
    for path in left:
        out.note(_("{path} is part of a folder that is marked as a whole: atelier files marked", path=path), "warn")
    if not gone and not left:
        line(out, _("None of them is marked."))
    return int(bool(left))


async def kept(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    found = await atelier.files.kept()
    if out.json:
        oldest = found.oldest.isoformat() if found.oldest else None
        data(out, {"bytes": found.size, "changes": found.changes, "oldest": oldest})
    else:
        line(out, kept_words(found))
    return 0


async def clean(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    done = await atelier.files.cleaning.clean()
    outcome(out, {"freed_bytes": done.freed, "given_up": done.given_up}, cleaned_words(done))
    return 0


async def leftovers(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    found = await atelier.files.cleaning.leftovers()
    if out.json:
        data(
            out,
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
        )
        return 0
    table(out, [(each.key, leftover_name(each), leftover_facts(each)) for each in found], (_("id"), _("what"), _("why")))
    return 0


async def delete_leftovers(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome
    from atelier_desk.domain.errors import UsageError

    if bool(arguments.leftover) == arguments.all:
        raise UsageError(N_("Say which leftovers: ids as the list shows them, or --all."))
    keys = [each.key for each in await atelier.files.cleaning.leftovers()] if arguments.all else list(dict.fromkeys(arguments.leftover))
    freed = await atelier.files.cleaning.delete(keys)
    outcome(out, {"deleted": keys, "freed_bytes": freed}, _("{size} freed.", size=figures.size(freed)))
    return 0


async def trust(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _decide(atelier, arguments, out, trusted=True)


async def distrust(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _decide(atelier, arguments, out, trusted=False)


async def _decide(atelier: Atelier, arguments: argparse.Namespace, out: Output, *, trusted: bool) -> int:
    from atelier_desk.cli.agent_options import folders
    from atelier_desk.cli.output import data, line

    found = folders(out, arguments.folder)
    for folder in found:
        await atelier.files.trust(folder, trusted)
        if not out.json:
            words = N_("{folder} is trusted: agents follow its instructions.") if trusted else N_("{folder} is not trusted.")
            line(out, _(words, folder=folder))
    if out.json:
        data(out, [{"folder": folder, "trusted": trusted} for folder in found])
    return 0


def _named(changes: list[Change], ids: list[str]) -> list[Change]:
    """The changes that ids, whole or shortened at either end, name.

    Raises:
        NotFoundError: none, or several.
    """
    from atelier_desk.domain.errors import NotFoundError

    found = []
    for id in ids:
        fitting = [change for change in changes if change.id.startswith(id) or change.id.endswith(id)]
        if len(fitting) != 1:
            raise NotFoundError(N_("There is no change {id}: it may be older than what is kept."), id=id)
        found += fitting
    return found
